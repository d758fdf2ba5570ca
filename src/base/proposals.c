/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/proposals.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "include/posixtrace-private.h"
#include "lib/base/procfs.h"
#include "src/base/message.h"
#include "src/base/scope.h"

/* If more files than this in a directory match the user's text, no more are opened to look for logs, because the
 * user waits. */
enum { FILES_MAX = 500 };

/* Puts the names of the user's sessions. The socket of a session is the file c.NAME; a name that starts with ~ is
 * temporary. */
static void put_sessions(struct ptrc_buffer *b)
{
	char path[64];
	struct dirent *entry;
	PTRC_SCOPED_DIR *dir = ptrc_inspect_directory(false, path) ? NULL : opendir(path);

	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, "c.", 2) && entry->d_name[2] != '~')
			ptrc_buffer_format(b, "%s\tsession\n", entry->d_name + 2);
}

static bool is_session(const char *name)
{
	char directory[64], path[PATH_MAX];
	struct stat st;

	return !ptrc_inspect_directory(false, directory) && *name && !strchr(name, '/') &&
	       snprintf(path, sizeof(path), "%s/c.%s", directory, name) < (int)sizeof(path) &&
	       !lstat(path, &st) && S_ISSOCK(st.st_mode);
}

/* Takes a line of /proc/PID/maps. Stores in *arg whether it maps the file `bells`, which all programs of the user
 * share. */
static bool is_bells(const char *line, void *arg)
{
	const char *path = strstr(line, " /dev/shm/posixtrace-");
	const char *name = path ? strstr(path, "/bells") : NULL;

	return *(bool *)arg = name && !name[strlen("/bells")];
}

/* Whether the process is in the pid namespace of this one, and uses the library. */
static bool is_user(pid_t pid)
{
	bool is_found = false;
	uint64_t own, other;
	char line[512];

	return !ptrc_procfs_pid_namespace(0, &own) && !ptrc_procfs_pid_namespace(pid, &other) &&
	       own == other &&
	       !ptrc_procfs_lines(pid, "maps", line, sizeof(line), is_bells, &is_found) && is_found;
}

static void put_process(struct ptrc_buffer *b, pid_t pid)
{
	char comm[32];
	size_t size = ptrc_procfs_read(pid, "comm", comm, sizeof(comm));

	ptrc_buffer_format(b, "%ld\t", (long)pid);
	/* The last byte, a line feed, is left out. */
	if (size)
		ptrc_text_put(b, comm, size - 1);
	ptrc_buffer_char(b, '\n');
}

/* Puts the processes that use the library, apart from this one. If there are none, puts all processes. */
static void put_processes(struct ptrc_buffer *b)
{
	PTRC_SCOPED_BUFFER all = PTRC_BUFFER_INIT;
	size_t before = b->used;
	struct dirent *entry;
	PTRC_SCOPED_DIR *dir = opendir("/proc");

	while (dir && (entry = readdir(dir))) {
		pid_t pid = (pid_t)atol(entry->d_name);

		if (pid <= 0 || pid == getpid())
			continue;
		put_process(&all, pid);
		if (is_user(pid))
			put_process(b, pid);
	}
	if (b->used == before)
		ptrc_buffer_bytes(b, all.bytes, all.used);
}

static bool is_log(const char *path)
{
	char head[7];
	struct stat st;
	PTRC_SCOPED_FD fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	return fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	       read(fd, head, sizeof(head)) == sizeof(head) &&
	       !memcmp(head, "\211PTRLOG", sizeof(head));
}

bool ptrc_is_rules_name(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && dot > path && (!strcmp(dot, ".yaml") || !strcmp(dot, ".yml"));
}

static bool is_of_kind(unsigned int kinds, const char *path)
{
	return (kinds & PTRC_PROPOSE_RULES && ptrc_is_rules_name(path)) ||
	       (kinds & PTRC_PROPOSE_LOGS && is_log(path));
}

/* Puts the files of these kinds whose paths start with the text. Returns false if there are none, or if too many
 * files would have to be opened. */
static bool put_files(struct ptrc_buffer *b, unsigned int kinds, const char *begin)
{
	const char *slash = strrchr(begin, '/');
	int head = slash ? (int)(slash + 1 - begin) : 0;
	size_t size = strlen(begin + head);
	size_t before = b->used, seen = 0;
	char path[PATH_MAX];
	PTRC_SCOPED_DIR *dir = NULL;
	struct dirent *entry;

	snprintf(path, sizeof(path), "%.*s", head, begin);
	dir = opendir(head ? path : ".");
	while (dir && (entry = readdir(dir)) && seen <= FILES_MAX) {
		if (strncmp(entry->d_name, begin + head, size) != 0 ||
		    (!size && *entry->d_name == '.'))
			continue;
		seen++;
		if (snprintf(path, sizeof(path), "%.*s%s", head, begin, entry->d_name) <
			    (int)sizeof(path) &&
		    is_of_kind(kinds, path))
			ptrc_buffer_format(b, "%s\n", path);
	}
	if (seen > FILES_MAX)
		b->used = before;
	return b->used > before;
}

const char *ptrc_proposals_put(struct ptrc_buffer *b, unsigned int kinds, const char *begin)
{
	if (kinds & PTRC_PROPOSE_SESSIONS)
		put_sessions(b);
	if (kinds & PTRC_PROPOSE_PROCESSES)
		put_processes(b);
	if (kinds == PTRC_PROPOSE_COMMANDS)
		return "commands";
	if (kinds & (PTRC_PROPOSE_LOGS | PTRC_PROPOSE_RULES))
		return put_files(b, kinds, begin) ? "directories" : "files";
	return kinds & PTRC_PROPOSE_FILES	  ? "files"
	       : kinds & PTRC_PROPOSE_DIRECTORIES ? "directories"
						  : "-";
}

void ptrc_proposals_become_events(char **words, size_t count)
{
	static char program[] = "ptrace-events", names[] = "--names", end[] = "--";
	PTRC_SCOPED char **arguments = ptrc_cli_allocate((count + 4) * sizeof(*arguments));
	size_t n = 0;

	arguments[n++] = program;
	arguments[n++] = names;
	arguments[n++] = end;
	for (size_t i = 0; i < count; i++) {
		char *value = strncmp(words[i], "--", 2) ? NULL : strchr(words[i], '=');
		char *thing = value ? value + 1 : words[i];
		struct stat st;

		if (is_session(thing) || (!stat(thing, &st) && S_ISREG(st.st_mode)))
			arguments[n++] = thing;
	}
	arguments[n] = NULL;
	if (n > 3)
		execvp(program, arguments);
}
