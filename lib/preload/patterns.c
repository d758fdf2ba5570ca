/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "lib/preload/patterns.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/file.h"
#include "lib/model/glob.h"

bool ptrc_patterns_read(struct ptrc_patterns *p, const char *variable)
{
	const char *text = secure_getenv(variable);
	size_t size = text ? strlen(text) : 0;

	p->globs = text ? ptrc_file_zeros(size + 2) : NULL;
	if (!p->globs)
		return false;
	memcpy(p->globs, text, size);
	for (size_t i = 0; i < size; i++)
		if (p->globs[i] == '\n')
			p->globs[i] = '\0';
	return true;
}

bool ptrc_patterns_match(const struct ptrc_patterns *p, const char *name)
{
	for (const char *glob = p->globs; *glob; glob += strlen(glob) + 1)
		if (ptrc_glob_matches(glob, name))
			return true;
	return false;
}
