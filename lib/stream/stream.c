/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/stream.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <trace.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/shared_version.h"
#include "lib/base/sys.h"
#include "lib/base/tid_lock.h"
#include "lib/model/eventset.h"
#include "lib/stream/chunk.h"
#include "lib/stream/clock.h"
#include "lib/stream/filter.h"
#include "lib/stream/recording.h"
#include "lib/stream/space.h"
#include "lib/stream/status.h"

/* If a thread has held state_lock for this time, another thread takes the lock, even if the
 * holder is alive. */
#define STATE_WAIT_NS INT64_C(2000000000)

/* ---- mapping ---- */

/* Copies the sizes of the stream and then checks the copies, because any process of the user can
 * change the sizes in shared memory at any time. */
static bool take_measures(struct ptrc_stream *s)
{
	const volatile struct ptrc_stream_header *h = s->header;
	uint64_t size = s->map_size, chunk_size, count;

	s->version = h->version;
	s->pool.chunk_size = h->chunk_size;
	s->pool.chunk_count = h->chunk_count;
	chunk_size = s->pool.chunk_size;
	count = s->pool.chunk_count;
	return h->magic == PTRC_STREAM_MAGIC && ptrc_shared_version_is_known(s->version) &&
	       chunk_size >= 4096 && chunk_size % 4096 == 0 && count >= 1 &&
	       count <= UINT32_MAX / 2 && h->map_size <= size &&
	       (size - ptrc_stream_chunk_offset((uint32_t)count)) / chunk_size >= count &&
	       size >= ptrc_stream_chunk_offset((uint32_t)count) &&
	       h->record_max <= chunk_size - PTRC_CHUNK_FIRST;
}

/* Called by a new keeper: cleans up what a dead keeper may have left in the stream, namely pins,
 * a chunk of its own, a mark, and half-changed counts by type. */
static void take_over(struct ptrc_stream *s)
{
	struct ptrc_stream_header *h = s->header;
	struct ptrc_type_counts *types = ptrc_stream_types(h);
	uint64_t version;

	for (uint32_t i = 0, used = ptrc_pool_used(&s->pool); i < used; i++) {
		uint64_t word =
			atomic_fetch_and_explicit(&ptrc_pool_ctl(&s->pool, i)->word,
						  ~PTRC_CHUNK_PIN_KEEPER, memory_order_acquire) &
			~PTRC_CHUNK_PIN_KEEPER;

		/* ptrc_slots_reap() skips the keeper's slot, so this seals the keeper's chunks. */
		if (PTRC_CHUNK_STATE(word) == PTRC_CHUNK_OWNED &&
		    PTRC_CHUNK_SLOT(word) == PTRC_SLOT_KEEPER)
			ptrc_chunk_seal_dead(&s->pool, i, word);
	}
	ptrc_store_relaxed(&ptrc_stream_slots(h)[PTRC_SLOT_KEEPER].frame, 0);
	version = ptrc_load_relaxed(&types->version);
	if (version & 1)
		ptrc_store_release(&types->version, version + 1);
}

int ptrc_stream_map(int fd, enum ptrc_role role, struct ptrc_stream *s)
{
	struct stat st;
	void *map;

	memset(s, 0, sizeof(*s));
	if (ptrc_sys(SYS_fstat, fd, &st) < 0 || st.st_size < (off_t)PTRC_STREAM_CLOCK_OFFSET)
		return EINVAL;
	if (ptrc_file_map_sparse(fd, (uint64_t)st.st_size, NULL, &map))
		return ENOMEM;
	s->header = map;
	s->map_size = (uint64_t)st.st_size;
	if (!take_measures(s)) {
		bool is_other = s->header->magic == PTRC_STREAM_MAGIC &&
				!ptrc_shared_version_is_known(s->version);

		ptrc_stream_unmap(s);
		return is_other ? EPROTO : EINVAL;
	}
	s->role = role;
	ptrc_writer_init(&s->own, &s->pool,
			 role == PTRC_ROLE_KEEPER ? PTRC_SLOT_KEEPER : PTRC_SLOT_CONTROLLER);
	if (role == PTRC_ROLE_KEEPER)
		take_over(s);
	return 0;
}

void ptrc_stream_unmap(struct ptrc_stream *s)
{
	if (s->header)
		ptrc_sys(SYS_munmap, s->header, s->map_size);
	s->header = NULL;
}

/* ---- system events ---- */

/* Records an event of the trace system with the writer of controller or keeper, even if the stream
 * is full. A caller that must not exceed stream-min-size has checked for room. False if all chunks
 * are in use. */
static bool record(struct ptrc_stream *s, uint32_t id_flags, const void *data, uint32_t len,
		   const struct ptrc_context *origin, uint64_t addr)
{
	enum ptrc_put_result result;
	struct ptrc_put p = {.id_flags = id_flags,
			     .len = len,
			     .data = data,
			     .addr = addr,
			     .frame = 1,
			     .is_forced = true};
	uint64_t stamp;

	if (origin)
		s->own.origin = *origin;
	else
		memset(&s->own.origin, 0, sizeof(s->own.origin));
	result = ptrc_writer_put(&s->own, &p, &stamp);
	/* The controller gives its chunk back after each event. A LOOP stream cannot overwrite a
	 * chunk that has an owner, and no other writer could use the room that is left in the
	 * chunk. */
	if (s->role == PTRC_ROLE_CONTROLLER)
		ptrc_writer_release(&s->own);
	return result == PTRC_PUT_DONE;
}

/* ---- start, stop ---- */

/* Takes state_lock. Both the controller and the keeper, which restarts streams, change the
 * stream's state. They hold this lock for microseconds; writers never take it. If the holder
 * died, complete() finishes the change that it had begun. */
static struct ptrc_stream_header *lock_state(struct ptrc_stream_header *h)
{
	uint32_t holder;

	while (!ptrc_tid_lock(&h->state_lock, STATE_WAIT_NS, &holder))
		if (ptrc_tid_lock_take(&h->state_lock, &holder))
			break;
	return h;
}

static void unlock_state(struct ptrc_stream_header *const *h)
{
	ptrc_tid_unlock(&(*h)->state_lock);
}

/* Takes state_lock and holds it up to the end of the block. */
#define HOLD_STATE(h) \
	PTRC_CLEANUP(unlock_state) struct ptrc_stream_header *const locked = lock_state(h)

/* The last steps of starting a run, after its START event was recorded and its number was stored:
 * changes the status, and then the control word, which makes writers record. */
static void enter_run(struct ptrc_stream_header *h, uint64_t run)
{
	ptrc_status_change(h,
			   PTRC_ST_RUN_MASK | PTRC_ST_AUTO_STOPPED | PTRC_ST_RESTART_ARMED |
				   PTRC_ST_STOP_OUT | PTRC_ST_NO_STOP | PTRC_ST_CALLED |
				   (h->policy == POSIX_TRACE_LOOP ? 0 : PTRC_ST_FULL),
			   PTRC_ST_RUNNING | (run & 0xff) << PTRC_ST_RUN_SHIFT);
	ptrc_control_change(h, PTRC_CTL_LOSING, PTRC_CTL_RUN);
	ptrc_stream_wake_readers(h);
	ptrc_ring_keeper(h, PTRC_WAKE_LOOK);
}

static void complete(struct ptrc_stream *s)
{
	struct ptrc_stream_header *h = s->header;
	uint64_t control = ptrc_load_acquire(&h->control);
	uint64_t status = ptrc_load_acquire(&h->status);
	uint64_t run = ptrc_load_acquire(&h->run), cut;

	if (!(status & PTRC_ST_RUNNING)) {
		/* If a keeper that restarted the stream died after it had stored the number of the
		 * run and before it had changed the status, finish the restart. */
		if ((status & PTRC_ST_RESTART_ARMED) && ptrc_status_run(status) != (run & 0xff))
			enter_run(h, run);
		return;
	}
	if (h->policy == POSIX_TRACE_LOOP) {
		if (!(status & PTRC_ST_FULL) && ptrc_space_would_overwrite(&s->pool))
			ptrc_status_set(h, PTRC_ST_FULL);
		return;
	}
	if (ptrc_stream_cut(h, &cut)) {
		/* The writer that cut the run is slow or has died, and has not changed the
		 * control word or the status yet. */
		if (control & PTRC_CTL_RUN)
			ptrc_writer_stop_full(h, control, cut);
		else
			ptrc_status_auto_stopped(h, ptrc_status_run(status));
	} else if (!(control & PTRC_CTL_RUN) && (control & PTRC_CTL_LOSING)) {
		/* The keeper that restarted the stream died after it had changed the status and
		 * before it had changed the control word. */
		enter_run(h, run);
	} else if ((control & PTRC_CTL_RUN) && h->full_wait_ns == 0 &&
		   ptrc_space_used(&s->pool) + sizeof(struct ptrc_record) > h->stream_min_size) {
		/* Not even an event without data would fit in the stream. */
		ptrc_writer_stop_full(h, control, ptrc_stream_now(h));
	}
}

/* Records START. False if all chunks are in use. */
static bool record_start(struct ptrc_stream *s, const struct ptrc_context *origin, uint64_t addr)
{
	const struct ptrc_stream_header *h = s->header;
	uint64_t bits[PTRC_SET_WORD_COUNT];
	trace_event_set_t set;

	ptrc_filter_told(h, bits);
	ptrc_set_from_bits(&set, bits);
	return record(s,
		      POSIX_TRACE_START |
			      (ptrc_stream_is_filtered(h, POSIX_TRACE_START) ? PTRC_REC_HIDDEN : 0),
		      &set, sizeof(set), origin, addr);
}

/* START is recorded before the control word is changed, so that every event of the run has a later
 * stamp. If a keeper that restarts the stream dies after it has stored the number of the run,
 * complete() does the rest. If it dies before that, its START has a stamp after the cut of the old
 * run, and so is no part of the trace. */
static void begin_run(struct ptrc_stream *s)
{
	struct ptrc_stream_header *h = s->header;
	uint64_t run, cut;

	if (ptrc_stream_cut(h, &cut)) {
		ptrc_store_relaxed(&h->dead_from, cut);
		ptrc_store_release(&h->dead_until, s->own.last);
	}
	run = atomic_fetch_add_explicit(&h->run, 1, memory_order_acq_rel) + 1;
	enter_run(h, run);
}

/* The stream has stopped by itself, and has room again. */
static void restart(struct ptrc_stream *s)
{
	const struct ptrc_stream_header *h = s->header;
	const struct ptrc_context controller = {.pid = h->controller_pid};

	record_start(s, ptrc_load_acquire(&h->status) & PTRC_ST_CALLED ? &controller : NULL, 0);
	begin_run(s);
}

void ptrc_stream_start(struct ptrc_stream *s, const struct ptrc_context *origin, uint64_t addr)
{
	struct ptrc_stream_header *h = s->header;
	bool has_room = true;
	uint64_t status;
	HOLD_STATE(h);

	complete(s);
	status = ptrc_load_acquire(&h->status);
	if (status & PTRC_ST_RUNNING)
		return;
	if (status & PTRC_ST_LOG_STOPPED) {
		/* The log is full, so the stream stays suspended. But from now on events count as
		 * lost; after posix_trace_stop() they did not. */
		ptrc_control_change(h, 0, PTRC_CTL_LOSING);
		return;
	}
	if (status & PTRC_ST_AUTO_STOPPED) {
		/* The stream will restart by itself. If posix_trace_stop() has prevented that
		 * since, this start allows it again. */
		if (!(status & PTRC_ST_RESTART_ARMED)) {
			ptrc_status_set(h, PTRC_ST_RESTART_ARMED | PTRC_ST_CALLED);
			ptrc_control_change(h, 0, PTRC_CTL_LOSING);
			if (status & PTRC_ST_STOP_OUT)
				restart(s);
		}
		return;
	}
	/* The events of a stream with a full-wait wait for room, so it starts although it is
	 * full. */
	if (h->policy != POSIX_TRACE_LOOP && h->full_wait_ns == 0)
		has_room = ptrc_space_used(&s->pool) + 16 + sizeof(trace_event_set_t) <=
			   h->stream_min_size;
	if (!has_room || (!record_start(s, origin, addr) && h->policy != POSIX_TRACE_LOOP)) {
		/* There is no room for START: the stream is full from the beginning, and restarts
		 * when there is room. No run has begun, so there is no automatic STOP. */
		ptrc_status_change(h, PTRC_ST_STOP_OUT,
				   PTRC_ST_FULL | PTRC_ST_AUTO_STOPPED | PTRC_ST_RESTART_ARMED |
					   PTRC_ST_NO_STOP | PTRC_ST_CALLED);
		ptrc_control_change(h, 0, PTRC_CTL_LOSING);
		ptrc_ring_keeper(h, PTRC_WAKE_LOOK);
		return;
	}
	begin_run(s);
}

void ptrc_stream_stop(struct ptrc_stream *s, const struct ptrc_context *origin, uint64_t addr)
{
	struct ptrc_stream_header *h = s->header;
	int reason = 0;
	uint64_t status, cut;
	HOLD_STATE(h);

	complete(s);
	status = ptrc_load_acquire(&h->status);
	if (!(status & PTRC_ST_RUNNING)) {
		/* The stream has stopped by itself before. From this call on, events that it does
		 * not record do not count as lost, and it does not restart by itself. */
		if (status & (PTRC_ST_RESTART_ARMED | PTRC_ST_LOG_STOPPED)) {
			ptrc_control_change(h, PTRC_CTL_LOSING, 0);
			ptrc_status_clear(h, PTRC_ST_RESTART_ARMED);
		}
		return;
	}
	ptrc_control_change(h, PTRC_CTL_RUN | PTRC_CTL_LOSING, 0);
	/* Event calls that start after the barrier see the new control word. Calls that saw the
	 * old control word have earlier stamps than STOP will get. */
	ptrc_barrier(h);
	if (ptrc_stream_cut(h, &cut)) {
		/* A writer has just stopped the stream because it was full. The writer's stop is
		 * the one that is recorded; this call only keeps the stream from restarting. */
		ptrc_status_auto_stopped(h, ptrc_status_run(status));
		ptrc_status_clear(h, PTRC_ST_RESTART_ARMED);
		ptrc_stream_wake_readers(h);
		return;
	}
	if (!ptrc_stream_is_filtered(h, POSIX_TRACE_STOP))
		record(s, POSIX_TRACE_STOP, &reason, sizeof(reason), origin, addr);
	ptrc_status_clear(h, PTRC_ST_RUNNING);
	ptrc_stream_wake_readers(h);
	ptrc_ring_keeper(h, PTRC_WAKE_LOOK);
}

bool ptrc_stream_stop_is_out(struct ptrc_stream *s, uint64_t run)
{
	struct ptrc_stream_header *h = s->header;
	uint64_t status;
	HOLD_STATE(h);

	status = ptrc_load_acquire(&h->status);
	if (!(status & PTRC_ST_AUTO_STOPPED) || (status & PTRC_ST_LOG_STOPPED) ||
	    run != ptrc_load_relaxed(&h->run))
		return false;
	ptrc_status_set(h, PTRC_ST_STOP_OUT);
	if (!(status & PTRC_ST_RESTART_ARMED))
		return false;
	restart(s);
	return true;
}

void ptrc_stream_complete(struct ptrc_stream *s)
{
	HOLD_STATE(s->header);

	complete(s);
}

void ptrc_stream_log_is_full(struct ptrc_stream *s)
{
	struct ptrc_stream_header *h = s->header;
	uint64_t losing = 0;
	HOLD_STATE(h);

	/* Events count as lost from now on, unless the user had stopped the stream. */
	if (ptrc_load_relaxed(&h->control) & (PTRC_CTL_RUN | PTRC_CTL_LOSING))
		losing = PTRC_CTL_LOSING;
	ptrc_control_change(h, PTRC_CTL_RUN, losing);
	ptrc_status_change(h, PTRC_ST_RUNNING | PTRC_ST_RESTART_ARMED,
			   PTRC_ST_FULL | PTRC_ST_AUTO_STOPPED | PTRC_ST_LOG_STOPPED |
				   PTRC_ST_LOG_FULL);
	ptrc_stream_wake_readers(h);
}

/* ---- filter ---- */

/* Until let_none_pass(), the stream records every type that the old or the new filter accepts. */
static void let_pass(struct ptrc_stream_header *h, const struct ptrc_filter_change *change)
{
	for (unsigned i = 0; i < PTRC_SET_WORD_COUNT; i++)
		ptrc_store_relaxed(&h->pass[i], change->old_told[i] ^ change->new_told[i]);
	/* A process that sees any word of the new filter also sees these bits. */
	atomic_thread_fence(memory_order_release);
}

static void let_none_pass(struct ptrc_stream_header *h)
{
	for (unsigned i = 0; i < PTRC_SET_WORD_COUNT; i++)
		ptrc_store_relaxed(&h->pass[i], 0);
}

void ptrc_stream_change_filter(struct ptrc_stream *s, const struct ptrc_filter_change *change,
			       const struct ptrc_context *origin, uint64_t addr)
{
	struct ptrc_stream_header *h = s->header;
	trace_event_set_t sets[2];
	bool is_told;
	uint32_t hidden;
	HOLD_STATE(h);

	complete(s);
	is_told = (ptrc_load_acquire(&h->status) & PTRC_ST_RUNNING) &&
		  (change->is_always_told ||
		   memcmp(change->old_told, change->new_told, sizeof(change->old_told)) != 0);
	if (is_told)
		let_pass(h, change);
	ptrc_filter_store(h, change);
	ptrc_control_change(h, 0, 0);
	ptrc_barrier(h);
	if (!is_told)
		return;
	/* Writers see a new filter at different moments. So the stream first accepts all types that
	 * the old or the new filter accepts; then FILTER is recorded; then only the new filter
	 * applies. Readers apply the old filter to events before FILTER, and the new filter to
	 * events after it. */
	ptrc_set_from_bits(&sets[0], change->old_told);
	ptrc_set_from_bits(&sets[1], change->new_told);
	hidden = ptrc_set_has(&sets[0], POSIX_TRACE_FILTER) &&
				 ptrc_set_has(&sets[1], POSIX_TRACE_FILTER)
			 ? PTRC_REC_HIDDEN
			 : 0;
	record(s, POSIX_TRACE_FILTER | hidden, sets, sizeof(sets), origin, addr);
	let_none_pass(h);
	ptrc_control_change(h, 0, 0);
	ptrc_barrier(h);
	ptrc_stream_wake_readers(h);
}

/* ---- clear, end ---- */

void ptrc_stream_clear(struct ptrc_stream *s)
{
	struct ptrc_stream_header *h = s->header;
	HOLD_STATE(h);

	complete(s);
	/* The epoch is changed before the control word. Writers that see the new control word
	 * take chunks of the new epoch. Writers that still see the old control word record into
	 * old chunks, which count as empty from now on. */
	ptrc_filter_clear(h);
	let_none_pass(h);
	atomic_fetch_add_explicit(&h->epoch, 1, memory_order_seq_cst);
	ptrc_control_change(h, PTRC_CTL_LOSING, 0);
	ptrc_barrier(h);
	/* A writer that is overwriting a chunk may note the loss after this clear, so readers
	 * ignore losses up to cleared_at. */
	ptrc_store_release(&h->cleared_at, ptrc_stream_now(h));
	/* If the stream has stopped meanwhile because it was full, that stop belongs to the
	 * events that were cleared. */
	ptrc_store_release(&h->cut, PTRC_CUT_NONE);
	if ((ptrc_load_acquire(&h->status) & PTRC_ST_RUNNING) &&
	    !(ptrc_load_acquire(&h->control) & PTRC_CTL_RUN))
		ptrc_control_change(h, PTRC_CTL_LOSING, PTRC_CTL_RUN);
	ptrc_store_relaxed(&h->horizon, 0);
	ptrc_store_relaxed(&h->first_lost, PTRC_TIME_NONE);
	ptrc_store_relaxed(&h->gap_first, PTRC_TIME_NONE);
	ptrc_store_relaxed(&h->dead_from, 0);
	ptrc_store_relaxed(&h->dead_until, 0);
	ptrc_store_relaxed(&h->lost_events, 0);
	ptrc_store_relaxed(&h->unobserved_events, 0);
	ptrc_store_relaxed(&h->waits, 0);
	ptrc_store_relaxed(&h->wait_ns, 0);
	ptrc_store_relaxed(&h->data_needed, 0);
	ptrc_status_change(h,
			   PTRC_ST_FULL | PTRC_ST_OVERRUN | PTRC_ST_EVER_OVERRUN |
				   PTRC_ST_LOG_OVERRUN | PTRC_ST_EVER_LOG_OVERRUN |
				   PTRC_ST_LOG_FULL | PTRC_ST_AUTO_STOPPED | PTRC_ST_RESTART_ARMED |
				   PTRC_ST_LOG_STOPPED | PTRC_ST_STOP_OUT | PTRC_ST_NO_STOP |
				   PTRC_ST_CALLED | UINT64_C(0xffffffff) << PTRC_ST_ERROR_SHIFT,
			   0);
}

void ptrc_stream_end(struct ptrc_stream *s)
{
	ptrc_control_change(s->header, PTRC_CTL_RUN | PTRC_CTL_LOSING, PTRC_CTL_ENDED);
	ptrc_barrier(s->header);
	ptrc_stream_wake_readers(s->header);
}

void ptrc_stream_marker(struct ptrc_stream *s, uint32_t event_id, const struct ptrc_context *origin,
			uint64_t addr)
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
