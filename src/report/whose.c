/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/report/whose.h"

bool ptrc_report_process(const struct ptrc_report_lane *lane, unsigned long *index,
			 struct posixtrace_log_process *p)
{
	struct timespec shown = ptrc_when_timespec(lane->last_ns);
	struct timespec last = ptrc_reader_log_time_of(&lane->lane.source->reader, &shown);
	trace_id_t trace = lane->lane.source->reader.trace;

	return !lane->lane.is_rest &&
	       !posixtrace_log_find_process(trace, lane->lane.pid, &last, index) &&
	       !posixtrace_log_get_process(trace, *index, p, sizeof(*p));
}

bool ptrc_report_thread(const struct ptrc_report_lane *lane, struct posixtrace_log_thread *t)
{
	struct timespec shown = ptrc_when_timespec(lane->last_ns);
	struct timespec last = ptrc_reader_log_time_of(&lane->lane.source->reader, &shown);

	return !lane->lane.is_rest &&
	       ptrc_reader_find_thread(&lane->lane.source->reader, lane->lane.pid, lane->lane.tid,
				       &last, t);
}

void ptrc_report_put_lane(struct ptrc_buffer *b, const struct ptrc_report_lane *lane)
{
	struct posixtrace_log_process p;
	struct posixtrace_log_thread t;
	unsigned long index;

	ptrc_buffer_format(b, "process %ld", (long)lane->lane.pid);
	if (ptrc_report_process(lane, &index, &p) && p.pp_name_size) {
		ptrc_buffer_char(b, ' ');
		ptrc_text_put(b, p.pp_name, p.pp_name_size);
	}
	ptrc_buffer_format(b, ", thread %ld", (long)lane->lane.tid);
	if (ptrc_report_thread(lane, &t)) {
		ptrc_buffer_char(b, ' ');
		ptrc_text_put(b, t.pt_name, t.pt_name_size);
	}
}
