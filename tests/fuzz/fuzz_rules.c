/* SPDX-License-Identifier: MIT */
/* Rules of ptrace-check: a file, or, behind a dash, an option and its value. They are taken, or refused
 * in one line, which of a file names the place. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/check/rule.h"
#include "src/base/exit_status.h"
#include "tests/fuzz/fuzz.h"

struct input {
	const uint8_t *bytes;
	size_t size;
};

static void take_option(const struct input *in, struct ptrc_rules *rules)
{
	static const char *const options[] = {"never", "exists", "times", "after", "before",
					      "order", "p50",	 "max",	  "min"};
	const uint8_t *data = in->bytes + 1;
	size_t size = in->size - 1;
	char *option = fuzz_take_text(&data, &size);
	char *text = fuzz_take_text(&data, &size);

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (!strcmp(options[i], option))
			ptrc_rules_take(rules, options[i], text);
}

static void read_rules(void *argument)
{
	const struct input *in = argument;
	struct ptrc_layouts layouts = {0};
	struct ptrc_rules rules = {.tolerance_ns = PTRC_RULE_TOLERANCE, .layouts = &layouts};

	if (in->size && *in->bytes == '-')
		take_option(in, &rules);
	else
		ptrc_rules_parse(&rules, "f.yaml", in->bytes, in->size);
	ptrc_rules_bind(&rules);
	for (size_t i = 0; i < rules.count; i++)
		FUZZ_CHECK(*rules.list[i].name && *rules.list[i].text &&
			   rules.list[i].event_count <= PTRC_RULE_EVENTS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char place[] = "fuzz: f.yaml:";
	static struct fuzz_outcome outcome;
	struct input in = {data, size};

	/* What the C library remembers of the time zone is to outlive the input that has asked first. */
	tzset();
	ptrc_message_begin("fuzz", PTRC_EXIT_USAGE);
	fuzz_guard(read_rules, &in, true, &outcome);
	if (!outcome.has_exited) {
		FUZZ_CHECK(!outcome.said_size);
		return 0;
	}
	FUZZ_CHECK(outcome.status == PTRC_EXIT_USAGE);
	FUZZ_CHECK(strchr(outcome.said, '\n') && !strchr(outcome.said, '\n')[1]);
	FUZZ_CHECK((size && *data == '-') || !strncmp(outcome.said, place, sizeof(place) - 1));
	return 0;
}
