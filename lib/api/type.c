/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <posixtrace.h>

#include "lib/base/atomic.h"
#include "lib/base/common.h"
#include "lib/base/file.h"
#include "lib/base/sys.h"
#include "lib/life/life.h"
#include "lib/model/layout_text.h"
#include "lib/process/process_names.h"
#include "lib/process/self.h"

/* Size of the memory in which the text of a layout is made. This memory is mapped for the call,
 * because the stack of a signal handler may be smaller. */
#define TEXT_BYTES 8192

/* Opens the event type. Several threads may do this at the same time, with the same result. */
static int open_type(struct posixtrace_type *type, trace_event_id_t *id)
{
	char *text = ptrc_file_zeros(TEXT_BYTES);
	uint32_t found = PTRC_ID_UNNAMED;
	int error;

	if (!text)
		return ENOMEM;
	error = ptrc_layout_of_members(type->pt_members, type->pt_member_count, text);
	if (!error)
		error = ptrc_process_open_type(type->pt_name, text, &found);
	ptrc_sys(SYS_munmap, text, TEXT_BYTES);
	/* The events of the type are recorded as unnamed ones, which no rule about the name would see. */
	if (error && error != ENOMEM)
		ptrc_process_refuse_name(type->pt_name);
	/* After ENOMEM nothing is stored, so the next event tries to open the type again. */
	if (error != ENOMEM) {
		__atomic_store_n(&type->pt_error, error, __ATOMIC_RELAXED);
		__atomic_store_n(&type->pt_id, found, __ATOMIC_RELEASE);
	}
	*id = found;
	return error;
}

PTRC_PUBLIC int posixtrace_open_type(struct posixtrace_type *type)
{
	trace_event_id_t id;

	if (!type || !type->pt_name || !type->pt_members)
		return EINVAL;
	if (__atomic_load_n(&type->pt_id, __ATOMIC_ACQUIRE))
		return __atomic_load_n(&type->pt_error, __ATOMIC_RELAXED);
	return open_type(type, &id);
}

PTRC_PUBLIC trace_event_id_t posixtrace_begin_type(struct posixtrace_type *type)
{
	trace_event_id_t id = POSIX_TRACE_UNNAMED_USEREVENT;

	if (ptrc_load_relaxed(&ptrc_page_self->active) == 0)
		return 0;
	/* If the type cannot be opened, the event is recorded as an unnamed event. */
	(void)open_type(type, &id);
	return id;
}
