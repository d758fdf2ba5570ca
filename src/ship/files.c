/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/ship/files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "src/base/message.h"
#include "src/base/scope.h"
#include "src/fields/when.h"
#include "src/query/reader.h"

bool ptrc_ship_is_log(const char *path, struct stat *st)
{
	PTRC_SCOPED_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd >= 0 && !fstat(fd, st) && S_ISREG(st->st_mode) && ptrc_reader_is_log(fd);
}

bool ptrc_ship_look_at(const char *path)
{
	static const char no_file[] =
		"cannot be sent: a log has to be a file that stays until the server has it";
	struct ptrc_cli_reason why;
	PTRC_SCOPED_FD fd = -1;
	struct stat st;

	if (!strcmp(path, "-"))
		return ptrc_cli_message("standard input", "%s", no_file);
	/* A rotated log whose first file is missing can be sent, too. */
	if (stat(path, &st) && errno == ENOENT && ptrc_reader_is_there(path))
		return true;
	if (stat(path, &st))
		return ptrc_cli_error(path, errno);
	if (S_ISDIR(st.st_mode))
		return ptrc_cli_message(path, "is a directory: '--follow=%s' sends the logs in it",
					path);
	if (!S_ISREG(st.st_mode))
		return ptrc_cli_message(path, "%s", no_file);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return ptrc_cli_error(path, errno);
	if (ptrc_reader_is_log(fd))
		return true;
	ptrc_reader_why_no_log(fd, &why);
	return ptrc_cli_message(path, "%s", why.text);
}

int64_t ptrc_ship_age_ns(const char *path)
{
	const char *log = basename(path);
	PTRC_SCOPED char *directory = ptrc_cli_copy_bytes(path, (size_t)(log - path));
	PTRC_SCOPED_DIR *d = opendir(*directory ? directory : ".");
	int64_t written_ns = INT64_MIN, now_ns;
	const struct dirent *entry;
	struct timespec now;
	struct stat st;

	while (d && (entry = readdir(d)))
		if ((!strcmp(entry->d_name, log) ||
		     ptrc_reader_is_later_name(entry->d_name, log)) &&
		    !fstatat(dirfd(d), entry->d_name, &st, 0) &&
		    ptrc_when_ns(&st.st_mtim) > written_ns)
			written_ns = ptrc_when_ns(&st.st_mtim);
	if (written_ns == INT64_MIN || clock_gettime(CLOCK_REALTIME, &now))
		return 0;
	now_ns = ptrc_when_ns(&now);
	return now_ns > written_ns ? now_ns - written_ns : 0;
}
