/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a log, and the packets in them: a file, which may grow, or what has come of a log that comes in
 * parts. No byte of it is trusted. Files are read by pread(), without an offset, a mapping or a
 * cancellation point.
 */
#ifndef PTRC_LIB_LOG_LOG_FILE_H
#define PTRC_LIB_LOG_LOG_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/log/log_layout.h"
#include "lib/model/attr.h"

struct ptrc_log_file {
	int fd; /* the reader's own; -1: it comes in parts */
	/* Of one that comes in parts, the bytes that are kept, which begin at offset `from`. */
	uint8_t *bytes;
	size_t used, room;
	uint64_t from;
	uint64_t size; /* of the file, when it was opened; of all parts */
	uint64_t log_id;
	struct ptrc_log_head head;
	struct ptrc_attr attr; /* as the head has them */
	bool is_head_damaged;  /* one of the two places where the head stands */
	bool has_status, is_closed;
	struct ptrc_log_status status;
	uint64_t end_seq;    /* of its END */
	uint64_t name_count; /* different names in it */
	bool has_totals;     /* it was opened by its index */
};

/* Gives *f a descriptor of its own. EINVAL: not open for reading, no regular file. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_file_open(int fd, struct ptrc_log_file *f);
void ptrc_log_file_close(struct ptrc_log_file *f);
/* Adds bytes to those that are kept, and forgets those before offset `first`. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_file_add(struct ptrc_log_file *f, uint64_t first, const void *bytes,
				      size_t size);
/* Reads the head. EINVAL: no log, or one of another machine or version. */
PTRC_MUST_CHECK int ptrc_log_file_head(struct ptrc_log_file *f);

/* Reads exactly `bytes` bytes. EINVAL: the source ends before them. */
PTRC_MUST_CHECK int ptrc_log_file_read(const struct ptrc_log_file *f, uint64_t offset, void *to,
				       uint64_t bytes);
/* Compares the checksum of a payload, which is read piece by piece. EINVAL: it is not there, or
 * damaged. */
PTRC_MUST_CHECK int ptrc_log_file_compare(const struct ptrc_log_file *f, uint64_t offset,
					  uint64_t length, uint32_t crc);
/* Reads a payload, which the caller frees. EINVAL: it is not there, or damaged. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_file_load(const struct ptrc_log_file *f, uint64_t offset,
				       uint64_t length, uint32_t crc, uint8_t **payload);
/* Reads the header of the packet at this offset. False: there is no packet that is whole. */
bool ptrc_log_file_packet(const struct ptrc_log_file *f, uint64_t offset,
			  struct ptrc_log_packet *p);

/* A cursor, which finds one packet after the other, and after damage the next one, through a window on the
 * file. All but `f` is 0 at first. */
struct ptrc_log_walk {
	struct ptrc_log_file *f;
	uint64_t from, bytes; /* of the window */
	uint64_t searched;
	uint8_t data[4096];
};
/* Finds the packet at *offset, or the next one after it that begins before `end`. False: there is none, or
 * the walk has searched too many bytes. */
bool ptrc_log_walk_next(struct ptrc_log_walk *w, uint64_t *offset, uint64_t end,
			struct ptrc_log_packet *p);
/* So many more bytes count as searched. False: these are too many. */
bool ptrc_log_walk_spend(struct ptrc_log_walk *w, uint64_t bytes);

#endif
