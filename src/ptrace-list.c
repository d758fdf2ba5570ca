/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/cli.h"
#include "src/exit_status.h"
#include "src/json.h"
#include "src/output.h"
#include "src/session.h"

enum {
	KEY_FORMAT = PTRC_CLI_KEY_FIRST,
};

static const struct ptrc_cli_option options[] = {
	{"format", KEY_FORMAT, "FORMAT", "text (the default) or json"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-list",
	.operands = "[OPTION]...",
	.summary = "Lists the sessions of the user: name, status, target, log.",
	.options = options,
	.notes = "Exit status: 0 done, 1 a session does not answer, 2 wrong usage.",
	.usage_status = PTRC_EXIT_USAGE,
};

static const char *status_of(const struct ptrc_session_state *s)
{
	return s->status.posix_stream_status == POSIX_TRACE_RUNNING ? "running"
								    : "suspended";
}

static void put_json(struct ptrc_buffer *b, const struct ptrc_session_state *s)
{
	struct ptrc_json j = {b, true};

	ptrc_json_open(&j, NULL, '{');
	ptrc_json_u64(&j, "version", 1);
	ptrc_json_text(&j, "session", s->name);
	ptrc_json_text(&j, "status", status_of(s));
	ptrc_json_i64(&j, "controller", s->controller);
	ptrc_json_i64(&j, "target", s->target);
	ptrc_json_bool(&j, "target_alive", s->is_target_alive);
	if (s->has_log)
		ptrc_json_bytes(&j, "log", s->log, strlen(s->log));
	ptrc_json_close(&j, '}');
	ptrc_buffer_char(b, '\n');
}

static void put_text(struct ptrc_buffer *b, const struct ptrc_session_state *s, int width)
{
	ptrc_buffer_format(b, "%-*s  %-9s  %7d%s  ", width, s->name, status_of(s),
			   s->target, s->is_target_alive ? " " : "+");
	if (s->has_log)
		ptrc_text_put(b, s->log, strlen(s->log));
	else
		ptrc_buffer_char(b, '-');
	ptrc_buffer_char(b, '\n');
}

int main(int argc, char **argv)
{
	static struct ptrc_session_reply reply;
	struct ptrc_buffer out = PTRC_BUFFER_INIT;
	enum ptrc_format format = PTRC_FORMAT_TEXT;
	enum ptrc_exit status = PTRC_EXIT_DONE;
	bool has_header = false;
	int width = 7;
	char **names;
	size_t count;
	int key;

	ptrc_cli_begin(&cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1)
		if (key == KEY_FORMAT)
			format = ptrc_cli_format(optarg);
	if (optind < argc)
		ptrc_cli_usage(argv[optind], "no operand is expected");
	ptrc_output_begin();
	count = ptrc_session_names(&names);
	for (size_t i = 0; i < count; i++)
		if ((int)strlen(names[i]) > width)
			width = (int)strlen(names[i]);
	for (size_t i = 0; i < count; i++) {
		int error = ptrc_session_ask(names[i], PTRC_SESSION_STAT, &reply);

		if (!error && reply.body != PTRC_SESSION_BODY_STATE)
			error = EPROTO;
		if (!error && format == PTRC_FORMAT_JSON) {
			put_json(&out, &reply.state);
		} else if (!error) {
			if (!has_header)
				ptrc_buffer_format(&out, "%-*s  %-9s  %7s   %s\n", width,
						   "SESSION", "STATUS", "TARGET", "LOG");
			has_header = true;
			put_text(&out, &reply.state, width);
		} else if (error != ENOENT && error != ECONNREFUSED &&
			   error != ECONNRESET) {
			/* The other ones have ended, or did so right now. */
			ptrc_cli_message(names[i], "%s", ptrc_session_explain(error));
			status = PTRC_EXIT_FAILED;
		}
		free(names[i]);
	}
	free(names);
	ptrc_output_end(&out);
	return (int)status;
}
