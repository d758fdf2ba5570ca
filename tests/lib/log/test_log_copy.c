/* SPDX-License-Identifier: MIT */
/* Logs that a program writes itself, of events that it has read elsewhere or made up. */
#include "tests/support/harness.h"
#include "tests/support/support.h"

#include <fcntl.h>
#include <malloc.h>
#include <posixtrace-log.h>
#include <sys/resource.h>

#define EPOCH 1700000000
#define NS INT64_C(1000000000)

/* A new log with the default attributes. */
static struct posixtrace_log_writer *begin(int fd)
{
	struct posixtrace_log_writer *log = NULL;

	CHECK_OK(posixtrace_log_writer_open(fd, NULL, NULL, &log));
	return log;
}

static trace_event_id_t type(struct posixtrace_log_writer *log, const char *name)
{
	trace_event_id_t id = 0;

	CHECK_OK(posixtrace_log_writer_type(log, name, NULL, &id));
	return id;
}

/* An event so many nanoseconds behind the epoch of the tests. */
static struct posixtrace_event event(trace_event_id_t id, int64_t ns, int thread, const void *data,
				     size_t size)
{
	return (struct posixtrace_event){
		.pt_info = {.posix_event_id = id,
			    .posix_pid = 40 + thread % 2,
			    .posix_tid = 40 + thread,
			    .posix_thread_id = (pthread_t)(0x7000 + thread),
			    .posix_prog_address = (void *)(uintptr_t)(0x400000 + id),
			    .posix_truncation_status = POSIX_TRACE_NOT_TRUNCATED,
			    .posix_timestamp = {EPOCH + ns / NS, ns % NS}},
		.pt_data = data,
		.pt_size = size};
}

static void add(struct posixtrace_log_writer *log, struct posixtrace_event e)
{
	CHECK_OK(posixtrace_log_writer_add(log, &e));
}

static void end(struct posixtrace_log_writer *log)
{
	CHECK_OK(posixtrace_log_writer_close(log, NULL, 0));
}

static struct ts_events end_and_read(struct posixtrace_log_writer *log, int fd)
{
	end(log);
	return ts_log_events(fd);
}

static void check_same_info(const struct posix_trace_event_info *a,
			    const struct posix_trace_event_info *b)
{
	CHECK_EQ(a->posix_pid, b->posix_pid);
	CHECK_EQ(a->posix_tid, b->posix_tid);
	CHECK_EQ(a->posix_thread_id, b->posix_thread_id);
	CHECK(a->posix_prog_address == b->posix_prog_address);
	CHECK_EQ(a->posix_truncation_status, b->posix_truncation_status);
	CHECK_EQ(ts_time_ns(&a->posix_timestamp), ts_time_ns(&b->posix_timestamp));
}

/* ---- what is read back ---- */

static void *emit(void *number)
{
	trace_event_id_t id = ts_id("emitted");
	char data[200];

	memset(data, (int)(intptr_t)number, sizeof(data));
	for (size_t i = 0; i < 3000; i++)
		posix_trace_event(id, data, i * 7 % (sizeof(data) + 1));
	return NULL;
}

/* Records ten events, of these three types in turn. */
static void emit_ten(const trace_event_id_t ids[3])
{
	for (uint32_t i = 0; i < 10; i++)
		ts_emit(ids[i % 3], i);
}

/* A log with all that a log may have: threads, filters, stops, flushes, data that was cut. */
static int make_source(void)
{
	const trace_event_id_t ids[] = {ts_id("first"), ts_id("second"), ts_id("third")};
	int fd = ts_temp_file();
	trace_attr_t attr = ts_attr(POSIX_TRACE_FLUSH, 8 << 20, 100);
	pthread_t threads[8];

	trace_id_t trid = ts_create_log(getpid(), &attr, fd);
	ts_start(trid);
	emit_ten(ids);
	for (intptr_t i = 0; i < 8; i++)
		threads[i] = ts_thread(emit, (void *)i);
	for (int i = 0; i < 8; i++)
		ts_join(threads[i]);
	trace_event_set_t set = ts_set(ids[0], 0);
	ts_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
	emit_ten(ids);
	set = ts_set(ids[1], POSIX_TRACE_STOP, 0);
	ts_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
	ts_stop(trid);
	ts_start(trid);
	emit_ten(ids);
	ts_flush(trid);
	ts_emit(ids[2], 11);
	ts_shutdown(trid);
	return fd;
}

/* Copies a log to its end, with the types in the order of the source. Returns how many events. */
static size_t copy(int from, struct posixtrace_log_writer *log)
{
	static trace_event_id_t types[POSIX_TRACE_UNNAMED_USEREVENT + TRACE_USER_EVENT_MAX];
	trace_id_t trid = ts_open_log(from);
	struct posixtrace_block *block;
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t id;
	size_t count = 0;
	int unavailable;

	for (;;) {
		CHECK_OK(posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable));
		if (unavailable)
			break;
		CHECK_OK(posix_trace_eventid_get_name(trid, id, name));
		types[id] = type(log, name);
	}
	for (;;) {
		CHECK_OK(posixtrace_log_next_block(trid, &block));
		if (!block)
			break;
		for (size_t i = 0; i < block->pt_count; i++) {
			struct posixtrace_event e = block->pt_events[i];

			e.pt_info.posix_event_id = types[e.pt_info.posix_event_id];
			add(log, e);
			count++;
		}
		posixtrace_log_free_block(block);
	}
	ts_close_log(trid);
	return count;
}

TEST(events_of_a_log_are_those_of_its_copy, "", NEEDS_KEEPER)
{
	int from = make_source(), to = ts_temp_file();
	struct posixtrace_log_writer *log = begin(to);
	size_t count = copy(from, log), cut = 0;

	end(log);
	struct ts_events a = ts_log_events(from);
	struct ts_events b = ts_log_events(to);
	CHECK_EQ(a.count, count);
	CHECK(a.count > 24000);
	CHECK_EQ(b.count, a.count);
	for (size_t i = 0; i < a.count; i++) {
		/* The types of the process were opened in that order in both. */
		CHECK_EQ(a.at[i].info.posix_event_id, b.at[i].info.posix_event_id);
		check_same_info(&a.at[i].info, &b.at[i].info);
		CHECK_EQ(a.at[i].len, b.at[i].len);
		CHECK_EQ(memcmp(a.at[i].data, b.at[i].data, a.at[i].len), 0);
		cut += a.at[i].info.posix_truncation_status == POSIX_TRACE_TRUNCATED_RECORD;
	}
	CHECK(cut > 0);
	CHECK_EQ(ts_count(&b, POSIX_TRACE_START), 2);
	CHECK_EQ(ts_count(&b, POSIX_TRACE_FILTER), 2);
	CHECK(ts_count(&b, POSIX_TRACE_FLUSH_STOP) > 0);
}

/* Many packets, many threads, and runs of events of one time, which go on over what is written at
 * once. */
TEST(the_order_is_that_of_adding, "")
{
	enum { COUNT = 300000, THREADS = 60 };
	static uint8_t of_thread[COUNT];
	static int64_t times[COUNT];
	int fd = ts_temp_file();
	struct posixtrace_log_writer *log = begin(fd);
	trace_event_id_t ids[2];
	struct posixtrace_block *block;
	uint32_t number = 0;
	int64_t ns = 0;

	ids[0] = type(log, "a");
	ids[1] = type(log, "b");
	for (uint32_t i = 0; i < COUNT; i++) {
		/* In the middle, one time for a third of all. */
		bool is_tied = i % COUNT > COUNT / 3 && i < COUNT / 3 * 2;

		of_thread[i] = (uint8_t)harness_draw(THREADS);
		if (!is_tied && harness_draw(3) == 0)
			ns += (int64_t)harness_draw(2000000);
		times[i] = ns;
		add(log, event(ids[i % 2], ns, of_thread[i], &i, sizeof(i)));
	}
	end(log);
	trace_id_t trid = ts_open_log(fd);
	for (;;) {
		CHECK_OK(posixtrace_log_next_block(trid, &block));
		if (!block)
			break;
		for (size_t i = 0; i < block->pt_count; i++, number++) {
			struct posixtrace_event e =
				event(ids[number % 2], times[number], of_thread[number], NULL, 0);
			uint32_t seen;

			CHECK_EQ(block->pt_events[i].pt_size, sizeof(seen));
			memcpy(&seen, block->pt_events[i].pt_data, sizeof(seen));
			CHECK_EQ(seen, number);
			check_same_info(&block->pt_events[i].pt_info, &e.pt_info);
		}
		posixtrace_log_free_block(block);
	}
	CHECK_EQ(number, COUNT);
	ts_close_log(trid);
}

TEST(system_events_of_one_time_keep_their_order, "")
{
	static const trace_event_id_t order[] = {POSIX_TRACE_STOP,
						 POSIX_TRACE_UNNAMED_USEREVENT,
						 POSIX_TRACE_FLUSH_STOP,
						 POSIX_TRACE_FLUSH_START,
						 POSIX_TRACE_ERROR,
						 POSIX_TRACE_STOP,
						 POSIX_TRACE_OVERFLOW,
						 POSIX_TRACE_RESUME,
						 POSIX_TRACE_ERROR,
						 POSIX_TRACE_RESUME,
						 POSIX_TRACE_UNNAMED_USEREVENT};
	enum { COUNT = sizeof(order) / sizeof(*order) };
	int fd = ts_temp_file();
	struct posixtrace_log_writer *log = begin(fd);

	for (size_t i = 0; i < COUNT; i++)
		add(log, event(order[i], 5, (int)(i % 3), "data", 4));
	struct ts_events all = end_and_read(log, fd);
	CHECK_EQ(all.count, COUNT);
	for (size_t i = 0; i < COUNT; i++)
		CHECK_EQ(all.at[i].info.posix_event_id, order[i]);
}

TEST(events_in_a_gap_are_left_out, "")
{
	int fd = ts_temp_file();
	struct posixtrace_log_writer *log = begin(fd);
	trace_event_id_t id = type(log, "a");

	add(log, event(id, 1, 0, NULL, 0));
	add(log, event(POSIX_TRACE_OVERFLOW, 2, 0, NULL, 0));
	add(log, event(id, 3, 0, NULL, 0));
	add(log, event(POSIX_TRACE_RESUME, 4, 0, NULL, 0));
	add(log, event(id, 5, 0, NULL, 0));
	struct ts_events all = end_and_read(log, fd);
	ts_expect_ids(&all, id, POSIX_TRACE_OVERFLOW, POSIX_TRACE_RESUME, id, 0);
}

/* What ends a filter need not be among the events, and others are of another trace. */
TEST(a_filter_leaves_nothing_out, "")
{
	int fd = ts_temp_file();
	struct posixtrace_log_writer *log = begin(fd);
	trace_event_id_t a = type(log, "a"), b = type(log, "b");
	trace_event_set_t sets[2];

	sets[0] = ts_set(a, POSIX_TRACE_START, POSIX_TRACE_STOP, 0);
	sets[1] = ts_set(b, POSIX_TRACE_FILTER, 0);
	add(log, event(POSIX_TRACE_START, 1, 0, sets, sizeof(sets[0])));
	add(log, event(a, 1, 1, NULL, 0));
	add(log, event(POSIX_TRACE_STOP, 2, 0, NULL, 0));
	add(log, event(POSIX_TRACE_FILTER, 3, 0, sets, sizeof(sets)));
	add(log, event(b, 3, 0, NULL, 0));
	add(log, event(b, 4, 1, NULL, 0));
	struct ts_events all = end_and_read(log, fd);
	ts_expect_ids(&all, POSIX_TRACE_START, a, POSIX_TRACE_STOP, POSIX_TRACE_FILTER, b, b, 0);
	CHECK_EQ(all.at[0].len, sizeof(sets[0]));
	CHECK_EQ(memcmp(all.at[3].data, sets, sizeof(sets)), 0);
}

/* ---- the log ---- */

TEST(a_log_has_the_attributes_that_were_given, "")
{
	struct timespec created = {EPOCH, 123456789};
	trace_attr_t attr = ts_attr(POSIX_TRACE_LOOP, 1 << 20, 77);
	struct posixtrace_log_writer *log;
	int fd = ts_temp_file();

	CHECK_OK(posix_trace_attr_setname(&attr, "copied"));
	/* A longer log was there. */
	CHECK_SYS(ftruncate(fd, 100000));
	CHECK_OK(posixtrace_log_writer_open(fd, &attr, &created, &log));
	/* It is read before it is closed, too, and has no end then. */
	trace_id_t trid = ts_open_log(fd);
	struct ts_values values = ts_values_of(trid);
	CHECK_STR_EQ(values.name, "copied");
	CHECK_EQ(values.created_ns, ts_time_ns(&created));
	CHECK_EQ(values.data_bytes, 77);
	CHECK_EQ(values.stream_policy, POSIX_TRACE_LOOP);
	CHECK_EQ(values.log_policy, POSIX_TRACE_APPEND);
	ts_close_log(trid);
	end(log);
	trid = ts_open_log(fd);
	CHECK_EQ(ts_status(trid).posix_stream_flush_error, 0);
	/* It has an index. */
	CHECK_OK(posixtrace_get_type_counts(trid, NULL, 0));
	ts_close_log(trid);
	CHECK(ts_file_size(fd) < 100000);
}

TEST(figures_have_names, "")
{
	struct posixtrace_count figures[64] = {{"untouched", 7}, {"untouched", 8}};
	trace_id_t trid = ts_create_running(getpid(), NULL);
	size_t all, count;

	CHECK_OK(posixtrace_get_counts(trid, NULL, 0, &all));
	CHECK_OK(posixtrace_get_counts(trid, figures, 1, &count));
	CHECK_EQ(count, all);
	CHECK_STR_EQ(figures[0].pt_name, "lost_events");
	CHECK_EQ(figures[1].pt_value, 8);
	CHECK_OK(posixtrace_get_counts(trid, figures, 64, &count));
	CHECK_EQ(count, all);
	for (size_t i = 1; i < count; i++)
		for (size_t k = 0; k < i; k++)
			CHECK(strcmp(figures[i].pt_name, figures[k].pt_name) != 0);
	CHECK_EQ(ts_figure(trid, "threads"), 0);
	ts_emit(ts_id("event"), 1);
	CHECK_EQ(ts_figure(trid, "threads"), 1);
	CHECK_EQ(posixtrace_get_counts(trid, NULL, 1, &count), EINVAL);
	CHECK_EQ(posixtrace_get_counts(trid, figures, 64, NULL), EINVAL);
	ts_shutdown(trid);
	CHECK_EQ(posixtrace_get_counts(trid, figures, 64, &count), EINVAL);
}

TEST(the_status_tells_what_was_lost, "")
{
	static const char unknown[] = "a_figure_of_a_later_version";
	struct posixtrace_count lost[] = {
		{"lost_events", 5},	      {"log_lost_events", 3},
		{"source_damaged_events", 7}, {"source_missed_events", 9},
		{"is_source_uncounted", 1},   {"source_damaged_parts", 11},
		{"untraced_processes", 13},   {"untraced_error", EMFILE},
		{"refused_names", 17},	      {unknown, 19},
	};
	const struct posixtrace_count damage[] = {
		{"source_damaged_events", 7}, {"damaged_events", 5}, {"file_gap_events", 2},
		{"missing_events", 4},	      {"damaged_parts", 3},  {"missing_names", 6},
		{"uncounted_gaps", 1},
	};
	const size_t count = sizeof(lost) / sizeof(lost[0]);
	int fd = ts_temp_file();

	CHECK_OK(posixtrace_log_writer_close(begin(fd), lost, count));
	trace_id_t trid = ts_open_log(fd);
	struct posix_trace_status_info status = ts_status(trid);
	CHECK_EQ(status.posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
	CHECK_EQ(status.posix_log_overrun_status, POSIX_TRACE_OVERRUN);
	for (size_t i = 0; i < count; i++)
		if (lost[i].pt_name != unknown)
			CHECK_EQ(ts_figure(trid, lost[i].pt_name), lost[i].pt_value);
	ts_close_log(trid);
	/* There is room for so many. */
	lost[5].pt_value = 65536;
	lost[8].pt_value = UINT32_MAX + UINT64_C(1);
	CHECK_OK(posixtrace_log_writer_close(begin(fd), lost, count));
	trid = ts_open_log(fd);
	CHECK_EQ(ts_figure(trid, "source_damaged_parts"), 65535);
	CHECK_EQ(ts_figure(trid, "refused_names"), UINT32_MAX);
	CHECK_EQ(ts_figure(trid, "is_source_uncounted"), 1);
	ts_close_log(trid);
	/* What reading the source has found missing is missing in its copy. */
	CHECK_OK(
		posixtrace_log_writer_close(begin(fd), damage, sizeof(damage) / sizeof(damage[0])));
	trid = ts_open_log(fd);
	CHECK_EQ(ts_figure(trid, "source_damaged_events"), 7 + 5 - 2 + 4);
	CHECK_EQ(ts_figure(trid, "source_damaged_parts"), 3 + 6);
	CHECK_EQ(ts_figure(trid, "is_source_uncounted"), 1);
	ts_close_log(trid);
	/* It is closed whatever is returned. */
	CHECK_EQ(posixtrace_log_writer_close(begin(fd), NULL, 1), EINVAL);
	trid = ts_open_log(fd);
	CHECK_EQ(ts_status(trid).posix_stream_flush_error, 0);
	ts_close_log(trid);
	CHECK_OK(posixtrace_log_writer_close(begin(fd), NULL, 0));
	trid = ts_open_log(fd);
	status = ts_status(trid);
	CHECK_EQ(status.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	CHECK_EQ(status.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
	ts_close_log(trid);
}

TEST(a_disk_that_is_full, "")
{
	static const char data[1000];
	struct rlimit limit = {1 << 20, 1 << 20};
	int fd = ts_temp_file(), error = 0;
	struct posixtrace_log_writer *log = begin(fd);
	trace_event_id_t id = type(log, "a");
	struct posixtrace_event e;
	int64_t ns = 0;

	signal(SIGXFSZ, SIG_IGN);
	CHECK_SYS(setrlimit(RLIMIT_FSIZE, &limit));
	for (; !error && ns < 10000; ns++) {
		e = event(id, ns, 0, data, sizeof(data));
		error = posixtrace_log_writer_add(log, &e);
	}
	CHECK_EQ(error, EFBIG);
	e = event(id, ns, 0, NULL, 0);
	CHECK_EQ(posixtrace_log_writer_add(log, &e), EFBIG);
	CHECK_EQ(posixtrace_log_writer_close(log, NULL, 0), EFBIG);
	/* What was written is there, and the log has no end. */
	trace_id_t trid = ts_open_log(fd);
	CHECK_EQ(ts_status(trid).posix_stream_flush_error, EOWNERDEAD);
	struct ts_events all = ts_read_log(trid);
	CHECK(all.count > 100 && all.count < 1100);
	ts_close_log(trid);
}

TEST(a_pipe_takes_a_log, "")
{
	int ends[2], fd = ts_temp_file();
	char bytes[65536];
	ssize_t n;

	CHECK_SYS(pipe(ends));
	struct posixtrace_log_writer *log = begin(ends[1]);
	trace_event_id_t id = type(log, "a");
	for (uint32_t i = 0; i < 10; i++)
		add(log, event(id, i, 0, &i, sizeof(i)));
	end(log);
	CHECK_SYS(close(ends[1]));
	while ((n = read(ends[0], bytes, sizeof(bytes))) > 0)
		CHECK_EQ(write(fd, bytes, (size_t)n), n);
	struct ts_events all = ts_log_events(fd);
	CHECK_EQ(all.count, 10);
	ts_expect_numbers(&all, id, 0, 9);
}

TEST(memory_does_not_grow_with_the_log, "")
{
	static const char data[4000];
	struct posixtrace_log_writer *log = begin(ts_temp_file());
	trace_event_id_t id = type(log, "a");
	size_t most = 0;

	for (int64_t ns = 0; ns < 20000; ns++) {
		add(log, event(id, ns, (int)(ns % 7), data, sizeof(data)));
		struct mallinfo2 m = mallinfo2();
		if (m.uordblks + m.hblkhd > most)
			most = m.uordblks + m.hblkhd;
	}
	end(log);
	/* The index has some bytes for each of the packets. */
	CHECK(most < (size_t)4 << 20);
}

TEST(memory_grows_with_the_events_of_one_time_only_as_they_do, "")
{
	static const char data[100];
	struct posixtrace_log_writer *log = begin(ts_temp_file());
	trace_event_id_t id = type(log, "a");
	struct rusage before, after;

	CHECK_SYS(getrusage(RUSAGE_SELF, &before));
	for (int i = 0; i < 200000; i++)
		add(log, event(id, 0, 0, data, sizeof(data)));
	end(log);
	CHECK_SYS(getrusage(RUSAGE_SELF, &after));
	/* In KiB; the events have 20 MB of data. */
	CHECK(after.ru_maxrss - before.ru_maxrss < 300 << 10);
}

/* ---- arguments and limits ---- */

static void refuse(struct posixtrace_log_writer *log, struct posixtrace_event e)
{
	CHECK_EQ(posixtrace_log_writer_add(log, &e), EINVAL);
}

TEST(arguments_that_are_refused, "")
{
	int fd = ts_temp_file(), ends[2];
	struct timespec bad = {0, NS};
	struct posixtrace_log_writer *log = NULL;
	static char large[1 << 20];
	trace_event_id_t id;
	trace_attr_t attr;

	CHECK_EQ(posixtrace_log_writer_open(fd, NULL, NULL, NULL), EINVAL);
	CHECK_EQ(posixtrace_log_writer_open(-1, NULL, NULL, &log), EBADF);
	CHECK_EQ(posixtrace_log_writer_open(ts_reopen(fd, O_RDONLY), NULL, NULL, &log), EBADF);
	CHECK_EQ(posixtrace_log_writer_open(fd, NULL, &bad, &log), EINVAL);
	bad.tv_nsec = -1;
	CHECK_EQ(posixtrace_log_writer_open(fd, NULL, &bad, &log), EINVAL);
	bad = (struct timespec){-1, 0};
	CHECK_EQ(posixtrace_log_writer_open(fd, NULL, &bad, &log), EINVAL);
	memset(&attr, 0, sizeof(attr));
	CHECK_EQ(posixtrace_log_writer_open(fd, &attr, NULL, &log), EINVAL);
	CHECK(!log);
	CHECK_EQ(ts_file_size(fd), 0);
	CHECK_SYS(pipe(ends));
	CHECK_SYS(close(ends[0]));
	signal(SIGPIPE, SIG_IGN);
	CHECK_EQ(posixtrace_log_writer_open(ends[1], NULL, NULL, &log), EPIPE);

	log = begin(fd);
	CHECK_EQ(posixtrace_log_writer_type(NULL, "a", NULL, &id), EINVAL);
	CHECK_EQ(posixtrace_log_writer_type(log, NULL, NULL, &id), EINVAL);
	CHECK_EQ(posixtrace_log_writer_type(log, "a", NULL, NULL), EINVAL);
	id = type(log, "a");
	/* 2^63 and 2^63 + 1 nanoseconds before 1970. */
	struct posixtrace_event e = event(id, 0, 0, NULL, 0);
	e.pt_info.posix_timestamp = (struct timespec){-9223372037, 145224192};
	add(log, e);
	e.pt_info.posix_timestamp = (struct timespec){-9223372037, 145224191};
	refuse(log, e);
	e = event(id, 10, 0, NULL, 0);
	refuse(NULL, e);
	CHECK_EQ(posixtrace_log_writer_add(log, NULL), EINVAL);
	add(log, e);
	refuse(log, event(id, 9, 0, NULL, 0));
	refuse(log, event(id + 1, 10, 0, NULL, 0));
	refuse(log, event(0, 10, 0, NULL, 0));
	refuse(log, event(UINT32_MAX, 10, 0, NULL, 0));
	refuse(log, event(id, 10, 0, NULL, 1));
	refuse(log, event(id, 10, 0, large, SIZE_MAX));
	e.pt_info.posix_truncation_status = POSIX_TRACE_TRUNCATED_READ + 1;
	refuse(log, e);
	e.pt_info.posix_truncation_status = -1;
	refuse(log, e);
	/* None of that has done harm. */
	add(log, event(id, 10, 0, large, 60000));
	CHECK_EQ(posixtrace_log_writer_close(NULL, NULL, 0), EINVAL);
	end(log);
	CHECK_EQ(ts_log_events(fd).count, 3);
}

TEST(times_up_to_the_limits, "")
{
	const struct timespec last = {INT64_MAX / NS, INT64_MAX % NS};
	const struct timespec too_early = {INT64_MIN / NS - 1, 0}, too_late = {10000000000, 0};
	int fd = ts_temp_file();
	struct posixtrace_log_writer *log = begin(fd);
	trace_event_id_t id = type(log, "a");
	struct posixtrace_event e = event(id, 0, 0, NULL, 0);

	e.pt_info.posix_timestamp = too_early;
	refuse(log, e);
	e.pt_info.posix_timestamp = (struct timespec){-1, 1};
	add(log, e);
	e.pt_info.posix_timestamp = too_late;
	refuse(log, e);
	e.pt_info.posix_timestamp = last;
	e.pt_info.posix_timestamp.tv_nsec++;
	refuse(log, e);
	e.pt_info.posix_timestamp = last;
	add(log, e);
	struct ts_events all = end_and_read(log, fd);
	CHECK_EQ(all.count, 2);
	CHECK_EQ(ts_time_ns(&all.at[0].info.posix_timestamp), 1 - NS);
	CHECK_EQ(ts_time_ns(&all.at[1].info.posix_timestamp), INT64_MAX);
}

TEST(names_up_to_the_limit, "")
{
	enum { NAMES = TRACE_USER_EVENT_MAX - 1 };
	int fd = ts_temp_file();
	struct posixtrace_log_writer *log = begin(fd);
	char name[TRACE_EVENT_NAME_MAX + 2], longest[TRACE_EVENT_NAME_MAX + 1] = "";
	trace_event_id_t id;

	memset(longest, 'y', TRACE_EVENT_NAME_MAX);
	const trace_event_id_t first = type(log, longest);
	CHECK_EQ(type(log, "posix_trace_stop"), POSIX_TRACE_STOP);
	CHECK_EQ(type(log, "posix_trace_unnamed_userevent"), POSIX_TRACE_UNNAMED_USEREVENT);
	for (int i = 1; i < NAMES; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		CHECK_EQ(type(log, name), first + (trace_event_id_t)i);
		if (i % 100 == 0)
			add(log, event(first + (trace_event_id_t)i, i, 0, NULL, 0));
	}
	CHECK_EQ(type(log, "n77"), first + 77);
	CHECK_EQ(type(log, "one more"), POSIX_TRACE_UNNAMED_USEREVENT);
	memset(name, 'x', sizeof(name));
	name[TRACE_EVENT_NAME_MAX + 1] = '\0';
	CHECK_EQ(posixtrace_log_writer_type(log, name, NULL, &id), ENAMETOOLONG);
	name[TRACE_EVENT_NAME_MAX] = '\0';
	CHECK_EQ(type(log, name), POSIX_TRACE_UNNAMED_USEREVENT);
	add(log, event(POSIX_TRACE_UNNAMED_USEREVENT, NAMES, 0, "x", 1));
	end(log);
	trace_id_t trid = ts_open_log(fd);
	for (int i = 0; i < NAMES; i += 1000) {
		char expected[16];

		snprintf(expected, sizeof(expected), "n%d", i);
		CHECK_OK(posix_trace_eventid_get_name(trid, first + (trace_event_id_t)i, name));
		CHECK_STR_EQ(name, i ? expected : longest);
	}
	struct ts_events all = ts_read_log(trid);
	CHECK_EQ(all.count, (NAMES - 1) / 100 + 1);
	CHECK_EQ(all.at[all.count - 1].info.posix_event_id, POSIX_TRACE_UNNAMED_USEREVENT);
	ts_close_log(trid);
}

/* Such an event has a packet of its own; others have at most 1 MiB. */
TEST(an_event_may_have_more_data_than_a_packet_of_several, "")
{
	static char data[(1 << 20) + 1000], seen[sizeof(data)];
	struct posix_trace_event_info info;
	int fd = ts_temp_file(), unavailable;
	size_t size;
	trace_attr_t attr = ts_attr(POSIX_TRACE_FLUSH, 1 << 20, sizeof(data));
	struct posixtrace_log_writer *log;
	trace_event_id_t id;

	CHECK_OK(posixtrace_log_writer_open(fd, &attr, NULL, &log));
	CHECK_OK(posixtrace_log_writer_type(log, "large", NULL, &id));
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7 / 3);
	add(log, event(id, 1, 0, data, sizeof(data)));
	end(log);
	trace_id_t trid = ts_open_log(fd);
	CHECK_OK(posix_trace_getnext_event(trid, &info, seen, sizeof(seen), &size, &unavailable));
	CHECK_EQ(size, sizeof(data));
	CHECK(!memcmp(seen, data, sizeof(data)));
	ts_close_log(trid);
}
