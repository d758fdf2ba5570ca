/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/diff/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/query/view.h"
#include "src/fields/when.h"
#include "src/spans/pair_report.h"

/* ---- taking events ---- */

/* Adds the number of events of each type in a log to the sums of the log's side. A type that has no events, but whose
 * name --event selects, gets an entry with the count 0. */
static void add_types(struct ptrc_diff *d, const struct ptrc_reader *r)
{
	for (trace_event_id_t id = 0; id < PTRC_READER_IDS; id++) {
		const struct ptrc_type *counted = r->types[id];
		struct ptrc_diff_type *type;

		if (!counted || ptrc_is_system_type(id) ||
		    (!counted->of_sink &&
		     !(counted->name.is_known &&
		       ptrc_select_has_name(&d->query->select, counted->name.text))))
			continue;
		type = ptrc_table_find(&d->type_table, counted->name.text, counted->name.size + 1,
				       sizeof(*type));
		type->name = (const char *)type->entry.key;
		if (counted->of_sink)
			type->counts[d->side] += *(const uint64_t *)counted->of_sink;
	}
}

static struct ptrc_diff_pair *find_pair(struct ptrc_diff *d, const struct ptrc_pair *p)
{
	struct ptrc_buffer name = PTRC_BUFFER_INIT;
	struct ptrc_diff_pair *pair;

	ptrc_pair_put_whole_name(&name, p);
	ptrc_buffer_char(&name, '\0');
	pair = ptrc_table_find(&d->pair_table, name.bytes, name.used, sizeof(*pair));
	if (!pair->whole_name) {
		pair->whole_name = (const char *)pair->entry.key;
		pair->pair.begin = ptrc_cli_copy(p->begin);
		pair->pair.end = ptrc_cli_copy(p->end);
		pair->pair.by_text = p->by_text ? ptrc_cli_copy(p->by_text) : NULL;
		pair->pair.name = ptrc_cli_copy(p->name);
	}
	ptrc_buffer_free(&name);
	return pair;
}

/* Whether the log has no event of the row's pair. */
static bool is_empty(const struct ptrc_diff *d, const struct ptrc_pair_row *row)
{
	const struct ptrc_pair_halves *h = &row->halves;

	return !row->lengths.count && !h->begins && !h->ends && !h->cut &&
	       !d->pairs->list[row->pair].without_key;
}

static void add_pairs(struct ptrc_diff *d, const char *log_path)
{
	size_t log = d->sides[d->side].log_count;
	size_t count;
	struct ptrc_pair_row **rows;

	ptrc_pairs_end(d->pairs, true);
	rows = ptrc_pairs_rows(d->pairs, &count);
	for (size_t i = 0; i < count; i++) {
		const struct ptrc_pair *p = &d->pairs->list[rows[i]->pair];
		struct ptrc_diff_pair *all;
		struct ptrc_diff_pair_side *s;

		if (rows[i]->pair >= d->asked_count && is_empty(d, rows[i]))
			continue;
		all = find_pair(d, p);
		if (!all->is_in_doubt)
			ptrc_pair_report_order(p, log_path, false);
		all->is_in_doubt |= p->is_crossed || p->is_across_threads;
		s = &all->sides[d->side];
		while (s->run_count <= log)
			*ptrc_append(s->runs, s->run_count) = (struct ptrc_quantiles){0};
		ptrc_quantiles_merge(&s->lengths, &rows[i]->lengths);
		ptrc_quantiles_merge(&s->runs[log], &rows[i]->lengths);
		s->halves.begins += rows[i]->halves.begins;
		s->halves.ends += rows[i]->halves.ends;
		s->halves.cut += rows[i]->halves.cut;
		s->without_key += p->without_key;
		all->pair.has_key |= p->has_key;
		all->pair.cut_keys += p->cut_keys;
	}
	free(rows);
	ptrc_pairs_forget(d->pairs);
}

static void add_log(struct ptrc_diff_side *s, const struct ptrc_reader *r,
		    const struct ptrc_losses *l)
{
	uint64_t lost = ptrc_losses_events(l);

	s->is_complete = (!s->log_count || s->is_complete) && !ptrc_losses_is_any(l);
	*ptrc_append(s->logs, s->log_count) = ptrc_cli_copy(r->path);
	s->lost_count += lost || !ptrc_losses_is_any(l) ? lost : 1;
}

static void take(void *self, struct ptrc_source *source)
{
	struct ptrc_diff *d = self;
	trace_event_id_t id = source->reader.event.posix_event_id;

	/* An event that is not selected comes only because of a loss. It is not counted. */
	if (!source->is_for_loss && !ptrc_is_system_type(id)) {
		struct ptrc_type *type = ptrc_reader_type(&source->reader, id);

		if (!type->of_sink)
			type->of_sink = ptrc_cli_allocate(sizeof(uint64_t));
		++*(uint64_t *)type->of_sink;
	}
	ptrc_pairs_take(d->pairs, source);
}

/* Returns the time from the first event of the log to its last one, as far as --since and --until select it. */
static uint64_t find_span(const struct ptrc_query *q)
{
	const struct ptrc_period *selected = &q->select.span;
	struct ptrc_source *s = q->sources;
	struct ptrc_period span;
	trace_event_set_t types;
	int error;

	/* The last flush may come long after the program's end. */
	posix_trace_eventset_fill(&types, POSIX_TRACE_ALL_EVENTS);
	posix_trace_eventset_del(POSIX_TRACE_FLUSH_START, &types);
	posix_trace_eventset_del(POSIX_TRACE_FLUSH_STOP, &types);
	error = ptrc_query_find_period(s, &types, &span);
	if (error)
		s->losses.read_error = error;
	span.first = span.first > selected->first ? span.first : selected->first;
	span.last = span.last < selected->last ? span.last : selected->last;
	return span.last > span.first ? (uint64_t)ptrc_when_subtract(span.last, span.first) : 0;
}

static void finish(void *self, bool is_read)
{
	struct ptrc_diff *d = self;
	struct ptrc_source *source = d->query->sources;
	struct ptrc_diff_side *s = &d->sides[d->side];

	(void)is_read;
	s->span_ns += find_span(d->query);
	add_types(d, &source->reader);
	add_pairs(d, source->reader.path);
	add_log(s, &source->reader, &source->losses);
}

void ptrc_diff_begin(struct ptrc_diff *d, size_t side, struct ptrc_query *query)
{
	d->side = side;
	d->query = query;
	query->sink = (struct ptrc_sink){
		.self = d, .event = take, .finish = finish, .takes_losses = true};
}

/* ---- comparing ---- */

double ptrc_diff_rate(const struct ptrc_diff_side *s, uint64_t count)
{
	return s->span_ns ? (double)count * 1e9 / (double)s->span_ns : -1;
}

double ptrc_diff_change(double before, double after)
{
	if (before == after)
		return 0;
	return before > 0 ? (after - before) / before : (double)INFINITY;
}

bool ptrc_diff_is_single(const struct ptrc_diff *d)
{
	return d->sides[0].log_count == 1 && d->sides[1].log_count == 1;
}

double ptrc_diff_threshold(const struct ptrc_diff *d)
{
	return ptrc_diff_is_single(d) ? PTRC_RANKS_THRESHOLD : PTRC_RUNS_THRESHOLD;
}

size_t ptrc_diff_logs_with(const struct ptrc_diff_pair_side *s)
{
	size_t count = 0;

	for (size_t i = 0; i < s->run_count; i++)
		count += s->runs[i].count > 0;
	return count;
}

bool ptrc_diff_has_few_durations(const struct ptrc_diff_pair *p)
{
	return p->sides[0].lengths.count < PTRC_RANKS_LEAST ||
	       p->sides[1].lengths.count < PTRC_RANKS_LEAST;
}

/* Whether there are enough durations for a test and, unless each side has one log, enough logs. */
static bool is_enough(const struct ptrc_diff *d, const struct ptrc_diff_pair *p)
{
	const struct ptrc_diff_pair_side *s = p->sides;

	return !ptrc_diff_has_few_durations(p) &&
	       (ptrc_diff_is_single(d) ||
		ptrc_runs_least(ptrc_diff_logs_with(&s[0]), ptrc_diff_logs_with(&s[1])) <
			PTRC_RUNS_THRESHOLD);
}

/* Stores a first verdict: NEW, GONE or NONE if a side has no durations; FEW if not is_enough(); else NOISE, which
 * judge() may replace. If both sides have durations, stores the result of the rank test. */
static void compare(const struct ptrc_diff *d, struct ptrc_diff_pair *p)
{
	const struct ptrc_quantiles *a = &p->sides[PTRC_DIFF_BEFORE].lengths;
	const struct ptrc_quantiles *b = &p->sides[PTRC_DIFF_AFTER].lengths;

	if (!a->count || !b->count) {
		p->verdict = a->count ? PTRC_DIFF_GONE : b->count ? PTRC_DIFF_NEW : PTRC_DIFF_NONE;
		return;
	}
	p->test = ptrc_ranks_compare(a, b);
	p->verdict = is_enough(d, p) ? PTRC_DIFF_NOISE : PTRC_DIFF_FEW;
}

/* The tests of a pair: one for each quantile and, if durations are compared, the rank test, which is the last. */
static size_t count_tests(const struct ptrc_diff *d, size_t quantile_count)
{
	return quantile_count + ptrc_diff_is_single(d);
}

/* Compares the durations of each pair, and corrects the p-values of all pairs together. */
static void test_durations(const struct ptrc_diff *d, const struct ptrc_quantile *quantiles,
			   size_t count, double *p_values)
{
	size_t test_count = count_tests(d, count);
	double **tested = ptrc_cli_allocate(d->pair_count * test_count * sizeof(double *));
	size_t tested_count = 0;

	for (size_t i = 0; i < d->pair_count; i++, p_values += test_count) {
		const struct ptrc_diff_pair *p = d->pair_list[i];
		const struct ptrc_quantiles *before = &p->sides[PTRC_DIFF_BEFORE].lengths;
		const struct ptrc_quantiles *after = &p->sides[PTRC_DIFF_AFTER].lengths;

		if (!before->count || !after->count)
			continue;
		for (size_t k = 0; k < count; k++)
			p_values[k] =
				ptrc_ranks_compare_at(before, after, quantiles[k].per_million);
		p_values[count] = ptrc_ranks_compare(before, after).p_value;
		for (size_t k = 0; k < test_count && p->verdict != PTRC_DIFF_FEW; k++)
			tested[tested_count++] = &p_values[k];
	}
	ptrc_ranks_correct(tested, tested_count);
	free(tested);
}

/* Stores the logarithm of the pair's quantile in each log, NAN for a log that lacks the pair. A pair whose durations
 * are too few for any division of the logs has no numbers, and so no part in the tests. Which pairs take part must not
 * depend on the present division: otherwise the tests would report more than PTRC_RUNS_THRESHOLD allows. */
static void put_logarithms(const struct ptrc_diff *d, const struct ptrc_diff_pair *p,
			   unsigned int per_million, double *row)
{
	bool is_tested =
		p->sides[0].lengths.count + p->sides[1].lengths.count >= 2 * PTRC_RANKS_LEAST;

	for (size_t i = 0; i < PTRC_DIFF_SIDES; i++)
		for (size_t k = 0; k < d->sides[i].log_count; k++) {
			const struct ptrc_diff_pair_side *s = &p->sides[i];
			bool is_known = is_tested && k < s->run_count && s->runs[k].count;

			*row++ =
				is_known
					? log1p((double)ptrc_quantiles_at(&s->runs[k], per_million))
					: (double)NAN;
		}
}

/* Compares the logs by all quantiles of all pairs together. */
static void test_logs(const struct ptrc_diff *d, const struct ptrc_quantile *quantiles,
		      size_t count, double *p_values)
{
	size_t before = d->sides[PTRC_DIFF_BEFORE].log_count;
	size_t after = d->sides[PTRC_DIFF_AFTER].log_count;
	size_t rows = d->pair_count * count;
	double *values = ptrc_cli_allocate(rows * (before + after) * sizeof(*values));

	for (size_t i = 0; i < rows; i++)
		put_logarithms(d, d->pair_list[i / count], quantiles[i % count].per_million,
			       values + i * (before + after));
	ptrc_runs_compare(values, rows, before, after, p_values);
	free(values);
}

/* Returns the p-values of all tests, corrected for their number: count_tests() for each pair. The caller frees them. */
static double *test(const struct ptrc_diff *d, const struct ptrc_quantile *quantiles, size_t count)
{
	double *p_values =
		ptrc_cli_allocate(d->pair_count * count_tests(d, count) * sizeof(*p_values));

	if (ptrc_diff_is_single(d))
		test_durations(d, quantiles, count, p_values);
	else
		test_logs(d, quantiles, count, p_values);
	return p_values;
}

double ptrc_diff_test(const struct ptrc_diff *d, const struct ptrc_diff_pair *pair,
		      unsigned int per_million)
{
	struct ptrc_quantile quantiles[PTRC_QUANTILES_SHOWN + 1] = {0};
	double *p_values;
	double p_value = 0;

	for (size_t k = 0; k < PTRC_QUANTILES_SHOWN; k++) {
		if (ptrc_quantiles_shown[k].per_million == per_million)
			return pair->p_values[k];
		quantiles[k] = ptrc_quantiles_shown[k];
	}
	quantiles[PTRC_QUANTILES_SHOWN].per_million = per_million;
	p_values = test(d, quantiles, PTRC_QUANTILES_SHOWN + 1);
	for (size_t i = 0; i < d->pair_count; i++)
		if (d->pair_list[i] == pair)
			p_value = p_values[i * count_tests(d, PTRC_QUANTILES_SHOWN + 1) +
					   PTRC_QUANTILES_SHOWN];
	free(p_values);
	return p_value;
}

/* Tests the quantiles that are shown. */
static void test_shown(const struct ptrc_diff *d)
{
	size_t test_count = count_tests(d, PTRC_QUANTILES_SHOWN);
	double *p_values = test(d, ptrc_quantiles_shown, PTRC_QUANTILES_SHOWN);

	for (size_t i = 0; i < d->pair_count; i++) {
		struct ptrc_diff_pair *p = d->pair_list[i];
		const double *of_pair = &p_values[i * test_count];

		memcpy(p->p_values, of_pair, sizeof(p->p_values));
		p->test.p_value = of_pair[test_count - 1];
		for (size_t k = 0; k < test_count && !ptrc_diff_is_single(d); k++)
			p->test.p_value = fmin(p->test.p_value, of_pair[k]);
	}
	free(p_values);
}

static void judge(const struct ptrc_diff *d, struct ptrc_diff_pair *p)
{
	bool is_slower = false, is_faster = false;

	if (p->verdict != PTRC_DIFF_NOISE)
		return;
	for (size_t i = 0; i < PTRC_QUANTILES_SHOWN; i++) {
		uint64_t before = ptrc_diff_quantile(p, PTRC_DIFF_BEFORE, i);
		uint64_t after = ptrc_diff_quantile(p, PTRC_DIFF_AFTER, i);

		p->is_changed[i] = before != after && p->p_values[i] < ptrc_diff_threshold(d);
		is_slower |= p->is_changed[i] && after > before;
		is_faster |= p->is_changed[i] && after < before;
	}
	if (ptrc_diff_is_single(d)) {
		if (p->test.p_value < PTRC_RANKS_THRESHOLD)
			p->verdict =
				p->test.superiority > 0.5 ? PTRC_DIFF_SLOWER : PTRC_DIFF_FASTER;
		else if (is_slower || is_faster)
			p->verdict = PTRC_DIFF_CHANGED;
	} else if (is_slower || is_faster) {
		p->verdict = is_slower && is_faster ? PTRC_DIFF_CHANGED
			     : is_slower	    ? PTRC_DIFF_SLOWER
						    : PTRC_DIFF_FASTER;
	}
}

/* Returns the distance of two numbers on a logarithmic scale. */
static double distance(double before, double after)
{
	if (before <= 0 || after <= 0)
		return before == after ? 0 : (double)INFINITY;
	return fabs(log(after / before));
}

/* Returns the sort key of a pair: its largest change that is not noise; infinity if the pair is new or gone. Pairs
 * with only noise come after these, sorted by their largest changes; pairs without durations come last. */
static double weight_of(const struct ptrc_diff_pair *p)
{
	double changed = -1;
	double noise = 0;

	if (p->verdict == PTRC_DIFF_NEW || p->verdict == PTRC_DIFF_GONE)
		return (double)INFINITY;
	if (p->verdict == PTRC_DIFF_NONE)
		return -2;
	for (size_t i = 0; i < PTRC_QUANTILES_SHOWN; i++) {
		double d = distance((double)ptrc_diff_quantile(p, PTRC_DIFF_BEFORE, i),
				    (double)ptrc_diff_quantile(p, PTRC_DIFF_AFTER, i));

		if (p->is_changed[i] && p->verdict != PTRC_DIFF_FEW && d > changed)
			changed = d;
		noise = d > noise ? d : noise;
	}
	/* For noise, the result is between -1 and 0, which is less than any change. */
	return changed >= 0 ? changed : -1 / (1 + noise);
}

static int compare_pairs(const void *a, const void *b)
{
	const struct ptrc_diff_pair *s = *(struct ptrc_diff_pair *const *)a;
	const struct ptrc_diff_pair *t = *(struct ptrc_diff_pair *const *)b;
	double x = weight_of(s);
	double y = weight_of(t);

	if (x != y)
		return x > y ? -1 : 1;
	return strcmp(s->whole_name, t->whole_name);
}

static int compare_types(const void *a, const void *b, void *arg)
{
	const struct ptrc_diff_type *s = *(struct ptrc_diff_type *const *)a;
	const struct ptrc_diff_type *t = *(struct ptrc_diff_type *const *)b;
	const struct ptrc_diff *d = arg;
	const struct ptrc_diff_side *before = &d->sides[PTRC_DIFF_BEFORE];
	const struct ptrc_diff_side *after = &d->sides[PTRC_DIFF_AFTER];
	/* Numbers of events are compared per second, or in all if the logs show no time. */
	double scale = before->span_ns && after->span_ns
			       ? (double)before->span_ns / (double)after->span_ns
			       : 1;
	double x = distance((double)s->counts[0], (double)s->counts[1] * scale);
	double y = distance((double)t->counts[0], (double)t->counts[1] * scale);

	if (x != y)
		return x > y ? -1 : 1;
	return strcmp(s->name, t->name);
}

static void add_type(struct ptrc_diff *d, struct ptrc_diff_type *type)
{
	bool is_hidden = d->pairs->is_without_os && ptrc_is_os_name(type->name);

	if (!type->counts[PTRC_DIFF_BEFORE] && !type->counts[PTRC_DIFF_AFTER])
		return;
	d->has_hidden |= is_hidden;
	if (is_hidden)
		return;
	d->types[d->type_count++] = type;
	for (size_t i = 0; i < PTRC_DIFF_SIDES; i++)
		d->sides[i].event_count += type->counts[i];
}

void ptrc_diff_end(struct ptrc_diff *d)
{
	d->types = ptrc_cli_allocate((d->type_table.count + 1) * sizeof(struct ptrc_diff_type *));
	d->pair_list =
		ptrc_cli_allocate((d->pair_table.count + 1) * sizeof(struct ptrc_diff_pair *));
	for (struct ptrc_diff_type *type = NULL; (type = ptrc_table_next(&d->type_table, type));)
		add_type(d, type);
	for (struct ptrc_diff_pair *p = NULL; (p = ptrc_table_next(&d->pair_table, p));) {
		compare(d, p);
		d->pair_list[d->pair_count++] = p;
	}
	test_shown(d);
	for (size_t i = 0; i < d->pair_count; i++)
		judge(d, d->pair_list[i]);
	qsort_r(d->types, d->type_count, sizeof(*d->types), compare_types, d);
	ptrc_sort(d->pair_list, d->pair_count, compare_pairs);
}

void ptrc_diff_free(struct ptrc_diff *d)
{
	for (size_t i = 0; i < d->pair_count; i++) {
		struct ptrc_diff_pair *p = d->pair_list[i];

		ptrc_pair_free(&p->pair);
		for (size_t k = 0; k < PTRC_DIFF_SIDES; k++) {
			ptrc_quantiles_free(&p->sides[k].lengths);
			for (size_t n = 0; n < p->sides[k].run_count; n++)
				ptrc_quantiles_free(&p->sides[k].runs[n]);
			free(p->sides[k].runs);
		}
	}
	for (size_t k = 0; k < PTRC_DIFF_SIDES; k++) {
		for (size_t i = 0; i < d->sides[k].log_count; i++)
			free(d->sides[k].logs[i]);
		free(d->sides[k].logs);
	}
	free(d->types);
	free(d->pair_list);
	ptrc_table_free(&d->type_table);
	ptrc_table_free(&d->pair_table);
	*d = (struct ptrc_diff){0};
}
