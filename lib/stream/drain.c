/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/drain.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <trace.h>

#include "lib/stream/barrier.h"
#include "lib/base/sys.h"
#include "lib/stream/chunk.h"
#include "lib/stream/counter.h"
#include "lib/stream/status.h"

enum { PHASE_GAP, PHASE_CHUNKS, PHASE_STOP, PHASE_DONE };

/* By type, in the order of their first events; note.sum_count of them. */
struct ptrc_drain_sums {
	uint16_t at
		[PTRC_TYPE_COUNT]; /* index in sum, if that is of the type; never cleared */
	struct ptrc_type_sum sum[PTRC_TYPE_COUNT];
};
_Static_assert(PTRC_REC_ID_MAX < PTRC_TYPE_COUNT,
	       "whatever a walk lets pass has a place");

static struct ptrc_chunk_ctl *ctl_at(struct ptrc_drain *d, uint32_t i)
{
	return &ptrc_stream_ctl(d->stream->header)[i];
}

static bool is_dropped(const struct ptrc_drain *d, uint64_t stamp)
{
	return (d->has_gap && stamp <= d->gap_last) || (d->has_cut && stamp >= d->cut) ||
	       (stamp >= d->dead_from && stamp < d->dead_until);
}

/* Pin the chunk if it holds anything unread. */
static bool pin(struct ptrc_drain *d, uint32_t i, uint32_t *end)
{
	struct ptrc_stream *s = d->stream;
	struct ptrc_chunk_ctl *ctl = ctl_at(d, i);
	uint64_t word = atomic_load_explicit(&ctl->word, memory_order_acquire);

	for (;;) {
		uint64_t state = PTRC_CHUNK_STATE(word);

		if (state == PTRC_CHUNK_STEALING) {
			ptrc_chunk_note_loss(&s->pool, i, word);
			return false;
		}
		if ((state != PTRC_CHUNK_OWNED && state != PTRC_CHUNK_SEALED &&
		     state != PTRC_CHUNK_PARTIAL) ||
		    atomic_load_explicit(&ctl->epoch, memory_order_relaxed) !=
			    atomic_load_explicit(&s->header->epoch, memory_order_acquire))
			return false;
		*end = ptrc_chunk_end(&s->pool, i, word);
		if (*end == 0)
			return false;
		if (ptrc_chunk_rpos(ctl, word, *end) >= *end && state == PTRC_CHUNK_OWNED)
			return false;
		if (atomic_compare_exchange_weak_explicit(
			    &ctl->word, &word, word | PTRC_CHUNK_PIN_KEEPER,
			    memory_order_acq_rel, memory_order_acquire))
			break;
	}
	d->word = word | PTRC_CHUNK_PIN_KEEPER;
	d->is_pinned = true;
	return true;
}

/* Let go of the chunk; if everything of it is consumed and nobody fills it, it is free. */
static void unpin(struct ptrc_drain *d)
{
	struct ptrc_chunk_ctl *ctl = ctl_at(d, d->chunk);
	uint64_t word = atomic_fetch_and_explicit(&ctl->word, ~PTRC_CHUNK_PIN_KEEPER,
						  memory_order_acq_rel) &
			~PTRC_CHUNK_PIN_KEEPER;
	uint32_t end;

	d->is_pinned = false;
	if (PTRC_CHUNK_STATE(word) != PTRC_CHUNK_SEALED || (word & PTRC_CHUNK_PINS))
		return;
	end = atomic_load_explicit(&ctl->end, memory_order_relaxed);
	if (ptrc_chunk_rpos(ctl, word, end) >= end)
		atomic_compare_exchange_strong_explicit(
			&ctl->word, &word,
			(uint64_t)PTRC_CHUNK_GEN(word) << PTRC_CHUNK_GEN_SHIFT |
				PTRC_CHUNK_FREE,
			memory_order_release, memory_order_relaxed);
}

/* The stamps of the first event that is lost (what survived but is older than the last one
 * lost is dropped with it) and of the first one behind the gap. */
static void find_gap(struct ptrc_drain *d)
{
	struct ptrc_stream *s = d->stream;
	uint32_t used = ptrc_pool_used(&s->pool), end;

	d->resume = PTRC_TIME_NONE;
	for (d->chunk = 0; d->chunk < used; d->chunk++) {
		struct ptrc_chunk *c = ptrc_pool_chunk(&s->pool, d->chunk);
		struct ptrc_walk_record r;
		uint32_t rpos;

		if (!pin(d, d->chunk, &end))
			continue;
		d->walk = (struct ptrc_walk){.bytes = (const uint8_t *)c,
					     .off = PTRC_CHUNK_FIRST,
					     .end = end,
					     .base = c->base};
		rpos = ptrc_chunk_rpos(ctl_at(d, d->chunk), d->word, end);
		while (ptrc_walk_next(&d->walk, &r)) {
			if (r.off < rpos)
				continue;
			if (r.stamp < d->gap_first)
				d->gap_first = r.stamp;
			if (!is_dropped(d, r.stamp)) {
				if (r.stamp < d->resume)
					d->resume = r.stamp;
				break;
			}
		}
		unpin(d);
	}
	d->chunk = 0;
}

static uint64_t buffer_bytes(const struct ptrc_stream *s)
{
	return s->pool.chunk_size + sizeof(struct ptrc_drain_sums);
}

static int begin(struct ptrc_stream *s, struct ptrc_drain *d)
{
	struct ptrc_stream_header *h = s->header;
	uint64_t status;
	long map;

	memset(d, 0, sizeof(*d));
	d->stream = s; /* also for ptrc_drain_end() after a failure */
	map = ptrc_sys(SYS_mmap, 0, buffer_bytes(s), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ptrc_sys_is_error(map))
		return ENOMEM;
	d->buffer = (uint8_t *)map;
	d->sums = (void *)(d->buffer + s->pool.chunk_size);
	ptrc_stream_complete(s);
	status = atomic_load_explicit(&h->status, memory_order_acquire);
	d->run = atomic_load_explicit(&h->run, memory_order_acquire);
	d->has_cut = ptrc_stream_cut(h, &d->cut);
	d->is_stopped = (status & PTRC_ST_AUTO_STOPPED) &&
			(d->has_cut || (status & PTRC_ST_NO_STOP));
	d->stop_is_out = (status & PTRC_ST_STOP_OUT) != 0;
	d->dead_until = atomic_load_explicit(&h->dead_until, memory_order_acquire);
	d->dead_from = atomic_load_explicit(&h->dead_from, memory_order_relaxed);
	return 0;
}

static void gap_is_out(struct ptrc_drain *d)
{
	atomic_store_explicit(&d->stream->header->gap_first, PTRC_TIME_NONE,
			      memory_order_release);
}

/* The gap that is to be told of. It is noted before it is taken from where thieves note it,
 * so that it is not lost with us. */
static void take_gap(struct ptrc_drain *d)
{
	struct ptrc_stream_header *h = d->stream->header;
	uint64_t first = atomic_load_explicit(&h->first_lost, memory_order_acquire),
		 flushed;

	d->gap_first = atomic_load_explicit(&h->gap_first, memory_order_relaxed);
	while (first != PTRC_TIME_NONE) {
		if (first < d->gap_first) {
			d->gap_first = first;
			atomic_store_explicit(&h->gap_first, first, memory_order_release);
		}
		if (atomic_compare_exchange_weak_explicit(
			    &h->first_lost, &first, PTRC_TIME_NONE, memory_order_acq_rel,
			    memory_order_acquire))
			break;
	}
	d->gap_last = atomic_load_explicit(&h->horizon, memory_order_acquire);
	atomic_store_explicit(&h->gap_last, d->gap_last, memory_order_relaxed);
	if (d->gap_first == PTRC_TIME_NONE ||
	    d->gap_last <= atomic_load_explicit(&h->cleared_at, memory_order_acquire))
		return;
	/* Some of a flush was overwritten between being written and being committed, and some
	 * was not: behind an OVERFLOW of that time neither would be seen. */
	flushed = atomic_load_explicit(&h->flushed_until, memory_order_relaxed);
	if (d->gap_last <= flushed) {
		gap_is_out(d);
		return;
	}
	d->has_gap = true;
	find_gap(d);
	if (d->gap_first <= flushed)
		d->gap_first = flushed + 1;
}

int ptrc_drain_begin(struct ptrc_stream *s, struct ptrc_drain *d)
{
	struct ptrc_stream_header *h = s->header;
	int err = begin(s, d);

	if (err)
		return err;
	/* Events that begin from here on are stamped later than until; those at work are
	 * waited for, so that no record turns up behind a run already written. */
	d->until = d->flushed = ptrc_stream_now(h);
	ptrc_clock_update(h, d->until);
	ptrc_barrier(h);
	ptrc_marks_wait_all(h, &s->given_up);
	take_gap(d);
	return 0;
}

struct ptrc_drain_given ptrc_drain_given(const struct ptrc_drain *d)
{
	return (struct ptrc_drain_given){.is_gap_told = d->is_gap_told,
					 .is_run_over = d->is_stopped,
					 .run_tag = (uint8_t)d->run,
					 .until = d->until};
}

void ptrc_drain_take(struct ptrc_drain *d, const struct ptrc_drain_note *note)
{
	if (note->chunk < d->stream->pool.chunk_count)
		atomic_store_explicit(&ctl_at(d, note->chunk)->taken,
				      (uint64_t)note->gen << 32 | note->consumed,
				      memory_order_relaxed);
}

int ptrc_drain_begin_again(struct ptrc_stream *s, struct ptrc_drain *d,
			   const struct ptrc_drain_given *given)
{
	struct ptrc_stream_header *h = s->header;
	int err = begin(s, d);

	if (err)
		return err;
	d->is_again = true;
	d->until = ptrc_stream_now(h);
	d->flushed = given->until;
	/* What is not part of the trace as the dead one saw it: it has written the rest. */
	if (!given->is_run_over || given->run_tag != (uint8_t)d->run)
		d->has_cut = d->is_stopped = false;
	d->has_gap = given->is_gap_told;
	d->gap_first = d->resume =
		atomic_load_explicit(&h->gap_first, memory_order_relaxed);
	d->gap_last = atomic_load_explicit(&h->gap_last, memory_order_relaxed);
	return 0;
}

static int64_t to_ns(struct ptrc_drain *d, uint64_t stamp)
{
	return ptrc_clock_realtime(d->stream->header, &d->clock, stamp);
}

/* A run begins. */
static void note_begin(struct ptrc_drain *d, uint32_t chunk)
{
	d->note = (struct ptrc_drain_note){.chunk = chunk};
}

/* The run's sum of the type. */
static struct ptrc_type_sum *sum_of(struct ptrc_drain *d, uint32_t id)
{
	struct ptrc_drain_sums *s = d->sums;
	uint32_t at = s->at[id];

	if (at >= d->note.sum_count || s->sum[at].id != id) {
		at = d->note.sum_count++;
		s->at[id] = (uint16_t)at;
		s->sum[at] = (struct ptrc_type_sum){.id = id};
	}
	return &s->sum[at];
}

static uint32_t add_made_up(struct ptrc_drain *d, struct ptrc_run *run, uint32_t id,
			    uint64_t stamp, const void *data, uint32_t len)
{
	int64_t ns = to_ns(d, stamp);
	bool is_first = run->bytes == 0;
	uint8_t *out = d->buffer + run->bytes;
	struct ptrc_type_sum *sum;
	struct ptrc_record head;
	uint32_t flags = 0;

	if (is_first)
		run->base_ns = run->first_ns = ns;
	if (ns - run->base_ns > UINT32_MAX)
		flags = PTRC_REC_FULLSTAMP;
	ptrc_record_fill(&head, flags ? 0 : (uint32_t)(ns - run->base_ns), id | flags,
			 len, 0);
	memcpy(out, &head, sizeof(head));
	if (flags)
		memcpy(out + 16, &ns, sizeof(ns));
	if (len)
		memcpy(out + ptrc_record_head(&head), data, len);
	run->bytes += (uint32_t)ptrc_record_size(&head);
	run->last_ns = ns;
	run->event_count++;
	run->records = d->buffer;
	sum = sum_of(d, id);
	sum->events++;
	sum->bytes += len;
	return run->event_count;
}

/* Nothing from here on can be trusted. */
static void skip_damage(struct ptrc_drain *d)
{
	d->walk.off = d->walk.end;
	d->is_damaged = true;
}

/* Turn what is left of the copied chunk, up to `until` or to where the base moves, into a
 * run, in place: records only get shorter stamps, so writing never overtakes reading. */
static void convert(struct ptrc_drain *d, struct ptrc_run *run)
{
	uint32_t out = d->walk.off, start = out, events = 0, lost = 0;
	struct ptrc_type_sum *sum = NULL;
	struct ptrc_walk_record r;

	note_begin(d, d->chunk);
	while (d->walk.off < d->walk.end) {
		struct ptrc_walk before = d->walk;
		struct ptrc_record head;
		uint32_t size;
		int64_t ns;

		if (!ptrc_walk_next(&d->walk, &r)) {
			if (d->walk.off < d->walk.end)
				skip_damage(d);
			break;
		}
		if (r.stamp > d->until) {
			if (r.stamp >
			    ptrc_stream_now(d->stream->header) + PTRC_STAMP_SLACK)
				skip_damage(d);
			else
				d->walk = before;
			break;
		}
		if (is_dropped(d, r.stamp)) {
			if (!(r.id_flags & PTRC_REC_HIDDEN))
				lost++;
			events++;
			continue;
		}
		ns = to_ns(d, r.stamp);
		if (out != start && ns < run->last_ns)
			ns = run->last_ns; /* a run is in order, whatever its memory says */
		if (run->event_count == 0 && out == start) {
			run->base_ns = run->first_ns = ns;
			run->origin = d->walk.origin;
			run->records = d->buffer + start;
		} else if (ns - run->base_ns > UINT32_MAX ||
			   memcmp(&d->walk.origin, &run->origin, sizeof(run->origin))) {
			d->walk = before;
			break;
		}
		ptrc_record_fill(&head, (uint32_t)(ns - run->base_ns),
				 r.id_flags & ~PTRC_REC_FULLSTAMP, r.len, r.addr);
		memcpy(d->buffer + out, &head, sizeof(head));
		if (out + 16 != r.data)
			memmove(d->buffer + out + 16, d->buffer + r.data, r.len);
		size = (uint32_t)ptrc_record_size(&head);
		out += size;
		if (size > run->largest)
			run->largest = size;
		run->last_ns = ns;
		events++;
		if (!(r.id_flags & PTRC_REC_HIDDEN)) {
			uint32_t id = r.id_flags & PTRC_REC_ID_MASK;

			run->event_count++;
			if (!sum || sum->id != id)
				sum = sum_of(d, id);
			sum->events++;
			sum->bytes += r.len;
			sum->truncated += (r.id_flags & PTRC_REC_TRUNCATED) != 0;
		}
	}
	run->bytes = out - start;
	run->order = 1;
	d->note.gen = PTRC_CHUNK_GEN(d->word);
	d->note.consumed = d->walk.off;
	d->note.events = events;
	d->note.lost = lost;
	d->note.is_damaged = d->is_damaged;
}

/* The room of the pinned chunk up to where the note says is free again. */
static void advance(struct ptrc_drain *d, const struct ptrc_drain_note *note)
{
	struct ptrc_chunk_ctl *ctl = ctl_at(d, d->chunk);
	struct ptrc_stream_header *h = d->stream->header;
	uint64_t old = atomic_load_explicit(&ctl->rpos, memory_order_relaxed);
	uint32_t before = 0, consumed = note->consumed;

	if (note->is_damaged) {
		uint32_t end;

		if (ptrc_stream_condemn(d->stream, d->chunk, d->word, &end))
			consumed = end;
		ptrc_stream_error(d->stream, EINVAL);
	}
	/* First: who dies in between has them counted twice rather than not at all. */
	if (note->lost)
		atomic_fetch_add_explicit(&h->lost_events, note->lost,
					  memory_order_relaxed);
	if ((uint32_t)(old >> 32) == PTRC_CHUNK_GEN(d->word))
		before = atomic_load_explicit(&ctl->rcount, memory_order_relaxed);
	atomic_store_explicit(&ctl->rcount, before + note->events, memory_order_relaxed);
	atomic_store_explicit(&ctl->rpos,
			      (uint64_t)PTRC_CHUNK_GEN(d->word) << 32 | consumed,
			      memory_order_release);
	if (h->policy == POSIX_TRACE_LOOP &&
	    (atomic_load_explicit(&h->status, memory_order_relaxed) & PTRC_ST_FULL))
		ptrc_status_clear(h, PTRC_ST_FULL);
}

/* Of the chunk up to `end`: what of it a dead one has taken, but not consumed. */
static uint32_t taken_end(struct ptrc_drain *d, uint32_t rpos, uint32_t end)
{
	uint64_t taken =
		atomic_load_explicit(&ctl_at(d, d->chunk)->taken, memory_order_relaxed);

	if ((uint32_t)(taken >> 32) != PTRC_CHUNK_GEN(d->word) || (uint32_t)taken < rpos)
		return rpos;
	return (uint32_t)taken < end ? (uint32_t)taken : end;
}

static bool open_chunk(struct ptrc_drain *d)
{
	struct ptrc_stream *s = d->stream;
	struct ptrc_walk_record r;
	struct ptrc_chunk *c;
	uint32_t end, rpos;

	if (!pin(d, d->chunk, &end))
		return false;
	d->is_owed = d->is_damaged = false;
	c = ptrc_pool_chunk(&s->pool, d->chunk);
	memcpy(d->buffer, c, end);
	c = (void *)d->buffer;
	rpos = ptrc_chunk_rpos(ctl_at(d, d->chunk), d->word, end);
	if (d->is_again)
		end = taken_end(d, rpos, end);
	d->walk = (struct ptrc_walk){.bytes = d->buffer,
				     .off = PTRC_CHUNK_FIRST,
				     .end = end,
				     .base = c->base,
				     .origin = c->origin};
	while (d->walk.off < rpos) { /* bases and origins of what is consumed */
		if (!ptrc_walk_next(&d->walk, &r))
			break;
	}
	if (d->walk.off < rpos)
		skip_damage(d);
	return true;
}

static bool next_of_chunks(struct ptrc_drain *d, struct ptrc_run *run)
{
	uint32_t used = ptrc_pool_used(&d->stream->pool);

	while (d->chunk < used) {
		if (!d->is_pinned && !open_chunk(d)) {
			d->chunk++;
			continue;
		}
		memset(run, 0, sizeof(*run));
		convert(d, run);
		if (run->bytes) {
			d->is_owed = true;
			return true;
		}
		if (!d->is_owed)
			advance(d, &d->note); /* nothing of it is wanted */
		unpin(d);
		d->chunk++;
	}
	return false;
}

int ptrc_drain_next(struct ptrc_drain *d, struct ptrc_run *run)
{
	static const int reason = 1;

	memset(run, 0, sizeof(*run));
	if (d->phase == PHASE_GAP) {
		d->phase = PHASE_CHUNKS;
		note_begin(d, PTRC_DRAIN_GAP);
		if (d->has_gap && d->resume != PTRC_TIME_NONE) {
			d->is_gap_told = true;
			if (!ptrc_stream_is_filtered(d->stream->header,
						     POSIX_TRACE_OVERFLOW))
				add_made_up(d, run, POSIX_TRACE_OVERFLOW, d->gap_first,
					    NULL, 0);
			if (!ptrc_stream_is_filtered(d->stream->header,
						     POSIX_TRACE_RESUME))
				add_made_up(d, run, POSIX_TRACE_RESUME, d->resume, NULL,
					    0);
			if (run->bytes)
				return 0;
			gap_is_out(d);
		}
	}
	if (d->phase == PHASE_CHUNKS) {
		if (d->is_pinned && d->walk.off >= d->walk.end) {
			unpin(d);
			d->chunk++;
		}
		if (next_of_chunks(d, run))
			return 0;
		d->phase = PHASE_STOP;
		memset(run, 0, sizeof(*run));
		if (d->is_stopped && d->has_cut && !d->stop_is_out &&
		    !ptrc_stream_is_filtered(d->stream->header, POSIX_TRACE_STOP)) {
			run->order = 2;
			note_begin(d, PTRC_DRAIN_STOP);
			add_made_up(d, run, POSIX_TRACE_STOP, d->cut, &reason,
				    sizeof(reason));
			return 0;
		}
	}
	d->phase = PHASE_DONE;
	return ENODATA;
}

const struct ptrc_type_sum *ptrc_drain_run_sums(const struct ptrc_drain *d)
{
	return d->sums->sum;
}

/* All that was taken is in the log. What of it has not been counted as lost meanwhile, no gap
 * shall hide. */
static void note_flushed(struct ptrc_drain *d, const struct ptrc_drain_note *note)
{
	if (note->events > note->lost && PTRC_CHUNK_SLOT(d->word) != PTRC_SLOT_KEEPER)
		atomic_store_explicit(&d->stream->header->flushed_until, d->flushed,
				      memory_order_release);
}

/* False: the chunk is not what it was when the run was taken. */
static bool commit_chunk(struct ptrc_drain *d, const struct ptrc_drain_note *note)
{
	uint32_t end;

	if (d->is_pinned) { /* one by one */
		if (d->is_again)
			note_flushed(d, note);
		advance(d, note);
		d->is_owed = d->is_damaged = false;
		return true;
	}
	if (!pin(d, note->chunk, &end))
		return false;
	d->chunk = note->chunk;
	if (PTRC_CHUNK_GEN(d->word) != note->gen) {
		unpin(d);
		return false;
	}
	note_flushed(d, note);
	advance(d, note);
	unpin(d);
	return true;
}

void ptrc_drain_commit(struct ptrc_drain *d, const struct ptrc_drain_note *note,
		       const struct ptrc_type_sum *sums)
{
	struct ptrc_type_counts *types = ptrc_stream_types(d->stream->header);
	uint64_t epoch = atomic_load_explicit(&types->epoch, memory_order_relaxed);
	bool is_there = true;

	ptrc_type_counts_begin(types);
	if (note->chunk == PTRC_DRAIN_GAP) {
		gap_is_out(d);
	} else if (note->chunk == PTRC_DRAIN_STOP) {
		ptrc_status_set(d->stream->header, PTRC_ST_STOP_OUT);
	} else {
		epoch = atomic_load_explicit(&ctl_at(d, note->chunk)->epoch,
					     memory_order_relaxed);
		is_there = commit_chunk(d, note);
	}
	for (uint32_t i = 0; is_there && i < note->sum_count; i++)
		ptrc_type_counts_add(types, epoch, &sums[i]);
	ptrc_type_counts_end(types);
}

void ptrc_drain_end(struct ptrc_drain *d, bool is_complete, bool log_is_full)
{
	if (d->is_pinned)
		unpin(d);
	if (d->buffer)
		ptrc_sys(SYS_munmap, d->buffer, buffer_bytes(d->stream));
	d->buffer = NULL;
	if (is_complete && !log_is_full && d->is_stopped)
		ptrc_stream_stop_is_out(d->stream, d->run);
}
