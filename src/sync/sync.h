/* SPDX-License-Identifier: MIT */
/*
 * Compares the clocks of hosts by the messages between them. The user names the events of sending and receiving,
 * and the field that identifies a message. For each two hosts with messages between them, line.h estimates how
 * far their clocks are apart. In the largest group of hosts that messages connect, the host with the best clock is
 * the reference; the other hosts of the group are linked to it along the most exact links.
 */
#ifndef PTRC_SRC_SYNC_SYNC_H
#define PTRC_SRC_SYNC_SYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cli.h"
#include "src/spans/pairs.h"
#include "src/query/query.h"

struct ptrc_sync_host {
	struct ptrc_clock_link link;
	bool is_linked;
	/* The index of the host with which this host was compared. */
	size_t other;
	/* The numbers of messages from that host to this one, and from this one to that host. */
	uint64_t from_other, to_other;
	/* The nanoseconds by which this host's clock is ahead of that of the reference, in the
	 * middle of the time of its messages. */
	int64_t offset_ns;
	/* The growth of offset_ns, in seconds per second. */
	double drift;
	/* The largest error of offset_ns at the time of a message. */
	int64_t bound_ns;
	/* The nanoseconds by which the messages contradict each other; 0 if they do not. */
	int64_t slack_ns;
	/* The messages contradict the errors that the clocks state themselves. */
	bool is_contradicted;
};

/* Starts zeroed. */
struct ptrc_sync {
	/* The kinds of messages, each a pair of a sending and a receiving event. */
	struct ptrc_pairs messages;
	struct ptrc_hosts *hosts;
	struct ptrc_sync_host *list; /* indexed by host; NULL if nothing was compared */
	size_t count;		     /* of list */
	size_t reference;
	/* The number of receiving events that could not be matched: several hosts have sent a message with
	 * their key, or a message was not received as often as it was sent. */
	uint64_t ambiguous_count;
	/* The number of messages for which the time of sending or of receiving is not known. */
	uint64_t doubtful_count;
};

/* Parses the values of --clock-sync=SEND..RECEIVE by FIELD. Ends the process if one is not valid. */
void ptrc_sync_read(struct ptrc_sync *, const struct ptrc_cli_texts *, const struct ptrc_layouts *);

/*
 * Compares the clocks of the query's hosts and stores the links between them in the corrections, by which readers
 * convert times. Reads all logs once, notes which of them are damaged, and rewinds them. Returns false, after a
 * message, if a log cannot be read or there are no messages between hosts.
 */
bool ptrc_sync_hosts(struct ptrc_sync *, struct ptrc_query *);

void ptrc_sync_report(const struct ptrc_sync *);

void ptrc_sync_free(struct ptrc_sync *);

#endif
