/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/log/log_family.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/digits.h"
#include "lib/log/log_reader.h"

/* Numbers in the names of members. */
struct numbers {
	uint64_t *number;
	size_t count, size;
};

/* The members that were found, from the last to the first. */
struct members {
	int *fd;
	size_t count;
	uint64_t log;	  /* whose members; 0: not known yet */
	uint64_t ordinal; /* of the first one found */
};

static bool is_rotated(const struct ptrc_log_head *h)
{
	return h->rotate_bytes || h->rotate_ns;
}

static int open_file(int dirfd, const char *path, int *fd)
{
	*fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return *fd < 0 ? errno : 0;
}

static int by_number_down(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return a < b ? 1 : a > b ? -1 : 0;
}

static int add_number(struct numbers *n, uint64_t number)
{
	if (!PTRC_ARRAY_RESERVE(n->number, n->count, 1, &n->size))
		return ENOMEM;
	n->number[n->count++] = number;
	return 0;
}

/* How the keeper writes the number of a member. */
static void put_suffix(char suffix[32], uint64_t number)
{
	snprintf(suffix, 32, ".%06llu", (unsigned long long)number);
}

/* Finds the numbers of all files of the directory that are called as members of `name` are. */
static int scan(DIR *directory, const char *name, struct numbers *n)
{
	size_t bytes = strlen(name);
	struct dirent *entry;
	int error = 0;

	while (!error && (entry = readdir(directory))) {
		const char *digits = entry->d_name + bytes + 1;
		char suffix[32];
		uint64_t number;

		if (strncmp(entry->d_name, name, bytes) != 0 || entry->d_name[bytes] != '.')
			continue;
		number = ptrc_digits_take(&digits);
		put_suffix(suffix, number);
		if (number && !strcmp(entry->d_name + bytes, suffix))
			error = add_number(n, number);
	}
	if (n->count)
		qsort(n->number, n->count, sizeof(*n->number), by_number_down);
	return error;
}

/* Takes the file if it is a member, and comes before those that were taken. A member that a keeper
 * had begun when it was killed may have a later one of the same ordinal. */
static bool take(struct members *m, int fd, uint64_t number)
{
	struct ptrc_log_head head;

	if (ptrc_log_reader_head(fd, &head) || !is_rotated(&head) || head.member != number ||
	    head.stream_id != m->log || (m->count && head.ordinal >= m->ordinal))
		return false;
	m->ordinal = head.ordinal;
	m->fd[m->count++] = fd;
	return true;
}

static void reverse(struct members *m)
{
	for (size_t i = 0; i < m->count / 2; i++) {
		int fd = m->fd[i];

		m->fd[i] = m->fd[m->count - 1 - i];
		m->fd[m->count - 1 - i] = fd;
	}
}

static int open_member(DIR *directory, const char *name, uint64_t number, int *fd)
{
	char suffix[32], *path;
	int error;

	put_suffix(suffix, number);
	if (asprintf(&path, "%s%s", name, suffix) < 0)
		return ENOMEM;
	error = open_file(dirfd(directory), path, fd);
	free(path);
	return error;
}

/* Finds out which log was made last, of those whose first member is not there. Sets m->log, if there is
 * one. */
static void find_newest(DIR *directory, const char *name, const struct numbers *n,
			struct members *m)
{
	int64_t sec = 0, nsec = 0;

	for (size_t i = 0; i < n->count; i++) {
		struct ptrc_log_head head;
		int fd;

		if (open_member(directory, name, n->number[i], &fd))
			continue;
		if (!ptrc_log_reader_head(fd, &head) && is_rotated(&head) &&
		    head.member == n->number[i] &&
		    (!m->log || head.create_sec > sec ||
		     (head.create_sec == sec && head.create_nsec > nsec))) {
			m->log = head.stream_id;
			sec = head.create_sec;
			nsec = head.create_nsec;
		}
		close(fd);
	}
}

/* Adds the members of the log m->log that have a number. A clear makes the member that it leaves the
 * first one. */
static int take_numbered(DIR *directory, const char *name, const struct numbers *n,
			 struct members *m)
{
	for (size_t i = 0; i < n->count && !(m->count && m->ordinal == 0); i++) {
		int fd, error = open_member(directory, name, n->number[i], &fd);

		/* The keeper may just have deleted it. */
		if (error == ENOENT)
			continue;
		if (error)
			return error;
		if (!take(m, fd, n->number[i]))
			close(fd);
	}
	return 0;
}

/* Opens the members beside the first one, which is `first`, or -1 if it is not there. Takes over
 * `first`. ENOENT: there is none. */
static int open_members(const char *path, int first, uint64_t log, struct members *m)
{
	char *copy = strdup(path), *slash = copy ? strrchr(copy, '/') : NULL;
	const char *name = slash ? slash + 1 : copy, *where = slash == copy ? "/" : copy;
	struct numbers n = {0};
	DIR *directory = NULL;
	int error = copy ? 0 : ENOMEM;

	*m = (struct members){.log = log};
	if (slash)
		*slash = '\0';
	if (!error) {
		directory = opendir(slash ? where : ".");
		error = directory ? scan(directory, name, &n) : errno;
	}
	/* In a directory that may not be listed the first one stands alone. */
	if (error == EACCES && first >= 0)
		error = 0;
	if (!error) {
		m->fd = malloc((n.count + 1) * sizeof(*m->fd));
		error = m->fd ? 0 : ENOMEM;
	}
	if (!error && directory && !m->log)
		find_newest(directory, name, &n, m);
	if (!error && directory && m->log)
		error = take_numbered(directory, name, &n, m);
	if (!error && first >= 0 && take(m, first, 0))
		first = -1;
	if (directory)
		closedir(directory);
	if (first >= 0)
		close(first);
	free(n.number);
	free(copy);
	if (!error && !m->count)
		error = ENOENT;
	if (error)
		ptrc_log_family_close(m->fd, m->count);
	else
		reverse(m);
	return error;
}

int ptrc_log_family_open(const char *path, int **fds, size_t *count, bool *is_whole)
{
	struct ptrc_log_head head = {0};
	struct members m = {0};
	int fd, error = open_file(AT_FDCWD, path, &fd);

	if (error == ENOENT) {
		fd = -1;
		error = open_members(path, fd, 0, &m);
	} else if (!error) {
		error = ptrc_log_reader_head(fd, &head);
		if (error) {
			close(fd);
		} else if (is_rotated(&head) && head.member == 0) {
			error = open_members(path, fd, head.stream_id, &m);
		} else {
			m.fd = malloc(sizeof(*m.fd));
			error = m.fd ? 0 : ENOMEM;
			if (error)
				close(fd);
			else
				m.fd[m.count++] = fd;
		}
	}
	if (error)
		return error;
	*fds = m.fd;
	*count = m.count;
	*is_whole = m.log != 0;
	return 0;
}

void ptrc_log_family_close(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	free(fds);
}
