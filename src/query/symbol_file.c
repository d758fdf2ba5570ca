/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/query/symbol_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/buffer.h"
#include "src/base/scope.h"
#include "src/base/table.h"
#include "src/query/libdw.h"

/* The least and the greatest size, in bytes, of a build id for which a file is looked up. */
enum { BUILD_ID_MIN = 3, BUILD_ID_MAX = 64 };
/* REFERENCES_MAX: the most references from the definition of a function to its declaration, and the most functions
 * around a lambda. SCOPES_MAX: the most parts of a name, and the most nested scopes that are searched. */
enum { REFERENCES_MAX = 16, SCOPES_MAX = 32 };

struct ptrc_symbol_file {
	Dwfl *dwfl;
	Dwfl_Module *module;
	Elf *elf;
	/* The addresses that libdw uses are those in the file plus `bias`. */
	GElf_Addr bias;
	/* The file is a debug file that was split off from the mapped file. Code has the same
	 * addresses in both, but other offsets in the file. */
	bool is_split;
	/* The texts that join() has made, which are the keys. */
	struct ptrc_table texts;
};

/* ---- files ---- */

void ptrc_symbol_file_free(struct ptrc_symbol_file *f)
{
	ptrc_table_free(&f->texts);
	if (f->dwfl)
		ptrc_dw.dwfl_end(f->dwfl);
	free(f);
}

/* Opens the file if it has this build id. Otherwise returns NULL, and sets *has_other_id if the file exists with
 * another build id. */
static struct ptrc_symbol_file *open_file(const char *path, const unsigned char *build_id,
					  size_t size, bool *has_other_id)
{
	/* With these callbacks libdw looks for debug information in /usr/lib/debug, by build id or name. It asks
	 * a server only if the environment variable DEBUGINFOD_URLS names one. */
	static Dwfl_Callbacks callbacks;
	struct ptrc_symbol_file *f;
	const void *found = NULL;
	int fd = ptrc_libdw_open_regular(path);

	if (fd < 0)
		return NULL;
	callbacks.find_debuginfo = ptrc_dw.dwfl_standard_find_debuginfo;
	callbacks.section_address = ptrc_dw.dwfl_offline_section_address;
	f = ptrc_cli_allocate(sizeof(*f));
	f->dwfl = ptrc_dw.dwfl_begin(&callbacks);
	if (f->dwfl) {
		ptrc_dw.dwfl_report_begin(f->dwfl);
		f->module = ptrc_dw.dwfl_report_offline(f->dwfl, path, path, fd);
		ptrc_dw.dwfl_report_end(f->dwfl, NULL, NULL);
	}
	/* If there is a module, it owns the descriptor, and closes it. */
	if (!f->module)
		close(fd);
	else
		f->elf = ptrc_dw.dwfl_module_getelf(f->module, &f->bias);
	if (f->elf && ptrc_dw.dwelf_elf_gnu_build_id(f->elf, &found) == (ssize_t)size &&
	    memcmp(found, build_id, size) == 0)
		return f;
	*has_other_id = true;
	ptrc_symbol_file_free(f);
	return NULL;
}

struct ptrc_symbol_file *ptrc_symbol_file_open(const char *path, const unsigned char *build_id,
					       size_t size, struct ptrc_cli_reason *why)
{
	char other[sizeof("/usr/lib/debug/.build-id/") + 2 * BUILD_ID_MAX + sizeof("/.debug")];
	struct ptrc_symbol_file *f;
	bool has_other_id = false, is_damaged = false;
	char *end = other;

	if (size < BUILD_ID_MIN || size > BUILD_ID_MAX) {
		ptrc_cli_because(why, "the log does not tell the build id of this file");
		return NULL;
	}
	f = open_file(path, build_id, size, &has_other_id);
	if (f)
		return f;
	end = stpcpy(end, "/usr/lib/debug/.build-id/");
	for (size_t i = 0; i < size; i++)
		end += snprintf(end, 4, i ? "%02x" : "%02x/", build_id[i]);
	f = open_file(other, build_id, size, &is_damaged);
	if (f)
		return f;
	stpcpy(end, ".debug");
	f = open_file(other, build_id, size, &is_damaged);
	if (f)
		f->is_split = true;
	else
		ptrc_cli_because(why, "%s, and there is no %s",
				 has_other_id ? "this file is not the one that was traced: its "
						"build id is another one"
					      : "this file is not there any more",
				 other);
	return f;
}

bool ptrc_symbol_file_has_lines(struct ptrc_symbol_file *f)
{
	GElf_Addr bias;

	return ptrc_dw.dwfl_module_getdwarf(f->module, &bias) != NULL;
}

bool ptrc_symbol_file_has_names(struct ptrc_symbol_file *f)
{
	int count = ptrc_dw.dwfl_module_getsymtab(f->module);

	/* A stripped program still has symbols of the functions that it imports. */
	for (int i = 0; i < count; i++) {
		GElf_Word section;
		GElf_Sym symbol;

		if (ptrc_dw.dwfl_module_getsym(f->module, i, &symbol, &section) &&
		    GELF_ST_TYPE(symbol.st_info) == STT_FUNC && section != SHN_UNDEF)
			return true;
	}
	return false;
}

/* ---- addresses ---- */

/* Iterates over the segments that a program is loaded from; *number is 0 for the first call. Returns NULL after the
 * last. */
static GElf_Phdr *next_segment(const struct ptrc_symbol_file *f, size_t *number, GElf_Phdr *mem)
{
	size_t count = 0;

	if (ptrc_dw.elf_getphdrnum(f->elf, &count))
		return NULL;
	while (*number < count) {
		GElf_Phdr *ph = ptrc_dw.gelf_getphdr(f->elf, (int)(*number)++, mem);

		if (ph && ph->p_type == PT_LOAD)
			return ph;
	}
	return NULL;
}

/* Finds the segment of code that the mapping maps, assuming that a mapping always covers a whole segment. Stores the
 * segment's address according to the file's program header, rounded down to a page. Returns false if no segment fits
 * the mapping, or if several do. */
static bool start_in_file(const struct ptrc_symbol_file *f, const struct posixtrace_log_mapping *m,
			  uint64_t *start)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	size_t number = 0, found = 0;
	GElf_Phdr mem, *ph;

	while ((ph = next_segment(f, &number, &mem))) {
		uint64_t first = ph->p_vaddr & ~(page - 1);
		uint64_t end = (ph->p_vaddr + ph->p_memsz + page - 1) & ~(page - 1);

		/* A split-off file has other offsets, but segments of the same size. */
		if (ph->p_flags & PF_X &&
		    (f->is_split ? end - first == m->pm_end - m->pm_start
				 : (ph->p_offset & ~(page - 1)) == m->pm_offset)) {
			*start = first;
			found++;
		}
	}
	return found == 1;
}

/* Converts an address in the process into the address that the file has for it. Returns false if the file has no
 * such address. */
static bool address_in_file(const struct ptrc_symbol_file *f,
			    const struct posixtrace_log_mapping *m, uint64_t address,
			    uint64_t *in_file)
{
	uint64_t offset = address - m->pm_start + m->pm_offset;
	size_t number = 0;
	GElf_Phdr mem, *ph;

	/* The mapping has the offset in the original file, which is not that in a split-off file. */
	if (f->is_split) {
		if (!start_in_file(f, m, in_file))
			return false;
		*in_file += address - m->pm_start;
		return true;
	}
	while ((ph = next_segment(f, &number, &mem)))
		if (offset >= ph->p_offset && offset - ph->p_offset < ph->p_filesz) {
			*in_file = offset - ph->p_offset + ph->p_vaddr;
			return true;
		}
	return false;
}

/* Finds the compilation unit of an address. Not all compilers write a table of units, and for an address that the
 * table lacks libdw may return another unit. So if the unit found does not include the address, searches all
 * units. */
static Dwarf_Die *find_unit(struct ptrc_symbol_file *f, GElf_Addr address, GElf_Addr *bias)
{
	Dwarf_Die *unit = ptrc_dw.dwfl_module_addrdie(f->module, address, bias);

	if (unit && ptrc_dw.dwarf_haspc(unit, address - *bias) == 1)
		return unit;
	unit = NULL;
	while ((unit = ptrc_dw.dwfl_module_nextcu(f->module, unit, bias)))
		if (ptrc_dw.dwarf_haspc(unit, address - *bias) == 1)
			return unit;
	return NULL;
}

/* ---- names ---- */

/* Joins texts with the separator between them. The result stays valid as long as the file is open. */
static const char *join(struct ptrc_symbol_file *f, const char *const *parts, size_t count,
			const char *separator)
{
	PTRC_SCOPED_BUFFER text = PTRC_BUFFER_INIT;
	struct ptrc_table_entry *e;

	for (size_t i = 0; i < count; i++) {
		ptrc_buffer_text(&text, i ? separator : "");
		ptrc_buffer_text(&text, parts[i]);
	}
	ptrc_buffer_char(&text, '\0');
	e = ptrc_table_find(&f->texts, text.bytes, text.used, sizeof(*e));
	return (const char *)e->key;
}

/* The path of a source file. A relative path is completed by the working directory of the compiler. */
static const char *path_of(struct ptrc_symbol_file *f, Dwarf_Die *unit, const char *path)
{
	Dwarf_Attribute attr;
	const char *directory = NULL;

	if (path && *path != '/' && ptrc_dw.dwarf_attr(unit, DW_AT_comp_dir, &attr))
		directory = ptrc_dw.dwarf_formstring(&attr);
	return directory ? join(f, (const char *[]){directory, path}, 2, "/") : path;
}

/* Follows references from the definition of a function to its declaration. The namespaces and classes around the
 * declaration belong to the function's name. */
static Dwarf_Die declaration_of(const Dwarf_Die *definition)
{
	Dwarf_Die die = *definition;

	for (int i = 0; i < REFERENCES_MAX; i++) {
		Dwarf_Attribute attr;
		Dwarf_Die next;

		if (!ptrc_dw.dwarf_attr(&die, DW_AT_abstract_origin, &attr) &&
		    !ptrc_dw.dwarf_attr(&die, DW_AT_specification, &attr))
			break;
		if (!ptrc_dw.dwarf_formref_die(&attr, &next))
			break;
		die = next;
	}
	return die;
}

static bool is_function(Dwarf_Die *die)
{
	int tag = ptrc_dw.dwarf_tag(die);

	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

static bool is_named_scope(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

/* The name of a function, preceded by the names of its namespaces and classes. */
static const char *name_of(struct ptrc_symbol_file *f, Dwarf_Die *function, int depth)
{
	Dwarf_Die die = declaration_of(function);
	const char *parts[SCOPES_MAX];
	PTRC_SCOPED Dwarf_Die *scopes = NULL;
	size_t at = SCOPES_MAX;
	int n;

	parts[--at] = ptrc_dw.dwarf_diename(&die);
	if (!parts[at])
		return NULL;
	/* Scope 0 is the declaration itself. The namespaces and classes around it start at 1. */
	n = ptrc_dw.dwarf_getscopes_die(&die, &scopes);
	for (int i = 1; i < n && at; i++) {
		int tag = ptrc_dw.dwarf_tag(&scopes[i]);
		const char *part = is_named_scope(tag) ? ptrc_dw.dwarf_diename(&scopes[i]) : NULL;

		if (!part && tag == DW_TAG_namespace)
			part = "(anonymous)";
		/* A lambda is in the scope of the function that defines it, and the name of that function has
		 * scopes, too. */
		if (tag == DW_TAG_subprogram)
			part = depth ? name_of(f, &scopes[i], depth - 1) : NULL;
		if (part)
			parts[--at] = part;
		if (tag == DW_TAG_subprogram)
			break;
	}
	return at == SCOPES_MAX - 1 ? parts[at] : join(f, parts + at, SCOPES_MAX - at, "::");
}

/* Stores the place in the source code at which an inlined function is called. */
static void take_call(struct ptrc_symbol_file *f, Dwarf_Die *unit, Dwarf_Die *inlined,
		      struct ptrc_symbol *s)
{
	Dwarf_Attribute attr;
	Dwarf_Word file;
	Dwarf_Word line;
	Dwarf_Files *files;
	size_t count;

	if (!ptrc_dw.dwarf_attr(inlined, DW_AT_call_file, &attr) ||
	    ptrc_dw.dwarf_formudata(&attr, &file) ||
	    !ptrc_dw.dwarf_attr(inlined, DW_AT_call_line, &attr) ||
	    ptrc_dw.dwarf_formudata(&attr, &line) ||
	    ptrc_dw.dwarf_getsrcfiles(unit, &files, &count) || file >= count)
		return;
	s->file = path_of(f, unit, ptrc_dw.dwarf_filesrc(files, file, NULL, NULL));
	s->line = (int)line;
}

/* Whether a function is one of <posixtrace.hpp>. Such functions are inlined into the function that records an
 * event, and that function is shown instead. */
static bool is_of_header(const char *name)
{
	return name && !strncmp(name, "posixtrace::", strlen("posixtrace::"));
}

/* Finds the innermost function at the address, even if it is a lambda. libdw looks for a lambda only within the
 * addresses of the function that defines it, but the code of the lambda may be elsewhere. */
static bool find_anywhere(Dwarf_Die *die, Dwarf_Addr address, int depth, Dwarf_Die *found)
{
	Dwarf_Die child;
	bool is_found = false;

	if (depth == SCOPES_MAX || ptrc_dw.dwarf_child(die, &child))
		return false;
	do {
		if (is_function(&child) && ptrc_dw.dwarf_haspc(&child, address) == 1) {
			*found = child;
			is_found = true;
		}
		is_found |= find_anywhere(&child, address, depth + 1, found);
	} while (!ptrc_dw.dwarf_siblingof(&child, &child));
	return is_found;
}

/* Finds the innermost function at the address, even if it is inlined, because the source line of the address, which the
 * caller has stored in *s, is a line of that function. */
static void find_function(struct ptrc_symbol_file *f, Dwarf_Die *unit, Dwarf_Addr address,
			  struct ptrc_symbol *s)
{
	Dwarf_Die *lines = unit;
	PTRC_SCOPED Dwarf_Die *scopes = NULL;
	PTRC_SCOPED Dwarf_Die *around = NULL;
	Dwarf_Die innermost;
	Dwarf_Die part;
	uint8_t type;
	int i = 0;
	int n;

	/* A skeleton unit only refers to a split unit, which has the contents, in another file (.dwo). */
	if (!ptrc_dw.dwarf_cu_info(unit->cu, NULL, &type, NULL, &part, NULL, NULL, NULL) &&
	    type == DW_UT_skeleton && part.addr)
		unit = &part;
	n = ptrc_dw.dwarf_getscopes(unit, address, &scopes);
	while (i < n && !is_function(&scopes[i]))
		i++;
	/* For an inlined function, dwarf_getscopes() lists the scopes in which the function is defined.
	 * dwarf_getscopes_die() lists the scopes into which it was inlined, and these are needed. */
	n = i < n ? ptrc_dw.dwarf_getscopes_die(&scopes[i], &around)
	    : find_anywhere(unit, address, 0, &innermost)
		    ? ptrc_dw.dwarf_getscopes_die(&innermost, &around)
		    : 0;
	for (i = 0; i < n; i++) {
		if (!is_function(&around[i]))
			continue;
		s->function = name_of(f, &around[i], REFERENCES_MAX);
		if (!is_of_header(s->function) ||
		    ptrc_dw.dwarf_tag(&around[i]) != DW_TAG_inlined_subroutine)
			break;
		take_call(f, lines, &around[i], s);
	}
}

void ptrc_symbol_file_find(struct ptrc_symbol_file *f, const struct posixtrace_log_mapping *m,
			   uint64_t address, struct ptrc_symbol *s)
{
	GElf_Addr bias = 0;
	Dwarf_Die *unit;

	*s = (struct ptrc_symbol){.function = NULL};
	if (!address_in_file(f, m, address, &address))
		return;
	address += f->bias;
	unit = find_unit(f, address, &bias);
	if (unit) {
		Dwarf_Line *line = ptrc_dw.dwarf_getsrc_die(unit, address - bias);

		if (line) {
			s->file = path_of(f, unit, ptrc_dw.dwarf_linesrc(line, NULL, NULL));
			if (ptrc_dw.dwarf_lineno(line, &s->line))
				s->line = 0;
		}
		find_function(f, unit, address - bias, s);
	}
	if (!s->function)
		s->function = ptrc_dw.dwfl_module_addrname(f->module, address);
}

/* ---- variables ---- */

/* Whether the address, as the file has it, is in a segment that the program can write to. */
static bool is_writable(const struct ptrc_symbol_file *f, uint64_t in_file)
{
	size_t number = 0;
	GElf_Phdr mem, *ph;

	while ((ph = next_segment(f, &number, &mem)))
		if (ph->p_flags & PF_W && in_file >= ph->p_vaddr &&
		    in_file - ph->p_vaddr < ph->p_memsz)
			return true;
	return false;
}

const char *ptrc_symbol_file_find_variable(struct ptrc_symbol_file *f,
					   const struct posixtrace_log_mapping *m, uint64_t address,
					   uint64_t *offset)
{
	uint64_t start;
	const char *name;
	GElf_Sym symbol;

	/* All segments of a file are moved by the same amount, so the mapping of code gives the address of data,
	 * too. */
	if (!start_in_file(f, m, &start))
		return NULL;
	address = address - m->pm_start + start;
	if (!is_writable(f, address))
		return NULL;
	name = ptrc_dw.dwfl_module_addrinfo(f->module, address + f->bias, offset, &symbol, NULL,
					    NULL, NULL);
	/* The address may be after the end of this variable, in another variable that has no symbol. */
	return name && GELF_ST_TYPE(symbol.st_info) == STT_OBJECT && *offset < symbol.st_size
		       ? name
		       : NULL;
}
