/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/untraced.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/atomic.h"
#include "lib/base/digits.h"
#include "lib/base/file.h"
#include "lib/base/procfs.h"
#include "lib/base/shared_version.h"
#include "lib/base/sys.h"
#include "lib/stream/stream.h"

/* The most descriptors that a process needs at a time to become traced. */
#define DESCRIPTORS_NEEDED 3

/* Bytes for the text of a link: an error number and pids, with blanks between them. */
#define TEXT_BYTES ((PTRC_UNTRACED_PIDS + 2) * 11)

/* The error number to leave in a message; 0: leave no message. Returns EMFILE if too few
 * descriptors are free, because a shortage of descriptors may show as another error. */
static int cause(int error)
{
	long fds[DESCRIPTORS_NEEDED], last = 0;
	int count = 0;

	while (count < DESCRIPTORS_NEEDED) {
		last = ptrc_sys(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0);
		if (last < 0)
			break;
		fds[count++] = last;
	}
	while (count > 0)
		ptrc_sys(SYS_close, fds[--count]);
	if (last == -EMFILE || last == -ENFILE)
		return EMFILE;
	if (error == ENOMEM || error == EPROTO || error == EXDEV)
		return error;
	return error == EAGAIN ? ENOMEM : 0;
}

static void put_name(char *at, uint64_t stream_id, int pid)
{
	ptrc_shmdir_name(at, 'u', stream_id);
	at += strlen(at);
	*at++ = '.';
	*ptrc_digits_put(at, (uint64_t)(uint32_t)pid) = '\0';
}

/* Whether a system call has failed because memory or the file system has no room. */
static bool is_short(long ret)
{
	return ret < 0 && ptrc_file_shortage((int)-ret, 0);
}

/* Makes the symbolic link that says that the calling process could not be traced. `path` is the
 * path of the directory; its buffer has room for the name of the link. False: the file system has
 * no room. */
static bool make(char *path, uint64_t stream_id, const char *text)
{
	char *end = path + strlen(path);

	*end = '/';
	put_name(end + 1, stream_id, ptrc_sys_getpid());
	/* Other errors are ignored: the link may exist already. */
	return !is_short(ptrc_sys(SYS_symlinkat, text, AT_FDCWD, path));
}

void ptrc_untraced_tell(uid_t uid, uint64_t stream_id, uint32_t refusal)
{
	char directory[PTRC_SHMDIR_PATH_BYTES + PTRC_SHMDIR_NAME_BYTES], text[24];
	int error = cause(ptrc_refusal_error(refusal));
	bool is_inherited;
	char *at;

	if (!error || ptrc_shmdir_path(uid, directory, &is_inherited))
		return;
	at = ptrc_digits_put(text, (uint64_t)error);
	if (error == EPROTO) {
		*at++ = ' ';
		at = ptrc_digits_put(at, ptrc_refusal_versions(refusal));
	}
	*at = '\0';
	make(directory, stream_id, text);
}

/* Whether a page (the shared object of a process) of this name exists. Needs no descriptor. */
static bool has_page(const char *directory, const char *name)
{
	char path[PTRC_SHMDIR_PATH_BYTES + 64];
	size_t length = strlen(directory), name_length = strlen(name);
	struct stat st;

	if (length + name_length + 2 > sizeof(path))
		return false;
	memcpy(path, directory, length);
	path[length] = '/';
	memcpy(path + length + 1, name, name_length + 1);
	return ptrc_file_stat_at(AT_FDCWD, path, &st) == 0;
}

bool ptrc_untraced_tell_unknown(uid_t uid, const char *page_name, int error, bool knows_own)
{
	char directory[PTRC_SHMDIR_PATH_BYTES + PTRC_SHMDIR_NAME_BYTES], text[TEXT_BYTES];
	int pid = ptrc_sys_getpid(), parent = (int)ptrc_sys(SYS_getppid, 0);
	struct ptrc_procfs_stat st;
	bool is_inherited;
	char *at;

	error = cause(error);
	if (!error || ptrc_shmdir_path(uid, directory, &is_inherited) ||
	    !(is_inherited || has_page(directory, page_name)))
		return true;
	at = ptrc_digits_put(text, (uint64_t)error);
	/* The list of ancestors ends with 0 if it is complete. If no descriptor is left to read
	 * /proc, the list ends earlier, without a 0. */
	for (uint32_t i = 0; i <= PTRC_UNTRACED_PIDS && pid >= 0; i++) {
		if (i || !knows_own) {
			*at++ = ' ';
			at = ptrc_digits_put(at, (uint64_t)(uint32_t)pid);
		}
		if (pid == 0)
			break;
		pid = parent;
		if (pid > 0)
			parent = ptrc_procfs_stat(pid, &st) ? -1 : st.ppid;
	}
	*at = '\0';
	return make(directory, 0, text);
}

bool ptrc_untraced_parse(const char *name, uint64_t *stream_id, int *pid)
{
	const char *at = name + 2;
	uint64_t number;

	if (name[0] != 'u' || name[1] != '.')
		return false;
	*stream_id = ptrc_digits_take_hex(&at, name + 18);
	if (at != name + 18 || *at++ != '.' || *at < '1' || *at > '9')
		return false;
	number = ptrc_digits_take(&at);
	if (*at || number > INT32_MAX)
		return false;
	*pid = (int)number;
	return true;
}

bool ptrc_untraced_read(int dirfd, const char *name, struct ptrc_untraced_word *word)
{
	char text[TEXT_BYTES + 1];
	const char *at = text;
	long n = ptrc_sys(SYS_readlinkat, dirfd, name, text, sizeof(text) - 1);
	uint64_t number;

	if (n <= 0 || n >= (long)sizeof(text) - 1)
		return false;
	text[n] = '\0';
	memset(word, 0, sizeof(*word));
	number = ptrc_digits_take(&at);
	if (number != EMFILE && number != ENOMEM && number != EPROTO && number != EXDEV &&
	    number != EPERM)
		return false;
	word->error = (int)number;
	if (number == EPROTO) {
		number = ptrc_digits_take(&at);
		word->versions = number <= UINT16_MAX ? (uint32_t)number : 0;
	}
	while (*at && word->pid_count < PTRC_UNTRACED_PIDS) {
		const char *from = at;

		number = ptrc_digits_take(&at);
		if (at == from || number > INT32_MAX)
			return false;
		if (number == 0) {
			word->has_all = true;
			break;
		}
		word->pids[word->pid_count++] = (int)number;
	}
	return true;
}

/* ---- marks in a stream ---- */

static void mark(struct ptrc_stream_header *h, int pid)
{
	uint32_t bit = (uint32_t)pid % PTRC_UNNOTED_PIDS;

	atomic_fetch_or_explicit(&h->unnoted[bit / 64], UINT64_C(1) << bit % 64,
				 memory_order_relaxed);
}

static bool is_marked(const struct ptrc_stream_header *h, int pid)
{
	uint32_t bit = (uint32_t)pid % PTRC_UNNOTED_PIDS;

	return ptrc_load_relaxed(&h->unnoted[bit / 64]) >> bit % 64 & 1;
}

void ptrc_untraced_mark(int dirfd, uid_t uid, uint64_t stream_id, int pid)
{
	struct ptrc_stream s;
	PTRC_FD(fd);

	if (ptrc_shmdir_open_id(dirfd, 's', stream_id, uid, &fd, NULL) ||
	    ptrc_stream_map(fd, PTRC_ROLE_CONTROLLER, &s))
		return;
	mark(s.header, pid);
	ptrc_stream_unmap(&s);
}

/* ---- the links of one stream ---- */

void ptrc_untraced_put(int dirfd, struct ptrc_stream_header *h, int pid, int error)
{
	char name[PTRC_SHMDIR_NAME_BYTES], text[12];

	put_name(name, h->id, pid);
	*ptrc_digits_put(text, (uint64_t)error) = '\0';
	if (is_short(ptrc_sys(SYS_symlinkat, text, dirfd, name)))
		mark(h, pid);
}

struct search {
	int dirfd;
	uint64_t stream_id;
	const struct ptrc_stream_header *header; /* NULL if found is NULL */
	struct ptrc_untraced *found;		 /* NULL: remove the links */
};

static void visit(const char *name, void *arg)
{
	struct search *s = arg;
	struct ptrc_untraced_word word;
	uint64_t stream_id;
	int pid;

	if (!ptrc_untraced_parse(name, &stream_id, &pid) || stream_id != s->stream_id)
		return;
	if (!s->found)
		ptrc_sys(SYS_unlinkat, s->dirfd, name, 0);
	else if (ptrc_untraced_read(s->dirfd, name, &word)) {
		/* A process that is marked, and had room for a link later, is counted already. */
		if (!is_marked(s->header, pid))
			s->found->processes++;
		s->found->error = word.error;
		s->found->versions = word.versions;
	}
}

void ptrc_untraced_count(int dirfd, const struct ptrc_stream_header *h,
			 struct ptrc_untraced *untraced)
{
	struct search s = {.dirfd = dirfd, .stream_id = h->id, .header = h, .found = untraced};

	*untraced = (struct ptrc_untraced){0};
	for (uint32_t i = 0; i < PTRC_UNNOTED_PIDS / 64; i++)
		for (uint64_t bits = ptrc_load_relaxed(&h->unnoted[i]); bits; bits &= bits - 1)
			untraced->processes++;
	if (untraced->processes)
		untraced->error = ENOMEM;
	ptrc_shmdir_for_each(dirfd, visit, &s);
}

void ptrc_untraced_forget(int dirfd, uint64_t stream_id)
{
	struct search s = {.dirfd = dirfd, .stream_id = stream_id};

	ptrc_shmdir_for_each(dirfd, visit, &s);
}
