/* SPDX-License-Identifier: MIT */
/*
 * Event calls interrupted at each of their instructions. A child is single-stepped by
 * ptrace through calls of posix_trace_event; at one point it gets a signal whose handler
 * records an event too, or records one and leaves by siglongjmp, or it is killed. The
 * next time the point is the next one. The parent is controller, reader and tracer: it
 * must find every event that was finished exactly once, whole, in order, and never hang.
 *
 * Short calls are stepped at every instruction. Long ones (the first event of a process,
 * a change of chunks, a full stream) are sampled, as each point is reached from the
 * start. A sampling run (PTRC_TEST_SAMPLE) does one of the three things at long calls, chosen by
 * its seed: to find out where these are long takes most of the time.
 *
 * It takes long: each instruction of an event is a stop of the child, and so two switches between
 * processes, and each point of a long call is reached by such steps from its start.
 */
/* Some cases jump from one stack to another, which the checked siglongjmp() takes for an error. */
#undef _FORTIFY_SOURCE

#include "include/posixtrace-private.h"
#include "tests/support/support.h"

#if !defined(__x86_64__)

TEST(event_calls_may_be_interrupted_at_any_instruction, "EVENT-12 EVENT-13 EVENT-23 EVENT-28")
{
	SKIP("single-stepping is only known for x86-64 here");
}

#else

#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <ucontext.h>

#include "tests/support/payload.h"
#include "tests/support/stream_memory.h"

enum fate { HANDLE, LEAVE, KILL };
static const char *const fate_names[] = {"handled", "left", "killed"};

/* Kinds of events: the writer in the payload. */
enum kind { STEPPED, HANDLER, SENTINEL, WARM, OTHER, KINDS };

/* Breakpoints that the child runs into, told apart by their number. */
enum marker { NO_MARKER, BEGIN, NEXT_EVENT, END, ROUND_OVER };

struct plan {
	int policy;
	size_t stream_bytes;
	/* Events in a row, of that length each, from BEGIN to END. */
	uint32_t batch;
	uint32_t len;
	/* Events recorded before BEGIN by a new child. */
	uint32_t warm;
	/* Distance of the points in instructions; 0: so that all of them are reached in
	 * step_budget steps. */
	uint32_t stride;
	/* If not 0, the points, this many, are where calls have left the usual way;
	 * scattered there over all instructions and calls, as the first batch showed
	 * them. */
	uint32_t long_points;
	/* Steps that may be spent in all. */
	uint32_t step_budget;
};

#define BATCH_MAX 64U

static struct state {
	/* Of the round: calls begun and calls finished. */
	_Atomic uint32_t started, done;
	_Atomic uint32_t handled;
	_Atomic bool stop;
} * state;

static trace_event_id_t event_id;
static sigjmp_buf leave_target;
static volatile uint32_t handler_seq;
static bool is_leaving;

static void mark(enum marker marker)
{
	__asm__ volatile("int3" ::"a"((long)marker) : "memory");
}

static void emit(enum kind kind, uint32_t seq, uint32_t len)
{
	unsigned char data[4096];

	payload_fill(data, len, kind, seq);
	posix_trace_event(event_id, data, len);
}

static void handle(int sig)
{
	(void)sig;
	emit(HANDLER, handler_seq++, 40);
	atomic_store(&state->handled, handler_seq);
	if (is_leaving)
		siglongjmp(leave_target, 1);
}

/* In the child: one round, whose events are numbered from first_seq on. */
static void run_round(const struct plan *plan, uint32_t round, uint32_t first_seq)
{
	static unsigned char data[BATCH_MAX][2048];

	for (uint32_t i = 0; i < plan->batch; i++)
		payload_fill(data[i], plan->len, STEPPED, first_seq + i);
	atomic_store(&state->started, 0);
	atomic_store(&state->done, 0);
	if (sigsetjmp(leave_target, 1) == 0) {
		mark(BEGIN);
		for (uint32_t i = 0; i < plan->batch; i++) {
			if (i > 0)
				mark(NEXT_EVENT);
			atomic_store_explicit(&state->started, i + 1, memory_order_relaxed);
			posix_trace_event(event_id, data[i], plan->len);
			atomic_store_explicit(&state->done, i + 1, memory_order_relaxed);
		}
		mark(END);
	}
	/* From this frame, not a deeper one. */
	payload_fill(data[0], PAYLOAD_MIN, SENTINEL, round);
	posix_trace_event(event_id, data[0], PAYLOAD_MIN);
	mark(ROUND_OVER);
}

/* Each step goes from the one process to the other and back. Where they are on two processors
 * that have nothing else to do, that wakes one up each time: ten times slower. */
static void share_processor(void)
{
	cpu_set_t one;
	unsigned int cpu = (unsigned int)sched_getcpu();

	CPU_ZERO(&one);
	if (cpu < CPU_SETSIZE) {
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
	}
}

static pid_t begin_child(const struct plan *plan, enum fate fate, uint32_t first_warm)
{
	share_processor();
	pid_t pid = harness_fork();
	if (pid == 0) {
		struct sigaction action = {.sa_handler = handle};
		is_leaving = fate == LEAVE;
		CHECK_SYS(sigaction(SIGUSR1, &action, NULL));
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
			SKIP("no ptrace");
		raise(SIGSTOP);
		for (uint32_t i = 0; i < plan->warm; i++)
			emit(WARM, first_warm + i, 24);
		for (uint32_t round = 0; !atomic_load(&state->stop); round++)
			run_round(plan, round, round * plan->batch);
		_exit(0);
	}
	return pid;
}

/*
 * Tracing
 */

/* Waits for the next stop; false if the child has ended. */
static bool wait_stop(pid_t pid, int *sig)
{
	int status;

	CHECK_EQ(CHECK_SYS(waitpid(pid, &status, __WALL)), pid);
	if (!WIFSTOPPED(status)) {
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			harness_fail("the child ended with wait status 0x%x", (unsigned int)status);
		return false;
	}
	*sig = WSTOPSIG(status);
	return true;
}

static enum marker marker_at_stop(pid_t pid)
{
	struct user_regs_struct regs;
	siginfo_t info;

	CHECK_SYS(ptrace(PTRACE_GETSIGINFO, pid, 0, &info));
	if (info.si_code != SI_KERNEL)
		return NO_MARKER;
	CHECK_SYS(ptrace(PTRACE_GETREGS, pid, 0, &regs));
	return (enum marker)regs.rax;
}

static void attach(pid_t pid)
{
	int sig;

	if (!wait_stop(pid, &sig))
		exit(0);
	CHECK_EQ(sig, SIGSTOP);
	CHECK_SYS(ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL));
}

/* Lets it run, with the signal, to the marker. */
static void run_to(pid_t pid, enum marker marker, int sig)
{
	enum marker at = NO_MARKER;

	do {
		CHECK_SYS(ptrace(PTRACE_CONT, pid, 0, (long)sig));
		if (!wait_stop(pid, &sig))
			harness_fail("the child ended before marker %d", (int)marker);
		/* It was blocked there, and comes now. */
		if (sig == SIGUSR1)
			continue;
		if (sig != SIGTRAP) {
			struct user_regs_struct regs;
			CHECK_SYS(ptrace(PTRACE_GETREGS, pid, 0, &regs));
			harness_fail("signal %d at %#llx", sig, regs.rip);
		}
		at = marker_at_stop(pid);
		CHECK_NE(at, NO_MARKER);
		CHECK_LE(at, marker);
		sig = 0;
	} while (sig != 0 || at != marker);
}

static uint32_t steps_spent;

/* One step; the marker that the child ran into, if any. */
static enum marker step_once(pid_t pid)
{
	int sig;

	steps_spent++;
	CHECK_SYS(ptrace(PTRACE_SINGLESTEP, pid, 0, 0));
	if (!wait_stop(pid, &sig))
		harness_fail("the child ended while it was stepped");
	CHECK_EQ(sig, SIGTRAP);
	return marker_at_stop(pid);
}

/* From BEGIN that many instructions on; false if END comes first. */
static bool step(pid_t pid, uint32_t steps)
{
	for (uint32_t i = 0; i < steps; i++)
		if (step_once(pid) == END)
			return false;
	return true;
}

/* Instructions from BEGIN to END, when nothing interferes. */
static uint32_t count_steps(pid_t pid)
{
	uint32_t steps = 0;

	while (step(pid, 1))
		steps++;
	return steps;
}

/* The points, one after the other. */
struct points {
	uint32_t at, stride, count;
	/* Where calls leave the usual way, and in how many calls of the first batch,
	 * with how many instructions from there on. */
	uintptr_t long_way;
	uint32_t long_calls;
	uint32_t long_len[BATCH_MAX];
	/* In how many calls when nobody steps. */
	uint32_t ways;
	/* How often in a row END came before the point. Now and then a call takes the
	 * long way (a clock entry is due): once is not enough to know. */
	uint32_t ends;
};

/* Steps to the point; false if END came first. The first call counts instructions
 * only. */
static bool step_to_point(struct points *points, const struct plan *plan, pid_t pid);

/* All were there, or the steps are spent. */
static bool is_enough(const struct points *points, const struct plan *plan)
{
	/* A sample of the long ways has a handful. */
	if (plan->long_points)
		return points->at >= (harness_sample() > 1 ? 8 : plan->long_points);
	return points->ends >= 3 || steps_spent > 2 * plan->step_budget;
}

static uint32_t stride_for(const struct plan *plan, uint32_t steps)
{
	uint32_t stride = 1;

	if (plan->stride)
		return plan->stride * harness_sample();
	while ((uint64_t)steps * steps / stride / 2 > plan->step_budget / harness_sample())
		stride++;
	return stride;
}

static uintptr_t address_at_stop(pid_t pid)
{
	struct user_regs_struct regs;

	CHECK_SYS(ptrace(PTRACE_GETREGS, pid, 0, &regs));
	return (uintptr_t)regs.rip;
}

static bool is_among(const uintptr_t *addresses, uint32_t count, uintptr_t address)
{
	for (uint32_t i = 0; i < count; i++)
		if (addresses[i] == address)
			return true;
	return false;
}

/*
 * Steps through the whole batch. The shortest of the first calls goes the usual way;
 * where a longer one leaves it, its long way begins.
 */
#define USUAL_CALLS 7U
static void learn_long_way(struct points *points, pid_t pid)
{
	static uintptr_t path[1 << 18];
	uint32_t begin[BATCH_MAX + 1] = {0}, call = 0, steps = 0, usual = 1;
	enum marker at;

#ifndef __OPTIMIZE__
	/* Stepped, each call takes so long that its way is that of clock entries. */
	SKIP("too many instructions without optimisation");
#endif

	do {
		at = step_once(pid);
		CHECK_LT(steps, sizeof(path) / sizeof(path[0]));
		path[steps++] = address_at_stop(pid);
		if (at == NEXT_EVENT || at == END)
			begin[++call] = steps;
	} while (at != END);
	/* The first call begins before the marker of the others: leave it out. A stream
	 * that stops itself does so later. */
	for (uint32_t i = 2; i <= USUAL_CALLS && i < call; i++)
		if (begin[i + 1] - begin[i] < begin[usual + 1] - begin[usual])
			usual = i;
	for (uint32_t i = 1; i + 1 < call; i++) {
		uint32_t len = begin[usual + 1] - begin[usual], k = begin[i];
		if (begin[i + 1] - begin[i] <= len)
			continue;
		while (k < begin[i + 1] && is_among(path + begin[usual], len, path[k]))
			k++;
		if (k == begin[i + 1])
			continue;
		if (points->long_way == 0)
			points->long_way = path[k];
		if (points->long_way != path[k])
			continue;
		points->long_len[points->long_calls++] = begin[i + 1] - k;
	}
	CHECK(points->long_way != 0);
	NOTE("%u instructions, %u of %u calls go a long way", begin[usual + 1] - begin[usual],
	     points->long_calls, call);
}

/* Lets the child run to where its n-th long way begins, and steps so many instructions
 * along it; if it is not that long, along the next one. *ways says how many there
 * were. */
static bool step_along_long_way(const struct points *points, pid_t pid, uint32_t nth,
				uint32_t steps, uint32_t *ways)
{
	const uintptr_t word_at = points->long_way & ~(uintptr_t)7;
	const unsigned int shift = 8 * (unsigned int)(points->long_way & 7);
	struct user_regs_struct regs;

	*ways = 0;
	errno = 0;
	long word = ptrace(PTRACE_PEEKTEXT, pid, word_at, 0);
	CHECK_EQ(errno, 0);
	for (;;) {
		enum marker at;
		int sig;
		CHECK_SYS(ptrace(PTRACE_POKETEXT, pid, word_at,
				 (word & ~(0xffL << shift)) | 0xccL << shift));
		do {
			CHECK_SYS(ptrace(PTRACE_CONT, pid, 0, 0));
			if (!wait_stop(pid, &sig))
				harness_fail("the child ended on its way");
			CHECK_EQ(sig, SIGTRAP);
			CHECK_SYS(ptrace(PTRACE_GETREGS, pid, 0, &regs));
			at = regs.rip == points->long_way + 1 ? NO_MARKER : marker_at_stop(pid);
		} while (at == NEXT_EVENT);
		CHECK_SYS(ptrace(PTRACE_POKETEXT, pid, word_at, word));
		if (at == END)
			return false;
		CHECK_EQ(at, NO_MARKER);
		regs.rip = points->long_way;
		CHECK_SYS(ptrace(PTRACE_SETREGS, pid, 0, &regs));
		at = NO_MARKER;
		if ((*ways)++ < nth) {
			at = step_once(pid);
		} else {
			uint32_t left = steps;
			while (left > 0 && at == NO_MARKER) {
				at = step_once(pid);
				left--;
			}
			if (at == NO_MARKER)
				return true;
		}
		if (at == END)
			return false;
	}
}

static bool step_to_point(struct points *points, const struct plan *plan, pid_t pid)
{
	if (plan->long_points) {
		uint64_t random = payload_mix(++points->at + harness_random(1U << 16));
		uint32_t ways, len;
		if (points->long_way == 0) {
			learn_long_way(points, pid);
			return false;
		}
		if (points->ways == 0) {
			CHECK_LT(points->at, 10);
			/* At full speed there are fewer, as some come with time. */
			(void)step_along_long_way(points, pid, UINT32_MAX, 0, &points->ways);
			NOTE("%u of them at full speed", points->ways);
			/* None: a busy machine stepped so slowly that clock entries
			 * were due, and those were learned. Once more. */
			if (points->ways == 0) {
				points->long_way = 0;
				points->long_calls = 0;
			}
			return false;
		}
		len = points->long_len[(random >> 32) % points->long_calls];
		if (!step_along_long_way(points, pid, (uint32_t)(random >> 48) % points->ways,
					 (uint32_t)random % len, &ways))
			return false;
		points->count++;
		return true;
	}
	if (points->stride == 0) {
		uint32_t steps = count_steps(pid);
		points->stride = stride_for(plan, steps);
		points->at = harness_random(points->stride);
		NOTE("%u instructions the first time, every %u", steps, points->stride);
		return false;
	}
	if (!step(pid, points->at)) {
		points->ends++;
		return false;
	}
	points->ends = 0;
	points->at += points->stride;
	points->count++;
	return true;
}

/*
 * Reading
 */

struct seen {
	uint32_t count[KINDS];
	uint32_t first[KINDS];
	uint32_t next[KINDS];
	uint32_t stops, starts, gaps;
	/* Reports for which trygetnext was not enough. */
	uint32_t held_back;
	int64_t time;
};

/* Takes one event into account: payloads whole, each kind in order, time not backward. */
static void look_at(struct seen *seen, const struct ts_event *event)
{
	int64_t time = ts_time_ns(&event->info.posix_timestamp);
	uint32_t kind, seq;

	CHECK_GE(time, seen->time);
	seen->time = time;
	if (event->info.posix_event_id != event_id) {
		seen->stops += event->info.posix_event_id == POSIX_TRACE_STOP;
		seen->starts += event->info.posix_event_id == POSIX_TRACE_START;
		seen->gaps += event->info.posix_event_id == POSIX_TRACE_OVERFLOW;
		return;
	}
	CHECK(payload_read(event->data, event->len, &kind, &seq));
	CHECK_LT(kind, KINDS);
	if (seen->count[kind] == 0)
		seen->first[kind] = seq;
	else
		CHECK_EQ(seq, seen->next[kind]);
	seen->next[kind] = seq + 1;
	seen->count[kind]++;
}

/* Reads up to and with the event of that kind and number, which must come. */
static void read_up_to(trace_id_t trid, struct seen *seen, enum kind kind, uint32_t seq)
{
	do {
		struct ts_event event;
		if (!ts_try_next(trid, &event)) {
			seen->held_back++;
			event = ts_next(trid);
		}
		look_at(seen, &event);
		ts_event_free(&event);
	} while (seen->count[kind] == 0 || seen->next[kind] <= seq);
}

static void prepare(void)
{
#ifdef HARNESS_IS_SANITIZED
	SKIP("too many instructions with a sanitizer");
#endif
	void *at = harness_share(sizeof(*state));

	state = (struct state *)at;
	event_id = ts_id("stepped");
}

/* A sampling run leaves this to another. */
static void skip_if_sampling(enum fate fate)
{
	if (harness_sample() > 1 && harness_random(3) != (unsigned int)fate)
		SKIP("the sample has another way to interrupt a long call");
}

static trace_id_t create_for(const struct plan *plan)
{
	trace_id_t trid =
		ts_past_start(ts_run_inherited(0, plan->policy, plan->stream_bytes, 4096));
	return trid;
}

/* The stream works as if nothing had happened: what must fit fits. */
static void expect_whole_room(trace_id_t trid, const struct plan *plan)
{
	trace_attr_t attr = ts_attr(plan->policy, plan->stream_bytes, 4096);
	uint32_t count = (uint32_t)((plan->stream_bytes - ts_user_bytes(&attr, 0)) /
				    ts_user_bytes(&attr, 100));

	ts_expect_none(trid);
	(void)ts_status(trid);
	for (uint32_t i = 0; i < count; i++)
		emit(OTHER, i, 100);
	ts_expect_running(trid);
	struct ts_events all = ts_read_all(trid);
	CHECK_EQ(all.count, count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t kind, seq;
		CHECK(payload_read(all.at[i].data, all.at[i].len, &kind, &seq));
		CHECK_EQ(seq, i);
	}
}

/* A round of the child: it runs to BEGIN and is stepped to the next point, where it meets its fate.
 * Whether it came to the point. */
static bool run_to_fate(struct points *points, const struct plan *plan, enum fate fate, pid_t pid)
{
	run_to(pid, BEGIN, 0);
	bool is_inside = step_to_point(points, plan, pid);
	if (is_inside && fate == KILL)
		harness_kill(pid);
	else
		run_to(pid, ROUND_OVER, is_inside ? SIGUSR1 : 0);
	return is_inside;
}

/* What must have been seen of a child that was new, and lives on unless it was killed. */
static void check_new_child(const struct seen *seen, bool is_inside, enum fate fate)
{
	CHECK_GE(seen->count[STEPPED], atomic_load(&state->done));
	CHECK_LE(seen->count[STEPPED], atomic_load(&state->started));
	if (seen->count[STEPPED])
		CHECK_EQ(seen->first[STEPPED], 0);
	if (is_inside && fate != KILL)
		CHECK_EQ(seen->count[HANDLER], 1);
	if (!is_inside || fate != KILL)
		CHECK_EQ(seen->count[SENTINEL], 1);
}

/*
 * One child, many rounds: it has recorded before.
 */
static void step_one_child(const struct plan *plan, enum fate fate)
{
	struct seen seen = {.time = 0};
	struct points points = {.at = 0};
	uint32_t handled = 0, finished = 0;

	if (plan->long_points)
		skip_if_sampling(fate);
	prepare();
	trace_id_t trid = create_for(plan);
	pid_t pid = begin_child(plan, fate, 0);
	attach(pid);
	for (uint32_t round = 0; !is_enough(&points, plan); round++) {
		bool is_inside = run_to_fate(&points, plan, fate, pid);
		handled += is_inside;
		read_up_to(trid, &seen, SENTINEL, round);
		CHECK_EQ(atomic_load(&state->handled), handled);
		CHECK_EQ(seen.count[HANDLER], handled);
		uint32_t got = seen.count[STEPPED];
		CHECK_GE(got, atomic_load(&state->done));
		CHECK_LE(got, atomic_load(&state->started));
		if (fate == HANDLE || !is_inside)
			CHECK_EQ(got, plan->batch);
		finished += got;
		/* The next round begins with other numbers. */
		seen.count[STEPPED] = 0;
		ts_expect_none(trid);
	}
	CHECK_EQ(seen.gaps, 0);
	CHECK_EQ(seen.stops, 0);
	CHECK_EQ(seen.count[WARM], plan->warm);
	NOTE("%s at %u points to %u, %u reports held back, %u events", fate_names[fate],
	     points.count, points.at, seen.held_back, finished);
	/* The child was never in an event while the parent read. */
	CHECK_EQ(seen.held_back, 0);
	expect_whole_room(trid, plan);
	harness_kill(pid);
	expect_whole_room(trid, plan);
}

static const struct plan one_event = {
	.policy = POSIX_TRACE_UNTIL_FULL,
	.stream_bytes = 65536,
	.batch = 1,
	.len = 24,
	.warm = 3,
	.stride = 1,
	.step_budget = 100000,
};

/* With data so long that the copying is a good part of it. */
static const struct plan one_long_event = {
	.policy = POSIX_TRACE_LOOP,
	.stream_bytes = 65536,
	.batch = 1,
	.len = 300,
	.warm = 3,
	.stride = 1,
	.step_budget = 100000,
};

/* So many bytes in a row that chunks are changed on the way. */
static const struct plan many_events = {
	.policy = POSIX_TRACE_UNTIL_FULL,
	.stream_bytes = 131072,
	.batch = 26,
	.len = 1900,
	.warm = 3,
	.long_points = 40,
};

static const struct plan first_event = {
	.policy = POSIX_TRACE_UNTIL_FULL,
	.stream_bytes = 65536,
	.batch = 1,
	.len = 24,
	.warm = 0,
	.step_budget = 60000,
};

TEST(a_handler_may_record_at_each_instruction, "EVENT-12 EVENT-13 GETNEXT-03 GETNEXT-04")
{
	step_one_child(&one_long_event, HANDLE);
}

TEST(a_handler_may_record_while_chunks_change, "EVENT-12 EVENT-13 GETNEXT-03 GETNEXT-04")
{
	step_one_child(&many_events, HANDLE);
}

TEST(an_event_may_be_left_at_each_instruction, "EVENT-28 EVENT-13 GETNEXT-03 GETNEXT-04")
{
	step_one_child(&one_long_event, LEAVE);
}

TEST(an_event_may_be_left_while_chunks_change, "EVENT-28 EVENT-13 GETNEXT-03 GETNEXT-04")
{
	step_one_child(&many_events, LEAVE);
}

/*
 * A new child for each point
 */

static void step_new_children(const struct plan *plan, enum fate fate)
{
	struct seen seen = {.time = 0};
	struct points points = {.at = 0};
	uint32_t warm = 0;

	if (plan->stride == 0)
		skip_if_sampling(fate);
	prepare();
	trace_id_t trid = create_for(plan);
	for (uint32_t point = 0; !is_enough(&points, plan); point++) {
		atomic_store(&state->handled, 0);
		pid_t pid = begin_child(plan, fate, warm);
		attach(pid);
		bool is_inside = run_to_fate(&points, plan, fate, pid);
		seen.count[STEPPED] = seen.count[SENTINEL] = seen.count[HANDLER] = 0;
		/* An event of another process, after all that. */
		emit(OTHER, point, 32);
		read_up_to(trid, &seen, OTHER, point);
		check_new_child(&seen, is_inside, fate);
		warm += plan->warm;
		CHECK_EQ(seen.next[WARM], plan->warm ? warm : 0);
		if (is_inside && fate != KILL)
			CHECK_EQ(atomic_load(&state->handled), 1);
		if (!is_inside || fate == HANDLE)
			CHECK_EQ(seen.count[STEPPED], plan->batch);
		ts_expect_none(trid);
		if (!is_inside || fate != KILL)
			harness_kill(pid);
	}
	CHECK_EQ(seen.gaps, 0);
	CHECK_EQ(seen.stops, 0);
	NOTE("%s at %u points to %u, %u reports held back", fate_names[fate], points.count,
	     points.at, seen.held_back);
	expect_whole_room(trid, plan);
}

TEST(a_process_may_be_killed_at_each_instruction, "EVENT-23 GETNEXT-33")
{
	step_new_children(&one_event, KILL);
}

TEST(a_process_may_be_killed_while_chunks_change, "EVENT-23 GETNEXT-33")
{
	step_new_children(&many_events, KILL);
}

TEST(a_process_may_be_killed_in_its_first_event, "EVENT-23 GETNEXT-33")
{
	step_new_children(&first_event, KILL);
}

TEST(a_handler_may_record_in_the_first_event, "EVENT-12 EVENT-13")
{
	step_new_children(&first_event, HANDLE);
}

TEST(the_first_event_may_be_left, "EVENT-28")
{
	step_new_children(&first_event, LEAVE);
}

/*
 * Full streams
 */

/* A LOOP stream that has been flooded: room is taken from what it holds. */
static void step_through_overwriting(enum fate fate)
{
	const struct plan plan = {.policy = POSIX_TRACE_LOOP,
				  .stream_bytes = 65536,
				  .batch = 26,
				  .len = 1900,
				  .warm = 1,
				  .long_points = 30};
	struct points points = {.at = 0};
	uint32_t flooded = 0, read = 0;

	skip_if_sampling(fate);
	prepare();
	trace_id_t trid = create_for(&plan);
	while (!is_enough(&points, &plan)) {
		struct seen seen = {.time = 0};
		atomic_store(&state->handled, 0);
		pid_t pid = begin_child(&plan, fate, 0);
		attach(pid);
		/* With room of its own, and then all full. */
		for (uint32_t bytes = 0; bytes < 2 * plan.stream_bytes + TS_SLACK_BYTES;
		     bytes += 1000)
			emit(OTHER, flooded++, 1000);
		bool is_inside = run_to_fate(&points, &plan, fate, pid);
		emit(OTHER, flooded++, 32);
		read_up_to(trid, &seen, OTHER, flooded - 1);
		ts_expect_none(trid);
		CHECK_EQ(seen.gaps, 1);
		/* What was overwritten is counted, even if its writer was killed meanwhile. */
		read += seen.count[OTHER];
		CHECK_GE(ts_figure(trid, "lost_events"), flooded - read);
		/* All of the child's fit into the window of the newest. */
		check_new_child(&seen, is_inside, fate);
		if (!is_inside || fate != KILL)
			harness_kill(pid);
		CHECK_EQ(ts_status(trid).posix_stream_status, POSIX_TRACE_RUNNING);
	}
	NOTE("%s at %u points to %u", fate_names[fate], points.count, points.at);
	expect_whole_room(trid, &plan);
}

TEST(a_handler_may_record_while_old_events_give_way, "EVENT-12 EVENT-13 POLICY-13")
{
	step_through_overwriting(HANDLE);
}

TEST(an_event_may_be_left_while_old_events_give_way, "EVENT-28 POLICY-13")
{
	step_through_overwriting(LEAVE);
}

TEST(a_process_may_be_killed_while_old_events_give_way, "EVENT-23 POLICY-13")
{
	step_through_overwriting(KILL);
}

/* An UNTIL_FULL stream that becomes full somewhere in the batch. */
static void step_through_automatic_stop(enum fate fate)
{
	const struct plan plan = {.policy = POSIX_TRACE_UNTIL_FULL,
				  .stream_bytes = 16384,
				  .batch = 20,
				  .len = 1900,
				  .warm = 1,
				  .long_points = 40};
	struct points points = {.at = 0};
	uint32_t others = 0, capacity = 0, filled;

	skip_if_sampling(fate);
	prepare();
	trace_id_t trid = create_for(&plan);
	/* How many fill it. */
	while (ts_status(trid).posix_stream_status == POSIX_TRACE_RUNNING) {
		emit(OTHER, others++, plan.len);
		capacity++;
	}
	struct ts_events all = ts_read_all(trid);
	ts_events_free(&all);
	filled = capacity > 12 ? capacity - 12 : 0;
	while (!is_enough(&points, &plan)) {
		struct seen seen = {.time = 0};
		struct ts_event event;
		atomic_store(&state->handled, 0);
		for (uint32_t i = 0; i < filled; i++)
			emit(OTHER, others++, plan.len);
		pid_t pid = begin_child(&plan, fate, 0);
		attach(pid);
		bool is_inside = run_to_fate(&points, &plan, fate, pid);
		/* Whatever state it was left in, another process makes it full and
		 * stopped. */
		uint32_t before = others;
		for (int i = 0; i < 60; i++)
			emit(OTHER, others++, 2000);
		ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL,
				 POSIX_TRACE_OVERRUN);
		while (seen.stops == 0) {
			event = ts_next(trid);
			look_at(&seen, &event);
			ts_event_free(&event);
		}
		/* What it holds is a beginning of what there was: without a hole, and
		 * of the last ones only if all before are there. */
		if (seen.count[STEPPED])
			CHECK_EQ(seen.first[STEPPED], 0);
		CHECK_LE(seen.count[STEPPED], atomic_load(&state->started));
		if (filled)
			CHECK_EQ(seen.first[OTHER], before - filled);
		CHECK_LE(seen.next[OTHER], others);
		if (seen.count[OTHER] > filled)
			check_new_child(&seen, is_inside, fate);
		/* Restarted, and empty but for START. */
		event = ts_next(trid);
		CHECK_EQ(event.info.posix_event_id, POSIX_TRACE_START);
		ts_expect_none(trid);
		struct posix_trace_status_info status = ts_status(trid);
		CHECK_EQ(status.posix_stream_status, POSIX_TRACE_RUNNING);
		CHECK_EQ(status.posix_stream_full_status, POSIX_TRACE_NOT_FULL);
		if (!is_inside || fate != KILL)
			harness_kill(pid);
	}
	NOTE("%s at %u points to %u", fate_names[fate], points.count, points.at);
	expect_whole_room(trid, &plan);
}

TEST(a_handler_may_record_while_the_stream_stops_itself, "EVENT-12 EVENT-13 POLICY-15 POLICY-17")
{
	step_through_automatic_stop(HANDLE);
}

TEST(an_event_may_be_left_while_the_stream_stops_itself, "EVENT-28 POLICY-15 POLICY-17")
{
	step_through_automatic_stop(LEAVE);
}

TEST(a_process_may_be_killed_while_the_stream_stops_itself, "EVENT-23 POLICY-15 POLICY-17")
{
	step_through_automatic_stop(KILL);
}

/*
 * Stopped, and going on later
 */

TEST(a_reader_gets_along_with_a_writer_stopped_at_any_instruction, "GETNEXT-33 EVENT-18")
{
	enum { stride = 13 };
	uint32_t others = 0;
	struct seen seen;
	bool is_inside = true;

	prepare();
	trace_id_t trid = create_for(&one_event);
	pid_t pid = begin_child(&one_event, HANDLE, 0);
	attach(pid);
	run_to(pid, ROUND_OVER, 0);
	memset(&seen, 0, sizeof(seen));
	read_up_to(trid, &seen, SENTINEL, 0);
	for (uint32_t round = 1, at = 0; is_inside; round++, at += stride) {
		memset(&seen, 0, sizeof(seen));
		run_to(pid, BEGIN, 0);
		is_inside = step(pid, at);
		/* It stands still in the middle, and the reader gets ours all the
		 * same. */
		emit(OTHER, others, 32);
		read_up_to(trid, &seen, OTHER, others);
		others++;
		ts_expect_none(trid);
		run_to(pid, ROUND_OVER, 0);
		/* The late one has the right to an old stamp. */
		seen.time = 0;
		while (seen.count[SENTINEL] == 0) {
			struct ts_event event = ts_next(trid);
			if (seen.count[STEPPED] == 1)
				seen.time = 0;
			look_at(&seen, &event);
			ts_event_free(&event);
		}
		CHECK_EQ(seen.count[STEPPED], 1);
		CHECK_EQ(seen.next[STEPPED], round + 1);
		ts_expect_none(trid);
	}
	harness_kill(pid);
	expect_whole_room(trid, &one_event);
}

/*
 * In one process: a call that traps at each of its instructions.
 */

static struct {
	/* Instructions so far, and that at which something happens. */
	uint32_t steps, point;
	void (*happen)(void);
	volatile bool is_on;
} trap;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];

	(void)sig;
	(void)info;
	*flags |= 0x100;
	if (trap.is_on && trap.steps++ == trap.point) {
		trap.happen();
		trap.is_on = false;
	}
	if (!trap.is_on)
		*flags &= ~0x100;
}

static void nothing(void)
{
}

/* No clock entry is due for long: that call would take the long way, with signals blocked,
 * where a trap is the end. */
static void put_off_clock(void)
{
	struct ptrc_stream_header *h = find_stream();
	uint64_t last = (atomic_load(&h->clock_word) >> 32) - 1;

	atomic_fetch_add(&ptrc_stream_clock(h)[last].due, UINT64_C(1) << 36);
	atomic_fetch_add(&h->clock_due, UINT64_C(1) << 36);
}

/* Instructions of the call, or up to the point, where that happens. */
static uint32_t step_event(const void *data, uint32_t len, uint32_t point, void (*happen)(void))
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};

	CHECK_SYS(sigaction(SIGTRAP, &action, NULL));
	trap.steps = 0;
	trap.point = point;
	trap.happen = happen;
	trap.is_on = true;
	__asm__ volatile("int3" ::: "memory");
	posix_trace_event(event_id, data, len);
	trap.is_on = false;
	return trap.steps;
}

/* A stream for one call: what a call does that comes seconds after the first one takes the
 * long way, too, and rounds may be long. */
static trace_id_t begin_round(void)
{
	trace_id_t trid = ts_create_running(0, NULL);

	put_off_clock();
	for (int i = 0; i < 3; i++)
		posix_trace_event(event_id, "ordinary", 8);
	return trid;
}

TEST(a_call_without_data_does_not_slow_down_the_next, "EVENT-07")
{
	event_id = ts_id("stepped");
	begin_round();
	uint32_t before = step_event("ordinary", 8, UINT32_MAX, nothing);
	posix_trace_event(event_id, NULL, 8);
	uint32_t after = step_event("ordinary", 8, UINT32_MAX, nothing);
	CHECK_EQ(after, before);
}

static struct {
	trace_id_t trid;
	sem_t asked, answered;
} stopper;

static void *stop_when_asked(void *arg)
{
	(void)arg;
	for (;;) {
		CHECK_SYS(sem_wait(&stopper.asked));
		ts_stop(stopper.trid);
		CHECK_SYS(sem_post(&stopper.answered));
	}
}

/* The stream is stopped, and a handler is the first of this thread to see it. */
static void stop_and_record(void)
{
	CHECK_SYS(sem_post(&stopper.asked));
	while (sem_wait(&stopper.answered) < 0)
		;
	posix_trace_event(event_id, "nested", 6);
}

TEST(a_handler_that_sees_a_stop_first_keeps_it_from_nobody, "EVENT-02 EVENT-12")
{
	uint32_t point = harness_random(harness_sample());
	bool is_over = false;

#ifdef HARNESS_IS_SANITIZED
	SKIP("too many instructions with a sanitizer");
#endif
	event_id = ts_id("stepped");
	CHECK_SYS(sem_init(&stopper.asked, 0, 0));
	CHECK_SYS(sem_init(&stopper.answered, 0, 0));
	ts_thread(stop_when_asked, NULL);
	for (; !is_over; point += harness_sample()) {
		struct ts_events events;
		ssize_t stop;

		stopper.trid = begin_round();
		is_over = step_event("stepped", 7, point, stop_and_record) <= point;
		if (!is_over) {
			posix_trace_event(event_id, "suspended", 9);
			events = ts_read_all(stopper.trid);
			stop = ts_find(&events, POSIX_TRACE_STOP, 0);
			CHECK_GT(stop, 0);
			if (ts_find(&events, event_id, (size_t)stop) >= 0)
				harness_fail("recorded while suspended, by instruction %u", point);
			ts_events_free(&events);
		}
		ts_shutdown(stopper.trid);
	}
	CHECK_GT(point, 50);
}

/*
 * On stacks of its own.
 */

#define STACK_BYTES ((size_t)131072)

static struct {
	ucontext_t low, high;
	sigjmp_buf left;
	trace_id_t trid;
	uint32_t point;
	bool is_over;
} stacks;

static void leave_the_stack(void)
{
	trap.is_on = false;
	siglongjmp(stacks.left, 1);
}

static void step_on_high_stack(void)
{
	stacks.is_over = step_event("stepped", 7, stacks.point, leave_the_stack) <= stacks.point;
}

static void record_on_low_stack(void)
{
	void *high = stacks.high.uc_stack.ss_sp;

	for (stacks.point = 0; !stacks.is_over; stacks.point++) {
		sigset_t traps;

		stacks.trid = begin_round();
		if (sigsetjmp(stacks.left, 0) == 0) {
			CHECK_SYS(getcontext(&stacks.high));
			stacks.high.uc_stack.ss_sp = high;
			stacks.high.uc_stack.ss_size = STACK_BYTES;
			stacks.high.uc_link = &stacks.low;
			makecontext(&stacks.high, step_on_high_stack, 0);
			CHECK_SYS(swapcontext(&stacks.low, &stacks.high));
		}
		/* While the signal whose handler has left is still blocked, as if that ran. */
		posix_trace_event(event_id, "after", 6);
		sigemptyset(&traps);
		sigaddset(&traps, SIGTRAP);
		CHECK_SYS(sigprocmask(SIG_UNBLOCK, &traps, NULL));
		struct ts_events events = ts_read_all(stacks.trid);
		CHECK_EQ(events.at[events.count - 1].info.posix_event_id, event_id);
		CHECK_EQ(events.at[events.count - 1].len, 6);
		ts_events_free(&events);
		ts_shutdown(stacks.trid);
	}
}

TEST(an_event_left_on_another_stack_is_not_sought_where_no_memory_is, "EVENT-28")
{
	ucontext_t back;

#ifdef HARNESS_IS_SANITIZED
	SKIP("a sanitizer has stacks and frames of its own");
#endif
	event_id = ts_id("stepped");
	unsigned char *region = mmap(NULL, 2 * STACK_BYTES + 4096, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(region != MAP_FAILED);
	CHECK_SYS(mprotect(region + STACK_BYTES, 4096, PROT_NONE));
	CHECK_SYS(getcontext(&stacks.low));
	stacks.low.uc_stack.ss_sp = region;
	stacks.low.uc_stack.ss_size = STACK_BYTES;
	stacks.low.uc_link = &back;
	stacks.high.uc_stack.ss_sp = region + STACK_BYTES + 4096;
	makecontext(&stacks.low, record_on_low_stack, 0);
	CHECK_SYS(swapcontext(&back, &stacks.low));
	CHECK_GT(stacks.point, 50);
}

/*
 * Other calls.
 */

static trace_id_t forked_trid;

static void fork_in_handler(void)
{
	struct posix_trace_status_info status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(posix_trace_get_status(forked_trid, &status) == EINVAL ? 0 : 1);
	CHECK_EXIT(pid, 0);
}

TEST(a_handler_may_fork_anywhere_in_a_call, "FORK-10 FORK-15 ERRORS-05")
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	char name[TRACE_EVENT_NAME_MAX + 1];

#ifdef HARNESS_IS_SANITIZED
	SKIP("too many instructions with a sanitizer");
#endif
	forked_trid = ts_create(0, NULL);
	CHECK_SYS(sigaction(SIGTRAP, &action, NULL));
	trap.happen = fork_in_handler;
	trap.point = harness_random(harness_sample());
	for (bool is_over = false; !is_over; trap.point += harness_sample()) {
		trap.steps = 0;
		trap.is_on = true;
		__asm__ volatile("int3" ::: "memory");
		int error = posix_trace_eventid_get_name(forked_trid, POSIX_TRACE_START, name);
		trap.is_on = false;
		CHECK_OK(error);
		CHECK_STR_EQ(name, "posix_trace_start");
		is_over = trap.steps <= trap.point;
	}
	CHECK_GT(trap.point, 100);
}

#endif
