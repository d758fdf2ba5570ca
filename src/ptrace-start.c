/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/session/session_main.h"

int main(int argc, char **argv)
{
	return ptrc_session_main(
		argc, argv, PTRC_SESSION_START, "ptrace-start",
		"Starts the traces of the sessions; nothing happens if they run already.");
}
