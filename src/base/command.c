/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check(const char *path)
{
	struct stat st;

	if (stat(path, &st) || access(path, X_OK))
		return errno;
	return S_ISDIR(st.st_mode) ? EACCES : 0;
}

int ptrc_command_find(const char *name, char path[PATH_MAX])
{
	const char *list = getenv("PATH");
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
		if (snprintf(path, PATH_MAX, "%.*s/%s", n ? (int)n : 1, n ? list : ".", name) <
		    PATH_MAX)
			error = check(path);
		if (!error)
			return 0;
		if (error != ENOENT && error != ENOTDIR)
			result = error;
		if (!list[n])
			return result;
		list += n + 1;
	}
}
