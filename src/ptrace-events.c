/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <string.h>

#include "src/base/cli.h"
#include "src/summary/event_types.h"
#include "src/summary/program_probes.h"
#include "src/base/exit_status.h"
#include "src/base/output.h"
#include "src/query/reader.h"
#include "src/session/orphans.h"
#include "src/session/session_client.h"

static bool is_names;
static bool is_user;
static bool is_json;
static bool is_sdt;
static bool is_loss_allowed;

static const struct ptrc_cli_option options[] = {
	{"names", 0, NULL, "only the names, one per line, without counting"},
	{"user", 0, NULL, "leave the system's own event types out"},
	{"json", 0, NULL, "an object per event type"},
	{"allow-loss", 0, NULL, "exit with 0 even if a log cannot be read to its\nend"},
	{"sdt", 0, NULL,
	 "list the probes of programs and of the libraries\n"
	 "that they load, which ptrace-run --sdt records"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-events",
	.operands =
		"[OPTION]... SESSION|LOG...\n       ptrace-events --sdt [--names|--json] PROGRAM...",
	.summary = "Lists the event types of sessions and trace logs: number, events seen,\n"
		   "bytes of data, events cut to max-data-size, name. A name that has a / in\n"
		   "it, or that no session has, is the path of a log.",
	.options = options,
	.flags = PTRC_CLI_FLAGS({"names", &is_names}, {"user", &is_user}, {"json", &is_json},
				{"sdt", &is_sdt}, {"allow-loss", &is_loss_allowed}),
	.exclusions = PTRC_CLI_ROWS({"names", "json"}, {"sdt", "user"}, {"sdt", "allow-loss"}),
	.operand_kinds = "SESSION|LOG",
	.notes = "Exit status: 0 done, 1 failed, 2 wrong usage, 3 the data is incomplete.",
};

static void put_json(struct ptrc_buffer *b, const char *thing, bool is_session,
		     const struct ptrc_session_type *type)
{
	struct ptrc_json j = ptrc_json_begin(b);

	ptrc_json_bytes(&j, is_session ? "session" : "log", thing, strlen(thing));
	ptrc_event_type_put_json(&j, type);
	ptrc_json_bool(&j, "system", ptrc_is_system_type(type->id));
	if (is_session)
		ptrc_json_bool(&j, "filtered", type->is_filtered);
	ptrc_json_end(&j);
}

static void put(struct ptrc_buffer *b, const char *thing, bool is_session,
		const struct ptrc_event_types *types)
{
	bool has_head = is_json || is_names;

	for (size_t i = 0; i < types->count; i++) {
		const struct ptrc_session_type *type = &types->list[i];

		/* Every trace has the type for user events without a name. As few programs use it, it is left out
		 * if unused. */
		if (is_user && (ptrc_is_system_type(type->id) || !ptrc_event_type_is_used(type)))
			continue;
		if (!has_head)
			ptrc_event_types_put_head(b);
		has_head = true;
		if (is_json) {
			put_json(b, thing, is_session, type);
		} else if (is_names) {
			ptrc_text_put(b, type->name, strlen(type->name));
			ptrc_buffer_char(b, '\n');
		} else {
			ptrc_event_type_put_text(b, type);
		}
	}
}

/* Appends the name of a session or log as a heading. */
static void put_thing(struct ptrc_buffer *b, const char *thing, bool is_first)
{
	if (is_json || is_names)
		return;
	if (!is_first)
		ptrc_buffer_char(b, '\n');
	ptrc_text_put(b, thing, strlen(thing));
	ptrc_buffer_text(b, ":\n");
}

/* Lists the event types of a session. Returns false if no session has this name. If the session does not answer,
 * prints a message and sets *status. */
static bool list_session(struct ptrc_event_types *types, const char *name, enum ptrc_exit *status)
{
	int error = ptrc_event_types_from_session(types, name);

	if (error == ENOENT)
		return false;
	if (error) {
		ptrc_orphans_say_session(name, error);
		*status = PTRC_EXIT_FAILED;
	}
	return true;
}

static enum ptrc_exit list_log(struct ptrc_event_types *types, const char *path)
{
	static struct ptrc_reader reader;
	enum ptrc_exit status = PTRC_EXIT_DONE;
	struct ptrc_losses losses;

	if (!ptrc_summary_open_log(&reader, path))
		return PTRC_EXIT_FAILED;
	ptrc_event_types_from_log(types, &reader, !is_names);
	/* Only events that could not be read matter here, because other lost events never were in the log. */
	ptrc_reader_losses(&reader, !is_names, &losses);
	if (losses.missing_names ||
	    (!is_names && (losses.unreadable_events || losses.is_unreadable_uncounted ||
			   losses.missing_files || losses.is_unclosed || losses.read_error))) {
		ptrc_losses_report(&losses, reader.path);
		if (losses.is_unclosed)
			ptrc_orphans_say_of(reader.path);
		status = losses.read_error ? PTRC_EXIT_FAILED : PTRC_EXIT_INCOMPLETE;
	}
	ptrc_reader_close(&reader);
	return status;
}

static void put_probe(struct ptrc_buffer *b, const char *program,
		      const struct ptrc_program_probe *p)
{
	char layout[PTRC_ARGUMENTS_LAYOUT_BYTES];
	struct ptrc_json j;

	ptrc_arguments_layout(&p->arguments, layout);
	if (is_json) {
		j = ptrc_json_begin(b);
		ptrc_json_bytes(&j, "program", program, strlen(program));
		ptrc_json_bytes(&j, "file", p->file, strlen(p->file));
		ptrc_json_bytes(&j, "event", p->event, strlen(p->event));
		ptrc_json_text(&j, "layout", layout);
		ptrc_json_u64(&j, "places", p->arguments.place_count);
		ptrc_json_u64(&j, "left_out", p->left_out_count);
		ptrc_json_end(&j);
		return;
	}
	if (!is_names)
		ptrc_buffer_format(b, "%6zu  ", p->arguments.place_count);
	ptrc_text_put(b, p->event, strlen(p->event));
	if (!is_names && *layout)
		ptrc_buffer_format(b, "  %s", layout);
	if (!is_names && p->left_out_count) {
		ptrc_buffer_format(b, "  (%zu left out, with arguments ", p->left_out_count);
		ptrc_text_put(b, p->left_out, strlen(p->left_out));
		ptrc_buffer_char(b, ')');
	}
	ptrc_buffer_char(b, '\n');
}

static enum ptrc_exit list_probes(struct ptrc_buffer *b, const char *program)
{
	struct ptrc_program_probes all;

	if (!ptrc_program_probes_find(&all, program))
		return PTRC_EXIT_FAILED;
	for (size_t i = 0; i < all.count; i++) {
		const char *file = all.list[i].file;

		if (!is_names && !is_json && (!i || strcmp(file, all.list[i - 1].file) != 0)) {
			ptrc_text_put(b, file, strlen(file));
			ptrc_buffer_text(b, ":\n");
		}
		put_probe(b, program, &all.list[i]);
	}
	ptrc_program_probes_free(&all);
	return PTRC_EXIT_DONE;
}

int main(int argc, char **argv)
{
	struct ptrc_buffer out = PTRC_BUFFER_INIT;
	enum ptrc_exit worst = PTRC_EXIT_DONE;
	bool is_one;
	int first;

	ptrc_cli_begin(&cli);
	ptrc_cli_next(argc, argv);
	if (optind == argc)
		ptrc_cli_usage(NULL, is_sdt ? "no PROGRAM given" : "no SESSION or LOG given");
	is_one = optind + 1 == argc;
	ptrc_output_begin();
	for (first = optind; optind < argc; optind++) {
		const char *thing = argv[optind];
		enum ptrc_exit status = PTRC_EXIT_DONE;
		struct ptrc_event_types types = {0};
		bool is_session = !is_sdt && ptrc_summary_is_session_name(thing) &&
				  list_session(&types, thing, &status);

		if (is_sdt)
			status = list_probes(&out, thing);
		else if (!is_session)
			status = list_log(&types, thing);
		worst = ptrc_exit_worse(worst, status);
		if (types.count && !is_one)
			put_thing(&out, thing, optind == first);
		put(&out, strcmp(thing, "-") ? thing : "standard input", is_session, &types);
		ptrc_event_types_free(&types);
		ptrc_output_write(&out);
	}
	ptrc_output_end(&out);
	return worst == PTRC_EXIT_INCOMPLETE && is_loss_allowed ? PTRC_EXIT_DONE : (int)worst;
}
