/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/watch.h"

#include <errno.h>
#include <posixtrace-control.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/posixtrace-private.h"
#include "lib/model/glob.h"
#include "src/base/clock.h"
#include "src/base/scope.h"
#include "src/fields/when.h"
#include "src/query/query.h"
#include "src/spans/pairs.h"

/* The largest error of an event's timestamp, in ns. */
enum { SLACK_NS = 1000000 };

/* If more open pairs than this can make no snapshot any more (.removed_count), and they are the
 * majority of the open pairs, they are dropped. */
enum { REMOVED_MAX = 1000 };

/* A condition of --snapshot-on: an event matches `glob`, or a pair takes longer than a limit. */
struct condition {
	const char *glob;
	/* If glob is NULL: the index of the pair in the watch's .pairs, and the longest time it may take. */
	size_t pair;
	int64_t limit_ns;
	/* The open pairs that have not made a snapshot, sorted by their first events. */
	struct open_pair *oldest;
	struct open_pair *newest;
	/* Some event type has matched: the pattern or the pair's first event; the pair's last event. */
	bool has_matched;
	bool has_end;
};

/* A pair whose last event has not come. */
struct open_pair {
	struct ptrc_span span;
	/* The condition whose list has this pair; NULL once the pair was removed from the list. */
	struct condition *list;
	struct open_pair *before;
	struct open_pair *after;
};

struct ptrc_watch {
	trace_id_t trace;
	/* The cursor returns the events of the types in `wanted`: those that a condition needs, and all types whose
	 * names are not known yet, which have identifiers from next_id on. It is NULL after ptrc_watch_end(). */
	struct posixtrace_cursor *cursor;
	trace_event_set_t wanted;
	trace_event_id_t next_id;
	struct condition *conditions;
	size_t count;
	/* The query's only source, which reads the cursor's events as a log. */
	struct ptrc_query query;
	struct ptrc_source source;
	struct ptrc_pairs pairs;
	/* The number of open pairs that have exceeded their limits, and are in no condition's list any more. */
	uint64_t removed_count;
	/* The timestamp of an event minus the time of CLOCK_MONOTONIC at which it was recorded: constant, even if
	 * the system's clock is set. */
	int64_t offset_ns;
	/* The last event that makes a snapshot; its name is "" if there is none. */
	struct ptrc_watch_event found;
	/* The number of events that were lost before they were read; 0 until ptrc_watch_end(). */
	uint64_t missed;
};

/* ---- conditions ---- */

/* Splits PAIR > DURATION. Returns the size of PAIR; 0 if the text has not this form, so it is a pattern. */
static size_t split(const char *text, int64_t *limit_ns)
{
	const char *mark = strrchr(text, '>');
	const char *limit;
	size_t size;

	if (!mark)
		return 0;
	limit = mark + 1 + strspn(mark + 1, " ");
	for (size = (size_t)(mark - text); size && text[size - 1] == ' '; size--)
		continue;
	return ptrc_when_duration(limit, limit_ns) ? size : 0;
}

/* Adds the pair that the first `size` bytes of the text name. If they name none, stores the reason and returns
 * false. */
static bool add_pair(struct ptrc_pairs *pairs, const struct ptrc_layouts *layouts, const char *text,
		     size_t size, struct ptrc_cli_reason *why)
{
	PTRC_SCOPED char *pair = ptrc_cli_copy_bytes(text, size);

	return ptrc_pairs_add(pairs, pair, layouts, why);
}

bool ptrc_watch_is_valid(const char *text, struct ptrc_cli_reason *why)
{
	const struct ptrc_layouts layouts = {.is_open = true};
	struct ptrc_pairs pairs = {0};
	int64_t limit_ns = 0;
	size_t size = split(text, &limit_ns);
	bool is_valid;

	if (!size)
		return !strpbrk(text, "<>") ||
		       ptrc_cli_because(why,
					"'%.80s' is not PAIR > TIME, with a time such as 500ms; ? "
					"stands for a < or > in a name",
					text);
	is_valid = add_pair(&pairs, &layouts, text, size, why);
	pairs.given_count = 0;
	ptrc_pairs_forget(&pairs);
	free(pairs.list);
	return is_valid;
}

/* Whether a condition needs the events of this name. Also notes which conditions the name matches. */
static bool needs(struct ptrc_watch *w, const char *name)
{
	bool is_needed = false;

	for (size_t i = 0; i < w->count; i++) {
		struct condition *c = &w->conditions[i];
		const struct ptrc_pair *pair = c->glob ? NULL : &w->pairs.list[c->pair];
		bool matches = pair ? !strcmp(name, pair->begin) : ptrc_glob_matches(c->glob, name);
		bool is_end = pair && !strcmp(name, pair->end);

		c->has_matched |= matches;
		c->has_end |= is_end;
		is_needed |= matches || is_end;
	}
	return is_needed;
}

void ptrc_watch_learn(struct ptrc_watch *w)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t next = w->next_id;
	trace_event_id_t id;

	posix_trace_eventtypelist_rewind(w->trace);
	while (ptrc_next_type(w->trace, &id)) {
		if (id < w->next_id)
			continue;
		next = id + 1;
		if (posix_trace_eventid_get_name(w->trace, id, name) || !needs(w, name))
			posix_trace_eventset_del(id, &w->wanted);
	}
	w->next_id = next;
	if (w->cursor)
		posixtrace_cursor_select(w->cursor, &w->wanted);
}

enum ptrc_snapshot_lack ptrc_watch_lack(const struct ptrc_watch *w, size_t i)
{
	const struct condition *c = &w->conditions[i];
	const struct ptrc_pair *pair = c->glob ? NULL : &w->pairs.list[c->pair];

	if (!c->has_matched)
		return PTRC_SNAPSHOT_LACKS_NAME;
	if (pair && !c->has_end)
		return PTRC_SNAPSHOT_LACKS_END;
	if (pair && !pair->has_key && pair->without_key > pair->cut_keys)
		return PTRC_SNAPSHOT_LACKS_FIELD;
	return PTRC_SNAPSHOT_LACKS_NOTHING;
}

/* ---- pairs ---- */

static void find(struct ptrc_watch *w, const char *name, const struct timespec *time)
{
	w->found.time = *time;
	snprintf(w->found.name, sizeof(w->found.name), "%s", name);
}

static void append(struct condition *c, struct open_pair *o)
{
	o->list = c;
	o->before = c->newest;
	*(c->newest ? &c->newest->after : &c->oldest) = o;
	c->newest = o;
}

static void take_out(struct open_pair *o)
{
	struct condition *c = o->list;

	if (!c)
		return;
	*(o->before ? &o->before->after : &c->oldest) = o->after;
	*(o->after ? &o->after->before : &c->newest) = o->before;
	o->list = NULL;
}

static struct condition *condition_of(struct ptrc_watch *w, const struct ptrc_span *s)
{
	size_t i = 0;

	while (w->conditions[i].glob || w->conditions[i].pair != s->pair)
		i++;
	return &w->conditions[i];
}

/* Called when a pair begins: adds it to the open pairs of its condition. */
static void take_begin(void *self, struct ptrc_span *s)
{
	append(condition_of(self, s), (struct open_pair *)s);
}

/* Called when a pair ends. A pair that has made a snapshot while it was open makes no second one. */
static void take_span(void *self, struct ptrc_span *s)
{
	struct ptrc_watch *w = self;
	struct open_pair *o = (struct open_pair *)s;

	/* If the first event is missing, the span is not the start of a struct open_pair, so `o` is not used. */
	if (!s->begin.source)
		return;
	if (!o->list) {
		w->removed_count--;
		return;
	}
	if (s->fate == PTRC_SPAN_MEASURED &&
	    ptrc_when_subtract(ptrc_source_ns(s->end), s->ns) > o->list->limit_ns)
		find(w, w->pairs.list[s->pair].end, &s->end->reader.event.posix_timestamp);
	take_out(o);
}

static bool is_removed(const struct ptrc_span *s)
{
	return !((const struct open_pair *)s)->list;
}

/* Looks for a pair that has been open for longer than its limit at now_ns. All events up to now_ns were read. If
 * events were lost since the pair began, its last event may be among them, so the pair makes no snapshot. */
static void look_at_open(struct ptrc_watch *w, int64_t now_ns)
{
	for (size_t i = 0; i < w->count; i++) {
		struct condition *c = &w->conditions[i];
		struct open_pair *o;

		while ((o = c->oldest) && ptrc_when_subtract(now_ns, o->span.ns) > c->limit_ns) {
			if (o->span.gap_count == *o->span.gaps)
				find(w, w->pairs.list[c->pair].begin,
				     &o->span.begin.event.posix_timestamp);
			take_out(o);
			w->removed_count++;
		}
	}
	/* If many pairs were taken out of the lists, drops these pairs, because they may never end. */
	if (w->removed_count > REMOVED_MAX && w->removed_count > w->pairs.spans.open_count / 2) {
		ptrc_pairs_drop(&w->pairs, is_removed);
		w->removed_count = 0;
	}
}

/* ---- events ---- */

static struct ptrc_watch *watch_of(struct ptrc_reader *r)
{
	return (void *)((char *)r - offsetof(struct ptrc_watch, source.reader));
}

/* Gets the events at the cursor. If there are none, fails with EINTR, so that ptrc_reader_next() returns false. */
static bool receive(struct ptrc_reader *r)
{
	struct ptrc_part part;

	r->error = ptrc_cursor_get_part(watch_of(r)->cursor, &part);
	if (!r->error)
		ptrc_reader_set_lacking(r, part.pt_may_lack);
	if (!r->error && !part.pt_length)
		r->error = EINTR;
	if (!r->error)
		r->error = ptrc_log_add_part(r->trace, part.pt_bytes, part.pt_length, NULL);
	return !r->error;
}

static void close_nothing(struct ptrc_reader *r)
{
	(void)r;
}

static const struct ptrc_reader_source source = {.receive = receive, .close = close_nothing};

static void take_event(void *self, struct ptrc_source *s)
{
	struct ptrc_watch *w = self;
	trace_event_id_t id = s->reader.event.posix_event_id;
	const char *name = ptrc_reader_name(&s->reader, id)->text;

	if (id >= w->next_id)
		ptrc_watch_learn(w);
	for (size_t i = 0; i < w->count && id >= POSIX_TRACE_UNNAMED_USEREVENT; i++)
		if (w->conditions[i].glob && ptrc_glob_matches(w->conditions[i].glob, name))
			find(w, name, &s->reader.event.posix_timestamp);
	if (w->pairs.count)
		ptrc_pairs_take(&w->pairs, s);
}

/* Returns the timestamp that an event would have if it were recorded now. */
static int64_t time_now(const struct ptrc_watch *w)
{
	return ptrc_now_ns() + w->offset_ns;
}

/* Reads the events with timestamps up to now_ns. (Later ones could come faster than they are read, so
 * that reading would never end.) Stops when CLOCK_MONOTONIC reaches until_ns and, if `stops`, at an
 * event that makes a snapshot. Returns the timestamp up to which all events were read. */
static int64_t read_events(struct ptrc_watch *w, int64_t now_ns, int64_t until_ns, bool stops)
{
	w->source.reader.error = 0;
	while (ptrc_now_ns() < until_ns) {
		if (!ptrc_reader_next(&w->source.reader))
			return now_ns;
		if (ptrc_query_is_selected(&w->query, &w->source))
			ptrc_query_take(&w->query, &w->source);
		if ((stops && *w->found.name) || ptrc_source_ns(&w->source) > now_ns + SLACK_NS)
			break;
	}
	return ptrc_source_ns(&w->source);
}

bool ptrc_watch_look(struct ptrc_watch *w, int64_t until_ns, struct ptrc_watch_event *found)
{
	int64_t read_ns;

	*w->found.name = '\0';
	if (w->cursor) {
		read_ns = read_events(w, time_now(w), until_ns, true);
		if (!*w->found.name)
			look_at_open(w, read_ns);
	}
	*found = w->found;
	return *w->found.name;
}

void ptrc_watch_pass(struct ptrc_watch *w)
{
	trace_event_set_t nothing;

	if (!w->cursor)
		return;
	/* If there are no pairs, no event is needed, so an empty set is selected to skip the events fast. */
	posix_trace_eventset_empty(&nothing);
	if (!w->pairs.count)
		posixtrace_cursor_select(w->cursor, &nothing);
	look_at_open(w, read_events(w, time_now(w), INT64_MAX, false));
	posixtrace_cursor_select(w->cursor, &w->wanted);
}

/* ---- start and end ---- */

/* Opens the reader that reads the cursor's events as a log, and sets up the query for them. */
static int open_reader(struct ptrc_watch *w)
{
	struct ptrc_reader *r = &w->source.reader;
	struct ptrc_part part;
	int error = ptrc_cursor_get_part(w->cursor, &part)
			    ?: ptrc_log_open_parts(part.pt_bytes, part.pt_length, &r->trace);

	if (error)
		return error;
	r->path = "--snapshot-on";
	r->fd = -1;
	r->source = &source;
	ptrc_reader_own_types(r);
	w->query.sources = &w->source;
	w->query.source_count = 1;
	w->query.select.span = (struct ptrc_period){INT64_MIN, INT64_MAX};
	w->query.sink = (struct ptrc_sink){.self = w,
					   .event = take_event,
					   .begin = take_begin,
					   .span = take_span,
					   .takes_all = true};
	ptrc_source_begin(&w->source, &w->query, 0);
	ptrc_spans_begin(&w->pairs.spans, &w->query, sizeof(struct open_pair));
	return 0;
}

int ptrc_watch_open(struct ptrc_watch **watch, trace_id_t trace, const char *const *texts,
		    size_t count)
{
	struct ptrc_watch *w = ptrc_cli_allocate(sizeof(*w));
	struct ptrc_cli_reason why;
	struct timespec now;
	int error;

	*w = (struct ptrc_watch){
		.trace = trace,
		.next_id = POSIX_TRACE_UNNAMED_USEREVENT,
		.conditions = ptrc_cli_allocate(count * sizeof(*w->conditions)),
		.count = count,
		.query.layouts.is_open = true,
		.pairs.is_without_rows = true,
	};
	posix_trace_eventset_fill(&w->wanted, POSIX_TRACE_ALL_EVENTS);
	/* Of the system events, only those between which events were lost or not recorded. */
	for (trace_event_id_t id = 1; id < POSIX_TRACE_UNNAMED_USEREVENT; id++)
		if (id != POSIX_TRACE_START && id != POSIX_TRACE_STOP)
			posix_trace_eventset_del(id, &w->wanted);
	for (size_t i = 0; i < count; i++) {
		struct condition *c = &w->conditions[i];
		size_t size = split(texts[i], &c->limit_ns);

		c->pair = w->pairs.count;
		if (!size || !add_pair(&w->pairs, &w->query.layouts, texts[i], size, &why))
			c->glob = texts[i];
	}
	*watch = w;
	/* The time of an event is the real time at which the stream was created, plus the monotonic
	 * time since then. The stream was created just now, so the two clocks still differ as they
	 * did then. */
	clock_gettime(CLOCK_REALTIME, &now);
	w->offset_ns = ptrc_when_ns(&now) - ptrc_now_ns();
	error = posixtrace_cursor_open(trace, 0, &w->cursor);
	if (error)
		return error;
	ptrc_watch_learn(w);
	return open_reader(w);
}

uint64_t ptrc_watch_end(struct ptrc_watch *w)
{
	unsigned long missed;

	if (!w->cursor)
		return w->missed;
	if (!posixtrace_cursor_get_missed(w->cursor, &missed))
		w->missed = missed;
	posixtrace_cursor_close(w->cursor);
	w->cursor = NULL;
	return w->missed;
}
