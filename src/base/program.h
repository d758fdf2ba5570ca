/* SPDX-License-Identifier: MIT */
/* The file of a program, and the libraries that it is linked with. The program is not run. */
#ifndef PTRC_SRC_BASE_PROGRAM_H
#define PTRC_SRC_BASE_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/* Stores the path of the program's loader, which is the dynamic linker; "" if the program needs none. Returns false
 * if the file is not a program or library for this machine. */
bool ptrc_program_loader(int fd, char loader[PATH_MAX]);

/*
 * Lists the libraries of a program, as ldd(1) does: its loader maps them, prints their paths and exits before any
 * of their code runs. A program can name any file as its loader, so the loader is started only if it is in a
 * directory of the system. Calls visit() for each library, with the loader's line about it and the library's path:
 * NULL if the loader did not find the library, "" for the kernel's own (vdso). Returns false if the loader is not in
 * such a directory or does not start.
 */
bool ptrc_program_libraries(const char *program, const char *loader,
			    void (*visit)(void *arg, const char *line, const char *path),
			    void *arg);

#endif
