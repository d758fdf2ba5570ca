/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/session/session_main.h"

int main(int argc, char **argv)
{
	return ptrc_session_main(
		argc, argv, PTRC_SESSION_STOP, "ptrace-stop",
		"Stops the traces of the sessions; nothing happens if they are stopped\n"
		"already.");
}
