/* SPDX-License-Identifier: MIT */
/*
 * Each function of <trace.h> as the standard declares it: initialising a pointer of
 * exactly that type is the test, at compile time, and that it links and differs from the
 * others.
 */
#include "tests/support/harness.h"

#include <trace.h>

/* No function-like macro may stand in for a function. */
#undef posix_trace_attr_init
#undef posix_trace_event
#undef posix_trace_eventid_equal
#undef posix_trace_eventset_ismember

typedef void function(void);

static struct {
	const char *name;
	function *at;
} functions[64];
static int function_count;

#define R restrict
#define DECLARED(result, suffix, ...)                                                   \
	static result (*const volatile p_##suffix)(__VA_ARGS__) = posix_trace_##suffix; \
	__attribute__((constructor)) static void add_##suffix(void)                     \
	{                                                                               \
		functions[function_count].name = #suffix;                               \
		functions[function_count++].at = (function *)p_##suffix;                \
	}

/* HDR-33 */
DECLARED(int, attr_init, trace_attr_t *)
DECLARED(int, attr_destroy, trace_attr_t *)

/* HDR-34 */
DECLARED(int, attr_getclockres, const trace_attr_t *, struct timespec *)
DECLARED(int, attr_getcreatetime, const trace_attr_t *, struct timespec *)
DECLARED(int, attr_getgenversion, const trace_attr_t *, char *)
DECLARED(int, attr_getname, const trace_attr_t *, char *)
DECLARED(int, attr_setname, trace_attr_t *, const char *)

/* HDR-35 */
DECLARED(int, attr_getinherited, const trace_attr_t *R, int *R)
DECLARED(int, attr_getlogfullpolicy, const trace_attr_t *R, int *R)
DECLARED(int, attr_getstreamfullpolicy, const trace_attr_t *R, int *R)
DECLARED(int, attr_setinherited, trace_attr_t *, int)
DECLARED(int, attr_setlogfullpolicy, trace_attr_t *, int)
DECLARED(int, attr_setstreamfullpolicy, trace_attr_t *, int)

/* HDR-36 */
DECLARED(int, attr_getlogsize, const trace_attr_t *R, size_t *R)
DECLARED(int, attr_getmaxdatasize, const trace_attr_t *R, size_t *R)
DECLARED(int, attr_getmaxsystemeventsize, const trace_attr_t *R, size_t *R)
DECLARED(int, attr_getmaxusereventsize, const trace_attr_t *R, size_t, size_t *R)
DECLARED(int, attr_getstreamsize, const trace_attr_t *R, size_t *R)
DECLARED(int, attr_setlogsize, trace_attr_t *, size_t)
DECLARED(int, attr_setmaxdatasize, trace_attr_t *, size_t)
DECLARED(int, attr_setstreamsize, trace_attr_t *, size_t)

/* HDR-37 */
DECLARED(int, create, pid_t, const trace_attr_t *R, trace_id_t *R)
DECLARED(int, create_withlog, pid_t, const trace_attr_t *R, int, trace_id_t *R)
DECLARED(int, flush, trace_id_t)
DECLARED(int, shutdown, trace_id_t)
DECLARED(int, clear, trace_id_t)
DECLARED(int, start, trace_id_t)
DECLARED(int, stop, trace_id_t)
DECLARED(int, get_attr, trace_id_t, trace_attr_t *)
DECLARED(int, get_status, trace_id_t, struct posix_trace_status_info *)

/* HDR-38 */
DECLARED(void, event, trace_event_id_t, const void *R, size_t)
DECLARED(int, eventid_open, const char *R, trace_event_id_t *R)
DECLARED(int, eventid_equal, trace_id_t, trace_event_id_t, trace_event_id_t)
DECLARED(int, eventid_get_name, trace_id_t, trace_event_id_t, char *)
DECLARED(int, trid_eventid_open, trace_id_t, const char *R, trace_event_id_t *R)
DECLARED(int, eventtypelist_getnext_id, trace_id_t, trace_event_id_t *R, int *R)
DECLARED(int, eventtypelist_rewind, trace_id_t)

/* HDR-39 */
DECLARED(int, eventset_add, trace_event_id_t, trace_event_set_t *)
DECLARED(int, eventset_del, trace_event_id_t, trace_event_set_t *)
DECLARED(int, eventset_empty, trace_event_set_t *)
DECLARED(int, eventset_fill, trace_event_set_t *, int)
DECLARED(int, eventset_ismember, trace_event_id_t, const trace_event_set_t *R, int *R)
DECLARED(int, get_filter, trace_id_t, trace_event_set_t *)
DECLARED(int, set_filter, trace_id_t, const trace_event_set_t *, int)

/* HDR-40 */
DECLARED(int, getnext_event, trace_id_t, struct posix_trace_event_info *R, void *R, size_t,
	 size_t *R, int *R)
DECLARED(int, timedgetnext_event, trace_id_t, struct posix_trace_event_info *R, void *R, size_t,
	 size_t *R, int *R, const struct timespec *R)
DECLARED(int, trygetnext_event, trace_id_t, struct posix_trace_event_info *R, void *R, size_t,
	 size_t *R, int *R)
DECLARED(int, open, int, trace_id_t *)
DECLARED(int, close, trace_id_t)
DECLARED(int, rewind, trace_id_t)

TEST(functions_are_as_declared_and_each_is_another,
     "HDR-32 HDR-33 HDR-34 HDR-35 HDR-36 HDR-37 HDR-38 HDR-39 HDR-40 HDR-41")
{
	CHECK_EQ(function_count, 50);
	for (int i = 0; i < function_count; i++) {
		if (!functions[i].at)
			harness_fail("posix_trace_%s is missing", functions[i].name);
		for (int j = 0; j < i; j++)
			if (functions[i].at == functions[j].at)
				harness_fail("posix_trace_%s is posix_trace_%s", functions[i].name,
					     functions[j].name);
	}
	/* The calls work, too. */
	CHECK_EQ(p_attr_init(NULL), EINVAL);
	p_event(POSIX_TRACE_UNNAMED_USEREVENT, NULL, 0);
	CHECK_NE(p_eventid_equal(0, 9, 9), 0);
	CHECK_EQ(p_eventset_ismember(9, NULL, NULL), EINVAL);
}
