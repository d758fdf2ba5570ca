/* SPDX-License-Identifier: MIT */
/* failing_sync [-k] COMMAND [ARGUMENT]...: executes COMMAND so that fsync() and fdatasync() fail
 * with EIO in it and in the processes that it starts. With -k, the kernel kills a process that
 * calls them. Exit status 77 if the kernel has no seccomp filters. */
#include "tests/support/failing_sync.h"

#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	bool kills = argc > 2 && !strcmp(argv[1], "-k");

	if (argc < 2 ||
	    !(kills ? failing_sync_begin_with(SECCOMP_RET_KILL_PROCESS) : failing_sync_begin(EIO)))
		return 77;
	argv += 1 + kills;
	execvp(argv[0], argv);
	return 127;
}
