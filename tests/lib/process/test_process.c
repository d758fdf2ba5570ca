/* SPDX-License-Identifier: MIT */
/*
 * Processes as targets, below streams: their pages and names over start, fork, spawn,
 * exec and exit. A stream is here an object of the right name with a controller's lock.
 */
#include "tests/support/harness.h"
#include "tests/support/private_user.h"
#include "tests/support/shared_objects.h"
#include "tests/support/thread_state.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <trace.h>

#include "lib/base/liveness.h"
#include "lib/process/page.h"
#include "lib/process/inherit.h"
#include "lib/process/process.h"
#include "lib/process/process_names.h"
#include "lib/process/sweep.h"
#include "lib/process/target.h"
#include "lib/stream/stream_layout.h"
#include "lib/base/procfs.h"
#include "lib/base/thread_life.h"
#include "lib/base/shared_version.h"
#include "lib/base/shmdir.h"
#include "lib/process/bell.h"

static bool has_object(char prefix, uint64_t id)
{
	char name[PTRC_SHMDIR_NAME_BYTES];

	ptrc_shmdir_name(name, prefix, id);
	return has_file(name);
}

/* With "." and "..". */
static int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	CHECK(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

struct stream {
	uint64_t id;
	struct ptrc_names *names;
	struct ptrc_liveness lock;
	struct ptrc_target target;
};

/* What a create does with its target. */
static void begin_stream(struct stream *s, pid_t pid, uint32_t flags)
{
	char name[PTRC_SHMDIR_NAME_BYTES];
	int fd;

	memset(s, 0, sizeof(*s));
	CHECK_OK(ptrc_target_open(pid, -1, &s->target));
	CHECK_OK(ptrc_target_names(&s->target, &s->names));
	s->id = ptrc_shmdir_new_id();
	ptrc_shmdir_name(name, 's', s->id);
	CHECK_OK(
		ptrc_shmdir_create_object(s->target.dirfd, name, s->target.uid, 65536, 65536, &fd));
	close(fd);
	CHECK_OK(ptrc_liveness_take(s->target.dirfd, name, PTRC_LIVE_CONTROLLER, &s->lock));
	if (flags & PTRC_PAGE_SLOT_INHERITED)
		CHECK_OK(ptrc_inherit_announce(s->target.dirfd, s->id));
	CHECK_OK(ptrc_target_attach(&s->target, s->id, s->names->id, flags));
}

static void end_stream(struct stream *s)
{
	char name[PTRC_SHMDIR_NAME_BYTES];

	ptrc_target_detach(&s->target, s->id);
	ptrc_shmdir_name(name, 's', s->id);
	CHECK_SYS(unlinkat(s->target.dirfd, name, 0));
	ptrc_inherit_withdraw(s->target.dirfd, s->id);
	ptrc_liveness_drop(&s->lock);
	ptrc_target_names_unref(s->names);
	ptrc_target_close(&s->target);
}

/* Number of the slot in which this process has the stream, -1 if it has not. */
static int find_slot(uint64_t id)
{
	struct ptrc_page_entry e;

	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
		if (ptrc_page_slot(ptrc_page_self, i, &e) && e.stream_id == id) {
			CHECK(ptrc_page_self->active >> i & 1);
			return (int)i;
		}
	return -1;
}

static uint32_t open_name(const char *name)
{
	trace_event_id_t id;

	CHECK_OK(posix_trace_eventid_open(name, &id));
	return id;
}

static uint32_t open_name_through(struct stream *s, const char *name)
{
	uint32_t id;

	CHECK_OK(ptrc_names_register(s->names, name, &id));
	return id;
}

static char *self_path(void)
{
	static char path[4096];
	ssize_t len = CHECK_SYS(readlink("/proc/self/exe", path, sizeof(path) - 1));

	path[len] = '\0';
	return path;
}

/* Starts HELPER(name) by posix_spawn, without any environment. */
static pid_t spawn_helper(const char *name, const char *arg)
{
	char *argv[] = {(char *)(uintptr_t) "helper", (char *)(uintptr_t) "--helper",
			(char *)(uintptr_t)name, (char *)(uintptr_t)arg, NULL};
	char *none[] = {NULL};
	pid_t pid;

	CHECK_OK(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, none));
	return pid;
}

static const char *text_of(uint64_t id)
{
	static char text[4][24];
	static unsigned int turn;
	char *at = text[turn++ % 4];

	snprintf(at, sizeof(text[0]), "%" PRIx64, id);
	return at;
}

/* Exit status: 0 traced into the stream, 3 not. */
HELPER(is_traced)
{
	CHECK_EQ(argc, 1);
	return find_slot(strtoull(argv[0], NULL, 16)) >= 0 ? 0 : 3;
}

/* A program without the library, until it is told to end. */
static pid_t start_stranger(void)
{
	char *argv[] = {(char *)(uintptr_t) "sleep", (char *)(uintptr_t) "60", NULL};
	pid_t pid;

	CHECK_OK(posix_spawnp(&pid, "sleep", NULL, NULL, argv, environ));
	return pid;
}

HELPER(look_at_start)
{
	struct ptrc_procfs_stat st;
	sigset_t mask;

	CHECK_OK(ptrc_procfs_stat(0, &st));
	CHECK_EQ(st.pid, getpid());
	CHECK_EQ(st.ppid, getppid());
	/* Nobody traces it, so it has nothing but a look at its bell. */
	CHECK(!has_page(getpid()));
	CHECK_EQ(ptrc_self->pid, 0);
	CHECK_EQ(ptrc_page_self->active, 0);
	CHECK_EQ(count_entries("/proc/self/fd"), atoi(argv[0]));
	CHECK_OK(ptrc_process_init());
	CHECK(has_page(getpid()));
	CHECK_EQ(ptrc_page_self->start_ticks, st.start_ticks);
	CHECK_NE(ptrc_page_self->image, 0);
	CHECK_EQ(ptrc_page_self->image == ptrc_self->image, 1);
	CHECK_EQ(ptrc_page_self->names_id, 0);
	CHECK_EQ(ptrc_self->pid, getpid());
	CHECK_SYS(sigprocmask(SIG_BLOCK, NULL, &mask));
	for (int i = 1; i < 65; i++)
		CHECK_NE(sigismember(&mask, i), 1);
	/* 0, 1, 2, the directory being read, and its two links. */
	CHECK_EQ(count_entries("/proc/self/fd"), atoi(argv[0]));
	CHECK_EQ(count_entries("/proc/self/task"), 3);
	return 0;
}

TEST(program_start_leaves_no_page_and_nothing_else, "GEN-06 GEN-07 EXEC-14", NEEDS_EXEC)
{
	sigset_t none;
	char text[12];

	close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	snprintf(text, sizeof(text), "%d", 3 + 1 + 2);
	pid_t pid = spawn_helper("look_at_start", text);
	CHECK_EXIT(pid, 0);
	CHECK(!has_page(pid));
}

HELPER(end_in_a_way)
{
	open_name("of a process that ends");
	CHECK_NE(ptrc_page_self->names_id, 0);
	switch (argv[0][0]) {
	case 'e':
		exit(5);
	case 'q':
		quick_exit(5);
	default:
		pthread_exit(NULL);
	}
}

static bool directory_is_empty_but_for_me(void)
{
	char path[64], own[PTRC_PAGE_NAME_BYTES];
	struct dirent *entry;
	int others = 0;
	uint64_t ns;

	CHECK_OK(ptrc_procfs_pid_namespace(0, &ns));
	private_user_dir(path);
	DIR *dir = opendir(path);
	CHECK(dir);
	while ((entry = readdir(dir))) {
		ptrc_page_name(own, getpid(), ns);
		/* Orphans (o.) of earlier cases hold crash data: they stay. So do the bells. */
		if (strncmp(entry->d_name, "o.", 2) == 0 || entry->d_name[0] == '.' ||
		    strcmp(entry->d_name, PTRC_BELLS_NAME) == 0 || strcmp(entry->d_name, own) == 0)
			continue;
		ptrc_page_name(own, getppid(), ns);
		if (strcmp(entry->d_name, own) == 0)
			continue;
		NOTE("there is %s", entry->d_name);
		others++;
	}
	closedir(dir);
	return others == 0;
}

TEST(process_that_ends_takes_its_objects_along, "GEN-05 EXIT-02")
{
	if (!private_user_is_on())
		SKIP("needs a directory of its own");
	for (const char *way = "eqt"; *way; way++) {
		CHECK_EXIT(spawn_helper("end_in_a_way", way), *way == 't' ? 0 : 5);
		CHECK(directory_is_empty_but_for_me());
	}
}

TEST(end_of_a_controller_removes_what_its_killed_target_left, "GEN-05")
{
	if (!private_user_is_on())
		SKIP("needs a directory of its own");
	if (IN_CHILD()) {
		struct stream s;
		pid_t pid = harness_fork();

		if (pid == 0) {
			open_name("of the target");
			pause();
		}
		CHECK_EVENTUALLY(has_page(pid));
		begin_stream(&s, pid, 0);
		harness_kill(pid);
		end_stream(&s);
		CHECK(has_page(pid));
		exit(0);
	}
	CHECK(directory_is_empty_but_for_me());
}

static void *end_later(void *gate)
{
	harness_pass(gate);
	_exit(0);
}

/* Returns when its first thread is a zombie. It ends when the gate opens. */
static pid_t process_without_first_thread(struct harness_gate *end)
{
	pid_t pid = harness_fork();
	if (pid == 0) {
		pthread_t thread;

		CHECK_OK(pthread_create(&thread, NULL, end_later, end));
		/* Only the thread: no handler of ours runs. */
		syscall(SYS_exit, 0);
	}
	CHECK_EVENTUALLY(thread_state(pid, pid) == 'Z');
	return pid;
}

TEST(process_without_its_first_thread_is_a_target, "EVENT-23 CREATE-13 EXIT-04")
{
	struct harness_gate end = harness_gate();
	pid_t pid = process_without_first_thread(&end);
	struct timespec now;
	struct stream s;

	CHECK_SYS(clock_gettime(CLOCK_BOOTTIME, &now));
	uint64_t now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	CHECK(ptrc_thread_has_ended(pid, now_ms));
	CHECK(!ptrc_thread_has_ended(getpid(), now_ms));
	/* The process lives. */
	CHECK(!ptrc_thread_is_dead(pid));
	begin_stream(&s, pid, 0);
	/* And its page is no garbage. */
	ptrc_sweep(s.target.dirfd, s.target.uid, -1);
	CHECK(has_page(pid));
	end_stream(&s);
	harness_open(&end);
	harness_reap(pid);
}

TEST(stranger_gets_a_page_while_a_stream_traces_it, "CREATE-23 GEN-05")
{
	struct ptrc_target t;
	struct stream s;
	pid_t pid = start_stranger();

	CHECK_OK(ptrc_target_open(pid, -1, &t));
	CHECK(has_page(pid));
	ptrc_target_close(&t);
	CHECK(!has_page(pid));
	begin_stream(&s, pid, 0);
	/* Sweeps of others leave it. */
	ptrc_sweep(s.target.dirfd, s.target.uid, -1);
	CHECK(has_page(pid));
	CHECK_EQ(s.target.page->image, 0);
	uint64_t names_id = s.names->id;
	end_stream(&s);
	CHECK(!has_page(pid));
	CHECK(!has_object('n', names_id));
	harness_kill(pid);
}

TEST(page_made_ahead_survives_a_sweep_between, "CREATE-23")
{
	pid_t pid = start_stranger();
	struct ptrc_target t;
	struct ptrc_names *names;

	CHECK_OK(ptrc_target_open(pid, -1, &t));
	CHECK_OK(ptrc_target_names(&t, &names));
	/* Nobody is attached: another's sweep takes it for unused. */
	ptrc_sweep(t.dirfd, t.uid, -1);
	CHECK(!has_page(pid));
	uint64_t id = ptrc_shmdir_new_id();
	CHECK_OK(ptrc_target_attach(&t, id, names->id, 0));
	CHECK(has_page(pid));
	CHECK_EQ(t.page->slots[0].stream_id == id, 1);
	CHECK_EQ(t.page->names_id == names->id, 1);
	ptrc_target_detach(&t, id);
	CHECK(!has_page(pid));
	ptrc_target_close(&t);
	ptrc_target_names_unref(names);
	harness_kill(pid);
}

TEST(sixty_four_streams_fit_a_process, "CREATE-07 CREATE-08 CREATE-09")
{
	struct ptrc_target t;
	uint64_t ids[64];
	pid_t pid = start_stranger();

	CHECK_OK(ptrc_target_open(pid, -1, &t));
	for (int i = 0; i < 64; i++) {
		ids[i] = ptrc_shmdir_new_id();
		CHECK_OK(ptrc_target_attach(&t, ids[i], 5, 0));
	}
	CHECK_EQ(t.page->active == UINT64_MAX, 1);
	CHECK_EQ(ptrc_target_attach(&t, 1, 5, 0), EAGAIN);
	ptrc_target_detach(&t, ids[40]);
	CHECK_EQ(t.page->active == ~(UINT64_C(1) << 40), 1);
	ptrc_target_detach(&t, ids[40]);
	ptrc_target_detach(&t, 12345);
	CHECK_OK(ptrc_target_attach(&t, 1, 5, 0));
	CHECK_EQ(t.page->slots[40].stream_id, 1);
	/* None of them exists: the next sweep clears them all. */
	ptrc_sweep(t.dirfd, t.uid, -1);
	CHECK_EQ(t.page->active, 0);
	ptrc_target_close(&t);
	harness_kill(pid);
}

TEST(children_that_exist_are_not_traced_after_exec, "FORK-09 FORK-17", NEEDS_EXEC)
{
	uint64_t *id = harness_share(sizeof(*id));

	/* The tick in which a process starts is all that is known of its start: try it at
	 * many distances from the next one. */
	for (int i = 0; i < 30; i++) {
		struct harness_gate go = harness_gate();
		struct stream s;
		/* Raw, so that no handler makes its page: like a spawned one. */
		pid_t pid = harness_raw_clone();

		if (pid == 0) {
			harness_pass(&go);
			harness_exec("is_traced", text_of(*id), (char *)NULL);
		}
		harness_sleep_ms(i % 4);
		begin_stream(&s, 0, PTRC_PAGE_SLOT_INHERITED | PTRC_PAGE_SLOT_SELF);
		*id = s.id;
		harness_open(&go);
		CHECK_EXIT(pid, 3);
		/* But one made now is. */
		CHECK_EXIT(spawn_helper("is_traced", text_of(s.id)), 0);
		end_stream(&s);
	}
}

static pid_t spawn_shell(const char *script, const char *name, const char *arg)
{
	char *argv[] = {(char *)(uintptr_t) "sh",	(char *)(uintptr_t) "-c",
			(char *)(uintptr_t)script,	self_path(),
			(char *)(uintptr_t) "--helper", (char *)(uintptr_t)name,
			(char *)(uintptr_t)arg,		NULL};
	char *none[] = {NULL};
	pid_t pid;

	CHECK_OK(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, none));
	return pid;
}

TEST(shell_that_is_traced_passes_it_on, "CREATE-23 FORK-22", NEEDS_EXEC)
{
	struct stream s;
	char command[4400];
	int in[2];

	CHECK_SYS(pipe2(in, O_CLOEXEC));
	/* A shell that is there first, without the library, and is told what to run. */
	pid_t pid = vfork();
	if (pid == 0) {
		dup2(in[0], 0);
		execl("/bin/sh", "sh", (char *)NULL);
		_exit(127);
	}
	begin_stream(&s, pid, PTRC_PAGE_SLOT_INHERITED);
	int size = snprintf(command, sizeof(command), "%s --helper is_traced %s\nexit $?\n",
			    self_path(), text_of(s.id));
	CHECK_EQ(write(in[1], command, (size_t)size), size);
	close(in[1]);
	CHECK_EXIT(pid, 0);
	end_stream(&s);
}

HELPER(leave_children)
{
	/* A shell that waits, then runs the program; and this process ends at once. */
	CHECK_EQ(argc, 2);
	int fd = atoi(argv[1]);
	char script[256];

	snprintf(script, sizeof(script), "\"$0\" \"$@\"; printf '%%s' $? >&%d; exit 0", fd);
	char delayed[320];
	snprintf(delayed, sizeof(delayed), "read x <&%d; %s", fd + 1, script);
	spawn_shell(delayed, "is_traced", argv[0]);
	return 0;
}

TEST(children_of_a_process_that_ended_join, "FORK-16 FORK-17", NEEDS_EXEC)
{
	struct stream s;
	int out[2], go[2];
	char answer[4] = "";

	begin_stream(&s, 0, PTRC_PAGE_SLOT_INHERITED | PTRC_PAGE_SLOT_SELF);
	CHECK_SYS(pipe(out));
	CHECK_SYS(pipe(go));
	/* Away from the two numbers that the shell gets. */
	for (int end = 0; end < 2; end++) {
		out[end] = CHECK_SYS(fcntl(out[end], F_DUPFD, 20));
		go[end] = CHECK_SYS(fcntl(go[end], F_DUPFD, 20));
	}
	CHECK_SYS(dup2(out[1], 8));
	CHECK_SYS(dup2(go[0], 9));
	if (IN_CHILD()) {
		close(go[1]);
		close(out[0]);
		harness_exec("leave_children", text_of(s.id), "8", (char *)NULL);
	}
	CHECK_EQ(write(go[1], "\n", 1), 1);
	CHECK_EQ(read(out[0], answer, 1), 1);
	CHECK_STR_EQ(answer, "0");
	end_stream(&s);
}

HELPER(after_exec)
{
	uint64_t kept = strtoull(argv[0], NULL, 16), own = strtoull(argv[1], NULL, 16);

	CHECK(find_slot(kept) >= 0);
	CHECK_EQ(find_slot(own), -1);
	/* Names do not pass over, ids stay what they are. */
	CHECK(!ptrc_process_maps_id(10));
	CHECK(!ptrc_process_maps_id(11));
	CHECK_EQ(open_name("second"), 11);
	CHECK(ptrc_process_maps_id(11));
	CHECK(!ptrc_process_maps_id(10));
	CHECK_EQ(open_name("new"), 12);
	CHECK(ptrc_process_maps_id(12));
	CHECK_EQ(open_name("first"), 10);
	return 0;
}

TEST(exec_keeps_streams_of_others, "EXEC-01 EXEC-02 EXEC-03 EXEC-04 EXEC-07", NEEDS_EXEC)
{
	struct stream s;
	struct harness_gate go = harness_gate();
	uint64_t *id = harness_share(4096);
	pid_t pid = harness_fork();
	if (pid == 0) {
		struct stream own;

		CHECK_EQ(open_name("first"), 10);
		CHECK_EQ(open_name("second"), 11);
		harness_pass(&go);
		begin_stream(&own, 0, PTRC_PAGE_SLOT_SELF);
		/* One that fails changes nothing. */
		execl("/nonexistent", "x", (char *)NULL);
		CHECK(find_slot(own.id) >= 0);
		harness_exec("after_exec", text_of(*id), text_of(own.id), (char *)NULL);
	}
	begin_stream(&s, pid, 0);
	*id = s.id;
	harness_open(&go);
	CHECK_EXIT(pid, 0);
	char name[PTRC_NAME_BYTES];
	CHECK_OK(ptrc_names_get(s.names, 10, name));
	CHECK_STR_EQ(name, "first");
	CHECK_OK(ptrc_names_get(s.names, 12, name));
	CHECK_STR_EQ(name, "new");
	end_stream(&s);
}

HELPER(fresh_names)
{
	CHECK(!ptrc_process_maps_id(10));
	CHECK_EQ(ptrc_page_self->names_id, 0);
	CHECK_EQ(open_name("b"), 10);
	CHECK_EQ(open_name("a"), 11);
	return 0;
}

TEST(exec_without_streams_begins_anew, "EXEC-03 EVENTID-09", NEEDS_EXEC)
{
	uint64_t *names_id = harness_share(4096);
	pid_t pid = harness_fork();

	if (pid == 0) {
		CHECK_EQ(open_name("a"), 10);
		CHECK_EQ(open_name("b"), 11);
		*names_id = ptrc_page_self->names_id;
		harness_exec("fresh_names", (char *)NULL);
	}
	CHECK_EXIT(pid, 0);
	CHECK_NE(*names_id, 0);
	CHECK(!has_object('n', *names_id));
}

TEST(names_are_copied_when_a_stream_comes, "FORK-14 CREATE-24 EVENTID-02")
{
	struct harness_gate ready = harness_gate(), go = harness_gate();
	struct stream s;

	CHECK_EQ(open_name("p0"), 10);
	pid_t pid = harness_fork();
	if (pid == 0) {
		/* To find a name it needs none of its own. */
		CHECK_EQ(open_name("p0"), 10);
		CHECK_EQ(ptrc_page_self->names_id, 0);
		CHECK(ptrc_process_maps_id(10));
		CHECK(!ptrc_process_maps_id(11));
		harness_open(&ready);
		harness_pass(&go);
		CHECK(ptrc_process_maps_id(10));
		CHECK(ptrc_process_maps_id(11));
		CHECK(!ptrc_process_maps_id(12));
		CHECK_EQ(open_name("by the controller"), 11);
		CHECK_EQ(open_name("p0"), 10);
		CHECK_EQ(open_name("own"), 12);
		exit(0);
	}
	harness_pass(&ready);
	/* One that the parent adds before the copy is none of the child's. */
	CHECK_EQ(open_name("other"), 11);
	begin_stream(&s, pid, 0);
	CHECK_EQ(open_name_through(&s, "p0"), 10);
	CHECK_EQ(open_name_through(&s, "by the controller"), 11);
	CHECK_EQ(open_name("another"), 12);
	harness_open(&go);
	CHECK_EXIT(pid, 0);
	end_stream(&s);
}

TEST(raw_clone_that_never_notices_harms_nobody, "FORK-11 FORK-21")
{
	pid_t parent = getpid();

	open_name("still");
	pid_t pid = harness_raw_clone();
	if (pid == 0)
		exit(0);
	CHECK_EXIT(pid, 0);
	CHECK(has_page(parent));
	CHECK_EQ(open_name("still"), open_name("still"));
}

TEST(page_of_an_earlier_process_is_emptied, "EXIT-09", NEEDS_EXEC)
{
	struct ptrc_page_place place = {open_dir(), geteuid(), 4194304, 0, NULL};
	struct ptrc_page_file f;

	CHECK_OK(ptrc_procfs_pid_namespace(0, &place.ns));
	/* Before a controller comes... */
	CHECK_OK(ptrc_page_open(&place, 1, true, NULL, &f));
	f.page->active = 8;
	f.page->image = f.page->names_id = f.page->names_from = 77;
	f.page->names_from_count = 5;
	f.page->slots[3] = (struct ptrc_page_slot){99, 0, PTRC_PAGE_SLOT_INHERITED, EMFILE, 0};
	ptrc_page_unlock(&f);
	CHECK_OK(ptrc_page_open(&place, 2, true, NULL, &f));
	CHECK(f.is_new);
	f.page->start_ticks = 0;
	for (size_t i = 0; i < sizeof(*f.page); i++)
		CHECK_EQ(((char *)f.page)[i], 0);
	ptrc_page_unlock(&f);
	/* ... or a process of that pid. */
	pid_t pid = harness_fork();
	if (pid == 0) {
		struct stream s;

		begin_stream(&s, 0, PTRC_PAGE_SLOT_INHERITED);
		CHECK_EXIT(spawn_helper("is_traced", text_of(s.id)), 0);
		ptrc_page_self->start_ticks = 1;
		/* Nor do others believe it meanwhile. */
		CHECK_EXIT(spawn_helper("is_traced", text_of(s.id)), 3);
		harness_exec("is_traced", text_of(s.id), (char *)NULL);
	}
	CHECK_EXIT(pid, 3);
}

TEST(end_of_a_stream_spares_a_later_process_of_that_pid, "EXIT-09 CREATE-26")
{
	struct stream s;
	pid_t pid = start_stranger();

	begin_stream(&s, pid, 0);
	/* As if the number had passed on, and the page with it. */
	uint64_t ticks = s.target.page->start_ticks;
	s.target.page->start_ticks = ticks + 1;
	s.target.page->image = 9;
	s.target.page->slots[5].stream_id = 4711;
	s.target.page->active |= 32;
	ptrc_target_detach(&s.target, s.id);
	CHECK_EQ(s.target.page->slots[5].stream_id, 4711);
	CHECK_EQ(s.target.page->active, 32);
	CHECK_EQ(s.target.page->start_ticks, ticks + 1);
	CHECK_EQ(ptrc_target_attach(&s.target, s.id, s.names->id, 0), 0);
	s.target.start_ticks++;
	CHECK_EQ(ptrc_target_attach(&s.target, 4712, s.names->id, 0), ESRCH);
	s.target.start_ticks--;
	end_stream(&s);
	harness_kill(pid);
}

/* A page or an object of any shape, in the hope of a crash. */
static void make_garbage(int dirfd, const char *name, unsigned int *seed)
{
	int shape = rand_r(seed) % 8;
	unsigned char bytes[8192];
	int fd;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(shape == 7 ? 0xff : rand_r(seed));
	switch (shape) {
	case 0:
		mkfifoat(dirfd, name, 0600);
		return;
	case 1:
		mkdirat(dirfd, name, 0700);
		return;
	case 2:
		(void)!symlinkat("/dev/zero", dirfd, name);
		return;
	default:
		fd = openat(dirfd, name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
		if (fd < 0)
			return;
		(void)!write(fd, bytes, (size_t)rand_r(seed) % sizeof(bytes));
		close(fd);
	}
}

TEST(garbage_in_the_directory_does_no_harm, "GEN-05 CREATE-26")
{
	char name[300];
	unsigned int seed = 5;
	int dirfd = open_dir();
	struct ptrc_target t;
	struct dirent *entry;

	if (!private_user_is_on())
		SKIP("needs a directory of its own");
	pid_t stranger = start_stranger();
	for (int round = 0; round < 60; round++) {
		uint64_t id = ptrc_shmdir_new_id();
		const char *prefixes = "snit";

		for (int i = 0; i < 4; i++) {
			ptrc_shmdir_name(name, prefixes[i], id);
			make_garbage(dirfd, name, &seed);
		}
		snprintf(name, sizeof(name), "p.%d", rand_r(&seed) % 100000 + 5000000);
		make_garbage(dirfd, name, &seed);
		snprintf(name, sizeof(name), "p.%d", stranger);
		make_garbage(dirfd, name, &seed);
		snprintf(name, sizeof(name), "p.%d.%d", stranger, rand_r(&seed));
		make_garbage(dirfd, name, &seed);
		snprintf(name, sizeof(name), "p.%s", round % 2 ? "" : "99999999999999999999");
		make_garbage(dirfd, name, &seed);
		make_garbage(dirfd, "slots", &seed);
		int err = ptrc_target_open(stranger, -1, &t);
		if (!err)
			ptrc_target_close(&t);
		CHECK(err == 0 || err == EPERM || err == ENOMEM);
		CHECK_OK(ptrc_target_open(0, -1, &t));
		ptrc_target_close(&t);
		if (IN_CHILD())
			exit(0);
	}
	harness_kill(stranger);
	/* Nothing of the garbage may stay for the cases to come; pages that are sound do. */
	DIR *dir = fdopendir(dup(dirfd));
	rewinddir(dir);
	while ((entry = readdir(dir))) {
		bool is_page = strncmp(entry->d_name, "p.", 2) == 0;
		struct stat st;

		CHECK_SYS(fstatat(dirfd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW));
		if (entry->d_name[0] != '.' &&
		    !(is_page && S_ISREG(st.st_mode) && st.st_size == 4096) &&
		    unlinkat(dirfd, entry->d_name, 0))
			unlinkat(dirfd, entry->d_name, AT_REMOVEDIR);
	}
	closedir(dir);
}

static unsigned int count_names_objects(int dirfd)
{
	DIR *dir = fdopendir(dup(dirfd));
	struct dirent *entry;
	unsigned int count = 0;

	CHECK(dir);
	rewinddir(dir);
	while ((entry = readdir(dir)))
		count += ptrc_shmdir_parse(entry->d_name, 'n') != 0;
	closedir(dir);
	return count;
}

/* It does not end as programs do, so it leaves its page and its names. */
static void open_name_in_raw_clone(const char *name)
{
	pid_t pid = harness_raw_clone();

	if (pid == 0) {
		open_name(name);
		_exit(0);
	}
	CHECK_EXIT(pid, 0);
}

TEST(processes_that_make_names_sweep_sometimes, "GEN-05 FORK-21", NEEDS_FORK_ADVICE)
{
	int dirfd = open_dir();
	unsigned int count = count_names_objects(dirfd);

	if (!private_user_is_on())
		SKIP("needs a directory of its own");
	open_name_in_raw_clone("one");
	CHECK_EQ(count_names_objects(dirfd), count + 1);
	/* The child makes a page, and then its names. */
	leave_pages(dirfd, 2);
	open_name_in_raw_clone("two");
	CHECK_EQ(count_names_objects(dirfd), count + 1);
	CHECK(!has_page(DEAD_PID));
}

TEST(children_without_fork_handlers_remove_pages_sometimes, "GEN-05 FORK-21", NEEDS_FORK_ADVICE)
{
	int dirfd = open_dir();

	if (!private_user_is_on())
		SKIP("needs a directory of its own");
	for (unsigned int lacking = 2; lacking > 0; lacking--) {
		pid_t stranger = start_stranger(), pid;
		char name[PTRC_PAGE_NAME_BYTES];
		uint64_t ns;

		/* A page of a process that lives, and one of another pid namespace. */
		CHECK_OK(ptrc_procfs_pid_namespace(0, &ns));
		ptrc_page_name(name, stranger, ns);
		close(CHECK_SYS(openat(dirfd, name, O_RDWR | O_CREAT, 0600)));
		ptrc_page_name(name, DEAD_PID, ns + 1);
		close(CHECK_SYS(openat(dirfd, name, O_RDWR | O_CREAT, 0600)));
		leave_pages(dirfd, lacking);
		pid = harness_raw_clone();
		/* What an event does if a stream traces the child. */
		if (pid == 0)
			_exit(ptrc_process_init());
		CHECK_EXIT(pid, 0);
		CHECK(has_page(stranger));
		CHECK(has_file(name));
		CHECK_SYS(unlinkat(dirfd, name, 0));
		/* Of the first child there is one entry too few. */
		CHECK_EQ(has_page(DEAD_PID), lacking == 2);
		harness_kill(stranger);
	}
}

TEST(sweep_removes_the_dead_and_leaves_the_living, "GEN-05 CREATE-12 EXIT-03")
{
	char stream_name[PTRC_SHMDIR_NAME_BYTES];
	int dirfd = open_dir(), fd;
	struct stream s;
	uint64_t dead_id = ptrc_shmdir_new_id();

	begin_stream(&s, 0, PTRC_PAGE_SLOT_INHERITED | PTRC_PAGE_SLOT_SELF);
	ptrc_shmdir_name(stream_name, 's', dead_id);
	CHECK_OK(ptrc_shmdir_create_object(dirfd, stream_name, geteuid(), 65536, 65536, &fd));
	CHECK_OK(ptrc_inherit_announce(dirfd, dead_id));
	CHECK_OK(ptrc_target_attach(&s.target, dead_id, s.names->id, 0));
	/* Without its magic it may be in the making... */
	ptrc_sweep(dirfd, geteuid(), -1);
	CHECK(has_object('s', dead_id));
	CHECK(find_slot(dead_id) >= 0);
	/* ... with it, it had a controller once. */
	struct ptrc_stream_header *h = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	h->magic = PTRC_STREAM_MAGIC;
	h->version = PTRC_SHARED_VERSION;
	h->id = dead_id;
	h->has_log = 1;
	h->log_state[0] = 1; /* a keeper has begun the log */
	ptrc_sweep_processes(dirfd, geteuid());
	CHECK(has_object('s', dead_id));
	h->has_log = 0;
	ptrc_sweep_processes(dirfd, geteuid());
	CHECK(!has_object('s', dead_id));
	CHECK(!has_object('i', dead_id));
	/* A sweep looks into some of the pages, the next into others. */
	for (int sweeps = 0; sweeps < 1000 && find_slot(dead_id) >= 0; sweeps++)
		ptrc_sweep_processes(dirfd, geteuid());
	CHECK_EQ(find_slot(dead_id), -1);
	CHECK(has_object('s', s.id));
	CHECK(has_object('i', s.id));
	CHECK(has_object('n', s.names->id));
	CHECK(find_slot(s.id) >= 0);
	CHECK(has_page(getpid()));
	end_stream(&s);
}

TEST(end_of_an_inherited_stream_clears_all_slots, "FORK-16 GEN-05")
{
	struct stream s;
	struct harness_gate go = harness_gate(), ready = harness_gate();

	begin_stream(&s, 0, PTRC_PAGE_SLOT_INHERITED | PTRC_PAGE_SLOT_SELF);
	pid_t pid = harness_fork();
	if (pid == 0) {
		CHECK(find_slot(s.id) >= 0);
		harness_open(&ready);
		harness_pass(&go);
		CHECK_EQ(find_slot(s.id), -1);
		CHECK_EQ(ptrc_page_self->active, 0);
		exit(0);
	}
	harness_pass(&ready);
	end_stream(&s);
	harness_open(&go);
	CHECK_EXIT(pid, 0);
}

TEST(stream_that_is_gone_leaves_the_page, "EVENT-24 EXIT-08")
{
	struct stream s;
	char name[PTRC_SHMDIR_NAME_BYTES];
	uint32_t version;
	int fd;

	begin_stream(&s, 0, PTRC_PAGE_SLOT_SELF);
	CHECK_OK(ptrc_process_open_stream(s.id, &fd, &version));
	close(fd);
	ptrc_shmdir_name(name, 's', s.id);
	CHECK_SYS(unlinkat(s.target.dirfd, name, 0));
	CHECK_EQ(ptrc_process_open_stream(s.id, &fd, &version), ENOENT);
	CHECK_EQ(find_slot(s.id), -1);
	CHECK_EQ(ptrc_page_self->active, 0);
	int again = CHECK_SYS(openat(s.target.dirfd, name, O_CREAT | O_RDWR, 0600));
	close(again);
	end_stream(&s);
}

TEST(constructor_and_controller_may_race, "CREATE-23 EVENTID-29", NEEDS_EXEC)
{
	/* Traced from outside at any moment of its start, it is traced. */
	for (int i = 0; i < 100; i++) {
		struct stream s;
		char end[12];
		int go[2];

		CHECK_SYS(pipe(go));
		CHECK_SYS(fcntl(go[1], F_SETFD, FD_CLOEXEC));
		snprintf(end, sizeof(end), "%d", go[0]);
		pid_t pid = spawn_helper("wait_and_look", end);
		for (volatile int spin = 0; spin < i * 5000; spin++)
			;
		begin_stream(&s, pid, 0);
		uint32_t id = open_name_through(&s, "name");
		CHECK_EQ(write(go[1], &s.id, sizeof(s.id)), (ssize_t)sizeof(s.id));
		CHECK_EQ(write(go[1], &id, sizeof(id)), (ssize_t)sizeof(id));
		CHECK_EXIT(pid, 0);
		close(go[0]);
		close(go[1]);
		end_stream(&s);
		CHECK(!has_page(pid));
	}
}

HELPER(wait_and_look)
{
	uint64_t stream_id;
	uint32_t id;

	CHECK_EQ(read(atoi(argv[0]), &stream_id, sizeof(stream_id)), (ssize_t)sizeof(stream_id));
	CHECK_EQ(read(atoi(argv[0]), &id, sizeof(id)), (ssize_t)sizeof(id));
	/* What leads an event into the cold way, which does this. */
	CHECK_NE(ptrc_page_self->active, 0);
	CHECK_OK(ptrc_process_init());
	CHECK(find_slot(stream_id) >= 0);
	CHECK(ptrc_process_maps_id(id));
	CHECK_EQ(open_name("name"), id);
	return 0;
}

TEST(fork_and_controller_may_race, "FORK-14 CREATE-23")
{
	CHECK_EQ(open_name("zero"), 10);
	CHECK_EQ(open_name("one"), 11);
	for (int i = 0; i < 200; i++) {
		struct stream s;
		pid_t pid = fork();

		if (pid == 0) {
			/* Whoever made the page, the ids are those of the parent. */
			CHECK_EQ(open_name("one"), 11);
			CHECK_EQ(open_name("zero"), 10);
			CHECK_EQ(open_name("of the controller") == 12 ||
					 open_name("of the controller") == 13,
				 1);
			CHECK_EQ(open_name("mine") == 12 || open_name("mine") == 13, 1);
			pause();
		}
		begin_stream(&s, pid, 0);
		CHECK_EQ(open_name_through(&s, "zero"), 10);
		CHECK_EQ(open_name_through(&s, "one"), 11);
		open_name_through(&s, "of the controller");
		CHECK_EVENTUALLY(ptrc_names_count(s.names) == 4);
		kill(pid, SIGKILL);
		CHECK_EQ(WTERMSIG(harness_reap(pid)), SIGKILL);
		end_stream(&s);
	}
	CHECK_EQ(open_name("two"), 12);
}

HELPER(privileged)
{
	struct ptrc_target t;
	trace_event_id_t id;

	/* It has names of its own, and nothing in the directory. */
	CHECK_EQ(ptrc_process_init(), EPERM);
	CHECK_EQ(ptrc_target_open(0, -1, &t), EPERM);
	CHECK_OK(posix_trace_eventid_open("private", &id));
	CHECK_EQ(id, 10);
	CHECK_EQ(ptrc_page_self->active, 0);
	CHECK(!has_page(getpid()));
	pid_t pid = fork();
	if (pid == 0) {
		CHECK_OK(posix_trace_eventid_open("private", &id));
		CHECK_EQ(id, 10);
		exit(0);
	}
	CHECK_EXIT(pid, 0);
	CHECK_EQ(write(1, "x", 1), 1);
	char byte;
	(void)!read(0, &byte, 1);
	return 0;
}

TEST(privileged_image_is_left_alone, "EXEC-13 CREATE-14 CREATE-15")
{
	char path[] = "/tmp/posixtrace-process.XXXXXX", command[4300];
	gid_t groups[8];
	int in[2], out[2];
	char byte;
	struct stat st;
	struct ptrc_target t;
	struct stream s;

#ifdef HARNESS_IS_SANITIZED
	SKIP("the leak checker cannot look into such an image either");
#endif
	if (!private_user_is_on() || getgroups(8, groups) < 1 || groups[0] == getegid())
		SKIP("needs a second group");
	close(CHECK_SYS(mkstemp(path)));
	snprintf(command, sizeof(command), "cp '%s' %s", self_path(), path);
	CHECK_EQ(system(command), 0);
	CHECK_SYS(chown(path, (uid_t)-1, groups[0]));
	CHECK_SYS(chmod(path, 02755));
	CHECK_SYS(stat(path, &st));
	CHECK_SYS(pipe2(in, O_CLOEXEC));
	CHECK_SYS(pipe2(out, O_CLOEXEC));
	begin_stream(&s, 0, PTRC_PAGE_SLOT_INHERITED);
	pid_t pid = vfork();
	if (pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(path, "helper", "--helper", "privileged", (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	ssize_t got = read(out[0], &byte, 1);
	int err = ptrc_target_open(pid, -1, &t);
	bool has_one = has_page(pid);
	close(in[1]);
	int status = harness_reap(pid);
	unlink(path);
	CHECK_EQ(got, 1);
	CHECK_EQ(status, 0);
	CHECK_EQ(err, EPERM);
	CHECK(!has_one);
	end_stream(&s);
}

TEST(shortage_of_descriptors_is_reported, "ERRORS-12 CREATE-25")
{
	struct rlimit limit;
	struct ptrc_target t;
	pid_t stranger = start_stranger();

	CHECK_SYS(getrlimit(RLIMIT_NOFILE, &limit));
	close_range(3, ~0U, 0);
	for (rlim_t most = 3; most < 12; most++) {
		limit.rlim_cur = most;
		CHECK_SYS(setrlimit(RLIMIT_NOFILE, &limit));
		for (int is_self = 0; is_self < 2; is_self++) {
			int err = ptrc_target_open(is_self ? 0 : stranger, -1, &t);
			CHECK(err == 0 || err == ENOMEM);
			if (!err)
				ptrc_target_close(&t);
			if (is_self && most >= 11)
				CHECK_EQ(err, 0);
		}
	}
	harness_kill(stranger);
}

TEST(many_processes_leave_nothing, "GEN-04 GEN-05 FORK-20")
{
	struct ptrc_target t;
	char path[64];

	if (!private_user_is_on())
		SKIP("needs a directory of its own");
	for (int i = 0; i < 700; i++) {
		pid_t pid = harness_fork();

		if (pid == 0) {
			if (i % 4 == 0)
				open_name("name");
			_exit(0);
		}
		harness_reap(pid);
	}
	/* There was a bound on what they left. */
	private_user_dir(path);
	NOTE("%d entries are left of 700 processes", count_entries(path));
	CHECK_LE(count_entries(path), 600);
	CHECK_OK(ptrc_target_open(0, -1, &t));
	ptrc_target_close(&t);
	CHECK(directory_is_empty_but_for_me());
}
