/* SPDX-License-Identifier: MIT */
#include "lib/log/log_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/base/array.h"
#include "lib/base/timespec.h"
#include "lib/log/log_write.h"
#include "lib/model/attr.h"
#include "lib/model/eventset.h"
#include "lib/model/names.h"
#include "lib/model/sequencer.h"
#include "lib/stream/clock.h"

/* Limits for the events that wait in memory until they are written. Together they fill about one
 * packet. */
#define WAITING_BYTES (UINT64_C(256) << 10)
#define WAITING_EVENTS 65536U
/* A log in memory is handed over in parts. A part should have at least this many bytes, so that its
 * fixed cost is small compared with the cost of its events. */
#define PART_BYTES (UINT64_C(64) << 10)

/* An event that waits to be written; its data follows, padded to a multiple of 8. */
struct waiting {
	int64_t ns;
	uint64_t addr;
	uint32_t id_flags, len;
	uint64_t next; /* offset of the struct run's next event, in units of 8 bytes; 0: none */
};

/* Events that become one stretch (packed events of one writer): events of one thread, or a single
 * event of a kind other than PLAIN. */
struct run {
	struct ptrc_context origin;
	enum ptrc_stretch_kind kind;
	uint32_t first, last; /* offsets of events, in units of 8 bytes; 0: none */
};

struct posixtrace_log_writer {
	struct ptrc_attr attr;
	struct ptrc_names_object *own_names; /* NULL: the names are those of an existing stream */
	struct ptrc_log_buffer part; /* for a log in memory: its bytes since the last part */
	struct ptrc_log_writer writer;
	struct ptrc_packer *packer;
	struct ptrc_log_buffer events; /* struct waiting, from offset 8 on: offset 0 means none */
	struct run *runs;
	size_t run_count, run_size, last_run;
	/* `pids`: the pids of all events, in ascending order. last_pid: the pid of the last
	 * event. */
	int32_t *pids, last_pid;
	size_t pid_count, pid_size;
	/* The machine that the log describes, if has_host. */
	bool has_host;
	struct posixtrace_log_host host;
	uint32_t event_count;
	int64_t last_ns;
	int error; /* once it is set, the log takes no more events */
};

static struct waiting *event_at(const struct posixtrace_log_writer *c, uint32_t offset)
{
	return (struct waiting *)(void *)(c->events.bytes + 8 * (uint64_t)offset);
}

void ptrc_log_copy_free(struct posixtrace_log_writer *c)
{
	ptrc_log_writer_free(&c->writer);
	ptrc_log_buffer_free(&c->events);
	free(c->runs);
	ptrc_log_buffer_free(&c->part);
	free(c->pids);
	free(c->packer);
	free(c->own_names);
	free(c);
}

static void begin_waiting(struct posixtrace_log_writer *c)
{
	c->events.used = 8;
	c->run_count = 0;
	c->event_count = 0;
}

/* Makes an empty log; if fd is -1, in memory. EINVAL, ENOMEM. */
static int make(int fd, const struct ptrc_attr *attr, struct posixtrace_log_writer **copy)
{
	struct posixtrace_log_writer *c = calloc(1, sizeof(*c));
	/* No user has this number. So a reader that opens the log finds no stream that belongs to
	 * it, and does not wait for a keeper. */
	struct ptrc_log_trace trace = {.owner_uid = UINT32_MAX};
	int error;

	if (!c)
		return ENOMEM;
	c->attr = *attr;
	c->attr.log_full_policy = POSIX_TRACE_APPEND;
	/* The attributes may be those of a rotated log, but this log is a single file. */
	c->attr.log_rotate_bytes = c->attr.log_rotate_ns = c->attr.log_keep = 0;
	trace.attr = &c->attr;
	while (!trace.id)
		if (getrandom(&trace.id, sizeof(trace.id), 0) != (ssize_t)sizeof(trace.id))
			trace.id = (uint64_t)(uintptr_t)c ^ (uint64_t)attr->createtime_nsec;
	c->packer = calloc(1, sizeof(*c->packer));
	error = !c->packer || ptrc_log_buffer_reserve(&c->events, 8)
			? ENOMEM
			: ptrc_log_writer_begin(&c->writer, &trace, POSIX_TRACE_APPEND, fd);
	if (error) {
		ptrc_log_copy_free(c);
		return error;
	}
	c->writer.memory = &c->part;
	c->last_ns = INT64_MIN;
	begin_waiting(c);
	*copy = c;
	return 0;
}

int ptrc_log_copy_create(int fd, const trace_attr_t *attr, const struct timespec *created,
			 struct posixtrace_log_writer **copy)
{
	struct posixtrace_log_writer *c;
	struct ptrc_attr resolved;
	struct timespec now;
	int error =
		ptrc_log_check(fd, POSIX_TRACE_APPEND) ?: ptrc_attr_resolve(attr, true, &resolved);
	if (error)
		return error;
	if (!created) {
		clock_gettime(CLOCK_REALTIME, &now);
		if (!ptrc_clock_is_in_range(now.tv_sec))
			return EOVERFLOW;
		created = &now;
	}
	resolved.createtime_sec = created->tv_sec;
	resolved.createtime_nsec = created->tv_nsec;
	error = make(fd, &resolved, &c);
	if (error)
		return error;
	c->own_names = calloc(1, sizeof(*c->own_names));
	c->writer.names = c->own_names;
	error = c->own_names ? ptrc_log_writer_head(&c->writer) : ENOMEM;
	if (error) {
		ptrc_log_copy_free(c);
		return error;
	}
	*copy = c;
	return 0;
}

int ptrc_log_copy_type(struct posixtrace_log_writer *c, const char *name, const char *layout,
		       trace_event_id_t *id)
{
	struct ptrc_names names = {.object = c->own_names};
	uint32_t number;
	int error = ptrc_names_register(&names, name, &number);

	if (!error && layout && number > PTRC_ID_UNNAMED)
		error = ptrc_names_set_layout(&names, number, layout, (uint32_t)strlen(layout));
	if (!error)
		*id = number;
	return error;
}

/* ---- writing the waiting events ---- */

/* Packs waiting events of a run, from `at` on, and adds them to the flush. Returns the offset of the first event that was
 * not packed; 0: none is left, or *error is set. */
static uint32_t add_part(struct posixtrace_log_writer *c, const struct run *run, uint32_t at,
			 int *error)
{
	struct ptrc_packer *p = c->packer;
	struct ptrc_stretch s = {.origin = run->origin, .kind = run->kind, .order = 1};
	uint64_t bytes = PTRC_PACKED_SLACK;
	uint32_t end;
	uint8_t *out;

	for (end = at; end && bytes <= WAITING_BYTES; end = (uint32_t)event_at(c, end)->next)
		bytes += PTRC_PACKED_HEAD_MAX + ptrc_align8(event_at(c, end)->len);
	*error = ptrc_log_batch_room(&c->writer.batch, bytes, &out);
	if (*error)
		return 0;
	ptrc_packer_begin(p, out);
	for (; at != end; at = (uint32_t)event_at(c, at)->next) {
		const struct waiting *e = event_at(c, at);

		ptrc_packer_add(p, e->ns, ptrc_packed_key(e->addr, e->id_flags),
				(const uint8_t *)(e + 1), e->len);
	}
	ptrc_stretch_pack(&s, p);
	*error = ptrc_log_events_add(&c->writer, &s);
	return *error ? 0 : end;
}

static int write_waiting(struct posixtrace_log_writer *c)
{
	int error;

	if (!c->event_count)
		return 0;
	ptrc_log_events_begin(&c->writer);
	error = ptrc_log_names_write(&c->writer);
	/* When a packet takes the first events of a part, the rest of the part is packed again, so the parts are small. */
	for (size_t i = 0; !error && i < c->run_count; i++)
		for (uint32_t at = c->runs[i].first; at;)
			at = add_part(c, &c->runs[i], at, &error);
	if (!error)
		error = ptrc_log_events_end(&c->writer);
	begin_waiting(c);
	return error;
}

/* ---- events ---- */

static const uint64_t nothing[PTRC_SET_WORD_COUNT];

/*
 * Returns the run (waiting events of one thread) to which an event is to be added; NULL: no memory.
 * A reader of the log reports events with equal times in the order of their runs. So if the
 * previous event has the same time as this one, this one must go into the run of the previous event
 * or a later run. If no such run is of the event's thread, or the event's kind is not PLAIN, the
 * event starts a new run.
 */
static struct run *run_for(struct posixtrace_log_writer *c, const struct ptrc_live_event *e)
{
	enum ptrc_stretch_kind kind = ptrc_stretch_kind_of(e->id_flags & PTRC_REC_ID_MASK);
	size_t first = e->ns == c->last_ns ? c->last_run : 0;

	/* A thread's next events go into its newest run. */
	for (size_t i = c->run_count; kind == PTRC_STRETCH_PLAIN && i-- > first;)
		if (c->runs[i].kind == kind &&
		    !memcmp(&c->runs[i].origin, &e->origin, sizeof(e->origin)))
			return &c->runs[i];
	if (!PTRC_ARRAY_RESERVE(c->runs, c->run_count, 1, &c->run_size))
		return NULL;
	c->runs[c->run_count] = (struct run){.origin = e->origin, .kind = kind};
	return &c->runs[c->run_count++];
}

static int by_number(const void *x, const void *y)
{
	return PTRC_ORDER(*(const int32_t *)x, *(const int32_t *)y);
}

static bool has_pid(const struct posixtrace_log_writer *c, int32_t pid)
{
	return c->pid_count && bsearch(&pid, c->pids, c->pid_count, sizeof(pid), by_number);
}

static int note_pid(struct posixtrace_log_writer *c, int32_t pid)
{
	size_t at = c->pid_count;

	if (pid == c->last_pid)
		return 0;
	if (!has_pid(c, pid)) {
		if (!PTRC_ARRAY_RESERVE(c->pids, c->pid_count, 1, &c->pid_size))
			return ENOMEM;
		for (; at && c->pids[at - 1] > pid; at--)
			c->pids[at] = c->pids[at - 1];
		c->pids[at] = pid;
		c->pid_count++;
	}
	c->last_pid = pid;
	return 0;
}

static int add(struct posixtrace_log_writer *c, const struct ptrc_live_event *event)
{
	struct waiting e = {.ns = event->ns,
			    .addr = event->addr,
			    .id_flags = event->id_flags,
			    .len = event->len};
	uint32_t at = (uint32_t)(c->events.used / 8);
	struct run *run = run_for(c, event);

	if (!run ||
	    ptrc_log_buffer_reserve(&c->events, sizeof(e) + ptrc_align8((uint64_t)e.len) + 8))
		return ENOMEM;
	ptrc_log_buffer_add(&c->events, &e, sizeof(e));
	ptrc_log_buffer_add(&c->events, event->data, e.len);
	ptrc_log_buffer_pad(&c->events);
	if (run->first)
		event_at(c, run->last)->next = at;
	else
		run->first = at;
	run->last = at;
	c->event_count++;
	c->last_ns = e.ns;
	c->last_run = (size_t)(run - c->runs);
	return 0;
}

/*
 * Adds a START or FILTER event whose filter is not empty, and after it a hidden event, which
 * readers do not report, that empties the filter. Otherwise readers would drop later events of the
 * filtered types, though the caller wants them in the log: the event that ended the filter may not
 * be in this log, or the next event may be of another trace.
 */
static int add_filter(struct posixtrace_log_writer *c, const struct ptrc_live_event *event)
{
	struct ptrc_live_event empty = *event;
	trace_event_set_t sets[2];

	memcpy(&sets[0], (const char *)event->data + event->len - sizeof(sets[0]), sizeof(sets[0]));
	ptrc_set_from_bits(&sets[1], nothing);
	empty.id_flags = POSIX_TRACE_FILTER | PTRC_REC_HIDDEN;
	empty.data = sets;
	empty.len = sizeof(sets);
	/* Reserves memory for both events, so that never only one of them is added. */
	if (!PTRC_ARRAY_RESERVE(c->runs, c->run_count, 2, &c->run_size))
		return ENOMEM;
	return ptrc_log_buffer_reserve(&c->events, 2 * (sizeof(struct waiting) + 16) + event->len +
							   sizeof(sets))
		       ?: add(c, event)
		       ?: add(c, &empty);
}

static int add_any(struct posixtrace_log_writer *c, const struct ptrc_live_event *event)
{
	uint64_t filter[PTRC_SET_WORD_COUNT];

	if (ptrc_sequencer_learn(event->id_flags & PTRC_REC_ID_MASK, event->data, event->len,
				 filter) &&
	    memcmp(filter, nothing, sizeof(filter)) != 0)
		return add_filter(c, event);
	return add(c, event);
}

int ptrc_log_copy_add(struct posixtrace_log_writer *c, const struct posixtrace_event *event)
{
	const struct posix_trace_event_info *info = &event->pt_info;
	trace_event_id_t id = info->posix_event_id;
	struct ptrc_live_event e = {.origin = {.pid = info->posix_pid,
					       .tid = info->posix_tid,
					       .thread = (uint64_t)info->posix_thread_id},
				    .addr = (uint64_t)(uintptr_t)info->posix_prog_address,
				    .data = event->pt_data,
				    .len = (uint32_t)event->pt_size,
				    .id_flags = id};

	if (c->error)
		return c->error;
	if (!ptrc_timespec_to_ns(&info->posix_timestamp, &e.ns) || e.ns < c->last_ns ||
	    (unsigned)info->posix_truncation_status > POSIX_TRACE_TRUNCATED_READ ||
	    !ptrc_set_is_id(id) || event->pt_size > PTRC_REC_LEN_MAX ||
	    (id >= PTRC_ID_FIRST && id - PTRC_ID_FIRST >= ptrc_names_object_count(c->writer.names)))
		return EINVAL;
	if (info->posix_truncation_status != POSIX_TRACE_NOT_TRUNCATED)
		e.id_flags |= PTRC_REC_TRUNCATED;
	/* Events of the same time keep their order only within one flush, so a flush ends only
	 * before an event of a later time. */
	if ((c->events.used >= WAITING_BYTES || c->event_count >= WAITING_EVENTS) &&
	    e.ns > c->last_ns)
		c->error = write_waiting(c);
	if (c->error)
		return c->error;
	return note_pid(c, info->posix_pid) ? ENOMEM : add_any(c, &e);
}

/* ---- origins ---- */

/* Whether a and b are the same machine since the same boot, so that a pid means the same on
 * both. */
static bool is_same_machine(const struct posixtrace_log_host *a,
			    const struct posixtrace_log_host *b)
{
	return *a->ph_boot_id && !strcmp(a->ph_boot_id, b->ph_boot_id) &&
	       !strcmp(a->ph_machine_id, b->ph_machine_id) && !strcmp(a->ph_name, b->ph_name);
}

/* The results of ptrc_log_aside_put() are ignored: the log can do without descriptions, and if the
 * disk is full, writing the next events reports the error. */
int ptrc_log_copy_add_whose(struct posixtrace_log_writer *c, const struct ptrc_log_whose *whose)
{
	struct posixtrace_log_host host;
	bool has_host = !ptrc_log_whose_host(whose, &host);

	if (c->has_host && has_host && !is_same_machine(&c->host, &host))
		return EXDEV;
	/* The limit for descriptions grows with the log, so the waiting events are written
	 * first. */
	c->error = c->error ?: write_waiting(c);
	if (c->error)
		return c->error;
	if (has_host && !c->has_host) {
		c->has_host = true;
		c->host = host;
		ptrc_log_aside_put(&c->writer, PTRC_LOG_HOST, whose->host, whose->host_bytes);
	}
	for (size_t i = 0; i < whose->process_count; i++) {
		const struct ptrc_log_whose_process *p = &whose->processes[i];

		if (!has_pid(c, p->head.pid))
			continue;
		ptrc_log_aside_put(&c->writer, PTRC_LOG_PROCESS, p->payload, p->length);
		for (size_t k = 0; k < p->addition_count; k++)
			ptrc_log_aside_put(&c->writer, PTRC_LOG_PROCESS, p->additions[k].payload,
					   p->additions[k].length);
	}
	for (size_t i = 0; i < whose->thread_count; i++) {
		size_t first = i;

		while (i + 1 < whose->thread_count && i + 1 - first < PTRC_LOG_THREADS_MAX &&
		       whose->threads[i + 1].pid == whose->threads[i].pid)
			i++;
		if (has_pid(c, whose->threads[i].pid))
			ptrc_log_aside_put(&c->writer, PTRC_LOG_THREADS, &whose->threads[first],
					   (i + 1 - first) * sizeof(whose->threads[0]));
	}
	for (size_t i = 0; i < whose->clock_count; i++)
		ptrc_log_aside_put(&c->writer, PTRC_LOG_CLOCK, &whose->clocks[i],
				   sizeof(whose->clocks[i]));
	return 0;
}

static struct ptrc_log_status status_of(const struct ptrc_counts *counts)
{
	return (struct ptrc_log_status){
		.flags = counts->pt_is_source_uncounted ? PTRC_LOG_SOURCE_UNCOUNTED : 0,
		.stream_overrun = counts->pt_lost_events != 0,
		.log_overrun = counts->pt_log_lost_events != 0,
		.lost_events = counts->pt_lost_events,
		.log_lost_events = counts->pt_log_lost_events,
		.unobserved_events =
			(uint32_t)ptrc_log_at_most(counts->pt_unobserved_events, UINT32_MAX),
		.untraced_processes =
			(uint32_t)ptrc_log_at_most(counts->pt_untraced_processes, UINT32_MAX),
		.untraced_error = (uint16_t)counts->pt_untraced_error,
		.untraced_versions = (uint16_t)counts->pt_untraced_versions,
		.refused_names = (uint32_t)ptrc_log_at_most(counts->pt_refused_names, UINT32_MAX),
		.data_needed = (uint32_t)ptrc_log_at_most(counts->pt_data_needed, UINT32_MAX),
		.source_damaged_parts =
			(uint16_t)ptrc_log_at_most(counts->pt_source_damaged_parts, UINT16_MAX),
		.source_damaged_events = counts->pt_source_damaged_events,
		.missed_events = counts->pt_source_missed_events,
	};
}

int ptrc_log_copy_close(struct posixtrace_log_writer *c, const struct ptrc_counts *lost)
{
	struct ptrc_log_status losses = status_of(lost);
	int error = c->error ?: write_waiting(c);

	if (!error && ptrc_names_object_count(c->writer.names))
		error = ptrc_log_names_write(&c->writer);
	error = error ?: ptrc_log_writer_close(&c->writer, &losses);
	ptrc_log_copy_free(c);
	return error;
}

/* ---- a log in memory ---- */

int ptrc_log_copy_begin(const struct ptrc_stream_header *stream,
			const struct ptrc_names_object *names, struct posixtrace_log_writer **copy)
{
	struct posixtrace_log_writer *c;
	int error = make(-1, &stream->attr, &c);

	if (error)
		return error;
	c->writer.trace.target_pid = stream->target_pid;
	c->writer.trace.controller_pid = stream->controller_pid;
	c->writer.names = names;
	c->writer.origin = stream;
	c->error = ptrc_log_writer_head(&c->writer) ?: ptrc_log_names_write(&c->writer);
	*copy = c;
	return 0;
}

int ptrc_log_copy_take(struct posixtrace_log_writer *c, const struct ptrc_live_event *event)
{
	struct ptrc_live_event e = *event;

	e.id_flags &= PTRC_REC_ID_MASK | PTRC_REC_TRUNCATED;
	/* A packet has its events in the order of time. A thread that was stopped in the middle of
	 * its event call may record an event that is earlier than the last one; that event starts
	 * another packet. */
	if (!c->error && e.ns < c->last_ns)
		c->error = write_waiting(c);
	c->error = c->error ?: add_any(c, &e);
	return c->error;
}

bool ptrc_log_copy_is_large(const struct posixtrace_log_writer *c)
{
	return c->part.used + c->events.used >= PART_BYTES;
}

int ptrc_log_copy_status(struct posixtrace_log_writer *c,
			 const struct posix_trace_status_info *info,
			 const struct ptrc_counts *counts, bool is_end)
{
	struct ptrc_log_status status = status_of(counts);

	status.stream_full = info->posix_stream_full_status == POSIX_TRACE_FULL;
	status.stream_overrun = info->posix_stream_overrun_status == POSIX_TRACE_OVERRUN;
	status.flush_error = (uint32_t)info->posix_stream_flush_error;
	status.log_overrun = info->posix_log_overrun_status == POSIX_TRACE_OVERRUN;
	status.log_full = info->posix_log_full_status == POSIX_TRACE_FULL;
	status.waits = counts->pt_waits;
	status.wait_ns = counts->pt_wait_ns;
	ptrc_log_buffer_clear(&c->writer.out);
	c->error = c->error ?: ptrc_log_writer_put_status(&c->writer, status, is_end);
	c->error = c->error ?: ptrc_log_append(&c->writer);
	return c->error;
}

int ptrc_log_copy_part(struct posixtrace_log_writer *c, const void **bytes, size_t *size)
{
	c->error = c->error ?: write_waiting(c);
	*bytes = c->part.bytes;
	*size = c->part.used;
	return c->error;
}

int ptrc_log_copy_names(struct posixtrace_log_writer *c)
{
	c->error = c->error ?: ptrc_log_names_write(&c->writer);
	return c->error;
}

void ptrc_log_copy_next_part(struct posixtrace_log_writer *c)
{
	ptrc_log_buffer_clear(&c->part);
}
