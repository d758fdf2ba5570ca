/* SPDX-License-Identifier: MIT */
/* An expression, as --where takes it, and behind a null byte the data of an event. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/event_types.h"
#include "src/query/where.h"
#include "tests/fuzz/fuzz.h"

struct input {
	const char *expression;
	const uint8_t *data;
	size_t size;
};

/* A type of the user's, and one of the system's whose data the commands know. */
enum { USER_ID = 1032 };

/* When the trace begins and ends. */
#define BEGIN_NS INT64_C(1767323044000000000)
#define END_NS INT64_C(1767323046000000000)

static const trace_event_id_t ids[] = {USER_ID, POSIX_TRACE_ERROR, POSIX_TRACE_STOP};

/* Returns whether the expression holds. */
static bool evaluate(struct ptrc_where *where, const struct ptrc_layouts *layouts,
		     const struct input *in, trace_event_id_t id)
{
	static struct ptrc_reader reader;
	static struct ptrc_view view;
	unsigned char *data;
	bool is_so;

	memset(&reader, 0, sizeof(reader));
	memset(&view, 0, sizeof(view));
	reader.path = "app.log";
	reader.since_before = 5000000;
	knows_type(&reader, id, "app.event");
	reader.event = (struct posix_trace_event_info){
		.posix_event_id = id,
		.posix_pid = 4711,
		.posix_prog_address = (void *)(uintptr_t)0x401234,
		.posix_truncation_status = POSIX_TRACE_NOT_TRUNCATED,
		.posix_timestamp = {.tv_sec = 1767323045, .tv_nsec = 123456789},
	};
	/* Of exactly this size. */
	reader.data = data = malloc(in->size ? in->size : 1);
	FUZZ_CHECK(reader.data);
	memcpy(data, in->data, in->size);
	reader.size = in->size;
	view.reader = &reader;
	ptrc_view_find_layout(&view, layouts);
	is_so = ptrc_where_all_hold(&where, 1, &view);
	ptrc_view_free(&view);
	ptrc_reader_free_types(&reader);
	free(data);
	return is_so;
}

/* What holds does not hold negated, and the other way round unless it is undecided, however deep values are
 * nested. */
static void negate(const struct ptrc_layouts *layouts, const struct input *in, bool is_so)
{
	static const char before[] = "!(";
	char *text = malloc(strlen(in->expression) + sizeof(before) + 1);
	struct ptrc_cli_reason why;
	struct ptrc_where *where;

	FUZZ_CHECK(text);
	stpcpy(stpcpy(stpcpy(text, before), in->expression), ")");
	where = ptrc_where_parse(text, layouts, &why);
	if (where) {
		ptrc_where_resolve(where, BEGIN_NS, END_NS);
		FUZZ_CHECK(evaluate(where, layouts, in, USER_ID) ==
			   (!is_so && !*ptrc_where_undecided(where)));
		ptrc_where_free(where);
	}
	free(text);
}

static void try_names(struct ptrc_where *where)
{
	static const char *const names[] = {"app.event", "posix_trace_start", ""};
	const void *place = NULL;
	const char *missing;
	bool is_name;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ptrc_where_try_name(where, PTRC_FIELD_EVENT, names[i], strlen(names[i]));
	while ((missing = ptrc_where_next_missing(where, PTRC_FIELD_EVENT, &place, &is_name)))
		FUZZ_CHECK(*missing || is_name);
}

static void try_expression(void *argument)
{
	const struct input *in = argument;
	struct ptrc_layouts layouts = {0};
	struct ptrc_cli_reason why;
	struct ptrc_where *where;

	FUZZ_CHECK(ptrc_layouts_add(&layouts, "app.*", "u32 n us, f64 x, char[4] code, str text",
				    &why));
	/* Units differ in another one, so that each event decides. */
	FUZZ_CHECK(ptrc_layouts_add(&layouts, "other.*", "u32 n, f64 x s", &why));
	where = ptrc_where_parse(in->expression, &layouts, &why);
	if (where) {
		for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
			evaluate(where, &layouts, in, ids[i]);
		ptrc_where_resolve(where, BEGIN_NS, END_NS);
		negate(&layouts, in, evaluate(where, &layouts, in, USER_ID));
		try_names(where);
		ptrc_where_free(where);
	}
	ptrc_layouts_free(&layouts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_outcome outcome;
	char *text = fuzz_take_text(&data, &size);
	struct input in = {text, data, size};

	fuzz_guard(try_expression, &in, false, &outcome);
	FUZZ_CHECK(!outcome.has_exited && !outcome.said_size);
	free(text);
	return 0;
}
