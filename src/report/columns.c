/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/report/columns.h"

#include <stdlib.h>

#include "src/base/message.h"

/* A double can hold every integer up to this one. */
static const uint64_t exact_max = UINT64_C(1) << 53;

struct text {
	struct ptrc_table_entry entry;
	/* 1 + the number of the text; 0 until it has a number. */
	uint64_t number;
};

static size_t varint_size(uint64_t number)
{
	return number ? (70 - (size_t)__builtin_clzll(number)) / 7 : 1;
}

static uint64_t zigzag(uint64_t number)
{
	return number << 1 ^ (uint64_t) - (int64_t)(number >> 63);
}

uint64_t ptrc_report_text_number(struct ptrc_report_texts *t, const void *bytes, size_t size)
{
	struct text *found = ptrc_table_find(&t->table, bytes, size, sizeof(*found));

	if (!found->number) {
		found->number = t->table.count;
		ptrc_buffer_varint(&t->bytes, size);
		ptrc_buffer_bytes(&t->bytes, bytes, size);
	}
	return found->number - 1;
}

void ptrc_report_texts_free(struct ptrc_report_texts *t)
{
	ptrc_table_free(&t->table);
	ptrc_buffer_free(&t->bytes);
}

/* Adds `count` records to the runs: they have no number if is_missing, else they have one. */
static void add_run(struct ptrc_report_column *c, bool is_missing, size_t count)
{
	if (is_missing != c->is_run_missing) {
		ptrc_buffer_varint(&c->runs, c->run);
		c->run = 0;
		c->is_run_missing = is_missing;
	}
	c->has_missing |= is_missing;
	c->run += count;
	c->row_count += count;
}

void ptrc_report_column_add(struct ptrc_report_column *c, size_t row, uint64_t number)
{
	if (row > c->row_count)
		add_run(c, true, row - c->row_count);
	add_run(c, false, 1);
	*ptrc_append(c->numbers, c->count) = number;
}

void ptrc_report_column_end(struct ptrc_report_column *c, size_t row_count)
{
	if (row_count > c->row_count)
		add_run(c, true, row_count - c->row_count);
	ptrc_buffer_varint(&c->runs, c->run);
}

char ptrc_report_column_put(struct ptrc_buffer *b, const struct ptrc_report_column *c,
			    bool *is_wide)
{
	uint64_t plain = 0, differing = 0, before = 0;
	bool is_constant = true, is_plain_wide = false, is_difference_wide = false;
	char form;

	for (size_t i = 0; i < c->count; i++) {
		uint64_t number = c->numbers[i], difference = zigzag(number - before);
		uint64_t varint = c->is_signed ? zigzag(number) : number;

		plain += varint_size(varint);
		differing += varint_size(difference);
		is_constant &= number == c->numbers[0];
		is_plain_wide |= varint > exact_max;
		is_difference_wide |= difference > exact_max;
		before = number;
	}
	form = c->is_float ? 'f' : is_constant ? 'k' : differing < plain ? 'd' : 'v';
	/* The script reads a varint as a double before it undoes the zigzag encoding. */
	*is_wide = !c->is_float && (is_plain_wide || (form == 'd' && is_difference_wide));
	if (c->has_missing) {
		ptrc_buffer_varint(b, c->runs.used);
		ptrc_buffer_bytes(b, c->runs.bytes, c->runs.used);
	}
	if (form == 'f') {
		ptrc_buffer_bytes(b, c->numbers, c->count * sizeof(*c->numbers));
		return form;
	}
	before = 0;
	for (size_t i = 0; i < (form == 'k' ? c->count > 0 : c->count); i++) {
		uint64_t number = c->numbers[i];

		if (form == 'd')
			ptrc_buffer_varint(b, zigzag(number - before));
		else
			ptrc_buffer_varint(b, c->is_signed ? zigzag(number) : number);
		before = number;
	}
	return form;
}

void ptrc_report_column_free(struct ptrc_report_column *c)
{
	free(c->numbers);
	ptrc_buffer_free(&c->runs);
}
