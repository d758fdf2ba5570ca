/* SPDX-License-Identifier: MIT */
/*
 * The process page `p.<pid>`: one per process that uses the library or is to be traced.
 * Structs only. All zero is a valid empty page, so that creating one is open, fallocate,
 * map: no half-made state.
 *
 * Locks on the file (OFD): byte 0, write: whoever changes slots, names or the identity.
 * Byte 1, read: held by the process itself, through its mapping, as long as the image that
 * mapped it lives; only looked at for processes of another pid namespace.
 */
#ifndef PTRC_LIB_PROCESS_PAGE_LAYOUT_H
#define PTRC_LIB_PROCESS_PAGE_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/common.h"

#define PTRC_PAGE_SLOT_COUNT 64U
#define PTRC_PAGE_SIZE 4096U

#define PTRC_PAGE_SLOT_INHERITED 1U /* children join */
#define PTRC_PAGE_SLOT_SELF \
	2U /* the process is the stream's controller itself: dropped on its exec */
#define PTRC_PAGE_SLOT_JOINED 4U /* the process is not the target but a descendant */

/* One stream that traces this process. */
struct ptrc_page_slot {
	_Atomic uint64_t
		stream_id; /* 0: free. Stored last; cleared before the active bit */
	/* CLOCK_BOOTTIME: children whose start (it has ticks of 10 ms) is at or after it join. */
	_Atomic uint64_t attach_ns;
	_Atomic uint32_t flags;
	_Atomic uint32_t
		error; /* errno with which the process failed to open the stream */
	_Atomic uint64_t names_id;
};
_Static_assert(sizeof(struct ptrc_page_slot) == 32, "page slot");

struct ptrc_page {
	/* Bit i: slot i holds a stream. Loaded by every event. */
	_Atomic uint64_t active;
	_Atomic uint64_t
		start_ticks; /* of the process (field 22 of its stat): pid reuse */
	_Atomic uint64_t
		image; /* of the program now running, 0: none with the library yet */
	_Atomic uint64_t names_id; /* its names object; 0: none yet */
	/* A forked child that joined no stream keeps its parent's ids: while names_id is 0
	 * its names are the first names_from_count ones of the object names_from, of which
	 * a copy is made before anything is added (FORK-14). The count stays after that. */
	_Atomic uint64_t names_from;
	_Atomic uint32_t names_from_count;
	uint32_t pad;
	_Atomic uint64_t reserved[26];
	struct ptrc_page_slot slots[PTRC_PAGE_SLOT_COUNT];
};
_Static_assert(sizeof(struct ptrc_page) <= PTRC_PAGE_SIZE, "one page");
_Static_assert(offsetof(struct ptrc_page, slots) == 256, "slots begin on a cache line");

#endif
