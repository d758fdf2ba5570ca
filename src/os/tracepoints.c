/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/scope.h"
#include "src/os/tracepoints.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The greatest number of a tracepoint that is tried. Kernels have some 2,500 tracepoints; sys_enter
 * and sys_exit are among the first. */
#define TRIED_MAX 4096U
/* How often passes() calls getppid(). */
enum { CALLS = 7 };

static int open_tracepoint(uint32_t number)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = number,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_RAW,
		.disabled = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* ---- reading the numbers from tracefs ---- */

static uint32_t number_in(const char *directory, const char *name)
{
	PTRC_SCOPED_FILE *f = NULL;
	char path[128];
	unsigned int number;

	snprintf(path, sizeof(path), "%s/events/raw_syscalls/%s/id", directory, name);
	f = fopen(path, "re");
	return f && fscanf(f, "%u", &number) == 1 ? number : 0;
}

static bool read_numbers(struct ptrc_tracepoints *t)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		t->numbers[0] = number_in(places[i], "sys_enter");
		t->numbers[1] = number_in(places[i], "sys_exit");
		if (t->numbers[0] && t->numbers[1])
			return true;
	}
	return false;
}

/* ---- finding the numbers in another process ---- */

/* Runs find() in another process, which passes the numbers back through a pipe. Does not wait until that process
 * has exited, as that may take long. Returns whether find() has found the numbers. */
static bool in_process(bool (*find)(const void *arg, struct ptrc_tracepoints *), const void *arg,
		       struct ptrc_tracepoints *t)
{
	struct ptrc_tracepoints found = {0};
	int ends[2];
	pid_t child;
	bool is_found;

	if (pipe2(ends, O_CLOEXEC))
		return false;
	child = fork();
	if (child == 0) {
		/* A grandchild does the work: its parent exits at once, so process 1 waits for it. */
		if (fork() != 0)
			_exit(0);
		/* Closes all other descriptors, because the reader of an inherited pipe would wait for this
		 * process. */
		dup2(ends[1], STDIN_FILENO);
		syscall(SYS_close_range, 1, ~0U, 0);
		_exit(!find(arg, &found) || write(STDIN_FILENO, &found, sizeof(found)) < 0);
	}
	close(ends[1]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	is_found = child > 0 && read(ends[0], t, sizeof(*t)) == (ssize_t)sizeof(*t);
	close(ends[0]);
	return is_found;
}

/* Reads the numbers as root, from a tracefs that it mounts in a mount namespace of its own. */
static bool mount_and_read(const void *arg, struct ptrc_tracepoints *t)
{
	(void)arg;
	return !unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("none", "/sys/kernel/tracing", "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		      NULL) &&
	       read_numbers(t);
}

struct range {
	uint32_t first, last;
};

/* Counts how often this thread passes the tracepoint in CALLS calls of getppid() and one of
 * getpgid(). */
static uint64_t passes(int fd)
{
	uint64_t count = 0;

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	syscall(SYS_getpgid, 0);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	return read(fd, &count, sizeof(count)) == (ssize_t)sizeof(count) ? count : 0;
}

/* Finds two tracepoints whose numbers follow each other and that are both passed CALLS + 2 times: by the CALLS + 1
 * system calls of passes(), and by one ioctl(). sys_exit is passed by the ioctl() that enables it, because that
 * call returns afterwards; sys_enter is passed by the ioctl() that disables it, because that call was entered
 * before. */
static bool try_range(const void *arg, struct ptrc_tracepoints *t)
{
	const struct range *r = arg;

	for (uint32_t number = r->first; number <= r->last; number++) {
		int fd = open_tracepoint(number), next;

		/* The descriptors stay open: closing one takes long, and this process ends soon. */
		if (fd < 0 || passes(fd) != CALLS + 2)
			continue;
		next = open_tracepoint(number + 1);
		if (next < 0 || passes(next) != CALLS + 2)
			continue;
		t->numbers[0] = number;
		t->numbers[1] = number + 1;
		return true;
	}
	return false;
}

int ptrc_tracepoints_try(uint32_t first, uint32_t last, struct ptrc_tracepoints *t)
{
	const struct range range = {first, last};

	return in_process(try_range, &range, t) ? 0 : ENOENT;
}

int ptrc_tracepoints_refusal(void)
{
	/* Opens a tracepoint that cannot exist: the kernel checks the user's rights first, so the
	 * error says whether the user may open tracepoints. */
	PTRC_SCOPED_FD fd = open_tracepoint(UINT32_MAX);

	return fd < 0 && (errno == EACCES || errno == EPERM) ? errno : 0;
}

int ptrc_tracepoints_find(struct ptrc_tracepoints *t)
{
	int error = ptrc_tracepoints_refusal();

	if (error)
		return error;
	if (read_numbers(t) || (!geteuid() && in_process(mount_and_read, NULL, t)))
		return 0;
	return ptrc_tracepoints_try(1, TRIED_MAX, t);
}
