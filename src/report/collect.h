/* SPDX-License-Identifier: MIT */
/*
 * The data of a report: the lanes (one for each thread), and the classes of events and pairs. Statistics of a
 * class count all its records. Single records are kept as far as there is room. A class with more records
 * keeps its longest pairs, or every 2nd, 4th, 8th (and so on) event. Dropped records are counted by lane and time.
 */
#ifndef PTRC_SRC_REPORT_COLLECT_H
#define PTRC_SRC_REPORT_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/spans/flames.h"
#include "src/spans/pairs.h"
#include "src/spans/quantiles.h"
#include "src/spans/waits.h"
#include "src/base/table.h"
#include "src/query/query.h"

enum {
	/* The number of equal parts of the report's time; records that were left out are counted for each
	 * part. */
	PTRC_REPORT_BUCKETS = 1024,
	/* The number of longest pairs that the text report shows. */
	PTRC_REPORT_LONGEST = 10,
};

struct ptrc_report_event {
	struct posix_trace_event_info info;
	struct ptrc_source *source;
	uint32_t lane;
	uint32_t size;
	unsigned char data[];
};

enum ptrc_report_kind {
	PTRC_REPORT_EVENTS,
	PTRC_REPORT_PAIRS,
	/* A stay of a thread on a processor, from os.switch_in to os.switch_out. */
	PTRC_REPORT_RUNS,
};

/* An event, a pair or a run (PTRC_REPORT_RUNS). A pair that goes beyond the selected time is shown only within it, and
 * lacks the event that is outside. */
struct ptrc_report_record {
	/* The time of the event, or of the start of the pair, in nanoseconds since 1970. */
	int64_t ns;
	uint64_t duration_ns;
	/* `begin` is the event, or the first event of a pair or run; `end` is the last event of a pair or run. NULL if
	 * the event is missing or outside the selected time; `end` is NULL for a record of a single event, too. */
	struct ptrc_report_event *begin;
	struct ptrc_report_event *end;
	uint32_t lane;
	uint32_t class;
	/* The enum ptrc_span_fate of a pair, or of an event that should be part of a pair. */
	unsigned char fate;
	/* The row of the record in its lane. Pairs that overlap are in different rows. */
	unsigned char row;
};

struct ptrc_report_class {
	enum ptrc_report_kind kind;
	char *name;
	size_t name_size;
	/* For a class of events: the layout, or NULL. */
	const struct ptrc_layout *layout;
	/* For a class of pairs: the index of the pair in struct ptrc_pairs. */
	size_t pair;
	uint64_t count;
	uint64_t no_begin_count;
	uint64_t no_end_count;
	uint64_t cut_count;
	/* The numbers of pairs of which only a part is shown, because the event that begins them (before_count) or ends
	 * them (behind_count) is not among the selected events. */
	uint64_t before_count;
	uint64_t behind_count;
	/* For pairs, their durations. For events, the times between an event and the next one. */
	struct ptrc_quantiles lengths;
	/* When the longest time in `lengths` started, in nanoseconds since 1970. */
	int64_t longest_ns;
	/* For events: the time of the latest one, and the value of all_gap_count at that event. */
	int64_t last_ns;
	uint64_t gap_count;

	/* The records that are kept, and the number of bytes of their events. */
	struct ptrc_report_record *records;
	size_t record_count;
	uint64_t record_bytes;
	/* For events: one of each mask + 1 events is kept. Starts with 0; ptrc_report_thin() raises it. */
	uint64_t mask;
	/* For pairs and runs: new records with a shorter duration than this, in nanoseconds, are dropped. Starts with
	 * 0; ptrc_report_thin() raises it. */
	uint64_t least_ns;
	uint64_t seen_count;
	uint64_t dropped_count;
};

struct ptrc_report_lane {
	struct ptrc_lane lane;
	uint64_t count;
	int64_t first_ns, last_ns;
	/* The longest time without an event between two events of the thread, and its start. Times in which
	 * events were lost do not count. */
	uint64_t gap_ns;
	int64_t gap_begin_ns;
	/* The value of gap_counts for the lane's source at the lane's latest event. */
	uint64_t gap_count;
	/* The os.switch_in by which the thread got the processor that it has now; NULL if that is not known. */
	struct ptrc_report_event *running;
	/* Whether the thread had an os.switch_*, or a loss may have hidden one. If not, an os.switch_out shows that
	 * the thread had its processor from the start on. */
	bool has_switched;
	/* How many records were dropped, by time: PTRC_REPORT_BUCKETS counts; NULL if none were dropped. */
	uint32_t *dropped;
};

struct ptrc_report_loss {
	struct ptrc_source *source;
	int64_t first_ns, last_ns;
	bool is_damage;
};

struct ptrc_report_longest {
	/* The index of the pair's class. */
	size_t class;
	/* The enum ptrc_span_fate of the pair. If one of its events is missing, the pair took at least
	 * duration_ns. */
	unsigned char fate;
	uint64_t duration_ns;
	/* The pair's first event; its last event if the first one is missing. */
	struct posix_trace_event_info info;
	struct ptrc_source *source;
	/* The start of the pair, or of the part of it that is within the selected time. */
	int64_t begin_ns;
};

struct ptrc_report {
	struct ptrc_query *query;
	struct ptrc_pairs *pairs;
	/* The report is text, which shows only statistics and the longest pairs, so no records are kept. */
	bool is_text;
	/* Limits: the most records that are kept, the most bytes of their events, and the most lanes. */
	size_t records_max;
	uint64_t bytes_max;
	size_t lanes_max;

	struct ptrc_report_class *classes;
	size_t class_count;
	/* For each pair of the query: 1 + the index of its class; 0 until it has one. */
	size_t *class_of_pair;
	size_t class_of_pair_count;
	/* 1 + the index of the class of kind PTRC_REPORT_RUNS; 0 until there is one. */
	size_t class_of_runs;
	/* A pair may have several classes, one for each name of a program, function or label. They are found by the
	 * pair and this name. */
	struct ptrc_table functions;
	/* Classes of functions whose names are not known, found by source, process and address. */
	struct ptrc_table places;
	/* Whether there is a class in .places. */
	bool has_nameless;

	struct ptrc_lanes *lanes;

	struct ptrc_report_loss *losses;
	size_t loss_count;
	uint64_t loss_merged_count;
	/* For each source: 1 + the index in .losses of the loss that has not ended yet, and of the latest loss; 0 if
	 * there is none. */
	size_t *open_loss, *last_loss;
	/* Counters, for each source and for all sources together. They grow wherever events may be missing: at a loss,
	 * at its end, at a restart of the trace, and between two windows. */
	uint64_t *gap_counts;
	uint64_t all_gap_count;

	uint64_t event_count;
	bool has_time;
	int64_t first_ns, last_ns;
	size_t record_count;
	uint64_t record_bytes;
	uint64_t dropped_count;
	/* Element i of a lane's .dropped counts the records in the 2^shift nanoseconds from first_ns + i *
	 * 2^shift on. */
	unsigned int shift;
	struct ptrc_report_longest longest[PTRC_REPORT_LONGEST];
	size_t longest_count;
	/* For the text report: the stacks of samples. */
	struct ptrc_flames flames;
	uint64_t sample_count;

	/* The waits of threads, and what they waited for. The caller may set waits.symbols. */
	struct ptrc_waits waits;

	/* The current event: whether it is part of a pair, its source and its lane. */
	bool is_in_pair;
	struct ptrc_source *source;
	struct ptrc_report_lane *lane;
	/* The index of the current window. The windows are the periods that --around selects. */
	size_t window;
	/* Writes the report after the last event was taken. Returns false after a message. */
	bool (*write)(struct ptrc_report *);
};

/* Has the query give its events to the report. The caller has set query, pairs, is_text, the three limits and
 * write, and has zeroed the rest. */
void ptrc_report_begin(struct ptrc_report *);

static inline struct ptrc_report_lane *ptrc_report_lane(const struct ptrc_report *r, size_t number)
{
	return (struct ptrc_report_lane *)r->lanes->list[number];
}

/* Drops about half of the records of the class that takes the most memory. Returns false if there are no
 * records. */
bool ptrc_report_thin(struct ptrc_report *);

/* Whether each program or function of the pair has a class of its own. In a text report, functions have one
 * only if symbols are asked for. */
bool ptrc_report_has_own_class(const struct ptrc_report *, const struct ptrc_pair *);

void ptrc_report_free(struct ptrc_report *);

#endif
