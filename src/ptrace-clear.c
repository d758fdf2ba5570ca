/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/session/session_main.h"

int main(int argc, char **argv)
{
	return ptrc_session_main(
		argc, argv, PTRC_SESSION_CLEAR, "ptrace-clear",
		"Removes all events from the streams and the log files of the sessions, and\n"
		"empties their filters.");
}
