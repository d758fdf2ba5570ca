/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/cli.h"
#include "src/config/configuration.h"
#include "src/config/yaml_file.h"
#include "src/doctor/doctor.h"
#include "src/base/exit_status.h"
#include "src/base/json.h"
#include "src/session/logfile.h"
#include "src/session/orphans.h"
#include "src/base/output.h"
#include "src/session/session_client.h"
#include "src/session/session_create.h"
#include "src/session/trace_error.h"

static bool is_all;
static bool is_json;

static const struct ptrc_cli_option options[] = {
	{"pid", 'p', "PID", "the process to trace; has to be given, here or in\nthe file"},
	{"output", 'o', "LOG", "write the events to this file"},
	PTRC_CONFIG_OPTION_COUNT_ONLY,
	PTRC_CONFIG_OPTION_FORCE,
	PTRC_CONFIG_OPTION_NO_FSYNC,
	PTRC_CONFIG_OPTION_NO_COMMAND_LINE,
	{"start", PTRC_CONFIG_OPTION(PTRC_CONFIG_START), NULL, "start the trace at once"},
	{"keep", PTRC_CONFIG_OPTION(PTRC_CONFIG_KEEP), NULL,
	 "go on when the process ends; otherwise the session\nends with it"},
	PTRC_CONFIG_OPTION_PATTERNS,
	PTRC_CONFIG_OPTION_FILE,
	{"all", 0, NULL, "make every session of the file, or none"},
	PTRC_CONFIG_OPTION_DUMP_CONFIG,
	{"json", 0, NULL, "print an object per session instead of its name"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-create",
	.operands = "[OPTION]... --pid=PID\n"
		    "       ptrace-create [OPTION]... --config=FILE [--all]",
	.summary = "Makes a session: a process in the background that traces another one.\n"
		   "Prints the name of the session, which is NAME if --name is given.",
	.options = options,
	.shared_options = ptrc_config_attribute_options,
	.flags = PTRC_CLI_FLAGS({"all", &is_all}, {"json", &is_json}),
	.needs = PTRC_CLI_ROWS({"all", "config"}),
	.words = PTRC_CLI_ROWS(PTRC_CONFIG_WORDS),
	.notes = "SIZE is a number of bytes; a K, M or G after it stands for 1024, 1024^2\n"
		 "or 1024^3. TIME has a unit, as in 10s or 1.5ms. Options override the file.\n"
		 "Exit status: 0 done, 1 failed, 2 wrong usage or a wrong file.",
};

struct making {
	const struct ptrc_config *config;
	char pid[24];
	char stem[PTRC_SESSION_NAME_MAX];
	trace_attr_t attr;
	struct ptrc_logfile log;
	char *absolute_log;
	struct ptrc_session_outcome outcome;
	/* Why the target cannot be traced now; empty if no reason was found. */
	struct ptrc_doctor_obstacle obstacle;
};

static struct ptrc_config_line given = {.user = PTRC_CONFIG_FOR_CREATE};
static struct ptrc_config_file config;

/* The working directory at the start; NULL if it is unknown. A session without a log that is a regular file writes its
 * snapshots there, although the session has left this directory. */
static char *directory;

static struct making *made;
static size_t made_count;
static pid_t creator;

/* Makes the stem of a session's name, such as "firefox-4711", from the name and the number of the target. */
static void make_stem(char stem[PTRC_SESSION_NAME_MAX], pid_t pid)
{
	char name[32];

	ptrc_session_command(pid, name);
	ptrc_session_make_name(name);
	snprintf(stem, PTRC_SESSION_NAME_MAX, "%s-%ld", name, (long)pid);
}

static void parse(int argc, char **argv)
{
	int key;

	ptrc_cli_begin(&cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1)
		ptrc_config_option(&given, key, optarg);
	if (optind < argc)
		ptrc_cli_usage(argv[optind], "no operand is expected");
}

/* Ends the process if an option cannot apply to several sessions, or if a session has no target. */
static void check(void)
{
	if (config.count > 1 && given.options.name)
		ptrc_cli_usage("--name", "cannot be the name of all %zu sessions", config.count);
	if (config.count > 1 && given.options.output)
		ptrc_cli_usage("--output", "cannot be the log of all %zu sessions", config.count);
	if (given.is_dump)
		return;
	for (size_t i = 0; i < config.count; i++) {
		if (config.sessions[i].pid)
			continue;
		if (!given.path)
			ptrc_cli_usage("--pid", "has to be given");
		ptrc_yaml_refuse_at(config.name, &config.sessions[i].mark,
				    "pid: has to be given, here or by --pid");
	}
}

static void say_failed(const struct making *m)
{
	const struct ptrc_session_outcome *o = &m->outcome;
	const char *name = m->config->name ? m->config->name : m->stem;

	if (o->stage == PTRC_SESSION_STAGE_DIRECTORY)
		ptrc_session_say_directory(o->error);
	else if (o->stage == PTRC_SESSION_STAGE_NAME && o->error == EEXIST)
		ptrc_cli_message(name, "a session of this name exists already");
	else if (o->stage == PTRC_SESSION_STAGE_NAME)
		ptrc_cli_error(name, o->error);
	else if (o->stage != PTRC_SESSION_STAGE_PROCESS)
		ptrc_trace_error(o->stage, o->error, (pid_t)m->config->pid, m->pid,
				 m->config->output);
	else if (o->error == ESRCH)
		ptrc_cli_message(m->pid, "no such process");
	else
		ptrc_trace_no_process("the background process", o->error);
}

/* Does all that may fail and can be done before the session is made, and opens its log. Returns false after a
 * message. */
static bool prepare(struct making *m, const struct ptrc_config *c)
{
	m->config = c;
	snprintf(m->pid, sizeof(m->pid), "%ld", (long)c->pid);
	make_stem(m->stem, (pid_t)c->pid);
	if (ptrc_config_attributes(c, &m->attr))
		ptrc_cli_no_memory();
	/* Standard output gets the names of the sessions, which would be mixed into the log. */
	if (c->output && ptrc_output_is(c->output))
		return ptrc_cli_message(c->output, "is standard output, which gets the names of "
						   "sessions; name another file");
	if (!ptrc_orphans_settle(c->output))
		return false;
	if (!c->output)
		return true;
	if (!ptrc_logfile_open(&m->log, c->output, &m->attr, c->is_forced) ||
	    !ptrc_logfile_keep_unfinished(&m->log, &m->attr, c->is_forced))
		return false;
	m->absolute_log = realpath(c->output, NULL);
	return true;
}

/* Makes one of the sessions. Returns false after a message. */
static bool make(struct making *m)
{
	const struct ptrc_config *c = m->config;
	struct ptrc_session_plan plan = ptrc_config_plan(c);

	plan.target = (pid_t)c->pid;
	plan.attr = &m->attr;
	plan.name_stem = m->stem;
	plan.log = m->log.fd >= 0 ? &m->log : NULL;
	plan.log_path = m->absolute_log ? m->absolute_log : c->output;
	plan.is_until_exit = !c->is_kept;
	plan.is_started = c->is_started;
	plan.snapshots.directory = directory;
	ptrc_session_create(&plan, &m->outcome);
	if (!m->outcome.error) {
		if (c->output)
			ptrc_logfile_begun(&m->log);
		/* If the target cannot be traced now, the session stays nevertheless: the process
		 * may later execute, load or start a program with the library. */
		if (ptrc_doctor_find_obstacle(plan.target, plan.os.kinds && !*m->outcome.os_refusal,
					      &m->obstacle))
			ptrc_cli_message(NULL, "%s", m->obstacle.text);
		if (*m->outcome.os_refusal &&
		    (m == made || strcmp(m->outcome.os_refusal, m[-1].outcome.os_refusal) != 0))
			ptrc_cli_message("--os", "%s", m->outcome.os_refusal);
		return true;
	}
	say_failed(m);
	return false;
}

/* Called when the process exits. If a session could not be made, or if the names could not be printed, ends the
 * sessions that were made, and removes all new logs. */
static void undo(int status, void *unused)
{
	static struct ptrc_session_reply reply;
	size_t count = made_count;

	(void)unused;
	/* The controller of a session is forked from this process. If it fails, it exits through this function,
	 * too, but must not undo anything. */
	if (status == PTRC_EXIT_DONE || getpid() != creator)
		return;
	for (size_t i = count; i < config.count; i++)
		ptrc_logfile_close(&made[i].log, false);
	for (size_t i = count; i-- > 0;) {
		const char *name = made[i].outcome.name;
		int error = ptrc_session_ask(name, PTRC_SESSION_SHUTDOWN, &reply);

		if (error)
			ptrc_cli_message(name, "could not be ended: %s",
					 ptrc_session_explain(error));
		ptrc_logfile_close(&made[i].log, false);
	}
	if (count)
		ptrc_cli_message(NULL, "the %zu session%s made before %s ended", count,
				 count == 1 ? "" : "s", count == 1 ? "is" : "are");
}

static void put_json(struct ptrc_buffer *b, const struct making *m)
{
	struct ptrc_json j = ptrc_json_begin(b);
	const char *log = m->absolute_log ? m->absolute_log : m->config->output;

	ptrc_json_text(&j, "session", m->outcome.name);
	ptrc_json_i64(&j, "controller", m->outcome.controller);
	ptrc_json_u64(&j, "target", m->config->pid);
	if (log)
		ptrc_json_bytes(&j, "log", log, strlen(log));
	if (*m->obstacle.text)
		ptrc_json_bytes(&j, "obstacle", m->obstacle.text, strlen(m->obstacle.text));
	ptrc_json_end(&j);
}

int main(int argc, char **argv)
{
	struct ptrc_buffer out = PTRC_BUFFER_INIT;

	/* From here on, a pipe without a reader is an error, not a signal. So undo() is called, and no session
	 * stays whose name was not printed. */
	ptrc_output_begin();
	parse(argc, argv);
	ptrc_config_resolve(&given, is_all ? NULL : "--all makes them all", &config);
	check();
	if (given.is_dump) {
		ptrc_config_dump(&config, given.user, &out);
		ptrc_output_end(&out);
		return PTRC_EXIT_DONE;
	}
	made = ptrc_cli_allocate(config.count * sizeof(*made));
	for (size_t i = 0; i < config.count; i++)
		made[i].log.fd = -1;
	directory = getcwd(NULL, 0);
	creator = getpid();
	on_exit(undo, NULL);
	/* Opens all logs before it makes the first session. Opening a FIFO waits for its reader, and a signal
	 * that ends this wait must not leave a session. */
	for (size_t i = 0; i < config.count; i++)
		if (!prepare(&made[i], &config.sessions[i]))
			return PTRC_EXIT_FAILED;
	for (; made_count < config.count; made_count++)
		if (!make(&made[made_count]))
			return PTRC_EXIT_FAILED;
	ptrc_output_need_reader();
	for (size_t i = 0; i < config.count; i++) {
		if (is_json) {
			put_json(&out, &made[i]);
		} else {
			ptrc_buffer_text(&out, made[i].outcome.name);
			ptrc_buffer_char(&out, '\n');
		}
	}
	ptrc_output_end(&out);
	return PTRC_EXIT_DONE;
}
