/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/os/processes.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/procfs.h"
#include "src/base/message.h"
#include "src/base/clock.h"
#include "src/base/scope.h"
#include "src/base/table.h"
#include "src/fields/when.h"
#include "src/os/code_names.h"

/* A log gets at most LINE_MAX_BYTES of a command line, and at most MAPPINGS_MAX mappings of a process. At most
 * MAPPINGS_KEPT_MAX mappings are kept in memory. */
#define LINE_MAX_BYTES 4096U
#define MAPPINGS_MAX 256U
#define MAPPINGS_KEPT_MAX 4096U
/* The kernel's name for a mapping without a file. */
#define ANONYMOUS "//anon"
/* Two records of an exec, from the two rings of a processor (perf.h), differ in their times by less than this. */
#define SAME_EXEC_NS 1000000
/* /proc may show the new command line before the time in the record of the exec, but at most this long before. */
#define EXEC_NS 200000

/* A command line as /proc showed it, which may be longer than what a log gets. Without one, .text is NULL. */
struct line {
	char *text;
	size_t bytes;
	int64_t read_ns; /* when it was read */
};

/* A process, and the program that it executes. */
struct process {
	struct ptrc_table_entry entry;
	pid_t pid, parent;
	bool is_known;	 /* whether parent and start_ns are known */
	bool is_gone;	 /* it has ended, but its exit record was not taken yet, or is lost */
	bool is_keepers; /* the keeper (the writer of the log) describes the process */
	bool has_name;
	/* Whether its first thread has ended, and how many threads it has. The number is too low if records of starts
	 * of threads are lost, or if some of the threads ran before the trace. */
	bool has_first_ended;
	int threads;
	int64_t start_ns; /* monotonic, like all times here */
	int64_t from_ns;  /* when the process executed its program */
	char name[PTRC_PERF_NAME_BYTES];
	struct line line;
	/* Whether the process has executed a program. If not, it is a copy of its parent. */
	bool has_executed;
	/* Whether an event of the process has addresses in code. */
	bool has_addresses;
	/* The first mapping is that of the program. The process owns their paths. */
	struct ptrc_perf_mapping *mappings;
	size_t mapping_count;
	/* are_mappings_cut: the process has more mappings than MAPPINGS_KEPT_MAX. are_mappings_doubtful: the
	 * kernel may have lost records of mappings. has_program: the mappings of the current program are known. */
	bool has_program, are_mappings_cut, are_mappings_doubtful;
	/* Whether a mapping has no file, so that it may have code that was made at run time. */
	bool has_made_code;
	struct ptrc_table code; /* see code_names.h */
	/* The effective user. A child first gets that of its parent. The user is read again at the first sample in
	 * code made at run time, unless the process has ended by then. */
	uid_t user;
	/* The command line of a new program, if it was read before take_exec() got the record of the exec. found_ns is
	 * the time of that exec. */
	struct line found;
	int64_t found_ns;
};

struct ptrc_os_processes {
	struct ptrc_table processes; /* the keys are process IDs */
	bool hides_command_lines;
	ptrc_os_process_sink *sink;
	void *arg;
};

struct ptrc_os_processes *ptrc_os_processes_new(bool hides_command_lines,
						ptrc_os_process_sink *sink, void *arg)
{
	struct ptrc_os_processes *all = ptrc_cli_allocate(sizeof(*all));

	all->hides_command_lines = hides_command_lines;
	all->sink = sink;
	all->arg = arg;
	return all;
}

static struct process *find(struct ptrc_os_processes *all, pid_t pid)
{
	return ptrc_table_seek(&all->processes, &pid, sizeof(pid));
}

static struct process *find_or_add(struct ptrc_os_processes *all, pid_t pid)
{
	struct process *p = ptrc_table_find(&all->processes, &pid, sizeof(pid), sizeof(*p));

	if (!p->pid)
		p->threads = 1;
	p->pid = pid;
	return p;
}

static void free_mappings(struct process *p)
{
	for (size_t i = 0; i < p->mapping_count; i++)
		free((char *)p->mappings[i].path);
	free(p->mappings);
	p->mappings = NULL;
	p->mapping_count = 0;
	p->has_made_code = false;
	ptrc_table_free(&p->code);
	p->has_program = p->are_mappings_cut = p->are_mappings_doubtful = false;
}

static void empty(struct process *p)
{
	free_mappings(p);
	free(p->line.text);
	free(p->found.text);
}

static void remove_process(struct ptrc_os_processes *all, pid_t pid)
{
	struct process *p = find(all, pid);

	if (!p)
		return;
	empty(p);
	ptrc_table_remove(&all->processes, p);
}

void ptrc_os_processes_free(struct ptrc_os_processes *all)
{
	for (struct process *p = NULL; (p = ptrc_table_next(&all->processes, p));)
		empty(p);
	ptrc_table_free(&all->processes);
	free(all);
}

/* ---- passing descriptions to the sink ---- */

/* Whether the command line may be that of another program. No mapping is known of a program that the kernel hides, and
 * the kernel does not record which program that one executes next. */
static bool is_line_doubtful(const struct process *p)
{
	return p->has_program && !p->mapping_count;
}

static void report(const struct process *p, struct ptrc_os_processes *all)
{
	const struct line line = is_line_doubtful(p) ? (struct line){0} : p->line;
	struct posixtrace_log_mapping mappings[MAPPINGS_MAX];
	struct posixtrace_log_process out = {
		.pp_pid = p->pid,
		.pp_is_known = p->is_known,
		.pp_parent_pid = p->parent,
		.pp_start = ptrc_when_timespec(p->start_ns),
		.pp_from = ptrc_when_timespec(p->from_ns),
		.pp_name = p->name,
		.pp_name_size = strnlen(p->name, sizeof(p->name)),
		.pp_has_command_line = line.text != NULL,
		.pp_command_line = line.text,
		.pp_command_line_size = line.bytes < LINE_MAX_BYTES ? line.bytes : LINE_MAX_BYTES,
		.pp_is_command_line_cut = line.bytes > LINE_MAX_BYTES,
		.pp_has_mappings = p->has_program,
		.pp_are_mappings_cut = p->are_mappings_cut || p->are_mappings_doubtful ||
				       p->mapping_count > MAPPINGS_MAX,
	};
	size_t count = p->mapping_count < MAPPINGS_MAX ? p->mapping_count : MAPPINGS_MAX;

	if (!p->is_known || !p->has_name || p->is_keepers)
		return;
	for (size_t i = 0; i < count; i++) {
		const struct ptrc_perf_mapping *m = &p->mappings[i];

		mappings[i] =
			(struct posixtrace_log_mapping){.pm_start = m->address,
							.pm_end = m->address + m->bytes,
							.pm_offset = m->offset,
							.pm_path = m->path,
							.pm_path_size = strlen(m->path),
							.pm_build_id = m->build_id,
							.pm_build_id_size = m->build_id_bytes};
	}
	out.pp_mapping_count = p->has_program ? count : 0;
	if (count) {
		out.pp_executable = mappings[0].pm_path;
		out.pp_executable_size = mappings[0].pm_path_size;
		out.pp_build_id = mappings[0].pm_build_id;
		out.pp_build_id_size = mappings[0].pm_build_id_size;
	}
	all->sink(all->arg, &out, mappings, false);
}

/* Reports those functions made at run time (by a JIT compiler) in which samples have addresses. */
static void report_code(struct ptrc_os_processes *all, const struct process *p, int64_t ns)
{
	size_t count;
	PTRC_SCOPED struct ptrc_code_function *f =
		ptrc_code_names_read(&p->code, p->pid, p->user, &count);
	PTRC_SCOPED struct posixtrace_log_mapping *mappings =
		ptrc_cli_allocate((count + 1) * sizeof(*mappings));
	const struct posixtrace_log_process out = {
		.pp_pid = p->pid,
		.pp_from = ptrc_when_timespec(ns),
		.pp_name = p->name,
		.pp_name_size = strnlen(p->name, sizeof(p->name)),
		.pp_executable = p->mapping_count ? p->mappings[0].path : NULL,
		.pp_executable_size = p->mapping_count ? strlen(p->mappings[0].path) : 0,
		.pp_has_mappings = 1,
		.pp_mapping_count = count,
	};

	for (size_t i = 0; i < count; i++)
		mappings[i] = (struct posixtrace_log_mapping){.pm_start = f[i].start,
							      .pm_end = f[i].start + f[i].bytes,
							      .pm_path = f[i].name,
							      .pm_path_size = strlen(f[i].name),
							      .pm_is_function = 1};
	if (count)
		all->sink(all->arg, &out, mappings, true);
	for (size_t i = 0; i < count; i++)
		free(f[i].name);
}

void ptrc_os_processes_tell_rest(struct ptrc_os_processes *all)
{
	for (struct process *p = NULL; (p = ptrc_table_next(&all->processes, p));) {
		report(p, all);
		report_code(all, p, ptrc_now_ns());
	}
}

bool ptrc_os_processes_find_gone(struct ptrc_os_processes *all)
{
	bool is_any = false;

	for (struct process *p = NULL; (p = ptrc_table_next(&all->processes, p));)
		if (!p->is_gone && ptrc_procfs_exists(p->pid) == ESRCH)
			p->is_gone = is_any = true;
	return is_any;
}

pid_t *ptrc_os_processes_list(const struct ptrc_os_processes *all, size_t *count)
{
	pid_t *pids = NULL;

	*count = 0;
	for (const struct process *p = NULL; (p = ptrc_table_next(&all->processes, p));)
		if (!p->is_gone)
			*ptrc_append(pids, *count) = p->pid;
	return pids;
}

/* ---- reading /proc ---- */

/* Reads the command line of a process. There is none if the process has ended. There is none, either, and *is_early
 * becomes true, if the kernel has not stored the command line of a new program yet. */
static struct line read_line(pid_t pid, bool *is_early)
{
	char line[LINE_MAX_BYTES + 1];
	struct line found = {0};
	PTRC_SCOPED_FD fd = -1;
	ssize_t n;

	*is_early = false;
	if (ptrc_procfs_open(pid, "cmdline", 0, &fd))
		return found;
	n = read(fd, line, sizeof(line));
	*is_early = n == 0;
	if (n > 0)
		found = (struct line){.text = ptrc_cli_copy_bytes(line, (size_t)n),
				      .bytes = (size_t)n,
				      .read_ns = ptrc_now_ns()};
	return found;
}

static bool is_same_exec(int64_t a, int64_t b)
{
	return a - b < SAME_EXEC_NS && b - a < SAME_EXEC_NS;
}

static void set_line(struct line *to, struct line line)
{
	free(to->text);
	*to = line;
}

/* Finds the newest mapping at the address. Older ones may be gone, as the kernel does not report munmap(). */
static struct ptrc_perf_mapping *mapping_at(const struct process *p, uint64_t address)
{
	for (size_t i = p->mapping_count; i--;)
		if (address - p->mappings[i].address < p->mappings[i].bytes)
			return &p->mappings[i];
	return NULL;
}

/* Returns true if the mapping is known already. Also returns true if it is anonymous and starts within, or at the end
 * of, a known anonymous mapping; then extends that one to include it. This saves entries: a JIT compiler changes the
 * rights of its pages very often, and the kernel reports a mapping each time. */
static bool is_joined(struct process *p, const struct ptrc_perf_mapping *m)
{
	struct ptrc_perf_mapping *known = mapping_at(p, m->address);

	if (known && known->address == m->address && known->bytes == m->bytes &&
	    known->offset == m->offset && !strcmp(known->path, m->path))
		return true;
	if (!known && m->address)
		known = mapping_at(p, m->address - 1);
	if (!known || strcmp(known->path, ANONYMOUS) != 0 || strcmp(m->path, ANONYMOUS) != 0)
		return false;
	if (m->address + m->bytes > known->address + known->bytes)
		known->bytes = m->address + m->bytes - known->address;
	return true;
}

/* Whether a mapping with this path has no file on a disk, so that its code was probably made at run time. */
static bool is_memory(const char *path)
{
	static const char *const others[] = {ANONYMOUS, "/memfd:", "/dev/zero", "/anon_hugepage"};

	if (*path != '/')
		return strcmp(path, "[vdso]") != 0;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strncmp(path, others[i], strlen(others[i])))
			return true;
	return false;
}

static void add_mapping(struct process *p, const struct ptrc_perf_mapping *m)
{
	struct ptrc_perf_mapping *kept;

	p->has_made_code |= is_memory(m->path);
	if (is_joined(p, m))
		return;
	if (p->mapping_count == MAPPINGS_KEPT_MAX) {
		p->are_mappings_cut = true;
		return;
	}
	kept = ptrc_append(p->mappings, p->mapping_count);
	*kept = *m;
	kept->path = ptrc_cli_copy(m->path);
}

/* Adds the mapping of a line of /proc/PID/maps, if it is executable. */
static bool add_line(const char *line, void *arg)
{
	struct process *p = arg;
	struct ptrc_perf_mapping m = {0};
	uint64_t end;
	char rights[5];
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &m.address,
		   &end, rights, &m.offset, &m.inode.major, &m.inode.minor, &m.inode.number,
		   &at) != 7 ||
	    rights[2] != 'x' || end <= m.address)
		return false;
	m.bytes = end - m.address;
	m.path = line[at] ? line + at : ANONYMOUS;
	/* ptrc_os_processes_add_running() has added the program's file as first mapping, without an address. */
	if (p->mapping_count && !p->mappings[0].bytes && !strcmp(p->mappings[0].path, m.path)) {
		m.path = p->mappings[0].path;
		p->mappings[0] = m;
	} else if (!mapping_at(p, m.address)) {
		add_mapping(p, &m);
	}
	return false;
}

/* Adds the mappings that /proc shows now. Returns false if the process has ended. */
static bool read_mappings(struct process *p)
{
	char line[PATH_MAX + 128];

	return !ptrc_procfs_lines(p->pid, "maps", line, sizeof(line), add_line, p);
}

/* Stores the effective user of the process, unless it has ended. */
static void read_user(struct process *p)
{
	uint32_t user;

	if (!ptrc_procfs_user(p->pid, &user))
		p->user = user;
}

static bool read_stat(struct process *p)
{
	struct ptrc_procfs_stat st;
	struct timespec boot;

	if (ptrc_procfs_stat(p->pid, &st))
		return false;
	p->parent = st.ppid;
	memcpy(p->name, st.comm, sizeof(p->name) - 1);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	p->start_ns = ptrc_now_ns() - (boot.tv_sec * 1000000000 + boot.tv_nsec) +
		      (int64_t)(st.start_ticks * PTRC_PROCFS_TICK_NS);
	return true;
}

void ptrc_os_processes_add_child(struct ptrc_os_processes *all, pid_t pid, int64_t start_ns)
{
	struct process *p = find_or_add(all, pid);

	p->is_known = true;
	p->user = geteuid();
	/* ptrace-run has started the process, which waits, so /proc shows its parent and start time. */
	if (!read_stat(p)) {
		p->parent = getpid();
		p->start_ns = start_ns;
	}
	p->from_ns = start_ns;
}

void ptrc_os_processes_add_running(struct ptrc_os_processes *all, pid_t pid)
{
	struct process *p = find_or_add(all, pid);
	struct ptrc_perf_mapping program = {0};
	char exe[PATH_MAX];
	bool is_early;
	size_t size;

	if (!read_stat(p))
		return;
	read_user(p);
	p->is_known = p->has_name = p->has_executed = true;
	p->from_ns = p->start_ns;
	if (!all->hides_command_lines)
		set_line(&p->line, read_line(pid, &is_early));
	size = ptrc_procfs_link(pid, "exe", exe, sizeof(exe) - 1);
	if (!size)
		return;
	exe[size] = '\0';
	program.path = exe;
	add_mapping(p, &program);
	p->has_program = read_mappings(p);
}

void ptrc_os_processes_leave_to_keeper(struct ptrc_os_processes *all, pid_t pid)
{
	find_or_add(all, pid)->is_keepers = true;
}

bool ptrc_os_processes_look(struct ptrc_os_processes *all, pid_t pid, int64_t ns)
{
	bool is_early;
	struct line line;
	struct process *p;

	if (all->hides_command_lines)
		return true;
	line = read_line(pid, &is_early);
	if (!line.text)
		return !is_early;
	p = find_or_add(all, pid);
	/* If take_exec() has taken the record of this exec already, the line is that of the current program. */
	if (p->has_executed && !p->line.text && is_same_exec(p->from_ns, ns)) {
		set_line(&p->line, line);
		return true;
	}
	set_line(&p->found, line);
	p->found_ns = ns;
	return true;
}

/* ---- taking records of the kernel ---- */

/* Takes the record of an exec. What is known of the process so far describes its previous program. */
static void take_exec(struct ptrc_os_processes *all, const struct ptrc_perf_record *r)
{
	struct process *p = find_or_add(all, r->pid);
	struct line line = {0};

	/* A line that was read after this exec is that of the new program, even if it was taken for that of the old
	 * one, because their execs are near to each other. If it may be that of either, it is dropped. */
	if (p->line.text && p->line.read_ns > r->ns) {
		line = p->line;
		p->line = (struct line){0};
	} else if (p->line.text && p->line.read_ns > r->ns - EXEC_NS) {
		set_line(&p->line, line);
	}
	if (p->has_executed)
		report(p, all);
	report_code(all, p, r->ns);
	free_mappings(p);
	p->has_executed = true;
	p->is_keepers = false;
	/* The kernel has ended all other threads, and the one that is left is now the first one, whichever it was. */
	p->has_first_ended = false;
	p->threads = 1;
	memcpy(p->name, r->name, sizeof(p->name));
	p->has_name = true;
	p->from_ns = r->ns;
	p->has_program = true;
	if (p->found.text && is_same_exec(p->found_ns, r->ns)) {
		set_line(&line, p->found);
		p->found.text = NULL;
	}
	set_line(&p->line, line);
}

/* Takes the record of a fork, or of the start of a thread. A child is a copy of its parent until it executes a program. */
static void take_fork(struct ptrc_os_processes *all, const struct ptrc_perf_record *r)
{
	struct process *p, *parent;
	struct line found = {0};
	int64_t found_ns = 0;

	p = find(all, r->child.pid);
	if (r->child.pid == r->pid) {
		if (p)
			p->threads++;
		return;
	}
	/* The child may have executed a program, and its command line may have been read, before the record of its
	 * fork is taken: that line is kept. */
	if (p && p->found.text && p->found_ns >= r->ns) {
		found = p->found;
		found_ns = p->found_ns;
		p->found.text = NULL;
	}
	/* Apart from .found, an existing entry is about an earlier process of the same ID, whose exit record was
	 * lost. */
	remove_process(all, r->child.pid);
	p = find_or_add(all, r->child.pid);
	p->found = found;
	p->found_ns = found_ns;
	parent = find(all, r->pid);
	p->is_known = true;
	p->parent = r->pid;
	p->start_ns = p->from_ns = r->ns;
	p->user = parent ? parent->user : geteuid();
	if (!parent || !parent->has_name)
		return;
	p->has_name = true;
	memcpy(p->name, parent->name, sizeof(p->name));
	if (parent->line.text)
		p->line = (struct line){
			.text = ptrc_cli_copy_bytes(parent->line.text, parent->line.bytes),
			.bytes = parent->line.bytes};
	for (size_t i = 0; i < parent->mapping_count; i++)
		add_mapping(p, &parent->mappings[i]);
	p->has_program = parent->has_program;
	p->are_mappings_cut = parent->are_mappings_cut;
	p->are_mappings_doubtful = parent->are_mappings_doubtful;
}

bool ptrc_os_processes_is_hidden(struct ptrc_os_processes *all, pid_t pid)
{
	const struct process *p = find(all, pid);

	/* A process may also be killed while it executes a program; then it has ended. */
	return p && p->has_executed && p->has_program && !p->mapping_count &&
	       !p->are_mappings_doubtful && ptrc_procfs_exists(pid) == 0;
}

/* Takes the record of the end of a thread. Returns whether its process has ended. */
static bool take_exit(struct ptrc_os_processes *all, const struct ptrc_perf_record *r)
{
	struct process *p = find(all, r->pid);

	if (!p)
		return false;
	/* No mapping follows, with which the process would be reported. Reports it now, before the keeper finds its events
	 * and looks at a process that may have executed another program meanwhile. */
	if (ptrc_os_processes_is_hidden(all, r->pid)) {
		report(p, all);
		return false;
	}
	p->has_first_ended |= r->tid == r->pid;
	/* As the number of threads may be too low, the process has not ended as long as its first thread has not. */
	if (--p->threads > 0 || !p->has_first_ended)
		return false;
	report(p, all);
	report_code(all, p, r->ns);
	remove_process(all, r->pid);
	return true;
}

/* Finds the mapping at the address. If none is known, but the kernel may have lost records of mappings, reads /proc. */
static const struct ptrc_perf_mapping *find_mapping(struct process *p, uint64_t address)
{
	const struct ptrc_perf_mapping *m = mapping_at(p, address);

	if (m || !p->are_mappings_doubtful)
		return m;
	p->are_mappings_doubtful = !read_mappings(p);
	return mapping_at(p, address);
}

const struct ptrc_perf_mapping *ptrc_os_processes_mapping(struct ptrc_os_processes *all, pid_t pid,
							  uint64_t address)
{
	struct process *p = find(all, pid);

	return p ? find_mapping(p, address) : NULL;
}

size_t ptrc_os_processes_callers(struct ptrc_os_processes *all, const struct ptrc_perf_record *r)
{
	struct process *p = find(all, r->pid);
	size_t count = r->stack.count;

	if (!p || !p->has_program || p->are_mappings_cut)
		return count;
	/* The first address is the program counter, which is always valid. */
	for (size_t i = 1; i < count; i++)
		if (!find_mapping(p, r->stack.addresses[i]) && !p->are_mappings_doubtful)
			return i;
	return count;
}

void ptrc_os_processes_note(struct ptrc_os_processes *all, pid_t pid, const uint64_t *addresses,
			    size_t count)
{
	struct process *p = find(all, pid);

	for (size_t i = 0; p && p->has_made_code && i < count; i++) {
		/* The first address is that of an instruction. The others are return addresses, so
		 * the byte before each belongs to the call. */
		uint64_t address = addresses[i] - (i != 0);
		const struct ptrc_perf_mapping *m = mapping_at(p, address);

		if (!m || !is_memory(m->path))
			continue;
		if (!p->code.count)
			read_user(p);
		ptrc_code_names_note(&p->code, address);
	}
}

bool ptrc_os_processes_take(struct ptrc_os_processes *all, const struct ptrc_perf_record *r)
{
	struct process *p;

	switch (r->kind) {
	case PTRC_PERF_FORK:
		take_fork(all, r);
		break;
	case PTRC_PERF_EXEC:
		take_exec(all, r);
		break;
	case PTRC_PERF_RENAME:
		p = r->pid == r->tid ? find(all, r->pid) : NULL;
		if (p)
			memcpy(p->name, r->name, sizeof(p->name));
		break;
	case PTRC_PERF_SAMPLE:
	case PTRC_PERF_FAULT:
		p = find(all, r->pid);
		if (!p || p->has_addresses)
			break;
		/* Before its first exec, a child is a copy of its parent. Most children execute a program at once, so that
		 * copy is described only if an event needs its mappings. Reports it now, before the keeper finds the event
		 * and looks at a process that may have executed another program meanwhile. */
		p->has_addresses = true;
		if (!p->has_executed)
			report(p, all);
		break;
	case PTRC_PERF_MAPPING:
		p = find(all, r->pid);
		if (p && p->has_program)
			add_mapping(p, r->mapping);
		/* The first mapping is that of the program's file, which the description needs. Reports the
		 * process now, so that its description precedes the events of the program. */
		if (p && p->has_program && p->mapping_count == 1)
			report(p, all);
		break;
	case PTRC_PERF_EXIT:
		return take_exit(all, r);
	case PTRC_PERF_LOST:
		/* Records of mappings of any process may be among the lost ones. */
		for (p = NULL; (p = ptrc_table_next(&all->processes, p));)
			p->are_mappings_doubtful |= p->has_program;
		break;
	default:
		break;
	}
	return false;
}
