/* SPDX-License-Identifier: MIT */
/*
 * Inheritance by fork, posix_spawn, vfork and raw clone, and what a child can and cannot do
 * with its parent's streams.
 *
 * It takes long: one case forks more processes, one after the other, than a stream has places for
 * threads.
 */
#include "tests/support/private_user.h"

#include "tests/lib/process/children.h"
#include "tests/support/endings.h"
#include "tests/support/thread_state.h"

#include <dirent.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>

#include "lib/control/handle.h"
#include "lib/stream/untraced.h"

/* Events of the type and process. */
static size_t count_of(const struct ts_events *events, trace_event_id_t id, pid_t pid)
{
	size_t count = 0;
	for (size_t i = 0; i < events->count; i++)
		count += events->at[i].info.posix_event_id == id &&
			 events->at[i].info.posix_pid == pid;
	return count;
}

static bool is_listed(trace_id_t trid, const char *name)
{
	char got[TRACE_EVENT_NAME_MAX + 1];
	bool is_found = false;
	CHECK_OK(posix_trace_eventtypelist_rewind(trid));
	for (;;) {
		trace_event_id_t id;
		int unavailable;
		CHECK_OK(posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable));
		if (unavailable)
			return is_found;
		CHECK_OK(posix_trace_eventid_get_name(trid, id, got));
		if (strcmp(got, name) == 0) {
			CHECK(!is_found);
			is_found = true;
		}
	}
}

/*
 * fork
 */

static trace_event_id_t atfork_id;

static void emit_in_fork_handler(void)
{
	ts_emit(atfork_id, 4242);
}

TEST(inheriting_child_is_traced_from_its_first_instruction, "FORK-01 FORK-02 FORK-03")
{
	trace_event_id_t id = ts_id("event");
	atfork_id = ts_id("of the fork handler");
	CHECK_EQ(pthread_atfork(NULL, NULL, emit_in_fork_handler), 0);
	trace_id_t trid = create_inherited(0, POSIX_TRACE_INHERITED);
	ts_emit(id, 0);
	pid_t pid = fork();
	if (pid == 0) {
		ts_emit(id, 1);
		_exit(0);
	}
	CHECK_EXIT(pid, 0);
	ts_emit(id, 2);
	struct ts_events events = ts_read_all(trid);
	ts_expect_ids(&events, POSIX_TRACE_START, id, atfork_id, id, id, 0);
	ts_expect_numbers(&events, id, 0, 2);
	CHECK_EQ(events.at[1].info.posix_pid, getpid());
	CHECK_EQ(events.at[2].info.posix_pid, pid);
	CHECK_EQ(events.at[3].info.posix_pid, pid);
	CHECK_EQ(events.at[4].info.posix_pid, getpid());
	CHECK(pthread_equal(events.at[3].info.posix_thread_id, pthread_self()));
}

/* The entries of the directory of shared objects that begin with `u`. */
static int words(void)
{
	char path[64];
	private_user_dir(path);
	DIR *dir = opendir(path);
	int count = 0;
	CHECK(dir != NULL);
	for (struct dirent *e; (e = readdir(dir));)
		count += strncmp(e->d_name, "u.", 2) == 0;
	closedir(dir);
	return count;
}

TEST(inheriting_child_that_can_open_nothing_is_traced, "FORK-01 FORK-04 EVENT-01")
{
	trace_event_id_t id = ts_id("event");
	const struct rlimit none = {0, 0};

	/* When it is forked, and after that. */
	for (int is_late = 0; is_late < 2; is_late++) {
		trace_id_t trid = create_inherited(0, POSIX_TRACE_INHERITED);
		trace_id_t other = create_inherited(0, POSIX_TRACE_CLOSE_FOR_CHILD);
		pid_t child = harness_fork();

		if (child == 0) {
			if (!is_late)
				CHECK_SYS(setrlimit(RLIMIT_NOFILE, &none));
			/* The child is in no event before it forks. */
			pid_t grandchild = harness_fork();
			if (is_late)
				CHECK_SYS(setrlimit(RLIMIT_NOFILE, &none));
			ts_emit(grandchild ? id : ts_id("grandchild's"), 1);
			if (grandchild)
				CHECK_EXIT(grandchild, 0);
			_exit(0);
		}
		CHECK_EXIT(child, 0);
		ts_stop(trid);
		struct ts_events events = ts_read_all(trid);
		CHECK_EQ(count_of(&events, id, child), 1);
		CHECK_EQ(ts_count(&events, ts_id("grandchild's")), 1);
		CHECK_EQ(count_of(&events, ts_id("grandchild's"), child), 0);
		CHECK_EQ(ts_figure(trid, "processes"), 3); /* with this one */
		CHECK_EQ(ts_figure(trid, "untraced_processes"), 0);
		events = ts_read_all(other);
		ts_expect_ids(&events, POSIX_TRACE_START, 0);
		ts_shutdown(other);
		ts_shutdown(trid);
	}
}

TEST(child_that_cannot_be_traced_is_counted, "FORK-01")
{
	trace_event_id_t id = ts_id("event");
	const struct rlimit none = {0, 0};
	struct harness_gate ready = harness_gate(), go = harness_gate();

	pid_t child = harness_fork();
	if (child == 0) {
		CHECK_SYS(setrlimit(RLIMIT_NOFILE, &none));
		harness_open(&ready);
		harness_pass(&go);
		/* It has mapped no stream from which its child could have it. */
		pid_t grandchild = harness_fork();
		/* However many events it loses, it is one process. */
		for (uint32_t i = 0; grandchild == 0 && i < 3; i++)
			ts_emit(id, i);
		if (grandchild)
			CHECK_EXIT(grandchild, 0);
		_exit(0);
	}
	harness_pass(&ready);
	trace_id_t trid = create_inherited(child, POSIX_TRACE_INHERITED);
	trace_id_t other = create_inherited(child, POSIX_TRACE_CLOSE_FOR_CHILD);
	CHECK_EQ(ts_figure(trid, "untraced_processes"), 0);
	harness_open(&go);
	CHECK_EXIT(child, 0);
	CHECK_EQ(ts_figure(trid, "untraced_processes"), 1);
	CHECK_EQ(ts_figure(trid, "untraced_error"), EMFILE);
	CHECK_EQ(ts_figure(other, "untraced_processes"), 0);
	ts_shutdown(other);
	CHECK_EQ(words(), 1);
	ts_shutdown(trid);
	CHECK_EQ(words(), 0);
}

/* The path of an entry of that directory. */
static const char *word(const char *rest)
{
	static char path[128];
	snprintf(path, sizeof(path), "/dev/shm/posixtrace-%u/u.%s", (unsigned)geteuid(), rest);
	return path;
}

#define NO_STREAM "0000000000000000."

TEST(words_of_no_untraced_process_are_not_counted, "")
{
	static char text[4000];
	static const struct {
		const char *rest, *text;
	} words_of_nobody[] = {
		{NO_STREAM "1", "24x"},		{NO_STREAM "2", "x"},
		{NO_STREAM "3", "99"},		{NO_STREAM "4", "24 1 0 "},
		{NO_STREAM "5", "24  0"},	{NO_STREAM "6", "24 99999999999 0"},
		{NO_STREAM "7", "/etc/passwd"}, {NO_STREAM "100", text},
		{NO_STREAM "4294967297", "24"}, {"", "24"},
	};
	trace_id_t trid = create_inherited(0, POSIX_TRACE_INHERITED);
	struct ptrc_untraced_word longest;

	memset(text, '1', sizeof(text) - 1);
	for (size_t i = 0; i < sizeof(words_of_nobody) / sizeof(*words_of_nobody); i++) {
		CHECK_SYS(symlink(words_of_nobody[i].text, word(words_of_nobody[i].rest)));
		NOTE("u.%s: %.40s", words_of_nobody[i].rest, words_of_nobody[i].text);
		CHECK_EQ(ts_figure(trid, "untraced_processes"), 0);
	}
	CHECK_SYS(mkdir(word(NO_STREAM "8"), 0700));
	CHECK_EQ(ts_figure(trid, "untraced_processes"), 0);
	/* Of too many parents those that have room are read. */
	memcpy(text, "24", 2);
	for (char *at = text + 2; at < text + 400; at += 2)
		memcpy(at, " 7", 3);
	CHECK_SYS(symlink(text, word(NO_STREAM "9")));
	CHECK(ptrc_untraced_read(AT_FDCWD, word(NO_STREAM "9"), &longest));
	CHECK_EQ(longest.pid_count, PTRC_UNTRACED_PIDS);
	CHECK(!longest.has_all);
	CHECK_SYS(unlink(word(NO_STREAM "9")));
	/* One that does not know its parents may belong to this stream, and counts. */
	CHECK_SYS(symlink("12 101 2147483647", word(NO_STREAM "101")));
	CHECK_EQ(ts_figure(trid, "untraced_processes"), 1);
	CHECK_EQ(ts_figure(trid, "untraced_error"), ENOMEM);
	CHECK_SYS(rmdir(word(NO_STREAM "8")));
	ts_shutdown(trid);
	/* The next create removes the rest, as no stream is there for which it could be, but
	 * leaves what is none of ours. */
	ts_shutdown(create_inherited(0, POSIX_TRACE_INHERITED));
	CHECK_EQ(words(), 2);
}

TEST(word_without_the_pid_of_its_process_is_about_streams_of_the_ancestors, "")
{
	trace_id_t trid = create_inherited(0, POSIX_TRACE_INHERITED);
	trace_id_t other = create_inherited(0, POSIX_TRACE_CLOSE_FOR_CHILD);
	char text[40];

	snprintf(text, sizeof(text), "24 %d 0", getpid());
	CHECK_SYS(symlink(text, word(NO_STREAM "2147483647")));
	CHECK_EQ(ts_figure(trid, "untraced_processes"), 1);
	CHECK_EQ(ts_figure(other, "untraced_processes"), 0);
	ts_shutdown(other);
	ts_shutdown(trid);
}

TEST(each_streams_own_policy_decides_about_children, "FORK-06 FORK-07 POLICY-02 CREATE-07")
{
	trace_event_id_t id = ts_id("event");
	trace_id_t trids[6];
	for (int i = 0; i < 5; i++)
		trids[i] = create_inherited(0, inherit_policies[i % 2]);
	/* The default. */
	trids[5] = ts_run(POSIX_TRACE_UNTIL_FULL, 0, 0);
	ts_emit(id, 0);
	struct ts_target child = ts_target_fork();
	ts_target_emit(&child, id, 1);
	struct ts_target grandchild = ts_target_fork_child(&child);
	ts_target_emit(&grandchild, id, 2);
	ts_emit(id, 3);
	ts_target_end(&grandchild);
	ts_target_end(&child);
	ts_emit(id, 4);
	for (int i = 0; i < 6; i++) {
		struct ts_events events = ts_read_all(trids[i]);
		if (i == 1 || i == 3) {
			ts_expect_numbers(&events, id, 0, 4);
			continue;
		}
		ts_expect_ids(&events, POSIX_TRACE_START, id, id, id, 0);
		CHECK_EQ(ts_number(&events.at[1]), 0);
		CHECK_EQ(ts_number(&events.at[2]), 3);
		CHECK_EQ(ts_number(&events.at[3]), 4);
	}
}

TEST(policy_counts_at_fork_for_suspended_streams_too, "FORK-08")
{
	trace_event_id_t id = ts_id("event");
	trace_attr_t attr = inherit_attr(POSIX_TRACE_INHERITED);
	trace_id_t never_started = ts_create(0, &attr), stopped = ts_create_running(0, &attr);
	trace_attr_t closing = inherit_attr(POSIX_TRACE_CLOSE_FOR_CHILD);
	trace_id_t closed = ts_create(0, &closing);
	ts_stop(stopped);
	struct ts_target child = ts_target_fork();
	ts_target_emit(&child, id, 0);
	ts_start(never_started);
	ts_start(stopped);
	ts_start(closed);
	ts_target_emit(&child, id, 1);
	struct ts_events events = ts_read_all(never_started);
	ts_expect_ids(&events, POSIX_TRACE_START, id, 0);
	CHECK_EQ(ts_number(&events.at[1]), 1);
	events = ts_read_all(stopped);
	ts_expect_ids(&events, POSIX_TRACE_START, POSIX_TRACE_STOP, POSIX_TRACE_START, id, 0);
	events = ts_read_all(closed);
	ts_expect_ids(&events, POSIX_TRACE_START, 0);
	ts_target_end(&child);
}

TEST(child_that_exists_is_not_traced, "FORK-09", NEEDS_EXEC)
{
	trace_event_id_t id = ts_id("event");
	struct ts_target before = ts_target_fork();
	struct ts_target its_child = ts_target_fork_child(&before);
	trace_id_t trid = create_inherited(0, POSIX_TRACE_INHERITED);
	struct ts_target after = ts_target_fork();
	ts_target_emit(&before, id, 0);
	ts_target_emit(&its_child, id, 0);
	ts_target_emit(&after, id, 1);
	/* Nor do its later children become descendants of a traced process. */
	struct ts_target late = ts_target_fork_child(&before);
	ts_target_emit(&late, id, 0);
	/* And not by exec. */
	ts_target_exec(&before);
	ts_target_exec(&its_child);
	ts_target_emit(&before, ts_target_id(&before, "event"), 0);
	ts_target_emit(&its_child, ts_target_id(&its_child, "event"), 0);
	struct ts_events events = ts_read_all(trid);
	ts_expect_ids(&events, POSIX_TRACE_START, id, 0);
	CHECK_EQ(events.at[1].info.posix_pid, after.pid);
	ts_target_end(&late);
	ts_target_end(&its_child);
	ts_target_end(&before);
	ts_target_end(&after);
}

/* Reads the log to its end, of which it has none but the library's own. */
static void read_to_the_end(int from)
{
	char byte;

	alarm((unsigned int)(harness_patience_ms() / 1000));
	while (read(from, &byte, 1) > 0)
		;
	_exit(0);
}

/* The other descriptor of the file. */
static int duplicate_of(int fd)
{
	struct stat wanted, st;

	CHECK_SYS(fstat(fd, &wanted));
	for (int i = 3; i < 100; i++)
		if (i != fd && fstat(i, &st) == 0 && st.st_dev == wanted.st_dev &&
		    st.st_ino == wanted.st_ino)
			return i;
	return -1;
}

TEST(a_child_does_not_keep_the_parents_log_open, "FORK-11 LOG-12 LOG-35", NEEDS_KEEPER)
{
	trace_attr_t attr = log_attr(POSIX_TRACE_UNTIL_FULL, 16 * KIB, POSIX_TRACE_APPEND, 0);

	for (int is_grandchild = 0; is_grandchild < 2; is_grandchild++) {
		int ends[2], fd = ts_temp_file();
		trace_id_t other = ts_create_log(0, &attr, fd);
		/* A number that was the library's and is another file's now is let be. */
		int reused = duplicate_of(fd);

		CHECK_GT(reused, 2);
		CHECK_SYS(dup2(ts_temp_file(), reused));
		open_pipe(ends, 0);
		trace_id_t trid = ts_create_log(0, &attr, ends[1]);
		CHECK_GT(duplicate_of(ends[1]), 2);
		close(ends[1]);
		pid_t pid = harness_fork();
		if (pid == 0) {
			pid_t child = is_grandchild ? harness_fork() : 0;
			CHECK_SYS(fcntl(reused, F_GETFD));
			if (child == 0)
				read_to_the_end(ends[0]);
			CHECK_EXIT(child, 0);
			_exit(0);
		}
		close(ends[0]);
		ts_shutdown(trid);
		ts_shutdown(other);
		CHECK_EXIT(pid, 0);
		close(reused);
	}
}

TEST(childs_end_does_nothing_to_the_parents_streams, "FORK-11 EXEC-10 GEN-12", NEEDS_KEEPER)
{
	trace_event_id_t id = ts_id("event");
	for (size_t p = 0; p < 2; p++) {
		struct two_streams s = start_two(inherit_policies[p]);
		uint32_t number = 0;
		for (enum ending ending = BY_EXIT; ending < ENDINGS; ending++) {
			ts_emit(id, number++);
			ts_flush(s.logged);
			off_t size = ts_file_size(s.fd);
			pid_t pid = harness_fork();
			if (pid == 0)
				end_by(ending);
			expect_ending(pid, ending);
			CHECK_EQ(ts_file_size(s.fd), size);
			ts_emit(id, number++);
			ts_expect_running(s.plain);
			ts_expect_running(s.logged);
		}
		/* The log was not closed in between. */
		CHECK_EQ(log_status(s.fd).posix_stream_status, POSIX_TRACE_RUNNING);
		ts_stop(s.logged);
		ts_stop(s.plain);
		struct ts_events events = ts_read_numbers(s.plain, id, 0, number - 1);
		CHECK_EQ(ts_count(&events, POSIX_TRACE_STOP), 1);
		ts_shutdown(s.plain);
		events = ts_end_log(s.logged, s.fd);
		ts_expect_numbers(&events, id, 0, number - 1);
		CHECK_EQ(ts_count(&events, POSIX_TRACE_STOP), 1);
		close(s.fd);
	}
}

TEST(child_has_streams_of_its_own, "FORK-13 CREATE-08", NEEDS_KEEPER)
{
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = create_inherited(0, POSIX_TRACE_INHERITED);
	pid_t parent = getpid();
	struct harness_gate ready = harness_gate(), go = harness_gate();
	pid_t pid = harness_fork();
	if (pid == 0) {
		int fd = ts_temp_file();
		trace_id_t own = create_inherited(0, POSIX_TRACE_CLOSE_FOR_CHILD);
		trace_id_t others = create_inherited(parent, POSIX_TRACE_CLOSE_FOR_CHILD);
		trace_attr_t attr = inherit_attr(POSIX_TRACE_INHERITED);
		trace_id_t logged = ts_create_log(0, &attr, fd);
		ts_start(logged);
		ts_emit(id, 1);
		harness_open(&ready);
		harness_pass(&go);
		struct ts_events events = ts_read_all(own);
		ts_expect_ids(&events, POSIX_TRACE_START, id, 0);
		CHECK_EQ(events.at[1].info.posix_pid, getpid());
		events = ts_read_all(others);
		ts_expect_ids(&events, POSIX_TRACE_START, id, 0);
		CHECK_EQ(events.at[1].info.posix_pid, parent);
		ts_shutdown(own);
		ts_shutdown(others);
		events = ts_end_log(logged, fd);
		ts_expect_numbers(&events, id, 1, 1);
		exit(0);
	}
	harness_pass(&ready);
	ts_emit(id, 2);
	harness_open(&go);
	CHECK_EXIT(pid, 0);
	struct ts_events events = ts_read_all(trid);
	ts_expect_numbers(&events, id, 1, 2);
}

/* The events have these names. */
static void expect_names(trace_id_t trid, const char *const *names, size_t count)
{
	struct ts_events events = ts_read_all(trid);
	CHECK_EQ(events.count, count);
	for (size_t i = 0; i < count; i++)
		ts_expect_name(trid, id_at(&events, i), names[i]);
}

TEST(untraced_childs_mapping_is_a_copy, "FORK-14 FORK-03 FORK-06 EVENT-19")
{
	static const char *const own[] = {"posix_trace_start", "of the parent", "parent's, later"};
	static const char *const childs[] = {"posix_trace_start", "before", "of the child",
					     "child's, later"};
	trace_event_id_t before = ts_id("before");
	trace_id_t trid = create_inherited(0, POSIX_TRACE_CLOSE_FOR_CHILD);
	struct ts_target child = ts_target_fork();
	/* Known already. */
	CHECK_EQ(ts_target_id(&child, "before"), before);
	/* Additions are each one's own, and may have one number. */
	trace_event_id_t of_child = ts_target_id(&child, "of the child");
	trace_event_id_t of_parent = ts_id("of the parent");
	CHECK(!is_listed(trid, "of the child"));
	CHECK(is_listed(trid, "of the parent"));

	trace_id_t childs_trid = create_inherited(child.pid, POSIX_TRACE_CLOSE_FOR_CHILD);
	CHECK(is_listed(childs_trid, "before"));
	CHECK(is_listed(childs_trid, "of the child"));
	CHECK(!is_listed(childs_trid, "of the parent"));
	ts_emit(of_parent, 1);
	ts_emit(ts_id("parent's, later"), 2);
	ts_target_emit(&child, before, 1);
	ts_target_emit(&child, of_child, 2);
	ts_target_emit(&child, ts_target_id(&child, "child's, later"), 3);
	expect_names(trid, own, 3);
	expect_names(childs_trid, childs, 4);
	/* What the child has added, the grandchild has a copy of as well. */
	struct ts_target grandchild = ts_target_fork_child(&child);
	CHECK_EQ(ts_target_id(&grandchild, "before"), before);
	CHECK_EQ(ts_target_id(&grandchild, "child's, later"), of_child + 1);
	CHECK_EQ(ts_target_id(&grandchild, "of the grandchild"), of_child + 2);
	CHECK_EQ(ts_target_id(&child, "of the child again"), of_child + 2);
	ts_target_end(&grandchild);
	ts_target_end(&child);
}

static atomic_bool is_over;

static void *keep_busy(void *arg)
{
	int which = *(const int *)arg;
	char name[32];
	trace_event_id_t id = ts_id("busy");
	for (unsigned int i = 0; !atomic_load(&is_over); i++) {
		switch (which) {
		case 0:
			snprintf(name, sizeof(name), "name %u", i % 300);
			ts_id(name);
			break;
		case 1:
			ts_emit(id, i);
			break;
		default: {
			trace_id_t trid = ts_run(POSIX_TRACE_LOOP, 64 * KIB, 0);
			ts_emit(id, i);
			ts_read_all(trid);
			(void)ts_status(trid);
			ts_shutdown(trid);
			break;
		}
		}
	}
	return NULL;
}

/* The C library's malloc() works in the child of a threaded process; a sanitizer's does
 * not. */
#ifdef HARNESS_IS_SANITIZED
#define MALLOC_SURVIVES_FORK false
#else
#define MALLOC_SURVIVES_FORK true
#endif

TEST(fork_amid_the_library_leaves_a_usable_child, "FORK-15 EVENT-14", NEEDS_THREADED_FORK)
{
	enum { FORKS = 150, THREADS = 5 };
	trace_event_id_t id = ts_id("event");
	trace_event_set_t busy = ts_set(ts_id("busy"), 0);
	trace_id_t trid = ts_run_inherited(0, POSIX_TRACE_LOOP, 256 * KIB, 0);
	trace_id_t of_children = create_inherited(0, POSIX_TRACE_INHERITED);
	pthread_t threads[THREADS];
	pid_t pids[FORKS];
	int which[THREADS] = {0, 1, 2, 2, 2};
	ts_set_filter(of_children, &busy, POSIX_TRACE_SET_EVENTSET);
	for (int i = 0; i < THREADS; i++)
		threads[i] = ts_thread(keep_busy, &which[i]);
	for (int round = 0; round < FORKS; round++) {
		pid_t pid = pids[round] = fork();
		CHECK_GE(pid, 0);
		if (pid == 0) {
			/* Kills a child that hangs: it holds a lock nobody will open. */
			alarm((unsigned int)(harness_patience_ms() / 1000));
			char name[32];
			ts_emit(id, (uint32_t)getpid());
			snprintf(name, sizeof(name), "of child %d", round % 50);
			ts_emit(ts_id(name), 1);
			if (MALLOC_SURVIVES_FORK && round % 5 == 0) {
				trace_id_t stream = ts_run(POSIX_TRACE_LOOP, 64 * KIB, 0);
				ts_emit(POSIX_TRACE_UNNAMED_USEREVENT, 1);
				ts_expect(stream, POSIX_TRACE_START);
				ts_expect(stream, POSIX_TRACE_UNNAMED_USEREVENT);
				ts_shutdown(stream);
			}
			ts_emit(id, 0);
			if (round % 2 || !MALLOC_SURVIVES_FORK)
				_exit(0);
			exit(0);
		}
		CHECK_EXIT(pid, 0);
	}
	atomic_store(&is_over, true);
	for (int i = 0; i < THREADS; i++)
		ts_join(threads[i]);
	ts_shutdown(trid);
	struct ts_events events = ts_read_all(of_children);
	CHECK_EQ(ts_count(&events, id), 2 * FORKS);
	for (size_t i = 0, seen = 0; i < events.count; i++) {
		if (id_at(&events, i) != id)
			continue;
		CHECK_EQ(events.at[i].info.posix_pid, pids[seen / 2]);
		CHECK_EQ(ts_number(&events.at[i]), seen % 2 ? 0 : (uint32_t)pids[seen / 2]);
		seen++;
	}
}

static _Atomic bool is_locked, is_given_back;

static void *hold_table(void *arg)
{
	ptrc_handle_lock();
	is_locked = true;
	while (thread_state(getpid(), getpid()) != 'S')
		sched_yield();
	is_given_back = true;
	ptrc_handle_unlock();
	return arg;
}

TEST(fork_waits_for_who_changes_the_table_of_identifiers, "FORK-15", NEEDS_THREADED_FORK)
{
	pthread_t thread = ts_thread(hold_table, NULL);

	/* This thread sleeps nowhere but in the fork. */
	while (!is_locked)
		sched_yield();
	pid_t pid = harness_fork();
	if (pid == 0)
		_exit(is_given_back ? 0 : 1);
	CHECK_EXIT(pid, 0);
	ts_join(thread);
}

TEST(descendants_of_another_process_are_traced_and_stay_so_as_orphans,
     "FORK-01 FORK-02 FORK-05 FORK-16 EVENT-08 EXIT-05")
{
	trace_event_id_t id = ts_id("event");
	struct ts_target target = ts_target_fork();
	trace_id_t trid = create_inherited(target.pid, POSIX_TRACE_INHERITED);
	struct ts_target child = ts_target_fork_child(&target);
	struct ts_target grandchild = ts_target_fork_child(&child);
	ts_target_emit(&grandchild, id, 0);
	ts_target_emit(&target, id, 1);
	ts_target_emit(&child, id, 2);
	/* The controller is not in the traced set. */
	ts_emit(id, 99);
	ts_target_kill(&target);
	ts_target_emit(&child, id, 3);
	ts_target_kill(&child);
	ts_target_emit(&grandchild, id, 4);
	struct ts_target last = ts_target_fork_child(&grandchild);
	ts_target_emit(&last, id, 5);
	ts_stop(trid);
	ts_target_emit(&last, id, 99);
	ts_start(trid);
	ts_target_emit(&last, id, 6);
	const pid_t pids[] = {grandchild.pid, target.pid, child.pid, child.pid,
			      grandchild.pid, last.pid,	  last.pid};
	struct ts_events events = ts_read_ids(trid, POSIX_TRACE_START, id, id, id, id, id, id,
					      POSIX_TRACE_STOP, POSIX_TRACE_START, id, 0);
	ts_expect_numbers(&events, id, 0, 6);
	for (size_t i = 0, seen = 0; i < events.count; i++)
		if (id_at(&events, i) == id)
			CHECK_EQ(events.at[i].info.posix_pid, pids[seen++]);
	ts_target_end(&last);
	ts_target_end(&grandchild);
}

/*
 * spawn, and images that come without a fork handler
 */

static pid_t spawn_emit(const char *name, int count, char **environment)
{
	char path[PATH_MAX], number[16];
	support_program(path, "prog_emit");
	snprintf(number, sizeof(number), "%d", count);
	char *argv[] = {path, (char *)(uintptr_t)name, number, NULL};
	pid_t pid;
	CHECK_EQ(posix_spawn(&pid, path, NULL, NULL, argv, environment), 0);
	return pid;
}

TEST(spawned_program_is_traced_if_inherited, "FORK-17 FORK-18 FORK-02 GEN-06", NEEDS_EXEC)
{
	trace_id_t inherited = create_inherited(0, POSIX_TRACE_INHERITED);
	trace_id_t closed = create_inherited(0, POSIX_TRACE_CLOSE_FOR_CHILD);
	pid_t pid = spawn_emit("spawned", 20, environ);
	CHECK_EXIT(pid, 0);
	pid_t bare = spawn_emit("bare", 30, no_environment);
	CHECK_EXIT(bare, 0);
	struct ts_events events = ts_read_all(inherited);
	CHECK_EQ(expect_emitted(inherited, &events, "spawned", 20), pid);
	CHECK_EQ(expect_emitted(inherited, &events, "bare", 30), bare);
	CHECK(is_listed(inherited, "bare"));
	events = ts_read_all(closed);
	ts_expect_ids(&events, POSIX_TRACE_START, 0);
}

/* Spawns a program that waits, and exits at once: exit() prepares what has not started. */
static intptr_t do_spawn_and_leave(const void *arg, size_t arg_bytes)
{
	(void)arg_bytes;
	spawn_emit(arg, 5, no_environment);
	exit(0);
}

TEST(spawner_may_exit_at_once, "FORK-05 FORK-17 FORK-18", NEEDS_EXEC)
{
	enum { ROUNDS = 40 };
	struct ts_target target = ts_target_fork();
	trace_id_t trid = create_inherited(target.pid, POSIX_TRACE_INHERITED);
	for (int i = 0; i < ROUNDS; i++) {
		char name[32];
		snprintf(name, sizeof(name), "orphan %d", i);
		struct ts_target spawner = ts_target_fork_child(&target);
		ts_target_call_begin(&spawner, do_spawn_and_leave, name, strlen(name) + 1);
		close(spawner.sock);
	}
	size_t seen = 0;
	/* Each program generates five events, however late it starts. */
	while (seen < 5 * ROUNDS) {
		struct ts_event event = ts_next(trid);
		seen += event.info.posix_event_id != POSIX_TRACE_START;
		ts_event_free(&event);
	}
	for (int i = 0; i < ROUNDS; i++) {
		char name[32];
		snprintf(name, sizeof(name), "orphan %d", i);
		CHECK(is_listed(trid, name));
	}
	ts_target_end(&target);
}

TEST(vfork_child_does_no_harm, "FORK-19 EXEC-10 EXEC-11", NEEDS_KEEPER)
{
	trace_event_id_t id = ts_id("event");
	char path[PATH_MAX];
	static char count[] = "7", name[] = "after vfork";
	trace_event_id_t opened;
	support_program(path, "prog_emit");
	char *argv[] = {path, name, count, NULL};
	struct two_streams s = start_two(POSIX_TRACE_INHERITED);
	ts_emit(id, 0);
	for (uint32_t i = 0; i < 50; i++) {
		pid_t pid = vfork();
		if (pid == 0) {
			/* Not traced or traced: harmless. */
			ts_emit(id, 1000000 + i);
			(void)posix_trace_eventid_open("of a vfork child", &opened);
			_exit(3);
		}
		CHECK_EXIT(pid, 3);
		ts_emit(id, i + 1);
	}
	pid_t pid = vfork();
	if (pid == 0) {
		execve(path, argv, no_environment);
		_exit(127);
	}
	CHECK_EXIT(pid, 0);
	ts_emit(id, 51);
	ts_expect_running(s.plain);
	ts_expect_running(s.logged);
	struct ts_events events = ts_read_all(s.plain);
	CHECK_EQ(expect_emitted(s.plain, &events, name, 7), pid);
	uint32_t due = 0;
	for (size_t i = 0; i < events.count; i++) {
		if (id_at(&events, i) != id || ts_number(&events.at[i]) >= 1000000)
			continue;
		CHECK_EQ(ts_number(&events.at[i]), due++);
		CHECK_EQ(events.at[i].info.posix_pid, getpid());
	}
	CHECK_EQ(due, 52);
	ts_shutdown(s.logged);
	expect_closed_log(s.fd);
	/* And a process whose first event of all is one of a vfork child. */
	if (IN_CHILD()) {
		trace_id_t own = create_inherited(0, POSIX_TRACE_CLOSE_FOR_CHILD);
		pid_t first = vfork();
		if (first == 0) {
			ts_emit(id, 5);
			_exit(0);
		}
		CHECK_EXIT(first, 0);
		ts_emit(id, 6);
		ts_stop(own);
		struct ts_events rest = ts_read_all(own);
		CHECK_EQ(ts_number(&rest.at[rest.count - 2]), 6);
		CHECK_LE(rest.count, 4);
		exit(0);
	}
}

TEST(full_set_of_processes_is_traced, "FORK-20 EVENT-16")
{
	/* With this one as many as a stream can have, if it is no sample. */
	enum { ALL = 1023 };
	const uint32_t processes = ALL / harness_sample();
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = ts_run_inherited(0, POSIX_TRACE_UNTIL_FULL, 4096 * KIB, 0);
	struct harness_gate ready = harness_gate(), go = harness_gate();
	char byte;
	static pid_t pids[ALL];
	static bool is_seen[ALL];

	for (uint32_t i = 0; i < processes; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			SKIP("this user may not have 1024 processes");
		if (pids[i] == 0) {
			close(go.ends[1]);
			ts_emit(id, i);
			harness_open(&ready);
			/* Until the parent closes it. */
			while (read(go.ends[0], &byte, 1) > 0)
				;
			_exit(0);
		}
	}
	for (uint32_t i = 0; i < processes; i++)
		harness_pass(&ready);
	ts_emit(id, processes);
	ts_expect_running(trid);
	struct ts_events events = ts_read_all(trid);
	CHECK_EQ(ts_count(&events, id), processes + 1);
	for (size_t i = 0; i < events.count; i++) {
		uint32_t number = id_at(&events, i) == id ? ts_number(&events.at[i]) : processes;
		if (number == processes)
			continue;
		CHECK_LT(number, processes);
		CHECK_EQ(events.at[i].info.posix_pid, pids[number]);
		CHECK(!is_seen[number]);
		is_seen[number] = true;
	}
	close(go.ends[1]);
	for (uint32_t i = 0; i < processes; i++)
		CHECK_EXIT(pids[i], 0);
}

TEST(ended_processes_do_not_count, "FORK-20 EVENT-16", NEEDS_THREADED_FORK)
{
	/* More than a stream can have threads at a time, if it is no sample. */
	const uint32_t processes = 9000 / harness_sample();
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = ts_run_inherited(0, POSIX_TRACE_UNTIL_FULL, 1024 * KIB, 0);
	uint32_t seen = 0;
	for (uint32_t i = 0; i < processes; i++) {
		pid_t pid = fork();
		CHECK_GE(pid, 0);
		if (pid == 0) {
			ts_emit(id, i);
			_exit(0);
		}
		CHECK_EXIT(pid, 0);
		if (i % 100 != 99)
			continue;
		struct ts_events events = ts_read_all(trid);
		for (size_t j = 0; j < events.count; j++)
			if (events.at[j].info.posix_event_id == id)
				CHECK_EQ(ts_number(&events.at[j]), seen++);
		CHECK_EQ(seen, i + 1);
		ts_events_free(&events);
	}
	ts_expect_running(trid);
}

TEST(raw_clone_does_no_harm, "FORK-21 FORK-10 FORK-11", NEEDS_KEEPER)
{
	trace_event_id_t id = ts_id("event");
	for (size_t p = 0; p < 2; p++) {
		struct two_streams s = start_two(inherit_policies[p]);
		ts_emit(id, 0);
		for (uint32_t i = 0; i < 30; i++) {
			/* No fork handler runs, and the C library does not know. */
			pid_t pid = harness_raw_clone();
			if (pid == 0) {
				for (uint32_t j = 0; j < 100; j++)
					ts_emit(id, 1000000 + j);
				if (posix_trace_shutdown(s.plain) != EINVAL ||
				    posix_trace_flush(s.logged) != EINVAL)
					syscall(SYS_exit_group, 9);
				if (i % 3 == 0)
					syscall(SYS_exit_group, 5);
				if (i % 3 == 1)
					execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
				_exit(5);
			}
			CHECK_EXIT(pid, 5);
			ts_emit(id, i + 1);
		}
		ts_expect_running(s.plain);
		ts_stop(s.plain);
		struct ts_events events = ts_read_all(s.plain);
		ts_expect_sorted(&events);
		uint32_t due = 0;
		for (size_t i = 0; i < events.count; i++) {
			if (id_at(&events, i) != id)
				continue;
			if (ts_number(&events.at[i]) < 1000000) {
				CHECK_EQ(ts_number(&events.at[i]), due++);
				CHECK_EQ(events.at[i].info.posix_pid, getpid());
			} else {
				/* If traced, then as itself, and not against the policy. */
				CHECK_EQ(inherit_policies[p], POSIX_TRACE_INHERITED);
				CHECK_NE(events.at[i].info.posix_pid, getpid());
			}
		}
		CHECK_EQ(due, 31);
		ts_shutdown(s.plain);
		events = ts_end_log(s.logged, s.fd);
		CHECK_EQ(ts_stop_reason(&events.at[ts_find(&events, POSIX_TRACE_STOP, 0)]), 0);
		close(s.fd);
	}
}

TEST(raw_clone_of_a_process_with_one_stream_does_no_harm, "FORK-21 FORK-10", NEEDS_FORK_ADVICE)
{
	trace_event_id_t id = ts_id("event");
	for (size_t p = 0; p < 2; p++) {
		trace_attr_t attr = inherit_attr(inherit_policies[p]);
		trace_id_t trid = ts_create_running(0, &attr);
		/* From the second event on the parent's thread takes the fast way. */
		for (uint32_t i = 0; i < 10; i++)
			ts_emit(id, i);
		/* Another tick, as its start has to be told from the stream's. */
		harness_sleep_ms(20);
		pid_t pid = harness_raw_clone();
		if (pid == 0) {
			for (uint32_t i = 0; i < 10; i++)
				ts_emit(id, 1000 + i);
			_exit(0);
		}
		CHECK_EXIT(pid, 0);
		/* Had the child recorded in the parent's name, this would overwrite it. */
		struct ts_events events = ts_read_all(trid);
		uint32_t due = 0, of_child = 0;
		for (size_t i = 0; i < events.count; i++) {
			if (events.at[i].info.posix_event_id != id)
				continue;
			if (events.at[i].info.posix_pid == getpid())
				CHECK_EQ(ts_number(&events.at[i]), due++);
			else
				CHECK_EQ(ts_number(&events.at[i]), 1000 + of_child++);
		}
		CHECK_EQ(due, 10);
		CHECK_EQ(of_child, inherit_policies[p] == POSIX_TRACE_INHERITED ? 10 : 0);
		ts_shutdown(trid);
	}
}

/* The shell forks, and so does that in it, whose child runs the program; a second command keeps them
 * from exec'ing. */
TEST(children_of_a_program_without_the_library_are_traced, "FORK-22 FORK-18 EXEC-12", NEEDS_EXEC)
{
	char path[PATH_MAX], command[PATH_MAX + 100];
	support_program(path, "prog_emit");
	snprintf(command, sizeof(command), "sh -c \"'%s' under-the-shell 9; :\"; :", path);
	trace_id_t inherited = create_inherited(0, POSIX_TRACE_INHERITED);
	trace_id_t closed = create_inherited(0, POSIX_TRACE_CLOSE_FOR_CHILD);
	char sh[] = "sh", option[] = "-c";
	char *argv[] = {sh, option, command, NULL};
	pid_t pid;
	CHECK_EQ(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, no_environment), 0);
	CHECK_EXIT(pid, 0);
	struct ts_events events = ts_read_all(inherited);
	pid_t emitter = expect_emitted(inherited, &events, "under-the-shell", 9);
	CHECK_NE(emitter, getpid());
	events = ts_read_all(closed);
	ts_expect_ids(&events, POSIX_TRACE_START, 0);
}

/* A shell that waits for a line before it runs prog_emit. Spawned, not forked: the library
 * has no part in it. */
static pid_t spawn_waiting_shell(const char *name, int *go)
{
	char path[PATH_MAX], command[PATH_MAX + 100];
	char sh[] = "sh", option[] = "-c";
	char *argv[] = {sh, option, command, NULL};
	posix_spawn_file_actions_t actions;
	int in[2];
	pid_t pid;

	support_program(path, "prog_emit");
	snprintf(command, sizeof(command), "read x; '%s' '%s' 3; :", path, name);
	open_pipe(in, 0);
	CHECK_EQ(posix_spawn_file_actions_init(&actions), 0);
	CHECK_EQ(posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO), 0);
	CHECK_EQ(posix_spawn(&pid, "/bin/sh", &actions, NULL, argv, no_environment), 0);
	CHECK_EQ(posix_spawn_file_actions_destroy(&actions), 0);
	close(in[0]);
	*go = in[1];
	return pid;
}

TEST(spawned_before_or_after_the_stream_makes_the_difference, "FORK-09 FORK-17 FORK-22", NEEDS_EXEC)
{
	/* Close together: the system's start times are coarse. */
	for (int i = 0; i < 15; i++) {
		int go[2];
		pid_t before = spawn_waiting_shell("before", &go[0]);
		trace_id_t trid = create_inherited(0, POSIX_TRACE_INHERITED);
		pid_t after = spawn_waiting_shell("after", &go[1]);
		for (int j = 0; j < 2; j++) {
			CHECK_EQ(write(go[j], "\n", 1), 1);
			close(go[j]);
		}
		CHECK_EXIT(before, 0);
		CHECK_EXIT(after, 0);
		struct ts_events events = ts_read_all(trid);
		expect_emitted(trid, &events, "after", 3);
		expect_emitted(trid, &events, "before", 0);
		CHECK_EQ(events.count, 4);
		ts_shutdown(trid);
		ts_events_free(&events);
	}
}

static volatile pid_t child_of_handler = -1;

static void fork_in_handler(int sig)
{
	(void)sig;
	child_of_handler = fork();
}

struct interrupter {
	trace_event_id_t id;
	pid_t tid;
	pthread_t thread;
};

static void *interrupt_reader(void *arg)
{
	const struct interrupter *i = arg;

	ts_wait_asleep(getpid(), i->tid);
	CHECK_OK(pthread_kill(i->thread, SIGUSR1));
	CHECK_EVENTUALLY(child_of_handler > 0);
	ts_emit(i->id, 1);
	return NULL;
}

TEST(reader_that_a_handler_forks_ends_in_the_child, "FORK-10 ERRORS-05 GETNEXT-12")
{
	struct sigaction action = {.sa_handler = fork_in_handler, .sa_flags = SA_RESTART};
	trace_id_t trid = ts_create_running(0, NULL);
	struct interrupter i = {ts_id("event"), ts_gettid(), pthread_self()};
	struct posix_trace_event_info info;
	char data[64];
	size_t len;
	int unavailable, result;

	CHECK_SYS(sigaction(SIGUSR1, &action, NULL));
	ts_expect(trid, POSIX_TRACE_START);
	pthread_t thread = ts_thread(interrupt_reader, &i);
	result = posix_trace_getnext_event(trid, &info, data, sizeof(data), &len, &unavailable);
	if (child_of_handler == 0)
		_exit(result == EINVAL ? 0 : 1);
	CHECK_OK(result);
	CHECK_EQ(info.posix_event_id, i.id);
	ts_join(thread);
	CHECK_EXIT(child_of_handler, 0);
	ts_shutdown(trid);
}

/* Registered before those of the library, as it is for one that is loaded later: called
 * between its own and the fork. */
static trace_id_t early_trid;
static volatile int early_result = -1;

static void ask_before_fork(void)
{
	struct posix_trace_status_info status;

	if (early_trid)
		early_result = posix_trace_get_status(early_trid, &status);
}

static void register_early(void)
{
	pthread_atfork(ask_before_fork, NULL, NULL);
}

__attribute__((section(".preinit_array"), used)) static void (*const early)(void) = register_early;

TEST(fork_handlers_registered_before_the_library_may_call_it, "FORK-15 ERRORS-06", NEEDS_KEEPER)
{
	int fd = ts_temp_file();

	early_trid = ts_create_log(0, NULL, fd);
	for (int i = 0; i < 2; i++) {
		if (IN_CHILD())
			_exit(0);
		CHECK_OK(early_result);
		early_result = -1;
	}
	ts_shutdown(early_trid);
	early_trid = 0;
}
