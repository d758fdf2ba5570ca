/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/output.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/exit_status.h"
#include "src/base/message.h"
#include "src/base/same_file.h"

/* LOOK_MS: the pause between two checks of *end_flag while the reader takes nothing. PIECE_BYTES: if poll() reports
 * a pipe as writable, it has room for at least this many bytes. */
enum { LOOK_MS = 200, PIECE_BYTES = 4096 };

static bool is_reader_needed;
/* Once *end_flag is set, output that the reader does not take at once is dropped. NULL: there is no flag. */
static const volatile sig_atomic_t *end_flag;
static int out_fd = STDOUT_FILENO;
static const char *out_name = "standard output";
/* ptrc_output_to() was called, so the output goes to the file out_name. */
static bool is_file;
/* This process has created the file out_name. */
static bool is_file_new;

static void __attribute__((noreturn)) write_failed(int error)
{
	if (error == EPIPE && !is_reader_needed)
		exit(PTRC_EXIT_DONE);
	ptrc_output_abandon();
	ptrc_cli_error(out_name, error);
	exit(ptrc_cli_failure_status());
}

void ptrc_output_abandon(void)
{
	if (is_file_new)
		unlink(out_name);
	else if (is_file && truncate(out_name, 0) && errno != EINVAL)
		ptrc_cli_message(out_name, "has a part of the output now");
}

bool ptrc_output_give_up(struct ptrc_buffer *b)
{
	b->used = 0;
	if (is_file_new)
		unlink(out_name);
	return false;
}

void ptrc_output_begin(void)
{
	signal(SIGPIPE, SIG_IGN);
}

void ptrc_output_to(int fd, const char *name, bool is_new)
{
	out_fd = fd;
	out_name = name;
	is_file = true;
	is_file_new = is_new;
	is_reader_needed = !ptrc_output_is(name);
}

void ptrc_output_clear(void)
{
	struct stat st;

	if (!is_file || fstat(out_fd, &st) || !S_ISREG(st.st_mode) || !ftruncate(out_fd, 0))
		return;
	ptrc_cli_error(out_name, errno);
	exit(ptrc_cli_failure_status());
}

void ptrc_output_need_reader(void)
{
	is_reader_needed = true;
}

bool ptrc_output_is(const char *path)
{
	struct stat named;
	struct stat out;

	return !stat(path, &named) && !fstat(STDOUT_FILENO, &out) && !S_ISCHR(out.st_mode) &&
	       ptrc_is_same_file(&named, &out);
}

void ptrc_output_give_up_at(const volatile sig_atomic_t *flag)
{
	struct stat st;

	/* Writing to a regular file never waits for a reader. */
	if (!fstat(out_fd, &st) && !S_ISREG(st.st_mode))
		end_flag = flag;
}

/* Waits until the output can take some bytes. Returns false if *end_flag is set and the output can take none. */
static bool wait_for_room(void)
{
	struct pollfd p = {.fd = out_fd, .events = POLLOUT};

	while (poll(&p, 1, LOOK_MS) <= 0)
		if (*end_flag)
			return poll(&p, 1, 0) > 0;
	return true;
}

void ptrc_output_write(struct ptrc_buffer *b)
{
	for (size_t done = 0; done < b->used;) {
		size_t size = b->used - done;
		ssize_t n;

		if (end_flag && !wait_for_room())
			break;
		if (end_flag && size > PIECE_BYTES)
			size = PIECE_BYTES;
		n = write(out_fd, b->bytes + done, size);
		if (n >= 0) {
			done += (size_t)n;
		} else if (errno == EAGAIN) {
			/* Another process has made the pipe or terminal non-blocking. Waits until the pipe or
			 * terminal can take bytes again. */
			struct pollfd p = {.fd = out_fd, .events = POLLOUT};

			poll(&p, 1, -1);
		} else if (errno != EINTR) {
			write_failed(errno);
		}
	}
	b->used = 0;
}

bool ptrc_output_wait(int fd, int ms)
{
	struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = STDOUT_FILENO}};

	if (poll(p, 2, ms) <= 0)
		return false;
	/* A pipe without a reader reports POLLERR, a socket without a reader POLLHUP. */
	if (p[1].revents & (POLLERR | POLLHUP))
		write_failed(EPIPE);
	return true;
}

void ptrc_output_end(struct ptrc_buffer *b)
{
	if (b->used)
		ptrc_output_write(b);
	ptrc_buffer_free(b);
	if (close(out_fd) && errno != EBADF && errno != EINTR)
		write_failed(errno);
}

int ptrc_write_all(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno != EINTR)
			return errno;
		at += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}
