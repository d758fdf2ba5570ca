/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/message.h"
#include "src/base/same_file.h"
#include "src/base/scope.h"

enum { SIGNATURE_MAX_BYTES = 80 };

/* *answer becomes whether the file, which is open for writing only, starts with the signature. Returns 0 or an error
 * number; ESTALE: the path leads to another file now. */
static int has_signature(const struct stat *file, const char *path,
			 const struct ptrc_replace_kind *kind, bool *answer)
{
	/* /proc/self/fd would lead to the same file, but there may be no /proc. */
	PTRC_SCOPED_FD in = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char bytes[SIGNATURE_MAX_BYTES];
	struct stat st;
	ssize_t n;

	if (in < 0 || fstat(in, &st))
		return errno;
	if (!ptrc_is_same_file(&st, file))
		return ESTALE;
	n = pread(in, bytes, kind->signature_bytes, 0);
	if (n < 0)
		return errno;
	*answer = n == (ssize_t)kind->signature_bytes &&
		  !memcmp(bytes, kind->signature, kind->signature_bytes);
	return 0;
}

/* Whether the file may be replaced. Returns false, after a message, if not. */
static bool may_replace(int fd, const char *path, const struct ptrc_replace_kind *kind)
{
	bool is_ours = false;
	struct stat st;
	int error;

	if (fstat(fd, &st))
		return ptrc_cli_error(path, errno);
	if (S_ISBLK(st.st_mode))
		return ptrc_cli_message(path, "is a block device; --force overwrites it");
	if (!S_ISREG(st.st_mode) || !st.st_size)
		return true;
	error = has_signature(&st, path, kind, &is_ours);
	if (error)
		return ptrc_cli_message(
			path,
			"exists and cannot be read, so it may not be %s: %s; name another "
			"file, or replace this one with --force",
			kind->noun, strerror(error));
	return is_ours ||
	       ptrc_cli_message(path,
				"exists and is not %s; name another file, or replace this one "
				"with --force",
				kind->noun);
}

/* Opens the existing file at the path. If it is a FIFO without a reader, prints a message and waits for a reader.
 * Does not close and open a FIFO again to make it blocking, because closing it would end the reader's input. */
static int open_existing(const char *path, mode_t mode)
{
	/* O_CREAT is needed if the path is a symbolic link to a file that does not exist. */
	const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY;
	struct stat st;
	int fd;

	if (stat(path, &st) || !S_ISFIFO(st.st_mode))
		return open(path, flags, mode);
	fd = open(path, flags | O_NONBLOCK, mode);
	if (fd >= 0)
		fcntl(fd, F_SETFL, 0);
	if (fd >= 0 || errno != ENXIO)
		return fd;
	ptrc_cli_message(path, "is a FIFO without a reader; waiting for one");
	return open(path, flags, mode);
}

/* Whether the path leads to the placeholder that ptrc_cli_begin() has opened for a closed standard descriptor. */
static bool is_closed_descriptor(const char *path)
{
	struct stat named;
	struct stat st;

	for (int fd = STDIN_FILENO; !stat(path, &named) && fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFL) & O_PATH && !fstat(fd, &st) &&
		    ptrc_is_same_file(&st, &named))
			return true;
	return false;
}

int ptrc_replace_open(const char *path, const struct ptrc_replace_kind *kind, bool is_forced,
		      bool *is_new)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, kind->mode);

	*is_new = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = open_existing(path, kind->mode);
	if (fd < 0) {
		int error = errno;

		ptrc_cli_error(path, is_closed_descriptor(path) ? EBADF : error);
		return -1;
	}
	if (*is_new || is_forced || may_replace(fd, path, kind))
		return fd;
	close(fd);
	return -1;
}
