/* SPDX-License-Identifier: MIT */
/* What the tests of the areas left open: shown by breaking the library on purpose, see
 * scripts/mutate. */
#include "tests/harness.h"

#include "tests/support.h"

#include "lib/record.h"
#include "lib/stream.h"

#define SMALL ((size_t)16384)
#define MARKED 24 /* bytes of data */

/*
 * Damaged stream memory
 */

/* The header of the one stream that this process has mapped. */
static struct ptrc_stream_header *find_stream(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	struct ptrc_stream_header *found = NULL;
	char line[512];

	CHECK(maps);
	while (!found && fgets(line, sizeof(line), maps)) {
		unsigned long from, to;
		char flags[5];

		if (sscanf(line, "%lx-%lx %4s", &from, &to, flags) != 3 ||
		    strcmp(flags, "rw-s") != 0 || !strstr(line, "/dev/shm/") ||
		    to - from < PTRC_STREAM_CLOCK_OFFSET)
			continue;
		if (((struct ptrc_stream_header *)from)->magic == PTRC_STREAM_MAGIC)
			found = (struct ptrc_stream_header *)from;
	}
	fclose(maps);
	CHECK(found);
	return found;
}

/* An event whose data can be found again in memory. */
static void marked_data(unsigned char data[MARKED], uint32_t number)
{
	memset(data, 0, MARKED);
	memcpy(data, &number, sizeof(number));
	memcpy(data + 4, "to be found again", 17);
}

static void emit_marked(trace_event_id_t id, uint32_t from, uint32_t to)
{
	unsigned char data[MARKED];

	for (uint32_t number = from; number < to; number++) {
		marked_data(data, number);
		posix_trace_event(id, data, sizeof(data));
	}
}

/* Makes the record of that event longer than its chunk. */
static void damage(struct ptrc_stream_header *h, uint32_t number)
{
	unsigned char data[MARKED];
	struct ptrc_record *record = NULL;

	marked_data(data, number);
	for (uint32_t i = 0; i < h->chunks_used && !record; i++) {
		unsigned char *chunk = (unsigned char *)ptrc_stream_chunk(
			h, h->chunk_count, h->chunk_size, i);
		unsigned char *at = memmem(chunk, h->chunk_size, data, sizeof(data));

		if (at)
			record = (struct ptrc_record *)(void *)(at - sizeof(*record));
	}
	CHECK(record);
	CHECK_EQ(ptrc_record_len(record), MARKED);
	record->len_lo = 0xfff0;
}

static void expect_error_event(const struct ts_event *event)
{
	int error;

	CHECK_EQ(event->info.posix_event_id, POSIX_TRACE_ERROR);
	CHECK_EQ(event->len, sizeof(error));
	memcpy(&error, event->data, sizeof(error));
	CHECK_GT(error, 0);
	CHECK_EQ(event->info.posix_pid, 0);
	CHECK(!event->info.posix_prog_address);
	CHECK_EQ(event->info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
}

TEST(damaged_memory_is_told_and_skipped, "SYSEVENT-08 SYSEVENT-10 SYSEVENT-22")
{
	static const int policies[] = {POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL};

	for (size_t i = 0; i < 2; i++) {
		trace_attr_t attr = ts_attr(policies[i], SMALL, 256);
		trace_id_t trid = ts_create_running(0, &attr);
		trace_event_id_t id = ts_id("marked");

		emit_marked(id, 0, 20);
		damage(find_stream(), 10);
		ts_expect(trid, POSIX_TRACE_START);
		for (uint32_t number = 0; number < 10; number++) {
			struct ts_event event = ts_expect(trid, id);
			CHECK_EQ(ts_number(&event), number);
		}
		struct ts_event error = ts_next(trid);
		expect_error_event(&error);
		ts_expect_none(trid);
		/* And it goes on. */
		emit_marked(id, 20, 25);
		ts_stop(trid);
		struct ts_events events = ts_read_all(trid);
		CHECK_EQ(events.count, 6);
		ts_expect_numbers(&events, id, 20, 24);
		ts_shutdown(trid);
	}
}

static void *emit_more(void *id)
{
	emit_marked(*(trace_event_id_t *)id, 20, 25);
	return NULL;
}

TEST(damaged_memory_is_told_in_the_log, "SYSEVENT-08")
{
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, SMALL, 256);
	int fd = ts_temp_file();

	CHECK_OK(posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND));
	trace_id_t trid = ts_create_log(0, &attr, fd);
	trace_event_id_t id = ts_id("marked");
	ts_start(trid);
	emit_marked(id, 0, 20);
	damage(find_stream(), 10);
	ts_flush(trid);
	/* Where the damage is nothing can be trusted any more; others have places of their
	 * own. */
	pthread_t thread;
	CHECK_OK(pthread_create(&thread, NULL, emit_more, &id));
	CHECK_OK(pthread_join(thread, NULL));
	ts_shutdown(trid);

	trace_id_t log = ts_open_log(fd);
	struct ts_events events = ts_read_log(log);
	CHECK_EQ(ts_count(&events, id), 15);
	CHECK_GE(ts_count(&events, POSIX_TRACE_ERROR), 1);
	expect_error_event(&events.at[ts_find(&events, POSIX_TRACE_ERROR, 0)]);
	uint32_t expected = 0;
	for (size_t i = 0; i < events.count; i++) {
		if (events.at[i].info.posix_event_id != id)
			continue;
		CHECK_EQ(ts_number(&events.at[i]), expected);
		expected = expected == 9 ? 20 : expected + 1;
	}
	ts_close_log(log);
}

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
