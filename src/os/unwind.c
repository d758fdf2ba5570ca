/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/os/unwind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "src/base/table.h"
#include "src/query/libdw.h"

/* The most files whose unwinding tables are kept. For one more, the file that was used longest ago is dropped. */
#define FILES_MAX 256U
/* How many rows of these tables are kept. A row says, for one place in the code, how to find the caller of a frame. */
#define ROWS 16384U
/* The most executable segments of a file, and the most values on the stack of a DWARF expression. */
#define SEGMENTS_MAX 8U
#define DEPTH_MAX 16U
/* The most bytes of the vdso, the code that the kernel maps into each process. */
#define VDSO_BYTES 65536U

/* An address at least this far above the stack pointer is not on the stack, so it is no frame pointer. */
#define NEAR_BYTES (UINT64_C(1) << 30)
/* The bytes below the stack pointer in which a value that a function has just taken off its stack may be. */
#define RED_ZONE 128U

/* Registers have DWARF's numbers. Unwinding tables have rules for the first RULES registers. */
#if defined(__x86_64__)
enum {
	REGISTERS = 17,
	RULES = 17,
	STACK_POINTER = 7,
	FRAME_POINTER = 6,
	RETURN = 16,
	INSTRUCTION = 16
};
/* The registers of a sample, as bits, and as numbers of DWARF in the kernel's order: ax, bx, cx,
 * dx, si, di, bp, sp, ip, r8 to r15. */
#define KERNEL_REGISTERS UINT64_C(0xff01ff)
static const unsigned char numbers[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15};
#define ADDRESS_MASK UINT64_MAX
#define MACHINE EM_X86_64
#else
enum {
	REGISTERS = 33,
	RULES = 32,
	STACK_POINTER = 31,
	FRAME_POINTER = 29,
	RETURN = 30,
	INSTRUCTION = 32
};
/* The registers of a sample, in the kernel's order: x0 to x30, sp, pc. */
#define KERNEL_REGISTERS UINT64_C(0x1ffffffff)
static const unsigned char numbers[] = {0,  1,	2,  3,	4,  5,	6,  7,	8,  9,	10,
					11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
					22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
/* The highest 16 bits of a return address may be a signature of it (pointer authentication). */
#define ADDRESS_MASK ((UINT64_C(1) << 48) - 1)
#define MACHINE EM_AARCH64
#endif
_Static_assert(sizeof(numbers) <= PTRC_PERF_REGISTERS_MAX, "registers fit");

struct segment {
	uint64_t offset, bytes, address;
};

/* A mapped file, and its unwinding tables. */
struct file {
	struct ptrc_table_entry entry; /* the key: build id or inode, and path */
	uint64_t used;		       /* a number that grows with each use */
	int fd;
	Elf *elf;
	Dwarf_CFI *cfi; /* NULL: the file has no tables, or cannot be read */
	struct segment segments[SEGMENTS_MAX];
	size_t segment_count;
};

struct row {
	const struct file *file;
	uint64_t address;   /* in the file: see address_in_file() */
	Dwarf_Frame *frame; /* NULL: the file has no row for the address */
	bool is_signal;
};

struct ptrc_unwinder {
	struct ptrc_table files;
	uint64_t uses;
	struct row rows[ROWS];
};

/* The registers of a frame. */
struct state {
	uint64_t registers[REGISTERS];
	uint64_t known; /* a bit for each register whose value is known */
	/* Whether registers[INSTRUCTION] is the address of the instruction that the thread executes, or at which a
	 * signal interrupted the thread. If not, it is a return address, which is just after a call. */
	bool is_exact;
};

enum result {
	FOUND,
	/* The frame is the outermost one, so it has no caller. */
	LAST,
	/* The frame's caller is in a part of the stack that was not copied. */
	BEYOND_COPY,
	/* There is no row for the frame in the tables, or its row or its frame pointer makes no sense. */
	UNKNOWN,
};

struct ptrc_unwinder *ptrc_unwinder_new(struct ptrc_cli_reason *why)
{
	if (!ptrc_libdw_load(why))
		return NULL;
	ptrc_dw.elf_version(EV_CURRENT);
	return ptrc_cli_allocate(sizeof(struct ptrc_unwinder));
}

uint64_t ptrc_unwinder_registers(void)
{
	return KERNEL_REGISTERS;
}

/* ---- unwinding tables of files ---- */

static void close_file(struct file *f)
{
	if (f->cfi)
		ptrc_dw.dwarf_cfi_end(f->cfi);
	if (f->elf)
		ptrc_dw.elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
	f->cfi = NULL;
	f->elf = NULL;
	f->fd = -1;
}

void ptrc_unwinder_free(struct ptrc_unwinder *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < ROWS; i++)
		free(u->rows[i].frame);
	for (struct file *f = NULL; (f = ptrc_table_next(&u->files, f));)
		close_file(f);
	ptrc_table_free(&u->files);
	free(u);
}

/* Whether the open file is the one that the process has mapped. */
static bool is_mapped_file(const struct file *f, const struct ptrc_perf_mapping *m)
{
	const void *id = NULL;
	struct stat st;

	if (m->build_id_bytes)
		return ptrc_dw.dwelf_elf_gnu_build_id(f->elf, &id) == (ssize_t)m->build_id_bytes &&
		       !memcmp(id, m->build_id, m->build_id_bytes);
	/* For some file systems, fstat() returns another device number than the kernel reports for a mapping. Then
	 * inode numbers cannot be compared, so the file is accepted. */
	return fstat(f->fd, &st) || st.st_ino == m->inode.number ||
	       major(st.st_dev) != m->inode.major || minor(st.st_dev) != m->inode.minor;
}

static void take_segments(struct file *f)
{
	size_t count = 0;

	if (ptrc_dw.elf_getphdrnum(f->elf, &count))
		return;
	for (size_t i = 0; i < count && f->segment_count < SEGMENTS_MAX; i++) {
		GElf_Phdr mem, *ph = ptrc_dw.gelf_getphdr(f->elf, (int)i, &mem);

		if (ph && ph->p_type == PT_LOAD && (ph->p_flags & PF_X))
			f->segments[f->segment_count++] = (struct segment){.offset = ph->p_offset,
									   .bytes = ph->p_filesz,
									   .address = ph->p_vaddr};
	}
}

/* Takes the segments and the unwinding tables of f->elf, unless it is for another kind of processor. */
static void take_tables(struct file *f)
{
	GElf_Ehdr mem, *head = ptrc_dw.gelf_getehdr(f->elf, &mem);

	if (!head || head->e_machine != MACHINE || head->e_ident[EI_CLASS] != ELFCLASS64)
		return;
	take_segments(f);
	f->cfi = ptrc_dw.dwarf_getcfi_elf(f->elf);
}

/* Opens the file at the path if it is the one that is mapped. Reads the needed parts into memory instead of
 * mapping the file, because another program may truncate it. */
static bool open_path(struct file *f, const char *path, const struct ptrc_perf_mapping *m)
{
	f->fd = ptrc_libdw_open_regular(path);
	if (f->fd >= 0)
		f->elf = ptrc_dw.elf_begin(f->fd, ELF_C_READ, NULL);
	if (f->elf && is_mapped_file(f, m)) {
		take_tables(f);
		/* The tables are in memory, so the file can be closed. */
		ptrc_dw.elf_cntl(f->elf, ELF_C_FDDONE);
		close(f->fd);
		f->fd = -1;
		return true;
	}
	close_file(f);
	return false;
}

/* Opens the vdso, code that the kernel maps into each process, from this process: it is the same in all. */
static void open_vdso(struct file *f)
{
	char *image = (char *)getauxval(AT_SYSINFO_EHDR); /* NOLINT(performance-no-int-to-ptr) */
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)(const void *)image;
	uint64_t bytes = head ? head->e_shoff + (uint64_t)head->e_shnum * head->e_shentsize : 0;

	if (!bytes || bytes > VDSO_BYTES)
		return;
	f->elf = ptrc_dw.elf_memory(image, (size_t)bytes);
	if (f->elf)
		take_tables(f);
}

static void open_file(struct file *f, pid_t pid, const struct ptrc_perf_mapping *m)
{
	char path[4200];

	f->fd = -1;
	if (!strcmp(m->path, "[vdso]")) {
		open_vdso(f);
		return;
	}
	if (*m->path != '/' || !strcmp(m->path, "//anon") || open_path(f, m->path, m))
		return;
	/* In a container, the process may have another root directory; or the file may have been removed since. */
	snprintf(path, sizeof(path), "/proc/%ld/root%s", (long)pid, m->path);
	if (open_path(f, path, m))
		return;
	snprintf(path, sizeof(path), "/proc/%ld/map_files/%llx-%llx", (long)pid,
		 (unsigned long long)m->address, (unsigned long long)(m->address + m->bytes));
	open_path(f, path, m);
}

/* Drops the file that was used longest ago, and its rows. */
static void drop_file(struct ptrc_unwinder *u)
{
	struct file *oldest = NULL;

	for (struct file *f = NULL; (f = ptrc_table_next(&u->files, f));)
		if (!oldest || f->used < oldest->used)
			oldest = f;
	if (!oldest)
		return;
	for (size_t i = 0; i < ROWS; i++)
		if (u->rows[i].file == oldest) {
			free(u->rows[i].frame);
			u->rows[i] = (struct row){.file = NULL};
		}
	close_file(oldest);
	ptrc_table_remove(&u->files, oldest);
}

static struct file *file_of(struct ptrc_unwinder *u, pid_t pid, const struct ptrc_perf_mapping *m)
{
	unsigned char key[PTRC_PERF_BUILD_ID_MAX + 1 + sizeof(m->inode) + 4096];
	size_t size = 0, path = strnlen(m->path, 4096);
	struct file *f;

	memcpy(key, m->build_id, m->build_id_bytes);
	size += m->build_id_bytes;
	key[size++] = (unsigned char)m->build_id_bytes;
	memcpy(key + size, &m->inode, sizeof(m->inode));
	size += sizeof(m->inode);
	memcpy(key + size, m->path, path);
	size += path;
	f = ptrc_table_seek(&u->files, key, size);
	if (!f) {
		if (u->files.count >= FILES_MAX)
			drop_file(u);
		f = ptrc_table_find(&u->files, key, size, sizeof(*f));
		open_file(f, pid, m);
	}
	f->used = ++u->uses;
	return f;
}

/* ---- rows of unwinding tables ---- */

/* Converts an address in the process into the address that the tables of the file use for it. */
static bool address_in_file(const struct file *f, const struct ptrc_perf_mapping *m,
			    uint64_t address, uint64_t *in_file)
{
	uint64_t offset = address - m->address + m->offset;

	for (size_t i = 0; i < f->segment_count; i++) {
		const struct segment *s = &f->segments[i];

		/* The vdso needs no exception: the kernel maps it as a whole, with the offset 0. */
		if (offset - s->offset < s->bytes) {
			*in_file = offset - s->offset + s->address;
			return true;
		}
	}
	return false;
}

static const struct row *row_of(struct ptrc_unwinder *u, const struct file *f, uint64_t address)
{
	uint64_t hash = (address ^ (uint64_t)(uintptr_t)f << 20) * UINT64_C(0x9e3779b97f4a7c15);
	struct row *row = &u->rows[hash >> 50];

	_Static_assert(ROWS == 1U << 14, "the hash has as many bits");
	if (row->file == f && row->address == address)
		return row;
	free(row->frame);
	*row = (struct row){.file = f, .address = address};
	if (ptrc_dw.dwarf_cfi_addrframe(f->cfi, address, &row->frame))
		row->frame = NULL;
	else
		ptrc_dw.dwarf_frame_info(row->frame, NULL, NULL, &row->is_signal);
	return row;
}

/* ---- DWARF expressions ---- */

struct machine {
	const struct state *state;
	const struct ptrc_perf_copy *copy;
	uint64_t stack_pointer; /* of the innermost frame, where the copy starts */
	uint64_t frame_address; /* the canonical frame address (CFA) */
	bool has_frame_address;
	uint64_t stack[DEPTH_MAX];
	size_t depth;
	/* The expression's result is the value of the register, not the address where it is stored. */
	bool is_value;
	/* is_beyond: memory outside the copy was needed. is_near: that memory is less than NEAR_BYTES above the
	 * stack pointer, so it may belong to the stack. */
	bool is_beyond, is_near;
};

static bool read_memory(struct machine *m, uint64_t address, size_t bytes, uint64_t *value)
{
	uint64_t at = address - m->stack_pointer;

	*value = 0;
	if (at > m->copy->stack_bytes || bytes > m->copy->stack_bytes - at) {
		m->is_beyond = true;
		m->is_near = at < NEAR_BYTES;
		return false;
	}
	memcpy(value, m->copy->stack + at, bytes);
	return true;
}

static bool push(struct machine *m, uint64_t value)
{
	if (m->depth == DEPTH_MAX)
		return false;
	m->stack[m->depth++] = value;
	return true;
}

static bool push_register(struct machine *m, uint64_t number, uint64_t offset)
{
	return number < REGISTERS && (m->state->known & UINT64_C(1) << number) &&
	       push(m, m->state->registers[number] + offset);
}

/* Replaces the two values on top of the stack by the result of the operation. */
static bool combine(struct machine *m, unsigned int atom)
{
	uint64_t b, a;

	if (m->depth < 2)
		return false;
	b = m->stack[--m->depth];
	a = m->stack[--m->depth];
	switch (atom) {
	case DW_OP_and:
		return push(m, a & b);
	case DW_OP_or:
		return push(m, a | b);
	case DW_OP_xor:
		return push(m, a ^ b);
	case DW_OP_plus:
		return push(m, a + b);
	case DW_OP_minus:
		return push(m, a - b);
	case DW_OP_mul:
		return push(m, a * b);
	case DW_OP_shl:
		return push(m, b < 64 ? a << b : 0);
	case DW_OP_shr:
		return push(m, b < 64 ? a >> b : 0);
	case DW_OP_eq:
		return push(m, a == b);
	case DW_OP_ne:
		return push(m, a != b);
	case DW_OP_ge:
		return push(m, (int64_t)a >= (int64_t)b);
	case DW_OP_gt:
		return push(m, (int64_t)a > (int64_t)b);
	case DW_OP_le:
		return push(m, (int64_t)a <= (int64_t)b);
	case DW_OP_lt:
		return push(m, (int64_t)a < (int64_t)b);
	default:
		return false;
	}
}

static bool load(struct machine *m, size_t bytes)
{
	uint64_t value;

	if (!m->depth || bytes > sizeof(value) ||
	    !read_memory(m, m->stack[m->depth - 1], bytes, &value))
		return false;
	m->stack[m->depth - 1] = value;
	return true;
}

static bool run_one(struct machine *m, const Dwarf_Op *op)
{
	unsigned int atom = op->atom;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		return push(m, atom - DW_OP_lit0);
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		return push_register(m, atom - DW_OP_breg0, op->number);
	if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31) {
		m->is_value = true;
		return push_register(m, atom - DW_OP_reg0, 0);
	}
	switch (atom) {
	case DW_OP_nop:
		return true;
	case DW_OP_regx:
		m->is_value = true;
		return push_register(m, op->number, 0);
	case DW_OP_bregx:
		return push_register(m, op->number, op->number2);
	case DW_OP_call_frame_cfa:
		return m->has_frame_address && push(m, m->frame_address);
	case DW_OP_stack_value:
		m->is_value = true;
		return true;
	case DW_OP_addr:
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return push(m, op->number);
	case DW_OP_plus_uconst:
		return m->depth && (m->stack[m->depth - 1] += op->number, true);
	case DW_OP_dup:
		return m->depth && push(m, m->stack[m->depth - 1]);
	case DW_OP_drop:
		return m->depth && m->depth--;
	case DW_OP_deref:
		return load(m, sizeof(uint64_t));
	case DW_OP_deref_size:
		return load(m, (size_t)op->number);
	default:
		return combine(m, atom);
	}
}

/* Evaluates a DWARF expression, and leaves the value at the top of m->stack. Jumps are not supported, because
 * compilers do not write them into unwinding tables. */
static bool run(struct machine *m, const Dwarf_Op *ops, size_t count)
{
	m->depth = 0;
	m->is_value = false;
	for (size_t i = 0; i < count; i++)
		if (!run_one(m, &ops[i]))
			return false;
	return m->depth != 0;
}

/* ---- frames ---- */

/* Finds the value that a register had in the caller. *has_rule becomes false if the table has no
 * rule for the register. Returns false if the value cannot be found. */
static bool find_register(struct machine *m, Dwarf_Frame *frame, int number, uint64_t *value,
			  bool *has_rule)
{
	Dwarf_Op mem[3], *ops = NULL;
	uint64_t address;
	size_t count = 0;

	*has_rule = true;
	if (ptrc_dw.dwarf_frame_register(frame, number, mem, &ops, &count))
		return false;
	if (!count) {
		*has_rule = false;
		return true;
	}
	if (!run(m, ops, count))
		return false;
	address = *value = m->stack[m->depth - 1];
	if (m->is_value || read_memory(m, address, sizeof(*value), value))
		return true;
	/* Near its end, a function has already restored the register from the stack, although most tables do not
	 * say so. If the tables name a place just below the stack pointer, the register itself has the value. */
	*value = m->state->registers[number];
	return m->stack_pointer - address <= RED_ZONE && address < m->stack_pointer &&
	       number != RETURN && (m->state->known & UINT64_C(1) << number);
}

/* Computes the registers of the caller by a row of the tables. */
static enum result apply(struct machine *m, const struct row *row, struct state *caller)
{
	const struct state *s = m->state;
	uint64_t value;
	bool has_rule;
	Dwarf_Op *ops;
	size_t count;

	*caller = *s;
	caller->is_exact = row->is_signal;
	m->has_frame_address = false;
	if (ptrc_dw.dwarf_frame_cfa(row->frame, &ops, &count) || !run(m, ops, count))
		return m->is_beyond ? BEYOND_COPY : UNKNOWN;
	m->frame_address = m->stack[m->depth - 1];
	m->has_frame_address = true;
	for (int i = 0; i < RULES; i++) {
		if (!find_register(m, row->frame, i, &value, &has_rule)) {
			/* Only the return address has to be found. Any other register that is not found
			 * is unknown in the caller, which may not need it. */
			if (i == RETURN)
				return m->is_beyond ? BEYOND_COPY : UNKNOWN;
			caller->known &= ~(UINT64_C(1) << i);
			continue;
		}
		if (!has_rule && i == STACK_POINTER)
			value = m->frame_address;
		else if (!has_rule && i == RETURN && (i == INSTRUCTION || !s->is_exact))
			return LAST;
		else if (!has_rule)
			continue;
		caller->registers[i] = value;
		caller->known |= UINT64_C(1) << i;
	}
	if (!(caller->known & UINT64_C(1) << RETURN))
		return UNKNOWN;
	caller->registers[INSTRUCTION] = caller->registers[RETURN] & ADDRESS_MASK;
	return FOUND;
}

/* Returns an address within the instruction that the frame executes; for a return address, within the call. */
static uint64_t place_of(const struct state *s)
{
	return s->registers[INSTRUCTION] - !s->is_exact;
}

static enum result step_by_tables(struct ptrc_unwinder *u, struct machine *m, pid_t pid,
				  const struct ptrc_perf_mapping *mapping, struct state *caller)
{
	const struct row *row;
	uint64_t address;
	struct file *f;

	if (!mapping)
		return UNKNOWN;
	f = file_of(u, pid, mapping);
	if (!f->cfi || !address_in_file(f, mapping, place_of(m->state), &address))
		return UNKNOWN;
	row = row_of(u, f, address);
	return row->frame ? apply(m, row, caller) : UNKNOWN;
}

/* Finds the caller by the frame pointer, because code made at run time has no tables, but mostly keeps
 * frame pointers. The register points to the caller's saved frame pointer and return address. */
static enum result step_by_frame_pointer(struct machine *m, struct state *caller)
{
	const uint64_t frame = m->state->registers[FRAME_POINTER];
	uint64_t next, address;

	/* A frame pointer of 0 marks the outermost frame. */
	if ((m->state->known & UINT64_C(1) << FRAME_POINTER) && !frame)
		return LAST;
	if (!(m->state->known & UINT64_C(1) << FRAME_POINTER) || frame % sizeof(frame) ||
	    frame < m->state->registers[STACK_POINTER])
		return UNKNOWN;
	if (!read_memory(m, frame, sizeof(frame), &next) ||
	    !read_memory(m, frame + sizeof(frame), sizeof(frame), &address))
		return m->is_near ? BEYOND_COPY : UNKNOWN;
	*caller =
		(struct state){.known = UINT64_C(1) << FRAME_POINTER |
					UINT64_C(1) << STACK_POINTER | UINT64_C(1) << INSTRUCTION};
	caller->registers[FRAME_POINTER] = next;
	caller->registers[STACK_POINTER] = frame + 2 * sizeof(frame);
	caller->registers[INSTRUCTION] = address & ADDRESS_MASK;
	return FOUND;
}

static void begin(const struct ptrc_perf_copy *copy, struct state *s)
{
	*s = (struct state){.is_exact = true};
	for (size_t i = 0; i < sizeof(numbers) && i < copy->register_count; i++) {
		s->registers[numbers[i]] = copy->registers[i];
		s->known |= UINT64_C(1) << numbers[i];
	}
}

/* Finds the caller of a frame. */
static enum result step(struct ptrc_unwinder *u, struct ptrc_os_processes *processes, pid_t pid,
			struct machine *m, struct state *caller)
{
	enum result result = step_by_tables(
		u, m, pid, ptrc_os_processes_mapping(processes, pid, place_of(m->state)), caller);

	if (result != UNKNOWN)
		return result;
	result = step_by_frame_pointer(m, caller);
	if (result == FOUND && !ptrc_os_processes_mapping(processes, pid, place_of(caller)))
		return UNKNOWN;
	return result;
}

/* Whether both are the same frame. If tables make no sense, a frame could be its own caller for ever. */
static bool is_same_frame(const struct state *a, const struct state *b)
{
	return a->registers[INSTRUCTION] == b->registers[INSTRUCTION] &&
	       a->registers[STACK_POINTER] == b->registers[STACK_POINTER];
}

void ptrc_unwind(struct ptrc_unwinder *u, struct ptrc_os_processes *processes,
		 const struct ptrc_perf_record *r, struct ptrc_unwound *out)
{
	const struct ptrc_perf_copy *copy = r->stack.copy;
	struct machine m = {.copy = copy};
	struct state state, caller;

	begin(copy, &state);
	m.stack_pointer = state.registers[STACK_POINTER];
	m.state = &state;
	out->noise = 0;
	out->addresses[0] = state.registers[INSTRUCTION];
	out->count = 1;
	/* Without a copy of the stack, for example of a program of 32 bits, no callers can be found. */
	out->is_cut = !copy->stack_bytes;
	while (copy->stack_bytes) {
		enum result result;

		m.is_beyond = m.is_near = false;
		result = step(u, processes, r->pid, &m, &caller);
		if (result == LAST || (result == FOUND && !caller.registers[INSTRUCTION]))
			return;
		if (result == BEYOND_COPY || (result == FOUND && out->count == out->max)) {
			out->is_cut = true;
			return;
		}
		if (result == UNKNOWN || is_same_frame(&state, &caller) ||
		    !ptrc_os_processes_mapping(processes, r->pid, place_of(&caller))) {
			out->noise = 1;
			return;
		}
		out->addresses[out->count++] = caller.registers[INSTRUCTION];
		state = caller;
	}
}
