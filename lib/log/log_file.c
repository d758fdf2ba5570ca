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

	f->used -= gone;
	f->from += gone;
	if (gone)
		memmove(f->bytes, f->bytes + gone, f->used);
	if (!PTRC_ARRAY_RESERVE(f->bytes, f->used, size + 1, &f->room))
		return ENOMEM;
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

int ptrc_log_file_head(struct ptrc_log_file *f)
{
	struct ptrc_log_begin begin[PTRC_LOG_HEAD_COPIES];
	const struct ptrc_log_begin *sound = NULL;
	const struct ptrc_log_head *h = &f->head;

	for (uint64_t i = PTRC_LOG_HEAD_COPIES; i-- > 0;) {
		bool is_sound =
			!ptrc_log_file_read(f, i * sizeof(*begin), &begin[i], sizeof(*begin)) &&
			ptrc_log_is_begin(&begin[i]);

		f->is_head_damaged |=
			!is_sound || (sound && memcmp(sound, &begin[i], sizeof(*sound)));
		sound = is_sound ? &begin[i] : sound;
	}
	if (!sound)
		return EINVAL;
	f->head = sound->head;
	f->log_id = sound->packet.log_id;
	if (h->kind > PTRC_LOG_RING ||
	    (h->kind == PTRC_LOG_RING &&
	     (h->close_offset > INT64_MAX || h->ring_offset > INT64_MAX ||
	      h->ring_size > INT64_MAX - h->ring_offset)))
		return EINVAL;
	f->attr = (struct ptrc_attr){
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
	memcpy(f->attr.name, h->name, sizeof(f->attr.name));
	memcpy(f->attr.genversion, h->genversion, sizeof(f->attr.genversion));
	return ptrc_attr_validate(&f->attr);
}

/* ---- walk ---- */

bool ptrc_log_walk_spend(struct ptrc_log_walk *w, uint64_t bytes)
{
	w->searched += bytes;
	return w->searched <= SEARCH_MAX;
}

/* Shows the bytes of a header, moving the window if necessary. NULL: the file does not have them. */
static const uint8_t *look(struct ptrc_log_walk *w, uint64_t offset)
{
	const uint64_t bytes = sizeof(struct ptrc_log_packet);

	if (offset >= w->from && offset - w->from <= w->bytes &&
	    w->bytes - (offset - w->from) >= bytes)
		return w->data + (offset - w->from);
	if (offset > w->f->size || w->f->size - offset < bytes)
		return NULL;
	w->from = offset;
	w->bytes = w->f->size - offset;
	if (w->bytes > sizeof(w->data))
		w->bytes = sizeof(w->data);
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
		if (ptrc_log_is_packet(p, w->f->log_id, w->f->size - *offset))
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
