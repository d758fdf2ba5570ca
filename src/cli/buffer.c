/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/cli/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/cli/escape.h"
#include "src/cli/message.h"

/* The most bytes that ptrc_buffer_u64(), _hex() and _time() put. */
enum { U64_MAX_BYTES = 20, HEX_MAX_BYTES = 18, TIME_MAX_BYTES = 56 };

static const char hex_digits[] = "0123456789abcdef";
static const char two_digits[] = "0001020304050607080910111213141516171819"
				 "2021222324252627282930313233343536373839"
				 "4041424344454647484950515253545556575859"
				 "6061626364656667686970717273747576777879"
				 "8081828384858687888990919293949596979899";

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
	char digits[U64_MAX_BYTES];
	char *p = digits + sizeof(digits);

	do {
		*--p = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	ptrc_buffer_bytes(b, p, (size_t)(digits + sizeof(digits) - p));
}

void ptrc_buffer_i64(struct ptrc_buffer *b, int64_t v)
{
	if (v < 0)
		ptrc_buffer_char(b, '-');
	ptrc_buffer_u64(b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void ptrc_buffer_hex(struct ptrc_buffer *b, uint64_t v)
{
	char *p = ptrc_buffer_room(b, HEX_MAX_BYTES);
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

/* Shifts the second to local time and fills in the offset. An offset is rounded to minutes, as
 * RFC 3339 has no others, and so the time that is shown: both together are exact. */
static time_t shift_to_local(struct ptrc_time_format *f, time_t second)
{
	struct tm tm;
	int minutes;

	if (!localtime_r(&second, &tm))
		return second;
	minutes = (int)(tm.tm_gmtoff / 60);
	if (abs(minutes) >= 24 * 60)
		return second;
	f->offset_used = (unsigned char)snprintf(f->offset, sizeof(f->offset), "%c%02d:%02d",
						 minutes < 0 ? '-' : '+', abs(minutes) / 60,
						 abs(minutes) % 60);
	return second + (time_t)minutes * 60;
}

static void format_second(struct ptrc_time_format *f, time_t second)
{
	time_t shown = second;
	struct tm tm;
	size_t n = 0;

	f->offset[0] = 'Z';
	f->offset_used = 1;
	if (f->is_local)
		shown = shift_to_local(f, second);
	/* A damaged log may hold any number. A time that cannot be written as a date is shown
	 * as seconds since 1970. */
	if (gmtime_r(&shown, &tm) &&
	    !(f->is_local && (tm.tm_year < 1000 - 1900 || tm.tm_year > 9999 - 1900)))
		n = strftime(f->date, sizeof(f->date), "%Y-%m-%dT%H:%M:%S", &tm);
	if (f->is_local && !n)
		f->offset_used = 0;
	if (!n)
		n = (size_t)snprintf(f->date, sizeof(f->date), "@%lld", (long long)second);
	f->date_used = (unsigned char)n;
	f->digits_used =
		(unsigned char)snprintf(f->digits, sizeof(f->digits), "%lld", (long long)second);
	f->second = second;
}

/* Puts nine digits, even if a damaged log has a second or more of nanoseconds. */
static char *put_nanoseconds(char *p, long ns)
{
	uint32_t v = (uint32_t)ns % 1000000000;

	for (int i = 7; i > 0; i -= 2) {
		memcpy(p + i, &two_digits[v % 100 * 2], 2);
		v /= 100;
	}
	p[0] = (char)('0' + v);
	return p + 9;
}

static char *put_fraction(char *p, struct ptrc_time_format *f, long ns)
{
	if (!f->has_fraction || f->nanoseconds != ns) {
		put_nanoseconds(f->fraction, ns);
		f->nanoseconds = ns;
		f->has_fraction = true;
	}
	memcpy(p, f->fraction, sizeof(f->fraction));
	return p + sizeof(f->fraction);
}

static void prepare_second(struct ptrc_time_format *f, const struct timespec *t)
{
	if (__builtin_expect(f->second != t->tv_sec || !f->date_used, 0))
		format_second(f, t->tv_sec);
}

void ptrc_buffer_time(struct ptrc_buffer *b, struct ptrc_time_format *f, const struct timespec *t)
{
	char *p = ptrc_buffer_room(b, TIME_MAX_BYTES);

	prepare_second(f, t);
	/* All of an array is faster to copy than a part whose size is not known. */
	memcpy(p, f->date, sizeof(f->date));
	p += f->date_used;
	*p++ = '.';
	p = put_fraction(p, f, t->tv_nsec);
	memcpy(p, f->offset, sizeof(f->offset));
	p += f->offset_used;
	b->used = (size_t)(p - b->bytes);
}

void ptrc_buffer_span(struct ptrc_buffer *b, int64_t ns)
{
	uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	char *p;

	ptrc_buffer_char(b, ns < 0 ? '-' : '+');
	ptrc_buffer_u64(b, size / 1000000000);
	ptrc_buffer_char(b, '.');
	p = put_nanoseconds(ptrc_buffer_room(b, TIME_MAX_BYTES), (long)(size % 1000000000));
	*p++ = 's';
	b->used = (size_t)(p - b->bytes);
}

void ptrc_buffer_ns(struct ptrc_buffer *b, struct ptrc_time_format *f, const struct timespec *t)
{
	char *p;

	if (t->tv_sec <= 0) {
		int64_t ns;

		/* Before 1970 the digits of the seconds followed by those of the nanoseconds
		 * would be another number. */
		if (__builtin_mul_overflow((int64_t)t->tv_sec, (int64_t)1000000000, &ns))
			ns = INT64_MIN;
		else
			ns += t->tv_nsec;
		ptrc_buffer_i64(b, ns);
		return;
	}
	p = ptrc_buffer_room(b, TIME_MAX_BYTES);
	prepare_second(f, t);
	memcpy(p, f->digits, sizeof(f->digits));
	p = put_fraction(p + f->digits_used, f, t->tv_nsec);
	b->used = (size_t)(p - b->bytes);
}

/* How a byte of text is shown. */
enum {
	PLAIN = 0,
	/* As a backslash and one other character. */
	ESCAPE = 1,
	/* A control character: data that has one is not shown as text. */
	CONTROL = 2,
	/* It is part of a character of several bytes, or not UTF-8. */
	HIGH = 4,
};

static unsigned int byte_class(unsigned char c)
{
	if (c >= 0x80)
		return HIGH;
	if (c == '"' || c == '\\' || c == '\n' || c == '\t' || c == '\r')
		return ESCAPE;
	return c < 0x20 || c == 0x7f ? CONTROL : PLAIN;
}

bool ptrc_text_is_clean(const void *bytes, size_t *size)
{
	const unsigned char *p = bytes;
	size_t n = *size;

	/* A null byte at the end belongs to a string, but two of them rather to a number. */
	if (n > 1 && !p[n - 1] && p[n - 2])
		n--;
	for (size_t i = 0; i < n;) {
		unsigned int class = byte_class(p[i]);
		size_t length = 1;

		if (class == CONTROL)
			return false;
		if (class == HIGH) {
			length = ptrc_utf8_length(p + i, n - i);
			if (!length || ptrc_is_high_control(p + i))
				return false;
		}
		i += length;
	}
	*size = n;
	return true;
}

bool ptrc_text_is_utf8(const char *text, size_t size)
{
	const unsigned char *p = (const unsigned char *)text;

	for (size_t i = 0; i < size;) {
		size_t length = p[i] < 0x80 ? 1 : ptrc_utf8_length(p + i, size - i);

		if (!length)
			return false;
		i += length;
	}
	return true;
}

static void put_escape(struct ptrc_buffer *b, unsigned char c)
{
	static const char special[] = {'"', '\\', '\n', '\t', '\r'};
	static const char letters[] = {'"', '\\', 'n', 't', 'r'};
	const char *found = memchr(special, c, sizeof(special));

	if (!found) {
		ptrc_buffer_format(b, "\\u%04x", c);
		return;
	}
	ptrc_buffer_char(b, '\\');
	ptrc_buffer_char(b, letters[found - special]);
}

void ptrc_text_json(struct ptrc_buffer *b, const char *text, size_t size)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t begin = 0;
	size_t length;

	ptrc_buffer_char(b, '"');
	/* Copies what needs no escape in pieces that are as long as possible. */
	for (size_t i = 0; i < size; i += length) {
		unsigned int class = byte_class(p[i]);
		bool is_character = true;

		length = 1;
		if (class == HIGH) {
			length = ptrc_utf8_length(p + i, size - i);
			is_character = length;
			if (length && ptrc_is_high_control(p + i))
				class = CONTROL;
			if (!length)
				length = 1;
		}
		if (class == PLAIN || (class == HIGH && is_character))
			continue;
		ptrc_buffer_bytes(b, p + begin, i - begin);
		begin = i + length;
		if (class == HIGH)
			ptrc_buffer_text(b, "\xef\xbf\xbd");
		else
			/* Of U+0080 to U+009F the second byte is the number of the character. */
			put_escape(b, p[begin - 1]);
	}
	ptrc_buffer_bytes(b, p + begin, size - begin);
	ptrc_buffer_char(b, '"');
}

/* Puts the text for people. Escapes the backslash, too, so that escapes can be told from it. */
static void put_text(struct ptrc_buffer *b, const char *text, size_t size, bool is_quoted)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t begin = 0;
	size_t length;

	for (size_t i = 0; i < size; i += length) {
		char escape[PTRC_ESCAPE_BYTES] = {'\\', (char)p[i], '\0'};

		length = 1;
		if (byte_class(p[i]) == PLAIN || (p[i] == '"' && !is_quoted))
			continue;
		if (p[i] != '"' && p[i] != '\\')
			length = ptrc_escape(p + i, size - i, escape);
		if (!*escape)
			continue;
		ptrc_buffer_bytes(b, p + begin, i - begin);
		begin = i + length;
		ptrc_buffer_text(b, escape);
	}
	ptrc_buffer_bytes(b, p + begin, size - begin);
}

void ptrc_text_put(struct ptrc_buffer *b, const char *text, size_t size)
{
	put_text(b, text, size, false);
}

void ptrc_text_quote(struct ptrc_buffer *b, const char *text, size_t size)
{
	ptrc_buffer_char(b, '"');
	put_text(b, text, size, true);
	ptrc_buffer_char(b, '"');
}
