/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/stream.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <trace.h>

#include "lib/stream/barrier.h"
#include "lib/stream/clock.h"
#include "lib/model/eventset.h"
#include "lib/base/file.h"
#include "lib/base/sys.h"
#include "lib/base/thread_life.h"
#include "lib/stream/type_counts.h"

#define STATE_WAIT_NS INT64_C(2000000000)
#define CONDEMN_WAIT_NS INT64_C(100000000)
#define MARK_WAIT_NS INT64_C(100000000)
#define MARK_WAIT_MAX_NS INT64_C(1000000000) /* some may be damaged memory */
/* What counts of the time between two looks at a mark. More has passed if the whole machine or
 * process stood still: then the writer did, too. */
#define LOOK_MAX_NS INT64_C(1000000)

#define SERIAL_ONE (UINT64_C(1) << PTRC_CTL_SERIAL_SHIFT)

/* ---- mapping ---- */

/* Copies first, once: the shared ones may change between a look and the next. */
static bool take_geometry(struct ptrc_stream *s)
{
	const volatile struct ptrc_stream_header *h = s->header;
	uint64_t size = s->map_size, chunk_size, count;

	s->pool.chunk_size = h->chunk_size;
	s->pool.chunk_count = h->chunk_count;
	chunk_size = s->pool.chunk_size;
	count = s->pool.chunk_count;
	return h->magic == PTRC_STREAM_MAGIC && h->version == PTRC_STREAM_VERSION &&
	       chunk_size >= 4096 && chunk_size % 4096 == 0 && count >= 1 &&
	       count <= UINT32_MAX / 2 && h->map_size <= size &&
	       (size - ptrc_stream_chunk_offset((uint32_t)count)) / chunk_size >= count &&
	       size >= ptrc_stream_chunk_offset((uint32_t)count) &&
	       h->record_max <= chunk_size - PTRC_CHUNK_FIRST;
}

/* What a dead predecessor has left: pins, a chunk of its own, a mark. */
static void inherit(struct ptrc_stream *s)
{
	struct ptrc_stream_header *h = s->header;
	uint32_t used = ptrc_pool_used(&s->pool);

	for (uint32_t i = 0; i < used; i++) {
		uint64_t word = atomic_fetch_and_explicit(&ptrc_stream_ctl(h)[i].word,
							  ~PTRC_CHUNK_PIN_KEEPER,
							  memory_order_acquire) &
				~PTRC_CHUNK_PIN_KEEPER;

		/* Its slot is in no reaper's list. */
		if (PTRC_CHUNK_STATE(word) == PTRC_CHUNK_OWNED &&
		    PTRC_CHUNK_SLOT(word) == PTRC_SLOT_KEEPER)
			ptrc_chunk_seal_dead(&s->pool, i, word);
	}
	atomic_store_explicit(&ptrc_stream_slots(h)[PTRC_SLOT_KEEPER].frame, 0,
			      memory_order_relaxed);
	ptrc_type_counts_mend(ptrc_stream_types(h));
}

int ptrc_stream_map(int fd, enum ptrc_role role, struct ptrc_stream *s)
{
	struct stat st;
	void *map;

	memset(s, 0, sizeof(*s));
	if (ptrc_sys(SYS_fstat, fd, &st) < 0 ||
	    st.st_size < (off_t)PTRC_STREAM_CLOCK_OFFSET)
		return EINVAL;
	if (ptrc_file_map_sparse(fd, (uint64_t)st.st_size, NULL, &map))
		return ENOMEM;
	s->header = map;
	s->map_size = (uint64_t)st.st_size;
	if (!take_geometry(s)) {
		ptrc_stream_unmap(s);
		return EINVAL;
	}
	s->role = role;
	ptrc_writer_init(&s->own, &s->pool,
			 role == PTRC_ROLE_KEEPER ? PTRC_SLOT_KEEPER
						  : PTRC_SLOT_CONTROLLER);
	if (role == PTRC_ROLE_KEEPER)
		inherit(s);
	return 0;
}

void ptrc_stream_unmap(struct ptrc_stream *s)
{
	if (s->header)
		ptrc_sys(SYS_munmap, s->header, s->map_size);
	s->header = NULL;
}

/* ---- status ---- */

void ptrc_status_set(struct ptrc_stream_header *h, uint64_t bits)
{
	atomic_fetch_or_explicit(&h->status, bits, memory_order_acq_rel);
}

void ptrc_status_clear(struct ptrc_stream_header *h, uint64_t bits)
{
	atomic_fetch_and_explicit(&h->status, ~bits, memory_order_acq_rel);
}

void ptrc_status_error(struct ptrc_stream_header *h, int error)
{
	uint64_t seen = atomic_load_explicit(&h->status, memory_order_relaxed);

	while (seen >> PTRC_ST_ERROR_SHIFT == 0 &&
	       !atomic_compare_exchange_weak_explicit(
		       &h->status, &seen,
		       seen | (uint64_t)(uint32_t)error << PTRC_ST_ERROR_SHIFT,
		       memory_order_acq_rel, memory_order_relaxed))
		;
}

/* Replace bits in one step. */
static void status_change(struct ptrc_stream_header *h, uint64_t clear, uint64_t set)
{
	uint64_t seen = atomic_load_explicit(&h->status, memory_order_relaxed);

	while (!atomic_compare_exchange_weak_explicit(
		&h->status, &seen, (seen & ~clear) | set, memory_order_acq_rel,
		memory_order_relaxed))
		;
}

void ptrc_status_auto_stopped(struct ptrc_stream_header *h, uint64_t run_tag)
{
	uint64_t seen = atomic_load_explicit(&h->status, memory_order_relaxed);

	/* The tag keeps a late writer from suspending a run that was started since. */
	while ((seen & PTRC_ST_RUNNING) &&
	       (seen & PTRC_ST_RUN_MASK) >> PTRC_ST_RUN_SHIFT == run_tag &&
	       !atomic_compare_exchange_weak_explicit(
		       &h->status, &seen,
		       (seen & ~(PTRC_ST_RUNNING | PTRC_ST_STOP_OUT | PTRC_ST_NO_STOP)) |
			       PTRC_ST_FULL | PTRC_ST_AUTO_STOPPED |
			       PTRC_ST_RESTART_ARMED,
		       memory_order_acq_rel, memory_order_relaxed))
		;
}

void ptrc_stream_wake_readers(struct ptrc_stream_header *h)
{
	uint32_t ticket = atomic_load_explicit(&h->waiters, memory_order_acquire);

	atomic_fetch_add_explicit(&h->event_futex, 1, memory_order_release);
	ptrc_sys(SYS_futex, &h->event_futex, FUTEX_WAKE, INT_MAX, 0, 0, 0);
	atomic_compare_exchange_strong_explicit(
		&h->waiters, &ticket, 0, memory_order_relaxed, memory_order_relaxed);
}

/* ---- marks ---- */

static uint64_t *given_up_mark(struct ptrc_stream *s, uint32_t slot)
{
	for (uint32_t i = 0; i < PTRC_GIVEN_UP_MAX; i++)
		if (s->given_up[i].mark && s->given_up[i].slot == slot)
			return &s->given_up[i].mark;
	return NULL;
}

void ptrc_stream_give_up(struct ptrc_stream *s, uint32_t slot)
{
	uint64_t mark = atomic_load_explicit(&ptrc_stream_slots(s->header)[slot].frame,
					     memory_order_relaxed);
	uint64_t *known = given_up_mark(s, slot);

	if (known) {
		*known = mark;
		return;
	}
	s->given_up[s->given_up_next].slot = slot;
	s->given_up[s->given_up_next].mark = mark;
	s->given_up_next = (s->given_up_next + 1) % PTRC_GIVEN_UP_MAX;
	s->has_given_up = true;
}

/* The slot is at rest. */
static void note_rest(struct ptrc_stream *s, uint32_t slot)
{
	uint64_t *mark = s->has_given_up ? given_up_mark(s, slot) : NULL;

	if (mark)
		*mark = 0;
}

uint32_t ptrc_stream_wait_marks(struct ptrc_stream *s, uint32_t from, int64_t *left_ns)
{
	struct ptrc_stream_header *h = s->header;
	uint32_t used = atomic_load_explicit(&h->slots_used, memory_order_acquire);
	int64_t looked = 0;

	if (used > PTRC_SLOT_COUNT)
		used = PTRC_SLOT_COUNT;
	for (uint32_t i = from; i < used; i++) {
		struct ptrc_slot *slot = &ptrc_stream_slots(h)[i];
		uint64_t mark;

		/* Pairs with the writer's release of frame = 0: its pos is visible then. An
		 * event that begins now begins after the barrier; only one seen throughout
		 * holds us up. */
		for (unsigned spin = 0;; spin++) {
			const uint64_t *given_up;
			uint64_t owner;
			int64_t now;

			mark = atomic_load_explicit(&slot->frame, memory_order_acquire);
			if (mark == 0) {
				note_rest(s, i);
				break;
			}
			if (spin < 200)
				continue;
			given_up = given_up_mark(s, i);
			if (given_up && *given_up == mark)
				break;
			owner = atomic_load_explicit(&slot->owner, memory_order_relaxed);
			/* Whoever waits is in no event call: it has left ours by siglongjmp. */
			if (i >= PTRC_SLOT_FIRST &&
			    (int)(owner >> PTRC_SLOT_TID_SHIFT) == ptrc_sys_gettid())
				break;
			if (i >= PTRC_SLOT_FIRST &&
			    (owner == 0 ||
			     ptrc_thread_is_gone((int)(owner >> PTRC_SLOT_TID_SHIFT))))
				break;
			/* Its id may have a new thread by now. */
			if (spin == 200 && i >= PTRC_SLOT_FIRST &&
			    ptrc_thread_has_ended((int)(owner >> PTRC_SLOT_TID_SHIFT),
						  owner & PTRC_SLOT_CLAIM_MASK))
				break;
			now = ptrc_clock_ns(CLOCK_MONOTONIC);
			if (looked)
				*left_ns -= now - looked < LOOK_MAX_NS ? now - looked
								       : LOOK_MAX_NS;
			looked = now;
			if (*left_ns <= 0)
				return i;
			if (spin < 400) {
				ptrc_sys(SYS_sched_yield, 0);
			} else {
				struct timespec pause = {0, 200000};

				ptrc_sys(SYS_nanosleep, &pause, 0);
			}
		}
	}
	return UINT32_MAX;
}

void ptrc_stream_wait_all_marks(struct ptrc_stream *s)
{
	int64_t all_left = MARK_WAIT_MAX_NS;

	for (uint32_t slot = 0; slot != UINT32_MAX;) {
		int64_t before = all_left > MARK_WAIT_NS ? MARK_WAIT_NS : all_left,
			left = before;

		slot = ptrc_stream_wait_marks(s, slot, &left);
		all_left -= before - left;
		if (slot != UINT32_MAX)
			ptrc_stream_give_up(s, slot++);
	}
}

/* ---- room ---- */

static uint64_t unread_bytes(const struct ptrc_stream *s, bool with_keeper)
{
	struct ptrc_stream_header *h = s->header;
	uint32_t used = ptrc_pool_used(&s->pool);
	uint64_t epoch = atomic_load_explicit(&h->epoch, memory_order_acquire), sum = 0;

	for (uint32_t i = 0; i < used; i++) {
		struct ptrc_chunk_ctl *ctl = &ptrc_stream_ctl(h)[i];
		uint64_t word = atomic_load_explicit(&ctl->word, memory_order_acquire);
		uint32_t end = ptrc_chunk_end(&s->pool, i, word);

		if (end == 0 ||
		    atomic_load_explicit(&ctl->epoch, memory_order_relaxed) != epoch ||
		    (!with_keeper && PTRC_CHUNK_SLOT(word) == PTRC_SLOT_KEEPER))
			continue;
		sum += end - ptrc_chunk_rpos(ctl, word, end);
	}
	return sum;
}

uint64_t ptrc_stream_unread_bytes(const struct ptrc_stream *s)
{
	return unread_bytes(s, false);
}

/* ---- system events ---- */

/* Into the role's own chunk; forced, as only what is checked before may be refused. */
static bool record(struct ptrc_stream *s, uint32_t id_flags, const void *data,
		   uint32_t len, const struct ptrc_context *origin, uint64_t addr)
{
	struct ptrc_put p = {.id_flags = id_flags,
			     .len = len,
			     .data = data,
			     .addr = addr,
			     .frame = 1,
			     .is_forced = true};
	bool is_done;
	uint64_t stamp;

	if (origin)
		s->own.origin = *origin;
	else
		memset(&s->own.origin, 0, sizeof(s->own.origin));
	is_done = ptrc_writer_put(&s->own, &p, &stamp) == PTRC_PUT_DONE;
	/* A chunk of the controller's own would keep its few events from being the oldest
	 * that give way, and room from others. */
	if (s->role == PTRC_ROLE_CONTROLLER)
		ptrc_writer_release(&s->own);
	return is_done;
}

static void store_filter(struct ptrc_stream_header *h, const uint64_t bits[17])
{
	for (int i = 0; i < 17; i++)
		atomic_store_explicit(&h->filter[i], bits[i], memory_order_relaxed);
}

/* Change the control word's bits: a new serial, so that every writer looks again. A writer
 * may be stopping the stream at the same time; then its change is seen and kept out. */
static void control_change(struct ptrc_stream_header *h, uint64_t clear, uint64_t set)
{
	uint64_t seen = atomic_load_explicit(&h->control, memory_order_relaxed);

	while (!atomic_compare_exchange_weak_explicit(
		&h->control, &seen, ((seen & ~clear) | set) + SERIAL_ONE,
		memory_order_seq_cst, memory_order_relaxed))
		;
}

bool ptrc_stream_cut(const struct ptrc_stream_header *h, uint64_t *cut)
{
	uint64_t seen = atomic_load_explicit(&h->cut, memory_order_acquire);
	uint64_t run = atomic_load_explicit(&h->run, memory_order_acquire);

	if (seen == PTRC_CUT_NONE || seen >> 56 != (run & 0xff))
		return false;
	*cut = h->t0 + (seen & PTRC_CUT_TIME_MASK);
	return true;
}

/* ---- start, stop ---- */

/* Who holds it that long was stopped, or nobody does and the memory is damaged. */
static bool waited_too_long(int64_t *since)
{
	int64_t now = ptrc_clock_ns(CLOCK_MONOTONIC);

	if (*since == 0)
		*since = now;
	return now - *since > STATE_WAIT_NS;
}

/* Controller and keeper both change the stream's state (the keeper restarts it). Held for
 * microseconds; writers never take it. */
static void lock_state(struct ptrc_stream_header *h)
{
	uint32_t mine = (uint32_t)ptrc_sys_gettid();
	int64_t since = 0;

	for (unsigned tries = 1;; tries++) {
		uint32_t seen = 0;

		if (atomic_compare_exchange_strong_explicit(&h->state_lock, &seen, mine,
							    memory_order_acquire,
							    memory_order_relaxed))
			return;
		/* Left by a dead thread: what it had half done, settle finishes. */
		if (tries % 64 == 0 &&
		    (ptrc_thread_is_dead((int)seen) || waited_too_long(&since)) &&
		    atomic_compare_exchange_strong_explicit(&h->state_lock, &seen, mine,
							    memory_order_acquire,
							    memory_order_relaxed))
			return;
		ptrc_file_yield(tries);
	}
}

static void unlock_state(struct ptrc_stream_header *h)
{
	atomic_store_explicit(&h->state_lock, 0, memory_order_release);
}

static uint64_t tag_of(uint64_t status)
{
	return (status & PTRC_ST_RUN_MASK) >> PTRC_ST_RUN_SHIFT;
}

/* The run has its START and its number: the rest of its begin. */
static void enter_run(struct ptrc_stream_header *h, uint64_t run)
{
	status_change(h,
		      PTRC_ST_RUN_MASK | PTRC_ST_AUTO_STOPPED | PTRC_ST_RESTART_ARMED |
			      PTRC_ST_STOP_OUT | PTRC_ST_NO_STOP |
			      (h->policy == POSIX_TRACE_LOOP ? 0 : PTRC_ST_FULL),
		      PTRC_ST_RUNNING | (run & 0xff) << PTRC_ST_RUN_SHIFT);
	control_change(h, PTRC_CTL_LOSING, PTRC_CTL_RUN);
	ptrc_stream_wake_readers(h);
	ptrc_ring_keeper(h);
}

static void settle(struct ptrc_stream *s)
{
	struct ptrc_stream_header *h = s->header;
	uint64_t control = atomic_load_explicit(&h->control, memory_order_acquire);
	uint64_t status = atomic_load_explicit(&h->status, memory_order_acquire);
	uint64_t run = atomic_load_explicit(&h->run, memory_order_acquire), cut;

	if (!(status & PTRC_ST_RUNNING)) {
		/* The keeper that restarted it died between number and status. */
		if ((status & PTRC_ST_RESTART_ARMED) && tag_of(status) != (run & 0xff))
			enter_run(h, run);
		return;
	}
	if (h->policy == POSIX_TRACE_LOOP) {
		if (!(status & PTRC_ST_FULL) && ptrc_pool_would_overwrite(&s->pool))
			ptrc_status_set(h, PTRC_ST_FULL);
		return;
	}
	if (ptrc_stream_cut(h, &cut)) {
		/* Its writer died, or is slow, before the control word or the status. */
		if (control & PTRC_CTL_RUN)
			ptrc_writer_stop_full(h, control, cut);
		else
			ptrc_status_auto_stopped(h, tag_of(status));
	} else if (!(control & PTRC_CTL_RUN) && (control & PTRC_CTL_LOSING)) {
		enter_run(h, run); /* or between status and control word */
	} else if ((control & PTRC_CTL_RUN) &&
		   unread_bytes(s, false) + sizeof(struct ptrc_record) >
			   h->stream_min_size) {
		/* Full to the brim: not even an event without data would fit. */
		ptrc_writer_stop_full(h, control, ptrc_stream_now(h));
	}
}

static void begin_run(struct ptrc_stream *s, const struct ptrc_context *origin,
		      uint64_t addr)
{
	struct ptrc_stream_header *h = s->header;
	uint64_t bits[17], run, cut, dead = 0;
	trace_event_set_t set;

	for (int i = 0; i < 17; i++)
		bits[i] = atomic_load_explicit(&h->filter[i], memory_order_relaxed);
	ptrc_set_from_bits(&set, bits);
	if (ptrc_stream_cut(h, &cut))
		dead = cut;
	/* START before the control word: what is recorded by the new word is stamped later.
	 * A keeper that dies behind the number leaves the rest to settle; before it, a START
	 * that is behind the cut, and so no part of the trace. */
	record(s,
	       POSIX_TRACE_START |
		       (ptrc_stream_is_filtered(h, POSIX_TRACE_START) ? PTRC_REC_HIDDEN
								      : 0),
	       &set, sizeof(set), origin, addr);
	if (dead) {
		atomic_store_explicit(&h->dead_from, dead, memory_order_relaxed);
		atomic_store_explicit(&h->dead_until, s->own.last, memory_order_release);
	}
	run = atomic_fetch_add_explicit(&h->run, 1, memory_order_acq_rel) + 1;
	enter_run(h, run);
}

static void do_start(struct ptrc_stream *s, const struct ptrc_context *origin,
		     uint64_t addr)
{
	struct ptrc_stream_header *h = s->header;
	uint64_t status;

	settle(s);
	status = atomic_load_explicit(&h->status, memory_order_acquire);
	if (status & PTRC_ST_RUNNING)
		return;
	if (status & PTRC_ST_LOG_STOPPED) {
		/* Nothing but that events are losses again, had they been stopped. */
		control_change(h, 0, PTRC_CTL_LOSING);
		return;
	}
	if (status & PTRC_ST_AUTO_STOPPED) {
		/* No effect but that the restart is armed again (STARTSTOP-03, -08). */
		if (!(status & PTRC_ST_RESTART_ARMED)) {
			ptrc_status_set(h, PTRC_ST_RESTART_ARMED);
			control_change(h, 0, PTRC_CTL_LOSING);
			if (status & PTRC_ST_STOP_OUT)
				begin_run(s, NULL, 0);
		}
		return;
	}
	if (h->policy != POSIX_TRACE_LOOP &&
	    unread_bytes(s, false) + 16 + sizeof(trace_event_set_t) >
		    h->stream_min_size) {
		/* START finds no room: the stream is full (STARTSTOP-09). There was no run,
		 * so nothing but what is there precedes the restart. */
		status_change(h, PTRC_ST_STOP_OUT,
			      PTRC_ST_FULL | PTRC_ST_AUTO_STOPPED |
				      PTRC_ST_RESTART_ARMED | PTRC_ST_NO_STOP);
		control_change(h, 0, PTRC_CTL_LOSING);
		ptrc_ring_keeper(h);
		return;
	}
	begin_run(s, origin, addr);
}

static void do_stop(struct ptrc_stream *s, const struct ptrc_context *origin,
		    uint64_t addr)
{
	struct ptrc_stream_header *h = s->header;
	int reason = 0;
	uint64_t status, cut;

	settle(s);
	status = atomic_load_explicit(&h->status, memory_order_acquire);
	if (!(status & PTRC_ST_RUNNING)) {
		/* STARTSTOP-08: what comes now is not lost, and there is no restart. */
		if (status & (PTRC_ST_RESTART_ARMED | PTRC_ST_LOG_STOPPED)) {
			control_change(h, PTRC_CTL_LOSING, 0);
			ptrc_status_clear(h, PTRC_ST_RESTART_ARMED);
		}
		return;
	}
	control_change(h, PTRC_CTL_RUN | PTRC_CTL_LOSING, 0);
	/* After the barrier whoever begins sees the new word, and whoever had seen the old
	 * one has an earlier stamp than STOP gets. */
	ptrc_barrier(h);
	if (ptrc_stream_cut(h, &cut)) {
		/* A writer stopped it for want of room at that very moment: its stop it is,
		 * and ours comes to an automatically stopped stream. */
		ptrc_status_auto_stopped(h, tag_of(status));
		ptrc_status_clear(h, PTRC_ST_RESTART_ARMED);
		ptrc_stream_wake_readers(h);
		return;
	}
	if (!ptrc_stream_is_filtered(h, POSIX_TRACE_STOP))
		record(s, POSIX_TRACE_STOP, &reason, sizeof(reason), origin, addr);
	ptrc_status_clear(h, PTRC_ST_RUNNING);
	ptrc_stream_wake_readers(h);
	ptrc_ring_keeper(h);
}

static bool do_stop_is_out(struct ptrc_stream *s, uint64_t run)
{
	struct ptrc_stream_header *h = s->header;
	uint64_t status = atomic_load_explicit(&h->status, memory_order_acquire);

	if (!(status & PTRC_ST_AUTO_STOPPED) || (status & PTRC_ST_LOG_STOPPED) ||
	    run != atomic_load_explicit(&h->run, memory_order_relaxed))
		return false;
	ptrc_status_set(h, PTRC_ST_STOP_OUT);
	if (!(status & PTRC_ST_RESTART_ARMED))
		return false;
	begin_run(s, NULL, 0);
	return true;
}

void ptrc_stream_settle(struct ptrc_stream *s)
{
	lock_state(s->header);
	settle(s);
	unlock_state(s->header);
}

void ptrc_stream_log_is_full(struct ptrc_stream *s)
{
	struct ptrc_stream_header *h = s->header;
	uint64_t control;

	lock_state(h);
	control = atomic_load_explicit(&h->control, memory_order_relaxed);
	/* It is full: events are lost (STATUS-12), unless the user had stopped it. */
	control_change(h, PTRC_CTL_RUN,
		       control & (PTRC_CTL_RUN | PTRC_CTL_LOSING) ? PTRC_CTL_LOSING : 0);
	status_change(h, PTRC_ST_RUNNING | PTRC_ST_RESTART_ARMED,
		      PTRC_ST_FULL | PTRC_ST_AUTO_STOPPED | PTRC_ST_LOG_STOPPED |
			      PTRC_ST_LOG_FULL);
	unlock_state(h);
	ptrc_stream_wake_readers(h);
}

/* ---- filter ---- */

static void do_set_filter(struct ptrc_stream *s, const uint64_t bits[17],
			  const struct ptrc_context *origin, uint64_t addr)
{
	struct ptrc_stream_header *h = s->header;
	uint64_t old[17], both[17];
	trace_event_set_t sets[2];
	uint32_t hidden;

	for (int i = 0; i < 17; i++) {
		old[i] = atomic_load_explicit(&h->filter[i], memory_order_relaxed);
		both[i] = old[i] & bits[i];
	}
	settle(s);
	if (!(atomic_load_explicit(&h->status, memory_order_acquire) & PTRC_ST_RUNNING)) {
		store_filter(h, bits);
		control_change(h, 0, 0);
		ptrc_barrier(h);
		return;
	}
	/* Accept by either filter, so that nothing that one of them wants is missed; then a
	 * moment F, recorded; then by the new one. Readers drop what is before F and in the
	 * old filter, or behind F and in the new one. */
	store_filter(h, both);
	control_change(h, 0, 0);
	ptrc_barrier(h);
	ptrc_set_from_bits(&sets[0], old);
	ptrc_set_from_bits(&sets[1], bits);
	hidden = ptrc_set_has(&sets[0], POSIX_TRACE_FILTER) &&
				 ptrc_set_has(&sets[1], POSIX_TRACE_FILTER)
			 ? PTRC_REC_HIDDEN
			 : 0;
	record(s, POSIX_TRACE_FILTER | hidden, sets, sizeof(sets), origin, addr);
	store_filter(h, bits);
	control_change(h, 0, 0);
	ptrc_barrier(h);
	ptrc_stream_wake_readers(h);
}

/* ---- clear, end ---- */

static void do_clear(struct ptrc_stream *s)
{
	static const uint64_t none[17];
	struct ptrc_stream_header *h = s->header;

	settle(s);
	/* The epoch before the control word: whoever sees the new word takes chunks of the
	 * new epoch; what is still written by the old word goes into old ones, and is gone. */
	store_filter(h, none);
	atomic_fetch_add_explicit(&h->epoch, 1, memory_order_seq_cst);
	control_change(h, PTRC_CTL_LOSING, 0);
	ptrc_barrier(h);
	/* A thief of a chunk may note its loss later than this. */
	atomic_store_explicit(&h->cleared_at, ptrc_stream_now(h), memory_order_release);
	/* A stop for want of room that slipped in between belongs to what is gone. */
	atomic_store_explicit(&h->cut, PTRC_CUT_NONE, memory_order_release);
	if ((atomic_load_explicit(&h->status, memory_order_acquire) & PTRC_ST_RUNNING) &&
	    !(atomic_load_explicit(&h->control, memory_order_acquire) & PTRC_CTL_RUN))
		control_change(h, PTRC_CTL_LOSING, PTRC_CTL_RUN);
	atomic_store_explicit(&h->horizon, 0, memory_order_relaxed);
	atomic_store_explicit(&h->first_lost, PTRC_TIME_NONE, memory_order_relaxed);
	atomic_store_explicit(&h->gap_first, PTRC_TIME_NONE, memory_order_relaxed);
	atomic_store_explicit(&h->dead_from, 0, memory_order_relaxed);
	atomic_store_explicit(&h->dead_until, 0, memory_order_relaxed);
	atomic_store_explicit(&h->lost_events, 0, memory_order_relaxed);
	status_change(h,
		      PTRC_ST_FULL | PTRC_ST_OVERRUN | PTRC_ST_EVER_OVERRUN |
			      PTRC_ST_LOG_OVERRUN | PTRC_ST_EVER_LOG_OVERRUN |
			      PTRC_ST_LOG_FULL | PTRC_ST_AUTO_STOPPED |
			      PTRC_ST_RESTART_ARMED | PTRC_ST_LOG_STOPPED |
			      PTRC_ST_STOP_OUT | PTRC_ST_NO_STOP |
			      UINT64_C(0xffffffff) << PTRC_ST_ERROR_SHIFT,
		      0);
}

void ptrc_stream_end(struct ptrc_stream *s)
{
	control_change(s->header, PTRC_CTL_RUN | PTRC_CTL_LOSING, PTRC_CTL_ENDED);
	ptrc_barrier(s->header);
	ptrc_stream_wake_readers(s->header);
}

void ptrc_stream_marker(struct ptrc_stream *s, uint32_t event_id,
			const struct ptrc_context *origin, uint64_t addr)
{
	if (!ptrc_stream_is_filtered(s->header, event_id))
		record(s, event_id, NULL, 0, origin, addr);
	ptrc_stream_wake_readers(s->header);
}

void ptrc_stream_error(struct ptrc_stream *s, int error)
{
	if (!ptrc_stream_is_filtered(s->header, POSIX_TRACE_ERROR))
		record(s, POSIX_TRACE_ERROR, &error, sizeof(error), NULL, 0);
}

/* Change the state of a pinned chunk, if it is still the one that was seen. */
static bool change_chunk(struct ptrc_chunk_ctl *ctl, uint64_t word, uint64_t from,
			 uint64_t to)
{
	uint64_t keep = PTRC_CHUNK_PINS | PTRC_CHUNK_STATE_MASK;
	uint64_t seen = atomic_load_explicit(&ctl->word, memory_order_relaxed);

	do {
		if (((seen ^ word) & ~keep) || PTRC_CHUNK_STATE(seen) != from)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&ctl->word, &seen, (seen & ~PTRC_CHUNK_STATE_MASK) | to,
		memory_order_acq_rel, memory_order_relaxed));
	return true;
}

bool ptrc_stream_condemn(struct ptrc_stream *s, uint32_t index, uint64_t word,
			 uint32_t *end)
{
	struct ptrc_stream_header *h = s->header;
	struct ptrc_chunk_ctl *ctl = &ptrc_stream_ctl(h)[index];
	struct ptrc_chunk *c = ptrc_pool_chunk(&s->pool, index);
	uint32_t slot = PTRC_CHUNK_SLOT(word);
	int64_t wait_ns = CONDEMN_WAIT_NS;

	/* Not to be adopted. */
	change_chunk(ctl, word, PTRC_CHUNK_PARTIAL, PTRC_CHUNK_SEALED);
	if (change_chunk(ctl, word, PTRC_CHUNK_OWNED, PTRC_CHUNK_SEALED)) {
		/* Its owner finds out as soon as it looks at the word, which a new control
		 * word has it do with its next event. */
		control_change(h, 0, 0);
		ptrc_barrier(h);
		if (ptrc_stream_wait_marks(s, slot, &wait_ns) == slot) {
			change_chunk(ctl, word, PTRC_CHUNK_SEALED, PTRC_CHUNK_OWNED);
			return false;
		}
		*end = (uint32_t)atomic_load_explicit(&c->pos, memory_order_acquire);
		if (*end < PTRC_CHUNK_FIRST || *end > s->pool.chunk_size)
			*end = s->pool.chunk_size;
		atomic_store_explicit(&ctl->end, *end, memory_order_relaxed);
		return true;
	}
	if (PTRC_CHUNK_STATE(atomic_load_explicit(&ctl->word, memory_order_acquire)) !=
	    PTRC_CHUNK_SEALED)
		return false;
	*end = atomic_load_explicit(&ctl->end, memory_order_relaxed);
	if (*end > s->pool.chunk_size)
		*end = s->pool.chunk_size;
	return true;
}

/* ---- the same, one at a time ---- */

void ptrc_stream_start(struct ptrc_stream *s, const struct ptrc_context *origin,
		       uint64_t addr)
{
	lock_state(s->header);
	do_start(s, origin, addr);
	unlock_state(s->header);
}

void ptrc_stream_stop(struct ptrc_stream *s, const struct ptrc_context *origin,
		      uint64_t addr)
{
	lock_state(s->header);
	do_stop(s, origin, addr);
	unlock_state(s->header);
}

bool ptrc_stream_stop_is_out(struct ptrc_stream *s, uint64_t run)
{
	bool is_restarted;

	lock_state(s->header);
	is_restarted = do_stop_is_out(s, run);
	unlock_state(s->header);
	return is_restarted;
}

void ptrc_stream_set_filter(struct ptrc_stream *s, const uint64_t bits[17],
			    const struct ptrc_context *origin, uint64_t addr)
{
	lock_state(s->header);
	do_set_filter(s, bits, origin, addr);
	unlock_state(s->header);
}

void ptrc_stream_clear(struct ptrc_stream *s)
{
	lock_state(s->header);
	do_clear(s);
	unlock_state(s->header);
}
