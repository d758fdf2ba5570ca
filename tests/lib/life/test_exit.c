/* SPDX-License-Identifier: MIT */
/*
 * The end of controllers and of traced processes, by whatever means: logs are closed and
 * complete, streams are freed, nothing recorded is lost.
 */
#include "include/posixtrace-private.h"
#include "tests/support/private_user.h"

#include "tests/support/endings.h"
#include "tests/support/keeper.h"

#define KIB ((size_t)1024)
#define MIB ((size_t)1024 * 1024)

static trace_attr_t append_attr(size_t stream_bytes)
{
	return log_attr(POSIX_TRACE_UNTIL_FULL, stream_bytes, POSIX_TRACE_APPEND, 0);
}

/*
 * Ends of a controller
 */

/* One of each kind: by the library, by its keeper while the process lives, after its death. */
static const enum ending endings[] = {BY_EXIT, BY__EXIT, BY_KILL};

/* A controller that traces itself and ends. */
static void end_with_log(enum ending ending, int fd, const trace_attr_t *attr, uint32_t count)
{
	trace_id_t trid = ts_create_log(0, attr, fd);
	ts_start(trid);
	emit_run(ts_id("event"), 0, count, 40);
	end_by(ending);
}

static void check_ending(enum ending ending, const trace_attr_t *attr, uint32_t count)
{
	int fd = ts_temp_file();
	pid_t pid = harness_fork();
	if (pid == 0)
		end_with_log(ending, fd, attr, count);
	expect_ending(pid, ending);
	NOTE("%s", ending_names[ending]);
	expect_complete_log(fd, ts_id("event"), count);
	/* The keeper ends with the stream. */
	CHECK_EVENTUALLY(other_holder(fd, 0) == 0);
	close(fd);
}

TEST(log_is_closed_and_complete_after_each_end, "EXIT-01 EXIT-02 EXIT-03 GEN-05", NEEDS_KEEPER)
{
	trace_attr_t attr = append_attr(256 * KIB);
	for (enum ending ending = BY_EXIT; ending < ENDINGS; ending++)
		for (int i = 0; i < (ending == BY_EXIT ? 20 : 5); i++)
			check_ending(ending, &attr, 1000);
}

HELPER(return_from_main)
{
	CHECK_EQ(argc, 1);
	trace_attr_t attr = append_attr(256 * KIB);
	trace_id_t trid = ts_create_log(0, &attr, atoi(argv[0]));
	ts_start(trid);
	emit_run(ts_id("event"), 0, 500, 40);
	return 0;
}

TEST(log_is_closed_and_complete_after_return_from_main, "EXIT-01 GEN-06", NEEDS_EXEC)
{
	int fd = ts_temp_file();
	if (IN_CHILD()) {
		char number[16];
		snprintf(number, sizeof(number), "%d", CHECK_SYS(dup(fd)));
		clearenv();
		harness_exec("return_from_main", number, (char *)NULL);
	}
	expect_complete_log(fd, ts_id("event"), 500);
}

TEST(every_policy_ends_well, "EXIT-02 EXIT-03 POLICY-25", NEEDS_KEEPER)
{
	static const int stream_policies[] = {POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL,
					      POSIX_TRACE_FLUSH};
	for (int i = 0; i < 9; i++) {
		trace_attr_t attr = log_attr(stream_policies[i / 3], 256 * KIB, log_policies[i % 3],
					     1024 * KIB);
		for (int j = 0; j < 3; j++)
			check_ending(endings[j], &attr, 500);
	}
}

TEST(large_stream_is_flushed_completely_after_sigkill, "EXIT-03 EXIT-02", NEEDS_KEEPER)
{
	/* Some time for the keeper: whoever opens the log must wait for it. */
	trace_attr_t attr = append_attr(32 * MIB);
	check_ending(BY_KILL, &attr, 100000);
}

TEST(several_streams_of_a_controller_end_with_it, "EXIT-01 EXIT-02 EXIT-03 SHUTDOWN-09",
     NEEDS_KEEPER)
{
	trace_attr_t attr = append_attr(64 * KIB);
	trace_event_id_t id = ts_id("event");
	for (int i = 0; i < 3; i++) {
		trace_id_t trids[5];
		int fds[5];
		for (int j = 0; j < 5; j++)
			fds[j] = ts_temp_file();
		pid_t pid = harness_fork();
		if (pid == 0) {
			for (int j = 0; j < 5; j++) {
				trids[j] = ts_create_log(0, &attr, fds[j]);
				ts_start(trids[j]);
			}
			ts_create_running(0, &attr);
			ts_create_running(getppid(), &attr);
			emit_run(id, 0, 100, 20);
			/* It gets no second STOP. */
			ts_stop(trids[2]);
			end_by(endings[i]);
		}
		expect_ending(pid, endings[i]);
		for (int j = 0; j < 5; j++) {
			expect_complete_log(fds[j], id, 100);
			close(fds[j]);
		}
	}
	/* The parent was traced by them and goes on. */
	ts_emit(id, 1);
}

TEST(pipe_gets_the_whole_log_after_sigkill, "EXIT-03 LOG-35", NEEDS_KEEPER)
{
	trace_attr_t attr = append_attr(512 * KIB);
	for (int i = 0; i < 3; i++) {
		int ends[2], sink = ts_temp_file();
		open_pipe(ends, 0);
		pid_t pid = harness_fork();
		if (pid == 0) {
			close(ends[0]);
			end_with_log(endings[i], ends[1], &attr, 2000);
		}
		close(ends[1]);
		/* Ends when the keeper has closed it. */
		struct drain drain = {.delay_us = 50, .chunk = 4096};
		drain_start(&drain, ends[0], sink);
		ts_join(drain.thread);
		harness_reap(pid);
		close(ends[0]);
		expect_complete_log(sink, ts_id("event"), 2000);
		close(sink);
	}
}

TEST(streams_of_ended_controllers_do_not_count, "CREATE-09 CREATE-12 EXIT-01 EXIT-02 EXIT-03")
{
	if (!private_user_is_on())
		SKIP("other programs of this user may have streams");
	for (enum ending ending = BY_EXIT; ending < ENDINGS; ending++) {
		pid_t pid = harness_fork();
		if (pid == 0) {
			for (int i = 0; i < TRACE_SYS_MAX; i++)
				CHECK_OK(try_create());
			CHECK_EQ(try_create(), EAGAIN);
			end_by(ending);
		}
		expect_ending(pid, ending);
	}
	for (int i = 0; i < TRACE_SYS_MAX; i++)
		CHECK_OK(try_create());
	CHECK_EQ(try_create(), EAGAIN);
}

TEST(end_of_a_controller_shows_while_its_children_live, "EXIT-01 EXIT-02 EXIT-03 FORK-11 CREATE-12",
     NEEDS_KEEPER)
{
	trace_event_id_t id = ts_id("event");
	for (int i = 0; i < 12; i++) {
		int fd = ts_temp_file(), life[2];
		char byte;
		open_pipe(life, 0);
		pid_t pid = harness_fork();
		if (pid == 0) {
			start_log(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0, fd);
			if (private_user_is_on())
				for (int j = 1; j < TRACE_SYS_MAX; j++)
					CHECK_OK(try_create());
			/* A child that outlives it, by each way there is. */
			close(life[1]);
			pid_t child = i / 3 == 1   ? harness_raw_clone()
				      : i / 3 == 2 ? vfork()
						   : fork();
			if (child == 0) {
				if (i / 3 >= 2) {
					dup2(life[0], STDIN_FILENO);
					execl("/bin/cat", "cat", (char *)NULL);
					_exit(127);
				}
				while (read(life[0], &byte, 1) > 0)
					;
				_exit(0);
			}
			emit_run(id, 0, 100, 20);
			end_by(endings[i % 3]);
		}
		close(life[0]);
		harness_reap(pid);
		expect_complete_log(fd, id, 100);
		if (private_user_is_on())
			CHECK_EVENTUALLY(can_have_all_streams());
		close(life[1]);
		close(fd);
	}
}

TEST(log_survives_signals_to_the_whole_group, "EXIT-03", NEEDS_KEEPER)
{
	static const int signals[] = {SIGINT, SIGHUP, SIGTERM, SIGQUIT, SIGKILL};
	trace_event_id_t id = ts_id("event");
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		int fd = ts_temp_file();
		struct harness_gate ready = harness_gate();
		pid_t pid = harness_fork();
		if (pid == 0) {
			struct rlimit no_core = {0, 0};
			setrlimit(RLIMIT_CORE, &no_core);
			CHECK_SYS(setpgid(0, 0));
			start_log(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0, fd);
			emit_run(id, 0, 100, 20);
			harness_open(&ready);
			for (;;)
				pause();
		}
		harness_pass(&ready);
		CHECK_SYS(kill(-pid, signals[i]));
		int status = harness_reap(pid);
		CHECK(WIFSIGNALED(status));
		CHECK_EQ(WTERMSIG(status), signals[i]);
		expect_complete_log(fd, id, 100);
		close(fd);
	}
}

/* A log, in a file with a name, of a stream whose controller and keeper were killed: so many
 * events had not been flushed, and 100 before them had. */
static int left_log(char path[4096], uint32_t unflushed)
{
	trace_event_id_t id = ts_id("event");
	trace_attr_t attr = append_attr(256 * KIB);
	struct harness_gate ready = harness_gate();
	int fd = ts_temp_named(path, 4096);
	pid_t pid = harness_fork();
	if (pid == 0) {
		trace_id_t trid = ts_create_log(0, &attr, fd);
		ts_start(trid);
		emit_run(id, 0, 100, 40);
		ts_flush(trid);
		emit_run(id, 100, 100 + unflushed, 40);
		harness_open(&ready);
		for (;;)
			pause();
	}
	harness_pass(&ready);
	pid_t keeper = other_holder(fd, pid);
	CHECK_GT(keeper, 0);
	kill_both(pid, keeper);
	return fd;
}

TEST(log_left_by_killed_controller_and_keeper_is_readable_and_finished_by_the_next_create,
     "EXIT-03 LOG-39 STATUS-27 GEN-05", NEEDS_KEEPER)
{
	char path[4096];
	int fd = left_log(path, 50);
	trace_event_id_t id = ts_id("event");
	trace_id_t log = ts_open_log(fd);
	struct ts_events events = ts_read_log(log);
	uint32_t seen = (uint32_t)ts_count(&events, id);
	CHECK_GE(seen, 100);
	ts_expect_numbers(&events, id, 0, seen - 1);
	ts_expect_name(log, id, "event");
	expect_unfinished(log);
	ts_close_log(log);
	ts_shutdown(ts_create(0, NULL));
	expect_complete_log(fd, id, 150);
	CHECK_SYS(unlink(path));
}

HELPER(create_once)
{
	CHECK_EQ(argc, 0);
	ts_shutdown(ts_create(0, NULL));
	return 0;
}

static void remove_names_objects(void)
{
	struct dirent *entry;
	char dir[64];

	private_user_dir(dir);
	DIR *objects = opendir(dir);
	CHECK(objects);
	while ((entry = readdir(objects)))
		if (strncmp(entry->d_name, "n.", 2) == 0)
			CHECK_SYS(unlinkat(dirfd(objects), entry->d_name, 0));
	closedir(objects);
}

/* As when the last process that used them ended before the log was finished. */
TEST(an_orphan_without_its_names_keeps_its_events, "EXIT-03 LOG-39", NEEDS_KEEPER)
{
	if (!private_user_is_on())
		SKIP("other programs of this user may have names");
	char path[4096];
	int fd = left_log(path, 50);
	remove_names_objects();
	if (IN_CHILD())
		harness_exec("create_once", (char *)NULL);
	expect_complete_log(fd, ts_id("event"), 150);
	CHECK_SYS(unlink(path));
}

static _Atomic int signals_seen;

static void count_signal(int signal_number)
{
	(void)signal_number;
	atomic_fetch_add(&signals_seen, 1);
}

TEST(finishing_anothers_log_is_no_matter_of_ones_own_limits, "EXIT-03 LOG-22 GEN-07 CREATE-01",
     NEEDS_KEEPER)
{
	char path[4096];
	int fd = left_log(path, 2000);
	struct sigaction action = {.sa_handler = count_signal};
	CHECK_SYS(sigaction(SIGXFSZ, &action, NULL));
	limit_file_size(5000);
	trace_id_t trid = ts_create(0, NULL);
	ts_start(trid);
	ts_emit(ts_id("event"), 1);
	ts_shutdown(trid);
	limit_file_size(RLIM_INFINITY);
	CHECK_EQ(signals_seen, 0);
	expect_complete_log(fd, ts_id("event"), 2100);
	CHECK_SYS(unlink(path));
}

/* It may write no more than 5000 bytes, and cannot help it. */
TEST(a_log_one_has_no_room_for_is_left_to_the_next, "EXIT-03 LOG-22 GEN-07 CREATE-01", NEEDS_KEEPER)
{
	char path[4096];
	int fd = left_log(path, 2000);
	for (int i = 0; i < 2; i++) {
		if (IN_CHILD()) {
			struct rlimit limit = {5000, 5000};
			trace_id_t trid;
			CHECK_SYS(setrlimit(RLIMIT_FSIZE, &limit));
			(void)posix_trace_create(0, NULL, &trid);
			_exit(0);
		}
		/* Not closed. */
		CHECK_EQ(log_status(fd).posix_stream_flush_error, EOWNERDEAD);
	}
	trace_id_t trid = ts_create(0, NULL);
	expect_complete_log(fd, ts_id("event"), 2100);
	struct ts_events events = ts_log_events(fd);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_FLUSH_START), 2);
	ts_shutdown(trid);
	CHECK_SYS(unlink(path));
}

TEST(asking_for_the_status_replaces_a_keeper_that_was_killed, "EXIT-03 POLICY-22 POLICY-23",
     NEEDS_KEEPER)
{
	struct logged s = start_logged(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0);

	emit_run(s.id, 0, 50, 40);
	kill_keeper(s.trid);
	emit_run(s.id, 50, 100, 40);
	/* The stream flushes by itself again, with no call that would ask for it. */
	(void)ts_status(s.trid);
	pid_t keeper = other_holder(s.fd, getppid());
	CHECK_GT(keeper, 0);
	CHECK(!process_is_gone(keeper));
	ts_shutdown(s.trid);
	expect_complete_log(s.fd, s.id, 100);
}

TEST(controller_survives_the_death_of_its_keeper, "EXIT-03 LOG-13 LOG-19", NEEDS_KEEPER)
{
	struct logged s = start_logged(POSIX_TRACE_UNTIL_FULL, 256 * KIB, POSIX_TRACE_APPEND, 0);
	uint32_t number = 0;
	for (; number < 5 * 150; number += 150) {
		emit_run(s.id, number, number + 50, 40);
		ts_flush(s.trid);
		emit_run(s.id, number + 50, number + 100, 40);
		kill_keeper(s.trid);
		emit_run(s.id, number + 100, number + 150, 40);
	}
	ts_shutdown(s.trid);
	expect_complete_log(s.fd, s.id, number);
}

TEST(no_more_processes_is_no_matter_of_the_log, "CREATE-25 SHUTDOWN-07 SHUTDOWN-08", NEEDS_KEEPER)
{
	trace_attr_t attr = append_attr(256 * KIB);
	trace_event_id_t id = ts_id("event");
	int fd = ts_temp_file(), other = ts_temp_file();
	struct rlimit none = {0, 0}, old;
	trace_id_t trid = ts_create_log(0, &attr, fd), refused = 4711;

	if (geteuid() == 0)
		SKIP("the limit does not hold for root");
	ts_start(trid);
	emit_run(id, 0, 100, 20);
	CHECK_SYS(getrlimit(RLIMIT_NPROC, &old));
	none.rlim_max = old.rlim_max;
	CHECK_SYS(setrlimit(RLIMIT_NPROC, &none));
	/* There is no process for the log of a new stream: not the limit of streams. */
	for (int i = 0; i < TRACE_SYS_MAX + 6; i++)
		CHECK_EQ(posix_trace_create_withlog(0, &attr, other, &refused), EAGAIN);
	CHECK_EQ(refused, 4711);
	ts_flush(trid);
	emit_run(id, 100, 200, 20);
	/* Nor is there one in the place of one that was killed. */
	kill_keeper(trid);
	ts_shutdown(trid);
	CHECK_SYS(setrlimit(RLIMIT_NPROC, &old));
	expect_complete_log(fd, id, 200);
}

/* Whether the limit lets this process make one more. */
static bool can_fork_under(const struct rlimit *limit)
{
	CHECK_SYS(setrlimit(RLIMIT_NPROC, limit));
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	if (pid < 0) {
		CHECK_EQ(errno, EAGAIN);
		return false;
	}
	CHECK_EXIT(pid, 0);
	return true;
}

/* A keeper is two tasks, a process and a thread of it. Where orphans come to the caller, no third
 * one is needed to make it, so the limit can lie between the two. */
TEST(a_limit_that_the_second_task_of_a_keeper_hits_is_told_as_that, "CREATE-25", NEEDS_KEEPER)
{
	trace_attr_t attr = append_attr(256 * KIB);
	int fd = ts_temp_file();
	struct rlimit old, limit;
	trace_id_t trid = 4711;
	struct stat st;

	if (geteuid() == 0 || !private_user_is_on())
		SKIP("needs a user whose processes are counted, and are all here");
	CHECK_SYS(prctl(PR_SET_CHILD_SUBREAPER, 1));
	CHECK_SYS(getrlimit(RLIMIT_NPROC, &old));
	limit = (struct rlimit){.rlim_cur = 1, .rlim_max = old.rlim_max};
	while (!can_fork_under(&limit))
		CHECK_LT(++limit.rlim_cur, 1000);
	CHECK_EQ(posix_trace_create_withlog(0, &attr, fd, &trid), EAGAIN);
	CHECK_EQ(trid, 4711);
	/* Nothing has begun. */
	CHECK_SYS(fstat(fd, &st));
	CHECK_EQ(st.st_size, 0);
	limit.rlim_cur++;
	CHECK_SYS(setrlimit(RLIMIT_NPROC, &limit));
	trid = ts_create_log(0, &attr, fd);
	ts_shutdown(trid);
}

TEST(no_keeper_is_no_matter_of_clear_and_flush, "CLEAR-01 CLEAR-10 CLEAR-11 LOG-13 LOG-19",
     NEEDS_KEEPER)
{
	static const int policies[] = {POSIX_TRACE_APPEND, POSIX_TRACE_LOOP};
	trace_event_id_t id = ts_id("event");
	struct rlimit none = {0, 0}, old;

	if (geteuid() == 0)
		SKIP("the limit does not hold for root");
	CHECK_SYS(getrlimit(RLIMIT_NPROC, &old));
	none.rlim_max = old.rlim_max;
	for (int i = 0; i < 2; i++) {
		int fd = ts_temp_file();
		trace_id_t trid =
			start_log(POSIX_TRACE_UNTIL_FULL, 64 * KIB, policies[i], 1024 * KIB, fd);

		emit_run(id, 0, 50, 20);
		ts_flush(trid);
		emit_run(id, 50, 100, 20);
		CHECK_SYS(setrlimit(RLIMIT_NPROC, &none));
		kill_keeper(trid);
		ts_clear(trid);
		CHECK_EQ(count_so_far(fd, id), 0);
		emit_run(id, 100, 150, 20);
		ts_flush(trid);
		CHECK_EQ(count_so_far(fd, id), 50);
		emit_run(id, 150, 200, 20);
		/* It is done: a keeper that comes now does not do it again. */
		CHECK_SYS(setrlimit(RLIMIT_NPROC, &old));
		(void)ts_status(trid);
		CHECK_GT(other_holder(fd, getppid()), 0);
		CHECK_EQ(count_so_far(fd, id), 50);
		emit_run(id, 200, 250, 20);
		ts_expect_logged(trid, fd, id, 100, 249);
		close(fd);
	}
}

/* By the hard limit, so that not even a killed keeper can be replaced. */
TEST(without_any_process_for_a_keeper_the_stream_waits,
     "CLEAR-10 SHUTDOWN-07 SHUTDOWN-08 EXIT-03 LOG-13", NEEDS_KEEPER)
{
	char path[4096];
	int fd = ts_temp_named(path, sizeof(path));
	trace_event_id_t id = ts_id("event");

	if (geteuid() == 0)
		SKIP("the limit does not hold for root");
	if (IN_CHILD()) {
		struct rlimit none = {0, 0};
		trace_id_t trid =
			create_log(POSIX_TRACE_UNTIL_FULL, 256 * KIB, POSIX_TRACE_APPEND, 0, fd);

		ts_start(trid);
		emit_run(id, 0, 100, 40);
		ts_flush(trid);
		emit_run(id, 100, 200, 40);
		pid_t keeper = other_holder(fd, getppid());
		CHECK_GT(keeper, 0);
		CHECK_SYS(setrlimit(RLIMIT_NPROC, &none));
		kill(keeper, SIGKILL);
		CHECK_EVENTUALLY(process_is_gone(keeper));
		CHECK_EQ(posix_trace_flush(trid), EAGAIN);
		CHECK_EQ(posix_trace_clear(trid), EAGAIN);
		CHECK_EQ(ptrc_trace_keeper(trid, &keeper), EAGAIN);
		emit_run(id, 200, 300, 40);
		CHECK_EQ(posix_trace_shutdown(trid), EAGAIN);
		exit(0);
	}
	CHECK_EQ(log_status(fd).posix_stream_flush_error, EOWNERDEAD);
	trace_id_t trid = ts_create(0, NULL);
	expect_complete_log(fd, id, 300);
	ts_shutdown(trid);
	CHECK_SYS(unlink(path));
}

/*
 * Threads
 */

static void *create_and_end(void *arg)
{
	struct logged *s = arg;

	*s = start_logged(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0);
	ts_emit(s->id, 0);
	return NULL;
}

TEST(end_of_a_thread_shuts_nothing_down, "EXIT-04 CREATE-20", NEEDS_KEEPER)
{
	struct logged s;

	ts_join(ts_thread(create_and_end, &s));
	ts_expect_running(s.trid);
	/* The keeper, at least, has looked since. */
	ts_flush(s.trid);
	ts_emit(s.id, 1);
	ts_shutdown(s.trid);
	expect_complete_log(s.fd, s.id, 2);
}

/*
 * Traced processes
 */

TEST(end_of_a_traced_process_leaves_its_events, "EXIT-05 GETNEXT-07 STARTSTOP-16 EVENTID-27")
{
	trace_event_id_t id = ts_id("event");
	for (int i = 0; i < 3; i++) {
		struct harness_gate go = harness_gate();
		trace_attr_t attr = append_attr(64 * KIB);
		CHECK_OK(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED));
		pid_t pid = harness_fork();
		if (pid == 0) {
			harness_pass(&go);
			ts_emit(id, 0);
			pid_t child = fork();
			if (child == 0) {
				ts_emit(id, 1);
				end_by(endings[i]);
			}
			waitpid(child, NULL, 0);
			ts_emit(ts_id("of the ended one"), 2);
			end_by(endings[i]);
		}
		trace_id_t trid = ts_create_running(pid, &attr);
		harness_open(&go);
		expect_ending(pid, endings[i]);
		ts_expect_running(trid);
		ts_stop(trid);
		ts_start(trid);
		struct ts_events events = ts_read_all(trid);
		CHECK_EQ(events.count, 6);
		ts_expect_numbers(&events, id, 0, 1);
		CHECK_EQ(ts_number(&events.at[3]), 2);
		CHECK_EQ(events.at[3].info.posix_pid, pid);
		ts_expect_name(trid, id_at(&events, 3), "of the ended one");
		ts_shutdown(trid);
	}
}

static trace_event_id_t last_id;

static void emit_at_exit(void)
{
	ts_emit(last_id, 1);
}

/* No constructor of this program runs before those of the library, which have 101, the first
 * that programs may have; so no destructor should run after. */
__attribute__((destructor(102))) static void emit_in_destructor(void)
{
	if (last_id)
		ts_emit(last_id, 2);
}

TEST(events_of_exit_handlers_and_destructors_are_recorded, "EXIT-06 EXIT-01", NEEDS_KEEPER)
{
	trace_attr_t attr = append_attr(64 * KIB);
	trace_event_id_t id = ts_id("event");
	struct harness_gate go = harness_gate();
	int fd = ts_temp_file();
	pid_t pid = harness_fork();
	if (pid == 0) {
		/* Traced by itself, into a log, and by the parent. */
		harness_pass(&go);
		trace_id_t trid = ts_create_log(0, &attr, fd);
		ts_start(trid);
		last_id = id;
		atexit(emit_at_exit);
		ts_emit(id, 0);
		exit(0);
	}
	trace_id_t outer = ts_create_running(pid, &attr);
	harness_open(&go);
	CHECK_EXIT(pid, 0);
	struct ts_events events = ts_read_all(outer);
	ts_expect_numbers(&events, id, 0, 2);
	expect_complete_log(fd, id, 3);
}

TEST(events_of_quick_exit_handlers_are_recorded, "EXIT-06 EXIT-02", NEEDS_KEEPER)
{
	trace_event_id_t id = ts_id("event");
	int fd = ts_temp_file();
	if (IN_CHILD()) {
		start_log(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0, fd);
		last_id = id;
		at_quick_exit(emit_at_exit);
		ts_emit(id, 0);
		quick_exit(0);
	}
	expect_complete_log(fd, id, 2);
}

static void use_library_at_exit(void)
{
	trace_id_t trid;
	/* The library still works in the application's exit handlers. */
	if (posix_trace_create(0, NULL, &trid) || posix_trace_start(trid) ||
	    posix_trace_shutdown(trid))
		_exit(7);
}

TEST(library_works_in_exit_handlers, "EXIT-06")
{
	if (IN_CHILD()) {
		atexit(use_library_at_exit);
		exit(0);
	}
}

TEST(exit_with_open_logs_is_no_matter, "EXIT-07 OPEN-08", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = start_log(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0, fd);
	emit_run(id, 0, 10, 10);
	ts_shutdown(trid);
	size_t bytes, bytes_after;
	unsigned char *before = file_bytes(fd, &bytes);
	for (enum ending ending = BY_EXIT; ending < ENDINGS; ending++) {
		pid_t pid = harness_fork();
		if (pid == 0) {
			trace_id_t log = ts_open_log(fd);
			ts_next(log);
			end_by(ending);
		}
		expect_ending(pid, ending);
	}
	unsigned char *after = file_bytes(fd, &bytes_after);
	CHECK_EQ(bytes, bytes_after);
	CHECK_MEM_EQ(before, after, bytes);
}

TEST(names_outlive_the_controller, "EXIT-08 EVENTID-10")
{
	struct ts_target target = ts_target_fork();
	trace_attr_t attr = append_attr(64 * KIB);
	trace_event_id_t before = ts_target_id(&target, "before");
	trace_event_id_t *through = harness_share(sizeof(*through));
	pid_t pid = harness_fork();
	if (pid == 0) {
		*through = ts_trid_id(ts_create_running(target.pid, &attr), "through the stream");
		raise(SIGKILL);
	}
	expect_ending(pid, BY_KILL);
	trace_event_id_t later = ts_target_id(&target, "later");
	CHECK(later != before && later != *through);
	CHECK_EQ(ts_target_id(&target, "before"), before);
	trace_id_t trid = ts_create_running(target.pid, &attr);
	ts_expect_name(trid, before, "before");
	ts_expect_name(trid, later, "later");
	ts_target_emit(&target, before, 1);
	ts_target_emit(&target, later, 2);
	ts_read_ids(trid, POSIX_TRACE_START, before, later, 0);
	ts_target_end(&target);
}

TEST(target_goes_on_when_its_controller_is_killed, "EVENT-24 EXIT-03 SHUTDOWN-13", NEEDS_KEEPER)
{
	struct ts_target target = ts_target_fork();
	trace_attr_t attr = append_attr(64 * KIB);
	trace_event_id_t id = ts_target_id(&target, "event");
	trace_id_t mine = ts_create_running(target.pid, &attr);
	for (int i = 0; i < 10; i++) {
		struct harness_gate ready = harness_gate();
		int fd = ts_temp_file();
		pid_t pid = harness_fork();
		if (pid == 0) {
			ts_start(ts_create_log(target.pid, &attr, fd));
			harness_open(&ready);
			pause();
		}
		harness_pass(&ready);
		ts_target_emit(&target, id, 0);
		kill(pid, SIGKILL);
		ts_target_emit(&target, id, 0);
		harness_reap(pid);
		ts_target_emit(&target, id, 0);
	}
	ts_stop(mine);
	struct ts_events events = ts_read_all(mine);
	CHECK_EQ(ts_count(&events, id), 30);
	ts_target_end(&target);
}
