# SPDX-License-Identifier: MIT
# Every test speaks TAP. C programs link the static library; the others find the build by
# PTRC_BUILD (absolute path of the build tree) and PTRC_SOURCE (of the source tree).

# Tests run side by side in the order of these lists: programs that take long begin first.
ptrc_long_c_tests = \
	%D%/test_singlestep \
	%D%/test_keeper_steps \
	%D%/test_rotate \
	%D%/test_log \
	%D%/test_getnext \
	%D%/test_gen \
	%D%/test_damage \
	%D%/test_configuration \
	%D%/test_fork \
	%D%/test_exit

ptrc_short_c_tests = \
	%D%/test_attr \
	%D%/test_check \
	%D%/test_clear \
	%D%/test_clock \
	%D%/test_counts \
	%D%/test_cursor \
	%D%/test_create \
	%D%/test_decode \
	%D%/test_errors \
	%D%/test_event \
	%D%/test_event_for \
	%D%/test_event_stack \
	%D%/test_eventid \
	%D%/test_eventset \
	%D%/test_exec \
	%D%/test_filter \
	%D%/test_follow \
	%D%/test_full_wait \
	%D%/test_functions \
	%D%/test_hammer \
	%D%/test_header \
	%D%/test_keeper \
	%D%/test_layout \
	%D%/test_hosts \
	%D%/test_log_copy \
	%D%/test_log_format \
	%D%/test_log_index \
	%D%/test_log_parts \
	%D%/test_log_reader \
	%D%/test_memory \
	%D%/test_more \
	%D%/test_namespace \
	%D%/test_observer \
	%D%/test_os \
	%D%/test_names \
	%D%/test_packed \
	%D%/test_patterns \
	%D%/test_open \
	%D%/test_policy \
	%D%/test_process \
	%D%/test_query \
	%D%/test_salvage \
	%D%/test_process_root \
	%D%/test_diff \
	%D%/test_pairs \
	%D%/test_select \
	%D%/test_view \
	%D%/test_shmdir \
	%D%/test_shutdown \
	%D%/test_size \
	%D%/test_start \
	%D%/test_startstop \
	%D%/test_status \
	%D%/test_sysevent \
	%D%/test_types \
	%D%/test_whose

ptrc_c_tests = $(ptrc_long_c_tests) $(ptrc_short_c_tests)

ptrc_sh_tests = \
	%D%/coverage \
	%D%/cxx.sh \
	%D%/debian.sh \
	%D%/fallbacks.sh \
	%D%/faults.sh \
	%D%/format.sh \
	%D%/fuzz.sh \
	%D%/hardening.sh \
	%D%/header.sh \
	%D%/install.sh \
	%D%/layers.sh \
	%D%/linkage.sh \
	%D%/manual.sh \
	%D%/python.sh \
	%D%/report-browser.sh \
	%D%/symbols.sh \
	%D%/tutorial.sh

# Tests of the commands; need bats and jq.
ptrc_long_bats_tests = \
	%D%/neighbours.bats \
	%D%/session.bats \
	%D%/json.bats \
	%D%/ptrace-doctor.bats \
	%D%/ptrace-dump.bats \
	%D%/completions.bats \
	%D%/configuration.bats \
	%D%/ptrace-dump-follow.bats \
	%D%/ptrace-dump-pairs.bats \
	%D%/ptrace-shutdown.bats

ptrc_short_bats_tests = \
	%D%/examples.bats \
	%D%/fleet.bats \
	%D%/functions.bats \
	%D%/agreement.bats \
	%D%/bench-cli.bats \
	%D%/bench-fleet.bats \
	%D%/bench-report.bats \
	%D%/ptrace-check.bats \
	%D%/ptrace-clear.bats \
	%D%/ptrace-create.bats \
	%D%/ptrace-events.bats \
	%D%/ptrace-export.bats \
	%D%/ptrace-filter.bats \
	%D%/ptrace-event.bats \
	%D%/ptrace-flush.bats \
	%D%/os-events.bats \
	%D%/os-samples.bats \
	%D%/ptrace-list.bats \
	%D%/ptrace-report.bats \
	%D%/ptrace-run.bats \
	%D%/ptrace-ship.bats \
	%D%/ptrace-salvage.bats \
	%D%/ptrace-snapshot.bats \
	%D%/types.bats \
	%D%/ptrace-start.bats \
	%D%/hosts.bats \
	%D%/ptrace-dump-gap.bats \
	%D%/ptrace-dump-threads.bats \
	%D%/ptrace-dump-symbols.bats \
	%D%/ptrace-dump-to-log.bats \
	%D%/rotate.bats \
	%D%/snapshot-on.bats \
	%D%/ptrace-stat.bats \
	%D%/ptrace-stat-diff.bats \
	%D%/ptrace-stop.bats \
	%D%/run-session.bats

ptrc_bats_tests = $(ptrc_long_bats_tests) $(ptrc_short_bats_tests)

check_PROGRAMS += $(ptrc_c_tests)

# What the tests of the commands trace.
check_PROGRAMS += %D%/traced
EXTRA_DIST += %D%/helpers.bash %D%/ship_server.py %D%/validate.py %D%/check_chrome.py %D%/perfetto.proto %D%/read_perfetto.py \
	%D%/read_ctf.py

# Engines for the tables of many machines, rows for them, and their statements.
check_PROGRAMS += %D%/print_schema
%C%_print_schema_LDADD = src/libcommands.la $(LDADD)
EXTRA_DIST += %D%/fleet/server %D%/fleet/chdb-server.js %D%/fleet/rows.py %D%/fleet/query

# What follows sessions, or disturbs them.
check_PROGRAMS += %D%/session_peer
%C%_session_peer_LDADD = src/libcommands.la $(LDADD)
check_PROGRAMS += %D%/traced %D%/signalled %D%/failing_sync
EXTRA_DIST += %D%/helpers.bash

# Tests that use support.h say: %C%_test_NAME_LDADD = $(ptrc_support_ldadd)
check_LTLIBRARIES = %D%/libsupport.la
%C%_libsupport_la_SOURCES = %D%/support.c %D%/support.h
ptrc_support_ldadd = %D%/libsupport.la $(LDADD)

# Of the commands' own code.
%C%_test_check_LDADD = src/libcommands.la $(LDADD) $(YAML_LIBS)
%C%_test_decode_LDADD = src/libcommands.la $(LDADD)
%C%_test_diff_LDADD = src/libcommands.la $(LDADD) -lm
%C%_test_os_LDADD = src/libcommands.la $(LDADD)
%C%_test_pairs_LDADD = src/libcommands.la $(LDADD)
%C%_test_select_LDADD = src/libcommands.la $(LDADD)
%C%_test_view_LDADD = src/libcommands.la $(LDADD)
%C%_test_hosts_LDADD = src/libcommands.la $(LDADD) -lm
%C%_test_follow_LDADD = src/libcommands.la $(ptrc_support_ldadd)

# What tests of events of the operating system run.
check_PROGRAMS += %D%/os_work
%C%_os_work_CFLAGS = $(AM_CFLAGS) -fno-omit-frame-pointer
%C%_os_work_LDADD =

# What writes logs with durations of known distributions, and logs of given events.
check_PROGRAMS += %D%/prog_durations %D%/made_log %D%/prog_scene

# What tests of fork and exec run.
check_PROGRAMS += %D%/prog_emit
%C%_test_clock_LDADD = $(ptrc_support_ldadd)
%C%_test_counts_LDADD = $(ptrc_support_ldadd)
%C%_test_cursor_LDADD = $(ptrc_support_ldadd)
%C%_test_event_LDADD = $(ptrc_support_ldadd)
%C%_test_event_for_LDADD = $(ptrc_support_ldadd)
%C%_test_event_stack_LDADD = $(ptrc_support_ldadd)
# Binds lazily, as many programs do.
%C%_test_event_stack_LDFLAGS = $(AM_LDFLAGS) -Wl,-z,lazy
%C%_test_getnext_LDADD = $(ptrc_support_ldadd)
%C%_test_hammer_LDADD = $(ptrc_support_ldadd)
%C%_test_policy_LDADD = $(ptrc_support_ldadd)
%C%_test_singlestep_LDADD = $(ptrc_support_ldadd)
%C%_test_size_LDADD = $(ptrc_support_ldadd)
%C%_test_start_LDADD = $(ptrc_support_ldadd)
%C%_test_sysevent_LDADD = $(ptrc_support_ldadd)
%C%_test_clear_LDADD = $(ptrc_support_ldadd)
%C%_test_create_LDADD = $(ptrc_support_ldadd)
%C%_test_damage_LDADD = $(ptrc_support_ldadd)
%C%_test_errors_LDADD = $(ptrc_support_ldadd)
%C%_test_eventid_LDADD = $(ptrc_support_ldadd)
%C%_test_filter_LDADD = $(ptrc_support_ldadd)
%C%_test_shutdown_LDADD = $(ptrc_support_ldadd)
%C%_test_startstop_LDADD = $(ptrc_support_ldadd)
%C%_test_status_LDADD = $(ptrc_support_ldadd)
%C%_test_exec_LDADD = $(ptrc_support_ldadd)
%C%_test_exit_LDADD = $(ptrc_support_ldadd)
%C%_test_salvage_LDADD = $(ptrc_support_ldadd)
%C%_test_fork_LDADD = $(ptrc_support_ldadd)
%C%_test_gen_LDADD = $(ptrc_support_ldadd)
%C%_test_full_wait_LDADD = $(ptrc_support_ldadd)
%C%_test_types_LDADD = $(ptrc_support_ldadd)
%C%_test_whose_LDADD = $(ptrc_support_ldadd)
%C%_test_keeper_LDADD = $(ptrc_support_ldadd)
%C%_test_keeper_steps_LDADD = $(ptrc_support_ldadd)
%C%_test_rotate_LDADD = $(ptrc_support_ldadd)
%C%_test_log_LDADD = $(ptrc_support_ldadd)
%C%_test_log_copy_LDADD = $(ptrc_support_ldadd)
%C%_test_log_index_LDADD = $(ptrc_support_ldadd)
%C%_test_log_parts_LDADD = $(ptrc_support_ldadd)
%C%_test_memory_LDADD = $(ptrc_support_ldadd)
%C%_test_more_LDADD = $(ptrc_support_ldadd)
%C%_test_patterns_LDADD = $(ptrc_support_ldadd)
%C%_test_observer_LDADD = $(ptrc_support_ldadd)
%C%_test_namespace_LDADD = $(ptrc_support_ldadd)
%C%_test_open_LDADD = $(ptrc_support_ldadd)

# Made of what it needs, so that it can have sanitizers of its own.
%C%_test_configuration_SOURCES = \
	%D%/test_configuration.c \
	src/view/attributes.c \
	src/cli/buffer.c \
	src/cli/cli.c \
	src/cli/escape.c \
	src/config/configuration.c \
	src/config/configuration_dump.c \
	src/config/configuration_yaml.c \
	src/config/kept.c \
	src/config/yaml_file.c \
	src/cli/json.c \
	src/view/json_text.c \
	src/view/layout.c \
	src/cli/message.c \
	src/cli/nearest.c \
	src/cli/output.c \
	src/session/session_path.c \
	src/view/value.c \
	src/view/when.c
%C%_test_configuration_CFLAGS = $(AM_CFLAGS) $(YAML_CFLAGS) $(FUZZ_CFLAGS)
%C%_test_configuration_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_CFLAGS)
%C%_test_configuration_LDADD = $(LDADD) $(YAML_LIBS)

# The fuzzers. What libFuzzer has for them, driver.c has in all other builds. The linker's option
# --wrap leads calls of a function to ours (tests/fuzz/fuzz.c).
ptrc_fuzzers = log yaml rules where layout when session client perf ship clocks
ptrc_fuzz_ldflags = $(AM_LDFLAGS) -Wl,--wrap=exit,--wrap=write,--wrap=poll
ptrc_fuzz_sources = %D%/fuzz/fuzz.c %D%/fuzz/fuzz.h
if FUZZERS
ptrc_fuzz_ldflags += -fsanitize=fuzzer
ptrc_fuzz_cppflags = $(AM_CPPFLAGS) -DPTRC_LIBFUZZER
else
ptrc_fuzz_cppflags = $(AM_CPPFLAGS)
ptrc_fuzz_sources += %D%/fuzz/driver.c
endif
check_PROGRAMS += \
	%D%/fuzz/fuzz_log \
	%D%/fuzz/fuzz_yaml \
	%D%/fuzz/fuzz_rules \
	%D%/fuzz/fuzz_where \
	%D%/fuzz/fuzz_layout \
	%D%/fuzz/fuzz_when \
	%D%/fuzz/fuzz_session \
	%D%/fuzz/fuzz_client \
	%D%/fuzz/fuzz_perf \
	%D%/fuzz/fuzz_ship \
	%D%/fuzz/fuzz_clocks
%C%_fuzz_fuzz_log_SOURCES = %D%/fuzz/fuzz_log.c $(ptrc_fuzz_sources)
%C%_fuzz_fuzz_log_CPPFLAGS = $(ptrc_fuzz_cppflags)
%C%_fuzz_fuzz_log_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_log_LDADD = src/libcommands.la $(LDADD)
%C%_fuzz_fuzz_yaml_SOURCES = %D%/fuzz/fuzz_yaml.c $(ptrc_fuzz_sources)
%C%_fuzz_fuzz_yaml_CPPFLAGS = $(ptrc_fuzz_cppflags)
%C%_fuzz_fuzz_yaml_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_yaml_LDADD = src/libcommands.la $(LDADD) $(YAML_LIBS)
%C%_fuzz_fuzz_rules_SOURCES = %D%/fuzz/fuzz_rules.c $(ptrc_fuzz_sources)
%C%_fuzz_fuzz_rules_CPPFLAGS = $(ptrc_fuzz_cppflags)
%C%_fuzz_fuzz_rules_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_rules_LDADD = src/libcommands.la $(LDADD) $(YAML_LIBS)
%C%_fuzz_fuzz_where_SOURCES = %D%/fuzz/fuzz_where.c $(ptrc_fuzz_sources)
%C%_fuzz_fuzz_where_CPPFLAGS = $(ptrc_fuzz_cppflags)
%C%_fuzz_fuzz_where_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_where_LDADD = src/libcommands.la $(LDADD)
%C%_fuzz_fuzz_layout_SOURCES = %D%/fuzz/fuzz_layout.c $(ptrc_fuzz_sources)
%C%_fuzz_fuzz_layout_CPPFLAGS = $(ptrc_fuzz_cppflags)
%C%_fuzz_fuzz_layout_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_layout_LDADD = src/libcommands.la $(LDADD)
%C%_fuzz_fuzz_when_SOURCES = %D%/fuzz/fuzz_when.c $(ptrc_fuzz_sources)
%C%_fuzz_fuzz_when_CPPFLAGS = $(ptrc_fuzz_cppflags)
%C%_fuzz_fuzz_when_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_when_LDADD = src/libcommands.la $(LDADD)
%C%_fuzz_fuzz_session_SOURCES = %D%/fuzz/fuzz_session.c $(ptrc_fuzz_sources)
%C%_fuzz_fuzz_session_CPPFLAGS = $(ptrc_fuzz_cppflags)
%C%_fuzz_fuzz_session_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_session_LDADD = src/libcommands.la $(LDADD)
%C%_fuzz_fuzz_client_SOURCES = %D%/fuzz/fuzz_client.c $(ptrc_fuzz_sources)
%C%_fuzz_fuzz_client_CPPFLAGS = $(ptrc_fuzz_cppflags)
%C%_fuzz_fuzz_client_LDFLAGS = $(ptrc_fuzz_ldflags) -Wl,--wrap=ptrc_session_connect
%C%_fuzz_fuzz_client_LDADD = src/libcommands.la $(LDADD)
%C%_fuzz_fuzz_perf_SOURCES = %D%/fuzz/fuzz_perf.c $(ptrc_fuzz_sources)
%C%_fuzz_fuzz_perf_CPPFLAGS = $(ptrc_fuzz_cppflags)
%C%_fuzz_fuzz_perf_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_perf_LDADD = src/libcommands.la $(LDADD)
# What ptrace-ship reads does not need libcurl.
%C%_fuzz_fuzz_ship_SOURCES = %D%/fuzz/fuzz_ship.c src/ship/answer.c src/ship/progress.c $(ptrc_fuzz_sources)
%C%_fuzz_fuzz_ship_CPPFLAGS = $(ptrc_fuzz_cppflags)
%C%_fuzz_fuzz_ship_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_ship_LDADD = src/libcommands.la $(LDADD)
%C%_fuzz_fuzz_clocks_SOURCES = %D%/fuzz/fuzz_clocks.c $(ptrc_fuzz_sources)
%C%_fuzz_fuzz_clocks_CPPFLAGS = $(ptrc_fuzz_cppflags)
%C%_fuzz_fuzz_clocks_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_clocks_LDADD = src/libcommands.la $(LDADD)
EXTRA_DIST += %D%/fuzz/driver.c %D%/fuzz/seeds $(ptrc_fuzzers:%=%D%/fuzz/%)

# A round of the kill matrix: scripts/faults.
check_PROGRAMS += %D%/faults/faults

noinst_HEADERS += %D%/failing_sync.h %D%/payload.h %D%/slow_page.h %D%/stream_memory.h
noinst_HEADERS += %D%/harness.h %D%/log_maker.h %D%/logs.h %D%/private_user.h
EXTRA_DIST += $(ptrc_sh_tests) $(ptrc_bats_tests) %D%/all_functions.cc %D%/cxx_events.cc %D%/python_module.py %D%/report-browser.mjs %D%/tap.sh
EXTRA_DIST += %D%/driver %D%/isolated
CLEANFILES += %D%/lock

# Packaging is seldom broken and takes half a minute; the kill matrix, a browser and engines take their
# time, too: not in the quick run.
ptrc_full_tests = %D%/bench-fleet.bats %D%/debian.sh %D%/faults.sh %D%/fleet.bats %D%/report-browser.sh

# Nothing of these runs in a program with sanitizers, or it does in the other tests, too; single
# steps would step through the sanitizer.
ptrc_unsanitized_tests = \
	%D%/test_singlestep \
	%D%/coverage \
	%D%/faults.sh \
	%D%/format.sh \
	%D%/hardening.sh \
	%D%/header.sh \
	%D%/install.sh \
	%D%/layers.sh \
	%D%/linkage.sh \
	%D%/manual.sh \
	%D%/python.sh \
	%D%/report-browser.sh \
	%D%/symbols.sh \
	%D%/agreement.bats \
	%D%/bench-cli.bats \
	%D%/bench-report.bats \
	%D%/completions.bats \
	%D%/examples.bats

# Of each kind of what a compiler may get wrong: recording, reading, processes, logs.
ptrc_handful = \
	%D%/test_gen \
	%D%/test_fork \
	%D%/test_exit \
	%D%/test_event \
	%D%/test_exec \
	%D%/test_functions \
	%D%/test_process \
	%D%/test_getnext \
	%D%/test_log_reader \
	%D%/test_names \
	%D%/test_packed \
	%D%/test_open \
	%D%/test_start \
	%D%/test_startstop \
	%D%/test_status

# What measures, or hammers with all processors, runs while nothing else does: tests/isolated.
ptrc_alone = bench-cli bench-fleet bench-report test_clock test_hammer

if HAVE_BATS
TESTS += $(ptrc_long_bats_tests)
endif
TESTS += $(ptrc_long_c_tests) $(ptrc_sh_tests) $(ptrc_short_c_tests)
if HAVE_BATS
TESTS += $(ptrc_short_bats_tests)
endif

TEST_EXTENSIONS = .sh .bats
tap_driver = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_DRIVER = $(top_srcdir)/%D%/driver $(tap_driver)
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL)
BATS_LOG_DRIVER = $(LOG_DRIVER)
BATS_LOG_COMPILER = $(BATS)
AM_BATS_LOG_FLAGS = --tap
AM_TESTS_ENVIRONMENT = \
	PTRC_BUILD='$(abs_top_builddir)'; export PTRC_BUILD; \
	PTRC_SOURCE='$(abs_top_srcdir)'; export PTRC_SOURCE; \
	CC='$(CC)'; export CC; \
	CXX='$(CXX)'; export CXX; \
	PTRC_SAN_CFLAGS='$(SAN_CFLAGS)'; export PTRC_SAN_CFLAGS; \
	PTRC_ALONE='$(ptrc_alone)'; export PTRC_ALONE; \
	PTRC_TEST_LOCK="$${PTRC_TEST_LOCK:-$(abs_top_builddir)/tests/lock}"; \
	export PTRC_TEST_LOCK; \
	PATH='$(abs_top_builddir)/src':"$$PATH"; export PATH;

# What scripts/check calls: TARGET-build, which builds all that can be built so, and then
# TARGET, which runs tests of it. PTRC_AGAIN is logs of tests to be repeated, instead of all.
# check-chosen runs what is built: those of $tests, or again.
check-chosen:
	if test -n '$(PTRC_AGAIN)'; then \
		$(MAKE) $(AM_MAKEFLAGS) check-TESTS check_PROGRAMS= check_LTLIBRARIES= \
			TEST_LOGS='$(PTRC_AGAIN)'; \
	else \
		$(MAKE) $(AM_MAKEFLAGS) check-TESTS check_PROGRAMS= check_LTLIBRARIES= \
			TESTS="$$tests"; \
	fi

check-all-build check-quick-build check-sanitized-build check-handful-build:
	$(MAKE) $(AM_MAKEFLAGS) all
	$(MAKE) $(AM_MAKEFLAGS) $(check_PROGRAMS) $(check_LTLIBRARIES)

check-all:
	tests='$(TESTS)' $(MAKE) $(AM_MAKEFLAGS) check-chosen

# Sets $tests to TESTS but those of the list.
ptrc_without = without() { \
	tests=; \
	for test in $(TESTS); do \
		case " $$* " in *" $$test "*) ;; *) tests="$$tests $$test" ;; esac; \
	done; export tests; }; without

check-quick:
	$(ptrc_without) $(ptrc_full_tests); \
	PTRC_TEST_SAMPLE="$${PTRC_TEST_SAMPLE:-8}" $(MAKE) $(AM_MAKEFLAGS) check-chosen

check-sanitized:
	$(ptrc_without) $(ptrc_full_tests) $(ptrc_unsanitized_tests); \
	PTRC_TEST_SLOWDOWN=5 PTRC_TEST_SAMPLE="$${PTRC_TEST_SAMPLE:-8}" \
		$(MAKE) $(AM_MAKEFLAGS) check-chosen

# With the process IDs of the machine, and not of a namespace for each test.
check-handful:
	PTRC_TEST_PIDS=host tests='$(ptrc_handful)' $(MAKE) $(AM_MAKEFLAGS) check-chosen

# Sets $tests to those of the list but the ones that include a file of the pattern.
ptrc_not_including = not_including() { \
	pattern=$$1 tests=; shift; \
	for test; do \
		grep -q "^\#include \"\($$pattern\)" $(srcdir)/$$test.c || tests="$$tests $$test"; \
	done; export tests; }; not_including

# By the shared library, what uses only what leaves it.
ptrc_internals = 'lib/\|src/\|tests/log_maker'
check-shared-build:
	$(MAKE) $(AM_MAKEFLAGS) all
	$(ptrc_not_including) $(ptrc_internals) $(ptrc_c_tests); \
	$(MAKE) $(AM_MAKEFLAGS) PTRC_LINK=-no-install $$tests %D%/prog_emit
check-shared:
	$(ptrc_not_including) $(ptrc_internals) $(ptrc_handful); \
	$(MAKE) $(AM_MAKEFLAGS) check-chosen

# For another processor, by an emulator of it: those of the library.
LOG_COMPILER = $(PTRC_EMULATOR)
ptrc_qemu_lacks = \
	keeper exec speed subreaper threaded-fork fork-advice pwritev2 address-limit
check-emulated-build:
	$(ptrc_not_including) src/ $(ptrc_c_tests); \
	$(MAKE) $(AM_MAKEFLAGS) $$tests %D%/prog_emit
check-emulated:
	$(ptrc_not_including) src/ $(ptrc_c_tests); \
	PTRC_TEST_SLOWDOWN=5 PTRC_TEST_LACKS="`echo $(ptrc_qemu_lacks)`" \
		$(MAKE) $(AM_MAKEFLAGS) check-chosen

.PHONY: check-chosen check-all check-all-build check-quick check-quick-build check-sanitized \
	check-sanitized-build check-handful check-handful-build check-shared check-shared-build \
	check-emulated check-emulated-build
