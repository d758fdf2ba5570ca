/* SPDX-License-Identifier: MIT */
/*
 * Recording an event with a writer in any state of the stream: the general way. The event path
 * takes it when its fast way cannot be used, and controller and keeper take it for their own
 * events.
 */
#ifndef PTRC_LIB_STREAM_RECORDING_H
#define PTRC_LIB_STREAM_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/writer.h"

struct ptrc_put {
	uint32_t id_flags;
	uint32_t len;
	const void *data;
	uint64_t addr;
	uint64_t frame; /* mark for the slot, not 0 */
	bool is_forced; /* record even if the stream is full or suspended */
	/* For ptrc_writer_record(): the caller can wait for room. */
	bool is_patient;
};

enum ptrc_put_result {
	PTRC_PUT_DONE,
	PTRC_PUT_STALE,	 /* the control word is not w->expect: start over */
	PTRC_PUT_FULL,	 /* there is no room */
	PTRC_PUT_WAIT,	 /* no room yet: the caller waits (full_wait.h) */
	PTRC_PUT_TOO_BIG /* would not fit in the empty stream */
};

/* Records an event. *stamp becomes the stamp of the event or of the failure. The caller has
 * blocked all signals. */
enum ptrc_put_result ptrc_writer_put(struct ptrc_writer *w, const struct ptrc_put *p,
				     uint64_t *stamp);
/* Records an event of the application with `bytes` bytes of data under the control word that the
 * caller has just read and that has RUN. Cuts data to max-data-size, wakes readers, stops a
 * stream that has no room, and counts a lost event. After PTRC_PUT_STALE and PTRC_PUT_WAIT
 * nothing was done; only a patient caller gets the latter. */
enum ptrc_put_result ptrc_writer_record(struct ptrc_writer *w, uint64_t control, struct ptrc_put *p,
					uint64_t bytes);
/* The stream was full at `stamp`: ends the run there. False if the control word is no longer
 * `expect`: look again. */
bool ptrc_writer_stop_full(struct ptrc_stream_header *h, uint64_t expect, uint64_t stamp);

#endif
