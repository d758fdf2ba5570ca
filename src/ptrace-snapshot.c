/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <string.h>

#include "src/base/cli.h"
#include "src/base/exit_status.h"
#include "src/base/json.h"
#include "src/base/output.h"
#include "src/session/logfile.h"
#include "src/session/orphans.h"
#include "src/session/reader_follow.h"
#include "src/query/query.h"

static const char *output;
static bool is_forced;
static bool is_json;

/* The query selects all events of the session. */
static struct ptrc_source source;
static struct ptrc_query query = {
	.select.span = {INT64_MIN, INT64_MAX},
	.since = {PTRC_WHEN_ABSOLUTE, INT64_MIN},
	.until = {PTRC_WHEN_ABSOLUTE, INT64_MAX},
	.first_count = UINT64_MAX,
	.last_count = UINT64_MAX,
	.sources = &source,
	.source_count = 1,
};

static const struct ptrc_cli_option options[] = {
	{"output", 'o', "LOG", "the log to write"},
	{"force", 0, NULL, "replace an existing file even if it is not a log"},
	{"json", 0, NULL, "print the result as JSON"},
	{"allow-loss", 0, NULL, "exit with 0 even if the data is incomplete"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-snapshot",
	.operands = "[OPTION]... --output=LOG SESSION",
	.summary =
		"Writes what a session has recorded so far into a log. The session goes on, and\n"
		"nothing is taken away from it.",
	.options = options,
	.flags = PTRC_CLI_FLAGS({"force", &is_forced}, {"json", &is_json},
				{"allow-loss", &query.is_loss_allowed}),
	.operand_kinds = "SESSION",
	.notes = "If the session flushes its stream to a log of its own, LOG gets what that has\n"
		 "after one more flush, else what the stream holds now.\n"
		 "Exit status: 0 done, 1 failed, 2 wrong usage, 3 the data is incomplete.",
};

static void put_json(struct ptrc_buffer *b, const char *session)
{
	struct ptrc_json j = ptrc_json_begin(b);

	ptrc_json_text(&j, "session", session);
	ptrc_json_bytes(&j, "log", output, strlen(output));
	ptrc_json_u64(&j, "events", query.shown_count);
	ptrc_losses_json(&source.losses, &j);
	ptrc_json_bool(&j, "complete", !ptrc_losses_is_any(&source.losses));
	ptrc_json_end(&j);
}

static void put_text(struct ptrc_buffer *b, const char *session)
{
	ptrc_buffer_format(b, "%s: %llu event%s in ", session,
			   (unsigned long long)query.shown_count,
			   query.shown_count == 1 ? "" : "s");
	ptrc_text_put(b, output, strlen(output));
	ptrc_buffer_char(b, '\n');
}

static enum ptrc_exit snapshot(const char *session)
{
	struct ptrc_logfile file;
	enum ptrc_exit status = PTRC_EXIT_FAILED;
	int error = ptrc_reader_dump(&source.reader, session);

	if (error) {
		if (error == ENOENT)
			ptrc_orphans_say_session(session, error);
		return PTRC_EXIT_FAILED;
	}
	ptrc_source_begin(&source, &query, 0);
	if (ptrc_log_target_open(&file, &query, output, is_forced)) {
		/* As all events are wanted, ptrc_query_scan() is not needed. */
		status = ptrc_query_end(&query, PTRC_EXIT_DONE, ptrc_query_run(&query));
		ptrc_log_target_close(&file);
	}
	if (status != PTRC_EXIT_FAILED)
		(is_json ? put_json : put_text)(&query.out, session);
	ptrc_source_free(&source);
	return status;
}

int main(int argc, char **argv)
{
	enum ptrc_exit status;

	ptrc_cli_begin(&cli);
	while (ptrc_cli_next(argc, argv) != -1)
		ptrc_cli_once("--output", &output);
	if (argc - optind != 1)
		ptrc_cli_usage(NULL,
			       argc == optind ? "no SESSION given" : "more than one SESSION given");
	if (!output)
		ptrc_cli_usage(NULL, "no --output given");
	ptrc_log_target_check("--output", output, true);
	ptrc_output_begin();
	status = snapshot(argv[optind]);
	ptrc_output_end(&query.out);
	return (int)status;
}
