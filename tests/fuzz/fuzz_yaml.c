/* SPDX-License-Identifier: MIT */
/* A configuration: it is either taken, and then shown in a form that reads back as the same, or
 * refused in one line that names the place. */
#include "config.h"

#include <ctype.h>
#include <string.h>

#include "src/base/exit_status.h"
#include "src/config/configuration.h"
#include "tests/fuzz/fuzz.h"

struct input {
	const char *name;
	const void *bytes;
	size_t size;
	enum ptrc_config_user user;
	struct ptrc_buffer shown;
};

static void read_and_show(void *argument)
{
	struct input *in = argument;
	struct ptrc_config_file file;

	ptrc_config_parse(&file, in->name, in->bytes, in->size, in->user);
	ptrc_config_dump(&file, in->user, &in->shown);
}

static void read_twice(void *argument)
{
	struct input *first = argument;
	struct input second;

	read_and_show(first);
	second = (struct input){"shown", first->shown.bytes, first->shown.used, first->user, {0}};
	read_and_show(&second);
	FUZZ_CHECK(first->shown.used == second.shown.used &&
		   !memcmp(first->shown.bytes, second.shown.bytes, second.shown.used));
}

/* "fuzz: f.yaml:3:14: reason", with a line feed at the end and nowhere else. */
static bool is_one_message(const char *text)
{
	static const char head[] = "fuzz: f.yaml:";

	if (strncmp(text, head, sizeof(head) - 1) != 0)
		return false;
	text += sizeof(head) - 1;
	for (int i = 0; i < 2; i++) {
		if (*text < '1' || *text > '9')
			return false;
		while (isdigit((unsigned char)*text))
			text++;
		if (*text++ != ':')
			return false;
	}
	return *text == ' ' && text[1] && text[1] != '\n' && strchr(text, '\n') &&
	       !strchr(text, '\n')[1];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum ptrc_config_user users[] = {PTRC_CONFIG_FOR_CREATE, PTRC_CONFIG_FOR_RUN,
						      PTRC_CONFIG_FOR_DUMP};
	static struct fuzz_outcome outcome;
	struct input in = {"f.yaml", data, size, users[size % 3], PTRC_BUFFER_INIT};

	ptrc_message_begin("fuzz", PTRC_EXIT_USAGE);
	fuzz_guard(read_twice, &in, true, &outcome);
	if (outcome.has_exited) {
		FUZZ_CHECK(outcome.status == PTRC_EXIT_USAGE);
		FUZZ_CHECK(is_one_message(outcome.said));
	} else {
		FUZZ_CHECK(!outcome.said_size);
	}
	return 0;
}
