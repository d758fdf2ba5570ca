/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/functions.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/command.h"
#include "src/base/message.h"

#define LIBRARY "posixtrace-preload.so"
/* The environment variable that lib/preload/selection.h reads. */
#define VARIABLE "POSIXTRACE_FUNCTIONS"

void ptrc_functions_option(struct ptrc_functions *f, const char *glob)
{
	f->is_wanted = true;
	f->is_all |= !glob;
	if (!glob)
		return;
	if (!*glob || strchr(glob, '\n'))
		ptrc_cli_usage("--functions", "a pattern has one line, which is not empty");
	ptrc_buffer_format(&f->globs, "%s\n", glob);
}

static bool find_library(char path[PATH_MAX])
{
	char here[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", here, sizeof(here) - 1);
	char *slash;

	if (size > 0) {
		here[size] = '\0';
		slash = strrchr(here, '/');
		*slash = '\0';
		if ((size_t)snprintf(path, PATH_MAX, "%s/../lib/" LIBRARY, here) < PATH_MAX &&
		    !access(path, R_OK))
			return true;
	}
	snprintf(path, PATH_MAX, "%s", PTRC_PKGLIBDIR "/" LIBRARY);
	return !access(path, R_OK);
}

static bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
	return pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

/* Finds what prevents that the functions of the program in this file are recorded. Nothing is found for
 * scripts and unreadable files. */
static void look_at(struct ptrc_functions *f, int fd)
{
	char name[sizeof("xray_instr_map")];
	Elf64_Ehdr head;
	Elf64_Phdr p;
	Elf64_Shdr names, s;
	bool has_xray = false, has_table = false;

	if (!read_at(fd, &head, sizeof(head), 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64)
		return;
	f->is_static = true;
	for (unsigned int i = 0; f->is_static && i < head.e_phnum; i++)
		f->is_static = read_at(fd, &p, sizeof(p), head.e_phoff + i * sizeof(p)) &&
			       p.p_type != PT_INTERP;
	if (!read_at(fd, &names, sizeof(names), head.e_shoff + head.e_shstrndx * sizeof(names)))
		return;
	for (unsigned int i = 0;
	     i < head.e_shnum && read_at(fd, &s, sizeof(s), head.e_shoff + i * sizeof(s)); i++) {
		has_table |= s.sh_type == SHT_SYMTAB;
		has_xray |= read_at(fd, name, sizeof(name), names.sh_offset + s.sh_name) &&
			    !memcmp(name, "xray_instr_map", sizeof(name));
	}
	f->is_stripped = has_xray && !has_table;
}

bool ptrc_functions_could_be(const char *command)
{
	static const char hook[] = "__cyg_profile_func_enter", xray[] = "xray_instr_map";
	char path[PATH_MAX];
	struct stat st;
	void *map = MAP_FAILED;
	bool has_hooks;
	int fd;

	if (ptrc_command_find(command, path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0)
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (map == MAP_FAILED)
		return false;
	has_hooks = memmem(map, (size_t)st.st_size, hook, sizeof(hook)) ||
		    memmem(map, (size_t)st.st_size, xray, sizeof(xray));
	munmap(map, (size_t)st.st_size);
	return has_hooks;
}

bool ptrc_functions_prepare(struct ptrc_functions *f, const char *path)
{
	const char *others = getenv("LD_PRELOAD");
	char library[PATH_MAX];
	int fd;

	if (!f->is_wanted)
		return true;
	if (!find_library(library)) {
		ptrc_cli_error(library, errno);
		return false;
	}
	/* LD_PRELOAD has no escapes for these characters. */
	if (strpbrk(library, " :")) {
		ptrc_cli_message(library, "cannot be preloaded: its path has a blank or a colon");
		return false;
	}
	/* The libraries that the user preloads come first, because the runtime of a sanitizer has to be the
	 * first. */
	ptrc_buffer_format(&f->preload, "%s%s%s%c", others ? others : "",
			   others && *others ? ":" : "", library, '\0');
	fd = open(path, O_RDONLY | O_CLOEXEC);
	look_at(f, fd);
	if (fd >= 0)
		close(fd);
	return true;
}

void ptrc_functions_set_environment(struct ptrc_functions *f)
{
	if (!f->is_wanted)
		return;
	setenv("LD_PRELOAD", f->preload.bytes, 1);
	ptrc_buffer_char(&f->globs, '\0');
	if (*f->globs.bytes && !f->is_all)
		setenv(VARIABLE, f->globs.bytes, 1);
	else
		unsetenv(VARIABLE);
}

bool ptrc_functions_are_in(trace_id_t trace)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t id;
	int unavailable = 0;

	if (posix_trace_eventtypelist_rewind(trace))
		return false;
	while (!posix_trace_eventtypelist_getnext_id(trace, &id, &unavailable) && !unavailable)
		if (!posix_trace_eventid_get_name(trace, id, name) &&
		    (!strcmp(name, "function.begin") || !strcmp(name, "function.end")))
			return true;
	return false;
}

void ptrc_functions_say_none(const struct ptrc_functions *f, const char *command)
{
	if (f->is_static)
		ptrc_cli_message(command, "no function was recorded: it is linked statically, so "
					  "nothing can be loaded into it");
	else if (f->is_stripped)
		ptrc_cli_message(command, "no function was recorded: it was compiled with "
					  "-fxray-instrument and has lost its symbol table, in "
					  "which XRay would be found");
	else if (f->globs.used && !f->is_all)
		ptrc_cli_message(
			command,
			"no function was recorded: none that was compiled with "
			"-finstrument-functions or -fxray-instrument has a name that --functions "
			"selects");
	else
		ptrc_cli_message(command, "no function was recorded: no function of it calls the "
					  "hooks of -finstrument-functions, or has those of "
					  "-fxray-instrument");
}
