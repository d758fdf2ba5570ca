/* SPDX-License-Identifier: MIT */
/*
 * Whether a program that does not run yet has the library in it. Its file is only read, in
 * pieces and never executed; the loader's way of finding libraries is followed as far as
 * the usual cases go. Nothing in these files is believed: each offset and size is checked.
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

#include "src/cli/cli.h"
#include "src/doctor/doctor.h"

#define LIBRARY "libposixtrace.so."
/* In every program that has an event in it, stripped or not. */
static const char *const marks[] = {"posix_trace_unnamed_userevent", "posixtrace-keeper"};

enum {
	SCAN_BYTES = 1 << 16,
	SCAN_MAX = 1 << 30,
	LIBRARIES_MAX = 128,
	SEGMENTS_MAX = 128,
	DYNAMIC_MAX = 1024,
	STRINGS_MAX = 1 << 24,
	INTERPRETERS_MAX = 4,
	CACHE_MAX = 1 << 24,
};

#if defined(__x86_64__)
#define MACHINE EM_X86_64
static const char *const library_dirs[] = {"/lib/x86_64-linux-gnu",
					   "/usr/lib/x86_64-linux-gnu",
					   "/lib64",
					   "/usr/lib64",
					   "/lib",
					   "/usr/lib",
					   NULL};
#else
#define MACHINE EM_AARCH64
static const char *const library_dirs[] = {"/lib/aarch64-linux-gnu",
					   "/usr/lib/aarch64-linux-gnu",
					   "/lib64",
					   "/usr/lib64",
					   "/lib",
					   "/usr/lib",
					   NULL};
#endif

static bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

/* Whether all the texts are in the file. */
static bool has_texts(int fd, const char *const *texts, size_t count)
{
	static char piece[SCAN_BYTES + 256];
	unsigned int found = 0;
	size_t kept = 0;
	off_t at = 0;
	ssize_t n;

	while (at < SCAN_MAX && (n = pread(fd, piece + kept, SCAN_BYTES, at)) > 0) {
		size_t have = kept + (size_t)n;

		for (size_t i = 0; i < count; i++)
			if (memmem(piece, have, texts[i], strlen(texts[i])))
				found |= 1U << i;
		if (found == (1U << count) - 1)
			return true;
		at += n;
		/* What is cut in two here. */
		kept = have < 255 ? have : 255;
		memmove(piece, piece + have - kept, kept);
	}
	return false;
}

/* What is wanted of a program or shared library. */
struct image {
	char origin[PATH_MAX];
	/* Its table of strings, with a null behind it. */
	char *strings;
	size_t string_bytes;
	size_t needed[LIBRARIES_MAX];
	size_t needed_count;
	const char *run_path;
	bool is_dynamic;
};

static const char *string_at(const struct image *m, uint64_t offset)
{
	return offset < m->string_bytes ? m->strings + offset : "";
}

static bool file_offset(const Elf64_Phdr *p, size_t count, uint64_t address,
			uint64_t *offset)
{
	for (size_t i = 0; i < count; i++)
		if (p[i].p_type == PT_LOAD && address >= p[i].p_vaddr &&
		    address - p[i].p_vaddr < p[i].p_filesz)
			return !__builtin_add_overflow(p[i].p_offset,
						       address - p[i].p_vaddr, offset);
	return false;
}

static void read_dynamic(int fd, const Elf64_Phdr *p, size_t count,
			 const Elf64_Phdr *dynamic, struct image *m)
{
	static Elf64_Dyn entries[DYNAMIC_MAX];
	size_t n = dynamic->p_filesz / sizeof(entries[0]);
	uint64_t table = 0, bytes = 0, path = 0, offset;
	bool has_path = false;

	if (n > DYNAMIC_MAX)
		n = DYNAMIC_MAX;
	if (!read_at(fd, entries, n * sizeof(entries[0]), dynamic->p_offset))
		return;
	m->is_dynamic = true;
	for (size_t i = 0; i < n && entries[i].d_tag != DT_NULL; i++) {
		uint64_t value = entries[i].d_un.d_val;

		switch (entries[i].d_tag) {
		case DT_STRTAB:
			table = value;
			break;
		case DT_STRSZ:
			bytes = value;
			break;
		case DT_NEEDED:
			if (m->needed_count < LIBRARIES_MAX)
				m->needed[m->needed_count++] = value;
			break;
		case DT_RPATH:
		case DT_RUNPATH:
			path = value;
			has_path = true;
			break;
		default:
			break;
		}
	}
	if (!bytes || bytes > STRINGS_MAX || !file_offset(p, count, table, &offset))
		return;
	m->strings = ptrc_cli_allocate(bytes + 1);
	if (!read_at(fd, m->strings, bytes, offset))
		return;
	m->strings[bytes] = '\0';
	m->string_bytes = bytes;
	if (has_path)
		m->run_path = string_at(m, path);
}

/* False if it is no ELF file of this machine. */
static bool read_image(int fd, const char *path, struct image *m)
{
	static Elf64_Phdr segments[SEGMENTS_MAX];
	Elf64_Ehdr e;
	char *slash;

	memset(m, 0, sizeof(*m));
	if (!realpath(path, m->origin))
		snprintf(m->origin, sizeof(m->origin), "%s", path);
	slash = strrchr(m->origin, '/');
	if (slash)
		*slash = '\0';
	if (!read_at(fd, &e, sizeof(e), 0) || memcmp(e.e_ident, ELFMAG, SELFMAG) ||
	    e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_machine != MACHINE ||
	    e.e_phentsize != sizeof(segments[0]) || e.e_phnum > SEGMENTS_MAX ||
	    !read_at(fd, segments, e.e_phnum * sizeof(segments[0]), e.e_phoff))
		return false;
	for (size_t i = 0; i < e.e_phnum; i++)
		if (segments[i].p_type == PT_DYNAMIC) {
			read_dynamic(fd, segments, e.e_phnum, &segments[i], m);
			break;
		}
	return true;
}

/* In one of the directories of a list with colons. */
static bool find_in_list(const char *list, const char *origin, const char *name,
			 char path[PATH_MAX])
{
	while (list && *list) {
		size_t n = strcspn(list, ":");
		const char *rest = list;
		size_t left = n;
		int used = 0;

		path[0] = '\0';
		if (!strncmp(list, "$ORIGIN", 7) || !strncmp(list, "${ORIGIN}", 9)) {
			size_t skip = list[1] == '{' ? 9 : 7;

			used = snprintf(path, PATH_MAX, "%s", origin);
			rest += skip;
			left -= skip;
		}
		if (used >= 0 && used < PATH_MAX)
			snprintf(path + used, PATH_MAX - (size_t)used, "%.*s/%s",
				 (int)left, rest, name);
		if (n && !access(path, R_OK))
			return true;
		list += n + (list[n] == ':');
	}
	return false;
}

/* In the loader's cache: a header, entries of 24 bytes, strings by their offset in the
 * file. An older part may come before it. */
static bool find_in_cache(const char *name, char path[PATH_MAX])
{
	static const char magic[] = "glibc-ld.so.cache1.1";
	static char *cache;
	static size_t size;
	const char *base;
	uint32_t count;

	if (!cache) {
		struct stat st;
		int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);

		cache = ptrc_cli_allocate(CACHE_MAX + 1);
		if (fd >= 0 && !fstat(fd, &st) && st.st_size < CACHE_MAX &&
		    read_at(fd, cache, (size_t)st.st_size, 0))
			size = (size_t)st.st_size;
		cache[size] = '\0';
		if (fd >= 0)
			close(fd);
	}
	base = memmem(cache, size, magic, sizeof(magic) - 1);
	if (!base || size - (size_t)(base - cache) < 48)
		return false;
	memcpy(&count, base + 20, sizeof(count));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t entry[3];
		size_t left = size - (size_t)(base - cache);

		if (left < 48 + 24 * ((size_t)i + 1))
			break;
		memcpy(entry, base + 48 + 24 * (size_t)i, sizeof(entry));
		if (entry[1] >= left || entry[2] >= left || strcmp(base + entry[1], name))
			continue;
		snprintf(path, PATH_MAX, "%s", base + entry[2]);
		if (!access(path, R_OK))
			return true;
	}
	return false;
}

static bool find_library(const struct image *m, const char *name, char path[PATH_MAX])
{
	if (strchr(name, '/')) {
		snprintf(path, PATH_MAX, "%s", name);
		return !access(path, R_OK);
	}
	if (find_in_list(m->run_path, m->origin, name, path) ||
	    find_in_list(getenv("LD_LIBRARY_PATH"), m->origin, name, path) ||
	    find_in_cache(name, path))
		return true;
	for (size_t i = 0; library_dirs[i]; i++) {
		snprintf(path, PATH_MAX, "%s/%s", library_dirs[i], name);
		if (!access(path, R_OK))
			return true;
	}
	return false;
}

/* All that it needs, and they need, each once. */
static enum ptrc_doctor_library walk(const char *program)
{
	static char *queue[LIBRARIES_MAX];
	static char *names[LIBRARIES_MAX];
	enum ptrc_doctor_library result = PTRC_DOCTOR_LIBRARY_NONE;
	size_t count = 0;

	queue[count++] = strdup(program);
	names[0] = strdup("");
	for (size_t i = 0; i < count && result == PTRC_DOCTOR_LIBRARY_NONE; i++) {
		int fd =
			queue[i] ? open(queue[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
		struct image *m;

		if (fd < 0)
			continue;
		m = ptrc_cli_allocate(sizeof(*m));
		if (!read_image(fd, queue[i], m)) {
			/* The loader would pass it over, too. */
		} else if (i && has_texts(fd, marks, 2)) {
			result = PTRC_DOCTOR_LIBRARY_STATIC;
		} else {
			for (size_t k = 0; k < m->needed_count; k++) {
				const char *name = string_at(m, m->needed[k]);
				char path[PATH_MAX];
				bool is_known = false;

				if (!strncmp(name, LIBRARY, strlen(LIBRARY))) {
					result = find_library(m, name, path)
							 ? PTRC_DOCTOR_LIBRARY_SHARED
							 : PTRC_DOCTOR_LIBRARY_MISSING;
					break;
				}
				for (size_t n = 0; n < count; n++)
					is_known |= names[n] && !strcmp(names[n], name);
				if (!*name || is_known || count == LIBRARIES_MAX)
					continue;
				names[count] = strdup(name);
				queue[count++] =
					find_library(m, name, path) ? strdup(path) : NULL;
			}
		}
		free(m->strings);
		free(m);
		close(fd);
	}
	for (size_t i = 0; i < count; i++) {
		free(queue[i]);
		free(names[i]);
	}
	return result;
}

enum ptrc_doctor_library ptrc_doctor_library(const char *path)
{
	enum ptrc_doctor_library result;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct image *m;
	struct stat st;
	bool is_image;

	if (fd < 0)
		return PTRC_DOCTOR_LIBRARY_UNKNOWN;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return PTRC_DOCTOR_LIBRARY_ALIEN;
	}
	m = ptrc_cli_allocate(sizeof(*m));
	is_image = read_image(fd, path, m);
	free(m->strings);
	free(m);
	if (!is_image)
		result = PTRC_DOCTOR_LIBRARY_ALIEN;
	else if (has_texts(fd, marks, 2))
		result = PTRC_DOCTOR_LIBRARY_STATIC;
	else
		result = walk(path);
	close(fd);
	return result;
}

/* Where execvp() would find it; errno if it would not. */
static bool find_program(const char *name, char path[PATH_MAX])
{
	const char *list = getenv("PATH");
	int error = ENOENT;

	if (strchr(name, '/')) {
		snprintf(path, PATH_MAX, "%s", name);
		return !access(path, X_OK);
	}
	if (!list)
		list = "/bin:/usr/bin";
	for (;;) {
		size_t n = strcspn(list, ":");
		struct stat st;

		snprintf(path, PATH_MAX, "%.*s%s%s", (int)n, list, n ? "/" : "", name);
		if (!stat(path, &st) && S_ISREG(st.st_mode)) {
			if (!access(path, X_OK))
				return true;
			error = EACCES;
		}
		if (!list[n])
			break;
		list += n + 1;
	}
	errno = error;
	return false;
}

/* The program in the first line of a script, with env(1) looked through. */
static bool find_interpreter(const char *script, char path[PATH_MAX])
{
	char line[512] = "", found[PATH_MAX];
	int fd = open(script, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	char *word, *save;

	if (fd >= 0)
		close(fd);
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
		if (word && find_program(word, found))
			memcpy(path, found, sizeof(found));
	}
	return true;
}

static void check_privileged(struct ptrc_doctor *d, const char *path)
{
	struct stat st;
	char value[64];

	if (stat(path, &st))
		return;
	if (((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
	    ((st.st_mode & S_ISGID) && st.st_gid != getgid()))
		ptrc_doctor_say(
			d, PTRC_DOCTOR_PROBLEM, "privileged", path,
			"trace a copy of it without that bit",
			"is set-user-ID or set-group-ID: such programs are never traced");
	else if (getuid() != 0 &&
		 getxattr(path, "security.capability", value, sizeof(value)) > 0)
		ptrc_doctor_say(d, PTRC_DOCTOR_PROBLEM, "privileged", path,
				"trace a copy of it without them",
				"gives capabilities: such programs are never traced");
}

static void check_event_text(struct ptrc_doctor *d, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return;
	if (*d->event && strlen(d->event) < 255 && !has_texts(fd, &d->event, 1))
		ptrc_doctor_say(
			d, PTRC_DOCTOR_NOTE, "event", path, NULL,
			"does not have the name %s in it; it may be in a library, or "
			"be made up as it runs",
			d->event);
	close(fd);
}

static void say_library(struct ptrc_doctor *d, const char *path,
			enum ptrc_doctor_library library, bool is_script)
{
	const char *preload = getenv("LD_PRELOAD");

	switch (library) {
	case PTRC_DOCTOR_LIBRARY_STATIC:
	case PTRC_DOCTOR_LIBRARY_SHARED:
		ptrc_doctor_say(d, PTRC_DOCTOR_OK, "library", path, NULL,
				"has the library in it, %s",
				library == PTRC_DOCTOR_LIBRARY_STATIC
					? "linked statically"
					: "as a shared one");
		break;
	case PTRC_DOCTOR_LIBRARY_MISSING:
		ptrc_doctor_say(d, PTRC_DOCTOR_PROBLEM, "library", path,
				"install it where the loader looks (ldconfig), or set "
				"LD_LIBRARY_PATH",
				"needs libposixtrace, which cannot be found");
		break;
	case PTRC_DOCTOR_LIBRARY_ALIEN:
		ptrc_doctor_say(
			d, PTRC_DOCTOR_PROBLEM, "library", path, NULL,
			"is no program of this machine, or none that is known here");
		break;
	case PTRC_DOCTOR_LIBRARY_UNKNOWN:
		ptrc_doctor_say(
			d, PTRC_DOCTOR_NOTE, "library", path, NULL,
			"cannot be read, so it is not known whether it has the library");
		break;
	default:
		if (preload && strstr(preload, "libposixtrace"))
			ptrc_doctor_say(d, PTRC_DOCTOR_OK, "library", path, NULL,
					"gets the library by LD_PRELOAD");
		else
			ptrc_doctor_say(
				d, is_script ? PTRC_DOCTOR_NOTE : PTRC_DOCTOR_PROBLEM,
				"library", path,
				"link it with -lposixtrace; programs that it starts are "
				"traced if they have it",
				"is not linked with the library, so it has no events");
		break;
	}
}

void ptrc_doctor_command(struct ptrc_doctor *d, char **argv)
{
	char path[PATH_MAX], next[PATH_MAX];
	bool is_script = false;
	struct stat st;

	if (!find_program(argv[0], path)) {
		ptrc_doctor_say(d, PTRC_DOCTOR_PROBLEM, "command", argv[0], NULL, "%s",
				errno == ENOENT ? "no such command" : strerror(errno));
		return;
	}
	if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
		ptrc_doctor_say(d, PTRC_DOCTOR_PROBLEM, "command", path, NULL,
				"is a directory");
		return;
	}
	for (int i = 0; i < INTERPRETERS_MAX && find_interpreter(path, next); i++) {
		ptrc_doctor_say(
			d, PTRC_DOCTOR_NOTE, "command", path, NULL,
			"is a script: what it starts is traced if it has the library; "
			"the script itself can use ptrace-event. %s runs it",
			next);
		memcpy(path, next, sizeof(next));
		is_script = true;
	}
	check_privileged(d, path);
	say_library(d, path, ptrc_doctor_library(path), is_script);
	if (d->event && !is_script)
		check_event_text(d, path);
}
