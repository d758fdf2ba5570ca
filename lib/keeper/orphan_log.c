/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/keeper/orphan_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/base/atomic.h"
#include "lib/base/digits.h"
#include "lib/base/file.h"
#include "lib/base/sys.h"
#include "lib/log/log_reader.h"
#include "lib/log/log_write.h"

/* Bounds of the search, each some 50 ms: entries of the log's directory, and descriptors of
 * processes. */
#define ENTRIES_MAX 100000U
#define DESCRIPTORS_MAX 20000U
/* New logs of one name. */
#define NAMES_MAX 1000U

#define PATH_BYTES sizeof(((struct ptrc_log_place *)0)->path)
#define SUFFIX ".salvaged"

/* ---- the own log ---- */

struct search {
	const struct ptrc_stream_header *h;
	uint32_t uid;
	struct ptrc_log_place place; /* a copy, as others can write the header */
	int at;			     /* the directory that is searched */
	unsigned int budget;	     /* how many more entries are looked at */
	int fd;			     /* of the log; -1: it was not found */
};

/* Opens the file if it is the log. Looks at it before it opens it: opening a FIFO or a device may
 * do something. */
static int open_log(struct search *s, int at, const char *path, int flags)
{
	struct ptrc_log_head head;
	struct stat st;
	int probe, error = ptrc_file_open(at, path, O_PATH | flags, 0, &probe);

	if (error)
		return error;
	/* A log without a name would be gone with the last descriptor. */
	if (ptrc_file_stat(probe, &st) || !S_ISREG(st.st_mode) || st.st_dev != s->place.dev ||
	    st.st_ino != s->place.ino || st.st_uid != s->uid || st.st_nlink == 0) {
		ptrc_file_close(probe);
		return ENOENT;
	}
	error = ptrc_file_reopen(probe, O_RDWR | O_NOCTTY, &s->fd);
	ptrc_file_close(probe);
	if (error)
		return error;
	error = ptrc_log_reader_head(s->fd, &head);
	if (!error && head.stream_id != s->h->id)
		error = ENOENT;
	if (error) {
		ptrc_file_close(s->fd);
		s->fd = -1;
	}
	return error;
}

static bool visit_name(const char *name, uint64_t ino, void *arg)
{
	struct search *s = arg;

	if (s->budget-- == 0)
		return true;
	return ino == s->place.ino && open_log(s, s->at, name, O_NOFOLLOW) == 0;
}

/* Is it the inode, as far as can be told without asking a server that may not answer? */
static bool is_inode(const struct search *s, int at, const char *name)
{
	struct statx x;

	return ptrc_sys(SYS_statx, at, name, AT_STATX_DONT_SYNC, STATX_INO | STATX_TYPE, &x) == 0 &&
	       S_ISREG(x.stx_mode) && x.stx_ino == s->place.ino &&
	       makedev(x.stx_dev_major, x.stx_dev_minor) == s->place.dev;
}

static bool visit_descriptor(const char *name, uint64_t ino, void *arg)
{
	struct search *s = arg;

	(void)ino;
	if (s->budget-- == 0)
		return true;
	return name[0] != '.' && is_inode(s, s->at, name) && open_log(s, s->at, name, 0) == 0;
}

/* Looks at the entries of a directory. Returns whether the log was found. */
static bool search(struct search *s, const char *path,
		   bool (*visit)(const char *name, uint64_t ino, void *arg))
{
	int outer = s->at;

	if (ptrc_file_open(outer, path, O_RDONLY | O_DIRECTORY, 0, &s->at) == 0) {
		ptrc_file_visit(s->at, visit, s, NULL);
		ptrc_file_close(s->at);
	}
	s->at = outer;
	return s->fd >= 0;
}

static bool visit_process(const char *name, uint64_t ino, void *arg)
{
	struct search *s = arg;
	char path[32];

	(void)ino;
	if (name[0] < '1' || name[0] > '9' || strlen(name) > 20)
		return false;
	memcpy(path, name, strlen(name));
	memcpy(path + strlen(name), "/fd", 4);
	return search(s, path, visit_descriptor) || s->budget == UINT_MAX;
}

/* A copy of the place that counts. */
static void copy_place(const struct ptrc_stream_header *h, struct ptrc_log_place *place)
{
	memcpy(place, &h->log_place[ptrc_log_state_place(h)], sizeof(*place));
	place->path[PATH_BYTES - 1] = '\0';
}

int ptrc_orphan_log_find(const struct ptrc_stream_header *h, uint32_t uid,
			 const struct ptrc_keeper_orders *orders, struct ptrc_orphan_log *log)
{
	struct search s = {.h = h, .uid = uid, .at = AT_FDCWD, .budget = ENTRIES_MAX, .fd = -1};
	char *slash;
	int error;

	copy_place(h, &s.place);
	slash = strrchr(s.place.path, '/');
	if (!ptrc_log_state_is_saved(h) || !s.place.ino || s.place.path[0] != '/' || !slash ||
	    (s.place.dev == orders->taken_dev && s.place.ino == orders->taken_ino))
		return ENOENT;
	error = open_log(&s, AT_FDCWD, s.place.path, O_NOFOLLOW);
	/* Anything but these two says that the log is there. */
	if (error == ENOENT || error == ENOTDIR) {
		slash[slash == s.place.path] = '\0';
		if (search(&s, s.place.path, visit_name))
			error = 0;
		s.budget = DESCRIPTORS_MAX;
		if (error && orders->searches && search(&s, "/proc", visit_process))
			error = 0;
	}
	*log = (struct ptrc_orphan_log){.fd = s.fd, .dirfd = -1};
	return error;
}

/* ---- a new log ---- */

/* The path of a new log, without a number. False: none is known. */
static bool choose_path(const struct ptrc_stream_header *h, const struct ptrc_keeper_orders *orders,
			struct ptrc_log_place *place)
{
	size_t size;
	char *end;

	if (orders->path) {
		size = strlen(orders->path);
		if (size == 0 || size >= PATH_BYTES)
			return false;
		memcpy(place->path, orders->path, size + 1);
		return true;
	}
	copy_place(h, place);
	ptrc_file_path_undelete(place->path);
	end = place->path + strlen(place->path);
	if (place->path[0] != '/' || (size_t)(end - place->path) + sizeof(SUFFIX) > PATH_BYTES)
		return false;
	memcpy(end, SUFFIX, sizeof(SUFFIX));
	return true;
}

int ptrc_orphan_log_make(const struct ptrc_stream_header *h, uint32_t uid,
			 const struct ptrc_keeper_orders *orders, struct ptrc_orphan_log *log)
{
	const char *directory = ".", *name;
	struct ptrc_log_place place;
	size_t size;
	char *slash;
	int error;

	if (uid != (uint32_t)ptrc_sys(SYS_geteuid, 0))
		return EPERM;
	if (!choose_path(h, orders, &place))
		return ENOENT;
	name = place.path;
	slash = strrchr(place.path, '/');
	if (slash) {
		name = slash + 1;
		*slash = '\0';
		directory = slash == place.path ? "/" : place.path;
	}
	size = strlen(name);
	if (size == 0)
		return EISDIR;
	if (size + 6 > sizeof(log->name))
		return ENAMETOOLONG;
	error = ptrc_file_open(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY, 0, &log->dirfd);
	if (error)
		return error;
	memcpy(log->name, name, size + 1);
	for (unsigned int n = 2;; n++) {
		error = ptrc_file_open(log->dirfd, log->name, O_RDWR | O_CREAT | O_EXCL | O_NOCTTY,
				       0600, &log->fd);
		if (error != EEXIST || n > NAMES_MAX)
			break;
		log->name[size] = '.';
		*ptrc_digits_put(log->name + size + 1, n) = '\0';
	}
	if (error)
		ptrc_file_close(log->dirfd);
	return error;
}

void ptrc_orphan_log_close(const struct ptrc_stream_header *h, struct ptrc_orphan_log *log,
			   bool is_kept)
{
	struct stat st, there;

	if (!is_kept && log->dirfd >= 0 && ptrc_load_acquire(&h->is_log_new) &&
	    ptrc_file_stat(log->fd, &st) == 0 &&
	    ptrc_file_stat_at(log->dirfd, log->name, &there) == 0 && there.st_dev == st.st_dev &&
	    there.st_ino == st.st_ino)
		ptrc_sys(SYS_unlinkat, log->dirfd, log->name, 0);
	if (log->dirfd >= 0)
		ptrc_file_close(log->dirfd);
	ptrc_file_close(log->fd);
}
