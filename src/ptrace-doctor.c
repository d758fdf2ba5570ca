/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/cli.h"
#include "src/doctor/doctor.h"
#include "src/session/orphans.h"
#include "src/session/session_path.h"
#include "src/base/exit_status.h"
#include "src/base/nearest.h"
#include "src/base/output.h"
#include "src/query/reader.h"

static struct ptrc_buffer out;
static struct ptrc_doctor d = {.out = &out};

static const struct ptrc_cli_option options[] = {
	{"event", 'e', "NAME",
	 "name of the event that is missing from the trace,\nor a pattern for several"},
	{"pid", 'p', "PID",
	 "say whether this process can be traced, and if\nnot, why; may be given several times"},
	{"json", 0, NULL, "one JSON object per finding"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-doctor",
	.operands = "[OPTION]... [PID|SESSION|LOG]... | -- COMMAND [ARGUMENT]...",
	.summary =
		"Finds out why events of a process, a session, a log or COMMAND are not\n"
		"recorded; COMMAND is not run. Without an operand, reports whether this machine\n"
		"is fit for tracing. Changes nothing.",
	.options = options,
	.flags = PTRC_CLI_FLAGS({"json", &d.is_json}),
	.operand_kinds = "SESSION|LOG|COMMAND",
	.notes = "Exit status: 0 nothing is wrong, 1 there are problems, 2 wrong usage.",
};

static void say_unknown(const char *thing)
{
	struct ptrc_nearest nearest = {0};
	/* These are static so that leak checkers do not report the list, which is never freed. */
	static char **names;
	static size_t count;
	char proposal[300];
	char left[PTRC_ORPHANS_TEXT_BYTES];

	if (ptrc_orphans_of_session(thing, left)) {
		ptrc_doctor_problem(&d, "session", thing, NULL, "%s", left);
		return;
	}
	if (!names)
		ptrc_session_names(false, &names, &count);
	for (size_t i = 0; i < count; i++)
		ptrc_nearest_offer(&nearest, thing, names[i]);
	ptrc_doctor_problem(&d, "operand", thing, "ptrace-list shows the sessions",
			    "no such session, log or process%s",
			    ptrc_nearest_text(&nearest, proposal, sizeof(proposal)));
}

static void examine(const char *thing)
{
	struct ptrc_cli_reason why;
	uint64_t pid;

	/* An operand with a slash is the path of a log. Another operand is a session if one has this name; else a
	 * process if it is a number; else a log. */
	if (!strchr(thing, '/') && ptrc_doctor_session(&d, thing))
		return;
	if (ptrc_cli_parse_number(thing, 1, INT_MAX, &pid, &why))
		ptrc_doctor_process(&d, (pid_t)pid, 0);
	else if (strchr(thing, '/') || ptrc_reader_is_there(thing))
		ptrc_doctor_log(&d, thing);
	else
		say_unknown(thing);
}

int main(int argc, char **argv)
{
	pid_t *pids = NULL;
	size_t pid_count = 0;
	char **program = NULL;
	bool has_thing;
	int key;

	/* All words after -- belong to COMMAND. But a -- after --complete is part of the line that is to be
	 * completed. */
	for (int i = 1; i < argc && !program && strcmp(argv[1], "--complete"); i++)
		if (!strcmp(argv[i], "--")) {
			program = argv + i + 1;
			argc = i;
			argv[i] = NULL;
		}
	ptrc_cli_begin(&cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1) {
		if (key == 'e')
			d.event = optarg;
		else if (key == 'p')
			*ptrc_append(pids, pid_count) =
				(pid_t)ptrc_cli_number("--pid", optarg, 1, INT_MAX);
	}
	has_thing = pid_count || optind < argc;
	if (program && !*program)
		ptrc_cli_usage("--", "no COMMAND given");
	if (program && has_thing)
		ptrc_cli_usage(pid_count ? "--pid" : argv[optind],
			       "is not expected together with a COMMAND");
	if (d.event && !program && !has_thing)
		ptrc_cli_usage("--event", "needs a process, session, log or COMMAND");
	ptrc_output_begin();
	/* Problems of the machine are always reported, but briefly if the user asks about something else. */
	d.is_brief = program || has_thing;
	ptrc_doctor_machine(&d);
	d.is_brief = false;
	if (program)
		ptrc_doctor_command(&d, program);
	else if (!has_thing)
		ptrc_doctor_sessions(&d);
	d.is_about_tracing = true;
	for (size_t i = 0; i < pid_count; i++)
		ptrc_doctor_process(&d, pids[i], 0);
	d.is_about_tracing = false;
	free(pids);
	for (; optind < argc; optind++)
		examine(argv[optind]);
	ptrc_output_end(&out);
	return d.problems ? PTRC_EXIT_FAILED : PTRC_EXIT_DONE;
}
