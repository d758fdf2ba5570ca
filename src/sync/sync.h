/* SPDX-License-Identifier: MIT */
/*
 * Clocks of hosts compared by the messages between them. The user says by which events messages are sent
 * and received, and which field tells them from one another. Of each two hosts between which there are
 * messages, line.h finds how far their clocks are apart. Of hosts that are connected in this way, one is the
 * reference, whose clock is best; the others are linked to it along the links that tell most exactly.
 */
#ifndef PTRC_SRC_SYNC_SYNC_H
#define PTRC_SRC_SYNC_SYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cli.h"
#include "src/spans/pairs.h"
#include "src/query/query.h"

/* What was found of a host. */
struct ptrc_sync_host {
	struct ptrc_clock_link link;
	bool is_linked;
	/* The host that it was compared with, and the messages from that one and to it. */
	size_t other;
	uint64_t from_other, to_other;
	/* By the reference, in the middle between its messages: how far its own time is ahead, how much of
	 * that it gains in a second, and how wrong this may be where its messages are. */
	int64_t offset_ns;
	double drift;
	int64_t bound_ns;
	/* No line is right for all messages: by so much; the messages contradict what the clocks say. */
	int64_t slack_ns;
	bool is_contradicted;
};

/* Starts zeroed. */
struct ptrc_sync {
	/* What a message is: its begin is sent, its end received. */
	struct ptrc_pairs messages;
	struct ptrc_hosts *hosts;
	struct ptrc_sync_host *list; /* by host; null: nothing was compared */
	size_t reference;
	/* Events whose key more than one host has sent, or that were sent more often than received. */
	uint64_t ambiguous_count;
	/* Messages of which nobody knows when they were sent or received. */
	uint64_t doubtful_count;
};

/* Reads --clock-sync=SEND..RECEIVE by FIELD, which may have been given several times; refuses what is none. */
void ptrc_sync_read(struct ptrc_sync *, const struct ptrc_cli_texts *, const struct ptrc_layouts *);

/*
 * Compares the clocks of the hosts of the query, and links their corrections, which the readers have. Reads the
 * logs once, and goes back to their starts; notes which of them are damaged. Returns false, after a message, if
 * there is nothing to compare by.
 */
bool ptrc_sync_hosts(struct ptrc_sync *, struct ptrc_query *);

/* Says what was found of each host. */
void ptrc_sync_report(const struct ptrc_sync *);

void ptrc_sync_free(struct ptrc_sync *);

#endif
