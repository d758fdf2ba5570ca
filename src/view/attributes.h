/* SPDX-License-Identifier: MIT */
/*
 * The attributes of a trace: with what the commands begin, and as values read back from a
 * stream or a log. What users say of them is in configuration.h.
 */
#ifndef PTRC_SRC_VIEW_ATTRIBUTES_H
#define PTRC_SRC_VIEW_ATTRIBUTES_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <posixtrace.h>

/* Words for a constant of <trace.h>; the lists in parallel, the words ending with
 * null. */
struct ptrc_attributes_policy {
	const char *words[4];
	int values[3];
};

extern const struct ptrc_attributes_policy ptrc_attributes_stream_full_policies;
extern const struct ptrc_attributes_policy ptrc_attributes_log_full_policies;
extern const struct ptrc_attributes_policy ptrc_attributes_inheritance_policies;

/* The word of a value; "unknown" for one that does not exist. */
const char *ptrc_attributes_word(const struct ptrc_attributes_policy *, int value);

/*
 * The attributes that ptrace-run and ptrace-create begin with. They differ from the
 * standard's defaults in what a user of a command expects: children are traced too, and
 * no event leaves the log again, and bursts fit into the stream.
 */
int ptrc_attributes_init(trace_attr_t *);

/* What a stream or a log has. Sent from a session to its clients, hence the fixed
 * sizes. */
struct ptrc_attributes {
	char trace_name[TRACE_NAME_MAX + 1];
	char generation_version[TRACE_NAME_MAX + 1];
	int64_t creation_s;
	int64_t creation_ns;
	int64_t clock_resolution_ns;
	uint64_t stream_min_size;
	uint64_t max_data_size;
	uint64_t log_max_size;
	int32_t stream_full_policy;
	int32_t log_full_policy;
	int32_t inheritance;
	int32_t reserved;
};

/* Fills *a from an active stream or an open log. An error number of
 * posix_trace_get_attr(). */
int ptrc_attributes_gather(trace_id_t, struct ptrc_attributes *a);

/* The same by attribute. */
const char *ptrc_attributes_stream_full_policy(int policy);
const char *ptrc_attributes_log_full_policy(int policy);
const char *ptrc_attributes_inheritance(int policy);

#endif
