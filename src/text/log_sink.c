/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/text/log_sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/message.h"
#include "src/base/output.h"

struct log_sink {
	struct ptrc_query *query;
	const char *path;
	bool *is_broken;
	struct posixtrace_log_writer *log;
	/* The error number of the write that failed; 0: none has failed. */
	int error;
	/* The OVERFLOW of a gap whose RESUME has not come yet. Its type is 0 if there is no such gap. */
	struct posixtrace_event overflow;
};

static int make_attributes(const struct ptrc_attributes *a, trace_attr_t *attr)
{
	int error = posix_trace_attr_init(attr);

	if (error)
		return error;
	posix_trace_attr_setname(attr, a->trace_name);
	posix_trace_attr_setmaxdatasize(attr, a->max_data_size);
	posix_trace_attr_setstreamsize(attr, a->stream_min_size);
	posix_trace_attr_setstreamfullpolicy(attr, a->stream_full_policy);
	posix_trace_attr_setinherited(attr, a->inheritance);
	return 0;
}

/* Called if the log already has an event type with this name but another layout. Makes the type "NAME (2)" in the
 * log or, if that exists, too, with the next number that is free. */
static void make_other(struct log_sink *l, const struct ptrc_source *s, const char *name,
		       const char *layout, trace_event_id_t *type)
{
	char other[TRACE_EVENT_NAME_MAX + 1];

	l->error = EEXIST;
	for (unsigned int i = 2; l->error == EEXIST; i++) {
		char number[16];
		int size = snprintf(number, sizeof(number), " (%u)", i);

		snprintf(other, sizeof(other), "%.*s%s", TRACE_EVENT_NAME_MAX - size, name, number);
		l->error = posixtrace_log_writer_type(l->log, other, layout, type);
	}
	if (!l->error)
		ptrc_cli_message(s->reader.path,
				 "event type %s has another layout than in the log or session "
				 "before: it is called %s",
				 name,
				 *type > POSIX_TRACE_UNNAMED_USEREVENT
					 ? other
					 : "posix_trace_unnamed_userevent");
}

/* Makes an event type of the source in the log. If this version of the library cannot read the layout of the type,
 * or the log has no space for the layout, the type is made without it. */
static void make_type(struct log_sink *l, struct ptrc_source *s, trace_event_id_t id,
		      trace_event_id_t *type)
{
	const char *name = ptrc_reader_name(&s->reader, id)->text;
	char layout[POSIXTRACE_LAYOUT_MAX + 1];
	bool has_layout = ptrc_reader_layout(&s->reader, id, layout);

	l->error = posixtrace_log_writer_type(l->log, name, has_layout ? layout : NULL, type);
	if (l->error == EEXIST)
		make_other(l, s, name, layout, type);
	else if (has_layout && (l->error == EINVAL || l->error == ENOSPC))
		l->error = posixtrace_log_writer_type(l->log, name, NULL, type);
}

static trace_event_id_t type_of(struct log_sink *l, struct ptrc_source *s, trace_event_id_t id)
{
	struct ptrc_type *own = ptrc_reader_type(&s->reader, id);
	trace_event_id_t *type = own->of_sink;

	if (!type)
		own->of_sink = type = ptrc_cli_allocate(sizeof(*type));
	if (!*type && ptrc_is_system_type(id))
		*type = id;
	else if (!*type)
		make_type(l, s, id, type);
	return *type;
}

/* Translates an event set from the numbers that the source gives to types to those of the log. A set that has the
 * last possible number also stands for types that the source has not announced yet. So its translation has all
 * types of the log, except for known types that are not in the set. */
static void translate(struct log_sink *l, struct ptrc_source *s, trace_event_set_t *set)
{
	trace_event_set_t of_log;
	int is_member = 0;

	posix_trace_eventset_ismember(PTRC_READER_IDS - 1, set, &is_member);
	if (is_member)
		posix_trace_eventset_fill(&of_log, POSIX_TRACE_ALL_EVENTS);
	else
		posix_trace_eventset_empty(&of_log);
	for (trace_event_id_t id = 1; id < PTRC_READER_IDS && !l->error; id++) {
		const struct ptrc_type *own = s->reader.types[id];
		trace_event_id_t type;

		if (!ptrc_is_system_type(id) && !(own && own->name.is_known))
			continue;
		if (posix_trace_eventset_ismember(id, set, &is_member))
			continue;
		type = type_of(l, s, id);
		if (!l->error && is_member)
			posix_trace_eventset_add(type, &of_log);
		else if (!l->error)
			posix_trace_eventset_del(type, &of_log);
	}
	*set = of_log;
}

static void add_one(struct log_sink *l, const struct posixtrace_event *e)
{
	if (!l->error)
		l->error = posixtrace_log_writer_add(l->log, e);
}

static void add_overflow(struct log_sink *l)
{
	if (l->overflow.pt_info.posix_event_id)
		add_one(l, &l->overflow);
	l->overflow.pt_info.posix_event_id = 0;
}

static void add(void *self, struct ptrc_source *s)
{
	struct posixtrace_event e = {
		.pt_info = s->reader.event, .pt_data = s->reader.data, .pt_size = s->reader.size};
	trace_event_id_t id = e.pt_info.posix_event_id;
	struct log_sink *l = self;
	trace_event_set_t sets[2];

	l->query->shown_count++;
	/* If the log is made from several sources, events of other sources may come between an OVERFLOW and its
	 * RESUME, so both are left out. The end of the log has the number of missing events. */
	if (l->query->source_count > 1 && (id == POSIX_TRACE_OVERFLOW || id == POSIX_TRACE_RESUME))
		return;
	/* If an OVERFLOW has no RESUME, a reader of the log ignores all events after it. Perhaps the RESUME is
	 * not selected. So the OVERFLOW is written only when its RESUME comes. */
	if (id == POSIX_TRACE_OVERFLOW) {
		l->overflow = e;
		l->overflow.pt_data = "";
		l->overflow.pt_size = 0;
		return;
	}
	if (id == POSIX_TRACE_RESUME)
		add_overflow(l);
	l->overflow.pt_info.posix_event_id = 0;
	if ((id == POSIX_TRACE_START && e.pt_size == sizeof(*sets)) ||
	    (id == POSIX_TRACE_FILTER && e.pt_size == sizeof(sets))) {
		memcpy(sets, e.pt_data, e.pt_size);
		e.pt_data = sets;
		for (size_t i = 0; i < e.pt_size / sizeof(*sets); i++)
			translate(l, s, &sets[i]);
	}
	if (!l->error)
		e.pt_info.posix_event_id = type_of(l, s, id);
	add_one(l, &e);
}

static bool is_full(const void *self)
{
	const struct log_sink *l = self;

	return l->error;
}

/* Copies what the sources say about the machine and its processes into the log. If it is not certain that all
 * sources are from the same boot of the same machine, a process number may mean different processes, so nothing
 * is copied. */
static void add_origin(struct log_sink *l)
{
	struct posixtrace_log_host first, other;
	const struct ptrc_query *q = l->query;

	for (size_t i = 0; i < q->source_count; i++) {
		const struct ptrc_reader *r = &q->sources[i].reader;
		bool is_told =
			!posixtrace_log_get_host(r->trace, i ? &other : &first, sizeof(first));

		if (!is_told && q->source_count == 1)
			return;
		if (is_told && (!i || ptrc_hosts_is_same_machine(&first, &other)))
			continue;
		ptrc_cli_message(l->path,
				 "the log does not tell machine and processes, because not all "
				 "sources tell the same machine, booted once");
		return;
	}
	for (size_t i = 0; i < q->source_count && !l->error; i++)
		l->error = posixtrace_log_writer_add_origin(l->log, q->sources[i].reader.trace);
}

static bool end(void *self)
{
	struct ptrc_counts lost = {0};
	struct log_sink *l = self;
	struct ptrc_query *q = l->query;
	int error;

	for (size_t i = 0; i < q->source_count; i++) {
		const struct ptrc_losses *s = &q->sources[i].losses;
		const struct ptrc_counts *counts = &q->sources[i].reader.counts;
		trace_event_id_t went_on =
			ptrc_reader_find_type(&q->sources[i].reader, PTRC_WENT_ON);

		/* If a log has this event type, processes were still traced when it was closed. So the type is
		 * copied even if its event is not selected. */
		if (went_on && !l->error)
			type_of(l, &q->sources[i], went_on);

		lost.pt_lost_events += s->stream_events;
		lost.pt_log_lost_events += s->log_events;
		lost.pt_unobserved_events += s->unobserved_events;
		lost.pt_source_damaged_events +=
			s->unreadable_events + s->missing_events + s->source_unreadable_events;
		if (lost.pt_data_needed < counts->pt_data_needed)
			lost.pt_data_needed = counts->pt_data_needed;
		lost.pt_source_damaged_parts +=
			s->damaged_parts + s->missing_names + s->source_damaged_parts;
		lost.pt_untraced_processes += s->untraced_processes;
		if (s->untraced_error) {
			lost.pt_untraced_error = (unsigned long)s->untraced_error;
			lost.pt_untraced_versions = s->untraced_versions;
		}
		/* Several sources may have refused the same names, so the greatest of their numbers is used, not
		 * the sum. */
		if (lost.pt_refused_names < s->refused_names)
			lost.pt_refused_names = s->refused_names;
		lost.pt_source_missed_events += s->unshown_events + s->source_unshown_events;
		lost.pt_is_source_uncounted |= s->is_unreadable_uncounted || s->is_overrun ||
					       s->is_unclosed || s->is_rest_unshown ||
					       s->is_log_gone || s->unwritten_events ||
					       s->write_error || s->is_source_uncounted ||
					       (s->missing_files && !s->missing_events);
	}
	add_overflow(l);
	if (!l->error)
		add_origin(l);
	error = ptrc_log_copy_close(l->log, &lost) ?: l->error;
	/* The reader of standard output may end when it has enough; that is no error. */
	if (error == EPIPE && ptrc_output_is(l->path))
		error = 0;
	if (error)
		ptrc_cli_message(l->path, "writing the log failed: %s", strerror(error));
	*l->is_broken = error;
	free(l);
	q->sink = (struct ptrc_sink){0};
	return !error;
}

bool ptrc_log_sink_begin(struct ptrc_query *q, const char *path, int fd, bool *is_broken)
{
	const struct ptrc_attributes *a = &q->sources[0].reader.attributes;
	struct timespec created = {.tv_sec = a->creation_s, .tv_nsec = a->creation_ns};
	struct log_sink *l = ptrc_cli_allocate(sizeof(*l));
	trace_attr_t attr;
	int error;

	*l = (struct log_sink){.query = q, .path = path, .is_broken = is_broken};
	error = make_attributes(a, &attr)
			?: posixtrace_log_writer_open(fd, &attr, &created, &l->log);
	if (error) {
		ptrc_cli_error(path, error);
		free(l);
		return false;
	}
	q->sink = (struct ptrc_sink){.self = l, .event = add, .is_full = is_full, .end = end};
	return true;
}
