/* SPDX-License-Identifier: MIT */
/*
 * Pairs of events, one that begins something and one that ends it, and how long that took.
 *
 * An end belongs to the latest open begin with the same key. The key is the value of a field: the one that the user
 * names, or the member `key` if both events have it; else it is the thread. If events were lost between the two,
 * the end or another begin may be among them, so the pair is counted as cut and not measured.
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
#include "src/spans/quantiles.h"
#include "src/spans/span.h"

/* The field of --label-by, whose value in the first event tells pairs of one kind apart. */
struct ptrc_label {
	struct ptrc_field field;
	/* Each label has a row of its own. */
	bool has_rows;
	/* A first event has had the field. */
	bool has_any;
};

/* First events without a last one, last events without a first one, and pairs or halves of pairs with a loss where
 * the other event may have been. */
struct ptrc_pair_halves {
	uint64_t begins;
	uint64_t ends;
	uint64_t cut;
};

/* The durations of a pair or, with --per, of a pair and a value of that field. */
struct ptrc_pair_row {
	struct ptrc_table_entry entry;
	size_t pair;
	/* The value of the field of --per, the name of a function, or a label; else of kind NONE. The row owns its
	 * bytes. */
	struct ptrc_value value;
	struct ptrc_quantiles lengths;
	struct ptrc_pair_halves halves;
};

struct ptrc_pair {
	/* X if the event types are X.begin and X.end, else BEGIN..END. */
	char *name;
	char *begin;
	char *end;
	/* The field whose value is the key, and its name; NULL: the thread is the key. */
	struct ptrc_field by;
	char *by_text;
	/* The key by default has been looked for; and `by` is it. */
	bool is_bound;
	bool is_own_key;
	/* If the key is the thread: a field that both events have, or NULL, and whether an end had the value not of the
	 * latest begin of its thread but of an earlier one. */
	struct ptrc_field common;
	char *common_text;
	bool is_crossed;
	/* Events without the field of the key; those among them that lack it because their data was cut. */
	uint64_t without_key;
	uint64_t cut_keys;
	/* Whether any event has had it, and whether there were events of either type. */
	bool has_key;
	bool has_begin;
	bool has_end;
	/* Counts of the halves that a sink of spans has selected. */
	struct ptrc_pair_halves halves;
};

/* The pairs that an event type is part of: the `of_pairs` of the type. */
struct ptrc_pair_roles {
	/* Valid while it equals the generation of the pairs. */
	unsigned int generation;
	size_t count;
	struct ptrc_pair_role {
		size_t pair;
		bool is_end;
	} roles[];
};

/* A log or a session whose events are taken. */
struct ptrc_pair_source {
	/* The number of places with losses so far. */
	uint64_t gap_count;
	/* The latest event began a loss, which reaches to the next one. */
	bool is_at_loss;
};

/* Starts zeroed but for is_by_name, is_within_threads, per and label. */
struct ptrc_pairs {
	struct ptrc_pair *list;
	size_t count;
	/* The first ones are those that the user has given. */
	size_t given_count;
	/* Each X.begin and X.end that appears is a pair, too. */
	bool is_by_name;
	/* Both events of a pair whose key was not given are of one thread: a member `key` does not join threads. */
	bool is_within_threads;
	/* The field of --per, or NULL. */
	const struct ptrc_field *per;
	/* NULL without --label-by. */
	struct ptrc_label *label;
	/* The sink needs no rows: nothing is measured. */
	bool is_without_rows;
	/* A pair of functions has a row for each function that the symbols of the views know. */
	bool has_functions;
	struct ptrc_spans spans;
	/* Grows with each ptrc_pairs_forget(). */
	unsigned int generation;
	/* For each source; NULL: none of its events was taken. */
	struct ptrc_pair_source **sources;
	size_t source_count;
	/* The open begins by pair and key; the rows by pair and value. */
	struct ptrc_table open;
	struct ptrc_table rows;
	/* The losses that concern pairs across sources: grows at each place with losses in any source, and with each
	 * event while another source is at one. */
	uint64_t gap_count;
	/* The number of sources that are at a loss. */
	size_t at_loss_count;
};

/* Frees the members. */
void ptrc_pair_free(struct ptrc_pair *);

/* The member that is the key of a pair if both of its events have it. */
#define PTRC_PAIR_KEY "key"

/* Whether events of the type have that member, according to their layout. */
bool ptrc_pair_has_key(struct ptrc_view *, const struct ptrc_layouts *, trace_event_id_t);

/*
 * Reads the names of the two event types from BEGIN..END, or from X, which stands for X.begin..X.end. Each name may be
 * followed by " where " and an expression; the one after X belongs to X.begin. `allocate` makes the memory of the
 * names. Returns false if a name is empty.
 */
bool ptrc_pair_read_names(const char *text, size_t size, void *(*allocate)(size_t), char *names[2]);

/* Reads a pair as users write it: its names, and perhaps " by FIELD", which is not looked up. Returns false with the
 * reason if the text is something else. */
bool ptrc_pair_read(struct ptrc_pair *, const char *text, struct ptrc_cli_reason *why);

/* Reads a pair, looks up its field and adds it. Returns false with the reason if one of these fails. */
bool ptrc_pairs_add(struct ptrc_pairs *, const char *text, const struct ptrc_layouts *,
		    struct ptrc_cli_reason *why);

/* Whether an event type of this name is part of a pair by its name. */
bool ptrc_pair_has_name(const struct ptrc_reader_name *);

/* Takes the event that the source has read, whose layout has been found. Events of several sources come merged by
 * time: a field connects events of different sources, a thread does not. An event that is not selected cuts pairs if it
 * reports lost events, and makes none. */
void ptrc_pairs_take(struct ptrc_pairs *, struct ptrc_source *);

/* Called after the last event: counts the open begins, and makes rows for given pairs without events. If
 * --first stopped the reading for a sink of spans, the ends of open spans were not read, so these are dropped. */
void ptrc_pairs_end(struct ptrc_pairs *, bool is_read);

/* Whether the query selects a span that is over. The sink itself evaluates expressions for halves. */
bool ptrc_pairs_select(struct ptrc_pairs *, struct ptrc_span *);

/* Counts a span that the sink has selected, if it is a half or cut. */
void ptrc_pairs_count_half(struct ptrc_pairs *, const struct ptrc_span *);

/* Returns the rows by pair and, within a pair, by total with the greatest first. The caller frees the list. */
struct ptrc_pair_row **ptrc_pairs_rows(const struct ptrc_pairs *, size_t *count);

/* Forgets all events and the pairs found by their names, before the events of another log. */
void ptrc_pairs_forget(struct ptrc_pairs *);

/* Puts "NAME: LABEL" for a pair whose first event the view's reader has read. Returns false, and puts nothing, if there
 * are no labels, the event has none, or the pair is a function or a program. */
bool ptrc_pair_put_labelled_name(struct ptrc_buffer *, const struct ptrc_pairs *,
				 const struct ptrc_pair *, struct ptrc_view *);

/* Whether both events are of one thread. */
bool ptrc_pair_is_of_thread(const struct ptrc_pairs *, const struct ptrc_pair *);

/* Whether the pair is a call recorded by ptrace-run --functions. */
bool ptrc_pair_is_function(const struct ptrc_pair *);

/* Whether the pair is a program of a process, recorded by --os=process: from os.exec to the next os.exec or the os.exit
 * of the process. Other os.exit, of threads and of processes that executed nothing, are in no pair. */
bool ptrc_pair_is_program(const struct ptrc_pair *);

/* Puts the name that no other pair has: BEGIN..END or BEGIN..END by FIELD. */
void ptrc_pair_put_whole_name(struct ptrc_buffer *, const struct ptrc_pair *);

#endif
