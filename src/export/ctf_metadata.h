/* SPDX-License-Identifier: MIT */
/*
 * The metadata of a CTF trace, in its language TSDL: the members of packets and of events, and the fields of
 * each class of events. All members and fields are whole bytes, without gaps between them. Names from the log
 * get a leading underscore, which readers remove, so that none of them is a keyword.
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

/* The start of a packet, which ptrc_ctf_put_head() describes in TSDL. If there are several logs, the names of
 * the log and of the host follow as strings. */
struct ptrc_ctf_packet {
	uint32_t magic;
	unsigned char uuid[PTRC_CTF_UUID_BYTES];
	uint32_t stream_id;
	uint32_t stream_instance_id;
	uint64_t timestamp_begin;
	uint64_t timestamp_end;
	/* The sizes are in bits. */
	uint64_t content_size;
	uint64_t packet_size;
	uint64_t packet_seq_num;
	/* The number of events that were lost in the stream before the end of this packet. */
	uint64_t events_discarded;
} __attribute__((packed));

/* The start of an event. The name of the thread follows; then, if symbols are exported, function, file and
 * line; then the data. */
struct ptrc_ctf_event {
	uint32_t id;
	/* The lower 32 bits of the time. */
	uint32_t timestamp;
	uint64_t address;
	int32_t pid;
	int32_t tid;
} __attribute__((packed));

/* The kind of data that a class of events has. */
enum ptrc_ctf_kind {
	PTRC_CTF_EMPTY,
	/* Data that fits its layout. */
	PTRC_CTF_FIELDS,
	PTRC_CTF_TEXT,
	PTRC_CTF_BYTES,
	PTRC_CTF_KINDS,
};

/* Puts everything except the classes of events. For each log, `processes` has the index of the process whose
 * program is shown as the traced program. */
void ptrc_ctf_put_head(struct ptrc_buffer *, const struct ptrc_export *,
		       const unsigned char uuid[PTRC_CTF_UUID_BYTES],
		       const unsigned long *processes);

/* Puts a class of events. If is_cut, the events' data were cut, and each event has a number before its data
 * that says where. The layout is used only for PTRC_CTF_FIELDS. */
void ptrc_ctf_put_class(struct ptrc_buffer *, uint32_t id, enum ptrc_ctf_kind, bool is_cut,
			const struct ptrc_layout *, const struct ptrc_reader_name *);

#endif
