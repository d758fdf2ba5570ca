/* SPDX-License-Identifier: MIT */
/*
 * The data of a report in binary, for the script in its page: columns of numbers, mostly varints, each column in
 * its shortest form. Each text and each stack is stored once, in a table; a column has the number of the text or
 * stack in its table.
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
	/* All texts, each preceded by its length. */
	struct ptrc_buffer bytes;
};

/* Returns the number of the text. If the text is new, adds it. */
uint64_t ptrc_report_text_number(struct ptrc_report_texts *, const void *, size_t);

void ptrc_report_texts_free(struct ptrc_report_texts *);

/* A column: for each record a number, or none. Starts zeroed. */
struct ptrc_report_column {
	uint64_t *numbers;
	size_t count;
	/* The number of records so far, including those without a number. */
	size_t row_count;
	/* The lengths of runs: a run of records with a number, then a run of records without one, and so on by
	 * turns. `run` and `is_run_missing` are the length and the kind of the last run, which is not in `runs`
	 * yet. */
	struct ptrc_buffer runs;
	size_t run;
	bool is_run_missing;
	bool has_missing;
	/* The numbers are of type int64_t. */
	bool is_signed;
	/* The numbers are the bits of doubles. */
	bool is_float;
};

/* Adds the number of the record with the index `row`. The calls are in the order of the indexes. A record whose index
 * is skipped has no number. */
void ptrc_report_column_add(struct ptrc_report_column *, size_t row, uint64_t number);

/* Ends the column. row_count is the number of all records. */
void ptrc_report_column_end(struct ptrc_report_column *, size_t row_count);

/*
 * Puts the column. Returns the letter of its form: k, one number for all records; v, varints; d, differences
 * from the previous number; f, doubles of 8 bytes. Signed numbers and differences are zigzag-encoded: n >= 0
 * as 2n, n < 0 as -2n - 1. If some records have no number, the runs come first: the number of bytes that they
 * take, and their lengths. Sets *is_wide if a double cannot hold all numbers and varints exactly.
 */
char ptrc_report_column_put(struct ptrc_buffer *, const struct ptrc_report_column *, bool *is_wide);

void ptrc_report_column_free(struct ptrc_report_column *);

#endif
