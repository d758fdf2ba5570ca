/* SPDX-License-Identifier: MIT */
/* The attribute full-wait: events that wait for room instead of being lost. */
#include "include/posixtrace-private.h"
#include "tests/support/private_user.h"

#include "tests/support/keeper.h"

#include <posixtrace-control.h>
#include <posixtrace.h>
#include <setjmp.h>

#define KIB ((size_t)1024)
#define STREAM_BYTES (64 * KIB)
/* Surely more than such a stream can hold. */
#define TOO_MANY 20000

static trace_attr_t waiting_attr(int64_t wait_ms)
{
	trace_attr_t attr = log_attr(POSIX_TRACE_FLUSH, STREAM_BYTES, POSIX_TRACE_APPEND, 0);
	struct timespec wait = {wait_ms / 1000, wait_ms % 1000 * 1000000};

	CHECK_OK(posixtrace_attr_setfullwait(&attr, &wait));
	return attr;
}

static int64_t now_ms(void)
{
	return harness_now_ns() / 1000000;
}

/* A thread that records numbered events until it is told to end, or has recorded as many as it is
 * to. */
struct producer {
	trace_event_id_t id;
	uint32_t end;
	_Atomic uint32_t count;
	_Atomic bool is_over;
	_Atomic pid_t tid;
	pthread_t thread;
};

static void *produce(void *arg)
{
	struct producer *p = arg;

	p->tid = ts_gettid();
	while (!p->is_over && p->count < p->end) {
		ts_emit(p->id, p->count);
		p->count++;
	}
	return NULL;
}

static void begin(struct producer *p, const char *name, uint32_t end)
{
	*p = (struct producer){.id = ts_id(name), .end = end};
	p->thread = ts_thread(produce, p);
}

static void end(struct producer *p)
{
	p->is_over = true;
	ts_join(p->thread);
}

/* Waits until the thread is in an event call that waits. */
static void expect_waiting(struct producer *p, trace_id_t trid)
{
	CHECK_EVENTUALLY(p->tid != 0 && counts_of(trid).pt_waits > 0);
	ts_wait_asleep(getpid(), p->tid);
}

/* A stream, and a thread that records into it. */
struct stuck {
	int fd;
	trace_id_t trid;
	pid_t keeper;
	struct producer p;
};

static struct stuck start_waiting(pid_t pid, const trace_attr_t *attr)
{
	struct stuck s = {.fd = ts_temp_file()};

	s.trid = ts_create_log(pid, attr, s.fd);
	s.keeper = keeper_of(s.trid);
	ts_start(s.trid);
	return s;
}

/* The stream ends, and its log has all that the thread recorded, and nothing was lost. */
static void expect_all(const struct stuck *s)
{
	CHECK_EQ(counts_of(s->trid).pt_lost_events, 0);
	struct ts_events events = ts_end_log(s->trid, s->fd);
	ts_expect_numbers(&events, s->p.id, 0, s->p.count - 1);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_STOP), 1);
}

/* The keeper is stopped, so the thread will wait for room. */
static void create_stuck(struct stuck *s, pid_t pid, int64_t wait_ms)
{
	trace_attr_t attr = waiting_attr(wait_ms);

	*s = start_waiting(pid, &attr);
	CHECK_SYS(kill(s->keeper, SIGSTOP));
}

static void begin_stuck(struct stuck *s, int64_t wait_ms)
{
	create_stuck(s, 0, wait_ms);
	begin(&s->p, "number", TOO_MANY);
	expect_waiting(&s->p, s->trid);
}

/* The keeper goes on. */
static void continue_keeper(const struct stuck *s)
{
	CHECK_SYS(kill(s->keeper, SIGCONT));
}

/* The same, and nothing is lost. */
static void unstick(struct stuck *s)
{
	continue_keeper(s);
	ts_join(s->p.thread);
	CHECK_EQ(counts_of(s->trid).pt_lost_events, 0);
}

TEST(full_wait_is_an_attribute, "", NEEDS_KEEPER)
{
	struct timespec wait = {7, 7}, longest = {INT64_MAX, 999999999};
	trace_attr_t attr = ts_attr(POSIX_TRACE_FLUSH, 0, 0), got;
	int fd = ts_temp_file();

	CHECK_OK(posixtrace_attr_getfullwait(&attr, &wait));
	CHECK(wait.tv_sec == 0 && wait.tv_nsec == 0);
	CHECK_EQ(posixtrace_attr_setfullwait(NULL, &wait), EINVAL);
	CHECK_EQ(posixtrace_attr_setfullwait(&attr, NULL), EINVAL);
	CHECK_EQ(posixtrace_attr_setfullwait(&attr, &(struct timespec){-1, 0}), EINVAL);
	CHECK_EQ(posixtrace_attr_setfullwait(&attr, &(struct timespec){0, -1}), EINVAL);
	CHECK_EQ(posixtrace_attr_setfullwait(&attr, &(struct timespec){0, 1000000000}), EINVAL);
	CHECK_OK(posixtrace_attr_setfullwait(&attr, &longest));
	CHECK_OK(posixtrace_attr_getfullwait(&attr, &wait));
	CHECK_GT(wait.tv_sec, INT64_C(9000000000));
	CHECK_OK(posixtrace_attr_setfullwait(&attr, &(struct timespec){3, 5}));
	CHECK_EQ(posixtrace_attr_getfullwait(&attr, NULL), EINVAL);
	CHECK_EQ(posixtrace_attr_getfullwait(NULL, &wait), EINVAL);
	/* The stream has it, and so has its log. */
	trace_id_t trid = ts_create_log(0, &attr, fd);
	for (int is_log = 0; is_log < 2; is_log++) {
		if (is_log)
			trid = ts_end_and_open_log(trid, fd);
		CHECK_OK(posix_trace_get_attr(trid, &got));
		CHECK_OK(posixtrace_attr_getfullwait(&got, &wait));
		CHECK(wait.tv_sec == 3 && wait.tv_nsec == 5);
	}
	CHECK_OK(posix_trace_attr_destroy(&attr));
	CHECK_EQ(posixtrace_attr_getfullwait(&attr, &wait), EINVAL);
}

TEST(a_stream_without_flush_does_not_wait, "", NEEDS_KEEPER)
{
	trace_attr_t attr = waiting_attr(3600000);
	trace_event_id_t id = ts_id("number");

	CHECK_OK(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_UNTIL_FULL));
	trace_id_t trid = ts_create_running(0, &attr);
	ts_emit_numbers(id, 0, TOO_MANY - 1);
	CHECK_GT(counts_of(trid).pt_lost_events, 0);
	CHECK_EQ(counts_of(trid).pt_waits, 0);
	ts_shutdown(trid);
}

/* Threads as fast as they can be, into a stream that is far too small. */
TEST(nothing_is_lost, "", NEEDS_KEEPER)
{
	static const char *const names[] = {"a", "b", "c"};
	struct producer p[3];
	struct stuck s;

	/* The keeper takes nothing until a thread waits. */
	create_stuck(&s, 0, 60000);
	for (int i = 0; i < 3; i++)
		begin(&p[i], names[i], 100000);
	CHECK_EVENTUALLY(counts_of(s.trid).pt_waits > 0);
	continue_keeper(&s);
	for (int i = 0; i < 3; i++)
		ts_join(p[i].thread);
	struct ptrc_counts counts = counts_of(s.trid);
	CHECK_EQ(counts.pt_lost_events, 0);
	CHECK_GT(counts.pt_waits, 0);
	CHECK_GT(counts.pt_wait_ns, 0);
	trace_id_t log = ts_end_and_open_log(s.trid, s.fd);
	struct ts_events events = ts_read_log(log);
	for (int i = 0; i < 3; i++)
		ts_expect_numbers(&events, p[i].id, 0, p[i].count - 1);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_STOP), 1);
	/* The log tells how long they waited, too. */
	CHECK_EQ(counts_of(log).pt_waits, counts.pt_waits);
	CHECK_EQ(counts_of(log).pt_wait_ns, counts.pt_wait_ns);
}

TS_ROUTINE(flood)
{
	ts_emit_numbers(*(const trace_event_id_t *)arg, 0, 99999);
	return 0;
}

TEST(other_processes_wait_too, "", NEEDS_KEEPER)
{
	struct ts_target target = ts_target_fork();
	trace_event_id_t id = ts_target_id(&target, "number");
	struct stuck s;

	/* The keeper takes nothing until the process waits. */
	create_stuck(&s, target.pid, 60000);
	ts_target_call_begin(&target, flood, &id, sizeof(id));
	CHECK_EVENTUALLY(counts_of(s.trid).pt_waits > 0);
	continue_keeper(&s);
	ts_target_result(&target);
	ts_stop(s.trid);
	ts_target_end(&target);
	CHECK_EQ(counts_of(s.trid).pt_lost_events, 0);
	CHECK_GT(counts_of(s.trid).pt_waits, 0);
	ts_expect_logged(s.trid, s.fd, id, 0, 99999);
}

/* One stretch, then losses without a wait; and when there is room again, no loss and a new
 * stretch. */
TEST(a_stopped_keeper_costs_one_stretch, "", NEEDS_KEEPER)
{
	trace_event_id_t id = ts_id("number");
	unsigned long all_ms = 1;
	struct stuck s;

	create_stuck(&s, 0, 600);
	for (int round = 1; round <= 2; round++) {
		CHECK_SYS(kill(s.keeper, SIGSTOP));
		int64_t began = now_ms();
		ts_emit_numbers(id, 0, TOO_MANY - 1);
		int64_t waited = now_ms() - began;
		CHECK_GE(waited, 599);
		all_ms += (unsigned long)waited + 1;
		CHECK_GT(counts_of(s.trid).pt_lost_events, 0);
		CHECK_EQ(counts_of(s.trid).pt_waits, (unsigned long)round);
		/* The time asleep: the thread is awake for a while between two sleeps. */
		CHECK_GE(counts_of(s.trid).pt_wait_ns, 300000000UL * (unsigned long)round);
		CHECK_LE(counts_of(s.trid).pt_wait_ns, 1000000 * all_ms);
		CHECK_EQ(ts_status(s.trid).posix_stream_full_status, POSIX_TRACE_FULL);
		continue_keeper(&s);
		CHECK_EVENTUALLY(ts_status(s.trid).posix_stream_status == POSIX_TRACE_RUNNING);
	}
	ts_clear(s.trid);
	CHECK_EQ(counts_of(s.trid).pt_waits, 0);
	CHECK_EQ(counts_of(s.trid).pt_wait_ns, 0);
	ts_shutdown(s.trid);
}

/* Milliseconds that a thread waits who comes when another one has waited for half of the 700 ms;
 * INT64_MAX if it came too late. */
static int64_t second_wait(void)
{
	struct producer second;
	struct stuck s;

	begin_stuck(&s, 700);
	harness_sleep_ms(350);
	int64_t began = now_ms();
	begin(&second, "number", TOO_MANY);
	ts_join(second.thread);
	began = now_ms() - began;
	ts_join(s.p.thread);
	CHECK_GT(counts_of(s.trid).pt_lost_events, 0);
	if (counts_of(s.trid).pt_waits < 2)
		began = INT64_MAX;
	continue_keeper(&s);
	ts_shutdown(s.trid);
	close(s.fd);
	return began;
}

/* Who gets no processor is late, but not each time. */
TEST(one_thread_that_gives_up_frees_the_others, "", NEEDS_KEEPER)
{
	CHECK_EVENTUALLY(second_wait() < 690);
}

TEST(it_goes_on_when_there_is_room, "", NEEDS_KEEPER)
{
	struct stuck s;

	create_stuck(&s, 0, 60000);
	for (int round = 0; round < 3; round++) {
		CHECK_SYS(kill(s.keeper, SIGSTOP));
		begin(&s.p, "number", TOO_MANY);
		expect_waiting(&s.p, s.trid);
		CHECK_EQ(ts_status(s.trid).posix_stream_status, POSIX_TRACE_RUNNING);
		CHECK_EQ(ts_status(s.trid).posix_stream_full_status, POSIX_TRACE_NOT_FULL);
		unstick(&s);
		if (round < 2)
			ts_clear(s.trid);
	}
	expect_all(&s);
}

TEST(a_start_of_a_full_stream_makes_events_wait, "", NEEDS_KEEPER)
{
	struct producer later;
	struct stuck s;
	uint64_t waits;

	begin_stuck(&s, 60000);
	ts_stop(s.trid);
	ts_join(s.p.thread);
	waits = counts_of(s.trid).pt_waits;
	ts_start(s.trid);
	begin(&later, "later", 1000);
	CHECK_EVENTUALLY(counts_of(s.trid).pt_waits > waits);
	continue_keeper(&s);
	ts_join(later.thread);
	CHECK_EQ(counts_of(s.trid).pt_lost_events, 0);
	struct ts_events events = ts_end_log(s.trid, s.fd);

	ts_expect_numbers(&events, later.id, 0, 999);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_START), 2);
}

TEST(a_killed_keeper_is_replaced, "", NEEDS_KEEPER)
{
	trace_attr_t attr = waiting_attr(60000);
	struct stuck s = start_waiting(0, &attr);
	int kills = 0;

	begin(&s.p, "number", UINT32_MAX);
	for (int i = 0; i < 20; i++) {
		pid_t keeper = keeper_of(s.trid), next;

		harness_sleep_ms(10);
		kills += kill(keeper, i % 2 ? SIGKILL : SIGSTOP) == 0;
		harness_sleep_ms(10);
		kill(keeper, SIGKILL);
		/* A killed process is there for a moment yet. */
		CHECK_EVENTUALLY(ptrc_trace_keeper(s.trid, &next) == 0 && next != keeper);
	}
	end(&s.p);
	CHECK_GT(kills, 5);
	expect_all(&s);
}

/* The target of a controller that is killed together with the keeper. */
TEST(nobody_waits_for_the_dead, "", NEEDS_KEEPER)
{
	trace_attr_t attr = waiting_attr(600000);
	int fd = ts_temp_file();
	struct ts_target target = ts_target_fork();
	struct {
		trace_event_id_t id;
		_Atomic pid_t keeper;
	} *said = harness_share(sizeof(*said));

	pid_t controller = harness_fork();
	if (controller == 0) {
		trace_id_t trid = ts_create_log(target.pid, &attr, fd);

		ts_start(trid);
		said->id = ts_trid_id(trid, "number");
		said->keeper = keeper_of(trid);
		for (;;)
			pause();
	}
	CHECK_EVENTUALLY(said->keeper != 0);
	CHECK_SYS(kill(said->keeper, SIGSTOP));
	ts_target_call_begin(&target, flood, &said->id, sizeof(said->id));
	ts_wait_asleep(target.pid, target.pid);
	/* The controller stays a zombie, too. */
	CHECK_SYS(kill(controller, SIGKILL));
	CHECK_SYS(kill(said->keeper, SIGKILL));
	ts_target_result(&target);
	CHECK_SYS(waitpid(controller, NULL, 0));
	ts_target_end(&target);
}

static trace_event_id_t handlers_id;
static _Atomic uint32_t handled;
static sigjmp_buf back;
static _Atomic pid_t forked;

static void record_in_handler(int sig)
{
	(void)sig;
	ts_emit(handlers_id, handled++);
}

static void jump(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

static void fork_in_handler(int sig)
{
	(void)sig;
	forked = fork();
}

static void on(int sig, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

	CHECK_SYS(sigaction(sig, &action, NULL));
}

TEST(events_of_handlers_wait_inside_waiting_calls, "", NEEDS_KEEPER)
{
	struct stuck s;

	handlers_id = ts_id("handler");
	on(SIGUSR1, record_in_handler);
	on(SIGUSR2, record_in_handler);
	begin_stuck(&s, 60000);
	/* A handler in a wait in a handler in a wait. */
	pthread_kill(s.p.thread, SIGUSR1);
	CHECK_EVENTUALLY(counts_of(s.trid).pt_waits >= 2);
	ts_wait_asleep(getpid(), s.p.tid);
	pthread_kill(s.p.thread, SIGUSR2);
	CHECK_EVENTUALLY(counts_of(s.trid).pt_waits >= 3);
	unstick(&s);
	CHECK_EQ(handled, 2);
	struct ts_events events = ts_end_log(s.trid, s.fd);
	CHECK_EQ(ts_count(&events, handlers_id), 2);
	ts_expect_numbers(&events, s.p.id, 0, s.p.count - 1);
}

/* Under load: a timer's handler records, too, whatever the thread is doing. */
TEST(handlers_and_their_threads_lose_nothing, "", NEEDS_KEEPER)
{
	trace_attr_t attr = waiting_attr(60000);
	struct stuck s = start_waiting(0, &attr);

	handlers_id = ts_id("handler");
	on(SIGUSR1, record_in_handler);
	begin(&s.p, "number", UINT32_MAX);
	CHECK_EVENTUALLY(s.p.tid != 0);
	for (int i = 0; i < 500; i++) {
		struct timespec pause = {0, 300000};

		pthread_kill(s.p.thread, SIGUSR1);
		nanosleep(&pause, NULL);
	}
	end(&s.p);
	CHECK_EQ(counts_of(s.trid).pt_lost_events, 0);
	struct ts_events events = ts_end_log(s.trid, s.fd);
	ts_expect_numbers(&events, s.p.id, 0, s.p.count - 1);
	ts_expect_numbers(&events, handlers_id, 0, handled - 1);
}

static void *jump_out_of_it(void *arg)
{
	struct producer *p = arg;

	p->tid = ts_gettid();
	if (!sigsetjmp(back, 1))
		for (;;)
			ts_emit(p->id, p->count++);
	/* That event was not recorded. */
	p->count--;
	p->is_over = true;
	while (p->count < p->end)
		ts_emit(p->id, p->count++);
	return NULL;
}

TEST(a_wait_may_be_left_by_siglongjmp, "", NEEDS_KEEPER)
{
	struct stuck s;

	on(SIGUSR1, jump);
	create_stuck(&s, 0, 60000);
	s.p = (struct producer){.id = ts_id("number"), .end = TOO_MANY};
	s.p.thread = ts_thread(jump_out_of_it, &s.p);
	expect_waiting(&s.p, s.trid);
	pthread_kill(s.p.thread, SIGUSR1);
	CHECK_EVENTUALLY(s.p.is_over);
	unstick(&s);
	expect_all(&s);
}

static void *produce_until_forked(void *arg)
{
	struct producer *p = arg;
	pid_t me = getpid();

	p->tid = ts_gettid();
	while (p->count < p->end) {
		ts_emit(p->id, p->count);
		p->count++;
		/* The child comes out of the call, too; it records events of its own. */
		if (getpid() != me) {
			ts_emit_numbers(handlers_id, 0, 999);
			_exit(0);
		}
	}
	return NULL;
}

static void check_fork(bool is_inherited)
{
	trace_attr_t attr = waiting_attr(60000);
	int status;

	handlers_id = ts_id("child");
	on(SIGUSR1, fork_in_handler);
	if (is_inherited)
		CHECK_OK(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED));
	struct stuck s = start_waiting(0, &attr);
	CHECK_SYS(kill(s.keeper, SIGSTOP));
	s.p = (struct producer){.id = ts_id("number"), .end = TOO_MANY};
	s.p.thread = ts_thread(produce_until_forked, &s.p);
	expect_waiting(&s.p, s.trid);
	pthread_kill(s.p.thread, SIGUSR1);
	CHECK_EVENTUALLY(forked > 0);
	if (!is_inherited)
		CHECK_EVENTUALLY(waitpid(forked, &status, WNOHANG) == forked);
	unstick(&s);
	if (is_inherited)
		CHECK_SYS(waitpid(forked, &status, 0));
	CHECK_EQ(status, 0);
	struct ts_events events = ts_end_log(s.trid, s.fd);
	ts_expect_numbers(&events, s.p.id, 0, s.p.count - 1);
	CHECK_EQ(ts_count(&events, handlers_id), is_inherited ? 1000 : 0);
}

TEST(a_child_forked_in_a_wait_does_not_record_its_parents_event, "", NEEDS_KEEPER)
{
	check_fork(false);
}

TEST(a_child_forked_in_a_wait_records_its_own_events, "", NEEDS_KEEPER)
{
	check_fork(true);
}

TEST(a_process_that_waits_can_be_ended_by_a_signal, "", NEEDS_KEEPER)
{
	struct ts_target target = ts_target_fork();
	trace_event_id_t id = ts_target_id(&target, "number");
	struct stuck s;
	int status;

	create_stuck(&s, target.pid, 600000);
	ts_target_call_begin(&target, flood, &id, sizeof(id));
	CHECK_EVENTUALLY(counts_of(s.trid).pt_waits > 0);
	ts_wait_asleep(target.pid, target.pid);
	CHECK_SYS(kill(target.pid, SIGTERM));
	CHECK_SYS(waitpid(target.pid, &status, 0));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	continue_keeper(&s);
	ts_shutdown(s.trid);
}

TEST(an_event_that_waits_is_no_cancellation_point, "", NEEDS_KEEPER)
{
	struct stuck s;

	begin_stuck(&s, 60000);
	CHECK_OK(pthread_cancel(s.p.thread));
	continue_keeper(&s);
	CHECK(ts_join(s.p.thread) == NULL);
	CHECK_EQ(s.p.count, TOO_MANY);
	expect_all(&s);
}

TEST(a_stop_a_clear_and_a_filter_end_the_wait, "", NEEDS_KEEPER)
{
	enum { BY_STOP, BY_CLEAR, BY_FILTER, HOWS };
	static const char *const names[HOWS] = {"stop", "clear", "filter"};

	for (int how = 0; how < HOWS; how++) {
		struct stuck s;

		NOTE("%s", names[how]);
		begin_stuck(&s, 600000);
		trace_event_set_t set = ts_set(s.p.id, 0);
		if (how == BY_STOP)
			ts_stop(s.trid);
		if (how == BY_FILTER)
			ts_set_filter(s.trid, &set, POSIX_TRACE_SET_EVENTSET);
		if (how == BY_CLEAR) {
			/* The keeper empties the log. */
			continue_keeper(&s);
			ts_clear(s.trid);
		}
		ts_join(s.p.thread);
		CHECK_EQ(s.p.count, TOO_MANY);
		CHECK_EQ(counts_of(s.trid).pt_lost_events, 0);
		continue_keeper(&s);
		ts_shutdown(s.trid);
	}
}

/* Once the first thread of this process waits. */
static void *continue_later(void *arg)
{
	ts_wait_asleep(getpid(), getpid());
	kill(*(pid_t *)arg, SIGCONT);
	return NULL;
}

TEST(a_shutdown_ends_the_wait, "", NEEDS_KEEPER)
{
	struct stuck s;

	begin_stuck(&s, 600000);
	pthread_t other = ts_thread(continue_later, &s.keeper);
	ts_shutdown(s.trid);
	ts_join(other);
	ts_join(s.p.thread);
	CHECK_EQ(s.p.count, TOO_MANY);
}

/* Another thread forks while one waits: the child has only itself. */
TEST(a_fork_beside_a_wait_leaves_it_alone, "", NEEDS_KEEPER | NEEDS_THREADED_FORK)
{
	struct stuck s;
	int status;

	begin_stuck(&s, 60000);
	pid_t child = fork();
	if (child == 0) {
		ts_emit(s.p.id, 0);
		_exit(0);
	}
	CHECK_SYS(waitpid(child, &status, 0));
	CHECK_EQ(status, 0);
	unstick(&s);
	expect_all(&s);
}

/* The disk of the log is full, and has room again after a while. */
TEST(a_full_disk_is_waited_for, "", NEEDS_KEEPER)
{
	char directory[] = "/tmp/full-wait-XXXXXX", log[64], ballast[64];
	trace_attr_t attr = waiting_attr(60000);
	struct stuck s;

	CHECK(mkdtemp(directory));
	if (!enter_mount_namespace() || mount("none", directory, "tmpfs", 0, "size=4m") < 0) {
		rmdir(directory);
		harness_skip("needs to mount a file system");
	}
	snprintf(log, sizeof(log), "%s/log", directory);
	snprintf(ballast, sizeof(ballast), "%s/ballast", directory);
	int fd = open(ballast, O_RDWR | O_CREAT, 0600);
	CHECK_SYS(posix_fallocate(fd, 0, 3 << 20));
	close(fd);
	s.fd = open(log, O_RDWR | O_CREAT, 0600);
	s.trid = ts_create_log(0, &attr, s.fd);
	ts_start(s.trid);
	begin(&s.p, "number", 300000);
	CHECK_EVENTUALLY(ts_status(s.trid).posix_stream_flush_error == ENOSPC);
	CHECK_EVENTUALLY(s.p.tid != 0);
	ts_wait_asleep(getpid(), s.p.tid);
	CHECK_LT(s.p.count, 300000);
	CHECK_SYS(unlink(ballast));
	ts_join(s.p.thread);
	expect_all(&s);
	close(s.fd);
	umount(directory);
	rmdir(directory);
}

TEST(a_pipe_that_nobody_reads_any_more_is_not_waited_for, "", NEEDS_KEEPER)
{
	trace_attr_t attr = waiting_attr(600000);
	trace_event_id_t id = ts_id("number");
	int ends[2];

	signal(SIGPIPE, SIG_IGN);
	CHECK_SYS(pipe(ends));
	trace_id_t trid = ts_create_log(0, &attr, ends[1]);
	ts_start(trid);
	close(ends[0]);
	for (uint32_t i = 0; i < 4 * TOO_MANY; i++)
		ts_emit(id, i);
	CHECK_GT(counts_of(trid).pt_lost_events, 0);
	CHECK_EQ(posix_trace_shutdown(trid), EPIPE);
}

/* What is larger than the stream finds no room in an empty one either. */
TEST(what_never_fits_is_not_waited_for, "", NEEDS_KEEPER)
{
	static const unsigned char data[8192];
	trace_attr_t attr = waiting_attr(600000);
	trace_event_id_t id = ts_id("large");

	CHECK_OK(posix_trace_attr_setmaxdatasize(&attr, 8192));
	CHECK_OK(posix_trace_attr_setstreamsize(&attr, 8192 + 24));
	struct stuck s = start_waiting(0, &attr);
	for (int i = 0; i < 20; i++)
		posix_trace_event(id, data, sizeof(data));
	CHECK_GT(counts_of(s.trid).pt_lost_events, 0);
	CHECK_EQ(counts_of(s.trid).pt_waits, 0);
	ts_shutdown(s.trid);
}

struct guest {
	pid_t target;
	int count;
	_Atomic pid_t tid;
};

static void *record_until_forked(void *arg)
{
	static const unsigned char data[4000];
	struct guest *g = arg;
	pid_t me = getpid();
	unsigned int streams;

	g->tid = ts_gettid();
	for (int i = 0; i < g->count; i++) {
		int error = posixtrace_event_for(g->target, "guest", NULL, data, sizeof(data),
						 &streams);

		/* The child comes out of the call, too; its parent records the event. */
		if (getpid() != me)
			_exit(error || streams != 0);
		CHECK_OK(error);
		CHECK_EQ(streams, 1);
	}
	return NULL;
}

/* An event for another process waits as well. */
TEST(a_guests_child_forked_in_a_wait_leaves_the_event_to_its_parent, "", NEEDS_KEEPER)
{
	struct ts_target target = ts_target_fork();
	struct guest g = {.target = target.pid, .count = 100};
	struct stuck s;
	int status;

	on(SIGUSR1, fork_in_handler);
	create_stuck(&s, target.pid, 60000);
	pthread_t thread = ts_thread(record_until_forked, &g);
	CHECK_EVENTUALLY(counts_of(s.trid).pt_waits > 0);
	ts_wait_asleep(getpid(), g.tid);
	pthread_kill(thread, SIGUSR1);
	CHECK_EVENTUALLY(forked > 0);
	CHECK_EVENTUALLY(waitpid(forked, &status, WNOHANG) == forked);
	CHECK_EQ(status, 0);
	continue_keeper(&s);
	ts_join(thread);
	CHECK_EQ(counts_of(s.trid).pt_lost_events, 0);
	ts_target_end(&target);
	struct ts_events events = ts_end_log(s.trid, s.fd);
	CHECK_GE(events.count, 100);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_STOP), 1);
}
