/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "lib/preload/xray.h"

#include <string.h>
#include <sys/auxv.h>

#include "lib/base/common.h"
#include "lib/base/file.h"
#include "lib/preload/function_names.h"
#include "lib/preload/selection.h"

/* The reasons for which XRay calls a handler (<xray/xray_interface.h>). TAIL, a tail call, also
 * ends a function. */
enum { ENTRY = 0, EXIT = 1, TAIL = 2, ENTRY_WITH_ARGUMENT = 3 };

/* Functions of the XRay runtime. They are hidden: even a program linked with -rdynamic does not
 * export them, so they are found in the symbol table of its file. */
static struct {
	int (*set_handler)(void (*handler)(int32_t, int));
	int (*patch_function)(int32_t);
	uintptr_t (*function_address)(int32_t);
	size_t (*max_function_id)(void);
} runtime;

static void (*record)(uint64_t function, bool is_end);

/* Addresses of the functions, indexed by the function's number in XRay, from 1. The array is
 * complete before the first function is patched. */
static uint64_t *addresses;
static size_t address_count;

static void visit(uint64_t function, const char *name)
{
	static const struct {
		const char *name;
		void *place;
	} wanted[] = {
		{"__xray_set_handler", &runtime.set_handler},
		{"__xray_patch_function", &runtime.patch_function},
		{"__xray_function_address", &runtime.function_address},
		{"__xray_max_function_id", &runtime.max_function_id},
	};

	for (size_t i = 0; i < PTRC_ARRAY_COUNT(wanted); i++)
		if (!strcmp(name, wanted[i].name))
			memcpy(wanted[i].place, &function, sizeof(function));
}

static void handle(int32_t id, int kind)
{
	if ((size_t)id - 1 >= address_count || kind < ENTRY || kind > ENTRY_WITH_ARGUMENT)
		return;
	record(addresses[id], kind == EXIT || kind == TAIL);
}

void ptrc_xray_begin(void (*recorder)(uint64_t function, bool is_end))
{
	size_t count;

	ptrc_function_names(getauxval(AT_ENTRY), visit);
	if (!runtime.set_handler || !runtime.patch_function || !runtime.function_address ||
	    !runtime.max_function_id)
		return;
	count = runtime.max_function_id();
	if (!count || count > INT32_MAX)
		return;
	addresses = ptrc_file_zeros((count + 1) * sizeof(*addresses));
	if (!addresses)
		return;
	for (size_t id = 1; id <= count; id++)
		addresses[id] = runtime.function_address((int32_t)id);
	address_count = count;
	record = recorder;
	runtime.set_handler(handle);
	/* A function that cannot be patched runs without being recorded. This happens, for
	 * instance, if the system allows no memory that is both writable and executable. */
	for (size_t id = 1; id <= count; id++)
		if (addresses[id] && ptrc_selection_has(addresses[id]))
			runtime.patch_function((int32_t)id);
}
