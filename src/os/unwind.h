/* SPDX-License-Identifier: MIT */
/*
 * Finds the callers of a sample from its copy of the registers and of the stack, by the unwinding tables
 * (.eh_frame) of the files that the process has mapped. Each table is read once, and kept for all processes that
 * map the file.
 */
#ifndef PTRC_SRC_OS_UNWIND_H
#define PTRC_SRC_OS_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/message.h"
#include "src/os/perf_records.h"
#include "src/os/processes.h"

struct ptrc_unwinder;

/* The addresses of a stack, innermost first: the next instruction, then return addresses. */
struct ptrc_unwound {
	uint64_t *addresses;
	size_t max, count;
	/* There are more callers than `max`, or callers beyond the copy of the stack. */
	bool is_cut;
	/* 1 if a further address was left out, because the caller's frame makes no sense or the address is outside
	 * all executable mappings; else 0. */
	unsigned int noise;
};

/* Returns NULL, and stores the reason, if libdw cannot be loaded. */
struct ptrc_unwinder *ptrc_unwinder_new(struct ptrc_cli_reason *);
/* Frees the unwinder, which may be NULL. */
void ptrc_unwinder_free(struct ptrc_unwinder *);

/* Returns the registers that ptrc_unwind() needs, as in perf_event_attr.sample_regs_user. */
uint64_t ptrc_unwinder_registers(void);

/* Finds the callers of a sample that has a copy of the stack. The caller has stored .addresses and .max. */
void ptrc_unwind(struct ptrc_unwinder *, struct ptrc_os_processes *,
		 const struct ptrc_perf_record *, struct ptrc_unwound *);

#endif
