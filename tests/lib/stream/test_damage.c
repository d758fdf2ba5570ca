/* SPDX-License-Identifier: MIT */
/*
 * The memory that a stream's processes share, damaged on purpose under them: bits flipped,
 * words replaced, while a target records, its controller reads, controls and flushes, and a
 * keeper writes a log. What comes of the trace is open; but each of these processes goes on
 * to its end, in time and by itself, and so does who reads the log.
 *
 * PTRC_DAMAGE_SEED repeats a run, PTRC_DAMAGE_MS is how long each round goes on.
 */
#include "include/posixtrace-private.h"
#include "tests/support/private_user.h"

#include "tests/support/logs.h"
#include "tests/support/stream_memory.h"

#include <sys/mman.h>

#include "lib/model/names.h"
#include "lib/process/page_layout.h"
#include "lib/stream/clock.h"
#include "lib/stream/slots.h"

#define KIB ((size_t)1024)
#define SMALL ((size_t)16384)
#define MARKED 24 /* bytes of data */
#define THREADS 2
#define DATA_MAX 300
#define NAMES 8

/*
 * One damage at a time
 */

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

static struct ptrc_pool pool_of(struct ptrc_stream_header *h)
{
	return (struct ptrc_pool){
		.header = h, .chunk_size = h->chunk_size, .chunk_count = h->chunk_count};
}

/* The record of that event. */
static struct ptrc_record *find_record(struct ptrc_stream_header *h, uint32_t number)
{
	struct ptrc_pool pool = pool_of(h);
	unsigned char data[MARKED];
	struct ptrc_record *record = NULL;

	marked_data(data, number);
	for (uint32_t i = 0; i < h->chunks_used && !record; i++) {
		unsigned char *chunk = (unsigned char *)ptrc_pool_chunk(&pool, i);
		unsigned char *at = memmem(chunk, h->chunk_size, data, sizeof(data));

		if (at)
			record = (struct ptrc_record *)(void *)(at - sizeof(*record));
	}
	CHECK(record);
	CHECK_EQ(ptrc_record_len(record), MARKED);
	return record;
}

/* Makes the record of that event longer than its chunk. */
static void damage(struct ptrc_stream_header *h, uint32_t number)
{
	find_record(h, number)->len_lo = 0xfff0;
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
	for (int policy = POSIX_TRACE_LOOP; policy <= POSIX_TRACE_UNTIL_FULL; policy++) {
		trace_id_t trid = ts_run(policy, SMALL, 256);
		trace_event_id_t id = ts_id("marked");

		emit_marked(id, 0, 20);
		damage(find_stream(), 10);
		ts_expect(trid, POSIX_TRACE_START);
		for (uint32_t number = 0; number < 10; number++)
			ts_expect_number(trid, id, number);
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

/* The generation of a chunk in use is never 0. If damage makes it 0, its records are read all the same. */
TEST(a_generation_of_0_ends_no_reader, "SYSEVENT-08")
{
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, SMALL, 256);
	ts_stop(trid);
	struct ptrc_stream_header *h = find_stream();
	struct ptrc_pool pool = pool_of(h);

	for (uint32_t i = 0; i < h->chunks_used; i++)
		ptrc_pool_ctl(&pool, i)->word &= (UINT64_C(1) << PTRC_CHUNK_GEN_SHIFT) - 1;
	ts_expect(trid, POSIX_TRACE_START);
	ts_expect(trid, POSIX_TRACE_STOP);
	ts_expect_none(trid);
	ts_shutdown(trid);
}

/* The controller's own thread records; each flush finds the one before mended. */
TEST(damaged_memory_is_not_told_if_the_filter_has_it, "SYSEVENT-08")
{
	trace_id_t trid = ts_make(POSIX_TRACE_LOOP, SMALL, 256);
	trace_event_id_t id = ts_id("marked");
	trace_event_set_t set = ts_set(POSIX_TRACE_ERROR, 0);
	CHECK_OK(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET));
	ts_start(trid);
	emit_marked(id, 0, 20);
	damage(find_stream(), 10);
	ts_stop(trid);
	struct ts_events events = ts_read_numbers(trid, id, 0, 9);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_ERROR), 0);
	ts_shutdown(trid);
}

TEST(damaged_memory_is_told_in_the_log, "SYSEVENT-08", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	trace_id_t trid = start_log(POSIX_TRACE_UNTIL_FULL, SMALL, POSIX_TRACE_APPEND, 0, fd);
	trace_event_id_t id = ts_id("marked");

	emit_marked(id, 0, 20);
	damage(find_stream(), 10);
	ts_flush(trid);
	/* Where the damage is nothing can be trusted any more; its thread gets another
	 * place. */
	emit_marked(id, 20, 25);
	ts_flush(trid);
	emit_marked(id, 25, 30);
	ts_flush(trid);
	struct ts_events events = ts_end_log(trid, fd);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_ERROR), 1);
	expect_error_event(&events.at[ts_find(&events, POSIX_TRACE_ERROR, 0)]);
	CHECK_EQ(ts_count(&events, id), 20);
	uint32_t expected = 0;
	for (size_t i = 0; i < events.count; i++) {
		if (events.at[i].info.posix_event_id != id)
			continue;
		CHECK_EQ(ts_number(&events.at[i]), expected);
		expected = expected == 9 ? 20 : expected + 1;
	}
}

/* An event of a time to come would wait, and all behind it, for ever. */
TEST(events_of_the_future_are_damage, "SYSEVENT-08", NEEDS_KEEPER)
{
	trace_attr_t attr = log_attr(POSIX_TRACE_UNTIL_FULL, SMALL, POSIX_TRACE_APPEND, 0);
	trace_event_id_t id = ts_id("marked");

	for (int has_log = 0; has_log < 2; has_log++) {
		int fd = ts_temp_file();
		trace_id_t trid = has_log ? ts_create_log(0, &attr, fd) : ts_create(0, &attr);
		ts_start(trid);
		emit_marked(id, 0, 1);
		find_record(find_stream(), 0)->delta = UINT32_MAX;
		struct ts_events events;
		if (has_log) {
			ts_flush(trid);
			emit_marked(id, 1, 5);
			events = ts_end_log(trid, fd);
		} else {
			ts_expect(trid, POSIX_TRACE_START);
			struct ts_event error = ts_next(trid);
			expect_error_event(&error);
			emit_marked(id, 1, 5);
			ts_stop(trid);
			events = ts_read_all(trid);
			ts_shutdown(trid);
		}
		ts_expect_numbers(&events, id, 1, 4);
	}
}

TEST(a_length_beyond_the_caller_s_data_is_not_believed, "SYSEVENT-08")
{
	trace_event_id_t id = ts_id("marked");
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, SMALL, 256);
	unsigned char *data =
		mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(data != MAP_FAILED);
	CHECK_SYS(mprotect(data + 8192, 8192, PROT_NONE));
	emit_marked(id, 0, 1);
	struct ptrc_stream_header *h = find_stream();
	h->max_data_size = UINT64_MAX;
	h->record_max = UINT32_MAX;
	/* Larger than any chunk: lost, and the call returns. */
	unsigned char *large = calloc(1, (size_t)1 << 20);
	posix_trace_event(id, large, (size_t)1 << 20);
	CHECK_NE(ts_status(trid).posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	posix_trace_event(id, data + 8192 - 100, 100);
	ts_shutdown(trid);
}

/* A count of no meaning: no event can be given a time, none is waited for. */
TEST(a_clock_that_makes_no_sense_stops_nobody, "SYSEVENT-08")
{
	trace_event_id_t id = ts_id("marked");
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, SMALL, 256);

	emit_marked(id, 0, 1);
	struct ptrc_stream_header *h = find_stream();
	memset(ptrc_stream_clock(h), 0, 65536);
	h->clock_word = UINT64_MAX << 32;
	h->clock_due = 0;
	emit_marked(id, 1, 3);
	(void)ts_read_all(trid);
	ts_shutdown(trid);
}

/* Events are lost between two stamps, and by the clock the first one is the later. */
TEST(a_gap_that_ends_before_it_begins_keeps_no_keeper, "SYSEVENT-08", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	trace_id_t trid = start_log(POSIX_TRACE_FLUSH, SMALL, POSIX_TRACE_APPEND, 0, fd);
	trace_event_id_t id = ts_id("marked");
	struct ptrc_stream_header *h = find_stream();

	emit_marked(id, 0, 1);
	CHECK_EVENTUALLY((ptrc_clock_update(h, ptrc_stream_now(h)), h->clock_word >> 32 > 1));
	uint64_t last_lost = ptrc_stream_now(h);
	emit_marked(id, 1, 5);
	ptrc_stream_clock(h)[0].ns += INT64_C(1) << 40;
	h->horizon = last_lost;
	h->first_lost = h->t0;
	ts_flush(trid);
	emit_marked(id, 5, 8);
	struct ts_events events = ts_end_log(trid, fd);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_OVERFLOW), 1);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_RESUME), 1);
	ts_expect_numbers(&events, id, 1, 7);
}

TEST(a_state_lock_that_nobody_holds_is_taken, "SYSEVENT-08")
{
	trace_id_t trid = ts_create_running(0, NULL);

	posix_trace_event(ts_id("marked"), NULL, 0);
	/* A thread that lives and knows nothing of it. */
	find_stream()->state_lock = (uint32_t)getppid();
	ts_stop(trid);
	ts_expect_suspended(trid);
	ts_shutdown(trid);
}

TEST(a_stream_that_stops_again_whenever_it_restarts_keeps_no_reader, "SYSEVENT-08")
{
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, 64 * KIB, 0);
	struct ptrc_stream_header *h = find_stream();
	trace_event_set_t all;

	/* Neither its STOP nor its START is reported. */
	CHECK_OK(posix_trace_eventset_fill(&all, POSIX_TRACE_ALL_EVENTS));
	ts_set_filter(trid, &all, POSIX_TRACE_SET_EVENTSET);
	ts_read_all(trid);
	h->stream_min_size = 1;
	ts_expect_none(trid);
	CHECK_GT(atomic_load(&h->run), 10);
	h->stream_min_size = 64 * KIB;
	ts_shutdown(trid);
}

TEST(a_name_without_end_is_ended, "SYSEVENT-08")
{
	trace_id_t trid = ts_create_running(0, NULL);
	char name[TRACE_NAME_MAX + 8], version[TRACE_NAME_MAX + 8];
	trace_attr_t attr;

	posix_trace_event(ts_id("marked"), NULL, 0);
	struct ptrc_stream_header *h = find_stream();
	memset(h->attr.name, 'n', sizeof(h->attr.name));
	memset(h->attr.genversion, 'v', sizeof(h->attr.genversion));
	CHECK_OK(posix_trace_get_attr(trid, &attr));
	CHECK_OK(posix_trace_attr_getname(&attr, name));
	CHECK_LT(strlen(name), TRACE_NAME_MAX);
	CHECK_OK(posix_trace_attr_getgenversion(&attr, version));
	CHECK_LT(strlen(version), TRACE_NAME_MAX);
	ts_shutdown(trid);
}

/* The number of a command is another when its keeper looks. */
TEST(a_command_whose_number_is_damaged_comes_to_an_end, "SYSEVENT-08", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	trace_id_t trid = start_log(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0, fd);
	trace_event_id_t id = ts_id("marked");

	emit_marked(id, 0, 10);
	struct ptrc_stream_header *h = find_stream();
	uint32_t before = h->keeper_seq;
	CHECK_SYS(kill(h->keeper_pid, SIGSTOP));
	pthread_t thread = ts_thread(flush_in_thread, &trid);
	CHECK_EVENTUALLY(atomic_load(&h->keeper_seq) != before);
	atomic_fetch_add(&h->keeper_seq, 1000);
	CHECK_SYS(kill(h->keeper_pid, SIGCONT));
	CHECK_EQ((intptr_t)ts_join(thread), 0);
	/* And one that it has done already. */
	atomic_store(&h->keeper_done, 7);
	ts_flush(trid);
	ts_expect_logged(trid, fd, id, 0, 9);
}

/*
 * Who reaps
 */

/* As a keeper leaves them that is stopped while it gives up room. */
TEST(counts_that_are_never_at_rest_do_not_hold_up, "")
{
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, 65536 * KIB, 100);
	static struct posixtrace_type_count counts[1100];
	trace_event_id_t id = ts_id("event");

	for (int i = 0; i < 2000000; i++)
		posix_trace_event(id, NULL, 0);
	atomic_fetch_add(&ptrc_stream_types(find_stream())->version, 1);
	long naps = harness_naps();
	CHECK_OK(posixtrace_get_type_counts(trid, counts, 1100));
	CHECK_EQ(counts[id].pt_events, 2000000);
	/* It looks again for a second, not so many times: one look takes longer than a nap of 500 us. */
	CHECK_LT(harness_naps() - naps, 1500);
	atomic_fetch_add(&ptrc_stream_types(find_stream())->version, 1);
	ts_shutdown(trid);
}

/* To look at all slots whenever one is added took 8,000 threads a minute. */
TEST(a_table_that_grows_is_searched_for_the_dead_now_and_then, "")
{
	uint32_t searches = 0, latest = 0;

	for (uint32_t used = 1; used <= PTRC_SLOT_COUNT; used++) {
		if (!ptrc_slots_is_time_to_reap(used, used))
			continue;
		CHECK_LE(used - latest, used / 8 + 1);
		latest = used;
		searches++;
	}
	CHECK_LE(searches, 150);
}

/* A reaper that was slow would spoil what others have since: it is alone at it. */
TEST(a_slow_reaper_keeps_others_out_until_it_dies, "EVENT-23")
{
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, SMALL, 256);
	struct ptrc_slot *slot;
	pid_t reaper = harness_fork();

	if (reaper == 0) {
		pause();
		_exit(0);
	}
	posix_trace_event(ts_id("marked"), NULL, 0);
	struct ptrc_stream_header *h = find_stream();
	/* A slot of somebody who is dead. */
	pid_t dead = harness_fork();
	if (dead == 0)
		_exit(0);
	CHECK_EXIT(dead, 0);
	slot = &ptrc_stream_slots(h)[h->slots_used++];
	atomic_store(&slot->owner, (uint64_t)dead << PTRC_SLOT_TID_SHIFT);
	atomic_store(&h->reaper, ((uint64_t)reaper << PTRC_SLOT_TID_SHIFT) | PTRC_SLOT_CLAIM_MASK);
	struct ptrc_pool pool = pool_of(h);
	ptrc_slots_reap(&pool, 0, 0, true);
	CHECK_NE(slot->owner, 0);
	CHECK_EQ(h->reaper >> PTRC_SLOT_TID_SHIFT, reaper);
	harness_kill(reaper);
	ptrc_slots_reap(&pool, 0, 0, true);
	CHECK_EQ(slot->owner, 0);
	CHECK_EQ(h->reaper >> PTRC_SLOT_TID_SHIFT, 0);
	ts_shutdown(trid);
}

/*
 * Damage all over
 */

static uint64_t random_state;

static uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % limit;
}

static void choose_seed(void)
{
	const char *text = getenv("PTRC_DAMAGE_SEED");

	random_state = text ? strtoull(text, NULL, 0) : (uint64_t)harness_now_ns() | 1;
	NOTE("PTRC_DAMAGE_SEED=%" PRIu64, random_state);
}

static int round_ms(void)
{
	const char *text = getenv("PTRC_DAMAGE_MS");

	return text ? atoi(text) : 150;
}

/* Shared by the processes of a round. */
struct stage {
	_Atomic bool is_ready, is_over;
	_Atomic uint64_t recorded, read;
	_Atomic int progress; /* what the controller is at, for the message */
};

static struct stage *stage;

/*
 * The target
 */

static void *record_until_over(void *arg)
{
	unsigned char data[DATA_MAX];
	char name[32];
	trace_event_id_t id;

	memset(data, 'd', sizeof(data));
	for (uint32_t n = 0; !atomic_load(&stage->is_over); n++) {
		snprintf(name, sizeof(name), "damage.%u", n % NAMES);
		if (n % 512 < NAMES)
			(void)posix_trace_eventid_open(name, &id);
		posix_trace_event(id, data, n % DATA_MAX);
		atomic_fetch_add(&stage->recorded, 1);
		if (n % 64 == 0)
			sched_yield();
	}
	return arg;
}

static void be_target(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		threads[i] = ts_thread(record_until_over, NULL);
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(pthread_join(threads[i], NULL));
	exit(0);
}

/*
 * The controller
 */

static void read_some(trace_id_t trid)
{
	struct posix_trace_event_info info;
	char data[DATA_MAX];
	char name[TRACE_EVENT_NAME_MAX + 1];
	int unavailable = 0;
	size_t len;

	for (int i = 0; i < 200 && !unavailable; i++) {
		if (posix_trace_trygetnext_event(trid, &info, data, sizeof(data), &len,
						 &unavailable))
			return;
		if (unavailable)
			break;
		CHECK_LE(len, sizeof(data));
		atomic_fetch_add(&stage->read, 1);
		(void)posix_trace_eventid_get_name(trid, info.posix_event_id, name);
	}
	struct timespec deadline = ts_deadline(1);
	(void)posix_trace_timedgetnext_event(trid, &info, data, sizeof(data), &len, &unavailable,
					     &deadline);
}

static void control(trace_id_t trid, unsigned turn)
{
	struct posix_trace_status_info status;
	trace_event_set_t set;
	trace_event_id_t id;
	trace_attr_t attr;
	char name[TRACE_NAME_MAX];
	int unavailable = 0;

	atomic_store(&stage->progress, (int)(turn % 8));
	switch (turn % 8) {
	case 0:
		(void)posix_trace_get_status(trid, &status);
		break;
	case 1:
		(void)posix_trace_flush(trid);
		break;
	case 2:
		(void)posix_trace_stop(trid);
		(void)posix_trace_start(trid);
		break;
	case 3:
		(void)posix_trace_get_filter(trid, &set);
		break;
	case 4:
		(void)posix_trace_eventset_empty(&set);
		(void)posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
		break;
	case 5:
		if (posix_trace_get_attr(trid, &attr) == 0)
			(void)posix_trace_attr_getname(&attr, name);
		break;
	case 6:
		for (int i = 0; i < 2000 && !unavailable; i++)
			if (posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable))
				break;
		(void)posix_trace_eventtypelist_rewind(trid);
		break;
	case 7:
		if (turn % 64 == 7)
			(void)posix_trace_clear(trid);
		break;
	}
}

static void be_controller(pid_t target, int policy, int log_fd)
{
	trace_attr_t attr = ts_attr(policy, 64 * KIB, DATA_MAX);

	trace_id_t trid =
		log_fd < 0 ? ts_create(target, &attr) : ts_create_log(target, &attr, log_fd);
	ts_start(trid);
	CHECK_EVENTUALLY(atomic_load(&stage->recorded) > 1000);
	atomic_store(&stage->is_ready, true);
	for (unsigned turn = 0; !atomic_load(&stage->is_over); turn++) {
		read_some(trid);
		control(trid, turn);
	}
	atomic_store(&stage->progress, 100);
	(void)posix_trace_shutdown(trid);
	atomic_store(&stage->progress, 101);
	exit(0);
}

/*
 * Damaging
 */

struct object {
	unsigned char *at;
	size_t size;
};

/* The object in the user's directory whose name begins so; SIZE_MAX: of any size. */
static struct object map_object(const char *prefix)
{
	struct object object = {NULL, 0};
	struct dirent *entry;
	struct stat st;
	char path[64];
	int fd = -1;

	private_user_dir(path);
	DIR *dir = opendir(path);
	CHECK(dir);
	while (fd < 0 && (entry = readdir(dir)))
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
			fd = openat(dirfd(dir), entry->d_name, O_RDWR | O_CLOEXEC);
	closedir(dir);
	CHECK(fd >= 0);
	CHECK_SYS(fstat(fd, &st));
	object.size = (size_t)st.st_size;
	object.at = mmap(NULL, object.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(object.at != MAP_FAILED);
	close(fd);
	return object;
}

/* The next event type of the list; 0 if there is none. */
static trace_event_id_t next_type(trace_id_t trid)
{
	trace_event_id_t id;
	int unavailable;

	CHECK_OK(posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable));
	return unavailable ? 0 : id;
}

TEST(an_identifier_that_was_given_up_is_told_nowhere, "EVENTLIST-10 EVENTID-24")
{
	trace_id_t trid = ts_make(POSIX_TRACE_UNTIL_FULL, SMALL, 16);
	trace_event_id_t before = ts_id("before"), id;
	struct ptrc_names_object *names = (struct ptrc_names_object *)(void *)map_object("n.").at;
	struct ptrc_inspected_process process;
	char name[TRACE_EVENT_NAME_MAX + 1];

	/* As if a thread had been stopped that had written all of its name. */
	strcpy(names->entry[1].name, "stopped");
	atomic_store(&names->entry[1].state, PTRC_NAMES_CLAIMED);
	CHECK_EQ(ts_id("behind"), before + 2);
	while (next_type(trid) != before)
		;
	CHECK_EQ(next_type(trid), before + 2);
	/* Nor at the end. */
	atomic_store(&names->entry[3].state, PTRC_NAMES_GIVEN_UP);
	atomic_store(&names->count, 4);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(next_type(trid), 0);
	CHECK_EQ(ts_id("last"), before + 4);
	CHECK_EQ(next_type(trid), before + 4);
	CHECK_EQ(posix_trace_eventid_get_name(trid, before + 1, name), EINVAL);
	ts_expect_name(trid, before + 2, "behind");
	CHECK_OK(ptrc_inspect_process(0, &process));
	CHECK_EQ(process.pt_events, 5);
	CHECK_OK(ptrc_inspect_event(0, 1, &id, name));
	CHECK_EQ(id, before + 1);
	CHECK_STR_EQ(name, "");
	CHECK_OK(ptrc_inspect_event(0, 2, &id, name));
	CHECK_STR_EQ(name, "behind");
	ts_shutdown(trid);
}

enum region {
	HEADER, /* its words, as they are used */
	CLOCK,
	SLOTS,
	CHUNK_CONTROL,
	CHUNK_HEADERS,
	RECORDS,
	NAMES_OBJECT,
	PAGE,
	ANYWHERE,
	REGION_COUNT,
};

static const char *const region_names[] = {
	"header",  "clock", "slots", "chunk control", "chunk headers",
	"records", "names", "page",  "anywhere",
};

struct victim {
	struct object stream, names, page;
	struct ptrc_pool pool;
	uint32_t used;
};

/* A word of the region. */
static unsigned char *choose(const struct victim *v, enum region region)
{
	unsigned char *stream = v->stream.at;
	unsigned char *chunk =
		(unsigned char *)ptrc_pool_chunk(&v->pool, (uint32_t)random_below(v->used));

	switch (region) {
	case HEADER:
		return stream + random_below(offsetof(struct ptrc_stream_header, log_place));
	case CLOCK:
		return stream + PTRC_STREAM_CLOCK_OFFSET +
		       random_below(16 * sizeof(struct ptrc_clock_entry));
	case SLOTS:
		return stream + PTRC_STREAM_SLOT_OFFSET +
		       random_below(8 * sizeof(struct ptrc_slot));
	case CHUNK_CONTROL:
		return stream + PTRC_STREAM_CHUNK_CTL_OFFSET +
		       random_below(v->used * sizeof(struct ptrc_chunk_ctl));
	case CHUNK_HEADERS:
		return chunk + random_below(PTRC_CHUNK_FIRST);
	case RECORDS:
		return chunk + PTRC_CHUNK_FIRST +
		       random_below(v->pool.chunk_size - PTRC_CHUNK_FIRST);
	case NAMES_OBJECT:
		return v->names.at + random_below(4096 + NAMES * PTRC_NAME_BYTES);
	case PAGE:
		return v->page.at + random_below(sizeof(struct ptrc_page));
	case ANYWHERE:
	default:
		return choose(v, (enum region)random_below(ANYWHERE));
	}
}

static void damage_one(const struct victim *v, enum region region)
{
	unsigned char *at = choose(v, region);
	static const uint64_t values[] = {0, UINT64_MAX, 1, UINT64_C(1) << 63, 0x7fffffff};
	uint64_t word;

	switch (random_below(4)) {
	case 0:
	case 1:
		*at ^= (unsigned char)(1U << random_below(8));
		break;
	case 2:
		*at = (unsigned char)random_below(256);
		break;
	default:
		word = values[random_below(sizeof(values) / sizeof(values[0]))];
		memcpy((unsigned char *)((uintptr_t)at & ~(uintptr_t)7), &word, sizeof(word));
	}
}

/* The orphan of a controller, its keeper, comes to us: it ends, and not by a signal. */
static void reap_all(pid_t controller, pid_t target)
{
	int64_t end = harness_now_ns() + harness_patience_ms() * 1000000;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL | WNOHANG)) >= 0) {
		const char *who = pid == controller ? "controller"
				  : pid == target   ? "target"
						    : "keeper";

		if (pid == 0) {
			if (harness_now_ns() > end)
				harness_fail("controller (at %d), keeper or target does not "
					     "end",
					     atomic_load(&stage->progress));
			harness_sleep_ms(1);
			continue;
		}
		if (WIFSIGNALED(status))
			harness_fail("the %s died of signal %d", who, WTERMSIG(status));
		if (pid == controller || pid == target)
			CHECK_EQ(WEXITSTATUS(status), 0);
	}
}

/* Whatever is in it. */
static void read_log(int fd)
{
	struct posix_trace_event_info info;
	char data[DATA_MAX];
	int unavailable = 0;
	trace_id_t log;
	size_t len;

	if (posix_trace_open(fd, &log))
		return;
	while (!unavailable &&
	       posix_trace_getnext_event(log, &info, data, sizeof(data), &len, &unavailable) == 0)
		CHECK_LE(len, sizeof(data));
	CHECK_OK(posix_trace_close(log));
}

/* One round in a process of its own: its children are the round's alone. */
static void damage_round(enum region region, int policy, bool has_log)
{
	struct victim v = {.used = 0};
	int log_fd = has_log ? ts_temp_file() : -1;
	char page[32];

	stage = harness_share(sizeof(*stage));
	CHECK_SYS(prctl(PR_SET_CHILD_SUBREAPER, 1));
	pid_t target = harness_fork();
	if (target == 0)
		be_target();
	pid_t controller = harness_fork();
	if (controller == 0)
		be_controller(target, policy, log_fd);
	CHECK_EVENTUALLY(atomic_load(&stage->is_ready));
	v.stream = map_object("s.");
	v.names = map_object("n.");
	snprintf(page, sizeof(page), "p.%d", (int)target);
	v.page = map_object(page);
	struct ptrc_stream_header *h = (struct ptrc_stream_header *)(void *)v.stream.at;
	v.pool = pool_of(h);
	v.used = h->chunks_used < 64 ? h->chunks_used : 64;
	int64_t end = harness_now_ns() + round_ms() * INT64_C(1000000);
	while (harness_now_ns() < end) {
		damage_one(&v, region);
		harness_sleep_ms(random_below(4) == 0);
	}
	atomic_store(&stage->is_over, true);
	reap_all(controller, target);
	if (has_log)
		read_log(log_fd);
	exit(0);
}

static void damage_all(int policy, bool has_log)
{
	choose_seed();
	for (int region = 0; region < REGION_COUNT; region++) {
		uint64_t seed = random_state;
		pid_t pid = harness_fork();
		if (pid == 0)
			damage_round((enum region)region, policy, has_log);
		int status = harness_reap(pid);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			harness_fail("damaged: %s (PTRC_DAMAGE_SEED=%" PRIu64 ")",
				     region_names[region], seed);
		(void)random_below(2);
	}
}

TEST(damage_of_a_loop_stream_ends_nobody, "SYSEVENT-08", NEEDS_SUBREAPER)
{
	damage_all(POSIX_TRACE_LOOP, false);
}

TEST(damage_of_an_until_full_stream_ends_nobody, "SYSEVENT-08", NEEDS_SUBREAPER)
{
	damage_all(POSIX_TRACE_UNTIL_FULL, false);
}

TEST(damage_of_a_logged_stream_ends_nobody, "SYSEVENT-08 OPEN-15", NEEDS_SUBREAPER)
{
	damage_all(POSIX_TRACE_FLUSH, true);
}
