/* SPDX-License-Identifier: MIT */
/* Walking over records: those of a stretch that is to be written, or those of a section of a
 * packet that was read. */
#ifndef PTRC_LIB_LOG_LOG_RECORDS_H
#define PTRC_LIB_LOG_LOG_RECORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lib/model/record.h"

static inline struct ptrc_record ptrc_log_record_at(const uint8_t *pos)
{
	struct ptrc_record r;

	/* Copied, as a record of a damaged packet may stand at any address. */
	memcpy(&r, pos, sizeof(r));
	return r;
}

/* Moves *pos over CONTEXT records to the next event, and gives the time of that. *origin
 * becomes that of the last CONTEXT record. False at the end, or where no whole record
 * stands. */
static inline bool ptrc_log_find_event(const uint8_t **pos, const uint8_t *end, int64_t base_ns,
				       int64_t *ns, struct ptrc_context *origin)
{
	while ((size_t)(end - *pos) >= sizeof(struct ptrc_record)) {
		struct ptrc_record r = ptrc_log_record_at(*pos);

		if (ptrc_record_size(&r) > (size_t)(end - *pos))
			return false;
		if (!ptrc_record_is_context(&r)) {
			if (r.id_flags & PTRC_REC_FULLSTAMP)
				memcpy(ns, *pos + sizeof(r), sizeof(*ns));
			else
				*ns = (int64_t)((uint64_t)base_ns + r.delta);
			return true;
		}
		if (ptrc_record_len(&r) >= sizeof(*origin))
			memcpy(origin, *pos + ptrc_record_head(&r), sizeof(*origin));
		*pos += ptrc_record_size(&r);
	}
	return false;
}

#endif
