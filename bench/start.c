/* SPDX-License-Identifier: MIT */
/*
 * A trivial program, by which bench/event measures what the library adds to the start and end of a
 * program. Built with BENCH_LIBRARY it records one event, which no stream gets; otherwise it does
 * not use the library. With an argument it exits with 1 if it has more than one thread, or a
 * descriptor beyond the first three.
 */
#include <dirent.h>
#include <stddef.h>
#ifdef BENCH_LIBRARY
#include <trace.h>
#endif

static int entries(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

int main(int argc, char **argv)
{
	(void)argv;
#ifdef BENCH_LIBRARY
	posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, NULL, 0);
#endif
	/* The counts include "." and ".." and the descriptor that reads the directory. */
	return argc > 1 && (entries("/proc/self/task") != 3 || entries("/proc/self/fd") > 6);
}
