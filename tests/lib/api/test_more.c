/* SPDX-License-Identifier: MIT */
/* What the tests of the areas left open: shown by breaking the library on purpose, see
 * scripts/mutate. */
#include "tests/support/harness.h"

#include "tests/support/support.h"

#define SMALL ((size_t)16384)

/*
 * The last bytes of a stream
 */

TEST(a_stream_is_filled_to_the_last_event_and_stop_still_fits, "POLICY-16 STARTSTOP-10")
{
	/* In one of these less is left than STOP takes, but enough for the smallest event. */
	for (size_t bytes = SMALL; bytes <= SMALL + 24; bytes += 8) {
		trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, bytes, 256);
		trace_id_t trid = ts_create_running(0, &attr);
		struct posix_trace_status_info status;
		uint32_t most = 0;

		do {
			posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, NULL, 0);
			most++;
			status = ts_status(trid);
		} while (status.posix_stream_full_status == POSIX_TRACE_NOT_FULL);
		/* Not even one more fits, and none was lost to find that out. */
		CHECK_EQ(status.posix_stream_status, POSIX_TRACE_SUSPENDED);
		CHECK_EQ(status.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
		ts_shutdown(trid);

		trid = ts_create_running(0, &attr);
		for (uint32_t n = 1; n < most; n++)
			posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, NULL, 0);
		ts_expect_status(trid, POSIX_TRACE_RUNNING, POSIX_TRACE_NOT_FULL,
				 POSIX_TRACE_NO_OVERRUN);
		ts_stop(trid);
		struct ts_events events = ts_read_all(trid);
		const struct ts_event *last = &events.at[events.count - 1];
		int reason = -1;
		CHECK_EQ(events.count, most + 1);
		CHECK_EQ(last->info.posix_event_id, POSIX_TRACE_STOP);
		memcpy(&reason, last->data, sizeof(reason));
		CHECK_EQ(reason, 0);
		ts_shutdown(trid);
	}
}
