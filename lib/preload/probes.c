/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "lib/preload/probes.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <trace.h>

#include "lib/base/atomic.h"
#include "lib/base/common.h"
#include "lib/base/file.h"
#include "lib/base/sys.h"
#include "lib/preload/event_type.h"
#include "lib/preload/notes.h"
#include "lib/preload/operand.h"
#include "lib/preload/patterns.h"
#include "lib/preload/signals.h"
#include "lib/preload/vfork.h"
#include "lib/process/self.h"
#include "lib/recorder/event.h"

/* ptrace-run(1) documents these names. */
#define NAME_START "sdt."
static struct ptrc_event_type left_out = {.name = "sdt.left_out", .layout = "str probe"};

/* The nop of a probe, what replaces it, and where the program counter is in the handler. */
#if defined(__x86_64__)
typedef uint8_t instruction;
static const instruction nop = 0x90, trap = 0xcc;
enum { TRAP_PASSED = 1 };
#else
typedef uint32_t instruction;
static const instruction nop = 0xd503201f, trap = 0xd4200000;
enum { TRAP_PASSED = 0 };
#endif

/* A name of probes, which may be at several places of a library. */
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

/* A program or library that is loaded. */
struct module {
	struct module *next;
	/* NULL once it was unloaded. */
	const struct link_map *map;
	bool is_seen;
	size_t site_count;
	struct site *sites;
	size_t probe_count;
	struct probe *probes;
};

static struct ptrc_patterns patterns;
/* The newest first. Handlers read the list at any time, so modules are never freed. */
static struct module *_Atomic modules;
/* The empty function that the dynamic linker calls, and whether it starts with a return; otherwise it starts with an
 * instruction without effect, of LINKER_SKIP bytes, that marks the target of a call. 0: not patched. */
static uint64_t linker_function;
static bool linker_returns;

enum { LINKER_SKIP = 4 };

/* ---- memory ---- */

/* Both use /proc/self/mem, which does not fail by a signal if the address is wrong, and writes to text that may only
 * be read. */
static bool read_memory(int fd, uint64_t address, void *to, size_t size)
{
	return ptrc_sys(SYS_pread64, fd, to, size, address) == (long)size;
}

static bool write_memory(int fd, uint64_t address, const void *from, size_t size)
{
	return ptrc_sys(SYS_pwrite64, fd, from, size, address) == (long)size;
}

/* ---- events ---- */

/* The offset of an argument of this size after `at` bytes, as layouts align it. */
static size_t place(size_t at, size_t size)
{
	return (at + size - 1) & ~(size - 1);
}

static void record(const struct site *s, const ucontext_t *c)
{
	unsigned char data[PTRC_OPERANDS_MAX * sizeof(uint64_t)] = {0};
	const struct ptrc_arguments *a = &s->probe->arguments;
	size_t at = 0;

	if (ptrc_load_relaxed(&ptrc_page_self->active) == 0 || ptrc_vfork_is_in_child())
		return;
	for (size_t i = 0; i < a->count; i++) {
		uint64_t value = ptrc_operand_value(&s->operands[i], c);

		at = place(at, a->list[i].size);
		memcpy(data + at, &value, a->list[i].size);
		at += a->list[i].size;
	}
	/* Readers look up the instruction before the event's address. */
	ptrc_event_record(ptrc_event_type_id(&s->probe->type), data, at, s->address + 1);
}

/* Says in the trace that a probe is not recorded. */
static void leave_out(const struct probe *p)
{
	const char *name = p->name + strlen(NAME_START);

	ptrc_event_record(ptrc_event_type_id(&left_out), name, strlen(name) + 1, 0);
}

/* ---- notes ---- */

struct scan {
	struct module *module;
	uint64_t bias;
	/* /proc/self/mem is open on it. */
	int memory_fd;
	/* How many probes are selected; first they are only counted. */
	size_t count;
};

/* Makes the name of the event. Returns false if the name is too long, or if no pattern selects the probe. */
static bool make_name(const struct ptrc_note *n, char name[TRACE_EVENT_NAME_MAX + 1])
{
	const char *const parts[] = {NAME_START, n->provider, ".", n->name};
	size_t used = 0;

	for (size_t i = 0; i < PTRC_ARRAY_COUNT(parts); i++) {
		size_t size = strlen(parts[i]);

		if (size > TRACE_EVENT_NAME_MAX - used)
			return false;
		memcpy(name + used, parts[i], size);
		used += size;
	}
	name[used] = '\0';
	return ptrc_patterns_match(&patterns, name + strlen(NAME_START));
}

static void count_note(void *arg, const struct ptrc_note *n)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	struct scan *s = arg;

	s->count += make_name(n, name);
}

/* Finds the probe of this name, or makes it. */
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

static void take_note(void *arg, const struct ptrc_note *n)
{
	struct scan *scan = arg;
	struct module *m = scan->module;
	struct site *s = &m->sites[m->site_count];
	char name[TRACE_EVENT_NAME_MAX + 1];
	size_t count;
	instruction now;

	/* The file may have changed since the probes were counted. */
	if (!make_name(n, name) || m->site_count == scan->count)
		return;
	s->probe = probe_of(m, name);
	s->address = scan->bias + n->address;
	s->semaphore = n->semaphore ? scan->bias + n->semaphore : 0;
	if (ptrc_operands_read(n->arguments, s->operands, &count) &&
	    read_memory(scan->memory_fd, s->address, &now, sizeof(now)) && now == nop &&
	    ptrc_arguments_add(&s->probe->arguments, s->operands, count))
		m->site_count++;
	else
		leave_out(s->probe);
}

/* ---- modules ---- */

/* Whether the file is the one that is loaded: their first bytes, which say where everything else is, are equal. */
static bool is_loaded(const struct ptrc_elf *e, const struct link_map *map, int memory_fd)
{
	const Elf64_Ehdr *head = ptrc_elf_head(e);
	const Elf64_Phdr *p;
	Elf64_Ehdr loaded;

	if (!head || head->e_phentsize != sizeof(*p))
		return false;
	p = ptrc_elf_part(e, head->e_phoff, head->e_phnum, sizeof(*p));
	for (size_t i = 0; p && i < head->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_offset == 0)
			return read_memory(memory_fd, map->l_addr + p[i].p_vaddr, &loaded,
					   sizeof(loaded)) &&
			       !memcmp(&loaded, head, sizeof(loaded));
	return false;
}

/* Writes the traps of the module, and tells its probes that there is a tracer. */
static void patch(const struct module *m, int memory_fd)
{
	for (size_t i = 0; i < m->site_count; i++) {
		const struct site *s = &m->sites[i];
		uint16_t tracers;

		if (!write_memory(memory_fd, s->address, &trap, sizeof(trap))) {
			leave_out(s->probe);
			continue;
		}
		if (!s->semaphore ||
		    !read_memory(memory_fd, s->semaphore, &tracers, sizeof(tracers)))
			continue;
		tracers++;
		write_memory(memory_fd, s->semaphore, &tracers, sizeof(tracers));
	}
}

static int compare(const struct site *a, const struct site *b)
{
	return (a->address > b->address) - (a->address < b->address);
}

/* Sorts the places by address, by a heap: a library may have thousands, and qsort() allocates. */
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

			child += child + 1 < end && compare(&list[child], &list[child + 1]) < 0;
			if (compare(&moving, &list[child]) >= 0)
				break;
			list[root] = list[child];
			root = child;
		}
		list[root] = moving;
	}
}

/* Adds the module, with the probes of its file. */
static void add_module(struct module *m, const struct ptrc_elf *e, int memory_fd)
{
	struct scan scan = {.module = m, .bias = m->map->l_addr, .memory_fd = memory_fd};
	uint64_t bytes;

	ptrc_notes_visit(e, count_note, &scan);
	bytes = scan.count * (sizeof(struct site) + sizeof(struct probe));
	m->sites = bytes ? ptrc_file_zeros(bytes) : NULL;
	if (!m->sites)
		return;
	m->probes = (struct probe *)(m->sites + scan.count);
	ptrc_notes_visit(e, take_note, &scan);
	sort(m->sites, m->site_count);
	for (size_t i = 0; i < m->probe_count; i++) {
		struct probe *p = &m->probes[i];

		ptrc_arguments_layout(&p->arguments, p->layout);
		p->type.name = p->name;
		p->type.layout = *p->layout ? p->layout : NULL;
	}
}

static void load(const struct link_map *map, int memory_fd)
{
	const char *path = *map->l_name ? map->l_name : "/proc/self/exe";
	struct module *m = ptrc_file_zeros(sizeof(*m));
	struct ptrc_elf e;
	struct stat st;
	long bytes;
	int fd;

	if (!m)
		return;
	m->map = map;
	m->is_seen = true;
	m->next = ptrc_load_relaxed(&modules);
	/* Opening a device or a pipe could have side effects, but no library is one. */
	if (!ptrc_file_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd)) {
		if (ptrc_file_stat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
			e.size = (uint64_t)st.st_size;
			bytes = ptrc_sys(SYS_mmap, 0, e.size, PROT_READ, MAP_PRIVATE, fd, 0);
			if (!ptrc_sys_is_error(bytes)) {
				e.bytes = (const uint8_t *)bytes;
				if (is_loaded(&e, map, memory_fd))
					add_module(m, &e, memory_fd);
				ptrc_sys(SYS_munmap, bytes, e.size);
			}
		}
		ptrc_file_close(fd);
	}
	/* The handler must find a place before it can be reached. */
	ptrc_store_release(&modules, m);
	patch(m, memory_fd);
}

/* Compares the modules with the list of the dynamic linker. */
static void look_at_modules(void)
{
	struct module *m;
	int memory_fd;

	if (ptrc_file_open(AT_FDCWD, "/proc/self/mem", O_RDWR, 0, &memory_fd))
		return;
	for (m = ptrc_load_relaxed(&modules); m; m = m->next)
		m->is_seen = false;
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
		for (m = ptrc_load_relaxed(&modules); m && m->map != map; m = m->next)
			continue;
		if (m)
			m->is_seen = true;
		else
			load(map, memory_fd);
	}
	for (m = ptrc_load_relaxed(&modules); m; m = m->next)
		if (!m->is_seen) {
			m->map = NULL;
			m->site_count = 0;
		}
	ptrc_file_close(memory_fd);
}

/* ---- traps ---- */

static const struct site *find(uint64_t address)
{
	for (const struct module *m = ptrc_load_acquire(&modules); m; m = m->next) {
		size_t first = 0, end = m->site_count;

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

static void do_return(ucontext_t *c)
{
	uint64_t *stack = (uint64_t *)&c->uc_mcontext.gregs[REG_RSP];

	*program_counter(c) = *(const uint64_t *)*stack;
	*stack += sizeof(uint64_t);
}

/* Whether the code starts with ret, rep ret, or endbr64. */
static bool know_linker(const unsigned char *code)
{
	static const unsigned char mark[] = {0xf3, 0x0f, 0x1e, 0xfa};

	linker_returns = code[0] == 0xc3 || (code[0] == 0xf3 && code[1] == 0xc3);
	return linker_returns || !memcmp(code, mark, sizeof(mark));
}
#else
static uint64_t *program_counter(ucontext_t *c)
{
	return (uint64_t *)&c->uc_mcontext.pc;
}

static void do_return(ucontext_t *c)
{
	c->uc_mcontext.pc = c->uc_mcontext.regs[30];
}

/* Whether the code starts with ret, or bti c. */
static bool know_linker(const unsigned char *code)
{
	static const unsigned char ret[] = {0xc0, 0x03, 0x5f, 0xd6},
				   mark[] = {0x5f, 0x24, 0x03, 0xd5};

	linker_returns = !memcmp(code, ret, sizeof(ret));
	return linker_returns || !memcmp(code, mark, sizeof(mark));
}
#endif

/* Handles a trap, if it is one of ours. */
static bool take_trap(ucontext_t *c)
{
	uint64_t address = *program_counter(c) - TRAP_PASSED;
	const struct site *s;

	if (address == linker_function) {
		if (_r_debug.r_state == RT_CONSISTENT)
			look_at_modules();
		if (linker_returns)
			do_return(c);
		else
			*program_counter(c) = address + LINKER_SKIP;
		return true;
	}
	s = find(address);
	if (!s)
		return false;
	record(s, c);
	*program_counter(c) = address + sizeof(instruction);
	return true;
}

/* Patches the function that the dynamic linker calls. */
static void watch_linker(void)
{
	uint64_t address = _r_debug.r_brk;
	int memory_fd;

	if (!address || !know_linker((const unsigned char *)address) ||
	    ptrc_file_open(AT_FDCWD, "/proc/self/mem", O_RDWR, 0, &memory_fd))
		return;
	ptrc_store_relaxed((_Atomic uint64_t *)&linker_function, address);
	write_memory(memory_fd, address, &trap, sizeof(trap));
	ptrc_file_close(memory_fd);
}

void ptrc_probes_begin(void)
{
	if (!ptrc_patterns_read(&patterns, PTRC_PROBES_VARIABLE) || !ptrc_signals_begin(take_trap))
		return;
	look_at_modules();
	watch_linker();
}
