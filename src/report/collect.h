/* SPDX-License-Identifier: MIT */
/*
 * What a report is made of: the lanes of threads, the classes of events and of pairs with the numbers
 * of all of them, and as many single ones as there is room for. Of a class that has more, the longest
 * pairs stay, or each 2nd, 4th, 8th event; how many of the others there were, and where, is counted by
 * lane.
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
	/* How finely a lane counts what is not there singly. */
	PTRC_REPORT_BUCKETS = 1024,
	/* The longest pairs that text shows. */
	PTRC_REPORT_LONGEST = 10,
};

/* An event that is kept beyond its reading. */
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

/* An event, or a pair that has a begin and an end. Times are nanoseconds since 1970. A pair of which the
 * time that is selected leaves out one of them is cut there: it is null then. */
struct ptrc_report_record {
	int64_t ns;
	uint64_t duration_ns;
	struct ptrc_report_event *begin;
	/* Null of events, and of a run that had not ended. */
	struct ptrc_report_event *end;
	uint32_t lane;
	uint32_t class;
	/* enum ptrc_span_fate of what belongs to a pair */
	unsigned char fate;
	/* The row of its lane, for pairs that overlap. */
	unsigned char row;
};

struct ptrc_report_class {
	enum ptrc_report_kind kind;
	char *name;
	size_t name_size;
	/* Of an event type: its layout, or null. Of a pair: those of its begins and ends are those of
	 * their sources. */
	const struct ptrc_layout *layout;
	/* Of a pair: its number among the pairs. */
	size_t pair;
	uint64_t count;
	uint64_t no_begin_count;
	uint64_t no_end_count;
	uint64_t cut_count;
	/* Pairs of which the time that is selected leaves out the begin, or the end. */
	uint64_t before_count;
	uint64_t behind_count;
	/* How long pairs took; of events, how long after the one before of their type they were. */
	struct ptrc_quantiles lengths;
	int64_t longest_ns;
	/* The time of the latest event, and the losses of all sources until then. */
	int64_t last_ns;
	uint64_t gap_count;

	/* Those that are kept. */
	struct ptrc_report_record *records;
	size_t record_count;
	uint64_t record_bytes;
	/* Of events, one of (mask + 1) stays; of pairs, those that took at least so long. */
	uint64_t mask;
	uint64_t least_ns;
	uint64_t seen_count;
	uint64_t dropped_count;
};

/* A thread of a log. */
struct ptrc_report_lane {
	struct ptrc_lane lane;
	uint64_t count;
	int64_t first_ns, last_ns;
	/* The longest time without an event between two of them, and without a loss. */
	uint64_t gap_ns;
	int64_t gap_begin_ns;
	/* The losses of its source until the latest event. */
	uint64_t gap_count;
	/* The os.switch_in of the time in which it runs now. */
	struct ptrc_report_event *running;
	/* A switch was recorded, or events were lost that may have been one. */
	bool has_switched;
	/* By time: what is not there singly; null as long as there is nothing. */
	uint32_t *dropped;
};

/* A time in which events of a source were lost. */
struct ptrc_report_loss {
	struct ptrc_source *source;
	int64_t first_ns, last_ns;
	bool is_damage;
};

struct ptrc_report_longest {
	/* The number of its class. */
	size_t class;
	/* enum ptrc_span_fate; a span whose first or last event is missing took at least this long. */
	unsigned char fate;
	uint64_t duration_ns;
	/* Those of its begin, or else of its end; and when it began, or was cut. */
	struct posix_trace_event_info info;
	int64_t begin_ns;
	struct ptrc_source *source;
};

struct ptrc_report {
	struct ptrc_query *query;
	struct ptrc_pairs *pairs;
	/* Only numbers and the longest pairs are needed: no single events. */
	bool is_text;
	/* How many records may be kept, and how many bytes of their data; how many lanes. */
	size_t records_max;
	uint64_t bytes_max;
	size_t lanes_max;

	struct ptrc_report_class *classes;
	size_t class_count;
	/* By pair: the number of the class, plus 1. */
	size_t *class_of_pair;
	size_t class_of_pair_count;
	size_t class_of_runs;
	/* The classes of programs and labels by their names, and of functions by theirs, which only symbols
	 * tell, or by what their places are called; and of functions by their places: source, process and address. Some of
	 * these have no name. */
	struct ptrc_table functions;
	struct ptrc_table places;
	bool has_nameless;

	struct ptrc_lanes *lanes;

	struct ptrc_report_loss *losses;
	size_t loss_count;
	uint64_t loss_merged_count;
	/* By source: the place among the losses, plus 1, of one that has no end yet; and how many
	 * there were, also of all sources together. */
	size_t *open_loss;
	uint64_t *gap_counts;
	uint64_t all_gap_count;

	uint64_t event_count;
	bool has_time;
	int64_t first_ns, last_ns;
	size_t record_count;
	uint64_t record_bytes;
	uint64_t dropped_count;
	/* What a lane counts in one place of .dropped: 2^shift nanoseconds from first_ns on. */
	unsigned int shift;
	struct ptrc_report_longest longest[PTRC_REPORT_LONGEST];
	size_t longest_count;
	/* If it is text: how often samples found which stack. */
	struct ptrc_flames flames;
	uint64_t sample_count;

	/* Set while an event is taken: it is part of a pair. */
	bool is_in_pair;
	struct ptrc_source *source;
	struct ptrc_report_lane *lane;
	size_t window;
	/* Writes the report once all is known; returns false after a message. */
	bool (*write)(struct ptrc_report *);
};

/* Has the events of the query go to the report, which is zeroed but for query, pairs, limits and
 * write. */
void ptrc_report_begin(struct ptrc_report *);

/* The lane of this number. */
static inline struct ptrc_report_lane *ptrc_report_lane(const struct ptrc_report *r, size_t number)
{
	return (struct ptrc_report_lane *)r->lanes->list[number];
}

/* Drops records of the class that takes most, so that about half of them are left. Returns false if
 * there are none to be dropped. */
bool ptrc_report_thin(struct ptrc_report *);

/* Whether each pair of this kind has a class by its own name: programs and functions. */
bool ptrc_report_has_own_class(const struct ptrc_report *, const struct ptrc_pair *);

void ptrc_report_free(struct ptrc_report *);

#endif
