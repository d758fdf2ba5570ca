# SPDX-License-Identifier: MIT
# The commands: a file each, and what they share.

ptrc_commands = \
	%D%/ptrace-check \
	%D%/ptrace-create \
	%D%/ptrace-doctor \
	%D%/ptrace-dump \
	%D%/ptrace-events \
	%D%/ptrace-export \
	%D%/ptrace-filter \
	%D%/ptrace-event \
	%D%/ptrace-list \
	%D%/ptrace-report \
	%D%/ptrace-run \
	%D%/ptrace-salvage \
	%D%/ptrace-snapshot \
	%D%/ptrace-start \
	%D%/ptrace-stat

if HAVE_CURL
ptrc_commands += %D%/ptrace-ship
endif

bin_PROGRAMS += $(ptrc_commands)

# Other names of ptrace-start, which does what its name says.
ptrc_names_of_start = %D%/ptrace-clear %D%/ptrace-flush %D%/ptrace-shutdown %D%/ptrace-stop
noinst_DATA += $(ptrc_names_of_start)
CLEANFILES += $(ptrc_names_of_start)
$(ptrc_names_of_start): %D%/ptrace-start$(EXEEXT)
	$(AM_V_GEN)ln -sf ptrace-start$(EXEEXT) $@

install-exec-hook:
	for c in $(ptrc_names_of_start:%D%/%=%); do \
		ln -sf "`echo ptrace-start | sed '$(transform)'`" \
			"$(DESTDIR)$(bindir)/`echo $$c | sed '$(transform)'`" || exit 1; done

noinst_LIBRARIES += %D%/libcommands.a
%C%_libcommands_a_SOURCES = \
	lib/preload/notes.c \
	lib/preload/operand.c \
	%D%/base/background.c \
	%D%/base/background.h \
	%D%/base/buffer.c \
	%D%/base/buffer.h \
	%D%/base/cli.c \
	%D%/base/cli.h \
	%D%/base/clock.h \
	%D%/base/command.c \
	%D%/base/command.h \
	%D%/base/complete.c \
	%D%/base/complete.h \
	%D%/base/end_signal.c \
	%D%/base/end_signal.h \
	%D%/base/escape.c \
	%D%/base/escape.h \
	%D%/base/exit_status.h \
	%D%/base/group_signal.c \
	%D%/base/group_signal.h \
	%D%/base/json.c \
	%D%/base/json.h \
	%D%/base/message.c \
	%D%/base/message.h \
	%D%/base/nearest.c \
	%D%/base/nearest.h \
	%D%/base/option.c \
	%D%/base/option.h \
	%D%/base/output.c \
	%D%/base/output.h \
	%D%/base/program.c \
	%D%/base/program.h \
	%D%/base/proposals.c \
	%D%/base/proposals.h \
	%D%/base/replace.c \
	%D%/base/replace.h \
	%D%/base/same_file.h \
	%D%/base/screen.c \
	%D%/base/scope.h \
	%D%/base/screen.h \
	%D%/base/sorted.h \
	%D%/base/table.c \
	%D%/base/table.h \
	%D%/fields/encode.c \
	%D%/fields/encode.h \
	%D%/fields/json_text.c \
	%D%/fields/json_text.h \
	%D%/fields/layout.c \
	%D%/fields/layout.h \
	%D%/fields/quantity.c \
	%D%/fields/quantity.h \
	%D%/fields/regex.c \
	%D%/fields/regex.h \
	%D%/fields/value.c \
	%D%/fields/value.h \
	%D%/fields/when.c \
	%D%/fields/when.h \
	%D%/query/attributes.c \
	%D%/query/attributes.h \
	%D%/query/correction.c \
	%D%/query/correction.h \
	%D%/query/hosts.c \
	%D%/query/hosts.h \
	%D%/query/libdw.h \
	%D%/query/losses.c \
	%D%/query/losses.h \
	%D%/query/misfits.c \
	%D%/query/misfits.h \
	%D%/query/query.c \
	%D%/query/query.h \
	%D%/query/reader.c \
	%D%/query/reader.h \
	%D%/query/select.c \
	%D%/query/select.h \
	%D%/query/sieve.c \
	%D%/query/sieve.h \
	%D%/query/symbol_file.h \
	%D%/query/symbols.h \
	%D%/query/thread_gap.c \
	%D%/query/thread_gap.h \
	%D%/query/view.c \
	%D%/query/view.h \
	%D%/query/where.c \
	%D%/query/type.h \
	%D%/query/where.h \
	%D%/query/where_parse.c \
	%D%/query/where_token.c \
	%D%/query/where_token.h \
	%D%/query/where_tree.h \
	%D%/spans/common.c \
	%D%/spans/common.h \
	%D%/spans/flames.c \
	%D%/spans/flames.h \
	%D%/spans/function.c \
	%D%/spans/function.h \
	%D%/spans/span.c \
	%D%/spans/span.h \
	%D%/spans/key.c \
	%D%/spans/key.h \
	%D%/spans/lanes.c \
	%D%/spans/lanes.h \
	%D%/spans/pair_report.c \
	%D%/spans/pair_report.h \
	%D%/spans/pairs.c \
	%D%/spans/pairs.h \
	%D%/spans/quantiles.c \
	%D%/spans/quantiles.h \
	%D%/spans/waits.c \
	%D%/spans/waits.h \
	%D%/spans/wait_report.c \
	%D%/spans/wait_report.h \
	%D%/text/columns.c \
	%D%/text/columns.h \
	%D%/text/csv.c \
	%D%/text/csv.h \
	%D%/text/event_format.c \
	%D%/text/event_format.h \
	%D%/text/log_sink.c \
	%D%/text/log_sink.h \
	%D%/text/pair_dump.c \
	%D%/text/pair_dump.h \
	%D%/text/pair_tree.c \
	%D%/text/pair_tree.h \
	%D%/text/text.c \
	%D%/text/text.h \
	%D%/text/text_follow.c \
	%D%/text/text_threads.c \
	%D%/sync/line.c \
	%D%/sync/line.h \
	%D%/sync/sync.c \
	%D%/sync/sync.h \
	%D%/diff/conditions.c \
	%D%/diff/conditions.h \
	%D%/diff/diff.c \
	%D%/diff/diff.h \
	%D%/diff/diff_report.c \
	%D%/diff/diff_report.h \
	%D%/diff/ranks.c \
	%D%/diff/ranks.h \
	%D%/os/code_names.c \
	%D%/os/code_names.h \
	%D%/os/os_trace.c \
	%D%/os/os_trace.h \
	%D%/os/perf.c \
	%D%/os/perf.h \
	%D%/os/perf_records.c \
	%D%/os/perf_records.h \
	%D%/os/processes.c \
	%D%/os/processes.h \
	%D%/os/syscall_name.c \
	%D%/os/syscall_name.h \
	%D%/os/throttle.c \
	%D%/os/throttle.h \
	%D%/os/tracepoints.c \
	%D%/os/tracepoints.h \
	%D%/os/unwind.h \
	%D%/session/filter_rules.c \
	%D%/session/filter_rules.h \
	%D%/session/keeper.c \
	%D%/session/keeper.h \
	%D%/session/logfile.c \
	%D%/session/logfile.h \
	%D%/session/obstacle.c \
	%D%/session/obstacle.h \
	%D%/session/orphans.c \
	%D%/session/orphans.h \
	%D%/session/preload.c \
	%D%/session/preload.h \
	%D%/session/reader_follow.c \
	%D%/session/reader_follow.h \
	%D%/session/session_client.c \
	%D%/session/session_client.h \
	%D%/session/session_create.c \
	%D%/session/session_create.h \
	%D%/session/session_follow.c \
	%D%/session/session_follow.h \
	%D%/session/session_path.c \
	%D%/session/session_path.h \
	%D%/session/session_protocol.h \
	%D%/session/session_server.c \
	%D%/session/session_server.h \
	%D%/session/snapshots.c \
	%D%/session/snapshots.h \
	%D%/session/trace_error.c \
	%D%/session/trace_error.h \
	%D%/session/traced.c \
	%D%/session/traced.h \
	%D%/session/unmatched.c \
	%D%/session/unmatched.h \
	%D%/session/watch.c \
	%D%/session/watch.h \
	%D%/config/configuration.c \
	%D%/config/configuration.h \
	%D%/config/configuration_dump.c \
	%D%/config/configuration_options.c \
	%D%/config/configuration_yaml.c \
	%D%/config/kept.c \
	%D%/config/kept.h \
	%D%/config/layouts.c \
	%D%/config/layouts.h \
	%D%/config/mark.h \
	%D%/config/yaml_file.c \
	%D%/config/yaml_file.h \
	%D%/check/check.c \
	%D%/check/check.h \
	%D%/check/judge.c \
	%D%/check/judge.h \
	%D%/check/kind.h \
	%D%/check/kind_after.c \
	%D%/check/kind_before.c \
	%D%/check/kind_count.c \
	%D%/check/kind_pair.c \
	%D%/check/report.h \
	%D%/check/report_ci.c \
	%D%/check/report_json.c \
	%D%/check/report_text.c \
	%D%/check/rule.c \
	%D%/check/rule.h \
	%D%/check/rule_file.c \
	%D%/check/rule_option.c \
	%D%/check/trial.c \
	%D%/check/trial.h \
	%D%/check/verdict.c \
	%D%/summary/event_types.c \
	%D%/summary/event_types.h \
	%D%/summary/live.c \
	%D%/summary/live.h \
	%D%/summary/no_events.c \
	%D%/summary/no_events.h \
	%D%/summary/program_probes.c \
	%D%/summary/program_probes.h \
	%D%/summary/run_result.c \
	%D%/summary/run_result.h \
	%D%/summary/run_verdicts.c \
	%D%/summary/run_verdicts.h \
	%D%/summary/selection.c \
	%D%/summary/selection.h \
	%D%/summary/stat.c \
	%D%/summary/stat.h \
	%D%/summary/wait_stat.c \
	%D%/summary/wait_stat.h \
	%D%/summary/whose.c \
	%D%/summary/whose.h \
	%D%/export/chrome.c \
	%D%/export/csv.c \
	%D%/export/ctf.c \
	%D%/export/ctf_files.c \
	%D%/export/ctf_files.h \
	%D%/export/ctf_json.c \
	%D%/export/ctf_metadata.c \
	%D%/export/ctf_metadata.h \
	%D%/export/ctf_tsdl.c \
	%D%/export/ctf_versions.c \
	%D%/export/export.c \
	%D%/export/export.h \
	%D%/export/format.c \
	%D%/export/format.h \
	%D%/export/formats.c \
	%D%/export/otlp.c \
	%D%/export/perfetto.c \
	%D%/export/stacks.c \
	%D%/report/collect.c \
	%D%/report/collect.h \
	%D%/report/columns.c \
	%D%/report/columns.h \
	%D%/report/page.c \
	%D%/report/page.h \
	%D%/report/text.c \
	%D%/report/text.h \
	%D%/ship/schema.c \
	%D%/ship/schema.h \
	%D%/doctor/doctor.h \
	%D%/doctor/doctor_kinds.c \
	%D%/doctor/doctor_log.c \
	%D%/doctor/doctor_machine.c \
	%D%/doctor/doctor_process.c \
	%D%/doctor/doctor_program.c \
	%D%/doctor/doctor_report.c \
	%D%/doctor/doctor_session.c

if HAVE_LIBDW
%C%_libcommands_a_SOURCES += %D%/query/libdw.c %D%/query/symbol_file.c %D%/query/symbols.c %D%/os/unwind.c
else
%C%_libcommands_a_SOURCES += %D%/query/symbols_none.c %D%/os/unwind_none.c
endif
EXTRA_DIST += %D%/query/libdw.c %D%/query/symbol_file.c %D%/query/symbols.c \
	%D%/query/symbols_none.c %D%/os/unwind.c %D%/os/unwind_none.c

# The names of the system calls of the machine for which is built.
CLEANFILES += %D%/os/syscall_names.inc
%D%/os/syscall_names.inc: Makefile
	$(AM_V_GEN)$(MKDIR_P) %D%/os && echo '#include <sys/syscall.h>' | $(CC) $(CPPFLAGS) -E -dM - | \
		sed -n 's/^#define __NR_\([a-z0-9_]*\) .*/[__NR_\1] = "\1",/p' | LC_ALL=C sort >$@-t && \
		mv $@-t $@
%D%/os/libcommands_a-syscall_name.$(OBJEXT): %D%/os/syscall_names.inc

%C%_libcommands_a_CPPFLAGS = $(AM_CPPFLAGS) -DPTRC_PKGLIBDIR='"$(pkglibdir)"'
%C%_libcommands_a_CFLAGS = $(AM_CFLAGS) $(YAML_CFLAGS) $(PCRE2_CFLAGS) $(LIBDW_CFLAGS)

ptrc_commands_libs = %D%/libcommands.a $(LDADD)
# Of those that read a configuration; the others need not load it.
ptrc_configured_libs = $(ptrc_commands_libs) $(YAML_LIBS)
# Of those that have expressions, rules or pairs; ptrace-snapshot has none, but writes what could be selected.
ptrc_selecting_libs = $(ptrc_configured_libs) $(PCRE2_LIBS)
%C%_ptrace_check_LDADD = $(ptrc_selecting_libs)
%C%_ptrace_create_LDADD = $(ptrc_selecting_libs)
%C%_ptrace_doctor_LDADD = $(ptrc_commands_libs)
%C%_ptrace_dump_LDADD = $(ptrc_selecting_libs)
%C%_ptrace_events_LDADD = $(ptrc_commands_libs)
%C%_ptrace_export_LDADD = $(ptrc_selecting_libs)
%C%_ptrace_filter_LDADD = $(ptrc_commands_libs)
%C%_ptrace_event_LDADD = $(ptrc_commands_libs)
%C%_ptrace_list_LDADD = $(ptrc_commands_libs)
%C%_ptrace_report_LDADD = $(ptrc_selecting_libs)
%C%_ptrace_run_LDADD = $(ptrc_selecting_libs)
%C%_ptrace_salvage_LDADD = $(ptrc_commands_libs)
%C%_ptrace_snapshot_LDADD = $(ptrc_commands_libs) $(PCRE2_LIBS)
%C%_ptrace_start_LDADD = $(ptrc_commands_libs)
%C%_ptrace_stat_LDADD = $(ptrc_selecting_libs) -lm

# It alone speaks to a server.
%C%_ptrace_ship_SOURCES = \
	%D%/ptrace-ship.c \
	%D%/ship/answer.c \
	%D%/ship/answer.h \
	%D%/ship/files.c \
	%D%/ship/files.h \
	%D%/ship/follow.c \
	%D%/ship/follow.h \
	%D%/ship/log.c \
	%D%/ship/log.h \
	%D%/ship/pack.c \
	%D%/ship/pack.h \
	%D%/ship/progress.c \
	%D%/ship/progress.h \
	%D%/ship/row.c \
	%D%/ship/row.h \
	%D%/ship/server.c \
	%D%/ship/server.h \
	%D%/ship/ship.c \
	%D%/ship/ship.h \
	%D%/ship/whose.c \
	%D%/ship/whose.h
%C%_ptrace_ship_CFLAGS = $(AM_CFLAGS) $(YAML_CFLAGS) $(SHIP_CFLAGS)
%C%_ptrace_ship_LDADD = $(ptrc_configured_libs) $(SHIP_LIBS)

# What a report has beside its data, as strings of C.
ptrc_page_sources = \
	%D%/report/head.html \
	%D%/report/body.html \
	%D%/report/style.css \
	%D%/report/model.js \
	%D%/report/lanes.js \
	%D%/report/main.js
EXTRA_DIST += $(ptrc_page_sources) scripts/embed
CLEANFILES += %D%/report/page_text.h

%D%/report/page_text.h: $(ptrc_page_sources) scripts/embed Makefile
	$(AM_V_GEN)$(MKDIR_P) %D%/report && \
	sh $(top_srcdir)/scripts/embed $(top_srcdir)/src/report >$@.new && mv $@.new $@

# Automake has a rule for the object itself, and would not let another one stand beside it.
ptrc_page_object = %D%/report/libcommands_a-page.$(OBJEXT)
$(ptrc_page_object): %D%/report/page_text.h
