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

#define R restrict
#define DECLARED(result, name, ...) \
	static result (*const volatile p_##name)(__VA_ARGS__) = posix_trace_##name

/* Called with nothing that could work, so that the call is compiled, too. */
#define ADDRESS(name) CHECK(remember((function *)p_##name))

static function *seen[64];
static int seen_count;

static bool remember(function *f)
{
	for (int i = 0; i < seen_count; i++)
		if (seen[i] == f)
			return false;
	seen[seen_count++] = f;
	return f != NULL;
}

DECLARED(int, attr_init, trace_attr_t *);
DECLARED(int, attr_destroy, trace_attr_t *);

TEST(attribute_creation, "HDR-32 HDR-33 HDR-41")
{
	ADDRESS(attr_init);
	ADDRESS(attr_destroy);
	CHECK_EQ(p_attr_init(NULL), EINVAL);
	CHECK_EQ(p_attr_destroy(NULL), EINVAL);
}

DECLARED(int, attr_getclockres, const trace_attr_t *, struct timespec *);
DECLARED(int, attr_getcreatetime, const trace_attr_t *, struct timespec *);
DECLARED(int, attr_getgenversion, const trace_attr_t *, char *);
DECLARED(int, attr_getname, const trace_attr_t *, char *);
DECLARED(int, attr_setname, trace_attr_t *, const char *);

TEST(attribute_information, "HDR-32 HDR-34 HDR-41")
{
	ADDRESS(attr_getclockres);
	ADDRESS(attr_getcreatetime);
	ADDRESS(attr_getgenversion);
	ADDRESS(attr_getname);
	ADDRESS(attr_setname);
	CHECK_EQ(p_attr_setname(NULL, ""), EINVAL);
}

DECLARED(int, attr_getinherited, const trace_attr_t *R, int *R);
DECLARED(int, attr_getlogfullpolicy, const trace_attr_t *R, int *R);
DECLARED(int, attr_getstreamfullpolicy, const trace_attr_t *R, int *R);
DECLARED(int, attr_setinherited, trace_attr_t *, int);
DECLARED(int, attr_setlogfullpolicy, trace_attr_t *, int);
DECLARED(int, attr_setstreamfullpolicy, trace_attr_t *, int);

TEST(attribute_policies, "HDR-32 HDR-35 HDR-41")
{
	ADDRESS(attr_getinherited);
	ADDRESS(attr_getlogfullpolicy);
	ADDRESS(attr_getstreamfullpolicy);
	ADDRESS(attr_setinherited);
	ADDRESS(attr_setlogfullpolicy);
	ADDRESS(attr_setstreamfullpolicy);
	CHECK_EQ(p_attr_setinherited(NULL, 0), EINVAL);
}

DECLARED(int, attr_getlogsize, const trace_attr_t *R, size_t *R);
DECLARED(int, attr_getmaxdatasize, const trace_attr_t *R, size_t *R);
DECLARED(int, attr_getmaxsystemeventsize, const trace_attr_t *R, size_t *R);
DECLARED(int, attr_getmaxusereventsize, const trace_attr_t *R, size_t, size_t *R);
DECLARED(int, attr_getstreamsize, const trace_attr_t *R, size_t *R);
DECLARED(int, attr_setlogsize, trace_attr_t *, size_t);
DECLARED(int, attr_setmaxdatasize, trace_attr_t *, size_t);
DECLARED(int, attr_setstreamsize, trace_attr_t *, size_t);

TEST(attribute_sizes, "HDR-32 HDR-36 HDR-41")
{
	ADDRESS(attr_getlogsize);
	ADDRESS(attr_getmaxdatasize);
	ADDRESS(attr_getmaxsystemeventsize);
	ADDRESS(attr_getmaxusereventsize);
	ADDRESS(attr_getstreamsize);
	ADDRESS(attr_setlogsize);
	ADDRESS(attr_setmaxdatasize);
	ADDRESS(attr_setstreamsize);
	CHECK_EQ(p_attr_setlogsize(NULL, 0), EINVAL);
}

DECLARED(int, create, pid_t, const trace_attr_t *R, trace_id_t *R);
DECLARED(int, create_withlog, pid_t, const trace_attr_t *R, int, trace_id_t *R);
DECLARED(int, flush, trace_id_t);
DECLARED(int, shutdown, trace_id_t);
DECLARED(int, clear, trace_id_t);
DECLARED(int, start, trace_id_t);
DECLARED(int, stop, trace_id_t);
DECLARED(int, get_attr, trace_id_t, trace_attr_t *);
DECLARED(int, get_status, trace_id_t, struct posix_trace_status_info *);

TEST(stream_creation_and_end, "HDR-32 HDR-37 HDR-41 ERRORS-03")
{
	trace_attr_t attr;
	struct posix_trace_status_info status;

	ADDRESS(create);
	ADDRESS(create_withlog);
	ADDRESS(flush);
	ADDRESS(shutdown);
	ADDRESS(clear);
	ADDRESS(start);
	ADDRESS(stop);
	ADDRESS(get_attr);
	ADDRESS(get_status);
	CHECK_EQ(p_create(0, NULL, NULL), EINVAL);
	CHECK_EQ(p_create_withlog(0, NULL, 1, NULL), EINVAL);
	CHECK_EQ(p_flush(0), EINVAL);
	CHECK_EQ(p_shutdown(0), EINVAL);
	CHECK_EQ(p_clear(0), EINVAL);
	CHECK_EQ(p_start(0), EINVAL);
	CHECK_EQ(p_stop(0), EINVAL);
	CHECK_EQ(p_get_attr(0, &attr), EINVAL);
	CHECK_EQ(p_get_status(0, &status), EINVAL);
}

DECLARED(void, event, trace_event_id_t, const void *R, size_t);
DECLARED(int, eventid_open, const char *R, trace_event_id_t *R);
DECLARED(int, eventid_equal, trace_id_t, trace_event_id_t, trace_event_id_t);
DECLARED(int, eventid_get_name, trace_id_t, trace_event_id_t, char *);
DECLARED(int, trid_eventid_open, trace_id_t, const char *R, trace_event_id_t *R);
DECLARED(int, eventtypelist_getnext_id, trace_id_t, trace_event_id_t *R, int *R);
DECLARED(int, eventtypelist_rewind, trace_id_t);

TEST(events_and_event_types, "HDR-32 HDR-38 HDR-41 ERRORS-03")
{
	trace_event_id_t id;
	char name[TRACE_EVENT_NAME_MAX + 1];
	int unavailable;

	ADDRESS(event);
	ADDRESS(eventid_open);
	ADDRESS(eventid_equal);
	ADDRESS(eventid_get_name);
	ADDRESS(trid_eventid_open);
	ADDRESS(eventtypelist_getnext_id);
	ADDRESS(eventtypelist_rewind);
	p_event(POSIX_TRACE_UNNAMED_USEREVENT, NULL, 0);
	CHECK_EQ(p_eventid_open(NULL, &id), EINVAL);
	CHECK_NE(p_eventid_equal(0, 9, 9), 0);
	CHECK_EQ(p_eventid_get_name(0, 9, name), EINVAL);
	CHECK_EQ(p_trid_eventid_open(0, "name", &id), EINVAL);
	CHECK_EQ(p_eventtypelist_getnext_id(0, &id, &unavailable), EINVAL);
	CHECK_EQ(p_eventtypelist_rewind(0), EINVAL);
}

DECLARED(int, eventset_add, trace_event_id_t, trace_event_set_t *);
DECLARED(int, eventset_del, trace_event_id_t, trace_event_set_t *);
DECLARED(int, eventset_empty, trace_event_set_t *);
DECLARED(int, eventset_fill, trace_event_set_t *, int);
DECLARED(int, eventset_ismember, trace_event_id_t, const trace_event_set_t *R, int *R);
DECLARED(int, get_filter, trace_id_t, trace_event_set_t *);
DECLARED(int, set_filter, trace_id_t, const trace_event_set_t *, int);

TEST(event_sets_and_filters, "HDR-32 HDR-39 HDR-41 ERRORS-03")
{
	trace_event_set_t set;

	ADDRESS(eventset_add);
	ADDRESS(eventset_del);
	ADDRESS(eventset_empty);
	ADDRESS(eventset_fill);
	ADDRESS(eventset_ismember);
	ADDRESS(get_filter);
	ADDRESS(set_filter);
	CHECK_OK(p_eventset_empty(&set));
	CHECK_EQ(p_get_filter(0, &set), EINVAL);
	CHECK_EQ(p_set_filter(0, &set, POSIX_TRACE_SET_EVENTSET), EINVAL);
}

DECLARED(int, getnext_event, trace_id_t, struct posix_trace_event_info *R, void *R, size_t,
	 size_t *R, int *R);
DECLARED(int, timedgetnext_event, trace_id_t, struct posix_trace_event_info *R, void *R, size_t,
	 size_t *R, int *R, const struct timespec *R);
DECLARED(int, trygetnext_event, trace_id_t, struct posix_trace_event_info *R, void *R, size_t,
	 size_t *R, int *R);
DECLARED(int, open, int, trace_id_t *);
DECLARED(int, close, trace_id_t);
DECLARED(int, rewind, trace_id_t);

TEST(event_retrieval_and_logs, "HDR-32 HDR-40 HDR-41 ERRORS-03")
{
	struct posix_trace_event_info info;
	size_t len;
	int unavailable;

	ADDRESS(getnext_event);
	ADDRESS(timedgetnext_event);
	ADDRESS(trygetnext_event);
	ADDRESS(open);
	ADDRESS(close);
	ADDRESS(rewind);
	CHECK_EQ(p_getnext_event(0, &info, NULL, 0, &len, &unavailable), EINVAL);
	CHECK_EQ(p_timedgetnext_event(0, &info, NULL, 0, &len, &unavailable, NULL), EINVAL);
	CHECK_EQ(p_trygetnext_event(0, &info, NULL, 0, &len, &unavailable), EINVAL);
	CHECK_EQ(p_open(-1, NULL), EINVAL);
	CHECK_EQ(p_close(0), EINVAL);
	CHECK_EQ(p_rewind(0), EINVAL);
}
