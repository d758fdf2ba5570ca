/* SPDX-License-Identifier: MIT */
/*
 * The hosts of logs: their names, the comparison of their clocks, and the events whose order is uncertain.
 *
 * A host is a machine from one boot to the next, during which all its logs use the same clocks. So there is no
 * error between logs of one host, and each of them adds readings of CLOCK_REALTIME. If CLOCK_REALTIME was stepped,
 * corrected times neither jump nor run back: only the readings between two steps are used, and apply to all times.
 * These are the readings around the best one. The best reading is one of a synchronized clock if there is any, of
 * these one with the least error, and of these the latest.
 */
#ifndef PTRC_SRC_QUERY_HOSTS_H
#define PTRC_SRC_QUERY_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/json.h"
#include "src/query/correction.h"
#include "src/query/reader.h"

/* A reading of CLOCK_REALTIME of a host when its CLOCK_BOOTTIME was boottime_ns. */
struct ptrc_host_reading {
	int64_t boottime_ns;
	int64_t offset_ns; /* CLOCK_REALTIME - CLOCK_BOOTTIME */
	int64_t window_ns; /* the duration of the reading */
	int64_t error_ns;  /* the greatest error, or PTRC_BOUND_UNKNOWN */
	bool is_synchronized;
};

struct ptrc_host {
	/* The label that the user gave it, else its own name, else the path of its first log. */
	const char *name;
	/* What its first log says of it. If machine and boot, which identify the host, are empty, no other log is known
	 * to be of this host. */
	struct posixtrace_log_host told;
	/* Sorted by time. Only the readings from index `first` to before `last` are used: between them, the clock
	 * was not stepped. */
	struct ptrc_host_reading *readings;
	size_t reading_count;
	size_t first, last;
	size_t log_count;
	bool is_synchronized;
	/* The greatest error of the host's time between its readings. */
	int64_t worst_ns;
	/* The times of some event of this host and of an event of another host are closer than the error of
	 * the clocks, so either may have come first. */
	bool is_uncertain;
	/* The greatest clock error at an event whose order is uncertain. */
	int64_t uncertain_ns;
	/* This host is the reference, or its clock was compared with that of the reference, directly or by way of
	 * other hosts. The next three members are the result of this comparison. */
	bool is_linked;
	/* The number of messages compared. */
	uint64_t message_count;
	/* The time by which the host's clock is ahead of the reference. */
	int64_t offset_ns;
	/* The growth of offset_ns, in seconds per second. */
	double drift;
};

/* Starts zeroed. */
struct ptrc_hosts {
	struct ptrc_host *list;
	size_t count;
	/* For each source (log): the index of its host, and its correction. */
	size_t *host_of;
	struct ptrc_correction *corrections;
	struct ptrc_reader **readers;
	size_t source_count;
	/* The reference: the host to whose clock the times of linked hosts are converted; or NULL. */
	const struct ptrc_host *reference;
	/* The latest event in the merged order: its source, its corrected time, and its time in the log. */
	bool has_last;
	size_t last_source;
	int64_t last_ns, last_log_ns;
	/* The number of events whose preceding event, in the merged order, is of another host; and the number of
	 * those that may really have come before that preceding event. */
	uint64_t neighbour_count, uncertain_count;
};

/* Finds the hosts of the open readers, and gives each reader its correction and the label of its host. is_for_log: the
 * events become a new log. Times are not corrected if there is a single log. Nor are they if all logs are of one host
 * and is_for_log is set, because commands correct the times of the new log when they read it. Bounds are then those of
 * the uncorrected times. */
void ptrc_hosts_begin(struct ptrc_hosts *, struct ptrc_reader *const *readers, size_t count,
		      bool is_for_log);

/* The greatest error of the corrected time `ns` of an event of the source, or PTRC_BOUND_UNKNOWN. */
int64_t ptrc_hosts_bound(const struct ptrc_hosts *, size_t source, int64_t ns);

/* Called for each event in the merged order. Counts the event as uncertain if it may have come before the preceding
 * event. */
void ptrc_hosts_note(struct ptrc_hosts *, size_t source, const struct ptrc_reader *);

/* Resets what ptrc_hosts_note() has counted, before all events are read again. */
void ptrc_hosts_forget(struct ptrc_hosts *);

/* Reports the hosts whose events have an uncertain order. */
void ptrc_hosts_report(const struct ptrc_hosts *);

void ptrc_hosts_json(const struct ptrc_hosts *, struct ptrc_json *);

void ptrc_hosts_free(struct ptrc_hosts *);

/* Whether both logs are from the same boot of the same machine and have the same host name, so that a process number
 * means the same process in both. */
bool ptrc_hosts_is_same_machine(const struct posixtrace_log_host *,
				const struct posixtrace_log_host *);

#endif
