/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/marks.h"

#include <linux/membarrier.h>
#include <time.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/sys.h"
#include "lib/base/thread_life.h"
#include "lib/stream/clock.h"
#include "lib/stream/slots.h"

/* The limits for waiting for one event call and for all event calls together. The second limit is
 * needed because damaged memory may show any number of calls. */
#define WAIT_NS INT64_C(100000000)
#define WAIT_ALL_NS INT64_C(1000000000)
/* The time between two looks at an event call counts as at most this much. If it was longer, the
 * whole machine or this process stood still, and perhaps the writer too. */
#define LOOK_MAX_NS INT64_C(1000000)
/* How often a process looks at an event call before it checks whether the call's thread is alive;
 * most calls end sooner. From then on the process yields the processor after each look, and after
 * twice as many looks it sleeps. */
#define SPIN_COUNT 200

bool ptrc_barrier_register(void)
{
	return ptrc_sys(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0) == 0;
}

bool ptrc_barrier_is_available(void)
{
	long commands = ptrc_sys(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0);

	return commands > 0 && (commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED) != 0;
}

static uint64_t *given_up_mark(struct ptrc_given_up *given_up, uint32_t slot)
{
	for (uint32_t i = 0; i < PTRC_GIVEN_UP_MAX; i++)
		if (given_up->call[i].mark && given_up->call[i].slot == slot)
			return &given_up->call[i].mark;
	return NULL;
}

void ptrc_marks_give_up(struct ptrc_stream_header *h, struct ptrc_given_up *given_up, uint32_t slot)
{
	uint64_t mark = ptrc_load_relaxed(&ptrc_stream_slots(h)[slot].frame);
	uint64_t *known = given_up_mark(given_up, slot);

	if (known) {
		*known = mark;
		return;
	}
	given_up->call[given_up->next].slot = slot;
	given_up->call[given_up->next].mark = mark;
	given_up->next = (given_up->next + 1) % PTRC_GIVEN_UP_MAX;
	given_up->has_any = true;
}

/* Called when no event call is under way in the slot: this process will wait again for later calls
 * in this slot. */
static void forget_given_up(struct ptrc_given_up *given_up, uint32_t slot)
{
	uint64_t *mark = given_up->has_any ? given_up_mark(given_up, slot) : NULL;

	if (mark)
		*mark = 0;
}

/* Whether the event call in the slot will never end: its thread is dead; or its thread is the
 * calling thread, which is in no event call now and so has left that call by siglongjmp.
 * is_suspicious: checks also for a zombie and for a reused thread ID, which takes longer. */
static bool is_abandoned(struct ptrc_slot *slot, bool is_suspicious)
{
	uint64_t owner = ptrc_load_relaxed(&slot->owner);
	int tid = ptrc_slot_tid(owner);

	if (owner == 0 || tid == ptrc_sys_gettid() || ptrc_thread_is_gone(tid))
		return true;
	return is_suspicious && ptrc_thread_has_ended(tid, owner & PTRC_SLOT_CLAIM_MASK);
}

uint32_t ptrc_marks_wait(struct ptrc_stream_header *h, struct ptrc_given_up *given_up,
			 uint32_t from, int64_t *left_ns)
{
	int64_t looked = 0;

	for (uint32_t i = from, used = ptrc_slots_used(h); i < used; i++) {
		struct ptrc_slot *slot = &ptrc_stream_slots(h)[i];

		/* Only a call whose mark is seen at every look is waited for. A call that starts
		 * now starts after the caller's barrier, and so gets a later stamp. */
		for (unsigned spin = 0;; spin++) {
			const uint64_t *known;
			uint64_t mark;
			int64_t now;

			/* Pairs with the writer's release: if this load returns 0, later loads
			 * return the new pos. */
			mark = ptrc_load_acquire(&slot->frame);
			if (mark == 0) {
				forget_given_up(given_up, i);
				break;
			}
			if (spin < SPIN_COUNT)
				continue;
			known = given_up_mark(given_up, i);
			if (known && *known == mark)
				break;
			/* The slots of controller and keeper have no owner, so they are not
			 * checked. Other threads may die during the wait, so they are checked
			 * again between sleeps. */
			if (i >= PTRC_SLOT_FIRST &&
			    is_abandoned(slot, spin == SPIN_COUNT || spin >= 2 * SPIN_COUNT))
				break;
			now = ptrc_clock_ns(CLOCK_MONOTONIC);
			if (looked)
				*left_ns -= now - looked < LOOK_MAX_NS ? now - looked : LOOK_MAX_NS;
			looked = now;
			if (*left_ns <= 0)
				return i;
			if (spin < 2 * SPIN_COUNT)
				ptrc_sys(SYS_sched_yield, 0);
			else
				ptrc_file_sleep_ns(200000);
		}
	}
	return UINT32_MAX;
}

bool ptrc_marks_is_under_way(struct ptrc_stream_header *h, struct ptrc_given_up *given_up,
			     uint32_t slot)
{
	struct ptrc_slot *s = &ptrc_stream_slots(h)[slot];
	uint64_t mark = ptrc_load_acquire(&s->frame);
	const uint64_t *known = given_up_mark(given_up, slot);

	return mark && !(known && *known == mark) &&
	       !(slot >= PTRC_SLOT_FIRST && is_abandoned(s, true));
}

void ptrc_marks_wait_all(struct ptrc_stream_header *h, struct ptrc_given_up *given_up)
{
	int64_t all_left = WAIT_ALL_NS;

	for (uint32_t slot = 0; slot != UINT32_MAX;) {
		int64_t before = all_left > WAIT_NS ? WAIT_NS : all_left, left = before;

		slot = ptrc_marks_wait(h, given_up, slot, &left);
		all_left -= before - left;
		if (slot != UINT32_MAX)
			ptrc_marks_give_up(h, given_up, slot++);
	}
}

void ptrc_barrier(struct ptrc_stream_header *h)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (ptrc_load_relaxed(&h->control) & PTRC_CTL_FENCE) {
		struct ptrc_given_up none = {0};

		/* Writers of this stream set their mark, execute a fence, and then look at the
		 * control word. After this process's own fence, an event call either sees what this
		 * process stored, or has a mark that this process sees. A marked call may have
		 * looked at the control word too early, so wait for this call. */
		ptrc_counter_fence();
		ptrc_marks_wait_all(h, &none);
		return;
	}
	if (ptrc_load_relaxed(&h->needs_global_barrier) &&
	    ptrc_sys(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0) == 0)
		return;
	ptrc_sys(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0);
}
