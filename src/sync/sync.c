/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/sync/sync.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buffer.h"
#include "src/base/message.h"
#include "src/spans/key.h"
#include "src/query/misfits.h"
#include "src/sync/line.h"
#include "src/fields/when.h"

void ptrc_sync_read(struct ptrc_sync *s, const struct ptrc_cli_texts *texts,
		    const struct ptrc_layouts *layouts)
{
	struct ptrc_cli_reason why;

	for (size_t i = 0; i < texts->count; i++) {
		if (!ptrc_pairs_add(&s->messages, texts->texts[i], layouts, &why))
			ptrc_cli_usage("--clock-sync", "%s", why.text);
		if (!s->messages.list[i].by_text)
			ptrc_cli_usage("--clock-sync",
				       "'%.80s' has no 'by FIELD', which identifies a message",
				       texts->texts[i]);
		if (ptrc_field_is_of_source(s->messages.list[i].by.id))
			ptrc_cli_usage("--clock-sync",
				       "function, file and line do not identify a message");
	}
}

/* ---- messages ---- */

struct event {
	size_t key; /* the offset of the key in .keys of struct events */
	size_t key_size;
	uint32_t host;
	bool is_received;
	/* The event's time is uncertain, because its machine slept or its log lacks clock readings. */
	bool is_doubtful;
	int64_t ns;
};

struct events {
	struct event *list;
	size_t count;
	struct ptrc_buffer keys;
};

static void add_event(struct events *e, const struct ptrc_key *k, struct event event)
{
	event.key = e->keys.used;
	event.key_size = k->size;
	ptrc_buffer_bytes(&e->keys, k->bytes, k->size);
	*ptrc_append(e->list, e->count) = event;
}

static void take(const struct ptrc_sync *s, size_t number, struct ptrc_view *view, uint32_t host,
		 struct events *e)
{
	const struct ptrc_pair *m = &s->messages.list[number];
	struct ptrc_reader *r = view->reader;
	const char *name = ptrc_reader_name(r, r->event.posix_event_id)->text;
	struct event event = {.host = host, .ns = ptrc_when_ns(&r->event.posix_timestamp)};
	int64_t log_ns = ptrc_when_ns(ptrc_reader_log_time(r));
	struct ptrc_key k;

	for (int i = 0; i < 2; i++) {
		event.is_received = i;
		if (strcmp(name, i ? m->end : m->begin) != 0 ||
		    !ptrc_key_make(&k, number, 0, view, &m->by))
			continue;
		event.is_doubtful = ptrc_correction_doubt(r->correction, log_ns) != 0;
		add_event(e, &k, event);
		ptrc_key_free(&k);
	}
}

static void select_messages(const struct ptrc_sync *s, struct ptrc_reader *r,
			    trace_event_set_t *types)
{
	posix_trace_eventset_empty(types);
	for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++)
		for (size_t i = 0; i < s->messages.count && r->types[id]; i++)
			if (!strcmp(r->types[id]->name.text, s->messages.list[i].begin) ||
			    !strcmp(r->types[id]->name.text, s->messages.list[i].end))
				posix_trace_eventset_add(id, types);
}

/* Reads the sending and receiving events of a log. Returns false, after a message, if the log cannot be read. */
static bool read_events(const struct ptrc_sync *s, struct ptrc_query *q, struct ptrc_source *source,
			struct events *e)
{
	struct ptrc_reader *r = &source->reader;
	uint32_t host = (uint32_t)q->hosts.host_of[source - q->sources];
	struct ptrc_counts counts;
	trace_event_set_t types;
	int error;

	select_messages(s, r, &types);
	error = ptrc_reader_select(r, NULL, 0, &types);
	while (!error && ptrc_reader_next(r)) {
		ptrc_view_find_layout(&source->view, &q->layouts);
		for (size_t i = 0; i < s->messages.count; i++)
			take(s, i, &source->view, host, e);
	}
	if (!ptrc_trace_counts(r->trace, &counts))
		source->is_damaged |= counts.pt_damaged_gaps != 0;
	ptrc_misfits_forget(r);
	if (!error)
		error = ptrc_reader_select(r, NULL, 0, NULL);
	if (error)
		ptrc_cli_error(r->path, error);
	return !error;
}

static const char *sorted_keys;

static int compare_keys(const struct event *a, const struct event *b)
{
	size_t size = a->key_size < b->key_size ? a->key_size : b->key_size;
	int order = memcmp(sorted_keys + a->key, sorted_keys + b->key, size);

	return order ? order : (a->key_size > b->key_size) - (a->key_size < b->key_size);
}

/* Orders events by key; then sending before receiving; then by host; then by time. */
static int by_key(const void *one, const void *other)
{
	const struct event *a = one, *b = other;
	int order = compare_keys(a, b);

	if (order)
		return order;
	if (a->is_received != b->is_received)
		return a->is_received - b->is_received;
	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	return (a->ns > b->ns) - (a->ns < b->ns);
}

/* ---- channels ---- */

/* The messages between two hosts. `first` is the host with the smaller number. */
struct channel {
	struct ptrc_table_entry entry;
	size_t first, second;
	/* Bounds of how far the clock of `second` is ahead of that of `first`, at times by the clock of `first`. */
	struct ptrc_sync_evidence evidence;
};

struct channels {
	struct ptrc_table table;
	struct channel **list;
	size_t count;
};

static struct channel *channel_of(struct channels *c, size_t first, size_t second)
{
	size_t key[] = {first, second};
	struct channel *found = ptrc_table_find(&c->table, key, sizeof(key), sizeof(*found));

	if (c->table.count > c->count) {
		found->first = first;
		found->second = second;
		*ptrc_append(c->list, c->count) = found;
	}
	return found;
}

static void add_message(struct ptrc_sync *s, struct channels *c, const struct event *sent,
			const struct event *received)
{
	bool is_forth = sent->host < received->host;
	size_t first = is_forth ? sent->host : received->host;
	size_t second = is_forth ? received->host : sent->host;
	struct channel *channel;

	if (sent->is_doubtful || received->is_doubtful) {
		s->doubtful_count++;
		return;
	}
	channel = channel_of(c, first, second);
	if (is_forth)
		ptrc_sync_points_add(&channel->evidence.highs, sent->ns,
				     ptrc_when_subtract(received->ns, sent->ns));
	else
		ptrc_sync_points_add(&channel->evidence.lows, received->ns,
				     ptrc_when_subtract(sent->ns, received->ns));
}

static void match(struct ptrc_sync *s, const struct event *list, size_t count, struct channels *c)
{
	size_t sent = 0;

	while (sent < count && !list[sent].is_received)
		sent++;
	for (size_t i = 1; i < sent; i++)
		if (list[i].host != list[0].host) {
			s->ambiguous_count += count - sent;
			return;
		}
	for (size_t i = sent, n; i < count && sent; i += n) {
		for (n = 1; i + n < count && list[i + n].host == list[i].host;)
			n++;
		if (list[i].host == list[0].host)
			continue;
		/* Messages with the same key are matched in the order of their times, unless some of them are
		 * missing. */
		if (sent > 1 && sent != n) {
			s->ambiguous_count += n;
			continue;
		}
		for (size_t k = 0; k < n; k++)
			add_message(s, c, &list[sent > 1 ? k : 0], &list[i + k]);
	}
}

static void match_all(struct ptrc_sync *s, struct events *e, struct channels *c)
{
	sorted_keys = e->keys.bytes;
	ptrc_sort(e->list, e->count, by_key);
	for (size_t i = 0, n; i < e->count; i += n) {
		for (n = 1; i + n < e->count && !compare_keys(&e->list[i], &e->list[i + n]);)
			n++;
		match(s, &e->list[i], n, c);
	}
	free(e->list);
	ptrc_buffer_free(&e->keys);
}

/* Stores the period, by the host's own clock, in which its logs state the error of the clock. Returns false if they
 * state none. */
static bool find_span(const struct ptrc_hosts *h, size_t host, struct ptrc_period *span)
{
	*span = ptrc_period_none;
	for (size_t i = 0; i < h->source_count; i++) {
		const struct ptrc_correction *c = &h->corrections[i];

		if (h->host_of[i] != host || !c->count)
			continue;
		ptrc_period_widen(span, ptrc_correction_own_time(c, c->knots[0].log_ns));
		ptrc_period_widen(span, ptrc_correction_own_time(c, c->knots[c->count - 1].log_ns));
	}
	return span->first <= span->last;
}

/* Adds bounds from the errors that both clocks state: in the period in which both state an error, the clocks are
 * apart by at most the sum of the two errors. */
static void add_said(const struct ptrc_hosts *h, struct channel *c)
{
	const struct ptrc_host *a = &h->list[c->first], *b = &h->list[c->second];
	int64_t far_ns = ptrc_when_add(a->worst_ns, b->worst_ns);
	struct ptrc_period spans[2];
	int64_t ends[2];

	if (a->worst_ns == PTRC_BOUND_UNKNOWN || b->worst_ns == PTRC_BOUND_UNKNOWN ||
	    far_ns > INT64_MAX / 4 || !find_span(h, c->first, &spans[0]) ||
	    !find_span(h, c->second, &spans[1]))
		return;
	ends[0] = spans[0].first > spans[1].first ? spans[0].first : spans[1].first;
	ends[1] = spans[0].last < spans[1].last ? spans[0].last : spans[1].last;
	for (size_t i = 0; i < 2 && ends[0] <= ends[1]; i++) {
		ptrc_sync_points_add(&c->evidence.said_highs, ends[i], far_ns);
		ptrc_sync_points_add(&c->evidence.said_lows, ends[i], -far_ns);
	}
}

/* Turns the bounds of how far a clock B is ahead of a clock A into bounds of how far A is ahead of B. */
static void turn(struct ptrc_sync_points *highs, struct ptrc_sync_points *lows)
{
	struct ptrc_sync_points p = *highs;

	*highs = *lows;
	*lows = p;
	for (size_t k = 0; k < 2; k++) {
		struct ptrc_sync_points *points = k ? lows : highs;

		for (size_t i = 0; i < points->count; i++) {
			struct ptrc_sync_point *at = &points->list[i];

			at->at_ns = ptrc_when_add(at->at_ns, at->ahead_ns);
			at->ahead_ns = ptrc_when_subtract(0, at->ahead_ns);
		}
	}
}

/* ---- links ---- */

/* Returns the error, in nanoseconds, of the link between the two hosts of a channel. */
static double width_of(struct channel *c)
{
	struct ptrc_clock_link link;
	bool is_contradicted;
	int64_t bound;

	ptrc_sync_fit(&c->evidence, &link, &is_contradicted);
	bound = ptrc_clock_link_bound(&link, link.middle_ns);
	ptrc_sync_link_free(&link);
	/* The result is finite, so that hosts without any better channel are linked by this one. */
	return bound == PTRC_BOUND_UNKNOWN ? 1e19 : (double)bound;
}

/* Stores the group of each host. Hosts that messages connect, directly or by way of other hosts, get
 * the same group: the least number of a host among them. */
static void find_groups(const struct channels *c, size_t *group, size_t host_count)
{
	bool is_growing = true;

	for (size_t i = 0; i < host_count; i++)
		group[i] = i;
	while (is_growing) {
		is_growing = false;
		for (size_t i = 0; i < c->count; i++) {
			size_t *first = &group[c->list[i]->first],
			       *second = &group[c->list[i]->second];

			is_growing |= *first != *second;
			*first = *second = *first < *second ? *first : *second;
		}
	}
}

static size_t choose_reference(const struct ptrc_hosts *h, const struct channels *c)
{
	size_t *group = ptrc_cli_allocate((h->count + 1) * sizeof(*group));
	size_t *sizes = ptrc_cli_allocate((h->count + 1) * sizeof(*sizes));
	size_t largest = 0, best = SIZE_MAX;

	find_groups(c, group, h->count);
	for (size_t i = 0; i < h->count; i++)
		sizes[group[i]]++;
	for (size_t i = 0; i < h->count; i++)
		largest = sizes[i] > sizes[largest] ? i : largest;
	for (size_t i = 0; i < h->count; i++)
		if (group[i] == largest &&
		    (best == SIZE_MAX || h->list[i].worst_ns < h->list[best].worst_ns))
			best = i;
	free(group);
	free(sizes);
	return best;
}

static void link_host(struct ptrc_sync *s, struct channel *c, size_t host, size_t other)
{
	struct ptrc_sync_host *found = &s->list[host];

	if (host == c->first) {
		turn(&c->evidence.highs, &c->evidence.lows);
		turn(&c->evidence.said_highs, &c->evidence.said_lows);
	}
	ptrc_sync_fit(&c->evidence, &found->link, &found->is_contradicted);
	found->link.next = other == s->reference ? NULL : &s->list[other].link;
	found->is_linked = true;
	found->other = other;
	found->from_other = c->evidence.highs.count;
	found->to_other = c->evidence.lows.count;
	found->slack_ns = ptrc_clock_whole(found->link.slack_ns);
}

/* Links each host to the reference along the path with the least sum of errors, by Dijkstra's algorithm: each
 * round links the host that is nearest to the reference. */
static void link_hosts(struct ptrc_sync *s, struct channels *c)
{
	size_t count = s->hosts->count;
	double *widths = ptrc_cli_allocate((c->count + 1) * sizeof(*widths));
	double *far = ptrc_cli_allocate((count + 1) * sizeof(*far));
	size_t from = s->reference, to = from, best = 0;

	for (size_t i = 0; i < c->count; i++)
		widths[i] = width_of(c->list[i]);
	for (size_t i = 0; i < count; i++)
		far[i] = i == s->reference ? 0 : HUGE_VAL;
	for (;;) {
		double least = HUGE_VAL;

		for (size_t i = 0; i < c->count; i++) {
			size_t first = c->list[i]->first, second = c->list[i]->second;
			size_t near = isinf(far[first]) ? second : first;
			double sum = far[near] + widths[i];

			/* If several hosts are equally far from the reference, takes the one whose
			 * last link starts at the host that is nearest to the reference. */
			if (isinf(far[first]) == isinf(far[second]) || sum > least ||
			    (sum == least && far[near] >= far[from]))
				continue;
			least = sum;
			best = i;
			from = near;
			to = near == first ? second : first;
		}
		if (isinf(least))
			break;
		far[to] = least;
		link_host(s, c->list[best], to, from);
	}
	free(widths);
	free(far);
}

/* ---- corrections ---- */

/* Returns how far the host's clock is ahead of that of the reference at this time, and stores the error of
 * the result. */
static int64_t ahead_of_reference(const struct ptrc_clock_link *link, int64_t own_ns,
				  int64_t *bound_ns)
{
	int64_t ns = own_ns;

	*bound_ns = 0;
	for (const struct ptrc_clock_link *l = link; l; l = l->next) {
		ns = ptrc_when_subtract(ns, ptrc_clock_link_ahead(l, ns));
		*bound_ns = ptrc_when_add(*bound_ns, ptrc_clock_link_bound(l, ns));
	}
	return ptrc_when_subtract(own_ns, ns);
}

/* Returns the period of the messages between this host and the host with which it was compared, by this host's
 * clock. */
static struct ptrc_period find_ends(const struct channels *c, const struct ptrc_sync_host *found,
				    size_t host)
{
	struct ptrc_period ends = ptrc_period_none;

	for (size_t i = 0; i < c->count; i++) {
		const struct channel *at = c->list[i];
		const struct ptrc_sync_points *all[] = {&at->evidence.highs, &at->evidence.lows};

		if (!(at->first == host && at->second == found->other) &&
		    !(at->second == host && at->first == found->other))
			continue;
		for (size_t k = 0; k < 2; k++)
			for (size_t n = 0; n < all[k]->count; n++) {
				const struct ptrc_sync_point *p = &all[k]->list[n];

				ptrc_period_widen(&ends, ptrc_when_add(p->at_ns, p->ahead_ns));
			}
	}
	return ends;
}

static void measure(struct ptrc_sync *s, const struct channels *c, size_t host)
{
	struct ptrc_sync_host *found = &s->list[host];
	struct ptrc_period ends = find_ends(c, found, host);
	int64_t at[] = {ends.first, ends.first / 2 + ends.last / 2, ends.last};
	int64_t ahead[3], bound_ns;

	for (int i = 0; i < 3; i++) {
		ahead[i] = ahead_of_reference(&found->link, at[i], &bound_ns);
		if (bound_ns > found->bound_ns)
			found->bound_ns = bound_ns;
	}
	found->offset_ns = ahead[1];
	found->drift = found->link.line.slope;
	if (ends.last > ends.first)
		found->drift = (double)ptrc_when_subtract(ahead[2], ahead[0]) /
			       (double)ptrc_when_subtract(ends.last, ends.first);
}

static int64_t worst_doubt(const struct ptrc_hosts *h, size_t host)
{
	int64_t worst = 0;

	for (size_t i = 0; i < h->source_count; i++)
		if (h->host_of[i] == host &&
		    ptrc_correction_worst_doubt(&h->corrections[i]) > worst)
			worst = ptrc_correction_worst_doubt(&h->corrections[i]);
	return worst;
}

static void correct(struct ptrc_sync *s)
{
	struct ptrc_hosts *h = s->hosts;
	int64_t reference_ns = h->list[s->reference].worst_ns;

	for (size_t i = 0; i < h->source_count; i++) {
		struct ptrc_correction *c = &h->corrections[i];
		size_t host = h->host_of[i];

		c->is_linked = host == s->reference || s->list[host].is_linked;
		if (s->list[host].is_linked) {
			c->link = &s->list[host].link;
			c->is_moving = true;
		}
		if (!c->is_linked)
			c->more_ns = reference_ns;
	}
	for (size_t i = 0; i < h->count; i++) {
		struct ptrc_host *host = &h->list[i];
		const struct ptrc_sync_host *found = &s->list[i];

		host->is_linked = i == s->reference || found->is_linked;
		host->message_count = found->from_other + found->to_other;
		host->offset_ns = found->offset_ns;
		host->drift = found->drift;
		if (host->is_linked)
			host->worst_ns = ptrc_when_add(found->bound_ns, worst_doubt(h, i));
		else
			host->worst_ns = ptrc_when_add(host->worst_ns, reference_ns);
	}
	h->reference = &h->list[s->reference];
}

static void free_channels(struct channels *c)
{
	for (size_t i = 0; i < c->count; i++)
		ptrc_sync_evidence_free(&c->list[i]->evidence);
	free(c->list);
	ptrc_table_free(&c->table);
}

static void compare(struct ptrc_sync *s, struct channels *c)
{
	s->count = s->hosts->count;
	s->list = ptrc_cli_allocate((s->count + 1) * sizeof(*s->list));
	for (size_t i = 0; i < c->count; i++)
		add_said(s->hosts, c->list[i]);
	s->reference = choose_reference(s->hosts, c);
	link_hosts(s, c);
	for (size_t i = 0; i < s->hosts->count; i++)
		if (s->list[i].is_linked)
			measure(s, c, i);
	correct(s);
}

static void report_left_out(const struct ptrc_sync *s)
{
	if (s->ambiguous_count)
		ptrc_cli_count("--clock-sync", s->ambiguous_count,
			       "received message[ was|s were] left out, as the key was sent by "
			       "several hosts, or not as often as it was received");
	if (s->doubtful_count)
		ptrc_cli_count("--clock-sync", s->doubtful_count,
			       "message[ was left out, as its log does not tell when it was|s were "
			       "left out, as their logs do not tell when they were]");
}

bool ptrc_sync_hosts(struct ptrc_sync *s, struct ptrc_query *q)
{
	struct events events = {0};
	struct channels channels = {0};
	bool is_read = true;

	s->hosts = &q->hosts;
	if (q->hosts.count < 2) {
		ptrc_cli_message("--clock-sync", "the logs are not of several hosts");
		return false;
	}
	for (size_t i = 0; i < q->source_count && is_read; i++)
		is_read = read_events(s, q, &q->sources[i], &events);
	match_all(s, &events, &channels);
	if (is_read && channels.count) {
		compare(s, &channels);
	} else if (is_read) {
		ptrc_cli_message("--clock-sync",
				 "no host has received what another one has sent: %zu events of "
				 "these types were found",
				 events.count);
		report_left_out(s);
	}
	is_read &= channels.count != 0;
	free_channels(&channels);
	return is_read;
}

/* ---- the report ---- */

static const char *name_of(const struct ptrc_sync *s, size_t host)
{
	return s->hosts->list[host].name;
}

static void report_host(const struct ptrc_sync *s, size_t host)
{
	const struct ptrc_sync_host *found = &s->list[host];
	const char *name = name_of(s, host), *other = name_of(s, found->other);
	bool is_bounded = found->bound_ns != PTRC_BOUND_UNKNOWN;

	ptrc_cli_message("--clock-sync",
			 "%s is %s %s %s, and drifts by %+.3f ppm, by %" PRIu64
			 " message%s from %s and %" PRIu64 " to it; %s%s",
			 name, ptrc_duration_text(ptrc_when_distance(found->offset_ns, 0), false),
			 found->offset_ns < 0 ? "behind" : "ahead of", name_of(s, s->reference),
			 found->drift * 1e6, found->from_other, found->from_other == 1 ? "" : "s",
			 other, found->to_other,
			 is_bounded ? "this may be wrong by " : "the error is not known",
			 is_bounded ? ptrc_duration_text(found->bound_ns, false) : "");
	if (found->slack_ns)
		ptrc_cli_message(
			"--clock-sync",
			"messages between %s and %s were received before they were sent, by up to "
			"%s, however the clocks are corrected: one was stepped or does not run "
			"evenly, or a key identifies several messages",
			other, name,
			ptrc_duration_text(ptrc_when_distance(found->slack_ns / 2, 0), false));
	if (found->is_contradicted)
		ptrc_cli_message("--clock-sync",
				 "the clocks of %s and %s are further apart than the errors that "
				 "they state",
				 other, name);
}

void ptrc_sync_report(const struct ptrc_sync *s)
{
	for (size_t i = 0; s->list && i < s->hosts->count; i++) {
		if (s->list[i].is_linked)
			report_host(s, i);
		else if (i != s->reference)
			ptrc_cli_message("--clock-sync",
					 "%s has no messages by which it can be compared with %s",
					 name_of(s, i), name_of(s, s->reference));
	}
	report_left_out(s);
}

void ptrc_sync_free(struct ptrc_sync *s)
{
	/* The structure at s->hosts may have been freed already, so it is not used here. */
	for (size_t i = 0; i < s->count; i++)
		ptrc_sync_link_free(&s->list[i].link);
	free(s->list);
	for (size_t i = 0; i < s->messages.count; i++)
		ptrc_pair_free(&s->messages.list[i]);
	free(s->messages.list);
}
