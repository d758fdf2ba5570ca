/* SPDX-License-Identifier: MIT */
/* Event types with a layout: opened, told by streams and logs, made of the members of a structure. */
#include "include/posixtrace-private.h"
#include "tests/support/keeper.h"
#include "tests/support/names.h"
#include "tests/support/private_user.h"

#include <fcntl.h>
#include <posixtrace-control.h>
#include <posixtrace.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "lib/model/layout_text.h"

#define QUERY "u64 id, u32 rows, str sql"

static trace_event_id_t open_layout(const char *name, const char *layout)
{
	trace_event_id_t id = 0;

	CHECK_OK(posixtrace_eventid_open_layout(name, layout, &id));
	return id;
}

/* The layout is this one; null: there is none. */
static void check_layout(trace_id_t trid, trace_event_id_t id, const char *layout)
{
	char text[POSIXTRACE_LAYOUT_MAX + 1] = "unchanged";
	int error = posixtrace_eventid_get_layout(trid, id, text, sizeof(text));

	CHECK_EQ(error, layout ? 0 : ENODATA);
	CHECK_STR_EQ(text, layout ? layout : "unchanged");
}

/* The identifier of a name in a log. */
static trace_event_id_t find(trace_id_t trid, const char *name)
{
	char text[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t id;
	int unavailable;

	CHECK_OK(posix_trace_eventtypelist_rewind(trid));
	while (!posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable) && !unavailable) {
		CHECK_OK(posix_trace_eventid_get_name(trid, id, text));
		if (!strcmp(text, name))
			return id;
	}
	return 0;
}

static void check_log_layout(int fd, const char *name, const char *layout)
{
	trace_id_t trid = ts_open_log(fd);

	CHECK(find(trid, name) != 0);
	check_layout(trid, find(trid, name), layout);
	ts_close_log(trid);
}

TEST(a_type_is_opened_with_a_layout, "")
{
	trace_id_t trid = ts_create(getpid(), NULL);
	trace_event_id_t id = open_layout("query", QUERY), other = 77;
	char text[POSIXTRACE_LAYOUT_MAX + 1];

	CHECK(id > POSIX_TRACE_UNNAMED_USEREVENT);
	check_layout(trid, id, QUERY);
	CHECK_EQ(open_layout("query", QUERY), id);
	CHECK_EQ(ts_id("query"), id);
	check_layout(trid, ts_id("plain"), NULL);
	check_layout(trid, POSIX_TRACE_START, NULL);
	check_layout(trid, POSIX_TRACE_UNNAMED_USEREVENT, NULL);
	/* The first one stands. */
	CHECK_EQ(posixtrace_eventid_open_layout("query", "u64 id", &other), EEXIST);
	CHECK_EQ(posixtrace_eventid_open_layout("query", QUERY ", u8 x", &other), EEXIST);
	CHECK_EQ(other, 77);
	check_layout(trid, id, QUERY);
	/* A type without a layout gets one later. */
	CHECK_EQ(open_layout("plain", "u8 x"), ts_id("plain"));
	check_layout(trid, ts_id("plain"), "u8 x");
	/* A name of a controller, too. */
	CHECK_EQ(ts_trid_id(trid, "of controller"), open_layout("of controller", "u16 y"));
	check_layout(trid, ts_trid_id(trid, "of controller"), "u16 y");
	CHECK_EQ(posixtrace_eventid_get_layout(trid, id, text, strlen(QUERY)), ERANGE);
	CHECK_OK(posixtrace_eventid_get_layout(trid, id, text, strlen(QUERY) + 1));
}

TEST(wrong_arguments_are_refused, "")
{
	static char large[POSIXTRACE_LAYOUT_MAX + 2];
	char text[POSIXTRACE_LAYOUT_MAX + 1], name[TRACE_EVENT_NAME_MAX + 2];
	trace_id_t trid = ts_create(getpid(), NULL);
	trace_event_id_t id = 77;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	CHECK_EQ(posixtrace_eventid_open_layout(name, "u8 x", &id), ENAMETOOLONG);
	CHECK_EQ(posixtrace_eventid_open_layout(NULL, "u8 x", &id), EINVAL);
	CHECK_EQ(posixtrace_eventid_open_layout("x", NULL, &id), EINVAL);
	CHECK_EQ(posixtrace_eventid_open_layout("x", "u8 x", NULL), EINVAL);
	CHECK_EQ(posixtrace_eventid_open_layout("x", "", &id), EINVAL);
	CHECK_EQ(posixtrace_eventid_open_layout("posix_trace_start", "u8 x", &id), EINVAL);
	CHECK_EQ(posixtrace_eventid_open_layout("posix_trace_unnamed_userevent", "u8 x", &id),
		 EINVAL);
	snprintf(large, sizeof(large), "u8 x");
	memset(large + 4, ' ', sizeof(large) - 5);
	CHECK_EQ(posixtrace_eventid_open_layout("x", large, &id), ENAMETOOLONG);
	CHECK_EQ(id, 77);
	large[POSIXTRACE_LAYOUT_MAX] = '\0';
	CHECK_OK(posixtrace_eventid_open_layout("x", large, &id));
	check_layout(trid, id, large);
	CHECK_EQ(posixtrace_eventid_get_layout(trid, id, NULL, 1), EINVAL);
	CHECK_EQ(posixtrace_eventid_get_layout(trid, id, NULL, 0), ERANGE);
	CHECK_EQ(posixtrace_eventid_get_layout(trid, 0, text, sizeof(text)), EINVAL);
	CHECK_EQ(posixtrace_eventid_get_layout(trid, id + 1, text, sizeof(text)), EINVAL);
	ts_shutdown(trid);
	CHECK_EQ(posixtrace_eventid_get_layout(trid, id, text, sizeof(text)), EINVAL);
}

TEST(there_is_room_for_so_many_layouts, "")
{
	static char large[POSIXTRACE_LAYOUT_MAX + 1];
	trace_event_id_t id;
	trace_id_t trid = ts_create(getpid(), NULL);
	char name[32];
	int i, error = 0;

	memset(large, ' ', sizeof(large) - 1);
	memcpy(large, "u8 x", 4);
	for (i = 0; !error; i++) {
		snprintf(name, sizeof(name), "type-%d", i);
		error = posixtrace_eventid_open_layout(name, large, &id);
	}
	CHECK_EQ(error, ENOSPC);
	CHECK(i > 250 && i < 260);
	check_layout(trid, open_layout("type-0", large), large);
	/* The type itself is there. */
	check_layout(trid, ts_id(name), NULL);
}

/* ---- logs ---- */

TEST(a_log_has_the_layouts_also_when_it_was_cleared, "", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	trace_event_id_t late, query = open_layout("query", QUERY);

	ts_id("without");
	trace_id_t trid = ts_create_log(getpid(), NULL, fd);
	ts_start(trid);
	late = ts_id("late");
	ts_emit(query, 1);
	ts_emit(late, 2);
	ts_flush(trid);
	check_log_layout(fd, "late", NULL);
	/* The name is in the log already. */
	CHECK_EQ(open_layout("late", "u8 x"), late);
	open_layout("new", "u16 y");
	ts_emit(late, 3);
	ts_flush(trid);
	check_log_layout(fd, "query", QUERY);
	check_log_layout(fd, "late", "u8 x");
	check_log_layout(fd, "without", NULL);
	/* They stay when the log is cleared, and another one comes without an event. */
	ts_clear(trid);
	open_layout("last", "u32 z");
	ts_shutdown(trid);
	check_log_layout(fd, "query", QUERY);
	check_log_layout(fd, "late", "u8 x");
	check_log_layout(fd, "new", "u16 y");
	check_log_layout(fd, "last", "u32 z");
	check_log_layout(fd, "without", NULL);
}

TEST(a_ring_keeps_the_layouts, "", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	trace_event_id_t query = open_layout("query", QUERY), late = ts_id("late");
	trace_id_t trid = start_log(POSIX_TRACE_FLUSH, 1 << 16, POSIX_TRACE_LOOP, 1 << 16, fd);

	for (uint32_t i = 0; i < 100; i++) {
		for (uint32_t k = 0; k < 200; k++)
			ts_emit(k % 2 ? query : late, k);
		ts_flush(trid);
		if (i == 50)
			open_layout("late", "u8 x");
	}
	ts_shutdown(trid);
	check_log_layout(fd, "query", QUERY);
	check_log_layout(fd, "late", "u8 x");
}

TEST(each_file_of_a_rotated_log_has_the_layouts, "", NEEDS_KEEPER)
{
	struct posixtrace_log_rotation rotation = {.pt_bytes = POSIXTRACE_LOG_ROTATION_MIN};
	trace_attr_t attr = log_attr(POSIX_TRACE_FLUSH, 1 << 16, POSIX_TRACE_APPEND, 0);
	trace_event_id_t query = open_layout("query", QUERY), late = ts_id("late");
	char path[256], next[300];
	int fd = ts_temp_named(path, sizeof(path)), files = 0;

	CHECK_OK(posixtrace_attr_setlogrotation(&attr, &rotation));
	trace_id_t trid = ts_create_log(getpid(), &attr, fd);
	ts_start(trid);
	for (int i = 1; i < 6; i++) {
		snprintf(next, sizeof(next), "%s.%06d", path, i);
		for (int k = 0; k < 100; k++)
			posix_trace_event(query, next, 200);
		ts_flush(trid);
		CHECK_EVENTUALLY(access(next, F_OK) == 0);
		ts_flush(trid);
		if (i == 3)
			open_layout("late", "u8 x");
	}
	ts_emit(late, 1);
	ts_shutdown(trid);
	CHECK_OK(posixtrace_log_open(path, &trid));
	check_layout(trid, find(trid, "query"), QUERY);
	check_layout(trid, find(trid, "late"), "u8 x");
	ts_close_log(trid);
	unlink(path);
	for (int i = 1;; i++) {
		snprintf(next, sizeof(next), "%s.%06d", path, i);
		fd = open(next, O_RDONLY);
		if (fd < 0)
			break;
		check_log_layout(fd, "query", QUERY);
		close(fd);
		unlink(next);
		files++;
	}
	CHECK_EQ(files, 5);
}

TEST(the_next_keeper_writes_layouts, "", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	trace_event_id_t query = open_layout("query", QUERY), late = ts_id("late");
	trace_id_t trid = ts_create_log(getpid(), NULL, fd);

	ts_start(trid);
	ts_emit(query, 1);
	ts_emit(late, 1);
	ts_flush(trid);
	CHECK_SYS(kill(keeper_of(trid), SIGKILL));
	open_layout("late", "u8 x");
	ts_emit(late, 1);
	ts_flush(trid);
	ts_shutdown(trid);
	check_log_layout(fd, "query", QUERY);
	check_log_layout(fd, "late", "u8 x");
}

TEST(a_copy_and_the_parts_of_a_cursor_have_the_layouts, "", NEEDS_KEEPER)
{
	struct posixtrace_cursor *cursor;
	struct ptrc_part part;
	struct posixtrace_log_writer *log;
	trace_event_id_t query = open_layout("query", QUERY), late = ts_id("late"), id, other;
	trace_id_t trid = ts_create_running(getpid(), NULL), parts;
	int fd = ts_temp_file();

	CHECK_OK(posixtrace_cursor_open(trid, 0, &cursor));
	ts_emit(query, 1);
	CHECK_OK(ptrc_cursor_get_part(cursor, &part));
	CHECK_OK(ptrc_log_open_parts(part.pt_bytes, part.pt_length, &parts));
	check_layout(parts, find(parts, "query"), QUERY);
	check_layout(parts, find(parts, "late"), NULL);
	open_layout("late", "u8 x");
	ts_emit(late, 1);
	do
		CHECK_OK(ptrc_cursor_get_part(cursor, &part));
	while (!part.pt_events);
	CHECK_OK(ptrc_log_add_part(parts, part.pt_bytes, part.pt_length, NULL));
	check_layout(parts, find(parts, "late"), "u8 x");
	ts_close_log(parts);
	posixtrace_cursor_close(cursor);
	ts_shutdown(trid);

	CHECK_OK(posixtrace_log_writer_open(fd, NULL, NULL, &log));
	CHECK_OK(posixtrace_log_writer_type(log, "query", NULL, &id));
	CHECK_OK(posixtrace_log_writer_type(log, "posix_trace_start", QUERY, &other));
	CHECK_EQ(other, POSIX_TRACE_START);
	CHECK_OK(posixtrace_log_writer_type(log, "query", QUERY, &other));
	CHECK_OK(posixtrace_log_writer_type(log, "query", QUERY, &other));
	CHECK_EQ(other, id);
	CHECK_EQ(posixtrace_log_writer_type(log, "query", "u8 x", &other), EEXIST);
	CHECK_EQ(posixtrace_log_writer_type(log, "query", "u9 x", &other), EINVAL);
	CHECK_EQ(other, id);
	CHECK_OK(posixtrace_log_writer_close(log, NULL, 0));
	check_log_layout(fd, "query", QUERY);
}

TEST(an_orphans_log_has_the_layouts, "", NEEDS_KEEPER)
{
	struct posixtrace_orphan orphan;
	char path[256], written[4096];
	int fd = ts_temp_named(path, sizeof(path));
	pid_t pid = harness_fork();

	if (pid == 0) {
		trace_event_id_t query = open_layout("query", QUERY);
		trace_id_t trid = ts_create_log(getpid(), NULL, fd);

		ts_start(trid);
		ts_emit(query, 1);
		harness_stand_still();
	}
	harness_wait_until_still(pid);
	pid_t keeper = other_holder(fd, pid);
	CHECK_GT(keeper, 0);
	kill_both(pid, keeper);
	CHECK_OK(posixtrace_get_orphan(0, &orphan, sizeof(orphan)));
	CHECK_OK(posixtrace_salvage_orphan(orphan.pt_id, NULL, written));
	check_log_layout(fd, "query", QUERY);
	unlink(path);
}

/* ---- several processes ---- */

struct both {
	char name[32], layout[64];
};

TS_ROUTINE(open_there)
{
	const struct both *both = arg;
	trace_event_id_t id = 0;
	int error = posixtrace_eventid_open_layout(both->name, both->layout, &id);
	return error ? -error : (intptr_t)id;
}

static intptr_t target_layout(struct ts_target *target, const char *name, const char *layout)
{
	struct both both;

	snprintf(both.name, sizeof(both.name), "%s", name);
	snprintf(both.layout, sizeof(both.layout), "%s", layout);
	return ts_target_call(target, open_there, &both, sizeof(both));
}

TEST(forked_processes_share_layouts, "")
{
	trace_event_id_t query = open_layout("query", QUERY);
	struct ts_target parent = ts_target_fork(), child = ts_target_fork_child(&parent);

	/* The children use the names of their parents; they give them layouts for themselves. */
	CHECK_EQ(target_layout(&parent, "query", QUERY), query);
	CHECK_EQ(target_layout(&child, "query", "u8 x"), -EEXIST);
	ts_id("plain");
	CHECK(target_layout(&child, "own", "u8 x") > 0);
	CHECK_EQ(target_layout(&child, "query", QUERY), query);
	CHECK_EQ(target_layout(&child, "query", "u8 x"), -EEXIST);
	ts_target_end(&child);
	/* Processes of one stream have one table. */
	trace_id_t trid = ts_run_inherited(parent.pid, 0, 0, 0);
	struct ts_target heir = ts_target_fork_child(&parent);
	CHECK(target_layout(&heir, "of heir", "u16 y") > 0);
	CHECK_EQ(target_layout(&parent, "of heir", "u16 z"), -EEXIST);
	check_layout(trid, ts_trid_id(trid, "of heir"), "u16 y");
	check_layout(trid, query, QUERY);
	ts_target_end(&heir);
	ts_target_end(&parent);
}

TEST(another_program_image_finds_the_layout, "", NEEDS_EXEC)
{
	struct ts_target target = ts_target_fork();
	trace_id_t trid = ts_create_running(target.pid, NULL);
	intptr_t id = target_layout(&target, "query", QUERY);

	ts_target_exec(&target);
	CHECK_EQ(target_layout(&target, "query", "u8 x"), -EEXIST);
	CHECK_EQ(target_layout(&target, "query", QUERY), id);
	check_layout(trid, (trace_event_id_t)id, QUERY);
	ts_target_end(&target);
}

/* ---- the names object ---- */

static uint32_t add_type(struct ptrc_names *n, const char *name, const char *layout)
{
	uint32_t id;

	CHECK_OK(ptrc_names_register(n, name, &id));
	CHECK_OK(ptrc_names_set_layout(n, id, layout, (uint32_t)strlen(layout)));
	return id;
}

TEST(a_layout_that_was_half_made_is_made, "")
{
	char text[PTRC_NAMES_LAYOUT_BYTES];
	struct ptrc_names n = make_names();
	uint32_t a = add_type(&n, "a", "u8 a"), b = add_type(&n, "b", "u8 b"), c;

	/* The thread that opened b was killed when the layout was in the list. */
	atomic_store(&n.object->entry[b - PTRC_ID_FIRST].layout, 0);
	atomic_store(&n.object->layout_count, 1);
	CHECK_EQ(ptrc_names_get_layout(&n, b, text), ENODATA);
	CHECK_EQ(ptrc_names_object_described(n.object, 1), PTRC_NAMES_MAX);
	c = add_type(&n, "c", "u8 c");
	CHECK_OK(ptrc_names_get_layout(&n, b, text));
	CHECK_STR_EQ(text, "u8 b");
	for (uint32_t i = 0; i < 3; i++)
		CHECK_EQ(ptrc_names_object_described(n.object, i), i);
	CHECK_EQ(ptrc_names_object_described(n.object, 3), PTRC_NAMES_MAX);
	/* The same type is opened again, with another layout: the one of the list stands. */
	atomic_store(&n.object->entry[c - PTRC_ID_FIRST].layout, 0);
	atomic_store(&n.object->layout_count, 2);
	CHECK_EQ(ptrc_names_set_layout(&n, c, "u8 d", 4), EEXIST);
	CHECK_OK(ptrc_names_set_layout(&n, c, "u8 c", 4));
	CHECK_OK(ptrc_names_get_layout(&n, a, text));
	drop_names(&n);
}

TEST(a_damaged_names_object_does_no_harm, "")
{
	enum { END = PTRC_NAMES_TEXTS_BYTES };
	static const uint32_t places[] = {1,	2,	 3,   6,	  8,
					  4096, END - 4, END, UINT32_MAX, UINT32_MAX - 3};
	struct ptrc_names_text head = {.index = 0, .bytes = UINT16_MAX};
	char text[PTRC_NAMES_LAYOUT_BYTES];
	struct ptrc_names n = make_names(), copy;
	uint32_t a = add_type(&n, "a", "u8 a"), b = add_type(&n, "b", "u8 b");

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		atomic_store(&n.object->entry[0].layout, places[i]);
		atomic_store(&n.object->layouts[0], places[i]);
		CHECK_EQ(ptrc_names_get_layout(&n, a, text), ENODATA);
		ptrc_names_object_described(n.object, 0);
		copy = copy_names(n.object, 2);
		CHECK_EQ(ptrc_names_get_layout(&copy, a, text), ENODATA);
		CHECK_OK(ptrc_names_get_layout(&copy, b, text));
		CHECK_STR_EQ(text, "u8 b");
		drop_names(&copy);
	}
	atomic_store(&n.object->entry[0].layout, 4);
	memcpy(n.object->texts + 4, &head, sizeof(head));
	CHECK_EQ(ptrc_names_get_layout(&n, a, text), ENODATA);
	head = (struct ptrc_names_text){.index = PTRC_NAMES_MAX, .bytes = 4};
	memcpy(n.object->texts + 4, &head, sizeof(head));
	CHECK_EQ(ptrc_names_get_layout(&n, a, text), ENODATA);
	/* Counters that lie. */
	for (uint32_t word = 0; word < 2; word++) {
		_Atomic uint32_t *words[] = {&n.object->texts_used, &n.object->layout_count};
		uint32_t id, was = atomic_load(words[word]);

		CHECK_OK(ptrc_names_register(&n, word ? "c" : "d", &id));
		for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
			atomic_store(words[word], places[i]);
			int error = ptrc_names_set_layout(&n, id, "u8 c", 4);
			CHECK(!error || error == ENOSPC || error == ENOMEM || error == EEXIST);
		}
		atomic_store(words[word], was);
	}
	drop_names(&n);
}

struct racer {
	struct ptrc_names *names;
	uint32_t id;
	int number, result;
};

static void *race(void *arg)
{
	struct racer *r = arg;
	char layout[32];

	snprintf(layout, sizeof(layout), "u8 of%d", r->number % 3);
	r->result = ptrc_names_set_layout(r->names, r->id, layout, (uint32_t)strlen(layout));
	return NULL;
}

TEST(the_first_of_several_threads_counts, "")
{
	enum { THREADS = 6 };
	struct ptrc_names n = make_names();
	struct racer racers[THREADS];
	pthread_t threads[THREADS];
	char text[PTRC_NAMES_LAYOUT_BYTES], name[32], expected[32];

	for (int round = 0; round < 300; round++) {
		uint32_t id;

		snprintf(name, sizeof(name), "type-%d", round);
		CHECK_OK(ptrc_names_register(&n, name, &id));
		for (int i = 0; i < THREADS; i++) {
			racers[i] = (struct racer){&n, id, i, -1};
			threads[i] = ts_thread(race, &racers[i]);
		}
		for (int i = 0; i < THREADS; i++)
			ts_join(threads[i]);
		CHECK_OK(ptrc_names_get_layout(&n, id, text));
		for (int i = 0; i < THREADS; i++) {
			snprintf(expected, sizeof(expected), "u8 of%d", i % 3);
			CHECK_EQ(racers[i].result, strcmp(text, expected) ? EEXIST : 0);
		}
	}
	drop_names(&n);
}

/* ---- structures ---- */

enum color { RED, GREEN };

struct query {
	uint64_t id;
	uint32_t rows;
	char sql[64];
};
POSIXTRACE_TYPE(query, "db.query", struct query, id, rows, sql);

struct everything {
	bool is;
	short number;
	char letter;
	signed char small;
	unsigned char mac[6];
	unsigned int counts[3];
	enum color color;
	float ratio;
	double ratios[2];
	void *place;
	long long wide;
	unsigned char last;
};
POSIXTRACE_TYPE(everything, "everything", struct everything, is, number, letter, small, mac, counts,
		color, ratio, ratios, place, wide, last);

struct some {
	char a;
	uint64_t left_out;
	uint32_t b;
};
POSIXTRACE_TYPE(some, "some", struct some, b, a);

struct __attribute__((packed)) tight {
	char a;
	uint64_t b;
};
POSIXTRACE_TYPE(tight, "tight", struct tight, a, b);

/* Of the same name as `query`, with another layout. */
struct other {
	uint32_t id;
};
POSIXTRACE_TYPE(other, "db.query", struct other, id);

/* The next event, whose type has this layout. */
static struct ts_event expect_layout(trace_id_t trid, const char *layout)
{
	struct ts_event e = ts_next(trid);

	check_layout(trid, e.info.posix_event_id, layout);
	return e;
}

TEST(a_structure_makes_the_layout, "")
{
	trace_id_t trid = ts_create_running(getpid(), NULL);
	struct query q = {.id = 2, .rows = 3, .sql = "delete"};

	POSIXTRACE_EMIT(query, .id = 1, .rows = 7, .sql = "select");
	POSIXTRACE_EMIT_FROM(query, &q);
	ts_expect(trid, POSIX_TRACE_START);
	struct ts_event e = expect_layout(trid, "u64 id, u32 rows, char[64] sql");
	/* Without what stands behind the last member. */
	CHECK_EQ(e.len, 76);
	CHECK_EQ(((struct query *)(void *)e.data)->id, 1);
	CHECK_EQ(((struct query *)(void *)e.data)->rows, 7);
	CHECK_STR_EQ((char *)e.data + 12, "select");
	e = ts_next(trid);
	CHECK(!memcmp(e.data, &q, 76));
	POSIXTRACE_EMIT(everything, .wide = -1);
	e = expect_layout(
		trid, "bool is, i16 number, char[1] letter, i8 small, bytes[6] mac, "
		      "u32[3] counts, u32 color, f32 ratio, f64[2] ratios, x64 place, i64 wide, "
		      "u8 last");
	CHECK_EQ(e.len, offsetof(struct everything, last) + 1);
	POSIXTRACE_EMIT(some, .a = 'a', .b = 5);
	e = expect_layout(trid, "packed char[1] a, pad[15], u32 b");
	CHECK_EQ(e.len, 20);
	POSIXTRACE_EMIT(tight, .b = 5);
	e = expect_layout(trid, "packed char[1] a, u64 b");
	CHECK_EQ(e.len, 9);
}

/* Fills the stack with ones, which a structure would then have in its padding. */
__attribute__((noinline)) static void soil_stack(void)
{
	volatile char soiled[2048];

	for (size_t i = 0; i < sizeof(soiled); i++)
		soiled[i] = (char)0xff;
}

__attribute__((noinline)) static void emit_some(void)
{
	struct some s;

	memset(&s, 0xff, sizeof(s));
	s.a = 'a';
	s.b = 5;
	POSIXTRACE_EMIT_FROM(some, &s);
}

TEST(padding_and_members_that_are_not_listed_are_zeros, "")
{
	static const unsigned char expected[20] = {'a', [16] = 5};
	trace_id_t trid = ts_create_running(getpid(), NULL);

	soil_stack();
	emit_some();
	ts_expect(trid, POSIX_TRACE_START);
	struct ts_event e = ts_next(trid);
	CHECK_EQ(e.len, 20);
	CHECK(!memcmp(e.data, expected, sizeof(expected)));
}

TEST(nothing_happens_untraced, "")
{
	int evaluated = 0;

	POSIXTRACE_EMIT(query, .id = (uint64_t)++evaluated);
	CHECK_EQ(evaluated, 0);
	CHECK_EQ(query.pt_id, 0);
}

TEST(of_two_structures_the_second_is_not_taken_for_the_first, "")
{
	trace_id_t trid = ts_create_running(getpid(), NULL);

	POSIXTRACE_EMIT(query, .id = 1);
	CHECK_EQ(ts_figure(trid, "refused_names"), 0);
	POSIXTRACE_EMIT(other, .id = 1);
	POSIXTRACE_EMIT(other, .id = 2);
	CHECK_EQ(posixtrace_open_type(&query), 0);
	CHECK_EQ(posixtrace_open_type(&other), EEXIST);
	CHECK_EQ(posixtrace_open_type(&other), EEXIST);
	CHECK_EQ(posixtrace_open_type(NULL), EINVAL);
	/* A reader that looks for the name does not see all of its events, so it is told. */
	CHECK_EQ(ts_figure(trid, "refused_names"), 1);
	ts_expect(trid, POSIX_TRACE_START);
	trace_event_id_t id = ts_next(trid).info.posix_event_id;
	CHECK_EQ(id, ts_id("db.query"));
	ts_expect(trid, POSIX_TRACE_UNNAMED_USEREVENT);
	ts_expect(trid, POSIX_TRACE_UNNAMED_USEREVENT);
}

static void on_signal(int signal)
{
	(void)signal;
	POSIXTRACE_EMIT(query, .id = 5);
}

TEST(a_signal_handler_opens_a_type, "")
{
	static _Alignas(16) char stack[64 << 10];
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	trace_id_t trid = ts_create_running(getpid(), NULL);
	size_t untouched = 0;

	CHECK_EQ(sigaltstack(&alternate, NULL), 0);
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	memset(stack, 0x5a, sizeof(stack));
	CHECK_EQ(raise(SIGUSR1), 0);
	while (stack[untouched] == 0x5a)
		untouched++;
	NOTE("a handler that opens a type takes %zu bytes of stack", sizeof(stack) - untouched);
	CHECK(sizeof(stack) - untouched <= 16384);
	ts_expect(trid, POSIX_TRACE_START);
	ts_expect(trid, ts_id("db.query"));
}

static void *emit_many(void *arg)
{
	for (int i = 0; i < 1000; i++)
		POSIXTRACE_EMIT(query, .id = (uintptr_t)arg);
	return NULL;
}

TEST(threads_open_a_type_together, "")
{
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, 4 << 20, 0);
	pthread_t threads[4];

	for (uintptr_t i = 0; i < 4; i++)
		threads[i] = ts_thread(emit_many, (void *)i);
	for (int i = 0; i < 4; i++)
		ts_join(threads[i]);
	ts_stop(trid);
	struct ts_events events = ts_read_all(trid);
	CHECK_EQ(ts_count(&events, ts_id("db.query")), 4000);
}

TEST(a_forked_child_goes_on_with_a_type, "")
{
	trace_id_t trid = ts_run_inherited(getpid(), 0, 0, 0);
	POSIXTRACE_EMIT(query, .id = 1);
	if (IN_CHILD()) {
		POSIXTRACE_EMIT(query, .id = 2);
		POSIXTRACE_EMIT(tight, .b = 3);
		_exit(0);
	}
	ts_expect(trid, POSIX_TRACE_START);
	ts_expect(trid, ts_id("db.query"));
	ts_expect(trid, ts_id("db.query"));
	expect_layout(trid, "packed char[1] a, u64 b");
}

/* A good member with this change makes no layout. */
#define CHECK_NO_LAYOUT(change)                                        \
	do {                                                           \
		struct posixtrace_member m = good;                     \
                                                                       \
		change;                                                \
		CHECK_EQ(ptrc_layout_of_members(&m, 1, text), EINVAL); \
	} while (0)

TEST(members_that_make_no_layout_are_refused, "")
{
	static const struct posixtrace_member good = {"a", 0, 4, 4, POSIXTRACE_UNSIGNED, 0};
	struct posixtrace_member two[2] = {good, good};
	char text[POSIXTRACE_LAYOUT_MAX + 1];
	static char name[POSIXTRACE_LAYOUT_MAX];

	CHECK_EQ(ptrc_layout_of_members(&good, 0, text), EINVAL);
	CHECK_NO_LAYOUT(m.pt_kind = 0);
	CHECK_NO_LAYOUT(m.pt_kind = 7);
	CHECK_NO_LAYOUT(m.pt_item_bytes = 3);
	CHECK_NO_LAYOUT(m.pt_bytes = 8);
	CHECK_NO_LAYOUT(m.pt_name = "");
	/* At one place, and one in the other. */
	CHECK_EQ(ptrc_layout_of_members(two, 2, text), EINVAL);
	two[1].pt_offset = 2;
	CHECK_EQ(ptrc_layout_of_members(two, 2, text), EINVAL);
	two[1].pt_offset = 4;
	CHECK_OK(ptrc_layout_of_members(two, 2, text));
	CHECK_STR_EQ(text, "u32 a, u32 a");
	memset(name, 'n', sizeof(name) - 1);
	two[1].pt_name = name;
	CHECK_EQ(ptrc_layout_of_members(two, 2, text), ENAMETOOLONG);
	name[POSIXTRACE_LAYOUT_MAX - strlen("u32 a, u32 ")] = '\0';
	CHECK_OK(ptrc_layout_of_members(two, 2, text));
	CHECK_EQ(strlen(text), POSIXTRACE_LAYOUT_MAX);
}
