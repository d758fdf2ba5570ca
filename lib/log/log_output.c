/* SPDX-License-Identifier: MIT */
#include "lib/log/log_write.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <trace.h>

#include "lib/base/file.h"
#include "lib/base/atomic.h"
#include "lib/base/crc32c.h"
#include "lib/base/sys.h"
#include "lib/stream/status.h"

#ifndef RWF_NOAPPEND
#define RWF_NOAPPEND 0x00000020
#endif

/* ---- the buffer ---- */

int ptrc_log_buffer_reserve(struct ptrc_log_buffer *b, uint64_t more)
{
	uint64_t need, size = b->size ? b->size : 65536;
	uint8_t *bytes = NULL;
	long map;

	if (__builtin_add_overflow(b->used, more, &need) || need > (uint64_t)INT64_MAX / 2)
		return ENOMEM;
	if (need <= b->size)
		return 0;
	while (size < need)
		size *= 2;
	if (!b->bytes)
		bytes = ptrc_file_zeros(size);
	else if (!ptrc_sys_is_error(
			 map = ptrc_sys(SYS_mremap, b->bytes, b->size, size, MREMAP_MAYMOVE)))
		bytes = (uint8_t *)map;
	if (!bytes)
		return ENOMEM;
	b->bytes = bytes;
	b->size = size;
	return 0;
}

int ptrc_log_buffer_add(struct ptrc_log_buffer *b, const void *data, uint64_t bytes)
{
	int error = ptrc_log_buffer_reserve(b, bytes);

	if (error) {
		b->is_short = true;
		return error;
	}
	if (bytes)
		memcpy(b->bytes + b->used, data, bytes);
	b->used += bytes;
	return 0;
}

void ptrc_log_buffer_pad(struct ptrc_log_buffer *b)
{
	static const uint8_t zero[8];

	ptrc_log_buffer_add(b, zero, ptrc_align8(b->used) - b->used);
}

void ptrc_log_buffer_clear(struct ptrc_log_buffer *b)
{
	b->used = 0;
	b->is_short = false;
}

void ptrc_log_buffer_free(struct ptrc_log_buffer *b)
{
	if (b->bytes)
		ptrc_sys(SYS_munmap, b->bytes, b->size);
	memset(b, 0, sizeof(*b));
}

/* ---- the saved state ---- */

static uint64_t load_which(const struct ptrc_stream_header *h)
{
	uint64_t which = ptrc_load_acquire(&h->log_state[0]);

	return which <= PTRC_LOG_STATE_WHICH_MAX ? which : 0;
}

uint32_t ptrc_log_state_place(const struct ptrc_stream_header *h)
{
	uint64_t which = load_which(h);

	return which ? (uint32_t)PTRC_LOG_STATE_PLACE(which) : 0;
}

bool ptrc_log_state_is_saved(const struct ptrc_stream_header *h)
{
	return load_which(h) != 0;
}

/* A keeper may be killed at any store. So this function fills the copy of the state that is not
 * valid; then a single store makes that copy valid, and with it the element of header.log_place
 * that names its file. */
void ptrc_log_state_save(struct ptrc_log_writer *w)
{
	struct ptrc_stream_header *h = w->header;
	uint64_t words[PTRC_LOG_STATE_WORDS] = {0}, which, copy;
	_Atomic uint64_t *to;

	if (!h)
		return;
	which = load_which(h);
	copy = which ? 1 - PTRC_LOG_STATE_COPY(which) : 0;
	to = &h->log_state[1 + copy * PTRC_LOG_STATE_WORDS];
	memcpy(words, &w->state, sizeof(w->state));
	for (uint32_t i = 0; i < PTRC_LOG_STATE_WORDS; i++)
		ptrc_store_relaxed(&to[i], words[i]);
	ptrc_store_release(&h->log_state[0], 1 + copy + 2 * (uint64_t)w->place);
	ptrc_log_state_tell(w);
}

static uint64_t lost_in_log(const struct ptrc_log_state *s)
{
	return s->past.before.log_lost_events + s->lost_events + s->ring.lost_events;
}

void ptrc_log_state_tell(const struct ptrc_log_writer *w)
{
	const struct ptrc_log_state *s = &w->state;
	uint64_t lost = lost_in_log(s);
	struct ptrc_stream_header *h = w->header;

	if (!h)
		return;
	if (lost > ptrc_load_relaxed(&h->log_lost_events))
		ptrc_status_set(h, PTRC_ST_LOG_OVERRUN | PTRC_ST_EVER_LOG_OVERRUN |
					   (s->ring.lost_events ? PTRC_ST_LOG_FULL : 0));
	ptrc_store_relaxed(&h->log_events, s->past.events + s->events);
	ptrc_store_relaxed(&h->log_bytes, s->past.bytes + s->bytes);
	ptrc_store_relaxed(&h->log_lost_events, lost);
}

bool ptrc_log_state_read(const struct ptrc_stream_header *h, struct ptrc_log_state *state)
{
	uint64_t which = load_which(h);
	uint64_t words[PTRC_LOG_STATE_WORDS];

	if (!which)
		return false;
	for (uint32_t i = 0; i < PTRC_LOG_STATE_WORDS; i++)
		words[i] = ptrc_load_relaxed(
			&h->log_state[1 + PTRC_LOG_STATE_COPY(which) * PTRC_LOG_STATE_WORDS + i]);
	memcpy(state, words, sizeof(*state));
	return true;
}

void ptrc_log_state_begin_rest(struct ptrc_log_state *s)
{
	struct ptrc_log_past past = {.events = s->past.events + s->events,
				     .bytes = s->past.bytes + s->bytes,
				     .before.log_lost_events = lost_in_log(s)};

	/* The rest of `before` stays 0, because the header of the stream counts those losses, and
	 * the STATUS of the new log has all of them. */
	if (past.events || past.before.log_lost_events)
		past.ordinal = s->past.ordinal + 1;
	*s = (struct ptrc_log_state){.flags = PTRC_LOG_STATE_AFTER_STOP, .past = past};
}

void ptrc_log_state_give_back(struct ptrc_log_writer *w, const struct ptrc_log_state *old)
{
	uint64_t waits = w->state.flags & PTRC_LOG_STATE_MARKERS_WAIT;

	if (!old) {
		ptrc_store_release(&w->header->log_state[0], 0);
		return;
	}
	w->state = *old;
	w->state.flags |= waits;
	w->place = 1 - w->place;
	ptrc_log_state_save(w);
}

/* ---- output ---- */

int ptrc_log_check(int fd, int log_policy)
{
	struct stat st;
	long flags = ptrc_sys(SYS_fcntl, fd, F_GETFL);

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH))
		return EBADF;
	if (ptrc_sys(SYS_fstat, fd, &st) < 0)
		return EBADF;
	if (S_ISREG(st.st_mode))
		return 0;
	if (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode) && !S_ISCHR(st.st_mode))
		return EINVAL;
	return log_policy == POSIX_TRACE_APPEND ? 0 : EINVAL;
}

void ptrc_log_lock(int fd, int64_t byte)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

	ptrc_sys(SYS_fcntl, fd, F_SETLK, &lock);
}

bool ptrc_log_is_locked(int fd, int64_t byte, int *keeper)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

	/* The kernel may report the keeper's two locks, on neighbouring bytes, as one. A lock on
	 * more bytes, such as on the whole file, belongs to the application. */
	if (ptrc_sys(SYS_fcntl, fd, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK ||
	    lock.l_start < PTRC_LOG_LOCK_KEEPER || lock.l_len <= 0 ||
	    lock.l_len > PTRC_LOG_LOCK_FINISHING - lock.l_start + 1)
		return false;
	*keeper = lock.l_pid;
	return true;
}

/* Waits up to a second until stalled output takes bytes again. ECANCELED: w->give_up() has said
 * that the writer is to stop waiting. */
static int wait_writable(struct ptrc_log_writer *w)
{
	struct pollfd p = {.fd = w->fd, .events = POLLOUT};
	struct timespec limit = {w->has_given_up ? 0 : 1, 0};
	long n = ptrc_sys(SYS_ppoll, &p, 1, &limit, 0, 8);

	if (n == 0 && w->give_up && w->give_up(w->arg))
		w->has_given_up = true;
	return n == 0 && w->has_given_up ? ECANCELED : 0;
}

static void open_packet(struct ptrc_log_writer *w)
{
	static const struct ptrc_log_packet none;

	ptrc_log_buffer_add(&w->out, &none, sizeof(none));
}

void ptrc_log_packet_begin(struct ptrc_log_writer *w)
{
	ptrc_log_buffer_clear(&w->out);
	open_packet(w);
}

int ptrc_log_packet_end(struct ptrc_log_writer *w, uint64_t start, struct ptrc_log_packet p)
{
	const uint8_t *payload;

	p.magic = PTRC_LOG_PACKET_MAGIC;
	p.length = w->out.used - start - sizeof(p);
	p.log_id = w->trace.id;
	p.seq = w->state.seq;
	ptrc_log_buffer_pad(&w->out);
	if (w->out.is_short)
		return ENOMEM;
	payload = w->out.bytes + start + sizeof(p);
	p.payload_crc = ptrc_crc32c(0, payload, p.length);
	p.sums_crc = ptrc_crc32c(0, payload, p.sums_bytes);
	p.header_crc = ptrc_log_header_crc(&p);
	memcpy(w->out.bytes + start, &p, sizeof(p));
	return 0;
}

int ptrc_log_packet_put(struct ptrc_log_writer *w, uint16_t type, const void *payload,
			uint64_t bytes)
{
	uint64_t start = w->out.used;

	open_packet(w);
	ptrc_log_buffer_add(&w->out, payload, bytes);
	return ptrc_log_packet_end(w, start, (struct ptrc_log_packet){.type = type});
}

static void look_at_size(struct ptrc_log_writer *w)
{
	struct stat st;

	if (w->file_end && !(w->state.flags & PTRC_LOG_STATE_CUT) &&
	    ptrc_sys(SYS_fstat, w->fd, &st) == 0 && (uint64_t)st.st_size < w->file_end)
		w->state.flags |= PTRC_LOG_STATE_CUT;
}

void ptrc_log_look(struct ptrc_log_writer *w)
{
	uint8_t bytes[sizeof(w->last[0].bytes)];

	look_at_size(w);
	for (int i = 0; w->has_last && i < 2; i++) {
		long n = ptrc_sys(SYS_pread64, w->fd, bytes, sizeof(bytes), w->last[i].place);

		/* EBADF: the descriptor is for writing only, and the file could not be opened again
		 * for reading, so nothing can be compared. */
		if (n != -EBADF && (n != (long)sizeof(bytes) ||
				    memcmp(bytes, w->last[i].bytes, sizeof(bytes)) != 0))
			w->state.flags |= PTRC_LOG_STATE_CUT;
	}
}

/* Called when all of w->out is in the file at `offset`. Remembers what ptrc_log_look() will compare
 * with the file. */
static void note_written(struct ptrc_log_writer *w, uint64_t offset)
{
	uint64_t bytes = sizeof(w->last[0].bytes);

	if (!w->is_regular || w->out.used < bytes)
		return;
	if (w->file_end < offset + w->out.used)
		w->file_end = offset + w->out.used;
	for (int i = 0; i < 2; i++) {
		uint64_t at = i == 0 ? 0 : w->out.used - bytes;

		w->last[i].place = offset + at;
		memcpy(w->last[i].bytes, w->out.bytes + at, bytes);
	}
	w->has_last = true;
}

int ptrc_log_write_at(struct ptrc_log_writer *w, uint64_t offset)
{
	uint64_t limit = w->header ? ptrc_load_relaxed(&w->header->fsize_limit) : INT64_MAX;
	uint64_t done = 0, end;
	int error = 0;

	w->is_torn = false;
	if (limit > INT64_MAX)
		limit = INT64_MAX; /* fsize_limit is RLIM_INFINITY */
	if (w->is_regular && (__builtin_add_overflow(offset, w->out.used, &end) || end > limit ||
			      limit - end < w->close_reserve))
		return EFBIG;
	if (w->fd < 0)
		return ptrc_log_buffer_add(w->memory, w->out.bytes, w->out.used);
	/* The size is checked before the write: writing past the end would hide that the file has
	 * been truncated. */
	look_at_size(w);
	while (!error && done < w->out.used) {
		const uint8_t *from = w->out.bytes + done;
		uint64_t left = w->out.used - done;
		long n;

		if (w->is_regular && w->must_not_append) {
			struct iovec v = {(void *)(uintptr_t)from, left};

			n = ptrc_sys(SYS_pwritev2, w->fd, &v, 1, offset + done, 0, RWF_NOAPPEND);
		} else if (w->is_regular) {
			n = ptrc_sys(SYS_pwrite64, w->fd, from, left, offset + done);
		} else if (w->is_socket) {
			n = ptrc_sys(SYS_sendto, w->fd, from, left, MSG_NOSIGNAL | MSG_DONTWAIT, 0,
				     0);
		} else {
			n = ptrc_sys(SYS_write, w->fd, from, left);
		}
		if (n > 0)
			done += (uint64_t)n;
		else if (n == -EAGAIN)
			error = wait_writable(w);
		else if (n != -EINTR)
			error = n == 0 ? EIO : (int)-n;
	}
	/* Removes a packet that was partly written. This is not possible in a pipe; there a reader
	 * finds the next packet by its magic. */
	if (error && done && w->is_regular && w->kind == PTRC_LOG_SEQUENTIAL)
		ptrc_sys(SYS_ftruncate, w->fd, offset);
	if (error)
		w->is_torn = done != 0;
	else
		note_written(w, offset);
	return error;
}

int ptrc_log_append(struct ptrc_log_writer *w)
{
	int error = ptrc_log_write_at(w, w->state.offset);

	if (!error)
		w->state.offset += w->out.used;
	return error;
}

int ptrc_log_sync(struct ptrc_log_writer *w)
{
	long n;

	if (!w->is_regular || (w->header && ptrc_load_relaxed(&w->header->is_log_unsynced)))
		return 0;
	n = ptrc_sys_retry(SYS_fdatasync, w->fd);
	/* EINVAL, EROFS: the file has no disk to wait for. */
	return n >= 0 || n == -EINVAL || n == -EROFS ? 0 : (int)-n;
}

/* ---- the index ---- */

void ptrc_log_index_begin(struct ptrc_log_writer *w, bool is_lost)
{
	ptrc_log_index_free(&w->index);
	w->index.is_lost = is_lost || !w->is_regular || w->kind != PTRC_LOG_SEQUENTIAL;
}

void ptrc_log_index_free(struct ptrc_log_index *x)
{
	ptrc_log_buffer_free(&x->entries);
	ptrc_log_buffer_free(&x->fresh);
	ptrc_log_buffer_free(&x->totals);
	memset(x, 0, sizeof(*x));
}

void ptrc_log_index_note(struct ptrc_log_writer *w)
{
	struct ptrc_log_index *x = &w->index;
	struct ptrc_log_packet p;

	if (x->is_lost)
		return;
	memcpy(&p, w->out.bytes, sizeof(p));
	/* A reader that searches the log for packets must not take this copy for a packet. */
	p.magic = 0;
	x->is_lost = ptrc_log_buffer_add(&x->entries, &p, sizeof(p)) ||
		     ptrc_log_buffer_add(&x->fresh, w->out.bytes + sizeof(p), p.sums_bytes);
}

void ptrc_log_index_note_filter(struct ptrc_log_writer *w)
{
	for (uint32_t i = 0; i < PTRC_SET_WORD_COUNT; i++)
		w->index.filtered[i] |= w->state.filter[i];
}

/* The array of totals, one for each event type. NULL: no memory. */
static struct ptrc_log_total *totals_of(struct ptrc_log_index *x)
{
	uint64_t bytes = PTRC_TYPE_SUMS_MAX * sizeof(struct ptrc_log_total);

	/* The counts start at 0: ptrc_log_buffer_reserve() gets zeroed memory. */
	if (!x->totals.used && ptrc_log_buffer_reserve(&x->totals, bytes))
		return NULL;
	x->totals.used = bytes;
	return (void *)x->totals.bytes;
}

void ptrc_log_index_keep(struct ptrc_log_writer *w)
{
	struct ptrc_log_index *x = &w->index;
	struct ptrc_log_total *totals = x->is_lost ? NULL : totals_of(x);
	struct ptrc_type_sum sum;

	if (!totals) {
		x->is_lost = true;
		return;
	}
	for (uint64_t at = 0; at < x->fresh.used; at += sizeof(sum)) {
		memcpy(&sum, x->fresh.bytes + at, sizeof(sum));
		ptrc_log_total_add(&totals[sum.id & PTRC_REC_ID_MASK], sum.events, sum.bytes,
				   sum.truncated);
	}
	ptrc_log_buffer_clear(&x->fresh);
}

void ptrc_log_index_forget(struct ptrc_log_writer *w, uint64_t offset)
{
	struct ptrc_log_buffer *entries = &w->index.entries;
	struct ptrc_log_packet p;

	ptrc_log_buffer_clear(&w->index.fresh);
	for (uint64_t at = w->state.offset; entries->used && at > offset;
	     at -= ptrc_log_packet_size(&p)) {
		entries->used -= sizeof(p);
		memcpy(&p, entries->bytes + entries->used, sizeof(p));
	}
}

static int put_entries(struct ptrc_log_writer *w)
{
	struct ptrc_log_index *x = &w->index;
	struct ptrc_log_index_head head = {
		.previous = x->previous,
		.count = (uint32_t)PTRC_LOG_COUNT(&x->entries, struct ptrc_log_packet)};
	uint64_t start = w->out.used;

	open_packet(w);
	ptrc_log_buffer_add(&w->out, &head, sizeof(head));
	ptrc_log_buffer_add(&w->out, x->entries.bytes, x->entries.used);
	return ptrc_log_packet_end(w, start, (struct ptrc_log_packet){.type = PTRC_LOG_INDEX});
}

void ptrc_log_index_write(struct ptrc_log_writer *w)
{
	struct ptrc_log_index *x = &w->index;
	uint64_t offset = w->state.offset;

	if (x->is_lost ||
	    PTRC_LOG_COUNT(&x->entries, struct ptrc_log_packet) < PTRC_LOG_INDEX_COUNT)
		return;
	ptrc_log_buffer_clear(&w->out);
	if (put_entries(w) || ptrc_log_append(w))
		return;
	x->previous = offset;
	ptrc_log_buffer_clear(&x->entries);
	/* Saves the state, so that if this keeper dies, the next one continues after the INDEX
	 * packet. */
	ptrc_log_state_save(w);
}

static int put_totals(struct ptrc_log_writer *w)
{
	const struct ptrc_log_total *totals = totals_of(&w->index);
	struct ptrc_log_totals_head head = {.filter_words = PTRC_SET_WORD_COUNT};
	uint64_t start = w->out.used, at;

	if (!totals)
		return ENOMEM;
	open_packet(w);
	at = w->out.used;
	ptrc_log_buffer_add(&w->out, &head, sizeof(head));
	for (uint32_t id = 0; id < PTRC_TYPE_SUMS_MAX; id++) {
		struct ptrc_log_total total = totals[id];

		if (!total.events)
			continue;
		total.id = id;
		ptrc_log_buffer_add(&w->out, &total, sizeof(total));
		head.type_count++;
	}
	ptrc_log_buffer_add(&w->out, w->index.filtered, sizeof(w->index.filtered));
	if (!w->out.is_short)
		memcpy(w->out.bytes + at, &head, sizeof(head));
	return ptrc_log_packet_end(w, start, (struct ptrc_log_packet){.type = PTRC_LOG_TOTALS});
}

uint64_t ptrc_log_index_end(struct ptrc_log_writer *w)
{
	uint64_t start = w->out.used;

	/* If the last flush failed midway, the packets that it wrote stay in the log, so they stay
	 * in the index. */
	ptrc_log_index_keep(w);
	if (w->index.is_lost)
		return 0;
	if (put_entries(w) || put_totals(w)) {
		w->out.used = start;
		w->out.is_short = false;
		return 0;
	}
	return w->state.offset + start;
}
