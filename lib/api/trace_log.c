/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <trace.h>

#include "lib/api/on_log.h"
#include "lib/base/file.h"
#include "lib/base/scope.h"
#include "lib/life/life.h"
#include "lib/log/log_family.h"

/* Gives the opened log an identifier. If that fails, closes the log. */
static int give(struct ptrc_log_stream *log, trace_id_t *trid)
{
	int error = ptrc_handle_new(PTRC_HANDLE_LOG, log, trid);

	if (error)
		ptrc_log_stream_close(log);
	return error;
}

PTRC_PUBLIC int posix_trace_open(int file_desc, trace_id_t *trid)
{
	struct ptrc_log_stream *log;
	int error = trid ? ptrc_log_stream_open_all(&file_desc, 1, false, &log) : EINVAL;

	error = error ?: give(log, trid);
	/* EPROTO: the log has an unknown version. The standard has no error number for this
	 * case. */
	return error == EPROTO ? EINVAL : error;
}

PTRC_PUBLIC int posixtrace_log_open(const char *path, trace_id_t *trid)
{
	struct ptrc_log_stream *log;
	int *fds, error;
	bool is_whole;
	size_t count;
	PTRC_NO_CANCEL();

	if (!path || !trid)
		return EINVAL;
	error = ptrc_log_family_open(path, &fds, &count, &is_whole);
	if (error)
		return error;
	error = ptrc_log_stream_open_all(fds, count, is_whole, &log);
	ptrc_log_family_close(fds, count);
	if (error)
		return error;
	ptrc_log_stream_look_for_next(log, path);
	return give(log, trid);
}

int ptrc_log_open_last(const char *path, int *fd)
{
	int *fds, error;
	bool is_whole;
	size_t count;

	error = ptrc_log_family_open(path, &fds, &count, &is_whole);
	if (error)
		return error;
	*fd = fds[--count];
	ptrc_log_family_close(fds, count);
	return 0;
}

int ptrc_log_find_left(const char *path, uint64_t *stream, uid_t *user)
{
	PTRC_FD(fd);
	int error = ptrc_log_open_last(path, &fd);

	if (error)
		return error;
	return ptrc_log_stream_is_left(fd, stream, user) ? 0 : ENOENT;
}

int ptrc_log_open_parts(const void *bytes, size_t size, trace_id_t *trid)
{
	struct ptrc_log_stream *log;
	int error = ptrc_log_stream_begin(bytes, size, &log);

	return error ? error : give(log, trid);
}

int ptrc_log_add_part(trace_id_t trid, const void *bytes, size_t size, int *is_complete)
{
	int complete = 0;
	int error = PTRC_ON_LOG(trid, ptrc_log_stream_feed, bytes, size, &complete);

	if (!error && is_complete)
		*is_complete = complete;
	return error;
}

int ptrc_log_refresh(trace_id_t trid, unsigned long first)
{
	return PTRC_ON_LOG(trid, ptrc_log_stream_refresh, first);
}

PTRC_PUBLIC int posix_trace_close(trace_id_t trid)
{
	struct ptrc_log_stream *log = ptrc_handle_take(trid, PTRC_HANDLE_LOG);
	PTRC_NO_CANCEL();

	if (!log)
		return EINVAL;
	ptrc_handle_drain(trid);
	ptrc_log_stream_close(log);
	return 0;
}

PTRC_PUBLIC int posix_trace_rewind(trace_id_t trid)
{
	return PTRC_ON_LOG(trid, ptrc_log_stream_rewind);
}
