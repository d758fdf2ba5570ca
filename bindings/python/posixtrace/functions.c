/* SPDX-License-Identifier: MIT */
/*
 * Records when functions of Python begin and end, for python3 -m posixtrace run.
 *
 * The interpreter calls a hook whenever a frame starts to run and whenever it stops: at a call and a
 * return, and, in generators and coroutines, also when they are resumed and when they yield or wait.
 * So the pairs of a thread always nest, even if the tasks of asyncio take turns in it. From Python
 * 3.12 on the hooks are those of sys.monitoring, which __main__.py registers, in earlier versions the
 * profile function of the thread.
 *
 * A function has event types of its own, function.NAME.begin and function.NAME.end. They are opened
 * when it first runs in a process that is traced. The table of functions is protected by the
 * interpreter's lock.
 */
#include "config.h"

#include "bindings/python/posixtrace/_record.h"

#include <posixtrace.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/common.h"
#include "lib/model/glob.h"

/* These are not in the limited API, but every version since 2.4 has exported them, with these values.
 * Calling sys.setprofile() instead would make a tuple and a text of each event. The extension calls
 * the function in versions before 3.12 only, so a later version may lack it. */
typedef int tracefunc(PyObject *, PyFrameObject *, int, PyObject *);
extern void PyEval_SetProfile(tracefunc *, PyObject *) __attribute__((weak));
enum { TRACE_CALL = 0, TRACE_RETURN = 3 };

enum {
	/* With a threshold, whether a function is recorded is decided after this many calls. */
	TRIAL_CALLS = 100,
	/* As each function takes two of the 8182 event types that a program and its children can
	 * have, some are left for the program's own events. */
	FUNCTIONS_MAX = 4000,
	SLOTS_FIRST = 1024,
};

struct function {
	/* The code object, to which `watch` is a weak reference. NULL: it has been freed. */
	PyObject *code, *watch;
	bool is_recorded;
	bool is_on_trial;
	trace_event_id_t begin, end;
	/* During the trial: the name, how many calls have ended and how many have not, the sum of the
	 * times of those that ended, and the value of `breaks` when these were last 0. */
	char *name;
	uint32_t ended, open, breaks;
	int64_t sum_ns;
};

/* The functions by the addresses of their code objects; the size is a power of two. */
static struct {
	struct function **slots;
	size_t size, used;
} table;

/* In place of a function whose code object was freed. */
static struct function freed;

static char **globs;
static size_t glob_count;
static int64_t threshold_ns;
/* sys.monitoring.DISABLE */
static PyObject *disable;
/* Names of functions with event types of their own; the newest such type; functions that were selected
 * but have no event types, so that they are not recorded. */
static size_t named_count, nameless_count;
static trace_event_id_t newest;

/* The module __main__ of the program has begun to run. Before that, what runs it is at work: runpy, and the
 * imports of that. */
static bool has_begun;

/* A function that is recorded as running. During its trial: the time at its start, and the value of `breaks`
 * then. */
struct call {
	struct function *function;
	int64_t begin_ns;
	uint32_t breaks;
};

/* The functions that are recorded as running in this thread, innermost last; those whose code objects
 * were freed may be among them, so that they are only compared. The destructor of the key frees the
 * list. */
static __thread struct {
	struct call *list;
	size_t count, room;
} running;
/* How often such a list was emptied because the process was no longer traced, or was forked. The ends of the calls in
 * it are not seen, so each trial starts again. */
static uint32_t breaks;
static pthread_key_t running_key;

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* ---- the table ---- */

static struct function **find_slot(const PyObject *code)
{
	size_t at = ((uintptr_t)code >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20;

	while (table.slots[at & (table.size - 1)] &&
	       table.slots[at & (table.size - 1)]->code != code)
		at++;
	return &table.slots[at & (table.size - 1)];
}

static inline struct function *find(const PyObject *code)
{
	return table.slots ? *find_slot(code) : NULL;
}

/* Makes the table anew, large enough for all functions and one more. */
static bool grow(void)
{
	struct function **old = table.slots;
	size_t old_size = table.size, kept = 0;

	for (size_t i = 0; i < old_size; i++)
		kept += old[i] && old[i] != &freed;
	table.size = SLOTS_FIRST;
	while (table.size < 4 * (kept + 1))
		table.size *= 2;
	table.slots = calloc(table.size, sizeof(*table.slots));
	if (!table.slots) {
		table.slots = old;
		table.size = old_size;
		return false;
	}
	for (size_t i = 0; i < old_size; i++)
		if (old[i] && old[i] != &freed)
			*find_slot(old[i]->code) = old[i];
	table.used = kept;
	free(old);
	return true;
}

static void free_function(struct function *f)
{
	free(f->name);
	free(f);
}

/* The callback of the weak reference: the code object is being freed, so its address may soon be that
 * of another one. */
static PyObject *forget(PyObject *capsule, PyObject *reference)
{
	struct function *f = PyCapsule_GetPointer(capsule, NULL);
	struct function **slot = f ? find_slot(f->code) : NULL;

	(void)reference;
	if (slot && *slot == f) {
		*slot = &freed;
		Py_DECREF(f->watch);
		free_function(f);
	}
	Py_RETURN_NONE;
}

static PyMethodDef forget_method = {"forget", forget, METH_O, NULL};

/* Has forget() called when the code object is freed. */
static bool watch(struct function *f, PyObject *code)
{
	PyObject *capsule = PyCapsule_New(f, NULL, NULL);
	PyObject *callback = capsule ? PyCFunction_New(&forget_method, capsule) : NULL;

	f->watch = callback ? PyWeakref_NewRef(code, callback) : NULL;
	Py_XDECREF(callback);
	Py_XDECREF(capsule);
	return f->watch != NULL;
}

/* ---- names ---- */

/* The name of the module in whose namespace the current frame runs; NULL: it has none. */
static PyObject *module_of_frame(void)
{
	PyObject *globals = PyEval_GetGlobals();
	PyObject *name = globals ? PyDict_GetItemString(globals, "__name__") : NULL;

	return name && PyUnicode_Check(name) && PyUnicode_GetLength(name) ? name : NULL;
}

/* Whether the current frame is the program's first one, if has_begun is false. */
static PTRC_COLD bool is_first(void)
{
	PyObject *name = module_of_frame();

	has_begun = name && !PyUnicode_CompareWithASCIIString(name, "__main__");
	return has_begun;
}

/* The name of the function without its module; before Python 3.11 without its class, too. */
static PyObject *name_of_code(PyObject *code)
{
	PyObject *name = PyObject_GetAttrString(code, "co_qualname");

	if (!name) {
		PyErr_Clear();
		name = PyObject_GetAttrString(code, "co_name");
	}
	return name;
}

static bool is_selected(const char *name, const char *module)
{
	/* The functions of this module would be measured by themselves; those of runpy go on after
	 * the program's end. */
	if (!strcmp(module, "posixtrace") || !strcmp(module, "runpy"))
		return false;
	for (size_t i = 0; i < glob_count; i++)
		if (ptrc_glob_matches(globs[i], name) ||
		    (*module && ptrc_glob_matches(globs[i], name + strlen(module) + 1)))
			return true;
	return false;
}

/* Opens function.NAME.begin or function.NAME.end. A name that is too long for the longer of the two is
 * cut, and ends with three points. */
static bool open_type(const char *name, const char *suffix, trace_event_id_t *id)
{
	size_t most = TRACE_EVENT_NAME_MAX - strlen("function..begin");
	char text[TRACE_EVENT_NAME_MAX + 1];
	size_t size = strlen(name);
	bool is_cut = size > most;

	if (is_cut) {
		size = most - strlen("...");
		/* No character of UTF-8 is cut in two. */
		while (size && ((unsigned char)name[size] & 0xc0) == 0x80)
			size--;
	}
	snprintf(text, sizeof(text), "function.%.*s%s%s", (int)size, name, is_cut ? "..." : "",
		 suffix);
	return !posix_trace_eventid_open(text, id) && *id != POSIX_TRACE_UNNAMED_USEREVENT;
}

/* Decides whether the function is recorded. */
static void choose(struct function *f, const char *name, const char *module)
{
	if (!is_selected(name, module))
		return;
	if (named_count == FUNCTIONS_MAX || !open_type(name, ".begin", &f->begin) ||
	    !open_type(name, ".end", &f->end)) {
		nameless_count++;
		return;
	}
	/* Another function of the same name may have opened the types before. */
	if (f->begin > newest) {
		newest = f->begin;
		named_count++;
	}
	f->is_recorded = true;
	f->name = threshold_ns ? strdup(name) : NULL;
	f->is_on_trial = f->name != NULL;
}

/* Chooses by the name MODULE.FUNCTION. False: an exception is set. */
static bool choose_by_name(struct function *f, PyObject *code)
{
	PyObject *module = module_of_frame(), *name = name_of_code(code), *whole;
	struct ptrc_python_text text, text_of_module = {.bytes = ""};
	bool is_named = false;

	whole = module && name ? PyUnicode_FromFormat("%U.%U", module, name) : name;
	if (whole && (!module || ptrc_python_text(module, &text_of_module))) {
		is_named = ptrc_python_text(whole, &text);
		if (is_named) {
			choose(f, text.bytes, text_of_module.bytes);
			Py_XDECREF(text.owner);
		}
		Py_XDECREF(text_of_module.owner);
	}
	if (whole != name)
		Py_XDECREF(whole);
	Py_XDECREF(name);
	return is_named;
}

/* Adds the function whose frame has just begun to run. NULL: memory is short. */
static PTRC_NOINLINE struct function *learn(PyObject *code)
{
	struct function *f;

	if (2 * table.used >= table.size && !grow())
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	if (!choose_by_name(f, code) || !watch(f, code)) {
		PyErr_Clear();
		free_function(f);
		return NULL;
	}
	f->code = code;
	*find_slot(code) = f;
	table.used++;
	return f;
}

/* ---- recording ---- */

/* At the end of the trial: a function whose calls are short is not recorded any more. An event says
 * so, because its calls would seem to have ended there. */
static PTRC_NOINLINE void judge(struct function *f)
{
	static const char layout[] = "u32 calls, u64 mean ns, str function";
	struct {
		uint32_t calls;
		uint64_t mean_ns;
		char name[1024];
	} data = {.calls = f->ended, .mean_ns = (uint64_t)(f->sum_ns / f->ended)};
	size_t size = strnlen(f->name, sizeof(data.name));
	trace_event_id_t id;

	f->is_on_trial = false;
	if (f->sum_ns / f->ended >= threshold_ns)
		return;
	f->is_recorded = false;
	memcpy(data.name, f->name, size);
	if (!posixtrace_eventid_open_layout("function.left_out", layout, &id))
		posix_trace_event(id, &data, offsetof(typeof(data), name) + size);
}

static void free_running(void *list)
{
	running.list = NULL;
	running.count = running.room = 0;
	free(list);
}

static PTRC_NOINLINE bool make_room(void)
{
	size_t room = 2 * running.room + 64;
	struct call *larger = realloc(running.list, room * sizeof(*larger));

	if (!larger)
		return false;
	running.list = larger;
	running.room = room;
	pthread_setspecific(running_key, larger);
	return true;
}

/* Takes the function off the list of those that run, and any that began after it, whose ends the
 * interpreter has not reported. Returns NULL if it is not in the list: it began before the recording,
 * or the interpreter has not reported its begin. The result is valid until the next function begins. */
static inline const struct call *stop_running(const struct function *f)
{
	size_t at = running.count;

	while (at && running.list[at - 1].function != f)
		at--;
	if (!at)
		return NULL;
	running.count = at - 1;
	return &running.list[at - 1];
}

static inline void empty_running(void)
{
	breaks += running.count != 0;
	running.count = 0;
}

/* Whether the process is traced. If not, what runs in this thread has begun before the next session. */
static inline bool is_traced(void)
{
	bool it_is = posixtrace_is_traced();

	if (!it_is)
		empty_running();
	return it_is;
}

/* Counts a call of a function that is on trial. */
static void begin_trial_call(struct function *f, struct call *c)
{
	if (f->breaks != breaks) {
		f->breaks = breaks;
		f->ended = f->open = 0;
		f->sum_ns = 0;
	}
	f->open++;
	c->breaks = breaks;
	c->begin_ns = now_ns();
}

static void end_trial_call(struct function *f, const struct call *c)
{
	if (c->breaks != f->breaks)
		return;
	f->sum_ns += now_ns() - c->begin_ns;
	f->ended++;
	f->open--;
	if (f->ended >= TRIAL_CALLS && !f->open)
		judge(f);
}

/* A frame starts to run. Returns false if its function is never recorded. */
static inline bool begin(PyObject *code)
{
	struct function *f;

	if (!is_traced() || (PTRC_UNLIKELY(!has_begun) && !is_first()))
		return true;
	f = find(code);
	if (PTRC_UNLIKELY(!f))
		f = learn(code);
	if (!f || !f->is_recorded)
		return !f;
	if (PTRC_UNLIKELY(running.count == running.room) && !make_room())
		return true;
	running.list[running.count++].function = f;
	if (PTRC_UNLIKELY(f->is_on_trial))
		begin_trial_call(f, &running.list[running.count - 1]);
	posix_trace_event(f->begin, NULL, 0);
	return true;
}

/* A frame stops. Returns false if its function is never recorded. */
static inline bool end(PyObject *code)
{
	const struct call *c;
	struct function *f;

	if (!is_traced())
		return true;
	f = find(code);
	if (!f || !f->is_recorded)
		return !f;
	c = stop_running(f);
	if (!c)
		return true;
	posix_trace_event(f->end, NULL, 0);
	if (PTRC_UNLIKELY(f->is_on_trial))
		end_trial_call(f, c);
	return true;
}

/* What the child of a fork() was in the midst of is recorded in the parent only. */
static void after_fork(void)
{
	running.count = 0;
	breaks++;
}

/* ---- the hooks: before Python 3.12 ---- */

static int profile(PyObject *unused, PyFrameObject *frame, int what, PyObject *value)
{
	PyObject *code;

	(void)unused;
	(void)value;
	if ((what != TRACE_CALL && what != TRACE_RETURN) || !is_traced())
		return 0;
	code = (PyObject *)PyFrame_GetCode(frame);
	if (what == TRACE_CALL)
		begin(code);
	else
		end(code);
	Py_DECREF(code);
	return 0;
}

/* For threading.setprofile(): a new thread calls it with (frame, event, argument) at the first event,
 * and profile() from then on. */
static PyObject *profile_thread(PyObject *self, PyObject *given)
{
	PyObject *frame, *value;
	const char *what;

	(void)self;
	if (!PyArg_ParseTuple(given, "OsO", &frame, &what, &value))
		return NULL;
	PyEval_SetProfile(profile, NULL);
	if (!strcmp(what, "call"))
		profile(NULL, (PyFrameObject *)frame, TRACE_CALL, NULL);
	Py_RETURN_NONE;
}

/* ---- the hooks: sys.monitoring ---- */

static PyObject *answer(bool is_wanted)
{
	return Py_NewRef(is_wanted || !disable ? Py_None : disable);
}

static PyObject *enter(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
	(void)self;
	return answer(count < 1 || begin(given[0]));
}

static PyObject *leave(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
	(void)self;
	return answer(count < 1 || end(given[0]));
}

/* The interpreter does not let the events of exceptions be disabled. */
static PyObject *enter_by_exception(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
	(void)self;
	if (count >= 1)
		begin(given[0]);
	Py_RETURN_NONE;
}

static PyObject *leave_by_exception(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
	(void)self;
	if (count >= 1)
		end(given[0]);
	Py_RETURN_NONE;
}

/* ---- the module ---- */

/* Copies the patterns, a tuple of bytes. False: an exception is set. */
static bool set_globs(PyObject *patterns)
{
	Py_ssize_t count = PyTuple_Size(patterns);

	globs = calloc((size_t)count + 1, sizeof(*globs));
	for (Py_ssize_t i = 0; globs && i < count; i++) {
		char *glob = PyBytes_AsString(PyTuple_GetItem(patterns, i));

		if (!glob)
			return false;
		globs[i] = strdup(glob);
		if (!globs[i])
			break;
		glob_count++;
	}
	if (glob_count == (size_t)count)
		return true;
	PyErr_NoMemory();
	return false;
}

/* record_functions(patterns, threshold in ns, sys.monitoring.DISABLE or None): once in a process. With
 * None the profile function of this thread records from now on. */
static PyObject *record_functions(PyObject *self, PyObject *given)
{
	PyObject *patterns, *monitoring;
	long long threshold;

	(void)self;
	if (!PyArg_ParseTuple(given, "O!LO", &PyTuple_Type, &patterns, &threshold, &monitoring) ||
	    !set_globs(patterns))
		return NULL;
	threshold_ns = threshold;
	pthread_atfork(NULL, NULL, after_fork);
	pthread_key_create(&running_key, free_running);
	if (monitoring == Py_None)
		PyEval_SetProfile(profile, NULL);
	else
		disable = Py_NewRef(monitoring);
	Py_RETURN_NONE;
}

static PyObject *nameless_functions(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return PyLong_FromSize_t(nameless_count);
}

/* matched_nothing(): whether the program ran, but no function that the patterns select. */
static PyObject *matched_nothing(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return PyBool_FromLong(has_begun && !named_count && !nameless_count);
}

/* Functions of all kinds have one type in the table of methods. */
#define HOOK(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL, NULL

static PyMethodDef methods[] = {
	{"record_functions", record_functions, METH_VARARGS, NULL},
	{"nameless_functions", nameless_functions, METH_NOARGS, NULL},
	{"matched_nothing", matched_nothing, METH_NOARGS, NULL},
	{"profile_thread", profile_thread, METH_VARARGS, NULL},
	{"enter", HOOK(enter)},
	{"leave", HOOK(leave)},
	{"enter_by_exception", HOOK(enter_by_exception)},
	{"leave_by_exception", HOOK(leave_by_exception)},
	{0},
};

bool ptrc_python_add_functions(PyObject *module)
{
	return !PyModule_AddFunctions(module, methods);
}
