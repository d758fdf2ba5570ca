/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/live_reader.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <trace.h>

#include "lib/base/heap.h"
#include "lib/stream/barrier.h"
#include "lib/stream/chunk.h"
#include "lib/stream/counter.h"
#include "lib/stream/status.h"
#include "lib/stream/type_counts.h"

/* The longest that an event call at work delays the reader (GETNEXT-33): a preempted
 * writer comes back sooner, a stopped one must not hold up the others. */
#define HOLD_MAX_NS INT64_C(100000000)
/* And so much of it must be waiting: who looks seldom, or stood still together with the
 * writer, does not see that it is stopped. */
#define HOLD_SEEN_NS INT64_C(50000000)

/* Batches without an event in one call: more than one or two is damaged memory. */
#define IDLE_MAX 100

struct ptrc_live_run {
	uint32_t chunk;
	uint32_t gen; /* that the walk belongs to; 0: none yet */
	struct ptrc_walk walk;
	struct ptrc_walk_record next;
	uint64_t base;	 /* of the chunk, for runs of equal stamps: older chunk first */
	uint32_t unread; /* where begins what was not reported; for counting */
};

int ptrc_live_reader_init(struct ptrc_live_reader *r, struct ptrc_stream *s, bool is_tee)
{
	memset(r, 0, sizeof(*r));
	r->stream = s;
	r->is_tee = is_tee;
	r->gap_first = PTRC_TIME_NONE;
	r->buffer_size = s->pool.chunk_size;
	r->buffer = malloc(r->buffer_size);
	if (is_tee)
		r->withheld = calloc(PTRC_TYPE_COUNT, sizeof(*r->withheld));
	ptrc_sequencer_reset(&r->sequencer);
	return r->buffer && (r->withheld || !is_tee) ? 0 : ENOMEM;
}

void ptrc_live_reader_destroy(struct ptrc_live_reader *r)
{
	free(r->buffer);
	free(r->withheld);
	free(r->heap);
	free(r->runs);
}

/* ---- heap of runs ---- */

static bool is_before(const struct ptrc_live_run *a, const struct ptrc_live_run *b)
{
	if (a->next.stamp != b->next.stamp)
		return a->next.stamp < b->next.stamp;
	return a->base < b->base;
}

PTRC_HEAP_DEFINE(heap, struct ptrc_live_run, is_before);

static void pop(struct ptrc_live_reader *r)
{
	heap_pop(r->heap, r->heap_count--);
}

/* ---- chunks ---- */

static struct ptrc_chunk_ctl *ctl_at(struct ptrc_live_reader *r, uint32_t chunk)
{
	return &ptrc_stream_ctl(r->stream->header)[chunk];
}

static struct ptrc_chunk *chunk_at(struct ptrc_live_reader *r, uint32_t chunk)
{
	return ptrc_pool_chunk(&r->stream->pool, chunk);
}

/* Pin the chunk so that it stays what it is; *end: behind its last record. */
static bool pin(struct ptrc_live_reader *r, uint32_t chunk, uint64_t *pinned,
		uint32_t *end)
{
	struct ptrc_stream *s = r->stream;
	struct ptrc_chunk_ctl *ctl = ctl_at(r, chunk);
	uint64_t word = atomic_load_explicit(&ctl->word, memory_order_acquire);

	for (;;) {
		uint64_t state = PTRC_CHUNK_STATE(word);

		if (state == PTRC_CHUNK_STEALING)
			ptrc_chunk_note_loss(&s->pool, chunk, word);
		if ((state != PTRC_CHUNK_OWNED && state != PTRC_CHUNK_SEALED &&
		     state != PTRC_CHUNK_PARTIAL) ||
		    atomic_load_explicit(&ctl->epoch, memory_order_relaxed) != r->epoch)
			return false;
		*end = ptrc_chunk_end(&s->pool, chunk, word);
		if (*end == 0)
			return false;
		if (atomic_compare_exchange_weak_explicit(
			    &ctl->word, &word, word | PTRC_CHUNK_PIN_READER,
			    memory_order_acq_rel, memory_order_acquire))
			break;
	}
	*pinned = word | PTRC_CHUNK_PIN_READER;
	return true;
}

static void unpin(struct ptrc_live_reader *r, uint32_t chunk)
{
	struct ptrc_chunk_ctl *ctl = ctl_at(r, chunk);
	uint64_t word = atomic_fetch_and_explicit(&ctl->word, ~PTRC_CHUNK_PIN_READER,
						  memory_order_acq_rel) &
			~PTRC_CHUNK_PIN_READER;
	uint32_t end;

	if (r->is_tee || PTRC_CHUNK_STATE(word) != PTRC_CHUNK_SEALED ||
	    (word & PTRC_CHUNK_PINS))
		return;
	end = atomic_load_explicit(&ctl->end, memory_order_relaxed);
	if (ptrc_chunk_rpos(ctl, word, end) >= end)
		atomic_compare_exchange_strong_explicit(
			&ctl->word, &word,
			(uint64_t)PTRC_CHUNK_GEN(word) << PTRC_CHUNK_GEN_SHIFT |
				PTRC_CHUNK_FREE,
			memory_order_release, memory_order_relaxed);
}

/* Records up to `off` are consumed: room again. */
static void free_up_to(struct ptrc_live_reader *r, uint32_t chunk, uint64_t word,
		       uint32_t off, uint32_t events)
{
	struct ptrc_stream_header *h = r->stream->header;
	struct ptrc_chunk_ctl *ctl = ctl_at(r, chunk);
	uint64_t old = atomic_load_explicit(&ctl->rpos, memory_order_relaxed);
	uint32_t before = 0;

	if (r->is_tee)
		return;
	if ((uint32_t)(old >> 32) == PTRC_CHUNK_GEN(word))
		before = atomic_load_explicit(&ctl->rcount, memory_order_relaxed);
	atomic_store_explicit(&ctl->rcount, before + events, memory_order_relaxed);
	atomic_store_explicit(&ctl->rpos, (uint64_t)PTRC_CHUNK_GEN(word) << 32 | off,
			      memory_order_release);
	if (h->policy == POSIX_TRACE_LOOP &&
	    (atomic_load_explicit(&h->status, memory_order_relaxed) & PTRC_ST_FULL))
		ptrc_status_clear(h, PTRC_ST_FULL);
}

/* An event leaves the stream, or was made up. Not through a tee. */
static void count(struct ptrc_live_reader *r, uint32_t id_flags, uint32_t len)
{
	struct ptrc_type_sum one = {.id = id_flags & PTRC_REC_ID_MASK,
				    .events = 1,
				    .bytes = len,
				    .truncated = (id_flags & PTRC_REC_TRUNCATED) != 0};

	if (!r->is_tee && !(id_flags & PTRC_REC_HIDDEN))
		ptrc_type_counts_add(ptrc_stream_types(r->stream->header), r->epoch,
				     &one);
}

/* Whether the event is to be reported; counts it. */
static bool admit(struct ptrc_live_reader *r, const struct ptrc_live_event *e)
{
	struct posixtrace_type_count *withheld;

	if (ptrc_sequencer_admit(&r->sequencer, e->id_flags, e->data, e->len)) {
		count(r, e->id_flags, e->len);
		return true;
	}
	if (r->is_tee && !(e->id_flags & PTRC_REC_HIDDEN)) {
		withheld = &r->withheld[e->id_flags & PTRC_REC_ID_MASK];
		withheld->pt_events++;
		withheld->pt_bytes += e->len;
		withheld->pt_truncated += (e->id_flags & PTRC_REC_TRUNCATED) != 0;
	}
	return false;
}

/* ERROR: damaged memory was met and what is behind it skipped. */
static void report_damage(struct ptrc_live_reader *r)
{
	static const int error = EINVAL;

	if (r->queue_at == r->queue_count) {
		r->queue_at = 0;
		r->queue_count = 1;
		r->queue[0] = (struct ptrc_live_event){
			.stamp = r->until,
			.ns = ptrc_clock_realtime(r->stream->header, &r->clock, r->until),
			.data = &error,
			.len = sizeof(error),
			.id_flags = POSIX_TRACE_ERROR};
		count(r, POSIX_TRACE_ERROR, sizeof(error));
	}
}

/* Nothing in the chunk from here on can be trusted. */
static void skip_damage(struct ptrc_live_reader *r, struct ptrc_live_run *run,
			uint64_t word, uint32_t end)
{
	/* A tee leaves it to the keeper. */
	if (!r->is_tee)
		ptrc_stream_condemn(r->stream, run->chunk, word, &end);
	run->walk.off = end;
	free_up_to(r, run->chunk, word, end, 0);
	report_damage(r);
}

/* Step the run to its next record not consumed yet and not beyond `until`. The chunk is
 * pinned. */
static bool step(struct ptrc_live_reader *r, struct ptrc_live_run *run, uint64_t word,
		 uint32_t end)
{
	struct ptrc_walk before;

	run->walk.end = end;
	for (;;) {
		uint32_t rpos = ptrc_chunk_rpos(ctl_at(r, run->chunk), word, end);

		before = run->walk;
		if (!ptrc_walk_next(&run->walk, &run->next)) {
			if (run->walk.off < end)
				skip_damage(r, run, word, end);
			return false;
		}
		if (run->next.off >= rpos)
			break;
	}
	if (run->next.stamp <= r->until)
		return true;
	if (run->next.stamp > ptrc_stream_now(r->stream->header) + PTRC_STAMP_SLACK)
		skip_damage(r, run, word, end);
	else
		run->walk = before;
	return false;
}

static bool enter_chunk(struct ptrc_live_reader *r, struct ptrc_live_run *run)
{
	struct ptrc_chunk *c = chunk_at(r, run->chunk);
	bool has_record = false;
	uint64_t word;
	uint32_t end;

	if (!pin(r, run->chunk, &word, &end))
		return false;
	if (run->gen != PTRC_CHUNK_GEN(word)) {
		run->gen = PTRC_CHUNK_GEN(word);
		run->base = c->base;
		run->walk = (struct ptrc_walk){.bytes = (const uint8_t *)c,
					       .off = PTRC_CHUNK_FIRST,
					       .end = end,
					       .base = c->base,
					       .origin = c->origin};
	}
	if (run->walk.off < end)
		has_record = step(r, run, word, end);
	unpin(r, run->chunk);
	return has_record;
}

/* ---- batches ---- */

static bool has_unread(struct ptrc_live_reader *r, uint32_t used)
{
	struct ptrc_stream *s = r->stream;

	for (uint32_t i = 0; i < used; i++) {
		struct ptrc_chunk_ctl *ctl = ctl_at(r, i);
		uint64_t word = atomic_load_explicit(&ctl->word, memory_order_acquire);
		uint32_t end;

		if (PTRC_CHUNK_STATE(word) == PTRC_CHUNK_FREE ||
		    PTRC_CHUNK_STATE(word) == PTRC_CHUNK_STEALING ||
		    atomic_load_explicit(&ctl->epoch, memory_order_relaxed) != r->epoch)
			continue;
		end = ptrc_chunk_end(&s->pool, i, word);
		if (end && ptrc_chunk_rpos(ctl, word, end) < end &&
		    !(i < r->run_capacity && r->runs[i].gen == PTRC_CHUNK_GEN(word) &&
		      r->runs[i].walk.off >= end))
			return true;
	}
	return false;
}

static int grow(struct ptrc_live_reader *r, uint32_t used)
{
	struct ptrc_live_run *runs;
	struct ptrc_live_run **heap;

	if (used <= r->run_capacity)
		return 0;
	heap = realloc(r->heap, used * sizeof(struct ptrc_live_run *));
	if (!heap)
		return ENOMEM;
	r->heap = heap;
	runs = realloc(r->runs, used * sizeof(*runs));
	if (!runs)
		return ENOMEM;
	memset(runs + r->run_capacity, 0, (used - r->run_capacity) * sizeof(*runs));
	r->runs = runs;
	for (uint32_t i = r->run_capacity; i < used; i++)
		runs[i].chunk = i;
	r->run_capacity = used;
	return 0;
}

/* Fix a moment, and wait for the event calls that were at work then. False: not done yet;
 * the next call goes on with the same moment, so that only what was at work then counts,
 * however busy the writers are. */
static bool settle(struct ptrc_live_reader *r, int64_t max_hold_ns)
{
	struct ptrc_stream_header *h = r->stream->header;
	int64_t now = ptrc_clock_ns(CLOCK_MONOTONIC);

	if (!r->is_settling) {
		r->until = ptrc_stream_now(h);
		ptrc_clock_update(h, r->until);
		ptrc_barrier(h);
		r->is_settling = true;
		r->settle_slot = 0;
		r->settle_since = now;
		r->settle_seen = 0;
	}
	for (;;) {
		int64_t left = max_hold_ns;

		r->settle_slot =
			ptrc_marks_wait(h, &r->stream->given_up, r->settle_slot, &left);
		if (r->settle_slot == UINT32_MAX) {
			r->is_settling = false;
			return true;
		}
		r->settle_seen += max_hold_ns - left;
		if (ptrc_clock_ns(CLOCK_MONOTONIC) - r->settle_since < HOLD_MAX_NS)
			return false;
		max_hold_ns = HOLD_SEEN_NS - r->settle_seen;
		if (max_hold_ns > 0)
			continue;
		/* A stopped writer: its record comes late. */
		ptrc_marks_give_up(h, &r->stream->given_up, r->settle_slot++);
	}
}

/* 0 with an empty heap: nothing there. ENODATA: something is, but held back. */
static int new_batch(struct ptrc_live_reader *r, int64_t max_hold_ns)
{
	uint32_t used;
	int error;

	if (!r->is_settling && !has_unread(r, ptrc_pool_used(&r->stream->pool)))
		return 0;
	if (!settle(r, max_hold_ns))
		return ENODATA;
	/* Only now: a chunk taken for the first time before `until` counts, too. */
	used = ptrc_pool_used(&r->stream->pool);
	error = grow(r, used);
	if (error)
		return error;
	for (uint32_t i = 0; i < used; i++)
		if (enter_chunk(r, &r->runs[i]))
			r->heap[r->heap_count++] = &r->runs[i];
	heap_build(r->heap, r->heap_count);
	r->walked = r->until;
	return 0;
}

/* The heap is empty: whoever flushes may take what has been in it. */
static void tell_keeper(struct ptrc_live_reader *r)
{
	struct ptrc_stream_header *h = r->stream->header;

	if (!r->is_tee)
		return;
	atomic_store_explicit(&h->tee_until, r->walked, memory_order_release);
	atomic_store_explicit(&h->tee_beat, (uint64_t)ptrc_clock_ns(CLOCK_MONOTONIC),
			      memory_order_release);
}

/* ---- events ---- */

static void finish_event(struct ptrc_live_reader *r, struct ptrc_live_event *e)
{
	e->ns = ptrc_clock_realtime(r->stream->header, &r->clock, e->stamp);
}

static void enqueue(struct ptrc_live_reader *r, uint32_t id, uint64_t stamp,
		    const void *data, uint32_t len)
{
	struct ptrc_live_event *e = &r->queue[r->queue_count];

	if (ptrc_stream_is_filtered(r->stream->header, id))
		return;
	memset(e, 0, sizeof(*e));
	e->id_flags = id;
	e->stamp = stamp;
	e->data = data;
	e->len = len;
	finish_event(r, e);
	r->queue_count++;
	count(r, id, len);
}

/* Copy the record at the head out and consume it. False: the chunk is gone meanwhile. */
static bool take_head(struct ptrc_live_reader *r, struct ptrc_live_event *e)
{
	struct ptrc_live_run *run = r->heap[0];
	uint64_t word;
	uint32_t end;

	if (!pin(r, run->chunk, &word, &end)) {
		pop(r);
		return false;
	}
	if (PTRC_CHUNK_GEN(word) != run->gen) {
		unpin(r, run->chunk);
		pop(r);
		return false;
	}
	memset(e, 0, sizeof(*e));
	e->stamp = run->next.stamp;
	e->addr = run->next.addr;
	e->id_flags = run->next.id_flags;
	e->len = run->next.len < r->buffer_size ? run->next.len : r->buffer_size;
	e->origin = run->walk.origin;
	e->data = r->buffer;
	/* Of a damaged length the walk has made sure that it lies inside the chunk. */
	memcpy(r->buffer, run->walk.bytes + run->next.data, e->len);
	/* A tee skips what was flushed while it was at it. */
	if (run->next.off < ptrc_chunk_rpos(ctl_at(r, run->chunk), word, end))
		e->id_flags |= PTRC_REC_CONTEXT;
	free_up_to(r, run->chunk, word, run->walk.off, 1);
	if (step(r, run, word, end))
		heap_sift_down(r->heap, r->heap_count, 0);
	else
		pop(r);
	unpin(r, run->chunk);
	return true;
}

enum place { REPORT, DROP, BEHIND_GAP };

/* Where the head stands with regard to what was lost, in a LOOP stream. */
static enum place place_of(struct ptrc_live_reader *r, uint64_t stamp)
{
	struct ptrc_stream_header *h = r->stream->header;
	uint64_t first = atomic_load_explicit(&h->first_lost, memory_order_acquire), last;

	/* first_lost is taken before the horizon is looked at, thieves note them the other
	 * way round: a loss may be seen without its first event, as part of one told
	 * before, but never the first event without the loss. A tee leaves it for the
	 * keeper. */
	if (first != PTRC_TIME_NONE) {
		if (!r->is_tee)
			first = atomic_exchange_explicit(&h->first_lost, PTRC_TIME_NONE,
							 memory_order_acq_rel);
		last = atomic_load_explicit(&h->horizon, memory_order_acquire);
		/* A thief that died left its loss to be noted again by another: what is
		 * behind us was told. */
		if (last > r->told) {
			r->is_in_gap = true;
			if (first <= r->told)
				first = r->told + 1;
			if (first < r->gap_first)
				r->gap_first = first;
		}
	}
	if (!r->is_in_gap)
		return REPORT;
	/* What survived (in the open chunk of a thread that records seldom) but is older than
	 * the last event lost is dropped too: a gap is one clean gap. */
	if (stamp > atomic_load_explicit(&h->horizon, memory_order_acquire))
		return BEHIND_GAP;
	/* One that comes late may be older than what was reported. */
	if (stamp < r->gap_first)
		r->gap_first = stamp > r->told ? stamp : r->told + 1;
	return DROP;
}

static void note_told(struct ptrc_live_reader *r, uint64_t stamp)
{
	if (stamp > r->told)
		r->told = stamp;
}

/* OVERFLOW, RESUME and the event that RESUME announces, which is ours by now. */
static void tell_gap(struct ptrc_live_reader *r, const struct ptrc_live_event *e)
{
	ptrc_sequencer_gap(&r->sequencer);
	r->queue_at = r->queue_count = 0;
	enqueue(r, POSIX_TRACE_OVERFLOW, r->gap_first, NULL, 0);
	enqueue(r, POSIX_TRACE_RESUME, e->stamp, NULL, 0);
	if (admit(r, e))
		r->queue[r->queue_count++] = *e;
	r->is_in_gap = false;
	r->gap_first = PTRC_TIME_NONE;
	note_told(r, e->stamp);
}

/* Nothing is left: if the stream stopped for want of room, say so, and let it go on. */
static bool tell_stop(struct ptrc_live_reader *r, int64_t max_hold_ns)
{
	static const int reason = 1;
	struct ptrc_stream_header *h = r->stream->header;
	uint64_t status = atomic_load_explicit(&h->status, memory_order_acquire);
	uint64_t run = atomic_load_explicit(&h->run, memory_order_acquire);
	uint64_t cut;

	if (!(status & PTRC_ST_AUTO_STOPPED) || (status & PTRC_ST_STOP_OUT))
		return false;
	/* An event of the run may be on its way still, and comes before the STOP. */
	if (!settle(r, max_hold_ns))
		return false;
	if (has_unread(r, ptrc_pool_used(&r->stream->pool)))
		return true;
	r->queue_at = r->queue_count = 0;
	if (ptrc_stream_cut(h, &cut) && r->stop_told != run + 1) {
		r->stop_told = run + 1;
		enqueue(r, POSIX_TRACE_STOP, cut, &reason, sizeof(reason));
	}
	if (!r->is_tee && ptrc_stream_stop_is_out(r->stream, run))
		return true;
	return r->queue_count > 0;
}

static void start_over(struct ptrc_live_reader *r, uint64_t epoch)
{
	r->epoch = epoch;
	r->heap_count = 0;
	r->queue_at = r->queue_count = 0;
	r->is_in_gap = false;
	r->told = atomic_load_explicit(&r->stream->header->cleared_at,
				       memory_order_acquire);
	r->gap_first = PTRC_TIME_NONE;
	r->is_settling = false;
	if (r->is_tee)
		memset(r->withheld, 0, PTRC_TYPE_COUNT * sizeof(*r->withheld));
	ptrc_sequencer_reset(&r->sequencer);
}

int ptrc_live_reader_next(struct ptrc_live_reader *r, int64_t max_hold_ns,
			  struct ptrc_live_event *event)
{
	struct ptrc_stream_header *h = r->stream->header;
	uint64_t epoch = atomic_load_explicit(&h->epoch, memory_order_acquire);

	if (epoch != r->epoch)
		start_over(r, epoch);
	for (unsigned idle = 0; idle < IDLE_MAX;) {
		uint64_t stamp, cut, dead_until;
		enum place place = REPORT;
		int error;

		if (r->queue_at < r->queue_count) {
			*event = r->queue[r->queue_at++];
			return 0;
		}
		if (r->heap_count == 0) {
			if (h->policy != POSIX_TRACE_LOOP)
				ptrc_stream_complete(r->stream);
			tell_keeper(r);
			error = new_batch(r, max_hold_ns);
			if (error)
				return error;
			if (r->queue_at < r->queue_count)
				continue;
			if (r->heap_count == 0 && !tell_stop(r, max_hold_ns))
				return ENODATA;
			idle++;
			continue;
		}
		stamp = r->heap[0]->next.stamp;
		if (h->policy == POSIX_TRACE_LOOP)
			place = place_of(r, stamp);
		dead_until = atomic_load_explicit(&h->dead_until, memory_order_acquire);
		if ((ptrc_stream_cut(h, &cut) && stamp >= cut) ||
		    (stamp < dead_until &&
		     stamp >= atomic_load_explicit(&h->dead_from, memory_order_relaxed)))
			place = DROP;
		if (!take_head(r, event))
			continue;
		if (event->id_flags & PTRC_REC_CONTEXT)
			continue;
		if (place == DROP) {
			if (!r->is_tee && !(event->id_flags & PTRC_REC_HIDDEN))
				atomic_fetch_add_explicit(&h->lost_events, 1,
							  memory_order_relaxed);
			continue;
		}
		finish_event(r, event);
		if (place == REPORT)
			note_told(r, event->stamp);
		if (place == BEHIND_GAP) {
			tell_gap(r, event);
			continue;
		}
		if (admit(r, event))
			return 0;
		/* Not by a START: it may be of our own making, of a stream that in damaged
		 * memory stops again whenever it restarts. */
		if ((event->id_flags & PTRC_REC_ID_MASK) != POSIX_TRACE_START)
			idle = 0;
	}
	return ENODATA;
}

/* ---- counting ---- */

/* What is not part of the trace, as ptrc_live_reader_next and the drain see it. */
struct bounds {
	uint64_t gap_last, cut, dead_from, dead_until;
};

/* What is in the heap has been walked over, but not been reported. */
static void find_unread(struct ptrc_live_reader *r)
{
	for (uint32_t i = 0; i < r->run_capacity; i++)
		r->runs[i].unread = r->runs[i].walk.off;
	for (uint32_t i = 0; i < r->heap_count; i++)
		r->heap[i]->unread = r->heap[i]->next.off;
}

static void count_chunk(struct ptrc_live_reader *r, uint32_t chunk,
			const struct bounds *b, struct posixtrace_type_count *counts,
			size_t count)
{
	struct ptrc_chunk *c = chunk_at(r, chunk);
	struct ptrc_walk_record record;
	struct ptrc_walk walk;
	uint32_t end, rpos, unread = 0;
	uint64_t word;

	if (!pin(r, chunk, &word, &end))
		return;
	rpos = ptrc_chunk_rpos(ctl_at(r, chunk), word, end);
	if (chunk < r->run_capacity && r->runs[chunk].gen == PTRC_CHUNK_GEN(word))
		unread = r->runs[chunk].unread;
	walk = (struct ptrc_walk){.bytes = (const uint8_t *)c,
				  .off = PTRC_CHUNK_FIRST,
				  .end = end,
				  .base = c->base};
	while (rpos < end && ptrc_walk_next(&walk, &record)) {
		uint32_t id = record.id_flags & PTRC_REC_ID_MASK;

		if (record.off < rpos || id >= count ||
		    (record.id_flags & PTRC_REC_HIDDEN) || record.stamp <= b->gap_last ||
		    record.stamp >= b->cut ||
		    (record.stamp >= b->dead_from && record.stamp < b->dead_until))
			continue;
		counts[id].pt_events++;
		counts[id].pt_bytes += record.len;
		counts[id].pt_truncated += (record.id_flags & PTRC_REC_TRUNCATED) != 0;
		counts[id].pt_unread += record.off >= unread;
	}
	unpin(r, chunk);
}

/* After a keeper was killed there may be less than that. */
static void take_off(struct posixtrace_type_count *from,
		     const struct posixtrace_type_count *t)
{
	from->pt_events -=
		t->pt_events < from->pt_events ? t->pt_events : from->pt_events;
	from->pt_bytes -= t->pt_bytes < from->pt_bytes ? t->pt_bytes : from->pt_bytes;
	from->pt_truncated -= t->pt_truncated < from->pt_truncated ? t->pt_truncated
								   : from->pt_truncated;
}

bool ptrc_live_reader_count(struct ptrc_live_reader *r,
			    struct posixtrace_type_count *counts, size_t count)
{
	struct ptrc_stream_header *h = r->stream->header;
	struct ptrc_type_counts *types = ptrc_stream_types(h);
	uint64_t version = atomic_load_explicit(&types->version, memory_order_acquire);
	uint64_t epoch = atomic_load_explicit(&h->epoch, memory_order_acquire);
	struct bounds b = {.cut = PTRC_TIME_NONE};
	uint32_t used = ptrc_pool_used(&r->stream->pool);

	if (epoch != r->epoch)
		start_over(r, epoch);
	memset(counts, 0, count * sizeof(*counts));
	if (atomic_load_explicit(&types->epoch, memory_order_acquire) == epoch)
		for (uint32_t i = 0; i < count && i < PTRC_TYPE_COUNT; i++) {
			struct ptrc_type_count *t = &types->type[i];

			counts[i].pt_events =
				atomic_load_explicit(&t->events, memory_order_relaxed);
			counts[i].pt_bytes =
				atomic_load_explicit(&t->bytes, memory_order_relaxed);
			counts[i].pt_truncated =
				atomic_load_explicit(&t->truncated, memory_order_relaxed);
		}
	ptrc_stream_cut(h, &b.cut);
	b.dead_until = atomic_load_explicit(&h->dead_until, memory_order_acquire);
	b.dead_from = atomic_load_explicit(&h->dead_from, memory_order_relaxed);
	b.gap_last = atomic_load_explicit(&h->horizon, memory_order_acquire);
	if (b.gap_last <= atomic_load_explicit(&h->cleared_at, memory_order_acquire))
		b.gap_last = 0;
	find_unread(r);
	for (uint32_t i = 0; i < used; i++)
		count_chunk(r, i, &b, counts, count);
	for (uint32_t i = 0; r->is_tee && i < count && i < PTRC_TYPE_COUNT; i++)
		take_off(&counts[i], &r->withheld[i]);
	atomic_thread_fence(memory_order_acquire);
	return !(version & 1) &&
	       atomic_load_explicit(&types->version, memory_order_relaxed) == version &&
	       atomic_load_explicit(&h->epoch, memory_order_relaxed) == epoch;
}
