/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/nearest.h"
#include "src/base/scope.h"
#include "src/base/message.h"
#include "src/doctor/doctor.h"
#include "src/query/reader.h"
#include "src/session/obstacle.h"
#include "src/session/orphans.h"

struct patient {
	struct ptrc_doctor *d;
	pid_t pid;
	/* If not 0, only streams of this controller are examined: see ptrc_doctor_process(). */
	pid_t controller;
	/* The name of the process in the report, for example "4711 (name)". */
	char thing[64];
	struct ptrc_inspected_process seen;
	/* From /proc/PID/status: the state, and the seccomp mode (2: filter). */
	char state;
	int seccomp;
	/* The process has the library, but nothing in the directory of its user leads to it. */
	bool is_unreachable;
};

static void proc_path(pid_t pid, const char *rest, char path[64])
{
	snprintf(path, 64, "/proc/%ld/%s", (long)pid, rest);
}

static bool read_status(struct patient *p)
{
	char path[64], line[256], name[32] = "?";
	PTRC_SCOPED_FILE *f = NULL;

	proc_path(p->pid, "status", path);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Name: %31[^\n]", name) == 1 ||
		    sscanf(line, "State: %c", &p->state) == 1)
			continue;
		sscanf(line, "Seccomp: %d", &p->seccomp);
	}
	snprintf(p->thing, sizeof(p->thing), "%ld (%s)", (long)p->pid, name);
	return true;
}

/* Looks for what keeps the caller from tracing the process, whatever program it runs. Returns false if there is such an
 * obstacle, so that further checks make no sense. */
static bool check_obstacle(struct patient *p)
{
	struct ptrc_obstacle o;

	/* That a traced process can have no other trace is an obstacle only if the user wants another one. */
	if (!(p->seen.pt_is_traced_as_root && !p->d->is_about_tracing) &&
	    ptrc_obstacle_find(p->pid, &o)) {
		ptrc_doctor_problem(p->d, o.check, p->thing, o.advice, "%s", o.reason);
		return false;
	}
	if (ptrc_obstacle_is_other(p->pid, "ns/user", "/proc/self/ns/user"))
		ptrc_doctor_note(p->d, "user-namespace", p->thing, NULL,
				 "is in another user namespace, where users have other numbers");
	return true;
}

static void check_library(struct patient *p)
{
	char path[64], exe[PATH_MAX] = "?";
	enum ptrc_doctor_library library;
	ssize_t n;

	if (p->seen.pt_has_library) {
		ptrc_doctor_ok(p->d, "library", p->thing, "has the library in it");
		return;
	}
	proc_path(p->pid, "exe", path);
	n = readlink(path, exe, sizeof(exe) - 1);
	if (n < 0 && errno == ENOENT) {
		ptrc_doctor_problem(p->d, "library", p->thing, NULL,
				    "is a thread of the kernel: it has no events");
		return;
	}
	exe[n < 0 ? 0 : n] = '\0';
	library = ptrc_doctor_library_of(p->pid);
	if (library == PTRC_DOCTOR_LIBRARY_STATIC || library == PTRC_DOCTOR_LIBRARY_SHARED) {
		/* A program that is just starting has not published yet that it has the library. It will be
		 * traced, so this is no obstacle. */
		if (p->d->obstacle)
			return;
		p->is_unreachable = true;
		ptrc_doctor_problem(
			p->d, "library", p->thing,
			"remove what is in the way and start it anew; a process that "
			"has changed its user is traced by root",
			"runs %s, which has the library, but cannot be reached: when it "
			"started, its directory in /dev/shm could not be used, or was "
			"removed since, or the process belonged to another user",
			exe);
	} else if (library == PTRC_DOCTOR_LIBRARY_UNKNOWN)
		ptrc_doctor_problem(p->d, "library", p->thing, NULL,
				    "shows nothing of the library, and its program cannot be read");
	else
		/* Unless the user asks whether the process can be traced, this is only a note:
		 * the purpose of the program may be to start other programs. */
		ptrc_doctor_say(p->d,
				p->d->is_about_tracing ? PTRC_DOCTOR_PROBLEM : PTRC_DOCTOR_NOTE,
				"library", p->thing, PTRC_DOCTOR_LINK_IT,
				"runs %s, which " PTRC_DOCTOR_NOT_LINKED, exe);
}

bool ptrc_doctor_status(struct ptrc_doctor *d, const char *thing, const char *session,
			const struct posix_trace_status_info *s, int full_policy, bool has_log)
{
	char advice[256];
	const char *name = session ? session : "SESSION";

	if (s->posix_stream_flush_error) {
		/* Another process may not be able to raise the limits of the controller and the keeper. */
		snprintf(advice, sizeof(advice),
			 s->posix_stream_flush_error == ENOSPC
				 ? "make room on the disk, then ptrace-flush %s"
			 : s->posix_stream_flush_error == EFBIG
				 ? "end it: ptrace-shutdown %s; make another with a larger ulimit "
				   "-f, or with --log-rotate"
				 : "see where the log is written, then ptrace-flush %s",
			 name);
		ptrc_doctor_problem(d, "log", thing, advice, "writing its log failed: %s",
				    ptrc_cli_write_reason(s->posix_stream_flush_error));
	}
	/* A log that overwrites its oldest events counts as full, but suspends the trace only if it cannot be written. */
	if (has_log && s->posix_log_full_status == POSIX_TRACE_FULL &&
	    s->posix_stream_status == POSIX_TRACE_SUSPENDED && !s->posix_stream_flush_error) {
		snprintf(advice, sizeof(advice),
			 "ptrace-clear %s empties it, and ptrace-start %s then goes on; a larger "
			 "--log-max-size, or --log-full-policy=loop or append",
			 name, name);
		ptrc_doctor_problem(d, "log-full", thing, advice,
				    "is suspended because its log is full");
		return true;
	}
	if (s->posix_stream_status == POSIX_TRACE_SUSPENDED &&
	    s->posix_stream_full_status == POSIX_TRACE_FULL) {
		if (full_policy == POSIX_TRACE_FLUSH)
			snprintf(advice, sizeof(advice),
				 "it goes on when it is flushed: ptrace-flush %s; a larger "
				 "--stream-min-size makes it rarer",
				 name);
		else
			snprintf(advice, sizeof(advice),
				 has_log ? "ptrace-flush %s; a larger --stream-min-size, or "
					   "--stream-full-policy=loop"
					 : "ptrace-clear %s empties it, and ptrace-start %s then "
					   "goes on; a larger --stream-min-size, or "
					   "--stream-full-policy=loop",
				 name, name);
		ptrc_doctor_problem(d, "stream-full", thing, advice,
				    "is suspended because its stream is full");
		return true;
	}
	if (s->posix_stream_status == POSIX_TRACE_SUSPENDED) {
		if (session)
			snprintf(advice, sizeof(advice), "ptrace-start %s", session);
		ptrc_doctor_problem(d, "suspended", thing,
				    session ? advice
					    : "the process that created the trace has to start it",
				    "is suspended: it was not started, or was stopped");
	} else {
		ptrc_doctor_ok(d, "running", thing, "is running");
	}
	return false;
}

/* Reports events that the process has opened, but that the filter of the stream excludes. */
static void check_filter(struct patient *p, const char *thing,
			 const struct ptrc_inspected_stream *s)
{
	char name[TRACE_EVENT_NAME_MAX + 1], list[512] = "";
	unsigned int filtered = 0, asked = 0;
	trace_event_id_t id;
	size_t used = 0;

	/* check_event() of doctor_session.c has already reported whether the missed event is filtered out. */
	if (p->d->event && p->controller)
		return;
	for (; ptrc_inspect_event(p->pid, asked, &id, name) == 0; asked++) {
		if (!ptrc_is_in_set(&s->pt_filter, id))
			continue;
		filtered++;
		if (ptrc_doctor_is_missed(p->d, name)) {
			ptrc_doctor_problem(p->d, "filtered", thing,
					    "change its filter: ptrace-filter", "filters out %s",
					    name);
			return;
		}
		if (used + strlen(name) + 3 < sizeof(list))
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
						 used ? ", " : "", name);
	}
	if (p->d->event || !filtered)
		return;
	if (filtered == asked)
		ptrc_doctor_problem(p->d, "filtered", thing, "change its filter: ptrace-filter",
				    "filters out all events that the process has: %s", list);
	else
		ptrc_doctor_note(p->d, "filtered", thing, NULL, "filters out %u of %u events: %s",
				 filtered, asked, list);
}

/* Whether ptrace-salvage has something to write of the stream of this controller. */
static bool has_rest(const struct ptrc_inspected_stream *s)
{
	PTRC_SCOPED struct posixtrace_orphan *list;
	bool is_found = false;
	size_t count;

	ptrc_orphans_list(&list, &count);
	for (size_t i = 0; i < count; i++)
		is_found |= list[i].pt_controller == s->pt_controller &&
			    !strcmp(list[i].pt_name, s->pt_name);
	return is_found;
}

/* Reports what is left of a stream whose controller is gone. */
static void check_rest(struct patient *p, const char *thing, const struct ptrc_inspected_stream *s)
{
	static const char killed[] = "the process that controlled it was killed";
	const char *with = s->pt_has_log ? ", and so was the one that writes its log" : "";

	if (s->pt_has_log && s->pt_is_kept)
		ptrc_doctor_problem(p->d, "controller", thing, "make another session",
				    "the process that controlled it is gone, and ptrace-keeper "
				    "completes its log");
	else if (p->seen.pt_user != geteuid())
		ptrc_doctor_problem(
			p->d, "controller", thing, NULL,
			"%s%s: its last events, if any, stand in /dev/shm; ptrace-salvage "
			"of user %lu writes them",
			killed, with, (unsigned long)p->seen.pt_user);
	else if (has_rest(s))
		ptrc_doctor_problem(p->d, "controller", thing, "ptrace-salvage writes them",
				    "%s%s: its last events stand in /dev/shm", killed, with);
	else
		ptrc_doctor_problem(p->d, "controller", thing, "make another session",
				    "%s%s; no event is left of it", killed, with);
}

static void check_stream(struct patient *p, const struct ptrc_inspected_stream *s)
{
	const char *session = p->controller ? NULL : ptrc_doctor_session_of(s->pt_controller);
	struct ptrc_losses losses = {0};
	char thing[400];
	bool is_full;

	if (session)
		snprintf(thing, sizeof(thing), "%s, session %s", p->thing, session);
	else
		snprintf(thing, sizeof(thing), "%s, stream %s%sof process %ld", p->thing,
			 s->pt_name, *s->pt_name ? " " : "", (long)s->pt_controller);
	if (s->pt_error == EPROTO)
		ptrc_doctor_problem(
			p->d, "attach", thing,
			"link the program with the libposixtrace of these commands, or "
			"use the commands of its release",
			"the process could not open this stream: its libposixtrace knows "
			"the shared memory up to version %u, and the stream has version %u",
			s->pt_versions >> 8, s->pt_versions & 0xff);
	else if (s->pt_error == EXDEV)
		ptrc_doctor_problem(
			p->d, "attach", thing, "trace inside that namespace",
			"the process is in another pid or time namespace than the trace");
	else if (s->pt_error)
		ptrc_doctor_problem(p->d, "attach", thing,
				    "call posixtrace_attach() before chroot(), seccomp() or when "
				    "memory gets short",
				    "the process could not open this stream: %s%s",
				    strerror(s->pt_error),
				    p->seccomp == 2 ? "; it has a seccomp filter" : "");
	check_filter(p, thing, s);
	if (p->controller)
		return;
	if (!s->pt_is_controlled) {
		check_rest(p, thing, s);
		return;
	}
	if (s->pt_has_log && !s->pt_is_kept)
		ptrc_doctor_problem(p->d, "keeper", thing,
				    "ptrace-flush or ptrace-stat start another",
				    "the process that writes its log was killed");
	is_full = ptrc_doctor_status(p->d, thing, session, &s->pt_status, s->pt_full_policy,
				     s->pt_has_log);
	losses.stream_events = s->pt_lost_events;
	losses.unobserved_events = s->pt_unobserved_events;
	ptrc_doctor_losses(p->d, thing, &losses, is_full,
			   !s->pt_has_log && s->pt_full_policy == POSIX_TRACE_LOOP, false);
}

static void check_streams(struct patient *p)
{
	static struct ptrc_inspected_stream s;
	char advice[80];
	unsigned int found = 0;
	int error = 0;

	for (unsigned int i = 0; i < p->seen.pt_streams; i++) {
		error = ptrc_inspect_stream(p->pid, i, &s);
		if (error == EPROTO)
			ptrc_doctor_problem(
				p->d, "stream", p->thing,
				"use the commands of the release that made it",
				"one of its streams has version %u of the shared memory, and "
				"this command knows it up to version %u",
				s.pt_versions & 0xff, s.pt_versions >> 8);
		else if (error && error != ENOENT)
			ptrc_doctor_problem(p->d, "stream", p->thing, NULL,
					    "one of its streams cannot be used: %s",
					    error == EPERM ? "it is damaged, or not safe to use"
							   : strerror(error));
		if (error)
			continue;
		found++;
		if (!p->controller || s.pt_controller == p->controller)
			check_stream(p, &s);
	}
	if (found || (error && error != ENOENT))
		return;
	if (p->seen.pt_is_traced_as_root) {
		ptrc_doctor_ok(p->d, "traced", p->thing,
			       "is traced by root, as the process that forked it is");
		return;
	}
	snprintf(advice, sizeof(advice), "ptrace-create --start --pid=%ld", (long)p->pid);
	ptrc_doctor_problem(p->d, "traced", p->thing, advice, "no stream traces it");
}

static void check_names(struct patient *p)
{
	static char names[TRACE_USER_EVENT_MAX][TRACE_EVENT_NAME_MAX + 1];
	struct ptrc_nearest nearest = {0};
	char proposal[900];
	unsigned int count = 0;
	trace_event_id_t id;

	if (p->seen.pt_names_versions)
		ptrc_doctor_problem(
			p->d, "names", p->thing,
			"use the commands of the release that it is linked with",
			"its event names have version %u of the shared memory, and this command "
			"knows it up to version %u",
			p->seen.pt_names_versions & 0xff, p->seen.pt_names_versions >> 8);
	if (p->seen.pt_refused_names)
		ptrc_doctor_problem(
			p->d, "names", p->thing,
			"use fewer event names, one layout for each, and a larger /dev/shm",
			"event names that got no type of their own, as they have another layout, "
			"/dev/shm or memory had no room, or there are %d names: at least %lu%s%s",
			TRACE_USER_EVENT_MAX - 1, p->seen.pt_refused_names,
			*p->seen.pt_refused_name ? ", the first of them " : "",
			p->seen.pt_refused_name);
	/* The names of a process that is traced as root and has no page are those of the process that forked it. */
	if (!p->seen.pt_has_library || (p->d->event && p->controller) ||
	    (p->seen.pt_is_traced_as_root && !p->seen.pt_has_page))
		return;
	if (!p->d->event) {
		if (!p->seen.pt_events)
			ptrc_doctor_note(p->d, "event", p->thing, NULL, "has opened no event yet");
		return;
	}
	while (count < TRACE_USER_EVENT_MAX &&
	       ptrc_inspect_event(p->pid, count, &id, names[count]) == 0) {
		if (ptrc_doctor_is_missed(p->d, names[count])) {
			ptrc_doctor_ok(p->d, "event", p->thing, "has opened %s", names[count]);
			return;
		}
		if (!ptrc_filter_rules_is_glob(p->d->event))
			ptrc_nearest_offer(&nearest, p->d->event, names[count]);
		count++;
	}
	if (p->seen.pt_refused_names)
		ptrc_doctor_note(p->d, "event", p->thing, NULL,
				 "has no event type %s; it may be among the names that got no type",
				 p->d->event);
	else
		ptrc_doctor_problem(p->d, "event", p->thing, NULL, "has not opened an event %s%s",
				    p->d->event,
				    ptrc_nearest_text(&nearest, proposal, sizeof(proposal)));
}

static void say_traceable(const struct patient *p)
{
	char advice[80];

	snprintf(advice, sizeof(advice), "ptrace-create --start --pid=%ld", (long)p->pid);
	ptrc_doctor_say(p->d, PTRC_DOCTOR_OK, "traced", p->thing, advice,
			p->seen.pt_streams ? "is traced, and can be traced by others"
					   : "can be traced");
}

void ptrc_doctor_process(struct ptrc_doctor *d, pid_t pid, pid_t controller)
{
	struct patient p = {.d = d, .pid = pid, .controller = controller};
	unsigned int problems = d->problems;
	bool is_traceable;
	int error;

	snprintf(p.thing, sizeof(p.thing), "%ld", (long)pid);
	error = ptrc_inspect_process(pid, &p.seen);
	if (!read_status(&p) && !error)
		error = ESRCH;
	if (error == ESRCH) {
		ptrc_doctor_problem(d, "process", p.thing, NULL,
				    p.state == 'Z' ? "has ended" : "no such process");
		return;
	}
	if (error == EPERM && !check_obstacle(&p))
		return;
	if (error) {
		ptrc_doctor_problem(d, "process", p.thing, NULL, "cannot be examined: %s",
				    error == EPERM ? "it, or its directory in /dev/shm, is not "
						     "yours to use"
						   : strerror(error));
		return;
	}
	if (p.state == 'T' || p.state == 't')
		ptrc_doctor_note(d, "process", p.thing, "continue it: kill -CONT", "is stopped");
	if (!check_obstacle(&p))
		return;
	check_library(&p);
	if (p.seccomp == 2)
		ptrc_doctor_note(d, "seccomp", p.thing,
				 "call posixtrace_attach() before the filter is set",
				 "has a seccomp filter, which may forbid what a first event does");
	is_traceable = d->problems == problems;
	check_names(&p);
	if (!d->is_about_tracing && (!p.is_unreachable || p.seen.pt_streams))
		check_streams(&p);
	else if (is_traceable)
		say_traceable(&p);
}

bool ptrc_doctor_find_obstacle(pid_t pid, bool has_os, struct ptrc_doctor_obstacle *obstacle)
{
	struct ptrc_doctor d = {.obstacle = obstacle, .is_about_tracing = !has_os};
	struct patient p = {.d = &d, .pid = pid};

	*obstacle->text = '\0';
	if (ptrc_inspect_process(pid, &p.seen) || !read_status(&p))
		return false;
	if (check_obstacle(&p))
		check_library(&p);
	return *obstacle->text;
}
