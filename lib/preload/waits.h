/* SPDX-License-Identifier: MIT */
/*
 * ptrace-run --waits: events at the start and end of calls of the C library in which a thread may
 * wait. posixtrace-waits(7) describes them. A wrapper (next_function.h) checks whether its kind is
 * recorded, records the start, calls the wrapped function, and records the end. During the call it
 * holds no lock and no memory, because the thread may be cancelled there, or a signal handler may
 * leave the call by longjmp(): then the log lacks the end of the wait.
 */
#ifndef PTRC_LIB_PRELOAD_WAITS_H
#define PTRC_LIB_PRELOAD_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/atomic.h"
#include "lib/base/common.h"
#include "lib/preload/descriptors.h"
#include "lib/preload/vfork.h"
#include "lib/process/self.h"

enum ptrc_wait_kind {
	PTRC_WAIT_LOCK,
	PTRC_WAIT_IO,
	PTRC_WAIT_NET,
	PTRC_WAIT_SLEEP,
	PTRC_WAIT_CHILD,
	PTRC_WAIT_KINDS,
};

/* The environment variable in which ptrace-run passes the patterns for names of kinds, one on each
 * line. Without it no wait is recorded. */
#define PTRC_WAIT_VARIABLE "POSIXTRACE_WAITS"

/* The bits of ptrc_wait_selection. Bit i: waits of kind i are selected. */
#define PTRC_WAIT_BIT(kind) (1U << PTRC_WAIT_##kind)
#define PTRC_WAIT_IO_OR_NET (PTRC_WAIT_BIT(IO) | PTRC_WAIT_BIT(NET))
#define PTRC_WAIT_ALL ((1U << PTRC_WAIT_KINDS) - 1)
/* This bit is set in ptrc_wait_selection until the environment variable was read. */
#define PTRC_WAIT_UNREAD (1U << 31)
extern PTRC_HIDDEN _Atomic uint32_t ptrc_wait_selection;

PTRC_COLD uint32_t ptrc_wait_read_selection(void);

/* Whether one of these kinds (PTRC_WAIT_BIT()) is selected. */
static PTRC_ALWAYS_INLINE bool ptrc_wait_is_selected(uint32_t kinds)
{
	uint32_t selection = ptrc_load_relaxed(&ptrc_wait_selection);

	if (PTRC_UNLIKELY(selection & PTRC_WAIT_UNREAD))
		selection = ptrc_wait_read_selection();
	return selection & kinds;
}

/* Whether a wait of one of these kinds is to be recorded now: one is selected, a stream traces the
 * process, and this is no child of vfork(). */
static PTRC_ALWAYS_INLINE bool ptrc_wait_is_recorded(uint32_t kinds)
{
	return ptrc_wait_is_selected(kinds) && ptrc_load_relaxed(&ptrc_page_self->active) != 0 &&
	       PTRC_LIKELY(!ptrc_vfork_is_in_child());
}

/* Whether the code at the address belongs to libposixtrace, whose own waits are not recorded. */
bool ptrc_wait_is_own(uint64_t address);

/*
 * These functions record the start of a wait. `call` is the number of the wrapped function in the
 * list of its kind (wait_calls.h), call_site the return address of the wrapper.
 *
 * holder: the ID of the thread that holds the lock, or 0. As it may be any number from memory of
 * the program, it is recorded only if this process has such a thread.
 */
PTRC_NOINLINE void ptrc_wait_begin_lock(uint32_t call, int32_t holder, uint64_t lock,
					uint64_t call_site);
PTRC_NOINLINE void ptrc_wait_begin_sleep(uint32_t call, int64_t ns, uint64_t call_site);
PTRC_NOINLINE void ptrc_wait_begin_child(uint32_t call, int32_t pid, uint64_t call_site);

/* The data of the event at the start of a wait for a descriptor. It ends after the first
 * about.bytes bytes of about.text. */
struct ptrc_wait_io {
	uint32_t call;
	int32_t fd;
	uint64_t size;
	uint64_t call_site;
	struct ptrc_descriptor about;
};

/* Records the start of a wait for a descriptor. kind: PTRC_WAIT_IO or PTRC_WAIT_NET. */
PTRC_NOINLINE void ptrc_wait_begin_io(enum ptrc_wait_kind kind, const struct ptrc_wait_io *data);

/* Records the end of a wait: the result of the call, and its error number, 0 if it succeeded. */
PTRC_NOINLINE void ptrc_wait_end(enum ptrc_wait_kind kind, int64_t result, int32_t error,
				 uint64_t call_site);

#endif
