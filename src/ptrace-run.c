/* SPDX-License-Identifier: MIT */
/*
 * The child waits at a gate, a pipe, until the trace on it runs; so COMMAND is traced
 * from its first instruction. This process is the controller, and must be gone last: it
 * ignores the signals of the terminal, which reach COMMAND by themselves, and waits.
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/attributes.h"
#include "src/cli.h"
#include "src/exit_status.h"
#include "src/logfile.h"
#include "src/losses.h"
#include "src/trace_error.h"

#define DEFAULT_LOG "ptrace.log"

static const struct ptrc_cli_option options[] = {
	{"output", 'o', "LOG",
	 "write the events to this file (default: " DEFAULT_LOG ")"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-run",
	.operands = "[OPTION]... [--] COMMAND [ARGUMENT]...",
	.summary = "Runs COMMAND and traces it, with all its children, from its first\n"
		   "instruction to its end.",
	.options = options,
	.shared_options = ptrc_attributes_options,
	.notes =
		"SIZE is a number of bytes; a K, M or G behind it stands for 1024, 1024^2\n"
		"or 1024^3.\n"
		"Exit status: COMMAND's; 128+N if signal N ended it; 125 ptrace-run itself\n"
		"failed, 126 COMMAND cannot be executed, 127 it was not found.",
	.usage_status = PTRC_EXIT_RUN_FAILED,
	.has_command = true,
};

struct run {
	char **command;
	struct ptrc_logfile log;
	trace_attr_t attr;
	trace_id_t trace;
	pid_t child;
	/* The child waits for a byte on the one; a failed exec puts its error number on
	 * the other, a successful one closes it. */
	int gate[2];
	int failure[2];
	/* What the child has to have again before it executes COMMAND. */
	sigset_t mask;
	struct sigaction child_action;
};

/* Waited for with sigwaitinfo(), so that nothing ever races with the end of the child. */
static sigset_t waited_signals;

static bool is_executable(const char *path, int *error)
{
	struct stat st;

	if (stat(path, &st) || access(path, X_OK)) {
		if (errno != ENOENT && errno != ENOTDIR)
			*error = errno;
		return false;
	}
	if (S_ISDIR(st.st_mode)) {
		*error = EACCES;
		return false;
	}
	return true;
}

/*
 * Looks for COMMAND as execvp() does, before anything is done to the log: a misspelt
 * command shall not cost an older log. 0, ENOENT, or why what is there cannot be
 * executed.
 */
static int find_command(const char *name)
{
	char standard[200] = "/bin:/usr/bin";
	const char *path = getenv("PATH");
	int error = ENOENT;
	char file[PATH_MAX];

	if (strchr(name, '/'))
		return is_executable(name, &error) ? 0 : error;
	if (!*name)
		return ENOENT;
	if (!path) {
		confstr(_CS_PATH, standard, sizeof(standard));
		path = standard;
	}
	for (;;) {
		size_t n = strcspn(path, ":");

		if (snprintf(file, sizeof(file), "%.*s%s%s", (int)n, path, n ? "/" : "",
			     name) < (int)sizeof(file) &&
		    is_executable(file, &error))
			return 0;
		if (!path[n])
			return error;
		path += n + 1;
	}
}

static int say_cannot_execute(const char *name, int error)
{
	if (error == ENOENT && !strchr(name, '/'))
		ptrc_cli_message(name, "command not found");
	else
		ptrc_cli_error(name, error);
	return error == ENOENT ? PTRC_EXIT_RUN_NOT_FOUND : PTRC_EXIT_RUN_CANNOT_EXECUTE;
}

/* A file that has the default name by accident is left alone. */
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
	const char *path = NULL;
	int error;
	int key;

	ptrc_cli_begin(&cli);
	if (ptrc_attributes_init(&r->attr))
		ptrc_cli_no_memory();
	while ((key = ptrc_cli_next(argc, argv)) != -1) {
		if (key == 'o')
			path = optarg;
		else
			ptrc_attributes_option(&r->attr, key, optarg);
	}
	if (optind == argc)
		ptrc_cli_usage(NULL, "no COMMAND given");
	r->command = argv + optind;
	error = find_command(r->command[0]);
	if (error)
		exit(say_cannot_execute(r->command[0], error));
	if (!path && !is_log_or_empty(DEFAULT_LOG)) {
		ptrc_cli_message(DEFAULT_LOG,
				 "exists and is no trace log; name another with -o");
		exit(PTRC_EXIT_RUN_FAILED);
	}
	error = ptrc_logfile_open(&r->log, path ? path : DEFAULT_LOG);
	if (error) {
		ptrc_cli_message(r->log.path, "%s", ptrc_logfile_explain(error));
		exit(PTRC_EXIT_RUN_FAILED);
	}
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
	/* The end of the pipe means that there will be no trace. */
	if (n != 1)
		_exit(PTRC_EXIT_RUN_FAILED);
	execvp(r->command[0], r->command);
	error = errno;
	if (write(r->failure[1], &error, sizeof(error)) < 0)
		_exit(PTRC_EXIT_RUN_FAILED);
	_exit(error == ENOENT ? PTRC_EXIT_RUN_NOT_FOUND : PTRC_EXIT_RUN_CANNOT_EXECUTE);
}

/* 0 or an error number. */
static int start_child(struct run *r)
{
	static const int ignored[] = {SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU};
	struct sigaction standard = {.sa_handler = SIG_DFL};

	if (pipe2(r->gate, O_CLOEXEC) || pipe2(r->failure, O_CLOEXEC))
		return errno;
	sigemptyset(&waited_signals);
	sigaddset(&waited_signals, SIGCHLD);
	sigaddset(&waited_signals, SIGTERM);
	sigaddset(&waited_signals, SIGHUP);
	/* An inherited SIG_IGN would have the kernel reap the child. */
	sigaction(SIGCHLD, &standard, &r->child_action);
	sigprocmask(SIG_BLOCK, &waited_signals, &r->mask);
	r->child = fork();
	if (!r->child)
		child_main(r);
	if (r->child < 0)
		return errno;
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	close(r->gate[0]);
	close(r->failure[1]);
	return 0;
}

/* Waits for the end of the child; its status as a shell has it. Stops when it stops, so
 * that the shell gets its terminal back. */
static int wait_child(const struct run *r)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(r->child, &status, WUNTRACED | WNOHANG);

		if (pid < 0 && errno != EINTR)
			return PTRC_EXIT_RUN_FAILED;
		if (pid == r->child && WIFEXITED(status))
			return WEXITSTATUS(status);
		if (pid == r->child && WIFSIGNALED(status))
			return PTRC_EXIT_RUN_SIGNAL + WTERMSIG(status);
		if (pid == r->child && WIFSTOPPED(status)) {
			raise(SIGSTOP);
			/* Whoever continued this process alone meant both. */
			kill(r->child, SIGCONT);
		} else {
			siginfo_t info;
			int s = sigwaitinfo(&waited_signals, &info);

			if (s == SIGTERM || s == SIGHUP)
				kill(r->child, s);
		}
	}
}

/* Without a trace there is no COMMAND either. */
static int abandon(struct run *r, int error)
{
	int status;

	/* The gate closes, the child goes. */
	close(r->gate[1]);
	status = wait_child(r);
	ptrc_logfile_close(&r->log, false);
	/* A signal came before the trace did. */
	if (status > PTRC_EXIT_RUN_SIGNAL)
		return status;
	ptrc_trace_error(error, r->command[0], r->log.path);
	return PTRC_EXIT_RUN_FAILED;
}

/* Opens the gate. 0 when COMMAND runs, or why it could not be executed. */
static int release_child(const struct run *r)
{
	int error = 0;
	ssize_t n;

	/* A child that a signal has ended already is no reason to die of SIGPIPE. */
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

/* Scripts have events, too, by ptrace-event, but are no programs with the library. */
static bool has_user_events(trace_id_t trace)
{
	struct posixtrace_type_count counts[POSIX_TRACE_UNNAMED_USEREVENT + TRACE_USER_EVENT_MAX];

	if (posixtrace_get_type_counts(trace, counts, sizeof(counts) / sizeof(*counts)))
		return true;
	for (size_t i = POSIX_TRACE_UNNAMED_USEREVENT; i < sizeof(counts) / sizeof(*counts); i++)
		if (counts[i].pt_events)
			return true;
	return false;
}

/* Ends the trace and tells what is missing from it; COMMAND's status remains. */
static void finish(struct run *r)
{
	struct posix_trace_status_info status;
	struct posixtrace_counts counts;
	struct ptrc_losses losses = {0};
	bool has_losses, is_empty = false;
	int error;

	posix_trace_stop(r->trace);
	has_losses = !posix_trace_get_status(r->trace, &status) &&
		     !posixtrace_get_counts(r->trace, &counts, sizeof(counts));
	if (has_losses) {
		ptrc_losses_gather(&losses, &status, &counts);
		is_empty = !counts.pt_processes && !has_user_events(r->trace);
	}
	error = posix_trace_shutdown(r->trace);
	ptrc_losses_from_log(&losses, r->log.path);
	if (error)
		losses.write_error = error;
	ptrc_losses_report(&losses, r->log.path);
	if (is_empty)
		ptrc_cli_message(
			r->command[0],
			"no event was recorded: no program that is linked with the "
			"library generated one");
}

int main(int argc, char **argv)
{
	static struct run r = {.log = {.fd = -1}};
	int status;
	int error;

	parse(argc, argv, &r);
	error = start_child(&r);
	if (error) {
		ptrc_logfile_close(&r.log, false);
		ptrc_cli_error(r.command[0], error);
		return PTRC_EXIT_RUN_FAILED;
	}
	error = posix_trace_create_withlog(r.child, &r.attr, r.log.fd, &r.trace);
	if (error)
		return abandon(&r, error);
	error = posix_trace_start(r.trace);
	if (error) {
		posix_trace_shutdown(r.trace);
		return abandon(&r, error);
	}
	error = release_child(&r);
	status = wait_child(&r);
	if (error) {
		posix_trace_shutdown(r.trace);
		ptrc_logfile_close(&r.log, false);
		return say_cannot_execute(r.command[0], error);
	}
	finish(&r);
	ptrc_logfile_close(&r.log, true);
	return status;
}
