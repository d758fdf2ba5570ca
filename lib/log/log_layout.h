/* SPDX-License-Identifier: MIT */
/*
 * The log as it stands in a file or goes through a pipe; docs/log-format.md describes it
 * byte by byte. All numbers are little-endian, as are all machines that the library runs
 * on; times are nanoseconds since the Epoch.
 *
 *   struct ptrc_log_prefix
 *   HEAD packet      struct ptrc_log_head
 *   the same bytes of both once more, for readers of a log whose first bytes are damaged
 *   then, in a sequential log, packets one behind the other:
 *     NAMES, EVENTS, ... (in a regular file with an INDEX now and then)
 *     INDEX, TOTALS (only in a regular file), STATUS, END, once it is closed
 *   or, in a ring (regular file, POSIX_TRACE_LOOP):
 *     at head.close_offset  STATUS, END, once it is closed
 *     at head.ring_offset   EVENTS (and NAMES in the first lap), oldest overwritten
 *     behind the ring       NAMES of later laps
 *
 * A packet is a header and `length` bytes of payload, padded to a multiple of 8.
 */
#ifndef PTRC_LIB_LOG_LOG_LAYOUT_H
#define PTRC_LIB_LOG_LOG_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/common.h"
#include "lib/base/crc32c.h"
#include "lib/model/attr.h"
#include "lib/model/eventset.h"
#include "lib/model/record.h"
#include "lib/model/type_sums.h"

#define PTRC_LOG_SIGNATURE "\211PTRLOG\n"
#define PTRC_LOG_SIGNATURE_BYTES 8U
#define PTRC_LOG_BYTE_ORDER UINT32_C(0x01020304)
#define PTRC_LOG_VERSION 3
#define PTRC_LOG_WORD_SIZE 8

/* As in the header of an ELF file. */
#if defined(__x86_64__)
#define PTRC_LOG_MACHINE 62
#elif defined(__aarch64__)
#define PTRC_LOG_MACHINE 183
#endif

struct ptrc_log_prefix {
	uint8_t signature[PTRC_LOG_SIGNATURE_BYTES];
	uint32_t byte_order;
	uint16_t version;
	uint8_t word_size;
	uint8_t zero0;
	uint16_t machine;
	uint8_t zero1[14];
};
PTRC_ASSERT_SIZE(struct ptrc_log_prefix, 32);

static inline struct ptrc_log_prefix ptrc_log_prefix(void)
{
	return (struct ptrc_log_prefix){.signature = PTRC_LOG_SIGNATURE,
					.byte_order = PTRC_LOG_BYTE_ORDER,
					.version = PTRC_LOG_VERSION,
					.word_size = PTRC_LOG_WORD_SIZE,
					.machine = PTRC_LOG_MACHINE};
}

#define PTRC_LOG_PACKET_MAGIC UINT32_C(0x4b505450) /* "PTPK" */

enum ptrc_log_packet_type {
	PTRC_LOG_HEAD = 1,
	PTRC_LOG_NAMES = 2,
	PTRC_LOG_EVENTS = 3,
	PTRC_LOG_STATUS = 4,
	PTRC_LOG_END = 5,
	PTRC_LOG_INDEX = 6,
	PTRC_LOG_TOTALS = 7,
	PTRC_LOG_HOST = 8,
	PTRC_LOG_PROCESS = 9,
	PTRC_LOG_CLOCK = 10,
	PTRC_LOG_THREADS = 11,
};

/* Flags of an EVENTS packet. */
#define PTRC_LOG_HAS_RING 1U	   /* struct ptrc_log_ring comes behind the sums */
#define PTRC_LOG_HAS_FILTER 2U	   /* then comes the filter before the first event */
#define PTRC_LOG_FILTER_UNKNOWN 4U /* without both flags that filter is empty */
/* With PTRC_LOG_HAS_FILTER the high byte tells how many words the filter has here, less one; the
 * words behind them are 0. */
#define PTRC_LOG_FILTER_WORDS_SHIFT 8

/* The bytes of the filter in a payload with these flags. */
static inline uint32_t ptrc_log_filter_bytes(uint32_t flags)
{
	uint32_t words = (flags >> PTRC_LOG_FILTER_WORDS_SHIFT) + 1;

	if (!(flags & PTRC_LOG_HAS_FILTER))
		return 0;
	return 8 * (words < PTRC_SET_WORD_COUNT ? words : PTRC_SET_WORD_COUNT);
}

struct ptrc_log_packet {
	uint32_t magic;
	uint16_t type;
	uint16_t flags;
	uint64_t length;  /* of the payload, without padding */
	uint64_t log_id;  /* the same in all packets of a log, random */
	uint64_t seq;	  /* how many EVENTS packets were written before this packet */
	int64_t first_ns; /* this and what follows: of EVENTS; the earliest and the latest time */
	int64_t last_ns;
	uint32_t event_count; /* events in it that are reported */
	uint32_t payload_crc; /* CRC-32C of `length` bytes */
	/* The payload begins with so many bytes of struct ptrc_type_sum: the events by type. */
	uint32_t sums_bytes;
	uint32_t sums_crc;
	uint64_t counted; /* bytes of all events, as log-max-size counts them */
	uint32_t zero;
	uint32_t header_crc; /* CRC-32C of the 76 bytes before */
};
PTRC_ASSERT_SIZE(struct ptrc_log_packet, 80);
PTRC_ASSERT_OFFSET(struct ptrc_log_packet, length, 8);
PTRC_ASSERT_OFFSET(struct ptrc_log_packet, first_ns, 32);
PTRC_ASSERT_OFFSET(struct ptrc_log_packet, sums_bytes, 56);
PTRC_ASSERT_OFFSET(struct ptrc_log_packet, header_crc, 76);

static inline uint32_t ptrc_log_header_crc(const struct ptrc_log_packet *p)
{
	return ptrc_crc32c(0, p, offsetof(struct ptrc_log_packet, header_crc));
}

/* Is it the header of a packet of this log? log_id 0: of any. */
static inline bool ptrc_log_is_header(const struct ptrc_log_packet *p, uint64_t log_id)
{
	return p->magic == PTRC_LOG_PACKET_MAGIC && p->header_crc == ptrc_log_header_crc(p) &&
	       (log_id == 0 || p->log_id == log_id);
}

/* And of one that ends within the next `room` bytes, which begin with it? */
static inline bool ptrc_log_is_packet(const struct ptrc_log_packet *p, uint64_t log_id,
				      uint64_t room)
{
	return ptrc_log_is_header(p, log_id) && room >= sizeof(*p) &&
	       p->length <= room - sizeof(*p);
}

static inline uint64_t ptrc_log_packet_size(const struct ptrc_log_packet *p)
{
	return sizeof(*p) + ptrc_align8(p->length);
}

/* Bytes that an EVENTS packet takes, about; in a small bounded log a sixteenth of its limit. A ring
 * gives up a whole packet at a time, and damage takes away a whole packet. Larger packets would gain
 * nothing in speed. */
#define PTRC_LOG_PACKET_BYTES (UINT64_C(256) << 10)
/* An EVENTS packet whose payload is longer has a single event. */
#define PTRC_LOG_PAYLOAD_MAX (UINT64_C(1) << 20)

#define PTRC_LOG_SEQUENTIAL 0
#define PTRC_LOG_RING 1

/* Of a log that is rotated: what happened from its creation, or the last clear, until a file was begun. So
 * it is known also if the files whose STATUS tell of it are gone. */
struct ptrc_log_before {
	uint64_t lost_events, log_lost_events;
	uint64_t waits, wait_ns;
	uint32_t is_overrun; /* events were lost in the stream */
	uint32_t zero;
};
PTRC_ASSERT_SIZE(struct ptrc_log_before, 40);

struct ptrc_log_head {
	int64_t create_sec, create_nsec;
	int64_t clockres_sec, clockres_nsec;
	uint32_t inherited; /* this and the policies by their numbers in <trace.h> */
	uint32_t log_policy;
	uint32_t stream_policy;
	uint32_t kind; /* PTRC_LOG_SEQUENTIAL or PTRC_LOG_RING */
	uint64_t max_data_size;
	uint64_t stream_min_size;
	uint64_t log_max_size;
	int32_t target_pid;
	int32_t controller_pid;
	uint32_t owner_uid; /* of the shared objects */
	uint32_t zero0;
	uint64_t close_offset; /* this and the next two: 0 in a sequential log */
	uint64_t ring_offset;
	uint64_t ring_size;
	uint64_t stream_id; /* name of the shared object, as long as it exists */
	uint64_t full_wait_ns;
	/* Of a log that is rotated, which goes on in another file (log_rotate.c). These three are the
	 * attribute, all 0 in other logs. */
	uint64_t rotate_bytes, rotate_ns;
	uint64_t keep;
	uint64_t member;	/* the number in the file's name; 0: it has none */
	uint64_t ordinal;	/* how many files it had before this one, since the last clear */
	uint64_t first_seq;	/* EVENTS packets in those files; the first one here has this seq */
	uint64_t events_before; /* events in those files */
	struct ptrc_log_before before;
	uint8_t zero1[32];
	char name[256]; /* zero terminated */
	char genversion[256];
};
PTRC_ASSERT_SIZE(struct ptrc_log_head, 768);
PTRC_ASSERT_OFFSET(struct ptrc_log_head, inherited, 32);
PTRC_ASSERT_OFFSET(struct ptrc_log_head, max_data_size, 48);
PTRC_ASSERT_OFFSET(struct ptrc_log_head, target_pid, 72);
PTRC_ASSERT_OFFSET(struct ptrc_log_head, close_offset, 88);
PTRC_ASSERT_OFFSET(struct ptrc_log_head, rotate_bytes, 128);
PTRC_ASSERT_OFFSET(struct ptrc_log_head, name, 256);

/* The creation of a stream, before which no event is; INT64_MIN if it cannot be told. */
static inline int64_t ptrc_log_creation_ns(int64_t sec, int64_t nsec)
{
	int64_t ns;

	if (__builtin_mul_overflow(sec, INT64_C(1000000000), &ns) ||
	    __builtin_add_overflow(ns, nsec, &ns))
		return INT64_MIN;
	return ns;
}

/* How a log begins. */
struct ptrc_log_begin {
	struct ptrc_log_prefix prefix;
	struct ptrc_log_packet packet;
	struct ptrc_log_head head;
};
#define PTRC_LOG_HEAD_BYTES sizeof(struct ptrc_log_begin)
PTRC_ASSERT_SIZE(struct ptrc_log_begin, 32 + 80 + 768);

static inline bool ptrc_log_is_begin(const struct ptrc_log_begin *b)
{
	struct ptrc_log_prefix prefix = ptrc_log_prefix();

	return memcmp(&b->prefix, &prefix, sizeof(prefix)) == 0 &&
	       ptrc_log_is_header(&b->packet, 0) && b->packet.type == PTRC_LOG_HEAD &&
	       b->packet.length == sizeof(b->head) && b->packet.log_id != 0 &&
	       b->packet.payload_crc == ptrc_crc32c(0, &b->head, sizeof(b->head));
}

/* How often it stands in the log. */
#define PTRC_LOG_HEAD_COPIES 2
#define PTRC_LOG_HEADS_BYTES (PTRC_LOG_HEAD_COPIES * PTRC_LOG_HEAD_BYTES)

/* Places in a ring. Heads and close area lie within the first 2 KiB, which the file has from the
 * beginning: so a log can be closed even when the disk is full. */
#define PTRC_LOG_CLOSE_OFFSET UINT64_C(1760)
#define PTRC_LOG_RING_OFFSET UINT64_C(2048)

/* A name: its bytes follow, then those of a layout of the data of its events, then padding to 8. A
 * layout that a name gets when it stands in the log already comes with the name once more. */
struct ptrc_log_name {
	uint16_t id;
	uint16_t name_bytes;
	uint32_t layout_bytes; /* 0: it has none */
};
PTRC_ASSERT_SIZE(struct ptrc_log_name, 8);

/* The state of a ring after the packet was written. */
struct ptrc_log_ring {
	uint64_t oldest_seq;   /* EVENTS packets with a smaller number are overwritten */
	int64_t lost_first_ns; /* the earliest time of all events overwritten */
	int64_t lost_last_ns;  /* the latest: what is older is not reported */
	uint64_t lost_events;  /* 0: none, and the two above mean nothing */
};
PTRC_ASSERT_SIZE(struct ptrc_log_ring, 32);

/* A section of an EVENTS packet: packed events (lib/model/packed.h) of one origin. Sections follow
 * one another without padding. */
struct ptrc_log_section {
	int64_t base_ns; /* time of the first event */
	struct ptrc_context origin;
	uint32_t bytes; /* of the packed events that follow */
	/* Of events of the same time those of the smaller order come first. */
	uint32_t order;
};
PTRC_ASSERT_SIZE(struct ptrc_log_section, 32);

struct ptrc_log_status {
	/* As posix_trace_get_status() reports them of the log. */
	uint32_t stream_status;
	uint32_t stream_full;
	uint32_t stream_overrun;
	uint32_t flush_status;
	uint32_t flush_error;
	uint32_t log_overrun;
	uint32_t log_full;
	uint16_t flags; /* PTRC_LOG_SOURCE_UNCOUNTED, PTRC_LOG_GOES_ON */
	/* Of events that a program has read elsewhere: parts without events, and names, that were damaged
	 * in their source; at most UINT16_MAX. */
	uint16_t source_damaged_parts;
	uint64_t lost_events;
	uint64_t log_lost_events;
	uint64_t log_events;
	uint64_t log_bytes;
	/* Processes that should have been traced and could not be, and the error number of
	 * one of them: EMFILE, ENOMEM or EPROTO. */
	uint32_t untraced_processes;
	uint32_t untraced_error;
	/* Names that had no event number left for them; at least this many. */
	uint32_t refused_names;
	/* Bytes of the largest data that was cut to max-data-size, at most UINT32_MAX; 0: none was. */
	uint32_t data_needed;
	/* Names of event types that the log has, so that a reader knows if it lacks some. 0: none, or
	 * nobody knows. */
	uint64_t names;
	/* How often event calls waited for room in the stream, and how long in all. */
	uint64_t waits, wait_ns;
	/* Of the last INDEX packet, which TOTALS follow; 0: there is none. */
	uint64_t index_offset;
	/* Of events that a program has read elsewhere: what the log lacks of them, as their source was
	 * damaged. */
	uint64_t source_damaged_events;
	/* What the log lacks as its last flush failed, if there is a flush_error; else of events that a
	 * program has read elsewhere, as they came too fast for it. */
	uint64_t missed_events;
};
PTRC_ASSERT_SIZE(struct ptrc_log_status, 128);

/* For counts that have less room here than elsewhere. */
static inline uint64_t ptrc_log_at_most(uint64_t count, uint64_t most)
{
	return count < most ? count : most;
}

/* It is not known how many events the log lacks because of its source. */
#define PTRC_LOG_SOURCE_UNCOUNTED 1U
/* The log is rotated and goes on in another file. */
#define PTRC_LOG_GOES_ON 2U

/* An INDEX packet has this and `count` headers: those of all packets between the INDEX packet before, or
 * HEAD, and this one, but with 0 in the place of the magic. */
struct ptrc_log_index_head {
	uint64_t previous; /* offset of the INDEX packet before; 0: this is the first */
	uint32_t count;
	uint32_t zero;
};
PTRC_ASSERT_SIZE(struct ptrc_log_index_head, 16);

/* The keeper writes an INDEX packet when so many packets wait for one. */
#define PTRC_LOG_INDEX_COUNT 1024U

/* TOTALS have this, an entry for each type of which the log has events, and a set: the types that
 * were in the filter at any time, and of which a reader may therefore leave out events. */
struct ptrc_log_totals_head {
	uint32_t type_count;
	uint32_t filter_words;
};
PTRC_ASSERT_SIZE(struct ptrc_log_totals_head, 8);

struct ptrc_log_total {
	uint32_t id;
	uint32_t zero;
	uint64_t events, bytes, truncated; /* as in struct ptrc_type_sum */
};
PTRC_ASSERT_SIZE(struct ptrc_log_total, 32);

static inline void ptrc_log_total_add(struct ptrc_log_total *t, uint64_t events, uint64_t bytes,
				      uint64_t truncated)
{
	t->events += events;
	t->bytes += bytes;
	t->truncated += truncated;
}

/* HOST: the machine. The texts follow one upon the other, in this order. */
enum ptrc_log_host_text {
	PTRC_LOG_HOST_NAME,
	PTRC_LOG_HOST_MACHINE_ID,
	PTRC_LOG_HOST_BOOT_ID,
	PTRC_LOG_HOST_SYSTEM, /* this and the next three: as uname() says it */
	PTRC_LOG_HOST_RELEASE,
	PTRC_LOG_HOST_VERSION,
	PTRC_LOG_HOST_MACHINE,
	PTRC_LOG_HOST_TIME_ZONE, /* its name */
	PTRC_LOG_HOST_TEXTS,
};
#define PTRC_LOG_HOST_OFFSET_KNOWN 1U

struct ptrc_log_host {
	int32_t utc_offset; /* seconds east of UTC, when the stream was created */
	uint32_t flags;	    /* PTRC_LOG_HOST_OFFSET_KNOWN */
	uint16_t bytes[PTRC_LOG_HOST_TEXTS];
};
PTRC_ASSERT_SIZE(struct ptrc_log_host, 24);

/* PROCESS: a process of which the log has events, as it was at some time. A later one of the same pid
 * tells that it has changed, or that another process has the number now. */
#define PTRC_LOG_PROCESS_GONE 1U	  /* it had ended; most of this is not known */
#define PTRC_LOG_PROCESS_KNOWN 2U	  /* parent, start and comm are known */
#define PTRC_LOG_PROCESS_USER 4U	  /* the user is known */
#define PTRC_LOG_PROCESS_LINE 8U	  /* the command line is known */
#define PTRC_LOG_PROCESS_LINE_CUT 16U	  /* it has more bytes than stand here */
#define PTRC_LOG_PROCESS_MAPPED 32U	  /* the mappings are known */
#define PTRC_LOG_PROCESS_MAPPINGS_CUT 64U /* there are more mappings */

/* What follows: comm, path of the executable, its build id, command line; padding to 8; mappings. */
struct ptrc_log_process {
	int64_t from_ns;  /* the process was found so at this time */
	int64_t start_ns; /* of the process */
	int32_t pid, parent_pid;
	uint32_t user; /* effective user id */
	uint32_t flags;
	uint16_t comm_bytes, exe_bytes, build_id_bytes, zero0;
	uint32_t line_bytes;
	uint32_t mapping_count;
	uint64_t zero1;
};
PTRC_ASSERT_SIZE(struct ptrc_log_process, 56);

/* An executable mapping; build id, path and padding to 8 follow. */
struct ptrc_log_mapping {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* in the file */
	uint16_t build_id_bytes, path_bytes;
	uint32_t zero;
};
PTRC_ASSERT_SIZE(struct ptrc_log_mapping, 32);

/* THREADS has one of these for each thread: from that time on it had this name. */
#define PTRC_LOG_THREAD_NAME 16U
struct ptrc_log_thread {
	int64_t from_ns;
	int32_t pid, tid;
	char name[PTRC_LOG_THREAD_NAME]; /* zeros behind it; empty: not known */
};
PTRC_ASSERT_SIZE(struct ptrc_log_thread, 32);

/* CLOCK: clocks read one directly after the other. */
struct ptrc_log_clock {
	int64_t event_ns; /* the time that an event would get */
	int64_t realtime_ns, monotonic_ns, boottime_ns;
	uint64_t counter;			  /* of the processor */
	int64_t window_ns;			  /* how long the reading took */
	int64_t max_error_ns, estimated_error_ns; /* of CLOCK_REALTIME, as adjtimex() tells them */
	int32_t status;				  /* as adjtimex() tells it; -1: not known */
	int32_t state;				  /* what it returned */
};
PTRC_ASSERT_SIZE(struct ptrc_log_clock, 72);

/* Limits of what a keeper writes into a PROCESS packet. */
#define PTRC_LOG_LINE_MAX 4096U
/* The most names in a THREADS packet. */
#define PTRC_LOG_THREADS_MAX 2048U
#define PTRC_LOG_MAPPINGS_MAX 256U
#define PTRC_LOG_BUILD_ID_MAX 64U
#define PTRC_LOG_PROCESS_MAX (UINT64_C(64) << 10)
/* HOST, PROCESS, THREADS and CLOCK packets take at most so many bytes, and a sixteenth of the log. */
#define PTRC_LOG_ASIDE_BYTES (UINT64_C(128) << 10)

_Static_assert(PTRC_LOG_HEADS_BYTES <= PTRC_LOG_CLOSE_OFFSET, "heads fit");
_Static_assert(PTRC_LOG_CLOSE_OFFSET + 2 * sizeof(struct ptrc_log_packet) +
			       sizeof(struct ptrc_log_status) <=
		       PTRC_LOG_RING_OFFSET,
	       "close area fits");

/* A keeper locks these bytes of a regular log, which lie far beyond any data: the first while
 * it is at work, the second while it finishes the log of a dead controller. */
#define PTRC_LOG_LOCK_KEEPER INT64_C(0x7ffffffffffffff0)
#define PTRC_LOG_LOCK_FINISHING INT64_C(0x7ffffffffffffff1)

#endif
