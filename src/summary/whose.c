/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/summary/whose.h"

#include <posixtrace-log.h>
#include <stdlib.h>
#include <string.h>

#include "src/fields/when.h"
#include "src/query/view.h"

/* The column of the line at which the value starts. */
enum { COLUMN = 24 };

void ptrc_stat_put_label(struct ptrc_buffer *b, const char *label)
{
	ptrc_buffer_text(b, label);
	ptrc_buffer_blanks(b, COLUMN - (long)strlen(label));
}

void ptrc_stat_put_line(struct ptrc_buffer *b, const char *label, const char *text, size_t size)
{
	ptrc_stat_put_label(b, label);
	ptrc_text_put(b, text, size);
	ptrc_buffer_char(b, '\n');
}

void ptrc_stat_put_number(struct ptrc_buffer *b, const char *label, int64_t number)
{
	ptrc_stat_put_label(b, label);
	ptrc_buffer_i64(b, number);
	ptrc_buffer_char(b, '\n');
}

void ptrc_stat_put_time(struct ptrc_buffer *b, const char *label, const struct timespec *t,
			bool is_utc)
{
	struct ptrc_time_format format = {.is_local = !is_utc};

	ptrc_stat_put_label(b, label);
	ptrc_buffer_time(b, &format, t);
	ptrc_buffer_char(b, '\n');
}

static const struct {
	const char *key, *label;
	size_t offset;
} host_texts[] = {
	{"name", "host", offsetof(struct posixtrace_log_host, ph_name)},
	{"machine_id", "machine id", offsetof(struct posixtrace_log_host, ph_machine_id)},
	{"boot_id", "boot id", offsetof(struct posixtrace_log_host, ph_boot_id)},
	{"system", "system", offsetof(struct posixtrace_log_host, ph_system)},
	{"release", "system release", offsetof(struct posixtrace_log_host, ph_release)},
	{"system_version", "system version", offsetof(struct posixtrace_log_host, ph_version)},
	{"machine", "machine", offsetof(struct posixtrace_log_host, ph_machine)},
	{"time_zone", "time zone", offsetof(struct posixtrace_log_host, ph_time_zone)},
};

enum { HOST_TEXTS = sizeof(host_texts) / sizeof(*host_texts) };

void ptrc_whose_put_host_text(struct ptrc_buffer *b, trace_id_t log)
{
	struct posixtrace_log_host h;
	unsigned int minutes;

	if (posixtrace_log_get_host(log, &h, sizeof(h)))
		return;
	for (size_t i = 0; i < HOST_TEXTS; i++) {
		const char *text = (const char *)&h + host_texts[i].offset;

		if (*text)
			ptrc_stat_put_line(b, host_texts[i].label, text, strlen(text));
	}
	if (h.ph_has_utc_offset) {
		minutes = (unsigned int)abs(h.ph_utc_offset / 60);
		ptrc_stat_put_label(b, "UTC offset");
		ptrc_buffer_format(b, "UTC%c%02u:%02u\n", h.ph_utc_offset < 0 ? '-' : '+',
				   minutes / 60, minutes % 60);
	}
}

static void put_process(struct ptrc_buffer *b, const struct posixtrace_log_process *p, bool is_utc)
{
	char command[PTRC_COMMAND_LINE_BYTES];

	ptrc_stat_put_label(b, "process");
	ptrc_buffer_i64(b, p->pp_pid);
	if (p->pp_name_size) {
		ptrc_buffer_char(b, ' ');
		ptrc_text_put(b, p->pp_name, p->pp_name_size);
	}
	ptrc_buffer_text(b, p->pp_has_ended ? " (had ended)\n" : "\n");
	if (p->pp_is_known) {
		ptrc_stat_put_number(b, "  parent", p->pp_parent_pid);
		ptrc_stat_put_time(b, "  started", &p->pp_start, is_utc);
	}
	if (p->pp_has_user)
		ptrc_stat_put_number(b, "  user", p->pp_user);
	if (p->pp_executable_size)
		ptrc_stat_put_line(b, "  executable", p->pp_executable, p->pp_executable_size);
	if (p->pp_build_id_size) {
		ptrc_stat_put_label(b, "  build id");
		ptrc_buffer_hex_bytes(b, p->pp_build_id, p->pp_build_id_size);
		ptrc_buffer_char(b, '\n');
	}
	if (p->pp_command_line_size) {
		ptrc_stat_put_label(b, "  command line");
		ptrc_text_put(b, command, ptrc_command_line(p, command));
		ptrc_buffer_text(b, p->pp_is_command_line_cut ? "...\n" : "\n");
	}
	if (p->pp_has_mappings) {
		ptrc_stat_put_label(b, "  code mappings");
		ptrc_buffer_u64(b, p->pp_mapping_count);
		ptrc_buffer_text(b, p->pp_are_mappings_cut ? "...\n" : "\n");
	}
}

void ptrc_whose_put_clock_text(struct ptrc_buffer *b, trace_id_t log)
{
	struct posixtrace_log_clock c = {0};
	unsigned long count = 0;

	while (!posixtrace_log_get_clock(log, count, &c, sizeof(c)))
		count++;
	if (!count || posixtrace_log_get_clock(log, count - 1, &c, sizeof(c)))
		return;
	ptrc_stat_put_label(b, "clock synchronized");
	ptrc_buffer_text(b, !c.pk_has_status	   ? "not known\n"
			    : c.pk_is_synchronized ? "yes\n"
						   : "no\n");
	if (c.pk_has_status)
		ptrc_stat_put_number(b, "clock max error (ns)", c.pk_max_error_ns);
	/* Subtracts as unsigned numbers, because the times of a damaged log could overflow signed ones. */
	ptrc_stat_put_number(b, "clock went ahead (ns)",
			     (int64_t)((uint64_t)ptrc_when_ns(&c.pk_realtime) -
				       (uint64_t)ptrc_when_ns(&c.pk_time)));
}

static void put_threads_text(struct ptrc_buffer *b, trace_id_t log)
{
	struct posixtrace_log_thread t;

	for (unsigned long i = 0; !posixtrace_log_get_thread(log, i, &t, sizeof(t)); i++) {
		if (!t.pt_name_size)
			continue;
		ptrc_stat_put_label(b, "thread");
		ptrc_buffer_format(b, "%ld of %ld ", (long)t.pt_tid, (long)t.pt_pid);
		ptrc_text_put(b, t.pt_name, t.pt_name_size);
		ptrc_buffer_char(b, '\n');
	}
}

void ptrc_whose_put_processes_text(struct ptrc_buffer *b, trace_id_t log, bool is_utc)
{
	struct posixtrace_log_process p;

	for (unsigned long i = 0; !posixtrace_log_get_process(log, i, &p, sizeof(p)); i++) {
		if (!i)
			ptrc_buffer_char(b, '\n');
		put_process(b, &p, is_utc);
	}
	put_threads_text(b, log);
}

static void put_host_json(struct ptrc_json *j, trace_id_t log)
{
	struct posixtrace_log_host h;

	if (posixtrace_log_get_host(log, &h, sizeof(h)))
		return;
	ptrc_json_open(j, "host", '{');
	for (size_t i = 0; i < HOST_TEXTS; i++) {
		const char *text = (const char *)&h + host_texts[i].offset;

		if (*text)
			ptrc_json_bytes(j, host_texts[i].key, text, strlen(text));
	}
	if (h.ph_has_utc_offset)
		ptrc_json_i64(j, "utc_offset_s", h.ph_utc_offset);
	ptrc_json_close(j, '}');
}

static void put_build_id(struct ptrc_json *j, const unsigned char *id, size_t size)
{
	if (!size)
		return;
	ptrc_json_key(j, "build_id");
	ptrc_buffer_char(j->buffer, '"');
	ptrc_buffer_hex_bytes(j->buffer, id, size);
	ptrc_buffer_char(j->buffer, '"');
}

/* Puts the arguments as a JSON array. If they are not UTF-8, also puts all their bytes in hexadecimal. */
static void put_command_line_json(struct ptrc_json *j, const struct posixtrace_log_process *p)
{
	const char *at = p->pp_command_line, *end = at + p->pp_command_line_size;

	ptrc_json_open(j, "command_line", '[');
	while (at < end) {
		size_t size = strnlen(at, (size_t)(end - at));

		ptrc_json_key(j, NULL);
		ptrc_text_json(j->buffer, at, size);
		at += size + 1;
	}
	ptrc_json_close(j, ']');
	if (!ptrc_text_is_utf8(p->pp_command_line, p->pp_command_line_size))
		ptrc_json_hex(j, "command_line", p->pp_command_line, p->pp_command_line_size);
	ptrc_json_bool(j, "command_line_cut", p->pp_is_command_line_cut);
}

static void put_mappings_json(struct ptrc_json *j, trace_id_t log, unsigned long index,
			      const struct posixtrace_log_process *p)
{
	struct posixtrace_log_mapping m;

	ptrc_json_open(j, "mappings", '[');
	for (unsigned long i = 0; !posixtrace_log_get_mapping(log, index, i, &m, sizeof(m)); i++) {
		ptrc_json_open(j, NULL, '{');
		ptrc_json_address(j, "start", m.pm_start);
		ptrc_json_address(j, "end", m.pm_end);
		ptrc_json_address(j, "offset", m.pm_offset);
		if (m.pm_path_size)
			ptrc_json_bytes(j, m.pm_is_function ? "function" : "path", m.pm_path,
					m.pm_path_size);
		put_build_id(j, m.pm_build_id, m.pm_build_id_size);
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
	ptrc_json_bool(j, "mappings_cut", p->pp_are_mappings_cut);
}

static void put_process_json(struct ptrc_json *j, trace_id_t log, unsigned long index,
			     const struct posixtrace_log_process *p)
{
	ptrc_json_open(j, NULL, '{');
	ptrc_json_i64(j, "pid", p->pp_pid);
	ptrc_json_time(j, "from", &p->pp_from);
	ptrc_json_bool(j, "had_ended", p->pp_has_ended);
	if (p->pp_is_known) {
		ptrc_json_i64(j, "parent", p->pp_parent_pid);
		ptrc_json_time(j, "start", &p->pp_start);
		ptrc_json_bytes(j, "name", p->pp_name, p->pp_name_size);
	}
	if (p->pp_has_user)
		ptrc_json_u64(j, "user", p->pp_user);
	if (p->pp_executable_size)
		ptrc_json_bytes(j, "executable", p->pp_executable, p->pp_executable_size);
	put_build_id(j, p->pp_build_id, p->pp_build_id_size);
	if (p->pp_has_command_line)
		put_command_line_json(j, p);
	if (p->pp_has_mappings)
		put_mappings_json(j, log, index, p);
	ptrc_json_close(j, '}');
}

static void put_clocks_json(struct ptrc_json *j, trace_id_t log)
{
	struct posixtrace_log_clock c;

	ptrc_json_open(j, "clocks", '[');
	for (unsigned long i = 0; !posixtrace_log_get_clock(log, i, &c, sizeof(c)); i++) {
		ptrc_json_open(j, NULL, '{');
		ptrc_json_time(j, "time", &c.pk_time);
		ptrc_json_time(j, "realtime", &c.pk_realtime);
		ptrc_json_i64(j, "monotonic_ns", ptrc_when_ns(&c.pk_monotonic));
		ptrc_json_i64(j, "boottime_ns", ptrc_when_ns(&c.pk_boottime));
		ptrc_json_u64(j, "counter", c.pk_counter);
		ptrc_json_i64(j, "window_ns", c.pk_window_ns);
		if (c.pk_has_status) {
			ptrc_json_bool(j, "synchronized", c.pk_is_synchronized);
			ptrc_json_i64(j, "adjtimex_status", c.pk_status);
			ptrc_json_i64(j, "max_error_ns", c.pk_max_error_ns);
			ptrc_json_i64(j, "estimated_error_ns", c.pk_estimated_error_ns);
		}
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
}

static void put_threads_json(struct ptrc_json *j, trace_id_t log)
{
	struct posixtrace_log_thread t;

	ptrc_json_open(j, "threads", '[');
	for (unsigned long i = 0; !posixtrace_log_get_thread(log, i, &t, sizeof(t)); i++) {
		ptrc_json_open(j, NULL, '{');
		ptrc_json_i64(j, "pid", t.pt_pid);
		ptrc_json_i64(j, "tid", t.pt_tid);
		ptrc_json_time(j, "from", &t.pt_from);
		ptrc_json_bytes(j, "name", t.pt_name, t.pt_name_size);
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
}

void ptrc_whose_put_json(struct ptrc_json *j, trace_id_t log)
{
	struct posixtrace_log_process p;

	put_host_json(j, log);
	ptrc_json_open(j, "processes", '[');
	for (unsigned long i = 0; !posixtrace_log_get_process(log, i, &p, sizeof(p)); i++)
		put_process_json(j, log, i, &p);
	ptrc_json_close(j, ']');
	put_threads_json(j, log);
	put_clocks_json(j, log);
}
