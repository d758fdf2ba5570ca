/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/model/attr.h"

#include <errno.h>
#include <posixtrace.h>
#include <string.h>
#include <time.h>

_Static_assert(__builtin_strcmp(POSIXTRACE_VERSION, PACKAGE_VERSION) == 0, "one version");
#define GENVERSION "posixtrace " PACKAGE_VERSION
_Static_assert(sizeof(GENVERSION) <= TRACE_NAME_MAX, "version fits");

int ptrc_attr_check(const trace_attr_t *attr)
{
	if (!attr || ptrc_attr_get(attr)->magic != PTRC_ATTR_MAGIC)
		return EINVAL;
	return 0;
}

static void set_origin(struct ptrc_attr *out)
{
	struct timespec res = {0, 1};

	clock_getres(CLOCK_REALTIME, &res);
	out->magic = PTRC_ATTR_MAGIC;
	memset(out->genversion, 0, sizeof(out->genversion));
	memcpy(out->genversion, GENVERSION, sizeof(GENVERSION));
	out->createtime_sec = out->createtime_nsec = 0;
	out->clockres_sec = res.tv_sec;
	out->clockres_nsec = res.tv_nsec;
}

void ptrc_attr_defaults(struct ptrc_attr *out)
{
	memset(out, 0, sizeof(*out));
	set_origin(out);
	out->inherited = POSIX_TRACE_CLOSE_FOR_CHILD;
	out->log_full_policy = POSIX_TRACE_LOOP;
	out->max_data_size = PTRC_ATTR_DATA_SIZE_DEFAULT;
	out->stream_min_size = PTRC_ATTR_STREAM_SIZE_DEFAULT;
	out->log_max_size = PTRC_ATTR_LOG_SIZE_DEFAULT;
}

int ptrc_attr_user_event_size(uint64_t max_data_size, uint64_t data_len, uint64_t *size)
{
	uint64_t kept = data_len < max_data_size ? data_len : max_data_size;

	if (kept > UINT64_MAX - 7 - PTRC_ATTR_EVENT_OVERHEAD)
		return EINVAL;
	*size = PTRC_ATTR_EVENT_OVERHEAD + ((kept + 7) & ~UINT64_C(7));
	return 0;
}

int ptrc_attr_resolve(const trace_attr_t *attr_or_null, bool has_log, struct ptrc_attr *out)
{
	struct ptrc_attr new;
	bool is_bounded;

	ptrc_attr_defaults(&new);
	if (attr_or_null) {
		if (ptrc_attr_check(attr_or_null))
			return EINVAL;
		new = *ptrc_attr_get(attr_or_null);
		/* If the object was read from a log, its version and clock resolution come from the
		 * stream of that log. The values of this library replace them. */
		set_origin(&new);
	}
	if (!new.stream_full_policy)
		new.stream_full_policy = has_log ? POSIX_TRACE_FLUSH : POSIX_TRACE_LOOP;
	if (new.stream_full_policy == POSIX_TRACE_FLUSH && !has_log)
		return EINVAL;

	if (has_log && ptrc_attr_rotates(&new) && new.log_full_policy != POSIX_TRACE_APPEND)
		return EINVAL;
	is_bounded = has_log && new.log_full_policy != POSIX_TRACE_APPEND;
	if (is_bounded && new.log_max_size < PTRC_ATTR_LOG_SIZE_FLOOR)
		return EINVAL;

	if (!new.is_stream_size_set) {
		uint64_t one, four;

		if (ptrc_attr_user_event_size(new.max_data_size, UINT64_MAX, &one) ||
		    __builtin_mul_overflow(one, 4, &four))
			return ENOMEM;
		if (new.stream_min_size < four)
			new.stream_min_size = four;
	}
	if (new.stream_min_size < PTRC_ATTR_STREAM_SIZE_FLOOR)
		new.stream_min_size = PTRC_ATTR_STREAM_SIZE_FLOOR;
	/* If a program creates another stream with the attributes of this one
	 * (posix_trace_get_attr()), that stream gets the same size, not a default. */
	new.is_stream_size_set = 1;

	*out = new;
	return 0;
}

static bool is_text(const char text[PTRC_ATTR_TEXT_BYTES])
{
	return memchr(text, '\0', TRACE_NAME_MAX);
}

static bool is_time(int64_t sec, int64_t nsec)
{
	return sec >= 0 && nsec >= 0 && nsec < 1000000000;
}

int ptrc_attr_validate(const struct ptrc_attr *in)
{
	if (in->magic != PTRC_ATTR_MAGIC || !is_text(in->name) || !is_text(in->genversion))
		return EINVAL;
	if (!is_time(in->createtime_sec, in->createtime_nsec) ||
	    !is_time(in->clockres_sec, in->clockres_nsec))
		return EINVAL;
	if (in->inherited != POSIX_TRACE_CLOSE_FOR_CHILD && in->inherited != POSIX_TRACE_INHERITED)
		return EINVAL;
	if (in->log_full_policy != POSIX_TRACE_LOOP &&
	    in->log_full_policy != POSIX_TRACE_UNTIL_FULL &&
	    in->log_full_policy != POSIX_TRACE_APPEND)
		return EINVAL;
	if (in->stream_full_policy != POSIX_TRACE_LOOP &&
	    in->stream_full_policy != POSIX_TRACE_UNTIL_FULL &&
	    in->stream_full_policy != POSIX_TRACE_FLUSH)
		return EINVAL;
	return 0;
}

void ptrc_attr_export(const struct ptrc_attr *in, trace_attr_t *attr)
{
	struct ptrc_attr *out = ptrc_attr_edit(attr);

	memset(attr, 0, sizeof(*attr));
	memcpy(attr, in, sizeof(*in));
	out->magic = PTRC_ATTR_MAGIC;
	out->name[TRACE_NAME_MAX - 1] = '\0';
	out->genversion[TRACE_NAME_MAX - 1] = '\0';
}
