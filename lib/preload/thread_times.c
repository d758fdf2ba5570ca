/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "lib/preload/thread_times.h"

#include <string.h>
#include <time.h>

#include "lib/base/atomic.h"
#include "lib/base/digits.h"
#include "lib/base/procfs.h"
#include "lib/base/sys.h"
#include "lib/preload/event_type.h"
#include "lib/process/self.h"
#include "lib/recorder/event.h"

/* posixtrace-waits(7) documents name and layout. */
static struct ptrc_event_type type = {
	.name = "wait.thread",
	.layout = "enum u32 {start, end} at, i32 thread, u64 processor ns, u64 runnable ns",
};

struct data {
	uint32_t at;
	int32_t thread;
	uint64_t processor_ns, runnable_ns;
};

PTRC_ASSERT_SIZE(struct data, 24);

/* Stores for how long the thread was on a processor, and for how long it was runnable without one,
 * since its start. Returns false if the kernel does not report both. */
static bool get_times(struct data *d)
{
	/* the clock ID of the thread's processor time, as pthread_getcpuclockid() makes it */
	int clock = (int)(~(uint32_t)d->thread << 3) | 6;
	char path[48] = "task/", text[72];
	struct timespec t;
	const char *at = text;

	/* If /proc is that of another pid namespace, the ID means another thread there. */
	if (!ptrc_here.has_own_proc)
		return false;
	memcpy(ptrc_digits_put(path + 5, (uint64_t)d->thread), "/schedstat", 11);
	text[ptrc_procfs_read(0, path, text, sizeof(text) - 1)] = '\0';
	/* The first number is the processor time, but for a running thread only up to the kernel's
	 * latest tick, so it is skipped. */
	ptrc_digits_take(&at);
	d->runnable_ns = ptrc_digits_take(&at);
	/* The third number is how often the thread got a processor; 0 if the kernel does not keep
	 * these statistics. */
	if (!ptrc_digits_take(&at) || ptrc_sys(SYS_clock_gettime, clock, &t))
		return false;
	d->processor_ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	return true;
}

void ptrc_thread_times_record(enum ptrc_thread_moment at, int32_t thread, bool is_new)
{
	/* This also initialises ptrc_here, which get_times() uses. */
	uint32_t id = ptrc_event_type_id(&type);
	struct data d = {.at = at, .thread = thread};

	if (is_new || get_times(&d))
		ptrc_event_record(id, &d, sizeof(d), 0);
}

_Atomic bool ptrc_thread_start_is_due;

void ptrc_thread_times_record_due(void)
{
	if (!ptrc_load_relaxed(&ptrc_thread_start_is_due))
		return;
	ptrc_store_relaxed(&ptrc_thread_start_is_due, false);
	ptrc_thread_times_record(PTRC_THREAD_START, ptrc_sys_gettid(), true);
}
