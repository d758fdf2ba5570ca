/* SPDX-License-Identifier: MIT */
/*
 * The body of an INSERT: rows, compressed with Zstandard. ClickHouse 21 and later take a single Zstandard stream
 * (Content-Encoding: zstd). Older servers read Zstandard only in blocks of their own format, so they get such
 * blocks (decompress=1). Each frame has a checksum of its content, so rows that were altered on the way do
 * not get into a table.
 *
 * If this process is killed while it sends a body, a server may take the part that has arrived for a whole
 * body if that part ends with a complete row. So only the last block ends at the end of a row.
 */
#ifndef PTRC_SRC_SHIP_PACK_H
#define PTRC_SRC_SHIP_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/ship/schema.h"

/* Makes bodies of INSERTs. Zeroed at the start. */
struct ptrc_ship_packer {
	enum ptrc_ship_dialect dialect;
	/* When .rows has this many bytes, they are compressed. */
	size_t block_bytes;
	struct ZSTD_CCtx_s *context;
	/* The rows that are not compressed yet. The caller puts whole rows here. */
	struct ptrc_buffer rows;
	struct ptrc_buffer body;
	/* The size of the body's rows before compression. */
	size_t raw;
};

/* Prepares the packer for bodies of approximately `bytes` compressed bytes. */
void ptrc_ship_packer_begin(struct ptrc_ship_packer *, enum ptrc_ship_dialect, uint64_t bytes);
void ptrc_ship_packer_free(struct ptrc_ship_packer *);

void ptrc_ship_packer_reset(struct ptrc_ship_packer *);

/* Called after each row that was put into .rows. Compresses the rows when they fill a block. */
void ptrc_ship_packer_take(struct ptrc_ship_packer *);

/* ptrc_ship_packer_packed() returns the approximate size of a body with all rows put so far,
 * ptrc_ship_packer_raw() the size of these rows before compression. */
size_t ptrc_ship_packer_packed(const struct ptrc_ship_packer *);
size_t ptrc_ship_packer_raw(const struct ptrc_ship_packer *);

/* Compresses the rows that are left, and returns the body, which is valid until the packer is reset. */
const struct ptrc_buffer *ptrc_ship_packer_end(struct ptrc_ship_packer *)
	__attribute__((returns_nonnull));

#endif
