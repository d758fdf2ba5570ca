# SPDX-License-Identifier: MIT
# Benchmarks: built and run by `make bench', never part of a check, as time is no verdict.
# What runs programs of others must find them as they are: -no-install links against the
# shared library of the build directory without libtool's wrapper script.

ptrc_bench_programs = \
	%D%/event \
	%D%/start_plain \
	%D%/start_static

%C%_event_SOURCES = %D%/event.c %D%/measure.h
%C%_event_CPPFLAGS = $(AM_CPPFLAGS) -DBENCH_LTTNG_SESSION='"$(abs_srcdir)/%D%/lttng-session"'
%C%_event_LDADD = $(LDADD) -lm

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
%C%_start_shared_LDFLAGS = $(SAN_CFLAGS) -no-install

if HAVE_LTTNG_UST
ptrc_bench_programs += %D%/lttng_event
endif
%C%_lttng_event_SOURCES = \
	%D%/lttng_event.c %D%/lttng_tracepoint.h %D%/measure.h %D%/worker.h
%C%_lttng_event_CFLAGS = -std=gnu11 $(LTTNG_UST_CFLAGS)
%C%_lttng_event_LDFLAGS =
%C%_lttng_event_LDADD = $(LTTNG_UST_LIBS)

EXTRA_PROGRAMS = $(ptrc_bench_programs)
EXTRA_DIST += %D%/lttng-session
CLEANFILES += $(EXTRA_PROGRAMS)

bench: $(ptrc_bench_programs)
	%D%/event $(BENCH_ARGS)
.PHONY: bench
