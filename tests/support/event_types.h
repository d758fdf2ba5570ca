/* SPDX-License-Identifier: MIT */
/* Event types of a reader that a test makes by hand, without a log. */
#ifndef TESTS_SUPPORT_EVENT_TYPES_H
#define TESTS_SUPPORT_EVENT_TYPES_H

#include <string.h>

#include "src/base/message.h"
#include "src/query/reader.h"

/* Has the reader know a type of this name, of which nothing else has been looked up. */
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

#endif
