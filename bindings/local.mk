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
