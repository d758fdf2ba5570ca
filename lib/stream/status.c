/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/status.h"

#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <trace.h>

#include "lib/base/atomic.h"
#include "lib/base/sys.h"
#include "lib/stream/clock.h"

void ptrc_control_change(struct ptrc_stream_header *h, uint64_t clear, uint64_t set)
{
	uint64_t seen = ptrc_load_relaxed(&h->control);

	/* The word is changed by CAS, because a writer that finds the stream full may change it
	 * at the same time. */
	while (!atomic_compare_exchange_weak_explicit(&h->control, &seen,
						      ((seen & ~clear) | set) + PTRC_CTL_SERIAL_ONE,
						      memory_order_seq_cst, memory_order_relaxed))
		;
	ptrc_stream_wake_writers(h);
}

void ptrc_status_set(struct ptrc_stream_header *h, uint64_t bits)
{
	atomic_fetch_or_explicit(&h->status, bits, memory_order_acq_rel);
}

void ptrc_status_clear(struct ptrc_stream_header *h, uint64_t bits)
{
	atomic_fetch_and_explicit(&h->status, ~bits, memory_order_acq_rel);
}

void ptrc_status_change(struct ptrc_stream_header *h, uint64_t clear, uint64_t set)
{
	uint64_t seen = ptrc_load_relaxed(&h->status);

	while (!ptrc_cas(&h->status, &seen, (seen & ~clear) | set))
		;
}

void ptrc_status_error(struct ptrc_stream_header *h, int error)
{
	uint64_t seen = ptrc_load_relaxed(&h->status);

	while (seen >> PTRC_ST_ERROR_SHIFT == 0 &&
	       !ptrc_cas(&h->status, &seen,
			 seen | (uint64_t)(uint32_t)error << PTRC_ST_ERROR_SHIFT))
		;
}

void ptrc_status_auto_stopped(struct ptrc_stream_header *h, uint64_t run)
{
	uint64_t seen = ptrc_load_relaxed(&h->status);

	/* The number of the run is compared so that a slow writer of an earlier run does not
	 * suspend a run that has started since. */
	while ((seen & PTRC_ST_RUNNING) && ptrc_status_run(seen) == (run & 0xff) &&
	       !ptrc_cas(&h->status, &seen,
			 (seen & ~(PTRC_ST_RUNNING | PTRC_ST_STOP_OUT | PTRC_ST_NO_STOP)) |
				 PTRC_ST_FULL | PTRC_ST_AUTO_STOPPED | PTRC_ST_RESTART_ARMED))
		;
}

void ptrc_status_export(uint64_t bits, struct posix_trace_status_info *st)
{
	memset(st, 0, sizeof(*st));
	st->posix_stream_status =
		bits & PTRC_ST_RUNNING ? POSIX_TRACE_RUNNING : POSIX_TRACE_SUSPENDED;
	st->posix_stream_full_status =
		bits & PTRC_ST_FULL ? POSIX_TRACE_FULL : POSIX_TRACE_NOT_FULL;
	st->posix_stream_overrun_status =
		bits & PTRC_ST_OVERRUN ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN;
	st->posix_stream_flush_status =
		bits & PTRC_ST_FLUSHING ? POSIX_TRACE_FLUSHING : POSIX_TRACE_NOT_FLUSHING;
	st->posix_stream_flush_error = (int)(bits >> PTRC_ST_ERROR_SHIFT);
	st->posix_log_overrun_status =
		bits & PTRC_ST_LOG_OVERRUN ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN;
	st->posix_log_full_status =
		bits & PTRC_ST_LOG_FULL ? POSIX_TRACE_FULL : POSIX_TRACE_NOT_FULL;
}

void ptrc_status_count_losses(struct ptrc_stream_header *h, uint64_t events)
{
	ptrc_add_relaxed(&h->lost_events, events);
	if (!(ptrc_load_relaxed(&h->status) & PTRC_ST_OVERRUN))
		ptrc_status_set(h, PTRC_ST_OVERRUN | PTRC_ST_EVER_OVERRUN);
}

bool ptrc_stream_cut(const struct ptrc_stream_header *h, uint64_t *cut)
{
	uint64_t seen = ptrc_load_acquire(&h->cut);
	uint64_t run = ptrc_load_acquire(&h->run);

	if (seen == PTRC_CUT_NONE || seen >> PTRC_CUT_RUN_SHIFT != (run & 0xff))
		return false;
	*cut = h->t0 + (seen & PTRC_CUT_TIME_MASK);
	return true;
}

void ptrc_stream_wake_readers(struct ptrc_stream_header *h)
{
	uint32_t ticket = ptrc_load_acquire(&h->waiters);

	atomic_fetch_add_explicit(&h->event_futex, 1, memory_order_release);
	ptrc_sys(SYS_futex, &h->event_futex, FUTEX_WAKE, INT_MAX, 0, 0, 0);
	/* `waiters` is cleared only after the wake-up, and only if it still holds the ticket that
	 * was seen before. If this process dies in between, the next event wakes the readers again.
	 * A reader that went to sleep meanwhile has stored another ticket. */
	ptrc_cas(&h->waiters, &ticket, 0);
}

/* If this process dies after it has changed room_word and before it has woken the writers, the
 * writers notice the change by themselves: they look from time to time (full_wait.c). */
void ptrc_stream_wake_writers(struct ptrc_stream_header *h)
{
	uint32_t word;

	/* Pairs with the fence in ptrc_full_wait(): either this process sees the odd word, or the
	 * writer sees the room or the new control word that this process has made. */
	atomic_thread_fence(memory_order_seq_cst);
	word = ptrc_load_relaxed(&h->room_word);
	if ((word & 1) && ptrc_cas(&h->room_word, &word, word + 1))
		ptrc_sys(SYS_futex, &h->room_word, FUTEX_WAKE, INT_MAX, 0, 0, 0);
}

void ptrc_ring_keeper(struct ptrc_stream_header *h, uint32_t why)
{
	if (atomic_fetch_or_explicit(&h->keeper_wake, why, memory_order_acq_rel))
		return;
	atomic_fetch_add_explicit(&h->keeper_bell, 1, memory_order_release);
	ptrc_sys(SYS_futex, &h->keeper_bell, FUTEX_WAKE, 1, 0, 0, 0);
}

void ptrc_announce(struct ptrc_stream_header *h, int pid, uint32_t image)
{
	struct ptrc_arrival *a = &h->arrival[(uint32_t)pid % PTRC_ARRIVALS];

	if (!h->has_log)
		return;
	/* If the keeper has not looked yet at the program that the process executed before, the
	 * announcement of that program stays. Otherwise the events of that program would seem to be
	 * events of the new program. */
	if (ptrc_load_relaxed(&a->pid) == pid && image && ptrc_load_relaxed(&a->image) != image) {
		ptrc_ring_keeper(h, PTRC_WAKE_ARRIVAL);
		return;
	}
	ptrc_store_relaxed(&a->stamp, ptrc_stream_now(h));
	ptrc_store_relaxed(&a->image, image);
	ptrc_store_release(&a->pid, pid);
	ptrc_ring_keeper(h, PTRC_WAKE_ARRIVAL);
}

void ptrc_announce_thread(struct ptrc_stream_header *h)
{
	if (h->has_log)
		ptrc_ring_keeper(h, PTRC_WAKE_ARRIVAL);
}

bool ptrc_is_announced(const struct ptrc_stream_header *h, int pid)
{
	return ptrc_load_relaxed(&h->arrival[(uint32_t)pid % PTRC_ARRIVALS].pid) == pid;
}
