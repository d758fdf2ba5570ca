/* SPDX-License-Identifier: MIT */
/* What the commands show of logs with numbers that no writer writes. */
#include "tests/support/log_maker.h"

#include "src/summary/stat.h"
#include "src/text/event_format.h"

/* A log whose first event type has this name. */
static struct maker begin_log(struct ptrc_stream_header *h, const char *name)
{
	struct maker m = {.h = h, .names = calloc(1, sizeof(*m.names)), .fd = maker_file()};

	CHECK(m.names);
	CHECK_OK(ptrc_log_writer_init(&m.w, m.h, m.fd, false));
	CHECK_OK(ptrc_log_writer_head(&m.w));
	maker_name(&m, name);
	return m;
}

/* A log with an event at each of two times, and of a type whose name is empty. */
static int extreme_log(int64_t first_ns, int64_t last_ns, int64_t clockres_s)
{
	struct ptrc_stream_header *h = maker_header(POSIX_TRACE_APPEND, 0);
	struct maker_run r[2];
	struct maker m;

	h->attr.clockres_sec = clockres_s;
	m = begin_log(h, "");
	for (int i = 0; i < 2; i++) {
		run_begin(&r[i], 1 + i, 1);
		run_event(&r[i], (i ? last_ns : first_ns) - MAKER_EPOCH, 10, "x", 1);
	}
	CHECK_OK(maker_flush(&m, r, 2));
	maker_close(&m);
	return m.fd;
}

static void open_reader(struct ptrc_reader *r, char path[32], int fd)
{
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	CHECK(ptrc_reader_open(r, path));
}

TEST(spans_and_resolutions_beyond_64_bits, "")
{
	/* Times by 64-bit numbers; the span between them has no room in a signed one. */
	int fd = extreme_log(INT64_MIN + MAKER_EPOCH, INT64_MAX, INT64_MAX);
	struct ptrc_buffer b = PTRC_BUFFER_INIT;
	static struct ptrc_reader r;
	struct ptrc_stat s;
	char path[32];

	open_reader(&r, path, fd);
	CHECK_EQ(r.attributes.clock_resolution_ns, INT64_MAX);
	ptrc_stat_from_log(&s, &r);
	CHECK_EQ(s.types.event_count, 2);
	ptrc_stat_put_text(&b, &s, false);
	ptrc_buffer_char(&b, '\0');
	CHECK(strstr(b.bytes, "time span (s)           16746744073.709551615\n"));
	CHECK(strstr(b.bytes, "events per second       0.00\n"));
	b.used = 0;
	ptrc_stat_put_json(&b, &s);
}

/* A log with one event that claims that there may be larger ones, and whose file is a hole from the
 * log on to this offset. */
static int claiming_log(uint64_t max_data_size, off_t end)
{
	struct ptrc_stream_header *h = maker_header(POSIX_TRACE_APPEND, 0);
	struct maker_run run;
	struct maker m;

	h->attr.max_data_size = max_data_size;
	m = begin_log(h, "a");
	run_begin(&run, 1, 1);
	run_event(&run, 0, 10, "x", 1);
	flush_run(&m, &run);
	maker_close(&m);
	if (end)
		CHECK_SYS(ftruncate(m.fd, end));
	return m.fd;
}

TEST(a_log_that_claims_events_of_any_size, "")
{
	static const uint64_t sizes[] = {UINT64_MAX, UINT64_C(1) << 46, UINT64_C(1) << 33};
	static const off_t ends[] = {0, (off_t)1 << 40, (off_t)1 << 42};
	static struct ptrc_reader r;
	char path[32];

	for (size_t i = 0; i < 9; i++) {
		int fd = claiming_log(sizes[i / 3], ends[i % 3]);

		open_reader(&r, path, fd);
		CHECK(ptrc_reader_next(&r));
		CHECK_EQ(r.size, 1);
		ptrc_reader_close(&r);
		CHECK_SYS(close(fd));
	}
}

TEST(a_log_that_claims_more_than_there_is_of_memory, "")
{
	const struct rlimit limit = {UINT64_C(1) << 30, UINT64_C(1) << 30};
	int fd = claiming_log(UINT64_C(1) << 40, (off_t)1 << 40);
	static struct ptrc_reader r;
	char path[32];

#ifdef HARNESS_IS_SANITIZED
	SKIP("the sanitizer takes most of the address space");
#endif
	CHECK_SYS(setrlimit(RLIMIT_AS, &limit));
	open_reader(&r, path, fd);
	CHECK(ptrc_reader_next(&r));
	CHECK_EQ(r.size, 1);
}

TEST(names_that_are_empty, "")
{
	int fd = extreme_log(MAKER_EPOCH, MAKER_EPOCH + 1, 0);
	struct ptrc_event_format format = {.format = PTRC_FORMAT_TEXT,
					   .widths[PTRC_COLUMN_EVENT] = 8};
	struct ptrc_buffer b = PTRC_BUFFER_INIT;
	static struct ptrc_reader r;
	struct ptrc_view view = {.reader = &r};
	char path[32];

	open_reader(&r, path, fd);
	CHECK(ptrc_reader_next(&r));
	CHECK_EQ(ptrc_reader_name(&r, 10)->size, 0);
	ptrc_event_put(&b, &format, &view);
	ptrc_buffer_char(&b, '\0');
	/* The column of names is as wide as before, and empty. */
	CHECK(strstr(b.bytes, " 101 201          0x"));
	CHECK(strstr(b.bytes, " \"x\"\n"));
}
