/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/base/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/digits.h"
#include "lib/base/file.h"
#include "lib/base/sys.h"

/* The inode of the initial pid namespace, PROC_PID_INIT_INO in the kernel. It never changes,
 * because checkpointing tools rely on it. */
#define INITIAL_PID_NAMESPACE UINT64_C(0xeffffffc)

#define PATH_BYTES 64

/* Writes "/proc/./<pid>/<rest>" or, if `pid` is 0, "/proc/./self/<rest>". Without the dot,
 * processor emulators would answer "/proc/self/..." themselves, with a start time that differs from
 * the one that other processes see. */
static void make_path(char path[PATH_BYTES], int pid, const char *rest)
{
	char *at = path + 12;

	memcpy(path, "/proc/./self", 12);
	if (pid)
		at = ptrc_digits_put(path + 8, (unsigned int)pid);
	*at++ = '/';
	while ((*at++ = *rest++))
		;
}

int ptrc_procfs_open(int pid, const char *rest, int flags, int *fd)
{
	char path[PATH_BYTES];
	int error;

	make_path(path, pid, rest);
	error = ptrc_file_open(AT_FDCWD, path, O_RDONLY | flags, 0, fd);
	return error ? ptrc_file_shortage(error, ESRCH) : 0;
}

static int stat_file(int pid, const char *rest, int flags, struct stat *st)
{
	char path[PATH_BYTES];

	make_path(path, pid, rest);
	return (int)-ptrc_sys(SYS_newfstatat, AT_FDCWD, path, st, flags);
}

/* Skips `count` fields, which may be negative numbers. Returns false if the text ends before
 * that. */
static bool skip_fields(const char **at, int count)
{
	for (; count; count--) {
		while (**at != ' ')
			if (!*(*at)++)
				return false;
		++*at;
	}
	return true;
}

int ptrc_procfs_stat(int pid, struct ptrc_procfs_stat *st)
{
	char text[1024];
	const char *at = text, *open;
	PTRC_FD(fd);
	int error = ptrc_procfs_open(pid, "stat", 0, &fd);
	long got;

	if (error)
		return error;
	/* One read is enough: the kernel fills the buffer as far as it can. */
	got = ptrc_sys(SYS_read, fd, text, sizeof(text) - 1);
	if (got <= 0)
		return ESRCH;
	text[got] = '\0';
	st->pid = (int)ptrc_digits_take(&at);
	open = *at == '(' ? at + 1 : at;
	/* The name of the program, in parentheses, may itself contain parentheses and blanks. */
	for (const char *c = text; *c; c++)
		if (*c == ')')
			at = c;
	memset(st->comm, 0, sizeof(st->comm));
	for (size_t i = 0; i < sizeof(st->comm) - 1 && open + i < at; i++)
		st->comm[i] = open[i];
	if (at[0] != ')' || at[1] != ' ' || !at[2] || at[3] != ' ')
		return ESRCH;
	st->has_ended = at[2] == 'Z' || at[2] == 'X' || at[2] == 'x';
	st->is_stopped = at[2] == 'T' || at[2] == 't';
	st->is_runnable = at[2] == 'R';
	st->is_asleep = at[2] == 'S';
	at += 4;
	st->ppid = (int)ptrc_digits_take(&at);
	/* Fields 14 and 15 are the processor times of the program and of the kernel for it; field 22
	 * is the start time. */
	if (!skip_fields(&at, 14 - 5))
		return ESRCH;
	st->used_ticks = ptrc_digits_take(&at);
	st->used_ticks += ptrc_digits_take(&at);
	if (!skip_fields(&at, 22 - 16))
		return ESRCH;
	st->start_ticks = ptrc_digits_take(&at);
	st->memory_bytes = ptrc_digits_take(&at);
	st->arguments_end = skip_fields(&at, 51 - 24) ? ptrc_digits_take(&at) : 0;
	return 0;
}

size_t ptrc_procfs_read(int pid, const char *rest, void *to, size_t size)
{
	size_t used = 0;
	long got;
	PTRC_FD(fd);

	if (ptrc_procfs_open(pid, rest, 0, &fd))
		return 0;
	do {
		got = ptrc_sys(SYS_read, fd, (char *)to + used, size - used);
		used += got > 0 ? (size_t)got : 0;
	} while (got > 0 && used < size);
	return used;
}

int ptrc_procfs_inode(int pid, const char *rest, uint64_t *dev, uint64_t *ino)
{
	struct stat st = {.st_dev = 0};
	int error = stat_file(pid, rest, 0, &st);

	*dev = st.st_dev;
	*ino = st.st_ino;
	return error;
}

size_t ptrc_procfs_link(int pid, const char *rest, char *path, size_t size)
{
	char link[PATH_BYTES];
	long n;

	make_path(link, pid, rest);
	n = ptrc_sys(SYS_readlinkat, AT_FDCWD, link, path, size);
	return n > 0 ? (size_t)n : 0;
}

/* Reads in parts, because a line can be longer than any buffer: the list of groups in status, or
 * a path in maps. */
int ptrc_procfs_lines(int pid, const char *rest, char *text, size_t size,
		      bool (*visit)(const char *line, void *arg), void *arg)
{
	bool is_done = false, is_rest = false, has_any = false;
	size_t used = 0;
	PTRC_FD(fd);
	int error = ptrc_procfs_open(pid, rest, 0, &fd);

	if (error)
		return error;
	while (!is_done) {
		long got = ptrc_sys(SYS_read, fd, text + used, size - 1 - used);
		char *line = text, *end;

		if (got <= 0)
			break;
		has_any = true;
		used += (size_t)got;
		text[used] = '\0';
		for (; !is_done && (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			is_done = !is_rest && visit(line, arg);
			is_rest = false;
		}
		used -= (size_t)(line - text);
		memmove(text, line, used + 1);
		if (used == size - 1) {
			is_done = is_done || (!is_rest && visit(text, arg));
			used = 0;
			is_rest = true;
		}
	}
	return has_any ? 0 : ESRCH;
}

/* The text after the key at the start of the line; NULL if the line has another key. */
static const char *value_of(const char *line, const char *key)
{
	size_t size = strlen(key);

	if (strncmp(line, key, size) != 0)
		return NULL;
	line += size;
	while (*line == ' ' || *line == '\t')
		line++;
	return line;
}

struct status_lines {
	struct ptrc_procfs_status *st;
	bool has_ids;
};

/* If the line has one of the wanted keys, stores its value in the status. Returns true after the
 * last wanted line. */
static bool take_status(const char *line, void *context)
{
	struct status_lines *to = context;
	struct ptrc_procfs_status *st = to->st;
	const char *at;

	if ((at = value_of(line, "Uid:")))
		for (int i = 0; i < 3; i++)
			st->uid[i] = (uint32_t)ptrc_digits_take(&at);
	else if ((at = value_of(line, "Gid:")))
		for (int i = 0; i < 3; i++, to->has_ids = true)
			st->gid[i] = (uint32_t)ptrc_digits_take(&at);
	else if ((at = value_of(line, "NSpid:")))
		for (; *at >= '0' && *at <= '9'; st->depth++)
			st->inner_pid = (int)ptrc_digits_take(&at);
	return st->depth > 0;
}

int ptrc_procfs_status(int pid, struct ptrc_procfs_status *st)
{
	struct status_lines to = {.st = st};
	char text[2048];
	int error;

	st->depth = 0;
	st->inner_pid = pid;
	/* In this file the kernel escapes line breaks in the program's name, so no name can look
	 * like a line with one of the keys. */
	error = ptrc_procfs_lines(pid, "status", text, sizeof(text), take_status, &to);
	if (error)
		return error;
	if (st->depth == 0)
		st->depth = 1; /* a kernel without pid namespaces */
	return to.has_ids ? 0 : ESRCH;
}

int ptrc_procfs_pid_namespace(int pid, uint64_t *ns)
{
	struct stat st;
	int error = stat_file(pid, "ns/pid", 0, &st);

	/* /proc exists, so the kernel has no pid namespaces. */
	if (error == ENOENT && pid == 0 && stat_file(0, "stat", 0, &st) == 0) {
		*ns = 0;
		return 0;
	}
	if (error)
		return error == EACCES || error == EPERM ? EPERM : ESRCH;
	*ns = st.st_ino == INITIAL_PID_NAMESPACE ? 0 : st.st_ino;
	return 0;
}

struct user {
	uint64_t inside, outside;
	bool is_found;
};

/* Takes "<first ID inside> <first ID outside> <number of IDs>". */
static bool take_users(const char *line, void *arg)
{
	struct user *u = arg;
	uint64_t number;

	while (*line == ' ')
		line++;
	number = u->inside - ptrc_digits_take(&line);
	u->outside = ptrc_digits_take(&line) + number;
	u->is_found = number < ptrc_digits_take(&line);
	return u->is_found;
}

bool ptrc_procfs_user_outside(uint64_t uid, uint64_t *outside)
{
	struct user u = {.inside = uid};
	char text[128];

	(void)ptrc_procfs_lines(0, "uid_map", text, sizeof(text), take_users, &u);
	*outside = u.outside;
	return u.is_found;
}

uint64_t ptrc_procfs_time_namespace(void)
{
	struct stat st;

	return stat_file(0, "ns/time", 0, &st) ? 0 : st.st_ino;
}

struct clock_offset {
	const char *clock;
	int64_t ns;
};

/* Takes "<clock> <seconds> <nanoseconds>", where only the seconds may be negative. */
static bool take_offset(const char *line, void *arg)
{
	struct clock_offset *offset = arg;
	const char *at = value_of(line, offset->clock);
	bool is_negative;
	uint64_t sec_ns;

	if (!at)
		return false;
	is_negative = *at == '-';
	at += is_negative;
	sec_ns = ptrc_digits_take(&at) * 1000000000;
	offset->ns = (int64_t)((is_negative ? -sec_ns : sec_ns) + ptrc_digits_take(&at));
	return true;
}

int64_t ptrc_procfs_clock_offset(const char *clock)
{
	struct clock_offset offset = {.clock = clock};
	char text[128];

	(void)ptrc_procfs_lines(0, "timens_offsets", text, sizeof(text), take_offset, &offset);
	return offset.ns;
}

static bool bears_in_another(const char *own_name, const char *name)
{
	struct stat own, st;

	if (stat_file(0, own_name, 0, &own))
		return false;
	if (stat_file(0, name, 0, &st) == 0)
		return st.st_ino != own.st_ino;
	/* After unshare(), the link `name` exists, but leads nowhere until the first child starts.
	 * In kernels before 4.12 this link does not exist. */
	return stat_file(0, name, AT_SYMLINK_NOFOLLOW, &st) == 0;
}

const char *ptrc_procfs_bears_elsewhere(void)
{
	if (bears_in_another("ns/pid", "ns/pid_for_children"))
		return "pid";
	return bears_in_another("ns/time", "ns/time_for_children") ? "time" : NULL;
}

static int user_of(int pid, const char *rest, uint32_t *uid)
{
	struct stat st;

	if (stat_file(pid, rest, AT_SYMLINK_NOFOLLOW, &st))
		return ESRCH;
	*uid = st.st_uid;
	return 0;
}

int ptrc_procfs_user(int pid, uint32_t *uid)
{
	/* The directory /proc/<pid>, unlike the files in it, always belongs to the effective
	 * user. */
	return user_of(pid, "", uid);
}

/* Calls visit() for each pid in the open list of children, until visit() returns false; *is_more is
 * then false. Returns false if the list cannot be read. */
static bool visit_list(int fd, bool (*visit)(int child, void *arg), void *arg, bool *is_more)
{
	char text[512];
	uint64_t offset = 0, number = 0;
	bool is_number = false;
	size_t got;

	do {
		if (ptrc_file_read(fd, text, sizeof(text), offset, &got))
			return false;
		offset += got;
		for (size_t i = 0; i < got && *is_more; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				number = number * 10 + (uint64_t)(text[i] - '0');
				is_number = true;
			} else if (is_number) {
				*is_more = visit((int)number, arg);
				number = 0;
				is_number = false;
			}
		}
	} while (got == sizeof(text) && *is_more);
	return true;
}

struct children {
	bool (*visit)(int child, void *arg);
	void *arg;
	int tasks;
	bool is_good, is_more;
};

static bool visit_thread(const char *name, uint64_t ino, void *arg)
{
	struct children *c = arg;
	size_t len = strlen(name);
	char list[32];
	struct stat st;
	PTRC_FD(fd);

	(void)ino;
	if (name[0] == '.' || len > 12)
		return false;
	memcpy(list, name, len);
	memcpy(list + len, "/children", 10);
	if (ptrc_file_open(c->tasks, list, O_RDONLY, 0, &fd)) {
		/* Either the thread has ended, or this kernel keeps no lists of children. */
		list[len] = '\0';
		c->is_good = ptrc_file_stat_at(c->tasks, list, &st) != 0;
	} else {
		c->is_good = visit_list(fd, c->visit, c->arg, &c->is_more);
	}
	return !c->is_good || !c->is_more;
}

bool ptrc_procfs_children(int pid, bool (*visit)(int child, void *arg), void *arg)
{
	struct children c = {.visit = visit, .arg = arg, .is_good = true, .is_more = true};
	bool is_whole;

	if (ptrc_procfs_open(pid, "task", O_DIRECTORY, &c.tasks))
		return false;
	ptrc_file_visit(c.tasks, visit_thread, &c, &is_whole);
	ptrc_file_close(c.tasks);
	return is_whole && c.is_good;
}

/* Returns the lowest ID above walk->last; 0 if no process has one. */
static int find_above(struct ptrc_procfs_walk *walk)
{
	/* Room for the longest name of an entry. */
	_Alignas(8) char entries[280];
	int64_t offset = walk->offset;
	long got;

	if (ptrc_sys(SYS_lseek, walk->proc, offset, SEEK_SET) < 0)
		return 0;
	while ((got = ptrc_sys(SYS_getdents64, walk->proc, entries, sizeof(entries))) > 0)
		for (long at = 0; at < got;) {
			const char *name = entries + at + 19;
			int pid = (int)ptrc_digits_take(&name);
			uint16_t size;

			if (pid > walk->last) {
				walk->last = pid;
				walk->offset = offset;
				return pid;
			}
			/* The offset of the next entry. */
			memcpy(&offset, entries + at + 8, sizeof(offset));
			memcpy(&size, entries + at + 16, sizeof(size));
			at += size;
		}
	return 0;
}

int ptrc_procfs_next(struct ptrc_procfs_walk *walk)
{
	int pid = find_above(walk);

	if (!pid && !walk->has_turned) {
		walk->has_turned = true;
		walk->last = 0;
		walk->offset = 0;
		pid = find_above(walk);
	}
	return walk->has_turned && pid > walk->first ? 0 : pid;
}

static bool is_living(const char *name, uint64_t ino, void *arg)
{
	struct ptrc_procfs_stat st;
	int *tid = arg;

	(void)ino;
	*tid = (int)ptrc_digits_take(&name);
	return *tid && ptrc_procfs_stat(*tid, &st) == 0 && !st.has_ended;
}

/* Finds a running thread of a process whose first thread has ended. A thread that has ended has
 * no memory, so /proc/<pid> shows nothing of the process' memory, but /proc/<tid> of another
 * thread does. */
static bool living_thread(int pid, int *tid)
{
	struct ptrc_procfs_stat st;
	PTRC_FD(tasks);

	return ptrc_procfs_stat(pid, &st) == 0 && st.has_ended &&
	       ptrc_procfs_open(pid, "task", O_DIRECTORY, &tasks) == 0 &&
	       ptrc_file_visit(tasks, is_living, tid, NULL);
}

struct mapped_file {
	/* st_dev and st_ino of the file */
	uint64_t dev;
	uint64_t inode;
	bool is_found;
};

/* Whether the line of /proc/<pid>/maps describes a mapping of the file. It starts with
 * "<addresses> <rights> <offset> <major>:<minor> <inode>", with hexadecimal device and offset. */
static bool is_mapping_of(const char *line, void *context)
{
	struct mapped_file *file = context;
	uint64_t of_major, of_minor;

	if (!skip_fields(&line, 3))
		return false;
	of_major = ptrc_digits_take_hex(&line, NULL);
	if (*line++ != ':')
		return false;
	of_minor = ptrc_digits_take_hex(&line, NULL);
	file->is_found = *line++ == ' ' && of_major == (file->dev >> 8 & 0xfff) &&
			 of_minor == ((file->dev & 0xff) | (file->dev >> 12 & 0xfff00)) &&
			 ptrc_digits_take(&line) == file->inode;
	return file->is_found;
}

/* Looks for the file in the maps of a thread. False: the maps are empty or cannot be read. */
static bool reads_maps(int tid, struct mapped_file *file)
{
	char text[2048];

	return !ptrc_procfs_lines(tid, "maps", text, sizeof(text), is_mapping_of, file);
}

bool ptrc_procfs_maps_file(int pid, uint64_t dev, uint64_t inode)
{
	struct mapped_file file = {dev, inode, false};
	int tid;

	if (!reads_maps(pid, &file) && living_thread(pid, &tid))
		reads_maps(tid, &file);
	return file.is_found;
}

int ptrc_procfs_owner(int pid, uint32_t *uid)
{
	int tid;
	int error = user_of(pid, "environ", uid);

	if (!error && *uid == 0 && living_thread(pid, &tid))
		error = user_of(tid, "environ", uid);
	return error;
}

bool ptrc_procfs_has_ended(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	struct timespec none = {0, 0};

	return ptrc_sys(SYS_ppoll, &p, 1, &none, 0, 8) > 0;
}

int ptrc_procfs_exists(int pid)
{
	long fd, ret;
	bool has_ended;

	if (pid <= 0)
		return ESRCH;
	fd = ptrc_sys(SYS_pidfd_open, pid, 0);
	if (fd == -ENOSYS || fd == -EPERM) {
		/* An old kernel or a system call filter does not know pidfd_open(). kill() is less
		 * exact: it also succeeds for thread IDs and zombies. */
		ret = ptrc_sys(SYS_kill, pid, 0);
		return ret == 0 || ret == -EPERM ? 0 : ESRCH;
	}
	if (fd < 0)
		return ptrc_file_shortage((int)-fd, ESRCH);
	has_ended = ptrc_procfs_has_ended((int)fd);
	ptrc_file_close((int)fd);
	return has_ended ? ESRCH : 0;
}
