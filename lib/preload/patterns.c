/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "lib/preload/patterns.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/file.h"
#include "lib/model/glob.h"

char *ptrc_patterns_read(const char *variable)
{
	const char *text = secure_getenv(variable);
	size_t size = text ? strlen(text) : 0;
	char *patterns = text ? ptrc_file_zeros(size + 2) : NULL;

	for (size_t i = 0; patterns && i < size; i++)
		patterns[i] = text[i] == '\n' ? '\0' : text[i];
	return patterns;
}

bool ptrc_patterns_match(const char *patterns, const char *name)
{
	for (; *patterns; patterns += strlen(patterns) + 1)
		if (ptrc_glob_matches(patterns, name))
			return true;
	return false;
}
