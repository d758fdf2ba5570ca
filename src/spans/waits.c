/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/spans/waits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/spans/function.h"

const char *const ptrc_waits_kinds[PTRC_WAITS_KINDS] = {"lock", "io", "net", "sleep", "child"};

static const char *const pair_names[PTRC_WAITS_KINDS] = {"wait.lock", "wait.io", "wait.net",
							 "wait.sleep", "wait.child"};

void ptrc_waits_add_pairs(struct ptrc_cli_texts *pairs)
{
	for (size_t i = 0; i < PTRC_WAITS_KINDS; i++)
		ptrc_cli_add_text(pairs, pair_names[i]);
}

bool ptrc_waits_find_kind(const struct ptrc_pair *pair, enum ptrc_waits_kind *kind)
{
	for (size_t i = 0; i < PTRC_WAITS_KINDS && !pair->by_text; i++)
		if (!strcmp(pair->name, pair_names[i])) {
			*kind = (enum ptrc_waits_kind)i;
			return true;
		}
	return false;
}

/* ---- members of events ---- */

/* The member as an integer; 0 if the event has none. */
static int64_t number_of(struct ptrc_waits *w, struct ptrc_view *view, const char *name)
{
	const struct ptrc_value *v = ptrc_view_member(view, &w->query->layouts, name);

	switch (v ? v->kind : PTRC_VALUE_NONE) {
	case PTRC_VALUE_SIGNED:
	case PTRC_VALUE_UNSIGNED:
	case PTRC_VALUE_HEX:
		return v->i;
	default:
		return 0;
	}
}

/* The member as a text; an empty one if the event has none. */
static struct ptrc_value text_of(struct ptrc_waits *w, struct ptrc_view *view, const char *name)
{
	const struct ptrc_value *v = ptrc_view_member(view, &w->query->layouts, name);
	struct ptrc_value text = v ? *v : (struct ptrc_value){0};

	ptrc_value_take_name(&text);
	return text.kind == PTRC_VALUE_TEXT
		       ? text
		       : (struct ptrc_value){.kind = PTRC_VALUE_TEXT, .bytes = ""};
}

/* The function that waited, or the kind of the wait if the event lacks the member `call`. */
static struct ptrc_value call_of(struct ptrc_waits *w, struct ptrc_view *view,
				 enum ptrc_waits_kind kind)
{
	struct ptrc_value call = text_of(w, view, "call");

	if (!call.size) {
		call.bytes = ptrc_waits_kinds[kind];
		call.size = strlen(call.bytes);
	}
	return call;
}

static char *copy_of(const struct ptrc_value *text)
{
	return ptrc_cli_copy_bytes(text->bytes, text->size);
}

/* ---- threads ---- */

static void change_state(struct ptrc_waits_thread *t, enum ptrc_waits_state state, int64_t ns)
{
	t->state_ns[t->state] += (uint64_t)ptrc_when_subtract(ns, t->state_since_ns);
	t->state = state;
	t->state_since_ns = ns;
}

static struct ptrc_waits_thread *thread_of(struct ptrc_waits *w, struct ptrc_source *s)
{
	w->threads.lane_size = sizeof(struct ptrc_waits_thread);
	return (struct ptrc_waits_thread *)ptrc_lanes_find(&w->threads, s);
}

/* Takes an event of the thread. If events were lost since the thread's previous event, the thread's
 * state becomes unknown. */
static void take_thread(struct ptrc_waits *w, struct ptrc_waits_thread *t, size_t source,
			int64_t ns)
{
	const struct ptrc_pairs *p = w->pairs;
	uint64_t gap_count =
		source < p->source_count && p->sources[source] ? p->sources[source]->gap_count : 0;

	if (!t->first_ns)
		t->first_ns = t->state_since_ns = ns;
	if (t->gap_count != gap_count) {
		t->state = PTRC_WAITS_UNKNOWN;
		t->is_in_wait = false;
	}
	t->gap_count = gap_count;
	t->last_ns = ns;
}

static void take_switch_out(struct ptrc_waits *w, struct ptrc_waits_thread *t,
			    struct ptrc_source *s, int64_t ns)
{
	const struct ptrc_value *v = ptrc_view_member(&s->view, &w->query->layouts, "preempted");

	change_state(t,
		     v && v->kind == PTRC_VALUE_BOOL && v->u ? PTRC_WAITS_RUNNABLE
		     : t->is_in_wait			     ? PTRC_WAITS_WAITING
							     : PTRC_WAITS_BLOCKED,
		     ns);
}

static void add_growth(uint64_t *growth, uint64_t *count, uint64_t now)
{
	*growth += now > *count ? now - *count : 0;
	*count = now;
}

/* Takes an event wait.thread: for how long, so far, a thread was on a processor and ready to run. The
 * event may be about another thread of the process than the one that recorded it. */
static void take_counts(struct ptrc_waits *w, struct ptrc_source *s)
{
	struct ptrc_value at = text_of(w, &s->view, "at");
	struct ptrc_waits_thread *t = (struct ptrc_waits_thread *)ptrc_lanes_seek(
		&w->threads, s, (pid_t)number_of(w, &s->view, "thread"));
	struct ptrc_waits_counts now = {
		.processor_ns = (uint64_t)number_of(w, &s->view, "processor"),
		.runnable_ns = (uint64_t)number_of(w, &s->view, "runnable"),
	};
	bool is_end = at.size == 3 && !memcmp(at.bytes, "end", 3);

	w->has_counts = true;
	if (!t)
		return;
	t->last_ns = w->last_ns > t->last_ns ? w->last_ns : t->last_ns;
	/* When a process ends, one thread records an event for the end of each of its threads. */
	t->exit_ns = is_end ? w->last_ns : 0;
	if (is_end && !t->has_start)
		return;
	/* Growth is measured from the thread's first start. A later start is that of a program that the same thread
	 * has executed, and the kernel goes on counting. But a start after an end is that of a new thread with the
	 * same number. */
	if (!t->has_start || (t->has_end && !is_end)) {
		t->counts = now;
		t->is_in_wait &= !t->has_end;
	}
	t->has_start = true;
	t->has_end = is_end;
	if (!is_end)
		return;
	add_growth(&t->growth.processor_ns, &t->counts.processor_ns, now.processor_ns);
	add_growth(&t->growth.runnable_ns, &t->counts.runnable_ns, now.runnable_ns);
}

void ptrc_waits_take(struct ptrc_waits *w, struct ptrc_source *s)
{
	const struct ptrc_type *type = ptrc_reader_type(&s->reader, s->reader.event.posix_event_id);
	const struct ptrc_reader_name *name = &type->name;
	int64_t ns = ptrc_source_ns(s);
	struct ptrc_waits_thread *t;
	bool is_in, is_out;

	w->last_ns = ns > w->last_ns ? ns : w->last_ns;
	if (s->reader.event.posix_event_id <= POSIX_TRACE_UNNAMED_USEREVENT || type->is_of_keeper)
		return;
	t = thread_of(w, s);
	take_thread(w, t, s->order, ns);
	if (name->is_known && !strcmp(name->text, "wait.thread"))
		take_counts(w, s);
	if (!name->is_known || strncmp(name->text, "os.", 3))
		return;
	is_in = !strcmp(name->text, "os.switch_in");
	is_out = !strcmp(name->text, "os.switch_out");
	t->has_switched |= is_in | is_out;
	w->has_switches |= is_in | is_out;
	if (is_in)
		change_state(t, PTRC_WAITS_RUNNING, ns);
	else if (is_out)
		take_switch_out(w, t, s, ns);
	else if (!strcmp(name->text, "os.exit"))
		t->exit_ns = ns;
}

/* Whether the end of a wait of this pair would be selected. If not, it is not known whether waits
 * have ended. */
static bool is_end_selected(const struct ptrc_waits *w, const struct ptrc_pair *pair)
{
	const struct ptrc_query *q = w->query;

	/* For a sink that takes all events, the expressions of --where are about waits, not about single events. */
	return ptrc_select_has_name(&q->select, pair->end) &&
	       (q->sink.takes_all || !q->select.where_count);
}

/* ---- rows ---- */

static bool is_any_of(const struct ptrc_value *call, const char *const *names)
{
	for (; *names; names++)
		if (call->size == strlen(*names) && !memcmp(call->bytes, *names, call->size))
			return true;
	return false;
}

/* Returns the row of what the thread waited for: the lock, file, peer or call. Adds it if it is new. */
static struct ptrc_waits_row *row_of(struct ptrc_waits *w, enum ptrc_waits_kind kind,
				     const struct ptrc_waits_thread *t, struct ptrc_view *begin,
				     const struct ptrc_value *call)
{
	static const char *const joins[] = {"pthread_join", "pthread_timedjoin_np",
					    "pthread_clockjoin_np", "thrd_join", NULL};
	struct ptrc_value text = {.kind = PTRC_VALUE_TEXT, .bytes = ""};
	PTRC_SCOPED_BUFFER key = PTRC_BUFFER_INIT;
	uint64_t head[5] = {kind};
	size_t count = w->rows.count;
	struct ptrc_waits_row *row;

	if (kind == PTRC_WAITS_LOCK) {
		head[1] = (uint64_t)number_of(w, begin, "lock");
		head[2] = (uint64_t)t->lane.pid;
		head[3] = t->lane.group;
		/* For a join, `lock` is the pthread_t of the joined thread, which the C library may later give to a
		 * new thread. So the ID of the joined thread is a part of the key, too. */
		if (is_any_of(call, joins))
			head[4] = (uint64_t)number_of(w, begin, "holder");
	} else if (kind == PTRC_WAITS_IO || kind == PTRC_WAITS_NET) {
		text = text_of(w, begin, kind == PTRC_WAITS_IO ? "path" : "peer");
		head[1] = text.size != 0;
	}
	ptrc_buffer_bytes(&key, head, sizeof(head));
	if (text.size)
		ptrc_buffer_bytes(&key, text.bytes, text.size);
	else if (kind != PTRC_WAITS_LOCK)
		ptrc_buffer_bytes(&key, call->bytes, call->size);
	row = ptrc_table_find(&w->rows, key.bytes, key.used, sizeof(*row));
	if (w->rows.count == count)
		return row;
	row->kind = kind;
	row->number = count;
	row->process = (struct ptrc_lane){
		.source = t->lane.source, .group = t->lane.group, .pid = t->lane.pid};
	row->lock = head[1];
	if (text.size) {
		row->name = copy_of(&text);
		row->name_size = text.size;
	} else if (kind != PTRC_WAITS_LOCK) {
		row->call = copy_of(call);
	}
	return row;
}

/* The place of the call that waits, as far as symbols are asked for and known: its function, file and line; else the
 * mapped file and the offset. */
static char *place_of(const struct ptrc_waits *w, struct ptrc_view *view, uint64_t call_site)
{
	struct ptrc_symbols *symbols = view->symbols;
	PTRC_SCOPED_BUFFER b = PTRC_BUFFER_INIT;
	const struct ptrc_symbol *s;

	/* The address of the event is that of the call, so the event's symbol is the place of the
	 * call. */
	view->symbols = w->symbols;
	s = ptrc_view_symbol(view);
	view->symbols = symbols;

	if (s->function)
		return s->file ? ptrc_cli_text("%s at %s:%d", s->function, s->file, s->line)
			       : ptrc_cli_copy(s->function);
	ptrc_place_put(&b, view->reader, call_site);
	return ptrc_cli_copy_bytes(b.bytes, b.used);
}

static void add_share(struct ptrc_waits *w, const struct ptrc_waits_row *row,
		      struct ptrc_waits_shares *shares, struct ptrc_view *begin, pid_t holder,
		      uint64_t ns)
{
	uint64_t call_site = holder ? 0 : (uint64_t)number_of(w, begin, "call_site");
	const uint64_t key[] = {row->number, (uint64_t)holder, call_site};
	struct ptrc_waits_share *s = ptrc_table_find(&w->shares, key, sizeof(key), sizeof(*s));

	if (!s->count++) {
		s->holder = holder;
		s->call_site = call_site;
		s->place = holder ? NULL : place_of(w, begin, call_site);
		*ptrc_append(shares->list, shares->count) = s;
	}
	s->ns += ns;
}

static void add_bytes(struct ptrc_waits_row *row, const struct ptrc_value *call, int64_t result)
{
	/* splice() and copy_file_range() are treated as reading, because the event has the descriptor from which
	 * they read; sendfile() is treated as writing, because the event has the descriptor to which it writes. */
	static const char *const reads[] = {
		"read",	    "pread",   "readv",	 "preadv",	    "recv",
		"recvfrom", "recvmsg", "splice", "copy_file_range", NULL};
	static const char *const writes[] = {"write",  "pwrite",  "writev",   "pwritev", "send",
					     "sendto", "sendmsg", "sendfile", NULL};

	if (result <= 0)
		return;
	if (is_any_of(call, reads))
		row->read_bytes += (uint64_t)result;
	else if (is_any_of(call, writes))
		row->written_bytes += (uint64_t)result;
}

/* ---- spans ---- */

void ptrc_waits_take_begin(struct ptrc_waits *w, const struct ptrc_span *span,
			   struct ptrc_waits_start *start)
{
	struct ptrc_waits_thread *t;
	enum ptrc_waits_kind kind;

	if (!ptrc_waits_find_kind(&w->pairs->list[span->pair], &kind))
		return;
	t = thread_of(w, span->begin.source);
	t->latest_begin = ++w->begin_count;
	t->is_in_wait = true;
	/* If another thread has recorded the end of this thread (has_end), exit_ns stays: this thread may
	 * still begin a wait before its process is gone. */
	if (!t->has_end)
		t->exit_ns = 0;
	*start = (struct ptrc_waits_start){t, t->latest_begin, t->waited_ns};
}

uint64_t ptrc_waits_time_so_far(const struct ptrc_waits *w, const struct ptrc_span *span,
				const struct ptrc_waits_start *start)
{
	const struct ptrc_waits_thread *t = start->thread;
	int64_t last_ns = t && t->exit_ns ? t->exit_ns : w->last_ns;

	return last_ns > span->ns ? (uint64_t)ptrc_when_subtract(last_ns, span->ns) : 0;
}

/* Adds a wait that took this time to the sums of its row, its kind and its thread. Returns the row. */
static struct ptrc_waits_row *add_wait(struct ptrc_waits *w, enum ptrc_waits_kind kind,
				       struct ptrc_view *begin,
				       const struct ptrc_waits_start *start, uint64_t ns)
{
	struct ptrc_waits_thread *t = start->thread;
	struct ptrc_value call = call_of(w, begin, kind);
	struct ptrc_waits_row *row = row_of(w, kind, t, begin, &call);
	/* The time of the waits within this wait (in a signal handler, say), which were added to
	 * the thread already. */
	uint64_t inner_ns = t->waited_ns - start->waited_ns;
	pid_t holder;

	ptrc_quantiles_add(&row->lengths, ns);
	ptrc_quantiles_add(&w->lengths[kind], ns);
	t->wait_count++;
	if (ns > inner_ns) {
		t->kind_ns[kind] += ns - inner_ns;
		t->waited_ns += ns - inner_ns;
	}
	if (!t->longest || ns > t->longest_ns) {
		t->longest_ns = ns;
		t->longest = row;
	}
	if (kind == PTRC_WAITS_LOCK) {
		holder = (pid_t)number_of(w, begin, "holder");
		if (holder > 0)
			add_share(w, row, &row->holders, begin, holder, ns);
		add_share(w, row, &row->places, begin, 0, ns);
	}
	return row;
}

static void add_open(struct ptrc_waits *w, enum ptrc_waits_kind kind, struct ptrc_view *begin,
		     const struct ptrc_span *span, const struct ptrc_waits_start *start)
{
	struct ptrc_waits_thread *t = start->thread;
	uint64_t ns = ptrc_waits_time_so_far(w, span, start);
	struct ptrc_waits_row *row = add_wait(w, kind, begin, start, ns);
	struct ptrc_value call = call_of(w, begin, kind);
	pid_t holder = kind == PTRC_WAITS_LOCK ? (pid_t)number_of(w, begin, "holder") : 0;
	uint64_t call_site = (uint64_t)number_of(w, begin, "call_site");

	row->open_count++;
	w->open_counts[kind]++;
	if (!t->exit_ns && w->last_ns > t->last_ns)
		t->last_ns = w->last_ns;
	*ptrc_append(w->open, w->open_count) = (struct ptrc_waits_open){
		.thread = t,
		.row = row,
		.begin_ns = span->ns,
		.ns = ns,
		.call = copy_of(&call),
		.holder = holder > 0 ? holder : 0,
		.call_site = call_site,
		.place = place_of(w, begin, call_site),
	};
}

bool ptrc_waits_take_end(struct ptrc_waits *w, const struct ptrc_span *span,
			 const struct ptrc_waits_start *start, bool is_selected)
{
	struct ptrc_view *begin = ptrc_span_begin_view(&w->pairs->spans, span);
	struct ptrc_view *end = ptrc_span_end_view(&w->pairs->spans, span);
	const struct ptrc_pair *pair = &w->pairs->list[span->pair];
	struct ptrc_value call;
	struct ptrc_waits_row *row;
	enum ptrc_waits_kind kind;

	if (!ptrc_waits_find_kind(pair, &kind))
		return false;
	if (begin && end)
		start->thread->is_in_wait = false;
	if (!is_selected)
		return false;
	if (span->fate == PTRC_SPAN_MEASURED) {
		row = add_wait(w, kind, begin, start,
			       (uint64_t)ptrc_when_subtract(ptrc_source_ns(span->end), span->ns));
		call = call_of(w, begin, kind);
		add_bytes(row, &call, number_of(w, end, "result"));
	} else if (span->fate == PTRC_SPAN_NO_END && start->thread->is_in_wait &&
		   start->thread->latest_begin == start->number && is_end_selected(w, pair)) {
		add_open(w, kind, begin, span, start);
		return true;
	} else {
		ptrc_pair_halves_count(&w->halves[kind], span->fate);
	}
	return false;
}

/* ---- results ---- */

static int compare_threads(const void *a, const void *b)
{
	const struct ptrc_waits_thread *s = *(struct ptrc_waits_thread *const *)a;
	const struct ptrc_waits_thread *t = *(struct ptrc_waits_thread *const *)b;

	if (s->waited_ns != t->waited_ns)
		return s->waited_ns > t->waited_ns ? -1 : 1;
	return (s->lane.number > t->lane.number) - (s->lane.number < t->lane.number);
}

static int compare_rows(const void *a, const void *b)
{
	const struct ptrc_waits_row *s = *(struct ptrc_waits_row *const *)a;
	const struct ptrc_waits_row *t = *(struct ptrc_waits_row *const *)b;

	if (s->lengths.total != t->lengths.total)
		return s->lengths.total > t->lengths.total ? -1 : 1;
	return (s->number > t->number) - (s->number < t->number);
}

static int compare_open(const void *a, const void *b)
{
	const struct ptrc_waits_open *s = a, *t = b;

	if (s->ns != t->ns)
		return s->ns > t->ns ? -1 : 1;
	return (s->thread->lane.number > t->thread->lane.number) -
	       (s->thread->lane.number < t->thread->lane.number);
}

static int compare_shares(const void *a, const void *b)
{
	const struct ptrc_waits_share *s = *(struct ptrc_waits_share *const *)a;
	const struct ptrc_waits_share *t = *(struct ptrc_waits_share *const *)b;

	if (s->count != t->count)
		return s->count > t->count ? -1 : 1;
	if (s->ns != t->ns)
		return s->ns > t->ns ? -1 : 1;
	if (s->holder != t->holder)
		return s->holder < t->holder ? -1 : 1;
	return (s->call_site > t->call_site) - (s->call_site < t->call_site);
}

/* If symbols are asked for, and the lock is a variable that they know, the row gets the variable's name. */
static void name_lock(const struct ptrc_waits *w, struct ptrc_waits_row *row)
{
	const struct ptrc_reader *r = &row->process.source->reader;
	struct timespec shown = ptrc_when_timespec(w->last_ns);
	struct timespec last = ptrc_reader_log_time_of(r, &shown);
	unsigned long process;
	uint64_t offset;
	const char *variable;

	if (!w->symbols || posixtrace_log_find_process(r->trace, row->process.pid, &last, &process))
		return;
	variable = ptrc_symbols_find_variable(w->symbols, r->trace, process, row->lock, &offset);
	if (!variable)
		return;
	row->name =
		offset ? ptrc_cli_text("%s+0x%" PRIx64, variable, offset) : ptrc_cli_copy(variable);
	row->name_size = strlen(row->name);
}

static void add_row(struct ptrc_waits *w, struct ptrc_waits_row *row)
{
	*ptrc_append(w->row_lists[row->kind], w->row_counts[row->kind]) = row;
	ptrc_sort(row->holders.list, row->holders.count, compare_shares);
	ptrc_sort(row->places.list, row->places.count, compare_shares);
	if (row->kind == PTRC_WAITS_LOCK)
		name_lock(w, row);
}

/* A child of fork() may record its start only when it ends. first_ns is then too late, so it is moved back by the time
 * that the thread was on a processor or ready to run. If the thread has switches, these times are calculated from them,
 * so they are never longer than the time between its events; but the kernel's sums may be. */
static void move_start(struct ptrc_waits_thread *t)
{
	uint64_t used_ns = t->growth.processor_ns + t->growth.runnable_ns;

	if (!t->has_switched && used_ns > (uint64_t)ptrc_when_subtract(t->last_ns, t->first_ns))
		t->first_ns = t->last_ns - (int64_t)used_ns;
}

void ptrc_waits_end(struct ptrc_waits *w, bool is_read)
{
	const struct ptrc_query *q = w->query;
	const struct ptrc_period *selected = &q->select.span;
	int64_t first_ns = selected->first > q->trace.first ? selected->first : q->trace.first;
	int64_t last_ns = selected->last < q->trace.last ? selected->last : q->trace.last;
	size_t count = w->threads.count;

	if (!q->select.around && q->first_count == UINT64_MAX && last_ns > w->last_ns)
		w->last_ns = last_ns;
	if (first_ns < w->last_ns)
		w->took_ns = (uint64_t)ptrc_when_subtract(w->last_ns, first_ns);
	ptrc_pairs_end(w->pairs, is_read);
	w->thread_list = ptrc_cli_allocate((count + 1) * sizeof(struct ptrc_waits_thread *));
	for (size_t i = 0; i < count; i++) {
		struct ptrc_waits_thread *t = (struct ptrc_waits_thread *)w->threads.list[i];

		w->thread_list[i] = t;
		move_start(t);
		change_state(t, t->state, t->last_ns);
	}
	ptrc_sort(w->thread_list, count, compare_threads);
	for (struct ptrc_waits_row *row = NULL; (row = ptrc_table_next(&w->rows, row));)
		add_row(w, row);
	for (size_t kind = 0; kind < PTRC_WAITS_KINDS; kind++)
		ptrc_sort(w->row_lists[kind], w->row_counts[kind], compare_rows);
	ptrc_sort(w->open, w->open_count, compare_open);
}

bool ptrc_waits_find_times(const struct ptrc_waits_thread *t, uint64_t *processor_ns,
			   uint64_t *runnable_ns)
{
	*processor_ns = t->has_switched ? t->state_ns[PTRC_WAITS_RUNNING] : t->growth.processor_ns;
	*runnable_ns = t->has_switched ? t->state_ns[PTRC_WAITS_RUNNABLE] : t->growth.runnable_ns;
	return t->has_switched || t->has_end;
}

bool ptrc_waits_has_any(const struct ptrc_waits *w)
{
	bool has_any = false;

	for (size_t kind = 0; kind < PTRC_WAITS_KINDS; kind++) {
		const struct ptrc_pair_halves *h = &w->halves[kind];

		has_any |= w->lengths[kind].count || h->begins || h->ends || h->cut;
	}
	return has_any;
}

void ptrc_waits_forget(struct ptrc_waits *w)
{
	for (struct ptrc_waits_row *row = NULL; (row = ptrc_table_next(&w->rows, row));) {
		ptrc_quantiles_free(&row->lengths);
		free(row->name);
		free(row->call);
		free(row->holders.list);
		free(row->places.list);
	}
	for (struct ptrc_waits_share *s = NULL; (s = ptrc_table_next(&w->shares, s));)
		free(s->place);
	ptrc_table_free(&w->rows);
	ptrc_table_free(&w->shares);
	ptrc_lanes_free(&w->threads);
	for (size_t kind = 0; kind < PTRC_WAITS_KINDS; kind++) {
		ptrc_quantiles_free(&w->lengths[kind]);
		free(w->row_lists[kind]);
	}
	for (size_t i = 0; i < w->open_count; i++) {
		free(w->open[i].call);
		free(w->open[i].place);
	}
	free(w->open);
	free(w->thread_list);
	*w = (struct ptrc_waits){.query = w->query, .pairs = w->pairs, .symbols = w->symbols};
}
