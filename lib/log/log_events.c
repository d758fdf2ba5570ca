/* SPDX-License-Identifier: MIT */
#include "lib/log/log_write.h"

#include <errno.h>
#include <string.h>
#include <trace.h>

#include "lib/base/heap.h"
#include "lib/base/sys.h"
#include "lib/stream/filter.h"
#include "lib/model/sequencer.h"

/* ---- the batch: the events of a flush ---- */

/* Packed events of one writer: a stretch in the batch, or a part of one. */
struct ptrc_log_piece {
	struct ptrc_stretch s; /* `packed` and `sums` are unused: the batch's data may move */
	uint64_t at;	       /* offset of its packed events in the batch's data */
	uint64_t sums_at;      /* offset of its counts by event type in the batch's sums */
	uint32_t rank;	       /* among pieces of equal time and order, the smallest comes first */
	uint32_t chosen;       /* how many of its first events are chosen for the next packet */
};

/* Whether the last event of this piece (packed events of one writer) comes after that of `last`
 * (NULL: true). Always false for a marker (FLUSH_START or FLUSH_STOP). */
static bool piece_is_last(const struct ptrc_log_piece *p, const struct ptrc_log_piece *last)
{
	return p->s.kind != PTRC_STRETCH_MARKER &&
	       (!last || p->s.last_ns > last->s.last_ns ||
		(p->s.last_ns == last->s.last_ns && p->s.order >= last->s.order));
}

/* The events chosen for a packet. `counted` is their size as log-max-size counts it. `records`
 * counts hidden events, too; `events` does not. */
struct ptrc_log_slice {
	uint64_t counted, records, events;
	int64_t first_ns, last_ns;
};

/* A marker (FLUSH_START or FLUSH_STOP) that is held back until another event follows. */
struct ptrc_log_held {
	int64_t ns;
	uint32_t id;
};

/* The limits at which the choice of events for a packet ends. "Counted bytes" are bytes as the
 * attribute log-max-size counts them. */
struct ptrc_log_end {
	uint64_t target;  /* most counted bytes of the packet, unless its first event has more */
	uint64_t room;	  /* counted bytes left in the log */
	uint64_t reserve; /* the part of `room` that only a STOP may use */
	bool is_full;	  /* out: the log has no room for the next event */
	int64_t next_ns;  /* out: if is_full, the time of that event */
};

/* Memory for unpacking a piece, and for packing a part of it again. */
struct ptrc_log_work {
	struct ptrc_packer packer;
	struct ptrc_unpacker_shape shapes[PTRC_PACKED_SHAPES];
};

/* Returns piece number `number` of the batch. The pointer is valid until another piece is added. */
static struct ptrc_log_piece *piece_at(const struct ptrc_log_batch *b, uint32_t number)
{
	return PTRC_LOG_ITEMS(&b->pieces, struct ptrc_log_piece) + number;
}

static uint32_t piece_count(const struct ptrc_log_batch *b)
{
	return (uint32_t)PTRC_LOG_COUNT(&b->pieces, struct ptrc_log_piece);
}

/* The piece whose number is element i of a list of numbers; NULL if the list is shorter. */
static struct ptrc_log_piece *listed(const struct ptrc_log_batch *b,
				     const struct ptrc_log_buffer *list, uint64_t i)
{
	return i < PTRC_LOG_COUNT(list, uint32_t) ? piece_at(b, PTRC_LOG_ITEMS(list, uint32_t)[i])
						  : NULL;
}

static const struct ptrc_type_sum *sums_at(const struct ptrc_log_batch *b, uint64_t at)
{
	return (const struct ptrc_type_sum *)(const void *)(b->sums.bytes + at);
}

static struct ptrc_unpacker unpack(const struct ptrc_log_batch *b, const struct ptrc_log_piece *p,
				   struct ptrc_unpacker_shape *shapes)
{
	return ptrc_unpacker_begin(b->data.bytes + p->at, p->s.bytes, p->s.first_ns, shapes);
}

static struct ptrc_log_work *work_of(const struct ptrc_log_batch *b)
{
	return PTRC_LOG_ITEMS(&b->work, struct ptrc_log_work);
}

int ptrc_log_batch_room(struct ptrc_log_batch *b, uint64_t bytes, uint8_t **out)
{
	int error = ptrc_log_buffer_reserve(&b->data, bytes);

	if (!error)
		*out = b->data.bytes + b->data.used;
	return error;
}

/* Adds the stretch (packed events of one writer) to the batch, as a piece. If it was packed
 * elsewhere than in the batch's memory, copies it there. ENOMEM. */
static int batch_add(struct ptrc_log_batch *b, const struct ptrc_stretch *in)
{
	struct ptrc_log_piece piece = {
		.s = *in, .at = b->data.used, .sums_at = b->sums.used, .rank = piece_count(b)};
	uint64_t sum_bytes = in->sum_count * sizeof(struct ptrc_type_sum);
	/* The slack: pack_again() copies units of 8 bytes, and may read past the last event. */
	int error = ptrc_log_buffer_reserve(&b->data, in->bytes + PTRC_PACKED_SLACK)
			    ?: ptrc_log_buffer_reserve(&b->sums, sum_bytes)
			    ?: ptrc_log_buffer_add(&b->pieces, &piece, sizeof(piece));
	if (error)
		return error;
	if (in->packed != b->data.bytes + piece.at)
		memcpy(b->data.bytes + piece.at, in->packed, in->bytes);
	b->data.used += in->bytes;
	return ptrc_log_buffer_add(&b->sums, in->sums, sum_bytes);
}

static void batch_clear(struct ptrc_log_batch *b)
{
	b->data.used = b->pieces.used = b->sums.used = 0;
	b->waiting.used = b->slice.used = 0;
	b->next = 0;
	b->counted = 0;
}

void ptrc_log_batch_trim(struct ptrc_log_batch *b)
{
	if (b->data.used == 0 && b->data.size > PTRC_LOG_BATCH_KEEP_BYTES)
		ptrc_log_buffer_free(&b->data);
	if (b->cursors.size > PTRC_LOG_BATCH_KEEP_BYTES)
		ptrc_log_buffer_free(&b->cursors);
}

void ptrc_log_batch_free(struct ptrc_log_batch *b)
{
	ptrc_log_buffer_free(&b->data);
	ptrc_log_buffer_free(&b->pieces);
	ptrc_log_buffer_free(&b->sums);
	ptrc_log_buffer_free(&b->waiting);
	ptrc_log_buffer_free(&b->slice);
	ptrc_log_buffer_free(&b->cursors);
	ptrc_log_buffer_free(&b->work);
}

/* ---- markers after the last STOP ---- */

/* Adds to the batch the FLUSH_START and FLUSH_STOP events that earlier flushes held back.
 * ENOMEM. */
static int batch_add_held(struct ptrc_log_batch *b, const struct ptrc_log_buffer *held)
{
	const struct ptrc_log_held *all = PTRC_LOG_ITEMS(held, struct ptrc_log_held);

	for (uint64_t i = 0; i < PTRC_LOG_COUNT(held, *all); i++) {
		struct ptrc_type_sum sum = {.id = all[i].id, .events = 1};
		uint8_t packed[PTRC_PACKED_HEAD_MAX];
		struct ptrc_stretch stretch = {.first_ns = all[i].ns,
					       .last_ns = all[i].ns,
					       .packed = packed,
					       .kind = PTRC_STRETCH_MARKER,
					       .records = 1,
					       .event_count = 1,
					       .counted = ptrc_packed_counted(0),
					       .largest = ptrc_packed_counted(0),
					       .sums = &sum,
					       .sum_count = 1,
					       .order = 1};
		int error;

		stretch.bytes = ptrc_packed_single(packed, all[i].id, NULL, 0);
		error = batch_add(b, &stretch);
		if (error)
			return error;
	}
	return 0;
}

/* Markers are FLUSH_START and FLUSH_STOP. If the last event of the batch that is no marker is a
 * STOP, moves the markers after it from the batch to `held`. If the batch has only markers, moves
 * them if is_after_stop says that the last event in the log is a STOP. ENOMEM. */
static int batch_hold(struct ptrc_log_batch *b, bool is_after_stop, struct ptrc_log_buffer *held)
{
	const struct ptrc_log_piece *last = NULL;
	uint32_t count = piece_count(b);

	for (uint32_t i = 0; i < count; i++)
		if (piece_is_last(piece_at(b, i), last))
			last = piece_at(b, i);
	if (last)
		is_after_stop = last->s.kind == PTRC_STRETCH_STOP;
	if (!is_after_stop)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		struct ptrc_log_piece *p = piece_at(b, i);
		struct ptrc_log_held marker = {.ns = p->s.first_ns};

		if (p->s.kind != PTRC_STRETCH_MARKER || !p->s.sum_count ||
		    (last && p->s.first_ns < last->s.last_ns))
			continue;
		marker.id = sums_at(b, p->sums_at)->id;
		if (ptrc_log_buffer_add(held, &marker, sizeof(marker)))
			return ENOMEM;
		p->s.records = 0; /* so batch_sort() ignores it */
	}
	return 0;
}

/* ---- sorting the pieces ---- */

static bool is_earlier(const struct ptrc_log_piece *a, const struct ptrc_log_piece *b)
{
	return (PTRC_ORDER(a->s.first_ns, b->s.first_ns)
			?: PTRC_ORDER(a->s.order, b->s.order)
			?: PTRC_ORDER(a->rank, b->rank)) < 0;
}

PTRC_HEAP_DEFINE(earlier, struct ptrc_log_piece, is_earlier);

/* Puts the numbers of all pieces (packed events of one writer) into b->waiting, by time. ENOMEM. */
static int batch_sort(struct ptrc_log_batch *b)
{
	uint32_t count = piece_count(b), used = 0;
	struct ptrc_log_piece **heap;
	uint32_t *numbers;
	int error;

	b->cursors.used = 0;
	error = ptrc_log_buffer_reserve(&b->waiting, count * sizeof(uint32_t))
			?: ptrc_log_buffer_reserve(&b->cursors, count * sizeof(*heap))
			?: ptrc_log_buffer_reserve(&b->work, sizeof(struct ptrc_log_work));
	if (error)
		return error;
	heap = PTRC_LOG_ITEMS(&b->cursors, struct ptrc_log_piece *);
	numbers = PTRC_LOG_ITEMS(&b->waiting, uint32_t);
	for (uint32_t i = 0; i < count; i++) {
		struct ptrc_log_piece *p = piece_at(b, i);

		if (!p->s.records)
			continue;
		heap[used++] = p;
		b->counted += p->s.counted;
	}
	b->waiting.used = used * sizeof(uint32_t);
	earlier_build(heap, used);
	for (; used; earlier_pop(heap, used--))
		*numbers++ = (uint32_t)(heap[0] - piece_at(b, 0));
	return 0;
}

/* ---- choosing the events of the next packet ---- */

/* Makes a new piece, *to, of those events of `from` that the unpacker u has not returned yet.
 * Leaves out events of more than `most` bytes, as log-max-size counts them. ENOMEM. */
static int pack_again(struct ptrc_log_batch *b, const struct ptrc_log_piece *from,
		      struct ptrc_unpacker u, uint64_t most, struct ptrc_log_piece *to)
{
	struct ptrc_packer *packer = &work_of(b)->packer;
	struct ptrc_packed_event e;
	uint64_t pos = (uint64_t)(u.pos - b->data.bytes), sum_bytes;
	uint8_t *out;
	/* The head of each packed event may become longer than it was. */
	int error = ptrc_log_batch_room(b,
					(uint64_t)from->s.records * PTRC_PACKED_HEAD_MAX +
						from->s.counted + PTRC_PACKED_SLACK,
					&out);

	if (error)
		return error;
	u.pos = b->data.bytes + pos;
	u.end = b->data.bytes + from->at + from->s.bytes;
	ptrc_packer_begin(packer, out);
	while (ptrc_unpacker_next(&u, &e))
		if (ptrc_packed_counted(e.len) <= most)
			ptrc_packer_add(packer, e.ns, ptrc_packed_key(e.addr, e.id_flags), e.data,
					e.len);
	*to = *from;
	ptrc_stretch_pack(&to->s, packer);
	to->at = b->data.used;
	to->sums_at = b->sums.used;
	sum_bytes = to->s.sum_count * sizeof(struct ptrc_type_sum);
	error = ptrc_log_buffer_add(&b->sums, to->s.sums, sum_bytes);
	if (!error)
		b->data.used += to->s.bytes;
	return error;
}

static void subtract_sums(struct ptrc_log_batch *b, const struct ptrc_log_piece *piece,
			  const struct ptrc_log_piece *part)
{
	struct ptrc_type_sum *from =
		(struct ptrc_type_sum *)(void *)(b->sums.bytes + piece->sums_at);
	const struct ptrc_type_sum *less = sums_at(b, part->sums_at);

	for (uint32_t i = 0; i < part->s.sum_count; i++)
		for (uint32_t j = 0; j < piece->s.sum_count; j++)
			if (from[j].id == less[i].id) {
				from[j].events -= less[i].events;
				from[j].bytes -= less[i].bytes;
				from[j].truncated -= less[i].truncated;
			}
}

/* Splits a piece (packed events of one writer): its chosen events stay in it, and the others go
 * into a new piece, whose number is stored in *rest. ENOMEM: nothing has changed. */
static int split(struct ptrc_log_batch *b, uint32_t number, uint32_t *rest)
{
	struct ptrc_log_piece *p, right;
	struct ptrc_packed_event e = {.ns = 0};
	struct ptrc_unpacker u;
	uint64_t bytes;
	int error = ptrc_log_buffer_reserve(&b->pieces, sizeof(right));

	if (error)
		return error;
	p = piece_at(b, number);
	u = unpack(b, p, work_of(b)->shapes);
	for (uint32_t i = 0; i < p->chosen; i++)
		ptrc_unpacker_next(&u, &e);
	bytes = (uint64_t)(u.pos - (b->data.bytes + p->at));
	error = pack_again(b, p, u, UINT64_MAX, &right);
	if (error)
		return error;
	subtract_sums(b, p, &right);
	p->s.bytes = bytes;
	p->s.last_ns = e.ns;
	p->s.counted -= right.s.counted;
	p->s.records -= right.s.records;
	p->s.event_count -= right.s.event_count;
	right.chosen = 0;
	*rest = piece_count(b);
	return ptrc_log_buffer_add(&b->pieces, &right, sizeof(right));
}

/* Puts the number of a piece into the list of waiting pieces, at index `to` or further on, where it
 * belongs by time. The elements after `to` must be in order. */
static void sink(struct ptrc_log_batch *b, uint32_t number, uint64_t to)
{
	uint32_t *waiting = PTRC_LOG_ITEMS(&b->waiting, uint32_t);
	const struct ptrc_log_piece *p = piece_at(b, number), *next;

	for (; (next = listed(b, &b->waiting, to + 1)) && is_earlier(next, p); to++)
		waiting[to] = waiting[to + 1];
	waiting[to] = number;
}

/* Moves the chosen events from the waiting pieces to b->slice, the pieces of the next packet.
 * *slice describes these events. The member `chosen` of each waiting piece before index `end` says
 * how many of its events are chosen. ENOMEM. */
static int finish(struct ptrc_log_batch *b, uint64_t end, struct ptrc_log_slice *slice)
{
	uint64_t keep = end;
	uint32_t *waiting = PTRC_LOG_ITEMS(&b->waiting, uint32_t);
	int error;

	*slice = (struct ptrc_log_slice){.last_ns = INT64_MIN};
	b->slice.used = 0;
	error = ptrc_log_buffer_reserve(&b->slice, (end - b->next) * sizeof(uint32_t));
	if (error)
		return error;
	for (uint64_t i = b->next; i < end; i++) {
		struct ptrc_log_piece *p = piece_at(b, waiting[i]);
		uint32_t number = waiting[i];

		if (!p->chosen)
			continue;
		if (p->chosen < p->s.records) {
			error = split(b, number, &waiting[i]);
			if (error)
				return error;
			p = piece_at(b, number);
		} else {
			waiting[i] = UINT32_MAX;
		}
		p->chosen = 0;
		ptrc_log_buffer_add(&b->slice, &number, sizeof(number));
		if (slice->records == 0)
			slice->first_ns = p->s.first_ns;
		if (slice->last_ns < p->s.last_ns)
			slice->last_ns = p->s.last_ns;
		slice->counted += p->s.counted;
		slice->records += p->s.records;
		slice->events += p->s.event_count;
		b->counted -= p->s.counted;
	}
	/* Pieces that lost their first events start later now, so the order must be restored. */
	for (uint64_t i = end; i-- > b->next;)
		if (waiting[i] != UINT32_MAX)
			sink(b, waiting[i], --keep);
	b->next = keep;
	return 0;
}

static uint64_t cost(const struct ptrc_log_piece *p)
{
	return p->s.bytes + sizeof(struct ptrc_log_section);
}

/* Marks all waiting events up to this time as chosen. Returns the index after the last waiting
 * piece that has chosen events. *bytes becomes the size of the chosen events in a packet. */
static uint64_t mark_until(struct ptrc_log_batch *b, int64_t ns, uint64_t *bytes)
{
	struct ptrc_log_piece *p;
	uint64_t i;

	*bytes = 0;
	for (i = b->next; (p = listed(b, &b->waiting, i)) && p->s.first_ns <= ns; i++) {
		const uint8_t *begin, *end;
		struct ptrc_packed_event e;
		struct ptrc_unpacker u;

		if (p->s.last_ns <= ns) {
			p->chosen = p->s.records;
			*bytes += cost(p);
			continue;
		}
		u = unpack(b, p, work_of(b)->shapes);
		begin = end = u.pos;
		p->chosen = 0;
		while (ptrc_unpacker_next(&u, &e) && e.ns <= ns) {
			p->chosen++;
			end = u.pos;
		}
		*bytes += (uint64_t)(end - begin) + sizeof(struct ptrc_log_section);
	}
	return i;
}

/* The approximate size of the waiting events up to this time, computed as if the events of each
 * piece were spread evenly. Counting stops above `enough`. */
static uint64_t estimate(const struct ptrc_log_batch *b, int64_t ns, uint64_t enough)
{
	const struct ptrc_log_piece *p;
	uint64_t sum = 0;

	for (uint64_t i = b->next; sum <= enough; i++) {
		uint64_t part, all;

		p = listed(b, &b->waiting, i);
		if (!p || p->s.first_ns > ns)
			break;
		if (p->s.last_ns <= ns) {
			sum += cost(p);
			continue;
		}
		part = (uint64_t)ns - (uint64_t)p->s.first_ns;
		all = (uint64_t)p->s.last_ns - (uint64_t)p->s.first_ns;
		if (all > UINT32_MAX) {
			part >>= 32;
			all >>= 32;
		}
		/* No factor has more than 32 bits, so the product does not overflow. */
		sum += (p->s.bytes & UINT32_MAX) * (part & UINT32_MAX) / (all + 1);
	}
	return sum;
}

/* Returns a time up to which the waiting events take about `target` bytes. If some piece ends not
 * much earlier, returns the time of its end, because that piece need not be split then. */
static int64_t time_for(const struct ptrc_log_batch *b, uint64_t target)
{
	const struct ptrc_log_piece *p = listed(b, &b->waiting, b->next);
	int64_t first = p->s.first_ns, low = first, high = INT64_MIN, end = INT64_MIN;

	for (uint64_t i = b->next; (p = listed(b, &b->waiting, i)); i++)
		if (high < p->s.last_ns)
			high = p->s.last_ns;
	if (estimate(b, high, target) <= target)
		return high;
	while ((uint64_t)high - (uint64_t)low > 1) {
		int64_t middle = (int64_t)((uint64_t)low + ((uint64_t)high - (uint64_t)low) / 2);

		if (estimate(b, middle, target) <= target)
			low = middle;
		else
			high = middle;
	}
	for (uint64_t i = b->next; (p = listed(b, &b->waiting, i)) && p->s.first_ns <= low; i++)
		if (p->s.last_ns <= low && p->s.last_ns > end)
			end = p->s.last_ns;
	return end >= first && estimate(b, end, target) >= target / 2 ? end : low;
}

/* Moves all waiting events up to this time to b->slice. ENOMEM. */
static int batch_choose_until(struct ptrc_log_batch *b, int64_t ns, struct ptrc_log_slice *slice)
{
	uint64_t bytes;

	return finish(b, mark_until(b, ns, &bytes), slice);
}

/* ---- choosing event by event ---- */

struct ptrc_log_cursor {
	struct ptrc_unpacker unpacker;
	struct ptrc_packed_event event;
	struct ptrc_log_piece *piece;
	struct ptrc_unpacker_shape shapes[];
};

static bool comes_first(const struct ptrc_log_cursor *a, const struct ptrc_log_cursor *b)
{
	if (a->event.ns != b->event.ns)
		return a->event.ns < b->event.ns;
	return (PTRC_ORDER(a->piece->s.order, b->piece->s.order)
			?: PTRC_ORDER(a->piece->s.first_ns, b->piece->s.first_ns)
			?: PTRC_ORDER(a->piece->rank, b->piece->rank)) < 0;
}

PTRC_HEAP_DEFINE(heap, struct ptrc_log_cursor, comes_first);

static uint64_t cursor_bytes(const struct ptrc_log_piece *p)
{
	return sizeof(struct ptrc_log_cursor) +
	       ptrc_unpacker_shapes(p->s.bytes) * sizeof(struct ptrc_unpacker_shape);
}

/* Whether the choice of events for a packet ends before this event. `counted` is the size of the
 * events chosen so far, as log-max-size counts it; `bytes` is the approximate size of these events
 * and of this one in a packet. */
static bool ends(struct ptrc_log_end *end, const struct ptrc_packed_event *e, uint64_t counted,
		 uint64_t bytes)
{
	uint64_t size = ptrc_packed_counted(e->len);
	uint64_t need = size;

	if ((e->id_flags & PTRC_REC_ID_MASK) != POSIX_TRACE_STOP)
		need += end->reserve;
	if (counted && (counted + size > end->target || bytes > 2 * PTRC_LOG_PACKET_BYTES))
		return true;
	if (counted > end->room || need > end->room - counted) {
		end->is_full = true;
		end->next_ns = e->ns;
		return true;
	}
	return false;
}

static int batch_choose_exactly(struct ptrc_log_batch *b, struct ptrc_log_end *end,
				struct ptrc_log_slice *slice)
{
	uint64_t i, need = 0, bytes = 0, counted = 0;
	struct ptrc_log_cursor **heap;
	struct ptrc_log_piece *p;
	size_t used = 0;
	int error;

	end->is_full = false;
	for (i = b->next; (p = listed(b, &b->waiting, i)); i++) {
		p->chosen = 0;
		need += sizeof(*heap) + cursor_bytes(p);
	}
	b->cursors.used = 0;
	error = ptrc_log_buffer_reserve(&b->cursors, need);
	if (error)
		return error;
	heap = PTRC_LOG_ITEMS(&b->cursors, struct ptrc_log_cursor *);
	b->cursors.used = (i - b->next) * sizeof(*heap);
	for (i = b->next;;) {
		struct ptrc_log_cursor *c;

		/* Puts on the heap each piece whose first event may be the next to choose. */
		while ((p = listed(b, &b->waiting, i)) &&
		       !(used && heap[0]->event.ns < p->s.first_ns)) {
			c = (struct ptrc_log_cursor *)(void *)(b->cursors.bytes + b->cursors.used);
			b->cursors.used += cursor_bytes(p);
			c->piece = p;
			c->unpacker = unpack(b, p, c->shapes);
			i++;
			if (ptrc_unpacker_next(&c->unpacker, &c->event))
				heap_push(heap, used++, c);
		}
		if (!used)
			break;
		c = heap[0];
		bytes +=
			c->event.len + 4 + (c->piece->chosen ? 0 : sizeof(struct ptrc_log_section));
		if (ends(end, &c->event, counted, bytes))
			break;
		counted += ptrc_packed_counted(c->event.len);
		c->piece->chosen++;
		if (ptrc_unpacker_next(&c->unpacker, &c->event))
			heap_sift_down(heap, used, 0);
		else
			heap_pop(heap, used--);
	}
	return finish(b, i, slice);
}

/* Chooses all events up to a time such that they take about `target` bytes in a packet, and never
 * more than twice that, unless a single event does. */
static int batch_choose(struct ptrc_log_batch *b, uint64_t target, struct ptrc_log_slice *slice)
{
	struct ptrc_log_end end = {.target = target, .room = UINT64_MAX};
	uint64_t bytes, behind = mark_until(b, time_for(b, target), &bytes);

	/* time_for() assumes evenly spread events; if they are not, choose event by event. */
	if (bytes > 2 * target)
		return batch_choose_exactly(b, &end, slice);
	return finish(b, behind, slice);
}

/* ---- the chosen events ---- */

static const struct ptrc_log_piece *batch_chosen(const struct ptrc_log_batch *b, uint64_t i)
{
	return listed(b, &b->slice, i);
}

/* Removes from the batch the events that are larger than b->most, and so too large for the log.
 * *lost becomes their number, not counting FLUSH_START, FLUSH_STOP and hidden events. b->slice
 * becomes the list of those pieces that were removed as a whole and may have changed the filter,
 * for follow_filter(). ENOMEM. */
static int batch_strip(struct ptrc_log_batch *b, uint64_t *lost)
{
	uint64_t kept = 0, count = PTRC_LOG_COUNT(&b->waiting, uint32_t);
	uint32_t *waiting = PTRC_LOG_ITEMS(&b->waiting, uint32_t);

	*lost = 0;
	b->slice.used = 0;
	for (uint64_t i = 0; i < count; i++) {
		struct ptrc_log_piece *p = piece_at(b, waiting[i]), rest = *p;
		int error;

		if (p->s.largest > b->most) {
			error = ptrc_log_buffer_reserve(&b->slice, sizeof(waiting[i]))
					?: pack_again(b, p, unpack(b, p, work_of(b)->shapes),
						      b->most, &rest);
			if (error)
				return error;
			if (p->s.kind != PTRC_STRETCH_MARKER)
				*lost += p->s.event_count - rest.s.event_count;
			if (p->s.kind != PTRC_STRETCH_PLAIN && !rest.s.records)
				ptrc_log_buffer_add(&b->slice, &waiting[i], sizeof(waiting[i]));
			b->counted -= p->s.counted - rest.s.counted;
			if (rest.s.records)
				*p = rest;
		}
		if (rest.s.records)
			waiting[kept++] = waiting[i];
	}
	b->waiting.used = kept * sizeof(uint32_t);
	/* A piece that has lost its first events may now begin later than pieces after it. */
	for (uint64_t i = kept; i-- > 0;)
		sink(b, waiting[i], i);
	return 0;
}

static int batch_put_sums(struct ptrc_log_batch *b, struct ptrc_log_buffer *out)
{
	struct ptrc_type_sums *sums = &work_of(b)->packer.sums;
	const struct ptrc_log_piece *p;

	sums->count = 0;
	for (uint64_t i = 0; (p = batch_chosen(b, i)); i++)
		for (uint32_t k = 0; k < p->s.sum_count; k++)
			if (sums_at(b, p->sums_at)[k].events)
				ptrc_type_sums_add(sums, &sums_at(b, p->sums_at)[k]);
	return ptrc_log_buffer_add(out, sums->sum, sums->count * sizeof(sums->sum[0]));
}

/* Adds the chosen events to `out`, as sections of an EVENTS packet. If there is no memory,
 * out->is_short is set. */
static void batch_put_sections(const struct ptrc_log_batch *b, struct ptrc_log_buffer *out)
{
	const struct ptrc_log_piece *p;

	for (uint64_t i = 0; (p = batch_chosen(b, i)); i++) {
		struct ptrc_log_section section = {.base_ns = p->s.first_ns,
						   .origin = p->s.origin,
						   .bytes = (uint32_t)p->s.bytes,
						   .order = p->s.order};

		ptrc_log_buffer_add(out, &section, sizeof(section));
		ptrc_log_buffer_add(out, b->data.bytes + p->at, p->s.bytes);
	}
}

static bool batch_waits(const struct ptrc_log_batch *b)
{
	return listed(b, &b->waiting, b->next);
}

/* ---- names ---- */

/* The most bytes of names in a NAMES packet (a single name may have more), so that the packet fits
 * between the EVENTS packets of a small ring. */
#define NAMES_BYTES UINT64_C(4096)

/* Names to be written: new ones; or, if is_late, names that are in the log without the layout that
 * they have got since. */
struct range {
	bool is_late;
	/* Indices of entries of the names object; if is_late, indices in its list of layouts. */
	uint32_t next, end;
	/* If is_late: entries from this index on are skipped, because they are new, and are written
	 * with their layouts anyway. */
	uint32_t new_names;
};

static void add_names(struct ptrc_log_writer *w, struct range *r)
{
	const struct ptrc_names_object *names = w->names;
	uint64_t start = w->out.used;

	for (; r->next < r->end; r->next++) {
		struct ptrc_log_name head = {0};
		const char *name, *layout;
		uint32_t index = r->is_late ? ptrc_names_object_described(names, r->next) : r->next;
		uint64_t size;

		if ((r->is_late && index >= r->new_names) || index >= PTRC_NAMES_MAX ||
		    !ptrc_names_object_has(names, index))
			continue;
		name = names->entry[index].name;
		head.id = (uint16_t)(PTRC_ID_FIRST + index);
		head.name_bytes = (uint16_t)strnlen(name, PTRC_NAME_BYTES - 1);
		layout = ptrc_names_object_layout(names, index, &head.layout_bytes);
		if (!layout)
			head.layout_bytes = 0;
		size = sizeof(head) + ptrc_align8((uint64_t)head.name_bytes + head.layout_bytes);
		if (w->out.used > start && w->out.used - start + size > NAMES_BYTES)
			break;
		ptrc_log_buffer_add(&w->out, &head, sizeof(head));
		ptrc_log_buffer_add(&w->out, name, head.name_bytes);
		if (layout)
			ptrc_log_buffer_add(&w->out, layout, head.layout_bytes);
		ptrc_log_buffer_pad(&w->out);
	}
}

static int write_range(struct ptrc_log_writer *w, struct range r)
{
	uint32_t *written = r.is_late ? &w->state.layouts : &w->state.names;

	while (r.next < r.end) {
		uint64_t empty;
		int error = 0;

		ptrc_log_packet_begin(w);
		empty = w->out.used;
		add_names(w, &r);
		if (w->out.used > empty) {
			error = ptrc_log_packet_end(
				w, 0, (struct ptrc_log_packet){.type = PTRC_LOG_NAMES});
			if (!error)
				error = ptrc_log_aside_write(w, true);
		}
		if (error)
			return error;
		if (*written < r.next)
			*written = r.next;
	}
	return 0;
}

int ptrc_log_names_write(struct ptrc_log_writer *w)
{
	const struct ptrc_names_object *names = w->names;
	struct range new = {.next = w->state.names};
	struct range late = {.is_late = true, .next = w->state.layouts, .new_names = new.next};
	int error = 0;

	if (!names)
		return 0;
	/* The layouts are counted before the names. So each counted layout belongs to a counted
	 * name, and if that name is new, it is written with its layout. */
	for (late.end = late.next; ptrc_names_object_described(names, late.end) < PTRC_NAMES_MAX;)
		late.end++;
	new.end = ptrc_names_object_count(names);
	if (new.next >= new.end && late.next == late.end)
		return 0;
	error = write_range(w, new) ?: write_range(w, late);
	ptrc_log_state_save(w);
	return error;
}

/* Called when a ring, a log that overwrites its oldest packets, is full for the first time: writes
 * all names once more after the ring, where they stay, because the NAMES packets in the ring will
 * be overwritten. Leaves w->out unchanged: it is the packet that will overwrite the first one. */
static int names_before_wrap(struct ptrc_log_writer *w)
{
	struct range all = {.end = w->state.names < PTRC_NAMES_MAX ? w->state.names
								   : PTRC_NAMES_MAX};
	struct ptrc_log_buffer packet = w->out;
	int error = 0;

	memset(&w->out, 0, sizeof(w->out));
	w->state.flags |= PTRC_LOG_STATE_WRAPPED;
	if (w->names)
		error = write_range(w, all);
	if (error)
		w->state.flags &= ~PTRC_LOG_STATE_WRAPPED;
	else
		ptrc_log_aside_before_wrap(w);
	ptrc_log_buffer_free(&w->out);
	w->out = packet;
	return error;
}

uint64_t ptrc_log_names_count(const struct ptrc_log_writer *w)
{
	const struct ptrc_log_total *totals = (const void *)w->index.totals.bytes;
	uint64_t count = 0;

	/* The names of an orphan were removed: the log lacks those of the types that it has. */
	if (!w->names) {
		for (size_t id = PTRC_ID_FIRST; id < w->index.totals.used / sizeof(*totals); id++)
			count += totals[id].events != 0;
		return count;
	}
	for (uint32_t i = 0; i < w->state.names && i < PTRC_NAMES_MAX; i++)
		count += ptrc_names_object_has(w->names, i);
	return count + w->own_names;
}

/* ---- packets ---- */

/* If the size limit of a log is less than 16 times this, the events of each packet are chosen
 * exactly, one by one, and not by an estimate. */
#define EXACT_BELOW UINT64_C(65536)

static void follow_filter(struct ptrc_log_writer *w)
{
	const struct ptrc_log_piece *piece;
	struct ptrc_unpacker_shape shape;
	struct ptrc_packed_event e;
	struct ptrc_unpacker u;

	for (uint64_t i = 0; (piece = batch_chosen(&w->batch, i)); i++) {
		if (piece->s.kind == PTRC_STRETCH_GAP)
			w->state.flags |= PTRC_LOG_STATE_FILTER_UNKNOWN;
		if (piece->s.kind != PTRC_STRETCH_FILTER)
			continue;
		u = unpack(&w->batch, piece, &shape); /* such a piece has one event, so one shape */
		if (ptrc_unpacker_next(&u, &e) &&
		    ptrc_sequencer_learn(e.id_flags & PTRC_REC_ID_MASK, e.data, e.len,
					 w->state.filter)) {
			w->state.flags &= ~PTRC_LOG_STATE_FILTER_UNKNOWN;
			ptrc_log_index_note_filter(w);
		}
	}
}

/* Updates w->state for the chosen events, which the log now has or never gets: the filter, and the
 * flag that says whether the log's last event is a STOP. */
static void follow(struct ptrc_log_writer *w)
{
	const struct ptrc_log_piece *piece, *last = NULL;

	follow_filter(w);
	for (uint64_t i = 0; (piece = batch_chosen(&w->batch, i)); i++)
		if (piece_is_last(piece, last))
			last = piece;
	if (last && last->s.kind == PTRC_STRETCH_STOP)
		w->state.flags |= PTRC_LOG_STATE_AFTER_STOP;
	else if (last)
		w->state.flags &= ~PTRC_LOG_STATE_AFTER_STOP;
}

/* Adds the part of an EVENTS packet between the sums and the sections. Each packet has the
 * filter that was in force before its first event, because it may be the first packet that a
 * reader opens. */
static void put_filter(struct ptrc_log_writer *w, struct ptrc_log_packet *p)
{
	static const struct ptrc_log_ring none;
	const uint64_t *filter = w->state.filter;
	uint32_t words = PTRC_SET_WORD_COUNT;

	if (w->kind == PTRC_LOG_RING) {
		p->flags = PTRC_LOG_HAS_RING;
		ptrc_log_buffer_add(&w->out, &none, sizeof(none));
	}
	while (words && filter[words - 1] == 0)
		words--;
	if (w->state.flags & PTRC_LOG_STATE_FILTER_UNKNOWN) {
		p->flags |= PTRC_LOG_FILTER_UNKNOWN;
	} else if (words) {
		p->flags |= (uint16_t)(PTRC_LOG_HAS_FILTER |
				       (words - 1) << PTRC_LOG_FILTER_WORDS_SHIFT);
		ptrc_log_buffer_add(&w->out, filter, words * sizeof(*filter));
	}
}

/* Finds a place in the ring for the packet in w->out, and fills in the packet's struct
 * ptrc_log_ring, which says which events the ring has lost, including those that this packet
 * overwrites. */
static int place_in_ring(struct ptrc_log_writer *w, const struct ptrc_log_packet *p,
			 uint64_t *place)
{
	int error = 0;

	if (w->state.offset + ptrc_align8(w->out.used) > w->ring_size &&
	    !(w->state.flags & PTRC_LOG_STATE_WRAPPED))
		error = names_before_wrap(w);
	if (error)
		return error;
	*place = ptrc_log_ring_place(w, ptrc_align8(w->out.used), p->counted);
	memcpy(w->out.bytes + sizeof(*p) + p->sums_bytes, &w->state.ring, sizeof(w->state.ring));
	return 0;
}

/* Completes the EVENTS packet in w->out, writes it, and counts its events in w->state. */
static int write_packet(struct ptrc_log_writer *w, const struct ptrc_log_packet *p)
{
	bool is_ring = w->kind == PTRC_LOG_RING;
	struct ptrc_log_state before = w->state;
	uint64_t place = 0, first = w->lap_first;
	int error = w->out.is_short ? ENOMEM : is_ring ? place_in_ring(w, p, &place) : 0;

	error = error ?: ptrc_log_packet_end(w, 0, *p);
	error = error ?: is_ring ? ptrc_log_ring_write(w, place) : ptrc_log_append(w);
	if (error && is_ring)
		ptrc_log_ring_return(w, &before, first);
	if (error)
		return error;
	ptrc_log_index_note(w);
	w->state.seq++;
	w->state.events += p->event_count;
	w->state.bytes += p->counted;
	w->last_ns = p->last_ns;
	return 0;
}

int ptrc_log_events_write_single(struct ptrc_log_writer *w, struct ptrc_log_section section,
				 uint32_t id_flags, const void *data, uint32_t len)
{
	struct ptrc_type_sum sum = {.id = id_flags & PTRC_REC_ID_MASK, .events = 1, .bytes = len};
	struct ptrc_log_packet p = {.type = PTRC_LOG_EVENTS,
				    .first_ns = section.base_ns,
				    .last_ns = section.base_ns,
				    .counted = ptrc_packed_counted(len)};
	uint64_t at;

	ptrc_log_packet_begin(w);
	if (!(id_flags & PTRC_REC_HIDDEN)) {
		p.event_count = 1;
		p.sums_bytes = sizeof(sum);
		ptrc_log_buffer_add(&w->out, &sum, sizeof(sum));
	}
	put_filter(w, &p);
	at = w->out.used;
	if (ptrc_log_buffer_reserve(&w->out, sizeof(section) + PTRC_PACKED_HEAD_MAX + len))
		return ENOMEM;
	section.bytes =
		ptrc_packed_single(w->out.bytes + at + sizeof(section), id_flags, data, len);
	memcpy(w->out.bytes + at, &section, sizeof(section));
	w->out.used += sizeof(section) + section.bytes;
	return write_packet(w, &p);
}

/* The most names that a log has in addition to those of the names object: os.command and
 * os.went_on. */
#define OWN_NAMES_MAX 2U

/* Writes a name that is in this log only. Its identifier is above those of the names object. */
static int write_own_name(struct ptrc_log_writer *w, uint32_t id, const char *name,
			  const char *layout)
{
	struct ptrc_log_name head = {.id = (uint16_t)id,
				     .name_bytes = (uint16_t)strnlen(name, PTRC_NAME_BYTES),
				     .layout_bytes =
					     (uint32_t)strnlen(layout, PTRC_NAMES_LAYOUT_BYTES)};
	int error;

	ptrc_log_packet_begin(w);
	ptrc_log_buffer_add(&w->out, &head, sizeof(head));
	ptrc_log_buffer_add(&w->out, name, head.name_bytes);
	ptrc_log_buffer_add(&w->out, layout, head.layout_bytes);
	ptrc_log_buffer_pad(&w->out);
	error = ptrc_log_packet_end(w, 0, (struct ptrc_log_packet){.type = PTRC_LOG_NAMES})
			?: ptrc_log_aside_write(w, true);
	w->own_names += !error;
	return error;
}

int ptrc_log_events_write_own(struct ptrc_log_writer *w, int64_t ns,
			      const struct ptrc_context *origin, const char *name,
			      const char *layout, const void *data, uint32_t len)
{
	const struct ptrc_log_section section = {.base_ns = ns, .origin = *origin};
	/* If the names object no longer exists, the log may have events of types whose names are
	 * not in the log. The last identifiers are used, because such types have lower ones unless
	 * nearly all identifiers were taken. */
	uint32_t index =
		(w->names ? w->state.names : PTRC_NAMES_MAX - OWN_NAMES_MAX) + w->own_names;
	int pid = 0, error;

	/* Nothing may follow the STOP that ends a full log. */
	if (index >= PTRC_NAMES_MAX || ptrc_log_is_full(w) ||
	    (w->policy == POSIX_TRACE_UNTIL_FULL &&
	     w->state.bytes + ptrc_packed_counted(len) > w->limit)) {
		w->state.lost_events++;
		return 0;
	}
	ptrc_log_origin_look(w, origin, ns, &pid);
	ptrc_log_origin_write(w);
	error = write_own_name(w, PTRC_ID_FIRST + index, name, layout)
			?: ptrc_log_events_write_single(w, section, PTRC_ID_FIRST + index, data,
							len);
	if (!error)
		ptrc_log_index_keep(w);
	return error;
}

static int write_slice(struct ptrc_log_writer *w, const struct ptrc_log_slice *slice)
{
	struct ptrc_log_packet p = {.type = PTRC_LOG_EVENTS,
				    .counted = slice->counted,
				    .first_ns = slice->first_ns,
				    .last_ns = slice->last_ns,
				    .event_count = (uint32_t)slice->events};
	int error;

	ptrc_log_packet_begin(w);
	error = batch_put_sums(&w->batch, &w->out);
	if (error)
		return error;
	p.sums_bytes = (uint32_t)(w->out.used - sizeof(struct ptrc_log_packet));
	put_filter(w, &p);
	batch_put_sections(&w->batch, &w->out);
	error = write_packet(w, &p);
	if (!error)
		follow(w);
	return error;
}

/* Ends a full log with a STOP at the time `ns`, unless it already ends with a STOP, or the filter
 * excludes STOP. */
static int write_stop(struct ptrc_log_writer *w, int64_t ns)
{
	static const int reason = 2;
	const struct ptrc_log_section section = {.base_ns = ns, .order = UINT32_MAX};

	w->state.flags |= PTRC_LOG_STATE_FULL;
	if ((w->state.flags & PTRC_LOG_STATE_AFTER_STOP) ||
	    ptrc_stream_is_filtered(w->header, POSIX_TRACE_STOP))
		return 0;
	w->state.flags |= PTRC_LOG_STATE_AFTER_STOP;
	return ptrc_log_events_write_single(w, section, POSIX_TRACE_STOP, &reason, sizeof(reason));
}

/* The size of the waiting events in packets. */
static uint64_t packed_bytes(const struct ptrc_log_batch *b)
{
	const struct ptrc_log_piece *p;
	uint64_t sum = 0;

	for (uint64_t i = b->next; (p = listed(b, &b->waiting, i)); i++)
		sum += cost(p);
	return sum;
}

/* Chooses the earliest events, which together have about `counted` bytes as log-max-size counts
 * them. If `counted` is large, chooses events of about half as many bytes, by an estimate that does
 * not look at each event; the caller calls again for the rest. */
static int choose_about(struct ptrc_log_writer *w, uint64_t counted, struct ptrc_log_slice *slice)
{
	struct ptrc_log_end end = {.target = counted, .room = UINT64_MAX};
	double share = (double)counted / (double)w->batch.counted;

	if (counted <= 4 * EXACT_BELOW)
		return batch_choose_exactly(&w->batch, &end, slice);
	return batch_choose(&w->batch, (uint64_t)(share / 2 * (double)packed_bytes(&w->batch)),
			    slice);
}

/* Discards the oldest events of a flush that has more than the ring can hold. */
static int discard_oldest(struct ptrc_log_writer *w)
{
	int64_t first_ns = 0, last_ns = INT64_MIN;
	uint64_t events = 0;

	if (w->batch.counted <= w->limit)
		return 0;
	while (w->batch.counted > w->limit) {
		struct ptrc_log_slice slice;
		int error = choose_about(w, w->batch.counted - w->limit, &slice);

		if (error)
			return error;
		if (last_ns == INT64_MIN)
			first_ns = slice.first_ns;
		if (last_ns < slice.last_ns)
			last_ns = slice.last_ns;
		events += slice.events;
		follow(w);
	}
	ptrc_log_ring_drop_all(w); /* the ring's events are older than the discarded ones */
	ptrc_log_ring_note_lost(w, events, first_ns, last_ns);
	return 0;
}

/* Chooses the events of the next packet. If an UNTIL_FULL log has no room for the event after
 * these, sets end->is_full, and end->next_ns to the time of that event. */
static int choose(struct ptrc_log_writer *w, struct ptrc_log_slice *slice, struct ptrc_log_end *end)
{
	end->target = ptrc_log_at_most(w->limit / 16, PTRC_LOG_PACKET_BYTES);
	end->room = UINT64_MAX;
	if (w->policy == POSIX_TRACE_UNTIL_FULL) {
		end->room = w->limit > w->state.bytes ? w->limit - w->state.bytes : 0;
		/* Only the STOP that ends the full log may use this room. */
		end->reserve = PTRC_LOG_STOP_BYTES;
	}
	if (end->target >= EXACT_BELOW && end->room >= w->batch.counted + end->reserve)
		return batch_choose(&w->batch, end->target, slice);
	return batch_choose_exactly(&w->batch, end, slice);
}

/* Sorts the batch, and removes two kinds of events from it: those that are too large for the log,
 * and those that a failed flush has already written into a pipe. */
static int sort_batch(struct ptrc_log_writer *w)
{
	struct ptrc_log_slice slice;
	uint64_t lost = 0;
	int error = batch_sort(&w->batch) ?: batch_strip(&w->batch, &lost);
	if (error)
		return error;
	w->state.lost_events += lost;
	follow_filter(w);
	/* The state already follows what is in the pipe. */
	return w->skip_ns == INT64_MIN ? 0 : batch_choose_until(&w->batch, w->skip_ns, &slice);
}

static int discard_rest(struct ptrc_log_writer *w)
{
	const struct ptrc_log_piece *piece;
	struct ptrc_log_slice slice;
	int error = batch_choose_until(&w->batch, INT64_MAX, &slice);

	for (uint64_t i = 0; !error && (piece = batch_chosen(&w->batch, i)); i++)
		if (piece->s.kind != PTRC_STRETCH_MARKER)
			w->state.lost_events += piece->s.event_count;
	return error;
}

static int write_batch(struct ptrc_log_writer *w)
{
	struct ptrc_log_end end = {.is_full = ptrc_log_is_full(w)};
	int error = sort_batch(w);

	if (!error && w->kind == PTRC_LOG_RING)
		error = discard_oldest(w);
	while (!error && !end.is_full && batch_waits(&w->batch)) {
		struct ptrc_log_slice slice;

		error = choose(w, &slice, &end);
		if (!error && slice.records)
			error = write_slice(w, &slice);
		if (!error && end.is_full)
			error = write_stop(w, end.next_ns);
	}
	if (!error && batch_waits(&w->batch))
		error = discard_rest(w);
	return error;
}

void ptrc_log_events_undo(struct ptrc_log_writer *w)
{
	struct ptrc_log_state now = w->state;

	/* A pipe keeps the packets; sort_batch() skips their events by skip_ns. */
	if (!w->has_retry || !w->is_regular)
		return;
	w->has_retry = false;
	w->unwritten_events = w->added_events;
	ptrc_log_index_forget(w, w->retry.offset);
	w->state = w->retry;
	w->state.written.until = 0;
	w->state.flags |= now.flags & (PTRC_LOG_STATE_WRAPPED | PTRC_LOG_STATE_CUT |
				       PTRC_LOG_STATE_MARKERS_WAIT);
	w->state.tail = now.tail;
	if (w->kind == PTRC_LOG_RING) {
		ptrc_log_ring_return(w, &w->retry, w->lap_begin);
		ptrc_log_state_tell(w);
		return;
	}
	ptrc_sys(SYS_ftruncate, w->fd, w->state.offset);
	w->file_end = w->state.offset;
	w->has_last = false;
}

void ptrc_log_events_begin(struct ptrc_log_writer *w)
{
	batch_clear(&w->batch);
	batch_clear(&w->observed);
	w->added_events = w->unwritten_events = 0;
	w->has_retry = false;
}

int ptrc_log_events_add(struct ptrc_log_writer *w, const struct ptrc_stretch *stretch)
{
	if (stretch->kind == PTRC_STRETCH_PROCESS)
		return batch_add(&w->observed, stretch);
	if (stretch->kind != PTRC_STRETCH_MARKER)
		w->added_events += stretch->event_count;
	return batch_add(&w->batch, stretch);
}

void ptrc_log_events_give_up(struct ptrc_log_writer *w)
{
	w->unwritten_events = w->added_events;
	batch_clear(&w->batch);
}

/* The number of events that the log has got or has counted as lost. */
static uint64_t taken_events(const struct ptrc_log_state *s)
{
	return s->events + s->ring.lost_events + s->lost_events;
}

/* Takes the controller's descriptions of processes. A later description of a program replaces an earlier one, but the
 * drain returns them by chunk, not by time. */
static int take_observed(struct ptrc_log_writer *w)
{
	struct ptrc_log_batch *b = &w->observed;
	int error = batch_sort(b);
	const struct ptrc_log_piece *p;

	for (uint64_t i = 0; !error && (p = listed(b, &b->waiting, i)); i++) {
		struct ptrc_stretch stretch = p->s;

		stretch.packed = b->data.bytes + p->at;
		ptrc_log_origin_observed(w, &stretch);
	}
	batch_clear(b);
	ptrc_log_batch_trim(b);
	return error;
}

static void describe_origins(struct ptrc_log_writer *w)
{
	const struct ptrc_log_batch *b = &w->batch;
	int pid = 0;

	for (uint32_t i = 0; i < piece_count(b); i++)
		ptrc_log_origin_look(w, &piece_at(b, i)->s.origin, piece_at(b, i)->s.first_ns,
				     &pid);
	ptrc_log_origin_write(w);
}

int ptrc_log_events_end(struct ptrc_log_writer *w)
{
	struct ptrc_log_state before;
	uint64_t until;
	int error = take_observed(w);

	/* ptrc_log_index_write() may save the state. The saved state must not say that the events
	 * of this flush are in the log, because they are not written yet. */
	until = w->state.written.until;
	w->state.written.until = 0;
	ptrc_log_index_write(w);
	w->state.written.until = until;
	if (w->origin && !ptrc_log_is_full(w))
		describe_origins(w);
	ptrc_log_ring_begin(w);
	before = w->state;
	w->last_ns = INT64_MIN;
	if (!error && w->policy == POSIX_TRACE_UNTIL_FULL) {
		w->held_next.used = 0;
		error = batch_add_held(&w->batch, &w->held)
				?: batch_hold(&w->batch, w->state.flags & PTRC_LOG_STATE_AFTER_STOP,
					      &w->held_next);
	}
	if (!error)
		error = write_batch(w);
	if (!error && w->syncs_flushes)
		error = ptrc_log_sync(w);
	batch_clear(&w->batch);
	if (error) {
		uint64_t taken = taken_events(&w->state) - taken_events(&before);

		w->unwritten_events = w->added_events > taken ? w->added_events - taken : 0;
		w->retry = before;
		w->has_retry = true;
		if (!w->is_regular && w->last_ns > w->skip_ns)
			w->skip_ns = w->last_ns;
		/* The events in a pipe cannot be removed again, and perhaps no flush will succeed
		 * and save the state. So the counts are reported now. */
		if (!w->is_regular)
			ptrc_log_state_tell(w);
		return error;
	}
	w->skip_ns = INT64_MIN;
	ptrc_log_index_keep(w);
	if (w->policy == POSIX_TRACE_UNTIL_FULL) {
		struct ptrc_log_buffer old = w->held;

		w->held = w->held_next;
		w->held_next = old;
	}
	ptrc_log_state_save(w);
	return 0;
}
