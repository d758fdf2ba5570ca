/* SPDX-License-Identifier: MIT */
/*
 * Records the probes (notes.h) that the program and its libraries reach. At the start, and when a library is
 * loaded, the nop of each selected probe is replaced by an instruction that makes the kernel send SIGTRAP; the
 * handler records an event sdt.PROVIDER.NAME with the arguments.
 *
 * A library is noticed by a trap, too: the dynamic linker calls an empty function for debuggers whenever its list
 * of libraries has changed. The text is written through /proc/self/mem, so no page becomes writable.
 *
 * If SIGTRAP were blocked, the kernel would kill the program at the next probe. So the program gets what it asks for
 * all signals but this one: signals.h.
 */
#ifndef PTRC_LIB_PRELOAD_PROBES_H
#define PTRC_LIB_PRELOAD_PROBES_H

/* The environment variable in which ptrace-run passes the patterns, one on each line. */
#define PTRC_PROBES_VARIABLE "POSIXTRACE_SDT"

/* Called once, by the constructor, while no other thread runs code of the program. Does nothing if no probe is
 * wanted. */
void ptrc_probes_begin(void);

#endif
