/* SPDX-License-Identifier: MIT */
/* Makes fsync() and fdatasync() fail in this process and in all processes that it starts, as on a
 * broken disk. */
#ifndef TESTS_FAILING_SYNC_H
#define TESTS_FAILING_SYNC_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* `action` is what the kernel does instead of these two calls, a SECCOMP_RET_ value of seccomp(2).
 * Returns false if the kernel has no seccomp filters. */
static inline bool failing_sync_begin_with(unsigned int action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fsync, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fdatasync, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static inline bool failing_sync_begin(int error)
{
	return failing_sync_begin_with(SECCOMP_RET_ERRNO | (unsigned int)error);
}

#endif
