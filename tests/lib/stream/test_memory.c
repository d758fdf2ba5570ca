/* SPDX-License-Identifier: MIT */
/*
 * What a stream needs beyond what is reserved at its creation, when /dev/shm is full: entries
 * of its clock, chunks, slots. The traced program is not hurt, and the newest events stay.
 * And the clock's entries themselves, when an appender is overtaken at an instruction.
 *
 * With a sanitizer it takes long, as each instruction of an appender is a signal, in each of many rounds.
 */
#include "include/posixtrace-private.h"
#include "tests/support/keeper.h"
#include "tests/support/stream_memory.h"

#include <posixtrace.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "lib/stream/chunk.h"
#include "lib/stream/clock.h"
#include "lib/base/file.h"

#define KIB ((size_t)1024)
#define PAGE 4096U
/* More than a page of them. */
#define ENTRIES 150
#define DATA_BYTES 200

/*
 * Mappings
 */

HELPER(locked_in_small_shm)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		SKIP("memory cannot be locked");
	trace_id_t trids[2] = {ts_create_running(0, NULL), ts_create_running(0, NULL)};
	trace_event_id_t id = ts_id("event");
	ts_emit(id, 1);
	for (int i = 0; i < 2; i++) {
		ts_expect(trids[i], POSIX_TRACE_START);
		ts_expect(trids[i], id);
		ts_shutdown(trids[i]);
	}
	return 0;
}

TEST(locked_memory_takes_no_more_than_is_used, "CREATE-17 CREATE-09", NEEDS_EXEC)
{
#ifdef HARNESS_IS_SANITIZED
	SKIP("what a sanitizer reserves would be locked, too");
#endif
	run_in_small_shm("4m", "locked_in_small_shm", NULL);
}

/*
 * Names
 */

/* Opens names, more than a page of them, until there is no memory for one. */
static void open_names(void)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t id = 0, last;
	int error = 0;

	for (int i = 0; i < 300 && !error; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		last = id;
		id = 4711;
		error = posix_trace_eventid_open(name, &id);
		CHECK_GT(id, last);
	}
	CHECK_EQ(error, ENOMEM);
	CHECK_EQ(id, 4711);
}

HELPER(names_in_small_shm)
{
	trace_event_id_t first = ts_id("first");
	const struct rlimit none = {0, 0};

	fill_shm();
	CHECK_SYS(setrlimit(RLIMIT_NOFILE, &none));
	open_names();
	/* Names that are there are found. */
	CHECK_EQ(ts_id("first"), first);
	return 0;
}

TEST(names_without_memory_and_descriptors_are_enomem, "ERRORS-10 ERRORS-11", NEEDS_EXEC)
{
	run_in_small_shm("4m", "names_in_small_shm", NULL);
}

struct sample {
	uint32_t value;
};
POSIXTRACE_TYPE(sample, "sample", struct sample, value);

HELPER(refused_in_small_shm)
{
	trace_event_id_t id = ts_id("event");

	fill_shm();
	open_names();
	CHECK_SYS(unlink("/dev/shm/filler"));
	trace_id_t trid = ts_create_running(0, NULL);
	ts_emit(id, 0);
	CHECK_EQ(counts_of(trid).pt_refused_names, 0);
	fill_shm();
	open_names();
	CHECK_EQ(counts_of(trid).pt_refused_names, 1);
	POSIXTRACE_EMIT(sample, .value = 1);
	CHECK_EQ(counts_of(trid).pt_refused_names, 2);
	CHECK_SYS(unlink("/dev/shm/filler"));
	POSIXTRACE_EMIT(sample, .value = 2);
	CHECK_EQ(counts_of(trid).pt_refused_names, 2);
	ts_expect(trid, POSIX_TRACE_START);
	ts_expect(trid, id);
	ts_expect(trid, POSIX_TRACE_UNNAMED_USEREVENT);
	ts_expect(trid, ts_id("sample"));
	ts_shutdown(trid);
	return 0;
}

TEST(names_without_memory_are_counted_in_the_stream, "", NEEDS_EXEC)
{
	run_in_small_shm("4m", "refused_in_small_shm", NULL);
}

static int open_described(int number)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t id;

	snprintf(name, sizeof(name), "described %d", number);
	return posixtrace_eventid_open_layout(name, "u32 number", &id);
}

/* Of `names` names, `described` have a layout before there is no memory left. */
static void flush_names(int names, int described)
{
	struct logged s = start_logged(POSIX_TRACE_LOOP, 64 * KIB, 0, 0);
	char name[TRACE_EVENT_NAME_MAX + 1];
	int error = 0;

	for (int i = 0; i < names; i++) {
		snprintf(name, sizeof(name), "described %d", i);
		ts_id(name);
	}
	for (int i = 0; i < described; i++)
		CHECK_OK(open_described(i));
	ts_emit(s.id, 0);
	fill_shm();
	for (int i = described; i < names && !error; i++)
		error = open_described(i);
	CHECK_EQ(error, names ? ENOMEM : 0);
	ts_flush(s.trid);
	ts_emit(s.id, 1);
	ts_expect_logged(s.trid, s.fd, s.id, 0, 1);
}

/* The list of layouts is at the end of a page, and their texts are not; or there is none. */
HELPER(layouts_in_small_shm)
{
	const size_t begin = offsetof(struct ptrc_names_object, layouts) % PAGE;
	int fit = (int)((PAGE - begin) / sizeof(((struct ptrc_names_object *)0)->layouts[0]));

	if (strcmp(argv[0], "none") == 0)
		flush_names(0, 0);
	else
		flush_names(fit + 10, fit - 10);
	return 0;
}

TEST(a_log_is_written_without_memory_for_a_first_layout, "", NEEDS_KEEPER | NEEDS_EXEC)
{
	run_in_small_shm("4m", "layouts_in_small_shm", "none");
}

TEST(a_log_is_written_without_memory_for_more_layouts, "", NEEDS_KEEPER | NEEDS_EXEC)
{
	run_in_small_shm("4m", "layouts_in_small_shm", "some");
}

/*
 * The clock
 */

static uint64_t entry_count(struct ptrc_stream_header *h)
{
	return atomic_load(&h->clock_word) >> 32;
}

/* Another entry is due at once, as if it were long since the last one. No event is stamped
 * later than now. */
static uint64_t make_due(struct ptrc_stream_header *h)
{
	uint64_t now = ptrc_counter();

	for (uint64_t i = entry_count(h); i-- > 0;) {
		struct ptrc_clock_entry *e = &ptrc_stream_clock(h)[i];

		if (e->mult == 0 || e->mult == PTRC_CLOCK_GIVEN_UP)
			continue;
		CHECK_LT(e->counter, now);
		e->due = now;
		break;
	}
	atomic_store(&h->clock_due, now);
	return now;
}

static void append_entry(struct ptrc_stream_header *h)
{
	uint64_t now = make_due(h);
	ptrc_clock_update(h, ptrc_counter());
	uint64_t due = atomic_load(&h->clock_due);
	CHECK_GT(due, now);
}

/* One behind the other in both times, whatever became of single ones. */
static void expect_sorted_entries(struct ptrc_stream_header *h)
{
	struct ptrc_clock_entry *last = NULL;
	uint64_t count = entry_count(h);

	for (uint64_t i = 0; i < count; i++) {
		struct ptrc_clock_entry *e = &ptrc_stream_clock(h)[i];
		int64_t reached;

		if (e->mult == 0 || e->mult == PTRC_CLOCK_GIVEN_UP)
			continue;
		CHECK_LT(e->counter, e->due);
		if (last) {
			CHECK_LE(last->due, e->counter + 1);
			reached = last->ns +
				  (int64_t)((unsigned __int128)(last->due - 1 - last->counter) *
						    last->mult >>
					    32);
			CHECK_LE(reached, e->ns);
		}
		last = e;
	}
	CHECK(last);
}

static void *sleep_on(void *arg)
{
	atomic_store((_Atomic pid_t *)arg, ts_gettid());
	for (;;)
		pause();
	return NULL;
}

/* Each start has the next event look at the clock, which may be held by a thread that does not go
 * on. */
HELPER(clock_in_small_shm)
{
	const bool is_held = strcmp(argv[0], "held") == 0;
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, 256 * KIB, 0);
	trace_event_id_t id = ts_id("by the clock");
	_Atomic pid_t holder = 0;
	uint32_t number = 0;

	ts_emit(id, number++);
	struct ptrc_stream_header *h = find_stream();
	if (is_held) {
		ts_thread(sleep_on, &holder);
		CHECK_EVENTUALLY(atomic_load(&holder) != 0);
	}
	fill_shm();
	for (int i = 0; i < ENTRIES; i++) {
		/* One that is not dead, and does not go on. */
		if (is_held)
			atomic_store(&h->clock_word,
				     entry_count(h) << 32 | (uint32_t)atomic_load(&holder));
		append_entry(h);
		if (i % 10 == 0) {
			ts_stop(trid);
			make_due(h);
			ts_start(trid);
			make_due(h);
			ts_emit(id, number++);
		}
		ts_emit(id, number++);
	}
	CHECK_LT(entry_count(h) * sizeof(struct ptrc_clock_entry), PAGE);
	/* With memory there are entries again. */
	CHECK_SYS(unlink("/dev/shm/filler"));
	for (int i = 0; i < 4; i++) {
		append_entry(h);
		ts_emit(id, number++);
	}
	CHECK_GT(entry_count(h) * sizeof(struct ptrc_clock_entry),
		 PAGE - sizeof(struct ptrc_clock_entry));
	expect_sorted_entries(h);
	ts_expect_running(trid);
	ts_read_numbers(trid, id, 0, number - 1);
	ts_shutdown(trid);
	return 0;
}

TEST(events_are_kept_when_the_clock_gets_no_more_memory, "EVENT-01 EVENT-16 GETNEXT-03", NEEDS_EXEC)
{
	run_in_small_shm("4m", "clock_in_small_shm", "free");
}

TEST(an_appender_that_stops_without_memory_holds_nobody_back, "EVENT-18 EVENT-23 GETNEXT-03",
     NEEDS_EXEC)
{
	run_in_small_shm("4m", "clock_in_small_shm", "held");
}

#if defined(__x86_64__)

#include <ucontext.h>

/* No thread has it. */
#define DEAD_TID 0x7ffffff1U

/* The program, the library with it: it is linked statically. */
extern char __executable_start, etext;

/* Memory for its entries: enough; what is reserved; enough once it is overtaken. */
enum memory { ENOUGH, RESERVED, GROWING };

static void give_memory(int fd, bool is_enough)
{
	CHECK_SYS(ftruncate(fd, (off_t)(PTRC_STREAM_CLOCK_OFFSET + (is_enough ? 8 : 1) * PAGE)));
}

/* A clock of its own. */
static struct ptrc_stream_header *make_clock(int fd)
{
	give_memory(fd, false);
	void *map = mmap(NULL, PTRC_STREAM_SLOT_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(map != MAP_FAILED);
	struct ptrc_stream_header *h = (struct ptrc_stream_header *)map;
	ptrc_clock_init(h);
	/* To where the next page begins. */
	for (int i = 0; i < ENTRIES && entry_count(h) < PAGE / sizeof(struct ptrc_clock_entry) - 1;
	     i++)
		append_entry(h);
	expect_sorted_entries(h);
	return h;
}

/* Copied, to begin each round alike. */
static unsigned char begin_header[sizeof(struct ptrc_stream_header)];
static unsigned char begin_entries[PAGE];

static struct {
	struct ptrc_stream_header *h;
	enum memory memory;
	int fd;
	/* Instructions of the call so far, and that at which it is overtaken, by how many. */
	uint32_t steps, point;
	int appends;
	volatile bool is_stepping;
	sem_t asked, answered;
	bool stop;
	/* An event that was recorded meanwhile, its time then, the entries then. */
	uint64_t stamp;
	int64_t time;
	uint64_t count;
} overtaken;

static int64_t time_of(uint64_t stamp)
{
	struct ptrc_clock_cursor cursor = {0};

	return ptrc_clock_realtime(overtaken.h, &cursor, stamp);
}

static void *overtake(void *arg)
{
	struct ptrc_stream_header *h = overtaken.h;

	(void)arg;
	for (;;) {
		CHECK_SYS(sem_wait(&overtaken.asked));
		if (overtaken.stop)
			return NULL;
		/* As if the one who took its place had died, so that the next need not wait
		 * until it is thought to be slow. */
		uint64_t word = atomic_load(&h->clock_word);
		if ((uint32_t)word != 0)
			atomic_store(&h->clock_word, word >> 32 << 32 | DEAD_TID);
		give_memory(overtaken.fd, overtaken.memory != RESERVED);
		for (int i = 0; i < overtaken.appends; i++) {
			if (i > 0)
				make_due(h);
			ptrc_clock_update(h, ptrc_counter());
		}
		overtaken.stamp = ptrc_counter();
		if (overtaken.stamp >= atomic_load(&h->clock_due))
			overtaken.stamp = atomic_load(&h->clock_due) - 1;
		overtaken.time = time_of(overtaken.stamp);
		overtaken.count = entry_count(h);
		CHECK_SYS(sem_post(&overtaken.answered));
	}
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	greg_t *flags = &registers[REG_EFL];

	(void)sig;
	(void)info;
	*flags |= 0x100;
	/* Where the C library and the kernel read the clock nothing is changed. */
	if (overtaken.is_stepping &&
	    (uint64_t)(registers[REG_RIP] - (greg_t)&__executable_start) <
		    (uint64_t)(&etext - &__executable_start) &&
	    overtaken.steps++ == overtaken.point) {
		sem_post(&overtaken.asked);
		while (sem_wait(&overtaken.answered) < 0)
			;
		overtaken.is_stepping = false;
	}
	if (!overtaken.is_stepping)
		*flags &= ~0x100;
}

/* False if the call ended before the point. */
static bool overtake_at(uint32_t point, int appends)
{
	struct ptrc_stream_header *h = overtaken.h;

	give_memory(overtaken.fd, false);
	give_memory(overtaken.fd, overtaken.memory == ENOUGH);
	memcpy((void *)h, begin_header, sizeof(begin_header));
	memcpy((void *)ptrc_stream_clock(h), begin_entries, sizeof(begin_entries));
	uint64_t now = make_due(h);
	overtaken.steps = 0;
	overtaken.point = point;
	overtaken.appends = appends;
	overtaken.is_stepping = true;
	__asm__ volatile("int3" ::: "memory");
	ptrc_clock_update(h, now + 1);
	bool was_there = !overtaken.is_stepping;
	overtaken.is_stepping = false;
	if (!was_there)
		return false;
	CHECK_GE(entry_count(h), overtaken.count);
	CHECK_EQ(time_of(overtaken.stamp), overtaken.time);
	expect_sorted_entries(h);
	for (int i = 0; i < 2; i++)
		append_entry(h);
	CHECK_EQ((uint32_t)atomic_load(&h->clock_word), 0);
	CHECK_EQ(time_of(overtaken.stamp), overtaken.time);
	expect_sorted_entries(h);
	return true;
}

/* At every `stride'th instruction, or at a sample of these. */
static void overtake_everywhere(enum memory memory, uint32_t stride)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	uint32_t point;

	stride *= harness_sample();
	point = harness_random(stride);
	CHECK_SYS(sigaction(SIGTRAP, &action, NULL));
	overtaken.memory = memory;
	overtaken.fd = CHECK_SYS(memfd_create("clock", MFD_CLOEXEC));
	overtaken.h = make_clock(overtaken.fd);
	memcpy(begin_header, (void *)overtaken.h, sizeof(begin_header));
	memcpy(begin_entries, (void *)ptrc_stream_clock(overtaken.h), sizeof(begin_entries));
	CHECK_SYS(sem_init(&overtaken.asked, 0, 0));
	CHECK_SYS(sem_init(&overtaken.answered, 0, 0));
	pthread_t thread = ts_thread(overtake, NULL);
	while (overtake_at(point, point / stride % 2 ? 1 : 3))
		point += stride;
	CHECK_GT(point, 100);
	NOTE("%u instructions", point);
	overtaken.stop = true;
	CHECK_SYS(sem_post(&overtaken.asked));
	ts_join(thread);
}

TEST(an_appender_may_be_overtaken_anywhere, "EVENT-11 EVENT-23 GETNEXT-03")
{
	overtake_everywhere(ENOUGH, 2);
}

TEST(an_appender_without_memory_may_be_overtaken_anywhere, "EVENT-11 EVENT-23 GETNEXT-03")
{
	overtake_everywhere(RESERVED, 5);
}

TEST(memory_may_come_anywhere_in_an_appender, "EVENT-11 EVENT-23 GETNEXT-03")
{
	overtake_everywhere(GROWING, 2);
}

#endif

/*
 * Chunks
 */

static unsigned char data_of_chunks[DATA_BYTES];

static void emit_large(trace_event_id_t id, uint32_t number)
{
	memcpy(data_of_chunks, &number, sizeof(number));
	posix_trace_event(id, data_of_chunks, sizeof(data_of_chunks));
}

/* Threads own chunks, as they say by `ready`, until `may_end`. */
static struct {
	trace_event_id_t id;
	sem_t ready, may_end;
} owners;

static void begin_owners(trace_event_id_t id)
{
	owners.id = id;
	CHECK_SYS(sem_init(&owners.ready, 0, 0));
	CHECK_SYS(sem_init(&owners.may_end, 0, 0));
}

/* Owns a chunk, if there is one for it, and does nothing with it. */
static void *own_chunk(void *arg)
{
	emit_large(owners.id, 0);
	CHECK_SYS(sem_post(&owners.ready));
	CHECK_SYS(sem_wait(&owners.may_end));
	return arg;
}

/* Every base chunk is owned, this thread's too; others came too late. */
HELPER(chunks_in_small_shm)
{
	const uint32_t late = 3, count = 2000;
	uint32_t newest = 0;
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, 64 * KIB, 0);
	trace_event_id_t id = ts_id("loop");
	struct ts_events events;

	emit_large(id, 0);
	struct ptrc_stream_header *h = find_stream();
	fill_shm();
	begin_owners(id);
	/* One has our event. */
	uint32_t threads = h->base_chunk_count - 1 + late;
	for (uint32_t i = 0; i < threads; i++) {
		ts_thread(own_chunk, NULL);
		CHECK_SYS(sem_wait(&owners.ready));
	}
	CHECK_EQ(atomic_load(&h->chunks_used), h->base_chunk_count);
	CHECK_EQ(counts_of(trid).pt_lost_events, late);
	/* What this thread records now takes the place of its own oldest events. */
	for (uint32_t number = 1; number <= count; number++)
		emit_large(id, number);
	events = ts_read_all(trid);
	for (size_t i = 0; i < events.count; i++)
		if (events.at[i].info.posix_event_id == id)
			newest = ts_number(&events.at[i]);
	CHECK_EQ(newest, count);
	return 0;
}

TEST(newest_events_are_kept_when_there_is_no_memory_for_chunks, "POLICY-13 POLICY-14", NEEDS_EXEC)
{
	run_in_small_shm("4m", "chunks_in_small_shm", NULL);
}

/* Chunks that have ever been used; the last of those whose owners are gone. */
static uint32_t used_chunks(struct ptrc_stream_header *h, uint32_t *partial, uint32_t *partials)
{
	uint32_t used = 0;

	*partials = 0;
	for (uint32_t i = 0; i < h->base_chunk_count; i++) {
		uint64_t word = atomic_load(&ptrc_stream_ctl(h)[i].word);

		used += PTRC_CHUNK_GEN(word) != 0;
		if (PTRC_CHUNK_STATE(word) == PTRC_CHUNK_PARTIAL) {
			*partial = i;
			++*partials;
		}
	}
	return used;
}

TEST(a_chunk_that_cannot_be_adopted_hides_no_other, "EVENT-16 POLICY-15")
{
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, 256 * KIB, 0);
	struct ptrc_stream_header *h = find_stream();
	uint32_t used, partial = 0, partials;
	_Atomic uint64_t *spent;
	pthread_t threads[3];

	begin_owners(ts_id("adopter"));
	for (uint32_t i = 0; i < 3; i++)
		threads[i] = ts_thread(own_chunk, NULL);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_SYS(sem_wait(&owners.ready));
	for (uint32_t i = 0; i < 3; i++)
		CHECK_SYS(sem_post(&owners.may_end));
	for (uint32_t i = 0; i < 3; i++)
		ts_join(threads[i]);
	used = used_chunks(h, &partial, &partials);
	CHECK_GE(partials, 3);
	/* It has been taken as often as can be told. */
	spent = &ptrc_stream_ctl(h)[partial].word;
	uint64_t word = atomic_fetch_or(spent, PTRC_CHUNK_CLAIM_MASK) | PTRC_CHUNK_CLAIM_MASK;
	emit_large(owners.id, 1);
	CHECK_EQ(atomic_load(spent), word);
	CHECK_EQ(used_chunks(h, &partial, &partials), used);
	CHECK_GE(partials, 2);
	ts_shutdown(trid);
}
