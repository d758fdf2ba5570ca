/* SPDX-License-Identifier: MIT */
/* The kernel's records of events of the operating system: what they say, and what they may not do. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "tests/support/harness.h"

#include <errno.h>
#include <execinfo.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "src/base/clock.h"
#include "src/os/perf_records.h"
#include "src/os/processes.h"
#include "src/os/throttle.h"
#include "src/os/tracepoints.h"
#include "src/os/unwind.h"

#define RING 4096U

struct fake {
	struct perf_event_mmap_page page;
	uint8_t bytes[RING];
};

static struct fake *fake;
static struct ptrc_perf_ring ring;
static struct ptrc_perf_records *records;
/* Those that were read last. */
static const struct ptrc_perf_record *found;
static size_t found_count;

static void begin_ring(uint64_t at)
{
	fake = calloc(1, sizeof(*fake));
	CHECK(fake);
	fake->page.data_head = fake->page.data_tail = at;
	ring = (struct ptrc_perf_ring){.page = &fake->page, .bytes = fake->bytes, .size = RING};
	records = ptrc_perf_records_new(0);
}

static void end_ring(void)
{
	ptrc_perf_records_free(records);
	free(fake);
}

static void read_ring(int64_t until_ns)
{
	ptrc_perf_records_begin(records);
	ptrc_perf_records_take(records, &ring);
	found = ptrc_perf_records_until(records, until_ns, &found_count);
}

static struct ptrc_os_processes *processes;
/* What was told last. */
static struct {
	size_t count;
	pid_t pid, parent;
	int64_t from_ns;
	char name[16], program[32];
	unsigned long mappings;
	bool has_line;
	size_t line_bytes;
} last;

static void note(__attribute__((unused)) void *arg, const struct posixtrace_log_process *p,
		 const struct posixtrace_log_mapping *m, bool is_addition)
{
	CHECK(!is_addition);
	for (unsigned long i = 0; i < p->pp_mapping_count; i++)
		CHECK_EQ(m[i].pm_path_size, strlen(m[i].pm_path));
	last.count++;
	last.pid = p->pp_pid;
	last.parent = p->pp_parent_pid;
	last.from_ns = p->pp_from.tv_sec * INT64_C(1000000000) + p->pp_from.tv_nsec;
	last.mappings = p->pp_mapping_count;
	last.has_line = p->pp_has_command_line;
	last.line_bytes = p->pp_command_line_size;
	snprintf(last.name, sizeof(last.name), "%.*s", (int)p->pp_name_size, p->pp_name);
	snprintf(last.program, sizeof(last.program), "%.*s", (int)p->pp_executable_size,
		 p->pp_executable ? p->pp_executable : "");
}

static void put(const void *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fake->bytes[fake->page.data_head++ % RING] = ((const uint8_t *)bytes)[i];
}

/* A header, behind which so many bytes come. */
static void put_head(uint32_t type, uint16_t misc, size_t bytes)
{
	struct perf_event_header h = {
		.type = type, .misc = misc, .size = (uint16_t)(sizeof(h) + bytes)};

	put(&h, sizeof(h));
}

static void put_ids(uint32_t pid, uint32_t tid, uint64_t ns, uint32_t processor)
{
	const uint32_t ids[2] = {pid, tid}, where[2] = {processor, 0};

	put(ids, sizeof(ids));
	put(&ns, sizeof(ns));
	put(where, sizeof(where));
}

/* A record with this body, and the ids behind it. */
static void put_record(uint32_t type, uint16_t misc, const void *body, size_t bytes, uint32_t pid,
		       uint32_t tid, uint64_t ns, uint32_t processor)
{
	put_head(type, misc, bytes + 24);
	put(body, bytes);
	put_ids(pid, tid, ns, processor);
}

static void put_comm(const char *name, bool is_exec, uint64_t ns)
{
	uint8_t body[24] = {0};
	const uint32_t ids[2] = {7, 8};

	memcpy(body, ids, sizeof(ids));
	strncpy((char *)body + 8, name, 15);
	put_record(PERF_RECORD_COMM, is_exec ? PERF_RECORD_MISC_COMM_EXEC : 0, body, sizeof(body),
		   7, 8, ns, 1);
}

static void put_switch(uint16_t misc, uint64_t ns)
{
	put_record(PERF_RECORD_SWITCH, misc, NULL, 0, 7, 8, ns, 3);
}

static void put_mapping(const char *path, uint64_t ns)
{
	uint8_t body[64 + 4096] = {0};
	const uint64_t place[3] = {0x1000, 0x2000, 0x300};
	size_t bytes = (strlen(path) + 8) & ~(size_t)7;

	memcpy(body + 8, place, sizeof(place));
	body[32] = 20;
	memset(body + 36, 0xab, 20);
	memcpy(body + 64, path, strlen(path));
	put_record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, body, 64 + bytes, 7, 8, ns,
		   1);
}

TEST(records_say_what_they_mean, "")
{
	const uint64_t lost[2] = {0, 17},
		       task[3] = {20 | (uint64_t)10 << 32, 21 | (uint64_t)11 << 32, 5};

	/* In a ring whose end is near, so that records wrap around. */
	begin_ring(RING - 20);
	put_record(PERF_RECORD_FORK, 0, task, sizeof(task), 10, 11, 5, 2);
	put_comm("program", true, 9);
	put_comm("renamed", false, 8);
	put_switch(0, 6);
	put_switch(PERF_RECORD_MISC_SWITCH_OUT, 10);
	put_switch(PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, 11);
	put_mapping("/bin/program", 12);
	put_record(PERF_RECORD_LOST, 0, lost, sizeof(lost), 10, 11, 13, 2);
	put_record(4711, 0, lost, sizeof(lost), 10, 11, 13, 2);
	read_ring(12);
	CHECK_EQ(fake->page.data_tail, fake->page.data_head);
	/* By time, and those that are later come with the next call. */
	CHECK_EQ(found_count, 8);
	CHECK_EQ(found[0].kind, PTRC_PERF_FORK);
	CHECK(found[0].pid == 10 && found[0].tid == 11 && found[0].child.pid == 20 &&
	      found[0].child.tid == 21);
	CHECK_EQ(found[0].processor, 2);
	CHECK(found[1].kind == PTRC_PERF_SWITCH_IN && found[1].processor == 3);
	CHECK(found[2].kind == PTRC_PERF_RENAME && !strcmp(found[2].name, "renamed"));
	CHECK(found[3].kind == PTRC_PERF_EXEC && !strcmp(found[3].name, "program"));
	CHECK(found[3].pid == 7 && found[3].tid == 8 && found[3].ns == 9);
	CHECK(found[4].kind == PTRC_PERF_SWITCH_OUT && !found[4].is_preempted);
	CHECK(found[5].kind == PTRC_PERF_SWITCH_OUT && found[5].is_preempted);
	CHECK_EQ(found[6].kind, PTRC_PERF_MAPPING);
	CHECK(!strcmp(found[6].mapping->path, "/bin/program"));
	CHECK(found[6].mapping->address == 0x1000 && found[6].mapping->bytes == 0x2000);
	CHECK(found[6].mapping->offset == 0x300 && found[6].mapping->build_id_bytes == 20);
	CHECK_EQ(found[6].mapping->build_id[19], 0xab);
	/* A loss comes after the last record before it, and has its time. */
	CHECK(found[7].kind == PTRC_PERF_LOST && found[7].lost == 17 && found[7].ns == 12);
	read_ring(INT64_MAX);
	CHECK_EQ(found_count, 0);
	end_ring();
}

/* A sample says whose it is at its begin, and not behind the body. */
static void put_sample(const uint64_t *numbers, uint64_t told, size_t count, uint64_t ns)
{
	put_head(PERF_RECORD_SAMPLE, 0, 32 + 8 * count);
	put_ids(7, 8, ns, 3);
	put(&told, sizeof(told));
	put(numbers, 8 * count);
}

TEST(samples_have_the_addresses_of_user_space, "")
{
	const uint64_t numbers[] = {
		(uint64_t)PERF_CONTEXT_KERNEL, 1, 2, (uint64_t)PERF_CONTEXT_USER, 10, 11, 12};

	begin_ring(RING - 50);
	put_sample(numbers, 7, 7, 5);
	put_sample(numbers + 3, 1, 1, 6);
	put_sample(numbers, 0, 0, 7);
	/* It cannot have so many. */
	put_sample(numbers, 8, 7, 8);
	put_sample(numbers, UINT64_MAX / 8 + 2, 7, 9);
	put_sample(numbers, 4, 7, 10);
	read_ring(INT64_MAX);
	CHECK_EQ(found_count, 4);
	for (size_t i = 0; i < found_count; i++)
		CHECK(found[i].kind == PTRC_PERF_SAMPLE && found[i].pid == 7 && found[i].tid == 8 &&
		      found[i].processor == 3);
	CHECK_EQ(found[0].ns, 5);
	CHECK_EQ(found[0].stack.count, 3);
	CHECK(found[0].stack.addresses[0] == 10 && found[0].stack.addresses[2] == 12);
	CHECK(!found[1].stack.count && !found[2].stack.count);
	CHECK(found[3].ns == 10 && !found[3].stack.count);
	end_ring();
}

/* A sample with two registers and `bytes` bytes of stack, of which the kernel has copied `copied`. If size is not 0,
 * the header says so many bytes. */
static void put_copy(uint64_t abi, uint64_t bytes, uint64_t copied, size_t size, uint64_t ns)
{
	const uint64_t registers[2] = {0x11, 0x22};
	uint8_t stack[64];

	memset(stack, 0xab, sizeof(stack));
	put_head(PERF_RECORD_SAMPLE, 0, size ? size : 64 + (size_t)bytes);
	put_ids(7, 8, ns, 3);
	put(&abi, sizeof(abi));
	put(registers, sizeof(registers));
	put(&bytes, sizeof(bytes));
	put(stack, bytes < sizeof(stack) ? (size_t)bytes : sizeof(stack));
	put(&copied, sizeof(copied));
}

TEST(samples_have_copies_of_registers_and_stack, "")
{
	begin_ring(RING - 50);
	ptrc_perf_records_free(records);
	records = ptrc_perf_records_new(0x101);
	put_copy(PERF_SAMPLE_REGS_ABI_64, 32, 24, 0, 5);
	put_copy(PERF_SAMPLE_REGS_ABI_32, 32, 32, 0, 6);
	/* More than there was room for, than the record has, and the end of the record within the copy. */
	put_copy(PERF_SAMPLE_REGS_ABI_64, 32, 33, 0, 7);
	put_copy(PERF_SAMPLE_REGS_ABI_64, UINT64_MAX - 7, 8, 64 + 64, 8);
	put_copy(PERF_SAMPLE_REGS_ABI_64, 64, 8, 64, 9);
	read_ring(INT64_MAX);
	CHECK_EQ(found_count, 3);
	CHECK(found[0].ns == 5 && found[0].stack.copy->stack_bytes == 24 && !found[0].stack.count);
	CHECK(found[0].stack.copy->register_count == 2 &&
	      found[0].stack.copy->registers[1] == 0x22);
	CHECK_EQ(found[0].stack.copy->stack[23], 0xab);
	CHECK(found[1].ns == 6 && !found[1].stack.copy->stack_bytes);
	CHECK(found[2].ns == 7 && !found[2].stack.copy->stack_bytes);
	end_ring();
}

static void put_event(const void *body, size_t bytes)
{
	put_head(PERF_RECORD_SAMPLE, 0, bytes);
	put(body, bytes);
}

/* The identifier of the event is at the begin of a sample, and at the end of other records. */
TEST(samples_of_several_events_have_identifiers, "")
{
	const uint64_t task[3] = {20 | (uint64_t)10 << 32, 21 | (uint64_t)11 << 32, 5};
	const uint64_t ids = 7 | (uint64_t)8 << 32, where = 3;
	const uint64_t stack[] = {1, ids, 20, where, 3, (uint64_t)PERF_CONTEXT_USER, 0x10, 0x11};
	const uint64_t fault[] = {3, 0x400, ids, 21, 0x5000, where};
	/* After the size of 32 bits, everything else is at half of the places. */
	uint32_t begin[8 + 1 + 16 + 1] = {4, 0, 7, 8, 22, 0, 3, 0, 68},
				    end[16] = {5, 0, 7, 8, 23, 0, 3, 0, 28};

	begin[11] = 257;
	begin[13] = 11;
	begin[23] = 66;
	end[11] = 257;
	end[13] = 42;
	begin_ring(RING - 50);
	ptrc_perf_records_identify(records, 1, PTRC_PERF_EVENT_STACK);
	ptrc_perf_records_identify(records, 2, PTRC_PERF_EVENT_MINOR_FAULT);
	ptrc_perf_records_identify(records, 3, PTRC_PERF_EVENT_MAJOR_FAULT);
	ptrc_perf_records_identify(records, 4, PTRC_PERF_EVENT_CALL);
	ptrc_perf_records_identify(records, 5, PTRC_PERF_EVENT_CALL);
	put_head(PERF_RECORD_FORK, 0, sizeof(task) + 32);
	put(task, sizeof(task));
	put((const uint64_t[]){ids, 10, where, 1}, 32);
	put_event(stack, sizeof(stack));
	put_event(fault, sizeof(fault));
	put_event(begin, sizeof(begin));
	put_event(end, sizeof(end));
	/* Of an event that is not known, and too short ones. */
	put_event((const uint64_t[]){99}, 8);
	put_event((const uint64_t[]){3, 0x400}, 16);
	put_event((const uint64_t[]){4, ids}, 16);
	put_event(NULL, 0);
	read_ring(INT64_MAX);
	CHECK_EQ(found_count, 5);
	CHECK(found[0].kind == PTRC_PERF_FORK && found[0].child.tid == 21);
	CHECK(found[1].kind == PTRC_PERF_SAMPLE && found[1].ns == 20 && found[1].stack.count == 2);
	CHECK(found[2].kind == PTRC_PERF_FAULT && found[2].ns == 21 && found[2].tid == 8);
	CHECK(found[2].fault.place == 0x400 && found[2].fault.address == 0x5000 &&
	      found[2].fault.is_major && found[2].processor == 3);
	CHECK(found[3].kind == PTRC_PERF_CALL_BEGIN && found[3].ns == 22 && found[3].pid == 7);
	CHECK(found[3].call.number == 257 && found[3].call.arguments[0] == 11 &&
	      found[3].call.arguments[5] == 66);
	CHECK(found[4].kind == PTRC_PERF_CALL_END && found[4].call.number == 257 &&
	      found[4].call.result == 42);
	end_ring();
}

TEST(numbers_of_tracepoints_are_found_by_trying, "")
{
	struct ptrc_tracepoints known, tried;
	uint32_t first;

	if (ptrc_tracepoints_find(&known))
		SKIP("the kernel gives this user no tracepoints");
	first = known.numbers[0] < known.numbers[1] ? known.numbers[0] : known.numbers[1];
	CHECK_OK(ptrc_tracepoints_try(first > 2 ? first - 2 : 1, first + 2, &tried));
	CHECK_EQ(tried.numbers[0], first);
	CHECK_EQ(tried.numbers[0] + tried.numbers[1], known.numbers[0] + known.numbers[1]);
	/* No kernel has as many. */
	CHECK_EQ(ptrc_tracepoints_try(UINT32_MAX - 2, UINT32_MAX - 1, &tried), ENOENT);
}

/* The process that tries may live for seconds after that. */
TEST(the_search_for_tracepoints_keeps_no_pipe_open, "")
{
	struct ptrc_tracepoints tried;
	struct pollfd end = {.events = POLLIN};
	int ends[2];

	CHECK_SYS(pipe(ends));
	if (ptrc_tracepoints_try(1, 1000, &tried))
		SKIP("the kernel gives this user no tracepoints");
	close(ends[1]);
	end.fd = ends[0];
	CHECK_EQ(poll(&end, 1, 0), 1);
	CHECK(end.revents & POLLHUP);
	close(ends[0]);
}

#if defined(__x86_64__)
enum { COPY = 4096, DEEP = 5 };

struct snapshot {
	struct ptrc_perf_copy copy;
	uint8_t stack[COPY];
	void *callers[64];
	int caller_count;
};

/* Does what the kernel does for a sample. The sanitizer knows nothing good of what is between variables. */
static __attribute__((noinline, no_sanitize("address", "undefined"))) void
take_snapshot(struct snapshot *s)
{
	static const int order[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
				    REG_RBP, REG_RSP, REG_RIP, REG_R8,	REG_R9,	 REG_R10,
				    REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
	ucontext_t context;

	CHECK(!getcontext(&context));
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		s->copy.registers[s->copy.register_count++] =
			(uint64_t)context.uc_mcontext.gregs[order[i]];
	s->copy.stack = s->stack;
	s->copy.stack_bytes = COPY;
	for (size_t i = 0; i < COPY; i++)
		s->stack[i] = ((const volatile uint8_t *)(uintptr_t)s->copy.registers[7])[i];
	s->caller_count = backtrace(s->callers, 64);
}

static __attribute__((noinline)) void descend(struct snapshot *s, int depth)
{
	char space[100];

	memset(space, depth, sizeof(space));
	__asm__ volatile("" : : "r"(space) : "memory");
	if (depth)
		descend(s, depth - 1);
	else
		take_snapshot(s);
	__asm__ volatile("" : : "r"(space) : "memory");
}

TEST(callers_are_those_that_the_c_library_finds, "")
{
	static struct snapshot s;
	struct ptrc_perf_record r = {.kind = PTRC_PERF_SAMPLE, .pid = getpid()};
	struct ptrc_cli_reason why;
	struct ptrc_unwinder *u = ptrc_unwinder_new(&why);
	uint64_t addresses[64];
	struct ptrc_unwound out = {.addresses = addresses, .max = 64};
	int first = 0;

	if (!u)
		SKIP(why.text);
	processes = ptrc_os_processes_new(true, note, NULL);
	descend(&s, DEEP);
	r.stack.copy = &s.copy;
	/* Nothing is known of the process: the instruction is all. */
	ptrc_unwind(u, processes, &r, &out);
	CHECK(out.count == 1 && addresses[0] == s.copy.registers[8] && out.noise == 1);
	ptrc_os_processes_add_running(processes, getpid());
	ptrc_unwind(u, processes, &r, &out);
	/* A sanitizer has a larger stack. */
	CHECK_GT(out.count, DEEP + 1);
	CHECK(s.caller_count >= (int)out.count && !out.noise);
	/* A sanitizer's own frame may come first. */
	while (first < s.caller_count && (uint64_t)(uintptr_t)s.callers[first] != addresses[1])
		first++;
	for (size_t i = 1; i < out.count; i++, first++)
		CHECK(first < s.caller_count &&
		      addresses[i] == (uint64_t)(uintptr_t)s.callers[first]);
	/* No room, or no copy. */
	out.max = 3;
	ptrc_unwind(u, processes, &r, &out);
	CHECK(out.count == 3 && out.is_cut && !out.noise);
	out.max = 64;
	s.copy.stack_bytes = 8;
	ptrc_unwind(u, processes, &r, &out);
	CHECK(out.count == 1 && out.is_cut);
	s.copy.stack_bytes = 0;
	ptrc_unwind(u, processes, &r, &out);
	CHECK(out.count == 1 && out.is_cut);
	/* Code without tables, here at an address of no code, is followed by the frame pointer, but only into code. */
	s.copy.stack_bytes = 64;
	s.copy.registers[8] = 0x1000;
	s.copy.registers[6] = s.copy.registers[7] + 16;
	memcpy(s.stack + 24, &(uint64_t){(uint64_t)(uintptr_t)descend + 4}, 8);
	ptrc_unwind(u, processes, &r, &out);
	CHECK(out.count >= 2 && addresses[1] == (uint64_t)(uintptr_t)descend + 4);
	memcpy(s.stack + 24, &(uint64_t){0x1234}, 8);
	ptrc_unwind(u, processes, &r, &out);
	CHECK(out.count == 1 && out.noise == 1 && !out.is_cut);
	ptrc_os_processes_free(processes);
	ptrc_unwinder_free(u);
}
#endif

TEST(samples_that_are_withheld_are_counted, "")
{
	const uint64_t body[3] = {0};
	struct ptrc_os_throttle throttle = {0};
	uint64_t missing[6];

	begin_ring(0);
	put_record(PERF_RECORD_THROTTLE, 0, body, sizeof(body), 7, 8, 1000000, 0);
	put_record(PERF_RECORD_THROTTLE, 0, body, sizeof(body), 7, 9, 1000000, 1);
	put_record(PERF_RECORD_UNTHROTTLE, 0, body, sizeof(body), 7, 8, 2000000, 1);
	put_record(PERF_RECORD_UNTHROTTLE, 0, body, sizeof(body), 7, 8, 3000000, 0);
	/* It was off the processor for the most of that. */
	put_record(PERF_RECORD_UNTHROTTLE, 0, body, sizeof(body), 7, 9, 9000000000, 1);
	put_record(PERF_RECORD_UNTHROTTLE, 0, body, sizeof(body), 7, 9, 9000000001, 1);
	read_ring(INT64_MAX);
	CHECK_EQ(found_count, 6);
	for (size_t i = 0; i < found_count; i++)
		missing[i] = ptrc_os_throttle_take(&throttle, &found[i], 10000);
	CHECK(!missing[0] && !missing[1] && !missing[2]);
	CHECK_EQ(missing[3], 21);
	CHECK_EQ(missing[4], 101);
	CHECK_EQ(missing[5], 0);
	CHECK_EQ(throttle.count, 0);
	ptrc_os_throttle_free(&throttle);
	end_ring();
}

/* The kernel tells of a loss only when it writes into the ring again: what is found before counts once. */
TEST(losses_that_no_record_has_told_yet, "")
{
	uint64_t lost[2] = {0, 15};

	begin_ring(0);
	ptrc_perf_records_begin(records);
	put_switch(0, 5);
	put_switch(PERF_RECORD_MISC_SWITCH_OUT, 6);
	CHECK_EQ(ptrc_perf_records_take(records, &ring), fake->page.data_head);
	ptrc_perf_records_lost(records, &ring, 10);
	ptrc_perf_records_lost(records, &ring, 10);
	found = ptrc_perf_records_until(records, INT64_MAX, &found_count);
	CHECK_EQ(found_count, 3);
	CHECK(found[2].kind == PTRC_PERF_LOST && found[2].lost == 10 && found[2].ns == 6);
	CHECK_EQ(found[2].processor, 3);
	/* The record has these, and five more; the next one only others. */
	put_record(PERF_RECORD_LOST, 0, lost, sizeof(lost), 7, 8, 7, 3);
	put_record(PERF_RECORD_LOST, 0, lost, sizeof(lost), 7, 8, 8, 3);
	ptrc_perf_records_begin(records);
	ptrc_perf_records_take(records, &ring);
	ptrc_perf_records_lost(records, &ring, 30);
	found = ptrc_perf_records_until(records, INT64_MAX, &found_count);
	CHECK(found_count == 2 && found[0].lost + found[1].lost == 20);
	/* No other record came between. */
	CHECK(found[0].ns == 6 && found[1].ns == 6);
	/* All of a record is known. */
	ptrc_perf_records_begin(records);
	ptrc_perf_records_lost(records, &ring, 45);
	put_record(PERF_RECORD_LOST, 0, lost, sizeof(lost), 7, 8, 9, 3);
	ptrc_perf_records_take(records, &ring);
	found = ptrc_perf_records_until(records, INT64_MAX, &found_count);
	CHECK(found_count == 1 && found[0].lost == 15);
	end_ring();
}

TEST(texts_of_records_stay_as_long_as_these, "")
{
	char path[3000];

	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	begin_ring(0);
	for (uint64_t i = 0; i < 1000; i++) {
		put_mapping(path, i);
		read_ring((int64_t)i - 3);
		for (size_t n = 0; n < found_count; n++)
			CHECK(!strcmp(found[n].mapping->path, path));
	}
	end_ring();
}

/* ---- processes ---- */

static const struct ptrc_perf_mapping shell = {.path = "/bin/shell"},
				      other = {.path = "/bin/other"};

/* The process was told last, as the one with the number `count`, with this name and program. */
static void check_told(size_t count, pid_t pid, const char *name, const char *program)
{
	CHECK_EQ(last.count, count);
	CHECK_EQ(last.pid, pid);
	CHECK_STR_EQ(last.name, name);
	CHECK_STR_EQ(last.program, program);
}

/* Each of these is a record of the kernel. */
static void executes(pid_t pid, const char *name, int64_t ns)
{
	struct ptrc_perf_record r = {.kind = PTRC_PERF_EXEC, .ns = ns, .pid = pid, .tid = pid};

	strcpy(r.name, name);
	ptrc_os_processes_take(processes, &r);
}

static void maps(pid_t pid, const struct ptrc_perf_mapping *mapping)
{
	const struct ptrc_perf_record r = {
		.kind = PTRC_PERF_MAPPING, .pid = pid, .tid = pid, .mapping = mapping};

	ptrc_os_processes_take(processes, &r);
}

static void forks(pid_t parent, pid_t child, pid_t thread, int64_t ns)
{
	const struct ptrc_perf_record r = {.kind = PTRC_PERF_FORK,
					   .ns = ns,
					   .pid = parent,
					   .tid = parent,
					   .child = {.pid = child, .tid = thread}};

	ptrc_os_processes_take(processes, &r);
}

/* Whether the process has ended with the thread. */
static bool ends(pid_t pid, pid_t tid)
{
	const struct ptrc_perf_record r = {.kind = PTRC_PERF_EXIT, .pid = pid, .tid = tid};

	return ptrc_os_processes_take(processes, &r);
}

/* A process 10 that executes /bin/shell, of which it is told. */
static void begin_shell(void)
{
	processes = ptrc_os_processes_new(true, note, NULL);
	ptrc_os_processes_add_child(processes, 10, 1);
	executes(10, "shell", 2);
	CHECK_EQ(last.count, 0);
	/* Its program is known only now. */
	maps(10, &shell);
	check_told(1, 10, "shell", "/bin/shell");
}

TEST(a_child_is_like_its_parent_until_it_executes, "")
{
	begin_shell();
	forks(10, 11, 11, 5);
	forks(10, 12, 12, 6);
	/* One ends as a copy of its parent. */
	ends(11, 11);
	check_told(2, 11, "shell", "/bin/shell");
	CHECK_EQ(last.parent, 10);
	/* The other one executes first, and has no samples: of the copy nothing is told. */
	executes(12, "other", 7);
	CHECK_EQ(last.count, 2);
	maps(12, &other);
	CHECK_EQ(last.count, 3);
	/* A thread that ends is not the process. */
	ends(12, 13);
	CHECK_EQ(last.count, 3);
	ends(12, 12);
	check_told(4, 12, "other", "/bin/other");
	CHECK_EQ(last.mappings, 1);
	ptrc_os_processes_tell_rest(processes);
	CHECK(last.count == 5 && last.pid == 10);
	ptrc_os_processes_free(processes);
}

/* Its samples before the exec are those of the program of its parent, and need that program's mappings. */
TEST(a_child_with_samples_before_it_executes_is_told_as_a_copy, "")
{
	const struct ptrc_perf_record sample = {
		.kind = PTRC_PERF_SAMPLE, .ns = 6, .pid = 11, .tid = 11};

	begin_shell();
	forks(10, 11, 11, 5);
	CHECK_EQ(last.count, 1);
	/* Now the keeper may find the sample, so it has to know the copy. */
	for (int i = 0; i < 2; i++)
		ptrc_os_processes_take(processes, &sample);
	check_told(2, 11, "shell", "/bin/shell");
	CHECK(last.parent == 10 && last.from_ns == 5 && last.mappings == 1);
	executes(11, "other", 7);
	CHECK_EQ(last.count, 2);
	maps(11, &other);
	check_told(3, 11, "other", "/bin/other");
	CHECK_EQ(last.from_ns, 7);
	ptrc_os_processes_free(processes);
}

/* The first thread may end before others, which may then execute a program. */
TEST(a_process_ends_with_its_last_thread, "")
{
	begin_shell();
	for (int tid = 11; tid <= 13; tid++)
		forks(10, 10, tid, 5);
	for (int tid = 10; tid <= 12; tid++)
		CHECK(!ends(10, tid));
	CHECK_EQ(last.count, 1);
	/* The last thread gets the ID of the first one, and is now alone. */
	executes(10, "second", 6);
	check_told(2, 10, "shell", "/bin/shell");
	maps(10, &other);
	check_told(3, 10, "second", "/bin/other");
	CHECK(ends(10, 10));
	CHECK_EQ(last.count, 4);
	ptrc_os_processes_tell_rest(processes);
	CHECK_EQ(last.count, 4);
	ptrc_os_processes_free(processes);
}

/* Records of the starts of threads may be lost. */
TEST(a_process_with_unknown_threads_ends_with_its_first_one, "")
{
	begin_shell();
	CHECK(!ends(10, 12) && !ends(10, 11));
	CHECK_EQ(last.count, 1);
	CHECK(ends(10, 10));
	CHECK_EQ(last.count, 2);
	ptrc_os_processes_free(processes);
}

TEST(a_child_of_a_process_that_ran_already_has_its_command_line, "")
{
	processes = ptrc_os_processes_new(false, note, NULL);
	ptrc_os_processes_add_running(processes, getpid());
	ptrc_os_processes_leave_to_keeper(processes, getpid());
	forks(getpid(), 4194304 - 1, 4194304 - 1, 5);
	ptrc_os_processes_tell_rest(processes);
	CHECK(last.count == 1 && last.has_line);
	CHECK_GT(last.line_bytes, strlen("test_os"));
	ptrc_os_processes_free(processes);
}

TEST(a_command_line_that_is_found_too_late_is_not_that_of_the_program_before, "")
{
	const int self = getpid();

	/* The second program comes long after the look, or before it. */
	for (int is_late = 0; is_late <= 1; is_late++) {
		int64_t now = ptrc_now_ns();

		last.count = 0;
		processes = ptrc_os_processes_new(false, note, NULL);
		ptrc_os_processes_add_child(processes, self, now);
		CHECK(ptrc_os_processes_look(processes, self, now));
		executes(self, "x", now);
		maps(self, &shell);
		CHECK(last.count == 1 && last.has_line);
		executes(self, "x", is_late ? now + 1 : now + 10000000000);
		CHECK_EQ(last.count, 2);
		CHECK_EQ(last.has_line, !is_late);
		/* If the look was after the second exec, its line is that of the second program. */
		maps(self, &shell);
		ptrc_os_processes_tell_rest(processes);
		CHECK_EQ(last.count, 4);
		CHECK_EQ(last.has_line, is_late);
		ptrc_os_processes_free(processes);
	}
}

TEST(a_return_address_outside_all_code_is_no_caller, "")
{
	static const struct ptrc_perf_mapping program = {.path = "/bin/x",
							 .address = 0x1000,
							 .bytes = 0x2000},
					      library = {.path = "/lib/y",
							 .address = 0x9000,
							 .bytes = 0x1000};
	/* No processes have these numbers, so nothing can be read of their mappings. */
	const int gone = 4194304 - 3, child = 4194304 - 1;
	const uint64_t noise[] = {0x1500, 0x9fff, 0x2fff, 0xa000, 0x1000}, all_noise[] = {5, 6};
	const struct ptrc_perf_record loss = {.kind = PTRC_PERF_LOST, .lost = 1};
	struct ptrc_perf_record sample = {.kind = PTRC_PERF_SAMPLE, .pid = gone, .tid = gone};

	processes = ptrc_os_processes_new(true, note, NULL);
	sample.stack.addresses = noise;
	sample.stack.count = 5;
	/* Nothing is known of its mappings. */
	ptrc_os_processes_add_child(processes, gone, 1);
	CHECK_EQ(ptrc_os_processes_callers(processes, &sample), 5);
	executes(gone, "x", 0);
	maps(gone, &program);
	CHECK_EQ(ptrc_os_processes_callers(processes, &sample), 1);
	maps(gone, &library);
	CHECK_EQ(ptrc_os_processes_callers(processes, &sample), 3);
	/* A child has what its parent has. */
	forks(gone, child, child, 5);
	sample.pid = child;
	CHECK_EQ(ptrc_os_processes_callers(processes, &sample), 3);
	sample.stack.addresses = all_noise;
	sample.stack.count = 2;
	CHECK_EQ(ptrc_os_processes_callers(processes, &sample), 1);
	sample.stack.count = 0;
	CHECK_EQ(ptrc_os_processes_callers(processes, &sample), 0);
	/* Mappings may be among what was lost. */
	sample.stack.count = 2;
	ptrc_os_processes_take(processes, &loss);
	CHECK_EQ(ptrc_os_processes_callers(processes, &sample), 2);
	ptrc_os_processes_free(processes);
}
