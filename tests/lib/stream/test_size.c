/* SPDX-License-Identifier: MIT */
/* Sizes: the attributes, and the promise that events which fit by their maximum sizes are
 * all kept, whoever generates them and wherever the free room lies. */
#include "tests/support/support.h"

#include <semaphore.h>

#include "tests/support/payload.h"
/* All 64 streams of a user are used. */
#include "tests/support/private_user.h"

#define DATA_MAX 400U

/* The next event is there, has this type, and its data is this, whole. */
static void expect_data(trace_id_t trid, trace_event_id_t id, const void *data, size_t data_bytes)
{
	struct posix_trace_event_info info;
	unsigned char *got = malloc(data_bytes);
	int unavailable = 1;
	size_t len = 0;

	CHECK_OK(posix_trace_trygetnext_event(trid, &info, got, data_bytes, &len, &unavailable));
	CHECK_EQ(unavailable, 0);
	CHECK_EQ(info.posix_event_id, id);
	CHECK_EQ(info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
	CHECK_EQ(len, data_bytes);
	CHECK_MEM_EQ(got, data, data_bytes);
	free(got);
}

static void emit_payload(trace_event_id_t id, uint32_t len, uint32_t writer, uint32_t seq)
{
	static _Thread_local unsigned char data[65536];

	payload_fill(data, len, writer, seq);
	posix_trace_event(id, data, len);
}

/*
 * Attributes
 */

TEST(sizes_are_kept_as_set, "SIZE-01 SIZE-03 SIZE-05 SIZE-16")
{
	static const size_t sizes[] = {
		0, 1, 7, 4096, 65536, 1048577, UINT32_MAX, SIZE_MAX / 2, SIZE_MAX - 1, SIZE_MAX};
	enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
	trace_attr_t attr = ts_attr(0, 0, 0);

	/* All three have all of these, and each another one. */
	for (size_t i = 0; i < COUNT; i++) {
		const size_t *data_bytes = &sizes[(i + 1) % COUNT];
		const size_t *stream_bytes = &sizes[(i + 2) % COUNT];

		CHECK_OK(posix_trace_attr_setlogsize(&attr, sizes[i]));
		CHECK_OK(posix_trace_attr_setmaxdatasize(&attr, *data_bytes));
		CHECK_OK(posix_trace_attr_setstreamsize(&attr, *stream_bytes));
		struct ts_values got = ts_values(&attr);
		CHECK_EQ(got.log_bytes, sizes[i]);
		CHECK_EQ(got.data_bytes, *data_bytes);
		CHECK_EQ(got.stream_bytes, *stream_bytes);
	}
}

TEST(the_default_stream_holds_four_of_the_largest_events, "SIZE-06 SIZE-11")
{
	enum { data_bytes = 1000000 };
	static unsigned char data[data_bytes];
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, 0, data_bytes);
	trace_event_id_t id = ts_id("large");
	trace_id_t trid = ts_create(0, &attr);

	CHECK_EQ(ts_values_of(trid).stream_bytes, 4 * ts_user_bytes(&attr, data_bytes));
	for (size_t i = 0; i < data_bytes; i++)
		data[i] = (unsigned char)(i * 7 + i / 1000);
	ts_start(trid);
	ts_expect(trid, POSIX_TRACE_START);
	for (int i = 0; i < 4; i++) {
		data[0] = (unsigned char)i;
		posix_trace_event(id, data, data_bytes);
	}
	CHECK_EQ(ts_status(trid).posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	for (int i = 0; i < 4; i++) {
		data[0] = (unsigned char)i;
		expect_data(trid, id, data, data_bytes);
	}
	ts_shutdown(trid);

	/* Just at the edge, where the megabyte is enough or is not. */
	for (size_t bytes = 262000; bytes <= 262200; bytes += 4) {
		attr = ts_attr(0, 0, bytes);
		size_t four = 4 * ts_user_bytes(&attr, bytes);
		trid = ts_create(0, &attr);
		CHECK_EQ(ts_values_of(trid).stream_bytes, four > 1048576 ? four : 1048576);
		ts_shutdown(trid);
	}
	/* A size that was set is not raised for that. */
	attr = ts_attr(0, 1048576, data_bytes);
	trid = ts_create(0, &attr);
	CHECK_EQ(ts_values_of(trid).stream_bytes, 1048576);
}

TEST(event_sizes_cover_the_events, "SIZE-07 SIZE-08 SIZE-09 SIZE-24")
{
	static const size_t maxima[] = {0, 1, 7, 8, 100, 4096, 100000};
	trace_attr_t untouched = ts_attr(0, 0, 0);
	size_t of_system = ts_values(&untouched).system_bytes;

	for (size_t m = 0; m < sizeof(maxima) / sizeof(maxima[0]); m++) {
		trace_attr_t attr = ts_attr(0, 0, 0);
		size_t last = 0, at_max;
		CHECK_OK(posix_trace_attr_setmaxdatasize(&attr, maxima[m]));
		CHECK_GE(ts_values(&attr).system_bytes, 2 * sizeof(trace_event_set_t));
		CHECK_EQ(ts_values(&attr).system_bytes, of_system);
		at_max = ts_user_bytes(&attr, maxima[m]);
		/* max-data-size is data alone. */
		CHECK_GT(at_max, maxima[m]);
		for (size_t len = 0; len <= 4200; len++) {
			size_t bytes = ts_user_bytes(&attr, len);
			CHECK_GE(bytes, last);
			last = bytes;
			if (len <= maxima[m])
				CHECK_GE(bytes, len);
			else
				CHECK_EQ(bytes, at_max);
		}
		CHECK_EQ(ts_user_bytes(&attr, maxima[m] + 1), at_max);
		CHECK_EQ(ts_user_bytes(&attr, SIZE_MAX), at_max);
	}
}

TEST(a_stream_too_small_is_made_just_useful, "SIZE-15 SIZE-16 POLICY-17")
{
	trace_event_id_t id = ts_id("small");

	for (size_t bytes = 0; bytes <= 64; bytes = bytes * 2 + 1)
		for (int policy = POSIX_TRACE_LOOP; policy <= POSIX_TRACE_UNTIL_FULL; policy++) {
			trace_attr_t attr = ts_attr(policy, 0, 0);
			CHECK_OK(posix_trace_attr_setstreamsize(&attr, bytes));
			trace_id_t trid = ts_create(0, &attr);
			size_t got = ts_values_of(trid).stream_bytes;
			CHECK_GT(got, bytes);
			CHECK_LE(got, 2 * ts_values(&attr).system_bytes + ts_user_bytes(&attr, 0));
			ts_start(trid);
			posix_trace_event(id, NULL, 0);
			ts_stop(trid);
			struct ts_events all = ts_read_all(trid);
			CHECK_GE(all.count, 3);
			CHECK_EQ(all.at[0].info.posix_event_id, POSIX_TRACE_START);
			CHECK_EQ(all.at[1].info.posix_event_id, id);
			CHECK_EQ(all.at[2].info.posix_event_id, POSIX_TRACE_STOP);
			CHECK_EQ(ts_status(trid).posix_stream_overrun_status,
				 POSIX_TRACE_NO_OVERRUN);
			ts_shutdown(trid);
		}
}

TEST(a_size_that_cannot_be_had_is_enomem, "SIZE-17 CREATE-17 CREATE-21 CREATE-25")
{
	static const size_t sizes[] = {SIZE_MAX,       SIZE_MAX - 4096, SIZE_MAX / 2 + 1,
				       SIZE_MAX / 2,   (size_t)1 << 62, (size_t)1 << 50,
				       (size_t)1 << 48};
	trace_event_id_t id = ts_id("event");
	trace_id_t trid;

	for (int turn = 0; turn < 20; turn++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			trace_attr_t attr = ts_attr(0, sizes[i], 0);
			trid = 4711;
			CHECK_EQ(posix_trace_create(0, &attr, &trid), ENOMEM);
			CHECK_EQ(trid, 4711);
			attr = ts_attr(0, 0, sizes[i]);
			CHECK_EQ(posix_trace_create(0, &attr, &trid), ENOMEM);
			CHECK_EQ(trid, 4711);
		}
	/* 280 failures took none of the 64 streams. */
	trace_attr_t attr = ts_attr(0, 4096, 0);
	for (int i = 0; i < TRACE_SYS_MAX; i++)
		trid = ts_create_running(0, &attr);
	ts_expect(trid, POSIX_TRACE_START);
	ts_emit(id, 1);
	ts_expect(trid, id);
}

static void expect_len(trace_id_t trid, trace_event_id_t id, size_t len, int truncation)
{
	struct ts_event event = ts_expect(trid, id);

	NOTE("type %u, %zu bytes", id, len);
	CHECK_EQ(event.len, len);
	CHECK_EQ(event.info.posix_truncation_status, truncation);
}

TEST(a_max_data_size_of_zero_is_usable, "SIZE-18 SIZE-19 SYSEVENT-10 SYSEVENT-12")
{
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, 65536, 0);
	trace_event_id_t id = ts_id("event");
	trace_event_set_t set = ts_set(ts_id("other"), 0);

	CHECK_OK(posix_trace_attr_setmaxdatasize(&attr, 0));
	trace_id_t trid = ts_create_running(0, &attr);
	expect_len(trid, POSIX_TRACE_START, sizeof(set), POSIX_TRACE_NOT_TRUNCATED);
	posix_trace_event(id, "x", 1);
	posix_trace_event(id, "x", 0);
	posix_trace_event(id, NULL, 0);
	expect_len(trid, id, 0, POSIX_TRACE_TRUNCATED_RECORD);
	expect_len(trid, id, 0, POSIX_TRACE_NOT_TRUNCATED);
	expect_len(trid, id, 0, POSIX_TRACE_NOT_TRUNCATED);
	ts_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
	expect_len(trid, POSIX_TRACE_FILTER, 2 * sizeof(set), POSIX_TRACE_NOT_TRUNCATED);
	ts_stop(trid);
	expect_len(trid, POSIX_TRACE_STOP, sizeof(int), POSIX_TRACE_NOT_TRUNCATED);
}

/*
 * What fits is kept
 */

struct fill_writer {
	trace_event_id_t id;
	uint32_t writer;
	uint32_t count;
	/* Fixed length, or 0 for all lengths. */
	uint32_t len;
};

static uint32_t len_of(uint32_t fixed, uint32_t writer, uint32_t seq)
{
	return fixed ? fixed : payload_len(DATA_MAX, writer, seq);
}

static void *write_fill(void *arg)
{
	struct fill_writer *w = (struct fill_writer *)arg;

	for (uint32_t seq = 0; seq < w->count; seq++)
		emit_payload(w->id, len_of(w->len, w->writer, seq), w->writer, seq);
	return NULL;
}

/* How many each of the writers may write so that the maximum sizes add up to at most
 * `room', as close to it as they come. */
static void share_room(const trace_attr_t *attr, struct fill_writer *w, uint32_t writers,
		       size_t room)
{
	bool has_room = true;

	while (has_room) {
		has_room = false;
		for (uint32_t i = 0; i < writers; i++) {
			size_t bytes =
				ts_user_bytes(attr, len_of(w[i].len, w[i].writer, w[i].count));
			if (bytes > room)
				continue;
			room -= bytes;
			w[i].count++;
			has_room = true;
		}
	}
}

/* What user events may take behind a START without making the stream full. */
static size_t room_without_stop(const trace_attr_t *attr, size_t stream_bytes)
{
	return stream_bytes - ts_values(attr).system_bytes - ts_user_bytes(attr, 0);
}

/* Every writer's numbers from 0 to its count, whole, in order. Nothing else. */
static void expect_fill(const struct ts_events *all, trace_event_id_t id,
			const struct fill_writer *w, uint32_t writers)
{
	uint32_t next[64] = {0};
	size_t total = 0;

	for (size_t i = 0; i < all->count; i++) {
		uint32_t writer, seq;
		if (all->at[i].info.posix_event_id != id)
			continue;
		CHECK(payload_read(all->at[i].data, all->at[i].len, &writer, &seq));
		CHECK_LT(writer, writers);
		CHECK_EQ(seq, next[writer]);
		next[writer]++;
	}
	for (uint32_t i = 0; i < writers; i++) {
		CHECK_EQ(next[i], w[i].count);
		total += w[i].count;
	}
	CHECK_EQ(ts_count(all, id), total);
	ts_expect_sorted(all);
}

static void fill_exactly(int policy, size_t stream_bytes, uint32_t writers, uint32_t len,
			 bool has_stop)
{
	trace_attr_t attr = ts_attr(policy, stream_bytes, DATA_MAX);
	trace_event_id_t id = ts_id("fill");
	trace_id_t trid = ts_create_running(0, &attr);
	/* START is in it, and STOP. */
	size_t room = stream_bytes - (has_stop ? 2 : 1) * ts_values(&attr).system_bytes;
	struct fill_writer w[8];
	pthread_t threads[8];

	for (uint32_t i = 0; i < writers; i++)
		w[i] = (struct fill_writer){id, i, 0, len};
	share_room(&attr, w, writers, room);
	if (writers == 1) {
		write_fill(&w[0]);
	} else {
		for (uint32_t i = 0; i < writers; i++)
			threads[i] = ts_thread(write_fill, &w[i]);
		for (uint32_t i = 0; i < writers; i++)
			ts_join(threads[i]);
	}
	if (has_stop)
		ts_stop(trid);
	CHECK_EQ(ts_status(trid).posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	struct ts_events all = ts_read_all(trid);
	CHECK_EQ(all.at[0].info.posix_event_id, POSIX_TRACE_START);
	expect_fill(&all, id, w, writers);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_OVERFLOW), 0);
	ts_shutdown(trid);
}

static const size_t fill_sizes[] = {5000, 8192, 20000, 65536, 200000};
static const uint32_t fill_lens[] = {16, 17, 40, 393, DATA_MAX, 0};

static void fill_all(uint32_t writers)
{
	for (size_t s = 0; s < sizeof(fill_sizes) / sizeof(fill_sizes[0]); s++)
		for (size_t l = 0; l < sizeof(fill_lens) / sizeof(fill_lens[0]); l++) {
			fill_exactly(POSIX_TRACE_UNTIL_FULL, fill_sizes[s], writers, fill_lens[l],
				     l % 2);
			fill_exactly(POSIX_TRACE_LOOP, fill_sizes[s], writers, fill_lens[l], s % 2);
		}
}

TEST(what_fits_is_kept_of_one_thread_and_of_several, "SIZE-11 SIZE-13")
{
	for (uint32_t writers = 1; writers <= 8; writers *= writers == 1 ? 2 : 4) {
		NOTE("%u threads", writers);
		fill_all(writers);
	}
	NOTE("the default size");
	fill_exactly(POSIX_TRACE_UNTIL_FULL, 1048576, 1, 16, true);
	fill_exactly(POSIX_TRACE_UNTIL_FULL, 1048576, 5, 0, true);
	fill_exactly(POSIX_TRACE_LOOP, 1048576, 3, 0, false);
}

TEST(events_as_big_as_the_stream_fit, "SIZE-11")
{
	enum { big = 20000 };
	trace_event_id_t id = ts_id("fill");
	static unsigned char data[big];

	for (int policy = POSIX_TRACE_LOOP; policy <= POSIX_TRACE_UNTIL_FULL; policy++) {
		trace_attr_t attr = ts_attr(policy, 0, big);
		CHECK_OK(posix_trace_attr_setstreamsize(&attr, ts_user_bytes(&attr, big)));
		trace_id_t trid = ts_past_start(ts_create_running(0, &attr));
		for (int i = 0; i < 20; i++) {
			memset(data, i + 1, big);
			posix_trace_event(id, data, big);
			CHECK_EQ(ts_status(trid).posix_stream_overrun_status,
				 POSIX_TRACE_NO_OVERRUN);
			expect_data(trid, id, data, big);
			/* It filled the stream: that may have stopped it. */
			(void)ts_read_all(trid);
			ts_expect_running(trid);
		}
		ts_shutdown(trid);
	}
}

/* A thread that writes when told, and lives on with whatever room it holds. */
struct command_writer {
	pthread_t thread;
	sem_t told, done;
	bool is_ended;
	trace_event_id_t id;
	uint32_t len;
	uint32_t writer;
	uint32_t seq;
};

static void *write_on_command(void *arg)
{
	struct command_writer *w = (struct command_writer *)arg;

	for (;;) {
		CHECK_SYS(sem_wait(&w->told));
		if (w->is_ended)
			return NULL;
		emit_payload(w->id, w->len, w->writer, w->seq++);
		CHECK_SYS(sem_post(&w->done));
	}
}

static void command_writer_begin(struct command_writer *w, trace_event_id_t id, uint32_t number)
{
	*w = (struct command_writer){.id = id, .writer = number};
	CHECK_SYS(sem_init(&w->told, 0, 0));
	CHECK_SYS(sem_init(&w->done, 0, 0));
	w->thread = ts_thread(write_on_command, w);
}

static void command_write(struct command_writer *w, uint32_t len)
{
	w->len = len;
	CHECK_SYS(sem_post(&w->told));
	CHECK_SYS(sem_wait(&w->done));
	/* Longer than the stamps of two processors may disagree. */
	int64_t end = harness_now_ns() + 3000;
	while (harness_now_ns() < end)
		;
}

static void command_writer_end(struct command_writer *w)
{
	w->is_ended = true;
	CHECK_SYS(sem_post(&w->told));
	ts_join(w->thread);
}

/* An event that was recorded and not read yet. */
struct queued {
	uint32_t writer, seq, bytes;
};

static void expect_queued(struct ts_event *event, trace_event_id_t id, const struct queued *queued)
{
	uint32_t writer, seq;

	CHECK_EQ(event->info.posix_event_id, id);
	CHECK(payload_read(event->data, event->len, &writer, &seq));
	CHECK_EQ(writer, queued->writer);
	CHECK_EQ(seq, queued->seq);
	ts_event_free(event);
}

/*
 * Fills the stream up to the last event that fits and reads some of it, again and again,
 * with writers that change: the free room lies everywhere, in all states of fill.
 */
static void fill_and_read(int policy, size_t stream_bytes, uint32_t writers, uint32_t rounds,
			  uint32_t seed)
{
	enum { queue_room = 65536 };
	struct queued *queue = malloc(queue_room * sizeof(*queue));
	trace_attr_t attr = ts_attr(policy, stream_bytes, DATA_MAX);
	trace_event_id_t id = ts_id("fill");
	trace_id_t trid = ts_create_running(0, &attr);
	struct command_writer w[8];
	struct ts_event event;
	uint32_t head = 0, tail = 0;
	/* An UNTIL_FULL stream may stop when not even the smallest event fits any
	 * more. */
	size_t most = stream_bytes - (policy == POSIX_TRACE_LOOP ? 0 : ts_user_bytes(&attr, 0));
	size_t unread = 0;
	uint64_t random = seed;
	uint32_t who = 0;

	ts_expect(trid, POSIX_TRACE_START);
	for (uint32_t i = 0; i < writers; i++)
		command_writer_begin(&w[i], id, i);
	for (uint32_t round = 0; round < rounds; round++) {
		for (;;) {
			random = payload_mix(random + 1);
			/* The same thread some times in a row. */
			if (random >> 63)
				who = (uint32_t)(random % writers);
			uint32_t len = round % 3 == 0 ? PAYLOAD_MIN
				       : round % 3 == 1
					       ? DATA_MAX
					       : payload_len(DATA_MAX, who, (uint32_t)random);
			size_t bytes = ts_user_bytes(&attr, len);
			if (unread + bytes > most)
				break;
			queue[tail++ % queue_room] =
				(struct queued){who, w[who].seq, (uint32_t)bytes};
			unread += bytes;
			CHECK_LT(tail - head, queue_room);
			command_write(&w[who], len);
		}
		random = payload_mix(random + 2);
		uint32_t reads = (uint32_t)(random % (tail - head + 1));
		if (random >> 32 & 1)
			reads = reads % 8;
		for (; reads > 0; reads--) {
			CHECK(ts_try_next(trid, &event));
			expect_queued(&event, id, &queue[head % queue_room]);
			unread -= queue[head++ % queue_room].bytes;
		}
		/* Now and then a thread goes and another one comes. */
		if (round % 5 == 4) {
			uint32_t seq = w[who].seq;
			command_writer_end(&w[who]);
			command_writer_begin(&w[who], id, who);
			w[who].seq = seq;
		}
	}
	struct posix_trace_status_info status = ts_status(trid);
	CHECK_EQ(status.posix_stream_status, POSIX_TRACE_RUNNING);
	CHECK_EQ(status.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	while (head < tail) {
		event = ts_next(trid);
		expect_queued(&event, id, &queue[head++ % queue_room]);
	}
	ts_expect_none(trid);
	for (uint32_t i = 0; i < writers; i++)
		command_writer_end(&w[i]);
	ts_shutdown(trid);
	free(queue);
}

TEST(room_is_whole_wherever_it_lies, "SIZE-12 POLICY-18 GETNEXT-05 STATUS-11")
{
	static const struct {
		int policy;
		uint32_t bytes, writers, rounds;
	} rows[] = {
		{POSIX_TRACE_UNTIL_FULL, 4096, 1, 300}, {POSIX_TRACE_UNTIL_FULL, 32768, 1, 60},
		{POSIX_TRACE_LOOP, 4096, 1, 300},	{POSIX_TRACE_LOOP, 100000, 1, 30},
		{POSIX_TRACE_UNTIL_FULL, 4096, 3, 200}, {POSIX_TRACE_UNTIL_FULL, 50000, 3, 40},
		{POSIX_TRACE_LOOP, 50000, 3, 40},	{POSIX_TRACE_UNTIL_FULL, 4096, 8, 150},
		{POSIX_TRACE_UNTIL_FULL, 65536, 8, 30}, {POSIX_TRACE_LOOP, 65536, 8, 30},
	};

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		NOTE("row %u", i);
		fill_and_read(rows[i].policy, rows[i].bytes, rows[i].writers, rows[i].rounds,
			      i + 1);
	}
}

static void *write_one(void *arg)
{
	struct fill_writer *w = (struct fill_writer *)arg;

	emit_payload(w->id, w->len, w->writer, w->count);
	return NULL;
}

static void fill_one_by_one(size_t stream_bytes, bool are_processes)
{
	trace_attr_t attr = ts_inherited_attr(POSIX_TRACE_UNTIL_FULL, stream_bytes, DATA_MAX);
	trace_event_id_t id = ts_id("fill");
	trace_id_t trid = ts_create_running(0, &attr);
	struct fill_writer w = {.id = id, .len = PAYLOAD_MIN}, counted = w;

	share_room(&attr, &counted, 1, room_without_stop(&attr, stream_bytes));
	for (int round = 0; round < 3; round++) {
		for (w.count = 0; w.count < counted.count; w.count++) {
			if (are_processes)
				CHECK_EXIT(ts_process(write_one, &w), 0);
			else
				ts_join(ts_thread(write_one, &w));
		}
		struct ts_events all = ts_read_all(trid);
		expect_fill(&all, id, &counted, 1);
		ts_expect_running(trid);
	}
}

TEST(each_event_may_come_from_a_thread_of_its_own, "SIZE-11 SIZE-12")
{
	fill_one_by_one(32768, false);
}

TEST(each_event_may_come_from_a_process_of_its_own, "SIZE-11 FORK-20")
{
	fill_one_by_one(16384, true);
}

TEST(many_threads_at_a_time_may_hold_one_event_each, "SIZE-11")
{
	enum { stream_bytes = 16384, threads = 60 };
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, stream_bytes, DATA_MAX);
	trace_event_id_t id = ts_id("fill");
	trace_id_t trid = ts_create_running(0, &attr);
	static struct command_writer w[threads];
	struct fill_writer counted[threads] = {{0}};
	size_t left = room_without_stop(&attr, stream_bytes);

	for (uint32_t t = 0; t < threads; t++) {
		command_writer_begin(&w[t], id, t);
		counted[t].writer = t;
	}
	for (uint32_t t = 0; left >= ts_user_bytes(&attr, PAYLOAD_MIN); t++) {
		left -= ts_user_bytes(&attr, PAYLOAD_MIN);
		command_write(&w[t % threads], PAYLOAD_MIN);
		counted[t % threads].count++;
	}
	struct ts_events all = ts_read_all(trid);
	expect_fill(&all, id, counted, threads);
	ts_expect_running(trid);
	for (uint32_t t = 0; t < threads; t++)
		command_writer_end(&w[t]);
}

TEST(calls_that_record_system_events_find_their_room_too, "SIZE-11 SIZE-13")
{
	enum { stream_bytes = 80000 };
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, stream_bytes, DATA_MAX);
	trace_event_id_t id = ts_id("fill");
	trace_id_t trid = ts_create_running(0, &attr);
	trace_event_set_t set = ts_set(ts_id("other"), 0);
	struct fill_writer w = {.id = id};
	size_t each = ts_values(&attr).system_bytes;

	/* START, 5 FILTER, 5 STOP, 5 START and user events for the rest. */
	share_room(&attr, &w, 1, stream_bytes - 16 * each);
	for (uint32_t seq = 0, calls = 0; seq < w.count; seq++) {
		emit_payload(id, len_of(0, 0, seq), 0, seq);
		if (calls < 5 && seq * 6 / w.count > calls) {
			calls++;
			ts_set_filter(trid, &set, POSIX_TRACE_ADD_EVENTSET);
			ts_stop(trid);
			ts_start(trid);
		}
	}
	CHECK_EQ(ts_status(trid).posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	struct ts_events all = ts_read_all(trid);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_FILTER), 5);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_START), 6);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_STOP), 5);
	expect_fill(&all, id, &w, 1);
}

TEST(the_automatic_stop_takes_no_room_from_events, "SIZE-13 POLICY-17")
{
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, 8192, DATA_MAX);
	trace_event_id_t id = ts_id("fill");
	trace_id_t trid = ts_create_running(0, &attr);
	struct fill_writer w = {.id = id, .len = 40}, restarted = w;
	struct ts_events all;

	for (int round = 0; round < 20; round++) {
		w.count = 0;
		share_room(&attr, &w, 1, 8192 - ts_values(&attr).system_bytes);
		write_fill(&w);
		/* Overfull: the events above stay, and STOP is behind the last one
		 * kept. */
		while (ts_status(trid).posix_stream_status == POSIX_TRACE_RUNNING)
			emit_payload(id, 40, 0, w.count++);
		all = ts_read_all(trid);
		restarted.count = (uint32_t)ts_count(&all, id);
		CHECK_GE(restarted.count, w.count - 1);
		expect_fill(&all, id, &restarted, 1);
		CHECK_EQ(ts_count(&all, POSIX_TRACE_STOP), 1);
		CHECK_EQ(all.at[all.count - 2].info.posix_event_id, POSIX_TRACE_STOP);
		CHECK_EQ(all.at[all.count - 1].info.posix_event_id, POSIX_TRACE_START);
	}
}

TEST(names_and_calls_take_no_room, "SIZE-14")
{
	enum { stream_bytes = 16384 };
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, stream_bytes, DATA_MAX);
	trace_event_id_t id = ts_id("fill");
	struct fill_writer w = {.id = id, .len = 40};
	char name[TRACE_EVENT_NAME_MAX + 1];

	CHECK_OK(posix_trace_attr_setname(&attr, "a name of some length"));
	trace_id_t trid = ts_create_running(0, &attr);
	share_room(&attr, &w, 1, room_without_stop(&attr, stream_bytes));
	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "%0250u", i);
		if (i % 2)
			ts_id(name);
		else
			ts_trid_id(trid, name);
		(void)ts_status(trid);
		CHECK_OK(posix_trace_get_attr(trid, &attr));
	}
	write_fill(&w);
	ts_expect_running(trid);
	struct ts_events all = ts_read_all(trid);
	expect_fill(&all, id, &w, 1);
}

TEST(a_thread_fills_a_stream_within_the_documented_bound, "SIZE-25")
{
	static const size_t sizes[] = {0, 4096, 30000, 200000, 1048576};
	trace_event_id_t id = ts_id("event");

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (int policy = POSIX_TRACE_LOOP; policy <= POSIX_TRACE_UNTIL_FULL; policy++) {
			trace_attr_t attr = ts_attr(policy, 0, 1000);
			/* Not so big that one alone is too big. */
			size_t len = sizes[i] < 4096 ? 24 : 1000;
			CHECK_OK(posix_trace_attr_setstreamsize(&attr, sizes[i]));
			trace_id_t trid = ts_create_running(0, &attr);
			/* Fails if it takes more data than twice the size and 64 KiB. */
			(void)ts_fill(trid, ts_values_of(trid).stream_bytes, id, len, 0);
			ts_clear(trid);
			/* If it stopped itself, it needs this. */
			ts_start(trid);
			(void)ts_fill(trid, ts_values_of(trid).stream_bytes, id, len / 4, 0);
			ts_shutdown(trid);
		}
}

TEST(a_thread_fills_a_stream_of_large_events_within_its_bound, "SIZE-25")
{
	static const size_t data[] = {8192, 16384, 32768, 65536, 131072};
	static const size_t lengths[] = {24, 215, 3440, 8191};
	static char bytes[8192];
	trace_event_id_t id = ts_id("event");

	for (size_t i = 0; i < 5; i++)
		for (size_t k = 0; k < 4; k++) {
			trace_id_t trid = ts_run(i % 2 ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL,
						 data[i], data[i]);
			size_t most = 2 * ts_values_of(trid).stream_bytes + 65536 + 5 * data[i];
			size_t used = 0;
			struct posix_trace_status_info status;

			/* One that is too large for it may be lost before it is full. */
			do {
				posix_trace_event(id, bytes, lengths[k]);
				used += lengths[k];
				CHECK_LE(used, most);
				status = ts_status(trid);
			} while (status.posix_stream_full_status != POSIX_TRACE_FULL &&
				 status.posix_stream_overrun_status != POSIX_TRACE_OVERRUN);
			ts_shutdown(trid);
		}
}

/*
 * Logs
 */

TEST(a_log_too_small_is_einval, "SIZE-22 CREATE-16", NEEDS_KEEPER)
{
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = 4711;
	size_t smallest = 0;

	for (int policy = POSIX_TRACE_LOOP; policy <= POSIX_TRACE_UNTIL_FULL; policy++) {
		trace_attr_t attr = ts_attr(0, 65536, 8192);
		static unsigned char data[8192];
		int fd = ts_temp_file();
		CHECK_OK(posix_trace_attr_setlogfullpolicy(&attr, policy));
		for (size_t bytes = 0; bytes <= sizeof(trace_event_set_t); bytes += 8) {
			CHECK_OK(posix_trace_attr_setlogsize(&attr, bytes));
			CHECK_EQ(posix_trace_create_withlog(0, &attr, fd, &trid), EINVAL);
			CHECK_EQ(trid, 4711);
		}
		/* One START and one STOP are at most so big. */
		smallest = 2 * ts_values(&attr).system_bytes;
		CHECK_OK(posix_trace_attr_setlogsize(&attr, smallest));
		CHECK_OK(posix_trace_create_withlog(0, &attr, fd, &trid));
		ts_start(trid);
		posix_trace_event(id, data, sizeof(data));
		(void)ts_status(trid);
		ts_flush(trid);
		CHECK_EQ(ts_status(trid).posix_log_overrun_status, POSIX_TRACE_OVERRUN);
		struct ts_events all = ts_end_log(trid, fd);
		CHECK_EQ(ts_count(&all, id), 0);
		trid = 4711;
	}
}
