/* SPDX-License-Identifier: MIT */
/* Whether two paths or descriptors lead to one file. */
#ifndef PTRC_SRC_BASE_SAME_FILE_H
#define PTRC_SRC_BASE_SAME_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

static inline bool ptrc_is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* False if one of the paths does not exist, or cannot be looked at. */
static inline bool ptrc_is_path_of_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && ptrc_is_same_file(&x, &y);
}

#endif
