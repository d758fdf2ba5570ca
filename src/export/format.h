/* SPDX-License-Identifier: MIT */
/*
 * The interface of an export format: functions that write the selected events and slices (pairs of events).
 * Times are nanoseconds since the first event of all logs, so they are never negative. Events come in the
 * order of their times, slices in the order of their ends.
 */
#ifndef PTRC_SRC_EXPORT_FORMAT_H
#define PTRC_SRC_EXPORT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/output.h"
#include "src/base/replace.h"
#include "src/spans/flames.h"
#include "src/spans/pairs.h"
#include "src/spans/waits.h"
#include "src/query/query.h"

struct ptrc_ctf_version;
struct ptrc_export_format;

struct ptrc_export_options {
	const struct ptrc_export_format *format;
	/* The file or directory to write; NULL means standard output. */
	const char *path;
	bool is_forced;
	/* Whether numbers in the data of events are exported as counters. `counters` is a pattern for
	 * EVENT.FIELD, the name of a number; NULL stands for all numbers that have a unit. */
	bool has_counters;
	const char *counters;
	/* The version of CTF; used only by the format ctf. */
	const struct ptrc_ctf_version *ctf_version;
};

/* PTRC_LANE_MACHINE_STEP is added to the pids and tids of the second machine, twice as much to those of the third,
 * and so on. It is larger than any pid of Linux. Viewers read 31 bits, so there is room for PTRC_LANE_MACHINES
 * machines. */
enum { PTRC_LANE_MACHINE_STEP = 10000000, PTRC_LANE_MACHINES = 100 };

/* A process in the export; pid 0 of a machine stands for the trace system, which records START, for
 * example. */
struct ptrc_export_process {
	struct ptrc_table_entry entry;
	/* The pid of the process, plus the multiple of PTRC_LANE_MACHINE_STEP for its machine. */
	int32_t pid;
	/* The number of the process in the export, from 1 on. */
	uint64_t number;
	/* "LABEL: NAME", or "NAME" without --label. A process whose name the log does not have is "process
	 * PID". No null byte follows. */
	struct ptrc_buffer name;
	/* Set by the format when it has written the process. */
	bool is_written;
};

struct ptrc_export_lane {
	struct ptrc_lane lane;
	struct ptrc_export_process *process;
	/* The pid and tid of the thread, plus the multiple of PTRC_LANE_MACHINE_STEP for its machine. */
	int32_t pid;
	int32_t tid;
	/* The number of the thread in the export, from 1 on. */
	uint64_t number;
	struct ptrc_buffer name;
	/* Set by the format when it has written the thread. */
	bool is_written;
	/* The span of the state that the thread's latest os.switch_in or os.switch_out has started. */
	const struct ptrc_span *latest_state;
	/* The thread's os.exit has been read, but not the switch by which the thread leaves its processor for good. */
	bool has_ended;
	/* The wait that the thread has started last; NULL if a wait has ended since. */
	const struct ptrc_span *latest_wait;
	/* Set by the format when it has written the track for the states of the thread. */
	bool is_state_written;
	/* For the format: text that many events of the thread share. */
	struct ptrc_buffer text;
	/* The format's own data about the thread, which the format allocates and frees. */
	void *state;
};

/* A name that many events have in common. */
struct ptrc_export_name {
	struct ptrc_buffer text;
	/* The name as a JSON string. */
	struct ptrc_buffer json;
	/* The number that the format has given to the name; 0 until it has given one. */
	uint64_t number;
};

/* A pair whose first event was read. */
struct ptrc_export_span {
	struct ptrc_span span;
	/* The number of the span, from 1 on, in the order of the first events; 0 for the state of a thread. */
	uint64_t number;
	/* The number of the innermost span of the thread that was open when this one started; 0 if there was none. */
	uint64_t outer;
	/* The number of the outermost one of the spans around this one; its own number if there was none. */
	uint64_t root;
	/* For a wait that lies within another wait, as one in a signal handler may: the kind of the outer
	 * wait. For the state of a thread that is off its processor: the kind of the wait that is the reason.
	 * PTRC_WAITS_KINDS if there is no such wait. */
	enum ptrc_waits_kind wait;
	/* The span is the state of a thread that has ended. */
	bool is_after_exit;
	/* For --last: the number of events and pairs that were selected before the span started. */
	uint64_t place;
};

struct ptrc_export_pair {
	/* The name of the pair's slices. */
	struct ptrc_export_name name;
	/* The kind of wait that the pair is; PTRC_WAITS_KINDS if it is none. */
	enum ptrc_waits_kind wait;
};

/* The place in a viewer where a slice is shown. */
enum ptrc_slice_kind {
	/* The slice is on its thread. Any two such slices of a thread are nested or do not overlap. */
	PTRC_SLICE_NESTED,
	/* The slice is on a track of its own, because its events have a key or because it overlaps another
	 * slice of its thread. */
	PTRC_SLICE_ASYNC,
	/* The slice is on the track for the states of its thread. These slices do not overlap. */
	PTRC_SLICE_STATE,
};

/* A pair of events, shown as a period of time. */
struct ptrc_slice {
	enum ptrc_slice_kind kind;
	/* The number of the slice, counted from 1. */
	uint64_t number;
	const struct ptrc_export_span *span;
	struct ptrc_export_name *name;
	struct ptrc_export_lane *lane;
	struct ptrc_export_lane *end_lane;
	uint64_t begin_ns;
	/* The time of the end. If there is no end, the time of the last event that was read. */
	uint64_t end_ns;
	struct ptrc_view *begin;
	/* The event that ends the slice; NULL if there is no end. */
	struct ptrc_view *end;
	/* Events were lost between begin and end, so the end may belong to another slice. */
	bool is_cut;
	/* The name of the thread's state during the slice, such as "waiting: lock", if the slice is a wait
	 * and the states are not known from os.switch_in and os.switch_out; otherwise NULL. */
	struct ptrc_export_name *wait_state;
};

/* The states of threads. A thread in a wait of a known kind has the state PTRC_STATE_WAITING + 1 + the kind. */
enum {
	PTRC_STATE_RUNNING,
	PTRC_STATE_PREEMPTED,
	PTRC_STATE_WAITING,
	PTRC_STATES = PTRC_STATE_WAITING + 1 + PTRC_WAITS_KINDS
};

struct ptrc_export_loss {
	const struct ptrc_source *source;
	uint64_t begin_ns;
	uint64_t end_ns;
	/* Whether the loss is a damaged place of the log, and the log says how many events that place had. */
	bool is_counted;
	/* The number of lost events; not known unless is_counted is set. */
	uint64_t events;
};

/* The export's record of an event type of a source; .of_sink of the type points to it. */
struct ptrc_export_type {
	bool is_sample;
	bool is_exit;
	struct ptrc_export_name name;
	/* The fields of the layout that are exported as counters: the index of each field, and the name of
	 * its counter. */
	struct ptrc_export_counter {
		size_t field;
		struct ptrc_export_name name;
	} * counters;
	size_t counter_count;
	/* For the format: one allocation, which is freed with the type. */
	void *of_format;
};

/* An event that is shown by itself. */
struct ptrc_export_event {
	struct ptrc_export_lane *lane;
	uint64_t ns;
	struct ptrc_export_type *type;
	struct ptrc_view *view;
	/* If the event is half of a pair: which half is missing, "begin" or "end". Otherwise NULL. */
	const char *missing;
	/* The innermost span of the thread that is open; if the event is the first half of a pair, the span that it
	 * started. NULL if there is none. */
	const struct ptrc_export_span *span;
};

struct ptrc_export {
	struct ptrc_query *query;
	struct ptrc_pairs *pairs;
	struct ptrc_export_options options;
	const struct ptrc_export_format *format;
	/* The format's own state: state_size bytes, which are zeroed at the start. */
	void *state;
	/* The processes (struct ptrc_export_process), found by their .pid. */
	struct ptrc_table processes;
	/* For each source, the loss that began with its latest event; .source is NULL if none did. */
	struct ptrc_export_loss *losses;
	/* The names and kinds of pairs, by the pair's index; an element is made when it is needed. */
	struct ptrc_export_pair *pair_infos;
	size_t pair_info_count;
	/* The indexes of two pairs of events that ptrace-run --os records: os.switch_in..os.switch_out (the thread
	 * runs) and os.switch_out..os.switch_in (it does not). Both are SIZE_MAX if the pairs are not used. */
	size_t running_pair;
	size_t waiting_pair;
	/* The name of the current slice, if it differs from the name of its pair. */
	struct ptrc_export_name own_name;
	struct ptrc_export_name state_names[PTRC_STATES];

	/* The time of the latest event. */
	uint64_t now_ns;
	/* The source of the latest event; NULL before the first event. */
	struct ptrc_source *source;
	/* Whether the latest event is part of a pair. */
	bool is_in_pair;
	uint64_t slice_count;
	/* The number of spans that have started, except for states of threads. */
	uint64_t span_count;
	/* Whether there are samples of stacks (os.sample), and they may be selected. If so, formats of flame graphs show the
	 * samples, otherwise pairs. */
	bool has_samples;
	struct ptrc_flames flames;
	/* Used by formats of flame graphs: the number of pairs whose key is a field that the user named. They are
	 * left out, because they may end on another thread, and a frame belongs to one thread. */
	uint64_t unnested_count;
	/* Used by formats of flame graphs: the number of pairs that overlap the pairs around them. */
	uint64_t overlap_count;
	/* An event had a number that is exported as a counter. */
	bool has_counter;
	/* For --last: in the first pass, the places of the spans without an end; in the second pass, the number of those
	 * that started before the last events and pairs and were not left out yet. */
	uint64_t *open_places;
	size_t open_place_count;
	size_t early_count;
};

struct ptrc_export_format {
	const char *name;
	/* The kind of file that the format writes; not used if .open is set. */
	struct ptrc_replace_kind kind;
	/* Opens the output of a format that writes a directory instead of a file; otherwise NULL. Returns false after a
	 * message. */
	bool (*open)(struct ptrc_export *);
	/* The format has no slices: the events of pairs are exported as events. */
	bool has_only_events;
	/* The format has no states of threads: the events that make them are exported as events. */
	bool has_no_states;
	size_t state_size;
	/* The functions that the export calls, .begin first. Any of them may be NULL. */
	void (*begin)(struct ptrc_export *);
	void (*event)(struct ptrc_export *, const struct ptrc_export_event *);
	void (*slice)(struct ptrc_export *, const struct ptrc_slice *);
	/* Takes a number in the data of the latest event. */
	void (*counter)(struct ptrc_export *, struct ptrc_export_counter *,
			const struct ptrc_value *);
	/* Takes a loss that overlaps the selected time. */
	void (*loss)(struct ptrc_export *, const struct ptrc_export_loss *);
	/* Called for formats with .push: a loss, or a restart of the trace, cuts the open pairs of the source, which
	 * end at `ns`. It is called even if `ns` is outside the selected time. */
	void (*cut)(struct ptrc_export *, const struct ptrc_source *, uint64_t ns);
	/* Called instead of .slice: the latest event starts (push) or ends (pop) a pair of this name on its
	 * thread. */
	void (*push)(struct ptrc_export *, struct ptrc_span *, const struct ptrc_buffer *name);
	void (*pop)(struct ptrc_export *, struct ptrc_span *);
	/* Writes the end of the output. The losses of the sources are known by then. Returns false after a
	 * message. */
	bool (*end)(struct ptrc_export *);
	void (*free)(struct ptrc_export *);
};

extern const struct ptrc_export_format ptrc_export_chrome;
extern const struct ptrc_export_format ptrc_export_perfetto;
extern const struct ptrc_export_format ptrc_export_ctf;
extern const struct ptrc_export_format ptrc_export_folded;
extern const struct ptrc_export_format ptrc_export_speedscope;
extern const struct ptrc_export_format ptrc_export_csv;
extern const struct ptrc_export_format ptrc_export_otlp;

/* All formats, in the order in which messages and pages list them. The list ends with a NULL pointer. */
extern const struct ptrc_export_format *const ptrc_export_formats[];

/* Returns the time of the first event of all logs, in nanoseconds since 1970; 0 if there is no event. */
int64_t ptrc_export_start_ns(const struct ptrc_export *);

/* Returns the nanoseconds from the first event of all logs to the time `ns`; 0 if `ns` is earlier. */
uint64_t ptrc_export_since_start(const struct ptrc_export *, int64_t ns);

/* Returns the lane (one thread's row) of the latest event's thread. */
struct ptrc_export_lane *ptrc_export_lane(struct ptrc_export *);

/* Appends the name of a thread, or "thread TID" if the name is unknown. Escapes nothing in the name. */
void ptrc_export_put_thread(struct ptrc_buffer *, const struct ptrc_export_lane *);

/* Finds which sources are logs of the same machine, so that their events share threads and processes. Returns
 * false, after a message, if there are more than PTRC_LANE_MACHINES machines. */
bool ptrc_export_begin_lanes(struct ptrc_export *);
void ptrc_export_free_lanes(struct ptrc_export *);

#endif
