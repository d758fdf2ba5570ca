/* SPDX-License-Identifier: MIT */
/* The build ID of a program or library: a hash in an ELF note, by which debuggers find its
 * symbols. */
#ifndef PTRC_LIB_BASE_BUILD_ID_H
#define PTRC_LIB_BASE_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

/* Copies the build ID to `id` and returns its length; 0 if the file is no 64-bit ELF file, or
 * has no build ID of at most `size` bytes. The file is untrusted. Raw system calls only. */
size_t ptrc_build_id_read(int fd, uint8_t *id, size_t size);

#endif
