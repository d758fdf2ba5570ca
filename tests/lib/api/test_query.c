/* SPDX-License-Identifier: MIT */
/* What is seen of processes and of the system from outside: <posixtrace.h>. */
#include "include/posixtrace-private.h"
#include "tests/support/support.h"

#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <trace.h>
#include <unistd.h>

#include "tests/support/private_user.h"

static struct ptrc_inspected_process process;
static struct ptrc_inspected_stream stream;
static struct ptrc_inspected_system machine;

TEST(a_process_with_the_library_and_its_names, "GEN-09")
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t opened = ts_id("query.seen"), told = 0;
	bool is_found = false;

	CHECK_OK(ptrc_inspect_process(0, &process));
	CHECK_EQ(process.pt_user, geteuid());
	CHECK_EQ(process.pt_depth, 0);
	CHECK(process.pt_has_page && process.pt_has_library);
	CHECK_EQ(process.pt_streams, 0);
	CHECK(process.pt_events >= 1);
	for (unsigned int i = 0; i < process.pt_events; i++) {
		CHECK_OK(ptrc_inspect_event(getpid(), i, &told, name));
		is_found |= !strcmp(name, "query.seen") && told == opened;
	}
	CHECK(is_found);
	CHECK_EQ(ptrc_inspect_event(0, process.pt_events, &told, name), ENOENT);
	CHECK_EQ(ptrc_inspect_stream(0, 0, &stream), ENOENT);
}

TEST(a_stream_as_it_is_and_nothing_is_reset, "GEN-09")
{
	trace_event_id_t id = ts_id("query.filtered");
	trace_event_set_t filter = ts_set(id, 0);
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, 16384, 0);

	CHECK_OK(posix_trace_attr_setname(&attr, "query"));
	trace_id_t trace = ts_create(0, &attr);
	ts_set_filter(trace, &filter, POSIX_TRACE_SET_EVENTSET);

	CHECK_OK(ptrc_inspect_process(0, &process));
	CHECK_EQ(process.pt_streams, 1);
	CHECK_OK(ptrc_inspect_stream(0, 0, &stream));
	CHECK_STR_EQ(stream.pt_name, "query");
	CHECK_EQ(stream.pt_controller, getpid());
	CHECK_EQ(stream.pt_target, getpid());
	CHECK(stream.pt_is_controlled && !stream.pt_is_kept && !stream.pt_has_log);
	CHECK_EQ(stream.pt_full_policy, POSIX_TRACE_UNTIL_FULL);
	CHECK_EQ(stream.pt_status.posix_stream_status, POSIX_TRACE_SUSPENDED);
	CHECK(ts_is_member(&stream.pt_filter, id));

	ts_start(trace);
	ts_emit_numbers(POSIX_TRACE_UNNAMED_USEREVENT, 1, 10000);
	for (int i = 0; i < 2; i++) {
		CHECK_OK(ptrc_inspect_stream(0, 0, &stream));
		CHECK_EQ(stream.pt_status.posix_stream_full_status, POSIX_TRACE_FULL);
		CHECK_EQ(stream.pt_status.posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
		CHECK(stream.pt_lost_events > 0);
	}
	CHECK_EQ(ts_status(trace).posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
	ts_shutdown(trace);
	CHECK_EQ(ptrc_inspect_stream(0, 0, &stream), ENOENT);
}

TEST(the_keeper_and_the_log_are_told, "GEN-09", NEEDS_KEEPER)
{
	char path[256];
	int fd = ts_temp_named(path, sizeof(path));
	trace_id_t trace = ts_create_log(0, NULL, fd);

	CHECK_OK(ptrc_inspect_stream(0, 0, &stream));
	CHECK(stream.pt_has_log && stream.pt_is_kept && stream.pt_keeper > 0);
	CHECK_STR_EQ(stream.pt_log, path);
	CHECK_EQ(kill(stream.pt_keeper, SIGKILL), 0);
	CHECK_EVENTUALLY(ptrc_inspect_stream(0, 0, &stream) == 0 && !stream.pt_is_kept);
	ts_shutdown(trace);
	unlink(path);
}

TEST(a_program_without_the_library_is_told_from_one_with_it, "GEN-09")
{
	char *argv[] = {(char *)(uintptr_t) "sleep", (char *)(uintptr_t) "1000", NULL};
	pid_t child;

	CHECK_OK(posix_spawnp(&child, "sleep", NULL, NULL, argv, environ));
	CHECK_EVENTUALLY(ptrc_inspect_process(child, &process) == 0 && !process.pt_has_library);
	trace_id_t trace = ts_create(child, NULL);
	CHECK_OK(ptrc_inspect_process(child, &process));
	CHECK(process.pt_has_page && !process.pt_has_library);
	CHECK_EQ(process.pt_streams, 1);
	ts_shutdown(trace);
	harness_kill(child);
	CHECK_EQ(ptrc_inspect_process(child, &process), ESRCH);
}

TEST(looking_makes_nothing, "GEN-09")
{
	char path[64];
	struct stat st;

	if (!private_user_is_on())
		SKIP("the directory is shared");
	private_user_dir(path);
	if (IN_CHILD()) {
		/* Its own page is gone with this, and so is all else. */
		private_user_clean(geteuid());
		ptrc_inspect_system(&machine);
		_exit(machine.pt_directory_error != ENOENT ||
		      ptrc_inspect_process(getppid(), &process) != 0 || process.pt_has_page ||
		      stat(path, &st) == 0);
	}
}

TEST(the_system_and_how_many_streams_there_are, "GEN-09")
{
	/* Makes the directory, which another case may have removed. */
	ts_id("name");
	ptrc_inspect_system(&machine);
	CHECK_EQ(machine.pt_directory_error, 0);
	unsigned int before = machine.pt_streams;
	ts_create(0, NULL);
	ptrc_inspect_system(&machine);
	if (private_user_is_on())
		CHECK_EQ(machine.pt_streams, before + 1);
	CHECK(machine.pt_streams <= TRACE_SYS_MAX);
}

TEST(what_cannot_be_asked_is_an_error, "GEN-09")
{
	CHECK_EQ(ptrc_inspect_process(-1, &process), ESRCH);
	if (geteuid() != 0)
		CHECK_EQ(ptrc_inspect_process(1, &process), EPERM);
}
