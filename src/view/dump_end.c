/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <fnmatch.h>
#include <string.h>

#include "src/cli/exit_status.h"
#include "src/cli/json.h"
#include "src/cli/nearest.h"
#include "src/cli/output.h"
#include "src/view/dump.h"

static void put_count(struct ptrc_dump *d)
{
	struct ptrc_json j = {&d->out, true};

	if (d->format.format == PTRC_FORMAT_JSON) {
		ptrc_json_open(&j, NULL, '{');
		ptrc_json_u64(&j, "count", d->shown_count);
		ptrc_json_close(&j, '}');
	} else {
		ptrc_buffer_u64(&d->out, d->shown_count);
	}
	ptrc_buffer_char(&d->out, '\n');
}

static void put_summary(struct ptrc_dump *d, bool is_complete)
{
	struct ptrc_json j = {&d->out, true};

	if (d->format.format == PTRC_FORMAT_TEXT) {
		ptrc_buffer_u64(&d->out, d->shown_count);
		ptrc_buffer_text(&d->out, d->shown_count == 1 ? " event" : " events");
		ptrc_buffer_text(&d->out, is_complete ? ", complete\n" : ", data incomplete\n");
		return;
	}
	ptrc_json_open(&j, NULL, '{');
	ptrc_json_open(&j, "summary", '{');
	ptrc_json_u64(&j, "version", 1);
	ptrc_json_u64(&j, "shown", d->shown_count);
	ptrc_json_bool(&j, "complete", is_complete);
	ptrc_json_open(&j, "logs", '[');
	for (size_t i = 0; i < d->source_count; i++) {
		const struct ptrc_reader *r = &d->sources[i].reader;

		ptrc_json_open(&j, NULL, '{');
		ptrc_json_bytes(&j, d->session ? "session" : "log", r->path, strlen(r->path));
		ptrc_json_u64(&j, "read", r->read_count);
		ptrc_losses_json(&d->sources[i].losses, &j);
		ptrc_json_close(&j, '}');
	}
	ptrc_json_close(&j, ']');
	ptrc_json_close(&j, '}');
	ptrc_json_close(&j, '}');
	ptrc_buffer_char(&d->out, '\n');
}

/* Reports a pattern that matches no event type of any source; lists similar names, unless
 * it has wildcards. */
static void check_pattern(const struct ptrc_dump *d, const char *pattern)
{
	struct ptrc_nearest nearest = {0};
	char proposal[3 * TRACE_EVENT_NAME_MAX];
	bool is_name = !strpbrk(pattern, "*?[\\");

	for (size_t i = 0; i < d->source_count; i++)
		for (size_t id = 0; id < PTRC_READER_IDS; id++) {
			const struct ptrc_reader_name *name = d->sources[i].reader.names[id];

			if (name && !fnmatch(pattern, name->text, 0))
				return;
			if (name && name->is_known && is_name)
				ptrc_nearest_offer(&nearest, pattern, name->text);
		}
	ptrc_cli_message(pattern, "no event type has such a name%s",
			 ptrc_nearest_text(&nearest, proposal, sizeof(proposal)));
}

static void check_patterns(const struct ptrc_dump *d)
{
	for (size_t i = 0; i < d->select.globs.count; i++)
		check_pattern(d, d->select.globs.texts[i]);
	if (d->select.around)
		check_pattern(d, d->select.around);
	/* Patterns of a file are not reported, as the file may be for other logs, too. */
	for (size_t i = 0; i < d->given_layout_count; i++)
		check_pattern(d, ptrc_layout_pattern(d->layouts.layouts[i]));
}

enum ptrc_exit ptrc_dump_end(struct ptrc_dump *d, enum ptrc_exit status, bool is_read)
{
	bool is_complete = true;

	if (d->is_counting && status == PTRC_EXIT_DONE)
		put_count(d);
	/* Standard output and standard error may be the same terminal: events come
	 * first. */
	if (d->out.used)
		ptrc_output_write(&d->out);
	check_patterns(d);
	for (size_t i = 0; i < d->source_count; i++) {
		struct ptrc_losses *losses = &d->sources[i].losses;

		ptrc_reader_losses(&d->sources[i].reader, is_read, losses);
		losses->unshown_events += d->unheld_count;
		ptrc_losses_report(losses, d->sources[i].reader.path);
		if (losses->read_error)
			status = PTRC_EXIT_FAILED;
		else if (ptrc_losses_is_any(losses))
			is_complete = false;
	}
	if (d->has_summary)
		put_summary(d, is_complete && status == PTRC_EXIT_DONE);
	if (status == PTRC_EXIT_DONE && !is_complete && !d->is_loss_allowed)
		status = PTRC_EXIT_INCOMPLETE;
	return status;
}
