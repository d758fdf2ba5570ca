/* SPDX-License-Identifier: MIT */
/*
 * Latencies of single events, for the benchmark and the programs that it is compared with.
 *
 * The counter is read before and after each event, and the difference is counted in a histogram
 * with a bucket ("place") for each number of ticks. Nothing is subtracted, so each figure includes
 * one reading of the counter. Turns of some hundred events alternate with as many empty calls,
 * whose latencies show how often and how long the machine itself interrupts the program.
 */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "bench/measure.h"

/* Latencies below this number of ticks, some 300 us or more, have a place (bucket) each. Longer
 * ones, which are rare, are kept in a list. The array is large, but memory is used only for pages
 * with places that occur. */
#define BENCH_PLACES (1U << 20)
#define BENCH_LONG_MAX (1U << 16)
/* Events and empty calls take turns of this many. */
#define BENCH_TURN 500
/* If an event took at least this long, getrusage() is called to find out what interrupted the
 * thread. No interruption is shorter. */
#define BENCH_SLOW_NS 200

struct bench_histogram {
	uint32_t places[BENCH_PLACES];
	uint64_t longs[BENCH_LONG_MAX];
	size_t long_count;
	uint64_t total;
};

/* Possible causes of a slow event, as bits. */
enum {
	BENCH_AT_CHUNK = 1,  /* the tracer changed to the next part of its memory */
	BENCH_AT_FAULT = 2,  /* the thread had a page fault */
	BENCH_AT_SWITCH = 4, /* another thread took the processor */
	BENCH_AT_SLEEP = 8,  /* the thread gave up the processor */
};

struct bench_worst {
	uint64_t ticks;
	unsigned seen; /* BENCH_AT_ bits */
};

/* Numbers of slow events: all, by cause, and those for which no cause was seen. */
struct bench_slow {
	uint64_t total, chunk, fault, taken, sleep, nothing;
};

/* Records event number n. */
typedef void (*bench_emit_one)(uint64_t n);
/* Returns a value that changes when the tracer changes to the next part of its memory. */
typedef uint64_t (*bench_whereabouts)(void);

static struct bench_histogram bench_events, bench_first, bench_chunks, bench_empty;
static struct bench_worst bench_worst_event;
static struct bench_slow bench_slow_events;

static inline void bench_note(struct bench_histogram *h, uint64_t ticks)
{
	h->total++;
	if (ticks < BENCH_PLACES)
		h->places[ticks]++;
	else if (h->long_count < BENCH_LONG_MAX)
		h->longs[h->long_count++] = ticks;
	else /* the list is full: such delays have taken half a minute in all */
		h->longs[BENCH_LONG_MAX - 1] = ticks;
}

static inline int bench_compare_ticks(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Returns the percentile for a share between 0 and 1, in ticks. */
static inline uint64_t bench_percentile(struct bench_histogram *h, double share)
{
	uint64_t rank = (uint64_t)(share * (double)h->total + 0.999999), seen = 0;

	if (rank < 1)
		rank = 1;
	for (uint64_t i = 0; i < BENCH_PLACES; i++) {
		seen += h->places[i];
		if (seen >= rank)
			return i;
	}
	if (!h->long_count)
		return 0;
	qsort(h->longs, h->long_count, sizeof(h->longs[0]), bench_compare_ticks);
	rank -= seen;
	return h->longs[rank <= h->long_count ? rank - 1 : h->long_count - 1];
}

static inline void bench_print_histogram(const char *name, struct bench_histogram *h,
					 double ns_per_tick)
{
	printf("\"%s\": {\"count\": %llu, \"p50\": %.1f, \"p99\": %.1f, \"p99_9\": %.1f, "
	       "\"worst\": %.1f}",
	       name, (unsigned long long)h->total, (double)bench_percentile(h, 0.5) * ns_per_tick,
	       (double)bench_percentile(h, 0.99) * ns_per_tick,
	       (double)bench_percentile(h, 0.999) * ns_per_tick,
	       (double)bench_percentile(h, 1) * ns_per_tick);
}

/* Returns what has interrupted the thread since *then (BENCH_AT_ bits), and sets *then to the
 * present. */
static inline unsigned bench_interruptions(struct rusage *then)
{
	struct rusage now;
	unsigned seen = 0;

	getrusage(RUSAGE_THREAD, &now);
	if (now.ru_minflt != then->ru_minflt || now.ru_majflt != then->ru_majflt)
		seen |= BENCH_AT_FAULT;
	if (now.ru_nivcsw != then->ru_nivcsw)
		seen |= BENCH_AT_SWITCH;
	if (now.ru_nvcsw != then->ru_nvcsw)
		seen |= BENCH_AT_SLEEP;
	*then = now;
	return seen;
}

static inline void bench_note_slow(uint64_t ticks, unsigned seen)
{
	struct bench_slow *s = &bench_slow_events;

	s->total++;
	s->chunk += !!(seen & BENCH_AT_CHUNK);
	s->fault += !!(seen & BENCH_AT_FAULT);
	s->taken += !!(seen & BENCH_AT_SWITCH);
	s->sleep += !!(seen & BENCH_AT_SLEEP);
	s->nothing += !seen;
	if (ticks > bench_worst_event.ticks)
		bench_worst_event = (struct bench_worst){ticks, seen};
}

/* Returns the length of a tick of the counter, measured for 20 ms. */
static inline double bench_ns_per_tick(void)
{
	uint64_t begin_ns = bench_now_ns(CLOCK_MONOTONIC), begin = bench_counter(), now_ns;

	do {
		now_ns = bench_now_ns(CLOCK_MONOTONIC);
	} while (now_ns - begin_ns < 20000000);
	return (double)(now_ns - begin_ns) / (double)(bench_counter() - begin);
}

/* Records `count` events and prints their latencies. The first `lap` of them, which go into
 * untouched memory, have a histogram of their own. Inlined, so that `emit` is inlined too: a
 * program would not make this call, so it must not be measured. */
static inline __attribute__((always_inline)) void
bench_latency(uint64_t count, uint64_t lap, bench_emit_one emit, bench_whereabouts whereabouts)
{
	double ns_per_tick = bench_ns_per_tick();
	uint64_t slow = (uint64_t)(BENCH_SLOW_NS / ns_per_tick), at = 0;
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	for (uint64_t n = 0; n < count;) {
		uint64_t end = n + BENCH_TURN;

		(void)bench_interruptions(&usage);
		for (; n < end; n++) {
			uint64_t from = bench_counter(), ticks, now_at;
			unsigned seen = 0;

			emit(n);
			ticks = bench_counter() - from;
			now_at = whereabouts();
			if (now_at != at) {
				at = now_at;
				seen = BENCH_AT_CHUNK;
				bench_note(&bench_chunks, ticks);
			}
			if (n < lap) {
				bench_note(&bench_first, ticks);
				continue;
			}
			bench_note(&bench_events, ticks);
			if (ticks >= slow)
				bench_note_slow(ticks, seen | bench_interruptions(&usage));
		}
		for (int i = 0; i < BENCH_TURN; i++) {
			uint64_t from = bench_counter();

			bench_call(1, &usage, 0);
			bench_note(&bench_empty, bench_counter() - from);
		}
	}

	printf("{");
	bench_print_histogram("events", &bench_events, ns_per_tick);
	printf(", ");
	bench_print_histogram("first", &bench_first, ns_per_tick);
	printf(", ");
	bench_print_histogram("chunk_changes", &bench_chunks, ns_per_tick);
	printf(", ");
	bench_print_histogram("empty", &bench_empty, ns_per_tick);
	printf(", \"slow\": {\"from_ns\": %d, \"events\": %llu, \"chunk_change\": %llu, "
	       "\"page_fault\": %llu, \"preempted\": %llu, \"slept\": %llu, \"nothing_seen\": %llu}",
	       BENCH_SLOW_NS, (unsigned long long)bench_slow_events.total,
	       (unsigned long long)bench_slow_events.chunk,
	       (unsigned long long)bench_slow_events.fault,
	       (unsigned long long)bench_slow_events.taken,
	       (unsigned long long)bench_slow_events.sleep,
	       (unsigned long long)bench_slow_events.nothing);
	printf(", \"at_worst\": \"%s%s%s%s%s\"",
	       bench_worst_event.seen & BENCH_AT_CHUNK ? "chunk change, " : "",
	       bench_worst_event.seen & BENCH_AT_FAULT ? "page fault, " : "",
	       bench_worst_event.seen & BENCH_AT_SWITCH ? "preempted, " : "",
	       bench_worst_event.seen & BENCH_AT_SLEEP ? "slept, " : "",
	       bench_worst_event.seen ? "" : "nothing seen, ");
}

#endif
