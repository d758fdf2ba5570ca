/* SPDX-License-Identifier: MIT */
/*
 * Target, controller and keeper killed together: what they recorded is in a log afterwards, or
 * still in /dev/shm, wherever the log is by then and whoever is killed while it is saved.
 */
#include "include/posixtrace-private.h"
#include "tests/support/private_user.h"

#include "tests/support/failing_sync.h"
#include "tests/support/keeper.h"

#include <inttypes.h>
#include <posixtrace-control.h>
#include <posixtrace.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "lib/base/liveness.h"
#include "lib/base/shared_version.h"
#include "lib/log/log_write.h"
#include "lib/stream/stream_layout.h"

#define KIB ((size_t)1024)
#define NAME "event"

/* A directory of the case, which goes at its end, and the path of a file in it. */
static char directory[64];
static char path[128];
static pid_t directory_owner;

static const char *beside(const char *name)
{
	static char paths[4][160];
	static unsigned next;
	char *to = paths[next++ % 4];

	snprintf(to, sizeof(paths[0]), "%s/%s", directory, name);
	return to;
}

static void remove_directory(void)
{
	struct dirent *entry;

	if (getpid() != directory_owner)
		return;
	umount(directory);
	DIR *dir = opendir(directory);
	while (dir && (entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(directory);
}

static void make_directory(void)
{
	strcpy(directory, "/tmp/posixtrace-salvage-XXXXXX");
	CHECK(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/log", directory);
	if (!directory_owner)
		CHECK_EQ(atexit(remove_directory), 0);
	directory_owner = getpid();
}

static int make_file(const char *file)
{
	return CHECK_SYS(open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

static int open_to_read(const char *file)
{
	return CHECK_SYS(open(file, O_RDONLY | O_CLOEXEC));
}

/* A process that traces itself, flushes `flushed` events and not the rest, and is killed together
 * with its keeper. fd -1: without a log. */
static void crash(int fd, const trace_attr_t *attr, uint32_t flushed, uint32_t rest)
{
	pid_t pid = harness_fork();

	if (pid == 0) {
		trace_event_id_t id = ts_id(NAME);
		trace_id_t trid = fd < 0 ? ts_create(0, attr) : ts_create_log(0, attr, fd);
		ts_start(trid);
		if (fd >= 0) {
			emit_run(id, 0, flushed, 40);
			ts_flush(trid);
		}
		emit_run(id, flushed, flushed + rest, 40);
		harness_stand_still();
	}
	harness_wait_until_still(pid);
	if (fd < 0) {
		harness_kill(pid);
	} else {
		pid_t keeper = other_holder(fd, pid);
		CHECK_GT(keeper, 0);
		kill_both(pid, keeper);
	}
}

/* A stream without a log, which holds so many events. */
static void crash_plain(int stream_policy, size_t stream_bytes, uint32_t events)
{
	trace_attr_t attr = ts_attr(stream_policy, stream_bytes, 0);

	crash(-1, &attr, 0, events);
}

static trace_attr_t append_attr(void)
{
	return log_attr(POSIX_TRACE_UNTIL_FULL, 1024 * KIB, POSIX_TRACE_APPEND, 0);
}

static trace_attr_t ring_attr(size_t stream_bytes, size_t log_bytes)
{
	return log_attr(POSIX_TRACE_UNTIL_FULL, stream_bytes, POSIX_TRACE_LOOP, log_bytes);
}

/* Begins the log at `path` and crashes. */
static void crash_at_path(trace_attr_t attr, uint32_t flushed, uint32_t rest)
{
	int fd = make_file(path);

	crash(fd, &attr, flushed, rest);
	close(fd);
}

static void crash_with_log(uint32_t flushed, uint32_t rest)
{
	make_directory();
	crash_at_path(append_attr(), flushed, rest);
}

/* The directory is a file system of its own, in a mount namespace of its own. */
static void make_small_directory(const char *options)
{
	make_directory();
	if (!enter_mount_namespace() || mount("none", directory, "tmpfs", 0, options) < 0)
		SKIP("no file system can be mounted");
}

/* A place beside the directory; the test unlinks it. */
static const char *elsewhere(void)
{
	static char there[100];

	snprintf(there, sizeof(there), "%s.log", directory);
	return there;
}

static void create_once(void)
{
	ts_shutdown(ts_create(0, NULL));
}

static trace_id_t open_log_at(const char *file)
{
	trace_id_t log;

	CHECK_OK(posixtrace_log_open(file, &log));
	return log;
}

static struct ptrc_counts counts_at(const char *file)
{
	trace_id_t log = open_log_at(file);
	struct ptrc_counts counts = counts_of(log);

	ts_close_log(log);
	return counts;
}

static trace_event_id_t id_in(trace_id_t log)
{
	trace_event_id_t id;
	char name[TRACE_EVENT_NAME_MAX + 1];
	int none;

	for (;;) {
		CHECK_OK(posix_trace_eventtypelist_getnext_id(log, &id, &none));
		CHECK(!none);
		CHECK_OK(posix_trace_eventid_get_name(log, id, name));
		if (strcmp(name, NAME) == 0)
			return id;
	}
}

/* The log is finished, and has exactly these numbers. */
static void expect_log(const char *log_path, uint32_t first, uint32_t end)
{
	int fd = open(log_path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		harness_fail("%s: %s", log_path, strerror(errno));
	expect_closed_log(fd);
	trace_id_t log = ts_open_log(fd);
	trace_event_id_t id = id_in(log);
	struct ts_events events = ts_read_log(log);
	ts_expect_numbers(&events, id, first, end - 1);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_STOP), 1);
	ts_close_log(log);
}

static bool is_there(const char *file)
{
	return access(file, F_OK) == 0;
}

static unsigned orphan_count(void)
{
	struct posixtrace_orphan o;
	unsigned n = 0;

	while (posixtrace_get_orphan(n, &o, sizeof(o)) == 0)
		n++;
	return n;
}

static struct posixtrace_orphan only_orphan(void)
{
	struct posixtrace_orphan o;

	CHECK_EQ(orphan_count(), 1);
	CHECK_OK(posixtrace_get_orphan(0, &o, sizeof(o)));
	CHECK_EQ(o.pt_size, sizeof(o));
	return o;
}

/* Salvages the only orphan, to where its log is or was. */
static int salvage_only(void)
{
	return posixtrace_salvage_orphan(only_orphan().pt_id, NULL, NULL);
}

static void discard_all(void)
{
	struct posixtrace_orphan o;

	while (posixtrace_get_orphan(0, &o, sizeof(o)) == 0)
		CHECK_OK(posixtrace_discard_orphan(o.pt_id));
	CHECK_OK(posixtrace_discard_orphan(0));
}

static void needs_own_directory(void)
{
	if (!private_user_is_on())
		SKIP("needs a directory of its own");
	discard_all();
}

/* ---- where the log is ---- */

TEST(a_log_under_another_of_its_names_is_finished, "", NEEDS_KEEPER)
{
	for (int has_link = 0; has_link < 2; has_link++) {
		NOTE("%s", has_link ? "a link, moved onto another file" : "renamed");
		crash_with_log(100, 900);
		if (has_link) {
			CHECK_SYS(link(path, beside("linked")));
			CHECK_SYS(unlink(path));
			make_file(beside("other"));
		}
		CHECK_SYS(rename(has_link ? beside("linked") : path, beside("other")));
		create_once();
		expect_log(beside("other"), 0, 1000);
		CHECK(!is_there(path));
		CHECK(!is_there(beside("log.salvaged")));
		remove_directory();
	}
}

TEST(a_log_that_somebody_has_open_is_finished_in_another_directory, "", NEEDS_KEEPER)
{
	char there[200];

	crash_with_log(100, 900);
	snprintf(there, sizeof(there), "%s.moved", directory);
	pid_t holder = harness_fork();
	if (holder == 0) {
		(void)!open(path, O_RDONLY);
		CHECK_SYS(rename(path, there));
		for (;;)
			pause();
	}
	CHECK_EVENTUALLY(is_there(there));
	create_once();
	harness_kill(holder);
	expect_log(there, 0, 1000);
	CHECK_SYS(unlink(there));
}

/* Of a log that had no name when it crashed the kernel says, behind its path, that it was deleted. */
TEST(beside_a_log_that_is_gone_the_rest_is_saved, "", NEEDS_KEEPER)
{
	static const char *const cases[] = {"deleted", "deleted, but open",
					    "without a name before"};

	for (int i = 0; i < 3; i++) {
		trace_attr_t attr = append_attr();

		NOTE("%s", cases[i]);
		make_directory();
		int fd = make_file(path);
		if (i == 2)
			CHECK_SYS(unlink(path));
		crash(fd, &attr, 100, 900);
		if (i != 1)
			close(fd);
		if (i != 2)
			CHECK_SYS(unlink(path));
		create_once();
		expect_log(beside("log.salvaged"), 100, 1000);
		CHECK(!is_there(path));
		CHECK_EQ(orphan_count(), 0);
		remove_directory();
	}
}

/* A file with the old name is not the log, whatever it is. */
TEST(no_file_is_ever_replaced_or_written_to, "", NEEDS_KEEPER)
{
	static const char text[] = "a letter";
	const char *names[] = {"log", "log.salvaged", "log.salvaged.2"};
	char got[sizeof(text)];

	crash_with_log(100, 900);
	CHECK_SYS(unlink(path));
	for (size_t i = 0; i < 2; i++) {
		int fd = make_file(beside(names[i]));
		CHECK_EQ(write(fd, text, sizeof(text)), sizeof(text));
	}
	CHECK_SYS(symlink("nowhere", beside(names[2])));
	create_once();
	expect_log(beside("log.salvaged.3"), 100, 1000);
	for (size_t i = 0; i < 2; i++) {
		int fd = open_to_read(beside(names[i]));
		CHECK_EQ(ts_file_size(fd), sizeof(text));
		CHECK_EQ(read(fd, got, sizeof(got)), sizeof(got));
		CHECK_STR_EQ(got, text);
		close(fd);
	}
	CHECK(!is_there(beside("nowhere")));
}

TEST(beside_a_log_that_was_cut_the_rest_is_saved, "", NEEDS_KEEPER)
{
	crash_with_log(1000, 900);
	CHECK_SYS(truncate(path, 1000));
	create_once();
	expect_log(beside("log.salvaged"), 1000, 1900);
	CHECK_EQ(orphan_count(), 0);
	int fd = open_to_read(path);
	CHECK_EQ(lseek(fd, 0, SEEK_END), 1000);
}

/* The new log has the losses of the old one, which are no part of what was salvaged. */
TEST(a_ring_that_is_gone_is_saved_as_a_ring_with_its_losses, "", NEEDS_KEEPER)
{
	unsigned long events;

	needs_own_directory();
	make_directory();
	crash_at_path(ring_attr(256 * KIB, 1024 * KIB), 100, 900);
	CHECK_SYS(unlink(path));
	create_once();
	expect_log(beside("log.salvaged"), 100, 1000);

	crash_at_path(ring_attr(2048 * KIB, 256 * KIB), 15000, 900);
	struct ptrc_counts old = counts_at(path);
	CHECK_GT(old.pt_log_lost_events, 0);
	CHECK_SYS(unlink(path));
	CHECK_OK(ptrc_salvage_orphan(only_orphan().pt_id, NULL, NULL, &events));
	trace_id_t log = open_log_at(beside("log.salvaged.2"));
	struct ptrc_counts rest = counts_of(log);
	CHECK_EQ(ts_status(log).posix_log_overrun_status, POSIX_TRACE_OVERRUN);
	ts_close_log(log);
	CHECK_EQ(events, rest.pt_log_events);
	CHECK_EQ(rest.pt_earlier_files, 1);
	CHECK_EQ(rest.pt_earlier_events, old.pt_log_events);
	CHECK_EQ(rest.pt_log_lost_events, old.pt_log_lost_events);
}

TEST(a_create_with_the_same_log_saves_the_rest_first, "", NEEDS_KEEPER)
{
	crash_with_log(100, 900);
	int fd = (int)CHECK_SYS(open(path, O_RDWR | O_CLOEXEC));
	trace_id_t trid = start_log(POSIX_TRACE_UNTIL_FULL, 1024 * KIB, POSIX_TRACE_APPEND, 0, fd);
	emit_run(ts_id(NAME), 0, 5, 40);
	ts_shutdown(trid);
	expect_log(path, 0, 5);
	expect_log(beside("log.salvaged"), 100, 1000);
}

/* ---- what cannot be written yet ---- */

TEST(without_a_directory_the_stream_stays_until_there_is_one, "", NEEDS_KEEPER)
{
	char written[4096];

	needs_own_directory();
	crash_with_log(100, 900);
	CHECK_SYS(unlink(path));
	CHECK_SYS(rmdir(directory));
	for (int i = 0; i < 3; i++)
		create_once();
	struct posixtrace_orphan o = only_orphan();
	CHECK_EQ(o.pt_error, 0);
	CHECK(o.pt_has_log);
	CHECK_STR_EQ(o.pt_log, path);
	CHECK_GE(o.pt_events, 900);
	CHECK_LE(o.pt_events, 903);
	CHECK_EQ(o.pt_target, o.pt_controller);
	CHECK_EQ(posixtrace_salvage_orphan(o.pt_id, NULL, written), ENOENT);
	CHECK_SYS(mkdir(directory, 0700));
	CHECK_OK(posixtrace_salvage_orphan(o.pt_id, beside("there"), written));
	CHECK_STR_EQ(written, beside("there"));
	expect_log(written, 100, 1000);
	CHECK_EQ(orphan_count(), 0);
	CHECK_EQ(posixtrace_salvage_orphan(o.pt_id, NULL, written), ESRCH);
}

TEST(a_stream_whose_log_was_a_pipe_needs_a_path, "", NEEDS_KEEPER)
{
	trace_attr_t attr = append_attr();
	int log[2];

	needs_own_directory();
	make_directory();
	open_pipe(log, 0);
	crash(log[1], &attr, 10, 10);
	struct posixtrace_orphan o = only_orphan();
	CHECK(o.pt_has_log);
	CHECK_EQ(posixtrace_salvage_orphan(o.pt_id, NULL, NULL), EDESTADDRREQ);
	CHECK_OK(posixtrace_salvage_orphan(o.pt_id, path, NULL));
	expect_log(path, 10, 20);
	CHECK_EQ(orphan_count(), 0);
}

TEST(without_permission_the_stream_stays, "", NEEDS_KEEPER)
{
	needs_own_directory();
	if (geteuid() == 0)
		SKIP("root has every permission");
	crash_with_log(100, 900);
	CHECK_SYS(unlink(path));
	CHECK_SYS(chmod(directory, 0500));
	create_once();
	CHECK_EQ(salvage_only(), EACCES);
	CHECK_SYS(chmod(directory, 0700));
	/* The next create finds that it can be done now. */
	create_once();
	CHECK_EQ(orphan_count(), 0);
	expect_log(beside("log.salvaged"), 100, 1000);
}

TEST(a_log_that_may_not_be_written_to_any_more_is_left_alone, "", NEEDS_KEEPER)
{
	if (geteuid() == 0)
		SKIP("root has every permission");
	crash_with_log(100, 900);
	CHECK_SYS(chmod(path, 0400));
	create_once();
	expect_log(beside("log.salvaged"), 100, 1000);
	int fd = open_to_read(path);
	CHECK_EQ(log_status(fd).posix_stream_flush_error, EOWNERDEAD);
}

TEST(on_a_full_disk_the_stream_stays_and_goes_elsewhere, "", NEEDS_KEEPER)
{
	char written[4096];

	needs_own_directory();
	make_small_directory("size=512k");
	crash_at_path(append_attr(), 10, 15000);
	for (int i = 0; i < 2; i++)
		create_once();
	struct posixtrace_orphan o = only_orphan();
	CHECK_EQ(salvage_only(), ENOSPC);
	CHECK(!is_there(beside("log.salvaged")));
	/* Another file there is no better, and leaves no trace. */
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(posixtrace_salvage_orphan(o.pt_id, beside("rest.log"), NULL), ENOSPC);
		CHECK(!is_there(beside("rest.log")));
		CHECK_STR_EQ(only_orphan().pt_log, o.pt_log);
	}
	/* What could be written is not both in the old log and in the new one. */
	trace_id_t log = open_log_at(path);
	trace_event_id_t id = id_in(log);
	struct ts_events events = ts_read_log(log);
	CHECK_EQ(ts_count(&events, id), 10);
	ts_close_log(log);
	CHECK_OK(posixtrace_salvage_orphan(o.pt_id, elsewhere(), written));
	expect_log(elsewhere(), 10, 15010);
	CHECK_EQ(counts_at(elsewhere()).pt_earlier_files, 1);
	CHECK_SYS(unlink(elsewhere()));
}

TEST(a_ring_on_a_full_disk_keeps_its_events_when_newer_ones_go_elsewhere, "", NEEDS_KEEPER)
{
	unsigned long written;

	needs_own_directory();
	make_small_directory("size=128k");
	/* The rest is more than the ring can hold. */
	crash_at_path(ring_attr(1024 * KIB, 256 * KIB), 10, 15000);
	CHECK_EQ(salvage_only(), ENOSPC);
	trace_id_t log = open_log_at(path);
	struct ts_events events = ts_read_log(log);
	struct ptrc_counts old = counts_of(log);
	ts_close_log(log);
	CHECK_OK(ptrc_salvage_orphan(only_orphan().pt_id, elsewhere(), NULL, &written));
	struct ptrc_counts rest = counts_at(elsewhere());
	CHECK_EQ(rest.pt_earlier_events, events.count);
	CHECK_EQ(written + old.pt_log_lost_events, rest.pt_log_events + rest.pt_log_lost_events);
	CHECK_SYS(unlink(elsewhere()));
}

TEST(a_log_that_does_not_come_to_its_disk_leaves_the_stream, "", NEEDS_KEEPER)
{
	needs_own_directory();
	crash_with_log(100, 100);
	if (IN_CHILD()) {
		if (!failing_sync_begin(EIO))
			SKIP("no filters of system calls");
		CHECK_EQ(salvage_only(), EIO);
		_exit(0);
	}
	/* What did not come to the disk is still there for one that works. */
	CHECK(only_orphan().pt_events >= 100);
	CHECK_OK(salvage_only());
	expect_log(path, 0, 200);
	CHECK_EQ(orphan_count(), 0);
}

TEST(on_a_read_only_file_system_the_stream_stays, "", NEEDS_KEEPER)
{
	needs_own_directory();
	make_small_directory("size=1m");
	crash_at_path(append_attr(), 10, 90);
	CHECK_SYS(mount("none", directory, NULL, MS_REMOUNT | MS_RDONLY, NULL));
	create_once();
	CHECK_EQ(salvage_only(), EROFS);
	CHECK_SYS(mount("none", directory, NULL, MS_REMOUNT, NULL));
	create_once();
	CHECK_EQ(orphan_count(), 0);
	expect_log(path, 0, 100);
}

/* ---- plain streams ---- */

/* The only orphan is a plain stream, with so many events and its START. It is salvaged to `path`, or
 * the name that is chosen because `path` exists. */
static void expect_plain_orphan(uint32_t events, const char *file)
{
	char written[4096];

	CHECK_EQ(only_orphan().pt_events, events + 1);
	/* Neither a create nor the end of a program removes it. */
	create_once();
	if (IN_CHILD())
		exit(0);
	struct posixtrace_orphan o = only_orphan();
	CHECK(!o.pt_has_log);
	CHECK_STR_EQ(o.pt_log, "");
	CHECK_EQ(o.pt_events, events + 1);
	CHECK_EQ(posixtrace_salvage_orphan(o.pt_id, NULL, NULL), EDESTADDRREQ);
	CHECK_OK(posixtrace_salvage_orphan(o.pt_id, path, written));
	CHECK_STR_EQ(written, file);
	expect_log(written, 0, events);
	CHECK_EQ(orphan_count(), 0);
}

TEST(a_plain_stream_of_a_killed_controller_is_salvaged, "", NEEDS_KEEPER)
{
	static const int policies[] = {POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_LOOP};

	needs_own_directory();
	make_directory();
	for (int i = 0; i < 2; i++) {
		trace_attr_t attr = ts_attr(policies[i], 256 * KIB, 0);
		CHECK_OK(posix_trace_attr_setname(&attr, "crashed"));
		crash(-1, &attr, 0, 1000);
		CHECK_STR_EQ(only_orphan().pt_name, "crashed");
		expect_plain_orphan(1000, i ? beside("log.2") : path);
	}
}

/* A process that traces another one, or itself, and will be killed. */
static pid_t fork_controller(pid_t target)
{
	pid_t pid = harness_fork();

	if (pid == 0) {
		ts_create_running(target, NULL);
		harness_stand_still();
	}
	harness_wait_until_still(pid);
	return pid;
}

/* No thread of the target has recorded anything. */
TEST(a_plain_stream_that_only_guests_have_recorded_into_is_salvaged, "", NEEDS_KEEPER)
{
	unsigned int streams;

	needs_own_directory();
	make_directory();
	pid_t pid = fork_controller(0);
	for (uint32_t n = 0; n < 100; n++) {
		CHECK_OK(posixtrace_event_for(pid, NAME, NULL, &n, sizeof(n), &streams));
		CHECK_EQ(streams, 1);
	}
	harness_kill(pid);
	expect_plain_orphan(100, path);
}

TEST(a_plain_stream_without_unread_events_is_no_orphan, "")
{
	needs_own_directory();
	crash_plain(POSIX_TRACE_LOOP, 64 * KIB, 0);
	CHECK_EQ(orphan_count(), 0);
	create_once();
	CHECK_EQ(orphan_count(), 0);
}

/* Makes its entry of the directory the newest one. */
static void enter_anew(uint64_t id)
{
	char name[OBJECT_PATH], other[OBJECT_PATH];

	object_path(name, 'o', id);
	object_path(other, 'x', id);
	CHECK_SYS(link(name, other));
	CHECK_SYS(unlink(name));
	CHECK_SYS(rename(other, name));
}

/* The number of mappings of shared objects. Sanitizers map other memory at any time. */
static size_t mapped_objects(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	size_t count = 0;

	CHECK(maps);
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, "/dev/shm/") != NULL;
	fclose(maps);
	return count;
}

TEST(no_more_than_eight_plain_orphans_stay_and_the_dropped_are_counted, "")
{
	struct ptrc_inspected_system system;
	struct posixtrace_orphan o;
	uint64_t first;
	size_t mappings;

	needs_own_directory();
	create_once();
	mappings = mapped_objects();
	/* Several are created in the same second. The order of the directory is not that of their age. */
	for (uint32_t i = 0; i < 12; i++) {
		crash_plain(POSIX_TRACE_LOOP, 64 * KIB, 10 + i);
		create_once();
		CHECK_OK(posixtrace_get_orphan(0, &o, sizeof(o)));
		if (i == 0)
			first = o.pt_id;
		if (i == 7)
			enter_anew(first);
	}
	/* Who finds them keeps none of them mapped. */
	CHECK_LE(mapped_objects(), mappings + 2);
	CHECK_EQ(orphan_count(), 8);
	CHECK_OK(posixtrace_get_orphan(0, &o, sizeof(o)));
	CHECK_EQ(posixtrace_salvage_orphan(o.pt_id, ".", NULL), EISDIR);
	/* Those that stay are the newest: the first of them has 14 events, and START. */
	for (unsigned int i = 0; i < 8; i++) {
		CHECK_OK(posixtrace_get_orphan(i, &o, sizeof(o)));
		CHECK_GE(o.pt_events, 15);
	}
	/* To look forgets none. */
	for (int i = 0; i < 2; i++) {
		ptrc_inspect_system(&system);
		CHECK_EQ(system.pt_dropped_orphans, 4);
	}
	discard_all();
	ptrc_inspect_system(&system);
	CHECK_EQ(system.pt_dropped_orphans, 0);
}

/* /dev/shm of its own, of 8 MiB: a stream of 3 MiB is there for two orphans of 2 MiB. */
TEST(plain_orphans_give_way_to_a_stream, "", NEEDS_KEEPER)
{
	struct ptrc_inspected_system system;

	needs_own_directory();
	if (IN_CHILD()) {
		if (!enter_mount_namespace() ||
		    mount("none", "/dev/shm", "tmpfs", 0, "size=8m,mode=1777") < 0)
			SKIP("no file system can be mounted");
		crash_plain(POSIX_TRACE_LOOP, 1024 * KIB, 10);
		crash_plain(POSIX_TRACE_LOOP, 1024 * KIB, 10);
		create_once();
		CHECK_EQ(orphan_count(), 2);
		ts_shutdown(ts_make(POSIX_TRACE_LOOP, 5 * 1024 * KIB, 0));
		CHECK_LT(orphan_count(), 2);
		ptrc_inspect_system(&system);
		CHECK_EQ(system.pt_dropped_orphans, 2 - orphan_count());
		_exit(0);
	}
}

/* A stream that is larger than /dev/shm, and one that is larger than a file may be. */
TEST(plain_orphans_stay_if_their_memory_would_not_be_enough, "")
{
	const struct rlimit limit = {4096 * KIB, 4096 * KIB};
	struct statvfs shm;
	trace_id_t trid;

	needs_own_directory();
	crash_plain(POSIX_TRACE_LOOP, 64 * KIB, 10);
	create_once();
	CHECK_EQ(orphan_count(), 1);
	if (IN_CHILD()) {
		CHECK_SYS(setrlimit(RLIMIT_FSIZE, &limit));
		CHECK_EQ(posix_trace_create(0, NULL, &trid), ENOMEM);
		_exit(0);
	}
	CHECK_EQ(orphan_count(), 1);
	CHECK_SYS(statvfs("/dev/shm", &shm));
	trace_attr_t attr = ts_attr(POSIX_TRACE_LOOP, 2 * shm.f_blocks * shm.f_frsize, 0);
	if (shm.f_blocks)
		CHECK_EQ(posix_trace_create(0, &attr, &trid), ENOMEM);
	CHECK_EQ(orphan_count(), 1);
	discard_all();
}

TEST(a_living_target_lets_go_of_the_plain_stream_of_a_killed_controller, "", NEEDS_KEEPER)
{
	char written[4096];

	needs_own_directory();
	make_directory();
	struct ts_target target = ts_target_fork();
	trace_event_id_t id = ts_target_id(&target, NAME);
	pid_t pid = fork_controller(target.pid);
	for (uint32_t i = 0; i < 100; i++)
		ts_target_emit(&target, id, i);
	harness_kill(pid);
	create_once();
	/* These belong to no stream. */
	for (uint32_t i = 100; i < 200; i++)
		ts_target_emit(&target, id, i);
	ts_target_end(&target);
	/* The names outlive the target. */
	CHECK_OK(posixtrace_salvage_orphan(only_orphan().pt_id, path, written));
	expect_log(written, 0, 100);
}

/* ---- living controllers, and objects that are no good ---- */

TEST(a_stream_with_a_living_controller_is_never_touched, "", NEEDS_KEEPER)
{
	char from[OBJECT_PATH], to[OBJECT_PATH], user[64];
	struct dirent *entry;
	unsigned long long id = 0;

	needs_own_directory();
	make_directory();
	int fd = make_file(path);
	trace_id_t trid = start_log(POSIX_TRACE_UNTIL_FULL, 1024 * KIB, POSIX_TRACE_APPEND, 0, fd);
	emit_run(ts_id(NAME), 0, 100, 40);
	CHECK_EQ(orphan_count(), 0);
	private_user_dir(user);
	DIR *dir = opendir(user);
	while ((entry = readdir(dir)))
		if (sscanf(entry->d_name, "s.%llx", &id) == 1)
			break;
	closedir(dir);
	CHECK_NE(id, 0);
	CHECK_EQ(posixtrace_salvage_orphan(id, path, NULL), EBUSY);
	CHECK_EQ(posixtrace_discard_orphan(id), EBUSY);
	/* Nor if its keeper is dead, nor by another name. */
	kill(other_holder(fd, getpid()), SIGKILL);
	CHECK_EQ(posixtrace_salvage_orphan(id, path, NULL), EBUSY);
	create_once();
	CHECK_EQ(orphan_count(), 0);
	object_path(from, 's', id);
	object_path(to, 'o', id);
	CHECK_SYS(rename(from, to));
	create_once();
	CHECK_EQ(posixtrace_discard_orphan(id), EBUSY);
	CHECK_SYS(rename(to, from));
	ts_shutdown(trid);
	close(fd);
	expect_log(path, 0, 100);
}

/* Opens the stream object of the only orphan, which was put aside. */
static int open_aside(void)
{
	return open_object('o', only_orphan().pt_id);
}

/* As if the keeper had been killed after it took the events of its last flush out of the stream, and
 * before it noted that. */
static void forget_taking(void)
{
	const uint64_t until = 1;
	uint64_t which;
	int fd = open_object('s', only_orphan().pt_id);
	off_t state = offsetof(struct ptrc_stream_header, log_state);

	CHECK_EQ(pread(fd, &which, sizeof(which), state), sizeof(which));
	state += (off_t)(1 + PTRC_LOG_STATE_COPY(which) * PTRC_LOG_STATE_WORDS) * 8;
	CHECK_EQ(pwrite(fd, &until, sizeof(until),
			state + (off_t)offsetof(struct ptrc_log_state, written.until)),
		 sizeof(until));
}

TEST(the_events_of_a_file_that_was_given_up_are_in_the_next_one, "", NEEDS_KEEPER)
{
	needs_own_directory();
	crash_with_log(100, 900);
	CHECK_SYS(unlink(path));
	forget_taking();
	if (IN_CHILD()) {
		if (!failing_sync_begin(EIO))
			SKIP("no filters of system calls");
		CHECK_EQ(salvage_only(), EIO);
		CHECK(!is_there(beside("log.salvaged")));
		_exit(0);
	}
	CHECK_OK(salvage_only());
	expect_log(beside("log.salvaged"), 100, 1000);
}

TEST(an_orphan_that_cannot_be_dropped_is_not_tried_for_ever, "")
{
	struct flock keeper = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = PTRC_LIVE_KEEPER, .l_len = 1};

	needs_own_directory();
	crash_plain(POSIX_TRACE_LOOP, 64 * KIB, 10);
	create_once();
	int fd = open_aside();
	CHECK_SYS(fcntl(fd, F_OFD_SETLK, &keeper));
	for (int i = 0; i < 9; i++) {
		crash_plain(POSIX_TRACE_LOOP, 64 * KIB, 10);
		create_once();
	}
	CHECK_GT(orphan_count(), 8);
	close(fd);
	crash_plain(POSIX_TRACE_LOOP, 64 * KIB, 10);
	create_once();
	CHECK_EQ(orphan_count(), 8);
	discard_all();
}

static void crash_without_directory(void)
{
	crash_with_log(100, 900);
	CHECK_SYS(unlink(path));
	CHECK_SYS(rmdir(directory));
	create_once();
}

/* Counts the names objects. Gives them the time of the last change, unless it is NULL. */
static unsigned int names_count(const struct timespec *changed)
{
	const struct timespec same = {.tv_nsec = UTIME_OMIT};
	const struct timespec times[] = {same, changed ? *changed : same};
	unsigned int count = 0;
	struct dirent *entry;
	char user[64];

	private_user_dir(user);
	DIR *dir = opendir(user);
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, "n.", 2) != 0)
			continue;
		count++;
		CHECK_SYS(utimensat(dirfd(dir), entry->d_name, times, 0));
	}
	closedir(dir);
	return count;
}

/* A process that has opened names is killed, so its names stay. */
static void end_with_names(void)
{
	pid_t pid = harness_fork();

	if (pid == 0) {
		ts_id(NAME);
		kill(getpid(), SIGKILL);
	}
	harness_reap(pid);
}

static void set_version(int fd, uint32_t version)
{
	CHECK_EQ(
		pwrite(fd, &version, sizeof(version), offsetof(struct ptrc_stream_header, version)),
		sizeof(version));
}

TEST(a_stream_of_another_version_stays_and_is_named, "", NEEDS_KEEPER)
{
	needs_own_directory();
	crash_without_directory();
	int fd = open_aside();
	set_version(fd, PTRC_SHARED_VERSION + 1);
	create_once();
	struct posixtrace_orphan o = only_orphan();
	CHECK_EQ(o.pt_error, ENOTSUP);
	CHECK_EQ(o.pt_version, PTRC_SHARED_VERSION + 1);
	CHECK_EQ(posixtrace_salvage_orphan(o.pt_id, "/tmp/nothing", NULL), ENOTSUP);
	CHECK(!is_there("/tmp/nothing"));
	/* The names that it needs stay, also if they were changed later, and those of a later process go. */
	const struct timespec later = {.tv_sec = time(NULL) + 3600};
	unsigned int needed = names_count(&later);
	end_with_names();
	CHECK_EQ(names_count(NULL), needed + 1);
	create_once();
	CHECK_EQ(names_count(NULL), needed);
	/* The right version can still do it. */
	set_version(fd, PTRC_SHARED_VERSION);
	close(fd);
	CHECK_SYS(mkdir(directory, 0700));
	create_once();
	expect_log(beside("log.salvaged"), 100, 1000);
}

TEST(the_names_of_a_stream_stay_if_descriptors_are_short, "", NEEDS_KEEPER)
{
	struct rlimit limit;
	trace_id_t trid;

	needs_own_directory();
	crash_without_directory();
	if (IN_CHILD()) {
		/* Creates with every number of free descriptors; most fail. */
		close_range(3, ~0U, 0);
		CHECK_SYS(getrlimit(RLIMIT_NOFILE, &limit));
		for (limit.rlim_cur = 12; limit.rlim_cur >= 3; limit.rlim_cur--) {
			CHECK_SYS(setrlimit(RLIMIT_NOFILE, &limit));
			if (posix_trace_create(0, NULL, &trid) == 0)
				ts_shutdown(trid);
		}
		_exit(0);
	}
	CHECK_SYS(mkdir(directory, 0700));
	create_once();
	CHECK_EQ(orphan_count(), 0);
	expect_log(beside("log.salvaged"), 100, 1000);
}

TEST(absurd_sizes_do_no_harm, "", NEEDS_KEEPER)
{
	static const off_t sizes[] = {0, 1, 300, 4096, 70000, (off_t)1 << 46};

	needs_own_directory();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		crash_without_directory();
		int fd = open_aside();
		CHECK_SYS(ftruncate(fd, sizes[i]));
		CHECK_LE(orphan_count(), 1);
		create_once();
		while (orphan_count()) {
			struct posixtrace_orphan o = only_orphan();
			int error = posixtrace_salvage_orphan(o.pt_id, "/tmp/nothing", NULL);
			if (error == 0)
				unlink("/tmp/nothing");
			else
				CHECK_OK(posixtrace_discard_orphan(o.pt_id));
		}
		discard_all();
	}
}

/* ---- salvagers that are many, or die ---- */

TEST(of_many_salvagers_one_writes_and_no_event_is_doubled, "", NEEDS_KEEPER)
{
	pid_t pids[6];

	needs_own_directory();
	crash_with_log(100, 5000);
	CHECK_SYS(unlink(path));
	struct posixtrace_orphan o = only_orphan();
	for (int i = 0; i < 6; i++) {
		pids[i] = harness_fork();
		if (pids[i] == 0) {
			int error = 0;
			if (i % 2)
				create_once();
			else
				error = posixtrace_salvage_orphan(o.pt_id, NULL, NULL);
			_exit(error == 0 || error == ESRCH || error == EBUSY ? 0 : 1);
		}
	}
	for (int i = 0; i < 6; i++)
		CHECK_EXIT(pids[i], 0);
	create_once();
	CHECK_EQ(orphan_count(), 0);
	expect_log(beside("log.salvaged"), 100, 5100);
	CHECK(!is_there(beside("log.salvaged.2")));
}

/* The keeper that some process has started on the file; 0: none. */
static pid_t any_keeper(void)
{
	struct dirent *entry;
	pid_t found = 0;
	char comm[64], text[32];
	DIR *proc = opendir("/proc");

	CHECK(proc);
	while (!found && (entry = readdir(proc))) {
		pid_t pid = (pid_t)atoi(entry->d_name);
		snprintf(comm, sizeof(comm), "/proc/%d/comm", (int)pid);
		int fd = pid > 0 ? open(comm, O_RDONLY | O_CLOEXEC) : -1;
		ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		if (fd >= 0)
			close(fd);
		text[got > 0 ? got : 0] = '\0';
		struct stat st;
		snprintf(comm, sizeof(comm), "/proc/%d", (int)pid);
		if (strncmp(text, "ptrace-keeper", 13) == 0 && stat(comm, &st) == 0 &&
		    st.st_uid == geteuid() && !process_is_gone(pid))
			found = pid;
	}
	closedir(proc);
	return found;
}

/* All numbers of the logs in the directory, each once. */
static void expect_in_logs(uint32_t first, uint32_t end)
{
	unsigned char *seen = calloc(end, 1);
	struct dirent *entry;
	DIR *dir = opendir(directory);

	CHECK(dir && seen);
	while ((entry = readdir(dir))) {
		int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
		trace_id_t log;
		if (entry->d_name[0] != '.' && posix_trace_open(fd, &log) == 0) {
			struct ts_events events = ts_read_log(log);
			for (size_t i = 0; i < events.count; i++) {
				char name[TRACE_EVENT_NAME_MAX + 1] = "";
				posix_trace_eventid_get_name(log, events.at[i].info.posix_event_id,
							     name);
				if (strcmp(name, NAME) != 0)
					continue;
				CHECK_LT(ts_number(&events.at[i]), end);
				CHECK_EQ(seen[ts_number(&events.at[i])], 0);
				seen[ts_number(&events.at[i])] = 1;
			}
			ts_events_free(&events);
			ts_close_log(log);
		}
		close(fd);
	}
	closedir(dir);
	for (uint32_t i = first; i < end; i++)
		CHECK_EQ(seen[i], 1);
	free(seen);
}

/* Salvagers and their keepers are killed at random moments; the last one is left alone. */
TEST(killed_salvagers_lose_and_double_nothing, "", NEEDS_KEEPER)
{
	unsigned seed = 7;

	needs_own_directory();
	for (int round = 0; round < 10; round++) {
		crash_with_log(100, 8000);
		/* In each second round the log is there. */
		if (round % 2)
			CHECK_SYS(unlink(path));
		for (int i = 0; i < 4; i++) {
			struct timespec moment = {0, (rand_r(&seed) % 6000) * 1000};
			pid_t pid = harness_fork();
			if (pid == 0) {
				create_once();
				_exit(0);
			}
			nanosleep(&moment, NULL);
			pid_t keeper = any_keeper();
			if (keeper && rand_r(&seed) % 2)
				kill(keeper, SIGKILL);
			harness_kill(pid);
			if (keeper && rand_r(&seed) % 2)
				kill(keeper, SIGKILL);
		}
		CHECK_EVENTUALLY(!any_keeper());
		create_once();
		CHECK_EQ(orphan_count(), 0);
		expect_in_logs(round % 2 ? 100 : 0, 8100);
		remove_directory();
	}
}

TEST(keepers_that_die_again_and_again_leave_the_stream, "", NEEDS_KEEPER)
{
	char written[4096];

	needs_own_directory();
	crash_with_log(100, 8000);
	struct posixtrace_orphan o = only_orphan();
	if (IN_CHILD()) {
		/* The end of each keeper that brings what it has written to the disk. */
		if (!failing_sync_begin_with(SECCOMP_RET_KILL_PROCESS))
			SKIP("system calls cannot be filtered");
		CHECK_EQ(posixtrace_salvage_orphan(o.pt_id, NULL, NULL), ECHILD);
		_exit(0);
	}
	CHECK_EQ(only_orphan().pt_error, ECHILD);
	/* Creates do not try again, but who asks for it does. */
	create_once();
	CHECK_EQ(orphan_count(), 1);
	CHECK_OK(posixtrace_salvage_orphan(o.pt_id, NULL, written));
	CHECK_STR_EQ(written, path);
	expect_log(path, 0, 8100);
}

TEST(bad_arguments_are_refused, "")
{
	struct posixtrace_orphan o;

	CHECK_EQ(posixtrace_get_orphan(0, NULL, sizeof(o)), EINVAL);
	CHECK_EQ(posixtrace_get_orphan(0, &o, 1), EINVAL);
	CHECK_EQ(posixtrace_get_orphan(1000000, &o, sizeof(o)), ENOENT);
	CHECK_EQ(posixtrace_salvage_orphan(1, NULL, NULL), ESRCH);
	CHECK_EQ(posixtrace_discard_orphan(1), ESRCH);
}
