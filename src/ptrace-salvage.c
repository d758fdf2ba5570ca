/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <posixtrace-control.h>

#include "include/posixtrace-private.h"
#include "src/base/cli.h"
#include "src/base/exit_status.h"
#include "src/base/json.h"
#include "src/base/output.h"
#include "src/base/scope.h"
#include "src/session/orphans.h"
#include "src/session/session_path.h"

#define DEFAULT_LOG "ptrace.salvaged"

static bool is_discarding;
static bool is_json;
static bool is_all;

static const struct ptrc_cli_option options[] = {
	{"output", 'o', "LOG",
	 "write events that cannot go into the log they\nbelong to into this new file"},
	{"all", 0, NULL, "write all unfinished streams"},
	{"discard", 0, NULL, "remove the streams with their events instead"},
	{"json", 0, NULL, "print the result as JSON"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-salvage",
	.operands = "[OPTION]... [STREAM]...",
	.summary = "Lists unfinished streams, or writes those that are named into logs: what\n"
		   "programs had recorded when they, their controller and the process that writes\n"
		   "the log were killed. STREAM is an identifier, or the process ID of the\n"
		   "controller or of the target.",
	.options = options,
	.flags = PTRC_CLI_FLAGS({"discard", &is_discarding}, {"json", &is_json}, {"all", &is_all}),
	.exclusions = PTRC_CLI_ROWS({"output", "discard"}, {"all", "STREAM"}),
	.notes = "No file is replaced: if LOG exists, a number is added to the name. Without\n"
		 "--output, streams without a log go into " DEFAULT_LOG ", and if a log is gone,\n"
		 "the rest of it goes into LOG.salvaged next to it.\n"
		 "Exit status: 0 done, or there is none; 1 a stream stays; 2 wrong usage.",
};

struct result {
	int error;
	/* How many events were written or, if none were, were to be written when the streams were listed. */
	unsigned long events;
	/* The log that is to be written, and the one that was. */
	const char *path;
	char written[4096];
};

static const char *output;
static bool is_listing;

static bool is_meant(const struct posixtrace_orphan *o, const char *operand)
{
	struct ptrc_cli_reason why;
	uint64_t pid;
	char id[17];

	if (!strcmp(operand, ptrc_orphan_id(o, id)))
		return true;
	return ptrc_cli_parse_number(operand, 1, INT_MAX, &pid, &why) &&
	       (o->pt_controller == (pid_t)pid || o->pt_target == (pid_t)pid);
}

static bool is_no_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode);
}

static void settle(const struct posixtrace_orphan *o, struct result *r)
{
	static bool has_said_default;
	/* A log that is not a regular file has no path, either. */
	const char *path = output || *o->pt_log ? output : DEFAULT_LOG;

	*r = (struct result){.events = o->pt_events, .path = path ? path : o->pt_log};
	if (is_listing)
		return;
	if (is_discarding) {
		r->error = posixtrace_discard_orphan(o->pt_id);
		return;
	}
	if (path && !output && !has_said_default)
		ptrc_cli_message(DEFAULT_LOG, "in the current directory is where streams without a "
					      "log are written; --output names another file");
	has_said_default |= path && !output;
	r->error = ptrc_salvage_orphan(o->pt_id, path, r->written, &r->events);
}

static const char *explain(const struct posixtrace_orphan *o, const struct result *r)
{
	return ptrc_orphan_explain(o, r->error, is_discarding ? NULL : r->path);
}

static void put_json(struct ptrc_buffer *b, const struct posixtrace_orphan *o,
		     const struct result *r)
{
	struct ptrc_json j = ptrc_json_begin(b);
	char id[17];

	ptrc_json_text(&j, "stream", ptrc_orphan_id(o, id));
	/* If this command does not know the version of the stream, nothing else is known about it. */
	if (o->pt_controller > 0) {
		ptrc_json_i64(&j, "controller", o->pt_controller);
		ptrc_json_i64(&j, "target", o->pt_target);
		ptrc_json_bytes(&j, "trace_name", o->pt_name, strlen(o->pt_name));
		ptrc_json_time(&j, "created", &o->pt_created);
		ptrc_json_u64(&j, "events", r->events);
	}
	if (*o->pt_log)
		ptrc_json_bytes(&j, "log", o->pt_log, strlen(o->pt_log));
	ptrc_json_bool(&j, "discarded", is_discarding && !r->error);
	if (*r->written)
		ptrc_json_bytes(&j, "written", r->written, strlen(r->written));
	ptrc_json_i64(&j, "error", r->error);
	if (r->error)
		ptrc_json_text(&j, "message", explain(o, r));
	ptrc_json_end(&j);
}

/* Appends the path of the log to which the events belong, or why they cannot be salvaged. */
static void put_listed(struct ptrc_buffer *b, const struct posixtrace_orphan *o)
{
	if (o->pt_error)
		ptrc_buffer_text(b, ptrc_orphan_explain(o, o->pt_error, NULL));
	else if (*o->pt_log)
		ptrc_text_put(b, o->pt_log, strlen(o->pt_log));
	else
		ptrc_buffer_text(b, "no log");
}

static void put_text(struct ptrc_buffer *b, const struct posixtrace_orphan *o,
		     const struct result *r)
{
	char id[17];

	ptrc_buffer_format(b, "%s  ", ptrc_orphan_id(o, id));
	if (o->pt_controller > 0)
		ptrc_buffer_format(b, "process %ld  %lu events  ", (long)o->pt_controller,
				   r->events);
	else
		ptrc_buffer_text(b, "process unknown  events unknown  ");
	if (is_discarding)
		ptrc_buffer_text(b, "discarded");
	else if (is_listing)
		put_listed(b, o);
	else
		ptrc_text_put(b, r->written, strlen(r->written));
	ptrc_buffer_char(b, '\n');
}

int main(int argc, char **argv)
{
	struct ptrc_buffer out = PTRC_BUFFER_INIT;
	enum ptrc_exit status = PTRC_EXIT_DONE;
	PTRC_SCOPED struct posixtrace_orphan *list = NULL;
	static struct result r;
	size_t count, done = 0;
	PTRC_SCOPED bool *was_meant = NULL;
	char id[17];
	int key, error;

	ptrc_cli_begin(&cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1)
		if (key == 'o')
			output = optarg;
	if (output && !*output)
		ptrc_cli_usage("--output", "needs the name of a file");
	if (output && !strcmp(output, "-"))
		ptrc_cli_usage("--output",
			       "'-' is not standard output; ./- is a file of this name");
	/* If the file exists, a number is added to its name, which makes no sense for standard output, a
	 * directory or a special file. */
	if (output && (ptrc_output_is(output) || is_no_file(output)))
		ptrc_cli_usage(
			"--output",
			"'%s' is standard output, a directory or a special file; name a new file",
			output);
	is_listing = !is_all && optind == argc;
	if (is_listing && (output || is_discarding))
		ptrc_cli_usage(output ? "--output" : "--discard", "needs a STREAM, or --all");
	ptrc_output_begin();
	error = ptrc_orphans_list(&list, &count);
	if (error) {
		ptrc_session_say_directory(error);
		status = PTRC_EXIT_FAILED;
	}
	was_meant = ptrc_cli_allocate((size_t)argc * sizeof(*was_meant));
	for (size_t i = 0; i < count; i++) {
		bool is_wanted = optind == argc;

		for (int a = optind; a < argc; a++)
			if (is_meant(&list[i], argv[a]))
				is_wanted = was_meant[a] = true;
		if (!is_wanted)
			continue;
		settle(&list[i], &r);
		done++;
		if (r.error) {
			status = PTRC_EXIT_FAILED;
			ptrc_cli_message(ptrc_orphan_id(&list[i], id), "%s", explain(&list[i], &r));
		}
		if (is_json)
			put_json(&out, &list[i], &r);
		else if (!r.error)
			put_text(&out, &list[i], &r);
	}
	for (int a = optind; a < argc; a++)
		if (!was_meant[a] && !error) {
			ptrc_cli_message(argv[a],
					 "no unfinished stream; 'ptrace-salvage' lists them");
			status = PTRC_EXIT_FAILED;
		}
	if (!done && !error && optind == argc && !is_json)
		ptrc_buffer_text(&out, "You have no unfinished streams.\n");
	if (is_all)
		ptrc_end_empty_streams();
	if (optind == argc)
		ptrc_orphans_say_dropped(is_all);
	ptrc_output_end(&out);
	return (int)status;
}
