/* SPDX-License-Identifier: MIT */
/*
 * Functions for tests of logs and of the end of processes, in addition to tests/support/support.h:
 * logs of a given policy, copies of log files, descriptors that fail or block.
 */
#ifndef TESTS_LOGS_H
#define TESTS_LOGS_H

#include "tests/support/support.h"
#include "tests/support/thread_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* A log file may have this many bytes more than its log-max-size, as long as a test has only few
 * event names. */
#define LOG_EXTRAS_BYTES 65536

static const int log_policies[3] = {POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND};

/* Attributes with these policies and sizes; an argument of 0 leaves the default. */
static inline trace_attr_t log_attr(int stream_policy, size_t stream_bytes, int log_policy,
				    size_t log_bytes)
{
	trace_attr_t attr = ts_attr(stream_policy, stream_bytes, 0);
	if (log_policy)
		CHECK_OK(posix_trace_attr_setlogfullpolicy(&attr, log_policy));
	if (log_bytes)
		CHECK_OK(posix_trace_attr_setlogsize(&attr, log_bytes));
	return attr;
}

/* Creates a stream of this process with the log in fd, which stays open. start_log() also starts
 * the stream. */
static inline trace_id_t create_log(int stream_policy, size_t stream_bytes, int log_policy,
				    size_t log_bytes, int fd)
{
	trace_attr_t attr = log_attr(stream_policy, stream_bytes, log_policy, log_bytes);
	return ts_create_log(0, &attr, fd);
}

static inline trace_id_t start_log(int stream_policy, size_t stream_bytes, int log_policy,
				   size_t log_bytes, int fd)
{
	trace_id_t trid = create_log(stream_policy, stream_bytes, log_policy, log_bytes, fd);
	ts_start(trid);
	return trid;
}

/* The same with a new file for the log, and a type of events. */
struct logged {
	int fd;
	trace_id_t trid;
	trace_event_id_t id;
};

static inline struct logged create_logged(int stream_policy, size_t stream_bytes, int log_policy,
					  size_t log_bytes)
{
	struct logged s = {.fd = ts_temp_file(), .id = ts_id("event")};

	s.trid = create_log(stream_policy, stream_bytes, log_policy, log_bytes, s.fd);
	return s;
}

static inline struct logged start_logged(int stream_policy, size_t stream_bytes, int log_policy,
					 size_t log_bytes)
{
	struct logged s = create_logged(stream_policy, stream_bytes, log_policy, log_bytes);

	ts_start(s.trid);
	return s;
}

/* Records events with the numbers first to end - 1, each with len bytes of data (4 to 16384). */
static inline void emit_run(trace_event_id_t id, uint32_t first, uint32_t end, size_t len)
{
	static unsigned char data[16384];
	for (uint32_t i = first; i < end; i++) {
		memset(data, (int)(i & 0x7f), len);
		memcpy(data, &i, sizeof(i));
		posix_trace_event(id, data, len);
	}
}

/* The events without FLUSH_START and FLUSH_STOP. The result points to the same data as *all. */
static inline struct ts_events without_markers(const struct ts_events *all)
{
	struct ts_events rest = {0, calloc(all->count + 1, sizeof(*rest.at))};
	for (size_t i = 0; i < all->count; i++) {
		trace_event_id_t id = all->at[i].info.posix_event_id;
		if (id != POSIX_TRACE_FLUSH_START && id != POSIX_TRACE_FLUSH_STOP)
			rest.at[rest.count++] = all->at[i];
	}
	return rest;
}

static inline trace_event_id_t id_at(const struct ts_events *events, size_t i)
{
	CHECK_LT(i, events->count);
	return events->at[i].info.posix_event_id;
}

static inline int64_t time_at(const struct ts_events *events, size_t i)
{
	CHECK_LT(i, events->count);
	return ts_time_ns(&events->at[i].info.posix_timestamp);
}

/* Checks the status of a log that was not closed, because its stream goes on or its keeper was
 * killed. */
static inline void expect_unfinished(trace_id_t log)
{
	struct posix_trace_status_info status = ts_status(log);
	CHECK_EQ(status.posix_stream_status, POSIX_TRACE_RUNNING);
	CHECK_EQ(status.posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
	CHECK_EQ(status.posix_log_overrun_status, POSIX_TRACE_OVERRUN);
	CHECK_EQ(status.posix_stream_flush_error, EOWNERDEAD);
}

/* Checks that the log is closed, and that it has events with the numbers 0 to count - 1 and a STOP
 * with reason 0. Opening it waits until its keeper has finished it. */
static inline void expect_complete_log(int fd, trace_event_id_t id, uint32_t count)
{
	int reader = ts_reopen(fd, O_RDONLY);
	trace_id_t log = ts_open_log(reader);
	struct ts_events all = ts_read_log(log), events = without_markers(&all);
	struct posix_trace_status_info status = ts_status(log);
	CHECK_EQ(status.posix_stream_status, POSIX_TRACE_SUSPENDED);
	CHECK_EQ(status.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
	CHECK_EQ(status.posix_stream_flush_error, 0);
	CHECK_EQ(status.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	CHECK_EQ(status.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
	CHECK_EQ(id_at(&events, 0), POSIX_TRACE_START);
	ts_expect_numbers(&events, id, 0, count - 1);
	ts_expect_sorted(&all);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_STOP), 1);
	CHECK_EQ(ts_stop_reason(&events.at[events.count - 1]), 0);
	CHECK_EQ(events.count, count + 2);
	ts_close_log(log);
	close(reader);
}

/* Checks that two events have the same id, pid, address, thread, time, truncation and data. */
static inline void expect_same_event(const struct ts_event *a, const struct ts_event *b)
{
	CHECK_EQ(a->info.posix_event_id, b->info.posix_event_id);
	CHECK_EQ(a->info.posix_pid, b->info.posix_pid);
	CHECK_EQ((uintptr_t)a->info.posix_prog_address, (uintptr_t)b->info.posix_prog_address);
	CHECK(pthread_equal(a->info.posix_thread_id, b->info.posix_thread_id));
	CHECK_EQ(ts_time_ns(&a->info.posix_timestamp), ts_time_ns(&b->info.posix_timestamp));
	CHECK_EQ(a->info.posix_truncation_status, b->info.posix_truncation_status);
	CHECK_EQ(a->len, b->len);
	CHECK_MEM_EQ(a->data, b->data, a->len);
}

/* The contents of a file, from malloc(). */
static inline unsigned char *file_bytes(int fd, size_t *bytes)
{
	*bytes = (size_t)ts_file_size(fd);
	unsigned char *data = malloc(*bytes + 1);
	CHECK(data);
	size_t at = 0;
	while (at < *bytes) {
		ssize_t got = CHECK_SYS(pread(fd, data + at, *bytes - at, (off_t)at));
		if (got == 0)
			break;
		at += (size_t)got;
	}
	*bytes = at;
	return data;
}

static inline void put_bytes(int fd, const void *data, size_t bytes)
{
	CHECK_SYS(ftruncate(fd, 0));
	for (size_t at = 0; at < bytes;)
		at += (size_t)CHECK_SYS(pwrite(fd, (const char *)data + at, bytes - at, (off_t)at));
}

/* Copies the present contents of a file to a new temporary file. */
static inline int file_copy(int fd)
{
	size_t bytes;
	unsigned char *data = file_bytes(fd, &bytes);
	int copy = ts_temp_file();
	put_bytes(copy, data, bytes);
	free(data);
	return copy;
}

/* The events that the log of an active stream has so far. To its reader, it is a log that was not
 * closed. */
static inline struct ts_events events_so_far(int fd)
{
	int reader = ts_reopen(fd, O_RDONLY);
	struct ts_events events = ts_log_events(reader);
	close(reader);
	return events;
}

static inline size_t count_so_far(int fd, trace_event_id_t id)
{
	struct ts_events events = events_so_far(fd);
	size_t count = ts_count(&events, id);
	ts_events_free(&events);
	return count;
}

static inline struct posix_trace_status_info log_status(int fd)
{
	trace_id_t trid = ts_open_log(fd);
	struct posix_trace_status_info status = ts_status(trid);
	ts_close_log(trid);
	return status;
}

static inline void expect_log_status(trace_id_t trid, int full, int overrun)
{
	struct posix_trace_status_info info = ts_status(trid);
	CHECK_EQ(info.posix_log_full_status, full);
	CHECK_EQ(info.posix_log_overrun_status, overrun);
}

/* Checks that the status is that of a new stream, or of a log that has lost nothing. */
static inline void expect_pristine(trace_id_t trid)
{
	struct posix_trace_status_info info = ts_status(trid);
	CHECK_EQ(info.posix_stream_status, POSIX_TRACE_SUSPENDED);
	CHECK_EQ(info.posix_stream_full_status, POSIX_TRACE_NOT_FULL);
	CHECK_EQ(info.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	CHECK_EQ(info.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
	CHECK_EQ(info.posix_stream_flush_error, 0);
	CHECK_EQ(info.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
	CHECK_EQ(info.posix_log_full_status, POSIX_TRACE_NOT_FULL);
}

/* Checks that the log in fd was closed. */
static inline void expect_closed_log(int fd)
{
	struct posix_trace_status_info status = log_status(fd);
	CHECK_EQ(status.posix_stream_status, POSIX_TRACE_SUSPENDED);
	CHECK_EQ(status.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
	CHECK_NE(status.posix_stream_flush_error, EOWNERDEAD);
}

static inline void *flush_in_thread(void *trid)
{
	return (void *)(intptr_t)posix_trace_flush(*(trace_id_t *)trid);
}

/* Starts a thread that flushes, and returns when the flush has begun. The thread returns the result
 * of posix_trace_flush(). */
static inline pthread_t begin_flush(trace_id_t *trid)
{
	pthread_t flusher = ts_thread(flush_in_thread, trid);
	CHECK_EVENTUALLY(ts_status(*trid).posix_stream_flush_status == POSIX_TRACE_FLUSHING);
	return flusher;
}

/* A thread that moves bytes from the descriptor `from` to the end of the file `to`, until the other
 * end of `from` is closed. */
struct drain {
	pthread_t thread;
	int from, to;
	/* delay_us: microseconds to wait before each read. chunk: the most bytes per read. */
	int delay_us;
	size_t chunk;
	_Atomic size_t moved;
};

static inline void *drain_run(void *arg)
{
	struct drain *drain = arg;
	static _Thread_local char buffer[65536];
	ssize_t got;

	for (;;) {
		if (drain->delay_us) {
			struct timespec delay = {0, (long)drain->delay_us * 1000};
			nanosleep(&delay, NULL);
		}
		got = read(drain->from, buffer, drain->chunk);
		if (got < 0 && errno == EINTR)
			continue;
		/* A pseudo-terminal reports its end as an error. */
		if (got <= 0)
			break;
		CHECK_EQ(write(drain->to, buffer, (size_t)got), got);
		atomic_fetch_add(&drain->moved, (size_t)got);
	}
	return NULL;
}

static inline void drain_start(struct drain *drain, int from, int to)
{
	drain->from = from;
	drain->to = to;
	if (!drain->chunk)
		drain->chunk = 65536;
	drain->thread = ts_thread(drain_run, drain);
}

/* Makes a pipe whose ends close on exec; ends[0] is the end for reading. */
static inline void open_pipe(int ends[2], int flags)
{
	CHECK_SYS(pipe2(ends, O_CLOEXEC | flags));
}

static inline void send_fd(int sock, int fd)
{
	char byte = 0;
	struct iovec iov = {&byte, 1};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control;
	memset(&control, 0, sizeof(control));
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = CMSG_SPACE(sizeof(int))};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	CHECK_SYS(sendmsg(sock, &msg, 0));
}

/* Returns -1 if the other end has sent no descriptor. */
static inline int receive_fd(int sock)
{
	char byte;
	struct iovec iov = {&byte, 1};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	int fd = -1;
	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) > 0) {
		struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
		if (head && head->cmsg_type == SCM_RIGHTS)
			memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	}
	return fd;
}

/* Enters a mount namespace of its own, in which this process may mount file systems. Any user but
 * root also enters a user namespace of its own. */
static inline bool enter_mount_namespace(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];

	if (uid == 0)
		return unshare(CLONE_NEWNS) == 0 &&
		       mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	/* After a change of user, the files in /proc/self belong to root until the process is made
	 * dumpable. */
	prctl(PR_SET_DUMPABLE, 1);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return false;
	int fd = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		(void)!write(fd, "deny", 4);
		close(fd);
	}
	fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	int len = snprintf(map, sizeof(map), "0 %lu 1", (unsigned long)uid);
	bool is_mapped = fd >= 0 && write(fd, map, (size_t)len) == len;
	close(fd);
	fd = open("/proc/self/gid_map", O_WRONLY | O_CLOEXEC);
	len = snprintf(map, sizeof(map), "0 %lu 1", (unsigned long)gid);
	is_mapped = is_mapped && fd >= 0 && write(fd, map, (size_t)len) == len;
	close(fd);
	return is_mapped;
}

/* Has a new execution of the program run HELPER(helper), with an argument, or none if it is NULL,
 * in a /dev/shm of its own. `bytes` is the size of that in the form of a mount option of tmpfs.
 * Skips the case if no file system can be mounted. */
static inline void run_in_small_shm(const char *bytes, const char *helper, const char *arg)
{
	char options[64];

	snprintf(options, sizeof(options), "size=%s,mode=1777", bytes);
	if (!enter_mount_namespace() || mount("tmpfs", "/dev/shm", "tmpfs", 0, options))
		SKIP("cannot mount a small /dev/shm");
	if (IN_CHILD())
		harness_exec(helper, arg, (char *)NULL);
}

/* Fills /dev/shm, by a file that may be removed. */
static inline void fill_shm(void)
{
	static char block[65536];
	int fd = CHECK_SYS(open("/dev/shm/filler", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));

	memset(block, 1, sizeof(block));
	for (size_t bytes = sizeof(block); bytes; bytes /= 2)
		while (write(fd, block, bytes) == (ssize_t)bytes)
			;
	close(fd);
}

/* Makes two empty files in a small file system of their own. `bytes` is its size in the form of a
 * mount option of tmpfs. Skips the case if no file system can be mounted. */
static inline void small_device(const char *bytes, int files[2])
{
	int ends[2];
	CHECK_SYS(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
	pid_t pid = harness_fork();
	if (pid == 0) {
		close(ends[0]);
		if (!enter_mount_namespace())
			_exit(0);
		char options[64];
		snprintf(options, sizeof(options), "size=%s,mode=0700", bytes);
		if (mount("none", "/tmp", "tmpfs", 0, options) < 0)
			_exit(0);
		for (int i = 0; i < 2; i++) {
			int fd = open(i ? "/tmp/b" : "/tmp/a", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
			if (fd < 0)
				_exit(0);
			send_fd(ends[1], fd);
		}
		_exit(0);
	}
	close(ends[1]);
	files[0] = receive_fd(ends[0]);
	files[1] = files[0] < 0 ? -1 : receive_fd(ends[0]);
	close(ends[0]);
	CHECK_EXIT(pid, 0);
	if (files[1] < 0)
		SKIP("no small file system can be mounted");
}

/* Sets the largest file size that this process may write; RLIM_INFINITY: no limit. */
static inline void limit_file_size(rlim_t bytes)
{
	struct rlimit limit;
	CHECK_SYS(getrlimit(RLIMIT_FSIZE, &limit));
	limit.rlim_cur = bytes;
	CHECK_SYS(setrlimit(RLIMIT_FSIZE, &limit));
}

/* Limits the address space to what is used now and this many bytes more. Skips the case with a
 * sanitizer, which has reserved terabytes. */
static inline void limit_address_space(size_t bytes)
{
	FILE *statm = fopen("/proc/self/statm", "re");
	struct rlimit limit;
	size_t pages = 0;

	CHECK(statm && fscanf(statm, "%zu", &pages) == 1);
	fclose(statm);
	if (pages > (size_t)1 << 24)
		SKIP("the address space cannot be limited");
	CHECK_SYS(getrlimit(RLIMIT_AS, &limit));
	limit.rlim_cur = pages * 4096 + bytes;
	CHECK_SYS(setrlimit(RLIMIT_AS, &limit));
}

/* A process, other than this one and `except`, that has the file open. If only the keeper has a log
 * open, this is how a test finds the keeper. 0 if there is none. */
static inline pid_t other_holder(int fd, pid_t except)
{
	struct stat wanted, st;
	struct dirent *entry, *fd_entry;
	pid_t found = 0;

	CHECK_SYS(fstat(fd, &wanted));
	DIR *proc = opendir("/proc");
	CHECK(proc);
	while (!found && (entry = readdir(proc))) {
		pid_t pid = (pid_t)atoi(entry->d_name);
		char path[320];
		if (pid <= 0 || pid == getpid() || pid == except)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
		DIR *fds = opendir(path);
		if (!fds)
			continue;
		while ((fd_entry = readdir(fds))) {
			if (fd_entry->d_name[0] == '.')
				continue;
			if (fstatat(dirfd(fds), fd_entry->d_name, &st, 0) == 0 &&
			    st.st_dev == wanted.st_dev && st.st_ino == wanted.st_ino) {
				found = pid;
				break;
			}
		}
		closedir(fds);
	}
	closedir(proc);
	return found;
}

/* Whether all threads of the process have ended. A zombie counts as ended. */
static inline bool process_is_gone(pid_t pid)
{
	char path[64];
	struct dirent *entry;
	int threads = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *dir = opendir(path);
	if (!dir)
		return true;
	while ((entry = readdir(dir)))
		threads += entry->d_name[0] != '.';
	closedir(dir);
	/* The first thread may be a zombie while other threads of the process still run. */
	return threads <= 1 && strchr("ZX", thread_state(pid, pid));
}

/* Tries to create another small stream of this process, without a log. Returns the result of the
 * create. */
static inline int try_create(void)
{
	trace_attr_t attr = ts_attr(POSIX_TRACE_LOOP, 4096, 0);
	trace_id_t trid;
	return posix_trace_create(0, &attr, &trid);
}

/* Whether this process can create as many streams as a user may have, so no other process of the
 * user has one. */
static inline bool can_have_all_streams(void)
{
	trace_attr_t attr = ts_attr(POSIX_TRACE_LOOP, 4096, 0);
	trace_id_t trids[TRACE_SYS_MAX];
	int err = 0, count = 0;
	while (count < TRACE_SYS_MAX && !err) {
		err = posix_trace_create(0, &attr, &trids[count]);
		count += !err;
	}
	while (count > 0)
		CHECK_OK(posix_trace_shutdown(trids[--count]));
	return !err;
}

static inline size_t count_lines(const char *path)
{
	size_t lines = 0;
	FILE *file = fopen(path, "re");
	CHECK(file);
	for (int c; (c = getc(file)) != EOF;)
		lines += c == '\n';
	fclose(file);
	return lines;
}

/* The number of entries of a directory, with "." and ".."; 0 if it does not exist. */
static inline size_t count_entries(const char *path)
{
	size_t entries = 0;
	DIR *dir = opendir(path);
	if (!dir)
		return 0;
	while (readdir(dir))
		entries++;
	closedir(dir);
	return entries;
}

/* Stores the path of a program in tests/support, such as prog_emit. The running program is in
 * tests/lib/ROOM, for some ROOM. */
static inline void support_program(char path[PATH_MAX], const char *name)
{
	ssize_t len = CHECK_SYS(readlink("/proc/self/exe", path, PATH_MAX - 1));
	path[len] = '\0';
	char *slash = NULL;
	for (int up = 0; up < 3; up++) {
		slash = strrchr(path, '/');
		CHECK(slash);
		*slash = '\0';
	}
	CHECK_LT((size_t)snprintf(slash, (size_t)(path + PATH_MAX - slash), "/support/%s", name),
		 (size_t)(path + PATH_MAX - slash));
	if (access(path, X_OK) < 0)
		harness_fail("%s: %s", path, strerror(errno));
}

#endif
