/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/cli/group_signal.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long to wait for a signal that service managers send to each process of a group by
 * itself. */
enum { PATIENCE_MS = 20 };

static pid_t witness;
/* What an earlier witness saw and nobody has asked for yet; a bit per signal. */
static uint64_t carried;

static uint64_t bit_of(int signal)
{
	return UINT64_C(1) << (signal - 1);
}

static void __attribute__((noreturn)) witness_main(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Nobody's end of a pipe, nor a name that looks like a second run. */
	syscall(SYS_close_range, 0, ~0U, 0);
	prctl(PR_SET_NAME, "ptrace-witness");
	while (getppid() == parent)
		pause();
	_exit(0);
}

static pid_t make_witness(void)
{
	pid_t self = getpid();
	sigset_t all;
	sigset_t old;
	long pid;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	/* Not fork(), as it is to be no process that is traced; and no signal is sent
	 * when it ends. */
	pid = syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
	if (!pid)
		witness_main(self);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return pid < 0 ? 0 : (pid_t)pid;
}

static void end_witness(pid_t pid)
{
	if (!pid)
		return;
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

static uint64_t pending_of(pid_t pid)
{
	unsigned long long bits = 0;
	char line[200];
	char path[40];
	FILE *f;

	if (!pid)
		return 0;
	snprintf(path, sizeof(path), "/proc/%ld/status", (long)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "ShdPnd: %llx", &bits) == 1)
			break;
	fclose(f);
	return bits;
}

void ptrc_group_signal_begin(void)
{
	witness = make_witness();
}

/* What is pending stays so: a new witness begins anew. */
static void replace_witness(int asked)
{
	pid_t old = witness;
	uint64_t seen;

	witness = make_witness();
	/* What came in between both have. */
	seen = pending_of(old);
	carried |= seen & ~pending_of(witness) & ~bit_of(asked);
	end_witness(old);
}

bool ptrc_group_signal_is_for_group(int signal)
{
	const struct timespec pause_time = {0, 1000000};

	if (carried & bit_of(signal)) {
		carried &= ~bit_of(signal);
		return true;
	}
	for (int i = 0; witness && i < PATIENCE_MS; i++) {
		if (pending_of(witness) & bit_of(signal)) {
			replace_witness(signal);
			return true;
		}
		nanosleep(&pause_time, NULL);
	}
	return false;
}

void ptrc_group_signal_end(void)
{
	end_witness(witness);
	witness = 0;
}
