/* SPDX-License-Identifier: MIT */
/*
 * A stream object `s.<id>`: memory shared by controller, keeper and every traced
 * process. Structs only; who may write each word is said on it. No pointers: only
 * indices and offsets, and none is used unchecked.
 *
 *   offset 0          struct ptrc_stream_header
 *          PTRC_STREAM_TYPE_OFFSET    counts per event type
 *          PTRC_STREAM_CLOCK_OFFSET   clock entries
 *          PTRC_STREAM_SLOT_OFFSET    writer slots
 *          PTRC_STREAM_CHUNK_CTL_OFFSET   one control entry per chunk
 *          PTRC_STREAM_CHUNK_OFFSET   chunks, header.chunk_size bytes each
 *
 * The file is sparse: header, counts, the first page of clock entries (a minute's), the
 * first 64 slots, the control entries of the base chunks and these (which hold
 * stream-min-size) are reserved at creation, the rest when first used: made real memory
 * before it is touched (populate.h), and done without if there is none.
 */
#ifndef PTRC_LIB_STREAM_STREAM_LAYOUT_H
#define PTRC_LIB_STREAM_STREAM_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/model/attr.h"
#include "lib/base/common.h"
#include "lib/model/record.h"

#define PTRC_STREAM_MAGIC UINT64_C(0x314d525453525450) /* "PTRSTRM1" */
#define PTRC_STREAM_VERSION 3

/* Control word: serial << 8 | bits. A writer records only while the word equals the one
 * it last acted on, so every change of state, filter or epoch takes a new serial. */
#define PTRC_CTL_RUN UINT64_C(1) /* events are recorded */
#define PTRC_CTL_LOSING \
	UINT64_C(2) /* stopped automatically: events are lost, and counted */
#define PTRC_CTL_FENCE UINT64_C(4)  /* no membarrier: writers fence for themselves */
#define PTRC_CTL_MONO UINT64_C(8)   /* counter unusable: stamps are CLOCK_MONOTONIC ns */
#define PTRC_CTL_ENDED UINT64_C(16) /* the stream is gone: let go of it */
#define PTRC_CTL_BITS UINT64_C(0xff)
#define PTRC_CTL_SERIAL_SHIFT 8
#define PTRC_CTL_SERIAL_ONE (UINT64_C(1) << PTRC_CTL_SERIAL_SHIFT)

/* Status word: all of posix_trace_status_info in one atomic, so that reading and
 * resetting is one step (STATUS-15) and members belong together (STATUS-25). */
#define PTRC_ST_RUNNING (UINT64_C(1) << 0)
#define PTRC_ST_FULL (UINT64_C(1) << 1)
#define PTRC_ST_OVERRUN (UINT64_C(1) << 2)
#define PTRC_ST_FLUSHING (UINT64_C(1) << 3)
#define PTRC_ST_LOG_OVERRUN (UINT64_C(1) << 4)
#define PTRC_ST_LOG_FULL (UINT64_C(1) << 5)
#define PTRC_ST_AUTO_STOPPED (UINT64_C(1) << 6)	 /* suspended because full */
#define PTRC_ST_RESTART_ARMED (UINT64_C(1) << 7) /* restarts when its STOP is out */
#define PTRC_ST_EVER_OVERRUN (UINT64_C(1) << 8) /* since creation or clear, for the log */
#define PTRC_ST_EVER_LOG_OVERRUN (UINT64_C(1) << 9)
#define PTRC_ST_LOG_STOPPED \
	(UINT64_C(1) << 10) /* UNTIL_FULL log full: no restart until clear */
#define PTRC_ST_STOP_OUT \
	(UINT64_C(1) << 11) /* the automatic STOP is reported or flushed */
#define PTRC_ST_NO_STOP \
	(UINT64_C(1) << 12)  /* full at its start: there is no automatic STOP */
#define PTRC_ST_RUN_SHIFT 16 /* low byte of header.run: late writers of an */
#define PTRC_ST_RUN_MASK \
	(UINT64_C(0xff) << 16) /* earlier run must not touch a later one */
#define PTRC_ST_ERROR_SHIFT 32 /* flush error number */

/* cut word, the end of a run that stopped for want of room: run << 56 | ticks since t0.
 * `run` is the low byte of the run's number, so that a late writer of an earlier run
 * cannot cut a later one. */
#define PTRC_CUT_NONE UINT64_C(0)
#define PTRC_CUT_RUN_SHIFT 56
#define PTRC_CUT_TIME_MASK ((UINT64_C(1) << PTRC_CUT_RUN_SHIFT) - 1)

#define PTRC_TIME_NONE UINT64_MAX

#define PTRC_SLOT_CONTROLLER 0U /* slot of the controller's own events */
#define PTRC_SLOT_KEEPER 1U /* slot of the keeper's; its chunks do not count as room */
#define PTRC_SLOT_FIRST 2U
#define PTRC_SLOT_COUNT 8192U

/* One per thread and stream (nested handlers have their own). */
struct ptrc_slot {
	/* tid << 42 | claim time in ms of CLOCK_BOOTTIME; 0 is free. Claimed by CAS,
	 * released by its owner or by whoever finds the owner dead. */
	_Atomic uint64_t owner;
	/* Frame address of the event call at work, 0 if none: the nesting guard and the
	 * reader's mark. Written by the owner only (cleared for it when it is dead). */
	_Atomic uint64_t frame;
	_Atomic int32_t pid;
	uint32_t reserved;
	_Atomic uint64_t
		image; /* identity of the program image (exec); 0: being claimed */
	uint8_t pad[128 - 32];
};
_Static_assert(sizeof(struct ptrc_slot) == 128, "a slot has two cache lines of its own");

#define PTRC_SLOT_TID_SHIFT 42
#define PTRC_SLOT_CLAIM_MASK ((UINT64_C(1) << PTRC_SLOT_TID_SHIFT) - 1)

/* Chunk word: gen:32 | slot:14 | claim:13 | pin:2 | state:3 */
#define PTRC_CHUNK_STATE_MASK UINT64_C(7)
#define PTRC_CHUNK_FREE UINT64_C(0)
#define PTRC_CHUNK_OWNED UINT64_C(1)
#define PTRC_CHUNK_SEALED UINT64_C(2)	/* full */
#define PTRC_CHUNK_PARTIAL UINT64_C(3)	/* owner gone, room left: may be adopted */
#define PTRC_CHUNK_STEALING UINT64_C(4) /* LOOP: being given up, its loss not yet noted */
#define PTRC_CHUNK_PIN_READER (UINT64_C(1) << 3) /* controller's reader copies from it */
#define PTRC_CHUNK_PIN_KEEPER (UINT64_C(1) << 4)
#define PTRC_CHUNK_PINS (UINT64_C(3) << 3)
#define PTRC_CHUNK_CLAIM_SHIFT 5
#define PTRC_CHUNK_CLAIM_MASK (UINT64_C(0x1fff) << PTRC_CHUNK_CLAIM_SHIFT)
#define PTRC_CHUNK_SLOT_SHIFT 18
#define PTRC_CHUNK_SLOT_MASK (UINT64_C(0x3fff) << PTRC_CHUNK_SLOT_SHIFT)
#define PTRC_CHUNK_GEN_SHIFT 32
#define PTRC_CHUNK_FIRST 128U /* offset of the first record */

struct ptrc_chunk_ctl {
	_Atomic uint64_t word;
	/* gen << 32 | offset up to which events are reported or flushed. Written by the
	 * consumer (reader of a plain stream, keeper of a logged one) under its pin. Of
	 * another gen than the word's: nothing is consumed. */
	_Atomic uint64_t rpos;
	_Atomic uint64_t epoch;	 /* header.epoch when it was taken; older: cleared */
	_Atomic uint64_t tfirst; /* no record of it is older; stored with epoch */
	/* Stored before the word leaves OWNED, valid then: */
	_Atomic uint64_t tlast;	 /* counter of the last record */
	_Atomic uint32_t end;	 /* offset behind it */
	_Atomic uint32_t count;	 /* events in it */
	_Atomic uint32_t rcount; /* events of it consumed; goes with rpos */
	uint32_t pad;
	/* gen << 32 | offset up to which a flush has taken events: what of them is consumed
	 * if its keeper dies between writing and saying so. Keeper only. */
	_Atomic uint64_t taken;
};
_Static_assert(sizeof(struct ptrc_chunk_ctl) == 64, "chunk control entry");

struct ptrc_chunk {
	/* gen << 32 | offset behind the last complete record. Owner only, released after
	 * the record's bytes: a record exists if and only if pos covers it. */
	_Atomic uint64_t pos;
	uint8_t pad0[64 - 8];
	/* Written by the owner while taking the chunk, before pos. */
	uint64_t base; /* counter the deltas count from */
	struct ptrc_context origin;
	uint8_t pad1[64 - 24];
	/* records follow */
};
_Static_assert(sizeof(struct ptrc_chunk) == 128, "chunk header");

/* From counter on, time is ns + ((x - counter) * mult >> 32), ns of CLOCK_MONOTONIC as
 * this stream tells it. See clock.h. */
struct ptrc_clock_entry {
	_Atomic uint64_t counter;
	_Atomic int64_t ns;
	_Atomic int64_t true_ns; /* CLOCK_MONOTONIC at counter, as measured */
	_Atomic uint64_t due; /* no event that goes by this entry is stamped later; raised
				  * while there is no memory for another */
	_Atomic uint64_t mult; /* 0 or GIVEN_UP: no entry, skip it. Stored last, by CAS */
};

/* Its appender was taken over. */
#define PTRC_CLOCK_GIVEN_UP UINT64_MAX

#define PTRC_CLOCK_ENTRY_COUNT 16384U

/* Commands to the keeper, header.keeper_command */
#define PTRC_KEEPER_NONE 0U
#define PTRC_KEEPER_FLUSH 1U
#define PTRC_KEEPER_CLEAR 2U /* empty the log */
#define PTRC_KEEPER_CLOSE 3U /* final flush, close the log, exit */

struct ptrc_stream_header {
	/* -- line 0: read by every event, written on state changes only -- */
	_Alignas(64) _Atomic uint64_t control;
	/* The ticket of the reader that was last to go to sleep on event_futex, or 0. Who has
	 * woken them clears the ticket it saw before: should it die in between, the next event
	 * wakes again; and a reader that has gone to sleep meanwhile has another ticket. */
	_Atomic uint32_t waiters;
	_Atomic uint32_t waiter_ticket; /* the last one given out */
	_Atomic uint64_t filter[17]; /* set: not recorded. Controller, under its lock */

	/* -- identity, written at creation only -- */
	_Alignas(64) uint64_t magic;
	uint32_t version;
	uint32_t chunk_size;
	uint32_t chunk_count;	   /* room for so many in the file */
	uint32_t base_chunk_count; /* of them reserved */
	uint64_t map_size;
	uint64_t id;
	uint64_t names_id;
	uint64_t t0; /* counter at creation; times in the cut word count from it */
	uint64_t
		delta_max; /* ticks a record may lie behind its base: 32 bits, as ns too */
	int64_t realtime_offset; /* CLOCK_REALTIME - CLOCK_MONOTONIC at creation, ns */
	uint64_t pid_namespace; /* inode, 0: the initial one; see map_stream in event.c */
	uint64_t time_namespace;  /* inode, 0: the kernel has none */
	uint64_t stream_min_size; /* resolved; what SIZE-11 guarantees */
	uint64_t max_data_size;
	uint32_t record_max; /* no larger record fits: the event is lost (EVENT-27) */
	int32_t policy;	     /* POSIX_TRACE_LOOP, _UNTIL_FULL, _FLUSH */
	int32_t log_policy;
	uint32_t has_log;
	uint32_t is_inherited;
	int32_t target_pid;
	int32_t controller_pid;
	uint32_t owner_uid;
	uint32_t pad_uid;
	struct ptrc_attr attr; /* snapshot, as posix_trace_get_attr reports it */

	/* -- changing seldom -- */
	_Alignas(64) _Atomic uint64_t status;
	_Atomic uint64_t cut;
	_Atomic uint64_t
		horizon; /* LOOP: counter of the last event overwritten, CAS-max */
	_Atomic uint64_t
		first_lost;	/* LOOP: counter of the first one, CAS-min; TIME_NONE */
	_Atomic uint64_t epoch; /* number of clears; chunks of an older one are empty */
	_Atomic uint64_t
		cleared_at;   /* counter of the last clear: earlier losses are nobody's */
	_Atomic uint64_t run; /* number of starts, for the cut word's tag */
	/* Stamps in [dead_from, dead_until) belong to no run: recorded by writers that
	 * had not yet seen the automatic stop. */
	_Atomic uint64_t dead_from, dead_until;
	_Atomic uint64_t lost_events;
	_Atomic uint32_t state_lock; /* tid of the controller's or keeper's thread that
				      * changes the stream's state; taken over when dead */
	_Atomic uint32_t
		needs_global_barrier; /* a target could not register for membarrier */
	_Atomic uint32_t slots_used;  /* slots ever used: readers look no further */
	_Atomic uint32_t chunks_used; /* chunks ever used: nobody looks further */
	_Atomic uint64_t clock_word;  /* entries << 32 | tid of who appends one, or 0 */
	_Atomic uint64_t clock_due; /* due of the last entry, or of an earlier one if its
				       * writer is slow or dead; CAS-max */
	_Atomic uint32_t processes; /* processes that ever attached */
	_Atomic uint32_t threads;   /* slots ever claimed */
	_Atomic uint64_t
		reaper; /* as slot.owner: who reaps the slots of the dead, or 0 */

	/* -- sleeping and waking -- */
	_Alignas(64) _Atomic uint32_t event_futex; /* readers of a live stream */
	_Atomic uint32_t
		keeper_bell; /* whatever the keeper must look at; bumped, then woken */
	_Atomic uint32_t keeper_wake; /* a writer rang because of room; keeper clears */

	/* -- controller to keeper (one command at a time, under the controller's lock) -- */
	_Atomic uint32_t keeper_command;
	_Atomic uint32_t
		keeper_seq; /* number of the command; bumped after it is filled in */
	_Atomic uint32_t keeper_done;  /* futex: number of the last command finished */
	_Atomic int32_t keeper_result; /* its error number */
	_Atomic int32_t keeper_pid;    /* the keeper's, 0 before it is ready */
	_Atomic uint64_t fsize_limit;  /* RLIMIT_FSIZE of the controller */
	struct ptrc_context
		command_origin; /* whose call it is, for the flush's markers */
	uint64_t command_addr;

	/* -- reader of a stream with log to the keeper: what is flushed before it was read
	 * is never seen there (GETNEXT), so an automatic flush waits a moment -- */
	_Alignas(64) _Atomic uint64_t tee_beat; /* CLOCK_MONOTONIC of its last look, ns */
	_Atomic uint64_t tee_until; /* counter: everything up to it has been read */

	/* -- keeper to the world -- */
	_Alignas(64) _Atomic uint64_t log_events; /* events the log holds now */
	_Atomic uint64_t log_bytes;		  /* their bytes */
	_Atomic uint64_t log_lost_events; /* overwritten or discarded in the log */
	_Atomic uint64_t
		flushed_until; /* counter: everything up to it is in the log, or lost */
	/* Where the log is, for whoever must finish it when controller and keeper died. */
	uint64_t log_dev, log_ino;
	char log_path[4096];
	/* The log writer's own notes, so that another keeper can take over. */
	_Atomic uint64_t log_state[64];
	/* The gap its last drain has found: the first event lost, TIME_NONE if that is told
	 * of, and the last one. */
	_Atomic uint64_t gap_first, gap_last;
};

/* Events that left the stream for good, by id. Written by the consumer (reader of a plain
 * stream, keeper of a logged one) alone; those still in the stream are counted there. */
struct ptrc_type_count {
	_Atomic uint64_t events;
	_Atomic uint64_t bytes; /* of data */
	_Atomic uint64_t truncated;
};

#define PTRC_TYPE_COUNT 1088U

struct ptrc_type_counts {
	/* Odd while the keeper moves events from the stream to here: who counts both starts
	 * over. A reader of a plain stream is kept out by the controller's reader_lock. */
	_Atomic uint64_t version;
	_Atomic uint64_t
		epoch; /* header.epoch of what is counted; older: cleared, all 0 */
	uint8_t pad[64 - 16];
	struct ptrc_type_count type[PTRC_TYPE_COUNT];
};
_Static_assert(sizeof(struct ptrc_type_counts) == 64 + PTRC_TYPE_COUNT * 24, "counts");

#define PTRC_STREAM_TYPE_OFFSET UINT64_C(16384)
#define PTRC_STREAM_CLOCK_OFFSET   \
	(PTRC_STREAM_TYPE_OFFSET + \
	 ((sizeof(struct ptrc_type_counts) + UINT64_C(4095)) & ~UINT64_C(4095)))
#define PTRC_STREAM_SLOT_OFFSET     \
	(PTRC_STREAM_CLOCK_OFFSET + \
	 PTRC_CLOCK_ENTRY_COUNT * sizeof(struct ptrc_clock_entry))
#define PTRC_STREAM_CHUNK_CTL_OFFSET \
	(PTRC_STREAM_SLOT_OFFSET + PTRC_SLOT_COUNT * sizeof(struct ptrc_slot))

_Static_assert(sizeof(struct ptrc_stream_header) <= PTRC_STREAM_TYPE_OFFSET,
	       "header fits");
_Static_assert(PTRC_STREAM_CLOCK_OFFSET % 4096 == 0 &&
		       PTRC_STREAM_SLOT_OFFSET % 4096 == 0 &&
		       PTRC_STREAM_CHUNK_CTL_OFFSET % 4096 == 0,
	       "areas begin on pages");
_Static_assert(PTRC_SLOT_COUNT <= 0x4000, "slot index fits the chunk word");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2,
	       "shared words need lock-free atomics");

#endif
