/* SPDX-License-Identifier: MIT */
/*
 * The keeper as a program of its own: embedded in the library, executed from memory, with
 * the descriptors that keeper_life.h names and one argument. No C library.
 */
#include "lib/keeper/keeper_life.h"

__attribute__((noreturn, used)) void ptrc_keeper_begin(const long *stack);

/* The stack as the kernel lays it out: argc, argv[]. */
void ptrc_keeper_begin(const long *stack)
{
	const char *argument = stack[0] > 1 ? (const char *)stack[2] : "";

	ptrc_keeper_live(argument[0] == 'n'   ? PTRC_KEEPER_NEW
			 : argument[0] == 'r' ? PTRC_KEEPER_RESTART
					      : PTRC_KEEPER_ORPHAN);
}

#if defined(__x86_64__)
__asm__(".globl _start\n"
	"_start:\n\t"
	"xorl %ebp, %ebp\n\t"
	"movq %rsp, %rdi\n\t"
	"andq $-16, %rsp\n\t"
	"callq ptrc_keeper_begin\n\t"
	"hlt\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n"
	"_start:\n\t"
	"mov x29, #0\n\t"
	"mov x30, #0\n\t"
	"mov x0, sp\n\t"
	"bl ptrc_keeper_begin\n\t"
	"brk #1\n");
#endif
