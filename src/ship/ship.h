/* SPDX-License-Identifier: MIT */
/*
 * Sends logs to a server so that it gets each event exactly once, whichever process is killed at any moment.
 *
 * The log on the disk is the queue; nothing else is kept. Events are sent in batches. The bounds of a batch
 * are written into the progress file before its first byte is sent, and it is sent until it is confirmed.
 * Before a batch without a known answer is sent again, the server is asked which of its rows it has. The rows
 * of a batch are of one day, hence in one partition of the table, and form one block, so the server takes
 * all or none of them. If it has a part of a batch nevertheless, only the rest is sent.
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
	/* The directory of the progress files; NULL: each is in the directory of its log. */
	const char *state_directory;
	/* The most bytes of a batch as it is sent, approximately. */
	uint64_t batch_bytes;
	/* Open logs are expected: their losses are not reported before they are closed. */
	bool is_following;

	/* ptrc_ship_greet() has succeeded. */
	bool is_greeted;
	/* A set-associative cache of the hashes of rows of hosts and processes that were sent; 0: unused. Each
	 * set starts with the latest one. Keeps logs that are opened again from sending all their processes
	 * again. A row that has dropped out is sent twice, which the tables allow. */
	uint64_t told[PTRC_SHIP_TOLD_SETS][PTRC_SHIP_TOLD_WAYS];
	/* Totals; .retries counts requests that had to be repeated. */
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
	/* The same, and the log was closed. */
	PTRC_SHIPPED_WHOLE,
	/* This log cannot be sent. A message says why. */
	PTRC_SHIP_LOG_FAILED,
	/* The server will not take anything. A message says why. */
	PTRC_SHIP_SERVER_FAILED,
	/* A signal has come. */
	PTRC_SHIP_STOPPED,
};

/* The result of sending a log, once or, with --follow, in several rounds. */
struct ptrc_ship_report {
	enum ptrc_ship_result result;
	struct ptrc_ship_sent sent;
	/* The log could be opened, and the following members are set. */
	bool is_open;
	/* The log's name in the tables. */
	char name[17];
	/* The server has confirmed everything before this place. */
	struct ptrc_ship_place place;
	struct ptrc_losses losses;
	/* A part of the log was damaged, now or in an earlier run. */
	bool is_damaged;
};

/* Connects to the server and checks its tables. Returns PTRC_SHIPPED or the failure. */
enum ptrc_ship_result ptrc_ship_greet(struct ptrc_shipper *);

enum ptrc_ship_result ptrc_ship_create(struct ptrc_shipper *);

/* Waits. Returns false if a signal has come. */
bool ptrc_ship_wait(struct ptrc_shipper *, int64_t ns);

/* A random time in [0, ns). */
int64_t ptrc_ship_part_of(int64_t ns);

/* Removes the progress file of a log that was removed. */
void ptrc_ship_forget(struct ptrc_shipper *, const char *path);

/* Sends the rows of a log that the server does not have. Adds to the report, which starts zeroed or is that
 * of the last round. If `kept' is not NULL, *kept is the log that the last round left open, or NULL; the
 * function leaves the log open there if the next round can continue with it. */
enum ptrc_ship_result ptrc_ship_log(struct ptrc_shipper *, const char *path,
				    struct ptrc_ship_log **kept, struct ptrc_ship_report *);

/* Closes a log that was kept, if any. */
void ptrc_ship_let_go(struct ptrc_ship_log **kept);

/* Whether everything in the log was sent and a message has reported that events are missing from it. */
bool ptrc_ship_is_incomplete(const struct ptrc_shipper *, const struct ptrc_ship_report *);

#endif
