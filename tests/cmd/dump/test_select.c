/* SPDX-License-Identifier: MIT */
/* What ptrace-dump lets users write: times, layouts of data, expressions. */
#include <fnmatch.h>
#include <sys/resource.h>

#include "tests/support/harness.h"

#include "tests/support/event_types.h"
#include "src/query/thread_gap.h"
#include "src/fields/layout.h"
#include "src/text/text.h"
#include "src/base/output.h"
#include "src/query/view.h"
#include "src/fields/regex.h"
#include "src/fields/when.h"
#include "src/query/where.h"

static const int64_t second = 1000000000;

/* ---- times ---- */

static int64_t moment(const char *text)
{
	struct ptrc_cli_reason why;
	struct ptrc_when w;

	if (!ptrc_when_parse(text, &w, &why))
		harness_fail("%s", why.text);
	CHECK_EQ(w.base, PTRC_WHEN_ABSOLUTE);
	return w.ns;
}

TEST(moments_are_read_to_the_nanosecond, "")
{
	const int64_t t = 1767323045 * second, leap = 1483228800 * second;

	CHECK_EQ(moment("2026-01-02T03:04:05Z"), t);
	CHECK_EQ(moment("2026-01-02t03:04:05z"), t);
	CHECK_EQ(moment("2026-01-02T03:04:05.123456789Z"), t + 123456789);
	CHECK_EQ(moment("2026-01-02T03:04:05.5Z"), t + second / 2);
	CHECK_EQ(moment("2026-01-02T03:04:05.0000000019Z"), t + 1);
	CHECK_EQ(moment("2026-01-02T04:34:05+01:30"), t);
	CHECK_EQ(moment("2026-01-01T22:04:05-05:00"), t);
	CHECK_EQ(moment("2026-01-02T03:04:05-00:00"), t);
	CHECK_EQ(moment("2026-01-02T03:04Z"), t - 5 * second);
	/* date --rfc-3339=ns, ls --full-time. */
	CHECK_EQ(moment("2026-01-02 04:04:05.123456789+01:00"), t + 123456789);
	CHECK_EQ(moment("2026-01-02 04:04:05.000000000 +0100"), t);
	CHECK_EQ(moment("2026-01-01 22:34:05 -0430"), t);
	CHECK_EQ(moment("2026-01-02 03:04:05 Z"), t);
	CHECK_EQ(moment("@1767323045"), t);
	CHECK_EQ(moment("@1767323045.000000007"), t + 7);
	CHECK_EQ(moment("@-1.5"), -second - second / 2);
	CHECK_EQ(moment("@-99999999999999999999"), -INT64_MAX);
	/* A leap second is the one behind it. */
	CHECK_EQ(moment("2016-12-31T23:59:60Z"), leap);
	CHECK_EQ(moment("2016-12-31T23:59:60.5Z"), leap + second / 2);
	CHECK_EQ(moment("2017-01-01T00:59:60+01:00"), leap);
	CHECK_EQ(moment("2016-12-31 18:59:60 -0500"), leap);
	CHECK_EQ(moment("2017-01-01T00:00:00Z"), leap);
	CHECK_EQ(moment("1969-12-31T23:59:59Z"), -second);
	CHECK_EQ(moment("2024-02-29T00:00:00Z"), 1709164800 * second);
	CHECK_EQ(moment("9999-12-31T23:59:59Z"), INT64_MAX);
	CHECK_EQ(moment("0000-01-01T00:00:00Z"), INT64_MIN);
	CHECK_EQ(moment("@99999999999999999999"), INT64_MAX);
}

TEST(moments_without_zone_are_local, "")
{
	struct tm tm;
	time_t now = time(NULL);

	setenv("TZ", "XYZ-3", 1);
	tzset();
	CHECK_EQ(moment("2026-01-02 06:04:05"), 1767323045 * second);
	CHECK_EQ(moment("2026-01-02T06:04"), 1767323040 * second);
	CHECK_EQ(moment("2026-01-02"), 1767301200 * second);
	localtime_r(&now, &tm);
	tm.tm_hour = 3;
	tm.tm_min = 4;
	tm.tm_sec = 5;
	CHECK_EQ(moment("03:04:05.25"), mktime(&tm) * second + second / 4);
}

TEST(relative_times, "")
{
	struct ptrc_cli_reason why;
	struct ptrc_when w;

	CHECK(ptrc_when_parse("+2s", &w, &why));
	CHECK_EQ(w.base, PTRC_WHEN_FROM_BEGIN);
	CHECK_EQ(w.ns, 2 * second);
	CHECK(ptrc_when_parse("-1m30.5s", &w, &why));
	CHECK_EQ(w.base, PTRC_WHEN_FROM_END);
	CHECK_EQ(w.ns, -90 * second - second / 2);
	CHECK(ptrc_when_parse("-0s", &w, &why));
	CHECK_EQ(w.base, PTRC_WHEN_FROM_END);
	CHECK_EQ(w.ns, 0);
}

static void use_zone(const char *zone)
{
	if (zone)
		setenv("TZ", zone, 1);
	else
		unsetenv("TZ");
	tzset();
}

/* Why the text is refused. */
static const char *refusal(const char *text)
{
	static struct ptrc_cli_reason why;
	struct ptrc_when w;

	if (ptrc_when_parse(text, &w, &why))
		harness_fail("'%s' was taken for a time", text);
	return why.text;
}

/* The rules are those of Central Europe, of Havana, whose clocks change at midnight, of Lord Howe
 * Island, which changes by half an hour, and of Apia, which left out a day. */
TEST(local_times_when_clocks_are_set, "")
{
	use_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	CHECK_EQ(moment("2026-03-29 01:59:59"), 1774745999 * second);
	CHECK_EQ(moment("2026-03-29 03:00"), 1774746000 * second);
	CHECK(strstr(refusal("2026-03-29 02:00"), "did not show this time"));
	CHECK(strstr(refusal("2026-03-29 02:59:59.999999999"), "did not show this time"));
	CHECK_EQ(moment("2026-10-25 01:59:59"), 1792886399 * second);
	CHECK(strstr(refusal("2026-10-25 02:00"), "showed this time twice"));
	CHECK(strstr(refusal("2026-10-25 02:59:59"), "showed this time twice"));
	CHECK_EQ(moment("2026-10-25 02:30+02:00"), 1792888200 * second);
	CHECK_EQ(moment("2026-10-25 02:30+01:00"), 1792891800 * second);
	CHECK_EQ(moment("2026-10-25 03:00"), 1792893600 * second);
	CHECK_EQ(moment("2026-10-25"), 1792879200 * second);
	/* A day that has no midnight begins later; the first midnight begins a day with two. */
	use_zone("CST5CDT,M3.2.0/0,M11.1.0/1");
	CHECK(strstr(refusal("2026-03-08 00:00"), "did not show this time"));
	CHECK_EQ(moment("2026-03-08"), 1772946000 * second);
	CHECK(strstr(refusal("2026-11-01 00:30"), "showed this time twice"));
	CHECK_EQ(moment("2026-11-01"), 1793505600 * second);
	use_zone("LHST-10:30LHDT-11,M10.1.0,M4.1.0");
	CHECK(strstr(refusal("2026-10-04 02:15"), "did not show this time"));
	CHECK_EQ(moment("2026-10-04 02:30"), moment("2026-10-04T02:30+11:00"));
	CHECK(strstr(refusal("2026-04-05 01:45"), "showed this time twice"));
	CHECK_EQ(moment("2026-04-05 01:15"), moment("2026-04-05T01:15+11:00"));
	if (!access("/usr/share/zoneinfo/Pacific/Apia", R_OK)) {
		use_zone("Pacific/Apia");
		CHECK(strstr(refusal("2011-12-30 12:00"), "did not show this time"));
		CHECK_EQ(moment("2011-12-30"), moment("2011-12-31T00:00+14:00"));
	}
}

TEST(broken_zones_are_utc, "")
{
	static const char *const zones[] = {"", ":", "Nowhere/At_All", ":/dev/null", "\xff", "A"};

	for (size_t i = 0; i < sizeof(zones) / sizeof(*zones); i++) {
		use_zone(zones[i]);
		CHECK_EQ(moment("2026-01-02 03:04:05"), 1767323045 * second);
	}
	use_zone(NULL);
	moment("2026-01-02 03:04:05");
}

TEST(words_for_moments, "")
{
	struct timespec t;
	int64_t now;
	int64_t today;
	struct tm tm;

	use_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	clock_gettime(CLOCK_REALTIME, &t);
	now = moment("now");
	CHECK(now >= ptrc_when_ns(&t));
	clock_gettime(CLOCK_REALTIME, &t);
	CHECK(now <= ptrc_when_ns(&t));
	/* All times of a command line mean the same now. */
	CHECK_EQ(moment("now"), now);
	CHECK_EQ(moment("1h ago"), now - 3600 * second);
	CHECK_EQ(moment("90s ago"), now - 90 * second);
	CHECK_EQ(moment("2 days ago"), now - 172800 * second);
	CHECK_EQ(moment("10min ago"), now - 600 * second);
	CHECK_EQ(moment("1 hour 30 minutes  ago"), now - 5400 * second);
	CHECK_EQ(moment("1.5 weeks ago"), now - 907200 * second);
	CHECK_EQ(moment("99999999999999999999h ago"), ptrc_when_subtract(now, INT64_MAX));
	today = moment("today");
	tm = *localtime(&(time_t){now / second});
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1;
	CHECK_EQ(today, mktime(&tm) * second);
	tm.tm_mday--;
	tm.tm_isdst = -1;
	CHECK_EQ(moment("yesterday"), mktime(&tm) * second);
}

/* What text shows of a time. */
static const char *shown(time_t s, long ns)
{
	static struct ptrc_buffer b;
	struct ptrc_time_format f = {.is_local = true};

	b.used = 0;
	ptrc_buffer_time(&b, &f, &(struct timespec){s, ns});
	ptrc_buffer_char(&b, '\0');
	return b.bytes;
}

TEST(text_shows_local_times_that_read_back, "")
{
	static const char *const zones[] = {
		"UTC0",
		"CET-1CEST,M3.5.0,M10.5.0/3",
		"EST5EDT,M3.2.0,M11.1.0",
		"XYZ-13:45:59",
		"XYZ0:00:30",
		"XYZ-23:59:59",
		"XYZ-48",
	};

	use_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	CHECK_STR_EQ(shown(1767323045, 123456789), "2026-01-02T04:04:05.123456789+01:00");
	CHECK_STR_EQ(shown(1792888200, 0), "2026-10-25T02:30:00.000000000+02:00");
	CHECK_STR_EQ(shown(1792891800, 0), "2026-10-25T02:30:00.000000000+01:00");
	use_zone("UTC0");
	CHECK_STR_EQ(shown(0, 1), "1970-01-01T00:00:00.000000001+00:00");
	/* Years that RFC 3339 does not have. */
	CHECK_STR_EQ(shown(253402300800, 5), "@253402300800.000000005");
	CHECK_STR_EQ(shown(-62135596801, 0), "@-62135596801.000000000");
	CHECK_STR_EQ(shown(INT64_MAX, 999999999), "@9223372036854775807.999999999");
	for (size_t i = 0; i < sizeof(zones) / sizeof(*zones); i++) {
		use_zone(zones[i]);
		for (time_t s = -4000000000; s < 9000000000; s += 3333333) {
			struct timespec t = {s, 987654321};

			if (moment(shown(s, t.tv_nsec)) != ptrc_when_ns(&t))
				harness_fail("%s: %s", zones[i], shown(s, t.tv_nsec));
		}
	}
}

TEST(digits_are_those_of_printf, "")
{
	static const uint64_t numbers[] = {
		0,	   1,	      9,	 10,	     99,	100,
		9999,	   10000,     99999999,	 100000000,  100000001, 123456789,
		987654321, 999999999, INT64_MAX, UINT64_MAX,
	};
	struct ptrc_buffer b = PTRC_BUFFER_INIT;
	char expected[200];

	for (uint64_t ns = 0, step = 1; ns < 1000000000; ns += step++ % 7919) {
		struct ptrc_time_format f = {0};
		struct timespec t = {1767323045, (long)ns};

		b.used = 0;
		ptrc_buffer_time(&b, &f, &t);
		ptrc_buffer_ns(&b, &f, &t);
		t.tv_sec++;
		ptrc_buffer_ns(&b, &f, &t);
		ptrc_buffer_span(&b, -(int64_t)ns);
		ptrc_buffer_char(&b, '\0');
		snprintf(expected, sizeof(expected),
			 "2026-01-02T03:04:05.%09luZ1767323045%09lu1767323046%09lu%c0.%09lus", ns,
			 ns, ns, ns ? '-' : '+', ns);
		CHECK_STR_EQ(b.bytes, expected);
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		b.used = 0;
		ptrc_buffer_u64(&b, numbers[i]);
		ptrc_buffer_char(&b, ' ');
		ptrc_buffer_hex(&b, numbers[i]);
		ptrc_buffer_char(&b, '\0');
		snprintf(expected, sizeof(expected), "%lu 0x%lx", numbers[i], numbers[i]);
		CHECK_STR_EQ(b.bytes, expected);
	}
}

/* Text with a byte of each value at each place: none of them is overlooked when bytes are looked at
 * eight at a time. */
TEST(text_is_looked_at_byte_by_byte, "")
{
	struct ptrc_buffer b = PTRC_BUFFER_INIT;
	char expected[80];

	for (size_t at = 0; at < 20; at++)
		for (unsigned int byte = 0; byte < 256; byte++) {
			bool is_control =
				(byte < 0x20 && !strchr("\t\n\r", (int)byte)) || byte == 0x7f;
			unsigned char text[21];
			size_t size = sizeof(text);
			bool is_clean;

			memset(text, 'a', sizeof(text));
			text[at] = (unsigned char)byte;
			b.used = 0;
			ptrc_buffer_hex_bytes(&b, text + at, 20 - at);
			ptrc_buffer_char(&b, '\0');
			for (size_t i = at; i < 20; i++)
				snprintf(expected + 2 * (i - at), 3, "%02x", text[i]);
			CHECK_STR_EQ(b.bytes, expected);
			is_clean = ptrc_text_is_clean(text, &size);
			CHECK_EQ(is_clean, !is_control && byte != 0 && byte < 0x80);
			b.used = 0;
			ptrc_text_json(&b, (char *)text, sizeof(text));
			if (byte >= 0x20 && byte < 0x7f && !strchr("\"\\", (int)byte))
				CHECK_EQ(b.used, sizeof(text) + 2);
			else
				CHECK(b.used > sizeof(text) + 2);
		}
}

TEST(durations_have_units, "")
{
	static const struct {
		const char *text;
		int64_t ns;
	} cases[] = {
		{"1ns", 1},
		{"1us", 1000},
		{"1.5ms", 1500000},
		{"10s", 10000000000},
		{"2m", 120000000000},
		{"1h", 3600000000000},
		{"1d", 86400000000000},
		{"1h1m1s1ms1us1ns", 3661001001001},
		{"1 hour 1 min 1 sec", 3661000000000},
		{"2 weeks", 1209600000000000},
		{"0.000000001s", 1},
		{"1.0000000000000s", 1000000000},
		{"0.0000000001h", 360},
		{"0.00000000000625w", 3780},
		{"99999999999999999999h", INT64_MAX},
	};
	int64_t ns;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		CHECK(ptrc_when_duration(cases[i].text, &ns));
		CHECK_EQ(ns, cases[i].ns);
	}
}

TEST(a_duration_is_a_whole_number_of_nanoseconds, "")
{
	static const char *const bad[] = {"0.5ns", "1.0005us", "1.00000000005s", "0.0000000000001h",
					  "0.000000000000000000001w"};
	int64_t ns;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(!ptrc_when_duration(bad[i], &ns));
}

TEST(what_is_no_time_is_refused, "")
{
	/* clang-format off */
	static const char *const bad[] = {
		"", "+", "-", "5s", "+5", "+5x", "+s", "+1.s", "+.5s", "+1s ", "@", "@1.", "@x",
		"2026", "2026-1-2", "2026-13-01", "2026-02-29", "2026-01-32", "2026-01-02T",
		"2026-01-02T24:00", "2026-01-02T03", "2026-01-02T03:60", "2026-01-02T03:04:61",
		"03:04Z", "2026-01-02T03:04:05+1", "2026-01-02T03:04:05+01:00x", "tomorrow", "now ",
		"Now", "ago", "1h", "1hago", "1h  before", "1 ago", "h ago", "-1h ago", "1h ago ",
		"2026-01-02Z", "2026-01-02T03:04:05 ", "2026-01-02T03:04:05+24:00",
		"2026-01-02T03:04:05+01:", "2026-01-02T03:04:05+010", "2026-01-02T03:04:05,5Z",
		"12026-01-02T03:04:05Z", "-026-01-02T03:04:05Z", "2026-01-02T03:04:60Z",
		"2016-12-31T23:59:60+01:00", "2016-12-30T23:59:60Z", "@-", "@1-1",
		"2026-01-02T03:04:05.Z", "2026-01-02x03:04:05", "03:04:05 ", "3:04",
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		refusal(bad[i]);
}

/* ---- layouts ---- */

static struct ptrc_layouts layouts;
static struct ptrc_decoded decoded;

static const struct ptrc_layout *layout(const char *text)
{
	struct ptrc_cli_reason why;

	ptrc_layouts_free(&layouts);
	memset(&layouts, 0, sizeof(layouts));
	if (!ptrc_layouts_add(&layouts, "*", text, &why))
		harness_fail("'%s': %s", text, why.text);
	return ptrc_layouts_find(&layouts, "any");
}

/* How many fields were taken out alone so far. */
static int pick_count;

/* Takes each field out alone, where that can be done, and compares it with what was decoded. */
static void check_picks(const struct ptrc_layout *l, const void *data, size_t size)
{
	struct ptrc_buffer b[2] = {PTRC_BUFFER_INIT, PTRC_BUFFER_INIT};

	for (int name = 0; (size_t)name < layouts.name_count; name++) {
		struct ptrc_json all = {&b[0], true};
		struct ptrc_json alone = {&b[1], true};
		struct ptrc_value v;

		if (!ptrc_layout_pick(l, data, size, name, &v))
			continue;
		pick_count++;
		CHECK_EQ(decoded.error, PTRC_LAYOUT_FITS);
		ptrc_value_json(&all, "a", ptrc_layout_value(l, &decoded, name));
		ptrc_value_json(&alone, "a", &v);
		CHECK_EQ(b[0].used, b[1].used);
		CHECK(!memcmp(b[0].bytes, b[1].bytes, b[0].used));
	}
	ptrc_buffer_free(&b[0]);
	ptrc_buffer_free(&b[1]);
}

/* The JSON members of the data by the layout, as a string that stays until the next call. */
static const char *decode(const char *text, const void *data, size_t size)
{
	static struct ptrc_buffer b;
	const struct ptrc_layout *l = layout(text);
	struct ptrc_json j = {&b, true};
	/* So that a sanitizer sees every byte too far. */
	void *copy = malloc(size ? size : 1);

	memcpy(copy, data, size);
	b.used = 0;
	ptrc_layout_decode(l, copy, size, &decoded);
	ptrc_layout_json(&j, l, &decoded);
	b.bytes[b.used - 1] = '\0';
	check_picks(l, copy, size);
	free(copy);
	return single_quoted(b.bytes + strlen("\"data\":{"));
}

TEST(numbers_of_every_width, "")
{
	const unsigned char ff[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	const unsigned char up[8] = {1, 2, 3, 4, 5, 6, 7, 8};

	CHECK_STR_EQ(decode("packed u8 a, u16 b, u32 c", ff, 7),
		     "'a':255,'b':65535,'c':4294967295");
	CHECK_STR_EQ(decode("u64 a", ff, 8), "'a':18446744073709551615");
	CHECK_STR_EQ(decode("packed i8 a, i16 b, i32 c", ff, 7), "'a':-1,'b':-1,'c':-1");
	CHECK_STR_EQ(decode("i64 a", ff, 8), "'a':-1");
	CHECK_STR_EQ(decode("u16 a, u16 b, u32 c", up, 8), "'a':513,'b':1027,'c':134678021");
	CHECK_STR_EQ(decode("packed x8 a, x16 b, pad[1], x32 c", up, 8),
		     "'a':'0x1','b':'0x302','c':'0x8070605'");
	CHECK_STR_EQ(decode("x64 a", up, 8), "'a':'0x807060504030201'");
	CHECK_EQ(decoded.error, PTRC_LAYOUT_FITS);
}

TEST(floats_read_back_as_the_same, "")
{
	const struct {
		float f;
		double d[4];
	} __attribute__((packed)) v = {0.1F, {0.1, 1e300, -5, 1.0 / 3}};
	const struct {
		double a, b;
		float c;
	} least = {1e-310, 5e-324, 1e-40F};
	const double odd[3] = {__builtin_inf(), -__builtin_inf(), __builtin_nan("")};

	CHECK_STR_EQ(decode("packed f32 a, f64 b, f64 c, f64 d, f64 e", &v, sizeof(v)),
		     "'a':0.1,'b':0.1,'c':1e+300,'d':-5,'e':0.3333333333333333");
	CHECK_STR_EQ(decode("f64 a, f64 b, f32 c", &least, sizeof(least)),
		     "'a':1e-310,'b':5e-324,'c':1e-40");
	CHECK_STR_EQ(decode("f64 a, f64 b, f64 c", odd, sizeof(odd)),
		     "'a':'inf','b':'-inf','c':'nan','c_hex':'000000000000f87f'");
}

TEST(texts_and_bytes, "")
{
	CHECK_STR_EQ(decode("char[4] a, u8 b", "ab\0\0\7", 5), "'a':'ab','b':7");
	CHECK_STR_EQ(decode("char[4] a", "abcd", 4), "'a':'abcd'");
	CHECK_STR_EQ(decode("char[4] a", "a\0bc", 4), "'a':'a','a_hex':'61006263'");
	CHECK_STR_EQ(decode("str a, str b, u8 c", "x\0yz\0\1", 6), "'a':'x','b':'yz','c':1");
	CHECK_STR_EQ(decode("str a", "no end", 6), "'a':'no end'");
	CHECK_EQ(decoded.error, PTRC_LAYOUT_FITS);
	CHECK_STR_EQ(decode("u8 a, str b", "\5", 1), "'a':5,'b':''");
	CHECK_EQ(decoded.error, PTRC_LAYOUT_FITS);
	CHECK_STR_EQ(decode("str a", "\xff\"\n", 3), "'a':'\xef\xbf\xbd\\'\\n','a_hex':'ff220a'");
	CHECK_STR_EQ(decode("bytes[2] a, bytes b", "\1\2\3", 3), "'a':'0102','b':'03'");
	CHECK_STR_EQ(decode("bytes a", "", 0), "'a':''");
	CHECK_STR_EQ(decode("bool a, bool b, bool c", "\0\1\2", 3),
		     "'a':false,'b':true,'c':true,'c_hex':'02'");
}

TEST(data_that_does_not_fit_is_told, "")
{
	CHECK_STR_EQ(decode("packed u8 a, u32 b", "\1\2\3\4", 4), "'a':1");
	CHECK_EQ(decoded.error, PTRC_LAYOUT_SHORT);
	CHECK_STR_EQ(decode("u8 a", "", 0), "");
	CHECK_EQ(decoded.error, PTRC_LAYOUT_SHORT);
	CHECK_STR_EQ(decode("str a, u8 b", "no end", 6), "'a':'no end'");
	CHECK_EQ(decoded.error, PTRC_LAYOUT_SHORT);
	CHECK_STR_EQ(decode("u8 a, pad[2]", "\1\2", 2), "'a':1");
	CHECK_EQ(decoded.error, PTRC_LAYOUT_SHORT);
	CHECK_STR_EQ(decode("u8 a", "\1\2", 2), "'a':1");
	CHECK_EQ(decoded.error, PTRC_LAYOUT_REST);
}

TEST(fields_are_where_a_structure_has_them, "")
{
	const struct {
		uint8_t a;
		uint32_t b;
		uint16_t c;
		uint64_t d;
		uint8_t e;
	} v = {1, 2, 3, 4, 5};
	const char text[] = "u8 a, u32 b, u16 c, u64 d, u8 e";
	const char all[] = "'a':1,'b':2,'c':3,'d':4,'e':5";

	CHECK_STR_EQ(decode(text, &v, sizeof(v)), all);
	CHECK_EQ(decoded.error, PTRC_LAYOUT_FITS);
	CHECK_STR_EQ(decode(text, &v, offsetof(__typeof__(v), e) + 1), all);
	CHECK_EQ(decoded.error, PTRC_LAYOUT_FITS);
	CHECK_STR_EQ(decode(text, &v, sizeof(v) - 1), all);
	CHECK_EQ(decoded.error, PTRC_LAYOUT_REST);
	CHECK_EQ(pick_count, 10);
	CHECK_STR_EQ(decode("packed u8 a, u32 b", "\1\2\0\0\0", 5), "'a':1,'b':2");
	CHECK_EQ(pick_count, 12);
}

TEST(bad_layouts_are_refused_with_the_reason, "")
{
	static const struct {
		const char *layout;
		const char *reason;
	} cases[] = {
		{"", "missing at the end"},
		{"u32", "needs a name"},
		{"u32 a u32 b", "column 7: a comma is missing before 'u32 b'"},
		{"u46 a", "column 1: 'u46' is not a type (did you mean 'u16' or 'u64'?)"},
		{"zzz a", "'zzz' is not a type (there are u8 u16"},
		{"enum x8 {a} b", "'x8' is not the integer type of an enum (did you mean"},
		{"u64 a n", "column 7: 'n' is not a unit (did you mean 'ns'"},
		{"u64 a sec", "(there are ns us ms s B KiB MiB percent count)"},
		{"char[0] a", "column 5: 'char[' needs a number"},
	};
	struct ptrc_cli_reason why;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (ptrc_layouts_add(&layouts, "*", cases[i].layout, &why))
			harness_fail("'%s' was taken for a layout", cases[i].layout);
		if (!strstr(why.text, cases[i].reason))
			harness_fail("'%s' gave: %s", cases[i].layout, why.text);
	}
	CHECK_EQ(layouts.count, 0);
}

TEST(the_first_layout_that_matches_counts, "")
{
	struct ptrc_cli_reason why;

	CHECK(ptrc_layouts_add(&layouts, "db.*", "u8 a", &why));
	CHECK(ptrc_layouts_add(&layouts, "*", "u8 b", &why));
	CHECK_STR_EQ(ptrc_layouts_find(&layouts, "db.x")->pattern, "db.*");
	CHECK_STR_EQ(ptrc_layouts_find(&layouts, "x")->pattern, "*");
	CHECK_EQ(ptrc_layouts_name(&layouts, "a", 1), 0);
	CHECK_EQ(ptrc_layouts_name(&layouts, "b", 1), 1);
	CHECK_EQ(ptrc_layouts_name(&layouts, "c", 1), -1);
}

/* ---- lines ---- */

TEST(lines_take_what_they_need_and_say_it, "")
{
	struct ptrc_lines l = {0};
	struct ptrc_buffer text = PTRC_BUFFER_INIT;

	for (int i = 0; i < 1000; i++) {
		/* One large one leaves no large room behind. */
		ptrc_buffer_blanks(&text, i == 500 ? 1 << 20 : i % 2 * 100);
		ptrc_lines_add(&l, i, &text);
		CHECK_EQ(text.used, 0);
		if (l.count > 100)
			ptrc_lines_drop(&l);
		CHECK(l.bytes >= l.count * sizeof(struct ptrc_line));
	}
	CHECK_EQ(l.count, 100);
	CHECK_EQ(l.first->ns, 900);
	CHECK_EQ(l.first->used, 0);
	CHECK(l.bytes <= l.count * (sizeof(struct ptrc_line) + 200));
	while (l.count)
		ptrc_lines_drop(&l);
	CHECK_EQ(l.bytes, 0);
}

/* ---- expressions ---- */

enum { EVENT_ID = 10 };

/* An event as a reader has it. */
static unsigned char *event_data;
static struct ptrc_reader reader;
static struct ptrc_view view = {.reader = &reader};

static const char payload[] = {7, 0, 0, 0, 0, 0, 0, (char)-128, (char)-2, 1, 2, 'h', 'i'};

/* The data of the event, in memory of its own so that a sanitizer sees every byte too far. */
static void set_data(const void *data, size_t size)
{
	free(event_data);
	reader.data = event_data = malloc(size + !size);
	memcpy(event_data, data, size);
	reader.size = size;
}

static void make_event(void)
{
	reader.path = "run.log";
	reader.since_before = 5000000;
	knows_type(&reader, EVENT_ID, "db.query");
	reader.event = (struct posix_trace_event_info){
		.posix_event_id = EVENT_ID,
		.posix_pid = 4711,
		.posix_tid = 4712,
		.posix_prog_address = (void *)0x1234, // NOLINT
		.posix_thread_id = (pthread_t)0xffffffffffffffff,
		.posix_truncation_status = POSIX_TRACE_NOT_TRUNCATED,
		.posix_timestamp = {1767323045, 123456789},
	};
	set_data(payload, sizeof(payload));
	view.layout = layout("packed u64 big, i8 small, bytes[2] raw, str text");
	view.is_decoded = false;
}

static bool holds(const char *text)
{
	struct ptrc_cli_reason why;
	struct ptrc_where *w = ptrc_where_parse(text, &layouts, &why);
	bool is_so;

	if (!w)
		harness_fail("%s: %s", text, why.text);
	is_so = ptrc_where_all_hold(&w, 1, &view);
	ptrc_where_free(w);
	return is_so;
}

/* Whether each of the expressions, up to NULL, holds. */
static void check_all(const char *const *texts, bool is_so)
{
	for (; *texts; texts++)
		if (holds(*texts) != is_so)
			harness_fail("%s: %s", is_so ? "does not hold" : "holds", *texts);
}

#define CHECK_HOLD(...) check_all((const char *const[]){__VA_ARGS__, NULL}, true)
#define CHECK_NOT_HOLD(...) check_all((const char *const[]){__VA_ARGS__, NULL}, false)

TEST(expressions_that_hold_and_that_do_not, "")
{
	make_event();
	CHECK_HOLD("pid == 4711", "pid==4711&&tid==4712", "pid == 1 || tid == 0x1268",
		   "tid != 4711", "pid < 4712 && pid <= 4711 && pid > 4710 && pid >= 4711",
		   "!(pid == 1)", "!!pid", "! pid == 1 || true == true", "event == 'db.query'",
		   "event == \"db.query\"", "event =~ '^db[.]q'", "event =~ '(x|query)$'",
		   "event ~ 'db.*' && event ~ '*[!x]y'", "event > 'db' && event < 'dc'",
		   "address == 0x1234 && address == '0x1234' && address == 4660",
		   "thread == 0xffffffffffffffff && thread > 0xfffffffffffffffe",
		   "len == 13 && len > -1 && len < 1e3 && len > 12.5",
		   "type_id == 10 && truncated == 'no' && log == 'run.log'",
		   "ns == 1767323045123456789 && ns < 1767323045123456790",
		   "time == '2026-01-02T03:04:05.123456789Z'",
		   "time > '2026-01-02T03:04:05Z' && '2026-01-03T00:00:00Z' > time",
		   "data.big == 9223372036854775815 && data.big > 9223372036854775814",
		   "data.small == -2 && data.small < 0",
		   "data.raw == '0102' && data.raw =~ '^01' && data.raw ~ '*2'",
		   "data.text == 'hi' && data.text =~ 'i$' && data.text ~ 'h?'",
		   "data.text && data.big && !reason", "data.small < pid && data.small != data.big",
		   "'a' == 'a' && \"it's\" != 'its'", "'a\\'b' == \"a'b\" && 'x\\\\' =~ '^x.$'",
		   "data =~ 'hi$'", "(((((pid == 4711)))))", "pid == 1 && pid == 2 || pid == 4711",
		   "true == 1");
	CHECK_NOT_HOLD(
		"pid == 4712", "pid == 4711 && pid == 1", "pid == 4711 && (pid == 1 || pid == 2)",
		"reason == 0", "reason != 0", "error", "data.text + 0 == 5", "data.text + 0 != 5",
		"data.big == 9223372036854775814", "thread == 0xfffffffffffffffe", "event ~ 'db'",
		"event =~ '^query'", "data.text ~ 'H?'", "data == 'hi'", "!pid");
}

TEST(truncated_alone_holds_for_data_that_was_cut, "")
{
	make_event();
	CHECK(holds(
		"!truncated && truncated == 'no' && truncated != 'record' && truncated =~ '^no$'"));
	reader.event.posix_truncation_status = POSIX_TRACE_TRUNCATED_RECORD;
	CHECK(holds(
		"truncated && truncated == 'record' && truncated != 'no' && truncated ~ 'r*d'"));
	reader.event.posix_truncation_status = POSIX_TRACE_TRUNCATED_READ;
	CHECK(holds("truncated && truncated == 'read'"));
}

TEST(text_that_reads_as_a_number_is_one, "")
{
	make_event();
	memcpy(event_data, "-12.5", 5);
	reader.size = 5;
	view.layout = NULL;
	CHECK(holds("data == -12.5 && data < 0 && data == '-12.5'"));
	CHECK(!holds("data.text") && !holds("data.text == ''"));
	memcpy(event_data, "inf", 4);
	reader.size = 4;
	CHECK(!holds("data > 0") && holds("data == 'inf'"));
	reader.size = 0;
	CHECK(!holds("data") && holds("data == ''") && holds("data =~ '^$'"));
}

TEST(what_looks_like_a_back_reference_and_is_none, "")
{
	make_event();
	CHECK(holds("event =~ 'db' || event =~ '[\\1]' || event =~ '\\\\\\\\1'"));
	CHECK(!holds("event =~ '[]\\1]'"));
}

struct refusal {
	const char *text, *reason;
};

/* Each is refused with a message that begins with a column and has the reason in it. */
static void check_refusals(const struct refusal *cases, size_t count)
{
	struct ptrc_cli_reason why;

	for (size_t i = 0; i < count; i++) {
		if (ptrc_where_parse(cases[i].text, &layouts, &why))
			harness_fail("was taken: %s", cases[i].text);
		if (!strstr(why.text, cases[i].reason) || strncmp(why.text, "column ", 7) != 0)
			harness_fail("'%s' gave: %s", cases[i].text, why.text);
	}
}

#define CHECK_REFUSALS(cases) check_refusals(cases, sizeof(cases) / sizeof(*(cases)))

TEST(wrong_expressions_are_refused_with_the_column, "")
{
	static const struct refusal cases[] = {
		{"", "column 1: the expression ends where a field"},
		{"pid ==", "column 7: the expression ends where a field"},
		{"pid = 4", "column 5: write '==' instead of '='"},
		{"pid == 4 & tid", "column 10: write '&&' instead of '&'"},
		{"pid == 4 tid", "column 10: '&&' or '||' is missing before 'tid'"},
		{"pdi == 4", "column 1: events have no field 'pdi' (did you mean 'pid'"},
		{"dta.i == 1", "column 1: events have no field 'dta.i' (did you mean 'data.i'?)"},
		{"1 == 1 && evnt", "column 11: events have no field 'evnt'"},
		{"data.sall == 1", "(did you mean 'data.small'"},
		{"data.qqqqqqqq", "no layout has a field 'data.qqqqqqqq'"},
		{"(pid == 4", "column 10: ')' is missing"},
		{"pid == 4)", "column 9: '&&' or '||' is missing"},
		{"event == 'x", "column 10: the string has no end"},
		{"event =~ 5", "column 10: '=~' needs text in quotes"},
		{"event =~ '('", "column 10: "},
		{"pid ~ '4*'", "column 1: '~' needs text"},
		{"pid == 'x'", "column 8: 'x' is not a number"},
		{"truncated == 'recrod'",
		 "column 14: 'recrod' is no name of a value of truncated (did you mean 'record'"},
		{"'1' != truncated", "column 1: '1' is no name of a value of truncated"},
		{"time > 'x'", "column 8: 'x' is not a time"},
		{"pid == 4x", "column 8: '4x' is not a number, and not a duration such as 5ms"},
		{"pid == 0xfffffffffffffffff", "is not a number"},
		{"pid < 1e309", "column 7: '1e309' is beyond the largest number"},
		{"pid > -1e5000", "column 8: '1e5000' is beyond the largest number"},
		{"pid < '1e309'", "column 7: '1e309' is not a number"},
		{"gap < 1e300s", "column 7: '1e300s' is beyond the largest duration, 1.79e308ns"},
		{"gap < 1e300x",
		 "column 7: '1e300x' is not a number, and not a duration such as 5ms"},
		{"pid == ==", "column 8: a field, number or string is missing"},
		{"5", "column 2: a comparison is missing"},
		{"pid # 4", "column 5: '#' has no meaning here"},
		{"\xc3\xa4 == 3", "column 1: '\xc3\xa4' has no meaning here"},
		{"pid == (", "column 9: "},
		{".data == 3", "column 1: a field is written without a dot in front"},
		{"event == db.query",
		 "column 10: events have no field 'db.query'; text has to be in quotes"},
		{"true", "column 5: a comparison is missing"},
		{"pid && \"text\"", "column 14: a comparison is missing"},
		{"event =~ '((a{1,999}){1,999}){1,999}'", "column 10: the pattern is"},
		{"event =~ '(a?){9999}'", "column 10: the pattern is"},
		{"event =~ '((a*)*)*\\1b'", "column 10: back references"},
		{"event =~ '[^]a](a)[\\1]\\9'", "column 10: back references"},
	};

	make_event();
	CHECK_REFUSALS(cases);
}

TEST(times_and_durations_are_calculated_with, "")
{
	make_event();
	CHECK_HOLD(
		"time - '2026-01-02T03:04:05Z' == 123456789ns",
		"time - '2026-01-02T03:04:05Z' > 123ms && time - '2026-01-02T03:04:05Z' < 0.124s",
		"'2026-01-02T03:04:05Z' + 123456789ns == time",
		"'2026-01-02T03:04:05Z' < time - 100ms && 24ms + '2026-01-02T03:04:05Z' < time",
		"time - time == 0s && time - 1min < time",
		"time > '2026-01-02 03:04:05.1Z' && time < '2026-01-02 03:04:05.2Z'",
		"time > '@1767323045.1' && time < 'now'",
		"1h == 60min && 1min == 60s && 1s == 1000ms && 1ms == 1000us && 1us == 1000ns",
		"1m30s == 90s && 1.5ms == 1500us && 1d == 24h && 1w == 7d && 2hours == 120m",
		"5ms * 2 == 10ms && 2 * 5ms == 10ms && 5ms / 2 == 2.5ms && 10ms / 4ms == 2.5",
		"17ms % 5ms == 2ms && -5ms < 0ns && 3ms - 5ms == -2ms && -(3ms) + 5ms == 2ms",
		"(time - '2026-01-02T03:04:05Z') / 1ms > 123.4 && len * 1ms == 13ms",
		"(time - '2026-01-02T03:04:05Z') % 1ms == 456789ns", "ns == time && time >= ns",
		/* What fields are shown as: in one unit, as long as they are, also with an exponent. */
		"18446744073709551615s > 18446744073709551614s && 1e+20ns == 100000000000s",
		"18446744073.709551615s - 18446744073.709551614s == 1ns && 1e-05s == 10us",
		"-9223372036.854775808s + 9223372036.854775809s == 1ns && 20000000000s > 292s",
		"123456789012345678901.5us - 123456789012345678900us == 1500ns",
		"gap == 5ms && gap > 4.9ms && 1s / gap == 200 && time - gap < time && gap");
	CHECK_NOT_HOLD("time - '2026-01-02T03:04:05Z' > 124ms", "time + 1s < time",
		       "time - 1ns >= time",
		       /* Nobody has said when the trace begins and ends. */
		       "time > '+0s'", "time != '-1h'", "!(time - '+0s') && '+0s' + 1s < time");
}

TEST(times_may_be_relative_to_the_begin_and_the_end_of_the_trace, "")
{
	static const char *const so[] = {
		"time == '+1s'",
		"time == '-3s'",
		"time < '+1s' + 1ns && '-3s' - 1ns < time",
		"time - '+0s' == 1s && '-0s' - time == 3s",
		"'-0s' - '+0s' == 4s",
	};
	const int64_t now = INT64_C(1767323045123456789);
	const int64_t s = 1000000000;
	struct ptrc_cli_reason why;

	make_event();
	for (size_t i = 0; i < sizeof(so) / sizeof(*so); i++) {
		struct ptrc_where *w = ptrc_where_parse(so[i], &layouts, &why);
		struct ptrc_where *again;

		CHECK(w);
		CHECK(ptrc_where_has_base(w, PTRC_WHEN_FROM_BEGIN) == !!strchr(so[i], '+'));
		CHECK(ptrc_where_has_base(w, PTRC_WHEN_FROM_END) == !!strstr(so[i], "'-"));
		ptrc_where_resolve(w, now - s, now + 3 * s);
		if (!ptrc_where_all_hold(&w, 1, &view))
			harness_fail("does not hold: %s", so[i]);
		again = ptrc_where_again(w);
		CHECK(again && ptrc_where_all_hold(&again, 1, &view));
		ptrc_where_free(again);
		/* The trace has grown. */
		ptrc_where_resolve(w, now - 2 * s, now + 4 * s);
		CHECK(!ptrc_where_all_hold(&w, 1, &view));
		ptrc_where_free(w);
	}
}

/* A layout whose names the expressions of this test know, and another one. */
static void use_layouts(const char *of_event, const char *other)
{
	struct ptrc_cli_reason why;

	ptrc_layouts_free(&layouts);
	memset(&layouts, 0, sizeof(layouts));
	CHECK(ptrc_layouts_add(&layouts, "db.query", of_event, &why));
	if (other)
		CHECK(ptrc_layouts_add(&layouts, "other", other, &why));
	knows_type(&reader, EVENT_ID, "db.query");
	ptrc_view_find_layout(&view, &layouts);
}

TEST(fields_with_a_unit_of_time_are_durations, "")
{
	static const struct {
		uint64_t ns;
		uint32_t us;
		int32_t ms;
		double s;
		uint64_t bytes;
		uint64_t plain;
	} data = {6000000, 1500, -7, 0.25, 4096, 6000};
	static const struct refusal wrong[] = {
		{"data.ns > 5",
		 "column 11: a duration cannot be compared with a number; a duration"},
		{"5 < data.us", "column 1: a number cannot be compared with a duration"},
		{"data.plain > 5ms",
		 "column 14: a number cannot be compared with a duration; it is a duration if its "
		 "layout gives it a unit"},
		{"data.bytes > 5ms", "column 14: "},
		{"data.ns == '6ms'", "column 12: a duration cannot be compared with text"},
		{"data.ns =~ '6'", "column 1: '=~' needs text, but 'data.ns' is a duration"},
		{"data.ns * data.us > 5ms", "column 9: a duration cannot be multiplied with a dur"},
		{"data.ns == time", "column 1: a duration cannot be compared with a time"},
	};

	make_event();
	set_data(&data, sizeof(data));
	use_layouts("u64 ns ns, u32 us us, i32 ms ms, f64 s s, u64 bytes B, u64 plain", NULL);
	CHECK_HOLD(
		"data.ns > 5ms && data.ns == 6ms && data.ns < 0.007s",
		"data.us == 1.5ms && data.ms == -7ms && data.s == 250ms && data.s > 0.2s",
		"data.ns + data.ms == -1ms && data.ns / data.us == 4 && data.s * 4 == 1s",
		"data.ns > data.us && data.ms < data.us && data.s >= data.ns",
		"data.bytes == 4096 && data.plain * 1us == data.ns && data.ns / 1us == data.plain",
		"time - data.ns < time && gap < data.ns && data.ns && -data.us == -1500us",
		"data.ns * 1000000000000 == 6000000000s");
	CHECK_REFUSALS(wrong);
	/* In the other layout they are something else. */
	use_layouts("u64 ns ns, u32 us us, bytes rest", "u64 ns, str us");
	CHECK_HOLD("data.ns > 5ms && data.ns < 7ms && !(data.ns > 5) && !(data.ns != 5)",
		   "data.us == 1.5ms && !(data.us == 'x') && !(data.us =~ '1')");
	reader.size = sizeof(uint64_t) + sizeof("hi");
	memcpy(event_data + sizeof(uint64_t), "hi", sizeof("hi"));
	use_layouts("u64 ns, str us", "u64 ns ns, u32 us us");
	CHECK_HOLD("data.us == 'hi' && data.us =~ '^h' && !(data.us > 5ms) && !(data.us != 5ms)",
		   "data.ns == 6000000 && !(data.ns == 6ms) && !(data.ns != 6ms)");
}

TEST(numbers_are_calculated_with_exactly, "")
{
	/* clang-format off */
	static const char *const no_value[] = {
		"len / (len - 13)", "len % (len - 13)", "len / 0.5 % 0.3", "data.text + 1",
		"reason + 1", "data + 1", "(data.big + reason) * 0",
	};
	/* clang-format on */

	make_event();
	CHECK_HOLD(
		"len + 1 == 14 && len - 1 == 12 && len * 2 == 26 && len / 2 == 6.5 && len % 5 == 3",
		"len+1==14&&len-1==12&&-len==-13&&+len==13&&--len==13&&len- -1==14",
		"1 + 2 * 3 == 7 && (1 + 2) * 3 == 9 && 7 - 2 - 1 == 4 && 64 / 4 / 2 == 8",
		"7 % 4 * 2 == 6 && -7 % 4 == -3 && 7 % -4 == 3 && 2 * -3 == -6",
		"(len) > 5 && ((len + 1) * (len - 1)) == 168 && !(len + 1 == 13) && (len > 5)",
		"len + 1 && !(len - 13) && (pid - 4711 || tid - 1)",
		/* Where 64 bits wrap. */
		"data.big + 1 > data.big && data.big * 2 > data.big && 0 - data.big < data.small",
		"data.big * data.big == 85070591730234615994970860373908914225",
		"data.big * data.big * data.big > 7.8e56 && data.big * data.big * data.big < 7.9e56",
		"data.big + data.big - data.big == 9223372036854775815",
		"-data.big == -9223372036854775815 && -9223372036854775808 - 1 < -9223372036854775808",
		"data.big / 5 * 5 == data.big && data.big % 10 == 5",
		"0.1 + 0.2 > 0.3 - 1e-9 && 0.1 + 0.2 < 0.3 + 1e-9 && 1e3 + 1 == 1001",
		"address - 0x1000 == 0x234 && address % 16 == 4",
		"data.small * data.small == 4 && data.small + pid == 4709");
	for (size_t i = 0; i < sizeof(no_value) / sizeof(*no_value); i++) {
		static const char *const sides[][2] = {
			{"", " == 0"}, {"", " != 0"}, {"0 <= ", ""}, {"", ""}};
		char text[200];

		for (size_t k = 0; k < sizeof(sides) / sizeof(*sides); k++) {
			snprintf(text, sizeof(text), "%s%s%s", sides[k][0], no_value[i],
				 sides[k][1]);
			if (holds(text))
				harness_fail("holds: %s", text);
		}
	}
	memcpy(event_data, "21", 3);
	reader.size = 3;
	CHECK(holds("data * 2 == 42 && data + data == 42"));
}

TEST(fractions_are_what_they_are_shown_as, "")
{
	static const char json[] = "{\"p\":0.1,\"q\":\"0.1\",\"t\":\"a\\u0000b\"}";
	static const char layout[] =
		"f64 d, f64 m ms, f64 n ns, f64 big, f32 t ms, f32 most, f32 f, json j";
	struct {
		double d, m, n, big;
		float t, most, f;
		char json[sizeof(json) - 1];
	} data = {0.1, 1.1, 2.5, 1e23, 0.1F, INFINITY, 0.1F, ""};

	make_event();
	memcpy(data.json, json, sizeof(data.json));
	set_data(&data, offsetof(__typeof__(data), json) + sizeof(data.json));
	use_layouts(layout, NULL);
	CHECK_HOLD("data.d == 0.1 && !(data.d > 0.1) && !(data.d < 0.1) && data.d > 0.09999",
		   "data.f == 0.1 && !(data.f > 0.1) && !(data.f < 0.1) && data.f < 0.10001",
		   "data.m == 1.1ms && data.m == 1100us && !(data.m > 1.1ms) && data.m > 1099999ns",
		   "data.j.p == 0.1 && !(data.j.p > 0.1) && data.j.q == 0.1 && data.j.p == data.d",
		   "data.d * 10 == 1 && data.d + 0.2 > 0.3 - 1e-9 && data.d * 2 == 0.2",
		   "data.d < 1 && data.f < 1 && 0.5 < 1 && data.j.p < 1",
		   "data.n == 2.5ns && data.n < 2.6ns && data.t == 0.1ms && data.big == 1e23",
		   "data.most > 1e300 && data.most != 1e300 && !(data.most == 1e300)",
		   "data.j.t ~ 'a*'");
	/* That it is a duration in another layout makes no difference. */
	use_layouts(layout, "u32 f us");
	CHECK_HOLD("data.f == 0.1 && !(data.f > 0.1) && data.f > 0.0999999999",
		   "!(data.f == 0.10000000149) && 0.1000000001 > data.f");
}

TEST(whole_numbers_are_compared_exactly_with_floating_point_fields, "")
{
	static const char json[] =
		"{\"n\":9007199254740992.0,\"p\":1e17,\"t\":\"9007199254740993\",\"w\":123456789012345678901,"
		"\"l\":\"123456789012345678901\"}";
	struct {
		double even, shown, huge, ns;
		uint64_t odd;
		char json[sizeof(json) - 1];
	} data = {0x1p53, 0x1p63, 0x1p70, 0x1p63, 9007199254740993, ""};

	make_event();
	memcpy(data.json, json, sizeof(data.json));
	set_data(&data, offsetof(__typeof__(data), json) + sizeof(data.json));
	use_layouts("f64 even, f64 shown, f64 huge, f64 ns ns, u64 odd, json j", NULL);
	CHECK_HOLD("data.even == 9007199254740992 && data.even < 9007199254740993",
		   "9007199254740993 > data.even && 9007199254740991 < data.even",
		   "data.even < data.odd && data.even + 0 < 9007199254740993",
		   "data.j.n < 9007199254740993 && data.j.n == data.even && data.j.t == data.odd",
		   "data.j.p < 100000000000000001 && data.j.p == 100000000000000000",
		   "data.huge < 1180591620717411303425 && data.huge == 1180591620717411303424",
		   "data.huge + 0 < 1180591620717411303425",
		   "data.j.w == 123456789012345678901 && data.j.w < 123456789012345678902",
		   "data.j.w - 123456789012345678900 == 1 && data.j.w > data.odd",
		   "data.j.l == 123456789012345678901 && data.j.l < 123456789012345678902",
		   "data.huge > data.j.w && -data.j.w < -123456789012345678900",
		   /* Numbers with an exponent or a point are doubles, as those in fields. */
		   "data.shown == 9.2233720368547758e+18 && data.shown == 9223372036854775808",
		   "data.shown + 0 == 9.2233720368547758e+18 && data.odd == 9007199254740993",
		   "data.ns == 9.2233720368547758e+18ns && data.odd > 9007199254740992.5");
	CHECK_NOT_HOLD("data.even == 9007199254740993", "9007199254740993 == data.even",
		       "data.even >= 9007199254740993", "data.j.n == 9007199254740993",
		       "data.j.p == 100000000000000001", "data.huge == 1180591620717411303425",
		       "data.huge + 0 == 1180591620717411303425",
		       "data.shown == 9223372036854775807");
}

TEST(what_does_not_go_together_is_refused_with_the_column, "")
{
	static const struct refusal cases[] = {
		{"time > 5",
		 "column 8: a time cannot be compared with a number; a time is in quotes, such as "
		 "'2026-01-02 03:04', and 'ns' is the time as a number"},
		{"data < time", "column 1: a number or text cannot be compared with a time"},
		{"(len > 5) * 2", "column 1: a condition is not a value"},
		{"time > 5ms", "column 8: a time cannot be compared with a duration; the diff"},
		{"time == event", "column 9: a time cannot be compared with text"},
		{"time == true", "column 9: a time cannot be compared with true or false"},
		{"time == data.big", "column 9: a time cannot be compared with a number;"},
		{"time > '+x'", "column 8: '+x' is not a time"},
		{"pid > 5ms", "column 7: a number cannot be compared with a duration; a duration"},
		{"5ms < len", "column 1: a duration cannot be compared with a number; a dur"},
		{"time - '10:30' > '5ms'", "column 18: a duration cannot be compared with text; a"},
		{"event == 5ms", "column 10: text cannot be compared with a duration"},
		{"data == 5ms", "column 9: a number or text cannot be compared with a duration"},
		{"5ms == true", "column 8: a duration cannot be compared with true or false"},
		{"time + time > '10:30'", "column 6: a time cannot be added to a time"},
		{"5ms - time > '10:30'", "column 5: a time cannot be subtracted from a duration"},
		{"time + 5 > '10:30'",
		 "column 6: a number cannot be added to a time; a duration has"},
		{"len + 5ms == 4",
		 "column 5: a duration cannot be added to a number; a duration ha"},
		{"5ms * 5ms == 4", "column 5: a duration cannot be multiplied with a duration"},
		{"4 / 5ms == 4", "column 3: a duration cannot be a divisor of a number"},
		{"time * 2 == 4", "column 6: a number cannot be multiplied with a time"},
		{"event + 1 == 4", "column 7: a number cannot be added to text"},
		{"len + 'x' == 4", "column 7: 'x' is not a time"},
		{"len * '5' == 4", "column 5: text cannot be multiplied with a number; of text"},
		{"true + 1 == 2", "column 6: a number cannot be added to true or false"},
		{"-time == 2", "column 1: a sign needs a number or a duration"},
		{"-'5' == 2", "column 1: a sign needs a number or a duration"},
		{"5 / 0 == len", "column 3: this has no result"},
		{"len == 1.5 % 2", "column 12: this has no result"},
		{"len > 1 && data.text == 5",
		 "column 12: 'data.text' is text, and is compared with"},
		{"5 < data.text", "column 5: 'data.text' is text, and is compared with a number"},
		{"len + 1 == 'x'", "column 12: 'x' is not a number, but this is a number"},
		{"1 == (len > 5)", "column 6: a condition is not a value"},
		{"-(!pid) == 1", "column 2: a condition is not a value"},
		{"len + 1 =~ '1'", "column 1: '=~' needs text, but this is a number"},
		{"time ~ '1'", "column 1: '~' needs text, but 'time' is a time"},
		{"len == 99999999999w", "column 8: the duration is longer than 292 years"},
		{"len == 1e20q", "column 8: '1e20q' is not a number, and not a duration"},
		{"len + * 2 > 1", "column 7: a field, number or string is missing before '* '"},
	};

	static const struct refusal members[] = {
		{"data.flag == 'false'",
		 "column 14: 'false' is text, but 'data.flag' is true or false, without quotes"},
		{"'abc' != data.id", "column 1: 'abc' is not a number, but 'data.id' is a number"},
		{"data.list[1] < 'abc'", "column 16: 'abc' is not a number, but 'data.list[1]' is"},
		{"data.id =~ '1'", "column 1: '=~' needs text, but 'data.id' is a number"},
		{"data.flag ~ 't*'", "column 1: '~' needs text, but 'data.flag' is true or false"},
		{"data.state == 'opne'",
		 "column 15: 'opne' is no name of a value of data.state (did you mean 'open'?)"},
		{"!('qqqqq' != data.state)",
		 "column 3: 'qqqqq' is no name of a value of data.state"},
		{"data.flag + 1 == 2", "column 11: a number cannot be added to true or false"},
		{"data.text == data.id",
		 "column 1: 'data.text' is text, and is compared with a number"},
		{"data.raw + 0 > 1", "column 10: a number cannot be added to bytes"},
		{"len - data.raw > 1", "column 5: bytes cannot be subtracted from a number"},
		{"-data.raw == 1", "column 1: a sign needs a number or a duration"},
		{"data.raw > 5ms", "column 12: bytes cannot be compared with a duration"},
		{"data.list == 1",
		 "column 14: an array cannot be compared with a number; an element of an array is "
		 "data.NAME[N]"},
		{"'abc' == data.list", "column 1: text cannot be compared with an array; an elem"},
		{"data.list == data.list", "column 14: an array cannot be compared with an array"},
		{"data.list > 5ms",
		 "column 13: an array cannot be compared with a duration; an el"},
		{"data.list + 1 > 0",
		 "column 11: a number cannot be added to an array; an element of an array is"},
		{"data.list[-1] == 1",
		 "column 1: 'data.list[-1]': an element is data.list[N], where"},
		{"data.list =~ '1'", "column 1: '=~' needs text, but 'data.list' is an array"},
		{"data.list ~ '1'", "column 1: '~' needs text, but 'data.list' is an array"},
	};
	static const struct __attribute__((packed)) {
		uint8_t flag;
		uint32_t id;
		double real;
		uint8_t state, raw[2];
		uint8_t list[2];
		char text[3];
	} data = {1, 5, 1.5, 1, {1, 2}, {3, 4}, "12"};
	static const char layout[] =
		"packed bool flag, u32 id, f64 real, enum u8 {shut, open} state, "
		"bytes[2] raw, u8[2] list, str text";

	make_event();
	CHECK_REFUSALS(cases);
	holds("len + 1");
	set_data(&data, sizeof(data));
	use_layouts(layout, NULL);
	CHECK_REFUSALS(members);
	CHECK_HOLD(
		"data.flag == true && data.flag == 1 && data.flag == '1' && data.id == '5'",
		"data.state == 'open' && data.state == 1 && data.state != '2' && data.state ~ 'o*'",
		"data.state < 'z' && data.raw == '0102' && data.raw =~ '^01' && data.raw == 102",
		"data.state < data.id && data.id - 4 == data.state && data.state == data.flag",
		"data.state == data.state && data.state != data.text",
		"-data.text == -12 && data.text + 0 == 12 && data.text == '12' && data.list[0] == 3",
		"data.raw == data.raw && data.raw != data.text && data.list && data.list[0] + 1 == 4");
	/* Another layout has fields of other types with these names. */
	use_layouts(layout, "str flag, str id, str state, u8 raw, str list");
	CHECK_HOLD(
		"data.flag != 'x' || data.flag == 1",
		"!(data.raw + 0 > 1) && data.raw == 102 && !(data.list == 3) && data.list[0] == 3",
		"!(data.list =~ '3') && !(data.list + 1 > 0) && !(data.list != 'x')",
		"!(data.id == 'x') && !(data.state == 'opne') && data.state != 'shut'");
}

/* Repeats the piece into one string. */
static char *repeat(const char *piece, size_t count, const char *end)
{
	size_t n = strlen(piece);
	char *text = malloc(n * count + strlen(end) + 1);

	for (size_t i = 0; i < count; i++)
		memcpy(text + n * i, piece, n);
	strcpy(text + n * count, end);
	return text;
}

TEST(a_long_pattern_often_repeated_is_refused, "")
{
	char *text = repeat("a", 900, "){9999}'");
	char expression[1000];
	struct ptrc_cli_reason why;

	make_event();
	snprintf(expression, sizeof(expression), "event =~ '(%s", text);
	CHECK(!ptrc_where_parse(expression, &layouts, &why));
	CHECK_STR_EQ(why.text, "column 10: the pattern is too large");
}

/* Stores whether it is undecided. */
static bool holds_for(const char *expression, const void *data, size_t size, bool *is_undecided)
{
	struct ptrc_cli_reason why;
	struct ptrc_where *w = ptrc_where_parse(expression, &layouts, &why);
	bool is_so;

	if (!w)
		harness_fail("%s: %s", expression, why.text);
	set_data(data, size);
	is_so = ptrc_where_all_hold(&w, 1, &view);
	*is_undecided = *ptrc_where_undecided(w);
	ptrc_where_free(w);
	return is_so;
}

TEST(patterns_are_bounded_in_time_and_memory, "")
{
	/* clang-format off */
	static const char *const hard[] = {
		"data =~ 'x+y'", "data =~ '(x+x+)+y'", "data =~ '(a|b|x)*a(a|b|x){200}y'",
		"data =~ '(a|b|x)*a(a|b|x){300}[yz]'", "data =~ '((x?){30}){15}y'",
		"data =~ '((x?){30}){15}[yz]'", "data =~ '^(x|xx|a|b)*[yz]'",
		"data =~ '(^|x|b)(x|a|b)*y'", "data =~ '(x|xx|xxx|a|b)*[yz]$'",
		"data ~ '*x*x*x*x*x*x*x*y'", "data ~ '*a*b*[ab]*[!x]*?*\\a*y'",
	};
	/* clang-format on */
	enum { SIZE = 1 << 20 };
	const struct rlimit memory = {.rlim_cur = 400 << 20, .rlim_max = 400 << 20};
	char *data = malloc(SIZE);
	bool is_undecided;

	make_event();
#ifndef HARNESS_IS_SANITIZED
	CHECK_SYS(setrlimit(RLIMIT_AS, &memory));
#else
	(void)memory;
#endif
	for (int kind = 0; kind < 2; kind++) {
		for (size_t i = 0; i < SIZE; i++)
			data[i] = kind ? (i * i / 7 + i / 3) % 2 ? 'a' : 'b' : 'x';
		/* The time is bounded by that of the test: without a bound it would be hours. */
		for (size_t i = 0; i < sizeof(hard) / sizeof(*hard); i++)
			for (size_t size = 64; size <= SIZE; size *= 4)
				CHECK(!holds_for(hard[i], data, size, &is_undecided));
	}
}

TEST(what_depends_on_an_undecided_pattern_is_undecided, "")
{
	/* U is undecided. */
	static const struct {
		const char *expression;
		enum ptrc_answer answer;
	} cases[] = {
		{"U", PTRC_UNDECIDED},
		{"!U", PTRC_UNDECIDED},
		{"!!U && pid == 4711", PTRC_UNDECIDED},
		{"pid == 4711 && U", PTRC_UNDECIDED},
		{"U && pid == 1", PTRC_NO},
		{"pid == 1 && U", PTRC_NO},
		{"U || pid == 4711", PTRC_YES},
		{"pid == 4711 || U", PTRC_YES},
		{"U || pid == 1", PTRC_UNDECIDED},
		{"!(U && pid == 1)", PTRC_YES},
		{"!(U || pid == 1)", PTRC_UNDECIDED},
		/* A pattern of the shell that would have too much to do. */
		{"data ~ '*x*?*x*?*x*?*x*?*x*'", PTRC_UNDECIDED},
		{"!(data ~ '*x*?*x*?*x*?*x*?*x*')", PTRC_UNDECIDED},
		{"data ~ '*x*'", PTRC_YES},
	};
	enum { SIZE = 1 << 20 };
	char *data = malloc(SIZE);
	bool is_undecided;

	make_event();
	memset(data, 'x', SIZE);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char expression[200] = "";
		const char *u = strchr(cases[i].expression, 'U');

		snprintf(expression, sizeof(expression), "%.*s%s%s",
			 u ? (int)(u - cases[i].expression) : 199, cases[i].expression,
			 u ? "data =~ '((x?){30}){15}[yz]'" : "", u ? u + 1 : "");
		CHECK_EQ(holds_for(expression, data, SIZE, &is_undecided),
			 cases[i].answer == PTRC_YES);
		if (is_undecided != (cases[i].answer == PTRC_UNDECIDED))
			harness_fail("%s", expression);
	}
}

TEST(an_event_is_undecided_if_no_expression_rules_it_out, "")
{
	static const char *const texts[] = {"data =~ '((x?){30}){15}[yz]'", "pid == 1",
					    "pid == 4711"};
	char *data = malloc(10000);
	struct ptrc_where *wheres[3];
	struct ptrc_cli_reason why;

	make_event();
	memset(data, 'x', 10000);
	reader.data = (const unsigned char *)data;
	reader.size = 10000;
	for (size_t i = 0; i < 3; i++)
		wheres[i] = ptrc_where_parse(texts[i], &layouts, &why);
	CHECK(!ptrc_where_all_hold(wheres, 3, &view) && !*ptrc_where_undecided(wheres[0]));
	ptrc_where_free(wheres[1]);
	wheres[1] = NULL;
	CHECK(!ptrc_where_all_hold(wheres, 3, &view));
	CHECK_EQ(*ptrc_where_undecided(wheres[0]), 1);
	CHECK_EQ(*ptrc_where_undecided(wheres[2]), 0);
}

TEST(what_is_too_deep_or_too_long_is_refused, "")
{
	static const char *const pieces[] = {"(",     "!",  "!(",    "pid &&", "pid ||",
					     "pid -", "- ", "pid*(", "-(",     "pid %"};
	struct ptrc_cli_reason why;

	make_event();
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		char *text = repeat(pieces[i], 100000, "pid");

		CHECK(!ptrc_where_parse(text, &layouts, &why));
		if (!strstr(why.text, "nested deeper") && !strstr(why.text, "more than"))
			harness_fail("%s...: %s", pieces[i], why.text);
	}
	for (size_t i = 3; i < 5; i++)
		CHECK(holds(repeat(pieces[i], 999, "pid")));
}

/* The events of random threads, some of which are lost; numbers and identifiers come again. */
TEST(the_event_before_is_the_last_one_of_the_thread, "")
{
	enum { THREADS = 300 };
	static const trace_event_id_t losses[] = {POSIX_TRACE_OVERFLOW, POSIX_TRACE_RESUME,
						  POSIX_TRACE_ERROR, POSIX_TRACE_STOP};
	static const int full = 1, by_call = 0;
	struct ptrc_thread_gap before = {0};
	static int64_t last[THREADS];
	int64_t ns = INT64_C(1767323045000000000);
	size_t found = 0;

	for (int i = 0; i < 200000; i++) {
		/* Often the same one; those that come last are new. */
		uint64_t n =
			harness_draw(3) ? harness_draw(4) : harness_draw(i < 1000 ? 10 : THREADS);
		bool is_loss = !harness_draw(500);
		bool is_full = harness_draw(2);
		struct posixtrace_event e = {
			.pt_info = {.posix_event_id = is_loss ? losses[harness_draw(4)] : EVENT_ID,
				    .posix_pid = (pid_t)(1 + n / 100),
				    .posix_tid = (pid_t)(1 + n % 50),
				    .posix_thread_id = (pthread_t)(n % 100 / 50)},
			.pt_data = is_full ? &full : &by_call,
			.pt_size = sizeof(full),
		};
		int64_t expected = last[n] ? ns - last[n] : PTRC_THREAD_GAP_NONE;

		e.pt_info.posix_timestamp = ptrc_when_timespec(ns);
		if (is_loss && harness_draw(2)) {
			e.pt_info.posix_pid = e.pt_info.posix_tid = 0;
			expected = PTRC_THREAD_GAP_NONE;
		} else {
			last[n] = ns;
		}
		CHECK_EQ(ptrc_thread_gap_take(
				 &before, &e,
				 ptrc_is_loss(e.pt_info.posix_event_id, e.pt_data, e.pt_size)),
			 expected);
		found += expected != PTRC_THREAD_GAP_NONE;
		if (is_loss && (is_full || e.pt_info.posix_event_id != POSIX_TRACE_STOP))
			memset(last, 0, sizeof(last));
		ns += (int64_t)harness_draw(1000) - 10;
	}
	CHECK_GT(found, 100000);
	CHECK_EQ(before.threads.count, THREADS);
	ptrc_thread_gap_forget(&before);
	CHECK(!before.threads.count);
}

static int64_t make_sum(char **to, int depth);

/* Appends a random factor to the text. Returns what it is worth. */
static int64_t make_factor(char **to, int depth)
{
	static const struct {
		const char *text;
		int64_t value;
	} fields[] = {{"len", 13}, {"data.small", -2}, {"type_id", 10}};
	int64_t value;
	uint64_t i;

	switch (harness_draw(depth ? 5 : 3)) {
	case 0:
		i = harness_draw(sizeof(fields) / sizeof(*fields));
		*to = stpcpy(*to, fields[i].text);
		return fields[i].value;
	case 1:
		value = (int64_t)harness_draw(30);
		*to += sprintf(*to, harness_draw(2) ? "%lld" : "0x%llx", (long long)value);
		return value;
	case 2:
		*to = stpcpy(*to, harness_draw(2) ? "- " : "-");
		return -make_factor(to, depth);
	default:
		*to = stpcpy(*to, "(");
		value = make_sum(to, depth - 1);
		*to = stpcpy(*to, ")");
		return value;
	}
}

static int64_t make_product(char **to, int depth)
{
	int64_t value = make_factor(to, depth);

	for (uint64_t n = harness_draw(3); n; n--) {
		char *sign = *to;
		int64_t factor;
		bool is_product;

		*to = stpcpy(*to, harness_draw(2) ? " * " : "*");
		factor = make_factor(to, depth);
		is_product = !factor || harness_draw(2);
		*strchr(sign, '*') = is_product ? '*' : '%';
		value = is_product ? value * factor : value % factor;
	}
	return value;
}

static int64_t make_sum(char **to, int depth)
{
	int64_t value = make_product(to, depth);

	for (uint64_t n = harness_draw(3); n; n--) {
		bool is_plus = harness_draw(2);

		*to = stpcpy(*to, is_plus ? " + " : "-");
		value += (is_plus ? 1 : -1) * make_product(to, depth);
	}
	return value;
}

TEST(random_calculations_have_the_results_of_c, "")
{
	char text[2000];

	make_event();
	for (int i = 0; i < 20000; i++) {
		char *to = text;
		int64_t value = make_sum(&to, 2);

		sprintf(to, " == %lld", (long long)value);
		if (!holds(text))
			harness_fail("does not hold: %s", text);
	}
}

/* A text of a few of these pieces. */
static void make_pieces(char *text, const char *const *pieces, size_t count)
{
	*text = '\0';
	for (uint64_t n = harness_draw(8); n; n--)
		strcat(text, pieces[harness_draw(count)]);
}

/* That patterns have bounds changes nothing of what they match. */
TEST(shell_patterns_match_as_those_of_the_c_library, "")
{
	/* Without a dot: "[." begins what only fnmatch(3) knows. */
	static const char *const of_glob[] = {
		"a",	"b",	  "x",	  "?",		 "*", "*", "[ab]",
		"[!a]", "[^a-b]", "[]x]", "[[:alpha:]]", "[", "]", "\\\\*",
		"\\\\", "!",	  "-",	  "[a\\\\]b]",	 "/", ",",
	};
	static const char *const of_text[] = {"a", "b", "x", "ab", "*", "\\", "[",
					      "]", ".", "(", "\n", "-", "/"};
	enum { rounds = 1600 };
	char pattern[100];
	char text[100];
	char expression[250];
	bool is_undecided;
	size_t compared = 0;

	make_event();
	for (size_t i = 0; i < rounds; i++) {
		struct ptrc_cli_reason why;
		struct ptrc_where *w;
		char *to = pattern;

		make_pieces(pattern, of_glob, sizeof(of_glob) / sizeof(*of_glob));
		make_pieces(text, of_text, sizeof(of_text) / sizeof(*of_text));
		snprintf(expression, sizeof(expression), "data ~ \"%s\"", pattern);
		w = ptrc_where_parse(expression, &layouts, &why);
		if (!w) {
			CHECK(pattern[strlen(pattern) - 1] == '\\');
			continue;
		}
		ptrc_where_free(w);
		/* In an expression two backslashes are one. */
		for (const char *p = pattern; *p; p++) {
			p += *p == '\\' && p[1] == '\\';
			*to++ = *p;
		}
		*to = '\0';
		compared++;
		if (holds_for(expression, text, strlen(text), &is_undecided) !=
		    !fnmatch(pattern, text, 0))
			harness_fail("%s on '%s'", expression, text);
	}
	NOTE("%zu compared", compared);
	CHECK(compared > rounds / 2);
}

/* Also whole numbers that 64 bits, or the fraction of a long double, do not hold. */
TEST(whole_numbers_are_exact_to_128_bits, "")
{
	make_event();
	CHECK_HOLD(
		"99999999999999999999 % 10 == 9 && 99999999999999999999 + 1 == 100000000000000000000",
		"len % 99999999999999999999 == 13 && 99999999999999999999 != 100000000000000000000",
		("170141183460469231731687303715884105727 - 1 == "
		 "170141183460469231731687303715884105726"),
		"170141183460469231731687303715884105727 % 1000 == 727",
		"1e20 % 7 == 2 && 100000000000000000000 % 7 == 2 && 1e3 % 7 == 6",
		"36893488147419103233 / 2 * 2 > 3e19 && 7 / 2 == 3.5 && 1e30 * 1e30 > 1e59");
	CHECK(!holds("len / 2 % 3 == 0") && !holds("len / 2 % 3 != 0"));
	/* Beyond that they are rounded. */
	CHECK_HOLD(
		"18446744073709551616 * 18446744073709551616 == 340282366920938463463374607431768211456",
		"len * 1e18 * 1e20 > 1.2e39 && len * 1e18 * 100000000000000000000 < 1.4e39",
		"170141183460469231731687303715884105727 + len > 1.7e38");
}

TEST(nan_is_unequal_to_all_and_true_is_1, "")
{
	static const struct {
		double nan, long_ago, one;
		uint8_t yes, no, other;
	} __attribute__((packed)) data = {NAN, NAN, 1, 1, 0, 2};

	make_event();
	set_data(&data, sizeof(data));
	use_layouts("packed f64 nan, f64 long_ago ms, f64 one, bool yes, bool no, bool other",
		    NULL);
	CHECK_HOLD(
		"data.nan != 1 && data.nan != data.nan && data.one != data.nan && data.nan + 1 != 1",
		"!(data.nan == data.nan) && !(data.nan < 1) && !(data.nan > 1) && !(data.nan >= 1)",
		"data.long_ago != 1ms && !(data.long_ago < 1ms) && !(data.long_ago >= 1ms)",
		"data.yes == 1 && data.no == 0 && data.yes == data.one && data.yes > data.no",
		"data.yes == true && data.no != true && data.one == true && data.yes < 2",
		"data.other && data.other == true && data.other == 1 && !(data.other != true)");
}

TEST(the_number_of_the_type_is_not_taken_for_a_field_of_the_data, "")
{
	static struct ptrc_layouts with_id;
	struct ptrc_cli_reason why;

	CHECK(!!ptrc_layouts_add(&with_id, "*", "u32 id", &why));
	CHECK(!ptrc_where_parse("id == 5", &with_id, &why));
	CHECK_STR_EQ(why.text, "column 1: events have no field 'id' (did you mean 'data.id'?)");
}
