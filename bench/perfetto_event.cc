/* SPDX-License-Identifier: MIT */
/*
 * Measures an instant event of Perfetto's SDK with two numbers, recorded into a ring buffer of the
 * in-process backend. bench/peers compiles this program with the SDK. Prints the nanoseconds of an
 * event, the median of the batches.
 */
#include <perfetto.h>

#include <cstdio>

#include "bench/measure.h"

PERFETTO_DEFINE_CATEGORIES(perfetto::Category("bench"));
PERFETTO_TRACK_EVENT_STATIC_STORAGE();

/* Batches are short, so that other programs interrupt only few of them. */
enum { BATCH = 256, BATCHES = 200 };

static void loop_instant(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++)
		TRACE_EVENT_INSTANT("bench", "two_numbers", "a", i, "b", i);
}

int main()
{
	perfetto::TracingInitArgs args;
	perfetto::TraceConfig config;
	double ns[BATCHES];

	args.backends = perfetto::kInProcessBackend;
	/* The shared memory has room for many batches, so that no event waits or is dropped. */
	args.shmem_size_hint_kb = 4096;
	perfetto::Tracing::Initialize(args);
	perfetto::TrackEvent::Register();
	config.add_buffers()->set_size_kb(65536);
	config.add_data_sources()->mutable_config()->set_name("track_event");
	auto session = perfetto::Tracing::NewTrace();
	session->Setup(config);
	session->StartBlocking();
	if (!TRACE_EVENT_CATEGORY_ENABLED("bench")) {
		fputs("perfetto_event: the category is not enabled\n", stderr);
		return 1;
	}
	loop_instant(BENCH_BATCH);
	for (double &it : ns) {
		it = bench_time(loop_instant, BATCH, CLOCK_MONOTONIC);
		perfetto::TrackEvent::Flush();
	}
	session->StopBlocking();
	if (session->ReadTraceBlocking().size() < BATCHES * BATCH * 8) {
		fputs("perfetto_event: the trace lacks events\n", stderr);
		return 1;
	}
	printf("%.4g\n", bench_median(ns, BATCHES));
	return 0;
}
