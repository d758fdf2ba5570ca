/* SPDX-License-Identifier: MIT */
#include "lib/log/log_write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/base/atomic.h"
#include "lib/base/digits.h"
#include "lib/base/file.h"
#include "lib/base/sys.h"
#include "lib/stream/clock.h"

/* The number in the name of a member (one file of a rotated log) has at least this many digits, so
 * that names sort by age for a million members. */
#define DIGITS 6U
/* When a name for a new file of the log is sought, at most this many existing names are skipped. */
#define TAKEN_MAX 100000U
/* One call of delete_old() looks for at most this many files, because a damaged state of the log may
 * have any number as that of the last file. */
#define OLD_MAX 100000U
/* The pause between a rotation that failed and the next attempt. */
#define PAUSE_NS INT64_C(10000000000)

/* ---- paths ---- */

/* Makes the path of file number `number` of a rotated log. False: the path is too long. */
static bool make_path(char path[PTRC_LOG_PATH_BYTES], const char *base, uint64_t number)
{
	size_t bytes = strlen(base), count;
	char digits[24];

	count = (size_t)(ptrc_digits_put(digits, number) - digits);
	if (bytes == 0 || bytes + 1 + DIGITS + count >= PTRC_LOG_PATH_BYTES)
		return false;
	memcpy(path, base, bytes + 1);
	if (number == 0)
		return true;
	path[bytes++] = '.';
	for (size_t i = count; i < DIGITS; i++)
		path[bytes++] = '0';
	memcpy(path + bytes, digits, count);
	path[bytes + count] = '\0';
	return true;
}

static bool is_file(const struct ptrc_log_place *place, const struct stat *st)
{
	return place->ino && st->st_ino == place->ino && st->st_dev == place->dev;
}

static bool is_rotated(const struct ptrc_stream_header *h)
{
	return h->has_log && ptrc_attr_rotates(&h->attr);
}

/* The number of the file that the saved state of the log describes; 0: the first file, or no state
 * is saved. */
static uint64_t member_of(const struct ptrc_stream_header *h)
{
	struct ptrc_log_state state;

	return ptrc_log_state_read(h, &state) ? state.member : 0;
}

/* Stores the device, inode and path of a file in `place`. st NULL: there is no file. The keeper may
 * be killed at any of these stores. So the inode is cleared first and stored last: while it is 0,
 * the rest is ignored. */
static void note(struct ptrc_log_place *place, const struct stat *st, const char *path,
		 const char *base)
{
	size_t bytes = strlen(base);

	ptrc_store_release((_Atomic uint64_t *)&place->ino, 0);
	place->dev = place->base_bytes = 0;
	place->path[0] = '\0';
	if (!st)
		return;
	memcpy(place->path, path, strlen(path) + 1);
	if (bytes && strncmp(path, base, bytes) == 0)
		place->base_bytes = bytes;
	place->dev = st->st_dev;
	ptrc_store_release((_Atomic uint64_t *)&place->ino, st->st_ino);
}

void ptrc_log_rotate_note(struct ptrc_log_place *place, int fd, const char *base)
{
	char path[PTRC_LOG_PATH_BYTES];
	struct stat st;
	bool is_file = ptrc_file_stat(fd, &st) == 0 && S_ISREG(st.st_mode);

	ptrc_file_path(fd, path, sizeof(path));
	note(place, is_file ? &st : NULL, path, base);
}

/* The first file of the log may have been deleted or moved, so the path that an earlier keeper
 * noted is used. But it is in memory that the stream's owner can write, so it is used only if the
 * keeper runs as that user. */
int ptrc_log_rotate_base(const struct ptrc_stream_header *h, int first_fd, bool is_noted,
			 char base[PTRC_LOG_PATH_BYTES])
{
	const struct ptrc_log_place *place = &h->log_place[ptrc_log_state_place(h)];
	uint64_t noted = *(const volatile uint64_t *)&place->base_bytes;
	struct stat st, there;

	if (is_noted && noted && noted < PTRC_LOG_PATH_BYTES &&
	    h->owner_uid == ptrc_sys_geteuid()) {
		memcpy(base, place->path, noted);
		base[noted] = '\0';
		return 0;
	}
	ptrc_file_path(first_fd, base, PTRC_LOG_PATH_BYTES);
	if (is_noted)
		ptrc_file_path_undelete(base);
	if (base[0] != '/')
		return EINVAL;
	if (!is_noted &&
	    (ptrc_file_stat(first_fd, &st) || ptrc_file_stat_at(AT_FDCWD, base, &there) ||
	     there.st_dev != st.st_dev || there.st_ino != st.st_ino || !S_ISREG(st.st_mode)))
		return EINVAL;
	return 0;
}

/* ---- existing members ---- */

/* Opens a member, one file of a rotated log. ENOENT: the path cannot be opened, for whatever
 * reason, or leads to another file. */
static int open_member(const struct ptrc_stream_header *h, const char *path, uint64_t number,
		       int flags, int *fd, struct ptrc_log_head *head)
{
	struct ptrc_log_begin begin;
	struct stat st;
	PTRC_FD(opened);

	if (ptrc_file_open(AT_FDCWD, path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0,
			   &opened) ||
	    ptrc_file_stat(opened, &st) || !S_ISREG(st.st_mode) ||
	    !ptrc_file_read_whole(opened, &begin, sizeof(begin), 0) || !ptrc_log_is_begin(&begin) ||
	    begin.packet.log_id != h->id || begin.head.member != number)
		return ENOENT;
	*head = begin.head;
	*fd = ptrc_file_keep(&opened);
	return 0;
}

/* Opens the file that the saved state of the log describes. ENOENT: it is no longer at its path. */
static int reopen(const struct ptrc_stream_header *h, const char *base, int *fd)
{
	uint64_t number = member_of(h);
	char path[PTRC_LOG_PATH_BYTES];
	struct ptrc_log_head head;
	struct stat st;
	PTRC_FD(opened);

	if (!make_path(path, base, number) ||
	    open_member(h, path, number, O_RDWR, &opened, &head) || ptrc_file_stat(opened, &st) ||
	    !is_file(&h->log_place[ptrc_log_state_place(h)], &st))
		return ENOENT;
	*fd = ptrc_file_keep(&opened);
	return 0;
}

/* Deletes the file of the log that a keeper had begun when it was killed. That file is the one in
 * the invalid element of header.log_place, if its number is larger than that of the current file.
 * It was made by a keeper, so it is deleted whatever it contains. */
static void tidy(const struct ptrc_stream_header *h, const char *base)
{
	const struct ptrc_log_place *place = &h->log_place[1 - ptrc_log_state_place(h)];
	char noted[PTRC_LOG_PATH_BYTES], path[PTRC_LOG_PATH_BYTES];
	size_t bytes = strlen(base);
	const char *digits = noted + bytes + 1;
	struct stat st;

	memcpy(noted, place->path, sizeof(noted));
	noted[sizeof(noted) - 1] = '\0';
	if (bytes == 0 || strncmp(noted, base, bytes) != 0 || noted[bytes] != '.')
		return;
	if (ptrc_digits_take(&digits) <= member_of(h) || *digits)
		return;
	digits = noted + bytes + 1;
	if (!make_path(path, base, ptrc_digits_take(&digits)) || strcmp(path, noted) != 0 ||
	    ptrc_file_stat_at(AT_FDCWD, path, &st) || !S_ISREG(st.st_mode) || !is_file(place, &st))
		return;
	ptrc_sys(SYS_unlinkat, AT_FDCWD, path, 0);
}

/* Deletes each file of this log that at least `keep` later files follow. The current file counts as
 * one of these, and is never deleted. */
static void delete_old(struct ptrc_log_writer *w, uint64_t keep)
{
	struct ptrc_log_state *s = &w->state;
	char path[PTRC_LOG_PATH_BYTES];

	for (uint32_t i = 0; i < OLD_MAX && s->oldest < s->member; i++, s->oldest++) {
		struct ptrc_log_head head;
		PTRC_FD(fd);

		if (!make_path(path, w->base, s->oldest) ||
		    open_member(w->header, path, s->oldest, O_RDONLY, &fd, &head))
			continue;
		if (s->past.ordinal - head.ordinal < keep)
			break;
		ptrc_sys(SYS_unlinkat, AT_FDCWD, path, 0);
	}
}

void ptrc_log_rotate_clear(struct ptrc_log_writer *w)
{
	struct ptrc_log_state *s = &w->state;

	if (!is_rotated(w->header))
		return;
	delete_old(w, 0);
	s->past = (struct ptrc_log_past){0};
}

/* ---- the next member ---- */

/* Creates a file without a name in the directory of the path. */
static int open_nameless(const char *path, int flags, int *fd)
{
	char directory[PTRC_LOG_PATH_BYTES];
	size_t bytes = strlen(path);

	memcpy(directory, path, bytes + 1);
	while (bytes > 1 && directory[bytes - 1] != '/')
		bytes--;
	directory[bytes] = '\0';
	return ptrc_file_open(AT_FDCWD, directory, O_TMPFILE | flags, 0600, fd);
}

/*
 * Creates the next file of the log, locks it, and stores its device, inode and path in the invalid
 * element of header.log_place. At first *number is the number of the current file; it becomes that
 * of the new one, the next larger number whose name is free, or of the one that cannot be made.
 * `like` is a descriptor of an older file, whose mode the new file gets; -1: only the user may read
 * the new file. Errors of open().
 *
 * The element is stored before the file gets its name, so if this keeper is killed, the next one
 * can recognize and delete the file. On a file system without nameless files, a killed keeper may
 * leave an empty file.
 */
static int make_member(struct ptrc_stream_header *h, const char *base, int like, uint64_t *number,
		       int *fd)
{
	struct ptrc_log_place *place = &h->log_place[1 - ptrc_log_state_place(h)];
	char path[PTRC_LOG_PATH_BYTES];
	struct stat st;
	long flags = ptrc_sys(SYS_fcntl, like, F_GETFL);
	int keep = O_RDWR | O_NOCTTY | (flags < 0 ? 0 : (int)flags & O_SYNC);
	bool is_nameless = open_nameless(base, keep, fd) == 0;
	int error = EEXIST;

	for (unsigned int i = 0; i < TAKEN_MAX && error == EEXIST; i++) {
		if (!make_path(path, base, ++*number)) {
			error = ENAMETOOLONG;
		} else if (is_nameless) {
			note(place, ptrc_file_stat(*fd, &st) ? NULL : &st, path, base);
			error = ptrc_file_give_name(*fd, path);
		} else {
			error = ptrc_file_open(AT_FDCWD, path, O_CREAT | O_EXCL | keep, 0600, fd);
			if (!error)
				note(place, ptrc_file_stat(*fd, &st) ? NULL : &st, path, base);
		}
	}
	if (error) {
		note(place, NULL, "", "");
		if (is_nameless)
			ptrc_file_close(*fd);
		return error;
	}
	if (ptrc_file_stat(like, &st) == 0)
		ptrc_sys(SYS_fchmod, *fd, st.st_mode & 0777);
	ptrc_log_lock(*fd, PTRC_LOG_LOCK_KEEPER);
	return 0;
}

int ptrc_log_rotate_find(struct ptrc_stream_header *h, bool is_new, bool is_last, int *log_fd,
			 char *base, uint64_t *number)
{
	int fd, error;

	*number = 0;
	base[0] = '\0';
	if (!is_rotated(h))
		return 0;
	error = ptrc_log_rotate_base(h, *log_fd, !is_new, base);
	if (is_new || error)
		return error;
	tidy(h, base);
	if (is_last) {
		base[0] = '\0';
		return 0;
	}
	if (reopen(h, base, &fd)) {
		*number = member_of(h);
		error = make_member(h, base, *log_fd, number, &fd);
	}
	if (error)
		return error;
	ptrc_file_close(*log_fd);
	*log_fd = fd;
	return 0;
}

int ptrc_log_rotate_begin(struct ptrc_log_writer *w, uint64_t number)
{
	const struct ptrc_stream_header *h = w->header;
	struct ptrc_log_state old = w->state, *s = &w->state;
	uint32_t place = w->place;
	int error;

	w->place = 1 - place;
	s->member = number;
	s->past.ordinal++;
	s->past.first_seq = s->seq;
	s->past.events += s->events;
	s->past.bytes += s->bytes;
	s->past.before.log_lost_events += s->lost_events;
	s->past.before.lost_events = ptrc_load_relaxed(&h->lost_events);
	s->past.before.unobserved_events =
		(uint32_t)ptrc_log_at_most(ptrc_load_relaxed(&h->unobserved_events), UINT32_MAX);
	s->past.before.waits = ptrc_load_relaxed(&h->waits);
	s->past.before.wait_ns = ptrc_load_relaxed(&h->wait_ns);
	error = ptrc_log_writer_head(w);
	if (error) {
		w->state = old;
		w->place = place;
		return error;
	}
	if (w->keep)
		delete_old(w, w->keep);
	return 0;
}

bool ptrc_log_rotate_is_due(const struct ptrc_log_writer *w, int64_t *wait_ns)
{
	int64_t now, left;

	if (!w->base[0] || !w->state.events || w->has_given_up)
		return false;
	now = ptrc_clock_ns(CLOCK_BOOTTIME);
	left = w->rotate_after_ns - now;
	if (left <= 0) {
		if (w->rotate_bytes && w->state.offset >= w->rotate_bytes)
			return true;
		if (!w->rotate_ns)
			return false;
		left = (int64_t)w->rotate_ns - (now - w->state.begun_ns);
		if (left <= 0)
			return true;
	}
	if (*wait_ns < 0 || *wait_ns > left)
		*wait_ns = left;
	return false;
}

/* Ends the current file of a rotated log and starts the next one, `fd`. */
static int change_over(struct ptrc_log_writer *w, int fd, uint64_t number)
{
	struct ptrc_log_index index;
	int old_fd = w->fd, error = ptrc_log_writer_end(w);
	index = w->index;
	if (!error) {
		memset(&w->index, 0, sizeof(w->index));
		w->fd = fd;
		error = ptrc_log_rotate_begin(w, number);
	}
	if (!error) {
		ptrc_log_index_free(&index);
		ptrc_file_close(old_fd);
		return 0;
	}
	/* The change failed: the old file stays in use, so its STATUS and END are removed. */
	if (w->fd == fd)
		ptrc_log_index_free(&w->index);
	w->index = index;
	w->fd = old_fd;
	w->file_end = w->state.offset;
	w->has_last = false;
	w->close_reserve = PTRC_LOG_CLOSE_BYTES;
	ptrc_sys(SYS_ftruncate, w->fd, w->state.offset);
	return error;
}

void ptrc_log_rotate(struct ptrc_log_writer *w)
{
	struct ptrc_stream_header *h = w->header;
	uint64_t number = w->state.member;
	char path[PTRC_LOG_PATH_BYTES];
	int fd, error;

	error = make_member(h, w->base, w->fd, &number, &fd);
	if (!error) {
		error = change_over(w, fd, number);
		if (error) {
			if (make_path(path, w->base, number))
				ptrc_sys(SYS_unlinkat, AT_FDCWD, path, 0);
			note(&h->log_place[1 - w->place], NULL, "", "");
			ptrc_file_close(fd);
		}
	}
	if (error)
		w->rotate_after_ns = ptrc_clock_ns(CLOCK_BOOTTIME) + PAUSE_NS;
	ptrc_store_relaxed(&h->rotation_file, number);
	ptrc_store_relaxed(&h->rotation_error, (uint64_t)error);
}
