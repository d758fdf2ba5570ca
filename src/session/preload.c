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

#include "lib/model/glob.h"
#include "src/base/command.h"
#include "src/base/message.h"
#include "src/base/program.h"
#include "src/base/scope.h"
#include "src/query/reader.h"

#define LIBRARY "posixtrace-preload.so"
/* The end of a message that says that COMMAND, and what it executed, did nothing that is recorded. */
#define OR_NOT_LOADED                                                                              \
	", or the program that did cannot be recorded (linked statically, privileged, of another " \
	"user, or without LD_PRELOAD)"

static const struct {
	/* The environment variable from which the preloaded library (lib/preload) reads its patterns. */
	const char *variable;
	/* The names of event types of which there is one if anything was recorded. Types wait.thread.* are no sign of
	 * waits, because threads that never wait have them, too. */
	const char *types;
	/* For messages: what is recorded, and what COMMAND and the programs that it executed have not done. */
	const char *noun, *deed;
} kinds[PTRC_PRELOAD_KINDS] = {
	[PTRC_PRELOAD_FUNCTIONS] = {"POSIXTRACE_FUNCTIONS", "function.*", "function",
				    "called a function that --functions selects and that was "
				    "compiled with -finstrument-functions or "
				    "-fxray-instrument" OR_NOT_LOADED},
	[PTRC_PRELOAD_WAITS] = {"POSIXTRACE_WAITS", "wait.*.begin", "wait",
				"called a function that --waits selects, except inside the C "
				"library" OR_NOT_LOADED},
	[PTRC_PRELOAD_PROBES] = {"POSIXTRACE_SDT", "sdt.*", "probe",
				 "reached one that --sdt selects" OR_NOT_LOADED
				 "; ptrace-events --sdt lists those of a program"},
};

/* The text that precedes the number of the release in the file of the library
 * (lib/preload/selection.c). */
#define RELEASE "posixtrace-preload "

/* The pattern that --functions without a pattern stands for. */
#define ALL "*"

void ptrc_preload_functions(struct ptrc_preload *p, const char *glob)
{
	struct ptrc_buffer *globs = &p->patterns[PTRC_PRELOAD_FUNCTIONS];

	if (glob && (!*glob || strchr(glob, '\n')))
		ptrc_cli_usage("--functions", "a pattern has one line, which is not empty");
	/* Without a pattern the option selects all functions, so other patterns do not matter. */
	if (!glob)
		globs->used = 0;
	ptrc_buffer_format(globs, "%s\n", glob ? glob : ALL);
}

bool ptrc_preload_has_waits(const char *glob)
{
	char kind[PTRC_OPTION_WORD];

	/* The words of PTRC_PRELOAD_WAIT_KINDS end with commas, which are not part of the kinds. */
	for (const char *list = PTRC_PRELOAD_WAIT_KINDS;
	     !strchr(glob, '\n') && (list = ptrc_option_next_word(list, kind));) {
		kind[strcspn(kind, ",")] = '\0';
		if (ptrc_glob_matches(glob, kind))
			return true;
	}
	return false;
}

void ptrc_preload_add(struct ptrc_preload *p, enum ptrc_preload_kind kind,
		      const struct ptrc_cli_texts *globs)
{
	for (size_t i = 0; i < globs->count; i++)
		ptrc_buffer_format(&p->patterns[kind], "%s\n", globs->texts[i]);
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

/* Finds out whether the program in this file is linked statically, and whether it lacks a symbol table.
 * Changes nothing for scripts and unreadable files. */
static void look_at(struct ptrc_preload *preload, int fd)
{
	char name[sizeof("xray_instr_map")];
	char loader[PATH_MAX];
	Elf64_Ehdr head;
	Elf64_Shdr names, s;
	bool has_xray = false, has_table = false;

	if (!read_at(fd, &head, sizeof(head), 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64)
		return;
	preload->is_static = ptrc_program_loader(fd, loader) && !*loader;
	if (!read_at(fd, &names, sizeof(names), head.e_shoff + head.e_shstrndx * sizeof(names)))
		return;
	for (unsigned int i = 0;
	     i < head.e_shnum && read_at(fd, &s, sizeof(s), head.e_shoff + i * sizeof(s)); i++) {
		has_table |= s.sh_type == SHT_SYMTAB;
		has_xray |= read_at(fd, name, sizeof(name), names.sh_offset + s.sh_name) &&
			    !memcmp(name, "xray_instr_map", sizeof(name));
	}
	preload->has_no_table = !has_table;
	preload->is_stripped = has_xray && !has_table;
}

/* Maps the file into memory. Returns NULL and sets errno if it cannot be read. */
static char *map_file(const char *path, size_t *size)
{
	PTRC_SCOPED_FD fd = open(path, O_RDONLY | O_CLOEXEC);
	void *map = MAP_FAILED;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st)) {
		*size = (size_t)st.st_size;
		map = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	return map == MAP_FAILED ? NULL : map;
}

bool ptrc_preload_has_hooks(const char *command)
{
	static const char hook[] = "__cyg_profile_func_enter", xray[] = "xray_instr_map";
	char path[PATH_MAX];
	bool has_hooks;
	size_t size;
	char *map;

	if (ptrc_command_find(command, path))
		return false;
	map = map_file(path, &size);
	if (!map)
		return false;
	has_hooks = memmem(map, size, hook, sizeof(hook)) || memmem(map, size, xray, sizeof(xray));
	munmap(map, size);
	return has_hooks;
}

/* Whether the library is of the release of this command. If not, prints a message with both releases. */
static bool check_release(const char *library)
{
	size_t size, room;
	char *map = map_file(library, &size), *found;
	char release[40] = "unknown";

	if (!map)
		return ptrc_cli_error(library, errno);
	found = memmem(map, size, RELEASE, strlen(RELEASE));
	if (found) {
		found += strlen(RELEASE);
		room = size - (size_t)(found - map);
		snprintf(release, sizeof(release), "%.*s", (int)(room < 39 ? room : 39), found);
	}
	munmap(map, size);
	if (!strcmp(release, PACKAGE_VERSION))
		return true;
	return ptrc_cli_message(library,
				"is of release %s, and this command of release " PACKAGE_VERSION
				"; --functions, --waits and --sdt need both of the same release",
				release);
}

static bool is_wanted(const struct ptrc_preload *p)
{
	bool is_any = false;

	for (size_t kind = 0; kind < PTRC_PRELOAD_KINDS; kind++)
		is_any |= p->patterns[kind].used != 0;
	return is_any;
}

bool ptrc_preload_prepare(struct ptrc_preload *p, const char *path)
{
	const char *others = getenv("LD_PRELOAD");
	char library[PATH_MAX];
	PTRC_SCOPED_FD fd = -1;
	struct stat st;

	if (!is_wanted(p))
		return true;
	if (!find_library(library))
		return ptrc_cli_message(library,
					"is preloaded for --functions, --waits and --sdt: %s",
					strerror(errno));
	if (!check_release(library))
		return false;
	/* In LD_PRELOAD, a blank or a colon separates paths, and cannot be escaped. */
	if (strpbrk(library, " :"))
		return ptrc_cli_message(library,
					"cannot be preloaded: its path has a blank or a colon");
	/* The user's libraries come first, because the runtime of a sanitizer has to be the first. */
	ptrc_buffer_format(&p->libraries, "%s%s%s%c", others ? others : "",
			   others && *others ? ":" : "", library, '\0');
	p->is_privileged = !stat(path, &st) && ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
						(st.st_mode & S_ISGID && st.st_gid != getegid()));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	look_at(p, fd);
	return true;
}

void ptrc_preload_free(struct ptrc_preload *p)
{
	for (size_t kind = 0; kind < PTRC_PRELOAD_KINDS; kind++)
		ptrc_buffer_free(&p->patterns[kind]);
	ptrc_buffer_free(&p->libraries);
}

void ptrc_preload_set_environment(struct ptrc_preload *p)
{
	if (!is_wanted(p))
		return;
	setenv("LD_PRELOAD", p->libraries.bytes, 1);
	for (size_t kind = 0; kind < PTRC_PRELOAD_KINDS; kind++) {
		struct ptrc_buffer *globs = &p->patterns[kind];

		if (!globs->used) {
			unsetenv(kinds[kind].variable);
			continue;
		}
		ptrc_buffer_char(globs, '\0');
		setenv(kinds[kind].variable, globs->bytes, 1);
	}
}

static bool has_type(trace_id_t trace, const char *glob)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t id;

	if (posix_trace_eventtypelist_rewind(trace))
		return false;
	while (ptrc_next_type(trace, &id))
		if (!posix_trace_eventid_get_name(trace, id, name) && ptrc_glob_matches(glob, name))
			return true;
	return false;
}

enum ptrc_preload_kind ptrc_preload_lacks(const struct ptrc_preload *p, trace_id_t trace)
{
	size_t kind = 0;

	while (kind < PTRC_PRELOAD_KINDS &&
	       (!p->patterns[kind].used || has_type(trace, kinds[kind].types)))
		kind++;
	return (enum ptrc_preload_kind)kind;
}

const char *ptrc_preload_why_not(const struct ptrc_preload *p)
{
	if (p->is_static)
		return "it is linked statically, so nothing can be loaded into it";
	return p->is_privileged ? "it is privileged (set-user-ID or set-group-ID), so nothing is "
				  "loaded into it"
				: NULL;
}

static bool is_python(const char *command)
{
	return !strncmp(basename(command), "python", strlen("python"));
}

/* Returns why COMMAND, into which the library was loaded, recorded no function; NULL if it is not known. */
static const char *why_no_function(const struct ptrc_preload *p, const char *command)
{
	bool has_globs =
		strncmp(p->patterns[PTRC_PRELOAD_FUNCTIONS].bytes, ALL "\n", sizeof(ALL)) != 0 &&
		ptrc_preload_has_hooks(command);

	if (p->is_stripped)
		return "it was compiled with -fxray-instrument and has lost its symbol table, in "
		       "which XRay would be found";
	if (has_globs && p->has_no_table)
		return "it has lost its symbol table, in which the names are that --functions "
		       "selects";
	if (has_globs)
		return "none that was compiled with -finstrument-functions or -fxray-instrument has "
		       "a name that --functions selects";
	if (is_python(command))
		return "--functions is for compiled programs; for one in Python, run python3 -m "
		       "posixtrace run, see posixtrace-python(3)";
	return NULL;
}

void ptrc_preload_say_none(const struct ptrc_preload *p, enum ptrc_preload_kind kind,
			   const char *command)
{
	const char *why = ptrc_preload_why_not(p);

	if (!why && kind == PTRC_PRELOAD_FUNCTIONS)
		why = why_no_function(p, command);
	ptrc_cli_message(command, "no %s was recorded: %s%s", kinds[kind].noun,
			 why ? why : "neither it nor a program that it executed ",
			 why ? "" : kinds[kind].deed);
}
