# SPDX-License-Identifier: MIT
# The module for Python. Below the directory of modules it has a folder of its own; what is compiled of it
# is made by who imports it.
pythonmoduledir = $(pythondir)/posixtrace
ptrc_python_module = %D%/python/posixtrace/__init__.py %D%/python/posixtrace/py.typed
if HAVE_PYTHONDIR
dist_pythonmodule_DATA += $(ptrc_python_module)
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
