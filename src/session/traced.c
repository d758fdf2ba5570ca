/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/traced.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/posixtrace-private.h"
#include "lib/base/procfs.h"
#include "src/base/message.h"
#include "src/base/scope.h"
#include "src/session/session_path.h"

static bool is_traced_by(pid_t pid, pid_t controller)
{
	static struct ptrc_inspected_stream stream;
	struct ptrc_inspected_process p;

	if (ptrc_inspect_process(pid, &p))
		return false;
	for (unsigned int i = 0; i < p.pt_streams; i++)
		if (!ptrc_inspect_stream(pid, i, &stream) && stream.pt_controller == controller)
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

static void describe(struct ptrc_traced *t)
{
	for (size_t i = 0; i < t->count; i++)
		add(t, t->pids[i]);
}

/* Removes the processes that have ended. Returns whether there were any. */
static bool drop_ended(struct ptrc_traced *t)
{
	size_t kept = 0, count = t->count;

	for (size_t i = 0; i < count; i++)
		if (ptrc_procfs_exists(t->pids[i]) != ESRCH)
			t->pids[kept++] = t->pids[i];
	t->count = kept;
	return kept < count;
}

static bool has(const struct ptrc_traced *t, pid_t pid)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->pids[i] == pid)
			return true;
	return false;
}

void ptrc_traced_find(struct ptrc_traced *t, trace_id_t trace)
{
	char stream[34] = "/", unused[32];
	pid_t self = getpid();
	bool has_stream = maps(self, "/s.", stream + 1);
	struct ptrc_procfs_stat own = {0}, st;
	PTRC_SCOPED_FD proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t keeper = 0, pid;
	bool has_ended;
	size_t before;

	*t = (struct ptrc_traced){0};
	ptrc_procfs_stat(self, &own);
	ptrc_trace_keeper(trace, &keeper);
	/* A process that was found may have forked another one, perhaps just before it ended. So looks until there is
	 * none, or one is still there after the next look. */
	do {
		struct ptrc_procfs_walk walk = {.proc = proc, .first = self, .last = self};

		before = t->count;
		while ((pid = ptrc_procfs_next(&walk))) {
			if (pid == self || pid == keeper || has(t, pid) ||
			    ptrc_procfs_stat(pid, &st) || st.start_ticks < own.start_ticks)
				continue;
			/* A process that was just forked has its parent's mapping of the stream until it is
			 * registered as traced. So its mappings are read first. */
			if ((has_stream && maps(pid, stream, unused) && !is_new_keeper(pid)) ||
			    is_traced_by(pid, self))
				*ptrc_append(t->pids, t->count) = pid;
		}
		has_ended = drop_ended(t);
	} while (t->count ? !before : has_ended);
	describe(t);
}

void ptrc_traced_find_of(struct ptrc_traced *t, pid_t controller)
{
	PTRC_SCOPED_FD proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct ptrc_procfs_walk walk = {.proc = proc};
	pid_t pid;

	*t = (struct ptrc_traced){0};
	while ((pid = ptrc_procfs_next(&walk)))
		if (is_traced_by(pid, controller))
			*ptrc_append(t->pids, t->count) = pid;
	describe(t);
}

void ptrc_traced_find_others(struct ptrc_traced *others, const pid_t *pids, size_t count,
			     const struct ptrc_traced *traced)
{
	*others = (struct ptrc_traced){0};
	for (size_t i = 0; i < count; i++)
		if (!has(traced, pids[i]) && ptrc_procfs_exists(pids[i]) != ESRCH)
			*ptrc_append(others->pids, others->count) = pids[i];
	describe(others);
}

void ptrc_traced_add(struct ptrc_traced *t, const struct ptrc_traced *more)
{
	for (size_t i = 0; i < more->count; i++)
		if (!has(t, more->pids[i])) {
			*ptrc_append(t->pids, t->count) = more->pids[i];
			add(t, more->pids[i]);
		}
}

void ptrc_traced_free(struct ptrc_traced *t)
{
	free(t->pids);
	*t = (struct ptrc_traced){0};
}
