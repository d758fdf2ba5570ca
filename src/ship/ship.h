/* SPDX-License-Identifier: MIT */
/*
 * Sends logs to a server so that the server gets each event exactly once, whichever process is killed at any
 * moment.
 *
 * The log on the disk is the queue; there is no other. Events are sent in batches. The bounds of a batch are
 * written into the progress file before its first byte is sent, and the batch is sent until the server
 * confirms it. Before a batch whose answer is unknown is sent again, the server is asked which of the batch's
 * rows it has. All rows of a batch are of the same day, and so in the same partition of the table, and form a single
 * block. So the server takes all of them or none. If it has a part of a batch nevertheless, only the rest is
 * sent.
 */
#ifndef PTRC_SRC_SHIP_SHIP_H
#define PTRC_SRC_SHIP_SHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "src/ship/progress.h"
#include "src/ship/server.h"
#include "src/query/losses.h"

struct ptrc_ship_log;

enum { PTRC_SHIP_BATCH_BYTES = 4 << 20, PTRC_SHIP_TOLD_SETS = 4096, PTRC_SHIP_TOLD_WAYS = 8 };

struct ptrc_shipper {
	struct ptrc_ship_server *server;
	/* The directory of the progress files; NULL: each progress file is in the directory of its log. */
	const char *state_directory;
	/* The approximate size at which a batch is full, in compressed bytes. */
	uint64_t batch_bytes;
	/* --follow: logs may still be written, so the losses of a log are not reported before it is closed. */
	bool is_following;

	/* ptrc_ship_greet() has succeeded. */
	bool is_greeted;
	/* A set-associative cache of the rows about hosts and processes that were sent: their hashes, in each
	 * set the latest first; 0 in unused entries. With the cache, a log that is opened again does not
	 * cause all its processes to be sent again. A row that has dropped out of the cache is sent again,
	 * which the tables allow. */
	uint64_t told[PTRC_SHIP_TOLD_SETS][PTRC_SHIP_TOLD_WAYS];
	/* Sums of what was sent. .retries counts requests that had to be repeated. */
	struct ptrc_ship_sent {
		uint64_t rows;
		uint64_t batches;
		uint64_t bytes;
		uint64_t retries;
	} sent;
};

enum ptrc_ship_result {
	/* The server has all events that the log has now. */
	PTRC_SHIPPED,
	/* The server has all events of the log, and the log was closed. */
	PTRC_SHIPPED_WHOLE,
	/* This log cannot be sent. A message says why. */
	PTRC_SHIP_LOG_FAILED,
	/* The server will not take anything. A message says why. */
	PTRC_SHIP_SERVER_FAILED,
	/* A signal has come. */
	PTRC_SHIP_STOPPED,
};

/* The result of sending a log, at once or, with --follow, in several rounds. */
struct ptrc_ship_report {
	enum ptrc_ship_result result;
	struct ptrc_ship_sent sent;
	/* The log could be opened, so the following members are set. */
	bool is_open;
	/* The log's identifier in the tables, 16 hexadecimal digits. */
	char name[17];
	/* The server has confirmed all rows before this place. */
	struct ptrc_ship_place place;
	struct ptrc_losses losses;
	/* This ptrace-ship process, or an earlier one, has found a part of the log damaged. */
	bool is_damaged;
};

/* Connects to the server and checks its tables. Returns PTRC_SHIPPED or the kind of failure. */
enum ptrc_ship_result ptrc_ship_greet(struct ptrc_shipper *);

enum ptrc_ship_result ptrc_ship_create(struct ptrc_shipper *);

/* Waits for this time, or until a signal comes. Returns false if a signal has come. */
bool ptrc_ship_wait(struct ptrc_shipper *, int64_t ns);

/* Returns a random time that is at least 0 and less than ns, which must not be 0. */
int64_t ptrc_ship_part_of(int64_t ns);

/* Removes the progress file (progress.h) of a log that was removed. */
void ptrc_ship_forget(struct ptrc_shipper *, const char *path);

/* Sends the rows of a log that the server does not have. Adds to the report, which starts zeroed or is that
 * of the last round. If `kept' is not NULL, *kept is the log that the last round left open, or NULL. The
 * function leaves the log open there if the next round can continue with it. */
enum ptrc_ship_result ptrc_ship_log(struct ptrc_shipper *, const char *path,
				    struct ptrc_ship_log **kept, struct ptrc_ship_report *);

/* Closes the log that ptrc_ship_log() has left open, if there is one. */
void ptrc_ship_let_go(struct ptrc_ship_log **kept);

/* Whether everything in the log was sent, but events are missing from the log itself, as ptrc_ship_log() has
 * already reported to the user. */
bool ptrc_ship_is_incomplete(const struct ptrc_shipper *, const struct ptrc_ship_report *);

#endif
