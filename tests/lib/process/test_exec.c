/* SPDX-License-Identifier: MIT */
/*
 * exec: of traced processes, which stay traced, and of controllers, whose streams are shut
 * down.
 */
#include "tests/support/private_user.h"

#include "tests/lib/process/children.h"

static trace_id_t create_plain(pid_t pid)
{
	return create_inherited(pid, POSIX_TRACE_CLOSE_FOR_CHILD);
}

/* A stream of this process that runs, with its log in fd. */
static trace_id_t start_append_log(int fd)
{
	return start_log(POSIX_TRACE_UNTIL_FULL, 256 * KIB, POSIX_TRACE_APPEND, 0, fd);
}

/* Every id of the list has a name of its own. */
static void expect_unique_names(trace_id_t trid)
{
	static char names[9000][TRACE_EVENT_NAME_MAX + 1];
	static trace_event_id_t ids[9000];
	size_t count = 0;
	CHECK_OK(posix_trace_eventtypelist_rewind(trid));
	for (;; count++) {
		int unavailable;
		CHECK_LT(count, 9000);
		CHECK_OK(posix_trace_eventtypelist_getnext_id(trid, &ids[count], &unavailable));
		if (unavailable)
			break;
		CHECK_OK(posix_trace_eventid_get_name(trid, ids[count], names[count]));
		for (size_t i = 0; i < count; i++) {
			CHECK_NE(ids[i], ids[count]);
			CHECK(strcmp(names[i], names[count]) != 0);
		}
	}
}

/*
 * Traced processes
 */

/* Opens the name with this number in the target. */
static trace_event_id_t target_id(struct ts_target *target, const char *prefix, int number)
{
	char name[32];
	snprintf(name, sizeof(name), "%s %d", prefix, number);
	return ts_target_id(target, name);
}

TEST(traced_process_stays_traced_over_exec, "EXEC-01 EXEC-02 EXEC-04 EXEC-05 EVENTID-27",
     NEEDS_EXEC)
{
	for (size_t p = 0; p < 2; p++) {
		struct ts_target target = ts_target_fork();
		trace_id_t trids[] = {create_inherited(target.pid, inherit_policies[p]),
				      create_inherited(target.pid, inherit_policies[p])};
		trace_event_id_t old = ts_target_id(&target, "of the old image");
		ts_target_emit(&target, old, 0);
		for (uint32_t i = 1; i < 4; i++) {
			ts_target_exec(&target);
			trace_event_id_t new_id = ts_target_id(&target, "of the new image");
			CHECK_NE(new_id, old);
			ts_target_emit(&target, new_id, i);
		}
		for (int i = 0; i < 2; i++) {
			struct ts_events events = ts_read_all(trids[i]);
			CHECK_EQ(events.count, 5);
			for (size_t j = 1; j < 5; j++) {
				CHECK_EQ(events.at[j].info.posix_pid, target.pid);
				CHECK_EQ(ts_number(&events.at[j]), j - 1);
				ts_expect_name(trids[i], id_at(&events, j),
					       j == 1 ? "of the old image" : "of the new image");
			}
			expect_unique_names(trids[i]);
			ts_shutdown(trids[i]);
		}
		ts_target_end(&target);
	}
}

TEST(stream_works_on_over_exec, "EXEC-01 STARTSTOP-11 FILTER-07", NEEDS_EXEC)
{
	struct ts_target target = ts_target_fork();
	trace_attr_t attr = inherit_attr(POSIX_TRACE_CLOSE_FOR_CHILD);
	trace_id_t trid = ts_create(target.pid, &attr);
	trace_event_id_t id = ts_target_id(&target, "event");
	ts_target_exec(&target);
	/* Suspended over the exec, then started, filtered, stopped. */
	ts_target_emit(&target, ts_target_id(&target, "event"), 0);
	ts_start(trid);
	id = ts_target_id(&target, "event");
	ts_target_emit(&target, id, 1);
	trace_event_set_t set = ts_set(id, 0);
	ts_set_filter(trid, &set, POSIX_TRACE_ADD_EVENTSET);
	ts_target_exec(&target);
	CHECK_EQ(ts_target_id(&target, "event"), id);
	ts_target_emit(&target, id, 2);
	ts_set_filter(trid, &set, POSIX_TRACE_SUB_EVENTSET);
	ts_target_emit(&target, id, 3);
	ts_stop(trid);
	ts_target_emit(&target, id, 4);
	struct ts_events events = ts_read_all(trid);
	ts_expect_ids(&events, POSIX_TRACE_START, id, POSIX_TRACE_FILTER, POSIX_TRACE_FILTER, id,
		      POSIX_TRACE_STOP, 0);
	ts_target_end(&target);
}

TEST(new_image_gets_the_streams_ids, "EXEC-03 EVENTID-16", NEEDS_EXEC)
{
	struct ts_target target = ts_target_fork();
	trace_id_t trid = create_plain(target.pid);
	trace_event_id_t ids[20];
	for (int i = 0; i < 20; i++)
		ids[i] = target_id(&target, "name", i);
	trace_event_id_t through = ts_trid_id(trid, "through the stream");
	ts_target_exec(&target);
	/* In another order, with new ones between. */
	for (int i = 19; i >= 0; i--) {
		trace_event_id_t new_id = target_id(&target, "new", i);
		CHECK_NE(new_id, through);
		for (int j = 0; j < 20; j++)
			CHECK_NE(new_id, ids[j]);
		CHECK_EQ(target_id(&target, "name", i), ids[i]);
	}
	CHECK_EQ(ts_target_id(&target, "through the stream"), through);
	expect_unique_names(trid);
	ts_target_end(&target);
}

TEST(old_names_keep_their_place_while_a_stream_uses_them, "EXEC-03 EVENTID-09", NEEDS_EXEC)
{
	struct ts_target target = ts_target_fork();
	trace_id_t trid = create_plain(target.pid);
	for (int i = 0; i < 4500; i++)
		CHECK_NE(target_id(&target, "old", i), POSIX_TRACE_UNNAMED_USEREVENT);
	ts_target_exec(&target);
	for (int i = 0; i < 4500; i++) {
		trace_event_id_t id = target_id(&target, "new", i);
		CHECK_EQ(id == POSIX_TRACE_UNNAMED_USEREVENT, i >= 8182 - 4500);
	}
	expect_unique_names(trid);
	ts_target_end(&target);
}

TEST(list_of_a_later_stream_gives_no_id_twice, "EXEC-15 EVENTID-10", NEEDS_EXEC)
{
	struct ts_target target = ts_target_fork();
	for (int i = 0; i < 10; i++)
		target_id(&target, "old", i);
	ts_target_exec(&target);
	trace_event_id_t ids[10];
	for (int i = 0; i < 10; i++)
		ids[i] = target_id(&target, "new", i);
	trace_id_t trid = create_plain(target.pid);
	expect_unique_names(trid);
	for (int i = 0; i < 10; i++) {
		char name[32];
		snprintf(name, sizeof(name), "new %d", i);
		ts_expect_name(trid, ids[i], name);
	}
	ts_target_end(&target);
}

/* A child that is going to execute the program, after an event of that name. */
static pid_t start_exec(const struct harness_gate *go, const char *event, const char *const *argv,
			char **env)
{
	pid_t pid = harness_fork();
	if (pid == 0) {
		harness_pass(go);
		ts_emit(ts_id(event), 0);
		execve(argv[0], (char *const *)argv, env);
		_exit(127);
	}
	return pid;
}

static struct ts_events events_over_exec(const struct harness_gate *go, pid_t pid, trace_id_t trid)
{
	harness_open(go);
	CHECK_EXIT(pid, 0);
	return ts_read_all(trid);
}

TEST(image_without_the_library_interrupts_tracing_only, "EXEC-12 EXEC-01", NEEDS_EXEC)
{
	char path[PATH_MAX], command[PATH_MAX + 100];
	struct harness_gate go = harness_gate();
	const char *const argv[] = {"/bin/sh", "-c", command, NULL};
	support_program(path, "prog_emit");
	snprintf(command, sizeof(command), "exec '%s' 'behind the shell' 8", path);
	pid_t pid = start_exec(&go, "in front of the shell", argv, no_environment);
	trace_id_t trid = create_plain(pid);
	struct ts_events events = events_over_exec(&go, pid, trid);
	CHECK_EQ(expect_emitted(trid, &events, "in front of the shell", 1), pid);
	CHECK_EQ(expect_emitted(trid, &events, "behind the shell", 8), pid);
}

TEST(forked_child_that_execs_is_traced_if_inherited, "EXEC-11 FORK-06 FORK-18", NEEDS_EXEC)
{
	char path[PATH_MAX];
	support_program(path, "prog_emit");
	trace_id_t inherited = create_inherited(0, POSIX_TRACE_INHERITED);
	trace_id_t closed = create_plain(0);
	if (IN_CHILD()) {
		execle(path, path, "-f", "exec in a child", "6", (char *)NULL, no_environment);
		_exit(127);
	}
	struct ts_events events = ts_read_all(inherited);
	expect_emitted(inherited, &events, "exec in a child", 6);
	events = ts_read_all(closed);
	ts_expect_ids(&events, POSIX_TRACE_START, 0);
}

/* A group that this process may give to a file and that is not its own. */
static bool other_group(gid_t *group)
{
	gid_t groups[64];
	int count = getgroups(64, groups);
	for (int i = 0; i < count; i++) {
		if (groups[i] != getegid()) {
			*group = groups[i];
			return true;
		}
	}
	return false;
}

TEST(privileged_images_are_not_traced, "EXEC-13 CREATE-15")
{
	char path[PATH_MAX], copy_path[4096];
	struct harness_gate go = harness_gate();
	const char *const argv[] = {copy_path, "-s", "privileged", "5", NULL};
	gid_t group;

	if (!other_group(&group))
		SKIP("no second group for a set-group-ID program");
	support_program(path, "prog_emit");
	int program = CHECK_SYS(open(path, O_RDONLY | O_CLOEXEC));
	size_t bytes;
	unsigned char *data = file_bytes(program, &bytes);
	int copy = ts_temp_named(copy_path, sizeof(copy_path));
	put_bytes(copy, data, bytes);
	CHECK_SYS(fchown(copy, (uid_t)-1, group));
	CHECK_SYS(fchmod(copy, 02755));
	close(copy);

	pid_t pid = start_exec(&go, "before", argv, environ);
	trace_id_t trid = create_inherited(pid, POSIX_TRACE_INHERITED);
	harness_open(&go);
	int status = harness_reap(pid);
	unlink(copy_path);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
		SKIP("set-group-ID has no effect on the file system of temporary files");
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	struct ts_events events = ts_read_all(trid);
	CHECK_EQ(expect_emitted(trid, &events, "before", 1), pid);
	expect_emitted(trid, &events, "privileged", 0);
	CHECK_EQ(events.count, 2);
}

/*
 * Controllers
 */

/* What a controller execs: says so by its exit status if it is not as it should be. */
HELPER(after_exec)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	CHECK(dir);
	while ((entry = readdir(dir))) {
		int fd = atoi(entry->d_name);
		bool is_known = entry->d_name[0] == '.' || fd <= 2 || fd == dirfd(dir);
		if (is_known)
			continue;
		char path[300], link[300];
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		ssize_t len = readlink(path, link, sizeof(link) - 1);
		harness_fail("descriptor %d is open: %.*s", fd, len > 0 ? (int)len : 0, link);
	}
	closedir(dir);
	/* It uses the library, and is not traced by what it was before. */
	trace_id_t trid = create_plain(0);
	trace_event_id_t id = ts_id("of the new image");
	ts_emit(id, 99);
	ts_expect(trid, POSIX_TRACE_START);
	ts_expect(trid, id);
	ts_shutdown(trid);
	return 0;
}

/* A path to this program that does not say "self". */
static const char *own_path(void)
{
	static char path[PATH_MAX];
	ssize_t len = CHECK_SYS(readlink("/proc/self/exe", path, sizeof(path) - 1));
	path[len] = '\0';
	return path;
}

static char helper_option[] = "--helper", helper_name[] = "after_exec", helper_self[] = "test";

enum exec_call { EXECL, EXECLE, EXECLP, EXECV, EXECVE, EXECVP, FEXECVE, EXECVPE, CALLS };

static void exec_by(enum exec_call call)
{
	char *argv[] = {helper_self, helper_option, helper_name, NULL};
	const char *path = own_path();
	switch (call) {
	case EXECL:
		execl(path, "test", "--helper", "after_exec", (char *)NULL);
		break;
	case EXECLE:
		execle(path, "test", "--helper", "after_exec", (char *)NULL, environ);
		break;
	case EXECLP:
		execlp(path, "test", "--helper", "after_exec", (char *)NULL);
		break;
	case EXECV:
		execv(path, argv);
		break;
	case EXECVE:
		execve(path, argv, environ);
		break;
	case EXECVP:
		execvp(path, argv);
		break;
	case FEXECVE:
		fexecve(open(path, O_RDONLY | O_CLOEXEC), argv, environ);
		break;
	default:
		execvpe(path, argv, environ);
		break;
	}
	_exit(127);
}

static void *exec_in_thread(void *arg)
{
	exec_by(*(const enum exec_call *)arg);
	return NULL;
}

/* Descriptors of the harness and of the case, which are not the library's. */
static void close_inherited(int keep)
{
	for (int fd = 3; fd < 256; fd++)
		if (fd != keep)
			close(fd);
}

TEST(exec_shuts_the_controllers_streams_down, "EXEC-06 EXEC-07 EXEC-09 EXEC-14 EXIT-03",
     NEEDS_KEEPER)
{
	trace_event_id_t id = ts_id("event");
	for (enum exec_call call = EXECL; call < 2 * CALLS; call++) {
		int fd = ts_temp_file();
		struct harness_gate go = harness_gate();
		pid_t pid = harness_fork();
		if (pid == 0) {
			enum exec_call which = call % CALLS;
			harness_pass(&go);
			close_inherited(fd);
			trace_id_t logged = start_append_log(fd);
			create_plain(0);
			create_plain(getppid());
			create_inherited(0, POSIX_TRACE_INHERITED);
			emit_run(id, 0, 300, 20);
			ts_flush(logged);
			ts_open_log(fd);
			/* From a thread in the second half. */
			if (call >= CALLS)
				ts_join(ts_thread(exec_in_thread, &which));
			exec_by(which);
		}
		trace_id_t outer = create_plain(pid);
		harness_open(&go);
		CHECK_EXIT(pid, 0);
		expect_complete_log(fd, id, 300);
		/* The other controller's stream has both images. */
		ts_stop(outer);
		struct ts_events events = ts_read_all(outer);
		ts_expect_numbers(&events, id, 0, 299);
		ts_expect_name(outer, id_at(&events, events.count - 2), "of the new image");
		ts_shutdown(outer);
		close(go.ends[0]);
		close(go.ends[1]);
		close(fd);
	}
}

/* The name by which the system knows what the process runs. */
static bool is_called(pid_t pid, const char *name)
{
	char path[64], text[32];
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text));
	close(fd);
	return len == (ssize_t)strlen(name) + 1 && memcmp(text, name, strlen(name)) == 0;
}

TEST(streams_of_the_old_image_end_while_the_new_one_runs, "EXEC-06 CREATE-12", NEEDS_KEEPER)
{
	trace_event_id_t id = ts_id("event");
	int fd = ts_temp_file(), in[2];
	open_pipe(in, 0);
	pid_t pid = harness_fork();
	if (pid == 0) {
		start_append_log(fd);
		emit_run(id, 0, 200, 20);
		/* Other programs of another user may have streams. */
		if (private_user_is_on()) {
			for (int i = 1; i < TRACE_SYS_MAX; i++)
				CHECK_OK(try_create());
			CHECK_EQ(try_create(), EAGAIN);
		}
		dup2(in[0], STDIN_FILENO);
		/* Waits until the test ends. */
		execl("/bin/cat", "cat", (char *)NULL);
		_exit(127);
	}
	CHECK_EVENTUALLY(process_is_gone(pid) || is_called(pid, "cat"));
	CHECK(!process_is_gone(pid));
	/* The lock of the old image falls a moment later; then open() waits. */
	CHECK_EVENTUALLY(log_status(fd).posix_stream_status == POSIX_TRACE_SUSPENDED);
	expect_complete_log(fd, id, 200);
	/* The system frees what the old image had just behind that. */
	CHECK_EVENTUALLY(!private_user_is_on() || can_have_all_streams());
	close(in[1]);
	close(in[0]);
	CHECK_EXIT(pid, 0);
}

TEST(failed_exec_changes_nothing, "EXEC-08", NEEDS_KEEPER)
{
	trace_event_id_t id = ts_id("event");
	int old_fd = ts_temp_file(), text = ts_temp_file();
	trace_id_t opened = ts_end_and_open_log(ts_create_log(0, NULL, old_fd), old_fd);
	struct two_streams s = start_two(POSIX_TRACE_INHERITED);
	char *argv[] = {helper_self, NULL};
	uint32_t number = 0;
	for (int i = 0; i < 5; i++) {
		ts_emit(id, number++);
		CHECK_EQ(execl("/nonexistent/program", "x", (char *)NULL), -1);
		CHECK_EQ(execv("/dev/null", argv), -1);
		CHECK_EQ(execve("/", argv, no_environment), -1);
		CHECK_EQ(execvp("no such program as this", argv), -1);
		CHECK_EQ(fexecve(text, argv, no_environment), -1);
		ts_emit(id, number++);
		ts_flush(s.logged);
	}
	ts_expect_running(s.plain);
	ts_expect_running(s.logged);
	CHECK_EQ(log_status(s.fd).posix_stream_status, POSIX_TRACE_RUNNING);
	ts_status(opened);
	ts_close_log(opened);
	ts_stop(s.plain);
	ts_read_numbers(s.plain, id, 0, number - 1);
	ts_shutdown(s.plain);
	ts_shutdown(s.logged);
	expect_complete_log(s.fd, id, number);
}
