/* SPDX-License-Identifier: MIT */
/*
 * A program whose notes are odd:
 *
 *	odd_notes [LIBRARY...]
 *
 * The notes wrong_* say wrong addresses: of data that looks like the nop of a probe, and of a counter that is code.
 * Two notes have one address. One has a name of 300 characters. A filter then ends the process if it calls
 * process_vm_readv() or pwrite64(), and a probe with an argument in memory is reached. The function reach() of each
 * LIBRARY is called twice before that, and once after.
 */
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tests/support/sdt.h"

/* A note alone. `address` and `semaphore` are symbols. */
#define NOTE(name, address, semaphore)                                       \
	__asm__(".pushsection .note.stapsdt,\"\",\"note\"\n"                 \
		".balign 4\n"                                                \
		".4byte 992f-991f, 994f-993f, 3\n"                           \
		"991: .asciz \"stapsdt\"\n"                                  \
		"992: .balign 4\n"                                           \
		"993: .8byte " #address ", _.stapsdt.base, " #semaphore "\n" \
		".asciz \"odd\"\n"                                           \
		".asciz \"" name "\"\n"                                      \
		".asciz \"\"\n"                                              \
		"994: .balign 4\n"                                           \
		".popsection\n")

#define TEN "abcdefghij"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

#if defined(__x86_64__)
#define NOP UINT32_C(0x90909090)
#else
#define NOP UINT32_C(0xd503201f)
#endif

/* Data: constant, and not. */
__attribute__((used)) const uint32_t odd_constant[4] = {NOP, NOP, NOP, NOP};
__attribute__((used)) uint32_t odd_variable[4] = {NOP, NOP, NOP, NOP};
__attribute__((used)) static volatile int64_t far = 42;

void odd_code(void);
__asm__(".pushsection .text\n"
	".globl odd_code, odd_place, odd_counter\n"
	".balign 8\n"
	"odd_code: nop\n"
	"odd_place: nop\n"
	"ret\n"
	".balign 8\n"
	"odd_counter: ret\n"
	".balign 8, 0\n"
	".popsection\n");
extern const unsigned char odd_counter[];

NOTE("wrong_constant", odd_constant, 0);
NOTE("wrong_variable", odd_variable, 0);
NOTE("wrong_counter", odd_code, odd_counter);
NOTE("wrong_nowhere", -1, 0);
NOTE("wrong_counter_nowhere", odd_code, -1);
NOTE("twice", odd_place, 0);
NOTE("twice_again", odd_place, 0);
NOTE(HUNDRED HUNDRED HUNDRED, odd_code, 0);

static int reach(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*function)(int) = library ? (void (*)(int))dlsym(library, "reach") : NULL;

	if (!function)
		return 1;
	function(1);
	return dlclose(library);
}

static void restrict_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	int errors = 0;

	odd_code();
	for (int i = 1; i < argc; i++)
		errors += reach(argv[i]) + reach(argv[i]);
	PROBE("odd", "far", 0, "-8@(%0)", "r"(&far));
	restrict_calls();
	PROBE("odd", "far", 0, "-8@(%0)", "r"(&far));
	for (int i = 1; i < argc; i++)
		errors += reach(argv[i]);
	for (int i = 0; i < 4; i++)
		errors += odd_constant[i] != NOP || odd_variable[i] != NOP;
	printf("%d errors, counter %x\n", errors, odd_counter[0]);
	return 0;
}
