/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/ship/follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/message.h"
#include "src/base/scope.h"
#include "src/base/table.h"
#include "src/fields/when.h"
#include "src/session/session_client.h"
#include "src/query/reader.h"
#include "src/ship/files.h"
#include "src/ship/server.h"

/* How many logs are kept open at most. Each open log keeps its names in memory. */
enum { KEPT_MAX = 16 };

/* A log in the directory that ptrace-ship follows. */
struct followed {
	char *path;
	/* A hash of the sizes, times and inodes of the log's files, from the last scan() of the directory. */
	uint64_t look;
	/* The value of .look when the log was last sent; 0 if it was not sent yet. */
	uint64_t last_look;
	bool exists;
	/* The open log; NULL if it is not kept open. */
	struct ptrc_ship_log *log;
	/* The value of .sent_count when the log was last sent. The log that was not sent for the longest time
	 * is closed first. */
	uint64_t turn;
	struct ptrc_ship_report report;
	/* .report has not been passed to ptrc_ship_follow.report() yet. */
	bool has_report;
	struct followed *next;
};

/*
 * Waits for the next round; the last round started at the monotonic time `begin`. The first pause is a random part
 * of the interval, so that machines that were started together do not always send at the same moment.
 */
static bool wait_for_turn(struct ptrc_ship_follow *follow, int64_t begin)
{
	int64_t interval = follow->interval_ns, pause;

	if (!follow->has_paused)
		interval = ptrc_ship_part_of(interval);
	follow->has_paused = true;
	pause = begin + interval - ptrc_now_ns();
	ptrc_ship_server_rest(follow->shipper->server, pause);
	return ptrc_ship_wait(follow->shipper, pause);
}

static struct followed *find(struct followed **all, char *path)
{
	struct followed *f;

	for (f = *all; f; f = f->next)
		if (!strcmp(f->path, path)) {
			free(path);
			return f;
		}
	f = ptrc_cli_allocate(sizeof(*f));
	*f = (struct followed){.path = path, .next = *all};
	*all = f;
	return f;
}

static int scan(const char *directory, struct followed **all)
{
	PTRC_SCOPED_DIR *d = opendir(directory);
	const struct dirent *entry;

	if (!d)
		return errno;
	for (struct followed *f = *all; f; f = f->next) {
		f->exists = false;
		f->look = 0;
	}
	while ((entry = readdir(d))) {
		PTRC_SCOPED char *path = ptrc_cli_text("%s/%s", directory, entry->d_name);
		struct followed *f;
		struct stat st;

		if (*entry->d_name != '.' && ptrc_ship_is_log(path, &st)) {
			uint64_t key[] = {st.st_dev, st.st_ino, (uint64_t)st.st_size,
					  (uint64_t)ptrc_when_ns(&st.st_mtim)};

			f = find(all, ptrc_reader_first_path(path));
			f->exists = true;
			/* The hash is a sum, because readdir() returns the files of a rotated log in any order. */
			f->look += ptrc_table_hash(key, sizeof(key));
		}
	}
	return 0;
}

static void report(struct ptrc_ship_follow *follow, struct followed *f)
{
	if (!f->has_report)
		return;
	f->has_report = false;
	follow->report(f->path, &f->report);
	f->report = (struct ptrc_ship_report){0};
}

static void forget(struct followed **all, bool is_all)
{
	while (*all) {
		struct followed *f = *all;

		if (f->exists && !is_all) {
			all = &f->next;
			continue;
		}
		*all = f->next;
		ptrc_ship_let_go(&f->log);
		free(f->path);
		free(f);
	}
}

static void remove_log(struct ptrc_ship_follow *follow, const char *directory,
		       struct followed **all, struct followed *f)
{
	PTRC_SCOPED_DIR *d = NULL;
	const struct dirent *entry;

	/* If a file of the log has changed since the log was sent, another log may have replaced it, so nothing
	 * is removed. */
	if (scan(directory, all) || (f->exists && f->look != f->last_look))
		return;
	d = opendir(directory);
	while (d && (entry = readdir(d))) {
		PTRC_SCOPED char *path = ptrc_cli_text("%s/%s", directory, entry->d_name);
		struct stat st;
		PTRC_SCOPED char *log =
			ptrc_ship_is_log(path, &st) ? ptrc_reader_first_path(path) : NULL;

		/* The first file is removed last, because without it ptrc_reader_first_path() cannot find out to
		 * which log the other files belong. */
		if (log && !strcmp(log, f->path) && strcmp(path, f->path) && unlink(path))
			ptrc_cli_error(path, errno);
	}
	if (unlink(f->path) && errno != ENOENT)
		ptrc_cli_error(f->path, errno);
	ptrc_ship_forget(follow->shipper, f->path);
}

static void limit_kept(struct followed *all)
{
	struct followed *oldest = NULL;
	size_t count = 0;

	for (struct followed *f = all; f; f = f->next) {
		if (!f->log)
			continue;
		count++;
		if (!oldest || f->turn < oldest->turn)
			oldest = f;
	}
	if (count > KEPT_MAX)
		ptrc_ship_let_go(&oldest->log);
}

/* Sends the logs that have changed. Returns PTRC_SHIPPED, or the result that ends the command. */
static enum ptrc_ship_result send_all(struct ptrc_ship_follow *follow, const char *directory,
				      struct followed **all)
{
	for (struct followed *f = *all; f; f = f->next) {
		enum ptrc_ship_result result;
		bool is_damaged;

		if (!f->exists || f->look == f->last_look)
			continue;
		f->has_report = true;
		result = ptrc_ship_log(follow->shipper, f->path, &f->log, &f->report);
		f->turn = ++follow->sent_count;
		limit_kept(*all);
		if (result == PTRC_SHIP_SERVER_FAILED || result == PTRC_SHIP_STOPPED)
			return result;
		/* .look was taken before the log was sent, so if the log has grown since, it is sent again. */
		f->last_look = f->look;
		follow->has_failed |= result == PTRC_SHIP_LOG_FAILED;
		follow->is_incomplete |= ptrc_ship_is_incomplete(follow->shipper, &f->report);
		is_damaged = f->report.is_damaged;
		if (result == PTRC_SHIP_LOG_FAILED || result == PTRC_SHIPPED_WHOLE)
			report(follow, f);
		if (result == PTRC_SHIPPED_WHOLE && follow->is_removing && !is_damaged)
			remove_log(follow, directory, all, f);
	}
	return PTRC_SHIPPED;
}

enum ptrc_ship_result ptrc_ship_directory(struct ptrc_ship_follow *follow, const char *directory)
{
	enum ptrc_ship_result result = PTRC_SHIPPED;
	struct followed *all = NULL;

	while (result == PTRC_SHIPPED) {
		int64_t begin = ptrc_now_ns();
		int error = scan(directory, &all);

		if (error) {
			ptrc_cli_error(directory, error);
			result = PTRC_SHIP_LOG_FAILED;
			break;
		}
		for (struct followed *f = all; f; f = f->next)
			if (!f->exists)
				report(follow, f);
		forget(&all, false);
		/* The server is asked even if there is no log, so that a wrong server is reported at once. */
		result = ptrc_ship_greet(follow->shipper);
		if (result == PTRC_SHIPPED)
			result = send_all(follow, directory, &all);
		if (result == PTRC_SHIPPED && !wait_for_turn(follow, begin))
			result = PTRC_SHIP_STOPPED;
	}
	for (struct followed *f = all; f; f = f->next)
		report(follow, f);
	forget(&all, true);
	return result;
}

static bool find_log(const char *session, char **path)
{
	const struct ptrc_session_state *s;
	int error = ptrc_session_stat(session, &s);

	if (error)
		return ptrc_cli_message(session, "%s%s", ptrc_session_explain(error),
					error == ENOENT && !access(session, F_OK)
						? "; a log is sent without --follow"
						: "");
	if (!s->has_log || s->is_log_gone)
		return ptrc_cli_message(session,
					"has no log, which has to keep its events until the server "
					"has them");
	*path = ptrc_cli_copy(s->log);
	return true;
}

enum ptrc_ship_result ptrc_ship_session(struct ptrc_ship_follow *follow, const char *session)
{
	static struct ptrc_session_reply reply;
	struct ptrc_ship_report r = {0};
	enum ptrc_ship_result result;
	bool is_tried = false, is_silent = false;
	struct ptrc_ship_log *log = NULL;
	PTRC_SCOPED char *path = NULL;

	if (!find_log(session, &path))
		return PTRC_SHIP_LOG_FAILED;
	result = ptrc_ship_greet(follow->shipper);
	while (result == PTRC_SHIPPED) {
		int64_t begin = ptrc_now_ns();
		int error = ptrc_session_ask(session, PTRC_SESSION_FLUSH, &reply);
		/* A session that is ending closes the connection (ECONNRESET), and the rest of its log is
		 * written before its name is free. A session that does not answer may have been stopped, and
		 * may answer later. */
		bool is_ending = error == ECONNRESET;
		bool is_over = error == ENOENT || error == ECONNREFUSED;

		if (error && !is_over && !is_ending && !is_silent)
			ptrc_cli_message(session, "%s; it is asked again",
					 ptrc_session_explain(error));
		is_silent = error && !is_over && !is_ending;
		/* When the session has ended, its log does not grow any more, even if it was not closed. */
		follow->shipper->is_following = !is_over;
		result = ptrc_ship_log(follow->shipper, path, &log, &r);
		is_tried = true;
		if (is_over)
			break;
		if (result == PTRC_SHIPPED && !wait_for_turn(follow, begin))
			result = PTRC_SHIP_STOPPED;
	}
	if (is_tried) {
		follow->is_incomplete |= ptrc_ship_is_incomplete(follow->shipper, &r);
		follow->report(path, &r);
	}
	ptrc_ship_let_go(&log);
	return result;
}
