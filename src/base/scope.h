/* SPDX-License-Identifier: MIT */
/* Types of variables whose descriptor, stream, directory or memory is given back at the end of their scope. */
#ifndef PTRC_SRC_BASE_SCOPE_H
#define PTRC_SRC_BASE_SCOPE_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void ptrc_scope_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void ptrc_scope_fclose(FILE *const *stream)
{
	if (*stream)
		fclose(*stream);
}

static inline void ptrc_scope_closedir(DIR *const *directory)
{
	if (*directory)
		closedir(*directory);
}

static inline void ptrc_scope_free(void *pointer)
{
	free(*(void **)pointer);
}

/* A descriptor, or -1. The others may be NULL. */
#define PTRC_SCOPED_FD __attribute__((cleanup(ptrc_scope_close))) int
#define PTRC_SCOPED_FILE __attribute__((cleanup(ptrc_scope_fclose))) FILE
#define PTRC_SCOPED_DIR __attribute__((cleanup(ptrc_scope_closedir))) DIR
#define PTRC_SCOPED __attribute__((cleanup(ptrc_scope_free)))

#endif
