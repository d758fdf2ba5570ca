/* SPDX-License-Identifier: MIT */
/* Event types for a struct ptrc_reader that a test sets up by hand, without a log. */
#ifndef TESTS_SUPPORT_EVENT_TYPES_H
#define TESTS_SUPPORT_EVENT_TYPES_H

#include <string.h>

#include "src/base/message.h"
#include "src/query/reader.h"

/* Gives the reader an event type with this identifier and name, as if only its name had been looked
 * up in a log. */
static inline void knows_type(struct ptrc_reader *r, trace_event_id_t id, const char *name)
{
	struct ptrc_type *type = ptrc_cli_allocate(sizeof(*type));

	if (!r->types)
		ptrc_reader_own_types(r);
	type->name.is_known = true;
	type->name.size = strlen(strcpy(type->name.text, name));
	type->is_os_lost = !strcmp(name, PTRC_OS_LOST);
	free(r->types[id]);
	r->types[id] = type;
}

/* JSON with ' in place of ", for strings in C. */
static inline const char *single_quoted(char *json)
{
	for (char *c = json; (c = strchr(c, '"'));)
		*c = '\'';
	return json;
}

#endif
