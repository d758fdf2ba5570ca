/* SPDX-License-Identifier: MIT */
/*
 * The data of a report: the lanes of threads, the classes of events and pairs with statistics of all their records,
 * and as many single records as there is room for. A class with more of them keeps its longest pairs, or each 2nd,
 * 4th, 8th event. The dropped records are counted by lane and time.
 */
#ifndef PTRC_SRC_REPORT_COLLECT_H
#define PTRC_SRC_REPORT_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/spans/flames.h"
#include "src/spans/pairs.h"
#include "src/spans/quantiles.h"
#include "src/base/table.h"
#include "src/query/query.h"

enum {
	/* The stretches of time in which a lane counts dropped records. */
	PTRC_REPORT_BUCKETS = 1024,
	/* The longest pairs that text shows. */
	PTRC_REPORT_LONGEST = 10,
};

/* A copy of an event. */
struct ptrc_report_event {
	struct posix_trace_event_info info;
	struct ptrc_source *source;
	size_t lane;
	uint32_t size;
	unsigned char data[];
};

enum ptrc_report_kind {
	PTRC_REPORT_EVENTS,
	PTRC_REPORT_PAIRS,
	/* Times in which a thread ran, from os.switch_in to os.switch_out. */
	PTRC_REPORT_RUNS,
};

/* An event or a pair. A pair that reaches beyond the selected time is cut there, and lacks the event outside of it. */
struct ptrc_report_record {
	/* Nanoseconds since 1970. */
	int64_t ns;
	uint64_t duration_ns;
	/* NULL: the event is outside the selected time. Only pairs and runs have an end; a run that has not ended has
	 * none. */
	struct ptrc_report_event *begin;
	struct ptrc_report_event *end;
	uint32_t lane;
	uint32_t class;
	/* enum ptrc_span_fate of a pair, or of an event that should be part of one. */
	unsigned char fate;
	/* The row within its lane: pairs that overlap are in different ones. */
	unsigned char row;
};

struct ptrc_report_class {
	enum ptrc_report_kind kind;
	char *name;
	size_t name_size;
	/* For events, their layout or NULL. */
	const struct ptrc_layout *layout;
	/* For pairs, the index of the pair. */
	size_t pair;
	uint64_t count;
	uint64_t no_begin_count;
	uint64_t no_end_count;
	uint64_t cut_count;
	/* Pairs that start before the selected time, or end after it. */
	uint64_t before_count;
	uint64_t behind_count;
	/* The durations of pairs, or the times between two events. */
	struct ptrc_quantiles lengths;
	/* The start of the longest one. */
	int64_t longest_ns;
	/* The time of the latest event, and the number of losses of all sources until then. */
	int64_t last_ns;
	uint64_t gap_count;

	/* The records that are kept, and the bytes of their events. */
	struct ptrc_report_record *records;
	size_t record_count;
	uint64_t record_bytes;
	/* One of (mask + 1) events is kept, or the pairs that took at least least_ns. */
	uint64_t mask;
	uint64_t least_ns;
	uint64_t seen_count;
	uint64_t dropped_count;
};

struct ptrc_report_lane {
	struct ptrc_lane lane;
	uint64_t count;
	int64_t first_ns, last_ns;
	/* The longest time between two events without a loss in between. */
	uint64_t gap_ns;
	int64_t gap_begin_ns;
	/* The number of losses of its source until the latest event. */
	uint64_t gap_count;
	/* If the thread is running, its last os.switch_in. */
	struct ptrc_report_event *running;
	/* There was a switch, or a loss that may have hidden one. */
	bool has_switched;
	/* The dropped records by time: PTRC_REPORT_BUCKETS counts, or NULL if there are none. */
	uint32_t *dropped;
};

struct ptrc_report_loss {
	struct ptrc_source *source;
	int64_t first_ns, last_ns;
	bool is_damage;
};

struct ptrc_report_longest {
	/* The index of its class. */
	size_t class;
	/* enum ptrc_span_fate. If an event is missing, the pair took at least duration_ns. */
	unsigned char fate;
	uint64_t duration_ns;
	/* Its first event, or the last one if that is missing. */
	struct posix_trace_event_info info;
	struct ptrc_source *source;
	/* The start of the part within the selected time. */
	int64_t begin_ns;
};

struct ptrc_report {
	struct ptrc_query *query;
	struct ptrc_pairs *pairs;
	/* No records are needed: text shows only statistics and the longest pairs. */
	bool is_text;
	/* Limits for records, for the bytes of their events, and for lanes. */
	size_t records_max;
	uint64_t bytes_max;
	size_t lanes_max;

	struct ptrc_report_class *classes;
	size_t class_count;
	/* For each pair, and for runs: 1 + the index of the class; 0: there is none yet. */
	size_t *class_of_pair;
	size_t class_of_pair_count;
	size_t class_of_runs;
	/* The classes of pairs that have a name of their own (programs, functions, labels), by pair and name. */
	struct ptrc_table functions;
	/* The classes of functions without symbols, by source, process and address; whether there are any. */
	struct ptrc_table places;
	bool has_nameless;

	struct ptrc_lanes *lanes;

	struct ptrc_report_loss *losses;
	size_t loss_count;
	uint64_t loss_merged_count;
	/* For each source: 1 + the index of the loss that has not ended, or 0; and the number of losses so far, which
	 * is also counted for all sources together. */
	size_t *open_loss;
	uint64_t *gap_counts;
	uint64_t all_gap_count;

	uint64_t event_count;
	bool has_time;
	int64_t first_ns, last_ns;
	size_t record_count;
	uint64_t record_bytes;
	uint64_t dropped_count;
	/* Element i of a lane's .dropped counts the 2^shift nanoseconds from first_ns + i * 2^shift on. */
	unsigned int shift;
	struct ptrc_report_longest longest[PTRC_REPORT_LONGEST];
	size_t longest_count;
	/* For text: the stacks of samples. */
	struct ptrc_flames flames;
	uint64_t sample_count;

	/* The event that is taken: whether it is part of a pair, its source and its lane. */
	bool is_in_pair;
	struct ptrc_source *source;
	struct ptrc_report_lane *lane;
	/* The index of the current window of --around. */
	size_t window;
	/* Writes the report after the last event. Returns false after a message. */
	bool (*write)(struct ptrc_report *);
};

/* Makes the report the sink of its query. The caller has set query, pairs, is_text, the limits and write; the rest is
 * zeroed. */
void ptrc_report_begin(struct ptrc_report *);

static inline struct ptrc_report_lane *ptrc_report_lane(const struct ptrc_report *r, size_t number)
{
	return (struct ptrc_report_lane *)r->lanes->list[number];
}

/* Drops about half of the records of the class that takes most memory. Returns false if there are no records. */
bool ptrc_report_thin(struct ptrc_report *);

/* Whether each program or function of the pair is a class. In text, functions are only if symbols are asked for. */
bool ptrc_report_has_own_class(const struct ptrc_report *, const struct ptrc_pair *);

void ptrc_report_free(struct ptrc_report *);

#endif
