/* SPDX-License-Identifier: MIT */
#include "lib/log/log_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "lib/base/atomic.h"
#include "lib/base/sys.h"
#include "lib/log/log_events.h"
#include "lib/log/log_names.h"
#include "lib/log/log_output.h"
#include "lib/log/log_stream.h"
#include "lib/log/log_writer.h"
#include "lib/model/attr.h"
#include "lib/model/eventset.h"
#include "lib/model/names.h"
#include "lib/model/sequencer.h"

/* Bytes of data, and number of events, that wait at most: about a packet. */
#define WAITING_BYTES (UINT64_C(256) << 10)
#define WAITING_EVENTS 65536U

/* An event that waits, and behind it its data, up to a multiple of 8. */
struct waiting {
	int64_t ns;
	uint64_t addr;
	uint32_t id_flags, len;
	uint32_t run;  /* its number */
	uint32_t next; /* offset of the next event of the run, in words of 8 bytes; 0: none */
};

/* Events that become a stretch: of one thread, or a single event of another kind. */
struct run {
	struct ptrc_context origin;
	enum ptrc_stretch_kind kind;
	uint32_t first, last; /* offsets of events, in words of 8 bytes */
};

struct posixtrace_log {
	struct ptrc_stream_header *header; /* of a stream that does not exist */
	struct ptrc_names_object *names;
	struct ptrc_log_writer writer;
	struct ptrc_packer *packer;
	struct ptrc_log_buffer events; /* that wait; the first word is unused */
	struct ptrc_log_buffer runs;
	uint32_t event_count;
	uint32_t run_count;
	int64_t last_ns;
	uint32_t last_run;
	int error; /* of a write: the log takes nothing any more */
};

static struct run *run_at(const struct posixtrace_log *c, uint32_t i)
{
	return (struct run *)(void *)c->runs.bytes + i;
}

static struct waiting *event_at(const struct posixtrace_log *c, uint32_t offset)
{
	return (struct waiting *)(void *)(c->events.bytes + 8 * (uint64_t)offset);
}

static void free_copy(struct posixtrace_log *c)
{
	ptrc_log_writer_free(&c->writer);
	ptrc_log_buffer_free(&c->events);
	ptrc_log_buffer_free(&c->runs);
	free(c->packer);
	free(c->names);
	free(c->header);
	free(c);
}

/* The header of a stream with these attributes, for the writer. */
static int make_header(const trace_attr_t *attr, const struct timespec *created,
		       struct ptrc_stream_header **header)
{
	struct ptrc_stream_header *h = aligned_alloc(64, PTRC_STREAM_CLOCK_OFFSET);
	struct timespec now;
	int error;

	if (!h)
		return ENOMEM;
	memset(h, 0, PTRC_STREAM_CLOCK_OFFSET);
	error = ptrc_attr_resolve(attr, true, &h->attr);
	if (error) {
		free(h);
		return error;
	}
	if (!created) {
		clock_gettime(CLOCK_REALTIME, &now);
		created = &now;
	}
	h->attr.createtime_sec = created->tv_sec;
	h->attr.createtime_nsec = created->tv_nsec;
	h->attr.log_full_policy = POSIX_TRACE_APPEND;
	while (!h->id)
		if (getrandom(&h->id, sizeof(h->id), 0) != (ssize_t)sizeof(h->id))
			h->id = (uint64_t)(uintptr_t)h ^ (uint64_t)h->attr.createtime_nsec;
	h->log_policy = POSIX_TRACE_APPEND;
	h->has_log = 1;
	/* There is no keeper that somebody could wait for. */
	h->owner_uid = UINT32_MAX;
	ptrc_store_relaxed(&h->fsize_limit, RLIM_INFINITY);
	*header = h;
	return 0;
}

static void begin_waiting(struct posixtrace_log *c)
{
	c->events.used = 8;
	c->runs.used = 0;
	c->event_count = c->run_count = 0;
}

int ptrc_log_copy_create(int fd, const trace_attr_t *attr, const struct timespec *created,
			 struct posixtrace_log **copy)
{
	struct posixtrace_log *c;
	int error = ptrc_log_check(fd, POSIX_TRACE_APPEND);

	if (error)
		return error;
	c = calloc(1, sizeof(*c));
	if (!c)
		return ENOMEM;
	error = make_header(attr, created, &c->header);
	if (!error) {
		c->names = calloc(1, sizeof(*c->names));
		c->packer = calloc(1, sizeof(*c->packer));
		error = !c->names || !c->packer || ptrc_log_buffer_reserve(&c->events, 8)
				? ENOMEM
				: ptrc_log_writer_init(&c->writer, c->header, fd, false);
	}
	c->writer.is_copy = true;
	if (!error)
		error = ptrc_log_writer_head(&c->writer);
	if (error) {
		free_copy(c);
		return error;
	}
	begin_waiting(c);
	c->last_ns = INT64_MIN;
	*copy = c;
	return 0;
}

int ptrc_log_copy_type(struct posixtrace_log *c, const char *name, trace_event_id_t *id)
{
	uint32_t count = ptrc_names_object_count(c->names);
	size_t bytes = strnlen(name, PTRC_NAME_BYTES);

	if (bytes == PTRC_NAME_BYTES)
		return ENAMETOOLONG;
	for (uint32_t i = 1; i < PTRC_ID_FIRST; i++)
		if (!strcmp(ptrc_names_predefined(i), name)) {
			*id = i;
			return 0;
		}
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(c->names->entry[i].name, name)) {
			*id = PTRC_ID_FIRST + i;
			return 0;
		}
	if (count == PTRC_NAMES_MAX) {
		*id = PTRC_ID_UNNAMED;
		return 0;
	}
	memcpy(c->names->entry[count].name, name, bytes);
	ptrc_store_relaxed(&c->names->entry[count].state, PTRC_NAMES_MADE);
	ptrc_store_relaxed(&c->names->count, count + 1);
	*id = PTRC_ID_FIRST + count;
	return 0;
}

/* ---- writing what waits ---- */

/* Packs a run, and adds it to the flush. */
static int add_run(struct posixtrace_log *c, const struct run *run)
{
	struct ptrc_packer *p = c->packer;
	struct ptrc_stretch s = {.origin = run->origin, .kind = run->kind, .order = 1};
	uint64_t bytes = PTRC_PACKED_SLACK;
	uint8_t *out;
	int error;

	for (uint32_t at = run->first; at; at = event_at(c, at)->next)
		bytes += PTRC_PACKED_HEAD_MAX + ptrc_align8(event_at(c, at)->len);
	error = ptrc_log_batch_room(&c->writer.batch, bytes, &out);
	if (error)
		return error;
	ptrc_packer_begin(p, out);
	for (uint32_t at = run->first; at; at = event_at(c, at)->next) {
		const struct waiting *e = event_at(c, at);

		ptrc_packer_add(p, e->ns, ptrc_packed_key(e->addr, e->id_flags),
				(const uint8_t *)(e + 1), e->len);
	}
	ptrc_packer_end(p);
	s.first_ns = p->base_ns;
	s.last_ns = p->last_ns;
	s.packed = p->begin;
	s.bytes = (uint32_t)(p->out - p->begin);
	s.records = p->records;
	s.event_count = p->reported;
	s.counted = p->counted;
	s.largest = p->largest;
	s.sums = p->sums.sum;
	s.sum_count = p->sums.count;
	return ptrc_log_events_add(&c->writer, &s);
}

static int write_waiting(struct posixtrace_log *c)
{
	int error;

	if (!c->event_count)
		return 0;
	ptrc_log_events_begin(&c->writer);
	error = ptrc_log_names_write(&c->writer, c->names);
	for (uint32_t i = 0; !error && i < c->run_count; i++)
		error = add_run(c, run_at(c, i));
	if (!error)
		error = ptrc_log_events_end(&c->writer);
	begin_waiting(c);
	return error;
}

/* ---- events ---- */

/*
 * Finds the run for an event. The reader of the log gives out events of the same time in the order
 * of their runs, so an event may not go into a run that stands before that of the event of the same
 * time before it: then it begins another run.
 */
static int find_run(struct posixtrace_log *c, const struct ptrc_context *origin,
		    enum ptrc_stretch_kind kind, bool is_tie, uint32_t *found)
{
	struct run new = {.origin = *origin, .kind = kind};
	uint32_t first = is_tie ? c->last_run : 0;

	/* The newest run of a thread is the one that its next events may go into. */
	for (uint32_t i = c->run_count; kind == PTRC_STRETCH_PLAIN && i-- > first;) {
		const struct run *r = run_at(c, i);

		if (r->kind == kind && !memcmp(&r->origin, origin, sizeof(*origin))) {
			*found = i;
			return 0;
		}
	}
	*found = c->run_count;
	if (ptrc_log_buffer_add(&c->runs, &new, sizeof(new)))
		return ENOMEM;
	c->run_count++;
	return 0;
}

/* Adds an event whose type has these flags. */
static int add(struct posixtrace_log *c, const struct posixtrace_event *event, uint32_t flags)
{
	const struct posix_trace_event_info *info = &event->pt_info;
	struct ptrc_context origin = {.pid = info->posix_pid,
				      .tid = info->posix_tid,
				      .thread = (uint64_t)info->posix_thread_id};
	struct waiting e = {.ns = ptrc_log_from_timespec(&info->posix_timestamp),
			    .addr = (uint64_t)(uintptr_t)info->posix_prog_address,
			    .id_flags = info->posix_event_id | flags,
			    .len = (uint32_t)event->pt_size};
	uint32_t at = (uint32_t)(c->events.used / 8);
	struct run *run;
	int error;

	if (info->posix_truncation_status != POSIX_TRACE_NOT_TRUNCATED)
		e.id_flags |= PTRC_REC_TRUNCATED;
	error = find_run(c, &origin, ptrc_stretch_kind_of(info->posix_event_id), e.ns == c->last_ns,
			 &e.run);
	if (!error)
		error = ptrc_log_buffer_reserve(&c->events, sizeof(e) + ptrc_align8(e.len) + 8);
	if (error)
		return error;
	ptrc_log_buffer_add(&c->events, &e, sizeof(e));
	ptrc_log_buffer_add(&c->events, event->pt_data, e.len);
	ptrc_log_buffer_pad(&c->events);
	run = run_at(c, e.run);
	if (run->first)
		event_at(c, run->last)->next = at;
	else
		run->first = at;
	run->last = at;
	c->event_count++;
	c->last_ns = e.ns;
	c->last_run = e.run;
	return 0;
}

static bool is_empty(const uint64_t filter[PTRC_SET_WORD_COUNT])
{
	for (size_t i = 0; i < PTRC_SET_WORD_COUNT; i++)
		if (filter[i])
			return false;
	return true;
}

/*
 * Adds a START or FILTER event that tells a filter. A reader of the log would leave out what this
 * filter holds, though the caller wants it: the event that ends the filter may not be in the
 * log, or the next event comes from another trace. So an empty filter follows, which readers do not
 * report.
 */
static int add_filter(struct posixtrace_log *c, const struct posixtrace_event *event)
{
	static const uint64_t nothing[PTRC_SET_WORD_COUNT];
	struct posixtrace_event empty = *event;
	trace_event_set_t sets[2];
	int error;

	memcpy(&sets[0], (const char *)event->pt_data + event->pt_size - sizeof(sets[0]),
	       sizeof(sets[0]));
	ptrc_set_from_bits(&sets[1], nothing);
	empty.pt_info.posix_event_id = POSIX_TRACE_FILTER;
	empty.pt_data = sets;
	empty.pt_size = sizeof(sets);
	/* So that there is memory for both or for none. */
	error = ptrc_log_buffer_reserve(&c->runs, 2 * sizeof(struct run));
	if (!error)
		error = ptrc_log_buffer_reserve(&c->events, 2 * (sizeof(struct waiting) + 16) +
								    event->pt_size + sizeof(sets));
	if (!error)
		error = add(c, event, 0);
	return error ? error : add(c, &empty, PTRC_REC_HIDDEN);
}

int ptrc_log_copy_add(struct posixtrace_log *c, const struct posixtrace_event *event)
{
	uint64_t filter[PTRC_SET_WORD_COUNT];
	trace_event_id_t id = event->pt_info.posix_event_id;
	int64_t ns = ptrc_log_from_timespec(&event->pt_info.posix_timestamp);

	if (c->error)
		return c->error;
	if (!ptrc_set_is_id(id) || event->pt_size > PTRC_REC_LEN_MAX || ns < c->last_ns ||
	    (id >= PTRC_ID_FIRST && id - PTRC_ID_FIRST >= ptrc_names_object_count(c->names)))
		return EINVAL;
	/* A flush ends between two times, so that what has the same time is in one. */
	if ((c->events.used >= WAITING_BYTES || c->event_count >= WAITING_EVENTS) &&
	    ns > c->last_ns)
		c->error = write_waiting(c);
	if (c->error)
		return c->error;
	if (ptrc_sequencer_learn(id, event->pt_data, (uint32_t)event->pt_size, filter) &&
	    !is_empty(filter))
		return add_filter(c, event);
	return add(c, event, 0);
}

int ptrc_log_copy_close(struct posixtrace_log *c, const struct posixtrace_counts *lost)
{
	uint64_t status = 0;
	int error = c->error ? c->error : write_waiting(c);

	if (!error && ptrc_names_object_count(c->names))
		error = ptrc_log_names_write(&c->writer, c->names);
	if (lost) {
		c->writer.state.lost_events = lost->pt_log_lost_events;
		c->writer.source_damaged_events = lost->pt_source_damaged_events;
		c->writer.source_missed_events = lost->pt_source_missed_events;
		c->writer.is_source_uncounted = lost->pt_is_source_uncounted;
		ptrc_store_relaxed(&c->header->lost_events, lost->pt_lost_events);
		status = (lost->pt_lost_events ? PTRC_ST_EVER_OVERRUN : 0) |
			 (lost->pt_log_lost_events ? PTRC_ST_EVER_LOG_OVERRUN : 0);
		ptrc_store_relaxed(&c->header->status, status);
	}
	if (!error)
		error = ptrc_log_writer_close(&c->writer);
	free_copy(c);
	return error;
}
