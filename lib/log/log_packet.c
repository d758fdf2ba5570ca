/* SPDX-License-Identifier: MIT */
#include "lib/log/log_packet.h"

#include <string.h>

#include "lib/base/crc32c.h"

int ptrc_log_packet_add(struct ptrc_log_writer *w)
{
	static const struct ptrc_log_packet none;

	return ptrc_log_buffer_add(&w->out, &none, sizeof(none));
}

int ptrc_log_packet_begin(struct ptrc_log_writer *w)
{
	w->out.used = 0;
	return ptrc_log_packet_add(w);
}

int ptrc_log_packet_end(struct ptrc_log_writer *w, uint64_t start, const struct ptrc_log_facts *p)
{
	static const uint8_t zero[8];
	uint64_t length = w->out.used - start - sizeof(struct ptrc_log_packet);
	struct ptrc_log_packet head = {
		.magic = PTRC_LOG_PACKET_MAGIC,
		.type = p->type,
		.flags = p->flags,
		.length = length,
		.log_id = w->header->id,
		.seq = w->state.seq,
		.first_ns = p->first_ns,
		.last_ns = p->last_ns,
		.event_count = (uint32_t)p->events,
	};

	head.payload_crc = ptrc_crc32c(0, w->out.bytes + start + sizeof(head), length);
	head.header_crc = ptrc_crc32c(0, &head, offsetof(struct ptrc_log_packet, header_crc));
	memcpy(w->out.bytes + start, &head, sizeof(head));
	return ptrc_log_buffer_add(&w->out, zero, ptrc_align8(length) - length);
}
