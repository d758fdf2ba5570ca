/* SPDX-License-Identifier: MIT */
/*
 * The hosts of logs: their names, the comparison of their clocks, and the events whose order is uncertain.
 *
 * A host is a machine that was booted once, since all its logs have the same clocks: there is no error between logs of
 * one host, and each of them adds readings of CLOCK_REALTIME. If that clock was stepped, times neither jump nor run
 * back: the readings between two steps that are best apply to all times. Best are those with the least error; the
 * latest of equal ones.
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
	int64_t offset_ns; /* CLOCK_REALTIME - CLOCK_BOOTTIME */
	int64_t window_ns; /* the duration of the reading */
	int64_t error_ns;  /* or PTRC_BOUND_UNKNOWN */
	bool is_synchronized;
};

struct ptrc_host {
	/* Its label, else its own name, else the path of its first log. */
	const char *name;
	char own_name[256];
	/* Both are empty if the log does not have them; the host then has only this log. */
	char machine_id[128], boot_id[128];
	/* In the order of time. Those from `first` to before `last` are used: the clock was not stepped between them. */
	struct ptrc_host_reading *readings;
	size_t reading_count;
	size_t first, last;
	size_t log_count;
	bool is_synchronized;
	/* The greatest error of its time between readings. */
	int64_t worst_ns;
	/* The order of an event and one of another host is uncertain, and the greatest error of its time there. */
	bool is_uncertain;
	int64_t uncertain_ns;
	/* It is the reference, or was compared with that: the number of messages, the time by which its own clock is ahead,
	 * and the growth of that (1: a second each second). */
	bool is_linked;
	uint64_t message_count;
	int64_t offset_ns;
	double drift;
};

/* Starts zeroed. */
struct ptrc_hosts {
	struct ptrc_host *list;
	size_t count;
	/* The host and the correction of each source. */
	size_t *host_of;
	struct ptrc_correction *corrections;
	struct ptrc_reader **readers;
	size_t source_count;
	/* The host whose clock the linked hosts follow, or NULL. */
	const struct ptrc_host *reference;
	/* The latest event. */
	bool has_last;
	size_t last_source;
	int64_t last_ns, last_log_ns;
	/* Events that follow one of another host, and those among them that may have preceded it. */
	uint64_t neighbour_count, uncertain_count;
};

/* Refuses a --label that is not NAME=LOG, or whose LOG is no operand. */
void ptrc_labels_check(const struct ptrc_cli_texts *labels, char *const *operands, size_t count);

/* The label of an operand, which the caller frees, or NULL. */
char *ptrc_labels_find(const struct ptrc_cli_texts *labels, const char *operand);

/* Finds the hosts of the open readers, and gives each reader its correction and the label of its host. The times of a
 * single log are not corrected, nor those of logs of one host that become a new log (is_for_log), whose readers will
 * correct them. Their bounds then tell how wrong these times are. */
void ptrc_hosts_begin(struct ptrc_hosts *, struct ptrc_reader *const *readers, size_t count,
		      bool is_for_log);

/* How wrong the time of an event of the source may be, or PTRC_BOUND_UNKNOWN. */
int64_t ptrc_hosts_bound(const struct ptrc_hosts *, size_t source, int64_t ns);

/* Called for each event in the merged order: notes where that order is uncertain. */
void ptrc_hosts_note(struct ptrc_hosts *, size_t source, const struct ptrc_reader *);

/* Forgets what was noted, before all events come again. */
void ptrc_hosts_forget(struct ptrc_hosts *);

/* Reports the hosts whose events have an uncertain order. */
void ptrc_hosts_report(const struct ptrc_hosts *);

/* Puts the member "hosts". */
void ptrc_hosts_json(const struct ptrc_hosts *, struct ptrc_json *);

void ptrc_hosts_free(struct ptrc_hosts *);

/* Whether both logs say that they are of the same machine, booted once, so a process number means the same process in
 * both. */
bool ptrc_hosts_is_same_machine(const struct posixtrace_log_host *,
				const struct posixtrace_log_host *);

#endif
