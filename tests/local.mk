# SPDX-License-Identifier: MIT
# Every test speaks TAP. C programs link the static library; the others find the build by
# PTRC_BUILD (absolute path of the build tree) and PTRC_SOURCE (of the source tree).
#
# A test is in the folder of what it tests: lib/ROOM, cmd/COMMAND, bindings/LANGUAGE, or product for what
# concerns the whole. `make check-lib-log' and `make check-cmd-ship' run a folder.

ptrc_c_tests = \
	%D%/cmd/check/test_check \
	%D%/cmd/create/test_configuration \
	%D%/cmd/dump/test_decode \
	%D%/cmd/dump/test_follow \
	%D%/cmd/dump/test_hosts \
	%D%/cmd/dump/test_regex \
	%D%/cmd/dump/test_select \
	%D%/cmd/dump/test_view \
	%D%/cmd/run/test_os \
	%D%/cmd/stat/test_diff \
	%D%/cmd/stat/test_pairs \
	%D%/lib/api/test_errors \
	%D%/lib/api/test_functions \
	%D%/lib/api/test_gen \
	%D%/lib/api/test_header \
	%D%/lib/api/test_query \
	%D%/lib/base/test_shmdir \
	%D%/lib/control/test_create \
	%D%/lib/control/test_cursor \
	%D%/lib/control/test_observer \
	%D%/lib/control/test_shutdown \
	%D%/lib/keeper/test_keeper \
	%D%/lib/keeper/test_keeper_steps \
	%D%/lib/keeper/test_salvage \
	%D%/lib/life/test_exit \
	%D%/lib/log/test_log \
	%D%/lib/log/test_log_copy \
	%D%/lib/log/test_log_fields \
	%D%/lib/log/test_log_format \
	%D%/lib/log/test_log_index \
	%D%/lib/log/test_log_parts \
	%D%/lib/log/test_log_reader \
	%D%/lib/log/test_open \
	%D%/lib/log/test_rotate \
	%D%/lib/log/test_whose \
	%D%/lib/model/test_attr \
	%D%/lib/model/test_eventid \
	%D%/lib/model/test_eventset \
	%D%/lib/model/test_layout \
	%D%/lib/model/test_names \
	%D%/lib/model/test_packed \
	%D%/lib/model/test_types \
	%D%/lib/preload/test_operand \
	%D%/lib/process/test_exec \
	%D%/lib/process/test_fork \
	%D%/lib/process/test_fork_elsewhere \
	%D%/lib/process/test_namespace \
	%D%/lib/process/test_process \
	%D%/lib/process/test_process_root \
	%D%/lib/recorder/test_event \
	%D%/lib/recorder/test_event_for \
	%D%/lib/recorder/test_event_stack \
	%D%/lib/recorder/test_hammer \
	%D%/lib/recorder/test_singlestep \
	%D%/lib/recorder/test_start \
	%D%/lib/stream/test_clear \
	%D%/lib/stream/test_clock \
	%D%/lib/stream/test_counts \
	%D%/lib/stream/test_damage \
	%D%/lib/stream/test_filter \
	%D%/lib/stream/test_full_wait \
	%D%/lib/stream/test_getnext \
	%D%/lib/stream/test_memory \
	%D%/lib/stream/test_patterns \
	%D%/lib/stream/test_policy \
	%D%/lib/stream/test_size \
	%D%/lib/stream/test_startstop \
	%D%/lib/stream/test_status \
	%D%/lib/stream/test_sysevent

ptrc_sh_tests = \
	%D%/cmd/report/report-browser.sh \
	%D%/fuzz/fuzz.sh \
	%D%/lib/api/cxx.sh \
	%D%/lib/api/header.sh \
	%D%/lib/keeper/faults.sh \
	%D%/lib/model/tsan.sh \
	%D%/bindings/node/node.sh \
	%D%/bindings/languages.sh \
	%D%/bindings/python/python.sh \
	%D%/bindings/rust/rust.sh \
	%D%/product/coverage \
	%D%/product/debian.sh \
	%D%/product/driver.sh \
	%D%/product/fallbacks.sh \
	%D%/product/format.sh \
	%D%/product/hardening.sh \
	%D%/product/html.sh \
	%D%/product/install.sh \
	%D%/product/layers.sh \
	%D%/product/linkage.sh \
	%D%/product/manual.sh \
	%D%/product/prose.sh \
	%D%/product/readme.sh \
	%D%/product/readme-installed.sh \
	%D%/product/release-build.sh \
	%D%/product/release.sh \
	%D%/product/rpm.sh \
	%D%/product/stability.sh \
	%D%/product/symbols.sh \
	%D%/product/tutorial.sh

# Tests of the commands; need bats and jq.
ptrc_bats_tests = \
	%D%/cmd/check/ptrace-check.bats \
	%D%/cmd/clear/ptrace-clear.bats \
	%D%/cmd/create/configuration.bats \
	%D%/cmd/create/ptrace-create.bats \
	%D%/cmd/create/session.bats \
	%D%/cmd/doctor/ptrace-doctor.bats \
	%D%/cmd/dump/hosts.bats \
	%D%/cmd/dump/ptrace-dump-columns.bats \
	%D%/cmd/dump/ptrace-dump-follow.bats \
	%D%/cmd/dump/ptrace-dump-gap.bats \
	%D%/cmd/dump/ptrace-dump-pairs.bats \
	%D%/cmd/dump/ptrace-dump-symbols.bats \
	%D%/cmd/dump/ptrace-dump-threads.bats \
	%D%/cmd/dump/ptrace-dump-to-log.bats \
	%D%/cmd/dump/ptrace-dump.bats \
	%D%/cmd/event/ptrace-event.bats \
	%D%/cmd/events/ptrace-events.bats \
	%D%/cmd/events/types.bats \
	%D%/cmd/export/ptrace-export.bats \
	%D%/cmd/filter/ptrace-filter.bats \
	%D%/cmd/flush/ptrace-flush.bats \
	%D%/cmd/list/ptrace-list.bats \
	%D%/cmd/report/ptrace-report.bats \
	%D%/cmd/run/os-calls.bats \
	%D%/cmd/run/os-events.bats \
	%D%/cmd/run/os-samples.bats \
	%D%/cmd/run/os-stacks.bats \
	%D%/cmd/run/ptrace-run.bats \
	%D%/cmd/run/rotate.bats \
	%D%/cmd/run/run-session.bats \
	%D%/cmd/run/waits.bats \
	%D%/cmd/salvage/ptrace-salvage.bats \
	%D%/cmd/ship/bench-fleet.bats \
	%D%/cmd/ship/fleet.bats \
	%D%/cmd/ship/ptrace-ship.bats \
	%D%/cmd/shutdown/ptrace-shutdown.bats \
	%D%/cmd/snapshot/ptrace-snapshot.bats \
	%D%/cmd/snapshot/snapshot-on.bats \
	%D%/cmd/start/ptrace-start.bats \
	%D%/cmd/stat/ptrace-stat-diff.bats \
	%D%/cmd/stat/ptrace-stat.bats \
	%D%/cmd/stat/waits.bats \
	%D%/cmd/stat/watch.bats \
	%D%/cmd/stop/ptrace-stop.bats \
	%D%/lib/preload/exports.bats \
	%D%/lib/preload/functions.bats \
	%D%/lib/preload/probes.bats \
	%D%/product/agreement.bats \
	%D%/product/bench-cli.bats \
	%D%/product/bench-peers.bats \
	%D%/product/bench-report.bats \
	%D%/product/completions.bats \
	%D%/product/ci.bats \
	%D%/product/examples.bats \
	%D%/product/json.bats \
	%D%/product/neighbours.bats \
	%D%/product/versions.bats

check_PROGRAMS += $(ptrc_c_tests)
%D%/%.o: CFLAGS += $(TEST_CFLAGS)

# Programs that tests run.
ptrc_test_programs = \
	%D%/support/failing_sync \
	%D%/support/full_disk \
	%D%/support/made_log \
	%D%/support/meanwhile \
	%D%/support/os_work \
	%D%/support/prog_emit \
	%D%/support/session_peer \
	%D%/support/signalled \
	%D%/support/traced \
	%D%/support/waiter \
	%D%/lib/keeper/faults
check_PROGRAMS += $(ptrc_test_programs)
%C%_support_session_peer_LDADD = src/libcommands.a $(LDADD)
%C%_support_meanwhile_LDADD =
%C%_support_os_work_CFLAGS = $(AM_CFLAGS) -fno-omit-frame-pointer
%C%_support_os_work_LDADD =
%C%_support_waiter_LDADD =

# For tests that include support.h.
check_LIBRARIES = %D%/support/libsupport.a
%C%_support_libsupport_a_SOURCES = %D%/support/support.c %D%/support/support.h
ptrc_support_ldadd = %D%/support/libsupport.a $(LDADD)
%C%_lib_api_test_errors_LDADD = $(ptrc_support_ldadd)
%C%_lib_api_test_gen_LDADD = $(ptrc_support_ldadd)
%C%_lib_api_test_query_LDADD = $(ptrc_support_ldadd)
%C%_lib_control_test_create_LDADD = $(ptrc_support_ldadd)
%C%_lib_control_test_cursor_LDADD = $(ptrc_support_ldadd)
%C%_lib_control_test_observer_LDADD = $(ptrc_support_ldadd)
%C%_lib_control_test_shutdown_LDADD = $(ptrc_support_ldadd)
%C%_lib_keeper_test_keeper_LDADD = $(ptrc_support_ldadd)
%C%_lib_keeper_test_keeper_steps_LDADD = $(ptrc_support_ldadd)
%C%_lib_keeper_test_salvage_LDADD = $(ptrc_support_ldadd)
%C%_lib_life_test_exit_LDADD = $(ptrc_support_ldadd)
%C%_lib_log_test_log_LDADD = $(ptrc_support_ldadd)
%C%_lib_log_test_log_copy_LDADD = $(ptrc_support_ldadd)
%C%_lib_log_test_log_fields_LDADD = $(ptrc_support_ldadd)
%C%_lib_log_test_log_format_LDADD = $(ptrc_support_ldadd)
%C%_lib_log_test_log_index_LDADD = $(ptrc_support_ldadd)
%C%_lib_log_test_log_parts_LDADD = $(ptrc_support_ldadd)
%C%_lib_log_test_open_LDADD = $(ptrc_support_ldadd)
%C%_lib_log_test_rotate_LDADD = $(ptrc_support_ldadd)
%C%_lib_log_test_whose_LDADD = $(ptrc_support_ldadd)
%C%_lib_model_test_attr_LDADD = $(ptrc_support_ldadd)
%C%_lib_model_test_eventid_LDADD = $(ptrc_support_ldadd)
%C%_lib_model_test_types_LDADD = $(ptrc_support_ldadd)
%C%_lib_process_test_exec_LDADD = $(ptrc_support_ldadd)
%C%_lib_process_test_fork_LDADD = $(ptrc_support_ldadd)
%C%_lib_process_test_fork_elsewhere_LDADD = $(ptrc_support_ldadd)
%C%_lib_process_test_namespace_LDADD = $(ptrc_support_ldadd)
%C%_lib_recorder_test_event_LDADD = $(ptrc_support_ldadd)
%C%_lib_recorder_test_event_for_LDADD = $(ptrc_support_ldadd)
%C%_lib_recorder_test_event_stack_LDADD = $(ptrc_support_ldadd)
%C%_lib_recorder_test_hammer_LDADD = $(ptrc_support_ldadd)
%C%_lib_recorder_test_singlestep_LDADD = $(ptrc_support_ldadd)
%C%_lib_recorder_test_start_LDADD = $(ptrc_support_ldadd)
%C%_lib_stream_test_clear_LDADD = $(ptrc_support_ldadd)
%C%_lib_stream_test_clock_LDADD = $(ptrc_support_ldadd)
%C%_lib_stream_test_counts_LDADD = $(ptrc_support_ldadd)
%C%_lib_stream_test_damage_LDADD = $(ptrc_support_ldadd)
%C%_lib_stream_test_filter_LDADD = $(ptrc_support_ldadd)
%C%_lib_stream_test_full_wait_LDADD = $(ptrc_support_ldadd)
%C%_lib_stream_test_getnext_LDADD = $(ptrc_support_ldadd)
%C%_lib_stream_test_memory_LDADD = $(ptrc_support_ldadd)
%C%_lib_stream_test_patterns_LDADD = $(ptrc_support_ldadd)
%C%_lib_stream_test_policy_LDADD = $(ptrc_support_ldadd)
%C%_lib_stream_test_size_LDADD = $(ptrc_support_ldadd)
%C%_lib_stream_test_startstop_LDADD = $(ptrc_support_ldadd)
%C%_lib_stream_test_status_LDADD = $(ptrc_support_ldadd)
%C%_lib_stream_test_sysevent_LDADD = $(ptrc_support_ldadd)

%C%_cmd_check_test_check_LDADD = src/libcommands.a $(LDADD) $(YAML_LIBS) $(PCRE2_LIBS)
%C%_cmd_create_test_configuration_LDADD = src/libcommands.a $(LDADD) $(YAML_LIBS) $(PCRE2_LIBS)
%C%_cmd_dump_test_decode_LDADD = src/libcommands.a $(LDADD) $(PCRE2_LIBS)
%C%_cmd_dump_test_follow_LDADD = src/libcommands.a $(ptrc_support_ldadd) $(PCRE2_LIBS)
%C%_cmd_dump_test_hosts_LDADD = src/libcommands.a $(LDADD) -lm $(PCRE2_LIBS)
%C%_lib_preload_test_operand_LDADD = src/libcommands.a $(LDADD)
%C%_cmd_dump_test_regex_LDADD = src/libcommands.a $(LDADD) $(PCRE2_LIBS)
%C%_cmd_dump_test_select_LDADD = src/libcommands.a $(LDADD) $(PCRE2_LIBS)
%C%_cmd_dump_test_view_LDADD = src/libcommands.a $(LDADD) $(PCRE2_LIBS)
%C%_cmd_run_test_os_LDADD = src/libcommands.a $(LDADD) $(PCRE2_LIBS)
%C%_cmd_stat_test_diff_LDADD = src/libcommands.a $(LDADD) -lm $(PCRE2_LIBS)
%C%_cmd_stat_test_pairs_LDADD = src/libcommands.a $(LDADD) $(PCRE2_LIBS)

# Binds lazily, as many programs do.
%C%_lib_recorder_test_event_stack_LDFLAGS = $(AM_LDFLAGS) -Wl,-z,lazy

# The fuzzers. What libFuzzer has for them, driver.c has in all other builds. The linker's option
# --wrap leads calls of a function to ours (tests/fuzz/fuzz.c).
check_PROGRAMS += \
	%D%/fuzz/fuzz_client \
	%D%/fuzz/fuzz_clocks \
	%D%/fuzz/fuzz_layout \
	%D%/fuzz/fuzz_log \
	%D%/fuzz/fuzz_perf \
	%D%/fuzz/fuzz_rules \
	%D%/fuzz/fuzz_sdt \
	%D%/fuzz/fuzz_session \
	%D%/fuzz/fuzz_ship \
	%D%/fuzz/fuzz_when \
	%D%/fuzz/fuzz_where \
	%D%/fuzz/fuzz_yaml
check_LIBRARIES += %D%/fuzz/libfuzz.a
%C%_fuzz_libfuzz_a_SOURCES = %D%/fuzz/fuzz.c %D%/fuzz/fuzz.h
ptrc_fuzz_ldflags = $(AM_LDFLAGS) -Wl,--wrap=exit,--wrap=write,--wrap=poll
ptrc_fuzz_libs = %D%/fuzz/libfuzz.a src/libcommands.a $(LDADD) $(YAML_LIBS) $(PCRE2_LIBS)
if FUZZERS
ptrc_fuzz_ldflags += -fsanitize=fuzzer
else
%C%_fuzz_libfuzz_a_SOURCES += %D%/fuzz/driver.c
endif
%C%_fuzz_fuzz_client_LDFLAGS = $(ptrc_fuzz_ldflags) -Wl,--wrap=ptrc_session_connect
%C%_fuzz_fuzz_client_LDADD = $(ptrc_fuzz_libs)
%C%_fuzz_fuzz_clocks_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_clocks_LDADD = $(ptrc_fuzz_libs)
%C%_fuzz_fuzz_layout_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_layout_LDADD = $(ptrc_fuzz_libs)
%C%_fuzz_fuzz_log_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_log_LDADD = $(ptrc_fuzz_libs)
%C%_fuzz_fuzz_perf_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_perf_LDADD = $(ptrc_fuzz_libs)
%C%_fuzz_fuzz_rules_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_rules_LDADD = $(ptrc_fuzz_libs)
%C%_fuzz_fuzz_sdt_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_sdt_LDADD = $(ptrc_fuzz_libs)
%C%_fuzz_fuzz_session_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_session_LDADD = $(ptrc_fuzz_libs)
# What ptrace-ship reads does not need libcurl.
%C%_fuzz_fuzz_ship_SOURCES = %D%/fuzz/fuzz_ship.c src/ship/answer.c src/ship/progress.c
%C%_fuzz_fuzz_ship_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_ship_LDADD = $(ptrc_fuzz_libs)
%C%_fuzz_fuzz_when_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_when_LDADD = $(ptrc_fuzz_libs)
%C%_fuzz_fuzz_where_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_where_LDADD = $(ptrc_fuzz_libs)
%C%_fuzz_fuzz_yaml_LDFLAGS = $(ptrc_fuzz_ldflags)
%C%_fuzz_fuzz_yaml_LDADD = $(ptrc_fuzz_libs)

noinst_HEADERS += %D%/lib/api/calls.h %D%/lib/process/children.h %D%/support/endings.h %D%/support/event_types.h \
	%D%/support/failing_sync.h %D%/support/harness.h %D%/support/keeper.h %D%/support/log_maker.h %D%/support/logs.h \
	%D%/support/names.h %D%/support/payload.h %D%/support/private_user.h %D%/support/sdt.h %D%/support/shared_objects.h \
	%D%/support/slow_page.h %D%/support/stream_memory.h
# All the rest of this folder.
EXTRA_DIST += $(shell cd $(srcdir) && find %D% -type f ! -name '*~' | sort)
CLEANFILES += %D%/lock

# The quick run leaves these out: they take long and seldom break alone, or are about the whole product.
ptrc_full_tests = \
	%D%/cmd/doctor/ptrace-doctor.bats \
	%D%/cmd/dump/hosts.bats \
	%D%/cmd/dump/ptrace-dump-columns.bats \
	%D%/cmd/dump/ptrace-dump-gap.bats \
	%D%/cmd/dump/ptrace-dump-symbols.bats \
	%D%/cmd/dump/ptrace-dump-threads.bats \
	%D%/cmd/export/ptrace-export.bats \
	%D%/cmd/report/report-browser.sh \
	%D%/cmd/run/os-events.bats \
	%D%/cmd/run/os-samples.bats \
	%D%/cmd/run/os-stacks.bats \
	%D%/cmd/salvage/ptrace-salvage.bats \
	%D%/cmd/ship/bench-fleet.bats \
	%D%/cmd/ship/fleet.bats \
	%D%/cmd/ship/ptrace-ship.bats \
	%D%/fuzz/fuzz.sh \
	%D%/lib/api/cxx.sh \
	%D%/lib/api/header.sh \
	%D%/lib/api/test_gen \
	%D%/lib/preload/exports.bats \
	%D%/lib/preload/functions.bats \
	%D%/lib/preload/probes.bats \
	%D%/lib/keeper/faults.sh \
	%D%/lib/keeper/test_keeper_steps \
	%D%/lib/log/test_rotate \
	%D%/bindings/node/node.sh \
	%D%/bindings/languages.sh \
	%D%/bindings/python/python.sh \
	%D%/bindings/rust/rust.sh \
	%D%/lib/recorder/test_hammer \
	%D%/lib/recorder/test_singlestep \
	%D%/lib/stream/test_damage \
	%D%/product/agreement.bats \
	%D%/product/bench-cli.bats \
	%D%/product/bench-peers.bats \
	%D%/product/bench-report.bats \
	%D%/product/completions.bats \
	%D%/product/fallbacks.sh \
	%D%/product/hardening.sh \
	%D%/product/html.sh \
	%D%/product/install.sh \
	%D%/product/json.bats \
	%D%/product/linkage.sh \
	%D%/product/manual.sh \
	%D%/product/prose.sh \
	%D%/product/readme.sh \
	%D%/product/neighbours.bats \
	%D%/product/release.sh \
	%D%/product/symbols.sh \
	%D%/product/tutorial.sh

# Sanitizers see nothing in these that they do not see in the others: they look at files, compile, or
# run commands that read no log. Single steps would step through the sanitizer.
ptrc_unsanitized_tests = \
	%D%/cmd/report/report-browser.sh \
	%D%/lib/api/header.sh \
	%D%/lib/keeper/faults.sh \
	%D%/lib/model/tsan.sh \
	%D%/bindings/node/node.sh \
	%D%/bindings/languages.sh \
	%D%/bindings/python/python.sh \
	%D%/bindings/rust/rust.sh \
	%D%/lib/recorder/test_singlestep \
	%D%/product/agreement.bats \
	%D%/product/bench-cli.bats \
	%D%/product/bench-peers.bats \
	%D%/product/bench-report.bats \
	%D%/product/completions.bats \
	%D%/product/coverage \
	%D%/product/driver.sh \
	%D%/product/ci.bats \
	%D%/product/examples.bats \
	%D%/product/format.sh \
	%D%/product/hardening.sh \
	%D%/product/html.sh \
	%D%/product/install.sh \
	%D%/product/layers.sh \
	%D%/product/linkage.sh \
	%D%/product/manual.sh \
	%D%/product/prose.sh \
	%D%/product/readme.sh \
	%D%/product/release.sh \
	%D%/product/stability.sh \
	%D%/product/symbols.sh

# Commands that read no log and take nothing from elsewhere, and tests that compile: on the optimised
# build alone, unless sanitizers are asked for everything.
ptrc_optimised_tests = \
	%D%/cmd/clear/ptrace-clear.bats \
	%D%/cmd/dump/ptrace-dump-columns.bats \
	%D%/cmd/event/ptrace-event.bats \
	%D%/cmd/filter/ptrace-filter.bats \
	%D%/cmd/flush/ptrace-flush.bats \
	%D%/cmd/list/ptrace-list.bats \
	%D%/cmd/run/os-calls.bats \
	%D%/cmd/run/os-events.bats \
	%D%/cmd/run/os-samples.bats \
	%D%/cmd/run/os-stacks.bats \
	%D%/cmd/run/rotate.bats \
	%D%/cmd/run/run-session.bats \
	%D%/cmd/run/waits.bats \
	%D%/cmd/ship/bench-fleet.bats \
	%D%/cmd/ship/fleet.bats \
	%D%/cmd/shutdown/ptrace-shutdown.bats \
	%D%/cmd/snapshot/ptrace-snapshot.bats \
	%D%/cmd/snapshot/snapshot-on.bats \
	%D%/cmd/start/ptrace-start.bats \
	%D%/cmd/stop/ptrace-stop.bats \
	%D%/lib/api/cxx.sh \
	%D%/lib/preload/exports.bats \
	%D%/lib/preload/functions.bats \
	%D%/lib/preload/probes.bats \
	%D%/product/fallbacks.sh \
	%D%/product/neighbours.bats \
	%D%/product/tutorial.sh

# Compiles the whole product anew, as the packages do: before a release.
ptrc_release_tests = %D%/product/debian.sh %D%/product/readme-installed.sh %D%/product/release-build.sh \
	%D%/product/rpm.sh

# What kills, forks, or races: compilers and sanitizers change when things happen.
ptrc_both_tests = \
	%D%/cmd/run/ptrace-run.bats \
	%D%/cmd/salvage/ptrace-salvage.bats \
	%D%/lib/keeper/test_keeper \
	%D%/lib/keeper/test_keeper_steps \
	%D%/lib/keeper/test_salvage \
	%D%/lib/life/test_exit \
	%D%/lib/process/test_exec \
	%D%/lib/process/test_fork \
	%D%/lib/process/test_process \
	%D%/lib/recorder/test_event \
	%D%/lib/recorder/test_event_stack \
	%D%/lib/recorder/test_hammer \
	%D%/lib/stream/test_damage \
	%D%/lib/stream/test_full_wait

# Of each kind of what a compiler may get wrong: recording, reading, processes, logs.
ptrc_handful = \
	%D%/lib/api/test_functions \
	%D%/lib/api/test_gen \
	%D%/lib/life/test_exit \
	%D%/lib/log/test_log_reader \
	%D%/lib/log/test_open \
	%D%/lib/model/test_names \
	%D%/lib/model/test_packed \
	%D%/lib/process/test_exec \
	%D%/lib/process/test_fork \
	%D%/lib/process/test_process \
	%D%/lib/recorder/test_event \
	%D%/lib/recorder/test_start \
	%D%/lib/stream/test_getnext \
	%D%/lib/stream/test_startstop \
	%D%/lib/stream/test_status

# What hammers with all processors, or compares clocks, runs while nothing else does: tests/support/isolated.
ptrc_alone = test_clock test_hammer

TESTS += $(ptrc_c_tests) $(ptrc_sh_tests)
if HAVE_BATS
TESTS += $(ptrc_bats_tests)
endif

TEST_EXTENSIONS = .sh .bats
tap_driver = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_DRIVER = $(top_srcdir)/%D%/support/driver $(tap_driver)
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

# What scripts/check has measured in build/, where this build is, too.
ptrc_times = PTRC_TEST_TIMES="$${PTRC_TEST_TIMES:-$(abs_top_builddir)/../times}"

# make check-TARGET-build builds what the tests of a target need, make check-TARGET runs them, those
# that took longest last time first (tests/support/by_time). With PTRC_ONLY='lib/log/% cmd/dump/%'
# only those of these patterns; with PTRC_AGAIN='tests/lib/log/test_log.log' only those with these logs.
ptrc_tests_of_all = $(TESTS)
ptrc_tests_of_quick = $(filter-out $(ptrc_full_tests) $(ptrc_release_tests),$(TESTS))
ptrc_tests_of_optimised = $(filter $(ptrc_optimised_tests) $(ptrc_unsanitized_tests) $(ptrc_both_tests),$(TESTS))
ptrc_tests_of_sanitized_all = $(filter-out $(ptrc_unsanitized_tests) $(ptrc_release_tests),$(TESTS))
ptrc_tests_of_sanitized = $(filter-out $(ptrc_optimised_tests),$(ptrc_tests_of_sanitized_all))
ptrc_tests_of_handful = $(ptrc_handful)
# By the shared library, what uses only what leaves it.
ptrc_private_support = event_types\|keeper\|log_maker\|names\|shared_objects\|stream_memory
ptrc_tests_of_shared = $(filter-out $(call ptrc_including,include/\|lib/\|src/\|tests/support/\($(ptrc_private_support)\)),$(ptrc_handful))
# For another processor, by an emulator of it: those of the library.
ptrc_tests_of_emulated = $(filter-out $(call ptrc_including,src/),$(ptrc_c_tests))

# The tests that include a file of the pattern.
ptrc_including = $(shell cd $(srcdir) && \
	grep -l '^\#include "\($1\)' $(ptrc_c_tests:%=%.c) | sed 's/\.c$$//')
ptrc_targets = all quick optimised sanitized sanitized_all handful shared emulated
ptrc_tests = $(filter $(if $(PTRC_ONLY),$(addprefix %D%/,$(PTRC_ONLY)),%),\
	$(ptrc_tests_of_$1))

# What the tests given need of check_PROGRAMS.
ptrc_programs = $(filter $(ptrc_c_tests),$1) %D%/support/prog_emit \
	$(if $(filter %.bats %.sh,$1),$(ptrc_test_programs)) \
	$(if $(filter %/fallbacks.sh,$1),\
		$(addprefix %D%/lib/stream/test_,clock filter size startstop sysevent)) \
	$(if $(filter %/fuzz.sh,$1),$(filter %D%/fuzz/%,$(check_PROGRAMS))) \
	$(if $(filter %D%/product/bench-% %/bench-fleet.bats,$1),$(filter bench/%,$(check_PROGRAMS)))

$(ptrc_targets:%=check-%-build): check-%-build:
	$(if $(filter %.bats %.sh,$(call ptrc_tests,$*)),$(MAKE) $(AM_MAKEFLAGS) all)
	$(MAKE) $(AM_MAKEFLAGS) $(ptrc_flags_$*) $(call ptrc_programs,$(call ptrc_tests,$*))
ptrc_flags_shared = PTRC_LINK=-no-install

$(ptrc_targets:%=check-%): check-%:
	$(ptrc_environment_$*) $(MAKE) $(AM_MAKEFLAGS) check-TESTS check_PROGRAMS= check_LIBRARIES= \
		$(if $(PTRC_AGAIN),TEST_LOGS='$(PTRC_AGAIN)',\
			TESTS="`$(ptrc_times) $(srcdir)/%D%/support/by_time $(call ptrc_tests,$*)`")

$(ptrc_targets:%=check-%-list): check-%-list:
	@echo $(call ptrc_tests,$*)

# Single steps, stores and very many processes are a sample.
ptrc_sample = PTRC_TEST_SAMPLE="$${PTRC_TEST_SAMPLE:-8}"
ptrc_slow = PTRC_TEST_SLOWDOWN="$${PTRC_TEST_SLOWDOWN:-5}"
ptrc_environment_quick = $(ptrc_sample)
ptrc_environment_optimised = $(ptrc_sample)
# To look for leaks takes a command twice as long as all the rest of it.
ptrc_environment_sanitized = $(ptrc_sample) $(ptrc_slow) ASAN_OPTIONS=detect_leaks=0
ptrc_environment_sanitized_all = $(ptrc_sample) $(ptrc_slow)
# With the process IDs of the machine, and not of a namespace for each test.
ptrc_environment_handful = PTRC_TEST_PIDS=host
# The emulator's own threads use glib's slice allocator, whose locks a forked child finds locked for ever;
# malloc survives a fork.
ptrc_environment_emulated = $(ptrc_slow) PTRC_TEST_LACKS="$(ptrc_qemu_lacks)" PTRC_TEST_LIMIT=240 \
	G_SLICE=always-malloc
LOG_COMPILER = $(PTRC_EMULATOR)
ptrc_qemu_lacks = keeper exec speed subreaper threaded-fork fork-advice pwritev2 address-limit

# The tests of one folder: check-lib-log, check-cmd-ship, check-bindings-python.
check-lib-%:
	$(MAKE) $(AM_MAKEFLAGS) check-all-build PTRC_ONLY=lib/$*/%
	$(MAKE) $(AM_MAKEFLAGS) check-all PTRC_ONLY=lib/$*/%
check-cmd-%:
	$(MAKE) $(AM_MAKEFLAGS) check-all-build PTRC_ONLY=cmd/$*/%
	$(MAKE) $(AM_MAKEFLAGS) check-all PTRC_ONLY=cmd/$*/%

check-bindings-%:
	$(MAKE) $(AM_MAKEFLAGS) check-all-build PTRC_ONLY=bindings/$*/%
	$(MAKE) $(AM_MAKEFLAGS) check-all PTRC_ONLY=bindings/$*/%

.PHONY: $(ptrc_targets:%=check-%) $(ptrc_targets:%=check-%-build) $(ptrc_targets:%=check-%-list)
