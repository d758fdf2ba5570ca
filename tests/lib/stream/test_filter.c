/* SPDX-License-Identifier: MIT */
/*
 * Filters of streams: posix_trace_get_filter, posix_trace_set_filter.
 *
 * With a sanitizer it takes long, as a change of the filter is single-stepped, of which that makes
 * many more instructions.
 */
#include "tests/support/support.h"

#include <posixtrace-control.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>

#define SMALL 65536

static void set_filter(trace_id_t trid, int how, trace_event_id_t a, trace_event_id_t b)
{
	trace_event_set_t set = ts_set(a, b, 0U);
	ts_set_filter(trid, &set, how);
}

static void no_filter(trace_id_t trid)
{
	trace_event_set_t set = ts_set(0U);
	ts_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
}

/* The next event is FILTER with just these members, up to two each; 0 stands for none. */
static void expect_filter_event(trace_id_t trid, trace_event_id_t old_a, trace_event_id_t old_b,
				trace_event_id_t new_a, trace_event_id_t new_b)
{
	struct ts_event event = ts_expect(trid, POSIX_TRACE_FILTER);
	CHECK_EQ(event.len, 2 * sizeof(trace_event_set_t));
	CHECK_EQ(event.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
	trace_event_set_t old_set = ts_set_in(&event, 0), new_set = ts_set_in(&event, 1);
	ts_expect_set(&old_set, old_a, old_b, 0U);
	ts_expect_set(&new_set, new_a, new_b, 0U);
}

TEST(the_filter_comes_back_as_a_set, "FILTER-01 EVENTSET-15 FILTER-02")
{
	trace_id_t trid = ts_make(POSIX_TRACE_UNTIL_FULL, SMALL, 64);
	trace_event_id_t a = ts_id("a"), b = ts_id("b");
	trace_event_set_t set, given = ts_set(a, 0U);

	ts_set_filter(trid, &given, POSIX_TRACE_SET_EVENTSET);
	memset(&set, 0xdb, sizeof(set));
	CHECK_OK(posix_trace_get_filter(trid, &set));
	ts_expect_set(&set, a, 0U);
	/* It is a set like any other, and a copy. */
	CHECK_OK(posix_trace_eventset_add(b, &set));
	CHECK_OK(posix_trace_eventset_del(a, &set));
	ts_expect_set(&set, b, 0U);
	ts_expect_filter(trid, a, 0U);
	/* So was the one that was given. */
	CHECK_OK(posix_trace_eventset_add(b, &given));
	ts_expect_filter(trid, a, 0U);
	CHECK_OK(posix_trace_eventset_fill(&given, POSIX_TRACE_ALL_EVENTS));
	ts_expect_filter(trid, a, 0U);
}

TEST(set_add_and_sub_make_the_new_filter, "FILTER-02 FILTER-03 FILTER-04")
{
	trace_id_t trid = ts_make(POSIX_TRACE_UNTIL_FULL, SMALL, 64);
	trace_event_id_t a = ts_id("a"), b = ts_id("b"), c = ts_id("c");
	trace_event_set_t all, set;

	set_filter(trid, POSIX_TRACE_ADD_EVENTSET, a, b);
	ts_expect_filter(trid, a, b, 0U);
	set_filter(trid, POSIX_TRACE_SET_EVENTSET, b, c);
	ts_expect_filter(trid, b, c, 0U);
	set_filter(trid, POSIX_TRACE_ADD_EVENTSET, c, 0);
	ts_expect_filter(trid, b, c, 0U);
	set_filter(trid, POSIX_TRACE_SUB_EVENTSET, a, c);
	ts_expect_filter(trid, b, 0U);
	set_filter(trid, POSIX_TRACE_ADD_EVENTSET, 0, 0);
	ts_expect_filter(trid, b, 0U);
	set_filter(trid, POSIX_TRACE_SUB_EVENTSET, 0, 0);
	ts_expect_filter(trid, b, 0U);
	set_filter(trid, POSIX_TRACE_ADD_EVENTSET, POSIX_TRACE_STOP, 0);
	ts_expect_filter(trid, b, POSIX_TRACE_STOP, 0U);
	set_filter(trid, POSIX_TRACE_SET_EVENTSET, 0, 0);
	ts_expect_filter(trid, 0U);

	CHECK_OK(posix_trace_eventset_fill(&all, POSIX_TRACE_ALL_EVENTS));
	ts_set_filter(trid, &all, POSIX_TRACE_ADD_EVENTSET);
	set_filter(trid, POSIX_TRACE_SUB_EVENTSET, a, 0);
	set = ts_filter(trid);
	CHECK(!ts_is_member(&set, a));
	CHECK(ts_is_member(&set, b));
	CHECK(ts_is_member(&set, POSIX_TRACE_START));
	CHECK(ts_is_member(&set, POSIX_TRACE_UNNAMED_USEREVENT));
	ts_set_filter(trid, &all, POSIX_TRACE_SUB_EVENTSET);
	ts_expect_filter(trid, 0U);
}

TEST(members_are_not_recorded_and_all_others_are, "FILTER-05 FILTER-06 EVENTSET-03")
{
	trace_id_t trid = ts_make(POSIX_TRACE_UNTIL_FULL, SMALL, 64);
	trace_event_id_t ids[70];
	char name[32];

	for (int i = 0; i < 70; i++) {
		snprintf(name, sizeof(name), "type %d", i);
		ids[i] = ts_id(name);
	}
	/* Neighbours, and both sides of word boundaries. */
	for (int filtered = 0; filtered < 70; filtered += 7) {
		set_filter(trid, POSIX_TRACE_SET_EVENTSET, ids[filtered], 0);
		ts_start(trid);
		for (int i = 0; i < 70; i++)
			ts_emit(ids[i], (uint32_t)i);
		ts_stop(trid);
		ts_expect(trid, POSIX_TRACE_START);
		for (int i = 0; i < 70; i++)
			if (i != filtered)
				ts_expect(trid, ids[i]);
		ts_expect(trid, POSIX_TRACE_STOP);
		ts_expect_none(trid);
	}
	/* All means also what is opened later; the system events alone leave the user's. */
	static const int fills[] = {POSIX_TRACE_ALL_EVENTS, POSIX_TRACE_SYSTEM_EVENTS};
	for (int i = 0; i < 2; i++) {
		trace_event_set_t all;
		CHECK_OK(posix_trace_eventset_fill(&all, fills[i]));
		ts_set_filter(trid, &all, POSIX_TRACE_SET_EVENTSET);
		ts_start(trid);
		ts_emit(ts_id("later"), 1);
		ts_emit(POSIX_TRACE_UNNAMED_USEREVENT, 1);
		ts_stop(trid);
		if (fills[i] == POSIX_TRACE_SYSTEM_EVENTS) {
			ts_expect(trid, ts_id("later"));
			ts_expect(trid, POSIX_TRACE_UNNAMED_USEREVENT);
		}
		ts_expect_none(trid);
	}
}

TEST(it_is_in_force_when_the_call_returns, "FILTER-07 FILTER-05 FILTER-22 GEN-12")
{
	struct ts_target target = ts_target_fork();
	trace_id_t trid = ts_make_of(target.pid, POSIX_TRACE_UNTIL_FULL, SMALL, 64);
	trace_event_id_t a = ts_target_id(&target, "a"), b = ts_target_id(&target, "b");

	set_filter(trid, POSIX_TRACE_SET_EVENTSET, a, 0);
	ts_start(trid);
	ts_target_emit(&target, a, 1);
	ts_target_emit(&target, b, 2);
	set_filter(trid, POSIX_TRACE_SET_EVENTSET, b, 0);
	ts_target_emit(&target, a, 3);
	ts_target_emit(&target, b, 4);
	no_filter(trid);
	ts_target_emit(&target, a, 5);
	ts_target_emit(&target, b, 6);
	ts_stop(trid);
	set_filter(trid, POSIX_TRACE_SET_EVENTSET, a, b);
	ts_start(trid);
	ts_target_emit(&target, a, 7);
	ts_target_emit(&target, b, 8);
	/* What was recorded before stays. */
	set_filter(trid, POSIX_TRACE_ADD_EVENTSET, POSIX_TRACE_START, 0);
	struct ts_events events =
		ts_read_ids(trid, POSIX_TRACE_START, b, POSIX_TRACE_FILTER, a, POSIX_TRACE_FILTER,
			    a, b, POSIX_TRACE_STOP, POSIX_TRACE_START, POSIX_TRACE_FILTER, 0U);
	CHECK_EQ(ts_number(&events.at[1]), 2);
	CHECK_EQ(ts_number(&events.at[3]), 3);
	CHECK_EQ(ts_number(&events.at[5]), 5);
	CHECK_EQ(ts_number(&events.at[6]), 6);
	ts_target_end(&target);
}

TEST(a_running_stream_records_the_change,
     "FILTER-08 FILTER-10 SYSEVENT-03 SYSEVENT-10 SYSEVENT-11 SYSEVENT-12")
{
	trace_id_t trid = ts_past_start(ts_run(POSIX_TRACE_UNTIL_FULL, SMALL, 64));
	trace_event_id_t a = ts_id("a"), b = ts_id("b");

	set_filter(trid, POSIX_TRACE_SET_EVENTSET, a, 0);
	expect_filter_event(trid, 0, 0, a, 0);
	set_filter(trid, POSIX_TRACE_ADD_EVENTSET, b, 0);
	expect_filter_event(trid, a, 0, a, b);
	/* No change is recorded as well. */
	set_filter(trid, POSIX_TRACE_ADD_EVENTSET, b, 0);
	expect_filter_event(trid, a, b, a, b);
	set_filter(trid, POSIX_TRACE_SUB_EVENTSET, a, 0);
	expect_filter_event(trid, a, b, b, 0);
	set_filter(trid, POSIX_TRACE_SUB_EVENTSET, 0, 0);
	expect_filter_event(trid, b, 0, b, 0);
	no_filter(trid);
	expect_filter_event(trid, b, 0, 0, 0);
	no_filter(trid);
	expect_filter_event(trid, 0, 0, 0, 0);
	ts_expect_none(trid);
}

TEST(filters_hit_system_events_too, "FILTER-11 SYSEVENT-20")
{
	trace_id_t trid = ts_make(POSIX_TRACE_UNTIL_FULL, SMALL, 64);
	trace_event_id_t a = ts_id("a");

	set_filter(trid, POSIX_TRACE_SET_EVENTSET, POSIX_TRACE_START, POSIX_TRACE_STOP);
	ts_start(trid);
	ts_expect_running(trid);
	ts_emit(a, 1);
	ts_stop(trid);
	ts_expect_suspended(trid);
	ts_emit(a, 2);
	ts_start(trid);
	ts_emit(a, 3);
	struct ts_events events = ts_read_ids(trid, a, a, 0U);
	CHECK_EQ(ts_number(&events.at[1]), 3);
	set_filter(trid, POSIX_TRACE_SET_EVENTSET, POSIX_TRACE_START, 0);
	ts_stop(trid);
	ts_start(trid);
	ts_read_ids(trid, POSIX_TRACE_FILTER, POSIX_TRACE_STOP, 0U);
}

TEST(a_filtered_automatic_stop_stops_all_the_same, "FILTER-11 POLICY-15")
{
	trace_id_t trid = ts_make(POSIX_TRACE_UNTIL_FULL, SMALL, 64);
	trace_event_id_t a = ts_id("a");

	set_filter(trid, POSIX_TRACE_SET_EVENTSET, POSIX_TRACE_STOP, 0);
	ts_start(trid);
	uint32_t end = ts_fill(trid, SMALL, a, 64, 0);
	ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL, POSIX_TRACE_NO_OVERRUN);
	ts_emit(a, end);
	struct ts_event event = ts_expect(trid, POSIX_TRACE_START);
	uint32_t due = 0;
	while (ts_try_next(trid, &event)) {
		if (event.info.posix_event_id == POSIX_TRACE_START)
			break;
		CHECK_EQ(event.info.posix_event_id, a);
		CHECK_EQ(ts_number(&event), due);
		due++;
	}
	CHECK_GE(due, end - 1);
	CHECK_LE(due, end);
}

TEST(filter_events_vanish_only_between_two_filters_that_hold_them, "FILTER-12")
{
	trace_id_t trid = ts_past_start(ts_run(POSIX_TRACE_UNTIL_FULL, SMALL, 64));
	trace_event_id_t a = ts_id("a");

	set_filter(trid, POSIX_TRACE_SET_EVENTSET, POSIX_TRACE_FILTER, 0);
	expect_filter_event(trid, 0, 0, POSIX_TRACE_FILTER, 0);
	set_filter(trid, POSIX_TRACE_ADD_EVENTSET, a, 0);
	ts_expect_none(trid);
	set_filter(trid, POSIX_TRACE_SET_EVENTSET, POSIX_TRACE_FILTER, a);
	ts_expect_none(trid);
	set_filter(trid, POSIX_TRACE_SUB_EVENTSET, POSIX_TRACE_FILTER, 0);
	expect_filter_event(trid, POSIX_TRACE_FILTER, a, a, 0);
	set_filter(trid, POSIX_TRACE_SUB_EVENTSET, a, 0);
	expect_filter_event(trid, a, 0, 0, 0);
	ts_expect_none(trid);
}

/* Emission in another thread until told to end: numbered a and b by turns. */
struct emitter {
	trace_event_id_t a, b;
	_Atomic uint32_t done;
	_Atomic bool is_over;
	uint32_t limit;
};

static void *emit_by_turns(void *arg)
{
	struct emitter *emitter = arg;
	while (!emitter->is_over && emitter->done < emitter->limit) {
		ts_emit(emitter->a, emitter->done);
		ts_emit(emitter->b, emitter->done);
		emitter->done++;
		sched_yield();
	}
	return NULL;
}

TEST(events_obey_the_filter_event_before_them, "FILTER-13 FILTER-14 FILTER-08 FILTER-07")
{
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, 8 << 20, 64);
	struct emitter emitters[2] = {{.limit = 20000}, {.limit = 20000}};
	pthread_t threads[2];
	enum { CHANGES = 200 };

	for (int i = 0; i < 2; i++) {
		emitters[i].a = ts_id(i ? "a1" : "a0");
		emitters[i].b = ts_id(i ? "b1" : "b0");
		threads[i] = ts_thread(emit_by_turns, &emitters[i]);
	}
	for (int i = 0; i < CHANGES; i++) {
		uint32_t seen = emitters[i & 1].done;
		if (i % 2)
			no_filter(trid);
		else
			set_filter(trid, POSIX_TRACE_SET_EVENTSET, emitters[0].a, emitters[1].a);
		/* Some events under each filter. */
		while (emitters[i & 1].done < seen + 5 &&
		       emitters[i & 1].done < emitters[i & 1].limit)
			sched_yield();
	}
	for (int i = 0; i < 2; i++) {
		emitters[i].is_over = true;
		ts_join(threads[i]);
	}
	ts_stop(trid);

	struct ts_events events = ts_read_all(trid);
	ts_expect_sorted(&events);
	trace_event_set_t now = ts_set(0U);
	size_t changes = 0;
	for (size_t i = 0; i < events.count; i++) {
		const struct ts_event *event = &events.at[i];
		if (event->info.posix_event_id == POSIX_TRACE_FILTER) {
			trace_event_set_t old_set = ts_set_in(event, 0);
			CHECK(ts_same_set(&old_set, &now));
			now = ts_set_in(event, 1);
			changes++;
		} else if (event->info.posix_event_id != POSIX_TRACE_STOP) {
			CHECK(!ts_is_member(&now, event->info.posix_event_id));
		}
	}
	CHECK_EQ(changes, CHANGES);
	/* What was never filtered is all there. */
	for (int i = 0; i < 2; i++)
		ts_expect_numbers(&events, emitters[i].b, 0, emitters[i].done - 1);
	/* And between two FILTER events without a filter no number is left out. */
	bool is_open = true;
	int64_t last[2] = {-1, -1};
	for (size_t i = 0; i < events.count; i++) {
		trace_event_id_t id = events.at[i].info.posix_event_id;
		if (id == POSIX_TRACE_FILTER) {
			trace_event_set_t set = ts_set_in(&events.at[i], 1);
			is_open = !ts_is_member(&set, emitters[0].a);
			last[0] = last[1] = -1;
		}
		for (int j = 0; j < 2; j++) {
			if (id != emitters[j].a)
				continue;
			CHECK(is_open);
			if (last[j] >= 0)
				CHECK_EQ(ts_number(&events.at[i]), last[j] + 1);
			last[j] = ts_number(&events.at[i]);
		}
	}
}

TEST(what_is_no_set_and_no_how_is_einval, "FILTER-15 FILTER-16 EVENTSET-13 ERRORS-10")
{
	static const int hows[] = {0, 4, -1, 77, 0x101, 1 << 30};
	trace_id_t trid = ts_past_start(ts_run(POSIX_TRACE_UNTIL_FULL, SMALL, 64));
	trace_event_id_t b = ts_id("b");
	trace_event_set_t set = ts_set(ts_id("a"), 0U), zero, garbage;

	memset(&zero, 0, sizeof(zero));
	memset(&garbage, 0xa7, sizeof(garbage));
	set_filter(trid, POSIX_TRACE_SET_EVENTSET, b, 0);
	ts_expect(trid, POSIX_TRACE_FILTER);
	for (size_t i = 0; i < sizeof(hows) / sizeof(*hows); i++)
		CHECK_EQ(posix_trace_set_filter(trid, &set, hows[i]), EINVAL);
	for (int how = POSIX_TRACE_SET_EVENTSET; how <= POSIX_TRACE_SUB_EVENTSET; how++) {
		CHECK_EQ(posix_trace_set_filter(trid, NULL, how), EINVAL);
		CHECK_EQ(posix_trace_set_filter(trid, &zero, how), EINVAL);
		CHECK_EQ(posix_trace_set_filter(trid, &garbage, how), EINVAL);
	}
	CHECK_EQ(posix_trace_get_filter(trid, NULL), EINVAL);
	ts_expect_none(trid);
	ts_expect_filter(trid, b, 0U);
}

TEST(a_filter_holds_for_the_whole_traced_set, "FILTER-20 FILTER-07")
{
	struct ts_target parent = ts_target_fork();
	trace_event_id_t a = ts_target_id(&parent, "a"), b = ts_target_id(&parent, "b");
	trace_id_t trid = ts_run_inherited(parent.pid, POSIX_TRACE_UNTIL_FULL, SMALL, 64);
	set_filter(trid, POSIX_TRACE_SET_EVENTSET, a, 0);
	struct ts_target child = ts_target_fork_child(&parent);

	/* The child is born with it. */
	ts_target_emit(&child, a, 1);
	ts_target_emit(&child, b, 2);
	ts_target_emit(&parent, a, 3);
	set_filter(trid, POSIX_TRACE_SET_EVENTSET, b, 0);
	ts_target_emit(&child, a, 4);
	ts_target_emit(&child, b, 5);
	ts_target_emit(&parent, b, 6);
	ts_target_emit(&parent, a, 7);
	struct ts_events events = ts_read_ids(trid, POSIX_TRACE_START, POSIX_TRACE_FILTER, b,
					      POSIX_TRACE_FILTER, a, a, 0U);
	CHECK_EQ(ts_number(&events.at[2]), 2);
	CHECK_EQ(ts_number(&events.at[4]), 4);
	CHECK_EQ(ts_number(&events.at[5]), 7);
	ts_target_end(&child);
	ts_target_end(&parent);
}

TEST(filtered_events_take_no_room_and_are_no_losses, "FILTER-21 STATUS-12")
{
	trace_id_t trid = ts_make(POSIX_TRACE_UNTIL_FULL, SMALL, 64);
	trace_event_id_t a = ts_id("a"), b = ts_id("b");

	set_filter(trid, POSIX_TRACE_SET_EVENTSET, a, 0);
	ts_start(trid);
	/* Also when the thread has a place in the stream to put them. */
	ts_emit(b, 0);
	ts_flood(SMALL, a, 64, 0);
	ts_expect_running(trid);
	/* What the stream has room for, by the sizes it tells. */
	trace_attr_t resolved;
	unsigned char data[64] = {0};
	uint32_t fit = 0;
	CHECK_OK(posix_trace_get_attr(trid, &resolved));
	size_t event_bytes = ts_user_bytes(&resolved, sizeof(data));
	size_t bytes = ts_values(&resolved).system_bytes + 2 * event_bytes;
	for (; bytes <= SMALL; bytes += event_bytes) {
		posix_trace_event(b, data, sizeof(data));
		fit++;
	}
	CHECK_GT(fit, 20);
	struct ts_events events = ts_read_all(trid);
	CHECK_EQ(ts_count(&events, a), 0);
	CHECK_EQ(ts_count(&events, b), fit + 1);
	ts_expect_running(trid);

	/* Nor if they were recorded before. */
	set_filter(trid, POSIX_TRACE_ADD_EVENTSET, b, 0);
	ts_flood(SMALL, b, 64, 0);
	ts_expect_running(trid);
	set_filter(trid, POSIX_TRACE_SUB_EVENTSET, b, 0);
	events = ts_read_all(trid);
	CHECK_EQ(ts_count(&events, b), 0);

	/* Nor while the stream is full, as they would not have been kept anyway. */
	ts_fill(trid, SMALL, b, 64, 2);
	ts_emit(a, 1);
	ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL, POSIX_TRACE_NO_OVERRUN);
	ts_emit(b, 1);
	ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL, POSIX_TRACE_OVERRUN);
}

#if defined(__x86_64__)

static void exclude(trace_id_t trid, trace_event_id_t id, bool is_pattern)
{
	const struct posixtrace_pattern pattern = {.pt_how = POSIXTRACE_EXCLUDE,
						   .pt_glob = "changed*"};

	if (is_pattern)
		CHECK_OK(posixtrace_set_patterns(trid, &pattern, 1));
	else
		set_filter(trid, POSIX_TRACE_ADD_EVENTSET, id, 0);
}

#define NEW_KEPT (UINT32_C(1) << 31)

/* The traced process records pairs of events, the one that gets excluded first. In report order no
 * pair before FILTER may lack it, and none behind may have it. Before a pair it may record the first
 * events of two types: of those that are excluded, too, there are none from some moment on; those
 * that are not are all there. */
static void check_pairs(trace_id_t trid, trace_event_id_t changed, trace_event_id_t kept,
			bool has_new)
{
	uint32_t new_out = UINT32_MAX, new_kept = UINT32_MAX;
	bool has_ended = false;
	struct ts_events events = ts_read_all(trid);
	size_t filters = 0, pairs[2] = {0};

	for (size_t i = 0; i < events.count; i++) {
		const struct ts_event *e = &events.at[i];

		filters += e->info.posix_event_id == POSIX_TRACE_FILTER;
		CHECK_LE(filters, 1);
		if (e->info.posix_event_id == changed)
			CHECK_EQ(filters, 0);
		if (e->info.posix_event_id > kept && ts_number(e) & NEW_KEPT)
			new_kept = ts_number(e) & ~NEW_KEPT;
		else if (e->info.posix_event_id > kept)
			new_out = ts_number(e);
		if (e->info.posix_event_id != kept)
			continue;
		CHECK(!has_new || new_kept == ts_number(e));
		CHECK(!has_new || !has_ended || new_out != ts_number(e));
		has_ended |= new_out != ts_number(e);
		pairs[filters]++;
		if (filters)
			continue;
		CHECK_EQ(events.at[i - 1].info.posix_event_id, changed);
		CHECK_EQ(ts_number(&events.at[i - 1]), ts_number(e));
	}
	NOTE("%zu pairs before FILTER, %zu behind", pairs[0], pairs[1]);
	CHECK(pairs[0] && pairs[1] && has_ended);
}

/* A controller is stopped at each instruction while it excludes a type, and after each STRIDE of
 * them the process that it traces records a pair of events; none if STRIDE is 0. Returns the
 * number of instructions. */
static uint32_t change_in_steps(bool is_pattern, uint32_t stride)
{
	trace_event_id_t changed = ts_id("changed"), kept = ts_id("kept");
	volatile bool *is_over = harness_share(sizeof(*is_over));
	pid_t target = getpid(), pid = harness_fork();
	uint32_t steps = 0, first = stride ? harness_random(stride) : 0;
	char name[32];
	int status;

	if (pid == 0) {
		trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, 1 << 20, 64);
		trace_id_t trid = ts_create_running(target, &attr);

		CHECK_SYS(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
		__asm__ volatile("int3" ::: "memory");
		exclude(trid, changed, is_pattern);
		*is_over = true;
		if (stride)
			check_pairs(trid, changed, kept, is_pattern);
		ts_shutdown(trid);
		_exit(0);
	}
	CHECK_SYS(waitpid(pid, &status, 0));
	for (; !*is_over; steps++) {
		CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
		if (stride && steps % stride == first) {
			if (is_pattern) {
				snprintf(name, sizeof(name), "kept %u", steps);
				ts_emit(ts_id(name), steps | NEW_KEPT);
				snprintf(name, sizeof(name), "changed %u", steps);
				ts_emit(ts_id(name), steps);
			}
			ts_emit(changed, steps);
			ts_emit(kept, steps);
		}
		CHECK_SYS(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL));
		CHECK_SYS(waitpid(pid, &status, 0));
	}
	NOTE("%u instructions", steps);
	CHECK_SYS(ptrace(PTRACE_DETACH, pid, NULL, NULL));
	CHECK_EXIT(pid, 0);
	return steps;
}

TEST(no_event_is_missing_before_FILTER, "FILTER-05 FILTER-13")
{
	change_in_steps(false, 8);
}

TEST(first_events_are_recorded_until_patterns_exclude_them, "FILTER-13")
{
	/* The more names there are, the more instructions the change takes, during which more names
	 * are made. So their number depends on how many instructions pass between them compared
	 * with how many the change takes without them, which is what the compiler and its
	 * sanitizers make of it. */
	change_in_steps(true, change_in_steps(true, 0) / (harness_sample() > 1 ? 80 : 160));
}

#endif
