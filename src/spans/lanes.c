/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/spans/lanes.h"

#include <stdlib.h>

#include "src/base/message.h"

struct ptrc_lane *ptrc_lanes_find(struct ptrc_lanes *l, struct ptrc_source *s)
{
	const struct posix_trace_event_info *e = &s->reader.event;
	size_t group = l->machines ? l->machines[s->order] : s->order;
	struct ptrc_lane **recent = &l->recent[(unsigned int)e->posix_tid % PTRC_LANES_RECENT];
	struct ptrc_lane *lane = *recent;
	struct {
		size_t group;
		pid_t pid, tid;
	} key = {group, e->posix_pid, e->posix_tid};

	if (lane && lane->tid == e->posix_tid && lane->pid == e->posix_pid && lane->group == group)
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
	lane->group = group;
	lane->pid = lane->is_rest ? 0 : e->posix_pid;
	lane->tid = lane->is_rest ? 0 : e->posix_tid;
	lane->number = l->count;
	*ptrc_append(l->list, l->count) = lane;
	return lane;
}

void ptrc_lanes_free(struct ptrc_lanes *l)
{
	free(l->list);
	free(l->machines);
	free(l->rest);
	ptrc_table_free(&l->table);
}
