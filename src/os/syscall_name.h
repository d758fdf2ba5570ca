/* SPDX-License-Identifier: MIT */
/* The names of system calls. */
#ifndef PTRC_SRC_OS_SYSCALL_NAME_H
#define PTRC_SRC_OS_SYSCALL_NAME_H

#include <stdint.h>

enum { PTRC_SYSCALL_NAME_BYTES = 32 };

/* Stores the name of the system call with this number, or the number if no name is known. */
void ptrc_syscall_name(int64_t number, char name[PTRC_SYSCALL_NAME_BYTES]);

#endif
