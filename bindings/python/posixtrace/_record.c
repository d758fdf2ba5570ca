/* SPDX-License-Identifier: MIT */
/*
 * The extension posixtrace._record: objects that record events of one type when they are called, and
 * the hooks that record functions of Python (functions.c).
 *
 * An object knows the fields of its type's layout, as the library's parser of layouts found them. If
 * the process is traced, a call converts its arguments straight into the bytes of the event. If not,
 * it looks at one word and returns.
 *
 * The interpreter's lock is held while an event is recorded: to give it up and take it again would
 * take longer than the event. So if an event waits for space in a full stream, all threads of the
 * interpreter wait.
 */
#include "config.h"

#include "bindings/python/posixtrace/_record.h"

#include <errno.h>
#include <posixtrace.h>
#include <string.h>
#include <structmember.h>

#include "bindings/python/posixtrace/pack.h"
#include "lib/base/common.h"

/* The limited API has vectorcall from version 3.12 on, with these names and values. The interpreter
 * has treated a type that has both, the flag and the member, in the same way since 3.9. */
#ifndef Py_TPFLAGS_HAVE_VECTORCALL
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
typedef PyObject *(*vectorcallfunc)(PyObject *, PyObject *const *, size_t, PyObject *);
#endif
#if PY_VERSION_HEX < 0x030c0000
PyAPI_FUNC(PyObject *) PyVectorcall_Call(PyObject *, PyObject *, PyObject *);
#endif
/* The bit in the number of arguments that says that the caller lends the place before them. */
#define ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))

PyObject *ptrc_python_call(const char *function, PyObject *first, PyObject *second)
{
	/* The reference is that of sys.modules. */
	PyObject *module = PyImport_AddModule("posixtrace"), *result = NULL;
	PyObject *called = module ? PyObject_GetAttrString(module, function) : NULL;

	if (called)
		result = PyObject_CallFunctionObjArgs(called, first, second, NULL);
	Py_XDECREF(called);
	return result;
}

struct event {
	PyObject base;
	vectorcallfunc call;
	struct ptrc_python_layout layout;
	/* The layout as a str. */
	PyObject *text;
	/* The names of the arguments, interned: one for each field but padding. */
	PyObject **parameters;
	size_t parameter_count;
	trace_event_id_t id;
};

static bool record(const struct event *e, PyObject *const *values)
{
	struct ptrc_python_data d;
	bool is_packed;

	ptrc_python_data_begin(&d);
	is_packed = ptrc_python_pack(&e->layout, values, &d);
	if (is_packed)
		posix_trace_event(e->id, d.bytes, d.size);
	ptrc_python_data_free(&d);
	return is_packed;
}

/* ---- calls ---- */

/* The number of the argument with this name; parameter_count: there is none. */
static size_t find_parameter(const struct event *e, PyObject *name)
{
	size_t i = 0;

	while (i < e->parameter_count && e->parameters[i] != name)
		i++;
	if (i < e->parameter_count)
		return i;
	for (i = 0; i < e->parameter_count; i++)
		if (!PyUnicode_Compare(e->parameters[i], name))
			break;
	return i;
}

/* Puts arguments by position and by name into the order of the fields. False: an exception is
 * set. */
static bool sort_arguments(const struct event *e, PyObject *const *given, size_t count,
			   PyObject *names, PyObject **values)
{
	size_t name_count = names ? (size_t)PyTuple_Size(names) : 0;

	if (count > e->parameter_count) {
		PyErr_Format(PyExc_TypeError, "event %R: %zu values at most, not %zu",
			     e->layout.event, e->parameter_count, count);
		return false;
	}
	for (size_t i = 0; i < e->parameter_count; i++)
		values[i] = i < count ? given[i] : NULL;
	for (size_t i = 0; i < name_count; i++) {
		PyObject *name = PyTuple_GetItem(names, (Py_ssize_t)i);
		size_t which = find_parameter(e, name);

		if (which == e->parameter_count || values[which]) {
			PyErr_Format(PyExc_TypeError,
				     which == e->parameter_count
					     ? "event %R: it has no field %R"
					     : "event %R: two values for the field %R",
				     e->layout.event, name);
			return false;
		}
		values[which] = given[count + i];
	}
	for (size_t i = 0; e->layout.fields && i < e->parameter_count; i++) {
		if (!values[i]) {
			PyErr_Format(PyExc_TypeError, "event %R: no value for the field %R",
				     e->layout.event, e->parameters[i]);
			return false;
		}
	}
	return true;
}

static PTRC_NOINLINE bool record_sorted(const struct event *e, PyObject *const *given, size_t count,
					PyObject *names)
{
	PyObject *values[PTRC_LAYOUT_FIELDS_MAX];

	return sort_arguments(e, given, count, names, values) && record(e, values);
}

static PyObject *event_call(PyObject *self, PyObject *const *given, size_t flagged_count,
			    PyObject *names)
{
	const struct event *e = (const struct event *)self;
	size_t count = flagged_count & ~ARGUMENTS_OFFSET;
	bool is_recorded;

	if (PTRC_LIKELY(!posixtrace_is_traced()))
		Py_RETURN_NONE;
	if (PTRC_LIKELY(!names && count == e->parameter_count))
		is_recorded = record(e, given);
	else
		is_recorded = record_sorted(e, given, count, names);
	if (!is_recorded)
		return NULL;
	Py_RETURN_NONE;
}

/* ---- the type ---- */

/* The name of a field as the name of an argument: class_ for class. */
static PyObject *parameter_of(PyObject *keyword, const char *name)
{
	PyObject *is_reserved = PyObject_CallMethod(keyword, "iskeyword", "s", name);
	PyObject *parameter = NULL;

	if (is_reserved)
		parameter = PyUnicode_FromFormat(is_reserved == Py_True ? "%s_" : "%s",
						 *name ? name : "json");
	Py_XDECREF(is_reserved);
	if (parameter)
		PyUnicode_InternInPlace(&parameter);
	return parameter;
}

static bool name_parameters(struct event *e)
{
	PyObject *keyword = PyImport_ImportModule("keyword");
	size_t most = e->layout.fields ? e->layout.fields->count : 1;

	e->parameters = keyword ? PyMem_Calloc(most, sizeof(*e->parameters)) : NULL;
	if (keyword && !e->parameters)
		PyErr_NoMemory();
	for (size_t i = 0; e->parameters && i < most; i++) {
		if (e->layout.fields && e->layout.fields->fields[i].kind == PTRC_LAYOUT_PADDING)
			continue;
		e->parameters[e->parameter_count] = parameter_of(
			keyword, e->layout.fields ? e->layout.fields->fields[i].name : "data");
		if (!e->parameters[e->parameter_count])
			break;
		e->parameter_count++;
	}
	Py_XDECREF(keyword);
	return !PyErr_Occurred();
}

/* Event(name, layout, name as bytes, layout as bytes or None) */
static PyObject *event_new(PyTypeObject *type, PyObject *given, PyObject *names)
{
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	PyObject *name, *layout, *raw_layout;
	const char *raw_name;
	char *bytes = NULL;
	Py_ssize_t size = 0;
	struct event *e;
	int error;

	if (names && PyDict_Size(names)) {
		PyErr_SetString(PyExc_TypeError, "posixtrace.event() makes events");
		return NULL;
	}
	if (!PyArg_ParseTuple(given, "UUyO", &name, &layout, &raw_name, &raw_layout) ||
	    (raw_layout != Py_None && PyBytes_AsStringAndSize(raw_layout, &bytes, &size)))
		return NULL;
	e = (struct event *)allocate(type, 0);
	if (!e)
		return NULL;
	e->call = event_call;
	e->layout.event = Py_NewRef(name);
	e->text = Py_NewRef(layout);
	if ((bytes && !ptrc_python_parse(&e->layout, bytes, (size_t)size)) || !name_parameters(e)) {
		Py_DECREF(e);
		return NULL;
	}
	error = bytes ? posixtrace_eventid_open_layout(raw_name, bytes, &e->id)
		      : posix_trace_eventid_open(raw_name, &e->id);
	if (error) {
		errno = error;
		PyErr_SetFromErrno(PyExc_OSError);
		Py_DECREF(e);
		return NULL;
	}
	return (PyObject *)e;
}

static void event_dealloc(PyObject *self)
{
	struct event *e = (struct event *)self;
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	for (size_t i = 0; i < e->parameter_count; i++)
		Py_DECREF(e->parameters[i]);
	PyMem_Free(e->parameters);
	if (e->layout.fields)
		ptrc_layout_fields_free(e->layout.fields);
	Py_XDECREF(e->layout.event);
	Py_XDECREF(e->text);
	release(self);
	Py_DECREF(type);
}

static PyObject *event_repr(PyObject *self)
{
	struct event *e = (struct event *)self;

	return PyUnicode_FromFormat("posixtrace.event(%R, %R)", e->layout.event, e->text);
}

/* For inspect.signature(). */
static PyObject *event_signature(PyObject *self, void *unused)
{
	struct event *e = (struct event *)self;
	PyObject *names = PyTuple_New((Py_ssize_t)e->parameter_count), *signature;

	(void)unused;
	if (!names)
		return NULL;
	for (size_t i = 0; i < e->parameter_count; i++)
		PyTuple_SetItem(names, (Py_ssize_t)i, Py_NewRef(e->parameters[i]));
	signature = ptrc_python_call("_signature", names, e->layout.fields ? Py_True : Py_False);
	Py_DECREF(names);
	return signature;
}

static PyMemberDef event_members[] = {
	{"name", T_OBJECT, offsetof(struct event, layout.event), READONLY, NULL},
	{"layout", T_OBJECT, offsetof(struct event, text), READONLY, NULL},
	{"id", T_UINT, offsetof(struct event, id), READONLY, NULL},
	{"__vectorcalloffset__", T_PYSSIZET, offsetof(struct event, call), READONLY, NULL},
	{0},
};

static PyGetSetDef event_getset[] = {
	{"__signature__", event_signature, NULL, NULL, NULL},
	{0},
};

static PyType_Slot event_slots[] = {
	{Py_tp_doc, (void *)"An event type of this process, made by event(). Call it to record an "
			    "event."},
	{Py_tp_new, (void *)event_new},
	{Py_tp_dealloc, (void *)event_dealloc},
	{Py_tp_repr, (void *)event_repr},
	{Py_tp_call, (void *)PyVectorcall_Call},
	{Py_tp_members, event_members},
	{Py_tp_getset, event_getset},
	{0},
};

static PyType_Spec event_spec = {
	.name = "posixtrace.Event",
	.basicsize = sizeof(struct event),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
	.slots = event_slots,
};

/* ---- the module ---- */

static PyObject *is_traced(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return PyBool_FromLong(posixtrace_is_traced());
}

static PyObject *version(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return PyUnicode_FromString(posixtrace_version());
}

static PyMethodDef methods[] = {
	{"is_traced", is_traced, METH_NOARGS,
	 "is_traced()\n--\n\nWhether a stream traces this process; if not, no event is recorded."},
	{"version", version, METH_NOARGS,
	 "version()\n--\n\nThe version of the library, such as 'posixtrace 1.0.0'."},
	{0},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "posixtrace._record",
					.m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit__record(void);
PyMODINIT_FUNC PyInit__record(void)
{
	PyObject *module = PyModule_Create(&definition);
	PyObject *type = module ? PyType_FromSpec(&event_spec) : NULL;

	if (!type || PyModule_AddObjectRef(module, "Event", type) ||
	    !ptrc_python_add_functions(module))
		Py_CLEAR(module);
	Py_XDECREF(type);
	return module;
}
