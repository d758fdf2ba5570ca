/* SPDX-License-Identifier: MIT */
#include "lib/log/log_write.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>

#include "lib/base/atomic.h"
#include "lib/base/build_id.h"
#include "lib/base/crc32c.h"
#include "lib/base/digits.h"
#include "lib/base/file.h"
#include "lib/base/procfs.h"
#include "lib/base/sys.h"
#include "lib/base/thread_life.h"
#include "lib/stream/clock.h"
#include "lib/stream/slots.h"
#include "lib/stream/status.h"

/* ---- machine and clocks ---- */

/* The pause between two CLOCK packets is at least CLOCK_PAUSE_NS. It is also at least the log's age
 * divided by CLOCK_AGE_PARTS, unless CLOCK_REALTIME has moved by more than CLOCK_STEP_NS against
 * the events' clock, or the status of adjtimex() has changed. */
#define CLOCK_PAUSE_NS INT64_C(1000000000)
#define CLOCK_AGE_PARTS 64
#define CLOCK_STEP_NS INT64_C(1000000)

/* The payload of a HOST packet. */
struct payload {
	struct ptrc_log_host host;
	char texts[8 * 128];
};

static void add(struct payload *p, uint32_t *used, uint32_t which, const char *text, uint32_t most)
{
	uint32_t bytes = (uint32_t)strnlen(text, most);

	if (bytes > sizeof(p->texts) - *used)
		return;
	memcpy(p->texts + *used, text, bytes);
	p->host.bytes[which] = (uint16_t)bytes;
	*used += bytes;
}

/* Adds the first line of a file to the payload, as text number `which`. */
static void add_line(struct payload *p, uint32_t *used, uint32_t which, const char *path)
{
	char text[128];
	uint32_t bytes = 0;
	size_t got;
	PTRC_FD(fd);

	if (ptrc_file_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd))
		return;
	if (ptrc_file_read(fd, text, sizeof(text), 0, &got))
		got = 0;
	while (bytes < got && text[bytes] != '\n')
		bytes++;
	add(p, used, which, text, bytes);
}

static void write_host(struct ptrc_log_writer *w)
{
	const struct ptrc_stream_header *h = w->origin;
	struct payload p = {.texts = ""};
	struct utsname name = {.sysname = ""};
	uint32_t used = 0;

	if (!h)
		return;
	p.host.utc_offset = h->utc_offset;
	p.host.flags = h->has_utc_offset ? PTRC_LOG_HOST_OFFSET_KNOWN : 0;
	ptrc_sys(SYS_uname, &name);
	add(&p, &used, PTRC_LOG_HOST_NAME, name.nodename, sizeof(name.nodename));
	add_line(&p, &used, PTRC_LOG_HOST_MACHINE_ID, "/etc/machine-id");
	add_line(&p, &used, PTRC_LOG_HOST_BOOT_ID, "/proc/sys/kernel/random/boot_id");
	add(&p, &used, PTRC_LOG_HOST_SYSTEM, name.sysname, sizeof(name.sysname));
	add(&p, &used, PTRC_LOG_HOST_RELEASE, name.release, sizeof(name.release));
	add(&p, &used, PTRC_LOG_HOST_VERSION, name.version, sizeof(name.version));
	add(&p, &used, PTRC_LOG_HOST_MACHINE, name.machine, sizeof(name.machine));
	add(&p, &used, PTRC_LOG_HOST_TIME_ZONE, h->time_zone, sizeof(h->time_zone));
	ptrc_log_aside_put(w, PTRC_LOG_HOST, &p, sizeof(p.host) + used);
}

static int64_t difference(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static void read_clocks(const struct ptrc_stream_header *h, struct ptrc_log_clock *c)
{
	struct ptrc_clock_cursor cursor = {0};
	struct timex t = {.modes = 0};
	int64_t offset = ptrc_procfs_clock_offset("boottime");

	c->monotonic_ns = ptrc_clock_ns(CLOCK_MONOTONIC);
	c->realtime_ns = ptrc_clock_ns(CLOCK_REALTIME);
	c->boottime_ns = difference(ptrc_clock_ns(CLOCK_BOOTTIME), offset);
	c->counter = ptrc_counter();
	c->event_ns = ptrc_clock_realtime(h, &cursor, ptrc_stream_now(h));
	c->window_ns = difference(ptrc_clock_ns(CLOCK_MONOTONIC), c->monotonic_ns);
	c->state = (int32_t)ptrc_sys(SYS_adjtimex, &t);
	c->status = c->state < 0 ? -1 : t.status;
	if (c->state >= 0) {
		c->max_error_ns = t.maxerror * 1000;
		c->estimated_error_ns = t.esterror * 1000;
	}
}

/* Whether a CLOCK packet is to be written: the last one is wrong by now, because a clock was set or
 * its status has changed, or it is older than a 64th of the log's age. */
static bool is_due(const struct ptrc_log_clocks *x, const struct ptrc_log_clock *c)
{
	int64_t step = difference(difference(c->realtime_ns, c->event_ns), x->ahead_ns);

	return c->status != x->status || step > CLOCK_STEP_NS || step < -CLOCK_STEP_NS ||
	       difference(c->monotonic_ns, x->last_ns) >
		       difference(c->monotonic_ns, x->first_ns) / CLOCK_AGE_PARTS;
}

void ptrc_log_origin_clock(struct ptrc_log_writer *w, bool if_due)
{
	struct ptrc_log_clocks *x = &w->origins.clocks;
	struct ptrc_log_clock c = {.event_ns = 0};

	if_due &= x->last_ns != 0;
	if (!w->origin ||
	    (if_due && difference(ptrc_clock_ns(CLOCK_MONOTONIC), x->last_ns) < CLOCK_PAUSE_NS))
		return;
	read_clocks(w->origin, &c);
	if (if_due && !is_due(x, &c))
		return;
	if (!ptrc_log_aside_put(w, PTRC_LOG_CLOCK, &c, sizeof(c)))
		return;
	if (!x->first_ns)
		x->first_ns = c.monotonic_ns;
	x->last_ns = c.monotonic_ns;
	x->ahead_ns = difference(c.realtime_ns, c.event_ns);
	x->status = c.status;
}

/* ---- tables of processes and threads ---- */

static void table_clear(struct ptrc_log_table *t)
{
	if (t->items.used)
		memset(t->items.bytes, 0, t->items.used);
	t->count = 0;
}

/* Returns the item with the ID `number` in a table of `size` items of `bytes` bytes. If the table
 * has no such item, makes one, which is all zero except for its ID. A table that is three quarters
 * full is emptied first. NULL: no memory. */
static void *table_find(struct ptrc_log_table *t, int32_t number, uint64_t bytes, uint32_t size)
{
	/* All items are free at first: ptrc_log_buffer_reserve() gets zeroed memory. */
	if (!t->items.used && ptrc_log_buffer_reserve(&t->items, size * bytes))
		return NULL;
	t->items.used = size * bytes;
	if (t->count >= size / 4 * 3)
		table_clear(t);
	for (uint32_t i = (uint32_t)number % size;; i = (i + 1) % size) {
		int32_t *item = (int32_t *)(void *)(t->items.bytes + i * bytes);

		if (*item && *item != number)
			continue;
		t->count += !*item;
		*item = number;
		return item;
	}
}

/* ---- processes ---- */

/* The keeper looks at a known process or thread again after LOOK_NS at the earliest. Each look that
 * finds a change, or finds that the thread has ended, doubles that pause, LOOK_DOUBLINGS times at
 * most, so that frequent changes do not fill the log. */
#define LOOK_NS INT64_C(1000000000)
#define LOOK_DOUBLINGS 12U
/* The number of items in the table of processes. */
#define PROCESSES_KNOWN 8192U
/* Limit in bytes for the descriptions that wait for a flush. */
#define PROCESSES_PENDING (UINT64_C(4) << 20)
/* Limit for the bytes read of /proc/PID/maps. */
#define MAPS_MAX (UINT64_C(1) << 20)
/* The longest line of /proc/PID/maps: two addresses, access, offset, device, inode, and a path. */
#define MAPS_LINE_MAX 4352U

enum { PROC_UNKNOWN, PROC_OURS, PROC_OTHER };

/* A process that the log describes. */
struct known {
	int32_t pid;	  /* 0: the entry is free */
	uint32_t crc;	  /* checksum of its last description, without the times */
	uint32_t changes; /* number of descriptions made so far */
	uint32_t is_gone; /* the last description says that the process has ended */
	uint64_t start_ticks, memory_bytes;
	uint64_t exe_dev, exe_ino;
	/* The pthread_self() of its first thread, which changes with an exec; 0: unknown. */
	uint64_t thread;
	int64_t next_look_ns;
	int64_t gone_ns; /* if is_gone: from_ns of the packet that says so */
	/* program_ns: when the process began to execute its program, as reported by the controller;
	 * 0: not reported. observed_ns: the same time as the kernel gave it. `program`: a checksum
	 * of that program's name and path. is_seen: the log has a description of that program from
	 * /proc. */
	int64_t program_ns, observed_ns;
	uint32_t program;
	uint32_t is_seen;
	uint32_t image; /* ptrc_image_of() of the program at the last look; 0: unknown */
	char comm[64];
};

/* Scratch space for looking at a process. */
struct work {
	uint8_t build_id[PTRC_LOG_BUILD_ID_MAX];
	char exe[4096];
	char line[PTRC_LOG_LINE_MAX + 1];
	char maps[4 * MAPS_LINE_MAX];
	char path[32 + MAPS_LINE_MAX];
	uint8_t mapping_id[PTRC_LOG_BUILD_ID_MAX];
};

/* Whether /proc shows the processes of the stream's pid namespace, with start times by its clocks.
 * It does not if it belongs to another namespace than this process, or if this process finishes the
 * log of a stream of other namespaces, for example of a container. */
static bool has_proc(struct ptrc_log_writer *w)
{
	uint32_t *proc = &w->origins.proc;
	struct ptrc_procfs_stat st;
	uint64_t ns;

	if (*proc == PROC_UNKNOWN)
		*proc = ptrc_procfs_stat(0, &st) == 0 && st.pid == ptrc_sys_getpid() &&
					ptrc_procfs_pid_namespace(0, &ns) == 0 &&
					ns == w->origin->pid_namespace &&
					ptrc_procfs_time_namespace() == w->origin->time_namespace
				? PROC_OURS
				: PROC_OTHER;
	return *proc == PROC_OURS;
}

/* Returns the entry of a process in the table; also allocates w->origins.work, the scratch space.
 * NULL: no memory. */
static struct known *find(struct ptrc_log_writer *w, int pid)
{
	if (ptrc_log_buffer_reserve(&w->origins.work, sizeof(struct work)))
		return NULL;
	return table_find(&w->origins.processes, pid, sizeof(struct known), PROCESSES_KNOWN);
}

/* The current time, by the events' clock. */
static int64_t realtime_now(const struct ptrc_log_writer *w)
{
	return (int64_t)((uint64_t)ptrc_clock_ns(CLOCK_MONOTONIC) +
			 (uint64_t)w->origin->realtime_offset);
}

/* Converts a time of CLOCK_BOOTTIME into the time of the events' clock. */
static int64_t time_of(const struct ptrc_log_writer *w, uint64_t boottime_ns)
{
	/* This clock is read first: a pause between the two reads makes the result too early, but
	 * never too late, which is_later_process() relies on. */
	uint64_t now = (uint64_t)realtime_now(w);

	return (int64_t)(now - ((uint64_t)ptrc_clock_ns(CLOCK_BOOTTIME) - boottime_ns));
}

/* ---- mappings ---- */

/* Reads the build ID of a mapped file into k->mapping_id. Returns its size in bytes; 0: unknown.
 * The path is resolved from the root directory of the process. Another file may have that path by
 * now, so the inode number is compared with that of the mapping. */
static size_t mapping_id(struct work *k, int pid, const char *path, size_t path_bytes, uint64_t ino)
{
	char *to = k->path;
	struct stat st;
	PTRC_FD(place);
	PTRC_FD(fd);

	if (path_bytes == 0 || path[0] != '/')
		return 0;
	memcpy(to, "/proc/", 6);
	to = ptrc_digits_put(to + 6, (unsigned int)pid);
	memcpy(to, "/root", 5);
	memcpy(to + 5, path, path_bytes);
	to[5 + path_bytes] = '\0';
	/* Opening a device or a pipe may have effects, so the type of the file is checked first. */
	if (ptrc_file_open(AT_FDCWD, k->path, O_PATH | O_NOFOLLOW, 0, &place) ||
	    ptrc_file_stat(place, &st) || !S_ISREG(st.st_mode) || st.st_ino != ino ||
	    ptrc_file_reopen(place, O_RDONLY | O_NONBLOCK | O_NOCTTY, &fd))
		return 0;
	return ptrc_build_id_read(fd, k->mapping_id, sizeof(k->mapping_id));
}

/* The payload of a PROCESS packet to which mappings are added. */
struct maps {
	struct ptrc_log_writer *w;
	const struct known *p;
	uint64_t start; /* offset of the payload */
	struct ptrc_log_process *head;
	uint64_t all; /* bytes of the lines read so far */
};

/* Adds to the payload the mapping in a line of /proc/PID/maps, if it is executable. Returns true if
 * no more lines are to be read. */
static bool add_mapping(const char *at, void *arg)
{
	struct maps *maps = arg;
	struct ptrc_log_process *head = maps->head;
	struct ptrc_log_buffer *out = &maps->w->origins.pending_processes;
	struct work *k = (void *)maps->w->origins.work.bytes;
	const char *end = at + strlen(at), *access;
	struct ptrc_log_mapping m = {.flags = 0};
	const uint8_t *id = k->mapping_id;
	uint64_t ino;
	size_t bytes;

	maps->all += (uint64_t)(end - at) + 1;
	m.start = ptrc_digits_take_hex(&at, NULL);
	at += *at != '\0';
	m.end = ptrc_digits_take_hex(&at, NULL);
	ptrc_digits_skip_word(&at);
	access = at;
	ptrc_digits_skip_word(&at);
	if (end - access < 4 || access[2] != 'x')
		return maps->all > MAPS_MAX;
	m.offset = ptrc_digits_take_hex(&at, NULL);
	ptrc_digits_skip_word(&at);
	ptrc_digits_skip_word(&at); /* skips the device */
	ino = ptrc_digits_take(&at);
	bytes = (size_t)(end - at);
	/* A path longer than MAPS_LINE_MAX may have been cut when the line was read. */
	if (bytes > MAPS_LINE_MAX ||
	    out->used - maps->start + sizeof(m) + bytes + PTRC_LOG_BUILD_ID_MAX >
		    PTRC_LOG_PROCESS_MAX ||
	    head->mapping_count == PTRC_LOG_MAPPINGS_MAX) {
		head->flags |= PTRC_LOG_PROCESS_MAPPINGS_CUT;
		return maps->all > MAPS_MAX;
	}
	m.path_bytes = (uint16_t)bytes;
	if (ino && ino == maps->p->exe_ino) {
		/* This is the executable. add_private() has read its build ID by /proc/PID/exe and
		 * not by its path, because another file may have that path by now. */
		id = k->build_id;
		m.build_id_bytes = head->build_id_bytes;
	} else {
		m.build_id_bytes = (uint16_t)mapping_id(k, maps->p->pid, at, bytes, ino);
	}
	ptrc_log_buffer_add(out, &m, sizeof(m));
	ptrc_log_buffer_add(out, id, m.build_id_bytes);
	ptrc_log_buffer_add(out, at, bytes);
	ptrc_log_buffer_pad(out);
	head->mapping_count++;
	return maps->all > MAPS_MAX;
}

/* ---- a process ---- */

/* Whether the keeper reads private properties of this process: only if it belongs to the stream's
 * owner. The pid comes from memory that other processes can write, and a keeper of root could read
 * any process. */
static bool may_look(const struct ptrc_log_writer *w, int pid)
{
	uint32_t owner;

	return ptrc_procfs_owner(pid, &owner) == 0 && owner == w->origin->owner_uid;
}

/* Adds to the payload the properties that only the process' owner may see. */
static void add_private(struct ptrc_log_writer *w, const struct known *p, uint64_t start,
			struct ptrc_log_process *head)
{
	struct ptrc_log_buffer *out = &w->origins.pending_processes;
	struct maps maps = {.w = w, .p = p, .start = start, .head = head};
	struct work *k = (void *)w->origins.work.bytes;
	struct stat st;
	PTRC_FD(fd);

	if (!may_look(w, p->pid))
		return;
	head->exe_bytes = (uint16_t)ptrc_procfs_link(p->pid, "exe", k->exe, sizeof(k->exe));
	if (p->exe_ino && ptrc_procfs_open(p->pid, "exe", O_NONBLOCK | O_NOCTTY, &fd) == 0 &&
	    ptrc_file_stat(fd, &st) == 0 && S_ISREG(st.st_mode))
		head->build_id_bytes =
			(uint16_t)ptrc_build_id_read(fd, k->build_id, sizeof(k->build_id));
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
	if (ptrc_procfs_lines(p->pid, "maps", k->maps, sizeof(k->maps), add_mapping, &maps) == 0)
		head->flags |= PTRC_LOG_PROCESS_MAPPED;
	if (maps.all > MAPS_MAX)
		head->flags |= PTRC_LOG_PROCESS_MAPPINGS_CUT;
}

/* Starts a payload at the end of `out`, the buffer of waiting payloads: first room for its length,
 * then its head. Returns the offset of the head. */
static uint64_t begin_payload(struct ptrc_log_buffer *out, const struct ptrc_log_process *head)
{
	uint64_t start, length = 0;

	ptrc_log_buffer_add(out, &length, sizeof(length));
	start = out->used;
	ptrc_log_buffer_add(out, head, sizeof(*head));
	return start;
}

/* Ends the payload whose length is at offset `begin`. False: the payload was removed, because there
 * is no memory or too many bytes are waiting. */
static bool end_payload(struct ptrc_log_buffer *out, uint64_t begin)
{
	uint64_t length;

	ptrc_log_buffer_pad(out);
	if (out->is_short || out->used > PROCESSES_PENDING) {
		out->used = begin;
		out->is_short = false;
		return false;
	}
	length = out->used - begin - sizeof(length);
	memcpy(out->bytes + begin, &length, sizeof(length));
	return true;
}

/* Adds a description of the process to those that wait to be written. st NULL: the process no
 * longer exists. False: no description was added, because there was no room, or the last one says
 * the same. */
static bool describe(struct ptrc_log_writer *w, struct known *p, const struct ptrc_procfs_stat *st,
		     int64_t from_ns)
{
	struct ptrc_log_buffer *out = &w->origins.pending_processes;
	struct ptrc_log_process head = {.from_ns = from_ns, .pid = p->pid};
	uint64_t begin = out->used, start = begin_payload(out, &head);
	uint32_t crc;

	if (st) {
		head.flags |= PTRC_LOG_PROCESS_KNOWN;
		head.parent_pid = st->ppid;
		head.start_ns = time_of(w, st->start_ticks * PTRC_PROCFS_TICK_NS);
		head.comm_bytes = (uint16_t)strnlen(st->comm, sizeof(st->comm));
		ptrc_log_buffer_add(out, st->comm, head.comm_bytes);
		if (ptrc_procfs_user(p->pid, &head.user) == 0)
			head.flags |= PTRC_LOG_PROCESS_USER;
	}
	if (p->is_gone)
		head.flags |= PTRC_LOG_PROCESS_GONE;
	else
		add_private(w, p, start, &head);
	if (!end_payload(out, begin))
		return false;
	memcpy(out->bytes + start, &head, sizeof(head));
	/* The times are left out of the checksum: each look computes the start time anew, with
	 * another rounding error. */
	head.from_ns = head.start_ns = 0;
	crc = ptrc_crc32c(0, &head, sizeof(head));
	start += sizeof(head);
	crc = ptrc_crc32c(crc, out->bytes + start, out->used - start);
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
	return ptrc_crc32c(ptrc_crc32c(0, comm, strlen(comm) + 1), exe, exe_bytes);
}

/* Adds a description that says that the program of the process is unknown from this time on. */
static void describe_unknown(struct ptrc_log_writer *w, struct known *p, int64_t from_ns)
{
	struct ptrc_log_buffer *out = &w->origins.pending_processes;
	struct ptrc_log_process head = {.from_ns = from_ns, .pid = p->pid};
	uint64_t begin = out->used;

	begin_payload(out, &head);
	p->changes += end_payload(out, begin);
}

static uint32_t image_of(int pid)
{
	struct ptrc_procfs_stat st;

	return ptrc_procfs_stat(pid, &st) == 0 ? ptrc_image_of(st.arguments_end) : 0;
}

/* Whether the process has started after from_ns. Then another one had its pid at that time, and has
 * ended. Two ticks allow for rounding. */
static bool is_later_process(const struct ptrc_log_writer *w, const struct ptrc_procfs_stat *st,
			     int64_t from_ns)
{
	int64_t start_ns = time_of(w, st->start_ticks * PTRC_PROCFS_TICK_NS);

	return difference(start_ns, from_ns) > (int64_t)(2 * PTRC_PROCFS_TICK_NS);
}

/* Looks at a process and, if it is unknown or has changed, adds a description to those that wait
 * for the next flush. is_urgent: the process may have executed another program. image:
 * ptrc_image_of() of the program that the process executed at from_ns; 0: unknown. */
static void look_at_process(struct ptrc_log_writer *w, struct known *p, bool is_urgent,
			    int64_t from_ns, uint32_t image)
{
	uint64_t used = w->origins.pending_processes.used;
	uint32_t changes, found = 0;
	struct work *k = (void *)w->origins.work.bytes;
	uint64_t dev = 0, ino = 0;
	uint32_t program = 0;
	struct ptrc_procfs_stat st;
	bool has_stat;

	has_stat = ptrc_procfs_stat(p->pid, &st) == 0 && !is_later_process(w, &st, from_ns);
	if (has_stat) {
		(void)ptrc_procfs_inode(p->pid, "exe", &dev, &ino);
		program = program_of(st.comm, k->exe,
				     ptrc_procfs_link(p->pid, "exe", k->exe, sizeof(k->exe)));
		found = ptrc_image_of(st.arguments_end);
	}
	/* If the process has executed another program since from_ns, the present one is described
	 * from now on. The program at from_ns is described as unknown, unless the last description
	 * is of it. If the controller reports this process, neither is described. */
	if (image && found && image != found) {
		if (p->program_ns)
			return;
		if (!p->changes || p->image != image)
			describe_unknown(w, p, from_ns);
		used = w->origins.pending_processes.used;
		from_ns = realtime_now(w);
	}
	/* If the process now executes another program than the controller reported, nothing is
	 * described unless is_urgent is set: the events belong to the reported program, and the
	 * controller will report the new one. */
	if (p->program_ns && !is_urgent && program != p->program)
		return;
	if (p->program_ns && !p->is_seen && program == p->program)
		from_ns = p->program_ns;
	/* A process of which only the first thread has ended still has memory, and is not gone. */
	p->is_gone = !has_stat || (st.has_ended && st.memory_bytes == 0);
	if (p->is_gone && p->changes && (!has_stat || st.start_ticks == p->start_ticks))
		return; /* the earlier description, from its lifetime, says more */
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
	changes = describe(w, p, has_stat ? &st : NULL, from_ns);
	/* If the process has executed another program during this look, the description may mix
	 * both programs, so it is dropped. */
	if (found && image_of(p->pid) != found && ptrc_procfs_exists(p->pid) == 0) {
		w->origins.pending_processes.used = used;
		p->crc = p->image = 0;
		p->exe_ino = 0;
		return;
	}
	p->changes += changes;
	p->image = found;
	p->program = program;
	/* For a process of another user, which the keeper may not read, is_seen stays false, so
	 * that the controller's report is still written. */
	p->is_seen = !p->is_gone && may_look(w, p->pid);
	if (p->is_gone)
		p->gone_ns = from_ns;
}

/* Looks at a process if it is unknown, or is_urgent is set, or the pause since the last look (at
 * least LOOK_NS) is over. */
static void meet(struct ptrc_log_writer *w, int pid, bool is_urgent, int64_t from_ns,
		 uint32_t image)
{
	int64_t now = ptrc_clock_ns(CLOCK_MONOTONIC);
	struct known *p;
	uint32_t doublings;

	if (pid <= 0 || !has_proc(w))
		return;
	p = find(w, pid);
	if (!p || (p->changes && !is_urgent && now < p->next_look_ns))
		return;
	look_at_process(w, p, is_urgent, from_ns, image);
	doublings = p->changes < LOOK_DOUBLINGS ? p->changes : LOOK_DOUBLINGS;
	p->next_look_ns = now + (LOOK_NS << (doublings - (doublings != 0)));
}

static void look_at_arrivals(struct ptrc_log_writer *w)
{
	struct ptrc_clock_cursor cursor = {0};

	for (uint32_t i = 0; i < PTRC_ARRIVALS; i++) {
		struct ptrc_arrival *a = &w->header->arrival[i];
		int pid = ptrc_load_acquire(&a->pid);

		if (!pid)
			continue;
		meet(w, pid, true,
		     ptrc_clock_realtime(w->header, &cursor, ptrc_load_relaxed(&a->stamp)),
		     ptrc_load_relaxed(&a->image));
		/* Clears the entry; the process may be waiting for that in ptrc_attach_end(). If
		 * another process has overwritten the entry meanwhile, the entry stays: that
		 * process has woken the keeper again. */
		atomic_compare_exchange_strong_explicit(&a->pid, &pid, 0, memory_order_release,
							memory_order_relaxed);
	}
}

/* The data of the stretch's event is a description of a process, from shared memory. If its head is
 * impossible, it is dropped; readers of the log check the rest. */
void ptrc_log_origin_observed(struct ptrc_log_writer *w, const struct ptrc_stretch *stretch)
{
	struct ptrc_unpacker_shape shape;
	struct ptrc_unpacker u =
		ptrc_unpacker_begin(stretch->packed, stretch->bytes, stretch->first_ns, &shape);
	struct ptrc_log_buffer *out = &w->origins.pending_processes;
	char comm[sizeof(((struct known *)0)->comm)] = "";
	struct ptrc_log_process head;
	struct ptrc_packed_event e;
	uint64_t begin = out->used;
	bool is_known_exec, is_addition;
	const uint8_t *texts;
	uint32_t program;
	struct known *p;

	if (!ptrc_unpacker_next(&u, &e) || e.len < sizeof(head) || e.len > PTRC_LOG_PROCESS_MAX ||
	    !w->origin || ptrc_log_is_full(w))
		return;
	w->origins.is_observed = true;
	memcpy(&head, e.data, sizeof(head));
	if (head.pid <= 0 || head.comm_bytes >= sizeof(comm) ||
	    (uint64_t)head.comm_bytes + head.exe_bytes > e.len - sizeof(head))
		return;
	texts = e.data + sizeof(head);
	memcpy(comm, texts, head.comm_bytes);
	program = program_of(comm, texts + head.comm_bytes, head.exe_bytes);
	is_addition = head.flags & PTRC_LOG_PROCESS_ADDITION;
	p = find(w, head.pid);
	if (!p)
		return;
	is_known_exec = p->program_ns && head.observed_ns == p->observed_ns;
	if (!is_addition) {
		p->program_ns = head.from_ns;
		p->observed_ns = head.observed_ns;
	}
	/* The log has a description of this program from /proc, which says more. */
	if (is_known_exec && p->is_seen && program == p->program)
		return;
	/* The log may already have a packet of the time gone_ns, which says no more than that the
	 * process has ended. This description gets the same time: of two packets with equal times,
	 * readers use the one written later. */
	if (!is_addition && p->changes && p->is_gone && head.from_ns < p->gone_ns)
		head.from_ns = p->gone_ns;
	begin_payload(out, &head);
	ptrc_log_buffer_add(out, texts, e.len - sizeof(head));
	if (!end_payload(out, begin) || is_addition)
		return;
	p->changes++;
	p->program = program;
	p->is_seen = false;
	memcpy(p->comm, comm, sizeof(comm));
}

/* Whether the process has executed another program: pthread_self() of its first thread has
 * changed. */
static bool is_another_image(struct ptrc_log_writer *w, const struct ptrc_context *origin)
{
	struct known *p;
	bool is_other;

	/* For events that the controller observed from outside, pthread_self() is unknown. */
	if (origin->tid != origin->pid || !origin->thread || !w->origins.processes.items.used)
		return false;
	p = find(w, origin->pid);
	if (!p)
		return false;
	is_other = p->thread && p->thread != origin->thread;
	p->thread = origin->thread;
	return is_other;
}

static void drop(struct ptrc_log_buffer *pending, uint64_t bytes)
{
	pending->used -= bytes;
	if (bytes)
		memmove(pending->bytes, pending->bytes + bytes, pending->used);
}

/* Writes the waiting descriptions, as far as the log has room. */
static void write_pending(struct ptrc_log_writer *w)
{
	struct ptrc_log_buffer *pending = &w->origins.pending_processes;
	uint64_t at = 0, bytes;

	while (at < pending->used) {
		memcpy(&bytes, pending->bytes + at, sizeof(bytes));
		if (!ptrc_log_aside_put(w, PTRC_LOG_PROCESS, pending->bytes + at + sizeof(bytes),
					bytes))
			break;
		at += sizeof(bytes) + bytes;
	}
	drop(pending, at);
}

void ptrc_log_origin_look(struct ptrc_log_writer *w, const struct ptrc_context *origin,
			  int64_t first_ns, int *pid)
{
	bool is_other = is_another_image(w, origin);

	/* After this flush ptrc_log_origin_meet() looks at a process that has announced itself. */
	if (w->header && ptrc_is_announced(w->header, origin->pid))
		return;
	if (origin->pid != *pid || is_other)
		meet(w, origin->pid, is_other, first_ns, 0);
	*pid = origin->pid;
}

void ptrc_log_origin_meet(struct ptrc_log_writer *w)
{
	look_at_arrivals(w);
	if (!w->origins.pending_processes.used || ptrc_log_is_full(w))
		return;
	write_pending(w);
	ptrc_log_state_save(w);
}

/* ---- threads ---- */

/* The pause between two scans of the stream's slots (one slot per recording thread) is this time
 * multiplied by the number of slots in use. A scan takes about a hundredth of the pause. */
#define SCAN_NS INT64_C(5000)
/* In a scan, at most this many threads are looked at, which takes some 2 ms. */
#define LOOKS_MAX 512U
/* The number of items in the table of threads. */
#define THREADS_KNOWN 16384U
/* Limit in bytes for the names that wait for a flush. */
#define THREADS_PENDING (UINT64_C(1) << 20)

struct known_thread {
	int32_t tid, pid;
	uint64_t claim_ms; /* when the thread took its slot: ms of CLOCK_BOOTTIME */
	int64_t next_look_ns;
	uint32_t doublings;
	bool is_in_log; /* a name for this tid was written or is pending */
	char name[PTRC_LOG_THREAD_NAME];
};

/* Reads the name of a thread; an empty one if it has ended. */
static void read_name(int pid, int tid, char name[PTRC_LOG_THREAD_NAME])
{
	char rest[32] = "task/", text[PTRC_LOG_THREAD_NAME + 1];
	char *at = ptrc_digits_put(rest + 5, (unsigned int)tid);
	size_t bytes;

	memcpy(at, "/comm", 6);
	bytes = ptrc_procfs_read(pid, rest, text, sizeof(text));
	if (bytes && text[bytes - 1] == '\n')
		bytes--;
	if (bytes > PTRC_LOG_THREAD_NAME)
		bytes = PTRC_LOG_THREAD_NAME;
	memset(name, 0, PTRC_LOG_THREAD_NAME);
	memcpy(name, text, bytes);
}

/* Reads the name of a thread if it is unknown or the pause since the last read (at least LOOK_NS)
 * is over; returns whether it was read. claim_ms: when the thread took its slot. */
static bool look_at_thread(struct ptrc_log_writer *w, int pid, int tid, uint64_t claim_ms,
			   int64_t now)
{
	struct ptrc_log_thread thread = {.pid = pid, .tid = tid};
	struct known_thread *known =
		table_find(&w->origins.threads, tid, sizeof(*known), THREADS_KNOWN);
	bool is_new;

	if (!known)
		return false;
	/* If claim_ms is later than known->claim_ms, the tid now belongs to another thread. */
	is_new = known->pid != pid || known->claim_ms < claim_ms;
	if (!is_new && now < known->next_look_ns)
		return false;
	if (is_new)
		known->doublings = 0;
	known->pid = pid;
	known->claim_ms = claim_ms;
	read_name(pid, tid, thread.name);
	/* If the thread has ended, and another one has its ID now, that is the name of the other. */
	if (memcmp(known->name, thread.name, sizeof(known->name)) != 0 &&
	    ptrc_thread_has_ended(tid, claim_ms))
		memset(thread.name, 0, sizeof(thread.name));
	known->next_look_ns = now + (LOOK_NS << known->doublings);
	/* A thread that has ended keeps its last name. But for a new thread that ended before its
	 * name was read, an empty name is written, so that it does not get the name of an earlier
	 * thread with the same tid. */
	if (known->is_in_log ? memcmp(known->name, thread.name, sizeof(known->name)) != 0 &&
				       (is_new || thread.name[0])
			     : thread.name[0] != '\0') {
		/* The name of a new thread is valid from a moment before the thread took its slot,
		 * so that it is valid for the thread's first event. */
		thread.from_ns = is_new ? time_of(w, (claim_ms - 1) * 1000000) : realtime_now(w);
		if (w->origins.pending_threads.used < THREADS_PENDING &&
		    ptrc_log_buffer_add(&w->origins.pending_threads, &thread, sizeof(thread)))
			w->origins.pending_threads.is_short = false;
		memcpy(known->name, thread.name, sizeof(known->name));
		known->is_in_log = true;
		known->doublings += !is_new && known->doublings < LOOK_DOUBLINGS;
	} else if (!thread.name[0]) {
		known->doublings += known->doublings < LOOK_DOUBLINGS;
	}
	return true;
}

/* Looks at the names of the recording threads if next_scan_ns is reached, or if is_last says that
 * the threads may end soon. */
static void look_at_threads(struct ptrc_log_writer *w, bool is_last)
{
	const struct ptrc_stream_header *h = w->origin;
	const struct ptrc_slot *slots;
	int64_t now = ptrc_clock_ns(CLOCK_MONOTONIC);
	uint32_t used, looks = 0;

	if (!h || (!is_last && now < w->origins.next_scan_ns))
		return;
	slots = (const void *)((const char *)h + PTRC_STREAM_SLOT_OFFSET);
	used = ptrc_slots_used(h);
	w->origins.next_scan_ns = now + used * SCAN_NS;
	for (uint32_t i = 0; i < used && looks < LOOKS_MAX; i++) {
		uint64_t owner = ptrc_load_acquire(&slots[i].owner);
		int pid = ptrc_load_relaxed(&slots[i].pid), tid = ptrc_slot_tid(owner);

		/* The first thread of a process is left out: its name is that of the process. A
		 * slot whose `image` is 0 was just claimed, and may still have the pid of its
		 * previous owner. */
		if (tid <= 0 || pid <= 0 || tid == pid || !ptrc_load_relaxed(&slots[i].image) ||
		    !has_proc(w))
			continue;
		looks += look_at_thread(w, pid, tid, owner & PTRC_SLOT_CLAIM_MASK, now);
	}
}

static void write_threads(struct ptrc_log_writer *w)
{
	struct ptrc_log_buffer *pending = &w->origins.pending_threads;
	uint64_t at = 0;

	while (at < pending->used) {
		uint64_t bytes = ptrc_log_at_most(
			pending->used - at, PTRC_LOG_THREADS_MAX * sizeof(struct ptrc_log_thread));

		if (!ptrc_log_aside_put(w, PTRC_LOG_THREADS, pending->bytes + at, bytes))
			break;
		at += bytes;
	}
	drop(pending, at);
}

/* ---- all of them ---- */

void ptrc_log_origin_begin(struct ptrc_log_writer *w)
{
	struct ptrc_log_origins *x = &w->origins;

	table_clear(&x->processes);
	table_clear(&x->threads);
	x->next_scan_ns = 0;
	x->pending_threads.used = 0;
	x->clocks = (struct ptrc_log_clocks){0};
	write_host(w);
	ptrc_log_origin_clock(w, false);
}

void ptrc_log_origin_arrive(struct ptrc_log_writer *w, bool with_threads)
{
	if (with_threads)
		look_at_threads(w, true);
	look_at_arrivals(w);
}

void ptrc_log_origin_write(struct ptrc_log_writer *w)
{
	write_pending(w);
	look_at_threads(w, false);
	write_threads(w);
	ptrc_log_origin_clock(w, true);
}

void ptrc_log_origin_free(struct ptrc_log_origins *x)
{
	ptrc_log_buffer_free(&x->processes.items);
	ptrc_log_buffer_free(&x->threads.items);
	ptrc_log_buffer_free(&x->pending_processes);
	ptrc_log_buffer_free(&x->pending_threads);
	ptrc_log_buffer_free(&x->work);
	memset(x, 0, sizeof(*x));
}
