/* SPDX-License-Identifier: MIT */
/* POSIX.1 posix_trace_attr_getclockres and the functions on its page. */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <trace.h>

#include "lib/base/common.h"
#include "lib/model/attr.h"

PTRC_PUBLIC int posix_trace_attr_getclockres(const trace_attr_t *attr, struct timespec *resolution)
{
	const struct ptrc_attr *a = ptrc_attr_get(attr);

	if (ptrc_attr_check(attr) || !resolution)
		return EINVAL;
	resolution->tv_sec = a->clockres_sec;
	resolution->tv_nsec = a->clockres_nsec;
	return 0;
}

PTRC_PUBLIC int posix_trace_attr_getcreatetime(const trace_attr_t *attr,
					       struct timespec *createtime)
{
	const struct ptrc_attr *a = ptrc_attr_get(attr);

	if (ptrc_attr_check(attr) || !createtime)
		return EINVAL;
	createtime->tv_sec = a->createtime_sec;
	createtime->tv_nsec = a->createtime_nsec;
	return 0;
}

PTRC_PUBLIC int posix_trace_attr_getgenversion(const trace_attr_t *attr, char *genversion)
{
	if (ptrc_attr_check(attr) || !genversion)
		return EINVAL;
	strcpy(genversion, ptrc_attr_get(attr)->genversion);
	return 0;
}

PTRC_PUBLIC int posix_trace_attr_getname(const trace_attr_t *attr, char *tracename)
{
	if (ptrc_attr_check(attr) || !tracename)
		return EINVAL;
	strcpy(tracename, ptrc_attr_get(attr)->name);
	return 0;
}

/* The standard has callers of getname provide TRACE_NAME_MAX bytes, and the null byte has to fit
 * in there: so a name is one byte shorter. */
PTRC_PUBLIC int posix_trace_attr_setname(trace_attr_t *attr, const char *tracename)
{
	struct ptrc_attr *a = ptrc_attr_edit(attr);
	size_t len;

	if (ptrc_attr_check(attr) || !tracename)
		return EINVAL;
	len = strnlen(tracename, TRACE_NAME_MAX - 1);
	/* memmove, because the caller's string may be the name in this very object. */
	memmove(a->name, tracename, len);
	memset(a->name + len, 0, sizeof(a->name) - len);
	return 0;
}
