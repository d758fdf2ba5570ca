/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/summary/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/end_signal.h"
#include "src/base/output.h"
#include "src/base/screen.h"
#include "src/session/orphans.h"
#include "src/session/session_client.h"
#include "src/spans/pair_report.h"
#include "src/summary/event_types.h"

enum {
	/* The milliseconds between two checks for signals while nothing else happens. */
	LOOK_UP_MS = 1000,
	/* The milliseconds after which a session that broke off its answer is asked again. It broke
	 * off because it clears its trace, or is about to end. */
	AGAIN_MS = 50,
	/* The milliseconds for which the command, at its start, reads events that were recorded earlier. */
	EARLIER_MS = 50,
	/* After the end of the session: the most milliseconds for reading what the session has sent before. */
	LAST_MS = 5000,
	/* The number of events that are read between two looks at the clock. */
	EVENTS_AT_ONCE = 4096,
};

/* An answer of the session: its state and its event types. */
struct look {
	/* The time of the answer: monotonic, and as time of day. */
	int64_t ns;
	struct timespec time;
	struct ptrc_session_state state;
	struct ptrc_event_types types;
	/* If pairs are shown: the number of events that this command has not got so far (missed()). */
	uint64_t unshown;
};

/* An event type, and the number and bytes of its events between two answers. */
struct row {
	const struct ptrc_session_type *type;
	uint64_t events;
	uint64_t bytes;
};

/* What changed between two answers of the session. */
struct difference {
	const struct ptrc_live *live;
	const struct look *now;
	int64_t ns;
	uint64_t events;
	uint64_t bytes;
	/* Events that were lost in the stream (`lost`), in the kernel (`unobserved`) and, if pairs are shown,
	 * on the way to this command (`unshown`). */
	uint64_t lost, unobserved;
	uint64_t unshown;
	/* The types that are shown, the most frequent first. */
	struct row *rows;
	size_t count;
};

/* ---- the difference of two looks ---- */

/* The increase of a count. If the session was cleared meanwhile, the count started again from 0. */
static uint64_t increase(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

/* Whether the stream overwrites its oldest events. Then the counts by type lack the overwritten
 * events. */
static bool is_overwriting(const struct look *l)
{
	return l->state.attributes.stream_full_policy == POSIX_TRACE_LOOP;
}

static uint64_t recorded(const struct look *l)
{
	return is_overwriting(l) ? ptrc_session_recorded(&l->state) : l->types.event_count;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *s = a;
	const struct row *t = b;

	if (s->events != t->events)
		return s->events > t->events ? -1 : 1;
	return strcmp(s->type->name, t->type->name);
}

static bool is_wanted(const struct ptrc_select *select, const struct ptrc_session_type *type)
{
	if (select->is_user && type->id < POSIX_TRACE_UNNAMED_USEREVENT)
		return false;
	return ptrc_event_type_is_used(type) &&
	       (!select->globs.count || ptrc_select_has_name(select, type->name));
}

static void add_rows(struct difference *d, const struct ptrc_event_types *before)
{
	const struct ptrc_event_types *now = &d->now->types;
	size_t k = 0;

	for (size_t i = 0; i < now->count; i++) {
		const struct ptrc_session_type *type = &now->list[i];
		static const struct ptrc_session_type none;
		const struct ptrc_session_type *old = &none;

		/* Both lists are sorted by identifier. */
		while (k < before->count && before->list[k].id < type->id)
			k++;
		if (k < before->count && before->list[k].id == type->id)
			old = &before->list[k];
		if (is_wanted(&d->live->query->select, type))
			*ptrc_append(d->rows, d->count) =
				(struct row){.type = type,
					     .events = increase(type->events, old->events),
					     .bytes = increase(type->bytes, old->bytes)};
	}
	ptrc_sort(d->rows, d->count, compare_rows);
}

static struct difference compare(const struct ptrc_live *live, const struct look *before,
				 const struct look *now)
{
	struct difference d = {
		.live = live,
		.now = now,
		.ns = now->ns - before->ns,
		.events = increase(recorded(now), recorded(before)),
		.bytes = increase(now->types.event_bytes, before->types.event_bytes),
		.lost = increase(now->state.counts.pt_lost_events,
				 before->state.counts.pt_lost_events),
		.unobserved = increase(now->state.counts.pt_unobserved_events,
				       before->state.counts.pt_unobserved_events),
		.unshown = increase(now->unshown, before->unshown),
	};

	if (!is_overwriting(now))
		add_rows(&d, &before->types);
	return d;
}

/* ---- text ---- */

/* The number of events or bytes per second, times 10, for a count in `ns` nanoseconds. */
static uint64_t tenths(uint64_t count, int64_t ns)
{
	return (uint64_t)((double)count * 1e10 / (double)ns + 0.5);
}

static void put_rate(struct ptrc_buffer *b, uint64_t count, int64_t ns)
{
	uint64_t rate = tenths(count, ns);

	ptrc_buffer_format(b, "%13llu.%llu  ", (unsigned long long)rate / 10,
			   (unsigned long long)rate % 10);
}

static void put_head(struct ptrc_buffer *b, const struct difference *d)
{
	struct ptrc_time_format format = {.is_local = !d->live->is_utc};
	const struct ptrc_session_state *s = &d->now->state;

	ptrc_buffer_text(b, "session ");
	ptrc_text_put(b, s->name, strlen(s->name));
	ptrc_buffer_text(b, ", ");
	ptrc_buffer_time(b, &format, &d->now->time);
	ptrc_buffer_format(
		b,
		"\n%s, processes: %lu, threads: %lu, events lost: %lu, in the last %.3f s: %llu\n",
		s->status.posix_stream_status == POSIX_TRACE_RUNNING ? "running" : "suspended",
		s->counts.pt_processes, s->counts.pt_threads,
		s->counts.pt_lost_events + s->counts.pt_unobserved_events, (double)d->ns / 1e9,
		(unsigned long long)(d->lost + d->unobserved));
	if (d->live->pairs && d->now->unshown)
		ptrc_buffer_format(b, "events too fast for pairs: %llu, in the last %.3f s: %llu\n",
				   (unsigned long long)d->now->unshown, (double)d->ns / 1e9,
				   (unsigned long long)d->unshown);
}

static void put_types(struct ptrc_buffer *b, const struct difference *d)
{
	ptrc_buffer_format(b, "%15s  %15s  %14s  %s\n", "events/s", "bytes/s", "events",
			   "event type");
	put_rate(b, d->events, d->ns);
	if (is_overwriting(d->now))
		ptrc_buffer_format(b, "%15s  ", "-");
	else
		put_rate(b, d->bytes, d->ns);
	ptrc_buffer_format(b, "%14llu  (all%s)\n", (unsigned long long)recorded(d->now),
			   is_overwriting(d->now)
				   ? "; the stream overwrites events, so it has no counts of types"
				   : "");
	for (size_t i = 0; i < d->count; i++) {
		put_rate(b, d->rows[i].events, d->ns);
		put_rate(b, d->rows[i].bytes, d->ns);
		ptrc_buffer_format(b, "%14llu  ", (unsigned long long)d->rows[i].type->events);
		ptrc_text_put(b, d->rows[i].type->name, strlen(d->rows[i].type->name));
		ptrc_buffer_char(b, '\n');
	}
}

static void put_text(struct ptrc_buffer *b, const struct difference *d)
{
	put_head(b, d);
	ptrc_buffer_char(b, '\n');
	if (d->live->pairs) {
		ptrc_pairs_put_text(b, d->live->pairs, d->live->has_histogram);
		ptrc_buffer_char(b, '\n');
	}
	put_types(b, d);
}

/* ---- JSON ---- */

static void put_json(struct ptrc_buffer *b, const struct difference *d)
{
	const struct ptrc_session_state *s = &d->now->state;
	struct ptrc_json j = ptrc_json_begin(b);

	ptrc_json_text(&j, "kind", "live");
	ptrc_json_text(&j, "session", s->name);
	ptrc_json_time(&j, "time", &d->now->time);
	ptrc_json_i64(&j, "interval_ns", d->ns);
	ptrc_json_text(&j, "stream",
		       s->status.posix_stream_status == POSIX_TRACE_RUNNING ? "running"
									    : "suspended");
	ptrc_json_u64(&j, "processes", s->counts.pt_processes);
	ptrc_json_u64(&j, "threads", s->counts.pt_threads);
	ptrc_json_u64(&j, "count", d->events);
	ptrc_json_u64(&j, "lost_events", d->lost);
	ptrc_json_u64(&j, "unobserved_events", d->unobserved);
	ptrc_json_open(&j, "since_creation", '{');
	ptrc_json_u64(&j, "count", recorded(d->now));
	ptrc_json_u64(&j, "lost_events", s->counts.pt_lost_events);
	ptrc_json_u64(&j, "unobserved_events", s->counts.pt_unobserved_events);
	ptrc_json_close(&j, '}');
	if (!is_overwriting(d->now)) {
		ptrc_json_u64(&j, "bytes", d->bytes);
		ptrc_json_open(&j, "events", '[');
		for (size_t i = 0; i < d->count; i++) {
			const struct row *r = &d->rows[i];

			ptrc_json_open(&j, NULL, '{');
			ptrc_json_bytes(&j, "event", r->type->name, strlen(r->type->name));
			ptrc_json_u64(&j, "type_id", r->type->id);
			ptrc_json_u64(&j, "count", r->events);
			ptrc_json_u64(&j, "bytes", r->bytes);
			ptrc_json_close(&j, '}');
		}
		ptrc_json_close(&j, ']');
	}
	if (d->live->pairs) {
		ptrc_json_u64(&j, "unshown_events", d->unshown);
		ptrc_pairs_json(d->live->pairs, &j, d->live->has_histogram);
	}
	ptrc_json_end(&j);
}

/* ---- the session ---- */

struct watch {
	const struct ptrc_live *live;
	bool has_screen;
	/* The previous and the latest answer of the session; `before` and `now` point to one
	 * each. */
	struct look looks[2];
	struct look *before;
	struct look *now;
	/* The table, or the line of JSON, that was made last. */
	struct ptrc_buffer text;
	bool has_shown;
	/* The session did not answer the last question. */
	bool is_silent;
	/* A pidfd of the session's process, or -1. */
	int controller_fd;
	/* The source of the query has no more events, or the session's process has ended. */
	bool is_over;
	/* The number of events that the reader had missed when the session was asked first. */
	uint64_t missed_before;
	/* When the session is asked again, in nanoseconds of the monotonic clock. */
	int64_t next_ns;
};

/* The number of events, since missed_before was taken, that the stream recorded and the reader of the session did not
 * get. In a LOOP stream these include events that were overwritten before they were read. With another policy, a full
 * stream does not record an event, and the session itself counts that event as lost. */
static uint64_t missed(const struct watch *w)
{
	const struct ptrc_reader *r = &w->live->query->sources->reader;
	bool is_overwritten = r->attributes.stream_full_policy == POSIX_TRACE_LOOP;

	return increase(r->unshown_count + (is_overwritten ? r->counts.pt_lost_events : 0),
			w->missed_before);
}

/* Asks the session for its state and its event types. Returns 0 or an error number of
 * ptrc_session_ask(). */
static int take_look(const struct watch *w, struct look *l)
{
	const struct ptrc_session_state *state;
	int error = ptrc_session_stat(w->live->session, &state);

	if (error)
		return error;
	l->state = *state;
	ptrc_event_types_free(&l->types);
	error = ptrc_event_types_from_session(&l->types, w->live->session);
	l->ns = ptrc_now_ns();
	clock_gettime(CLOCK_REALTIME, &l->time);
	if (w->live->pairs)
		l->unshown = missed(w);
	return error;
}

/* Reads the events that have come, at most EVENTS_AT_ONCE. Returns false at the end of the
 * session. */
static bool read_some(const struct ptrc_live *live)
{
	struct ptrc_source *s = live->query->sources;
	struct ptrc_reader *r = &s->reader;

	for (int i = 0; i < EVENTS_AT_ONCE && !ptrc_reader_is_waiting(r); i++) {
		if (!ptrc_reader_next(r)) {
			bool is_interrupted = r->error == EINTR;

			r->error = is_interrupted ? 0 : r->error;
			return is_interrupted;
		}
		if (r->read_count == 1)
			ptrc_query_resolve(live->query, &(struct ptrc_period){ptrc_source_ns(s),
									      ptrc_source_ns(s)});
		if (ptrc_query_is_selected(live->query, s))
			ptrc_query_take(live->query, s);
	}
	return true;
}

/* Waits until the time until_ns, or until a signal comes or the size of the terminal changes. Meanwhile reads the
 * events of the session if there are pairs. Returns false at the end of these events or, without pairs, of the
 * session's process. */
static bool wait_until(const struct watch *w, int64_t until_ns)
{
	const struct ptrc_live *live = w->live;
	struct ptrc_reader *r = live->pairs && !w->is_over ? &live->query->sources->reader : NULL;
	int fd = w->is_over ? -1 : r ? r->fd : w->controller_fd;

	for (;;) {
		int64_t left_ns = until_ns - ptrc_now_ns();
		int ms = left_ns < LOOK_UP_MS * PTRC_NS_PER_MS ? (int)(left_ns / PTRC_NS_PER_MS) + 1
							       : LOOK_UP_MS;

		if (left_ns <= 0 || ptrc_end_signal_has_come())
			return true;
		if (!r || ptrc_reader_is_waiting(r)) {
			bool is_ready = ptrc_output_wait(fd, ms);

			if (!is_ready && ptrc_screen_has_changed())
				return true;
			if (!is_ready)
				continue;
		}
		if (!r || !read_some(live))
			return false;
	}
}

/* ---- output ---- */

/* Shows a table, or a line of JSON. A table on a terminal replaces the last one; otherwise is_apart puts a blank
 * line first. */
static void show(const struct ptrc_buffer *text, bool has_screen, bool is_apart)
{
	PTRC_SCOPED_BUFFER out = PTRC_BUFFER_INIT;

	if (has_screen) {
		ptrc_screen_show(text);
		return;
	}
	if (is_apart)
		ptrc_buffer_char(&out, '\n');
	ptrc_buffer_bytes(&out, text->bytes, text->used);
	ptrc_output_write(&out);
}

/* Says that the session does not answer: above the last table on a terminal, else as a message. */
static void show_silence(const struct ptrc_live *live, const struct ptrc_buffer *text, int error,
			 bool has_screen)
{
	PTRC_SCOPED_BUFFER out = PTRC_BUFFER_INIT;
	const char *reason = ptrc_session_explain(error);

	if (!has_screen) {
		ptrc_cli_message(live->session, "%s", reason);
		return;
	}
	ptrc_text_put(&out, reason, strlen(reason));
	ptrc_buffer_char(&out, '\n');
	ptrc_buffer_bytes(&out, text->bytes, text->used);
	ptrc_screen_show(&out);
}

/* Called when the session has ended: prints messages about what is missing, and returns the command's exit status. */
static enum ptrc_exit report_end(const struct watch *w)
{
	const struct ptrc_live *live = w->live;
	const struct look *last = w->before;
	struct ptrc_query *q = live->query;
	struct ptrc_losses losses = {0};
	struct ptrc_missing missing = {0};
	bool is_missing = false;

	ptrc_losses_gather(&losses, &last->state.status, &last->state.counts);
	if (live->pairs) {
		/* Reads the last messages of the session: they have the names of event types without events, and
		 * the number of events that were missed. */
		if (!w->is_over)
			wait_until(w, ptrc_now_ns() + LAST_MS * PTRC_NS_PER_MS);
		ptrc_query_finish(q, true);
		losses.unshown_events = missed(w);
		losses.is_rest_unshown = q->sources->losses.is_rest_unshown;
		is_missing = ptrc_pairs_report_missing(live->pairs, q, true);
		ptrc_query_find_missing(q, &missing);
		is_missing |= ptrc_missing_report(&missing, 1);
		ptrc_query_report_undecided(q);
	}
	ptrc_losses_report(&losses, live->session);
	if (is_missing)
		return PTRC_EXIT_FAILED;
	return ptrc_losses_is_any(&losses) && !q->is_loss_allowed ? PTRC_EXIT_INCOMPLETE
								  : PTRC_EXIT_DONE;
}

/* ---- the loop ---- */

static void show_difference(struct watch *w)
{
	struct difference d = compare(w->live, w->before, w->now);

	w->text.used = 0;
	if (w->live->format == PTRC_FORMAT_JSON)
		put_json(&w->text, &d);
	else
		put_text(&w->text, &d);
	free(d.rows);
	show(&w->text, w->has_screen, w->has_shown && w->live->format == PTRC_FORMAT_TEXT);
	w->has_shown = true;
	if (w->live->pairs)
		ptrc_pairs_begin_rows(w->live->pairs);
}

/* Asks the session, and shows the next table. Returns 0 if the session goes on; ENOENT if it has ended; else an
 * error number of ptrc_session_ask(). */
static int step(struct watch *w)
{
	struct look *last = w->before;
	int error = take_look(w, w->now);

	/* Another session now has the name, so the one that is watched has ended. */
	if (!error && w->now->state.controller != last->state.controller)
		return ENOENT;
	if (error == ETIMEDOUT && (w->has_screen || !w->is_silent))
		show_silence(w->live, &w->text, error, w->has_screen);
	w->is_silent = error == ETIMEDOUT;
	if (error == ECONNRESET)
		w->next_ns = ptrc_now_ns() + AGAIN_MS * PTRC_NS_PER_MS;
	else
		w->next_ns += w->live->interval_ns;
	if (w->next_ns < ptrc_now_ns())
		w->next_ns = ptrc_now_ns() + w->live->interval_ns;
	if (error)
		return error == ETIMEDOUT || error == ECONNRESET ? 0 : error;
	show_difference(w);
	w->before = w->now;
	w->now = last;
	return 0;
}

static enum ptrc_exit run(struct watch *w)
{
	int error;

	/* The stream still holds events from before this command started. They are read first, so
	 * that their pairs are in no table. */
	if (w->live->pairs) {
		wait_until(w, ptrc_now_ns() + EARLIER_MS * PTRC_NS_PER_MS);
		w->missed_before = missed(w);
	}
	error = take_look(w, w->before);
	w->next_ns = ptrc_now_ns() + w->live->interval_ns;
	if (!error && w->live->pairs)
		ptrc_pairs_begin_rows(w->live->pairs);
	else if (!error && !ptrc_session_is_foreign(&w->before->state))
		w->controller_fd = (int)syscall(SYS_pidfd_open, w->before->state.controller, 0);
	while (!error) {
		if (!wait_until(w, w->next_ns)) {
			/* The session is about to end. Its next answers say when and how. */
			w->is_over = true;
			w->next_ns = ptrc_now_ns();
		}
		if (ptrc_end_signal_has_come())
			return PTRC_EXIT_DONE;
		if (ptrc_now_ns() >= w->next_ns)
			error = step(w);
		else if (w->has_shown)
			ptrc_screen_show(&w->text);
	}
	/* ENOENT: there is no session of this name. If the session has answered before, it has ended since. */
	if (error == ENOENT && w->before->ns)
		return report_end(w);
	ptrc_orphans_say_session(w->live->session, error);
	return PTRC_EXIT_FAILED;
}

enum ptrc_exit ptrc_live_run(const struct ptrc_live *live)
{
	static struct watch w;
	enum ptrc_exit status;

	w = (struct watch){
		.live = live, .before = &w.looks[0], .now = &w.looks[1], .controller_fd = -1};
	w.has_screen = live->format == PTRC_FORMAT_TEXT && ptrc_screen_begin();
	status = run(&w);
	if (w.has_screen && w.has_shown)
		ptrc_screen_end();
	for (size_t i = 0; i < sizeof(w.looks) / sizeof(*w.looks); i++)
		ptrc_event_types_free(&w.looks[i].types);
	if (w.controller_fd >= 0)
		close(w.controller_fd);
	ptrc_buffer_free(&w.text);
	return status;
}
