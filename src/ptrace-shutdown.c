/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/cli/cli.h"
#include "src/cli/exit_status.h"
#include "src/session/session_main.h"

static const struct ptrc_cli_option options[] = {
	{"all", PTRC_SESSION_KEY_ALL, NULL, "end all sessions of the user"},
	{"allow-loss", PTRC_SESSION_KEY_ALLOW_LOSS, NULL,
	 "exit with 0 even if the log is incomplete"},
	{"json", PTRC_SESSION_KEY_JSON, NULL, "print the result as JSON"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-shutdown",
	.operands = "[OPTION]... SESSION...|--all",
	.summary = "Ends the sessions: what their streams hold is written to the logs, the\n"
		   "logs are closed, and no process is left.",
	.options = options,
	.notes = "Exit status: 0 done, 1 failed, 2 wrong usage, 3 the log is incomplete.",
	.usage_status = PTRC_EXIT_USAGE,
};

int main(int argc, char **argv)
{
	return ptrc_session_main(argc, argv, &cli, PTRC_SESSION_SHUTDOWN);
}
