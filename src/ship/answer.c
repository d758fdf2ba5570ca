/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/ship/answer.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The longest valid answer has the numbers of all rows of a batch, 8 bytes each. */
enum { ANSWER_MAX = 16 << 20 };

/* Numbers of ClickHouse exceptions whose cause passes by itself: too many parts or queries, too little
 * memory, a timeout, the same query still running (sent by a process that was killed), a table that is
 * read-only or without replicas for now, an exhausted quota, a shutdown. */
static const long passing[] = {159, 160, 173, 201, 202, 209, 210, 216, 225, 236, 241, 242,
			       252, 254, 285, 286, 319, 394, 425, 439, 745, 999, 0};
static const long unknown_user[] = {192, 193, 194, 195, 516, 0};
static const long not_granted[] = {164, 291, 497, 0};
enum { UNKNOWN_TABLE = 60, UNKNOWN_DATABASE = 81, NOT_ENOUGH_SPACE = 243 };

void ptrc_ship_answer_begin(struct ptrc_ship_answer *a)
{
	a->status = a->exception = 0;
	a->location[0] = '\0';
	a->is_too_long = false;
	a->body.used = 0;
	ptrc_ship_answer_take(a, "", 0);
}

bool ptrc_ship_answer_take(struct ptrc_ship_answer *a, const char *bytes, size_t size)
{
	if (size > ANSWER_MAX - a->body.used) {
		a->is_too_long = true;
		return false;
	}
	ptrc_buffer_bytes(&a->body, bytes, size);
	ptrc_buffer_char(&a->body, '\0');
	a->body.used--;
	return true;
}

static bool is_header(const char *line, size_t size, const char *name,
		      char value[PTRC_SHIP_WORDS_MAX])
{
	size_t length = strlen(name), used = 0;

	if (size < length || strncasecmp(line, name, length))
		return false;
	while (length < size && line[length] == ' ')
		length++;
	while (length < size && line[length] != '\r' && line[length] != '\n' &&
	       used < PTRC_SHIP_WORDS_MAX - 1)
		value[used++] = line[length++];
	value[used] = '\0';
	return true;
}

void ptrc_ship_answer_take_head(struct ptrc_ship_answer *a, const char *line, size_t size)
{
	char value[PTRC_SHIP_WORDS_MAX];

	if (is_header(line, size, "X-ClickHouse-Exception-Code:", value))
		a->exception = strtol(value, NULL, 10);
	is_header(line, size, "Location:", a->location);
}

void ptrc_ship_answer_free(struct ptrc_ship_answer *a)
{
	ptrc_buffer_free(&a->body);
}

static long exception_of(const struct ptrc_ship_answer *a)
{
	const char *text = strstr(a->body.bytes, "Code: ");

	/* Newer servers send the number in the head of the answer. */
	if (a->exception > 0)
		return a->exception;
	return text ? strtol(text + strlen("Code: "), NULL, 10) : 0;
}

bool ptrc_ship_answer_is_no_table(const struct ptrc_ship_answer *a)
{
	long exception = exception_of(a);

	return exception == UNKNOWN_TABLE || exception == UNKNOWN_DATABASE;
}

/* Returns the answer as it is quoted in a message: on one line, cut if it is long, and without ", e.what() =
 * ", after which its text would be repeated. */
static const char *words(const struct ptrc_ship_answer *a, char text[PTRC_SHIP_WORDS_MAX])
{
	size_t used = 0;
	char *again;

	for (size_t i = 0; i < a->body.used && used < PTRC_SHIP_WORDS_MAX - 1; i++) {
		unsigned char c = (unsigned char)a->body.bytes[i];

		if (!isspace(c))
			text[used++] = (char)c;
		else if (used && text[used - 1] != ' ')
			text[used++] = ' ';
	}
	while (used && text[used - 1] == ' ')
		used--;
	text[used] = '\0';
	again = strstr(text, ", e.what() = ");
	if (again)
		*again = '\0';
	return *text ? text : "nothing";
}

static bool is_one_of(const long *list, long exception)
{
	while (*list && *list != exception)
		list++;
	return *list;
}

/* Whether an error without a ClickHouse exception may pass by itself. An answer without an exception comes from a
 * proxy or another program. */
static bool is_passing_status(long status)
{
	enum { TIMEOUT = 408, TOO_MANY = 429, NOT_IMPLEMENTED = 501, NO_VERSION = 505 };

	return status == TIMEOUT || status == TOO_MANY ||
	       (status >= 500 && status != NOT_IMPLEMENTED && status != NO_VERSION);
}

enum ptrc_ship_outcome ptrc_ship_answer_judge(struct ptrc_ship_answer *a)
{
	long exception = exception_of(a);
	char text[PTRC_SHIP_WORDS_MAX];

	/* Also looks for an exception: it may happen after the server has sent the status 200. */
	if (a->status == 200 && a->exception <= 0)
		return PTRC_SHIP_OK;
	if (a->status >= 300 && a->status < 400)
		return ptrc_ship_because(
			a, PTRC_SHIP_REFUSED,
			"answers with a redirect to '%s' (status %ld), which is not "
			"followed: --server has to name the server itself",
			a->location, a->status);
	if (is_one_of(not_granted, exception))
		return ptrc_ship_because(
			a, PTRC_SHIP_REFUSED,
			"does not let this user do what is needed (status %ld): %s", a->status,
			words(a, text));
	if (a->status == 401 || a->status == 403 || is_one_of(unknown_user, exception))
		return ptrc_ship_because(a, PTRC_SHIP_REFUSED,
					 "refuses this user or password (status %ld): %s",
					 a->status, words(a, text));
	/* A full disk causes exceptions of several numbers, so their text is searched, too. */
	if (exception &&
	    (exception == NOT_ENOUGH_SPACE || strstr(a->body.bytes, "No space left on device")))
		return ptrc_ship_because(a, PTRC_SHIP_LATER,
					 "has no room left on its disk (status %ld): %s", a->status,
					 words(a, text));
	ptrc_cli_because(&a->why, "answers with status %ld: %s", a->status, words(a, text));
	if (exception)
		return is_one_of(passing, exception) ? PTRC_SHIP_LATER : PTRC_SHIP_REFUSED;
	return is_passing_status(a->status) ? PTRC_SHIP_LATER : PTRC_SHIP_REFUSED;
}

enum ptrc_ship_outcome ptrc_ship_answer_version(struct ptrc_ship_answer *a, long *major)
{
	char text[PTRC_SHIP_WORDS_MAX], *end;

	*major = strtol(a->body.bytes, &end, 10);
	if (*major >= 1 && *major <= 9999 && *end == '.' &&
	    end + strspn(end, "0123456789.-abcdefghijklmnopqrstuvwxyz\n") ==
		    a->body.bytes + a->body.used)
		return PTRC_SHIP_OK;
	return ptrc_ship_because(a, PTRC_SHIP_REFUSED, "is no ClickHouse server, as it answers: %s",
				 words(a, text));
}

enum ptrc_ship_outcome ptrc_ship_answer_number(struct ptrc_ship_answer *a, uint64_t *number)
{
	char text[PTRC_SHIP_WORDS_MAX], *end;
	size_t digits = strspn(a->body.bytes, "0123456789");

	errno = 0;
	*number = strtoull(a->body.bytes, &end, 10);
	if (digits && !errno && *end == '\n' && end + 1 == a->body.bytes + a->body.used)
		return PTRC_SHIP_OK;
	return ptrc_ship_because(a, PTRC_SHIP_REFUSED, "gives an answer that makes no sense: %s",
				 words(a, text));
}

enum ptrc_ship_outcome ptrc_ship_answer_numbers(struct ptrc_ship_answer *a,
						const struct ptrc_ship_range *r, uint64_t **numbers,
						uint64_t *count)
{
	uint64_t *list = ptrc_cli_allocate(a->body.used);
	bool is_right = a->body.used % sizeof(*list) == 0;

	memcpy(list, a->body.bytes, a->body.used);
	*numbers = list;
	*count = a->body.used / sizeof(*list);
	for (uint64_t i = 0; is_right && i < *count; i++)
		is_right = list[i] - r->first < r->count && (!i || list[i] > list[i - 1]);
	if (is_right)
		return PTRC_SHIP_OK;
	free(list);
	return ptrc_ship_because(a, PTRC_SHIP_REFUSED, "gives an answer that makes no sense");
}

enum ptrc_ship_outcome ptrc_ship_answer_nothing(struct ptrc_ship_answer *a)
{
	char text[PTRC_SHIP_WORDS_MAX];

	if (!a->body.used)
		return PTRC_SHIP_OK;
	return ptrc_ship_because(a, PTRC_SHIP_REFUSED,
				 "gives an answer to rows that makes no sense: %s", words(a, text));
}
