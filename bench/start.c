/* SPDX-License-Identifier: MIT */
/*
 * A trivial program, to see what the library adds to its start: built with BENCH_LIBRARY it
 * has one event in it, otherwise nothing of the library. With an argument it exits with
 * status 1 if it has more than one thread, or a descriptor beyond the first three.
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
	/* "." and ".." count; of the descriptors, the one that reads the directory. */
	return argc > 1 &&
	       (entries("/proc/self/task") != 3 || entries("/proc/self/fd") > 6);
}
