/* SPDX-License-Identifier: MIT */
/*
 * Compares the clocks of hosts by the messages between them. The user names the events of sending and receiving,
 * and the field that identifies a message. For each two hosts with messages between them, line.h estimates how
 * far their clocks are apart. The best clock of a group of connected hosts is the reference; the other hosts are
 * linked to it along the most exact links.
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
	/* The host that it was compared with, and the messages from there and to there. */
	size_t other;
	uint64_t from_other, to_other;
	/* How far it is ahead of the reference in the middle of its messages, the change of this offset per
	 * second, and the largest error of the offset at its messages. */
	int64_t offset_ns;
	double drift;
	int64_t bound_ns;
	/* By how much the messages contradict each other; 0: they do not. */
	int64_t slack_ns;
	/* The messages contradict the errors that the clocks state. */
	bool is_contradicted;
};

/* Starts zeroed. */
struct ptrc_sync {
	/* The kinds of messages: pairs of sending and receiving. */
	struct ptrc_pairs messages;
	struct ptrc_hosts *hosts;
	struct ptrc_sync_host *list; /* indexed by host; NULL if nothing was compared */
	size_t reference;
	/* Receiving events whose key several hosts have sent, or whose message was not received as often as sent. */
	uint64_t ambiguous_count;
	/* Messages whose times of sending or receiving are not known. */
	uint64_t doubtful_count;
};

/* Parses the values of --clock-sync=SEND..RECEIVE by FIELD. Ends the process if one is not valid. */
void ptrc_sync_read(struct ptrc_sync *, const struct ptrc_cli_texts *, const struct ptrc_layouts *);

/*
 * Compares the clocks of the query's hosts and links their corrections, which the readers use. Reads all logs
 * once, notes which are damaged, and rewinds them. Returns false after a message if there are no messages.
 */
bool ptrc_sync_hosts(struct ptrc_sync *, struct ptrc_query *);

void ptrc_sync_report(const struct ptrc_sync *);

void ptrc_sync_free(struct ptrc_sync *);

#endif
