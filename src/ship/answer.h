/* SPDX-License-Identifier: MIT */
/* The answers of a server. They are untrusted: a proxy or another program may have sent them. */
#ifndef PTRC_SRC_SHIP_ANSWER_H
#define PTRC_SRC_SHIP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/message.h"

enum ptrc_ship_outcome {
	PTRC_SHIP_OK,
	/* The server cannot be reached, is busy, is full, or its answer was lost: try again. The rows sent may
	 * have arrived. */
	PTRC_SHIP_LATER,
	/* An error that lasts until the user mends it: a wrong password, another schema, a redirect. The rows
	 * sent have not arrived. */
	PTRC_SHIP_REFUSED,
	/* A signal has come. The rows sent may have arrived. */
	PTRC_SHIP_INTERRUPTED,
};

/* The rows first..first+count-1 of a log, whose times lie in first_ns..last_ns. */
struct ptrc_ship_range {
	const char *host;
	const char *log;
	uint64_t first;
	uint64_t count;
	int64_t first_ns;
	int64_t last_ns;
};

/* The most bytes of an answer that a message quotes, with a null byte. */
enum { PTRC_SHIP_WORDS_MAX = 300 };

struct ptrc_ship_answer {
	long status;
	/* From the HTTP head: the number of an exception of ClickHouse, or 0; the target of a redirect. */
	long exception;
	char location[PTRC_SHIP_WORDS_MAX];
	/* Followed by a null byte, which is not counted. */
	struct ptrc_buffer body;
	bool is_too_long;
	/* Why the request failed. */
	struct ptrc_cli_reason why;
};

/* Stores the reason of an outcome in the answer, and is the outcome. */
#define ptrc_ship_because(answer, outcome, ...) \
	(ptrc_cli_because(&(answer)->why, __VA_ARGS__), (outcome))

/* Empties the answer for the next request. */
void ptrc_ship_answer_begin(struct ptrc_ship_answer *);

void ptrc_ship_answer_take_head(struct ptrc_ship_answer *, const char *line, size_t size);

/* Appends to the body. Returns false if it gets longer than any right answer. */
bool ptrc_ship_answer_take(struct ptrc_ship_answer *, const char *bytes, size_t size);

void ptrc_ship_answer_free(struct ptrc_ship_answer *);

/* Whether the server reports that the table or the database does not exist. */
bool ptrc_ship_answer_is_no_table(const struct ptrc_ship_answer *);

enum ptrc_ship_outcome ptrc_ship_answer_judge(struct ptrc_ship_answer *);

/*
 * These parse the body of an answer for which ptrc_ship_answer_judge() returned PTRC_SHIP_OK: the first
 * number of the server's version; a number; the ascending numbers of the rows of the range that the server
 * has, an array that the caller frees; the empty answer to an INSERT.
 */
enum ptrc_ship_outcome ptrc_ship_answer_version(struct ptrc_ship_answer *, long *major);
enum ptrc_ship_outcome ptrc_ship_answer_number(struct ptrc_ship_answer *, uint64_t *number);
enum ptrc_ship_outcome ptrc_ship_answer_numbers(struct ptrc_ship_answer *,
						const struct ptrc_ship_range *, uint64_t **numbers,
						uint64_t *count);
enum ptrc_ship_outcome ptrc_ship_answer_nothing(struct ptrc_ship_answer *);

#endif
