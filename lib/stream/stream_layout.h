/* SPDX-License-Identifier: MIT */
/*
 * The layout of a stream object `s.<id>`, which controller, keeper and traced processes share.
 * The comment on a shared word says which process may write it. The object holds no pointers,
 * only indices and offsets, and each process checks them before use.
 *
 *   offset 0                       struct ptrc_stream_header
 *   PTRC_STREAM_TYPE_OFFSET        counts by event type
 *   PTRC_STREAM_CLOCK_OFFSET       clock entries
 *   PTRC_STREAM_PATTERN_OFFSET     patterns, and their verdict on each event type
 *   PTRC_STREAM_SLOT_OFFSET        slots of writers
 *   PTRC_STREAM_CHUNK_CTL_OFFSET   one control entry per chunk
 *   ptrc_stream_chunk_offset()     chunks, header.chunk_size bytes each
 *
 * The file is sparse. Memory is reserved at creation for the header, the counts of the first 680
 * types, the first page of clock entries (enough for a minute), the first 64 slots, the base
 * chunks, which hold stream-min-size, and their control entries. A process that needs a part
 * without memory, for instance the patterns, first reserves memory for this part
 * (ptrc_file_populate). If there is no memory, the process does not use the part.
 */
#ifndef PTRC_LIB_STREAM_STREAM_LAYOUT_H
#define PTRC_LIB_STREAM_STREAM_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/model/attr.h"
#include "lib/model/eventset.h"
#include "lib/model/names.h"
#include "lib/model/record.h"

#define PTRC_STREAM_MAGIC UINT64_C(0x314d525453525450) /* "PTRSTRM1" */

/* Control word: serial << 8 | bits. A writer records only while the word has the value for which
 * the writer was last set up. So every change of state, filter or epoch gives the word a new
 * serial, and every writer then looks at the new state. */
#define PTRC_CTL_RUN UINT64_C(1)    /* events are recorded */
#define PTRC_CTL_LOSING UINT64_C(2) /* stopped automatically: events are lost, and counted */
#define PTRC_CTL_FENCE UINT64_C(4)  /* the kernel has no membarrier: writers use fences */
#define PTRC_CTL_MONO UINT64_C(8)   /* no usable counter: stamps are CLOCK_MONOTONIC ns */
#define PTRC_CTL_ENDED UINT64_C(16) /* the stream has ended: processes unmap it */
#define PTRC_CTL_BITS UINT64_C(0xff)
#define PTRC_CTL_SERIAL_SHIFT 8
#define PTRC_CTL_SERIAL_ONE (UINT64_C(1) << PTRC_CTL_SERIAL_SHIFT)

/* Status word: everything that posix_trace_get_status() reports, in one atomic word, so that its
 * parts are consistent, and reading and resetting it is one step. */
#define PTRC_ST_RUNNING (UINT64_C(1) << 0)
#define PTRC_ST_FULL (UINT64_C(1) << 1)
#define PTRC_ST_OVERRUN (UINT64_C(1) << 2)
#define PTRC_ST_FLUSHING (UINT64_C(1) << 3)
#define PTRC_ST_LOG_OVERRUN (UINT64_C(1) << 4)
#define PTRC_ST_LOG_FULL (UINT64_C(1) << 5)
#define PTRC_ST_AUTO_STOPPED (UINT64_C(1) << 6)
/* The stream restarts by itself once its events and its STOP event are reported or flushed. */
#define PTRC_ST_RESTART_ARMED (UINT64_C(1) << 7)
/* Copies of OVERRUN and LOG_OVERRUN for the log. posix_trace_get_status() resets the originals;
 * only a clear resets the copies. */
#define PTRC_ST_EVER_OVERRUN (UINT64_C(1) << 8)
#define PTRC_ST_EVER_LOG_OVERRUN (UINT64_C(1) << 9)
/* The log is full and has the policy UNTIL_FULL: the stream does not restart until it is cleared. */
#define PTRC_ST_LOG_STOPPED (UINT64_C(1) << 10)
/* The STOP event of the automatic stop has been reported or flushed. */
#define PTRC_ST_STOP_OUT (UINT64_C(1) << 11)
/* A start found the stream full. No run began, so there will be no STOP event. */
#define PTRC_ST_NO_STOP (UINT64_C(1) << 12)
/* A start call has armed the restart: the START at the restart is of the controller. Without such a
 * call it is of no process, which says that no call had stopped the stream meanwhile. */
#define PTRC_ST_CALLED (UINT64_C(1) << 13)
/* The low byte of header.run. A writer that is still busy with an earlier run sees from this byte
 * that a new run has started, and leaves the status unchanged. */
#define PTRC_ST_RUN_SHIFT 16
#define PTRC_ST_RUN_MASK (UINT64_C(0xff) << PTRC_ST_RUN_SHIFT)
/* The upper 32 bits hold the error number of a failed flush; 0: none. */
#define PTRC_ST_ERROR_SHIFT 32

/* The cut: the moment at which a run stopped because the stream was full, as run << 56 | ticks
 * since t0. `run` is the low byte of the run's number, so that a slow writer of an earlier run
 * cannot stop the current run. */
#define PTRC_CUT_NONE UINT64_C(0)
#define PTRC_CUT_RUN_SHIFT 56
#define PTRC_CUT_TIME_MASK ((UINT64_C(1) << PTRC_CUT_RUN_SHIFT) - 1)

#define PTRC_TIME_NONE UINT64_MAX

/* slot of the controller's own events */
#define PTRC_SLOT_CONTROLLER 0U
/* slot of the keeper's own events; chunks of this slot do not count towards stream-min-size */
#define PTRC_SLOT_KEEPER 1U
#define PTRC_SLOT_FIRST 2U
#define PTRC_SLOT_COUNT 8192U

/* A writer's entry in the stream. */
struct ptrc_slot {
	/* tid << 42 | time at which the thread claimed the slot, in ms of CLOCK_BOOTTIME; 0: the
	 * slot is free. A thread claims a slot by CAS. The owner releases the slot; if the owner is
	 * dead, any process that notices this releases it. */
	_Atomic uint64_t owner;
	/* The mark: frame address of the owner's event call that is under way, 0 if there is none.
	 * A process that needs all events waits until the mark is cleared. An event call in a
	 * signal handler that interrupted another event call sees the mark and takes another slot.
	 * Only the owner writes this word; the next owner clears the mark of a dead owner. */
	_Atomic uint64_t frame;
	_Atomic int32_t pid;
	uint32_t reserved;
	/* Identity of the owner's program, which changes with exec; 0: the owner has just
	 * claimed the slot. */
	_Atomic uint64_t image;
	uint8_t pad[128 - 32];
};
_Static_assert(sizeof(struct ptrc_slot) == 128, "a slot has two cache lines of its own");

#define PTRC_SLOT_TID_SHIFT 42
#define PTRC_SLOT_CLAIM_MASK ((UINT64_C(1) << PTRC_SLOT_TID_SHIFT) - 1)

/* Chunk word: gen:32 | slot:14 | claim:13 | pin:2 | state:3. gen (generation) counts how often a
 * writer has taken the chunk empty. claim counts the writers that have adopted the chunk since: an
 * adopter continues after the last record. slot is the index of the owner's slot. */
#define PTRC_CHUNK_STATE_MASK UINT64_C(7)
#define PTRC_CHUNK_FREE UINT64_C(0)
#define PTRC_CHUNK_OWNED UINT64_C(1)
#define PTRC_CHUNK_SEALED UINT64_C(2)  /* full */
#define PTRC_CHUNK_PARTIAL UINT64_C(3) /* has room and no owner: a writer may adopt it */
/* A writer of a LOOP stream is taking the chunk to overwrite it. It may not have noted yet that the
 * chunk's events are lost. */
#define PTRC_CHUNK_STEALING UINT64_C(4)
#define PTRC_CHUNK_PIN_READER (UINT64_C(1) << 3) /* the controller's reader uses the chunk */
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
	/* gen << 32 | offset up to which events are consumed: reported by the reader of a stream
	 * without a log, or flushed by the keeper of a logged stream. Reader or keeper writes this
	 * word while it has pinned the chunk. If this gen differs from that of the chunk word, no
	 * event of the chunk is consumed yet. */
	_Atomic uint64_t rpos;
	/* Stored by the owner when it takes the chunk. epoch: the header's epoch. tfirst: a
	 * stamp; no record in the chunk has an earlier stamp. */
	_Atomic uint64_t epoch;
	_Atomic uint64_t tfirst;
	/* tlast, end and count are stored before the chunk word leaves the state OWNED, and are
	 * valid from then on. */
	_Atomic uint64_t tlast;	 /* stamp of the last record */
	_Atomic uint32_t end;	 /* offset of the end of the last record */
	_Atomic uint32_t count;	 /* events in the chunk, without HIDDEN records */
	_Atomic uint32_t rcount; /* how many of these events are before the offset in rpos */
	uint32_t pad;
	/* gen << 32 | offset up to which a flush has taken events. If the keeper dies after it has
	 * noted that all these events are in the log, the next keeper marks them as consumed and
	 * does not write them again. Only a keeper writes this word. */
	_Atomic uint64_t taken;
};
_Static_assert(sizeof(struct ptrc_chunk_ctl) == 64, "chunk control entry");

struct ptrc_chunk {
	/* gen << 32 | offset of the end of the last complete record. Only the owner writes pos,
	 * with release after the record's bytes: a record exists if and only if it ends at pos or
	 * before. */
	_Atomic uint64_t pos;
	uint8_t pad0[64 - 8];
	/* base and origin are written by the owner when it takes the chunk, before pos. */
	uint64_t base; /* the stamp to which the times in the records are relative */
	struct ptrc_context origin;
	uint8_t pad1[64 - 24];
	/* records follow */
};
_Static_assert(sizeof(struct ptrc_chunk) == 128, "chunk header");

/* An entry that converts stamps from `counter` on to times: the time of stamp x is ns + ((x -
 * counter) * mult >> 32), in ns of this stream's approximation of CLOCK_MONOTONIC (clock.h). Any
 * process may append an entry. */
struct ptrc_clock_entry {
	_Atomic uint64_t counter;
	_Atomic int64_t ns;
	_Atomic int64_t true_ns; /* CLOCK_MONOTONIC measured at `counter` */
	/* Only events with stamps before `due` get their times from this entry. `due` is raised if
	 * the next entry is needed and there is no memory for it. */
	_Atomic uint64_t due;
	/* 0 or GIVEN_UP: the entry is not valid, and readers skip it. Stored after the other
	 * members, by CAS. */
	_Atomic uint64_t mult;
};

/* The thread that was appending this entry was dead or slow, and another thread has taken over. */
#define PTRC_CLOCK_GIVEN_UP UINT64_MAX

#define PTRC_CLOCK_ENTRY_COUNT 16384U

/* Commands to the keeper, in header.keeper_command. */
#define PTRC_KEEPER_NONE 0U
#define PTRC_KEEPER_FLUSH 1U
#define PTRC_KEEPER_CLEAR 2U /* discard all events in the log */
#define PTRC_KEEPER_CLOSE 3U /* final flush, close the log, exit */

#define PTRC_STREAM_LOG_STATE_WORDS 312U

/* The location of a log. ino is 0 if the log is no regular file or its location is unknown. */
struct ptrc_log_place {
	uint64_t dev, ino;
	/* For a rotated log, the length of the first file's path in `path`. */
	uint64_t base_bytes;
	char path[4096];
};

/* log_state[0] is 0 if no state of the log's writer was saved, else 1 + copy + 2 * place. `copy`
 * says which copy of the state is valid. `place` says which of the two elements of log_place is
 * the location of the log. */
#define PTRC_LOG_STATE_WHICH_MAX UINT64_C(4)
#define PTRC_LOG_STATE_COPY(which) (((which)-1) & 1)
#define PTRC_LOG_STATE_PLACE(which) (((which)-1) >> 1)

/* A tee is a reader that takes no events out of the stream. If a tee has not looked at the stream
 * for this time, it counts as away, and the keeper flushes without waiting for it. An active tee
 * looks every few milliseconds, but may have to wait for a processor. */
#define PTRC_TEE_AWAY_NS UINT64_C(150000000)

/* Announces a process that has started to record: the keeper reads about it in /proc while it
 * lives. The process stores the pid last; the keeper sets it to 0. */
struct ptrc_arrival {
	_Atomic uint64_t stamp;
	_Atomic int32_t pid; /* 0: empty entry */
	/* identity of the program that the process executes (ptrc_image_of) */
	_Atomic uint32_t image;
};
#define PTRC_ARRIVALS 32U

/* The controller has asked that, if the controller dies before it ends the trace, the log says how
 * many traced processes went on. The keeper then counts them. If the stream has no log, this holds
 * for the log into which the stream is salvaged. */
#define PTRC_ENDING_WATCHED 1U
/* The other members of struct ptrc_ending are valid. */
#define PTRC_ENDING_KNOWN 2U
struct ptrc_ending {
	_Atomic uint32_t state; /* 0 or PTRC_ENDING_*; stored last */
	/* Not 0: the command of ptrace-run has ended. `status` is its exit status, or -1 if signal
	 * `signal` ended it. */
	uint32_t has_status;
	int32_t status, signal;
	uint32_t processes; /* number of traced processes that went on */
	/* pid of the process that starts a keeper to finish the log after the controller died. It
	 * has mapped the stream, too, and must not be counted in `processes`. */
	int32_t finisher;
	uint64_t stamp; /* stamp of the moment to which the other members apply */
};

#define PTRC_UNNOTED_PIDS 4096U

struct ptrc_stream_header {
	/* -- first cache line: every event call reads it, so it is written seldom: when the stream
	 * changes its state, its filter or its patterns, and when a reader goes to sleep or is
	 * woken -- */
	_Alignas(64) _Atomic uint64_t control;
	/* Not 0: readers sleep on event_futex, and this is the ticket of the reader that went to
	 * sleep last. A process that wakes the readers then clears the word, but only if no reader
	 * has stored another ticket meanwhile. */
	_Atomic uint32_t waiters;
	_Atomic uint32_t waiter_ticket; /* the last ticket given out */
	/* A bit for each event type; events whose bit is set are not recorded. Written by the
	 * controller, under its lock, and for a clear also by the keeper. */
	_Atomic uint64_t filter[PTRC_SET_WORD_COUNT];
	/* A bit for each event type; events whose bit is set are recorded even if filter or
	 * patterns exclude them. While filter or patterns are being changed, the bit of a type is
	 * set if only the old or only the new setting accepts the type. */
	_Atomic uint64_t pass[PTRC_SET_WORD_COUNT];
	/* The patterns in force: number << 2 | list << 1 | PTRC_PATTERNS_ON. Each change of the
	 * patterns and each clear of the stream gives them a new number. Written by the
	 * controller, under its lock, and for a clear also by the keeper. */
	_Atomic uint32_t patterns;

	/* -- identity: written at creation only -- */
	_Alignas(64) uint64_t magic;
	uint32_t version; /* of this layout; see lib/base/shared_version.h */
	uint32_t chunk_size;
	uint32_t chunk_count;	   /* number of chunks for which the file has space */
	uint32_t base_chunk_count; /* number of chunks whose memory was reserved at creation */
	uint64_t map_size;
	uint64_t id;
	uint64_t names_id;
	uint64_t t0; /* stamp of the creation, to which the cut is relative */
	/* How many ticks a stamp may be later than the stamp to which it is relative
	 * (ptrc_chunk.base): a difference that fits in 32 bits both in ticks and in ns. */
	uint64_t delta_max;
	int64_t realtime_offset; /* CLOCK_REALTIME - CLOCK_MONOTONIC at creation, ns */
	/* Inodes of the controller's pid and time namespaces. Processes in other namespaces do
	 * not map the stream, because they have other thread IDs or another CLOCK_MONOTONIC. 0:
	 * the initial namespace, or the kernel has no namespaces. */
	uint64_t pid_namespace;
	uint64_t time_namespace;
	uint64_t stream_min_size; /* the stream can hold at least this many bytes of events */
	uint64_t max_data_size;
	/* For a FLUSH stream: if the stream is full, a writer waits this long for the keeper to
	 * make room, and then stops the stream. 0: it stops the stream at once. */
	uint64_t full_wait_ns;
	uint32_t record_max; /* in bytes; events with larger records are lost */
	int32_t policy;	     /* POSIX_TRACE_LOOP, _UNTIL_FULL, _FLUSH */
	int32_t log_policy;
	uint32_t has_log;
	uint32_t is_inherited;
	int32_t target_pid;
	int32_t controller_pid;
	uint32_t owner_uid;
	uint32_t pad_uid;
	struct ptrc_attr attr; /* the attributes as posix_trace_get_attr() reports them */

	/* -- words that change seldom -- */
	_Alignas(64) _Atomic uint64_t status;
	_Atomic uint64_t cut;
	/* For a LOOP stream. horizon: stamp of the latest event that was overwritten; it only
	 * rises, until a clear sets it to 0. first_lost: stamp of the earliest lost event whose
	 * loss no consumer has taken note of, lowered by writers; PTRC_TIME_NONE: there is none.
	 * Written by writers and consumers. */
	_Atomic uint64_t horizon;
	_Atomic uint64_t first_lost;
	/* Number of times that the stream was cleared. Chunks taken in an older epoch count as
	 * empty. */
	_Atomic uint64_t epoch;
	/* Stamp of the last clear. Losses up to it are not reported. */
	_Atomic uint64_t cleared_at;
	_Atomic uint64_t run; /* number of starts */
	/* Events with stamps from dead_from on and before dead_until belong to no run: they were
	 * recorded between two runs, by writers that had not yet seen the automatic stop of the
	 * first run. */
	_Atomic uint64_t dead_from, dead_until;
	_Atomic uint64_t lost_events;
	/* Events that an observer (ptrc_observer_add()) could not see, because the kernel had lost
	 * them. They are not among lost_events. */
	_Atomic uint64_t unobserved_events;
	/* The lock for changes of state: the ID of the thread, of controller or keeper, that holds
	 * it; 0: none. If the holder is dead, or does not release the lock for two seconds, another
	 * thread takes the lock. */
	_Atomic uint32_t state_lock;
	/* Not 0: a traced process could not register for membarrier, so ptrc_barrier() must reach
	 * all processes. Written by that process. */
	_Atomic uint32_t needs_global_barrier;
	_Atomic uint32_t slots_used;  /* slots from this index on were never used */
	_Atomic uint32_t chunks_used; /* chunks from this index on were never used */
	_Atomic uint64_t clock_word;  /* number of entries << 32 | thread that appends an entry,
				       * or 0 */
	/* Writers record no event with this or a later stamp before a new clock entry is appended.
	 * The word is the `due` of the last clock entry, or of an earlier entry if an appender is
	 * slow or dead. It is only raised. */
	_Atomic uint64_t clock_due;
	_Atomic uint32_t processes; /* how often a traced process has mapped the stream */
	_Atomic uint32_t threads;   /* how often a traced thread has claimed a slot */
	/* The thread that is reaping (taking back the slots of dead threads), and since when, in
	 * the form of slot.owner. If the thread is 0, no thread reaps, and the time is that of the
	 * last reaping. */
	_Atomic uint64_t reaper;

	/* -- sleeping and waking -- */
	/* Readers of a live stream sleep here. */
	_Alignas(64) _Atomic uint32_t event_futex;
	/* The keeper sleeps here. A process that wakes the keeper first adds 1 to this word. */
	_Atomic uint32_t keeper_bell;
	/* The reasons for which processes woke the keeper, as bits. The keeper clears the word
	 * before it looks at the stream. */
	_Atomic uint32_t keeper_wake;
#define PTRC_WAKE_LOOK 1U    /* the stream is filling up, or its state has changed */
#define PTRC_WAKE_ROOM 2U    /* a writer sleeps until there is room */
#define PTRC_WAKE_ARRIVAL 4U /* a process (see `arrival`) or a thread has begun to record */
	/* Writers that find no room sleep here (full_wait.h). Odd: a writer sleeps, or is about
	 * to sleep. A process that makes room or changes the control word adds 1 if the word is
	 * odd, and wakes all these writers. */
	_Atomic uint32_t room_word;
	/* Number of successful flushes. Only the keeper writes it. */
	_Atomic uint32_t room_made;
	/* Error number of the last flush, or 0. Only the keeper writes it. */
	_Atomic int32_t flush_error;
	/* waits: number of event calls that have slept on room_word. wait_ns: how long they have
	 * slept in all. Written by writers; a clear sets both to 0. */
	_Atomic uint64_t waits, wait_ns;
	/* Length in bytes of the largest data that was truncated to max_data_size; 0: no data was
	 * truncated. Only raised, until a clear sets it to 0. */
	_Atomic uint64_t data_needed;

	/* -- controller to keeper: one command at a time, under the controller's lock -- */
	_Atomic uint32_t keeper_command;
	/* Number of the command; raised when the command is ready to be read. */
	_Atomic uint32_t keeper_seq;
	_Atomic uint32_t keeper_done;  /* futex: number of the last command finished */
	_Atomic int32_t keeper_result; /* error number of that command, or 0 */
	_Atomic int32_t keeper_pid;    /* 0 until the keeper is ready */
	/* Raised before a keeper is started; the keeper knows its own number. A keeper with an
	 * older number exits, because the process that started it has given it up. */
	_Atomic uint32_t keeper_number;
	/* Not 0: the controller no longer waits for a log, such as a pipe, that accepts no data. */
	_Atomic uint32_t is_log_given_up;
	_Atomic uint64_t fsize_limit; /* RLIMIT_FSIZE of the controller */
	/* The process and thread whose call has sent the command, and the address of the call.
	 * They become the origin of FLUSH_START and FLUSH_STOP. */
	struct ptrc_context command_origin;
	uint64_t command_addr;

	/* -- from tees (readers that take no events out) to the keeper. A tee cannot read an event
	 * once it is flushed, so an automatic flush waits a moment for active tees. -- */
	_Alignas(64) _Atomic uint64_t tee_beat; /* time when a tee last looked, CLOCK_MONOTONIC in
						 * ns */
	/* all active tees have read events up to this stamp */
	_Atomic uint64_t tee_until;
	/* From the keeper to the tees: every event that a flush has consumed has at most this stamp. */
	_Atomic uint64_t consumed_until;

	/* -- from the keeper to all processes -- */
	_Alignas(64) _Atomic uint64_t log_events; /* events that the log holds now */
	_Atomic uint64_t log_bytes;		  /* bytes of these events */
	/* events that were overwritten or discarded in the log */
	_Atomic uint64_t log_lost_events;
	/* Every event up to this stamp is in the log or lost. */
	_Atomic uint64_t flushed_until;
	/* The location of the log, for the process that finishes the log after controller and
	 * keeper have died. A keeper stores a new location in the element that is not in use. The
	 * next state of the log that it saves selects this element, so location and state always
	 * belong together. */
	struct ptrc_log_place log_place[2];
	/* The saved state of the log's writer, from which another keeper can continue the log. */
	_Atomic uint64_t log_state[PTRC_STREAM_LOG_STATE_WORDS];
	/* Not 0: this stream is an orphan (its controller and keeper have died), and the keepers
	 * that were started to write its events into the log died too. posix_trace_create() then
	 * ignores the stream; ptrace-salvage tries again. Written under the cleaner's lock
	 * (lib/process/orphan.h). */
	_Atomic uint32_t has_killed_keepers;
	/* Not 0: the log that a keeper gets for this stream, whose controller has died, is a new,
	 * empty file. The inode does not show this, because the new file may have the inode of the
	 * old log. Set or cleared under the cleaner's lock (lib/process/orphan.h) before the keeper
	 * is started. The keeper clears it once it has written the start of the file, before it
	 * writes events, and sets it again if it gives the file up without any. */
	_Atomic uint32_t is_log_new;
	/* Not 0: the log is closed without waiting until its data is on the disk. Written by the
	 * controller. */
	_Atomic uint32_t is_log_unsynced;
	/* The gap that the keeper's last flush found: stamps of the first and of the last lost
	 * event. gap_first is PTRC_TIME_NONE once the gap is in the log. */
	_Atomic uint64_t gap_first, gap_last;
	/* Processes that have started to record into a stream with a log, each in entry pid %
	 * PTRC_ARRIVALS. The keeper reads about these processes in /proc while they are alive, and
	 * clears the entries. If another process overwrites an entry, nothing is lost: the keeper
	 * notices the first process when it reads the first events of that process. */
	struct ptrc_arrival arrival[PTRC_ARRIVALS];
	/* Not 0: command lines of processes are not written to the log. Written by the
	 * controller. */
	_Atomic uint32_t hides_command_lines;
	/* The time zone of the controller, for the log. Written at creation only. */
	int32_t utc_offset; /* in seconds east of UTC, at the creation */
	uint32_t has_utc_offset;
	char time_zone[64]; /* name of the time zone, zero-terminated; empty: unknown */
	/* The end of the log says this about the processes of the trace. Written by the
	 * controller before it closes the log or, if the controller has died, by the keeper. */
	struct ptrc_ending ending;
	/* The last attempt to continue a rotated log in another file: its error number, or 0, and
	 * the number in the name of that file. Written by the keeper. */
	_Atomic uint64_t rotation_error, rotation_file;
	/* When the target was started, in ticks from boot: distinguishes it from a later process with
	 * its pid. Written at creation only. */
	uint64_t target_start_ticks;
	/* The stamp of the latest START or FILTER that the consumer (the reader of a stream without a
	 * log, or the keeper) has taken; written by it before it frees the event. A reader that takes
	 * nothing and has not read that event does not know the filter. */
	_Atomic uint64_t filter_taken;
	/* A bit, number pid % PTRC_UNNOTED_PIDS, for each process that should have been traced, and
	 * for which /dev/shm had no room: not for its page, nor for a note (untraced.h). Set by the
	 * process. */
	_Atomic uint64_t unnoted[PTRC_UNNOTED_PIDS / 64];
};

/* Counts of the consumed events of one type; events that are in the stream are not included. */
struct ptrc_type_count {
	_Atomic uint64_t events;
	_Atomic uint64_t bytes; /* sum of the lengths of the events' data */
	_Atomic uint64_t truncated;
};

#define PTRC_TYPE_COUNT (PTRC_SET_ID_MAX + 1)
/* The number of types whose counts have memory from the start. Few programs have more types. */
#define PTRC_TYPE_READY_COUNT 680U

/* Counts by event type. Only the consumer writes them: the reader of a stream without a log, or the
 * keeper of a logged stream. */
struct ptrc_type_counts {
	/* Odd while the keeper consumes events and adds them to these counts. A process that adds
	 * these counts to the number of events in the stream starts over if the version is odd or
	 * has changed. In a stream without a log the version stays 0: only the controller reads and
	 * counts, and its reader_lock keeps it from doing both at once. */
	_Atomic uint64_t version;
	/* The epoch of the counted events. If the header's epoch is newer, all counts are
	 * regarded as 0. */
	_Atomic uint64_t epoch;
	/* The counts of types below this number have memory; no process touches the others. The
	 * consumer raises the number after reserving memory. */
	_Atomic uint64_t ready;
	uint8_t pad[64 - 24];
	/* The counts by event type. Element 0, which belongs to no type, counts the events of all
	 * types whose counts have no memory. */
	struct ptrc_type_count type[PTRC_TYPE_COUNT];
};
_Static_assert(sizeof(struct ptrc_type_counts) == 64 + PTRC_TYPE_COUNT * 24, "counts");
_Static_assert(offsetof(struct ptrc_type_counts, type[PTRC_TYPE_READY_COUNT]) == 4 * 4096,
	       "the first counts fill four pages");

/*
 * Patterns: which names of event types are recorded. There are two lists. The controller writes
 * the list that is not in force and then puts it in force by changing header.patterns. Like the
 * rest of the object, the lists are untrusted.
 */
#define PTRC_PATTERNS_MAX 256U
#define PTRC_PATTERNS_ON 1U /* there is at least one pattern */
#define PTRC_PATTERNS_LIST 2U
#define PTRC_PATTERNS_ONE 4U /* added to header.patterns, gives the next number */
#define PTRC_PATTERNS_NUMBER UINT32_C(0xfffffffc)

/* The verdict of the patterns on an event type: verdict[id] is number << 2 | one of these. If the
 * number is not that of the patterns in force, the type's name was not compared with them yet. */
#define PTRC_VERDICT_RECORD 0U
#define PTRC_VERDICT_EXCLUDE 1U
/* posix_trace_set_filter() was called for this type after the patterns were set: only the filter
 * decides on this type. */
#define PTRC_VERDICT_DECIDED 2U

struct ptrc_pattern {
	/* 1: an "only" pattern: names that match no "only" pattern are excluded. 0: names that
	 * match this pattern are excluded. */
	uint32_t is_only;
	char glob[PTRC_NAME_BYTES];
};

struct ptrc_pattern_list {
	/* For each event type a verdict (PTRC_VERDICT_RECORD). A process that has compared the name
	 * of a type stores its verdict by CAS. The controller also stores DECIDED. */
	_Atomic uint32_t verdict[PTRC_SET_WORD_COUNT * PTRC_SET_WORD_BITS];
	/* count, system and pattern[] are written by the controller before the list is in force. */
	uint32_t count;
	uint32_t system; /* a bit for each excluded system event type */
	struct ptrc_pattern pattern[PTRC_PATTERNS_MAX];
};

#define PTRC_STREAM_TYPE_OFFSET UINT64_C(16384)
#define PTRC_STREAM_CLOCK_OFFSET   \
	(PTRC_STREAM_TYPE_OFFSET + \
	 ((sizeof(struct ptrc_type_counts) + UINT64_C(4095)) & ~UINT64_C(4095)))
#define PTRC_STREAM_PATTERN_OFFSET \
	(PTRC_STREAM_CLOCK_OFFSET + PTRC_CLOCK_ENTRY_COUNT * sizeof(struct ptrc_clock_entry))
#define PTRC_STREAM_SLOT_OFFSET       \
	(PTRC_STREAM_PATTERN_OFFSET + \
	 ((2 * sizeof(struct ptrc_pattern_list) + UINT64_C(4095)) & ~UINT64_C(4095)))
#define PTRC_STREAM_CHUNK_CTL_OFFSET \
	(PTRC_STREAM_SLOT_OFFSET + PTRC_SLOT_COUNT * sizeof(struct ptrc_slot))

_Static_assert(sizeof(struct ptrc_stream_header) <= PTRC_STREAM_TYPE_OFFSET, "header fits");
_Static_assert(PTRC_STREAM_CLOCK_OFFSET % 4096 == 0 && PTRC_STREAM_PATTERN_OFFSET % 4096 == 0 &&
		       PTRC_STREAM_SLOT_OFFSET % 4096 == 0 &&
		       PTRC_STREAM_CHUNK_CTL_OFFSET % 4096 == 0,
	       "areas begin on pages");
_Static_assert(PTRC_SLOT_COUNT <= 0x4000, "slot index fits the chunk word");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2,
	       "shared words need lock-free atomics");

/* The offsets and sizes are the same in all releases 1.x (lib/base/shared_version.h). */
PTRC_ASSERT_OFFSET(struct ptrc_slot, owner, 0);
PTRC_ASSERT_OFFSET(struct ptrc_slot, frame, 8);
PTRC_ASSERT_OFFSET(struct ptrc_slot, pid, 16);
PTRC_ASSERT_OFFSET(struct ptrc_slot, image, 24);
PTRC_ASSERT_OFFSET(struct ptrc_chunk_ctl, word, 0);
PTRC_ASSERT_OFFSET(struct ptrc_chunk_ctl, rpos, 8);
PTRC_ASSERT_OFFSET(struct ptrc_chunk_ctl, epoch, 16);
PTRC_ASSERT_OFFSET(struct ptrc_chunk_ctl, tfirst, 24);
PTRC_ASSERT_OFFSET(struct ptrc_chunk_ctl, tlast, 32);
PTRC_ASSERT_OFFSET(struct ptrc_chunk_ctl, end, 40);
PTRC_ASSERT_OFFSET(struct ptrc_chunk_ctl, count, 44);
PTRC_ASSERT_OFFSET(struct ptrc_chunk_ctl, rcount, 48);
PTRC_ASSERT_OFFSET(struct ptrc_chunk_ctl, taken, 56);
PTRC_ASSERT_OFFSET(struct ptrc_chunk, pos, 0);
PTRC_ASSERT_OFFSET(struct ptrc_chunk, base, 64);
PTRC_ASSERT_OFFSET(struct ptrc_chunk, origin, 72);
PTRC_ASSERT_SIZE(struct ptrc_clock_entry, 40);
PTRC_ASSERT_SIZE(struct ptrc_log_place, 4120);
PTRC_ASSERT_SIZE(struct ptrc_arrival, 16);
PTRC_ASSERT_SIZE(struct ptrc_ending, 32);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, control, 0);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, waiters, 8);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, filter, 16);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, pass, 1040);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, patterns, 2064);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, magic, 2112);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, version, 2120);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, chunk_size, 2124);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, map_size, 2136);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, names_id, 2152);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, t0, 2160);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, pid_namespace, 2184);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, stream_min_size, 2200);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, full_wait_ns, 2216);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, record_max, 2224);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, has_log, 2236);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, target_pid, 2244);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, attr, 2264);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, status, 2944);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, horizon, 2960);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, epoch, 2976);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, run, 2992);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, lost_events, 3016);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, state_lock, 3032);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, slots_used, 3040);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, clock_word, 3048);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, clock_due, 3056);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, processes, 3064);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, reaper, 3072);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, event_futex, 3136);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, keeper_bell, 3140);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, room_word, 3148);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, flush_error, 3156);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, waits, 3160);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, data_needed, 3176);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, keeper_command, 3184);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, keeper_pid, 3200);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, fsize_limit, 3216);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, command_origin, 3224);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, tee_beat, 3264);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, log_events, 3328);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, flushed_until, 3352);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, log_place, 3360);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, log_state, 11600);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, has_killed_keepers, 14096);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, gap_first, 14112);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, arrival, 14128);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, hides_command_lines, 14640);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, time_zone, 14652);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, ending, 14720);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, rotation_error, 14752);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, target_start_ticks, 14768);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, filter_taken, 14776);
PTRC_ASSERT_OFFSET(struct ptrc_stream_header, unnoted, 14784);
PTRC_ASSERT_SIZE(struct ptrc_pattern_list, 99336);
PTRC_ASSERT_SIZE(struct ptrc_attr, 624);
_Static_assert(PTRC_STREAM_CLOCK_OFFSET == 217088 && PTRC_STREAM_PATTERN_OFFSET == 872448 &&
		       PTRC_STREAM_SLOT_OFFSET == 1073152 &&
		       PTRC_STREAM_CHUNK_CTL_OFFSET == 2121728,
	       "the places of the areas are fixed");

#endif
