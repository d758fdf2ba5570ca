/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/preload.h"

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
#define FUNCTIONS_VARIABLE "POSIXTRACE_FUNCTIONS"

void ptrc_preload_functions(struct ptrc_preload *p, const char *glob)
{
	struct ptrc_preload_part *functions = &p->functions;

	functions->is_wanted = true;
	functions->is_all |= !glob;
	if (!glob)
		return;
	if (!*glob || strchr(glob, '\n'))
		ptrc_cli_usage("--functions", "a pattern has one line, which is not empty");
	ptrc_buffer_format(&functions->globs, "%s\n", glob);
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
static void look_at(struct ptrc_preload *preload, int fd)
{
	char name[sizeof("xray_instr_map")];
	Elf64_Ehdr head;
	Elf64_Phdr p;
	Elf64_Shdr names, s;
	bool has_xray = false, has_table = false;

	if (!read_at(fd, &head, sizeof(head), 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64)
		return;
	preload->is_static = true;
	for (unsigned int i = 0; preload->is_static && i < head.e_phnum; i++)
		preload->is_static = read_at(fd, &p, sizeof(p), head.e_phoff + i * sizeof(p)) &&
				     p.p_type != PT_INTERP;
	if (!read_at(fd, &names, sizeof(names), head.e_shoff + head.e_shstrndx * sizeof(names)))
		return;
	for (unsigned int i = 0;
	     i < head.e_shnum && read_at(fd, &s, sizeof(s), head.e_shoff + i * sizeof(s)); i++) {
		has_table |= s.sh_type == SHT_SYMTAB;
		has_xray |= read_at(fd, name, sizeof(name), names.sh_offset + s.sh_name) &&
			    !memcmp(name, "xray_instr_map", sizeof(name));
	}
	preload->is_stripped = has_xray && !has_table;
}

bool ptrc_preload_has_hooks(const char *command)
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

bool ptrc_preload_prepare(struct ptrc_preload *p, const char *path)
{
	const char *others = getenv("LD_PRELOAD");
	char library[PATH_MAX];
	int fd;

	if (!p->functions.is_wanted)
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
	ptrc_buffer_format(&p->libraries, "%s%s%s%c", others ? others : "",
			   others && *others ? ":" : "", library, '\0');
	fd = open(path, O_RDONLY | O_CLOEXEC);
	look_at(p, fd);
	if (fd >= 0)
		close(fd);
	return true;
}

/* Sets the variable to the patterns, or unsets it if everything is wanted. */
static void set_patterns(const char *variable, struct ptrc_preload_part *part)
{
	ptrc_buffer_char(&part->globs, '\0');
	if (*part->globs.bytes && !part->is_all)
		setenv(variable, part->globs.bytes, 1);
	else
		unsetenv(variable);
}

void ptrc_preload_set_environment(struct ptrc_preload *p)
{
	if (!p->functions.is_wanted)
		return;
	setenv("LD_PRELOAD", p->libraries.bytes, 1);
	set_patterns(FUNCTIONS_VARIABLE, &p->functions);
}

bool ptrc_preload_lacks_functions(const struct ptrc_preload *p, trace_id_t trace)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t id;
	int unavailable = 0;

	if (!p->functions.is_wanted || posix_trace_eventtypelist_rewind(trace))
		return p->functions.is_wanted;
	while (!posix_trace_eventtypelist_getnext_id(trace, &id, &unavailable) && !unavailable)
		if (!posix_trace_eventid_get_name(trace, id, name) &&
		    (!strcmp(name, "function.begin") || !strcmp(name, "function.end")))
			return false;
	return true;
}

void ptrc_preload_say_no_function(const struct ptrc_preload *p, const char *command)
{
	if (p->is_static)
		ptrc_cli_message(command, "no function was recorded: it is linked statically, so "
					  "nothing can be loaded into it");
	else if (p->is_stripped)
		ptrc_cli_message(command, "no function was recorded: it was compiled with "
					  "-fxray-instrument and has lost its symbol table, in "
					  "which XRay would be found");
	else if (p->functions.globs.used && !p->functions.is_all)
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
