/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/spans/lanes.h"

#include <stdlib.h>

#include "src/cli/message.h"

struct ptrc_lane *ptrc_lanes_find(struct ptrc_lanes *l, struct ptrc_source *s)
{
	const struct posix_trace_event_info *e = &s->reader.event;
	struct {
		size_t group;
		pid_t pid, tid;
	} key = {l->machines ? l->machines[s->order] : s->order, e->posix_pid, e->posix_tid};
	bool is_full = l->max && l->count >= l->max;
	struct ptrc_lane *lane =
		is_full ? ptrc_table_seek(&l->table, &key, sizeof(key))
			: ptrc_table_find(&l->table, &key, sizeof(key), l->lane_size);

	if (!lane && !l->rest) {
		l->rest = ptrc_cli_allocate(l->lane_size);
		l->rest->is_rest = true;
	}
	if (!lane)
		lane = l->rest;
	if (lane->source)
		return lane;
	lane->source = s;
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
