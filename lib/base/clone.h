/* SPDX-License-Identifier: MIT */
/*
 * Starts a child process that shares the caller's memory. The child has a stack of its own, because
 * on a common stack parent and child would overwrite each other's frames. The child must not touch
 * the state of the C library, so the function makes the raw system call.
 */
#ifndef PTRC_LIB_BASE_CLONE_H
#define PTRC_LIB_BASE_CLONE_H

#include <stdint.h>

#include "lib/base/sys.h"

/* The child calls fn(arg) on the stack that ends at stack_top, and exits with the result of fn().
 * The caller gets the child's process ID or a negative error number. */
static inline long ptrc_clone(unsigned long flags, void *stack_top, int (*fn)(void *), void *arg)
{
	uintptr_t *sp = (uintptr_t *)((uintptr_t)stack_top & ~(uintptr_t)15);

	*--sp = (uintptr_t)arg;
	*--sp = (uintptr_t)fn;
#if defined(__x86_64__)
	{
		long ret = SYS_clone;
		register long r10 __asm__("r10") = 0;
		register long r8 __asm__("r8") = 0;

		__asm__ volatile("syscall\n\t"
				 "testq %%rax, %%rax\n\t"
				 "jnz 1f\n\t"
				 "xorl %%ebp, %%ebp\n\t"
				 "popq %%rax\n\t"
				 "popq %%rdi\n\t"
				 "callq *%%rax\n\t"
				 "movl %%eax, %%edi\n\t"
				 "movl %[exit], %%eax\n\t"
				 "syscall\n\t"
				 "hlt\n"
				 "1:"
				 : "+a"(ret)
				 : "D"(flags), "S"(sp), "d"(0L), "r"(r10),
				   "r"(r8), [exit] "i"(SYS_exit)
				 : "rcx", "r11", "memory", "cc");
		return ret;
	}
#elif defined(__aarch64__)
	{
		register long x8 __asm__("x8") = SYS_clone;
		register long x0 __asm__("x0") = (long)flags;
		register long x1 __asm__("x1") = (long)sp;
		register long x2 __asm__("x2") = 0;
		register long x3 __asm__("x3") = 0;
		register long x4 __asm__("x4") = 0;

		__asm__ volatile("svc #0\n\t"
				 "cbnz x0, 1f\n\t"
				 "mov x29, #0\n\t"
				 "mov x30, #0\n\t"
				 "ldp x1, x0, [sp], #16\n\t"
				 "blr x1\n\t"
				 "mov x8, %[exit]\n\t"
				 "svc #0\n\t"
				 "brk #1\n"
				 "1:"
				 : "+r"(x0), "+r"(x1)
				 : "r"(x8), "r"(x2), "r"(x3), "r"(x4), [exit] "i"(SYS_exit)
				 : "memory", "cc");
		return x0;
	}
#endif
}

#endif
