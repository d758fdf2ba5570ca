/* SPDX-License-Identifier: MIT */
/* Observers: events that the controller has learned of a moment later than they were. */

#include "include/posixtrace-private.h"
#include "tests/support/keeper.h"

#include <posixtrace-control.h>
#include <posixtrace.h>

#define ROOMY ((size_t)8 << 20)

/* The observer of the case, and a type of it. */
static struct ptrc_observer *observer;
static trace_event_id_t other;

static trace_event_id_t type(const char *name)
{
	trace_event_id_t id;

	CHECK_OK(ptrc_observer_type(observer, name, "u32 number", &id));
	return id;
}

/* Opens the observer of the stream, which it returns. */
static trace_id_t observed(trace_id_t trid)
{
	CHECK_OK(ptrc_observer_open(trid, &observer));
	other = type("other");
	return trid;
}

static struct timespec time_of(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

static void observe_of(pid_t pid, trace_event_id_t id, int64_t ns, uint32_t number)
{
	const struct ptrc_observed event = {.po_time = time_of(ns),
					    .po_pid = pid,
					    .po_tid = pid + 1,
					    .po_event = id,
					    .po_data = &number,
					    .po_size = sizeof(number)};

	CHECK_OK(ptrc_observer_add(observer, &event, 1, 0));
}

static void observe(trace_event_id_t id, int64_t ns, uint32_t number)
{
	observe_of(4711, id, ns, number);
}

static unsigned long lost_events(trace_id_t trid)
{
	return counts_of(trid).pt_lost_events;
}

TEST(what_was_observed_stands_where_it_was, "", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	trace_id_t trid = observed(create_log(POSIX_TRACE_FLUSH, ROOMY, POSIX_TRACE_APPEND, 0, fd));
	trace_event_id_t mine = ts_id("mine");
	int64_t between[3];
	size_t next = 0;

	ts_start(trid);
	for (uint32_t i = 0; i < 3; i++) {
		ts_emit(mine, 2 * i);
		harness_sleep_ms(2);
		between[i] = harness_now_ns();
		harness_sleep_ms(2);
	}
	/* These are in the log already when the others come. */
	ts_flush(trid);
	for (uint32_t i = 0; i < 3; i++)
		observe(other, between[i], 2 * i + 1);
	ptrc_observer_close(observer);
	struct ts_events all = ts_end_log(trid, fd);
	ts_expect_sorted(&all);
	for (size_t i = 0; i < all.count; i++) {
		const struct posix_trace_event_info *info = &all.at[i].info;

		if (info->posix_event_id != mine && info->posix_event_id != other)
			continue;
		CHECK_EQ(ts_number(&all.at[i]), next);
		CHECK_EQ(info->posix_event_id, next % 2 ? other : mine);
		if (next % 2) {
			CHECK_EQ(info->posix_pid, 4711);
			CHECK_EQ(info->posix_tid, 4712);
		}
		next++;
	}
	CHECK_EQ(next, 6);
}

TEST(what_was_observed_has_its_time, "")
{
	trace_id_t trid = observed(ts_run(POSIX_TRACE_UNTIL_FULL, ROOMY, 100));
	int64_t offset = 0, window = INT64_MAX, at[20], error;

	/* How far the clocks are apart, by the readings that are closest together. */
	for (int i = 0; i < 1000; i++) {
		int64_t before = harness_now_ns(), real = ts_realtime_ns(),
			after = harness_now_ns();

		if (after - before >= window)
			continue;
		window = after - before;
		offset = real - before;
	}

	for (uint32_t i = 0; i < 20; i++) {
		at[i] = harness_now_ns();
		harness_sleep_ms(1 + (int)(i % 5));
	}
	for (uint32_t i = 0; i < 20; i++)
		observe(other, at[i], i);
	struct ts_events all = ts_read_numbers(trid, other, 0, 19);
	for (size_t i = 0, n = 0; i < all.count; i++) {
		if (all.at[i].info.posix_event_id != other)
			continue;
		error = ts_time_ns(&all.at[i].info.posix_timestamp) - offset - at[n++];
		CHECK(error > -1000000 - window && error < 1000000 + window);
	}
}

TEST(time_does_not_go_backwards_for_an_observer, "")
{
	trace_id_t trid = observed(ts_run(POSIX_TRACE_UNTIL_FULL, ROOMY, 100));
	int64_t now = harness_now_ns();

	observe(other, now, 0);
	observe(other, now - 1000000, 1);
	/* Nothing has been observed that is still to come. */
	observe(other, now + INT64_C(3600000000000), 2);
	observe(other, -5, 3);
	struct ts_events all = ts_read_numbers(trid, other, 0, 3);
	CHECK(ts_time_ns(&all.at[all.count - 1].info.posix_timestamp) <=
	      ts_realtime_ns() + 1000000);
}

TEST(filter_and_patterns_hold_for_what_was_observed, "")
{
	static const struct posixtrace_pattern pattern = {.pt_how = POSIXTRACE_EXCLUDE,
							  .pt_glob = "b*"};
	trace_id_t trid = observed(ts_make(POSIX_TRACE_UNTIL_FULL, ROOMY, 100));
	trace_event_id_t a = type("a"), b = type("b"), c = type("c");
	trace_event_set_t set = ts_set(c, 0);

	/* Nobody records into a stream that does not run. */
	observe(a, harness_now_ns(), 0);
	CHECK_OK(posixtrace_set_patterns(trid, &pattern, 1));
	ts_set_filter(trid, &set, POSIX_TRACE_ADD_EVENTSET);
	ts_start(trid);
	observe(a, harness_now_ns(), 1);
	observe(b, harness_now_ns(), 1);
	observe(c, harness_now_ns(), 1);
	ts_stop(trid);
	observe(a, harness_now_ns(), 2);
	struct ts_events all = ts_read_numbers(trid, a, 1, 1);
	CHECK_EQ(ts_count(&all, b), 0);
	CHECK_EQ(ts_count(&all, c), 0);
	CHECK_EQ(lost_events(trid), 0);
}

TEST(what_finds_no_room_is_lost_and_counted, "")
{
	trace_id_t trid = observed(ts_run(POSIX_TRACE_UNTIL_FULL, 65536, 100));
	uint32_t count = 20000;

	for (uint32_t i = 0; i < count; i++)
		observe(other, harness_now_ns(), i);
	struct ts_events all = ts_read_all(trid);
	CHECK_EQ(ts_count(&all, other) + lost_events(trid), count);
	CHECK(lost_events(trid) > 0);
	CHECK_OK(ptrc_observer_add(observer, NULL, 0, 17));
	/* It runs again as it was read, but an UNTIL_FULL stream does not. */
	CHECK_EQ(ts_count(&all, other) + lost_events(trid), count);
	CHECK_EQ(counts_of(trid).pt_unobserved_events, 17);
	CHECK_OK(posix_trace_clear(trid));
	CHECK_EQ(counts_of(trid).pt_unobserved_events, 0);
}

TEST(a_ring_keeps_the_newest_of_what_was_observed, "")
{
	trace_id_t trid = observed(ts_run(POSIX_TRACE_LOOP, 65536, 100));
	trace_event_id_t mine = ts_id("mine");
	uint32_t count = 30000;

	for (uint32_t i = 0; i < count; i++) {
		ts_emit(mine, i);
		observe(other, harness_now_ns(), i);
	}
	struct ts_events all = ts_read_all(trid);
	CHECK(ts_count(&all, other) > 100 && ts_count(&all, other) < count);
	CHECK_EQ(ts_number(&all.at[all.count - 1]), count - 1);
	ts_expect_sorted(&all);
}

/* The controller's thread serves clients, so its own events must not hold it up as those of a
 * program may be. */
TEST(what_was_observed_waits_for_room_only_shortly, "", NEEDS_KEEPER)
{
	trace_attr_t attr = log_attr(POSIX_TRACE_FLUSH, 65536, POSIX_TRACE_APPEND, 0);
	const struct timespec for_ever = {.tv_sec = 1000000};
	int fd = ts_temp_file();

	CHECK_OK(posixtrace_attr_setfullwait(&attr, &for_ever));
	trace_id_t trid = observed(ts_create_log(0, &attr, fd));
	uint32_t count = 20000;
	pid_t keeper = keeper_of(trid);

	ts_start(trid);
	CHECK_SYS(kill(keeper, SIGSTOP));
	for (uint32_t i = 0; i < count; i++)
		observe(other, harness_now_ns(), i);
	unsigned long lost = lost_events(trid);
	CHECK(lost > 0 && lost < count);
	/* The stream is not stopped, as an event of a program would still wait. */
	CHECK_EQ(ts_status(trid).posix_stream_status, POSIX_TRACE_RUNNING);
	CHECK_SYS(kill(keeper, SIGCONT));
	ts_flush(trid);
	observe(other, harness_now_ns(), count);
	CHECK_EQ(lost_events(trid), lost);
	ptrc_observer_close(observer);
	struct ts_events all = ts_end_log(trid, fd);
	CHECK_EQ(ts_count(&all, other), count + 1 - lost);
	close(fd);
}

TEST(a_clear_is_no_hindrance, "")
{
	trace_id_t trid = observed(ts_run(POSIX_TRACE_UNTIL_FULL, ROOMY, 100));

	observe(other, harness_now_ns(), 0);
	ts_clear(trid);
	observe(other, harness_now_ns(), 1);
	ts_read_numbers(trid, other, 1, 1);
}

TEST(an_observer_outlives_its_stream, "")
{
	trace_id_t trid = observed(ts_create_running(getpid(), NULL));
	const struct posixtrace_log_process process = {.pp_pid = 1};
	struct ptrc_observed event = {.po_event = other};

	observe(other, harness_now_ns(), 0);
	ts_shutdown(trid);
	CHECK_EQ(ptrc_observer_add(observer, &event, 1, 0), EINVAL);
	CHECK_EQ(ptrc_observer_type(observer, "x", NULL, &other), EINVAL);
	CHECK_EQ(ptrc_observer_add_process(observer, &process, NULL, false), EINVAL);
	ptrc_observer_close(observer);
	ptrc_observer_close(NULL);
}

TEST(observers_need_a_stream_and_a_layout_that_is_not_another, "")
{
	trace_id_t trid = observed(ts_create_running(getpid(), NULL));

	CHECK_EQ(ptrc_observer_open(trid + 1000, &observer), EINVAL);
	CHECK_OK(ptrc_observer_type(observer, "x", "u32 y", &other));
	CHECK_EQ(ptrc_observer_type(observer, "x", "u64 y", &other), EEXIST);
}

/* No process has this number. */
#define GONE (4194304 - 1)

static struct posixtrace_log_process make_process(pid_t pid, const char *name)
{
	return (struct posixtrace_log_process){
		.pp_pid = pid, .pp_is_known = 1, .pp_name = name, .pp_name_size = strlen(name)};
}

static void set_executable(struct posixtrace_log_process *p, const char *path)
{
	p->pp_executable = path;
	p->pp_executable_size = strlen(path);
}

/* The entry of this pid, of which there is one. */
static struct posixtrace_log_process find_process(trace_id_t log, pid_t pid, unsigned long *index)
{
	struct posixtrace_log_process p, found = {.pp_pid = 0};

	for (unsigned long i = 0; !posixtrace_log_get_process(log, i, &p, sizeof(p)); i++) {
		if (p.pp_pid != pid)
			continue;
		CHECK_EQ(found.pp_pid, 0);
		found = p;
		*index = i;
	}
	CHECK_EQ(found.pp_pid, pid);
	return found;
}

static bool is_text(const char *text, size_t size, const char *expected)
{
	return size == strlen(expected) && memcmp(text, expected, size) == 0;
}

TEST(a_log_tells_of_a_process_that_was_observed, "", NEEDS_KEEPER)
{
	static const unsigned char build_id[] = {1, 2, 3, 4};
	const struct posixtrace_log_mapping mappings[] = {
		{.pm_start = 0x1000,
		 .pm_end = 0x3000,
		 .pm_offset = 0x200,
		 .pm_path = "/bin/gone",
		 .pm_path_size = 9,
		 .pm_build_id = build_id,
		 .pm_build_id_size = sizeof(build_id)},
		{.pm_start = 0x7000, .pm_end = 0x8000, .pm_path = "[vdso]", .pm_path_size = 6}};
	struct posixtrace_log_process p = make_process(GONE, "gone");
	int fd = ts_temp_file();
	trace_id_t trid = observed(create_log(POSIX_TRACE_FLUSH, ROOMY, POSIX_TRACE_APPEND, 0, fd));
	struct posixtrace_log_mapping m;
	unsigned long index = 0;

	set_executable(&p, "/bin/gone");
	p.pp_parent_pid = 17;
	p.pp_has_command_line = 1;
	p.pp_command_line = "gone\0-x";
	p.pp_command_line_size = 8;
	p.pp_has_mappings = 1;
	p.pp_mapping_count = 2;
	p.pp_start = p.pp_from = time_of(harness_now_ns());
	ts_start(trid);
	observe_of(GONE, other, harness_now_ns(), 0);
	CHECK_OK(ptrc_observer_add_process(observer, &p, mappings, false));
	ptrc_observer_close(observer);
	trace_id_t log = ts_end_and_open_log(trid, fd);
	p = find_process(log, GONE, &index);
	CHECK(p.pp_is_known && !p.pp_has_ended);
	CHECK_EQ(p.pp_parent_pid, 17);
	CHECK(is_text(p.pp_name, p.pp_name_size, "gone"));
	CHECK(is_text(p.pp_executable, p.pp_executable_size, "/bin/gone"));
	CHECK(p.pp_has_command_line && p.pp_command_line_size == 8);
	CHECK_EQ(p.pp_mapping_count, 2);
	CHECK_OK(posixtrace_log_get_mapping(log, index, 0, &m, sizeof(m)));
	CHECK(m.pm_start == 0x1000 && m.pm_end == 0x3000 && m.pm_offset == 0x200);
	CHECK(m.pm_build_id_size == 4 && memcmp(m.pm_build_id, build_id, 4) == 0);
	CHECK_OK(posixtrace_log_get_mapping(log, index, 1, &m, sizeof(m)));
	CHECK(is_text(m.pm_path, m.pm_path_size, "[vdso]"));
	/* It is nothing that a reader would get as an event. */
	struct ts_events all = ts_read_log(log);
	CHECK_EQ(ts_count(&all, other), 1);
	for (size_t i = 0; i < all.count; i++)
		CHECK(all.at[i].info.posix_event_id != POSIX_TRACE_UNNAMED_USEREVENT);
}

TEST(what_was_observed_stands_above_a_look_that_came_too_late, "", NEEDS_KEEPER)
{
	struct posixtrace_log_process p = make_process(GONE, "gone");
	int fd = ts_temp_file();
	trace_id_t trid = observed(create_log(POSIX_TRACE_FLUSH, ROOMY, POSIX_TRACE_APPEND, 0, fd));
	unsigned long index = 0;

	p.pp_start = p.pp_from = time_of(harness_now_ns());
	ts_start(trid);
	observe_of(GONE, other, harness_now_ns(), 0);
	/* The keeper looks at the process and finds it gone, and then comes what it was. */
	ts_flush(trid);
	CHECK_OK(ptrc_observer_add_process(observer, &p, NULL, false));
	ptrc_observer_close(observer);
	trace_id_t log = ts_end_and_open_log(trid, fd);
	struct ts_events all = ts_read_log(log);
	CHECK_EQ(ts_count(&all, other), 1);
	const struct ts_event *e = &all.at[ts_find(&all, other, 0)];
	CHECK_OK(posixtrace_log_find_process(log, GONE, &e->info.posix_timestamp, &index));
	CHECK_OK(posixtrace_log_get_process(log, index, &p, sizeof(p)));
	CHECK(p.pp_is_known && is_text(p.pp_name, p.pp_name_size, "gone"));
}

TEST(what_is_told_of_a_process_is_cut_to_what_fits, "", NEEDS_KEEPER)
{
	static char text[100000];
	static struct posixtrace_log_mapping mappings[1000];
	struct posixtrace_log_process p = {.pp_pid = GONE,
					   .pp_is_known = 1,
					   .pp_name = text,
					   .pp_name_size = sizeof(text),
					   .pp_executable = text,
					   .pp_executable_size = sizeof(text),
					   .pp_build_id = (const unsigned char *)text,
					   .pp_build_id_size = sizeof(text),
					   .pp_has_command_line = 1,
					   .pp_command_line = text,
					   .pp_command_line_size = sizeof(text),
					   .pp_has_mappings = 1,
					   .pp_mapping_count = 1000};
	trace_attr_t attr = log_attr(POSIX_TRACE_FLUSH, ROOMY, POSIX_TRACE_APPEND, 0);
	int fd = ts_temp_file();
	unsigned long index = 0;

	/* The command line fills the first record, and the large mappings fit into none. */
	CHECK_OK(posix_trace_attr_setmaxdatasize(&attr, 4140));
	trace_id_t trid = observed(ts_create_log(getpid(), &attr, fd));
	memset(text, 'x', sizeof(text));
	for (size_t i = 0; i < 1000; i++)
		mappings[i] = (struct posixtrace_log_mapping){
			.pm_start = i, .pm_path = text, .pm_path_size = i < 10 ? 10 : sizeof(text)};
	ts_start(trid);
	CHECK_OK(ptrc_observer_add_process(observer, &p, mappings, false));
	ptrc_observer_close(observer);
	trace_id_t log = ts_end_and_open_log(trid, fd);
	p = find_process(log, p.pp_pid, &index);
	CHECK_EQ(p.pp_name_size, 15);
	CHECK(p.pp_command_line_size == 4096 && p.pp_is_command_line_cut);
	CHECK(p.pp_are_mappings_cut && p.pp_mapping_count == 10);
}

TEST(mappings_that_do_not_fit_into_one_record_come_in_others, "", NEEDS_KEEPER)
{
	static char names[1000][64], path[PATH_MAX + 1];
	static struct posixtrace_log_mapping mappings[1000];
	struct posixtrace_log_process p = make_process(GONE, "gone");
	trace_attr_t attr = log_attr(POSIX_TRACE_FLUSH, ROOMY, POSIX_TRACE_APPEND, 0);
	int fd = ts_temp_file();
	struct posixtrace_log_mapping m;
	unsigned long index = 0;

	CHECK_OK(posix_trace_attr_setmaxdatasize(&attr, 8192));
	trace_id_t trid = observed(ts_create_log(getpid(), &attr, fd));
	for (size_t i = 0; i < 1000; i++) {
		snprintf(names[i], sizeof(names[i]), i < 700 ? "/lib/%zu" : "made::%zu", i);
		mappings[i] = (struct posixtrace_log_mapping){.pm_start = 16 * i,
							      .pm_end = 16 * i + 16,
							      .pm_path = names[i],
							      .pm_path_size = strlen(names[i]),
							      .pm_is_function = i >= 700};
	}
	ts_start(trid);
	memset(path, 'x', PATH_MAX);
	set_executable(&p, path);
	p.pp_has_mappings = 1;
	p.pp_mapping_count = 700;
	p.pp_start = p.pp_from = time_of(harness_now_ns());
	CHECK_OK(ptrc_observer_add_process(observer, &p, mappings, false));
	/* The functions that it made are known later, when it may have another name. Those of another program
	 * are not added. */
	p.pp_from = time_of(harness_now_ns() + 5000000);
	p.pp_mapping_count = 150;
	CHECK_OK(ptrc_observer_add_process(observer, &p, mappings + 700, true));
	p.pp_name = "none";
	CHECK_OK(ptrc_observer_add_process(observer, &p, mappings + 850, true));
	set_executable(&p, "/bin/y");
	CHECK_OK(ptrc_observer_add_process(observer, &p, mappings, true));
	/* Where no program is known, the name has to do. */
	const struct timespec start = p.pp_start;
	p = make_process(GONE + 1, "gone");
	p.pp_start = p.pp_from = start;
	p.pp_has_mappings = 1;
	p.pp_mapping_count = 2;
	CHECK_OK(ptrc_observer_add_process(observer, &p, mappings, false));
	CHECK_OK(ptrc_observer_add_process(observer, &p, mappings, true));
	p.pp_name = "none";
	CHECK_OK(ptrc_observer_add_process(observer, &p, mappings, true));
	ptrc_observer_close(observer);
	trace_id_t log = ts_end_and_open_log(trid, fd);
	index = 0;
	p = find_process(log, GONE + 1, &index);
	CHECK_EQ(p.pp_mapping_count, 4);
	CHECK_EQ(posixtrace_log_get_process(log, index + 1, &p, sizeof(p)), ENODATA);
	index = 0;
	p = find_process(log, GONE, &index);
	CHECK(is_text(p.pp_name, p.pp_name_size, "gone"));
	CHECK(is_text(p.pp_executable, p.pp_executable_size, path));
	CHECK(p.pp_mapping_count == 1000 && !p.pp_are_mappings_cut);
	for (size_t i = 0; i < 1000; i++) {
		CHECK_OK(posixtrace_log_get_mapping(log, index, i, &m, sizeof(m)));
		CHECK(m.pm_start == 16 * i && is_text(m.pm_path, m.pm_path_size, names[i]));
		CHECK_EQ(m.pm_is_function, i >= 700);
	}
}

/* A process that executes sleep; sets the path of that. */
static pid_t start_sleep(char exe[PATH_MAX])
{
	pid_t pid = harness_fork();
	char link[64], comm[16] = "";

	if (pid == 0) {
		execlp("sleep", "sleep", "1000", NULL);
		_exit(127);
	}
	snprintf(link, sizeof(link), "/proc/%ld/comm", (long)pid);
	while (strcmp(comm, "sleep\n") != 0) {
		FILE *f = fopen(link, "re");

		CHECK(f && fgets(comm, sizeof(comm), f));
		fclose(f);
	}
	snprintf(link, sizeof(link), "/proc/%ld/exe", (long)pid);
	memset(exe, 0, PATH_MAX);
	CHECK(readlink(link, exe, PATH_MAX - 1) > 0);
	return pid;
}

/* A process executes another program: the functions that the first one made are described at that time, and so is the
 * second program, again and again. The parts of the stream that get these descriptions are not in the order of time. */
TEST(descriptions_are_taken_in_the_order_in_which_they_were_added, "", NEEDS_KEEPER)
{
	enum { PROCESSES = 200, MAPPINGS = 20 };
	static char path[2000];
	struct posixtrace_log_mapping mappings[MAPPINGS], function = {.pm_start = 0x10,
								      .pm_end = 0x20,
								      .pm_path = "made",
								      .pm_path_size = 4,
								      .pm_is_function = 1};
	int fd = ts_temp_file();
	trace_id_t trid = observed(create_log(POSIX_TRACE_FLUSH, ROOMY, POSIX_TRACE_APPEND, 0, fd));
	struct posixtrace_log_process p;
	struct posixtrace_log_mapping m;
	int count[PROCESSES] = {0};

	memset(path, 'x', sizeof(path));
	for (size_t i = 0; i < MAPPINGS; i++)
		mappings[i] = (struct posixtrace_log_mapping){.pm_start = 0x1000 * (i + 1),
							      .pm_end = 0x1000 * (i + 2),
							      .pm_path = path,
							      .pm_path_size = sizeof(path)};
	ts_start(trid);
	for (int i = 0; i < PROCESSES; i++) {
		p = make_process(GONE + i, "gone");
		p.pp_start = p.pp_from = time_of(harness_now_ns());
		p.pp_has_mappings = 1;
		p.pp_mapping_count = MAPPINGS;
		set_executable(&p, "/bin/first");
		CHECK_OK(ptrc_observer_add_process(observer, &p, mappings, false));
		p.pp_from = time_of(harness_now_ns());
		p.pp_mapping_count = 1;
		CHECK_OK(ptrc_observer_add_process(observer, &p, &function, true));
		set_executable(&p, "/bin/second");
		for (p.pp_mapping_count = 1; p.pp_mapping_count < 4; p.pp_mapping_count++)
			CHECK_OK(ptrc_observer_add_process(observer, &p, mappings, false));
		if (i % 20 == 19)
			ts_flush(trid);
	}
	ptrc_observer_close(observer);
	trace_id_t log = ts_end_and_open_log(trid, fd);
	for (unsigned long i = 0; !posixtrace_log_get_process(log, i, &p, sizeof(p)); i++) {
		if (p.pp_pid < GONE || p.pp_pid >= GONE + PROCESSES)
			continue;
		CHECK(count[p.pp_pid - GONE]++ < 2);
		CHECK_EQ(p.pp_mapping_count,
			 is_text(p.pp_executable, p.pp_executable_size, "/bin/first") ? MAPPINGS + 1
										      : 3);
		CHECK_OK(posixtrace_log_get_mapping(log, i, p.pp_mapping_count - 1, &m, sizeof(m)));
		CHECK_EQ(m.pm_is_function, p.pp_mapping_count != 3);
	}
	for (int i = 0; i < PROCESSES; i++)
		CHECK_EQ(count[i], 2);
	CHECK_OK(posix_trace_close(log));
}

/* Ends stream and process. Stores what the log says of the programs of the process, of which there are two. Returns
 * the log. */
static trace_id_t find_programs(trace_id_t trid, int fd, pid_t pid,
				struct posixtrace_log_process found[2])
{
	struct posixtrace_log_process p;
	int count = 0;

	ptrc_observer_close(observer);
	ts_shutdown(trid);
	harness_kill(pid);
	trace_id_t log = ts_open_log(fd);
	for (unsigned long i = 0; !posixtrace_log_get_process(log, i, &p, sizeof(p)); i++) {
		if (p.pp_pid != pid)
			continue;
		CHECK_LT(count, 2);
		found[count++] = p;
	}
	CHECK_EQ(count, 2);
	return log;
}

TEST(each_program_of_a_process_counts_from_its_own_exec, "", NEEDS_KEEPER)
{
	char exe[PATH_MAX];
	const pid_t pid = start_sleep(exe);
	/* The wrapper has the name of what it executes. */
	const char *paths[] = {"/bin/wrapper", exe};
	int fd = ts_temp_file();
	trace_id_t trid = observed(create_log(POSIX_TRACE_FLUSH, ROOMY, POSIX_TRACE_APPEND, 0, fd));
	struct posixtrace_log_process p = make_process(pid, "sleep"), found[2];
	unsigned long index;
	ssize_t at = -1;

	p.pp_start = time_of(harness_now_ns());
	ts_start(trid);
	for (int i = 0; i < 2; i++) {
		int64_t now = harness_now_ns();

		set_executable(&p, paths[i]);
		p.pp_from = time_of(now);
		CHECK_OK(ptrc_observer_add_process(observer, &p, NULL, false));
		observe_of(pid, other, now, 0);
	}
	/* The keeper looks at the process, and then comes what the observer knows in the end. */
	ts_flush(trid);
	CHECK_OK(ptrc_observer_add_process(observer, &p, NULL, false));
	trace_id_t log = find_programs(trid, fd, pid, found);
	struct ts_events all = ts_read_log(log);
	CHECK_EQ(ts_count(&all, other), 2);
	for (int i = 0; i < 2; i++) {
		at = ts_find(&all, other, (size_t)(at + 1));
		CHECK_OK(posixtrace_log_find_process(log, pid, &all.at[at].info.posix_timestamp,
						     &index));
		CHECK_OK(posixtrace_log_get_process(log, index, &p, sizeof(p)));
		CHECK(is_text(p.pp_executable, p.pp_executable_size, paths[i]));
		/* What /proc says of the one that runs says more. */
		CHECK_EQ(p.pp_has_user, i);
	}
}

TEST(an_exec_that_is_reported_after_a_look_counts_from_the_exec, "", NEEDS_KEEPER)
{
	char exe[PATH_MAX];
	const struct timespec start = time_of(harness_now_ns());
	const pid_t pid = start_sleep(exe);
	const char *paths[] = {"/bin/wrapper", exe};
	int fd = ts_temp_file();
	trace_attr_t attr = log_attr(POSIX_TRACE_FLUSH, ROOMY, POSIX_TRACE_APPEND, 0);
	trace_id_t trid = observed(ts_create_log(pid, &attr, fd));
	struct posixtrace_log_process p = make_process(pid, "sleep"), found[2];
	struct timespec from[2];
	unsigned int streams;

	p.pp_start = start;
	ts_start(trid);
	for (int i = 0; i < 2; i++) {
		from[i] = time_of(harness_now_ns());
		harness_sleep_ms(2);
	}
	/* The keeper looks at the second program before it knows of the exec. */
	CHECK_OK(posixtrace_event_for(pid, "guest", NULL, NULL, 0, &streams));
	ts_flush(trid);
	for (int i = 0; i < 2; i++) {
		set_executable(&p, paths[i]);
		p.pp_from = from[i];
		CHECK_OK(ptrc_observer_add_process(observer, &p, NULL, false));
	}
	find_programs(trid, fd, pid, found);
	for (int i = 0; i < 2; i++) {
		CHECK(is_text(found[i].pp_executable, found[i].pp_executable_size, paths[i]));
		CHECK_EQ(found[i].pp_has_user, i);
	}
}

TEST(a_program_that_is_executed_again_after_a_look_is_described, "", NEEDS_KEEPER)
{
	char exe[PATH_MAX];
	const pid_t pid = start_sleep(exe);
	int fd = ts_temp_file();
	trace_id_t trid = observed(create_log(POSIX_TRACE_FLUSH, ROOMY, POSIX_TRACE_APPEND, 0, fd));
	const int64_t now = harness_now_ns();
	struct posixtrace_log_process p = make_process(pid, "sleep"), found[2];

	set_executable(&p, exe);
	p.pp_start = p.pp_from = time_of(now);
	ts_start(trid);
	CHECK_OK(ptrc_observer_add_process(observer, &p, NULL, false));
	observe_of(pid, other, now, 0);
	/* The keeper looks at the process. */
	ts_flush(trid);
	CHECK_OK(ptrc_observer_add_process(observer, &p, NULL, false));
	p.pp_from = time_of(now + 1000);
	CHECK_OK(ptrc_observer_add_process(observer, &p, NULL, false));
	find_programs(trid, fd, pid, found);
	CHECK(found[0].pp_has_user && !found[1].pp_has_user);
}
