/* SPDX-License-Identifier: MIT */
/*
 * The interface of an export format: functions that write the selected events and slices. Times are nanoseconds since
 * the first event of the logs, so they are never negative. Events come in order of their times, slices in order of
 * their ends.
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
	/* The file or directory to write; NULL: standard output. */
	const char *path;
	bool is_forced;
	/* Numbers become counters: those with a unit, or, if the pattern is not NULL, those whose names it matches. */
	bool has_counters;
	const char *counters;
};

/* Added to the pids and tids of each further machine: more than any pid of Linux. Viewers read 31 bits, so there is
 * room for this many machines. */
enum { PTRC_LANE_MACHINE_STEP = 10000000, PTRC_LANE_MACHINES = 100 };

/* A process. Process 0 is the trace system itself. */
struct ptrc_export_process {
	struct ptrc_table_entry entry;
	/* Unique in the export. */
	int32_t pid;
	/* Counted from 1. */
	uint64_t number;
	/* The text of the log, without a null byte; empty if it is not known. */
	struct ptrc_buffer name;
	/* For the format: it has written the process. */
	bool is_written;
};

struct ptrc_export_lane {
	struct ptrc_lane lane;
	struct ptrc_export_process *process;
	/* Unique in the export. */
	int32_t pid;
	int32_t tid;
	/* Counted from 1. */
	uint64_t number;
	struct ptrc_buffer name;
	/* For the format: it has written the thread, and the track of its states; text that many events share; a
	 * pointer, which the format frees. */
	bool is_written;
	bool is_state_written;
	struct ptrc_buffer text;
	void *state;
};

/* A name that many events share. */
struct ptrc_export_name {
	struct ptrc_buffer text;
	/* The same as a string of JSON. */
	struct ptrc_buffer json;
	/* For the format: a number for the name; 0: none yet. */
	uint64_t number;
};

/* The place where a slice is shown. */
enum ptrc_slice_kind {
	/* On its thread. Any two such slices of a thread are nested or do not overlap. */
	PTRC_SLICE_NESTED,
	/* On a track of its own, because its events have a key, or because it overlaps others of its thread. */
	PTRC_SLICE_ASYNC,
	/* On the track for the states of its thread, which do not overlap. */
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
	/* Without an end, the time of the last event that was read. */
	uint64_t end_ns;
	struct ptrc_view *begin;
	/* NULL if there is no end. */
	struct ptrc_view *end;
	/* Events were lost in between, so the end may belong to another slice. */
	bool is_cut;
};

enum { PTRC_STATE_RUNNING, PTRC_STATE_WAITING, PTRC_STATE_PREEMPTED, PTRC_STATES };

struct ptrc_export_loss {
	const struct ptrc_source *source;
	uint64_t begin_ns;
	uint64_t end_ns;
	/* The number of lost events, if the log has it. */
	bool is_counted;
	uint64_t events;
};

/* An event type of a source, which has it as .of_sink. */
struct ptrc_export_type {
	bool is_sample;
	struct ptrc_export_name name;
	/* The fields of its layout that become counters: their indexes, and the names of the counters. */
	struct ptrc_export_counter {
		size_t field;
		struct ptrc_export_name name;
	} * counters;
	size_t counter_count;
	/* For the format: one allocation, which goes with the type. */
	void *of_format;
};

/* An event that is shown by itself. */
struct ptrc_export_event {
	struct ptrc_export_lane *lane;
	uint64_t ns;
	struct ptrc_export_type *type;
	struct ptrc_view *view;
	/* The missing half of a pair, "begin" or "end"; NULL: the event is not half a pair. */
	const char *missing;
};

struct ptrc_export {
	struct ptrc_query *query;
	struct ptrc_pairs *pairs;
	struct ptrc_export_options options;
	const struct ptrc_export_format *format;
	/* The format's own state: state_size bytes, zeroed at the start. */
	void *state;
	/* By pid. */
	struct ptrc_table processes;
	/* For each source, the loss that its last event reported; .source is NULL if there is none. */
	struct ptrc_export_loss *losses;
	/* By the indexes of pairs. */
	struct ptrc_export_name *pair_names;
	size_t pair_name_count;
	/* The pairs of events of --os between which a thread runs, or waits; SIZE_MAX if there are none. */
	size_t running_pair;
	size_t waiting_pair;
	/* The name of the current slice, if it has another one than its pair. */
	struct ptrc_export_name own_name;
	struct ptrc_export_name state_names[PTRC_STATES];

	/* The time of the latest event, its source, which is NULL before the first event, and whether the event is part
	 * of a pair. */
	uint64_t now_ns;
	struct ptrc_source *source;
	bool is_in_pair;
	uint64_t slice_count;
	/* Samples become flames; else, in a format of flames, pairs do. */
	bool has_samples;
	struct ptrc_flames flames;
	/* In a format of flames: the pairs by a field, which are left out; pairs that overlap those around them. */
	uint64_t unnested_count;
	uint64_t overlap_count;
	/* An event had a number that becomes a counter. */
	bool has_counter;
};

struct ptrc_export_format {
	const char *name;
	/* The files that it writes; unused with .open. */
	struct ptrc_replace_kind kind;
	/* Opens the output if it is not a file. Returns false after a message. */
	bool (*open)(struct ptrc_export *);
	/* Pairs are exported as events. */
	bool has_only_events;
	size_t state_size;
	/* Any function may be NULL. .begin is called first. */
	void (*begin)(struct ptrc_export *);
	void (*event)(struct ptrc_export *, const struct ptrc_export_event *);
	void (*slice)(struct ptrc_export *, const struct ptrc_slice *);
	/* Takes a number of the latest event. */
	void (*counter)(struct ptrc_export *, struct ptrc_export_counter *,
			const struct ptrc_value *);
	void (*loss)(struct ptrc_export *, const struct ptrc_export_loss *);
	/* Called in place of .slice: the latest event starts a pair of this name on its thread, or ends it. */
	void (*push)(struct ptrc_export *, struct ptrc_span *, const struct ptrc_buffer *name);
	void (*pop)(struct ptrc_export *, struct ptrc_span *);
	/* Ends the output; the losses of the sources are known. Returns false after a message. */
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

/* The time since the first event; 0 for earlier times. */
uint64_t ptrc_export_since_start(const struct ptrc_export *, int64_t ns);

/* The thread of the latest event. */
struct ptrc_export_lane *ptrc_export_lane(struct ptrc_export *);

/* Puts the name of the process or the thread, or its number if the name is unknown. Escapes nothing. */
void ptrc_export_put_process(struct ptrc_buffer *, const struct ptrc_export_process *);
void ptrc_export_put_thread(struct ptrc_buffer *, const struct ptrc_export_lane *);

/* Groups the sources by machine. Returns false, after a message, if there are too many machines. */
bool ptrc_export_begin_lanes(struct ptrc_export *);
void ptrc_export_free_lanes(struct ptrc_export *);

/* Writes the output if it is larger than 64 KiB. */
void ptrc_export_write_some(struct ptrc_export *);

#endif
