/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/os/syscall_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/syscall.h>

/* The names by number. The makefile generates them from <sys/syscall.h>. */
static const char *const names[] = {
#include "src/os/syscall_names.inc"
};

void ptrc_syscall_name(int64_t number, char name[PTRC_SYSCALL_NAME_BYTES])
{
	if (number >= 0 && (uint64_t)number < sizeof(names) / sizeof(names[0]) && names[number])
		snprintf(name, PTRC_SYSCALL_NAME_BYTES, "%s", names[number]);
	else
		snprintf(name, PTRC_SYSCALL_NAME_BYTES, "%" PRId64, number);
}
