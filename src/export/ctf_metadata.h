/* SPDX-License-Identifier: MIT */
/*
 * The metadata of a CTF trace, which describe the members of packets and of events, and the fields of each class of
 * events. CTF 1.8 and CTF 2 have different languages for this (ctf_tsdl.c, ctf_json.c), but the packets are the
 * same. All members and fields are whole bytes, without gaps between them.
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

/* The start of a packet. The path of the log (if there are several logs) and the host's label or name (with --label)
 * follow. */
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

/* The parts of packets and events whose members ptrc_ctf_members() lists. The first two together are struct
 * ptrc_ctf_packet, the other two struct ptrc_ctf_event, each with the members that follow it (except the data). */
enum ptrc_ctf_scope {
	PTRC_CTF_PACKET_HEADER,
	PTRC_CTF_PACKET_CONTEXT,
	PTRC_CTF_EVENT_HEADER,
	PTRC_CTF_EVENT_CONTEXT,
};

struct ptrc_ctf_member {
	/* The name and the type of the member. */
	struct ptrc_layout_field field;
	/* The use that readers make of the member, as CTF 2 names it; NULL if it is only shown. */
	const char *role;
};

enum { PTRC_CTF_MEMBERS_MAX = 8 };

/* Stores the members of a scope, in their order. Returns how many there are. */
size_t ptrc_ctf_members(const struct ptrc_export *, enum ptrc_ctf_scope,
			const struct ptrc_ctf_member *members[PTRC_CTF_MEMBERS_MAX]);

/* A class of events, and the fields of its events' data, in their order. No field is padding. */
struct ptrc_ctf_class {
	uint32_t id;
	const struct ptrc_reader_name *name;
	const struct ptrc_layout_field **fields;
	size_t count;
	/* A field is named like a later field, but with an underscore before the name, such as `_x` and `x`. Readers
	 * of CTF 1.8 confuse the two (see prefix() in ctf_tsdl.c). */
	bool has_underscored;
};

/* The size of a buffer for a made-up name, to which underscores may be added so that no field has it. */
enum { PTRC_CTF_NAME_BYTES = PTRC_LAYOUT_NAME_MAX + 16 };

/* The name of a field in the metadata: "data" if the layout gives it none. */
const char *ptrc_ctf_field_name(const struct ptrc_layout_field *);

/* Whether an event's data has, before this field, a field of 32 bits with the number of elements or bytes of this
 * field. If so, stores the name of that field of 32 bits. */
bool ptrc_ctf_has_length(const struct ptrc_ctf_class *, const struct ptrc_layout_field *,
			 char name[PTRC_CTF_NAME_BYTES]);

/* Puts the UUID in its form with hyphens. */
void ptrc_ctf_put_uuid(struct ptrc_buffer *, const unsigned char uuid[PTRC_CTF_UUID_BYTES]);

/* Calls take() for each fact about the trace (its environment): the host, the program and the losses of each log.
 * The names of facts about logs after the first one end with the number of the log. For each log, `processes` has
 * the index of the process whose program is the traced program. */
void ptrc_ctf_each_fact(const struct ptrc_export *, const unsigned long *processes,
			void (*take)(void *arg, const char *name, const char *text, size_t size),
			void *arg);

/* How the metadata of a version of CTF are written: in the language TSDL, or in JSON. */
struct ptrc_ctf_version {
	/* The first bytes of the file metadata. */
	const char *signature;
	/* Puts everything except the classes of events, the signature first. */
	void (*put_head)(struct ptrc_buffer *, const struct ptrc_export *,
			 const unsigned char uuid[PTRC_CTF_UUID_BYTES],
			 const unsigned long *processes);
	void (*put_class)(struct ptrc_buffer *, const struct ptrc_ctf_class *);
};

extern const struct ptrc_ctf_version ptrc_ctf_tsdl, ptrc_ctf_json;

/* The languages, in the order of the words of --ctf-version. The list ends with a NULL pointer. */
extern const struct ptrc_ctf_version *const ptrc_ctf_versions[];

/* Puts a class of events. If is_cut, the events' data were cut, and each event has a number before its data that
 * says where they were cut. The layout is used only for PTRC_CTF_FIELDS. */
void ptrc_ctf_put_class(const struct ptrc_ctf_version *, struct ptrc_buffer *, uint32_t id,
			enum ptrc_ctf_kind, bool is_cut, const struct ptrc_layout *,
			const struct ptrc_reader_name *);

#endif
