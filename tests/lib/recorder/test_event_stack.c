/* SPDX-License-Identifier: MIT */
/* How much stack an event takes, on every way that an event can go (EVENT-26). */
#include "include/posixtrace-private.h"
#include "tests/support/keeper.h"
#include "tests/support/shared_objects.h"

#include <posixtrace-control.h>
#include <spawn.h>

#define LIMIT_BYTES 4096
/* Much more than an event may take, also where the compiler does not optimise. */
#define STACK_BYTES ((size_t)1 << 18)
#define PATTERN 0xa5
#define STREAM_BYTES ((size_t)1 << 16)
/* So many events of so many bytes are more than such a stream can hold. */
#define MANY 4000
#define MANY_BYTES 64

/* The limit holds for what users build. */
#if defined(HARNESS_IS_SANITIZED)
#define NO_LIMIT "the events were recorded, but sanitizers make frames larger"
#elif !defined(__OPTIMIZE__)
#define NO_LIMIT "the events were recorded, but without optimisation frames are larger"
#endif

/* ---- a measurement ---- */

static struct work {
	trace_event_id_t id;
	uint32_t count, bytes;
} work;

static void record(void)
{
	static const unsigned char data[MANY_BYTES];

	for (uint32_t i = 0; i < work.count; i++)
		posix_trace_event(work.id, data, work.bytes);
}

static void record_nothing(void)
{
}

static void (*volatile to_run)(void);

static void run(int sig)
{
	(void)sig;
	to_run();
}

/* How many bytes at the upper end of the stack of the handler are not as they were. A frame reaches
 * down to the last byte that it uses, even if it does not use all that lie above. */
static size_t used_by(unsigned char *stack, void (*function)(void))
{
	size_t untouched = 0;

	memset(stack, PATTERN, STACK_BYTES);
	to_run = function;
	raise(SIGUSR2);
	while (untouched < STACK_BYTES && stack[untouched] == PATTERN)
		untouched++;
	/* A byte of a word that was used may be as it was. */
	return STACK_BYTES - untouched / 8 * 8;
}

/* Record the work in a signal handler. How much stack that takes beyond a handler that does
 * nothing, which is the kernel's frame of the signal and a little more. */
static intptr_t measure(void)
{
	struct sigaction action = {.sa_handler = run, .sa_flags = SA_ONSTACK}, old_action;
	stack_t stack = {.ss_size = STACK_BYTES}, old_stack;

	stack.ss_sp =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(stack.ss_sp != MAP_FAILED);
	CHECK_SYS(sigaltstack(&stack, &old_stack));
	CHECK_SYS(sigaction(SIGUSR2, &action, &old_action));
	size_t used_by_signal = used_by(stack.ss_sp, record_nothing);
	size_t used = used_by(stack.ss_sp, record);
	CHECK_SYS(sigaction(SIGUSR2, &old_action, NULL));
	CHECK_SYS(sigaltstack(&old_stack, NULL));
	munmap(stack.ss_sp, STACK_BYTES);
	CHECK_GE(used, used_by_signal);
	return (intptr_t)(used - used_by_signal);
}

static intptr_t measure_events(trace_event_id_t id, uint32_t count)
{
	work = (struct work){id, count, MANY_BYTES};
	return measure();
}

static bool is_exceeded;

static void judge(const char *way, intptr_t bytes)
{
	NOTE("%s: %d bytes", way, (int)bytes);
	CHECK_GT(bytes, 0);
#ifndef NO_LIMIT
	is_exceeded |= bytes > LIMIT_BYTES;
#endif
}

/* All ways of the case are judged before one of them fails it. */
static void conclude(void)
{
#ifdef NO_LIMIT
	SKIP(NO_LIMIT);
#endif
	CHECK(!is_exceeded);
}

/* ---- what the processes do ---- */

TS_ROUTINE(do_measure)
{
	work = *(const struct work *)arg;
	return measure();
}

/* One event in the target. */
static intptr_t target_bytes(struct ts_target *target, trace_event_id_t id)
{
	struct work one = {id, 1, MANY_BYTES};

	return ts_target_call(target, do_measure, &one, sizeof(one));
}

TS_ROUTINE(do_measure_without_descriptors)
{
	struct rlimit limit, none;

	CHECK_SYS(getrlimit(RLIMIT_NOFILE, &limit));
	none = limit;
	none.rlim_cur = 0;
	CHECK_SYS(setrlimit(RLIMIT_NOFILE, &none));
	intptr_t bytes = do_measure(arg, arg_bytes);
	CHECK_SYS(setrlimit(RLIMIT_NOFILE, &limit));
	return bytes;
}

static void *measure_in_thread(void *bytes)
{
	*(intptr_t *)bytes = measure_events(POSIX_TRACE_UNNAMED_USEREVENT, 1);
	return NULL;
}

/* The one event of a child, which has been forked with fork handlers or without. */
static intptr_t child_bytes(bool has_handlers)
{
	intptr_t *bytes = harness_share(sizeof(*bytes));

	/* Another tick than that of the stream, as only children that are younger join it. */
	harness_sleep_ms(20);
	pid_t pid = has_handlers ? harness_fork() : harness_raw_clone();
	if (pid == 0) {
		*bytes = measure_events(POSIX_TRACE_UNNAMED_USEREVENT, 1);
		_exit(0);
	}
	CHECK_EXIT(pid, 0);
	return *bytes;
}

static intptr_t early_bytes;

/* Before the constructors of the program, of which that of the library is one. */
static void record_early(int argc, char **argv, char **env)
{
	(void)env;
	if (argc > 2 && (strcmp(argv[2], "tell_early_bytes") == 0 ||
			 strcmp(argv[2], "is_clean_after_early_event") == 0))
		early_bytes = measure_events(POSIX_TRACE_UNNAMED_USEREVENT, 1);
}

__attribute__((section(".preinit_array"), used)) static void (*const early)(int, char **,
									    char **) = record_early;

HELPER(tell_early_bytes)
{
	return write(atoi(argv[0]), &early_bytes, sizeof(early_bytes)) !=
	       (ssize_t)sizeof(early_bytes);
}

/* The event of a program before the constructor of the library. The program is executed by a
 * forked child, so the library has run in the process before; or it is spawned. */
static intptr_t program_bytes(bool is_spawned)
{
	char number[16];
	char *argv[] = {(char *)(uintptr_t) "helper", (char *)(uintptr_t) "--helper",
			(char *)(uintptr_t) "tell_early_bytes", number, NULL};
	intptr_t bytes;
	int ends[2];
	pid_t pid;

	CHECK_SYS(pipe(ends));
	snprintf(number, sizeof(number), "%d", ends[1]);
	harness_sleep_ms(20);
	if (is_spawned) {
		CHECK_OK(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ));
	} else {
		pid = harness_fork();
		if (pid == 0)
			harness_exec(argv[2], number, (char *)NULL);
	}
	CHECK_EXIT(pid, 0);
	CHECK_EQ(read(ends[0], &bytes, sizeof(bytes)), (ssize_t)sizeof(bytes));
	close(ends[0]);
	close(ends[1]);
	return bytes;
}

/* ---- streams ---- */

static trace_id_t make_stream(pid_t pid, int policy)
{
	trace_attr_t attr = ts_inherited_attr(policy, STREAM_BYTES, 0);

	return ts_create(pid, &attr);
}

static trace_id_t stream_on(pid_t pid, int policy)
{
	trace_id_t trid = make_stream(pid, policy);

	ts_start(trid);
	ts_expect(trid, POSIX_TRACE_START);
	return trid;
}

static void expect_events(trace_id_t trid, size_t count)
{
	struct ts_events events = ts_read_all(trid);

	CHECK_EQ(ts_count(&events, POSIX_TRACE_UNNAMED_USEREVENT), count);
	ts_events_free(&events);
}

/* ---- beginnings ---- */

static void measure_targets(void)
{
	const trace_event_id_t id = POSIX_TRACE_UNNAMED_USEREVENT;
	struct work one = {id, 1, MANY_BYTES};
	struct ts_target target = ts_target_fork();

	ts_target_exec(&target);
	trace_id_t trid = stream_on(target.pid, POSIX_TRACE_LOOP);
	judge("first event of a process", target_bytes(&target, id));
	trace_id_t other = stream_on(target.pid, POSIX_TRACE_LOOP);
	judge("first event of a second stream", target_bytes(&target, id));
	expect_events(other, 1);
	judge("first event of a name that the controller has opened",
	      target_bytes(&target, ts_trid_id(trid, "opened by the controller")));
	ts_shutdown(other);
	judge("event after the end of a stream", target_bytes(&target, id));
	expect_events(trid, 3);
	other = stream_on(target.pid, POSIX_TRACE_LOOP);
	judge("event that has no descriptor to map a stream",
	      ts_target_call(&target, do_measure_without_descriptors, &one, sizeof(one)));
	expect_events(other, 0);
	judge("event that finds descriptors again", target_bytes(&target, id));
	expect_events(other, 1);
	ts_target_end(&target);
	ts_shutdown(other);
	ts_shutdown(trid);
}

static void measure_children(void)
{
	trace_id_t trid = stream_on(0, POSIX_TRACE_LOOP);

	judge("first event of a forked child", child_bytes(true));
	judge("first event of a child without fork handlers", child_bytes(false));
	expect_events(trid, 2);
	ts_shutdown(trid);
}

static void measure_programs(void)
{
	trace_id_t trid = stream_on(0, POSIX_TRACE_LOOP);

	judge("event before the constructor of an executed program", program_bytes(false));
	judge("event before the constructor of a spawned program", program_bytes(true));
	expect_events(trid, 2);
	ts_shutdown(trid);
}

static void measure_all_beginnings(void)
{
	measure_targets();
	measure_children();
	measure_programs();
}

TEST(first_events_of_processes_and_streams_take_little_stack, "EVENT-26",
     NEEDS_EXEC | NEEDS_FORK_ADVICE)
{
	measure_all_beginnings();
	conclude();
}

TEST(first_events_of_threads_take_little_stack, "EVENT-26")
{
	trace_id_t trid = stream_on(0, POSIX_TRACE_LOOP);
	intptr_t bytes;

	ts_join(ts_thread(measure_in_thread, &bytes));
	judge("first event of a thread", bytes);
	expect_events(trid, 1);
	conclude();
}

HELPER(all_beginnings)
{
	measure_all_beginnings();
	return is_exceeded;
}

/* Where the user's directory must be searched for, with all that can make this difficult: the base
 * directory is not root's, and the number of the user outside is root's. */
TEST(first_events_take_little_stack_where_the_directory_has_its_second_name, "EVENT-26",
     NEEDS_EXEC | NEEDS_FORK_ADVICE)
{
	if (geteuid() != 0 || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=64m,mode=1777,uid=1"))
		SKIP("cannot mount another /dev/shm");
	if (IN_CHILD())
		harness_exec("all_beginnings", (char *)NULL);
	conclude();
}

/* ---- what is left to be cleaned up ---- */

static size_t count_streams(void)
{
	int dirfd = open_dir();
	DIR *dir = fdopendir(dirfd);
	struct dirent *entry;
	size_t count = 0;

	CHECK(dir);
	while ((entry = readdir(dir)))
		count += strncmp(entry->d_name, "s.", 2) == 0;
	closedir(dir);
	return count;
}

HELPER(is_clean_after_early_event)
{
	return early_bytes == 0 || count_streams() != (size_t)atoi(argv[0]);
}

TEST(what_an_event_before_the_constructor_leaves_the_constructor_cleans_up, "EVENT-26 GEN-05",
     NEEDS_EXEC)
{
	stream_on(0, POSIX_TRACE_LOOP);
	size_t count = count_streams();
	char number[24];

	snprintf(number, sizeof(number), "%zu", count);
	if (IN_CHILD()) {
		/* A program that executes another one leaves its streams. */
		ts_create(0, NULL);
		CHECK_EQ(count_streams(), count + 1);
		harness_exec("is_clean_after_early_event", number, (char *)NULL);
	}
}

TEST(first_event_of_a_child_that_cleans_up_takes_little_stack, "EVENT-26 GEN-05", NEEDS_FORK_ADVICE)
{
	trace_id_t trid = stream_on(0, POSIX_TRACE_LOOP);
	/* With the page of the child there are as many as it takes. */
	int end = leave_pages(open_dir(), 1);

	judge("first event of a child without fork handlers that cleans up", child_bytes(false));
	expect_events(trid, 1);
	for (int pid = DEAD_PID; pid < end; pid++)
		CHECK(!has_page(pid));
	conclude();
}

/* ---- many events ---- */

TEST(full_streams_take_little_stack, "EVENT-26")
{
	trace_id_t trid = stream_on(0, POSIX_TRACE_LOOP);

	judge("events that overwrite", measure_events(POSIX_TRACE_UNNAMED_USEREVENT, MANY));
	CHECK_EQ(ts_status(trid).posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
	ts_shutdown(trid);
	trid = stream_on(0, POSIX_TRACE_UNTIL_FULL);
	judge("events that fill a stream", measure_events(POSIX_TRACE_UNNAMED_USEREVENT, MANY));
	ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL, POSIX_TRACE_OVERRUN);
	judge("event of a full stream", measure_events(POSIX_TRACE_UNNAMED_USEREVENT, 1));
	conclude();
}

TEST(full_streams_with_a_log_take_little_stack, "EVENT-26", NEEDS_KEEPER)
{
	for (int waits = 0; waits < 2; waits++) {
		trace_attr_t attr =
			log_attr(POSIX_TRACE_FLUSH, STREAM_BYTES, POSIX_TRACE_APPEND, 0);
		struct ts_stuck stuck;

		CHECK_OK(posixtrace_attr_setfullwait(&attr,
						     &(struct timespec){0, waits * 50000000}));
		trace_id_t trid = ts_create_stuck(0, &attr, &stuck);
		ts_start(trid);
		judge(waits ? "events that wait for room" : "events that find no room",
		      measure_events(POSIX_TRACE_UNNAMED_USEREVENT, MANY));
		CHECK_EQ(ts_status(trid).posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
		struct ptrc_counts counts = counts_of(trid);
		CHECK_EQ(counts.pt_waits > 0, waits);
		ts_unstick(&stuck);
		ts_shutdown(trid);
		/* Its thread goes on until the log has ended. */
		close(ts_stuck_log(&stuck));
	}
	conclude();
}

TEST(updates_of_the_clock_take_little_stack, "EVENT-26")
{
	trace_id_t trid = stream_on(0, POSIX_TRACE_LOOP);

	for (int i = 0; i < 5; i++) {
		judge("event after a pause", measure_events(POSIX_TRACE_UNNAMED_USEREVENT, 1));
		harness_sleep_ms(20);
	}
	expect_events(trid, 5);
	conclude();
}

/* ---- names ---- */

static struct posixtrace_pattern make_pattern(int how, const char *glob)
{
	struct posixtrace_pattern p = {.pt_how = how};

	snprintf(p.pt_glob, sizeof(p.pt_glob), "%s", glob);
	return p;
}

TEST(patterns_take_little_stack, "EVENT-26")
{
	const struct posixtrace_pattern patterns[] = {
		make_pattern(POSIXTRACE_ONLY, "*[a-z]*.?*tune*"),
		make_pattern(POSIXTRACE_EXCLUDE, "*n*o*i*s*e*"),
	};
	trace_id_t trid = make_stream(0, POSIX_TRACE_LOOP);
	trace_event_id_t tune = ts_id("event.stack.tune"), noise = ts_id("event.stack.tune.noise");

	CHECK_OK(posixtrace_set_patterns(trid, patterns, 2));
	ts_start(trid);
	judge("first event of a name that matches", measure_events(tune, 1));
	judge("first event of a name that is excluded", measure_events(noise, 1));
	ts_expect(trid, POSIX_TRACE_START);
	ts_expect(trid, tune);
	ts_expect_none(trid);
	conclude();
}
