/* SPDX-License-Identifier: MIT */
/* Writes logs of events that a test makes up, without a stream, and reads logs. A run is a sequence
 * of events of one thread. */
#ifndef TESTS_LOG_MAKER_H
#define TESTS_LOG_MAKER_H

#include "tests/support/harness.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <trace.h>

#include "lib/base/crc32c.h"
#include "lib/model/attr.h"
#include "lib/model/eventset.h"
#include "lib/log/log_write.h"
#include "lib/log/log_reader.h"
#include "lib/log/log_stream.h"

/* Event times in tests are nanoseconds after this one, which is 1,700,000,000 s after the Epoch. */
#define MAKER_EPOCH INT64_C(1700000000000000000)

struct maker {
	struct ptrc_stream_header *h;
	struct ptrc_names_object *names;
	struct ptrc_log_writer w;
	int fd;
	uint64_t next; /* the number that run_numbers() puts into the next event */
};

/* An event of a run. Its data follows it, padded to a multiple of 8. */
struct maker_event {
	int64_t ns;
	uint32_t id_flags, len;
};

/* Events of a thread, each a struct maker_event and its data. After a CONTEXT event, the thread is
 * the one in its data. */
struct maker_run {
	struct ptrc_context origin;
	uint32_t order;
	uint8_t *bytes;
	size_t used, size;
};

__attribute__((unused)) static inline int maker_file(void)
{
	return CHECK_SYS(memfd_create("log", MFD_CLOEXEC));
}

__attribute__((unused)) static inline struct ptrc_stream_header *maker_header(int policy,
									      size_t limit)
{
	struct ptrc_stream_header *h = aligned_alloc(64, PTRC_STREAM_PATTERN_OFFSET);
	trace_attr_t attr;

	CHECK(h);
	memset(h, 0, PTRC_STREAM_PATTERN_OFFSET);
	CHECK_OK(posix_trace_attr_init(&attr));
	CHECK_OK(posix_trace_attr_setname(&attr, "a made up trace"));
	CHECK_OK(posix_trace_attr_setlogfullpolicy(&attr, policy));
	CHECK_OK(posix_trace_attr_setlogsize(&attr, limit));
	CHECK_OK(ptrc_attr_resolve(&attr, true, &h->attr));
	h->attr.createtime_sec = MAKER_EPOCH / 1000000000;
	h->attr.createtime_nsec = 7;
	/* The version of another library: a log reports the version that wrote it, not the one that
	 * reads it. */
	strcpy(h->attr.genversion, "made up 9.9");
	h->id = UINT64_C(0x1122334455667788);
	h->target_pid = 41;
	h->controller_pid = 42;
	/* this user has no directory of shared objects, so readers look for no keeper */
	h->owner_uid = UINT32_MAX;
	h->log_policy = policy;
	h->has_log = 1;
	h->fsize_limit = RLIM_INFINITY;
	return h;
}

__attribute__((unused)) static inline void maker_open(struct maker *m, int fd, int policy,
						      size_t limit)
{
	memset(m, 0, sizeof(*m));
	m->h = maker_header(policy, limit);
	m->names = calloc(1, sizeof(*m->names));
	CHECK(m->names);
	m->fd = fd;
	CHECK_OK(ptrc_log_writer_init(&m->w, m->h, fd, false));
	m->w.names = m->names;
	CHECK_OK(ptrc_log_writer_head(&m->w));
}

/* A log in a new file. */
static inline struct maker maker_new(int policy, size_t limit)
{
	struct maker m;

	maker_open(&m, maker_file(), policy, limit);
	return m;
}

__attribute__((unused)) static inline void maker_name(struct maker *m, const char *name)
{
	strcpy(m->names->entry[m->names->count].name, name);
	m->names->entry[m->names->count].state = PTRC_NAMES_MADE;
	m->names->count++;
}

__attribute__((unused)) static inline void maker_close(struct maker *m)
{
	CHECK_OK(ptrc_log_writer_close(&m->w, NULL));
}

__attribute__((unused)) static inline void maker_free(struct maker *m)
{
	ptrc_log_writer_free(&m->w);
	free(m->names);
	free(m->h);
}

static inline void maker_end(struct maker *m)
{
	maker_free(m);
	close(m->fd);
}

/* The keeper dies, and another one begins where it had saved its state. */
static inline void maker_replace(struct maker *m)
{
	ptrc_log_writer_free(&m->w);
	CHECK_OK(ptrc_log_writer_init(&m->w, m->h, m->fd, true));
}

/* Starts a run of thread number `thread`; 0: the trace system. `order` is as in struct
 * ptrc_stretch. */
__attribute__((unused)) static inline void run_begin(struct maker_run *r, int thread,
						     uint32_t order)
{
	memset(r, 0, sizeof(*r));
	r->order = order;
	if (thread) {
		r->origin.pid = 100 + thread;
		r->origin.tid = 200 + thread;
		r->origin.thread = 0x7f0000000000 + (uint64_t)thread;
	}
}

static inline struct maker_run run_of(int thread, uint32_t order)
{
	struct maker_run r;

	run_begin(&r, thread, order);
	return r;
}

__attribute__((unused)) static inline void
run_event(struct maker_run *r, int64_t ns, uint32_t id_flags, const void *data, uint32_t len)
{
	struct maker_event e = {.ns = MAKER_EPOCH + ns, .id_flags = id_flags, .len = len};
	size_t need = r->used + sizeof(e) + ptrc_align8(len);

	if (need > r->size) {
		r->size = 2 * need;
		r->bytes = realloc(r->bytes, r->size);
		CHECK(r->bytes);
	}
	memset(r->bytes + r->used, 0, need - r->used);
	memcpy(r->bytes + r->used, &e, sizeof(e));
	if (len)
		memcpy(r->bytes + r->used + sizeof(e), data, len);
	r->used = need;
}

__attribute__((unused)) static inline void run_free(struct maker_run *r)
{
	free(r->bytes);
	memset(r, 0, sizeof(*r));
}

__attribute__((unused)) static inline void run_start(struct maker_run *r, int64_t ns)
{
	trace_event_set_t set;

	CHECK_OK(posix_trace_eventset_empty(&set));
	run_event(r, ns, POSIX_TRACE_START, &set, sizeof(set));
}

__attribute__((unused)) static inline void run_stop(struct maker_run *r, int64_t ns, int reason)
{
	run_event(r, ns, POSIX_TRACE_STOP, &reason, sizeof(reason));
}

__attribute__((unused)) static inline enum ptrc_stretch_kind maker_kind(uint32_t id)
{
	if (id == POSIX_TRACE_START || id == POSIX_TRACE_FILTER)
		return PTRC_STRETCH_FILTER;
	if (id == POSIX_TRACE_STOP)
		return PTRC_STRETCH_STOP;
	return id == POSIX_TRACE_FLUSH_START || id == POSIX_TRACE_FLUSH_STOP ? PTRC_STRETCH_MARKER
									     : PTRC_STRETCH_PLAIN;
}

/* Adds the events in the packer to the flush, as the stretch *s, and empties the packer. */
__attribute__((unused)) static inline int maker_add_packed(struct maker *m, struct ptrc_packer *p,
							   struct ptrc_stretch *s)
{
	int error = 0;

	ptrc_packer_end(p);
	s->first_ns = p->base_ns;
	s->last_ns = p->last_ns;
	s->packed = p->begin;
	s->bytes = (uint32_t)(p->out - p->begin);
	s->records = p->records;
	s->event_count = p->reported;
	s->counted = p->counted;
	s->largest = p->largest;
	s->sums = p->sums.sum;
	s->sum_count = p->sums.count;
	if (p->records)
		error = ptrc_log_events_add(&m->w, s);
	ptrc_packer_begin(p, p->begin);
	return error;
}

/* Adds a run to the flush, divided into stretches in the way of ptrc_drain_next(). */
__attribute__((unused)) static inline int maker_add(struct maker *m, const struct maker_run *r)
{
	struct ptrc_packer *p = calloc(1, sizeof(*p));
	uint8_t *out = malloc(2 * r->used + 64);
	struct ptrc_stretch s = {.origin = r->origin, .order = r->order};
	const uint8_t *at = r->bytes;
	size_t left = r->used;
	int error = 0;

	CHECK(p && out);
	ptrc_packer_begin(p, out);
	while (!error && left) {
		const uint8_t *data = at + sizeof(struct maker_event);
		enum ptrc_stretch_kind kind;
		struct maker_event e;

		memcpy(&e, at, sizeof(e));
		at = data + ptrc_align8(e.len);
		left -= sizeof(e) + ptrc_align8(e.len);
		kind = maker_kind(e.id_flags & PTRC_REC_ID_MASK);
		if (kind != PTRC_STRETCH_PLAIN || s.kind != PTRC_STRETCH_PLAIN ||
		    e.id_flags == PTRC_REC_CONTEXT)
			error = maker_add_packed(m, p, &s);
		if (e.id_flags == PTRC_REC_CONTEXT) {
			memcpy(&s.origin, data, sizeof(s.origin));
			continue;
		}
		s.kind = kind;
		ptrc_packer_add(
			p, e.ns,
			ptrc_packed_key(0x401000 + (e.id_flags & PTRC_REC_ID_MASK), e.id_flags),
			data, e.len);
	}
	if (!error)
		error = maker_add_packed(m, p, &s);
	free(out);
	free(p);
	return error;
}

/* Writes the runs to the log as one flush, and does not undo it if it fails. */
__attribute__((unused)) static inline int maker_write(struct maker *m, struct maker_run *runs,
						      size_t count)
{
	ptrc_log_events_begin(&m->w);
	m->w.names = m->names;
	int err = ptrc_log_names_write(&m->w);
	for (size_t i = 0; !err && i < count; i++)
		err = maker_add(m, &runs[i]);
	if (!err)
		err = ptrc_log_events_end(&m->w);
	return err;
}

__attribute__((unused)) static inline int maker_flush(struct maker *m, struct maker_run *runs,
						      size_t count)
{
	int err = maker_write(m, runs, count);

	if (err)
		ptrc_log_events_undo(&m->w);
	return err;
}

/* Adds `count` events to the run, 1 us apart. The data of each is the next number (m->next) and
 * `extra` more bytes. */
__attribute__((unused)) static inline void run_numbers(struct maker *m, struct maker_run *r,
						       size_t count, size_t extra)
{
	uint8_t data[4096 + 8] = {0};

	for (size_t i = 0; i < count; i++) {
		memcpy(data, &m->next, 8);
		memset(data + 8, (int)m->next, extra);
		run_event(r, (int64_t)m->next * 1000, 10, data, (uint32_t)(8 + extra));
		m->next++;
	}
}

/* Writes the runs to the log as one flush, and frees them. */
__attribute__((unused)) static inline void flush_runs(struct maker *m, struct maker_run *runs,
						      size_t count)
{
	CHECK_OK(maker_flush(m, runs, count));
	for (size_t i = 0; i < count; i++)
		run_free(&runs[i]);
}

__attribute__((unused)) static inline void flush_run(struct maker *m, struct maker_run *r)
{
	flush_runs(m, r, 1);
}

/* Writes to the log, as one flush, a run of thread 1 from run_numbers(). */
__attribute__((unused)) static inline void flush_numbers(struct maker *m, size_t count,
							 size_t extra)
{
	struct maker_run r;

	run_begin(&r, 1, 1);
	run_numbers(m, &r, count, extra);
	flush_run(m, &r);
}

/* ---- files ---- */

__attribute__((unused)) static inline size_t size_of(int fd)
{
	struct stat st;

	CHECK_SYS(fstat(fd, &st));
	return (size_t)st.st_size;
}

__attribute__((unused)) static inline uint8_t *bytes_of(int fd, size_t *size)
{
	*size = size_of(fd);
	uint8_t *bytes = malloc(*size + 1);
	CHECK(bytes);
	CHECK_EQ(pread(fd, bytes, *size, 0), *size);
	return bytes;
}

__attribute__((unused)) static inline void flip(int fd, uint64_t offset, uint8_t bits)
{
	uint8_t byte;

	CHECK_EQ(pread(fd, &byte, 1, (off_t)offset), 1);
	byte ^= bits;
	CHECK_EQ(pwrite(fd, &byte, 1, (off_t)offset), 1);
}

/* Computes the checksums of the packet at `offset` again, after a test has changed its bytes. */
__attribute__((unused)) static inline void sign(uint8_t *bytes, size_t size, size_t offset)
{
	struct ptrc_log_packet h;

	memcpy(&h, bytes + offset, sizeof(h));
	if (h.length <= size - offset - sizeof(h))
		h.payload_crc = ptrc_crc32c(0, bytes + offset + sizeof(h), h.length);
	if (h.sums_bytes <= size - offset - sizeof(h))
		h.sums_crc = ptrc_crc32c(0, bytes + offset + sizeof(h), h.sums_bytes);
	h.header_crc = ptrc_crc32c(0, &h, offsetof(struct ptrc_log_packet, header_crc));
	memcpy(bytes + offset, &h, sizeof(h));
}

/* ---- reading ---- */

struct seen {
	struct posix_trace_event_info info;
	uint8_t data[8192];
	size_t len;
	int unavailable;
};

__attribute__((unused)) static inline bool next_seen(struct ptrc_log_stream *l, struct seen *s)
{
	CHECK_OK(ptrc_log_stream_getnext(l, &s->info, s->data, sizeof(s->data), &s->len,
					 &s->unavailable));
	return !s->unavailable;
}

/* Reads the next event, which must have this identifier. */
#define CHECK_SEEN(l, s, id)                            \
	do {                                            \
		CHECK(next_seen(l, s));                 \
		CHECK_EQ((s)->info.posix_event_id, id); \
	} while (0)

/* Nothing may be left to read. Closes the log. */
#define CHECK_END(l)                           \
	do {                                   \
		struct seen behind;            \
                                               \
		CHECK(!next_seen(l, &behind)); \
		ptrc_log_stream_close(l);      \
	} while (0)

__attribute__((unused)) static inline int64_t seen_ns(const struct seen *s)
{
	return (int64_t)s->info.posix_timestamp.tv_sec * 1000000000 +
	       s->info.posix_timestamp.tv_nsec - MAKER_EPOCH;
}

__attribute__((unused)) static inline uint64_t seen_number(const struct seen *s)
{
	uint64_t n;

	CHECK_GE(s->len, 8);
	memcpy(&n, s->data, 8);
	return n;
}

__attribute__((unused)) static inline struct ptrc_log_stream *log_open(int fd)
{
	struct ptrc_log_stream *l = NULL;

	CHECK_OK(ptrc_log_stream_open_all(&fd, 1, false, &l));
	return l;
}

/* Closes the log, and opens it to be read. */
static inline struct ptrc_log_stream *maker_read(struct maker *m)
{
	maker_close(m);
	return log_open(m->fd);
}

static inline struct ptrc_counts read_counts(struct ptrc_log_stream *l)
{
	struct ptrc_counts counts;

	ptrc_log_stream_counts(l, &counts);
	return counts;
}

static inline struct ptrc_counts counts_in(int fd)
{
	struct ptrc_log_stream *l = log_open(fd);
	struct ptrc_counts counts = read_counts(l);

	ptrc_log_stream_close(l);
	return counts;
}

#endif
