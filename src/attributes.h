/* SPDX-License-Identifier: MIT */
/*
 * The attributes of a trace: as options of the commands that create one, and as values
 * read back from a stream or a log.
 */
#ifndef PTRC_SRC_ATTRIBUTES_H
#define PTRC_SRC_ATTRIBUTES_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <posixtrace.h>

#include "src/cli.h"

/* The options, to be the shared options of a command. */
extern const struct ptrc_cli_option ptrc_attributes_options[];

/*
 * The attributes that ptrace-run and ptrace-create begin with. They differ from the
 * standard's defaults in what a user of a command expects: children are traced too, and
 * no event leaves the log again, and bursts fit into the stream.
 */
int ptrc_attributes_init(trace_attr_t *);

/*
 * Applies one of the options above. 0, or ENOENT if the key is none of them; ends the
 * process for a bad value.
 */
int ptrc_attributes_option(trace_attr_t *, int key, const char *value);

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

/* The word that the options take for a policy; "unknown" for one that does not exist. */
const char *ptrc_attributes_stream_full_policy(int policy);
const char *ptrc_attributes_log_full_policy(int policy);
const char *ptrc_attributes_inheritance(int policy);

#endif
