/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/session/session_main.h"

int main(int argc, char **argv)
{
	return ptrc_session_main(
		argc, argv, PTRC_SESSION_FLUSH, "ptrace-flush",
		"Writes the events that the sessions still hold in memory to their logs, and\n"
		"waits until they are written.");
}
