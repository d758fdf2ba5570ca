/* SPDX-License-Identifier: MIT */
/* Logs that go on in another file: posixtrace_attr_setlogrotation(), posixtrace_log_open(). */
#include "include/posixtrace-private.h"
#include "tests/support/private_user.h"

#include "tests/support/keeper.h"
#include "tests/support/stream_memory.h"

#include <glob.h>
#include <posixtrace-control.h>
#include <sys/wait.h>

#include "lib/log/log_reader.h"
#include "lib/log/log_write.h"

#define KIB ((size_t)1024)
#define LEAST POSIXTRACE_LOG_ROTATION_MIN

struct family {
	char path[256];
	int fd;
	trace_id_t trid;
	trace_event_id_t id;
	uint32_t made;
};

static trace_attr_t attr_of(size_t bytes, int seconds, unsigned long keep)
{
	const struct posixtrace_log_rotation r = {
		.pt_bytes = bytes, .pt_time = {.tv_sec = seconds}, .pt_keep = keep};
	trace_attr_t attr = log_attr(POSIX_TRACE_FLUSH, 64 * KIB, POSIX_TRACE_APPEND, 0);

	CHECK_OK(posixtrace_attr_setlogrotation(&attr, &r));
	return attr;
}

static struct family begin_with(pid_t pid, const trace_attr_t *attr)
{
	struct family f = {.id = ts_id("number")};

	f.fd = ts_temp_named(f.path, sizeof(f.path));
	f.trid = ts_create_log(pid, attr, f.fd);
	ts_start(f.trid);
	return f;
}

static struct family begin(size_t bytes, int seconds, unsigned long keep)
{
	trace_attr_t attr = attr_of(bytes, seconds, keep);

	return begin_with(0, &attr);
}

/* The path of a file of the log, until the fourth call after this one. */
static const char *path_of(const struct family *f, unsigned int member)
{
	static char paths[4][300];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), member ? "%s.%06u" : "%s", f->path, member);
	return path;
}

static bool has(const struct family *f, unsigned int member)
{
	return access(path_of(f, member), F_OK) == 0;
}

static void remove_member(const struct family *f, unsigned int member)
{
	CHECK_SYS(unlink(path_of(f, member)));
}

static void make(struct family *f, uint32_t count)
{
	emit_run(f->id, f->made, f->made + count, 200);
	f->made += count;
}

/* Fills a file in one flush, which begins the next file before it returns. */
static void fill_one(struct family *f, unsigned int next)
{
	make(f, 100);
	ts_flush(f->trid);
	CHECK(has(f, next));
}

/* Fills files as far as the one with this number, which is begun. */
static void fill(struct family *f, unsigned int next)
{
	for (unsigned int i = 1; i <= next; i++)
		fill_one(f, i);
}

/* The last file that is there, not before this one. */
static unsigned int last_from(const struct family *f, unsigned int member)
{
	while (has(f, member + 1))
		member++;
	return member;
}

static trace_id_t open_all(const struct family *f)
{
	trace_id_t log;

	CHECK_OK(posixtrace_log_open(f->path, &log));
	return log;
}

static struct ts_events read_all(const struct family *f, struct ptrc_counts *counts)
{
	trace_id_t log = open_all(f);
	struct ts_events events = ts_read_log(log);

	*counts = counts_of(log);
	ts_close_log(log);
	return events;
}

/* Checks that the log has all events that were made, and returns its counts. */
static struct ptrc_counts expect_whole(const struct family *f)
{
	struct ptrc_counts counts;
	struct ts_events events = read_all(f, &counts);

	ts_expect_numbers(&events, f->id, 0, f->made - 1);
	CHECK_EQ(counts.pt_log_events, events.count);
	return counts;
}

static void end(struct family *f)
{
	char pattern[300];
	glob_t found;

	close(f->fd);
	snprintf(pattern, sizeof(pattern), "%s*", f->path);
	CHECK_EQ(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		unlink(found.gl_pathv[i]);
	globfree(&found);
}

static int open_member(const struct family *f, unsigned int member)
{
	return CHECK_SYS(open(path_of(f, member), O_RDWR | O_CLOEXEC));
}

static size_t numbers_in(const struct ts_events *events, trace_event_id_t id, uint32_t *first)
{
	ssize_t at = ts_find(events, id, 0);

	CHECK(at >= 0);
	*first = ts_number(&events->at[at]);
	return ts_count(events, id);
}

TEST(an_attribute_says_when_a_log_is_rotated, "", NEEDS_KEEPER)
{
	struct posixtrace_log_rotation r = {.pt_bytes = LEAST, .pt_time = {3600, 0}, .pt_keep = 7};
	struct posixtrace_log_rotation got;
	trace_attr_t attr;
	trace_id_t trid;
	int fds[2], fd = ts_temp_file();

	CHECK_OK(posix_trace_attr_init(&attr));
	CHECK_OK(posixtrace_attr_getlogrotation(&attr, &got));
	CHECK_EQ(got.pt_bytes + (size_t)got.pt_time.tv_sec + got.pt_keep, 0);
	CHECK_OK(posixtrace_attr_setlogrotation(&attr, &r));
	CHECK_OK(posixtrace_attr_getlogrotation(&attr, &got));
	CHECK_EQ(got.pt_bytes, LEAST);
	CHECK_EQ(got.pt_time.tv_sec, 3600);
	CHECK_EQ(got.pt_keep, 7);
	r.pt_keep = 1;
	CHECK_EQ(posixtrace_attr_setlogrotation(&attr, &r), EINVAL);
	r = (struct posixtrace_log_rotation){.pt_bytes = LEAST - 1};
	CHECK_EQ(posixtrace_attr_setlogrotation(&attr, &r), EINVAL);
	r = (struct posixtrace_log_rotation){.pt_time = {0, 999999999}};
	CHECK_EQ(posixtrace_attr_setlogrotation(&attr, &r), EINVAL);
	CHECK_EQ(posixtrace_attr_setlogrotation(&attr, NULL), EINVAL);
	CHECK_EQ(posixtrace_attr_setlogrotation(NULL, &got), EINVAL);
	/* Of LOOP, which is the default, a log has its own bound. */
	CHECK_EQ(posix_trace_create_withlog(0, &attr, fd, &trid), EINVAL);
	CHECK_OK(posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND));
	/* A file without a name has no next one; nor has a pipe. */
	CHECK_EQ(posix_trace_create_withlog(0, &attr, fd, &trid), EINVAL);
	CHECK_SYS(pipe(fds));
	CHECK_EQ(posix_trace_create_withlog(0, &attr, fds[1], &trid), EINVAL);
	/* A stream without a log has none to rotate. */
	CHECK_OK(posix_trace_create(0, &attr, &trid));
	ts_shutdown(trid);
}

TEST(each_event_is_in_exactly_one_file, "", NEEDS_KEEPER)
{
	struct family f = begin(LEAST, 0, 0);
	struct ptrc_counts counts;
	struct posixtrace_log_process process;
	struct ts_events all, one;
	uint64_t sum = 0;
	uint32_t next = 0;
	trace_id_t log;

	fill(&f, 3);
	make(&f, 1);
	/* What the log has, in all of its files. */
	ts_flush(f.trid);
	counts = counts_of(f.trid);
	CHECK_GE(counts.pt_log_events, f.made);
	ts_shutdown(f.trid);
	all = read_all(&f, &counts);
	ts_expect_numbers(&all, f.id, 0, f.made - 1);
	CHECK_EQ(counts.pt_files, 4);
	CHECK_EQ(counts.pt_missing_files + counts.pt_earlier_files, 0);
	CHECK_EQ(counts.pt_log_events, all.count);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_OVERFLOW), 0);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_START), 1);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_STOP), 1);
	/* Each is a log of its own: closed, with names and processes. */
	for (unsigned int i = 0; i < 4; i++) {
		int fd = open_member(&f, i);
		uint32_t first;

		one = ts_log_events(fd);
		CHECK_EQ(ts_count(&one, POSIX_TRACE_OVERFLOW), 0);
		CHECK_EQ(ts_count(&one, POSIX_TRACE_FLUSH_START),
			 ts_count(&one, POSIX_TRACE_FLUSH_STOP));
		next += (uint32_t)numbers_in(&one, f.id, &first);
		CHECK_EQ(first + (uint32_t)ts_count(&one, f.id), next);
		sum += one.count;
		log = ts_open_log(fd);
		CHECK_EQ(ts_status(log).posix_stream_flush_error, 0);
		ts_expect_name(log, f.id, "number");
		CHECK_OK(posixtrace_log_get_process(log, 0, &process, sizeof(process)));
		CHECK_EQ(counts_of(log).pt_files, 0);
		ts_close_log(log);
	}
	CHECK_EQ(sum, all.count);
	end(&f);
}

/* A file is closed after the flush that fills it, however fast events come. */
TEST(a_program_that_does_not_pause_does_not_hinder_a_rotation, "", NEEDS_KEEPER)
{
	const struct timespec wait = {.tv_sec = 1000};
	trace_attr_t attr = attr_of(LEAST, 0, 0);
	struct stat st;

	CHECK_OK(posixtrace_attr_setfullwait(&attr, &wait));
	struct family f = begin_with(0, &attr);
	make(&f, 5000);
	ts_shutdown(f.trid);
	struct ptrc_counts counts = expect_whole(&f);
	CHECK_GT(counts.pt_files, 2);
	for (unsigned int i = 0; i < counts.pt_files; i++) {
		CHECK_SYS(stat(path_of(&f, i), &st));
		/* What two flushes write, the second as the file is closed; and what is no
		 * event. */
		CHECK_LT((size_t)st.st_size, LEAST + 2 * 64 * KIB + 48 * KIB);
	}
	end(&f);
}

TEST(a_filter_and_losses_go_on_in_the_next_file, "", NEEDS_KEEPER)
{
	struct family f = begin(LEAST, 0, 0);
	trace_event_id_t other = ts_id("other");
	trace_event_set_t set = ts_set(other, 0);
	static struct ptrc_log_reader reader;
	struct ptrc_counts counts, first;

	/* Lost in the first file, as nobody makes room. */
	pid_t keeper = keeper_of(f.trid);
	CHECK_SYS(kill(keeper, SIGSTOP));
	emit_run(f.id, 0, 2000, 200);
	CHECK_SYS(kill(keeper, SIGCONT));
	ts_flush(f.trid);
	CHECK(has(&f, 1));
	ts_set_filter(f.trid, &set, POSIX_TRACE_SET_EVENTSET);
	emit_run(f.id, 2000, 2100, 200);
	ts_emit(other, 1);
	ts_flush(f.trid);
	CHECK(has(&f, 2));
	emit_run(f.id, 2100, 2110, 200);
	ts_shutdown(f.trid);
	int fd = open_member(&f, 0);
	trace_id_t log = ts_open_log(fd);
	first = counts_of(log);
	CHECK_GT(first.pt_lost_events, 0);
	CHECK_EQ(ts_status(log).posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
	ts_close_log(log);
	struct ts_events one = read_all(&f, &counts);
	CHECK_EQ(counts.pt_lost_events, first.pt_lost_events);
	CHECK_EQ(ts_count(&one, other), 0);
	/* Each packet begins with the filter, and so does the first one of a file. */
	fd = open_member(&f, 2);
	CHECK_OK(ptrc_log_reader_open_all(&fd, 1, false, &reader));
	CHECK_GT(reader.entry_count, 0);
	CHECK(reader.entries[0].head.flags & PTRC_LOG_HAS_FILTER);
	ptrc_log_reader_close(&reader);
	log = ts_open_log(fd);
	counts = counts_of(log);
	CHECK_EQ(counts.pt_lost_events, 0);
	CHECK_EQ(ts_status(log).posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	ts_close_log(log);
	end(&f);
}

TEST(the_oldest_files_go_and_foreign_ones_stay, "", NEEDS_KEEPER)
{
	struct family f = begin(LEAST, 0, 2);
	struct ptrc_counts counts;
	uint32_t first;

	/* A file of somebody else, and a link to nowhere, where the next ones would be. */
	int fd = CHECK_SYS(open(path_of(&f, 2), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
	CHECK_EQ(write(fd, "mine", 4), 4);
	CHECK_SYS(symlink("nowhere", path_of(&f, 3)));
	fill_one(&f, 1);
	CHECK(has(&f, 0));
	fill_one(&f, 4);
	CHECK_EVENTUALLY(!has(&f, 0));
	CHECK(has(&f, 1));
	fill_one(&f, 5);
	CHECK_EVENTUALLY(!has(&f, 1));
	fill_one(&f, 6);
	CHECK_EVENTUALLY(!has(&f, 4));
	ts_shutdown(f.trid);
	fd = open_member(&f, 2);
	CHECK_EQ(ts_file_size(fd), 4);
	remove_member(&f, 3);
	/* The first ones are gone, and that is told, but no damage. */
	struct ts_events events = read_all(&f, &counts);
	CHECK_EQ(counts.pt_files, 2);
	CHECK_EQ(counts.pt_missing_files, 0);
	CHECK_EQ(counts.pt_earlier_files, 3);
	CHECK_EQ(counts.pt_deleted_files, 3);
	CHECK_EQ(counts.pt_damaged_gaps, 0);
	CHECK_EQ(numbers_in(&events, f.id, &first), 100);
	CHECK_EQ(first, 300);
	CHECK_GE(counts.pt_earlier_events, 300);
	end(&f);
}

TEST(a_missing_last_file_is_told, "", NEEDS_KEEPER)
{
	struct family f = begin(LEAST, 0, 0);
	trace_id_t trid;

	fill(&f, 2);
	ts_shutdown(f.trid);
	for (unsigned int i = 3; i-- > 0;) {
		trid = open_all(&f);
		CHECK_EQ(ts_status(trid).posix_stream_flush_error, i == 2 ? 0 : EOWNERDEAD);
		struct ptrc_counts counts = counts_of(trid);
		CHECK_EQ(counts.pt_files, i + 1);
		CHECK_EQ(counts.pt_missing_files, i != 2);
		CHECK_EQ(counts.pt_missing_events, 0);
		CHECK_EQ(counts.pt_is_last_file_missing, i != 2);
		CHECK_EQ(counts.pt_uncounted_gaps, 0);
		ts_close_log(trid);
		if (i)
			remove_member(&f, i);
	}
	/* The file alone is whole. */
	trid = ts_open_log(f.fd);
	CHECK_EQ(ts_status(trid).posix_stream_flush_error, 0);
	ts_close_log(trid);
	end(&f);
}

/* The keeper names the next file, ends the last one, and then writes into the next one. */
TEST(a_file_cut_at_its_end_is_damaged_and_one_that_was_just_begun_not_missing, "", NEEDS_KEEPER)
{
	struct family f = begin(LEAST, 0, 0);

	fill(&f, 2);
	ts_shutdown(f.trid);
	CHECK_EQ(expect_whole(&f).pt_damaged_parts, 0);
	for (unsigned int i = 0; i < 2; i++) {
		int fd = open_member(&f, i);
		CHECK_SYS(ftruncate(fd, ts_file_size(fd) - 8));
		CHECK_EQ(expect_whole(&f).pt_damaged_parts, i + 1);
	}
	CHECK_SYS(ftruncate(open_member(&f, 2), 0));
	struct ptrc_counts counts = expect_whole(&f);
	CHECK_EQ(counts.pt_missing_files, 0);
	CHECK_EQ(counts.pt_is_last_file_missing, 0);
	/* Such a log has no end. */
	trace_id_t log = open_all(&f);
	CHECK_EQ(ts_status(log).posix_stream_flush_error, EOWNERDEAD);
	ts_close_log(log);
	end(&f);
}

TEST(a_missing_file_is_told, "", NEEDS_KEEPER)
{
	struct family f = begin(LEAST, 0, 0);
	struct ptrc_counts counts;
	uint32_t first;

	fill(&f, 3);
	ts_shutdown(f.trid);
	remove_member(&f, 1);
	struct ts_events events = read_all(&f, &counts);
	CHECK_EQ(counts.pt_files, 3);
	CHECK_EQ(counts.pt_missing_files, 1);
	CHECK_EQ(counts.pt_damaged_gaps, 1);
	CHECK_EQ(counts.pt_uncounted_gaps, 0);
	CHECK_GE(counts.pt_damaged_events, 100);
	/* But nothing is damaged. */
	CHECK_EQ(counts.pt_file_gaps, 1);
	CHECK_EQ(counts.pt_file_gap_events, counts.pt_damaged_events);
	CHECK_EQ(counts.pt_missing_events, counts.pt_damaged_events);
	CHECK_EQ(counts.pt_log_events, events.count - 2 + counts.pt_missing_events);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_OVERFLOW), 1);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_RESUME), 1);
	CHECK_EQ(numbers_in(&events, f.id, &first), 200);
	/* Nobody was told to delete the first one. */
	CHECK_SYS(unlink(f.path));
	events = read_all(&f, &counts);
	CHECK_EQ(counts.pt_earlier_files, 2);
	CHECK_EQ(counts.pt_deleted_files, 0);
	CHECK_EQ(posixtrace_log_open(path_of(&f, 7), &f.trid), ENOENT);
	CHECK_EQ(posixtrace_log_open("/dev/null", &f.trid), EINVAL);
	CHECK_EQ(posixtrace_log_open(NULL, &f.trid), EINVAL);
	end(&f);
}

/* The stream gets more than it has room for while its keeper sleeps. */
static void lose(struct family *f)
{
	pid_t keeper = keeper_of(f->trid);
	CHECK_SYS(kill(keeper, SIGSTOP));
	make(f, 2000);
	CHECK_SYS(kill(keeper, SIGCONT));
	ts_flush(f->trid);
	ts_flush(f->trid);
}

/* How many events the log tells were lost in the stream. */
static unsigned long lost_by(const struct family *f)
{
	trace_id_t log = open_all(f);

	CHECK_EQ(ts_status(log).posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
	struct ptrc_counts counts = counts_of(log);
	ts_close_log(log);
	return counts.pt_lost_events;
}

/* Takes a file of the log away while `lost` is checked, and puts it back. */
static void check_without(const struct family *f, unsigned int member, unsigned long lost)
{
	const char *path = path_of(f, member);
	char away[310];

	snprintf(away, sizeof(away), "%s-away", path);
	CHECK_SYS(rename(path, away));
	CHECK_EQ(lost_by(f), lost);
	CHECK_SYS(rename(away, path));
}

TEST(what_files_that_are_gone_told_of_losses_is_told, "", NEEDS_KEEPER)
{
	for (unsigned int keep = 0; keep < 3; keep += 2) {
		struct family f = begin(LEAST, 0, keep);
		unsigned int last = 0;

		NOTE("%u files are kept", keep);
		fill_one(&f, ++last);
		lose(&f);
		/* A flush that took so much was the end of a file, maybe of two. */
		last = last_from(&f, last);
		for (int i = 0; i < 3; i++) {
			ts_start(f.trid);
			fill_one(&f, ++last);
			last = last_from(&f, last);
			/* Whoever takes over knows it, too. */
			kill_keeper(f.trid);
		}
		CHECK_EQ(has(&f, 1), keep == 0);
		unsigned long lost = counts_of(f.trid).pt_lost_events;
		CHECK_GE(lost, 1000);
		CHECK_EQ(lost_by(&f), lost);
		ts_shutdown(f.trid);
		CHECK_EQ(lost_by(&f), lost);
		for (unsigned int i = 0; keep == 0 && i < last; i++)
			check_without(&f, i, lost);
		/* The last one alone. */
		for (unsigned int i = 0; i < last; i++)
			unlink(path_of(&f, i));
		CHECK_EQ(lost_by(&f), lost);
		end(&f);
	}
}

TEST(a_clear_leaves_the_last_file_empty_and_forgets_losses_of_those_that_are_gone, "", NEEDS_KEEPER)
{
	struct family f = begin(LEAST, 0, 2);
	unsigned int last = 1;

	fill_one(&f, last);
	lose(&f);
	last = last_from(&f, last) + 1;
	ts_start(f.trid);
	fill_one(&f, last);
	last = last_from(&f, last);
	ts_clear(f.trid);
	for (unsigned int i = 0; i < last; i++)
		CHECK(!has(&f, i));
	CHECK(has(&f, last));
	f.made = 0;
	ts_start(f.trid);
	fill_one(&f, last + 1);
	ts_shutdown(f.trid);
	struct ptrc_counts counts = expect_whole(&f);
	CHECK_EQ(counts.pt_lost_events, 0);
	CHECK_EQ(counts.pt_files, 2);
	CHECK_EQ(counts.pt_earlier_files, 0);
	end(&f);
}

TEST(a_keeper_that_takes_over_goes_on_in_the_last_file, "", NEEDS_KEEPER)
{
	struct family f = begin(LEAST, 0, 0);
	struct ptrc_counts counts;

	for (unsigned int i = 1; i <= 3; i++) {
		fill_one(&f, i);
		kill_keeper(f.trid);
		/* The first file may be taken away while the log is written. */
		if (i == 2)
			CHECK_SYS(unlink(f.path));
	}
	make(&f, 5);
	ts_flush(f.trid);
	/* The file that is being written is gone: the log goes on in another one. */
	kill_keeper(f.trid);
	remove_member(&f, 3);
	make(&f, 5);
	ts_shutdown(f.trid);
	CHECK(has(&f, 4));
	struct ts_events events = read_all(&f, &counts);
	CHECK_EQ(counts.pt_files, 3);
	CHECK_EQ(counts.pt_earlier_files, 1);
	CHECK_EQ(counts.pt_missing_files, 1);
	CHECK_EQ(ts_count(&events, f.id), 205);
	end(&f);
}

/* The number of the last file, which a keeper reads when it takes over, is damaged. */
TEST(a_file_number_that_makes_no_sense_keeps_no_keeper, "", NEEDS_KEEPER)
{
	struct family f = begin(LEAST, 0, 2);
	struct ptrc_stream_header *h = find_stream();

	fill_one(&f, 1);
	kill_keeper(f.trid);
	for (size_t copy = 0; copy < 2; copy++)
		h->log_state[1 + copy * PTRC_LOG_STATE_WORDS +
			     offsetof(struct ptrc_log_state, member) / 8] = UINT64_C(1) << 62;
	make(&f, 5);
	CHECK_OK(posix_trace_clear(f.trid));
	ts_shutdown(f.trid);
	end(&f);
}

TEST(what_a_killed_controller_leaves_is_finished_in_the_last_file, "", NEEDS_KEEPER)
{
	struct family f = {.id = ts_id("number")};
	struct family *shared = harness_share(sizeof(f));

	for (int both = 0; both < 2; both++) {
		pid_t pid = harness_fork();
		if (pid == 0) {
			f = begin(LEAST, 0, 0);
			fill_one(&f, 1);
			make(&f, 50);
			*shared = f;
			if (both)
				kill_keeper(f.trid);
			kill(getpid(), SIGKILL);
		}
		CHECK(WIFSIGNALED(harness_reap(pid)));
		/* A create finishes what two dead processes left. */
		ts_shutdown(ts_create(0, NULL));
		f = *shared;
		NOTE("%s", both ? "the keeper was killed, too" : "the keeper lives");
		struct ptrc_counts counts = expect_whole(&f);
		CHECK_EQ(counts.pt_files, 2);
		CHECK_EQ(counts.pt_missing_files, 0);
		f.fd = -1;
		end(&f);
	}
}

TEST(a_log_goes_on_where_no_other_file_can_be_made, "", NEEDS_KEEPER)
{
	char directory[64] = "/tmp/ptrc-rotate-XXXXXX", elsewhere[80];
	trace_attr_t attr = attr_of(LEAST, 0, 0);
	struct family f = {.id = ts_id("number")};

	CHECK(mkdtemp(directory));
	snprintf(f.path, sizeof(f.path), "%s/log", directory);
	f.fd = CHECK_SYS(open(f.path, O_CREAT | O_RDWR | O_CLOEXEC, 0600));
	f.trid = ts_create_log(0, &attr, f.fd);
	ts_start(f.trid);
	snprintf(elsewhere, sizeof(elsewhere), "%s.moved", directory);
	CHECK_SYS(rename(directory, elsewhere));
	make(&f, 100);
	ts_flush(f.trid);
	CHECK_EQ(counts_of(f.trid).pt_rotation_error, ENOENT);
	CHECK_EQ(counts_of(f.trid).pt_rotation_file, 1);
	/* Nothing is missing. */
	CHECK_EQ(ts_status(f.trid).posix_stream_flush_error, 0);
	make(&f, 100);
	ts_shutdown(f.trid);
	CHECK_SYS(rename(elsewhere, directory));
	CHECK(!has(&f, 1));
	CHECK_EQ(expect_whole(&f).pt_files, 1);
	end(&f);
	rmdir(directory);
}

TEST(a_rotation_tells_that_a_file_was_truncated, "", NEEDS_KEEPER)
{
	const struct posixtrace_log_rotation r = {.pt_time = {.tv_sec = 1}};
	trace_attr_t attr = log_attr(POSIX_TRACE_UNTIL_FULL, 64 * KIB, POSIX_TRACE_APPEND, 0);
	bool is_early;

	CHECK_OK(posixtrace_attr_setlogrotation(&attr, &r));
	do {
		int64_t begin_ns = harness_now_ns();
		struct family f = begin_with(0, &attr);

		emit_run(f.id, 0, 10, 100);
		ts_flush(f.trid);
		CHECK_SYS(ftruncate(f.fd, 100));
		/* Otherwise the rotation may have begun before the file was truncated. */
		is_early = harness_now_ns() - begin_ns < 1000000000;
		CHECK_EVENTUALLY(has(&f, 1));
		if (is_early)
			CHECK_EQ(ts_status(f.trid).posix_stream_flush_error, ESTALE);
		CHECK_EQ(posix_trace_shutdown(f.trid), 0);
		end(&f);
	} while (!is_early);
}

TEST(time_alone_rotates_a_log_only_if_it_has_something, "", NEEDS_KEEPER)
{
	struct ts_target target = ts_target_fork();
	trace_attr_t attr = attr_of(0, 1, 0);
	struct family f = begin_with(0, &attr), other;

	ts_emit(f.id, f.made++);
	ts_flush(f.trid);
	CHECK_EVENTUALLY(has(&f, 1));
	/* Nothing comes, and no file either, in a time in which another log has two. */
	other = begin_with(target.pid, &attr);
	for (unsigned int member = 1; member <= 2; member++) {
		ts_target_emit(&target, POSIX_TRACE_UNNAMED_USEREVENT, member);
		CHECK_EVENTUALLY(has(&other, member));
	}
	ts_shutdown(other.trid);
	end(&other);
	ts_target_end(&target);
	CHECK(!has(&f, 2));
	ts_emit(f.id, f.made++);
	CHECK_EVENTUALLY(has(&f, 2));
	ts_shutdown(f.trid);
	expect_whole(&f);
	end(&f);
}
