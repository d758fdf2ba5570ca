/* SPDX-License-Identifier: MIT */
/*
 * Writing a log. The units of the writer share struct ptrc_log_writer, a part of which is struct
 * ptrc_log_state: the header of the stream has a copy of that part, so that after the death of a keeper the
 * next can go on where that one stopped.
 *
 * Each unit uses only those before it: log_output (the saved state, packets, bytes to the file, and the index of
 * a sequential log), log_ring (places of packets), log_origin and log_events (what is in the packets), log_writer
 * (head, clear and end of a log); then log_rotate (several files, one after the other). All are freestanding: raw
 * system calls, memory by mmap.
 */
#ifndef PTRC_LIB_LOG_LOG_WRITE_H
#define PTRC_LIB_LOG_LOG_WRITE_H

#include "lib/log/log_layout.h"
#include "lib/model/eventset.h"
#include "lib/model/names.h"
#include "lib/stream/drain.h"
#include "lib/stream/stream.h"
#include "lib/stream/untraced.h"

/* Bytes that grow in number, and move when they do. */
struct ptrc_log_buffer {
	uint8_t *bytes;
	uint64_t used, size;
	bool is_short; /* an addition since the last clear has found no memory */
};

/* Makes room for `more` bytes beyond those used. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_buffer_reserve(struct ptrc_log_buffer *b, uint64_t more);
/* ENOMEM. A caller that adds several things may look at is_short once instead. */
int ptrc_log_buffer_add(struct ptrc_log_buffer *b, const void *data, uint64_t bytes);
/* Adds zeros up to a multiple of 8. */
void ptrc_log_buffer_pad(struct ptrc_log_buffer *b);
void ptrc_log_buffer_clear(struct ptrc_log_buffer *b);
void ptrc_log_buffer_free(struct ptrc_log_buffer *b);

/* The batch: all stretches of a flush on their way into the log. They are packed when they come, and
 * stay so: what the batch chooses for a packet are whole pieces, as far as possible. A piece is
 * split if only a part of it is earlier than what the next packet begins with. */
struct ptrc_log_batch {
	struct ptrc_log_buffer data;
	struct ptrc_log_buffer pieces; /* struct ptrc_log_piece */
	struct ptrc_log_buffer sums;   /* struct ptrc_type_sum */
	/* Numbers (uint32_t) of pieces: those that wait, from `next` on in the order of their first
	 * events; those that are chosen, in the same order. */
	struct ptrc_log_buffer waiting, slice;
	uint64_t next;
	struct ptrc_log_buffer cursors; /* for choosing event by event */
	struct ptrc_log_buffer work;	/* for splitting pieces: struct ptrc_log_work */
	uint64_t counted;		/* of the pieces that wait */
	uint64_t most;			/* the log takes no larger event; set by the writer */
};

/* An UNTIL_FULL log is full: nothing is added any more. */
#define PTRC_LOG_STATE_FULL UINT64_C(1)
/* The last event that is no marker of a flush is a STOP. */
#define PTRC_LOG_STATE_AFTER_STOP UINT64_C(2)
/* A ring has wrapped: it is not in its first lap any more. */
#define PTRC_LOG_STATE_WRAPPED UINT64_C(4)
/* `filter` is not known, because a keeper died after it had saved the state. */
#define PTRC_LOG_STATE_FILTER_UNKNOWN UINT64_C(8)
/* A flush failed, and its markers wait in the stream for one that does not. */
#define PTRC_LOG_STATE_MARKERS_WAIT UINT64_C(16)
/* Somebody else truncated the file, or wrote into it. */
#define PTRC_LOG_STATE_CUT UINT64_C(32)

/* The earlier files of a rotated log; all 0 in the first one. */
struct ptrc_log_past {
	uint64_t ordinal, first_seq, events; /* as in struct ptrc_log_head */
	uint64_t bytes;			     /* in those files */
	struct ptrc_log_before before;	     /* but for is_overrun */
};

/* header.log_state holds two copies of this, and which copy is valid. */
struct ptrc_log_state {
	/* Sequential: bytes in the log. Ring: the place of the next packet. */
	uint64_t offset;
	uint64_t seq; /* of the next EVENTS packet */
	/* How many names are in the log, and how many layouts of the list in the names object. */
	uint32_t names, layouts;
	uint64_t flags;
	uint64_t events, bytes;	   /* in the log now */
	uint64_t lost_events;	   /* discarded, or too big */
	struct ptrc_log_ring ring; /* this and the next one only in a ring */
	uint64_t tail; /* end of the packets after the ring, counted from the ring's end */
	/* Of a flush whose events are all in the log, but not yet committed; until 0: there is no such flush. If
	 * the keeper dies in between, the next one commits the events up to this stamp and does not write
	 * them again. */
	struct ptrc_drain_given written;
	uint64_t aside; /* bytes of HOST, PROCESS and CLOCK packets */
	/* For a rotated log: */
	uint64_t member; /* as in struct ptrc_log_head */
	uint64_t oldest; /* no file of the log has a smaller number */
	struct ptrc_log_past past;
	int64_t begun_ns;		      /* CLOCK_BOOTTIME */
	uint64_t filter[PTRC_SET_WORD_COUNT]; /* in force after the last event */
};
#define PTRC_LOG_STATE_WORDS 155U
_Static_assert(sizeof(struct ptrc_log_state) <= 8 * PTRC_LOG_STATE_WORDS &&
		       1 + 2 * PTRC_LOG_STATE_WORDS <= PTRC_STREAM_LOG_STATE_WORDS,
	       "two copies fit in log_state");

/* The index of a log, as far as it waits to be written. */
struct ptrc_log_index {
	struct ptrc_log_buffer entries; /* struct ptrc_log_packet */
	/* struct ptrc_type_sum of the packets of a flush that has not come to its end. */
	struct ptrc_log_buffer fresh;
	struct ptrc_log_buffer totals; /* of all flushes that have, by type */
	uint64_t filtered[PTRC_SET_WORD_COUNT];
	uint64_t previous; /* offset of the last INDEX packet */
	bool is_lost;	   /* the log has none */
};

/* A table of what the keeper has met, by the numbers of processes or threads. */
struct ptrc_log_table {
	struct ptrc_log_buffer items; /* each starts with its number, an int32_t; 0: it is free */
	uint32_t count;
};

/* The CLOCK packets of a log. */
struct ptrc_log_clocks {
	int64_t first_ns, last_ns; /* CLOCK_MONOTONIC of the first and the last one; 0: none */
	int64_t ahead_ns;	   /* of the last one: CLOCK_REALTIME before the events' clock */
	int32_t status;
};

/* The processes and threads that the log describes. */
struct ptrc_log_origins {
	struct ptrc_log_table processes, threads; /* that the keeper has met */
	struct ptrc_log_buffer work;		  /* memory for looking at a process */
	/* Not in the log yet: payloads, each after its length; and struct ptrc_log_thread. */
	struct ptrc_log_buffer pending_processes, pending_threads;
	int64_t next_scan_ns; /* of the threads; CLOCK_MONOTONIC */
	struct ptrc_log_clocks clocks;
	bool is_observed; /* the controller reports processes, too */
	uint32_t proc;	  /* is /proc that of our pid namespace? see log_origin.c */
};

/* The trace that a log is of. */
struct ptrc_log_trace {
	uint64_t id; /* of the stream; of another log, a random number */
	const struct ptrc_attr *attr;
	int32_t target_pid, controller_pid;
	uint32_t owner_uid;
};

struct ptrc_log_writer {
	struct ptrc_log_trace trace;
	/* The stream whose keeper this is, and which gets its state. Null: no keeper writes. */
	struct ptrc_stream_header *header;
	/* The stream whose clock and processes the log describes. NULL: the events were read elsewhere, on
	 * another machine perhaps. */
	const struct ptrc_stream_header *origin;
	int fd;				/* -1: none */
	struct ptrc_log_buffer *memory; /* without a descriptor, the log goes here */
	int dirfd;			/* of the directory of shared objects; -1: none */
	uint32_t kind;			/* PTRC_LOG_RING or _SEQUENTIAL */
	int policy;
	bool is_regular, is_socket;
	uint64_t added_events;	   /* to the batch, without markers */
	uint64_t unwritten_events; /* of the last flush, if it failed */
	bool must_not_append;	   /* the descriptor has O_APPEND, and was not opened again */
	/* What must still be there in a regular file: its size is at least file_end and, if this
	 * writer has written something, that begins and ends with these bytes. */
	uint64_t file_end;
	bool has_last;
	struct {
		uint64_t place;
		uint8_t bytes[sizeof(struct ptrc_log_packet)];
	} last[2];
	uint64_t limit; /* bytes of events */
	uint64_t ring_size;
	/* A flush ends only when the log is on its disk, and before that the stream gives nothing
	 * up: it may be salvaged again. */
	bool syncs_flushes;
	uint64_t close_reserve; /* left free below the file size limit, for STATUS and END */
	struct ptrc_log_state state;
	struct ptrc_log_state retry; /* the state before a flush that failed midway */
	bool has_retry;
	/* A flush into a pipe failed midway: the pipe has the events up to this time, and the
	 * next flush, which gets them again, skips them. */
	int64_t skip_ns;
	int64_t last_ns; /* time of the last event of the last packet written */
	uint32_t place;	 /* in header.log_place: of this log */
	/* Of a log that is rotated (log_rotate.c): when, and the path of its first file. */
	uint64_t rotate_bytes, rotate_ns, keep;
	int64_t rotate_after_ns; /* CLOCK_BOOTTIME: not before, as it has just failed */
	char base[4096];
	const struct ptrc_names_object *names; /* null: there are none */
	struct ptrc_log_buffer out;	       /* the packet that is being made */
	struct ptrc_log_batch batch;	       /* the events of the flush */
	/* For an UNTIL_FULL log, which ends with its last STOP: the markers after that, which
	 * wait for other events to follow. A flush collects them in held_next, which takes the
	 * place of `held` if the flush succeeds. */
	struct ptrc_log_buffer held, held_next; /* struct ptrc_log_held */
	struct ptrc_log_buffer lap;		/* a ring's packets: struct ptrc_log_lap_entry */
	uint64_t lap_first;			/* entries of `lap` before this one are gone */
	struct ptrc_log_index index;
	struct ptrc_log_origins origins;
	/* Called once a second while output stalls. If it returns true the write gives up, with
	 * ECANCELED, and no later write waits. May be null. */
	bool (*give_up)(void *arg);
	void *arg;
	bool has_given_up;
};

/* Is it UNTIL_FULL, and full? */
static inline bool ptrc_log_is_full(const struct ptrc_log_writer *w)
{
	return w->state.flags & PTRC_LOG_STATE_FULL;
}

/* ---- the saved state ---- */

/* Which of header.log_place counts; and whether a state was saved for it. */
uint32_t ptrc_log_state_place(const struct ptrc_stream_header *h);
bool ptrc_log_state_is_saved(const struct ptrc_stream_header *h);
/* For a keeper, saves the state in header.log_state, makes w->place the place of the log, and tells it. */
void ptrc_log_state_save(struct ptrc_log_writer *w);
/* For a keeper: stores in the header's other words what posix_trace_get_status() and its like report of the log. */
void ptrc_log_state_tell(const struct ptrc_log_writer *w);
/* Loads the state from header.log_state. False if none was saved. */
PTRC_MUST_CHECK bool ptrc_log_state_read(const struct ptrc_stream_header *h,
					 struct ptrc_log_state *state);
/* After a failed flush that another process will try again: the state in the header stays as it
 * was saved before, with a note that the markers of the flush wait in the stream. */
void ptrc_log_state_leave(struct ptrc_log_writer *w);
/* The log lacks an event: sets the log's overrun status. */
void ptrc_log_note_loss(struct ptrc_log_writer *w);

/* ---- packets, and their way to a regular file, or to a pipe, socket or device ---- */

/* Can fd be the log of a stream with this policy? A regular file can with each policy; a FIFO,
 * socket or character device only with POSIX_TRACE_APPEND. EBADF: not open for writing.
 * EINVAL. */
PTRC_MUST_CHECK int ptrc_log_check(int fd, int log_policy);

/* Empties w->out and leaves room there for the header of a packet. The caller then adds the
 * payload, and calls ptrc_log_packet_end(), which also tells if memory was short meanwhile. */
void ptrc_log_packet_begin(struct ptrc_log_writer *w);
/* Leaves room for the header of one more packet after what w->out has. */
void ptrc_log_packet_open(struct ptrc_log_writer *w);
/* Pads the last packet in w->out, which begins at offset `start`, and fills in its header. `p` has its
 * type, and of EVENTS what its header says of them. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_packet_end(struct ptrc_log_writer *w, uint64_t start,
					struct ptrc_log_packet p);
/* Adds a whole packet, not of EVENTS, to what w->out holds. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_packet_put(struct ptrc_log_writer *w, uint16_t type,
					const void *payload, uint64_t bytes);

/* Locks a byte of the log (log_layout.h), by which readers see that a keeper is at work. It is a lock
 * of the process and not of the open file: the application may share the open file, and would keep
 * the lock. */
void ptrc_log_lock(int fd, int64_t byte);

/* Looks whether another program has truncated a regular file or written over its end, and notes it
 * in w->state.flags (PTRC_LOG_STATE_CUT). */
void ptrc_log_look(struct ptrc_log_writer *w);

/* The next two write all of w->out, or return the error number of a write. After an error a
 * sequential log in a file is as long as it was. */

/* To this place of a regular file. Other outputs get the bytes after those that they have. */
PTRC_MUST_CHECK int ptrc_log_write_at(struct ptrc_log_writer *w, uint64_t offset);
/* To the end of a sequential log. */
PTRC_MUST_CHECK int ptrc_log_append(struct ptrc_log_writer *w);

/* Waits until what was written to a regular file is on its disk, and returns the error number if it
 * does not get there. Does nothing with other outputs, nor if the controller does not want it. */
PTRC_MUST_CHECK int ptrc_log_sync(struct ptrc_log_writer *w);

/* ---- places of packets ----
 *
 * In a ring new packets take the places of old ones: the writer keeps a list of the packets, oldest first, and
 * can read that list from the file again. Packets other than EVENTS stay in a log for ever.
 */

/* Finds the place of a packet of `size` bytes with `bytes` bytes of events. Gives up the
 * packets that stand there, and the oldest ones until the new one is within the limit. */
uint64_t ptrc_log_ring_place(struct ptrc_log_writer *w, uint64_t size, uint64_t bytes);
/* Writes the packet in w->out to its place. ENOMEM, or the error number of the write. */
PTRC_MUST_CHECK int ptrc_log_ring_write(struct ptrc_log_writer *w, uint64_t place);
/* Counts events that a ring has lost: overwritten, or too old when they came. */
void ptrc_log_ring_note_lost(struct ptrc_log_writer *w, uint64_t events, int64_t first_ns,
			     int64_t last_ns);
/* Gives up all packets. */
void ptrc_log_ring_drop_all(struct ptrc_log_writer *w);
/* Takes back the EVENTS packets from number `seq` on, of a flush that failed. What they have
 * overwritten stays lost. */
void ptrc_log_ring_undo(struct ptrc_log_writer *w, uint64_t seq);
/* For a keeper that goes on for a dead one: reads from the file what is in the ring. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_ring_restore(struct ptrc_log_writer *w);

/* Writes the packet in w->out to the end of a sequential log, or after the ring, where nothing is ever
 * overwritten. between: a packet of a ring's first lap goes between its events, if there is room, as after the
 * ring it would make a file long that has few events as yet. Returns the error number of the write. */
PTRC_MUST_CHECK int ptrc_log_aside_write(struct ptrc_log_writer *w, bool between);

/* Writes a packet of this type that the log can do without. False: there is no room for it, and it
 * may be tried again. If such packets have as much of the log as they may, it is left out; a log
 * whose user wants to know of each process, as they are observed, has as many as there are, unless it is a
 * ring. */
bool ptrc_log_aside_put(struct ptrc_log_writer *w, uint16_t type, const void *payload,
			uint64_t bytes);

/* At the end of a ring's first lap: writes those packets of it once more after the ring, as far as
 * that can be done, by means of w->out. */
void ptrc_log_aside_before_wrap(struct ptrc_log_writer *w);

/* ---- the index of a sequential log in a regular file ----
 *
 * It goes into the log in pieces, so that the keeper's memory does not grow with the log, and is complete when
 * the log is closed. It only saves a reader time: without it, or if a byte of it is damaged, the reader goes
 * over the headers of all packets.
 */

/* Begins the index of an empty log. is_lost: the log is not empty, and what an earlier keeper knew
 * of it is gone, so it gets no index. */
void ptrc_log_index_begin(struct ptrc_log_writer *w, bool is_lost);
void ptrc_log_index_free(struct ptrc_log_index *x);

/* Notes the packet in w->out, which was written to the end of the log. */
void ptrc_log_index_note(struct ptrc_log_writer *w);
/* Notes the filter in w->state, which is in force from now on. */
void ptrc_log_index_note_filter(struct ptrc_log_writer *w);
/* The packets that a flush has noted stay in the log. */
void ptrc_log_index_keep(struct ptrc_log_writer *w);
/* Forgets the packets from `offset` on: the flush that wrote them has failed. */
void ptrc_log_index_forget(struct ptrc_log_writer *w, uint64_t offset);

/* Called between two flushes: writes a piece of the index if many packets wait for that. If it
 * cannot be written now, they go on waiting. */
void ptrc_log_index_write(struct ptrc_log_writer *w);
/* Adds to w->out, which goes to the end of the log, the rest of the index, and TOTALS. Returns the
 * offset of the last INDEX packet, or 0 if there is no index. */
PTRC_MUST_CHECK uint64_t ptrc_log_index_end(struct ptrc_log_writer *w);

/* ---- names and layouts, in NAMES packets ---- */

/* Both return ENOMEM, or the error number of a write. */

/* Writes the names and layouts that are not in the log yet. */
PTRC_MUST_CHECK int ptrc_log_names_write(struct ptrc_log_writer *w);

/* How many names the log has. */
uint64_t ptrc_log_names_count(const struct ptrc_log_writer *w);

/* ---- whose a log is ----
 *
 * The machine in a HOST packet, its clocks in CLOCK packets, the processes of which the log has
 * events in PROCESS packets, and the names of their threads in THREADS packets.
 *
 * The keeper looks into /proc: at a process when it is told that the process begins to record, and when it
 * meets events of one that it does not know; while events of it come, once a second it looks whether the
 * process has changed. It finds the threads in the slots of the stream; one that ended before it looks has no
 * name. What it finds waits in memory until the next flush. Nothing of this makes a flush fail, and nothing of
 * it is done for each event. Freestanding.
 */

/* For a log that is empty: forgets what it has told, and writes HOST and CLOCK. What was found of processes
 * goes on waiting. */
void ptrc_log_origin_begin(struct ptrc_log_writer *w);
void ptrc_log_origin_free(struct ptrc_log_origins *x);

/* Writes a CLOCK packet. if_due: only if the last one is a second old, and has become wrong or is older than a
 * part of the log's age; so their number stays small. */
void ptrc_log_origin_clock(struct ptrc_log_writer *w, bool if_due);

/* Looks at the processes that have said in the stream's header that they record, and before that at threads:
 * a process that has waited for this may end with them. */
void ptrc_log_origin_arrive(struct ptrc_log_writer *w, bool with_threads);
/* Between two flushes: looks at those processes, and writes what is known of them. */
void ptrc_log_origin_meet(struct ptrc_log_writer *w);
/* In a flush, before its events are written: looks at the process of some of them, if that is due; *pid: the last one
 * that was looked at, at first 0. Then looks at the threads, and writes what waits. */
void ptrc_log_origin_look(struct ptrc_log_writer *w, const struct ptrc_context *origin,
			  int64_t first_ns, int *pid);
void ptrc_log_origin_write(struct ptrc_log_writer *w);
/* Takes over what the controller has observed of a process, unless the keeper itself has found it so. */
void ptrc_log_origin_observed(struct ptrc_log_writer *w, const struct ptrc_stretch *stretch);

/* ---- the events of a flush, in EVENTS packets ----
 *
 * A flush calls begin, then add for each stretch, then end. Add keeps the packed stretch; end writes a packet
 * for each slice of time. So what a bounded log keeps is a span of time without holes, and a log that is cut
 * short lacks nothing before its end.
 */

/* What log-max-size counts for the STOP with which a full log ends: its data are an int. */
#define PTRC_LOG_STOP_BYTES UINT64_C(12)

/* A stretch should have no more bytes than this, as splitting a larger one would take long. */
#define PTRC_LOG_STRETCH_MAX (PTRC_LOG_PACKET_BYTES / 4)

/* Gives memory back, except for this much. A keeper calls this before it sleeps. While many
 * events come the memory is kept from flush to flush: fresh pages cost as much time as all the
 * rest of a flush. */
#define PTRC_LOG_BATCH_KEEP_BYTES (UINT64_C(1) << 20)
void ptrc_log_batch_trim(struct ptrc_log_batch *b);
/* Room for a stretch that is to be packed into the batch: *out. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_batch_room(struct ptrc_log_batch *b, uint64_t bytes, uint8_t **out);
void ptrc_log_batch_clear(struct ptrc_log_batch *b);
void ptrc_log_batch_free(struct ptrc_log_batch *b);

void ptrc_log_events_begin(struct ptrc_log_writer *w);
/* ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_events_add(struct ptrc_log_writer *w,
					const struct ptrc_stretch *stretch);
/* ENOMEM, or the error number of a write: then the next flush must bring the same events
 * again. */
PTRC_MUST_CHECK int ptrc_log_events_end(struct ptrc_log_writer *w);

/* Writes an EVENTS packet with a single event of the trace system. ENOMEM, or the error number of
 * the write. */
PTRC_MUST_CHECK int ptrc_log_events_write_single(struct ptrc_log_writer *w, int64_t ns,
						 uint32_t order, uint32_t id_flags,
						 const void *data, uint32_t len);

/* ---- a log as a whole ---- */

/* Makes a writer ready, without writing, for a log of this trace and policy that no keeper writes. It needs
 * neither shared memory nor, if fd is -1, a file; then w->memory is to be set. fd stays the caller's; no other
 * code may change its flags or offset. `trace->attr` stays. EINVAL. */
PTRC_MUST_CHECK int ptrc_log_writer_begin(struct ptrc_log_writer *w,
					  const struct ptrc_log_trace *trace, int policy, int fd);
/* The same for the keeper of this stream. is_restart: goes on where header.log_state says. ENOMEM, EINVAL. */
PTRC_MUST_CHECK int ptrc_log_writer_init(struct ptrc_log_writer *w,
					 struct ptrc_stream_header *header, int fd,
					 bool is_restart);
void ptrc_log_writer_free(struct ptrc_log_writer *w);

/* The following return the error number of a failed write, or ENOMEM. */

/* Empties the file and writes the head, of the member of a rotated log that the state says. */
PTRC_MUST_CHECK int ptrc_log_writer_head(struct ptrc_log_writer *w);
/* Empties the log. A pipe cannot be emptied: it is told that the filter is empty from now_ns
 * on. */
PTRC_MUST_CHECK int ptrc_log_writer_clear(struct ptrc_log_writer *w, int64_t now_ns);
/* Writes STATUS and END of a member that another one follows. */
PTRC_MUST_CHECK int ptrc_log_writer_end(struct ptrc_log_writer *w);
/* Keeps room for these two below the file size limit, until they are written. */
void ptrc_log_reserve_close(struct ptrc_log_writer *w);
/* Writes STATUS and END of a keeper's log, and waits until the log is on its disk. If it does
 * not get there, STATUS has the error. */
PTRC_MUST_CHECK int ptrc_log_writer_close(struct ptrc_log_writer *w);
/* The same of another log, whose losses `status` has. */
PTRC_MUST_CHECK int ptrc_log_writer_finish(struct ptrc_log_writer *w,
					   struct ptrc_log_status status);
/* Adds STATUS to w->out, completed by what the writer knows, and with is_end END. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_writer_put_status(struct ptrc_log_writer *w,
					       struct ptrc_log_status status, bool is_end);

/* ---- rotation ----
 *
 * A log that is rotated: it goes on in another file when the one that it has is large or old enough.
 * Each file, a member of the log, is a whole log. The first is the one that the stream was created
 * with; the others are called as that one, with ".000001" and so on after the name. A name never
 * changes, so that other programs can take closed members away while the log is written.
 *
 * Between two flushes nothing is under way: every event that was taken out of the stream is in the old
 * member, and the next flush writes into the new one. The store that saves the state of the new
 * member also makes its place count. If the keeper dies before that, the next one goes
 * on in the old member: it takes the end off again, and removes the new file.
 */

#define PTRC_LOG_PATH_BYTES sizeof(((struct ptrc_log_place *)0)->path)

/* Notes in the place where the log is, of which fd is the file. base: the path of the first member,
 * or an empty text. */
void ptrc_log_rotate_note(struct ptrc_log_place *place, int fd, const char *base);
/* Stores the path of the first member, for a keeper that has its descriptor. is_noted: a keeper
 * before it has noted a place. EINVAL: there is none, as the file has no name. */
PTRC_MUST_CHECK int ptrc_log_rotate_base(const struct ptrc_stream_header *h, int first_fd,
					 bool is_noted, char base[PTRC_LOG_PATH_BYTES]);

/* For a keeper: finds the member of a rotated log that it is to go on with, which *log_fd is then. Before it is the
 * first member, or with is_last the one to go on with, as the log is only ended. `base` becomes the path of the
 * first member, or empty if no other member is to follow; *number that of a new member, if the one to go on with is
 * not there any more, else 0. Errors of open(), or as above. */
PTRC_MUST_CHECK int ptrc_log_rotate_find(struct ptrc_stream_header *h, bool is_new, bool is_last,
					 int *log_fd, char *base, uint64_t *number);
/* Begins a member in the file of w->fd, which the place that does not count is of, and deletes those that are too many. The
 * error number of a failed write, or ENOMEM; then the state is what it was. */
PTRC_MUST_CHECK int ptrc_log_rotate_begin(struct ptrc_log_writer *w, uint64_t number);

/* Is the next member due? Otherwise shortens *wait_ns, where -1 is for ever, to when it may be. */
PTRC_MUST_CHECK bool ptrc_log_rotate_is_due(const struct ptrc_log_writer *w, int64_t *wait_ns);
/* Ends this member and begins the next one, which w->fd is then. On failure the log goes on in this
 * one, and nothing is due for a while. The error number of a failed call. */
PTRC_MUST_CHECK int ptrc_log_rotate(struct ptrc_log_writer *w);
/* The log is about to be emptied: deletes all members but the last, which becomes the first. */
void ptrc_log_rotate_clear(struct ptrc_log_writer *w);

#endif
