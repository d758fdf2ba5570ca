/* SPDX-License-Identifier: MIT */
/*
 * What a format of an export is: functions that write what the export has selected. Times are
 * nanoseconds since the first event of the logs, so they are never negative. Events come in the order
 * of their times, slices in that of their ends.
 */
#ifndef PTRC_SRC_EXPORT_FORMAT_H
#define PTRC_SRC_EXPORT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/replace.h"
#include "src/spans/flames.h"
#include "src/spans/pairs.h"
#include "src/query/query.h"

struct ptrc_export_format;

struct ptrc_export_options {
	const struct ptrc_export_format *format;
	/* Where the export goes; null: to standard output. */
	const char *path;
	bool is_forced;
	/* Numbers with a unit become counters; or, if the pattern is not null, all numbers whose
	 * counters it matches. */
	bool has_counters;
	const char *counters;
};

/* The numbers of the n-th machine begin at n times this, which is above any that Linux gives; and so
 * many machines are possible, as the numbers of viewers have 31 bits. */
enum { PTRC_LANE_MACHINE_STEP = 10000000, PTRC_LANE_MACHINES = 100 };

/* A process. Process 0 is the trace system itself. */
struct ptrc_export_process {
	struct ptrc_table_entry entry;
	int32_t pid;
	/* Counted from 1. */
	uint64_t number;
	/* Not null-terminated text of the log; empty if it is not known. */
	struct ptrc_buffer name;
	bool is_told;
};

/* A thread. Viewers tell threads and processes apart by two numbers only, so those of further machines get other
 * ones. */
struct ptrc_export_lane {
	struct ptrc_lane lane;
	struct ptrc_export_process *process;
	int32_t pid;
	int32_t tid;
	/* Counted from 1. */
	uint64_t number;
	struct ptrc_buffer name;
	/* For the format: whether it has told of the thread, and of the states of that; text that many
	 * events have; what else it keeps, which it frees. */
	bool is_told;
	bool is_state_told;
	struct ptrc_buffer text;
	void *state;
};

/* A name that many events have. */
struct ptrc_export_name {
	struct ptrc_buffer text;
	/* In quotes, with escapes, as JSON has it. */
	struct ptrc_buffer json;
	/* For the format: what it has numbered the name with; 0: it has not. */
	uint64_t number;
};

/* Where a slice is shown. */
enum ptrc_slice_kind {
	/* On its thread, among other slices there: of two, one lies within the other, or they do not
	 * overlap. */
	PTRC_SLICE_NESTED,
	/* By itself: its events have a key, or it overlaps others of its thread. */
	PTRC_SLICE_ASYNC,
	/* A state of its thread; these follow each other. */
	PTRC_SLICE_STATE,
};

/* A pair of events. */
struct ptrc_slice {
	enum ptrc_slice_kind kind;
	/* Counted from 1. */
	uint64_t number;
	struct ptrc_export_name *name;
	struct ptrc_export_lane *lane;
	struct ptrc_export_lane *end_lane;
	uint64_t begin_ns;
	/* Of one that has no end: the time of the last event that was read. */
	uint64_t end_ns;
	struct ptrc_view *begin;
	/* Null: it has no end. */
	struct ptrc_view *end;
	/* Events were lost in between, so the end may be that of another one. */
	bool is_cut;
};

/* The states of a thread. */
enum { PTRC_STATE_RUNNING, PTRC_STATE_WAITING, PTRC_STATE_PREEMPTED, PTRC_STATES };

/* A place where events were lost. */
struct ptrc_export_loss {
	const struct ptrc_source *source;
	uint64_t begin_ns;
	uint64_t end_ns;
	/* How many, if the log tells. */
	bool is_counted;
	uint64_t events;
};

/* What is known of an event type of a source. */
struct ptrc_export_type {
	bool is_known;
	bool is_sample;
	struct ptrc_export_name name;
	/* Fields of its layout that become counters: their numbers, and the names of the counters. */
	struct ptrc_export_counter {
		size_t field;
		struct ptrc_export_name name;
	} * counters;
	size_t counter_count;
};

/* An event that is shown by itself. */
struct ptrc_export_event {
	struct ptrc_export_lane *lane;
	uint64_t ns;
	struct ptrc_export_type *type;
	struct ptrc_view *view;
	/* Of half a pair: which half is missing, "begin" or "end"; else null. */
	const char *missing;
};

struct ptrc_export_source {
	struct ptrc_export_type types[PTRC_READER_IDS];
	/* The event before was at a place with losses, which begins there. */
	bool is_behind_loss;
	struct ptrc_export_loss loss;
};

struct ptrc_export {
	struct ptrc_query *query;
	struct ptrc_pairs *pairs;
	struct ptrc_export_options options;
	const struct ptrc_export_format *format;
	/* The format's own state, of its state_size, which starts zeroed. */
	void *state;
	/* By their numbers, and in the order of their coming. */
	struct ptrc_table process_table;
	struct ptrc_export_process **processes;
	size_t process_count;
	struct ptrc_export_source *sources;
	/* By the numbers of pairs. */
	struct ptrc_export_name *pair_names;
	size_t pair_name_count;
	/* The pairs of switches between processors: running and waiting; SIZE_MAX: there are none. */
	size_t running_pair;
	size_t waiting_pair;
	/* The name of a slice that has another one than its pair. */
	struct ptrc_export_name own_name;
	struct ptrc_export_name state_names[PTRC_STATES];

	/* The time of the latest event, and its source; NULL before the first event. */
	uint64_t now_ns;
	struct ptrc_source *source;
	/* Whether the latest event is in a pair. */
	bool is_in_pair;
	uint64_t slice_count;
	/* Samples become flames; else, in a format of flames, pairs do. */
	bool has_samples;
	struct ptrc_flames flames;
	/* In a format of flames: the pairs by a field, which are left out; pairs that overlap those around them. */
	uint64_t unnested_count;
	uint64_t overlap_count;
	/* Whether an event had a number that becomes a counter. */
	bool has_counter;
};

struct ptrc_export_format {
	const char *name;
	/* The files that it writes; of no use if .open is not null. */
	struct ptrc_replace_kind kind;
	/* Opens what .begin writes to, which is no file. Returns false after a message. */
	bool (*open)(struct ptrc_export *);
	/* Only events are exported, not pairs. */
	bool has_only_events;
	size_t state_size;
	/* All functions may be null. .begin comes before the first of the others. */
	void (*begin)(struct ptrc_export *);
	void (*event)(struct ptrc_export *, const struct ptrc_export_event *);
	void (*slice)(struct ptrc_export *, const struct ptrc_slice *);
	/* A number of the latest event. */
	void (*counter)(struct ptrc_export *, struct ptrc_export_counter *,
			const struct ptrc_value *);
	void (*loss)(struct ptrc_export *, const struct ptrc_export_loss *);
	/* In place of slices: the latest event begins a pair of this name on its thread; that ends. */
	void (*push)(struct ptrc_export *, struct ptrc_span *, const struct ptrc_buffer *name);
	void (*pop)(struct ptrc_export *, struct ptrc_span *);
	/* What is missing in the sources is known. Returns false after a message. */
	bool (*end)(struct ptrc_export *);
	void (*free)(struct ptrc_export *);
};

extern const struct ptrc_export_format ptrc_export_chrome;
extern const struct ptrc_export_format ptrc_export_perfetto;
extern const struct ptrc_export_format ptrc_export_ctf;
extern const struct ptrc_export_format ptrc_export_folded;
extern const struct ptrc_export_format ptrc_export_speedscope;
extern const struct ptrc_export_format ptrc_export_csv;

/* All formats, in the order of messages and pages, up to a NULL pointer. */
extern const struct ptrc_export_format *const ptrc_export_formats[];

/* The time of the first event of the logs, in nanoseconds since 1970; 0 if they have no event. */
int64_t ptrc_export_start_ns(const struct ptrc_export *);

/* The time since the first event. */
uint64_t ptrc_export_since_start(const struct ptrc_export *, int64_t ns);

/* The thread of the latest event. */
struct ptrc_export_lane *ptrc_export_lane(struct ptrc_export *);

/* Puts the name of the process or the thread, unescaped; never empty. */
void ptrc_export_put_process(struct ptrc_buffer *, const struct ptrc_export_process *);
void ptrc_export_put_thread(struct ptrc_buffer *, const struct ptrc_export_lane *);

/* Finds out which of the sources are of one machine. Returns false, after a message, if there are too
 * many machines. */
bool ptrc_export_begin_lanes(struct ptrc_export *);
void ptrc_export_free_lanes(struct ptrc_export *);

/* Writes the output if there is much of it. */
void ptrc_export_write_some(struct ptrc_export *);

#endif
