// SPDX-License-Identifier: MIT
// Measures events of <posixtrace.hpp>, in turn with calls of posix_trace_event() for as many bytes,
// into a stream that overwrites its oldest events, and also before a stream exists ("untraced").
// Prints a JSON object with the medians of the nanoseconds of both and of their ratio.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <posixtrace.hpp>
#include <vector>

#include "bench/measure.h"

// Not static, so that the compiler cannot take the text for a constant.
extern std::string_view text;
std::string_view text = "select name from user where id = ?";

namespace
{

posixtrace::event<std::uint64_t, std::uint64_t> numbers{"bench.numbers", "n", "time"};
posixtrace::event<std::uint64_t, std::uint32_t, std::string_view> query{"bench.query", "id", "rows",
									"sql"};
trace_event_id_t plain;

void loop_numbers(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++)
		numbers(i, i);
}

void loop_plain_numbers(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++) {
		std::uint64_t data[2] = {i, i};

		posix_trace_event(plain, data, sizeof(data));
	}
}

void loop_query(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++)
		query(i, 3U, text);
}

// Records the same data as loop_query(), assembled here.
void loop_plain_query(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++) {
		char data[256];
		std::uint32_t rows = 3;

		std::memcpy(data, &i, 8);
		std::memcpy(data + 8, &rows, 4);
		std::memcpy(data + 12, text.data(), text.size());
		posix_trace_event(plain, data, 12 + text.size());
	}
}

double median(std::vector<double> values)
{
	std::sort(values.begin(), values.end());
	return values[values.size() / 2];
}

void compare(const char *name, bench_loop loop, bench_loop other, const char *behind)
{
	std::vector<double> ns, other_ns, ratios;

	for (int i = 0; i < 4 * BENCH_BATCHES; i++) {
		ns.push_back(bench_time(loop, BENCH_BATCH, CLOCK_MONOTONIC));
		other_ns.push_back(bench_time(other, BENCH_BATCH, CLOCK_MONOTONIC));
		ratios.push_back(ns.back() / other_ns.back());
	}
	std::printf("\"%s\": {\"ns\": %.4g, \"plain_ns\": %.4g, \"ratio\": %.4g}%s", name,
		    median(ns), median(other_ns), median(ratios), behind);
}

} // namespace

int main()
{
	trace_id_t stream;

	if (posix_trace_eventid_open("bench.plain", &plain))
		return 1;
	std::printf("{");
	compare("untraced", loop_query, loop_plain_query, ", ");
	if (posix_trace_create(0, nullptr, &stream) || posix_trace_start(stream))
		return 1;
	// Fills the stream once, so that all its memory has been touched before measuring starts.
	for (int i = 0; i < 80; i++)
		loop_query(BENCH_BATCH);
	compare("numbers", loop_numbers, loop_plain_numbers, ", ");
	compare("query", loop_query, loop_plain_query, "}\n");
	return posix_trace_shutdown(stream) != 0;
}
