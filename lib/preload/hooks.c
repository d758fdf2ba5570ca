/* SPDX-License-Identifier: MIT */
/*
 * The hooks that gcc and clang call at the start and end of each function (-finstrument-functions),
 * and the handler for XRay of clang. They are in the library that the dynamic linker preloads for
 * ptrace-run --functions, --waits and --sdt. This library contains all of libposixtrace, but
 * exports only the two hooks and the wrappers (next_function.h). A program that is linked with
 * libposixtrace has a second copy of it; both copies record into the streams that trace the
 * process.
 *
 * Functions of the program may run at any time: in a signal handler, in constructors of other
 * libraries, before this library's constructor and after its destructor, in the child of a vfork().
 * So a hook requires no more than posix_trace_event() does. No function that a hook calls may
 * itself call a hook, because that recursion would never end. A program may define functions of the
 * C library itself, such as memcpy(), with hooks in them; so text.c and freestanding.c have their
 * own versions of the functions that a hook needs.
 */
#include "config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/atomic.h"
#include "lib/base/common.h"
#include "lib/preload/event_type.h"
#include "lib/preload/next_function.h"
#include "lib/preload/probes.h"
#include "lib/preload/selection.h"
#include "lib/preload/xray.h"
#include "lib/process/self.h"
#include "lib/recorder/event.h"

/* posixtrace-functions(7) documents the layout and the names of the event types. */
#define LAYOUT "code function, caller call_site"

enum { BEGIN, END };

static struct ptrc_event_type types[] = {[BEGIN] = {.name = "function.begin", .layout = LAYOUT},
					 [END] = {.name = "function.end", .layout = LAYOUT}};

struct data {
	uint64_t function;
	/* The address to which the function returns, in its caller; 0: unknown. */
	uint64_t call_site;
};

PTRC_ASSERT_SIZE(struct data, 16);

static PTRC_ALWAYS_INLINE void put(unsigned which, const struct data *data, uint64_t address)
{
	ptrc_event_record(ptrc_event_type_id(&types[which]), data, sizeof(*data), address);
}

/* Records an event if the function is selected. The event's address is the return address of the
 * hook (put() gets 0), which is inside the function. */
static PTRC_ALWAYS_INLINE void record(unsigned which, void *function, void *call_site)
{
	struct data data = {(uint64_t)function, (uint64_t)call_site};

	if (PTRC_LIKELY(ptrc_load_relaxed(&ptrc_page_self->active) == 0) ||
	    !ptrc_selection_has(data.function))
		return;
	put(which, &data, 0);
}

/* The handler for XRay. Only selected functions are patched to call it. XRay does not report call
 * sites. */
static void record_xray(uint64_t function, bool is_end)
{
	struct data data = {function, 0};

	if (ptrc_load_relaxed(&ptrc_page_self->active) == 0)
		return;
	/* The address of the event is one more than the first address of the function, because
	 * readers look up the instruction before the event's address. */
	put(is_end ? END : BEGIN, &data, function + 1);
}

/* Runs after the constructor of life.c. XRay is ready by then, because the program initialises it
 * in its .preinit_array. */
__attribute__((constructor)) static void begin(void)
{
	ptrc_next_function_begin();
	if (secure_getenv(PTRC_SELECTION_VARIABLE))
		ptrc_xray_begin(record_xray);
	ptrc_probes_begin();
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
