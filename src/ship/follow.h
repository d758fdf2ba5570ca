/* SPDX-License-Identifier: MIT */
/* ptrace-ship --follow: sends the logs that appear and grow in a directory, or the log of a session. */
#ifndef PTRC_SRC_SHIP_FOLLOW_H
#define PTRC_SRC_SHIP_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "src/ship/ship.h"

struct ptrc_ship_follow {
	struct ptrc_shipper *shipper;
	/* The time between the starts of two rounds. */
	int64_t interval_ns;
	/* The first pause between rounds, which has a random length, has begun. */
	bool has_paused;
	/* How many times a log was sent, all logs and rounds together. */
	uint64_t sent_count;
	/* --remove-shipped: a closed log is removed when the server has all of it. Damaged logs are not
	 * removed, because they may be the only source from which events can be rescued. */
	bool is_removing;
	/* Called with a log that was sent whole, cannot be sent or is gone. Also called at the end of the command,
	 * with each log that was sent since the last call for this log. */
	void (*report)(const char *path, const struct ptrc_ship_report *);
	/* At least one log was sent completely, but the log itself lacks events. */
	bool is_incomplete;
	bool has_failed;
};

/*
 * Sends the logs of a directory until a signal comes (PTRC_SHIP_STOPPED). Skips files that are not logs. If a
 * log cannot be sent, prints a message, sends the other logs, and tries that log again when its files have
 * changed.
 */
enum ptrc_ship_result ptrc_ship_directory(struct ptrc_ship_follow *, const char *directory);

/*
 * Sends the events of a session until the session ends (PTRC_SHIPPED_WHOLE). Each round flushes the session's
 * log first. Refuses a session without a log, because nothing would keep its events until the server has
 * them.
 */
enum ptrc_ship_result ptrc_ship_session(struct ptrc_ship_follow *, const char *session);

#endif
