/* SPDX-License-Identifier: MIT */
/*
 * The process page `p.<pid>`: one for each process that uses the library or is traced. A page of
 * zeros is a valid empty page: so a page is made by open, fallocate and mmap, and there is none
 * that is half made.
 *
 * OFD locks on the file: byte 0, for writing, is locked by a process that changes slots, names or
 * identity. Byte 1, for reading, is locked by the process itself, through its mapping, as long as
 * the image lives that mapped it; it is only looked at by processes of another pid namespace.
 */
#ifndef PTRC_LIB_PROCESS_PAGE_LAYOUT_H
#define PTRC_LIB_PROCESS_PAGE_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/common.h"

#define PTRC_PAGE_SLOT_COUNT 64U
#define PTRC_PAGE_SIZE 4096U

/* Children join the stream. */
#define PTRC_PAGE_SLOT_INHERITED 1U
/* The process controls the stream itself, so an exec takes it out of the stream. */
#define PTRC_PAGE_SLOT_SELF 2U
/* The process is not the stream's target but a descendant of it. */
#define PTRC_PAGE_SLOT_JOINED 4U

/* One stream that traces this process. */
struct ptrc_page_slot {
	/* 0: the slot is free. Stored after the others, and cleared before the active bit. */
	_Atomic uint64_t stream_id;
	/* A time of CLOCK_BOOTTIME, a multiple of a tick of 10 ms: children that started then or
	 * later join. */
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
	/* When the process started (field 22 of its stat): another process may get its pid. */
	_Atomic uint64_t start_ticks;
	/* Identity of the program that runs now; 0: no image with the library has run yet. */
	_Atomic uint64_t image;
	_Atomic uint64_t names_id; /* its names object; 0: it has none */
	/* A forked child that joined no stream keeps its parent's ids: while names_id is 0, its
	 * names are the first names_from_count ones of the object names_from. Before it adds a
	 * name it makes a copy of them; the count stays after that. */
	_Atomic uint64_t names_from;
	_Atomic uint32_t names_from_count;
	uint32_t pad;
	_Atomic uint64_t reserved[26];
	struct ptrc_page_slot slots[PTRC_PAGE_SLOT_COUNT];
};
_Static_assert(sizeof(struct ptrc_page) <= PTRC_PAGE_SIZE, "one page");
_Static_assert(offsetof(struct ptrc_page, slots) == 256, "slots begin on a cache line");

#endif
