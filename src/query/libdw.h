/* SPDX-License-Identifier: MIT */
/*
 * The functions of libdw that the commands use. libdw is loaded when it is first needed, because linking it would
 * make each start of a command a third slower. Only one thread at a time may call its functions.
 */
#ifndef PTRC_SRC_QUERY_LIBDW_H
#define PTRC_SRC_QUERY_LIBDW_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdbool.h>

#include "src/base/message.h"

/* clang-format off */
/* The functions of libdw, and of libelf, on which libdw depends. */
#define PTRC_LIBDW_FUNCTIONS(call) \
	call(dwarf_attr) call(dwarf_cfi_addrframe) call(dwarf_cfi_end) call(dwarf_child) \
	call(dwarf_cu_info) call(dwarf_diename) call(dwarf_filesrc) \
	call(dwarf_formref_die) call(dwarf_formstring) call(dwarf_formudata) \
	call(dwarf_frame_cfa) call(dwarf_frame_info) call(dwarf_frame_register) \
	call(dwarf_getcfi_elf) call(dwarf_getscopes) call(dwarf_getscopes_die) call(dwarf_getsrc_die) \
	call(dwarf_getsrcfiles) call(dwarf_haspc) \
	call(dwarf_lineno) call(dwarf_linesrc) call(dwarf_siblingof) call(dwarf_tag) \
	call(dwelf_elf_gnu_build_id) call(dwfl_begin) call(dwfl_end) \
	call(dwfl_module_addrdie) call(dwfl_module_addrinfo) call(dwfl_module_addrname) \
	call(dwfl_module_getdwarf) call(dwfl_module_getelf) call(dwfl_module_getsym) \
	call(dwfl_module_getsymtab) call(dwfl_module_nextcu) \
	call(dwfl_offline_section_address) call(dwfl_report_begin) \
	call(dwfl_report_end) call(dwfl_report_offline) \
	call(dwfl_standard_find_debuginfo) call(elf_begin) call(elf_cntl) call(elf_end) \
	call(elf_getphdrnum) call(elf_memory) call(elf_version) call(gelf_getehdr) call(gelf_getphdr)
/* clang-format on */

struct ptrc_libdw {
#define PTRC_LIBDW_MEMBER(name) __typeof__(name) *name;
	PTRC_LIBDW_FUNCTIONS(PTRC_LIBDW_MEMBER)
#undef PTRC_LIBDW_MEMBER
};

/* The functions of libdw. Valid after ptrc_libdw_load() has returned true. */
extern struct ptrc_libdw ptrc_dw;

/* Loads libdw. Returns false, and stores the reason, if that fails. */
bool ptrc_libdw_load(struct ptrc_cli_reason *);

/* Opens a regular file for reading. Returns -1 for anything else: a log or another process may name any path, and
 * opening a device or a pipe may have side effects. */
int ptrc_libdw_open_regular(const char *path);

#endif
