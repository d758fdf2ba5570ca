/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/logfile.h"

#include <errno.h>
#include <limits.h>
#include <posixtrace-control.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/cli/cli.h"
#include "src/cli/replace.h"

/* With these bytes begins every log (docs/log-format.md). */
static const char signature[] = "\211PTRLOG\n";

static const struct ptrc_replace_kind log_kind = {
	/* For its owner only: a log holds addresses and data of the program. */
	.mode = 0600,
	.signature = signature,
	.signature_bytes = sizeof(signature) - 1,
	.noun = "a trace log",
};

/* Whether the file that is to be opened only takes bytes one after the other, but the policy needs
 * one that can be overwritten. Asked before the file is opened, which may wait for the reader of a
 * FIFO. */
static bool has_wrong_policy(const char *path, const trace_attr_t *attr)
{
	struct stat st;
	int policy;

	return !posix_trace_attr_getlogfullpolicy(attr, &policy) && policy != POSIX_TRACE_APPEND &&
	       !stat(path, &st) &&
	       (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode) || S_ISSOCK(st.st_mode));
}

static bool is_rotated(const trace_attr_t *attr)
{
	struct posixtrace_log_rotation r;

	return !posixtrace_attr_getlogrotation(attr, &r) &&
	       (r.pt_bytes || r.pt_time.tv_sec || r.pt_time.tv_nsec);
}

bool ptrc_logfile_open(struct ptrc_logfile *l, const char *path, const trace_attr_t *attr,
		       bool is_forced)
{
	struct stat st;

	*l = (struct ptrc_logfile){.path = path, .fd = -1, .is_rotated = is_rotated(attr)};
	if (l->is_rotated && !stat(path, &st) && !S_ISREG(st.st_mode)) {
		ptrc_cli_message(path, "is not a regular file, so it cannot be rotated");
		return false;
	}
	if (has_wrong_policy(path, attr)) {
		ptrc_logfile_say_wrong_policy(path);
		return false;
	}
	l->fd = ptrc_replace_open(path, &log_kind, is_forced, &l->is_new);
	if (l->fd < 0)
		return false;
	if (!fstat(l->fd, &st) && S_ISREG(st.st_mode) && flock(l->fd, LOCK_EX | LOCK_NB) &&
	    errno == EWOULDBLOCK) {
		ptrc_cli_message(path, "another trace is writing to this file");
		close(l->fd);
		l->fd = -1;
		return false;
	}
	return true;
}

bool ptrc_logfile_keep_old(struct ptrc_logfile *l, const trace_attr_t *attr, bool is_forced)
{
	char old[PATH_MAX];
	struct stat st;
	bool is_new;
	int fd;

	if (l->is_new || lstat(l->path, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return true;
	snprintf(old, sizeof(old), "%s.old", l->path);
	/* A file of that name may be something else than a log. */
	fd = ptrc_replace_open(old, &log_kind, is_forced, &is_new);
	ptrc_logfile_close(l, true);
	if (fd < 0)
		return false;
	close(fd);
	if (rename(l->path, old)) {
		ptrc_cli_error(old, errno);
		return false;
	}
	return ptrc_logfile_open(l, l->path, attr, is_forced);
}

void ptrc_logfile_say_wrong_policy(const char *path)
{
	ptrc_cli_message(path, "is not a regular file, which needs the log-full-policy append");
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
