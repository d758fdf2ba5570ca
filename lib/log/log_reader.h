/* SPDX-License-Identifier: MIT */
/*
 * What a log has: its packets of events, names, processes and losses. No byte of it is trusted: whatever
 * its files hold, and whatever happens to them while they are open, can do no more than make events
 * unreadable.
 *
 * A log may also come in parts, as the caller receives it from a pipe or a socket: each packet is
 * taken when it is whole. Nothing is missing in such a log, so that a packet that is not right ends the
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

/* The bytes of a log: a file, which may grow, or what has arrived of a log that comes in parts. Files are read by
 * pread(), without an offset, a mapping or a cancellation point. */
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

/* An EVENTS packet, in the index. */
struct ptrc_log_entry {
	uint64_t offset; /* of its header, in the file */
	struct ptrc_log_packet head;
	uint64_t
		events; /* that it has; of packets that are missing, as far as their number is known */
	uint32_t file;	 /* the number of its file */
	bool is_damaged; /* its payload has turned out to be damaged */
	/* Its header says what cannot be, or what its payload has turned out not to have. */
	bool is_lying;
	/* No packet: it stands for one or several that are not in the file, the first of which has
	 * this number. The times are those of the events around them, and nothing else is set. */
	bool is_missing;
	bool is_uncounted; /* it is not known how many events they had */
	/* They stand in files of a rotated log that are missing: nothing is damaged. */
	bool is_absent;
};

struct ptrc_log_reader_name {
	const struct ptrc_log_file *file; /* the last one in which it was found */
	char *layout;			  /* null: it has none */
	char name[256];
};

/* Of a log that is not closed: the packets that were taken, each of which begins where the one before ends.
 * Those before `from` are not looked at again. */
struct ptrc_log_tail {
	uint64_t from, behind;
	uint64_t seq; /* of the next EVENTS packet */
	uint32_t
		crc; /* of the headers of the packets between the two, each without its own checksum */
	bool is_broken; /* something else has turned up between them, or a number was not the next one */
};

struct ptrc_log_reader {
	/* The files of the log, of which there are several if it is rotated: from the first to the last. */
	struct ptrc_log_file *files;
	uint32_t file_count;
	bool is_parts;		/* the log comes in parts */
	bool is_refused;	/* what came is no log */
	bool is_whose_unsorted; /* processes or clocks have come since they were put in order */
	/* The index: by first_ns, then by seq. */
	struct ptrc_log_entry *entries;
	size_t entry_count, entry_size;
	uint64_t end_seq; /* behind that of the last packet of the log */
	struct ptrc_log_tail tail;
	/* Packets with smaller numbers are no longer in the index; so many events, and bytes of these, were
	 * in them, as far as their headers are not known to lie. */
	uint64_t forgotten_seq, forgotten_events, forgotten_bytes;
	/* By their identifiers, of which the largest one known is before name_end. */
	struct ptrc_log_reader_name **names;
	size_t name_count, name_end, name_size;
	bool is_closed;		       /* the last file has its STATUS and END */
	struct ptrc_log_status status; /* of all files */
	struct ptrc_log_ring ring;     /* a ring's state, from the newest packet that is sound */
	uint64_t ring_seq;	       /* the number of that packet */
	/* Names that the log should have and that are not readable; at least so many if the log is
	 * not closed. */
	uint64_t missing_names;
	/* Damaged parts of the log that have no events: a copy of the head, packets that tell of
	 * machine, clocks or processes, and bytes that should be a packet. */
	uint64_t damaged_parts;
	/* Packets without events whose headers say something else than the index. */
	uint64_t differing_headers;
	bool is_names_torn; /* the packet read last has names, and is damaged */
	/* What TOTALS tell of the files that were opened by their index: the events of each type, by its
	 * number, and the types that were in the filter at any time. Null: there is no such file. */
	struct ptrc_log_total *totals;
	uint64_t filtered[PTRC_SET_WORD_COUNT];
	struct ptrc_log_whose whose;
	bool is_whole;	      /* the files are all that there are of a log that is rotated */
	bool is_last_missing; /* the last one of the whole says that another one follows */
};

/* The number of the last file. */
static inline uint64_t ptrc_log_last_ordinal(const struct ptrc_log_reader *r)
{
	return r->files[r->file_count - 1].head.ordinal;
}

/* Reads the head only. Errors as below. */
PTRC_MUST_CHECK int ptrc_log_reader_head(int fd, struct ptrc_log_head *head);

/* Makes one index of the files of a log, of which there are several if it is rotated: from the first to the
 * last. The reader gets descriptors of its own. is_whole: they are all that there are, so that what happened
 * before the first one counts, too. EINVAL: no log, one of another machine or version, not open for reading,
 * no regular file. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_reader_open_all(const int *fds, size_t count, bool is_whole,
					     struct ptrc_log_reader *r);
void ptrc_log_reader_close(struct ptrc_log_reader *r);

/* Takes what has been appended to the file, and forgets the packets with events before number `first`. Compares
 * the headers of the others with what they were. ESTALE: the file has to be opened anew, as what was taken is
 * not there any more, or something else has come than packets, one behind the other: so it is with a log that
 * was closed, and with one that is damaged, a ring, or rotated, whatever has come. ENOMEM. After both
 * the reader may have some of what is new. */
PTRC_MUST_CHECK int ptrc_log_reader_grow(struct ptrc_log_reader *r, uint64_t first);

/* Begins a log that comes in parts, of which these bytes are the first. EINVAL: they are not the begin
 * of a sequential log, or less than PTRC_LOG_HEADS_BYTES. EPROTO, ENOMEM: as below. */
PTRC_MUST_CHECK int ptrc_log_reader_begin(const void *bytes, size_t size,
					  struct ptrc_log_reader *r);
/* Takes the bytes that come next, with all packets that are whole by that. The entries are those from
 * number `read` on that there were before, and the new ones. EPROTO: they are no packets of this log,
 * or stand behind its end, or an earlier call has failed. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_reader_feed(struct ptrc_log_reader *r, const void *bytes, size_t size,
					 size_t read);

/* Reads the payload of a packet, which the caller frees, or the entry's sums_bytes of struct
 * ptrc_type_sum with which it begins. EINVAL: it is damaged, or not there any more. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_reader_load(const struct ptrc_log_reader *r,
					 const struct ptrc_log_entry *e, bool sums_only,
					 uint8_t **payload);
/* Compares what the index says with the headers of the packets and their sums, without looking at
 * events. Stores how many packets say something else, the TOTALS among them; 0 if the log was
 * opened without an index. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_reader_verify(const struct ptrc_log_reader *r, uint64_t *differing);
/* Has a keeper written another packet to the place of this one, in a ring? Packets that are
 * missing in a ring that was not closed count as replaced. */
bool ptrc_log_reader_is_replaced(const struct ptrc_log_reader *r, const struct ptrc_log_entry *e);
/* Puts what the log tells of processes, threads and clocks in order, if more has come. */
void ptrc_log_reader_sort_whose(struct ptrc_log_reader *r);
/* Do TOTALS tell the events of the whole log? */
bool ptrc_log_reader_has_totals(const struct ptrc_log_reader *r);

#endif
