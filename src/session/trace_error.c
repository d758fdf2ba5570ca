/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/trace_error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "include/posixtrace-private.h"
#include "lib/base/procfs.h"
#include "src/base/message.h"
#include "src/session/logfile.h"
#include "src/session/obstacle.h"
#include "src/session/session_path.h"
#include "src/session/session_server.h"

#define SHM "/dev/shm"

static bool has_all_traces(pid_t pid)
{
	struct ptrc_inspected_process p;
	struct ptrc_inspected_system s;

	ptrc_inspect_system(&s);
	return s.pt_streams >= TRACE_SYS_MAX ||
	       (!ptrc_inspect_process(pid, &p) && p.pt_streams >= TRACE_SYS_MAX);
}

const char *ptrc_trace_proc_fault(void)
{
	char self[32] = "";

	if (readlink("/proc/self", self, sizeof(self) - 1) <= 0)
		return "is not mounted: processes cannot be told apart";
	if (atol(self) != (long)getpid())
		return "is of another pid namespace: its numbers mean other processes";
	return NULL;
}

static void say_not_allowed(pid_t pid, const char *target, bool has_log)
{
	struct ptrc_inspected_system s;
	struct ptrc_obstacle o;
	char path[80];

	ptrc_inspect_system(&s);
	if (ptrc_trace_proc_fault())
		ptrc_cli_message("/proc", "%s; " PTRC_TRACE_PROC_ADVICE, ptrc_trace_proc_fault());
	else if (has_log && ptrc_procfs_bears_elsewhere())
		ptrc_cli_message(target,
				 "cannot be traced: what this command starts is in another %s "
				 "namespace; call 'unshare' with --fork",
				 ptrc_procfs_bears_elsewhere());
	else if (ptrc_obstacle_find(pid, &o))
		ptrc_cli_message(target, "%s%s%s", o.reason, o.advice ? "; " : "",
				 o.advice ? o.advice : "");
	else if (s.pt_bells_error == EPERM) {
		ptrc_inspect_directory(0, path);
		ptrc_cli_message(strcat(path, "/bells"),
				 PTRC_TRACE_BELLS_FAULT "; " PTRC_TRACE_BELLS_ADVICE);
	} else {
		ptrc_cli_message(target, "not allowed to trace this process");
	}
}

void ptrc_trace_no_process(const char *what, int error)
{
	if (error != EAGAIN && ptrc_procfs_bears_elsewhere())
		ptrc_cli_message(NULL,
				 "cannot start %s: it is in another %s namespace; call 'unshare' "
				 "with --fork",
				 what, ptrc_procfs_bears_elsewhere());
	else
		ptrc_cli_message(NULL, "cannot start %s: %s", what, ptrc_cli_process_reason(error));
}

static bool is_refusal(int error)
{
	return error == EPERM || error == EACCES || error == ENOSYS;
}

/* Tries the system calls that a stream needs, in harmless ways. Returns the name of the first call
 * that is refused to this process, and its error in errno; NULL if none is refused. */
static const char *find_refused_call(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	char path[48];
	const char *call = NULL;
	int fd, error;

	snprintf(path, sizeof(path), SHM "/.posixtrace-%ld", (long)getpid());
	if (mkdirat(AT_FDCWD, path, 0700) && is_refusal(errno))
		return "mkdirat";
	rmdir(path);
	fd = open(SHM, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return is_refusal(errno) ? "openat" : NULL;
	if (ftruncate(fd, 4096) && is_refusal(errno))
		call = "ftruncate";
	else if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 4096) && is_refusal(errno))
		call = "fallocate";
	else if (fcntl(fd, F_OFD_SETLK, &lock) && is_refusal(errno))
		call = "fcntl";
	error = errno;
	close(fd);
	errno = error;
	return call;
}

static bool say_refused(const char *target)
{
	const char *call = find_refused_call();

	if (!call)
		return false;
	ptrc_cli_message(target,
			 "cannot be traced: the system call %s is refused to this command (%s), "
			 "as by a seccomp filter",
			 call, strerror(errno));
	return true;
}

/* Whether a resource limit is too low. The library can raise the limit on the size of files to the hard limit, so
 * the hard limit is compared for that resource. */
static bool is_below(int resource, uint64_t least)
{
	struct rlimit l;

	return !getrlimit((__rlimit_resource_t)resource, &l) &&
	       (resource == RLIMIT_FSIZE ? l.rlim_max : l.rlim_cur) < least;
}

static void say_no_memory(const char *target)
{
	uint64_t room = UINT64_MAX, size = UINT64_MAX;
	const char *reason = NULL;
	struct statvfs v;

	/* A tmpfs without a limit reports 0 blocks and 0 files. */
	if (statvfs(SHM, &v))
		v.f_blocks = v.f_files = 0;
	if (v.f_blocks) {
		room = (uint64_t)v.f_bavail * v.f_frsize;
		size = (uint64_t)v.f_blocks * v.f_frsize;
	}
	if (room < PTRC_TRACE_ROOM_LEAST)
		reason = size < PTRC_TRACE_SHM_LEAST ? SHM " is too small" : SHM " is full";
	else if (v.f_files && v.f_favail < PTRC_TRACE_INODES_LEAST)
		reason = SHM " can have too few more files (df -i " SHM ")";
	else if (is_below(RLIMIT_AS, 2 * PTRC_TRACE_SPACE))
		reason = "the limit on address space (ulimit -v) is too low";
	else if (is_below(RLIMIT_FSIZE, PTRC_TRACE_FILE_LEAST))
		reason = "the limit on file size (ulimit -f) is too low";
	else if (is_below(RLIMIT_FSIZE, PTRC_TRACE_SPACE))
		reason = "the limit on file size (ulimit -f) is too low for a stream of this "
			 "size; --stream-min-size=64K needs less";
	else if (is_below(RLIMIT_NOFILE, PTRC_TRACE_FILES_LEAST))
		reason = "the limit on open files (ulimit -n) is too low";
	if (reason)
		ptrc_cli_message(target, "no memory for the stream: %s", reason);
	else
		ptrc_cli_message(target,
				 "no memory for the stream: " SHM " has too little room for the "
				 "stream, or the system or the control group too little memory; %s "
				 "needs less",
				 PTRC_TRACE_SMALLER(room));
}

static void say_names_version(pid_t pid, const char *target)
{
	struct ptrc_inspected_process p;

	if (ptrc_inspect_process(pid, &p))
		p.pt_names_versions = 0;
	ptrc_cli_message(
		target,
		"cannot be traced: its event names have version %u of the shared memory, and "
		"this command knows it up to version %u; use the commands of the release "
		"that it is linked with",
		p.pt_names_versions & 0xff, p.pt_names_versions >> 8);
}

void ptrc_trace_error(int stage, int error, pid_t pid, const char *target, const char *log_path)
{
	/* The patterns are stored in the stream. */
	if (stage == PTRC_SESSION_STAGE_FILTER && error == ENOMEM) {
		say_no_memory(target);
		return;
	}
	if (stage != PTRC_SESSION_STAGE_STREAM) {
		ptrc_cli_message(NULL,
				 stage == PTRC_SESSION_STAGE_FILTER
					 ? "cannot set the patterns of --only and --exclude: %s"
					 : "--snapshot-on: no snapshots can be written here: %s",
				 strerror(error));
		return;
	}
	char directory[64];
	struct stat st;

	if (error != ESRCH && !access(SHM, W_OK) && say_refused(target))
		return;
	switch (error) {
	case ESRCH:
		ptrc_cli_message(target, "no such process");
		return;
	case EPERM:
		if (access(SHM, F_OK) || (access(SHM, W_OK) && errno == EROFS) ||
		    ptrc_inspect_directory(1, directory) == EPERM)
			ptrc_session_say_directory(EPERM);
		else
			say_not_allowed(pid, target, log_path);
		return;
	case EAGAIN:
		/* Only a stream with a log needs another process, its keeper. If the user can have more traces,
		 * starting the keeper has failed. */
		if (log_path && !has_all_traces(pid)) {
			ptrc_trace_no_process("the process that writes the log", EAGAIN);
			return;
		}
		ptrc_cli_message(target, "you have %d traces already, and cannot have more",
				 TRACE_SYS_MAX);
		return;
	case ENOMEM:
		say_no_memory(target);
		return;
	case EPROTO:
		say_names_version(pid, target);
		return;
	case EOVERFLOW:
		ptrc_cli_message("CLOCK_REALTIME",
				 "shows a time before 1970 or after 2261, which no trace can hold: "
				 "set the clock");
		return;
	case EINVAL:
		/* The commands check all other causes of EINVAL before they make a stream. */
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
