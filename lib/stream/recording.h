/* SPDX-License-Identifier: MIT */
/*
 * Recording an event with a writer: the general way, which works in any state of the stream. An
 * event call takes it when its fast way (lib/recorder/fast.h) cannot be used. Controller and keeper
 * take it for the events that they record themselves.
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
	uint64_t frame; /* the value that marks the slot while the event call is under way, not 0 */
	bool is_forced; /* record even if the stream is full or suspended */
	/* For ptrc_writer_record(): the caller can wait for room. */
	bool is_patient;
};

enum ptrc_put_result {
	PTRC_PUT_DONE,
	PTRC_PUT_STALE,	 /* the control word is no longer w->expect: the caller starts over */
	PTRC_PUT_FULL,	 /* there is no room */
	PTRC_PUT_WAIT,	 /* there is no room yet: the caller is to wait (full_wait.h) */
	PTRC_PUT_TOO_BIG /* even the empty stream has no room for the record, or memory is damaged */
};

/* Records an event. *stamp becomes the stamp of the event or, if it is not recorded, of the
 * moment of the failure. The caller has blocked all signals. */
enum ptrc_put_result ptrc_writer_put(struct ptrc_writer *w, const struct ptrc_put *p,
				     uint64_t *stamp);
/* Records an event of the application with `bytes` bytes of data. The caller has just read
 * `control`, which has PTRC_CTL_RUN. Truncates the data to max-data-size, wakes readers, stops a
 * stream that has no room, and counts the event if it is lost. If the result is PTRC_PUT_STALE or
 * PTRC_PUT_WAIT, nothing was done; PTRC_PUT_WAIT is returned only if p->is_patient. */
enum ptrc_put_result ptrc_writer_record(struct ptrc_writer *w, uint64_t control, struct ptrc_put *p,
					uint64_t bytes);
/* Ends the current run at `stamp`, because the stream was full then. False if the control word is
 * no longer `expect`; the caller looks at the state of the stream again. */
bool ptrc_writer_stop_full(struct ptrc_stream_header *h, uint64_t expect, uint64_t stamp);

#endif
