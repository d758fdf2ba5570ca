/* SPDX-License-Identifier: MIT */
/* CRC-32C, the checksum of a log's packets (Castagnoli: reflected polynomial 0x82f63b78, all
 * ones at the beginning, inverted at the end). */
#ifndef PTRC_LIB_BASE_CRC32C_H
#define PTRC_LIB_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of a block; crc is 0, or the CRC of the bytes before the block. Uses the processor's
 * instruction where it has one. Freestanding, thread-safe. */
uint32_t ptrc_crc32c(uint32_t crc, const void *data, size_t bytes);

/* The same without that instruction: for processors that lack it, and for the test of the
 * other. */
uint32_t ptrc_crc32c_table(uint32_t crc, const void *data, size_t bytes);

#endif
