/* SPDX-License-Identifier: MIT */
/*
 * The page `p.<pid>` of a process that is traced or has opened a name (bell.h: processes without
 * a page). It is made by open, fallocate and mmap; a page of zeros is a valid empty page, so no
 * other process ever sees a half made one.
 *
 * OFD locks on the file: a process that changes slots, names or identity holds a write lock on
 * byte 0. The process itself holds a read lock on byte 1, which its mapping keeps as long as the
 * image lives, so other processes can see whether the image lives.
 */
#ifndef PTRC_LIB_PROCESS_PAGE_LAYOUT_H
#define PTRC_LIB_PROCESS_PAGE_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define PTRC_PAGE_SLOT_COUNT 64U
#define PTRC_PAGE_SIZE 4096U

/* Children of the process join the stream. */
#define PTRC_PAGE_SLOT_INHERITED 1U
/* The process controls the stream itself, so an exec clears the slot. */
#define PTRC_PAGE_SLOT_SELF 2U
/* The process is not the stream's target but a descendant of it. */
#define PTRC_PAGE_SLOT_JOINED 4U

/* One stream that traces this process. */
struct ptrc_page_slot {
	/* 0: the slot is free. Stored after the other members and before the bit in `active` is
	 * set; cleared before that bit is cleared. */
	_Atomic uint64_t stream_id;
	/* Children that started at this time or later join. CLOCK_BOOTTIME, a multiple of a tick of
	 * 10 ms. */
	_Atomic uint64_t attach_ns;
	_Atomic uint32_t flags;
	/* The errno with which the process failed to map the stream. */
	_Atomic uint32_t error;
	_Atomic uint64_t names_id;
};
_Static_assert(sizeof(struct ptrc_page_slot) == 32, "page slot");

struct ptrc_page {
	/* Bit i: slot i holds a stream. Every event loads this word. */
	_Atomic uint64_t active;
	/* Start time of the process (field 22 of its stat), by which it differs from a later
	 * process with the same pid. */
	_Atomic uint64_t start_ticks;
	/* Identity of the program image that runs now; 0: none with the library has run yet. */
	_Atomic uint64_t image;
	_Atomic uint64_t names_id; /* its names object; 0: it has none */
	/* A forked child that joined no stream keeps its parent's ids. While names_id is 0, its
	 * names are the first names_from_count names of the object names_from. Before it adds a
	 * name it copies them into an object of its own; the count then no longer changes. */
	_Atomic uint64_t names_from;
	_Atomic uint32_t names_from_count;
	uint32_t pad;
	_Atomic uint64_t reserved[26];
	struct ptrc_page_slot slots[PTRC_PAGE_SLOT_COUNT];
};
_Static_assert(sizeof(struct ptrc_page) <= PTRC_PAGE_SIZE, "one page");
_Static_assert(offsetof(struct ptrc_page, slots) == 256, "slots begin on a cache line");

#endif
