/* SPDX-License-Identifier: MIT */
/*
 * The keeper killed before each of its stores. A child does a keeper's work on a stream
 * whose keeper is dead: the stream is mapped read-only there, each store to it faults, is
 * let through as a single step, and one of them is the child's last. So the stream and the
 * log stand as they may at any moment of a flush; then the library starts a keeper, which
 * must bring all to a good end: each event in the log once or counted as lost, one STOP for
 * a stop, one gap told for a gap, a stream that restarts or stays stopped as it should.
 *
 * It takes long: each of 3000 stores is a round of its own, in which two keepers start, and each
 * store up to it is two signals.
 */
#include "include/posixtrace-private.h"
#include "tests/support/private_user.h"

#include "tests/support/keeper.h"

#include <posixtrace-control.h>

#if !defined(__x86_64__)

TEST(a_keeper_may_be_killed_before_any_store, "LOG-19 LOG-39")
{
	SKIP("single steps are only known for x86-64 here");
}

#else

#include <sys/ucontext.h>

#include "lib/control/controller.h"
#include "lib/control/handle.h"
#include "lib/keeper/keeper_work.h"
#include "lib/log/log_write.h"

#define KIB ((size_t)1024)
#define TRAP_FLAG 0x100
#define NEVER LONG_MAX
#define WORKERS 8

/* ---- a process that dies at a store ---- */

static struct {
	uint8_t *start;
	size_t bytes;
	long left;
} guarded;
static _Atomic long *stores; /* how many there were */

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *at = context;
	uint8_t *place = info->si_addr;

	if (place < guarded.start || place >= guarded.start + guarded.bytes) {
		signal(sig, SIG_DFL);
		return;
	}
	if (guarded.left-- == 0)
		kill(getpid(), SIGKILL);
	atomic_fetch_add(stores, 1);
	mprotect(guarded.start, guarded.bytes, PROT_READ | PROT_WRITE);
	at->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	ucontext_t *at = context;

	(void)sig;
	(void)info;
	mprotect(guarded.start, guarded.bytes, PROT_READ);
	at->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static void guard(struct ptrc_stream *s, long last)
{
	struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	struct sigaction step = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};

	CHECK_SYS(sigaction(SIGSEGV, &fault, NULL));
	CHECK_SYS(sigaction(SIGTRAP, &step, NULL));
	guarded.start = (uint8_t *)s->header;
	guarded.bytes = s->map_size;
	guarded.left = last;
	CHECK_SYS(mprotect(guarded.start, guarded.bytes, PROT_READ));
}

/* What a keeper does when it has taken over from a dead one. */
typedef void keepers_work(struct ptrc_keeper_work *k);

static void takes_over(struct ptrc_keeper_work *k)
{
	(void)k;
}

static void flushes(struct ptrc_keeper_work *k)
{
	ptrc_stream_marker(&k->stream, POSIX_TRACE_FLUSH_START, NULL, 0);
	CHECK_OK(ptrc_keeper_work_drain(k));
	ptrc_stream_marker(&k->stream, POSIX_TRACE_FLUSH_STOP, NULL, 0);
}

/* Begins the next file, after a flush. */
static void rotates(struct ptrc_keeper_work *k)
{
	CHECK_OK(ptrc_log_rotate_base(k->stream.header, k->writer.fd, true, k->writer.base));
	CHECK_OK(ptrc_keeper_work_drain(k));
	ptrc_keeper_work_rotate(k);
}

static void closes(struct ptrc_keeper_work *k)
{
	CHECK_OK(ptrc_keeper_work_close(k, false));
}

/* Does the work in a child, which dies at its store number `last`, or at the end. Returns how many stores it had. */
static long work(trace_id_t trid, int log_fd, keepers_work *does, long last)
{
	PTRC_REF(ref, trid, PTRC_HANDLE_ACTIVE);
	struct ptrc_controller *c = ref.object;
	struct ptrc_keeper_work k = {.names_fd = -1};

	CHECK(c != NULL);
	k.stream_fd = open_object('s', c->stream.header->id);
	k.names_fd = open_object('n', c->stream.header->names_id);
	int own_fd = ts_reopen(log_fd, O_RDWR | O_CLOEXEC);
	atomic_store(stores, 0);
	pid_t pid = harness_fork();
	if (pid == 0) {
		CHECK_OK(ptrc_stream_map(k.stream_fd, PTRC_ROLE_KEEPER, &k.stream));
		guard(&k.stream, last);
		CHECK_OK(ptrc_keeper_work_map(&k));
		CHECK_OK(ptrc_log_writer_init(&k.writer, k.stream.header, own_fd, true));
		k.writer.names = k.names;
		ptrc_keeper_work_recover(&k);
		does(&k);
		kill(getpid(), SIGKILL);
	}
	harness_reap(pid);
	close(k.stream_fd);
	close(k.names_fd);
	close(own_fd);
	return atomic_load(stores);
}

/* ---- rounds ---- */

struct round {
	trace_event_id_t id;
	int fd;
	trace_id_t trid;
	uint32_t made;
	bool has_more; /* of fill_again */
};

struct plan {
	int stream_policy, log_policy;
	size_t stream_bytes, log_bytes;
	bool is_exact; /* no markers, which may be lost, too */
	/* May be NULL. */
	void (*prepare)(struct round *r);
	/* How many events there are for the keeper that is killed, and how many come after its
	 * death, into the same chunk, before there is another. */
	uint32_t fill, fill_again;
	/* When another keeper lives, and when all is over. */
	void (*go_on)(struct round *r);
	void (*check)(const struct round *r, const struct ts_events *events,
		      struct ptrc_counts counts);
};

static void make(struct round *r, uint32_t count, size_t len)
{
	emit_run(r->id, r->made, r->made + count, len);
	r->made += count;
}

/* Kills the keeper at one store of its flush, and, if `second` is none of NEVER, its
 * successor at one of its own. Returns how many stores the first had. */
static long run_round(const struct plan *plan, long first, long second)
{
	trace_attr_t attr = log_attr(plan->stream_policy, plan->stream_bytes, plan->log_policy,
				     plan->log_bytes);
	struct round r = {.id = ts_id("number"), .fd = ts_temp_file()};

	r.trid = ts_create_log(0, &attr, r.fd);
	if (plan->is_exact) {
		trace_event_set_t set = ts_set(POSIX_TRACE_FLUSH_START, POSIX_TRACE_FLUSH_STOP, 0);

		ts_set_filter(r.trid, &set, POSIX_TRACE_SET_EVENTSET);
	}
	ts_start(r.trid);
	if (plan->prepare)
		plan->prepare(&r);
	ts_flush(r.trid);
	kill_keeper(r.trid);
	make(&r, plan->fill, 200);
	long count = work(r.trid, r.fd, flushes, first);
	make(&r, plan->fill_again, 200);
	r.has_more = plan->fill_again;
	if (second != NEVER)
		work(r.trid, r.fd, takes_over, second);
	plan->go_on(&r);
	struct ptrc_counts counts = counts_of(r.trid);
	ts_shutdown(r.trid);
	struct ts_events events = ts_log_events(r.fd);
	ts_expect_sorted(&events);
	plan->check(&r, &events, counts);
	ts_events_free(&events);
	close(r.fd);
	return count;
}

/* Does something in which a keeper dies at its store number `last`, or at the end. Returns how many
 * stores it had. */
typedef long killing_run(const void *arg, long last);

/* Goes through the stores of a run. Much of it is waiting: several at a time. */
static void run_at_stores(killing_run *run, const void *arg)
{
	pid_t pids[WORKERS];
	long stride = WORKERS * harness_sample();
	long begin = WORKERS * harness_random(harness_sample());

	stores = harness_share(sizeof(*stores));
	long count = run(arg, NEVER);
	NOTE("%ld stores", count);
	CHECK_GT(count, 50);
	for (int i = 0; i < WORKERS; i++) {
		pids[i] = harness_fork();
		if (pids[i])
			continue;
		stores = harness_share(sizeof(*stores));
		for (long n = begin + i; n < count; n += stride) {
			NOTE("killed before store %ld", n);
			run(arg, n);
		}
		_exit(0);
	}
	for (int i = 0; i < WORKERS; i++)
		CHECK_EXIT(pids[i], 0);
}

static long run_rounds(const void *plan, long last)
{
	long count = run_round(plan, last, NEVER);

	if (last != NEVER && last / WORKERS % 4 == 0)
		run_round(plan, last, last * 7 % 60);
	return count;
}

/* Each event is in the log or lost. So are those of keepers that were killed, or came when
 * the stream had stopped: markers of three flushes, a START without a run. */
static void check_sum(const struct round *r, const struct ts_events *events,
		      const struct ptrc_counts *counts)
{
	uint64_t missing = r->made - ts_count(events, r->id);
	uint64_t lost = counts->pt_lost_events + counts->pt_log_lost_events;

	CHECK_LE(missing, lost);
	CHECK_LE(lost, missing + 7);
}

/* ---- chunks ---- */

static uint32_t keepers_chunks(trace_id_t trid)
{
	PTRC_REF(ref, trid, PTRC_HANDLE_ACTIVE);
	struct ptrc_controller *c = ref.object;
	uint32_t count = 0;

	CHECK(c != NULL);
	for (uint32_t i = 0; i < c->stream.header->chunks_used; i++) {
		uint64_t word = ptrc_stream_ctl(c->stream.header)[i].word;

		count += PTRC_CHUNK_STATE(word) == PTRC_CHUNK_OWNED &&
			 PTRC_CHUNK_SLOT(word) == PTRC_SLOT_KEEPER;
	}
	return count;
}

TEST(killed_keepers_leave_no_chunks_behind, "LOG-19 SIZE-25")
{
	int fd = ts_temp_file();
	trace_id_t trid = create_log(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0, fd);

	for (int i = 0; i < 6; i++) {
		ts_flush(trid);
		CHECK_EQ(keepers_chunks(trid), 1);
		kill_keeper(trid);
	}
	ts_flush(trid);
	ts_flush(trid);
	CHECK_EQ(keepers_chunks(trid), 1);
	ts_shutdown(trid);
}

/* ---- a stream that stopped by itself restarts ---- */

static void expect_restart(struct round *r)
{
	ts_flush(r->trid);
	CHECK_EQ(ts_status(r->trid).posix_stream_status, POSIX_TRACE_RUNNING);
	make(r, 1, 200);
	ts_flush(r->trid);
}

static void check_restarted(const struct round *r, const struct ts_events *events,
			    struct ptrc_counts counts)
{
	size_t kept = ts_count(events, r->id), automatic = 0;
	ssize_t at = -1;

	check_sum(r, events, &counts);
	for (size_t i = 0; i < events->count; i++)
		automatic +=
			id_at(events, i) == POSIX_TRACE_STOP && ts_stop_reason(&events->at[i]) == 1;
	CHECK_EQ(automatic, 1);
	CHECK_EQ(ts_count(events, POSIX_TRACE_STOP), 2);
	CHECK_EQ(ts_count(events, POSIX_TRACE_START), 2);
	for (size_t i = 0; i < kept; i++) {
		at = ts_find(events, r->id, (size_t)(at + 1));
		CHECK_EQ(ts_number(&events->at[at]), i + 1 < kept ? i : r->made - 1);
	}
}

TEST(a_keeper_killed_at_any_store_restarts_the_stream, "LOG-19 POLICY-19 POLICY-20 POLICY-24")
{
	static const struct plan plan = {.stream_policy = POSIX_TRACE_FLUSH,
					 .stream_bytes = 16 * KIB,
					 .log_policy = POSIX_TRACE_APPEND,
					 .fill = 120,
					 .go_on = expect_restart,
					 .check = check_restarted};
	run_at_stores(run_rounds, &plan);
}

/* ---- an UNTIL_FULL log becomes full ---- */

static void expect_full(struct round *r)
{
	ts_flush(r->trid);
	ts_expect_status(r->trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL, POSIX_TRACE_NO_OVERRUN);
	make(r, 10, 200);
	ts_flush(r->trid);
}

static void check_full(const struct round *r, const struct ts_events *events,
		       struct ptrc_counts counts)
{
	check_sum(r, events, &counts);
	ts_expect_numbers(events, r->id, 0, (uint32_t)ts_count(events, r->id) - 1);
	CHECK_EQ(ts_count(events, POSIX_TRACE_STOP), 1);
	CHECK_EQ(ts_stop_reason(&events->at[events->count - 1]), 2);
	CHECK_EQ(log_status(r->fd).posix_log_full_status, POSIX_TRACE_FULL);
}

TEST(a_keeper_killed_at_any_store_stops_the_stream_of_a_full_log, "LOG-27 LOG-28 LOG-29 STATUS-12")
{
	static const struct plan plan = {.stream_policy = POSIX_TRACE_UNTIL_FULL,
					 .stream_bytes = 64 * KIB,
					 .log_policy = POSIX_TRACE_UNTIL_FULL,
					 .log_bytes = 8 * KIB,
					 .fill = 60,
					 .go_on = expect_full,
					 .check = check_full};
	run_at_stores(run_rounds, &plan);
}

/* ---- a LOOP stream has a gap ---- */

static void flush_more(struct round *r)
{
	ts_flush(r->trid);
	make(r, 5, 200);
	ts_flush(r->trid);
}

static void check_gap(const struct round *r, const struct ts_events *events,
		      struct ptrc_counts counts)
{
	size_t kept = ts_count(events, r->id);
	uint64_t missing = r->made - kept;
	ssize_t at = ts_find(events, POSIX_TRACE_OVERFLOW, 0);

	/* A chunk that gave way when it was in the log, and its keeper dead, is a loss. */
	CHECK_LE(missing, counts.pt_lost_events);
	CHECK_LE(counts.pt_lost_events, missing + (r->has_more ? 80 : 0));
	ts_expect_numbers(events, r->id, (uint32_t)missing, r->made - 1);
	CHECK_EQ(ts_count(events, POSIX_TRACE_OVERFLOW), 1);
	CHECK_EQ(ts_count(events, POSIX_TRACE_RESUME), 1);
	CHECK_EQ(id_at(events, (size_t)at + 1), POSIX_TRACE_RESUME);
}

static void run_gap(uint32_t fill_again)
{
	const struct plan plan = {.stream_policy = POSIX_TRACE_LOOP,
				  .stream_bytes = 16 * KIB,
				  .log_policy = POSIX_TRACE_APPEND,
				  .is_exact = true,
				  .fill = 600,
				  .fill_again = fill_again,
				  .go_on = flush_more,
				  .check = check_gap};
	run_at_stores(run_rounds, &plan);
}

TEST(a_keeper_killed_at_any_store_tells_of_a_gap_once, "LOG-19 LOG-43 SYSEVENT-15")
{
	run_gap(0);
}

TEST(what_comes_when_a_keeper_was_killed_is_not_what_it_had_written, "LOG-19 LOG-43")
{
	run_gap(3);
}

/* ---- a LOOP log wraps ---- */

static void fill_ring(struct round *r)
{
	for (int i = 0; i < 4; i++) {
		make(r, 40, 200);
		ts_flush(r->trid);
	}
}

static void check_ring(const struct round *r, const struct ts_events *events,
		       struct ptrc_counts counts)
{
	uint32_t kept = (uint32_t)ts_count(events, r->id);

	/* START went, too. */
	CHECK_EQ(counts.pt_log_lost_events, r->made - kept + 1);
	ts_expect_numbers(events, r->id, r->made - kept, r->made - 1);
	CHECK_EQ(id_at(events, 0), POSIX_TRACE_OVERFLOW);
	CHECK_EQ(id_at(events, 1), POSIX_TRACE_RESUME);
}

TEST(a_keeper_killed_at_any_store_counts_what_a_ring_loses, "LOG-30 LOG-32 STATUS-18")
{
	static const struct plan plan = {.stream_policy = POSIX_TRACE_UNTIL_FULL,
					 .stream_bytes = 64 * KIB,
					 .log_policy = POSIX_TRACE_LOOP,
					 .log_bytes = 16 * KIB,
					 .is_exact = true,
					 .prepare = fill_ring,
					 /* It fits, but not into what a limit leaves unused. */
					 .fill = 70,
					 .fill_again = 3,
					 .go_on = flush_more,
					 .check = check_ring};
	run_at_stores(run_rounds, &plan);
}

/* ---- a log that goes on in another file ---- */

/* Kills a keeper at one store of its work. What comes must be one log, whose files are whole. */
static long rotate_once(__attribute__((unused)) const void *arg, long last)
{
	const struct posixtrace_log_rotation rotation = {.pt_bytes = POSIXTRACE_LOG_ROTATION_MIN};
	trace_attr_t attr = log_attr(POSIX_TRACE_FLUSH, 64 * KIB, POSIX_TRACE_APPEND, 0);
	struct round r = {.id = ts_id("number")};
	char path[256], member[300];
	trace_id_t log;

	CHECK_OK(posixtrace_attr_setlogrotation(&attr, &rotation));
	r.fd = ts_temp_named(path, sizeof(path));
	r.trid = ts_create_log(0, &attr, r.fd);
	ts_start(r.trid);
	make(&r, 20, 200);
	ts_flush(r.trid);
	kill_keeper(r.trid);
	make(&r, 30, 200);
	long count = work(r.trid, r.fd, rotates, last);
	make(&r, 10, 200);
	ts_flush(r.trid);
	make(&r, 10, 200);
	ts_shutdown(r.trid);

	CHECK_OK(posixtrace_log_open(path, &log));
	struct ts_events events = ts_read_log(log);
	ts_expect_numbers(&events, r.id, 0, r.made - 1);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_OVERFLOW), 0);
	CHECK_EQ(ts_status(log).posix_stream_flush_error, 0);
	struct ptrc_counts counts = counts_of(log);
	CHECK_EQ(counts.pt_missing_files, 0);
	CHECK_EQ(counts.pt_log_events, events.count);
	ts_events_free(&events);
	ts_close_log(log);
	/* No file is there that is not one of them, and each is closed. */
	for (uint64_t i = 0;; i++) {
		snprintf(member, sizeof(member), i ? "%s.%06llu" : "%s", path,
			 (unsigned long long)i);
		int fd = open(member, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			CHECK_EQ(i, counts.pt_files);
			break;
		}
		log = ts_open_log(fd);
		CHECK_EQ(ts_status(log).posix_stream_flush_error, 0);
		ts_close_log(log);
		close(fd);
		unlink(member);
	}
	if (last == NEVER)
		CHECK_EQ(counts.pt_files, 2);
	close(r.fd);
	return count;
}

TEST(a_keeper_killed_at_any_store_of_a_rotation_loses_nothing, "")
{
	run_at_stores(rotate_once, NULL);
}

/* ---- what a log says at its end ---- */

/* Kills a keeper at one store of its last work. The next one must not repeat what the log says of processes. */
static long close_once(__attribute__((unused)) const void *arg, long last)
{
	const struct ptrc_ending_facts facts = {
		.pe_has_ended = 1, .pe_status = 7, .pe_processes = 2};
	trace_attr_t attr = log_attr(POSIX_TRACE_FLUSH, 16 * KIB, POSIX_TRACE_APPEND, 0);
	char name[TRACE_EVENT_NAME_MAX + 1];
	struct round r = {.id = ts_id("number"), .fd = ts_temp_file()};
	int commands = 0, went_on = 0;
	trace_id_t log;

	r.trid = ts_create_log(0, &attr, r.fd);
	ts_start(r.trid);
	make(&r, 3, 8);
	ts_flush(r.trid);
	kill_keeper(r.trid);
	make(&r, 3, 8);
	CHECK_OK(ptrc_trace_set_ending(r.trid, &facts));
	long count = work(r.trid, r.fd, closes, last);
	ts_shutdown(r.trid);
	log = ts_open_log(r.fd);
	struct ts_events events = ts_read_log(log);
	for (size_t i = 0; i < events.count; i++) {
		CHECK_OK(posix_trace_eventid_get_name(log, id_at(&events, i), name));
		commands += !strcmp(name, "os.command");
		went_on += !strcmp(name, "os.went_on");
	}
	CHECK_EQ(commands, 1);
	CHECK_EQ(went_on, 1);
	ts_expect_numbers(&events, r.id, 0, r.made - 1);
	CHECK_EQ(counts_of(log).pt_log_events, events.count);
	ts_events_free(&events);
	ts_close_log(log);
	close(r.fd);
	return count;
}

TEST(a_keeper_killed_at_any_store_of_a_close_tells_the_ending_once, "")
{
	run_at_stores(close_once, NULL);
}

#endif
