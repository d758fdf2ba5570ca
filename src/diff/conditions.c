/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/diff/conditions.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/nearest.h"
#include "src/fields/value.h"
#include "src/fields/when.h"

static const char *const words[] = {"count", "rate", "loss", "min", "max", "p50", "p90", "p99"};
enum { WORDS = sizeof(words) / sizeof(*words) };

static const char blanks[] = " \t";

/* ---- reading ---- */

static bool __attribute__((format(printf, 4, 5)))
refuse(struct ptrc_cli_reason *why, const char *text, const char *at, const char *format, ...)
{
	char reason[sizeof(why->text)];
	va_list values;

	va_start(values, format);
	vsnprintf(reason, sizeof(reason), format, values);
	va_end(values);
	return ptrc_cli_because(why, "column %zu: %s", (size_t)(at - text) + 1, reason);
}

/* Reads the first word of the condition, which says what is compared. */
static bool read_what(struct ptrc_condition *c, const char **at, struct ptrc_cli_reason *why)
{
	size_t size = strcspn(*at, " \t<>");
	struct ptrc_nearest nearest = {0};
	char proposal[100];
	char word[40];

	snprintf(word, sizeof(word), "%.*s", size < 39 ? (int)size : 39, *at);
	for (size_t i = 0; i < WORDS; i++) {
		if (i < PTRC_CONDITION_QUANTILE && !strcmp(word, words[i])) {
			c->what = (enum ptrc_condition_what)i;
			*at += size;
			return true;
		}
		ptrc_nearest_offer(&nearest, word, words[i]);
	}
	if (ptrc_quantile_read(word, &c->per_million)) {
		c->what = PTRC_CONDITION_QUANTILE;
		*at += size;
		return true;
	}
	ptrc_nearest_text(&nearest, proposal, sizeof(proposal));
	return refuse(why, c->text, *at,
		      "'%s' is none of count, rate, loss, min, max and quantiles such as p50 or "
		      "p99.9%s",
		      word, proposal);
}

static bool take_number(struct ptrc_condition *c, long double number, const char *amount,
			const char *at, struct ptrc_cli_reason *why)
{
	c->limit = (double)number;
	return isfinite(c->limit) ||
	       refuse(why, c->text, at, "'%s' is beyond the largest number, 1.79e308", amount);
}

/* Reads an amount without its sign: a number of percent, else a time for a quantile, else a number of events. `at` is
 * its place in the condition's text. */
static bool read_amount(struct ptrc_condition *c, const char *amount, const char *at,
			struct ptrc_cli_reason *why)
{
	size_t size = strlen(amount);
	bool is_time = c->what == PTRC_CONDITION_QUANTILE;
	long double number;
	int64_t ns;

	if (size && amount[size - 1] == '%') {
		if (!c->is_change)
			return refuse(why, c->text, at, "write +%s or -%s for how much it changed",
				      amount, amount);
		if (!ptrc_value_read_number(amount, size - 1, &number) || number < 0)
			return refuse(why, c->text, at, "'%s' is not a number of percent", amount);
		c->is_percent = true;
		return take_number(c, number, amount, at, why);
	}
	if (is_time && !ptrc_when_plain_duration(amount, &ns))
		return refuse(why, c->text, at,
			      "'%s' is neither a duration such as 5ms nor a change such as +10%%",
			      amount);
	if (is_time) {
		c->limit = (double)ns;
		return true;
	}
	if (!ptrc_value_read_number(amount, size, &number) || number < 0)
		return refuse(why, c->text, at,
			      "'%s' is neither a number nor a change such as +10%%", amount);
	return take_number(c, number, amount, at, why);
}

static bool read_limit(struct ptrc_condition *c, const char *at, struct ptrc_cli_reason *why)
{
	size_t size = strlen(at);
	char limit[80];

	while (size && strchr(blanks, at[size - 1]))
		size--;
	if (!size)
		return refuse(why, c->text, at, "a limit is missing, such as +10%%");
	if (size >= sizeof(limit))
		return refuse(why, c->text, at, "the limit is too long");
	memcpy(limit, at, size);
	limit[size] = '\0';
	c->is_change = *limit == '+' || *limit == '-';
	if (!read_amount(c, limit + c->is_change, at + c->is_change, why))
		return false;
	if (*limit == '-')
		c->limit = -c->limit;
	return true;
}

/* Returns the last < or > in the text, because earlier ones may belong to a name; NULL if there is none. */
static const char *find_relation(const char *text)
{
	const char *found = NULL;

	for (const char *at = strpbrk(text, "<>"); at; at = strpbrk(at + 1, "<>"))
		found = at;
	return found;
}

/* Whether the name is that of a system event, misspelt perhaps: the diff does not count these. Unnamed user events are
 * no system events. */
static bool is_of_system(const char *name)
{
	static const char prefix[] = "posix_trace_";

	return !strncmp(name, prefix, sizeof(prefix) - 1) && !strstr(name, "..") &&
	       strcmp(name, "posix_trace_unnamed_userevent") != 0;
}

static bool parse(struct ptrc_condition *c, struct ptrc_cli_reason *why)
{
	const char *at = c->text + strspn(c->text, blanks);
	const char *relation, *end;

	if (!read_what(c, &at, why))
		return false;
	at += strspn(at, blanks);
	relation = find_relation(at);
	if (!relation)
		return refuse(why, c->text, at + strlen(at),
			      "one of > >= < <= and a limit are missing");
	for (end = relation; end > at && strchr(blanks, end[-1]);)
		end--;
	c->name = ptrc_cli_copy_bytes(at, (size_t)(end - at));
	if (c->what == PTRC_CONDITION_LOSS && *c->name)
		return refuse(why, c->text, at, "'loss' is of the whole log, not of '%.40s'",
			      c->name);
	if (c->what != PTRC_CONDITION_LOSS && !*c->name)
		return refuse(why, c->text, at, "the name of a pair%s is missing",
			      c->what <= PTRC_CONDITION_RATE ? " or an event type" : "");
	if (c->what <= PTRC_CONDITION_RATE && is_of_system(c->name))
		return refuse(why, c->text, at,
			      "system events such as '%.40s' are not counted; 'loss' is the number "
			      "of lost events",
			      c->name);
	if (*c->name && !ptrc_pair_read(&c->pair, c->name, why) && c->what > PTRC_CONDITION_RATE)
		return refuse(why, c->text, at, "%s", why->text);
	c->is_above = *relation++ == '>';
	c->is_equal_included = *relation == '=';
	relation += c->is_equal_included;
	return read_limit(c, relation + strspn(relation, blanks), why);
}

bool ptrc_conditions_add(struct ptrc_conditions *s, const char *text, struct ptrc_cli_reason *why)
{
	struct ptrc_condition c = {.text = text};
	bool is_read = parse(&c, why);

	*ptrc_append(s->list, s->count) = c;
	return is_read;
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Whether the condition names this pair: the condition has the same events, and the same field or none. */
static bool is_named(const struct ptrc_condition *c, const struct ptrc_pair *pair)
{
	const struct ptrc_pair *p = &c->pair;

	return p->begin && !strcmp(p->begin, pair->begin) && !strcmp(p->end, pair->end) &&
	       (!p->by_text || is_same(p->by_text, pair->by_text));
}

/* Whether the condition's name means at most one of the pairs. A name with a field always does. A name without a field
 * means the pair without a field or, if there is none, each pair of these events. */
static bool is_unambiguous(const struct ptrc_condition *c, const struct ptrc_pairs *pairs,
			   struct ptrc_cli_reason *why)
{
	struct ptrc_buffer names = PTRC_BUFFER_INIT;
	const struct ptrc_pair *first = NULL, *second = NULL;

	for (size_t i = 0; i < pairs->count; i++) {
		const struct ptrc_pair *p = &pairs->list[i];

		if (!is_named(c, p))
			continue;
		if (is_same(c->pair.by_text, p->by_text))
			return true;
		first = first ? first : p;
		/* The same pair may be in the list twice. */
		if (!second && !is_same(first->by_text, p->by_text))
			second = p;
	}
	if (!second)
		return true;
	ptrc_pair_put_whole_name(&names, first);
	ptrc_buffer_text(&names, "' and '");
	ptrc_pair_put_whole_name(&names, second);
	ptrc_cli_because(why, "'%.60s' means two pairs, '%.*s'", c->name,
			 names.used < 300 ? (int)names.used : 300, names.bytes);
	ptrc_buffer_free(&names);
	return false;
}

static bool is_listed(const struct ptrc_condition *c, const struct ptrc_pairs *pairs)
{
	for (size_t i = 0; i < pairs->count; i++)
		if (is_named(c, &pairs->list[i]))
			return true;
	return false;
}

/* Whether the condition's pair need not be added: it is in the list already, or it is written as X, without a field.
 * Pairs X.begin..X.end are found in the logs by their names, except, with is_without_os, those of the operating
 * system. */
static bool is_known(const struct ptrc_condition *c, const struct ptrc_pairs *pairs)
{
	return is_listed(c, pairs) || (!c->pair.by_text && !strstr(c->pair.name, "..") &&
				       !(pairs->is_without_os && ptrc_is_os_name(c->pair.name)));
}

bool ptrc_conditions_add_pairs(const struct ptrc_conditions *s, struct ptrc_pairs *pairs,
			       const struct ptrc_layouts *layouts, struct ptrc_cli_reason *why)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct ptrc_condition *c = &s->list[i];

		/* A name with "by" that is not followed by a field may be that of an event type to count. */
		if (c->pair.begin && !is_known(c, pairs) &&
		    !ptrc_pairs_add(pairs, c->name, layouts, why) &&
		    c->what == PTRC_CONDITION_QUANTILE)
			return false;
	}
	return true;
}

bool ptrc_conditions_suit(const struct ptrc_conditions *s, const struct ptrc_pairs *pairs,
			  struct ptrc_cli_reason *why)
{
	for (size_t i = 0; i < s->count; i++)
		if (!is_unambiguous(&s->list[i], pairs, why))
			return false;
	return true;
}

/* ---- judging ---- */

/* Returns the pair with the condition's events and field; if there is none, the first pair with its events. */
static const struct ptrc_diff_pair *find_pair(const struct ptrc_diff *d,
					      const struct ptrc_condition *c)
{
	const struct ptrc_diff_pair *found = NULL;

	for (size_t i = 0; i < d->pair_count; i++) {
		const struct ptrc_diff_pair *p = d->pair_list[i];

		if (!is_named(c, &p->pair))
			continue;
		if (is_same(c->pair.by_text, p->pair.by_text))
			return p;
		found = found ? found : p;
	}
	return found;
}

static bool has_type(const struct ptrc_diff *d, const char *name)
{
	return ptrc_table_seek(&d->type_table, name, strlen(name) + 1);
}

static bool is_written_as_types(const struct ptrc_condition *c)
{
	return c->pair.begin && strstr(c->name, "..");
}

/* Returns the first event type of a pair that is written as BEGIN..END that the logs lack, or NULL. */
static const char *missing_type(const struct ptrc_diff *d, const struct ptrc_condition *c)
{
	return !is_written_as_types(c)	     ? NULL
	       : !has_type(d, c->pair.begin) ? c->pair.begin
	       : !has_type(d, c->pair.end)   ? c->pair.end
					     : NULL;
}

/* Finds the names in the logs that are similar to the one that they lack. A pair without durations is not proposed: it
 * may be the condition's own. */
static struct ptrc_nearest find_similar(const struct ptrc_diff *d, const struct ptrc_condition *c)
{
	const char *type_name = missing_type(d, c);
	const char *wanted = type_name ?: c->pair.by_text ? c->pair.name : c->name;
	struct ptrc_nearest nearest = {0};

	for (size_t i = 0; i < d->pair_count && !type_name; i++)
		if (d->pair_list[i]->verdict != PTRC_DIFF_NONE)
			ptrc_nearest_offer(&nearest, wanted, d->pair_list[i]->pair.name);
	if (c->what > PTRC_CONDITION_RATE && !type_name)
		return nearest;
	for (const struct ptrc_diff_type *type = NULL;
	     (type = ptrc_table_next(&d->type_table, type));)
		ptrc_nearest_offer(&nearest, wanted, type->name);
	return nearest;
}

/* Whether --event selects the events of the condition: those of the name, if it may be that of an event type, or both
 * event types of a pair. */
static bool is_selected(const struct ptrc_diff *d, const struct ptrc_condition *c)
{
	const struct ptrc_select *s = &d->query->select;
	bool is_pair_only = c->pair.by_text || is_written_as_types(c);

	return (!is_pair_only && ptrc_select_has_name(s, c->name)) ||
	       (c->pair.begin && ptrc_select_has_name(s, c->pair.begin) &&
		ptrc_select_has_name(s, c->pair.end));
}

/* Whether the condition's pair has a number. If the logs lack its events, that is 0, unless the name or the field after
 * it is probably misspelt, or the name is meant as a pattern. */
static bool is_countable(const struct ptrc_diff *d, const struct ptrc_condition *c,
			 const struct ptrc_diff_pair *p)
{
	if (!is_selected(d, c))
		return false;
	if (p && !missing_type(d, c) && (has_type(d, c->pair.begin) || has_type(d, c->pair.end)))
		return true;
	return !strpbrk(c->name, "*?[") && !find_similar(d, c).count &&
	       (!c->pair.by_text || is_listed(c, d->pairs));
}

static void say_missing(const struct ptrc_diff *d, const struct ptrc_condition *c)
{
	const char *type_name = missing_type(d, c);
	struct ptrc_nearest nearest = find_similar(d, c);
	char proposal[4 * TRACE_EVENT_NAME_MAX];

	ptrc_cli_message(c->text, "the compared events have no %s '%s'%s",
			 type_name			  ? "event type"
			 : c->what <= PTRC_CONDITION_RATE ? "pair or event type"
							  : "pair",
			 type_name ?: c->name,
			 ptrc_nearest_text(&nearest, proposal, sizeof(proposal)));
}

/* Stores the values before and after the change. Returns false, after a message, if there are none. */
static bool get_values(const struct ptrc_diff *d, const struct ptrc_condition *c,
		       const struct ptrc_diff_pair *p, double values[PTRC_DIFF_SIDES])
{
	const struct ptrc_diff_type *type =
		ptrc_table_seek(&d->type_table, c->name, strlen(c->name) + 1);
	size_t before = d->sides[PTRC_DIFF_BEFORE].log_count;
	size_t after = d->sides[PTRC_DIFF_AFTER].log_count;

	if (c->is_change && before != after &&
	    (c->what == PTRC_CONDITION_LOSS || c->what == PTRC_CONDITION_COUNT)) {
		ptrc_cli_message(c->text,
				 "the sums of %zu and %zu logs cannot be compared; give as many "
				 "logs before as after, or compare rates",
				 before, after);
		return false;
	}
	if (c->what == PTRC_CONDITION_LOSS) {
		values[0] = (double)d->sides[0].lost_count;
		values[1] = (double)d->sides[1].lost_count;
		return true;
	}
	if (c->what <= PTRC_CONDITION_RATE && (type || is_countable(d, c, p))) {
		for (size_t i = 0; i < PTRC_DIFF_SIDES; i++) {
			uint64_t count = type ? type->counts[i] : p ? p->sides[i].lengths.count : 0;

			values[i] = c->what == PTRC_CONDITION_COUNT
					    ? (double)count
					    : ptrc_diff_rate(&d->sides[i], count);
		}
		if (values[1] >= 0 && (values[0] >= 0 || !c->is_change))
			return true;
		ptrc_cli_message(c->text, "there is no rate, as no time passes in the logs");
		return false;
	}
	if (!p || p->verdict == PTRC_DIFF_NONE) {
		say_missing(d, c);
		return false;
	}
	if (p->verdict == PTRC_DIFF_GONE || (p->verdict == PTRC_DIFF_NEW && c->is_change)) {
		ptrc_cli_message(c->text,
				 "the compared events from %s the change have no such pair",
				 p->verdict == PTRC_DIFF_NEW ? "before" : "after");
		return false;
	}
	for (size_t i = 0; i < PTRC_DIFF_SIDES; i++)
		values[i] = (double)ptrc_quantiles_at(&p->sides[i].lengths, c->per_million);
	return true;
}

static bool is_met(const struct ptrc_condition *c, const double values[PTRC_DIFF_SIDES])
{
	double value = values[1];

	if (c->is_change && c->is_percent)
		value = 100 * ptrc_diff_change(values[0], values[1]);
	else if (c->is_change)
		value = values[1] - values[0];
	if (c->is_equal_included && value == c->limit)
		return true;
	return c->is_above ? value > c->limit : value < c->limit;
}

/* Reports what is too few for a test, the durations or the logs. */
static void say_few(const struct ptrc_condition *c, const struct ptrc_diff_pair *p)
{
	const struct ptrc_diff_pair_side *s = p->sides;

	if (ptrc_diff_has_few_durations(p))
		ptrc_cli_message(
			c->text,
			"does not fail: there are too few durations to tell it from noise, "
			"%llu and %llu; at least %d are needed on each side",
			(unsigned long long)s[0].lengths.count,
			(unsigned long long)s[1].lengths.count, PTRC_RANKS_LEAST);
	else
		ptrc_cli_message(
			c->text,
			"does not fail: too few logs have this pair to tell it from noise, "
			"%zu and %zu; %d on each side are enough",
			ptrc_diff_logs_with(&s[0]), ptrc_diff_logs_with(&s[1]), PTRC_RUNS_ENOUGH);
}

static enum ptrc_condition_verdict judge(const struct ptrc_diff *d, struct ptrc_condition *c)
{
	const struct ptrc_diff_pair *p = find_pair(d, c);
	bool is_tested = c->is_change && c->what == PTRC_CONDITION_QUANTILE &&
			 c->per_million % PTRC_QUANTILE_MAX;
	double p_value;

	if (!get_values(d, c, p, c->values))
		return PTRC_CONDITION_MISSING;
	if (!is_met(c, c->values))
		return PTRC_CONDITION_PASSED;
	if (!is_tested)
		return PTRC_CONDITION_FAILED;
	if (p->verdict == PTRC_DIFF_FEW) {
		say_few(c, p);
		return PTRC_CONDITION_FEW;
	}
	p_value = ptrc_diff_test(d, p, c->per_million);
	if (p_value < ptrc_diff_threshold(d) && c->values[0] != c->values[1])
		return PTRC_CONDITION_FAILED;
	ptrc_cli_message(c->text, "does not fail: the change is noise (p = %.2g)", p_value);
	return PTRC_CONDITION_NOISE;
}

void ptrc_conditions_judge(struct ptrc_conditions *s, const struct ptrc_diff *d)
{
	for (size_t i = 0; i < s->count; i++)
		s->list[i].verdict = judge(d, &s->list[i]);
}

bool ptrc_conditions_has(const struct ptrc_conditions *s, enum ptrc_condition_verdict verdict)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].verdict == verdict)
			return true;
	return false;
}

void ptrc_conditions_free(struct ptrc_conditions *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->list[i].name);
		ptrc_pair_free(&s->list[i].pair);
	}
	free(s->list);
	*s = (struct ptrc_conditions){0};
}
