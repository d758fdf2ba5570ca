/* SPDX-License-Identifier: MIT */
/*
 * The body of an INSERT: rows, compressed with Zstandard. The current engine takes a stream of it
 * (Content-Encoding: zstd); the old server, which knows that format in its own blocks only, takes those
 * (decompress=1). Each frame has a checksum of its content, so nothing that was altered on the way gets
 * into a table.
 *
 * A server that gets only the begin of a body, as we were killed, may take it for the whole if it ends
 * with a row. So no block ends with a row but the last one.
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
	size_t block_bytes;
	struct ZSTD_CCtx_s *context;
	/* What waits to be packed. The next row is put here, whole. */
	struct ptrc_buffer rows;
	struct ptrc_buffer body;
	/* How many bytes the rows in the body had. */
	size_t raw;
};

/* For bodies of about so many bytes. */
void ptrc_ship_packer_begin(struct ptrc_ship_packer *, enum ptrc_ship_dialect, uint64_t bytes);
void ptrc_ship_packer_free(struct ptrc_ship_packer *);

/* Forgets what was packed. */
void ptrc_ship_packer_reset(struct ptrc_ship_packer *);

/* A row was put. Now and then this packs what there is. */
void ptrc_ship_packer_take(struct ptrc_ship_packer *);

/* How many bytes the body has by now, about; and how many the rows had. */
size_t ptrc_ship_packer_packed(const struct ptrc_ship_packer *);
size_t ptrc_ship_packer_raw(const struct ptrc_ship_packer *);

/* Packs the rest. The body stays until the packer is reset. */
const struct ptrc_buffer *ptrc_ship_packer_end(struct ptrc_ship_packer *)
	__attribute__((returns_nonnull));

#endif
