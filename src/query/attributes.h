/* SPDX-License-Identifier: MIT */
/* The attributes of a trace: the defaults of commands that create traces, and the attributes that a stream or
 * a log has. src/config/configuration.h has the settings by which users change the defaults. */
#ifndef PTRC_SRC_QUERY_ATTRIBUTES_H
#define PTRC_SRC_QUERY_ATTRIBUTES_H

#include <stdint.h>
#include <time.h>
#include <trace.h>

/* A policy (of the stream, the log, or inheritance): the words for its values, with NULL after the last word,
 * and the constant in <trace.h> for each word. */
struct ptrc_attributes_policy {
	const char *words[4];
	int values[3];
};

extern const struct ptrc_attributes_policy ptrc_attributes_stream_full_policies;
extern const struct ptrc_attributes_policy ptrc_attributes_log_full_policies;
extern const struct ptrc_attributes_policy ptrc_attributes_inheritance_policies;

/* The word for a value of the policy, or "unknown". */
const char *ptrc_attributes_word(const struct ptrc_attributes_policy *, int value);

/* Stores the default attributes of ptrace-run and ptrace-create. They are those of the library, but children
 * are traced, too, the log never drops events, and the stream is large enough for bursts. Returns an error of
 * posix_trace_attr_init(). */
int ptrc_attributes_init(trace_attr_t *attr);

/* The attributes of a stream or a log. A session, the process that controls a stream in the
 * background, sends this structure to its clients, so its layout must not change. */
struct ptrc_attributes {
	char trace_name[TRACE_NAME_MAX + 1];
	char generation_version[TRACE_NAME_MAX + 1];
	int64_t creation_s;
	int64_t creation_ns;
	int64_t clock_resolution_ns;
	uint64_t stream_min_size;
	uint64_t max_data_size;
	uint64_t log_max_size;
	uint64_t full_wait_ns;
	/* The size in bytes and the age at which a log is continued in another file (rotation); 0:
	 * never. */
	uint64_t log_rotate_bytes;
	uint64_t log_rotate_ns;
	/* The number of files of a rotated log that are kept; 0: all. */
	uint64_t log_keep;
	int32_t stream_full_policy;
	int32_t log_full_policy;
	int32_t inheritance;
	int32_t reserved;
};

/* Fills in *a from an active stream or an open log. Returns an error of posix_trace_get_attr(). */
int ptrc_attributes_gather(trace_id_t, struct ptrc_attributes *a);

#endif
