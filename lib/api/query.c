/* SPDX-License-Identifier: MIT */
/* posixtrace_get_process, _get_process_stream, _get_process_event, _get_system. */
#include "config.h"

#include <errno.h>
#include <posixtrace.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/common.h"
#include "lib/model/names.h"
#include "lib/process/query.h"

/* Give the caller the first `size` bytes, for which its structure has room. The first member of
 * each of these structures says how many bytes were given. */
static void give(void *to, size_t size, const void *from, size_t from_size)
{
	unsigned long given = size < from_size ? size : from_size;

	memcpy(to, from, given);
	memcpy(to, &given, sizeof(given));
}

PTRC_PUBLIC int posixtrace_get_process(pid_t pid, struct posixtrace_process *process, size_t size)
{
	struct posixtrace_process full = {0};
	int cancel, error;

	if (!process || size < sizeof(full.pt_size))
		return EINVAL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	error = ptrc_query_process(pid, &full);
	if (!error)
		give(process, size, &full, sizeof(full));
	pthread_setcancelstate(cancel, NULL);
	return error;
}

PTRC_PUBLIC int posixtrace_get_process_stream(pid_t pid, unsigned int number,
					      struct posixtrace_process_stream *stream, size_t size)
{
	struct posixtrace_process_stream *full;
	int cancel, error;

	if (!stream || size < sizeof(stream->pt_size))
		return EINVAL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	full = calloc(1, sizeof(*full));
	error = full ? ptrc_query_stream(pid, number, full) : ENOMEM;
	if (!error)
		give(stream, size, full, sizeof(*full));
	free(full);
	pthread_setcancelstate(cancel, NULL);
	return error;
}

PTRC_PUBLIC int posixtrace_get_process_event(pid_t pid, unsigned int number,
					     trace_event_id_t *event, char *event_name)
{
	char name[PTRC_NAME_BYTES];
	int cancel, error;

	if (!event || !event_name)
		return EINVAL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	error = ptrc_query_event(pid, number, name);
	if (!error) {
		strcpy(event_name, name);
		*event = PTRC_ID_FIRST + number;
	}
	pthread_setcancelstate(cancel, NULL);
	return error;
}

PTRC_PUBLIC int posixtrace_get_system(struct posixtrace_system *system, size_t size)
{
	struct posixtrace_system full = {0};
	int cancel;

	if (!system || size < sizeof(full.pt_size))
		return EINVAL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	ptrc_query_system(&full);
	give(system, size, &full, sizeof(full));
	pthread_setcancelstate(cancel, NULL);
	return 0;
}
