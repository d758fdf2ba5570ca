/* SPDX-License-Identifier: MIT */
/* CRC-32C (Castagnoli: reflected polynomial 0x82f63b78, begun and ended with all
 * ones). */
#ifndef PTRC_LIB_BASE_CRC32C_H
#define PTRC_LIB_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Of one block; crc is 0, or the CRC of what stands before the block. Uses the
 * processor's instruction where it has one. Free of libc, thread-safe. */
uint32_t ptrc_crc32c(uint32_t crc, const void *data, size_t bytes);

/* The same by table: for processors without, and to test the other by. */
uint32_t ptrc_crc32c_table(uint32_t crc, const void *data, size_t bytes);

#endif
