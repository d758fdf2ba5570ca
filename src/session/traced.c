/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/traced.h"

#include <dirent.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "include/posixtrace-private.h"
#include "lib/base/procfs.h"
#include "src/base/scope.h"
#include "src/session/session_path.h"

static bool is_ours(pid_t pid)
{
	static struct ptrc_inspected_stream stream;
	struct ptrc_inspected_process p;

	if (ptrc_inspect_process(pid, &p))
		return false;
	for (unsigned int i = 0; i < p.pt_streams; i++)
		if (!ptrc_inspect_stream(pid, i, &stream) && stream.pt_controller == getpid())
			return true;
	return false;
}

static void add(struct ptrc_traced *t, pid_t pid)
{
	static const char cut[] = ", ...";
	size_t used = strlen(t->text);
	char name[32], one[64];

	/* If the text ends with "..." instead of ")", it is full. */
	if (used && t->text[used - 1] == '.')
		return;
	ptrc_session_command(pid, name);
	snprintf(one, sizeof(one), "%s%s (%ld)", used ? ", " : "", name, (long)pid);
	/* Leaves room for the "..." that marks a cut text. */
	strcpy(t->text + used, used + strlen(one) + sizeof(cut) <= sizeof(t->text) ? one : cut);
}

static void take(struct ptrc_traced *t, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd end = {.fd = fd, .events = POLLIN};

	/* The descriptor becomes readable when the process has ended. */
	if (fd < 0 || poll(&end, 1, 0)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	t->count++;
	add(t, pid);
	if (t->fd >= 0)
		close(t->fd);
	t->fd = fd;
}

/* Whether the process has a shared, writable mapping of a file with `stream` in its path. Stores the file's name. */
static bool maps(pid_t pid, const char *stream, char name[32])
{
	PTRC_SCOPED_FILE *f = NULL;
	PTRC_SCOPED char *line = NULL;
	bool is_found = false;
	size_t size = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/maps", (long)pid);
	f = fopen(path, "re");
	while (f && !is_found && getline(&line, &size, f) > 0) {
		const char *at = strstr(line, " rw-s ") ? strstr(line, stream) : NULL;

		is_found = at && sscanf(at, "/%31[s.0-9a-f]", name) == 1;
	}
	return is_found;
}

/* Whether the process is a keeper (a writer of the log) that this process has just started. Until the keeper takes
 * over, the stream does not hold its process ID. So the keeper is recognized by its name or, before it has set its
 * name, by having the same executable as this process. */
static bool is_new_keeper(pid_t pid)
{
	uint64_t dev, inode, own_dev, own_inode;
	char name[32];

	ptrc_session_command(pid, name);
	return !strcmp(name, "ptrace-keeper") ||
	       (!ptrc_procfs_inode(pid, "exe", &dev, &inode) &&
		!ptrc_procfs_inode(0, "exe", &own_dev, &own_inode) && dev == own_dev &&
		inode == own_inode);
}

void ptrc_traced_find(struct ptrc_traced *t, trace_id_t trace)
{
	char stream[34] = "/", unused[32];
	pid_t self = getpid();
	bool has_stream = maps(self, "/s.", stream + 1);
	struct ptrc_procfs_stat own = {0}, st;
	struct dirent *entry;
	pid_t keeper = 0;
	PTRC_SCOPED_DIR *dir = opendir("/proc");

	*t = (struct ptrc_traced){.fd = -1};
	ptrc_procfs_stat(self, &own);
	ptrc_trace_keeper(trace, &keeper);
	while (dir && (entry = readdir(dir))) {
		pid_t pid = (pid_t)atol(entry->d_name);

		if (pid <= 0 || pid == self || pid == keeper || ptrc_procfs_stat(pid, &st) ||
		    st.start_ticks < own.start_ticks)
			continue;
		/* A process that was just forked is not yet registered as traced, but it has its
		 * parent's mapping of the stream. */
		if (is_ours(pid) ||
		    (has_stream && maps(pid, stream, unused) && !is_new_keeper(pid)))
			take(t, pid);
	}
}

void ptrc_traced_find_others(struct ptrc_traced *t, const pid_t *pids, size_t count)
{
	char stream[34] = "/", unused[32];
	pid_t self = getpid();
	bool has_stream = maps(self, "/s.", stream + 1);

	*t = (struct ptrc_traced){.fd = -1};
	for (size_t i = 0; i < count; i++)
		if (pids[i] != self && !is_ours(pids[i]) &&
		    !(has_stream && maps(pids[i], stream, unused)))
			take(t, pids[i]);
}
