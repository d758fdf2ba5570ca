# SPDX-License-Identifier: MIT
# The module for Python. Below the directory of modules it has a folder of its own; what is compiled of its
# files in Python is made by who imports it. libtool would give its extension a file .la, so automake is told
# to take it for a program.
pythonmoduledir = $(pythondir)/posixtrace
pythonmoduleexecdir = $(pythonmoduledir)
ptrc_python_module = \
	%D%/python/posixtrace/__init__.py \
	%D%/python/posixtrace/__main__.py \
	%D%/python/posixtrace/_columns.py \
	%D%/python/posixtrace/_record.pyi \
	%D%/python/posixtrace/py.typed
if HAVE_PYTHON
dist_pythonmodule_DATA += $(ptrc_python_module)
pythonmoduleexec_PROGRAMS += %D%/python/posixtrace/_record.abi3.so
else
EXTRA_DIST += $(ptrc_python_module)
endif

# The crates for Rust, which a program names by their path.
bindingsdir = $(pkgdatadir)
nobase_dist_bindings_DATA = \
	%D%/rust/Cargo.toml \
	%D%/rust/README.md \
	%D%/rust/posixtrace-sys/Cargo.toml \
	%D%/rust/posixtrace-sys/build.rs \
	%D%/rust/posixtrace-sys/src/lib.rs \
	%D%/rust/posixtrace/Cargo.toml \
	%D%/rust/posixtrace/src/buffer.rs \
	%D%/rust/posixtrace/src/event.rs \
	%D%/rust/posixtrace/src/field.rs \
	%D%/rust/posixtrace/src/lib.rs \
	%D%/rust/posixtrace/src/span.rs \
	%D%/rust/tracing-posixtrace/Cargo.toml \
	%D%/rust/tracing-posixtrace/src/data.rs \
	%D%/rust/tracing-posixtrace/src/lib.rs \
	%D%/rust/tracing-posixtrace/src/types.rs

# The package for Node. The build directory has all of it in one folder, where tests use it. The source
# directory has no such folder, so it may be the build directory, too. The addon is a shared library with a
# name that libtool does not give, so automake is told to take it for a program.
ptrc_node_files = README.md index.d.ts index.js spans.js subscribe.d.ts subscribe.js
EXTRA_DIST += $(ptrc_node_files:%=%D%/node/%) %D%/node/package.json.in %D%/node/posixtrace.c
if HAVE_NODE
nodepackagedir = $(nodedir)/posixtrace
nodepackage_PROGRAMS = %D%/node/posixtrace/posixtrace.node
nodepackage_DATA = $(ptrc_node_files:%=%D%/node/posixtrace/%) %D%/node/posixtrace/package.json
CLEANFILES += $(ptrc_node_files:%=%D%/node/posixtrace/%)
%C%_node_posixtrace_posixtrace_node_SOURCES = %D%/node/posixtrace.c lib/model/layout.c
%C%_node_posixtrace_posixtrace_node_CPPFLAGS = $(AM_CPPFLAGS) $(NODE_CPPFLAGS)
%C%_node_posixtrace_posixtrace_node_CFLAGS = $(AM_CFLAGS) -fPIC -fvisibility=hidden
%C%_node_posixtrace_posixtrace_node_LDADD = lib/.libs/libposixtrace.so
%C%_node_posixtrace_posixtrace_node_DEPENDENCIES = lib/libposixtrace.la
# nodelete: the counter of keys goes on if the last worker thread that used the addon has ended.
%C%_node_posixtrace_posixtrace_node_LINK = $(CC) $(CFLAGS) -shared -fPIC $(LDFLAGS) $(HARDEN_LDFLAGS) \
	$(NODE_LDFLAGS) -Wl,-z,nodelete -Wl,-soname,posixtrace.node -o $@

$(ptrc_node_files:%=%D%/node/posixtrace/%): %D%/node/posixtrace/%: %D%/node/%
	@$(MKDIR_P) %D%/node/posixtrace
	$(AM_V_GEN)cp -f $< $@
endif

%C%_python_posixtrace__record_abi3_so_SOURCES = \
	%D%/python/posixtrace/_record.c \
	%D%/python/posixtrace/_record.h \
	%D%/python/posixtrace/functions.c \
	%D%/python/posixtrace/pack.c \
	%D%/python/posixtrace/pack.h \
	lib/model/glob.c \
	lib/model/layout.c
%C%_python_posixtrace__record_abi3_so_CFLAGS = -std=gnu11 $(WARN_CFLAGS) $(HARDEN_CFLAGS) $(LIB_CFLAGS) -fPIC \
	$(PYTHON_CFLAGS)
%C%_python_posixtrace__record_abi3_so_LINK = $(CC) $(CFLAGS) -shared -fPIC $(LDFLAGS) $(HARDEN_LDFLAGS) \
	$(PYTHON_LDFLAGS) -o $@
%C%_python_posixtrace__record_abi3_so_LDADD = lib/.libs/libposixtrace.so
%C%_python_posixtrace__record_abi3_so_DEPENDENCIES = lib/libposixtrace.la

# In the build tree the module can be imported, too: beside the extension are links to the other files.
if HAVE_PYTHON
noinst_DATA += %D%/python/importable
endif
CLEANFILES += %D%/python/importable
%D%/python/importable: %D%/python/posixtrace/_record.abi3.so $(ptrc_python_module) Makefile
	$(AM_V_GEN)for f in $(ptrc_python_module); do \
		test -e $$f || $(LN_S) $(abs_top_srcdir)/$$f $$f || exit; \
	done; \
	touch $@
