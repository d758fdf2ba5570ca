/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/log_target.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/cli/cli.h"
#include "src/cli/output.h"
#include "src/text/log_sink.h"

void ptrc_log_target_check(const char *option, const char *path, bool is_output_used)
{
	if (!*path)
		ptrc_cli_usage(option, "needs the name of a file");
	if (!strcmp(path, "-"))
		ptrc_cli_usage(option, "'-' is not standard output; ./- is a file of this name");
	if (is_output_used && ptrc_output_is(path))
		ptrc_cli_usage(option, "'%s' is standard output; name another file", path);
}

static bool is_same_file(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool ptrc_log_target_is_read(const struct ptrc_query *q, int fd, const char *path)
{
	for (size_t i = 0; i < q->source_count; i++)
		if (is_same_file(fd, q->sources[i].reader.fd)) {
			ptrc_cli_message(path, "is read, and cannot be written to meanwhile");
			return true;
		}
	return false;
}

bool ptrc_log_target_open(struct ptrc_logfile *file, struct ptrc_query *q, const char *path,
			  bool is_forced)
{
	trace_attr_t attr;

	if (posix_trace_attr_init(&attr) ||
	    posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND) ||
	    !ptrc_logfile_open(file, path, &attr, is_forced))
		return false;
	if (ptrc_log_target_is_read(q, file->fd, path)) {
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
