/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/export/ctf_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/message.h"
#include "src/base/output.h"
#include "src/base/scope.h"
#include "src/export/ctf_metadata.h"

static const char metadata_name[] = "metadata";
static const char stream_prefix[] = "stream_";

enum { NAME_BYTES = 32, MODE = 0600, DIRECTORY_MODE = 0700, SIGNATURE_MAX = 128 };

/* Puts the name of a file. File 0 is the metadata; the others are the streams. */
static void put_name(char name[NAME_BYTES], size_t file)
{
	if (file)
		snprintf(name, NAME_BYTES, "%s%zu", stream_prefix, file - 1);
	else
		snprintf(name, NAME_BYTES, "%s", metadata_name);
}

static bool say(const struct ptrc_ctf_files *f, size_t file, int error)
{
	PTRC_SCOPED char *path = NULL;
	char name[NAME_BYTES];

	put_name(name, file);
	path = ptrc_cli_text("%s/%s", f->path, name);
	return ptrc_cli_error(path, error);
}

/* Removes all files that this process has made, and the directory if this process has made it. */
static void remove_all(const struct ptrc_ctf_files *f)
{
	char name[NAME_BYTES];

	for (size_t i = 0; i < f->count; i++) {
		put_name(name, i);
		unlinkat(f->dir, name, 0);
	}
	if (f->is_new)
		rmdir(f->path);
}

static void __attribute__((noreturn)) fail(const struct ptrc_ctf_files *f, size_t file, int error)
{
	say(f, file, error);
	remove_all(f);
	exit(ptrc_cli_failure_status());
}

/* ---- an existing directory ---- */

static bool is_stream(const char *name)
{
	const char *digits = name + sizeof(stream_prefix) - 1;

	return !strncmp(name, stream_prefix, sizeof(stream_prefix) - 1) && *digits &&
	       !digits[strspn(digits, "0123456789")];
}

static bool has_signature(int dir)
{
	PTRC_SCOPED_FD fd =
		openat(dir, metadata_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char bytes[SIGNATURE_MAX];
	bool answer = false;
	ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

	for (size_t i = 0; ptrc_ctf_versions[i]; i++) {
		const char *signature = ptrc_ctf_versions[i]->signature;
		size_t size = strlen(signature);

		answer |= n >= (ssize_t)size && !memcmp(bytes, signature, size);
	}
	return answer;
}

/* Opens the directory a second time, to list it. On failure, returns NULL and sets errno. */
static DIR *open_list(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !list)
		close(fd);
	return list;
}

/* Stores the number of the directory's entries in *count, and in *others the number of those that, by their
 * names, are not files of a CTF trace. Returns 0 or an error number. */
static int look(int dir, size_t *count, size_t *others)
{
	PTRC_SCOPED_DIR *list = open_list(dir);
	struct dirent *e;

	*count = *others = 0;
	if (!list)
		return errno;
	errno = 0;
	while ((e = readdir(list))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		++*count;
		*others += !is_stream(e->d_name) && strcmp(e->d_name, metadata_name) != 0;
	}
	return errno;
}

static int remove_trace(int dir)
{
	PTRC_SCOPED_DIR *list = open_list(dir);
	int error = list ? 0 : errno;
	struct dirent *e;

	/* The file with the signature is removed last, so that a half-removed trace is still recognized as
	 * one. */
	errno = 0;
	while (list && !error && (e = readdir(list)))
		if (is_stream(e->d_name) && unlinkat(dir, e->d_name, 0))
			error = errno;
	error = error ?: errno;
	return error || !unlinkat(dir, metadata_name, 0) ? error : errno;
}

/* Removes the trace from an existing directory. Returns false, after a message, if it must not or cannot do
 * so. */
static bool clear(int dir, const char *path, bool is_forced)
{
	size_t count, others;
	int error = look(dir, &count, &others);

	if (!error && !count)
		return true;
	if (!error && !is_forced)
		return ptrc_cli_message(
			path, "exists and is not empty; name another directory, or replace an "
			      "export to ctf with --force");
	if (!error && (others || !has_signature(dir)))
		return ptrc_cli_message(path,
					"exists and is not an export to ctf, or holds other files; "
					"name another directory");
	error = error ?: remove_trace(dir);
	return !error || ptrc_cli_error(path, error);
}

/* ---- begin and end ---- */

/* Makes a file. Returns its descriptor, or -1 after a message. */
static int make(const struct ptrc_ctf_files *f, size_t file)
{
	char name[NAME_BYTES];
	int fd;

	put_name(name, file);
	fd = openat(f->dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE);
	if (fd < 0)
		say(f, file, errno);
	return fd;
}

static bool make_all(struct ptrc_ctf_files *f, size_t streams, const char *signature)
{
	f->files = ptrc_cli_allocate((streams + 1) * sizeof(*f->files));
	for (; f->count <= streams; f->count++) {
		f->files[f->count] = make(f, f->count);
		if (f->files[f->count] < 0)
			return false;
	}
	return write(f->files[0], signature, strlen(signature)) >= 0 || say(f, 0, errno);
}

bool ptrc_ctf_files_open(struct ptrc_ctf_files *f, const char *path, bool is_forced, size_t streams,
			 const char *signature)
{
	*f = (struct ptrc_ctf_files){.path = path, .dir = -1};
	f->is_new = !mkdir(path, DIRECTORY_MODE);
	if (f->is_new || errno == EEXIST)
		f->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->dir < 0) {
		ptrc_cli_error(path, errno);
		if (f->is_new)
			rmdir(path);
		return false;
	}
	if (!f->is_new && !clear(f->dir, path, is_forced)) {
		close(f->dir);
		f->dir = -1;
		return false;
	}
	if (make_all(f, streams, signature))
		return true;
	ptrc_ctf_files_free(f);
	return false;
}

void ptrc_ctf_files_write(const struct ptrc_ctf_files *f, size_t stream, const void *bytes,
			  size_t size)
{
	int error = ptrc_write_all(f->files[stream + 1], bytes, size);

	if (error)
		fail(f, stream + 1, error);
}

void ptrc_ctf_files_write_at(const struct ptrc_ctf_files *f, size_t stream, uint64_t at,
			     const void *bytes, size_t size)
{
	ssize_t n = pwrite(f->files[stream + 1], bytes, size, (off_t)at);

	if (n != (ssize_t)size)
		fail(f, stream + 1, n < 0 ? errno : EIO);
}

void ptrc_ctf_files_read_at(const struct ptrc_ctf_files *f, size_t stream, uint64_t at, void *bytes,
			    size_t size)
{
	ssize_t n = pread(f->files[stream + 1], bytes, size, (off_t)at);

	if (n != (ssize_t)size)
		fail(f, stream + 1, n < 0 ? errno : EIO);
}

/* Closes a file. Checks the result, because network file systems report some errors only on close(). */
static void close_file(struct ptrc_ctf_files *f, size_t file)
{
	int closed = f->files[file];

	f->files[file] = -1;
	if (close(closed) && errno != EINTR)
		fail(f, file, errno);
}

void ptrc_ctf_files_finish(struct ptrc_ctf_files *f, const struct ptrc_buffer *metadata)
{
	int error;

	for (size_t i = 1; i < f->count; i++)
		close_file(f, i);
	if (lseek(f->files[0], 0, SEEK_SET))
		fail(f, 0, errno);
	error = ptrc_write_all(f->files[0], metadata->bytes, metadata->used);
	if (error)
		fail(f, 0, error);
	close_file(f, 0);
	f->is_whole = true;
}

void ptrc_ctf_files_free(struct ptrc_ctf_files *f)
{
	if (f->dir < 0)
		return;
	for (size_t i = 0; i < f->count; i++)
		if (f->files[i] >= 0)
			close(f->files[i]);
	if (!f->is_whole)
		remove_all(f);
	free(f->files);
	close(f->dir);
	f->dir = -1;
}
