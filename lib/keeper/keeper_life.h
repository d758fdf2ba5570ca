/* SPDX-License-Identifier: MIT */
/*
 * The life of a keeper, from the first instruction to the end of the process: in a program of its
 * own, or in a forked copy of the process that started it. Freestanding.
 */
#ifndef PTRC_LIB_KEEPER_KEEPER_LIFE_H
#define PTRC_LIB_KEEPER_KEEPER_LIFE_H

#include <stdbool.h>
#include <stdint.h>

struct ptrc_stream_header;
struct ptrc_keeper_work;

/* The purpose of a keeper. The program's arguments are "new", "restart" or "orphan", and its number
 * in decimal digits. */
enum ptrc_keeper_task {
	PTRC_KEEPER_NEW,     /* begin a log */
	PTRC_KEEPER_RESTART, /* continue the log of a killed keeper */
	PTRC_KEEPER_ORPHAN,  /* finish the log of a keeper that died with its controller */
};

/* The keeper's descriptors. */
#define PTRC_KEEPER_LOG_FD 3
#define PTRC_KEEPER_STREAM_FD 4
#define PTRC_KEEPER_NAMES_FD 5 /* may be missing for an orphan */
#define PTRC_KEEPER_DIR_FD 6
#define PTRC_KEEPER_FD_COUNT 4

/* Lives the life of a keeper. Called with all signals blocked, and with no descriptors open but
 * those above and 0 to 2. `number` is the value of header.keeper_number for which the keeper was
 * started. */
__attribute__((noreturn)) void ptrc_keeper_live(enum ptrc_keeper_task task, uint32_t number);

/* The controller has died. If processes of its trace go on, has the log say so: their later events are
 * missing. They are those that map the stream, which must not have ended. Called before recording ends:
 * processes that were killed together with the controller record until they end, so their log is complete.
 * work: flushes the stream meanwhile; NULL: does not. */
void ptrc_keeper_note_users(struct ptrc_stream_header *h, int stream_fd, bool is_orphan,
			    struct ptrc_keeper_work *work);

#endif
