/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/ship/age.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "src/cli/message.h"
#include "src/fields/when.h"

/* Whether the name is that of a file of the log: the first one's, perhaps with a number behind it. */
static bool is_file_of(const char *name, const char *log)
{
	size_t size = strlen(log);

	if (strncmp(name, log, size))
		return false;
	name += size;
	return !*name ||
	       (*name == '.' && name[1] && name[1 + strspn(name + 1, "0123456789")] == '\0');
}

int64_t ptrc_ship_age_ns(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *log = slash ? slash + 1 : path;
	int64_t written_ns = INT64_MIN, now_ns;
	const struct dirent *entry;
	char *directory;
	struct timespec now;
	struct stat st;
	DIR *d;

	directory = ptrc_cli_allocate((size_t)(log - path) + 2);
	memcpy(directory, path, (size_t)(log - path));
	strcpy(directory + (log - path), slash ? "" : ".");
	d = opendir(directory);
	free(directory);
	while (d && (entry = readdir(d)))
		if (is_file_of(entry->d_name, log) && !fstatat(dirfd(d), entry->d_name, &st, 0) &&
		    ptrc_when_ns(&st.st_mtim) > written_ns)
			written_ns = ptrc_when_ns(&st.st_mtim);
	if (d)
		closedir(d);
	if (written_ns == INT64_MIN || clock_gettime(CLOCK_REALTIME, &now))
		return 0;
	now_ns = ptrc_when_ns(&now);
	return now_ns > written_ns ? now_ns - written_ns : 0;
}
