/* SPDX-License-Identifier: MIT */
/*
 * Text on its way to standard output: a buffer that grows, number formatting that is fast
 * enough for millions of events, and the write at the end, checked.
 */
#ifndef PTRC_SRC_CLI_OUTPUT_H
#define PTRC_SRC_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

struct ptrc_buffer {
	char *bytes;
	size_t used;
	size_t size;
};

/* An empty one; it takes memory when first written to. */
#define PTRC_BUFFER_INIT   \
	{                  \
		NULL, 0, 0 \
	}

/* Longest output of ptrc_buffer_u64(), _hex() and _time(). */
enum {
	PTRC_U64_MAX_BYTES = 20,
	PTRC_HEX_MAX_BYTES = 18,
	PTRC_TIME_MAX_BYTES = 48,
};

void ptrc_buffer_free(struct ptrc_buffer *);

/* Out of line part of ptrc_buffer_room(). */
void ptrc_buffer_grow(struct ptrc_buffer *, size_t bytes);

/* Where to put up to so many bytes; the caller then adds what it has put to used. */
static inline char *ptrc_buffer_room(struct ptrc_buffer *b, size_t bytes)
{
	if (__builtin_expect(b->size - b->used < bytes, 0))
		ptrc_buffer_grow(b, bytes);
	return b->bytes + b->used;
}

static inline void ptrc_buffer_bytes(struct ptrc_buffer *b, const void *bytes,
				     size_t size)
{
	if (!size)
		return;
	memcpy(ptrc_buffer_room(b, size), bytes, size);
	b->used += size;
}

/* A function, so that strlen() of a literal is done by the compiler. */
static inline void ptrc_buffer_text(struct ptrc_buffer *b, const char *text)
{
	ptrc_buffer_bytes(b, text, strlen(text));
}

static inline void ptrc_buffer_char(struct ptrc_buffer *b, char c)
{
	*ptrc_buffer_room(b, 1) = c;
	b->used++;
}

/* So many blanks, none if the number is negative. */
void ptrc_buffer_blanks(struct ptrc_buffer *, long count);

/* Decimal. */
void ptrc_buffer_u64(struct ptrc_buffer *, uint64_t);
void ptrc_buffer_i64(struct ptrc_buffer *, int64_t);

/* "0x" and hexadecimal digits without leading zeros. */
void ptrc_buffer_hex(struct ptrc_buffer *, uint64_t);

/* Two digits per byte, without "0x". */
void ptrc_buffer_hex_bytes(struct ptrc_buffer *, const void *, size_t);

void ptrc_buffer_format(struct ptrc_buffer *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Formats times; remembers the last second, as the next event is mostly in the same.
 * Starts zeroed.
 */
struct ptrc_time_format {
	time_t second;
	/* "2026-01-02T03:04:05", and the second as a number. */
	char date[32];
	char digits[24];
	unsigned char date_used;
	unsigned char digits_used;
};

/* RFC 3339, UTC, nanoseconds: 2026-01-02T03:04:05.123456789Z */
void ptrc_buffer_time(struct ptrc_buffer *, struct ptrc_time_format *,
		      const struct timespec *);

/* The same moment as nanoseconds since 1970. */
void ptrc_buffer_ns(struct ptrc_buffer *, struct ptrc_time_format *,
		    const struct timespec *);

/*
 * Writes the buffer to standard output and empties it. A reader that went away (EPIPE)
 * ends the process in silence, as it has all it wants; any other error ends it with a
 * message.
 */
void ptrc_output_write(struct ptrc_buffer *);

/*
 * Waits until there is something to read from the descriptor; false if a signal came
 * first, or a second has passed. A reader of standard output that goes away meanwhile ends
 * the process as it does in ptrc_output_write(): who has nothing to write would not notice.
 */
bool ptrc_output_wait(int fd);

/*
 * To be called before anything is written: makes the end of the reader an error of
 * write() instead of a signal.
 */
void ptrc_output_begin(void);

/* From now on it is an error if nobody reads, as with a full disk. */
void ptrc_output_need_reader(void);

/* The rest, then close(), whose error counts too: network file systems report late. */
void ptrc_output_end(struct ptrc_buffer *);

#endif
