# SPDX-License-Identifier: MIT
# The library, and the keeper that is embedded in it.

lib_LTLIBRARIES += %D%/libposixtrace.la

# What the pages of the standard say, a file per page or per group of small functions.
ptrc_page_sources = \
	%D%/attr_info.c \
	%D%/attr_init.c \
	%D%/attr_policy.c \
	%D%/attr_size.c \
	%D%/event.c \
	%D%/eventid.c \
	%D%/eventset.c \
	%D%/trace_create.c \
	%D%/trace_eventid.c \
	%D%/trace_filter.c \
	%D%/trace_getnext.c \
	%D%/trace_log.c \
	%D%/trace_start.c \
	%D%/trace_status.c

# What <posixtrace.h> adds.
ptrc_extension_sources = \
	%D%/attach.c \
	%D%/event_for.c \
	%D%/query.c \
	%D%/version.c

# The concepts below them.
ptrc_concept_sources = \
	%D%/attr.c \
	%D%/controller.c \
	%D%/handle.c \
	%D%/inherit.c \
	%D%/keeper.c \
	%D%/live_reader.c \
	%D%/log_reader.c \
	%D%/log_stream.c \
	%D%/names.c \
	%D%/page.c \
	%D%/process.c \
	%D%/process_fork.c \
	%D%/process_names.c \
	%D%/procfs.c \
	%D%/sweep.c \
	%D%/target.c

# Compiled into the library and, a second time and freestanding, into the keeper.
ptrc_shared_sources = \
	%D%/barrier.c \
	%D%/clock.c \
	%D%/crc32c.c \
	%D%/drain.c \
	%D%/file.c \
	%D%/keeper_work.c \
	%D%/liveness.c \
	%D%/log_batch.c \
	%D%/log_events.c \
	%D%/log_flush.c \
	%D%/log_output.c \
	%D%/log_ring.c \
	%D%/log_writer.c \
	%D%/predefined.c \
	%D%/sequencer.c \
	%D%/shmdir.c \
	%D%/size_limit.c \
	%D%/stream.c \
	%D%/thread_life.c \
	%D%/type_counts.c \
	%D%/writer.c

# The keeper alone.
ptrc_keeper_sources = \
	%D%/freestanding.c \
	%D%/keeper_main.c

ptrc_headers = \
	%D%/attr.h \
	%D%/barrier.h \
	%D%/clock.h \
	%D%/clone.h \
	%D%/common.h \
	%D%/controller.h \
	%D%/crc32c.h \
	%D%/drain.h \
	%D%/event.h \
	%D%/eventset.h \
	%D%/file.h \
	%D%/fork_mutex.h \
	%D%/freestanding.h \
	%D%/handle.h \
	%D%/inherit.h \
	%D%/keeper.h \
	%D%/keeper_work.h \
	%D%/live_reader.h \
	%D%/liveness.h \
	%D%/log_batch.h \
	%D%/log_flush.h \
	%D%/log_layout.h \
	%D%/log_reader.h \
	%D%/log_stream.h \
	%D%/log_writer.h \
	%D%/log_writer_parts.h \
	%D%/names.h \
	%D%/page.h \
	%D%/page_layout.h \
	%D%/pid_lock.h \
	%D%/populate.h \
	%D%/process.h \
	%D%/process_state.h \
	%D%/procfs.h \
	%D%/record.h \
	%D%/sequencer.h \
	%D%/shmdir.h \
	%D%/size_limit.h \
	%D%/stream.h \
	%D%/stream_layout.h \
	%D%/sys.h \
	%D%/thread_life.h \
	%D%/type_counts.h \
	%D%/writer.h

%C%_libposixtrace_la_SOURCES = \
	$(ptrc_page_sources) \
	$(ptrc_extension_sources) \
	$(ptrc_concept_sources) \
	$(ptrc_shared_sources) \
	$(ptrc_headers) \
	%D%/keeper_image.S

%C%_libposixtrace_la_CFLAGS = $(AM_CFLAGS) $(LIB_CFLAGS)
# current:revision:age, see the manual of libtool; no release has been made yet.
# nodelete: fork handlers and thread destructors of ours outlive a dlclose.
%C%_libposixtrace_la_LDFLAGS = $(SAN_CFLAGS) -no-undefined -Wl,-z,nodelete -version-info 0:0:0
if HAVE_VERSION_SCRIPT
%C%_libposixtrace_la_LDFLAGS += -Wl,--version-script=$(srcdir)/%D%/libposixtrace.map
endif
%C%_libposixtrace_la_DEPENDENCIES = %D%/libposixtrace.map
EXTRA_DIST += %D%/libposixtrace.map

pkgconfig_DATA += %D%/posixtrace.pc

# The keeper: static, freestanding, never instrumented, at a fixed address. `make
# PTRC_KEEPER_STRIP=' leaves its symbols in, for a debugger.
ptrc_keeper_program_sources = $(ptrc_keeper_sources) $(ptrc_shared_sources)
PTRC_KEEPER_STRIP = -Wl,-s
EXTRA_DIST += $(ptrc_keeper_sources)
CLEANFILES += %D%/keeper

%D%/keeper: $(ptrc_keeper_program_sources) $(ptrc_headers) $(include_HEADERS) Makefile
	@$(MKDIR_P) %D%
	$(AM_V_GEN)set --; \
	for f in $(ptrc_keeper_program_sources); do set -- "$$@" "$(srcdir)/$$f"; done; \
	$(CC) $(DEFS) $(DEFAULT_INCLUDES) $(INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) \
		-U_FORTIFY_SOURCE -DPTRC_FREESTANDING \
		-include $(srcdir)/%D%/freestanding.h \
		-std=gnu11 $(WARN_CFLAGS) $(CFLAGS) -O2 $(KEEPER_CFLAGS) \
		-static -nostdlib -Wl,--gc-sections -Wl,--build-id=none \
		-Wl,-z,noexecstack -Wl,-z,noseparate-code $(PTRC_KEEPER_STRIP) \
		-o $@ "$$@" -lgcc

%D%/keeper_image.lo: %D%/keeper
