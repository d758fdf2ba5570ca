/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/cli/cli.h"

/* For its owner only: a log holds addresses and data of the program. */
enum { MODE = 0600 };

bool ptrc_logfile_open(struct ptrc_logfile *l, const char *path)
{
	struct stat st;

	*l = (struct ptrc_logfile){.path = path, .is_new = true};
	l->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, MODE);
	if (l->fd < 0 && errno == EEXIST) {
		l->is_new = false;
		/* The path may be a symbolic link whose target does not exist: then
		 * O_CREAT is needed. */
		l->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, MODE);
	}
	if (l->fd < 0) {
		ptrc_cli_error(path, errno);
		return false;
	}
	if (!fstat(l->fd, &st) && S_ISREG(st.st_mode) && flock(l->fd, LOCK_EX | LOCK_NB) &&
	    errno == EWOULDBLOCK) {
		ptrc_cli_message(path, "another trace is writing to this file");
		close(l->fd);
		l->fd = -1;
		return false;
	}
	return true;
}

bool ptrc_logfile_is_gone(int fd, const char *path)
{
	struct stat opened;
	struct stat there;

	if (fstat(fd, &opened) || !S_ISREG(opened.st_mode))
		return false;
	if (stat(path, &there))
		return errno == ENOENT || errno == ENOTDIR;
	return opened.st_dev != there.st_dev || opened.st_ino != there.st_ino;
}

void ptrc_logfile_close(struct ptrc_logfile *l, bool is_kept)
{
	if (l->fd < 0)
		return;
	if (!is_kept && l->is_new && !ptrc_logfile_is_gone(l->fd, l->path))
		unlink(l->path);
	close(l->fd);
	l->fd = -1;
}
