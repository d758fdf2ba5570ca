/* SPDX-License-Identifier: MIT */
/* POSIX.1 posix_trace_attr_getinherited and the functions on its page. */
#include "config.h"

#include <errno.h>
#include <trace.h>

#include "lib/base/common.h"
#include "lib/model/attr.h"

PTRC_PUBLIC int posix_trace_attr_getinherited(const trace_attr_t *restrict attr,
					      int *restrict inheritancepolicy)
{
	if (ptrc_attr_check(attr) || !inheritancepolicy)
		return EINVAL;
	*inheritancepolicy = ptrc_attr_get(attr)->inherited;
	return 0;
}

PTRC_PUBLIC int posix_trace_attr_getlogfullpolicy(const trace_attr_t *restrict attr,
						  int *restrict logpolicy)
{
	if (ptrc_attr_check(attr) || !logpolicy)
		return EINVAL;
	*logpolicy = ptrc_attr_get(attr)->log_full_policy;
	return 0;
}

/* If it is not set, a stream without a log gets LOOP and one with a log FLUSH. */
PTRC_PUBLIC int posix_trace_attr_getstreamfullpolicy(const trace_attr_t *restrict attr,
						     int *restrict streampolicy)
{
	int policy;

	if (ptrc_attr_check(attr) || !streampolicy)
		return EINVAL;
	policy = ptrc_attr_get(attr)->stream_full_policy;
	*streampolicy = policy ? policy : POSIX_TRACE_LOOP;
	return 0;
}

PTRC_PUBLIC int posix_trace_attr_setinherited(trace_attr_t *attr, int inheritancepolicy)
{
	if (ptrc_attr_check(attr))
		return EINVAL;
	switch (inheritancepolicy) {
	case POSIX_TRACE_CLOSE_FOR_CHILD:
	case POSIX_TRACE_INHERITED:
		ptrc_attr_edit(attr)->inherited = inheritancepolicy;
		return 0;
	default:
		return EINVAL;
	}
}

PTRC_PUBLIC int posix_trace_attr_setlogfullpolicy(trace_attr_t *attr, int logpolicy)
{
	if (ptrc_attr_check(attr))
		return EINVAL;
	switch (logpolicy) {
	case POSIX_TRACE_LOOP:
	case POSIX_TRACE_UNTIL_FULL:
	case POSIX_TRACE_APPEND:
		ptrc_attr_edit(attr)->log_full_policy = logpolicy;
		return 0;
	default:
		return EINVAL;
	}
}

PTRC_PUBLIC int posix_trace_attr_setstreamfullpolicy(trace_attr_t *attr, int streampolicy)
{
	if (ptrc_attr_check(attr))
		return EINVAL;
	switch (streampolicy) {
	case POSIX_TRACE_LOOP:
	case POSIX_TRACE_UNTIL_FULL:
	case POSIX_TRACE_FLUSH:
		ptrc_attr_edit(attr)->stream_full_policy = streampolicy;
		return 0;
	default:
		return EINVAL;
	}
}
