/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/message.h"

enum {
#if defined(__x86_64__)
	MACHINE = EM_X86_64,
#else
	MACHINE = EM_AARCH64,
#endif
};

static bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

bool ptrc_program_loader(int fd, char loader[PATH_MAX])
{
	Elf64_Ehdr e;
	Elf64_Phdr p;

	loader[0] = '\0';
	if (!read_at(fd, &e, sizeof(e), 0) || memcmp(e.e_ident, ELFMAG, SELFMAG) ||
	    e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_machine != MACHINE ||
	    e.e_phentsize != sizeof(p))
		return false;
	for (unsigned int i = 0; i < e.e_phnum; i++) {
		uint64_t at;

		if (__builtin_add_overflow(e.e_phoff, i * sizeof(p), &at) ||
		    !read_at(fd, &p, sizeof(p), at))
			return false;
		if (p.p_type == PT_INTERP)
			return p.p_filesz && p.p_filesz <= PATH_MAX &&
			       read_at(fd, loader, p.p_filesz, p.p_offset) &&
			       !loader[p.p_filesz - 1];
	}
	return true;
}

/* Whether the loader is in a directory in which only root can write. */
static bool is_loader_of_system(const char *path)
{
	return (!strncmp(path, "/lib/", 5) || !strncmp(path, "/lib64/", 7)) &&
	       !strstr(path, "/../");
}

/* Starts the loader so that it lists the libraries of the program. Returns a stream from which its
 * output can be read, or NULL. */
static FILE *start_list(const char *loader, const char *program, pid_t *pid)
{
	const struct rlimit none = {.rlim_cur = 0};
	const char *library_path = getenv("LD_LIBRARY_PATH");
	char *argv[] = {(char *)loader, (char[]){"--list"}, (char *)program, NULL};
	char *env[2] = {NULL, NULL};
	posix_spawn_file_actions_t actions;
	FILE *f = NULL;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	/* Passes on no other variable, because others would make the loader load other files or print more. */
	if (library_path)
		env[0] = ptrc_cli_text("LD_LIBRARY_PATH=%s", library_path);
	/* A damaged program may crash the loader. The loader should leave no core file then. */
	setrlimit(RLIMIT_CORE, &none);
	if (!posix_spawn_file_actions_init(&actions)) {
		posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
		posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
		posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
		if (!posix_spawn(pid, loader, &actions, NULL, argv, env))
			f = fdopen(ends[0], "r");
		posix_spawn_file_actions_destroy(&actions);
	}
	free(env[0]);
	close(ends[1]);
	if (!f)
		close(ends[0]);
	return f;
}

bool ptrc_program_libraries(const char *program, const char *loader,
			    void (*visit)(void *, const char *, const char *), void *arg)
{
	char line[2 * PATH_MAX], file[PATH_MAX], path[PATH_MAX];
	int status;
	pid_t pid;
	FILE *f;

	if (!*loader)
		return true;
	if (!is_loader_of_system(loader) || !realpath(program, file))
		return false;
	f = start_list(loader, file, &pid);
	if (!f)
		return false;
	/* A line is "NAME => PATH (ADDRESS)" or "PATH (ADDRESS)". The line of a library that was not found has no
	 * address; the kernel's own library (vdso) has a name without a slash instead of a path. */
	while (fgets(line, sizeof(line), f)) {
		const char *address = strstr(line, " (0x");
		const char *arrow = strstr(line, " => ");
		const char *start = arrow ? arrow + strlen(" => ") : line + strspn(line, " \t");

		path[0] = '\0';
		if (address && start < address)
			snprintf(path, sizeof(path), "%.*s", (int)(address - start), start);
		visit(arg, line, !address ? NULL : strchr(path, '/') ? path : "");
	}
	fclose(f);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return true;
}
