/* SPDX-License-Identifier: MIT */
/*
 * posix_trace_create_withlog, posix_trace_flush, the log-full policies, the stream-full
 * policies as far as a log is concerned, and the status of logs.
 */
#include "include/posixtrace-private.h"
#include "tests/support/private_user.h"

#include "tests/support/failing_sync.h"
#include "tests/support/keeper.h"

#include <posixtrace-control.h>
#include <posixtrace.h>
#include <sys/eventfd.h>
#include <sys/un.h>
#include <termios.h>

#define KIB ((size_t)1024)

/* Signals that a failed write could raise, counted. */
static _Atomic int signals_seen;

static void count_signal(int signal_number)
{
	(void)signal_number;
	atomic_fetch_add(&signals_seen, 1);
}

static void count_signals(int signal_number)
{
	struct sigaction action = {.sa_handler = count_signal};
	CHECK_SYS(sigaction(signal_number, &action, NULL));
}

/* The numbers of the events of the type are in one unbroken run; its first and end. */
static void expect_run(const struct ts_events *events, trace_event_id_t id, uint32_t *first,
		       uint32_t *end)
{
	*first = *end = 0;
	for (size_t i = 0; i < events->count; i++) {
		if (events->at[i].info.posix_event_id != id)
			continue;
		uint32_t number = ts_number(&events->at[i]);
		if (*first == *end)
			*first = number;
		else
			CHECK_EQ(number, *end);
		*end = number + 1;
	}
}

/* The numbers of the events of the type are one unbroken run from 0; its end. */
static uint32_t end_of_run(const struct ts_events *events, trace_event_id_t id)
{
	uint32_t first, end;

	expect_run(events, id, &first, &end);
	CHECK_EQ(first, 0);
	return end;
}

static struct ptrc_counts log_counts(int fd)
{
	trace_id_t trid = ts_open_log(fd);
	struct ptrc_counts counts = counts_of(trid);
	ts_close_log(trid);
	return counts;
}

/* ---- creation ---- */

TEST(logged_stream_is_born_like_a_plain_one,
     "LOG-01 CREATE-01 CREATE-03 CREATE-04 CREATE-05 CREATE-06 STATUS-10 STATUS-18", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	trace_attr_t attr = log_attr(0, 64 * KIB, POSIX_TRACE_APPEND, 0);
	CHECK_OK(posix_trace_attr_setname(&attr, "a name"));
	int64_t before = ts_realtime_ns();
	trace_id_t trid = ts_create_log(getpid(), &attr, fd);
	int64_t after = ts_realtime_ns();
	CHECK_NE(trid, 0);

	expect_pristine(trid);
	ts_expect_filter(trid, 0);
	struct ts_values values = ts_values_of(trid);
	CHECK_GE(values.created_ns, before);
	CHECK_LE(values.created_ns, after);
	CHECK_STR_EQ(values.name, "a name");
	ts_shutdown(trid);

	trid = ts_create_log(0, NULL, fd);
	ts_shutdown(trid);
}

TEST(create_withlog_refuses_what_create_refuses, "LOG-01 CREATE-13 CREATE-16 CREATE-21 CREATE-25")
{
	int fd = ts_temp_file();
	trace_attr_t attr, none;
	trace_id_t trid = 4711;
	memset(&none, 0, sizeof(none));
	attr = ts_attr(0, 0, 0);

	CHECK_EQ(posix_trace_create_withlog(0, &attr, fd, NULL), EINVAL);
	CHECK_EQ(posix_trace_create_withlog(0, &none, fd, &trid), EINVAL);
	CHECK_EQ(posix_trace_create_withlog(-1, &attr, fd, &trid), ESRCH);
	pid_t pid = harness_fork();
	if (pid == 0)
		_exit(0);
	siginfo_t info;
	CHECK_SYS(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
	CHECK_EQ(posix_trace_create_withlog(pid, &attr, fd, &trid), ESRCH);
	harness_reap(pid);
	CHECK_EQ(posix_trace_create_withlog(pid, &attr, fd, &trid), ESRCH);
	CHECK_OK(posix_trace_attr_setstreamsize(&attr, SIZE_MAX / 2));
	CHECK_EQ(posix_trace_create_withlog(0, &attr, fd, &trid), ENOMEM);
	CHECK_EQ(trid, 4711);
}

TEST(descriptor_not_open_for_writing_is_ebadf, "LOG-03")
{
	int file = ts_temp_file();
	int for_reading = ts_reopen(file, O_RDONLY), path_only = ts_reopen(file, O_PATH);
	int closed = dup(file);
	trace_id_t trid = 4711;

	close(closed);
	CHECK_EQ(posix_trace_create_withlog(0, NULL, -1, &trid), EBADF);
	CHECK_EQ(posix_trace_create_withlog(0, NULL, closed, &trid), EBADF);
	CHECK_EQ(posix_trace_create_withlog(0, NULL, for_reading, &trid), EBADF);
	CHECK_EQ(posix_trace_create_withlog(0, NULL, path_only, &trid), EBADF);
	CHECK_EQ(trid, 4711);
}

TEST(regular_file_takes_every_log_policy, "LOG-04 LOG-05 POLICY-05", NEEDS_KEEPER)
{
	static const int policies[] = {POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND,
				       0};
	for (size_t i = 0; i < 4; i++) {
		int fd = ts_temp_file();
		trace_id_t trid = create_log(0, 0, policies[i], 0, fd);
		CHECK_EQ(ts_values_of(trid).log_policy,
			 policies[i] ? policies[i] : POSIX_TRACE_LOOP);
		ts_shutdown(trid);
		expect_closed_log(fd);
	}
}

static int open_terminal(int *other_end)
{
	struct termios settings;
	int master = CHECK_SYS(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
	CHECK_SYS(grantpt(master));
	CHECK_SYS(unlockpt(master));
	int slave = CHECK_SYS(open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC));
	CHECK_SYS(tcgetattr(slave, &settings));
	cfmakeraw(&settings);
	CHECK_SYS(tcsetattr(slave, TCSANOW, &settings));
	*other_end = master;
	return slave;
}

static void open_fifo(int ends[2])
{
	char path[4096];
	close(ts_temp_named(path, sizeof(path)));
	CHECK_SYS(unlink(path));
	CHECK_SYS(mkfifo(path, 0600));
	ends[0] = CHECK_SYS(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
	ends[1] = CHECK_SYS(open(path, O_WRONLY | O_CLOEXEC));
	CHECK_SYS(fcntl(ends[0], F_SETFL, 0));
	CHECK_SYS(unlink(path));
}

/* What takes a log, but not at a place that was chosen. Nobody reads the last one. */
static const char *const byte_streams[] = {"pipe", "fifo", "socket", "terminal", "/dev/null"};
enum { BYTE_STREAMS = sizeof(byte_streams) / sizeof(byte_streams[0]) };

static void open_byte_streams(int ends[BYTE_STREAMS][2])
{
	open_pipe(ends[0], 0);
	open_fifo(ends[1]);
	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends[2]));
	ends[3][1] = open_terminal(&ends[3][0]);
	ends[4][0] = -1;
	ends[4][1] = CHECK_SYS(open("/dev/null", O_WRONLY | O_CLOEXEC));
}

/* With the default attributes, and with so many of the policies, of which the last is APPEND. */
static void expect_refused(int fd, size_t count)
{
	static const int policies[] = {0, POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL,
				       POSIX_TRACE_APPEND};
	trace_id_t trid = 4711;
	CHECK_EQ(posix_trace_create_withlog(0, NULL, fd, &trid), EINVAL);
	for (size_t i = 0; i < count; i++) {
		trace_attr_t attr = log_attr(0, 0, policies[i], 0);
		CHECK_EQ(posix_trace_create_withlog(0, &attr, fd, &trid), EINVAL);
	}
	CHECK_EQ(trid, 4711);
}

TEST(streams_of_bytes_take_append_only, "LOG-04 LOG-06", NEEDS_KEEPER)
{
	int ends[BYTE_STREAMS][2];
	open_byte_streams(ends);

	for (size_t i = 0; i < BYTE_STREAMS; i++) {
		int reader = ends[i][0], writer = ends[i][1], sink = ts_temp_file();
		struct drain drain = {.from = reader};
		NOTE("%s", byte_streams[i]);
		expect_refused(writer, 3);
		if (reader >= 0)
			drain_start(&drain, reader, sink);
		trace_id_t trid = create_log(0, 0, POSIX_TRACE_APPEND, 0, writer);
		ts_shutdown(trid);
		close(writer);
		if (reader >= 0)
			ts_join(drain.thread);
	}
}

TEST(other_kinds_of_file_are_refused, "LOG-04 LOG-07")
{
	expect_refused(CHECK_SYS(eventfd(0, EFD_CLOEXEC)), 4);
}

TEST(full_device_is_enospc_at_creation, "LOG-08 CREATE-25", NEEDS_KEEPER)
{
	trace_attr_t attr = log_attr(0, 64 * KIB, POSIX_TRACE_APPEND, 0);
	int full = CHECK_SYS(open("/dev/full", O_WRONLY | O_CLOEXEC));
	trace_id_t trid = 4711;

	/* More often than there are streams: none is in use after a failure. */
	for (int i = 0; i < TRACE_SYS_MAX + 6; i++)
		CHECK_EQ(posix_trace_create_withlog(0, &attr, full, &trid), ENOSPC);
	CHECK_EQ(trid, 4711);
	trid = ts_create(0, &attr);
	ts_shutdown(trid);
}

TEST(full_file_system_is_enospc_at_creation, "LOG-08 LOG-23", NEEDS_KEEPER)
{
	static char block[64 * 1024];
	int files[2];
	small_device("65536", files);
	while (write(files[1], block, sizeof(block)) > 0)
		;
	CHECK_EQ(errno, ENOSPC);
	for (size_t i = 0; i < 3; i++) {
		trace_attr_t attr = log_attr(0, 64 * KIB, log_policies[i], 0);
		trace_id_t trid = 4711;
		CHECK_EQ(posix_trace_create_withlog(0, &attr, files[0], &trid), ENOSPC);
		CHECK_EQ(trid, 4711);
	}
}

TEST(old_contents_and_offset_do_not_matter, "LOG-09", NEEDS_KEEPER)
{
	static char old[300000];
	int fd = ts_temp_file();
	memset(old, 'x', sizeof(old));
	CHECK_EQ(write(fd, old, sizeof(old)), (ssize_t)sizeof(old));
	CHECK_SYS(lseek(fd, 100000, SEEK_SET));

	trace_id_t trid = start_log(0, 64 * KIB, POSIX_TRACE_APPEND, 0, fd);
	emit_run(ts_id("event"), 0, 3, 4);
	ts_shutdown(trid);
	CHECK_LT(ts_file_size(fd), 100000);
	ts_expect_in_log(fd, ts_id("event"), 0, 2);

	size_t bytes;
	unsigned char *data = file_bytes(fd, &bytes);
	for (size_t i = 0; i + 4 <= bytes; i++)
		CHECK(memcmp(data + i, "xxxx", 4) != 0);
}

static void check_wrapped_log(int fd, trace_event_id_t id, uint32_t end)
{
	struct ts_events events = ts_log_events(fd);
	uint32_t first, last;
	expect_run(&events, id, &first, &last);
	CHECK_GT(first, 0);
	CHECK_EQ(last, end);
}

TEST(descriptor_only_for_writing_or_appending_is_enough, "LOG-10 LOG-11 LOG-34 SIZE-21",
     NEEDS_KEEPER)
{
	static const int flags[] = {O_WRONLY, O_WRONLY | O_APPEND};
	trace_event_id_t id = ts_id("event");

	for (size_t i = 0; i < 6; i++) {
		int policy = log_policies[i % 3];
		int fd = ts_temp_file(), given = ts_reopen(fd, flags[i / 3]);
		/* Nor could the library open it anew for reading. */
		CHECK_SYS(fchmod(fd, 0200));
		trace_id_t trid =
			start_log(POSIX_TRACE_UNTIL_FULL, 64 * KIB, policy, 64 * KIB, given);
		uint32_t number = 0;
		for (int round = 0; round < 20; round++, number += 100) {
			emit_run(id, number, number + 100, 200);
			ts_flush(trid);
		}
		/* The size means nothing to APPEND. */
		if (policy == POSIX_TRACE_APPEND)
			expect_log_status(trid, POSIX_TRACE_NOT_FULL, POSIX_TRACE_NO_OVERRUN);
		ts_shutdown(trid);
		CHECK_EQ(fcntl(given, F_GETFL) & O_APPEND, flags[i / 3] & O_APPEND);
		expect_closed_log(fd);
		if (policy == POSIX_TRACE_LOOP) {
			check_wrapped_log(fd, id, number);
		} else {
			struct ts_events events = ts_log_events(fd);
			uint32_t end = end_of_run(&events, id);
			CHECK_GT(end, 100);
			if (policy == POSIX_TRACE_APPEND)
				CHECK_EQ(end, number);
			struct ts_events rest = without_markers(&events);
			ts_stop_reason(&rest.at[rest.count - 1]);
		}
		if (policy != POSIX_TRACE_APPEND)
			CHECK_LE(ts_file_size(fd), (off_t)(64 * KIB + LOG_EXTRAS_BYTES));
	}
}

TEST(caller_may_close_the_descriptor_at_once, "LOG-12", NEEDS_KEEPER)
{
	int fd = ts_temp_file(), given = ts_reopen(fd, O_WRONLY);
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = create_log(0, 64 * KIB, POSIX_TRACE_APPEND, 0, given);

	close(given);
	/* Another file under the same number is none of the library's business. */
	int other = ts_temp_file();
	if (other != given) {
		CHECK_SYS(dup3(other, given, O_CLOEXEC));
		close(other);
	}
	ts_start(trid);
	emit_run(id, 0, 100, 4);
	ts_flush(trid);
	emit_run(id, 100, 200, 4);
	ts_shutdown(trid);
	CHECK_EQ(ts_file_size(given), 0);
	ts_expect_in_log(fd, id, 0, 199);
}

/* The number, other than `except`, by which the process has the file open. */
static int number_in(pid_t pid, int fd, int except)
{
	struct stat wanted, st;
	char path[64];

	CHECK_SYS(fstat(fd, &wanted));
	for (int number = 3; number < 1024; number++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, number);
		if (number != except && stat(path, &st) == 0 && st.st_dev == wanted.st_dev &&
		    st.st_ino == wanted.st_ino)
			return number;
	}
	harness_fail("process %d does not have it open", (int)pid);
}

TEST(callers_later_descriptor_of_the_log_stays_open, "LOG-12", NEEDS_KEEPER)
{
	static const int flags[] = {O_RDONLY | O_CLOEXEC, O_RDWR};

	for (size_t i = 0; i < 2; i++) {
		int fd = ts_temp_file();
		trace_id_t trid = ts_create_log(0, NULL, fd);
		/* The library's duplicate. */
		int number = number_in(getpid(), fd, fd);
		/* As by a program that closes all there is and opens its log again. */
		int again = ts_reopen(fd, flags[i]);
		CHECK_SYS(dup3(again, number, flags[i] & O_CLOEXEC));
		close(again);
		if (IN_CHILD())
			_exit(fcntl(number, F_GETFD) < 0);
		ts_shutdown(trid);
		CHECK_SYS(fcntl(number, F_GETFD));
	}
}

/* Of the descriptor by which the keeper has the log open. */
static unsigned int keepers_flags(trace_id_t trid, int fd)
{
	pid_t keeper = keeper_of(trid);
	unsigned int flags;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)keeper, number_in(keeper, fd, -1));
	FILE *f = fopen(path, "r");
	CHECK(f && fscanf(f, "pos: %*s flags: %o", &flags) == 1);
	fclose(f);
	return flags;
}

TEST(callers_descriptor_stays_open_and_the_log_is_written_through_as_it_says, "LOG-12 SHUTDOWN-01",
     NEEDS_KEEPER)
{
	static const int wanted[] = {0, O_DSYNC, O_SYNC};

	for (size_t i = 0; i < 3; i++) {
		int fd = ts_temp_file(), given = ts_reopen(fd, O_RDWR | wanted[i]);
		int flags = CHECK_SYS(fcntl(given, F_GETFL));
		int fd_flags = CHECK_SYS(fcntl(given, F_GETFD));
		trace_id_t trid = ts_create_log(0, NULL, given);
		CHECK_EQ(keepers_flags(trid, fd) & O_SYNC, wanted[i]);
		ts_start(trid);
		ts_flush(trid);
		ts_clear(trid);
		ts_shutdown(trid);
		CHECK_EQ(fcntl(given, F_GETFL), flags);
		CHECK_EQ(fcntl(given, F_GETFD), fd_flags);
	}
}

/* Reads along for some automatic flushes, while an event comes every 30 ms, looking just before the next. */
TEST(automatic_flush_waits_for_who_reads_along, "GETNEXT-30", NEEDS_KEEPER)
{
	struct logged s = create_logged(POSIX_TRACE_FLUSH, 1024 * KIB, 0, 0);
	int64_t looked = harness_now_ns(), now;
	struct ts_event event;
	uint32_t due = 0, late = 0;

	ts_start(s.trid);
	for (uint32_t n = 0; n % 10 || count_so_far(s.fd, POSIX_TRACE_FLUSH_START) < 4;) {
		ts_emit(s.id, n++);
		harness_sleep_ms(30);
		now = harness_now_ns();
		while (ts_try_next(s.trid, &event)) {
			if (event.info.posix_event_id == s.id)
				due = ts_number(&event) + 1;
			ts_event_free(&event);
		}
		/* It waits no longer than 100 ms for who gets no processor. */
		if (harness_now_ns() - looked < 90000000)
			CHECK_EQ(due, n);
		else
			late++;
		looked = now;
	}
	NOTE("%u of %u looks were late", late, due);
	ts_shutdown(s.trid);
}

TEST(no_descriptors_left_is_enomem, "ERRORS-12 CREATE-25", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	struct rlimit limit, old;
	trace_id_t trid = 4711;
	CHECK_SYS(getrlimit(RLIMIT_NOFILE, &old));
	int lowest = CHECK_SYS(dup(fd));
	close(lowest);
	limit = old;
	limit.rlim_cur = (rlim_t)lowest;
	CHECK_SYS(setrlimit(RLIMIT_NOFILE, &limit));
	for (int i = 0; i < TRACE_SYS_MAX + 6; i++)
		CHECK_EQ(posix_trace_create_withlog(0, NULL, fd, &trid), ENOMEM);
	CHECK_EQ(trid, 4711);
	CHECK_SYS(setrlimit(RLIMIT_NOFILE, &old));
	int again = CHECK_SYS(dup(fd));
	CHECK_EQ(again, lowest);
	trid = ts_create_log(0, NULL, fd);
	ts_shutdown(trid);
}

/* ---- flush ---- */

TEST(flush_that_waits_for_the_device_holds_up_nothing,
     "LOG-17 LOG-15 STATUS-16 EVENT-18 LOG-35 LOG-26", NEEDS_KEEPER)
{
	trace_attr_t attr = log_attr(POSIX_TRACE_UNTIL_FULL, 512 * KIB, POSIX_TRACE_APPEND, 0);
	trace_event_set_t none = ts_set(0);
	trace_event_id_t id = ts_id("event");
	struct ts_stuck stuck;
	trace_id_t trid = ts_create_stuck(0, &attr, &stuck);
	ts_start(trid);
	emit_run(id, 0, 500, 300);
	pthread_t flusher = begin_flush(&trid);
	emit_run(id, 500, 1000, 300);
	struct posix_trace_status_info status = ts_status(trid);
	CHECK_EQ(status.posix_stream_flush_status, POSIX_TRACE_FLUSHING);
	CHECK_EQ(status.posix_stream_status, POSIX_TRACE_RUNNING);
	CHECK_EQ(status.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	ts_stop(trid);
	ts_set_filter(trid, &none, POSIX_TRACE_SET_EVENTSET);
	ts_start(trid);
	CHECK_EQ(ts_status(trid).posix_stream_flush_status, POSIX_TRACE_FLUSHING);

	ts_unstick(&stuck);
	CHECK_EQ((intptr_t)ts_join(flusher), 0);
	CHECK_EQ(ts_status(trid).posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
	ts_shutdown(trid);
	ts_expect_in_log(ts_stuck_log(&stuck), id, 0, 999);
}

/* The packets that the first flush has written cannot be taken back. */
TEST(flush_that_failed_midway_writes_no_event_into_a_pipe_twice, "", NEEDS_KEEPER)
{
	enum { COUNT = 3000 };
	static uint8_t part[400 * KIB];
	struct drain drain = {0};
	int ends[2];
	open_fifo(ends);
	trace_event_id_t id = ts_id("event");
	trace_id_t trid =
		start_log(POSIX_TRACE_UNTIL_FULL, 2048 * KIB, POSIX_TRACE_APPEND, 0, ends[1]);
	emit_run(id, 0, COUNT, 300);
	pthread_t flusher = begin_flush(&trid);
	for (size_t size = 0; size < sizeof(part);)
		size += (size_t)CHECK_SYS(read(ends[0], part, sizeof(part) - size));
	close(ends[0]);
	CHECK_EQ((intptr_t)ts_join(flusher), EPIPE);
	unsigned long written = counts_of(trid).pt_log_events;
	CHECK_GT(written, 0);
	CHECK_LT(written, COUNT);

	char path[32];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[1]);
	/* The thread would end at once if it read before the descriptor blocks. */
	int from = CHECK_SYS(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
	CHECK_SYS(fcntl(from, F_SETFL, 0));
	drain_start(&drain, from, ts_temp_file());
	ts_flush(trid);
	/* The others are START and those of the two flushes. */
	CHECK_GT(counts_of(trid).pt_log_events, COUNT);
	CHECK_LE(counts_of(trid).pt_log_events, COUNT + 5);
	close(ends[1]);
	ts_shutdown(trid);
	ts_join(drain.thread);
}

struct last_counts {
	trace_id_t trid;
	struct ptrc_counts counts;
};

static void *run_shutdown(void *arg)
{
	struct last_counts *c = arg;
	return (void *)(intptr_t)ptrc_trace_shutdown(c->trid, &c->counts);
}

TEST(log_that_stalls_can_be_given_up, "", NEEDS_KEEPER)
{
	int ends[2];
	trace_event_id_t id = ts_id("event");
	struct last_counts last = {0};
	open_pipe(ends, 0);
	last.trid = start_log(POSIX_TRACE_UNTIL_FULL, 512 * KIB, POSIX_TRACE_APPEND, 0, ends[1]);
	emit_run(id, 0, 10, 300);
	ts_flush(last.trid);
	CHECK_OK(ptrc_trace_counts(last.trid, &last.counts));
	unsigned long in_log = last.counts.pt_log_events;
	emit_run(id, 10, 1000, 300);
	pthread_t flusher = begin_flush(&last.trid);
	/* It waits behind the flush. */
	pthread_t ender = ts_thread(run_shutdown, &last);
	CHECK_EVENTUALLY(posix_trace_start(last.trid) == EINVAL);
	CHECK_OK(ptrc_trace_give_up_log(last.trid));
	CHECK_EQ((intptr_t)ts_join(flusher), ECANCELED);
	CHECK_EQ((intptr_t)ts_join(ender), ECANCELED);
	CHECK_EQ(last.counts.pt_log_events, in_log);
	CHECK_EQ(ptrc_trace_give_up_log(last.trid), EINVAL);
	CHECK_EQ(ptrc_trace_shutdown(last.trid, &last.counts), EINVAL);
}

TEST(log_that_goes_on_is_not_given_up, "", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	trace_id_t plain = ts_create(0, NULL), trid = ts_create_log(0, NULL, fd);
	trace_event_id_t id = ts_id("event");
	struct ptrc_counts counts;
	CHECK_EQ(ptrc_trace_give_up_log(plain), EINVAL);
	CHECK_OK(ptrc_trace_shutdown(plain, &counts));
	CHECK_EQ(counts.pt_log_events, 0);
	ts_start(trid);
	CHECK_OK(ptrc_trace_give_up_log(trid));
	emit_run(id, 0, 1000, 300);
	CHECK_OK(ptrc_trace_shutdown(trid, &counts));
	CHECK_GE(counts.pt_log_events, 1000);
	ts_expect_in_log(fd, id, 0, 999);
}

/* The log has the numbers below `end`, apart from gaps, at each of which the stream was full, stopped
 * itself and restarted itself. Returns how many gaps there are. */
static size_t expect_gaps(int fd, trace_event_id_t id, uint32_t end)
{
	struct ts_events all = ts_log_events(fd), events = without_markers(&all);
	uint32_t due = 0, missing = 0;
	bool is_gap = false;
	size_t gaps = 0;

	ts_expect_sorted(&all);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_OVERFLOW), 0);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_RESUME), 0);
	CHECK_EQ(id_at(&events, 0), POSIX_TRACE_START);
	for (size_t i = 1; i < events.count; i++) {
		if (id_at(&events, i) == id) {
			uint32_t got = ts_number(&events.at[i]);
			if (is_gap)
				CHECK_GE(got, due);
			else
				CHECK_EQ(got, due);
			is_gap = false;
			missing += got - due;
			due = got + 1;
		} else if (i + 1 < events.count) {
			CHECK_EQ(ts_stop_reason(&events.at[i]), 1);
			CHECK_EQ(events.at[i].info.posix_pid, 0);
			CHECK_EQ(id_at(&events, ++i), POSIX_TRACE_START);
			CHECK_EQ(events.at[i].len, sizeof(trace_event_set_t));
			CHECK_EQ(events.at[i].info.posix_pid, 0);
			is_gap = true;
			gaps++;
		}
	}
	CHECK_EQ(due, end);
	CHECK_LE(missing, log_counts(fd).pt_lost_events);
	CHECK_EQ(ts_stop_reason(&events.at[events.count - 1]), 0);
	return gaps;
}

TEST(flushed_room_can_be_used_again,
     "LOG-18 POLICY-18 POLICY-19 POLICY-20 POLICY-21 SYSEVENT-14 GETNEXT-31", NEEDS_KEEPER)
{
	struct logged s = start_logged(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0);
	uint32_t number = 0;
	for (int round = 0; round < 4; round++) {
		number = ts_fill(s.trid, 64 * KIB, s.id, 100, number);
		ts_expect_status(s.trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL,
				 POSIX_TRACE_NO_OVERRUN);
		ts_flush(s.trid);
		ts_expect_running(s.trid);
	}
	emit_run(s.id, number, number + 1, 100);
	ts_shutdown(s.trid);
	CHECK_EQ(expect_gaps(s.fd, s.id, number + 1), 4);
	/* Each time the event that found no room. */
	CHECK_LE(log_counts(s.fd).pt_lost_events, 4);
}

TEST(log_holds_each_flushed_event_once_in_order, "LOG-13 LOG-15 LOG-16 LOG-19 OPEN-14",
     NEEDS_KEEPER)
{
	struct logged s = start_logged(POSIX_TRACE_UNTIL_FULL, 256 * KIB, POSIX_TRACE_APPEND, 0);
	uint32_t number = 0;
	for (uint32_t round = 0; round < 300; round++) {
		uint32_t end = number + round % 7;
		emit_run(s.id, number, end, 4 + round % 50);
		number = end;
		ts_flush(s.trid);
		if (round % 15 != 1)
			continue;
		struct posix_trace_status_info status = ts_status(s.trid);
		CHECK_EQ(status.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
		CHECK_EQ(status.posix_stream_flush_error, 0);
		struct ts_events so_far = events_so_far(s.fd);
		ts_expect_numbers(&so_far, s.id, 0, number - 1);
	}
	struct ts_events events = ts_end_log(s.trid, s.fd);
	ts_expect_numbers(&events, s.id, 0, number - 1);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_START), 1);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_STOP), 1);
}

TEST(suspended_and_empty_streams_can_be_flushed, "LOG-20 STARTSTOP-14", NEEDS_KEEPER)
{
	struct logged s = create_logged(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0);
	ts_flush(s.trid);
	ts_flush(s.trid);
	ts_expect_suspended(s.trid);
	ts_start(s.trid);
	emit_run(s.id, 0, 5, 4);
	ts_stop(s.trid);
	ts_flush(s.trid);
	struct ts_events events = events_so_far(s.fd);
	ts_expect_numbers(&events, s.id, 0, 4);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_STOP), 1);
	ts_flush(s.trid);
	struct ts_events all = ts_end_log(s.trid, s.fd), log = without_markers(&all);
	ts_expect_ids(&log, POSIX_TRACE_START, s.id, s.id, s.id, s.id, s.id, POSIX_TRACE_STOP, 0);
}

static void *run_flushes(void *arg)
{
	const trace_id_t *trid = arg;
	for (int i = 0; i < 50; i++) {
		int err = posix_trace_flush(*trid);
		if (err)
			return (void *)(intptr_t)err;
	}
	return NULL;
}

TEST(simultaneous_flushes_take_turns, "LOG-21 LOG-19 LOG-13", NEEDS_KEEPER)
{
	struct logged s = start_logged(POSIX_TRACE_FLUSH, 1024 * KIB, POSIX_TRACE_APPEND, 0);
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		threads[i] = ts_thread(run_flushes, &s.trid);
	/* Less than the stream holds: nothing may be lost. */
	emit_run(s.id, 0, 5000, 40);
	for (int i = 0; i < 4; i++)
		CHECK_EQ((intptr_t)ts_join(threads[i]), 0);
	ts_flush(s.trid);
	CHECK_EQ(count_so_far(s.fd, s.id), 5000);
	ts_expect_logged(s.trid, s.fd, s.id, 0, 4999);
}

/* ---- errors of writing ---- */

TEST(file_size_limit_is_efbig, "LOG-22 LOG-25 STATUS-17 STATUS-22", NEEDS_KEEPER)
{
	count_signals(SIGXFSZ);
	for (size_t i = 0; i < 3; i++) {
		struct logged s = start_logged(POSIX_TRACE_UNTIL_FULL, 4096 * KIB, log_policies[i],
					       16384 * KIB);
		emit_run(s.id, 0, 100, 100);
		ts_flush(s.trid);
		emit_run(s.id, 100, 10000, 100);
		/* Some packets of the flush fit. */
		limit_file_size((rlim_t)ts_file_size(s.fd) + 700000);
		CHECK_EQ(posix_trace_flush(s.trid), EFBIG);
		CHECK_EQ(posix_trace_flush(s.trid), EFBIG);
		CHECK_EQ(ts_status(s.trid).posix_stream_flush_error, EFBIG);
		CHECK_EQ(ts_status(s.trid).posix_stream_flush_error, 0);
		CHECK_EQ(signals_seen, 0);

		/* What could be written of the failed flush is not both in the log and in the
		 * stream. */
		struct ts_events so_far = events_so_far(s.fd);
		CHECK_EQ(so_far.count, counts_of(s.trid).pt_log_events);
		ts_expect_numbers(&so_far, s.id, 0, 99);

		limit_file_size(RLIM_INFINITY);
		ts_flush(s.trid);
		CHECK_EQ(ts_status(s.trid).posix_stream_flush_error, 0);
		emit_run(s.id, 10000, 10100, 100);
		limit_file_size((rlim_t)ts_file_size(s.fd) + 100);
		CHECK_EQ(posix_trace_flush(s.trid), EFBIG);
		limit_file_size(RLIM_INFINITY);
		ts_expect_logged(s.trid, s.fd, s.id, 0, 10099);
		/* Nobody asked the stream: the error is still to be told. */
		CHECK_EQ(log_status(s.fd).posix_stream_flush_error, EFBIG);
	}
}

TEST(file_size_limit_holds_for_automatic_flushes, "LOG-22 POLICY-22 STATUS-17", NEEDS_KEEPER)
{
	count_signals(SIGXFSZ);
	struct logged s = start_logged(POSIX_TRACE_FLUSH, 256 * KIB, POSIX_TRACE_APPEND, 0);
	/* No call tells the keeper of it. */
	limit_file_size(20000);
	emit_run(s.id, 0, 1000, 100);
	CHECK_EVENTUALLY(ts_status(s.trid).posix_stream_flush_error == EFBIG);
	CHECK_LE(ts_file_size(s.fd), 20000);
	limit_file_size(RLIM_INFINITY);
	CHECK_EVENTUALLY(count_so_far(s.fd, s.id) == 1000);
	ts_shutdown(s.trid);
	CHECK_EQ(signals_seen, 0);
}

/* That of the keeper's program, which is a file in memory, is 40 KB. */
TEST(file_size_limit_is_for_the_log_alone, "LOG-22 CREATE-25 GEN-07", NEEDS_KEEPER)
{
	struct rlimit limit;
	count_signals(SIGXFSZ);
	limit_file_size(20000);
	struct logged s = create_logged(POSIX_TRACE_UNTIL_FULL, 16 * KIB, POSIX_TRACE_APPEND, 0);
	CHECK_EQ(signals_seen, 0);
	CHECK_SYS(getrlimit(RLIMIT_FSIZE, &limit));
	CHECK_EQ(limit.rlim_cur, 20000);
	ts_start(s.trid);
	emit_run(s.id, 0, 100, 100);
	ts_shutdown(s.trid);
	limit_file_size(RLIM_INFINITY);
	CHECK_EQ(signals_seen, 0);
	ts_expect_in_log(s.fd, s.id, 0, 99);
}

TEST(full_device_is_enospc, "LOG-22 LOG-23 LOG-25 STATUS-17", NEEDS_KEEPER)
{
	static char ballast[512 * 1024];
	trace_event_id_t id = ts_id("event");
	int files[2];
	small_device("1048576", files);
	trace_id_t trid =
		create_log(POSIX_TRACE_UNTIL_FULL, 1024 * KIB, POSIX_TRACE_APPEND, 0, files[0]);
	CHECK_EQ(write(files[1], ballast, sizeof(ballast)), (ssize_t)sizeof(ballast));
	ts_start(trid);
	emit_run(id, 0, 7000, 100);
	CHECK_EQ(posix_trace_flush(trid), ENOSPC);
	/* The first error since the last look is kept, whatever comes later. */
	limit_file_size(20000);
	CHECK_EQ(posix_trace_flush(trid), EFBIG);
	limit_file_size(RLIM_INFINITY);
	CHECK_EQ(ts_status(trid).posix_stream_flush_error, ENOSPC);
	CHECK_EQ(ts_status(trid).posix_stream_flush_error, 0);
	CHECK_EQ(posix_trace_flush(trid), ENOSPC);
	CHECK_EQ(ts_status(trid).posix_stream_flush_error, ENOSPC);
	CHECK_EQ(count_so_far(files[0], id), 0);
	CHECK_EQ(counts_of(trid).pt_log_events, 0);

	CHECK_SYS(ftruncate(files[1], 0));
	ts_flush(trid);
	CHECK_EQ(ts_status(trid).posix_stream_flush_error, 0);
	ts_expect_logged(trid, files[0], id, 0, 6999);
}

TEST(vanished_reader_is_epipe_without_sigpipe, "LOG-24 STATUS-17", NEEDS_KEEPER)
{
	int ends[BYTE_STREAMS][2];
	trace_event_id_t id = ts_id("event");
	static char head[65536];

	open_byte_streams(ends);
	count_signals(SIGPIPE);
	for (int i = 0; i < 3; i++) {
		NOTE("%s", byte_streams[i]);
		trace_id_t trid = start_log(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0,
					    ends[i][1]);
		emit_run(id, 0, 10, 10);
		/* Unread bytes would make it ECONNRESET. */
		CHECK_GT(read(ends[i][0], head, sizeof(head)), 0);
		close(ends[i][0]);
		CHECK_EQ(posix_trace_flush(trid), EPIPE);
		CHECK_EQ(ts_status(trid).posix_stream_flush_error, EPIPE);
		CHECK_EQ(ts_status(trid).posix_stream_flush_error, 0);
		CHECK_EQ(posix_trace_shutdown(trid), EPIPE);
		CHECK_EQ(posix_trace_shutdown(trid), EINVAL);
		CHECK_EQ(signals_seen, 0);
	}
}

TEST(non_blocking_descriptor_is_waited_for, "LOG-26 LOG-35", NEEDS_KEEPER)
{
	int ends[BYTE_STREAMS][2], small = 4096;
	trace_event_id_t id = ts_id("event");

	open_byte_streams(ends);
	for (int i = 0; i < 3; i++) {
		NOTE("%s", byte_streams[i]);
		int writer = ends[i][1];
		CHECK_SYS(fcntl(writer, F_SETFL, O_NONBLOCK));
		if (i < 2)
			CHECK_SYS(fcntl(writer, F_SETPIPE_SZ, small));
		else
			CHECK_SYS(setsockopt(writer, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)));
		int sink = ts_temp_file();
		/* Slower than the writer, and never a whole write's worth. */
		struct drain drain = {.delay_us = 200, .chunk = 1500};
		drain_start(&drain, ends[i][0], sink);
		trace_id_t trid =
			start_log(POSIX_TRACE_UNTIL_FULL, 256 * KIB, POSIX_TRACE_APPEND, 0, writer);
		emit_run(id, 0, 1000, 100);
		ts_flush(trid);
		/* All of it has gone out by now, but for what the pipe holds. */
		CHECK_GT(atomic_load(&drain.moved), 50000);
		emit_run(id, 1000, 1500, 100);
		ts_shutdown(trid);
		CHECK(fcntl(writer, F_GETFL) & O_NONBLOCK);
		close(writer);
		ts_join(drain.thread);
		ts_expect_in_log(sink, id, 0, 1499);
	}
}

/* ---- log policies ---- */

TEST(until_full_log_keeps_the_oldest,
     "LOG-27 LOG-28 LOG-29 SIZE-20 STATUS-18 STATUS-19 SYSEVENT-02 SYSEVENT-22 SYSEVENT-24",
     NEEDS_KEEPER)
{
	struct logged s =
		start_logged(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_UNTIL_FULL, 128 * KIB);
	uint32_t number = 0;
	for (; number < 3 * 128 * KIB / 100; number += 50) {
		emit_run(s.id, number, number + 50, 100);
		ts_flush(s.trid);
	}

	struct posix_trace_status_info status = ts_status(s.trid);
	CHECK_EQ(status.posix_stream_status, POSIX_TRACE_SUSPENDED);
	CHECK_EQ(status.posix_stream_full_status, POSIX_TRACE_FULL);
	CHECK_EQ(status.posix_log_full_status, POSIX_TRACE_FULL);
	CHECK_EQ(status.posix_log_overrun_status, POSIX_TRACE_OVERRUN);
	CHECK_EQ(status.posix_stream_flush_error, 0);
	expect_log_status(s.trid, POSIX_TRACE_FULL, POSIX_TRACE_NO_OVERRUN);
	CHECK_LE(counts_of(s.trid).pt_log_bytes, 128 * KIB);
	CHECK_LE(ts_file_size(s.fd), (off_t)(128 * KIB + LOG_EXTRAS_BYTES));

	/* Nothing gets it going again, flushing neither. */
	CHECK_OK(posix_trace_start(s.trid));
	emit_run(s.id, number, number + 10, 100);
	CHECK_OK(posix_trace_flush(s.trid));
	CHECK_OK(posix_trace_stop(s.trid));
	CHECK_OK(posix_trace_start(s.trid));
	emit_run(s.id, number + 10, number + 20, 100);
	CHECK_OK(posix_trace_flush(s.trid));
	status = ts_status(s.trid);
	CHECK_EQ(status.posix_stream_status, POSIX_TRACE_SUSPENDED);
	CHECK_EQ(status.posix_stream_full_status, POSIX_TRACE_FULL);
	struct ts_events events = ts_end_log(s.trid, s.fd);
	ts_expect_sorted(&events);
	uint32_t end = end_of_run(&events, s.id);
	/* It is full indeed. */
	CHECK_GT(end * 100, 32 * KIB);
	CHECK_LT(end, number);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_STOP), 1);
	CHECK_EQ(ts_stop_reason(&events.at[events.count - 1]), 2);
	CHECK_EQ(events.at[events.count - 1].info.posix_pid, 0);
	CHECK(!events.at[events.count - 1].info.posix_prog_address);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_START), 1);
	CHECK_LE(log_counts(s.fd).pt_log_bytes, 128 * KIB);
	CHECK_EQ(log_counts(s.fd).pt_log_events, events.count);

	status = log_status(s.fd);
	CHECK_EQ(status.posix_log_full_status, POSIX_TRACE_FULL);
	CHECK_EQ(status.posix_log_overrun_status, POSIX_TRACE_OVERRUN);
}

TEST(until_full_log_not_full_ends_with_the_last_stop, "LOG-28 SHUTDOWN-09 SYSEVENT-24",
     NEEDS_KEEPER)
{
	for (int is_stopped = 0; is_stopped < 2; is_stopped++) {
		struct logged s = start_logged(0, 64 * KIB, POSIX_TRACE_UNTIL_FULL, 64 * KIB);
		emit_run(s.id, 0, 5, 4);
		ts_flush(s.trid);
		emit_run(s.id, 5, 10, 4);
		if (is_stopped)
			ts_stop(s.trid);
		struct ts_events events = ts_end_log(s.trid, s.fd);
		ts_expect_numbers(&events, s.id, 0, 9);
		CHECK_EQ(ts_count(&events, POSIX_TRACE_STOP), 1);
		CHECK_EQ(ts_stop_reason(&events.at[events.count - 1]), 0);
		CHECK_EQ(events.at[events.count - 1].info.posix_pid, getpid());
		CHECK_EQ(log_status(s.fd).posix_log_full_status, POSIX_TRACE_NOT_FULL);
	}
}

TEST(flushes_of_a_stream_that_has_stopped_itself_lose_nothing, "SYSEVENT-23", NEEDS_KEEPER)
{
	for (int flushes = 0; flushes < 2; flushes++) {
		struct logged s =
			start_logged(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0);
		uint32_t number = 0;

		for (; ts_status(s.trid).posix_stream_status == POSIX_TRACE_RUNNING; number++)
			emit_run(s.id, number, number + 1, 4);
		CHECK_EQ(ts_status(s.trid).posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
		if (flushes)
			ts_flush(s.trid);
		struct ts_events events = ts_end_log(s.trid, s.fd);
		ts_expect_sorted(&events);
		CHECK_EQ(ts_count(&events, s.id), number);
		CHECK_EQ(log_counts(s.fd).pt_lost_events, 0);
		CHECK_EQ(log_counts(s.fd).pt_log_events, events.count);
	}
}

TEST(loop_log_keeps_the_newest,
     "LOG-30 LOG-31 LOG-32 LOG-33 SIZE-20 STATUS-18 STATUS-19 STATUS-24 SYSEVENT-16 OPEN-06",
     NEEDS_KEEPER)
{
	struct logged s =
		start_logged(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_LOOP, 128 * KIB);
	uint32_t number = 0;

	/* The first event that will be overwritten. */
	struct ts_event start = ts_expect(s.trid, POSIX_TRACE_START);
	struct posix_trace_status_info status = ts_status(s.trid);
	CHECK_EQ(status.posix_log_full_status, POSIX_TRACE_NOT_FULL);
	for (int round = 0; round < 200; round++, number += 50) {
		emit_run(s.id, number, number + 50, 100);
		ts_flush(s.trid);
		CHECK_LE(ts_file_size(s.fd), (off_t)(128 * KIB + LOG_EXTRAS_BYTES));
		CHECK_LE(counts_of(s.trid).pt_log_bytes, 128 * KIB);
		status = ts_status(s.trid);
		CHECK(status.posix_log_full_status == POSIX_TRACE_FULL ||
		      status.posix_log_overrun_status == POSIX_TRACE_NO_OVERRUN);
	}
	CHECK_EQ(status.posix_stream_status, POSIX_TRACE_RUNNING);
	CHECK_EQ(status.posix_log_full_status, POSIX_TRACE_FULL);
	CHECK_EQ(status.posix_log_overrun_status, POSIX_TRACE_OVERRUN);
	status = ts_status(s.trid);
	CHECK_EQ(status.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
	emit_run(s.id, number, number + 50, 100);
	number += 50;
	ts_flush(s.trid);
	CHECK_EQ(ts_status(s.trid).posix_log_overrun_status, POSIX_TRACE_OVERRUN);
	ts_shutdown(s.trid);
	CHECK_LE(ts_file_size(s.fd), (off_t)(128 * KIB + LOG_EXTRAS_BYTES));

	trace_id_t log = ts_open_log(s.fd);
	struct ts_events events = ts_read_log(log);
	uint32_t first, end;
	ts_expect_sorted(&events);
	CHECK_EQ(id_at(&events, 0), POSIX_TRACE_OVERFLOW);
	CHECK_EQ(events.at[0].len, 0);
	CHECK_EQ(events.at[0].info.posix_pid, 0);
	CHECK_EQ(time_at(&events, 0), ts_time_ns(&start.info.posix_timestamp));
	CHECK_EQ(id_at(&events, 1), POSIX_TRACE_RESUME);
	CHECK_EQ(time_at(&events, 1), time_at(&events, 2));
	CHECK_EQ(ts_count(&events, POSIX_TRACE_OVERFLOW), 1);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_RESUME), 1);
	expect_run(&events, s.id, &first, &end);
	CHECK_EQ(end, number);
	CHECK_GT((number - first) * 100, 32 * KIB);

	expect_log_status(log, POSIX_TRACE_FULL, POSIX_TRACE_OVERRUN);
	ts_close_log(log);
}

TEST(small_loop_log_gives_up_no_more_than_it_must, "LOG-30 SIZE-20", NEEDS_KEEPER)
{
	/* What the system records at the end takes the place of the oldest events only. */
	for (size_t size = 1280; size <= 2816; size += 128) {
		struct logged s = start_logged(POSIX_TRACE_FLUSH, 64 * KIB, POSIX_TRACE_LOOP, size);
		uint32_t first, end;

		emit_run(s.id, 0, 200, 4);
		ts_flush(s.trid);
		ts_stop(s.trid);
		ts_flush(s.trid);
		struct ts_events events = ts_end_log(s.trid, s.fd);
		CHECK_EQ(ts_count(&events, POSIX_TRACE_STOP), 1);
		expect_run(&events, s.id, &first, &end);
		CHECK_EQ(end, 200);
		/* STOP and the marks of three flushes, 24 bytes each, beside them, and a
		 * slice. */
		CHECK_GE((end - first) * 24, size - 8 * 24 - size / 16 - 24);
	}
}

TEST(saved_bytes_of_a_stream_are_a_log, "LOG-35", NEEDS_KEEPER)
{
	trace_event_id_t id = ts_id("event");
	int ends[BYTE_STREAMS][2];
	open_byte_streams(ends);

	for (size_t i = 0; i < BYTE_STREAMS - 1; i++) {
		int sink = ts_temp_file();
		trace_attr_t attr = log_attr(0, 256 * KIB, POSIX_TRACE_APPEND, 0);
		struct posixtrace_log_host host;
		struct posixtrace_log_process process;
		struct drain drain = {0};
		unsigned long differing = 9;

		NOTE("%s", byte_streams[i]);
		CHECK_OK(posix_trace_attr_setname(&attr, "through a pipe"));
		drain_start(&drain, ends[i][0], sink);
		trace_id_t trid = ts_create_log(0, &attr, ends[i][1]);
		ts_start(trid);
		emit_run(id, 0, 500, 100);
		ts_flush(trid);
		trace_event_id_t late = ts_id("opened late");
		ts_emit(late, 1);
		ts_shutdown(trid);
		close(ends[i][1]);
		ts_join(drain.thread);

		trace_id_t log = ts_open_log(sink);
		struct ts_events events = ts_read_log(log);
		ts_expect_numbers(&events, id, 0, 499);
		CHECK_EQ(ts_count(&events, late), 1);
		CHECK_EQ(ts_count(&events, POSIX_TRACE_START), 1);
		CHECK_EQ(ts_count(&events, POSIX_TRACE_STOP), 1);
		ts_expect_name(log, late, "opened late");
		CHECK_STR_EQ(ts_values_of(log).name, "through a pipe");
		CHECK_OK(posixtrace_log_get_host(log, &host, sizeof(host)));
		CHECK(host.ph_boot_id[0]);
		CHECK_OK(posixtrace_log_get_process(log, 0, &process, sizeof(process)));
		CHECK_EQ(process.pp_pid, getpid());
		CHECK_GT(process.pp_mapping_count, 0);
		CHECK_EQ(ts_status(log).posix_stream_status, POSIX_TRACE_SUSPENDED);
		/* It is whole, without an index. */
		CHECK_EQ(posixtrace_get_type_counts(log, NULL, 0), ENODATA);
		CHECK_OK(ptrc_log_verify(log, &differing));
		CHECK_EQ(differing, 0);
		ts_close_log(log);
	}
}

/* ---- what is in a log ---- */

static void *emit_in_thread(void *arg)
{
	const trace_event_id_t *id = arg;
	emit_run(*id, 2000, 2010, 30);
	return NULL;
}

TEST(events_come_back_from_the_log_unchanged, "LOG-38 SYSEVENT-11", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	trace_attr_t attr = log_attr(POSIX_TRACE_UNTIL_FULL, 512 * KIB, POSIX_TRACE_APPEND, 0);
	static unsigned char data[8000];
	CHECK_OK(posix_trace_attr_setmaxdatasize(&attr, 5000));
	CHECK_OK(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED));
	trace_event_id_t id = ts_id("event"), other = ts_id("other");
	trace_id_t trid = ts_create_log(0, &attr, fd);
	struct ts_target child = ts_target_fork();

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 7);
	ts_start(trid);
	posix_trace_event(id, NULL, 0);
	posix_trace_event(other, data, 1);
	posix_trace_event(id, data + 3, 4999);
	posix_trace_event(other, data, 5000);
	posix_trace_event(id, data + 1, 5001);
	posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, data, 17);
	for (size_t len = 0; len < 100; len++)
		posix_trace_event(id, data + len, len);
	ts_join(ts_thread(emit_in_thread, &other));
	ts_target_emit(&child, id, 77);
	trace_event_set_t set = ts_set(other, 0);
	ts_set_filter(trid, &set, POSIX_TRACE_ADD_EVENTSET);
	ts_stop(trid);
	ts_start(trid);
	ts_stop(trid);

	struct ts_events read = ts_read_all(trid);
	CHECK_EQ(read.count, 1 + 6 + 100 + 10 + 1 + 2 + 2);
	ts_shutdown(trid);
	ts_target_end(&child);
	struct ts_events log = ts_log_events(fd), events = without_markers(&log);
	CHECK_EQ(events.count, read.count);
	for (size_t i = 0; i < read.count; i++)
		expect_same_event(&events.at[i], &read.at[i]);
	CHECK_EQ(events.at[5].info.posix_truncation_status, POSIX_TRACE_TRUNCATED_RECORD);
	CHECK_EQ(events.at[5].len, 5000);
	/* The sets in START and FILTER work as they are. */
	ssize_t filter = ts_find(&events, POSIX_TRACE_FILTER, 0);
	CHECK_GE(filter, 0);
	CHECK_EQ(events.at[filter].len, 2 * sizeof(trace_event_set_t));
	trace_event_set_t pair[2];
	memcpy(pair, events.at[filter].data, sizeof(pair));
	CHECK(!ts_is_member(&pair[0], other));
	CHECK(ts_is_member(&pair[1], other));
}

/* The log of a stream that goes on, and a copy, as after a power cut. */
TEST(unclosed_log_has_what_was_flushed, "LOG-39 STATUS-27 OPEN-14", NEEDS_KEEPER)
{
	struct logged s = create_logged(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0);
	/* Nothing flushed: a log without events. */
	CHECK_EQ(events_so_far(s.fd).count, 0);
	ts_start(s.trid);
	emit_run(s.id, 0, 100, 20);
	trace_event_id_t late = ts_id("late");
	ts_emit(late, 0);
	ts_flush(s.trid);
	emit_run(s.id, 100, 200, 20);

	trace_id_t logs[] = {ts_open_log(s.fd), ts_open_log(file_copy(s.fd))};
	for (int i = 0; i < 2; i++) {
		struct ts_events events = ts_read_log(logs[i]);
		ts_expect_numbers(&events, s.id, 0, 99);
		CHECK_EQ(ts_count(&events, late), 1);
		ts_expect_name(logs[i], late, "late");
		ts_expect_name(logs[i], s.id, "event");
		expect_unfinished(logs[i]);
		ts_close_log(logs[i]);
	}
	/* The writer is not disturbed. */
	ts_expect_logged(s.trid, s.fd, s.id, 0, 199);
}

TEST(writing_marks_the_file_times, "LOG-40", NEEDS_KEEPER)
{
	const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	struct logged s = start_logged(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0);
	struct timespec tick;
	struct stat before, st;

	for (int round = 0; round < 2; round++) {
		CHECK_SYS(futimens(s.fd, times));
		CHECK_SYS(fstat(s.fd, &before));
		/* Past the tick in which the times were set. */
		do
			CHECK_SYS(clock_gettime(CLOCK_REALTIME_COARSE, &tick));
		while (ts_time_ns(&tick) <= ts_time_ns(&before.st_ctim));
		emit_run(s.id, 0, 10, 4);
		if (round == 0)
			ts_flush(s.trid);
		else
			ts_shutdown(s.trid);
		CHECK_SYS(fstat(s.fd, &st));
		CHECK_GT(st.st_mtim.tv_sec, 1000000000);
		CHECK_GT(ts_time_ns(&st.st_ctim), ts_time_ns(&before.st_ctim));
	}
}

TEST(a_flush_gives_up_nothing_that_came_in_place_of_what_it_wrote,
     "LOG-17 LOG-19 LOG-43 STATUS-11 SYSEVENT-15 SYSEVENT-16 SYSEVENT-17 SYSEVENT-18", NEEDS_KEEPER)
{
	static struct posixtrace_type_count types[POSIX_TRACE_UNNAMED_USEREVENT + 100];
	int ends[2], sink = ts_temp_file();
	open_pipe(ends, 0);
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = start_log(POSIX_TRACE_LOOP, 512 * KIB, POSIX_TRACE_APPEND, 0, ends[1]);
	emit_run(id, 0, 1000, 300);
	pthread_t flusher = ts_thread(flush_in_thread, &trid);
	/* Everything is copied, and as much of it written as the pipe takes. */
	int held = 0;
	CHECK_EVENTUALLY(ioctl(ends[0], FIONREAD, &held) == 0 && held >= 32768);
	CHECK_EQ(ts_status(trid).posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	/* All of its chunks are others' now. */
	emit_run(id, 1000, 20000, 300);
	CHECK_EQ(ts_status(trid).posix_stream_overrun_status, POSIX_TRACE_OVERRUN);

	struct drain drain = {0};
	close(ends[1]);
	drain_start(&drain, ends[0], sink);
	CHECK_EQ((intptr_t)ts_join(flusher), 0);
	ts_stop(trid);
	ts_flush(trid);
	CHECK_LT(id, sizeof(types) / sizeof(types[0]));
	CHECK_OK(posixtrace_get_type_counts(trid, types, id + 1));
	unsigned long lost = counts_of(trid).pt_lost_events;
	ts_shutdown(trid);
	ts_join(drain.thread);

	struct ts_events all = ts_log_events(sink), events = without_markers(&all);
	ts_expect_sorted(&all);
	/* What was overwritten while it was written is in the log, and not lost. */
	CHECK_EQ(id_at(&events, 0), POSIX_TRACE_START);
	for (uint32_t i = 0; i < 1000; i++)
		CHECK_EQ(ts_number(&events.at[1 + i]), i);
	CHECK_EQ(id_at(&events, 1001), POSIX_TRACE_OVERFLOW);
	CHECK_EQ(id_at(&events, 1002), POSIX_TRACE_RESUME);
	CHECK_GT(time_at(&events, 1001), time_at(&events, 1000));
	/* What RESUME announces may be a flush marker. */
	ssize_t resume = ts_find(&all, POSIX_TRACE_RESUME, 0);
	CHECK_EQ(time_at(&all, (size_t)resume), time_at(&all, (size_t)resume + 1));
	/* stream-min-size worth of events at least, up to the last. */
	uint32_t first = ts_number(&events.at[1003]);
	CHECK_GT(first, 1000);
	CHECK_LE(first, 20000 - 512 * KIB / 400);
	for (size_t i = 1003; i + 1 < events.count; i++)
		CHECK_EQ(ts_number(&events.at[i]), first + i - 1003);
	CHECK_EQ(events.count, 1003 + 20000 - first + 1);
	CHECK_EQ(types[id].pt_events, 1000 + 20000 - first);
	CHECK_EQ(types[POSIX_TRACE_START].pt_events, 1);
	CHECK_EQ(lost, first - 1000);
	CHECK_EQ(log_status(sink).posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
}

TEST(meddling_with_the_descriptor_does_not_crash, "LOG-44", NEEDS_KEEPER)
{
	for (size_t i = 0; i < 3; i++) {
		char garbage[3000];
		trace_id_t log;
		memset(garbage, 0xab, sizeof(garbage));
		struct logged s =
			start_logged(POSIX_TRACE_UNTIL_FULL, 64 * KIB, log_policies[i], 64 * KIB);
		for (int round = 0; round < 10; round++) {
			emit_run(s.id, 0, 100, 100);
			CHECK_SYS(lseek(s.fd, round * 777, SEEK_SET));
			CHECK_SYS(write(s.fd, garbage, sizeof(garbage)));
			posix_trace_flush(s.trid);
			if (round == 7)
				CHECK_SYS(ftruncate(s.fd, 100));
		}
		posix_trace_shutdown(s.trid);
		if (posix_trace_open(s.fd, &log) == 0) {
			ts_read_log(log);
			ts_close_log(log);
		}
	}
}

TEST(truncated_log_is_told, "LOG-24 STATUS-17", NEEDS_KEEPER)
{
	trace_event_id_t id = ts_id("event");

	for (size_t i = 0; i < 9; i++) {
		int fd = ts_temp_file();
		trace_id_t log;
		trace_attr_t attr =
			log_attr(POSIX_TRACE_UNTIL_FULL, 64 * KIB, log_policies[i % 3], 64 * KIB);
		trace_id_t trid = ts_create_log(0, &attr, fd);

		ts_start(trid);
		emit_run(id, 0, 100, 100);
		ts_flush(trid);
		emit_run(id, 100, 200, 100);
		ts_flush(trid);
		off_t size = ts_file_size(fd);
		if (i < 3)
			CHECK_SYS(ftruncate(fd, size - 1000));
		else if (i < 6)
			CHECK_SYS(ftruncate(fd, 0));
		else
			/* As long as it was. */
			for (off_t at = 2048; at < size; at++)
				CHECK_EQ(pwrite(fd, "x", 1, at), 1);
		emit_run(id, 200, 210, 100);
		CHECK_EQ(posix_trace_flush(trid), ESTALE);
		CHECK_EQ(ts_status(trid).posix_stream_flush_error, ESTALE);
		/* Nothing waits in the stream for a log that can be written. */
		CHECK_LT(counts_of(trid).pt_stream_bytes, 1000);
		/* It is told once more at the end, also by the log if it can be read. */
		CHECK_EQ(posix_trace_shutdown(trid), ESTALE);
		if (posix_trace_open(fd, &log) == 0) {
			CHECK_EQ(ts_status(log).posix_stream_flush_error, ESTALE);
			ts_close_log(log);
		}
	}
	/* A clear begins anew, and a log that was unlinked is whole for who has it open. */
	int fd = ts_temp_file();
	trace_attr_t attr = log_attr(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0);
	trace_id_t trid = ts_create_log(0, &attr, fd);
	ts_start(trid);
	emit_run(id, 0, 100, 100);
	ts_flush(trid);
	CHECK_SYS(ftruncate(fd, 100));
	CHECK_OK(posix_trace_clear(trid));
	emit_run(id, 0, 10, 100);
	ts_flush(trid);
	ts_expect_logged(trid, fd, id, 0, 9);
}

/* ---- clearing ---- */

TEST(clear_empties_the_log,
     "CLEAR-10 CLEAR-11 CLEAR-12 CLEAR-01 CLEAR-02 CLEAR-04 CLEAR-09 LOG-29 LOG-32 STATUS-24",
     NEEDS_KEEPER)
{
	trace_event_id_t id = ts_id("event"), before = ts_id("before");
	for (size_t i = 0; i < 3; i++) {
		int fd = ts_temp_file();
		char name[TRACE_EVENT_NAME_MAX + 1];
		trace_id_t trid =
			start_log(POSIX_TRACE_UNTIL_FULL, 64 * KIB, log_policies[i], 64 * KIB, fd);
		for (int round = 0; round < 10; round++) {
			emit_run(before, 0, 100, 100);
			ts_flush(trid);
		}
		emit_run(before, 0, 10, 100);
		/* Full and stopped by now if the log is UNTIL_FULL. */
		bool is_running = ts_status(trid).posix_stream_status == POSIX_TRACE_RUNNING;
		CHECK_EQ(is_running, log_policies[i] != POSIX_TRACE_UNTIL_FULL);
		CHECK_EQ(ts_status(trid).posix_log_full_status == POSIX_TRACE_FULL,
			 log_policies[i] != POSIX_TRACE_APPEND);
		ts_clear(trid);
		struct ts_events so_far = events_so_far(fd);
		CHECK_EQ(so_far.count, 0);
		ts_expect_status(trid, is_running ? POSIX_TRACE_RUNNING : POSIX_TRACE_SUSPENDED,
				 POSIX_TRACE_NOT_FULL, POSIX_TRACE_NO_OVERRUN);
		expect_log_status(trid, POSIX_TRACE_NOT_FULL, POSIX_TRACE_NO_OVERRUN);
		if (!is_running)
			ts_start(trid);
		emit_run(id, 0, 10, 100);
		ts_flush(trid);
		expect_log_status(trid, POSIX_TRACE_NOT_FULL, POSIX_TRACE_NO_OVERRUN);
		emit_run(id, 10, 20, 100);
		trace_id_t log = ts_end_and_open_log(trid, fd);
		struct ts_events events = ts_read_log(log);
		CHECK_EQ(id_at(&events, 0), is_running ? id : POSIX_TRACE_START);
		ts_expect_numbers(&events, id, 0, 19);
		CHECK_EQ(ts_count(&events, before), 0);
		CHECK_EQ(ts_count(&events, POSIX_TRACE_OVERFLOW), 0);
		CHECK_OK(posix_trace_eventid_get_name(log, before, name));
		CHECK_STR_EQ(name, "before");
		CHECK_EQ(ts_stop_reason(&events.at[ts_find(&events, POSIX_TRACE_STOP, 0)]), 0);
		expect_log_status(log, POSIX_TRACE_NOT_FULL, POSIX_TRACE_NO_OVERRUN);
		ts_close_log(log);
	}
}

/* ---- FLUSH streams ---- */

/* Milliseconds until an automatic flush has taken the first of so many events of 100 bytes, which
 * the stream has room for. */
static int64_t flushed_after(uint32_t count)
{
	struct logged s = start_logged(POSIX_TRACE_FLUSH, 256 * KIB, POSIX_TRACE_APPEND, 0);
	CHECK_EVENTUALLY(count_so_far(s.fd, POSIX_TRACE_START) == 1);
	int64_t before = harness_now_ns();
	emit_run(s.id, 0, count, 100);
	CHECK_EVENTUALLY(count_so_far(s.fd, s.id) > 0);
	int64_t took = (harness_now_ns() - before) / 1000000;
	struct ts_events events = ts_end_log(s.trid, s.fd);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_STOP), 1);
	NOTE("flushed after %lld ms", (long long)took);
	return took;
}

/* Who gets no processor comes late, but not each time. */
TEST(flush_stream_flushes_within_a_second, "POLICY-22 POLICY-23", NEEDS_KEEPER)
{
	CHECK_EVENTUALLY(flushed_after(1) <= 1000);
}

TEST(flush_stream_flushes_at_half_full, "POLICY-23 POLICY-22", NEEDS_KEEPER)
{
	trace_attr_t attr = log_attr(POSIX_TRACE_FLUSH, 256 * KIB, POSIX_TRACE_APPEND, 0);
	size_t event_bytes;
	/* Beyond the half, by actual or by maximum sizes, but not full. */
	CHECK_OK(posix_trace_attr_getmaxusereventsize(&attr, 100, &event_bytes));
	/* Well before the second that an unflushed event may wait. */
	CHECK_EVENTUALLY(flushed_after((uint32_t)(256 * KIB * 4 / 5 / event_bytes)) < 400);
}

TEST(flush_stream_takes_far_more_than_it_holds, "POLICY-22 LOG-19", NEEDS_KEEPER)
{
	struct logged s = start_logged(POSIX_TRACE_FLUSH, 1024 * KIB, POSIX_TRACE_APPEND, 0);
	/* In portions below half of the stream, each given time to be flushed. */
	uint32_t number = 0;
	for (int round = 0; round < 40; round++) {
		emit_run(s.id, number, number + 3000, 100);
		number += 3000;
		CHECK_EVENTUALLY(counts_of(s.trid).pt_stream_bytes < 400 * KIB);
	}
	ts_expect_running(s.trid);
	struct ts_events events = ts_end_log(s.trid, s.fd);
	ts_expect_numbers(&events, s.id, 0, number - 1);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_START), 1);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_STOP), 1);
}

/* Takes the room that a pipe has left. Returns how many bytes that was. */
static size_t fill_pipe(int from)
{
	static const char block[4096];
	char path[32];
	size_t bytes = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", from);
	int end = CHECK_SYS(open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC));
	while ((n = write(end, block, sizeof(block))) > 0 || (n = write(end, block, 1)) > 0)
		bytes += (size_t)n;
	CHECK_EQ(errno, EAGAIN);
	close(end);
	return bytes;
}

TEST(flush_stream_that_overruns_stops_and_restarts_itself,
     "POLICY-20 POLICY-22 POLICY-23 STATUS-13 STATUS-16 LOG-17 SYSEVENT-19", NEEDS_KEEPER)
{
	trace_attr_t attr = log_attr(POSIX_TRACE_FLUSH, 64 * KIB, POSIX_TRACE_APPEND, 0);
	trace_event_id_t id = ts_id("event");
	struct ts_stuck stuck;
	trace_id_t trid = ts_create_stuck(0, &attr, &stuck);
	size_t filled = fill_pipe(stuck.from);
	char byte;
	ts_start(trid);
	/* Nobody reads: the keeper is stuck, the stream fills up. */
	uint32_t number = ts_flood(64 * KIB, id, 100, 0);
	CHECK_EVENTUALLY(ts_status(trid).posix_stream_flush_status == POSIX_TRACE_FLUSHING);
	/* Room may have come free between the two. */
	number = ts_flood(64 * KIB, id, 100, number);
	struct posix_trace_status_info status = ts_status(trid);
	CHECK_EQ(status.posix_stream_status, POSIX_TRACE_SUSPENDED);
	CHECK_EQ(status.posix_stream_full_status, POSIX_TRACE_FULL);
	CHECK_EQ(status.posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
	CHECK_EQ(status.posix_stream_flush_status, POSIX_TRACE_FLUSHING);
	/* Each further loss says so again. */
	ts_emit(id, number++);
	CHECK_EQ(ts_status(trid).posix_stream_overrun_status, POSIX_TRACE_OVERRUN);

	/* The reader comes back, and the stream by itself. */
	for (; filled; filled--)
		CHECK_EQ(read(stuck.from, &byte, 1), 1);
	ts_unstick(&stuck);
	CHECK_EVENTUALLY(ts_status(trid).posix_stream_status == POSIX_TRACE_RUNNING);
	CHECK_EQ(ts_status(trid).posix_stream_full_status, POSIX_TRACE_NOT_FULL);
	emit_run(id, number, number + 5, 100);
	ts_shutdown(trid);
	CHECK_GT(expect_gaps(ts_stuck_log(&stuck), id, number + 5), 0);
}

TEST(idle_flush_stream_leaves_its_log_alone, "POLICY-24", NEEDS_KEEPER)
{
	struct logged s = start_logged(POSIX_TRACE_FLUSH, 64 * KIB, POSIX_TRACE_APPEND, 0);
	emit_run(s.id, 0, 10, 100);
	CHECK_EVENTUALLY(count_so_far(s.fd, s.id) == 10);
	/* What its markers cause comes at the keeper's next look. */
	off_t size;
	pid_t keeper = keeper_of(s.trid);
	do {
		size = ts_file_size(s.fd);
		ts_wait_turns(keeper, 2);
	} while (ts_file_size(s.fd) != size);
	ts_wait_turns(keeper, 2);
	CHECK_EQ(ts_file_size(s.fd), size);
	ts_shutdown(s.trid);
}

TEST(other_streams_are_flushed_on_demand_only, "POLICY-25 POLICY-11", NEEDS_KEEPER)
{
	static const int policies[] = {POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL};
	trace_event_id_t id = ts_id("event");
	trace_id_t trids[2];
	uint32_t ends[2];
	int fds[2];
	for (int i = 0; i < 2; i++) {
		fds[i] = ts_temp_file();
		trids[i] = start_log(policies[i], 64 * KIB, POSIX_TRACE_APPEND, 0, fds[i]);
		ends[i] = ts_flood(64 * KIB, id, 100, 0);
		/* The other stream has these events too if it runs. */
		ts_stop(trids[i]);
	}
	/* Another stream tells when they would have been flushed. */
	int clock_fd = ts_temp_file();
	trace_id_t clock = ts_create_log(0, NULL, clock_fd);
	ts_start(clock);
	for (uint32_t n = 1; n <= 2; n++) {
		ts_emit(id, n);
		CHECK_EVENTUALLY(count_so_far(clock_fd, id) == n);
	}
	ts_shutdown(clock);
	for (int i = 0; i < 2; i++) {
		struct ts_events events = events_so_far(fds[i]);
		CHECK_EQ(events.count, 0);
		ts_flush(trids[i]);
		CHECK_GT(count_so_far(fds[i], id), 0);
		ts_shutdown(trids[i]);
		CHECK_GT(ends[i], 0);
	}
}

/* ---- flush markers ---- */

TEST(markers_can_be_filtered, "FILTER-11 SYSEVENT-23", NEEDS_KEEPER)
{
	struct logged s = create_logged(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0);
	trace_event_set_t set = ts_set(POSIX_TRACE_FLUSH_START, POSIX_TRACE_FLUSH_STOP, 0);
	ts_set_filter(s.trid, &set, POSIX_TRACE_SET_EVENTSET);
	ts_start(s.trid);
	ts_emit(s.id, 0);
	ts_flush(s.trid);
	struct ts_events events = ts_end_log(s.trid, s.fd);
	ts_expect_ids(&events, POSIX_TRACE_START, s.id, POSIX_TRACE_STOP, 0);
}

/* ---- status of logs, shutdown ---- */

TEST(a_log_without_room_for_names_says_how_many_events_it_lacks, "STATUS-17 LOG-25", NEEDS_KEEPER)
{
	struct logged s = create_logged(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0);
	count_signals(SIGXFSZ);
	ts_start(s.trid);
	ts_flush(s.trid);
	for (int i = 0; i < 40; i++) {
		char name[201];
		snprintf(name, sizeof(name), "%0200d", i);
		ts_id(name);
	}
	emit_run(s.id, 0, 100, 10);
	limit_file_size((rlim_t)ts_file_size(s.fd) + 2000);
	CHECK_EQ(posix_trace_flush(s.trid), EFBIG);
	CHECK_EQ(posix_trace_shutdown(s.trid), EFBIG);
	limit_file_size(RLIM_INFINITY);
	CHECK_EQ(log_status(s.fd).posix_stream_flush_error, EFBIG);
	/* The events and the STOP. */
	CHECK_EQ(log_counts(s.fd).pt_unwritten_events, 101);
}

struct slow_thread {
	trace_event_id_t id;
	pthread_barrier_t barrier;
};

static void *emit_before_and_after(void *arg)
{
	struct slow_thread *thread = arg;

	emit_run(thread->id, 0, 50, 10);
	pthread_barrier_wait(&thread->barrier);
	pthread_barrier_wait(&thread->barrier);
	emit_run(thread->id, 50, 60, 10);
	return NULL;
}

/* The first events of the slow thread are still in the stream, but older than overwritten ones. */
TEST(events_that_a_failed_last_flush_would_have_dropped_are_lost, "STATUS-17 LOG-25", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	trace_id_t trid = start_log(POSIX_TRACE_LOOP, 64 * KIB, POSIX_TRACE_APPEND, 0, fd);
	struct slow_thread slow = {.id = ts_id("slow")};
	trace_event_id_t id = ts_id("fast");
	count_signals(SIGXFSZ);

	CHECK_OK(pthread_barrier_init(&slow.barrier, NULL, 2));
	pthread_t thread = ts_thread(emit_before_and_after, &slow);
	pthread_barrier_wait(&slow.barrier);
	uint32_t count = ts_flood(64 * KIB, id, 100, 0);
	pthread_barrier_wait(&slow.barrier);
	ts_join(thread);
	/* There is room for the end of the log, but not for events. */
	limit_file_size((rlim_t)ts_file_size(fd) + 4000);
	CHECK_EQ(posix_trace_shutdown(trid), EFBIG);
	limit_file_size(RLIM_INFINITY);
	struct ptrc_counts counts = log_counts(fd);
	CHECK_EQ(counts.pt_log_events, 0);
	/* The events, and START, OVERFLOW, RESUME and STOP. */
	CHECK_EQ(counts.pt_lost_events + counts.pt_unwritten_events, count + 60 + 4);
	/* Those after the gap. */
	CHECK_GE(counts.pt_unwritten_events, 10);
}

/* While a flush takes events out and writes them, threads overwrite these and other ones. */
TEST(what_a_loop_stream_overwrites_beside_a_flush_is_in_the_log_or_lost, "STATUS-17 LOG-25",
     NEEDS_KEEPER)
{
	for (int round = 0; round < 100; round++) {
		int fd = ts_temp_file();
		trace_id_t trid = start_log(POSIX_TRACE_LOOP, 64 * KIB, POSIX_TRACE_APPEND, 0, fd);
		struct ts_emitter w[2];
		pthread_t threads[2];

		for (size_t i = 0; i < 2; i++) {
			w[i] = (struct ts_emitter){.id = ts_id("number"), .allowed = UINT32_MAX};
			threads[i] = ts_thread(ts_emit_on, &w[i]);
		}
		CHECK_EVENTUALLY(w[0].done + w[1].done > 4000);
		ts_flush(trid);
		for (size_t i = 0; i < 2; i++) {
			w[i].is_over = true;
			ts_join(threads[i]);
		}
		struct ts_events events = ts_end_log(trid, fd);
		uint64_t all = (uint64_t)w[0].done + w[1].done;
		uint64_t told = ts_count(&events, w[0].id) + log_counts(fd).pt_lost_events;
		/* START and the markers of the flush may be lost, too. */
		CHECK_GE(told, all);
		CHECK_LE(told, all + 8);
	}
}

TEST(log_that_does_not_come_to_its_disk_is_told, "STATUS-17 SHUTDOWN-10", NEEDS_KEEPER)
{
	if (!failing_sync_begin(EIO))
		SKIP("no filters of system calls");
	for (size_t i = 0; i < 3; i++) {
		struct logged s =
			start_logged(POSIX_TRACE_UNTIL_FULL, 64 * KIB, log_policies[i], 64 * KIB);

		emit_run(s.id, 0, 100, 100);
		/* A flush does not wait for the disk. */
		ts_flush(s.trid);
		CHECK_EQ(posix_trace_shutdown(s.trid), EIO);
		expect_closed_log(s.fd);
		CHECK_EQ(log_status(s.fd).posix_stream_flush_error, EIO);
		ts_expect_in_log(s.fd, s.id, 0, 99);
	}
}

TEST(nobody_waits_for_the_disk_if_the_log_is_not_synced, "", NEEDS_KEEPER)
{
	int fd = ts_temp_file(), ends[2];
	trace_attr_t attr = log_attr(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0);
	trace_id_t trid = ts_create_log(0, &attr, fd), plain = ts_create(0, NULL);

	if (!failing_sync_begin(EIO))
		SKIP("no filters of system calls");
	CHECK_EQ(posixtrace_set_log_sync(plain, 0), EINVAL);
	ts_shutdown(plain);
	CHECK_EQ(posixtrace_set_log_sync(plain, 0), EINVAL);
	CHECK_OK(posixtrace_set_log_sync(trid, 0));
	ts_shutdown(trid);
	CHECK_EQ(log_status(fd).posix_stream_flush_error, 0);

	/* The last call counts. */
	trid = ts_create_log(0, &attr, fd);
	CHECK_OK(posixtrace_set_log_sync(trid, 0));
	CHECK_OK(posixtrace_set_log_sync(trid, 1));
	CHECK_EQ(posix_trace_shutdown(trid), EIO);

	/* A pipe has no disk. */
	open_pipe(ends, 0);
	ts_shutdown(ts_create_log(0, &attr, ends[1]));
}

TEST(without_descriptors_the_log_is_dealt_with_all_the_same,
     "LOG-13 CLEAR-10 SHUTDOWN-01 SHUTDOWN-07", NEEDS_KEEPER)
{
	struct logged s = create_logged(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0);
	struct rlimit old, none;

	CHECK_SYS(getrlimit(RLIMIT_NOFILE, &old));
	none = (struct rlimit){0, old.rlim_max};
	ts_start(s.trid);
	/* What the first event opens. */
	CHECK_OK(posixtrace_attach());
	CHECK_SYS(setrlimit(RLIMIT_NOFILE, &none));
	emit_run(s.id, 0, 100, 4);
	CHECK_OK(posix_trace_flush(s.trid));
	/* START and FLUSH_START are there besides. */
	CHECK_EQ(counts_of(s.trid).pt_log_events, 102);
	CHECK_OK(posix_trace_clear(s.trid));
	emit_run(s.id, 100, 200, 4);
	CHECK_OK(posix_trace_shutdown(s.trid));
	CHECK_SYS(setrlimit(RLIMIT_NOFILE, &old));
	ts_expect_in_log(s.fd, s.id, 100, 199);
	expect_closed_log(s.fd);
}

TEST(many_logs_at_a_time_keep_apart, "CREATE-07 CREATE-26 LOG-19", NEEDS_KEEPER)
{
	enum { STREAMS = 16 };
	trace_event_id_t id = ts_id("event");
	trace_id_t trids[STREAMS];
	int fds[STREAMS];
	for (int i = 0; i < STREAMS; i++) {
		fds[i] = ts_temp_file();
		trids[i] = create_log(0, 64 * KIB, POSIX_TRACE_APPEND, 0, fds[i]);
	}
	for (int i = 0; i < STREAMS; i++) {
		ts_start(trids[i]);
		ts_emit(id, (uint32_t)i);
	}
	for (int i = 0; i < STREAMS; i++)
		ts_shutdown(trids[i]);
	for (int i = 0; i < STREAMS; i++)
		ts_expect_in_log(fds[i], id, (uint32_t)i, STREAMS - 1);
}
