/* SPDX-License-Identifier: MIT */
/* Replaces unwind.c in a build without libdw. As ptrc_unwinder_new() fails, ptrc_unwind() is never called. */
#include "config.h"
#include "src/os/unwind.h"

struct ptrc_unwinder *ptrc_unwinder_new(struct ptrc_cli_reason *why)
{
	ptrc_cli_because(why, "this command was built without libdw, which it needs");
	return NULL;
}

void ptrc_unwinder_free(struct ptrc_unwinder *u)
{
	(void)u;
}

uint64_t ptrc_unwinder_registers(void)
{
	return 0;
}

void ptrc_unwind(struct ptrc_unwinder *u, struct ptrc_os_processes *processes,
		 const struct ptrc_perf_record *r, struct ptrc_unwound *out)
{
	(void)u;
	(void)processes;
	(void)r;
	out->count = 0;
}
