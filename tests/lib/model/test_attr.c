/* SPDX-License-Identifier: MIT */
/* The attributes object by itself; what streams make of it is tested with streams. */
#include "tests/support/support.h"

#include <posixtrace.h>
#include <trace.h>

#include "lib/model/attr.h"

static trace_attr_t fresh(void)
{
	trace_attr_t attr;

	memset(&attr, 0xa5, sizeof(attr));
	CHECK_OK(posix_trace_attr_init(&attr));
	return attr;
}

TEST(init_gives_the_defaults,
     "ATTR-01 ATTR-03 NAME-01 POLICY-02 POLICY-05 POLICY-10 SIZE-02 SIZE-04 SIZE-06")
{
	trace_attr_t attr = fresh();
	struct ts_values all = ts_values(&attr);

	CHECK_STR_EQ(all.name, "");
	CHECK_EQ(all.created_ns, 0);
	CHECK_EQ(all.inherited, POSIX_TRACE_CLOSE_FOR_CHILD);
	CHECK_EQ(all.log_policy, POSIX_TRACE_LOOP);
	CHECK_EQ(all.stream_policy, POSIX_TRACE_LOOP);
	CHECK_EQ(all.log_bytes, 67108864);
	CHECK_EQ(all.data_bytes, 4096);
	CHECK_EQ(all.stream_bytes, 1048576);
}

TEST(clock_resolution_is_known_at_once, "ATTR-02 CLOCK-01 CLOCK-06")
{
	trace_attr_t attr = fresh();
	struct timespec res, want;

	CHECK_SYS(clock_getres(CLOCK_REALTIME, &want));
	CHECK_OK(posix_trace_attr_getclockres(&attr, &res));
	CHECK_EQ(res.tv_sec, want.tv_sec);
	CHECK_EQ(res.tv_nsec, want.tv_nsec);
	CHECK(res.tv_nsec >= 0 && res.tv_nsec < 1000000000);
}

TEST(generation_version_is_known_at_once, "ATTR-02 GENVERSION-01 GENVERSION-02 GENVERSION-03")
{
	trace_attr_t attr = fresh(), other = fresh();
	char text[TRACE_NAME_MAX + 1], again[TRACE_NAME_MAX + 1];

	memset(text, 'x', sizeof(text));
	CHECK_OK(posix_trace_attr_getgenversion(&attr, text));
	CHECK(memchr(text, '\0', TRACE_NAME_MAX));
	CHECK_EQ(text[TRACE_NAME_MAX], 'x');
	CHECK_STR_EQ(text, "posixtrace " POSIXTRACE_VERSION);
	CHECK_STR_EQ(text, posixtrace_version());
	CHECK_OK(posix_trace_attr_setname(&other, "other"));
	CHECK_OK(posix_trace_attr_getgenversion(&other, again));
	CHECK_STR_EQ(again, text);
}

TEST(init_makes_an_object_anew, "ATTR-04 ATTR-05 ATTR-06 ATTR-10")
{
	for (int is_destroyed = 0; is_destroyed < 2; is_destroyed++) {
		trace_attr_t attr = fresh();
		struct ts_values before = ts_values(&attr), after;

		CHECK_OK(posix_trace_attr_setname(&attr, "old"));
		CHECK_OK(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED));
		CHECK_OK(posix_trace_attr_setstreamsize(&attr, 1));
		if (is_destroyed) {
			CHECK_OK(posix_trace_attr_destroy(&attr));
			CHECK_EQ(posix_trace_attr_destroy(&attr), EINVAL);
		}
		CHECK_OK(posix_trace_attr_init(&attr));
		after = ts_values(&attr);
		CHECK_MEM_EQ(&after, &before, sizeof(before));
	}
}

/* Every getter and setter on this object, and its destruction. */
static void check_all_refuse(trace_attr_t *attr)
{
	struct timespec time = {7, 7};
	char text[TRACE_NAME_MAX] = "kept";
	int value = 7;
	size_t size = 7;

	CHECK_EQ(posix_trace_attr_getclockres(attr, &time), EINVAL);
	CHECK_EQ(posix_trace_attr_getcreatetime(attr, &time), EINVAL);
	CHECK_EQ(posix_trace_attr_getgenversion(attr, text), EINVAL);
	CHECK_EQ(posix_trace_attr_getname(attr, text), EINVAL);
	CHECK_EQ(posix_trace_attr_setname(attr, "name"), EINVAL);
	CHECK_EQ(posix_trace_attr_getinherited(attr, &value), EINVAL);
	CHECK_EQ(posix_trace_attr_getlogfullpolicy(attr, &value), EINVAL);
	CHECK_EQ(posix_trace_attr_getstreamfullpolicy(attr, &value), EINVAL);
	CHECK_EQ(posix_trace_attr_setinherited(attr, POSIX_TRACE_INHERITED), EINVAL);
	CHECK_EQ(posix_trace_attr_setlogfullpolicy(attr, POSIX_TRACE_LOOP), EINVAL);
	CHECK_EQ(posix_trace_attr_setstreamfullpolicy(attr, POSIX_TRACE_LOOP), EINVAL);
	CHECK_EQ(posix_trace_attr_getlogsize(attr, &size), EINVAL);
	CHECK_EQ(posix_trace_attr_getmaxdatasize(attr, &size), EINVAL);
	CHECK_EQ(posix_trace_attr_getmaxsystemeventsize(attr, &size), EINVAL);
	CHECK_EQ(posix_trace_attr_getmaxusereventsize(attr, 1, &size), EINVAL);
	CHECK_EQ(posix_trace_attr_getstreamsize(attr, &size), EINVAL);
	CHECK_EQ(posix_trace_attr_setlogsize(attr, 1), EINVAL);
	CHECK_EQ(posix_trace_attr_setmaxdatasize(attr, 1), EINVAL);
	CHECK_EQ(posix_trace_attr_setstreamsize(attr, 1), EINVAL);
	CHECK_EQ(posix_trace_attr_destroy(attr), EINVAL);

	CHECK(time.tv_sec == 7 && time.tv_nsec == 7);
	CHECK_STR_EQ(text, "kept");
	CHECK_EQ(value, 7);
	CHECK_EQ(size, 7);
}

TEST(functions_refuse_what_is_no_object, "ATTR-06 ATTR-07 ATTR-09 ERRORS-01 ERRORS-10")
{
	trace_attr_t attr, zero;

	CHECK_EQ(posix_trace_attr_init(NULL), EINVAL);
	check_all_refuse(NULL);
	memset(&attr, 0, sizeof(attr));
	check_all_refuse(&attr);
	memset(&zero, 0, sizeof(zero));
	CHECK_MEM_EQ(&attr, &zero, sizeof(attr));
	attr = fresh();
	CHECK_OK(posix_trace_attr_destroy(&attr));
	check_all_refuse(&attr);
}

TEST(getters_refuse_a_null_result, "ATTR-08 NAME-09")
{
	trace_attr_t attr = fresh();

	CHECK_EQ(posix_trace_attr_getclockres(&attr, NULL), EINVAL);
	CHECK_EQ(posix_trace_attr_getcreatetime(&attr, NULL), EINVAL);
	CHECK_EQ(posix_trace_attr_getgenversion(&attr, NULL), EINVAL);
	CHECK_EQ(posix_trace_attr_getname(&attr, NULL), EINVAL);
	CHECK_EQ(posix_trace_attr_getinherited(&attr, NULL), EINVAL);
	CHECK_EQ(posix_trace_attr_getlogfullpolicy(&attr, NULL), EINVAL);
	CHECK_EQ(posix_trace_attr_getstreamfullpolicy(&attr, NULL), EINVAL);
	CHECK_EQ(posix_trace_attr_getlogsize(&attr, NULL), EINVAL);
	CHECK_EQ(posix_trace_attr_getmaxdatasize(&attr, NULL), EINVAL);
	CHECK_EQ(posix_trace_attr_getmaxsystemeventsize(&attr, NULL), EINVAL);
	CHECK_EQ(posix_trace_attr_getmaxusereventsize(&attr, 1, NULL), EINVAL);
	CHECK_EQ(posix_trace_attr_getstreamsize(&attr, NULL), EINVAL);
	CHECK_OK(posix_trace_attr_setname(&attr, "kept"));
	CHECK_EQ(posix_trace_attr_setname(&attr, NULL), EINVAL);
	CHECK_STR_EQ(ts_values(&attr).name, "kept");
}

TEST(a_copy_is_an_independent_object, "ATTR-17")
{
	trace_attr_t attr = fresh(), copy;

	CHECK_OK(posix_trace_attr_setname(&attr, "first"));
	copy = attr;
	CHECK_OK(posix_trace_attr_setname(&copy, "second"));
	CHECK_STR_EQ(ts_values(&attr).name, "first");
	CHECK_OK(posix_trace_attr_destroy(&attr));
	CHECK_STR_EQ(ts_values(&copy).name, "second");
	CHECK_OK(posix_trace_attr_destroy(&copy));
}

TEST(a_name_is_copied_and_cut_to_its_room, "NAME-02 NAME-03 NAME-04 NAME-05 NAME-06")
{
	trace_attr_t attr = fresh();
	char name[600], text[TRACE_NAME_MAX + 1];

	for (size_t len = 0; len < sizeof(name); len++) {
		for (size_t i = 0; i < len; i++)
			name[i] = (char)(1 + (i + len) % 255);
		name[len] = '\0';
		text[TRACE_NAME_MAX] = 'x';
		CHECK_OK(posix_trace_attr_setname(&attr, name));
		if (len >= TRACE_NAME_MAX)
			name[TRACE_NAME_MAX - 1] = '\0';
		CHECK_OK(posix_trace_attr_getname(&attr, text));
		CHECK_STR_EQ(text, name);
		CHECK_EQ(text[TRACE_NAME_MAX], 'x');
	}
	/* What the program does with its string later changes nothing. */
	name[0]++;
	CHECK_OK(posix_trace_attr_getname(&attr, text));
	CHECK_NE(text[0], name[0]);
}

TEST(user_event_size_that_does_not_fit_is_refused, "SIZE-10")
{
	trace_attr_t attr = fresh();
	size_t size = 5;

	CHECK_OK(posix_trace_attr_setmaxdatasize(&attr, SIZE_MAX));
	for (size_t below = 0; below < 64; below++) {
		CHECK_EQ(posix_trace_attr_getmaxusereventsize(&attr, SIZE_MAX - below, &size),
			 EINVAL);
		CHECK_EQ(size, 5);
	}
	CHECK_OK(posix_trace_attr_getmaxusereventsize(&attr, SIZE_MAX - 71, &size));
	CHECK(size >= SIZE_MAX - 71);
	CHECK_OK(posix_trace_attr_getmaxusereventsize(&attr, 1, &size));
}

/* What a create makes of an object, without a stream. */
static struct ptrc_attr resolve(const trace_attr_t *attr, bool has_log)
{
	struct ptrc_attr out;

	CHECK_OK(ptrc_attr_resolve(attr, has_log, &out));
	CHECK_OK(ptrc_attr_validate(&out));
	return out;
}

TEST(bounded_log_must_hold_start_and_stop, "SIZE-21 SIZE-22")
{
	trace_attr_t attr = fresh();
	struct ptrc_attr out;
	static const int bounded[] = {POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL};

	for (size_t i = 0; i < 2; i++) {
		CHECK_OK(posix_trace_attr_setlogfullpolicy(&attr, bounded[i]));
		CHECK_OK(posix_trace_attr_setlogsize(&attr, 1051));
		CHECK_EQ(ptrc_attr_resolve(&attr, true, &out), EINVAL);
		resolve(&attr, false);
		CHECK_OK(posix_trace_attr_setlogsize(&attr, 1052));
		CHECK_EQ(resolve(&attr, true).log_max_size, 1052);
	}
	CHECK_OK(posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND));
	CHECK_OK(posix_trace_attr_setlogsize(&attr, 0));
	CHECK_EQ(resolve(&attr, true).log_max_size, 0);
}

/* Good attributes with this change are refused. */
#define CHECK_DAMAGED(change)                               \
	do {                                                \
		struct ptrc_attr bad = resolve(NULL, true); \
                                                            \
		change;                                     \
		CHECK_EQ(ptrc_attr_validate(&bad), EINVAL); \
	} while (0)

TEST(damaged_attributes_are_found, "OPEN-15")
{
	CHECK_DAMAGED(bad.magic++);
	CHECK_DAMAGED(memset(bad.name, 'x', sizeof(bad.name)));
	CHECK_DAMAGED(memset(bad.genversion, 'x', TRACE_NAME_MAX));
	CHECK_DAMAGED(bad.createtime_nsec = 1000000000);
	CHECK_DAMAGED(bad.clockres_sec = -1);
	CHECK_DAMAGED(bad.inherited = 2);
	CHECK_DAMAGED(bad.log_full_policy = POSIX_TRACE_FLUSH);
	CHECK_DAMAGED(bad.stream_full_policy = 0);
}
