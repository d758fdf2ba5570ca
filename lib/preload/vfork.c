/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "lib/preload/vfork.h"

#include <pthread.h>

#include "lib/base/sys.h"
#include "lib/preload/next_function.h"

__thread int32_t ptrc_vfork_parent __attribute__((tls_model("initial-exec")));

bool ptrc_vfork_look(void)
{
	if (ptrc_sys_getpid() != ptrc_vfork_parent)
		return true;
	ptrc_vfork_parent = 0;
	return false;
}

/* The child of fork() inherits ptrc_vfork_parent, which may still be set after an earlier vfork()
 * of this thread. Then the child of fork() would be taken for the child of that vfork(). */
static void after_fork_in_child(void)
{
	ptrc_vfork_parent = 0;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_atfork(NULL, NULL, after_fork_in_child);
}

/* Called by the wrapper below. Returns the next definition of vfork(). */
PTRC_USED PTRC_HIDDEN ptrc_function *ptrc_vfork_begin(void) __asm__("ptrc_vfork_begin");
ptrc_function *ptrc_vfork_begin(void)
{
	/* If the child of a vfork() calls vfork() again, the first parent stays noted. */
	if (!ptrc_vfork_is_in_child())
		ptrc_vfork_parent = ptrc_sys_getpid();
	return PTRC_NEXT(vfork);
}

/* vfork() returns twice, and the child overwrites the stack below the caller's frame. So the
 * wrapper must have no frame of its own when it calls vfork(): it jumps to the next definition. */
#if defined(__x86_64__)
__asm__(".pushsection .text, \"ax\", @progbits\n"
	".globl vfork\n"
	".type vfork, @function\n"
	"vfork:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call ptrc_vfork_begin\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	jmp *%rax\n"
	"	.cfi_endproc\n"
	".size vfork, . - vfork\n"
	".popsection\n");
#else
__asm__(".pushsection .text, \"ax\", @progbits\n"
	".globl vfork\n"
	".type vfork, %function\n"
	"vfork:\n"
	"	.cfi_startproc\n"
	"	hint #34\n" /* bti c */
	"	stp x29, x30, [sp, #-16]!\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset x29, -16\n"
	"	.cfi_offset x30, -8\n"
	"	bl ptrc_vfork_begin\n"
	"	ldp x29, x30, [sp], #16\n"
	"	.cfi_def_cfa_offset 0\n"
	"	.cfi_restore x29\n"
	"	.cfi_restore x30\n"
	"	mov x16, x0\n"
	"	br x16\n"
	"	.cfi_endproc\n"
	".size vfork, . - vfork\n"
	".popsection\n");
#endif
