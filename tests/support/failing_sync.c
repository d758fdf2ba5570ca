/* SPDX-License-Identifier: MIT */
/* failing_sync [-k] COMMAND [ARGUMENT]...: runs COMMAND where no file can be brought to its disk, or, with -k,
 * where who tries to is killed. Ends with 77 if this cannot be had. */
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
