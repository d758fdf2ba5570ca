/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/cli/clock.h"
#include "src/cli/message.h"
#include "src/session/session_path.h"

/* Reads the letter of the process's state, and the clock ticks that it has run. Returns '\0' if there is no such
 * process. */
static char read_state(pid_t pid, uint64_t *ticks)
{
	unsigned long long user = 0, system = 0;
	char path[40], text[512], state = '\0';
	const char *at;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	/* The name of the program is in brackets, and may itself have some. */
	at = strrchr(text, ')');
	if (at && sscanf(at, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &state,
			 &user, &system) != 3)
		state = '\0';
	*ticks = user + system;
	return state;
}

static bool is_keeper(pid_t pid)
{
	char name[32];

	ptrc_session_command(pid, name);
	return !strcmp(name, "ptrace-keeper");
}

bool ptrc_writer_is_stopped(pid_t pid)
{
	uint64_t ticks;
	char state = read_state(pid, &ticks);

	return state == 'T' || state == 't';
}

int64_t ptrc_writer_look(struct ptrc_writer_watch *w)
{
	int64_t now = ptrc_now_ns();
	uint64_t ticks = w->ticks;
	char state = is_keeper(w->pid) ? read_state(w->pid, &ticks) : '\0';

	w->is_stopped = state == 'T' || state == 't';
	if (!w->since_ns || (!w->is_stopped && (state != 'S' || ticks != w->ticks)))
		w->since_ns = now;
	w->ticks = ticks;
	return now - w->since_ns;
}

void ptrc_writer_say_stopped(const char *log)
{
	/* The process locks bytes of the log that are far behind its end. */
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	int fd = open(log, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return;
	if (!fcntl(fd, F_GETLK, &lock) && lock.l_type != F_UNLCK && lock.l_pid > 0 &&
	    is_keeper(lock.l_pid) && ptrc_writer_is_stopped(lock.l_pid))
		ptrc_cli_message(log,
				 "ptrace-keeper (%ld), which writes it, is stopped; kill -CONT %ld "
				 "continues it",
				 (long)lock.l_pid, (long)lock.l_pid);
	close(fd);
}
