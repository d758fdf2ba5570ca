/* SPDX-License-Identifier: MIT */
/* Events that are written to a log, in place of lines (--to-log). */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/view/dump.h"

struct ptrc_dump_log {
	const char *path;
	struct posixtrace_log *log;
	/* By source and type of that: the type in the log; 0: not asked for yet. */
	trace_event_id_t (*types)[PTRC_READER_IDS];
	/* The error number of the write that failed. */
	int error;
};

/* The attributes of the log: those of the first source. */
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

bool ptrc_dump_to_log(struct ptrc_dump *d, const char *path, int fd)
{
	const struct ptrc_attributes *a = &d->sources[0].reader.attributes;
	struct timespec created = {.tv_sec = a->creation_s, .tv_nsec = a->creation_ns};
	struct ptrc_dump_log *l = ptrc_cli_allocate(sizeof(*l));
	trace_attr_t attr;
	int error;

	*l = (struct ptrc_dump_log){.path = path};
	l->types = ptrc_cli_allocate(d->source_count * sizeof(*l->types));
	memset(l->types, 0, d->source_count * sizeof(*l->types));
	error = make_attributes(a, &attr);
	if (!error)
		error = posixtrace_log_create(fd, &attr, &created, &l->log);
	if (error) {
		ptrc_cli_error(path, error);
		free(l->types);
		free(l);
		return false;
	}
	d->log = l;
	return true;
}

/* The type in the log of an event of the source. */
static trace_event_id_t type_of(struct ptrc_dump_log *l, struct ptrc_source *s)
{
	trace_event_id_t id = s->reader.event.posix_event_id;
	trace_event_id_t *type = &l->types[s->order][id < PTRC_READER_IDS ? id : 0];

	if (!*type && ptrc_is_system_type(id))
		*type = id;
	else if (!*type)
		l->error = posixtrace_log_type(l->log, ptrc_reader_name(&s->reader, id)->text,
					       type);
	return *type;
}

void ptrc_dump_log_event(struct ptrc_dump *d, struct ptrc_source *s)
{
	struct posixtrace_event e = {.pt_info = s->reader.event,
				     .pt_data = s->reader.data,
				     .pt_size = s->reader.size};
	struct ptrc_dump_log *l = d->log;

	/* In a log of several, what stands between them belongs to others, too. The end of the log
	 * tells how many events are missing. */
	if (d->source_count > 1 && (e.pt_info.posix_event_id == POSIX_TRACE_OVERFLOW ||
				    e.pt_info.posix_event_id == POSIX_TRACE_RESUME))
		return;
	if (!l->error)
		e.pt_info.posix_event_id = type_of(l, s);
	if (!l->error)
		l->error = posixtrace_log_add(l->log, &e);
}

bool ptrc_dump_log_failed(const struct ptrc_dump *d)
{
	return d->log && d->log->error;
}

bool ptrc_dump_log_end(struct ptrc_dump *d)
{
	struct posixtrace_counts lost = {.pt_size = sizeof(lost)};
	struct ptrc_dump_log *l = d->log;
	int error;

	for (size_t i = 0; i < d->source_count; i++) {
		const struct ptrc_losses *s = &d->sources[i].losses;

		lost.pt_lost_events += s->stream_events;
		lost.pt_log_lost_events += s->log_events + s->unwritten_events +
					   s->unreadable_events + s->unshown_events;
	}
	error = posixtrace_log_close(l->log, &lost);
	if (!error)
		error = l->error;
	if (error)
		ptrc_cli_message(l->path, "writing the log failed: %s", strerror(error));
	free(l->types);
	free(l);
	d->log = NULL;
	return !error;
}
