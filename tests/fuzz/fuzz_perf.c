/* SPDX-License-Identifier: MIT */
/*
 * The records that the kernel writes into a ring (src/os/perf_records.c), and what becomes of them. An
 * input begins with two bytes that say where in the ring the reader stands, and two that say by how much
 * less than there is the kernel says to have written; the rest is what it has written, of which half is
 * taken before the other half is there. Samples are read three times: as addresses, as copies of a stack, whose
 * callers are looked for, and as those of several events.
 */
#include "config.h"

#include <linux/perf_event.h>
#include <posixtrace-log.h>
#include <stdlib.h>
#include <string.h>

#include "src/os/perf_records.h"
#include "src/os/processes.h"
#include "src/os/throttle.h"
#include "src/os/unwind.h"
#include "tests/fuzz/fuzz.h"

#define RING 4096U

struct input {
	const uint8_t *data;
	size_t size;
	uint64_t registers;
	bool has_events;
};

static struct perf_event_mmap_page page;
static struct ptrc_os_processes *processes;
static struct ptrc_os_throttle throttle;
static struct ptrc_unwinder *unwinder;

/* Texts end, and are nowhere else. */
static void look(void *arg, const struct posixtrace_log_process *p,
		 const struct posixtrace_log_mapping *m, bool is_addition)
{
	(void)arg;
	(void)is_addition;
	FUZZ_CHECK(!p->pp_has_command_line && p->pp_name_size < PTRC_PERF_NAME_BYTES);
	for (unsigned long i = 0; i < p->pp_mapping_count; i++)
		FUZZ_CHECK(strlen(m[i].pm_path) == m[i].pm_path_size &&
			   m[i].pm_build_id_size <= PTRC_PERF_BUILD_ID_MAX);
}

static void look_for_callers(const struct ptrc_perf_record *r)
{
	uint64_t addresses[16];
	struct ptrc_unwound out = {.addresses = addresses, .max = 16};

	ptrc_unwind(unwinder, processes, r, &out);
	FUZZ_CHECK(out.count && out.count <= out.max && out.noise <= 1);
}

static void take(const struct ptrc_perf_record *r)
{
	if (r->kind == PTRC_PERF_EXEC || r->kind == PTRC_PERF_RENAME)
		FUZZ_CHECK(memchr(r->name, '\0', sizeof(r->name)));
	/* The sanitizer sees whoever has fewer addresses than this says. */
	for (size_t i = 0; r->kind == PTRC_PERF_SAMPLE && i < r->stack.count; i++)
		FUZZ_CHECK(r->stack.addresses[i] < (uint64_t)PERF_CONTEXT_MAX);
	if (r->kind == PTRC_PERF_SAMPLE && r->stack.copy && unwinder)
		look_for_callers(r);
	ptrc_os_throttle_take(&throttle, r, 1000);
	ptrc_os_processes_take(processes, r);
}

static void take_until(struct ptrc_perf_records *records, int64_t until_ns)
{
	size_t count;
	const struct ptrc_perf_record *r = ptrc_perf_records_until(records, until_ns, &count);

	for (size_t i = 0; i < count; i++) {
		FUZZ_CHECK(r[i].ns <= until_ns && (!i || r[i - 1].ns <= r[i].ns));
		take(&r[i]);
	}
}

static void run(void *argument)
{
	const struct input *in = argument;
	uint8_t *bytes = calloc(1, RING);
	struct ptrc_perf_ring ring = {.page = &page, .bytes = bytes, .size = RING};
	struct ptrc_perf_records *records = ptrc_perf_records_new(in->registers);
	static const enum ptrc_perf_event events[] = {
		PTRC_PERF_EVENT_STACK, PTRC_PERF_EVENT_MINOR_FAULT, PTRC_PERF_EVENT_MAJOR_FAULT,
		PTRC_PERF_EVENT_CALL};
	uint16_t at = 0, less = 0;
	size_t used = 0;

	for (size_t i = 0; in->has_events && i < 4; i++)
		ptrc_perf_records_identify(records, i, events[i]);
	if (in->size >= 4) {
		memcpy(&at, in->data, sizeof(at));
		memcpy(&less, in->data + 2, sizeof(less));
		used = 4;
	}
	page.data_head = page.data_tail = at;
	for (int half = 0; half < 2; half++) {
		size_t end = half ? in->size : used + (in->size - used) / 2;

		for (; used < end; used++)
			bytes[page.data_head++ % RING] = in->data[used];
		page.data_head -= half ? less : 0;
		ptrc_perf_records_begin(records);
		ptrc_perf_records_take(records, &ring);
		ptrc_perf_records_lost(records, &ring, less);
		FUZZ_CHECK(page.data_tail == page.data_head);
		take_until(records, half ? INT64_MAX : 1000);
	}
	ptrc_perf_records_free(records);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_outcome outcome;
	struct input in = {data, size, 0, false};
	struct ptrc_cli_reason why;

	if (!unwinder)
		unwinder = ptrc_unwinder_new(&why);
	processes = ptrc_os_processes_new(true, look, NULL);
	fuzz_guard(run, &in, false, &outcome);
	in.registers = ptrc_unwinder_registers();
	if (in.registers && !outcome.has_exited)
		fuzz_guard(run, &in, false, &outcome);
	in = (struct input){data, size, 0, true};
	if (!outcome.has_exited)
		fuzz_guard(run, &in, false, &outcome);
	ptrc_os_processes_tell_rest(processes);
	ptrc_os_processes_free(processes);
	ptrc_os_throttle_free(&throttle);
	memset(&throttle, 0, sizeof(throttle));
	FUZZ_CHECK(!outcome.has_exited && !outcome.said_size);
	return 0;
}
