# SPDX-License-Identifier: MIT
# Manual pages: of the commands; of the functions, by page of the standard, with a link for
# each further function of a page; overviews.

dist_man_MANS += \
	%D%/posixtrace-fleet.7 \
	%D%/posixtrace-clocks.7 \
	%D%/posixtrace-functions.7 \
	%D%/posixtrace-languages.7 \
	%D%/posixtrace-sdt.7 \
	%D%/posixtrace-os.7 \
	%D%/posixtrace-select.7 \
	%D%/posixtrace-stability.7 \
	%D%/posixtrace-waits.7 \
	%D%/posixtrace-rules.5 \
	%D%/ptrace-check.1 \
	%D%/ptrace-clear.1 \
	%D%/ptrace-create.1 \
	%D%/ptrace-doctor.1 \
	%D%/ptrace-dump.1 \
	%D%/ptrace-events.1 \
	%D%/ptrace-export.1 \
	%D%/ptrace-filter.1 \
	%D%/ptrace-event.1 \
	%D%/ptrace-flush.1 \
	%D%/ptrace-list.1 \
	%D%/ptrace-report.1 \
	%D%/ptrace-run.1 \
	%D%/ptrace-salvage.1 \
	%D%/ptrace-ship.1 \
	%D%/ptrace-shutdown.1 \
	%D%/ptrace-snapshot.1 \
	%D%/ptrace-start.1 \
	%D%/ptrace-stat.1 \
	%D%/ptrace-stop.1 \
	%D%/ptrace.yaml.5

dist_man_MANS += \
	%D%/posix_trace_attr_getclockres.3 \
	%D%/posix_trace_attr_getinherited.3 \
	%D%/posix_trace_attr_getlogsize.3 \
	%D%/posix_trace_attr_init.3 \
	%D%/posix_trace_clear.3 \
	%D%/posix_trace_close.3 \
	%D%/posix_trace_create.3 \
	%D%/posix_trace_event.3 \
	%D%/posix_trace_eventid_open.3 \
	%D%/posix_trace_eventset_add.3 \
	%D%/posix_trace_eventtypelist_getnext_id.3 \
	%D%/posix_trace_get_attr.3 \
	%D%/posix_trace_get_filter.3 \
	%D%/posix_trace_getnext_event.3 \
	%D%/posix_trace_start.3 \
	%D%/posixtrace-columns.5 \
	%D%/posixtrace-json.5 \
	%D%/posixtrace-layout.5 \
	%D%/posixtrace-node.3 \
	%D%/posixtrace-python.3 \
	%D%/posixtrace-log.5 \
	%D%/posixtrace-tutorial.7 \
	%D%/posixtrace.7 \
	%D%/posixtrace.hpp.3 \
	%D%/trace.h.7

# Links.
dist_man_MANS += \
	%D%/posix_trace_attr_destroy.3 \
	%D%/posix_trace_attr_getcreatetime.3 \
	%D%/posix_trace_attr_getgenversion.3 \
	%D%/posix_trace_attr_getlogfullpolicy.3 \
	%D%/posix_trace_attr_getmaxdatasize.3 \
	%D%/posix_trace_attr_getmaxsystemeventsize.3 \
	%D%/posix_trace_attr_getmaxusereventsize.3 \
	%D%/posix_trace_attr_getname.3 \
	%D%/posix_trace_attr_getstreamfullpolicy.3 \
	%D%/posix_trace_attr_getstreamsize.3 \
	%D%/posix_trace_attr_setinherited.3 \
	%D%/posix_trace_attr_setlogfullpolicy.3 \
	%D%/posix_trace_attr_setlogsize.3 \
	%D%/posix_trace_attr_setmaxdatasize.3 \
	%D%/posix_trace_attr_setname.3 \
	%D%/posix_trace_attr_setstreamfullpolicy.3 \
	%D%/posix_trace_attr_setstreamsize.3 \
	%D%/posix_trace_create_withlog.3 \
	%D%/posix_trace_eventid_equal.3 \
	%D%/posix_trace_eventid_get_name.3 \
	%D%/posix_trace_eventset_del.3 \
	%D%/posix_trace_eventset_empty.3 \
	%D%/posix_trace_eventset_fill.3 \
	%D%/posix_trace_eventset_ismember.3 \
	%D%/posix_trace_eventtypelist_rewind.3 \
	%D%/posix_trace_flush.3 \
	%D%/posix_trace_get_status.3 \
	%D%/posix_trace_open.3 \
	%D%/posix_trace_rewind.3 \
	%D%/posix_trace_set_filter.3 \
	%D%/posix_trace_shutdown.3 \
	%D%/posix_trace_stop.3 \
	%D%/posix_trace_timedgetnext_event.3 \
	%D%/posix_trace_trid_eventid_open.3 \
	%D%/posix_trace_trygetnext_event.3

# What we add to the standard.
dist_man_MANS += \
	%D%/POSIXTRACE_EMIT.3 \
	%D%/POSIXTRACE_EMIT_FROM.3 \
	%D%/POSIXTRACE_TYPE.3 \
	%D%/posixtrace_attach.3 \
	%D%/posixtrace_attr_getfullwait.3 \
	%D%/posixtrace_attr_getlogrotation.3 \
	%D%/posixtrace_attr_setfullwait.3 \
	%D%/posixtrace_attr_setlogrotation.3 \
	%D%/posixtrace_begin_type.3 \
	%D%/posixtrace_cursor_close.3 \
	%D%/posixtrace_cursor_get_missed.3 \
	%D%/posixtrace_cursor_open.3 \
	%D%/posixtrace_cursor_select.3 \
	%D%/posixtrace_cursor_trygetnext_event.3 \
	%D%/posixtrace_discard_orphan.3 \
	%D%/posixtrace_event_for.3 \
	%D%/posixtrace_eventid_get_layout.3 \
	%D%/posixtrace_eventid_open_layout.3 \
	%D%/posixtrace_get_counts.3 \
	%D%/posixtrace_get_orphan.3 \
	%D%/posixtrace_get_patterns.3 \
	%D%/posixtrace_get_type_counts.3 \
	%D%/posixtrace_is_traced.3 \
	%D%/posixtrace_log_find_process.3 \
	%D%/posixtrace_log_find_thread.3 \
	%D%/posixtrace_log_free_block.3 \
	%D%/posixtrace_log_get_clock.3 \
	%D%/posixtrace_log_get_host.3 \
	%D%/posixtrace_log_get_mapping.3 \
	%D%/posixtrace_log_get_process.3 \
	%D%/posixtrace_log_get_thread.3 \
	%D%/posixtrace_log_get_time_of_last.3 \
	%D%/posixtrace_log_next_block.3 \
	%D%/posixtrace_log_next_field.3 \
	%D%/posixtrace_log_open.3 \
	%D%/posixtrace_log_select.3 \
	%D%/posixtrace_log_writer_add.3 \
	%D%/posixtrace_log_writer_add_origin.3 \
	%D%/posixtrace_log_writer_close.3 \
	%D%/posixtrace_log_writer_open.3 \
	%D%/posixtrace_log_writer_type.3 \
	%D%/posixtrace_open_type.3 \
	%D%/posixtrace_salvage_orphan.3 \
	%D%/posixtrace_set_command_line.3 \
	%D%/posixtrace_set_log_sync.3 \
	%D%/posixtrace_set_patterns.3 \
	%D%/posixtrace_version.3
