/* SPDX-License-Identifier: MIT */
/*
 * The start of the keeper's program, which is embedded in the library and executed from memory,
 * with the descriptors and arguments of keeper_life.h. It has no C library.
 */
#include "lib/base/digits.h"
#include "lib/keeper/keeper_life.h"

__attribute__((noreturn, used)) void ptrc_keeper_begin(const long *stack);

/* `stack` points to what the kernel puts on the stack of a new program: argc, then the pointers of
 * argv[]. */
void ptrc_keeper_begin(const long *stack)
{
	const char *task = stack[0] > 2 ? (const char *)stack[2] : "";
	const char *digits = stack[0] > 2 ? (const char *)stack[3] : "";

	ptrc_keeper_live(*task == 'n'	? PTRC_KEEPER_NEW
			 : *task == 'r' ? PTRC_KEEPER_RESTART
					: PTRC_KEEPER_ORPHAN,
			 (uint32_t)ptrc_digits_take(&digits));
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
