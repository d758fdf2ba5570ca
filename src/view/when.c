/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/view/when.h"

#include <string.h>

static const int64_t second_ns = 1000000000;

int64_t ptrc_when_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static int64_t multiply(int64_t a, int64_t b)
{
	int64_t product;

	if (__builtin_mul_overflow(a, b, &product))
		return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
	return product;
}

int64_t ptrc_when_ns(const struct timespec *t)
{
	return ptrc_when_add(multiply(t->tv_sec, second_ns), t->tv_nsec);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads exactly so many digits; the number has to be in [low, high]. */
static bool take_digits(const char **p, int count, int low, int high, int *value)
{
	int v = 0;

	for (int i = 0; i < count; i++) {
		if (!is_digit((*p)[i]))
			return false;
		v = 10 * v + ((*p)[i] - '0');
	}
	*p += count;
	*value = v;
	return v >= low && v <= high;
}

/* Reads a decimal point and the digits behind it, as a fraction of `unit`; digits that are
 * too many are dropped. Does nothing if there is no point. Returns false for a point without
 * digits. */
static bool take_fraction(const char **p, int64_t unit, int64_t *value)
{
	int64_t v = 0;

	if (**p != '.')
		return true;
	++*p;
	if (!is_digit(**p))
		return false;
	for (; is_digit(**p); ++*p) {
		unit /= 10;
		v += unit * (**p - '0');
	}
	*value = v;
	return true;
}

static bool take_whole(const char **p, int64_t *value)
{
	int64_t v = 0;

	if (!is_digit(**p))
		return false;
	for (; is_digit(**p); ++*p)
		v = ptrc_when_add(multiply(v, 10), **p - '0');
	*value = v;
	return true;
}

static bool take_clock(const char **p, struct tm *tm, int64_t *fraction)
{
	if (!take_digits(p, 2, 0, 23, &tm->tm_hour) || *(*p)++ != ':' ||
	    !take_digits(p, 2, 0, 59, &tm->tm_min))
		return false;
	if (**p != ':')
		return true;
	++*p;
	return take_digits(p, 2, 0, 60, &tm->tm_sec) && take_fraction(p, second_ns, fraction);
}

static int days_of_month(int year, int month)
{
	static const signed char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool is_leap = (year % 4 == 0 && year % 100) || year % 400 == 0;

	return month == 2 && is_leap ? 29 : days[month - 1];
}

static bool take_date(const char **p, struct tm *tm)
{
	int year;
	int month;

	if (!take_digits(p, 4, 0, 9999, &year) || *(*p)++ != '-' ||
	    !take_digits(p, 2, 1, 12, &month) || *(*p)++ != '-' ||
	    !take_digits(p, 2, 1, days_of_month(year, month), &tm->tm_mday))
		return false;
	tm->tm_year = year - 1900;
	tm->tm_mon = month - 1;
	return true;
}

/* Reads Z, +01:00 or nothing, and stores whether there is a time zone. */
static bool take_zone(const char **p, bool *has_zone, int *seconds)
{
	int hours = 0;
	int minutes = 0;
	char sign = **p;

	*has_zone = sign;
	*seconds = 0;
	if (!sign)
		return true;
	++*p;
	if (sign == 'Z' || sign == 'z')
		return true;
	if ((sign != '+' && sign != '-') || !take_digits(p, 2, 0, 23, &hours) || *(*p)++ != ':' ||
	    !take_digits(p, 2, 0, 59, &minutes))
		return false;
	*seconds = (hours * 60 + minutes) * (sign == '-' ? -60 : 60);
	return true;
}

static bool parse_calendar(const char *p, int64_t *ns)
{
	struct tm tm = {.tm_isdst = -1};
	time_t now = time(NULL);
	bool has_date = strlen(p) > 4 && p[4] == '-';
	bool has_zone = false;
	int64_t fraction = 0;
	int zone = 0;
	time_t t;

	if (has_date) {
		if (!take_date(&p, &tm))
			return false;
	} else {
		struct tm today;

		if (!localtime_r(&now, &today))
			return false;
		tm.tm_year = today.tm_year;
		tm.tm_mon = today.tm_mon;
		tm.tm_mday = today.tm_mday;
	}
	if (!has_date || *p) {
		if (has_date && *p != 'T' && *p != 't' && *p != ' ')
			return false;
		p += has_date;
		if (!take_clock(&p, &tm, &fraction) || !take_zone(&p, &has_zone, &zone))
			return false;
		/* A time of today has no zone: it may be another day there. */
		if (has_zone && !has_date)
			return false;
	}
	if (*p)
		return false;
	t = has_zone ? timegm(&tm) - zone : mktime(&tm);
	*ns = ptrc_when_add(multiply(t, second_ns), fraction);
	return true;
}

bool ptrc_when_duration(const char *p, int64_t *ns)
{
	static const struct {
		char name[4];
		int64_t ns;
	} units[] = {
		{"ns", 1},
		{"us", 1000},
		{"ms", 1000000},
		{"s", second_ns},
		{"m", 60 * second_ns},
		{"h", 3600 * second_ns},
		{"d", 86400 * second_ns},
	};
	int64_t sum = 0;

	if (!*p)
		return false;
	while (*p) {
		int64_t whole;
		int64_t billionths = 0;
		size_t n;
		size_t i = 0;

		if (!take_whole(&p, &whole) || !take_fraction(&p, second_ns, &billionths))
			return false;
		n = strspn(p, "abcdefghijklmnopqrstuvwxyz");
		while (i < sizeof(units) / sizeof(*units) &&
		       (n != strlen(units[i].name) || strncmp(p, units[i].name, n)))
			i++;
		if (i == sizeof(units) / sizeof(*units))
			return false;
		p += n;
		sum = ptrc_when_add(sum, multiply(whole, units[i].ns));
		sum = ptrc_when_add(
			sum, (int64_t)((long double)billionths * (long double)units[i].ns / 1e9L));
	}
	*ns = sum;
	return true;
}

bool ptrc_when_parse(const char *text, struct ptrc_when *w)
{
	int64_t fraction = 0;
	int64_t ns;

	if (*text == '+' || *text == '-') {
		if (!ptrc_when_duration(text + 1, &ns))
			return false;
		w->base = *text == '+' ? PTRC_WHEN_FROM_BEGIN : PTRC_WHEN_FROM_END;
		w->ns = *text == '+' ? ns : -ns;
		return true;
	}
	if (*text == '@') {
		text++;
		if (!take_whole(&text, &ns) || !take_fraction(&text, second_ns, &fraction) || *text)
			return false;
		ns = ptrc_when_add(multiply(ns, second_ns), fraction);
	} else if (!parse_calendar(text, &ns)) {
		return false;
	}
	*w = (struct ptrc_when){PTRC_WHEN_ABSOLUTE, ns};
	return true;
}
