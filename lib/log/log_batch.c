/* SPDX-License-Identifier: MIT */
#include "lib/log/log_batch.h"

#include <errno.h>
#include <linux/mman.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/heap.h"
#include "lib/log/log_layout.h"
#include "lib/log/log_records.h"
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

/* ---- records ---- */

static struct ptrc_log_stretch *stretches_of(const struct ptrc_log_batch *b, uint32_t *count)
{
	*count = (uint32_t)(b->stretches.used / sizeof(struct ptrc_log_stretch));
	return (struct ptrc_log_stretch *)(void *)b->stretches.bytes;
}

static const struct ptrc_record *record_at(const struct ptrc_log_batch *b, uint64_t off)
{
	return (const struct ptrc_record *)(const void *)(b->data.bytes + off);
}

/* Moves the cursor to the next event and notes its time. False at the end. */
static bool find_event(const struct ptrc_log_batch *b, struct ptrc_log_stretch *stretch)
{
	const uint8_t *pos = b->data.bytes + stretch->pos;
	bool is_found = ptrc_log_find_event(&pos, b->data.bytes + stretch->end, stretch->base_ns,
					    &stretch->next_ns, &stretch->origin);

	stretch->pos = (uint64_t)(pos - b->data.bytes);
	if (!is_found)
		stretch->end = stretch->pos;
	return is_found;
}

static bool is_counted(const struct ptrc_record *r)
{
	return !(r->id_flags & PTRC_REC_HIDDEN);
}

/* Walks a stretch whose sums are not known, or which may be damaged. Finds its end and the time
 * of its first event, and adds its sums to those of the batch. False: it has no event. */
static bool examine(struct ptrc_log_batch *b, struct ptrc_log_stretch *stretch)
{
	struct ptrc_log_stretch walk = *stretch;

	if (!find_event(b, &walk))
		return false;
	stretch->first_ns = walk.next_ns;
	do {
		const struct ptrc_record *r = record_at(b, walk.pos);

		b->bytes += ptrc_record_size(r);
		if (ptrc_record_size(r) > b->most)
			b->too_big += ptrc_record_size(r);
		b->events += is_counted(r);
		walk.pos += ptrc_record_size(r);
		walk.done = walk.pos;
	} while (find_event(b, &walk));
	stretch->end = walk.done;
	return true;
}

int ptrc_log_batch_add(struct ptrc_log_batch *b, const struct ptrc_stretch *in)
{
	struct ptrc_log_stretch stretch = {.pos = b->data.used,
					   .base_ns = in->base_ns,
					   .origin = in->origin,
					   .order = in->order};
	int error;

	error = ptrc_log_buffer_reserve(&b->stretches, sizeof(stretch));
	if (!error)
		error = ptrc_log_buffer_add(&b->data, in->records, in->bytes);
	if (error)
		return error;
	stretch.end = stretch.pos + in->bytes;
	if (in->largest && in->largest <= b->most) {
		stretch.first_ns = in->first_ns;
		b->bytes += in->bytes;
		b->events += in->event_count;
	} else if (!examine(b, &stretch)) {
		b->data.used = stretch.pos;
		return 0;
	}
	b->data.used = stretch.end;
	find_event(b, &stretch);
	stretch.mark = stretch.done = stretch.pos;
	stretch.mark_origin = stretch.origin;
	return ptrc_log_buffer_add(&b->stretches, &stretch, sizeof(stretch));
}

void ptrc_log_batch_clear(struct ptrc_log_batch *b)
{
	b->data.used = b->stretches.used = b->heap.used = 0;
	b->bytes = b->too_big = b->events = 0;
}

void ptrc_log_batch_trim(struct ptrc_log_batch *b)
{
	if (b->data.used == 0 && b->data.size > PTRC_LOG_BATCH_KEEP_BYTES)
		ptrc_log_buffer_free(&b->data);
}

void ptrc_log_batch_free(struct ptrc_log_batch *b)
{
	ptrc_log_buffer_free(&b->data);
	ptrc_log_buffer_free(&b->stretches);
	ptrc_log_buffer_free(&b->heap);
	ptrc_log_batch_clear(b);
}

/* ---- markers behind the last STOP ---- */

struct held_marker {
	struct ptrc_record record;
	int64_t ns;
};

static int hold_marker(struct ptrc_log_buffer *held, uint32_t id, int64_t ns)
{
	struct held_marker new = {.ns = ns}, *all;
	size_t at = held->used / sizeof(new);
	int error;

	ptrc_record_fill(&new.record, 0, id | PTRC_REC_FULLSTAMP, 0, 0);
	error = ptrc_log_buffer_add(held, &new, sizeof(new));
	if (error)
		return error;
	all = (struct held_marker *)(void *)held->bytes;
	for (; at && all[at - 1].ns > ns; at--)
		all[at] = all[at - 1];
	all[at] = new;
	return 0;
}

int ptrc_log_batch_hold(struct ptrc_log_batch *b, bool is_after_stop, struct ptrc_log_buffer *held)
{
	uint32_t count;
	struct ptrc_log_stretch *stretches = stretches_of(b, &count);
	int64_t last_ns = INT64_MIN;
	uint32_t last_order = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct ptrc_log_stretch walk = stretches[i];

		while (find_event(b, &walk)) {
			const struct ptrc_record *r = record_at(b, walk.pos);

			if (!ptrc_log_is_marker(ptrc_record_id(r)) &&
			    (walk.next_ns > last_ns ||
			     (walk.next_ns == last_ns && walk.order >= last_order))) {
				last_ns = walk.next_ns;
				last_order = walk.order;
				is_after_stop = ptrc_record_id(r) == POSIX_TRACE_STOP;
			}
			walk.pos += ptrc_record_size(r);
		}
	}
	if (!is_after_stop)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		struct ptrc_log_stretch walk = stretches[i];
		uint64_t end = walk.pos;
		bool has_tail = false;

		/* All markers stand in stretches of the keeper. Those behind the last STOP are
		 * at the ends of these. */
		while (find_event(b, &walk)) {
			const struct ptrc_record *r = record_at(b, walk.pos);

			walk.pos += ptrc_record_size(r);
			if (ptrc_log_is_marker(ptrc_record_id(r)) && walk.next_ns >= last_ns) {
				int error = hold_marker(held, ptrc_record_id(r), walk.next_ns);

				if (error)
					return error;
				has_tail = true;
				b->bytes -= ptrc_record_size(r);
				b->events--;
			} else {
				end = walk.pos;
			}
		}
		if (has_tail)
			stretches[i].end = end;
	}
	return 0;
}

/* ---- time order ---- */

/* Stretches of the same order and times stay in the order in which they were added. */
static bool is_earlier(const struct ptrc_log_stretch *a, const struct ptrc_log_stretch *b)
{
	if (a->next_ns != b->next_ns)
		return a->next_ns < b->next_ns;
	if (a->order != b->order)
		return a->order < b->order;
	if (a->first_ns != b->first_ns)
		return a->first_ns < b->first_ns;
	return a < b;
}

PTRC_HEAP_DEFINE(heap, struct ptrc_log_stretch, is_earlier);

static struct ptrc_log_stretch **heap_of(const struct ptrc_log_batch *b)
{
	return (struct ptrc_log_stretch **)(void *)b->heap.bytes;
}

static size_t heap_count(const struct ptrc_log_batch *b)
{
	return b->heap.used / sizeof(struct ptrc_log_stretch *);
}

int ptrc_log_batch_sort(struct ptrc_log_batch *b)
{
	uint32_t count;
	struct ptrc_log_stretch *stretches = stretches_of(b, &count);

	b->heap.used = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct ptrc_log_stretch *stretch = &stretches[i];
		int error;

		if (!find_event(b, stretch))
			continue;
		error = ptrc_log_buffer_add(&b->heap, &stretch, sizeof(stretch));
		if (error)
			return error;
	}
	heap_build(heap_of(b), heap_count(b));
	return 0;
}

bool ptrc_log_batch_peek(const struct ptrc_log_batch *b, struct ptrc_log_item *item)
{
	struct ptrc_log_stretch *stretch;

	if (b->heap.used == 0)
		return false;
	stretch = heap_of(b)[0];
	item->stretch = stretch;
	item->record = record_at(b, stretch->pos);
	item->ns = stretch->next_ns;
	item->size = ptrc_record_size(item->record);
	item->id = ptrc_record_id(item->record);
	item->is_hidden = !is_counted(item->record);
	return true;
}

void ptrc_log_batch_take(struct ptrc_log_batch *b)
{
	struct ptrc_log_stretch **heap = heap_of(b), *stretch = heap[0];
	const struct ptrc_record *r = record_at(b, stretch->pos);

	b->bytes -= ptrc_record_size(r);
	if (ptrc_record_size(r) > b->most)
		b->too_big -= ptrc_record_size(r);
	b->events -= is_counted(r);
	stretch->pos += ptrc_record_size(r);
	stretch->done = stretch->pos;
	if (find_event(b, stretch)) {
		heap_sift_down(heap, heap_count(b), 0);
	} else {
		heap_pop(heap, heap_count(b));
		b->heap.used -= sizeof(stretch);
	}
}

void ptrc_log_batch_mark(struct ptrc_log_batch *b)
{
	uint32_t count;
	struct ptrc_log_stretch *stretches = stretches_of(b, &count);

	for (uint32_t i = 0; i < count; i++) {
		stretches[i].mark = stretches[i].done = stretches[i].pos;
		stretches[i].mark_origin = stretches[i].origin;
	}
}

void ptrc_log_batch_slice(const struct ptrc_log_batch *b, struct ptrc_log_buffer *out)
{
	uint32_t count;
	const struct ptrc_log_stretch *stretches = stretches_of(b, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct ptrc_log_section section = {.base_ns = stretches[i].base_ns,
						   .origin = stretches[i].mark_origin,
						   .bytes = stretches[i].done - stretches[i].mark,
						   .order = stretches[i].order};

		if (section.bytes == 0)
			continue;
		ptrc_log_buffer_add(out, &section, sizeof(section));
		ptrc_log_buffer_add(out, b->data.bytes + stretches[i].mark, section.bytes);
	}
}
