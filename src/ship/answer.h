/* SPDX-License-Identifier: MIT */
/* The answers of a server. They are not trusted, because a proxy or another program may have sent them. */
#ifndef PTRC_SRC_SHIP_ANSWER_H
#define PTRC_SRC_SHIP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/message.h"

enum ptrc_ship_outcome {
	PTRC_SHIP_OK,
	/* The server cannot be reached, is busy, is full, or its answer was lost. The request should be
	 * repeated. The rows in it may have arrived. */
	PTRC_SHIP_LATER,
	/* An error that stays until the user mends it, such as a wrong password, another schema or a
	 * redirect. The rows in the request have not arrived. */
	PTRC_SHIP_REFUSED,
	/* A signal has come. The rows in the request may have arrived. */
	PTRC_SHIP_INTERRUPTED,
};

/* The rows first to first + count - 1 of a log, whose times are between first_ns and last_ns. */
struct ptrc_ship_range {
	const char *host;
	const char *log;
	uint64_t first;
	uint64_t count;
	int64_t first_ns;
	int64_t last_ns;
};

/* The most bytes of an answer that a message quotes, including a null byte. */
enum { PTRC_SHIP_WORDS_MAX = 300 };

struct ptrc_ship_answer {
	long status;
	/* From the head of the answer: the number of a ClickHouse exception, or 0. */
	long exception;
	/* The target of a redirect, from the head of the answer; "" if there is none. */
	char location[PTRC_SHIP_WORDS_MAX];
	/* The text of the answer. A null byte, which .body.used does not count, follows the text. */
	struct ptrc_buffer body;
	bool is_too_long;
	/* The reason why the request failed. */
	struct ptrc_cli_reason why;
};

/* Stores the reason of an outcome in the answer. The value of the macro is the outcome. */
#define ptrc_ship_because(answer, outcome, ...) \
	(ptrc_cli_because(&(answer)->why, __VA_ARGS__), (outcome))

/* Empties the answer for the next request. */
void ptrc_ship_answer_begin(struct ptrc_ship_answer *);

void ptrc_ship_answer_take_head(struct ptrc_ship_answer *, const char *line, size_t size);

/* Appends bytes to the body. Returns false if the body gets longer than any valid answer. */
bool ptrc_ship_answer_take(struct ptrc_ship_answer *, const char *bytes, size_t size);

void ptrc_ship_answer_free(struct ptrc_ship_answer *);

/* Whether the answer says that the table or the database does not exist. */
bool ptrc_ship_answer_is_no_table(const struct ptrc_ship_answer *);

enum ptrc_ship_outcome ptrc_ship_answer_judge(struct ptrc_ship_answer *);

/*
 * These functions parse the body of an answer for which ptrc_ship_answer_judge() has returned
 * PTRC_SHIP_OK. _version() expects the server's version, and stores its first number; _number()
 * expects a number; _numbers() expects the numbers of those rows of the range that the server has,
 * in ascending order, and stores them in an array that the caller frees; _nothing() expects an
 * empty body, the answer to an INSERT.
 */
enum ptrc_ship_outcome ptrc_ship_answer_version(struct ptrc_ship_answer *, long *major);
enum ptrc_ship_outcome ptrc_ship_answer_number(struct ptrc_ship_answer *, uint64_t *number);
enum ptrc_ship_outcome ptrc_ship_answer_numbers(struct ptrc_ship_answer *,
						const struct ptrc_ship_range *, uint64_t **numbers,
						uint64_t *count);
enum ptrc_ship_outcome ptrc_ship_answer_nothing(struct ptrc_ship_answer *);

#endif
