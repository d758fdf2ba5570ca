/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/drain.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <trace.h>

#include "lib/base/atomic.h"
#include "lib/base/sys.h"
#include "lib/stream/filter.h"
#include "lib/stream/status.h"

enum { PHASE_GAP, PHASE_CHUNKS, PHASE_STOP, PHASE_DONE };

/* Counts by type of the current stretch, in the order in which the types appear in it. */
struct ptrc_drain_sums {
	/* By type: index of its entry in `sum`. Never cleared, so it only counts if the entry
	 * there is of this type. */
	uint16_t at[PTRC_TYPE_COUNT];
	struct ptrc_type_sum sum[PTRC_TYPE_COUNT];
};
_Static_assert(PTRC_REC_ID_MASK < PTRC_TYPE_COUNT, "every id that a walk lets pass has an entry");

static bool pin(struct ptrc_drain *d, uint32_t chunk)
{
	uint64_t epoch = ptrc_load_acquire(&d->stream->header->epoch);

	d->is_pinned = ptrc_consumer_pin(&d->consumer, chunk, epoch, &d->pinned);
	if (d->is_pinned)
		d->rpos = ptrc_consumer_rpos(&d->consumer, &d->pinned);
	return d->is_pinned;
}

static void unpin(struct ptrc_drain *d)
{
	ptrc_consumer_unpin(&d->consumer, &d->pinned);
	d->is_pinned = false;
}

/* ---- begin ---- */

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
	d->stream = s; /* ptrc_drain_end() needs it, also after a failure */
	d->consumer = (struct ptrc_consumer){.stream = s, .pin = PTRC_CHUNK_PIN_KEEPER};
	map = ptrc_sys(SYS_mmap, 0, buffer_bytes(s), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ptrc_sys_is_error(map))
		return ENOMEM;
	d->buffer = (uint8_t *)map;
	d->sums = (void *)(d->buffer + s->pool.chunk_size);
	ptrc_stream_complete(s);
	status = ptrc_load_acquire(&h->status);
	d->run = ptrc_load_acquire(&h->run);
	d->excluded = ptrc_excluded_now(h);
	if (status & PTRC_ST_AUTO_STOPPED) {
		bool has_cut = d->excluded.cut != PTRC_TIME_NONE;

		d->is_stopped = has_cut || (status & PTRC_ST_NO_STOP);
		d->has_stop = has_cut && !(status & PTRC_ST_STOP_OUT);
	}
	return 0;
}

static void gap_is_out(struct ptrc_drain *d)
{
	ptrc_store_release(&d->stream->header->gap_first, PTRC_TIME_NONE);
}

/* Find the first event behind the gap, which RESUME announces. Move the beginning of the gap back
 * to the first event that is dropped with it, as events older than the last overwritten one are. */
static void find_ends_of_gap(struct ptrc_drain *d)
{
	d->resume = PTRC_TIME_NONE;
	for (uint32_t i = 0, used = ptrc_pool_used(&d->stream->pool); i < used; i++) {
		struct ptrc_walk_record r;
		struct ptrc_walk walk;

		if (!pin(d, i))
			continue;
		walk = ptrc_walk_begin(ptrc_pool_chunk(&d->stream->pool, i), d->pinned.end);
		while (ptrc_walk_next(&walk, &r)) {
			if (r.off < d->rpos)
				continue;
			if (r.stamp < d->gap.first)
				d->gap.first = r.stamp;
			if (!ptrc_is_excluded(&d->excluded, r.stamp)) {
				if (r.stamp < d->resume)
					d->resume = r.stamp;
				break;
			}
		}
		unpin(d);
	}
}

static void take_gap(struct ptrc_drain *d)
{
	struct ptrc_stream_header *h = d->stream->header;
	uint64_t told = ptrc_load_acquire(&h->cleared_at);
	uint64_t flushed = ptrc_load_relaxed(&h->flushed_until);

	/* A LOOP stream may overwrite a part of a flush after it is written and before it is
	 * committed. Those events are in the log, so nothing up to the flush is a gap. */
	if (flushed > told)
		told = flushed;
	d->gap.first = PTRC_TIME_NONE;
	d->has_gap = ptrc_consumer_find_gap(&d->consumer, told, &h->gap_first, &d->gap);
	if (!d->has_gap)
		return;
	ptrc_store_relaxed(&h->gap_last, d->gap.last);
	d->excluded.gap_last = d->gap.last;
	find_ends_of_gap(d);
	if (d->gap.first <= told)
		d->gap.first = told + 1;
}

int ptrc_drain_begin(struct ptrc_stream *s, struct ptrc_drain *d)
{
	int error = begin(s, d);

	if (error)
		return error;
	/* Without this wait a record older than `until` could appear after later ones were
	 * written. */
	d->until = d->flushed = ptrc_consumer_moment(&d->consumer);
	ptrc_marks_wait_all(s->header, &s->given_up);
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
		ptrc_store_relaxed(&ptrc_pool_ctl(&d->stream->pool, note->chunk)->taken,
				   (uint64_t)note->gen << 32 | note->consumed);
}

int ptrc_drain_begin_again(struct ptrc_stream *s, struct ptrc_drain *d,
			   const struct ptrc_drain_given *given)
{
	struct ptrc_stream_header *h = s->header;
	int error = begin(s, d);

	if (error)
		return error;
	d->is_again = true;
	d->until = ptrc_stream_now(h);
	d->flushed = given->until;
	/* The cut of this run excludes events only if the dead keeper knew of it. */
	if (!given->is_run_over || given->run_tag != (uint8_t)d->run) {
		d->excluded.cut = PTRC_TIME_NONE;
		d->is_stopped = d->has_stop = false;
	}
	d->has_gap = given->is_gap_told;
	d->gap.first = d->resume = ptrc_load_relaxed(&h->gap_first);
	d->gap.last = ptrc_load_relaxed(&h->gap_last);
	if (d->has_gap)
		d->excluded.gap_last = d->gap.last;
	return 0;
}

/* ---- stretches ---- */

static int64_t to_ns(struct ptrc_drain *d, uint64_t stamp)
{
	return ptrc_clock_realtime(d->stream->header, &d->clock, stamp);
}

/* The current stretch's count of the type. */
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

/* Add an event that the drain makes up to the stretch, unless its type is filtered. */
static void add_made_up(struct ptrc_drain *d, struct ptrc_stretch *stretch, uint32_t id,
			uint64_t stamp, const void *data, uint32_t len)
{
	int64_t ns = to_ns(d, stamp);
	uint8_t *out = d->buffer + stretch->bytes;
	struct ptrc_type_sum *sum;
	struct ptrc_record head;
	uint32_t flags = 0;

	if (ptrc_stream_is_filtered(d->stream->header, id))
		return;
	if (stretch->bytes == 0)
		stretch->base_ns = stretch->first_ns = ns;
	if (ns - stretch->base_ns > UINT32_MAX)
		flags = PTRC_REC_FULLSTAMP;
	ptrc_record_fill(&head, flags ? 0 : (uint32_t)(ns - stretch->base_ns), id | flags, len, 0);
	memcpy(out, &head, sizeof(head));
	if (flags)
		memcpy(out + 16, &ns, sizeof(ns));
	if (len)
		memcpy(out + ptrc_record_head(&head), data, len);
	stretch->bytes += (uint32_t)ptrc_record_size(&head);
	stretch->last_ns = ns;
	stretch->event_count++;
	stretch->records = d->buffer;
	sum = sum_of(d, id);
	sum->events++;
	sum->bytes += len;
}

/* Turn what is left of the copied chunk, up to `until` or to where base or origin change, into a
 * stretch. It stands in the same memory: a record only loses its full stamp by this, so the place
 * that is written never overtakes the place that is read. */
static void convert(struct ptrc_drain *d, struct ptrc_stretch *stretch)
{
	uint32_t start = d->walk.off, out = start;
	struct ptrc_type_sum *sum = NULL;
	struct ptrc_drain_note *note = &d->note;
	struct ptrc_walk_record r;

	*note = (struct ptrc_drain_note){.chunk = d->chunk, .gen = PTRC_CHUNK_GEN(d->pinned.word)};
	for (;;) {
		struct ptrc_walk before = d->walk;
		struct ptrc_record head;
		enum ptrc_step step =
			ptrc_consumer_step(&d->consumer, &d->walk, d->rpos, d->until, &r);
		uint32_t size;
		int64_t ns;

		if (step == PTRC_STEP_DAMAGE) {
			d->walk.off = d->walk.end;
			d->is_damaged = true;
		}
		if (step != PTRC_STEP_EVENT)
			break;
		if (ptrc_is_excluded(&d->excluded, r.stamp)) {
			if (!(r.id_flags & PTRC_REC_HIDDEN))
				note->lost++;
			note->events++;
			continue;
		}
		ns = to_ns(d, r.stamp);
		/* A stretch must be in order, even if damaged memory is not. */
		if (out != start && ns < stretch->last_ns)
			ns = stretch->last_ns;
		if (out == start) {
			stretch->base_ns = stretch->first_ns = ns;
			stretch->origin = d->walk.origin;
			stretch->records = d->buffer + start;
		} else if (ns - stretch->base_ns > UINT32_MAX ||
			   memcmp(&d->walk.origin, &stretch->origin, sizeof(stretch->origin))) {
			d->walk = before;
			break;
		}
		ptrc_record_fill(&head, (uint32_t)(ns - stretch->base_ns),
				 r.id_flags & ~PTRC_REC_FULLSTAMP, r.len, r.addr);
		memcpy(d->buffer + out, &head, sizeof(head));
		if (out + 16 != r.data)
			memmove(d->buffer + out + 16, d->buffer + r.data, r.len);
		size = (uint32_t)ptrc_record_size(&head);
		out += size;
		if (size > stretch->largest)
			stretch->largest = size;
		stretch->last_ns = ns;
		note->events++;
		if (!(r.id_flags & PTRC_REC_HIDDEN)) {
			uint32_t id = r.id_flags & PTRC_REC_ID_MASK;

			stretch->event_count++;
			if (!sum || sum->id != id)
				sum = sum_of(d, id);
			sum->events++;
			sum->bytes += r.len;
			sum->truncated += (r.id_flags & PTRC_REC_TRUNCATED) != 0;
		}
	}
	stretch->bytes = out - start;
	stretch->order = 1;
	note->consumed = d->walk.off;
	note->is_damaged = d->is_damaged;
}

/* The offset up to which a dead keeper has taken records of the pinned chunk. */
static uint32_t taken_end(struct ptrc_drain *d)
{
	uint64_t taken = ptrc_load_relaxed(&ptrc_pool_ctl(&d->stream->pool, d->chunk)->taken);

	if ((uint32_t)(taken >> 32) != PTRC_CHUNK_GEN(d->pinned.word) || (uint32_t)taken < d->rpos)
		return d->rpos;
	return (uint32_t)taken < d->pinned.end ? (uint32_t)taken : d->pinned.end;
}

static bool open_chunk(struct ptrc_drain *d)
{
	uint32_t end;

	if (!pin(d, d->chunk))
		return false;
	d->is_owed = d->is_damaged = false;
	end = d->pinned.end;
	memcpy(d->buffer, ptrc_pool_chunk(&d->stream->pool, d->chunk), end);
	if (d->is_again)
		end = taken_end(d);
	d->walk = ptrc_walk_begin((const void *)d->buffer, end);
	return true;
}

/* Free the room of the pinned chunk, up to the end of the note's stretch. */
static void advance(struct ptrc_drain *d, const struct ptrc_drain_note *note)
{
	uint32_t consumed = note->consumed;

	if (note->is_damaged) {
		uint32_t end;

		if (ptrc_consumer_condemn(&d->consumer, &d->pinned, &end))
			consumed = end;
		ptrc_stream_error(d->stream, EINVAL);
	}
	/* Counted first: if this keeper dies in between, its successor counts them again, which
	 * is better than not at all. */
	if (note->lost)
		atomic_fetch_add_explicit(&d->stream->header->lost_events, note->lost,
					  memory_order_relaxed);
	ptrc_consumer_advance(&d->consumer, &d->pinned, consumed, note->events);
}

static bool next_of_chunks(struct ptrc_drain *d, struct ptrc_stretch *stretch)
{
	uint32_t used = ptrc_pool_used(&d->stream->pool);

	for (; d->chunk < used; d->chunk++) {
		if (!d->is_pinned && !open_chunk(d))
			continue;
		if (d->walk.off < d->walk.end) {
			convert(d, stretch);
			if (stretch->bytes) {
				d->is_owed = true;
				return true;
			}
			/* No record of it goes to the log, so its room is free right away. */
			if (!d->is_owed)
				advance(d, &d->note);
		}
		unpin(d);
	}
	return false;
}

int ptrc_drain_next(struct ptrc_drain *d, struct ptrc_stretch *stretch)
{
	static const int reason = 1;

	memset(stretch, 0, sizeof(*stretch));
	if (d->phase == PHASE_GAP) {
		d->phase = PHASE_CHUNKS;
		d->note = (struct ptrc_drain_note){.chunk = PTRC_DRAIN_GAP};
		if (d->has_gap && d->resume != PTRC_TIME_NONE) {
			d->is_gap_told = true;
			add_made_up(d, stretch, POSIX_TRACE_OVERFLOW, d->gap.first, NULL, 0);
			add_made_up(d, stretch, POSIX_TRACE_RESUME, d->resume, NULL, 0);
			if (stretch->bytes)
				return 0;
			gap_is_out(d);
		}
	}
	if (d->phase == PHASE_CHUNKS) {
		if (next_of_chunks(d, stretch))
			return 0;
		d->phase = PHASE_STOP;
		if (d->has_stop) {
			memset(stretch, 0, sizeof(*stretch));
			stretch->order = 2;
			d->note = (struct ptrc_drain_note){.chunk = PTRC_DRAIN_STOP};
			add_made_up(d, stretch, POSIX_TRACE_STOP, d->excluded.cut, &reason,
				    sizeof(reason));
			if (stretch->bytes)
				return 0;
		}
	}
	d->phase = PHASE_DONE;
	return ENODATA;
}

const struct ptrc_type_sum *ptrc_drain_stretch_sums(const struct ptrc_drain *d)
{
	return d->sums->sum;
}

/* ---- commit ---- */

/* False: the chunk is not what it was when the stretch was given out. */
static bool commit_chunk(struct ptrc_drain *d, const struct ptrc_drain_note *note)
{
	bool is_inside = d->is_pinned; /* stretch by stretch: the drain is still in this chunk */

	if (!is_inside && !pin(d, note->chunk))
		return false;
	if (PTRC_CHUNK_GEN(d->pinned.word) != note->gen) {
		unpin(d);
		return false;
	}
	/* Everything that the drain took is in the log. The gap of a later drain begins behind
	 * it, so that OVERFLOW and RESUME do not hide events that the log has. */
	if ((!is_inside || d->is_again) && note->events > note->lost &&
	    PTRC_CHUNK_SLOT(d->pinned.word) != PTRC_SLOT_KEEPER)
		ptrc_store_release(&d->stream->header->flushed_until, d->flushed);
	advance(d, note);
	d->is_owed = d->is_damaged = false;
	if (!is_inside)
		unpin(d);
	return true;
}

void ptrc_drain_commit(struct ptrc_drain *d, const struct ptrc_drain_note *note,
		       const struct ptrc_type_sum *sums)
{
	struct ptrc_type_counts *types = ptrc_stream_types(d->stream->header);
	uint64_t epoch = ptrc_load_relaxed(&types->epoch);
	uint64_t version = ptrc_load_relaxed(&types->version);
	bool is_there = true;

	/* While the version is odd, nobody trusts the counts. If this keeper dies then, the
	 * counts lack some events of one chunk, and the next keeper makes the version even. */
	ptrc_store_relaxed(&types->version, version + 1);
	atomic_thread_fence(memory_order_release);
	if (note->chunk == PTRC_DRAIN_GAP) {
		gap_is_out(d);
	} else if (note->chunk == PTRC_DRAIN_STOP) {
		ptrc_status_set(d->stream->header, PTRC_ST_STOP_OUT);
	} else {
		epoch = ptrc_load_relaxed(&ptrc_pool_ctl(&d->stream->pool, note->chunk)->epoch);
		is_there = commit_chunk(d, note);
	}
	for (uint32_t i = 0; is_there && i < note->sum_count; i++)
		ptrc_type_counts_add(types, epoch, &sums[i]);
	ptrc_store_release(&types->version, version + 2);
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
