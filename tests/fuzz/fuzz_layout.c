/* SPDX-License-Identifier: MIT */
/* A layout, as --decode takes it or a log has it, and behind a null byte the data that it decodes;
 * the layout is read with every length, too, as that of a log need not end with a null byte. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/fields/json_text.h"
#include "src/fields/layout.h"
#include "tests/fuzz/fuzz.h"

struct input {
	const char *layout;
	const uint8_t *data;
	size_t size;
};

/* Whether values are nested so deep that, with what is around them, they are no JSON for us. */
static bool has_depth(const char *bytes, size_t size)
{
	size_t depth = 0, most = 0;

	for (size_t i = 0; i < size; i++) {
		depth += bytes[i] == '[' || bytes[i] == '{';
		most = depth > most ? depth : most;
		depth -= depth && (bytes[i] == ']' || bytes[i] == '}');
	}
	return most >= PTRC_JSON_TEXT_DEPTH_MAX;
}

/* What is taken out alone is what was decoded. */
static void pick(const struct ptrc_layouts *layouts, const struct ptrc_layout *layout,
		 const struct ptrc_decoded *decoded, const struct input *in)
{
	static const char *const paths[] = {".a", ".a.b[0]", "[1][0].a", "[1].b[0]"};
	struct ptrc_value one, element;
	struct ptrc_buffer room = PTRC_BUFFER_INIT;
	const char *at;
	size_t size;

	for (int name = 0; (size_t)name < layouts->name_count; name++) {
		const struct ptrc_value *all = ptrc_layout_value(layout, decoded, name);

		if (ptrc_layout_pick(layout, in->data, in->size, name, &one))
			FUZZ_CHECK(one.kind == all->kind && one.unit == all->unit);
		one = *all;
		if (one.kind == PTRC_VALUE_ARRAY)
			for (uint64_t i = 0; i < 3; i++)
				ptrc_value_element(&one, i, &element);
		if (one.kind == PTRC_VALUE_JSON) {
			for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
				if (ptrc_json_text_find(one.bytes, one.size, paths[i], &at, &size))
					FUZZ_CHECK(ptrc_json_text_is_valid(at, size));
		}
		ptrc_value_settle(&one, &room);
	}
	ptrc_buffer_free(&room);
}

static void parse_part(const char *text, size_t size)
{
	struct ptrc_layout_fields *fields;
	struct ptrc_layout_mistake why;
	char *part = malloc(size + !size);

	memcpy(part, text, size);
	if (ptrc_layout_parse(part, size, &fields, &why)) {
		FUZZ_CHECK(why.column >= 1 && why.column <= size + 1 && *why.reason);
	} else {
		FUZZ_CHECK(fields->size <= fields->padded_size &&
			   fields->padded_size <= PTRC_LAYOUT_SIZE_MAX);
		ptrc_layout_fields_free(fields);
	}
	free(part);
}

static void show(const struct ptrc_layout *layout, const struct ptrc_decoded *decoded)
{
	struct ptrc_buffer text = PTRC_BUFFER_INIT, bytes = PTRC_BUFFER_INIT;
	struct ptrc_json json = ptrc_json_begin(&bytes);

	for (size_t i = 0; i < layout->model->count; i++)
		ptrc_value_text(&text, &decoded->values[i], true);
	FUZZ_CHECK(!text.used || !memchr(text.bytes, '\n', text.used));
	ptrc_layout_json(&json, layout, decoded);
	ptrc_json_end(&json);
	FUZZ_CHECK(memchr(bytes.bytes, '\n', bytes.used) == bytes.bytes + bytes.used - 1);
	/* Values of JSON are as deep as the limit allows, in an object of an event. */
	FUZZ_CHECK(ptrc_json_text_is_valid(bytes.bytes, bytes.used) ||
		   has_depth(bytes.bytes, bytes.used));
	ptrc_buffer_free(&text);
	ptrc_buffer_free(&bytes);
}

static void decode(void *argument)
{
	const struct input *in = argument;
	struct ptrc_layouts layouts = {0};
	struct ptrc_decoded decoded = {0};
	const struct ptrc_layout *layout;
	struct ptrc_cli_reason why;

	for (size_t size = strlen(in->layout); size; size /= 2)
		parse_part(in->layout, size);
	if (ptrc_layouts_add(&layouts, "app.*", in->layout, &why)) {
		layout = ptrc_layouts_find(&layouts, "app.event");
		FUZZ_CHECK(layout);
		ptrc_layout_decode(layout, in->data, in->size, &decoded);
		show(layout, &decoded);
		pick(&layouts, layout, &decoded, in);
		ptrc_layout_decode(layout, in->data, in->size / 2, &decoded);
		show(layout, &decoded);
		free(decoded.values);
	}
	ptrc_layouts_free(&layouts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_outcome outcome;
	char *text = fuzz_take_text(&data, &size);
	struct input in = {text, data, size};

	fuzz_guard(decode, &in, false, &outcome);
	FUZZ_CHECK(!outcome.has_exited && !outcome.said_size);
	free(text);
	return 0;
}
