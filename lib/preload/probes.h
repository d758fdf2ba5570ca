/* SPDX-License-Identifier: MIT */
/*
 * Records the static probes (notes.h) that the program and its libraries reach. At the start, and
 * when a library is loaded, the nop of each selected probe is replaced by an instruction that makes
 * the kernel send SIGTRAP. The handler records an event sdt.PROVIDER.NAME with the arguments of the
 * probe.
 *
 * A trap also reports loaded libraries: the dynamic linker calls an empty function, meant for
 * debuggers, whenever its list of libraries has changed; that function gets a trap, too. Code is
 * written through /proc/self/mem, so no page becomes writable.
 *
 * If a thread that reaches a probe had SIGTRAP blocked, the kernel would kill the program. So the
 * program's requests to block SIGTRAP are only simulated (signals.h).
 */
#ifndef PTRC_LIB_PRELOAD_PROBES_H
#define PTRC_LIB_PRELOAD_PROBES_H

/* The environment variable in which ptrace-run passes the patterns for names of probes, one on each
 * line. */
#define PTRC_PROBES_VARIABLE "POSIXTRACE_SDT"

/* Called once, by the constructor, while no other thread runs code of the program. Does nothing if
 * ptrace-run has passed no patterns. */
void ptrc_probes_begin(void);

#endif
