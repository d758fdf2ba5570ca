/* SPDX-License-Identifier: MIT */
/*
 * The contents of a trace_attr_t. The header of a stream holds the same structure, where other
 * programs read it, so it is plain data of fixed size, without pointers or padding.
 */
#ifndef PTRC_LIB_MODEL_ATTR_H
#define PTRC_LIB_MODEL_ATTR_H

#include <stdbool.h>
#include <stdint.h>
#include <trace.h>

#include "lib/base/common.h"

#define PTRC_ATTR_MAGIC UINT64_C(0x3152545441525450) /* "PTRATTR1" */

#define PTRC_ATTR_TEXT_BYTES 256

/* The largest overhead of a record in bytes, and the size of the data of the largest system event
 * (two event sets). posix_trace_attr_getmaxusereventsize() and
 * posix_trace_attr_getmaxsystemeventsize() compute their results from these. */
#define PTRC_ATTR_EVENT_OVERHEAD UINT64_C(64)
#define PTRC_ATTR_SYSTEM_DATA_MAX (2 * sizeof(trace_event_set_t))

#define PTRC_ATTR_DATA_SIZE_DEFAULT UINT64_C(4096)
/* A stream of this size holds some ten thousand small events, and 64 such streams fit in a small
 * /dev/shm. */
#define PTRC_ATTR_STREAM_SIZE_DEFAULT UINT64_C(1048576)
#define PTRC_ATTR_LOG_SIZE_DEFAULT UINT64_C(67108864)

/* Every stream has room for a START, the smallest user event and a STOP. */
#define PTRC_ATTR_STREAM_SIZE_FLOOR                                                          \
	((PTRC_ATTR_EVENT_OVERHEAD + sizeof(trace_event_set_t)) + PTRC_ATTR_EVENT_OVERHEAD + \
	 (PTRC_ATTR_EVENT_OVERHEAD + 8))

/* Every log with a limit of size has room for a START and a STOP. For this limit, 8 bytes are
 * counted for each event in addition to its data (ptrc_packed_counted). */
#define PTRC_ATTR_LOG_SIZE_FLOOR ((8 + sizeof(trace_event_set_t)) + (8 + sizeof(int)))

struct ptrc_attr {
	uint64_t magic;			       /* PTRC_ATTR_MAGIC in an initialised object */
	char name[PTRC_ATTR_TEXT_BYTES];       /* zero terminated, 254 bytes at most */
	char genversion[PTRC_ATTR_TEXT_BYTES]; /* zero terminated, 254 bytes at most */
	/* creation of the stream, CLOCK_REALTIME; 0: the attributes are not those of a stream */
	int64_t createtime_sec;
	int64_t createtime_nsec;
	int64_t clockres_sec;
	int64_t clockres_nsec;
	int32_t inherited;	    /* POSIX_TRACE_CLOSE_FOR_CHILD or _INHERITED */
	int32_t log_full_policy;    /* POSIX_TRACE_LOOP, _UNTIL_FULL or _APPEND */
	int32_t stream_full_policy; /* POSIX_TRACE_LOOP, _UNTIL_FULL or _FLUSH; 0: not set */
	int32_t is_stream_size_set; /* the caller has set stream_min_size */
	uint64_t max_data_size;
	uint64_t stream_min_size;
	uint64_t log_max_size;
	uint64_t full_wait_ns; /* how long an event waits for room in a FLUSH stream */
	/* The log continues in a new file when the current file has this many bytes, or is this
	 * old; 0: never. */
	uint64_t log_rotate_bytes, log_rotate_ns;
	/* number of files of the log to keep; older ones are removed; 0: all are kept */
	uint64_t log_keep;
	/* may_alias: the application accesses this memory as a trace_attr_t. */
} __attribute__((may_alias));

PTRC_ASSERT_OFFSET(struct ptrc_attr, name, 8);
PTRC_ASSERT_OFFSET(struct ptrc_attr, genversion, 264);
PTRC_ASSERT_OFFSET(struct ptrc_attr, createtime_sec, 520);
PTRC_ASSERT_OFFSET(struct ptrc_attr, inherited, 552);
PTRC_ASSERT_OFFSET(struct ptrc_attr, max_data_size, 568);
PTRC_ASSERT_SIZE(struct ptrc_attr, 624);
PTRC_ASSERT_SIZE(trace_attr_t, 768);
PTRC_ASSERT_SIZE(trace_event_set_t, 1032);
_Static_assert(sizeof(struct ptrc_attr) <= sizeof(trace_attr_t), "attributes fit");
_Static_assert(_Alignof(struct ptrc_attr) <= _Alignof(trace_attr_t), "attributes align");
_Static_assert(PTRC_ATTR_TEXT_BYTES >= TRACE_NAME_MAX, "names fit");
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "sizes are kept as 64 bits");

/* Returns EINVAL if attr is NULL or not initialised, else 0. */
PTRC_MUST_CHECK int ptrc_attr_check(const trace_attr_t *attr);

/* The result may be used only if ptrc_attr_check(attr) returns 0. */
static inline const struct ptrc_attr *ptrc_attr_get(const trace_attr_t *attr)
{
	return (const struct ptrc_attr *)attr;
}

/* Whether the log is rotated: continued in another file from time to time. */
static inline bool ptrc_attr_rotates(const struct ptrc_attr *a)
{
	return a->log_rotate_bytes || a->log_rotate_ns;
}

static inline struct ptrc_attr *ptrc_attr_edit(trace_attr_t *attr)
{
	return (struct ptrc_attr *)attr;
}

void ptrc_attr_defaults(struct ptrc_attr *out);

/* Stores the most stream memory, in bytes, that a user event with data_len bytes of data can take;
 * data beyond max_data_size is truncated. EINVAL: the size overflows. */
PTRC_MUST_CHECK int ptrc_attr_user_event_size(uint64_t max_data_size, uint64_t data_len,
					      uint64_t *size);

/*
 * Stores the attributes of a stream that is created with the attributes object attr_or_null (NULL:
 * with the defaults). Policies and sizes that were not set get their defaults; version and clock
 * are those of this library. The creation time is 0; the caller sets it. *out is written on success
 * only.
 *   EINVAL  the object is not initialised; POSIX_TRACE_FLUSH without a log; log-max-size of a
 *           bounded log below PTRC_ATTR_LOG_SIZE_FLOOR; rotation of a log with a policy other
 *           than POSIX_TRACE_APPEND.
 *   ENOMEM  the stream size that max-data-size asks for does not fit in size_t.
 */
PTRC_MUST_CHECK int ptrc_attr_resolve(const trace_attr_t *attr_or_null, bool has_log,
				      struct ptrc_attr *out);

/* Checks attributes that come from a log or shared memory. EINVAL: the magic word, a text, a time
 * or a policy has a value that attributes of a stream never have. */
PTRC_MUST_CHECK int ptrc_attr_validate(const struct ptrc_attr *in);

/* Initialises *attr, the object of the application, with the members of *in. */
void ptrc_attr_export(const struct ptrc_attr *in, trace_attr_t *attr);

#endif
