/* SPDX-License-Identifier: MIT */
/* How long it takes from one event to another. */
#include <malloc.h>
#include <math.h>
#include <stdlib.h>

#include "tests/support/harness.h"

#include "tests/support/event_types.h"
#include "src/spans/key.h"
#include "src/spans/pair_report.h"
#include "src/spans/pairs.h"
#include "src/spans/quantiles.h"

/* ---- quantiles ---- */

static uint64_t random_state = 1;

static uint64_t random_number(void)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return random_state >> 11;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t s = *(const uint64_t *)a;
	uint64_t t = *(const uint64_t *)b;

	return (s > t) - (s < t);
}

/* Compares all quantiles with those of the sorted numbers: with all digits, or, of what has a histogram only,
 * within a percent. */
static void compare_quantiles(const struct ptrc_quantiles *q, const uint64_t *numbers, size_t count)
{
	for (unsigned int per_million = 0; per_million <= 1000000; per_million += 1000) {
		size_t rank = (count * per_million + 999999) / 1000000;
		uint64_t exact = numbers[rank ? rank - 1 : 0];
		uint64_t found = ptrc_quantiles_at(q, per_million);
		uint64_t error = found > exact ? found - exact : exact - found;

		if (ptrc_quantiles_is_exact(q) ? error > 0 : (double)error > (double)exact / 100)
			harness_fail("of %zu: %u millionths are %lu, not %lu", count, per_million,
				     found, exact);
	}
}

/* Compares all quantiles of such numbers, which this sorts, with the exact ones. */
static void check_quantiles(uint64_t *numbers, size_t count)
{
	struct ptrc_quantiles q = {0};
	uint64_t total = 0;
	uint64_t in_octaves = 0;

	for (size_t i = 0; i < count; i++) {
		ptrc_quantiles_add(&q, numbers[i]);
		total = numbers[i] > UINT64_MAX - total ? UINT64_MAX : total + numbers[i];
	}
	qsort(numbers, count, sizeof(*numbers), compare_numbers);
	CHECK_EQ(q.count, count);
	CHECK_EQ(q.total, total);
	CHECK_EQ(q.least, numbers[0]);
	CHECK_EQ(q.greatest, numbers[count - 1]);
	CHECK(ptrc_quantiles_is_exact(&q));
	compare_quantiles(&q, numbers, count);
	/* As if there were too many. */
	free(q.exact);
	q.exact = NULL;
	compare_quantiles(&q, numbers, count);
	for (unsigned int power = 0, i = 0; power < 64; power++) {
		uint64_t in_octave = 0;

		for (; i < count && (power == 63 || numbers[i] < UINT64_C(2) << power); i++)
			in_octave++;
		CHECK_EQ(ptrc_quantiles_octave(&q, power), in_octave);
		in_octaves += in_octave;
	}
	CHECK_EQ(in_octaves, count);
	ptrc_quantiles_free(&q);
}

TEST(quantiles_are_those_of_sorted_data, "")
{
	static uint64_t numbers[5000];
	static const size_t counts[] = {1, 2, 3, 10, 99, 100, 101, 999, 1000, 1001, 5000};

	for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); k++) {
		size_t count = counts[k];

		/* Small ones, those around a middle, and those of every length. */
		for (size_t i = 0; i < count; i++)
			numbers[i] = random_number() % 300;
		check_quantiles(numbers, count);
		for (size_t i = 0; i < count; i++)
			numbers[i] = 1000000 + random_number() % 1000000;
		check_quantiles(numbers, count);
		for (size_t i = 0; i < count; i++)
			numbers[i] = (random_number() << 11 | 2047) >> random_number() % 64;
		check_quantiles(numbers, count);
	}
	for (unsigned int power = 0; power < 64; power++) {
		uint64_t edges[3] = {(UINT64_C(1) << power) - 1, UINT64_C(1) << power,
				     (UINT64_C(1) << power) + 1};

		check_quantiles(edges, 3);
	}
	numbers[0] = numbers[1] = UINT64_MAX;
	check_quantiles(numbers, 2);
}

/* ---- pairs ---- */

enum { A_BEGIN = 10, A_END, B_BEGIN, B_END, OTHER, OS_LOST };

static struct ptrc_source source;
/* Another log, of which nothing but its events matters. */
static struct ptrc_source other;
static struct ptrc_pairs pairs;
static struct ptrc_layouts layouts;

static void give(const char *pair)
{
	struct ptrc_cli_reason why;

	if (!ptrc_pairs_add(&pairs, pair, &layouts, &why))
		harness_fail("%s: %s", pair, why.text);
}

/* Nothing has been taken yet; a pair is given, if it is not NULL. */
static void setup(const char *pair)
{
	static const char *const names[] = {
		[POSIX_TRACE_ERROR] = "posix_trace_error",
		[POSIX_TRACE_START] = "posix_trace_start",
		[POSIX_TRACE_STOP] = "posix_trace_stop",
		[POSIX_TRACE_OVERFLOW] = "posix_trace_overflow",
		[POSIX_TRACE_RESUME] = "posix_trace_resume",
		[A_BEGIN] = "a.begin",
		[A_END] = "a.end",
		[B_BEGIN] = "b.begin",
		[B_END] = "b.end",
		[OTHER] = "other",
		[OS_LOST] = "os.lost",
	};
	struct ptrc_cli_reason why;

	memset(&source, 0, sizeof(source));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i])
			knows_type(&source.reader, (trace_event_id_t)i, names[i]);
	memset(&pairs, 0, sizeof(pairs));
	memset(&layouts, 0, sizeof(layouts));
	source.known = &ptrc_period_all;
	other = source;
	other.order = 1;
	source.view.reader = &source.reader;
	other.view.reader = &other.reader;
	if (!ptrc_layouts_add(&layouts, "?.begin", "u32 id, u8 route", &why) ||
	    !ptrc_layouts_add(&layouts, "?.end", "i64 id", &why))
		harness_fail("%s", why.text);
	if (pair)
		give(pair);
}

static int truncation = POSIX_TRACE_NOT_TRUNCATED;

static void take_data(trace_event_id_t id, pid_t tid, int64_t ns, const void *data, size_t size)
{
	source.reader.event = (struct posix_trace_event_info){
		.posix_event_id = id,
		.posix_pid = 100,
		.posix_tid = tid,
		.posix_timestamp = {ns / 1000000000, ns % 1000000000},
		.posix_truncation_status = truncation,
	};
	source.reader.data = data;
	source.reader.size = size;
	ptrc_view_find_layout(&source.view, &layouts);
	ptrc_pairs_take(&pairs, &source);
}

/* The same of an event whose data was longer. */
static void take_cut(trace_event_id_t id, pid_t tid, int64_t ns, const void *data, size_t size)
{
	truncation = POSIX_TRACE_TRUNCATED_RECORD;
	take_data(id, tid, ns, data, size);
	truncation = POSIX_TRACE_NOT_TRUNCATED;
}

static void take(trace_event_id_t id, pid_t tid, int64_t ns)
{
	take_data(id, tid, ns, "", 0);
}

/* The two events have the key in types of their own. */
static void take_key(trace_event_id_t id, pid_t tid, int64_t ns, int key, unsigned char route)
{
	struct {
		uint32_t id;
		uint8_t route;
	} __attribute__((packed)) begin = {(uint32_t)key, route};
	int64_t end = key;

	if (id == A_BEGIN)
		take_data(id, tid, ns, &begin, sizeof(begin));
	else
		take_data(id, tid, ns, &end, sizeof(end));
}

/* The JSON of what was found, as a text that stays until the next call; forgets the events. */
static const char *found(void)
{
	static struct ptrc_buffer b;
	struct ptrc_json j = {&b, true};

	ptrc_pairs_end(&pairs, true);
	b.used = 0;
	ptrc_pairs_json(&pairs, &j, false);
	ptrc_buffer_char(&b, '\0');
	ptrc_pairs_forget(&pairs);
	return single_quoted(b.bytes);
}

/* The same of the first pair in short: how many were measured, begins and ends without the other one, how many were
 * cut and without a key; then, if any were measured, the least, the quantiles, the greatest and the sum. */
static const char *figures(void)
{
	const char *at = strstr(found(), "'count':");
	static char text[300];
	char *to = text;

	CHECK(at);
	for (; *at != '}'; at++)
		if (*at == ':')
			to += sprintf(to, "%s%ld", to == text ? "" : " ", strtol(at + 1, NULL, 10));
	return text;
}

/* Takes events: a letter, a.begin (a), a.end (A), b.begin (b), b.end (B), another one (o) or an overflow (!); the number
 * of its thread; perhaps : and its key, else it has no data; @ and its time. */
static void take_all(const char *script)
{
	static const char letters[] = "aAbBo!";
	static const trace_event_id_t ids[] = {A_BEGIN, A_END, B_BEGIN,
					       B_END,	OTHER, POSIX_TRACE_OVERFLOW};
	int tid, key, used;
	char letter;
	long ns;

	for (; *script; script += used)
		if (sscanf(script, " %c%d:%d@%ld%n", &letter, &tid, &key, &ns, &used) == 4)
			take_key(ids[strchr(letters, letter) - letters], tid, ns, key, 0);
		else if (sscanf(script, " %c%d@%ld%n", &letter, &tid, &ns, &used) == 3)
			take(ids[strchr(letters, letter) - letters], tid, ns);
		else
			harness_fail("no event: %s", script);
}

#define A_PAIR "'begin':'a.begin','end':'a.end'"

TEST(names_of_quantiles, "")
{
	static const struct {
		const char *name;
		unsigned int per_million;
	} right[] = {
		{"min", 0},	    {"p1", 10000},	  {"p50", 500000}, {"p99.9", 999000},
		{"p99.99", 999900}, {"p99.9999", 999999}, {"p0.0001", 1},  {"max", 1000000},
	};
	static const char *const wrong[] = {"p",	 "p0",	"p100", "p50.",
					    "p99.99999", "p-1", "50",	"p5x"};
	unsigned int got;

	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
		CHECK(ptrc_quantile_read(right[i].name, &got));
		CHECK_EQ(got, right[i].per_million);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK(!ptrc_quantile_read(wrong[i], &got));
}

TEST(brackets_of_a_thread_nest, "")
{
	setup("a.begin..a.end");
	take_all("a1@1000 a2@1100 a1@1200 o1@1201 A1@1210 A2@1400 A1@2000 A1@2001 a3@2002");
	CHECK_STR_EQ(found(),
		     "'pairs':[{" A_PAIR
		     ",'count':3,'unmatched_begins':1,'unmatched_ends':1,'cut':0,'without_key':0,"
		     "'min_ns':10,'p50_ns':300,'p90_ns':1000,'p99_ns':1000,'max_ns':1000,"
		     "'total_ns':1310}]");
	/* Nothing is left of these events. */
	CHECK_STR_EQ(figures(), "0 0 0 0 0");
}

TEST(a_field_is_the_key_across_threads_and_types_of_numbers, "")
{
	setup(" a.begin .. a.end by data.id ");
	/* The last one has no data, and so no key. */
	take_all("a1:7@1000 a1:8@1001 A2:7@1010 A3:8@1031 A1:9@1040 A1:-1@1041 a1@1050");
	CHECK_STR_EQ(figures(), "2 0 2 0 1 10 10 30 30 30 40");
}

/* Whether two values are the same key. */
static bool is_same_key(struct ptrc_value v, struct ptrc_value w)
{
	struct ptrc_key a, b;
	bool is_same;

	ptrc_key_begin(&a, 0);
	ptrc_key_add(&a, &v);
	ptrc_key_begin(&b, 0);
	ptrc_key_add(&b, &w);
	is_same = a.size == b.size && !memcmp(a.bytes, b.bytes, a.size);
	ptrc_key_free(&a);
	ptrc_key_free(&b);
	return is_same;
}

#define SIGNED(n, ...) ((struct ptrc_value){.kind = PTRC_VALUE_SIGNED, .i = (n), __VA_ARGS__})
#define UNSIGNED(n, ...) ((struct ptrc_value){.kind = PTRC_VALUE_UNSIGNED, .u = (n), __VA_ARGS__})
#define DOUBLE(n, ...) ((struct ptrc_value){.kind = PTRC_VALUE_DOUBLE, .f = (n), __VA_ARGS__})
#define FLOAT(n) ((struct ptrc_value){.kind = PTRC_VALUE_FLOAT, .f = (double)(n)})
#define BYTES_OF(k, text) \
	((struct ptrc_value){.kind = (k), .bytes = (text), .size = sizeof(text) - 1})

TEST(keys_are_equal_where_expressions_are, "")
{
	CHECK(is_same_key(SIGNED(1), UNSIGNED(1)));
	CHECK(is_same_key(SIGNED(1), DOUBLE(1.0)));
	CHECK(is_same_key(SIGNED(-1), DOUBLE(-1.0)));
	CHECK(is_same_key(SIGNED(0), DOUBLE(-0.0)));
	CHECK(!is_same_key(SIGNED(-1), UNSIGNED(UINT64_MAX)));
	CHECK(!is_same_key(SIGNED(-1), UNSIGNED(1)));
	CHECK(!is_same_key(UNSIGNED(1), DOUBLE(1.5)));
	CHECK(is_same_key(DOUBLE(0.1), FLOAT(0.1F)));
	CHECK(is_same_key(DOUBLE(NAN), DOUBLE(-NAN)));
	CHECK(is_same_key(FLOAT(INFINITY), DOUBLE(INFINITY)));
	CHECK(!is_same_key(DOUBLE(-INFINITY), DOUBLE(INFINITY)));
	/* Each integer is a key of its own, also those that an f64 does not tell apart. */
	CHECK(!is_same_key(UNSIGNED(UINT64_MAX), UNSIGNED(UINT64_MAX - 1)));
	CHECK(is_same_key(UNSIGNED(UINT64_C(1) << 63), DOUBLE(0x1p63)));
	CHECK(!is_same_key(UNSIGNED(UINT64_MAX), DOUBLE(0x1p64)));
	/* Of time the unit counts, of others it does not. */
	CHECK(is_same_key(UNSIGNED(5, .unit = PTRC_UNIT_US), SIGNED(5000, .unit = PTRC_UNIT_NS)));
	CHECK(is_same_key(SIGNED(-5, .unit = PTRC_UNIT_S), SIGNED(-5000, .unit = PTRC_UNIT_MS)));
	CHECK(is_same_key(DOUBLE(1.1, .unit = PTRC_UNIT_MS), SIGNED(1100, .unit = PTRC_UNIT_US)));
	CHECK(is_same_key(DOUBLE(1e12, .unit = PTRC_UNIT_S),
			  UNSIGNED(1000000000000, .unit = PTRC_UNIT_S)));
	CHECK(!is_same_key(UNSIGNED(UINT64_MAX, .unit = PTRC_UNIT_S),
			   UNSIGNED(UINT64_MAX - 1, .unit = PTRC_UNIT_S)));
	CHECK(!is_same_key(UNSIGNED(5, .unit = PTRC_UNIT_NS), UNSIGNED(5)));
	CHECK(!is_same_key(DOUBLE(0.5, .unit = PTRC_UNIT_NS), DOUBLE(0.5)));
	CHECK(is_same_key(UNSIGNED(5, .unit = PTRC_UNIT_KIB), UNSIGNED(5)));
	/* A text is no number, and its bytes count. */
	CHECK(!is_same_key(BYTES_OF(PTRC_VALUE_TEXT, "1"), UNSIGNED(1)));
	CHECK(!is_same_key(BYTES_OF(PTRC_VALUE_TEXT, "1"), BYTES_OF(PTRC_VALUE_TEXT, "1.0")));
	CHECK(is_same_key(BYTES_OF(PTRC_VALUE_JSON, "\"a\""), BYTES_OF(PTRC_VALUE_TEXT, "a")));
	CHECK(is_same_key(BYTES_OF(PTRC_VALUE_JSON, "1.0"), UNSIGNED(1)));
	CHECK(is_same_key(BYTES_OF(PTRC_VALUE_JSON, "1e3"), UNSIGNED(1000)));
	CHECK(is_same_key(BYTES_OF(PTRC_VALUE_JSON, "0.25"), DOUBLE(0.25)));
	/* So do the digits of whole numbers beyond 64 bits, up to 2^127. */
	CHECK(!is_same_key(BYTES_OF(PTRC_VALUE_JSON, "20261130184300000001"),
			   BYTES_OF(PTRC_VALUE_JSON, "20261130184300000002")));
	CHECK(!is_same_key(BYTES_OF(PTRC_VALUE_JSON, "-20261130184300000001"),
			   BYTES_OF(PTRC_VALUE_JSON, "-20261130184300000002")));
	CHECK(!is_same_key(BYTES_OF(PTRC_VALUE_JSON, "-20261130184300000001"),
			   BYTES_OF(PTRC_VALUE_JSON, "20261130184300000001")));
	CHECK(!is_same_key(BYTES_OF(PTRC_VALUE_JSON, "36893488147419103233"), DOUBLE(0x1p65)));
	CHECK(is_same_key(BYTES_OF(PTRC_VALUE_JSON, "36893488147419103232"), DOUBLE(0x1p65)));
	CHECK(is_same_key(BYTES_OF(PTRC_VALUE_JSON, "18446744073709551615000000000"),
			  BYTES_OF(PTRC_VALUE_JSON, "18446744073709551615000000000")));
	CHECK(is_same_key(BYTES_OF(PTRC_VALUE_JSON, "-85070591730234615865843651857942052864"),
			  DOUBLE(-0x1p126)));
	CHECK(is_same_key(BYTES_OF(PTRC_VALUE_JSON, "100000000000000000000"), FLOAT(1e20F)));
	/* Beyond that, they are doubles. */
	CHECK(is_same_key(BYTES_OF(PTRC_VALUE_JSON, "1000000000000000000000000000000000000001"),
			  DOUBLE(1e39)));
}

/* What was cut would be the same as other keys that begin so. */
TEST(a_key_grows_with_each_value, "")
{
	char text[100];
	struct ptrc_value v = {.kind = PTRC_VALUE_TEXT, .bytes = text, .size = sizeof(text)};
	struct ptrc_key k;

	memset(text, 'x', sizeof(text));
	ptrc_key_begin(&k, 1);
	for (size_t i = 1; i <= 3; i++) {
		ptrc_key_add(&k, &v);
		CHECK_EQ(k.size, sizeof(size_t) + i * (1 + sizeof(text)));
		CHECK_GE(malloc_usable_size(k.bytes), k.size);
		CHECK(!memcmp(k.bytes + k.size - sizeof(text), text, sizeof(text)));
	}
	ptrc_key_free(&k);
}

TEST(a_key_that_was_cut_is_none, "")
{
	setup("b.begin..b.end by data");
	give("a.begin..a.end by data.id");
	take_data(B_BEGIN, 1, 1000, "query one", 9);
	take_data(B_BEGIN, 1, 1001, "query two", 9);
	take_data(B_END, 1, 1002, "query one", 9);
	take_cut(B_BEGIN, 1, 1003, "query ", 6);
	take_cut(B_BEGIN, 1, 1004, "query ", 6);
	take_cut(B_END, 1, 1005, "query ", 6);
	CHECK_EQ(pairs.list[0].without_key, 3);
	CHECK_EQ(pairs.list[0].cut_keys, 3);
	/* What was cut behind the key makes no difference. */
	take_cut(A_BEGIN, 1, 2000, "\1\0\0\0", 4);
	take_cut(A_END, 1, 2010, "\1\0\0\0\0\0\0\0", 8);
	take_cut(A_END, 1, 2020, "\1\0\0\0", 4);
	CHECK_EQ(pairs.list[1].without_key, 1);
	CHECK_EQ(pairs.list[1].cut_keys, 1);
	found();
	CHECK_EQ(pairs.list[0].cut_keys, 0);
}

TEST(a_loss_between_the_events_of_a_pair_cuts_it, "")
{
	setup("a.begin..a.end");
	/* The ends may be of other begins, which were lost. */
	take_all("a1@1000 a2@1000 !0@1100 A1@1200 A3@1300");
	CHECK_STR_EQ(figures(), "0 0 0 3 0");
	/* Behind a loss, what is whole is measured. */
	take_all("!0@1000 a1@1001 A1@1002 a1@1003");
	CHECK_STR_EQ(figures(), "1 1 0 0 0 1 1 1 1 1 1");
}

/* A STOP because of this reason: 0 for a call, 1 for a full stream, 2 for a full log. */
static void take_stop(int64_t ns, int reason)
{
	take_data(POSIX_TRACE_STOP, 0, ns, &reason, sizeof(reason));
}

TEST(a_stop_cuts_pairs_as_an_overflow_does, "")
{
	static const trace_event_id_t losses[] = {POSIX_TRACE_OVERFLOW, POSIX_TRACE_RESUME,
						  POSIX_TRACE_ERROR, OS_LOST};

	for (int reason = 0; reason <= 2; reason++) {
		setup("a.begin..a.end");
		take_all("a1@1000 a2@1000");
		take_stop(1100, reason);
		take(POSIX_TRACE_START, 0, 1150);
		take_all("A1@1200 a4@1300 A4@1500 A3@1600");
		CHECK_STR_EQ(figures(), "1 0 0 3 0 200 200 200 200 200 200");
	}
	/* After the last stop by a call nothing is missing. */
	setup("a.begin..a.end");
	take(A_BEGIN, 1, 1000);
	take_stop(1100, 0);
	CHECK_STR_EQ(figures(), "0 1 0 0 0");
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++) {
		setup("a.begin..a.end");
		take(A_BEGIN, 1, 1000);
		take(losses[i], 0, 1100);
		take(A_END, 1, 1200);
		CHECK_STR_EQ(figures(), "0 0 0 1 0");
	}
}

/* If a log counts no loss, a full stream lost nothing before it restarted by itself. */
TEST(a_full_stop_that_lost_nothing_cuts_no_pair, "")
{
	for (int reason = 0; reason <= 1; reason++) {
		for (pid_t pid = 0; pid <= 1; pid++) {
			setup("a.begin..a.end");
			source.reader.is_complete = true;
			take(A_BEGIN, 1, 1000);
			take_stop(1100, reason);
			source.reader.event = (struct posix_trace_event_info){
				.posix_event_id = POSIX_TRACE_START,
				.posix_pid = pid,
				.posix_timestamp = {0, 1150},
			};
			ptrc_pairs_take(&pairs, &source);
			take(A_END, 1, 1200);
			CHECK_STR_EQ(figures(), reason == 1 && pid == 0
							? "1 0 0 0 0 200 200 200 200 200 200"
							: "0 0 0 1 0");
		}
	}
}

/* What is lost at an event is behind it, or up to it. */
TEST(how_long_a_stream_was_full_is_a_pair, "")
{
	static const struct {
		const char *pair;
		trace_event_id_t begin, end;
	} all[] = {
		{"posix_trace_stop..posix_trace_start", POSIX_TRACE_STOP, POSIX_TRACE_START},
		{"posix_trace_start..posix_trace_stop", POSIX_TRACE_START, POSIX_TRACE_STOP},
		{"posix_trace_overflow..posix_trace_resume", POSIX_TRACE_OVERFLOW,
		 POSIX_TRACE_RESUME},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const trace_event_id_t ids[] = {all[i].begin, all[i].end};

		setup(all[i].pair);
		for (int k = 0; k < 2; k++) {
			if (ids[k] == POSIX_TRACE_STOP)
				take_stop(1000 + k, 1);
			else
				take(ids[k], 0, 1000 + k);
		}
		CHECK_STR_EQ(figures(), "1 0 0 0 0 1 1 1 1 1 1");
	}
}

/* Where one log was full, a pair by a field of another one may have lost its end. */
TEST(a_full_stop_cuts_pairs_by_field_of_other_logs_until_the_start, "")
{
	for (int is_by_field = 0; is_by_field < 2; is_by_field++) {
		setup(is_by_field ? "a.begin..a.end by data.id" : "a.begin..a.end");
		take_key(A_BEGIN, 1, 1000, 1, 0);
		for (int k = 0; k < 2; k++) {
			static const int reason = 1;

			other.reader.event = (struct posix_trace_event_info){
				.posix_event_id = k ? POSIX_TRACE_START : POSIX_TRACE_STOP,
				.posix_timestamp = {0, 1100 + 100 * k},
			};
			other.reader.data = (const unsigned char *)&reason;
			other.reader.size = k ? 0 : sizeof(reason);
			ptrc_pairs_take(&pairs, &other);
			if (!k)
				take_key(A_BEGIN, 2, 1150, 2, 0);
		}
		take_all("A1:1@1300 A2:2@1301");
		CHECK_STR_EQ(figures(),
			     is_by_field ? "0 0 0 2 0" : "2 0 0 0 0 151 151 300 300 300 451");
	}
}

/* An event of the other log, which has no data. */
static void take_other(trace_event_id_t id, int64_t ns)
{
	other.reader.event =
		(struct posix_trace_event_info){.posix_event_id = id, .posix_timestamp = {0, ns}};
	ptrc_pairs_take(&pairs, &other);
}

/* What lies within a loss of another log may have had another begin or end there. */
TEST(a_loss_of_another_log_cuts_pairs_by_field_to_its_next_event_or_the_end, "")
{
	for (int has_end = 0; has_end < 2; has_end++) {
		setup("a.begin..a.end by data.id");
		take_other(POSIX_TRACE_OVERFLOW, 1000);
		take_all("a1:1@1100 A1:1@1200 a1:2@1300");
		if (has_end) {
			take_other(POSIX_TRACE_RESUME, 1400);
			take_key(A_BEGIN, 1, 1500, 3, 0);
			take_other(OTHER, 1600);
			take_key(A_END, 1, 1700, 3, 0);
		}
		CHECK_STR_EQ(figures(),
			     has_end ? "1 0 0 2 0 200 200 200 200 200 200" : "0 0 0 2 0");
	}
}

TEST(an_event_may_end_one_and_begin_the_next, "")
{
	setup("other..other");
	take_all("o1@1000 o1@1010 o1@1020 o1@1030 o1@1040");
	CHECK_STR_EQ(figures(), "4 1 1 0 0 10 10 10 10 10 40");
}

TEST(names_make_pairs_but_those_that_were_given, "")
{
	setup("a.begin..a.end by tid");
	pairs.is_by_name = true;
	for (int round = 0; round < 2; round++) {
		take_all("B1@999 b1@1000 a1@1001 o1@1002");
		ptrc_pairs_end(&pairs, true);
		CHECK_EQ(pairs.count, 2);
		CHECK_STR_EQ(pairs.list[1].begin, "b.begin");
		CHECK_STR_EQ(pairs.list[1].end, "b.end");
		CHECK(strstr(found(), "{'begin':'b.begin','end':'b.end','count':0,"
				      "'unmatched_begins':1,'unmatched_ends':1,"));
		CHECK_EQ(pairs.count, 1);
	}
}

TEST(values_of_a_field_have_rows_of_their_own, "")
{
	static struct ptrc_field per;
	struct ptrc_cli_reason why;
	const char *json;

	setup("a.begin..a.end by data.id");
	CHECK(ptrc_field_find("data.route", &layouts, &per, &why));
	pairs.per = &per;
	for (int i = 0; i < 100; i++)
		take_key(A_BEGIN, 1, 1000 + i, i, (unsigned char)(i % 3));
	for (int i = 0; i < 98; i++)
		take_key(A_END, 1, 2000 + i + i % 3, i, 0);
	/* Has no route. */
	take_key(A_END, 1, 3000, 1000, 0);
	json = found();
	CHECK(strstr(json, "'value':0,'count':33,'unmatched_begins':1,"));
	CHECK(strstr(json, "'value':1,'count':33,'unmatched_begins':0,"));
	CHECK(strstr(json, "'value':2,'count':32,'unmatched_begins':1,"));
	CHECK(strstr(json, "'by':'data.id','count':0,'unmatched_begins':0,"
			   "'unmatched_ends':1,"));
	/* The greatest total comes first. */
	CHECK(strstr(json, "'value':1,") < strstr(json, "'value':0,"));
	CHECK(strstr(json, "'value':0,") < strstr(json, "'value':2,"));
}

/* Many that are open at once, and never more memory than these need. */
TEST(memory_grows_with_what_is_open, "")
{
	setup("a.begin..a.end by data.id");
	for (int i = 0; i < 300000; i++) {
		take_key(A_BEGIN, 1, 1000 + i, i, 0);
		if (i >= 10000)
			take_key(A_END, 1, 1000 + i, i - 10000, 0);
		CHECK(pairs.open.count <= 10000);
	}
	CHECK_EQ(pairs.open.count, 10000);
	CHECK(pairs.open.slot_count < 65536);
	CHECK(!strncmp(figures(), "290000 10000 0 ", 15));
}

TEST(what_is_no_pair_is_refused_with_the_reason, "")
{
	static const char *const texts[] = {"",	    " ",	  "a..",      "..b",
					    " .. ", "a.. by pid", ".. by pid"};
	struct ptrc_cli_reason why;

	setup(NULL);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		CHECK(!ptrc_pairs_add(&pairs, texts[i], &layouts, &why));
		CHECK(strstr(why.text, "is not X, for X.begin..X.end, or BEGIN..END"));
	}
	CHECK(!ptrc_pairs_add(&pairs, "a..b by pidd", &layouts, &why));
	CHECK_STR_EQ(why.text, "events have no field 'pidd' (did you mean 'pid' or 'tid'?)");
	/* The number of the type is another one for the end. */
	CHECK(!ptrc_pairs_add(&pairs, "a..b by type_id", &layouts, &why));
	CHECK_STR_EQ(why.text,
		     "'type_id' is the number of the event type, and no field of the data");
	CHECK_EQ(pairs.count, 0);
	give("stand by..go by by tid");
	CHECK_STR_EQ(pairs.list[0].begin, "stand by");
	CHECK_STR_EQ(pairs.list[0].end, "go by");
	CHECK_EQ(pairs.list[0].by.id, PTRC_FIELD_TID);
	give("stand by by tid");
	CHECK_STR_EQ(pairs.list[1].begin, "stand by.begin");
	CHECK_STR_EQ(pairs.list[1].end, "stand by.end");
	CHECK_EQ(pairs.list[1].by.id, PTRC_FIELD_TID);
}

/* Two spans of one thread, that end in the order in which they began, as coroutines do. */
static const char *overlapping(const char *begin, const char *end)
{
	struct ptrc_cli_reason why;

	setup(NULL);
	ptrc_layouts_free(&layouts);
	memset(&layouts, 0, sizeof(layouts));
	if (!ptrc_layouts_add(&layouts, "b.begin", begin, &why) ||
	    !ptrc_layouts_add(&layouts, "b.end", end, &why))
		harness_fail("%s", why.text);
	pairs.is_by_name = true;
	take_data(B_BEGIN, 1, 1000, "\1\0\0\0", 4);
	take_data(B_BEGIN, 1, 1010, "\2\0\0\0", 4);
	take_data(B_END, 1, 1100, "\1\0\0\0", 4);
	take_data(B_END, 1, 1110, "\2\0\0\0", 4);
	return found();
}

TEST(events_that_both_have_a_key_are_paired_by_it, "")
{
	CHECK(strstr(overlapping("u32 key", "u32 key"),
		     "'by':'data.key','count':2,'unmatched_begins':0,'unmatched_ends':0,"
		     "'cut':0,'without_key':0,'min_ns':100,'p50_ns':100,"
		     "'p90_ns':100,"));
	/* If only one has it, the thread is the key. */
	CHECK(strstr(overlapping("u32 key", "u32 rest"), "'end':'b.end','count':2,"));
}

TEST(a_field_that_contradicts_the_nesting_is_named, "")
{
	setup("a.begin..a.end");
	take_all("a1:1@1000 a1:2@1010 A1:2@1100 A1:1@1110");
	CHECK(!pairs.list[0].is_crossed);
	take_all("a1:1@2000 a1:2@2010 A1:1@2100");
	CHECK(pairs.list[0].is_crossed);
	CHECK_STR_EQ(ptrc_common_name(&pairs.list[0].common), "id");
	found();
	CHECK(!pairs.list[0].is_crossed);
	/* What both have, and is another one in each event, is no key. */
	take_all("a1:1@1000 a1:2@1010 A1:3@1100");
	CHECK(!pairs.list[0].is_crossed);
	found();
}
