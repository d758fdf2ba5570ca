/* SPDX-License-Identifier: MIT */
/*
 * Reads the events of logs, merged by time, or of a session, selects some of them, and gives these to a sink. The
 * sink makes lines of text, a log, pairs, an export, a report or a verdict from them.
 *
 * A command opens the sources (src/summary/selection.h) and sets .sink. Then ptrc_query_scan() reads what must be
 * known before the first event, ptrc_query_run() gives all events to the sink, and ptrc_query_end() reports what is
 * missing.
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

/* A source of events: a log, or the session that is followed. */
struct ptrc_source {
	/* The name that the user gave. */
	const char *operand;
	struct ptrc_reader reader;
	struct ptrc_view view;
	/* The filter of events that are not decoded yet (sieve.h), or NULL. It is freed by one
	 * free(). */
	struct ptrc_sieve *sieve;
	/* The losses of the source, and the number of events that were read. ptrc_query_finish() sets both. */
	struct ptrc_losses losses;
	uint64_t read_count;
	/* The search for messages of --clock-sync or for events of --around has met damage in the log. */
	bool is_damaged;
	/* The position on the command line. If events of several sources have the same time, that of the first
	 * source comes first. */
	size_t order;
	/* All events of this log were read, and the log was not closed. The end of the log, as if it were an event,
	 * now waits for its turn among the events of the other sources. */
	bool is_over;
	/* If several logs are read: the restarts that will be read; none if that is unknown. */
	struct ptrc_reader_restarts restarts;
	/* Points to .known of the query. */
	const struct ptrc_period *known;
	/* The latest event is not selected. The sink gets it only because it may report lost events, or end a loss. */
	bool is_for_loss;
	/* The sink .takes_losses, and events were lost after the latest event that was read. */
	bool is_at_loss;
};

/* What receives the events. Each function gets the sink's own state as `self`. All functions but .event may be
 * NULL. */
struct ptrc_sink {
	void *self;
	/* Takes the latest event of the source. Adds the events that it shows to the query's shown_count. */
	void (*event)(void *self, struct ptrc_source *);
	/* Returns the index of the first event of the block, from index `at` on, that the sink wants; or the number of
	 * events of the block if it wants none. */
	size_t (*skip)(void *self, struct ptrc_source *, const struct posixtrace_block *,
		       size_t at);
	/* .begin takes a new span, the time between two events (src/spans/span.h). The latest event of the source
	 * is the first event of the span. .span takes a span that has ended. */
	void (*begin)(void *self, struct ptrc_span *);
	void (*span)(void *self, struct ptrc_span *);
	/* Called at the end of a log that was not closed, or that says that processes went on. The end comes in the
	 * order of events, at the time of the log's last event, which is then the time of the reader's latest event.
	 * Not called if no other source has events left. */
	void (*early_end)(void *self, struct ptrc_source *);
	/* Whether the sink needs no more events. */
	bool (*is_full)(const void *self);
	/* Called after the last event, when the losses of the sources are known. is_read: the sources were read to
	 * their ends. */
	void (*finish)(void *self, bool is_read);
	/* Needed for --last, which reads all events twice because it has to know their number. Called after the
	 * first pass: adds to shown_count the number of items that the sink would show only after the last event,
	 * and forgets all events. */
	void (*restart)(void *self);
	/* Prints the sink's messages. Returns false if something that the user asked for does not exist. */
	bool (*tell)(void *self);
	/* Puts the sink's own members into the JSON object of --summary. */
	void (*summarize)(void *self, struct ptrc_json *);
	/* Ends the sink, after all messages. Returns false, after a message, on failure. */
	bool (*end)(void *self);
	/* The sink gets all events, selected or not, and selects by itself. */
	bool takes_all;
	/* The sink also gets all events that report losses, and the event after each loss, selected or not, whatever
	 * their times. With --around it gets those near the matching events only. */
	bool takes_losses;
	/* The sink needs the member .trace of struct ptrc_query. */
	bool needs_trace;
	/* The noun for what --summary counts, such as "pair"; NULL: "event". */
	const char *noun;
	/* The fields of --fields. If one of these is a member of JSON data and no event has it, a message says so. */
	const struct ptrc_field *fields;
	size_t field_count;
};

struct ptrc_query {
	struct ptrc_select select;
	/* The layouts of event types. The first given_layout_count of them come from --decode. */
	struct ptrc_layouts layouts;
	size_t given_layout_count;
	struct ptrc_when since;
	struct ptrc_when until;
	/* The period from the first event of the sources to the last, selected or not. ptrc_query_scan() finds
	 * only the ends that the sink or a relative time in an option needs. */
	struct ptrc_period trace;
	/* If several logs are read: outside of this time, events of some source are unknown, because first files of a
	 * log are missing, a log was not closed, or processes went on after its end. */
	struct ptrc_period known;
	/* For --around: how long before and after a matching event the events are shown. */
	int64_t before_ns;
	int64_t after_ns;
	/* The greatest number of selected events that are shown: of --first and of --last. UINT64_MAX: all. */
	uint64_t first_count;
	uint64_t last_count;
	/* The session that is followed; NULL if logs are shown. */
	const char *session;
	/* There are several operands, so each event is shown with its log. */
	bool has_log;
	/* The hosts have labels, so each event is shown with the label of its host. */
	bool has_host;
	/* For finding places in the source code; NULL if no field needs them. */
	struct ptrc_symbols *symbols;
	/* All events are read and compared with what the logs say about them (--verify). */
	bool is_verifying;
	bool is_loss_allowed;
	/* The data of each selected event is compared with its layout, even if the data is not
	 * shown (--strict). */
	bool is_strict;
	/* The sink itself needs the field `gap`, the field `bound`, and the first time of .trace,
	 * even if no expression and no option needs them. */
	bool needs_gap;
	bool needs_bound;
	bool needs_first;

	struct ptrc_sink sink;
	/* Used only if the sink has .restart and --last was given. is_rehearsal: this is the first pass, which
	 * only counts. skip_count: the number of selected events before the first one that is shown. */
	bool is_rehearsal;
	uint64_t skip_count;

	struct ptrc_source *sources;
	size_t source_count;
	/* The hosts of the sources, for the correction of times. Empty for a single log, unless the field
	 * `bound` is needed, which says how wrong a time may be. */
	struct ptrc_hosts hosts;
	/* The buffer for standard output. */
	struct ptrc_buffer out;
	uint64_t shown_count;
	/* Lines of selected events wait in memory for a later event that matches --around. This is the number of
	 * lines that were dropped unshown because this memory is limited. */
	uint64_t unheld_count;
	/* The expression of --around was evaluated for all events that match its pattern. So those of these events
	 * that do not fit their layouts are counted already. */
	bool has_counted_around;
	/* The events that do not fit their layouts; set by ptrc_query_finish(). */
	struct ptrc_misfit_types misfits;
	/* Nothing failed and nothing is missing; set by ptrc_query_tell(). */
	bool is_complete;
};

/* Completes a source whose reader has just been opened. The source must not move in memory afterwards, because
 * its view points into it. */
void ptrc_source_begin(struct ptrc_source *, struct ptrc_query *, size_t order);

/* If there are several sources, or the field `bound` is needed, finds the hosts of the sources and the corrections of
 * their times. Otherwise does nothing. is_for_log: the events become a new log. */
void ptrc_query_find_hosts(struct ptrc_query *, bool is_for_log);

void ptrc_source_free(struct ptrc_source *);

/* Makes the sieve of the source (a filter of events that are not decoded yet, sieve.h), if the expressions of
 * --where allow one. Called after ptrc_query_resolve(), which sets the times in the expressions. */
void ptrc_source_make_sieve(struct ptrc_source *, const struct ptrc_query *);

/* Skips the next events of the block, up to one that may be selected or that the sink wants. */
static inline void ptrc_source_skip(struct ptrc_source *s, const struct ptrc_sink *sink,
				    struct ptrc_reader_block *b)
{
	size_t at;

	if ((!s->sieve && !sink->skip) || !b->events || s->is_at_loss)
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

/* For --strict: decodes the latest event, so that it is counted if it does not fit its layout. */
static inline void ptrc_query_check_layout(const struct ptrc_query *q, struct ptrc_source *s)
{
	if (__builtin_expect(q->is_strict, 0) && s->view.layout)
		ptrc_view_decode(&s->view);
}

static inline bool ptrc_query_is_full(const struct ptrc_query *q)
{
	return q->sink.is_full && q->sink.is_full(q->sink.self);
}

/* Whether the latest event of the source meets all conditions of the selection, or the sink takes it anyway
 * (.takes_all, .takes_losses). The condition of --around is left to the caller. */
bool ptrc_query_is_selected(struct ptrc_query *, struct ptrc_source *);

/* Whether the latest event of the source matches the pattern and the expression of --around. */
bool ptrc_query_is_around(struct ptrc_query *, struct ptrc_source *);

static inline void ptrc_query_take(struct ptrc_query *q, struct ptrc_source *s)
{
	ptrc_query_check_layout(q, s);
	q->sink.event(q->sink.self, s);
}

/* Called for each event or pair that the sink has selected. Returns whether it is shown, as --first and --last decide.
 * If so, counts it in shown_count; the first pass of --last counts it but does not show it. */
static inline bool ptrc_query_is_due(struct ptrc_query *q)
{
	if (__builtin_expect(q->skip_count || q->shown_count >= q->first_count, 0)) {
		q->skip_count -= q->skip_count > 0;
		return false;
	}
	q->shown_count++;
	return !q->is_rehearsal;
}

/* Calculates the times in options that are relative to the start or the end of the trace. */
void ptrc_query_resolve(struct ptrc_query *, const struct ptrc_period *trace);

/* Determines which times are selected, including those near the events of --around. Reads as much of the logs as
 * is necessary for this, and goes back to their starts. Returns false, after a message, if a log cannot be read
 * again. */
bool ptrc_query_scan(struct ptrc_query *);

/* Stores the period from the first to the last event of the source that is of one of these types, whichever events are
 * selected; ptrc_period_none if there is no such event. Goes back to the start of the log. Returns an error number, or
 * 0. */
int ptrc_query_find_period(struct ptrc_source *, const trace_event_set_t *types,
			   struct ptrc_period *);

/* Gives the sink the events of all logs. Returns whether it read the logs to their ends. */
bool ptrc_query_run(struct ptrc_query *);

/* Resets all counts, and selects the end of each log: as its index says, at least `count` events, and few more. A log
 * with fewer events is selected as a whole. *from_ns becomes the time from which all logs are selected; INT64_MIN if they
 * are selected as a whole. Returns false, after a message, if a log cannot be read. */
bool ptrc_query_select_last(struct ptrc_query *, uint64_t count, int64_t *from_ns);

/* ptrc_query_undecided() returns the number of events for which matching a pattern of an expression
 * would have taken too long; ptrc_query_report_undecided() prints messages about them. */
uint64_t ptrc_query_undecided(const struct ptrc_query *);
void ptrc_query_report_undecided(const struct ptrc_query *);

/* Whether a source has an event type whose name the pattern matches. */
bool ptrc_query_has_match(const struct ptrc_query *, const char *pattern);
/* After ptrc_layouts_leave_out(): takes in the layouts of these event types. */
void ptrc_query_take_layouts(struct ptrc_query *, const char *pattern);

/* Called after ptrc_query_finish(): whether no event is missing, and each event could be decided. */
bool ptrc_query_lacks_nothing(const struct ptrc_query *);

/* Returns false if no event can be selected, because no event type matches the patterns of --event or of
 * --around, and the sources have the names of all their types. */
bool ptrc_query_may_select(const struct ptrc_query *);

/* Whether a source has an event type of this name. Offers other names to `nearest`, which collects similar ones
 * and may be NULL. */
bool ptrc_query_has_type(const struct ptrc_query *, const char *name, struct ptrc_nearest *);

/* After ptrc_query_finish(): if the field is a member of JSON data and no event of the logs has it, returns a message
 * that says so, with similar names, which the caller frees. Otherwise returns NULL. If `events` is not NULL, and the
 * field not one of a pair's first event, also takes the members of layouts, and only the events, of which there must
 * be some, whose names match this pattern. Reads the logs again, up to the first event that has the field. */
char *ptrc_query_missing_member(struct ptrc_query *, const struct ptrc_field *, const char *events);

/* If the expression can hold for no event whose name matches the pattern `events`, adds to `vain` a message for each
 * name or pattern with which it compares the field `event` and which none of these names matches. The messages propose
 * similar names. */
void ptrc_query_find_vain_names(const struct ptrc_query *, struct ptrc_where *, const char *events,
				struct ptrc_cli_texts *vain);

/* An event type, a process, a thread or a member of JSON data that the user named and sources lack. */
struct ptrc_missing_name {
	char *option;
	char *text;
	/* The number of the last source that lacks it, and how many lack it. */
	size_t source, source_count;
};

struct ptrc_missing {
	struct ptrc_missing_name *list;
	size_t count;
	/* The number of the source that is looked at. */
	size_t source;
};

/* After ptrc_query_finish(): notes what the sources of the query, which count as one, lack. Reads the logs again, as
 * far as is needed. */
void ptrc_query_find_missing(struct ptrc_query *, struct ptrc_missing *);

/* Notes that a source lacks something, which the message `text` says; the list then owns it. Two messages are about the
 * same if they differ in the similar names that they propose. */
void ptrc_missing_note(struct ptrc_missing *, const char *option, char *text);

/* Whether at least source_count sources lack something of this option. */
bool ptrc_missing_has(const struct ptrc_missing *, const char *option, size_t source_count);

/* Prints the messages of what at least source_count sources lack, and empties the list. Returns whether it printed
 * one. */
bool ptrc_missing_report(struct ptrc_missing *, size_t source_count);

/* Puts the JSON member "logs": the sources, the number of events read, and the losses. */
void ptrc_query_sources_json(const struct ptrc_query *, struct ptrc_json *);

/* Determines what is missing, and lets the sink finish. is_read: the sources were read to their ends. Returns false,
 * after a message, if --verify cannot read a log. */
bool ptrc_query_finish(struct ptrc_query *, bool is_read);

/* After ptrc_query_finish(): reports what is missing, and ends the sink. `status` is the exit status so far.
 * Returns the final exit status. */
enum ptrc_exit ptrc_query_tell(struct ptrc_query *, enum ptrc_exit status, bool is_read);

/* Calls ptrc_query_finish() and ptrc_query_tell(). */
enum ptrc_exit ptrc_query_end(struct ptrc_query *, enum ptrc_exit status, bool is_read);

#endif
