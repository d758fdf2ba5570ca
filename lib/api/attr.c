/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <posixtrace-control.h>
#include <string.h>
#include <trace.h>

#include "lib/base/common.h"
#include "lib/base/timespec.h"
#include "lib/model/attr.h"

/* Defines a getter. The statement `get` stores an attribute of `a` in *value. */
#define GETTER(function, type, get)                                     \
	PTRC_PUBLIC int function(const trace_attr_t *attr, type *value) \
	{                                                               \
		const struct ptrc_attr *a = ptrc_attr_get(attr);        \
                                                                        \
		if (ptrc_attr_check(attr) || !value)                    \
			return EINVAL;                                  \
		get;                                                    \
		return 0;                                               \
	}

/* Defines a setter. If the condition is_valid is true, the statement `set` changes `a`. */
#define SETTER(function, type, is_valid, set)                    \
	PTRC_PUBLIC int function(trace_attr_t *attr, type value) \
	{                                                        \
		struct ptrc_attr *a = ptrc_attr_edit(attr);      \
                                                                 \
		if (ptrc_attr_check(attr) || !(is_valid))        \
			return EINVAL;                           \
		set;                                             \
		return 0;                                        \
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

GETTER(posix_trace_attr_getclockres, struct timespec,
       *value = ((struct timespec){a->clockres_sec, a->clockres_nsec}))
GETTER(posix_trace_attr_getcreatetime, struct timespec,
       *value = ((struct timespec){a->createtime_sec, a->createtime_nsec}))
GETTER(posix_trace_attr_getgenversion, char, strcpy(value, a->genversion))
GETTER(posix_trace_attr_getname, char, strcpy(value, a->name))

/* Keeps at most TRACE_NAME_MAX - 1 bytes of the name: by the standard, the buffer for
 * posix_trace_attr_getname() has TRACE_NAME_MAX bytes, including the zero byte. */
static void set_name(struct ptrc_attr *a, const char *name)
{
	size_t len = strnlen(name, TRACE_NAME_MAX - 1);

	/* Not memcpy(): `name` may point into a->name, if the caller passes a part of the object
	 * itself. */
	memmove(a->name, name, len);
	memset(a->name + len, 0, sizeof(a->name) - len);
}

SETTER(posix_trace_attr_setname, const char *, value, set_name(a, value))

GETTER(posix_trace_attr_getinherited, int, *value = a->inherited)
GETTER(posix_trace_attr_getlogfullpolicy, int, *value = a->log_full_policy)
/* If no policy was set, stores LOOP, the default of a stream without a log. For a stream with a log
 * the default is FLUSH, but attributes do not say whether a stream will have a log. */
GETTER(posix_trace_attr_getstreamfullpolicy, int,
       *value = a->stream_full_policy ? a->stream_full_policy : POSIX_TRACE_LOOP)
SETTER(posix_trace_attr_setinherited, int,
       value == POSIX_TRACE_CLOSE_FOR_CHILD || value == POSIX_TRACE_INHERITED, a->inherited = value)
SETTER(posix_trace_attr_setlogfullpolicy, int,
       value == POSIX_TRACE_LOOP || value == POSIX_TRACE_UNTIL_FULL || value == POSIX_TRACE_APPEND,
       a->log_full_policy = value)
SETTER(posix_trace_attr_setstreamfullpolicy, int,
       value == POSIX_TRACE_LOOP || value == POSIX_TRACE_UNTIL_FULL || value == POSIX_TRACE_FLUSH,
       a->stream_full_policy = value)

GETTER(posix_trace_attr_getlogsize, size_t, *value = a->log_max_size)
GETTER(posix_trace_attr_getmaxdatasize, size_t, *value = a->max_data_size)
GETTER(posix_trace_attr_getstreamsize, size_t, *value = a->stream_min_size)
SETTER(posix_trace_attr_setlogsize, size_t, true, a->log_max_size = value)
SETTER(posix_trace_attr_setmaxdatasize, size_t, true, a->max_data_size = value)
SETTER(posix_trace_attr_setstreamsize, size_t, true,
       (a->stream_min_size = value, a->is_stream_size_set = 1))

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

static bool is_duration(const struct timespec *t)
{
	return t && t->tv_sec >= 0 && ptrc_timespec_is_valid(t);
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

GETTER(posixtrace_attr_getfullwait, struct timespec, *value = to_timespec(a->full_wait_ns))
SETTER(posixtrace_attr_setfullwait, const struct timespec *, is_duration(value),
       a->full_wait_ns = (uint64_t)ptrc_timespec_ns(value))

static bool is_rotation(const struct posixtrace_log_rotation *r)
{
	return r && is_duration(&r->pt_time) && (r->pt_time.tv_sec || !r->pt_time.tv_nsec) &&
	       (!r->pt_bytes || r->pt_bytes >= POSIXTRACE_LOG_ROTATION_MIN) && r->pt_keep != 1;
}

GETTER(posixtrace_attr_getlogrotation, struct posixtrace_log_rotation,
       *value = ((struct posixtrace_log_rotation){.pt_bytes = a->log_rotate_bytes,
						  .pt_time = to_timespec(a->log_rotate_ns),
						  .pt_keep = a->log_keep}))
SETTER(posixtrace_attr_setlogrotation, const struct posixtrace_log_rotation *, is_rotation(value),
       (a->log_rotate_bytes = value->pt_bytes, a->log_keep = value->pt_keep,
	a->log_rotate_ns = (uint64_t)ptrc_timespec_ns(&value->pt_time)))
