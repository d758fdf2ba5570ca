/* SPDX-License-Identifier: MIT */
/*
 * Test cases, each run in a forked child of its own, with results in the format of TAP. A test
 * program is
 *
 *	#include "tests/support/harness.h"
 *
 *	TEST(loop_stream_keeps_the_newest, "POLICY-13 POLICY-14")
 *	{
 *		CHECK(condition);
 *		CHECK_EQ(actual, expected);
 *	}
 *
 * and nothing else: main() is in this header. The name of a case is a statement that must be true.
 * The string after it lists the requirements of the standard that the case proves
 * (docs/requirements.md); it is empty if the case is about an addition of ours to the standard. The
 * line of the result is `ok 3 - name [POLICY-13 POLICY-14]', or `ok 3 - name'.
 *
 * The first check that fails ends its process and makes the case fail; children that a case forks
 * may check, too. A case also fails if it exits with another status than 0, dies of a signal, or
 * runs longer than HARNESS_TIMEOUT_S; then its whole process group is killed. A case starts with
 * the default signal dispositions. Nothing of the library is initialised, apart from what its
 * constructor did in the parent. A case need not free or close anything, because its process ends.
 *
 * No case depends on the speed of the machine. A case waits for a state (CHECK_EVENTUALLY), or
 * forces an order of events: it stops a process or holds a lock. To prove that a call has not
 * waited, it counts how often its thread has slept (harness_naps) instead of measuring time. To
 * prove that a call has waited long enough, it may measure time.
 *
 *	test_x		run all cases	    test_x NAME...	run only these
 *	test_x -l	list them	    -v			show notes and times
 *	test_x --helper NAME ARG...	    run HELPER(NAME), for harness_exec()
 *
 * Environment variables:
 * PTRC_TEST_SLOWDOWN, a whole number, multiplies all time limits, for slow machines.
 * PTRC_TEST_SAMPLE=8: a case that tries all instructions of a call, or all stores, one by one tries
 * only each eighth, starting with a random one; a case that repeats a race for a long time repeats
 * it for an eighth of that time. PTRC_TEST_SEED repeats the random choice of an earlier run, which
 * has printed this variable.
 * PTRC_TEST_LACKS, words with blanks between them: features that are missing, for instance under an
 * emulator. Cases that need them, such as TEST(name, ids, NEEDS_KEEPER), are skipped.
 */
#ifndef TESTS_HARNESS_H
#define TESTS_HARNESS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* With a sanitizer, gcc defines one of these macros, and clang reports a feature. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HARNESS_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HARNESS_IS_SANITIZED 1
#endif
#endif

/* After these times, multiplied by PTRC_TEST_SLOWDOWN, something counts as hanging: a case; a
 * condition for which a case waits (CHECK_EVENTUALLY); and the processes that a case leaves
 * running, such as the keeper of a stream whose controller was killed. */
#define HARNESS_TIMEOUT_S 300
#define HARNESS_PATIENCE_MS 60000
#define HARNESS_LINGER_MS 20000

/* Features that a case may need and that an emulator of another processor (qemu-aarch64 7.2, user
 * mode) lacks. */
enum harness_need {
	NEEDS_KEEPER = 1 << 0,
	NEEDS_EXEC = 1 << 1,
	NEEDS_SPEED = 1 << 2,
	NEEDS_SUBREAPER = 1 << 3,
	NEEDS_THREADED_FORK = 1 << 4,
	NEEDS_FORK_ADVICE = 1 << 5,
	NEEDS_PWRITEV2 = 1 << 6,
	NEEDS_ADDRESS_LIMIT = 1 << 7,
};

#define HARNESS_NEEDS 8
/* For each need, its word in PTRC_TEST_LACKS, and the reason that is printed when a case is
 * skipped. */
static const struct {
	unsigned int need;
	const char *word, *reason;
} harness_needs[HARNESS_NEEDS] = {
	{NEEDS_KEEPER, "keeper",
	 "no process without an exit signal, so no keeper: no log can be written"},
	{NEEDS_EXEC, "exec", "programs of another processor are not executed"},
	{NEEDS_SPEED, "speed", "the time of an event is not exact"},
	{NEEDS_SUBREAPER, "subreaper", "PR_SET_CHILD_SUBREAPER is not known"},
	{NEEDS_THREADED_FORK, "threaded-fork", "a fork amid threads may hang"},
	{NEEDS_FORK_ADVICE, "fork-advice",
	 "MADV_DONTFORK, MADV_WIPEONFORK and vfork are not known"},
	{NEEDS_PWRITEV2, "pwritev2", "pwritev2 is not known"},
	{NEEDS_ADDRESS_LIMIT, "address-limit", "RLIMIT_AS does not bind programs"},
};

struct harness_case {
	const char *name;
	const char *ids;
	void (*run)(void);
	int line;
	unsigned int needs;
	struct harness_case *next;
};

struct harness_helper {
	const char *name;
	int (*run)(int argc, char **argv);
	struct harness_helper *next;
};

/* In memory that is shared by all processes of a case and the harness process, which prints the
 * result. */
struct harness_shared {
	atomic_bool failed;
	atomic_bool skipped;
	atomic_size_t used;
	char text[16384];
};

static struct harness_case *harness_cases;
static struct harness_helper *harness_helpers;
static struct harness_shared *harness_shared;
static bool harness_verbose;
/* When the current case was started, CLOCK_MONOTONIC. */
static int64_t harness_begin_ns;
static unsigned int harness_seed;

/* Defines the case case_name, a C identifier. case_ids, which may be empty, are the requirements
 * that it proves. The features that it needs may follow, such as NEEDS_KEEPER | NEEDS_EXEC. */
#define TEST(case_name, case_ids, ...)                                         \
	static void harness_run_##case_name(void);                             \
	static struct harness_case harness_case_##case_name = {                \
		.name = #case_name,                                            \
		.ids = case_ids,                                               \
		.run = harness_run_##case_name,                                \
		.line = __LINE__,                                              \
		.needs = 0 __VA_OPT__(|) __VA_ARGS__,                          \
	};                                                                     \
	__attribute__((constructor)) static void harness_add_##case_name(void) \
	{                                                                      \
		harness_add(&harness_case_##case_name);                        \
	}                                                                      \
	static void harness_run_##case_name(void)

/* HELPER(name) { ... return status; } defines a function that harness_exec() runs in a new
 * execution of this program. It has the parameters int argc and char **argv; argv[0] is the first
 * argument after the name. */
#define HELPER(helper_name)                                                       \
	static int harness_help_##helper_name(int, char **);                      \
	static struct harness_helper harness_helper_##helper_name = {             \
		#helper_name, harness_help_##helper_name, NULL};                  \
	__attribute__((constructor)) static void harness_addh_##helper_name(void) \
	{                                                                         \
		harness_helper_##helper_name.next = harness_helpers;              \
		harness_helpers = &harness_helper_##helper_name;                  \
	}                                                                         \
	static int harness_help_##helper_name(__attribute__((unused)) int argc,   \
					      __attribute__((unused)) char **argv)

#define CHECK(condition)                                                           \
	do {                                                                       \
		if (!(condition))                                                  \
			harness_fail("%s:%d: %s", __FILE__, __LINE__, #condition); \
	} while (0)

/* These compare integers of any type, enumerators, characters, truth values or pointers, after
 * converting them to intmax_t. */
#define CHECK_EQ(actual, expected) HARNESS_COMPARE(actual, ==, expected)
#define CHECK_NE(actual, expected) HARNESS_COMPARE(actual, !=, expected)
#define CHECK_LT(actual, expected) HARNESS_COMPARE(actual, <, expected)
#define CHECK_LE(actual, expected) HARNESS_COMPARE(actual, <=, expected)
#define CHECK_GT(actual, expected) HARNESS_COMPARE(actual, >, expected)
#define CHECK_GE(actual, expected) HARNESS_COMPARE(actual, >=, expected)

#define HARNESS_COMPARE(actual, op, expected)                                                      \
	do {                                                                                       \
		intmax_t harness_a = (intmax_t)(actual);                                           \
		intmax_t harness_e = (intmax_t)(expected);                                         \
		if (!(harness_a op harness_e))                                                     \
			harness_fail("%s:%d: %s " #op " %s: it is %" PRIdMAX " against %" PRIdMAX, \
				     __FILE__, __LINE__, #actual, #expected, harness_a,            \
				     harness_e);                                                   \
	} while (0)

/* The call must succeed. For CHECK_OK it returns 0 or an error number; for CHECK_SYS it returns -1
 * and sets errno on failure. CHECK_SYS is an expression with the value of the call. */
#define CHECK_OK(call)                                                                \
	do {                                                                          \
		int harness_err = (call);                                             \
		if (harness_err)                                                      \
			harness_fail("%s:%d: %s: %s (%d)", __FILE__, __LINE__, #call, \
				     strerror(harness_err), harness_err);             \
	} while (0)

#define CHECK_SYS(call)                                                                            \
	__extension__({                                                                            \
		__auto_type harness_ret = (call);                                                  \
		if (harness_ret == (__typeof__(harness_ret))-1)                                    \
			harness_fail("%s:%d: %s: %s", __FILE__, __LINE__, #call, strerror(errno)); \
		harness_ret;                                                                       \
	})

#define CHECK_STR_EQ(actual, expected)                                                    \
	do {                                                                              \
		const char *harness_a = (actual);                                         \
		const char *harness_e = (expected);                                       \
		if (strcmp(harness_a, harness_e) != 0)                                    \
			harness_fail("%s:%d: %s is \"%.200s\", not \"%.200s\"", __FILE__, \
				     __LINE__, #actual, harness_a, harness_e);            \
	} while (0)

#define CHECK_MEM_EQ(actual, expected, bytes)                                             \
	do {                                                                              \
		if (memcmp((actual), (expected), (bytes)) != 0)                           \
			harness_fail("%s:%d: %s and %s differ within %s bytes", __FILE__, \
				     __LINE__, #actual, #expected, #bytes);               \
	} while (0)

/* Waits for the child to end; it must have exited with this status. */
#define CHECK_EXIT(pid, status)                                                               \
	do {                                                                                  \
		int harness_w = harness_reap(pid);                                            \
		if (!WIFEXITED(harness_w) || WEXITSTATUS(harness_w) != (status))              \
			harness_fail("%s:%d: child %s ended with wait status 0x%x", __FILE__, \
				     __LINE__, #pid, (unsigned int)harness_w);                \
	} while (0)

/* Forks. True in the child; false in the parent, after the child has exited with 0, as it must.
 * Use: if (IN_CHILD()) { ... _exit(0); } */
#define IN_CHILD() harness_in_child(__FILE__, __LINE__)

/* Waits until the condition is true; evaluates it every millisecond. */
#define CHECK_EVENTUALLY(condition)                                                          \
	do {                                                                                 \
		int64_t harness_end = harness_now_ns() + harness_patience_ms() * 1000000;    \
		while (!(condition)) {                                                       \
			if (harness_now_ns() > harness_end)                                  \
				harness_fail("%s:%d: does not come: %s", __FILE__, __LINE__, \
					     #condition);                                    \
			harness_sleep_ms(1);                                                 \
		}                                                                            \
	} while (0)

/* Ends the case as skipped. */
#define SKIP(reason) harness_skip(reason)

/* Adds a line to the output of the case, which is shown with -v or if the case fails. */
#define NOTE(...) harness_note(__VA_ARGS__)

__attribute__((format(printf, 1, 0))) static inline void harness_vnote(const char *format,
								       va_list args)
{
	char line[1024];
	int len = vsnprintf(line, sizeof(line) - 1, format, args);
	if (len < 0)
		return;
	if ((size_t)len > sizeof(line) - 2)
		len = (int)sizeof(line) - 2;
	line[len++] = '\n';
	if (!harness_shared) {
		(void)!write(STDERR_FILENO, "# ", 2);
		(void)!write(STDERR_FILENO, line, (size_t)len);
		return;
	}
	size_t at = atomic_fetch_add(&harness_shared->used, (size_t)len);
	if (at + (size_t)len < sizeof(harness_shared->text))
		memcpy(harness_shared->text + at, line, (size_t)len);
}

__attribute__((format(printf, 1, 2))) static inline void harness_note(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	harness_vnote(format, args);
	va_end(args);
}

/* Ends by _exit(), because the process may be in any state, even in a signal handler, or may be a
 * forked child, which must not run the exit handlers of its parent. */
__attribute__((noreturn, format(printf, 1, 2))) static inline void harness_fail(const char *format,
										...)
{
	va_list args;
	va_start(args, format);
	harness_vnote(format, args);
	va_end(args);
	if (harness_shared)
		atomic_store(&harness_shared->failed, true);
	_exit(1);
}

__attribute__((noreturn)) static inline void harness_skip(const char *reason)
{
	if (harness_shared) {
		/* The result line shows the first note as the reason, so earlier notes are
		 * dropped. */
		atomic_store(&harness_shared->used, 0);
		harness_note("%s", reason);
		atomic_store(&harness_shared->skipped, true);
	}
	_exit(0);
}

/* CLOCK_MONOTONIC. */
static inline int64_t harness_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Whether the case has run for less than three seconds. A case that tries a race in many rounds stops at that time,
 * because a slow machine would take too long for all rounds. */
static inline bool harness_has_time(void)
{
	return harness_now_ns() - harness_begin_ns < INT64_C(3000000000);
}

static inline void harness_sleep_ms(int ms)
{
	struct timespec delay = {ms / 1000, (long)(ms % 1000) * 1000000};
	nanosleep(&delay, NULL);
}

/* The factor by which every time limit is multiplied, at least 1. */
static inline int harness_slowdown(void)
{
	const char *text = getenv("PTRC_TEST_SLOWDOWN");
	int factor = text ? atoi(text) : 1;
	return factor > 0 ? factor : 1;
}

/* How long to wait for something that should happen at once, before the case fails. */
static inline int64_t harness_patience_ms(void)
{
	return (int64_t)HARNESS_PATIENCE_MS * harness_slowdown();
}

/* How often the calling thread has slept (given up its processor to wait) so far. Times when the
 * kernel took the processor away do not count. */
static inline long harness_naps(void)
{
	struct rusage usage;
	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* A case that tries many points one by one shall try only every n-th; this is n. */
static inline unsigned int harness_sample(void)
{
	const char *text = getenv("PTRC_TEST_SAMPLE");
	int sample = text ? atoi(text) : 1;
	return sample > 0 ? (unsigned int)sample : 1;
}

/* A random number below the bound: the first point of a sample. 0 if all points are tried. */
static inline unsigned int harness_random(unsigned int bound)
{
	if (harness_sample() == 1)
		return 0;
	harness_seed = harness_seed * 1103515245 + 12345;
	return (harness_seed >> 8) % bound;
}

/* A pseudo-random number below the bound. The sequence of numbers is the same in each run. */
static inline uint64_t harness_draw(uint64_t bound)
{
	static uint64_t state = 88172645463325252U;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % bound;
}

static inline void harness_choose_seed(void)
{
	const char *text = getenv("PTRC_TEST_SEED");

	harness_seed = text ? (unsigned int)strtoul(text, NULL, 10)
			    : (unsigned int)(harness_now_ns() / 1000 % 1000000);
	if (harness_sample() > 1)
		printf("# PTRC_TEST_SEED=%u\n", harness_seed);
}

/* Waits until the child has ended, and returns its wait status. */
static inline int harness_reap(pid_t pid)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			harness_fail("waitpid %d: %s", (int)pid, strerror(errno));
	return status;
}

/* Kills the child, and returns when it has ended. */
static inline void harness_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	harness_reap(pid);
}

/* Stops the child, and returns when all its threads have stopped. */
static inline void harness_stop(pid_t pid)
{
	int status = 0;
	if (kill(pid, SIGSTOP) < 0 || waitpid(pid, &status, WUNTRACED) != pid ||
	    !WIFSTOPPED(status))
		harness_fail("process %d does not stop", (int)pid);
}

/* In a child: stands still, so that its parent, in harness_wait_until_still(), goes on. */
__attribute__((noreturn)) static inline void harness_stand_still(void)
{
	raise(SIGSTOP);
	_exit(0);
}

static inline void harness_wait_until_still(pid_t pid)
{
	int status = 0;
	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		harness_fail("process %d ends before it stands still", (int)pid);
}

static inline pid_t harness_fork(void)
{
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0)
		harness_fail("fork: %s", strerror(errno));
	return pid;
}

/* Forks without fork handlers, and without the C library's knowledge. */
static inline pid_t harness_raw_clone(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid < 0)
		harness_fail("clone: %s", strerror(errno));
	return pid;
}

static inline bool harness_in_child(const char *file, int line)
{
	pid_t pid = harness_fork();

	if (pid == 0)
		return true;
	int status = harness_reap(pid);
	if (status)
		harness_fail("%s:%d: the child ended with wait status 0x%x", file, line,
			     (unsigned int)status);
	return false;
}

/* A gate, at which processes wait for each other: harness_pass() returns once for each
 * harness_open(). It is made before the fork, and closes on exec. */
struct harness_gate {
	int ends[2];
};

static inline struct harness_gate harness_gate(void)
{
	struct harness_gate gate;

	CHECK_SYS(pipe2(gate.ends, O_CLOEXEC));
	return gate;
}

static inline void harness_open(const struct harness_gate *gate)
{
	CHECK_EQ(write(gate->ends[1], "", 1), 1);
}

static inline void harness_pass(const struct harness_gate *gate)
{
	char byte;

	CHECK_EQ(read(gate->ends[0], &byte, 1), 1);
}

/* Replaces this process by a new execution of the test program, which runs HELPER(name). At most
 * ten arguments, then NULL. The environment is unchanged. If the exec fails, the case fails. */
__attribute__((sentinel)) static inline void harness_exec(const char *name, ...)
{
	char *argv[14];
	int argc = 0;
	va_list args;

	argv[argc++] = (char *)(uintptr_t) "helper";
	argv[argc++] = (char *)(uintptr_t) "--helper";
	argv[argc++] = (char *)(uintptr_t)name;
	va_start(args, name);
	while (argc < 13 && (argv[argc] = va_arg(args, char *)))
		argc++;
	va_end(args);
	argv[argc] = NULL;
	execv("/proc/self/exe", argv);
	harness_fail("exec of helper %s: %s", name, strerror(errno));
}

/* Allocates memory that this process will share with the children that it forks. */
static inline void *harness_share(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(at != MAP_FAILED);
	return at;
}

/* Inserts the case in the order of the source lines, because constructors may run in any order. */
static inline void harness_add(struct harness_case *new_case)
{
	struct harness_case **at = &harness_cases;
	while (*at && (*at)->line < new_case->line)
		at = &(*at)->next;
	new_case->next = *at;
	*at = new_case;
}

/* Waits for the processes that are left in the process group of a case, and kills them if they take
 * too long. Those whose parent has ended are children of this process, which is a subreaper. */
static inline void harness_end_group(pid_t group)
{
	int64_t end = harness_now_ns() + (int64_t)HARNESS_LINGER_MS * harness_slowdown() * 1000000;
	for (;;) {
		while (waitpid(-group, NULL, WNOHANG | __WALL) > 0)
			;
		if (kill(-group, 0) < 0)
			return;
		if (harness_now_ns() > end)
			break;
		harness_sleep_ms(1);
	}
	harness_note("killed what the case left running");
	kill(-group, SIGKILL);
	while (waitpid(-group, NULL, __WALL) > 0 || errno == EINTR)
		;
}

/* Processor time of all cases that have ended, in seconds. */
static inline double harness_processor_s(void)
{
	struct rusage usage;
	getrusage(RUSAGE_CHILDREN, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static inline void harness_print_result(const char *result, int number,
					const struct harness_case *one)
{
	printf("%s %d - %s", result, number, one->name);
	if (*one->ids)
		printf(" [%s]", one->ids);
}

static inline void harness_print_text(size_t from)
{
	size_t used = atomic_load(&harness_shared->used);
	char *text = harness_shared->text;
	if (used >= sizeof(harness_shared->text))
		used = sizeof(harness_shared->text) - 1;
	text[used] = '\0';
	for (char *line = text + from; *line;) {
		size_t len = strcspn(line, "\n");
		printf("# %.*s\n", (int)len, line);
		line += len + (line[len] == '\n');
	}
}

/* Cases send these signals, and expect their default effect. Under nohup, or as a background job of
 * a script, the harness was started with some of them ignored. */
static inline void harness_reset_signals(void)
{
	static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_DFL);
}

/* The reason for which the case must be skipped: PTRC_TEST_LACKS has a feature that it needs. NULL
 * if there is none. */
static inline const char *harness_lacking(const struct harness_case *one)
{
	const char *lacks = getenv("PTRC_TEST_LACKS");

	for (size_t i = 0; lacks && i < HARNESS_NEEDS; i++) {
		size_t len = strlen(harness_needs[i].word);
		const char *at = lacks;

		while (one->needs & harness_needs[i].need &&
		       (at = strstr(at, harness_needs[i].word))) {
			if ((at == lacks || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
				return harness_needs[i].reason;
			at += len;
		}
	}
	return NULL;
}

/* Runs a case and prints its result. Returns true if it passed or was skipped. The caller has
 * blocked SIGCHLD. */
static inline bool harness_run_case(const struct harness_case *one, int number)
{
	const char *lacking = harness_lacking(one);
	harness_begin_ns = harness_now_ns();
	int64_t end =
		harness_begin_ns + (int64_t)HARNESS_TIMEOUT_S * harness_slowdown() * 1000000000;
	double processor_s = harness_processor_s();
	sigset_t child_set;
	int status = 0;
	bool timed_out = false;

	sigemptyset(&child_set);
	sigaddset(&child_set, SIGCHLD);
	memset(harness_shared, 0, sizeof(*harness_shared));
	if (lacking) {
		harness_print_result("ok", number, one);
		printf(" # SKIP %s\n", lacking);
		return true;
	}
	fflush(stdout);
	pid_t pid = fork();
	if (pid < 0) {
		printf("Bail out! fork: %s\n", strerror(errno));
		exit(99);
	}
	if (pid == 0) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigprocmask(SIG_UNBLOCK, &child_set, NULL);
		harness_reset_signals();
		one->run();
		exit(0);
	}
	setpgid(pid, pid);
	/* With WNOWAIT the leader of the process group stays a zombie, so that the number of the
	 * group cannot be used again before the kill() below. */
	for (;;) {
		siginfo_t info = {0};
		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		    info.si_pid == pid)
			break;
		int64_t left = end - harness_now_ns();
		if (left <= 0) {
			timed_out = true;
			kill(-pid, SIGKILL);
			break;
		}
		struct timespec wait = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
		sigtimedwait(&child_set, NULL, &wait);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	harness_end_group(pid);

	bool failed = atomic_load(&harness_shared->failed);
	bool skipped = atomic_load(&harness_shared->skipped) && !failed;
	if (timed_out) {
		failed = true;
		harness_note("killed after %d s", HARNESS_TIMEOUT_S * harness_slowdown());
	} else if (WIFSIGNALED(status)) {
		failed = true;
		harness_note("died of signal %d (%s)", WTERMSIG(status),
			     strsignal(WTERMSIG(status)));
	} else if (WEXITSTATUS(status) && !failed) {
		failed = true;
		harness_note("exit status %d", WEXITSTATUS(status));
	}
	if (harness_verbose)
		harness_note("%" PRId64 " ms, %.2f s of a processor",
			     (harness_now_ns() - harness_begin_ns) / 1000000,
			     harness_processor_s() - processor_s);
	if (failed || (harness_verbose && !skipped))
		harness_print_text(0);
	harness_print_result(failed ? "not ok" : "ok", number, one);
	if (skipped)
		printf(" # SKIP %.*s", (int)strcspn(harness_shared->text, "\n"),
		       harness_shared->text);
	putchar('\n');
	fflush(stdout);
	return !failed;
}

static inline bool harness_wanted(const struct harness_case *one, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (strcmp(*names, one->name) == 0)
			return true;
	return false;
}

/* Cases do not free memory, so leaks are not reported. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

int main(int argc, char **argv)
{
	int count = 0;
	bool all_passed = true;
	sigset_t child_set;

	if (argc > 2 && strcmp(argv[1], "--helper") == 0) {
		for (struct harness_helper *h = harness_helpers; h; h = h->next)
			if (strcmp(h->name, argv[2]) == 0)
				return h->run(argc - 3, argv + 3);
		fprintf(stderr, "%s: no helper %s\n", argv[0], argv[2]);
		return 99;
	}
	char **names = argv + 1;
	if (*names && strcmp(*names, "-l") == 0) {
		for (struct harness_case *one = harness_cases; one; one = one->next)
			printf("%s\t%s\n", one->name, one->ids);
		return 0;
	}
	if (*names && strcmp(*names, "-v") == 0) {
		harness_verbose = true;
		names++;
	}
	for (char **name = names; *name; name++) {
		struct harness_case *one = harness_cases;
		while (one && strcmp(one->name, *name) != 0)
			one = one->next;
		if (!one) {
			fprintf(stderr, "%s: no case %s\n", argv[0], *name);
			return 2;
		}
	}
	void *shared = mmap(NULL, sizeof(*harness_shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		printf("Bail out! mmap: %s\n", strerror(errno));
		return 99;
	}
	harness_shared = (struct harness_shared *)shared;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&child_set);
	sigaddset(&child_set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child_set, NULL);

	for (struct harness_case *one = harness_cases; one; one = one->next)
		count += harness_wanted(one, names);
	printf("1..%d\n", count);
	harness_choose_seed();
	count = 0;
	for (struct harness_case *one = harness_cases; one; one = one->next)
		if (harness_wanted(one, names))
			all_passed &= harness_run_case(one, ++count);
	return all_passed ? 0 : 1;
}

#endif
