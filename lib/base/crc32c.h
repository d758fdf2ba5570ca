/* SPDX-License-Identifier: MIT */
/* CRC-32C, the checksum of a log's packets (Castagnoli: reflected polynomial 0x82f63b78, initial
 * value all ones, result inverted). */
#ifndef PTRC_LIB_BASE_CRC32C_H
#define PTRC_LIB_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of a block of data. `crc` is the CRC of the bytes that precede the block; 0 if there
 * are none. Works without a C library; thread-safe. */
uint32_t ptrc_crc32c(uint32_t crc, const void *data, size_t bytes);

/* Like ptrc_crc32c(), but in plain C, for processors without a CRC instruction and for tests. */
uint32_t ptrc_crc32c_table(uint32_t crc, const void *data, size_t bytes);

#endif
