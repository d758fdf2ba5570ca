/* SPDX-License-Identifier: MIT */
/*
 * Writing a log. All units of the writer work on struct ptrc_log_writer. Its member `state` is also
 * copied into the header of the stream, so that after the death of a keeper the next one can
 * continue there.
 *
 * Each unit uses only those before it: log_output (saved state, packets, bytes to the file, index
 * of a sequential log), log_ring (places of packets), log_origin and log_events (contents of
 * packets), log_writer (head, clear and end of a log), log_rotate (several files). All are
 * freestanding: raw system calls, memory by mmap.
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
/* ENOMEM. After several additions a caller may check is_short once instead. */
int ptrc_log_buffer_add(struct ptrc_log_buffer *b, const void *data, uint64_t bytes);
/* The contents as an array of this type, and the number of its elements. */
#define PTRC_LOG_ITEMS(buffer, type) ((type *)(void *)(buffer)->bytes)
#define PTRC_LOG_COUNT(buffer, type) ((buffer)->used / sizeof(type))
/* Adds zeros up to a multiple of 8 bytes. */
void ptrc_log_buffer_pad(struct ptrc_log_buffer *b);
void ptrc_log_buffer_clear(struct ptrc_log_buffer *b);
void ptrc_log_buffer_free(struct ptrc_log_buffer *b);

/* All stretches of a flush on their way into the log. They arrive packed and stay so: each packet
 * gets whole pieces where possible. A piece is split only if a part of it is earlier than the start
 * of the next packet. */
struct ptrc_log_batch {
	struct ptrc_log_buffer data;
	struct ptrc_log_buffer pieces; /* struct ptrc_log_piece */
	struct ptrc_log_buffer sums;   /* struct ptrc_type_sum */
	/* Numbers (uint32_t) of pieces: of the waiting ones, from `next` on, by time of their first
	 * events; and of those chosen for a packet, in the same order. */
	struct ptrc_log_buffer waiting, slice;
	uint64_t next;
	struct ptrc_log_buffer cursors; /* for choosing event by event */
	struct ptrc_log_buffer work;	/* for splitting pieces: struct ptrc_log_work */
	uint64_t counted;		/* counted bytes of the waiting pieces */
	uint64_t most;			/* the log takes no event with more counted bytes */
};

/* An UNTIL_FULL log is full and takes no more events. */
#define PTRC_LOG_STATE_FULL UINT64_C(1)
/* The last event apart from markers of flushes is a STOP. */
#define PTRC_LOG_STATE_AFTER_STOP UINT64_C(2)
/* A ring has wrapped: its first lap is over. */
#define PTRC_LOG_STATE_WRAPPED UINT64_C(4)
/* `filter` is unknown, because a keeper died after it had saved the state. */
#define PTRC_LOG_STATE_FILTER_UNKNOWN UINT64_C(8)
/* A flush failed, and its markers wait in the stream for the next one that succeeds. */
#define PTRC_LOG_STATE_MARKERS_WAIT UINT64_C(16)
/* Another program truncated the file or wrote into it. */
#define PTRC_LOG_STATE_CUT UINT64_C(32)

/* The earlier files of a rotated log; all 0 for the first file. */
struct ptrc_log_past {
	uint64_t ordinal, first_seq, events; /* as in struct ptrc_log_head */
	uint64_t bytes;			     /* bytes of events in those files */
	struct ptrc_log_before before;	     /* is_overrun is unused */
};

/* header.log_state has two copies of this, and a word that says which one is valid. */
struct ptrc_log_state {
	/* Sequential: bytes in the log. Ring: place of the next packet. */
	uint64_t offset;
	uint64_t seq; /* of the next EVENTS packet */
	/* Entries of the names object, and layouts of its list, that the log has. */
	uint32_t names, layouts;
	uint64_t flags;
	uint64_t events, bytes;	   /* in the log now */
	uint64_t lost_events;	   /* discarded, or too big */
	struct ptrc_log_ring ring; /* this and the next one are for rings only */
	uint64_t tail;		   /* bytes of the packets after the ring */
	/* A flush whose events are all in the log but not yet taken out of the stream; until 0:
	 * none. If the keeper dies at this point, the next one takes the events up to this stamp
	 * out of the stream, without writing them again. */
	struct ptrc_drain_given written;
	uint64_t aside; /* counted bytes of the packets of log_origin */
	/* This and what follows, but for `filter`: of a rotated log. */
	uint64_t member; /* as in struct ptrc_log_head */
	uint64_t oldest; /* no file of the log has a smaller `member` */
	struct ptrc_log_past past;
	int64_t begun_ns;		      /* CLOCK_BOOTTIME */
	uint64_t filter[PTRC_SET_WORD_COUNT]; /* in force after the last event */
};
#define PTRC_LOG_STATE_WORDS 155U
_Static_assert(sizeof(struct ptrc_log_state) <= 8 * PTRC_LOG_STATE_WORDS &&
		       1 + 2 * PTRC_LOG_STATE_WORDS <= PTRC_STREAM_LOG_STATE_WORDS,
	       "two copies fit in log_state");

/* The part of a log's index that is not written yet. */
struct ptrc_log_index {
	struct ptrc_log_buffer entries; /* struct ptrc_log_packet */
	/* struct ptrc_type_sum of the packets of an unfinished flush. */
	struct ptrc_log_buffer fresh;
	struct ptrc_log_buffer totals; /* struct ptrc_log_total of finished flushes, by type */
	uint64_t filtered[PTRC_SET_WORD_COUNT];
	uint64_t previous; /* offset of the last INDEX packet */
	bool is_lost;	   /* the log gets no index */
};

/* A hash table of processes or threads that the keeper knows, by their IDs. */
struct ptrc_log_table {
	struct ptrc_log_buffer items; /* each starts with its ID, an int32_t; 0: free */
	uint32_t count;
};

/* The CLOCK packets of a log. */
struct ptrc_log_clocks {
	int64_t first_ns, last_ns; /* CLOCK_MONOTONIC of the first and the last packet; 0: none */
	int64_t ahead_ns;	   /* in the last packet: CLOCK_REALTIME minus the events' clock */
	int32_t status;
};

/* The processes and threads that the log describes. */
struct ptrc_log_origins {
	struct ptrc_log_table processes, threads; /* that the keeper knows */
	struct ptrc_log_buffer work;		  /* scratch: struct work of log_origin.c */
	/* Not in the log yet: PROCESS payloads, each after its length; and struct
	 * ptrc_log_thread. */
	struct ptrc_log_buffer pending_processes, pending_threads;
	int64_t next_scan_ns; /* of the threads; CLOCK_MONOTONIC */
	struct ptrc_log_clocks clocks;
	bool is_observed; /* the controller reports processes in the stream */
	uint32_t proc;	  /* whether /proc shows our pid namespace; see log_origin.c */
};

/* The trace that a log records. */
struct ptrc_log_trace {
	uint64_t id; /* of the stream; of another log, a random number */
	const struct ptrc_attr *attr;
	int32_t target_pid, controller_pid;
	uint32_t owner_uid;
};

struct ptrc_log_writer {
	struct ptrc_log_trace trace;
	/* The stream whose keeper this is and which gets a copy of the state. NULL: a program
	 * writes the log, no keeper. */
	struct ptrc_stream_header *header;
	/* The stream whose clock and processes the log describes. NULL: the events come from
	 * another source, perhaps another machine. */
	const struct ptrc_stream_header *origin;
	int fd;				/* -1: none */
	struct ptrc_log_buffer *memory; /* without a descriptor, the log goes here */
	int dirfd;			/* of the directory of shared objects; -1: none */
	uint32_t kind;			/* PTRC_LOG_RING or _SEQUENTIAL */
	int policy;
	bool is_regular, is_socket;
	uint64_t added_events;	   /* to the batch; markers do not count */
	uint64_t unwritten_events; /* not in the log, of the last flush; 0 if that succeeded */
	bool must_not_append;	   /* the descriptor has O_APPEND: pwrite() would append */
	/* What other programs must have left alone in a regular file: its size is at least
	 * file_end, and these two pieces of the last write, its start and its end, are
	 * unchanged. */
	uint64_t file_end;
	bool has_last;
	struct {
		uint64_t place;
		uint8_t bytes[sizeof(struct ptrc_log_packet)];
	} last[2];
	uint64_t limit; /* counted bytes of events that the log may have */
	uint64_t ring_size;
	/* A flush ends only when the log is on its disk. Until then the stream keeps the events, as
	 * another attempt to salvage it may follow. */
	bool syncs_flushes;
	uint64_t close_reserve; /* bytes left free below the file size limit, for STATUS and END */
	struct ptrc_log_state state;
	struct ptrc_log_state retry; /* if has_retry: the state before a flush that failed midway */
	bool has_retry;
	/* If a flush into a pipe failed midway: the time up to which the pipe has the events. The
	 * next flush, which gets them again, skips these. INT64_MIN: none. */
	int64_t skip_ns;
	int64_t last_ns; /* latest event of the last packet written */
	uint32_t place;	 /* index in header.log_place of this log */
	/* Rotation (log_rotate.c): the attributes, and the path of the first file; empty: no next
	 * file is made. */
	uint64_t rotate_bytes, rotate_ns, keep;
	int64_t rotate_after_ns; /* CLOCK_BOOTTIME: no attempt before, after a failure */
	char base[4096];
	const struct ptrc_names_object *names; /* NULL: none */
	struct ptrc_log_buffer out;	       /* the packets being made */
	struct ptrc_log_batch batch;	       /* the events of the flush */
	/* For an UNTIL_FULL log, which must end with its last STOP: the markers of flushes after
	 * it, which wait for another event to follow. A flush collects them in held_next, which
	 * replaces `held` if the flush succeeds. */
	struct ptrc_log_buffer held, held_next; /* struct ptrc_log_held */
	struct ptrc_log_buffer lap;		/* a ring's packets: struct ptrc_log_lap_entry */
	uint64_t lap_first;			/* entries of `lap` before it are invalid */
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

/* The valid element of header.log_place; and whether a state was saved for it. */
uint32_t ptrc_log_state_place(const struct ptrc_stream_header *h);
bool ptrc_log_state_is_saved(const struct ptrc_stream_header *h);
/* Both do nothing without a keeper. Save: stores the state in header.log_state, together with
 * w->place, and calls tell. Tell: stores the counts that posix_trace_get_status() and others report
 * in the header. */
void ptrc_log_state_save(struct ptrc_log_writer *w);
void ptrc_log_state_tell(const struct ptrc_log_writer *w);
/* Loads the state from header.log_state; false if none was saved. */
PTRC_MUST_CHECK bool ptrc_log_state_read(const struct ptrc_stream_header *h,
					 struct ptrc_log_state *state);
/* After a failed flush that another process will try again: restores the saved state, with
 * PTRC_LOG_STATE_MARKERS_WAIT if the flush has set it. */
void ptrc_log_state_leave(struct ptrc_log_writer *w);
/* Sets the log's overrun status, because it lacks an event. */
void ptrc_log_note_loss(struct ptrc_log_writer *w);

/* ---- packets, and their way to a regular file, or to a pipe, socket or device ---- */

/* Whether fd can be the log of a stream with this policy: a regular file with any policy; a FIFO,
 * socket or character device with POSIX_TRACE_APPEND only. EBADF: not open for writing. EINVAL. */
PTRC_MUST_CHECK int ptrc_log_check(int fd, int log_policy);

/* Empties w->out and starts a packet there. The caller adds the payload and calls
 * ptrc_log_packet_end(), which also reports if memory was short meanwhile. */
void ptrc_log_packet_begin(struct ptrc_log_writer *w);
/* Pads the last packet in w->out, which begins at offset `start`, and fills in its header. The
 * caller sets `type` in p, and for EVENTS the members about the events. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_packet_end(struct ptrc_log_writer *w, uint64_t start,
					struct ptrc_log_packet p);
/* Appends a packet, not of EVENTS, to w->out. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_packet_put(struct ptrc_log_writer *w, uint16_t type,
					const void *payload, uint64_t bytes);

/* Locks a byte of the log (PTRC_LOG_LOCK_*), which shows readers that a keeper is at work. The lock
 * belongs to the process, not to the open file: the application may share that, and would keep the
 * lock. */
void ptrc_log_lock(int fd, int64_t byte);

/* Sets PTRC_LOG_STATE_CUT if another program has truncated a regular file or overwritten its
 * end. */
void ptrc_log_look(struct ptrc_log_writer *w);

/* Write all of w->out. The error number of the write: then a sequential log in a file keeps its
 * length. */

/* At this offset of a regular file; other outputs get the bytes appended. */
PTRC_MUST_CHECK int ptrc_log_write_at(struct ptrc_log_writer *w, uint64_t offset);
/* At the end of a sequential log. */
PTRC_MUST_CHECK int ptrc_log_append(struct ptrc_log_writer *w);

/* Waits until a regular file is on its disk. The error number if it does not get there. Does
 * nothing for other outputs, or if the controller does not want it. */
PTRC_MUST_CHECK int ptrc_log_sync(struct ptrc_log_writer *w);

/*
 * ---- places of packets ----
 *
 * A new packet of a ring takes the place of old ones. The writer keeps a list of the packets in the
 * ring, oldest first, and can rebuild it from the file. Packets other than EVENTS stay in a log for
 * ever.
 */

/* Finds a place for a packet of `size` bytes with `bytes` counted bytes of events. Gives up the
 * packets there, and the oldest ones until the new one is within the limit. */
uint64_t ptrc_log_ring_place(struct ptrc_log_writer *w, uint64_t size, uint64_t bytes);
/* Writes the packet in w->out to its place. ENOMEM, or the error number of the write. */
PTRC_MUST_CHECK int ptrc_log_ring_write(struct ptrc_log_writer *w, uint64_t place);
/* Counts events that a ring lost: overwritten, or older than all that it can hold. */
void ptrc_log_ring_note_lost(struct ptrc_log_writer *w, uint64_t events, int64_t first_ns,
			     int64_t last_ns);
void ptrc_log_ring_drop_all(struct ptrc_log_writer *w);
/* Takes back the EVENTS packets from number `seq` on, after a failed flush. What they overwrote
 * stays lost. */
void ptrc_log_ring_undo(struct ptrc_log_writer *w, uint64_t seq);
/* For a keeper that replaces a dead one: rebuilds the list from the file. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_ring_restore(struct ptrc_log_writer *w);

/* Writes the packet in w->out to the end of a sequential log, or after the ring, where nothing is
 * overwritten. With `between`, in a ring's first lap, it goes between the events if there is room:
 * after the ring it would make a file long that has few events as yet. The error number of the
 * write. */
PTRC_MUST_CHECK int ptrc_log_aside_write(struct ptrc_log_writer *w, bool between);

/* Writes a packet of origins, which the log can do without. False: no room now; the caller may try
 * again. Beyond the share of the log that such packets may take the packet is dropped. That share
 * is unlimited in a sequential log whose controller reports processes, as its user wants to know
 * each of them. */
bool ptrc_log_aside_put(struct ptrc_log_writer *w, uint16_t type, const void *payload,
			uint64_t bytes);

/* At the end of a ring's first lap: copies its packets other than EVENTS and NAMES to after the
 * ring, as far as possible, by means of w->out. */
void ptrc_log_aside_before_wrap(struct ptrc_log_writer *w);

/*
 * ---- the index of a sequential log in a regular file ----
 *
 * It is written in pieces, so that the keeper's memory does not grow with the log, and is complete
 * when the log is closed. It only saves a reader time: without it, or if any byte of it is damaged,
 * the reader visits the headers of all packets.
 */

/* Starts the index of an empty log. is_lost: the log has packets that only an earlier keeper knew,
 * so it gets no index. */
void ptrc_log_index_begin(struct ptrc_log_writer *w, bool is_lost);
void ptrc_log_index_free(struct ptrc_log_index *x);

/* Adds the packet in w->out, which was written to the end of the log. */
void ptrc_log_index_note(struct ptrc_log_writer *w);
/* Adds the types of the filter in w->state, now in force, to those ever filtered. */
void ptrc_log_index_note_filter(struct ptrc_log_writer *w);
/* A flush succeeded: the packets that it added stay. */
void ptrc_log_index_keep(struct ptrc_log_writer *w);
/* A flush failed: removes the packets from `offset` on. */
void ptrc_log_index_forget(struct ptrc_log_writer *w, uint64_t offset);

/* Between two flushes: writes an INDEX packet if enough packets wait for one. After a failure they
 * go on waiting. */
void ptrc_log_index_write(struct ptrc_log_writer *w);
/* Appends to w->out, which goes to the end of the log, the rest of the index and TOTALS. Returns
 * the offset of the last INDEX packet; 0: no index. */
PTRC_MUST_CHECK uint64_t ptrc_log_index_end(struct ptrc_log_writer *w);

/* ---- names and layouts, in NAMES packets ---- */

/* Writes the names and layouts that are not in the log yet. ENOMEM, or the error of a write. */
PTRC_MUST_CHECK int ptrc_log_names_write(struct ptrc_log_writer *w);
uint64_t ptrc_log_names_count(const struct ptrc_log_writer *w);

/*
 * ---- origins: where the events of a log come from ----
 *
 * The machine in a HOST packet, its clocks in CLOCK packets, the processes with events in the log
 * in PROCESS packets, and the names of their threads in THREADS packets.
 *
 * The keeper reads /proc: about a process when the process reports that it begins to record, and
 * when events of an unknown process arrive; while its events come, once a second to see whether it
 * has changed. It finds threads in the slots of the stream; one that ended before that has no name.
 * The results wait in memory for the next flush. Nothing of this makes a flush fail, and nothing of
 * it is done for each event.
 */

/* For an empty log: forgets all processes and threads, and writes HOST and CLOCK. Descriptions of
 * processes that wait go on waiting. */
void ptrc_log_origin_begin(struct ptrc_log_writer *w);
void ptrc_log_origin_free(struct ptrc_log_origins *x);

/* Writes a CLOCK packet. if_due: only if the last one is a second old, and either has become wrong
 * or is older than a part of the log's age, so that their number stays small. */
void ptrc_log_origin_clock(struct ptrc_log_writer *w, bool if_due);

/* Looks at the processes that have announced themselves in the stream's header. with_threads: first
 * at all threads, because a process that waits for this look may end right after it. */
void ptrc_log_origin_arrive(struct ptrc_log_writer *w, bool with_threads);
/* Between two flushes: looks at those processes and writes their descriptions. */
void ptrc_log_origin_meet(struct ptrc_log_writer *w);
/* In a flush, before its events are written. Look: for each piece, looks at its process if that is
 * due; *pid is the process of the call before, at first 0. Write: then looks at the threads, and
 * writes all that waits. */
void ptrc_log_origin_look(struct ptrc_log_writer *w, const struct ptrc_context *origin,
			  int64_t first_ns, int *pid);
void ptrc_log_origin_write(struct ptrc_log_writer *w);
/* Takes the controller's description of a process, unless the keeper has found the same. */
void ptrc_log_origin_observed(struct ptrc_log_writer *w, const struct ptrc_stretch *stretch);

/*
 * ---- the events of a flush, in EVENTS packets ----
 *
 * A flush calls begin, add for each stretch, and end. Add keeps the packed stretch; end writes a
 * packet for each slice of time. So a bounded log keeps a span of time without holes, and a log
 * that is cut short lacks nothing before its end.
 */

/* Counted bytes of the STOP that ends a full log: its data is an int. */
#define PTRC_LOG_STOP_BYTES UINT64_C(12)

/* The limit for a stretch, as splitting a larger one would take long. */
#define PTRC_LOG_STRETCH_MAX (PTRC_LOG_PACKET_BYTES / 4)

/* Before a keeper sleeps: gives back memory beyond KEEP_BYTES. While many events come, memory is
 * kept from flush to flush, as fresh pages cost as much time as the rest of a flush. */
#define PTRC_LOG_BATCH_KEEP_BYTES (UINT64_C(1) << 20)
void ptrc_log_batch_trim(struct ptrc_log_batch *b);
/* Room for packing a stretch into the batch: *out. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_batch_room(struct ptrc_log_batch *b, uint64_t bytes, uint8_t **out);
void ptrc_log_batch_clear(struct ptrc_log_batch *b);
void ptrc_log_batch_free(struct ptrc_log_batch *b);

void ptrc_log_events_begin(struct ptrc_log_writer *w);
PTRC_MUST_CHECK int ptrc_log_events_add(struct ptrc_log_writer *w,
					const struct ptrc_stretch *stretch);
/* Both: ENOMEM. End also: the error number of a write; then the next flush must bring the same
 * events again. */
PTRC_MUST_CHECK int ptrc_log_events_end(struct ptrc_log_writer *w);

/* Writes an EVENTS packet with one event of the trace system. ENOMEM, or the error number of the
 * write. */
PTRC_MUST_CHECK int ptrc_log_events_write_single(struct ptrc_log_writer *w, int64_t ns,
						 uint32_t order, uint32_t id_flags,
						 const void *data, uint32_t len);

/* ---- a log as a whole ---- */

/* Initializes a writer for a log of this trace and policy that no keeper writes; writes nothing. fd
 * -1: the caller sets w->memory, where the log goes. The caller keeps fd open, and leaves its flags
 * and offset alone; `trace->attr` stays valid. EINVAL. */
PTRC_MUST_CHECK int ptrc_log_writer_begin(struct ptrc_log_writer *w,
					  const struct ptrc_log_trace *trace, int policy, int fd);
/* The same for the keeper of this stream. is_restart: continues where header.log_state says.
 * ENOMEM, EINVAL. */
PTRC_MUST_CHECK int ptrc_log_writer_init(struct ptrc_log_writer *w,
					 struct ptrc_stream_header *header, int fd,
					 bool is_restart);
void ptrc_log_writer_free(struct ptrc_log_writer *w);

/* The following return ENOMEM, or the error number of a failed write. */

/* Empties the file and writes the head, for the member of a rotated log that the state names. */
PTRC_MUST_CHECK int ptrc_log_writer_head(struct ptrc_log_writer *w);
/* Empties the log. Into a pipe, which cannot be emptied, goes an event that empties the filter at
 * now_ns. */
PTRC_MUST_CHECK int ptrc_log_writer_clear(struct ptrc_log_writer *w, int64_t now_ns);
/* Ends a member that another one follows. */
PTRC_MUST_CHECK int ptrc_log_writer_end(struct ptrc_log_writer *w);
/* Ends a log, whose losses are those of the keeper's stream or, if not NULL, `losses`. Waits until
 * the log is on its disk; if it does not get there, STATUS has the error. */
PTRC_MUST_CHECK int ptrc_log_writer_close(struct ptrc_log_writer *w,
					  const struct ptrc_log_status *losses);
/* Appends STATUS to w->out, completed by the writer's counts, and with is_end END. ENOMEM. */
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
 * A change happens between two flushes: every event taken out of the stream is in the old member,
 * and the next flush writes into the new one. One store saves the state of the new member and makes
 * its place valid. If the keeper dies before that store, the next keeper continues in the old
 * member: it cuts off its end and removes the new file.
 */

#define PTRC_LOG_PATH_BYTES sizeof(((struct ptrc_log_place *)0)->path)

/* Notes in `place` the file of fd. base: the path of the first member, or an empty text. */
void ptrc_log_rotate_note(struct ptrc_log_place *place, int fd, const char *base);
/* Finds the path of the first member, for a keeper that has its descriptor. is_noted: an earlier
 * keeper has noted a place. EINVAL: the file has no name. */
PTRC_MUST_CHECK int ptrc_log_rotate_base(const struct ptrc_stream_header *h, int first_fd,
					 bool is_noted, char base[PTRC_LOG_PATH_BYTES]);

/* For a keeper: replaces *log_fd, the first member, by the member to continue; is_last: *log_fd is
 * that member, and the log is only to be ended. `base` becomes the path of the first member, or
 * empty if no other member is to follow. *number: 0, or that of a new member if the one to continue
 * has disappeared. Errors of open(), or as above. */
PTRC_MUST_CHECK int ptrc_log_rotate_find(struct ptrc_stream_header *h, bool is_new, bool is_last,
					 int *log_fd, char *base, uint64_t *number);
/* Begins member `number` in the file of w->fd, which is noted in the place that is not valid yet,
 * and deletes members beyond the limit. ENOMEM or the error number of a write: the state is
 * unchanged. */
PTRC_MUST_CHECK int ptrc_log_rotate_begin(struct ptrc_log_writer *w, uint64_t number);

/* Whether the next member is due. If not, shortens *wait_ns (-1: for ever) to when it may be. */
PTRC_MUST_CHECK bool ptrc_log_rotate_is_due(const struct ptrc_log_writer *w, int64_t *wait_ns);
/* Ends this member and begins the next one, in a new w->fd. On failure the log continues in this
 * one, and no next member is due for a while. The error number of the failed call. */
PTRC_MUST_CHECK int ptrc_log_rotate(struct ptrc_log_writer *w);
/* Before a clear: deletes all members but the last, which becomes the first. */
void ptrc_log_rotate_clear(struct ptrc_log_writer *w);

#endif
