/* SPDX-License-Identifier: MIT */
/*
 * The hosts that logs are from: what they are called, how their clocks are compared, and where the order
 * of their events cannot be told.
 *
 * A host is a machine that was booted once, as all that runs there has the same clocks: between logs of
 * one host there is no error. What CLOCK_REALTIME was there is taken from all of these logs. Where that was
 * stepped, times neither jump nor run back: what the best readings of the clock say, which are those with the
 * least error, and the latest of equal ones, holds before and behind the step.
 */
#ifndef PTRC_SRC_QUERY_HOSTS_H
#define PTRC_SRC_QUERY_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cli.h"
#include "src/base/json.h"
#include "src/query/correction.h"
#include "src/query/reader.h"

/* CLOCK_REALTIME of a host at a moment of its CLOCK_BOOTTIME. */
struct ptrc_host_reading {
	int64_t boottime_ns;
	int64_t offset_ns; /* what to add to have CLOCK_REALTIME */
	int64_t window_ns; /* how long the reading took */
	int64_t error_ns;  /* or PTRC_BOUND_UNKNOWN */
	bool is_synchronized;
};

struct ptrc_host {
	/* Its label, if there is one, its own name, or the path of its first log. */
	const char *name;
	char own_name[256];
	/* Both are empty if the log does not tell them; it then has a host of its own. */
	char machine_id[128], boot_id[128];
	/* In the order of time; used are those from `first` on, before `last`, between which nobody stepped
	 * the clock. */
	struct ptrc_host_reading *readings;
	size_t reading_count;
	size_t first, last;
	size_t log_count;
	bool is_synchronized;
	/* How wrong its time may be at most while its logs tell of it. */
	int64_t worst_ns;
	/* There is a place where the order of its events and those of others cannot be told, and how wrong
	 * its time may be there. */
	bool is_uncertain;
	int64_t uncertain_ns;
	/* It was compared by messages with the reference, or is that: by how many, how far its own time is
	 * ahead, and by how much more each second. */
	bool is_linked;
	uint64_t message_count;
	int64_t offset_ns;
	double drift;
};

/* Starts zeroed. */
struct ptrc_hosts {
	struct ptrc_host *list;
	size_t count;
	/* By source: its host, and its correction. */
	size_t *host_of;
	struct ptrc_correction *corrections;
	struct ptrc_reader **readers;
	size_t source_count;
	/* The host whose times are those of the others that are linked, or null. */
	const struct ptrc_host *reference;
	/* The event that was taken last. */
	bool has_last;
	size_t last_source;
	int64_t last_ns, last_log_ns;
	/* Events behind one of another host, and those of them that may have been before it. */
	uint64_t neighbour_count, uncertain_count;
};

/* Reads --label=NAME=LOG: refuses what is none, and logs that are no operands. */
void ptrc_labels_check(const struct ptrc_cli_texts *labels, char *const *operands, size_t count);

/* The label of an operand, which the caller frees; null: it has none. */
char *ptrc_labels_find(const struct ptrc_cli_texts *labels, const char *operand);

/*
 * Finds the hosts of the readers, which are open, and gives each reader its correction, and the label of its host. The times of a
 * single log stay as they are, and those of logs of one host for a log, which will be read with what it says
 * of its clocks; the bounds then say how wrong these times are.
 */
void ptrc_hosts_begin(struct ptrc_hosts *, struct ptrc_reader *const *readers, size_t count,
		      bool is_for_log);

/* How wrong the time that an event of the source has may be, or PTRC_BOUND_UNKNOWN. */
int64_t ptrc_hosts_bound(const struct ptrc_hosts *, size_t source, int64_t ns);

/* To be called for each event in the order in which they are taken: notes where that cannot be told. */
void ptrc_hosts_note(struct ptrc_hosts *, size_t source, const struct ptrc_reader *);

/* Forgets what was noted, as all events come once more. */
void ptrc_hosts_forget(struct ptrc_hosts *);

/* Says of which hosts the order cannot be told, and why. */
void ptrc_hosts_report(const struct ptrc_hosts *);

/* Puts the member "hosts". */
void ptrc_hosts_json(const struct ptrc_hosts *, struct ptrc_json *);

void ptrc_hosts_free(struct ptrc_hosts *);

/* Whether both logs are of the same machine, booted once, as far as they tell: then a process number
 * means one process in both. */
bool ptrc_hosts_is_same_machine(const struct posixtrace_log_host *,
				const struct posixtrace_log_host *);

#endif
