/* SPDX-License-Identifier: MIT */
/* Probes as sdt.h of SystemTap makes them, which the tests do not require: PROBE(provider, name, arguments). */
#ifndef PTRC_TESTS_SUPPORT_SDT_H
#define PTRC_TESTS_SUPPORT_SDT_H

#if defined(__x86_64__)
#define SDT_VECTOR(value) "x"(value)
/* An instruction that sends SIGTRAP, and is followed by the next one. */
#define SDT_TRAP() __asm__ volatile("int3")
#else
#define SDT_VECTOR(value) "w"(value)
#define SDT_TRAP() raise(SIGTRAP)
#endif

/* `arguments` is a string of operands, in the form of the compiler, such as "-4@%0 8@%1"; then their
 * constraints. `semaphore` is the name of a counter, or 0. */
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
