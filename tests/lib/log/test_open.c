/* SPDX-License-Identifier: MIT */
/*
 * posix_trace_open, posix_trace_close, posix_trace_rewind, and what a pre-recorded stream
 * answers; logs that are cut, damaged or shrink while they are read.
 */
#include "tests/support/private_user.h"

#include "tests/support/logs.h"

#define KIB ((size_t)1024)

/* ---- logs to read ---- */

/* A closed log of `portions' flushes of `each' numbered events of len bytes, of two types
 * in turn. */
static int make_log(int log_policy, size_t log_bytes, int portions, uint32_t each, size_t len)
{
	int fd = ts_temp_file();
	trace_attr_t attr = log_attr(POSIX_TRACE_UNTIL_FULL, 256 * KIB, log_policy, log_bytes);
	trace_event_id_t ids[2] = {ts_id("even event"), ts_id("odd event")};
	uint32_t number = 0;

	CHECK_OK(posix_trace_attr_setname(&attr, "a log to be read"));
	trace_id_t trid = ts_create_log(0, &attr, fd);
	ts_start(trid);
	for (int i = 0; i < portions; i++) {
		for (uint32_t end = number + each; number < end; number++)
			emit_run(ids[number % 2], number, number + 1, len);
		ts_flush(trid);
	}
	ts_shutdown(trid);
	return fd;
}

/* The log has this event next. */
static void expect_next(trace_id_t trid, const struct ts_event *expected)
{
	struct ts_event event = ts_next(trid);

	expect_same_event(&event, expected);
}

/* What is left of the log are these events, the first of them as `from`. */
static void expect_rest(trace_id_t trid, const struct ts_events *all, size_t from)
{
	struct ts_events rest = ts_read_log(trid);

	CHECK_EQ(rest.count, all->count - from);
	for (size_t i = 0; i < rest.count; i++)
		expect_same_event(&rest.at[i], &all->at[from + i]);
}

static int make_small_log(void)
{
	return make_log(POSIX_TRACE_APPEND, 0, 3, 10, 20);
}

/* ---- opening and reading ---- */

/* The log of make_log() has the numbers 0 to 499, the types of its events have these names, and
 * START and STOP are around them. */
static void expect_log_of_500(int fd)
{
	trace_id_t trid = ts_open_log(fd);
	struct ts_events all = ts_read_log(trid), events = without_markers(&all);

	CHECK_NE(trid, 0);
	CHECK_EQ(events.count, 502);
	CHECK_EQ(id_at(&events, 0), POSIX_TRACE_START);
	for (uint32_t i = 0; i < 500; i++) {
		ts_expect_name(trid, id_at(&events, i + 1), i % 2 ? "odd event" : "even event");
		CHECK_EQ(ts_number(&events.at[i + 1]), i);
	}
	CHECK_EQ(id_at(&events, 501), POSIX_TRACE_STOP);
	ts_expect_sorted(&all);
	ts_close_log(trid);
}

TEST(log_opens_at_its_oldest_event, "OPEN-01 OPEN-11 OPEN-18 SHUTDOWN-08", NEEDS_KEEPER)
{
	expect_log_of_500(make_log(POSIX_TRACE_APPEND, 0, 5, 100, 30));
}

TEST(what_is_no_log_is_einval, "OPEN-03 LOG-37", NEEDS_KEEPER)
{
	trace_id_t trid = 4711;
	int fd = ts_temp_file();
	CHECK_EQ(posix_trace_open(fd, &trid), EINVAL);

	static unsigned char block[100000];
	put_bytes(fd, "not a trace log at all\n", 23);
	CHECK_EQ(posix_trace_open(fd, &trid), EINVAL);
	put_bytes(fd, block, sizeof(block));
	CHECK_EQ(posix_trace_open(fd, &trid), EINVAL);
	memset(block, 0xff, sizeof(block));
	put_bytes(fd, block, sizeof(block));
	CHECK_EQ(posix_trace_open(fd, &trid), EINVAL);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (unsigned char)harness_draw(256);
	put_bytes(fd, block, sizeof(block));
	CHECK_EQ(posix_trace_open(fd, &trid), EINVAL);
	int self = CHECK_SYS(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	CHECK_EQ(posix_trace_open(self, &trid), EINVAL);
	/* A log, but not from its first byte on. */
	size_t bytes;
	unsigned char *log = file_bytes(make_small_log(), &bytes);
	put_bytes(fd, log + 1, bytes - 1);
	CHECK_EQ(posix_trace_open(fd, &trid), EINVAL);
	CHECK_EQ(trid, 4711);
}

TEST(unusable_descriptor_is_einval, "OPEN-04 OPEN-13 OPEN-17", NEEDS_KEEPER)
{
	trace_id_t trid = 4711;
	int fd = make_small_log();
	int writing = ts_reopen(fd, O_WRONLY), path_only = ts_reopen(fd, O_PATH);
	int closed = dup(fd), ends[2], sockets[2];
	close(closed);
	CHECK_EQ(posix_trace_open(-1, &trid), EINVAL);
	CHECK_EQ(posix_trace_open(closed, &trid), EINVAL);
	CHECK_EQ(posix_trace_open(writing, &trid), EINVAL);
	CHECK_EQ(posix_trace_open(path_only, &trid), EINVAL);
	int dir = CHECK_SYS(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	CHECK_EQ(posix_trace_open(dir, &trid), EINVAL);

	size_t bytes;
	unsigned char *data = file_bytes(fd, &bytes);
	open_pipe(ends, 0);
	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	CHECK_LT(bytes, 60000);
	CHECK_EQ(write(ends[1], data, bytes), (ssize_t)bytes);
	CHECK_EQ(write(sockets[1], data, bytes), (ssize_t)bytes);
	CHECK_EQ(posix_trace_open(ends[0], &trid), EINVAL);
	CHECK_EQ(posix_trace_open(sockets[0], &trid), EINVAL);
	int zero = CHECK_SYS(open("/dev/zero", O_RDONLY | O_CLOEXEC));
	int null = CHECK_SYS(open("/dev/null", O_RDONLY | O_CLOEXEC));
	CHECK_EQ(posix_trace_open(zero, &trid), EINVAL);
	CHECK_EQ(posix_trace_open(null, &trid), EINVAL);
	CHECK_EQ(trid, 4711);
	CHECK_EQ(posix_trace_open(fd, NULL), EINVAL);
	/* Nothing was taken out of the pipe, and nothing closed. */
	CHECK_EQ(read(ends[0], data, bytes), (ssize_t)bytes);
	CHECK_SYS(fcntl(writing, F_GETFD));
	CHECK_SYS(fcntl(sockets[0], F_GETFD));
}

TEST(a_descriptor_past_the_cache_is_as_good, "OPEN-11 LOG-10", NEEDS_KEEPER)
{
	char path[4096];
	ts_temp_named(path, sizeof(path));
	int direct = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	trace_event_id_t id = ts_id("event");
	CHECK_SYS(unlink(path));
	if (direct < 0)
		SKIP("the file system has no O_DIRECT");
	trace_id_t trid = start_log(POSIX_TRACE_UNTIL_FULL, 0, POSIX_TRACE_APPEND, 0, direct);
	emit_run(id, 0, 10, 100);
	ts_expect_logged(trid, direct, id, 0, 9);
	/* It is what it was. */
	CHECK(fcntl(direct, F_GETFL) & O_DIRECT);
}

TEST(signals_do_not_interrupt_an_open, "OPEN-05 ERRORS-09", NEEDS_KEEPER)
{
	int fd = make_log(POSIX_TRACE_APPEND, 0, 10, 300, 60);
	for (int i = 0; i < 300; i++) {
		trace_id_t trid;
		struct posix_trace_status_info status;
		ts_interrupt(20 + i);
		CHECK_OK(posix_trace_open(fd, &trid));
		CHECK_OK(posix_trace_get_status(trid, &status));
		CHECK_OK(posix_trace_rewind(trid));
		CHECK_OK(posix_trace_close(trid));
		ts_interrupt_end();
	}
}

TEST(close_frees_everything, "OPEN-08 CREATE-22 ERRORS-04 GEN-04", NEEDS_KEEPER)
{
	int fd = make_small_log();
	trace_id_t trid = ts_open_log(fd), old = trid;
	size_t fds = 0, maps = 0;
	struct posix_trace_status_info status;

	ts_close_log(trid);
	CHECK_EQ(posix_trace_close(trid), EINVAL);
	for (int i = 0; i < 2000; i++) {
		CHECK_OK(posix_trace_open(fd, &trid));
		CHECK_NE(trid, old);
		ts_next(trid);
		CHECK_OK(posix_trace_close(trid));
		CHECK_EQ(posix_trace_close(trid), EINVAL);
		CHECK_EQ(posix_trace_rewind(trid), EINVAL);
		CHECK_EQ(posix_trace_get_status(trid, &status), EINVAL);
		/* Once the allocator has settled. */
		if (i == 100) {
			fds = count_entries("/proc/self/fd");
			maps = count_lines("/proc/self/maps");
		}
	}
	CHECK_EQ(count_entries("/proc/self/fd"), fds);
#ifdef HARNESS_IS_SANITIZED
	/* The allocator of a sanitizer takes more, now and then. */
	CHECK_LE(count_lines("/proc/self/maps"), maps + 64);
#else
	CHECK_LE(count_lines("/proc/self/maps"), maps + 2);
#endif
}

TEST(descriptor_is_left_alone, "OPEN-09 OPEN-12", NEEDS_KEEPER)
{
	int fd = make_log(POSIX_TRACE_APPEND, 0, 10, 1000, 60);
	CHECK_SYS(lseek(fd, 1234, SEEK_SET));
	trace_id_t trid = ts_open_log(fd);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 1234);
	struct ts_events first = ts_read_log(trid);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 1234);
	/* Moving it about in the middle of reading is no matter either, nor is closing it. */
	CHECK_OK(posix_trace_rewind(trid));
	for (size_t i = 0; i < 200; i++) {
		CHECK_SYS(lseek(fd, (off_t)(i * 17), SEEK_SET));
		expect_next(trid, &first.at[i]);
	}
	off_t end = CHECK_SYS(lseek(fd, 0, SEEK_END));
	trace_id_t another = ts_open_log(fd);
	ts_close_log(another);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), end);
	close(fd);
	expect_rest(trid, &first, 200);
	ts_close_log(trid);

	int none = ts_temp_file();
	put_bytes(none, "no log", 6);
	CHECK_SYS(lseek(none, 3, SEEK_SET));
	CHECK_EQ(posix_trace_open(none, &trid), EINVAL);
	CHECK_EQ(lseek(none, 0, SEEK_CUR), 3);
}

static trace_event_id_t next_type(trace_id_t trid)
{
	trace_event_id_t id;
	int unavailable;

	CHECK_OK(posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable));
	CHECK(!unavailable);
	return id;
}

TEST(log_may_be_opened_several_times, "OPEN-06 OPEN-10 EVENTLIST-09", NEEDS_KEEPER)
{
	int fd = make_small_log();
	trace_id_t a = ts_open_log(fd), b = ts_open_log(fd);
	CHECK_NE(a, b);
	struct ts_events all = ts_read_log(a);
	expect_next(b, &all.at[0]);
	CHECK_OK(posix_trace_rewind(a));
	expect_next(b, &all.at[1]);
	for (size_t i = 0; i < 20; i++)
		expect_next(a, &all.at[i]);
	/* From the middle. */
	CHECK_OK(posix_trace_rewind(a));
	expect_rest(a, &all, 0);

	next_type(a);
	trace_event_id_t second = next_type(a);
	CHECK_NE(next_type(b), second);
	CHECK_OK(posix_trace_eventtypelist_rewind(b));
	next_type(b);
	CHECK_EQ(next_type(b), second);
	ts_close_log(a);
	expect_next(b, &all.at[2]);
	ts_close_log(b);
}

/* Argument: descriptor of a log. */
HELPER(analyze)
{
	CHECK_EQ(argc, 1);
	/* Takes up identifiers that mean something else in the log. */
	for (int i = 0; i < 5; i++) {
		char name[32];
		snprintf(name, sizeof(name), "unrelated %d", i);
		ts_id(name);
	}
	expect_log_of_500(atoi(argv[0]));
	return 0;
}

TEST(unrelated_process_reads_the_log_later, "OPEN-12 LOG-41 GEN-12 EVENTID-27", NEEDS_KEEPER)
{
	int ends[2];
	CHECK_SYS(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
	pid_t writer = harness_fork();
	if (writer == 0) {
		int log = make_log(POSIX_TRACE_APPEND, 0, 5, 100, 30);
		send_fd(ends[1], log);
		_exit(0);
	}
	int fd = receive_fd(ends[0]);
	CHECK_GE(fd, 0);
	CHECK_EXIT(writer, 0);
	if (IN_CHILD()) {
		char number[16];
		snprintf(number, sizeof(number), "%d", CHECK_SYS(dup(fd)));
		harness_exec("analyze", number, (char *)NULL);
	}
}

TEST(reading_marks_the_access_time, "OPEN-16", NEEDS_KEEPER)
{
	int fd = make_small_log();
	struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	struct stat st;
	char byte;

	/* Do the mount options let it at all? */
	CHECK_SYS(futimens(fd, times));
	CHECK_EQ(pread(fd, &byte, 1, 0), 1);
	CHECK_SYS(fstat(fd, &st));
	if (st.st_atim.tv_sec == 1000000000)
		SKIP("the file system does not keep access times");
	CHECK_SYS(futimens(fd, times));
	struct ts_events events = ts_log_events(fd);
	CHECK_GT(events.count, 0);
	CHECK_SYS(fstat(fd, &st));
	CHECK_GT(st.st_atim.tv_sec, 1000000000);
}

static void *read_whole_log(void *arg)
{
	const trace_id_t *trid = arg;
	size_t count = 0;
	for (;;) {
		struct posix_trace_event_info info;
		char data[100];
		size_t len;
		int unavailable;
		CHECK_OK(posix_trace_getnext_event(*trid, &info, data, sizeof(data), &len,
						   &unavailable));
		if (unavailable)
			return (void *)count;
		count++;
	}
}

TEST(threads_share_a_position, "GEN-01 OPEN-18", NEEDS_KEEPER)
{
	int fd = make_log(POSIX_TRACE_APPEND, 0, 10, 1000, 16);
	struct ts_events expected = ts_log_events(fd);
	trace_id_t trid = ts_open_log(fd);
	pthread_t threads[4];
	size_t count = 0;
	for (int i = 0; i < 4; i++)
		threads[i] = ts_thread(read_whole_log, &trid);
	for (int i = 0; i < 4; i++)
		count += (size_t)(uintptr_t)ts_join(threads[i]);
	CHECK_EQ(count, expected.count);
	ts_close_log(trid);
}

/* ---- damage ---- */

TEST(cut_log_says_it_was_not_closed, "OPEN-15 STATUS-27", NEEDS_KEEPER)
{
	int fd = make_log(POSIX_TRACE_APPEND, 0, 6, 20, 24);
	CHECK_SYS(ftruncate(fd, ts_file_size(fd) * 2 / 3));
	trace_id_t log = ts_open_log(fd);
	expect_unfinished(log);
	ts_close_log(log);
}

TEST(random_damage_does_no_harm, "OPEN-15", NEEDS_KEEPER)
{
	static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};

	for (size_t p = 0; p < 3; p++) {
		int fd = make_log(log_policies[p], 64 * KIB, 30, 50, 60);
		size_t bytes;
		unsigned char *data = file_bytes(fd, &bytes);
		unsigned char *damaged = malloc(2 * bytes);
		int copy = ts_temp_file();
		CHECK(damaged);
		for (int round = 0; round < 300; round++) {
			size_t len = bytes, at = harness_draw(bytes), to = harness_draw(bytes);
			size_t run = 1 + harness_draw(bytes - at < 64 ? bytes - at : 64);
			memcpy(damaged, data, bytes);
			memcpy(damaged + bytes, data, bytes);
			switch (round % 5) {
			case 0:
				/* A run of one value. */
				memset(damaged + at, values[harness_draw(5)], run);
				break;
			case 1:
				/* A part of the log in the place of another. */
				memmove(damaged + at, data + to, bytes - (at > to ? at : to));
				break;
			case 2:
				/* Something missing in the middle. */
				memmove(damaged + at, damaged + at + run, bytes - at - run);
				len -= run;
				break;
			case 3:
				/* The log twice, the second from somewhere on. */
				memmove(damaged + bytes, data + at, bytes - at);
				len = 2 * bytes - at;
				break;
			default:
				for (size_t i = at; i < bytes; i += 1 + harness_draw(997))
					damaged[i] = (unsigned char)harness_draw(256);
				break;
			}
			put_bytes(copy, damaged, len);
			trace_id_t trid;
			int err = posix_trace_open(copy, &trid);
			if (err) {
				CHECK_EQ(err, EINVAL);
				continue;
			}
			struct ts_events events = ts_read_log(trid);
			ts_events_free(&events);
			CHECK_OK(posix_trace_close(trid));
		}
	}
}

TEST(file_may_shrink_while_open, "OPEN-15", NEEDS_KEEPER)
{
	for (size_t p = 0; p < 3; p++) {
		int fd = make_log(log_policies[p], 1024 * KIB, 40, 300, 60);
		struct ts_events good = ts_log_events(fd);
		off_t size = ts_file_size(fd);
		for (int part = 3; part >= 0; part--) {
			int copy = file_copy(fd);
			trace_id_t trid = ts_open_log(copy);
			size_t count = 0;
			trace_attr_t attr;
			for (; count < 1000; count++)
				expect_next(trid, &good.at[count]);
			CHECK_SYS(ftruncate(copy, size * part / 4));
			struct ts_events rest = ts_read_log(trid);
			/* The gap comes last, if there is one. */
			size_t kept = rest.count;
			if (kept >= 2 && id_at(&rest, kept - 1) == POSIX_TRACE_RESUME)
				kept -= 2;
			CHECK_LE(count + kept, good.count);
			for (size_t i = 0; i < kept; i++)
				expect_same_event(&rest.at[i], &good.at[count + i]);
			/* The second half is certainly gone. */
			if (part < 2)
				CHECK_LT(count + kept, good.count);
			ts_status(trid);
			CHECK_OK(posix_trace_get_attr(trid, &attr));
			CHECK_OK(posix_trace_rewind(trid));
			struct ts_events again = ts_read_log(trid);
			CHECK_LE(again.count, good.count);
			ts_close_log(trid);
		}
	}
}

TEST(reader_waits_for_no_living_controller, "OPEN-14", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	pid_t pid = harness_fork();
	if (pid == 0) {
		trace_id_t trid =
			start_log(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0, fd);
		emit_run(ts_id("event"), 0, 10, 4);
		ts_flush(trid);
		harness_stand_still();
	}
	harness_wait_until_still(pid);
	long naps = harness_naps();
	CHECK_EQ(count_so_far(fd, ts_id("event")), 10);
	/* For a dead one it would sleep 5 ms again and again, for ten seconds. */
	CHECK_LT(harness_naps() - naps, 1000);
	harness_kill(pid);
}
