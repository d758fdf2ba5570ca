/* SPDX-License-Identifier: MIT */
/*
 * The progress file of a log: how many of its rows the server has confirmed, and which batch may be on its
 * way. It is replaced, by rename, before a batch is sent and after the server has answered. So a ptrace-ship
 * that continues after a crash sends the same rows with the same token, or finds that the server has them.
 */
#ifndef PTRC_SRC_SHIP_PROGRESS_H
#define PTRC_SRC_SHIP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* A place between two events of a log: see struct ptrc_reading_place. */
struct ptrc_ship_place {
	uint64_t part;
	uint64_t events;
	/* The rows of the events before the place; also the number of the next row. */
	uint64_t rows;
	/* Events are missing from this time to the next event that ends a loss: an OVERFLOW, or a STOP of a
	 * full stream, came before. */
	bool is_in_loss;
	int64_t loss_ns;
};

/* Rows that were sent without a known answer. They start at the confirmed place. */
struct ptrc_ship_batch {
	/* 0: there is no such batch. */
	uint64_t count;
	/* The earliest and the latest of their times. */
	int64_t first_ns;
	int64_t last_ns;
};

struct ptrc_ship_progress {
	char *path;
	/* Holds the lock; -1 while closed. */
	int fd;
	/* The file has no content yet. */
	bool is_empty;
	uint64_t log_id;
	/* Distinguishes the batches of this file from those of another progress file for the same log. */
	uint64_t nonce;
	char *server;
	char *database;
	/* The server has confirmed everything before this place. */
	struct ptrc_ship_place place;
	struct ptrc_ship_batch batch;
	/* 1 + the number of the log's processes that were sent to the server; 0: host and processes were not
	 * sent yet. */
	uint64_t told;
	/* The server may have unconfirmed rows below this number. */
	uint64_t doubtful;
	/* A part of the log was damaged and was not sent. */
	bool is_damaged;
	/* The log was closed, and the server has all of it. */
	bool is_complete;
};

enum ptrc_ship_progress_result {
	PTRC_SHIP_PROGRESS_READ,
	/* The file is new: the caller sets the members and writes it. */
	PTRC_SHIP_PROGRESS_NEW,
	/* A message was printed. */
	PTRC_SHIP_PROGRESS_FAILED,
};

/*
 * Opens the file, creates it if necessary, and locks it against other ptrace-ship processes. Refuses a file
 * that ptrc_ship_progress_write() cannot have written.
 */
enum ptrc_ship_progress_result ptrc_ship_progress_open(struct ptrc_ship_progress *,
						       const char *path);

/* Replaces the file and waits until it is on the disk. Returns false after a message. */
bool ptrc_ship_progress_write(struct ptrc_ship_progress *);

/* Closes the file, and removes it if it is empty. */
void ptrc_ship_progress_close(struct ptrc_ship_progress *);

#endif
