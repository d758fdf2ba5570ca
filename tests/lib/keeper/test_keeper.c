/* SPDX-License-Identifier: MIT */
/* The keeper under attack: killed at any moment, or facing a log that takes nothing. */
#include "include/posixtrace-private.h"
#include "tests/support/private_user.h"

#include "tests/support/keeper.h"

#include <sys/ioctl.h>
#include <sys/resource.h>

#define KIB ((size_t)1024)
#define MIB ((size_t)1024 * 1024)

struct flusher {
	trace_id_t trid;
	_Atomic bool is_over;
	struct ts_emitter *emitter;
	_Atomic unsigned int flushes;
};

/* Lets the emitter be ahead of the last flush by far less than the stream has room for. */
static void *flush_all_the_time(void *arg)
{
	struct flusher *f = arg;

	while (!f->is_over) {
		f->emitter->allowed = f->emitter->done + 2000;
		ts_flush(f->trid); /* starts another keeper if that is dead */
		f->flushes++;
	}
	return NULL;
}

/* Kills the keeper fifty times, at random moments of its work. */
static void kill_keepers(int fd, struct flusher *f)
{
	pthread_t thread = ts_thread(flush_all_the_time, f);
	unsigned seed = 1, flushes = 0;
	int kills = 0, kills_in_flush = 0;

	while (kills < 50) {
		/* A flush is given up if keepers die again and again: this one comes to its end before. */
		if (kills_in_flush == 10)
			CHECK_EVENTUALLY(f->flushes != flushes);
		if (f->flushes != flushes)
			kills_in_flush = 0;
		flushes = f->flushes;
		pid_t keeper = other_holder(fd, getpid());
		struct timespec pause = {0, (rand_r(&seed) % 10000) * 1000};

		nanosleep(&pause, NULL);
		if (keeper <= 0)
			continue;
		if (kill(keeper, SIGKILL) == 0) {
			CHECK_EVENTUALLY(process_is_gone(keeper));
			kills++;
			kills_in_flush++;
		}
	}
	f->is_over = true;
	ts_join(thread);
}

TEST(keeper_is_told_and_replaced, "", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	trace_id_t plain, trid = create_log(POSIX_TRACE_FLUSH, 64 * KIB, POSIX_TRACE_APPEND, 0, fd),
			  log = ts_open_log(fd);
	char path[64], program[64] = "";
	pid_t keeper = 42, other;

	CHECK_OK(posix_trace_create(0, NULL, &plain));
	CHECK_EQ(ptrc_trace_keeper(plain, &keeper), EINVAL);
	CHECK_EQ(ptrc_trace_keeper(log, &keeper), EINVAL);
	CHECK_EQ(keeper, 42);
	CHECK_OK(ptrc_trace_keeper(trid, &keeper));
	CHECK_OK(ptrc_trace_keeper(trid, &other));
	CHECK_EQ(keeper, other);
	/* It is the small program, not a copy of this process, where memory may be executed. */
	snprintf(path, sizeof(path), "/proc/%d/exe", keeper);
	CHECK_SYS(readlink(path, program, sizeof(program) - 1));
	CHECK(memfd_create("", MFD_CLOEXEC | 0x10U /* MFD_EXEC */) < 0 ||
	      !strncmp(program, "/memfd:", 7));
	CHECK_SYS(kill(keeper, SIGKILL));
	/* Until it has ended, which the kernel says a moment later, it may still be told. */
	CHECK_EVENTUALLY(ptrc_trace_keeper(trid, &other) == 0 && other != keeper);
	CHECK_SYS(kill(other, 0));
	ts_shutdown(trid);
	ts_shutdown(plain);
	ts_close_log(log);
	CHECK_EQ(ptrc_trace_keeper(trid, &keeper), EINVAL);
}

TEST(killed_keepers_lose_and_double_nothing, "LOG-19 LOG-39 EXIT-03", NEEDS_KEEPER)
{
	for (int i = 0; i < 3; i++) {
		bool is_until_full = log_policies[i] == POSIX_TRACE_UNTIL_FULL;
		struct logged s =
			start_logged(is_until_full ? POSIX_TRACE_UNTIL_FULL : POSIX_TRACE_FLUSH,
				     4 * MIB, log_policies[i], 64 * MIB);
		struct ts_emitter emitter = {.id = s.id};
		struct flusher f = {.trid = s.trid, .emitter = &emitter};
		pthread_t thread = ts_thread(ts_emit_on, &emitter);

		NOTE("log policy %d", log_policies[i]);
		kill_keepers(s.fd, &f);
		emitter.is_over = true;
		ts_join(thread);
		ts_shutdown(s.trid);
		expect_closed_log(s.fd);
		trace_id_t log = ts_open_log(s.fd);
		struct ts_events events = ts_read_log(log);
		ts_expect_numbers(&events, s.id, 0, emitter.done - 1);
		CHECK_EQ(ts_count(&events, POSIX_TRACE_START), 1);
		CHECK_EQ(ts_count(&events, POSIX_TRACE_STOP), 1);
		/* The log is whole, but nobody knows an index of all of it. */
		CHECK_EQ(counts_of(log).pt_damaged_gaps, 0);
		CHECK_EQ(posixtrace_get_type_counts(log, NULL, 0), ENODATA);
		ts_close_log(log);
	}
}

/* What the keeper may map beyond what it has. */
static void limit_memory(pid_t keeper, size_t more)
{
	struct rlimit limit;
	unsigned long pages = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/statm", keeper);
	file = fopen(path, "r");
	CHECK(file != NULL);
	CHECK_EQ(fscanf(file, "%lu", &pages), 1);
	fclose(file);
	limit.rlim_cur = limit.rlim_max = pages * (size_t)sysconf(_SC_PAGESIZE) + more;
	CHECK_SYS(prlimit(keeper, RLIMIT_AS, &limit, NULL));
}

TEST(short_of_memory_the_keeper_flushes_in_small_parts, "LOG-13 LOG-19", NEEDS_KEEPER)
{
	static struct posixtrace_type_count types[POSIX_TRACE_UNNAMED_USEREVENT + 100];
	uint32_t count = 0;
	struct logged s = start_logged(POSIX_TRACE_UNTIL_FULL, 32 * MIB, POSIX_TRACE_APPEND, 0);

	ts_emit(s.id, count++);
	ts_flush(s.trid);
	limit_memory(other_holder(s.fd, getpid()), 3 * MIB);
	for (int i = 0; i < 2; i++) {
		while (count % 300000)
			ts_emit(s.id, count++);
		ts_flush(s.trid);
		ts_emit(s.id, count++);
		CHECK_OK(posixtrace_get_type_counts(s.trid, types, s.id + 1));
		CHECK_EQ(types[s.id].pt_events, count);
	}
	ts_shutdown(s.trid);
	expect_closed_log(s.fd);
	ts_expect_in_log(s.fd, s.id, 0, count - 1);
}

TEST(failed_flushes_of_a_running_stream_lose_nothing, "LOG-25 LOG-19 LOG-22", NEEDS_KEEPER)
{
	for (int i = 0; i < 3; i++) {
		struct logged s =
			start_logged(POSIX_TRACE_UNTIL_FULL, 8 * MIB, log_policies[i], 64 * MIB);
		struct ts_emitter emitter = {.id = s.id};
		pthread_t thread = ts_thread(ts_emit_on, &emitter);

		for (uint32_t k = 0; k < 20; k++) {
			CHECK_EVENTUALLY(emitter.done == emitter.allowed);
			emitter.allowed += 2000;
			CHECK_EVENTUALLY(emitter.done > emitter.allowed - 2000);
			limit_file_size((rlim_t)ts_file_size(s.fd));
			int err = posix_trace_flush(s.trid);
			limit_file_size(RLIM_INFINITY);
			CHECK_EQ(err, EFBIG);
			if (k % 3 == 0)
				ts_flush(s.trid);
		}
		emitter.is_over = true;
		ts_join(thread);
		ts_expect_logged(s.trid, s.fd, s.id, 0, emitter.done - 1);
	}
}

TEST(log_of_names_without_a_keeper, "LOG-36 LOG-42 EXIT-03", NEEDS_KEEPER)
{
	/* Killed before it has written anything but the head; names registered since. */
	struct logged s = create_logged(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_LOOP, 0);
	trace_event_id_t id = ts_id("registered later");
	kill_keeper(s.trid);
	trace_id_t log = ts_end_and_open_log(s.trid, s.fd);
	ts_expect_name(log, id, "registered later");
	ts_close_log(log);
}

/* Where the keeper of a killed controller hangs: its reader is there and reads
 * nothing. */
static pid_t start_stuck_keeper(int ends[2])
{
	open_pipe(ends, 0);
	pid_t pid = harness_fork();
	if (pid == 0) {
		trace_event_id_t id = ts_id("number");

		start_log(POSIX_TRACE_UNTIL_FULL, MIB, POSIX_TRACE_APPEND, 0, ends[1]);
		for (uint32_t i = 0; i < 10000; i++)
			ts_emit(id, i);
		harness_stand_still();
	}
	harness_wait_until_still(pid);
	close(ends[1]);
	pid_t keeper = other_holder(ends[0], pid);
	CHECK_GT(keeper, 0);
	harness_kill(pid);
	return keeper;
}

/* Until the pipe takes no more. */
static void wait_until_stuck(const int ends[2], pid_t keeper)
{
	int size = CHECK_SYS(fcntl(ends[0], F_GETPIPE_SZ)), held;

	CHECK_EVENTUALLY(ioctl(ends[0], FIONREAD, &held) == 0 && held >= size / 2);
	ts_wait_asleep(keeper, keeper);
}

TEST(stuck_keeper_of_a_dead_controller_ends_by_sigterm_or_with_its_reader, "EXIT-03 LOG-24 LOG-26",
     NEEDS_KEEPER)
{
	int ends[2];
	pid_t keeper = start_stuck_keeper(ends);

	wait_until_stuck(ends, keeper);
	CHECK(!process_is_gone(keeper));
	kill(keeper, SIGTERM);
	CHECK_EVENTUALLY(process_is_gone(keeper));

	keeper = start_stuck_keeper(ends);
	close(ends[0]);
	CHECK_EVENTUALLY(process_is_gone(keeper));
}
