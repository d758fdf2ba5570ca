/* SPDX-License-Identifier: MIT */
/*
 * The child waits at a gate, which is a pipe, until its trace runs; so COMMAND is traced from
 * its first instruction. This process controls the trace and has to outlive COMMAND, so signals
 * do not end it. A signal that was sent to the whole process group, as a terminal does, has
 * reached COMMAND as well; a signal that was sent to this process alone is passed on.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/cli/cli.h"
#include "src/cli/command.h"
#include "src/config/configuration.h"
#include "src/cli/exit_status.h"
#include "src/session/filter_rules.h"
#include "src/cli/group_signal.h"
#include "src/cli/json.h"
#include "src/cli/output.h"
#include "src/session/logfile.h"
#include "src/view/losses.h"
#include "src/session/trace_error.h"

#define DEFAULT_LOG "ptrace.log"

enum {
	KEY_ALLOW_LOSS = PTRC_CLI_KEY_FIRST,
	KEY_JSON,
};

static const struct ptrc_cli_option options[] = {
	{"output", 'o', "LOG", "write the events to this file (default:\n" DEFAULT_LOG ")"},
	PTRC_CONFIG_OPTION_FILTER,
	PTRC_CONFIG_OPTION_FILE,
	PTRC_CONFIG_OPTION_DUMP_CONFIG,
	{"allow-loss", KEY_ALLOW_LOSS, NULL, "exit with 0 even if events were lost"},
	{"json", KEY_JSON, NULL,
	 "print the result at the end, as a JSON object on\nstandard error"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-run",
	.operands = "[OPTION]... [--] COMMAND [ARGUMENT]...",
	.summary = "Runs COMMAND and traces it, with all its children, from its first\n"
		   "instruction to its end.",
	.options = options,
	.shared_options = ptrc_config_attribute_options,
	.notes = "SIZE is a number of bytes; a K, M or G behind it stands for 1024, 1024^2\n"
		 "or 1024^3. Options override the file.\n"
		 "Exit status: COMMAND's; 128+N if signal N ended it; 3 instead of 0 if events\n"
		 "were lost; 125 ptrace-run itself failed, 126 COMMAND cannot be executed, 127\n"
		 "it was not found.",
	.usage_status = PTRC_EXIT_RUN_FAILED,
	.has_command = true,
};

struct run {
	char **command;
	struct ptrc_logfile log;
	trace_attr_t attr;
	struct ptrc_filter_rules filter;
	trace_id_t trace;
	pid_t child;
	/* The child waits at .gate for a byte. If it cannot execute COMMAND, it writes the
	 * error number to .failure; otherwise exec closes .failure. */
	int gate[2];
	int failure[2];
	/* The signal mask and the action for SIGCHLD that this process was started with. The
	 * child restores them before it executes COMMAND. */
	sigset_t mask;
	struct sigaction child_action;
};

static struct ptrc_config_line given = {.user = PTRC_CONFIG_FOR_RUN};
static struct ptrc_config_file config;
static bool is_loss_allowed;
static bool is_json;

/* These signals are passed on to COMMAND. All others act on this process as on any command. */
static const int passed_signals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
				     SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

/* These signals are blocked and taken by sigtimedwait(), so that none of them can come
 * between a check of the child and the wait. */
static sigset_t waited_signals;

static int say_cannot_execute(const char *name, int error)
{
	char path[PATH_MAX];

	if (error == ENOENT && !ptrc_command_find(name, path))
		ptrc_cli_message(name,
				 "the interpreter of this script, or the loader of this program, "
				 "was not found");
	else if (error == ENOENT && !strchr(name, '/'))
		ptrc_cli_message(name, "command not found");
	else
		ptrc_cli_error(name, error);
	return error == ENOENT ? PTRC_EXIT_RUN_NOT_FOUND : PTRC_EXIT_RUN_CANNOT_EXECUTE;
}

/* A file that happens to have the default name but is no log is not overwritten. */
static bool is_log_or_empty(const char *path)
{
	bool is_log = false;
	trace_id_t trace;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return errno == ENOENT;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && !st.st_size) {
		is_log = true;
	} else if (!posix_trace_open(fd, &trace)) {
		posix_trace_close(trace);
		is_log = true;
	}
	close(fd);
	return is_log;
}

static void parse(int argc, char **argv, struct run *r)
{
	int key;

	ptrc_cli_begin(&cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1) {
		if (key == KEY_ALLOW_LOSS)
			is_loss_allowed = true;
		else if (key == KEY_JSON)
			is_json = true;
		else
			ptrc_config_option(&given, key, optarg);
	}
	if (optind == argc && !given.is_dump)
		ptrc_cli_usage(NULL, "no COMMAND given");
	r->command = argv + optind;
	ptrc_config_resolve(&given, "ptrace-run has one", &config);
}

/* Checks everything that can be checked before there is a child. */
static void prepare(struct run *r, const struct ptrc_config *c)
{
	char path[PATH_MAX];
	/* Checked before the log is opened, so that a misspelt command does not
	 * destroy an older log. */
	int error = ptrc_command_find(r->command[0], path);

	if (error)
		exit(say_cannot_execute(r->command[0], error));
	if (ptrc_config_attributes(c, &r->attr))
		ptrc_cli_no_memory();
	if (!c->output && !is_log_or_empty(DEFAULT_LOG)) {
		ptrc_cli_message(DEFAULT_LOG,
				 "exists and is not a trace log; name another file with -o");
		exit(PTRC_EXIT_RUN_FAILED);
	}
	if (!ptrc_logfile_open(&r->log, c->output ? c->output : DEFAULT_LOG))
		exit(PTRC_EXIT_RUN_FAILED);
}

static void __attribute__((noreturn)) child_main(struct run *r)
{
	ssize_t n;
	int error;
	char go;

	close(r->gate[1]);
	close(r->failure[0]);
	sigaction(SIGCHLD, &r->child_action, NULL);
	sigprocmask(SIG_SETMASK, &r->mask, NULL);
	do
		n = read(r->gate[0], &go, 1);
	while (n < 0 && errno == EINTR);
	/* The pipe has ended: there will be no trace. */
	if (n != 1)
		_exit(PTRC_EXIT_RUN_FAILED);
	execvp(r->command[0], r->command);
	error = errno;
	if (write(r->failure[1], &error, sizeof(error)) < 0)
		_exit(PTRC_EXIT_RUN_FAILED);
	_exit(error == ENOENT ? PTRC_EXIT_RUN_NOT_FOUND : PTRC_EXIT_RUN_CANNOT_EXECUTE);
}

/* Returns 0 or an error number. */
static int start_child(struct run *r)
{
	struct sigaction standard = {.sa_handler = SIG_DFL};

	if (pipe2(r->gate, O_CLOEXEC) || pipe2(r->failure, O_CLOEXEC))
		return errno;
	sigemptyset(&waited_signals);
	sigaddset(&waited_signals, SIGCHLD);
	for (size_t i = 0; i < sizeof(passed_signals) / sizeof(passed_signals[0]); i++)
		sigaddset(&waited_signals, passed_signals[i]);
	/* If SIGCHLD stayed ignored, as the parent may have set it, the kernel would reap the
	 * child before this process gets its status. */
	sigaction(SIGCHLD, &standard, &r->child_action);
	sigprocmask(SIG_BLOCK, &waited_signals, &r->mask);
	r->child = fork();
	if (!r->child)
		child_main(r);
	if (r->child < 0)
		return errno;
	ptrc_group_signal_begin();
	/* COMMAND may take the terminal for itself; messages of this process shall
	 * still get through. */
	signal(SIGTTIN, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	close(r->gate[0]);
	close(r->failure[1]);
	return 0;
}

/* Passes a signal on to COMMAND, unless COMMAND has it already: the signal was sent to the
 * process group and COMMAND is still in that group, or COMMAND itself sent the signal. */
static void pass_on(const struct run *r, int signal, const siginfo_t *info)
{
	if (info->si_code <= 0 && info->si_pid == r->child)
		return;
	if (!ptrc_group_signal_is_for_group(signal) || getpgid(r->child) != getpgrp())
		kill(r->child, signal);
}

/* Stops this process because COMMAND has stopped, so that the shell takes the terminal
 * back; but not if both have been continued since. */
static void stop_too(void)
{
	sigset_t pending;

	if (!sigpending(&pending) && !sigismember(&pending, SIGCONT))
		raise(SIGSTOP);
}

/*
 * Waits for the end of the child and returns its status as wait() has it. Meanwhile it
 * compares the globs of the filter with names that programs open.
 */
static int wait_child(struct run *r)
{
	const struct timespec refresh = {
		.tv_nsec = PTRC_FILTER_RULES_REFRESH_MS * 1000000,
	};
	bool is_refreshing = r->filter.count;

	for (;;) {
		int status;
		pid_t pid = waitpid(r->child, &status, WUNTRACED | WNOHANG);
		siginfo_t info;
		int s;

		if (pid < 0 && errno != EINTR)
			return W_EXITCODE(PTRC_EXIT_RUN_FAILED, 0);
		if (pid == r->child && (WIFEXITED(status) || WIFSIGNALED(status)))
			return status;
		if (pid == r->child && WIFSTOPPED(status))
			stop_too();
		s = sigtimedwait(&waited_signals, &info, is_refreshing ? &refresh : NULL);
		if (s > 0 && s != SIGCHLD)
			pass_on(r, s, &info);
		if (is_refreshing && ptrc_filter_rules_refresh(&r->filter, r->trace))
			is_refreshing = false;
	}
}

/* Ends in the same way as COMMAND: a shell that was interrupted together with COMMAND
 * has to see that its child died of the signal, too. */
static int end_as(int status)
{
	struct rlimit none = {.rlim_cur = 0};
	sigset_t one;
	int s;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	s = WTERMSIG(status);
	/* If a core file was wanted, COMMAND has left it; this process shall not leave
	 * another. */
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	signal(s, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, s);
	raise(s);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	/* A process that is the first of its PID namespace survives the signal. */
	return PTRC_EXIT_RUN_SIGNAL + s;
}

/* Ends the child because there is no trace. Returns the exit status. */
static int abandon(struct run *r)
{
	int status;

	/* The child ends when the gate closes. */
	close(r->gate[1]);
	ptrc_filter_rules_clear(&r->filter);
	status = wait_child(r);
	ptrc_group_signal_end();
	ptrc_logfile_close(&r->log, false);
	return WIFSIGNALED(status) ? end_as(status) : PTRC_EXIT_RUN_FAILED;
}

/* Opens the gate. Returns 0 when COMMAND runs, or why it could not be executed. */
static int release_child(const struct run *r)
{
	int error = 0;
	ssize_t n;

	/* If a signal has ended the child already, write() shall fail rather than end this
	 * process. */
	signal(SIGPIPE, SIG_IGN);
	if (write(r->gate[1], "", 1) == 1) {
		do
			n = read(r->failure[0], &error, sizeof(error));
		while (n < 0 && errno == EINTR);
		if (n != (ssize_t)sizeof(error))
			error = 0;
	}
	close(r->gate[1]);
	close(r->failure[0]);
	return error;
}

/*
 * Counts the events that were recorded, and finds out whether one of them is a user
 * event. A script may have such events by ptrace-event without having the library.
 */
static uint64_t count_recorded(trace_id_t trace, bool *has_user_events)
{
	struct posixtrace_type_count counts[POSIX_TRACE_UNNAMED_USEREVENT + TRACE_USER_EVENT_MAX];
	uint64_t count = 0;

	*has_user_events = true;
	if (posixtrace_get_type_counts(trace, counts, sizeof(counts) / sizeof(*counts)))
		return 0;
	*has_user_events = false;
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		count += counts[i].pt_events;
		if (i >= POSIX_TRACE_UNNAMED_USEREVENT && counts[i].pt_events)
			*has_user_events = true;
	}
	return count;
}

/* Writes the result as the last line to standard error. */
static void put_summary(const struct run *r, int status, const uint64_t *event_count,
			const struct ptrc_losses *losses)
{
	struct ptrc_buffer b = PTRC_BUFFER_INIT;
	struct ptrc_json j = ptrc_json_begin(&b);

	ptrc_json_bytes(&j, "log", r->log.path, strlen(r->log.path));
	ptrc_json_bytes(&j, "command", r->command[0], strlen(r->command[0]));
	if (WIFEXITED(status))
		ptrc_json_i64(&j, "exit_status", WEXITSTATUS(status));
	else
		ptrc_json_i64(&j, "signal", WTERMSIG(status));
	if (event_count)
		ptrc_json_u64(&j, "events", *event_count);
	ptrc_losses_json(losses, &j);
	ptrc_json_bool(&j, "complete", !ptrc_losses_is_any(losses));
	ptrc_json_end(&j);
	if (write(STDERR_FILENO, b.bytes, b.used) < 0) {
		/* No place is left to report this. */
	}
	ptrc_buffer_free(&b);
}

/* Ends the trace and reports what is missing from it. Returns the status to end with,
 * as wait() has it. */
static int finish(struct run *r, int status)
{
	struct posix_trace_status_info info;
	struct posixtrace_counts counts;
	struct ptrc_losses losses = {0};
	uint64_t event_count;
	uint64_t recorded = 0;
	bool has_user_events;
	bool has_count;
	bool has_losses;
	bool is_empty = false;
	int error;

	posix_trace_stop(r->trace);
	has_losses = !posix_trace_get_status(r->trace, &info) &&
		     !posixtrace_get_counts(r->trace, &counts, sizeof(counts));
	if (has_losses) {
		ptrc_losses_gather(&losses, &info, &counts);
		recorded = count_recorded(r->trace, &has_user_events);
		is_empty = !counts.pt_processes && !has_user_events;
	}
	error = posix_trace_shutdown(r->trace);
	has_count = ptrc_losses_count_log(
		&losses, r->log.path, ptrc_logfile_is_gone(r->log.fd, r->log.path), &event_count);
	if (error)
		losses.write_error = error;
	if (has_count)
		ptrc_losses_count_unwritten(&losses, recorded, event_count);
	ptrc_losses_report(&losses, r->log.path);
	if (is_empty)
		ptrc_cli_message(r->command[0],
				 "no event was recorded: no program that is linked with the "
				 "library generated one; 'ptrace-doctor -- %s' looks for the cause",
				 r->command[0]);
	if (is_json)
		put_summary(r, status, has_count ? &event_count : NULL, &losses);
	if (WIFEXITED(status) && !WEXITSTATUS(status) && ptrc_losses_is_any(&losses) &&
	    !is_loss_allowed)
		return W_EXITCODE(PTRC_EXIT_INCOMPLETE, 0);
	return status;
}

/* Whether the child has ended already: a signal killed it before it could be traced. Its status
 * then says so, and no message is needed. */
static bool is_child_gone(const struct run *r)
{
	siginfo_t info = {.si_pid = 0};

	return !waitid(P_PID, (id_t)r->child, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       info.si_pid == r->child;
}

/* Creates and starts the trace. If that fails, prints why and returns false. */
static bool start_trace(struct run *r)
{
	int error = posix_trace_create_withlog(r->child, &r->attr, r->log.fd, &r->trace);

	if (error) {
		if (!is_child_gone(r))
			ptrc_trace_error(error, r->command[0], r->log.path);
		return false;
	}
	error = ptrc_filter_rules_apply(&r->filter, r->trace, config.sessions[0].filter.texts,
					config.sessions[0].filter.count);
	if (error)
		ptrc_cli_message("--filter", "%s",
				 error == ENOSPC ? "there is no room for so many event names"
						 : strerror(error));
	if (!error) {
		error = posix_trace_start(r->trace);
		if (error)
			ptrc_trace_error(error, r->command[0], r->log.path);
	}
	if (error)
		posix_trace_shutdown(r->trace);
	return !error;
}

int main(int argc, char **argv)
{
	static struct run r = {.log = {.fd = -1}};
	struct ptrc_buffer out = PTRC_BUFFER_INIT;
	int status;
	int error;

	parse(argc, argv, &r);
	if (given.is_dump) {
		ptrc_output_begin();
		ptrc_config_dump(&config, given.user, &out);
		ptrc_output_end(&out);
		return PTRC_EXIT_DONE;
	}
	prepare(&r, &config.sessions[0]);
	error = start_child(&r);
	if (error) {
		ptrc_logfile_close(&r.log, false);
		ptrc_cli_error(r.command[0], error);
		return PTRC_EXIT_RUN_FAILED;
	}
	if (!start_trace(&r))
		return abandon(&r);
	error = release_child(&r);
	status = wait_child(&r);
	ptrc_group_signal_end();
	if (error) {
		posix_trace_shutdown(r.trace);
		ptrc_logfile_close(&r.log, false);
		return say_cannot_execute(r.command[0], error);
	}
	status = finish(&r, status);
	ptrc_logfile_close(&r.log, true);
	return end_as(status);
}
