/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/query/hosts.h"

#include <posixtrace-log.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buffer.h"
#include "src/base/message.h"
#include "src/base/scope.h"
#include "src/base/sorted.h"
#include "src/fields/when.h"

/* If a clock changes by more than this against another clock of the machine, it was stepped (set). */
static const int64_t step_ns = 1000000;

/* The clocks of a reading are read one after another. If that took longer than this, the process was interrupted
 * meanwhile. Such readings are used only if the log has no others. */
static const int64_t window_max_ns = 100000;

/* A reading that says that it took longer than this is damaged, so it is not used. */
static const int64_t window_possible_ns = 1000000000;

/* The most by which two clocks of a machine seem to differ because they are read one after the
 * other, not at the same time. */
static const int64_t noise_ns = 1000;

/* A time 2^62 ns (146 years) or more from 1970 is impossible. Sums and differences of two times that are possible
 * do not overflow. */
static const int64_t ns_max = INT64_C(1) << 62;

/* The most hosts that a message names. */
enum { TOLD_MAX = 8 };

/* ---- the clocks of logs ---- */

struct reading {
	int64_t log_ns;
	struct ptrc_host_reading of_host;
};

static bool is_possible(int64_t ns)
{
	return ns > -ns_max && ns < ns_max;
}

/* Converts a log's reading of the clocks to *r. Returns false if its values are impossible. */
static bool make_reading(const struct posixtrace_log_clock *c, struct reading *r)
{
	int64_t realtime = ptrc_when_ns(&c->pk_realtime);

	*r = (struct reading){
		.log_ns = ptrc_when_ns(&c->pk_time),
		.of_host = {.boottime_ns = ptrc_when_ns(&c->pk_boottime),
			    .window_ns = c->pk_window_ns,
			    .error_ns = PTRC_BOUND_UNKNOWN,
			    .is_synchronized = c->pk_has_status && c->pk_is_synchronized},
	};
	if (!is_possible(r->log_ns) || !is_possible(realtime) ||
	    !is_possible(r->of_host.boottime_ns) || c->pk_window_ns < 0 ||
	    c->pk_window_ns > window_possible_ns)
		return false;
	r->of_host.offset_ns = realtime - r->of_host.boottime_ns;
	if (c->pk_has_status && c->pk_max_error_ns >= 0 && is_possible(c->pk_max_error_ns))
		r->of_host.error_ns = c->pk_max_error_ns + c->pk_window_ns;
	else
		r->of_host.is_synchronized = false;
	return true;
}

static int by_boottime(const void *one, const void *other)
{
	const struct ptrc_host_reading *a = one, *b = other;

	return (a->boottime_ns > b->boottime_ns) - (a->boottime_ns < b->boottime_ns);
}

static int by_log_time(const void *one, const void *other)
{
	const struct reading *a = one, *b = other;

	return (a->log_ns > b->log_ns) - (a->log_ns < b->log_ns);
}

/* Whether, between any two successive readings, the clock of the events advanced no more than CLOCK_BOOTTIME. It may
 * have advanced more in a log that was made from several streams, whose clocks differ. */
static bool is_of_one_clock(const struct reading *list, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		int64_t by_log = list[i].log_ns - list[i - 1].log_ns;
		int64_t by_host = list[i].of_host.boottime_ns - list[i - 1].of_host.boottime_ns;

		if (ptrc_when_subtract(by_log, by_host) >
		    step_ns + list[i].of_host.window_ns + list[i - 1].of_host.window_ns)
			return false;
	}
	return true;
}

/* Returns the usable readings of the clocks in a log, sorted by the time in the log. */
static struct reading *read_clocks(const struct ptrc_reader *r, size_t *count)
{
	struct posixtrace_log_clock clock;
	struct reading *list = NULL, reading;
	size_t used = 0;
	int64_t least_ns = INT64_MAX;

	for (unsigned long i = 0; !posixtrace_log_get_clock(r->trace, i, &clock, sizeof(clock));
	     i++) {
		if (!make_reading(&clock, &reading))
			continue;
		if (reading.of_host.window_ns < least_ns)
			least_ns = reading.of_host.window_ns;
		*ptrc_append(list, used) = reading;
	}
	*count = 0;
	for (size_t i = 0; i < used; i++)
		if (list[i].of_host.window_ns <= window_max_ns || least_ns > window_max_ns)
			list[(*count)++] = list[i];
	ptrc_sort(list, *count, by_log_time);
	if (!is_of_one_clock(list, *count))
		*count = 0;
	return list;
}

/* ---- hosts ---- */

static bool is_step(const struct ptrc_host_reading *a, const struct ptrc_host_reading *b)
{
	int64_t reading_ns = a->window_ns + b->window_ns;

	return ptrc_when_distance(a->offset_ns, b->offset_ns) > step_ns + reading_ns;
}

static bool is_as_good(const struct ptrc_host_reading *a, const struct ptrc_host_reading *b)
{
	if (a->is_synchronized != b->is_synchronized)
		return a->is_synchronized;
	return a->error_ns <= b->error_ns;
}

/* The error of a reading is at most the error of another reading plus what a clock may drift between the two.
 * Lowers the error to that sum. */
static void improve(struct ptrc_host_reading *r, const struct ptrc_host_reading *other)
{
	int64_t error_ns = ptrc_clock_error_after(
		other->error_ns, ptrc_when_distance(r->boottime_ns, other->boottime_ns));

	if (error_ns < r->error_ns)
		r->error_ns = error_ns;
}

/* Finds the best reading, and all readings around it up to the nearest steps of the clock (h->first, h->last).
 * Lowers the error of each of these readings by means of the others. */
static void choose_readings(struct ptrc_host *h)
{
	const struct ptrc_host_reading *best = NULL;
	size_t first = 0;

	for (size_t i = 0; i < h->reading_count; i++) {
		const struct ptrc_host_reading *r = &h->readings[i];

		if (i && is_step(r - 1, r))
			first = i;
		if (!best || is_as_good(r, best)) {
			best = r;
			h->first = first;
		}
	}
	if (!best)
		return;
	h->is_synchronized = best->is_synchronized;
	h->last = h->first + 1;
	while (h->last < h->reading_count &&
	       !is_step(&h->readings[h->last - 1], &h->readings[h->last]))
		h->last++;
	for (size_t i = h->first + 1; i < h->last; i++)
		improve(&h->readings[i], &h->readings[i - 1]);
	for (size_t i = h->last - 1; i > h->first; i--)
		improve(&h->readings[i - 1], &h->readings[i]);
}

/* The index of the first of the used readings (h->first to h->last - 1) that is later than the time, or
 * h->last. */
static size_t reading_after(const struct ptrc_host *h, int64_t boottime_ns)
{
	return h->first + ptrc_sorted_up_to(&h->readings[h->first], h->last - h->first,
					    sizeof(*h->readings), boottime_ns);
}

/* Makes a knot for the time of a reading: determines what CLOCK_REALTIME was, and its error. Returns false if the
 * result is impossible. */
static bool make_knot(const struct ptrc_host *h, const struct reading *r,
		      struct ptrc_correction_knot *k)
{
	int64_t at = r->of_host.boottime_ns;
	size_t after = reading_after(h, at);
	const struct ptrc_host_reading *a = after > h->first ? &h->readings[after - 1] : NULL;
	const struct ptrc_host_reading *b = after < h->last ? &h->readings[after] : NULL;
	int64_t offset = a ? a->offset_ns : b->offset_ns;

	*k = (struct ptrc_correction_knot){
		.log_ns = r->log_ns,
		.error_ns = a ? ptrc_clock_error_after(a->error_ns, at - a->boottime_ns)
			      : PTRC_BOUND_UNKNOWN,
		.noise_ns = noise_ns + r->of_host.window_ns,
	};
	if (b && ptrc_clock_error_after(b->error_ns, b->boottime_ns - at) < k->error_ns)
		k->error_ns = ptrc_clock_error_after(b->error_ns, b->boottime_ns - at);
	if (a && b) {
		int64_t more = ptrc_when_subtract(b->offset_ns, a->offset_ns);

		offset += (int64_t)((__int128)more * (at - a->boottime_ns) /
				    (b->boottime_ns - a->boottime_ns));
		if (at > a->boottime_ns)
			k->error_ns = ptrc_when_add(k->error_ns, ptrc_when_distance(more, 0));
	}
	k->error_ns = ptrc_when_add(k->error_ns, r->of_host.window_ns);
	k->shift_ns = ptrc_when_subtract(ptrc_when_add(at, offset), r->log_ns);
	return is_possible(k->shift_ns);
}

/* Returns the index of the host of a log. Adds the host if it is new. */
static size_t host_of(struct ptrc_hosts *h, const struct ptrc_reader *r)
{
	struct ptrc_host *host = &h->list[h->count];
	struct posixtrace_log_host *told = &host->told;

	if (posixtrace_log_get_host(r->trace, told, sizeof(*told)))
		*told = (struct posixtrace_log_host){0};
	for (size_t i = 0; i < h->count && *told->ph_boot_id; i++)
		if (!strcmp(h->list[i].told.ph_boot_id, told->ph_boot_id) &&
		    !strcmp(h->list[i].told.ph_machine_id, told->ph_machine_id))
			return i;
	host->name = *told->ph_name ? told->ph_name : r->path;
	return h->count++;
}

/* If the labels of a host's logs do not differ, the label becomes the name of the host, and the label of those of
 * its logs that have none. */
static void name_host(struct ptrc_hosts *h, size_t host)
{
	const char *label = NULL;

	for (size_t i = 0; i < h->source_count; i++) {
		const char *other = h->host_of[i] == host ? h->readers[i]->label : NULL;

		if (label && other && strcmp(label, other) != 0)
			return;
		label = other ? other : label;
	}
	if (!label)
		return;
	h->list[host].name = label;
	for (size_t i = 0; i < h->source_count; i++)
		if (h->host_of[i] == host && !h->readers[i]->label)
			h->readers[i]->label = ptrc_cli_copy(label);
}

void ptrc_hosts_begin(struct ptrc_hosts *h, struct ptrc_reader *const *readers, size_t count,
		      bool is_for_log)
{
	PTRC_SCOPED struct reading **lists = ptrc_cli_allocate(count * sizeof(struct reading *));
	PTRC_SCOPED size_t *counts = ptrc_cli_allocate(count * sizeof(*counts));
	struct ptrc_host *host;

	*h = (struct ptrc_hosts){.source_count = count};
	h->list = ptrc_cli_allocate(count * sizeof(*h->list));
	h->host_of = ptrc_cli_allocate(count * sizeof(*h->host_of));
	h->corrections = ptrc_cli_allocate(count * sizeof(*h->corrections));
	h->readers = ptrc_cli_allocate(count * sizeof(struct ptrc_reader *));
	for (size_t i = 0; i < count; i++) {
		h->readers[i] = readers[i];
		h->host_of[i] = host_of(h, readers[i]);
		h->list[h->host_of[i]].log_count++;
		lists[i] = read_clocks(readers[i], &counts[i]);
		host = &h->list[h->host_of[i]];
		for (size_t k = 0; k < counts[i]; k++)
			*ptrc_append(host->readings, host->reading_count) = lists[i][k].of_host;
	}
	for (size_t i = 0; i < h->count; i++) {
		host = &h->list[i];
		name_host(h, i);
		ptrc_sort(host->readings, host->reading_count, by_boottime);
		choose_readings(host);
	}
	for (size_t i = 0; i < count; i++) {
		struct ptrc_correction *c = &h->corrections[i];
		int64_t worst;

		host = &h->list[h->host_of[i]];
		*c = (struct ptrc_correction){.is_as_recorded =
						      count < 2 || (is_for_log && h->count < 2)};
		c->knots = ptrc_cli_allocate(counts[i] * sizeof(*c->knots));
		for (size_t k = 0; k < counts[i]; k++)
			c->count += make_knot(host, &lists[i][k], &c->knots[c->count]);
		ptrc_correction_finish(c);
		c->is_apart = !c->count && host->log_count > 1;
		worst = ptrc_correction_worst(c);
		if (worst > host->worst_ns)
			host->worst_ns = worst;
		readers[i]->correction = c;
		free(lists[i]);
	}
}

int64_t ptrc_hosts_bound(const struct ptrc_hosts *h, size_t source, int64_t ns)
{
	const struct ptrc_correction *c = &h->corrections[source];

	return ptrc_correction_bound(c, c->is_moving ? ptrc_correction_first(c, ns) : ns);
}

/* ---- the order of events ---- */

void ptrc_hosts_note(struct ptrc_hosts *h, size_t source, const struct ptrc_reader *r)
{
	int64_t ns = ptrc_when_ns(&r->event.posix_timestamp);
	int64_t log_ns = ptrc_when_ns(ptrc_reader_log_time(r));
	struct ptrc_host *host = &h->list[h->host_of[source]];
	struct ptrc_host *last = &h->list[h->host_of[h->last_source]];

	if (h->has_last && host != last) {
		int64_t bound = ptrc_correction_bound(&h->corrections[source], log_ns);
		int64_t last_bound =
			ptrc_correction_bound(&h->corrections[h->last_source], h->last_log_ns);

		h->neighbour_count++;
		if (ptrc_when_subtract(ns, h->last_ns) < ptrc_when_add(bound, last_bound)) {
			h->uncertain_count++;
			if (bound > host->uncertain_ns)
				host->uncertain_ns = bound;
			if (last_bound > last->uncertain_ns)
				last->uncertain_ns = last_bound;
			host->is_uncertain = last->is_uncertain = true;
		}
	}
	h->has_last = true;
	h->last_source = source;
	h->last_ns = ns;
	h->last_log_ns = log_ns;
}

void ptrc_hosts_forget(struct ptrc_hosts *h)
{
	h->has_last = false;
	h->neighbour_count = h->uncertain_count = 0;
	for (size_t i = 0; i < h->count; i++) {
		h->list[i].uncertain_ns = 0;
		h->list[i].is_uncertain = false;
	}
}

/* Orders hosts by their uncertainty, the greatest first. */
static int by_uncertainty(const void *one, const void *other)
{
	const struct ptrc_host *a = *(const struct ptrc_host *const *)one;
	const struct ptrc_host *b = *(const struct ptrc_host *const *)other;

	if (a->uncertain_ns != b->uncertain_ns)
		return a->uncertain_ns > b->uncertain_ns ? -1 : 1;
	return (a > b) - (a < b);
}

static void put_host(struct ptrc_buffer *b, const struct ptrc_host *h)
{
	ptrc_text_put(b, h->name, strlen(h->name));
	if (h->uncertain_ns == PTRC_BOUND_UNKNOWN) {
		ptrc_buffer_text(b, " (unknown: the log does not tell how exact its clock was)");
		return;
	}
	ptrc_buffer_text(b, " (");
	ptrc_buffer_duration(b, (uint64_t)h->uncertain_ns, false);
	ptrc_buffer_text(
		b, h->is_synchronized || h->is_linked ? ")" : ": its clock was not synchronized)");
}

void ptrc_hosts_report(const struct ptrc_hosts *h)
{
	PTRC_SCOPED const struct ptrc_host **list = ptrc_cli_allocate(h->count * sizeof(*list));
	PTRC_SCOPED_BUFFER b = PTRC_BUFFER_INIT;
	size_t count = 0;

	for (size_t i = 0; i < h->count; i++)
		if (h->list[i].is_uncertain)
			list[count++] = &h->list[i];
	ptrc_sort(list, count, by_uncertainty);
	for (size_t i = 0; i < count && i < TOLD_MAX; i++) {
		ptrc_buffer_text(&b, i ? ", " : "");
		put_host(&b, list[i]);
	}
	if (count > TOLD_MAX)
		ptrc_buffer_format(&b, " and %zu more hosts", count - TOLD_MAX);
	ptrc_buffer_char(&b, '\0');
	if (count)
		ptrc_cli_message(NULL,
				 "the order of %llu of %llu neighbouring events of different hosts "
				 "cannot be told; their times may be wrong by: %s",
				 (unsigned long long)h->uncertain_count,
				 (unsigned long long)h->neighbour_count, b.bytes);
}

void ptrc_hosts_json(const struct ptrc_hosts *h, struct ptrc_json *j)
{
	ptrc_json_open(j, "hosts", '[');
	for (size_t i = 0; i < h->count; i++) {
		const struct ptrc_host *host = &h->list[i];

		ptrc_json_open(j, NULL, '{');
		ptrc_json_bytes(j, "host", host->name, strlen(host->name));
		ptrc_json_open(j, "logs", '[');
		for (size_t k = 0; k < h->source_count; k++)
			if (h->host_of[k] == i)
				ptrc_json_text(j, NULL, h->readers[k]->path);
		ptrc_json_close(j, ']');
		ptrc_json_bool(j, "synchronized", host->is_synchronized);
		if (host->worst_ns != PTRC_BOUND_UNKNOWN)
			ptrc_json_i64(j, "bound_ns", host->worst_ns);
		if (h->reference) {
			ptrc_json_bool(j, "reference", host == h->reference);
			ptrc_json_u64(j, "messages", host->message_count);
		}
		if (h->reference && host->message_count) {
			ptrc_json_i64(j, "offset_ns", host->offset_ns);
			ptrc_json_key(j, "drift_ppm");
			ptrc_buffer_format(j->buffer, "%.6f", host->drift * 1e6);
		}
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
	if (h->count > 1) {
		ptrc_json_u64(j, "neighbours", h->neighbour_count);
		ptrc_json_u64(j, "uncertain_order", h->uncertain_count);
	}
}

void ptrc_hosts_free(struct ptrc_hosts *h)
{
	for (size_t i = 0; i < h->count; i++)
		free(h->list[i].readings);
	for (size_t i = 0; i < h->source_count; i++) {
		free(h->corrections[i].knots);
		h->readers[i]->correction = NULL;
	}
	free(h->list);
	free(h->host_of);
	free(h->corrections);
	free(h->readers);
	memset(h, 0, sizeof(*h));
}

bool ptrc_hosts_is_same_machine(const struct posixtrace_log_host *a,
				const struct posixtrace_log_host *b)
{
	return *a->ph_boot_id && !strcmp(a->ph_boot_id, b->ph_boot_id) &&
	       !strcmp(a->ph_machine_id, b->ph_machine_id) && !strcmp(a->ph_name, b->ph_name);
}
