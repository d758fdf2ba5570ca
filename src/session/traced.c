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
	size_t used = strlen(t->text);
	char name[32];

	ptrc_session_command(pid, name);
	snprintf(t->text + used, sizeof(t->text) - used, "%s%.31s (%ld)", used ? ", " : "", name,
		 (long)pid);
	/* The rest has no room. */
	if (strlen(t->text) == sizeof(t->text) - 1)
		strcpy(t->text + used, used ? ", ..." : "");
}

/* Looks at a process that has a page of its own, "p.<pid>", in the directory. */
static void look(struct ptrc_traced *t, const char *entry)
{
	pid_t pid = strncmp(entry, "p.", 2) ? 0 : (pid_t)atol(entry + 2);
	int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	struct pollfd end = {.fd = fd, .events = POLLIN};

	/* The descriptor is readable when the process has ended. */
	if (fd < 0 || poll(&end, 1, 0) || !is_ours(pid)) {
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

void ptrc_traced_find(struct ptrc_traced *t)
{
	struct dirent *entry;
	char path[64];
	DIR *dir;

	*t = (struct ptrc_traced){.fd = -1};
	dir = ptrc_inspect_directory(0, path) ? NULL : opendir(path);
	while (dir && (entry = readdir(dir)))
		look(t, entry->d_name);
	if (dir)
		closedir(dir);
}
