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
 * read by raw pread(), which moves no file offset, needs no mapping, and is no cancellation
 * point. */
struct ptrc_log_file {
	int fd; /* a descriptor of the reader's own; -1: the log comes in parts */
	/* For a log that comes in parts: those received bytes that are still needed. They begin at
	 * offset `from` of the log. */
	uint8_t *bytes;
	size_t used, room;
	uint64_t from;
	uint64_t size; /* bytes of the file at the last look, or of all parts */
	uint64_t log_id;
	struct ptrc_log_head head;
	struct ptrc_attr attr; /* the attributes in the head */
	bool is_head_damaged;  /* one of the two copies of the head is damaged */
	bool has_status, is_closed;
	struct ptrc_log_status status;
	uint64_t first_seq;  /* number of the first EVENTS packet that the file should have */
	uint64_t end_seq;    /* `seq` of the file's END packet */
	uint64_t name_count; /* different names in this file */
	bool has_totals;     /* the file was opened by its index and TOTALS */
};

/* An EVENTS packet, or a place where such packets are missing. */
struct ptrc_log_entry {
	uint64_t offset; /* offset of the packet's header in the file */
	struct ptrc_log_packet head;
	uint64_t events; /* number of events; 0 if packets are missing and it is unknown */
	uint32_t file;	 /* index in `files` of struct ptrc_log_reader */
	bool is_damaged; /* the payload is known to be damaged; most are checked when read */
	/* The header of the packet is impossible, or contradicts the payload. */
	bool is_lying;
	/* This is no packet, but stands for one or more missing ones. head.seq is the number of the
	 * first of them; head.first_ns and head.last_ns are the times of the events around them.
	 * The other members of `head` are 0. */
	bool is_missing;
	bool is_uncounted; /* the number of events in the missing packets is unknown */
	/* The missing packets are in missing files of a rotated log, so nothing is damaged. */
	bool is_absent;
};

struct ptrc_log_reader_name {
	const struct ptrc_log_file *file;  /* the last file in which the name was found */
	char *layout;			   /* NULL: the type has no layout */
	struct ptrc_layout_fields *fields; /* parsed `layout`; NULL until a caller asks for it */
	char name[256];
};

/* For a log that is not closed: the packets taken so far, which end at offset `end`. When more is
 * read, only the headers from offset `from` on are checked once more. */
struct ptrc_log_tail {
	uint64_t from, end;
	uint64_t seq; /* number of the next EVENTS packet */
	/* Checksum of the headers from `from` to `end`, without their own checksums. */
	uint32_t crc;
	bool is_broken; /* there are gaps between the packets, in bytes or in numbers */
};

struct ptrc_log_reader {
	/* The files of the log, from the first to the last. There are several only if the log is
	 * rotated. */
	struct ptrc_log_file *files;
	uint32_t file_count;
	bool is_parts;	 /* the log comes in parts */
	bool is_refused; /* an earlier call found that the received bytes are no log */
	/* The EVENTS packets, sorted by first_ns, then by seq. */
	struct ptrc_log_entry *entries;
	size_t entry_count, entry_size;
	uint64_t end_seq; /* one past the number of the last EVENTS packet */
	struct ptrc_log_tail tail;
	/* The packets with numbers below forgotten_seq have been dropped from `entries`. They had
	 * forgotten_events events with forgotten_bytes bytes (as log-max-size counts them), not
	 * counting packets with is_lying. */
	uint64_t forgotten_seq, forgotten_events, forgotten_bytes;
	/* The names of event types, indexed by identifier: PTRC_SET_ID_MAX + 1 elements, each NULL
	 * if the log has no name for it. The whole array is NULL if the log has no names. */
	struct ptrc_log_reader_name **names;
	size_t name_count;
	bool is_closed;		       /* the last file ends with STATUS and END */
	struct ptrc_log_status status; /* of the last file, with events and losses of all files */
	struct ptrc_log_ring ring;     /* a ring's state, from its newest undamaged packet */
	uint64_t ring_seq;	       /* number of that newest packet */
	/* The number of names that the log should have but that are unreadable; at least this many
	 * if the log is not closed. */
	uint64_t missing_names;
	/* The number of damaged parts without events: copies of the head, packets about origins
	 * (HOST, PROCESS, THREADS, CLOCK), bytes where a packet should be, and sequential files
	 * whose index contradicts them or that have bytes after END. */
	uint64_t damaged_parts;
	/* The number of packets without events whose headers differ from the index. */
	uint64_t differing_headers;
	bool is_names_torn; /* the packet taken last is a damaged NAMES packet */
	/* From the TOTALS of all files that were opened by their index. `totals`: the sums of
	 * events by type; NULL: there is no such file. `filtered`: the types that were ever
	 * filtered. */
	struct ptrc_log_total *totals;
	uint64_t filtered[PTRC_SET_WORD_COUNT];
	struct ptrc_log_whose whose;
	bool is_whole;	      /* the files are all that exist of a rotated log */
	bool is_last_missing; /* is_whole, and the last file found says that another follows */
};

static inline uint64_t ptrc_log_last_ordinal(const struct ptrc_log_reader *r)
{
	return r->files[r->file_count - 1].head.ordinal;
}

/* Reads the head of a log from its file. Errors as for ptrc_log_reader_open_all(). */
PTRC_MUST_CHECK int ptrc_log_reader_head(int fd, struct ptrc_log_head *head);

/* Opens the files of a log: several if it is rotated, from the first to the last. The reader makes
 * its own descriptors from `fds`. is_whole: these are all files that exist; then the log's losses
 * include those that the head of the first file has for earlier files. EINVAL: a file is no log, or
 * the log of another kind of machine, or not open for reading, or not a regular file. EPROTO: this
 * library does not know the version of a file. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_reader_open_all(const int *fds, size_t count, bool is_whole,
					     struct ptrc_log_reader *r);
void ptrc_log_reader_close(struct ptrc_log_reader *r);

/* Takes the packets that were appended to the file, and drops the EVENTS packets with numbers below
 * `first` from `entries`. ESTALE: the file has to be opened again, because the headers of earlier
 * packets have changed, or something else than packets was appended. The result is always ESTALE
 * for a log that was closed or is damaged, for a ring, and for a rotated log. ENOMEM. After either
 * error, some of the new packets may have been taken. */
PTRC_MUST_CHECK int ptrc_log_reader_grow(struct ptrc_log_reader *r, uint64_t first);

/* Opens a log that comes in parts, of which these are the first bytes. EINVAL: they are not the
 * start of a sequential log, or fewer than PTRC_LOG_HEADS_BYTES. EPROTO: this library does not know
 * the version of the log. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_reader_begin(const void *bytes, size_t size,
					  struct ptrc_log_reader *r);
/* Takes the next bytes, and all packets that are complete with them. Drops the first `read`
 * entries, which the caller has read. EPROTO: the bytes are no packets of this log, or come after
 * its end, or an earlier call has failed. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_reader_feed(struct ptrc_log_reader *r, const void *bytes, size_t size,
					 size_t read);

/* Reads the payload of a packet, which the caller frees. sums_only: reads only the start of the
 * payload, sums_bytes bytes of struct ptrc_type_sum. EINVAL: the packet is damaged or missing.
 * ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_reader_load(const struct ptrc_log_reader *r,
					 const struct ptrc_log_entry *e, bool sums_only,
					 uint8_t **payload);
/* Compares the index with the headers of the packets, and TOTALS with the sums in the packets,
 * without looking at events. *differing becomes the number of packets that differ; it includes
 * damaged parts without events. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_reader_verify(const struct ptrc_log_reader *r, uint64_t *differing);
/* Whether a keeper has overwritten this packet of a ring since the log was opened. In a ring that
 * was not closed, missing packets count as overwritten. */
bool ptrc_log_reader_is_replaced(const struct ptrc_log_reader *r, const struct ptrc_log_entry *e);
/* Stores the number of events in the files that are missing between the file `m` and m[1], the next
 * one that exists. False: no file is missing there, or the number is unknown. */
bool ptrc_log_reader_absent_events(const struct ptrc_log_file *m, uint64_t *events);
/* Whether the TOTALS count all events of the log. */
bool ptrc_log_reader_has_totals(const struct ptrc_log_reader *r);

#endif
