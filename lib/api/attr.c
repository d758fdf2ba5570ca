/* SPDX-License-Identifier: MIT */
/* posix_trace_attr_init, _destroy, and the getters and setters of the attributes, ours included. */
#include "config.h"

#include <errno.h>
#include <posixtrace-control.h>
#include <string.h>
#include <trace.h>

#include "lib/base/common.h"
#include "lib/model/attr.h"

/* Define posix_trace_attr_get<name>(attr, value). The statement `get` stores an attribute of `a`
 * in *value. */
#define GETTER(name, type, get)                                                           \
	PTRC_PUBLIC int posix_trace_attr_get##name(const trace_attr_t *attr, type *value) \
	{                                                                                 \
		const struct ptrc_attr *a = ptrc_attr_get(attr);                          \
                                                                                          \
		if (ptrc_attr_check(attr) || !value)                                      \
			return EINVAL;                                                    \
		get;                                                                      \
		return 0;                                                                 \
	}

/* Define posix_trace_attr_set<name>(attr, value). The statement `set` changes `a`, if the value
 * is valid. */
#define SETTER(name, type, is_valid, set)                                          \
	PTRC_PUBLIC int posix_trace_attr_set##name(trace_attr_t *attr, type value) \
	{                                                                          \
		struct ptrc_attr *a = ptrc_attr_edit(attr);                        \
                                                                                   \
		if (ptrc_attr_check(attr) || !(is_valid))                          \
			return EINVAL;                                             \
		set;                                                               \
		return 0;                                                          \
	}

PTRC_PUBLIC int posix_trace_attr_init(trace_attr_t *attr)
{
	struct ptrc_attr fields;

	if (!attr)
		return EINVAL;
	ptrc_attr_defaults(&fields);
	ptrc_attr_export(&fields, attr);
	return 0;
}

PTRC_PUBLIC int posix_trace_attr_destroy(trace_attr_t *attr)
{
	if (ptrc_attr_check(attr))
		return EINVAL;
	memset(attr, 0, sizeof(*attr));
	return 0;
}

GETTER(clockres, struct timespec, *value = ((struct timespec){a->clockres_sec, a->clockres_nsec}))
GETTER(createtime, struct timespec,
       *value = ((struct timespec){a->createtime_sec, a->createtime_nsec}))
GETTER(genversion, char, strcpy(value, a->genversion))
GETTER(name, char, strcpy(value, a->name))

/* A name has at most TRACE_NAME_MAX - 1 bytes: the standard gives getname a buffer of
 * TRACE_NAME_MAX bytes, in which the null byte needs room, too. */
static void set_name(struct ptrc_attr *a, const char *name)
{
	size_t len = strnlen(name, TRACE_NAME_MAX - 1);

	/* memmove, because the caller's string may be the name in this very object. */
	memmove(a->name, name, len);
	memset(a->name + len, 0, sizeof(a->name) - len);
}

SETTER(name, const char *, value, set_name(a, value))

GETTER(inherited, int, *value = a->inherited)
GETTER(logfullpolicy, int, *value = a->log_full_policy)
/* The default of a logged stream is FLUSH, but the object does not know for which kind of stream
 * it will be used. */
GETTER(streamfullpolicy, int,
       *value = a->stream_full_policy ? a->stream_full_policy : POSIX_TRACE_LOOP)
SETTER(inherited, int, value == POSIX_TRACE_CLOSE_FOR_CHILD || value == POSIX_TRACE_INHERITED,
       a->inherited = value)
SETTER(logfullpolicy, int,
       value == POSIX_TRACE_LOOP || value == POSIX_TRACE_UNTIL_FULL || value == POSIX_TRACE_APPEND,
       a->log_full_policy = value)
SETTER(streamfullpolicy, int,
       value == POSIX_TRACE_LOOP || value == POSIX_TRACE_UNTIL_FULL || value == POSIX_TRACE_FLUSH,
       a->stream_full_policy = value)

GETTER(logsize, size_t, *value = a->log_max_size)
GETTER(maxdatasize, size_t, *value = a->max_data_size)
GETTER(streamsize, size_t, *value = a->stream_min_size)
SETTER(logsize, size_t, true, a->log_max_size = value)
SETTER(maxdatasize, size_t, true, a->max_data_size = value)
SETTER(streamsize, size_t, true, (a->stream_min_size = value, a->is_stream_size_set = 1))

PTRC_PUBLIC int posix_trace_attr_getmaxsystemeventsize(const trace_attr_t *attr, size_t *eventsize)
{
	if (ptrc_attr_check(attr) || !eventsize)
		return EINVAL;
	*eventsize = PTRC_ATTR_EVENT_OVERHEAD + PTRC_ATTR_SYSTEM_DATA_MAX;
	return 0;
}

PTRC_PUBLIC int posix_trace_attr_getmaxusereventsize(const trace_attr_t *attr, size_t data_len,
						     size_t *eventsize)
{
	uint64_t size;
	int error;

	if (ptrc_attr_check(attr) || !eventsize)
		return EINVAL;
	error = ptrc_attr_user_event_size(ptrc_attr_get(attr)->max_data_size, data_len, &size);
	if (!error)
		*eventsize = size;
	return error;
}

/* Times are kept as ns, as many as fit in 63 bits. */
#define SECOND_NS INT64_C(1000000000)

/* EINVAL: negative, or tv_nsec is none. */
static int to_ns(const struct timespec *t, uint64_t *ns)
{
	int64_t sum;

	if (t->tv_sec < 0 || t->tv_nsec < 0 || t->tv_nsec >= SECOND_NS)
		return EINVAL;
	if (__builtin_mul_overflow(t->tv_sec, SECOND_NS, &sum) ||
	    __builtin_add_overflow(sum, t->tv_nsec, &sum))
		sum = INT64_MAX;
	*ns = (uint64_t)sum;
	return 0;
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / SECOND_NS),
				 .tv_nsec = (long)(ns % SECOND_NS)};
}

PTRC_PUBLIC int posixtrace_attr_setfullwait(trace_attr_t *attr, const struct timespec *wait)
{
	uint64_t ns;

	if (ptrc_attr_check(attr) || !wait || to_ns(wait, &ns))
		return EINVAL;
	ptrc_attr_edit(attr)->full_wait_ns = ns;
	return 0;
}

PTRC_PUBLIC int posixtrace_attr_getfullwait(const trace_attr_t *attr, struct timespec *wait)
{
	if (ptrc_attr_check(attr) || !wait)
		return EINVAL;
	*wait = to_timespec(ptrc_attr_get(attr)->full_wait_ns);
	return 0;
}

PTRC_PUBLIC int posixtrace_attr_setlogrotation(trace_attr_t *attr,
					       const struct posixtrace_log_rotation *rotation)
{
	struct ptrc_attr *a = ptrc_attr_edit(attr);
	uint64_t ns;

	if (ptrc_attr_check(attr) || !rotation || to_ns(&rotation->pt_time, &ns) ||
	    (ns && ns < SECOND_NS) ||
	    (rotation->pt_bytes && rotation->pt_bytes < POSIXTRACE_LOG_ROTATION_MIN) ||
	    rotation->pt_keep == 1)
		return EINVAL;
	a->log_rotate_bytes = rotation->pt_bytes;
	a->log_rotate_ns = ns;
	a->log_keep = rotation->pt_keep;
	return 0;
}

PTRC_PUBLIC int posixtrace_attr_getlogrotation(const trace_attr_t *attr,
					       struct posixtrace_log_rotation *rotation)
{
	const struct ptrc_attr *a = ptrc_attr_get(attr);

	if (ptrc_attr_check(attr) || !rotation)
		return EINVAL;
	*rotation = (struct posixtrace_log_rotation){.pt_bytes = a->log_rotate_bytes,
						     .pt_time = to_timespec(a->log_rotate_ns),
						     .pt_keep = a->log_keep};
	return 0;
}
