/* SPDX-License-Identifier: MIT */
/*
 * Measures what an event costs: in time, in memory, on the way into a log and at program start.
 * Prints the figures next to the goals and, if LTTng-UST is installed, next to those of a
 * tracepoint with as much data. A missed goal does not change the exit status, as the machine may
 * be busy. measure.h says how times are compared.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <linux/close_range.h>
#include <math.h>
#include <posixtrace-control.h>
#include <posixtrace.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <trace.h>
#include <unistd.h>

#include "include/posixtrace-private.h"
#include "bench/measure.h"

#define STREAM_SIZE (4U << 20)
#define LOG_STREAM_SIZE (16U << 20)
/* This number of events of 16 bytes fills a stream of STREAM_SIZE at least once, so that all its
 * memory has been touched before measuring starts. */
#define LAP 300000
#define ROUNDS 9
#define ROUNDS_QUICK 3
#define THREADS_MAX 4
/* The events of a batch if several threads record. Batches are longer then, so that the threads run
 * at the same time for most of a batch. */
#define THREAD_BATCH 65536

static int rounds = ROUNDS;
static const char *log_dir;
static char *const *wanted;
static char program_dir[PATH_MAX];

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
	va_list args;

	fputs("event: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static void must(int error, const char *what)
{
	if (error)
		die("%s: %s", what, strerror(error));
}

/*
 * Results: the figures, and printing them as a table or as JSON
 */

struct result {
	const char *name;
	char label[48];
	double value;
	const char *unit;
	/* best: the lowest median of a round. times_counter: the value as a multiple of reading the
	 * counter. beyond_call: the nanoseconds more than for an empty call. NAN if that has no
	 * meaning. */
	double best;
	double times_counter;
	double beyond_call;
	/* The number that is compared with the goal. The goal is an upper limit if at_most,
	 * otherwise a lower limit. */
	double compared;
	double goal;
	bool at_most;
	const char *goal_unit;
	char note[112];
};

static struct result results[64];
static size_t result_count;

/* Adds a result, which the caller completes. */
static struct result *result_add(const char *name, const char *label, double value,
				 const char *unit)
{
	struct result *r = &results[result_count++];

	if (result_count > sizeof(results) / sizeof(results[0]))
		die("too many results");
	*r = (struct result){.name = name, .value = value, .unit = unit, .best = NAN};
	r->times_counter = r->beyond_call = r->compared = r->goal = NAN;
	snprintf(r->label, sizeof(r->label), "%s", label);
	return r;
}

static void result_goal(struct result *r, double compared, bool at_most, double goal,
			const char *unit)
{
	r->compared = compared;
	r->at_most = at_most;
	r->goal = goal;
	r->goal_unit = unit;
}

static const struct result *result_find(const char *name)
{
	for (size_t i = 0; i < result_count; i++)
		if (!strcmp(results[i].name, name))
			return &results[i];
	return NULL;
}

static bool result_reached(const struct result *r)
{
	return r->at_most ? r->compared <= r->goal : r->compared >= r->goal;
}

static bool is_wanted(const char *name)
{
	if (!*wanted)
		return true;
	for (char *const *w = wanted; *w; w++)
		if (!strncmp(name, *w, strlen(*w)))
			return true;
	return false;
}

static void print_cell(double value, int width, const char *format)
{
	char cell[32] = "";

	if (!isnan(value)) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(cell, sizeof(cell), format, value);
#pragma GCC diagnostic pop
	}
	printf("%*s", width, cell);
}

static void print_table(void)
{
	printf("%-42s %10s %-9s %8s %9s %8s  %s\n", "", "median", "", "best", "x counter", "+ call",
	       "goal");
	for (size_t i = 0; i < result_count; i++) {
		const struct result *r = &results[i];

		printf("%-42s ", r->label);
		print_cell(r->value, 10, r->value < 1000 ? "%.2f" : "%.0f");
		printf(" %-9s ", r->unit);
		print_cell(r->best, 8, "%.2f");
		print_cell(r->times_counter, 10, "%.2f");
		print_cell(r->beyond_call, 9, "%+.2f");
		if (!isnan(r->goal))
			printf("  %.3g %s, goal %s %.3g: %s", r->compared, r->goal_unit,
			       r->at_most ? "<=" : ">=", r->goal,
			       result_reached(r) ? "reached" : "MISSED");
		if (r->note[0])
			printf("%s%s", isnan(r->goal) ? "  " : "; ", r->note);
		printf("\n");
	}
}

static void print_member(const char *name, double value)
{
	if (!isnan(value))
		printf(", \"%s\": %.6g", name, value);
}

/* All names, units and notes are strings of this file that need no escaping in JSON. */
static void print_json(const struct utsname *system)
{
	printf("{\"version\": \"%s\", \"machine\": \"%s\", \"kernel\": \"%s\", \"cpus\": %ld,\n"
	       " \"results\": [\n",
	       posixtrace_version(), system->machine, system->release,
	       sysconf(_SC_NPROCESSORS_ONLN));
	for (size_t i = 0; i < result_count; i++) {
		const struct result *r = &results[i];

		printf("  {\"name\": \"%s\", \"label\": \"%s\"", r->name, r->label);
		printf(", \"unit\": \"%s\"", r->unit);
		print_member("value", r->value);
		print_member("best", r->best);
		print_member("times_counter", r->times_counter);
		print_member("beyond_call_ns", r->beyond_call);
		if (!isnan(r->goal)) {
			print_member("compared", r->compared);
			printf(", \"compared_unit\": \"%s\"", r->goal_unit);
			print_member(r->at_most ? "goal_at_most" : "goal_at_least", r->goal);
			printf(", \"reached\": %s", result_reached(r) ? "true" : "false");
		}
		if (r->note[0])
			printf(", \"note\": \"%s\"", r->note);
		printf("}%s\n", i + 1 < result_count ? "," : "");
	}
	printf("]}\n");
}

/*
 * Statistics: medians of the samples of a case
 */

/* Adds the result of one case from the samples of all its rounds, BENCH_BATCHES per
 * round. */
static struct result *result_of_samples(const char *name, const char *label,
					const struct bench_sample *samples, size_t count)
{
	double values[ROUNDS * BENCH_BATCHES];
	struct result *r = result_add(name, label, NAN, "ns");

	for (size_t round = 0; round < count; round += BENCH_BATCHES) {
		for (size_t i = 0; i < BENCH_BATCHES; i++)
			values[i] = samples[round + i].ns;
		r->best = fmin(r->best, bench_median(values, BENCH_BATCHES));
	}
	for (size_t i = 0; i < count; i++)
		values[i] = samples[i].ns;
	r->value = bench_median(values, count);
	for (size_t i = 0; i < count; i++)
		values[i] = samples[i].ns / samples[i].counter_ns;
	r->times_counter = bench_median(values, count);
	for (size_t i = 0; i < count; i++)
		values[i] = samples[i].ns - samples[i].call_ns;
	r->beyond_call = bench_median(values, count);
	return r;
}

/*
 * The loops that are measured: each turn records an event
 */

static trace_event_id_t event_id;

#define LOOP_EVENT(BYTES)                                                \
	static void loop_event_##BYTES(unsigned long turns)              \
	{                                                                \
		static uint64_t data[(BYTES) / 8];                       \
                                                                         \
		for (unsigned long i = 0; i < turns; i++) {              \
			data[0] = i;                                     \
			posix_trace_event(event_id, data, sizeof(data)); \
		}                                                        \
	}

LOOP_EVENT(64)
LOOP_EVENT(256)

static void loop_event_0(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++)
		posix_trace_event(event_id, NULL, 0);
}

static void loop_event_16(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++) {
		uint64_t data[2] = {i, i};

		posix_trace_event(event_id, data, sizeof(data));
	}
}

struct pair {
	uint64_t first, second;
};
POSIXTRACE_TYPE(pair, "bench.pair", struct pair, first, second);

/* As many bytes as struct pair, but 4 of them are padding. */
struct gap {
	uint32_t first;
	uint64_t second;
};
POSIXTRACE_TYPE(gap, "bench.gap", struct gap, first, second);

static void loop_typed_16(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++)
		POSIXTRACE_EMIT(pair, i, i);
}

static void loop_typed_gap(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++)
		POSIXTRACE_EMIT(gap, (uint32_t)i, i);
}

static trace_id_t stream_new(size_t size, bool is_started)
{
	trace_attr_t attr;
	trace_id_t stream;

	must(posix_trace_attr_init(&attr), "attributes");
	must(posix_trace_attr_setstreamsize(&attr, size), "stream size");
	must(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_LOOP), "policy");
	must(posix_trace_create(0, &attr, &stream), "create");
	if (is_started)
		must(posix_trace_start(stream), "start");
	return stream;
}

/*
 * Cases in which one thread records
 */

enum { MODE_NONE, MODE_SUSPENDED, MODE_FILTERED, MODE_RUNNING };

static const struct one_case {
	const char *name;
	const char *label;
	bench_loop loop;
	int mode;
	int stream_count;
} cases[] = {
	{"counter", "the counter alone", bench_loop_counter, MODE_NONE, 0},
	{"call", "an empty call", bench_loop_call, MODE_NONE, 0},
	{"untraced", "untraced", loop_event_16, MODE_NONE, 0},
	{"untraced_typed", "untraced, of a structure", loop_typed_16, MODE_NONE, 0},
	{"suspended", "stream suspended", loop_event_16, MODE_SUSPENDED, 1},
	{"filtered", "event filtered out", loop_event_16, MODE_FILTERED, 1},
	{"event_0", "one stream, 0 bytes", loop_event_0, MODE_RUNNING, 1},
	{"event_16", "one stream, 16 bytes", loop_event_16, MODE_RUNNING, 1},
	{"typed_16", "the same, of a structure", loop_typed_16, MODE_RUNNING, 1},
	{"typed_gap", "the same, with padding in it", loop_typed_gap, MODE_RUNNING, 1},
	{"event_64", "one stream, 64 bytes", loop_event_64, MODE_RUNNING, 1},
	{"event_256", "one stream, 256 bytes", loop_event_256, MODE_RUNNING, 1},
	{"streams_2", "two streams, 16 bytes", loop_event_16, MODE_RUNNING, 2},
};

#define CASE_COUNT (sizeof(cases) / sizeof(cases[0]))

static void case_round(const struct one_case *c, struct bench_sample *samples)
{
	trace_id_t streams[2];
	trace_event_set_t set;

	for (int i = 0; i < c->stream_count; i++) {
		streams[i] = stream_new(STREAM_SIZE, c->mode != MODE_SUSPENDED);
		if (c->mode == MODE_FILTERED) {
			must(posix_trace_eventset_empty(&set), "event set");
			must(posix_trace_eventset_add(event_id, &set), "event set");
			must(posix_trace_set_filter(streams[i], &set, POSIX_TRACE_SET_EVENTSET),
			     "filter");
		}
	}
	c->loop(LAP);
	bench_round(c->loop, samples);
	for (int i = 0; i < c->stream_count; i++)
		must(posix_trace_shutdown(streams[i]), "shutdown");
}

/* Workers: other programs (worker.h) that measure on request. Each round asks them, too. */

struct worker {
	const char *name;
	const char *label;
	bool is_available;
	pid_t pid;
	int to;
	FILE *from;
	struct bench_sample *samples;
};

enum { WORKER_SHARED, WORKER_LTTNG, WORKER_COUNT };

static struct worker workers[WORKER_COUNT] = {
	[WORKER_SHARED] = {.name = "shared_16", .label = "the same, through the shared library"},
	[WORKER_LTTNG] = {.name = "lttng_16", .label = "LTTng-UST, 2 x 8 bytes"},
};

/* Starts a program with these descriptors as standard input and output (-1: those of this program).
 * Returns its pid, or 0 if it could not be started. */
static pid_t spawn(char *const *argv, int in, int out)
{
	posix_spawn_file_actions_t actions;
	pid_t pid = 0;
	int error;

	must(posix_spawn_file_actions_init(&actions), "spawn");
	if (in >= 0)
		must(posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO), "spawn");
	if (out >= 0)
		must(posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO), "spawn");
	error = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error ? 0 : pid;
}

static int wait_for(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static void worker_end(struct worker *w)
{
	if (!w->is_available)
		return;
	w->is_available = false;
	close(w->to);
	fclose(w->from);
	wait_for(w->pid);
}

static void worker_begin(struct worker *w, char *const *argv)
{
	int in[2], out[2];
	char line[32];

	if (access(argv[0], X_OK) || !is_wanted(w->name))
		return;
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		die("pipe: %s", strerror(errno));
	w->pid = spawn(argv, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	w->to = in[1];
	w->from = fdopen(out[0], "r");
	w->is_available = w->pid != 0;
	w->samples = calloc((size_t)(rounds * BENCH_BATCHES), sizeof(*w->samples));
	if (!w->from || !w->samples)
		die("out of memory");
	if (w->is_available && !fgets(line, sizeof(line), w->from)) {
		fprintf(stderr, "event: %s: left out\n", w->name);
		worker_end(w);
	}
}

static void worker_round(struct worker *w, struct bench_sample *samples)
{
	if (!w->is_available)
		return;
	if (write(w->to, "g", 1) != 1)
		die("%s: ended early", w->name);
	for (int i = 0; i < BENCH_BATCHES; i++)
		if (fscanf(w->from, "%lf %lf %lf", &samples[i].ns, &samples[i].counter_ns,
			   &samples[i].call_ns) != 3)
			die("%s: ended early", w->name);
}

static void bench_one_thread(void)
{
	struct bench_sample *samples[CASE_COUNT];
	size_t count = (size_t)rounds * BENCH_BATCHES;
	char shared[PATH_MAX + 32], lttng[PATH_MAX + 32];
	const struct result *event;

	for (size_t i = 0; i < CASE_COUNT; i++) {
		samples[i] = calloc(count, sizeof(**samples));
		if (!samples[i])
			die("out of memory");
	}
	snprintf(shared, sizeof(shared), "%s/shared_event", program_dir);
	snprintf(lttng, sizeof(lttng), "%s/lttng_event", program_dir);
	worker_begin(&workers[WORKER_SHARED], (char *[]){shared, NULL});
	if (!access(lttng, X_OK))
		worker_begin(&workers[WORKER_LTTNG],
			     (char *[]){(char[]){BENCH_LTTNG_SESSION}, lttng, NULL});

	for (int round = 0; round < rounds; round++) {
		size_t at = (size_t)round * BENCH_BATCHES;

		for (size_t i = 0; i < CASE_COUNT; i++)
			if (is_wanted(cases[i].name))
				case_round(&cases[i], samples[i] + at);
		for (size_t i = 0; i < WORKER_COUNT; i++)
			worker_round(&workers[i], workers[i].samples + at);
	}

	for (size_t i = 0; i < CASE_COUNT; i++) {
		struct result *r;

		if (!is_wanted(cases[i].name))
			continue;
		r = result_of_samples(cases[i].name, cases[i].label, samples[i], count);
		if (!strcmp(r->name, "untraced"))
			result_goal(r, r->beyond_call, true, 1, "ns beyond a call");
		if (!strcmp(r->name, "suspended") || !strcmp(r->name, "filtered"))
			result_goal(r, r->beyond_call, true, 3, "ns beyond a call");
		if (!strcmp(r->name, "event_16"))
			result_goal(r, r->times_counter, true, 1.25, "x counter");
		if (!strncmp(r->name, "typed", 5) && result_find("event_16"))
			result_goal(r, r->times_counter / result_find("event_16")->times_counter,
				    true, 1.1, "x event of 16 bytes");
		if (!strcmp(r->name, "counter"))
			r->times_counter = r->beyond_call = NAN;
		free(samples[i]);
	}
	for (size_t i = 0; i < WORKER_COUNT; i++) {
		struct worker *w = &workers[i];
		struct result *r;

		if (!w->is_available)
			continue;
		worker_end(w);
		r = result_of_samples(w->name, w->label, w->samples, count);
		event = result_find("event_16");
		if (i == WORKER_LTTNG && event)
			result_goal(r, r->times_counter / event->times_counter, false, 7,
				    "x event of 16 bytes");
		free(w->samples);
	}
}

/*
 * Several threads, each on a processor of its own as long as there are enough processors. The
 * processor time of each thread is measured, because with more threads than processors the elapsed
 * time also contains waits for a processor.
 */

struct crew {
	pthread_barrier_t barrier;
	int thread_count;
	clockid_t clock;
	struct member {
		struct crew *crew;
		pthread_t thread;
		int number;
		double ns[ROUNDS * 5];
		double counter_ns[ROUNDS * 5];
	} members[THREADS_MAX];
};

static void pin(int number)
{
	cpu_set_t allowed, one;
	int skip;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return;
	skip = number % CPU_COUNT(&allowed);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || skip--)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

static void *member_work(void *argument)
{
	struct member *m = argument;
	struct crew *crew = m->crew;

	pin(m->number);
	loop_event_16(LAP);
	for (int i = 0; i < rounds * 5; i++) {
		pthread_barrier_wait(&crew->barrier);
		m->counter_ns[i] =
			bench_time(bench_loop_counter, THREAD_BATCH, CLOCK_THREAD_CPUTIME_ID);
		pthread_barrier_wait(&crew->barrier);
		m->ns[i] = bench_time(loop_event_16, THREAD_BATCH, CLOCK_THREAD_CPUTIME_ID);
	}
	return NULL;
}

static void bench_threads(int thread_count)
{
	static struct crew crew;
	double ns[THREADS_MAX * ROUNDS * 5], ratio[THREADS_MAX * ROUNDS * 5];
	size_t count = 0;
	char label[48];
	static char names[THREADS_MAX + 1][16];
	const struct result *alone;
	struct result *r;
	trace_id_t stream;

	snprintf(names[thread_count], sizeof(names[0]), "threads_%d", thread_count);
	if (!is_wanted(names[thread_count]))
		return;
	crew.thread_count = thread_count;
	must(pthread_barrier_init(&crew.barrier, NULL, (unsigned)thread_count), "barrier");
	stream = stream_new(STREAM_SIZE, true);
	for (int i = 0; i < thread_count; i++) {
		struct member *m = &crew.members[i];

		m->crew = &crew;
		m->number = i;
		must(pthread_create(&m->thread, NULL, member_work, m), "thread");
	}
	for (int i = 0; i < thread_count; i++) {
		struct member *m = &crew.members[i];

		pthread_join(m->thread, NULL);
		for (int j = 0; j < rounds * 5; j++) {
			ns[count] = m->ns[j];
			ratio[count++] = m->ns[j] / m->counter_ns[j];
		}
	}
	must(posix_trace_shutdown(stream), "shutdown");
	pthread_barrier_destroy(&crew.barrier);

	snprintf(label, sizeof(label), "%d thread%s, 16 bytes, cost per thread", thread_count,
		 thread_count > 1 ? "s" : "");
	r = result_add(names[thread_count], label, bench_median(ns, count), "ns");
	r->times_counter = bench_median(ratio, count);
	alone = result_find("threads_1");
	if (alone && thread_count == 2)
		result_goal(r, r->value / alone->value, true, 1.1, "x one thread");
	else if (alone && thread_count > 2)
		snprintf(r->note, sizeof(r->note), "%.3g x one thread", r->value / alone->value);
}

/*
 * Events into a log
 */

/* Opens a file for a log in log_dir, and stores how many bytes are free there. The file has no
 * name, so it is gone when this program ends in any way. */
static int log_open(double *free_bytes)
{
	char path[PATH_MAX];
	struct statvfs fs;
	int fd;

	snprintf(path, sizeof(path), "%s/posixtrace-bench.XXXXXX", log_dir);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0 || unlink(path) || fstatvfs(fd, &fs))
		die("%s: %s", path, strerror(errno));
	*free_bytes = (double)fs.f_bavail * (double)fs.f_frsize;
	return fd;
}

/* Measures how fast the disk takes plain writes of 1 MiB. No log can be written faster. */
static void bench_disk(void)
{
	static char block[1 << 20];
	double free_bytes, seconds;
	size_t blocks = rounds == ROUNDS ? 1024 : 256;
	uint64_t begin;
	int fd;

	if (!is_wanted("log_disk"))
		return;
	fd = log_open(&free_bytes);
	memset(block, 'x', sizeof(block));
	begin = bench_now_ns(CLOCK_MONOTONIC);
	for (size_t i = 0; i < blocks; i++)
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			die("%s: %s", log_dir, strerror(errno));
	seconds = (double)(bench_now_ns(CLOCK_MONOTONIC) - begin) / 1e9;
	close(fd);
	result_add("log_disk", "plain writes to the same place",
		   (double)(blocks * sizeof(block)) / 1e6 / seconds, "MB/s");
}

/* One thread records events into a log, millions_per_s or (0) as fast as it can. With a full-wait
 * it waits for room instead of losing events, and the measured time includes writing the whole
 * log. */
static void bench_log(const char *name, const char *label, double millions_per_s, double seconds,
		      const struct timespec *full_wait)
{
	struct ptrc_counts counts;
	double free_bytes, elapsed, lost, cpu_ns;
	unsigned long events = 0;
	uint64_t begin, now;
	trace_attr_t attr;
	trace_id_t stream;
	struct result *r;
	int fd;

	if (!is_wanted(name))
		return;
	fd = log_open(&free_bytes);
	/* Needs twice the space that the log can take: an event takes about 32 bytes, and a disk
	 * hardly takes more than 4 GB a second. */
	if (free_bytes < seconds * 2 * (millions_per_s > 0 ? millions_per_s * 32e6 : 4e9)) {
		r = result_add(name, label, NAN, "");
		snprintf(r->note, sizeof(r->note), "left out: too little room on the disk");
		close(fd);
		return;
	}
	must(posix_trace_attr_init(&attr), "attributes");
	must(posix_trace_attr_setstreamsize(&attr, LOG_STREAM_SIZE), "stream size");
	must(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_FLUSH), "policy");
	must(posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND), "log policy");
	if (full_wait)
		must(posixtrace_attr_setfullwait(&attr, full_wait), "full-wait");
	must(posix_trace_create_withlog(0, &attr, fd, &stream), "create with log");
	must(posix_trace_start(stream), "start");

	cpu_ns = -(double)bench_now_ns(CLOCK_THREAD_CPUTIME_ID);
	begin = now = bench_now_ns(CLOCK_MONOTONIC);
	while ((double)(now - begin) < seconds * 1e9) {
		double due_ns = 0;

		loop_event_16(1000);
		events += 1000;
		if (millions_per_s > 0)
			due_ns = (double)events * 1000 / millions_per_s;
		do {
			now = bench_now_ns(CLOCK_MONOTONIC);
		} while ((double)(now - begin) < due_ns);
	}
	cpu_ns += (double)bench_now_ns(CLOCK_THREAD_CPUTIME_ID);
	if (full_wait) {
		must(posix_trace_flush(stream), "flush");
		now = bench_now_ns(CLOCK_MONOTONIC);
	}
	elapsed = (double)(now - begin) / 1e9;
	must(posix_trace_shutdown(stream), "shutdown");

	must(posix_trace_open(fd, &stream), "open log");
	must(ptrc_trace_counts(stream, &counts), "counts");
	must(posix_trace_close(stream), "close log");
	close(fd);

	lost = (double)(counts.pt_lost_events + counts.pt_log_lost_events);
	r = result_add(name, label, ((double)events - lost) / elapsed / 1e6, "M/s");
	snprintf(r->note, sizeof(r->note),
		 "%.0f of %lu events lost, %.0f MB/s; producer ran %.0f %% of the time%s", lost,
		 events, (double)counts.pt_log_bytes / elapsed / 1e6, cpu_ns / elapsed / 1e7,
		 (double)events / elapsed < 0.95e6 * millions_per_s ? ", TOO SLOW" : "");
	if (millions_per_s == 10 || full_wait)
		result_goal(r, lost, true, 0, "lost");
	if (full_wait) {
		size_t used = strlen(r->note);

		snprintf(r->note + used, sizeof(r->note) - used, "; %lu waits", counts.pt_waits);
	}
}

/*
 * Memory and program start
 */

static unsigned long stream_bytes(trace_id_t stream)
{
	struct ptrc_counts counts;

	must(ptrc_trace_counts(stream, &counts), "counts");
	return counts.pt_stream_bytes;
}

/* Measures how much memory of the stream an event takes. The median is the size of the event
 * itself; the mean includes the overhead of chunks, into which the memory is divided. */
static void bench_memory(void)
{
	double bytes[1001], mean = 0;
	size_t count = sizeof(bytes) / sizeof(bytes[0]);
	trace_id_t stream;
	struct result *r;

	if (!is_wanted("memory"))
		return;
	stream = stream_new(STREAM_SIZE, true);
	for (size_t i = 0; i < count; i++) {
		unsigned long before = stream_bytes(stream);

		loop_event_16(64);
		bytes[i] = (double)(stream_bytes(stream) - before) / 64;
		mean += bytes[i] / (double)count;
	}
	must(posix_trace_shutdown(stream), "shutdown");
	r = result_add("memory", "memory of an event of 16 bytes", bench_median(bytes, count),
		       "bytes");
	result_goal(r, r->value, true, 32, "bytes");
	snprintf(r->note, sizeof(r->note), "mean %.3f", mean);
}

/* Starts the program under ptrace(). By vfork(), because after fork() the library's fork handlers
 * would make a page (shared memory) for the child, which would change the system calls that the
 * program makes. */
static pid_t spawn_watched(char *path)
{
	char *const argv[] = {path, NULL};
	pid_t pid = vfork();

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
			execv(path, argv);
		_exit(127);
	}
	return pid;
}

/* The number of system calls of a program from its exec to its end; 0 if it cannot be traced by
 * ptrace(). */
static int count_calls(char *path)
{
	int status, stops = 0;
	pid_t pid = spawn_watched(path);

	/* The program stops at its exec, and then before and after each system call. */
	while (pid > 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		stops++;
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL))
			break;
	}
	return stops / 2;
}

/* A trivial program without the library, with the static and with the shared library. As the
 * machine may be busy, the programs take turns, and the results are the median of the differences
 * to PLAIN and the ratio of the medians. */
enum { PLAIN, STATIC, SHARED, PROGRAM_COUNT };

/* Sets LD_PRELOAD for the program with the shared library, so that the loader finds the library as
 * fast as an installed one, which is in the loader's cache. */
static void preload(int program)
{
	char library[PATH_MAX + 32];

	snprintf(library, sizeof(library), "%s/../lib/.libs/libposixtrace.so.0", program_dir);
	if (program == SHARED)
		setenv("LD_PRELOAD", library, 1);
	else
		unsetenv("LD_PRELOAD");
}

static void bench_start(void)
{
	static const char *const programs[PROGRAM_COUNT] = {
		[PLAIN] = "start_plain",
		[STATIC] = "start_static",
		[SHARED] = "start_shared",
	};
	static const char *const labels[PROGRAM_COUNT] = {
		[PLAIN] = "start and end of a trivial program",
		[STATIC] = "added by the static library",
		[SHARED] = "added by the shared library",
	};
	static const double goals[PROGRAM_COUNT] = {[STATIC] = 80, [SHARED] = 80};
	int times = rounds == ROUNDS ? 400 : 100, calls = 0;
	char path[PROGRAM_COUNT][PATH_MAX + 32];
	double *us[PROGRAM_COUNT], low[PROGRAM_COUNT], plain = 0;

	if (!is_wanted("start"))
		return;
	for (int p = 0; p < PROGRAM_COUNT; p++) {
		snprintf(path[p], sizeof(path[p]), "%s/%s", program_dir, programs[p]);
		us[p] = calloc((size_t)times, sizeof(**us));
		if (!us[p])
			die("out of memory");
	}
	for (int i = 0; i < times; i++) {
		for (int p = 0; p < PROGRAM_COUNT; p++) {
			uint64_t begin;
			pid_t pid;

			if (access(path[p], X_OK))
				continue;
			preload(p);
			begin = bench_now_ns(CLOCK_MONOTONIC);
			pid = spawn((char *[]){path[p], NULL}, -1, -1);
			if (!pid || wait_for(pid))
				die("%s: does not run", path[p]);
			us[p][i] = (double)(bench_now_ns(CLOCK_MONOTONIC) - begin) / 1e3;
		}
	}
	for (int p = PROGRAM_COUNT - 1; p >= 0; p--) {
		low[p] = us[p][0];
		for (int i = 0; i < times; i++)
			low[p] = fmin(low[p], us[p][i]);
		for (int i = 0; p && i < times; i++)
			us[p][i] -= us[PLAIN][i];
	}
	for (int p = 0; p < PROGRAM_COUNT; p++) {
		struct result *r;
		pid_t pid;

		if (!access(path[p], X_OK)) {
			preload(p);
			r = result_add(programs[p], labels[p], bench_median(us[p], (size_t)times),
				       "us");
			r->best = low[p] - (p ? low[PLAIN] : 0);
			if (p) {
				result_goal(r, r->value, true, goals[p], "us");
				pid = spawn((char *[]){path[p], path[p], NULL}, -1, -1);
				snprintf(r->note, sizeof(r->note),
					 "%.2f x without it; %d system calls more; %s",
					 1 + r->value / plain, count_calls(path[p]) - calls,
					 wait_for(pid) ? "THREADS OR DESCRIPTORS IN IT"
						       : "no thread or descriptor in it");
			} else {
				plain = r->value;
				calls = count_calls(path[p]);
				snprintf(r->note, sizeof(r->note), "%d system calls", calls);
			}
		}
		free(us[p]);
	}
	preload(PLAIN);
}

static void usage(FILE *out)
{
	fputs("Usage: event [OPTION]... [NAME]...\n"
	      "Measure what events cost; with NAMEs, only results that start so.\n\n"
	      "  -j, --json         print one JSON object instead of a table\n"
	      "  -q, --quick        fewer rounds: faster, less exact\n"
	      "  -d, --log-dir=DIR  write logs in DIR ($TMPDIR or /var/tmp)\n"
	      "  -h, --help         print this and exit\n\n"
	      "median       over all batches of all rounds\n"
	      "best         lowest median of a round; of program starts, from the fastest\n"
	      "x counter    median ratio to reading the counter just before\n"
	      "+ call       median difference to an empty call just before, in ns\n",
	      out);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"quick", no_argument, NULL, 'q'},
		{"log-dir", required_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	bool is_json = false, is_quick = false;
	struct utsname system;
	int option;

	log_dir = getenv("TMPDIR");
	if (!log_dir || !*log_dir)
		log_dir = "/var/tmp";
	while ((option = getopt_long(argc, argv, "jqd:h", options, NULL)) != -1) {
		switch (option) {
		case 'j':
			is_json = true;
			break;
		case 'q':
			is_quick = true;
			break;
		case 'd':
			log_dir = optarg;
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			fputs("Try 'event --help'.\n", stderr);
			return 2;
		}
	}
	wanted = argv + optind;
	if (is_quick)
		rounds = ROUNDS_QUICK;
	if (readlink("/proc/self/exe", program_dir, sizeof(program_dir) - 1) < 0)
		die("/proc/self/exe: %s", strerror(errno));
	dirname(program_dir);
	/* The programs of bench_start() count their descriptors, so they must not inherit any. */
	close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC);
	/* If a worker has ended early, writing to it must not kill this program: the missing answer
	 * is reported. */
	signal(SIGPIPE, SIG_IGN);
	must(posix_trace_eventid_open("bench.event", &event_id), "event name");
	uname(&system);

	bench_one_thread();
	for (int threads = 1; threads <= THREADS_MAX; threads *= 2)
		bench_threads(threads);
	bench_memory();
	bench_log("log_10m", "into a log, 10 million events/s", 10, is_quick ? 1 : 2, NULL);
	bench_log("log_20m", "into a log, 20 million events/s", 20, 1, NULL);
	bench_log("log_40m", "into a log, 40 million events/s", 40, 1, NULL);
	bench_log("log_max", "into a log, as fast as it goes", 0, is_quick ? 1 : 2, NULL);
	bench_log("log_wait", "the same, waiting for room (--no-loss)", 0, is_quick ? 1 : 2,
		  &(struct timespec){.tv_sec = 60});
	bench_disk();
	bench_start();

	if (is_json) {
		print_json(&system);
	} else {
		printf("%s on %s, Linux %s, %ld processors; %d rounds of %d batches of %d;"
		       " logs in %s\n\n",
		       posixtrace_version(), system.machine, system.release,
		       sysconf(_SC_NPROCESSORS_ONLN), rounds, BENCH_BATCHES, BENCH_BATCH, log_dir);
		print_table();
	}
	if (fflush(stdout) || ferror(stdout))
		die("standard output: %s", strerror(errno));
	return 0;
}
