/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/cli/output.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/cli/cli.h"
#include "src/cli/exit_status.h"

static bool is_reader_needed;

static const char hex_digits[] = "0123456789abcdef";

void ptrc_buffer_free(struct ptrc_buffer *b)
{
	free(b->bytes);
	*b = (struct ptrc_buffer)PTRC_BUFFER_INIT;
}

void ptrc_buffer_grow(struct ptrc_buffer *b, size_t bytes)
{
	size_t size = b->size ? b->size : 4096;

	while (size - b->used < bytes)
		if (__builtin_mul_overflow(size, (size_t)2, &size))
			ptrc_cli_no_memory();
	b->bytes = ptrc_cli_reallocate(b->bytes, size);
	b->size = size;
}

void ptrc_buffer_blanks(struct ptrc_buffer *b, long count)
{
	if (count <= 0)
		return;
	memset(ptrc_buffer_room(b, (size_t)count), ' ', (size_t)count);
	b->used += (size_t)count;
}

void ptrc_buffer_u64(struct ptrc_buffer *b, uint64_t v)
{
	char digits[PTRC_U64_MAX_BYTES];
	char *p = digits + sizeof(digits);

	do {
		*--p = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	ptrc_buffer_bytes(b, p, (size_t)(digits + sizeof(digits) - p));
}

void ptrc_buffer_i64(struct ptrc_buffer *b, int64_t v)
{
	if (v < 0) {
		ptrc_buffer_char(b, '-');
		ptrc_buffer_u64(b, 0 - (uint64_t)v);
	} else {
		ptrc_buffer_u64(b, (uint64_t)v);
	}
}

void ptrc_buffer_hex(struct ptrc_buffer *b, uint64_t v)
{
	char *p = ptrc_buffer_room(b, PTRC_HEX_MAX_BYTES);
	unsigned int digits = v ? (67 - (unsigned int)__builtin_clzll(v)) / 4 : 1;

	p[0] = '0';
	p[1] = 'x';
	for (unsigned int i = digits; i; i--) {
		p[1 + i] = hex_digits[v & 15];
		v >>= 4;
	}
	b->used += 2 + digits;
}

void ptrc_buffer_hex_bytes(struct ptrc_buffer *b, const void *bytes, size_t size)
{
	const unsigned char *in = bytes;
	char *out;

	if (size > SIZE_MAX / 2)
		ptrc_cli_no_memory();
	out = ptrc_buffer_room(b, 2 * size);
	for (size_t i = 0; i < size; i++) {
		*out++ = hex_digits[in[i] >> 4];
		*out++ = hex_digits[in[i] & 15];
	}
	b->used += 2 * size;
}

void ptrc_buffer_format(struct ptrc_buffer *b, const char *format, ...)
{
	va_list values;
	int n;

	va_start(values, format);
	n = vsnprintf(NULL, 0, format, values);
	va_end(values);
	if (n <= 0)
		return;
	va_start(values, format);
	vsnprintf(ptrc_buffer_room(b, (size_t)n + 1), (size_t)n + 1, format, values);
	va_end(values);
	b->used += (size_t)n;
}

static void format_second(struct ptrc_time_format *f, time_t second)
{
	struct tm tm;
	size_t n = 0;

	/* A damaged log may hold any number; years beyond 9999 have no RFC 3339 form, yet
	 * should be seen. */
	if (gmtime_r(&second, &tm))
		n = strftime(f->date, sizeof(f->date), "%Y-%m-%dT%H:%M:%S", &tm);
	if (!n)
		n = (size_t)snprintf(f->date, sizeof(f->date), "@%lld",
				     (long long)second);
	f->date_used = (unsigned char)n;
	f->digits_used = (unsigned char)snprintf(f->digits, sizeof(f->digits), "%lld",
						 (long long)second);
	f->second = second;
}

/* The nanoseconds, which are below one second, with all nine digits. */
static char *put_nanoseconds(char *p, long ns)
{
	uint32_t v = (uint32_t)ns % 1000000000;

	for (int i = 8; i >= 0; i--) {
		p[i] = (char)('0' + v % 10);
		v /= 10;
	}
	return p + 9;
}

static void prepare_second(struct ptrc_time_format *f, const struct timespec *t)
{
	if (__builtin_expect(f->second != t->tv_sec || !f->date_used, 0))
		format_second(f, t->tv_sec);
}

void ptrc_buffer_time(struct ptrc_buffer *b, struct ptrc_time_format *f,
		      const struct timespec *t)
{
	char *p = ptrc_buffer_room(b, PTRC_TIME_MAX_BYTES);

	prepare_second(f, t);
	memcpy(p, f->date, f->date_used);
	p += f->date_used;
	*p++ = '.';
	p = put_nanoseconds(p, t->tv_nsec);
	*p++ = 'Z';
	b->used = (size_t)(p - b->bytes);
}

void ptrc_buffer_ns(struct ptrc_buffer *b, struct ptrc_time_format *f,
		    const struct timespec *t)
{
	char *p;

	if (t->tv_sec <= 0) {
		int64_t ns;

		/* Before 1970 the digits cannot be put one behind the other. */
		if (__builtin_mul_overflow((int64_t)t->tv_sec, (int64_t)1000000000, &ns))
			ns = INT64_MIN;
		else
			ns += t->tv_nsec;
		ptrc_buffer_i64(b, ns);
		return;
	}
	p = ptrc_buffer_room(b, PTRC_TIME_MAX_BYTES);
	prepare_second(f, t);
	memcpy(p, f->digits, f->digits_used);
	p = put_nanoseconds(p + f->digits_used, t->tv_nsec);
	b->used = (size_t)(p - b->bytes);
}

static void __attribute__((noreturn)) write_failed(int error)
{
	if (error == EPIPE && !is_reader_needed)
		exit(PTRC_EXIT_DONE);
	ptrc_cli_error("standard output", error);
	exit(ptrc_cli_failure_status());
}

void ptrc_output_begin(void)
{
	signal(SIGPIPE, SIG_IGN);
}

void ptrc_output_need_reader(void)
{
	is_reader_needed = true;
}

void ptrc_output_write(struct ptrc_buffer *b)
{
	for (size_t done = 0; done < b->used;) {
		ssize_t n = write(STDOUT_FILENO, b->bytes + done, b->used - done);

		if (n >= 0) {
			done += (size_t)n;
		} else if (errno == EAGAIN) {
			/* Somebody made the pipe or terminal non-blocking. */
			struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};

			poll(&p, 1, -1);
		} else if (errno != EINTR) {
			write_failed(errno);
		}
	}
	b->used = 0;
}

bool ptrc_output_wait(int fd)
{
	struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = STDOUT_FILENO}};

	if (poll(p, 2, 1000) <= 0)
		return false;
	/* Of a pipe, of a socket. */
	if (p[1].revents & (POLLERR | POLLHUP))
		write_failed(EPIPE);
	return true;
}

void ptrc_output_end(struct ptrc_buffer *b)
{
	if (b->used)
		ptrc_output_write(b);
	ptrc_buffer_free(b);
	if (close(STDOUT_FILENO) && errno != EBADF && errno != EINTR)
		write_failed(errno);
}
