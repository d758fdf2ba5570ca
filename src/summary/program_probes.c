/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/summary/program_probes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/preload/notes.h"
#include "src/base/command.h"
#include "src/base/message.h"
#include "src/base/program.h"
#include "src/base/scope.h"

struct search {
	struct ptrc_program_probes *probes;
	const char *file;
	/* The index in probes->list of the first probe of this file. */
	size_t first;
};

static struct ptrc_program_probe *probe_of(struct search *s, char *event)
{
	struct ptrc_program_probes *all = s->probes;
	struct ptrc_program_probe *p;

	for (size_t i = s->first; i < all->count; i++)
		if (!strcmp(all->list[i].event, event)) {
			free(event);
			return &all->list[i];
		}
	p = ptrc_append(all->list, all->count);
	*p = (struct ptrc_program_probe){.event = event, .file = ptrc_cli_copy(s->file)};
	return p;
}

static void take(void *arg, const struct ptrc_note *n)
{
	struct ptrc_program_probe *p =
		probe_of(arg, ptrc_cli_text("sdt.%s.%s", n->provider, n->name));
	struct ptrc_operand operands[PTRC_OPERANDS_MAX];
	size_t count;

	if (ptrc_operands_read(n->arguments, operands, &count) &&
	    ptrc_arguments_add(&p->arguments, operands, count))
		return;
	p->left_out_count++;
	free(p->left_out);
	p->left_out = ptrc_cli_copy(n->arguments);
}

/* Adds the probes of a file. Returns 0 or an error number: ENOEXEC if it is no program or library
 * for this machine. Stores the path of the dynamic loader that the file names. */
static int add_file(struct ptrc_program_probes *all, const char *path, char loader[PATH_MAX])
{
	struct search search = {.probes = all, .file = path, .first = all->count};
	PTRC_SCOPED_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	void *map;

	if (fd < 0)
		return errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !ptrc_program_loader(fd, loader))
		return ENOEXEC;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return errno;
	ptrc_notes_visit(&(struct ptrc_elf){.bytes = map, .size = (uint64_t)st.st_size}, take,
			 &search);
	munmap(map, (size_t)st.st_size);
	return 0;
}

static bool is_script(const char *path)
{
	PTRC_SCOPED_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char head[2];

	return fd >= 0 && pread(fd, head, 2, 0) == 2 && !memcmp(head, "#!", 2);
}

static void add_library(void *all, const char *line, const char *path)
{
	char unused[PATH_MAX];

	(void)line;
	if (path && *path)
		add_file(all, path, unused);
}

bool ptrc_program_probes_find(struct ptrc_program_probes *all, const char *program)
{
	char path[PATH_MAX], loader[PATH_MAX];
	int error = ptrc_command_find(program, path);

	*all = (struct ptrc_program_probes){0};
	/* EACCES: the file is not executable. A library need not be executable, so the file is read
	 * nevertheless. So is a program without its loader. */
	if (!error || error == EACCES || error == ELIBACC)
		error = add_file(all, path, loader);
	if (error == ENOEXEC && is_script(path))
		ptrc_cli_message(path, "a script has no probes, only programs and libraries have");
	else if (error)
		ptrc_cli_error(program, error);
	if (error)
		return false;
	if (!ptrc_program_libraries(path, loader, add_library, all))
		ptrc_cli_message(program,
				 "its libraries are not known, as its loader is not the system's");
	return true;
}

void ptrc_program_probes_free(struct ptrc_program_probes *all)
{
	for (size_t i = 0; i < all->count; i++) {
		free(all->list[i].event);
		free(all->list[i].file);
		free(all->list[i].left_out);
	}
	free(all->list);
	*all = (struct ptrc_program_probes){0};
}
