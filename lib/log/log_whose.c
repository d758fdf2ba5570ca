/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/log/log_whose.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

#include "lib/base/array.h"
#include "lib/base/timespec.h"

/* The limit in bytes for the payloads of all descriptions. No keeper writes this much. */
#define BYTES_MAX (UINT64_C(64) << 20)
/* A keeper's description and an observer's, with the same pid and program, count as one if their
 * times differ by less than this. So do two of an observer that has not recorded observed_ns. */
#define SAME_PROGRAM_NS UINT64_C(1000000)
/* If two descriptions are of the same process, their start times differ by less than this: two
 * ticks of the kernel. */
#define START_APART_NS UINT64_C(20000000)

static uint64_t texts_of(const struct ptrc_log_process *head)
{
	return sizeof(*head) + (uint64_t)head->comm_bytes + head->exe_bytes + head->build_id_bytes +
	       head->line_bytes;
}

static struct ptrc_log_mapping mapping_at(const uint8_t *at)
{
	struct ptrc_log_mapping m;

	memcpy(&m, at, sizeof(m));
	return m;
}

static int find_mappings(struct ptrc_log_whose_process *p)
{
	uint64_t at = ptrc_align8(texts_of(&p->head));
	uint64_t most = at < p->length ? (p->length - at) / sizeof(struct ptrc_log_mapping) : 0;

	if (most > p->head.mapping_count)
		most = p->head.mapping_count;
	p->mappings = malloc(most * sizeof(*p->mappings) + 1);
	if (!p->mappings)
		return ENOMEM;
	while (p->mapping_count < most && at < p->length &&
	       p->length - at >= sizeof(struct ptrc_log_mapping)) {
		struct ptrc_log_mapping m = mapping_at(p->payload + at);
		uint64_t bytes = sizeof(m) + m.build_id_bytes + m.path_bytes;

		if (p->length - at < bytes)
			break;
		p->mappings[p->mapping_count++] = p->payload + at;
		at = ptrc_align8(at + bytes);
	}
	return 0;
}

/* Takes the payload of a HOST packet. *is_kept becomes true if the payload stays in use. */
static int take_host(struct ptrc_log_whose *x, uint8_t *payload, uint64_t length, bool *is_kept)
{
	struct ptrc_log_host host;
	uint64_t bytes = sizeof(host);

	if (x->host || length < sizeof(host))
		return 0;
	memcpy(&host, payload, sizeof(host));
	for (int i = 0; i < PTRC_LOG_HOST_TEXTS; i++)
		bytes += host.bytes[i];
	*is_kept = bytes <= length;
	x->host = *is_kept ? payload : NULL;
	x->host_bytes = bytes;
	return 0;
}

static int take_process(struct ptrc_log_whose *x, uint8_t *payload, uint64_t length, bool *is_kept)
{
	struct ptrc_log_whose_process p = {.payload = payload, .length = length};

	if (length < sizeof(p.head))
		return 0;
	memcpy(&p.head, payload, sizeof(p.head));
	if (texts_of(&p.head) > length || length > UINT32_MAX || p.head.pid <= 0 ||
	    x->bytes + length > BYTES_MAX)
		return 0;
	p.number = x->taken_count++;
	if (!PTRC_ARRAY_RESERVE(x->processes, x->process_count, 1, &x->process_size) ||
	    find_mappings(&p))
		return ENOMEM;
	x->bytes += length;
	x->processes[x->process_count++] = p;
	*is_kept = true;
	return 0;
}

static int take_clock(struct ptrc_log_whose *x, const uint8_t *payload, uint64_t length)
{
	if (length < sizeof(*x->clocks) || x->bytes + sizeof(*x->clocks) > BYTES_MAX)
		return 0;
	if (!PTRC_ARRAY_RESERVE(x->clocks, x->clock_count, 1, &x->clock_size))
		return ENOMEM;
	memcpy(&x->clocks[x->clock_count++], payload, sizeof(*x->clocks));
	x->bytes += sizeof(*x->clocks);
	return 0;
}

static int take_threads(struct ptrc_log_whose *x, const uint8_t *payload, uint64_t length)
{
	size_t count = length / sizeof(*x->threads), bytes = count * sizeof(*x->threads);

	if (!count || x->bytes + bytes > BYTES_MAX)
		return 0;
	if (!PTRC_ARRAY_RESERVE(x->threads, x->thread_count, count, &x->thread_size))
		return ENOMEM;
	memcpy(x->threads + x->thread_count, payload, bytes);
	x->thread_count += count;
	x->bytes += bytes;
	return 0;
}

int ptrc_log_whose_take(struct ptrc_log_whose *x, uint16_t type, uint8_t *payload, uint64_t length)
{
	bool is_kept = false;
	int error;

	x->is_unsorted = true;
	if (type == PTRC_LOG_PROCESS)
		error = take_process(x, payload, length, &is_kept);
	else if (type == PTRC_LOG_THREADS)
		error = take_threads(x, payload, length);
	else if (type == PTRC_LOG_CLOCK)
		error = take_clock(x, payload, length);
	else
		error = take_host(x, payload, length, &is_kept);
	if (!is_kept)
		free(payload);
	return error;
}

static int by_reading(const void *one, const void *other)
{
	const struct ptrc_log_clock *a = one, *b = other;

	return PTRC_ORDER(a->monotonic_ns, b->monotonic_ns);
}

static int by_pid(const void *one, const void *other)
{
	const struct ptrc_log_whose_process *a = one, *b = other;

	return PTRC_ORDER(a->head.pid, b->head.pid)
		       ?: PTRC_ORDER(a->head.from_ns, b->head.from_ns)
		       ?: PTRC_ORDER(a->number, b->number);
}

static int by_thread(const void *one, const void *other)
{
	const struct ptrc_log_thread *a = one, *b = other;

	return PTRC_ORDER(a->pid, b->pid)
		       ?: PTRC_ORDER(a->tid, b->tid)
		       ?: PTRC_ORDER(a->from_ns, b->from_ns)
		       ?: memcmp(a->name, b->name, sizeof(a->name));
}

/* Sorts the entries of threads. Drops an entry if the one before it is of the same thread and has
 * the same name. */
static void sort_threads(struct ptrc_log_whose *x)
{
	size_t kept = 0;

	if (x->thread_count)
		qsort(x->threads, x->thread_count, sizeof(*x->threads), by_thread);
	for (size_t i = 0; i < x->thread_count; i++) {
		const struct ptrc_log_thread *t = &x->threads[i],
					     *before = &x->threads[kept - !!kept];

		if (t->pid <= 0 || t->tid <= 0 ||
		    (kept && t->pid == before->pid && t->tid == before->tid &&
		     memcmp(t->name, before->name, sizeof(t->name)) == 0))
			continue;
		x->threads[kept++] = *t;
	}
	x->thread_count = kept;
}

static void free_process(struct ptrc_log_whose_process *p)
{
	for (size_t i = 0; i < p->addition_count; i++)
		free(p->additions[i].payload);
	free(p->additions);
	free(p->payload);
	free(p->mappings);
}

static bool is_near(int64_t a, int64_t b)
{
	return (uint64_t)a - (uint64_t)b < START_APART_NS ||
	       (uint64_t)b - (uint64_t)a < START_APART_NS;
}

/* Gives all descriptions of a process the start time of the description that was written first.
 * Start times of one process may differ, as some come from a clock with ticks of 10 ms. */
static void share_starts(struct ptrc_log_whose *x)
{
	for (size_t begin = 0, end; begin < x->process_count; begin = end) {
		const struct ptrc_log_process *oldest = NULL, *last = NULL;
		uint32_t number = 0;
		int64_t start_ns;

		for (end = begin; end < x->process_count; end++) {
			const struct ptrc_log_whose_process *p = &x->processes[end];

			if (p->head.pid != x->processes[begin].head.pid)
				break;
			if (!(p->head.flags & PTRC_LOG_PROCESS_KNOWN))
				continue;
			if (last && !is_near(last->start_ns, p->head.start_ns))
				break; /* another process with this pid */
			last = &p->head;
			if (oldest && number < p->number)
				continue;
			oldest = &p->head;
			number = p->number;
		}
		start_ns = oldest ? oldest->start_ns : 0;
		for (size_t i = begin; i < end; i++)
			if (x->processes[i].head.flags & PTRC_LOG_PROCESS_KNOWN)
				x->processes[i].head.start_ns = start_ns;
	}
}

/* Whether a and b are equal, apart from their times (from_ns). A keeper that replaces a dead one
 * describes each process again, so a log may have equal descriptions. observed_ns is compared only
 * if both have one: a may have got it from the observer's description of the same program. */
static bool is_same(const struct ptrc_log_whose_process *a, const struct ptrc_log_whose_process *b)
{
	struct ptrc_log_process x = a->head, y = b->head;

	x.from_ns = y.from_ns = 0;
	if (!x.observed_ns || !y.observed_ns)
		x.observed_ns = y.observed_ns = 0;
	return memcmp(&x, &y, sizeof(x)) == 0 && a->length == b->length &&
	       memcmp(a->payload + sizeof(x), b->payload + sizeof(x), a->length - sizeof(x)) == 0;
}

/* Whether the description says nothing but that the process had ended when a keeper looked. */
static bool is_empty(const struct ptrc_log_process *p)
{
	return (p->flags & PTRC_LOG_PROCESS_GONE) && !(p->flags & PTRC_LOG_PROCESS_KNOWN);
}

/* Whether b is empty, and a is an earlier description of the process. A keeper that has seen a process alive writes no
 * empty one: that of b has replaced the keeper that wrote a. */
static bool is_outdone(const struct ptrc_log_process *a, const struct ptrc_log_process *b)
{
	return a->pid == b->pid && is_empty(b);
}

/* Whether a is empty, and b is a later description of the process: an observer has seen what it executed, but only after
 * a keeper had looked because of an event before that. */
static bool is_made_good(const struct ptrc_log_process *a, const struct ptrc_log_process *b)
{
	return a->pid == b->pid && is_empty(a) && (b->flags & PTRC_LOG_PROCESS_KNOWN) &&
	       b->start_ns <= a->from_ns;
}

/* Whether x is an observer's (a controller's) description of a process, and y a keeper's
 * description of the same process. Only a keeper's description has the user. The time of y may be
 * later than that of x: y has the time when the keeper looked at the process, not the time when the
 * process executed its program. */
static bool is_looked_at(const struct ptrc_log_process *x, const struct ptrc_log_process *y)
{
	return !(x->flags & PTRC_LOG_PROCESS_USER) && (y->flags & PTRC_LOG_PROCESS_USER) &&
	       x->start_ns == y->start_ns;
}

static bool has_same_file(const struct ptrc_log_whose_process *a,
			  const struct ptrc_log_whose_process *b)
{
	return a->head.exe_bytes == b->head.exe_bytes &&
	       memcmp(a->payload + sizeof(a->head) + a->head.comm_bytes,
		      b->payload + sizeof(b->head) + b->head.comm_bytes, a->head.exe_bytes) == 0;
}

/* Whether exactly one of the descriptions lacks the path of the program. A keeper's description
 * lacks it if the process belongs to another user. */
static bool lacks_program(const struct ptrc_log_process *a, const struct ptrc_log_process *b)
{
	return !a->exe_bytes != !b->exe_bytes;
}

static bool is_same_name(const struct ptrc_log_whose_process *a,
			 const struct ptrc_log_whose_process *b)
{
	return a->head.comm_bytes == b->head.comm_bytes &&
	       memcmp(a->payload + sizeof(a->head), b->payload + sizeof(b->head),
		      a->head.comm_bytes) == 0;
}

/* Whether x and y, of the same process, may describe the program of one exec. The controller, as an
 * observer, reports a program once when it starts and once when it has ended, with slightly
 * different values of from_ns, but with the same observed_ns. A process may execute its own program
 * again at once. */
static bool is_same_exec(const struct ptrc_log_process *x, const struct ptrc_log_process *y)
{
	if (x->observed_ns && y->observed_ns)
		return x->observed_ns == y->observed_ns;
	return (uint64_t)y->from_ns - (uint64_t)x->from_ns < SAME_PROGRAM_NS || is_looked_at(x, y);
}

/* Whether a and b describe the same program of a process. */
static bool is_same_program(const struct ptrc_log_whose_process *a,
			    const struct ptrc_log_whose_process *b)
{
	const struct ptrc_log_process *x = &a->head, *y = &b->head;

	return x->pid == y->pid && is_same_exec(x, y) && is_same_name(a, b) &&
	       (has_same_file(a, b) || lacks_program(x, y));
}

/* Whether the mappings of an addition (PTRC_LOG_PROCESS_ADDITION) belong to this description: pid
 * and executable are equal. The names are compared only if the executable is unknown, because a
 * process may change its name. */
static bool is_extended_by(const struct ptrc_log_whose_process *p,
			   const struct ptrc_log_whose_process *addition)
{
	return p->head.pid == addition->head.pid && has_same_file(p, addition) &&
	       (p->head.exe_bytes || is_same_name(p, addition));
}

/* Adds the mappings of `addition` to those of `p`, the description before it. `p` then owns the
 * payload of `addition`. False: there is no memory. */
static bool add_mappings(struct ptrc_log_whose_process *p,
			 const struct ptrc_log_whose_process *addition)
{
	size_t count = (size_t)p->mapping_count + addition->mapping_count;
	const uint8_t **mappings = realloc(p->mappings, count * sizeof(*mappings) + 1);

	if (!mappings)
		return false;
	p->mappings = mappings;
	if (!PTRC_ARRAY_RESERVE(p->additions, p->addition_count, 1, &p->addition_size))
		return false;
	p->additions[p->addition_count++] = *addition;
	memcpy(mappings + p->mapping_count, addition->mappings,
	       addition->mapping_count * sizeof(*mappings));
	p->mapping_count = (uint32_t)count;
	p->head.flags |= addition->head.flags & PTRC_LOG_PROCESS_MAPPINGS_CUT;
	free(addition->mappings);
	return true;
}

void ptrc_log_whose_sort(struct ptrc_log_whose *x)
{
	size_t kept = 0;

	if (!x->is_unsorted)
		return;
	x->is_unsorted = false;
	if (x->process_count)
		qsort(x->processes, x->process_count, sizeof(*x->processes), by_pid);
	share_starts(x);
	for (size_t i = 0; i < x->process_count; i++) {
		struct ptrc_log_whose_process *p = &x->processes[i], *last;

		if (kept && is_made_good(&x->processes[kept - 1].head, &p->head))
			free_process(&x->processes[--kept]);
		last = kept ? &x->processes[kept - 1] : NULL;
		if (last && (is_same(last, p) || is_outdone(&last->head, &p->head))) {
			free_process(p);
			continue;
		}
		if (p->head.flags & PTRC_LOG_PROCESS_ADDITION) {
			if (!last || !is_extended_by(last, p) || !add_mappings(last, p))
				free_process(p);
			continue;
		}
		/* Of two descriptions of the same program, keeps the one written later, which has
		 * the larger `number`. But if `p` is a keeper's and `last` a controller's, keeps
		 * `p`; and if only one has the program's path, keeps that one. */
		if (last && is_same_program(last, p)) {
			bool keeps_p =
				last->number < p->number || is_looked_at(&last->head, &p->head);
			int64_t from_ns = last->head.from_ns;
			int64_t observed_ns = last->head.observed_ns ?: p->head.observed_ns;

			if (lacks_program(&last->head, &p->head))
				keeps_p = p->head.exe_bytes != 0;
			free_process(keeps_p ? last : p);
			if (keeps_p)
				*last = *p;
			last->head.from_ns = from_ns;
			last->head.observed_ns = observed_ns;
			continue;
		}
		x->processes[kept++] = *p;
	}
	x->process_count = kept;
	/* log_copy.c writes the payloads into a copy of the log, so they get what was combined. */
	for (size_t i = 0; i < kept; i++)
		memcpy(x->processes[i].payload, &x->processes[i].head,
		       sizeof(x->processes[i].head));
	sort_threads(x);
	/* A ring may have its first CLOCK packets twice, so equal ones are dropped. */
	if (x->clock_count)
		qsort(x->clocks, x->clock_count, sizeof(*x->clocks), by_reading);
	kept = 0;
	for (size_t i = 0; i < x->clock_count; i++)
		if (!kept || memcmp(&x->clocks[kept - 1], &x->clocks[i], sizeof(*x->clocks)) != 0)
			x->clocks[kept++] = x->clocks[i];
	x->clock_count = kept;
}

void ptrc_log_whose_free(struct ptrc_log_whose *x)
{
	for (size_t i = 0; i < x->process_count; i++)
		free_process(&x->processes[i]);
	free(x->processes);
	free(x->threads);
	free(x->clocks);
	free(x->host);
	memset(x, 0, sizeof(*x));
}

/* ---- queries ---- */

int ptrc_log_whose_host(const struct ptrc_log_whose *x, struct posixtrace_log_host *host)
{
	struct {
		char *to;
		size_t size;
	} texts[PTRC_LOG_HOST_TEXTS] = {
		[PTRC_LOG_HOST_NAME] = {host->ph_name, sizeof(host->ph_name)},
		[PTRC_LOG_HOST_MACHINE_ID] = {host->ph_machine_id, sizeof(host->ph_machine_id)},
		[PTRC_LOG_HOST_BOOT_ID] = {host->ph_boot_id, sizeof(host->ph_boot_id)},
		[PTRC_LOG_HOST_SYSTEM] = {host->ph_system, sizeof(host->ph_system)},
		[PTRC_LOG_HOST_RELEASE] = {host->ph_release, sizeof(host->ph_release)},
		[PTRC_LOG_HOST_VERSION] = {host->ph_version, sizeof(host->ph_version)},
		[PTRC_LOG_HOST_MACHINE] = {host->ph_machine, sizeof(host->ph_machine)},
		[PTRC_LOG_HOST_TIME_ZONE] = {host->ph_time_zone, sizeof(host->ph_time_zone)},
	};
	struct ptrc_log_host head;
	const uint8_t *at;

	memset(host, 0, sizeof(*host));
	if (!x->host)
		return ENODATA;
	at = x->host + sizeof(head);
	memcpy(&head, x->host, sizeof(head));
	for (int i = 0; i < PTRC_LOG_HOST_TEXTS; i++) {
		size_t bytes = head.bytes[i];

		memcpy(texts[i].to, at, bytes < texts[i].size ? bytes : texts[i].size - 1);
		at += bytes;
	}
	host->ph_has_utc_offset = (head.flags & PTRC_LOG_HOST_OFFSET_KNOWN) != 0;
	host->ph_utc_offset = host->ph_has_utc_offset ? head.utc_offset : 0;
	return 0;
}

int ptrc_log_whose_process(const struct ptrc_log_whose *x, unsigned long index,
			   struct posixtrace_log_process *process)
{
	const struct ptrc_log_whose_process *p;
	const char *at;

	if (index >= x->process_count)
		return ENODATA;
	p = &x->processes[index];
	at = (const char *)p->payload + sizeof(p->head);
	*process = (struct posixtrace_log_process){
		.pp_pid = p->head.pid,
		.pp_from = ptrc_timespec_of(p->head.from_ns),
		.pp_has_ended = (p->head.flags & PTRC_LOG_PROCESS_GONE) != 0,
		.pp_is_known = (p->head.flags & PTRC_LOG_PROCESS_KNOWN) != 0,
		.pp_has_user = (p->head.flags & PTRC_LOG_PROCESS_USER) != 0,
		.pp_has_command_line = (p->head.flags & PTRC_LOG_PROCESS_LINE) != 0,
		.pp_is_command_line_cut = (p->head.flags & PTRC_LOG_PROCESS_LINE_CUT) != 0,
		.pp_has_mappings = (p->head.flags & PTRC_LOG_PROCESS_MAPPED) != 0,
		.pp_are_mappings_cut = (p->head.flags & PTRC_LOG_PROCESS_MAPPINGS_CUT) != 0,
		.pp_name_size = p->head.comm_bytes,
		.pp_executable_size = p->head.exe_bytes,
		.pp_build_id_size = p->head.build_id_bytes,
		.pp_command_line_size = p->head.line_bytes,
		.pp_mapping_count = p->mapping_count,
	};
	if (process->pp_is_known) {
		process->pp_parent_pid = p->head.parent_pid;
		process->pp_start = ptrc_timespec_of(p->head.start_ns);
	}
	process->pp_user = process->pp_has_user ? p->head.user : 0;
	process->pp_name = at;
	process->pp_executable = at += p->head.comm_bytes;
	process->pp_build_id = (const unsigned char *)(at += p->head.exe_bytes);
	process->pp_command_line = at + p->head.build_id_bytes;
	return 0;
}

int ptrc_log_whose_find(const struct ptrc_log_whose *x, pid_t pid, int64_t ns, unsigned long *index)
{
	size_t low = 0, high = x->process_count;

	/* Finds the first description after this pid and time, in the order of pid and time. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct ptrc_log_process *head = &x->processes[middle].head;

		if ((PTRC_ORDER(head->pid, pid) ?: PTRC_ORDER(head->from_ns, ns)) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	/* If no description of the process is early enough, its first one is used: a process is
	 * described only after its first event. */
	if (low && x->processes[low - 1].head.pid == pid)
		*index = low - 1;
	else if (low < x->process_count && x->processes[low].head.pid == pid)
		*index = low;
	else
		return ENODATA;
	return 0;
}

int ptrc_log_whose_mapping(const struct ptrc_log_whose *x, unsigned long process,
			   unsigned long index, struct posixtrace_log_mapping *mapping)
{
	struct ptrc_log_mapping m;
	const uint8_t *at;

	if (process >= x->process_count || index >= x->processes[process].mapping_count)
		return ENODATA;
	at = x->processes[process].mappings[index];
	m = mapping_at(at);
	at += sizeof(m);
	*mapping = (struct posixtrace_log_mapping){
		.pm_start = m.start,
		.pm_end = m.end,
		.pm_offset = m.offset,
		.pm_build_id = at,
		.pm_build_id_size = m.build_id_bytes,
		.pm_path = (const char *)at + m.build_id_bytes,
		.pm_path_size = m.path_bytes,
		.pm_is_function = (m.flags & PTRC_LOG_MAPPING_FUNCTION) != 0};
	return 0;
}

int ptrc_log_whose_thread(const struct ptrc_log_whose *x, unsigned long index,
			  struct posixtrace_log_thread *thread)
{
	const struct ptrc_log_thread *t;

	if (index >= x->thread_count)
		return ENODATA;
	t = &x->threads[index];
	*thread = (struct posixtrace_log_thread){.pt_pid = t->pid,
						 .pt_tid = t->tid,
						 .pt_from = ptrc_timespec_of(t->from_ns),
						 .pt_name = t->name,
						 .pt_name_size = strnlen(t->name, sizeof(t->name))};
	return 0;
}

int ptrc_log_whose_find_thread(const struct ptrc_log_whose *x, pid_t pid, pid_t tid, int64_t ns,
			       unsigned long *index)
{
	size_t low = 0, high = x->thread_count;

	/* Finds the first entry after this thread and time, in the order of pid, tid and time. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct ptrc_log_thread *t = &x->threads[middle];

		if ((PTRC_ORDER(t->pid, pid) ?: PTRC_ORDER(t->tid, tid) ?: PTRC_ORDER(t->from_ns, ns)) <=
		    0)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || x->threads[low - 1].pid != pid || x->threads[low - 1].tid != tid ||
	    !x->threads[low - 1].name[0])
		return ENODATA;
	*index = low - 1;
	return 0;
}

int ptrc_log_whose_clock(const struct ptrc_log_whose *x, unsigned long index,
			 struct posixtrace_log_clock *clock)
{
	const struct ptrc_log_clock *c;

	if (index >= x->clock_count)
		return ENODATA;
	c = &x->clocks[index];
	*clock = (struct posixtrace_log_clock){.pk_time = ptrc_timespec_of(c->event_ns),
					       .pk_realtime = ptrc_timespec_of(c->realtime_ns),
					       .pk_monotonic = ptrc_timespec_of(c->monotonic_ns),
					       .pk_boottime = ptrc_timespec_of(c->boottime_ns),
					       .pk_window_ns = c->window_ns,
					       .pk_counter = c->counter,
					       .pk_has_status = c->status >= 0,
					       .pk_status = c->status >= 0 ? c->status : 0,
					       .pk_is_synchronized =
						       c->status >= 0 && !(c->status & STA_UNSYNC),
					       .pk_max_error_ns = c->max_error_ns,
					       .pk_estimated_error_ns = c->estimated_error_ns};
	return 0;
}
