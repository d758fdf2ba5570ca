/* SPDX-License-Identifier: MIT */
/*
 * The selected events of logs, merged by time, or of a session. A sink takes them: lines of text, a log, pairs, an
 * export, a report, a verdict.
 *
 * A command opens the sources (src/summary/selection.h) and sets .sink. ptrc_query_scan() reads what has to be known
 * before the first event, ptrc_query_run() gives all events to the sink, ptrc_query_end() reports what is missing.
 */
#ifndef PTRC_SRC_QUERY_QUERY_H
#define PTRC_SRC_QUERY_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/exit_status.h"
#include "src/fields/layout.h"
#include "src/fields/when.h"
#include "src/query/hosts.h"
#include "src/query/losses.h"
#include "src/query/misfits.h"
#include "src/query/reader.h"
#include "src/query/select.h"
#include "src/query/sieve.h"
#include "src/query/view.h"

struct ptrc_nearest;
struct ptrc_span;

/* A log, or the session that is followed. */
struct ptrc_source {
	/* The name that the user gave. */
	const char *operand;
	struct ptrc_reader reader;
	struct ptrc_view view;
	/* NULL if it has none. One allocation. */
	struct ptrc_sieve *sieve;
	/* Both set by ptrc_query_finish(). */
	struct ptrc_losses losses;
	uint64_t read_count;
	/* The search for the events of --around met damage, where some of them may have been. */
	bool is_damaged;
	/* The position on the command line, which decides the order of events of the same time. */
	size_t order;
	/* All of its events were read, and its end is merged among the events of the others. */
	bool is_over;
	/* The event that was read is not selected. The sink gets it because it may report lost events. */
	bool is_for_loss;
};

/* Receives the events. Each function gets the sink's own state as `self`. All but .event may be NULL. */
struct ptrc_sink {
	void *self;
	/* Takes the event that the source has read. Counts what it shows in the query's shown_count. */
	void (*event)(void *self, struct ptrc_source *);
	/* Returns the index of the first event of the block, from `at` on, that it wants. */
	size_t (*skip)(void *self, struct ptrc_source *, const struct posixtrace_block *,
		       size_t at);
	/* Take a span (src/spans/span.h) that the latest event starts, and one that is over. */
	void (*begin)(void *self, struct ptrc_span *);
	void (*span)(void *self, struct ptrc_span *);
	/* Called in the order of times at the last event of a log that was not closed, unless all others are over. The
	 * reader has the time of that event. */
	void (*early_end)(void *self, struct ptrc_source *);
	/* Whether it takes no more events. */
	bool (*is_full)(const void *self);
	/* Called after the last event, when the losses of the sources are known. is_read: the sources were read to
	 * their ends. */
	void (*finish)(void *self, bool is_read);
	/* For --last, which has to know the number of events: counts what the end adds, and forgets all events, which
	 * then come again. */
	void (*restart)(void *self);
	/* Prints messages. Returns whether everything that was asked for exists. */
	bool (*tell)(void *self);
	/* Puts its own members into the object of --summary. */
	void (*summarize)(void *self, struct ptrc_json *);
	/* Ends it, after all messages. Returns false after a message. */
	bool (*end)(void *self);
	/* It gets all events and selects by itself. */
	bool takes_all;
	/* It also gets all events that report losses. */
	bool takes_losses;
	/* It needs .trace of the query. */
	bool needs_trace;
	/* The noun for what --summary counts; NULL: event. */
	const char *noun;
	/* The fields of --fields. One within JSON that no event has is reported. */
	const struct ptrc_field *fields;
	size_t field_count;
};

struct ptrc_query {
	struct ptrc_select select;
	/* The first given_layout_count come from --decode. */
	struct ptrc_layouts layouts;
	size_t given_layout_count;
	struct ptrc_when since;
	struct ptrc_when until;
	/* From the first event of the sources to the last, selected or not. Valid if ptrc_query_scan() found that it is
	 * needed. */
	struct ptrc_period trace;
	/* The time that is shown before and after an event of --around. */
	int64_t before_ns;
	int64_t after_ns;
	/* The number of the first or last selected events that are shown; UINT64_MAX: all. */
	uint64_t first_count;
	uint64_t last_count;
	/* The session that is followed; NULL if logs are shown. */
	const char *session;
	/* There are several operands, and hosts have labels: events are shown with those of their source. */
	bool has_log;
	bool has_host;
	/* Finds places in the source code; NULL if no field needs them. */
	struct ptrc_symbols *symbols;
	/* All events are read and compared with what the logs say about them (--verify). */
	bool is_verifying;
	bool is_loss_allowed;
	/* Each selected event has to fit its layout, even if its data is not shown. */
	bool is_strict;
	/* The sink, too, needs the fields gap and bound, and .trace.first. */
	bool needs_gap;
	bool needs_bound;
	bool needs_first;

	struct ptrc_sink sink;
	/* For a sink with .restart and --last: the first pass only counts; the number of selected events before the first
	 * that is shown. */
	bool is_rehearsal;
	uint64_t skip_count;

	struct ptrc_source *sources;
	size_t source_count;
	/* Set for several logs, or if a field needs the bounds of times. */
	struct ptrc_hosts hosts;
	/* Standard output. */
	struct ptrc_buffer out;
	uint64_t shown_count;
	/* Selected events that were not shown because too many lines were held for --around. */
	uint64_t unheld_count;
	/* The expression of --around was evaluated, so its events that do not fit their layouts are counted already. */
	bool has_counted_around;
	/* Set by ptrc_query_finish(). */
	struct ptrc_misfit_types misfits;
	/* Nothing failed and nothing is missing; set by ptrc_query_tell(). */
	bool is_complete;
};

/* Completes a source whose reader has just been opened. The source must not move afterwards: its view points into
 * it. */
void ptrc_source_begin(struct ptrc_source *, struct ptrc_query *, size_t order);

/* Finds the hosts of the sources, and how their times are corrected, if that matters. */
void ptrc_query_find_hosts(struct ptrc_query *, bool is_for_log);

void ptrc_source_free(struct ptrc_source *);

/* Makes the sieve of the source, if it can have one. Follows ptrc_query_resolve(). */
void ptrc_source_make_sieve(struct ptrc_source *, const struct ptrc_query *);

/* Skips events of the block that are not selected or that the sink does not want. */
static inline void ptrc_source_skip(struct ptrc_source *s, const struct ptrc_sink *sink,
				    struct ptrc_reader_block *b)
{
	size_t at;

	if ((!s->sieve && !sink->skip) || !b->events)
		return;
	at = sink->skip ? sink->skip(sink->self, s, b->events, b->at)
			: ptrc_sieve_pass(s->sieve, &s->view, b->events, b->at);
	s->reader.read_count += at - b->at;
	b->at = at;
}

/* The time of the latest event of the source, in nanoseconds since 1970. */
static inline int64_t ptrc_source_ns(const struct ptrc_source *s)
{
	return ptrc_when_ns(&s->reader.event.posix_timestamp);
}

/* For --strict, decodes the latest event, which counts it if it does not fit its layout. */
static inline void ptrc_query_check_layout(const struct ptrc_query *q, struct ptrc_source *s)
{
	if (__builtin_expect(q->is_strict, 0) && s->view.layout)
		ptrc_view_decode(&s->view);
}

static inline bool ptrc_query_is_full(const struct ptrc_query *q)
{
	return q->sink.is_full && q->sink.is_full(q->sink.self);
}

/* Whether the latest event of the source is selected, apart from --around. */
bool ptrc_query_is_selected(struct ptrc_query *, struct ptrc_source *);

/* Whether the latest event of the source is one of --around. */
bool ptrc_query_is_around(struct ptrc_query *, struct ptrc_source *);

static inline void ptrc_query_take(struct ptrc_query *q, struct ptrc_source *s)
{
	ptrc_query_check_layout(q, s);
	q->sink.event(q->sink.self, s);
}

/* Whether events of this type may report the start or the end of a loss. */
static inline bool ptrc_query_sees_losses(trace_event_id_t id)
{
	return id == POSIX_TRACE_START || id == POSIX_TRACE_STOP || id == POSIX_TRACE_OVERFLOW ||
	       id == POSIX_TRACE_RESUME || id == POSIX_TRACE_ERROR;
}

/* Counts the next thing that a sink has selected. Returns whether --first and --last show it. */
static inline bool ptrc_query_is_due(struct ptrc_query *q)
{
	if (__builtin_expect(q->skip_count || q->shown_count >= q->first_count, 0)) {
		q->skip_count -= q->skip_count > 0;
		return false;
	}
	q->shown_count++;
	return !q->is_rehearsal;
}

/* Resolves times of options that are relative to the start or the end of the trace. */
void ptrc_query_resolve(struct ptrc_query *, const struct ptrc_period *trace);

/* Determines the selected times, including those near the events of --around. Reads as much of the logs as this needs,
 * and goes back to their starts. Returns false, after a message, if a log cannot be read again. */
bool ptrc_query_scan(struct ptrc_query *);

/* Gives the sink the events of all logs. Returns whether it read the logs to their ends. */
bool ptrc_query_run(struct ptrc_query *);

/* Selects the part of the logs that has at least the last `count` events, as far as their indexes say, and resets
 * all counts. Stores whether that is everything. Returns false, after a message, if a log cannot be read. */
bool ptrc_query_select_last(struct ptrc_query *, uint64_t count, bool *is_all);

/* The number of events whose selection could not be decided, and messages about these. */
uint64_t ptrc_query_undecided(const struct ptrc_query *);
void ptrc_query_report_undecided(const struct ptrc_query *);

/* Whether a source has an event type whose name the pattern matches. */
bool ptrc_query_has_match(const struct ptrc_query *, const char *pattern);

/* After ptrc_query_finish(): whether the sources lack nothing, and each event was decided. */
bool ptrc_query_lacks_nothing(const struct ptrc_query *);

/* Returns false if no event can be selected: no event type has a name of --event or --around, and none of their names
 * can be missing. */
bool ptrc_query_may_select(const struct ptrc_query *);

/* Whether a source has an event type of this name. Offers other names to `nearest`, which may be NULL. */
bool ptrc_query_has_type(const struct ptrc_query *, const char *name, struct ptrc_nearest *);

/* After ptrc_query_finish(): returns false if the field is one within JSON that no event of the logs has. Reads the logs
 * again, up to the first event that has it. Otherwise stores similar names, as in " (did you mean 'data.id'?)". */
bool ptrc_query_has_member(struct ptrc_query *, const struct ptrc_field *, char proposal[200]);

/* Puts the member "logs": the sources, the number of events read, and the losses. */
void ptrc_query_sources_json(const struct ptrc_query *, struct ptrc_json *);

/* Determines what is missing, and lets the sink finish. is_read: the sources were read to their ends. Returns false,
 * after a message, if --verify cannot read a log. */
bool ptrc_query_finish(struct ptrc_query *, bool is_read);

/* After ptrc_query_finish(): reports what is missing, and ends the sink. The status says whether anything failed so
 * far. Returns the exit status. */
enum ptrc_exit ptrc_query_tell(struct ptrc_query *, enum ptrc_exit status, bool is_read);

/* Calls ptrc_query_finish() and ptrc_query_tell(). */
enum ptrc_exit ptrc_query_end(struct ptrc_query *, enum ptrc_exit status, bool is_read);

#endif
