/* SPDX-License-Identifier: MIT */
/*
 * The metadata of a trace of CTF, in its language TSDL: what the packets hold, and the fields of each
 * class of events. All members of the data are whole bytes and follow each other without gaps. Names
 * that are not of TSDL begin with an underscore, which readers take away: so no name is a keyword.
 */
#ifndef PTRC_SRC_EXPORT_CTF_METADATA_H
#define PTRC_SRC_EXPORT_CTF_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/export/format.h"
#include "src/fields/layout.h"

enum { PTRC_CTF_UUID_BYTES = 16 };

#define PTRC_CTF_MAGIC UINT32_C(0xc1fc1fc1)

/* What each packet begins with; ptrc_ctf_put_head() describes it. Strings with the log and
 * the host follow if there are several. */
struct ptrc_ctf_packet {
	uint32_t magic;
	unsigned char uuid[PTRC_CTF_UUID_BYTES];
	uint32_t stream_id;
	uint32_t stream_instance_id;
	uint64_t timestamp_begin;
	uint64_t timestamp_end;
	/* In bits. */
	uint64_t content_size;
	uint64_t packet_size;
	uint64_t packet_seq_num;
	/* All events that were lost before its end. */
	uint64_t events_discarded;
} __attribute__((packed));

/* The part of an event before its data whose size is known. The name of the thread follows, and with
 * symbols function, file and line. */
struct ptrc_ctf_event {
	uint32_t id;
	/* The lower half of the time. */
	uint32_t timestamp;
	uint64_t address;
	int32_t pid;
	int32_t tid;
} __attribute__((packed));

/* What the data of a class of events is. */
enum ptrc_ctf_kind {
	PTRC_CTF_EMPTY,
	/* The fields of a layout, which it fits. */
	PTRC_CTF_FIELDS,
	PTRC_CTF_TEXT,
	PTRC_CTF_BYTES,
	PTRC_CTF_KINDS,
};

struct ptrc_ctf_class {
	uint32_t id;
	enum ptrc_ctf_kind kind;
	/* The data was cut, by what a number before it tells. */
	bool is_cut;
	const struct ptrc_layout *layout;
	const struct ptrc_reader_name *name;
};

/* Puts all but the classes of events. Of each log the number of the process is given whose program the
 * trace is said to be of. */
void ptrc_ctf_put_head(struct ptrc_buffer *, const struct ptrc_export *,
		       const unsigned char uuid[PTRC_CTF_UUID_BYTES],
		       const unsigned long *processes);

void ptrc_ctf_put_class(struct ptrc_buffer *, const struct ptrc_ctf_class *);

#endif
