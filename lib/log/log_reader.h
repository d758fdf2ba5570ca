/* SPDX-License-Identifier: MIT */
/*
 * The contents of a log: its packets of events, names, processes and losses. No byte is trusted:
 * whatever its files hold, and whatever happens to them while they are open, can at worst make
 * events unreadable.
 *
 * A log may also come in parts, as the caller receives it from a pipe or a socket: each packet is
 * taken once it is complete. Nothing may be missing from such a log, so a wrong packet ends the
 * reading.
 */
#ifndef PTRC_LIB_LOG_LOG_READER_H
#define PTRC_LIB_LOG_LOG_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/log/log_layout.h"
#include "lib/log/log_whose.h"
#include "lib/model/eventset.h"

/* A file of a log, which may grow, or the received bytes of a log that comes in parts. Files are
 * read by pread(): without an offset, a mapping or a cancellation point. */
struct ptrc_log_file {
	int fd; /* the reader's own; -1: the log comes in parts */
	/* Of a log in parts: the bytes that are kept, which begin at offset `from`. */
	uint8_t *bytes;
	size_t used, room;
	uint64_t from;
	uint64_t size; /* of the file when it was opened, or of all parts */
	uint64_t log_id;
	struct ptrc_log_head head;
	struct ptrc_attr attr; /* the attributes in the head */
	bool is_head_damaged;  /* one of the two copies */
	bool has_status, is_closed;
	struct ptrc_log_status status;
	uint64_t first_seq;  /* number of the first EVENTS packet that it should have */
	uint64_t end_seq;    /* `seq` of its END */
	uint64_t name_count; /* different names in this file */
	bool has_totals;     /* it was opened by its index and TOTALS */
};

/* An EVENTS packet. */
struct ptrc_log_entry {
	uint64_t offset; /* of its header in the file */
	struct ptrc_log_packet head;
	uint64_t events; /* in it; of missing packets, if their number is known */
	uint32_t file;	 /* index in `files` */
	bool is_damaged; /* its payload is damaged, as far as the reader has looked */
	/* Its header is impossible, or contradicts its payload. */
	bool is_lying;
	/* Not a packet, but one or more missing ones, the first of which has this `seq`. The times
	 * are those of the events around them; all else is 0. */
	bool is_missing;
	bool is_uncounted; /* the number of their events is unknown */
	/* They are in missing files of a rotated log: nothing is damaged. */
	bool is_absent;
};

struct ptrc_log_reader_name {
	const struct ptrc_log_file *file;  /* the last file in which it was found */
	char *layout;			   /* NULL: none */
	struct ptrc_layout_fields *fields; /* of the layout, once asked for; else NULL */
	char name[256];
};

/* Of a log that is not closed: the packets taken so far, without gaps. Those before `from` are not
 * looked at again. */
struct ptrc_log_tail {
	uint64_t from, end;
	uint64_t seq;	/* of the next EVENTS packet */
	uint32_t crc;	/* of the headers from `from` to `end`, without their own checksums */
	bool is_broken; /* other bytes lie between them, or a number is not the next one */
};

struct ptrc_log_reader {
	/* Several for a rotated log, from the first to the last. */
	struct ptrc_log_file *files;
	uint32_t file_count;
	bool is_parts;	 /* the log comes in parts */
	bool is_refused; /* an earlier call found that the received bytes are no log */
	/* The packets of events, by first_ns, then by seq. */
	struct ptrc_log_entry *entries;
	size_t entry_count, entry_size;
	uint64_t end_seq; /* one past the last packet of the log */
	struct ptrc_log_tail tail;
	/* Packets with smaller numbers have been dropped from `entries`. They had this many events,
	 * with this many counted bytes, apart from packets known to lie. */
	uint64_t forgotten_seq, forgotten_events, forgotten_bytes;
	/* By identifier: PTRC_SET_ID_MAX + 1 elements, NULL for an unknown one; NULL: the log has
	 * no names. */
	struct ptrc_log_reader_name **names;
	size_t name_count;
	bool is_closed;		       /* the last file ends with STATUS and END */
	struct ptrc_log_status status; /* summed over all files */
	struct ptrc_log_ring ring;     /* a ring's state, from its newest sound packet... */
	uint64_t ring_seq;	       /* ... which has this number */
	/* Names that the log should have and that are unreadable; a minimum if the log is not
	 * closed. */
	uint64_t missing_names;
	/* Damaged parts without events: copies of the head, packets of log_origin, and bytes that
	 * should be a packet. */
	uint64_t damaged_parts;
	/* Packets without events whose headers differ from the index. */
	uint64_t differing_headers;
	bool is_names_torn; /* the packet read last has names and is damaged */
	/* The sums of the TOTALS of files opened by their index: events by type, and the types ever
	 * filtered. NULL: no such file. */
	struct ptrc_log_total *totals;
	uint64_t filtered[PTRC_SET_WORD_COUNT];
	struct ptrc_log_whose whose;
	bool is_whole;	      /* these are all existing files of a rotated log */
	bool is_last_missing; /* is_whole, and the last file says that another one follows */
};

static inline uint64_t ptrc_log_last_ordinal(const struct ptrc_log_reader *r)
{
	return r->files[r->file_count - 1].head.ordinal;
}

/* Reads only the head. Errors as below. */
PTRC_MUST_CHECK int ptrc_log_reader_head(int fd, struct ptrc_log_head *head);

/* Opens the files of a log (several if it is rotated), from the first to the last, by descriptors
 * of its own. is_whole: they are all that exist, so that what happened before the first one counts,
 * too. EINVAL: no log, one of another machine or version, not open for reading, no regular file.
 * ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_reader_open_all(const int *fds, size_t count, bool is_whole,
					     struct ptrc_log_reader *r);
void ptrc_log_reader_close(struct ptrc_log_reader *r);

/* Takes the packets appended to the file, and drops the packets of events before number `first`.
 * ESTALE: the file has to be opened again, because the headers of the others have changed, or
 * something else than packets follows; always so for a log that was closed, a damaged one, a ring
 * and a rotated one. ENOMEM. After both, some of the new packets may have been taken. */
PTRC_MUST_CHECK int ptrc_log_reader_grow(struct ptrc_log_reader *r, uint64_t first);

/* Opens a log that comes in parts, of which these are the first bytes. EINVAL: they are no head of
 * a sequential log, or fewer than PTRC_LOG_HEADS_BYTES. EPROTO, ENOMEM: as below. */
PTRC_MUST_CHECK int ptrc_log_reader_begin(const void *bytes, size_t size,
					  struct ptrc_log_reader *r);
/* Takes the next bytes, and all packets that are complete by then. The first `read` entries are
 * dropped. EPROTO: these are no packets of this log, or follow its end, or an earlier call has
 * failed. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_reader_feed(struct ptrc_log_reader *r, const void *bytes, size_t size,
					 size_t read);

/* Reads the payload of a packet, or only its sums_bytes of struct ptrc_type_sum at the start; the
 * caller frees it. EINVAL: damaged, or gone. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_reader_load(const struct ptrc_log_reader *r,
					 const struct ptrc_log_entry *e, bool sums_only,
					 uint8_t **payload);
/* Compares the index with the headers of the packets and their sums, without looking at events.
 * Stores the number of packets that differ, TOTALS included; 0 if the log was opened without an
 * index. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_reader_verify(const struct ptrc_log_reader *r, uint64_t *differing);
/* Whether a keeper has overwritten this packet of a ring. Packets missing from a ring that was not
 * closed count as overwritten. */
bool ptrc_log_reader_is_replaced(const struct ptrc_log_reader *r, const struct ptrc_log_entry *e);
/* The number of events in missing files between this one and the next. False: there are no such
 * files, or the number is unknown. */
bool ptrc_log_reader_absent_events(const struct ptrc_log_file *m, uint64_t *events);
/* Whether the TOTALS count all events of the log. */
bool ptrc_log_reader_has_totals(const struct ptrc_log_reader *r);

#endif
