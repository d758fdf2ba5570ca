/* SPDX-License-Identifier: MIT */
/*
 * The progress file of a log: how many of its rows the server has confirmed, and which batch may be on its
 * way to the server. The file is replaced, by renaming a new one, before a batch is sent and after the server
 * has answered. So if ptrace-ship was killed and is started again, it sends the batch again with the same
 * deduplication token, by which the server recognizes a batch, or finds that the server has the rows.
 */
#ifndef PTRC_SRC_SHIP_PROGRESS_H
#define PTRC_SRC_SHIP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* A place between two events of a log. */
struct ptrc_ship_place {
	/* The number of the part (a piece of the log), and how many of its events are before the place. */
	uint64_t part;
	uint64_t events;
	/* The number of rows of all events before the place. It is also the number of the next row. */
	uint64_t rows;
	/* Whether a loss has begun, with an OVERFLOW or with the STOP of a full stream, and has not ended. */
	bool is_in_loss;
	/* If is_in_loss, events are missing from this time on, in ns since 1970. */
	int64_t loss_ns;
};

/* Rows that were sent, and for which the server's answer is unknown. They start at .place of the progress file. */
struct ptrc_ship_batch {
	/* The number of rows; 0 if the answers for all rows sent are known. */
	uint64_t count;
	/* The earliest and the latest time of the rows. */
	int64_t first_ns;
	int64_t last_ns;
};

struct ptrc_ship_progress {
	char *path;
	/* The descriptor of the file, which holds the lock; -1 while the file is closed. */
	int fd;
	/* The file was just created and has no content yet. */
	bool is_empty;
	uint64_t log_id;
	/* A random number that distinguishes the batches of this file from those of another progress file for
	 * the same log. */
	uint64_t nonce;
	char *server;
	char *database;
	/* The server has confirmed all rows before this place. */
	struct ptrc_ship_place place;
	struct ptrc_ship_batch batch;
	/* 1 + the number of the log's processes that were sent to the server; 0 if neither the host nor
	 * processes were sent yet. */
	uint64_t told;
	/* If a progress file was lost, the server may have rows with numbers below this one; otherwise 0. */
	uint64_t doubtful;
	/* A part of the log was damaged and was not sent. */
	bool is_damaged;
	/* The log was closed, and the server has all of it. */
	bool is_complete;
};

/*
 * Opens the file, and creates it if necessary: if is_empty, the caller sets the members and writes the file. Locks it
 * against other ptrace-ship processes. Returns false, after a message, if that fails, or if ptrc_ship_progress_write()
 * cannot have written the file. The caller closes it even then.
 */
bool ptrc_ship_progress_open(struct ptrc_ship_progress *, const char *path);

/* Replaces the file and waits until it is on the disk. Returns false after a message. */
bool ptrc_ship_progress_write(struct ptrc_ship_progress *);

/* Closes the file. Removes it if it is empty. */
void ptrc_ship_progress_close(struct ptrc_ship_progress *);

#endif
