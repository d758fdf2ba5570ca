/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/trace_error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <posixtrace.h>

#include "src/cli/cli.h"
#include "src/session/logfile.h"
#include "src/session/session_path.h"

/* Whether the caller, or the process, has all the traces that it can have. */
static bool has_all_traces(pid_t pid)
{
	struct posixtrace_process p;
	struct posixtrace_system s;

	return (!posixtrace_get_system(&s, sizeof(s)) && s.pt_streams >= TRACE_SYS_MAX) ||
	       (!posixtrace_get_process(pid, &p, sizeof(p)) && p.pt_streams >= TRACE_SYS_MAX);
}

static bool are_different(const char *own, const char *of_children)
{
	struct stat a, b;

	if (stat(own, &a))
		return false;
	/* Before the first child the link leads nowhere. Kernels before 4.12 have no link. */
	return stat(of_children, &b) ? !lstat(of_children, &b) : a.st_ino != b.st_ino;
}

const char *ptrc_trace_foreign_children(void)
{
	if (are_different("/proc/self/ns/pid", "/proc/self/ns/pid_for_children"))
		return "pid";
	if (are_different("/proc/self/ns/time", "/proc/self/ns/time_for_children"))
		return "time";
	return NULL;
}

static void say_not_allowed(pid_t pid, const char *target, bool has_log)
{
	struct posixtrace_process p;
	struct stat st;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%ld", (long)pid);
	if (has_log && ptrc_trace_foreign_children())
		ptrc_cli_message(target,
				 "cannot be traced: what this command starts is in another %s "
				 "namespace; call 'unshare' with --fork",
				 ptrc_trace_foreign_children());
	else if (!posixtrace_get_process(pid, &p, sizeof(p)) && p.pt_depth)
		ptrc_cli_message(target,
				 "is in another pid namespace, so it cannot be traced from here; "
				 "run the commands where it is (nsenter, docker exec)");
	else if (geteuid() != 0 && !stat(path, &st) && st.st_uid != geteuid())
		ptrc_cli_message(target,
				 "not allowed to trace this process: it belongs to user %lu",
				 (unsigned long)st.st_uid);
	else
		ptrc_cli_message(target, "not allowed to trace this process");
}

void ptrc_trace_no_process(const char *what, int error)
{
	if (error != EAGAIN && ptrc_trace_foreign_children())
		ptrc_cli_message(NULL,
				 "cannot start %s: it is in another %s namespace; call 'unshare' "
				 "with --fork",
				 what, ptrc_trace_foreign_children());
	else
		ptrc_cli_message(NULL, "cannot start %s: %s", what, ptrc_cli_process_reason(error));
}

void ptrc_trace_error(int error, pid_t pid, const char *target, const char *log_path)
{
	char directory[64];
	struct stat st;

	switch (error) {
	case ESRCH:
		ptrc_cli_message(target, "no such process");
		return;
	case EPERM:
		if (access("/dev/shm", W_OK) && errno == EROFS)
			ptrc_cli_message("/dev/shm",
					 "is mounted read-only, and a trace needs memory there: "
					 "mount -o remount,rw /dev/shm");
		else if (ptrc_session_directory(false, directory) == EPERM)
			ptrc_session_say_directory(EPERM);
		else
			say_not_allowed(pid, target, log_path);
		return;
	case EAGAIN:
		/* Only a stream with a log needs a process. */
		if (log_path && !has_all_traces(pid)) {
			ptrc_trace_no_process("the process that writes the log", EAGAIN);
			return;
		}
		ptrc_cli_message(target, "you have %d traces already, and cannot have more",
				 TRACE_SYS_MAX);
		return;
	case ENOMEM:
		ptrc_cli_message(target, "no memory for the stream: /dev/shm is full, or a limit "
					 "on file size or open files is too low");
		return;
	case EOVERFLOW:
		ptrc_cli_message("CLOCK_REALTIME",
				 "shows a time before 1970 or after 2261, which no trace can hold: "
				 "set the clock");
		return;
	case EINVAL:
		/* Other causes of EINVAL have been checked before. */
		if (!log_path)
			ptrc_cli_message(target, "the stream-full-policy flush needs a log");
		else if (!stat(log_path, &st) && S_ISREG(st.st_mode))
			ptrc_cli_message(log_path, "the log-max-size is too small for a log");
		else
			ptrc_logfile_say_wrong_policy(log_path);
		return;
	default:
		ptrc_cli_error(log_path ? log_path : target, error);
		return;
	}
}
