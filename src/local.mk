# SPDX-License-Identifier: MIT
# The commands: a file each, and what they share.

ptrc_commands = \
	%D%/ptrace-clear \
	%D%/ptrace-create \
	%D%/ptrace-doctor \
	%D%/ptrace-dump \
	%D%/ptrace-events \
	%D%/ptrace-filter \
	%D%/ptrace-event \
	%D%/ptrace-flush \
	%D%/ptrace-list \
	%D%/ptrace-run \
	%D%/ptrace-shutdown \
	%D%/ptrace-start \
	%D%/ptrace-stat \
	%D%/ptrace-stop

bin_PROGRAMS += $(ptrc_commands)

noinst_LTLIBRARIES = %D%/libcommands.la
%C%_libcommands_la_SOURCES = \
	%D%/attributes.c \
	%D%/attributes.h \
	%D%/cli.c \
	%D%/cli.h \
	%D%/configuration.c \
	%D%/configuration.h \
	%D%/configuration_dump.c \
	%D%/configuration_yaml.c \
	%D%/event_format.c \
	%D%/event_format.h \
	%D%/event_types.c \
	%D%/event_types.h \
	%D%/exit_status.h \
	%D%/filter_rules.c \
	%D%/filter_rules.h \
	%D%/group_signal.c \
	%D%/group_signal.h \
	%D%/json.c \
	%D%/json.h \
	%D%/layout.c \
	%D%/layout.h \
	%D%/lines.c \
	%D%/lines.h \
	%D%/logfile.c \
	%D%/logfile.h \
	%D%/losses.c \
	%D%/losses.h \
	%D%/nearest.c \
	%D%/nearest.h \
	%D%/output.c \
	%D%/output.h \
	%D%/reader.c \
	%D%/reader.h \
	%D%/reader_follow.c \
	%D%/select.c \
	%D%/select.h \
	%D%/session.h \
	%D%/session_client.c \
	%D%/session_events.h \
	%D%/session_follow.c \
	%D%/session_follow.h \
	%D%/session_main.c \
	%D%/session_path.c \
	%D%/session_path.h \
	%D%/session_server.c \
	%D%/session_types.c \
	%D%/session_types.h \
	%D%/stat.c \
	%D%/stat.h \
	%D%/trace_error.c \
	%D%/trace_error.h \
	%D%/value.c \
	%D%/value.h \
	%D%/view.c \
	%D%/view.h \
	%D%/when.c \
	%D%/when.h \
	%D%/where.c \
	%D%/where.h

%C%_libcommands_la_CFLAGS = $(AM_CFLAGS) $(YAML_CFLAGS)

ptrc_commands_libs = %D%/libcommands.la $(LDADD)
# Of those that read a configuration; the others need not load it.
ptrc_configured_libs = $(ptrc_commands_libs) $(YAML_LIBS)
%C%_ptrace_clear_LDADD = $(ptrc_commands_libs)
%C%_ptrace_create_LDADD = $(ptrc_configured_libs)
%C%_ptrace_doctor_SOURCES = \
	%D%/doctor.h \
	%D%/doctor_machine.c \
	%D%/doctor_process.c \
	%D%/doctor_program.c \
	%D%/doctor_session.c \
	%D%/ptrace-doctor.c
%C%_ptrace_doctor_LDADD = $(ptrc_commands_libs)
%C%_ptrace_dump_LDADD = $(ptrc_configured_libs)
%C%_ptrace_events_LDADD = $(ptrc_commands_libs)
%C%_ptrace_filter_LDADD = $(ptrc_commands_libs)
%C%_ptrace_event_LDADD = $(ptrc_commands_libs)
%C%_ptrace_flush_LDADD = $(ptrc_commands_libs)
%C%_ptrace_list_LDADD = $(ptrc_commands_libs)
%C%_ptrace_run_LDADD = $(ptrc_configured_libs)
%C%_ptrace_shutdown_LDADD = $(ptrc_commands_libs)
%C%_ptrace_start_LDADD = $(ptrc_commands_libs)
%C%_ptrace_stat_LDADD = $(ptrc_commands_libs)
%C%_ptrace_stop_LDADD = $(ptrc_commands_libs)
