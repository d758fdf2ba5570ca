/* SPDX-License-Identifier: MIT */
#include "lib/log/log_output.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <trace.h>

#include "lib/base/atomic.h"
#include "lib/base/sys.h"

#ifndef RWF_NOAPPEND
#define RWF_NOAPPEND 0x00000020
#endif

int ptrc_log_check(int fd, int log_policy)
{
	struct stat st;
	long flags = ptrc_sys(SYS_fcntl, fd, F_GETFL);

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH))
		return EBADF;
	if (ptrc_sys(SYS_fstat, fd, &st) < 0)
		return EBADF;
	if (S_ISREG(st.st_mode))
		return 0;
	if (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode) && !S_ISCHR(st.st_mode))
		return EINVAL;
	return log_policy == POSIX_TRACE_APPEND ? 0 : EINVAL;
}

/* Waits up to a second for output that takes nothing now. EPIPE: give up. */
static int wait_writable(struct ptrc_log_writer *w)
{
	struct pollfd p = {.fd = w->fd, .events = POLLOUT};
	struct timespec second = {1, 0};
	long n = ptrc_sys(SYS_ppoll, &p, 1, &second, 0, 8);

	if (n == 0 && w->give_up && w->give_up(w->arg))
		return EPIPE;
	return 0;
}

static int write_all(struct ptrc_log_writer *w, uint64_t offset, const uint8_t *bytes,
		     uint64_t count, uint64_t *done)
{
	while (*done < count) {
		const uint8_t *from = bytes + *done;
		/* The kernel would cut a larger part anyway. */
		uint64_t part = count - *done < 1 << 30 ? count - *done : 1 << 30;
		long n;
		int error;

		if (w->is_regular && w->must_not_append) {
			struct iovec v = {(void *)(uintptr_t)from, part};

			n = ptrc_sys(SYS_pwritev2, w->fd, &v, 1, offset + *done, 0, RWF_NOAPPEND);
		} else if (w->is_regular) {
			n = ptrc_sys(SYS_pwrite64, w->fd, from, part, offset + *done);
		} else if (w->is_socket) {
			n = ptrc_sys(SYS_sendto, w->fd, from, part, MSG_NOSIGNAL | MSG_DONTWAIT, 0,
				     0);
		} else {
			n = ptrc_sys(SYS_write, w->fd, from, part);
		}
		if (n > 0) {
			*done += (uint64_t)n;
		} else if (n == -EAGAIN) {
			error = wait_writable(w);
			if (error)
				return error;
		} else if (n != -EINTR) {
			return n == 0 ? EIO : (int)-n;
		}
	}
	return 0;
}

int ptrc_log_write_at(struct ptrc_log_writer *w, uint64_t offset, const uint8_t *bytes,
		      uint64_t count, uint64_t *done)
{
	uint64_t limit, end;

	*done = 0;
	if (!w->is_regular)
		return write_all(w, offset, bytes, count, done);
	limit = ptrc_load_relaxed(&w->header->fsize_limit);
	if (__builtin_add_overflow(offset, count, &end))
		return EFBIG;
	if (limit > INT64_MAX)
		limit = INT64_MAX; /* RLIM_INFINITY */
	if (end > limit || limit - end < w->close_reserve)
		return EFBIG;
	return write_all(w, offset, bytes, count, done);
}

int ptrc_log_append(struct ptrc_log_writer *w, const uint8_t *bytes, uint64_t count)
{
	uint64_t done;
	int error = ptrc_log_write_at(w, w->state.offset, bytes, count, &done);

	if (!error)
		w->state.offset += count;
	else if (w->is_regular && done)
		ptrc_sys(SYS_ftruncate, w->fd, w->state.offset);
	/* In a pipe a torn packet stays; a reader finds the next one by its magic. */
	return error;
}
