/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/ship/whose.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/message.h"
#include "src/ship/row.h"
#include "src/fields/when.h"
#include "src/query/view.h"

/* The kernel reports the start time of a process in ticks of this length. If the start time of one process is read
 * twice and converted to real time, the results differ by less than two ticks. */
#define TICK_NS INT64_C(10000000)
/* The number of bits of the largest process ID on Linux. */
enum { PID_BITS = 22 };

static uint64_t id_of(const struct posixtrace_log_process *p, int64_t start_ns)
{
	uint64_t ticks = p->pp_is_known && start_ns > 0 ? (uint64_t)(start_ns / TICK_NS) : 0;

	return ticks << PID_BITS | (uint32_t)p->pp_pid;
}

static void load_processes(struct ptrc_ship_whose *w, trace_id_t trace)
{
	struct posixtrace_log_process p;
	int64_t before_ns = 0;

	while (!posixtrace_log_get_process(trace, w->process_count, &p, sizeof(p))) {
		int64_t start_ns = p.pp_is_known ? ptrc_when_ns(&p.pp_start) : 0;
		struct ptrc_ship_process *own = ptrc_append(w->processes, w->process_count);
		bool is_same =
			own > w->processes && own[-1].pid == p.pp_pid &&
			(!p.pp_is_known || ptrc_when_distance(start_ns, before_ns) < 2 * TICK_NS);

		own->pid = p.pp_pid;
		own->id = is_same ? own[-1].id : id_of(&p, start_ns);
		if (!is_same)
			before_ns = start_ns;
	}
}

void ptrc_ship_whose_load(struct ptrc_ship_whose *w, struct ptrc_reader *r)
{
	struct posixtrace_log_clock c;

	if (posixtrace_log_get_host(r->trace, &w->host, sizeof(w->host)))
		memset(&w->host, 0, sizeof(w->host));
	load_processes(w, r->trace);
	while (!posixtrace_log_get_clock(r->trace, w->clock_count, &c, sizeof(c)))
		w->clock_count++;
	ptrc_hosts_begin(&w->hosts, &r, 1, false);
}

void ptrc_ship_whose_refresh(struct ptrc_ship_whose *w, struct ptrc_reader *r)
{
	struct posixtrace_log_process p;
	struct posixtrace_log_clock c;

	if (posixtrace_log_get_process(r->trace, w->process_count, &p, sizeof(p)) &&
	    posixtrace_log_get_clock(r->trace, w->clock_count, &c, sizeof(c)) && *w->host.ph_name)
		return;
	ptrc_ship_whose_free(w);
	*w = (struct ptrc_ship_whose){0};
	ptrc_ship_whose_load(w, r);
}

void ptrc_ship_whose_free(struct ptrc_ship_whose *w)
{
	free(w->processes);
	ptrc_hosts_free(&w->hosts);
}

uint64_t ptrc_ship_whose_process(const struct ptrc_ship_whose *w, trace_id_t trace, int32_t pid,
				 int64_t ns)
{
	const struct timespec time = ptrc_when_timespec(ns);
	unsigned long index;

	if (posixtrace_log_find_process(trace, pid, &time, &index) || index >= w->process_count)
		return (uint32_t)pid;
	return w->processes[index].id;
}

static void put_text(struct ptrc_buffer *rows, const char *text)
{
	ptrc_ship_put_string(rows, text, strlen(text));
}

bool ptrc_ship_whose_put_host(const struct ptrc_ship_whose *w, struct ptrc_buffer *rows)
{
	PTRC_SCOPED_BUFFER kernel = PTRC_BUFFER_INIT;

	if (!*w->host.ph_name)
		return false;
	put_text(rows, w->host.ph_name);
	put_text(rows, w->host.ph_boot_id);
	put_text(rows, w->host.ph_machine_id);
	ptrc_buffer_format(&kernel, "%s %s %s %s", w->host.ph_system, w->host.ph_release,
			   w->host.ph_version, w->host.ph_machine);
	ptrc_ship_put_string(rows, kernel.bytes, kernel.used);
	put_text(rows, w->host.ph_time_zone);
	return true;
}

static void put_build_id(struct ptrc_buffer *rows, const struct posixtrace_log_process *p)
{
	PTRC_SCOPED_BUFFER digits = PTRC_BUFFER_INIT;

	ptrc_buffer_hex_bytes(&digits, p->pp_build_id, p->pp_build_id_size);
	ptrc_ship_put_string(rows, digits.bytes, digits.used);
}

bool ptrc_ship_whose_put_process(const struct ptrc_ship_whose *w, trace_id_t trace, size_t number,
				 const struct ptrc_buffer *head, struct ptrc_buffer *rows)
{
	const struct ptrc_ship_process *own = &w->processes[number];
	struct posixtrace_log_process p;
	char command[PTRC_COMMAND_LINE_BYTES];

	/* Sends only the last of the entries about a process, because it describes the process best. */
	if (number + 1 < w->process_count && own[1].id == own->id)
		return false;
	if (posixtrace_log_get_process(trace, number, &p, sizeof(p)))
		return false;
	ptrc_buffer_bytes(rows, head->bytes, head->used);
	ptrc_ship_put_u64(rows, own->id);
	ptrc_ship_put_u32(rows, (uint32_t)p.pp_pid);
	ptrc_ship_put_u32(rows, (uint32_t)p.pp_parent_pid);
	ptrc_ship_put_u64(rows, (uint64_t)(p.pp_is_known ? ptrc_when_ns(&p.pp_start) : 0));
	ptrc_ship_put_u32(rows, p.pp_has_user ? p.pp_user : UINT32_MAX);
	if (p.pp_executable_size)
		ptrc_ship_put_string(rows, p.pp_executable, p.pp_executable_size);
	else
		ptrc_ship_put_string(rows, p.pp_name, p.pp_name_size);
	ptrc_ship_put_string(rows, command, ptrc_command_line(&p, command));
	put_build_id(rows, &p);
	return true;
}
