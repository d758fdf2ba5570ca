/* SPDX-License-Identifier: MIT */
/*
 * What a server has of a log, as a file beside the log tells it: how many rows it has confirmed, and
 * which batch may be on its way. The file is written before a batch is sent and after the server's
 * answer, each time as a new file that takes the place of the old one. So whoever goes on after we were
 * killed sends the same rows again, with the same token, or finds that the server has them.
 */
#ifndef PTRC_SRC_SHIP_PROGRESS_H
#define PTRC_SRC_SHIP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* A place between two events of a log: see struct ptrc_reading_place. */
struct ptrc_ship_place {
	uint64_t part;
	uint64_t events;
	/* The rows that the events before it are; also the number of the next one. */
	uint64_t rows;
};

/* Rows that were sent, and of which no answer is known. */
struct ptrc_ship_batch {
	/* 0: there is none. They are those from the place on. */
	uint64_t count;
	/* The earliest and the latest of their times. */
	int64_t first_ns;
	int64_t last_ns;
};

struct ptrc_ship_progress {
	/* The path of the file. */
	char *path;
	int fd;
	/* It has nothing in it yet. */
	bool is_empty;
	uint64_t log_id;
	/* Tells batches of this file from those of another one that was made for the same log. */
	uint64_t nonce;
	/* The server and its database. */
	char *server;
	char *database;
	/* Up to here the server has everything. */
	struct ptrc_ship_place place;
	struct ptrc_ship_batch batch;
	/* One more than the processes of the log of which the server was told; 0: of nothing yet. */
	uint64_t told;
	/* The server may have rows below this number that the file does not tell of. */
	uint64_t doubtful;
	/* Something of what was sent could not be read, as the log is damaged. */
	bool is_damaged;
	/* The log was closed, and the server has all of it. */
	bool is_complete;
};

enum ptrc_ship_progress_result {
	PTRC_SHIP_PROGRESS_READ,
	/* There was none. It is for the caller to set the members and write it. */
	PTRC_SHIP_PROGRESS_NEW,
	/* A message was printed. */
	PTRC_SHIP_PROGRESS_FAILED,
};

/*
 * Opens the file, makes it if there is none, and locks it, so that no other ptrace-ship has it. A file
 * that says something else than this writes is refused.
 */
enum ptrc_ship_progress_result ptrc_ship_progress_open(struct ptrc_ship_progress *,
						       const char *path);

/* Writes it, and waits until it is on the disk. Returns false after a message. */
bool ptrc_ship_progress_write(struct ptrc_ship_progress *);

/* Removes the file if it is empty. */
void ptrc_ship_progress_close(struct ptrc_ship_progress *);

#endif
