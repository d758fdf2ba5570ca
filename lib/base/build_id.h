/* SPDX-License-Identifier: MIT */
/* The build ID of a program or library: a hash in an ELF note, by which debuggers find its
 * symbols. */
#ifndef PTRC_LIB_BASE_BUILD_ID_H
#define PTRC_LIB_BASE_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

/* Copies the build ID of the open file to `id` and returns its length. Returns 0 if the file is
 * no 64-bit ELF file, has no build ID, or has one of more than `size` bytes. The file is
 * untrusted. Makes raw system calls only. */
size_t ptrc_build_id_read(int fd, uint8_t *id, size_t size);

#endif
