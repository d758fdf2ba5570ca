/* SPDX-License-Identifier: MIT */
/* What is seen of processes and of the system from outside: <posixtrace.h>. */
#include "include/posixtrace-private.h"
#include "tests/support/support.h"

#include <sys/stat.h>

#include "tests/support/private_user.h"

static struct ptrc_inspected_process process;
static struct ptrc_inspected_stream stream;
static struct ptrc_inspected_system machine;

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
