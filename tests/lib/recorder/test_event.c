/* SPDX-License-Identifier: MIT */
/* posix_trace_event: what is recorded and where, and what may happen to a call of it. */
#include "tests/support/support.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <posixtrace.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "lib/recorder/frame.h"
#include "tests/support/payload.h"
#include "tests/support/slow_page.h"

/* More than enough for everything a case records, so that each loss is an error. */
#define ROOMY ((size_t)8 << 20)

/* A running stream that loses nothing silently; its START has been read. */
static trace_id_t stream_on(pid_t pid, size_t data_bytes)
{
	return ts_past_start(ts_run_of(pid, POSIX_TRACE_UNTIL_FULL, ROOMY, data_bytes));
}

/* The same, with children traced too. */
static trace_id_t inherited_stream_on(pid_t pid)
{
	return ts_past_start(ts_run_inherited(pid, POSIX_TRACE_UNTIL_FULL, ROOMY, 0));
}

static void on_signal(int sig, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigemptyset(&action.sa_mask);
	CHECK_SYS(sigaction(sig, &action, NULL));
}

/*
 * Which streams get it
 */

TS_ROUTINE(do_create_running)
{
	return (intptr_t)stream_on(*(const pid_t *)arg, 0);
}

struct stream_event {
	trace_id_t trid;
	trace_event_id_t id;
};

TS_ROUTINE(do_count)
{
	const struct stream_event *which = arg;

	struct ts_events all = ts_read_all(which->trid);
	return (intptr_t)ts_count(&all, which->id);
}

TEST(first_event_needs_no_descriptor_any_more, "EVENT-01")
{
	const struct rlimit none = {0, 0};
	trace_id_t trid = ts_create_running(0, NULL);
	trace_event_id_t id = ts_id("event");

	CHECK_SYS(setrlimit(RLIMIT_NOFILE, &none));
	ts_emit(id, 1);
	ts_expect(trid, POSIX_TRACE_START);
	ts_expect(trid, id);
}

TEST(every_running_stream_that_traces_the_caller_gets_the_event,
     "EVENT-01 EVENT-02 CREATE-02 CREATE-08")
{
	trace_event_id_t id = ts_id("wanted");
	trace_event_id_t other_id = ts_id("other");
	trace_event_set_t set = ts_set(id, 0);
	struct ts_target other = ts_target_fork();
	trace_id_t first = stream_on(0, 0);
	trace_id_t second = stream_on(getpid(), 0);
	trace_id_t filtered = stream_on(0, 0);
	trace_id_t suspended = ts_create(0, NULL);
	trace_id_t elsewhere = stream_on(other.pid, 0);
	pid_t self = getpid();
	struct stream_event foreign = {.id = id};

	ts_set_filter(filtered, &set, POSIX_TRACE_SET_EVENTSET);
	foreign.trid = (trace_id_t)ts_target_call(&other, do_create_running, &self, sizeof(self));

	ts_emit(id, 1);
	ts_emit(other_id, 2);
	ts_emit(id, 3);

	for (int i = 0; i < 2; i++) {
		trace_id_t trid = i ? second : first;
		ts_expect_number(trid, id, 1);
		ts_expect_number(trid, other_id, 2);
		ts_expect_number(trid, id, 3);
		ts_expect_none(trid);
	}
	ts_expect(filtered, POSIX_TRACE_FILTER);
	ts_expect_number(filtered, other_id, 2);
	ts_expect_none(filtered);
	ts_expect_none(suspended);
	ts_expect_none(elsewhere);
	CHECK_EQ(ts_target_call(&other, do_count, &foreign, sizeof(foreign)), 2);
	ts_target_end(&other);
}

TEST(an_event_nobody_wants_has_no_effect, "EVENT-02")
{
	trace_event_id_t id = ts_id("unwanted");
	trace_event_set_t set = ts_set(id, 0);

	ts_emit(id, 1);
	posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, "x", 1);

	trace_id_t trid = ts_create(0, NULL);
	ts_emit(id, 2);
	ts_expect_none(trid);
	ts_expect_suspended(trid);

	ts_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
	ts_start(trid);
	ts_expect(trid, POSIX_TRACE_START);
	ts_emit(id, 3);
	ts_expect_none(trid);
	ts_stop(trid);
	ts_expect(trid, POSIX_TRACE_STOP);
	ts_set_filter(trid, &set, POSIX_TRACE_SUB_EVENTSET);
	ts_emit(id, 4);
	ts_expect_none(trid);
	ts_expect_suspended(trid);
	ts_shutdown(trid);
	ts_emit(id, 5);
}

/*
 * Data
 */

TEST(data_of_every_alignment_and_length_is_recorded_as_it_was, "EVENT-03 EVENT-04")
{
	enum { alignments = 17, lengths = 140 };
	trace_event_id_t id = ts_id("bytes");
	trace_id_t trid = stream_on(0, 0);
	unsigned char buffer[alignments + lengths];

	for (size_t offset = 0; offset < alignments; offset++)
		for (size_t len = 0; len < lengths; len++) {
			for (size_t i = 0; i < sizeof(buffer); i++)
				buffer[i] = (unsigned char)(i * 7 + offset * 31 + len);
			posix_trace_event(id, buffer + offset, len);
			memset(buffer, 0xee, sizeof(buffer));
		}
	for (size_t offset = 0; offset < alignments; offset++)
		for (size_t len = 0; len < lengths; len++) {
			struct ts_event event = ts_expect(trid, id);
			CHECK_EQ(event.len, len);
			CHECK_EQ(event.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
			for (size_t i = 0; i < len; i++)
				CHECK_EQ(event.data[i],
					 (unsigned char)((i + offset) * 7 + offset * 31 + len));
			ts_event_free(&event);
		}
	ts_expect_none(trid);
}

TEST(no_byte_beside_the_data_is_touched, "EVENT-03 EVENT-05")
{
	enum { page = 4096, max = 100 };
	trace_event_id_t id = ts_id("bytes");
	trace_id_t trid = stream_on(0, max);
	unsigned char *area = (unsigned char *)mmap(NULL, 3 * page, PROT_READ | PROT_WRITE,
						    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(area != MAP_FAILED);
	for (size_t i = 0; i < page; i++)
		area[page + i] = (unsigned char)i;
	CHECK_SYS(mprotect(area, page, PROT_NONE));
	CHECK_SYS(mprotect(area + 2 * page, page, PROT_NONE));
	for (size_t len = 0; len <= max; len++) {
		posix_trace_event(id, area + page, len);
		posix_trace_event(id, area + 2 * page - len, len);
	}
	/* Cut data beyond max-data-size are nobody's business. */
	posix_trace_event(id, area + 2 * page - max, 2 * page);
	posix_trace_event(id, area + 2 * page - max, SIZE_MAX);
	for (size_t len = 0; len <= max; len++) {
		struct ts_event low = ts_expect(trid, id);
		struct ts_event high = ts_expect(trid, id);
		CHECK_EQ(low.len, len);
		CHECK_MEM_EQ(low.data, area + page, len);
		CHECK_EQ(high.len, len);
		CHECK_MEM_EQ(high.data, area + 2 * page - len, len);
		ts_event_free(&low);
		ts_event_free(&high);
	}
	for (int i = 0; i < 2; i++) {
		struct ts_event cut = ts_expect(trid, id);
		CHECK_EQ(cut.len, max);
		CHECK_EQ(cut.info.posix_truncation_status, POSIX_TRACE_TRUNCATED_RECORD);
		CHECK_MEM_EQ(cut.data, area + 2 * page - max, max);
		ts_event_free(&cut);
	}
	ts_expect_none(trid);
}

TEST(data_are_cut_to_max_data_size_of_each_stream, "EVENT-04 EVENT-05")
{
	static unsigned char data[12000];
	static const size_t lens[] = {0,   1,	 6,    7,    8,	   9,	  99,	 100,
				      101, 4095, 4096, 4097, 9999, 10000, 10001, 12000};
	static const size_t maxima[] = {0, 7, 8, 100, 4096, 10000};
	enum { streams = sizeof(maxima) / sizeof(maxima[0]) };
	trace_event_id_t id = ts_id("cut");
	trace_id_t trids[streams];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 13 + i / 256);
	for (size_t s = 0; s < streams; s++) {
		trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, ROOMY, 0);
		CHECK_OK(posix_trace_attr_setmaxdatasize(&attr, maxima[s]));
		trids[s] = ts_create_running(0, &attr);
		ts_expect(trids[s], POSIX_TRACE_START);
	}
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		posix_trace_event(id, data, lens[i]);
	for (size_t s = 0; s < streams; s++) {
		for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			struct ts_event event = ts_expect(trids[s], id);
			if (lens[i] <= maxima[s]) {
				CHECK_EQ(event.len, lens[i]);
				CHECK_EQ(event.info.posix_truncation_status,
					 POSIX_TRACE_NOT_TRUNCATED);
			} else {
				CHECK_EQ(event.len, maxima[s]);
				CHECK_EQ(event.info.posix_truncation_status,
					 POSIX_TRACE_TRUNCATED_RECORD);
			}
			CHECK_MEM_EQ(event.data, data, event.len);
			ts_event_free(&event);
		}
		ts_expect_none(trids[s]);
	}
}

TEST(an_event_without_data_may_come_with_any_pointer, "EVENT-06 EVENT-07")
{
	trace_event_id_t id = ts_id("empty");
	trace_id_t trid = stream_on(0, 64);

	posix_trace_event(id, NULL, 0);
	posix_trace_event(id, (void *)(uintptr_t)1, 0);
	posix_trace_event(id, (void *)UINTPTR_MAX, 0);
	posix_trace_event(id, "x", 0);
	posix_trace_event(id, NULL, 1);
	posix_trace_event(id, NULL, 64);
	for (int i = 0; i < 6; i++) {
		struct ts_event event = ts_expect(trid, id);
		CHECK_EQ(event.len, 0);
		CHECK_EQ(event.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
	}
	posix_trace_event(id, NULL, 65);
	posix_trace_event(id, NULL, SIZE_MAX);
	CHECK_EQ(ts_expect(trid, id).len, 0);
	CHECK_EQ(ts_expect(trid, id).len, 0);
	ts_expect_none(trid);
}

/*
 * Who, where, when
 */

TEST(events_carry_the_pid_of_the_caller, "EVENT-08 CREATE-01 GEN-12")
{
	trace_event_id_t id = ts_id("pid");
	struct ts_target target = ts_target_fork();
	trace_id_t own = stream_on(0, 0);
	trace_id_t trid = inherited_stream_on(target.pid);

	struct ts_target child = ts_target_fork_child(&target);
	ts_emit(id, 1);
	ts_target_emit(&target, id, 2);
	ts_target_emit(&child, id, 3);
	ts_target_emit(&target, id, 4);
	CHECK_EQ(ts_expect(own, id).info.posix_pid, getpid());
	ts_expect_none(own);
	for (uint32_t number = 2; number <= 4; number++) {
		struct ts_event event = ts_expect(trid, id);
		CHECK_EQ(ts_number(&event), number);
		CHECK_EQ(event.info.posix_pid, number == 3 ? child.pid : target.pid);
	}
	ts_expect_none(trid);
	ts_target_end(&child);
	ts_target_end(&target);
}

struct waiting_thread {
	pthread_barrier_t *barrier;
	trace_event_id_t id;
	uint32_t number;
};

static void *emit_and_wait(void *arg)
{
	struct waiting_thread *self = (struct waiting_thread *)arg;

	ts_emit(self->id, self->number);
	pthread_barrier_wait(self->barrier);
	pthread_barrier_wait(self->barrier);
	ts_emit(self->id, self->number);
	return NULL;
}

TEST(events_carry_the_thread_of_the_caller, "EVENT-09")
{
	enum { threads = 6 };
	trace_event_id_t id = ts_id("thread");
	trace_id_t trid = stream_on(0, 0);
	struct waiting_thread args[threads];
	pthread_t ids[threads + 1];
	pthread_barrier_t barrier;

	CHECK_OK(pthread_barrier_init(&barrier, NULL, threads + 1));
	ids[threads] = pthread_self();
	for (uint32_t i = 0; i < threads; i++) {
		args[i] = (struct waiting_thread){&barrier, id, i};
		ids[i] = ts_thread(emit_and_wait, &args[i]);
	}
	ts_emit(id, threads);
	pthread_barrier_wait(&barrier);
	struct ts_events all = ts_read_all(trid);
	CHECK_EQ(all.count, threads + 1);
	/* All threads live, so an identifier is that of one thread only. */
	for (size_t i = 0; i < all.count; i++)
		for (uint32_t t = 0; t <= threads; t++)
			CHECK_EQ(!!pthread_equal(all.at[i].info.posix_thread_id, ids[t]),
				 ts_number(&all.at[i]) == t);
	pthread_barrier_wait(&barrier);
	for (uint32_t i = 0; i < threads; i++)
		ts_join(ids[i]);
	all = ts_read_all(trid);
	CHECK_EQ(all.count, threads);
	for (size_t i = 0; i < all.count; i++)
		CHECK(pthread_equal(all.at[i].info.posix_thread_id, ids[ts_number(&all.at[i])]));
}

typedef void event_function(trace_event_id_t, const void *restrict, size_t);

#if defined(__x86_64__)
/* Calls fn(id, data, len); what follows the call has a name. */
__asm__(".pushsection .text\n"
	".type exact_call, @function\n"
	"exact_call:\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	mov %rdx, %rsi\n"
	"	mov %rcx, %rdx\n"
	"	sub $8, %rsp\n"
	"	call *%rax\n"
	"exact_return:\n"
	"	add $8, %rsp\n"
	"	ret\n"
	".size exact_call, . - exact_call\n"
	".popsection\n");
#elif defined(__aarch64__)
__asm__(".pushsection .text\n"
	".type exact_call, %function\n"
	"exact_call:\n"
	"	stp x29, x30, [sp, -16]!\n"
	"	mov x29, sp\n"
	"	mov x9, x0\n"
	"	mov x0, x1\n"
	"	mov x1, x2\n"
	"	mov x2, x3\n"
	"	blr x9\n"
	"exact_return:\n"
	"	ldp x29, x30, [sp], 16\n"
	"	ret\n"
	".size exact_call, . - exact_call\n"
	".popsection\n");
#endif

extern void exact_call(event_function *, trace_event_id_t, const void *, size_t)
	__attribute__((visibility("hidden")));
extern const char exact_return[] __attribute__((visibility("hidden")));

TEST(the_program_address_is_the_return_address_of_the_call, "EVENT-10")
{
	static unsigned char data[4096];
	trace_event_id_t id = ts_id("address");
	trace_id_t trid = stream_on(0, 0);

	for (size_t len = 0; len <= sizeof(data); len = len * 2 + 1)
		exact_call(posix_trace_event, id, data, len);
	exact_call(posix_trace_event, POSIX_TRACE_UNNAMED_USEREVENT, data, 1);
	for (size_t len = 0; len <= sizeof(data); len = len * 2 + 1)
		CHECK_EQ((uintptr_t)ts_expect(trid, id).info.posix_prog_address,
			 (uintptr_t)exact_return);
	CHECK_EQ((uintptr_t)ts_expect(trid, POSIX_TRACE_UNNAMED_USEREVENT).info.posix_prog_address,
		 (uintptr_t)exact_return);
}

TEST(errno_survives, "EVENT-15")
{
	trace_event_id_t id = ts_id("errno");
	static unsigned char data[5000];

	errno = 4711;
	posix_trace_event(id, data, 8);
	CHECK_EQ(errno, 4711);
	posix_trace_event(0, data, 8);
	posix_trace_event(UINT_MAX, data, 8);
	CHECK_EQ(errno, 4711);

	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, 16384, 0);
	trace_id_t trid = ts_create_running(0, &attr);
	errno = 4712;
	/* The first of all, ordinary ones, cut ones, the one that fills the stream, lost
	 * ones. */
	for (int i = 0; i < 200; i++) {
		posix_trace_event(id, data, 1200);
		CHECK_EQ(errno, 4712);
	}
	posix_trace_event(id, data, sizeof(data));
	CHECK_EQ(errno, 4712);
	ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL, POSIX_TRACE_OVERRUN);
	ts_shutdown(trid);
	errno = 4713;
	posix_trace_event(id, data, 8);
	CHECK_EQ(errno, 4713);

	attr = ts_attr(POSIX_TRACE_LOOP, 16384, 0);
	trid = ts_create_running(0, &attr);
	errno = 0;
	for (int i = 0; i < 200; i++) {
		posix_trace_event(id, data, 1200);
		CHECK_EQ(errno, 0);
	}
	ts_expect_status(trid, POSIX_TRACE_RUNNING, POSIX_TRACE_FULL, POSIX_TRACE_OVERRUN);
}

/*
 * Which events
 */

TEST(unmapped_ids_are_ignored, "EVENT-19")
{
	trace_event_id_t id = ts_id("mapped");
	struct ts_target stranger = ts_target_fork();
	trace_event_id_t strangers = ts_target_id(&stranger, "one");
	trace_id_t trid = stream_on(0, 0);
	trace_id_t loop = ts_create_running(0, NULL);

	/* The child's table is its own: what it opened means nothing here. */
	strangers = ts_target_id(&stranger, "two");
	CHECK_NE(strangers, id);
	ts_expect(loop, POSIX_TRACE_START);
	ts_emit(0, 1);
	ts_emit(strangers, 2);
	ts_emit(8191, 3);
	ts_emit(8192, 4);
	ts_emit(8193, 4);
	ts_emit(8192 + id, 5);
	ts_emit(16384 + id, 5);
	ts_emit(32768 + id, 5);
	ts_emit(65536 + id, 5);
	ts_emit(UINT_MAX, 6);
	ts_emit(INT_MAX, 6);
	ts_emit(id, 7);
	ts_expect_number(trid, id, 7);
	ts_expect_none(trid);
	ts_expect_number(loop, id, 7);
	ts_expect_none(loop);
	ts_expect_running(trid);
	ts_target_end(&stranger);
}

TEST(no_system_event_can_be_forged_and_the_unnamed_one_needs_no_opening, "EVENT-20 EVENT-21")
{
	trace_event_set_t set = ts_set(POSIX_TRACE_START, 0);
	int data[2 * sizeof(set)] = {0};
	trace_id_t trid = stream_on(0, 0);

	for (trace_event_id_t forged = POSIX_TRACE_START; forged <= POSIX_TRACE_ERROR; forged++) {
		posix_trace_event(forged, data, sizeof(int));
		posix_trace_event(forged, &set, sizeof(set));
		posix_trace_event(forged, NULL, 0);
	}
	ts_emit(POSIX_TRACE_UNNAMED_USEREVENT, 7);
	ts_expect_number(trid, POSIX_TRACE_UNNAMED_USEREVENT, 7);
	ts_expect_none(trid);
	ts_expect_running(trid);
}

TEST(ids_opened_late_work, "EVENT-22")
{
	struct ts_target target = ts_target_fork();
	trace_id_t trid = ts_create(target.pid, NULL);
	trace_event_id_t created = ts_target_id(&target, "after create");
	trace_event_id_t started, running, remote;

	ts_start(trid);
	ts_expect(trid, POSIX_TRACE_START);
	started = ts_target_id(&target, "after start");
	ts_target_emit(&target, created, 1);
	ts_target_emit(&target, started, 2);
	running = ts_target_id(&target, "while running");
	ts_target_emit(&target, running, 3);
	remote = ts_trid_id(trid, "through the stream");
	ts_target_emit(&target, remote, 4);
	ts_expect_number(trid, created, 1);
	ts_expect_number(trid, started, 2);
	ts_expect_number(trid, running, 3);
	ts_expect_number(trid, remote, 4);
	ts_expect_none(trid);
	ts_target_end(&target);
}

/*
 * Many at once
 */

struct load {
	trace_event_id_t id;
	uint32_t writer;
	uint32_t count;
	uint32_t max_len;
};

static void *write_load(void *arg)
{
	struct load *load = (struct load *)arg;
	unsigned char data[512];

	for (uint32_t seq = 1; seq <= load->count; seq++) {
		uint32_t len = payload_len(load->max_len, load->writer, seq);
		payload_fill(data, len, load->writer, seq);
		posix_trace_event(load->id, data, len);
	}
	return NULL;
}

#define LOAD_THREADS 4U

TS_ROUTINE(do_load_threads)
{
	struct load loads[LOAD_THREADS];
	pthread_t threads[LOAD_THREADS];

	for (uint32_t t = 0; t < LOAD_THREADS; t++) {
		loads[t] = *(const struct load *)arg;
		loads[t].writer += t;
		threads[t] = ts_thread(write_load, &loads[t]);
	}
	for (uint32_t t = 0; t < LOAD_THREADS; t++)
		ts_join(threads[t]);
	return 0;
}

/* Every writer below `writers' wrote 1 to count, each whole, each once, in order. */
static void expect_loads(const struct ts_events *all, trace_event_id_t id, uint32_t writers,
			 uint32_t count)
{
	uint32_t last[64] = {0};

	for (size_t i = 0; i < all->count; i++) {
		uint32_t writer, seq;
		if (all->at[i].info.posix_event_id != id)
			continue;
		CHECK(payload_read(all->at[i].data, all->at[i].len, &writer, &seq));
		CHECK_LT(writer, writers);
		CHECK_EQ(seq, last[writer] + 1);
		last[writer] = seq;
	}
	for (uint32_t writer = 0; writer < writers; writer++)
		CHECK_EQ(last[writer], count);
	ts_expect_sorted(all);
}

TEST(threads_of_many_processes_lose_and_mix_up_nothing, "EVENT-16 EVENT-17 GETNEXT-03")
{
	enum { processes = 3, count = 1500 };
	trace_event_id_t id = ts_id("load");
	struct ts_target targets[processes];

	targets[0] = ts_target_fork();
	trace_id_t trid = inherited_stream_on(targets[0].pid);
	for (int p = 1; p < processes; p++)
		targets[p] = ts_target_fork_child(&targets[p - 1]);
	for (uint32_t p = 0; p < processes; p++) {
		struct load load = {id, p * LOAD_THREADS, count, 200};
		ts_target_call_begin(&targets[p], do_load_threads, &load, sizeof(load));
	}
	for (int p = 0; p < processes; p++)
		CHECK_EQ(ts_target_result(&targets[p]), 0);
	struct ts_events all = ts_read_all(trid);
	expect_loads(&all, id, processes * LOAD_THREADS, count);
	CHECK_EQ(all.count, (size_t)processes * LOAD_THREADS * count);
	ts_expect_running(trid);
	for (int p = processes - 1; p >= 0; p--)
		ts_target_end(&targets[p]);
}

TEST(short_lived_threads_lose_nothing, "EVENT-16 EVENT-17")
{
	enum { rounds = 100, threads = 4 };
	trace_event_id_t id = ts_id("load");
	trace_id_t trid = stream_on(0, 0);
	struct ts_events all;

	for (uint32_t round = 0; round < rounds; round++) {
		struct load loads[threads];
		pthread_t running[threads];
		for (uint32_t t = 0; t < threads; t++) {
			loads[t] = (struct load){id, t, 1 + round % 5, 100};
			running[t] = ts_thread(write_load, &loads[t]);
		}
		for (uint32_t t = 0; t < threads; t++)
			ts_join(running[t]);
		all = ts_read_all(trid);
		expect_loads(&all, id, threads, 1 + round % 5);
		ts_events_free(&all);
	}
}

/*
 * Signal handlers
 */

static trace_event_id_t handler_id;
static volatile uint32_t handler_count;

static void emit_in_handler(int sig)
{
	(void)sig;
	handler_count++;
	ts_emit(handler_id, handler_count);
}

static struct slow_page slow;
static uint32_t slow_contents = 1234567;
static pthread_t slow_thread;

/* Does the thread that hangs at the page hold back this signal, which it was sent? */
static bool is_held_back(int sig)
{
	uint64_t pending = 0, blocked = 0;
	char path[64], line[128];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)slow.tid);
	file = fopen(path, "re");
	CHECK(file != NULL);
	while (fgets(line, sizeof(line), file)) {
		(void)sscanf(line, "SigPnd: %" SCNx64, &pending);
		(void)sscanf(line, "SigBlk: %" SCNx64, &blocked);
	}
	fclose(file);
	return (pending & blocked) >> (sig - 1) & 1;
}

/* Catches the thread in the middle of its event, sends it the signal, and lets it go on
 * once *done, or if that does not come because signals are held back there. */
static void interrupt_at_slow_page(int sig, volatile uint32_t *done, uint32_t wanted)
{
	slow_page_wait(&slow);
	CHECK_OK(pthread_kill(slow_thread, sig));
	while (*done < wanted && !is_held_back(sig))
		sched_yield();
	slow_page_fill(&slow, &slow_contents, sizeof(slow_contents));
}

/* Runs the thread, whose events hang at the slow page in so many rounds. Each is interrupted by the
 * signal until the handlers have counted `step` more. */
static void interrupt_thread(void *(*run)(void *), void *work, uint32_t rounds, int sig,
			     volatile uint32_t *count, uint32_t step)
{
	slow_thread = ts_thread(run, work);
	for (uint32_t i = 1; i <= rounds; i++)
		interrupt_at_slow_page(sig, count, i * step);
	ts_join(slow_thread);
}

static void prepare_handler(void (*handler)(int), int flags)
{
	handler_id = ts_id("handler");
	slow = slow_page_make();
	on_signal(SIGUSR1, handler, flags);
}

struct slow_work {
	trace_event_id_t id;
	uint32_t rounds;
};

static void *be_interrupted(void *arg)
{
	struct slow_work *work = (struct slow_work *)arg;

	for (uint32_t i = 0; i < work->rounds; i++) {
		ts_emit(work->id, 2 * i);
		posix_trace_event(work->id, slow.data, sizeof(slow_contents));
		ts_emit(work->id, 2 * i + 1);
		slow_page_rearm(&slow);
	}
	return NULL;
}

static void expect_interrupted(trace_id_t trid, trace_event_id_t id, uint32_t rounds)
{
	struct ts_events all = ts_read_all(trid);

	for (uint32_t i = 0, at = 0; i < rounds; i++) {
		bool has_handler = false, has_slow = false;
		CHECK_GE(all.count, at + 4);
		CHECK_EQ(all.at[at].info.posix_event_id, id);
		CHECK_EQ(ts_number(&all.at[at]), 2 * i);
		/* Of the two that overlap either may have begun first. */
		for (uint32_t k = at + 1; k <= at + 2; k++) {
			if (all.at[k].info.posix_event_id == handler_id) {
				has_handler = true;
				CHECK_EQ(ts_number(&all.at[k]), i + 1);
			} else {
				has_slow = true;
				CHECK_EQ(all.at[k].info.posix_event_id, id);
				CHECK_EQ(ts_number(&all.at[k]), slow_contents);
			}
		}
		CHECK(has_handler && has_slow);
		CHECK_EQ(all.at[at + 3].info.posix_event_id, id);
		CHECK_EQ(ts_number(&all.at[at + 3]), 2 * i + 1);
		at += 4;
	}
	CHECK_EQ(all.count, 4 * rounds);
	ts_expect_sorted(&all);
}

static void interrupt_and_expect(void *(*run)(void *), int flags)
{
	struct slow_work work = {ts_id("main"), 40};
	trace_id_t trid = stream_on(0, 0);

	prepare_handler(emit_in_handler, flags);
	interrupt_thread(run, &work, work.rounds, SIGUSR1, &handler_count, 1);
	CHECK_EQ(handler_count, work.rounds);
	expect_interrupted(trid, work.id, work.rounds);
}

TEST(a_handler_in_the_middle_of_an_event_hurts_neither, "EVENT-12 EVENT-13")
{
	interrupt_and_expect(be_interrupted, SA_RESTART);
}

/* Its signals are handled on a stack with as many bytes as the kernel needs to deliver them at all,
 * and a little. */
static void *be_interrupted_on_small_stack(void *work)
{
	enum { page = 4096 };
	const size_t needed = getauxval(AT_MINSIGSTKSZ);
	const size_t bytes = ((needed > 2048 ? needed : 2048) + 2048 + page - 1) / page * page;
	stack_t stack = {.ss_size = bytes};
	unsigned char *area = (unsigned char *)mmap(NULL, bytes + page, PROT_READ | PROT_WRITE,
						    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(area != MAP_FAILED);
	CHECK_SYS(mprotect(area, page, PROT_NONE));
	stack.ss_sp = area + page;
	CHECK_SYS(sigaltstack(&stack, NULL));
	return be_interrupted(work);
}

TEST(a_handler_on_a_small_alternate_stack_may_record, "EVENT-12 EVENT-13 EVENT-26")
{
#ifdef HARNESS_IS_SANITIZED
	SKIP("the sanitizer wants more stack");
#endif
	interrupt_and_expect(be_interrupted_on_small_stack, SA_RESTART | SA_ONSTACK);
}

/* Each level is interrupted by the next one, in its own event. */
static void emit_and_go_deeper(int sig)
{
	uint32_t level = (uint32_t)(sig - SIGRTMIN) + 1;

	ts_emit(handler_id, level);
	if (sig < SIGRTMIN + 9)
		raise(sig + 1);
	ts_emit(handler_id, 100 + level);
	handler_count++;
}

TEST(handlers_may_nest_in_events_many_deep, "EVENT-12 EVENT-13")
{
	struct slow_work work = {ts_id("main"), 5};
	trace_id_t trid = stream_on(0, 0);
	uint32_t low[11] = {0}, high[11] = {0};

	handler_id = ts_id("handler");
	slow = slow_page_make();
	for (int i = 0; i < 10; i++)
		on_signal(SIGRTMIN + i, emit_and_go_deeper, SA_NODEFER | SA_RESTART);
	interrupt_thread(be_interrupted, &work, work.rounds, SIGRTMIN, &handler_count, 10);
	struct ts_events all = ts_read_all(trid);
	CHECK_EQ(all.count, work.rounds * (3 + 20));
	ts_expect_sorted(&all);
	for (size_t i = 0; i < all.count; i++) {
		uint32_t number = ts_number(&all.at[i]);
		if (all.at[i].info.posix_event_id != handler_id)
			continue;
		if (number > 100)
			high[number - 100]++;
		else
			low[number]++;
	}
	for (int level = 1; level <= 10; level++) {
		CHECK_EQ(low[level], work.rounds);
		CHECK_EQ(high[level], work.rounds);
	}
}

/*
 * Leaving by siglongjmp
 */

static sigjmp_buf jump_target;
static volatile uint32_t jump_count;

static void jump_out(int sig)
{
	(void)sig;
	jump_count++;
	siglongjmp(jump_target, 1);
}

static void emit_and_jump_out(int sig)
{
	(void)sig;
	jump_count++;
	ts_emit(handler_id, jump_count);
	siglongjmp(jump_target, 1);
}

/* From deeper in the stack than the frame that was left, or from just there. */
__attribute__((noinline)) static void emit_deep(trace_event_id_t id, uint32_t number, int depth)
{
	volatile unsigned char pad[512];

	pad[0] = (unsigned char)depth;
	if (depth > 1)
		emit_deep(id, number, depth - 1);
	else
		ts_emit(id, number);
	__asm__ volatile("" ::"r"(pad));
}

#define EMIT_AT(id, number, depth)                                                  \
	do {                                                                        \
		uint32_t emit_number = (number);                                    \
		if ((depth) > 0)                                                    \
			emit_deep((id), emit_number, (depth));                      \
		else                                                                \
			posix_trace_event((id), &emit_number, sizeof(emit_number)); \
	} while (0)

struct jump_work {
	trace_event_id_t id;
	uint32_t rounds;
	int depth;
	bool has_altstack;
};

static void *be_left(void *arg)
{
	struct jump_work *work = (struct jump_work *)arg;
	stack_t stack = {0};

	if (work->has_altstack) {
		stack.ss_size = (size_t)SIGSTKSZ * 4;
		stack.ss_sp = malloc(stack.ss_size);
		CHECK_SYS(sigaltstack(&stack, NULL));
	}
	for (volatile uint32_t i = 0; i < work->rounds; i++) {
		EMIT_AT(work->id, 2 * i, work->depth);
		if (sigsetjmp(jump_target, 1) == 0)
			posix_trace_event(work->id, slow.data, sizeof(slow_contents));
		EMIT_AT(work->id, 2 * i + 1, work->depth);
		slow_page_rearm(&slow);
	}
	return NULL;
}

/* The numbers of ts_emit() all there and in order, the interrupted ones whole or not at
 * all and where they belong, the handler's all there. */
static void expect_left(const struct ts_events *all, const struct jump_work *work,
			bool has_handler_events)
{
	uint32_t next = 0, handler_next = 1;
	bool has_slow = true;

	for (size_t i = 0; i < all->count; i++) {
		uint32_t number = ts_number(&all->at[i]);
		if (all->at[i].info.posix_event_id == handler_id) {
			CHECK_EQ(number, handler_next);
			CHECK_EQ(next, 2 * number - 1);
			handler_next++;
		} else if (number == slow_contents) {
			CHECK(!has_slow);
			CHECK_EQ(next % 2, 1);
			has_slow = true;
		} else {
			CHECK_EQ(number, next);
			has_slow = next % 2 == 1;
			next++;
		}
	}
	CHECK_EQ(next, 2 * work->rounds);
	if (has_handler_events)
		CHECK_EQ(handler_next, work->rounds + 1);
	ts_expect_sorted(all);
}

TEST(a_handler_may_leave_an_event_by_siglongjmp, "EVENT-28 EVENT-13")
{
	static const struct {
		const char *way;
		void (*handler)(int);
		int flags;
		struct jump_work work;
	} ways[] = {
		{"at once", jump_out, 0, {.rounds = 100}},
		{"after another event", emit_and_jump_out, 0, {.rounds = 100}},
		{"for a deeper event", emit_and_jump_out, 0, {.rounds = 100, .depth = 10}},
		{"from an alternate stack",
		 emit_and_jump_out,
		 SA_ONSTACK,
		 {.rounds = 100, .has_altstack = true}},
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct jump_work work = ways[i].work;

#ifdef HARNESS_IS_SANITIZED
		/* A sanitizer has stacks and frames of its own. */
		if (work.has_altstack)
			continue;
#endif
		NOTE("%s", ways[i].way);
		if (IN_CHILD()) {
			trace_id_t trid = stream_on(0, 0);

			work.id = ts_id("main");
			prepare_handler(ways[i].handler, ways[i].flags);
			interrupt_thread(be_left, &work, work.rounds, SIGUSR1, &jump_count, 1);
			/* The thread has gone: nothing can hold the reader back. */
			struct ts_events all = ts_read_all(trid);
			expect_left(&all, &work, ways[i].handler == emit_and_jump_out);
			ts_expect_running(trid);
			_exit(0);
		}
	}
}

#ifdef __x86_64__
#define ALT_BYTES 65536
static _Alignas(16) unsigned char alt_stack[ALT_BYTES];
static uint64_t interrupted_frame;
/* Of the event at interrupted_frame, by the handler: while its signal is blocked, and while none is. */
static volatile sig_atomic_t is_dead_if_blocked, is_dead_if_not;

static void look_at_frames(int sig)
{
	uint64_t here = ptrc_frame_here(), blocked = UINT64_C(1) << (sig - 1);

	is_dead_if_blocked = ptrc_frame_is_dead(interrupted_frame, here, blocked);
	is_dead_if_not = ptrc_frame_is_dead(interrupted_frame, here, 0);
}

__attribute__((noinline)) static void interrupt_frame(int flags)
{
	interrupted_frame = ptrc_frame_here();
	on_signal(SIGUSR1, look_at_frames, flags);
	CHECK_SYS(raise(SIGUSR1));
}

TEST(whether_an_event_was_left_shows_on_the_stack, "EVENT-13 EVENT-28")
{
#ifdef HARNESS_IS_SANITIZED
	SKIP("a sanitizer has stacks and frames of its own");
#endif
	const stack_t alt = {.ss_sp = alt_stack, .ss_size = ALT_BYTES};
	const uint64_t middle = (uint64_t)alt_stack + ALT_BYTES / 2 + 1, far = 2 << 20,
		       blocked = 512;
	const uint64_t here = ptrc_frame_here();

	/* No handler can have interrupted the older event. */
	CHECK(ptrc_frame_is_dead(here + far, here, ~UINT64_C(0)));
	interrupt_frame(0);
	CHECK(!is_dead_if_blocked && is_dead_if_not);
	interrupt_frame(SA_NODEFER);
	CHECK(!is_dead_if_blocked && !is_dead_if_not);
	interrupt_frame(0);
	/* There is no handler's frame between the two. */
	CHECK(ptrc_frame_is_dead(middle, (uint64_t)alt_stack + 1, blocked));
	/* So far away nobody looks for one. */
	CHECK(!ptrc_frame_is_dead(here + far, here, blocked));
	CHECK(ptrc_frame_is_dead(here + far, here, 0));
	CHECK(ptrc_frame_is_dead(here - far, here, blocked));
	CHECK(ptrc_frame_is_dead(here + 48, here, blocked));
	CHECK_SYS(sigaltstack(&alt, NULL));
	CHECK(ptrc_frame_is_dead(middle, middle - far, blocked));
	CHECK(!ptrc_frame_is_dead(here + far, here, blocked));
	CHECK(ptrc_frame_is_dead(here + far, here, 0));
	/* On this stack, of two events in its handlers the lower one is alive. */
	interrupt_frame(SA_ONSTACK);
	CHECK(!is_dead_if_blocked && !is_dead_if_not);
	for (int is_above = 0; is_above < 2; is_above++) {
		on_signal(SIGUSR1, look_at_frames, SA_ONSTACK);
		interrupted_frame = (uint64_t)alt_stack + (is_above ? ALT_BYTES - 7 : 1);
		CHECK_SYS(raise(SIGUSR1));
		CHECK_EQ(is_dead_if_not, !is_above);
	}
}
#endif

static _Atomic uint32_t left_step;

/* Says how far it is, and lives on. */
static void *leave_and_record_on(void *arg)
{
	struct jump_work *work = (struct jump_work *)arg;

	ts_emit(work->id, 0);
	if (sigsetjmp(jump_target, 1) == 0)
		posix_trace_event(work->id, slow.data, sizeof(slow_contents));
	EMIT_AT(work->id, 1, work->depth);
	atomic_store(&left_step, 1);
	while (atomic_load(&left_step) != 2)
		sched_yield();
	return NULL;
}

TEST(an_event_that_was_left_does_not_hold_back_the_reader, "EVENT-28")
{
	for (int depth = 0; depth <= 10; depth += 10) {
		struct jump_work work = {.id = ts_id("main"), .depth = depth};
		trace_id_t trid = stream_on(0, 0);
		struct ts_event event;

#ifdef HARNESS_IS_SANITIZED
		/* A sanitizer has stacks and frames of its own. */
		if (depth)
			continue;
#endif
		NOTE("the next event is %d frames deeper", depth);
		atomic_store(&left_step, 0);
		slow = slow_page_make();
		on_signal(SIGUSR1, jump_out, 0);
		slow_thread = ts_thread(leave_and_record_on, &work);
		interrupt_at_slow_page(SIGUSR1, &jump_count, jump_count + 1);
		while (atomic_load(&left_step) != 1)
			sched_yield();
		/* The thread that left the event lives and has recorded another: no trace of the
		 * old one may hold the reader back. */
		ts_expect_number(trid, work.id, 0);
		CHECK(ts_try_next(trid, &event));
		if (ts_number(&event) == slow_contents)
			CHECK(ts_try_next(trid, &event));
		CHECK_EQ(ts_number(&event), 1);
		atomic_store(&left_step, 2);
		ts_join(slow_thread);
		ts_expect_none(trid);
		ts_shutdown(trid);
	}
}

static volatile uint32_t outer_jumps;

/* Two event calls are left at once: the interrupted one and the handler's own. */
static void jump_over_two(int sig)
{
	(void)sig;
	outer_jumps++;
	siglongjmp(jump_target, 1);
}

static void emit_and_be_left(int sig)
{
	(void)sig;
	jump_count++;
	posix_trace_event(handler_id, slow.data + 64, sizeof(slow_contents));
	/* Reached only where the signals were held back. */
	siglongjmp(jump_target, 1);
}

TEST(two_nested_events_may_be_left_at_once, "EVENT-28")
{
	enum { rounds = 50 };
	struct jump_work work = {.id = ts_id("main"), .rounds = rounds};
	trace_id_t trid = stream_on(0, 0);
	uint32_t next = 0;

	prepare_handler(emit_and_be_left, 0);
	on_signal(SIGUSR2, jump_over_two, 0);
	slow_thread = ts_thread(be_left, &work);
	for (uint32_t i = 0; i < rounds; i++) {
		bool is_nested = false;
		slow_page_wait(&slow);
		CHECK_OK(pthread_kill(slow_thread, SIGUSR1));
		/* The nested call hangs at the page too, unless its signals are held
		 * back; then it cannot be left and the page has to be filled. */
		while (!is_nested && !is_held_back(SIGUSR1))
			is_nested = slow_page_is_touched(&slow);
		if (is_nested) {
			CHECK_OK(pthread_kill(slow_thread, SIGUSR2));
			while (outer_jumps <= i && !is_held_back(SIGUSR2))
				sched_yield();
		}
		slow_page_fill(&slow, &slow_contents, sizeof(slow_contents));
		while (outer_jumps <= i && jump_count <= i)
			sched_yield();
		outer_jumps = i + 1;
		jump_count = i + 1;
	}
	ts_join(slow_thread);
	struct ts_events all = ts_read_all(trid);
	ts_expect_sorted(&all);
	for (size_t i = 0; i < all.count; i++) {
		if (all.at[i].info.posix_event_id != work.id) {
			CHECK_EQ(all.at[i].info.posix_event_id, handler_id);
			CHECK_EQ(all.at[i].len, sizeof(slow_contents));
			continue;
		}
		if (ts_number(&all.at[i]) == slow_contents)
			continue;
		CHECK_EQ(ts_number(&all.at[i]), next);
		next++;
	}
	CHECK_EQ(next, 2 * rounds);
}

/*
 * Forks
 */

static volatile pid_t forked_in_handler;

static void fork_in_handler(int sig)
{
	pid_t pid = fork();

	(void)sig;
	ts_emit(handler_id, pid ? 1 : 2);
	if (pid)
		forked_in_handler = pid;
	else
		alarm((unsigned int)(harness_patience_ms() / 1000));
	handler_count = 1;
}

static void *fork_amid_event(void *arg)
{
	struct slow_work *work = (struct slow_work *)arg;
	pid_t self = getpid();

	ts_emit(work->id, 1);
	posix_trace_event(work->id, slow.data, sizeof(slow_contents));
	/* The child has only this thread, and zeros where the slow page is. */
	ts_emit(work->id, getpid() == self ? 2 : 3);
	if (getpid() != self)
		_exit(0);
	return NULL;
}

TEST(a_handler_that_interrupts_an_event_may_fork, "EVENT-12 EVENT-14")
{
	struct slow_work work = {.id = ts_id("main")};
	trace_id_t trid = inherited_stream_on(0);
	uint32_t seen[4] = {0}, slow_seen = 0, handler_seen[3] = {0};

	prepare_handler(fork_in_handler, SA_RESTART);
	interrupt_thread(fork_amid_event, &work, 1, SIGUSR1, &handler_count, 1);
	pid_t child = forked_in_handler;
	CHECK_EXIT(child, 0);
	struct ts_events all = ts_read_all(trid);
	for (size_t i = 0; i < all.count; i++) {
		uint32_t number = ts_number(&all.at[i]);
		pid_t pid = all.at[i].info.posix_pid;
		if (all.at[i].info.posix_event_id == handler_id) {
			CHECK_EQ(pid, number == 1 ? getpid() : child);
			handler_seen[number]++;
		} else if (number == slow_contents) {
			CHECK_EQ(pid, getpid());
			slow_seen++;
		} else if (number == 0) {
			/* The call as the child finished it: whole, if it is there. */
			CHECK_EQ(pid, child);
		} else {
			CHECK_EQ(pid, number == 3 ? child : getpid());
			seen[number]++;
		}
	}
	CHECK_EQ(slow_seen, 1);
	CHECK_EQ(handler_seen[1], 1);
	CHECK_EQ(handler_seen[2], 1);
	for (int i = 1; i <= 3; i++)
		CHECK_EQ(seen[i], 1);
	ts_expect_sorted(&all);
}

/*
 * Nothing waits, nobody hangs
 */

TS_ROUTINE(do_create_two)
{
	const pid_t *pid = arg;

	trace_attr_t attr = ts_attr(POSIX_TRACE_LOOP, 65536, 0);
	ts_create_running(*pid, &attr);
	attr = ts_attr(POSIX_TRACE_UNTIL_FULL, 65536, 0);
	ts_create_running(*pid, &attr);
	return 0;
}

struct shared_progress {
	_Atomic uint64_t events;
	_Atomic bool stop;
};

TS_ROUTINE(do_record_until_told)
{
	struct shared_progress *progress = *(struct shared_progress *const *)arg;
	uint32_t number = 0;

	while (!atomic_load(&progress->stop)) {
		ts_emit(POSIX_TRACE_UNNAMED_USEREVENT, number++);
		atomic_fetch_add(&progress->events, 1);
	}
	return (intptr_t)number;
}

TEST(a_killed_controller_harms_its_target_in_no_way, "EVENT-18 EVENT-24")
{
	struct shared_progress *progress = harness_share(sizeof(*progress));
	struct ts_target target = ts_target_fork();
	trace_id_t trid = ts_run_of(target.pid, POSIX_TRACE_LOOP, 65536, 0);

	ts_target_call_begin(&target, do_record_until_told, &progress, sizeof(progress));
	for (int i = 0; i < 10; i++) {
		struct ts_target controller = ts_target_fork();
		ts_target_call(&controller, do_create_two, &target.pid, sizeof(target.pid));
		uint64_t before = atomic_load(&progress->events);
		CHECK_EVENTUALLY(atomic_load(&progress->events) > before + 1000);
		harness_stop(controller.pid);
		before = atomic_load(&progress->events);
		CHECK_EVENTUALLY(atomic_load(&progress->events) > before + 10000);
		ts_target_kill(&controller);
		before = atomic_load(&progress->events);
		CHECK_EVENTUALLY(atomic_load(&progress->events) > before + 1000);
	}
	atomic_store(&progress->stop, true);
	intptr_t count = ts_target_result(&target);
	ts_target_end(&target);
	/* The other stream has everything to the last. */
	struct ts_events all = ts_read_all(trid);
	CHECK_EQ(ts_number(&all.at[all.count - 1]), (uint32_t)(count - 1));
	for (size_t i = 0; i < 300; i++)
		CHECK_EQ(ts_number(&all.at[all.count - 1 - i]), (uint32_t)((size_t)count - 1 - i));
}

/* In the target: a thread hangs in the middle of an event, which opens the gate. */
static void *hang_in_event(void *arg)
{
	trace_event_id_t id = *(trace_event_id_t *)arg;

	ts_emit_numbers(id, 0, 9);
	posix_trace_event(id, slow.data, 2000);
	return NULL;
}

struct slow_call {
	trace_event_id_t id;
	struct harness_gate hangs;
};

TS_ROUTINE(do_hang_in_event)
{
	struct slow_call call = *(const struct slow_call *)arg;

	slow = slow_page_make();
	ts_thread(hang_in_event, &call.id);
	slow_page_wait(&slow);
	harness_open(&call.hangs);
	pause();
	return 0;
}

TEST(a_writer_killed_in_the_middle_disturbs_nobody_else_in_its_stream, "EVENT-23 GETNEXT-33")
{
	enum { rounds = 20 };
	trace_event_id_t id = ts_id("killed");
	trace_event_id_t other_id = ts_id("survivor");
	trace_id_t trid = inherited_stream_on(0);
	struct slow_call call = {id, harness_gate()};

	(void)close(slow_page_make().fd);
	for (uint32_t round = 0; round < rounds; round++) {
		pid_t victim = harness_fork();
		struct ts_event event;
		uint32_t next = 0, others = 0;

		if (victim == 0) {
			(void)do_hang_in_event(&call, sizeof(call));
			_exit(0);
		}
		harness_pass(&call.hangs);
		ts_emit(other_id, 2 * round);
		harness_kill(victim);
		ts_emit(other_id, 2 * round + 1);
		/* Ten finished events of the victim, in order, before ours; not the
		 * eleventh. */
		while (others < 2) {
			event = ts_next(trid);
			if (event.info.posix_event_id == id) {
				CHECK_EQ(event.info.posix_pid, victim);
				CHECK_EQ(ts_number(&event), next);
				CHECK_EQ(others, 0);
				next++;
			} else {
				CHECK_EQ(event.info.posix_event_id, other_id);
				CHECK_EQ(ts_number(&event), 2 * round + others);
				others++;
			}
			ts_event_free(&event);
		}
		CHECK_EQ(next, 10);
	}
	ts_expect_none(trid);
}

/*
 * Too big
 */

TEST(an_event_too_big_for_the_stream_is_lost_alone, "EVENT-27")
{
	enum { giant = 300000 };
	static const int policies[] = {POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL};
	static unsigned char data[giant];
	trace_event_id_t id = ts_id("small");

	for (int i = 0; i < 2; i++) {
		trace_id_t trid = ts_run(policies[i], 8192, giant);

		ts_emit_numbers(id, 1, 2);
		ts_expect_running(trid);
		posix_trace_event(id, data, giant);
		ts_expect_status(trid, POSIX_TRACE_RUNNING, POSIX_TRACE_NOT_FULL,
				 POSIX_TRACE_OVERRUN);
		ts_expect_running(trid);
		ts_emit(id, 3);
		struct ts_events all = ts_read_ids(trid, POSIX_TRACE_START, id, id, id, 0);
		ts_expect_numbers(&all, id, 1, 3);

		/* Nor does it fit when there is nothing else. */
		posix_trace_event(id, data, giant);
		ts_expect_status(trid, POSIX_TRACE_RUNNING, POSIX_TRACE_NOT_FULL,
				 POSIX_TRACE_OVERRUN);
		ts_emit(id, 4);
		all = ts_read_numbers(trid, id, 4, 4);
		CHECK_EQ(ts_count(&all, POSIX_TRACE_STOP), 0);
		ts_shutdown(trid);
	}
}

/* Its length is beyond what 32 bits hold, and so is max-data-size. */
TEST(an_event_of_more_than_4_gib_is_lost, "EVENT-27")
{
	const size_t giant = ((size_t)4 << 30) + 10;
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, 65536, (size_t)8 << 30);
	trace_event_id_t id = ts_id("event");
	void *data =
		mmap(NULL, giant, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned int streams;

	if (data == MAP_FAILED)
		SKIP("no room for such an event");
	/* The first one goes another way than the second. */
	posix_trace_event(id, data, giant);
	posix_trace_event(id, data, giant);
	CHECK_OK(posixtrace_event_for(0, "event", NULL, data, giant, &streams));
	CHECK_EQ(streams, 0);
	ts_expect_status(trid, POSIX_TRACE_RUNNING, POSIX_TRACE_NOT_FULL, POSIX_TRACE_OVERRUN);
	struct ts_events all = ts_read_all(trid);
	CHECK_EQ(ts_count(&all, id), 0);
}

TEST(an_event_too_big_for_a_flush_stream_is_lost_alone, "EVENT-27", NEEDS_KEEPER)
{
	enum { giant = 300000 };
	static unsigned char data[giant];
	trace_attr_t attr = ts_attr(POSIX_TRACE_FLUSH, 8192, giant);
	int fd = ts_temp_file();
	trace_id_t trid = ts_create_log(0, &attr, fd);
	trace_event_id_t id = ts_id("small");

	ts_start(trid);
	ts_emit(id, 1);
	posix_trace_event(id, data, giant);
	ts_emit(id, 2);
	ts_expect_status(trid, POSIX_TRACE_RUNNING, POSIX_TRACE_NOT_FULL, POSIX_TRACE_OVERRUN);
	struct ts_events all = ts_end_log(trid, fd);
	ts_expect_numbers(&all, id, 1, 2);
	CHECK_EQ(ts_count(&all, id), 2);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_STOP), 1);
}

/*
 * The kernel's number of the thread
 */

struct emitter {
	trace_event_id_t id;
	pid_t tid;
};

static void *emit_and_tell(void *arg)
{
	struct emitter *e = arg;

	e->tid = ts_gettid();
	ts_emit(e->id, 2);
	return NULL;
}

static void expect_tids(const struct ts_events *events, const struct emitter *thread, pid_t child)
{
	const pid_t tids[] = {getpid(), thread->tid, child, 0};
	uint32_t number = 0;

	for (size_t i = 0; i < events->count; i++) {
		const struct ts_event *event = &events->at[i];

		if (event->info.posix_event_id == thread->id)
			CHECK_EQ(event->info.posix_tid, tids[number++]);
		else
			CHECK_EQ(event->info.posix_tid, getpid());
	}
	CHECK_EQ(number, 3);
}

TEST(an_event_has_the_number_of_its_thread, "", NEEDS_KEEPER)
{
	trace_attr_t attr = ts_inherited_attr(POSIX_TRACE_UNTIL_FULL, 0, 0);
	struct emitter thread = {.id = ts_id("event")};
	int fd = ts_temp_file();

	trace_id_t trid = ts_create_log(0, &attr, fd);
	ts_start(trid);
	ts_emit(thread.id, 1);
	ts_join(ts_thread(emit_and_tell, &thread));
	struct ts_target child = ts_target_fork();
	ts_target_emit(&child, thread.id, 3);
	ts_target_end(&child);
	ts_stop(trid);
	CHECK_NE(thread.tid, getpid());
	struct ts_events live = ts_read_all(trid), log;
	expect_tids(&live, &thread, child.pid);
	log = ts_end_log(trid, fd);
	expect_tids(&log, &thread, child.pid);
}

TEST(events_of_the_trace_system_have_no_thread, "")
{
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, 16384, 256);

	ts_flood(16384, POSIX_TRACE_UNNAMED_USEREVENT, 100, 0);
	struct ts_event event = ts_expect(trid, POSIX_TRACE_OVERFLOW);
	CHECK_EQ(event.info.posix_tid, 0);
}
