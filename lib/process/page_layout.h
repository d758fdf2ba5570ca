/* SPDX-License-Identifier: MIT */
/*
 * The page `p.<pid>` of a process that is traced or has opened a name. The page lists the streams
 * that trace the process. (bell.h describes processes without a page.) Its layout never changes:
 * see lib/base/shared_version.h. A page is made by open, fallocate and mmap. A page that is all
 * zeros is a valid empty page, so no other process ever sees a half-made page.
 *
 * There are OFD locks on the file. A process that changes the slots, the names or the identity
 * holds a write lock on byte 0. The process to which the page belongs holds a read lock on byte 1.
 * Its mapping keeps this lock until the process ends or executes another program, so other
 * processes can see whether the program still runs.
 */
#ifndef PTRC_LIB_PROCESS_PAGE_LAYOUT_H
#define PTRC_LIB_PROCESS_PAGE_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/common.h"

#define PTRC_PAGE_SLOT_COUNT 64U
#define PTRC_PAGE_SIZE 4096U

/* Flag: children of the process join the stream, too. */
#define PTRC_PAGE_SLOT_INHERITED 1U
/* Flag: the process itself controls the stream, so an exec ends the stream, and the next program
 * clears the slot. */
#define PTRC_PAGE_SLOT_SELF 2U
/* Flag: the process is a descendant of the stream's target, not the target itself. */
#define PTRC_PAGE_SLOT_JOINED 4U

/* A stream that traces this process. */
struct ptrc_page_slot {
	/* The identifier of the stream; 0: the slot is free. It is stored after the other members, and before
	 * the bit in `active` is set. It is cleared before that bit is cleared. */
	_Atomic uint64_t stream_id;
	/* Children that started at this time or later join the stream. The clock is CLOCK_BOOTTIME; the time
	 * is a multiple of a tick of 10 ms. */
	_Atomic uint64_t attach_ns;
	_Atomic uint32_t flags;
	/* Why the process has failed to map the stream (ptrc_refusal); 0: it has not failed. */
	_Atomic uint32_t error;
	_Atomic uint64_t names_id;
};
_Static_assert(sizeof(struct ptrc_page_slot) == 32, "page slot");

struct ptrc_page {
	/* Bit i: slots[i] has a stream. Every event call loads this word; if it is 0, the event is
	 * not recorded. */
	_Atomic uint64_t active;
	/* When the process started (field 22 of its stat). This distinguishes it from a later process with
	 * the same pid. */
	_Atomic uint64_t start_ticks;
	/* The identity of the program that runs now; 0: no program with the library has run yet. */
	_Atomic uint64_t image;
	_Atomic uint64_t names_id; /* id of the names object (event names); 0: none */
	/* A forked child that has joined no stream keeps the ids of its parent's names. While names_id is 0,
	 * its names are the first names_from_count names of the object names_from. Before it adds a name, it
	 * copies them into an object of its own. From then on the count does not change. */
	_Atomic uint64_t names_from;
	_Atomic uint32_t names_from_count;
	uint32_t pad;
	_Atomic uint64_t reserved[26];
	struct ptrc_page_slot slots[PTRC_PAGE_SLOT_COUNT];
};
_Static_assert(sizeof(struct ptrc_page) <= PTRC_PAGE_SIZE, "one page");

/* The offsets are the same in all releases 1.x (lib/base/shared_version.h). */
PTRC_ASSERT_OFFSET(struct ptrc_page, active, 0);
PTRC_ASSERT_OFFSET(struct ptrc_page, start_ticks, 8);
PTRC_ASSERT_OFFSET(struct ptrc_page, image, 16);
PTRC_ASSERT_OFFSET(struct ptrc_page, names_id, 24);
PTRC_ASSERT_OFFSET(struct ptrc_page, names_from, 32);
PTRC_ASSERT_OFFSET(struct ptrc_page, names_from_count, 40);
PTRC_ASSERT_OFFSET(struct ptrc_page, slots, 256);
PTRC_ASSERT_OFFSET(struct ptrc_page_slot, stream_id, 0);
PTRC_ASSERT_OFFSET(struct ptrc_page_slot, attach_ns, 8);
PTRC_ASSERT_OFFSET(struct ptrc_page_slot, flags, 16);
PTRC_ASSERT_OFFSET(struct ptrc_page_slot, error, 20);
PTRC_ASSERT_OFFSET(struct ptrc_page_slot, names_id, 24);

#endif
