/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/model/layout_text.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/digits.h"
#include "lib/model/layout.h"
#include "lib/model/names.h"

_Static_assert(POSIXTRACE_LAYOUT_MAX == PTRC_LAYOUT_TEXT_MAX &&
		       POSIXTRACE_LAYOUT_MAX < PTRC_NAMES_LAYOUT_BYTES,
	       "one limit everywhere");

int ptrc_layout_check(const char *text)
{
	size_t size = strnlen(text, POSIXTRACE_LAYOUT_MAX + 1);
	struct ptrc_layout_fields *fields;
	int error;

	if (size > POSIXTRACE_LAYOUT_MAX)
		return ENAMETOOLONG;
	error = ptrc_layout_parse(text, size, &fields, NULL);
	if (!error)
		ptrc_layout_fields_free(fields);
	return error;
}

/* ---- the layout of a structure ---- */

struct text {
	char *at;
	const char *end; /* one more byte follows, for the zero byte */
	bool is_too_long;
};

static void put(struct text *t, const char *word)
{
	for (; *word; word++) {
		if (t->at == t->end) {
			t->is_too_long = true;
			return;
		}
		*t->at++ = *word;
	}
}

static void put_number(struct text *t, const char *before, size_t number, const char *after)
{
	char digits[24];

	*ptrc_digits_put(digits, number) = '\0';
	put(t, before);
	put(t, digits);
	put(t, after);
}

/* The member with the lowest offset that is not below `from`; NULL if there is none. */
static const struct posixtrace_member *next_member(const struct posixtrace_member *members,
						   size_t count, size_t from)
{
	const struct posixtrace_member *next = NULL;

	for (size_t i = 0; i < count; i++)
		if (members[i].pt_offset >= from &&
		    (!next || members[i].pt_offset < next->pt_offset))
			next = &members[i];
	return next;
}

static bool is_known(const struct posixtrace_member *m)
{
	size_t item = m->pt_item_bytes;

	if (!m->pt_name || !*m->pt_name || !m->pt_bytes || !item || m->pt_bytes % item ||
	    (!m->pt_is_array && m->pt_bytes != item))
		return false;
	switch (m->pt_kind) {
	case POSIXTRACE_UNSIGNED:
	case POSIXTRACE_SIGNED:
	case POSIXTRACE_ADDRESS:
		return item == 1 || item == 2 || item == 4 || item == 8;
	case POSIXTRACE_FLOAT:
		return item == 4 || item == 8;
	case POSIXTRACE_BOOL:
	case POSIXTRACE_CHAR:
		return item == 1;
	default:
		return false;
	}
}

/* Checks the members, and stores whether they have the offsets that a compiler gives them in a
 * structure that is not packed. */
static int check_members(const struct posixtrace_member *members, size_t count, bool *is_aligned)
{
	const struct posixtrace_member *m;
	size_t end = 0, found = 0;

	*is_aligned = true;
	for (size_t from = 0; (m = next_member(members, count, from)); from = m->pt_offset + 1) {
		size_t item = m->pt_item_bytes;

		if (!is_known(m) || m->pt_offset < end)
			return EINVAL;
		*is_aligned &= m->pt_offset == (end + item - 1) / item * item;
		end = m->pt_offset + m->pt_bytes;
		found++;
	}
	/* The loop finds only one of several members with the same offset, which overlap. */
	return found && found == count ? 0 : EINVAL;
}

static void put_member(struct text *t, const struct posixtrace_member *m)
{
	/* The layout's words for the kinds of members, indexed by enum posixtrace_kind. An array of
	 * unsigned bytes becomes `bytes`, not an array of numbers. */
	static const char words[][8] = {"", "u", "i", "x", "f", "bool", "char"};
	bool is_bytes =
		m->pt_kind == POSIXTRACE_UNSIGNED && m->pt_item_bytes == 1 && m->pt_is_array;

	put(t, is_bytes ? "bytes" : words[m->pt_kind]);
	if (m->pt_kind < POSIXTRACE_BOOL && !is_bytes)
		put_number(t, "", 8 * m->pt_item_bytes, "");
	if (m->pt_is_array || m->pt_kind == POSIXTRACE_CHAR)
		put_number(t, "[", m->pt_bytes / m->pt_item_bytes, "]");
	put(t, " ");
	put(t, m->pt_name);
}

int ptrc_layout_of_members(const struct posixtrace_member *members, size_t count,
			   char text[POSIXTRACE_LAYOUT_MAX + 1])
{
	struct text t = {.at = text, .end = text + POSIXTRACE_LAYOUT_MAX};
	const struct posixtrace_member *m;
	size_t end = 0;
	bool is_aligned;
	int error = check_members(members, count, &is_aligned);

	if (error)
		return error;
	put(&t, is_aligned ? "" : "packed ");
	for (size_t from = 0; (m = next_member(members, count, from)); from = end) {
		if (from)
			put(&t, ", ");
		if (!is_aligned && m->pt_offset > end)
			put_number(&t, "pad[", m->pt_offset - end, "], ");
		put_member(&t, m);
		end = m->pt_offset + m->pt_bytes;
	}
	*t.at = '\0';
	return t.is_too_long ? ENAMETOOLONG : 0;
}
