/* SPDX-License-Identifier: MIT */
#include "tests/support/harness.h"

#include <trace.h>

#include "lib/model/eventset.h"

#define ID_MAX 8191U

static bool has(const trace_event_set_t *set, trace_event_id_t id)
{
	int is = 77;

	CHECK_OK(posix_trace_eventset_ismember(id, set, &is));
	return is;
}

static trace_event_set_t empty(void)
{
	trace_event_set_t set;

	memset(&set, 0xa5, sizeof(set));
	CHECK_OK(posix_trace_eventset_empty(&set));
	return set;
}

static trace_event_set_t filled(int what)
{
	trace_event_set_t set;

	memset(&set, 0xa5, sizeof(set));
	CHECK_OK(posix_trace_eventset_fill(&set, what));
	return set;
}

TEST(empty_and_fill_make_sets_of_anything,
     "EVENTSET-01 EVENTSET-02 EVENTSET-03 EVENTSET-04 EVENTSET-05 EVENTSET-09 EVENTSET-11")
{
	/* The members are 1 to `last'; those of the system are START to ERROR. */
	static const struct {
		const char *what;
		int fill;
		trace_event_id_t last;
	} rows[] = {
		{"all events", POSIX_TRACE_ALL_EVENTS, ID_MAX},
		{"system events", POSIX_TRACE_SYSTEM_EVENTS, POSIX_TRACE_ERROR},
		{"events without a process", POSIX_TRACE_WOPID_EVENTS, 0},
		{"empty", 0, 0},
	};

	CHECK_EQ(POSIX_TRACE_START, 1);
	CHECK_EQ(POSIX_TRACE_ERROR, 8);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		trace_event_set_t set = rows[i].fill ? filled(rows[i].fill) : empty();

		NOTE("%s", rows[i].what);
		for (trace_event_id_t id = 1; id <= ID_MAX; id++)
			CHECK_EQ(has(&set, id), id <= rows[i].last);
		CHECK_OK(posix_trace_eventset_empty(&set));
		CHECK(!has(&set, 1) && !has(&set, ID_MAX));
	}
}

TEST(add_and_del_touch_one_event, "EVENTSET-07 EVENTSET-08 EVENTSET-11")
{
	for (trace_event_id_t id = 1; id <= ID_MAX; id++) {
		trace_event_set_t set = empty(), all = filled(POSIX_TRACE_ALL_EVENTS), before;

		for (int twice = 0; twice < 2; twice++) {
			CHECK_OK(posix_trace_eventset_add(id, &set));
			CHECK_OK(posix_trace_eventset_del(id, &all));
			for (trace_event_id_t other = 1; other <= ID_MAX; other++) {
				if (ptrc_set_has(&set, other) != (other == id))
					harness_fail("add %u shows in %u", id, other);
				if (ptrc_set_has(&all, other) != (other != id))
					harness_fail("del %u shows in %u", id, other);
			}
		}
		before = empty();
		CHECK_OK(posix_trace_eventset_del(id, &set));
		CHECK_MEM_EQ(&set, &before, sizeof(set));
	}
}

TEST(what_is_wrong_is_refused_and_changes_nothing, "EVENTSET-06 EVENTSET-10 EVENTSET-12 EVENTID-30")
{
	trace_event_set_t set = filled(POSIX_TRACE_SYSTEM_EVENTS), before = set;
	static const trace_event_id_t ids[] = {0,     ID_MAX + 1, 8193,	      16383,
					       16384, 65536,	  0x80000000, 0xffffffff};
	static const int fills[] = {0, -1, 4, 1 << 30};
	int is = 5;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		CHECK_EQ(posix_trace_eventset_add(ids[i], &set), EINVAL);
		CHECK_EQ(posix_trace_eventset_del(ids[i], &set), EINVAL);
		CHECK_EQ(posix_trace_eventset_ismember(ids[i], &set, &is), EINVAL);
	}
	for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]); i++)
		CHECK_EQ(posix_trace_eventset_fill(&set, fills[i]), EINVAL);
	CHECK_EQ(posix_trace_eventset_empty(NULL), EINVAL);
	CHECK_EQ(posix_trace_eventset_fill(NULL, POSIX_TRACE_ALL_EVENTS), EINVAL);
	CHECK_EQ(posix_trace_eventset_add(POSIX_TRACE_START, NULL), EINVAL);
	CHECK_EQ(posix_trace_eventset_del(POSIX_TRACE_START, NULL), EINVAL);
	CHECK_EQ(posix_trace_eventset_ismember(POSIX_TRACE_START, NULL, &is), EINVAL);
	CHECK_EQ(posix_trace_eventset_ismember(POSIX_TRACE_START, &set, NULL), EINVAL);
	CHECK_MEM_EQ(&set, &before, sizeof(set));
	CHECK_EQ(is, 5);
}

TEST(what_was_never_made_is_no_set, "EVENTSET-13")
{
	trace_event_set_t junk, before;
	int is = 5;

	for (int byte = 0; byte < 256; byte += 51) {
		memset(&junk, byte, sizeof(junk));
		before = junk;
		CHECK_EQ(posix_trace_eventset_add(POSIX_TRACE_START, &junk), EINVAL);
		CHECK_EQ(posix_trace_eventset_del(POSIX_TRACE_START, &junk), EINVAL);
		CHECK_EQ(posix_trace_eventset_ismember(POSIX_TRACE_START, &junk, &is), EINVAL);
		CHECK_MEM_EQ(&junk, &before, sizeof(junk));
		CHECK_EQ(is, 5);
	}
}

TEST(a_byte_copy_is_an_independent_set, "EVENTSET-14")
{
	trace_event_set_t set = empty(), copy;
	unsigned char bytes[sizeof(set)];

	CHECK_OK(posix_trace_eventset_add(777, &set));
	memcpy(bytes, &set, sizeof(set));
	CHECK_OK(posix_trace_eventset_del(777, &set));
	memcpy(&copy, bytes, sizeof(copy));
	CHECK(has(&copy, 777));
	CHECK(!has(&set, 777));
	CHECK_OK(posix_trace_eventset_add(778, &copy));
	CHECK(!has(&set, 778));
}

TEST(sets_and_filter_bits_are_the_same, "FILTER-01 EVENTSET-14")
{
	trace_event_set_t set = filled(POSIX_TRACE_SYSTEM_EVENTS), back;
	uint64_t bits[PTRC_SET_WORD_COUNT];

	CHECK_OK(posix_trace_eventset_add(ID_MAX, &set));
	ptrc_set_to_bits(&set, bits);
	CHECK_EQ(bits[0], 0x1fe);
	CHECK_EQ(bits[127], UINT64_C(1) << 63);
	memset(&back, 0, sizeof(back));
	ptrc_set_from_bits(&back, bits);
	CHECK_MEM_EQ(&back, &set, sizeof(set));
}
