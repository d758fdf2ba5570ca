/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/spans/wait_report.h"

#include <inttypes.h>
#include <string.h>

/* The columns of text, with two blanks before each, as formats that lack their last letters. */
#define COUNT "  %8"
#define DURATION "  %9"
#define SHARE "  %5"
#define BYTES "  %11"
/* The width of the columns of put_row(). */
enum { ROW_COLUMNS = 2 * (2 + 8) + 4 * (2 + 9) };

const char *const ptrc_waits_keys[PTRC_WAITS_KINDS] = {"locks", "files", "peers", "sleeps",
						       "children"};

/* ---- names ---- */

/* Makes a lane for another thread of the process, for the functions that find the name of a lane's
 * thread. */
static struct ptrc_lane thread_lane(const struct ptrc_lane *process, pid_t tid)
{
	struct ptrc_lane lane = *process;

	lane.tid = tid;
	return lane;
}

static void put_holder(struct ptrc_buffer *b, const struct ptrc_lane *process, pid_t tid,
		       int64_t ns)
{
	struct ptrc_lane lane = thread_lane(process, tid);

	ptrc_lane_put_thread(b, &lane, ns);
}

/* Appends what threads waited for: a lock without its process, a path, a peer, or the call. */
static void put_row_name(struct ptrc_buffer *b, const struct ptrc_waits_row *row)
{
	if (row->name)
		ptrc_text_put(b, row->name, row->name_size);
	else if (row->kind == PTRC_WAITS_LOCK)
		ptrc_buffer_hex(b, row->lock);
	if (row->call)
		ptrc_text_put(b, row->call, strlen(row->call));
	if (row->call && row->kind <= PTRC_WAITS_NET)
		ptrc_buffer_text(b, row->kind == PTRC_WAITS_IO ? " (no path)" : " (no peer)");
}

/* ---- columns of text ---- */

static const char *text_of(uint64_t ns)
{
	return ptrc_duration_text((int64_t)ns, false);
}

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0.0;
}

/* Appends a time, and its share of the time for which the thread was seen; a dash if the time is not known. */
static void put_share(struct ptrc_buffer *b, bool is_known, uint64_t ns, uint64_t seen_ns)
{
	if (is_known)
		ptrc_buffer_format(b, DURATION "s  %3.0f %%", text_of(ns), percent(ns, seen_ns));
	else
		ptrc_buffer_format(b, DURATION "s" SHARE "s", "-", "");
}

static void put_share_head(struct ptrc_buffer *b, const char *name)
{
	ptrc_buffer_format(b, DURATION "s" SHARE "s", name, "");
}

static void put_rest(struct ptrc_buffer *b, size_t count)
{
	if (count > PTRC_WAITS_ROWS)
		ptrc_buffer_format(b, "  and %zu more\n", count - PTRC_WAITS_ROWS);
}

static size_t shown(size_t count)
{
	return count < PTRC_WAITS_ROWS ? count : PTRC_WAITS_ROWS;
}

/* ---- tables of text ---- */

static void put_open(struct ptrc_buffer *b, const struct ptrc_waits *w)
{
	if (!w->open_count)
		return;
	ptrc_buffer_text(b, "\nStill waiting at the end, and for how long already\n");
	for (size_t i = 0; i < shown(w->open_count); i++) {
		const struct ptrc_waits_open *o = &w->open[i];

		ptrc_buffer_format(b, DURATION "s  ", text_of(o->ns));
		ptrc_lane_put(b, &o->thread->lane, o->thread->last_ns);
		ptrc_buffer_text(b, ": ");
		ptrc_text_put(b, o->call, strlen(o->call));
		if (o->row->kind == PTRC_WAITS_LOCK)
			ptrc_buffer_text(b, " for lock ");
		else if (o->row->name)
			ptrc_buffer_text(b, " of ");
		if (!o->row->call)
			put_row_name(b, o->row);
		if (o->holder) {
			ptrc_buffer_text(b, ", held by ");
			put_holder(b, &o->row->process, o->holder, w->last_ns);
		}
		ptrc_buffer_text(b, ", called by ");
		ptrc_text_put(b, o->place, strlen(o->place));
		ptrc_buffer_char(b, '\n');
	}
	put_rest(b, w->open_count);
}

static void put_lengths(struct ptrc_buffer *b, const struct ptrc_quantiles *q)
{
	ptrc_buffer_format(b, DURATION "s" DURATION "s" DURATION "s" DURATION "s",
			   text_of(q->total), text_of(ptrc_quantiles_at(q, 500000)),
			   text_of(ptrc_quantiles_at(q, 990000)), text_of(q->greatest));
}

static void put_kinds(struct ptrc_buffer *b, const struct ptrc_waits *w)
{
	if (!ptrc_waits_has_any(w))
		return;
	ptrc_buffer_format(b,
			   "\nWaits by kind\n" COUNT "s" COUNT "s" COUNT "s" COUNT "s" COUNT
			   "s" DURATION "s" DURATION "s" DURATION "s" DURATION "s  kind\n",
			   "waits", "open", "no end", "no begin", "cut", "total", "p50", "p99",
			   "max");
	for (size_t kind = 0; kind < PTRC_WAITS_KINDS; kind++) {
		const struct ptrc_quantiles *q = &w->lengths[kind];
		const struct ptrc_pair_halves *h = &w->halves[kind];

		if (!q->count && !h->begins && !h->ends && !h->cut)
			continue;
		ptrc_buffer_format(b,
				   COUNT PRIu64 COUNT PRIu64 COUNT PRIu64 COUNT PRIu64 COUNT PRIu64,
				   q->count, w->open_counts[kind], h->begins, h->ends, h->cut);
		put_lengths(b, q);
		ptrc_buffer_format(b, "  %s\n", ptrc_waits_kinds[kind]);
	}
}

static void put_thread(struct ptrc_buffer *b, const struct ptrc_waits *w,
		       const struct ptrc_waits_thread *t)
{
	uint64_t seen_ns = (uint64_t)ptrc_when_subtract(t->last_ns, t->first_ns);
	uint64_t processor_ns, runnable_ns;
	bool has_times = ptrc_waits_find_times(t, &processor_ns, &runnable_ns);

	ptrc_buffer_format(b, DURATION "s", text_of(seen_ns));
	put_share(b, has_times, processor_ns, seen_ns);
	put_share(b, has_times, runnable_ns, seen_ns);
	put_share(b, true, t->waited_ns, seen_ns);
	for (size_t kind = 0; kind < PTRC_WAITS_KINDS; kind++)
		if (w->lengths[kind].count)
			put_share(b, true, t->kind_ns[kind], seen_ns);
	if (w->has_switches)
		put_share(b, t->has_switched, t->state_ns[PTRC_WAITS_BLOCKED], seen_ns);
	ptrc_buffer_format(b, DURATION "s  ", t->longest ? text_of(t->longest_ns) : "-");
	ptrc_lane_put(b, &t->lane, t->last_ns);
	if (t->longest) {
		ptrc_buffer_text(b, "; longest: ");
		if (t->longest->kind == PTRC_WAITS_LOCK)
			ptrc_buffer_text(b, "lock ");
		put_row_name(b, t->longest);
	}
	ptrc_buffer_char(b, '\n');
}

/* Whether the times on a processor are unknown for one of the threads that are shown. */
static bool lacks_times(const struct ptrc_waits *w)
{
	uint64_t processor_ns, runnable_ns;

	for (size_t i = 0; i < shown(w->threads.count); i++)
		if (!ptrc_waits_find_times(w->thread_list[i], &processor_ns, &runnable_ns))
			return true;
	return false;
}

static void put_threads(struct ptrc_buffer *b, const struct ptrc_waits *w)
{
	if (!w->threads.count)
		return;
	ptrc_buffer_format(b, "\nThreads, and where their time went\n" DURATION "s", "seen");
	put_share_head(b, "processor");
	put_share_head(b, "runnable");
	put_share_head(b, "waiting");
	for (size_t kind = 0; kind < PTRC_WAITS_KINDS; kind++)
		if (w->lengths[kind].count)
			put_share_head(b, ptrc_waits_kinds[kind]);
	if (w->has_switches)
		put_share_head(b, "not known");
	ptrc_buffer_format(b, DURATION "s  thread\n", "longest");
	for (size_t i = 0; i < shown(w->threads.count); i++)
		put_thread(b, w, w->thread_list[i]);
	put_rest(b, w->threads.count);
	if (!w->has_switches && !w->has_counts)
		ptrc_buffer_text(b, "  How long threads were on a processor or runnable is not "
				    "known: the log lacks os.switch_in and os.switch_out "
				    "(ptrace-run --os=sched) and wait.thread (--waits).\n");
	else if (!w->has_switches && lacks_times(w))
		ptrc_buffer_text(b, "  How long a thread was on a processor or runnable is known "
				    "if its start and its end are in the log; a thread that was "
				    "killed has no end.\n");
	else if (w->has_switches && !ptrc_waits_has_any(w))
		ptrc_buffer_text(b, "  Why threads did not run is not known: the log has no waits "
				    "(ptrace-run --waits).\n");
}

/* Appends the columns that the tables of locks, files, peers, sleeps and children have in common. */
static void put_row(struct ptrc_buffer *b, const struct ptrc_waits_row *row)
{
	ptrc_buffer_format(b, COUNT PRIu64 COUNT PRIu64, row->lengths.count, row->open_count);
	put_lengths(b, &row->lengths);
}

static void put_row_head(struct ptrc_buffer *b, const char *title)
{
	ptrc_buffer_format(
		b, "\n%s\n" COUNT "s" COUNT "s" DURATION "s" DURATION "s" DURATION "s" DURATION "s",
		title, "waits", "open", "total", "p50", "p99", "max");
}

/* Appends a line below a lock: its holders or places, with their shares of the waits. */
static void put_shares(struct ptrc_buffer *b, const struct ptrc_waits *w,
		       const struct ptrc_waits_row *row, const struct ptrc_waits_shares *shares,
		       const char *what)
{
	if (!shares->count)
		return;
	ptrc_buffer_blanks(b, ROW_COLUMNS + 4);
	ptrc_buffer_text(b, what);
	for (size_t i = 0; i < shares->count && i < PTRC_WAITS_SHARES; i++) {
		const struct ptrc_waits_share *s = shares->list[i];

		ptrc_buffer_text(b, i ? ", " : " ");
		if (s->holder)
			put_holder(b, &row->process, s->holder, w->last_ns);
		else
			ptrc_text_put(b, s->place, strlen(s->place));
		ptrc_buffer_format(b, " (%.0f %%)", percent(s->count, row->lengths.count));
	}
	if (shares->count > PTRC_WAITS_SHARES)
		ptrc_buffer_format(b, ", and %zu more", shares->count - PTRC_WAITS_SHARES);
	ptrc_buffer_char(b, '\n');
}

static void put_locks(struct ptrc_buffer *b, const struct ptrc_waits *w)
{
	size_t count = w->row_counts[PTRC_WAITS_LOCK];

	if (!count)
		return;
	put_row_head(b, "Locks");
	ptrc_buffer_text(b,
			 "  lock, its holders and its callers, with their shares of the waits\n");
	for (size_t i = 0; i < shown(count); i++) {
		const struct ptrc_waits_row *row = w->row_lists[PTRC_WAITS_LOCK][i];

		put_row(b, row);
		ptrc_buffer_text(b, "  ");
		put_row_name(b, row);
		ptrc_buffer_text(b, " of ");
		ptrc_lane_put_process(b, &row->process, w->last_ns);
		ptrc_buffer_char(b, '\n');
		put_shares(b, w, row, &row->holders, "held by");
		put_shares(b, w, row, &row->places, "called by");
	}
	put_rest(b, count);
}

static void put_rows(struct ptrc_buffer *b, const struct ptrc_waits *w, enum ptrc_waits_kind kind,
		     const char *title, const char *what)
{
	size_t count = w->row_counts[kind];
	bool has_bytes = kind == PTRC_WAITS_IO || kind == PTRC_WAITS_NET;

	if (!count)
		return;
	put_row_head(b, title);
	if (has_bytes)
		ptrc_buffer_format(b, BYTES "s" BYTES "s", "read", "written");
	ptrc_buffer_format(b, "  %s\n", what);
	for (size_t i = 0; i < shown(count); i++) {
		const struct ptrc_waits_row *row = w->row_lists[kind][i];

		put_row(b, row);
		if (has_bytes)
			ptrc_buffer_format(b, BYTES PRIu64 BYTES PRIu64, row->read_bytes,
					   row->written_bytes);
		ptrc_buffer_text(b, "  ");
		put_row_name(b, row);
		ptrc_buffer_char(b, '\n');
	}
	put_rest(b, count);
}

void ptrc_waits_put_text(struct ptrc_buffer *b, const struct ptrc_waits *w)
{
	put_open(b, w);
	put_kinds(b, w);
	put_threads(b, w);
	put_locks(b, w);
	put_rows(b, w, PTRC_WAITS_IO, "Files", "file");
	put_rows(b, w, PTRC_WAITS_NET, "Peers", "peer");
	put_rows(b, w, PTRC_WAITS_SLEEP, "Sleeps", "call");
	put_rows(b, w, PTRC_WAITS_CHILD, "Children", "call");
}

/* ---- JSON ---- */

static void put_thread_name_json(struct ptrc_json *j, const char *key, const struct ptrc_lane *lane,
				 int64_t ns)
{
	struct posixtrace_log_thread t;

	if (ptrc_lane_thread(lane, ns, &t))
		ptrc_json_bytes(j, key, t.pt_name, t.pt_name_size);
}

static void put_process_json(struct ptrc_json *j, const struct ptrc_waits *w,
			     const struct ptrc_lane *lane, int64_t ns)
{
	struct posixtrace_log_process p;
	unsigned long index;

	const char *log = lane->source->reader.path;

	if (w->query->source_count > 1)
		ptrc_json_bytes(j, "log", log, strlen(log));
	ptrc_json_i64(j, "pid", lane->pid);
	if (ptrc_lane_process(lane, ns, &index, &p) && p.pp_name_size)
		ptrc_json_bytes(j, "process", p.pp_name, p.pp_name_size);
}

static void put_lane_json(struct ptrc_json *j, const struct ptrc_waits *w,
			  const struct ptrc_lane *lane, int64_t ns)
{
	put_process_json(j, w, lane, ns);
	ptrc_json_i64(j, "tid", lane->tid);
	put_thread_name_json(j, "thread", lane, ns);
}

/* Puts the members that say what threads waited for. */
static void put_subject_json(struct ptrc_json *j, const struct ptrc_waits_row *row)
{
	static const char *const keys[] = {[PTRC_WAITS_LOCK] = "variable",
					   [PTRC_WAITS_IO] = "path",
					   [PTRC_WAITS_NET] = "peer"};

	if (row->kind == PTRC_WAITS_LOCK)
		ptrc_json_address(j, "lock", row->lock);
	if (row->name)
		ptrc_json_bytes(j, keys[row->kind], row->name, row->name_size);
}

static void put_counts_json(struct ptrc_json *j, const struct ptrc_quantiles *q, uint64_t open)
{
	ptrc_json_u64(j, "count", q->count);
	ptrc_json_u64(j, "open", open);
	if (q->count)
		ptrc_quantiles_json(j, q);
}

static void put_threads_json(struct ptrc_json *j, const struct ptrc_waits *w, size_t max)
{
	ptrc_json_open(j, "threads", '[');
	for (size_t i = 0; i < w->threads.count && i < max; i++) {
		const struct ptrc_waits_thread *t = w->thread_list[i];
		uint64_t processor_ns, runnable_ns;

		ptrc_json_open(j, NULL, '{');
		put_lane_json(j, w, &t->lane, t->last_ns);
		ptrc_json_u64(j, "seen_ns", (uint64_t)ptrc_when_subtract(t->last_ns, t->first_ns));
		if (ptrc_waits_find_times(t, &processor_ns, &runnable_ns)) {
			ptrc_json_u64(j, "processor_ns", processor_ns);
			ptrc_json_u64(j, "runnable_ns", runnable_ns);
		}
		if (t->has_switched)
			ptrc_json_u64(j, "not_known_ns", t->state_ns[PTRC_WAITS_BLOCKED]);
		ptrc_json_u64(j, "count", t->wait_count);
		ptrc_json_u64(j, "waiting_ns", t->waited_ns);
		ptrc_json_open(j, "by_kind", '{');
		for (size_t kind = 0; kind < PTRC_WAITS_KINDS; kind++)
			ptrc_json_u64(j, ptrc_waits_kinds[kind], t->kind_ns[kind]);
		ptrc_json_close(j, '}');
		if (t->longest) {
			ptrc_json_open(j, "longest", '{');
			ptrc_json_text(j, "kind", ptrc_waits_kinds[t->longest->kind]);
			put_subject_json(j, t->longest);
			if (t->longest->call)
				ptrc_json_bytes(j, "call", t->longest->call,
						strlen(t->longest->call));
			ptrc_json_u64(j, "duration_ns", t->longest_ns);
			ptrc_json_close(j, '}');
		}
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
}

static void put_open_json(struct ptrc_json *j, const struct ptrc_waits *w, size_t max)
{
	ptrc_json_open(j, "still_waiting", '[');
	for (size_t i = 0; i < w->open_count && i < max; i++) {
		const struct ptrc_waits_open *o = &w->open[i];
		struct ptrc_lane holder = thread_lane(&o->thread->lane, o->holder);

		ptrc_json_open(j, NULL, '{');
		put_lane_json(j, w, &o->thread->lane, o->thread->last_ns);
		ptrc_json_text(j, "kind", ptrc_waits_kinds[o->row->kind]);
		ptrc_json_bytes(j, "call", o->call, strlen(o->call));
		put_subject_json(j, o->row);
		ptrc_json_i64(j, "since_ns", o->begin_ns);
		ptrc_json_u64(j, "duration_ns", o->ns);
		if (o->holder) {
			ptrc_json_i64(j, "holder", o->holder);
			put_thread_name_json(j, "holder_name", &holder, w->last_ns);
		}
		ptrc_json_address(j, "call_site", o->call_site);
		ptrc_json_bytes(j, "place", o->place, strlen(o->place));
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
}

static void put_kinds_json(struct ptrc_json *j, const struct ptrc_waits *w)
{
	ptrc_json_open(j, "kinds", '[');
	for (size_t kind = 0; kind < PTRC_WAITS_KINDS; kind++) {
		const struct ptrc_pair_halves *h = &w->halves[kind];

		ptrc_json_open(j, NULL, '{');
		ptrc_json_text(j, "kind", ptrc_waits_kinds[kind]);
		put_counts_json(j, &w->lengths[kind], w->open_counts[kind]);
		ptrc_json_u64(j, "unmatched_begins", h->begins);
		ptrc_json_u64(j, "unmatched_ends", h->ends);
		ptrc_json_u64(j, "cut", h->cut);
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
}

static void put_shares_json(struct ptrc_json *j, const char *key, const struct ptrc_waits *w,
			    const struct ptrc_waits_row *row,
			    const struct ptrc_waits_shares *shares, size_t max)
{
	ptrc_json_open(j, key, '[');
	for (size_t i = 0; i < shares->count && i < max; i++) {
		const struct ptrc_waits_share *s = shares->list[i];
		struct ptrc_lane lane = thread_lane(&row->process, s->holder);

		ptrc_json_open(j, NULL, '{');
		if (s->holder) {
			ptrc_json_i64(j, "tid", s->holder);
			put_thread_name_json(j, "thread", &lane, w->last_ns);
		} else {
			ptrc_json_address(j, "call_site", s->call_site);
			ptrc_json_bytes(j, "place", s->place, strlen(s->place));
		}
		ptrc_json_u64(j, "count", s->count);
		ptrc_json_u64(j, "total_ns", s->ns);
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
}

static void put_rows_json(struct ptrc_json *j, const struct ptrc_waits *w,
			  enum ptrc_waits_kind kind, size_t max)
{
	ptrc_json_open(j, ptrc_waits_keys[kind], '[');
	for (size_t i = 0; i < w->row_counts[kind] && i < max; i++) {
		const struct ptrc_waits_row *row = w->row_lists[kind][i];

		ptrc_json_open(j, NULL, '{');
		put_subject_json(j, row);
		if (row->call)
			ptrc_json_bytes(j, "call", row->call, strlen(row->call));
		if (kind == PTRC_WAITS_LOCK)
			put_process_json(j, w, &row->process, w->last_ns);
		put_counts_json(j, &row->lengths, row->open_count);
		if (kind == PTRC_WAITS_IO || kind == PTRC_WAITS_NET) {
			ptrc_json_u64(j, "read_bytes", row->read_bytes);
			ptrc_json_u64(j, "written_bytes", row->written_bytes);
		}
		if (kind == PTRC_WAITS_LOCK) {
			put_shares_json(j, "holders", w, row, &row->holders, max);
			put_shares_json(j, "places", w, row, &row->places, max);
		}
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
}

void ptrc_waits_json(struct ptrc_json *j, const struct ptrc_waits *w, size_t rows_max)
{
	ptrc_json_u64(j, "took_ns", w->took_ns);
	ptrc_json_bool(j, "has_switches", w->has_switches);
	put_open_json(j, w, rows_max);
	put_kinds_json(j, w);
	put_threads_json(j, w, rows_max);
	for (size_t kind = 0; kind < PTRC_WAITS_KINDS; kind++)
		put_rows_json(j, w, (enum ptrc_waits_kind)kind, rows_max);
}

/* ---- messages ---- */

bool ptrc_waits_report_missing(const struct ptrc_waits *w)
{
	const struct ptrc_query *q = w->query;
	const char *thing = q->source_count == 1 ? q->sources->reader.path : NULL;

	for (size_t i = 0; i < q->source_count; i++)
		ptrc_reader_load_names(&q->sources[i].reader);
	for (size_t i = 0; i < w->pairs->count; i++) {
		const struct ptrc_pair *pair = &w->pairs->list[i];
		enum ptrc_waits_kind kind;

		if (ptrc_waits_find_kind(pair, &kind) &&
		    (ptrc_query_has_type(q, pair->begin, NULL) ||
		     ptrc_query_has_type(q, pair->end, NULL)))
			return false;
	}
	if (w->has_switches || w->has_counts)
		return false;
	ptrc_cli_message(thing, "no wait was recorded; ptrace-run --waits records waits");
	return true;
}
