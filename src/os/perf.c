/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/os/perf.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/procfs.h"
#include "src/base/message.h"
#include "src/base/scope.h"

/* The usual size of a ring in bytes. The kernel allows each user 516 KiB of rings for each
 * processor (kernel.perf_event_mlock_kb); other programs may use a part of that. */
#define RING_BYTES (UINT64_C(256) << 10)
/* The most bytes of a ring if samples have copies of stacks. */
#define COPIES_RING_BYTES (UINT64_C(4) << 20)
/* The bytes of a ring if page faults or system calls are recorded, of which there may be very many. */
#define OFTEN_RING_BYTES (UINT64_C(2) << 20)
/* The bytes of a sample with a copy of the stack, without the copy itself. */
#define SAMPLE_BYTES 400U
/* The least bytes that are copied of a stack. If a ring is too small for that, fewer samples are taken. */
#define COPY_BYTES_MIN 2048U
/* A ring has room for the samples of RING_MS milliseconds if the kernel allows so large a ring. In a smaller ring,
 * samples are made smaller or fewer, so that those of at least RING_MS_MIN milliseconds fit. */
enum { RING_MS_MIN = 30, RING_MS = 100 };
#define NS_PER_S UINT64_C(1000000000)
/* The fields at the end of each record (at the start of a sample): struct id of perf_records.c. */
#define SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

/* A perf event of a thread on a processor. The kernel writes its records into a ring of this processor. */
struct ptrc_perf_source {
	int fd;
	pid_t tid;
	size_t processor;
	bool is_for_execs;
	/* The perf event is from open_extras(). It is not polled: the thread's main perf event, which shares its
	 * ring, is polled. */
	bool is_extra;
	bool has_hung_up;
	/* read() on the descriptor returns the number of lost records. */
	bool counts_lost;
};

static int perf_event_open(struct perf_event_attr *attr, pid_t pid, int processor)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, processor, -1, PERF_FLAG_FD_CLOEXEC);
}

/* ---- opening perf events ---- */

/* If page faults or system calls are recorded, perf events of several kinds share a ring. Then each record needs the
 * identifier of its perf event. */
static uint64_t identifier_of(const struct ptrc_perf_plan *plan)
{
	return plan->has_faults || plan->calls ? PERF_SAMPLE_IDENTIFIER : 0;
}

/* Returns the attributes of a thread's main perf event. A timer takes the samples, because virtual machines seldom
 * have performance counters. */
static struct perf_event_attr attr_of(const struct ptrc_perf *p, const struct ptrc_perf_plan *plan,
				      size_t ring_bytes)
{
	const uint64_t samples = p->copy_bytes	? PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER
				 : p->frequency ? PERF_SAMPLE_CALLCHAIN
						: 0;

	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = p->frequency ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_DUMMY,
		.sample_period = p->frequency ? NS_PER_S / p->frequency : 0,
		.sample_type = SAMPLE_TYPE | samples | identifier_of(plan),
		.read_format = PERF_FORMAT_LOST,
		.sample_max_stack = samples & PERF_SAMPLE_CALLCHAIN ? (uint16_t)p->stack_max : 0,
		.exclude_callchain_kernel = (samples & PERF_SAMPLE_CALLCHAIN) != 0,
		.sample_regs_user = p->copy_bytes ? p->registers : 0,
		.sample_stack_user = (uint32_t)p->copy_bytes,
		.inherit = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.watermark = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.context_switch = plan->has_switches,
		/* Wakes the reader early: the rest of the ring has to hold the records that come until it runs. */
		.wakeup_watermark = (uint32_t)(ring_bytes / (p->copy_bytes ? 4 : 2)),
		.build_id = 1,
	};
}

/* Returns the attributes of a perf event that wakes the reader at each exec, so that the reader can read the
 * command line even of a short-lived program. */
static struct perf_event_attr exec_attr(void)
{
	const struct ptrc_perf none = {0};
	struct perf_event_attr attr = attr_of(&none, &(struct ptrc_perf_plan){0}, 0);

	attr.mmap = attr.mmap2 = attr.build_id = attr.task = 0;
	attr.read_format = 0;
	attr.wakeup_watermark = 1;
	return attr;
}

/* Returns the attributes of a perf event for page faults or a tracepoint. It only adds samples to the ring of the
 * thread's main perf event, which has all other records. */
static struct perf_event_attr extra_attr(const struct ptrc_perf_plan *plan, uint32_t type,
					 uint64_t config)
{
	const struct ptrc_perf none = {0};
	struct perf_event_attr attr = attr_of(&none, plan, 0);

	attr.type = type;
	attr.config = config;
	attr.sample_period = 1;
	attr.mmap = attr.mmap2 = attr.build_id = attr.comm = attr.comm_exec = attr.task = 0;
	attr.context_switch = 0;
	if (type == PERF_TYPE_TRACEPOINT) {
		attr.sample_type |= PERF_SAMPLE_RAW;
		attr.exclude_kernel = 0;
	} else {
		attr.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_ADDR;
	}
	return attr;
}

static bool map_ring(struct ptrc_perf_ring *r, int fd, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *map = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return false;
	*r = (struct ptrc_perf_ring){
		.page = map, .bytes = (const uint8_t *)map + page, .size = bytes, .fd = fd};
	return true;
}

static void unmap_ring(struct ptrc_perf_ring *r)
{
	if (r->page)
		munmap(r->page, (size_t)sysconf(_SC_PAGESIZE) + r->size);
	r->page = NULL;
}

/* Opens a perf event of a thread on a processor, and directs its records into the ring, which it makes if it does
 * not exist yet. Returns 0 or an error number. */
static int open_event(struct ptrc_perf *p, struct perf_event_attr *attr, pid_t tid, int processor,
		      struct ptrc_perf_ring *ring, size_t bytes)
{
	int fd = perf_event_open(attr, tid, processor);
	int error = 0;

	/* Linux before 6.0 does not count the lost records of an event. */
	if (fd < 0 && errno == EINVAL && attr->read_format) {
		attr->read_format = 0;
		fd = perf_event_open(attr, tid, processor);
	}
	/* Linux before 5.12 does not know build ids. */
	if (fd < 0 && errno == EINVAL && attr->build_id) {
		attr->build_id = 0;
		fd = perf_event_open(attr, tid, processor);
	}
	if (fd < 0)
		return errno;
	if (!ring->page) {
		while (!map_ring(ring, fd, bytes)) {
			/* Tries a smaller ring, because other programs of the user may use a part of the
			 * memory that the kernel allows for rings. */
			error = errno;
			bytes /= 2;
			if (bytes < (size_t)sysconf(_SC_PAGESIZE)) {
				close(fd);
				return error;
			}
		}
	} else if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd)) {
		error = errno;
		close(fd);
		return error;
	}
	*ptrc_append(p->sources, p->source_count) =
		(struct ptrc_perf_source){.fd = fd,
					  .tid = tid,
					  .processor = (size_t)processor,
					  .counts_lost = attr->read_format != 0};
	return 0;
}

/* Registers the identifier of the perf event that was opened last, so that perf_records.c parses
 * its samples as those of `event`. */
static int identify(struct ptrc_perf *p, enum ptrc_perf_event event)
{
	uint64_t id;

	if (ioctl(p->sources[p->source_count - 1].fd, PERF_EVENT_IOC_ID, &id))
		return errno;
	ptrc_perf_records_identify(p->records, id, event);
	return 0;
}

/* Opens the perf events of page faults and system calls, which share the ring of the thread's main perf event. */
static int open_extras(struct ptrc_perf *p, const struct ptrc_perf_plan *plan, pid_t tid,
		       int processor)
{
	const struct {
		bool is_wanted;
		uint32_t type;
		uint64_t config;
		enum ptrc_perf_event event;
	} extras[] = {
		{plan->has_faults, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN,
		 PTRC_PERF_EVENT_MINOR_FAULT},
		{plan->has_faults, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ,
		 PTRC_PERF_EVENT_MAJOR_FAULT},
		{plan->calls, PERF_TYPE_TRACEPOINT, plan->calls ? plan->calls->numbers[0] : 0,
		 PTRC_PERF_EVENT_CALL},
		{plan->calls, PERF_TYPE_TRACEPOINT, plan->calls ? plan->calls->numbers[1] : 0,
		 PTRC_PERF_EVENT_CALL},
	};
	int error = 0;

	for (size_t i = 0; i < sizeof(extras) / sizeof(extras[0]) && !error; i++) {
		struct perf_event_attr attr;

		if (!extras[i].is_wanted)
			continue;
		attr = extra_attr(plan, extras[i].type, extras[i].config);
		error = open_event(p, &attr, tid, processor, &p->rings[processor], 0);
		if (error)
			break;
		p->sources[p->source_count - 1].is_extra = true;
		error = identify(p, extras[i].event);
	}
	return error;
}

static int open_thread(struct ptrc_perf *p, const struct ptrc_perf_plan *plan, pid_t tid)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = plan->ring_bytes;
	struct perf_event_attr attr = attr_of(p, plan, bytes), exec = exec_attr();
	size_t opened = 0;

	for (size_t i = 0; i < p->ring_count; i++) {
		int error = open_event(p, &attr, tid, (int)i, &p->rings[i], bytes);

		/* ENODEV: the processor is offline. It gets no perf event. */
		if (error == ENODEV)
			continue;
		error = error ?: (identifier_of(plan) ? identify(p, PTRC_PERF_EVENT_STACK) : 0);
		error = error ?: open_extras(p, plan, tid, (int)i);
		error = error ?: open_event(p, &exec, tid, (int)i, &p->exec_rings[i], page);
		if (error)
			return error;
		p->sources[p->source_count - 1].is_for_execs = true;
		opened++;
	}
	return opened ? 0 : ENODEV;
}

/* Opens perf events for each thread of the process. A thread that is started meanwhile is found here, or
 * inherits the perf events of its parent. If both happen, close_twins() closes those that were opened here. */
static int open_threads(struct ptrc_perf *p, const struct ptrc_perf_plan *plan, pid_t pid)
{
	char path[64];
	PTRC_SCOPED_DIR *dir = NULL;
	struct dirent *entry;
	size_t found = 0;
	int error = 0;

	snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
	dir = opendir(path);
	if (!dir)
		return open_thread(p, plan, pid);
	while (!error && (entry = readdir(dir))) {
		pid_t tid = (pid_t)atol(entry->d_name);

		if (tid <= 0)
			continue;
		error = open_thread(p, plan, tid);
		/* It is no error if the thread has ended meanwhile. */
		if (error == ESRCH)
			error = 0;
		else
			found++;
	}
	return error || found ? error : ESRCH;
}

static bool has_pid(const struct ptrc_perf *p, pid_t pid)
{
	for (size_t i = 0; i < p->pid_count; i++)
		if (p->pids[i] == pid)
			return true;
	return false;
}

/* Whether a process executes the same program as the caller. If so, it is the caller, or a process that the caller
 * has started for the tracing, and is not traced. */
static bool is_our_program(pid_t pid)
{
	char program[PATH_MAX], ours[PATH_MAX];
	size_t bytes = ptrc_procfs_link(pid, "exe", program, sizeof(program));

	return bytes && ptrc_procfs_link(0, "exe", ours, sizeof(ours)) == bytes &&
	       !memcmp(program, ours, bytes);
}

/* Opens perf events for the children of the processes in p->pids, and adds the children there. Returns 0 or an
 * error number. */
static int open_children(struct ptrc_perf *p, const struct ptrc_perf_plan *plan)
{
	PTRC_SCOPED_DIR *dir = opendir("/proc");
	struct ptrc_procfs_stat st;
	struct dirent *entry;
	int error = 0;

	while (dir && !error && (entry = readdir(dir))) {
		pid_t pid = (pid_t)atol(entry->d_name);

		if (pid <= 0 || has_pid(p, pid) || ptrc_procfs_stat(pid, &st) ||
		    !has_pid(p, st.ppid) || is_our_program(pid))
			continue;
		*ptrc_append(p->pids, p->pid_count) = pid;
		error = open_threads(p, plan, pid);
		/* It is no error if the child has ended, or has executed a set-user-ID program. */
		if (error == ESRCH || error == EACCES || error == EPERM)
			error = 0;
	}
	return error;
}

/* Opens perf events for the process and, if plan->has_descendants, for its descendants. A child that starts after
 * /proc was read the last time inherits the perf events of its parent. */
static int open_tree(struct ptrc_perf *p, const struct ptrc_perf_plan *plan, pid_t pid)
{
	int error = open_threads(p, plan, pid);
	size_t before = 0;

	*ptrc_append(p->pids, p->pid_count) = pid;
	while (!error && plan->has_descendants && before != p->pid_count) {
		before = p->pid_count;
		error = open_children(p, plan);
	}
	return error;
}

long ptrc_perf_setting(const char *name)
{
	PTRC_SCOPED_FILE *f = NULL;
	char path[64];
	long value;

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	f = fopen(path, "re");
	return f && fscanf(f, "%ld", &value) == 1 ? value : -1;
}

/* Returns the size in bytes that a ring is to have. If the kernel does not allow it, the ring gets smaller. */
static size_t useful_ring(const struct ptrc_perf_plan *plan)
{
	uint64_t sample = PTRC_PERF_COPY_BYTES + SAMPLE_BYTES;
	size_t bytes = plan->calls || plan->has_faults ? OFTEN_RING_BYTES : RING_BYTES;

	while (plan->registers && plan->frequency && bytes < COPIES_RING_BYTES &&
	       bytes < plan->frequency * sample * RING_MS / 1000)
		bytes *= 2;
	return bytes;
}

/* Chooses how many bytes of a stack are copied, so that a ring has room for the samples of RING_MS_MIN
 * milliseconds. If COPY_BYTES_MIN is still too much, lowers the frequency. */
static void plan_copies(struct ptrc_perf *p, size_t ring_bytes)
{
	uint64_t room = (uint64_t)ring_bytes * 1000 / RING_MS_MIN / p->frequency;
	uint64_t most;

	p->copy_bytes = PTRC_PERF_COPY_BYTES;
	while (p->copy_bytes > COPY_BYTES_MIN && p->copy_bytes + SAMPLE_BYTES > room)
		p->copy_bytes /= 2;
	most = (uint64_t)ring_bytes * 1000 / RING_MS_MIN / (p->copy_bytes + SAMPLE_BYTES);
	p->has_small_rings = most < p->frequency;
	if (p->has_small_rings)
		p->frequency = most ? (unsigned int)most : 1;
}

/* Limits the frequency and the stacks to what the kernel allows. If the frequency were higher, the kernel
 * would throttle the samples. */
static void plan_samples(struct ptrc_perf *p, const struct ptrc_perf_plan *plan)
{
	long stack = ptrc_perf_setting("kernel/perf_event_max_stack");
	long rate = ptrc_perf_setting("kernel/perf_event_max_sample_rate");

	p->stack_max = stack > 0 && stack < (long)PTRC_PERF_STACK_MAX ? (unsigned int)stack
								      : PTRC_PERF_STACK_MAX;
	p->frequency = plan->frequency;
	if (rate > 0 && (unsigned long)rate < p->frequency)
		p->frequency = (unsigned int)rate;
	p->registers = plan->registers;
	if (p->registers && p->frequency)
		plan_copies(p, plan->ring_bytes);
}

static void close_twins(struct ptrc_perf *);

/* Opens rings of the planned size, or smaller ones if the kernel does not allow as much memory. */
static struct ptrc_perf *open_rings(const struct ptrc_perf_plan *plan, pid_t pid, int *error)
{
	struct ptrc_perf *p = ptrc_cli_allocate(sizeof(*p));
	long processors = sysconf(_SC_NPROCESSORS_CONF);

	p->ring_count = processors > 0 ? (size_t)processors : 1;
	p->rings = ptrc_cli_allocate(p->ring_count * sizeof(*p->rings));
	p->exec_rings = ptrc_cli_allocate(p->ring_count * sizeof(*p->exec_rings));
	plan_samples(p, plan);
	p->has_calls = plan->calls != NULL;
	p->records = ptrc_perf_records_new(p->copy_bytes ? p->registers : 0);
	p->execs = ptrc_perf_records_new(0);
	*error = open_tree(p, plan, pid);
	if (!*error)
		return p;
	ptrc_perf_close(p);
	return NULL;
}

struct ptrc_perf *ptrc_perf_open(const struct ptrc_perf_plan *plan, pid_t pid, int *error)
{
	struct ptrc_perf_plan at_most = *plan;
	struct ptrc_perf *p;

	if (!at_most.ring_bytes)
		at_most.ring_bytes = useful_ring(plan);
	p = open_rings(&at_most, pid, error);
	/* If samples have copies of stacks, each processor needs a ring of the planned size. If a
	 * ring is smaller, opens all rings again with half the size, and with fewer or smaller samples. */
	while (p && p->copy_bytes && ptrc_perf_ring_bytes(p) < at_most.ring_bytes) {
		ptrc_perf_close(p);
		/* Halves the planned size, however small the smallest ring is: that ring got only the memory that
		 * the other rings had left. */
		at_most.ring_bytes /= 2;
		p = open_rings(&at_most, pid, error);
	}
	if (p)
		close_twins(p);
	return p;
}

size_t ptrc_perf_ring_bytes(const struct ptrc_perf *p)
{
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < p->ring_count; i++)
		if (p->rings[i].page && p->rings[i].size < least)
			least = p->rings[i].size;
	return least;
}

void ptrc_perf_close(struct ptrc_perf *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->ring_count; i++) {
		unmap_ring(&p->rings[i]);
		unmap_ring(&p->exec_rings[i]);
	}
	for (size_t i = 0; i < p->source_count; i++)
		close(p->sources[i].fd);
	ptrc_perf_records_free(p->records);
	ptrc_perf_records_free(p->execs);
	free(p->rings);
	free(p->exec_rings);
	free(p->sources);
	free(p->pids);
	free(p);
}

/* ---- polling ---- */

void ptrc_perf_poll(struct ptrc_perf *p, struct pollfd *to)
{
	for (size_t i = 0; i < p->source_count; i++)
		to[i] = (struct pollfd){.fd = p->sources[i].has_hung_up || p->sources[i].is_extra
						      ? -1
						      : p->sources[i].fd,
					.events = POLLIN};
}

bool ptrc_perf_polled(struct ptrc_perf *p, const struct pollfd *from)
{
	bool is_filling = false;

	for (size_t i = 0; i < p->source_count; i++) {
		is_filling |= from[i].revents && !p->sources[i].is_for_execs;
		/* If the threads of a perf event have ended, its descriptor is not polled again, because poll()
		 * would return at once each time. */
		if (from[i].revents & (POLLHUP | POLLERR))
			p->sources[i].has_hung_up = true;
	}
	return is_filling;
}

/* ---- taking records out of the rings ---- */

const struct ptrc_perf_record *ptrc_perf_take_execs(struct ptrc_perf *p, size_t *count)
{
	ptrc_perf_records_begin(p->execs);
	for (size_t i = 0; i < p->ring_count; i++)
		if (p->exec_rings[i].page)
			ptrc_perf_records_take(p->execs, &p->exec_rings[i]);
	return ptrc_perf_records_until(p->execs, INT64_MAX, count);
}

/* Returns how many records of a ring the kernel has lost so far; 0 if that is unknown. */
static uint64_t lost_of(const struct ptrc_perf *p, size_t processor)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->source_count; i++) {
		const struct ptrc_perf_source *s = &p->sources[i];
		/* The value of the perf event's counter, and the number of its lost records. */
		uint64_t values[2];

		if (s->processor == processor && s->counts_lost &&
		    read(s->fd, values, sizeof(values)) == (ssize_t)sizeof(values))
			sum += values[1];
	}
	return sum;
}

const struct ptrc_perf_record *ptrc_perf_take(struct ptrc_perf *p, int64_t until_ns, size_t *count)
{
	ptrc_perf_records_begin(p->records);
	for (size_t i = 0; i < p->ring_count; i++) {
		struct ptrc_perf_ring *r = &p->rings[i];

		/* The kernel loses records only while a ring is nearly full, and only this function empties the
		 * ring. So lost_of(), which takes time, is called only if the ring was at least half full. */
		if (r->page && ptrc_perf_records_take(p->records, r) >= r->size / 2)
			ptrc_perf_records_lost(p->records, r, lost_of(p, i));
	}
	return ptrc_perf_records_until(p->records, until_ns, count);
}

/* A thread that was started after perf events were opened for its parent has inherited them. Closes the perf
 * events that open_threads() has opened for such a thread itself, because they would double its records. */
static void close_twins(struct ptrc_perf *p)
{
	size_t count, kept = 0;

	ptrc_perf_take(p, INT64_MIN, &count);
	for (size_t i = 0; i < p->source_count; i++)
		if (ptrc_perf_records_has_fork(p->records, p->sources[i].tid))
			close(p->sources[i].fd);
		else
			p->sources[kept++] = p->sources[i];
	p->source_count = kept;
}
