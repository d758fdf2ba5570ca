/* SPDX-License-Identifier: MIT */
#include "lib/log/log_process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/base/atomic.h"
#include "lib/base/build_id.h"
#include "lib/base/crc32c.h"
#include "lib/base/digits.h"
#include "lib/base/file.h"
#include "lib/base/procfs.h"
#include "lib/base/sys.h"
#include "lib/log/log_aside.h"
#include "lib/stream/clock.h"
#include "lib/stream/status.h"

/* A known process is looked at again no sooner. Each change doubles the time, so that one that
 * changes all the time does not fill the log. */
#define LOOK_NS INT64_C(1000000000)
#define LOOK_DOUBLINGS 12U
/* Of the table of processes. */
#define KNOWN_SIZE 8192U
/* Payloads that wait for a flush. */
#define PENDING_MAX (UINT64_C(4) << 20)
/* How much of a list of mappings is looked at. */
#define MAPS_MAX (UINT64_C(1) << 20)
/* Of each mapping: two addresses, access, offset, device, inode, and the path. */
#define MAPS_LINE_MAX 4352U

enum { PROC_UNKNOWN, PROC_OURS, PROC_OTHER };

/* A process that the log tells of. */
struct known {
	int32_t pid;  /* 0: the entry is free */
	uint32_t crc; /* of what was written of it, but for the time */
	uint32_t changes;
	uint32_t is_gone;
	uint64_t start_ticks, memory_bytes;
	uint64_t exe_dev, exe_ino;
	uint64_t thread; /* of its first thread, which is another one after an exec */
	int64_t next_look_ns;
	int64_t gone_ns; /* since when, as the log has it, if it was gone when it was looked at */
	/* Since when it executes its program, if an observer has said so, else 0; a checksum of the
	 * program's name and path; and whether the log has what /proc says of it. */
	int64_t program_ns;
	uint32_t program;
	uint32_t is_seen;
	char comm[64];
};

/* Memory for looking at a process. */
struct work {
	uint8_t build_id[PTRC_LOG_BUILD_ID_MAX];
	char exe[4096];
	char line[PTRC_LOG_LINE_MAX + 1];
	char maps[4 * MAPS_LINE_MAX];
	char path[32 + MAPS_LINE_MAX];
	uint8_t mapping_id[PTRC_LOG_BUILD_ID_MAX];
};

void ptrc_log_processes_begin(struct ptrc_log_writer *w)
{
	ptrc_log_table_clear(&w->processes.known);
}

void ptrc_log_processes_free(struct ptrc_log_processes *p)
{
	ptrc_log_buffer_free(&p->known.items);
	ptrc_log_buffer_free(&p->pending);
	ptrc_log_buffer_free(&p->work);
	memset(p, 0, sizeof(*p));
}

bool ptrc_log_processes_has_proc(struct ptrc_log_writer *w)
{
	struct ptrc_log_processes *p = &w->processes;
	struct ptrc_procfs_stat st;

	if (p->proc == PROC_UNKNOWN)
		p->proc = ptrc_procfs_stat(0, &st) == 0 && st.pid == ptrc_sys_getpid() ? PROC_OURS
										       : PROC_OTHER;
	return p->proc == PROC_OURS;
}

/* The entry of this process, and memory for looking at it. NULL: there is none. */
static struct known *find(struct ptrc_log_writer *w, int pid)
{
	if (ptrc_log_buffer_reserve(&w->processes.work, sizeof(struct work)))
		return NULL;
	return ptrc_log_table_find(&w->processes.known, pid, sizeof(struct known), KNOWN_SIZE);
}

int64_t ptrc_log_realtime_now(const struct ptrc_log_writer *w)
{
	return (int64_t)((uint64_t)ptrc_clock_ns(CLOCK_MONOTONIC) +
			 (uint64_t)w->origin->realtime_offset);
}

static int64_t start_of(const struct ptrc_log_writer *w, uint64_t ticks)
{
	uint64_t age = (uint64_t)ptrc_clock_ns(CLOCK_BOOTTIME) - ticks * PTRC_PROCFS_TICK_NS;

	return (int64_t)((uint64_t)ptrc_log_realtime_now(w) - age);
}

/* ---- mappings ---- */

/* The build id of the file that is mapped. It is the file at this path, as the process sees it, only
 * if it has the inode of the mapping: another one may be there by now. */
static size_t mapping_id(struct work *k, int pid, const char *path, size_t path_bytes, uint64_t ino)
{
	char *to = k->path;
	struct stat st;
	size_t bytes = 0;
	int place, fd;

	if (path_bytes == 0 || path[0] != '/')
		return 0;
	memcpy(to, "/proc/", 6);
	to = ptrc_digits_put(to + 6, (unsigned int)pid);
	memcpy(to, "/root", 5);
	memcpy(to + 5, path, path_bytes);
	to[5 + path_bytes] = '\0';
	/* To open a device or a pipe may have effects, so it is looked at first. */
	if (ptrc_file_open(AT_FDCWD, k->path, O_PATH | O_NOFOLLOW, 0, &place))
		return 0;
	if (ptrc_file_stat(place, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == ino &&
	    ptrc_file_reopen(place, O_RDONLY | O_NONBLOCK | O_NOCTTY, &fd) == 0) {
		bytes = ptrc_build_id_read(fd, k->mapping_id, sizeof(k->mapping_id));
		ptrc_file_close(fd);
	}
	ptrc_file_close(place);
	return bytes;
}

/* Moves *at behind the next blank. */
static void skip_word(const char **at, const char *end)
{
	while (*at < end && **at != ' ')
		++*at;
	while (*at < end && **at == ' ')
		++*at;
}

/* Adds the mapping of a line to the payload, which begins at `start`, if it is an executable one. */
static void add_mapping(struct ptrc_log_writer *w, const struct known *p, uint64_t start,
			struct ptrc_log_process *head, const char *at, const char *end)
{
	struct ptrc_log_buffer *out = &w->processes.pending;
	struct work *k = (void *)w->processes.work.bytes;
	struct ptrc_log_mapping m = {.zero = 0};
	const uint8_t *id = k->mapping_id;
	const char *access;
	uint64_t ino;
	size_t bytes;

	m.start = ptrc_digits_take_hex(&at, end);
	at += at < end;
	m.end = ptrc_digits_take_hex(&at, end);
	skip_word(&at, end);
	access = at;
	skip_word(&at, end);
	if (end - access < 4 || access[2] != 'x')
		return;
	m.offset = ptrc_digits_take_hex(&at, end);
	skip_word(&at, end);
	skip_word(&at, end); /* the device */
	ino = at < end ? ptrc_digits_take(&at) : 0;
	bytes = at < end ? (size_t)(end - at) : 0;
	if (bytes > UINT16_MAX ||
	    out->used - start + sizeof(m) + bytes + PTRC_LOG_BUILD_ID_MAX > PTRC_LOG_PROCESS_MAX ||
	    head->mapping_count == PTRC_LOG_MAPPINGS_MAX) {
		head->flags |= PTRC_LOG_PROCESS_MAPPINGS_CUT;
		return;
	}
	m.path_bytes = (uint16_t)bytes;
	if (ino && ino == p->exe_ino) {
		/* The file may have another path by now, or none. */
		id = k->build_id;
		m.build_id_bytes = head->build_id_bytes;
	} else {
		m.build_id_bytes = (uint16_t)mapping_id(k, p->pid, at, bytes, ino);
	}
	ptrc_log_buffer_add(out, &m, sizeof(m));
	ptrc_log_buffer_add(out, id, m.build_id_bytes);
	ptrc_log_buffer_add(out, at, bytes);
	ptrc_log_buffer_pad(out);
	head->mapping_count++;
}

/* Adds the executable mappings to the payload. The list is read in pieces, of whole lines each. */
static void add_mappings(struct ptrc_log_writer *w, const struct known *p, uint64_t start,
			 struct ptrc_log_process *head)
{
	struct work *k = (void *)w->processes.work.bytes;
	uint64_t all = 0;
	size_t used = 0;
	bool is_rest = false; /* of a line that was too long */
	int fd;

	if (ptrc_procfs_open(p->pid, "maps", 0, &fd))
		return;
	for (;;) {
		long got = ptrc_sys(SYS_read, fd, k->maps + used, sizeof(k->maps) - used);
		size_t from = 0;

		if (got <= 0)
			break;
		head->flags |= PTRC_LOG_PROCESS_MAPPED;
		all += (uint64_t)got;
		used += (size_t)got;
		for (size_t i = used - (size_t)got; i < used; i++) {
			if (k->maps[i] != '\n')
				continue;
			if (!is_rest)
				add_mapping(w, p, start, head, k->maps + from, k->maps + i);
			is_rest = false;
			from = i + 1;
		}
		used -= from;
		memmove(k->maps, k->maps + from, used);
		if (used == sizeof(k->maps)) {
			used = 0;
			is_rest = true;
		}
		if (all > MAPS_MAX) {
			head->flags |= PTRC_LOG_PROCESS_MAPPINGS_CUT;
			break;
		}
	}
	ptrc_file_close(fd);
}

/* ---- a process ---- */

/* Adds to the payload what only its owner may see. */
static void add_private(struct ptrc_log_writer *w, const struct known *p, uint64_t start,
			struct ptrc_log_process *head)
{
	struct ptrc_log_buffer *out = &w->processes.pending;
	struct work *k = (void *)w->processes.work.bytes;
	struct stat st;
	uint32_t owner;
	int fd;

	/* The number came through memory that others can write. A keeper that may look at each process
	 * looks only at those of the user who is traced. */
	if (ptrc_procfs_owner(p->pid, &owner) || owner != w->origin->owner_uid)
		return;
	head->exe_bytes = (uint16_t)ptrc_procfs_link(p->pid, "exe", k->exe, sizeof(k->exe));
	if (p->exe_ino && ptrc_procfs_open(p->pid, "exe", O_NONBLOCK | O_NOCTTY, &fd) == 0) {
		if (ptrc_file_stat(fd, &st) == 0 && S_ISREG(st.st_mode))
			head->build_id_bytes =
				(uint16_t)ptrc_build_id_read(fd, k->build_id, sizeof(k->build_id));
		ptrc_file_close(fd);
	}
	ptrc_log_buffer_add(out, k->exe, head->exe_bytes);
	ptrc_log_buffer_add(out, k->build_id, head->build_id_bytes);
	if (!ptrc_load_relaxed(&w->origin->hides_command_lines)) {
		size_t bytes = ptrc_procfs_read(p->pid, "cmdline", k->line, sizeof(k->line));

		head->flags |= PTRC_LOG_PROCESS_LINE;
		if (bytes > PTRC_LOG_LINE_MAX) {
			bytes = PTRC_LOG_LINE_MAX;
			head->flags |= PTRC_LOG_PROCESS_LINE_CUT;
		}
		head->line_bytes = (uint32_t)bytes;
		ptrc_log_buffer_add(out, k->line, bytes);
	}
	ptrc_log_buffer_pad(out);
	add_mappings(w, p, start, head);
}

/* Adds a payload to those that wait, behind its length. False: there is no memory, or nothing new. */
static bool describe(struct ptrc_log_writer *w, struct known *p, const struct ptrc_procfs_stat *st,
		     int64_t from_ns)
{
	struct ptrc_log_buffer *out = &w->processes.pending;
	struct ptrc_log_process head = {.from_ns = from_ns, .pid = p->pid};
	uint64_t begin = out->used, start = begin + sizeof(uint64_t), bytes = 0;
	uint32_t crc;

	ptrc_log_buffer_add(out, &bytes, sizeof(bytes));
	ptrc_log_buffer_add(out, &head, sizeof(head));
	if (st) {
		head.flags |= PTRC_LOG_PROCESS_KNOWN;
		head.parent_pid = st->ppid;
		head.start_ns = start_of(w, st->start_ticks);
		while (head.comm_bytes < sizeof(st->comm) && st->comm[head.comm_bytes])
			head.comm_bytes++;
		ptrc_log_buffer_add(out, st->comm, head.comm_bytes);
		if (ptrc_procfs_user(p->pid, &head.user) == 0)
			head.flags |= PTRC_LOG_PROCESS_USER;
	}
	if (p->is_gone)
		head.flags |= PTRC_LOG_PROCESS_GONE;
	else
		add_private(w, p, start, &head);
	ptrc_log_buffer_pad(out);
	if (out->is_short || out->used > PENDING_MAX) {
		out->used = begin;
		out->is_short = false;
		return false;
	}
	bytes = out->used - start;
	memcpy(out->bytes + begin, &bytes, sizeof(bytes));
	memcpy(out->bytes + start, &head, sizeof(head));
	/* Each look computes the start anew, with another rounding. */
	head.from_ns = head.start_ns = 0;
	crc = ptrc_crc32c(0, &head, sizeof(head));
	crc = ptrc_crc32c(crc, out->bytes + start + sizeof(head), bytes - sizeof(head));
	if (st)
		crc = ptrc_crc32c(crc, &st->start_ticks, sizeof(st->start_ticks));
	if (p->changes && p->crc == crc) {
		out->used = begin;
		return false;
	}
	p->crc = crc;
	return true;
}

static uint32_t program_of(const char *comm, const void *exe, size_t exe_bytes)
{
	size_t bytes = 0;

	while (comm[bytes])
		bytes++;
	return ptrc_crc32c(ptrc_crc32c(0, comm, bytes + 1), exe, exe_bytes);
}

/* Looks at a process and, if it is not known or has changed, adds a payload to those that wait. */
static void look(struct ptrc_log_writer *w, struct known *p, bool is_urgent, int64_t from_ns)
{
	struct work *k = (void *)w->processes.work.bytes;
	uint64_t dev = 0, ino = 0;
	uint32_t program = 0;
	struct ptrc_procfs_stat st;
	bool has_stat;

	has_stat = ptrc_procfs_stat(p->pid, &st) == 0;
	if (has_stat) {
		(void)ptrc_procfs_inode(p->pid, "exe", &dev, &ino);
		program = program_of(st.comm, k->exe,
				     ptrc_procfs_link(p->pid, "exe", k->exe, sizeof(k->exe)));
	}
	/* The events are those of the program that the observer has named; what the process executes by
	 * now, the observer names later. */
	if (p->program_ns && !is_urgent && program != p->program)
		return;
	if (p->program_ns && !p->is_seen && program == p->program)
		from_ns = p->program_ns;
	/* A process of which only its first thread has ended still has memory. */
	p->is_gone = !has_stat || (st.has_ended && st.memory_bytes == 0);
	if (p->is_gone && p->changes && (!has_stat || st.start_ticks == p->start_ticks))
		return; /* what was written of it while it lived says more */
	if (has_stat && p->changes && st.start_ticks == p->start_ticks && dev == p->exe_dev &&
	    ino == p->exe_ino && st.memory_bytes == p->memory_bytes &&
	    memcmp(st.comm, p->comm, sizeof(st.comm)) == 0)
		return;
	p->exe_dev = dev;
	p->exe_ino = ino;
	if (has_stat) {
		p->start_ticks = st.start_ticks;
		p->memory_bytes = st.memory_bytes;
		memcpy(p->comm, st.comm, sizeof(p->comm));
	}
	p->changes += describe(w, p, has_stat ? &st : NULL, from_ns);
	p->program = program;
	p->is_seen = !p->is_gone;
	if (p->is_gone)
		p->gone_ns = from_ns;
}

/* is_urgent: it may have executed another program. */
static void meet(struct ptrc_log_writer *w, int pid, bool is_urgent, int64_t from_ns)
{
	int64_t now = ptrc_clock_ns(CLOCK_MONOTONIC);
	struct known *p;
	uint32_t doublings;

	if (pid <= 0 || !ptrc_log_processes_has_proc(w))
		return;
	p = find(w, pid);
	if (!p || (p->changes && !is_urgent && now < p->next_look_ns))
		return;
	look(w, p, is_urgent, from_ns);
	doublings = p->changes < LOOK_DOUBLINGS ? p->changes : LOOK_DOUBLINGS;
	p->next_look_ns = now + (LOOK_NS << (doublings - (doublings != 0)));
}

void ptrc_log_processes_arrive(struct ptrc_log_writer *w)
{
	struct ptrc_clock_cursor cursor = {0};

	for (uint32_t i = 0; i < PTRC_ARRIVALS; i++) {
		struct ptrc_arrival *a = &w->header->arrival[i];
		int pid = ptrc_load_acquire(&a->pid);

		if (!pid)
			continue;
		meet(w, pid, true,
		     ptrc_clock_realtime(w->header, &cursor, ptrc_load_relaxed(&a->stamp)));
		/* The process may wait for this (ptrc_attach_end). If another one has the entry by
		 * now, it has rung the bell, too. */
		atomic_compare_exchange_strong_explicit(&a->pid, &pid, 0, memory_order_release,
							memory_order_relaxed);
	}
}

/* The bytes come from shared memory: a payload that cannot be one is left out, and readers look at
 * what it says. */
void ptrc_log_processes_observed(struct ptrc_log_writer *w, const struct ptrc_stretch *stretch)
{
	struct ptrc_unpacker_shape shape;
	struct ptrc_unpacker u =
		ptrc_unpacker_begin(stretch->packed, stretch->bytes, stretch->first_ns, &shape);
	struct ptrc_log_buffer *out = &w->processes.pending;
	char comm[sizeof(((struct known *)0)->comm)] = "";
	struct ptrc_log_process head;
	struct ptrc_packed_event e;
	uint64_t begin = out->used, bytes;
	uint32_t program;
	struct known *p;

	if (!ptrc_unpacker_next(&u, &e) || e.len < sizeof(head) || e.len > PTRC_LOG_PROCESS_MAX ||
	    !w->origin || ptrc_log_is_full(w))
		return;
	w->processes.is_observed = true;
	memcpy(&head, e.data, sizeof(head));
	if (head.pid <= 0 || head.comm_bytes >= sizeof(comm) ||
	    (uint64_t)head.comm_bytes + head.exe_bytes > e.len - sizeof(head))
		return;
	memcpy(comm, (const uint8_t *)e.data + sizeof(head), head.comm_bytes);
	program = program_of(comm, (const uint8_t *)e.data + sizeof(head) + head.comm_bytes,
			     head.exe_bytes);
	p = find(w, head.pid);
	if (!p)
		return;
	p->program_ns = head.from_ns;
	/* What /proc has said of it while it lived says more. */
	if (p->is_seen && program == p->program)
		return;
	/* What was written of it when it was gone says nothing: of the same time, the later word stands. */
	if (p->changes && p->is_gone && head.from_ns < p->gone_ns)
		head.from_ns = p->gone_ns;
	bytes = ptrc_align8(e.len);
	ptrc_log_buffer_add(out, &bytes, sizeof(bytes));
	ptrc_log_buffer_add(out, &head, sizeof(head));
	ptrc_log_buffer_add(out, (const uint8_t *)e.data + sizeof(head), e.len - sizeof(head));
	ptrc_log_buffer_pad(out);
	if (out->is_short || out->used > PENDING_MAX) {
		out->used = begin;
		out->is_short = false;
		return;
	}
	p->changes++;
	p->program = program;
	p->is_seen = false;
	memcpy(p->comm, comm, sizeof(comm));
}

/* The first thread of a process has another number for pthread_self() after an exec. */
static bool is_another_image(struct ptrc_log_writer *w, const struct ptrc_context *origin)
{
	struct known *p;
	bool is_other;

	/* Who observes a thread from outside does not know that number. */
	if (origin->tid != origin->pid || !origin->thread || !w->processes.known.items.used)
		return false;
	p = find(w, origin->pid);
	if (!p)
		return false;
	is_other = p->thread && p->thread != origin->thread;
	p->thread = origin->thread;
	return is_other;
}

/* Writes what waits, until there is no room. */
static void write_pending(struct ptrc_log_writer *w)
{
	struct ptrc_log_buffer *pending = &w->processes.pending;
	uint64_t at = 0, bytes;

	while (at < pending->used) {
		memcpy(&bytes, pending->bytes + at, sizeof(bytes));
		if (!ptrc_log_aside_put(w, PTRC_LOG_PROCESS, pending->bytes + at + sizeof(bytes),
					bytes))
			break;
		at += sizeof(bytes) + bytes;
	}
	if (at)
		memmove(pending->bytes, pending->bytes + at, pending->used - at);
	pending->used -= at;
}

void ptrc_log_processes_write(struct ptrc_log_writer *w)
{
	const struct ptrc_context *origin;
	int64_t first_ns;
	int pid = 0;

	if (ptrc_log_is_full(w) || !w->origin)
		return;
	for (uint64_t i = 0; (origin = ptrc_log_batch_origin(&w->batch, i, &first_ns)); i++) {
		bool is_other = is_another_image(w, origin);

		/* The keeper looks at it behind this flush. */
		if (w->header && ptrc_is_announced(w->header, origin->pid))
			continue;
		if (origin->pid != pid || is_other)
			meet(w, origin->pid, is_other, first_ns);
		pid = origin->pid;
	}
	write_pending(w);
}

void ptrc_log_processes_meet(struct ptrc_log_writer *w)
{
	ptrc_log_processes_arrive(w);
	if (!w->processes.pending.used || ptrc_log_is_full(w))
		return;
	write_pending(w);
	ptrc_log_state_save(w);
}
