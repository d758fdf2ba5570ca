/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/drain.h"

#include <errno.h>
#include <string.h>
#include <trace.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/sys.h"
#include "lib/stream/filter.h"
#include "lib/stream/status.h"

enum { PHASE_GAP, PHASE_CHUNKS, PHASE_STOP, PHASE_DONE };

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

static int begin(struct ptrc_stream *s, struct ptrc_drain *d)
{
	struct ptrc_stream_header *h = s->header;
	uint64_t status;

	memset(d, 0, sizeof(*d));
	d->stream = s; /* ptrc_drain_end() needs this member even after a failure */
	d->consumer = (struct ptrc_consumer){.stream = s, .pin = PTRC_CHUNK_PIN_KEEPER};
	d->packer = ptrc_file_zeros(sizeof(*d->packer));
	if (!d->packer)
		return ENOMEM;
	ptrc_stream_complete(s);
	status = ptrc_load_acquire(&h->status);
	d->run = ptrc_load_acquire(&h->run);
	d->excluded = ptrc_excluded_now(h);
	/* The last gap may have ended after the moment up to which its drain took events. Those that
	 * it left in the stream, and that are in the gap, are no part of the trace. */
	d->excluded.gap_last = ptrc_load_relaxed(&h->gap_last);
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

/* Finds the first event after the gap, which the RESUME event announces. Events that still exist
 * but are older than the last overwritten event are dropped, so the start of the gap is moved back
 * to the first dropped event. */
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

	/* A LOOP stream may overwrite events that a flush has written to the log and not
	 * committed yet. These events are not lost, so no gap starts before the end of the flush. */
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
	/* Without the wait for event calls under way, a record older than `until` could appear in
	 * the stream after later records were written to the log. */
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
	/* The end of this run (its cut) excludes events from the drain only if the dead keeper
	 * knew that the run had ended. */
	if (!given->is_run_over || given->run_tag != (uint8_t)d->run) {
		d->excluded.cut = PTRC_TIME_NONE;
		d->is_stopped = d->has_stop = false;
	}
	d->has_gap = given->is_gap_told;
	d->gap.first = d->resume = ptrc_load_relaxed(&h->gap_first);
	d->gap.last = ptrc_load_relaxed(&h->gap_last);
	return 0;
}

/* ---- stretches ---- */

uint64_t ptrc_drain_room(const struct ptrc_drain *d)
{
	/* The header of a record has 16 bytes and takes at most 29 bytes when packed, so twice
	 * the size of the chunk is enough. */
	return 2 * (uint64_t)d->stream->pool.chunk_size + PTRC_PACKED_HEAD_MAX + PTRC_PACKED_SLACK;
}

enum ptrc_stretch_kind ptrc_stretch_kind_of(uint32_t id)
{
	switch (id) {
	case POSIX_TRACE_START:
	case POSIX_TRACE_FILTER:
		return PTRC_STRETCH_FILTER;
	case POSIX_TRACE_STOP:
		return PTRC_STRETCH_STOP;
	case POSIX_TRACE_FLUSH_START:
	case POSIX_TRACE_FLUSH_STOP:
		return PTRC_STRETCH_MARKER;
	case POSIX_TRACE_OVERFLOW:
	case POSIX_TRACE_RESUME:
		return PTRC_STRETCH_GAP;
	default:
		return PTRC_STRETCH_PLAIN;
	}
}

void ptrc_stretch_pack(struct ptrc_stretch *stretch, struct ptrc_packer *p)
{
	ptrc_packer_end(p);
	stretch->first_ns = p->base_ns;
	stretch->last_ns = p->last_ns;
	stretch->packed = p->begin;
	stretch->bytes = (uint32_t)(p->out - p->begin);
	stretch->records = p->records;
	stretch->event_count = p->reported;
	stretch->counted = p->counted;
	stretch->largest = p->largest;
	stretch->sums = p->sums.sum;
	stretch->sum_count = p->sums.count;
}

static void end_stretch(struct ptrc_drain *d, struct ptrc_stretch *stretch)
{
	ptrc_stretch_pack(stretch, d->packer);
	d->note.sum_count = stretch->sum_count;
}

/* Adds an event that the drain makes up (OVERFLOW, RESUME or STOP), unless the filter excludes its
 * type. The packer reads `data` in units of 8 bytes, so its memory must have a multiple of 8
 * bytes. */
static void add_made_up(struct ptrc_drain *d, uint32_t id, uint64_t stamp, const void *data,
			uint32_t len)
{
	const struct ptrc_stream_header *h = d->stream->header;

	if (!ptrc_stream_is_filtered(h, id))
		ptrc_packer_add(d->packer, ptrc_clock_realtime(h, &d->clock, stamp),
				ptrc_packed_key(0, id), data, len);
}

/* Whether the event that the walk has just passed can be added to the stretch, the events of one
 * writer that are being packed. */
static bool belongs(const struct ptrc_packer *p, const struct ptrc_stretch *stretch,
		    const struct ptrc_walk *walk, uint32_t len, enum ptrc_stretch_kind kind)
{
	return kind == PTRC_STRETCH_PLAIN && stretch->kind == PTRC_STRETCH_PLAIN &&
	       (uint64_t)(p->out - p->begin) + PTRC_PACKED_HEAD_MAX + len <= PTRC_STRETCH_BYTES &&
	       walk->origin.pid == stretch->origin.pid && walk->origin.tid == stretch->origin.tid &&
	       walk->origin.thread == stretch->origin.thread;
}

/* Whether the event is a FLUSH_START or FLUSH_STOP that the keeper has recorded while the stream was
 * stopped because it was full. Such events are left out of the log, but are no loss. */
static bool is_marker_of_stop(const struct ptrc_excluded *excluded,
			      const struct ptrc_walk_record *r)
{
	uint32_t id = r->id_flags & PTRC_REC_ID_MASK;

	return (id == POSIX_TRACE_FLUSH_START || id == POSIX_TRACE_FLUSH_STOP) &&
	       r->stamp > excluded->gap_last;
}

/* Steps to the chunk's next event that belongs to this drain, and counts in the note the events
 * that are left out. False: there is no such event. *is_last is set if the rest of the chunk stays
 * for the next drain; the walk then ends before this rest. */
static PTRC_ALWAYS_INLINE bool step(const struct ptrc_drain *d,
				    const struct ptrc_excluded *excluded, struct ptrc_walk *walk,
				    struct ptrc_drain_note *note, struct ptrc_walk_record *r,
				    bool *is_last)
{
	while (ptrc_walk_next(walk, r)) {
		if (r->off < d->rpos)
			continue;
		if (r->stamp > d->until) {
			/* A stamp in the future counts as damage, because otherwise every drain
			 * would stop before this event. */
			*is_last =
				r->stamp <= ptrc_stream_now(d->stream->header) + PTRC_STAMP_SLACK;
			walk->off = r->off;
			return false;
		}
		if (!ptrc_is_excluded(excluded, r->stamp))
			return true;
		if (r->id_flags & PTRC_REC_HIDDEN || is_marker_of_stop(excluded, r))
			continue;
		note->lost++;
		note->events++;
	}
	return false;
}

static void begin_note(struct ptrc_drain *d)
{
	d->note =
		(struct ptrc_drain_note){.chunk = d->chunk, .gen = PTRC_CHUNK_GEN(d->pinned.word)};
}

/* Ends the stretch at the position of the walk. If the walk stopped before the end of the chunk
 * without is_last, it stopped at damage, and the rest of the chunk is skipped. */
static void end_walk(struct ptrc_drain *d, struct ptrc_walk walk, bool is_last)
{
	if (!is_last && walk.off < walk.end) {
		walk.off = walk.end;
		d->is_damaged = true;
	}
	d->walk = walk;
	d->note.consumed = walk.off;
	d->note.is_damaged = d->is_damaged;
	d->left_out += d->note.lost;
}

/* Packs events of the chunk into a stretch (events of one writer), up to `until` or to the first
 * event that cannot be added to the stretch. Reads each event once, in place. */
static void pack(struct ptrc_drain *d, struct ptrc_stretch *stretch)
{
	const struct ptrc_stream_header *h = d->stream->header;
	const struct ptrc_excluded excluded = d->excluded;
	struct ptrc_clock_cursor clock = d->clock;
	struct ptrc_walk walk = d->walk;
	struct ptrc_packer *p = d->packer;
	struct ptrc_drain_note *note = &d->note;
	struct ptrc_walk_record r;
	bool is_last = false;

	begin_note(d);
	while (step(d, &excluded, &walk, note, &r, &is_last)) {
		enum ptrc_stretch_kind kind =
			ptrc_record_is_process(r.id_flags)
				? PTRC_STRETCH_PROCESS
				: ptrc_stretch_kind_of(r.id_flags & PTRC_REC_ID_MASK);
		int64_t ns = ptrc_clock_realtime(h, &clock, r.stamp);

		if (ptrc_packer_is_empty(p)) {
			stretch->kind = kind;
			stretch->origin = walk.origin;
			if (kind == PTRC_STRETCH_FILTER)
				note->filter = r.stamp;
		} else if (!belongs(p, stretch, &walk, r.len, kind)) {
			is_last = true;
			walk.off = r.off;
			break;
		}
		ptrc_packer_add(p, ns, ptrc_packed_key(r.addr, r.id_flags), walk.bytes + r.data,
				r.len);
		note->events += !(r.id_flags & PTRC_REC_HIDDEN);
	}
	d->clock = clock;
	end_walk(d, walk, is_last);
	stretch->order = 1;
	end_stretch(d, stretch);
}

/* Counts the events of the chunk up to `until`, of all writers. */
static void count(struct ptrc_drain *d, struct ptrc_stretch *stretch)
{
	const struct ptrc_excluded excluded = d->excluded;
	struct ptrc_type_sums *sums = &d->packer->sums;
	struct ptrc_walk walk = d->walk;
	struct ptrc_walk_record r;
	bool is_last = false;

	begin_note(d);
	while (step(d, &excluded, &walk, &d->note, &r, &is_last)) {
		if (ptrc_stretch_kind_of(r.id_flags & PTRC_REC_ID_MASK) == PTRC_STRETCH_FILTER)
			d->note.filter = r.stamp;
		stretch->records++;
		if (r.id_flags & PTRC_REC_HIDDEN)
			continue;
		d->note.events++;
		ptrc_type_sums_count(sums, r.id_flags, r.len);
		stretch->event_count++;
		stretch->counted += ptrc_packed_counted(r.len);
	}
	end_walk(d, walk, is_last);
	stretch->sums = sums->sum;
	stretch->sum_count = d->note.sum_count = sums->count;
}

/* The offset up to which a dead keeper took records of the pinned chunk. */
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
	end = d->is_again ? taken_end(d) : d->pinned.end;
	d->walk = ptrc_walk_begin(ptrc_pool_chunk(&d->stream->pool, d->chunk), end);
	return true;
}

/* Frees the events of the pinned chunk up to the end of the stretch that the note describes. */
static void advance(struct ptrc_drain *d, const struct ptrc_drain_note *note)
{
	uint32_t consumed = note->consumed;

	if (note->is_damaged) {
		uint32_t end;

		if (ptrc_consumer_condemn(&d->consumer, &d->pinned, &end))
			consumed = end;
		ptrc_stream_error(d->stream, EINVAL);
	}
	/* Lost events are counted before the chunk is advanced. If this keeper dies in between,
	 * its successor counts them a second time, which is better than not at all. */
	if (note->lost)
		ptrc_status_count_losses(d->stream->header, note->lost);
	d->left_out -= note->lost;
	ptrc_consumer_advance(&d->consumer, &d->pinned, consumed, note->events);
}

static bool next_of_chunks(struct ptrc_drain *d, struct ptrc_stretch *stretch)
{
	uint32_t used = ptrc_pool_used(&d->stream->pool);

	for (; d->chunk < used; d->chunk++) {
		if (!d->is_pinned && !open_chunk(d))
			continue;
		if (d->walk.off < d->walk.end) {
			if (d->only_counts)
				count(d, stretch);
			else
				pack(d, stretch);
			if (stretch->records) {
				d->is_owed = true;
				return true;
			}
			/* No event goes into the log, so the memory is freed at once, unless an
			 * earlier stretch of the chunk is not committed yet (is_owed). */
			if (!d->is_owed)
				advance(d, &d->note);
		}
		unpin(d);
	}
	return false;
}

int ptrc_drain_next(struct ptrc_drain *d, uint8_t *out, struct ptrc_stretch *stretch)
{
	static const int reason[2] = {1};

	memset(stretch, 0, sizeof(*stretch));
	ptrc_packer_begin(d->packer, out);
	if (d->phase == PHASE_GAP) {
		d->phase = PHASE_CHUNKS;
		d->note = (struct ptrc_drain_note){.chunk = PTRC_DRAIN_GAP};
		if (d->has_gap && d->resume != PTRC_TIME_NONE) {
			d->is_gap_told = true;
			stretch->kind = PTRC_STRETCH_GAP;
			add_made_up(d, POSIX_TRACE_OVERFLOW, d->gap.first, NULL, 0);
			add_made_up(d, POSIX_TRACE_RESUME, d->resume, NULL, 0);
			end_stretch(d, stretch);
			if (stretch->records)
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
			stretch->kind = PTRC_STRETCH_STOP;
			d->note = (struct ptrc_drain_note){.chunk = PTRC_DRAIN_STOP};
			add_made_up(d, POSIX_TRACE_STOP, d->excluded.cut, reason,
				    sizeof(reason[0]));
			end_stretch(d, stretch);
			if (stretch->records)
				return 0;
		}
	}
	d->phase = PHASE_DONE;
	return ENODATA;
}

/* ---- commit ---- */

/* The chunk of a stretch that is now in the log was overwritten meanwhile, and the writer that did
 * so has counted its events as lost. */
static void take_back_loss(struct ptrc_drain *d, const struct ptrc_drain_note *note)
{
	struct ptrc_stream_header *h = d->stream->header;
	uint64_t lost = ptrc_load_relaxed(&h->lost_events), kept = note->events - note->lost;

	if (kept == 0)
		return;
	ptrc_store_release(&h->flushed_until, d->flushed);
	while (!ptrc_cas(&h->lost_events, &lost, lost > kept ? lost - kept : 0))
		;
}

/* Frees the memory of a stretch that is now in the log. No clear comes between the two, because the
 * keeper itself clears a stream that has a log. */
static void commit_chunk(struct ptrc_drain *d, const struct ptrc_drain_note *note)
{
	/* The drain still has the chunk pinned if the keeper commits each stretch before it asks
	 * for the next one. */
	bool is_inside = d->is_pinned;
	bool is_there = is_inside || pin(d, note->chunk);

	if (!is_there || PTRC_CHUNK_GEN(d->pinned.word) != note->gen) {
		if (is_there)
			unpin(d);
		take_back_loss(d, note);
		return;
	}
	/* The log now has all events that the drain has taken, unless the keeper writes and commits
	 * one stretch after the other (is_inside, and not is_again). flushed_until makes a later
	 * gap start after these events, so that OVERFLOW and RESUME do not hide events that are in
	 * the log. */
	if ((!is_inside || d->is_again) && note->events > note->lost &&
	    PTRC_CHUNK_SLOT(d->pinned.word) != PTRC_SLOT_KEEPER)
		ptrc_store_release(&d->stream->header->flushed_until, d->flushed);
	if (note->filter > ptrc_load_relaxed(&d->stream->header->filter_taken))
		ptrc_store_release(&d->stream->header->filter_taken, note->filter);
	advance(d, note);
	d->is_owed = d->is_damaged = false;
	if (!is_inside)
		unpin(d);
}

void ptrc_drain_commit(struct ptrc_drain *d, const struct ptrc_drain_note *note,
		       const struct ptrc_type_sum *sums)
{
	struct ptrc_type_counts *types = ptrc_stream_types(d->stream->header);
	/* OVERFLOW, RESUME and STOP, which the drain makes up, belong to the present epoch. The counts may
	 * still be those of an older one, if no event of a chunk was counted since the last clear. */
	uint64_t epoch = ptrc_load_relaxed(&d->stream->header->epoch);
	uint64_t version = ptrc_load_relaxed(&types->version);

	/* While the version is odd, readers do not use the counts. If this keeper dies during
	 * that time, some events of one chunk are missing from the counts, and the next keeper
	 * makes the version even. */
	ptrc_store_relaxed(&types->version, version + 1);
	atomic_thread_fence(memory_order_release);
	ptrc_store_relaxed(&d->stream->header->consumed_until, d->until);
	if (note->chunk == PTRC_DRAIN_GAP) {
		gap_is_out(d);
	} else if (note->chunk == PTRC_DRAIN_STOP) {
		ptrc_status_set(d->stream->header, PTRC_ST_STOP_OUT);
	} else {
		epoch = ptrc_load_relaxed(&ptrc_pool_ctl(&d->stream->pool, note->chunk)->epoch);
		commit_chunk(d, note);
	}
	for (uint32_t i = 0; i < note->sum_count; i++)
		ptrc_type_counts_add(types, epoch, &sums[i]);
	ptrc_store_release(&types->version, version + 2);
}

void ptrc_drain_end(struct ptrc_drain *d, bool is_complete, bool log_is_full)
{
	if (d->is_pinned)
		unpin(d);
	if (d->packer)
		ptrc_sys(SYS_munmap, d->packer, sizeof(*d->packer));
	d->packer = NULL;
	if (is_complete && !log_is_full && d->is_stopped)
		ptrc_stream_stop_is_out(d->stream, d->run);
}
