/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "bindings/python/posixtrace/pack.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/common.h"

/* ---- errors ---- */

/* Raises an exception whose text begins with the names of the event type and the field. Returns
 * false. */
static bool refuse(const struct ptrc_python_layout *l, const struct ptrc_layout_field *f,
		   PyObject *type, const char *format, ...)
{
	PyObject *reason;
	va_list values;

	PyErr_Clear();
	va_start(values, format);
	reason = PyUnicode_FromFormatV(format, values);
	va_end(values);
	if (reason)
		PyErr_Format(type, "event %R, field '%s': %U", l->event,
			     *f->name ? f->name : "json", reason);
	Py_XDECREF(reason);
	return false;
}

/* Raises TypeError: `expected`, not the type of the value. Returns false. */
static bool refuse_type(const struct ptrc_python_layout *l, const struct ptrc_layout_field *f,
			const char *expected, PyObject *value)
{
	PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(value), "__name__");

	if (name)
		refuse(l, f, PyExc_TypeError, "%s, not %S", expected, name);
	Py_XDECREF(name);
	return false;
}

/* A value as messages show it: its representation, cut, or its type if it has none, as an integer of very many
 * digits. */
static PyObject *shown(PyObject *value)
{
	PyObject *text = PyUnicode_FromFormat("%.80R", value), *name;

	if (text)
		return text;
	PyErr_Clear();
	name = PyObject_GetAttrString((PyObject *)Py_TYPE(value), "__name__");
	text = name ? PyUnicode_FromFormat("a value of type %S", name) : NULL;
	Py_XDECREF(name);
	return text;
}

/* Raises an exception that says that the value does not fit the type of the field. Returns false. */
static bool refuse_number(const struct ptrc_python_layout *l, const struct ptrc_layout_field *f,
			  PyObject *type, PyObject *value)
{
	static const char letters[] = {
		[PTRC_LAYOUT_UNSIGNED] = 'u', [PTRC_LAYOUT_SIGNED] = 'i',
		[PTRC_LAYOUT_HEX] = 'x',      [PTRC_LAYOUT_FLOAT] = 'f',
		[PTRC_LAYOUT_CODE] = 'x',     [PTRC_LAYOUT_CALLER] = 'x',
	};
	PyObject *text;

	PyErr_Clear();
	text = shown(value);
	if (text && f->bits)
		refuse(l, f, type, "%U does not fit %d bits", text, (int)f->bits);
	else if (text)
		refuse(l, f, type, "%U is no %c%d", text, letters[f->kind], 8 * f->item_size);
	Py_XDECREF(text);
	return false;
}

/* ---- texts and bytes ---- */

bool ptrc_python_text(PyObject *value, struct ptrc_python_text *text)
{
	Py_ssize_t size = 0;
	char *bytes;

	text->owner = NULL;
	if (PyUnicode_Check(value)) {
		text->bytes = PyUnicode_AsUTF8AndSize(value, &size);
		text->size = (size_t)size;
		if (text->bytes)
			return true;
		if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
			return false;
		PyErr_Clear();
		value = text->owner = PyUnicode_AsEncodedString(value, "utf-8", "posixtrace");
		if (!value)
			return false;
	}
	if (PyBytes_AsStringAndSize(value, &bytes, &size)) {
		Py_CLEAR(text->owner);
		return false;
	}
	text->bytes = bytes;
	text->size = (size_t)size;
	return true;
}

/* The bytes of any object that has a buffer. False: an exception is set. */
static bool take_buffer(PyObject *value, struct ptrc_python_text *text)
{
	PyObject *view;

	if (PyBytes_Check(value))
		return ptrc_python_text(value, text);
	view = PyMemoryView_FromObject(value);
	if (!view)
		return false;
	value = PyObject_Bytes(view);
	Py_DECREF(view);
	if (!value)
		return false;
	if (!ptrc_python_text(value, text)) {
		Py_DECREF(value);
		return false;
	}
	text->owner = value;
	return true;
}

/* The text of JSON. bytes are taken for such a text. */
static bool take_json(const struct ptrc_python_layout *l, const struct ptrc_layout_field *f,
		      PyObject *value, struct ptrc_python_text *text)
{
	PyObject *made, *type, *problem, *traceback, *kind;

	if (PyBytes_Check(value))
		return ptrc_python_text(value, text);
	made = ptrc_python_call("_json", value, NULL);
	if (made && ptrc_python_text(made, text)) {
		/* A text with an owner of its own is not a part of what the hook returned. */
		if (text->owner)
			Py_DECREF(made);
		else
			text->owner = made;
		/* The members of a json without a name are fields. */
		if (*f->name || text->bytes[0] == '{')
			return true;
		Py_CLEAR(text->owner);
		return refuse_type(l, f, "a dict", value);
	}
	Py_XDECREF(made);
	kind = PyErr_ExceptionMatches(PyExc_TypeError) ? PyExc_TypeError : PyExc_ValueError;
	if (!PyErr_ExceptionMatches(kind))
		return false;
	PyErr_Fetch(&type, &problem, &traceback);
	PyErr_NormalizeException(&type, &problem, &traceback);
	refuse(l, f, kind, "%S", problem);
	Py_XDECREF(type);
	Py_XDECREF(problem);
	Py_XDECREF(traceback);
	return false;
}

/* Takes the value of a field that is text or bytes. */
static bool take_text(const struct ptrc_python_layout *l, const struct ptrc_layout_field *f,
		      PyObject *value, struct ptrc_python_text *text)
{
	if (f->kind == PTRC_LAYOUT_JSON)
		return take_json(l, f, value, text);
	if (f->kind == PTRC_LAYOUT_BYTES) {
		if (!take_buffer(value, text))
			return PyErr_ExceptionMatches(PyExc_TypeError) &&
			       refuse_type(l, f, "bytes", value);
		if (!f->size || text->size == f->size)
			return true;
		refuse(l, f, PyExc_ValueError, "%zu bytes, not %zu", f->size, text->size);
		Py_XDECREF(text->owner);
		return false;
	}
	if (!PyUnicode_Check(value) && !PyBytes_Check(value))
		return refuse_type(l, f, "a text", value);
	return ptrc_python_text(value, text);
}

/* ---- numbers ---- */

/* Finds the value of an enum's member by its name. */
static bool take_member(const struct ptrc_python_layout *l, const struct ptrc_layout_field *f,
			PyObject *name, uint64_t *u)
{
	PyObject *known = NULL, *text;

	for (uint32_t i = 0; i < f->member_count; i++) {
		if (!PyUnicode_CompareWithASCIIString(name, f->members[i].name)) {
			*u = f->members[i].value;
			return true;
		}
	}
	for (uint32_t i = 0; i < f->member_count; i++) {
		PyObject *longer = PyUnicode_FromFormat("%V%s%s", known, "", known ? ", " : "",
							f->members[i].name);

		Py_XDECREF(known);
		known = longer;
		if (!known)
			return false;
	}
	text = shown(name);
	if (text)
		refuse(l, f, PyExc_ValueError, "%U is none of %U", text, known);
	Py_XDECREF(text);
	Py_DECREF(known);
	return false;
}

static bool take_integer(const struct ptrc_python_layout *l, const struct ptrc_layout_field *f,
			 PyObject *value, uint64_t *u)
{
	unsigned bits = f->bits ? f->bits : 8U * f->item_size;
	PyObject *number;
	bool is_within;
	int64_t i;

	if (f->member_count && PyUnicode_Check(value))
		return take_member(l, f, value, u);
	number = PyNumber_Index(value);
	if (!number)
		return PyErr_ExceptionMatches(PyExc_TypeError) &&
		       refuse_number(l, f, PyExc_TypeError, value);
	if (f->kind == PTRC_LAYOUT_SIGNED) {
		i = PyLong_AsLongLong(number);
		is_within = i >> (bits - 1) == 0 || i >> (bits - 1) == -1;
		*u = (uint64_t)i;
	} else {
		*u = PyLong_AsUnsignedLongLong(number);
		is_within = bits == 64 || *u >> bits == 0;
	}
	Py_DECREF(number);
	if (is_within && (*u != UINT64_MAX || !PyErr_Occurred()))
		return true;
	return refuse_number(l, f, PyExc_ValueError, value);
}

/* The bits of a floating-point number. */
static bool take_float(const struct ptrc_python_layout *l, const struct ptrc_layout_field *f,
		       PyObject *value, uint64_t *u)
{
	double d = PyFloat_AsDouble(value);
	float single = (float)d;
	uint32_t half;

	if (d == -1 && PyErr_Occurred()) {
		if (PyErr_ExceptionMatches(PyExc_TypeError))
			return refuse_number(l, f, PyExc_TypeError, value);
		return PyErr_ExceptionMatches(PyExc_OverflowError) &&
		       refuse_number(l, f, PyExc_ValueError, value);
	}
	if (f->item_size == sizeof(d)) {
		memcpy(u, &d, sizeof(d));
		return true;
	}
	if (isinf(single) && !isinf(d))
		return refuse_number(l, f, PyExc_ValueError, value);
	memcpy(&half, &single, sizeof(half));
	*u = half;
	return true;
}

/* Converts a number into the bits that the data has of it; the highest ones are meaningless. */
static bool take_number(const struct ptrc_python_layout *l, const struct ptrc_layout_field *f,
			PyObject *value, uint64_t *u)
{
	int is_true;

	if (f->kind == PTRC_LAYOUT_FLOAT)
		return take_float(l, f, value, u);
	if (f->kind != PTRC_LAYOUT_BOOL)
		return take_integer(l, f, value, u);
	is_true = PyObject_IsTrue(value);
	*u = is_true > 0;
	return is_true >= 0;
}

/* ---- packing ---- */

/* Makes the data at least this long; new bytes are 0. False: an exception is set. */
static PTRC_NOINLINE bool extend(struct ptrc_python_data *d, size_t size)
{
	size_t capacity = size < 2 * d->capacity ? 2 * d->capacity : size;
	char *larger;

	if (size > d->capacity) {
		larger = PyMem_Malloc(capacity);
		if (!larger) {
			PyErr_NoMemory();
			return false;
		}
		memcpy(larger, d->bytes, d->size);
		if (d->bytes != d->room)
			PyMem_Free(d->bytes);
		d->bytes = larger;
		d->capacity = capacity;
	}
	memset(d->bytes + d->size, 0, size - d->size);
	d->size = size;
	return true;
}

static inline bool reach(struct ptrc_python_data *d, size_t size)
{
	return PTRC_LIKELY(size <= d->size) || extend(d, size);
}

/* The place of a field in the data: its first byte, and its first bit in that byte. */
struct place {
	size_t at;
	unsigned char bit_at;
};

/* Sets a bit field, whose bits are all 0. */
static void put_bits(char *to, unsigned bit_at, unsigned bits, uint64_t u)
{
	for (unsigned i = 0; i < bits; i++)
		if (u >> i & 1)
			to[(bit_at + i) / 8] |= (char)(1U << (bit_at + i) % 8);
}

static bool put_number(const struct ptrc_python_layout *l, const struct ptrc_layout_field *f,
		       PyObject *value, const struct place *p, struct ptrc_python_data *d)
{
	uint64_t u;

	if (!take_number(l, f, value, &u))
		return false;
	if (PTRC_UNLIKELY(f->bits)) {
		if (!reach(d, p->at + (p->bit_at + f->bits + 7U) / 8))
			return false;
		put_bits(d->bytes + p->at, p->bit_at, f->bits, u);
		return true;
	}
	if (!reach(d, p->at + f->item_size))
		return false;
	memcpy(d->bytes + p->at, &u, f->item_size);
	return true;
}

static bool put_array(const struct ptrc_python_layout *l, const struct ptrc_layout_field *f,
		      PyObject *value, const struct place *p, struct ptrc_python_data *d)
{
	PyObject *list = PySequence_List(value);
	struct place item = *p;
	Py_ssize_t count;
	bool is_put;

	if (!list)
		return PyErr_ExceptionMatches(PyExc_TypeError) &&
		       refuse_type(l, f, "a sequence", value);
	count = PyList_Size(list);
	/* Without values the data ends where they would begin. */
	is_put = reach(d, p->at);
	if (is_put && f->count != PTRC_LAYOUT_COUNT_OPEN && count != (Py_ssize_t)f->count)
		is_put = refuse(l, f, PyExc_ValueError, "%u values, not %zd", f->count, count);
	for (Py_ssize_t i = 0; is_put && i < PyList_Size(list); i++) {
		PyObject *one = PyList_GetItem(list, i);

		Py_XINCREF(one);
		is_put = one && put_number(l, f, one, &item, d);
		Py_XDECREF(one);
		item.at += f->item_size;
	}
	Py_DECREF(list);
	return is_put;
}

/* Puts a text or bytes. A text ends at its first null byte. */
static bool put_text(const struct ptrc_python_layout *l, const struct ptrc_layout_field *f,
		     bool is_last, PyObject *value, const struct place *p,
		     struct ptrc_python_data *d)
{
	struct ptrc_python_text text;
	size_t size;
	bool is_put;

	if (!take_text(l, f, value, &text))
		return false;
	size = text.size;
	if (f->size)
		size = size < f->size ? size : f->size;
	else if (f->kind == PTRC_LAYOUT_STRING)
		size = strnlen(text.bytes, size);
	is_put = reach(d, p->at + (f->size ? f->size : size + !is_last));
	if (is_put && size)
		memcpy(d->bytes + p->at, text.bytes, size);
	Py_XDECREF(text.owner);
	return is_put;
}

static bool put_field(const struct ptrc_python_layout *l, const struct ptrc_layout_field *f,
		      bool is_last, PyObject *value, const struct place *p,
		      struct ptrc_python_data *d)
{
	switch (f->kind) {
	case PTRC_LAYOUT_CHARS:
	case PTRC_LAYOUT_STRING:
	case PTRC_LAYOUT_BYTES:
	case PTRC_LAYOUT_JSON:
		return put_text(l, f, is_last, value, p, d);
	default:
		return f->count ? put_array(l, f, value, p, d) : put_number(l, f, value, p, d);
	}
}

/* Packs the values of a type with a layout. */
static bool pack_fields(const struct ptrc_python_layout *l, PyObject *const *values,
			struct ptrc_python_data *d)
{
	const struct ptrc_layout_fields *all = l->fields;
	/* For the fields after a text, whose places the layout does not give. */
	struct ptrc_layout_walk walk = {0};

	if (!reach(d, l->least_bytes))
		return false;
	for (size_t i = 0; i < all->count; i++) {
		const struct ptrc_layout_field *f = &all->fields[i];
		struct place p = {f->at, f->bit_at};

		if (!f->is_placed) {
			/* Without data the iterator finds the place of the field, and goes no
			 * further. */
			walk.number = i;
			ptrc_layout_next(all, "", 0, &walk);
			p = (struct place){walk.at, walk.bit_at};
		}
		if (f->kind == PTRC_LAYOUT_PADDING) {
			if (!reach(d, p.at + f->size))
				return false;
		} else if (!put_field(l, f, i + 1 == all->count, *values++, &p, d)) {
			return false;
		}
		if (f->kind == PTRC_LAYOUT_STRING)
			walk.bits = 8 * (uint64_t)d->size;
	}
	return true;
}

/* Packs the data of a type without a layout. */
static bool pack_plainly(const struct ptrc_python_layout *l, PyObject *value,
			 struct ptrc_python_data *d)
{
	static const struct ptrc_layout_field field = {.name = "data"};
	struct ptrc_python_text text;
	bool is_put;

	if (!(PyUnicode_Check(value) ? ptrc_python_text(value, &text) : take_buffer(value, &text)))
		return PyErr_ExceptionMatches(PyExc_TypeError) &&
		       refuse_type(l, &field, "bytes or a text", value);
	is_put = reach(d, text.size);
	if (is_put && text.size)
		memcpy(d->bytes, text.bytes, text.size);
	Py_XDECREF(text.owner);
	return is_put;
}

bool ptrc_python_pack(const struct ptrc_python_layout *l, PyObject *const *values,
		      struct ptrc_python_data *d)
{
	return l->fields ? pack_fields(l, values, d) : !*values || pack_plainly(l, *values, d);
}

/* ---- layouts ---- */

/* Raises ValueError for an error in a layout. Returns false. */
static bool refuse_layout(const struct ptrc_layout_mistake *m)
{
	PyObject *reason =
		PyUnicode_DecodeUTF8(m->reason, (Py_ssize_t)strlen(m->reason), "replace");

	for (size_t i = 0; reason && m->words && m->words[i]; i++) {
		PyObject *longer = PyUnicode_FromFormat("%U%s%s", reason, i ? " " : "; known are ",
							m->words[i]);

		Py_DECREF(reason);
		reason = longer;
	}
	if (reason)
		PyErr_Format(PyExc_ValueError, "column %zu: %U", m->column, reason);
	Py_XDECREF(reason);
	return false;
}

bool ptrc_python_parse(struct ptrc_python_layout *l, const char *text, size_t size)
{
	struct ptrc_layout_mistake mistake;
	int error = ptrc_layout_parse(text, size, &l->fields, &mistake);

	if (error == EINVAL)
		return refuse_layout(&mistake);
	if (error) {
		PyErr_NoMemory();
		return false;
	}
	l->least_bytes = l->fields->size;
	for (size_t i = 0; !l->fields->is_fixed && i < l->fields->count; i++) {
		if (!l->fields->fields[i].size && !l->fields->fields[i].bits) {
			l->least_bytes = l->fields->fields[i].at;
			break;
		}
	}
	return true;
}
