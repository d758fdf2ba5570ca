/* SPDX-License-Identifier: MIT */
/*
 * Sends logs to a server, so that it has each event once, whoever is killed at any moment.
 *
 * The log on the disk is what waits: nothing of it is kept elsewhere. Its events go in batches, whose ends
 * are written into the progress file before the first byte is sent, and which are sent as often as it takes.
 * Before a batch of which no answer is known is sent again, the server is asked which of its rows it has.
 * A batch has rows of one day, which the server keeps in one partition, and is one block for it, so it takes
 * a batch as a whole or not at all; if it has a part of it nevertheless, only the rest is sent.
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
	/* Where progress files are; null: beside their logs. */
	const char *state_directory;
	/* A batch has about so many bytes at most, as they are sent. */
	uint64_t batch_bytes;
	/* Logs that are not closed are expected: nothing is said of them. */
	bool is_following;

	/* It has said of which version it and its tables are. */
	bool is_greeted;
	/* While a batch is delivered, only that counts as success: a server may answer questions and take no
	 * rows. */
	bool is_delivering;
	/* What the server was told lately of machines and processes, a number for each row; those of a set begin with
	 * what was told last; 0: there is none. A log that is read anew tells of all its processes once more; by this only those are
	 * sent that are new. What was told long ago is
	 * forgotten first, and would be sent once more, which the server's tables bear. */
	uint64_t told[PTRC_SHIP_TOLD_SETS][PTRC_SHIP_TOLD_WAYS];
	/* Sent in all; and how often something had to be tried again. */
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
	/* This log cannot be shipped. A message says why. */
	PTRC_SHIP_LOG_FAILED,
	/* The server takes nothing, and will not. A message says why. */
	PTRC_SHIP_SERVER_FAILED,
	/* A signal has come. */
	PTRC_SHIP_STOPPED,
};

/* What came of a log. */
struct ptrc_ship_report {
	enum ptrc_ship_result result;
	/* Since the report was made. */
	struct ptrc_ship_sent sent;
	/* Of one that could be opened: its name in the tables, up to where the server has confirmed it, and what
	 * it lacks. */
	bool is_open;
	char name[17];
	struct ptrc_ship_place place;
	struct ptrc_losses losses;
	/* Something of it could not be read, now or before. */
	bool is_damaged;
};

/* Asks the server who it is. Returns PTRC_SHIPPED, or what has failed. */
enum ptrc_ship_result ptrc_ship_greet(struct ptrc_shipper *);

/* Makes the tables. */
enum ptrc_ship_result ptrc_ship_create(struct ptrc_shipper *);

/* Waits for about so long, or until a signal comes: then it returns false. */
bool ptrc_ship_wait(struct ptrc_shipper *, int64_t ns);

/* A part of this time, a random one. */
int64_t ptrc_ship_part_of(int64_t ns);

/* Removes the progress file of the log, which is no more. */
void ptrc_ship_forget(struct ptrc_shipper *, const char *path);

/* Sends what the log at this path has and the server has not. The report, which may be that of the last time,
 * is brought up to date. Unless it is null, `kept' has the log from the last time, or null, and gets it for the
 * next time: of one that was kept, only what is new is looked at. */
enum ptrc_ship_result ptrc_ship_log(struct ptrc_shipper *, const char *path,
				    struct ptrc_ship_log **kept, struct ptrc_ship_report *);

/* Closes a log that was kept, if there is one. */
void ptrc_ship_let_go(struct ptrc_ship_log **kept);

/* Whether all that the log has was sent, and events are missing, which was told. */
bool ptrc_ship_is_incomplete(const struct ptrc_shipper *, const struct ptrc_ship_report *);

#endif
