/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/api/figures.h"

#include <string.h>

#include "lib/base/common.h"

/* The figures that posixtrace_get_counts() reports, in this order. Programs rely on names and
 * order, so no name ever changes, and new figures are added at the end. */
static const struct {
	const char *name;
	size_t at;
} figures[] = {
	{"lost_events", offsetof(struct ptrc_counts, pt_lost_events)},
	{"log_lost_events", offsetof(struct ptrc_counts, pt_log_lost_events)},
	{"unobserved_events", offsetof(struct ptrc_counts, pt_unobserved_events)},
	{"log_events", offsetof(struct ptrc_counts, pt_log_events)},
	{"log_bytes", offsetof(struct ptrc_counts, pt_log_bytes)},
	{"stream_bytes", offsetof(struct ptrc_counts, pt_stream_bytes)},
	{"processes", offsetof(struct ptrc_counts, pt_processes)},
	{"threads", offsetof(struct ptrc_counts, pt_threads)},
	{"gap_events", offsetof(struct ptrc_counts, pt_gap_events)},
	{"filtered_events", offsetof(struct ptrc_counts, pt_filtered_events)},
	{"made_up_events", offsetof(struct ptrc_counts, pt_made_up_events)},
	{"damaged_events", offsetof(struct ptrc_counts, pt_damaged_events)},
	{"damaged_gaps", offsetof(struct ptrc_counts, pt_damaged_gaps)},
	{"uncounted_gaps", offsetof(struct ptrc_counts, pt_uncounted_gaps)},
	{"untraced_processes", offsetof(struct ptrc_counts, pt_untraced_processes)},
	{"untraced_error", offsetof(struct ptrc_counts, pt_untraced_error)},
	{"refused_names", offsetof(struct ptrc_counts, pt_refused_names)},
	{"missing_names", offsetof(struct ptrc_counts, pt_missing_names)},
	{"waits", offsetof(struct ptrc_counts, pt_waits)},
	{"wait_ns", offsetof(struct ptrc_counts, pt_wait_ns)},
	{"skipped_events", offsetof(struct ptrc_counts, pt_skipped_events)},
	{"damaged_parts", offsetof(struct ptrc_counts, pt_damaged_parts)},
	{"source_damaged_events", offsetof(struct ptrc_counts, pt_source_damaged_events)},
	{"source_missed_events", offsetof(struct ptrc_counts, pt_source_missed_events)},
	{"is_source_uncounted", offsetof(struct ptrc_counts, pt_is_source_uncounted)},
	{"unwritten_events", offsetof(struct ptrc_counts, pt_unwritten_events)},
	{"files", offsetof(struct ptrc_counts, pt_files)},
	{"missing_files", offsetof(struct ptrc_counts, pt_missing_files)},
	{"earlier_files", offsetof(struct ptrc_counts, pt_earlier_files)},
	{"deleted_files", offsetof(struct ptrc_counts, pt_deleted_files)},
	{"earlier_events", offsetof(struct ptrc_counts, pt_earlier_events)},
	{"missing_events", offsetof(struct ptrc_counts, pt_missing_events)},
	{"file_gaps", offsetof(struct ptrc_counts, pt_file_gaps)},
	{"file_gap_events", offsetof(struct ptrc_counts, pt_file_gap_events)},
	{"source_damaged_parts", offsetof(struct ptrc_counts, pt_source_damaged_parts)},
	{"is_last_file_missing", offsetof(struct ptrc_counts, pt_is_last_file_missing)},
	{"data_needed", offsetof(struct ptrc_counts, pt_data_needed)},
	{"untraced_versions", offsetof(struct ptrc_counts, pt_untraced_versions)},
	{"rotation_error", offsetof(struct ptrc_counts, pt_rotation_error)},
	{"rotation_file", offsetof(struct ptrc_counts, pt_rotation_file)},
	{"ring_gap_events", offsetof(struct ptrc_counts, pt_ring_gap_events)},
};

_Static_assert(sizeof(struct ptrc_counts) == PTRC_ARRAY_COUNT(figures) * sizeof(unsigned long),
	       "each count is a figure");

size_t ptrc_figures_get(const struct ptrc_counts *counts, struct posixtrace_count *to, size_t size)
{
	for (size_t i = 0; i < PTRC_ARRAY_COUNT(figures) && i < size; i++) {
		to[i].pt_name = figures[i].name;
		memcpy(&to[i].pt_value, (const char *)counts + figures[i].at,
		       sizeof(to[i].pt_value));
	}
	return PTRC_ARRAY_COUNT(figures);
}

void ptrc_figures_set(struct ptrc_counts *counts, const struct posixtrace_count *figure)
{
	for (size_t i = 0; i < PTRC_ARRAY_COUNT(figures); i++)
		if (!strcmp(figure->pt_name, figures[i].name))
			memcpy((char *)counts + figures[i].at, &figure->pt_value,
			       sizeof(figure->pt_value));
}
