/* SPDX-License-Identifier: MIT */
/* The build id of a program or library, which its linker has put into it. */
#ifndef PTRC_LIB_BASE_BUILD_ID_H
#define PTRC_LIB_BASE_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/common.h"

/* Reads the build id from the file, of which no byte is trusted. Returns its length; 0: the file has
 * none, one longer than `size`, or is no 64-bit ELF file. Raw system calls only. */
size_t ptrc_build_id_read(int fd, uint8_t *id, size_t size);

#endif
