/* SPDX-License-Identifier: MIT */
/*
 * A growing output buffer, and functions that append ("put") to it: numbers and times, fast enough for millions
 * of events per second, and text, escaped for people or for JSON. If memory is short, these functions end the
 * process.
 */
#ifndef PTRC_SRC_BASE_BUFFER_H
#define PTRC_SRC_BASE_BUFFER_H

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

/* An empty buffer, which allocates memory when something is first put into it. */
#define PTRC_BUFFER_INIT   \
	{                  \
		NULL, 0, 0 \
	}

void ptrc_buffer_free(struct ptrc_buffer *);

/* The type of a buffer that is freed at the end of its scope. */
#define PTRC_SCOPED_BUFFER __attribute__((cleanup(ptrc_buffer_free))) struct ptrc_buffer

/* Makes the buffer larger, so that it has room for `bytes` more bytes. Called by ptrc_buffer_room(). */
void ptrc_buffer_grow(struct ptrc_buffer *, size_t bytes);

/* Makes room for `bytes` more bytes, and returns where they start. The caller writes there, and adds the number
 * of bytes written to `used`. */
static inline char *ptrc_buffer_room(struct ptrc_buffer *b, size_t bytes)
{
	if (__builtin_expect(b->size - b->used < bytes, 0))
		ptrc_buffer_grow(b, bytes);
	return b->bytes + b->used;
}

static inline void ptrc_buffer_bytes(struct ptrc_buffer *b, const void *bytes, size_t size)
{
	if (!size)
		return;
	memcpy(ptrc_buffer_room(b, size), bytes, size);
	b->used += size;
}

/* Appends a text. It is inline so that the compiler computes strlen() of a literal. */
static inline void ptrc_buffer_text(struct ptrc_buffer *b, const char *text)
{
	ptrc_buffer_bytes(b, text, strlen(text));
}

static inline void ptrc_buffer_char(struct ptrc_buffer *b, char c)
{
	*ptrc_buffer_room(b, 1) = c;
	b->used++;
}

/* Writes a number as a varint: seven bits in each byte, the low bits first; the highest bit of a byte says that
 * another byte follows. Returns a pointer to the end of the varint. */
enum { PTRC_VARINT_BYTES = 10 };
static inline char *ptrc_write_varint(char *to, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		*to++ = (char)(number | 0x80);
	*to++ = (char)number;
	return to;
}

static inline void ptrc_buffer_varint(struct ptrc_buffer *b, uint64_t number)
{
	b->used = (size_t)(ptrc_write_varint(ptrc_buffer_room(b, PTRC_VARINT_BYTES), number) -
			   b->bytes);
}

/* Puts `count` blanks, or none if `count` is negative. */
void ptrc_buffer_blanks(struct ptrc_buffer *, long count);

/* Adds blanks to the text that starts at offset `begin` until it is `columns` wide: after the text, or before it
 * if is_right, so that the text is right-aligned. */
void ptrc_buffer_pad(struct ptrc_buffer *, size_t begin, size_t columns, bool is_right);

void ptrc_buffer_u64(struct ptrc_buffer *, uint64_t);
void ptrc_buffer_i64(struct ptrc_buffer *, int64_t);

/* Puts "0x" and hexadecimal digits without leading zeros. */
void ptrc_buffer_hex(struct ptrc_buffer *, uint64_t);

/* Puts two hexadecimal digits for each byte, without "0x". */
void ptrc_buffer_hex_bytes(struct ptrc_buffer *, const void *, size_t);

/* Puts the bytes in base64 (RFC 4648), with padding. */
void ptrc_buffer_base64(struct ptrc_buffer *, const void *, size_t);

void ptrc_buffer_format(struct ptrc_buffer *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The format of times, and the text of the second that was formatted last: most events happen in the same second
 * as the one before. Zeroed at the start, except for is_local (local time instead of UTC). */
struct ptrc_time_format {
	bool is_local;
	time_t second;
	/* The texts of .second: "2026-01-02T03:04:05", the offset from UTC, and the seconds since 1970. */
	char date[32];
	char offset[8];
	char digits[24];
	/* The nanoseconds that were put last, and their nine digits: the first in first_digit, the
	 * others as the bytes of last_digits. */
	long nanoseconds;
	uint64_t last_digits;
	char first_digit;
	bool has_fraction;
	unsigned char date_used;
	unsigned char offset_used;
	unsigned char digits_used;
};

/* Puts a time in the format of RFC 3339, with nanoseconds: in UTC as 2026-01-02T03:04:05.123456789Z, in local time
 * as 2026-01-02T04:04:05.123456789+01:00. In RFC 3339 a year has four digits: a local time in a year of fewer or more
 * digits is put as @ and seconds since 1970. */
void ptrc_buffer_time(struct ptrc_buffer *, struct ptrc_time_format *, const struct timespec *);

/* How many columns a time of ptrc_buffer_time() takes, in UTC and in local time. */
enum { PTRC_UTC_TIME_COLUMNS = 30, PTRC_LOCAL_TIME_COLUMNS = 35 };

/* Puts a difference of times in seconds with nanoseconds, such as +12.000000345s. */
void ptrc_buffer_span(struct ptrc_buffer *, int64_t ns);

/* Puts a duration in the largest unit in which it is at least 1: rounded down to 3 decimals, such as 12.345ms, or if
 * is_exact with all its decimals, such as 8.25ms. */
void ptrc_buffer_duration(struct ptrc_buffer *, uint64_t ns, bool is_exact);

/* Returns the text of ptrc_buffer_duration(). If the duration is negative, and is_exact, it is in nanoseconds. The fourth
 * call after this one overwrites the text. */
const char *ptrc_duration_text(int64_t ns, bool is_exact);

/* Puts a time as nanoseconds since 1970. */
void ptrc_buffer_ns(struct ptrc_buffer *, struct ptrc_time_format *, const struct timespec *);

/*
 * Variants of ptrc_buffer_u64(), ptrc_buffer_time() and so on for callers that make room for several results at
 * once, because checking the size of the buffer costs time. They write to memory that must have room for the
 * longest result, and return the end of what they have written.
 */
enum { PTRC_U64_BYTES = 20, PTRC_TIME_BYTES = 56 };
char *ptrc_write_u64(char *, uint64_t);
char *ptrc_write_time(char *, struct ptrc_time_format *, const struct timespec *);
char *ptrc_write_ns(char *, struct ptrc_time_format *, const struct timespec *);

/*
 * Whether the bytes can be shown as text: they are UTF-8, without control characters other than tab, line feed
 * and carriage return. If so, and if the bytes end with a single null byte, which many programs record with a
 * string, *size becomes the size without it.
 */
bool ptrc_text_is_clean(const void *, size_t *size);

/* Whether the bytes are valid UTF-8, so that ptrc_text_json() replaces none of them by U+FFFD. */
bool ptrc_text_is_utf8(const char *, size_t);

/* Puts the text as a quoted JSON string. Each byte that is not UTF-8 becomes U+FFFD, so the
 * result is always valid. */
void ptrc_text_json(struct ptrc_buffer *, const char *, size_t);

/* Puts the text, replacing each byte that is not UTF-8 by U+FFFD. Returns false if there was such a byte. */
bool ptrc_text_put_utf8(struct ptrc_buffer *, const char *text, size_t size);

/* Puts the text for people to read: on one line, escaped by ptrc_escape(). */
void ptrc_text_put(struct ptrc_buffer *, const char *, size_t);

/* Puts the text as ptrc_text_put() does, but in quotes, and escapes quotes in it. */
void ptrc_text_quote(struct ptrc_buffer *, const char *, size_t);

/* Puts the text as one word of a shell. Quotes it if necessary; if it has characters that cannot be printed,
 * puts it as $'...' with octal escapes. */
void ptrc_text_word(struct ptrc_buffer *, const char *);

#endif
