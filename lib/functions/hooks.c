/* SPDX-License-Identifier: MIT */
/*
 * The hooks that gcc and clang call at the start and end of each function
 * (-finstrument-functions), and the handler for XRay of clang. They are in the library that
 * ptrace-run --functions has the dynamic linker preload: all of libposixtrace, of which only
 * these two hooks are exported. A program that has libposixtrace itself keeps its own copy, and
 * both record into the streams that trace the process.
 *
 * Functions of the program may run at any time: in a signal handler, in constructors of other
 * libraries, before our constructor and after our destructor, in the child of a vfork(). So a
 * hook needs no more than posix_trace_event() does. Nothing that a hook calls may call a hook:
 * text.c and freestanding.c have the functions of the C library that it needs and that a program
 * could define.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <trace.h>

#include "lib/base/atomic.h"
#include "lib/base/common.h"
#include "lib/functions/selection.h"
#include "lib/functions/xray.h"
#include "lib/process/process_names.h"
#include "lib/process/self.h"
#include "lib/recorder/event.h"

/* ptrace-run(1) documents the layout and the names of the event types. */
#define LAYOUT "code function, caller call_site"

enum { BEGIN, END };

static const char *const names[] = {[BEGIN] = "function.begin", [END] = "function.end"};

/* The types' identifiers; 0: not opened yet. */
static _Atomic uint32_t ids[PTRC_ARRAY_COUNT(names)];

struct data {
	uint64_t function;
	/* The address to which the function returns; 0: unknown. */
	uint64_t call_site;
};

PTRC_ASSERT_SIZE(struct data, 16);

/* Opens the event type. Several threads may do so at a time; all get the same identifier. If the
 * program has given the name another layout, functions are recorded as unnamed events, so that
 * their data is not misread. If memory is short, the next event tries again. */
static PTRC_COLD uint32_t open_type(unsigned which)
{
	uint32_t id = POSIX_TRACE_UNNAMED_USEREVENT;
	int error = ptrc_process_open_type(names[which], LAYOUT, &id);

	if (error)
		id = POSIX_TRACE_UNNAMED_USEREVENT;
	if (error != ENOMEM)
		ptrc_store_relaxed(&ids[which], id);
	return id;
}

static PTRC_ALWAYS_INLINE void put(unsigned which, const struct data *data, uint64_t address)
{
	uint32_t id = ptrc_load_relaxed(&ids[which]);

	if (PTRC_UNLIKELY(!id))
		id = open_type(which);
	ptrc_event_record(id, data, sizeof(*data), address);
}

/* The address of the event is inside the function that called the hook. */
static PTRC_ALWAYS_INLINE void record(unsigned which, void *function, void *call_site)
{
	struct data data = {(uint64_t)function, (uint64_t)call_site};

	if (PTRC_LIKELY(ptrc_load_relaxed(&ptrc_page_self->active) == 0) ||
	    !ptrc_selection_has(data.function))
		return;
	put(which, &data, 0);
}

/* Only selected functions are patched to call this. XRay does not report call sites. */
static void record_xray(uint64_t function, bool is_end)
{
	struct data data = {function, 0};

	if (ptrc_load_relaxed(&ptrc_page_self->active) == 0)
		return;
	/* Not the first address: readers look up the instruction before the event's address. */
	put(is_end ? END : BEGIN, &data, function + 1);
}

/* Runs after the constructor of life.c. XRay is ready: the program initialises it in its
 * .preinit_array. */
__attribute__((constructor)) static void begin(void)
{
	ptrc_xray_begin(record_xray);
}

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

PTRC_PUBLIC PTRC_NO_STACK_PROTECTOR void __cyg_profile_func_enter(void *function, void *call_site)
{
	record(BEGIN, function, call_site);
}

PTRC_PUBLIC PTRC_NO_STACK_PROTECTOR void __cyg_profile_func_exit(void *function, void *call_site)
{
	record(END, function, call_site);
}
