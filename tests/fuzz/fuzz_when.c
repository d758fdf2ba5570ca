/* SPDX-License-Identifier: MIT */
/* A moment, as --since takes it, and a duration. */
#include "config.h"

#include <stdlib.h>

#include "src/fields/when.h"
#include "tests/fuzz/fuzz.h"

static void read_time(void *text)
{
	struct ptrc_cli_reason why;
	struct ptrc_when when;
	int64_t ns;

	ptrc_when_parse(text, &when, &why);
	ptrc_when_duration(text, &ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_outcome outcome;
	char *text = fuzz_take_text(&data, &size);

	fuzz_guard(read_time, text, false, &outcome);
	FUZZ_CHECK(!outcome.has_exited && !outcome.said_size);
	free(text);
	return 0;
}
