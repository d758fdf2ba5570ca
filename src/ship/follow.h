/* SPDX-License-Identifier: MIT */
/*
 * Sends what comes: logs that appear and grow in a directory, or the log of a session.
 */
#ifndef PTRC_SRC_SHIP_FOLLOW_H
#define PTRC_SRC_SHIP_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "src/ship/ship.h"

struct ptrc_ship_follow {
	struct ptrc_shipper *shipper;
	/* How often to look. */
	int64_t interval_ns;
	/* The first pause is over. */
	bool has_turn;
	/* How many logs were sent. */
	uint64_t turn;
	/* A log that was closed is removed once the server has all of it; but not one that is damaged, as it
	 * may be rescued from nothing else. */
	bool is_removing;
	/* Is called with a log when nothing more will come of it, or the command ends. */
	void (*tell)(const char *path, const struct ptrc_ship_report *);
	/* A log that was sent as a whole lacks events; or one could not be sent. */
	bool is_incomplete;
	bool has_failed;
};

/*
 * Sends the logs of a directory, until a signal comes: PTRC_SHIP_STOPPED. Files that are no logs are left
 * alone. Of a log that cannot be sent, which a message tells, the others are still sent; it is tried again
 * when it has changed.
 */
enum ptrc_ship_result ptrc_ship_directory(struct ptrc_ship_follow *, const char *directory);

/*
 * Sends the events of a session, which it has flushed to its log as often as it looks, until the session
 * ends: PTRC_SHIPPED_WHOLE. A session without a log is refused, as nothing would keep its events.
 */
enum ptrc_ship_result ptrc_ship_session(struct ptrc_ship_follow *, const char *session);

#endif
