/* SPDX-License-Identifier: MIT */
/*
 * Measures a static probe with two arguments, as ptrace-run --sdt records it, into a stream that
 * overwrites its oldest events. Must run with posixtrace-preload.so preloaded and
 * POSIXTRACE_SDT='*'. Each batch of probes follows a batch of instructions that the kernel turns
 * into a signal whose handler does nothing: no probe that works by a trap can cost less. Prints a
 * JSON object: the medians of the nanoseconds of both, and of their ratio.
 */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <trace.h>
#include <ucontext.h>

#include "bench/measure.h"
#include "tests/support/sdt.h"

enum { SAMPLES = 300, TURNS = 256 };

/* An instruction that raises a signal. On x86-64 it is a division by 0, because virtual machines
 * leave its exception to the kernel. */
#if defined(__x86_64__)
#define FAULT() __asm__ volatile("idivl %%ecx" ::"a"(1), "d"(0), "c"(0))
enum { FAULT_SIGNAL = SIGFPE };
#else
#define FAULT() __asm__ volatile(".inst 0")
enum { FAULT_SIGNAL = SIGILL };
#endif

/* Handles the signal: makes the program continue after the instruction that raised it. */
static void skip(int number, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	(void)number;
	(void)info;
#if defined(__x86_64__)
	c->uc_mcontext.gregs[REG_RIP] += 2;
#else
	c->uc_mcontext.pc += 4;
#endif
}

static void loop_signals(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++)
		FAULT();
}

static void loop_probes(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++)
		PROBE("bench", "turn", 0, "8@%0 -4@%1", "r"(i), "r"((int)turns));
}

int main(void)
{
	static double ns[SAMPLES], signal_ns[SAMPLES], ratio[SAMPLES];
	const struct sigaction action = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};
	struct posix_trace_event_info info;
	trace_id_t stream;
	char data[64];
	size_t size;
	int none = 1;

	if (sigaction(FAULT_SIGNAL, &action, NULL) || posix_trace_create(0, NULL, &stream) ||
	    posix_trace_start(stream))
		return 1;
	loop_probes(TURNS);
	for (int i = 0; i < SAMPLES; i++) {
		signal_ns[i] = bench_time(loop_signals, TURNS, CLOCK_MONOTONIC);
		ns[i] = bench_time(loop_probes, TURNS, CLOCK_MONOTONIC);
		ratio[i] = ns[i] / signal_ns[i];
	}
	while (!posix_trace_trygetnext_event(stream, &info, data, sizeof(data), &size, &none) &&
	       !none)
		if (size == sizeof(uint64_t) + sizeof(uint32_t)) {
			printf("{\"ns\": %.4g, \"signal_ns\": %.4g, \"ratio\": %.4g}\n",
			       bench_median(ns, SAMPLES), bench_median(signal_ns, SAMPLES),
			       bench_median(ratio, SAMPLES));
			return posix_trace_shutdown(stream) != 0;
		}
	fputs("probes: no probe was recorded\n", stderr);
	return 1;
}
