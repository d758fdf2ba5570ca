/* SPDX-License-Identifier: MIT */
/* Errors of all functions: wrong identifiers, null pointers, short resources. */
#include "tests/support/logs.h"

#include "tests/lib/api/calls.h"

#define SMALL 16384

static trace_attr_t small_attr(void)
{
	return ts_attr(POSIX_TRACE_UNTIL_FULL, SMALL, 256);
}

static trace_attr_t append_attr(void)
{
	return log_attr(POSIX_TRACE_UNTIL_FULL, SMALL, POSIX_TRACE_APPEND, 0);
}

static trace_id_t plain_stream(void)
{
	return ts_make(POSIX_TRACE_UNTIL_FULL, SMALL, 256);
}

static trace_id_t logged_stream(int fd)
{
	return create_log(POSIX_TRACE_UNTIL_FULL, SMALL, POSIX_TRACE_APPEND, 0, fd);
}

/* A log with START, one event and STOP in it. */
static int short_log(void)
{
	int fd = ts_temp_file();
	trace_id_t trid = logged_stream(fd);
	ts_start(trid);
	ts_emit(UNNAMED, 1);
	ts_shutdown(trid);
	return fd;
}

static void refuse_never_issued(void)
{
	static const trace_id_t fixed[] = {0,	      ~0UL,	 ~0UL - 1,     1UL << 63,
					   1UL << 32, 1UL << 31, 0xffffffffUL, 0x7fffffffUL,
					   0xdeadbeef};

	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		expect_refusals(fixed[i]);
	for (int i = 0; i < 300; i++)
		expect_refusals((trace_id_t)harness_draw(UINT64_MAX));
}

TEST(identifiers_never_issued_are_einval,
     "ERRORS-03 ERRORS-10 ERRORS-01 GETNEXT-27 GETNEXT-19 STATUS-26 ATTRGET-07 CLEAR-16 STARTSTOP-17 EVENTLIST-13",
     NEEDS_KEEPER)
{
	/* First in a process that never had a stream. */
	refuse_never_issued();
	trace_id_t plain = plain_stream(), log = ts_open_log(short_log());
	refuse_never_issued();
	for (trace_id_t near = 1; near < 5000; near++)
		if (near != plain && near != log)
			for (size_t i = 0; i < FUNCTIONS; i += 4)
				expect_refusal(i, near);
	/* Somewhere around a real one. */
	for (int bit = 0; bit < 64; bit++) {
		trace_id_t other = plain ^ (1UL << bit);
		if (other != log)
			expect_refusals(other);
	}
	/* They are all right. */
	ts_shutdown(plain);
	ts_close_log(log);
}

TEST(identifiers_are_invalid_after_shutdown_and_close, "ERRORS-04 ERRORS-10 CREATE-22",
     NEEDS_KEEPER)
{
	enum { TIMES = 150 };
	trace_id_t stale[2 * TIMES];
	int fd = short_log(), count = 0;

	for (int i = 0; i < TIMES; i++) {
		trace_id_t plain = plain_stream(), log = ts_open_log(fd);
		for (int j = count > 4 ? count - 4 : 0; j < count; j++)
			expect_refusals(stale[j]);
		stale[count++] = plain;
		stale[count++] = log;
		ts_shutdown(plain);
		ts_close_log(log);
	}
	trace_id_t plain = plain_stream();
	for (int j = 0; j < count; j++)
		expect_refusals(stale[j]);
	ts_shutdown(plain);
}

TEST(identifiers_of_the_parent_are_invalid_in_a_child,
     "ERRORS-05 FORK-10 FORK-12 FORK-21 ERRORS-10 OPEN-02", NEEDS_KEEPER)
{
	/* Without a fork handler, no event tells the child what it is. */
	enum { FORKED, WITH_STREAMS, RAW, WAYS };
	int fd = short_log(), own_fd = ts_temp_file();
	trace_attr_t attr = append_attr();

	/* Being traced by them makes no difference. */
	CHECK_OK(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED));
	trace_id_t trids[] = {ts_create_running(0, &attr), ts_create_log(0, &attr, own_fd),
			      ts_open_log(fd)};
	ts_start(trids[1]);
	for (int way = 0; way < WAYS; way++) {
		pid_t pid = way == RAW ? harness_raw_clone() : harness_fork();
		if (pid == 0) {
			/* Nor do the child's own, which have other identifiers. */
			if (way == WITH_STREAMS) {
				trace_id_t own = plain_stream(), log = ts_open_log(fd);
				for (int i = 0; i < 3; i++)
					CHECK(own != trids[i] && log != trids[i]);
			}
			for (int i = 2; i >= 0; i--)
				expect_refusals(trids[i]);
			_exit(0);
		}
		CHECK_EXIT(pid, 0);
	}
	/* Nothing happened to the parent's: no name was added, either. */
	CHECK_EQ(ts_id("of the parent"), UNNAMED + 1);
	for (int i = 0; i < 2; i++) {
		ts_expect_running(trids[i]);
		ts_emit(UNNAMED, (uint32_t)i);
		ts_expect(trids[i], POSIX_TRACE_START);
		ts_expect(trids[i], UNNAMED);
	}
	struct ts_events events = ts_read_log(trids[2]);
	CHECK_EQ(ts_count(&events, UNNAMED), 1);
	ts_shutdown(trids[0]);
	ts_close_log(trids[2]);
	ts_expect_logged(trids[1], own_fd, UNNAMED, 0, 1);
}

TEST(identifiers_of_a_raw_clone_are_invalid_in_its_own, "FORK-10 FORK-21 ERRORS-05", NEEDS_KEEPER)
{
	int fd = short_log();
	trace_id_t plain = plain_stream();
	pid_t pid = harness_raw_clone();

	if (pid == 0) {
		/* Neither of the two generations has recorded an event: they notice the clone
		 * only because they use identifiers. */
		trace_id_t opened = ts_open_log(fd);
		pid_t grandchild = harness_raw_clone();

		if (grandchild == 0) {
			expect_refusals(opened);
			_exit(0);
		}
		CHECK_EXIT(grandchild, 0);
		ts_close_log(opened);
		_exit(0);
	}
	CHECK_EXIT(pid, 0);
	ts_shutdown(plain);
}

TEST(each_function_accepts_its_kinds_of_stream,
     "ERRORS-06 ERRORS-07 ERRORS-08 LOG-02 OPEN-02 CREATE-19 EVENTID-18 GETNEXT-29 ATTRGET-02 STATUS-01",
     NEEDS_KEEPER)
{
	static const int kinds[] = {PLAIN, LOGGED, RECORDED};
	for (int k = 0; k < 3; k++) {
		int fd = kinds[k] == RECORDED ? short_log() : ts_temp_file();
		trace_id_t trid = kinds[k] == PLAIN    ? plain_stream()
				  : kinds[k] == LOGGED ? logged_stream(fd)
						       : ts_open_log(fd);
		use_all(trid, kinds[k]);
	}
}

TEST(a_refusal_changes_nothing,
     "ERRORS-06 ERRORS-07 ERRORS-08 OPEN-07 LOG-14 GETNEXT-16 FILTER-17 EVENTID-26 SHUTDOWN-11 CLEAR-16 STARTSTOP-17",
     NEEDS_KEEPER)
{
	int fd = short_log(), own_fd = ts_temp_file();
	trace_id_t plain = plain_stream(), logged = logged_stream(own_fd);
	trace_id_t log = ts_open_log(fd);

	ts_start(plain);
	ts_start(logged);
	ts_emit(UNNAMED, 1);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		if (!(functions[i].accepts & PLAIN))
			expect_refusal(i, plain);
		if (!(functions[i].accepts & LOGGED))
			expect_refusal(i, logged);
		if (!(functions[i].accepts & RECORDED))
			expect_refusal(i, log);
	}
	ts_emit(UNNAMED, 2);
	trace_id_t active[] = {plain, logged};
	for (int i = 0; i < 2; i++) {
		ts_expect_running(active[i]);
		ts_read_ids(active[i], POSIX_TRACE_START, UNNAMED, UNNAMED, 0U);
	}
	ts_shutdown(plain);
	struct ts_events all = ts_end_log(logged, own_fd), events = without_markers(&all);
	ts_expect_ids(&events, POSIX_TRACE_START, UNNAMED, UNNAMED, POSIX_TRACE_STOP, 0U);
	all = ts_read_log(log);
	events = without_markers(&all);
	ts_expect_ids(&events, POSIX_TRACE_START, UNNAMED, POSIX_TRACE_STOP, 0U);
}

TEST(the_identifier_is_judged_before_the_arguments, "ERRORS-02 EVENTID-25", NEEDS_KEEPER)
{
	char long_name[400];
	trace_event_id_t id = 42;
	trace_id_t log = ts_open_log(short_log()), plain = plain_stream();

	memset(long_name, 'n', sizeof(long_name));
	long_name[399] = '\0';
	CHECK_EQ(posix_trace_trid_eventid_open(0, long_name, &id), EINVAL);
	CHECK_EQ(posix_trace_trid_eventid_open(log, long_name, &id), EINVAL);
	CHECK_EQ(posix_trace_trid_eventid_open(plain, long_name, &id), ENAMETOOLONG);
	CHECK_EQ(posix_trace_trid_eventid_open(plain, long_name, NULL), EINVAL);
	CHECK_EQ(id, 42);
	/* Then the arguments, before the state: a wait that would time out. */
	struct timespec past = {0, 0};
	CHECK_EQ(posix_trace_timedgetnext_event(plain, NULL, long_name, sizeof(long_name),
						&data_len, &unavailable, &past),
		 EINVAL);
	CHECK_EQ(posix_trace_timedgetnext_event(0, &results.event, long_name, sizeof(long_name),
						&data_len, &unavailable, &past),
		 EINVAL);
	CHECK_EQ(posix_trace_timedgetnext_event(plain, &results.event, long_name, sizeof(long_name),
						&data_len, &unavailable, &past),
		 ETIMEDOUT);
}

TEST(null_pointers_of_stream_functions_are_einval,
     "ERRORS-10 GETNEXT-25 STATUS-26 FILTER-16 ATTRGET-05 EVENTID-28 EVENTLIST-14 OPEN-17 CREATE-21",
     NEEDS_KEEPER)
{
	trace_attr_t attr = small_attr(), with_log = append_attr();
	int fd = ts_temp_file(), other_fd = ts_temp_file(), is_last = 42;
	trace_id_t trids[] = {plain_stream(), logged_stream(fd), ts_open_log(short_log())};
	trace_id_t trid = 42;
	trace_event_id_t id = 42;
	char byte;

	ts_start(trids[0]);
	ts_start(trids[1]);
	CHECK_EQ(posix_trace_create(0, &attr, NULL), EINVAL);
	CHECK_EQ(posix_trace_create_withlog(0, &with_log, other_fd, NULL), EINVAL);
	CHECK_EQ(ts_file_size(other_fd), 0);
	CHECK_EQ(posix_trace_open(fd, NULL), EINVAL);
	CHECK_EQ(posix_trace_eventid_open(NULL, &id), EINVAL);
	CHECK_EQ(posix_trace_eventid_open("name", NULL), EINVAL);
	posix_trace_event(UNNAMED, NULL, 0);
	for (int i = 0; i < 3; i++) {
		trid = trids[i];
		CHECK_EQ(posix_trace_get_attr(trid, NULL), EINVAL);
		CHECK_EQ(posix_trace_get_status(trid, NULL), EINVAL);
		CHECK_EQ(posix_trace_get_filter(trid, NULL), EINVAL);
		CHECK_EQ(posix_trace_set_filter(trid, NULL, POSIX_TRACE_SET_EVENTSET), EINVAL);
		CHECK_EQ(posix_trace_eventid_get_name(trid, POSIX_TRACE_STOP, NULL), EINVAL);
		CHECK_EQ(posix_trace_trid_eventid_open(trid, NULL, &id), EINVAL);
		CHECK_EQ(posix_trace_trid_eventid_open(trid, "name", NULL), EINVAL);
		CHECK_EQ(posix_trace_eventtypelist_getnext_id(trid, NULL, &is_last), EINVAL);
		CHECK_EQ(posix_trace_eventtypelist_getnext_id(trid, &id, NULL), EINVAL);
		/* All functions of the kind, each pointer in turn. */
		struct timespec end = ts_deadline((int)harness_patience_ms());
		for (int which = 0; which < 4; which++) {
			struct posix_trace_event_info *event = which == 0 ? NULL : &results.event;
			char *data = which == 1 ? NULL : &byte;
			size_t *len = which == 2 ? NULL : &data_len;
			int *none = which == 3 ? NULL : &unavailable;
			for (int how = 0; how < 3; how++) {
				unavailable = 0;
				data_len = 99;
				int err = how == 0 ? posix_trace_getnext_event(trid, event, data, 1,
									       len, none)
					  : how == 1
						  ? posix_trace_timedgetnext_event(
							    trid, event, data, 1, len, none, &end)
						  : posix_trace_trygetnext_event(trid, event, data,
										 1, len, none);
				CHECK_EQ(err, EINVAL);
				/* What can be said is said. */
				if (none)
					CHECK_NE(unavailable, 0);
				if (len)
					CHECK_EQ(data_len, 0);
			}
		}
	}
	CHECK_EQ(id, 42);
	CHECK_EQ(is_last, 42);
	/* Nothing was registered, no step was made, and no event was taken. */
	CHECK_EQ(ts_id("the first"), UNNAMED + 1);
	CHECK_OK(call_list_getnext(trids[0]));
	CHECK_EQ(results.id, POSIX_TRACE_START);
	for (int i = 0; i < 2; i++) {
		ts_expect(trids[i], POSIX_TRACE_START);
		ts_expect(trids[i], UNNAMED);
		ts_expect_none(trids[i]);
	}
	struct ts_events all = ts_read_log(trids[2]);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_START), 1);
	ts_shutdown(trids[0]);
	ts_shutdown(trids[1]);
}

TEST(errno_is_no_part_of_the_result, "ERRORS-01 EVENT-15")
{
	trace_id_t plain = plain_stream();

	/* An error is returned, a positive number, whatever errno holds. */
	for (size_t i = 0; i < FUNCTIONS; i++) {
		errno = ECHILD;
		CHECK_EQ(functions[i].call(0), EINVAL);
		errno = EXDEV;
		if (functions[i].accepts & PLAIN)
			CHECK_EQ(functions[i].call(plain), 0);
		else
			CHECK_EQ(functions[i].call(plain), EINVAL);
		if (functions[i].call == call_timedgetnext)
			ts_expect_none(plain);
	}
	errno = EXDEV;
	ts_emit(UNNAMED, 1);
	CHECK_EQ(errno, EXDEV);
	/* Nor do functions of attributes and sets change it. */
	trace_attr_t attr;
	trace_event_set_t set = ts_set(0);
	CHECK_OK(posix_trace_attr_init(&attr));
	CHECK_EQ(posix_trace_attr_setinherited(&attr, 77), EINVAL);
	CHECK_EQ(posix_trace_attr_destroy(NULL), EINVAL);
	CHECK_OK(posix_trace_attr_destroy(&attr));
	CHECK_OK(posix_trace_eventset_add(POSIX_TRACE_START, &set));
	CHECK_EQ(posix_trace_eventset_add(0, &set), EINVAL);
	CHECK_EQ(posix_trace_eventset_fill(&set, 0), EINVAL);
	CHECK_EQ(errno, EXDEV);
}

TEST(signals_interrupt_only_the_waiting_functions,
     "ERRORS-09 OPEN-05 CREATE-18 LOG-26 STARTSTOP-18 FILTER-18", NEEDS_KEEPER)
{
	unsigned int alarms = 0;

	for (int round = 0; round < 15; round++) {
		int fd = ts_temp_file();
		ts_interrupt(300);
		trace_id_t logged = logged_stream(fd);
		for (int i = 0; i < 40; i++) {
			trace_id_t plain = plain_stream();
			CHECK_EQ(posix_trace_start(plain), 0);
			CHECK_EQ(posix_trace_stop(plain), 0);
			ts_shutdown(plain);
		}
		ts_start(logged);
		emit_run(UNNAMED, 0, 50, 100);
		CHECK_EQ(posix_trace_flush(logged), 0);
		use_all(logged, LOGGED);
		trace_id_t log;
		CHECK_OK(posix_trace_open(fd, &log));
		use_all(log, RECORDED);
		alarms += ts_interrupt_end();
		close(fd);
	}
	CHECK_GT(alarms, 0);
}

static void limit(int what, rlim_t value)
{
	struct rlimit limits;
	CHECK_SYS(getrlimit((__rlimit_resource_t)what, &limits));
	limits.rlim_cur = value < limits.rlim_max ? value : limits.rlim_max;
	CHECK_SYS(setrlimit((__rlimit_resource_t)what, &limits));
}

/* The next one that is opened, whatever others are open above it. */
static int next_descriptor(void)
{
	int fd = CHECK_SYS(open("/", O_RDONLY | O_CLOEXEC));

	close(fd);
	return fd;
}

TEST(too_few_descriptors_are_enomem, "ERRORS-12 CREATE-25 ERRORS-10 OPEN-17", NEEDS_KEEPER)
{
	int log_fd = short_log(), fd = ts_temp_file();
	trace_attr_t attr = small_attr(), with_log = append_attr();

	/* Once with enough, so that only what each stream needs is asked for. */
	ts_shutdown(plain_stream());
	int next = next_descriptor();
	/* From none left to enough: first ENOMEM, and once 0, always 0. */
	bool has_worked[3] = {false, false, false};
	for (int spare = 0; spare < 24; spare++) {
		for (int what = 0; what < 3; what++) {
			trace_id_t trid = 42;
			limit(RLIMIT_NOFILE, (rlim_t)(next + spare));
			int err = what == 0   ? posix_trace_create(0, &attr, &trid)
				  : what == 1 ? posix_trace_create_withlog(0, &with_log, fd, &trid)
					      : posix_trace_open(log_fd, &trid);
			limit(RLIMIT_NOFILE, RLIM_INFINITY);
			if (err) {
				CHECK_EQ(err, ENOMEM);
				CHECK_EQ(trid, 42);
				CHECK(!has_worked[what]);
				continue;
			}
			CHECK_GT(spare, 0);
			has_worked[what] = true;
			if (what == 2)
				ts_close_log(trid);
			else
				ts_shutdown(trid);
		}
	}
	for (int what = 0; what < 3; what++)
		CHECK(has_worked[what]);
	/* Nothing was left open on the way. */
	CHECK_EQ(next_descriptor(), next);
}

TEST(too_little_address_space_is_enomem, "ERRORS-12 CREATE-17 CREATE-25", NEEDS_ADDRESS_LIMIT)
{
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, 256 << 20, 256);
	trace_attr_t small = small_attr();
	trace_id_t trid = 42;

	ts_shutdown(plain_stream());
	/* Room of a small stream that is virtual until used is 64 MiB, say. */
	limit_address_space((size_t)160 << 20);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(posix_trace_create(0, &attr, &trid), ENOMEM);
	CHECK_EQ(trid, 42);
	CHECK_OK(posix_trace_create(0, &small, &trid));
	limit(RLIMIT_AS, RLIM_INFINITY);
	ts_shutdown(trid);
}

/* Its /dev/shm has 4 MiB; the library has been initialised there. */
HELPER(in_full_shm)
{
	trace_event_id_t id = 0, unnamed = POSIX_TRACE_UNNAMED_USEREVENT;
	trace_attr_t attr = small_attr();
	trace_id_t trid = 0;

	fill_shm();
	if (posix_trace_create(0, &attr, &trid) != ENOMEM || trid)
		return 3;
	int err = posix_trace_eventid_open("no room", &id);
	if (err ? err != ENOMEM || id : !id)
		return 4;
	posix_trace_event(id, "x", 1);
	posix_trace_event(unnamed, "x", 1);
	/* Room again. */
	unlink("/dev/shm/filler");
	err = posix_trace_create(0, &attr, &trid);
	if (err || posix_trace_start(trid))
		return 5;
	posix_trace_event(unnamed, "x", 1);
	ts_expect(trid, POSIX_TRACE_START);
	ts_expect(trid, unnamed);
	return posix_trace_shutdown(trid) ? 6 : 0;
}

TEST(no_room_for_shared_objects_has_the_errors_of_the_pages, "ERRORS-11 ERRORS-12 CREATE-17",
     NEEDS_EXEC)
{
	run_in_small_shm("4m", "in_full_shm", NULL);
}

/* One of those up to a 0, or none. */
static void expect_one_of(int line, int err, ...)
{
	bool is_right = err == 0;
	va_list allowed;
	va_start(allowed, err);
	for (int one; !is_right && (one = va_arg(allowed, int));)
		is_right = err == one;
	va_end(allowed);
	if (!is_right)
		harness_fail("%s:%d: %s (%d)", __FILE__, line, strerror(err), err);
}
#define EXPECT_ONE_OF(call, ...) expect_one_of(__LINE__, (call), __VA_ARGS__, 0)

TEST(wrong_arguments_have_the_errors_of_the_pages, "ERRORS-11 ERRORS-01 CREATE-16 CREATE-13")
{
	int null_fd = CHECK_SYS(open("/dev/null", O_WRONLY | O_CLOEXEC));
	int full_fd = CHECK_SYS(open("/dev/full", O_WRONLY | O_CLOEXEC));
	int dir_fd = CHECK_SYS(open("/", O_RDONLY | O_CLOEXEC));
	int file_fd = ts_temp_file(), read_fd = ts_reopen(file_fd, O_RDONLY);
	const int fds[] = {-1, 1000, null_fd, full_fd, dir_fd, file_fd, read_fd};

	for (int round = 0; round < 400; round++) {
		union {
			trace_attr_t attr;
			trace_event_set_t set;
			unsigned long words[96];
		} rubbish;
		trace_id_t trid;
		trace_event_id_t id;
		int value;

		for (size_t i = 0; i < 95; i++)
			rubbish.words[i] = harness_draw(UINT64_MAX);
		/* It is a string, too. */
		rubbish.words[95] = 0;
		uint64_t state = rubbish.words[94];
		int number = (int)state, fd = fds[(state >> 32) % 7];
		trace_attr_t *attr = round % 3 ? &rubbish.attr : NULL;
		trace_attr_t odd = append_attr();
		CHECK_OK(posix_trace_attr_setlogsize(&odd, (size_t)(state >> (state % 64))));
		CHECK_OK(posix_trace_attr_setstreamsize(&odd, (size_t)state >> 20 & 0xffff));
		EXPECT_ONE_OF(posix_trace_attr_setinherited(&odd, number), EINVAL);
		EXPECT_ONE_OF(posix_trace_attr_setstreamfullpolicy(&odd, number % 6), EINVAL);
		EXPECT_ONE_OF(posix_trace_attr_setlogfullpolicy(&odd, number % 6), EINVAL);
		EXPECT_ONE_OF(posix_trace_attr_destroy(&rubbish.attr), EINVAL);
		EXPECT_ONE_OF(
			posix_trace_eventset_add((trace_event_id_t)number % 2000, &rubbish.set),
			EINVAL);
		EXPECT_ONE_OF(posix_trace_eventset_fill(&rubbish.set, number % 5), EINVAL);
		EXPECT_ONE_OF(posix_trace_eventset_ismember((trace_event_id_t)number, &rubbish.set,
							    &value),
			      EINVAL);
		int err = posix_trace_create(number, attr, &trid);
		EXPECT_ONE_OF(err, EAGAIN, EINVAL, ENOMEM, EPERM, ESRCH);
		if (!err)
			ts_shutdown(trid);
		err = posix_trace_create_withlog(round % 2 ? 0 : number, &odd, fd, &trid);
		EXPECT_ONE_OF(err, EAGAIN, EINVAL, ENOMEM, EPERM, ESRCH, EBADF, ENOSPC);
		if (!err)
			ts_shutdown(trid);
		err = posix_trace_open(fd, &trid);
		EXPECT_ONE_OF(err, EINVAL, ENOMEM);
		if (!err)
			ts_close_log(trid);
		EXPECT_ONE_OF(posix_trace_eventid_open((const char *)&rubbish, &id), EINVAL,
			      ENAMETOOLONG);
	}
}
