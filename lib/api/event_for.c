/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <posixtrace.h>
#include <string.h>

#include "lib/base/scope.h"
#include "lib/life/life.h"
#include "lib/model/layout_text.h"
#include "lib/model/names.h"
#include "lib/recorder/guest.h"

PTRC_PUBLIC int posixtrace_event_for(pid_t pid, const char *name, const char *layout,
				     const void *data, size_t size, unsigned int *streams)
{
	unsigned int count;
	uint32_t known;
	int error;
	PTRC_NO_CANCEL();

	if (!name || !streams || (!data && size))
		return EINVAL;
	error = layout ? ptrc_layout_check(layout) : 0;
	if (error)
		return error;
	if (strnlen(name, PTRC_NAME_BYTES) == PTRC_NAME_BYTES)
		return ENAMETOOLONG;
	/* Only the trace system records system events, and the unnamed event type has no layout. */
	known = ptrc_names_find(NULL, 0, name);
	if (known && (known < PTRC_ID_UNNAMED || layout))
		return EINVAL;
	error = ptrc_guest_record(pid, name, layout, data, size, &count);
	if (!error)
		*streams = count;
	return error;
}
