/* SPDX-License-Identifier: MIT */
#include "lib/log/log_batch.h"

#include <errno.h>
#include <linux/mman.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/file.h"
#include "lib/base/heap.h"
#include "lib/log/log_layout.h"
#include "lib/base/sys.h"

int ptrc_log_buffer_reserve(struct ptrc_log_buffer *b, uint64_t more)
{
	uint64_t need, size = b->size ? b->size : 65536;
	long map;

	if (__builtin_add_overflow(b->used, more, &need) || need > (uint64_t)INT64_MAX / 2)
		return ENOMEM;
	if (need <= b->size)
		return 0;
	while (size < need)
		size *= 2;
	if (b->bytes)
		map = ptrc_sys(SYS_mremap, b->bytes, b->size, size, MREMAP_MAYMOVE);
	else
		map = ptrc_sys(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ptrc_sys_is_error(map))
		return ENOMEM;
	b->bytes = (uint8_t *)map;
	b->size = size;
	return 0;
}

int ptrc_log_buffer_add(struct ptrc_log_buffer *b, const void *data, uint64_t bytes)
{
	int error = ptrc_log_buffer_reserve(b, bytes);

	if (error) {
		b->is_short = true;
		return error;
	}
	if (bytes)
		memcpy(b->bytes + b->used, data, bytes);
	b->used += bytes;
	return 0;
}

void ptrc_log_buffer_pad(struct ptrc_log_buffer *b)
{
	static const uint8_t zero[8];

	ptrc_log_buffer_add(b, zero, ptrc_align8(b->used) - b->used);
}

void ptrc_log_buffer_clear(struct ptrc_log_buffer *b)
{
	b->used = 0;
	b->is_short = false;
}

void ptrc_log_buffer_free(struct ptrc_log_buffer *b)
{
	if (b->bytes)
		ptrc_sys(SYS_munmap, b->bytes, b->size);
	memset(b, 0, sizeof(*b));
}

/* ---- pieces ---- */

/* What it takes to unpack a piece, and to pack a part of it anew. */
struct ptrc_log_work {
	struct ptrc_packer packer;
	struct ptrc_unpacker_shape shapes[PTRC_PACKED_SHAPES];
};

/* Valid until a piece is added. */
static struct ptrc_log_piece *piece_at(const struct ptrc_log_batch *b, uint32_t number)
{
	return (struct ptrc_log_piece *)(void *)b->pieces.bytes + number;
}

static uint32_t piece_count(const struct ptrc_log_batch *b)
{
	return (uint32_t)(b->pieces.used / sizeof(struct ptrc_log_piece));
}

const struct ptrc_context *ptrc_log_batch_origin(const struct ptrc_log_batch *b, uint64_t i,
						 int64_t *first_ns)
{
	if (i >= piece_count(b))
		return NULL;
	*first_ns = piece_at(b, (uint32_t)i)->s.first_ns;
	return &piece_at(b, (uint32_t)i)->s.origin;
}

static const struct ptrc_type_sum *sums_at(const struct ptrc_log_batch *b, uint64_t at)
{
	return (const struct ptrc_type_sum *)(const void *)(b->sums.bytes + at);
}

static uint32_t *numbers_of(const struct ptrc_log_buffer *list)
{
	return (uint32_t *)(void *)list->bytes;
}

static uint64_t number_count(const struct ptrc_log_buffer *list)
{
	return list->used / sizeof(uint32_t);
}

static struct ptrc_unpacker unpack(const struct ptrc_log_batch *b, const struct ptrc_log_piece *p,
				   struct ptrc_unpacker_shape *shapes)
{
	return ptrc_unpacker_begin(b->data.bytes + p->at, p->s.bytes, p->s.first_ns, shapes);
}

static int make_work(struct ptrc_log_batch *b)
{
	if (!b->work)
		b->work = ptrc_file_zeros(sizeof(*b->work));
	return b->work ? 0 : ENOMEM;
}

int ptrc_log_batch_room(struct ptrc_log_batch *b, uint64_t bytes, uint8_t **out)
{
	int error = ptrc_log_buffer_reserve(&b->data, bytes);

	if (!error)
		*out = b->data.bytes + b->data.used;
	return error;
}

int ptrc_log_batch_add(struct ptrc_log_batch *b, const struct ptrc_stretch *in)
{
	struct ptrc_log_piece piece = {
		.s = *in, .at = b->data.used, .sums_at = b->sums.used, .rank = piece_count(b)};
	uint64_t sum_bytes = in->sum_count * sizeof(struct ptrc_type_sum);
	/* Behind the events there are always a few bytes that can be read. */
	int error = ptrc_log_buffer_reserve(&b->data, in->bytes + PTRC_PACKED_SLACK);

	if (!error)
		error = ptrc_log_buffer_reserve(&b->sums, sum_bytes);
	if (!error)
		error = ptrc_log_buffer_add(&b->pieces, &piece, sizeof(piece));
	if (error)
		return error;
	if (in->packed != b->data.bytes + piece.at)
		memcpy(b->data.bytes + piece.at, in->packed, in->bytes);
	b->data.used += in->bytes;
	return ptrc_log_buffer_add(&b->sums, in->sums, sum_bytes);
}

void ptrc_log_batch_clear(struct ptrc_log_batch *b)
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
	if (b->work)
		ptrc_sys(SYS_munmap, b->work, sizeof(*b->work));
	b->work = NULL;
	ptrc_log_batch_clear(b);
}

/* ---- markers behind the last STOP ---- */

int ptrc_log_batch_add_held(struct ptrc_log_batch *b, const struct ptrc_log_buffer *held)
{
	const struct ptrc_log_held *all = (const void *)held->bytes;

	for (uint64_t i = 0; i < held->used / sizeof(*all); i++) {
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
		error = ptrc_log_batch_add(b, &stretch);
		if (error)
			return error;
	}
	return 0;
}

int ptrc_log_batch_hold(struct ptrc_log_batch *b, bool is_after_stop, struct ptrc_log_buffer *held)
{
	const struct ptrc_log_piece *last = NULL;
	uint32_t count = piece_count(b);

	for (uint32_t i = 0; i < count; i++)
		if (ptrc_log_piece_is_last(piece_at(b, i), last))
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
		p->s.records = 0; /* so it is not sorted into the batch */
	}
	return 0;
}

/* ---- order ---- */

static bool is_earlier(const struct ptrc_log_piece *a, const struct ptrc_log_piece *b)
{
	return (PTRC_ORDER(a->s.first_ns, b->s.first_ns)
			?: PTRC_ORDER(a->s.order, b->s.order)
			?: PTRC_ORDER(a->rank, b->rank)) < 0;
}

static bool is_later(const struct ptrc_log_piece *a, const struct ptrc_log_piece *b)
{
	return is_earlier(b, a);
}

PTRC_HEAP_DEFINE(later, struct ptrc_log_piece, is_later);

int ptrc_log_batch_sort(struct ptrc_log_batch *b)
{
	uint32_t count = piece_count(b), used = 0;
	struct ptrc_log_piece **heap;
	uint32_t *numbers;
	int error;

	b->next = 0;
	b->counted = 0;
	b->slice.used = b->waiting.used = b->cursors.used = 0;
	error = ptrc_log_buffer_reserve(&b->waiting, count * sizeof(uint32_t));
	if (!error)
		error = ptrc_log_buffer_reserve(&b->cursors,
						count * sizeof(struct ptrc_log_piece *));
	if (error)
		return error;
	heap = (struct ptrc_log_piece **)(void *)b->cursors.bytes;
	numbers = numbers_of(&b->waiting);
	for (uint32_t i = 0; i < count; i++) {
		struct ptrc_log_piece *p = piece_at(b, i);

		if (!p->s.records)
			continue;
		heap[used++] = p;
		b->counted += p->s.counted;
	}
	b->waiting.used = used * sizeof(uint32_t);
	later_build(heap, used);
	for (; used; used--) {
		numbers[used - 1] = (uint32_t)(heap[0] - piece_at(b, 0));
		later_pop(heap, used);
	}
	return 0;
}

/* ---- choosing ---- */

/* Packs all events of a piece from the given place on, or those of them that are at most `most`,
 * into a piece of their own, *to. ENOMEM. */
static int pack_again(struct ptrc_log_batch *b, const struct ptrc_log_piece *from,
		      struct ptrc_unpacker u, uint64_t most, struct ptrc_log_piece *to)
{
	struct ptrc_packer *packer = &b->work->packer;
	struct ptrc_packed_event e;
	uint64_t pos = (uint64_t)(u.pos - b->data.bytes), sum_bytes;
	uint8_t *out;
	/* Of each event, all but the data may be longer than it was. */
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

/* Subtracts from the sums of a piece those of its part. */
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

/* Splits a piece behind the events that are chosen. The rest becomes a new piece, whose number is
 * *rest. ENOMEM: nothing has changed. */
static int split(struct ptrc_log_batch *b, uint32_t number, uint32_t *rest)
{
	struct ptrc_log_piece *p, right;
	struct ptrc_packed_event e = {.ns = 0};
	struct ptrc_unpacker u;
	uint64_t bytes;
	int error = make_work(b);

	if (!error)
		error = ptrc_log_buffer_reserve(&b->pieces, sizeof(right));
	if (error)
		return error;
	p = piece_at(b, number);
	u = unpack(b, p, b->work->shapes);
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

/* Moves a number to its place among those that follow place `to` of the list, which are in order. */
static void sink(struct ptrc_log_batch *b, uint32_t number, uint64_t to)
{
	uint64_t count = number_count(&b->waiting);
	uint32_t *waiting = numbers_of(&b->waiting);

	for (; to + 1 < count && is_earlier(piece_at(b, waiting[to + 1]), piece_at(b, number));
	     to++)
		waiting[to] = waiting[to + 1];
	waiting[to] = number;
}

/* The pieces before `end` of those that wait have been looked at, and know how many of their events
 * are chosen. Moves what is chosen to the slice. */
static int finish(struct ptrc_log_batch *b, uint64_t end, struct ptrc_log_slice *slice)
{
	uint64_t keep = end;
	uint32_t *waiting = numbers_of(&b->waiting);
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
	/* What remains of the pieces that were looked at moves to its place among the others. */
	for (uint64_t i = end; i-- > b->next;)
		if (waiting[i] != UINT32_MAX)
			sink(b, waiting[i], --keep);
	b->next = keep;
	return 0;
}

/* What a piece takes in a packet. */
static uint64_t cost(const struct ptrc_log_piece *p)
{
	return p->s.bytes + sizeof(struct ptrc_log_section);
}

/* Chooses all events up to this time from the pieces that wait, and returns behind the last such
 * piece. *bytes is about what they take. */
static uint64_t mark_until(struct ptrc_log_batch *b, int64_t ns, uint64_t *bytes)
{
	uint64_t count = number_count(&b->waiting), i;

	*bytes = 0;
	for (i = b->next; i < count; i++) {
		struct ptrc_log_piece *p = piece_at(b, numbers_of(&b->waiting)[i]);
		struct ptrc_packed_event e;
		struct ptrc_unpacker u;

		if (p->s.first_ns > ns)
			break;
		if (p->s.last_ns <= ns) {
			p->chosen = p->s.records;
			*bytes += cost(p);
			continue;
		}
		u = unpack(b, p, b->work->shapes);
		p->chosen = 0;
		while (ptrc_unpacker_next(&u, &e) && e.ns <= ns) {
			p->chosen++;
			*bytes += e.len + 4;
		}
		*bytes += sizeof(struct ptrc_log_section);
	}
	return i;
}

/* About what the events up to this time take. */
static uint64_t estimate(const struct ptrc_log_batch *b, int64_t ns, uint64_t enough)
{
	uint64_t count = number_count(&b->waiting), sum = 0;

	for (uint64_t i = b->next; i < count && sum <= enough; i++) {
		const struct ptrc_log_piece *p = piece_at(b, numbers_of(&b->waiting)[i]);
		uint64_t part, all;

		if (p->s.first_ns > ns)
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
		/* A piece of more than 4 GiB has a single event. */
		sum += (p->s.bytes & UINT32_MAX) * (part & UINT32_MAX) / (all + 1);
	}
	return sum;
}

/* The time up to which the events that wait take about `target` bytes. It is the end of a piece if
 * that is not much too early: then this piece need not be split. */
static int64_t time_for(const struct ptrc_log_batch *b, uint64_t target)
{
	uint64_t count = number_count(&b->waiting);
	int64_t first = piece_at(b, numbers_of(&b->waiting)[b->next])->s.first_ns;
	int64_t low = first, high = INT64_MIN, end = INT64_MIN;

	for (uint64_t i = b->next; i < count; i++) {
		const struct ptrc_log_piece *p = piece_at(b, numbers_of(&b->waiting)[i]);

		if (high < p->s.last_ns)
			high = p->s.last_ns;
	}
	if (estimate(b, high, target) <= target)
		return high;
	while ((uint64_t)high - (uint64_t)low > 1) {
		int64_t middle = (int64_t)((uint64_t)low + ((uint64_t)high - (uint64_t)low) / 2);

		if (estimate(b, middle, target) <= target)
			low = middle;
		else
			high = middle;
	}
	for (uint64_t i = b->next; i < count; i++) {
		const struct ptrc_log_piece *p = piece_at(b, numbers_of(&b->waiting)[i]);

		if (p->s.first_ns > low)
			break;
		if (p->s.last_ns <= low && p->s.last_ns > end)
			end = p->s.last_ns;
	}
	return end >= first && estimate(b, end, target) >= target / 2 ? end : low;
}

int ptrc_log_batch_choose_until(struct ptrc_log_batch *b, int64_t ns, struct ptrc_log_slice *slice)
{
	uint64_t bytes;
	int error = make_work(b);

	return error ? error : finish(b, mark_until(b, ns, &bytes), slice);
}

int ptrc_log_batch_choose(struct ptrc_log_batch *b, uint64_t target, struct ptrc_log_slice *slice)
{
	struct ptrc_log_end end = {.target = target, .room = UINT64_MAX};
	uint64_t bytes, behind;
	int error = make_work(b);

	if (error)
		return error;
	behind = mark_until(b, time_for(b, target), &bytes);
	/* The events of a piece may come all at once. */
	if (bytes > 2 * target)
		return ptrc_log_batch_choose_exactly(b, &end, slice);
	return finish(b, behind, slice);
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

/* Is there no place for this event behind what is chosen? `bytes` is about what that and the event
 * take in a packet. */
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

int ptrc_log_batch_choose_exactly(struct ptrc_log_batch *b, struct ptrc_log_end *end,
				  struct ptrc_log_slice *slice)
{
	uint64_t count = number_count(&b->waiting), behind = b->next, need = 0;
	uint64_t bytes = 0, counted = 0;
	struct ptrc_log_cursor **heap;
	size_t used = 0;
	int error;

	end->is_full = false;
	for (uint64_t i = b->next; i < count; i++) {
		struct ptrc_log_piece *p = piece_at(b, numbers_of(&b->waiting)[i]);

		p->chosen = 0;
		need += sizeof(*heap) + cursor_bytes(p);
	}
	b->cursors.used = 0;
	error = ptrc_log_buffer_reserve(&b->cursors, need);
	if (error)
		return error;
	heap = (struct ptrc_log_cursor **)(void *)b->cursors.bytes;
	b->cursors.used = (count - b->next) * sizeof(*heap);
	for (;;) {
		struct ptrc_log_cursor *c;

		/* A piece is opened when its first event may be the next one. */
		while (behind < count) {
			struct ptrc_log_piece *p = piece_at(b, numbers_of(&b->waiting)[behind]);

			if (used && heap[0]->event.ns < p->s.first_ns)
				break;
			c = (struct ptrc_log_cursor *)(void *)(b->cursors.bytes + b->cursors.used);
			b->cursors.used += cursor_bytes(p);
			c->piece = p;
			c->unpacker = unpack(b, p, c->shapes);
			behind++;
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
	return finish(b, behind, slice);
}

/* ---- what is chosen ---- */

const struct ptrc_log_piece *ptrc_log_batch_chosen(const struct ptrc_log_batch *b, uint64_t i)
{
	return i < number_count(&b->slice) ? piece_at(b, numbers_of(&b->slice)[i]) : NULL;
}

bool ptrc_log_batch_first(const struct ptrc_log_batch *b, const struct ptrc_log_piece *piece,
			  struct ptrc_packed_event *e)
{
	struct ptrc_unpacker_shape shape;
	struct ptrc_unpacker u = unpack(b, piece, &shape);

	return ptrc_unpacker_next(&u, e);
}

int ptrc_log_batch_strip(struct ptrc_log_batch *b, uint64_t *lost)
{
	uint64_t kept = 0, count = number_count(&b->waiting);
	uint32_t *waiting = numbers_of(&b->waiting);

	*lost = 0;
	b->slice.used = 0;
	for (uint64_t i = 0; i < count; i++) {
		struct ptrc_log_piece *p = piece_at(b, waiting[i]), rest = *p;
		int error;

		if (p->s.largest > b->most) {
			error = make_work(b);
			if (!error)
				error = ptrc_log_buffer_reserve(&b->slice, sizeof(waiting[i]));
			if (!error)
				error = pack_again(b, p, unpack(b, p, b->work->shapes), b->most,
						   &rest);
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
	/* A piece that lacks its first events now may begin later than others behind it. */
	for (uint64_t i = kept; i-- > 0;)
		sink(b, waiting[i], i);
	return 0;
}

int ptrc_log_batch_put_sums(struct ptrc_log_batch *b, struct ptrc_log_buffer *out)
{
	struct ptrc_type_sums *sums;
	int error = make_work(b);

	if (error)
		return error;
	sums = &b->work->packer.sums;
	sums->count = 0;
	for (uint64_t i = 0; i < number_count(&b->slice); i++) {
		const struct ptrc_log_piece *p = ptrc_log_batch_chosen(b, i);

		for (uint32_t k = 0; k < p->s.sum_count; k++)
			if (sums_at(b, p->sums_at)[k].events)
				ptrc_type_sums_add(sums, &sums_at(b, p->sums_at)[k]);
	}
	return ptrc_log_buffer_add(out, sums->sum, sums->count * sizeof(sums->sum[0]));
}

void ptrc_log_batch_put_sections(const struct ptrc_log_batch *b, struct ptrc_log_buffer *out)
{
	for (uint64_t i = 0; i < number_count(&b->slice); i++) {
		const struct ptrc_log_piece *p = ptrc_log_batch_chosen(b, i);
		struct ptrc_log_section section = {.base_ns = p->s.first_ns,
						   .origin = p->s.origin,
						   .bytes = (uint32_t)p->s.bytes,
						   .order = p->s.order};

		ptrc_log_buffer_add(out, &section, sizeof(section));
		ptrc_log_buffer_add(out, b->data.bytes + p->at, p->s.bytes);
	}
}
