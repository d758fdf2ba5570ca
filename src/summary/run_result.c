/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/summary/run_result.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/cli.h"
#include "src/base/exit_status.h"
#include "src/base/json.h"
#include "src/base/output.h"
#include "src/base/same_file.h"

/* The first bytes of every JSON object that the commands print. An existing file that starts with
 * them may be replaced. */
static const char signature[] = "{\"version\":";

static const struct ptrc_replace_kind json_kind = {
	.mode = 0666,
	.signature = signature,
	.signature_bytes = sizeof(signature) - 1,
	.noun = "the result of a run",
};

static struct {
	/* The path of the file to which the JSON object is written, or a name for the descriptor; NULL if the user did
	 * not ask for the result. */
	const char *name;
	bool is_file;
	int fd;
	const char *command;
	bool is_forced;
	/* The object was written, or it is certain that it cannot be. */
	bool is_put;
	/* The process that writes the object; its child processes must not write one. */
	pid_t writer;
} result = {.fd = -1};

/* ---- snapshots ---- */

void ptrc_run_snapshots_add(struct ptrc_run_snapshots *s, const struct ptrc_snapshot *snapshot)
{
	const char *path = *snapshot->path ? snapshot->path : NULL;
	struct ptrc_time_format format = {.is_local = true};
	PTRC_SCOPED_BUFFER b = PTRC_BUFFER_INIT;

	ptrc_buffer_format(&b, "%s at ", snapshot->event);
	ptrc_buffer_time(&b, &format, &snapshot->time);
	ptrc_buffer_char(&b, '\0');
	s->is_used_up |= snapshot->is_too_many;
	if (snapshot->is_too_many)
		ptrc_cli_message(NULL,
				 "%s: no snapshot is made, and none later, as there are as many as "
				 "--snapshot-max allows",
				 b.bytes);
	else if (snapshot->error)
		ptrc_cli_message(path, "cannot write the snapshot of %s: %s", b.bytes,
				 strerror(snapshot->error));
	else
		ptrc_cli_message(path, "snapshot of %s: %llu events", b.bytes,
				 (unsigned long long)snapshot->event_count);
	if (snapshot->is_too_many)
		return;
	s->failed += snapshot->error != 0;
	*ptrc_append(s->made, s->count) = *snapshot;
}

void ptrc_run_snapshots_report(const struct ptrc_run_snapshots *s)
{
	for (size_t i = 0; i < s->unmatched_count; i++)
		ptrc_unmatched_report_snapshot(NULL, &s->unmatched[i]);
	if (s->unseen_events)
		ptrc_unmatched_report_unseen(NULL, s->unseen_events);
}

static void put_snapshots(struct ptrc_json *j, const struct ptrc_run_snapshots *s)
{
	if (!s->is_wanted)
		return;
	ptrc_json_open(j, "snapshots", '{');
	ptrc_json_open(j, "made", '[');
	for (size_t i = 0; i < s->count; i++) {
		const struct ptrc_snapshot *one = &s->made[i];

		ptrc_json_open(j, NULL, '{');
		if (*one->path)
			ptrc_json_bytes(j, "log", one->path, strlen(one->path));
		ptrc_json_bytes(j, "event", one->event, strlen(one->event));
		ptrc_json_time(j, "time", &one->time);
		if (!one->error)
			ptrc_json_u64(j, "events", one->event_count);
		ptrc_json_i64(j, "error", one->error);
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
	ptrc_json_bool(j, "used_up", s->is_used_up);
	ptrc_json_u64(j, "unseen_events", s->unseen_events);
	ptrc_unmatched_snapshots_json(s->unmatched, s->unmatched_count, j);
	ptrc_json_close(j, '}');
}

/* ---- the object ---- */

static void put_status(struct ptrc_json *j, int status)
{
	if (WIFEXITED(status))
		ptrc_json_i64(j, "exit_status", WEXITSTATUS(status));
	else
		ptrc_json_i64(j, "signal", WTERMSIG(status));
}

bool ptrc_run_result_write(int fd, const char *name, struct ptrc_buffer *b)
{
	int error = ptrc_write_all(fd, b->bytes, b->used);

	/* If `fd` is standard error, this message is lost, too. */
	if (error)
		ptrc_cli_error(name, error);
	ptrc_buffer_free(b);
	return !error;
}

void ptrc_run_result_put_untraced(int status)
{
	struct ptrc_buffer b = PTRC_BUFFER_INIT;
	const char *reason = ptrc_message_last();
	struct ptrc_json j;

	if (!result.name || result.is_put)
		return;
	if (result.fd < 0 && !ptrc_run_result_open(-1))
		return;
	result.is_put = true;
	j = ptrc_json_begin(&b);
	if (result.command)
		ptrc_json_bytes(&j, "command", result.command, strlen(result.command));
	put_status(&j, status);
	if (WIFEXITED(status))
		ptrc_json_bytes(&j, "error", reason, strlen(reason));
	ptrc_json_bool(&j, "complete", false);
	ptrc_json_end(&j);
	ptrc_run_result_write(result.fd, result.name, &b);
}

/* Called at each exit of the process. If ptrace-run fails before COMMAND was traced, writes the object. */
static void put_failure(int status, void *unused)
{
	(void)unused;
	if (status < PTRC_EXIT_RUN_FAILED || status > PTRC_EXIT_RUN_NOT_FOUND ||
	    getpid() != result.writer)
		return;
	/* If the object goes to a pipe whose reader has closed it, writing fails with an error instead of a
	 * signal. */
	signal(SIGPIPE, SIG_IGN);
	ptrc_run_result_put_untraced(W_EXITCODE(status, 0));
}

/* Sets where the JSON object is written: to `fd` or, if that is -1, to the file `name`, which is opened later. */
static void set_place(const char *option, const char *name, int fd)
{
	if (result.name)
		ptrc_cli_usage(option, "the result goes to one place only: --json or --json-fd, "
				       "once");
	result.name = name;
	result.is_file = fd < 0;
	result.fd = fd;
	result.writer = getpid();
	on_exit(put_failure, NULL);
}

void ptrc_run_result_check_path(const char *option, const char *path)
{
	if (path && !*path)
		ptrc_cli_usage(option, "the name of the file is empty");
	if (path && !strcmp(path, "-"))
		ptrc_cli_usage(option, "- does not stand for standard output, which belongs to "
				       "COMMAND; name /dev/stdout, or ./- for a file of this "
				       "name");
}

void ptrc_run_result_to_file(const char *path)
{
	ptrc_run_result_check_path("--json", path);
	set_place("--json", path ? path : "standard error", path ? -1 : STDERR_FILENO);
}

void ptrc_run_result_to_descriptor(const char *number)
{
	int fd = (int)ptrc_cli_number("--json-fd", number, 0, INT_MAX);
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || flags & O_PATH || (flags & O_ACCMODE) == O_RDONLY)
		ptrc_cli_usage("--json-fd", "descriptor %d is not open for writing", fd);
	/* COMMAND does not inherit the descriptor. So if it is a pipe, its reader sees the end when this process
	 * ends. */
	if (fd > STDERR_FILENO)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	set_place("--json-fd", "--json-fd", fd);
}

void ptrc_run_result_set(const char *command, bool is_forced)
{
	result.command = command;
	result.is_forced = is_forced;
}

/* Whether this is a regular file to which another result is written already. If not, notes that a result is written to
 * the file. */
static bool is_taken(const struct stat *file)
{
	static struct stat *taken;
	static size_t count;

	for (size_t i = 0; i < count && S_ISREG(file->st_mode); i++)
		if (ptrc_is_same_file(file, &taken[i]))
			return true;
	*ptrc_append(taken, count) = *file;
	return false;
}

int ptrc_run_result_open_file(const char *path, const struct ptrc_replace_kind *kind,
			      bool is_forced, int log_fd)
{
	struct stat log;
	struct stat st;
	bool is_new;
	int fd = ptrc_replace_open(path, kind, is_forced, &is_new);

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) || (log_fd >= 0 && fstat(log_fd, &log))) {
		ptrc_cli_error(path, errno);
	} else if (S_ISREG(st.st_mode) && log_fd >= 0 && ptrc_is_same_file(&st, &log)) {
		ptrc_cli_message(path, "is the log, so the result needs another file");
	} else if (is_taken(&st)) {
		ptrc_cli_message(path, "is the file of another result already");
	} else if (S_ISREG(st.st_mode) && ftruncate(fd, 0)) {
		ptrc_cli_error(path, errno);
	} else {
		return fd;
	}
	close(fd);
	return -1;
}

bool ptrc_run_result_open(int log_fd)
{
	if (!result.is_file)
		return true;
	/* Until the file is open, put_failure() must not try to write to it. */
	result.is_put = true;
	result.fd = ptrc_run_result_open_file(result.name, &json_kind, result.is_forced, log_fd);
	if (result.fd < 0)
		return false;
	result.is_put = false;
	return true;
}

bool ptrc_run_result_put(const struct ptrc_run_outcome *o)
{
	struct ptrc_buffer b = PTRC_BUFFER_INIT;
	struct ptrc_json j;

	if (!result.name)
		return true;
	result.is_put = true;
	j = ptrc_json_begin(&b);
	ptrc_json_bytes(&j, "log", o->log, strlen(o->log));
	ptrc_json_bytes(&j, "command", result.command, strlen(result.command));
	put_status(&j, o->status);
	if (o->has_count)
		ptrc_json_u64(&j, "events", o->event_count);
	ptrc_losses_json(&o->losses, &j);
	ptrc_json_u64(&j, "waits", o->waits);
	ptrc_json_u64(&j, "wait_ns", o->wait_ns);
	ptrc_json_u64(&j, "truncated_events", o->cut_events);
	ptrc_json_u64(&j, "data_needed", o->data_needed);
	ptrc_unmatched_json(o->patterns, o->pattern_count, &j);
	put_snapshots(&j, &o->snapshots);
	if (o->only_counts)
		ptrc_event_types_json(&j, "types", &o->types, false);
	if (o->is_ended_early)
		ptrc_json_bool(&j, "ended_early", true);
	if (o->went_on)
		ptrc_json_u64(&j, "went_on", o->went_on);
	ptrc_json_bool(&j, "complete", !ptrc_losses_is_any(&o->losses));
	ptrc_json_end(&j);
	return ptrc_run_result_write(result.fd, result.name, &b);
}
