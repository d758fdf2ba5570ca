/* SPDX-License-Identifier: MIT */
/* What the files of the extension posixtrace._record share. */
#ifndef PTRC_BINDINGS_PYTHON_RECORD_H
#define PTRC_BINDINGS_PYTHON_RECORD_H

/* The lowest version whose limited API has PyUnicode_AsUTF8AndSize(), PyFrame_GetCode() and
 * METH_FASTCALL. A Python without these cannot load the extension; every later one can. */
#define Py_LIMITED_API 0x030a0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>

/* The bytes of a text (str or bytes). A text lives at least as long as both the object that it came
 * from and `owner`, which is NULL or a reference that the caller gives back. */
struct ptrc_python_text {
	const char *bytes;
	size_t size;
	PyObject *owner;
};

/* Turns a str or bytes into bytes. A str becomes UTF-8; a lone surrogate, which UTF-8 does not have,
 * becomes what the error handler "posixtrace" of __init__.py makes of it. False: an exception is set,
 * TypeError if the object is neither. */
bool ptrc_python_text(PyObject *, struct ptrc_python_text *);

/* Calls a function of __init__.py with one argument (second: NULL) or two. Finds it anew each time, because each
 * interpreter of the process has its own. */
PyObject *ptrc_python_call(const char *function, PyObject *first, PyObject *second);

/* Adds to the module what records functions. */
bool ptrc_python_add_functions(PyObject *module);

#endif
