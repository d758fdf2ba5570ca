/* SPDX-License-Identifier: MIT */
/* The fields of an event, by the names that they have in --fields, --where and JSON. */
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
	/* The machine of the log, and the process of the event. */
	PTRC_FIELD_HOST,
	PTRC_FIELD_COMM,
	PTRC_FIELD_THREAD_NAME,
	PTRC_FIELD_EXE,
	PTRC_FIELD_USER,
	PTRC_FIELD_COMMAND_LINE,
	/* The place in the source code. */
	PTRC_FIELD_FUNCTION,
	PTRC_FIELD_FILE,
	PTRC_FIELD_LINE,
	/* The duration of a pair of events, and its name. */
	PTRC_FIELD_DURATION,
	PTRC_FIELD_PAIR,
	/* The time since the event before of the same thread. */
	PTRC_FIELD_GAP,
	/* How wrong the time may be. */
	PTRC_FIELD_BOUND,
	/* A field of a layout: data.NAME. */
	PTRC_FIELD_MEMBER,
};

enum { PTRC_FIELD_OF_JSON = -1 };

/* A longer name is no field. */
enum { PTRC_FIELD_TEXT_MAX = 120 };

struct ptrc_field {
	enum ptrc_field_id id;
	/* The field of the first event of a pair, not of the last one. */
	bool is_of_begin;

	/* The rest is for members. The number of the name in the layouts; PTRC_FIELD_OF_JSON: only JSON data can have
	 * it; -3: no layout had it when it was looked up, but one may have it now. */
	int name;
	/* The 2 in data.x[2]; -1: no element of an array. */
	int64_t index;
	/* Its units in the layouts, a bit each: 1 << enum ptrc_unit. */
	unsigned int units;
	/* It is text in all layouts that have it, and no JSON data can have it. */
	bool is_text;
	/* The text after "data.", and the offset in it of the path into JSON or of the index; the size if there is
	 * neither. */
	unsigned char path;
	char text[PTRC_FIELD_TEXT_MAX + 1];
};

/* Finds a field by its name. Returns false with the reason if it does not exist. If the layouts are for pairs of events,
 * begin.NAME and end.NAME are fields of the two events, NAME is that of the first, and `duration` and `pair` are fields,
 * too. */
bool ptrc_field_find(const char *name, const struct ptrc_layouts *, struct ptrc_field *,
		     struct ptrc_cli_reason *why);

/* Does the same for a field that several events can have in common: refuses gap, for instance. */
bool ptrc_field_find_key(const char *name, const struct ptrc_layouts *, struct ptrc_field *,
			 struct ptrc_cli_reason *why);

const char *ptrc_field_name(enum ptrc_field_id);

/* Whether the field is a place in the source code, which only a view with symbols has. */
bool ptrc_field_is_of_source(enum ptrc_field_id);

/* Whether the field is a number in every event. */
bool ptrc_field_is_number(const struct ptrc_field *);

/* The set of dimensions that values of the field may have. */
unsigned int ptrc_field_dimensions(const struct ptrc_field *);

/* Logs keep at most this much of a command line. */
enum { PTRC_COMMAND_LINE_BYTES = 4096 };

/* Stores the arguments separated by blanks, without a null byte, and returns the size. */
size_t ptrc_command_line(const struct posixtrace_log_process *, char text[PTRC_COMMAND_LINE_BYTES]);

/* The fields of the latest event of a reader. Its data is decoded when a field first needs that. */
struct ptrc_view {
	struct ptrc_reader *reader;
	/* The layout of its data, or NULL, and the layouts that it is from. */
	const struct ptrc_layout *layout;
	const struct ptrc_layouts *layouts;
	bool is_decoded;
	struct ptrc_decoded decoded;
	/* All events were decoded before, or this one was: if its data does not fit the layout, it is counted already. */
	bool is_again;
	bool is_counted;
	/* The name of the machine, once it was looked up. */
	bool has_host;
	char host[256];
	char command_line[PTRC_COMMAND_LINE_BYTES];
	/* NULL if no field needs them. The cache is one allocation. */
	struct ptrc_symbols *symbols;
	struct ptrc_symbol_cache *symbol_cache;
	/* Set if the event ends a pair: the view of the first event, the name and the duration of the pair. */
	struct ptrc_view *begin;
	const char *pair;
	uint64_t duration_ns;
};

/* Adds the layouts that the log, or the session so far, has of its event types. Prints a message for a layout that this
 * version cannot read; its type then has none. */
void ptrc_view_take_layouts(struct ptrc_view *, struct ptrc_layouts *);

/* Does the same for the type of the latest event, as a session announces types while it is read. */
void ptrc_view_take_layout(struct ptrc_view *, struct ptrc_layouts *);

/* Finds the layout of a type: the first whose pattern matches, or else the source's own, if it was added; NULL if there
 * is none. System events have none. */
const struct ptrc_layout *ptrc_view_layout(struct ptrc_view *, const struct ptrc_layouts *,
					   trace_event_id_t);

/* Makes that the layout of the latest event. Called for each event before its fields are read. */
void ptrc_view_find_layout(struct ptrc_view *, const struct ptrc_layouts *);

/* The number of the name of a member in the layouts. */
int ptrc_field_number(const struct ptrc_field *, const struct ptrc_layouts *);

const struct ptrc_decoded *ptrc_view_decode(struct ptrc_view *);

/* The value of a member of the data, or NULL if the layout of the event has none of this name. */
const struct ptrc_value *ptrc_view_member(struct ptrc_view *, const struct ptrc_layouts *,
					  const char *name);

/* The place in the source code that generated the event, as far as it is known; never NULL. */
const struct ptrc_symbol *ptrc_view_symbol(struct ptrc_view *);

/* The same for the value of a field that is a place in code, or for an element of an array. */
const struct ptrc_symbol *ptrc_view_symbol_of(struct ptrc_view *, const struct ptrc_layout_field *,
					      uint64_t index, const struct ptrc_value *);

void ptrc_view_free(struct ptrc_view *);

/* The value of a field of the event. Texts point into the event. Times are nanoseconds since 1970. */
struct ptrc_value ptrc_view_value(struct ptrc_view *, const struct ptrc_field *);
/* Stores it, which is faster. For a number, only .kind, .unit and the number are set. */
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
