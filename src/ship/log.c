/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/ship/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/posixtrace-private.h"
#include "src/base/message.h"
#include "src/fields/when.h"

#define DAY_NS INT64_C(86400000000000)

/* ---- opening a log ---- */

static void note_end(struct ptrc_ship_log *l, const char *cause, uint64_t lost)
{
	if (!lost)
		return;
	l->ends[l->end_count].cause = cause;
	l->ends[l->end_count++].lost = lost;
}

/* Collects the losses that a closed log reports. Damage is not collected here: it gets a row at the place
 * where it is found. Reads the first events. */
static void note_ends(struct ptrc_ship_log *l)
{
	struct ptrc_losses losses = {0};
	struct ptrc_counts counts;

	ptrc_losses_gather(&losses, &l->reader.status, &l->reader.counts);
	l->is_closed = !losses.is_unclosed;
	if (!l->is_closed)
		return;
	if (losses.log_events && ptrc_losses_count_read(l->reader.trace, &counts))
		losses.log_events += counts.pt_ring_gap_events;
	note_end(l, "stream", losses.stream_events);
	note_end(l, "log", losses.log_events);
	note_end(l, "kernel", losses.unobserved_events);
	note_end(l, "write", losses.unwritten_events);
	note_end(l, "source damaged", losses.source_unreadable_events);
	note_end(l, "source too fast", losses.source_unshown_events);
	note_end(l, "untraced processes", losses.untraced_processes);
}

static void take_facts(struct ptrc_ship_log *l)
{
	const struct posixtrace_log_host *host = &l->whose.host;

	ptrc_reader_load_names(&l->reader);
	ptrc_view_take_layouts(&l->view, &l->layouts);
	l->head.used = 0;
	ptrc_ship_put_string(&l->head, host->ph_name, strlen(host->ph_name));
	ptrc_ship_put_string(&l->head, host->ph_boot_id, strlen(host->ph_boot_id));
	ptrc_ship_put_string(&l->head, l->name, strlen(l->name));
}

static bool begin(struct ptrc_ship_log *l, const char *path, uint64_t end)
{
	const struct timespec created = {.tv_sec = l->reader.attributes.creation_s,
					 .tv_nsec = l->reader.attributes.creation_ns};
	struct ptrc_reading_place place;
	int error = ptrc_log_get_place(l->reader.trace, &place);

	note_ends(l);
	l->view.reader = &l->reader;
	l->last_ns = ptrc_when_ns(&created);
	l->is_shortened = !error && place.pl_first_part;
	/* The rows of this file would get the same numbers as those of the first file. */
	if (l->is_shortened && !access(path, F_OK))
		return ptrc_cli_message(
			path, "is a later file of a rotated log, and cannot be sent alone");
	error = error ?: ptrc_reader_select_parts(&l->reader, 0, end);
	if (error)
		return ptrc_cli_error(path, error);
	l->id = place.pl_log_id;
	l->first_part = place.pl_first_part;
	l->end_part = place.pl_end_part;
	l->limit = end;
	snprintf(l->name, sizeof(l->name), "%016" PRIx64, l->id);
	ptrc_ship_whose_load(&l->whose, &l->reader);
	take_facts(l);
	return true;
}

struct ptrc_ship_log *ptrc_ship_log_open(const char *path, uint64_t end)
{
	struct ptrc_ship_log *l = ptrc_cli_allocate(sizeof(*l));

	if (!ptrc_reader_open(&l->reader, path)) {
		free(l);
		return NULL;
	}
	if (begin(l, path, end))
		return l;
	ptrc_ship_log_close(l);
	return NULL;
}

bool ptrc_ship_log_refresh(struct ptrc_ship_log *l, uint64_t end)
{
	uint64_t first = l->place.part;
	struct ptrc_reading_place place;

	if (ptrc_reader_refresh(&l->reader, first) || ptrc_log_get_place(l->reader.trace, &place))
		return false;
	ptrc_view_free(&l->view);
	ptrc_layouts_free(&l->layouts);
	l->view = (struct ptrc_view){.reader = &l->reader};
	l->layouts = (struct ptrc_layouts){0};
	ptrc_ship_whose_refresh(&l->whose, &l->reader);
	take_facts(l);
	l->end_part = place.pl_end_part;
	l->limit = end;
	l->first = first;
	return true;
}

void ptrc_ship_log_close(struct ptrc_ship_log *l)
{
	if (!l)
		return;
	ptrc_view_free(&l->view);
	ptrc_reader_close(&l->reader);
	ptrc_layouts_free(&l->layouts);
	ptrc_ship_whose_free(&l->whose);
	ptrc_ship_fields_free(&l->fields);
	ptrc_buffer_free(&l->head);
	free(l);
}

/* ---- reading the items of a log ---- */

static bool read_event(struct ptrc_ship_log *l)
{
	struct ptrc_reader *r = &l->reader;

	while (!r->block.events || !ptrc_reader_take(r, &r->block)) {
		struct ptrc_reading_place place;

		posixtrace_log_free_block(r->block.events);
		r->block.events = NULL;
		if (ptrc_log_get_place(r->trace, &place) || !ptrc_reader_next_block(r, &r->block))
			return false;
		l->block_place =
			(struct ptrc_ship_place){.part = place.pl_part, .events = place.pl_events};
	}
	return true;
}

/* Whether events are missing after the reader's current event, so that it begins a loss. */
static bool begins_loss(const struct ptrc_reader *r)
{
	trace_event_id_t id = r->event.posix_event_id;

	return id != POSIX_TRACE_ERROR && id != POSIX_TRACE_RESUME &&
	       ptrc_is_loss(id, r->data, r->size);
}

static bool ends_loss(const struct ptrc_reader *r)
{
	return r->event.posix_event_id == POSIX_TRACE_RESUME ||
	       r->event.posix_event_id == POSIX_TRACE_START;
}

bool ptrc_ship_log_next(struct ptrc_ship_log *l)
{
	if (l->is_at_event || l->is_at_end)
		return true;
	if (l->is_past_end)
		return false;
	if (!read_event(l)) {
		/* A loss that no event has ended gets its row after all events. */
		l->row_count = l->end_count + l->place.is_in_loss;
		l->ns = l->last_ns;
		l->is_at_end = l->is_closed && !l->reader.error && l->row_count;
		l->is_past_end = !l->is_at_end;
		return l->is_at_end;
	}
	l->is_at_event = true;
	l->ns = ptrc_when_ns(&l->reader.event.posix_timestamp);
	l->row_count = l->place.is_in_loss && ends_loss(&l->reader) ? 2 : 1;
	return true;
}

void ptrc_ship_log_pass(struct ptrc_ship_log *l)
{
	l->place.rows += l->row_count;
	if (l->is_at_end) {
		l->is_at_end = false;
		l->is_past_end = true;
		return;
	}
	l->is_at_event = false;
	l->last_ns = l->ns;
	l->place.part = l->block_place.part;
	l->place.events = l->block_place.events + l->reader.block.at;
	if (begins_loss(&l->reader)) {
		l->place.is_in_loss = true;
		l->place.loss_ns = l->ns;
		l->loss = l->reader.event.posix_event_id == POSIX_TRACE_OVERFLOW
				  ? l->reader.gap
				  : (struct ptrc_reader_gap){0};
	} else if (ends_loss(&l->reader)) {
		l->place.is_in_loss = false;
	}
}

bool ptrc_ship_log_seek(struct ptrc_ship_log *l, const struct ptrc_ship_place *place)
{
	int error = ptrc_reader_select_parts(&l->reader, place->part, l->limit);

	if (error)
		return ptrc_cli_error(l->reader.path, error);
	l->is_at_event = l->is_at_end = l->is_past_end = false;
	l->place = (struct ptrc_ship_place){.part = place->part};
	l->loss = (struct ptrc_reader_gap){0};
	for (uint64_t i = 0; i < place->events; i++) {
		if (!ptrc_ship_log_next(l) || l->is_at_end)
			return ptrc_cli_message(
				l->reader.path,
				"has fewer events than were shipped: it was cut off or "
				"is damaged");
		ptrc_ship_log_pass(l);
	}
	l->place = *place;
	return true;
}

/* ---- putting rows ---- */

int64_t ptrc_ship_day_of(int64_t ns)
{
	return ns / DAY_NS - (ns % DAY_NS < 0);
}

static void add_number(struct ptrc_ship_log *l, const char *name, int64_t n)
{
	ptrc_ship_add(&l->fields, name,
		      &(struct ptrc_value){.kind = PTRC_VALUE_SIGNED, .u = (uint64_t)n});
}

static int64_t put_lost(struct ptrc_ship_log *l, uint64_t seq, int64_t ns, const char *cause,
			struct ptrc_buffer *rows)
{
	struct ptrc_ship_event e = {
		.seq = seq,
		.ns = ns,
		.bound_ns = ptrc_correction_bound(l->reader.correction, ns),
		.name = PTRC_SHIP_LOST,
		.name_size = strlen(PTRC_SHIP_LOST),
	};

	ptrc_ship_add(&l->fields, "cause",
		      &(struct ptrc_value){
			      .kind = PTRC_VALUE_TEXT, .bytes = cause, .size = strlen(cause)});
	ptrc_ship_put_event(rows, &l->head, &e, &l->fields);
	return ns;
}

static int64_t put_gap(struct ptrc_ship_log *l, uint64_t seq, struct ptrc_buffer *rows)
{
	int64_t ns = l->place.loss_ns;

	if (ptrc_ship_day_of(ns) != ptrc_ship_day_of(l->ns))
		ns = ptrc_ship_day_of(l->ns) * DAY_NS;
	add_number(l, "from_ns", l->place.loss_ns);
	add_number(l, "until_ns", l->ns);
	if (l->loss.is_damage && !l->loss.is_uncounted)
		add_number(l, "lost", (int64_t)l->loss.events);
	return put_lost(l, seq, ns, l->loss.is_damage ? "damage" : "overrun", rows);
}

static int64_t put_end(struct ptrc_ship_log *l, size_t number, struct ptrc_buffer *rows)
{
	uint64_t seq = l->place.rows + number;

	if (l->place.is_in_loss && !number)
		return put_gap(l, seq, rows);
	number -= l->place.is_in_loss;
	add_number(l, "lost", (int64_t)l->ends[number].lost);
	return put_lost(l, seq, l->ns, l->ends[number].cause, rows);
}

static int64_t put_event(struct ptrc_ship_log *l, uint64_t seq, struct ptrc_buffer *rows)
{
	struct ptrc_reader *r = &l->reader;
	const struct posix_trace_event_info *info = &r->event;
	const struct ptrc_reader_name *name = ptrc_reader_name(r, info->posix_event_id);
	struct ptrc_ship_event e = {
		.seq = seq,
		.ns = l->ns,
		.bound_ns = ptrc_correction_bound(r->correction, l->ns),
		.pid = info->posix_pid,
		.tid = (int32_t)info->posix_tid,
		.process = ptrc_ship_whose_process(&l->whose, r->trace, info->posix_pid, l->ns),
		.name = name->text,
		.name_size = name->size,
		.data = r->data,
		.size = r->size,
	};

	ptrc_view_find_layout(&l->view, &l->layouts);
	if (l->view.layout)
		ptrc_ship_add_decoded(&l->fields, l->view.layout, ptrc_view_decode(&l->view));
	if (info->posix_truncation_status != POSIX_TRACE_NOT_TRUNCATED)
		add_number(l, "posixtrace.truncated", 1);
	ptrc_ship_put_event(rows, &l->head, &e, &l->fields);
	return l->ns;
}

int64_t ptrc_ship_log_put(struct ptrc_ship_log *l, size_t number, struct ptrc_buffer *rows)
{
	if (l->is_at_end)
		return put_end(l, number, rows);
	if (number + 1 < l->row_count)
		return put_gap(l, l->place.rows, rows);
	return put_event(l, l->place.rows + number, rows);
}

void ptrc_ship_log_losses(const struct ptrc_ship_log *l, struct ptrc_losses *losses)
{
	*losses = (struct ptrc_losses){0};
	ptrc_reader_losses(&l->reader, false, losses);
}

bool ptrc_ship_log_is_damaged(const struct ptrc_ship_log *l)
{
	struct ptrc_counts counts;
	struct ptrc_losses losses;

	/* Even before the log is closed, a missing file between two others counts as damage: its events are not
	 * sent, even if the user puts the file back later. */
	if (!ptrc_trace_counts(l->reader.trace, &counts) && counts.pt_file_gaps)
		return true;

	ptrc_ship_log_losses(l, &losses);
	if (losses.unreadable_events || losses.is_unreadable_uncounted)
		return true;
	/* A log that is not closed may have an incomplete end only because it is being written. */
	return l->is_closed && (losses.missing_names || losses.damaged_parts);
}
