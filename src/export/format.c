/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/export/format.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/message.h"
#include "src/fields/when.h"

int64_t ptrc_export_start_ns(const struct ptrc_export *x)
{
	const struct ptrc_period *trace = &x->query->trace;

	return trace->first <= trace->last ? trace->first : 0;
}

uint64_t ptrc_export_since_start(const struct ptrc_export *x, int64_t ns)
{
	int64_t start = ptrc_export_start_ns(x);

	return ns > start ? (uint64_t)ptrc_when_subtract(ns, start) : 0;
}

/* ---- threads and processes ---- */

/* Whether --label gives the two logs different hosts. */
static bool has_other_label(const struct ptrc_source *a, const struct ptrc_source *b)
{
	const char *label = a->reader.label, *other = b->reader.label;

	return label && other && strcmp(label, other) != 0;
}

bool ptrc_export_begin_lanes(struct ptrc_export *x)
{
	struct ptrc_lanes *l = &x->pairs->spans.lanes;
	const struct ptrc_query *q = x->query;
	struct posixtrace_log_host *hosts = ptrc_cli_allocate(q->source_count * sizeof(*hosts));
	size_t count = 0;

	l->lane_size = sizeof(struct ptrc_export_lane);
	l->machines = ptrc_cli_allocate(q->source_count * sizeof(*l->machines));
	for (size_t i = 0; i < q->source_count; i++) {
		bool is_known = !posixtrace_log_get_host(q->sources[i].reader.trace, &hosts[i],
							 sizeof(*hosts));
		size_t same = i;

		for (size_t k = 0; k < i && is_known && same == i; k++)
			if (ptrc_hosts_is_same_machine(&hosts[i], &hosts[k]) &&
			    !has_other_label(&q->sources[i], &q->sources[k]))
				same = k;
		l->machines[i] = same < i ? l->machines[same] : count++;
	}
	free(hosts);
	if (count > PTRC_LANE_MACHINES)
		ptrc_cli_message(NULL, "the logs are of %zu machines, and there may be %d", count,
				 (int)PTRC_LANE_MACHINES);
	return count <= PTRC_LANE_MACHINES;
}

/* Puts the latest name that the log has for the process, because viewers show a single name for the whole time. */
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

static struct ptrc_export_process *find_process(struct ptrc_export *x, int32_t pid,
						const struct ptrc_reader *r)
{
	struct ptrc_export_process *p =
		ptrc_table_find(&x->processes, &pid, sizeof(pid), sizeof(*p));
	size_t prefix;

	if (p->number)
		return p;
	p->pid = pid;
	p->number = x->processes.count;
	if (r->label)
		ptrc_buffer_format(&p->name, "%s: ", r->label);
	prefix = p->name.used;
	if (r->event.posix_pid)
		take_process_name(&p->name, r);
	else
		ptrc_buffer_text(&p->name, "trace system");
	if (p->name.used == prefix)
		ptrc_buffer_format(&p->name, "process %d", (int)r->event.posix_pid);
	return p;
}

struct ptrc_export_lane *ptrc_export_lane(struct ptrc_export *x)
{
	const struct ptrc_reader *r = &x->source->reader;
	const struct posix_trace_event_info *e = &r->event;
	struct ptrc_lanes *l = &x->pairs->spans.lanes;
	struct ptrc_export_lane *lane = (struct ptrc_export_lane *)ptrc_lanes_find(l, x->source);
	uint32_t first;

	if (lane->number)
		return lane;
	/* Unsigned, because the pid of a damaged log may be any number, and the sum may wrap around. */
	first = (uint32_t)l->machines[x->source->order] * PTRC_LANE_MACHINE_STEP;
	lane->pid = (int32_t)(first + (uint32_t)e->posix_pid);
	lane->tid = (int32_t)(first + (uint32_t)e->posix_tid);
	lane->process = find_process(x, lane->pid, r);
	lane->number = lane->lane.number + 1;
	if (e->posix_pid)
		take_thread_name(&lane->name, r);
	return lane;
}

void ptrc_export_free_lanes(struct ptrc_export *x)
{
	struct ptrc_lanes *l = &x->pairs->spans.lanes;

	for (size_t i = 0; i < l->count; i++) {
		struct ptrc_export_lane *lane = (struct ptrc_export_lane *)l->list[i];

		ptrc_buffer_free(&lane->name);
		ptrc_buffer_free(&lane->text);
	}
	for (struct ptrc_export_process *p = NULL; (p = ptrc_table_next(&x->processes, p));)
		ptrc_buffer_free(&p->name);
	ptrc_table_free(&x->processes);
}

void ptrc_export_put_thread(struct ptrc_buffer *b, const struct ptrc_export_lane *lane)
{
	if (lane->name.used)
		ptrc_buffer_bytes(b, lane->name.bytes, lane->name.used);
	else if (!lane->lane.pid)
		ptrc_buffer_text(b, "trace");
	else
		ptrc_buffer_format(b, "thread %d", (int)lane->lane.tid);
}
