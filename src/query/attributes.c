/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/query/attributes.h"

#include <posixtrace-control.h>
#include <string.h>

#include "src/fields/when.h"

const struct ptrc_attributes_policy ptrc_attributes_stream_full_policies = {
	{"loop", "until-full", "flush", NULL},
	{POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH},
};

const struct ptrc_attributes_policy ptrc_attributes_log_full_policies = {
	{"loop", "until-full", "append", NULL},
	{POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND},
};

const struct ptrc_attributes_policy ptrc_attributes_inheritance_policies = {
	{"close-for-child", "inherited", NULL, NULL},
	{POSIX_TRACE_CLOSE_FOR_CHILD, POSIX_TRACE_INHERITED, -1},
};

/* The default size of a stream in bytes, larger than that of the library: a busy thread fills the library's
 * default in some milliseconds, and the keeper, which empties the stream, may have to wait longer for a
 * processor. Several streams of this size fit into the /dev/shm of a container. */
enum { STREAM_SIZE = 8 << 20 };

int ptrc_attributes_init(trace_attr_t *attr)
{
	int error = posix_trace_attr_init(attr);

	if (!error)
		error = posix_trace_attr_setinherited(attr, POSIX_TRACE_INHERITED);
	if (!error)
		error = posix_trace_attr_setlogfullpolicy(attr, POSIX_TRACE_APPEND);
	if (!error)
		error = posix_trace_attr_setstreamsize(attr, STREAM_SIZE);
	return error;
}

const char *ptrc_attributes_word(const struct ptrc_attributes_policy *p, int value)
{
	for (int i = 0; p->words[i]; i++)
		if (p->values[i] == value)
			return p->words[i];
	return "unknown";
}

int ptrc_attributes_gather(trace_id_t trace, struct ptrc_attributes *a)
{
	struct timespec created = {0};
	struct timespec resolution = {0};
	struct timespec full_wait = {0};
	struct posixtrace_log_rotation rotation = {0};
	trace_attr_t attr;
	int error = posix_trace_get_attr(trace, &attr);

	if (error)
		return error;
	memset(a, 0, sizeof(*a));
	/* The posix_trace_attr_get functions fail only if the attributes object is not initialised. */
	posix_trace_attr_getname(&attr, a->trace_name);
	posix_trace_attr_getgenversion(&attr, a->generation_version);
	posix_trace_attr_getcreatetime(&attr, &created);
	posix_trace_attr_getclockres(&attr, &resolution);
	posix_trace_attr_getstreamsize(&attr, &a->stream_min_size);
	posix_trace_attr_getmaxdatasize(&attr, &a->max_data_size);
	posix_trace_attr_getlogsize(&attr, &a->log_max_size);
	posix_trace_attr_getstreamfullpolicy(&attr, &a->stream_full_policy);
	posix_trace_attr_getlogfullpolicy(&attr, &a->log_full_policy);
	posix_trace_attr_getinherited(&attr, &a->inheritance);
	posixtrace_attr_getfullwait(&attr, &full_wait);
	posixtrace_attr_getlogrotation(&attr, &rotation);
	posix_trace_attr_destroy(&attr);
	a->log_rotate_bytes = rotation.pt_bytes;
	a->log_rotate_ns = (uint64_t)ptrc_when_ns(&rotation.pt_time);
	a->log_keep = rotation.pt_keep;
	a->full_wait_ns = (uint64_t)ptrc_when_ns(&full_wait);
	a->creation_s = created.tv_sec;
	a->creation_ns = created.tv_nsec;
	a->clock_resolution_ns = ptrc_when_ns(&resolution);
	return 0;
}
