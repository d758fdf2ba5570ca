/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/fields/when.h"

#include <stdio.h>
#include <string.h>

#include "src/base/option.h"

#define SECOND_NS INT64_C(1000000000)

int64_t ptrc_when_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

int64_t ptrc_when_subtract(int64_t a, int64_t b)
{
	int64_t difference;

	if (__builtin_sub_overflow(a, b, &difference))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return difference;
}

int64_t ptrc_when_distance(int64_t a, int64_t b)
{
	return a > b ? ptrc_when_subtract(a, b) : ptrc_when_subtract(b, a);
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
	return ptrc_when_add(multiply(t->tv_sec, SECOND_NS), t->tv_nsec);
}

struct timespec ptrc_when_timespec(int64_t ns)
{
	struct timespec t = {.tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS};

	if (t.tv_nsec < 0) {
		t.tv_nsec += SECOND_NS;
		t.tv_sec--;
	}
	return t;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads a number of exactly `count` digits. Returns false if it is not from `low` to `high`. */
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

/* Reads a decimal point and digits, and stores that fraction of `unit`, rounded down; if it is rounded, *is_whole
 * becomes false. If there is no point, stores 0. Returns false for a point without digits. */
static bool take_fraction(const char **p, int64_t unit, int64_t *value, bool *is_whole)
{
	const char *point = *p;
	int64_t v = 0;

	*value = 0;
	if (*point != '.')
		return true;
	for (++*p; is_digit(**p); ++*p)
		;
	/* Horner's scheme, from the last digit to the first: each step adds a digit and divides the sum by 10. */
	for (const char *digit = *p - 1; digit > point; digit--) {
		v += unit * (*digit - '0');
		if (v % 10)
			*is_whole = false;
		v /= 10;
	}
	*value = v;
	return *p > point + 1;
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
	bool is_whole;

	if (!take_digits(p, 2, 0, 23, &tm->tm_hour) || *(*p)++ != ':' ||
	    !take_digits(p, 2, 0, 59, &tm->tm_min))
		return false;
	if (**p != ':')
		return true;
	++*p;
	return take_digits(p, 2, 0, 60, &tm->tm_sec) &&
	       take_fraction(p, SECOND_NS, fraction, &is_whole);
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

/* Reads the offset of a time from UTC: Z, +01:00, +0100 or nothing. */
static bool take_zone(const char **p, bool *has_zone, int *seconds)
{
	int hours = 0;
	int minutes = 0;
	char sign;

	*has_zone = **p;
	*seconds = 0;
	if (!*has_zone)
		return true;
	*p += **p == ' ';
	sign = **p;
	if (!sign)
		return false;
	++*p;
	if (sign == 'Z' || sign == 'z')
		return true;
	if ((sign != '+' && sign != '-') || !take_digits(p, 2, 0, 23, &hours))
		return false;
	*p += **p == ':';
	if (!take_digits(p, 2, 0, 59, &minutes))
		return false;
	*seconds = (hours * 60 + minutes) * (sign == '-' ? -60 : 60);
	return true;
}

/* ---- local time ---- */

/* The seconds by which local time is ahead of UTC at the moment t. */
static time_t offset_at(time_t t)
{
	struct tm tm;

	return localtime_r(&t, &tm) ? (time_t)tm.tm_gmtoff : 0;
}

enum which {
	/* Find the moment at which local clocks showed the time, if there is exactly one. */
	ONLY,
	/* Find the first moment at which local clocks showed the time or a later time. */
	FIRST,
};

/* Finds the moment at which local clocks showed the time `local`, which is given as if it were UTC. Tries each
 * offset from UTC that is in force up to REACH_HOURS before or after it, hour by hour: offsets change by less than a
 * day, so no other offset matters. */
static bool find_local(time_t local, enum which which, time_t *moment, const char **why)
{
	enum { HOUR = 3600, REACH_HOURS = 27 };
	time_t around = local - offset_at(local);
	time_t low = around;
	time_t high = around;
	time_t last = 0;
	bool is_found = false;

	for (int h = -REACH_HOURS; h <= REACH_HOURS; h++) {
		time_t t = local - offset_at(around + (time_t)h * HOUR);

		low = t < low ? t : low;
		high = t > high ? t : high;
		if (offset_at(t) != local - t)
			continue;
		*moment = is_found && *moment < t ? *moment : t;
		last = is_found && last > t ? last : t;
		is_found = true;
	}
	if (is_found && (which == FIRST || *moment == last))
		return true;
	if (which == ONLY) {
		*why = is_found
			       ? "the clocks showed this time twice on that day; add an offset, as "
				 "in 2026-10-25T02:30+01:00"
			       : "the clocks did not show this time on that day: they were set "
				 "forward";
		return false;
	}
	/* The clocks skipped the time. Finds, by bisection, the moment at which they did so. */
	while (low < high) {
		time_t middle = low + (high - low) / 2;

		if (middle + offset_at(middle) < local)
			low = middle + 1;
		else
			high = middle;
	}
	*moment = low;
	return true;
}

/* The time at which this function was first called, so that all times of a command line have the same "now". */
static const struct timespec *now(void)
{
	static struct timespec t;

	if (!t.tv_sec && !t.tv_nsec)
		clock_gettime(CLOCK_REALTIME, &t);
	return &t;
}

/* The date that is `days` days after today, in local time. */
static bool date_of(int days, struct tm *tm)
{
	time_t t = now()->tv_sec;

	if (!localtime_r(&t, tm))
		return false;
	*tm = (struct tm){.tm_year = tm->tm_year, .tm_mon = tm->tm_mon, .tm_mday = tm->tm_mday};
	/* timegm() turns a day that is out of the range of its month into a date. */
	tm->tm_mday += days;
	timegm(tm);
	return true;
}

/* Whether a leap second can follow the second t: leap seconds are at the end of a month, in UTC. */
static bool can_leap_follow(time_t t)
{
	struct tm tm;

	t++;
	return gmtime_r(&t, &tm) && tm.tm_mday == 1 && !tm.tm_hour && !tm.tm_min && !tm.tm_sec;
}

static bool parse_calendar(const char *p, int64_t *ns, const char **why)
{
	struct tm tm = {0};
	bool has_date = strlen(p) > 4 && p[4] == '-';
	bool has_clock = !has_date;
	bool is_leap = false;
	bool has_zone = false;
	int64_t fraction = 0;
	int zone = 0;
	time_t t;

	if (has_date ? !take_date(&p, &tm) : !date_of(0, &tm))
		return false;
	if (has_date && *p) {
		if (*p != 'T' && *p != 't' && *p != ' ')
			return false;
		p++;
		has_clock = true;
	}
	if (has_clock && (!take_clock(&p, &tm, &fraction) || !take_zone(&p, &has_zone, &zone)))
		return false;
	/* A time without a date means today in local time. It must not have a zone, because today may be another
	 * day in that zone. */
	if (*p || (has_zone && !has_date))
		return false;
	/* The clock of a computer has no leap seconds. At a leap second it shows the next second. */
	is_leap = tm.tm_sec == 60;
	tm.tm_sec -= is_leap;
	t = timegm(&tm);
	if (has_zone)
		t -= zone;
	else if (!find_local(t, has_clock ? ONLY : FIRST, &t, why))
		return false;
	if (is_leap && !can_leap_follow(t)) {
		*why = "a second 60 is only at the end of a month, at 23:59:60 UTC";
		return false;
	}
	*ns = ptrc_when_add(multiply(t + is_leap, SECOND_NS), fraction);
	return true;
}

/* ---- durations ---- */

/* Each is less than INT64_MAX / 10, which take_fraction() needs. */
static const struct unit {
	const char *names;
	int64_t ns;
} units[] = {
	{"ns nsec nanosecond nanoseconds", 1},
	{"us usec microsecond microseconds", 1000},
	{"ms msec millisecond milliseconds", 1000000},
	{"s sec secs second seconds", SECOND_NS},
	{"m min mins minute minutes", 60 * SECOND_NS},
	{"h hr hrs hour hours", 3600 * SECOND_NS},
	{"d day days", 86400 * SECOND_NS},
	{"w week weeks", 7 * 86400 * SECOND_NS},
};

static void skip_blanks(const char **p)
{
	*p += strspn(*p, " ");
}

/* Reads a duration, and rounds it down to nanoseconds. Sets *is_whole to whether the duration
 * was a whole number of nanoseconds. */
static bool take_duration(const char **p, int64_t *ns, bool *is_whole)
{
	int64_t sum = 0;

	*is_whole = true;
	do {
		int64_t whole;
		int64_t part;
		const struct unit *unit = NULL;
		const char *point;
		char word[PTRC_OPTION_WORD];
		size_t n;

		if (!take_whole(p, &whole))
			return false;
		/* The unit of the fraction comes after it, so the fraction is read twice. */
		point = *p;
		if (!take_fraction(p, 0, &part, is_whole))
			return false;
		skip_blanks(p);
		n = strspn(*p, "abcdefghijklmnopqrstuvwxyz");
		snprintf(word, sizeof(word), "%.*s", (int)n, *p);
		for (size_t i = 0; i < sizeof(units) / sizeof(*units) && !unit; i++)
			if (ptrc_option_is_in(units[i].names, word))
				unit = &units[i];
		if (!unit)
			return false;
		*p += n;
		take_fraction(&point, unit->ns, &part, is_whole);
		sum = ptrc_when_add(sum, multiply(whole, unit->ns));
		sum = ptrc_when_add(sum, part);
		if (is_digit((*p)[strspn(*p, " ")]))
			skip_blanks(p);
	} while (is_digit(**p));
	*ns = sum;
	return true;
}

bool ptrc_when_duration(const char *p, int64_t *ns)
{
	int64_t sum;
	bool is_whole;

	if (!take_duration(&p, &sum, &is_whole) || *p || !is_whole)
		return false;
	*ns = sum;
	return true;
}

bool ptrc_when_plain_duration(const char *text, int64_t *ns)
{
	if (strcmp(text, "0"))
		return ptrc_when_duration(text, ns);
	*ns = 0;
	return true;
}

/* ---- all forms ---- */

/* Reads a time that is "now", "today", "yesterday" or a duration followed by "ago". */
static bool parse_word(const char *text, int64_t *ns, const char **why)
{
	int64_t now_ns = ptrc_when_ns(now());
	bool is_today = !strcmp(text, "today");
	bool is_whole;
	struct tm tm;
	time_t t;

	if (!strcmp(text, "now")) {
		*ns = now_ns;
		return true;
	}
	if (is_today || !strcmp(text, "yesterday")) {
		if (!date_of(is_today ? 0 : -1, &tm) || !find_local(timegm(&tm), FIRST, &t, why))
			return false;
		*ns = multiply(t, SECOND_NS);
		return true;
	}
	if (!take_duration(&text, ns, &is_whole) || *text != ' ')
		return false;
	skip_blanks(&text);
	if (strcmp(text, "ago"))
		return false;
	*ns = ptrc_when_subtract(now_ns, *ns);
	return true;
}

static bool parse_seconds(const char *text, int64_t *ns)
{
	bool is_negative = *text == '-';
	int64_t fraction;
	int64_t sum;
	bool is_whole;

	text += is_negative;
	if (!take_whole(&text, &sum) || !take_fraction(&text, SECOND_NS, &fraction, &is_whole) ||
	    *text)
		return false;
	sum = ptrc_when_add(multiply(sum, SECOND_NS), fraction);
	*ns = is_negative ? -sum : sum;
	return true;
}

bool ptrc_when_parse(const char *text, struct ptrc_when *w, struct ptrc_cli_reason *why)
{
	const char *reason = NULL;
	int64_t ns;

	if (*text == '+' || *text == '-') {
		if (ptrc_when_duration(text + 1, &ns)) {
			w->base = *text == '+' ? PTRC_WHEN_FROM_BEGIN : PTRC_WHEN_FROM_END;
			w->ns = *text == '+' ? ns : -ns;
			return true;
		}
	} else if (*text == '@'
			   ? parse_seconds(text + 1, &ns)
			   : parse_word(text, &ns, &reason) || parse_calendar(text, &ns, &reason)) {
		*w = (struct ptrc_when){PTRC_WHEN_ABSOLUTE, ns};
		return true;
	}
	if (reason)
		return ptrc_cli_because(why, "'%.60s': %s", text, reason);
	return ptrc_cli_because(why,
				"'%.60s' is not a time such as 2026-01-02T03:04:05Z, 2026-01-02 "
				"03:04, 03:04:05, @1767323045, now, today, yesterday, 1h ago, +2s "
				"or -5s",
				text);
}
