/* SPDX-License-Identifier: MIT */
#include "lib/log/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/array.h"
#include "lib/base/file.h"
#include "lib/base/sys.h"

/* The file is searched for headers through a window of this size. Where the packets are large only
 * so many bytes are read at the place of the next one, as its payload need not be. */
#define WINDOW_BYTES 65536U
#define GLANCE_BYTES 512U
#define GLANCE_MAX 16384U
/* How many bytes of a file are searched, in all, for the next packet behind damage. The
 * payloads of packets that turn out to be none count too. So no file, however large or sparse,
 * keeps an open busy for long. */
#define SEARCH_MAX (UINT64_C(256) << 20)

/* A file that was opened with O_DIRECT, which demands alignment, is opened once more if possible. */
int ptrc_log_file_open(int fd, struct ptrc_log_file *f)
{
	struct stat st;
	long own, flags = ptrc_sys(SYS_fcntl, fd, F_GETFL);

	*f = (struct ptrc_log_file){.fd = -1};
	if (flags < 0 || (flags & O_PATH) || (flags & O_ACCMODE) == O_WRONLY ||
	    ptrc_sys(SYS_fstat, fd, &st) < 0 || !S_ISREG(st.st_mode))
		return EINVAL;
	f->size = (uint64_t)st.st_size;
	if ((flags & O_DIRECT) && ptrc_file_reopen(fd, O_RDONLY | O_NOCTTY, &f->fd) == 0)
		return 0;
	own = ptrc_sys(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
	if (own < 0)
		return own == -EBADF ? EINVAL : ENOMEM;
	f->fd = (int)own;
	return 0;
}

void ptrc_log_file_close(struct ptrc_log_file *f)
{
	free(f->bytes);
	f->bytes = NULL;
	if (f->fd >= 0)
		ptrc_sys(SYS_close, f->fd);
	f->fd = -1;
}

int ptrc_log_file_add(struct ptrc_log_file *f, uint64_t first, const void *bytes, size_t size)
{
	size_t gone = first < f->size ? (size_t)(first - f->from) : f->used;
	uint8_t *larger;

	f->used -= gone;
	f->from += gone;
	if (gone)
		memmove(f->bytes, f->bytes + gone, f->used);
	larger = ptrc_array_room(f->bytes, f->used, size + 1, &f->room, 1);
	if (!larger)
		return ENOMEM;
	f->bytes = larger;
	if (size)
		memcpy(f->bytes + f->used, bytes, size);
	f->used += size;
	f->size = f->from + f->used;
	return 0;
}

int ptrc_log_file_read(const struct ptrc_log_file *f, uint64_t offset, void *to, uint64_t bytes)
{
	size_t got = 0;

	if (f->fd >= 0)
		return ptrc_file_read(f->fd, to, bytes, offset, &got) || got != bytes ? EINVAL : 0;
	if (offset < f->from || offset - f->from > f->used || f->used - (offset - f->from) < bytes)
		return EINVAL;
	memcpy(to, f->bytes + (offset - f->from), bytes);
	return 0;
}

int ptrc_log_file_compare(const struct ptrc_log_file *f, uint64_t offset, uint64_t length,
			  uint32_t crc)
{
	uint8_t piece[4096];
	uint32_t sum = 0;

	while (length) {
		size_t bytes = length < sizeof(piece) ? length : sizeof(piece);

		if (ptrc_log_file_read(f, offset, piece, bytes))
			return EINVAL;
		sum = ptrc_crc32c(sum, piece, bytes);
		offset += bytes;
		length -= bytes;
	}
	return sum == crc ? 0 : EINVAL;
}

/* A long one is compared before there is memory for it: in a sparse file a length costs nothing. */
int ptrc_log_file_load(const struct ptrc_log_file *f, uint64_t offset, uint64_t length,
		       uint32_t crc, uint8_t **payload)
{
	uint8_t *bytes;

	if (length > PTRC_LOG_PAYLOAD_MAX && ptrc_log_file_compare(f, offset, length, crc))
		return EINVAL;
	bytes = malloc(length + 1);
	if (!bytes)
		return ENOMEM;
	if (ptrc_log_file_read(f, offset, bytes, length) || ptrc_crc32c(0, bytes, length) != crc) {
		free(bytes);
		return EINVAL;
	}
	*payload = bytes;
	return 0;
}

bool ptrc_log_file_packet(const struct ptrc_log_file *f, uint64_t offset, struct ptrc_log_packet *p)
{
	return offset <= f->size && !ptrc_log_file_read(f, offset, p, sizeof(*p)) &&
	       ptrc_log_is_packet(p, f->log_id, f->size - offset);
}

/* ---- head ---- */

/* Reads the prefix and the HEAD packet that begin at `offset`. EINVAL: they are not there. ENOMEM. */
static int read_head_at(struct ptrc_log_file *f, uint64_t offset)
{
	struct ptrc_log_prefix prefix, zero = {.zero0 = 0};
	struct ptrc_log_packet p;
	uint8_t *payload;
	int error;

	if (ptrc_log_file_read(f, offset, &prefix, sizeof(prefix)) ||
	    memcmp(prefix.signature, PTRC_LOG_SIGNATURE, sizeof(prefix.signature)) != 0 ||
	    prefix.byte_order != PTRC_LOG_BYTE_ORDER || prefix.version != PTRC_LOG_VERSION ||
	    prefix.word_size != PTRC_LOG_WORD_SIZE || prefix.machine != PTRC_LOG_MACHINE ||
	    prefix.zero0 != 0 || memcmp(prefix.zero1, zero.zero1, sizeof(zero.zero1)) != 0)
		return EINVAL;
	offset += sizeof(prefix);
	if (!ptrc_log_file_packet(f, offset, &p) || p.type != PTRC_LOG_HEAD ||
	    p.length != sizeof(f->head) || p.log_id == 0)
		return EINVAL;
	error = ptrc_log_file_load(f, offset + sizeof(p), p.length, p.payload_crc, &payload);
	if (error)
		return error;
	memcpy(&f->head, payload, sizeof(f->head));
	free(payload);
	f->log_id = p.log_id;
	return 0;
}

/* Has the log the same bytes in both places where its head stands? */
static bool has_equal_heads(const struct ptrc_log_file *f)
{
	uint8_t heads[2][PTRC_LOG_HEAD_BYTES];

	return !ptrc_log_file_read(f, 0, heads, sizeof(heads)) &&
	       memcmp(heads[0], heads[1], sizeof(heads[0])) == 0;
}

int ptrc_log_file_head(struct ptrc_log_file *f)
{
	const struct ptrc_log_head *h = &f->head;
	struct ptrc_attr attr;
	int error = EINVAL;

	for (uint64_t i = 0; i < PTRC_LOG_HEAD_COPIES && error == EINVAL; i++)
		error = read_head_at(f, i * PTRC_LOG_HEAD_BYTES);
	if (error)
		return error;
	f->is_head_damaged = !has_equal_heads(f);
	if (h->kind > PTRC_LOG_RING ||
	    (h->kind == PTRC_LOG_RING &&
	     (h->close_offset > INT64_MAX || h->ring_offset > INT64_MAX ||
	      h->ring_size > INT64_MAX - h->ring_offset)))
		return EINVAL;
	return ptrc_log_file_attr(h, &attr);
}

int ptrc_log_file_attr(const struct ptrc_log_head *h, struct ptrc_attr *attr)
{
	*attr = (struct ptrc_attr){
		.magic = PTRC_ATTR_MAGIC,
		.createtime_sec = h->create_sec,
		.createtime_nsec = h->create_nsec,
		.clockres_sec = h->clockres_sec,
		.clockres_nsec = h->clockres_nsec,
		.inherited = (int32_t)h->inherited,
		.log_full_policy = (int32_t)h->log_policy,
		.stream_full_policy = (int32_t)h->stream_policy,
		.is_stream_size_set = 1,
		.max_data_size = h->max_data_size,
		.full_wait_ns = h->full_wait_ns,
		.log_rotate_bytes = h->rotate_bytes,
		.log_rotate_ns = h->rotate_ns,
		.log_keep = h->keep,
		.stream_min_size = h->stream_min_size,
		.log_max_size = h->log_max_size,
	};
	memcpy(attr->name, h->name, sizeof(attr->name));
	memcpy(attr->genversion, h->genversion, sizeof(attr->genversion));
	return ptrc_attr_validate(attr);
}

/* ---- walk ---- */

struct ptrc_log_walk {
	const struct ptrc_log_file *f;
	uint64_t from, bytes;
	uint64_t searched;
	bool is_searching; /* the last place had no packet */
	uint8_t data[WINDOW_BYTES];
};

struct ptrc_log_walk *ptrc_log_walk_begin(const struct ptrc_log_file *f)
{
	struct ptrc_log_walk *w = malloc(sizeof(*w));

	if (w) {
		memset(w, 0, offsetof(struct ptrc_log_walk, data));
		w->f = f;
	}
	return w;
}

bool ptrc_log_walk_spend(struct ptrc_log_walk *w, uint64_t bytes)
{
	w->searched += bytes;
	return w->searched <= SEARCH_MAX;
}

/* Shows the bytes of a header, moving the window if necessary. NULL: the file does not have them. */
static const uint8_t *look(struct ptrc_log_walk *w, uint64_t offset)
{
	const uint64_t bytes = sizeof(struct ptrc_log_packet);
	bool is_near;

	if (offset >= w->from && offset - w->from <= w->bytes &&
	    w->bytes - (offset - w->from) >= bytes)
		return w->data + (offset - w->from);
	if (offset > w->f->size || w->f->size - offset < bytes)
		return NULL;
	is_near = offset >= w->from && offset - w->from < GLANCE_MAX;
	w->from = offset;
	w->bytes = w->is_searching || is_near ? WINDOW_BYTES : GLANCE_BYTES;
	if (w->bytes > w->f->size - offset)
		w->bytes = w->f->size - offset;
	if (!ptrc_log_file_read(w->f, offset, w->data, w->bytes))
		return w->data;
	w->bytes = 0;
	return NULL;
}

bool ptrc_log_walk_next(struct ptrc_log_walk *w, uint64_t *offset, uint64_t end,
			struct ptrc_log_packet *p)
{
	static const uint8_t first = PTRC_LOG_PACKET_MAGIC & 0xff;
	const uint8_t *at;

	while (*offset < end && (at = look(w, *offset))) {
		const uint8_t *magic;
		uint64_t count;

		memcpy(p, at, sizeof(*p));
		w->is_searching = !ptrc_log_is_packet(p, w->f->log_id, w->f->size - *offset);
		if (!w->is_searching)
			return true;
		count = w->bytes - (*offset - w->from) - 1;
		magic = memchr(at + 1, first, count);
		count = magic ? (uint64_t)(magic - at) : count + 1;
		if (!ptrc_log_walk_spend(w, count))
			return false;
		*offset += count;
	}
	return false;
}
