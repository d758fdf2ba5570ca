/* SPDX-License-Identifier: MIT */
/*
 * One round of the kill matrix: a traced program whose events prove themselves, whoever traces
 * it, and processes that are killed or stopped at random moments. Afterwards everything that is
 * left is looked at: no event is altered, none is there twice, those of a thread are in order, and
 * what is missing is what docs/protocol.md says ("What a crash leaves") and what is told:
 *
 * - An event whose call returned while the controller lived is there, or is among the losses that
 *   the log or the stream tells.
 * - When the controller dies, the trace stops; from then on a writer's events may be missing, but
 *   only those behind the last that is there.
 * - A log is closed in the end, by a keeper or by the next create.
 *
 *   faults SEED DIRECTORY    the files of the round are made in the directory
 *
 * Prints one line; exit status 0 if all is well. Needs a process namespace and a /dev/shm of its
 * own: scripts/faults runs many rounds.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "include/posixtrace-private.h"
#include "tests/support/payload.h"

enum {
	WRITERS_MAX = 8,
	/* Of each writer: more only takes longer. */
	EVENTS_MAX = 60000,
	DATA_MAX = 200,
	/* Whoever takes longer than this is stuck. */
	PATIENCE_MS = 60000,
	/* System events count as lost, too: so many, and some of each full stream. */
	SYSTEM_SLACK = 64,
};

enum mode {
	/* A program of ours controls a trace with a log, or without one and reads it. */
	WITH_LOG,
	PLAIN,
	/* ptrace-create does, and ptrace-dump --follow reads. */
	SESSION_WITH_LOG,
	SESSION_PLAIN,
	RUN,
	MODES,
};
static const char *const mode_names[] = {"log", "plain", "session-log", "session", "run"};

enum victim {
	TARGET = 1,
	CONTROLLER = 2,
	KEEPER = 4,
	READER = 8,
};

struct writer {
	/* The last event whose call has begun, and the last whose call has returned. */
	_Atomic uint32_t started;
	_Atomic uint32_t completed;
	/* Completed when the controller got SIGKILL. */
	uint32_t at_kill;
	/* What was read: how many, and the last. */
	_Atomic uint32_t seen;
	_Atomic uint32_t last_seen;
};

/* All processes of a round share this. */
struct shared {
	_Atomic bool may_write;
	_Atomic bool must_stop;
	_Atomic bool must_finish;
	_Atomic bool is_ready;
	_Atomic bool has_finished;
	_Atomic int target_pids[2];
	/* What is wrong; the first who finds something says it. */
	_Atomic bool has_failed;
	char failure[400];
	/* Of a plain stream: what its reader was told to be lost. */
	_Atomic uint64_t told;
	uint32_t writer_count;
	/* Microseconds between bursts, and events of a burst. */
	uint32_t pause_us;
	uint32_t burst;
	uint32_t data_max;
	struct writer writers[WRITERS_MAX];
};

/* One thing that is done to victims at the same time. */
struct fault {
	unsigned int delay_us;
	unsigned int victims;
	bool is_kill;
	/* Of SIGSTOP: until SIGCONT. */
	unsigned int stop_us;
};

enum { FAULTS_MAX = 3 };

/* What the seed has chosen. */
struct plan {
	uint64_t random;
	enum mode mode;
	int stream_policy;
	int log_policy;
	size_t stream_size;
	size_t log_size;
	bool has_child;
	unsigned int threads;
	struct fault faults[FAULTS_MAX];
	unsigned int fault_count;
};

static struct shared *shared;
static struct plan plan;
static const char *directory;
static char log_path[256], shared_path[256], build[256];
static pid_t controller, keeper, reader;
static bool is_controller_killed, is_target_killed, is_keeper_killed;

/* ---- small things ---- */

static uint64_t random_below(uint64_t limit)
{
	plan.random += UINT64_C(0x9e3779b97f4a7c15);
	return payload_mix(plan.random) % limit;
}

static void __attribute__((format(printf, 1, 2))) fail(const char *format, ...)
{
	va_list values;

	if (atomic_exchange(&shared->has_failed, true))
		return;
	va_start(values, format);
	vsnprintf(shared->failure, sizeof(shared->failure), format, values);
	va_end(values);
}

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void sleep_us(unsigned int us)
{
	struct timespec delay = {us / 1000000, (long)(us % 1000000) * 1000};

	while (nanosleep(&delay, &delay) && errno == EINTR)
		;
}

/* The path of a file, until the fourth call after this one. */
static char *path_in(const char *place, const char *name)
{
	static char paths[4][300];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", place, name);
	return path;
}

/* Waits until the condition holds; fails, and says for what it waited, after PATIENCE_MS. */
#define WAIT_FOR(condition)                                                 \
	do {                                                                \
		int64_t until_us = now_us() + PATIENCE_MS * INT64_C(1000);  \
		while (!(condition) && !atomic_load(&shared->has_failed)) { \
			if (now_us() > until_us)                            \
				fail("waited in vain for: %s", #condition); \
			sleep_us(200);                                      \
		}                                                           \
	} while (0)

static bool is_gone(pid_t pid)
{
	siginfo_t info = {0};

	return pid <= 0 ||
	       (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0
			? info.si_pid == pid
			: kill(pid, 0) < 0);
}

/* Reaps a child that ends within the patience. Returns its wait status; -1: it did not. */
static int reap(pid_t pid, const char *who)
{
	int64_t until_us = now_us() + PATIENCE_MS * INT64_C(1000);
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (now_us() > until_us) {
			fail("%s does not end", who);
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -1;
		}
		sleep_us(200);
	}
	return status;
}

/* ---- the target ---- */

static trace_event_id_t event_id;

static void *write_events(void *argument)
{
	uint32_t number = (uint32_t)(uintptr_t)argument;
	struct writer *w = &shared->writers[number];
	unsigned char data[DATA_MAX];

	for (uint32_t seq = 1; seq <= EVENTS_MAX && !atomic_load(&shared->must_stop); seq++) {
		uint32_t size = payload_len(shared->data_max, number, seq);

		payload_fill(data, size, number, seq);
		atomic_store(&w->started, seq);
		posix_trace_event(event_id, data, size);
		atomic_store(&w->completed, seq);
		if (shared->pause_us && seq % shared->burst == 0)
			sleep_us(shared->pause_us);
	}
	return NULL;
}

static void write_in_threads(uint32_t first, uint32_t count)
{
	pthread_t threads[WRITERS_MAX];

	for (uint32_t i = 1; i < count; i++)
		if (pthread_create(&threads[i], NULL, write_events, (void *)(uintptr_t)(first + i)))
			fail("pthread_create");
	write_events((void *)(uintptr_t)first);
	for (uint32_t i = 1; i < count; i++)
		pthread_join(threads[i], NULL);
	/* Whoever is to be stopped has to be there. */
	while (!atomic_load(&shared->must_stop))
		sleep_us(500);
}

static int be_target(bool has_child, unsigned int threads)
{
	pid_t child = 0;

	prctl(PR_SET_PDEATHSIG, 0);
	if (posix_trace_eventid_open("fault", &event_id))
		fail("posix_trace_eventid_open");
	atomic_store(&shared->target_pids[0], getpid());
	while (!atomic_load(&shared->may_write))
		sleep_us(100);
	if (has_child) {
		child = fork();
		if (!child) {
			atomic_store(&shared->target_pids[1], getpid());
			write_in_threads(threads, 1);
			_exit(0);
		}
	}
	write_in_threads(0, threads);
	if (child > 0)
		waitpid(child, NULL, 0);
	return 0;
}

/* ---- what has been read ---- */

/* Takes an event that somebody has read. is_counting: he is the one who must get all. */
static void take_event(const unsigned char *data, size_t size, uint32_t last[WRITERS_MAX],
		       bool is_counting)
{
	uint32_t number, seq;

	if (!payload_read(data, size, &number, &seq) || number >= shared->writer_count) {
		fail("an event of %zu bytes is altered", size);
		return;
	}
	if (seq > atomic_load(&shared->writers[number].started))
		fail("writer %u: event %u was never recorded", number, seq);
	if (seq <= last[number])
		fail("writer %u: event %u after %u", number, seq, last[number]);
	last[number] = seq;
	if (is_counting) {
		atomic_fetch_add(&shared->writers[number].seen, 1);
		atomic_store(&shared->writers[number].last_seen, seq);
	}
}

/* Whether the event is one that ptrace-run records itself, such as os.command. */
static bool is_of_run(trace_id_t trace, trace_event_id_t id)
{
	char name[TRACE_EVENT_NAME_MAX + 1];

	return !posix_trace_eventid_get_name(trace, id, name) && strncmp(name, "os.", 3) == 0;
}

/* Reads what there is in the log or the stream. Returns whether an event came. */
static bool read_events(trace_id_t trace, bool is_log, uint32_t last[WRITERS_MAX], bool is_counting)
{
	struct posix_trace_event_info event;
	unsigned char data[DATA_MAX];
	bool has_any = false;
	int unavailable = 0;
	size_t size;

	for (;; has_any = true) {
		int error = (is_log ? posix_trace_getnext_event : posix_trace_trygetnext_event)(
			trace, &event, data, sizeof(data), &size, &unavailable);
		if (error)
			fail("the next event of the %s: %s", is_log ? "log" : "stream",
			     strerror(error));
		if (error || unavailable)
			return has_any;
		if (event.posix_event_id >= POSIX_TRACE_UNNAMED_USEREVENT &&
		    !is_of_run(trace, event.posix_event_id))
			take_event(data, size, last, is_counting);
	}
}

/* Reads a log that may be unfinished. Returns an error of posix_trace_open(). */
static int read_log(bool is_counting, struct posix_trace_status_info *status,
		    struct ptrc_counts *counts)
{
	int fd = open(log_path, O_RDONLY | O_CLOEXEC);
	uint32_t last[WRITERS_MAX] = {0};
	trace_id_t trace;

	if (fd < 0)
		return errno;
	int error = posix_trace_open(fd, &trace);
	close(fd);
	if (error)
		return error;
	read_events(trace, true, last, is_counting);
	posix_trace_get_status(trace, status);
	ptrc_trace_counts(trace, counts);
	posix_trace_close(trace);
	return 0;
}

/* ---- the controller of ours ---- */

static void make_attributes(trace_attr_t *attr)
{
	posix_trace_attr_init(attr);
	posix_trace_attr_setinherited(attr, POSIX_TRACE_INHERITED);
	posix_trace_attr_setstreamfullpolicy(attr, plan.stream_policy);
	posix_trace_attr_setstreamsize(attr, plan.stream_size);
	posix_trace_attr_setmaxdatasize(attr, DATA_MAX);
	if (plan.mode == WITH_LOG) {
		posix_trace_attr_setlogfullpolicy(attr, plan.log_policy);
		posix_trace_attr_setlogsize(attr, plan.log_size);
	}
}

static void control_a_while(trace_id_t trace, uint32_t last[WRITERS_MAX])
{
	struct posix_trace_status_info status;

	switch (random_below(6)) {
	case 0:
		posix_trace_get_status(trace, &status);
		break;
	case 1:
		if (plan.mode == WITH_LOG)
			posix_trace_flush(trace);
		break;
	case 2:
		break;
	default:
		/* Of a logged stream it takes nothing away. */
		read_events(trace, false, last, plan.mode == PLAIN);
	}
	sleep_us((unsigned int)random_below(3000));
}

static int be_controller(pid_t target)
{
	uint32_t last[WRITERS_MAX] = {0};
	struct ptrc_counts counts;
	trace_attr_t attr;
	trace_id_t trace;
	int error;

	make_attributes(&attr);
	if (plan.mode == WITH_LOG) {
		int fd = open(log_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

		error = posix_trace_create_withlog(target, &attr, fd, &trace);
		close(fd);
	} else {
		error = posix_trace_create(target, &attr, &trace);
	}
	if (!error)
		error = posix_trace_start(trace);
	if (error) {
		fail("the controller: %s", strerror(error));
		return 1;
	}
	atomic_store(&shared->is_ready, true);
	while (!atomic_load(&shared->must_finish))
		control_a_while(trace, last);
	if (plan.mode == PLAIN) {
		/* A program that reads until there is nothing has all that was complete. */
		read_events(trace, false, last, true);
		ptrc_trace_counts(trace, &counts);
		atomic_store(&shared->told, counts.pt_lost_events);
	}
	error = posix_trace_shutdown(trace);
	if (error)
		fail("posix_trace_shutdown: %s", strerror(error));
	atomic_store(&shared->has_finished, true);
	return 0;
}

/* ---- the processes ---- */

/* Begins a command of the build, whose output goes to a file. */
static pid_t begin_command(char *const argv[], const char *output)
{
	pid_t pid = fork();

	if (!pid) {
		int fd = open(path_in(directory, output), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			      0600);
		dup2(fd, STDOUT_FILENO);
		fd = open(path_in(directory, "said"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
			  0600);
		dup2(fd, STDERR_FILENO);
		execv(argv[0], argv);
		_exit(127);
	}
	return pid;
}

/* The process whose program has no file: only the keeper's has none. */
static pid_t find_keeper(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	while (proc && !found && (entry = readdir(proc))) {
		char path[300], program[64];

		snprintf(path, sizeof(path), "/proc/%s/exe", entry->d_name);
		ssize_t n =
			atoi(entry->d_name) > 1 ? readlink(path, program, sizeof(program) - 1) : -1;
		if (n < 7)
			continue;
		program[n] = '\0';
		if (!strncmp(program, "/memfd:", 7))
			found = atoi(entry->d_name);
	}
	if (proc)
		closedir(proc);
	return found;
}

/* The controller of the session, of which ptrace-list tells. */
static pid_t find_session(void)
{
	char command[600], line[64] = "";
	FILE *f;

	snprintf(command, sizeof(command),
		 "%s/src/ptrace-stat --json fault 2>>%s/said | "
		 "sed 's/.*\"controller\":\\([0-9]*\\).*/\\1/'",
		 build, directory);
	f = popen(command, "re");
	if (f && !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		pclose(f);
	return atoi(line);
}

static const char *policy_word(int policy)
{
	return policy == POSIX_TRACE_LOOP	  ? "loop"
	       : policy == POSIX_TRACE_UNTIL_FULL ? "until-full"
	       : policy == POSIX_TRACE_FLUSH	  ? "flush"
						  : "append";
}

/* Adds the options that stand for the plan. */
static size_t add_options(char *argv[], size_t n)
{
	static char options[6][64];

	snprintf(options[0], 64, "--stream-full-policy=%s", policy_word(plan.stream_policy));
	snprintf(options[1], 64, "--stream-min-size=%zu", plan.stream_size);
	snprintf(options[2], 64, "--max-data-size=%d", DATA_MAX);
	snprintf(options[3], 64, "--log-full-policy=%s", policy_word(plan.log_policy));
	snprintf(options[4], 64, "--log-max-size=%zu", plan.log_size);
	for (size_t i = 0; i < 3; i++)
		argv[n++] = options[i];
	if (plan.mode == SESSION_PLAIN)
		return n;
	argv[n++] = options[3];
	if (plan.log_policy != POSIX_TRACE_APPEND)
		argv[n++] = options[4];
	return n;
}

static pid_t begin_session(pid_t target)
{
	char pid[32];
	char *argv[20] = {path_in(build, "src/ptrace-create"), (char *)"--name=fault",
			  (char *)"--start", pid};
	size_t n = 4;

	snprintf(pid, sizeof(pid), "--pid=%d", (int)target);
	if (plan.mode == SESSION_WITH_LOG) {
		argv[n++] = (char *)"-o";
		argv[n++] = log_path;
	}
	add_options(argv, n);
	if (reap(begin_command(argv, "created"), "ptrace-create"))
		fail("ptrace-create failed");
	return find_session();
}

static pid_t begin_run(char *self)
{
	char has_child[8], threads[8];
	char *argv[24] = {path_in(build, "src/ptrace-run"), (char *)"-o", log_path};
	size_t n = add_options(argv, 3);

	snprintf(has_child, sizeof(has_child), "%d", plan.has_child);
	snprintf(threads, sizeof(threads), "%u", plan.threads);
	argv[n++] = (char *)"--";
	argv[n++] = self;
	argv[n++] = (char *)"--target";
	argv[n++] = shared_path;
	argv[n++] = has_child;
	argv[n++] = threads;
	return begin_command(argv, "output");
}

static bool is_session(void)
{
	return plan.mode == SESSION_WITH_LOG || plan.mode == SESSION_PLAIN;
}

/* Somebody who reads the log while it is written, or follows the session. */
static pid_t begin_reader(void)
{
	char *argv[] = {
		path_in(build, "src/ptrace-dump"), (char *)"--follow", (char *)"--fields=data_hex",
		(char *)"--format=json",	   (char *)"fault",    NULL};
	struct posix_trace_status_info status;
	struct ptrc_counts counts;

	if (plan.mode == PLAIN)
		return 0;
	if (is_session())
		return begin_command(argv, "followed");
	pid_t pid = fork();
	if (!pid) {
		while (!atomic_load(&shared->must_finish)) {
			read_log(false, &status, &counts);
			sleep_us(5000);
		}
		_exit(0);
	}
	return pid;
}

/* ---- faults ---- */

static void send(unsigned int victims, int sig)
{
	if ((victims & TARGET) && !(is_target_killed && sig != SIGKILL)) {
		/* The child first: when the parent has ended, a run is over. */
		for (int i = 1; i >= 0; i--)
			if (atomic_load(&shared->target_pids[i]))
				kill(atomic_load(&shared->target_pids[i]), sig);
	}
	if ((victims & CONTROLLER) && controller > 0 && !is_gone(controller))
		kill(controller, sig);
	if ((victims & KEEPER) && keeper > 0)
		kill(keeper, sig);
	if ((victims & READER) && reader > 0 && !is_gone(reader))
		kill(reader, sig);
}

static void commit_fault(const struct fault *f)
{
	sleep_us(f->delay_us);
	if (f->victims & KEEPER) {
		WAIT_FOR(!is_keeper_killed || is_gone(keeper));
		keeper = find_keeper();
		is_keeper_killed = f->is_kill && keeper;
	}
	if (f->is_kill && (f->victims & CONTROLLER) && !is_controller_killed) {
		for (uint32_t i = 0; i < shared->writer_count; i++)
			shared->writers[i].at_kill = atomic_load(&shared->writers[i].completed);
		is_controller_killed = true;
	}
	send(f->victims, f->is_kill ? SIGKILL : SIGSTOP);
	is_target_killed |= f->is_kill && (f->victims & TARGET);
	if (f->is_kill)
		return;
	sleep_us(f->stop_us);
	send(f->victims, SIGCONT);
}

/* ---- the plan ---- */

static void choose(uint64_t seed)
{
	static const int streams[] = {POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH};
	static const int logs[] = {POSIX_TRACE_APPEND, POSIX_TRACE_APPEND, POSIX_TRACE_LOOP,
				   POSIX_TRACE_UNTIL_FULL};
	static const unsigned int pauses[] = {0, 100, 1000};

	plan.random = payload_mix(seed + 1);
	plan.mode = (enum mode)random_below(MODES);
	bool has_log = plan.mode != PLAIN && plan.mode != SESSION_PLAIN;
	plan.stream_policy = streams[random_below(has_log ? 3 : 2)];
	plan.log_policy = logs[random_below(4)];
	plan.stream_size = (size_t)65536 << random_below(7);
	plan.log_size = (size_t)131072 << random_below(4);
	plan.has_child = random_below(3) == 0;
	plan.threads = 1 + (unsigned int)random_below(3);
	plan.fault_count = 1 + (unsigned int)random_below(FAULTS_MAX);
	for (unsigned int i = 0; i < plan.fault_count; i++) {
		struct fault *f = &plan.faults[i];
		unsigned int any = TARGET | CONTROLLER | READER | (has_log ? KEEPER : 0U);

		f->delay_us = (unsigned int)random_below(40000);
		f->victims = random_below(4) ? 1U << random_below(4)
					     : 1 + (unsigned int)random_below(15);
		f->victims = f->victims & any ? f->victims & any : any;
		f->is_kill = random_below(3) != 0;
		f->stop_us = (unsigned int)random_below(60000);
	}
	shared->pause_us = pauses[random_below(3)];
	shared->burst = 1 + (uint32_t)random_below(64);
	shared->data_max = PAYLOAD_MIN + (uint32_t)random_below(DATA_MAX - PAYLOAD_MIN);
	shared->writer_count = plan.threads + plan.has_child;
}

static void describe(char *text, size_t size)
{
	size_t n = (size_t)snprintf(text, size, "%s, stream %s %zuK", mode_names[plan.mode],
				    policy_word(plan.stream_policy), plan.stream_size / 1024);

	if (plan.mode != PLAIN && plan.mode != SESSION_PLAIN)
		n += (size_t)snprintf(text + n, size - n, ", log %s %zuK",
				      policy_word(plan.log_policy), plan.log_size / 1024);
	for (unsigned int i = 0; i < plan.fault_count; i++) {
		const struct fault *f = &plan.faults[i];

		n += (size_t)snprintf(
			text + n, size - n, ", %s%s%s%s%s", f->is_kill ? "kill" : "stop",
			f->victims & TARGET ? " target" : "",
			f->victims & CONTROLLER ? " controller" : "",
			f->victims & KEEPER ? " keeper" : "", f->victims & READER ? " reader" : "");
	}
}

/* ---- the end ---- */

/* Sees to it that writers, reader and controller end. */
static void finish(pid_t target)
{
	send(TARGET | CONTROLLER | KEEPER | READER, SIGCONT);
	atomic_store(&shared->must_stop, true);
	if (target)
		reap(target, "the target");
	else
		WAIT_FOR(is_gone(atomic_load(&shared->target_pids[0])));
	WAIT_FOR(is_gone(atomic_load(&shared->target_pids[1])));
	atomic_store(&shared->must_finish, true);
	if (is_session()) {
		char command[600];

		snprintf(command, sizeof(command), "%s/src/ptrace-shutdown fault >>%s/said 2>&1",
			 build, directory);
		if (system(command) < 0)
			fail("ptrace-shutdown");
		WAIT_FOR(is_gone(controller));
	} else {
		reap(controller, "the controller");
	}
	if (reader)
		reap(reader, "the reader");
	/* As long as it is dying, it looks alive to the next create, too. */
	WAIT_FOR(!is_keeper_killed || is_gone(keeper));
}

/* What a create does for the streams that dead controllers have left. */
static void create_once_more(void)
{
	trace_id_t trace;
	trace_attr_t attr;

	posix_trace_attr_init(&attr);
	int error = posix_trace_create(0, &attr, &trace);
	if (error)
		fail("the next create: %s", strerror(error));
	else
		posix_trace_shutdown(trace);
}

static bool is_closed(const struct posix_trace_status_info *status)
{
	return status->posix_stream_status == POSIX_TRACE_SUSPENDED &&
	       status->posix_stream_flush_error != EOWNERDEAD;
}

/* Compares what there is with what must be. Returns how many events are missing. */
static uint64_t compare(uint64_t told)
{
	uint64_t missing = 0, most = SYSTEM_SLACK;

	for (uint32_t i = 0; i < shared->writer_count; i++) {
		const struct writer *w = &shared->writers[i];
		uint32_t started = atomic_load(&w->started);
		uint32_t must = is_controller_killed ? w->at_kill : atomic_load(&w->completed);
		uint32_t seen = atomic_load(&w->seen), last = atomic_load(&w->last_seen);

		/* Every event up to the last one that is there must be there, too. */
		if (must < last)
			must = last;
		if (seen < must)
			missing += must - seen;
		most += started - seen;
	}
	if (missing > told)
		fail("%llu events are missing, %llu are told", (unsigned long long)missing,
		     (unsigned long long)told);
	/* What LOOP overwrites after it was written to the log, but before that was committed,
	 * counts as lost, too. */
	if (told > most + most / 8 &&
	    (plan.mode == PLAIN || plan.stream_policy != POSIX_TRACE_LOOP))
		fail("%llu events are told to be lost, at most %llu are", (unsigned long long)told,
		     (unsigned long long)most);
	return missing;
}

/* Looks at what the follower of a session has printed; it may have been killed in a line. */
static void check_followed(void)
{
	uint32_t last[WRITERS_MAX] = {0};
	static char line[65536];
	FILE *f = fopen(path_in(directory, "followed"), "re");

	while (f && fgets(line, sizeof(line), f)) {
		const char *digits = strstr(line, "\"data_hex\":\"");
		unsigned char data[DATA_MAX];
		unsigned int byte;
		size_t size = 0;

		if (!strchr(line, '\n') || !digits)
			continue;
		for (digits += 12; size < sizeof(data) && sscanf(digits, "%2x", &byte) == 1;
		     digits += 2)
			data[size++] = (unsigned char)byte;
		if (size >= PAYLOAD_MIN)
			take_event(data, size, last, false);
	}
	if (f)
		fclose(f);
}

/* Returns how many events are missing. */
static uint64_t check(void)
{
	struct posix_trace_status_info status = {0};
	struct ptrc_counts counts = {0};

	create_once_more();
	if (is_session())
		check_followed();
	if (plan.mode == SESSION_PLAIN)
		return 0;
	if (plan.mode == PLAIN)
		return is_controller_killed ? 0 : compare(atomic_load(&shared->told));
	int error = read_log(true, &status, &counts);
	if (error)
		fail("the log: %s", strerror(error));
	else if (!is_closed(&status))
		fail("the log is not closed");
	if (counts.pt_damaged_gaps)
		fail("the log is damaged");
	return compare(counts.pt_lost_events + counts.pt_log_lost_events + counts.pt_gap_events);
}

static void map_shared(const char *path, bool is_new)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | (is_new ? O_CREAT | O_TRUNC : 0), 0600);

	if (fd < 0 || (is_new && ftruncate(fd, sizeof(*shared)))) {
		perror(path);
		exit(2);
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (shared == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
}

static pid_t begin(char *self)
{
	if (plan.mode == RUN) {
		controller = begin_run(self);
		WAIT_FOR(atomic_load(&shared->target_pids[0]) || is_gone(controller));
		return 0;
	}
	pid_t target = fork();
	if (!target)
		_exit(be_target(plan.has_child, plan.threads));
	WAIT_FOR(atomic_load(&shared->target_pids[0]));
	if (is_session()) {
		controller = begin_session(target);
		if (controller <= 0)
			fail("the session has no controller");
		return target;
	}
	controller = fork();
	if (!controller)
		_exit(be_controller(target));
	WAIT_FOR(atomic_load(&shared->is_ready));
	return target;
}

int main(int argc, char **argv)
{
	char text[400];
	uint64_t completed = 0, missing = 0;
	pid_t target;

	if (argc == 5 && !strcmp(argv[1], "--target")) {
		map_shared(argv[2], false);
		return be_target(atoi(argv[3]), (unsigned int)atoi(argv[4]));
	}
	if (argc != 3 || !getenv("PTRC_BUILD")) {
		fputs("usage: faults SEED DIRECTORY, with PTRC_BUILD\n", stderr);
		return 2;
	}
	directory = argv[2];
	snprintf(build, sizeof(build), "%s", getenv("PTRC_BUILD"));
	snprintf(log_path, sizeof(log_path), "%s/log", directory);
	snprintf(shared_path, sizeof(shared_path), "%s/shared", directory);
	map_shared(shared_path, true);
	choose(strtoull(argv[1], NULL, 10));
	describe(text, sizeof(text));
	/* Whose parents have been killed become children of this process. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	target = begin(argv[0]);
	if (!atomic_load(&shared->has_failed)) {
		reader = begin_reader();
		atomic_store(&shared->may_write, true);
		/* When COMMAND has ended, ptrace-run does not wait for a child of it. So whoever
		 * kills it has to know the child. */
		WAIT_FOR(!plan.has_child || atomic_load(&shared->target_pids[1]));
		for (unsigned int i = 0; i < plan.fault_count; i++)
			commit_fault(&plan.faults[i]);
		sleep_us((unsigned int)random_below(30000));
	}
	finish(target);
	if (!atomic_load(&shared->has_failed))
		missing = check();
	for (uint32_t i = 0; i < shared->writer_count; i++)
		completed += atomic_load(&shared->writers[i].completed);
	printf("%s %s: %s: %llu events, %llu lost and told%s%s\n",
	       shared->has_failed ? "FAILED" : "ok", argv[1], text, (unsigned long long)completed,
	       (unsigned long long)missing, shared->has_failed ? ": " : "", shared->failure);
	return shared->has_failed;
}
