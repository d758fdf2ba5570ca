/* SPDX-License-Identifier: MIT */
/*
 * A log file by its packets. Trusts no byte of it: nothing that a file holds, and nothing
 * that happens to it while it is open, does more than end the log early. Reads by pread;
 * no offset is used, nothing is mapped, no cancellation point is passed.
 */
#ifndef PTRC_LIB_LOG_LOG_READER_H
#define PTRC_LIB_LOG_LOG_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/attr.h"
#include "lib/base/common.h"
#include "lib/log/log_layout.h"

/* An EVENTS packet. */
struct ptrc_log_entry {
	uint64_t offset; /* of its header */
	uint64_t length; /* of its payload */
	uint64_t seq;
	int64_t first_ns, last_ns;
	uint32_t event_count;
	uint32_t payload_crc;
	uint32_t flags;
};

/* A name; ids in the order of the log. */
struct ptrc_log_reader_name {
	uint32_t id;
	char name[256];
};

struct ptrc_log_reader {
	int fd;	       /* the reader's own */
	uint64_t size; /* of the file, as it was */
	uint64_t log_id;
	uint64_t head_end; /* offset behind the HEAD packet */
	struct ptrc_log_head head;
	struct ptrc_attr attr;
	/* In order of first_ns, ties by seq. None behind the first damage. */
	struct ptrc_log_entry *entries;
	size_t entry_count, entry_size;
	struct ptrc_log_reader_name *names;
	size_t name_count, name_size;
	uint16_t name_index[1033]; /* by id: 1 + index in names, 0: none */
	bool is_closed;		   /* it has its STATUS and END */
	struct ptrc_log_status status;
	struct ptrc_log_ring ring; /* of a ring: as of the newest packet */
};

/* Only the head. Errors as below. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_log_reader_head(int fd, struct ptrc_log_head *head);

/* Takes a descriptor of its own. EINVAL: no log, another ABI or version, not
 * readable, no regular file. ENOMEM. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_log_reader_open(int fd, struct ptrc_log_reader *r);
PTRC_NONNULL() void ptrc_log_reader_close(struct ptrc_log_reader *r);

/* The payload of an entry, to be freed by the caller. EINVAL: it is damaged, or not there
 * any more. ENOMEM. */
PTRC_NONNULL()
PTRC_MUST_CHECK
int ptrc_log_reader_load(const struct ptrc_log_reader *r, const struct ptrc_log_entry *e,
			 uint8_t **payload);
/* Has another packet taken its place (a ring that is being written)? */
PTRC_NONNULL()
bool ptrc_log_reader_is_replaced(const struct ptrc_log_reader *r,
				 const struct ptrc_log_entry *e);

#endif
