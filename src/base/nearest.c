/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Only this many bytes of a name are compared. */
enum { COMPARED_MAX = 64 };

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* Returns the edit distance of two names: the least number of insertions, deletions and changes of a byte, and of
 * exchanges of neighbouring bytes, that turn one name into the other. Ignores case. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int rows[3][COMPARED_MAX + 1];
	size_t m = strnlen(a, COMPARED_MAX);
	size_t n = strnlen(b, COMPARED_MAX);

	for (size_t j = 0; j <= n; j++)
		rows[0][j] = (unsigned int)j;
	for (size_t i = 1; i <= m; i++) {
		unsigned int *row = rows[i % 3];
		const unsigned int *above = rows[(i + 2) % 3];
		const unsigned int *two_above = rows[(i + 1) % 3];
		int x = tolower((unsigned char)a[i - 1]);

		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= n; j++) {
			int y = tolower((unsigned char)b[j - 1]);

			row[j] = least(above[j - 1] + (x != y), least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
			    y == tolower((unsigned char)a[i - 2]))
				row[j] = least(row[j], two_above[j - 2] + 1);
		}
	}
	return rows[m % 3][n];
}

void ptrc_nearest_offer(struct ptrc_nearest *n, const char *wanted, const char *name)
{
	size_t size = strnlen(wanted, COMPARED_MAX);
	unsigned int d = distance(wanted, name);
	size_t i;

	/* If `wanted` is a part of `name`, the user has probably left out the rest of `name`, however long. */
	if (size >= 3 && strstr(name, wanted))
		d = least(d, 2);
	if (d > 1 + size / 4)
		return;
	for (i = 0; i < n->count; i++)
		if (!strcmp(n->names[i], name))
			return;
	if (n->count < PTRC_NEAREST_MAX)
		n->count++;
	else if (n->distances[PTRC_NEAREST_MAX - 1] <= d)
		return;
	for (i = n->count - 1; i && n->distances[i - 1] > d; i--) {
		n->names[i] = n->names[i - 1];
		n->distances[i] = n->distances[i - 1];
	}
	n->names[i] = name;
	n->distances[i] = d;
}

const char *ptrc_nearest_text(const struct ptrc_nearest *n, char *buffer, size_t size)
{
	size_t used = 0;

	buffer[0] = '\0';
	for (size_t i = 0; i < n->count && used < size; i++) {
		const char *before = !i ? " (did you mean '" : i + 1 < n->count ? ", '" : " or '";

		used += (size_t)snprintf(buffer + used, size - used, "%s%s'%s", before, n->names[i],
					 i + 1 < n->count ? "" : "?)");
	}
	return buffer;
}
