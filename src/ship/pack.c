/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/ship/pack.h"

#include <string.h>
#include <zstd.h>

#include "src/base/message.h"

/* The bytes of uncompressed rows in a block. Larger blocks do not compress better. For small bodies, a block has
 * only BLOCK_PARTS times the bytes of a compressed body, so that a body does not get far larger than planned. */
enum { BLOCK_BYTES = 512 << 10, BLOCK_PARTS = 2 };
/* The fastest level of compression. The next levels hardly compress better. */
enum { LEVEL = 1 };

/* A block for servers before ClickHouse 21 has: a checksum; the method (1 byte); the number of bytes from the
 * method on, and the number of bytes of the uncompressed rows (4 bytes each); the Zstandard frame. The checksum is
 * of an unusual kind. It is left 0, and the request asks the server not to check it. */
enum { CHECKSUM_BYTES = 16, HEAD_BYTES = CHECKSUM_BYTES + 9, METHOD_ZSTD = 0x90 };

void ptrc_ship_packer_begin(struct ptrc_ship_packer *p, enum ptrc_ship_dialect dialect,
			    uint64_t bytes)
{
	*p = (struct ptrc_ship_packer){
		.dialect = dialect,
		.block_bytes = bytes < BLOCK_BYTES / BLOCK_PARTS ? (size_t)bytes * BLOCK_PARTS
								 : BLOCK_BYTES,
		.context = ZSTD_createCCtx(),
	};
	if (!p->context)
		ptrc_cli_no_memory();
	ZSTD_CCtx_setParameter(p->context, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(p->context, ZSTD_c_checksumFlag, 1);
}

void ptrc_ship_packer_free(struct ptrc_ship_packer *p)
{
	ZSTD_freeCCtx(p->context);
	ptrc_buffer_free(&p->rows);
	ptrc_buffer_free(&p->body);
}

void ptrc_ship_packer_reset(struct ptrc_ship_packer *p)
{
	ZSTD_CCtx_reset(p->context, ZSTD_reset_session_only);
	p->rows.used = p->body.used = p->raw = 0;
}

/* Returns the result of a Zstandard function. Here, these functions fail only if there is not enough memory. */
static size_t checked(size_t result)
{
	if (ZSTD_isError(result))
		ptrc_cli_no_memory();
	return result;
}

static void put_block(struct ptrc_ship_packer *p, size_t size)
{
	size_t most = ZSTD_compressBound(size);
	char *to = ptrc_buffer_room(&p->body, HEAD_BYTES + most);
	size_t packed =
		checked(ZSTD_compress2(p->context, to + HEAD_BYTES, most, p->rows.bytes, size));
	uint32_t sizes[2] = {(uint32_t)(packed + HEAD_BYTES - CHECKSUM_BYTES), (uint32_t)size};

	memset(to, 0, CHECKSUM_BYTES);
	to[CHECKSUM_BYTES] = (char)METHOD_ZSTD;
	memcpy(to + CHECKSUM_BYTES + 1, sizes, sizeof(sizes));
	p->body.used += HEAD_BYTES + packed;
}

static void put_stream(struct ptrc_ship_packer *p, size_t size, ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = {p->rows.bytes, size, 0};
	size_t left;

	do {
		ZSTD_outBuffer out = {ptrc_buffer_room(&p->body, ZSTD_CStreamOutSize()),
				      ZSTD_CStreamOutSize(), 0};

		left = checked(ZSTD_compressStream2(p->context, &out, &in, end));
		p->body.used += out.pos;
	} while (end == ZSTD_e_continue ? in.pos < in.size : left);
}

static void put(struct ptrc_ship_packer *p, size_t size, bool is_end)
{
	if (p->dialect == PTRC_SHIP_MODERN)
		put_stream(p, size, is_end ? ZSTD_e_end : ZSTD_e_flush);
	else
		put_block(p, size);
	p->raw += size;
	p->rows.used -= size;
	memmove(p->rows.bytes, p->rows.bytes + size, p->rows.used);
}

void ptrc_ship_packer_take(struct ptrc_ship_packer *p)
{
	/* Leaves the row's last byte for the next block, so that a body that breaks off ends within a row. */
	if (p->rows.used >= p->block_bytes)
		put(p, p->rows.used - 1, false);
}

size_t ptrc_ship_packer_packed(const struct ptrc_ship_packer *p)
{
	/* Compressed rows have roughly an eighth of their size. */
	return p->body.used + p->rows.used / 8;
}

size_t ptrc_ship_packer_raw(const struct ptrc_ship_packer *p)
{
	return p->raw + p->rows.used;
}

const struct ptrc_buffer *ptrc_ship_packer_end(struct ptrc_ship_packer *p)
{
	if (p->rows.used || p->dialect == PTRC_SHIP_MODERN)
		put(p, p->rows.used, true);
	return &p->body;
}
