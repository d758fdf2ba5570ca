/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/attributes.h"
#include "src/cli.h"
#include "src/exit_status.h"
#include "src/logfile.h"
#include "src/output.h"
#include "src/session.h"
#include "src/trace_error.h"

enum {
	KEY_PID = PTRC_CLI_KEY_FIRST,
	KEY_UNTIL_EXIT,
	KEY_START,
};

static const struct ptrc_cli_option options[] = {
	{"pid", KEY_PID, "PID", "the process to trace; has to be given"},
	{"output", 'o', "LOG", "write the events to this file"},
	{"start", KEY_START, NULL, "start the trace at once"},
	{"until-exit", KEY_UNTIL_EXIT, NULL, "end the session when the process ends"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-create",
	.operands = "[OPTION]... --pid=PID",
	.summary =
		"Makes a session: a process in the background that traces another one.\n"
		"Prints the name of the session, which is NAME if --name is given.",
	.options = options,
	.shared_options = ptrc_attributes_options,
	.notes =
		"SIZE is a number of bytes; a K, M or G behind it stands for 1024, 1024^2\n"
		"or 1024^3.\n"
		"Exit status: 0 done, 1 failed, 2 wrong usage.",
	.usage_status = PTRC_EXIT_USAGE,
};

static struct ptrc_session_plan plan = {.log_fd = -1};
static const char *log_path;
static char pid_text[24];

/* "firefox-4711": what the process calls itself, and its number. */
static void make_stem(char stem[PTRC_SESSION_NAME_MAX], pid_t pid)
{
	char path[40];
	char name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/comm", (long)pid);
	f = fopen(path, "re");
	if (f) {
		if (!fgets(name, (int)sizeof(name), f))
			name[0] = '\0';
		fclose(f);
	}
	name[strcspn(name, "\n")] = '\0';
	for (char *p = name; *p; p++) {
		char one[2] = {*p, '\0'};

		if (!ptrc_session_is_name(one) && *p != '-')
			*p = '_';
	}
	if (!*name || *name == '-')
		name[0] = 'p';
	snprintf(stem, PTRC_SESSION_NAME_MAX, "%s-%ld", name, (long)pid);
}

static void parse(int argc, char **argv, trace_attr_t *attr)
{
	static char name[TRACE_NAME_MAX];
	int key;

	ptrc_cli_begin(&cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1) {
		switch (key) {
		case KEY_PID:
			plan.target = (pid_t)ptrc_cli_number("--pid", optarg, 1, INT_MAX);
			break;
		case 'o':
			log_path = optarg;
			break;
		case KEY_START:
			plan.is_started = true;
			break;
		case KEY_UNTIL_EXIT:
			plan.is_until_exit = true;
			break;
		default:
			ptrc_attributes_option(attr, key, optarg);
			break;
		}
	}
	if (optind < argc)
		ptrc_cli_usage(argv[optind], "no operand is expected");
	if (!plan.target)
		ptrc_cli_usage("--pid", "has to be given");
	snprintf(pid_text, sizeof(pid_text), "%ld", (long)plan.target);
	posix_trace_attr_getname(attr, name);
	if (*name && !ptrc_session_is_name(name))
		ptrc_cli_usage(name,
			       "not a name for a session: up to %d letters, digits and "
			       "._-+:@=,",
			       PTRC_SESSION_NAME_MAX);
	plan.name = *name ? name : NULL;
}

static void say_failed(const struct ptrc_session_outcome *o)
{
	switch (o->stage) {
	case PTRC_SESSION_STAGE_DIRECTORY:
		ptrc_cli_message(NULL, "the directory of the sessions: %s",
				 o->error == EPERM ? "not safe to use"
						   : strerror(o->error));
		break;
	case PTRC_SESSION_STAGE_NAME:
		if (o->error == EEXIST)
			ptrc_cli_message(plan.name ? plan.name : plan.name_stem,
					 "a session of this name exists");
		else
			ptrc_cli_error(plan.name ? plan.name : plan.name_stem, o->error);
		break;
	case PTRC_SESSION_STAGE_STREAM:
		ptrc_trace_error(o->error, pid_text, log_path);
		break;
	default:
		if (o->error == ESRCH)
			ptrc_cli_message(pid_text, "no such process");
		else
			ptrc_cli_message(NULL, "cannot make a process: %s",
					 strerror(o->error));
		break;
	}
}

int main(int argc, char **argv)
{
	struct ptrc_buffer out = PTRC_BUFFER_INIT;
	struct ptrc_logfile log = {.fd = -1};
	struct ptrc_session_outcome outcome;
	char stem[PTRC_SESSION_NAME_MAX];
	char *absolute = NULL;
	trace_attr_t attr;
	int error = ptrc_attributes_init(&attr);

	parse(argc, argv, &attr);
	if (error)
		ptrc_cli_no_memory();
	make_stem(stem, plan.target);
	plan.attr = &attr;
	plan.name_stem = stem;
	if (log_path) {
		error = ptrc_logfile_open(&log, log_path);
		if (error) {
			ptrc_cli_message(log_path, "%s", ptrc_logfile_explain(error));
			return PTRC_EXIT_FAILED;
		}
		absolute = realpath(log_path, NULL);
		plan.log_fd = log.fd;
		plan.log_path = absolute ? absolute : log_path;
	}
	ptrc_session_create(&plan, &outcome);
	ptrc_logfile_close(&log, !outcome.error);
	free(absolute);
	if (outcome.error) {
		say_failed(&outcome);
		return PTRC_EXIT_FAILED;
	}
	ptrc_output_begin();
	ptrc_buffer_text(&out, outcome.name);
	ptrc_buffer_char(&out, '\n');
	ptrc_output_end(&out);
	return PTRC_EXIT_DONE;
}
