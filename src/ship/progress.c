/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/ship/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/buffer.h"
#include "src/base/message.h"
#include "src/base/output.h"
#include "src/base/same_file.h"
#include "src/base/scope.h"

static const char head[] = "posixtrace-ship 1\n";
/* A progress file with more bytes is not valid. */
enum { FILE_MAX_BYTES = 16384 };

/* Parses "KEY VALUE\n" at *at, and moves *at to the next line. Ends the value with a null byte and returns it.
 * Returns NULL if the text at *at is different. */
static char *value_of(char **at, const char *key)
{
	size_t size = strlen(key);
	char *value, *end;

	if (strncmp(*at, key, size) || (*at)[size] != ' ')
		return NULL;
	value = *at + size + 1;
	end = strchr(value, '\n');
	if (!end)
		return NULL;
	*end = '\0';
	*at = end + 1;
	return value;
}

static bool read_numbers(char **at, const char *key, uint64_t *numbers, size_t count, int base)
{
	char *value = value_of(at, key);

	for (size_t i = 0; i < count && value; i++) {
		char *end;

		errno = 0;
		numbers[i] = strtoull(value, &end, base);
		if (errno || end == value || *end != (i + 1 < count ? ' ' : '\0') ||
		    strchr("+- ", *value))
			return false;
		value = end + 1;
	}
	return value;
}

/* Parses the text of a progress file, in which times are written as unsigned numbers. */
static bool take(struct ptrc_ship_progress *p, char *text)
{
	uint64_t place[3], batch[3], damaged, complete, loss = 0;
	bool is_in_loss;
	char *at = text + strlen(head), *server, *database;

	if (strncmp(text, head, strlen(head)))
		return false;
	if (!read_numbers(&at, "log", &p->log_id, 1, 16) ||
	    !read_numbers(&at, "nonce", &p->nonce, 1, 16))
		return false;
	server = value_of(&at, "server");
	database = server ? value_of(&at, "database") : NULL;
	if (!database || !read_numbers(&at, "place", place, 3, 10))
		return false;
	is_in_loss = !strncmp(at, "loss ", 5);
	if ((is_in_loss && !read_numbers(&at, "loss", &loss, 1, 10)) ||
	    !read_numbers(&at, "batch", batch, 3, 10) ||
	    !read_numbers(&at, "told", &p->told, 1, 10) ||
	    !read_numbers(&at, "doubtful", &p->doubtful, 1, 10) ||
	    !read_numbers(&at, "damaged", &damaged, 1, 10) ||
	    !read_numbers(&at, "complete", &complete, 1, 10) || *at || damaged > 1 || complete > 1)
		return false;
	/* Refuses a batch whose row numbers would overflow. */
	if (batch[0] > UINT64_MAX - place[2])
		return false;
	p->place =
		(struct ptrc_ship_place){place[0], place[1], place[2], is_in_loss, (int64_t)loss};
	p->batch = (struct ptrc_ship_batch){batch[0], (int64_t)batch[1], (int64_t)batch[2]};
	p->server = ptrc_cli_copy(server);
	p->database = ptrc_cli_copy(database);
	p->is_damaged = damaged;
	p->is_complete = complete;
	return true;
}

static void put(struct ptrc_buffer *b, const struct ptrc_ship_progress *p)
{
	ptrc_buffer_format(b, "%slog %016" PRIx64 "\nnonce %016" PRIx64 "\n", head, p->log_id,
			   p->nonce);
	ptrc_buffer_format(b, "server %s\ndatabase %s\n", p->server, p->database);
	ptrc_buffer_format(b, "place %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", p->place.part,
			   p->place.events, p->place.rows);
	if (p->place.is_in_loss)
		ptrc_buffer_format(b, "loss %" PRIu64 "\n", (uint64_t)p->place.loss_ns);
	ptrc_buffer_format(b, "batch %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", p->batch.count,
			   (uint64_t)p->batch.first_ns, (uint64_t)p->batch.last_ns);
	ptrc_buffer_format(b, "told %" PRIu64 "\ndoubtful %" PRIu64 "\n", p->told, p->doubtful);
	ptrc_buffer_format(b, "damaged %d\ncomplete %d\n", p->is_damaged, p->is_complete);
}

/*
 * Opens and locks the file at the path. The process that holds the lock may replace the file at any time, by
 * another file that it has locked before. So the lock is valid only if the path still leads to the file that
 * was locked.
 */
static int open_locked(const char *path)
{
	for (;;) {
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		struct stat mine, there;

		if (fd < 0)
			return -1;
		if (flock(fd, LOCK_EX | LOCK_NB) || fstat(fd, &mine)) {
			int error = errno;

			close(fd);
			errno = error;
			return -1;
		}
		if (!stat(path, &there) && ptrc_is_same_file(&mine, &there))
			return fd;
		close(fd);
	}
}

bool ptrc_ship_progress_open(struct ptrc_ship_progress *p, const char *path)
{
	char text[FILE_MAX_BYTES + 1];
	ssize_t size;

	*p = (struct ptrc_ship_progress){.path = ptrc_cli_copy(path), .fd = open_locked(path)};
	if (p->fd < 0) {
		if (errno == EWOULDBLOCK)
			ptrc_cli_message(path, "another ptrace-ship is at work on this log");
		else if (errno == EACCES || errno == EROFS)
			ptrc_cli_message(path, "%s; --state-directory keeps such files elsewhere",
					 strerror(errno));
		else
			ptrc_cli_error(path, errno);
		return false;
	}
	size = pread(p->fd, text, sizeof(text), 0);
	if (size < 0)
		return ptrc_cli_error(path, errno);
	/* The file is new, or the process that created it was killed before it wrote anything. */
	if (!size) {
		p->is_empty = true;
		if (getrandom(&p->nonce, sizeof(p->nonce), 0) != sizeof(p->nonce))
			p->nonce = (uint64_t)getpid();
		return true;
	}
	text[size < FILE_MAX_BYTES ? size : FILE_MAX_BYTES] = '\0';
	if ((size_t)size != strlen(text) || !take(p, text))
		return ptrc_cli_message(
			path, "is not a progress file of ptrace-ship; if it is removed, the log "
			      "is compared with the rows that the server has");
	return true;
}

/* Waits until a new name in the directory of the path is on the disk. */
static int sync_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	/* The slash is included, so that the directory of "/x" is "/". */
	PTRC_SCOPED char *directory =
		ptrc_cli_text("%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	PTRC_SCOPED_FD fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* Some file systems cannot sync a directory (EINVAL). They do not need it. */
	return fd < 0 || (fsync(fd) && errno != EINVAL) ? errno : 0;
}

bool ptrc_ship_progress_write(struct ptrc_ship_progress *p)
{
	PTRC_SCOPED_BUFFER text = PTRC_BUFFER_INIT;
	PTRC_SCOPED char *name = ptrc_cli_text("%s.new", p->path);
	int fd, error = 0;

	put(&text, p);
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	/* Only the process that holds the lock of the current file locks the new file, so the lock is free. */
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB))
		error = errno;
	error = error ?: ptrc_write_all(fd, text.bytes, text.used);
	if (!error && (fsync(fd) || rename(name, p->path)))
		error = errno;
	error = error ?: sync_directory(p->path);
	if (error) {
		ptrc_cli_error(p->path, error);
		if (fd >= 0)
			close(fd);
	} else {
		close(p->fd);
		p->fd = fd;
		p->is_empty = false;
	}
	return !error;
}

void ptrc_ship_progress_close(struct ptrc_ship_progress *p)
{
	if (p->is_empty)
		unlink(p->path);
	if (p->fd >= 0)
		close(p->fd);
	free(p->path);
	free(p->server);
	free(p->database);
	*p = (struct ptrc_ship_progress){.fd = -1};
}
