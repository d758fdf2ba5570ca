/* SPDX-License-Identifier: MIT */
/* posixtrace_event_for. */
#include "config.h"

#include <errno.h>
#include <posixtrace.h>
#include <pthread.h>
#include <string.h>

#include "lib/base/common.h"
#include "lib/life/life.h"
#include "lib/model/names.h"
#include "lib/recorder/guest.h"

PTRC_PUBLIC int posixtrace_event_for(pid_t pid, const char *event_name, const void *data,
				     size_t size, unsigned int *streams)
{
	unsigned int count;
	uint32_t known;
	int error, cancel;

	if (!event_name || !streams || (!data && size))
		return EINVAL;
	if (strnlen(event_name, PTRC_NAME_BYTES) == PTRC_NAME_BYTES)
		return ENAMETOOLONG;
	/* Only the trace system itself records system events. */
	known = ptrc_names_find(NULL, 0, event_name);
	if (known && known < PTRC_ID_UNNAMED)
		return EINVAL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	error = ptrc_guest_record(pid, event_name, data, size, &count);
	pthread_setcancelstate(cancel, NULL);
	if (!error)
		*streams = count;
	return error;
}
