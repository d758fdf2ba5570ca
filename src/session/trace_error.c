/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/trace_error.h"

#include <errno.h>
#include <sys/stat.h>

#include <posixtrace.h>

#include "src/cli/cli.h"
#include "src/session/session_path.h"

void ptrc_trace_error(int error, const char *target, const char *log_path)
{
	char directory[64];
	struct stat st;

	switch (error) {
	case ESRCH:
		ptrc_cli_message(target, "no such process");
		return;
	case EPERM:
		if (ptrc_session_directory(false, directory) == EPERM)
			ptrc_session_say_directory(EPERM);
		else
			ptrc_cli_message(target, "not allowed to trace this process");
		return;
	case EAGAIN:
		ptrc_cli_message(target, "you have %d traces already, and cannot have more",
				 TRACE_SYS_MAX);
		return;
	case ENOMEM:
		ptrc_cli_message(target, "no memory for the stream: /dev/shm is full, or a limit "
					 "on file size or open files is too low");
		return;
	case EINVAL:
		/* Other causes of EINVAL have been checked before. */
		if (!log_path)
			ptrc_cli_message(target, "the stream-full-policy flush needs a log");
		else if (!stat(log_path, &st) && S_ISREG(st.st_mode))
			ptrc_cli_message(log_path, "the log-max-size is too small for a log");
		else
			ptrc_cli_message(log_path, "is not a regular file, which needs the "
						   "log-full-policy append");
		return;
	default:
		ptrc_cli_error(log_path ? log_path : target, error);
		return;
	}
}
