/* SPDX-License-Identifier: MIT */
/* Patterns of streams: posixtrace_set_patterns, posixtrace_get_patterns. */
#include "tests/support/logs.h"
#include "tests/support/stream_memory.h"

#include <fnmatch.h>
#include <posixtrace-control.h>
#include <posixtrace.h>
#include <sched.h>

#include "lib/model/glob.h"
#include "lib/stream/pool.h"

static trace_id_t make_stream(pid_t pid)
{
	trace_attr_t attr = ts_inherited_attr(POSIX_TRACE_LOOP, 1 << 20, 64);

	return ts_create(pid, &attr);
}

static struct posixtrace_pattern make_pattern(int how, const char *glob)
{
	struct posixtrace_pattern p = {.pt_how = how};

	snprintf(p.pt_glob, sizeof(p.pt_glob), "%s", glob);
	return p;
}

/* Up to one pattern of each kind; null: none. */
static void set_patterns(trace_id_t trid, const char *only, const char *exclude)
{
	struct posixtrace_pattern patterns[2];
	size_t count = 0;

	if (only)
		patterns[count++] = make_pattern(POSIXTRACE_ONLY, only);
	if (exclude)
		patterns[count++] = make_pattern(POSIXTRACE_EXCLUDE, exclude);
	CHECK_OK(posixtrace_set_patterns(trid, patterns, count));
}

/* Creates a stream with these patterns and starts it. */
static trace_id_t run_with(pid_t pid, const char *only, const char *exclude)
{
	trace_id_t trid = make_stream(pid);

	set_patterns(trid, only, exclude);
	ts_start(trid);
	return trid;
}

static size_t count_named(trace_id_t trid, const struct ts_events *events, const char *name)
{
	return ts_count(events, ts_trid_id(trid, name));
}

/* ---- from the first event on ---- */

TEST(no_event_of_an_excluded_name_is_recorded, "")
{
	trace_id_t trid = run_with(0, NULL, "*.noise");

	for (uint32_t i = 0; i < 5000; i++) {
		ts_emit(ts_id("x.noise"), i);
		if (i % 100 == 0)
			ts_emit(ts_id("x.tune"), i);
	}
	ts_emit(ts_id("other.noise"), 1);
	struct ts_events events = ts_read_all(trid);
	CHECK_EQ(count_named(trid, &events, "x.noise"), 0);
	CHECK_EQ(count_named(trid, &events, "other.noise"), 0);
	CHECK_EQ(count_named(trid, &events, "x.tune"), 50);
	CHECK_EQ(events.count, 51);
}

TEST(of_only_patterns_no_other_name_is_recorded, "", NEEDS_KEEPER)
{
	struct logged s = create_logged(POSIX_TRACE_UNTIL_FULL, 1 << 20, 0, 0);
	trace_event_id_t early = ts_id("early.noise"), tune = ts_id("early.tune");

	set_patterns(s.trid, "*.tune", NULL);
	ts_start(s.trid);
	ts_emit(early, 1);
	ts_emit(tune, 2);
	ts_emit(ts_id("late.noise"), 3);
	trace_event_id_t late = ts_id("late.tune");
	ts_emit(late, 4);
	ts_emit(POSIX_TRACE_UNNAMED_USEREVENT, 5);
	/* Who reads the log gets what was recorded. */
	struct ts_events all = ts_end_log(s.trid, s.fd), events = without_markers(&all);
	ts_expect_ids(&events, POSIX_TRACE_START, tune, late, POSIX_TRACE_STOP, 0);
}

TEST(exclude_takes_precedence_over_only, "")
{
	trace_id_t trid = run_with(0, "x.*", "*.noise");

	ts_emit(ts_id("x.noise"), 1);
	ts_emit(ts_id("x.tune"), 2);
	ts_emit(ts_id("y.tune"), 3);
	ts_read_ids(trid, POSIX_TRACE_START, ts_id("x.tune"), 0);
}

TEST(only_exclude_concerns_system_event_types, "")
{
	trace_id_t trid = run_with(0, "nothing", "posix_trace_st?rt");

	ts_emit(ts_id("x"), 1);
	ts_stop(trid);
	ts_read_ids(trid, POSIX_TRACE_STOP, 0);
	set_patterns(trid, NULL, "*");
	/* After a clear, too. */
	for (int is_cleared = 0; is_cleared < 2; is_cleared++) {
		ts_start(trid);
		ts_stop(trid);
		ts_expect_none(trid);
		ts_clear(trid);
	}
}

static void emit_by(struct ts_target *target, const char *name, int count)
{
	trace_event_id_t id = ts_target_id(target, name);

	for (int i = 0; i < count; i++)
		ts_target_emit(target, id, (uint32_t)i);
}

TEST(names_of_processes_that_were_there_before_are_judged, "")
{
	struct ts_target target = ts_target_fork();
	trace_event_id_t early = ts_target_id(&target, "early.noise");
	trace_id_t trid = run_with(target.pid, NULL, "*.noise");

	ts_target_emit(&target, early, 1);
	emit_by(&target, "late.noise", 3);
	emit_by(&target, "late.tune", 3);
	struct ts_events events = ts_read_all(trid);
	ts_target_end(&target);
	CHECK_EQ(events.count, 4);
	CHECK_EQ(count_named(trid, &events, "late.tune"), 3);
}

TEST(names_of_children_and_of_new_images_are_judged, "", NEEDS_EXEC)
{
	int release;
	struct ts_target shell = ts_target_late(&release), child;
	trace_id_t trid = run_with(shell.pid, "*.tune", "child.*");

	ts_target_release(release);
	emit_by(&shell, "shell.noise", 3);
	emit_by(&shell, "shell.tune", 3);
	child = ts_target_fork_child(&shell);
	emit_by(&child, "child.tune", 3);
	emit_by(&child, "small.noise", 3);
	emit_by(&child, "small.tune", 3);
	ts_target_exec(&child);
	emit_by(&child, "image.noise", 3);
	emit_by(&child, "image.tune", 3);
	emit_by(&child, "child.tune", 3);
	ts_target_end(&child);
	struct ts_events events = ts_read_all(trid);
	ts_target_end(&shell);
	CHECK_EQ(events.count, 1 + 9);
	CHECK_EQ(count_named(trid, &events, "shell.tune"), 3);
	CHECK_EQ(count_named(trid, &events, "small.tune"), 3);
	CHECK_EQ(count_named(trid, &events, "image.tune"), 3);
}

TEST(an_event_on_behalf_of_a_process_is_judged, "")
{
	struct ts_target target = ts_target_fork();
	trace_id_t trid = run_with(target.pid, NULL, "*.noise");
	unsigned int streams;

	CHECK_OK(posixtrace_event_for(target.pid, "x.noise", NULL, NULL, 0, &streams));
	CHECK_EQ(streams, 0);
	CHECK_OK(posixtrace_event_for(target.pid, "x.tune", NULL, NULL, 0, &streams));
	CHECK_EQ(streams, 1);
	ts_target_end(&target);
	ts_read_ids(trid, POSIX_TRACE_START, ts_trid_id(trid, "x.tune"), 0);
}

TEST(each_stream_has_its_own_patterns, "")
{
	trace_id_t a = run_with(0, NULL, "x"), b = run_with(0, "x", NULL);
	trace_event_id_t x = ts_id("x"), y = ts_id("y");

	for (int i = 0; i < 3; i++) {
		ts_emit(x, 1);
		ts_emit(y, 2);
	}
	ts_read_ids(a, POSIX_TRACE_START, y, y, y, 0);
	ts_read_ids(b, POSIX_TRACE_START, x, x, x, 0);
}

/* ---- names that are made while patterns are set ---- */

struct race {
	_Atomic bool is_set; /* patterns have been set */
	_Atomic bool is_over;
	_Atomic uint64_t events;
	/* Some events are recorded. */
	struct harness_gate begun;
};

enum { RACE_NAMES = 900 };

/* Makes names, and an event of each, whose number tells whether patterns were set before. */
TS_ROUTINE(make_names)
{
	struct race *race = *(struct race *const *)arg;
	char name[64];

	for (int i = 0; i < RACE_NAMES && !race->is_over; i++) {
		uint32_t is_set;
		trace_event_id_t id;

		snprintf(name, sizeof(name), "%d.%d.noise", (int)getpid(), i % RACE_NAMES);
		if (posix_trace_eventid_open(name, &id))
			return 1;
		if (id == POSIX_TRACE_UNNAMED_USEREVENT)
			break;
		for (int n = 0; n < 4; n++) {
			is_set = race->is_set;
			posix_trace_event(id, &is_set, sizeof(is_set));
			race->events++;
		}
	}
	return 0;
}

TEST(a_name_made_while_patterns_are_set_is_judged_by_them, "")
{
	struct race *race = harness_share(sizeof(*race));
	size_t before = 0, system = 0;

	struct ts_target parent = ts_target_fork();
	trace_id_t trid = make_stream(parent.pid);
	ts_start(trid);
	struct ts_target child = ts_target_fork_child(&parent);
	ts_target_call_begin(&parent, make_names, &race, sizeof(race));
	ts_target_call_begin(&child, make_names, &race, sizeof(race));
	CHECK_EVENTUALLY(race->events > 200);
	set_patterns(trid, NULL, "*.noise");
	race->is_set = true;
	/* They are set anew all the time, with one more or one less that matches nothing, and each
	 * list goes where the one before the last was. */
	for (int i = 0; i < 200; i++)
		set_patterns(trid, i % 2 ? "*.tune" : NULL, "*.noise");
	race->is_over = true;
	CHECK_EQ(ts_target_result(&child), 0);
	CHECK_EQ(ts_target_result(&parent), 0);
	struct ts_events events = ts_read_all(trid);
	for (size_t i = 0; i < events.count; i++) {
		if (events.at[i].info.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT) {
			system++;
			continue;
		}
		before++;
		/* No call that began after they were set has recorded anything. */
		CHECK_EQ(ts_number(&events.at[i]), 0);
	}
	CHECK_GE(before, 200);
	CHECK_GE(system, 2);
	ts_target_end(&child);
	ts_target_end(&parent);
}

/* The other way round: what both the old and the new patterns record is not lost. */
TS_ROUTINE(make_tunes)
{
	struct race *race = *(struct race *const *)arg;
	char name[64];
	uint32_t number = 0;

	for (int i = 0; !race->is_over; i++) {
		trace_event_id_t id;

		snprintf(name, sizeof(name), "%d.tune", i % 500);
		if (posix_trace_eventid_open(name, &id))
			return -1;
		posix_trace_event(id, &number, sizeof(number));
		number++;
	}
	return (intptr_t)number;
}

TEST(no_event_is_lost_while_patterns_are_set, "")
{
	struct race *race = harness_share(sizeof(*race));
	uint32_t made, next = 0;

	struct ts_target target = ts_target_fork();
	trace_id_t trid = ts_make_of(target.pid, POSIX_TRACE_UNTIL_FULL, 64 << 20, 64);
	ts_start(trid);
	ts_target_call_begin(&target, make_tunes, &race, sizeof(race));
	for (int i = 0; i < 200; i++)
		set_patterns(trid, i % 3 ? "*tune" : NULL, i % 2 ? "*.noise" : NULL);
	race->is_over = true;
	made = (uint32_t)ts_target_result(&target);
	CHECK_GE(made, 1);
	struct ts_events events = ts_read_all(trid);
	for (size_t i = 0; i < events.count; i++)
		if (events.at[i].info.posix_event_id > POSIX_TRACE_UNNAMED_USEREVENT)
			CHECK_EQ(ts_number(&events.at[i]), next++);
	CHECK_EQ(next, made);
	ts_target_end(&target);
}

/* Makes pairs of events with the same number: of a type that patterns sometimes exclude, and of
 * one that they never do. */
TS_ROUTINE(make_pairs)
{
	struct race *race = *(struct race *const *)arg;
	trace_event_id_t x, mark;

	if (posix_trace_eventid_open("x", &x) || posix_trace_eventid_open("mark", &mark))
		return 1;
	for (uint32_t number = 1; number <= 300000; number++) {
		posix_trace_event(x, &number, sizeof(number));
		posix_trace_event(mark, &number, sizeof(number));
		if (number == 2)
			harness_open(&race->begun);
	}
	race->is_over = true;
	return 0;
}

TEST(an_event_before_filter_obeys_the_patterns_before_it, "")
{
	struct race *race = harness_share(sizeof(*race));
	trace_event_id_t x, mark;
	struct ts_event event;
	uint32_t last_x = 0, first_mark = 0, changes = 0, checked = 0;
	bool is_recorded = true;

	race->begun = harness_gate();
	struct ts_target target = ts_target_fork();
	trace_id_t trid = ts_make_of(target.pid, POSIX_TRACE_UNTIL_FULL, 48 << 20, 64);
	x = ts_trid_id(trid, "x");
	mark = ts_trid_id(trid, "mark");
	ts_start(trid);
	ts_target_call_begin(&target, make_pairs, &race, sizeof(race));
	harness_pass(&race->begun);
	do {
		set_patterns(trid, NULL, "x");
		set_patterns(trid, NULL, "y");
	} while (!race->is_over);
	CHECK_EQ(ts_target_result(&target), 0);
	ts_stop(trid);
	/* Between two marks that are recorded while the patterns let x be, there is an x. */
	while (ts_try_next(trid, &event)) {
		trace_event_id_t id = event.info.posix_event_id;

		if (id == POSIX_TRACE_FILTER) {
			trace_event_set_t set = ts_set_in(&event, 1);

			is_recorded = !ts_is_member(&set, x);
			first_mark = 0;
			changes++;
		} else if (id == x) {
			CHECK(is_recorded);
			last_x = ts_number(&event);
		} else if (id == mark && is_recorded) {
			if (first_mark != 0) {
				CHECK_EQ(last_x, ts_number(&event));
				checked++;
			}
			first_mark = ts_number(&event);
		}
		ts_event_free(&event);
	}
	CHECK_GE(changes, 2);
	CHECK_GE(checked, 1);
	ts_target_end(&target);
}

/* ---- beside the filter ---- */

TEST(the_filter_tells_of_patterns, "")
{
	trace_id_t trid = make_stream(0);
	trace_event_id_t noise = ts_id("x.noise"), tune = ts_id("x.tune"), late;

	set_patterns(trid, NULL, "*.noise");
	ts_expect_filter(trid, noise, 0U);
	/* An event of it is not needed for that, nor a start. */
	late = ts_id("late.noise");
	ts_expect_filter(trid, noise, late, 0U);
	set_patterns(trid, "x.*", NULL);
	ts_expect_filter(trid, late, POSIX_TRACE_UNNAMED_USEREVENT, 0U);
	/* START has it, too. */
	ts_start(trid);
	struct ts_event event = ts_expect(trid, POSIX_TRACE_START);
	trace_event_set_t set = ts_set_in(&event, 0);
	ts_expect_set(&set, late, POSIX_TRACE_UNNAMED_USEREVENT, 0U);
	/* Patterns and filter stand beside each other. */
	set = ts_set(tune, 0U);
	ts_set_filter(trid, &set, POSIX_TRACE_ADD_EVENTSET);
	ts_expect_filter(trid, late, tune, POSIX_TRACE_UNNAMED_USEREVENT, 0U);
	set_patterns(trid, NULL, NULL);
	ts_expect_filter(trid, tune, 0U);
}

TEST(new_patterns_of_a_running_stream_are_told_by_a_filter_event, "")
{
	trace_id_t trid = make_stream(0);
	trace_event_id_t noise = ts_id("x.noise"), tune = ts_id("x.tune");

	ts_start(trid);
	ts_expect(trid, POSIX_TRACE_START);
	ts_emit(noise, 1);
	set_patterns(trid, NULL, "*.noise");
	ts_emit(noise, 2);
	ts_emit(tune, 2);
	ts_expect(trid, noise);
	struct ts_event event = ts_expect(trid, POSIX_TRACE_FILTER);
	trace_event_set_t old_set = ts_set_in(&event, 0), new_set = ts_set_in(&event, 1);
	CHECK_EQ(event.len, 2 * sizeof(old_set));
	ts_expect_set(&old_set, 0U);
	ts_expect_set(&new_set, noise, 0U);
	ts_expect(trid, tune);
	/* Nothing changes for the names that there are. */
	set_patterns(trid, NULL, "*.n[o]ise");
	ts_emit(ts_id("late.noise"), 1);
	ts_expect_none(trid);
	/* Other patterns: what they exclude no longer is recorded and read again. */
	set_patterns(trid, "*.noise", NULL);
	ts_emit(noise, 3);
	ts_emit(tune, 3);
	ts_expect(trid, POSIX_TRACE_FILTER);
	ts_expect_number(trid, noise, 3);
	ts_expect_none(trid);
}

TEST(set_filter_decides_of_the_names_that_exist, "")
{
	trace_id_t trid = make_stream(0);
	trace_event_id_t noise = ts_id("x.noise"), hiss = ts_id("hiss.noise"), late;
	trace_event_set_t set = ts_set(noise, 0U);

	set_patterns(trid, NULL, "*.noise");
	ts_set_filter(trid, &set, POSIX_TRACE_SUB_EVENTSET);
	ts_start(trid);
	ts_expect(trid, POSIX_TRACE_START);
	late = ts_id("late.noise");
	ts_emit(noise, 1);
	ts_emit(hiss, 1);
	ts_emit(late, 1);
	ts_expect(trid, noise);
	ts_expect_none(trid);
	/* More patterns, which say the same of that name. */
	set_patterns(trid, NULL, "*noise");
	ts_emit(noise, 2);
	ts_emit(hiss, 2);
	ts_expect(trid, noise);
	ts_expect_none(trid);
	/* A set filter leaves no name that exists to the patterns. */
	set = ts_set(hiss, 0U);
	ts_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
	ts_expect(trid, POSIX_TRACE_FILTER);
	ts_expect_filter(trid, hiss, 0U);
	ts_emit(late, 3);
	ts_emit(hiss, 3);
	ts_emit(ts_id("later.noise"), 3);
	ts_expect(trid, late);
	ts_expect_none(trid);
	/* Patterns that say another thing of a name count again. */
	set_patterns(trid, NULL, NULL);
	set_patterns(trid, NULL, "*.noise");
	set = ts_filter(trid);
	CHECK(ts_is_member(&set, late));
	CHECK(ts_is_member(&set, noise));
}

static void clear_keeps_patterns(trace_id_t trid)
{
	trace_event_id_t noise = ts_id("x.noise"), tune = ts_id("x.tune");
	trace_event_set_t set = ts_set(noise, 0U);
	size_t count;

	set_patterns(trid, NULL, "*.noise");
	ts_set_filter(trid, &set, POSIX_TRACE_SUB_EVENTSET);
	set = ts_set(tune, 0U);
	ts_set_filter(trid, &set, POSIX_TRACE_ADD_EVENTSET);
	ts_start(trid);
	ts_clear(trid);
	ts_emit(noise, 1);
	ts_emit(tune, 2);
	ts_emit(ts_id("late.noise"), 3);
	ts_emit(ts_id("late.tune"), 4);
	ts_expect_filter(trid, noise, ts_id("late.noise"), 0U);
	CHECK_OK(posixtrace_get_patterns(trid, NULL, 0, &count));
	CHECK_EQ(count, 1);
	ts_read_ids(trid, tune, ts_id("late.tune"), 0);
	ts_shutdown(trid);
}

TEST(clear_keeps_patterns_and_empties_the_filter, "", NEEDS_KEEPER)
{
	clear_keeps_patterns(make_stream(0));
	/* This one is cleared by its keeper. */
	clear_keeps_patterns(create_logged(POSIX_TRACE_UNTIL_FULL, 1 << 20, 0, 0).trid);
}

TEST(clear_leaves_system_event_types_to_patterns_set_after_the_filter, "")
{
	trace_id_t trid = run_with(0, NULL, "*");
	trace_event_set_t set = ts_set(POSIX_TRACE_STOP, 0U);

	ts_set_filter(trid, &set, POSIX_TRACE_SUB_EVENTSET);
	set_patterns(trid, NULL, "posix*");
	set = ts_filter(trid);
	CHECK(!ts_is_member(&set, POSIX_TRACE_STOP));
	ts_clear(trid);
	set = ts_filter(trid);
	CHECK(ts_is_member(&set, POSIX_TRACE_STOP));
}

/* ---- set and get ---- */

TEST(patterns_come_back, "")
{
	trace_id_t trid = make_stream(0);
	struct posixtrace_pattern given[3], got[3];
	size_t count = 77;

	CHECK_OK(posixtrace_get_patterns(trid, got, 3, &count));
	CHECK_EQ(count, 0);
	ts_id("x.noise");
	given[0] = make_pattern(POSIXTRACE_ONLY, "x.*");
	given[1] = make_pattern(POSIXTRACE_EXCLUDE, "y.*");
	given[2] = make_pattern(POSIXTRACE_EXCLUDE, "posix_trace_start");
	given[1].pt_has_matched = 1;
	CHECK_OK(posixtrace_set_patterns(trid, given, 3));
	memset(got, 0xdb, sizeof(got));
	CHECK_OK(posixtrace_get_patterns(trid, got, 2, &count));
	CHECK_EQ(count, 3);
	CHECK_EQ(got[0].pt_how, POSIXTRACE_ONLY);
	CHECK_EQ(got[0].pt_has_matched, 1);
	CHECK(!strcmp(got[0].pt_glob, "x.*"));
	CHECK_EQ(got[1].pt_how, POSIXTRACE_EXCLUDE);
	CHECK_EQ(got[1].pt_has_matched, 0);
	CHECK_EQ((unsigned char)got[2].pt_glob[0], 0xdb);
	ts_id("y.late");
	CHECK_OK(posixtrace_get_patterns(trid, got, 3, &count));
	CHECK_EQ(got[1].pt_has_matched, 1);
	CHECK_EQ(got[2].pt_has_matched, 1);
	CHECK_OK(posixtrace_set_patterns(trid, NULL, 0));
	CHECK_OK(posixtrace_get_patterns(trid, got, 3, &count));
	CHECK_EQ(count, 0);
}

TEST(as_many_and_as_long_patterns_as_can_be, "")
{
	static struct posixtrace_pattern many[POSIXTRACE_PATTERNS_MAX + 1];
	trace_id_t trid = make_stream(0);
	char name[TRACE_EVENT_NAME_MAX + 1];
	size_t count;

	memset(name, 'x', TRACE_EVENT_NAME_MAX);
	name[TRACE_EVENT_NAME_MAX] = '\0';
	for (size_t i = 0; i < PTRC_ARRAY_COUNT(many); i++)
		many[i] = make_pattern(POSIXTRACE_EXCLUDE, "nothing");
	many[POSIXTRACE_PATTERNS_MAX - 1] = make_pattern(POSIXTRACE_EXCLUDE, name);
	CHECK_EQ(posixtrace_set_patterns(trid, many, POSIXTRACE_PATTERNS_MAX + 1), E2BIG);
	CHECK_OK(posixtrace_set_patterns(trid, many, POSIXTRACE_PATTERNS_MAX));
	CHECK_OK(posixtrace_get_patterns(trid, many, POSIXTRACE_PATTERNS_MAX, &count));
	CHECK_EQ(count, POSIXTRACE_PATTERNS_MAX);
	ts_start(trid);
	trace_event_id_t id = ts_id(name);
	ts_emit(id, 1);
	ts_expect(trid, POSIX_TRACE_START);
	ts_expect_none(trid);
}

TEST(wrong_patterns_change_nothing, "")
{
	trace_id_t trid = make_stream(0);
	struct posixtrace_pattern p = make_pattern(POSIXTRACE_EXCLUDE, "*.noise");
	size_t count = 0;

	CHECK_OK(posixtrace_set_patterns(trid, &p, 1));
	CHECK_EQ(posixtrace_set_patterns(trid, NULL, 1), EINVAL);
	p.pt_how = 0;
	CHECK_EQ(posixtrace_set_patterns(trid, &p, 1), EINVAL);
	p = make_pattern(POSIXTRACE_ONLY, "");
	CHECK_EQ(posixtrace_set_patterns(trid, &p, 1), EINVAL);
	memset(p.pt_glob, 'x', sizeof(p.pt_glob));
	CHECK_EQ(posixtrace_set_patterns(trid, &p, 1), EINVAL);
	CHECK_EQ(posixtrace_get_patterns(trid, &p, 1, NULL), EINVAL);
	CHECK_EQ(posixtrace_get_patterns(trid, NULL, 1, &count), EINVAL);
	CHECK_EQ(posixtrace_set_patterns(trid + 1, NULL, 0), EINVAL);
	CHECK_EQ(posixtrace_get_patterns(trid + 1, NULL, 0, &count), EINVAL);
	CHECK_OK(posixtrace_get_patterns(trid, &p, 1, &count));
	CHECK_EQ(count, 1);
	CHECK(!strcmp(p.pt_glob, "*.noise"));
}

/* The first event of a name. */
static void emit_new(const char *prefix, int number)
{
	char name[32];

	snprintf(name, sizeof(name), "%s.%d", prefix, number);
	ts_emit(ts_id(name), 1);
}

/* Whatever another process writes there, nothing crashes or hangs. */
TEST(hostile_patterns_in_shared_memory, "")
{
	trace_id_t trid = run_with(0, "x*", "*.noise");
	struct posixtrace_pattern patterns[2];
	size_t count;

	struct ptrc_stream_header *h = find_stream();
	struct ptrc_pattern_list *list = ptrc_stream_patterns(h, h->patterns);
	list->count = UINT32_MAX;
	/* As if all of it had been populated. */
	memset(list->pattern, '*', sizeof(list->pattern));
	list->system = UINT32_MAX;
	for (int i = 0; i < 20; i++)
		emit_new("x", i);
	CHECK_OK(posixtrace_get_patterns(trid, patterns, 2, &count));
	CHECK_EQ(count, POSIXTRACE_PATTERNS_MAX);
	CHECK_EQ(patterns[0].pt_glob[TRACE_EVENT_NAME_MAX], '\0');
	memset(list->pattern, '[', sizeof(list->pattern));
	for (int i = 0; i < 20; i++)
		emit_new("y", i);
	for (uint32_t word = 0; word < 64; word++) {
		h->patterns = word * 0x04040405U | PTRC_PATTERNS_ON;
		emit_new("z", (int)word);
		ts_filter(trid);
	}
	ts_stop(trid);
	CHECK_OK(posixtrace_set_patterns(trid, NULL, 0));
	ts_shutdown(trid);
}

/* ---- what matches ---- */

TEST(patterns_match_as_in_a_shell, "")
{
	static const struct {
		const char *glob, *name;
		bool is_match;
	} cases[] = {
		{"*", "", true},
		{"*", "a/b.c", true},
		{"a*b*c", "aXbXbXc", true},
		{"a*b*c", "aXcXb", false},
		{"?", "", false},
		{"?\?", "ab", true},
		{"[a-c]x", "bx", true},
		{"[!a-c]x", "bx", false},
		{"[^a-c]x", "dx", true},
		{"[]x]", "]", true},
		{"[]-a]", "^", true},
		{"[a-]", "-", true},
		{"[[:digit:]]*", "7up", true},
		{"[[:digit:]]*", "up", false},
		{"[![:alpha:]_]", "_", false},
		{"[[:nope:]]", ":]", true},
		{"[ab", "[ab", true},
		{"x[", "x[", true},
		{"\\*", "*", true},
		{"\\*", "x", false},
		{"[\\]]", "]", true},
		{"a\\", "a", false},
		{"\xc3\xa9", "\xc3\xa9", true},
		{"?", "\xc3\xa9", false},
		{"[\x80-\xff]", "\xc3", true},
		{"", "", true},
		{"", "a", false},
	};

	for (size_t i = 0; i < PTRC_ARRAY_COUNT(cases); i++)
		if (ptrc_glob_matches(cases[i].glob, cases[i].name) != cases[i].is_match)
			harness_fail("'%s' and '%s'", cases[i].glob, cases[i].name);
}

TEST(patterns_match_as_fnmatch_has_it, "")
{
	/* Without a dot: "[." begins what only fnmatch(3) knows. */
	static const char glob_bytes[] = "abc*?[]!-\\", name_bytes[] = "abc]-[\\";
	uint32_t seed = 12345;

	for (int i = 0; i < 300000; i++) {
		char glob[9], name[7];

		seed = seed * 1664525 + 1013904223;
		size_t glob_length = seed >> 8 & 7;
		size_t name_length = (seed >> 16 & 7) % 7;
		for (size_t n = 0; n < glob_length; n++) {
			seed = seed * 1664525 + 1013904223;
			glob[n] = glob_bytes[(seed >> 16) % (sizeof(glob_bytes) - 1)];
		}
		for (size_t n = 0; n < name_length; n++) {
			seed = seed * 1664525 + 1013904223;
			name[n] = name_bytes[(seed >> 16) % (sizeof(name_bytes) - 1)];
		}
		glob[glob_length] = name[name_length] = '\0';
		if (ptrc_glob_matches(glob, name) != !fnmatch(glob, name, 0))
			harness_fail("'%s' and '%s'", glob, name);
	}
}

TEST(a_pattern_with_many_stars_takes_no_time_worth_mentioning, "")
{
	char glob[256], name[256];

	for (size_t i = 0; i < 255; i++) {
		glob[i] = i % 2 ? 'a' : '*';
		name[i] = 'a';
	}
	glob[253] = 'b';
	glob[254] = glob[255] = name[255] = '\0';
	for (int i = 0; i < 1000; i++)
		CHECK(!ptrc_glob_matches(glob, name));
	memset(glob, '[', 255);
	glob[0] = '*';
	for (int i = 0; i < 10; i++)
		CHECK(!ptrc_glob_matches(glob, name));
}
