/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/cli/cli.h"
#include "src/cli/exit_status.h"
#include "src/session/session_main.h"

static const struct ptrc_cli_option options[] = {
	{"json", PTRC_SESSION_KEY_JSON, NULL, "print the result as JSON"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-flush",
	.operands = "[OPTION]... SESSION...",
	.summary = "Writes to the logs of the sessions what their streams hold, and waits\n"
		   "for it.",
	.options = options,
	.notes = "Exit status: 0 done, 1 failed, 2 wrong usage.",
	.usage_status = PTRC_EXIT_USAGE,
};

int main(int argc, char **argv)
{
	return ptrc_session_main(argc, argv, &cli, PTRC_SESSION_FLUSH);
}
