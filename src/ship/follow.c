/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/ship/follow.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/message.h"
#include "src/base/table.h"
#include "src/fields/when.h"
#include "src/session/session_client.h"
#include "src/ship/files.h"
#include "src/ship/server.h"

/* So many logs are kept open at most: what the longest one takes is forgotten soon, but each has its names. */
enum { KEPT_MAX = 16 };

/* A log in the directory. */
struct followed {
	char *path;
	/* What its files are like now, and were like when it was sent last. */
	uint64_t look;
	uint64_t last_look;
	bool is_there;
	/* It is kept open, and was looked at then. */
	struct ptrc_ship_log *log;
	uint64_t turn;
	/* What came of it; it was sent, and that was not told. */
	struct ptrc_ship_report report;
	bool is_untold;
	struct followed *next;
};

/*
 * Waits until it is time for the next look, after one that began then. The first pause is a part of the
 * interval only: so machines that were started together send one after the other, and not all at once for
 * as long as they run.
 */
static bool wait_for_turn(struct ptrc_ship_follow *follow, int64_t begin)
{
	int64_t interval = follow->interval_ns, pause;

	if (!follow->has_turn)
		interval = ptrc_ship_part_of(interval);
	follow->has_turn = true;
	pause = begin + interval - ptrc_now_ns();
	ptrc_ship_server_rest(follow->shipper->server, pause);
	return ptrc_ship_wait(follow->shipper, pause);
}

/* ---- files ---- */

/* What a file is like, without looking into it. */
static uint64_t look_of(const struct stat *st)
{
	uint64_t key[] = {st->st_dev, st->st_ino, (uint64_t)st->st_size,
			  (uint64_t)ptrc_when_ns(&st->st_mtim)};

	return ptrc_table_hash(key, sizeof(key));
}

/* ---- the directory ---- */

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

/* Finds the logs, and what they are like now. Returns an error number. */
static int scan(const char *directory, struct followed **all)
{
	DIR *d = opendir(directory);
	const struct dirent *entry;

	if (!d)
		return errno;
	for (struct followed *f = *all; f; f = f->next) {
		f->is_there = false;
		f->look = 0;
	}
	while ((entry = readdir(d))) {
		struct followed *f;
		struct stat st;
		char *path;

		if (*entry->d_name == '.')
			continue;
		path = ptrc_cli_text("%s/%s", directory, entry->d_name);
		if (ptrc_ship_is_log(path, &st)) {
			f = find(all, ptrc_ship_log_of(path));
			f->is_there = true;
			/* Of several files the order does not matter. */
			f->look += look_of(&st);
		}
		free(path);
	}
	closedir(d);
	return 0;
}

static void tell(struct ptrc_ship_follow *follow, struct followed *f)
{
	if (!f->is_untold)
		return;
	f->is_untold = false;
	follow->tell(f->path, &f->report);
	f->report = (struct ptrc_ship_report){0};
}

/* Forgets logs that are gone. */
static void forget(struct followed **all, bool is_all)
{
	while (*all) {
		struct followed *f = *all;

		if (f->is_there && !is_all) {
			all = &f->next;
			continue;
		}
		*all = f->next;
		ptrc_ship_let_go(&f->log);
		free(f->path);
		free(f);
	}
}

/* Removes the files of a log of which the server has everything, and what was noted of it. */
static void remove_log(struct ptrc_ship_follow *follow, const char *directory, struct followed *f)
{
	struct followed *now = NULL;
	DIR *d;
	const struct dirent *entry;

	/* It may be another one by now. */
	if (scan(directory, &now))
		return;
	for (struct followed *n = now; n; n = n->next)
		if (!strcmp(n->path, f->path) && n->look != f->look) {
			forget(&now, true);
			return;
		}
	forget(&now, true);
	d = opendir(directory);
	while (d && (entry = readdir(d))) {
		char *path = ptrc_cli_text("%s/%s", directory, entry->d_name);
		struct stat st;
		char *log = ptrc_ship_is_log(path, &st) ? ptrc_ship_log_of(path) : NULL;

		/* The first one goes last: it says whose the others are. */
		if (log && !strcmp(log, f->path) && strcmp(path, f->path) && unlink(path))
			ptrc_cli_error(path, errno);
		free(log);
		free(path);
	}
	if (d)
		closedir(d);
	if (unlink(f->path) && errno != ENOENT)
		ptrc_cli_error(f->path, errno);
	ptrc_ship_forget(follow->shipper, f->path);
}

/* Closes the one of the logs at which nobody has looked for the longest time, if too many are kept open. */
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

/* Sends what the logs have that have changed. Returns PTRC_SHIPPED, or what ends the command. */
static enum ptrc_ship_result send_all(struct ptrc_ship_follow *follow, const char *directory,
				      struct followed *all)
{
	for (struct followed *f = all; f; f = f->next) {
		enum ptrc_ship_result result;
		bool is_damaged;

		if (f->look == f->last_look)
			continue;
		f->is_untold = true;
		result = ptrc_ship_log(follow->shipper, f->path, &f->log, &f->report);
		f->turn = ++follow->turn;
		limit_kept(all);
		if (result == PTRC_SHIP_SERVER_FAILED || result == PTRC_SHIP_STOPPED)
			return result;
		/* If it has grown since, it is looked at once more. */
		f->last_look = f->look;
		follow->has_failed |= result == PTRC_SHIP_LOG_FAILED;
		follow->is_incomplete |= ptrc_ship_is_incomplete(follow->shipper, &f->report);
		is_damaged = f->report.is_damaged;
		if (result == PTRC_SHIP_LOG_FAILED || result == PTRC_SHIPPED_WHOLE)
			tell(follow, f);
		if (result == PTRC_SHIPPED_WHOLE && follow->is_removing && !is_damaged)
			remove_log(follow, directory, f);
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
			if (!f->is_there)
				tell(follow, f);
		forget(&all, false);
		/* A server that will not do is told also if there is no log yet. */
		result = ptrc_ship_greet(follow->shipper);
		if (result == PTRC_SHIPPED)
			result = send_all(follow, directory, all);
		if (result == PTRC_SHIPPED && !wait_for_turn(follow, begin))
			result = PTRC_SHIP_STOPPED;
	}
	for (struct followed *f = all; f; f = f->next)
		tell(follow, f);
	forget(&all, true);
	return result;
}

/* ---- a session ---- */

/* Stores the path of the session's log. Returns false after a message. */
static bool find_log(const char *session, char **path)
{
	const struct ptrc_session_state *s;
	int error = ptrc_session_stat(session, &s);

	if (error) {
		ptrc_cli_message(session, "%s%s", ptrc_session_explain(error),
				 error == ENOENT && !access(session, F_OK)
					 ? "; a log is sent without --follow"
					 : "");
		return false;
	}
	if (!s->has_log || s->is_log_gone) {
		ptrc_cli_message(session,
				 "has no log, which would keep its events until the server "
				 "has them");
		return false;
	}
	*path = ptrc_cli_copy(s->log);
	return true;
}

enum ptrc_ship_result ptrc_ship_session(struct ptrc_ship_follow *follow, const char *session)
{
	static struct ptrc_session_reply reply;
	struct ptrc_ship_report report = {0};
	enum ptrc_ship_result result;
	bool is_tried = false, is_silent = false;
	struct ptrc_ship_log *log = NULL;
	char *path;

	if (!find_log(session, &path))
		return PTRC_SHIP_LOG_FAILED;
	result = ptrc_ship_greet(follow->shipper);
	while (result == PTRC_SHIPPED) {
		int64_t begin = ptrc_now_ns();
		int error = ptrc_session_ask(session, PTRC_SESSION_FLUSH, &reply);
		/* One that does not answer may do so later: it may have been stopped. */
		bool is_over = error == ENOENT || error == ECONNREFUSED || error == ECONNRESET;

		if (error && !is_over && !is_silent)
			ptrc_cli_message(session, "%s; it is asked again",
					 ptrc_session_explain(error));
		is_silent = error && !is_over;
		/* Nothing comes any more, whether it was closed or not. */
		follow->shipper->is_following = !is_over;
		result = ptrc_ship_log(follow->shipper, path, &log, &report);
		is_tried = true;
		if (is_over)
			break;
		if (result == PTRC_SHIPPED && !wait_for_turn(follow, begin))
			result = PTRC_SHIP_STOPPED;
	}
	if (is_tried) {
		follow->is_incomplete |= ptrc_ship_is_incomplete(follow->shipper, &report);
		follow->tell(path, &report);
	}
	ptrc_ship_let_go(&log);
	free(path);
	return result;
}
