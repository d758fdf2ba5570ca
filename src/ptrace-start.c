/* SPDX-License-Identifier: MIT */
/* ptrace-start, -stop, -clear, -flush and -shutdown are this one program. It does what its name says to each
 * session among the operands. */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "src/base/cli.h"
#include "src/base/exit_status.h"
#include "src/base/json.h"
#include "src/base/output.h"
#include "src/query/losses.h"
#include "src/session/orphans.h"
#include "src/session/session_client.h"
#include "src/session/unmatched.h"

static bool is_loss_allowed, is_json, is_all;

static const struct ptrc_cli_option options[] = {
	/* The first two options are only for ptrace-shutdown. */
	{"all", 0, NULL, "end all sessions of the user"},
	{"allow-loss", 0, NULL, "exit with 0 even if the log is incomplete"},
	{"json", 0, NULL, "print the result as JSON"},
	PTRC_CLI_OPTIONS_END,
};

static const struct command {
	const char *program;
	enum ptrc_session_verb verb;
	const char *summary;
	const char *notes;
} commands[] = {
	{"ptrace-start", PTRC_SESSION_START,
	 "Starts the traces of the sessions; nothing happens if they run already.",
	 "Exit status: 0 done, 1 failed, 2 wrong usage."},
	{"ptrace-stop", PTRC_SESSION_STOP,
	 "Stops the traces of the sessions; nothing happens if they are stopped\n"
	 "already.",
	 "Exit status: 0 done, 1 failed, 2 wrong usage."},
	{"ptrace-clear", PTRC_SESSION_CLEAR,
	 "Removes all events from the streams and the log files of the sessions, and\n"
	 "empties their filters.",
	 "Exit status: 0 done, 1 failed, 2 wrong usage."},
	{"ptrace-flush", PTRC_SESSION_FLUSH,
	 "Writes the events that the sessions still hold in memory to their logs, and\n"
	 "waits until they are written.",
	 "Exit status: 0 done, 1 failed, 2 wrong usage, 3 the log is full or gone."},
	{"ptrace-shutdown", PTRC_SESSION_SHUTDOWN,
	 "Ends the sessions: the events that they still hold in memory are written to\n"
	 "the logs, the logs are closed, and no process of the sessions is left.",
	 "Exit status: 0 done, 1 failed, 2 wrong usage, 3 the log is incomplete."},
};
enum { COMMANDS = sizeof(commands) / sizeof(*commands) };

struct result {
	/* The error number of ptrc_session_ask() or of the session's reply, or 0; `reason` says the same in
	 * words. */
	int error;
	char reason[PTRC_ORPHANS_TEXT_BYTES];
	bool has_losses;
	struct ptrc_losses losses;
	/* After a shutdown: the last event types and patterns of the session. */
	struct ptrc_session_types types;
	/* After a shutdown: the snapshots of --snapshot-on. */
	struct ptrc_snapshots_state snapshots;
	/* After a flush: the path of the log if it is full, which has stopped the recording; else "". */
	char full_log[PATH_MAX];
};

/* After a flush: checks whether the session's log still exists at its path, and whether it is full. */
static void look_for_log(const char *name, struct result *r)
{
	const struct ptrc_session_state *s;
	bool is_full;

	if (ptrc_session_stat(name, &s))
		return;
	is_full = s->attributes.log_full_policy == POSIX_TRACE_UNTIL_FULL &&
		  s->status.posix_log_full_status == POSIX_TRACE_FULL;
	if (!is_full && !s->is_log_gone)
		return;
	r->has_losses = true;
	if (is_full) {
		ptrc_losses_gather(&r->losses, &s->status, &s->counts);
		/* An earlier error in writing the log does not matter: this flush has written what was missing. */
		r->losses.write_error = 0;
		snprintf(r->full_log, sizeof(r->full_log), "%s", s->log);
	}
	r->losses.is_log_gone = s->is_log_gone;
}

static bool is_complete(const struct result *r)
{
	return !*r->full_log && !ptrc_losses_is_any(&r->losses);
}

static void report_snapshots(const struct result *r, const char *name)
{
	const struct ptrc_snapshots_state *s = &r->snapshots;

	for (size_t i = 0; i < r->types.idle_snapshot_count; i++)
		ptrc_unmatched_report_snapshot(name, &r->types.idle_snapshots[i]);
	if (s->failed)
		ptrc_cli_message(name, "%llu snapshot%s could not be written: %s",
				 (unsigned long long)s->failed, s->failed == 1 ? "" : "s",
				 strerror(s->error));
	if (s->is_used_up)
		ptrc_cli_message(name,
				 "not every event of --snapshot-on has made a snapshot, as there "
				 "are as many as --snapshot-max allows");
	if (s->unseen_events)
		ptrc_unmatched_report_unseen(name, s->unseen_events);
}

static void put_snapshots(struct ptrc_json *j, const struct result *r)
{
	const struct ptrc_snapshots_state *s = &r->snapshots;

	if (!s->max)
		return;
	ptrc_json_open(j, "snapshots", '{');
	ptrc_json_u64(j, "max", s->max);
	ptrc_json_u64(j, "written", s->written);
	ptrc_json_u64(j, "failed", s->failed);
	ptrc_json_i64(j, "error", s->error);
	ptrc_json_bool(j, "used_up", s->is_used_up);
	ptrc_json_u64(j, "unseen_events", s->unseen_events);
	ptrc_unmatched_snapshots_json(r->types.idle_snapshots, r->types.idle_snapshot_count, j);
	ptrc_json_close(j, '}');
}

static void report_losses(const struct result *r, const char *name)
{
	unsigned long long lost = r->losses.stream_events + r->losses.log_events;
	struct ptrc_losses gone = {.is_log_gone = r->losses.is_log_gone,
				   .unobserved_events = r->losses.unobserved_events};

	if (*r->full_log)
		ptrc_cli_message(name,
				 "the log %s is full: %llu event%s lost, and nothing is recorded "
				 "before ptrace-clear %s and ptrace-start %s",
				 r->full_log, lost, lost == 1 ? " was" : "s were", name, name);
	ptrc_losses_report(*r->full_log ? &gone : &r->losses, name);
}

/* Ends a session, and reads its event types and patterns just before, because they cannot be asked for later. */
static int end(const char *name, struct ptrc_session_reply *reply, struct result *r)
{
	const struct ptrc_session_question q = {.verb = PTRC_SESSION_SHUTDOWN, .types = &r->types};
	int error = ptrc_session_ask_about(name, &q, reply);
	int again;

	/* Asks once more: perhaps the session ran out of descriptors, and closed this connection because it was idle
	 * longest. */
	if (error == ECONNRESET) {
		again = ptrc_session_ask(name, PTRC_SESSION_SHUTDOWN, reply);
		if (again != ENOENT)
			error = again;
	}
	return error;
}

/* Checks whether a trace stopped just after its start, because its stream or its log is full. (If the
 * stream-full-policy is flush, the trace starts again by itself.) */
static void look_for_room(const char *name, struct result *r)
{
	const struct ptrc_session_state *s;

	if (ptrc_session_stat(name, &s) || s->status.posix_stream_status != POSIX_TRACE_SUSPENDED)
		return;
	if (s->has_log && s->status.posix_log_full_status == POSIX_TRACE_FULL)
		snprintf(r->reason, sizeof(r->reason),
			 "stays suspended, as its log is full: ptrace-clear %s, then "
			 "ptrace-start %s",
			 name, name);
	else if (s->status.posix_stream_full_status == POSIX_TRACE_FULL &&
		 s->attributes.stream_full_policy == POSIX_TRACE_UNTIL_FULL)
		snprintf(r->reason, sizeof(r->reason),
			 s->has_log
				 ? "stays suspended, as its stream is full: first ptrace-flush %s"
				 : "stays suspended, as its stream is full: ptrace-clear %s, then "
				   "ptrace-start %s",
			 name, name);
	else
		return;
	r->error = ENOSPC;
}

static void ask(const char *name, enum ptrc_session_verb verb, struct result *r)
{
	static struct ptrc_session_reply reply;
	const char *prefix = "";
	const char *text;
	uint64_t in_log;
	int is_away;

	ptrc_session_types_free(&r->types);
	memset(r, 0, sizeof(*r));
	r->error = verb == PTRC_SESSION_SHUTDOWN ? end(name, &reply, r)
						 : ptrc_session_ask(name, verb, &reply);
	is_away = r->error;
	text = ptrc_session_explain(r->error);
	if (!r->error && reply.body == PTRC_SESSION_BODY_STATE) {
		/* Only a session that has ended sends its state in reply to a request of this
		 * command. The error in the reply is then that of writing the log, which counts as
		 * a loss. */
		r->snapshots = reply.state.snapshots;
		r->has_losses = reply.state.has_log;
	}
	if (r->has_losses) {
		ptrc_losses_gather(&r->losses, &reply.state.status, &reply.state.counts);
		in_log = reply.state.counts.pt_log_events;
		ptrc_losses_count_log(&r->losses, reply.state.log, reply.state.is_log_gone, &in_log,
				      NULL);
		if (reply.error)
			r->losses.write_error = reply.error;
		r->losses.has_gone_on = reply.state.went_on;
		ptrc_losses_count_unwritten(&r->losses, reply.state.event_count, in_log);
		ptrc_losses_note_full(&r->losses, reply.state.status.posix_stream_flush_error);
	} else if (!r->error) {
		r->error = reply.error;
		text = ptrc_cli_process_reason(r->error);
		/* For these errors, the general text of the error number would mislead. */
		if (r->error == EAGAIN)
			prefix = "cannot start the process that writes the log: ";
		else if (verb == PTRC_SESSION_FLUSH && r->error == EINVAL)
			text = "the session has no log";
		else if (verb == PTRC_SESSION_FLUSH) {
			prefix = "writing the log failed: ";
			text = ptrc_cli_write_reason(r->error);
		}
	}
	if (verb == PTRC_SESSION_FLUSH && !r->error && !r->has_losses)
		look_for_log(name, r);
	if ((is_away != ENOENT && is_away != ECONNREFUSED) ||
	    !ptrc_orphans_of_session(name, r->reason))
		snprintf(r->reason, sizeof(r->reason), "%s%s", prefix, text);
	if (verb == PTRC_SESSION_START && !r->error)
		look_for_room(name, r);
}

static void put_json(struct ptrc_buffer *b, const char *name, const char *command,
		     const struct result *r)
{
	struct ptrc_json j = ptrc_json_begin(b);

	ptrc_json_bytes(&j, "session", name, strlen(name));
	ptrc_json_text(&j, "command", command);
	ptrc_json_i64(&j, "error", r->error);
	if (r->error)
		ptrc_json_text(&j, "message", r->reason);
	if (!r->error)
		ptrc_unmatched_json(r->types.patterns, r->types.pattern_count, &j);
	if (r->has_losses) {
		ptrc_losses_json(&r->losses, &j);
		ptrc_json_bool(&j, "complete", is_complete(r));
	}
	put_snapshots(&j, r);
	if (*r->full_log)
		ptrc_json_bool(&j, "log_full", true);
	ptrc_json_end(&j);
}

/* Finds the command by the name with which the program was called. An installation may have added a prefix or a
 * suffix to it. */
static const struct command *find_command(const char *called)
{
	const char *slash = strrchr(called, '/');

	for (size_t i = 0; i < COMMANDS; i++)
		if (strstr(slash ? slash : called, commands[i].program))
			return &commands[i];
	ptrc_message_begin(commands[0].program, PTRC_EXIT_USAGE);
	ptrc_cli_refuse(called, "is not a name of this program, which does what its name says: "
				"ptrace-start, -stop, -clear, -flush or -shutdown");
}

/* Prints the result for a session. If its exit status is worse than *worst, *worst becomes that status. */
static void tell(const struct result *r, const char *name, enum ptrc_exit *worst)
{
	if (r->error) {
		ptrc_cli_message(name, "%s", r->reason);
		*worst = PTRC_EXIT_FAILED;
		return;
	}
	if (r->has_losses)
		report_losses(r, name);
	report_snapshots(r, name);
	ptrc_unmatched_report(r->types.patterns, r->types.pattern_count, name);
	if ((r->has_losses && !is_complete(r)) || r->snapshots.failed)
		*worst = ptrc_exit_worse(*worst, PTRC_EXIT_INCOMPLETE);
}

/* Whether a session that --all has found has ended since then. */
static bool has_gone(const struct result *r, const char *name)
{
	return r->error == ENOENT || r->error == ECONNREFUSED ||
	       (r->error == ECONNRESET && ptrc_session_knock(name) == ENOENT);
}

int main(int argc, char **argv)
{
	const struct command *command = find_command(argc ? argv[0] : "");
	bool is_shutdown = command->verb == PTRC_SESSION_SHUTDOWN;
	const struct ptrc_cli cli = {
		.program = command->program,
		.operands = is_shutdown ? "[OPTION]... SESSION...|--all" : "[OPTION]... SESSION...",
		.summary = command->summary,
		.options = is_shutdown ? options : options + 2,
		.flags = PTRC_CLI_FLAGS({"all", &is_all}, {"allow-loss", &is_loss_allowed},
					{"json", &is_json}),
		.exclusions = PTRC_CLI_ROWS({"all", "SESSION"}),
		.operand_kinds = "SESSION",
		.notes = command->notes,
	};
	struct ptrc_buffer out = PTRC_BUFFER_INIT;
	/* These are static so that leak checkers do not report them, as they are never freed. */
	static char **names;
	static struct result r;
	enum ptrc_exit worst = PTRC_EXIT_DONE;
	size_t count;
	int error = 0;

	ptrc_cli_begin(&cli);
	ptrc_cli_next(argc, argv);
	if (!is_all && optind == argc)
		ptrc_cli_usage(NULL, "no SESSION given");
	names = argv + optind;
	count = (size_t)(argc - optind);
	if (is_all)
		error = ptrc_session_names(true, &names, &count);
	if (error) {
		ptrc_session_say_directory(error);
		return PTRC_EXIT_FAILED;
	}
	ptrc_output_begin();
	ptrc_output_need_reader();
	for (size_t i = 0; i < count; i++) {
		ask(names[i], command->verb, &r);
		if (is_all && has_gone(&r, names[i]))
			continue;
		tell(&r, names[i], &worst);
		/* The objects are written at the end: a reader that closes the pipe must not keep the command from the
		 * other sessions. */
		if (is_json)
			put_json(&out, names[i], command->program + strlen("ptrace-"), &r);
	}
	if (is_json)
		ptrc_output_end(&out);
	return worst == PTRC_EXIT_INCOMPLETE && is_loss_allowed ? PTRC_EXIT_DONE : (int)worst;
}
