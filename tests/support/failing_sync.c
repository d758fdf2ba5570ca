/* SPDX-License-Identifier: MIT */
/* failing_sync COMMAND [ARGUMENT]...: runs COMMAND where no file can be brought to its disk. Ends
 * with 77 if this cannot be had. */
#include "tests/support/failing_sync.h"

#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2 || !failing_sync_begin(EIO))
		return 77;
	execvp(argv[1], argv + 1);
	return 127;
}
