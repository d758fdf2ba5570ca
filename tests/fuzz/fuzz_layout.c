/* SPDX-License-Identifier: MIT */
/* A layout, as --decode takes it, and behind a null byte the data that it decodes. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/view/layout.h"
#include "tests/fuzz/fuzz.h"

struct input {
	const char *layout;
	const uint8_t *data;
	size_t size;
};

static void show(const struct ptrc_layout *layout, const struct ptrc_decoded *decoded)
{
	struct ptrc_buffer text = PTRC_BUFFER_INIT, bytes = PTRC_BUFFER_INIT;
	struct ptrc_json json = ptrc_json_begin(&bytes);

	ptrc_layout_text(&text, layout, decoded);
	FUZZ_CHECK(!text.used || !memchr(text.bytes, '\n', text.used));
	ptrc_layout_json(&json, layout, decoded);
	ptrc_json_end(&json);
	FUZZ_CHECK(memchr(bytes.bytes, '\n', bytes.used) == bytes.bytes + bytes.used - 1);
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

	if (ptrc_layouts_add(&layouts, "app.*", in->layout, &why)) {
		layout = ptrc_layouts_find(&layouts, "app.event");
		FUZZ_CHECK(layout);
		ptrc_layout_decode(layout, in->data, in->size, &decoded);
		show(layout, &decoded);
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
