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
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/digits.h"
#include "lib/base/file.h"
#include "lib/log/log_reader.h"

struct members {
	/* The numbers in the names of the files that may belong to the log, in ascending order. */
	uint64_t *number;
	size_t number_count, number_size;
	/* Descriptors of the log's files, first to last: elements `first` to `end` - 1. */
	int *fd;
	size_t first, end;
	uint64_t log;	  /* stream_id of the log; 0: not known yet */
	uint64_t ordinal; /* how many files of the log precede fd[first] */
};

static int open_file(int dirfd, const char *path, int *fd)
{
	return ptrc_file_open(dirfd, path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0, fd);
}

static bool is_rotated(const struct ptrc_log_head *h)
{
	return h->rotate_bytes || h->rotate_ns;
}

/* Checks that the file is the member (file of a rotated log) with this number. EINVAL: it is not.
 * EPROTO: unknown, because this library does not know its version. */
static int check_member(int fd, uint64_t number, struct ptrc_log_head *head)
{
	int error = ptrc_log_reader_head(fd, head);

	if (error)
		return error;
	return is_rotated(head) && head->member == number ? 0 : EINVAL;
}

static int by_number(const void *x, const void *y)
{
	return PTRC_ORDER(*(const uint64_t *)x, *(const uint64_t *)y);
}

static void put_suffix(char suffix[32], uint64_t number)
{
	snprintf(suffix, 32, ".%06llu", (unsigned long long)number);
}

/* Finds the numbers of all files in the directory whose names look like those of the files of the
 * rotated log `name`. */
static int scan(DIR *directory, const char *name, struct members *m)
{
	size_t bytes = strlen(name);
	struct dirent *entry;

	while ((entry = readdir(directory))) {
		const char *digits = entry->d_name + bytes + 1;
		char suffix[32];
		uint64_t number;

		if (strncmp(entry->d_name, name, bytes) != 0 || entry->d_name[bytes] != '.')
			continue;
		number = ptrc_digits_take(&digits);
		put_suffix(suffix, number);
		if (!number || strcmp(entry->d_name + bytes, suffix) != 0)
			continue;
		if (!PTRC_ARRAY_RESERVE(m->number, m->number_count, 1, &m->number_size))
			return ENOMEM;
		m->number[m->number_count++] = number;
	}
	if (m->number_count)
		qsort(m->number, m->number_count, sizeof(*m->number), by_number);
	return 0;
}

/* Adds the file to m->fd if it is a member (one file) of the rotated log m->log, and precedes all
 * members taken so far; otherwise closes it. If a keeper was killed when it had just begun a
 * member, that member may have the same ordinal as a later one; then only the later one is taken.
 * EPROTO. */
static int take(struct members *m, int fd, uint64_t number)
{
	struct ptrc_log_head head;
	int error = check_member(fd, number, &head);

	if (!error && head.stream_id == m->log &&
	    (m->first == m->end || head.ordinal < m->ordinal)) {
		m->ordinal = head.ordinal;
		m->fd[--m->first] = fd;
	} else {
		close(fd);
	}
	return error == EPROTO ? EPROTO : 0;
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

/* Called if the first file of a rotated log does not exist. Files of several logs may have this
 * name and a number: sets m->log to the log that was created last, if there is any. EPROTO. */
static int find_newest(DIR *directory, const char *name, struct members *m)
{
	int64_t sec = 0, nsec = 0;

	for (size_t i = m->number_count; i-- > 0;) {
		struct ptrc_log_head head;
		PTRC_FD(fd);
		int error;

		if (open_member(directory, name, m->number[i], &fd))
			continue;
		error = check_member(fd, m->number[i], &head);
		if (!error && (!m->log || (PTRC_ORDER(head.create_sec, sec)
						   ?: PTRC_ORDER(head.create_nsec, nsec)) > 0)) {
			m->log = head.stream_id;
			sec = head.create_sec;
			nsec = head.create_nsec;
		}
		if (error == EPROTO)
			return EPROTO;
	}
	return 0;
}

/* Takes the files of the log m->log whose names have a number. Ends at the log's first file
 * (ordinal 0). Its name has a number if the log was cleared: the file that was then being written
 * became the first. */
static int take_numbered(DIR *directory, const char *name, struct members *m)
{
	for (size_t i = m->number_count; i-- > 0 && !(m->first < m->end && m->ordinal == 0);) {
		int fd, error = open_member(directory, name, m->number[i], &fd);

		/* The keeper may just have deleted this file. */
		if (error == ENOENT)
			continue;
		if (!error)
			error = take(m, fd, m->number[i]);
		if (error)
			return error;
	}
	return 0;
}

/* Opens the directory of the path. *name becomes the last part of the path. */
static int open_directory(const char *path, DIR **directory, const char **name)
{
	const char *slash = strrchr(path, '/');
	char *where =
		slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	int error;

	*name = slash ? slash + 1 : path;
	*directory = where ? opendir(where) : NULL;
	error = *directory ? 0 : where ? errno : ENOMEM;
	free(where);
	return error;
}

/* Takes the files of the rotated log at `path` that have a number in their names, from the
 * directory of the path. has_first: the caller has opened the first file. */
static int search(const char *path, bool has_first, struct members *m)
{
	DIR *directory;
	const char *name;
	int error = open_directory(path, &directory, &name) ?: scan(directory, name, m);

	/* If the directory may not be listed, only the first file is found. */
	if (error == EACCES && has_first)
		error = 0;
	m->first = m->end = m->number_count + 1;
	m->fd = error ? NULL : malloc(m->end * sizeof(*m->fd));
	if (!error && !m->fd)
		error = ENOMEM;
	if (!error && directory && !m->log)
		error = find_newest(directory, name, m);
	if (!error && directory && m->log)
		error = take_numbered(directory, name, m);
	if (directory)
		closedir(directory);
	free(m->number);
	return error;
}

int ptrc_log_family_open(const char *path, int **fds, size_t *count, bool *is_whole)
{
	struct members m = {.log = 0};
	struct ptrc_log_head head;
	PTRC_FD(first);
	int error = open_file(AT_FDCWD, path, &first);
	bool is_family = error == ENOENT, is_rest = false;

	if (!error) {
		error = ptrc_log_reader_head(first, &head);
		is_rest = !error && head.member == 0 && head.ordinal;
		is_family = !error && is_rotated(&head) && head.member == 0;
		m.log = is_family ? head.stream_id : 0;
	}
	if (is_family) {
		error = search(path, first >= 0, &m);
		if (!error && first >= 0)
			error = take(&m, ptrc_file_keep(&first), 0);
		if (!error && m.first == m.end)
			error = ENOENT;
	} else if (!error) {
		m.fd = malloc(sizeof(*m.fd));
		error = m.fd ? 0 : ENOMEM;
		if (!error)
			m.fd[m.end++] = ptrc_file_keep(&first);
	}
	*count = m.end - m.first;
	if (m.fd)
		memmove(m.fd, m.fd + m.first, *count * sizeof(*m.fd));
	if (error)
		ptrc_log_family_close(m.fd, *count);
	*fds = m.fd;
	*is_whole = m.log != 0 || is_rest;
	return error;
}

bool ptrc_log_family_goes_on(const char *path, uint64_t log, uint64_t number)
{
	struct members m = {.log = log};
	DIR *directory;
	const char *name;
	bool goes_on = false;

	if (open_directory(path, &directory, &name))
		return false;
	if (scan(directory, name, &m))
		m.number_count = 0;
	for (size_t i = m.number_count; i-- > 0 && m.number[i] > number && !goes_on;) {
		struct ptrc_log_head head;
		struct stat st;
		PTRC_FD(fd);

		if (open_member(directory, name, m.number[i], &fd))
			continue;
		/* A file that has just been begun has no head yet. */
		goes_on = (fstat(fd, &st) == 0 && st.st_size == 0) ||
			  (!check_member(fd, m.number[i], &head) && head.stream_id == log);
	}
	closedir(directory);
	free(m.number);
	return goes_on;
}

void ptrc_log_family_close(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	free(fds);
}
