/* SPDX-License-Identifier: MIT */
/*
 * The data of a report, as bytes that its script reads: columns of numbers, each in the form that takes
 * the least room. Numbers are varints. Texts and stacks stand once each in tables, and columns have their numbers.
 */
#ifndef PTRC_SRC_REPORT_COLUMNS_H
#define PTRC_SRC_REPORT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/table.h"

/* Texts that occur in columns, each once. Starts zeroed. */
struct ptrc_report_texts {
	struct ptrc_table table;
	/* The texts one behind the other, each with its length in front. */
	struct ptrc_buffer bytes;
};

/* The number of the text, which is added if it is new. */
uint64_t ptrc_report_text_number(struct ptrc_report_texts *, const void *, size_t);

void ptrc_report_texts_free(struct ptrc_report_texts *);

/* A column: a number for each record that has one. Starts zeroed. */
struct ptrc_report_column {
	uint64_t *numbers;
	size_t count;
	/* How many records there were so far; runs of those with and without a number, in turn. */
	size_t row_count;
	struct ptrc_buffer runs;
	size_t run;
	bool is_run_missing;
	bool has_missing;
	/* Numbers are int64_t. */
	bool is_signed;
	/* Numbers are the bits of doubles. */
	bool is_float;
};

/* Adds the number of the record `row`, which is not below the ones before; those between have none. */
void ptrc_report_column_add(struct ptrc_report_column *, size_t row, uint64_t number);

/* Says that there are so many records. */
void ptrc_report_column_end(struct ptrc_report_column *, size_t row_count);

/*
 * Puts the column, and returns its form: k, one number for all; v, varints; d, differences from the
 * number before; f, doubles of 8 bytes. Signed numbers and differences are doubled, and then one less
 * than the double of their amount if they are negative. In front are the runs, if records are missing:
 * their number and the lengths. *is_wide: some numbers are beyond what a double holds exactly.
 */
char ptrc_report_column_put(struct ptrc_buffer *, const struct ptrc_report_column *, bool *is_wide);

void ptrc_report_column_free(struct ptrc_report_column *);

/* Puts bytes as base64, as RFC 4648 has it. */
void ptrc_report_put_base64(struct ptrc_buffer *, const struct ptrc_buffer *);

#endif
