/* SPDX-License-Identifier: MIT */
/* posixtrace_get_process, _get_process_stream, _get_process_event, _get_system. */
#include "config.h"

#include <errno.h>
#include <posixtrace.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/common.h"
#include "lib/model/names.h"
#include "lib/process/query.h"

/* None of these functions is a cancellation point, because lib/process/query.c makes raw system
 * calls only. */

/* Copy the first `size` bytes, for which the caller's structure has room. The first member of each
 * of these structures gets the number of bytes that were copied. */
static void give(void *to, size_t size, const void *from, size_t from_size)
{
	unsigned long given = size < from_size ? size : from_size;

	memcpy(to, from, given);
	memcpy(to, &given, sizeof(given));
}

PTRC_PUBLIC int posixtrace_get_process(pid_t pid, struct posixtrace_process *process, size_t size)
{
	struct posixtrace_process full = {0};
	int error;

	if (!process || size < sizeof(full.pt_size))
		return EINVAL;
	error = ptrc_query_process(pid, &full);
	if (!error)
		give(process, size, &full, sizeof(full));
	return error;
}

PTRC_PUBLIC int posixtrace_get_process_stream(pid_t pid, unsigned int number,
					      struct posixtrace_process_stream *stream, size_t size)
{
	struct posixtrace_process_stream *full;
	int error;

	if (!stream || size < sizeof(stream->pt_size))
		return EINVAL;
	full = calloc(1, sizeof(*full));
	error = full ? ptrc_query_stream(pid, number, full) : ENOMEM;
	if (!error)
		give(stream, size, full, sizeof(*full));
	free(full);
	return error;
}

PTRC_PUBLIC int posixtrace_get_process_event(pid_t pid, unsigned int number,
					     trace_event_id_t *event, char *event_name)
{
	char name[PTRC_NAME_BYTES];
	int error;

	if (!event || !event_name)
		return EINVAL;
	error = ptrc_query_event(pid, number, name);
	if (!error) {
		strcpy(event_name, name);
		*event = PTRC_ID_FIRST + number;
	}
	return error;
}

PTRC_PUBLIC int posixtrace_get_system(struct posixtrace_system *system, size_t size)
{
	struct posixtrace_system full = {0};

	if (!system || size < sizeof(full.pt_size))
		return EINVAL;
	ptrc_query_system(&full);
	give(system, size, &full, sizeof(full));
	return 0;
}

PTRC_PUBLIC int posixtrace_get_directory(int is_create, char *path, size_t size)
{
	if (!path || size < sizeof(PTRC_SHMDIR_BASE) + PTRC_SHMDIR_DIRECTORY_BYTES)
		return EINVAL;
	return ptrc_query_directory(is_create != 0, path);
}
