/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a log, in a file or in a pipe. docs/log-format.md describes them one by one. All
 * numbers are little-endian, as are all machines that the library runs on; times are nanoseconds
 * since the Epoch.
 *
 *   struct ptrc_log_prefix
 *   HEAD packet      struct ptrc_log_head
 *   both once more, for readers of a log whose first bytes are damaged
 *   then, in a sequential log, one packet after the other:
 *     NAMES, EVENTS, ... (in a regular file with an INDEX now and then)
 *     INDEX, TOTALS (only in a regular file), STATUS, END, once it is closed
 *   or, in a ring (regular file, POSIX_TRACE_LOOP):
 *     at head.close_offset  STATUS, END, once it is closed
 *     at head.ring_offset   EVENTS (and NAMES until the ring is full), oldest overwritten
 *     after the ring        NAMES written once the ring was full
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

#define PTRC_LOG_SIGNATURE "\211PTRLOG\n"
#define PTRC_LOG_SIGNATURE_BYTES 8U
#define PTRC_LOG_BYTE_ORDER UINT32_C(0x01020304)
/* The newest version that this library knows. A log gets the lowest version whose format can hold
 * its contents (HACKING.md, "A stable thing"). Versions 1 and 2 came before the first release. */
#define PTRC_LOG_VERSION 3
#define PTRC_LOG_VERSION_OLDEST 3
#define PTRC_LOG_WORD_SIZE 8

/* The value of e_machine in the header of an ELF file for this processor. */
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

/* Flags of an EVENTS packet: which optional parts its payload has between the sums (sums_bytes of
 * the header) and the sections. */
#define PTRC_LOG_HAS_RING 1U   /* the payload has a struct ptrc_log_ring */
#define PTRC_LOG_HAS_FILTER 2U /* the payload has the filter before the first event */
/* The filter (the set of types that are not recorded) before the first event is unknown. If neither
 * this flag nor PTRC_LOG_HAS_FILTER is set, that filter is empty. */
#define PTRC_LOG_FILTER_UNKNOWN 4U
/* With PTRC_LOG_HAS_FILTER, the high byte of the flags is the number of words of the filter that
 * are stored, minus one. The words that are not stored are 0. */
#define PTRC_LOG_FILTER_WORDS_SHIFT 8

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
	uint64_t length; /* bytes of the payload, without padding */
	uint64_t log_id; /* a random number, the same in all packets of a log */
	uint64_t seq;	 /* number of EVENTS packets before this packet in the log */
	/* Times of the earliest and the latest event. In packets other than EVENTS these and the
	 * following members are 0, except payload_crc and header_crc. */
	int64_t first_ns;
	int64_t last_ns;
	uint32_t event_count; /* number of events, not counting PTRC_REC_HIDDEN */
	uint32_t payload_crc; /* CRC-32C of the payload without padding */
	/* The payload begins with this many bytes of struct ptrc_type_sum: counts by event type. */
	uint32_t sums_bytes;
	uint32_t sums_crc;
	uint64_t counted; /* bytes of all events, counted as for the attribute log-max-size */
	uint32_t zero;
	uint32_t header_crc; /* CRC-32C of the 76 bytes before it */
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

/* Whether this is the header of a packet of the log `log_id`. log_id 0: of any log. */
static inline bool ptrc_log_is_header(const struct ptrc_log_packet *p, uint64_t log_id)
{
	return p->magic == PTRC_LOG_PACKET_MAGIC && p->header_crc == ptrc_log_header_crc(p) &&
	       (log_id == 0 || p->log_id == log_id);
}

/* Whether this is the header of a packet of the log `log_id` (0: of any log), and the header and
 * the payload together have at most `room` bytes. */
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

/* The size that an EVENTS packet should have. In a log with a size limit it is a sixteenth of the
 * limit if that is less. Packets are kept this small because a ring overwrites whole packets, and
 * because damage makes a whole packet unreadable. Larger packets would not be faster. */
#define PTRC_LOG_PACKET_BYTES (UINT64_C(256) << 10)
/* An EVENTS packet whose payload is longer than this has a single event. */
#define PTRC_LOG_PAYLOAD_MAX (UINT64_C(1) << 20)

#define PTRC_LOG_SEQUENTIAL 0
#define PTRC_LOG_RING 1

/* A part of the head of each file of a rotated log: the losses and waits from the creation or last
 * clear of the log until that file was begun. So they are known even if the earlier files, with
 * their STATUS packets, are gone. */
struct ptrc_log_before {
	uint64_t lost_events, log_lost_events;
	uint64_t waits, wait_ns;
	uint32_t is_overrun; /* events were lost in the stream */
	uint32_t unobserved_events;
};
PTRC_ASSERT_SIZE(struct ptrc_log_before, 40);

struct ptrc_log_head {
	int64_t create_sec, create_nsec;
	int64_t clockres_sec, clockres_nsec;
	uint32_t inherited; /* `inherited` and the two policies have the values of <trace.h> */
	uint32_t log_policy;
	uint32_t stream_policy;
	uint32_t kind; /* PTRC_LOG_SEQUENTIAL or PTRC_LOG_RING */
	uint64_t max_data_size;
	uint64_t stream_min_size;
	uint64_t log_max_size;
	int32_t target_pid;
	int32_t controller_pid;
	uint32_t owner_uid; /* user ID of the owner of the stream's files in /dev/shm */
	uint32_t zero0;
	uint64_t close_offset; /* ring only, otherwise 0: offset of STATUS and END */
	uint64_t ring_offset;
	uint64_t ring_size;
	uint64_t stream_id; /* the shared object of the stream is s.<id> */
	uint64_t full_wait_ns;
	/* The attributes of a rotated log (log_rotate.c): the size and the age at which it
	 * continues in another file, and the number of files to keep. 0: no limit. */
	uint64_t rotate_bytes, rotate_ns;
	uint64_t keep;
	uint64_t member;	/* number in the file's name; 0: the first file */
	uint64_t ordinal;	/* number of earlier files, since the last clear of the log */
	uint64_t first_seq;	/* number of EVENTS packets in the earlier files */
	uint64_t events_before; /* number of events in the earlier files */
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

/* The time at which a stream was created, in nanoseconds; no event is earlier. INT64_MIN if int64_t
 * cannot hold that time. */
static inline int64_t ptrc_log_creation_ns(int64_t sec, int64_t nsec)
{
	int64_t ns;

	if (__builtin_mul_overflow(sec, INT64_C(1000000000), &ns) ||
	    __builtin_add_overflow(ns, nsec, &ns))
		return INT64_MIN;
	return ns;
}

struct ptrc_log_begin {
	struct ptrc_log_prefix prefix;
	struct ptrc_log_packet packet;
	struct ptrc_log_head head;
};
#define PTRC_LOG_HEAD_BYTES sizeof(struct ptrc_log_begin)
PTRC_ASSERT_SIZE(struct ptrc_log_begin, 32 + 80 + 768);

/* Whether this is the prefix of a log of this kind of machine. Its version may be any. */
static inline bool ptrc_log_is_prefix(const struct ptrc_log_prefix *p)
{
	struct ptrc_log_prefix prefix = ptrc_log_prefix();

	prefix.version = p->version;
	return memcmp(p, &prefix, sizeof(prefix)) == 0;
}

static inline bool ptrc_log_version_is_known(uint16_t version)
{
	return version >= PTRC_LOG_VERSION_OLDEST && version <= PTRC_LOG_VERSION;
}

static inline bool ptrc_log_is_begin(const struct ptrc_log_begin *b)
{
	return ptrc_log_is_prefix(&b->prefix) && ptrc_log_version_is_known(b->prefix.version) &&
	       ptrc_log_is_header(&b->packet, 0) && b->packet.type == PTRC_LOG_HEAD &&
	       b->packet.length == sizeof(b->head) && b->packet.log_id != 0 &&
	       b->packet.payload_crc == ptrc_crc32c(0, &b->head, sizeof(b->head));
}

/* The number of copies of struct ptrc_log_begin at the start of a log. */
#define PTRC_LOG_HEAD_COPIES 2
#define PTRC_LOG_HEADS_BYTES (PTRC_LOG_HEAD_COPIES * PTRC_LOG_HEAD_BYTES)

/* Offsets in a ring's file. The heads, and the STATUS and END packets at PTRC_LOG_CLOSE_OFFSET, lie
 * within the first 2 KiB. The file has these 2 KiB from the start, so a log can be closed even when
 * the disk is full. */
#define PTRC_LOG_CLOSE_OFFSET UINT64_C(1760)
#define PTRC_LOG_RING_OFFSET UINT64_C(2048)

/* An event type's name. After this structure come the bytes of the name, the bytes of the layout of
 * the type's data, and padding to a multiple of 8. If the layout is set after the name was written,
 * the name is written once more, with the layout. */
struct ptrc_log_name {
	uint16_t id;
	uint16_t name_bytes;
	uint32_t layout_bytes; /* 0: no layout */
};
PTRC_ASSERT_SIZE(struct ptrc_log_name, 8);

/* The state of a ring after the EVENTS packet that contains this structure was written. */
struct ptrc_log_ring {
	uint64_t oldest_seq;   /* EVENTS packets with smaller numbers are overwritten */
	int64_t lost_first_ns; /* earliest time of the events that the ring has lost */
	int64_t lost_last_ns;  /* their latest time; readers report no earlier events */
	uint64_t lost_events;  /* their number; 0: the two times mean nothing */
};
PTRC_ASSERT_SIZE(struct ptrc_log_ring, 32);

/* The offset of the first section in the payload of an EVENTS packet. */
static inline uint64_t ptrc_log_sections_offset(const struct ptrc_log_packet *p)
{
	return (uint64_t)p->sums_bytes +
	       (p->flags & PTRC_LOG_HAS_RING ? sizeof(struct ptrc_log_ring) : 0) +
	       ptrc_log_filter_bytes(p->flags);
}

/* A section of an EVENTS packet: packed events (lib/model/packed.h) of one thread. Sections are not
 * padded. */
struct ptrc_log_section {
	int64_t base_ns; /* time of the first event */
	struct ptrc_context origin;
	uint32_t bytes; /* size of the packed events, which follow */
	/* If events of several sections have the same time, those of the section with the smallest
	 * `order` come first. */
	uint32_t order;
};
PTRC_ASSERT_SIZE(struct ptrc_log_section, 32);

struct ptrc_log_status {
	/* The members up to log_full have the values of the members of struct
	 * posix_trace_status_info. */
	uint32_t stream_status;
	uint32_t stream_full;
	uint32_t stream_overrun;
	uint32_t flush_status;
	uint32_t flush_error;
	uint32_t log_overrun;
	uint32_t log_full;
	uint16_t flags; /* PTRC_LOG_SOURCE_UNCOUNTED, PTRC_LOG_GOES_ON */
	/* For a log that a program made of events from another source: the number of damaged parts
	 * without events and of missing names in that source together; at most UINT16_MAX. */
	uint16_t source_damaged_parts;
	uint64_t lost_events;
	uint64_t log_lost_events;
	uint64_t log_events;
	uint64_t log_bytes;
	/* The number of processes that could not be traced, and for one of them the reason: EMFILE,
	 * ENOMEM, EPROTO, EXDEV or EPERM. With EPROTO, untraced_versions is the newest version of shared
	 * objects that this process knows, << 8, plus the version that it refused; otherwise 0. */
	uint32_t untraced_processes;
	uint16_t untraced_error;
	uint16_t untraced_versions;
	/* At least this many names got no identifier, because all identifiers were taken. */
	uint32_t refused_names;
	/* The size, before the cut, of the largest data that was cut to max-data-size; at most
	 * UINT32_MAX. 0: no data was cut. */
	uint32_t data_needed;
	/* The number of names in the log, by which a reader notices that some are missing. 0: there
	 * are none, or the number is unknown. */
	uint32_t names;
	/* The number of events of the operating system that the kernel has lost, at most
	 * UINT32_MAX. */
	uint32_t unobserved_events;
	/* The number of event calls that waited for room in the stream, and the sum of their
	 * waits. */
	uint64_t waits, wait_ns;
	/* The offset of the last INDEX packet, which a TOTALS packet follows. 0: the log has no
	 * index. */
	uint64_t index_offset;
	/* For a log that a program made of events from another source: the number of events that
	 * are missing because that source was damaged. */
	uint64_t source_damaged_events;
	/* If flush_error is set: the number of events that are missing because the last flush
	 * failed. Otherwise, for a log that a program made of events from another source: the
	 * number of events that this program was too slow to read. */
	uint64_t missed_events;
};
PTRC_ASSERT_SIZE(struct ptrc_log_status, 128);

static inline uint64_t ptrc_log_at_most(uint64_t count, uint64_t most)
{
	return count < most ? count : most;
}

/* A flag of a STATUS packet: more events may be missing than source_damaged_events says. */
#define PTRC_LOG_SOURCE_UNCOUNTED 1U
/* A flag of a STATUS packet: the log is rotated and continues in another file. */
#define PTRC_LOG_GOES_ON 2U

/* The payload of an INDEX packet: this structure, then the headers of all packets since the
 * previous INDEX packet, or since HEAD. In these headers the magic is 0, so that a search for
 * packets does not find them. */
struct ptrc_log_index_head {
	uint64_t previous; /* offset of the previous INDEX packet; 0: none */
	uint32_t count;
	uint32_t zero;
};
PTRC_ASSERT_SIZE(struct ptrc_log_index_head, 16);

/* The number of packets after which the keeper writes an INDEX packet. */
#define PTRC_LOG_INDEX_COUNT 1024U

/* The payload of TOTALS: this structure, a struct ptrc_log_total for each type with events in the
 * log, and the set of all types that were in the filter at any time. The totals of these types may
 * be too large, because readers leave out events that were recorded while the filter had their
 * type. */
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

/* The payload of HOST, which describes the machine: struct ptrc_log_host, then these texts in this
 * order, without separators. */
enum ptrc_log_host_text {
	PTRC_LOG_HOST_NAME,
	PTRC_LOG_HOST_MACHINE_ID,
	PTRC_LOG_HOST_BOOT_ID,
	PTRC_LOG_HOST_SYSTEM, /* SYSTEM, RELEASE, VERSION and MACHINE are from uname() */
	PTRC_LOG_HOST_RELEASE,
	PTRC_LOG_HOST_VERSION,
	PTRC_LOG_HOST_MACHINE,
	PTRC_LOG_HOST_TIME_ZONE, /* such as Europe/Paris */
	PTRC_LOG_HOST_TEXTS,
};
#define PTRC_LOG_HOST_OFFSET_KNOWN 1U

struct ptrc_log_host {
	int32_t utc_offset; /* seconds east of UTC, when the stream was created */
	uint32_t flags;	    /* PTRC_LOG_HOST_OFFSET_KNOWN */
	uint16_t bytes[PTRC_LOG_HOST_TEXTS];
};
PTRC_ASSERT_SIZE(struct ptrc_log_host, 24);

/* Flags of a PROCESS packet. It describes a process with events in the log, as it was at the time
 * from_ns. A packet with the same pid and a later from_ns replaces it from that time on: the
 * process has changed, or another process has got the pid. */
#define PTRC_LOG_PROCESS_GONE 1U	  /* the process had ended; most fields are unknown */
#define PTRC_LOG_PROCESS_KNOWN 2U	  /* parent, start and comm are known */
#define PTRC_LOG_PROCESS_USER 4U	  /* the user is known */
#define PTRC_LOG_PROCESS_LINE 8U	  /* the command line is known */
#define PTRC_LOG_PROCESS_LINE_CUT 16U	  /* only the start of the command line is stored */
#define PTRC_LOG_PROCESS_MAPPED 32U	  /* the mappings are known */
#define PTRC_LOG_PROCESS_MAPPINGS_CUT 64U /* not all mappings are stored */
/* The packet has only pid, name, executable and mappings, and these belong to the program that the
 * previous packet of this pid describes. */
#define PTRC_LOG_PROCESS_ADDITION 128U

/* The payload of a PROCESS packet. After this structure come comm, the path of the executable, its
 * build ID, the command line, padding to a multiple of 8, and the mappings. */
struct ptrc_log_process {
	int64_t from_ns;  /* the process is described from this time on */
	int64_t start_ns; /* when the process started */
	int32_t pid, parent_pid;
	uint32_t user; /* effective user id */
	uint32_t flags;
	uint16_t comm_bytes, exe_bytes, build_id_bytes, zero0;
	uint32_t line_bytes;
	uint32_t mapping_count;
	/* If the controller reported the process: from_ns as the kernel gave it, by
	 * CLOCK_MONOTONIC. 0: the keeper found the process. */
	int64_t observed_ns;
};
PTRC_ASSERT_SIZE(struct ptrc_log_process, 56);

/* A flag of a mapping: it is not a mapped file but a function that the program generated. In place
 * of a path, the mapping then has the function's name. */
#define PTRC_LOG_MAPPING_FUNCTION 1U

/* An executable mapping. After this structure come the build ID and the path of the mapped file,
 * then padding to a multiple of 8. */
struct ptrc_log_mapping {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* offset of the mapped bytes in the file */
	uint16_t build_id_bytes, path_bytes;
	uint32_t flags;
};
PTRC_ASSERT_SIZE(struct ptrc_log_mapping, 32);

/* The payload of THREADS: one entry for each name that a thread has had. */
#define PTRC_LOG_THREAD_NAME 16U
struct ptrc_log_thread {
	int64_t from_ns;
	int32_t pid, tid;
	char name[PTRC_LOG_THREAD_NAME]; /* padded with zeros; empty: unknown */
};
PTRC_ASSERT_SIZE(struct ptrc_log_thread, 32);

/* The payload of CLOCK: several clocks, read in immediate succession. */
struct ptrc_log_clock {
	int64_t event_ns; /* the timestamp that an event gets at this moment */
	/* boottime_ns does not have the offset of the keeper's time namespace. */
	int64_t realtime_ns, monotonic_ns, boottime_ns;
	uint64_t counter;			  /* the processor's counter, such as the TSC */
	int64_t window_ns;			  /* how long reading these clocks took */
	int64_t max_error_ns, estimated_error_ns; /* of CLOCK_REALTIME, from adjtimex() */
	int32_t status;				  /* from adjtimex(); -1: unknown */
	int32_t state;				  /* the result of adjtimex() */
};
PTRC_ASSERT_SIZE(struct ptrc_log_clock, 72);

/* Limits of what a keeper writes: bytes of a command line (LINE), names in a THREADS packet,
 * mappings of a process, bytes of a build ID, and bytes of the payload of a PROCESS packet. */
#define PTRC_LOG_LINE_MAX 4096U
#define PTRC_LOG_THREADS_MAX 2048U
#define PTRC_LOG_MAPPINGS_MAX 256U
#define PTRC_LOG_BUILD_ID_MAX 64U
#define PTRC_LOG_PROCESS_MAX (UINT64_C(64) << 10)
/* The limit for all HOST, PROCESS, THREADS and CLOCK packets of a log together is this many bytes
 * plus a sixteenth of the log. */
#define PTRC_LOG_ASIDE_BYTES (UINT64_C(128) << 10)

/* The size of the STATUS and END packets together. */
#define PTRC_LOG_CLOSE_BYTES (2 * sizeof(struct ptrc_log_packet) + sizeof(struct ptrc_log_status))
_Static_assert(PTRC_LOG_HEADS_BYTES <= PTRC_LOG_CLOSE_OFFSET, "heads fit");
_Static_assert(PTRC_LOG_CLOSE_OFFSET + PTRC_LOG_CLOSE_BYTES <= PTRC_LOG_RING_OFFSET,
	       "close area fits");

/* A keeper locks these bytes of a log in a regular file; they lie far beyond any data. It locks
 * KEEPER while it runs, and FINISHING while it finishes the log of a controller that has died.
 * Processes that open the log then wait for the keeper. */
#define PTRC_LOG_LOCK_KEEPER INT64_C(0x7ffffffffffffff0)
#define PTRC_LOG_LOCK_FINISHING INT64_C(0x7ffffffffffffff1)

#endif
