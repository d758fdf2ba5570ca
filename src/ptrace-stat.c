/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>

#include "src/cli/cli.h"
#include "src/cli/exit_status.h"
#include "src/cli/output.h"
#include "src/view/reader.h"
#include "src/session/orphans.h"
#include "src/session/session_client.h"
#include "src/summary/stat.h"

enum {
	KEY_FORMAT = PTRC_CLI_KEY_FIRST,
	KEY_JSON,
	KEY_UTC,
	KEY_ALLOW_LOSS,
};

static const struct ptrc_cli_option options[] = {
	{"format", KEY_FORMAT, "FORMAT", "text (the default) or json"},
	{"json", KEY_JSON, NULL, "the same as --format=json"},
	{"utc", KEY_UTC, NULL, "times in text are UTC, not local time"},
	{"allow-loss", KEY_ALLOW_LOSS, NULL, "exit with 0 even if the data is incomplete"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-stat",
	.operands = "[OPTION]... SESSION|LOG...",
	.summary = "Shows status, attributes, counts, losses and rates of sessions and\n"
		   "trace logs, and how often each type of event was recorded. A name that\n"
		   "has a / in it, or that no session has, is the path of a log.",
	.options = options,
	.notes = "Exit status: 0 done, 1 failed, 2 wrong usage, 3 the data is incomplete.",
	.usage_status = PTRC_EXIT_USAGE,
};

static struct ptrc_session_reply reply;
static struct ptrc_reader reader;
static struct ptrc_stat stat_of_it;

/* Returns whether there is such a session. If it does not answer, prints a message and sets
 * *is_failed. */
static bool stat_session(const char *name, bool *is_failed)
{
	int error = ptrc_session_ask(name, PTRC_SESSION_STAT, &reply);
	struct ptrc_event_types types;

	if (error == ENOENT)
		return false;
	if (!error && !reply.error && reply.body != PTRC_SESSION_BODY_STATE)
		error = EPROTO;
	if (!error)
		error = reply.error;
	if (!error)
		error = ptrc_event_types_from_session(&types, name);
	if (error) {
		ptrc_orphans_say_session(name, error);
		*is_failed = true;
	} else {
		ptrc_stat_from_session(&stat_of_it, &reply.state, &types);
	}
	return true;
}

/* Fills in stat_of_it for a session or a log. Returns false, after a message, if that
 * fails. */
static bool gather(const char *thing)
{
	bool is_failed = false;

	reader.path = NULL;
	if (ptrc_summary_is_session_name(thing) && stat_session(thing, &is_failed))
		return !is_failed;
	if (!ptrc_summary_open_log(&reader, thing)) {
		reader.path = NULL;
		return false;
	}
	ptrc_stat_from_log(&stat_of_it, &reader);
	return true;
}

int main(int argc, char **argv)
{
	struct ptrc_buffer out = PTRC_BUFFER_INIT;
	enum ptrc_format format = PTRC_FORMAT_TEXT;
	bool is_loss_allowed = false;
	bool is_utc = false;
	bool is_failed = false;
	bool is_incomplete = false;
	bool is_first = true;
	int key;

	ptrc_cli_begin(&cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1) {
		if (key == KEY_FORMAT)
			format = ptrc_cli_format(optarg);
		else if (key == KEY_JSON)
			format = PTRC_FORMAT_JSON;
		else if (key == KEY_UTC)
			is_utc = true;
		else if (key == KEY_ALLOW_LOSS)
			is_loss_allowed = true;
	}
	if (optind == argc)
		ptrc_cli_usage(NULL, "no SESSION or LOG given");
	ptrc_output_begin();
	for (; optind < argc; optind++) {
		if (!gather(argv[optind])) {
			is_failed = true;
			continue;
		}
		if (format == PTRC_FORMAT_JSON) {
			ptrc_stat_put_json(&out, &stat_of_it);
		} else {
			if (!is_first)
				ptrc_buffer_char(&out, '\n');
			ptrc_stat_put_text(&out, &stat_of_it, is_utc);
		}
		is_first = false;
		ptrc_output_write(&out);
		ptrc_losses_report(&stat_of_it.losses, stat_of_it.thing);
		if (stat_of_it.losses.is_unclosed)
			ptrc_orphans_say_of(stat_of_it.thing);
		is_failed |= stat_of_it.losses.read_error != 0;
		is_incomplete |= ptrc_losses_is_any(&stat_of_it.losses);
		ptrc_stat_free(&stat_of_it);
		if (reader.path)
			ptrc_reader_close(&reader);
	}
	ptrc_output_end(&out);
	if (is_failed)
		return PTRC_EXIT_FAILED;
	return is_incomplete && !is_loss_allowed ? PTRC_EXIT_INCOMPLETE : PTRC_EXIT_DONE;
}
