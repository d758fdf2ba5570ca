/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/session/session_main.h"

int main(int argc, char **argv)
{
	return ptrc_session_main(
		argc, argv, PTRC_SESSION_SHUTDOWN, "ptrace-shutdown",
		"Ends the sessions: the events that they still hold in memory are written to\n"
		"the logs, the logs are closed, and no process of the sessions is left.");
}
