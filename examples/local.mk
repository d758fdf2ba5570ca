# SPDX-License-Identifier: MIT
# Examples: `make` builds them, so that they stay right. Sources in C and the units are installed.

noinst_PROGRAMS += %D%/hello %D%/controller %D%/target %D%/analyzer %D%/log-fields

if HAVE_SQLITE3
noinst_PROGRAMS += %D%/sqlite-trace
%C%_sqlite_trace_CFLAGS = $(AM_CFLAGS) $(SQLITE3_CFLAGS)
%C%_sqlite_trace_LDADD = $(LDADD) $(SQLITE3_LIBS)
endif

examplesdir = $(docdir)/examples
dist_examples_DATA = %D%/hello.c %D%/controller.c %D%/target.c %D%/analyzer.c %D%/log-fields.c

EXTRA_DIST += %D%/README.md %D%/sqlite-trace.c scripts/demo \
	%D%/ci/action.yml %D%/ci/gitlab.yml \
	%D%/ci.yaml %D%/minimal.yaml %D%/sessions.yaml %D%/sqlite-rules.yaml

ptrc_units = %D%/ptrace-ship.service %D%/ptrace-ship.user.service
EXTRA_DIST += $(ptrc_units)
if HAVE_CURL
unitexamplesdir = $(docdir)/examples
unitexamples_DATA = $(ptrc_units)
endif
