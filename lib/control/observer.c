/* SPDX-License-Identifier: MIT */
/*
 * An observer: a writer in the controller that records events of other threads, for example those
 * that the operating system reports. It records them a moment after they occurred, with the time at
 * which they occurred. Its events are in order of time, like those of any writer. But because they
 * are recorded late, a flush may write events that are older than events of the previous flush. So
 * readers of the log merge the events of different flushes by time.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "include/posixtrace-private.h"
#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/procfs.h"
#include "lib/base/sys.h"
#include "lib/base/timespec.h"
#include "lib/control/controller.h"
#include "lib/log/log_layout.h"
#include "lib/model/names.h"
#include "lib/process/self.h"
#include "lib/recorder/event.h"
#include "lib/stream/clock.h"
#include "lib/stream/full_wait.h"
#include "lib/stream/marks.h"
#include "lib/stream/patterns.h"
#include "lib/stream/recording.h"
#include "lib/stream/slots.h"
#include "lib/stream/status.h"

/* The number of readings of counter and CLOCK_MONOTONIC that an observer keeps. */
#define MOMENTS 64U
/* The most bytes of a record that describes a process. Longer descriptions are divided, because a
 * record must fit in a chunk (piece of the stream). */
#define PROCESS_BYTES 12288U

/* ptrc_observer_look() waits for at most LOOK_WAIT_NS until the keeper has looked at a process, and
 * checks this every LOOK_NS. */
#define LOOK_WAIT_NS UINT64_C(20000000)
#define LOOK_NS UINT64_C(50000)

/* An event of an observer gives up waiting for room if none was made for this long, even if the
 * stream's full-wait is longer: the thread that adds events has other work, such as signals and
 * clients of a session. */
#define WAIT_MAX_NS UINT64_C(1000000000)

struct moment {
	uint64_t counter;
	int64_t ns; /* CLOCK_MONOTONIC */
};

struct ptrc_observer {
	trace_id_t stream;
	struct ptrc_writer writer; /* valid if has_slot, and only while the stream exists */
	bool has_slot;
	/* Readings of the counter and of CLOCK_MONOTONIC, sorted by time. moments[0] is from the
	 * stream's first clock entry. When the array is full, moments[1] is dropped. */
	struct moment moments[MOMENTS];
	unsigned int moment_count;
	uint64_t last;	    /* stamp (value of the counter) of the last record */
	uint64_t described; /* stamp of the last description of a process; 0: none */
	struct ptrc_clock_cursor clock;
	/* has_given_up: an event has waited for room in vain. made_then: the value that
	 * header.room_made (how often room was made) had the last time that this happened. As long
	 * as header.room_made has this value, shortened waits (struct wait) end at once. */
	bool has_given_up;
	uint32_t made_then;
};

/* ---- times ---- */

/* Returns the first of the two consecutive readings of counter and CLOCK_MONOTONIC between which
 * the time `ns` lies. If `ns` is later than all readings, makes a new reading; if it is earlier,
 * returns the first reading. */
static const struct moment *moments_around(struct ptrc_observer *o, int64_t ns)
{
	unsigned int i;

	if (ns > o->moments[o->moment_count - 1].ns || o->moment_count == 1) {
		if (o->moment_count == MOMENTS)
			memmove(&o->moments[1], &o->moments[2],
				(--o->moment_count - 1) * sizeof(*o->moments));
		ptrc_clock_pair(&o->moments[o->moment_count].counter,
				&o->moments[o->moment_count].ns);
		o->moment_count++;
	}
	for (i = o->moment_count - 2; i && ns < o->moments[i].ns; i--)
		;
	return &o->moments[i];
}

/* Converts a time of CLOCK_MONOTONIC to a stamp, a value of the counter, by interpolation between
 * two readings of counter and CLOCK_MONOTONIC. So the events of the observer are in the right order
 * with events whose stamps were read from the counter. A new reading does not change the stamps of
 * earlier times. So an exec event gets the same stamp as the description of the process after this
 * exec, even if different calls add them. */
static uint64_t stamp_of(struct ptrc_observer *o, const struct ptrc_stream_header *h, int64_t ns)
{
	const struct moment *m = moments_around(o, ns);
	int64_t span_ns = m[1].ns - m[0].ns;
	uint64_t ticks = m[1].counter - m[0].counter, ago_ns, ago;

	/* An observed event has occurred already, so a later time is an error of the clock. */
	if (ns > m[1].ns)
		ns = m[1].ns;
	if (ptrc_load_relaxed(&h->control) & PTRC_CTL_MONO)
		return (uint64_t)ns;
	ago_ns = (uint64_t)m[1].ns - (uint64_t)ns;
	ago = span_ns > 0 ? (uint64_t)((unsigned __int128)ago_ns * ticks / (uint64_t)span_ns) : 0;
	return ago < m[1].counter ? m[1].counter - ago : 1;
}

/* ---- writing ---- */

/* Claims a slot (a writer's entry in the stream) if the observer has none. The slot is the calling
 * thread's: other processes free it if that thread has ended. */
static bool need_slot(struct ptrc_observer *o, const struct ptrc_stream *s)
{
	uint64_t owner;
	uint32_t slot;

	if (o->has_slot)
		return true;
	slot = ptrc_slot_claim(&s->pool, ptrc_sys_getpid(), ptrc_sys_gettid(), ptrc_self->image,
			       &owner);
	if (slot == UINT32_MAX)
		return false;
	/* ptrc_slot_claim() has counted this thread as a traced one, which it is not: subtract it
	 * again. */
	atomic_fetch_sub_explicit(&s->header->threads, 1, memory_order_relaxed);
	ptrc_writer_init(&o->writer, &s->pool, slot);
	o->writer.slot_owner = owner;
	o->has_slot = true;
	return true;
}

/* Sets the stamp of the next record to the time `ns`, but not below the stamp of the last
 * record. */
static void set_time(struct ptrc_observer *o, const struct ptrc_stream_header *h, int64_t ns)
{
	uint64_t stamp = stamp_of(o, h, ns);

	if (stamp < o->last)
		stamp = o->last;
	o->writer.stamp = o->last = stamp;
}

/* A wait for room. is_short: its limit is WAIT_MAX_NS, because the stream's full-wait is longer. */
struct wait {
	struct ptrc_full_wait full;
	bool is_short;
};

/* Ends a shortened wait that is useless: because the log cannot be written, or because an earlier
 * event has waited in vain since room was last made. */
static void limit_wait(const struct ptrc_observer *o, struct wait *w)
{
	const struct ptrc_stream_header *h = w->full.header;

	if (w->is_short && (ptrc_load_relaxed(&h->flush_error) ||
			    (o->has_given_up && o->made_then == ptrc_load_acquire(&h->room_made))))
		w->full.is_over = true;
}

static struct wait begin_wait(const struct ptrc_observer *o, struct ptrc_stream_header *h)
{
	uint64_t ns = *(const volatile uint64_t *)&h->full_wait_ns;
	bool is_short = ns > WAIT_MAX_NS;
	struct wait w = {.full = ptrc_full_wait_begin(h, is_short ? WAIT_MAX_NS : ns),
			 .is_short = is_short};

	limit_wait(o, &w);
	return w;
}

/* Waits for room in the stream. Returns false if the event is lost, or if this process is a child
 * that a signal handler has forked during the wait: it must not touch the stream. */
static bool wait_for_room(struct ptrc_observer *o, struct wait *w, uint64_t *mask)
{
	/* Only a shortened wait can be over here. When any other wait is over, put() sets
	 * is_patient to false, and ptrc_writer_record() no longer asks for a wait. */
	if (w->full.is_over) {
		o->has_given_up = true;
		o->made_then = ptrc_load_acquire(&w->full.header->room_made);
		ptrc_status_count_loss(w->full.header);
		return false;
	}
	if (!ptrc_full_wait(&w->full, mask))
		return false;
	limit_wait(o, w);
	return true;
}

/*
 * Records an event. If there is no room, the event is lost and counted. If its wait was shortened,
 * the loss of the event does not stop the stream, because events of traced threads may wait longer.
 */
static void put(struct ptrc_observer *o, const struct ptrc_controller *c,
		const struct ptrc_observed *event, uint64_t *mask)
{
	struct ptrc_stream_header *h = c->stream.header;
	struct wait wait = begin_wait(o, h);
	struct ptrc_put p = {.id_flags = event->po_event, .data = event->po_data, .frame = 1};

	for (unsigned tries = 0; tries < PTRC_EVENT_TRIES; tries++) {
		uint64_t control = ptrc_load_acquire(&h->control);
		enum ptrc_put_result result;

		if ((control & PTRC_CTL_ENDED) || !(control & (PTRC_CTL_RUN | PTRC_CTL_LOSING)) ||
		    ptrc_patterns_verdict(h, event->po_event, c->names) != PTRC_RECORDED)
			return;
		if (!(control & PTRC_CTL_RUN) || !need_slot(o, &c->stream))
			break;
		o->writer.origin =
			(struct ptrc_context){.pid = event->po_pid, .tid = event->po_tid};
		set_time(o, h, ptrc_timespec_ns(&event->po_time));
		p.is_patient = wait.is_short || !wait.full.is_over;
		result = ptrc_writer_record(&o->writer, control, &p, event->po_size);
		if (result == PTRC_PUT_WAIT) {
			if (!wait_for_room(o, &wait, mask))
				return;
			tries = 0;
			continue;
		}
		if (result != PTRC_PUT_STALE)
			return;
	}
	ptrc_status_count_loss(h);
}

int ptrc_observer_add(struct ptrc_observer *o, const struct ptrc_observed *events, size_t count,
		      unsigned long unobserved)
{
	uint64_t mask;
	PTRC_ENTER(c, o->stream);

	if (!c)
		return EINVAL;
	ptrc_sys_block_signals(&mask);
	for (size_t i = 0; i < count; i++)
		put(o, c, &events[i], &mask);
	/* While the stream is suspended, events are not recorded, so unobserved events are not
	 * missing. */
	if (ptrc_load_acquire(&c->stream.header->control) & (PTRC_CTL_RUN | PTRC_CTL_LOSING))
		ptrc_add_relaxed(&c->stream.header->unobserved_events, unobserved);
	ptrc_sys_restore_signals(&mask);
	return 0;
}

/* ---- descriptions of processes ---- */

/* More than a nanosecond, in ticks of any counter. */
#define DESCRIPTION_TICKS 8

/* The data of a record: `used` bytes so far, at most `limit`. */
struct payload {
	uint8_t bytes[PROCESS_BYTES];
	size_t used, limit;
};

/* The number of free bytes in the payload, minus 8 that are kept for padding. */
static size_t room_of(const struct payload *p)
{
	return p->used + 8 < p->limit ? p->limit - p->used - 8 : 0;
}

static void add(struct payload *p, const void *bytes, size_t size)
{
	if (size)
		memcpy(p->bytes + p->used, bytes, size);
	p->used += size;
}

static void pad(struct payload *p)
{
	while (p->used % 8)
		p->bytes[p->used++] = 0;
}

static int64_t time_in_log(struct ptrc_observer *o, const struct ptrc_stream_header *h,
			   const struct timespec *t)
{
	return ptrc_clock_realtime(h, &o->clock, stamp_of(o, h, ptrc_timespec_ns(t)));
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The most bytes of data that a record may have; 0: too few for a description. The numbers come
 * from shared memory and may be damaged, so the caller limits the result to its buffer. */
static size_t record_room(const struct ptrc_stream_header *h)
{
	uint64_t most = *(const volatile uint32_t *)&h->record_max;
	uint64_t min = *(const volatile uint64_t *)&h->stream_min_size / 4;

	most = most < min ? most : min;
	return most > 256 ? most - 16 : 0;
}

static void put_texts(struct payload *to, const struct posixtrace_log_process *p,
		      struct ptrc_log_process *head)
{
	size_t line = p->pp_command_line_size;

	/* The path and the build ID are either complete or left out. */
	head->comm_bytes = (uint16_t)least(least(p->pp_name_size, 15), room_of(to));
	add(to, p->pp_name, head->comm_bytes);
	if (p->pp_executable_size <= least(4096, room_of(to)))
		head->exe_bytes = (uint16_t)p->pp_executable_size;
	add(to, p->pp_executable, head->exe_bytes);
	if (p->pp_build_id_size <= least(PTRC_LOG_BUILD_ID_MAX, room_of(to)))
		head->build_id_bytes = (uint16_t)p->pp_build_id_size;
	add(to, p->pp_build_id, head->build_id_bytes);
	line = least(least(line, PTRC_LOG_LINE_MAX), room_of(to));
	head->flags |= p->pp_has_command_line ? PTRC_LOG_PROCESS_LINE : 0;
	head->flags |= line < p->pp_command_line_size || p->pp_is_command_line_cut
			       ? PTRC_LOG_PROCESS_LINE_CUT
			       : 0;
	head->line_bytes = (uint32_t)line;
	add(to, p->pp_command_line, line);
	pad(to);
}

static bool put_mapping(struct payload *to, const struct posixtrace_log_mapping *m)
{
	struct ptrc_log_mapping head = {
		.start = m->pm_start,
		.end = m->pm_end,
		.offset = m->pm_offset,
		.build_id_bytes = (uint16_t)least(m->pm_build_id_size, PTRC_LOG_BUILD_ID_MAX),
		.path_bytes = (uint16_t)least(m->pm_path_size, 4096),
		.flags = m->pm_is_function ? PTRC_LOG_MAPPING_FUNCTION : 0};

	if (sizeof(head) + head.build_id_bytes + head.path_bytes > room_of(to))
		return false;
	add(to, &head, sizeof(head));
	add(to, m->pm_build_id, head.build_id_bytes);
	add(to, m->pm_path, head.path_bytes);
	pad(to);
	return true;
}

/* Adds mappings to the record from number *next on, as long as they fit. *next becomes the number
 * of the first mapping that was not added. A mapping that does not fit even into a record without
 * other mappings is left out. */
static void put_mappings(struct payload *to, const struct posixtrace_log_process *p,
			 const struct posixtrace_log_mapping *mappings,
			 struct ptrc_log_process *head, unsigned long *next)
{
	for (; *next < p->pp_mapping_count; ++*next) {
		if (put_mapping(to, &mappings[*next]))
			head->mapping_count++;
		else if (head->mapping_count || !(head->flags & PTRC_LOG_PROCESS_ADDITION))
			return;
		else
			head->flags |= PTRC_LOG_PROCESS_MAPPINGS_CUT;
	}
}

/* Fills in a record that describes the process, with the mappings from number *next on that fit. If
 * is_addition, the record adds only mappings to an earlier description, and has the name and path
 * by which readers recognise the program. */
static void fill(struct ptrc_observer *o, const struct ptrc_stream_header *h,
		 const struct posixtrace_log_process *p,
		 const struct posixtrace_log_mapping *mappings, bool is_addition,
		 struct payload *to, unsigned long *next)
{
	struct ptrc_log_process head = {.from_ns = time_in_log(o, h, &p->pp_from),
					.pid = p->pp_pid,
					.user = p->pp_user,
					.observed_ns = ptrc_timespec_ns(&p->pp_from)};
	struct posixtrace_log_process texts = *p;

	head.flags |= p->pp_has_user ? PTRC_LOG_PROCESS_USER : 0;
	head.flags |= p->pp_has_mappings ? PTRC_LOG_PROCESS_MAPPED : 0;
	head.flags |= p->pp_are_mappings_cut ? PTRC_LOG_PROCESS_MAPPINGS_CUT : 0;
	if (p->pp_is_known) {
		head.flags |= PTRC_LOG_PROCESS_KNOWN;
		head.parent_pid = p->pp_parent_pid;
		head.start_ns = time_in_log(o, h, &p->pp_start);
	}
	if (is_addition) {
		head.flags = PTRC_LOG_PROCESS_ADDITION | PTRC_LOG_PROCESS_MAPPED;
		texts.pp_has_command_line = texts.pp_is_command_line_cut = 0;
		texts.pp_command_line_size = texts.pp_build_id_size = 0;
	}
	to->used = sizeof(head);
	to->limit = least(sizeof(to->bytes), record_room(h));
	put_texts(to, &texts, &head);
	put_mappings(to, p, mappings, &head, next);
	memcpy(to->bytes, &head, sizeof(head));
}

/* Records the description of a process. If there is no room, leaves it out without counting a loss:
 * no event is missing. */
static void put_process(struct ptrc_observer *o, struct ptrc_stream *s,
			const struct payload *payload, int64_t from_ns)
{
	const struct ptrc_put p = {.id_flags = PTRC_REC_PROCESS,
				   .data = payload->bytes,
				   .len = (uint32_t)payload->used,
				   .frame = 1};
	enum ptrc_put_result result = PTRC_PUT_STALE;
	uint64_t stamp;

	for (unsigned tries = 0; result == PTRC_PUT_STALE && tries < PTRC_EVENT_TRIES; tries++) {
		uint64_t control = ptrc_load_acquire(&s->header->control);

		if (!(control & PTRC_CTL_RUN) || !need_slot(o, s))
			return;
		memset(&o->writer.origin, 0, sizeof(o->writer.origin));
		/* The record gets the time from_ns and not the current time: the stamps of a writer
		 * never go back, so with the current time, events that are added later and occurred
		 * before now would get a wrong time. Readers do not use the time of this record. */
		set_time(o, s->header, from_ns);
		/* The keeper takes descriptions in the order of their times in ns, so each gets a
		 * later time than the one before. */
		if (o->described && o->last < o->described + DESCRIPTION_TICKS)
			o->writer.stamp = o->last = o->described + DESCRIPTION_TICKS;
		o->described = o->last;
		o->writer.expect = control;
		result = ptrc_writer_put(&o->writer, &p, &stamp);
	}
}

int ptrc_observer_add_process(struct ptrc_observer *o, const struct posixtrace_log_process *process,
			      const struct posixtrace_log_mapping *mappings, bool is_addition)
{
	struct payload payload;
	unsigned long next = 0;
	PTRC_ENTER(c, o->stream);

	if (!c)
		return EINVAL;
	/* Only a log can hold descriptions of processes. */
	if (!c->has_log || !record_room(c->stream.header))
		return 0;
	PTRC_NO_SIGNALS();
	/* Mappings that do not fit into the first record follow in further records. */
	do {
		fill(o, c->stream.header, process, mappings, is_addition, &payload, &next);
		put_process(o, &c->stream, &payload, ptrc_timespec_ns(&process->pp_from));
		is_addition = true;
	} while (next < process->pp_mapping_count);
	return 0;
}

int ptrc_observer_look(struct ptrc_observer *o, pid_t pid)
{
	for (uint64_t waited = 0; waited <= LOOK_WAIT_NS; waited += LOOK_NS) {
		if (waited)
			ptrc_file_sleep_ns(LOOK_NS);
		PTRC_ENTER(c, o->stream);
		if (!c)
			return EINVAL;
		if (!waited)
			ptrc_announce(c->stream.header, pid, 0);
		else if (c->has_log && !ptrc_is_announced(c->stream.header, pid))
			return 0;
	}
	return ETIMEDOUT;
}

/* ---- the observer ---- */

int ptrc_observer_open(trace_id_t stream, struct ptrc_observer **observer)
{
	const struct ptrc_clock_entry *first;
	struct ptrc_observer *o;
	PTRC_ENTER(c, stream);

	if (!c)
		return EINVAL;
	o = calloc(1, sizeof(*o));
	if (!o)
		return ENOMEM;
	o->stream = stream;
	first = ptrc_stream_clock(c->stream.header);
	o->moments[0].counter = ptrc_load_relaxed(&first->counter);
	o->moments[0].ns = ptrc_load_relaxed(&first->true_ns);
	o->moment_count = 1;
	if (!ptrc_barrier_register())
		ptrc_store_seq_cst(&c->stream.header->needs_global_barrier, 1);
	*observer = o;
	return 0;
}

int ptrc_observer_type(struct ptrc_observer *o, const char *name, const char *layout,
		       trace_event_id_t *event)
{
	uint32_t id = 0;
	int error;
	PTRC_ENTER(c, o->stream);

	if (!c)
		return EINVAL;
	error = ptrc_names_register(c->names, name, &id);
	if (!error && layout && id != PTRC_ID_UNNAMED)
		error = ptrc_names_set_layout(c->names, id, layout, (uint32_t)strlen(layout));
	if (!error)
		*event = id;
	return error;
}

int64_t ptrc_observer_clock_offset(void)
{
	return ptrc_procfs_clock_offset("monotonic");
}

void ptrc_observer_close(struct ptrc_observer *o)
{
	if (!o)
		return;
	if (o->has_slot) {
		PTRC_ENTER(c, o->stream);

		if (c) {
			PTRC_NO_SIGNALS();
			ptrc_writer_release(&o->writer);
			ptrc_slot_release(c->stream.header, o->writer.slot_index,
					  o->writer.slot_owner);
		}
	}
	free(o);
}
