/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <posixtrace.h>

#include "include/posixtrace-private.h"
#include "lib/base/common.h"
#include "lib/base/shared_version.h"

PTRC_PUBLIC const char *posixtrace_version(void)
{
	return "posixtrace " PACKAGE_VERSION;
}

unsigned int ptrc_shared_version(void)
{
	return PTRC_SHARED_VERSION;
}
