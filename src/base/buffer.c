/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/buffer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/escape.h"
#include "src/base/message.h"

enum { HEX_MAX_BYTES = 18 };

/* eight_digits() returns eight digits in an integer, the first digit in the lowest byte. The lowest
 * byte must come first when the integer is copied to memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte is the lowest one");

/* EACH_BYTE() repeats the value in each byte of an integer, EACH_PAIR() repeats it in each 16 bits. */
#define EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))
#define EACH_PAIR(number) (UINT64_C(0x0001000100010001) * (number))

static const char hex_digits[] = "0123456789abcdef";

/* Returns the eight digits of a number below 100,000,000. Splits it into two numbers of four digits. One step
 * splits both into numbers of two digits, and the next step splits all four of them into digits. The divisions by
 * 100 and 10 are multiplications, which are exact for numbers of so few digits. */
static uint64_t eight_digits(uint32_t number)
{
	uint64_t x = number / 10000 | (uint64_t)(number % 10000) << 32;
	uint64_t high = (x * 10486 >> 20) & UINT64_C(0x0000007f0000007f);

	x = high | (x - high * 100) << 16;
	high = (x * 103 >> 10) & EACH_PAIR(0x0f);
	x = high | (x - high * 10) << 8;
	return x | EACH_BYTE('0');
}

/* Returns the eight hexadecimal digits of four bytes. In the integer returned, the first digit is the lowest byte. */
static uint64_t eight_hex_digits(const unsigned char *bytes)
{
	uint32_t number;
	uint64_t x;

	memcpy(&number, bytes, sizeof(number));
	x = number;
	x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
	x = (x | x << 8) & EACH_PAIR(0xff);
	x = (x >> 4 & EACH_PAIR(0x0f)) | (x & EACH_PAIR(0x0f)) << 8;
	/* Adding 6 sets bit 4 of a value from 10 on. So bit 4 marks the values that are letters instead of digits. */
	return x + EACH_BYTE('0') + (((x + EACH_BYTE(6)) >> 4) & EACH_BYTE(1)) * ('a' - '0' - 10);
}

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

void ptrc_buffer_pad(struct ptrc_buffer *b, size_t begin, size_t columns, bool is_right)
{
	size_t size = b->used - begin;
	size_t blanks = size < columns ? columns - size : 0;

	ptrc_buffer_blanks(b, (long)blanks);
	if (is_right && blanks) {
		memmove(b->bytes + begin + blanks, b->bytes + begin, size);
		memset(b->bytes + begin, ' ', blanks);
	}
}

char *ptrc_write_u64(char *to, uint64_t v)
{
	unsigned int digits = 1;

	for (uint64_t rest = v; rest > 9; rest /= 10)
		digits++;
	for (unsigned int i = digits; i; i--) {
		to[i - 1] = (char)('0' + v % 10);
		v /= 10;
	}
	return to + digits;
}

void ptrc_buffer_u64(struct ptrc_buffer *b, uint64_t v)
{
	char *end = ptrc_write_u64(ptrc_buffer_room(b, PTRC_U64_BYTES), v);

	b->used = (size_t)(end - b->bytes);
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
	size_t i = 0;
	char *to;

	/* Avoids arithmetic with NULL, which ptrc_buffer_room() returns for 0 bytes of a buffer without memory. */
	if (!size)
		return;
	if (size > SIZE_MAX / 2)
		ptrc_cli_no_memory();
	to = ptrc_buffer_room(b, 2 * size);
	for (; size - i >= 4; i += 4) {
		uint64_t digits = eight_hex_digits(in + i);

		memcpy(to + 2 * i, &digits, sizeof(digits));
	}
	for (; i < size; i++) {
		to[2 * i] = hex_digits[in[i] >> 4];
		to[2 * i + 1] = hex_digits[in[i] & 15];
	}
	b->used += 2 * size;
}

void ptrc_buffer_base64(struct ptrc_buffer *b, const void *bytes, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *from = bytes;
	char *to = ptrc_buffer_room(b, size / 3 * 4 + 4);
	size_t left = size;

	for (; left >= 3; left -= 3, from += 3) {
		uint32_t three = (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2];

		*to++ = digits[three >> 18];
		*to++ = digits[three >> 12 & 63];
		*to++ = digits[three >> 6 & 63];
		*to++ = digits[three & 63];
	}
	if (left) {
		uint32_t rest = (uint32_t)from[0] << 16 | (left > 1 ? (uint32_t)from[1] << 8 : 0);

		*to++ = digits[rest >> 18];
		*to++ = digits[rest >> 12 & 63];
		*to++ = left > 1 ? digits[rest >> 6 & 63] : '=';
		*to++ = '=';
	}
	b->used = (size_t)(to - b->bytes);
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

/* Converts `second` to local time, and fills in f->offset, its offset from UTC. RFC 3339 only has offsets of whole
 * minutes. So both the offset and the shift of the time are rounded to minutes: the two together are exact. */
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
	/* A damaged log may hold any number as a time. A number that cannot be written as a date is written as
	 * seconds since 1970. */
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

/* Makes nine digits of the nanoseconds: stores the first one and returns the other eight. In a damaged log, `ns`
 * may be any number; the remainder makes nine digits of it, too. */
static uint64_t nanosecond_digits(long ns, char *first)
{
	uint32_t v = (uint32_t)ns % 1000000000;

	*first = (char)('0' + v / 100000000);
	return eight_digits(v % 100000000);
}

static char *write_nine(char *to, char first, uint64_t last)
{
	to[0] = first;
	memcpy(to + 1, &last, sizeof(last));
	return to + 9;
}

static char *write_fraction(char *to, struct ptrc_time_format *f, long ns)
{
	if (!f->has_fraction || f->nanoseconds != ns) {
		f->last_digits = nanosecond_digits(ns, &f->first_digit);
		f->nanoseconds = ns;
		f->has_fraction = true;
	}
	return write_nine(to, f->first_digit, f->last_digits);
}

static void prepare_second(struct ptrc_time_format *f, const struct timespec *t)
{
	if (__builtin_expect(f->second != t->tv_sec || !f->date_used, 0))
		format_second(f, t->tv_sec);
}

char *ptrc_write_time(char *to, struct ptrc_time_format *f, const struct timespec *t)
{
	prepare_second(f, t);
	/* Copying the whole array, whose size is constant, is faster than copying only the used part. */
	memcpy(to, f->date, sizeof(f->date));
	to += f->date_used;
	*to++ = '.';
	to = write_fraction(to, f, t->tv_nsec);
	memcpy(to, f->offset, sizeof(f->offset));
	return to + f->offset_used;
}

void ptrc_buffer_time(struct ptrc_buffer *b, struct ptrc_time_format *f, const struct timespec *t)
{
	char *end = ptrc_write_time(ptrc_buffer_room(b, PTRC_TIME_BYTES), f, t);

	b->used = (size_t)(end - b->bytes);
}

void ptrc_buffer_span(struct ptrc_buffer *b, int64_t ns)
{
	uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	char *p = ptrc_buffer_room(b, PTRC_TIME_BYTES);
	uint64_t last;
	char first;

	*p++ = ns < 0 ? '-' : '+';
	p = ptrc_write_u64(p, size / 1000000000);
	*p++ = '.';
	last = nanosecond_digits((long)(size % 1000000000), &first);
	p = write_nine(p, first, last);
	*p++ = 's';
	b->used = (size_t)(p - b->bytes);
}

void ptrc_buffer_duration(struct ptrc_buffer *b, uint64_t ns, bool is_exact)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	uint64_t one = 1, rest;
	size_t i = 0;

	for (; i < 3 && ns / one >= 1000; i++)
		one *= 1000;
	ptrc_buffer_u64(b, ns / one);
	rest = ns % one;
	if (is_exact ? rest > 0 : i > 0)
		ptrc_buffer_char(b, '.');
	for (int digits = 0; is_exact ? rest > 0 : i > 0 && digits < 3; digits++) {
		one /= 10;
		ptrc_buffer_char(b, (char)('0' + rest / one));
		rest %= one;
	}
	ptrc_buffer_text(b, units[i]);
}

const char *ptrc_duration_text(int64_t ns, bool is_exact)
{
	static struct ptrc_buffer rooms[4];
	static size_t last;
	struct ptrc_buffer *b = &rooms[++last % 4];

	b->used = 0;
	if (is_exact && ns < 0)
		ptrc_buffer_format(b, "%" PRId64 "ns", ns);
	else
		ptrc_buffer_duration(b, (uint64_t)ns, is_exact);
	ptrc_buffer_char(b, '\0');
	return b->bytes;
}

/* Writes a time up to 1970 in nanoseconds. ptrc_write_ns() writes a later one as the digits of the seconds and then
 * those of the nanoseconds, which would be wrong for a negative number. */
static char *write_early_ns(char *to, const struct timespec *t)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)t->tv_sec, (int64_t)1000000000, &ns))
		ns = INT64_MIN;
	else
		ns += t->tv_nsec;
	if (ns < 0)
		*to++ = '-';
	return ptrc_write_u64(to, ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns);
}

char *ptrc_write_ns(char *to, struct ptrc_time_format *f, const struct timespec *t)
{
	if (t->tv_sec <= 0)
		return write_early_ns(to, t);
	prepare_second(f, t);
	memcpy(to, f->digits, sizeof(f->digits));
	return write_fraction(to + f->digits_used, f, t->tv_nsec);
}

void ptrc_buffer_ns(struct ptrc_buffer *b, struct ptrc_time_format *f, const struct timespec *t)
{
	char *end = ptrc_write_ns(ptrc_buffer_room(b, PTRC_TIME_BYTES), f, t);

	b->used = (size_t)(end - b->bytes);
}

enum {
	PLAIN = 0,
	/* The byte is written as a backslash and one more character. */
	ESCAPE = 1,
	/* The byte is a control character. Data that has one is not shown as text. */
	CONTROL = 2,
	/* The byte is part of a UTF-8 character of several bytes, or is not UTF-8. */
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

/* Finds the bytes that are not PLAIN among the next eight bytes of a text: sets the highest bit of each such byte in
 * the result. Only the first set bit is reliable: a borrow or a carry may set later bits wrongly. */
static uint64_t special_bytes(const unsigned char *p)
{
	uint64_t x, quote, backslash;

	memcpy(&x, p, sizeof(x));
	quote = x ^ EACH_BYTE('"');
	backslash = x ^ EACH_BYTE('\\');
	/* A subtraction sets the highest bit of a byte, by a borrow, if the byte is below 0x20 or equals the quote or
	 * the backslash. The addition sets it if the byte is 0x7f. In bytes above 0x7f it is set anyway. */
	return ((x - EACH_BYTE(0x20)) | (quote - EACH_BYTE(1)) | (backslash - EACH_BYTE(1)) |
		(x + EACH_BYTE(1)) | x) &
	       EACH_BYTE(0x80);
}

/* Returns how many bytes at the start of the text are PLAIN, rounded down to a multiple of eight. */
static size_t plain_bytes(const unsigned char *p, size_t size)
{
	size_t i = 0;

	while (size - i >= 8 && !special_bytes(p + i))
		i += 8;
	return i;
}

bool ptrc_text_is_clean(const void *bytes, size_t *size)
{
	const unsigned char *p = bytes;
	size_t n = *size;

	/* A single null byte at the end belongs to a string; two of them are rather part of a number. */
	if (n > 1 && !p[n - 1] && p[n - 2])
		n--;
	for (size_t i = plain_bytes(p, n); i < n;) {
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

bool ptrc_text_put_utf8(struct ptrc_buffer *b, const char *text, size_t size)
{
	bool is_whole = true;

	for (size_t i = 0; i < size;) {
		const unsigned char *at = (const unsigned char *)text + i;
		size_t n = *at < 0x80 ? 1 : ptrc_utf8_length(at, size - i);

		if (n)
			ptrc_buffer_bytes(b, at, n);
		else
			ptrc_buffer_text(b, "\357\277\275");
		is_whole &= n > 0;
		i += n ? n : 1;
	}
	return is_whole;
}

void ptrc_text_json(struct ptrc_buffer *b, const char *text, size_t size)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t begin = 0;
	size_t length;

	ptrc_buffer_char(b, '"');
	/* Copies bytes that need no escape in pieces: p[begin] is the first byte that was not copied yet. */
	for (size_t i = plain_bytes(p, size); i < size; i += length) {
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
			/* For the characters U+0080 to U+009F, p[begin - 1] is the second of two
			 * bytes in UTF-8, which equals the number of the character. */
			put_escape(b, p[begin - 1]);
	}
	ptrc_buffer_bytes(b, p + begin, size - begin);
	ptrc_buffer_char(b, '"');
}

/* Appends the text, escaped. Also escapes backslashes, so that they cannot be taken for escapes, and, if
 * is_quoted, quotes. */
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

/* Whether the text can be shown without escapes: ptrc_text_put() would only double its backslashes. */
static bool is_printable(const char *text)
{
	PTRC_SCOPED_BUFFER b = PTRC_BUFFER_INIT;
	size_t expected = 0;

	ptrc_text_put(&b, text, strlen(text));
	for (; *text; text++)
		expected += *text == '\\' ? 2 : 1;
	return b.used == expected;
}

void ptrc_text_word(struct ptrc_buffer *b, const char *text)
{
	bool is_plain;

	if (!text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"
			       "WXYZ0123456789_./+,@%:-")]) {
		ptrc_buffer_text(b, text);
		return;
	}
	is_plain = is_printable(text);
	ptrc_buffer_text(b, is_plain ? "'" : "$'");
	for (; *text; text++) {
		if (is_plain && *text == '\'')
			ptrc_buffer_text(b, "'\\''");
		else if (!is_plain && (*text == '\'' || *text == '\\'))
			ptrc_buffer_format(b, "\\%c", *text);
		else if (is_plain || (*text >= ' ' && *text < 0x7f))
			ptrc_buffer_char(b, *text);
		else
			ptrc_buffer_format(b, "\\%03o", (unsigned int)(unsigned char)*text);
	}
	ptrc_buffer_char(b, '\'');
}
