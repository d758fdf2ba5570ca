/* SPDX-License-Identifier: MIT */
/*
 * fleet_host DIRECTORY HOSTS RATE: simulates HOSTS machines for bench/fleet. Each machine is a
 * process with a host name of its own, host0001 and so on, that records RATE events of 16 bytes a
 * second. It traces itself into the log DIRECTORY/<name>/run.log.
 *
 * fleet_host DIRECTORY RATE: one program on this machine that records RATE events a second and is
 * traced by another program.
 *
 * Both forms end on SIGTERM, and then write the number of recorded events into
 * DIRECTORY/<name>/recorded or DIRECTORY/recorded. If a machine has lost events, the exit status is
 * 1. The events are of the type `request', with the fields `id', a count, and `ns', the time.
 */
#include <errno.h>
#include <fcntl.h>
#include <posixtrace.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <trace.h>
#include <unistd.h>

#include "include/posixtrace-private.h"
#include "bench/measure.h"

/* The interval, in ms, at which a process records the events that are due by then: longer for many
 * machines, so that they do not wake too often. */
enum { MACHINES_TURN_MS = 250, PROGRAM_TURN_MS = 5 };

static volatile sig_atomic_t has_to_end;

static void end(int signal_number)
{
	(void)signal_number;
	has_to_end = 1;
}

static void must(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "fleet_host: %s: %s\n", what, strerror(error));
	kill(0, SIGTERM);
	_exit(1);
}

/* Gives the process a host name and a /dev/shm of its own: all streams of a user in one /dev/shm
 * share 64 places, so more machines than that could not be traced there. */
static void be_machine(const char *name)
{
	enum { SPACES = CLONE_NEWUTS | CLONE_NEWNS };

	if (unshare(SPACES) && unshare(CLONE_NEWUSER | SPACES))
		must(errno, "unshare");
	if (sethostname(name, strlen(name)))
		must(errno, "sethostname");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL))
		must(errno, "mount");
}

static trace_id_t begin_trace(void)
{
	trace_attr_t attr;
	trace_id_t trace;
	int fd = open("run.log", O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0)
		must(errno, "run.log");
	must(posix_trace_attr_init(&attr), "attributes");
	must(posix_trace_attr_setstreamsize(&attr, 1 << 20), "stream size");
	must(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_FLUSH), "policy");
	must(posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND), "log policy");
	must(posix_trace_create_withlog(0, &attr, fd, &trace), "create");
	must(posix_trace_start(trace), "start");
	return trace;
}

/* Records `rate` events a second until SIGTERM comes; returns the number of recorded events. */
static uint64_t record(double rate, long turn_ms)
{
	struct timespec turn = {.tv_nsec = turn_ms * 1000000};
	uint64_t begin = bench_now_ns(CLOCK_MONOTONIC), recorded = 0;
	trace_event_id_t event;

	must(posixtrace_eventid_open_layout("request", "u64 id, u64 ns", &event), "event type");
	while (!has_to_end) {
		uint64_t due =
			(uint64_t)((double)(bench_now_ns(CLOCK_MONOTONIC) - begin) * rate / 1e9);

		for (; recorded < due; recorded++) {
			uint64_t data[2] = {recorded, bench_now_ns(CLOCK_REALTIME)};

			posix_trace_event(event, data, sizeof(data));
		}
		nanosleep(&turn, NULL);
	}
	return recorded;
}

static void tell(uint64_t recorded)
{
	FILE *told = fopen("recorded", "w");

	if (!told || fprintf(told, "%lu\n", (unsigned long)recorded) < 0 || fclose(told))
		must(errno, "recorded");
}

static void be_host(const char *name, double rate)
{
	struct ptrc_counts counts;
	uint64_t recorded;
	trace_id_t trace;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (mkdir(name, 0700) || chdir(name))
		must(errno, name);
	be_machine(name);
	trace = begin_trace();
	recorded = record(rate, MACHINES_TURN_MS);
	must(posix_trace_stop(trace), "stop");
	must(ptrc_trace_counts(trace, &counts), "counts");
	must(posix_trace_shutdown(trace), "shutdown");
	if (counts.pt_lost_events) {
		fprintf(stderr, "fleet_host: %s: %lu events were lost\n", name,
			(unsigned long)counts.pt_lost_events);
		_exit(1);
	}
	tell(recorded);
	_exit(0);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = end};
	bool has_failed = false;
	char name[64];
	long hosts;
	double rate;
	int status;

	if (argc < 3 || argc > 4 || chdir(argv[1])) {
		fprintf(stderr, "usage: fleet_host DIRECTORY [HOSTS] RATE\n");
		return 2;
	}
	rate = strtod(argv[argc - 1], NULL);
	sigaction(SIGTERM, &action, NULL);
	if (argc == 3) {
		tell(record(rate, PROGRAM_TURN_MS));
		return 0;
	}
	hosts = strtol(argv[2], NULL, 10);
	for (long i = 1; i <= hosts; i++) {
		pid_t pid = fork();

		if (pid < 0)
			must(errno, "fork");
		snprintf(name, sizeof(name), "host%04ld", i);
		if (!pid)
			be_host(name, rate);
	}
	/* Wait for SIGTERM, and pass it on to the processes of the machines: the sender knows only
	 * this process. */
	while (!has_to_end)
		pause();
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	while (wait(&status) > 0 || errno == EINTR)
		has_failed |= status != 0;
	return has_failed;
}
