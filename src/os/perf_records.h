/* SPDX-License-Identifier: MIT */
/*
 * Parses the records that the kernel writes into a ring (perf_event_open(2)). The lengths and contents of
 * records are not trusted: damage can only cause records to be missing.
 */
#ifndef PTRC_SRC_OS_PERF_RECORDS_H
#define PTRC_SRC_OS_PERF_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ptrc_perf_kind {
	PTRC_PERF_FORK,
	PTRC_PERF_EXEC,
	PTRC_PERF_RENAME,
	PTRC_PERF_EXIT,
	PTRC_PERF_MAPPING,
	PTRC_PERF_SWITCH_IN,
	PTRC_PERF_SWITCH_OUT,
	PTRC_PERF_SAMPLE,
	/* The kernel takes no samples of the thread until PTRC_PERF_UNTHROTTLE. */
	PTRC_PERF_THROTTLE,
	PTRC_PERF_UNTHROTTLE,
	PTRC_PERF_FAULT,
	PTRC_PERF_CALL_BEGIN,
	PTRC_PERF_CALL_END,
	/* A loss has the time of the record before it and has to follow that record. Records with the same time
	 * are sorted by their kind, so this is the last kind. */
	PTRC_PERF_LOST,
};

enum { PTRC_PERF_ARGUMENTS = 6 };

#define PTRC_PERF_BUILD_ID_MAX 20
#define PTRC_PERF_NAME_BYTES 16

/* The identity of a mapped file whose build id is not known: its device (major, minor), and its
 * inode. */
struct ptrc_perf_inode {
	uint32_t major, minor;
	uint64_t number, generation;
};

struct ptrc_perf_mapping {
	uint64_t address, bytes, offset;
	uint8_t build_id[PTRC_PERF_BUILD_ID_MAX];
	size_t build_id_bytes;
	struct ptrc_perf_inode inode;
	const char *path;
};

/* The most registers in a sample's copy: those of AArch64. */
#define PTRC_PERF_REGISTERS_MAX 33

/* The part of a sample from which unwind.c finds the callers: the registers of the thread, in the kernel's order
 * (asm/perf_regs.h), and the innermost bytes of its stack, from the stack pointer on. */
struct ptrc_perf_copy {
	uint64_t registers[PTRC_PERF_REGISTERS_MAX];
	size_t register_count;
	/* stack_bytes is 0 if the thread executes code of 32 bits. */
	const uint8_t *stack;
	size_t stack_bytes;
};

/* A record of the kernel. For a fork, .pid and .tid are those of the parent. Pointers are valid until the
 * next ptrc_perf_records_begin(). */
struct ptrc_perf_record {
	enum ptrc_perf_kind kind;
	int64_t ns; /* CLOCK_MONOTONIC */
	int32_t pid, tid;
	uint32_t processor;
	void *memory; /* the allocation to which mapping or stack points, or NULL; perf_records.c frees it */
	union {
		struct {
			int32_t pid, tid;
		} child;
		char name[PTRC_PERF_NAME_BYTES];
		bool is_preempted;
		/* A loss: the number of lost records, and when the loss ended (INT64_MAX: it may go on). Its start
		 * (.ns) is the time of the last record before it. */
		struct {
			uint64_t lost;
			int64_t lost_until_ns;
		};
		const struct ptrc_perf_mapping *mapping;
		/* Addresses in user space, the innermost first. If the sample has a copy of the stack, .copy is
		 * not NULL, and there are no addresses. */
		struct {
			const uint64_t *addresses;
			size_t count;
			const struct ptrc_perf_copy *copy;
		} stack;
		/* A page fault: the addresses of the memory (.address) and of the instruction (.place). */
		struct {
			uint64_t address, place;
			bool is_major;
		} fault;
		/* A system call: its number, and its arguments or its result. */
		struct {
			int64_t number, result;
			uint64_t arguments[PTRC_PERF_ARGUMENTS];
		} call;
	};
};

struct perf_event_mmap_page;
/* A ring buffer into which the kernel writes: a control page, and .size bytes, a power of two. */
struct ptrc_perf_ring {
	struct perf_event_mmap_page *page;
	const uint8_t *bytes;
	size_t size;
	int fd; /* of the perf event by which the ring was made */
	struct ptrc_perf_record last;
	/* `told`: how many lost records the kernel has reported so far, by records of kind PTRC_PERF_LOST.
	 * `ahead`: how many more ptrc_perf_records_lost() has reported, which the kernel has not reported yet. */
	uint64_t told, ahead;
};

struct ptrc_perf_records;

/* Makes an empty list of records. `registers` says which registers the samples have
 * (perf_event_attr.sample_regs_user); 0: samples have addresses instead of registers and stack. */
struct ptrc_perf_records *ptrc_perf_records_new(uint64_t registers);
void ptrc_perf_records_free(struct ptrc_perf_records *);

/* The meaning of a sample (PERF_RECORD_SAMPLE), which depends on the perf event that wrote it. */
enum ptrc_perf_event {
	PTRC_PERF_EVENT_STACK,
	PTRC_PERF_EVENT_MINOR_FAULT,
	PTRC_PERF_EVENT_MAJOR_FAULT,
	PTRC_PERF_EVENT_CALL,
};

/* Sets what the samples of the perf event with this identifier mean. After the first call, each record is expected
 * to have an identifier (PERF_SAMPLE_IDENTIFIER). If this function is never called, all samples are stacks. */
void ptrc_perf_records_identify(struct ptrc_perf_records *, uint64_t id, enum ptrc_perf_event);

/* Drops the records that ptrc_perf_records_until() has returned. */
void ptrc_perf_records_begin(struct ptrc_perf_records *);
/* Empties a ring. Returns the number of bytes that were in it. */
uint64_t ptrc_perf_records_take(struct ptrc_perf_records *, struct ptrc_perf_ring *);
/* Appends a record PTRC_PERF_LOST about the losses that no record has reported yet, because the kernel reports a
 * loss only when it next writes into the ring. `all`: how many records of the ring were lost so far. */
void ptrc_perf_records_lost(struct ptrc_perf_records *, struct ptrc_perf_ring *, uint64_t all);
/* Whether the record of the fork that made the thread `tid` is among the records that
 * ptrc_perf_records_until() has not returned yet. */
bool ptrc_perf_records_has_fork(const struct ptrc_perf_records *, int32_t tid);
/* Returns the records up to the monotonic time until_ns, sorted by time. Later records stay in the list. */
const struct ptrc_perf_record *ptrc_perf_records_until(struct ptrc_perf_records *, int64_t until_ns,
						       size_t *count);

#endif
