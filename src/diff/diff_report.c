/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/diff/diff_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/json.h"
#include "src/spans/pair_report.h"

/* If a name is longer than this, the verdict follows on the next line. */
enum { NAME_MAX_COLUMNS = 12 };
enum { LABEL = 28, VALUE_COLUMNS = 13, NAME = 26, RATE_COLUMNS = 12 };

/* A p-value below this is shown as "< 1e-06", because the approximation is not more exact. */
#define P_LEAST 1e-6

static const char *const side_names[PTRC_DIFF_SIDES] = {"before", "after"};

static const char *const verdicts[] = {
	[PTRC_DIFF_NEW] = "new",       [PTRC_DIFF_GONE] = "gone",
	[PTRC_DIFF_NONE] = "none",     [PTRC_DIFF_SLOWER] = "slower",
	[PTRC_DIFF_FASTER] = "faster", [PTRC_DIFF_CHANGED] = "changed",
	[PTRC_DIFF_NOISE] = "noise",   [PTRC_DIFF_FEW] = "too few",
};

static const char *const condition_verdicts[] = {
	[PTRC_CONDITION_PASSED] = "passed",   [PTRC_CONDITION_FAILED] = "failed",
	[PTRC_CONDITION_NOISE] = "noise",     [PTRC_CONDITION_FEW] = "too few",
	[PTRC_CONDITION_MISSING] = "missing",
};

static const char *tests_of(const struct ptrc_diff *d)
{
	return ptrc_diff_is_single(d) ? "Mann-Whitney, Mathisen; Holm"
				      : "permutation of logs; Westfall-Young";
}

/* ---- text ---- */

/* The columns of text, with a blank before each, as formats that lack their last letters. */
#define VALUE " %12"
#define CHANGE " %9"
#define COUNT " %9"
#define RATE " %11"

/* Puts the label, which is the first column, after an indent. After a long label, the other columns are on
 * the next line. */
static void put_label(struct ptrc_buffer *b, long indent, const char *label, size_t columns)
{
	size_t begin = b->used;

	ptrc_buffer_blanks(b, indent);
	ptrc_text_put(b, label, strlen(label));
	if (b->used - begin > columns) {
		ptrc_buffer_char(b, '\n');
		begin = b->used;
	}
	ptrc_buffer_blanks(b, (long)columns - (long)(b->used - begin));
}

static void put_rate(struct ptrc_buffer *b, double rate, int columns)
{
	if (rate < 0)
		ptrc_buffer_format(b, " %*s", columns - 1, "-");
	else
		ptrc_buffer_format(b, " %*.*f", columns - 1, rate < 1000 ? 2 : 0, rate);
}

static void put_change(struct ptrc_buffer *b, double before, double after)
{
	double percent = 100 * ptrc_diff_change(before, after);
	char change[64] = "-";

	if (before == 0 && after > 0)
		strcpy(change, "new");
	else if (before > 0 && after == 0)
		strcpy(change, "gone");
	else if (before >= 0 && after >= 0)
		snprintf(change, sizeof(change), percent >= 1000 ? "x%.1f" : "%+.1f%%",
			 percent >= 1000 ? after / before : percent);
	ptrc_buffer_format(b, CHANGE "s", change);
}

static void put_numbers(struct ptrc_buffer *b, long indent, const char *label, uint64_t before,
			uint64_t after)
{
	put_label(b, indent, label, LABEL);
	ptrc_buffer_format(b, VALUE PRIu64 VALUE PRIu64, before, after);
	put_change(b, (double)before, (double)after);
	ptrc_buffer_char(b, '\n');
}

static void put_sides(struct ptrc_buffer *b, const struct ptrc_diff *d)
{
	const struct ptrc_diff_side *s = d->sides;
	double rates[PTRC_DIFF_SIDES];

	for (size_t i = 0; i < PTRC_DIFF_SIDES; i++) {
		for (size_t k = 0; k < s[i].log_count; k++) {
			ptrc_buffer_format(b, "%-7s ", k ? "" : side_names[i]);
			ptrc_text_put(b, s[i].logs[k], strlen(s[i].logs[k]));
			ptrc_buffer_char(b, '\n');
		}
		rates[i] = ptrc_diff_rate(&s[i], s[i].event_count);
	}
	ptrc_buffer_char(b, '\n');
	put_label(b, 0, "", LABEL);
	ptrc_buffer_format(b, VALUE "s" VALUE "s" CHANGE "s\n", side_names[0], side_names[1],
			   "change");
	put_numbers(b, 0, "events", s[0].event_count, s[1].event_count);
	put_label(b, 0, "events per second", LABEL);
	put_rate(b, rates[0], VALUE_COLUMNS);
	put_rate(b, rates[1], VALUE_COLUMNS);
	put_change(b, rates[0], rates[1]);
	ptrc_buffer_char(b, '\n');
	put_numbers(b, 0, "events lost", s[0].lost_count, s[1].lost_count);
}

/* Puts the result of a test, for example "noise, p 0.31". p is less than 0 if there was no test. */
static void put_test(struct ptrc_buffer *b, double p, bool is_changed)
{
	if (p < 0)
		return;
	ptrc_buffer_format(b, "  %sp %s%.2g", is_changed ? "" : "noise, ", p < P_LEAST ? "< " : "",
			   fmax(p, P_LEAST));
}

static void put_lengths(struct ptrc_buffer *b, const char *label, const struct ptrc_diff_pair *p,
			uint64_t before, uint64_t after, double p_value, bool is_changed)
{
	bool has_both = p->sides[0].lengths.count && p->sides[1].lengths.count;

	put_label(b, 2, label, LABEL);
	ptrc_buffer_format(b, VALUE "s" VALUE "s",
			   ptrc_quantiles_text(&p->sides[0].lengths, before),
			   ptrc_quantiles_text(&p->sides[1].lengths, after));
	put_change(b, has_both ? (double)before : -1, has_both ? (double)after : -1);
	if (has_both && before != after)
		put_test(b, p_value, is_changed);
	ptrc_buffer_char(b, '\n');
}

/* Returns the verdict on a single quantile. */
static const char *quantile_verdict(const struct ptrc_diff_pair *p, size_t i)
{
	if (!p->is_changed[i])
		return verdicts[PTRC_DIFF_NOISE];
	return verdicts[ptrc_diff_quantile(p, PTRC_DIFF_AFTER, i) >
					ptrc_diff_quantile(p, PTRC_DIFF_BEFORE, i)
				? PTRC_DIFF_SLOWER
				: PTRC_DIFF_FASTER];
}

/* Puts the reason of the verdict: those of the quantiles, or how many durations or logs a test needs. */
static void put_reason(struct ptrc_buffer *b, const struct ptrc_diff_pair *p)
{
	if (p->verdict != PTRC_DIFF_FEW)
		for (size_t i = 0; i < PTRC_QUANTILES_SHOWN; i++)
			ptrc_buffer_format(b, "%s%s %s", i ? ", " : "",
					   ptrc_quantiles_shown[i].name, quantile_verdict(p, i));
	else if (ptrc_diff_has_few_durations(p))
		ptrc_buffer_format(b, "%d durations on each side are needed", PTRC_RANKS_LEAST);
	else
		ptrc_buffer_format(b, "%d logs on each side are enough", PTRC_RUNS_ENOUGH);
}

static void put_pair(struct ptrc_buffer *b, const struct ptrc_diff_pair *p)
{
	const struct ptrc_quantiles *before = &p->sides[PTRC_DIFF_BEFORE].lengths;
	const struct ptrc_quantiles *after = &p->sides[PTRC_DIFF_AFTER].lengths;
	size_t begin = b->used;

	ptrc_pair_put_name(b, &p->pair);
	ptrc_buffer_text(b, b->used - begin > NAME_MAX_COLUMNS ? ":\n  " : ": ");
	ptrc_buffer_text(b, verdicts[p->verdict]);
	if (before->count && after->count) {
		ptrc_buffer_text(b, " (");
		put_reason(b, p);
		ptrc_buffer_format(b, "; longer after: %.1f %%)", 100 * p->test.superiority);
	}
	ptrc_buffer_char(b, '\n');
	put_numbers(b, 2, "count", before->count, after->count);
	for (size_t i = 0; i < PTRC_QUANTILES_SHOWN; i++)
		put_lengths(b, ptrc_quantiles_shown[i].name, p,
			    ptrc_diff_quantile(p, PTRC_DIFF_BEFORE, i),
			    ptrc_diff_quantile(p, PTRC_DIFF_AFTER, i),
			    p->verdict == PTRC_DIFF_FEW ? -1 : p->p_values[i], p->is_changed[i]);
	put_lengths(b, "max", p, before->greatest, after->greatest, -1, false);
}

static void put_type(struct ptrc_buffer *b, const struct ptrc_diff *d,
		     const struct ptrc_diff_type *type)
{
	double rates[PTRC_DIFF_SIDES];
	bool has_rates;

	put_label(b, 0, type->name, NAME);
	for (size_t i = 0; i < PTRC_DIFF_SIDES; i++) {
		rates[i] = ptrc_diff_rate(&d->sides[i], type->counts[i]);
		ptrc_buffer_format(b, COUNT PRIu64, type->counts[i]);
	}
	for (size_t i = 0; i < PTRC_DIFF_SIDES; i++)
		put_rate(b, rates[i], RATE_COLUMNS);
	has_rates = rates[0] >= 0 && rates[1] >= 0;
	put_change(b, has_rates ? rates[0] : (double)type->counts[0],
		   has_rates ? rates[1] : (double)type->counts[1]);
	ptrc_buffer_char(b, '\n');
}

static void put_types(struct ptrc_buffer *b, const struct ptrc_diff *d)
{
	put_label(b, 0, "event type", NAME);
	ptrc_buffer_format(b, COUNT "s" COUNT "s" RATE "s" RATE "s" CHANGE "s\n", "before", "after",
			   "before/s", "after/s", "change");
	for (size_t i = 0; i < d->type_count; i++)
		put_type(b, d, d->types[i]);
}

/* Puts a value of the kind that the condition compares, with its unit. */
static void put_value(struct ptrc_buffer *b, const struct ptrc_condition *c, double value)
{
	if (c->what == PTRC_CONDITION_QUANTILE)
		ptrc_buffer_duration(b, (uint64_t)value, true);
	else
		ptrc_buffer_format(b, c->what == PTRC_CONDITION_RATE ? "%.2f/s" : "%.0f", value);
}

static void put_condition(struct ptrc_buffer *b, const struct ptrc_condition *c)
{
	ptrc_buffer_format(b, "%-8s ", condition_verdicts[c->verdict]);
	ptrc_text_put(b, c->text, strlen(c->text));
	if (c->verdict != PTRC_CONDITION_MISSING) {
		ptrc_buffer_text(b, ": ");
		put_value(b, c, c->values[PTRC_DIFF_AFTER]);
	}
	if (c->verdict != PTRC_CONDITION_MISSING && c->is_change) {
		ptrc_buffer_text(b, ", before ");
		put_value(b, c, c->values[PTRC_DIFF_BEFORE]);
	}
	ptrc_buffer_char(b, '\n');
}

void ptrc_diff_put_text(struct ptrc_buffer *b, const struct ptrc_diff *d,
			const struct ptrc_conditions *conditions)
{
	put_sides(b, d);
	if (d->pair_count)
		ptrc_buffer_format(b,
				   "\npairs, what changed most first; a change is noise at p >= %g"
				   "\n(%s)\n%s",
				   ptrc_diff_threshold(d), tests_of(d),
				   ptrc_diff_is_single(d)
					   ? "equal runs often differ, too: to judge a "
					     "change, give several logs (--baseline)\n"
					   : "");
	for (size_t i = 0; i < d->pair_count; i++) {
		ptrc_buffer_char(b, '\n');
		put_pair(b, d->pair_list[i]);
	}
	if (d->type_count) {
		ptrc_buffer_char(b, '\n');
		put_types(b, d);
	}
	if (conditions->count)
		ptrc_buffer_char(b, '\n');
	for (size_t i = 0; i < conditions->count; i++)
		put_condition(b, &conditions->list[i]);
}

/* ---- JSON ---- */

static void put_double(struct ptrc_json *j, const char *key, double number)
{
	ptrc_json_key(j, key);
	ptrc_buffer_format(j->buffer, "%.6g", number);
}

static void put_side_json(struct ptrc_json *j, const char *key, const struct ptrc_diff_side *s)
{
	ptrc_json_open(j, key, '{');
	ptrc_json_open(j, "logs", '[');
	for (size_t i = 0; i < s->log_count; i++) {
		ptrc_json_open(j, NULL, '{');
		ptrc_json_bytes(j, "log", s->logs[i], strlen(s->logs[i]));
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
	ptrc_json_u64(j, "event_count", s->event_count);
	ptrc_json_u64(j, "span_ns", s->span_ns);
	if (s->span_ns)
		put_double(j, "events_per_second", ptrc_diff_rate(s, s->event_count));
	ptrc_json_u64(j, "lost_events", s->lost_count);
	ptrc_json_bool(j, "complete", s->is_complete);
	ptrc_json_close(j, '}');
}

static void put_type_json(struct ptrc_json *j, const struct ptrc_diff *d,
			  const struct ptrc_diff_type *type)
{
	ptrc_json_open(j, NULL, '{');
	ptrc_json_bytes(j, "event", type->name, strlen(type->name));
	for (size_t i = 0; i < PTRC_DIFF_SIDES; i++) {
		ptrc_json_open(j, side_names[i], '{');
		ptrc_json_u64(j, "events", type->counts[i]);
		if (d->sides[i].span_ns)
			put_double(j, "per_second", ptrc_diff_rate(&d->sides[i], type->counts[i]));
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, '}');
}

static void put_pair_json(struct ptrc_json *j, const struct ptrc_diff_pair *p)
{
	ptrc_json_open(j, NULL, '{');
	ptrc_json_bytes(j, "pair", p->pair.name, strlen(p->pair.name));
	ptrc_pair_json(j, &p->pair);
	ptrc_json_text(j, "verdict", verdicts[p->verdict]);
	for (size_t i = 0; i < PTRC_DIFF_SIDES; i++) {
		const struct ptrc_diff_pair_side *s = &p->sides[i];

		ptrc_json_open(j, side_names[i], '{');
		ptrc_json_u64(j, "count", s->lengths.count);
		ptrc_pair_halves_json(j, &s->halves, s->without_key);
		if (s->lengths.count)
			ptrc_quantiles_json(j, &s->lengths);
		ptrc_json_close(j, '}');
	}
	if (p->sides[0].lengths.count && p->sides[1].lengths.count) {
		put_double(j, "p_value", p->test.p_value);
		put_double(j, "superiority", p->test.superiority);
		ptrc_json_open(j, "quantiles", '{');
		for (size_t i = 0; i < PTRC_QUANTILES_SHOWN; i++) {
			ptrc_json_open(j, ptrc_quantiles_shown[i].name, '{');
			put_double(j, "p_value", p->p_values[i]);
			ptrc_json_bool(j, "noise",
				       !p->is_changed[i] || p->verdict == PTRC_DIFF_FEW);
			ptrc_json_close(j, '}');
		}
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, '}');
}

void ptrc_diff_put_json(struct ptrc_buffer *b, const struct ptrc_diff *d,
			const struct ptrc_conditions *conditions)
{
	struct ptrc_json j = ptrc_json_begin(b);

	ptrc_json_text(&j, "kind", "diff");
	for (size_t i = 0; i < PTRC_DIFF_SIDES; i++)
		put_side_json(&j, side_names[i], &d->sides[i]);
	ptrc_json_text(&j, "test", tests_of(d));
	put_double(&j, "threshold", ptrc_diff_threshold(d));
	ptrc_json_open(&j, "pairs", '[');
	for (size_t i = 0; i < d->pair_count; i++)
		put_pair_json(&j, d->pair_list[i]);
	ptrc_json_close(&j, ']');
	ptrc_json_open(&j, "events", '[');
	for (size_t i = 0; i < d->type_count; i++)
		put_type_json(&j, d, d->types[i]);
	ptrc_json_close(&j, ']');
	ptrc_json_open(&j, "conditions", '[');
	for (size_t i = 0; i < conditions->count; i++) {
		const struct ptrc_condition *c = &conditions->list[i];

		ptrc_json_open(&j, NULL, '{');
		ptrc_json_bytes(&j, "condition", c->text, strlen(c->text));
		ptrc_json_text(&j, "verdict", condition_verdicts[c->verdict]);
		for (size_t k = 0; k < PTRC_DIFF_SIDES; k++) {
			if (c->verdict == PTRC_CONDITION_MISSING || c->values[k] < 0)
				continue;
			ptrc_json_key(&j, side_names[k]);
			ptrc_buffer_format(b, "%.17g", c->values[k]);
		}
		ptrc_json_close(&j, '}');
	}
	ptrc_json_close(&j, ']');
	ptrc_json_end(&j);
}
