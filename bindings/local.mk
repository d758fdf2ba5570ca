# SPDX-License-Identifier: MIT
# The module for Python. Below the directory of modules it has a folder of its own; what is compiled of its
# files in Python is made by who imports it. libtool would give its extension a file .la, so automake is told
# to take it for a program.
pythonmoduledir = $(pythondir)/posixtrace
pythonmoduleexecdir = $(pythonmoduledir)
ptrc_python_module = \
	%D%/python/posixtrace/__init__.py \
	%D%/python/posixtrace/__main__.py \
	%D%/python/posixtrace/_record.pyi \
	%D%/python/posixtrace/py.typed
if HAVE_PYTHON
dist_pythonmodule_DATA += $(ptrc_python_module)
pythonmoduleexec_PROGRAMS += %D%/python/posixtrace/_record.abi3.so
else
EXTRA_DIST += $(ptrc_python_module)
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
clean-local:
	for f in $(ptrc_python_module); do test ! -L $$f || rm $$f; done
