/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/model/glob.h"
#include "src/base/nearest.h"
#include "src/doctor/doctor.h"
#include "src/session/keeper.h"
#include "src/session/obstacle.h"
#include "src/session/orphans.h"
#include "src/session/traced.h"
#include "src/query/reader.h"

/* Reports if the log, a named pipe, accepts no data, so that the keeper (which writes the log) has to wait. */
static void check_pipe(struct ptrc_doctor *d, const char *log)
{
	struct pollfd p = {.fd = open(log, O_WRONLY | O_CLOEXEC | O_NONBLOCK), .events = POLLOUT};

	if (p.fd < 0 && errno == ENXIO)
		ptrc_doctor_problem(d, "log", log, NULL, "is a pipe that no process reads");
	if (p.fd < 0)
		return;
	if (!poll(&p, 1, 0))
		ptrc_doctor_problem(
			d, "log", log, "have its reader read on",
			"is a pipe that is full: ptrace-keeper, which writes it, waits");
	close(p.fd);
}

static void check_log_file(struct ptrc_doctor *d, const struct ptrc_session_state *s)
{
	struct stat st;
	int error;

	if (!s->has_log)
		return;
	/* Where the session sees other files than this command, only the session knows. */
	if (!s->is_log_gone &&
	    (ptrc_session_is_foreign(s) ||
	     ptrc_obstacle_is_other(s->controller, "ns/mnt", "/proc/self/ns/mnt") ||
	     ptrc_obstacle_is_other(s->controller, "root", "/proc/self/root")))
		return;
	error = stat(s->log, &st) ? errno : 0;
	/* The log of a session with --log-keep is not gone if only its first file was deleted. */
	if (error == ENOENT && ptrc_reader_is_there(s->log))
		return;
	if (error || s->is_log_gone)
		ptrc_doctor_problem(
			d, "log", s->log,
			"make another session; what is written meanwhile is gone with "
			"this one",
			"the file that session %s writes its log to is no longer here: %s", s->name,
			error ? strerror(error) : "another file has its name");
	else if (S_ISREG(st.st_mode))
		ptrc_doctor_disk(d, s->log);
	else if (S_ISFIFO(st.st_mode))
		check_pipe(d, s->log);
}

/* Reports if the session's keeper, which writes its log, was killed or is stopped. Finds the session's stream
 * among those that trace the target. */
static void check_keeper(struct ptrc_doctor *d, const struct ptrc_session_state *s)
{
	static struct ptrc_inspected_stream stream;
	struct ptrc_inspected_process p;
	char advice[60];

	if (!s->has_log || ptrc_session_is_foreign(s) || ptrc_inspect_process(s->target, &p))
		return;
	for (unsigned int i = 0; i < p.pt_streams; i++) {
		if (ptrc_inspect_stream(s->target, i, &stream) ||
		    stream.pt_controller != s->controller)
			continue;
		if (!stream.pt_is_kept) {
			ptrc_doctor_problem(d, "keeper", s->name, "ptrace-flush starts another",
					    "the process that writes its log was killed");
		} else if (ptrc_keeper_is_stopped(stream.pt_keeper)) {
			snprintf(advice, sizeof(advice), "kill -CONT %ld continues it",
				 (long)stream.pt_keeper);
			ptrc_doctor_problem(d, "keeper", s->name, advice,
					    "ptrace-keeper (%ld), which writes its log, is stopped",
					    (long)stream.pt_keeper);
		}
	}
}

/* Reports if a rotated log cannot go on in another file. That is no loss, but the present file grows without a limit. */
static void check_rotation(struct ptrc_doctor *d, const struct ptrc_session_state *s)
{
	const struct ptrc_losses l = ptrc_losses_of_rotation(&s->counts);
	struct ptrc_loss loss;
	size_t place = 0;

	if (ptrc_losses_next(&l, &place, &loss))
		ptrc_doctor_note(
			d, "log", s->name,
			l.rotation_error == ENOSPC
				? "make room on the disk, also for one more file; the next "
				  "attempt comes by itself"
				: "see where the log is written; the next attempt comes by "
				  "itself",
			"%s", loss.text);
}

/* Reports that the target has ended. That is a problem only if the session traces no other process. */
static void check_target(struct ptrc_doctor *d, const struct ptrc_session_state *s)
{
	struct ptrc_traced others = {0};
	char end[100 + PTRC_SESSION_NAME_MAX];

	if (s->is_target_alive)
		return;
	snprintf(end, sizeof(end),
		 "if no process that it started is still to be traced, end the session: "
		 "ptrace-shutdown %s",
		 s->name);
	if (!ptrc_session_is_foreign(s))
		ptrc_traced_find_of(&others, s->controller);
	if (others.count)
		ptrc_doctor_note(d, "target", s->name, NULL,
				 "process %d has ended; still traced: %s", s->target, others.text);
	else if (s->is_run)
		ptrc_doctor_note(d, "target", s->name, NULL, "its COMMAND, process %d, has ended",
				 s->target);
	else
		ptrc_doctor_problem(d, "target", s->name, end,
				    "process %d, which it traces, has ended", s->target);
	ptrc_traced_free(&others);
}

static void check_session(struct ptrc_doctor *d, const struct ptrc_session_state *s)
{
	struct ptrc_losses losses;
	char advice[PTRC_SESSION_NAME_MAX + 40];
	bool is_full = false;
	char text[32];

	snprintf(advice, sizeof(advice), "ptrace-flush %s", s->name);
	if (ptrc_session_is_foreign(s))
		ptrc_doctor_note(d, "pid-namespace", s->name,
				 "run the commands where it is (nsenter, docker exec)",
				 "traces pid %d of another namespace", s->target);
	check_keeper(d, s);
	if (s->is_ending)
		ptrc_doctor_note(d, "ending", s->name, NULL, "is being ended");
	else
		is_full = ptrc_doctor_status(d, s->name, s->name, &s->status,
					     s->attributes.stream_full_policy, s->has_log);
	check_target(d, s);
	ptrc_losses_gather(&losses, &s->status, &s->counts);
	/* ptrc_doctor_status() has reported the write error already. */
	losses.write_error = 0;
	ptrc_doctor_losses(d, s->name, &losses, is_full,
			   !s->has_log && s->attributes.stream_full_policy == POSIX_TRACE_LOOP,
			   s->attributes.log_full_policy == POSIX_TRACE_LOOP);
	if (s->has_log && !s->status.posix_stream_flush_error && s->counts.pt_stream_bytes &&
	    !s->counts.pt_log_events && !ptrc_session_keeps_nothing(s))
		ptrc_doctor_note(d, "flush", s->name, advice,
				 "%s of events are in the stream, and none in the log yet",
				 ptrc_doctor_size(s->counts.pt_stream_bytes, text));
	check_rotation(d, s);
	check_log_file(d, s);
}

/* Words for the shell: events and patterns that the advice lets ptrace-filter remove. has_dash: one starts with '-'. */
struct removal {
	struct ptrc_buffer words;
	bool has_dash;
};

static void add_text(struct removal *r, const char *text)
{
	r->has_dash |= *text == '-';
	ptrc_buffer_char(&r->words, ' ');
	ptrc_text_word(&r->words, text);
}

/* Adds a name as a glob that matches nothing else. */
static void add_name(struct removal *r, const char *name)
{
	PTRC_SCOPED_BUFFER glob = PTRC_BUFFER_INIT;

	for (; *name; name++) {
		if (strchr("*?[\\", *name))
			ptrc_buffer_char(&glob, '\\');
		ptrc_buffer_char(&glob, *name);
	}
	ptrc_buffer_char(&glob, '\0');
	add_text(r, glob.bytes);
}

static void check_event(struct ptrc_doctor *d, const char *session, unsigned long refused)
{
	struct ptrc_nearest nearest = {0};
	struct removal removal = {PTRC_BUFFER_INIT, false};
	PTRC_SCOPED_BUFFER advice = PTRC_BUFFER_INIT;
	bool has_only = false, is_in_only = false, is_in_glob = false;
	struct ptrc_session_types types;
	unsigned long long events = 0;
	size_t found = 0, filtered = 0;
	char proposal[900];

	if (!d->event || ptrc_session_types_get(session, &types))
		return;
	for (size_t i = 0; i < types.count; i++) {
		const struct ptrc_session_type *type = &types.types[i];

		if (ptrc_doctor_is_missed(d, type->name)) {
			found++;
			filtered += type->is_filtered;
			events += type->events;
			if (type->is_filtered && ptrc_glob_matches(d->event, type->name))
				is_in_glob = true;
			else if (type->is_filtered)
				add_name(&removal, type->name);
		} else if (!ptrc_filter_rules_is_glob(d->event)) {
			ptrc_nearest_offer(&nearest, d->event, type->name);
		}
	}
	if (is_in_glob)
		add_text(&removal, d->event);
	for (size_t i = 0; i < types.pattern_count; i++) {
		const struct posixtrace_pattern *p = &types.patterns[i];
		bool is_match = ptrc_glob_matches(p->pt_glob, d->event);

		has_only |= p->pt_how == POSIXTRACE_ONLY;
		is_in_only |= p->pt_how == POSIXTRACE_ONLY && is_match;
		if (!found && p->pt_how == POSIXTRACE_EXCLUDE && is_match)
			add_text(&removal, p->pt_glob);
	}
	ptrc_buffer_format(&advice, "ptrace-filter --remove %s%s", session,
			   removal.has_dash ? " --" : "");
	ptrc_buffer_bytes(&advice, removal.words.bytes, removal.words.used);
	ptrc_buffer_char(&advice, '\0');
	if (events)
		ptrc_doctor_ok(d, "event", session, "%s happened %llu time%s", d->event, events,
			       events == 1 ? "" : "s");
	if (filtered && found > 1)
		ptrc_doctor_problem(d, "filtered", session, advice.bytes,
				    "filters out %zu of %zu event types %s", filtered, found,
				    d->event);
	else if (filtered)
		ptrc_doctor_problem(d, "filtered", session, advice.bytes, "filters out %s",
				    d->event);
	else if (found && !events)
		ptrc_doctor_note(d, "event", session, NULL,
				 "%s was opened, but has not happened while it was traced",
				 d->event);
	else if (!found && removal.words.used)
		ptrc_doctor_problem(d, "filtered", session, advice.bytes,
				    "will filter out %s when it is opened, because a pattern of "
				    "--exclude matches it",
				    d->event);
	if (!found && has_only && !is_in_only)
		ptrc_doctor_problem(d, "filtered", session,
				    "change its patterns: ptrace-filter --only",
				    "will filter out %s when it is opened, because no pattern of "
				    "--only matches it",
				    d->event);
	if (!found && refused)
		ptrc_doctor_note(d, "event", session, NULL,
				 "no event type is called %s; it may be among the at least %lu "
				 "names that got no type",
				 d->event, refused);
	else if (!found)
		ptrc_doctor_problem(d, "event", session, NULL,
				    "no process that it traces has opened an event %s%s", d->event,
				    ptrc_nearest_text(&nearest, proposal, sizeof(proposal)));
	ptrc_buffer_free(&removal.words);
	ptrc_session_types_free(&types);
}

static void say_error(struct ptrc_doctor *d, const char *name, int error)
{
	char left[PTRC_ORPHANS_TEXT_BYTES];

	if (error == ECONNREFUSED && ptrc_orphans_of_session(name, left)) {
		ptrc_doctor_problem(d, "session", name, NULL, "%s", left);
		return;
	}
	ptrc_doctor_problem(
		d, "session", name,
		error == ECONNREFUSED
			? "ptrace-doctor LOG examines its log, if it had one; the name is free"
		: error == ETIMEDOUT ? "if it is killed its log has all events until then"
				     : NULL,
		"%s",
		error == ECONNREFUSED ? "the background process that controlled it was killed"
				      : ptrc_session_explain_of(name, error));
}

bool ptrc_doctor_session(struct ptrc_doctor *d, const char *name)
{
	static struct ptrc_session_reply reply;
	char *names[] = {(char *)name};
	int error;

	/* Does not call ptrc_session_ask(), which would remove the socket of a killed controller. */
	ptrc_session_stat_all(names, 1, false, &reply, &error);
	if (error == ENOENT)
		return false;
	if (error) {
		say_error(d, name, error);
		return true;
	}
	check_session(d, &reply.state);
	check_event(d, name, reply.state.counts.pt_refused_names);
	if (reply.state.is_target_alive && !ptrc_session_is_foreign(&reply.state))
		ptrc_doctor_process(d, reply.state.target, reply.state.controller);
	return true;
}

void ptrc_doctor_sessions(struct ptrc_doctor *d)
{
	const struct ptrc_session_list *all = ptrc_doctor_list();

	for (size_t i = 0; i < all->count; i++) {
		if (all->errors[i])
			say_error(d, all->names[i], all->errors[i]);
		else
			check_session(d, &all->replies[i].state);
	}
	if (!all->count)
		ptrc_doctor_ok(d, "session", "sessions", "none exists");
}
