/* SPDX-License-Identifier: MIT */
/*
 * Writing a log. All units (source files) of the writer work on struct ptrc_log_writer. A copy of
 * its member `state` is kept in the shared memory of the stream, so that if the keeper dies, the
 * next keeper can continue the log.
 *
 * Each unit uses only the units named before it: log_output (saved state, packets, bytes to the
 * file, index of a sequential log), log_ring (places of packets), log_origin and log_events
 * (contents of packets), log_writer (head, clear and end of a log), log_rotate (several files). All
 * are freestanding, because the keeper has no C library: they make raw system calls, and get memory
 * by mmap.
 */
#ifndef PTRC_LIB_LOG_LOG_WRITE_H
#define PTRC_LIB_LOG_LOG_WRITE_H

#include "lib/log/log_layout.h"
#include "lib/model/eventset.h"
#include "lib/model/names.h"
#include "lib/stream/drain.h"
#include "lib/stream/stream.h"

/* A growing array of bytes, which moves when it grows. */
struct ptrc_log_buffer {
	uint8_t *bytes;
	uint64_t used, size;
	bool is_short; /* an addition since the last clear failed for want of memory */
};

PTRC_MUST_CHECK int ptrc_log_buffer_reserve(struct ptrc_log_buffer *b, uint64_t more);
/* Appends bytes. ENOMEM. Instead of each result, a caller may check is_short once after several
 * calls. */
int ptrc_log_buffer_add(struct ptrc_log_buffer *b, const void *data, uint64_t bytes);
/* The buffer's contents as an array of this type, and the number of elements of that array. */
#define PTRC_LOG_ITEMS(buffer, type) ((type *)(void *)(buffer)->bytes)
#define PTRC_LOG_COUNT(buffer, type) ((buffer)->used / sizeof(type))
/* Adds zeros until the size is a multiple of 8 bytes. */
void ptrc_log_buffer_pad(struct ptrc_log_buffer *b);
void ptrc_log_buffer_clear(struct ptrc_log_buffer *b);
void ptrc_log_buffer_free(struct ptrc_log_buffer *b);

/* The events of a flush on their way into the log. The stream hands them over in stretches: packed
 * events of one writer. In the batch a stretch is called a piece; its events stay packed. Each
 * packet gets whole pieces where possible; a piece is split only if some of its events are earlier,
 * and others later, than the start of the next packet. */
struct ptrc_log_batch {
	struct ptrc_log_buffer data;
	struct ptrc_log_buffer pieces; /* struct ptrc_log_piece */
	struct ptrc_log_buffer sums;   /* struct ptrc_type_sum */
	/* Numbers (uint32_t) of pieces. `waiting`, from element `next` on: pieces not chosen for a
	 * packet yet. `slice`: pieces chosen for the next packet. Both are sorted by the time of
	 * the first event. */
	struct ptrc_log_buffer waiting, slice;
	uint64_t next;
	struct ptrc_log_buffer cursors; /* scratch, for choosing event by event */
	struct ptrc_log_buffer work;	/* scratch, for splitting pieces: struct ptrc_log_work */
	/* Sizes as log-max-size counts them: of the waiting pieces, and of the largest event that
	 * the log takes. */
	uint64_t counted;
	uint64_t most;
};

/* An UNTIL_FULL log is full and takes no more events. */
#define PTRC_LOG_STATE_FULL UINT64_C(1)
/* The last event in the log, not counting FLUSH_START and FLUSH_STOP, is a STOP. */
#define PTRC_LOG_STATE_AFTER_STOP UINT64_C(2)
/* A ring was full once, and overwrites its oldest packets since then. */
#define PTRC_LOG_STATE_WRAPPED UINT64_C(4)
/* The filter in force is unknown: events were lost, or the keeper that saved this state died. */
#define PTRC_LOG_STATE_FILTER_UNKNOWN UINT64_C(8)
/* A flush failed, and its markers (FLUSH_START, FLUSH_STOP) stay in the stream until a flush
 * succeeds. Until then no flush records markers. */
#define PTRC_LOG_STATE_MARKERS_WAIT UINT64_C(16)
/* Another program truncated the file or wrote into it. */
#define PTRC_LOG_STATE_CUT UINT64_C(32)
/* The events at the end of the log about its processes (write_ending() in keeper_work.c) are
 * written. */
#define PTRC_LOG_STATE_ENDED UINT64_C(64)

/* The files of a rotated log before the current one; all 0 if that is the first. */
struct ptrc_log_past {
	uint64_t ordinal;	       /* number of these files since the last clear */
	uint64_t first_seq;	       /* number of EVENTS packets in these files */
	uint64_t events, bytes;	       /* number and size of the events in these files */
	struct ptrc_log_before before; /* is_overrun is unused */
};

/* Where and how to continue the log. log_state in the stream's header has two copies of this
 * structure, and a word that says which one is valid. */
struct ptrc_log_state {
	/* In a sequential log: its size. In a ring: the place of the next packet. */
	uint64_t offset;
	uint64_t seq; /* number of the next EVENTS packet */
	/* How many entries and how many layouts of the names object (the shared table of event
	 * names) the log has. */
	uint32_t names, layouts;
	uint64_t flags;
	uint64_t events, bytes;	   /* number and size of the events in the log now */
	uint64_t lost_events;	   /* events that a full log dropped, or that were too big */
	struct ptrc_log_ring ring; /* `ring` and `tail` are for rings only */
	uint64_t tail;		   /* bytes of the packets after the ring */
	/* A flush first writes its events to the log, then takes them out of the stream. Between
	 * these two steps written.until is the stamp up to which the log has the events; otherwise
	 * it is 0. If the keeper dies between the steps, the next keeper takes these events out of
	 * the stream without writing them again. */
	struct ptrc_drain_given written;
	uint64_t aside; /* bytes of packets to which the limit PTRC_LOG_ASIDE_BYTES applies */
	/* `member`, `oldest`, `past` and begun_ns are for rotated logs. `past` is also used when a
	 * stream without controller and keeper is salvaged into a new log
	 * (ptrc_log_state_begin_rest()). */
	uint64_t member; /* as in struct ptrc_log_head */
	uint64_t oldest; /* no file of the log has a smaller `member` */
	struct ptrc_log_past past;
	int64_t begun_ns;		      /* when the current file was begun; CLOCK_BOOTTIME */
	uint64_t filter[PTRC_SET_WORD_COUNT]; /* in force after the last event */
};
#define PTRC_LOG_STATE_WORDS 155U
_Static_assert(sizeof(struct ptrc_log_state) <= 8 * PTRC_LOG_STATE_WORDS &&
		       1 + 2 * PTRC_LOG_STATE_WORDS <= PTRC_STREAM_LOG_STATE_WORDS,
	       "two copies fit in log_state");
/* The offsets are the same in all releases 1.x, whose processes share this state
 * (lib/base/shared_version.h). */
PTRC_ASSERT_OFFSET(struct ptrc_log_state, events, 32);
PTRC_ASSERT_OFFSET(struct ptrc_log_state, ring, 56);
PTRC_ASSERT_OFFSET(struct ptrc_log_state, written, 96);
PTRC_ASSERT_OFFSET(struct ptrc_log_state, member, 120);
PTRC_ASSERT_OFFSET(struct ptrc_log_state, past, 136);
PTRC_ASSERT_OFFSET(struct ptrc_log_state, filter, 216);
PTRC_ASSERT_SIZE(struct ptrc_log_state, 1240);

/* The contents of the INDEX and TOTALS packets that are still to be written. */
struct ptrc_log_index {
	struct ptrc_log_buffer entries; /* struct ptrc_log_packet, since the last INDEX packet */
	/* struct ptrc_type_sum of the packets of the current flush */
	struct ptrc_log_buffer fresh;
	struct ptrc_log_buffer totals; /* struct ptrc_log_total of finished flushes, by type */
	uint64_t filtered[PTRC_SET_WORD_COUNT];
	uint64_t previous; /* offset of the last INDEX packet */
	bool is_lost;	   /* the log gets no index, since the list of packets is incomplete */
};

/* A hash table of processes or threads that the keeper knows, by their IDs. */
struct ptrc_log_table {
	struct ptrc_log_buffer items; /* each item starts with its ID, an int32_t; 0: free */
	uint32_t count;
};

/* The CLOCK packets written so far. */
struct ptrc_log_clocks {
	int64_t first_ns, last_ns; /* CLOCK_MONOTONIC of the first and the last packet; 0: none */
	int64_t ahead_ns;	   /* in the last packet: CLOCK_REALTIME minus the events' clock */
	int32_t status;
};

/* The processes and threads that the log describes. */
struct ptrc_log_origins {
	struct ptrc_log_table processes, threads; /* items: struct known, struct known_thread */
	struct ptrc_log_buffer work;		  /* scratch: struct work of log_origin.c */
	/* Descriptions that are not in the log yet. pending_processes: PROCESS payloads, each after
	 * its length. pending_threads: struct ptrc_log_thread. */
	struct ptrc_log_buffer pending_processes, pending_threads;
	int64_t next_scan_ns; /* when to look at the threads again; CLOCK_MONOTONIC */
	struct ptrc_log_clocks clocks;
	bool is_observed; /* the controller reports processes in the stream (--os=process) */
	uint32_t proc;	  /* PROC_* of log_origin.c: does /proc show our pid namespace? */
};

/* The trace that a log records. */
struct ptrc_log_trace {
	uint64_t id; /* the stream's id; for a log without a stream, a random number */
	const struct ptrc_attr *attr;
	int32_t target_pid, controller_pid;
	uint32_t owner_uid;
};

struct ptrc_log_writer {
	struct ptrc_log_trace trace;
	/* The header of the stream whose keeper writes the log; it gets a copy of the state. NULL:
	 * the writer is not a keeper but another program. */
	struct ptrc_stream_header *header;
	/* The header of the stream whose clock and processes the log describes. NULL: the events
	 * come from another source, perhaps another machine. */
	const struct ptrc_stream_header *origin;
	int fd;				/* of the log; -1: the log goes to `memory` */
	struct ptrc_log_buffer *memory; /* holds the log if fd is -1; otherwise unused */
	int dirfd;     /* descriptor of the directory of shared objects; -1: none */
	uint32_t kind; /* PTRC_LOG_RING or _SEQUENTIAL */
	int policy;
	bool is_regular, is_socket;
	bool keeps_nothing;    /* the log is /dev/null */
	uint64_t added_events; /* events added in this flush, but for FLUSH_START and FLUSH_STOP */
	/* Number of events of the last flush that are neither in the log nor counted as lost; 0 if
	 * the flush succeeded. */
	uint64_t unwritten_events;
	/* The descriptor has O_APPEND, with which pwrite() ignores its offset, so each write needs
	 * RWF_NOAPPEND. */
	bool must_not_append;
	/* file_end and `last` show whether another program has changed a regular file: the file
	 * must still have at least file_end bytes, and the first and the last bytes of the latest
	 * write, which are in `last`, must be unchanged. */
	uint64_t file_end;
	bool has_last;
	struct {
		uint64_t place;
		uint8_t bytes[sizeof(struct ptrc_log_packet)];
	} last[2];
	uint64_t limit; /* most bytes of events in the log (attribute log-max-size) */
	uint64_t ring_size;
	/* If this is set, a flush ends only when the log is on its disk. Until then the stream
	 * keeps the events of the flush, so that another process can salvage them if the write
	 * fails. */
	bool syncs_flushes;
	uint64_t close_reserve; /* bytes left free below the file size limit, for STATUS and END */
	struct ptrc_log_state state;
	struct ptrc_log_state retry; /* if has_retry: the state before a flush that failed midway */
	bool has_retry;
	/* If a flush into a pipe failed midway, the pipe has the events up to this time. The next
	 * flush gets all events of the failed flush again, and skips the ones up to this time.
	 * INT64_MIN: no event is skipped. */
	int64_t skip_ns;
	int64_t last_ns; /* time of the latest event of the last packet written */
	uint32_t place;	 /* index in header.log_place of the file being written */
	/* Rotation (log_rotate.c). rotate_bytes, rotate_ns and keep: see struct ptrc_log_head.
	 * `base` is the path of the first file; if it is empty, the log never continues in another
	 * file. */
	uint64_t rotate_bytes, rotate_ns, keep;
	/* After a failed rotation, no other one is attempted before this time (CLOCK_BOOTTIME). */
	int64_t rotate_after_ns;
	char base[4096];
	const struct ptrc_names_object *names; /* the names to write; NULL: there are none */
	uint32_t own_names;		       /* names written by ptrc_log_events_write_own() */
	struct ptrc_log_buffer out;  /* packets that are being built, before they are written */
	struct ptrc_log_batch batch; /* the events of the flush */
	/* the controller's descriptions of processes, which are taken in the order of their times */
	struct ptrc_log_batch observed;
	/* A log with the policy UNTIL_FULL must end with a STOP. So the markers (FLUSH_START,
	 * FLUSH_STOP) of flushes after that STOP are kept in `held`, and are written only when
	 * another event follows. A flush collects markers in held_next, which replaces `held` if
	 * the flush succeeds. */
	struct ptrc_log_buffer held, held_next; /* struct ptrc_log_held */
	struct ptrc_log_buffer lap; /* a ring's packets by age: struct ptrc_log_lap_entry */
	/* Number of the oldest packet's entry in `lap`, now and at the beginning of the flush. */
	uint64_t lap_first, lap_begin;
	bool is_torn; /* the last write has failed midway */
	struct ptrc_log_index index;
	struct ptrc_log_origins origins;
	/* Called once a second while output stalls; may be NULL. If it returns true, the write
	 * fails with ECANCELED, and no later write waits. */
	bool (*give_up)(void *arg);
	void *arg;
	bool has_given_up;
};

static inline bool ptrc_log_is_full(const struct ptrc_log_writer *w)
{
	return w->state.flags & PTRC_LOG_STATE_FULL;
}

/* ---- the saved state ---- */

/* ptrc_log_state_place() returns the index of the valid element of header.log_place.
 * ptrc_log_state_is_saved() returns whether a state was ever saved. */
uint32_t ptrc_log_state_place(const struct ptrc_stream_header *h);
bool ptrc_log_state_is_saved(const struct ptrc_stream_header *h);
/* ptrc_log_state_save() stores w->state and w->place in the stream's header and calls
 * ptrc_log_state_tell(), which stores there the counts that posix_trace_get_status() and others
 * report, and notes in the status whether the log has lost more events. Both do nothing if
 * w->header is NULL. */
void ptrc_log_state_save(struct ptrc_log_writer *w);
void ptrc_log_state_tell(const struct ptrc_log_writer *w);
/* Loads the state from header.log_state; false if none was saved. */
PTRC_MUST_CHECK bool ptrc_log_state_read(const struct ptrc_stream_header *h,
					 struct ptrc_log_state *state);
/* Called when the events left of a stream are salvaged into a new log. At first *state is the state
 * of the stream's own log, all 0 if it has none; it becomes that of the new log. If the stream's
 * own log has or has lost events, it counts as an earlier file of the new log, so that readers know
 * that these events are missing in the new log. */
void ptrc_log_state_begin_rest(struct ptrc_log_state *state);
/* Gives up a rest log that has no events: the stream's log is again the one before it, with the state `old`, or none
 * if `old` is NULL. */
void ptrc_log_state_give_back(struct ptrc_log_writer *w, const struct ptrc_log_state *old);

/* ---- packets, and their way to a regular file, or to a pipe, socket or device ---- */

/* Returns 0 if fd can be the log of a stream with this log-full policy: a regular file with any
 * policy; a FIFO, socket or character device with POSIX_TRACE_APPEND only. EBADF: fd is not open
 * for writing. EINVAL: the type of the file does not allow the policy. */
PTRC_MUST_CHECK int ptrc_log_check(int fd, int log_policy);

/* Empties w->out and starts a packet there. The caller adds the payload and calls
 * ptrc_log_packet_end(), which also reports ENOMEM if the payload could not be added. */
void ptrc_log_packet_begin(struct ptrc_log_writer *w);
/* Ends the last packet in w->out, which begins at offset `start`: pads it and fills in its header.
 * In p the caller sets `type`, and for EVENTS also the members about the events. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_packet_end(struct ptrc_log_writer *w, uint64_t start,
					struct ptrc_log_packet p);
/* Appends a packet to w->out, of any type but EVENTS. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_packet_put(struct ptrc_log_writer *w, uint16_t type,
					const void *payload, uint64_t bytes);

/* Locks a byte of the log (PTRC_LOG_LOCK_*), which shows readers that a keeper is at work. The lock
 * belongs to the process and not to the open file description, because the application may share
 * that description, which would keep the lock after the keeper's death. */
void ptrc_log_lock(int fd, int64_t byte);

/* Whether a keeper, which may be the calling process, locks this byte. *keeper becomes its pid, or
 * 0 or less if that is unknown. */
bool ptrc_log_is_locked(int fd, int64_t byte, int *keeper);

/* Checks whether another program has truncated a regular file or overwritten its end, and if so
 * sets PTRC_LOG_STATE_CUT. */
void ptrc_log_look(struct ptrc_log_writer *w);

/* The next two functions write all of w->out, and return 0 or the error number of the write. After
 * an error, a sequential log in a file has the length that it had before the call. */

/* Writes at this offset of a regular file; other outputs get the bytes appended. */
PTRC_MUST_CHECK int ptrc_log_write_at(struct ptrc_log_writer *w, uint64_t offset);
/* Writes at the end of a sequential log. */
PTRC_MUST_CHECK int ptrc_log_append(struct ptrc_log_writer *w);

/* Waits until a regular file is on its disk. Returns 0, or the error number if this fails. Does
 * nothing for other outputs, or if the controller has turned this off (is_log_unsynced in the
 * stream's header). */
PTRC_MUST_CHECK int ptrc_log_sync(struct ptrc_log_writer *w);

/*
 * ---- places of packets ----
 *
 * A new packet of a ring takes the place of old ones. The writer keeps a list of the packets in the
 * ring, oldest first, and can rebuild it from the file. Packets other than EVENTS stay in a log for
 * ever.
 */

/* Returns the place for a packet of `size` bytes, whose events have `bytes` bytes as log-max-size
 * counts them. Gives up the packets at that place, and then the oldest ones until the log with the
 * new packet is within its limit: their events count as lost. */
uint64_t ptrc_log_ring_place(struct ptrc_log_writer *w, uint64_t size, uint64_t bytes);
/* Writes the packet in w->out to its place. ENOMEM, or the error number of the write. */
PTRC_MUST_CHECK int ptrc_log_ring_write(struct ptrc_log_writer *w, uint64_t place);
/* Counts events that a ring lost: they were overwritten, or are older than all events that the ring
 * can hold. */
void ptrc_log_ring_note_lost(struct ptrc_log_writer *w, uint64_t events, int64_t first_ns,
			     int64_t last_ns);
void ptrc_log_ring_drop_all(struct ptrc_log_writer *w);
/* Called at the beginning of a flush, up to which ptrc_log_ring_return() may go back. */
void ptrc_log_ring_begin(struct ptrc_log_writer *w);
/* After a failed write: goes back to the state `before`, in which entry `first` of w->lap was the
 * oldest packet. Removes the EVENTS packets written since. Packets that were given up since are in
 * the log again, except those that were overwritten, and older ones. */
void ptrc_log_ring_return(struct ptrc_log_writer *w, const struct ptrc_log_state *before,
			  uint64_t first);
/* For a keeper that replaces a dead one: rebuilds the list of the ring's packets from the file.
 * ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_ring_restore(struct ptrc_log_writer *w);

/* Writes the packet in w->out to the end of a sequential log; in a ring, to the space after the
 * ring, where nothing is overwritten. `between`: while a ring has never been full, the packet goes
 * between the EVENTS packets if there is room, because a packet after the ring would give a log
 * with few events the full length of the ring. Returns 0 or the error number of the write. */
PTRC_MUST_CHECK int ptrc_log_aside_write(struct ptrc_log_writer *w, bool between);

/* Writes a packet about origins (HOST, PROCESS, THREADS or CLOCK), which the log can do without.
 * False: this failed, and the caller may try again later. If such packets have taken their share of
 * the log (PTRC_LOG_ASIDE_BYTES), the packet is dropped, and the result is true. The share is
 * unlimited in a sequential log whose controller reports processes (ptrace-run --os=process),
 * because its user wants to know each process. */
bool ptrc_log_aside_put(struct ptrc_log_writer *w, uint16_t type, const void *payload,
			uint64_t bytes);

/* Called when a ring is full for the first time and its oldest packets are about to be overwritten:
 * copies the packets other than EVENTS and NAMES, as many as possible, to the space after the ring.
 * Overwrites w->out. */
void ptrc_log_aside_before_wrap(struct ptrc_log_writer *w);

/*
 * ---- the index of a sequential log in a regular file ----
 *
 * The index is written in pieces, so that the keeper's memory does not grow with the log, and is
 * complete when the log is closed. It only saves time for readers: if it is missing, or any byte of
 * it is damaged, a reader visits the headers of all packets.
 */

/* Starts the index of a log. is_lost: the log gets no index, because it has packets of an earlier
 * keeper, whose index was lost with it. */
void ptrc_log_index_begin(struct ptrc_log_writer *w, bool is_lost);
void ptrc_log_index_free(struct ptrc_log_index *x);

/* Adds to the index the packet in w->out, which was written to the end of the log. */
void ptrc_log_index_note(struct ptrc_log_writer *w);
/* Adds the types of the filter now in force, w->state.filter, to the types that were ever
 * filtered. */
void ptrc_log_index_note_filter(struct ptrc_log_writer *w);
/* Called after a successful flush: adds the sums of its packets to the totals. */
void ptrc_log_index_keep(struct ptrc_log_writer *w);
/* Called after a failed flush: removes the packets at `offset` and after it from the index. */
void ptrc_log_index_forget(struct ptrc_log_writer *w, uint64_t offset);

/* Called between two flushes: writes an INDEX packet if PTRC_LOG_INDEX_COUNT packets wait for it.
 * If this fails, they wait for the next call. */
void ptrc_log_index_write(struct ptrc_log_writer *w);
/* Appends the rest of the index, and TOTALS, to w->out, which the caller then writes to the end of
 * the log. Returns the offset that the last INDEX packet will have; 0: there is no index. */
PTRC_MUST_CHECK uint64_t ptrc_log_index_end(struct ptrc_log_writer *w);

/* ---- names and layouts, in NAMES packets ---- */

/* Writes the names and layouts of event types that are not in the log yet. ENOMEM, or the error
 * number of a write. */
PTRC_MUST_CHECK int ptrc_log_names_write(struct ptrc_log_writer *w);
/* How many names the log has to have, once the index has the events of the last flush. */
uint64_t ptrc_log_names_count(const struct ptrc_log_writer *w);

/*
 * ---- origins: where the events of a log come from ----
 *
 * HOST describes the machine, CLOCK its clocks, PROCESS a process with events in the log, and
 * THREADS the names of such processes' threads.
 *
 * The keeper reads about a process in /proc when the process announces that it begins to record, or
 * when events of an unknown process arrive. While events of the process arrive, the keeper looks
 * once a second whether it has changed. The keeper finds threads in the slots of the stream, one
 * for each thread that records; a thread that ends before the keeper looks has no name. The results
 * wait in memory for the next flush. An error in any of this does not make a flush fail, and none
 * of it is done for each event.
 */

/* For an empty log: forgets all known processes and threads, and writes HOST and CLOCK.
 * Descriptions of processes that are not written yet are kept, and are written later. */
void ptrc_log_origin_begin(struct ptrc_log_writer *w);
void ptrc_log_origin_free(struct ptrc_log_origins *x);

/* Writes a CLOCK packet. if_due: only if the previous CLOCK packet is at least a second old, and
 * also either wrong by now (a clock was set, or its status has changed) or older than a 64th of the
 * log's age. So a log has few CLOCK packets. */
void ptrc_log_origin_clock(struct ptrc_log_writer *w, bool if_due);

/* Looks at the processes that have announced themselves in the stream's header. with_threads: first
 * looks at the names of all threads, because a process that waits until the keeper has looked may
 * end right afterwards. */
void ptrc_log_origin_arrive(struct ptrc_log_writer *w, bool with_threads);
/* Called between two flushes: looks at the processes that have announced themselves, and writes
 * their descriptions. */
void ptrc_log_origin_meet(struct ptrc_log_writer *w);
/* A flush calls the next two functions before it writes its events. ptrc_log_origin_look() is
 * called for each piece (packed events of one writer), and looks at its process if that is due;
 * *pid is the process of the previous call, at first 0. ptrc_log_origin_write() then looks at the
 * threads, and writes all descriptions that are waiting. */
void ptrc_log_origin_look(struct ptrc_log_writer *w, const struct ptrc_context *origin,
			  int64_t first_ns, int *pid);
void ptrc_log_origin_write(struct ptrc_log_writer *w);
/* Takes the controller's description of a process from the stream, unless the keeper has already
 * described the same program of the process from /proc. */
void ptrc_log_origin_observed(struct ptrc_log_writer *w, const struct ptrc_stretch *stretch);

/*
 * ---- the events of a flush, in EVENTS packets ----
 *
 * A flush calls ptrc_log_events_begin(), then ptrc_log_events_add() for each stretch (packed events
 * of one writer), then ptrc_log_events_end(). The stretches stay in memory until the end, when each
 * packet gets all events of a span of time. So the events that a log with a size limit keeps are
 * those of one span of time without holes, and a log that is cut short has all events up to some
 * time.
 */

/* The size, as log-max-size counts it, of the STOP that ends a full log. Its data is an int. */
#define PTRC_LOG_STOP_BYTES UINT64_C(12)

/* Called before a keeper sleeps: frees buffers of more than PTRC_LOG_BATCH_KEEP_BYTES. While many
 * events come, the memory is kept from flush to flush, because fresh pages cost as much time as the
 * rest of a flush. */
#define PTRC_LOG_BATCH_KEEP_BYTES (UINT64_C(1) << 20)
void ptrc_log_batch_trim(struct ptrc_log_batch *b);
/* Reserves room in the batch for `bytes` bytes of packed events, and stores its address in *out.
 * ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_batch_room(struct ptrc_log_batch *b, uint64_t bytes, uint8_t **out);
void ptrc_log_batch_free(struct ptrc_log_batch *b);

void ptrc_log_events_begin(struct ptrc_log_writer *w);
PTRC_MUST_CHECK int ptrc_log_events_add(struct ptrc_log_writer *w,
					const struct ptrc_stretch *stretch);
/* Instead of ptrc_log_events_end(), if the flush has failed already: counts the added events as
 * unwritten. The next flush must bring them again. */
void ptrc_log_events_give_up(struct ptrc_log_writer *w);
/* May fail with ENOMEM, as ptrc_log_events_add() may, or with the error number of a write. Then the
 * log may have the first of the events. If another flush follows, it must bring all of them again,
 * and the caller must call ptrc_log_events_undo() before it. */
PTRC_MUST_CHECK int ptrc_log_events_end(struct ptrc_log_writer *w);
/* Does nothing unless ptrc_log_events_end() of this flush failed. Otherwise removes from a regular
 * file the packets that the flush wrote, so that no event is both in the log and in the stream, and
 * restores the state before the flush. */
void ptrc_log_events_undo(struct ptrc_log_writer *w);

/* Writes an EVENTS packet with one event. `section` has its time, origin and order. ENOMEM, or the
 * error number of the write. */
PTRC_MUST_CHECK int ptrc_log_events_write_single(struct ptrc_log_writer *w,
						 struct ptrc_log_section section, uint32_t id_flags,
						 const void *data, uint32_t len);

/* Writes the name of an event type that only this log has, and an event of that type. If the log
 * has no room for them, the event counts as lost. The caller saves the state. ENOMEM, or the error
 * number of the write. */
PTRC_MUST_CHECK int ptrc_log_events_write_own(struct ptrc_log_writer *w, int64_t ns,
					      const struct ptrc_context *origin, const char *name,
					      const char *layout, const void *data, uint32_t len);

/* ---- a log as a whole ---- */

/* Initializes a writer for a log that a program writes, not a keeper. This call does not write to
 * the log yet. If fd is -1, the caller sets w->memory, and the log goes there. Until
 * ptrc_log_writer_free() the caller must keep fd open, not change its flags and offset, and keep
 * trace->attr valid. Returns 0 or EINVAL. */
PTRC_MUST_CHECK int ptrc_log_writer_begin(struct ptrc_log_writer *w,
					  const struct ptrc_log_trace *trace, int policy, int fd);
/* Initializes the writer of this stream's keeper. is_restart: continues the log where the saved
 * state (header.log_state) says. ENOMEM, EINVAL. */
PTRC_MUST_CHECK int ptrc_log_writer_init(struct ptrc_log_writer *w,
					 struct ptrc_stream_header *header, int fd,
					 bool is_restart);
void ptrc_log_writer_free(struct ptrc_log_writer *w);

/* The following functions return 0, ENOMEM, or the error number of a failed write. */

/* Empties the file and writes the head of the log. In a rotated log, the file gets the number
 * w->state.member. */
PTRC_MUST_CHECK int ptrc_log_writer_head(struct ptrc_log_writer *w);
/* Empties the log. A pipe cannot be emptied; it gets a hidden event instead, which says that no
 * type is filtered from now_ns on. */
PTRC_MUST_CHECK int ptrc_log_writer_clear(struct ptrc_log_writer *w, int64_t now_ns);
/* Ends a file of a rotated log that another file follows. */
PTRC_MUST_CHECK int ptrc_log_writer_end(struct ptrc_log_writer *w);
/* Ends a log. The losses in its STATUS are `losses`, or, if that is NULL, those of the keeper's
 * stream. Waits until the log is on its disk; if that fails, the error is written to STATUS. */
PTRC_MUST_CHECK int ptrc_log_writer_close(struct ptrc_log_writer *w,
					  const struct ptrc_log_status *losses);
/* Appends a STATUS packet to w->out: `status`, with stream_status, log_events and log_bytes filled
 * in. is_end: appends END after it. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_writer_put_status(struct ptrc_log_writer *w,
					       struct ptrc_log_status status, bool is_end);

/*
 * ---- rotation ----
 *
 * A rotated log continues in another file when the current one is large or old enough. Each file,
 * called a member, is a complete log. The first is the one that the stream was created with; the
 * others add ".000001" and so on to its name. A name never changes, so other programs can take
 * closed members away while the log is written.
 *
 * The change to the next member happens between two flushes: every event taken out of the stream is
 * in the old member, and the next flush writes into the new one. One store saves the state of the
 * new member and makes its place valid. If the keeper dies before that store, the next keeper
 * continues in the old member: it removes the STATUS and END packets at its end, and deletes the
 * new file.
 */

#define PTRC_LOG_PATH_BYTES sizeof(((struct ptrc_log_place *)0)->path)

/* Stores in `place` the device, inode and path of the file fd. base: the path of the log's first
 * file; empty: unknown. */
void ptrc_log_rotate_note(struct ptrc_log_place *place, int fd, const char *base);
/* Finds the path of the log's first file. first_fd: a descriptor of it; -1: the keeper has none.
 * is_noted: an earlier keeper has stored a path in header.log_place. EINVAL: the file has no
 * name. */
PTRC_MUST_CHECK int ptrc_log_rotate_base(const struct ptrc_stream_header *h, int first_fd,
					 bool is_noted, char base[PTRC_LOG_PATH_BYTES]);

/* Finds the file to which a keeper that starts is to write. At first *log_fd is a descriptor of the
 * log's first file, or -1 if the keeper gets none. is_new: the log is new, and *log_fd is the file.
 * is_last: *log_fd already is the file to write to, and the keeper begins no other. Otherwise
 * *log_fd is closed, and becomes a descriptor of the file in which a rotated log continues. `base`
 * becomes the path of the first file, or empty if the keeper begins no other file. *number becomes
 * 0. But if the file in which the log should continue has disappeared, a new file is made, and
 * *number becomes its number. Errors of open(); EINVAL: the first file has no name. */
PTRC_MUST_CHECK int ptrc_log_rotate_find(struct ptrc_stream_header *h, bool is_new, bool is_last,
					 int *log_fd, char *base, uint64_t *number);
/* Begins w->fd as file number `number` of a rotated log. The caller has stored that file in the
 * element of header.log_place that is not valid yet; this call makes the element valid. Deletes the
 * oldest files if there are more than w->keep. After an error (ENOMEM, or the error number of a
 * write) the state is unchanged. */
PTRC_MUST_CHECK int ptrc_log_rotate_begin(struct ptrc_log_writer *w, uint64_t number);

/* Whether it is time to begin the next file of the log. If not, shortens *wait_ns (-1: for ever) so
 * that the caller asks again in time. */
PTRC_MUST_CHECK bool ptrc_log_rotate_is_due(const struct ptrc_log_writer *w, int64_t *wait_ns);
/* Ends this file of the log and begins the next one, a new w->fd. If this fails, the log continues
 * in this file, and the next attempt is made only after a pause. No event is lost by that, so it is
 * no error of the flush; the stream's header has the error number of the failed call. */
void ptrc_log_rotate(struct ptrc_log_writer *w);
/* Called before a log is cleared: deletes all its files but the last, which becomes its first. */
void ptrc_log_rotate_clear(struct ptrc_log_writer *w);

#endif
