/* SPDX-License-Identifier: MIT */
/*
 * The data of a report in binary, for its script: columns of numbers, mostly varints, each in the shortest form.
 * Texts and stacks are in tables, each once, and columns have their numbers.
 */
#ifndef PTRC_SRC_REPORT_COLUMNS_H
#define PTRC_SRC_REPORT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/table.h"

/* A table of texts. Starts zeroed. */
struct ptrc_report_texts {
	struct ptrc_table table;
	/* All texts, each after its length. */
	struct ptrc_buffer bytes;
};

/* Returns the number of the text, which is added if it is new. */
uint64_t ptrc_report_text_number(struct ptrc_report_texts *, const void *, size_t);

void ptrc_report_texts_free(struct ptrc_report_texts *);

/* A column: a number for each record that has one. Starts zeroed. */
struct ptrc_report_column {
	uint64_t *numbers;
	size_t count;
	/* Records so far, also those without a number. */
	size_t row_count;
	/* The lengths of runs of records with a number and without one, by turns; the last run. */
	struct ptrc_buffer runs;
	size_t run;
	bool is_run_missing;
	bool has_missing;
	/* Numbers are int64_t. */
	bool is_signed;
	/* Numbers are the bits of doubles. */
	bool is_float;
};

/* Adds the number of a record. Rows come in ascending order; records that are left out have no number. */
void ptrc_report_column_add(struct ptrc_report_column *, size_t row, uint64_t number);

/* Ends the column; there are row_count records in all. */
void ptrc_report_column_end(struct ptrc_report_column *, size_t row_count);

/*
 * Puts the column, and returns its form: k, one number for all; v, varints; d, differences from the previous
 * number; f, doubles of 8 bytes. Signed numbers and differences are zigzag-encoded: n >= 0 as 2n, n < 0 as -2n - 1.
 * If records are missing, the runs precede them: the bytes that they take, and the lengths. *is_wide: a double does
 * not hold all numbers exactly.
 */
char ptrc_report_column_put(struct ptrc_buffer *, const struct ptrc_report_column *, bool *is_wide);

void ptrc_report_column_free(struct ptrc_report_column *);

/* Puts bytes as base64 (RFC 4648). */
void ptrc_report_put_base64(struct ptrc_buffer *, const struct ptrc_buffer *);

#endif
