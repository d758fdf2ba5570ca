/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/ship/ship.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/message.h"
#include "src/base/scope.h"
#include "src/base/table.h"
#include "src/ship/files.h"
#include "src/ship/log.h"
#include "src/ship/pack.h"

/* Limits of a batch, so that the server makes a single block of it: no more rows than max_insert_block_size,
 * and uncompressed bytes well below the size at which the server splits blocks. */
#define ROWS_MAX UINT64_C(1000000)
#define RAW_MAX (64U << 20)
/* The first and the longest pause before a failed request is repeated. */
#define PAUSE_FIRST_NS (INT64_C(250) * PTRC_NS_PER_MS)
#define PAUSE_LAST_NS (INT64_C(30000) * PTRC_NS_PER_MS)
#define NS_PER_S (1000 * PTRC_NS_PER_MS)
/* A keeper may be killed after it has written events to a log and before it has committed them. The next keeper
 * then writes these events again at the same place, perhaps in another order. So events are sent only when their
 * file has not been written to for this time. */
#define SETTLE_NS (INT64_C(100) * PTRC_NS_PER_MS)

/* The state of the work on one log. */
struct work {
	struct ptrc_shipper *shipper;
	const char *path;
	struct ptrc_ship_log *log;
	struct ptrc_ship_progress progress;
	struct ptrc_ship_packer packer;
	/* The place in the log after the batch that is in the packer. */
	struct ptrc_ship_place end;
	bool is_end_of_log;
	/* The progress file existed before, and belongs to this log. */
	bool is_known;
	/* The log was kept open since the last round, but it no longer has the first rows that have to be sent. */
	bool has_forgotten;
};

/* ---- a server that does not answer ---- */

static bool is_stopped(const struct ptrc_shipper *s)
{
	return *s->server->options.is_stopped;
}

bool ptrc_ship_wait(struct ptrc_shipper *s, int64_t ns)
{
	int64_t until = ptrc_now_ns() + ns, left;
	sigset_t all, before;

	/* Signals are blocked except within ppoll(). So a signal that comes after the flag was tested still
	 * ends the sleep. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	while (!is_stopped(s) && (left = until - ptrc_now_ns()) > 0)
		ppoll(NULL, 0,
		      &(struct timespec){.tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S},
		      &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return !is_stopped(s);
}

int64_t ptrc_ship_part_of(int64_t ns)
{
	uint64_t random = (uint64_t)ptrc_now_ns() * UINT64_C(2654435761) >> 7;

	return (int64_t)(random % (uint64_t)ns);
}

/* Waits for half to one and a half of this time, at random, so that many machines do not try again at the
 * same moment. Does not wait beyond the time of --give-up. Returns false if a signal has come. */
static bool pause_for(struct ptrc_shipper *s, int64_t ns)
{
	int64_t give_up_ns = s->server->options.give_up_ns;
	int64_t left = s->server->silent_since_ns + give_up_ns - ptrc_now_ns();

	ns = ns / 2 + ptrc_ship_part_of(ns);
	return ptrc_ship_wait(s, give_up_ns && left < ns ? left : ns);
}

/* A request that is repeated until it succeeds or cannot succeed. */
struct attempt {
	struct ptrc_shipper *shipper;
	int64_t pause_ns;
	/* If this request succeeds, "answers again" is not printed yet: a server may answer
	 * questions and still take no rows. */
	bool is_quiet;
	enum ptrc_ship_result result;
};

static struct attempt attempt_by(struct ptrc_shipper *s)
{
	return (struct attempt){.shipper = s, .pause_ns = PAUSE_FIRST_NS};
}

/* Handles a failed request. If the request is to be repeated, pauses before that, and returns PTRC_SHIPPED. */
static enum ptrc_ship_result after(struct attempt *a, enum ptrc_ship_outcome outcome)
{
	struct ptrc_ship_server *server = a->shipper->server;
	const char *name = server->options.server;
	int64_t give_up_ns = server->options.give_up_ns;
	int64_t now = ptrc_now_ns();
	bool is_first;

	if (outcome == PTRC_SHIP_INTERRUPTED)
		return PTRC_SHIP_STOPPED;
	if (outcome == PTRC_SHIP_REFUSED) {
		ptrc_cli_message(name, "%s", server->answer.why.text);
		return PTRC_SHIP_SERVER_FAILED;
	}
	is_first = !server->silent_since_ns;
	if (is_first)
		server->silent_since_ns = server->asked_ns;
	if (give_up_ns && now - server->silent_since_ns >= give_up_ns) {
		ptrc_cli_message(name, "given up: %s", server->answer.why.text);
		return PTRC_SHIP_SERVER_FAILED;
	}
	if (is_first)
		ptrc_cli_message(name, "%s; it is tried again", server->answer.why.text);
	if (!pause_for(a->shipper, a->pause_ns))
		return PTRC_SHIP_STOPPED;
	a->shipper->sent.retries++;
	a->pause_ns = 2 * a->pause_ns < PAUSE_LAST_NS ? 2 * a->pause_ns : PAUSE_LAST_NS;
	return PTRC_SHIPPED;
}

static void note_success(struct ptrc_shipper *s)
{
	if (s->server->silent_since_ns)
		ptrc_cli_message(s->server->options.server, "answers again");
	s->server->silent_since_ns = 0;
}

/* Takes the outcome of a request. Returns whether to repeat the request. */
static bool is_asked_again(struct attempt *a, enum ptrc_ship_outcome outcome)
{
	a->result = outcome == PTRC_SHIP_OK ? PTRC_SHIPPED : after(a, outcome);
	if (outcome == PTRC_SHIP_OK && !a->is_quiet)
		note_success(a->shipper);
	return outcome != PTRC_SHIP_OK && a->result == PTRC_SHIPPED;
}

enum ptrc_ship_result ptrc_ship_greet(struct ptrc_shipper *s)
{
	struct attempt a = attempt_by(s);

	while (!s->is_greeted && is_asked_again(&a, ptrc_ship_server_greet(s->server)))
		;
	s->is_greeted = a.result == PTRC_SHIPPED;
	return a.result;
}

enum ptrc_ship_result ptrc_ship_create(struct ptrc_shipper *s)
{
	struct attempt a = attempt_by(s);

	while (is_asked_again(&a, ptrc_ship_server_create(s->server)))
		;
	return a.result;
}

/* ---- batches ---- */

/* The numbers of the rows that the server has already, in ascending order. */
struct had {
	const uint64_t *numbers;
	uint64_t count;
	uint64_t at;
};

static bool has(struct had *had, uint64_t number)
{
	while (had->at < had->count && had->numbers[had->at] < number)
		had->at++;
	return had->at < had->count && had->numbers[had->at] == number;
}

/* Puts those rows of the log's current item (an event, or the losses at the end) that the server does not have
 * into the packer. */
static void put_rows(struct work *w, struct ptrc_ship_batch *b, struct had *had)
{
	struct ptrc_buffer *rows = &w->packer.rows;

	for (size_t i = 0; i < w->log->row_count; i++) {
		size_t used = rows->used;
		int64_t ns = ptrc_ship_log_put(w->log, i, rows);

		if (!b->count || ns < b->first_ns)
			b->first_ns = ns;
		if (!b->count || ns > b->last_ns)
			b->last_ns = ns;
		if (has(had, w->progress.place.rows + b->count))
			rows->used = used;
		else
			ptrc_ship_packer_take(&w->packer);
		b->count++;
	}
}

/*
 * Fills the packer with the batch that starts at progress.place: `count` rows or, if `count` is 0, as many rows
 * as fit. Returns false, after a message, if the log cannot be read or no longer has these rows.
 */
static bool fill(struct work *w, uint64_t count, struct had *had, struct ptrc_ship_batch *b)
{
	struct ptrc_shipper *s = w->shipper;
	int64_t day = 0;

	*b = (struct ptrc_ship_batch){0};
	ptrc_ship_packer_reset(&w->packer);
	while ((!count || b->count < count) && ptrc_ship_log_next(w->log)) {
		bool is_full = ptrc_ship_packer_packed(&w->packer) >= s->batch_bytes ||
			       ptrc_ship_packer_raw(&w->packer) >= RAW_MAX ||
			       b->count + w->log->row_count > ROWS_MAX;

		if (!count && b->count && (is_full || ptrc_ship_day_of(w->log->ns) != day))
			break;
		day = ptrc_ship_day_of(w->log->ns);
		put_rows(w, b, had);
		ptrc_ship_log_pass(w->log);
	}
	if (w->log->reader.error)
		return ptrc_cli_error(w->path, w->log->reader.error);
	w->end = w->log->place;
	/* If reading on fails, the next call reports the error, after this batch was sent. */
	w->is_end_of_log =
		w->log->is_closed && !ptrc_ship_log_next(w->log) && !w->log->reader.error;
	if (count && b->count != count)
		return ptrc_cli_message(w->path,
					"has fewer events than were shipped: it was cut off or is "
					"damaged");
	return true;
}

struct delivery {
	struct work *work;
	struct ptrc_ship_batch batch;
	struct ptrc_ship_range range;
	const struct ptrc_buffer *body;
	char token[96];
	/* The server may have rows of the batch, because the result of sending them is unknown. */
	bool is_doubtful;
	/* How many rows of the batch the server has, according to settle(). */
	uint64_t known;
};

static void set_token(struct delivery *d, uint64_t rest)
{
	const struct ptrc_ship_progress *p = &d->work->progress;
	int used = snprintf(d->token, sizeof(d->token),
			    "%016" PRIx64 "-%016" PRIx64 "-%" PRIu64 "-%" PRIu64, p->log_id,
			    p->nonce, p->place.rows, d->batch.count);

	/* The server drops a batch whose token it knows, so the rest of a batch needs another token. */
	if (rest)
		snprintf(d->token + used, sizeof(d->token) - (size_t)used, "-%" PRIu64, rest);
}

/* Asks the server which rows of the batch it has. If it has some of them, fills the packer with the others. */
static enum ptrc_ship_result settle(struct work *w, struct delivery *d)
{
	struct attempt a = attempt_by(w->shipper);
	struct ptrc_ship_batch b;
	uint64_t *numbers;
	struct had had = {0};

	a.is_quiet = true;
	while (is_asked_again(
		&a, ptrc_ship_server_list(w->shipper->server, &d->range, &numbers, &d->known)))
		;
	if (a.result != PTRC_SHIPPED)
		return a.result;
	had.numbers = numbers;
	had.count = d->known;
	if (d->known && d->known < d->batch.count) {
		if (!ptrc_ship_log_seek(w->log, &w->progress.place) ||
		    !fill(w, d->batch.count, &had, &b))
			a.result = PTRC_SHIP_LOG_FAILED;
		d->body = ptrc_ship_packer_end(&w->packer);
		set_token(d, d->batch.count - d->known);
	}
	free(numbers);
	return a.result;
}

/* Sends the batch, again if necessary, until the server has all of its rows. Does not send rows that the server
 * has already got from an earlier attempt or process. */
static enum ptrc_ship_result deliver(struct work *w, struct delivery *d)
{
	struct ptrc_shipper *s = w->shipper;
	struct attempt a = attempt_by(s);
	enum ptrc_ship_outcome outcome;
	/* The size of the first attempt, which has all rows that the server has not got from an earlier process. */
	uint64_t rows = 0, bytes = 0;

	do {
		enum ptrc_ship_result result = d->is_doubtful ? settle(w, d) : PTRC_SHIPPED;

		if (result != PTRC_SHIPPED)
			return result;
		if (d->known >= d->batch.count) {
			note_success(s);
			break;
		}
		if (is_stopped(s))
			return PTRC_SHIP_STOPPED;
		if (!rows) {
			rows = d->batch.count - d->known;
			bytes = d->body->used;
		}
		outcome = ptrc_ship_server_insert(s->server, "events", d->body, d->token);
		/* If no byte was sent, for example because no connection was made, the server has got no row. */
		d->is_doubtful = d->is_doubtful || s->server->sent;
	} while (is_asked_again(&a, outcome));
	if (a.result == PTRC_SHIPPED && rows) {
		s->sent.rows += rows;
		s->sent.batches++;
		s->sent.bytes += bytes;
	}
	return a.result;
}

static enum ptrc_ship_result send_batch(struct work *w, bool was_pending)
{
	struct ptrc_ship_progress *p = &w->progress;
	struct delivery d = {
		.work = w,
		.batch = p->batch,
		.range = {.host = w->log->whose.host.ph_name,
			  .log = w->log->name,
			  .first = p->place.rows,
			  .count = p->batch.count,
			  .first_ns = p->batch.first_ns,
			  .last_ns = p->batch.last_ns},
		.body = ptrc_ship_packer_end(&w->packer),
		.is_doubtful = was_pending || p->place.rows < p->doubtful,
	};
	enum ptrc_ship_result result;

	set_token(&d, 0);
	result = deliver(w, &d);
	if (result != PTRC_SHIPPED)
		return result;
	p->place = w->end;
	p->batch = (struct ptrc_ship_batch){0};
	p->is_complete = w->is_end_of_log;
	return PTRC_SHIPPED;
}

/* ---- the tables of hosts and processes ---- */

static enum ptrc_ship_result insert_table(struct work *w, const char *table)
{
	const struct ptrc_buffer *body = ptrc_ship_packer_end(&w->packer);
	struct attempt a = attempt_by(w->shipper);
	char token[96];

	snprintf(token, sizeof(token), "%s-%016" PRIx64 "-%s-%lld", w->log->name, w->progress.nonce,
		 table, (long long)ptrc_now_ns());
	while (is_asked_again(&a, ptrc_ship_server_insert(w->shipper->server, table, body, token)))
		;
	ptrc_ship_packer_reset(&w->packer);
	return a.result;
}

/* Whether the row was sent before. If it was not, remembers it, even before it is sent: if the server does
 * not take it, the command ends anyway. */
static bool is_told(struct ptrc_shipper *s, const char *row, size_t size)
{
	uint64_t number = ptrc_table_hash(row, size) | 1;
	uint64_t *set = s->told[(number >> 32) % PTRC_SHIP_TOLD_SETS];

	for (size_t i = 0; i < PTRC_SHIP_TOLD_WAYS; i++)
		if (set[i] == number)
			return true;
	memmove(set + 1, set, (PTRC_SHIP_TOLD_WAYS - 1) * sizeof(*set));
	*set = number;
	return false;
}

static enum ptrc_ship_result tell_host(struct work *w)
{
	struct ptrc_buffer *rows = &w->packer.rows;

	ptrc_ship_packer_reset(&w->packer);
	if (!ptrc_ship_whose_put_host(&w->log->whose, rows) ||
	    is_told(w->shipper, rows->bytes, rows->used))
		return PTRC_SHIPPED;
	return insert_table(w, "hosts");
}

static enum ptrc_ship_result tell_processes(struct work *w)
{
	struct ptrc_shipper *s = w->shipper;
	struct ptrc_buffer *rows = &w->packer.rows;
	enum ptrc_ship_result result = PTRC_SHIPPED;

	ptrc_ship_packer_reset(&w->packer);
	for (size_t i = 0; result == PTRC_SHIPPED && i < w->log->whose.process_count; i++) {
		size_t used = rows->used;

		if (!ptrc_ship_whose_put_process(&w->log->whose, w->log->reader.trace, i,
						 &w->log->head, rows))
			continue;
		if (is_told(s, rows->bytes + used, rows->used - used)) {
			rows->used = used;
			continue;
		}
		ptrc_ship_packer_take(&w->packer);
		if (ptrc_ship_packer_packed(&w->packer) >= s->batch_bytes)
			result = insert_table(w, "processes");
	}
	if (result == PTRC_SHIPPED && ptrc_ship_packer_raw(&w->packer))
		result = insert_table(w, "processes");
	return result;
}

/* Sends the host and its processes if the log has entries about them that were not sent. The server keeps the
 * latest row of each. */
static enum ptrc_ship_result tell_whose(struct work *w)
{
	uint64_t told = w->log->whose.process_count + 1;
	enum ptrc_ship_result result;

	if (w->progress.told == told)
		return PTRC_SHIPPED;
	result = tell_host(w);
	if (result == PTRC_SHIPPED)
		result = tell_processes(w);
	if (result == PTRC_SHIPPED)
		w->progress.told = told;
	return result;
}

/* ---- sending one log ---- */

static char *progress_path(const struct ptrc_shipper *s, const char *log)
{
	if (s->state_directory)
		return ptrc_cli_text("%s/%s.ship", s->state_directory, basename(log));
	return ptrc_cli_text("%s.ship", log);
}

/* For a log without a progress file, asks the server which rows of the log it has. Usually there are none, but the
 * progress file may have been removed. */
static enum ptrc_ship_result find_end(struct work *w)
{
	struct attempt a = attempt_by(w->shipper);

	while (is_asked_again(&a, ptrc_ship_server_end_of(w->shipper->server,
							  w->log->whose.host.ph_name, w->log->name,
							  &w->progress.doubtful)))
		;
	if (a.result != PTRC_SHIPPED || !w->progress.doubtful || !w->log->is_shortened)
		return a.result;
	/* Rows are numbered from the first existing file on. As the first files are gone, the rows would get
	 * numbers under which the server has other rows. */
	ptrc_cli_message(w->path,
			 "its first files and the progress file %s are gone, so it is not known "
			 "which of its rows the server has",
			 w->progress.path);
	return PTRC_SHIP_LOG_FAILED;
}

static void begin_progress(struct work *w)
{
	const struct ptrc_ship_options *o = &w->shipper->server->options;
	struct ptrc_ship_progress *p = &w->progress;

	free(p->server);
	free(p->database);
	p->log_id = w->log->id;
	p->server = ptrc_cli_copy(o->server);
	p->database = ptrc_cli_copy(o->database);
	p->place = (struct ptrc_ship_place){0};
	p->batch = (struct ptrc_ship_batch){0};
	p->is_damaged = p->is_complete = false;
	p->told = 0;
}

/* If the part of the log at which the sending has to go on was deleted with the first files (--log-keep), goes on at
 * the first part that exists. The numbers of the rows that were being sent are not used again, because the server may
 * have these rows. */
static void skip_deleted(struct work *w)
{
	struct ptrc_ship_progress *p = &w->progress;
	uint64_t first = w->log->first_part;

	if (p->is_complete || p->place.part >= first)
		return;
	/* If only this part is gone, all of its events may have been sent. */
	if (p->place.part + 1 < first)
		ptrc_cli_message(w->path, "its first files were deleted before all of their events "
					  "were sent");
	p->place = (struct ptrc_ship_place){.part = first, .rows = p->place.rows + p->batch.count};
	p->batch = (struct ptrc_ship_batch){0};
}

/* Opens the progress file and goes to the place in the log that it states. Returns false after a message, or
 * without a message if it sets .has_forgotten. */
static bool take_progress(struct work *w)
{
	struct ptrc_ship_progress *p = &w->progress;
	const struct ptrc_ship_options *o = &w->shipper->server->options;
	PTRC_SCOPED char *path = progress_path(w->shipper, w->path);
	bool is_same;

	if (!ptrc_ship_progress_open(p, path))
		return false;
	is_same = !p->is_empty && p->log_id == w->log->id;
	/* Another process may have changed or removed the progress file while the log was kept open. Then rows may
	 * be wanted that the open log no longer has. */
	w->has_forgotten = (is_same ? p->place.part : 0) < w->log->first;
	if (w->has_forgotten)
		return false;
	if (!p->is_empty && (strcmp(p->server, o->server) || strcmp(p->database, o->database)))
		return ptrc_cli_message(
			p->path,
			"belongs to the database '%s' of %s; --state-directory lets a log be "
			"shipped to several servers",
			p->database, p->server);
	if (!p->is_empty && !is_same && !p->is_complete)
		ptrc_cli_message(w->path,
				 "has replaced another log, of which %" PRIu64
				 " rows were shipped, maybe not all",
				 p->place.rows);
	if (is_same)
		skip_deleted(w);
	else
		begin_progress(w);
	w->is_known = is_same;
	return ptrc_ship_log_seek(w->log, &p->place);
}

void ptrc_ship_forget(struct ptrc_shipper *s, const char *path)
{
	PTRC_SCOPED char *file = progress_path(s, path);

	if (unlink(file) && errno != ENOENT)
		ptrc_cli_error(file, errno);
}

void ptrc_ship_let_go(struct ptrc_ship_log **kept)
{
	ptrc_ship_log_close(*kept);
	*kept = NULL;
}

/* Opens the log, or updates it if it is open, so that it ends with what was written at least SETTLE_NS ago. */
static enum ptrc_ship_result open_log(struct work *w)
{
	uint64_t end = UINT64_MAX;

	for (;;) {
		bool has_waited = end != UINT64_MAX, has_more;
		int64_t age_ns;
		if (w->log && !ptrc_ship_log_refresh(w->log, end))
			ptrc_ship_let_go(&w->log);
		if (!w->log)
			w->log = ptrc_ship_log_open(w->path, end);
		if (!w->log)
			return PTRC_SHIP_LOG_FAILED;
		/* Gets the age after the log was opened, so everything in the opened log is at least this old. */
		age_ns = ptrc_ship_age_ns(w->path);
		has_more = w->log->end_part > end;
		if (age_ns >= SETTLE_NS && !has_more)
			return PTRC_SHIPPED;
		/* After the wait, the parts before `end' are old enough. Later parts are left for the next round.
		 * But if the log was closed meanwhile, waits until all of it is old enough, because it does not
		 * grow any more. */
		if (age_ns < SETTLE_NS && has_waited && !(has_more && w->log->is_closed))
			return PTRC_SHIPPED;
		end = age_ns < SETTLE_NS ? w->log->end_part : UINT64_MAX;
		if (age_ns < SETTLE_NS && !ptrc_ship_wait(w->shipper, SETTLE_NS - age_ns)) {
			ptrc_ship_let_go(&w->log);
			return PTRC_SHIP_STOPPED;
		}
	}
}

static enum ptrc_ship_result ship(struct work *w)
{
	struct ptrc_ship_progress *p = &w->progress;
	enum ptrc_ship_result result = w->is_known ? PTRC_SHIPPED : find_end(w);
	bool was_pending = p->batch.count, has_news = false;
	struct had none = {0};

	if (result == PTRC_SHIPPED)
		result = tell_whose(w);
	while (result == PTRC_SHIPPED && !p->is_complete) {
		struct ptrc_ship_batch b;

		if (is_stopped(w->shipper))
			return PTRC_SHIP_STOPPED;
		if (!fill(w, p->batch.count, &none, &b))
			return PTRC_SHIP_LOG_FAILED;
		if (!p->is_damaged && ptrc_ship_log_is_damaged(w->log))
			p->is_damaged = has_news = true;
		if (!b.count) {
			has_news |= w->is_end_of_log;
			p->is_complete = w->is_end_of_log;
			break;
		}
		has_news = true;
		p->batch = b;
		if (!was_pending && !ptrc_ship_progress_write(p))
			return PTRC_SHIP_LOG_FAILED;
		result = send_batch(w, was_pending);
		was_pending = false;
	}
	if (result == PTRC_SHIPPED && (has_news || !w->is_known) && !ptrc_ship_progress_write(p))
		return PTRC_SHIP_LOG_FAILED;
	return result;
}

bool ptrc_ship_is_incomplete(const struct ptrc_shipper *s, const struct ptrc_ship_report *r)
{
	if (r->result != PTRC_SHIPPED && r->result != PTRC_SHIPPED_WHOLE)
		return false;
	/* With --follow, the losses of a log that still grows are reported later, when the log is closed. */
	return (ptrc_losses_is_any(&r->losses) || r->is_damaged) &&
	       !(s->is_following && r->losses.is_unclosed);
}

static void report(struct work *w, const struct ptrc_ship_sent *before, struct ptrc_ship_report *r)
{
	const struct ptrc_ship_sent *now = &w->shipper->sent;

	r->sent.rows += now->rows - before->rows;
	r->sent.batches += now->batches - before->batches;
	r->sent.bytes += now->bytes - before->bytes;
	r->sent.retries += now->retries - before->retries;
	if (!w->log)
		return;
	r->is_open = true;
	memcpy(r->name, w->log->name, sizeof(r->name));
	r->place = w->progress.place;
	r->is_damaged = w->progress.is_damaged;
	ptrc_ship_log_losses(w->log, &r->losses);
}

static enum ptrc_ship_result ship_log(struct work *w)
{
	struct ptrc_shipper *s = w->shipper;
	/* Reads the progress file before it asks the server, which may not answer for a long time, so that errors
	 * on this machine are reported at once. */
	enum ptrc_ship_result result = take_progress(w) ? ptrc_ship_greet(s) : PTRC_SHIP_LOG_FAILED;

	if (result == PTRC_SHIPPED && !w->progress.is_complete) {
		w->log->fields.dialect = s->server->dialect;
		ptrc_ship_packer_begin(&w->packer, s->server->dialect, s->batch_bytes);
		result = ship(w);
	}
	return result == PTRC_SHIPPED && w->progress.is_complete ? PTRC_SHIPPED_WHOLE : result;
}

enum ptrc_ship_result ptrc_ship_log(struct ptrc_shipper *s, const char *path,
				    struct ptrc_ship_log **kept, struct ptrc_ship_report *r)
{
	struct ptrc_ship_sent before = s->sent;
	struct work w = {.shipper = s, .path = path, .progress = {.fd = -1}};

	if (kept)
		w.log = *kept;
	do {
		if (w.has_forgotten) {
			ptrc_ship_progress_close(&w.progress);
			ptrc_ship_log_close(w.log);
			w = (struct work){.shipper = s, .path = path, .progress = {.fd = -1}};
		}
		r->result = open_log(&w);
		if (r->result == PTRC_SHIPPED)
			r->result = ship_log(&w);
	} while (w.has_forgotten);
	report(&w, &before, r);
	if (ptrc_ship_is_incomplete(s, r)) {
		ptrc_losses_report(&r->losses, path);
		if (r->is_damaged && !ptrc_ship_log_is_damaged(w.log))
			ptrc_cli_message(path, "is damaged, as was found when it was sent");
	}
	ptrc_ship_progress_close(&w.progress);
	ptrc_ship_packer_free(&w.packer);
	if (kept)
		*kept = r->result == PTRC_SHIPPED ? w.log : NULL;
	if (!kept || !*kept)
		ptrc_ship_log_close(w.log);
	return r->result;
}
