/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/control/next.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/atomic.h"
#include "lib/base/scope.h"
#include "lib/base/sys.h"
#include "lib/base/timespec.h"
#include "lib/stream/marks.h"
#include "lib/stream/live_reader.h"

static void deliver(const struct ptrc_live_event *e, const struct ptrc_next_result *out)
{
	size_t len = e->len < out->num_bytes ? e->len : out->num_bytes;

	memset(out->event, 0, sizeof(*out->event));
	out->event->posix_event_id = e->id_flags & PTRC_REC_ID_MASK;
	out->event->posix_pid = e->origin.pid;
	out->event->posix_prog_address = (void *)(uintptr_t)e->addr;
	out->event->posix_truncation_status = len < e->len ? POSIX_TRACE_TRUNCATED_READ
					      : e->id_flags & PTRC_REC_TRUNCATED
						      ? POSIX_TRACE_TRUNCATED_RECORD
						      : POSIX_TRACE_NOT_TRUNCATED;
	out->event->posix_tid = e->origin.tid;
	out->event->posix_timestamp = ptrc_timespec_of(e->ns);
	out->event->posix_thread_id = (pthread_t)e->origin.thread;
	if (len)
		memcpy(out->data, e->data, len);
	*out->data_len = len;
	*out->unavailable = 0;
}

int ptrc_next_try(struct ptrc_controller *c, struct ptrc_live_reader *reader,
		  const struct ptrc_next_result *out)
{
	struct ptrc_live_event e;
	int error;
	PTRC_LOCK(&c->reader_lock);

	error = ptrc_live_reader_next(reader, &e);
	if (!error)
		deliver(&e, out);
	return error;
}

/* For functions in which the thread may be cancelled: the address sanitizer must not watch their
 * stack frames. It does not notice that a cancellation removes the frames, and would report the
 * next use of that stack as an error. */
#define MAY_BE_CANCELLED __attribute__((no_sanitize("address")))

/* Sleeps until the futex has another value than `seen`. This is the only cancellation point: here
 * the thread holds no locks, only its reference to the stream. */
MAY_BE_CANCELLED static int sleep_on(_Atomic uint32_t *futex, uint32_t seen,
				     const struct timespec *until, int callers_state)
{
	int type, state;
	long ret;

	pthread_setcancelstate(callers_state, &state);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	pthread_testcancel();
	/* If a signal handler with SA_RESTART interrupts a wait without a time limit, the kernel
	 * restarts the call. With a limit the call fails with EINTR. `until` is a time of
	 * CLOCK_REALTIME. */
	ret = ptrc_sys(SYS_futex, futex, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, seen, until, 0,
		       FUTEX_BITSET_MATCH_ANY);
	pthread_setcanceltype(type, NULL);
	pthread_setcancelstate(state, NULL);
	return ret == -EINTR ? EINTR : 0;
}

/* Returns a ticket: a new number, never 0, for h->waiters, which says that a reader sleeps. A
 * process that wakes the readers then clears h->waiters, but only if the ticket in it has not
 * changed meanwhile. So it does not clear the ticket of a reader that has just gone to sleep. */
static uint32_t new_ticket(struct ptrc_stream_header *h)
{
	uint32_t ticket;

	do
		ticket = ptrc_add_relaxed(&h->waiter_ticket, 1) + 1;
	while (!ticket);
	return ticket;
}

MAY_BE_CANCELLED int ptrc_next_live(struct ptrc_controller *c, enum ptrc_next_how how,
				    const struct ptrc_next_result *out,
				    const struct timespec *until, int cancel_state)
{
	struct ptrc_stream_header *h = c->stream.header;

	for (;;) {
		uint32_t seen = ptrc_load_acquire(&h->event_futex);
		int error;

		if (c->is_closing)
			return EINVAL;
		error = ptrc_next_try(c, &c->reader, out);
		if (error != ENODATA)
			return error;
		if (how == PTRC_NEXT_TRY)
			return 0;
		if (how == PTRC_NEXT_UNTIL) {
			if (!until || !ptrc_timespec_is_valid(until))
				return EINVAL;
			if (ptrc_clock_ns(CLOCK_REALTIME) >= ptrc_timespec_ns(until))
				return ETIMEDOUT;
		}
		/* Store the ticket, execute the barrier, and look for events a second time, in
		 * this order: a writer that does not see the ticket has published its event
		 * before the barrier, so the second look finds this event. */
		ptrc_store_seq_cst(&h->waiters, new_ticket(h));
		ptrc_barrier(h);
		if (c->is_closing)
			return EINVAL;
		error = ptrc_next_try(c, &c->reader, out);
		if (error != ENODATA)
			return error;
		error = sleep_on(&h->event_futex, seen, how == PTRC_NEXT_UNTIL ? until : NULL,
				 cancel_state);
		/* If a signal handler has forked during the sleep, this process may be the child,
		 * which has no streams. */
		if (ptrc_sys_getpid() != c->pid)
			return EINVAL;
		if (error)
			return error;
	}
}
