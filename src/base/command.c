/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/program.h"
#include "src/base/scope.h"

/* The kernel follows that many scripts whose interpreter is a script again. */
enum { INTERPRETERS_MAX = 4 };

/* Stores what the first line of a script names as its interpreter, or the loader of a program. False if the file is
 * neither, needs none, or cannot be read. */
static bool read_interpreter(const char *path, char interpreter[PATH_MAX])
{
	PTRC_SCOPED_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char line[257] = ""; /* the kernel reads 256 bytes */
	size_t begin, size;

	if (fd < 0 || pread(fd, line, sizeof(line) - 1, 0) < 2)
		return false;
	if (line[0] != '#' || line[1] != '!')
		return ptrc_program_loader(fd, interpreter) && *interpreter;
	begin = 2 + strspn(line + 2, " \t");
	size = strcspn(line + begin, " \t\n");
	/* The kernel does not take a name that goes on after these bytes, and execvp() then starts a shell. */
	if (begin + size == sizeof(line) - 1)
		return false;
	snprintf(interpreter, PATH_MAX, "%.*s", (int)size, line + begin);
	return *interpreter;
}

static bool lacks_interpreter(const char *path)
{
	char names[2][PATH_MAX];

	for (int i = 0; i < INTERPRETERS_MAX; i++) {
		if (!read_interpreter(path, names[i % 2]))
			return false;
		path = names[i % 2];
		if (access(path, F_OK))
			return errno == ENOENT;
	}
	return false;
}

static int check(const char *path)
{
	struct stat st;

	if (stat(path, &st) || access(path, X_OK))
		return errno;
	return S_ISDIR(st.st_mode) ? EACCES : lacks_interpreter(path) ? ELIBACC : 0;
}

int ptrc_command_find(const char *name, char path[PATH_MAX])
{
	const char *list = getenv("PATH");
	char found[PATH_MAX];
	int result = ENOENT;

	if (strchr(name, '/') || !*name) {
		snprintf(path, PATH_MAX, "%s", name);
		return check(path);
	}
	if (!list)
		list = "/bin:/usr/bin";
	for (;;) {
		size_t n = strcspn(list, ":");
		int error = ENOENT;

		/* An empty name means the working directory. With the slash, execvp() searches no more. */
		if (snprintf(found, sizeof(found), "%.*s/%s", n ? (int)n : 1, n ? list : ".",
			     name) < PATH_MAX)
			error = check(found);
		if (error == ENOTDIR)
			error = ENOENT;
		/* Like execvp(), reports EACCES rather than another error. */
		if (!error || error == EACCES || result == ENOENT) {
			memcpy(path, found, sizeof(found));
			result = error;
		}
		if (!error || !list[n])
			return result;
		list += n + 1;
	}
}
