/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/spans/lanes.h"

#include <stdlib.h>
#include <string.h>

#include "src/cli/message.h"

bool ptrc_lanes_begin(struct ptrc_lanes *l, const struct ptrc_query *q)
{
	struct posixtrace_log_host *hosts = ptrc_cli_allocate(q->source_count * sizeof(*hosts));
	size_t count = 0;

	l->machines = ptrc_cli_allocate(q->source_count * sizeof(*l->machines));
	memset(hosts, 0, q->source_count * sizeof(*hosts));
	for (size_t i = 0; i < q->source_count; i++) {
		bool is_known = !posixtrace_log_get_host(q->sources[i].reader.trace, &hosts[i],
							 sizeof(*hosts));
		size_t same = i;

		for (size_t k = 0; k < i && is_known && same == i; k++)
			if (ptrc_hosts_is_same_machine(&hosts[i], &hosts[k]))
				same = k;
		l->machines[i] = same < i ? l->machines[same] : count++;
	}
	free(hosts);
	if (count > PTRC_LANE_MACHINES)
		ptrc_cli_message(NULL, "the logs are of %zu machines, and there may be %d", count,
				 (int)PTRC_LANE_MACHINES);
	return count <= PTRC_LANE_MACHINES;
}

/* Takes the names that the log tells last: viewers are told one for all of the time. */
static void take_process_name(struct ptrc_buffer *to, const struct ptrc_reader *r)
{
	struct posixtrace_log_process p;

	if (ptrc_reader_find_process(r, r->event.posix_pid, &p) && p.pp_is_known)
		ptrc_buffer_bytes(to, p.pp_name, p.pp_name_size);
}

static void take_thread_name(struct ptrc_buffer *to, const struct ptrc_reader *r)
{
	const struct posix_trace_event_info *e = &r->event;
	struct posixtrace_log_thread t;

	if (e->posix_tid == e->posix_pid)
		take_process_name(to, r);
	else if (ptrc_reader_find_thread(r, e->posix_pid, e->posix_tid, ptrc_reader_log_time(r),
					 &t))
		ptrc_buffer_bytes(to, t.pt_name, t.pt_name_size);
}

/* Says of which host the process is, which has this number if it has no name. */
static void put_host(struct ptrc_buffer *name, const struct ptrc_reader *r, int32_t pid)
{
	struct ptrc_buffer of_host = PTRC_BUFFER_INIT;

	ptrc_buffer_text(&of_host, r->label);
	ptrc_buffer_text(&of_host, ": ");
	if (name->used)
		ptrc_buffer_bytes(&of_host, name->bytes, name->used);
	else
		ptrc_buffer_format(&of_host, "process %d", (int)pid);
	ptrc_buffer_free(name);
	*name = of_host;
}

static struct ptrc_lane_process *find_process(struct ptrc_lanes *l, int32_t pid,
					      const struct ptrc_reader *r)
{
	struct ptrc_lane_process *p;

	for (size_t i = 0; i < l->process_count; i++)
		if (l->processes[i]->pid == pid)
			return l->processes[i];
	p = ptrc_cli_allocate(sizeof(*p));
	*p = (struct ptrc_lane_process){.pid = pid, .number = l->process_count + 1};
	if (r->event.posix_pid)
		take_process_name(&p->name, r);
	else
		ptrc_buffer_text(&p->name, "trace system");
	if (r->label)
		put_host(&p->name, r, pid);
	*ptrc_append(l->processes, l->process_count) = p;
	return p;
}

struct ptrc_lane *ptrc_lanes_find(struct ptrc_lanes *l, struct ptrc_source *s)
{
	const struct posix_trace_event_info *e = &s->reader.event;
	uint32_t first = (uint32_t)l->machines[s->order] * PTRC_LANE_MACHINE_STEP;
	/* A damaged log may have any numbers. */
	int32_t key[] = {(int32_t)(first + (uint32_t)e->posix_pid),
			 (int32_t)(first + (uint32_t)e->posix_tid)};
	struct ptrc_lane *lane = ptrc_table_find(&l->table, key, sizeof(key), sizeof(*lane));

	if (lane->number)
		return lane;
	lane->process = find_process(l, key[0], &s->reader);
	lane->pid = key[0];
	lane->tid = key[1];
	if (e->posix_pid)
		take_thread_name(&lane->name, &s->reader);
	*ptrc_append(l->list, l->count) = lane;
	lane->number = l->count;
	return lane;
}

void ptrc_lanes_free(struct ptrc_lanes *l)
{
	for (size_t i = 0; i < l->count; i++) {
		ptrc_buffer_free(&l->list[i]->name);
		ptrc_buffer_free(&l->list[i]->text);
	}
	for (size_t i = 0; i < l->process_count; i++) {
		ptrc_buffer_free(&l->processes[i]->name);
		free(l->processes[i]);
	}
	free(l->list);
	free(l->processes);
	free(l->machines);
	ptrc_table_free(&l->table);
}

void ptrc_lane_put_process(struct ptrc_buffer *b, const struct ptrc_lane_process *p)
{
	if (p->name.used)
		ptrc_buffer_bytes(b, p->name.bytes, p->name.used);
	else
		ptrc_buffer_format(b, "process %d", (int)p->pid);
}

void ptrc_lane_put_thread(struct ptrc_buffer *b, const struct ptrc_lane *lane)
{
	if (lane->name.used)
		ptrc_buffer_bytes(b, lane->name.bytes, lane->name.used);
	else if (!lane->pid)
		ptrc_buffer_text(b, "trace");
	else
		ptrc_buffer_format(b, "thread %d", (int)lane->tid);
}
