/* SPDX-License-Identifier: MIT */
/*
 * What ptrace-ship reads that others may have written. Behind a `p' comes a progress file, which is either
 * refused in one line, or taken, and then written so that it reads back as the same. Behind other bytes comes an
 * answer of a server: the first byte and the next two say what was asked for and the status of HTTP; then
 * come lines of the head up to an empty one, and the body. It is either taken, or there is a reason why not.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/ship/answer.h"
#include "src/ship/progress.h"
#include "tests/fuzz/fuzz.h"

struct input {
	const uint8_t *bytes;
	size_t size;
	/* The progress file was taken. */
	bool is_taken;
};

static char directory[] = "/dev/shm/fuzz-ship.XXXXXX";
static char path[sizeof(directory) + 16];

static void clean(void)
{
	unlink(path);
	rmdir(directory);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (!mkdtemp(directory))
		fuzz_fail("no directory for files\n");
	snprintf(path, sizeof(path), "%s/a.ship", directory);
	atexit(clean);
	return 0;
}

/* ---- progress files ---- */

static void put_file(const struct input *in)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, in->bytes, in->size) != (ssize_t)in->size || close(fd))
		fuzz_fail("a file cannot be written\n");
}

static bool is_same(const struct ptrc_ship_progress *a, const struct ptrc_ship_progress *b)
{
	return a->log_id == b->log_id && a->nonce == b->nonce && !strcmp(a->server, b->server) &&
	       !strcmp(a->database, b->database) && a->place.part == b->place.part &&
	       a->place.events == b->place.events && a->place.rows == b->place.rows &&
	       a->batch.count == b->batch.count && a->batch.first_ns == b->batch.first_ns &&
	       a->batch.last_ns == b->batch.last_ns && a->told == b->told &&
	       a->doubtful == b->doubtful && a->is_damaged == b->is_damaged &&
	       a->is_complete == b->is_complete;
}

static void read_progress(void *argument)
{
	struct input *in = argument;
	struct ptrc_ship_progress first, second;
	bool is_open;

	put_file(in);
	is_open = ptrc_ship_progress_open(&first, path);
	FUZZ_CHECK((is_open && first.is_empty) == !in->size);
	if (is_open && !first.is_empty) {
		in->is_taken = true;
		/* What is done with it does not overflow. */
		FUZZ_CHECK(first.batch.count <= UINT64_MAX - first.place.rows);
		FUZZ_CHECK(ptrc_ship_progress_write(&first));
		/* It is locked. */
		close(first.fd);
		first.fd = -1;
		FUZZ_CHECK(ptrc_ship_progress_open(&second, path) && !second.is_empty);
		FUZZ_CHECK(is_same(&first, &second));
		ptrc_ship_progress_close(&second);
	}
	ptrc_ship_progress_close(&first);
	FUZZ_CHECK(in->size || access(path, F_OK));
}

/* ---- answers ---- */

/* Takes the lines up to an empty one; returns how many bytes they are. */
static size_t take_head(struct ptrc_ship_answer *a, const uint8_t *bytes, size_t size)
{
	size_t at = 0;

	while (at < size) {
		const uint8_t *end = memchr(bytes + at, '\n', size - at);
		size_t length = end ? (size_t)(end - bytes) - at + 1 : size - at;

		if (length > 1)
			ptrc_ship_answer_take_head(a, (const char *)bytes + at, length);
		at += length;
		if (length == 1)
			break;
	}
	return at;
}

/* Where a list of numbers is asked for, it is of these. */
static const struct ptrc_ship_range range = {"host", "0123456789abcdef", 100, 1000, 0, 1};

static enum ptrc_ship_outcome take_for(uint8_t what, struct ptrc_ship_answer *a)
{
	enum ptrc_ship_outcome outcome;
	uint64_t number, *numbers, count;
	long major;

	switch (what % 4) {
	case 0:
		outcome = ptrc_ship_answer_version(a, &major);
		FUZZ_CHECK(outcome != PTRC_SHIP_OK || (major >= 1 && a->body.used > 1));
		return outcome;
	case 1:
		outcome = ptrc_ship_answer_number(a, &number);
		FUZZ_CHECK(outcome != PTRC_SHIP_OK || a->body.used > 1);
		return outcome;
	case 2:
		outcome = ptrc_ship_answer_numbers(a, &range, &numbers, &count);
		if (outcome != PTRC_SHIP_OK)
			return outcome;
		FUZZ_CHECK(count * sizeof(*numbers) == a->body.used);
		for (uint64_t i = 0; i < count; i++)
			FUZZ_CHECK(numbers[i] >= range.first + i &&
				   numbers[i] < range.first + range.count);
		free(numbers);
		return outcome;
	default:
		outcome = ptrc_ship_answer_nothing(a);
		FUZZ_CHECK((outcome == PTRC_SHIP_OK) == !a->body.used);
		return outcome;
	}
}

static void take_answer(const uint8_t *bytes, size_t size)
{
	struct ptrc_ship_answer a = {0};
	enum ptrc_ship_outcome outcome;
	size_t head, half;

	if (size < 3)
		return;
	ptrc_ship_answer_begin(&a);
	a.status = bytes[1] * 4 + bytes[2] % 4;
	head = 3 + take_head(&a, bytes + 3, size - 3);
	half = (size - head) / 2;
	FUZZ_CHECK(ptrc_ship_answer_take(&a, (const char *)bytes + head, half));
	FUZZ_CHECK(
		ptrc_ship_answer_take(&a, (const char *)bytes + head + half, size - head - half));
	outcome = ptrc_ship_answer_judge(&a);
	FUZZ_CHECK(outcome != PTRC_SHIP_OK || a.status == 200);
	if (outcome == PTRC_SHIP_OK)
		outcome = take_for(bytes[0], &a);
	FUZZ_CHECK(outcome == PTRC_SHIP_OK || outcome == PTRC_SHIP_LATER ||
		   outcome == PTRC_SHIP_REFUSED);
	FUZZ_CHECK(!*a.why.text == (outcome == PTRC_SHIP_OK));
	ptrc_ship_answer_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_outcome outcome;
	struct input in = {data + 1, size - 1, false};

	if (!size)
		return 0;
	if (*data != 'p') {
		take_answer(data, size);
		return 0;
	}
	ptrc_message_begin("fuzz", 2);
	fuzz_guard(read_progress, &in, false, &outcome);
	FUZZ_CHECK(!outcome.has_exited);
	FUZZ_CHECK(in.is_taken || !in.size
			   ? !outcome.said_size
			   : strchr(outcome.said, '\n') && !strchr(outcome.said, '\n')[1]);
	return 0;
}
