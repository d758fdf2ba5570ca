/* SPDX-License-Identifier: MIT */
/*
 * What a server answers, and what that means. Nothing of it is trusted: it may be of a proxy, of another
 * program, or broken.
 */
#ifndef PTRC_SRC_SHIP_ANSWER_H
#define PTRC_SRC_SHIP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/message.h"

enum ptrc_ship_outcome {
	PTRC_SHIP_OK,
	/* It cannot be reached, is busy, has no room, or gave no answer that one could tell from
	 * none: it may be better later. What was sent may have arrived. */
	PTRC_SHIP_LATER,
	/* It will not be better without somebody who does something: a wrong password, another
	 * schema, a redirect. What was sent has not arrived. */
	PTRC_SHIP_REFUSED,
	/* A signal has come. What was sent may have arrived. */
	PTRC_SHIP_INTERRUPTED,
};

/* Rows of a log: those with numbers from `first` on, which have times in this span. */
struct ptrc_ship_range {
	const char *host;
	const char *log;
	uint64_t first;
	uint64_t count;
	int64_t first_ns;
	int64_t last_ns;
};

/* So much of an answer is shown in a message. */
enum { PTRC_SHIP_WORDS_MAX = 300 };

struct ptrc_ship_answer {
	/* Of HTTP. */
	long status;
	/* What the head tells: the number of an exception, and where a redirect leads. */
	long exception;
	char location[PTRC_SHIP_WORDS_MAX];
	/* With a null byte behind it, which does not count. */
	struct ptrc_buffer body;
	bool is_too_long;
	/* Why it is not what was asked for, or why there is none. */
	struct ptrc_cli_reason why;
};

/* The outcome, whose reason is put into the answer. */
#define ptrc_ship_because(answer, outcome, ...) \
	(ptrc_cli_because(&(answer)->why, __VA_ARGS__), (outcome))

/* Forgets the one before. */
void ptrc_ship_answer_begin(struct ptrc_ship_answer *);

/* Takes a line of the head. */
void ptrc_ship_answer_take_head(struct ptrc_ship_answer *, const char *line, size_t size);

/* Takes a piece of the body. Returns false if it gets longer than any answer. */
bool ptrc_ship_answer_take(struct ptrc_ship_answer *, const char *bytes, size_t size);

void ptrc_ship_answer_free(struct ptrc_ship_answer *);

/* Whether the server says that it has no such table or database. */
bool ptrc_ship_answer_is_no_table(const struct ptrc_ship_answer *);

/* Whether it was done, or why not. */
enum ptrc_ship_outcome ptrc_ship_answer_judge(struct ptrc_ship_answer *);

/* These take an answer that ptrc_ship_answer_judge() found right for what was asked for: the version of the
 * server, of which the first number is stored; a number; and which rows of the range the server has, an array
 * of numbers that grow, which the caller frees. An insertion is answered by nothing. */
enum ptrc_ship_outcome ptrc_ship_answer_version(struct ptrc_ship_answer *, long *major);
enum ptrc_ship_outcome ptrc_ship_answer_number(struct ptrc_ship_answer *, uint64_t *number);
enum ptrc_ship_outcome ptrc_ship_answer_numbers(struct ptrc_ship_answer *,
						const struct ptrc_ship_range *, uint64_t **numbers,
						uint64_t *count);
enum ptrc_ship_outcome ptrc_ship_answer_nothing(struct ptrc_ship_answer *);

#endif
