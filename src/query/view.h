/* SPDX-License-Identifier: MIT */
/* The fields of an event, found by the names that they have in --fields, --where and JSON. */
#ifndef PTRC_SRC_QUERY_VIEW_H
#define PTRC_SRC_QUERY_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/message.h"
#include "src/fields/layout.h"
#include "src/fields/value.h"
#include "src/query/reader.h"
#include "src/query/symbols.h"

enum ptrc_field_id {
	PTRC_FIELD_TIME,
	PTRC_FIELD_NS,
	PTRC_FIELD_EVENT,
	PTRC_FIELD_TYPE_ID,
	PTRC_FIELD_PID,
	PTRC_FIELD_TID,
	PTRC_FIELD_THREAD,
	PTRC_FIELD_ADDRESS,
	PTRC_FIELD_TRUNCATED,
	PTRC_FIELD_LEN,
	PTRC_FIELD_DATA,
	PTRC_FIELD_DATA_HEX,
	PTRC_FIELD_LOG,
	PTRC_FIELD_REASON,
	PTRC_FIELD_ERROR,
	/* The name of the machine that wrote the log, and what the log has about the process and the thread of
	 * the event. */
	PTRC_FIELD_HOST,
	PTRC_FIELD_COMM,
	PTRC_FIELD_THREAD_NAME,
	PTRC_FIELD_EXE,
	PTRC_FIELD_USER,
	PTRC_FIELD_COMMAND_LINE,
	/* The place in the source code that recorded the event. */
	PTRC_FIELD_FUNCTION,
	PTRC_FIELD_FILE,
	PTRC_FIELD_LINE,
	/* The duration and the name of a pair of events. */
	PTRC_FIELD_DURATION,
	PTRC_FIELD_PAIR,
	/* The time since the preceding event of the same thread. */
	PTRC_FIELD_GAP,
	/* The greatest error of the event's time. */
	PTRC_FIELD_BOUND,
	/* A field of a layout: data.NAME. */
	PTRC_FIELD_MEMBER,
};

enum { PTRC_FIELD_OF_JSON = -1 };

/* The greatest length of the name of a field of the data, without "data.". */
enum { PTRC_FIELD_TEXT_MAX = 120 };

struct ptrc_field {
	enum ptrc_field_id id;
	/* The field is that of the first event of a pair, not that of the last. */
	bool is_of_begin;

	/* This and the rest of the struct are for fields of the data (PTRC_FIELD_MEMBER). `name` is the number of
	 * the field's name in the layouts; PTRC_FIELD_OF_JSON if only JSON data can have the field; or FOUND_LATER
	 * (view.c) if no layout had the name when it was looked up, but one may have it now. */
	int name;
	/* The 2 in data.x[2]; -1 if the field is not an element of an array. */
	int64_t index;
	/* The set of dimensions (PTRC_DIMENSION_*) that the member's values may have. */
	unsigned int dimensions;
	/* `text` is what follows "data." in the name. `path` is the offset in `text` at which the path into JSON,
	 * or the index, starts; the length of `text` if there is neither. */
	unsigned char path;
	char text[PTRC_FIELD_TEXT_MAX + 1];
};

/* Finds a field by its name. Returns false, and stores the reason, if it does not exist. If the layouts are for
 * pairs of events, begin.NAME and end.NAME are fields of the two events, NAME is the field of the first event,
 * and `duration` and `pair` are fields of the pair. */
bool ptrc_field_find(const char *name, const struct ptrc_layouts *, struct ptrc_field *,
		     struct ptrc_cli_reason *why);

/* Finds a field by its name, as ptrc_field_find() does, but refuses a field that two events never have in common,
 * such as gap. */
bool ptrc_field_find_key(const char *name, const struct ptrc_layouts *, struct ptrc_field *,
			 struct ptrc_cli_reason *why);

const char *ptrc_field_name(enum ptrc_field_id);

/* Whether the field is part of a place in the source code. Only a view with symbols has such fields. */
bool ptrc_field_is_of_source(enum ptrc_field_id);

/* Whether the field is a number in every event. */
bool ptrc_field_is_number(const struct ptrc_field *);

/* The set of dimensions (PTRC_DIMENSION_*) that values of the field may have. */
unsigned int ptrc_field_dimensions(const struct ptrc_field *);

/* Logs keep at most this many bytes of a command line. */
enum { PTRC_COMMAND_LINE_BYTES = 4096 };

/* Stores the arguments of a process, separated by blanks, without a null byte at the end. Returns the size. */
size_t ptrc_command_line(const struct posixtrace_log_process *, char text[PTRC_COMMAND_LINE_BYTES]);

/* A view of the latest event of a reader, from which its fields are taken. The event's data is decoded when a
 * field first needs that. */
struct ptrc_view {
	struct ptrc_reader *reader;
	/* The layout of the event's data, or NULL; and all layouts, from which it was taken. */
	const struct ptrc_layout *layout;
	const struct ptrc_layouts *layouts;
	bool is_decoded;
	struct ptrc_decoded decoded;
	/* If either is set, data that does not fit its layout is not counted, because it was counted before. is_again:
	 * all events are read a second time. is_counted: the latest event was decoded before. */
	bool is_again;
	bool is_counted;
	/* The name of the machine, once it was looked up. */
	bool has_host;
	char host[256];
	char command_line[PTRC_COMMAND_LINE_BYTES];
	/* NULL if no field needs symbols. The cache is one allocation. */
	struct ptrc_symbols *symbols;
	struct ptrc_symbol_cache *symbol_cache;
	/* If the event ends a pair: the view of the first event of the pair, and the name and the duration of the
	 * pair. */
	struct ptrc_view *begin;
	const char *pair;
	uint64_t duration_ns;
};

/* Adds the layouts that the log, or the session so far, has for its event types. If this version cannot read a
 * layout, prints a message; the type then has no layout. */
void ptrc_view_take_layouts(struct ptrc_view *, struct ptrc_layouts *);

/* Adds the layout of the latest event's type, if it is new. A session announces event types while it is read. */
void ptrc_view_take_layout(struct ptrc_view *, struct ptrc_layouts *);

/* Finds the layout of an event type: the first one whose pattern matches the name, or else the layout that the
 * source itself has for the type, if it was added. Returns NULL if there is none, as for system events. */
const struct ptrc_layout *ptrc_view_layout(struct ptrc_view *, const struct ptrc_layouts *,
					   trace_event_id_t);

/* Sets the view's layout to that of the latest event. Called for each event before its fields are read. */
void ptrc_view_find_layout(struct ptrc_view *, const struct ptrc_layouts *);

/* The number that the name of a member has in the layouts. */
int ptrc_field_number(const struct ptrc_field *, const struct ptrc_layouts *);

const struct ptrc_decoded *ptrc_view_decode(struct ptrc_view *);

/* The value of a member of the data, or NULL if the event's layout has no member of this name. */
const struct ptrc_value *ptrc_view_member(struct ptrc_view *, const struct ptrc_layouts *,
					  const char *name);

/* The place in the source code that recorded the event, as far as it is known; never NULL. */
const struct ptrc_symbol *ptrc_view_symbol(struct ptrc_view *);

/* The place in the source code of an address: the value of a layout's field that is a place in code, or of element
 * `index` of an array of such places. Never NULL. */
const struct ptrc_symbol *ptrc_view_symbol_of(struct ptrc_view *, const struct ptrc_layout_field *,
					      uint64_t index, const struct ptrc_value *);

void ptrc_view_free(struct ptrc_view *);

/* The value of a field of the event. A text in it is no copy; it may point into the event or the view. Times are
 * nanoseconds since 1970. */
struct ptrc_value ptrc_view_value(struct ptrc_view *, const struct ptrc_field *);
/* Does what ptrc_view_value() does, but stores the value, which is faster. For a number, sets only .kind, .unit
 * and the number. */
void ptrc_view_get(struct ptrc_view *, const struct ptrc_field *, struct ptrc_value *);

static inline bool ptrc_view_is_cut(const struct ptrc_view *v)
{
	return v->reader->event.posix_truncation_status != POSIX_TRACE_NOT_TRUNCATED;
}

/* Whether the data was cut, or was decoded before and does not fit its layout. */
static inline bool ptrc_view_is_maimed(const struct ptrc_view *v)
{
	return ptrc_view_is_cut(v) || (v->is_decoded && v->decoded.error != PTRC_LAYOUT_FITS);
}

/* Whether the field, or a part of it, is missing because the data was cut or does not fit its layout. */
bool ptrc_view_has_lost(struct ptrc_view *, const struct ptrc_field *);

#endif
