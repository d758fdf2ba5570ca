/* SPDX-License-Identifier: MIT */
#include "lib/log/log_stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "include/posixtrace-private.h"
#include "lib/model/eventset.h"
#include "lib/base/array.h"
#include "lib/base/file.h"
#include "lib/base/heap.h"
#include "lib/base/liveness.h"
#include "lib/base/procfs.h"
#include "lib/base/scope.h"
#include "lib/base/timespec.h"
#include "lib/log/log_family.h"
#include "lib/log/log_reader.h"
#include "lib/log/log_write.h"
#include "lib/model/layout.h"
#include "lib/model/names.h"
#include "lib/model/packed.h"
#include "lib/model/sequencer.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"

/* How long an open waits for a keeper that finishes the log of a dead controller. The wait starts
 * anew whenever the file has grown or the keeper is found running. For a keeper that is stopped,
 * the wait is only STOPPED_WAIT_NS. Commands open a log twice, and should wait for 5 s at most. */
#define FINISH_WAIT_NS INT64_C(2500000000)
#define STOPPED_WAIT_NS INT64_C(1000000000)
/* The limit for the whole wait. A keeper has no more to write than a stream holds; if a log grows
 * for longer, the process that locks it only pretends to be its keeper. */
#define FINISH_WAIT_ALL_NS INT64_C(10000000000)

struct packet;

/* The reading position in a section (the events of one writer) of an open packet. */
struct cursor {
	struct packet *packet;
	struct ptrc_unpacker unpacker;
	struct ptrc_packed_event event; /* the next event to report from this section */
	uint64_t seq;
	uint32_t section;
	uint32_t order;
	struct ptrc_context origin;
};

/* An open packet. It is freed when its last cursor is done and the data of its events is no longer
 * needed. */
struct packet {
	uint8_t *bytes; /* the payload */
	size_t in_use;	/* number of cursors that are not done */
	/* The number of users: one for the stream, and one for each block with events of this
	 * packet. Any thread may free a block. */
	_Atomic size_t holders;
	uint64_t block;		 /* number of the last block that became a holder */
	struct cursor cursors[]; /* followed by the struct ptrc_unpacker_shape of all cursors */
};

/* Events per block: few enough to stay in a processor's cache until they are used. */
#define BLOCK_EVENTS 1024U

/* A block of events, with what this file needs to free it. */
struct posixtrace_block_memory {
	struct posixtrace_block block; /* what the caller gets; must be first */
	struct packet **packets;       /* the packets with the data of these events */
	size_t packet_count, packet_size;
	struct posixtrace_event events[BLOCK_EVENTS];
};

/* A gap for which the log has no OVERFLOW and RESUME events, so the reader makes them up. */
struct gap {
	enum {
		GAP_NONE,
		GAP_PENDING,  /* neither the OVERFLOW nor the RESUME was reported */
		GAP_OVERFLOW, /* only the OVERFLOW was reported */
	} state;
	bool is_damage;		   /* packets with events of the gap are damaged or missing */
	bool is_uncounted;	   /* how many events these packets had is unknown */
	bool is_absent;		   /* the lost packets are in missing files of a rotated log */
	int64_t first_ns, last_ns; /* times of the first and the last lost event */
};

struct ptrc_log_stream {
	pthread_mutex_t mutex;
	struct ptrc_log_reader reader;
	uint32_t next_id;

	/* The reading position. `heap` has the cursors of all open packets, with the cursor of the
	 * earliest event on top. A packet is opened as soon as its first event may be the next to
	 * report. */
	size_t next_entry;
	struct cursor **heap;
	size_t heap_count, heap_size;
	struct packet *done;	 /* a packet read to its end; kept for the last reported event */
	uint64_t block_count;	 /* number of blocks made */
	struct packet *reported; /* packet of the last event reported; NULL: a made-up event */
	/* The selection of times and types. A packet without any selected event is skipped. Without
	 * spans, all times are selected; without has_types, all types. With has_always, events of
	 * the types in `always`, what follows them, and gaps are selected at all times. */
	struct posixtrace_span *spans;
	size_t span_count;
	bool has_types, has_always;
	/* The packet opened last may end with an event of a type in `always`. So the next packet,
	 * which has the event that follows it, is opened, too. */
	bool opens_next;
	uint64_t types[PTRC_SET_WORD_COUNT];
	uint64_t always[PTRC_SET_WORD_COUNT];
	int64_t skipped_ns; /* latest time of the events of skipped packets */
	/* If not NULL: the indices of `entries` in the order of the packets' numbers. Then packets
	 * are read one by one in this order, from number `from` to number `until` - 1. `place` is
	 * the number of a packet at which another reader could resume; it would first get
	 * place_events events that have been reported already. */
	size_t *by_number;
	uint64_t from, until, place, place_events;
	struct ptrc_sequencer sequencer;
	bool is_admitted; /* admit() has accepted the event on top of the heap */
	/* Counts since the start of reading. These members are used: pt_gap_events,
	 * pt_ring_gap_events, pt_filtered_events, pt_skipped_events (events that were not reported), pt_made_up_events,
	 * and the counts of damage and of missing files. */
	struct ptrc_counts counts;
	struct gap gap;
	struct ptrc_type_sums sums; /* scratch, for checking a packet */
};

/* ---- cursors ---- */

static bool is_earlier(const struct cursor *a, const struct cursor *b)
{
	if (a->event.ns != b->event.ns)
		return a->event.ns < b->event.ns;
	return (PTRC_ORDER(a->order, b->order)
			?: PTRC_ORDER(a->seq, b->seq)
			?: PTRC_ORDER(a->section, b->section)) < 0;
}

PTRC_HEAP_DEFINE(heap, struct cursor, is_earlier);

static void let_go(struct packet *p)
{
	if (atomic_fetch_sub_explicit(&p->holders, 1, memory_order_acq_rel) > 1)
		return;
	free(p->bytes);
	free(p);
}

static void forget_done(struct ptrc_log_stream *l)
{
	if (l->done)
		let_go(l->done);
	l->done = NULL;
}

static void packet_put(struct ptrc_log_stream *l, struct packet *p)
{
	if (--p->in_use)
		return;
	forget_done(l);
	l->done = p; /* the event that is about to be reported may be in it */
}

static void close_position(struct ptrc_log_stream *l)
{
	while (l->heap_count)
		packet_put(l, l->heap[--l->heap_count]->packet);
	forget_done(l);
}

/* ---- packets ---- */

static bool ring_has_lost(const struct ptrc_log_stream *l)
{
	return l->reader.files->head.kind == PTRC_LOG_RING && l->reader.ring.lost_events;
}

/* If the filter is unknown, takes the filter at the start of this packet. Does not do so if a
 * skipped packet has events that are later than the first events of this packet: then the filter
 * stored in this packet is the one after the skipped packet, and the filter at the time of these
 * first events is unknown. */
static void adopt_filter(struct ptrc_log_stream *l, const struct ptrc_log_entry *e,
			 const uint8_t *filter)
{
	if (l->sequencer.is_known || (e->head.flags & PTRC_LOG_FILTER_UNKNOWN) ||
	    e->head.first_ns < l->skipped_ns)
		return;
	ptrc_sequencer_reset(&l->sequencer);
	memcpy(l->sequencer.filter, filter, ptrc_log_filter_bytes(e->head.flags));
}

/* Takes the section at *at, and moves *at past it. False: there is no complete section. */
static bool next_section(const uint8_t **at, const uint8_t *end, struct ptrc_log_section *s)
{
	if ((size_t)(end - *at) < sizeof(*s))
		return false;
	memcpy(s, *at, sizeof(*s));
	if (s->bytes > (size_t)(end - *at) - sizeof(*s))
		return false;
	*at += sizeof(*s) + s->bytes;
	return true;
}

/* Whether the sums at the start of a payload match the events that were counted. */
static bool has_sums(const struct ptrc_type_sums *counted, const uint8_t *payload, uint32_t bytes)
{
	struct ptrc_type_sum sum;

	if (bytes != counted->count * sizeof(sum))
		return false;
	for (uint32_t i = 0; i < counted->count; i++) {
		uint32_t at;

		memcpy(&sum, payload + i * sizeof(sum), sizeof(sum));
		at = sum.id < PTRC_TYPE_SUMS_MAX ? counted->at[sum.id] : counted->count;
		if (at >= counted->count || memcmp(&counted->sum[at], &sum, sizeof(sum)) != 0)
			return false;
	}
	return true;
}

/* Whether the sections of the payload, which begin at `at`, match the packet's header and sums, and
 * nothing follows them. Counts the sections, and the elements of struct ptrc_unpacker_shape that
 * unpacking them needs. */
static bool is_what_it_says(struct ptrc_log_stream *l, const struct ptrc_log_entry *e,
			    const uint8_t *payload, const uint8_t *at, uint32_t *sections,
			    size_t *shape_count)
{
	struct ptrc_unpacker_shape shapes[PTRC_PACKED_SHAPES];
	const uint8_t *end = payload + e->head.length;
	int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
	uint64_t events = 0, counted = 0;
	struct ptrc_log_section s;

	*sections = 0;
	*shape_count = 0;
	l->sums.count = 0;
	while (next_section(&at, end, &s)) {
		struct ptrc_unpacker u =
			ptrc_unpacker_begin(at - s.bytes, s.bytes, s.base_ns, shapes);
		struct ptrc_packed_event event;

		while (ptrc_unpacker_next(&u, &event)) {
			if (first_ns > event.ns)
				first_ns = event.ns;
			if (last_ns < event.ns)
				last_ns = event.ns;
			counted += ptrc_packed_counted(event.len);
			if (!(event.id_flags & PTRC_REC_HIDDEN)) {
				events++;
				ptrc_type_sums_count(&l->sums, event.id_flags, event.len);
			}
		}
		if (!ptrc_unpacker_is_at_end(&u))
			return false;
		++*sections;
		*shape_count += ptrc_unpacker_shapes(s.bytes);
	}
	return at == end && first_ns == e->head.first_ns && last_ns == e->head.last_ns &&
	       events == e->events && counted == e->head.counted &&
	       has_sums(&l->sums, payload, e->head.sums_bytes);
}

static void open_section(struct ptrc_log_stream *l, struct packet *p, uint32_t number, uint64_t seq,
			 const struct ptrc_log_section *s, const uint8_t *bytes,
			 struct ptrc_unpacker_shape *shapes)
{
	struct cursor *c = &p->cursors[number];

	*c = (struct cursor){
		.packet = p,
		.unpacker = ptrc_unpacker_begin(bytes, s->bytes, s->base_ns, shapes),
		.seq = seq,
		.section = number,
		.order = s->order,
		.origin = s->origin,
	};
	if (!ptrc_unpacker_next(&c->unpacker, &c->event))
		return;
	p->in_use++;
	heap_push(l->heap, l->heap_count++, c);
}

/* Opens a packet, and puts a cursor for each of its sections on the heap. EINVAL: the packet is
 * damaged. EBADMSG: its checksum is right, but its header contradicts its contents. ENOMEM. */
static int open_packet(struct ptrc_log_stream *l, const struct ptrc_log_entry *e)
{
	uint64_t offset = ptrc_log_sections_offset(&e->head);
	struct ptrc_unpacker_shape *shapes;
	struct ptrc_log_section s;
	const uint8_t *at;
	uint32_t count;
	size_t shape_count;
	struct packet *p;
	uint8_t *bytes;
	int error;

	error = ptrc_log_reader_load(&l->reader, e, false, &bytes);
	if (error)
		return error;
	if (offset > e->head.length ||
	    !is_what_it_says(l, e, bytes, bytes + offset, &count, &shape_count)) {
		free(bytes);
		return EBADMSG;
	}
	p = malloc(sizeof(*p) + count * sizeof(p->cursors[0]) + shape_count * sizeof(*shapes));
	if (!p || !PTRC_ARRAY_RESERVE(l->heap, l->heap_count, count, &l->heap_size)) {
		free(p);
		free(bytes);
		return ENOMEM;
	}
	shapes = (struct ptrc_unpacker_shape *)(void *)&p->cursors[count];
	p->bytes = bytes;
	p->in_use = 1; /* keeps the packet until all of its cursors exist */
	atomic_init(&p->holders, 1);
	p->block = 0;
	count = 0;
	for (at = bytes + offset; next_section(&at, bytes + e->head.length, &s); count++) {
		open_section(l, p, count, e->head.seq, &s, at - s.bytes, shapes);
		shapes += ptrc_unpacker_shapes(s.bytes);
	}
	adopt_filter(l, e, bytes + offset - ptrc_log_filter_bytes(e->head.flags));
	packet_put(l, p);
	return 0;
}

static void begin_gap(struct ptrc_log_stream *l, int64_t first_ns, int64_t last_ns)
{
	if (l->gap.state == GAP_NONE) {
		l->gap.state = GAP_PENDING;
		l->gap.first_ns = first_ns;
		l->gap.last_ns = first_ns;
	}
	if (l->gap.last_ns < last_ns)
		l->gap.last_ns = last_ns;
	ptrc_sequencer_gap(&l->sequencer);
}

/* If the entry stands for packets in missing files of a rotated log, adds their events to
 * pt_file_gap_events. Counts the current gap in pt_file_gaps if that is true of all its entries. */
static void note_file_gap(struct ptrc_log_stream *l, const struct ptrc_log_entry *e)
{
	l->counts.pt_file_gap_events += e->is_absent ? e->events : 0;
	if (e->is_absent && !l->gap.is_damage) {
		l->counts.pt_file_gaps++;
		l->gap.is_absent = true;
	} else if (!e->is_absent && l->gap.is_absent) {
		l->counts.pt_file_gaps--;
		l->gap.is_absent = false;
	}
}

/* Skips a packet that is damaged or whose header contradicts its contents; or skips several missing
 * packets. All earlier events have been reported. */
static void skip_packet(struct ptrc_log_stream *l, const struct ptrc_log_entry *e)
{
	const struct ptrc_log_reader *r = &l->reader;

	/* If the keeper has overwritten the packet since the log was opened, this is a gap, but no
	 * damage. */
	if (ptrc_log_reader_is_replaced(r, e)) {
		begin_gap(l, e->head.first_ns, e->head.first_ns);
		return;
	}
	/* The last packet of a log that is not closed may never have been completely written. No
	 * gap is reported for it, because the missing end of the log says that events may be
	 * missing. */
	if (!r->is_closed && e->head.seq + 1 == r->end_seq)
		return;
	begin_gap(l, e->head.first_ns, e->head.last_ns);
	/* If an OVERFLOW was reported, its RESUME may be in this unreadable packet. Without this
	 * store, the sequencer would drop all events until a RESUME comes. */
	l->sequencer.is_in_gap = false;
	l->counts.pt_damaged_events += e->is_lying ? 0 : e->events;
	l->counts.pt_damaged_gaps += !l->gap.is_damage;
	note_file_gap(l, e);
	l->gap.is_damage = true;
	if (e->is_uncounted || e->is_lying) {
		l->counts.pt_uncounted_gaps += !l->gap.is_uncounted;
		l->gap.is_uncounted = true;
	}
}

static bool is_in_spans(const struct ptrc_log_stream *l, int64_t first_ns, int64_t last_ns)
{
	for (size_t i = 0; i < l->span_count; i++)
		if (first_ns <= ptrc_timespec_ns(&l->spans[i].pt_last) &&
		    last_ns >= ptrc_timespec_ns(&l->spans[i].pt_first))
			return true;
	return l->span_count == 0;
}

/* Whether the packet may have events of one of these types, by its sums. If the sums are damaged,
 * the result is true, because opening the packet will show what is wrong. *error: ENOMEM. */
static bool may_have_types(const struct ptrc_log_stream *l, const struct ptrc_log_entry *e,
			   const uint64_t *types, int *error)
{
	const struct ptrc_type_sum *sums;
	uint8_t *payload;
	bool has = false;

	*error = ptrc_log_reader_load(&l->reader, e, true, &payload);
	if (*error) {
		if (*error == EINVAL)
			*error = 0;
		return true;
	}
	sums = (const void *)payload;
	for (size_t i = 0; i < e->head.sums_bytes / sizeof(*sums) && !has; i++)
		has = ptrc_bits_have(types, sums[i].id & PTRC_REC_ID_MASK);
	free(payload);
	return has;
}

/* Whether the packet has no selected event. *error: ENOMEM. */
static bool can_skip(const struct ptrc_log_stream *l, const struct ptrc_log_entry *e, int *error)
{
	int64_t first_ns = e->head.first_ns;
	/* Damage is reported as a gap, by OVERFLOW and RESUME, and only opening a packet shows that
	 * it is damaged. So if one of these types is selected, no packet is skipped for its
	 * types. */
	bool tells_gaps = ptrc_bits_have(l->types, POSIX_TRACE_OVERFLOW) ||
			  ptrc_bits_have(l->types, POSIX_TRACE_RESUME);

	*error = 0;
	if (e->is_missing || e->is_damaged || l->opens_next)
		return false;
	/* If there is a gap before the packet, the packet's first event ends the gap. So the time
	 * of the packet is taken to begin with the gap. */
	if (l->gap.state != GAP_NONE && l->gap.first_ns < first_ns)
		first_ns = l->gap.first_ns;
	if (is_in_spans(l, first_ns, e->head.last_ns) &&
	    (!l->has_types || tells_gaps || may_have_types(l, e, l->types, error)))
		return false;
	return !l->has_always ||
	       (l->gap.state == GAP_NONE && !may_have_types(l, e, l->always, error));
}

/* Skips a packet without any selected event. */
static void pass_over(struct ptrc_log_stream *l, const struct ptrc_log_entry *e)
{
	l->counts.pt_skipped_events += e->events;
	if (l->skipped_ns < e->head.last_ns)
		l->skipped_ns = e->head.last_ns;
	/* A gap before the packet is skipped, too: its OVERFLOW and RESUME are not selected. */
	l->gap = (struct gap){.state = GAP_NONE};
	l->sequencer.is_in_gap = false;
	/* The skipped packet may have changed the filter; the next packet says which filter is in
	 * force. */
	ptrc_sequencer_gap(&l->sequencer);
}

/* Whether packets are read one by one, and not merged by the times of their events. */
static bool is_one_by_one(const struct ptrc_log_stream *l)
{
	return l->reader.is_parts || l->by_number;
}

/* The packet to open next. The caller has checked that next_entry is below entry_count. */
static struct ptrc_log_entry *next_packet(const struct ptrc_log_stream *l)
{
	size_t place = l->by_number ? l->by_number[l->next_entry] : l->next_entry;

	return &l->reader.entries[place];
}

/* Opens the packets that may have the next event. ENOMEM. EPROTO: a packet of a log in parts is
 * damaged. */
static int open_due(struct ptrc_log_stream *l)
{
	while (l->next_entry < l->reader.entry_count) {
		struct ptrc_log_entry *e = next_packet(l);
		int error;

		/* If packets are read one by one, the next packet is opened when all events of the
		 * current one are reported, whatever their times: the result must not depend on how
		 * many packets have arrived. */
		if (l->heap_count && (is_one_by_one(l) || l->heap[0]->event.ns < e->head.first_ns))
			break;
		if (l->by_number && e->head.seq >= l->until)
			break;
		/* Reading can start again at this packet, unless an unfinished gap precedes it. */
		if (l->gap.state == GAP_NONE && !l->sequencer.is_in_gap) {
			l->place = e->head.seq;
			l->place_events = 0;
		}
		if (can_skip(l, e, &error)) {
			pass_over(l, e);
			l->next_entry++;
			continue;
		}
		if (!error && l->has_always)
			l->opens_next = may_have_types(l, e, l->always, &error);
		if (!error)
			error = open_packet(l, e);
		if (error == ENOMEM)
			return error;
		if (error && l->reader.is_parts)
			return EPROTO;
		e->is_lying |= error == EBADMSG;
		if (error)
			skip_packet(l, e);
		l->next_entry++;
	}
	return 0;
}

/* ---- events ---- */

static void make_up(struct posix_trace_event_info *info, trace_event_id_t id, int64_t ns)
{
	memset(info, 0, sizeof(*info));
	info->posix_event_id = id;
	info->posix_truncation_status = POSIX_TRACE_NOT_TRUNCATED;
	info->posix_timestamp = ptrc_timespec_of(ns);
}

static bool admit(struct ptrc_log_stream *l, const struct cursor *c)
{
	const struct ptrc_packed_event *e = &c->event;
	uint32_t id = e->id_flags & PTRC_REC_ID_MASK;
	bool is_hidden = e->id_flags & PTRC_REC_HIDDEN;

	/* If the event is from the time in which the ring lost events, reporting it would split one
	 * gap into several. */
	if (ring_has_lost(l) && e->ns < l->reader.ring.lost_last_ns) {
		l->counts.pt_gap_events += !is_hidden;
		l->counts.pt_ring_gap_events += !is_hidden;
		return false;
	}
	if (!ptrc_set_is_id(id))
		return false;
	if (id == POSIX_TRACE_OVERFLOW)
		ptrc_sequencer_gap(&l->sequencer);
	if (ptrc_sequencer_admit(&l->sequencer, e->id_flags, e->data, e->len))
		return true;
	if (l->sequencer.is_in_gap)
		l->counts.pt_gap_events += !is_hidden;
	else
		l->counts.pt_filtered_events += !is_hidden;
	return false;
}

static void fill_in(const struct cursor *c, struct posix_trace_event_info *info, const void **data,
		    size_t *len)
{
	const struct ptrc_packed_event *e = &c->event;

	make_up(info, e->id_flags & PTRC_REC_ID_MASK, e->ns);
	info->posix_pid = c->origin.pid;
	info->posix_prog_address = (void *)(uintptr_t)e->addr;
	if (e->id_flags & PTRC_REC_TRUNCATED)
		info->posix_truncation_status = POSIX_TRACE_TRUNCATED_RECORD;
	info->posix_tid = c->origin.tid;
	info->posix_thread_id = (pthread_t)c->origin.thread;
	*data = e->data;
	*len = e->len;
}

static void step(struct ptrc_log_stream *l)
{
	struct cursor *c = l->heap[0];

	l->is_admitted = false;
	if (!ptrc_unpacker_next(&c->unpacker, &c->event)) {
		heap_pop(l->heap, l->heap_count--);
		packet_put(l, c->packet);
	} else {
		heap_sift_down(l->heap, l->heap_count, 0);
	}
}

/* Makes up the next event of a gap that ends with an event at resume_ns: first an OVERFLOW, then a
 * RESUME. False: no event of a gap is left to report. */
static bool make_up_gap_event(struct ptrc_log_stream *l, struct posix_trace_event_info *info,
			      int64_t resume_ns)
{
	while (l->gap.state != GAP_NONE) {
		bool begins = l->gap.state == GAP_PENDING;
		trace_event_id_t id = begins ? POSIX_TRACE_OVERFLOW : POSIX_TRACE_RESUME;

		make_up(info, id,
			begins && l->gap.first_ns < resume_ns ? l->gap.first_ns : resume_ns);
		if (begins)
			l->gap.state = GAP_OVERFLOW;
		else
			l->gap = (struct gap){.state = GAP_NONE};
		if (ptrc_sequencer_drops(&l->sequencer, id))
			continue;
		l->counts.pt_made_up_events++;
		return true;
	}
	return false;
}

/* Finds the next event. Its data stay in a packet until the next call. For an event that the reader
 * makes up, *data and *len are unchanged. ENODATA at the end, ENOMEM, EPROTO. */
static int find_next(struct ptrc_log_stream *l, struct posix_trace_event_info *info,
		     const void **data, size_t *len)
{
	struct cursor *c;

	l->reported = NULL;
	for (;;) {
		int error = open_due(l);

		if (error)
			return error;
		/* If the log ends with damage, the gap for it is still to be reported. */
		if (l->heap_count == 0)
			return l->gap.is_damage && make_up_gap_event(l, info, l->gap.last_ns)
				       ? 0
				       : ENODATA;
		c = l->heap[0];
		if (l->is_admitted || admit(l, c))
			break;
		step(l);
	}
	/* The event stays on top of the heap while the OVERFLOW and RESUME before it are
	 * reported. */
	l->is_admitted = true;
	if (make_up_gap_event(l, info, c->event.ns))
		return 0;
	forget_done(l);
	fill_in(c, info, data, len);
	l->reported = c->packet;
	step(l);
	return 0;
}

static int next_event(struct ptrc_log_stream *l, struct posix_trace_event_info *info,
		      const void **data, size_t *len)
{
	int error = find_next(l, info, data, len);

	l->place_events += !error;
	return error;
}

static void rewind_events(struct ptrc_log_stream *l)
{
	close_position(l);
	l->skipped_ns = INT64_MIN;
	l->is_admitted = false;
	l->counts = (struct ptrc_counts){0};
	l->gap = (struct gap){.state = GAP_NONE};
	ptrc_sequencer_reset(&l->sequencer);
	l->next_entry = 0;
	l->opens_next = false;
	l->place = l->from;
	l->place_events = 0;
	while (l->by_number && l->next_entry < l->reader.entry_count &&
	       next_packet(l)->head.seq < l->from)
		l->next_entry++;
	/* Packets that are not read may have changed the filter. The first packet that is read says
	 * which filter is in force. */
	if (l->next_entry || l->reader.forgotten_seq)
		ptrc_sequencer_gap(&l->sequencer);
	if (ring_has_lost(l) && !l->next_entry)
		begin_gap(l, l->reader.ring.lost_first_ns, l->reader.ring.lost_last_ns);
}

/* ---- opening ---- */

/* Opens the object of the log's stream. If it does not exist, the log is closed. */
static int open_object(const struct ptrc_log_head *head, int *fd)
{
	PTRC_FD(dirfd);
	int error = ptrc_shmdir_open(head->owner_uid, false, &dirfd);

	if (error)
		return error;
	error = ptrc_shmdir_open_id(dirfd, 's', head->stream_id, head->owner_uid, fd, NULL);
	/* A process that finishes the stream's log may have renamed the stream object. */
	if (error == ENOENT)
		error = ptrc_shmdir_open_id(dirfd, 'o', head->stream_id, head->owner_uid, fd, NULL);
	return error;
}

bool ptrc_log_stream_is_left(int fd, uint64_t *id, uid_t *user)
{
	struct ptrc_log_head head;
	PTRC_FD(object);

	if (ptrc_log_reader_head(fd, &head) || open_object(&head, &object))
		return false;
	*id = head.stream_id;
	*user = head.owner_uid;
	return !ptrc_liveness_is_held(object, PTRC_LIVE_CONTROLLER, 2);
}

/* Whether the controller of this log's stream is dead. False if that is unknown. */
static bool is_controller_gone(int fd, const struct ptrc_log_head *head)
{
	PTRC_FD(object);
	int pid;

	if (ptrc_log_is_locked(fd, PTRC_LOG_LOCK_FINISHING, &pid))
		return true;
	/* If this process may not open the object, it cannot know whether the controller is dead. */
	return open_object(head, &object) == 0 && !ptrc_liveness_is_controlled(object);
}

/* Waits while the keeper finishes the log: a program that has waited for the end of a controller
 * must find a finished log when it opens the log. */
static void wait_for_keeper(int fd, const struct ptrc_log_head *head)
{
	int64_t waited_ns = 0, limit_ns = FINISH_WAIT_NS;
	int64_t all_ns = 0;
	off_t size = -1;
	int keeper;

	while (waited_ns < limit_ns && all_ns < FINISH_WAIT_ALL_NS &&
	       ptrc_log_is_locked(fd, PTRC_LOG_LOCK_KEEPER, &keeper) &&
	       is_controller_gone(fd, head)) {
		uint64_t pause_ns = all_ns < 20000000 ? 200000 : 5000000;
		struct ptrc_procfs_stat process;
		struct stat st = {.st_size = size};
		bool is_known = keeper > 0 && ptrc_procfs_stat(keeper, &process) == 0;

		ptrc_sys(SYS_fstat, fd, &st);
		if (st.st_size != size || (is_known && process.is_runnable))
			waited_ns = 0;
		size = st.st_size;
		limit_ns = is_known && process.is_stopped ? STOPPED_WAIT_NS : FINISH_WAIT_NS;
		ptrc_file_sleep_ns(pause_ns);
		waited_ns += (int64_t)pause_ns;
		all_ns += (int64_t)pause_ns;
	}
}

/* Completes a stream whose reader was opened with the result `error`; frees it after an error. */
static int make_stream(struct ptrc_log_stream *l, int error, struct ptrc_log_stream **result)
{
	if (error) {
		free(l);
		return error;
	}
	pthread_mutex_init(&l->mutex, NULL);
	l->next_id = POSIX_TRACE_START;
	rewind_events(l);
	*result = l;
	return 0;
}

int ptrc_log_stream_open_all(const int *fds, size_t count, bool is_whole,
			     struct ptrc_log_stream **result)
{
	struct ptrc_log_stream *l;
	struct ptrc_log_head head;
	int error = ptrc_log_reader_head(fds[count - 1], &head);

	if (error)
		return error;
	wait_for_keeper(fds[count - 1], &head);
	l = calloc(1, sizeof(*l));
	if (!l)
		return ENOMEM;
	error = ptrc_log_reader_open_all(fds, count, is_whole, &l->reader);
	return make_stream(l, error, result);
}

void ptrc_log_stream_look_for_next(struct ptrc_log_stream *l, const char *path)
{
	struct ptrc_log_reader *r = &l->reader;
	const struct ptrc_log_head *last = &r->files[r->file_count - 1].head;

	if (r->is_last_missing && ptrc_log_family_goes_on(path, last->stream_id, last->member))
		r->is_last_missing = r->is_closed = false;
}

/* Ends any selection: no packet is skipped, and packets are merged by time. */
static void select_all(struct ptrc_log_stream *l)
{
	free(l->by_number);
	free(l->spans);
	l->by_number = NULL;
	l->spans = NULL;
	l->from = 0;
	l->span_count = 0;
	l->has_types = l->has_always = false;
}

int ptrc_log_stream_refresh(struct ptrc_log_stream *l, uint64_t first)
{
	int error;

	if (l->reader.is_parts)
		return EINVAL;
	/* Waits for a keeper that finishes the log, as opening the log does. */
	if (l->reader.file_count == 1)
		wait_for_keeper(l->reader.files[0].fd, &l->reader.files->head);
	PTRC_LOCK(&l->mutex);
	error = ptrc_log_reader_grow(&l->reader, first);
	select_all(l);
	l->next_id = POSIX_TRACE_START;
	rewind_events(l);
	return error;
}

int ptrc_log_stream_begin(const void *bytes, size_t size, struct ptrc_log_stream **result)
{
	struct ptrc_log_stream *l = calloc(1, sizeof(*l));

	if (!l)
		return ENOMEM;
	return make_stream(l, ptrc_log_reader_begin(bytes, size, &l->reader), result);
}

int ptrc_log_stream_feed(struct ptrc_log_stream *l, const void *bytes, size_t size,
			 int *is_complete)
{
	int error;

	if (!l->reader.is_parts)
		return EINVAL;
	PTRC_LOCK(&l->mutex);
	error = ptrc_log_reader_feed(&l->reader, bytes, size, l->next_entry);
	l->next_entry = 0;
	*is_complete = l->reader.is_closed;
	return error;
}

void ptrc_log_stream_close(struct ptrc_log_stream *l)
{
	close_position(l);
	free(l->heap);
	free(l->by_number);
	free(l->spans);
	ptrc_log_reader_close(&l->reader);
	pthread_mutex_destroy(&l->mutex);
	free(l);
}

int ptrc_log_stream_rewind(struct ptrc_log_stream *l)
{
	if (l->reader.is_parts)
		return EINVAL;
	PTRC_LOCK(&l->mutex);
	rewind_events(l);
	return 0;
}

/* ---- attributes, status and counts: they change only if the log comes in parts ---- */

void ptrc_log_stream_attr(struct ptrc_log_stream *l, trace_attr_t *attr)
{
	ptrc_attr_export(&l->reader.files->attr, attr);
}

static bool has_status(const struct ptrc_log_stream *l)
{
	return l->reader.is_closed || (l->reader.is_parts && l->reader.files[0].has_status);
}

void ptrc_log_stream_status(struct ptrc_log_stream *l, struct posix_trace_status_info *st)
{
	const struct ptrc_log_status *s = &l->reader.status;

	memset(st, 0, sizeof(*st));
	/* A log without STATUS, or a rotated log without its last file, does not say how it ended.
	 * The stream then counts as running and as not flushed by its keeper (EOWNERDEAD). */
	if (!has_status(l) || l->reader.is_last_missing) {
		st->posix_stream_status = POSIX_TRACE_RUNNING;
		st->posix_stream_full_status = POSIX_TRACE_NOT_FULL;
		st->posix_stream_overrun_status = POSIX_TRACE_OVERRUN;
		st->posix_stream_flush_status = POSIX_TRACE_NOT_FLUSHING;
		st->posix_stream_flush_error = EOWNERDEAD;
		st->posix_log_overrun_status = POSIX_TRACE_OVERRUN;
		st->posix_log_full_status =
			ring_has_lost(l) ? POSIX_TRACE_FULL : POSIX_TRACE_NOT_FULL;
		return;
	}
	st->posix_stream_status = l->reader.is_closed ? (int)s->stream_status : POSIX_TRACE_RUNNING;
	st->posix_stream_full_status = (int)s->stream_full;
	st->posix_stream_overrun_status = (int)s->stream_overrun;
	st->posix_stream_flush_status = (int)s->flush_status;
	st->posix_stream_flush_error = (int)s->flush_error;
	st->posix_log_overrun_status = (int)s->log_overrun;
	st->posix_log_full_status = (int)s->log_full;
}

/* The number of events in the missing files that lie between existing ones. 0 if the number is
 * unknown for some of these missing files. */
static uint64_t count_missing_events(const struct ptrc_log_reader *r)
{
	uint64_t events = 0;

	for (uint32_t i = 1; i < r->file_count; i++) {
		const struct ptrc_log_file *m = &r->files[i - 1];
		uint64_t absent;

		if (m[1].head.ordinal - m->head.ordinal <= 1)
			continue;
		if (!ptrc_log_reader_absent_events(m, &absent))
			return 0;
		events += absent;
	}
	return events;
}

/* Counts the existing, missing and deleted files of a rotated log. */
static void count_members(const struct ptrc_log_reader *r, struct ptrc_counts *counts)
{
	const struct ptrc_log_head *h = &r->files->head;
	/* The ordinal of the last file of the log; later files may be missing without a trace. */
	uint64_t last = ptrc_log_last_ordinal(r) + r->is_last_missing;

	counts->pt_files = r->file_count;
	counts->pt_missing_files = last - h->ordinal + 1 - r->file_count;
	counts->pt_missing_events = r->is_last_missing ? 0 : count_missing_events(r);
	counts->pt_is_last_file_missing = r->is_last_missing;
	counts->pt_earlier_files = h->ordinal;
	counts->pt_earlier_events = h->events_before;
	/* The keeper deletes all files but the last `keep`. A first file has no files before it that
	 * it could have deleted, and of a log for the rest of another one (ptrace-salvage), all
	 * earlier files are in that other log. */
	if (h->keep && h->member && last >= h->keep)
		counts->pt_deleted_files = ptrc_log_at_most(last + 1 - h->keep, h->ordinal);
}

void ptrc_log_stream_counts(struct ptrc_log_stream *l, struct ptrc_counts *counts)
{
	const struct ptrc_log_reader *r = &l->reader;
	PTRC_LOCK(&l->mutex);

	*counts = l->counts;
	/* The STATUS of a closed log has these two sums. For other logs, adds up the headers of
	 * packets, except those found to be wrong. */
	counts->pt_log_events = r->forgotten_events;
	counts->pt_log_bytes = r->forgotten_bytes;
	for (size_t i = 0; i < r->entry_count && !r->is_closed; i++)
		if (!r->entries[i].is_lying) {
			counts->pt_log_events += r->entries[i].events;
			counts->pt_log_bytes += r->entries[i].head.counted;
		}
	counts->pt_missing_names = r->missing_names;
	counts->pt_damaged_parts = r->damaged_parts;
	if (r->is_whole)
		count_members(r, counts);
	counts->pt_log_lost_events = r->ring.lost_events;
	/* join_losses() has summed these from all heads and from the STATUS of closed files. */
	if (r->is_whole || has_status(l)) {
		counts->pt_lost_events = r->status.lost_events;
		counts->pt_log_lost_events = r->status.log_lost_events;
		counts->pt_unobserved_events = r->status.unobserved_events;
	}
	if (has_status(l)) {
		counts->pt_log_events = r->status.log_events;
		counts->pt_log_bytes = r->status.log_bytes;
		counts->pt_waits = r->status.waits;
		counts->pt_wait_ns = r->status.wait_ns;
		counts->pt_untraced_processes = r->status.untraced_processes;
		counts->pt_untraced_error = r->status.untraced_error;
		counts->pt_untraced_versions = r->status.untraced_versions;
		counts->pt_refused_names = r->status.refused_names;
		counts->pt_data_needed = r->status.data_needed;
		counts->pt_source_damaged_events = r->status.source_damaged_events;
		counts->pt_source_damaged_parts = r->status.source_damaged_parts;
		if (r->status.flush_error)
			counts->pt_unwritten_events = r->status.missed_events;
		else
			counts->pt_source_missed_events = r->status.missed_events;
		counts->pt_is_source_uncounted = (r->status.flags & PTRC_LOG_SOURCE_UNCOUNTED) != 0;
	}
}

/* ---- names ---- */

static struct ptrc_log_reader_name *name_of(const struct ptrc_log_stream *l, trace_event_id_t id)
{
	return l->reader.names && id <= PTRC_SET_ID_MAX ? l->reader.names[id] : NULL;
}

int ptrc_log_stream_name(struct ptrc_log_stream *l, trace_event_id_t id, char *name)
{
	const struct ptrc_log_reader_name *n = name_of(l, id);

	if (!n && (id < PTRC_SET_ID_MIN || id >= PTRC_ID_FIRST))
		return EINVAL;
	/* The caller's buffer has TRACE_EVENT_NAME_MAX + 1 bytes. */
	strcpy(name, n ? n->name : ptrc_names_predefined(id));
	return 0;
}

/* Finds the name of a type that has a layout. EINVAL: the log has no such type. ENODATA: the type
 * has no layout. */
static int find_layout(struct ptrc_log_stream *l, trace_event_id_t id,
		       struct ptrc_log_reader_name **n)
{
	*n = name_of(l, id);
	if (!*n)
		return id >= PTRC_SET_ID_MIN && id < PTRC_ID_FIRST ? ENODATA : EINVAL;
	return (*n)->layout ? 0 : ENODATA;
}

int ptrc_log_stream_layout(struct ptrc_log_stream *l, trace_event_id_t id,
			   char layout[PTRC_NAMES_LAYOUT_BYTES])
{
	struct ptrc_log_reader_name *n;
	int error = find_layout(l, id, &n);

	if (!error)
		strcpy(layout, n->layout);
	return error;
}

int ptrc_log_stream_fields(struct ptrc_log_stream *l, trace_event_id_t id,
			   const struct ptrc_layout_fields **fields)
{
	struct ptrc_log_reader_name *n;
	int error;
	PTRC_LOCK(&l->mutex);

	error = find_layout(l, id, &n);
	if (!error && !n->fields)
		error = ptrc_layout_parse(n->layout, strlen(n->layout), &n->fields, NULL);
	if (!error)
		*fields = n->fields;
	return error == EINVAL && n ? EBADMSG : error;
}

int ptrc_log_stream_next_id(struct ptrc_log_stream *l, trace_event_id_t *id, int *unavailable)
{
	uint32_t next;
	PTRC_LOCK(&l->mutex);

	next = l->next_id;
	while (next >= PTRC_ID_FIRST && next <= PTRC_SET_ID_MAX && !name_of(l, next))
		next++;
	*unavailable = next > PTRC_SET_ID_MAX;
	if (!*unavailable) {
		*id = next;
		l->next_id = next + 1;
	}
	return 0;
}

void ptrc_log_stream_rewind_ids(struct ptrc_log_stream *l)
{
	PTRC_LOCK(&l->mutex);

	l->next_id = POSIX_TRACE_START;
}

/* ---- selection ---- */

static int compare_numbers(const void *x, const void *y, void *arg)
{
	const struct ptrc_log_entry *entries = arg;
	return PTRC_ORDER(entries[*(const size_t *)x].head.seq,
			  entries[*(const size_t *)y].head.seq);
}

/* Indices of `entries` in the order of the packets' numbers. `entries` itself stays sorted by time,
 * as other threads read it meanwhile. NULL: no memory. */
static size_t *sort_by_number(const struct ptrc_log_reader *r)
{
	size_t *order = calloc(r->entry_count + 1, sizeof(*order));

	for (size_t i = 0; order && i < r->entry_count; i++)
		order[i] = i;
	if (order)
		qsort_r(order, r->entry_count, sizeof(*order), compare_numbers, r->entries);
	return order;
}

int ptrc_log_stream_select(struct ptrc_log_stream *l, const struct posixtrace_span *spans,
			   size_t count, const trace_event_set_t *types,
			   const trace_event_set_t *always)
{
	struct posixtrace_span *copy = NULL;

	if (l->reader.is_parts)
		return EINVAL;
	if (count) {
		copy = reallocarray(NULL, count, sizeof(*copy));
		if (!copy)
			return ENOMEM;
		memcpy(copy, spans, count * sizeof(*copy));
	}
	PTRC_LOCK(&l->mutex);
	select_all(l);
	l->spans = copy;
	l->span_count = count;
	l->has_types = types;
	if (types)
		ptrc_set_to_bits(types, l->types);
	l->has_always = always;
	if (always)
		ptrc_set_to_bits(always, l->always);
	rewind_events(l);
	return 0;
}

int ptrc_log_stream_select_parts(struct ptrc_log_stream *l, uint64_t first, uint64_t end)
{
	size_t *order;

	if (l->reader.is_parts || first < l->reader.forgotten_seq)
		return EINVAL;
	order = sort_by_number(&l->reader);
	if (!order)
		return ENOMEM;
	PTRC_LOCK(&l->mutex);
	select_all(l);
	l->by_number = order;
	l->from = first;
	l->until = end;
	rewind_events(l);
	return 0;
}

void ptrc_log_stream_place(struct ptrc_log_stream *l, struct ptrc_reading_place *place)
{
	PTRC_LOCK(&l->mutex);

	*place = (struct ptrc_reading_place){
		.pl_log_id = l->reader.files->log_id,
		.pl_first_part = l->reader.files->head.first_seq,
		.pl_end_part = l->reader.end_seq,
	};
	if (l->by_number) {
		place->pl_part = l->place;
		place->pl_events = l->place_events;
	}
}

int ptrc_log_stream_find_file(const struct ptrc_log_stream *l, int fd)
{
	struct stat wanted, st;

	if (ptrc_file_stat(fd, &wanted))
		return ENOENT;
	for (size_t i = 0; i < l->reader.file_count; i++)
		if (!ptrc_file_stat(l->reader.files[i].fd, &st) && st.st_dev == wanted.st_dev &&
		    st.st_ino == wanted.st_ino)
			return 0;
	return ENOENT;
}

int ptrc_log_stream_time_of_last(struct ptrc_log_stream *l, uint64_t count, int64_t *ns)
{
	const struct ptrc_log_reader *r = &l->reader;
	uint64_t events = 0;

	for (size_t i = r->entry_count; i-- > 0;) {
		events += r->entries[i].is_missing ? 0 : r->entries[i].events;
		*ns = r->entries[i].head.first_ns;
		if (events >= count)
			return 0;
	}
	return ENODATA;
}

int ptrc_log_stream_verify(struct ptrc_log_stream *l, uint64_t *differing)
{
	/* No lock is needed: the members of the reader that are read here never change. */
	return ptrc_log_reader_verify(&l->reader, differing);
}

int ptrc_log_stream_totals(struct ptrc_log_stream *l, struct posixtrace_type_count *counts,
			   size_t count)
{
	const struct ptrc_log_reader *r = &l->reader;

	if (!ptrc_log_reader_has_totals(r))
		return ENODATA;
	for (uint32_t id = 0; id < PTRC_TYPE_SUMS_MAX; id++) {
		if (!r->totals[id].events)
			continue;
		/* A log with an OVERFLOW has a gap. TOTALS counts the events that other threads
		 * recorded during the gap, but readers do not report these. */
		if (id == POSIX_TRACE_OVERFLOW ||
		    (id > POSIX_TRACE_ERROR && ptrc_bits_have(r->filtered, id)))
			return ENODATA;
	}
	for (size_t id = 0; id < count; id++) {
		static const struct ptrc_log_total none;
		const struct ptrc_log_total *total =
			id < PTRC_TYPE_SUMS_MAX ? &r->totals[id] : &none;

		counts[id] = (struct posixtrace_type_count){.pt_events = total->events,
							    .pt_bytes = total->bytes,
							    .pt_truncated = total->truncated};
	}
	return 0;
}

const struct ptrc_log_whose *ptrc_log_stream_whose(struct ptrc_log_stream *l)
{
	/* The origins are sorted only when a caller asks for them. So only a caller that asks after
	 * each part pays for sorting after each part. */
	PTRC_LOCK(&l->mutex);
	ptrc_log_whose_sort(&l->reader.whose);
	return &l->reader.whose;
}

/* ---- retrieval ---- */

int ptrc_log_stream_getnext(struct ptrc_log_stream *l, struct posix_trace_event_info *event,
			    void *data, size_t num_bytes, size_t *data_len, int *unavailable)
{
	const void *from = NULL;
	size_t len = 0;
	int error;

	if (unavailable)
		*unavailable = 1;
	if (data_len)
		*data_len = 0;
	if (!event || !data_len || !unavailable || (!data && num_bytes))
		return EINVAL;
	PTRC_LOCK(&l->mutex);
	error = next_event(l, event, &from, &len);
	if (error)
		return error == ENODATA ? 0 : error;
	*data_len = len < num_bytes ? len : num_bytes;
	if (*data_len)
		memcpy(data, from, *data_len);
	if (*data_len < len)
		event->posix_truncation_status = POSIX_TRACE_TRUNCATED_READ;
	*unavailable = 0;
	return 0;
}

/* Makes block `number` a holder of the packet, unless it is one already. The caller has made room
 * for one more element of b->packets. */
static void hold(struct posixtrace_block_memory *b, uint64_t number, struct packet *p)
{
	if (!p || p->block == number)
		return;
	b->packets[b->packet_count++] = p;
	p->block = number;
	atomic_fetch_add_explicit(&p->holders, 1, memory_order_relaxed);
}

/* The earliest time of any event that is not in the section of the cursor on top of the heap. In
 * the heap the second earliest cursor is element 1 or 2. */
static int64_t time_of_others(const struct ptrc_log_stream *l)
{
	int64_t ns = INT64_MAX;

	if (l->next_entry < l->reader.entry_count && !is_one_by_one(l))
		ns = l->reader.entries[l->next_entry].head.first_ns;
	for (size_t i = 1; i < 3 && i < l->heap_count; i++)
		if (l->heap[i]->event.ns < ns)
			ns = l->heap[i]->event.ns;
	return ns;
}

/* Reports up to `room` events of the cursor on top of the heap. Stops before the next event of
 * another cursor, and before a system, hidden or filtered event, for which next_event() does more
 * than report it. Faster than calling next_event() for each event. Returns the number of reported
 * events. */
static size_t next_of_cursor(struct ptrc_log_stream *l, struct posixtrace_event *to, size_t room)
{
	int64_t end_ns = time_of_others(l);
	struct cursor *c = l->heap[0];
	size_t count = 0;

	if (l->gap.state != GAP_NONE || l->sequencer.is_in_gap ||
	    (ring_has_lost(l) && c->event.ns < l->reader.ring.lost_last_ns))
		return 0;
	while (count < room && c->event.ns < end_ns) {
		uint32_t id = c->event.id_flags & PTRC_REC_ID_MASK;

		if (id <= POSIX_TRACE_ERROR || (c->event.id_flags & PTRC_REC_HIDDEN) ||
		    ptrc_sequencer_drops(&l->sequencer, id))
			break;
		fill_in(c, &to[count].pt_info, &to[count].pt_data, &to[count].pt_size);
		count++;
		if (!ptrc_unpacker_next(&c->unpacker, &c->event)) {
			heap_pop(l->heap, l->heap_count--);
			packet_put(l, c->packet);
			l->place_events += count;
			return count;
		}
	}
	heap_sift_down(l->heap, l->heap_count, 0);
	l->place_events += count;
	return count;
}

int ptrc_log_stream_getnext_block(struct ptrc_log_stream *l, struct posixtrace_block **block)
{
	struct posixtrace_block_memory *b = malloc(sizeof(*b));
	uint64_t number;
	size_t count = 0;
	int error = 0;

	*block = NULL;
	if (!b)
		return ENOMEM;
	memset(b, 0, offsetof(struct posixtrace_block_memory, events));
	PTRC_LOCK(&l->mutex);
	number = ++l->block_count;
	while (count < BLOCK_EVENTS) {
		struct posixtrace_event *e = &b->events[count];

		e->pt_data = "";
		e->pt_size = 0;
		error = PTRC_ARRAY_RESERVE(b->packets, b->packet_count, 1, &b->packet_size)
				? next_event(l, &e->pt_info, &e->pt_data, &e->pt_size)
				: ENOMEM;
		if (error)
			break;
		hold(b, number, l->reported);
		count++;
		/* Takes the fast way if the next event is in the same packet, as most are. */
		if (l->reported && l->heap_count && l->heap[0]->packet == l->reported &&
		    !l->is_admitted)
			count += next_of_cursor(l, e + 1, BLOCK_EVENTS - count);
		/* The block ends here, so that when the caller has it, the counts of damage include
		 * this gap and no later one. */
		if (e->pt_info.posix_event_id == POSIX_TRACE_OVERFLOW)
			break;
	}
	b->block.pt_events = b->events;
	b->block.pt_count = count;
	if (count) {
		*block = &b->block;
		return 0;
	}
	ptrc_log_stream_free_block(&b->block);
	return error == ENODATA ? 0 : error;
}

void ptrc_log_stream_free_block(struct posixtrace_block *block)
{
	struct posixtrace_block_memory *b = (struct posixtrace_block_memory *)block;

	for (size_t i = 0; i < b->packet_count; i++)
		let_go(b->packets[i]);
	free(b->packets);
	free(b);
}
