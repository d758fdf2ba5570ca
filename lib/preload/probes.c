/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "lib/preload/probes.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <trace.h>

#include "lib/base/atomic.h"
#include "lib/base/common.h"
#include "lib/base/file.h"
#include "lib/base/sys.h"
#include "lib/preload/descriptors.h"
#include "lib/preload/event_type.h"
#include "lib/preload/notes.h"
#include "lib/preload/operand.h"
#include "lib/preload/patterns.h"
#include "lib/preload/signals.h"
#include "lib/preload/vfork.h"
#include "lib/process/self.h"
#include "lib/recorder/event.h"

/* posixtrace-sdt(7) documents these names. */
#define NAME_START "sdt."
static struct ptrc_event_type left_out = {.name = "sdt.left_out", .layout = "str probe"};

/* An event sdt.left_out has this in place of a name if newly loaded libraries were not searched. */
#define ALL_LEFT_OUT "*"

/* The nop of a probe, the trap that replaces it, and by how many bytes the program counter has
 * passed the trap when the handler runs. */
#if defined(__x86_64__)
typedef uint8_t instruction;
static const instruction nop = 0x90, trap = 0xcc;
enum { TRAP_PASSED = 1 };
#else
typedef uint32_t instruction;
static const instruction nop = 0xd503201f, trap = 0xd4200000;
enum { TRAP_PASSED = 0 };
#endif

/* A probe of a library. It may be at several places (struct site) of the code. */
struct probe {
	struct ptrc_event_type type;
	char name[TRACE_EVENT_NAME_MAX + 1];
	char layout[PTRC_ARGUMENTS_LAYOUT_BYTES];
	struct ptrc_arguments arguments;
};

struct site {
	uint64_t address;
	uint64_t semaphore;
	struct probe *probe;
	struct ptrc_operand operands[PTRC_OPERANDS_MAX];
};

/* The loaded program, or a loaded library, with its probes. */
struct module {
	struct module *next;
	/* its entry in the list of the dynamic linker; NULL after it was unloaded: then another
	 * module may reuse this memory */
	const struct link_map *map;
	bool is_seen;
	/* the number of elements for which `sites` and `probes` have memory */
	size_t capacity;
	_Atomic size_t site_count;
	struct site *sites;
	size_t probe_count;
	struct probe *probes;
};

static char *patterns;
/* The list of modules, newest first. Handlers read it at any time, so modules are never freed. A
 * handler may still read sites of an unloaded module while those of another module overwrite them,
 * but it reads none beyond `capacity`. */
static struct module *_Atomic modules;
/* The address of the empty function that the dynamic linker calls when its list of loaded objects
 * has changed; 0: the function has no trap. */
static _Atomic uint64_t linker_function;

/* ---- memory ---- */

/* read_memory() and write_memory() use /proc/self/mem (fd): a wrong address is an error and not a
 * signal, and code can be written although its pages are read-only. */
static bool read_memory(int fd, uint64_t address, void *to, size_t size)
{
	return ptrc_sys(SYS_pread64, fd, to, size, address) == (long)size;
}

static bool write_memory(int fd, uint64_t address, const void *from, size_t size)
{
	return ptrc_sys(SYS_pwrite64, fd, from, size, address) == (long)size;
}

/* ---- events ---- */

/* The offset of an argument of this size after `at` bytes of data: layouts align a field to its
 * size. */
static size_t place(size_t at, size_t size)
{
	return (at + size - 1) & ~(size - 1);
}

static void record(const struct site *s, const ucontext_t *c)
{
	unsigned char data[PTRC_OPERANDS_MAX * sizeof(uint64_t)] = {0};
	const struct ptrc_arguments *a = &s->probe->arguments;
	bool may_call = ptrc_descriptors_are_known();
	size_t at = 0;

	if (ptrc_load_relaxed(&ptrc_page_self->active) == 0 || ptrc_vfork_is_in_child())
		return;
	for (size_t i = 0; i < a->count; i++) {
		uint64_t value = ptrc_operand_value(&s->operands[i], c, may_call);

		at = place(at, a->list[i].size);
		memcpy(data + at, &value, a->list[i].size);
		at += a->list[i].size;
	}
	/* The event's address is one more than the probe's, because readers look up the instruction
	 * before the event's address. */
	ptrc_event_record(ptrc_event_type_id(&s->probe->type), data, at, s->address + 1);
}

/* Records an event that says that the probe `name` is not recorded. */
static void leave_out(const char *name)
{
	ptrc_event_record(ptrc_event_type_id(&left_out), name, strlen(name) + 1, 0);
}

static void leave_out_probe(const struct probe *p)
{
	leave_out(p->name + strlen(NAME_START));
}

/* ---- notes ---- */

struct scan {
	struct module *module;
	/* the module's file, mapped */
	const struct ptrc_elf *elf;
	uint64_t bias;
	/* a descriptor of /proc/self/mem */
	int memory_fd;
	/* the number of places of selected probes; counted before memory is allocated for them */
	size_t count;
};

/* Makes the name of the event, sdt.PROVIDER.NAME. A name that is too long is cut, and *is_whole
 * becomes false. Returns false if no pattern selects the probe. */
static bool make_name(const struct ptrc_note *n, char name[TRACE_EVENT_NAME_MAX + 1],
		      bool *is_whole)
{
	const char *const parts[] = {NAME_START, n->provider, ".", n->name};
	size_t used = 0;

	*is_whole = true;
	for (size_t i = 0; i < PTRC_ARRAY_COUNT(parts); i++) {
		size_t size = strlen(parts[i]);

		if (size > TRACE_EVENT_NAME_MAX - used) {
			*is_whole = false;
			size = TRACE_EVENT_NAME_MAX - used;
		}
		memcpy(name + used, parts[i], size);
		used += size;
	}
	name[used] = '\0';
	return ptrc_patterns_match(patterns, name + strlen(NAME_START));
}

static void count_note(void *arg, const struct ptrc_note *n)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	struct scan *s = arg;
	bool is_whole;

	s->count += make_name(n, name, &is_whole);
}

/* Reports a selected probe as not recorded, because the file is not the one that is loaded. */
static void leave_out_note(void *arg, const struct ptrc_note *n)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	bool is_whole;

	(void)arg;
	if (make_name(n, name, &is_whole))
		leave_out(name + strlen(NAME_START));
}

/* Returns the module's probe of this name; adds it if there is none. */
static struct probe *probe_of(struct module *m, const char *name)
{
	struct probe *p = m->probes;

	for (; p < m->probes + m->probe_count; p++)
		if (!strcmp(p->name, name))
			return p;
	m->probe_count++;
	memcpy(p->name, name, strlen(name) + 1);
	return p;
}

/* Returns the segment that contains these bytes of memory and has this flag (PF_X, PF_W); NULL if
 * there is none. */
static const Elf64_Phdr *segment_of(const struct ptrc_elf *e, uint64_t address, size_t size,
				    uint32_t flag)
{
	const Elf64_Ehdr *head = ptrc_elf_head(e);
	const Elf64_Phdr *p = ptrc_elf_part(e, head->e_phoff, head->e_phnum, sizeof(*p));

	for (size_t i = 0; p && i < head->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_flags & flag && address >= p[i].p_vaddr &&
		    p[i].p_memsz >= size && address - p[i].p_vaddr <= p[i].p_memsz - size)
			return &p[i];
	return NULL;
}

/* Whether a nop is at the address, in the file and in memory, and the code around it is the same in
 * both. */
static bool is_nop(const struct scan *s, uint64_t address)
{
	/* the number of bytes before and after the nop that are compared */
	enum { AROUND = 16 };
	const Elf64_Phdr *p = segment_of(s->elf, address, sizeof(instruction), PF_X);
	uint64_t at = p ? address - p->p_vaddr : 0;
	uint64_t first = at > AROUND ? at - AROUND : 0, count = at - first + sizeof(instruction);
	unsigned char loaded[2 * AROUND + sizeof(instruction)];
	const unsigned char *in_file;

	if (!p || p->p_offset > s->elf->size || p->p_filesz > s->elf->size - p->p_offset ||
	    p->p_filesz < at + sizeof(instruction))
		return false;
	count += p->p_filesz - at - sizeof(instruction) < AROUND
			 ? p->p_filesz - at - sizeof(instruction)
			 : AROUND;
	in_file = s->elf->bytes + p->p_offset + first;
	return read_memory(s->memory_fd, s->bias + p->p_vaddr + first, loaded, count) &&
	       !memcmp(loaded, in_file, count) && !memcmp(loaded + (at - first), &nop, sizeof(nop));
}

static void take_note(void *arg, const struct ptrc_note *n)
{
	struct scan *scan = arg;
	struct module *m = scan->module;
	struct site *s;
	char name[TRACE_EVENT_NAME_MAX + 1];
	bool is_whole;
	size_t count;

	if (!make_name(n, name, &is_whole))
		return;
	if (!is_whole) {
		leave_out(name + strlen(NAME_START));
		return;
	}
	/* The file may have changed since the probes were counted. */
	if (m->site_count == scan->count || m->probe_count == scan->count)
		return;
	s = &m->sites[m->site_count];
	s->probe = probe_of(m, name);
	s->address = scan->bias + n->address;
	s->semaphore = n->semaphore ? scan->bias + n->semaphore : 0;
	if ((!n->semaphore || segment_of(scan->elf, n->semaphore, sizeof(uint16_t), PF_W)) &&
	    ptrc_operands_read(n->arguments, s->operands, &count) && is_nop(scan, n->address) &&
	    ptrc_arguments_add(&s->probe->arguments, s->operands, count))
		m->site_count++;
	else
		leave_out_probe(s->probe);
}

/* ---- modules ---- */

/* Whether the file is the one that is loaded: the first bytes in file and memory are equal. These
 * bytes contain the offsets of all other parts, and the build ID. */
static bool is_loaded(const struct ptrc_elf *e, const struct link_map *map, int memory_fd)
{
	enum { MAX = 4096 };
	const Elf64_Phdr *p = ptrc_elf_first_segment(e);
	unsigned char loaded[256];
	uint64_t size, part;

	if (!p)
		return false;
	size = p->p_flags & PF_W ? sizeof(Elf64_Ehdr) : p->p_filesz < MAX ? p->p_filesz : MAX;
	for (uint64_t at = 0; at < size && at < e->size; at += part) {
		part = size - at < sizeof(loaded) ? size - at : sizeof(loaded);
		if (part > e->size - at ||
		    !read_memory(memory_fd, map->l_addr + p->p_vaddr + at, loaded, part) ||
		    memcmp(loaded, e->bytes + at, part) != 0)
			return false;
	}
	return true;
}

/* Replaces the nops of the module's probes by traps, and increases their counters of tracers
 * (semaphores). */
static void patch(const struct module *m, int memory_fd)
{
	for (size_t i = 0; i < m->site_count; i++) {
		const struct site *s = &m->sites[i];
		uint16_t tracers;

		if (!write_memory(memory_fd, s->address, &trap, sizeof(trap))) {
			leave_out_probe(s->probe);
			continue;
		}
		if (!s->semaphore ||
		    !read_memory(memory_fd, s->semaphore, &tracers, sizeof(tracers)))
			continue;
		tracers++;
		write_memory(memory_fd, s->semaphore, &tracers, sizeof(tracers));
	}
}

/* Sorts the sites by address, with heapsort: a library may have thousands of sites, and qsort()
 * allocates memory. */
static void sort(struct site *list, size_t count)
{
	for (size_t start = count / 2, end = count; end > 1;) {
		struct site moving;
		size_t root;

		if (start) {
			moving = list[--start];
		} else {
			moving = list[--end];
			list[end] = list[0];
		}
		for (root = start; 2 * root + 1 < end;) {
			size_t child = 2 * root + 1;

			child += child + 1 < end && list[child].address < list[child + 1].address;
			if (moving.address >= list[child].address)
				break;
			list[root] = list[child];
			root = child;
		}
		list[root] = moving;
	}
}

/* If several sites have the same address, because several notes name it, removes all but one of
 * them: there can be only one trap at an address. */
static void remove_doubles(struct module *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->site_count; i++) {
		const struct site *s = &m->sites[i];

		if (!kept || m->sites[kept - 1].address != s->address)
			m->sites[kept++] = *s;
		else if (m->sites[kept - 1].probe != s->probe)
			leave_out_probe(s->probe);
	}
	m->site_count = kept;
}

static void fill(struct scan *scan)
{
	struct module *m = scan->module;

	ptrc_notes_visit(scan->elf, take_note, scan);
	sort(m->sites, m->site_count);
	remove_doubles(m);
	for (size_t i = 0; i < m->probe_count; i++) {
		struct probe *p = &m->probes[i];

		ptrc_arguments_layout(&p->arguments, p->layout);
		p->type.name = p->name;
		p->type.layout = *p->layout ? p->layout : NULL;
	}
}

/* Reuses the smallest unloaded module with enough memory, or allocates a new one. NULL: no
 * memory. */
static struct module *make_module(size_t capacity)
{
	uint64_t bytes = capacity * (sizeof(struct site) + sizeof(struct probe));
	struct module *m = NULL;

	for (struct module *old = ptrc_load_relaxed(&modules); old; old = old->next)
		if (!old->map && old->capacity >= capacity && (!m || old->capacity < m->capacity))
			m = old;
	if (m) {
		memset(m->sites, 0, bytes);
		m->probe_count = 0;
	} else {
		m = ptrc_file_zeros(sizeof(*m) + bytes);
		if (!m)
			return NULL;
		m->capacity = capacity;
		m->sites = (struct site *)(m + 1);
		m->next = ptrc_load_relaxed(&modules);
		/* The SIGTRAP handler can find the module from here on; it has no sites yet. */
		ptrc_store_release(&modules, m);
	}
	m->probes = (struct probe *)(m->sites + capacity);
	return m;
}

/* Adds a module and writes its traps. e: the module's file; NULL if the file cannot be read, so
 * that the module gets no probes. */
static void add_module(const struct link_map *map, const struct ptrc_elf *e, int memory_fd)
{
	struct scan scan = {.elf = e, .bias = map->l_addr, .memory_fd = memory_fd};
	struct module *m;

	if (e)
		ptrc_notes_visit(e, count_note, &scan);
	if (scan.count && !is_loaded(e, map, memory_fd)) {
		ptrc_notes_visit(e, leave_out_note, NULL);
		scan.count = 0;
	}
	m = make_module(scan.count);
	if (!m)
		return;
	m->map = map;
	scan.module = m;
	if (scan.count)
		fill(&scan);
	patch(m, memory_fd);
}

static void load(const struct link_map *map, int memory_fd)
{
	const char *path = *map->l_name ? map->l_name : "/proc/self/exe";
	struct ptrc_elf e;
	bool is_mapped = ptrc_elf_map(&e, path, 0);

	add_module(map, is_mapped ? &e : NULL, memory_fd);
	if (is_mapped)
		ptrc_elf_unmap(&e);
}

static struct module *module_of(const struct link_map *map)
{
	struct module *m = ptrc_load_relaxed(&modules);

	while (m && m->map != map)
		m = m->next;
	return m;
}

/* Releases the modules that the dynamic linker has unloaded: their memory can be reused. Returns
 * whether it has loaded new ones. */
static bool mark_modules(void)
{
	bool is_any_new = false;
	struct module *m;

	for (m = ptrc_load_relaxed(&modules); m; m = m->next)
		m->is_seen = false;
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
		m = module_of(map);
		if (m)
			m->is_seen = true;
		else
			is_any_new = true;
	}
	for (m = ptrc_load_relaxed(&modules); m; m = m->next)
		if (m->map && !m->is_seen) {
			ptrc_store_release(&m->site_count, 0);
			m->map = NULL;
		}
	return is_any_new;
}

/* Updates the list of modules after the dynamic linker has changed its list of libraries. */
static void look_at_modules(void)
{
	static bool is_left_out;
	PTRC_FD(memory_fd);

	if (!mark_modules())
		return;
	/* The system calls below might kill a process that restricts its system calls by
	 * seccomp. */
	if (!ptrc_descriptors_are_known() ||
	    ptrc_file_open(AT_FDCWD, "/proc/self/mem", O_RDWR, 0, &memory_fd)) {
		if (!is_left_out)
			leave_out(ALL_LEFT_OUT);
		is_left_out = true;
		return;
	}
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
		if (!module_of(map))
			load(map, memory_fd);
}

/* ---- traps ---- */

static const struct site *find(uint64_t address)
{
	for (const struct module *m = ptrc_load_acquire(&modules); m; m = m->next) {
		size_t first = 0, end = ptrc_load_acquire(&m->site_count);

		while (first < end) {
			size_t middle = first + (end - first) / 2;

			if (m->sites[middle].address == address)
				return &m->sites[middle];
			if (m->sites[middle].address < address)
				first = middle + 1;
			else
				end = middle;
		}
	}
	return NULL;
}

#if defined(__x86_64__)
static uint64_t *program_counter(ucontext_t *c)
{
	return (uint64_t *)&c->uc_mcontext.gregs[REG_RIP];
}

/* Prepares the linker's function for a trap of one byte at its start. After the trap the remaining
 * code must have the same effect as the whole function, because a debugger that takes the trap may
 * continue there. A function that is only `ret` gets a second `ret` in the padding that follows it.
 * `rep ret` and `endbr64` without their first byte are `ret` and a nop. Returns false if the code
 * has another form. */
static bool prepare_linker(uint64_t address, int memory_fd)
{
	const unsigned char *code = (const unsigned char *)address, ret = 0xc3;
	/* the rest of `endbr64`, and bytes with which padding starts */
	static const unsigned char mark[] = {0x0f, 0x1e, 0xfa}, short_nop = 0x90, trap_byte = 0xcc,
				   prefix = 0x66, long_nop[] = {0x0f, 0x1f};

	if (code[0] == 0xf3)
		return code[1] == ret || !memcmp(code + 1, mark, sizeof(mark));
	if (code[0] != ret || address % 16)
		return false;
	return code[1] == ret ||
	       ((code[1] == short_nop || code[1] == trap_byte || code[1] == prefix ||
		 !memcmp(code + 1, long_nop, sizeof(long_nop))) &&
		write_memory(memory_fd, address + 1, &ret, sizeof(ret)));
}

static void leave_linker(ucontext_t *c)
{
	(void)c;
}
#else
static uint64_t *program_counter(ucontext_t *c)
{
	return (uint64_t *)&c->uc_mcontext.pc;
}

/* Whether the function starts with `ret`; otherwise it starts with `bti c`, which has no effect
 * here. */
static bool linker_returns;

/* Returns false if the linker's function starts with neither `ret` nor `bti c`, so that
 * leave_linker() could not execute the replaced instruction. */
static bool prepare_linker(uint64_t address, int memory_fd)
{
	static const unsigned char ret[] = {0xc0, 0x03, 0x5f, 0xd6},
				   mark[] = {0x5f, 0x24, 0x03, 0xd5};

	(void)memory_fd;
	linker_returns = !memcmp((const void *)address, ret, sizeof(ret));
	return linker_returns || !memcmp((const void *)address, mark, sizeof(mark));
}

static void leave_linker(ucontext_t *c)
{
	c->uc_mcontext.pc = linker_returns ? c->uc_mcontext.regs[30] : c->uc_mcontext.pc + 4;
}
#endif

/* Handles a trap. Returns false if this library has not written it. */
static bool take_trap(ucontext_t *c)
{
	uint64_t address = *program_counter(c) - TRAP_PASSED;
	const struct site *s;

	if (address == ptrc_load_relaxed(&linker_function)) {
		if (_r_debug.r_state == RT_CONSISTENT)
			look_at_modules();
		leave_linker(c);
		return true;
	}
	s = find(address);
	if (!s)
		return false;
	record(s, c);
	*program_counter(c) = address + sizeof(instruction);
	return true;
}

/* Writes a trap into the function that the dynamic linker calls when its list of libraries has
 * changed. */
static void watch_linker(void)
{
	uint64_t address = _r_debug.r_brk;
	PTRC_FD(memory_fd);

	if (!address || ptrc_file_open(AT_FDCWD, "/proc/self/mem", O_RDWR, 0, &memory_fd))
		return;
	if (prepare_linker(address, memory_fd)) {
		ptrc_store_relaxed(&linker_function, address);
		write_memory(memory_fd, address, &trap, sizeof(trap));
	}
}

void ptrc_probes_begin(void)
{
	patterns = ptrc_patterns_read(PTRC_PROBES_VARIABLE);
	if (!patterns || !ptrc_signals_begin(take_trap))
		return;
	look_at_modules();
	watch_linker();
}
