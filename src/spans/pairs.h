/* SPDX-License-Identifier: MIT */
/*
 * Pairs of events, of which the first begins something and the second ends it, and the time between the two.
 *
 * An end belongs to the latest open begin with the same key. The key is the value of a field, which is the field
 * that the user names, or the member `key` if both events have it. Otherwise the key is the thread. If events were
 * lost between the two events, the true end or another begin may be among the lost ones. So the pair is counted as
 * cut, and not measured.
 */
#ifndef PTRC_SRC_SPANS_PAIRS_H
#define PTRC_SRC_SPANS_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/message.h"
#include "src/base/table.h"
#include "src/fields/layout.h"
#include "src/fields/value.h"
#include "src/query/reader.h"
#include "src/query/view.h"
#include "src/spans/common.h"
#include "src/spans/quantiles.h"
#include "src/spans/span.h"

/* The field of --label-by. Its value in the first event of a pair, the label, distinguishes pairs of one kind. */
struct ptrc_label {
	struct ptrc_field field;
	/* Each value of the label has a row of its own in the report. */
	bool has_rows;
	/* Some first event of a pair had the field. */
	bool has_any;
};

/* Counts of first events without a last one, of last events without a first one, and of cut pairs: lost events may
 * have been the true first or last event of such a pair. */
struct ptrc_pair_halves {
	uint64_t begins;
	uint64_t ends;
	uint64_t cut;
};

/* A row of the report: the durations of all spans of a pair, or of those with the same .value. */
struct ptrc_pair_row {
	struct ptrc_table_entry entry;
	size_t pair;
	/* The value of the field of --per, the name of a function, or a label; otherwise a value of kind NONE.
	 * The row owns its bytes. */
	struct ptrc_value value;
	struct ptrc_quantiles lengths;
	struct ptrc_pair_halves halves;
	/* A pair whose last event has not come yet belongs to this row. Only valid within
	 * ptrc_pairs_begin_rows(). */
	bool has_open;
};

struct ptrc_pair {
	/* The name: X if the event types are X.begin and X.end, else BEGIN..END. */
	char *name;
	char *begin;
	char *end;
	/* The field whose value is the key, and the field's name; by_text is NULL if the thread is the key. */
	struct ptrc_field by;
	char *by_text;
	/* bind() in pairs.c, which chooses the key if the user has named none, was called. */
	bool is_bound;
	/* `by` is the default key, the member `key` of the data. */
	bool is_own_key;
	/* If the key is the thread: the field that both events have. */
	struct ptrc_common common;
	/* Some end was assigned to the latest begin of its thread, although an earlier open begin, and not the
	 * latest one, has the end's value of the common field. */
	bool is_crossed;
	/* Some end has no begin on its own thread, but another thread has an open one with the same value of the common
	 * field; and for how many ends this was looked up. */
	bool is_across_threads;
	unsigned int look_count;
	/* The number of events without the field that is the key; and how many of them lack it because their data
	 * was cut. */
	uint64_t without_key;
	uint64_t cut_keys;
	/* The number (ptrc_pairs.event_count) of the event that was counted last in .without_key. */
	uint64_t keyless_event;
	/* Some event had the key. */
	bool has_key;
	/* There was an event of the type `begin` (has_begin); there was one of the type `end` (has_end). */
	bool has_begin;
	bool has_end;
	/* The counts of halves among the spans that the sink has selected. */
	struct ptrc_pair_halves halves;
	/* The row without a value, or NULL until it is needed. */
	struct ptrc_pair_row *plain_row;
};

/* The pairs to which an event type belongs (the member .of_pairs of struct ptrc_type). */
struct ptrc_pair_roles {
	/* The value of .generation of struct ptrc_pairs when this structure was made. Once that value has changed,
	 * the structure is out of date and is made anew. */
	unsigned int generation;
	size_t count;
	struct ptrc_pair_role {
		size_t pair;
		bool is_end;
	} roles[];
};

/* A source (a log or a session) whose events are taken. */
struct ptrc_pair_source {
	/* The number of places where events of the source were lost so far. */
	uint64_t gap_count;
	/* Events were lost after the latest event of the source; the loss lasts until its next event. Or the source is
	 * stopped and will be started again, which is known only if several logs are read. */
	bool is_at_loss;
	struct ptrc_reader_stop stop;
};

/* Starts zeroed, except for is_by_name, is_without_os, per, label, is_live, is_without_rows and has_functions. */
struct ptrc_pairs {
	struct ptrc_pair *list;
	size_t count;
	/* The number of pairs that the user has given; they are the first in the list. */
	size_t given_count;
	/* Any two event types X.begin and X.end that appear become a pair, too. */
	bool is_by_name;
	/* With is_by_name: event types of the operating system become no pairs. */
	bool is_without_os;
	/* The field of --per, or NULL. */
	const struct ptrc_field *per;
	/* The label of --label-by, or NULL. */
	struct ptrc_label *label;
	/* The rows are shown, and then emptied by ptrc_pairs_begin_rows(), several times while events are read. */
	bool is_live;
	/* The sink needs no rows, so no durations are collected. */
	bool is_without_rows;
	/* The pair of function calls has a row for each function whose name the debug information has. */
	bool has_functions;
	struct ptrc_spans spans;
	/* The number of calls of ptrc_pairs_forget(). */
	unsigned int generation;
	/* One for each source; NULL if no event of the source was taken. */
	struct ptrc_pair_source **sources;
	size_t source_count;
	/* The numbers of events and of begins so far. */
	uint64_t event_count;
	uint64_t begin_count;
	/* The open begins, by pair and key. */
	struct ptrc_table open;
	/* The rows of the report, by pair and value. */
	struct ptrc_table rows;
	/* The counter of losses that may have cut pairs whose events are of different sources. It is increased at
	 * each place with losses in any source, and with each event while another source is within a loss. */
	uint64_t gap_count;
	/* The number of sources that are within a loss (is_at_loss). */
	size_t at_loss_count;
};

void ptrc_pair_free(struct ptrc_pair *);

/* Counts a span that has ended, if it is a half or is cut. */
void ptrc_pair_halves_count(struct ptrc_pair_halves *, enum ptrc_span_fate);

/* Whether events of the type may have the member PTRC_PAIR_KEY, according to their layout. */
bool ptrc_pair_may_have_key(struct ptrc_view *, const struct ptrc_layouts *, trace_event_id_t);

/* Whether the view's event, whose type may have the member PTRC_PAIR_KEY (`key`), has it: JSON may lack it. */
bool ptrc_pair_has_key(struct ptrc_view *, const struct ptrc_field *key);

/* Reads the names of the two event types of a pair from BEGIN..END, or from X, which stands for X.begin..X.end.
 * Each name may be followed by " where " and an expression, which stays part of the name; an expression after X
 * becomes a part of X.begin. The caller frees the names. Returns false if a name is empty. */
bool ptrc_pair_read_names(const char *text, size_t size, char *names[2]);

/* Reads a pair as users write it: its names, perhaps followed by " by FIELD". Does not look up the field. Returns
 * false if the text is something else, and stores the reason. */
bool ptrc_pair_read(struct ptrc_pair *, const char *text, struct ptrc_cli_reason *why);

/* Reads a pair, looks up its field and adds the pair. Returns false if one of these fails, and stores the reason. */
bool ptrc_pairs_add(struct ptrc_pairs *, const char *text, const struct ptrc_layouts *,
		    struct ptrc_cli_reason *why);

/* Adds the pair of two event types, unless it exists. ptrc_pairs_forget() removes it. */
void ptrc_pairs_add_types(struct ptrc_pairs *, const char *begin, const char *end);

/* Whether the name makes an event type part of a pair: it ends with .begin or .end, or is os.exec or os.exit. */
bool ptrc_pair_has_name(const struct ptrc_reader_name *);

/* Whether the latest event of the source, which ptrc_pairs_take() has not taken yet, is a START after a time without
 * recording. */
bool ptrc_pairs_is_restart(const struct ptrc_pairs *, const struct ptrc_source *);

/* Takes the latest event of the source, whose layout has been found. The events of several sources must come merged
 * by time, because two events from different sources make a pair if their key is a field (not if it is the thread).
 * An event that is not selected makes no pair, but cuts pairs if it reports lost events. */
void ptrc_pairs_take(struct ptrc_pairs *, struct ptrc_source *);

/* Called after the last event: counts the open begins, in their order, and makes rows for pairs that the user gave
 * and that had no events. If the sink takes spans and --first stopped the reading (is_read is false), the ends of open
 * spans were not read, so these spans are dropped, not counted. */
void ptrc_pairs_end(struct ptrc_pairs *, bool is_read);

/* Returns whether the query selects this span, which has ended. If one of its two events is missing (it is a
 * half), the expressions of --where are not evaluated; the sink decides what they mean for a half. */
bool ptrc_pairs_select(struct ptrc_pairs *, struct ptrc_span *);

/* Called for a span that the sink has selected: counts it in .halves of its pair if it is a half or is cut. */
void ptrc_pairs_count_half(struct ptrc_pairs *, const struct ptrc_span *);

/* Drops the open pairs for which is_dropped() is true; all of them if it is NULL. Their last events, if they come,
 * belong to no pair. */
void ptrc_pairs_drop(struct ptrc_pairs *, bool (*is_dropped)(const struct ptrc_span *));

/* Begins a new period of the report: empties the rows, so that they get only the pairs that end
 * from now on. Open begins stay open. With --per, removes rows that got no pair in the last period
 * and have no open begin. */
void ptrc_pairs_begin_rows(struct ptrc_pairs *);

/* Returns the rows, sorted by pair and, for each pair, by total duration, the greatest first. The caller frees
 * the list. */
struct ptrc_pair_row **ptrc_pairs_rows(const struct ptrc_pairs *, size_t *count);

/* Forgets all events, and the pairs that were made by the names of event types, before the events of another log
 * come. */
void ptrc_pairs_forget(struct ptrc_pairs *);

/* Appends "NAME: LABEL" for a pair whose first event the view's reader has read. Returns false, and appends
 * nothing, if labels were not asked for, if the event has none, or if the pair is a function call or a program. */
bool ptrc_pair_put_labelled_name(struct ptrc_buffer *, const struct ptrc_pairs *,
				 const struct ptrc_pair *, struct ptrc_view *);

/* Whether later events may show that it was wrong to form the pairs by thread (.is_crossed, .is_across_threads). */
bool ptrc_pair_may_be_wrong(const struct ptrc_pair *);

/* Whether the pair is a function call that ptrace-run --functions recorded. */
bool ptrc_pair_is_function(const struct ptrc_pair *);

/* Whether the pair is a program that a process executed, as --os=process records it: from an os.exec to the next
 * os.exec of the process, or to the os.exit of the process. Other events os.exit, of threads and of processes
 * that executed nothing, are in no pair. */
bool ptrc_pair_is_program(const struct ptrc_pair *);

/* Appends a name that no other pair has: BEGIN..END or BEGIN..END by FIELD. */
void ptrc_pair_put_whole_name(struct ptrc_buffer *, const struct ptrc_pair *);

#endif
