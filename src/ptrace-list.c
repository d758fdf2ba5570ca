/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/cli/cli.h"
#include "src/cli/exit_status.h"
#include "src/cli/json.h"
#include "src/cli/output.h"
#include "src/session/session_client.h"

enum {
	KEY_FORMAT = PTRC_CLI_KEY_FIRST,
	KEY_JSON,
};

static const struct ptrc_cli_option options[] = {
	{"format", KEY_FORMAT, "FORMAT", "text (the default) or json"},
	{"json", KEY_JSON, NULL, "the same as --format=json"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-list",
	.operands = "[OPTION]...",
	.summary = "Lists the sessions of the user: name, status, target and its command,\n"
		   "how many processes and events were traced, log.",
	.options = options,
	.notes = "A + marks a target that has ended.\n"
		 "Exit status: 0 done, 1 a session does not answer, 2 wrong usage.",
	.usage_status = PTRC_EXIT_USAGE,
};

/* The name of a process; it need not be text. */
struct command {
	char name[32];
	size_t size;
};

static void find_command(struct command *c, const struct ptrc_session_state *s)
{
	char path[40];
	ssize_t n = -1;
	int fd;

	c->size = 0;
	if (!s->is_target_alive)
		return;
	snprintf(path, sizeof(path), "/proc/%ld/comm", (long)s->target);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, c->name, sizeof(c->name));
		close(fd);
	}
	if (n > 0)
		c->size = (size_t)n - (c->name[n - 1] == '\n');
}

static const char *status_of(const struct ptrc_session_state *s)
{
	return s->status.posix_stream_status == POSIX_TRACE_RUNNING ? "running" : "suspended";
}

static void put_json(struct ptrc_buffer *b, const struct ptrc_session_state *s)
{
	struct ptrc_json j = ptrc_json_begin(b);
	struct command command;

	find_command(&command, s);
	ptrc_json_text(&j, "session", s->name);
	ptrc_json_text(&j, "status", status_of(s));
	ptrc_json_i64(&j, "controller", s->controller);
	ptrc_json_i64(&j, "target", s->target);
	ptrc_json_bool(&j, "target_alive", s->is_target_alive);
	if (command.size)
		ptrc_json_bytes(&j, "command", command.name, command.size);
	ptrc_json_u64(&j, "processes", s->counts.pt_processes);
	ptrc_json_u64(&j, "event_count", s->event_count);
	if (s->has_log)
		ptrc_json_bytes(&j, "log", s->log, strlen(s->log));
	ptrc_json_end(&j);
}

static void put_text(struct ptrc_buffer *b, const struct ptrc_session_state *s, int width)
{
	struct command command;
	size_t begin;

	find_command(&command, s);
	ptrc_buffer_format(b, "%-*s  %-9s  %7d%s  ", width, s->name, status_of(s), s->target,
			   s->is_target_alive ? " " : "+");
	begin = b->used;
	if (command.size)
		ptrc_text_put(b, command.name, command.size);
	else
		ptrc_buffer_char(b, '-');
	ptrc_buffer_blanks(b, 15 - (long)(b->used - begin));
	ptrc_buffer_format(b, "  %9lu  %10llu  ", s->counts.pt_processes,
			   (unsigned long long)s->event_count);
	if (s->has_log)
		ptrc_text_put(b, s->log, strlen(s->log));
	else
		ptrc_buffer_char(b, '-');
	ptrc_buffer_char(b, '\n');
}

int main(int argc, char **argv)
{
	struct ptrc_buffer out = PTRC_BUFFER_INIT;
	enum ptrc_format format = PTRC_FORMAT_TEXT;
	enum ptrc_exit status = PTRC_EXIT_DONE;
	struct ptrc_session_reply *replies;
	bool has_header = false;
	int width = 7;
	char **names;
	int *errors;
	size_t count;
	int error;
	int key;

	ptrc_cli_begin(&cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1) {
		if (key == KEY_FORMAT)
			format = ptrc_cli_format(optarg);
		else if (key == KEY_JSON)
			format = PTRC_FORMAT_JSON;
	}
	if (optind < argc)
		ptrc_cli_usage(argv[optind], "no operand is expected");
	ptrc_output_begin();
	error = ptrc_session_names(true, &names, &count);
	if (error) {
		ptrc_session_say_directory(error);
		return PTRC_EXIT_FAILED;
	}
	replies = ptrc_cli_allocate(count * sizeof(*replies));
	errors = ptrc_cli_allocate(count * sizeof(*errors));
	ptrc_session_stat_all(names, count, true, replies, errors);
	for (size_t i = 0; i < count; i++)
		if ((int)strlen(names[i]) > width)
			width = (int)strlen(names[i]);
	for (size_t i = 0; i < count; i++) {
		error = errors[i];
		if (!error && format == PTRC_FORMAT_JSON) {
			put_json(&out, &replies[i].state);
		} else if (!error) {
			if (!has_header)
				ptrc_buffer_format(&out,
						   "%-*s  %-9s  %7s   %-15s  %9s  %10s  "
						   "%s\n",
						   width, "SESSION", "STATUS", "TARGET", "COMMAND",
						   "PROCESSES", "EVENTS", "LOG");
			has_header = true;
			put_text(&out, &replies[i].state, width);
		} else if (error != ENOENT && error != ECONNREFUSED && error != ECONNRESET) {
			/* The others have ended just now. */
			ptrc_cli_message(names[i], "%s", ptrc_session_explain(error));
			status = PTRC_EXIT_FAILED;
		}
		free(names[i]);
	}
	free(names);
	free(replies);
	free(errors);
	ptrc_output_end(&out);
	return (int)status;
}
