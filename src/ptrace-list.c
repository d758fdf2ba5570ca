/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include "src/base/cli.h"
#include "src/base/exit_status.h"
#include "src/base/json.h"
#include "src/base/output.h"
#include "src/session/orphans.h"
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
	.words = PTRC_CLI_ROWS({"format", "text json"}),
	.notes = "A + marks a target that has ended.\n"
		 "Exit status: 0 done, 1 a session does not answer, or unfinished streams cannot\n"
		 "be counted, 2 wrong usage.",
};

/* Stores the name of the target's program, which may have any bytes; "" if the target has ended or belongs to
 * another pid namespace. */
static void find_command(const struct ptrc_session_state *s, char command[32])
{
	*command = '\0';
	if (s->is_target_alive && !ptrc_session_is_foreign(s))
		ptrc_session_command(s->target, command);
}

static const char *status_of(const struct ptrc_session_state *s)
{
	return s->status.posix_stream_status == POSIX_TRACE_RUNNING ? "running" : "suspended";
}

static void put_json(struct ptrc_buffer *b, const struct ptrc_session_state *s)
{
	struct ptrc_json j = ptrc_json_begin(b);
	char command[32];

	find_command(s, command);
	ptrc_json_text(&j, "session", s->name);
	ptrc_json_text(&j, "kind", s->is_run ? "run" : "session");
	ptrc_json_text(&j, "status", status_of(s));
	ptrc_json_i64(&j, "controller", s->controller);
	ptrc_json_i64(&j, "target", s->target);
	ptrc_json_bool(&j, "target_alive", s->is_target_alive);
	if (*command)
		ptrc_json_bytes(&j, "command", command, strlen(command));
	if (ptrc_session_is_foreign(s))
		ptrc_json_bool(&j, "foreign_namespace", true);
	ptrc_json_u64(&j, "processes", s->counts.pt_processes);
	ptrc_json_u64(&j, "event_count", ptrc_session_recorded(s));
	if (s->has_log)
		ptrc_json_bytes(&j, "log", s->log, strlen(s->log));
	ptrc_json_end(&j);
}

static void put_or_dash(struct ptrc_buffer *b, const char *text)
{
	ptrc_text_put(b, *text ? text : "-", *text ? strlen(text) : 1);
}

static void put_command(struct ptrc_buffer *b, const struct ptrc_session_state *s)
{
	char command[32];

	find_command(s, command);
	if (ptrc_session_is_foreign(s))
		ptrc_buffer_format(b, "pid %d of another namespace", s->target);
	else
		put_or_dash(b, command);
}

/* The width of the column COMMAND. It is measured, because unprintable bytes are shown as escapes,
 * which are wider. */
static int command_width(const struct ptrc_session_list *all)
{
	PTRC_SCOPED_BUFFER b = PTRC_BUFFER_INIT;
	size_t width = 15;

	for (size_t i = 0; i < all->count; i++) {
		b.used = 0;
		if (!all->errors[i])
			put_command(&b, &all->replies[i].state);
		width = b.used > width ? b.used : width;
	}
	return (int)width;
}

static void put_text(struct ptrc_buffer *b, const struct ptrc_session_state *s, int width,
		     int command)
{
	size_t begin;

	ptrc_buffer_format(b, "%-*s  %-9s  %7d%s  ", width, s->name, status_of(s), s->target,
			   s->is_target_alive ? " " : "+");
	begin = b->used;
	put_command(b, s);
	ptrc_buffer_blanks(b, command - (long)(b->used - begin));
	ptrc_buffer_format(b, "  %9lu  %10llu  ", s->counts.pt_processes,
			   (unsigned long long)ptrc_session_recorded(s));
	put_or_dash(b, s->has_log ? s->log : "");
	ptrc_buffer_char(b, '\n');
}

int main(int argc, char **argv)
{
	static struct ptrc_session_list all;
	struct ptrc_buffer out = PTRC_BUFFER_INIT;
	enum ptrc_format format = PTRC_FORMAT_TEXT;
	enum ptrc_exit status = PTRC_EXIT_DONE;
	/* The number of sessions, including those that do not answer. */
	size_t count = 0;
	bool has_header = false;
	int width = 7;
	int command = 0;
	int error;
	int key;

	ptrc_cli_begin(&cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1) {
		format = key == KEY_FORMAT ? (enum ptrc_format)ptrc_cli_word("--format", optarg)
					   : PTRC_FORMAT_JSON;
	}
	if (optind < argc)
		ptrc_cli_usage(argv[optind], "no operand is expected");
	ptrc_output_begin();
	error = ptrc_session_list(&all, true);
	if (error) {
		ptrc_session_say_directory(error);
		return PTRC_EXIT_FAILED;
	}
	for (size_t i = 0; i < all.count; i++)
		if ((int)strlen(all.names[i]) > width)
			width = (int)strlen(all.names[i]);
	if (format == PTRC_FORMAT_TEXT)
		command = command_width(&all);
	for (size_t i = 0; i < all.count; i++) {
		error = all.errors[i];
		/* These errors mean that the session has ended since it was found. */
		if (error == ENOENT || error == ECONNREFUSED || error == ECONNRESET)
			continue;
		count++;
		if (error) {
			ptrc_cli_message(all.names[i], "%s",
					 ptrc_session_explain_of(all.names[i], error));
			status = PTRC_EXIT_FAILED;
		} else if (format == PTRC_FORMAT_JSON) {
			put_json(&out, &all.replies[i].state);
		} else {
			if (!has_header)
				ptrc_buffer_format(&out, "%-*s  %-9s  %7s   %-*s  %9s  %10s  %s\n",
						   width, "SESSION", "STATUS", "TARGET", command,
						   "COMMAND", "PROCESSES", "EVENTS", "LOG");
			has_header = true;
			put_text(&out, &all.replies[i].state, width, command);
		}
	}
	if (!count && format == PTRC_FORMAT_TEXT && isatty(STDOUT_FILENO))
		ptrc_cli_message(NULL, "there are no sessions");
	ptrc_output_end(&out);
	if (!ptrc_orphans_say())
		status = PTRC_EXIT_FAILED;
	return (int)status;
}
