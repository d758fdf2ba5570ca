/* SPDX-License-Identifier: MIT */
/* POSIX.1 posix_trace_attr_destroy, posix_trace_attr_init. */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <trace.h>

#include "lib/base/common.h"
#include "lib/model/attr.h"

PTRC_PUBLIC int posix_trace_attr_init(trace_attr_t *attr)
{
	struct ptrc_attr fields;

	if (!attr)
		return EINVAL;
	ptrc_attr_defaults(&fields);
	ptrc_attr_export(&fields, attr);
	return 0;
}

PTRC_PUBLIC int posix_trace_attr_destroy(trace_attr_t *attr)
{
	if (ptrc_attr_check(attr))
		return EINVAL;
	memset(attr, 0, sizeof(*attr));
	return 0;
}
