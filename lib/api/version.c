/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <posixtrace.h>

#include "lib/base/common.h"

PTRC_PUBLIC const char *posixtrace_version(void)
{
	return "posixtrace " PACKAGE_VERSION;
}
