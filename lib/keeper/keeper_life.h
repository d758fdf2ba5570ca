/* SPDX-License-Identifier: MIT */
/*
 * The main function of a keeper, which is a program of its own, or a forked copy of the process
 * that started it. Freestanding: makes raw system calls only.
 */
#ifndef PTRC_LIB_KEEPER_KEEPER_LIFE_H
#define PTRC_LIB_KEEPER_KEEPER_LIFE_H

#include <stdbool.h>
#include <stdint.h>

struct ptrc_stream_header;
struct ptrc_keeper_work;

/* The purpose of a keeper. The program's arguments are "new", "restart" or "orphan", and the
 * keeper's number in decimal digits. */
enum ptrc_keeper_task {
	PTRC_KEEPER_NEW,     /* begin a log */
	PTRC_KEEPER_RESTART, /* continue the log of a killed keeper */
	PTRC_KEEPER_ORPHAN,  /* finish the log of an orphan (stream of a dead controller) */
};

#define PTRC_KEEPER_LOG_FD 3
#define PTRC_KEEPER_STREAM_FD 4
#define PTRC_KEEPER_NAMES_FD 5 /* may be missing for an orphan, a stream of a dead controller */
#define PTRC_KEEPER_DIR_FD 6
#define PTRC_KEEPER_FD_COUNT 4

/* Runs the keeper until it ends. Called with all signals blocked, and with no descriptors open but
 * those above and 0 to 2. `number` is the value of header.keeper_number for which the keeper was
 * started. */
__attribute__((noreturn)) void ptrc_keeper_live(enum ptrc_keeper_task task, uint32_t number);

/* Called when the controller has died: counts the traced processes that go on, for the end of the
 * log, which will lack their later events. Counts a process that maps the stream or is the target,
 * if it is still alive 100 ms later. This is done before recording is stopped, because processes
 * that were killed together with the controller record until they end, and the log gets these
 * events. work: if not NULL, the stream is flushed meanwhile, so that it does not become full. */
void ptrc_keeper_note_users(struct ptrc_stream_header *h, int stream_fd,
			    struct ptrc_keeper_work *work);

#endif
