/* SPDX-License-Identifier: MIT */
/*
 * What gcc and clang call at the begin and the end of each function with -finstrument-functions, and what
 * XRay of clang calls.
 * This is the library that ptrace-run --functions has the dynamic linker preload: all of
 * libposixtrace, and these two functions, which are all that others see of it. A program that has
 * libposixtrace itself keeps that copy, and both record into the streams that trace the process.
 *
 * Functions of the program may run at any time: in a signal handler, in the constructors of other
 * libraries, before ours ran and after our destructor, in the child of a vfork(). So a hook needs no
 * more than posix_trace_event() does. None of them is called by what a hook calls: what that needs of
 * the C library and a program could define is in text.c and freestanding.c.
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
#include "lib/life/life.h"
#include "lib/process/process_names.h"
#include "lib/process/self.h"
#include "lib/recorder/event.h"

/* ptrace-run(1) tells these to users. */
#define LAYOUT "code function, caller call_site"

enum { BEGIN, END };

static const char *const names[] = {[BEGIN] = "function.begin", [END] = "function.end"};

/* The identifiers; 0: not opened yet. */
static _Atomic uint32_t ids[PTRC_ARRAY_COUNT(names)];

struct data {
	uint64_t function;
	/* Where the function returns to; 0: not known. */
	uint64_t call_site;
};

PTRC_ASSERT_SIZE(struct data, 16);

/* Opens the event type, which several threads may do at a time: all of them get the same. If the
 * program gives the name another layout, its functions become unnamed events: nobody takes their data
 * for what it is not. Without memory the next event tries again. */
static PTRC_COLD uint32_t open_type(unsigned which)
{
	uint32_t id = POSIX_TRACE_UNNAMED_USEREVENT;
	int error = ptrc_process_open_layout(names[which], LAYOUT, &id);

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

/* The event's own address is that in the function which has called the hook. */
static PTRC_ALWAYS_INLINE void record(unsigned which, void *function, void *call_site)
{
	struct data data = {(uint64_t)function, (uint64_t)call_site};

	if (PTRC_LIKELY(ptrc_load_relaxed(&ptrc_page_self->active) == 0) ||
	    !ptrc_selection_has(data.function))
		return;
	put(which, &data, 0);
}

/* Only functions that are selected have been patched to get here. Nobody says where they return to. */
static void record_xray(uint64_t function, bool is_end)
{
	struct data data = {function, 0};

	if (ptrc_load_relaxed(&ptrc_page_self->active) == 0)
		return;
	/* Any address in the function, but the first: readers look at what is before the address. */
	put(is_end ? END : BEGIN, &data, function + 1);
}

/* After that of life.c. The program has made XRay ready before: that is in its .preinit_array. */
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
