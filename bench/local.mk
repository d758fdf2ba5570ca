# SPDX-License-Identifier: MIT
# Benchmarks: `make bench' builds and runs them. A check judges no time, as times depend on the
# machine, but builds what needs no other package, so that each compiler sees it, and
# bench-report.bats and bench-cli.bats run it. -no-install links a program
# against the shared library of the build directory without libtool's wrapper script, which would
# take part in what is measured.

ptrc_bench_checked = \
	%D%/cli_worker \
	%D%/event \
	%D%/fleet_host \
	%D%/functions \
	%D%/keeper \
	%D%/latency \
	%D%/paced \
	%D%/probes \
	%D%/start_plain \
	%D%/start_static \
	%D%/timed \
	%D%/waits
check_PROGRAMS += $(ptrc_bench_checked)
ptrc_bench_programs =

%C%_event_SOURCES = %D%/event.c %D%/measure.h
%C%_event_CPPFLAGS = $(AM_CPPFLAGS) -DBENCH_LTTNG_SESSION='"$(abs_srcdir)/%D%/lttng-session"'
%C%_event_LDADD = $(LDADD) -lm

%C%_fleet_host_SOURCES = %D%/fleet_host.c %D%/measure.h
%C%_functions_SOURCES = %D%/functions.c %D%/measure.h
%C%_keeper_SOURCES = %D%/keeper.c %D%/measure.h
%C%_latency_SOURCES = %D%/latency.c %D%/latency.h %D%/measure.h
%C%_paced_SOURCES = %D%/paced.c %D%/measure.h
%C%_probes_SOURCES = %D%/probes.c %D%/measure.h
%C%_timed_SOURCES = %D%/timed.c %D%/measure.h
%C%_timed_LDADD =
%C%_waits_SOURCES = %D%/waits.c %D%/measure.h

%C%_cli_worker_SOURCES = %D%/cli_worker.c %D%/cli_worker.h %D%/measure.h

if HAVE_CXX
check_PROGRAMS += %D%/cxx_event
ptrc_bench_checked += %D%/cxx_event
endif
%C%_cxx_event_SOURCES = %D%/cxx_event.cc %D%/measure.h
%C%_cxx_event_CXXFLAGS = -std=c++17 $(SAN_CFLAGS)

%C%_start_plain_SOURCES = %D%/start.c
%C%_start_plain_LDADD =
%C%_start_static_SOURCES = %D%/start.c
%C%_start_static_CPPFLAGS = $(AM_CPPFLAGS) -DBENCH_LIBRARY

if HAVE_SHARED
ptrc_bench_programs += %D%/shared_event %D%/start_shared
endif
%C%_shared_event_SOURCES = %D%/shared_event.c %D%/measure.h %D%/worker.h
%C%_shared_event_LDFLAGS = $(SAN_CFLAGS) -no-install
%C%_start_shared_SOURCES = %D%/start.c
%C%_start_shared_CPPFLAGS = $(AM_CPPFLAGS) -DBENCH_LIBRARY
# Without a run path, which the loader would search: bench/event names the library.
%C%_start_shared_LDFLAGS = $(SAN_CFLAGS)
%C%_start_shared_LDADD = lib/.libs/libposixtrace.so
%C%_start_shared_DEPENDENCIES = lib/libposixtrace.la

if HAVE_LTTNG_UST
ptrc_bench_programs += %D%/lttng_event %D%/lttng_cli_worker
endif
%C%_lttng_event_SOURCES = \
	%D%/lttng_event.c %D%/lttng_tracepoint.h %D%/latency.h %D%/measure.h %D%/worker.h
%C%_lttng_event_CFLAGS = -std=gnu11 $(LTTNG_UST_CFLAGS)
%C%_lttng_event_LDFLAGS =
%C%_lttng_event_LDADD = $(LTTNG_UST_LIBS)
%C%_lttng_cli_worker_SOURCES = \
	%D%/lttng_cli_worker.c %D%/lttng_tracepoint.h %D%/cli_worker.h %D%/measure.h
%C%_lttng_cli_worker_CFLAGS = -std=gnu11 $(LTTNG_UST_CFLAGS)
%C%_lttng_cli_worker_LDFLAGS =
%C%_lttng_cli_worker_LDADD = $(LTTNG_UST_LIBS)

EXTRA_PROGRAMS = $(ptrc_bench_programs)
EXTRA_DIST += %D%/README.md %D%/cli %D%/fleet %D%/lttng-cli %D%/lttng-session %D%/node_event.js \
	%D%/peer.c %D%/peers %D%/perfetto_event.cc %D%/python_event.py \
	%D%/python_read.py %D%/report %D%/xray.c \
	%D%/rust/Cargo.toml %D%/rust/build %D%/rust/build.rs %D%/rust/event.c %D%/rust/src/main.rs
CLEANFILES += $(EXTRA_PROGRAMS) %D%/rust_event bench-report.md bench-report.json bench-fleet.md bench-fleet.json

ptrc_bench_needs = \
	$(ptrc_bench_checked) $(ptrc_bench_programs) $(bin_PROGRAMS) $(noinst_DATA) $(noinst_PROGRAMS)
# Cargo knows what has changed.
bench-rust: lib/libposixtrace.la
	@PTRC_BUILD='$(abs_top_builddir)' PTRC_SOURCE='$(abs_top_srcdir)' CC='$(CC)' CFLAGS='$(CFLAGS)' \
		sh $(srcdir)/%D%/rust/build
bench: $(ptrc_bench_needs) bench-rust
	$(ptrc_bench_report)
	$(ptrc_bench_cli)
bench-report: $(ptrc_bench_needs) bench-rust
	$(ptrc_bench_report)
bench-cli: $(ptrc_bench_needs)
	$(ptrc_bench_cli)
bench-peers: $(ptrc_bench_needs)
	$(ptrc_bench_peers)
bench-fleet: $(ptrc_bench_needs)
	$(ptrc_bench_fleet)
.PHONY: bench bench-rust bench-report bench-cli bench-peers bench-fleet

# Measures what tracing and reading cost, compared with the goals, and writes bench-report.md and .json.
ptrc_bench_report = \
	PTRC_BUILD='$(abs_top_builddir)' PTRC_SOURCE='$(abs_top_srcdir)' CC='$(CC)' \
	CFLAGS='$(CFLAGS)' bash $(srcdir)/%D%/report $(BENCH_ARGS)

# Measures the commands as scripts use them.
ptrc_bench_cli = \
	PTRC_BUILD='$(abs_top_builddir)' PTRC_SOURCE='$(abs_top_srcdir)' CC='$(CC)' \
	bash $(srcdir)/%D%/cli $(BENCH_CLI_ARGS)

# Measures the same work under other tracers.
ptrc_bench_peers = \
	PTRC_BUILD='$(abs_top_builddir)' PTRC_SOURCE='$(abs_top_srcdir)' CC='$(CC)' \
	bash $(srcdir)/%D%/peers $(BENCH_PEERS_ARGS)

# Measures what sending the events of many machines takes; needs an engine.
ptrc_bench_fleet = \
	PTRC_BUILD='$(abs_top_builddir)' PTRC_SOURCE='$(abs_top_srcdir)' \
	python3 $(srcdir)/%D%/fleet $(BENCH_FLEET_ARGS)
