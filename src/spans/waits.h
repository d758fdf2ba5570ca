/* SPDX-License-Identifier: MIT */
/*
 * Why threads waited: the pairs wait.KIND.begin and wait.KIND.end that ptrace-run --waits records
 * (posixtrace-waits(7)), summed by thread and by what the threads waited for: a lock, a file, a peer, a call. If
 * the log has os.switch_in and os.switch_out, it is also known when each thread ran, could have run, and did not
 * run. Otherwise the events wait.thread at the start and the end of a thread show for how long in all the thread ran
 * and could have run.
 *
 * A wait without an end is called open, unless its thread recorded a later wait or ends were not selected. An open
 * wait is counted as if it had lasted until its thread ended, or until the end of the trace.
 */
#ifndef PTRC_SRC_SPANS_WAITS_H
#define PTRC_SRC_SPANS_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/table.h"
#include "src/query/query.h"
#include "src/spans/lanes.h"
#include "src/spans/pairs.h"
#include "src/spans/quantiles.h"

enum ptrc_waits_kind {
	PTRC_WAITS_LOCK,
	PTRC_WAITS_IO,
	PTRC_WAITS_NET,
	PTRC_WAITS_SLEEP,
	PTRC_WAITS_CHILD,
	PTRC_WAITS_KINDS,
};

/* The names of the kinds: "lock" for the events wait.lock.begin and wait.lock.end. */
extern const char *const ptrc_waits_kinds[PTRC_WAITS_KINDS];

/* The state of a thread, as far as its events show it. */
enum ptrc_waits_state {
	PTRC_WAITS_UNKNOWN,
	PTRC_WAITS_RUNNING,
	/* The thread could run, but another thread has taken the processor. */
	PTRC_WAITS_RUNNABLE,
	/* The thread does not run, and is in a wait. */
	PTRC_WAITS_WAITING,
	/* The thread does not run, and no wait was recorded. */
	PTRC_WAITS_BLOCKED,
	PTRC_WAITS_STATES,
};

/* A holder of a lock, or a place from which a thread waited for it. */
struct ptrc_waits_share {
	struct ptrc_table_entry entry;
	/* For a holder: the thread that held the lock. For a place: 0. */
	pid_t holder;
	/* For a place: the address to which the call returns, and the place as a text, owned. For a
	 * holder: 0 and NULL. */
	uint64_t call_site;
	char *place;
	/* The number of waits and their total time. */
	uint64_t count;
	uint64_t ns;
};

struct ptrc_waits_shares {
	struct ptrc_waits_share **list;
	size_t count;
};

/* A thing that threads waited for: a lock of a process, a file, a peer, a sleeping call, or a call for a child. */
struct ptrc_waits_row {
	struct ptrc_table_entry entry;
	enum ptrc_waits_kind kind;
	/* The number of the row, in the order in which rows are found. */
	size_t number;
	/* For a lock: its process and its address. */
	struct ptrc_lane process;
	uint64_t lock;
	/* The path, the peer, or the variable that is the lock; NULL if there is none. */
	char *name;
	size_t name_size;
	/* The function that waited, if the thing has no name and the row is for this function; else NULL. */
	char *call;
	struct ptrc_quantiles lengths;
	/* The number of open waits, which the lengths include. */
	uint64_t open_count;
	/* The sums of the bytes that the calls reported as read and as written. */
	uint64_t read_bytes, written_bytes;
	/* For a lock: the holders and the places, sorted by ptrc_waits_end(). */
	struct ptrc_waits_shares holders;
	struct ptrc_waits_shares places;
};

/* A thread. Its lane is an element of the list .threads of struct ptrc_waits. */
struct ptrc_waits_thread {
	struct ptrc_lane lane;
	int64_t first_ns, last_ns;
	/* The number of waits, and their time by kind. The time of a wait within another one, as in a signal
	 * handler, is added once, for the inner wait. */
	uint64_t wait_count;
	uint64_t kind_ns[PTRC_WAITS_KINDS];
	uint64_t waited_ns;
	/* The longest wait, and the row to which that wait belongs; NULL if there was no wait. */
	uint64_t longest_ns;
	const struct ptrc_waits_row *longest;
	/* The number of the wait that started last, from 1; and whether no wait has ended since. */
	uint64_t latest_begin;
	bool is_in_wait;
	/* When the thread ended; 0 if no event says that it did. */
	int64_t exit_ns;
	/* has_switched: an os.switch_in or os.switch_out of the thread was read. state_ns: the time in each state
	 * so far. state and state_since_ns: the present state, and when it began. */
	bool has_switched;
	uint64_t state_ns[PTRC_WAITS_STATES];
	enum ptrc_waits_state state;
	int64_t state_since_ns;
	/* From the events wait.thread of the thread: the latest counts of the kernel, and their growth while the
	 * thread was traced. The growth is known only if the last of these events was for the thread's end. */
	struct ptrc_waits_counts {
		uint64_t processor_ns, runnable_ns;
	} counts, growth;
	bool has_start, has_end;
	/* The number of losses of the source before the thread's latest event. */
	uint64_t gap_count;
};

/* A wait without an end. */
struct ptrc_waits_open {
	const struct ptrc_waits_thread *thread;
	const struct ptrc_waits_row *row;
	int64_t begin_ns;
	uint64_t ns;
	char *call;
	/* The thread that held the lock; 0 if that is not known. */
	pid_t holder;
	uint64_t call_site;
	/* The place of the call in the source code, as a text, owned. */
	char *place;
};

/* The facts about a wait that ptrc_waits_take_begin() stores for ptrc_waits_take_end(). */
struct ptrc_waits_start {
	struct ptrc_waits_thread *thread;
	/* The number of the wait, and the thread's waited_ns when it started. */
	uint64_t number;
	uint64_t waited_ns;
};

/* Starts zeroed, except for the first three members. */
struct ptrc_waits {
	struct ptrc_query *query;
	struct ptrc_pairs *pairs;
	/* For finding functions and variables; NULL if these are not to be named. */
	struct ptrc_symbols *symbols;
	/* The time of the last event. ptrc_waits_end() moves it to the end of the selected time, if that is later. */
	int64_t last_ns;
	struct ptrc_lanes threads;
	/* The rows, and the shares of rows. */
	struct ptrc_table rows;
	struct ptrc_table shares;
	uint64_t begin_count;
	/* For each kind: the durations, including those of open waits; the number of open waits; and the numbers of
	 * the other waits that lack an event or were cut by lost events. */
	struct ptrc_quantiles lengths[PTRC_WAITS_KINDS];
	uint64_t open_counts[PTRC_WAITS_KINDS];
	struct ptrc_pair_halves halves[PTRC_WAITS_KINDS];
	/* has_switches: some event was an os.switch_in or an os.switch_out. has_counts: some event
	 * was a wait.thread. */
	bool has_switches;
	bool has_counts;

	/* Made by ptrc_waits_end(): the time from the first event of the trace, selected or not, to last_ns, as far as
	 * it is in the selected time; the threads, sorted by the time that they waited; the rows of each kind,
	 * sorted by their total time; the open waits, the longest first. */
	uint64_t took_ns;
	struct ptrc_waits_thread **thread_list;
	struct ptrc_waits_row **row_lists[PTRC_WAITS_KINDS];
	size_t row_counts[PTRC_WAITS_KINDS];
	struct ptrc_waits_open *open;
	size_t open_count;
};

/* Adds the pairs of waits to the pairs of the query, as if the user had given them. */
void ptrc_waits_add_pairs(struct ptrc_cli_texts *pairs);

/* Stores the kind of the waits that the pair measures. Returns false if it is no pair of waits. */
bool ptrc_waits_find_kind(const struct ptrc_pair *, enum ptrc_waits_kind *);

/* Takes the latest event of the source. The event is selected, and ptrc_pairs_take() has not taken it yet. */
void ptrc_waits_take(struct ptrc_waits *, struct ptrc_source *);

/* Takes a span that has just started. *start becomes what ptrc_waits_take_end() needs. If the span is no
 * wait, *start stays unchanged. */
void ptrc_waits_take_begin(struct ptrc_waits *, const struct ptrc_span *,
			   struct ptrc_waits_start *start);

/* Takes a span that has ended; one that is not selected is not counted. `start` is not used if the first event is
 * missing. Returns whether the span is an open wait. */
bool ptrc_waits_take_end(struct ptrc_waits *, const struct ptrc_span *,
			 const struct ptrc_waits_start *start, bool is_selected);

/* Returns how many nanoseconds a span without an end had lasted when its thread ended or, if the thread did not
 * end, when the trace ended. */
uint64_t ptrc_waits_time_so_far(const struct ptrc_waits *, const struct ptrc_span *,
				const struct ptrc_waits_start *start);

/* Ends the pairs (ptrc_pairs_end()), and makes the sorted lists. Waits that have not ended last until their thread
 * ends, or until the end of the selected time. */
void ptrc_waits_end(struct ptrc_waits *, bool is_read);

/* Stores how long the thread was on a processor and runnable. Returns false if that is not known. */
bool ptrc_waits_find_times(const struct ptrc_waits_thread *, uint64_t *processor_ns,
			   uint64_t *runnable_ns);

/* Whether there was any wait, or a part of one. */
bool ptrc_waits_has_any(const struct ptrc_waits *);

/* Frees all but the first three members, so that another log can be taken. */
void ptrc_waits_forget(struct ptrc_waits *);

#endif
