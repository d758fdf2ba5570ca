/* SPDX-License-Identifier: MIT */
/*
 * A keeper must not show in the application that it serves: no SIGCHLD, nothing for wait() to
 * find, not even after an exec of the application. So it becomes an orphan at birth. The caller
 * makes a helper that shares its memory (as vfork does, with no signal at its end); the helper
 * makes the keeper and ends; the caller goes on when the helper has ended.
 *
 * The keeper is the program embedded in the library, executed from a file in memory. Where such
 * files may not be executed it is a forked copy of the caller that runs the same code. Where
 * orphans are handed to the caller (it is process 1 or a subreaper) a helper is of no use, and
 * the keeper is a direct child and a copy: it would otherwise show as a child with another
 * program.
 */
#include "lib/keeper/keeper_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/memfd.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "lib/base/clone.h"
#include "lib/base/digits.h"
#include "lib/base/limit.h"
#include "lib/base/sys.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

/* For each of the two processes that run on the caller's memory. */
#define STACK_BYTES 65536U
/* The keeper's descriptors are moved above this number before they are moved to their final
 * places, so that none of them is overwritten on the way. */
#define FD_PARKING 16

/* For the functions that run on the caller's memory in a helper: an instrumented function would
 * leave its traces (shadow memory, canaries) in the caller's state. */
#define CHILD_CODE              \
	PTRC_NO_STACK_PROTECTOR \
	__attribute__((noinline, no_sanitize("address", "undefined", "thread")))

extern const uint8_t ptrc_keeper_image[] __attribute__((visibility("hidden")));
extern const uint8_t ptrc_keeper_image_end[] __attribute__((visibility("hidden")));

/* Lies on a mapping of its own, below the stacks of the two processes that run on the caller's
 * memory. If the helper is killed, the new process may run on there for a while, and the
 * mapping stays. */
struct launch {
	int fds[PTRC_KEEPER_FD_COUNT + 1]; /* the last is the program; -1: fork a copy */
	enum ptrc_keeper_task task;
	uint32_t number;
	char digits[12]; /* the number as text */
	bool is_child;
	/* Written by the helper and by the new process. */
	int pid;
	int error;
};

/* ---- in the helper and in the new process ---- */

/* In the new process: moves the descriptors to their places and closes all others. */
CHILD_CODE static long place_descriptors(const struct launch *l)
{
	int count = PTRC_KEEPER_FD_COUNT + (l->fds[PTRC_KEEPER_FD_COUNT] >= 0);
	long parked[PTRC_KEEPER_FD_COUNT + 1], null;
	struct rlimit most;

	/* The application's soft limit may leave no room for the parking. */
	if (ptrc_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &most) == 0) {
		most.rlim_cur = most.rlim_max;
		ptrc_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, &most, 0);
	}

	for (int i = 0; i < count; i++) {
		parked[i] = -1;
		if (l->fds[i] < 0)
			continue;
		parked[i] = ptrc_sys(SYS_fcntl, l->fds[i], F_DUPFD, FD_PARKING);
		if (parked[i] < 0)
			return parked[i];
	}
	for (int i = 0; i < count; i++) {
		/* exec closes the descriptor of the program itself. */
		int flags = i == PTRC_KEEPER_FD_COUNT ? O_CLOEXEC : 0;
		long ret;

		if (parked[i] < 0) {
			ptrc_sys(SYS_close, PTRC_KEEPER_LOG_FD + i);
			continue;
		}
		ret = ptrc_sys(SYS_dup3, parked[i], PTRC_KEEPER_LOG_FD + i, flags);
		if (ret < 0)
			return ret;
	}
	for (int fd = 0; fd < 3; fd++)
		ptrc_sys(SYS_close, fd);
	/* Occupies 0 to 2, so that no file that the keeper opens gets the number of a standard
	 * stream. If there is no such device these numbers stay free. */
	null = ptrc_sys(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
	if (null == 0) {
		ptrc_sys(SYS_dup3, 0, 1, 0);
		ptrc_sys(SYS_dup3, 0, 2, 0);
	}
	if (ptrc_sys(SYS_close_range, PTRC_KEEPER_LOG_FD + count, UINT_MAX, 0) < 0) {
		struct rlimit limit = {0, 0};
		uint64_t end;

		ptrc_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &limit);
		end = limit.rlim_cur < 65536 ? limit.rlim_cur : 65536;
		for (uint64_t fd = (uint64_t)(PTRC_KEEPER_LOG_FD + count); fd < end; fd++)
			ptrc_sys(SYS_close, fd);
	}
	return 0;
}

/* In the new process: signals to the application's process group, and a file system that is to
 * be unmounted, must not depend on the keeper. */
CHILD_CODE static void leave_surroundings(void)
{
	static const int none;

	ptrc_sys(SYS_setsid, 0);
	ptrc_sys(SYS_chdir, "/");
	ptrc_sys(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
}

/* The new process, still on the caller's memory. */
CHILD_CODE static int run_program(void *arg)
{
	static char name[] = "ptrace-keeper";
	static char tasks[][8] = {[PTRC_KEEPER_NEW] = "new",
				  [PTRC_KEEPER_RESTART] = "restart",
				  [PTRC_KEEPER_ORPHAN] = "orphan"};
	struct launch *l = arg;
	char *argv[4], *envp[1];
	long ret = place_descriptors(l);

	if (ret == 0) {
		leave_surroundings();
		argv[0] = name;
		argv[1] = tasks[l->task];
		argv[2] = l->digits;
		argv[3] = envp[0] = NULL;
		ret = ptrc_sys(SYS_execveat, PTRC_KEEPER_LOG_FD + PTRC_KEEPER_FD_COUNT, "", argv,
			       envp, AT_EMPTY_PATH);
		if (ret == -ENOSYS) /* some emulators */
			ret = ptrc_sys(SYS_execve, "/proc/self/fd/7", argv, envp);
	}
	l->error = (int)-ret;
	return 1;
}

_Static_assert(PTRC_KEEPER_LOG_FD + PTRC_KEEPER_FD_COUNT == 7,
	       "the number of the program's descriptor in the path above");

/* Makes a copy of the process, in which only raw system calls are made from then on. */
CHILD_CODE static long fork_copy(const struct launch *l)
{
	enum ptrc_keeper_task task = l->task;
	uint32_t number = l->number;
	long pid = ptrc_sys(SYS_clone, CLONE_UNTRACED, 0, 0, 0, 0);

	if (pid == 0) {
		if (place_descriptors(l) < 0)
			ptrc_sys(SYS_exit_group, 1);
		leave_surroundings();
		ptrc_keeper_live(task, number);
	}
	return pid;
}

/* The helper. */
CHILD_CODE static int make_keeper(void *arg)
{
	struct launch *l = arg;
	long pid;

	if (l->fds[PTRC_KEEPER_FD_COUNT] >= 0)
		pid = ptrc_clone(CLONE_VM | CLONE_VFORK | CLONE_UNTRACED,
				 (uint8_t *)l + 2 * STACK_BYTES, run_program, l);
	else
		pid = fork_copy(l);
	if (pid < 0)
		l->error = (int)-pid;
	else
		l->pid = (int)pid;
	return 0;
}

/* ---- in the caller ---- */

static bool orphans_come_to_us(void)
{
	int is_subreaper = 0;

	ptrc_sys(SYS_prctl, PR_GET_CHILD_SUBREAPER, &is_subreaper, 0, 0, 0);
	return is_subreaper || ptrc_sys_getpid() == 1;
}

/* The embedded program as an executable file in memory; -1 if there can be none. Signals are
 * blocked. */
static int program_file(void)
{
	static const char name[] = "ptrace-keeper";
	const uint8_t *at = ptrc_keeper_image;
	struct ptrc_limit limit;
	long n = 0, fd = ptrc_sys(SYS_memfd_create, name, MFD_CLOEXEC | MFD_EXEC);

	if (fd == -EINVAL) /* kernels before 6.3 */
		fd = ptrc_sys(SYS_memfd_create, name, MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	ptrc_limit_raise(&limit, RLIMIT_FSIZE,
			 (uint64_t)(ptrc_keeper_image_end - ptrc_keeper_image));
	while (at < ptrc_keeper_image_end) {
		n = ptrc_sys(SYS_write, fd, at, ptrc_keeper_image_end - at);
		if (n == -EINTR)
			continue;
		if (n <= 0)
			break;
		at += n;
	}
	ptrc_limit_restore(&limit, n < 0 ? (int)-n : 0);
	if (at == ptrc_keeper_image_end)
		return (int)fd;
	ptrc_sys(SYS_close, fd);
	return -1;
}

void ptrc_keeper_wait_for_child(int pid)
{
	while (ptrc_sys(SYS_wait4, pid, 0, __WCLONE, 0) == -EINTR)
		;
}

/* Makes the process. Signals are blocked here, and stay blocked in the new process. */
static int make_process(struct launch *l)
{
	long child;

	l->pid = l->error = 0;
	if (l->is_child) {
		child = fork_copy(l);
		if (child > 0)
			l->pid = (int)child;
		else
			l->error = (int)-child;
	} else {
		child = ptrc_clone(CLONE_VM | CLONE_VFORK | CLONE_UNTRACED,
				   (uint8_t *)l + STACK_BYTES, make_keeper, l);
		if (child > 0)
			ptrc_keeper_wait_for_child((int)child);
		else
			l->error = (int)-child;
	}
	return l->error;
}

/* The program if that can be, else a copy. */
static int make_either(struct launch *l)
{
	int *program = &l->fds[PTRC_KEEPER_FD_COUNT];
	struct ptrc_limit limit;
	int error = ENOSYS;

	if (!l->is_child)
		*program = program_file();
	/* A keeper that replaces a killed one (and a helper for a moment) adds no process to
	 * those that the soft limit of the user allowed before. A new keeper does: it stays
	 * refused. */
	if (l->task != PTRC_KEEPER_NEW)
		ptrc_limit_raise(&limit, RLIMIT_NPROC, UINT64_MAX);
	if (*program >= 0) {
		error = make_process(l);
		ptrc_sys(SYS_close, *program);
		*program = -1;
	}
	if (error)
		error = make_process(l);
	if (l->task != PTRC_KEEPER_NEW)
		ptrc_limit_restore(&limit, 0);
	return error;
}

int ptrc_keeper_launch(const struct ptrc_keeper_args *args, enum ptrc_keeper_task task,
		       uint32_t number, struct ptrc_keeper_process *process)
{
	struct launch *l;
	uint64_t mask;
	long spare, fd, map;
	int error;

	*process = (struct ptrc_keeper_process){.pidfd = -1};
	/* Keeps a descriptor number free for the pidfd, by a copy of the stream's descriptor. A
	 * copy of the log's would not do: another thread may fork meanwhile, and its child must
	 * not hold a pipe open. */
	spare = ptrc_sys(SYS_fcntl, args->stream_fd, F_DUPFD_CLOEXEC, 3);
	if (spare < 0)
		return ENOMEM;
	map = ptrc_sys(SYS_mmap, 0, 2 * STACK_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (ptrc_sys_is_error(map)) {
		ptrc_sys(SYS_close, spare);
		return ENOMEM;
	}
	l = (struct launch *)map;
	*l = (struct launch){
		.fds = {args->log_fd, args->stream_fd, args->names_fd, args->dirfd, -1},
		.task = task,
		.number = number,
		.is_child = orphans_come_to_us()};
	*ptrc_digits_put(l->digits, number) = '\0';
	ptrc_sys_block_signals(&mask);
	error = make_either(l);
	ptrc_sys_restore_signals(&mask);
	ptrc_sys(SYS_close, spare);
	if (!error && l->pid == 0)
		return ECHILD;
	if (!error) {
		fd = ptrc_sys(SYS_pidfd_open, l->pid, 0); /* is close-on-exec by itself */
		*process = (struct ptrc_keeper_process){
			.pid = l->pid, .pidfd = fd < 0 ? -1 : (int)fd, .is_child = l->is_child};
	}
	ptrc_sys(SYS_munmap, map, 2 * STACK_BYTES);
	/* The limit on processes is what clone() and execve() mean by EAGAIN. */
	return error && error != EAGAIN ? ENOMEM : error;
}
