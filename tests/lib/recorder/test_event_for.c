/* SPDX-License-Identifier: MIT */
/* posixtrace_event_for: events of a process that another one records. */
#include "include/posixtrace-private.h"
#include "tests/support/shared_objects.h"
#include "tests/support/support.h"

#include <fcntl.h>
#include <posixtrace.h>
#include <spawn.h>
#include <sys/stat.h>

#define ROOMY ((size_t)8 << 20)

static unsigned int event_for(pid_t pid, const char *name, const void *data, size_t size)
{
	unsigned int streams = 4711;

	CHECK_OK(posixtrace_event_for(pid, name, NULL, data, size, &streams));
	return streams;
}

/*
 * A shell that knows nothing of us. A line makes it start another one, which tells its
 * number and goes with the next line.
 */
struct shell {
	pid_t pid;
	int in, out;
};

static pid_t read_pid(struct shell *shell)
{
	char line[32] = "";

	for (size_t at = 0; !strchr(line, '\n') && at < sizeof(line) - 1; at++)
		CHECK_EQ(CHECK_SYS(read(shell->out, line + at, 1)), 1);
	return (pid_t)atoi(line);
}

static pid_t start_child(struct shell *shell)
{
	CHECK_EQ(CHECK_SYS(write(shell->in, "\n", 1)), 1);
	return read_pid(shell);
}

static void end_shell(struct shell *shell)
{
	int status;

	close(shell->in);
	CHECK_SYS(waitpid(shell->pid, &status, 0));
	close(shell->out);
}

static struct shell start_shell(void)
{
	static const char *const argv[] = {
		"sh", "-c", "echo $$; read line; sh -c 'echo $$; read line; :'; :", NULL};
	posix_spawn_file_actions_t actions;
	int in[2], out[2];
	struct shell shell;

	CHECK_SYS(pipe2(in, O_CLOEXEC));
	CHECK_SYS(pipe2(out, O_CLOEXEC));
	CHECK_OK(posix_spawn_file_actions_init(&actions));
	CHECK_OK(posix_spawn_file_actions_adddup2(&actions, in[0], 0));
	CHECK_OK(posix_spawn_file_actions_adddup2(&actions, out[1], 1));
	CHECK_OK(posix_spawn(&shell.pid, "/bin/sh", &actions, NULL, (char *const *)argv, environ));
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(out[1]);
	shell.in = in[1];
	shell.out = out[0];
	CHECK_EQ(read_pid(&shell), shell.pid);
	return shell;
}

TEST(an_event_of_a_shell_is_recorded_for_it, "")
{
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, ROOMY, 10);
	struct shell shell = start_shell();
	trace_id_t one = ts_create_running(shell.pid, &attr);
	struct ts_reader reader;
	struct ts_event event;

	ts_expect(one, POSIX_TRACE_START);
	ts_reader_start(&reader, one);
	int64_t before = ts_realtime_ns();
	CHECK_EQ(event_for(shell.pid, "step", "some data, too long", 19), 1);
	ts_reader_join(&reader);
	CHECK_OK(reader.result);
	ts_expect_name(one, reader.event.info.posix_event_id, "step");
	CHECK_EQ(reader.event.info.posix_pid, shell.pid);
	/* Nobody of that process called. */
	CHECK_EQ(reader.event.info.posix_tid, 0);
	CHECK_EQ((uintptr_t)reader.event.info.posix_thread_id, 0);
	CHECK(!reader.event.info.posix_prog_address);
	CHECK_EQ(reader.event.info.posix_truncation_status, POSIX_TRACE_TRUNCATED_RECORD);
	CHECK_EQ(reader.event.len, 10);
	CHECK_MEM_EQ(reader.event.data, "some data,", 10);
	CHECK_GE(ts_time_ns(&reader.event.info.posix_timestamp), before - 1000000);

	/* Of two streams both; the second does not want this one. */
	trace_id_t two = ts_past_start(ts_create_running(shell.pid, &attr));
	CHECK_EQ(event_for(shell.pid, "step", NULL, 0), 2);
	event = ts_expect(one, reader.event.info.posix_event_id);
	CHECK_EQ(event.len, 0);
	ts_expect(two, reader.event.info.posix_event_id);
	trace_event_set_t set = ts_set(reader.event.info.posix_event_id, 0);
	ts_set_filter(two, &set, POSIX_TRACE_SET_EVENTSET);
	CHECK_EQ(event_for(shell.pid, "step", NULL, 0), 1);
	ts_stop(one);
	CHECK_EQ(event_for(shell.pid, "step", NULL, 0), 0);
	CHECK_EQ(ts_figure(one, "lost_events"), 0);
	CHECK_EQ(ts_figure(one, "threads"), 0);
	ts_shutdown(one);
	ts_shutdown(two);
	CHECK_EQ(event_for(shell.pid, "step", NULL, 0), 0);
	end_shell(&shell);
}

TEST(what_a_full_stream_cannot_take_is_lost, "")
{
	static const int policies[] = {POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_LOOP};
	static const char data[1000];

	for (int i = 0; i < 2; i++) {
		struct shell shell = start_shell();
		trace_id_t trid = ts_run_of(shell.pid, policies[i], 16384, 1000);
		unsigned long recorded = 0;

		for (int n = 0; n < 100; n++)
			recorded += event_for(shell.pid, "big", data, sizeof(data));
		struct ts_events events = ts_read_all(trid);
		if (policies[i] == POSIX_TRACE_LOOP) {
			CHECK_EQ(recorded, 100);
		} else {
			CHECK_EQ(recorded, 100 - ts_figure(trid, "lost_events"));
			CHECK_EQ(ts_count(&events, ts_trid_id(trid, "big")), recorded);
		}
		CHECK_GT(ts_figure(trid, "lost_events"), 10);
		CHECK_GT(events.count, 10);
		ts_shutdown(trid);
		end_shell(&shell);
	}
}

TEST(names_are_those_of_the_process, "")
{
	struct ts_target target = ts_target_fork();
	trace_id_t trid = ts_run_of(target.pid, POSIX_TRACE_UNTIL_FULL, ROOMY, 100);
	trace_event_id_t known = ts_target_id(&target, "known"), fresh;

	ts_expect(trid, POSIX_TRACE_START);
	CHECK_EQ(event_for(target.pid, "known", NULL, 0), 1);
	ts_expect(trid, known);
	CHECK_EQ(event_for(target.pid, "new", NULL, 0), 1);
	fresh = ts_next(trid).info.posix_event_id;
	ts_expect_name(trid, fresh, "new");
	CHECK_EQ(ts_target_id(&target, "new"), fresh);
	ts_target_emit(&target, fresh, 1);
	CHECK_EQ(ts_expect(trid, fresh).info.posix_tid, target.pid);
	CHECK_EQ(event_for(target.pid, "posix_trace_unnamed_userevent", NULL, 0), 1);
	ts_expect(trid, POSIX_TRACE_UNNAMED_USEREVENT);
	ts_shutdown(trid);
	ts_target_end(&target);
}

TEST(one_may_record_for_oneself, "")
{
	trace_id_t trid = ts_past_start(ts_run(POSIX_TRACE_UNTIL_FULL, ROOMY, 100));

	CHECK_EQ(event_for(0, "own", NULL, 0), 1);
	CHECK_EQ(event_for(getpid(), "own", NULL, 0), 1);
	CHECK_EQ(ts_expect(trid, ts_id("own")).info.posix_tid, 0);
	CHECK_EQ(ts_expect(trid, ts_id("own")).info.posix_pid, getpid());
	ts_emit(ts_id("own"), 1);
	CHECK_EQ(ts_expect(trid, ts_id("own")).info.posix_tid, ts_gettid());
}

TEST(a_child_of_a_traced_shell_is_traced_if_it_inherits, "")
{
	for (int is_inherited = 0; is_inherited < 2; is_inherited++) {
		trace_attr_t attr = is_inherited
					    ? ts_inherited_attr(POSIX_TRACE_UNTIL_FULL, ROOMY, 100)
					    : ts_attr(POSIX_TRACE_UNTIL_FULL, ROOMY, 100);
		struct shell shell = start_shell();
		trace_id_t trid = ts_create_running(shell.pid, &attr);
		pid_t child = start_child(&shell);

		ts_expect(trid, POSIX_TRACE_START);
		CHECK_EQ(event_for(shell.pid, "of the shell", NULL, 0), 1);
		ts_next(trid);
		CHECK_EQ(event_for(child, "of its child", NULL, 0), is_inherited);
		if (is_inherited) {
			struct ts_event event = ts_next(trid);

			ts_expect_name(trid, event.info.posix_event_id, "of its child");
			CHECK_EQ(event.info.posix_pid, child);
		}
		ts_expect_none(trid);
		/* The page lists the stream until the stream ends. */
		CHECK_EQ(has_page(child), is_inherited);
		ts_shutdown(trid);
		CHECK(!has_page(child));
		end_shell(&shell);
	}
}

TEST(a_child_stays_traced_when_the_shell_has_ended, "")
{
	trace_attr_t attr = ts_inherited_attr(POSIX_TRACE_UNTIL_FULL, ROOMY, 100);
	struct shell shell = start_shell();
	trace_id_t trid = ts_create_running(shell.pid, &attr);
	pid_t child = start_child(&shell);

	CHECK_EQ(event_for(child, "event", NULL, 0), 1);
	CHECK_SYS(kill(shell.pid, SIGKILL));
	CHECK_SYS(waitpid(shell.pid, NULL, 0));
	CHECK_EQ(event_for(child, "event", NULL, 0), 1);
	ts_shutdown(trid);
	CHECK(!has_page(child));
	close(shell.in);
	close(shell.out);
}

TEST(a_child_older_than_the_stream_is_not_traced, "")
{
	struct shell shell = start_shell();
	pid_t child = start_child(&shell);
	trace_id_t trid = ts_run_inherited(shell.pid, POSIX_TRACE_UNTIL_FULL, ROOMY, 100);

	CHECK_EQ(event_for(child, "event", NULL, 0), 0);
	CHECK_EQ(event_for(shell.pid, "event", NULL, 0), 1);
	ts_shutdown(trid);
	end_shell(&shell);
}

TEST(what_nothing_traces_is_no_error, "")
{
	struct shell shell = start_shell();

	CHECK_EQ(event_for(shell.pid, "event", NULL, 0), 0);
	CHECK(!has_page(shell.pid));
	end_shell(&shell);
	CHECK_EQ(event_for(0, "event", NULL, 0), 0);
}

TS_ROUTINE(call_as_another_user)
{
	unsigned int streams = 4711;

	ts_drop_privileges(1);
	int error = posixtrace_event_for(*(const pid_t *)arg, "event", NULL, NULL, 0, &streams);
	return streams == 4711 ? error : -1;
}

TEST(errors_are_told_and_nothing_is_stored, "")
{
	struct shell shell = start_shell();
	char name[TRACE_EVENT_NAME_MAX + 2];
	trace_id_t trid = ts_run_of(shell.pid, POSIX_TRACE_UNTIL_FULL, ROOMY, 100);
	unsigned int streams = 4711;

	ts_expect(trid, POSIX_TRACE_START);
	CHECK_EQ(posixtrace_event_for(shell.pid, NULL, NULL, NULL, 0, &streams), EINVAL);
	CHECK_EQ(posixtrace_event_for(shell.pid, "event", NULL, NULL, 1, &streams), EINVAL);
	CHECK_EQ(posixtrace_event_for(shell.pid, "event", NULL, NULL, 0, NULL), EINVAL);
	CHECK_EQ(posixtrace_event_for(shell.pid, "posix_trace_start", NULL, NULL, 0, &streams),
		 EINVAL);
	memset(name, 'n', sizeof(name));
	name[TRACE_EVENT_NAME_MAX + 1] = '\0';
	CHECK_EQ(posixtrace_event_for(shell.pid, name, NULL, NULL, 0, &streams), ENAMETOOLONG);
	CHECK_EQ(posixtrace_event_for(-1, "event", NULL, NULL, 0, &streams), ESRCH);
	ts_expect_none(trid);
	name[TRACE_EVENT_NAME_MAX] = '\0';
	CHECK_EQ(event_for(shell.pid, name, NULL, 0), 1);
	ts_expect_name(trid, ts_next(trid).info.posix_event_id, name);

	struct ts_target other = ts_target_fork();
	CHECK_EQ(ts_target_call(&other, call_as_another_user, &shell.pid, sizeof(shell.pid)),
		 EPERM);
	ts_target_end(&other);
	ts_expect_none(trid);
	ts_shutdown(trid);
	end_shell(&shell);
	CHECK_EQ(posixtrace_event_for(shell.pid, "event", NULL, NULL, 0, &streams), ESRCH);
	CHECK_EQ(streams, 4711);
}

struct guest {
	pid_t target;
	uint32_t first, count;
};

TS_ROUTINE(record_many)
{
	const struct guest *g = arg;
	unsigned int streams;

	for (uint32_t i = 0; i < g->count; i++) {
		uint32_t number = g->first + i;

		if (posixtrace_event_for(g->target, "guest", NULL, &number, sizeof(number),
					 &streams) ||
		    streams != 1)
			return (intptr_t)i + 1;
	}
	return 0;
}

TEST(many_may_record_for_one_at_once, "")
{
	enum { GUESTS = 4, COUNT = 300 };
	struct ts_target target = ts_target_fork(), guests[GUESTS];
	trace_id_t trid = ts_run_of(target.pid, POSIX_TRACE_UNTIL_FULL, ROOMY, 100);
	trace_event_id_t own = ts_target_id(&target, "own"), id;
	static bool seen[GUESTS * COUNT];

	for (int i = 0; i < GUESTS; i++)
		guests[i] = ts_target_fork();
	for (uint32_t i = 0; i < GUESTS; i++) {
		struct guest g = {target.pid, i * COUNT, COUNT};

		ts_target_call_begin(&guests[i], record_many, &g, sizeof(g));
	}
	for (uint32_t i = 0; i < 100; i++)
		ts_target_emit(&target, own, i);
	for (int i = 0; i < GUESTS; i++) {
		CHECK_EQ(ts_target_result(&guests[i]), 0);
		ts_target_end(&guests[i]);
	}
	ts_stop(trid);
	struct ts_events events = ts_read_numbers(trid, own, 0, 99);
	id = ts_trid_id(trid, "guest");
	CHECK_EQ(ts_count(&events, id), GUESTS * COUNT);
	for (size_t i = 0; i < events.count; i++) {
		if (events.at[i].info.posix_event_id != id)
			continue;
		CHECK_EQ(events.at[i].info.posix_pid, target.pid);
		CHECK_EQ(events.at[i].info.posix_tid, 0);
		CHECK(!seen[ts_number(&events.at[i])]);
		seen[ts_number(&events.at[i])] = true;
	}
	ts_shutdown(trid);
	ts_target_end(&target);
}

/* More often than a stream can have chunks, or slots. */
TEST(callers_that_come_and_go_take_no_room, "")
{
	struct shell shell = start_shell();
	trace_id_t trid = ts_run_of(shell.pid, POSIX_TRACE_UNTIL_FULL, 16384, 100);

	for (int i = 0; i < 9000; i++) {
		CHECK_EQ(event_for(shell.pid, "event", NULL, 0), 1);
		if (i % 100)
			continue;
		struct ts_events events = ts_read_all(trid);
		ts_events_free(&events);
	}
	ts_shutdown(trid);
	end_shell(&shell);
}

struct tally {
	_Atomic uint32_t begun, done;
};

TEST(a_caller_that_is_killed_leaves_a_sound_stream, "")
{
	struct shell shell = start_shell();
	trace_id_t trid = ts_run_of(shell.pid, POSIX_TRACE_UNTIL_FULL, ROOMY, 100);
	struct tally *tally = harness_share(sizeof(*tally));
	unsigned int seed = 1;

	for (int i = 0; i < 60; i++) {
		struct timespec pause = {0, rand_r(&seed) % 3000000};
		uint32_t done = tally->done;
		pid_t pid = CHECK_SYS(fork());
		int status;

		if (pid == 0) {
			for (;;) {
				uint32_t number = tally->begun++;
				unsigned int streams;

				if (posixtrace_event_for(shell.pid, "event", NULL, &number,
							 sizeof(number), &streams) ||
				    streams != 1)
					_exit(1);
				tally->done++;
			}
		}
		CHECK_EVENTUALLY(tally->done > done);
		nanosleep(&pause, NULL);
		CHECK_SYS(kill(pid, SIGKILL));
		CHECK_SYS(waitpid(pid, &status, 0));
		CHECK(WIFSIGNALED(status));
	}
	CHECK_EQ(event_for(shell.pid, "last", NULL, 0), 1);
	ts_stop(trid);
	struct ts_events events = ts_read_all(trid);
	ts_expect_sorted(&events);
	trace_event_id_t id = ts_trid_id(trid, "event");
	CHECK_GE(tally->done, 60);
	CHECK_GE(ts_count(&events, id), tally->done);
	CHECK_LE(ts_count(&events, id), tally->begun);
	CHECK_EQ(ts_count(&events, ts_trid_id(trid, "last")), 1);
	ts_shutdown(trid);
	end_shell(&shell);
}

TEST(a_type_gets_a_layout_and_keeps_it_in_every_stream, "")
{
	struct shell shell = start_shell();
	trace_id_t trids[] = {ts_run_of(shell.pid, POSIX_TRACE_UNTIL_FULL, ROOMY, 100),
			      ts_run_of(shell.pid, POSIX_TRACE_UNTIL_FULL, ROOMY, 100)};
	char layout[POSIXTRACE_LAYOUT_MAX + 1];
	unsigned int streams = 4711;

	CHECK_OK(posixtrace_event_for(shell.pid, "typed", "json", "{}", 2, &streams));
	CHECK_EQ(streams, 2);
	streams = 4711;
	CHECK_EQ(posixtrace_event_for(shell.pid, "typed", "u8 x", "x", 1, &streams), EEXIST);
	CHECK_EQ(posixtrace_event_for(shell.pid, "typed", "u9 x", "x", 1, &streams), EINVAL);
	CHECK_EQ(posixtrace_event_for(shell.pid, "posix_trace_unnamed_userevent", "u8 x", "x", 1,
				      &streams),
		 EINVAL);
	CHECK_EQ(streams, 4711);
	for (int i = 0; i < 2; i++) {
		ts_expect(trids[i], POSIX_TRACE_START);
		trace_event_id_t id = ts_next(trids[i]).info.posix_event_id;
		ts_expect_name(trids[i], id, "typed");
		CHECK_OK(posixtrace_eventid_get_layout(trids[i], id, layout, sizeof(layout)));
		CHECK_STR_EQ(layout, "json");
		ts_expect_none(trids[i]);
		ts_shutdown(trids[i]);
	}
	end_shell(&shell);
}
