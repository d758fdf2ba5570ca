/* SPDX-License-Identifier: MIT */
/* --follow: sends logs that appear and grow in a directory, or the log of a session. */
#ifndef PTRC_SRC_SHIP_FOLLOW_H
#define PTRC_SRC_SHIP_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "src/ship/ship.h"

struct ptrc_ship_follow {
	struct ptrc_shipper *shipper;
	/* Time between the starts of two rounds. */
	int64_t interval_ns;
	/* The shortened first pause is over. */
	bool has_paused;
	uint64_t sent_count;
	/* --remove-shipped: removes a closed log once the server has all of it. Damaged logs stay, as they may
	 * be the only source to rescue events from. */
	bool is_removing;
	/* Called with a log that will not grow any more, and with the others when the command ends. */
	void (*report)(const char *path, const struct ptrc_ship_report *);
	/* A log that was sent whole lacks events. */
	bool is_incomplete;
	bool has_failed;
};

/*
 * Sends the logs of a directory until a signal comes (PTRC_SHIP_STOPPED). Skips files that are no logs. If
 * one log cannot be sent, prints a message, sends the others, and tries it again once its files have changed.
 */
enum ptrc_ship_result ptrc_ship_directory(struct ptrc_ship_follow *, const char *directory);

/*
 * Sends the events of a session until it ends (PTRC_SHIPPED_WHOLE); each round flushes the session's log
 * first. Refuses a session without a log, as nothing would keep its events until the server has them.
 */
enum ptrc_ship_result ptrc_ship_session(struct ptrc_ship_follow *, const char *session);

#endif
