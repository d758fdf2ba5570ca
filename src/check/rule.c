/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/check/rule.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/base/buffer.h"
#include "src/base/cli.h"
#include "src/config/kept.h"
#include "src/config/yaml_file.h"
#include "src/fields/when.h"

#define KIND(kind) (1U << PTRC_RULE_##kind)
#define ALL ((1U << PTRC_RULE_KINDS) - 1)
#define TWO_EVENTS (KIND(AFTER) | KIND(BEFORE) | KIND(PAIR) | KIND(ORDER))

/* The kinds of rules that may have each key. The keys min and max of a pair are bounds, so they are not
 * marked for pairs here. */
const struct ptrc_rule_key_of ptrc_rule_keys[PTRC_RULE_KEYS] = {
	[PTRC_RULE_NEVER] = {"never", ALL},
	[PTRC_RULE_EXISTS] = {"exists", ALL},
	[PTRC_RULE_COUNT] = {"count", ALL},
	[PTRC_RULE_AFTER] = {"after", ALL},
	[PTRC_RULE_BEFORE] = {"before", ALL},
	[PTRC_RULE_PAIR] = {"pair", ALL},
	[PTRC_RULE_ORDER] = {"order", ALL},
	[PTRC_RULE_LOSS] = {"loss", ALL},
	[PTRC_RULE_KEY_NAME] = {"name", ALL},
	[PTRC_RULE_KEY_WHERE] = {"where", ALL & ~KIND(LOSS)},
	[PTRC_RULE_KEY_WITHIN] = {"within", KIND(EXISTS) | KIND(AFTER) | KIND(BEFORE)},
	[PTRC_RULE_KEY_OF] = {"of", KIND(EXISTS)},
	[PTRC_RULE_KEY_MIN] = {"min", KIND(COUNT)},
	[PTRC_RULE_KEY_MAX] = {"max", KIND(COUNT)},
	[PTRC_RULE_KEY_PER] = {"per", KIND(COUNT)},
	[PTRC_RULE_KEY_BY] = {"by", TWO_EVENTS},
	[PTRC_RULE_KEY_AT_MOST] = {"at-most", KIND(PAIR)},
	[PTRC_RULE_KEY_EXPECT] = {"expect", KIND(AFTER)},
	[PTRC_RULE_KEY_REQUIRE] = {"require", KIND(BEFORE)},
	[PTRC_RULE_KEY_MIN_COUNT] = {"min_count", TWO_EVENTS},
	[PTRC_RULE_KEY_AT_END] = {"at_end", ALL},
	[PTRC_RULE_KEY_AT_LOSS] = {"at_loss", ALL & ~KIND(LOSS)},
	[PTRC_RULE_KEY_TOLERANCE] = {"tolerance", KIND(EXISTS) | TWO_EVENTS},
};

void ptrc_rule_refuse(const struct ptrc_rule_draft *d, const struct ptrc_config_mark *mark,
		      const char *format, ...)
{
	char reason[600];
	va_list values;

	va_start(values, format);
	if (d->file)
		ptrc_yaml_refuse_values(d->file, mark, format, values);
	vsnprintf(reason, sizeof(reason), format, values);
	va_end(values);
	ptrc_cli_usage(d->option, "%s", reason);
}

bool ptrc_rule_duration(const char *text, int64_t *ns, struct ptrc_cli_reason *why)
{
	if (ptrc_when_plain_duration(text, ns))
		return true;
	return ptrc_cli_because(
		why, "'%.80s' is not a duration such as 5ms, 1.5s or 2m, in whole nanoseconds",
		text);
}

/* Returns the value of a key as a duration, or -1 if the key is not given. */
static int64_t duration_of(const struct ptrc_rule_draft *d, enum ptrc_rule_key key)
{
	struct ptrc_cli_reason why;
	int64_t ns = -1;

	if (d->texts[key] && !ptrc_rule_duration(d->texts[key], &ns, &why))
		ptrc_rule_refuse(d, &d->marks[key], "%s: %s", ptrc_rule_keys[key].name, why.text);
	return ns;
}

static uint64_t number_of(const struct ptrc_rule_draft *d, enum ptrc_rule_key key,
			  uint64_t standard)
{
	struct ptrc_cli_reason why;
	uint64_t value = standard;

	if (d->texts[key] && !ptrc_cli_parse_number(d->texts[key], 0, UINT64_MAX, &value, &why))
		ptrc_rule_refuse(d, &d->marks[key], "%s: %s", ptrc_rule_keys[key].name, why.text);
	return value;
}

/* Returns the number of the key at-most, whose value has the form "3 at once"; UINT64_MAX if the key is not
 * given. */
static uint64_t at_most_of(const struct ptrc_rule_draft *d)
{
	static const char words[] = "at once";
	const char *text = d->texts[PTRC_RULE_KEY_AT_MOST];
	struct ptrc_cli_reason why;
	char number[24];
	uint64_t value;
	size_t digits;

	if (!text)
		return UINT64_MAX;
	digits = strspn(text, "0123456789");
	snprintf(number, sizeof(number), "%.*s", (int)digits, text);
	if (!digits || text[digits] != ' ' ||
	    strcmp(text + digits + strspn(text + digits, " "), words) ||
	    !ptrc_cli_parse_number(number, 0, UINT64_MAX - 1, &value, &why))
		ptrc_rule_refuse(d, &d->marks[PTRC_RULE_KEY_AT_MOST],
				 "at-most: '%.80s' is not a number of pairs such as 3 at once",
				 text);
	return value;
}

static enum ptrc_rule_doubt doubt_of(const struct ptrc_rule_draft *d, enum ptrc_rule_key key)
{
	static const char *const words[] = {"undecided", "ignore", "fail", NULL};
	struct ptrc_cli_reason why;
	int word;

	if (!d->texts[key])
		return PTRC_RULE_UNDECIDED;
	word = ptrc_cli_parse_word(d->texts[key], words, &why);
	if (word < 0)
		ptrc_rule_refuse(d, &d->marks[key], "%s: %s", ptrc_rule_keys[key].name, why.text);
	return (enum ptrc_rule_doubt)word;
}

const char *ptrc_rule_keep(const char *text, size_t size)
{
	char *copy;

	for (; size && *text == ' '; text++)
		size--;
	while (size && text[size - 1] == ' ')
		size--;
	copy = ptrc_config_keep(size + 1);
	memcpy(copy, text, size);
	copy[size] = '\0';
	return copy;
}

/* Adds the event that the text of a key describes: PATTERN or "PATTERN where EXPRESSION". */
static void add_event(struct ptrc_rule *r, const struct ptrc_rule_draft *d, const char *key,
		      const char *text, const struct ptrc_config_mark *mark)
{
	struct ptrc_rule_event *e = &r->events[r->event_count++];
	const char *where;
	size_t size;

	text += strspn(text, " ");
	where = ptrc_where_split(text, &size);
	if (!size)
		ptrc_rule_refuse(d, mark, "%s: has to be the name of an event", key);
	if (where && !*where)
		ptrc_rule_refuse(d, mark, "%s: there is no expression after 'where'", key);
	e->pattern = ptrc_rule_keep(text, size);
	e->texts[0] = where;
	e->marks[0] = *mark;
}

static void add_key(struct ptrc_rule *r, const struct ptrc_rule_draft *d, int key)
{
	if (d->texts[key])
		add_event(r, d, ptrc_rule_keys[key].name, d->texts[key], &d->marks[key]);
}

static enum ptrc_rule_kind kind_of(const struct ptrc_rule_draft *d)
{
	int kind = -1;

	for (int i = 0; i < PTRC_RULE_KINDS; i++) {
		bool is_later;

		if (!d->texts[i])
			continue;
		if (kind < 0) {
			kind = i;
			continue;
		}
		is_later = d->marks[i].line > d->marks[kind].line ||
			   (d->marks[i].line == d->marks[kind].line &&
			    d->marks[i].column > d->marks[kind].column);
		ptrc_rule_refuse(d, &d->marks[is_later ? i : kind],
				 "'%s' and '%s' are two rules: give each its own",
				 ptrc_rule_keys[is_later ? kind : i].name,
				 ptrc_rule_keys[is_later ? i : kind].name);
	}
	if (kind < 0)
		ptrc_rule_refuse(
			d, &d->mark,
			"says nothing of events: a rule has one of the keys never, exists, "
			"count, after, before, pair, order and loss");
	return (enum ptrc_rule_kind)kind;
}

static void check_keys(const struct ptrc_rule_draft *d, enum ptrc_rule_kind kind)
{
	for (int i = PTRC_RULE_KINDS; i < PTRC_RULE_KEYS; i++)
		if (d->texts[i] && !(ptrc_rule_keys[i].kinds & 1U << kind))
			ptrc_rule_refuse(d, &d->marks[i], "'%s' has no meaning beside '%s'%s",
					 ptrc_rule_keys[i].name, ptrc_rule_keys[kind].name,
					 i == PTRC_RULE_KEY_PER && kind != PTRC_RULE_LOSS &&
							 kind != PTRC_RULE_NEVER
						 ? ", which may have 'by'"
					 : i == PTRC_RULE_KEY_BY && kind == PTRC_RULE_COUNT
						 ? ", which may have 'per'"
						 : "");
	if (d->bound_count && kind != PTRC_RULE_PAIR)
		ptrc_rule_refuse(d, &d->bounds[0].mark, "'%s' has no meaning beside '%s'",
				 d->bounds[0].key, ptrc_rule_keys[kind].name);
}

/* Reads a bound such as "< 3ms". Without a sign, a bound for min means >=, and any other bound means <=. */
static void read_bound(const struct ptrc_rule_draft *d, struct ptrc_rule_bound *b)
{
	struct ptrc_cli_reason why;
	const char *text = b->text + strspn(b->text, " ");
	bool is_above = *text == '>' || (*text != '<' && !b->per_million);
	bool has_sign = *text == '<' || *text == '>';
	bool is_reached = !has_sign || text[1] == '=';

	text += has_sign ? 1 + (text[1] == '=') : 0;
	text += strspn(text, " ");
	b->order = is_above ? (is_reached ? PTRC_RULE_AT_LEAST : PTRC_RULE_ABOVE)
			    : (is_reached ? PTRC_RULE_AT_MOST : PTRC_RULE_BELOW);
	if (!ptrc_rule_duration(text, &b->ns, &why))
		ptrc_rule_refuse(d, &b->mark, "%s: %s", b->key, why.text);
}

static void make_count(struct ptrc_rule *r, const struct ptrc_rule_draft *d)
{
	r->has_max = d->texts[PTRC_RULE_KEY_MAX];
	r->min = number_of(d, PTRC_RULE_KEY_MIN, 0);
	r->max = number_of(d, PTRC_RULE_KEY_MAX, UINT64_MAX);
	if (!d->texts[PTRC_RULE_KEY_MIN] && !r->has_max)
		ptrc_rule_refuse(d, &d->marks[PTRC_RULE_COUNT],
				 "'count' needs 'min', 'max' or both");
	if (r->min > r->max)
		ptrc_rule_refuse(d, &d->marks[PTRC_RULE_KEY_MIN], "min is greater than max");
}

/* Refuses bounds that no durations can keep: a quantile is at least as long as each lower quantile. */
static void check_bounds(const struct ptrc_rule *r, const struct ptrc_rule_draft *d)
{
	for (size_t i = 0; i < r->bound_count; i++)
		for (size_t k = 0; k < r->bound_count; k++) {
			const struct ptrc_rule_bound *least = &r->bounds[i], *most = &r->bounds[k];

			if (!ptrc_rule_is_upper(least) && ptrc_rule_is_upper(most) &&
			    least->per_million <= most->per_million && least->ns > most->ns)
				ptrc_rule_refuse(d, &least->mark, "%s is greater than %s",
						 least->key, most->key);
		}
}

static void make_list(struct ptrc_rule *r, const struct ptrc_rule_draft *d)
{
	const char *key = ptrc_rule_keys[r->kind].name;

	if (r->kind == PTRC_RULE_PAIR && d->event_count != 2)
		ptrc_rule_refuse(d, &d->marks[r->kind],
				 "pair: has to be a list of two events, the begin and the end");
	if (d->event_count < 2)
		ptrc_rule_refuse(d, &d->marks[r->kind],
				 "order: has to be a list of two events or more");
	for (size_t i = 0; i < d->event_count; i++)
		add_event(r, d, key, d->events[i], &d->event_marks[i]);
	for (size_t i = 0; i < d->bound_count; i++) {
		r->bounds[i] = d->bounds[i];
		read_bound(d, &r->bounds[i]);
	}
	r->bound_count = d->bound_count;
	check_bounds(r, d);
	if (r->kind == PTRC_RULE_PAIR && !r->bound_count && !d->texts[PTRC_RULE_KEY_AT_MOST] &&
	    !d->texts[PTRC_RULE_KEY_MIN_COUNT])
		ptrc_rule_refuse(
			d, &d->marks[r->kind],
			"'pair' needs a bound such as p99: \"< 3ms\", at-most or min_count");
	if (r->kind == PTRC_RULE_PAIR && d->texts[PTRC_RULE_KEY_TOLERANCE] &&
	    !d->texts[PTRC_RULE_KEY_AT_MOST])
		ptrc_rule_refuse(d, &d->marks[PTRC_RULE_KEY_TOLERANCE],
				 "'tolerance' has no meaning beside 'pair' without 'at-most'");
}

/* Adds the event of the key that gives the rule its kind, such as `after`, and the event of
 * `expect`, `require` or `of`. */
static void make_single(struct ptrc_rule *r, const struct ptrc_rule_draft *d)
{
	static const int others[PTRC_RULE_KINDS] = {
		[PTRC_RULE_AFTER] = PTRC_RULE_KEY_EXPECT,
		[PTRC_RULE_BEFORE] = PTRC_RULE_KEY_REQUIRE,
	};
	const char *of = d->texts[PTRC_RULE_KEY_OF];
	int other = others[r->kind];

	if (other && !d->texts[other])
		ptrc_rule_refuse(d, &d->marks[r->kind], "'%s' needs '%s'",
				 ptrc_rule_keys[r->kind].name, ptrc_rule_keys[other].name);
	add_key(r, d, (int)r->kind);
	if (other)
		add_key(r, d, other);
	if (of && !d->texts[PTRC_RULE_KEY_WITHIN])
		ptrc_rule_refuse(d, &d->marks[PTRC_RULE_KEY_OF],
				 "'of' needs 'within', as in within: 2s, of: start");
	if (of && strcmp(of, "start"))
		add_key(r, d, PTRC_RULE_KEY_OF);
	if (r->kind == PTRC_RULE_COUNT)
		make_count(r, d);
}

/* Adds the condition of the key `where` to the first event of the rule, or to each event of an order. */
static void add_where(struct ptrc_rule *r, const struct ptrc_rule_draft *d)
{
	size_t count = r->kind == PTRC_RULE_ORDER ? r->event_count : 1;

	for (size_t i = 0; i < count && d->texts[PTRC_RULE_KEY_WHERE]; i++) {
		r->events[i].texts[1] = d->texts[PTRC_RULE_KEY_WHERE];
		r->events[i].marks[1] = d->marks[PTRC_RULE_KEY_WHERE];
	}
}

static void put_event(struct ptrc_buffer *b, const struct ptrc_rule_event *e)
{
	ptrc_buffer_text(b, e->pattern);
	for (size_t i = 0; i < 2; i++)
		if (e->texts[i])
			ptrc_buffer_format(b, " where %s", e->texts[i]);
}

static void put_key(struct ptrc_buffer *b, const struct ptrc_rule_draft *d, int key)
{
	if (d->texts[key])
		ptrc_buffer_format(b, " %s %s", ptrc_rule_keys[key].name, d->texts[key]);
}

/* Returns the text of the rule on one line. */
static const char *describe(const struct ptrc_rule *r, const struct ptrc_rule_draft *d)
{
	static const int keys[] = {PTRC_RULE_KEY_WITHIN, PTRC_RULE_KEY_OF,  PTRC_RULE_KEY_MIN,
				   PTRC_RULE_KEY_MAX,	 PTRC_RULE_KEY_PER, PTRC_RULE_KEY_BY};
	PTRC_SCOPED_BUFFER b = PTRC_BUFFER_INIT;

	ptrc_buffer_text(&b, ptrc_rule_keys[r->kind].name);
	if (r->kind == PTRC_RULE_LOSS)
		ptrc_buffer_text(&b, " none");
	for (size_t i = 0; i < r->event_count; i++) {
		static const char *const links[PTRC_RULE_KINDS] = {
			[PTRC_RULE_AFTER] = " expect ",
			[PTRC_RULE_BEFORE] = " require ",
			[PTRC_RULE_PAIR] = "..",
			[PTRC_RULE_ORDER] = ", ",
		};

		if (r->kind == PTRC_RULE_EXISTS && i)
			break;
		ptrc_buffer_text(&b, i ? links[r->kind] : " ");
		put_event(&b, &r->events[i]);
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		put_key(&b, d, keys[i]);
	for (size_t i = 0; i < r->bound_count; i++)
		ptrc_buffer_format(&b, "%s %s %s", i ? "," : "", r->bounds[i].key,
				   r->bounds[i].text);
	if (r->bound_count && d->texts[PTRC_RULE_KEY_AT_MOST])
		ptrc_buffer_char(&b, ',');
	put_key(&b, d, PTRC_RULE_KEY_AT_MOST);
	put_key(&b, d, PTRC_RULE_KEY_MIN_COUNT);
	return ptrc_rule_keep(b.bytes, b.used);
}

static void check_name(const struct ptrc_rules *rules, const struct ptrc_rule *r,
		       const struct ptrc_rule_draft *d)
{
	const char *given = d->texts[PTRC_RULE_KEY_NAME];
	const struct ptrc_config_mark *mark = given ? &d->marks[PTRC_RULE_KEY_NAME] : &d->mark;

	if (!*r->name)
		ptrc_rule_refuse(d, mark, "name: is empty");
	for (size_t i = 0; i < rules->count; i++) {
		if (strcmp(rules->list[i].name, r->name))
			continue;
		if (rules->list[i].mark.line)
			ptrc_rule_refuse(d, mark, "'%.80s' is the name of the rule in line %zu too",
					 r->name, rules->list[i].mark.line);
		ptrc_rule_refuse(d, mark, "the rule '%.80s' is given twice", r->name);
	}
}

void ptrc_rules_add(struct ptrc_rules *rules, const struct ptrc_rule_draft *d)
{
	bool has_count;
	int by;
	struct ptrc_rule r = {.mark = d->mark};

	if (rules->count == PTRC_RULES_MAX)
		ptrc_rule_refuse(d, &d->mark, "more than %d rules", PTRC_RULES_MAX);
	r.kind = kind_of(d);
	check_keys(d, r.kind);
	if (r.kind == PTRC_RULE_PAIR || r.kind == PTRC_RULE_ORDER)
		make_list(&r, d);
	else if (r.kind != PTRC_RULE_LOSS)
		make_single(&r, d);
	else if (strcmp(d->texts[PTRC_RULE_LOSS], "none"))
		ptrc_rule_refuse(d, &d->marks[PTRC_RULE_LOSS], "loss: has to be none");
	add_where(&r, d);
	by = d->texts[PTRC_RULE_KEY_PER] ? PTRC_RULE_KEY_PER : PTRC_RULE_KEY_BY;
	r.by_text = d->texts[by];
	r.by_mark = d->marks[by];
	r.within_ns = duration_of(d, PTRC_RULE_KEY_WITHIN);
	r.within_text = d->texts[PTRC_RULE_KEY_WITHIN];
	r.tolerance_ns = duration_of(d, PTRC_RULE_KEY_TOLERANCE);
	r.at_most = at_most_of(d);
	if (r.tolerance_ns > PTRC_RULE_TOLERANCE_MAX)
		ptrc_rule_refuse(d, &d->marks[PTRC_RULE_KEY_TOLERANCE],
				 "tolerance: is more than a minute");
	r.at_end = doubt_of(d, PTRC_RULE_KEY_AT_END);
	r.at_loss = doubt_of(d, PTRC_RULE_KEY_AT_LOSS);
	/* By default, a rule of these kinds passes only if at least one event shows that it is kept.
	 * PTRC_RULE_BEFORE is none of them: such a rule passes if no event happens. */
	has_count =
		r.kind == PTRC_RULE_AFTER || r.kind == PTRC_RULE_PAIR || r.kind == PTRC_RULE_ORDER;
	r.min_count = number_of(d, PTRC_RULE_KEY_MIN_COUNT, has_count);
	r.text = describe(&r, d);
	r.name = d->texts[PTRC_RULE_KEY_NAME] ? d->texts[PTRC_RULE_KEY_NAME] : r.text;
	check_name(rules, &r, d);
	*ptrc_append(rules->list, rules->count) = r;
}

/* A mistake that is found when the fields of a rule are looked up and its expressions are
 * parsed. */
struct mistake {
	const struct ptrc_rule *rule;
	const struct ptrc_config_mark *mark;
	const char *key;
	struct ptrc_cli_reason why;
};

/* Accepts fields that no layout has, and values of any type for those of other layouts, before the logs are open
 * (q NULL), and if none of the events has a type in the logs: a type that a program has not used has no layout there.
 * Otherwise only the layouts of these events count. */
static void open_layouts(struct ptrc_rules *rules, struct ptrc_query *q,
			 const struct ptrc_rule_event *events, size_t count)
{
	struct ptrc_layouts *l = rules->layouts;

	l->is_open = true;
	if (q)
		ptrc_layouts_leave_out(l);
	for (size_t i = 0; q && i < count; i++) {
		l->is_open &= !ptrc_query_has_match(q, events[i].pattern);
		ptrc_query_take_layouts(q, events[i].pattern);
	}
}

static bool bind_field(struct ptrc_rules *rules, struct ptrc_rule *r, struct mistake *m)
{
	m->mark = &r->by_mark;
	m->key = r->kind == PTRC_RULE_COUNT ? "per" : "by";
	if (!r->by_text)
		return true;
	if (!ptrc_field_find_key(r->by_text, rules->layouts, &r->by, &m->why))
		return false;
	return !ptrc_field_is_of_source(r->by.id) ||
	       ptrc_cli_because(&m->why, "function, file and line are not known to rules");
}

/* If the mistake in the expression of a pair rule is a field end.NAME, which only the options that select pairs have,
 * adds to the reason how a rule has it. */
static void advise_on_end(const struct ptrc_rule *r, struct ptrc_cli_reason *why)
{
	size_t used = strlen(why->text);

	if (r->kind == PTRC_RULE_PAIR && strstr(why->text, "'end."))
		snprintf(why->text + used, sizeof(why->text) - used,
			 "; a condition on the end event is written after its name, without "
			 "'end.': BEGIN..END where EXPRESSION");
}

static bool bind_where(struct ptrc_rules *rules, struct ptrc_rule *r, size_t number, size_t i,
		       struct mistake *m)
{
	struct ptrc_rule_event *e = &r->events[number];

	if (!e->texts[i])
		return true;
	m->mark = &e->marks[i];
	m->key = "where";
	if (e->wheres[i])
		ptrc_where_free(e->wheres[i]);
	e->wheres[i] = ptrc_where_parse(e->texts[i], rules->layouts, &m->why);
	if (!e->wheres[i]) {
		advise_on_end(r, &m->why);
		return false;
	}
	if (ptrc_where_has_source_field(e->wheres[i]))
		return ptrc_cli_because(&m->why, "function, file and line are not known to rules");
	rules->has_gap |= ptrc_where_has_field(e->wheres[i], PTRC_FIELD_GAP);
	rules->has_bound |= ptrc_where_has_field(e->wheres[i], PTRC_FIELD_BOUND);
	if (ptrc_where_has_base(e->wheres[i], PTRC_WHEN_FROM_END))
		return ptrc_cli_because(
			&m->why, "a time before the end is not known while the logs are read");
	return true;
}

/* Finds the fields that the rules and their expressions name. On the first mistake, stores it and returns false. */
static bool bind(struct ptrc_rules *rules, struct ptrc_query *q, struct mistake *m)
{
	for (size_t i = 0; i < rules->count; i++) {
		struct ptrc_rule *r = &rules->list[i];

		m->rule = r;
		open_layouts(rules, q, r->events, r->event_count);
		if (!bind_field(rules, r, m))
			return false;
		for (size_t k = 0; k < 2 * r->event_count; k++) {
			open_layouts(rules, q, &r->events[k / 2], 1);
			if (!bind_where(rules, r, k / 2, k % 2, m))
				return false;
		}
	}
	return true;
}

void ptrc_rules_bind(struct ptrc_rules *rules)
{
	struct ptrc_rule_draft d = {0};
	struct mistake m;

	if (bind(rules, NULL, &m))
		return;
	d.file = m.rule->mark.line ? rules->file : NULL;
	d.option = m.rule->text;
	ptrc_rule_refuse(&d, m.mark, "%s: %s", m.key, m.why.text);
}

bool ptrc_rules_bind_again(struct ptrc_rules *rules, struct ptrc_query *q)
{
	char place[PATH_MAX + 48];
	struct mistake m;
	bool is_right = bind(rules, q, &m);

	rules->layouts->is_open = false;
	ptrc_layouts_take_all(rules->layouts);
	if (is_right)
		return true;
	snprintf(place, sizeof(place), "%s:%zu:%zu", rules->file, m.mark->line, m.mark->column);
	ptrc_cli_message(m.rule->mark.line ? place : m.rule->text, "%s: %s", m.key, m.why.text);
	return false;
}
