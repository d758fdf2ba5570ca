/* SPDX-License-Identifier: MIT */
/* Event names and identifiers, and the list of event types of a stream. */
#include "include/posixtrace-private.h"
#include "tests/support/support.h"

#include <unistd.h>

#define SMALL 8192
#define USER_NAMES (TRACE_USER_EVENT_MAX - 1)
#define LAST_ID (8U + TRACE_USER_EVENT_MAX)

static trace_id_t create_small(pid_t pid)
{
	return ts_make_of(pid, POSIX_TRACE_LOOP, SMALL, 256);
}

static trace_id_t create_running_small(pid_t pid)
{
	return ts_run_of(pid, POSIX_TRACE_LOOP, SMALL, 256);
}

static trace_attr_t inherited_attr(void)
{
	return ts_inherited_attr(POSIX_TRACE_LOOP, SMALL, 256);
}

static bool is_predefined(trace_event_id_t id)
{
	for (size_t i = 0; i < TS_PREDEFINED; i++)
		if (ts_predefined[i].id == id)
			return true;
	return false;
}

/* The next user event of a log, START, STOP and FILTER passed over. */
static struct ts_event next_user(trace_id_t log)
{
	struct ts_event event;

	do
		event = ts_next(log);
	while (event.info.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT);
	return event;
}

/* One step of the list; 0 when nothing is left. */
static trace_event_id_t list_next(trace_id_t trid)
{
	trace_event_id_t id = 471100;
	int unavailable = 471100;
	CHECK_OK(posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable));
	if (unavailable) {
		CHECK_EQ(id, 471100);
		return 0;
	}
	CHECK_NE(id, 471100);
	return id;
}

struct list {
	size_t count;
	trace_event_id_t ids[LAST_ID + 1];
};

/* From the position to the end. */
static void read_list(trace_id_t trid, struct list *list)
{
	trace_event_id_t id;
	for (list->count = 0; (id = list_next(trid)); list->ids[list->count++] = id)
		CHECK_LT(list->count, LAST_ID);
}

static size_t times_in(const struct list *list, trace_event_id_t id)
{
	size_t times = 0;
	for (size_t i = 0; i < list->count; i++)
		times += list->ids[i] == id;
	return times;
}

static char *numbered(char name[32], const char *prefix, int number)
{
	snprintf(name, 32, "%s %d", prefix, number);
	return name;
}

/* Opens as many names as a process may have. */
static void open_all(trace_event_id_t ids[USER_NAMES])
{
	char name[32];

	for (int i = 0; i < USER_NAMES; i++)
		ids[i] = ts_id(numbered(name, "name", i));
}

static void *open_in_thread(void *arg)
{
	return (void *)(uintptr_t)ts_id(arg);
}

TEST(a_name_has_one_identifier_in_all_threads, "EVENTID-01 EVENTID-02")
{
	char name[] = "everywhere";
	trace_event_id_t id = ts_id(name);

	CHECK_NE(id, 0);
	CHECK_EQ(ts_id(name), id);
	CHECK_EQ((uintptr_t)ts_join(ts_thread(open_in_thread, name)), id);
	char other[] = "of a thread";
	uintptr_t of_thread = (uintptr_t)ts_join(ts_thread(open_in_thread, other));
	CHECK_NE(of_thread, id);
	CHECK_EQ(ts_id(other), of_thread);
	/* The string is copied. */
	memset(name, 'x', sizeof(name) - 1);
	CHECK_EQ(ts_id("everywhere"), id);
}

TEST(different_names_have_different_identifiers, "EVENTID-03 EVENTID-05 EVENTID-06 EVENTID-30")
{
	/* clang-format off */
	static const char *const names[] = {
		"a", "A", "b", "a ", " a", "a\n", "a/b", "a%s", "a%n", "ab", "aa", "\x01", "\xff",
		"\xff\xfe", "\xc3\xa9", "e\xcc\x81", ".", "..", "/", "a\tb", "a\rb", "\x7f", "*",
		"\"a\"", "a\\", "0", "00", "posix_trace_star", "posix_trace_start ",
		"Posix_trace_start", "POSIX_TRACE_START", "",
	};
	/* clang-format on */
	enum { COUNT = sizeof(names) / sizeof(*names) };
	trace_id_t trid = create_small(0);
	trace_event_id_t ids[COUNT];

	for (int i = 0; i < COUNT; i++) {
		ids[i] = ts_id(names[i]);
		CHECK_NE(ids[i], 0);
		CHECK(!is_predefined(ids[i]));
		for (int j = 0; j < i; j++)
			CHECK_NE(ids[i], ids[j]);
	}
	for (int i = 0; i < COUNT; i++) {
		CHECK_EQ(ts_id(names[i]), ids[i]);
		CHECK_EQ(ts_trid_id(trid, names[i]), ids[i]);
		ts_expect_name(trid, ids[i], names[i]);
	}
}

TEST(names_of_255_bytes_are_the_longest, "EVENTID-04 EVENTID-21 ERRORS-10")
{
	trace_id_t trid = create_small(0);
	char name[5000], got[TRACE_EVENT_NAME_MAX + 2];
	trace_event_id_t id = 42;
	struct list list;

	memset(name, 'n', sizeof(name));
	name[4096] = '\0';
	CHECK_EQ(posix_trace_eventid_open(name, &id), ENAMETOOLONG);
	CHECK_EQ(posix_trace_trid_eventid_open(trid, name, &id), ENAMETOOLONG);
	name[256] = '\0';
	CHECK_EQ(posix_trace_eventid_open(name, &id), ENAMETOOLONG);
	CHECK_EQ(posix_trace_trid_eventid_open(trid, name, &id), ENAMETOOLONG);
	CHECK_EQ(id, 42);
	read_list(trid, &list);
	CHECK_EQ(list.count, TS_PREDEFINED);

	name[255] = '\0';
	CHECK_OK(posix_trace_eventid_open(name, &id));
	name[0] = 'm';
	trace_event_id_t other = ts_trid_id(trid, name);
	CHECK_NE(other, id);
	/* The last byte counts. */
	name[254] = 'x';
	CHECK_NE(ts_id(name), other);
	name[254] = 'n';
	CHECK_EQ(ts_id(name), other);

	memset(got, '#', sizeof(got));
	CHECK_OK(posix_trace_eventid_get_name(trid, other, got));
	CHECK_EQ(got[255], '\0');
	CHECK_STR_EQ(got, name);
	CHECK_EQ(got[256], '#');
}

TEST(a_process_has_8182_names, "EVENTID-07 EVENTID-08 EVENTID-17 EVENTID-03")
{
	static bool seen[LAST_ID + 1];
	static trace_event_id_t ids[USER_NAMES];
	trace_event_id_t id;
	char name[32];

	open_all(ids);
	for (int i = 0; i < USER_NAMES; i++) {
		CHECK_LE(ids[i], LAST_ID);
		CHECK(!is_predefined(ids[i]) && ids[i] && !seen[ids[i]]);
		seen[ids[i]] = true;
	}
	for (int i = 0; i < 3; i++) {
		CHECK_OK(posix_trace_eventid_open(numbered(name, "too many", i), &id));
		CHECK_EQ(id, POSIX_TRACE_UNNAMED_USEREVENT);
	}
	for (int i = 0; i < USER_NAMES; i++)
		CHECK_EQ(ts_id(numbered(name, "name", i)), ids[i]);
	CHECK_EQ(ts_id("posix_trace_filter"), POSIX_TRACE_FILTER);

	/* What got no identifier of its own still does not. */
	CHECK_EQ(ts_id(numbered(name, "too many", 0)), POSIX_TRACE_UNNAMED_USEREVENT);
	struct list list;
	read_list(create_small(0), &list);
	CHECK_EQ(list.count, TS_PREDEFINED + USER_NAMES);
}

TEST(each_of_8182_names_is_filtered_and_counted_for_itself, "EVENTID-07 EVENTLIST-10 FILTER-01",
     NEEDS_KEEPER)
{
	static struct posixtrace_type_count counts[LAST_ID + 1];
	static trace_event_id_t ids[USER_NAMES];
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, 2 << 20, 64);
	int fd = ts_temp_file();
	trace_id_t trid, log, both[2];
	char name[32];

	CHECK_OK(posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND));
	both[0] = trid = ts_create_log(0, &attr, fd);
	both[1] = ts_create_running(0, &attr);
	ts_start(trid);
	open_all(ids);
	for (uint32_t i = 0; i < USER_NAMES; i++)
		for (uint32_t k = 0; k <= i % 2; k++)
			ts_emit(ids[i], i);
	for (int k = 0; k < 4; k++) {
		/* Flushed, or in part read, and in the end neither. */
		if (k == 2)
			ts_flush(trid);
		for (uint32_t i = 0; k == 1 && i < 5000; i++)
			ts_next(both[1]);
		CHECK_OK(posixtrace_get_type_counts(both[k % 2], counts, LAST_ID + 1));
		CHECK_EQ(counts[0].pt_events, 0);
		for (uint32_t i = 0; i < USER_NAMES; i++) {
			CHECK_EQ(counts[ids[i]].pt_events, 1 + i % 2);
			CHECK_EQ(counts[ids[i]].pt_bytes, 4 * (1 + i % 2));
		}
	}
	/* Each only by its own bit. */
	for (uint32_t i = 0; i < USER_NAMES; i += 97) {
		trace_event_set_t set = ts_set(ids[i], 0U);

		ts_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
		ts_emit(ids[i], 1000000);
		ts_emit(ids[(i + 1) % USER_NAMES], 2000000 + i);
	}
	log = ts_end_and_open_log(trid, fd);
	for (uint32_t i = 0; i < USER_NAMES; i++)
		for (uint32_t k = 0; k <= i % 2; k++) {
			struct ts_event event = next_user(log);

			CHECK_EQ(event.info.posix_event_id, ids[i]);
			CHECK_EQ(ts_number(&event), i);
			ts_expect_name(log, ids[i], numbered(name, "name", (int)i));
		}
	for (uint32_t i = 0; i < USER_NAMES; i += 97) {
		struct ts_event event = next_user(log);

		CHECK_EQ(event.info.posix_event_id, ids[(i + 1) % USER_NAMES]);
		CHECK_EQ(ts_number(&event), 2000000 + i);
	}
}

TEST(names_beyond_the_limit_are_counted, "EVENTID-07", NEEDS_KEEPER)
{
	static struct ptrc_inspected_process process;
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, 65536, 16);
	int fd = ts_temp_file();
	trace_id_t trids[] = {ts_create_log(0, &attr, fd), ts_create(0, &attr)}, log;
	static trace_event_id_t ids[USER_NAMES];
	char name[32];

	open_all(ids);
	CHECK_EQ(ts_figure(trids[1], "refused_names"), 0);
	CHECK_OK(ptrc_inspect_process(0, &process));
	CHECK_EQ(process.pt_refused_names, 0);
	CHECK_STR_EQ(process.pt_refused_name, "");
	/* Each counts once, whoever opens it, and however often. */
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < 5; i++) {
			numbered(name, "too many", i);
			CHECK_EQ(k == 1 ? ts_trid_id(trids[1], name) : ts_id(name),
				 POSIX_TRACE_UNNAMED_USEREVENT);
		}
	for (int i = 0; i < 2; i++) {
		ts_clear(trids[i]);
		CHECK_EQ(ts_figure(trids[i], "refused_names"), 5);
	}
	CHECK_OK(ptrc_inspect_process(0, &process));
	CHECK_EQ(process.pt_refused_names, 5);
	CHECK_STR_EQ(process.pt_refused_name, numbered(name, "too many", 0));
	CHECK_EQ(process.pt_events, USER_NAMES);
	ts_shutdown(trids[0]);
	log = ts_open_log(fd);
	CHECK_EQ(ts_figure(log, "refused_names"), 5);
}

TEST(the_highest_identifiers_keep_their_flags, "EVENT-08 CLOCK-02", NEEDS_KEEPER)
{
	static const unsigned char data[100] = {1, 2, 3};
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, 65536, 16);
	static trace_event_id_t ids[USER_NAMES];
	int fd = ts_temp_file();
	trace_id_t trids[2];

	CHECK_OK(posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND));
	trids[0] = ts_create_log(0, &attr, fd);
	trids[1] = ts_create(0, &attr);
	open_all(ids);
	for (int i = 0; i < 2; i++) {
		trace_event_set_t set = ts_set(POSIX_TRACE_START, 0U);

		/* START is recorded as a hidden one. */
		ts_set_filter(trids[i], &set, POSIX_TRACE_SET_EVENTSET);
		ts_start(trids[i]);
	}
	for (trace_event_id_t id = LAST_ID - 20; id <= LAST_ID; id++) {
		posix_trace_event(id, data, 16);
		posix_trace_event(id, data, 17);
	}
	ts_shutdown(trids[0]);
	trids[0] = ts_open_log(fd);
	for (int i = 0; i < 2; i++)
		for (trace_event_id_t id = LAST_ID - 20; id <= LAST_ID; id++)
			for (int k = 0; k < 2; k++) {
				struct ts_event event = i ? ts_next(trids[i]) : next_user(trids[i]);

				CHECK_EQ(event.info.posix_event_id, id);
				CHECK_EQ(event.len, 16);
				CHECK_EQ(event.info.posix_truncation_status,
					 k ? POSIX_TRACE_TRUNCATED_RECORD
					   : POSIX_TRACE_NOT_TRUNCATED);
				CHECK_EQ(event.info.posix_pid, getpid());
				CHECK_MEM_EQ(event.data, data, 16);
			}
	ts_close_log(trids[0]);
}

TEST(names_through_a_stream_count_too, "EVENTID-15 EVENTID-12 EVENTID-08")
{
	struct ts_target target = ts_target_fork();
	trace_id_t trid = create_small(target.pid);
	enum { MINE = USER_NAMES / 2, THEIRS = USER_NAMES - MINE };
	static trace_event_id_t mine[MINE], theirs[THEIRS];
	char name[32];

	for (int i = 0; i < MINE; i++)
		mine[i] = ts_trid_id(trid, numbered(name, "mine", i));
	for (int i = 0; i < THEIRS; i++)
		theirs[i] = ts_target_id(&target, numbered(name, "theirs", i));
	CHECK(!is_predefined(theirs[THEIRS - 1]));
	CHECK_EQ(ts_trid_id(trid, "one more"), POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK_EQ(ts_target_id(&target, "one more"), POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK_EQ(ts_trid_id(trid, "posix_trace_stop"), POSIX_TRACE_STOP);
	for (int i = 0; i < MINE; i += 70) {
		CHECK_EQ(ts_target_id(&target, numbered(name, "mine", i)), mine[i]);
		CHECK_EQ(ts_trid_id(trid, numbered(name, "theirs", i)), theirs[i]);
	}
	/* This process's own names are other ones. */
	CHECK(!is_predefined(ts_id("one more")));
	ts_target_end(&target);
}

TEST(an_inheriting_family_shares_the_limit, "EVENTID-09 EVENTID-16 FORK-04")
{
	trace_attr_t attr = inherited_attr();
	trace_id_t trid = ts_create_running(0, &attr);
	char name[32];

	for (int i = 0; i < 600; i++)
		ts_id(numbered(name, "parent", i));
	struct ts_target child = ts_target_fork();
	for (int i = 0; i < USER_NAMES - 600; i++)
		CHECK(!is_predefined(ts_target_id(&child, numbered(name, "child", i))));
	CHECK_EQ(ts_target_id(&child, "too many"), POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK_EQ(ts_id("too many, too"), POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK_EQ(ts_trid_id(trid, "even more"), POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK_EQ(ts_id("child 7"), ts_target_id(&child, "child 7"));
	CHECK_EQ(ts_target_id(&child, "parent 599"), ts_id("parent 599"));
	ts_target_end(&child);
}

TEST(names_opened_while_traced_are_known_at_once_to_all_streams,
     "EVENTID-11 EVENTID-13 EVENTID-14 EVENTID-22 EVENTLIST-04")
{
	struct ts_target target = ts_target_fork();
	trace_id_t one = create_small(target.pid), two = create_small(target.pid);
	struct list list;
	char name[32];

	for (int i = 0; i < 50; i++) {
		numbered(name, "now", i);
		if (i == 25)
			ts_start(one);
		/* By the target, or through one of the streams. */
		trace_event_id_t id = i % 2 ? ts_trid_id(one, name) : ts_target_id(&target, name);
		for (int twice = 0; twice < 2; twice++) {
			ts_expect_name(one, id, name);
			ts_expect_name(two, id, name);
		}
		CHECK_EQ(ts_trid_id(two, name), id);
		CHECK_OK(posix_trace_eventtypelist_rewind(two));
		read_list(two, &list);
		CHECK_EQ(times_in(&list, id), 1);
	}
	ts_expect_name(create_small(target.pid), list.ids[TS_PREDEFINED + 7], "now 7");
	ts_target_end(&target);
}

TEST(either_side_may_open_a_name_first, "EVENTID-12 EVENTID-13")
{
	struct ts_target target = ts_target_fork();
	trace_id_t trid = ts_past_start(create_running_small(target.pid));
	/* So that equal numbers are no accident. */
	ts_target_id(&target, "filler");
	ts_id("filler 1");
	ts_id("filler 2");
	ts_id("filler 3");

	trace_event_id_t mine = ts_trid_id(trid, "controller first");
	trace_event_id_t theirs = ts_target_id(&target, "target first");
	CHECK_NE(mine, theirs);
	CHECK_EQ(ts_target_id(&target, "controller first"), mine);
	CHECK_EQ(ts_trid_id(trid, "target first"), theirs);
	ts_target_emit(&target, mine, 1);
	ts_expect(trid, mine);
	ts_target_end(&target);
}

TEST(processes_traced_into_one_stream_have_one_mapping, "EVENTID-16 EVENTLIST-05 FORK-03")
{
	trace_attr_t attr = inherited_attr();
	struct ts_target parent = ts_target_fork();
	trace_id_t trid = ts_create_running(parent.pid, &attr);
	trace_event_id_t before = ts_target_id(&parent, "before the fork");
	struct ts_target child = ts_target_fork_child(&parent);
	struct ts_target grandchild = ts_target_fork_child(&child);
	struct ts_target *all[] = {&parent, &child, &grandchild};
	trace_event_id_t ids[3];
	struct list list;
	char name[32];

	for (int i = 0; i < 3; i++) {
		CHECK_EQ(ts_target_id(all[i], "before the fork"), before);
		ids[i] = ts_target_id(all[i], numbered(name, "by", i));
	}
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			CHECK_EQ(ts_target_id(all[j], numbered(name, "by", i)), ids[i]);
	CHECK(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
	read_list(trid, &list);
	CHECK_EQ(list.count, TS_PREDEFINED + 4);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(times_in(&list, ids[i]), 1);
		ts_expect_name(trid, ids[i], numbered(name, "by", i));
	}
	ts_target_end(&grandchild);
	ts_target_end(&child);
	ts_target_end(&parent);
}

TEST(a_predefined_name_has_its_identifier, "EVENTID-17")
{
	trace_id_t trid = create_small(0);
	struct list list;

	for (size_t i = 0; i < TS_PREDEFINED; i++) {
		CHECK_EQ(ts_id(ts_predefined[i].name), ts_predefined[i].id);
		CHECK_EQ(ts_trid_id(trid, ts_predefined[i].name), ts_predefined[i].id);
	}
	read_list(trid, &list);
	CHECK_EQ(list.count, TS_PREDEFINED);
}

TEST(equal_compares_identifiers, "EVENTID-18 EVENTID-19")
{
	trace_id_t trid = create_small(0), trids[] = {trid, 0, ~0UL, trid + 12345};
	trace_event_id_t a = ts_id("a"), b = ts_id("b");

	for (int i = 0; i < 4; i++) {
		CHECK(posix_trace_eventid_equal(trids[i], a, a));
		CHECK(posix_trace_eventid_equal(trids[i], POSIX_TRACE_STOP, POSIX_TRACE_STOP));
		CHECK_EQ(posix_trace_eventid_equal(trids[i], a, b), 0);
		CHECK_EQ(posix_trace_eventid_equal(trids[i], a, POSIX_TRACE_STOP), 0);
		CHECK(posix_trace_eventid_equal(trids[i], 999999, 999999));
		CHECK_EQ(posix_trace_eventid_equal(trids[i], 0, 999999), 0);
		CHECK(posix_trace_eventid_equal(trids[i], 0, 0));
	}
	ts_shutdown(trid);
	CHECK(posix_trace_eventid_equal(trid, a, a));
	CHECK_EQ(posix_trace_eventid_equal(trid, a, b), 0);
}

TEST(an_identifier_without_a_name_is_einval, "EVENTID-24 EVENTID-30 ERRORS-10", NEEDS_KEEPER)
{
	static const trace_event_id_t none[] = {0,    1000,  8190,     8191, 8192,
						8193, 65535, 1U << 31, ~0U};
	int fd = ts_temp_file();
	trace_id_t plain = create_small(0), logged = ts_create_log(0, NULL, fd);
	trace_event_id_t last = ts_id("last");
	char name[TRACE_EVENT_NAME_MAX + 1] = "untouched";

	ts_shutdown(logged);
	trace_id_t trids[] = {plain, ts_open_log(fd)};
	for (int i = 0; i < 2; i++) {
		for (size_t j = 0; j < sizeof(none) / sizeof(*none); j++)
			CHECK_EQ(posix_trace_eventid_get_name(trids[i], none[j], name), EINVAL);
		CHECK_EQ(posix_trace_eventid_get_name(trids[i], last + 1, name), EINVAL);
		CHECK_EQ(posix_trace_eventid_get_name(trids[i], last, NULL), EINVAL);
		CHECK_STR_EQ(name, "untouched");
		ts_expect_name(trids[i], last, "last");
	}
}

TEST(names_outlive_the_processes_that_opened_them, "EVENTID-27 EXIT-05 LOG-42", NEEDS_KEEPER)
{
	trace_attr_t attr = inherited_attr();
	struct ts_target target = ts_target_fork();
	int fd = ts_temp_file();
	trace_id_t trid = ts_create_log(target.pid, &attr, fd);

	ts_start(trid);
	struct ts_target child = ts_target_fork_child(&target);
	trace_event_id_t of_child = ts_target_id(&child, "of the child");
	ts_target_emit(&child, of_child, 1);
	ts_target_kill(&child);
	trace_event_id_t of_image = ts_target_id(&target, "of the old image");
	ts_target_exec(&target);
	trace_event_id_t of_target = ts_target_id(&target, "of the new image");
	CHECK(of_child != of_image && of_image != of_target && of_child != of_target);
	ts_target_end(&target);

	trace_id_t trids[2] = {trid, 0};
	for (int i = 0; i < 2; i++) {
		ts_expect_name(trids[i], of_child, "of the child");
		ts_expect_name(trids[i], of_image, "of the old image");
		ts_expect_name(trids[i], of_target, "of the new image");
		if (i == 0) {
			/* Also names after the end. */
			CHECK_EQ(ts_trid_id(trid, "of the child"), of_child);
			ts_shutdown(trid);
			trids[1] = ts_open_log(fd);
		}
	}
}

enum { RACE_NAMES = 60 };

static trace_event_id_t routine_ids[RACE_NAMES];

TS_ROUTINE(do_race)
{
	char name[32];
	for (int i = 0; i < RACE_NAMES; i++)
		routine_ids[i] = ts_id(numbered(name, "race", i));
	return 0;
}

TS_ROUTINE(do_tell)
{
	return (intptr_t)routine_ids[*(const int *)arg];
}

TEST(processes_that_race_get_one_identifier, "EVENTID-29 EVENTID-13 EVENTID-16")
{
	trace_attr_t attr = inherited_attr();
	struct ts_target target = ts_target_fork();
	trace_id_t trid = ts_create(target.pid, &attr);
	struct ts_target child = ts_target_fork_child(&target);
	trace_event_id_t ids[RACE_NAMES];
	struct list list;
	char name[32];

	ts_target_call_begin(&target, do_race, NULL, 0);
	ts_target_call_begin(&child, do_race, NULL, 0);
	for (int i = 0; i < RACE_NAMES; i++)
		ids[i] = ts_trid_id(trid, numbered(name, "race", i));
	ts_target_result(&target);
	ts_target_result(&child);
	read_list(trid, &list);
	CHECK_EQ(list.count, TS_PREDEFINED + RACE_NAMES);
	for (int i = 0; i < RACE_NAMES; i++) {
		CHECK_EQ(times_in(&list, ids[i]), 1);
		CHECK_EQ(ts_target_call(&target, do_tell, &i, sizeof(i)), ids[i]);
		CHECK_EQ(ts_target_call(&child, do_tell, &i, sizeof(i)), ids[i]);
	}
	ts_target_end(&child);
	ts_target_end(&target);
}

TEST(names_for_a_process_that_has_no_library_yet, "EVENTID-31 CREATE-23 EVENTID-13", NEEDS_EXEC)
{
	int release;
	struct ts_target target = ts_target_late(&release);
	trace_id_t trid = create_running_small(target.pid);
	trace_event_id_t one = ts_trid_id(trid, "one"), two = ts_trid_id(trid, "two");

	CHECK_NE(one, two);
	ts_expect_name(trid, one, "one");
	ts_target_release(release);
	CHECK_EQ(ts_target_id(&target, "two"), two);
	trace_event_id_t three = ts_target_id(&target, "three");
	CHECK(three != one && three != two);
	CHECK_EQ(ts_target_id(&target, "one"), one);
	ts_target_emit(&target, two, 1);
	ts_expect(trid, POSIX_TRACE_START);
	ts_expect(trid, two);
	ts_target_end(&target);
}

TEST(the_list_has_every_event_type_once,
     "CREATE-24 EVENTID-10 EVENTLIST-01 EVENTLIST-02 EVENTLIST-03 EVENTLIST-04 EVENTLIST-06 EVENTLIST-10 EVENTLIST-12")
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t user[10];
	struct list list, again;

	for (int i = 0; i < 5; i++)
		user[i] = ts_id(numbered(name, "user", i));
	trace_id_t trid = create_running_small(0);
	for (int i = 5; i < 10; i++)
		user[i] = i % 2 ? ts_id(numbered(name, "user", i))
				: ts_trid_id(trid, numbered(name, "user", i));
	ts_emit(user[3], 1);
	read_list(trid, &list);
	CHECK_EQ(list.count, TS_PREDEFINED + 10);
	for (size_t i = 0; i < TS_PREDEFINED; i++) {
		CHECK_EQ(times_in(&list, ts_predefined[i].id), 1);
		CHECK(is_predefined(list.ids[i]));
	}
	for (int i = 0; i < 10; i++)
		CHECK_EQ(list.ids[TS_PREDEFINED + (size_t)i], user[i]);
	for (size_t i = 0; i < list.count; i++)
		CHECK_OK(posix_trace_eventid_get_name(trid, list.ids[i], name));
	/* The end stays the end. */
	for (int i = 0; i < 3; i++)
		CHECK_EQ(list_next(trid), 0);

	CHECK_OK(posix_trace_eventtypelist_rewind(trid));
	read_list(trid, &again);
	CHECK_EQ(again.count, list.count);
	CHECK_MEM_EQ(again.ids, list.ids, list.count * sizeof(*list.ids));
	CHECK_EQ(list_next(trid), 0);
}

TEST(a_log_has_the_list_of_its_stream,
     "EVENTLIST-08 EVENTLIST-09 EVENTLIST-07 EVENTLIST-04 LOG-36 LOG-42 EVENTID-20", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	trace_event_id_t used = ts_id("used"), unused = ts_id("unused");
	trace_id_t trid = ts_create_log(0, NULL, fd);

	ts_start(trid);
	ts_emit(used, 1);
	ts_flush(trid);
	trace_event_id_t late = ts_id("late");
	ts_shutdown(trid);
	ts_id("too late");

	trace_id_t log = ts_open_log(fd), log_again = ts_open_log(fd);
	struct list list, other;
	list_next(log_again);
	read_list(log, &list);
	CHECK_EQ(list.count, TS_PREDEFINED + 3);
	CHECK_EQ(list.ids[TS_PREDEFINED], used);
	CHECK_EQ(list.ids[TS_PREDEFINED + 1], unused);
	CHECK_EQ(list.ids[TS_PREDEFINED + 2], late);
	ts_expect_name(log, used, "used");
	ts_expect_name(log, unused, "unused");
	ts_expect_name(log, late, "late");
	/* The other one has made one step, no more. */
	read_list(log_again, &other);
	CHECK_EQ(other.count, list.count - 1);
	CHECK_MEM_EQ(other.ids, list.ids + 1, other.count * sizeof(*list.ids));
	CHECK_OK(posix_trace_eventtypelist_rewind(log));
	CHECK_EQ(list_next(log_again), 0);
	read_list(log, &other);
	CHECK_EQ(other.count, list.count);
}

TEST(every_stream_has_its_own_position_in_the_list, "EVENTLIST-07 EVENTLIST-09")
{
	trace_id_t one = create_small(0), two = create_small(0);
	struct list list;

	trace_event_id_t first = list_next(one);
	list_next(one);
	CHECK_EQ(list_next(two), first);
	CHECK_OK(posix_trace_eventtypelist_rewind(one));
	read_list(two, &list);
	CHECK_EQ(list.count, TS_PREDEFINED - 1);
	CHECK_EQ(list_next(one), first);
}

TEST(names_added_meanwhile_come_at_the_end, "EVENTLIST-11 EVENTLIST-05 EVENTLIST-12")
{
	trace_attr_t attr = inherited_attr();
	struct ts_target target = ts_target_fork();
	trace_id_t trid = ts_create(target.pid, &attr);
	struct ts_target child = ts_target_fork_child(&target);
	struct list list;

	trace_event_id_t first = list_next(trid);
	trace_event_id_t a = ts_target_id(&target, "a");
	read_list(trid, &list);
	CHECK_EQ(list.count, TS_PREDEFINED);
	CHECK_EQ(list.ids[list.count - 1], a);
	trace_event_id_t b = ts_target_id(&child, "b");
	CHECK_EQ(list_next(trid), b);
	CHECK_EQ(list_next(trid), 0);
	ts_target_id(&child, "a");
	CHECK_EQ(list_next(trid), 0);
	trace_event_id_t c = ts_trid_id(trid, "c");
	CHECK_EQ(list_next(trid), c);
	CHECK_EQ(list_next(trid), 0);
	CHECK_OK(posix_trace_eventtypelist_rewind(trid));
	CHECK_EQ(list_next(trid), first);
	ts_target_end(&child);
	ts_target_end(&target);
}
