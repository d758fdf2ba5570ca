/* SPDX-License-Identifier: MIT */
/* The fields of an event, by the names that they have in --fields, --where and JSON. */
#ifndef PTRC_SRC_QUERY_VIEW_H
#define PTRC_SRC_QUERY_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/message.h"
#include "src/fields/layout.h"
#include "src/query/reader.h"
#include "src/query/symbols.h"
#include "src/fields/value.h"

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
	/* What the log tells of its machine, and of the process of the event. */
	PTRC_FIELD_HOST,
	PTRC_FIELD_COMM,
	PTRC_FIELD_THREAD_NAME,
	PTRC_FIELD_EXE,
	PTRC_FIELD_USER,
	PTRC_FIELD_COMMAND_LINE,
	/* Where in the source the event was generated. */
	PTRC_FIELD_FUNCTION,
	PTRC_FIELD_FILE,
	PTRC_FIELD_LINE,
	/* How long a pair of events took, and what it is called. */
	PTRC_FIELD_DURATION,
	PTRC_FIELD_PAIR,
	/* How long the event was after the one before it of the same thread. */
	PTRC_FIELD_GAP,
	/* How far its time may be wrong. */
	PTRC_FIELD_BOUND,
	/* A field of a layout: data.NAME. */
	PTRC_FIELD_MEMBER,
};

enum { PTRC_FIELD_OF_JSON = -1 };

/* A longer name is no field. */
enum { PTRC_FIELD_TEXT_MAX = 120 };

struct ptrc_field {
	enum ptrc_field_id id;
	/* Of a member: the number of its name in the layouts; PTRC_FIELD_OF_JSON: only data that is JSON can have it;
	 * -3: no layout had it when the field was looked for, but one may have it now. */
	int name;
	/* Of data.x[2]: the 2; -1: the field is no element of an array. */
	int64_t index;
	/* Of a pair: the field is that of its begin, not of its end. */
	bool is_of_begin;
	/* Of a member: the units that it has in the layouts, a bit each: 1 << enum ptrc_unit. */
	unsigned int units;
	/* Of a member: it is text in all layouts that have it, and no data that is JSON can have it. */
	bool is_text;
	/* Of a member: all behind "data.", and where in this the path into JSON, or to an element,
	 * begins; at the end if there is none. */
	unsigned char path;
	char text[PTRC_FIELD_TEXT_MAX + 1];
};

/*
 * Finds a field by its name. Returns false with the reason if it does not exist. If the layouts are
 * for pairs of events, begin.NAME and end.NAME are fields of its two events, NAME is that of the
 * begin, and `duration` and `pair` are fields, too.
 */
bool ptrc_field_find(const char *name, const struct ptrc_layouts *, struct ptrc_field *,
		     struct ptrc_cli_reason *why);

/* The same, for events that have the same value in the field: not gap, which differs. */
bool ptrc_field_find_key(const char *name, const struct ptrc_layouts *, struct ptrc_field *,
			 struct ptrc_cli_reason *why);

const char *ptrc_field_name(enum ptrc_field_id);

/* Whether the field tells of the source, which only a view with symbols does. */
bool ptrc_field_is_of_source(enum ptrc_field_id);

/* Whether the field is a number in every event. A member of the data need not be one. */
bool ptrc_field_is_number(const struct ptrc_field *);

/* What the values of the field may measure: a set of dimensions. */
unsigned int ptrc_field_dimensions(const struct ptrc_field *);

/* A log has no more of a command line. */
enum { PTRC_COMMAND_LINE_BYTES = 4096 };

/* Stores the arguments with blanks between them, without a null byte; returns the size. */
size_t ptrc_command_line(const struct posixtrace_log_process *, char text[PTRC_COMMAND_LINE_BYTES]);

/* The event that a reader has read last. Its data is decoded when somebody first asks for
 * it. */
struct ptrc_view {
	struct ptrc_reader *reader;
	/* The layout of the event's data; null if it has none. */
	const struct ptrc_layout *layout;
	bool is_decoded;
	struct ptrc_decoded decoded;
	/* Those that it was found in. */
	const struct ptrc_layouts *layouts;
	/* The event was decoded before, so if its data does not fit the layout, that is counted. */
	bool is_again;
	/* The same for this event alone. */
	bool is_counted;
	/* The machine, once it has been asked for. */
	bool has_host;
	char host[256];
	char command_line[PTRC_COMMAND_LINE_BYTES];
	/* Null: nobody asks where in the source an event was generated. */
	struct ptrc_symbols *symbols;
	struct ptrc_symbol_cache *symbol_cache;
	/* If the event ends a pair: the view of the first event, the name of the pair, and how long it took. */
	struct ptrc_view *begin;
	const char *pair;
	uint64_t duration_ns;
};

/* Adds the layouts that the log, or the session so far, tells of its event types. Of one that this version
 * cannot read, it prints a message; that event type has none then. */
void ptrc_view_take_layouts(struct ptrc_view *, struct ptrc_layouts *);

/* The same for the type of the event that the reader has just read: for sources that learn of types while
 * they are read. */
void ptrc_view_take_layout(struct ptrc_view *, struct ptrc_layouts *);

/* Finds the layout of an event that the reader has just read: the first one whose pattern matches, or else
 * what the log or session tells, if that was added. System events have none. */
void ptrc_view_find_layout(struct ptrc_view *, const struct ptrc_layouts *);

/* The same for any event of a type of the source; null: it has none. */
const struct ptrc_layout *ptrc_view_layout(struct ptrc_view *, const struct ptrc_layouts *,
					   trace_event_id_t);

/* The number that the name of a member has in the layouts. */
int ptrc_field_number(const struct ptrc_field *, const struct ptrc_layouts *);

const struct ptrc_decoded *ptrc_view_decode(struct ptrc_view *);

/* The value of a member of the data, or null if the layout of the event has none of this name. */
const struct ptrc_value *ptrc_view_member(struct ptrc_view *, const struct ptrc_layouts *,
					  const char *name);

/* Where in the source the event was generated, as far as that is known; never null. */
const struct ptrc_symbol *ptrc_view_symbol(struct ptrc_view *);

/* The same of the value of a field that is a place in code; of an array, of the element with the index. */
const struct ptrc_symbol *ptrc_view_symbol_of(struct ptrc_view *, const struct ptrc_layout_field *,
					      uint64_t index, const struct ptrc_value *);

void ptrc_view_free(struct ptrc_view *);

/* The value of a field of the event. Texts point into the event; a time is a number of
 * nanoseconds since 1970. */
struct ptrc_value ptrc_view_value(struct ptrc_view *, const struct ptrc_field *);
/* The same, to a place of the caller. Of a number only .kind and the number are set. */
void ptrc_view_get(struct ptrc_view *, const struct ptrc_field *, struct ptrc_value *);

/* Whether the data of the event was cut. */
static inline bool ptrc_view_is_cut(const struct ptrc_view *v)
{
	return v->reader->event.posix_truncation_status != POSIX_TRACE_NOT_TRUNCATED;
}

/* Whether the data of the event was cut, or has been found not to fit its layout: by asking for any
 * field of it. */
static inline bool ptrc_view_is_maimed(const struct ptrc_view *v)
{
	return ptrc_view_is_cut(v) || (v->is_decoded && v->decoded.error != PTRC_LAYOUT_FITS);
}

/* Whether the event lacks the value of the field, or a part of it, because its data was cut or does
 * not fit its layout. */
bool ptrc_view_has_lost(struct ptrc_view *, const struct ptrc_field *);

#endif
