/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/model/glob.h"
#include "src/base/json.h"

static const char *const words[] = {"ok", "note", "problem"};

const char *ptrc_doctor_size(uint64_t bytes, char text[32])
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	double v = (double)bytes;
	size_t i = 0;

	for (; v >= 1024 && i < 4; i++)
		v /= 1024;
	snprintf(text, 32, v < 10 && i ? "%.1f %s" : "%.0f %s", v, units[i]);
	return text;
}

bool ptrc_doctor_is_missed(const struct ptrc_doctor *d, const char *name)
{
	return d->event && (!strcmp(d->event, name) || ptrc_glob_matches(d->event, name));
}

void ptrc_doctor_say(struct ptrc_doctor *d, enum ptrc_doctor_status status, const char *check,
		     const char *thing, const char *advice, const char *format, ...)
{
	char message[2048];
	va_list values;

	d->problems += status == PTRC_DOCTOR_PROBLEM;
	if (d->is_brief && status == PTRC_DOCTOR_OK)
		return;
	va_start(values, format);
	vsnprintf(message, sizeof(message), format, values);
	va_end(values);
	if (d->obstacle) {
		if (status == PTRC_DOCTOR_PROBLEM && !*d->obstacle->text)
			snprintf(d->obstacle->text, sizeof(d->obstacle->text), "%s: %s%s%s", thing,
				 message, advice ? "; " : "", advice ? advice : "");
		return;
	}
	if (d->is_json) {
		struct ptrc_json j = ptrc_json_begin(d->out);

		ptrc_json_text(&j, "check", check);
		ptrc_json_text(&j, "status", words[status]);
		ptrc_json_bytes(&j, "thing", thing, strlen(thing));
		ptrc_json_bytes(&j, "message", message, strlen(message));
		if (advice)
			ptrc_json_bytes(&j, "advice", advice, strlen(advice));
		ptrc_json_end(&j);
	} else {
		ptrc_buffer_format(d->out, "%-7s  ", words[status]);
		ptrc_text_put(d->out, thing, strlen(thing));
		ptrc_buffer_text(d->out, ": ");
		ptrc_text_put(d->out, message, strlen(message));
		if (advice) {
			ptrc_buffer_text(d->out, "; ");
			ptrc_buffer_text(d->out, advice);
		}
		ptrc_buffer_char(d->out, '\n');
	}
	/* Writes each finding at once, because the next check may take seconds. */
	ptrc_output_write(d->out);
}

/* Returns the advice about events that were lost in the full stream, or else in the full log. in_log: the number of the
 * latter. */
static const char *room(bool is_of_stream, uint64_t in_log)
{
	if (!is_of_stream)
		return "use a larger --log-max-size";
	/* A full log takes no more events from the stream, so the stream gets full, too. */
	if (in_log)
		return "use a larger --log-max-size first; if events are lost in the stream then, "
		       "a larger --stream-min-size";
	return "use a larger --stream-min-size";
}

/* Kinds of loss, each named by its key in JSON: the check under which a kind is reported, and what to do about it (may
 * be NULL). The check of all other kinds is "lost". */
static const struct {
	const char *key, *check, *advice;
} losses[] = {
	{"write_error", "log", NULL},
	{"untraced_processes", "attach", NULL},
	{"refused_names", "names",
	 "use fewer event names, one layout for each, and a larger /dev/shm"},
	{"missing_names", "names", NULL},
	{"damaged_parts", "log", "no event is missing because of that"},
	{"missing_files", "log", NULL},
	{"unreadable_events", "log", NULL},
};

void ptrc_doctor_losses(struct ptrc_doctor *d, const char *thing, const struct ptrc_losses *l,
			bool is_advised, bool is_ring, bool is_log_ring)
{
	struct ptrc_loss loss;

	for (size_t place = 0; ptrc_losses_next(l, &place, &loss);) {
		const char *check = "lost", *advice = NULL, *key = loss.key ? loss.key : "";
		bool is_of_stream = !strcmp(key, "stream_events");

		/* is_loss is false for files of the log that --log-keep has deleted, as the user wanted. */
		if (!loss.is_loss)
			continue;
		if (!is_advised && (is_of_stream || !strcmp(key, "log_events")))
			advice = room(is_of_stream, is_log_ring ? 0 : l->log_events);
		for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++)
			if (!strcmp(key, losses[i].key)) {
				check = losses[i].check;
				advice = losses[i].advice;
			}
		ptrc_doctor_say(d, is_ring && is_of_stream ? PTRC_DOCTOR_NOTE : PTRC_DOCTOR_PROBLEM,
				check, thing, advice, "%s", loss.text);
	}
}

const struct ptrc_session_list *ptrc_doctor_list(void)
{
	static struct ptrc_session_list all;

	/* Ignores the error if the directory cannot be used, because doctor_machine.c reports that. */
	if (!all.errors)
		ptrc_session_list(&all, false);
	return &all;
}

const char *ptrc_doctor_session_of(pid_t controller)
{
	const struct ptrc_session_list *all = ptrc_doctor_list();

	for (size_t i = 0; i < all->count; i++)
		if (!all->errors[i] && !ptrc_session_is_foreign(&all->replies[i].state) &&
		    all->replies[i].state.controller == controller)
			return all->names[i];
	return NULL;
}
