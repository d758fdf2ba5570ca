/* SPDX-License-Identifier: MIT */
/*
 * Finds out whether a program contains the library, without running it.
 *
 * A program with the static library contains certain texts. ptrc_program_libraries() lists the shared libraries of a
 * program, /proc/PID/maps those of a running process.
 */
#include "config.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "src/base/command.h"
#include "src/base/program.h"
#include "src/base/scope.h"
#include "src/doctor/doctor.h"

#define LIBRARY "libposixtrace.so"
/* execvp(3) runs a file with this program if the kernel refuses to execute the file. */
#define SHELL "/bin/sh"
/* Texts in each program that contains the static library, even if the program was stripped. */
static const char *const marks[] = {"posix_trace_unnamed_userevent", "ptrace-keeper"};

enum {
	SCAN_BYTES = 1 << 16,
	SCAN_MAX = 1 << 30,
	INTERPRETERS_MAX = 4,
};

/* Whether the file contains all these texts, each of at most 254 bytes; if is_c, each with a null byte after it.
 * Reads at most SCAN_MAX bytes. */
static bool has_texts(const char *path, const char *const *texts, size_t count, bool is_c)
{
	PTRC_SCOPED_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	static char piece[SCAN_BYTES + 256];
	unsigned int found = 0;
	bool is_found = false;
	size_t kept = 0;
	off_t at = 0;
	ssize_t n;

	while (!is_found && at < SCAN_MAX && (n = pread(fd, piece + kept, SCAN_BYTES, at)) > 0) {
		size_t have = kept + (size_t)n;

		for (size_t i = 0; i < count; i++)
			if (memmem(piece, have, texts[i], strlen(texts[i]) + is_c))
				found |= 1U << i;
		is_found = found == (1U << count) - 1;
		at += n;
		/* Keeps the end of this piece of the file, because a text may start in it and end in the next
		 * piece. */
		kept = have < 255 ? have : 255;
		memmove(piece, piece + have - kept, kept);
	}
	return is_found;
}

/* Called by ptrc_program_libraries() for each library of a program. Updates *arg, which says
 * whether and how the program contains the posixtrace library, as far as is known. */
static void take_library(void *arg, const char *line, const char *path)
{
	enum ptrc_doctor_library *result = arg;

	if (strstr(line, LIBRARY))
		*result = path ? PTRC_DOCTOR_LIBRARY_SHARED : PTRC_DOCTOR_LIBRARY_MISSING;
	else if (path && *result == PTRC_DOCTOR_LIBRARY_ALIEN)
		*result = PTRC_DOCTOR_LIBRARY_NONE;
	if (path && *path && *result == PTRC_DOCTOR_LIBRARY_NONE &&
	    has_texts(path, marks, 2, false))
		*result = PTRC_DOCTOR_LIBRARY_STATIC;
}

static enum ptrc_doctor_library find_library(const char *path)
{
	enum ptrc_doctor_library result = PTRC_DOCTOR_LIBRARY_ALIEN;
	PTRC_SCOPED_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char loader[PATH_MAX];

	if (fd < 0)
		return PTRC_DOCTOR_LIBRARY_UNKNOWN;
	if (!ptrc_program_loader(fd, loader))
		return PTRC_DOCTOR_LIBRARY_ALIEN;
	if (has_texts(path, marks, 2, false))
		return PTRC_DOCTOR_LIBRARY_STATIC;
	if (!loader[0])
		return PTRC_DOCTOR_LIBRARY_NONE;
	return ptrc_program_libraries(path, loader, take_library, &result)
		       ? result
		       : PTRC_DOCTOR_LIBRARY_UNKNOWN;
}

enum ptrc_doctor_library ptrc_doctor_library_of(pid_t pid)
{
	enum ptrc_doctor_library result = PTRC_DOCTOR_LIBRARY_UNKNOWN;
	char name[64], line[PATH_MAX + 128];
	PTRC_SCOPED_FILE *f = NULL;

	/* Reads the program by this link, which works even if the program's file was removed. */
	snprintf(name, sizeof(name), "/proc/%ld/exe", (long)pid);
	if (has_texts(name, marks, 2, false))
		return PTRC_DOCTOR_LIBRARY_STATIC;
	snprintf(name, sizeof(name), "/proc/%ld/maps", (long)pid);
	f = fopen(name, "re");
	while (f && fgets(line, sizeof(line), f)) {
		char *path = strchr(line, '/');

		if (result == PTRC_DOCTOR_LIBRARY_UNKNOWN)
			result = PTRC_DOCTOR_LIBRARY_NONE;
		if (!path)
			continue;
		path[strcspn(path, "\n")] = '\0';
		if (strstr(path, "/" LIBRARY)) {
			result = PTRC_DOCTOR_LIBRARY_SHARED;
		} else if (result == PTRC_DOCTOR_LIBRARY_NONE && strstr(line, "r-xp") &&
			   has_texts(path, marks, 2, false)) {
			result = PTRC_DOCTOR_LIBRARY_STATIC;
		}
	}
	return result;
}

/* Finds the interpreter in the first line of a script. If the line names env(1), the interpreter is the first
 * following word that is neither an option nor a variable. */
static bool find_interpreter(const char *script, char path[PATH_MAX])
{
	char line[512] = "", found[PATH_MAX];
	PTRC_SCOPED_FD fd = open(script, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	char *word, *save;
	int error;

	if (n < 2 || line[0] != '#' || line[1] != '!')
		return false;
	line[strcspn(line, "\n")] = '\0';
	word = strtok_r(line + 2, " \t", &save);
	if (!word)
		return false;
	snprintf(path, PATH_MAX, "%s", word);
	if (!strcmp(word, "/usr/bin/env") || !strcmp(word, "/bin/env")) {
		do
			word = strtok_r(NULL, " \t", &save);
		while (word && (word[0] == '-' || strchr(word, '=')));
		error = word ? ptrc_command_find(word, found) : ENOENT;
		if (!error || error == ELIBACC)
			memcpy(path, found, sizeof(found));
	}
	return true;
}

/* Whether execvp(3) would run the file with SHELL, because it is neither an ELF file nor starts with #!. */
static bool is_plain_script(const char *path)
{
	char head[SELFMAG];
	PTRC_SCOPED_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head));

	return n >= 0 && (n < 2 || memcmp(head, "#!", 2) != 0) &&
	       (n < SELFMAG || memcmp(head, ELFMAG, SELFMAG) != 0);
}

static void check_privileged(struct ptrc_doctor *d, const char *path)
{
	struct stat st;
	char value[64];

	if (stat(path, &st))
		return;
	if (((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
	    ((st.st_mode & S_ISGID) && st.st_gid != getgid()))
		ptrc_doctor_problem(
			d, "privileged", path, "trace a copy of it without that bit",
			"is set-user-ID or set-group-ID: such programs are never traced");
	else if (getuid() != 0 && getxattr(path, "security.capability", value, sizeof(value)) > 0)
		ptrc_doctor_problem(d, "privileged", path, "trace a copy of it without them",
				    "gives capabilities: such programs are never traced");
}

static void check_event_text(struct ptrc_doctor *d, const char *path, bool is_script)
{
	if (!*d->event || strlen(d->event) > 254 || access(path, R_OK))
		return;
	if (ptrc_filter_rules_is_glob(d->event))
		ptrc_doctor_note(d, "event", path, NULL,
				 "cannot be searched for the pattern %s, only for a name",
				 d->event);
	/* In a program, only the end of a text is compared: linkers store a text that is the end of another text
	 * only once. */
	else if (has_texts(path, &d->event, 1, !is_script))
		ptrc_doctor_ok(d, "event", path, "has the name %s in it", d->event);
	else
		ptrc_doctor_note(d, "event", path, NULL,
				 "does not have the name %s in it; the name may be in a library, "
				 "or be composed while the program runs",
				 d->event);
}

static void say_library(struct ptrc_doctor *d, const char *path, enum ptrc_doctor_library library)
{
	const char *preload = getenv("LD_PRELOAD");

	switch (library) {
	case PTRC_DOCTOR_LIBRARY_STATIC:
	case PTRC_DOCTOR_LIBRARY_SHARED:
		ptrc_doctor_ok(d, "library", path, "has the library in it, %s",
			       library == PTRC_DOCTOR_LIBRARY_STATIC ? "linked statically"
								     : "as a shared one");
		break;
	case PTRC_DOCTOR_LIBRARY_MISSING:
		ptrc_doctor_problem(d, "library", path,
				    "install it where the loader looks (ldconfig), or set "
				    "LD_LIBRARY_PATH",
				    "needs libposixtrace, which cannot be found");
		break;
	case PTRC_DOCTOR_LIBRARY_ALIEN:
		ptrc_doctor_problem(d, "library", path, NULL,
				    "is no program of this machine, or the loader refuses it");
		break;
	case PTRC_DOCTOR_LIBRARY_UNKNOWN:
		ptrc_doctor_note(d, "library", path, NULL,
				 "cannot be read, or names a loader that is not the system's, so "
				 "it is not known whether it has the library");
		break;
	default:
		if (preload && strstr(preload, "libposixtrace"))
			ptrc_doctor_ok(d, "library", path, "gets the library by LD_PRELOAD");
		else
			/* Only a note, because a shell, env(1), nice(1) and the like normally lack the library. */
			ptrc_doctor_note(d, "library", path, PTRC_DOCTOR_LINK_IT,
					 PTRC_DOCTOR_NOT_LINKED);
		break;
	}
}

void ptrc_doctor_command(struct ptrc_doctor *d, char **argv)
{
	char path[PATH_MAX], next[PATH_MAX], first[PATH_MAX];
	enum ptrc_doctor_library library;
	struct stat st;
	int error = ptrc_command_find(argv[0], path);

	if (error) {
		ptrc_doctor_problem(d, "command", argv[0], NULL, "%s",
				    error == ENOENT    ? "no such command"
				    : error == ELIBACC ? PTRC_COMMAND_NO_INTERPRETER
				    : !stat(argv[0], &st) && S_ISDIR(st.st_mode) ? "is a directory"
										 : strerror(error));
		return;
	}
	memcpy(first, path, sizeof(first));
	for (int i = 0; i < INTERPRETERS_MAX && find_interpreter(path, next); i++) {
		ptrc_doctor_note(d, "command", path, NULL,
				 "is a script: what it starts is traced if it has the library; "
				 "the script itself can use ptrace-event. %s runs it",
				 next);
		memcpy(path, next, sizeof(next));
	}
	if ((access(path, F_OK) && errno == ENOENT) || ptrc_command_find(path, next) == ELIBACC) {
		ptrc_doctor_problem(d, "command", first, NULL, "%s", PTRC_COMMAND_NO_INTERPRETER);
		return;
	}
	if (is_plain_script(path)) {
		ptrc_doctor_note(d, "command", path, NULL,
				 "has no #! line, so %s runs it as a script: what it starts is "
				 "traced if it has the library",
				 SHELL);
		snprintf(path, sizeof(path), "%s", SHELL);
	}
	check_privileged(d, path);
	library = find_library(path);
	say_library(d, path, library);
	if (library != PTRC_DOCTOR_LIBRARY_ALIEN && library != PTRC_DOCTOR_LIBRARY_UNKNOWN)
		ptrc_doctor_kinds(d, path);
	if (d->event)
		check_event_text(d, first, strcmp(first, path) != 0);
}
