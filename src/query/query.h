/* SPDX-License-Identifier: MIT */
/*
 * The events of logs, merged by time, or of sessions, of which some are selected: what a command asks for, once
 * its options are read. A sink takes them: a log, text, pairs, an export, a report, a verdict.
 *
 * A command opens the sources (src/summary/selection.h) and sets .sink. ptrc_query_scan() looks at what has to be
 * known before the first event, ptrc_query_run() has all events go to the sink, ptrc_query_end() tells what is
 * missing.
 */
#ifndef PTRC_SRC_QUERY_QUERY_H
#define PTRC_SRC_QUERY_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/exit_status.h"
#include "src/query/hosts.h"
#include "src/fields/layout.h"
#include "src/query/losses.h"
#include "src/query/misfits.h"
#include "src/query/reader.h"
#include "src/query/select.h"
#include "src/query/sieve.h"
#include "src/query/view.h"
#include "src/fields/when.h"

struct ptrc_nearest;
struct ptrc_span;

/* A log, or the session that is followed. */
struct ptrc_source {
	/* As the user has named it. */
	const char *operand;
	struct ptrc_reader reader;
	struct ptrc_view view;
	/* Null: there is none. */
	struct ptrc_sieve *sieve;
	struct ptrc_losses losses;
	/* The search for the events that --around names has met damage, where some of them may have
	 * been. */
	bool is_damaged;
	/* The position on the command line, which decides between events of the same
	 * time. */
	size_t order;
	/* All of its events were read, and its end comes among those of the others. */
	bool is_over;
	/* The event that was read is not selected. The sink gets it because it may report lost events. */
	bool is_for_loss;
	/* How many events were read; set by ptrc_query_finish(). */
	uint64_t read_count;
};

/*
 * What takes the events: functions, each with the sink's own state as `self`. All but .event may be
 * null.
 */
struct ptrc_sink {
	void *self;
	/* Takes the event that the source has read, and counts what it shows in the query's shown_count. */
	void (*event)(void *self, struct ptrc_source *);
	/* Returns the place of the first event of the block, from a place on, that it wants. */
	size_t (*skip)(void *self, struct ptrc_source *, const struct posixtrace_block *,
		       size_t at);
	/* Of what takes time (src/spans/span.h): takes a span that the latest event begins, and one that is over. */
	void (*begin)(void *self, struct ptrc_span *);
	void (*span)(void *self, struct ptrc_span *);
	/* The log of the source has no end, and its last event is before those of others. The reader
	 * has the time of that. */
	void (*early_end)(void *self, struct ptrc_source *);
	/* Whether it takes no more events; null: it always does. */
	bool (*is_full)(const void *self);
	/* Is called after the last event, when the losses of the sources are known. is_read: the sources
	 * were read to their ends. */
	void (*finish)(void *self, bool is_read);
	/* For --last, which needs to know how many events there are: counts what the end adds, and forgets
	 * the events, as all of them come once more. */
	void (*restart)(void *self);
	/* Prints messages. Returns whether what was asked for is there. */
	bool (*tell)(void *self);
	/* Puts members of its own into the object of --summary. */
	void (*summarize)(void *self, struct ptrc_json *);
	/* Ends it, after all messages. Returns false after a message of its own. */
	bool (*end)(void *self);
	/* It selects for itself: it gets all events. */
	bool takes_all;
	/* It gets, beside what is selected, all events that tell of losses. */
	bool takes_losses;
	/* It needs .trace of the query. */
	bool needs_trace;
	/* What --summary counts; null: events. */
	const char *noun;
	/* The fields of --fields. One that only JSON can have, and that no event has, is reported. */
	const struct ptrc_field *fields;
	size_t field_count;
};

struct ptrc_query {
	/* Which events are shown. */
	struct ptrc_select select;
	/* The layouts that decode their data. The first given_layout_count come from --decode. */
	struct ptrc_layouts layouts;
	size_t given_layout_count;
	struct ptrc_when since;
	struct ptrc_when until;
	/* From the first event of the sources to the last, whatever is selected; if somebody asks, see
	 * ptrc_query_scan(). */
	struct ptrc_period trace;
	/* How much time before and after an event that --around names is shown. */
	int64_t before_ns;
	int64_t after_ns;
	/* Only so many of the first or last selected events are shown; UINT64_MAX: all. */
	uint64_t first_count;
	uint64_t last_count;
	/* The session that is followed; null if logs are shown. */
	const char *session;
	/* Several operands were given; hosts have labels. So events are shown with those of their source. */
	bool has_log;
	bool has_host;
	/* Where in the source events were generated; null: nobody asks. */
	struct ptrc_symbols *symbols;
	/* All events are read, and what the logs say of themselves is compared with them. */
	bool is_verifying;
	bool is_loss_allowed;
	/* Each event that is selected has to fit its layout, also if nothing of it is shown. */
	bool is_strict;
	/* Besides --where, the sink asks for the fields gap and bound, and for the first member of .trace. */
	bool needs_gap;
	bool needs_bound;
	bool needs_first;

	struct ptrc_sink sink;
	/* For a sink that takes the last ones: what is selected is only counted; so many of them come
	 * before the first that is shown. */
	bool is_rehearsal;
	uint64_t skip_count;

	struct ptrc_source *sources;
	size_t source_count;
	/* Of several logs, or if somebody asks for the bounds of times. */
	struct ptrc_hosts hosts;
	/* What goes to standard output. */
	struct ptrc_buffer out;
	uint64_t shown_count;
	/* Selected events that were dropped, and so not shown, because too many lines were held
	 * for --around. */
	uint64_t unheld_count;
	/* Events for which the expression of --around was evaluated have been decoded, so those whose data does not fit are
	 * counted. */
	bool has_counted_around;
	/* Data that does not fit its layout, once ptrc_query_finish() has been called. */
	struct ptrc_misfit_types misfits;
	/* Nothing failed and nothing is missing; set by ptrc_query_tell(). */
	bool is_complete;
};

/* Completes a source whose reader has just been opened. The source must not move from then
 * on, as its view points into it. */
void ptrc_source_begin(struct ptrc_source *, struct ptrc_query *, size_t order);

/* Finds out of which hosts the sources are, which have all begun, and how their times are corrected, if
 * that matters. */
void ptrc_query_find_hosts(struct ptrc_query *, bool is_for_log);

void ptrc_source_free(struct ptrc_source *);

/* Makes the sieve of the source, if it can have one, once the expressions know the begin and the end of the
 * trace. */
void ptrc_source_make_sieve(struct ptrc_source *, const struct ptrc_query *);

/* Passes by events of the block that are not selected, or that the sink does not want. */
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

/* The time of the event that the source has read, in nanoseconds since 1970. */
static inline int64_t ptrc_source_ns(const struct ptrc_source *s)
{
	return ptrc_when_ns(&s->reader.event.posix_timestamp);
}

/* With --strict, finds out whether the event that the source has read fits its layout. */
static inline void ptrc_query_check_layout(const struct ptrc_query *q, struct ptrc_source *s)
{
	if (__builtin_expect(q->is_strict, 0) && s->view.layout)
		ptrc_view_decode(&s->view);
}

/* Whether the sink takes no more events. */
static inline bool ptrc_query_is_full(const struct ptrc_query *q)
{
	return q->sink.is_full && q->sink.is_full(q->sink.self);
}

/* Whether the event that the source has read is selected; --around is not looked at. */
bool ptrc_query_is_selected(struct ptrc_query *, struct ptrc_source *);

/* Whether the event that the source has read is one that --around names. */
bool ptrc_query_is_around(struct ptrc_query *, struct ptrc_source *);

/* Gives the sink the event that the source has read. */
static inline void ptrc_query_take(struct ptrc_query *q, struct ptrc_source *s)
{
	ptrc_query_check_layout(q, s);
	q->sink.event(q->sink.self, s);
}

/* Whether events of this type tell where events were lost, or where that ends. */
static inline bool ptrc_query_sees_losses(trace_event_id_t id)
{
	return id == POSIX_TRACE_START || id == POSIX_TRACE_STOP || id == POSIX_TRACE_OVERFLOW ||
	       id == POSIX_TRACE_RESUME || id == POSIX_TRACE_ERROR;
}

/* Whether --first and --last let the next one of what a sink has selected be shown; counts it. */
static inline bool ptrc_query_is_due(struct ptrc_query *q)
{
	if (__builtin_expect(q->skip_count || q->shown_count >= q->first_count, 0)) {
		q->skip_count -= q->skip_count > 0;
		return false;
	}
	q->shown_count++;
	return !q->is_rehearsal;
}

/* Works out which span --since and --until mean, for a trace that begins and ends at these
 * times. */
void ptrc_query_resolve(struct ptrc_query *, const struct ptrc_period *trace);

/* Works out the span, and what is near the events that --around names. Reads the logs as
 * far as this takes, and goes back to their begins. Returns false, after a message, if a
 * log cannot be read again. */
bool ptrc_query_scan(struct ptrc_query *);

/* Gives the sink the events of all logs. Returns whether it read the logs to their ends. */
bool ptrc_query_run(struct ptrc_query *);

/* Selects the part of the logs in which at least so many of the last events are, as far as these tell, and forgets
 * what was counted. Stores whether that is everything. Returns false, after a message, if a log cannot be
 * read. */
bool ptrc_query_select_last(struct ptrc_query *, uint64_t count, bool *is_all);

/* The number of events of which it could not be decided whether they are selected; and the messages about them. */
uint64_t ptrc_query_undecided(const struct ptrc_query *);
void ptrc_query_report_undecided(const struct ptrc_query *);

/* Whether the pattern matches the name of an event type of a source. */
bool ptrc_query_has_match(const struct ptrc_query *, const char *pattern);

/* After ptrc_query_finish(): whether the sources lack nothing, and each event was decided. */
bool ptrc_query_lacks_nothing(const struct ptrc_query *);

/* Returns whether an event may be selected: false if no event type of the sources, which are open, has a
 * name that --event or --around asks for, and none can be missing. */
bool ptrc_query_may_select(const struct ptrc_query *);

/* Whether one of the sources has told a type of this name; offers the others to `nearest`, which may be null. */
bool ptrc_query_has_type(const struct ptrc_query *, const char *name, struct ptrc_nearest *);

/*
 * After ptrc_query_finish(): whether an event of the logs has the field, if it is one that only data that is JSON can
 * have. Reads the logs once more, up to the first one that has it. If none has it, stores which names are near to it,
 * as " (did you mean 'data.id'?)".
 */
bool ptrc_query_has_member(struct ptrc_query *, const struct ptrc_field *, char proposal[200]);

/* Puts the member "logs": the sources, how much of each was read, and what is missing, once that is known. */
void ptrc_query_sources_json(const struct ptrc_query *, struct ptrc_json *);

/* Finds out what is missing, and lets the sink finish. is_read: the sources were read to their ends. Returns
 * false, after a message, if what the logs say of themselves cannot be read. */
bool ptrc_query_finish(struct ptrc_query *, bool is_read);

/* After ptrc_query_finish(): says how much was shown and what is missing, and ends the sink. The status says
 * whether anything failed so far. Returns the exit status. */
enum ptrc_exit ptrc_query_tell(struct ptrc_query *, enum ptrc_exit status, bool is_read);

/* Does both. */
enum ptrc_exit ptrc_query_end(struct ptrc_query *, enum ptrc_exit status, bool is_read);

#endif
