/* SPDX-License-Identifier: MIT */
/* Static probes in the form of SystemTap's <sys/sdt.h>, so that the tests do not need that header:
 * PROBE(provider, name, semaphore, arguments, operands). */
#ifndef PTRC_TESTS_SUPPORT_SDT_H
#define PTRC_TESTS_SUPPORT_SDT_H

#if defined(__x86_64__)
#define SDT_VECTOR(value) "x"(value)
/* Sends SIGTRAP to this thread. After a handler, the program goes on with the next instruction. */
#define SDT_TRAP() __asm__ volatile("int3")
#else
#define SDT_VECTOR(value) "w"(value)
#define SDT_TRAP() raise(SIGTRAP)
#endif

/* `arguments` is a string that describes the probe's arguments with operands of the asm statement,
 * such as "-4@%0 8@%1"; the operands with their constraints follow. `semaphore` is the name of a
 * counter that tells the program whether the probe is in use, or 0. */
#define PROBE(provider, name, semaphore, arguments, ...)                                         \
	__asm__ volatile("990: nop\n"                                                            \
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"                            \
			 ".balign 4\n"                                                           \
			 ".4byte 992f-991f, 994f-993f, 3\n"                                      \
			 "991: .asciz \"stapsdt\"\n"                                             \
			 "992: .balign 4\n"                                                      \
			 "993: .8byte 990b, _.stapsdt.base, " #semaphore "\n"                    \
			 ".asciz \"" provider "\"\n"                                             \
			 ".asciz \"" name "\"\n"                                                 \
			 ".asciz \"" arguments "\"\n"                                            \
			 "994: .balign 4\n"                                                      \
			 ".popsection\n"                                                         \
			 ".ifndef _.stapsdt.base\n"                                              \
			 ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
			 ".weak _.stapsdt.base\n"                                                \
			 ".hidden _.stapsdt.base\n"                                              \
			 "_.stapsdt.base: .space 1\n"                                            \
			 ".size _.stapsdt.base, 1\n"                                             \
			 ".popsection\n"                                                         \
			 ".endif\n" ::__VA_ARGS__)

#endif
