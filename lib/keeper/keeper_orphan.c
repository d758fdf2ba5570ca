/* SPDX-License-Identifier: MIT */
#include "lib/keeper/keeper_orphan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/file.h"
#include "lib/base/shmdir.h"
#include "lib/keeper/keeper.h"
#include "lib/keeper/keeper_work.h"
#include "lib/log/log_reader.h"

/* Opens the log that the header names. The header stands in memory that any process of
 * the user can write, and the caller may be root: so only a regular file of that user
 * will do, the very file that the keeper had, which is the log of this very stream. */
static int open_orphans_log(const struct ptrc_stream_header *h, uint32_t uid, int *fd)
{
	char path[sizeof(h->log_path)];
	struct ptrc_log_head head;
	struct stat st;
	int probe, error;

	memcpy(path, h->log_path, sizeof(path));
	path[sizeof(path) - 1] = '\0';
	if (path[0] != '/' || h->log_ino == 0)
		return ENOENT;
	/* Looked at before it is opened: opening a FIFO or a device may do something. */
	error = ptrc_file_open(AT_FDCWD, path, O_PATH | O_NOFOLLOW, 0, &probe);
	if (error)
		return error;
	if (ptrc_file_stat(probe, &st) || !S_ISREG(st.st_mode) || st.st_dev != h->log_dev ||
	    st.st_ino != h->log_ino || st.st_uid != uid) {
		ptrc_file_close(probe);
		return ENOENT;
	}
	error = ptrc_file_reopen(probe, O_RDWR | O_NOCTTY, fd);
	ptrc_file_close(probe);
	if (error)
		return error;
	error = ptrc_log_reader_head(*fd, &head);
	if (!error && head.stream_id != h->id)
		error = ENOENT;
	if (error)
		ptrc_file_close(*fd);
	return error;
}

/* The descriptor of the names object, or -1: it goes with the last process that used it.
 * Then the log has the names that it got with earlier flushes. */
static int open_names(const struct ptrc_keeper_args *args, uint32_t uid, uint64_t id, int *fd)
{
	char name[PTRC_SHMDIR_NAME_BYTES];
	uint64_t size;
	int error;

	ptrc_shmdir_name(name, 'n', id);
	error = ptrc_shmdir_open_object(args->dirfd, name, uid, fd, &size);
	if (error && error != ENOMEM) {
		*fd = -1;
		return 0;
	}
	return error;
}

static int finish(struct ptrc_keeper_args *args, uint32_t uid, struct ptrc_stream_header *h)
{
	int error = open_names(args, uid, h->names_id, &args->names_fd);

	if (error)
		return error;
	error = open_orphans_log(h, uid, &args->log_fd);
	if (!error) {
		error = ptrc_keeper_start(args, h, PTRC_KEEPER_ORPHAN);
		ptrc_file_close(args->log_fd);
		/* Children that are born elsewhere: another process can do it. */
		if (error == EPERM)
			error = ENOMEM;
	}
	if (args->names_fd >= 0)
		ptrc_file_close(args->names_fd);
	return error;
}

int ptrc_keeper_finish_orphan(int dirfd, uint32_t uid, int stream_fd)
{
	struct ptrc_keeper_args args = {
		.log_fd = -1, .stream_fd = stream_fd, .names_fd = -1, .dirfd = dirfd};
	struct ptrc_stream stream;
	int error = ptrc_stream_map(stream_fd, PTRC_ROLE_CONTROLLER, &stream);

	if (error)
		return error == ENOMEM ? EAGAIN : 0;
	error = finish(&args, uid, stream.header);
	/* All else would fail for the next process, too: what could not be saved is
	 * lost. */
	error = error && ptrc_keeper_may_wait(stream.header, error) ? EAGAIN : 0;
	ptrc_stream_unmap(&stream);
	return error;
}
