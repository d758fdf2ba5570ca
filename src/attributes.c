/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/attributes.h"

#include <errno.h>
#include <string.h>

enum {
	KEY_NAME = PTRC_CLI_KEY_SHARED,
	KEY_STREAM_MIN_SIZE,
	KEY_STREAM_FULL_POLICY,
	KEY_MAX_DATA_SIZE,
	KEY_INHERITANCE,
	KEY_LOG_MAX_SIZE,
	KEY_LOG_FULL_POLICY,
};

const struct ptrc_cli_option ptrc_attributes_options[] = {
	{"name", KEY_NAME, "NAME", "name of the trace"},
	{"stream-min-size", KEY_STREAM_MIN_SIZE, "SIZE",
	 "bytes of events that the stream holds at least\n(default: 8M)"},
	{"stream-full-policy", KEY_STREAM_FULL_POLICY, "POLICY",
	 "what happens when the stream is full: loop,\n"
	 "until-full or flush (default: flush with a log,\n"
	 "loop without)"},
	{"max-data-size", KEY_MAX_DATA_SIZE, "SIZE",
	 "cut the data of an event to so many bytes\n(default: 4K)"},
	{"inheritance", KEY_INHERITANCE, "POLICY",
	 "trace the children of a traced process\n"
	 "(inherited, the default) or not\n(close-for-child)"},
	{"log-max-size", KEY_LOG_MAX_SIZE, "SIZE",
	 "bytes of events that the log holds at most, unless\n"
	 "its policy is append (default: 64M)"},
	{"log-full-policy", KEY_LOG_FULL_POLICY, "POLICY",
	 "what happens when the log is full: loop or\n"
	 "until-full; or append, the default: it never is"},
	PTRC_CLI_OPTIONS_END,
};

/* Words for a constant of <trace.h>; the lists in parallel, the words ending with
 * null. */
struct policy {
	const char *words[4];
	int values[3];
};

static const struct policy stream_full_policies = {
	{"loop", "until-full", "flush", NULL},
	{POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH},
};

static const struct policy log_full_policies = {
	{"loop", "until-full", "append", NULL},
	{POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND},
};

static const struct policy inheritance_policies = {
	{"close-for-child", "inherited", NULL, NULL},
	{POSIX_TRACE_CLOSE_FOR_CHILD, POSIX_TRACE_INHERITED, -1},
};

/*
 * Bytes of a stream, unless told otherwise. A busy thread fills the library's default in
 * some milliseconds, which is less than a keeper may have to wait for a processor; this
 * one lasts through that, and several still fit into the /dev/shm of a container.
 */
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

static int value_of(const char *option, const struct policy *p, const char *word)
{
	return p->values[ptrc_cli_word(option, word, p->words)];
}

static const char *word_of(const struct policy *p, int value)
{
	for (int i = 0; p->words[i]; i++)
		if (p->values[i] == value)
			return p->words[i];
	return "unknown";
}

int ptrc_attributes_option(trace_attr_t *attr, int key, const char *value)
{
	switch (key) {
	case KEY_NAME:
		if (strlen(value) >= TRACE_NAME_MAX)
			ptrc_cli_usage("--name", "the name is longer than %d bytes",
				       TRACE_NAME_MAX - 1);
		return posix_trace_attr_setname(attr, value);
	case KEY_STREAM_MIN_SIZE:
		return posix_trace_attr_setstreamsize(
			attr, ptrc_cli_size("--stream-min-size", value));
	case KEY_STREAM_FULL_POLICY:
		return posix_trace_attr_setstreamfullpolicy(
			attr,
			value_of("--stream-full-policy", &stream_full_policies, value));
	case KEY_MAX_DATA_SIZE:
		return posix_trace_attr_setmaxdatasize(
			attr, ptrc_cli_size("--max-data-size", value));
	case KEY_INHERITANCE:
		return posix_trace_attr_setinherited(
			attr, value_of("--inheritance", &inheritance_policies, value));
	case KEY_LOG_MAX_SIZE:
		return posix_trace_attr_setlogsize(
			attr, ptrc_cli_size("--log-max-size", value));
	case KEY_LOG_FULL_POLICY:
		return posix_trace_attr_setlogfullpolicy(
			attr, value_of("--log-full-policy", &log_full_policies, value));
	default:
		return ENOENT;
	}
}

int ptrc_attributes_gather(trace_id_t trace, struct ptrc_attributes *a)
{
	struct timespec created = {0};
	struct timespec resolution = {0};
	size_t stream_size = 0;
	size_t data_size = 0;
	size_t log_size = 0;
	int stream_policy = 0;
	int log_policy = 0;
	int inheritance = 0;
	trace_attr_t attr;
	int error = posix_trace_get_attr(trace, &attr);

	if (error)
		return error;
	memset(a, 0, sizeof(*a));
	/* None of these can fail for an object that was just filled in. */
	posix_trace_attr_getname(&attr, a->trace_name);
	posix_trace_attr_getgenversion(&attr, a->generation_version);
	posix_trace_attr_getcreatetime(&attr, &created);
	posix_trace_attr_getclockres(&attr, &resolution);
	posix_trace_attr_getstreamsize(&attr, &stream_size);
	posix_trace_attr_getmaxdatasize(&attr, &data_size);
	posix_trace_attr_getlogsize(&attr, &log_size);
	posix_trace_attr_getstreamfullpolicy(&attr, &stream_policy);
	posix_trace_attr_getlogfullpolicy(&attr, &log_policy);
	posix_trace_attr_getinherited(&attr, &inheritance);
	posix_trace_attr_destroy(&attr);
	a->creation_s = created.tv_sec;
	a->creation_ns = created.tv_nsec;
	a->clock_resolution_ns = resolution.tv_sec * 1000000000 + resolution.tv_nsec;
	a->stream_min_size = stream_size;
	a->max_data_size = data_size;
	a->log_max_size = log_size;
	a->stream_full_policy = stream_policy;
	a->log_full_policy = log_policy;
	a->inheritance = inheritance;
	return 0;
}

const char *ptrc_attributes_stream_full_policy(int policy)
{
	return word_of(&stream_full_policies, policy);
}

const char *ptrc_attributes_log_full_policy(int policy)
{
	return word_of(&log_full_policies, policy);
}

const char *ptrc_attributes_inheritance(int policy)
{
	return word_of(&inheritance_policies, policy);
}
