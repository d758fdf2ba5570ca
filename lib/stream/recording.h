/* SPDX-License-Identifier: MIT */
/*
 * Recording an event with a writer, whatever state the stream is in: the careful, general way,
 * which the event path takes when its fast way cannot, and which controller and keeper take for
 * their own events.
 */
#ifndef PTRC_LIB_STREAM_RECORDING_H
#define PTRC_LIB_STREAM_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/writer.h"

/* An event to be recorded. */
struct ptrc_put {
	uint32_t id_flags;
	uint32_t len;
	const void *data;
	uint64_t addr;
	uint64_t frame; /* the mark for the slot, not 0 */
	bool is_forced; /* record it even if the stream is full or suspended */
	/* Of ptrc_writer_record(): if the stream has no room, the caller waits for some. */
	bool is_patient;
};

enum ptrc_put_result {
	PTRC_PUT_DONE,
	PTRC_PUT_STALE,	 /* the control word is not w->expect: the caller starts over */
	PTRC_PUT_FULL,	 /* there is no room */
	PTRC_PUT_WAIT,	 /* there is none as yet: the caller waits for it (full_wait.h) */
	PTRC_PUT_TOO_BIG /* the event does not fit even if the stream is empty */
};

/* Record an event. *stamp becomes the event's stamp, or that of the failure. The caller has
 * blocked all signals. */
enum ptrc_put_result ptrc_writer_put(struct ptrc_writer *w, const struct ptrc_put *p,
				     uint64_t *stamp);
/* Record an event of the application, whose data has so many bytes, under the control word that
 * the caller has just read and that says RUN. Data beyond max-data-size is cut off. Wakes the
 * readers; stops a stream that has no room; counts an event that is lost. With PTRC_PUT_STALE
 * and PTRC_PUT_WAIT nothing was done; only a patient caller gets the latter. */
enum ptrc_put_result ptrc_writer_record(struct ptrc_writer *w, uint64_t control, struct ptrc_put *p,
					uint64_t bytes);
/* The stream was full at `stamp`: nothing from then on belongs to this run. False if the control
 * word is not `expect` any more; then the caller looks again. */
bool ptrc_writer_stop_full(struct ptrc_stream_header *h, uint64_t expect, uint64_t stamp);

#endif
