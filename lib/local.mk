# SPDX-License-Identifier: MIT
# The library, and the keeper that is embedded in it. A list for each room, in the order of the
# rooms (ARCHITECTURE.md).

lib_LTLIBRARIES += %D%/libposixtrace.la

# In the library only; in the library and, compiled once more without a C library, in the
# keeper; in the keeper only.
ptrc_library_sources =
ptrc_shared_sources =
ptrc_keeper_sources =
ptrc_headers =

# System calls, files, locks, checksums, the directory of shared objects, who lives.
ptrc_shared_sources += \
	%D%/base/build_id.c \
	%D%/base/crc32c.c \
	%D%/base/file.c \
	%D%/base/limit.c \
	%D%/base/liveness.c \
	%D%/base/procfs.c \
	%D%/base/shmdir.c
ptrc_keeper_sources += \
	%D%/base/freestanding.c \
	%D%/base/text.c
ptrc_headers += \
	%D%/base/array.h \
	%D%/base/atomic.h \
	%D%/base/build_id.h \
	%D%/base/clone.h \
	%D%/base/common.h \
	%D%/base/copy.h \
	%D%/base/crc32c.h \
	%D%/base/digits.h \
	%D%/base/file.h \
	%D%/base/freestanding.h \
	%D%/base/heap.h \
	%D%/base/liveness.h \
	%D%/base/pid_lock.h \
	%D%/base/procfs.h \
	%D%/base/scope.h \
	%D%/base/shared_version.h \
	%D%/base/shmdir.h \
	%D%/base/limit.h \
	%D%/base/sys.h \
	%D%/base/thread_life.h \
	%D%/base/timespec.h \
	%D%/base/tid_lock.h

# What a trace is made of: attributes, sets of event types, names, records, their order.
ptrc_library_sources += \
	%D%/model/attr.c \
	%D%/model/glob.c \
	%D%/model/layout.c \
	%D%/model/layout_text.c \
	%D%/model/names.c
ptrc_shared_sources += \
	%D%/model/packed.c \
	%D%/model/sequencer.c
ptrc_headers += \
	%D%/model/attr.h \
	%D%/model/eventset.h \
	%D%/model/glob.h \
	%D%/model/layout.h \
	%D%/model/layout_text.h \
	%D%/model/names.h \
	%D%/model/packed.h \
	%D%/model/record.h \
	%D%/model/sequencer.h \
	%D%/model/type_sums.h

# The stream in shared memory: written by targets, read live, drained for the log.
ptrc_library_sources += \
	%D%/stream/full_wait.c \
	%D%/stream/live_reader.c \
	%D%/stream/patterns.c \
	%D%/stream/stream_copy.c
ptrc_shared_sources += \
	%D%/stream/chunk.c \
	%D%/stream/clock.c \
	%D%/stream/consumer.c \
	%D%/stream/drain.c \
	%D%/stream/filter.c \
	%D%/stream/marks.c \
	%D%/stream/recording.c \
	%D%/stream/space.c \
	%D%/stream/slots.c \
	%D%/stream/status.c \
	%D%/stream/stream.c \
	%D%/stream/untraced.c \
	%D%/stream/writer.c
ptrc_headers += \
	%D%/stream/chunk.h \
	%D%/stream/clock.h \
	%D%/stream/consumer.h \
	%D%/stream/drain.h \
	%D%/stream/filter.h \
	%D%/stream/full_wait.h \
	%D%/stream/live_reader.h \
	%D%/stream/marks.h \
	%D%/stream/patterns.h \
	%D%/stream/pool.h \
	%D%/stream/recording.h \
	%D%/stream/space.h \
	%D%/stream/slots.h \
	%D%/stream/status.h \
	%D%/stream/stream.h \
	%D%/stream/stream_copy.h \
	%D%/stream/stream_layout.h \
	%D%/stream/untraced.h \
	%D%/stream/writer.h

# The log: written by the keeper, read by anybody.
ptrc_library_sources += \
	%D%/log/log_copy.c \
	%D%/log/log_family.c \
	%D%/log/log_reader.c \
	%D%/log/log_stream.c \
	%D%/log/log_whose.c
ptrc_shared_sources += \
	%D%/log/log_events.c \
	%D%/log/log_output.c \
	%D%/log/log_origin.c \
	%D%/log/log_ring.c \
	%D%/log/log_rotate.c \
	%D%/log/log_writer.c
ptrc_headers += \
	%D%/log/log_copy.h \
	%D%/log/log_family.h \
	%D%/log/log_layout.h \
	%D%/log/log_reader.h \
	%D%/log/log_stream.h \
	%D%/log/log_whose.h \
	%D%/log/log_write.h

# The process that writes the log of a stream, and how it is started.
ptrc_library_sources += \
	%D%/keeper/keeper.c
ptrc_shared_sources += \
	%D%/keeper/keeper_life.c \
	%D%/keeper/keeper_work.c
ptrc_keeper_sources += \
	%D%/keeper/keeper_main.c
ptrc_headers += \
	%D%/keeper/keeper.h \
	%D%/keeper/keeper_life.h \
	%D%/keeper/keeper_work.h

# What a process publishes of itself, and what others find of it.
ptrc_library_sources += \
	%D%/process/bell.c \
	%D%/process/claim.c \
	%D%/process/image.c \
	%D%/process/inherit.c \
	%D%/process/inspect.c \
	%D%/process/orphan.c \
	%D%/process/page.c \
	%D%/process/process.c \
	%D%/process/process_names.c \
	%D%/process/self.c \
	%D%/process/sweep.c \
	%D%/process/target.c
ptrc_headers += \
	%D%/process/bell.h \
	%D%/process/claim.h \
	%D%/process/image.h \
	%D%/process/inherit.h \
	%D%/process/orphan.h \
	%D%/process/page.h \
	%D%/process/page_layout.h \
	%D%/process/process.h \
	%D%/process/process_names.h \
	%D%/process/self.h \
	%D%/process/sweep.h \
	%D%/process/target.h

# Events of this process, into the streams that trace it.
ptrc_library_sources += \
	%D%/recorder/attach.c \
	%D%/recorder/event.c \
	%D%/recorder/frame.c \
	%D%/recorder/guest.c \
	%D%/recorder/thread.c
ptrc_headers += \
	%D%/recorder/attach.h \
	%D%/recorder/event.h \
	%D%/recorder/fast.h \
	%D%/recorder/frame.h \
	%D%/recorder/guest.h \
	%D%/recorder/thread.h

# The streams that this process controls, and their identifiers.
ptrc_library_sources += \
	%D%/control/controller.c \
	%D%/control/cursor.c \
	%D%/control/handle.c \
	%D%/control/log_fd.c \
	%D%/control/observer.c \
	%D%/control/next.c
ptrc_headers += \
	%D%/control/controller.h \
	%D%/control/handle.h \
	%D%/control/log_fd.h \
	%D%/control/next.h

# The begin of the library in a process, its forks, and its end.
ptrc_library_sources += \
	%D%/life/life.c
ptrc_headers += \
	%D%/life/life.h

# What the public headers declare.
ptrc_library_sources += \
	%D%/api/attach.c \
	%D%/api/attr.c \
	%D%/api/event.c \
	%D%/api/event_for.c \
	%D%/api/eventid.c \
	%D%/api/eventid_layout.c \
	%D%/api/figures.c \
	%D%/api/log_field.c \
	%D%/api/type.c \
	%D%/api/orphan.c \
	%D%/api/trace_create.c \
	%D%/api/trace_eventid.c \
	%D%/api/trace_eventset.c \
	%D%/api/trace_filter.c \
	%D%/api/trace_getnext.c \
	%D%/api/trace_copy.c \
	%D%/api/trace_log.c \
	%D%/api/trace_whose.c \
	%D%/api/trace_read.c \
	%D%/api/trace_start.c \
	%D%/api/trace_status.c \
	%D%/api/version.c
ptrc_headers += \
	%D%/api/figures.h \
	%D%/api/on_log.h

%C%_libposixtrace_la_SOURCES = \
	$(ptrc_library_sources) \
	$(ptrc_shared_sources) \
	$(ptrc_headers) \
	%D%/keeper/keeper_image.S

%C%_libposixtrace_la_CFLAGS = $(AM_CFLAGS) $(LIB_CFLAGS)
# current:revision:age, see the manual of libtool. A release 1.x that adds functions raises current and age by one,
# so that the library stays libposixtrace.so.0 (posixtrace-stability(7)).
# nodelete: fork handlers and thread destructors of ours outlive a dlclose.
%C%_libposixtrace_la_LDFLAGS = $(SAN_CFLAGS) $(HARDEN_LDFLAGS) -no-undefined -Wl,-z,nodelete -version-info 0:0:0
if HAVE_VERSION_SCRIPT
%C%_libposixtrace_la_LDFLAGS += -Wl,--version-script=$(srcdir)/%D%/libposixtrace.map
endif
%C%_libposixtrace_la_DEPENDENCIES = %D%/libposixtrace.map
EXTRA_DIST += %D%/libposixtrace.map

pkgconfig_DATA += %D%/posixtrace.pc
cmakedir = $(libdir)/cmake/posixtrace
dist_cmake_DATA = %D%/posixtrace-config.cmake
cmake_DATA = %D%/posixtrace-config-version.cmake

# The library that ptrace-run preloads for --functions, --waits and --sdt: hooks, wrappers and traps, and a copy
# of all the rest that only they see. It is always made, also if the library itself is only a static one, and never with
# sanitizers, whose runtime the traced program need not have. libtool makes no such objects then, so
# automake is told to take it for a program.
ptrcpreloaddir = $(pkglibdir)
ptrcpreload_PROGRAMS = %D%/posixtrace-preload.so
%C%_posixtrace_preload_so_SOURCES = \
	%D%/preload/descriptor_changes.c \
	%D%/preload/descriptors.c \
	%D%/preload/descriptors.h \
	%D%/preload/event_type.c \
	%D%/preload/event_type.h \
	%D%/preload/elf_file.c \
	%D%/preload/elf_file.h \
	%D%/preload/function_names.c \
	%D%/preload/function_names.h \
	%D%/preload/hooks.c \
	%D%/preload/mangled.c \
	%D%/preload/mangled.h \
	%D%/preload/next_function.c \
	%D%/preload/next_function.h \
	%D%/preload/notes.c \
	%D%/preload/notes.h \
	%D%/preload/operand.c \
	%D%/preload/operand.h \
	%D%/preload/patterns.c \
	%D%/preload/patterns.h \
	%D%/preload/probes.c \
	%D%/preload/probes.h \
	%D%/preload/selection.c \
	%D%/preload/selection.h \
	%D%/preload/signals.c \
	%D%/preload/signals.h \
	%D%/preload/thread_times.c \
	%D%/preload/thread_times.h \
	%D%/preload/vfork.c \
	%D%/preload/vfork.h \
	%D%/preload/wait_calls.h \
	%D%/preload/wait_io.c \
	%D%/preload/wait_locks.c \
	%D%/preload/wait_others.c \
	%D%/preload/wait_threads.c \
	%D%/preload/waits.c \
	%D%/preload/waits.h \
	%D%/preload/xray.c \
	%D%/preload/xray.h \
	$(ptrc_library_sources) \
	$(ptrc_shared_sources) \
	$(ptrc_headers) \
	%D%/keeper/keeper_image.S
%C%_posixtrace_preload_so_CFLAGS = -std=gnu11 $(WARN_CFLAGS) $(LIB_CFLAGS) -fPIC
# Objects of its own.
%C%_posixtrace_preload_so_CCASFLAGS = $(AM_CCASFLAGS)
%C%_posixtrace_preload_so_LINK = $(CC) $(CFLAGS) -shared -fPIC $(LDFLAGS) $(HARDEN_LDFLAGS) \
	-Wl,-z,nodelete -Wl,-soname,posixtrace-preload.so \
	-Wl,--version-script=$(srcdir)/%D%/preload/preload.map -o $@
%C%_posixtrace_preload_so_LDADD = %D%/preload/libtext.a
%C%_posixtrace_preload_so_DEPENDENCIES = %D%/preload/libtext.a %D%/preload/preload.map

# What it has in place of functions of the C library. A compiler must not take their loops for calls of
# the same functions.
noinst_LIBRARIES = %D%/preload/libtext.a
%C%_preload_libtext_a_SOURCES = %D%/base/freestanding.c %D%/base/text.c
%C%_preload_libtext_a_CPPFLAGS = -U_FORTIFY_SOURCE
%C%_preload_libtext_a_CFLAGS = -std=gnu11 $(WARN_CFLAGS) -fPIC $(TEXT_CFLAGS)
EXTRA_DIST += %D%/preload/preload.map

# The keeper: static, freestanding, never instrumented, at a fixed address. `make
# PTRC_KEEPER_STRIP= lib/keeper/program' leaves its symbols in, for a debugger.
ptrc_keeper_program_sources = $(ptrc_keeper_sources) $(ptrc_shared_sources)
PTRC_KEEPER_STRIP = -Wl,-s
EXTRA_DIST += $(ptrc_keeper_sources)
CLEANFILES += %D%/keeper/program

%D%/keeper/program: $(ptrc_keeper_program_sources) $(ptrc_headers) $(include_HEADERS) Makefile
	@$(MKDIR_P) %D%/keeper
	$(AM_V_GEN)set --; \
	for f in $(ptrc_keeper_program_sources); do set -- "$$@" "$(srcdir)/$$f"; done; \
	$(CC) $(DEFS) $(DEFAULT_INCLUDES) $(INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) \
		-U_FORTIFY_SOURCE -DPTRC_FREESTANDING \
		-include $(srcdir)/%D%/base/freestanding.h \
		-std=gnu11 $(WARN_CFLAGS) $(CFLAGS) -O2 $(KEEPER_CFLAGS) \
		-static -nostdlib -Wl,--gc-sections -Wl,--build-id=none \
		-Wl,-z,noexecstack -Wl,-z,separate-code $(PTRC_KEEPER_STRIP) \
		-o $@ "$$@" -lgcc

%D%/keeper/keeper_image.lo %D%/keeper/posixtrace_preload_so-keeper_image.o: %D%/keeper/program
