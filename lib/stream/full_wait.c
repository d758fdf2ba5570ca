/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/full_wait.h"

#include <errno.h>
#include <linux/futex.h>
#include <time.h>

#include "lib/base/atomic.h"
#include "lib/base/sys.h"
#include "lib/base/thread_life.h"
#include "lib/stream/clock.h"
#include "lib/stream/status.h"

/* After this time without a wake-up, a writer looks for room itself: the process that should wake
 * it may have been killed, or no process may be left that could make room. */
#define LOOK_NS INT64_C(100000000)

/* A writer may find that other writers have taken the new room, and wait again. After this many
 * times the memory of the stream must be damaged, and the writer stops waiting. */
#define STRETCHES_MAX 100000

/* Sleeps until the word differs from `seen`, for at most `ns` nanoseconds, with the signal mask
 * *mask. Returns true if the time is over. Signal handlers may run meanwhile; the sleep includes
 * their time. */
static bool sleep_on(_Atomic uint32_t *word, uint32_t seen, int64_t ns, uint64_t *mask)
{
	struct timespec ts = {.tv_nsec = ns};
	long ret;

	/* A signal that arrives after this call and before the sleep does not end the sleep, but
	 * its handler has run. */
	ptrc_sys_restore_signals(mask);
	ret = ptrc_sys(SYS_futex, word, FUTEX_WAIT, seen, &ts, 0, 0);
	ptrc_sys_block_signals(mask);
	return ret == -ETIMEDOUT;
}

/* Whether no process will ever make room, because keeper and controller are dead: no other
 * process starts a keeper. Only processes in the controller's pid namespace record into its
 * streams, so the pids in the header are valid here. */
static bool is_left_alone(const struct ptrc_stream_header *h)
{
	int keeper = ptrc_load_relaxed(&h->keeper_pid);

	return (keeper <= 0 || ptrc_thread_is_dead(keeper)) &&
	       ptrc_thread_is_dead(h->controller_pid);
}

/* Whether the log will never accept events again: it is a pipe that has no reader, or it was
 * given up. */
static bool is_log_closed(const struct ptrc_stream_header *h)
{
	int error = ptrc_load_relaxed(&h->flush_error);

	return error == EPIPE || error == ECANCELED;
}

static void begin_stretch(struct ptrc_full_wait *w, int64_t now, uint32_t made)
{
	w->begin_ns = now;
	w->made = made;
	if (w->stretches++ == STRETCHES_MAX)
		w->is_over = true;
}

bool ptrc_full_wait(struct ptrc_full_wait *w, uint64_t *mask)
{
	struct ptrc_stream_header *h = w->header;
	int64_t now = ptrc_clock_ns(CLOCK_MONOTONIC), left, later;
	uint32_t made = ptrc_load_acquire(&h->room_made);
	bool is_late = false;

	if (w->begin_ns != 0 && w->made == made) {
		int pid = ptrc_sys_getpid();

		left = w->full_wait_ns > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)w->full_wait_ns;
		left -= now - w->begin_ns;
		w->is_over = left <= 0;
		if (w->is_over)
			return true;
		if (!w->has_slept)
			ptrc_add_relaxed(&h->waits, 1);
		w->has_slept = true;
		is_late = sleep_on(&h->room_word, w->word, left < LOOK_NS ? left : LOOK_NS, mask);
		if (ptrc_sys_getpid() != pid)
			return false;
		later = ptrc_clock_ns(CLOCK_MONOTONIC);
		ptrc_add_relaxed(&h->wait_ns, (uint64_t)(later - now));
		now = later;
		made = ptrc_load_acquire(&h->room_made);
	}
	if (w->begin_ns == 0 || w->made != made)
		begin_stretch(w, now, made);
	if (is_log_closed(h) || (is_late && is_left_alone(h)))
		w->is_over = true;
	/* Make room_word odd; the caller looks for room again after that. The fence pairs with
	 * the fence in ptrc_stream_wake_writers(). */
	w->word = atomic_fetch_or_explicit(&h->room_word, 1, memory_order_acq_rel) | 1;
	atomic_thread_fence(memory_order_seq_cst);
	ptrc_ring_keeper(h, PTRC_WAKE_ROOM);
	return true;
}
