/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/live_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>

#include "lib/base/atomic.h"
#include "lib/base/copy.h"
#include "lib/base/heap.h"
#include "lib/stream/chunk.h"
#include "lib/stream/filter.h"
#include "lib/stream/marks.h"
#include "lib/stream/slots.h"
#include "lib/stream/status.h"

/* All event calls under way together delay the reader at most this long. A writer that has only
 * lost its processor finishes sooner; a writer that is stopped must not hold up the events of the
 * others. The reader looks at the calls all the time and counts only the time in which it runs
 * itself, because what stopped the reader may have stopped the writers, too. */
#define HOLD_NS INT64_C(100000000)
/* At this interval a waiting reader looks whether further events have become complete. */
#define HOLD_PIECE_NS INT64_C(5000000)

/* A call of ptrc_live_reader_next() gives up after this many batches without an event. More than
 * two occur only if the memory is damaged. */
#define IDLE_MAX 100

struct ptrc_live_chunk {
	uint32_t chunk;
	/* generation of the chunk (how often it was reused) at the start of the walk */
	uint32_t gen;
	struct ptrc_walk walk; /* walk.bytes NULL: no walk yet */
	struct ptrc_walk_record
		next; /* the next event; valid while this structure is in the heap */
	/* base stamp of the chunk: of two events with equal stamps, the event in the chunk with
	 * the smaller base is reported first */
	uint64_t base;
	uint32_t unread; /* offset of the first event that was not reported, used only for
			  * counting */
};

int ptrc_live_reader_init(struct ptrc_live_reader *r, struct ptrc_stream *s, bool is_tee)
{
	memset(r, 0, sizeof(*r));
	r->stream = s;
	r->is_tee = is_tee;
	r->consumer = (struct ptrc_consumer){
		.stream = s, .pin = PTRC_CHUNK_PIN_READER, .only_looks = is_tee};
	r->gap.first = PTRC_TIME_NONE;
	r->buffer_size = s->pool.chunk_size;
	r->buffer = malloc(r->buffer_size);
	if (is_tee) {
		r->withheld = calloc(PTRC_TYPE_COUNT, sizeof(*r->withheld));
		r->next_tee = s->tees;
		s->tees = r;
	}
	ptrc_sequencer_reset(&r->sequencer);
	return r->buffer && (r->withheld || !is_tee) ? 0 : ENOMEM;
}

void ptrc_live_reader_unlist(struct ptrc_live_reader *r)
{
	struct ptrc_live_reader **at = &r->stream->tees;

	while (*at && *at != r)
		at = &(*at)->next_tee;
	if (*at)
		*at = r->next_tee;
}

void ptrc_live_reader_destroy(struct ptrc_live_reader *r)
{
	free(r->buffer);
	free(r->withheld);
	free(r->heap);
	free(r->chunks);
}

static bool is_before(const struct ptrc_live_chunk *a, const struct ptrc_live_chunk *b)
{
	if (a->next.stamp != b->next.stamp)
		return a->next.stamp < b->next.stamp;
	return a->base < b->base;
}

PTRC_HEAP_DEFINE(heap, struct ptrc_live_chunk, is_before);

static bool pin(struct ptrc_live_reader *r, uint32_t chunk, struct ptrc_pinned *p)
{
	return ptrc_consumer_pin(&r->consumer, chunk, r->epoch, p);
}

/* ---- counts, filter, damage ---- */

/* Adds an event, which the reader has consumed or made up, to the stream's counts by type. A tee, a
 * reader that consumes nothing, does not count. */
static void count(struct ptrc_live_reader *r, uint32_t id_flags, uint32_t len)
{
	struct ptrc_type_sum one = {.id = id_flags & PTRC_REC_ID_MASK,
				    .events = 1,
				    .bytes = len,
				    .truncated = (id_flags & PTRC_REC_TRUNCATED) != 0};

	if (!r->is_tee && !(id_flags & PTRC_REC_HIDDEN))
		ptrc_type_counts_add(ptrc_stream_types(r->stream->header), r->epoch, &one);
}

static uint64_t *sum_of(struct ptrc_event_sums *sums, uint32_t id)
{
	return id < POSIX_TRACE_UNNAMED_USEREVENT ? &sums->system : &sums->user;
}

/* Called before an event is admitted. For a tee: if the consumer has taken a START or FILTER that the tee has not read, it
 * does not know the filter any more. (The events that it reads next are later than that one.) For the consumer of a stream
 * without a log: says that it has taken such an event; in a stream with a log the keeper does. */
static void note_filter(struct ptrc_live_reader *r, const struct ptrc_live_event *e)
{
	_Atomic uint64_t *taken = &r->stream->header->filter_taken;
	uint32_t id = e->id_flags & PTRC_REC_ID_MASK;

	if (r->is_tee && ptrc_load_acquire(taken) > r->filter_read)
		ptrc_sequencer_gap(&r->sequencer);
	if (id != POSIX_TRACE_START && id != POSIX_TRACE_FILTER)
		return;
	if (e->stamp > r->filter_read)
		r->filter_read = e->stamp;
	if (!r->is_tee)
		ptrc_store_release(taken, r->filter_read);
}

/* Whether the event is to be reported. If so, counts it; if not, a tee (a reader that consumes
 * nothing) counts it as withheld. */
static bool admit(struct ptrc_live_reader *r, const struct ptrc_live_event *e)
{
	struct posixtrace_type_count *withheld;

	note_filter(r, e);
	if (ptrc_sequencer_admit(&r->sequencer, e->id_flags, e->data, e->len)) {
		count(r, e->id_flags, e->len);
		return true;
	}
	if (r->is_tee && !(e->id_flags & PTRC_REC_HIDDEN)) {
		uint32_t id = e->id_flags & PTRC_REC_ID_MASK;

		if (r->withheld_end <= id)
			r->withheld_end = id + 1;
		withheld = &r->withheld[id];
		withheld->pt_events++;
		withheld->pt_bytes += e->len;
		withheld->pt_truncated += (e->id_flags & PTRC_REC_TRUNCATED) != 0;
	}
	return false;
}

static bool is_wanted(const struct ptrc_live_reader *r, uint32_t id)
{
	return !r->is_selective || ptrc_bits_have(r->wanted, id);
}

/* Queues an event that the reader makes up. */
static void push(struct ptrc_live_reader *r, uint32_t id, uint64_t stamp, const void *data,
		 uint32_t len)
{
	r->queue[r->queue_count++] = (struct ptrc_live_event){
		.stamp = stamp,
		.ns = ptrc_clock_realtime(r->stream->header, &r->clock, stamp),
		.data = data,
		.len = len,
		.id_flags = id};
	count(r, id, len);
}

/* Queues an ERROR event, which says that damaged memory was skipped, unless events are queued
 * already or the filter excludes it. */
static void report_damage(struct ptrc_live_reader *r)
{
	static const int error = EINVAL;

	if (r->queue_at != r->queue_count ||
	    ptrc_stream_is_filtered(r->stream->header, POSIX_TRACE_ERROR) ||
	    !is_wanted(r, POSIX_TRACE_ERROR))
		return;
	r->queue_at = r->queue_count = 0;
	push(r, POSIX_TRACE_ERROR, r->until, &error, sizeof(error));
}

static void skip_damage(struct ptrc_live_reader *r, struct ptrc_live_chunk *at,
			const struct ptrc_pinned *p)
{
	uint32_t end = p->end;

	if (!r->is_tee)
		ptrc_consumer_condemn(&r->consumer, p, &end);
	at->walk.off = end;
	ptrc_consumer_advance(&r->consumer, p, end, 0);
	report_damage(r);
}

/* ---- chunks ---- */

/* Whether a tee (a reader that consumes nothing) skips the event, because its type is not selected
 * and it does not affect the reader. A skipped event does not count as missed. */
static bool is_skipped(struct ptrc_live_reader *r, const struct ptrc_walk_record *record)
{
	uint32_t id = record->id_flags & PTRC_REC_ID_MASK;
	struct ptrc_excluded excluded;

	/* System events are not skipped, because some contain the filter. */
	if (!r->is_selective || id < POSIX_TRACE_UNNAMED_USEREVENT || is_wanted(r, id))
		return false;
	excluded = ptrc_excluded_now(r->stream->header);
	if (!(record->id_flags & PTRC_REC_HIDDEN) && !ptrc_is_excluded(&excluded, record->stamp))
		r->taken.user++;
	return true;
}

/* Steps to the chunk's next event that is not later than r->until. False: there is none. */
static bool step(struct ptrc_live_reader *r, struct ptrc_live_chunk *at,
		 const struct ptrc_pinned *p)
{
	struct ptrc_walk before;

	at->walk.end = p->end;
	do {
		before = at->walk;
		if (!ptrc_walk_next(&at->walk, &at->next)) {
			if (at->walk.off < at->walk.end)
				skip_damage(r, at, p);
			return false;
		}
	} while (at->next.off < ptrc_consumer_rpos(&r->consumer, p) ||
		 (at->next.stamp <= r->until && is_skipped(r, &at->next)));
	if (at->next.stamp <= r->until)
		return true;
	/* A stamp in the future counts as damage, because otherwise the reader would stop before
	 * this event for ever. */
	if (at->next.stamp > ptrc_stream_now(r->stream->header) + PTRC_STAMP_SLACK)
		skip_damage(r, at, p);
	else
		at->walk = before;
	return false;
}

static bool enter_chunk(struct ptrc_live_reader *r, struct ptrc_live_chunk *at)
{
	struct ptrc_pinned p;
	bool has_event;

	if (!pin(r, at->chunk, &p))
		return false;
	/* A damaged word may have the generation 0. */
	if (!at->walk.bytes || at->gen != PTRC_CHUNK_GEN(p.word)) {
		at->gen = PTRC_CHUNK_GEN(p.word);
		at->walk = ptrc_walk_begin(ptrc_pool_chunk(&r->stream->pool, at->chunk), p.end);
		at->base = at->walk.base;
	}
	has_event = at->walk.off < p.end && step(r, at, &p);
	ptrc_consumer_unpin(&r->consumer, &p);
	return has_event;
}

/* ---- batches ---- */

/* Whether the chunks hold anything that this reader has not walked over. */
static bool has_unread(struct ptrc_live_reader *r)
{
	const struct ptrc_pool *pool = &r->stream->pool;

	for (uint32_t i = 0, used = ptrc_pool_used(pool); i < used; i++) {
		uint64_t word = ptrc_load_acquire(&ptrc_pool_ctl(pool, i)->word);

		if (PTRC_CHUNK_STATE(word) != PTRC_CHUNK_STEALING &&
		    ptrc_chunk_unread(pool, i, word, r->epoch) &&
		    !(i < r->chunk_capacity && r->chunks[i].gen == PTRC_CHUNK_GEN(word) &&
		      r->chunks[i].walk.off >= ptrc_chunk_end(pool, i, word)))
			return true;
	}
	return false;
}

static int grow(struct ptrc_live_reader *r, uint32_t used)
{
	struct ptrc_live_chunk *chunks;
	struct ptrc_live_chunk **heap;

	if (used <= r->chunk_capacity)
		return 0;
	heap = realloc(r->heap, used * sizeof(struct ptrc_live_chunk *));
	if (!heap)
		return ENOMEM;
	r->heap = heap;
	chunks = realloc(r->chunks, used * sizeof(*chunks));
	if (!chunks)
		return ENOMEM;
	memset(chunks + r->chunk_capacity, 0, (used - r->chunk_capacity) * sizeof(*chunks));
	r->chunks = chunks;
	for (uint32_t i = r->chunk_capacity; i < used; i++)
		chunks[i].chunk = i;
	r->chunk_capacity = used;
	return 0;
}

/* Stores the stamp of the last event in a chunk that has an owner or, if the chunk holds no
 * event, the stamp at which the owner took it. False if the chunk gets another owner meanwhile or
 * is damaged. */
static bool last_stamp(const struct ptrc_pool *pool, uint32_t chunk, uint64_t word, uint64_t *stamp)
{
	const struct ptrc_chunk_ctl *ctl = ptrc_pool_ctl(pool, chunk);
	uint64_t pos = ptrc_load_acquire(&ptrc_pool_chunk(pool, chunk)->pos);
	uint32_t end = (uint32_t)pos;
	struct ptrc_walk_record record;
	struct ptrc_walk walk;

	if ((uint32_t)(pos >> 32) != PTRC_CHUNK_GEN(word) || end < PTRC_CHUNK_FIRST ||
	    end > pool->chunk_size)
		return false;
	*stamp = ptrc_load_relaxed(&ctl->tfirst);
	walk = ptrc_walk_begin(ptrc_pool_chunk(pool, chunk), end);
	while (ptrc_walk_next(&walk, &record))
		*stamp = record.stamp;
	atomic_thread_fence(memory_order_acquire);
	return walk.off == end && !((ptrc_load_relaxed(&ctl->word) ^ word) & ~PTRC_CHUNK_PINS);
}

/* The stamp up to which all events are complete, although calls of posix_trace_event() are under
 * way in slots from number `from` on. Such a call adds no event older than the last event of its
 * writer, and a call that started after `moment` gets a later stamp. 0: unknown. */
static uint64_t complete_until(struct ptrc_live_reader *r, uint32_t from, uint64_t moment)
{
	const struct ptrc_pool *pool = &r->stream->pool;
	struct ptrc_stream_header *h = pool->header;
	uint64_t is_under_way[PTRC_SLOT_COUNT / 64] = {0};
	uint32_t count = 0;

	for (uint32_t i = from, used = ptrc_slots_used(h); i < used; i++)
		if (ptrc_marks_is_under_way(h, &r->stream->given_up, i)) {
			ptrc_bits_add(is_under_way, i);
			count++;
		}
	for (uint32_t i = 0, used = ptrc_pool_used(pool); i < used && count; i++) {
		uint64_t word = ptrc_load_acquire(&ptrc_pool_ctl(pool, i)->word);
		uint32_t slot = PTRC_CHUNK_SLOT(word);
		uint64_t stamp;

		if (PTRC_CHUNK_STATE(word) != PTRC_CHUNK_OWNED || slot >= PTRC_SLOT_COUNT ||
		    !ptrc_bits_have(is_under_way, slot))
			continue;
		if (!last_stamp(pool, i, word, &stamp))
			return 0;
		if (stamp < moment)
			moment = stamp;
		is_under_way[slot / 64] &= ~(UINT64_C(1) << slot % 64);
		count--;
	}
	/* If the chunk of a call was not found, the call may add an event of any time. */
	return count ? 0 : moment;
}

static void note_told(struct ptrc_live_reader *r, uint64_t stamp)
{
	if (stamp > r->told)
		r->told = stamp;
}

/* Fills the empty heap with the events in the chunks up to r->until. Returns 0 or ENOMEM. */
static int fill_heap(struct ptrc_live_reader *r)
{
	/* The number of used chunks is read now, after the caller has looked at event calls under
	 * way: such a call may have recorded into a chunk that was never used before. */
	uint32_t used = ptrc_pool_used(&r->stream->pool);
	int error = grow(r, used);

	if (error)
		return error;
	for (uint32_t i = 0; i < used; i++)
		if (enter_chunk(r, &r->chunks[i]))
			r->heap[r->heap_count++] = &r->chunks[i];
	heap_build(r->heap, r->heap_count);
	/* `told` is the stamp up to which events and losses are reported. Skipped events do not
	 * raise it, so it is raised here; losses are looked for first, because later searches
	 * ignore losses up to `told`. */
	if (r->is_selective && r->stream->header->policy == POSIX_TRACE_LOOP) {
		ptrc_consumer_find_gap(&r->consumer, r->told, NULL, &r->gap);
		note_told(r, r->until);
	}
	return 0;
}

/* Starts a new batch when the heap is empty. If the heap stays empty, there is nothing to read.
 * Returns 0 or ENOMEM. */
static int new_batch(struct ptrc_live_reader *r)
{
	struct ptrc_stream_header *h = r->stream->header;
	struct ptrc_given_up *given_up = &r->stream->given_up;
	int64_t left = HOLD_NS, piece = 0;
	uint64_t moment;
	uint32_t slot = 0;

	if (!has_unread(r))
		return 0;
	moment = ptrc_consumer_moment(&r->consumer);
	if (r->limit && moment > r->limit)
		moment = r->limit;
	for (;;) {
		uint64_t until = moment;
		int64_t rest = piece;
		int error;

		slot = ptrc_marks_wait(h, given_up, slot, &rest);
		left -= piece - rest;
		if (slot != UINT32_MAX && left <= 0) {
			/* The writer is stopped. Its event will be reported later, out of order. */
			ptrc_marks_give_up(h, given_up, slot++);
			piece = 0;
			continue;
		}
		if (slot != UINT32_MAX)
			until = complete_until(r, slot, moment);
		/* r->until never decreases, even if a call under way makes `until` smaller than
		 * before. */
		if (until > r->until)
			r->until = until;
		error = fill_heap(r);
		if (error || r->heap_count || r->queue_at < r->queue_count || until == moment)
			return error;
		piece = HOLD_PIECE_NS;
	}
}

/* Notes whether the keeper has consumed events that the tee had not read before its present batch. */
static void note_overtaken(struct ptrc_live_reader *r)
{
	r->is_overtaken |= ptrc_load_acquire(&r->stream->header->consumed_until) > r->read_until;
}

/* Stores for the keeper the stamp up to which all active tees (readers that consume nothing) of
 * this process have read; this tee has read all events up to r->until. The keeper may consume the
 * events up to that stamp. */
static void tell_keeper(struct ptrc_live_reader *r)
{
	struct ptrc_stream_header *h = r->stream->header;
	uint64_t until = r->until;

	if (!r->is_tee || !h->has_log)
		return;
	r->beat = (uint64_t)ptrc_clock_ns(CLOCK_MONOTONIC);
	for (struct ptrc_live_reader *other = r->stream->tees; other; other = other->next_tee)
		if (other->until < until && r->beat - other->beat < PTRC_TEE_AWAY_NS)
			until = other->until;
	ptrc_store_release(&h->tee_until, until);
	ptrc_store_release(&h->tee_beat, r->beat);
}

/* ---- events ---- */

static void enqueue(struct ptrc_live_reader *r, uint32_t id, uint64_t stamp, const void *data,
		    uint32_t len)
{
	bool is_gap = id == POSIX_TRACE_OVERFLOW || id == POSIX_TRACE_RESUME;

	if (!ptrc_stream_is_filtered(r->stream->header, id) && (is_gap || is_wanted(r, id)))
		push(r, id, stamp, data, len);
}

/* Copies the earliest event out of its chunk and consumes it. Returns false if the event no longer
 * exists: its chunk was overwritten or cleared, or the keeper has consumed it. */
static bool take_head(struct ptrc_live_reader *r, struct ptrc_live_event *e)
{
	struct ptrc_live_chunk *at = r->heap[0];
	struct ptrc_pinned p;
	bool is_there = pin(r, at->chunk, &p);

	if (!is_there || PTRC_CHUNK_GEN(p.word) != at->gen) {
		if (is_there)
			ptrc_consumer_unpin(&r->consumer, &p);
		heap_pop(r->heap, r->heap_count--);
		return false;
	}
	memset(e, 0, sizeof(*e));
	e->stamp = at->next.stamp;
	e->addr = at->next.addr;
	e->id_flags = at->next.id_flags;
	e->len = at->next.len < r->buffer_size ? at->next.len : r->buffer_size;
	e->origin = at->walk.origin;
	e->data = r->buffer;
	/* Even if the length is damaged, the data is inside the chunk: the walk has checked this. */
	ptrc_copy(r->buffer, at->walk.bytes + at->next.data, e->len);
	is_there = at->next.off >= ptrc_consumer_rpos(&r->consumer, &p);
	ptrc_consumer_advance(&r->consumer, &p, at->walk.off, !(e->id_flags & PTRC_REC_HIDDEN));
	if (step(r, at, &p))
		heap_sift_down(r->heap, r->heap_count, 0);
	else
		heap_pop(r->heap, r->heap_count--);
	ptrc_consumer_unpin(&r->consumer, &p);
	return is_there;
}

enum place { REPORT, DROP, BEHIND_GAP };

/* What to do in a LOOP stream with the earliest event of the heap, which has this stamp. REPORT:
 * report it as usual. DROP: it is inside the gap (the lost events). BEHIND_GAP: it is the first
 * event after the gap. */
static enum place place_of(struct ptrc_live_reader *r, uint64_t stamp)
{
	struct ptrc_stream_header *h = r->stream->header;

	/* If a writer dies while it overwrites a chunk, another writer notes the same loss again.
	 * r->told keeps the loss from being reported twice. */
	ptrc_consumer_find_gap(&r->consumer, r->told, NULL, &r->gap);
	if (r->gap.first == PTRC_TIME_NONE)
		return REPORT;
	/* An event may be older than the last overwritten event and still exist, in the chunk of
	 * a thread that seldom records. It is dropped too, so that the gap is one interval of
	 * time. */
	if (stamp > ptrc_load_acquire(&h->horizon))
		return BEHIND_GAP;
	/* The gap must not start before the last reported event, which may be later than this
	 * one. */
	if (stamp < r->gap.first)
		r->gap.first = stamp > r->told ? stamp : r->told + 1;
	return DROP;
}

/* Queues OVERFLOW, RESUME, and `e`, the event that RESUME announces, which is already copied out
 * of its chunk. */
static void tell_gap(struct ptrc_live_reader *r, const struct ptrc_live_event *e)
{
	ptrc_sequencer_gap(&r->sequencer);
	r->queue_at = r->queue_count = 0;
	enqueue(r, POSIX_TRACE_OVERFLOW, r->gap.first, NULL, 0);
	enqueue(r, POSIX_TRACE_RESUME, e->stamp, NULL, 0);
	if (admit(r, e) && is_wanted(r, e->id_flags & PTRC_REC_ID_MASK))
		r->queue[r->queue_count++] = *e;
	r->gap.first = PTRC_TIME_NONE;
	note_told(r, e->stamp);
}

/* Called when the stream is empty. If the stream had stopped because it was full, queues the STOP
 * event and lets the stream restart. True if the reader must look for events again. */
static bool tell_stop(struct ptrc_live_reader *r)
{
	static const int reason = 1;
	struct ptrc_stream_header *h = r->stream->header;
	uint64_t status = ptrc_load_acquire(&h->status);
	uint64_t run = ptrc_load_acquire(&h->run);
	int64_t left = HOLD_NS;
	uint64_t cut;

	if (!(status & PTRC_ST_AUTO_STOPPED) || (status & PTRC_ST_STOP_OUT))
		return false;
	/* An event call that began before the stop may still be under way. Wait for it, because
	 * its event must be reported before the STOP. */
	ptrc_consumer_moment(&r->consumer);
	for (uint32_t slot = 0; slot != UINT32_MAX;) {
		slot = ptrc_marks_wait(h, &r->stream->given_up, slot, &left);
		if (slot != UINT32_MAX)
			ptrc_marks_give_up(h, &r->stream->given_up, slot++);
	}
	if (has_unread(r))
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
	r->told = ptrc_load_acquire(&r->stream->header->cleared_at);
	r->gap.first = PTRC_TIME_NONE;
	memset(&r->gone_before, 0, sizeof(r->gone_before));
	memset(&r->taken, 0, sizeof(r->taken));
	r->missed = 0;
	if (r->is_tee)
		memset(r->withheld, 0, r->withheld_end * sizeof(*r->withheld));
	r->withheld_end = 0;
	r->filter_read = ptrc_load_acquire(&r->stream->header->filter_taken);
	ptrc_sequencer_reset(&r->sequencer);
}

int ptrc_live_reader_next(struct ptrc_live_reader *r, struct ptrc_live_event *event)
{
	struct ptrc_stream_header *h = r->stream->header;
	uint64_t epoch = ptrc_load_acquire(&h->epoch);

	if (epoch != r->epoch)
		start_over(r, epoch);
	for (unsigned idle = 0; idle < IDLE_MAX;) {
		struct ptrc_excluded excluded;
		enum place place = REPORT;
		uint64_t stamp;
		int error;

		if (r->queue_at < r->queue_count) {
			*event = r->queue[r->queue_at++];
			return 0;
		}
		if (r->heap_count == 0) {
			if (h->policy != POSIX_TRACE_LOOP)
				ptrc_stream_complete(r->stream);
			note_overtaken(r);
			r->read_until = r->until;
			tell_keeper(r);
			error = new_batch(r);
			if (error)
				return error;
			if (r->queue_at < r->queue_count)
				continue;
			if (r->heap_count == 0 && !tell_stop(r))
				return ENODATA;
			idle++;
			continue;
		}
		stamp = r->heap[0]->next.stamp;
		if (h->policy == POSIX_TRACE_LOOP)
			place = place_of(r, stamp);
		excluded = ptrc_excluded_now(h);
		if (ptrc_is_excluded(&excluded, stamp))
			place = DROP;
		if (!take_head(r, event))
			continue;
		if (place == DROP) {
			if (!r->is_tee && !(event->id_flags & PTRC_REC_HIDDEN))
				ptrc_status_count_loss(h);
			continue;
		}
		event->ns = ptrc_clock_realtime(h, &r->clock, event->stamp);
		if (!(event->id_flags & PTRC_REC_HIDDEN))
			*sum_of(&r->taken, event->id_flags & PTRC_REC_ID_MASK) += 1;
		if (place == REPORT)
			note_told(r, event->stamp);
		if (place == BEHIND_GAP) {
			tell_gap(r, event);
			continue;
		}
		if (admit(r, event) && is_wanted(r, event->id_flags & PTRC_REC_ID_MASK))
			return 0;
		/* The event is not reported, so continue; the batch was not idle. But START does
		 * not reset `idle`: in damaged memory the stream may stop again each time that this
		 * reader restarts it, and the reader would never return. */
		if ((event->id_flags & PTRC_REC_ID_MASK) != POSIX_TRACE_START)
			idle = 0;
	}
	return ENODATA;
}

/* ---- counting ---- */

/* Sets `unread` of each chunk to the offset of its first unreported event. If the chunk is in the
 * heap, this is the event `next`, which the walk has already passed. */
static void find_unread(struct ptrc_live_reader *r)
{
	for (uint32_t i = 0; i < r->chunk_capacity; i++)
		r->chunks[i].unread = r->chunks[i].walk.off;
	for (uint32_t i = 0; i < r->heap_count; i++)
		r->heap[i]->unread = r->heap[i]->next.off;
}

/* Counts the unconsumed events in a chunk: in counts[] all of them by type, and in *passed the
 * events that the reader has already passed. */
static void count_chunk(struct ptrc_live_reader *r, uint32_t chunk,
			const struct ptrc_excluded *excluded, struct posixtrace_type_count *counts,
			size_t count, struct ptrc_event_sums *passed)
{
	struct ptrc_walk_record record;
	uint32_t rpos, unread = 0;
	struct ptrc_pinned p;
	struct ptrc_walk walk;

	if (!pin(r, chunk, &p))
		return;
	rpos = ptrc_consumer_rpos(&r->consumer, &p);
	if (chunk < r->chunk_capacity && r->chunks[chunk].gen == PTRC_CHUNK_GEN(p.word))
		unread = r->chunks[chunk].unread;
	walk = ptrc_walk_begin(ptrc_pool_chunk(&r->stream->pool, chunk), p.end);
	while (rpos < p.end && ptrc_walk_next(&walk, &record)) {
		uint32_t id = record.id_flags & PTRC_REC_ID_MASK;

		if (record.off < rpos || (record.id_flags & PTRC_REC_HIDDEN) ||
		    ptrc_is_excluded(excluded, record.stamp))
			continue;
		if (record.off < unread)
			*sum_of(passed, id) += 1;
		if (id >= count)
			continue;
		counts[id].pt_events++;
		counts[id].pt_bytes += record.len;
		counts[id].pt_truncated += (record.id_flags & PTRC_REC_TRUNCATED) != 0;
		counts[id].pt_unread += record.off >= unread;
	}
	ptrc_consumer_unpin(&r->consumer, &p);
}

/* Subtracts `t` from the counts, but not below 0: if a keeper was killed while it counted, the
 * counts may be too small. */
static void take_off(struct posixtrace_type_count *from, const struct posixtrace_type_count *t)
{
	from->pt_events -= t->pt_events < from->pt_events ? t->pt_events : from->pt_events;
	from->pt_bytes -= t->pt_bytes < from->pt_bytes ? t->pt_bytes : from->pt_bytes;
	from->pt_truncated -=
		t->pt_truncated < from->pt_truncated ? t->pt_truncated : from->pt_truncated;
}

/* Whether the counts that were read after `version` was read are exact: nothing was consumed or
 * cleared meanwhile. */
static bool are_exact(const struct ptrc_live_reader *r, uint64_t version)
{
	struct ptrc_stream_header *h = r->stream->header;

	atomic_thread_fence(memory_order_acquire);
	return !(version & 1) && ptrc_load_relaxed(&ptrc_stream_types(h)->version) == version &&
	       ptrc_load_relaxed(&h->epoch) == r->epoch;
}

bool ptrc_live_reader_count(struct ptrc_live_reader *r, struct posixtrace_type_count *counts,
			    size_t count)
{
	struct ptrc_stream_header *h = r->stream->header;
	struct ptrc_type_counts *types = ptrc_stream_types(h);
	uint64_t version = ptrc_load_acquire(&types->version);
	uint64_t epoch = ptrc_load_acquire(&h->epoch);
	uint32_t ready = ptrc_type_counts_ready(types);
	struct ptrc_excluded excluded;
	struct ptrc_event_sums passed = {0};

	if (epoch != r->epoch)
		start_over(r, epoch);
	memset(counts, 0, count * sizeof(*counts));
	if (ptrc_load_acquire(&types->epoch) == epoch)
		for (uint32_t i = 0; i < count && i < ready; i++) {
			struct ptrc_type_count *t = &types->type[i];

			counts[i].pt_events = ptrc_load_relaxed(&t->events);
			counts[i].pt_bytes = ptrc_load_relaxed(&t->bytes);
			counts[i].pt_truncated = ptrc_load_relaxed(&t->truncated);
		}
	excluded = ptrc_excluded_now(h);
	excluded.gap_last = ptrc_load_acquire(&h->horizon);
	if (excluded.gap_last <= ptrc_load_acquire(&h->cleared_at))
		excluded.gap_last = 0;
	find_unread(r);
	for (uint32_t i = 0, used = ptrc_pool_used(&r->stream->pool); i < used; i++)
		count_chunk(r, i, &excluded, counts, count, &passed);
	for (uint32_t i = 0; i < count && i < r->withheld_end; i++)
		take_off(&counts[i], &r->withheld[i]);
	return are_exact(r, version);
}

/* Counts the events that the reader can no longer read: consumed, lost, or passed by the reader.
 * OVERFLOW and RESUME are left out, because they are not in the stream: each reader makes up its
 * own. The number of lost events is read first, so that an event that is overwritten meanwhile is
 * counted as lost by a later call, but not counted twice by this call. */
static bool count_gone(struct ptrc_live_reader *r, struct ptrc_event_sums *gone)
{
	struct ptrc_stream_header *h = r->stream->header;
	struct ptrc_type_counts *types = ptrc_stream_types(h);
	uint64_t version = ptrc_load_acquire(&types->version);
	uint32_t ready = ptrc_type_counts_ready(types);
	struct ptrc_excluded excluded = ptrc_excluded_now(h);

	*gone = (struct ptrc_event_sums){.lost = ptrc_load_acquire(&h->lost_events)};
	if (ptrc_load_acquire(&types->epoch) == r->epoch)
		for (uint32_t id = 0; id < ready; id++)
			if (id != POSIX_TRACE_OVERFLOW && id != POSIX_TRACE_RESUME)
				*sum_of(gone, id) += ptrc_load_relaxed(&types->type[id].events);
	find_unread(r);
	for (uint32_t i = 0, used = ptrc_pool_used(&r->stream->pool); i < used; i++)
		count_chunk(r, i, &excluded, NULL, 0, gone);
	return are_exact(r, version);
}

static uint64_t excess(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* The reader has missed the user events that were flushed or lost before it read them. gone.lost
 * also counts system events. The system events that the reader had read before they were lost are
 * counted in taken.system but not in gone.system, so the difference is subtracted. */
bool ptrc_live_reader_missed(struct ptrc_live_reader *r, uint64_t *missed)
{
	uint64_t epoch = ptrc_load_acquire(&r->stream->header->epoch);
	const struct ptrc_event_sums *before = &r->gone_before;
	struct ptrc_event_sums gone;
	bool is_exact;

	if (epoch != r->epoch)
		start_over(r, epoch);
	is_exact = count_gone(r, &gone);
	gone.user += excess(gone.lost, before->lost);
	gone.user = excess(gone.user, excess(r->taken.system, excess(gone.system, before->system)));
	*missed = excess(gone.user, before->user + r->taken.user);
	return is_exact;
}

bool ptrc_live_reader_may_lack(struct ptrc_live_reader *r)
{
	uint64_t before = r->missed;
	uint64_t missed;
	bool is_exact;

	note_overtaken(r);
	if (!r->is_overtaken)
		return false;
	/* While the keeper consumes events, the count may be too small, so they are counted again at the next call. */
	is_exact = ptrc_live_reader_missed(r, &missed);
	r->is_overtaken = !is_exact;
	if (is_exact)
		r->missed = missed;
	return !is_exact || missed > before;
}

void ptrc_live_reader_begin_tee(struct ptrc_live_reader *r, bool is_past_told, uint64_t limit)
{
	struct ptrc_stream_header *h = r->stream->header;

	start_over(r, ptrc_load_acquire(&h->epoch));
	r->limit = limit;
	count_gone(r, &r->gone_before);
	if (!is_past_told)
		note_told(r, ptrc_load_acquire(&h->horizon));
}
