/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/os/perf_records.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "include/posixtrace-private.h"
#include "src/base/message.h"
#include "src/base/table.h"

/* The most bytes of a record: perf_event_header.size has 16 bits. */
#define RECORD_MAX 65536U

/* The fields TID, TIME and CPU. In a sample they follow the header. In other records they are at the end. */
struct id {
	uint32_t pid, tid;
	uint64_t ns;
	uint32_t processor, reserved;
};

struct ptrc_perf_records {
	struct ptrc_perf_record *records;
	size_t count;
	size_t given; /* how many records ptrc_perf_records_until() has returned */
	uint64_t
		registers; /* the bits of the registers that samples have; 0: samples have addresses */
	/* The offset that is added to the kernel's times. */
	int64_t clock_offset_ns;
	struct ptrc_table events;
	uint8_t record[RECORD_MAX];
};

/* A perf event and what its samples mean, an entry of .events. The key is the identifier of the perf event. */
struct identified {
	struct ptrc_table_entry entry;
	enum ptrc_perf_event event;
};

struct ptrc_perf_records *ptrc_perf_records_new(uint64_t registers)
{
	struct ptrc_perf_records *p = ptrc_cli_allocate(sizeof(*p));

	p->registers = registers;
	p->clock_offset_ns = ptrc_observer_clock_offset();
	return p;
}

void ptrc_perf_records_free(struct ptrc_perf_records *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++)
		free(p->records[i].memory);
	free(p->records);
	ptrc_table_free(&p->events);
	free(p);
}

void ptrc_perf_records_identify(struct ptrc_perf_records *p, uint64_t id,
				enum ptrc_perf_event event)
{
	struct identified *e = ptrc_table_find(&p->events, &id, sizeof(id), sizeof(*e));

	e->event = event;
}

static bool get(const uint8_t *record, size_t size, size_t at, void *to, size_t bytes)
{
	if (at > size || bytes > size - at)
		return false;
	memcpy(to, record + at, bytes);
	return true;
}

static bool get_text(const uint8_t *record, size_t size, size_t at, const char **text)
{
	*text = (const char *)record + at;
	return at < size && memchr(record + at, '\0', size - at);
}

static bool parse_mapping(const struct perf_event_header *h, const uint8_t *b, size_t size,
			  struct ptrc_perf_record *r)
{
	struct ptrc_perf_mapping m = {0};
	struct ptrc_perf_mapping *kept;
	const char *path;
	uint8_t id_bytes = 0;

	/* The fields of the record: pid, tid, addr, len, pgoff, identity of the file (24 bytes), prot, flags,
	 * filename. */
	if (!get(b, size, 16, &m.address, 8) || !get(b, size, 24, &m.bytes, 8) ||
	    !get(b, size, 32, &m.offset, 8) || !get_text(b, size, 72, &path))
		return false;
	if (!(h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID))
		get(b, size, 40, &m.inode, sizeof(m.inode));
	else if (get(b, size, 40, &id_bytes, 1) && id_bytes <= PTRC_PERF_BUILD_ID_MAX &&
		 get(b, size, 44, m.build_id, id_bytes))
		m.build_id_bytes = id_bytes;
	/* One allocation has the structure and then its path. */
	r->memory = kept = ptrc_cli_allocate(sizeof(*kept) + strlen(path) + 1);
	m.path = strcpy((char *)(kept + 1), path);
	*kept = m;
	r->kind = PTRC_PERF_MAPPING;
	r->mapping = kept;
	return true;
}

static bool parse_comm(const struct perf_event_header *h, const uint8_t *b, size_t size,
		       struct ptrc_perf_record *r)
{
	const char *name;

	if (!get_text(b, size, 16, &name))
		return false;
	r->kind = h->misc & PERF_RECORD_MISC_COMM_EXEC ? PTRC_PERF_EXEC : PTRC_PERF_RENAME;
	memset(r->name, 0, sizeof(r->name));
	memcpy(r->name, name, strnlen(name, sizeof(r->name) - 1));
	return true;
}

/* Parses a fork or an exit, whose fields are pid, ppid, tid and ptid. */
static bool parse_task(const struct perf_event_header *h, const uint8_t *b, size_t size,
		       struct ptrc_perf_record *r)
{
	int32_t n[4];
	int64_t ns;

	if (!get(b, size, 8, n, sizeof(n)) || !get(b, size, 24, &ns, sizeof(ns)))
		return false;
	r->ns = ns;
	if (h->type == PERF_RECORD_EXIT) {
		r->kind = PTRC_PERF_EXIT;
		r->pid = n[0];
		r->tid = n[2];
		return true;
	}
	r->kind = PTRC_PERF_FORK;
	r->pid = n[1];
	r->tid = n[3];
	r->child.pid = n[0];
	r->child.tid = n[2];
	return true;
}

/* Parses a sample: a struct id, a count, and this many numbers. The numbers are addresses, and markers that say
 * whether the addresses after them are in user space. */
static bool parse_sample(const struct perf_event_header *h, const uint8_t *b,
			 struct ptrc_perf_record *r)
{
	const size_t begin = sizeof(*h) + sizeof(struct id) + sizeof(uint64_t);
	bool is_user = false;
	uint64_t count, *kept;

	if (!get(b, h->size, begin - sizeof(count), &count, sizeof(count)) ||
	    count > (h->size - begin) / sizeof(*kept))
		return false;
	r->memory = kept = ptrc_cli_allocate((size_t)count * sizeof(*kept));
	r->kind = PTRC_PERF_SAMPLE;
	r->stack.addresses = kept;
	r->stack.count = 0;
	r->stack.copy = NULL;
	for (size_t i = 0; i < count; i++) {
		uint64_t address;

		memcpy(&address, b + begin + i * sizeof(address), sizeof(address));
		if (address >= (uint64_t)PERF_CONTEXT_MAX)
			is_user = address == (uint64_t)PERF_CONTEXT_USER;
		else if (is_user)
			kept[r->stack.count++] = address;
	}
	return true;
}

/* Parses the registers of a sample: first a number that says whether the thread executes 64-bit code (the ABI),
 * then their values. Returns the offset of the next field, or 0 if the record is too short. */
static size_t parse_registers(const struct perf_event_header *h, const uint8_t *b, uint64_t mask,
			      struct ptrc_perf_copy *copy, bool *is_64)
{
	size_t at = sizeof(*h) + sizeof(struct id);
	uint64_t abi;

	if (!get(b, h->size, at, &abi, sizeof(abi)))
		return 0;
	at += sizeof(abi);
	*is_64 = abi == PERF_SAMPLE_REGS_ABI_64;
	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return at;
	copy->register_count = (size_t)__builtin_popcountll(mask);
	return get(b, h->size, at, copy->registers, copy->register_count * sizeof(uint64_t))
		       ? at + copy->register_count * sizeof(uint64_t)
		       : 0;
}

/* Parses a sample with a copy of the stack: the registers, the number of bytes that were reserved for the copy, these
 * bytes, and how many of them the kernel could copy. */
static bool parse_copy(const struct perf_event_header *h, const uint8_t *b, uint64_t mask,
		       struct ptrc_perf_record *r)
{
	struct ptrc_perf_copy copy = {.register_count = 0}, *kept;
	uint64_t reserved = 0, copied = 0;
	bool is_64 = false;
	size_t at = parse_registers(h, b, mask, &copy, &is_64);

	if (!at || !copy.register_count || !get(b, h->size, at, &reserved, sizeof(reserved)) ||
	    reserved > h->size)
		return false;
	at += sizeof(reserved);
	if (reserved && !get(b, h->size, at + (size_t)reserved, &copied, sizeof(copied)))
		return false;
	copy.stack_bytes = (size_t)(is_64 && copied <= reserved ? copied : 0);
	r->memory = kept = ptrc_cli_allocate(sizeof(*kept) + copy.stack_bytes);
	memcpy(kept + 1, b + at, copy.stack_bytes);
	*kept = copy;
	kept->stack = (const uint8_t *)(kept + 1);
	r->kind = PTRC_PERF_SAMPLE;
	r->stack.copy = kept;
	return true;
}

static bool parse(const uint8_t *b, uint64_t registers, struct ptrc_perf_record *r)
{
	struct perf_event_header h;
	size_t size;
	struct id id;

	memcpy(&h, b, sizeof(h));
	if (h.size < sizeof(h) + sizeof(id))
		return false;
	size = h.size - sizeof(id);
	memcpy(&id, b + (h.type == PERF_RECORD_SAMPLE ? sizeof(h) : size), sizeof(id));
	*r = (struct ptrc_perf_record){.ns = (int64_t)id.ns,
				       .pid = (int32_t)id.pid,
				       .tid = (int32_t)id.tid,
				       .processor = id.processor};
	switch (h.type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return parse_task(&h, b, size, r);
	case PERF_RECORD_COMM:
		return parse_comm(&h, b, size, r);
	case PERF_RECORD_MMAP2:
		return parse_mapping(&h, b, size, r);
	case PERF_RECORD_SWITCH:
		r->kind = h.misc & PERF_RECORD_MISC_SWITCH_OUT ? PTRC_PERF_SWITCH_OUT
							       : PTRC_PERF_SWITCH_IN;
		r->is_preempted = (h.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
		return true;
	case PERF_RECORD_LOST:
		r->kind = PTRC_PERF_LOST;
		return get(b, size, 16, &r->lost, sizeof(r->lost));
	case PERF_RECORD_SAMPLE:
		return registers ? parse_copy(&h, b, registers, r) : parse_sample(&h, b, r);
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		r->kind =
			h.type == PERF_RECORD_THROTTLE ? PTRC_PERF_THROTTLE : PTRC_PERF_UNTHROTTLE;
		return true;
	default:
		return false;
	}
}

/* Parses a page fault, whose fields are identifier, place, pid, tid, time, address, processor. */
static bool parse_fault(const uint8_t *b, size_t size, bool is_major, struct ptrc_perf_record *r)
{
	*r = (struct ptrc_perf_record){.kind = PTRC_PERF_FAULT};
	r->fault.is_major = is_major;
	return get(b, size, 16, &r->fault.place, 8) && get(b, size, 24, &r->pid, 4) &&
	       get(b, size, 28, &r->tid, 4) && get(b, size, 32, &r->ns, 8) &&
	       get(b, size, 40, &r->fault.address, 8) && get(b, size, 48, &r->processor, 4);
}

/* Parses the start or the end of a system call. Its fields are identifier, struct id, and size and bytes of the
 * tracepoint's data: 8 bytes that all tracepoints have, the number of the call, and 6 arguments or a result. */
static bool parse_call(const uint8_t *b, size_t size, struct ptrc_perf_record *r)
{
	const size_t at = 16 + sizeof(struct id);
	const size_t arguments = sizeof(r->call.arguments);
	uint32_t bytes = 0;
	struct id id;

	if (!get(b, size, 16, &id, sizeof(id)) || !get(b, size, at, &bytes, sizeof(bytes)))
		return false;
	*r = (struct ptrc_perf_record){.kind = bytes >= 16 + arguments ? PTRC_PERF_CALL_BEGIN
								       : PTRC_PERF_CALL_END,
				       .ns = (int64_t)id.ns,
				       .pid = (int32_t)id.pid,
				       .tid = (int32_t)id.tid,
				       .processor = id.processor};
	memset(&r->call, 0, sizeof(r->call));
	return get(b, size, at + 12, &r->call.number, 8) &&
	       (r->kind == PTRC_PERF_CALL_BEGIN
			? get(b, size, at + 20, r->call.arguments, arguments)
			: get(b, size, at + 20, &r->call.result, 8));
}

/* Parses a record with the identifier of its perf event. The identifier is the first field of a sample, and the
 * last field of other records. */
static bool parse_identified(const struct ptrc_perf_records *p, uint8_t *b,
			     struct ptrc_perf_record *r)
{
	struct perf_event_header h;
	const struct identified *e;
	uint64_t id;

	memcpy(&h, b, sizeof(h));
	if (h.size < sizeof(h) + sizeof(id))
		return false;
	h.size = (uint16_t)(h.size - sizeof(id));
	if (h.type != PERF_RECORD_SAMPLE) {
		memcpy(b, &h, sizeof(h));
		return parse(b, p->registers, r);
	}
	memcpy(&id, b + sizeof(h), sizeof(id));
	e = ptrc_table_seek(&p->events, &id, sizeof(id));
	if (!e)
		return false;
	if (e->event == PTRC_PERF_EVENT_CALL)
		return parse_call(b, h.size + sizeof(id), r);
	if (e->event != PTRC_PERF_EVENT_STACK)
		return parse_fault(b, h.size + sizeof(id), e->event == PTRC_PERF_EVENT_MAJOR_FAULT,
				   r);
	memcpy(b + sizeof(id), &h, sizeof(h));
	return parse(b + sizeof(id), p->registers, r);
}

static void copy_out(const struct ptrc_perf_ring *r, uint64_t at, uint8_t *to, size_t bytes)
{
	size_t from = (size_t)(at % r->size);
	size_t first = r->size - from < bytes ? r->size - from : bytes;

	memcpy(to, r->bytes + from, first);
	memcpy(to + first, r->bytes, bytes - first);
}

/* Copies the next record before `head` out of a ring. Returns false if there is none, or if its length is damaged. */
static bool take_bytes(const struct ptrc_perf_ring *r, uint64_t *tail, uint64_t head, uint8_t *to)
{
	struct perf_event_header h;

	if (head - *tail > r->size || head - *tail < sizeof(h)) {
		*tail = head;
		return false;
	}
	copy_out(r, *tail, (uint8_t *)&h, sizeof(h));
	if (h.size < sizeof(h) || h.size > head - *tail) {
		*tail = head;
		return false;
	}
	copy_out(r, *tail, to, h.size);
	*tail += h.size;
	/* Uses the header that was checked: the one in the ring may have changed since. */
	memcpy(to, &h, sizeof(h));
	return true;
}

/* Subtracts from *lost the losses that ptrc_perf_records_lost() has reported already. Returns whether any
 * remain. */
static bool take_loss(struct ptrc_perf_ring *r, uint64_t *lost)
{
	uint64_t known = *lost < r->ahead ? *lost : r->ahead;

	r->told += *lost;
	r->ahead -= known;
	*lost -= known;
	return *lost != 0;
}

uint64_t ptrc_perf_records_take(struct ptrc_perf_records *p, struct ptrc_perf_ring *r)
{
	/* ACQUIRE pairs with the kernel's barrier between writing a record and writing data_head. */
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->page->data_tail, from = tail;

	while (tail != head && take_bytes(r, &tail, head, p->record)) {
		struct ptrc_perf_record record;

		if (p->events.count ? !parse_identified(p, p->record, &record)
				    : !parse(p->record, p->registers, &record))
			continue;
		record.ns = (int64_t)((uint64_t)record.ns + (uint64_t)p->clock_offset_ns);
		if (record.kind == PTRC_PERF_LOST) {
			record.lost_until_ns = record.ns;
			/* The kernel writes the record of a loss when it next writes into the ring, so the
			 * record's time is the end of the loss. The loss began after the last record before it. */
			if (r->last.ns && r->last.ns < record.ns)
				record.ns = r->last.ns;
		} else {
			r->last = record;
		}
		if (record.kind != PTRC_PERF_LOST || take_loss(r, &record.lost))
			*ptrc_append(p->records, p->count) = record;
	}
	/* RELEASE: the records were copied before the kernel can read this data_tail and overwrite them. */
	__atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
	return head - from;
}

void ptrc_perf_records_lost(struct ptrc_perf_records *p, struct ptrc_perf_ring *r, uint64_t all)
{
	struct ptrc_perf_record record = r->last;

	if (all <= r->told + r->ahead)
		return;
	record.kind = PTRC_PERF_LOST;
	record.memory = NULL;
	record.lost = all - r->told - r->ahead;
	record.lost_until_ns = INT64_MAX;
	r->ahead += record.lost;
	*ptrc_append(p->records, p->count) = record;
}

bool ptrc_perf_records_has_fork(const struct ptrc_perf_records *p, int32_t tid)
{
	for (size_t i = p->given; i < p->count; i++)
		if (p->records[i].kind == PTRC_PERF_FORK && p->records[i].child.tid == tid)
			return true;
	return false;
}

static int by_time(const void *one, const void *other)
{
	const struct ptrc_perf_record *a = one, *b = other;

	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	/* At the same time, a fork comes before the events of the child, and a loss after other records. */
	return (int)a->kind - (int)b->kind;
}

void ptrc_perf_records_begin(struct ptrc_perf_records *p)
{
	for (size_t i = 0; i < p->given; i++)
		free(p->records[i].memory);
	p->count -= p->given;
	if (p->count && p->given)
		memmove(p->records, p->records + p->given, p->count * sizeof(*p->records));
	p->given = 0;
}

const struct ptrc_perf_record *ptrc_perf_records_until(struct ptrc_perf_records *p,
						       int64_t until_ns, size_t *count)
{
	ptrc_sort(p->records, p->count, by_time);
	while (p->given < p->count && p->records[p->given].ns <= until_ns)
		p->given++;
	*count = p->given;
	return p->records;
}
