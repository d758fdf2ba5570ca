/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/logfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <posixtrace-control.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "include/posixtrace-private.h"
#include "src/base/message.h"
#include "src/base/output.h"
#include "src/base/same_file.h"
#include "src/base/scope.h"
#include "src/query/reader.h"
#include "src/session/keeper.h"
#include "src/text/log_sink.h"

/* Names PATH.salvaged.N are tried with N below this number. */
enum { NAMES_MAX = 1000 };

/* The first bytes of every log (docs/log-format.md). */
static const char signature[] = "\211PTRLOG\n";

static const char without_end[] = "the older log, which has no end";
static const char is_written[] = "another trace is writing to this file";

static const struct ptrc_replace_kind log_kind = {
	/* Only the user may read a log, because it contains addresses and data of the program. */
	.mode = 0600,
	.signature = signature,
	.signature_bytes = sizeof(signature) - 1,
	.noun = "a trace log",
};

/* Whether the log-full policy needs a file in which old data can be overwritten, and the file at the path is
 * not such a file. This is checked before the file is opened, because opening a FIFO would wait for its
 * reader. */
static bool has_wrong_policy(const char *path, const trace_attr_t *attr)
{
	struct stat st;
	int policy;

	return !posix_trace_attr_getlogfullpolicy(attr, &policy) && policy != POSIX_TRACE_APPEND &&
	       !stat(path, &st) &&
	       (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode) || S_ISSOCK(st.st_mode));
}

static bool is_rotated(const trace_attr_t *attr)
{
	struct posixtrace_log_rotation r;

	return !posixtrace_attr_getlogrotation(attr, &r) &&
	       (r.pt_bytes || r.pt_time.tv_sec || r.pt_time.tv_nsec);
}

/* Whether a log without an end is at the path. A log whose last file is missing may be one. */
static bool has_no_end(const char *path)
{
	struct posix_trace_status_info status;
	bool has_none;
	trace_id_t log;

	if (posixtrace_log_open(path, &log))
		return false;
	has_none = !posix_trace_get_status(log, &status) &&
		   status.posix_stream_flush_error == EOWNERDEAD;
	posix_trace_close(log);
	return has_none;
}

/* Returns the path of the rotated log of which a later file is at this path, or of which only later files are left at
 * this path. Returns NULL if there is no such log: then the writer of the file at the path has locked it, see
 * ptrc_logfile_open(). The caller frees the path. */
static char *rotated_log_of(const char *path)
{
	/* The first file is next to a later file, not next to a symbolic link to it. */
	char real[PATH_MAX] = "";
	bool is_there = realpath(path, real);
	char *log;

	/* If the file does not exist, realpath() has stored the path that it would have. */
	if (!is_there && errno != ENOENT)
		return NULL;
	log = ptrc_reader_first_path(real);
	if (!is_there || strcmp(log, real) != 0)
		return log;
	free(log);
	return NULL;
}

/* Whether a keeper writes the log. Any keeper that does not finish the log goes on, also if it has just ended the last
 * file and has not begun the next one. */
static bool has_keeper(const char *log)
{
	pid_t keeper;

	/* Opening the log waits for a keeper that finishes it. */
	has_no_end(log);
	return ptrc_keeper_of(log, &keeper);
}

bool ptrc_logfile_open(struct ptrc_logfile *l, const char *path, const trace_attr_t *attr,
		       bool is_forced)
{
	struct stat st;
	bool is_there = !stat(path, &st);
	PTRC_SCOPED char *log = NULL;

	*l = (struct ptrc_logfile){.path = path, .fd = -1, .is_rotated = is_rotated(attr)};
	if (l->is_rotated && is_there && !S_ISREG(st.st_mode))
		return ptrc_cli_message(path, "is not a regular file, so it cannot be rotated");
	if (has_wrong_policy(path, attr))
		return ptrc_logfile_say_wrong_policy(path);
	/* Of a rotated log only later files may exist. Once a new first file is made, they are no log any more. */
	if (!is_there || S_ISREG(st.st_mode)) {
		log = rotated_log_of(path);
		l->replaced = ptrc_reader_log_id(log ? log : path);
		if (log && has_keeper(log))
			return ptrc_cli_message(path, "%s", is_written);
	}
	l->fd = ptrc_replace_open(path, &log_kind, is_forced, &l->is_new);
	if (l->fd < 0)
		return false;
	/* The file is gone if another command has moved it away (ptrc_logfile_keep_old()) since it was opened here. */
	if (!fstat(l->fd, &st) && S_ISREG(st.st_mode) &&
	    ((flock(l->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) ||
	     ptrc_logfile_is_gone(l->fd, path))) {
		ptrc_cli_message(path, "%s", is_written);
		close(l->fd);
		l->fd = -1;
		return false;
	}
	return true;
}

/* ---- the older log, which is replaced or becomes PATH.old or PATH.salvaged ---- */

/* A rotated log whose files are to be renamed or removed. */
struct move {
	/* The number that all files of the log have in common; 0 if there is no log. */
	uint64_t id;
	/* The new path of the log's first file, and the number of the log that it replaces there, or 0. */
	const char *to;
	uint64_t older;
};

/* If there is a log (m->id), calls visit() for each existing file that is named like a later file of the log at this path,
 * with the file's path, and the dot and the digits at the end of its name. Stops and returns false when visit() returns
 * false. */
static bool visit_later_files(const char *log, const struct move *m,
			      bool (*visit)(const char *path, const char *end, const struct move *))
{
	const char *first = basename(log);
	PTRC_SCOPED char *directory = ptrc_cli_text("%.*s", (int)(first - log), log);
	const struct dirent *entry;
	bool is_done = true;
	PTRC_SCOPED_DIR *d = m->id ? opendir(*directory ? directory : ".") : NULL;

	while (is_done && d && (entry = readdir(d))) {
		PTRC_SCOPED char *path = NULL;

		if (!ptrc_reader_is_later_name(entry->d_name, first))
			continue;
		path = ptrc_cli_text("%s%s", directory, entry->d_name);
		is_done = visit(path, entry->d_name + strlen(first), m);
	}
	return is_done;
}

static bool remove_own(const char *path, const char *end, const struct move *m)
{
	(void)end;
	if (ptrc_reader_log_id(path) != m->id || !unlink(path))
		return true;
	return ptrc_cli_error(path, errno);
}

/* Whether the file can get its new name: no file of something else has it. */
static bool is_free(const char *path, const char *end, const struct move *m)
{
	PTRC_SCOPED char *to = ptrc_cli_text("%s%s", m->to, end);
	uint64_t id;

	if (access(to, F_OK) || ptrc_reader_log_id(path) != m->id)
		return true;
	id = ptrc_reader_log_id(to);
	return id && (id == m->id || id == m->older);
}

/* is_free() has allowed the new names of all files, so that the log is not torn. */
static bool move_own(const char *path, const char *end, const struct move *m)
{
	PTRC_SCOPED char *to = NULL;

	if (ptrc_reader_log_id(path) != m->id)
		return true;
	to = ptrc_cli_text("%s%s", m->to, end);
	if (!rename(path, to))
		return true;
	return ptrc_cli_error(to, errno);
}

void ptrc_logfile_begun(const struct ptrc_logfile *l)
{
	/* The later files are next to the first one, not next to a symbolic link to it. */
	PTRC_SCOPED char *path = realpath(l->path, NULL);

	if (path)
		visit_later_files(path, &(struct move){.id = l->replaced}, remove_own);
}

/* Renames the log to PATH.old. The first file comes last: if the command is killed before that, only some files of the
 * log were moved, and the next command moves the rest. Returns false after a message. */
static bool move_to_old(const struct ptrc_logfile *l, bool is_forced)
{
	char old[PATH_MAX];
	struct move m = {.id = l->replaced, .to = old};
	bool is_new;
	int fd;

	snprintf(old, sizeof(old), "%s.old", l->path);
	m.older = ptrc_reader_log_id(old);
	if (!visit_later_files(l->path, &m, is_free))
		return ptrc_cli_message(
			l->path,
			"cannot be renamed to %s, as a file of something else has the name "
			"of one of its later files; move that away, or name another file",
			old);
	/* Unless is_forced, this refuses a PATH.old that is neither a log nor empty. */
	fd = ptrc_replace_open(old, &log_kind, is_forced, &is_new);
	if (fd < 0)
		return false;
	close(fd);
	if ((m.older != m.id &&
	     !visit_later_files(old, &(struct move){.id = m.older}, remove_own)) ||
	    !visit_later_files(l->path, &m, move_own))
		return false;
	/* If the first file was deleted, so is that of PATH.old. */
	if (l->is_new ? !unlink(old) : !rename(l->path, old))
		return true;
	return ptrc_cli_error(old, errno);
}

bool ptrc_logfile_put_away(const char *path, const char *what)
{
	char to[PATH_MAX + 32];
	const struct move m = {.id = ptrc_reader_log_id(path), .to = to};
	int error = EEXIST;

	snprintf(to, sizeof(to), "%s.salvaged", path);
	for (int n = 2; n < NAMES_MAX && error == EEXIST; n++) {
		if (!ptrc_reader_is_there(to) && visit_later_files(path, &m, is_free))
			error = renameat2(AT_FDCWD, path, AT_FDCWD, to, RENAME_NOREPLACE) ? errno
											  : 0;
		if (error == EEXIST)
			snprintf(to, sizeof(to), "%s.salvaged.%d", path, n);
	}
	/* ENOENT: the first file was deleted, and the others are to be renamed. */
	if (error && (error != ENOENT || !m.id))
		return ptrc_cli_message(path,
					"is %s, and cannot be put away: %s; name another file",
					what, strerror(error));
	ptrc_cli_message(to, "is now %s", what);
	return visit_later_files(path, &m, move_own);
}

bool ptrc_logfile_keep_rest(const char *path)
{
	PTRC_SCOPED char *log = rotated_log_of(path);

	return !log || has_keeper(log) || !has_no_end(log) ||
	       ptrc_logfile_put_away(log, without_end);
}

bool ptrc_logfile_keep_unfinished(struct ptrc_logfile *l, const trace_attr_t *attr, bool is_forced)
{
	/* Not a symbolic link to the file: the later files are next to the file, which is renamed. */
	PTRC_SCOPED char *path = realpath(l->path, NULL);
	struct stat st;
	bool is_moved;

	/* The file is locked, so no keeper writes it any more. */
	if (l->is_new || fstat(l->fd, &st) || !S_ISREG(st.st_mode) ||
	    !has_no_end(path ? path : l->path))
		return true;
	is_moved = ptrc_logfile_put_away(path ? path : l->path, without_end);
	ptrc_logfile_close(l, true);
	return is_moved && ptrc_logfile_open(l, l->path, attr, is_forced);
}

bool ptrc_logfile_keep_old(struct ptrc_logfile *l, const trace_attr_t *attr, bool is_forced)
{
	struct stat st;

	/* Repeated, because another command may write a whole log to the path after the older log was moved away.
	 * The new log is then moved, too. */
	while (!lstat(l->path, &st) && S_ISREG(st.st_mode) && (st.st_size || l->replaced)) {
		bool is_moved = move_to_old(l, is_forced);

		/* The lock is kept until here, so that no other command takes this file for its own before it is
		 * moved. */
		ptrc_logfile_close(l, !l->is_new);
		if (!is_moved || !ptrc_logfile_open(l, l->path, attr, is_forced))
			return false;
	}
	return true;
}

bool ptrc_logfile_say_wrong_policy(const char *path)
{
	return ptrc_cli_message(path,
				"is not a regular file, which needs the log-full-policy append");
}

bool ptrc_logfile_is_gone(int fd, const char *path)
{
	struct stat opened;
	struct stat there;

	if (fstat(fd, &opened) || !S_ISREG(opened.st_mode))
		return false;
	if (stat(path, &there))
		return errno == ENOENT || errno == ENOTDIR;
	return !ptrc_is_same_file(&opened, &there);
}

void ptrc_logfile_let_go(struct ptrc_logfile *l)
{
	struct stat st;

	if (l->is_rotated && l->fd >= 0 && !fstat(l->fd, &st) && !st.st_nlink)
		ptrc_logfile_close(l, true);
}

void ptrc_logfile_close(struct ptrc_logfile *l, bool is_kept)
{
	if (l->fd < 0)
		return;
	if (!is_kept && l->is_new && !ptrc_logfile_is_gone(l->fd, l->path))
		unlink(l->path);
	close(l->fd);
	l->fd = -1;
}

void ptrc_log_target_check(const char *option, const char *path, bool is_output_used)
{
	if (!*path)
		ptrc_cli_usage(option, "needs the name of a file");
	if (!strcmp(path, "-"))
		ptrc_cli_usage(option, "'-' is not standard output; ./- is a file of this name");
	if (is_output_used && ptrc_output_is(path))
		ptrc_cli_usage(option, "'%s' is standard output; name another file", path);
}

/* Whether the query reads the open file, or a log with this number. If so, prints the message, or a default one if it is
 * NULL. */
static bool is_read(const struct ptrc_query *q, int fd, uint64_t id, const char *path,
		    const char *message)
{
	for (size_t i = 0; i < q->source_count; i++) {
		trace_id_t trace = q->sources[i].reader.trace;
		struct ptrc_reading_place place;

		if (!ptrc_log_find_file(trace, fd) ||
		    (id && !ptrc_log_get_place(trace, &place) && place.pl_log_id == id)) {
			ptrc_cli_message(path, "%s",
					 message ? message
						 : "is read, and cannot be written to meanwhile");
			return true;
		}
	}
	return false;
}

bool ptrc_log_target_is_free(const struct ptrc_query *q, const char *path, const char *if_read)
{
	PTRC_SCOPED char *log = rotated_log_of(path);

	if (log && has_keeper(log))
		return ptrc_cli_message(path, "%s", is_written);
	return !log || !is_read(q, -1, ptrc_reader_log_id(log), path, if_read);
}

bool ptrc_log_target_output(const struct ptrc_query *q, const char *path,
			    const struct ptrc_replace_kind *kind, bool is_forced,
			    const char *if_read)
{
	bool is_new;
	int fd;

	if (!ptrc_log_target_is_free(q, path, if_read))
		return false;
	fd = ptrc_replace_open(path, kind, is_forced, &is_new);
	if (fd < 0)
		return false;
	if (is_read(q, fd, 0, path, if_read)) {
		close(fd);
		return false;
	}
	ptrc_output_to(fd, path, is_new);
	return true;
}

bool ptrc_log_target_open(struct ptrc_logfile *file, struct ptrc_query *q, const char *path,
			  bool is_forced)
{
	trace_attr_t attr;

	if (posix_trace_attr_init(&attr) ||
	    posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND) ||
	    !ptrc_log_target_is_free(q, path, NULL) ||
	    !ptrc_logfile_open(file, path, &attr, is_forced))
		return false;
	if (is_read(q, file->fd, 0, path, NULL)) {
		ptrc_logfile_close(file, true);
		return false;
	}
	if (ptrc_log_sink_begin(q, path, file->fd, &file->is_broken))
		return true;
	ptrc_logfile_close(file, false);
	return false;
}

void ptrc_log_target_close(struct ptrc_logfile *file)
{
	struct stat st;

	if (file->is_broken && !fstat(file->fd, &st) && S_ISREG(st.st_mode) &&
	    ftruncate(file->fd, 0))
		ptrc_cli_message(file->path, "has a part of the log that could not be removed");
	ptrc_logfile_close(file, !file->is_broken);
}
