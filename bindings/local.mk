# SPDX-License-Identifier: MIT
# The module for Python. Below the directory of modules it has a folder of its own; what is compiled of it
# is made by who imports it.
pythonmoduledir = $(pythondir)/posixtrace
ptrc_python_module = %D%/python/posixtrace/__init__.py %D%/python/posixtrace/_columns.py %D%/python/posixtrace/py.typed
if HAVE_PYTHONDIR
dist_pythonmodule_DATA += $(ptrc_python_module)
else
EXTRA_DIST += $(ptrc_python_module)
endif
