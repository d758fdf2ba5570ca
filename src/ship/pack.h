/* SPDX-License-Identifier: MIT */
/*
 * The body of an INSERT: rows, compressed with Zstandard. The current engine takes one Zstandard stream
 * (Content-Encoding: zstd). The old server reads Zstandard only inside its own block format, and gets that
 * (decompress=1). Each frame carries a checksum of its content, so rows altered on the way do not get into
 * a table.
 *
 * If this process is killed while it sends, a server may take the part that arrived for a whole body if it
 * ends with a complete row. So only the last block ends at the end of a row.
 */
#ifndef PTRC_SRC_SHIP_PACK_H
#define PTRC_SRC_SHIP_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/ship/schema.h"

/* Starts zeroed. */
struct ptrc_ship_packer {
	enum ptrc_ship_dialect dialect;
	/* Rows are compressed when this many bytes of them have been put. */
	size_t block_bytes;
	struct ZSTD_CCtx_s *context;
	/* Rows not compressed yet. The caller puts each row here, whole. */
	struct ptrc_buffer rows;
	struct ptrc_buffer body;
	/* Uncompressed size of the rows in the body. */
	size_t raw;
};

/* `bytes` is the approximate size of the bodies to come. */
void ptrc_ship_packer_begin(struct ptrc_ship_packer *, enum ptrc_ship_dialect, uint64_t bytes);
void ptrc_ship_packer_free(struct ptrc_ship_packer *);

void ptrc_ship_packer_reset(struct ptrc_ship_packer *);

/* To be called after each row that was put. Compresses the rows once they fill a block. */
void ptrc_ship_packer_take(struct ptrc_ship_packer *);

/* The approximate size of the body with all rows put so far, and the uncompressed size of these rows. */
size_t ptrc_ship_packer_packed(const struct ptrc_ship_packer *);
size_t ptrc_ship_packer_raw(const struct ptrc_ship_packer *);

/* Compresses the rest. The body stays valid until the packer is reset. */
const struct ptrc_buffer *ptrc_ship_packer_end(struct ptrc_ship_packer *)
	__attribute__((returns_nonnull));

#endif
