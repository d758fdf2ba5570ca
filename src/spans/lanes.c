/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/spans/lanes.h"

#include <stdlib.h>

#include "src/base/message.h"

struct key {
	size_t group;
	pid_t pid, tid;
};

static struct key key_of(const struct ptrc_lanes *l, const struct ptrc_source *s, pid_t tid)
{
	return (struct key){.group = l->machines ? l->machines[s->order] : s->order,
			    .pid = s->reader.event.posix_pid,
			    .tid = tid};
}

struct ptrc_lane *ptrc_lanes_seek(const struct ptrc_lanes *l, const struct ptrc_source *s,
				  pid_t tid)
{
	struct key key = key_of(l, s, tid);

	return ptrc_table_seek(&l->table, &key, sizeof(key));
}

struct ptrc_lane *ptrc_lanes_find(struct ptrc_lanes *l, struct ptrc_source *s)
{
	const struct posix_trace_event_info *e = &s->reader.event;
	struct ptrc_lane **recent = &l->recent[(unsigned int)e->posix_tid % PTRC_LANES_RECENT];
	struct ptrc_lane *lane = *recent;
	struct key key = key_of(l, s, e->posix_tid);

	if (lane && lane->tid == key.tid && lane->pid == key.pid && lane->group == key.group)
		return lane;
	if (l->max && l->count >= l->max)
		lane = ptrc_table_seek(&l->table, &key, sizeof(key));
	else
		lane = ptrc_table_find(&l->table, &key, sizeof(key), l->lane_size);
	if (lane) {
		*recent = lane;
	} else {
		if (!l->rest)
			l->rest = ptrc_cli_allocate(l->lane_size);
		lane = l->rest;
		lane->is_rest = true;
	}
	if (lane->source)
		return lane;
	lane->source = s;
	lane->group = key.group;
	lane->pid = lane->is_rest ? 0 : e->posix_pid;
	lane->tid = lane->is_rest ? 0 : e->posix_tid;
	lane->number = l->count;
	*ptrc_append(l->list, l->count) = lane;
	return lane;
}

bool ptrc_lane_process(const struct ptrc_lane *lane, int64_t ns, unsigned long *index,
		       struct posixtrace_log_process *p)
{
	struct timespec shown = ptrc_when_timespec(ns), time;
	trace_id_t trace;

	if (lane->is_rest)
		return false;
	time = ptrc_reader_log_time_of(&lane->source->reader, &shown);
	trace = lane->source->reader.trace;
	return !posixtrace_log_find_process(trace, lane->pid, &time, index) &&
	       !posixtrace_log_get_process(trace, *index, p, sizeof(*p));
}

bool ptrc_lane_thread(const struct ptrc_lane *lane, int64_t ns, struct posixtrace_log_thread *t)
{
	struct timespec shown = ptrc_when_timespec(ns), time;

	if (lane->is_rest)
		return false;
	time = ptrc_reader_log_time_of(&lane->source->reader, &shown);
	return ptrc_reader_find_thread(&lane->source->reader, lane->pid, lane->tid, &time, t);
}

void ptrc_lane_put_process(struct ptrc_buffer *b, const struct ptrc_lane *lane, int64_t ns)
{
	struct posixtrace_log_process p;
	unsigned long index;

	ptrc_buffer_format(b, "process %ld", (long)lane->pid);
	if (ptrc_lane_process(lane, ns, &index, &p) && p.pp_name_size) {
		ptrc_buffer_char(b, ' ');
		ptrc_text_put(b, p.pp_name, p.pp_name_size);
	}
}

void ptrc_lane_put_thread(struct ptrc_buffer *b, const struct ptrc_lane *lane, int64_t ns)
{
	struct posixtrace_log_thread t;

	ptrc_buffer_format(b, "thread %ld", (long)lane->tid);
	if (ptrc_lane_thread(lane, ns, &t)) {
		ptrc_buffer_char(b, ' ');
		ptrc_text_put(b, t.pt_name, t.pt_name_size);
	}
}

void ptrc_lane_put(struct ptrc_buffer *b, const struct ptrc_lane *lane, int64_t ns)
{
	ptrc_lane_put_process(b, lane, ns);
	ptrc_buffer_text(b, ", ");
	ptrc_lane_put_thread(b, lane, ns);
}

void ptrc_lanes_free(struct ptrc_lanes *l)
{
	free(l->list);
	free(l->machines);
	free(l->rest);
	ptrc_table_free(&l->table);
}
