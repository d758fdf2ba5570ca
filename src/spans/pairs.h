/* SPDX-License-Identifier: MIT */
/*
 * Pairs of events: one that begins something, and one that ends it. Measures how long it took, as
 * the events of a log or a session are read in their order.
 *
 * An end belongs to the latest begin that has none yet and has the same key: the value of a field, by
 * default of the member `key` where both events have it, or else the thread. What lies on both sides of a place where events were lost is counted as cut and
 * not measured, as its end or another begin may be among them.
 */
#ifndef PTRC_SRC_SPANS_PAIRS_H
#define PTRC_SRC_SPANS_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/message.h"
#include "src/spans/label.h"
#include "src/spans/quantiles.h"
#include "src/spans/span.h"
#include "src/base/table.h"
#include "src/fields/layout.h"
#include "src/query/reader.h"
#include "src/fields/value.h"
#include "src/query/view.h"

/* Begins without an end, ends without a begin, and both or one of them with a loss where the other one may have
 * been. */
struct ptrc_pair_halves {
	uint64_t begins;
	uint64_t ends;
	uint64_t cut;
};

/* What was measured of a pair, or, with --per, of a pair and a value of that field. */
struct ptrc_pair_row {
	struct ptrc_table_entry entry;
	size_t pair;
	/* Of kind NONE without --per, and for events that have no such field; of a function its name. The
	 * row owns its bytes. */
	struct ptrc_value value;
	struct ptrc_quantiles lengths;
	struct ptrc_pair_halves halves;
};

struct ptrc_pair {
	/* What people call it: X if its types are X.begin and X.end, else BEGIN..END; the names of the two event types. */
	char *name;
	char *begin;
	char *end;
	/* The field whose value is the key, and its name; null: the thread is the key. */
	struct ptrc_field by;
	char *by_text;
	/* Whether the key has been looked for, and is one that the events have, not one that was given. */
	bool is_bound;
	bool is_own_key;
	/* For a pair by thread: a field that both events have, or NULL, and whether an end has shown that it
	 * belongs, by this field, to another begin than the latest one of its thread. */
	struct ptrc_field common;
	char *common_text;
	bool is_crossed;
	/* Events that do not have that field; those among them that do not have it, or not all of it,
	 * because their data was cut. */
	uint64_t without_key;
	uint64_t cut_keys;
	/* Whether any event has had it. */
	bool has_key;
	/* Whether there were events of either type. */
	bool has_begin;
	bool has_end;
	/* Those that a sink of spans has selected. */
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
	/* Grows at each place with losses. */
	uint64_t gap_count;
	/* The event before began a loss, which reaches to the next one. */
	bool is_at_loss;
};

/* Starts zeroed but for is_by_name, per and label. */
struct ptrc_pairs {
	struct ptrc_pair *list;
	size_t count;
	/* The first ones are those that the user has given. */
	size_t given_count;
	/* All types X.begin and X.end are pairs, too, as they appear. */
	bool is_by_name;
	/* The field of --per, or null. */
	const struct ptrc_field *per;
	/* That of --label-by, or null. */
	struct ptrc_label *label;
	/* The sink needs no rows: nothing is measured. */
	bool is_without_rows;
	/* A pair of functions has a row for each function that symbols, which the views then have, tell. */
	bool has_functions;
	struct ptrc_spans spans;
	/* Grows with each ptrc_pairs_forget(). */
	unsigned int generation;
	/* By their order; null: no event of it was taken. */
	struct ptrc_pair_source **sources;
	size_t source_count;
	/* The begins that wait for their ends, by pair and key; the rows, by pair and value. */
	struct ptrc_table open;
	struct ptrc_table rows;
	/* Grows at each place with losses, in any of the sources, and with each event while another source
	 * is at one. */
	uint64_t gap_count;
	/* How many sources are at a loss. */
	size_t at_loss_count;
};

/* Frees what a pair holds. */
void ptrc_pair_free(struct ptrc_pair *);

/* The member that is the key of a pair where both of its events have it. */
#define PTRC_PAIR_KEY "key"

/* Whether events of the type have that member, as their layout says. */
bool ptrc_pair_has_key(struct ptrc_view *, const struct ptrc_layouts *, trace_event_id_t);

/*
 * Finds the names of the two events of a pair as the user writes it: BEGIN..END, or X for X.begin..X.end. An
 * expression may follow a name after " where "; that of X belongs to X.begin. `allocate` makes the memory of the names.
 * Returns false if a name is empty.
 */
bool ptrc_pair_read_names(const char *text, size_t size, void *(*allocate)(size_t), char *names[2]);

/* Reads a pair as the user writes it: its names, and perhaps by FIELD, which is not looked for. Returns false with
 * the reason if the text is something else. */
bool ptrc_pair_read(struct ptrc_pair *, const char *text, struct ptrc_cli_reason *why);

/* Adds such a pair. Returns false with the reason if the text is something else or there is no such field. */
bool ptrc_pairs_add(struct ptrc_pairs *, const char *text, const struct ptrc_layouts *,
		    struct ptrc_cli_reason *why);

/* Whether events of this name are of a pair by their names. */
bool ptrc_pair_has_name(const struct ptrc_reader_name *);

/* Takes the event that the source has read; its layout has been found. Those of several
 * sources come merged by their times: a field connects events of different sources, a thread does
 * not, as it is in each log anew. */
void ptrc_pairs_take(struct ptrc_pairs *, struct ptrc_source *);

/* Counts the begins that have no end, and makes rows for pairs that were given and have no events.
 * Is called after the last event. If --first has stopped the reading for a sink of spans, the events that end
 * open spans were not read, and these spans are dropped. */
void ptrc_pairs_end(struct ptrc_pairs *, bool is_read);

/* Whether the query selects a span that is over; that halves meet expressions is for the sink to see. */
bool ptrc_pairs_select(struct ptrc_pairs *, struct ptrc_span *);

/* Counts a span that the sink has selected, if it is none that was measured. */
void ptrc_pairs_count_half(struct ptrc_pairs *, const struct ptrc_span *);

/* The rows, in the order of the pairs and, within one, with the greatest total first. The caller
 * frees the list. */
struct ptrc_pair_row **ptrc_pairs_rows(const struct ptrc_pairs *, size_t *count);

/* Forgets the events, and the pairs that were found by their names, so that those of another log can
 * be taken. */
void ptrc_pairs_forget(struct ptrc_pairs *);

static inline void ptrc_pair_put_name(struct ptrc_buffer *b, const struct ptrc_pair *pair)
{
	ptrc_buffer_text(b, pair->name);
}

/* Puts "NAME: VALUE" with the label of the pair, whose begin the view's reader has read. Returns false, and puts
 * nothing, if there are no labels, the event has none, or the pair is a function or a program. */
bool ptrc_pair_put_labelled_name(struct ptrc_buffer *, const struct ptrc_pairs *,
				 const struct ptrc_pair *, struct ptrc_view *);

/* Whether it is what ptrace-run --functions records. */
bool ptrc_pair_is_function(const struct ptrc_pair *);

/* Whether it is a program of a process, as --os=process records it: from os.exec to the next one of the
 * process or to its os.exit. It is found as pairs by their names are. Ends that other threads have, and
 * processes that execute nothing, are in no pair. */
bool ptrc_pair_is_program(const struct ptrc_pair *);

/* The name that no other pair has: BEGIN..END by FIELD, or BEGIN..END. */
void ptrc_pair_put_whole_name(struct ptrc_buffer *, const struct ptrc_pair *);

#endif
