/* SPDX-License-Identifier: MIT */
/* full_disk BYTES COMMAND [ARGUMENT]...: executes COMMAND. In it and in the processes that it starts, pwrite() at an
 * offset of BYTES or more fails with ENOSPC, as on a disk that is full when a file has BYTES bytes. So the end of a log
 * has no room either. Exit status 77 if the kernel has no seccomp filters. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The place of the lower half of the offset; the files of tests are below 4 GiB. */
#define OFFSET_AT \
	(offsetof(struct seccomp_data, args[3]) + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0))

int main(int argc, char **argv)
{
	uint32_t bytes = argc > 2 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OFFSET_AT),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, bytes, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSPC),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 77;
	execvp(argv[2], argv + 2);
	return 127;
}
