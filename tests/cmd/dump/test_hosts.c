/* SPDX-License-Identifier: MIT */
/*
 * Logs of hosts whose clocks are wrong by known amounts: what the commands make of their times must be
 * in order, and as near to the truth as they say.
 */
#include "include/posixtrace-private.h"
#include "tests/support/harness.h"

#include <fcntl.h>
#include <math.h>
#include <sys/timex.h>

#include "lib/log/log_copy.h"
#include "lib/log/log_layout.h"
#include "src/sync/line.h"
#include "src/query/hosts.h"
#include "src/fields/when.h"

static const int64_t second = 1000000000;
static const int64_t ms = 1000000;
static const int64_t epoch = INT64_C(1700000000000000000);

/* ---- logs ---- */

enum { LOGS_MAX = 4, CLOCKS_MAX = 200 };

struct made_log {
	const char *host, *boot;
	struct ptrc_log_clock clocks[CLOCKS_MAX];
	uint32_t clock_count;
	int64_t event_ns;
};

static void add_clock(struct made_log *m, int64_t event_ns, int64_t realtime_ns,
		      int64_t boottime_ns, int64_t error_ns, int status)
{
	CHECK_LT(m->clock_count, CLOCKS_MAX);
	m->clocks[m->clock_count++] = (struct ptrc_log_clock){
		.event_ns = event_ns,
		.realtime_ns = realtime_ns,
		.monotonic_ns = boottime_ns,
		.boottime_ns = boottime_ns,
		.window_ns = 200,
		.max_error_ns = error_ns,
		.status = status,
	};
}

static void make_host(const struct made_log *m, struct ptrc_log_whose *whose)
{
	struct {
		struct ptrc_log_host head;
		char texts[256];
	} *host = calloc(1, sizeof(*host));
	const char *texts[] = {m->host, m->host, m->boot};
	size_t used = 0;

	CHECK(host);
	for (int i = 0; i < 3; i++) {
		host->head.bytes[i] = (uint16_t)strlen(texts[i]);
		memcpy(host->texts + used, texts[i], strlen(texts[i]));
		used += strlen(texts[i]);
	}
	whose->host = (uint8_t *)host;
	whose->host_bytes = sizeof(host->head) + used;
}

/* The log as a reader has it; it has one event. */
static struct ptrc_reader *open_log(struct made_log *m)
{
	struct ptrc_counts lost = {0};
	struct posixtrace_event e = {.pt_data = ""};
	struct ptrc_log_whose whose = {.clocks = m->clocks, .clock_count = m->clock_count};
	struct ptrc_reader *r = calloc(1, sizeof(*r));
	char path[] = "/tmp/test_hosts.XXXXXX";
	int fd = CHECK_SYS(mkstemp(path));
	struct posixtrace_log_writer *log;

	CHECK(r);
	if (m->host)
		make_host(m, &whose);
	CHECK_OK(posixtrace_log_writer_open(fd, NULL, NULL, &log));
	CHECK_OK(posixtrace_log_writer_type(log, "an event", NULL, &e.pt_info.posix_event_id));
	e.pt_info.posix_timestamp = ptrc_when_timespec(m->event_ns ? m->event_ns : epoch);
	CHECK_OK(posixtrace_log_writer_add(log, &e));
	CHECK_OK(ptrc_log_copy_add_whose(log, &whose));
	CHECK_OK(ptrc_log_copy_close(log, &lost));
	free(whose.host);
	CHECK(ptrc_reader_open(r, path));
	r->path = m->host ? m->host : "a log";
	close(fd);
	unlink(path);
	return r;
}

/* The logs of a case; nothing is corrected but by the log of another host. */
static struct made_log logs[LOGS_MAX] = {{.host = "a", .boot = "a"},
					 {.host = "other", .boot = "other"}};
static struct ptrc_reader *readers[LOGS_MAX];
static size_t reader_count;
static struct ptrc_hosts hosts;

static void merge_with(size_t count, bool is_copied)
{
	ptrc_hosts_free(&hosts);
	for (size_t i = 0; i < reader_count; i++) {
		ptrc_reader_close(readers[i]);
		free(readers[i]);
	}
	memset(&hosts, 0, sizeof(hosts));
	reader_count = count;
	for (size_t i = 0; i < count; i++)
		readers[i] = open_log(&logs[i]);
	ptrc_hosts_begin(&hosts, readers, count, is_copied);
}

static void merge(size_t count)
{
	merge_with(count, false);
}

static int64_t corrected(size_t log, int64_t ns)
{
	return ptrc_correction_time(&hosts.corrections[log], ns);
}

static int64_t bound(size_t log, int64_t ns)
{
	return ptrc_correction_bound(&hosts.corrections[log], ns);
}

/* ---- cases ---- */

TEST(a_single_log_is_as_it_was_recorded, "")
{
	add_clock(&logs[0], epoch, epoch + 5 * ms, second, 2 * ms, 0);
	merge(1);
	CHECK(!ptrc_reader_is_moving(readers[0]));
	CHECK_EQ(corrected(0, epoch), epoch);
	/* It is wrong by the correction, too. */
	CHECK_EQ(bound(0, epoch), 7 * ms + 200 + 200);
	CHECK_EQ(hosts.list[0].worst_ns, 7 * ms + 200 + 200);
	merge(2);
	CHECK_EQ(corrected(0, epoch), epoch + 5 * ms);
	CHECK_EQ(bound(0, epoch), 2 * ms + 200 + 200);
}

TEST(between_readings_the_correction_is_on_a_line, "")
{
	add_clock(&logs[0], epoch, epoch + 100000, second, ms, 0);
	add_clock(&logs[0], epoch + second, epoch + second + 200000, 2 * second, ms, 0);
	merge(2);
	CHECK_EQ(corrected(0, epoch - second), epoch - second + 100000);
	CHECK_EQ(corrected(0, epoch + second / 2), epoch + second / 2 + 150000);
	CHECK_EQ(corrected(0, epoch + 3 * second), epoch + 3 * second + 200000);
}

TEST(what_reading_the_clocks_explains_is_no_correction, "")
{
	add_clock(&logs[0], epoch, epoch + 130, second, ms, 0);
	add_clock(&logs[0], epoch + second, epoch + second - 900, 2 * second, ms, 0);
	merge(2);
	CHECK(!ptrc_reader_is_moving(readers[0]));
	CHECK_EQ(corrected(0, epoch + second / 3), epoch + second / 3);
	CHECK_GE(bound(0, epoch + second), ms + 900);
}

TEST(a_bound_grows_with_the_distance_from_a_reading, "")
{
	add_clock(&logs[0], epoch, epoch, second, ms, 0);
	add_clock(&logs[0], epoch + 10 * second, epoch + 10 * second, 11 * second, 2 * ms, 0);
	merge(2);
	/* 500 us a second. */
	CHECK_EQ(bound(0, epoch), ms + 400);
	CHECK_EQ(bound(0, epoch + second), ms + 400 + second / 2000 + 1);
	CHECK_EQ(bound(0, epoch - 4 * second), ms + 400 + 4 * (second / 2000) + 1);
	CHECK_EQ(bound(0, epoch + 9 * second), 2 * ms + 400 + second / 2000 + 1);
	CHECK_EQ(bound(1, epoch), PTRC_BOUND_UNKNOWN);
}

TEST(the_bound_of_a_host_is_the_greatest_of_its_log, "")
{
	/* Its clock goes to and fro, less than a step. */
	for (int i = 0; i < 20; i++)
		add_clock(&logs[0], epoch + i * second, epoch + i * second + i % 2 * (ms / 2),
			  (i + 1) * second, ms, 0);
	for (size_t count = 1; count <= 2; count++) {
		int64_t greatest = 0;

		merge(count);
		for (int64_t ns = epoch; ns <= epoch + 19 * second; ns += ms)
			if (bound(0, ns) > greatest)
				greatest = bound(0, ns);
		CHECK_GE(hosts.list[0].worst_ns, greatest);
		CHECK_LE(hosts.list[0].worst_ns, greatest + ms);
	}
}

TEST(what_adjtimex_does_not_say_is_not_known, "")
{
	add_clock(&logs[0], epoch, epoch + ms, second, 0, -1);
	merge(2);
	CHECK_EQ(corrected(0, epoch), epoch + ms);
	CHECK_EQ(bound(0, epoch), PTRC_BOUND_UNKNOWN);
	CHECK(!hosts.list[0].is_synchronized);
}

TEST(a_step_of_the_clock_is_none_of_time, "")
{
	int64_t last = INT64_MIN;

	/* It was an hour slow, and nobody knew; then it was set. */
	add_clock(&logs[0], epoch, epoch, second, 16 * second, STA_UNSYNC);
	add_clock(&logs[0], epoch + second, epoch + second, 2 * second, 16 * second, STA_UNSYNC);
	add_clock(&logs[0], epoch + 2 * second, epoch + 3602 * second, 3 * second, ms, 0);
	add_clock(&logs[0], epoch + 9 * second, epoch + 3609 * second, 10 * second, ms, 0);
	merge(2);
	for (int64_t ns = epoch - second; ns < epoch + 12 * second; ns += second / 7) {
		CHECK_EQ(corrected(0, ns), ns + 3600 * second);
		CHECK_LT(bound(0, ns), 5 * ms);
		CHECK_LT(last, corrected(0, ns));
		last = corrected(0, ns);
	}
	CHECK(hosts.list[0].is_synchronized);
	/* It was right, and was set back by somebody who was wrong. */
	logs[0].clock_count = 0;
	add_clock(&logs[0], epoch, epoch, second, ms, 0);
	add_clock(&logs[0], epoch + second, epoch - 3599 * second, 2 * second, 16 * second,
		  STA_UNSYNC);
	merge(2);
	CHECK_EQ(corrected(0, epoch + 2 * second), epoch + 2 * second);
	CHECK_LT(bound(0, epoch + 2 * second), 5 * ms);
	/* Nobody knows anything: the last one who set it was right. */
	logs[0].clocks[0].status = STA_UNSYNC;
	logs[0].clocks[0].max_error_ns = 16 * second;
	merge(2);
	CHECK_EQ(corrected(0, epoch), epoch - 3600 * second);
	CHECK(!hosts.list[0].is_synchronized);
	CHECK_GE(bound(0, epoch), 16 * second);
}

/* The clock of events stands still for an hour, while the machine sleeps. */
static void add_sleep(struct made_log *l)
{
	add_clock(l, epoch, epoch, second, ms, 0);
	add_clock(l, epoch + second, epoch + second, 2 * second, ms, 0);
	add_clock(l, epoch + 2 * second, epoch + 3602 * second, 3603 * second, ms, 0);
}

TEST(a_machine_that_slept_was_away, "")
{
	add_sleep(&logs[0]);
	merge(2);
	CHECK_EQ(corrected(0, epoch + second), epoch + second);
	CHECK_LT(bound(0, epoch + second), 2 * ms);
	CHECK_EQ(corrected(0, epoch + 2 * second), epoch + 3602 * second);
	CHECK_LT(bound(0, epoch + 2 * second), 2 * ms);
	/* Nobody knows whether this was before or behind. */
	CHECK_GE(bound(0, epoch + 3 * second / 2), 1800 * second);
}

/* A link to another host whose clock is the same, to a microsecond. */
static struct ptrc_clock_line link_high = {1000, 0}, link_low = {-1000, 0};
static const struct ptrc_clock_link good_link = {
	.middle_ns = epoch,
	.highs = &link_high,
	.lows = &link_low,
	.high_count = 1,
	.low_count = 1,
};

static void link_log(size_t log, const struct ptrc_clock_link *l)
{
	hosts.corrections[log].is_linked = true;
	hosts.corrections[log].link = l;
}

TEST(messages_do_not_tell_when_a_machine_slept, "")
{
	add_sleep(&logs[0]);
	/* Its clock drifts by 100 ppm from here on, which is no sleep. */
	add_clock(&logs[0], epoch + 12 * second, epoch + 3612 * second + ms, 3613 * second + ms, ms,
		  0);
	merge(2);
	link_log(0, &good_link);
	for (int i = 0; i < 2; i++) {
		CHECK_LE(bound(0, epoch + second), 1100);
		CHECK_GE(bound(0, epoch + 3 * second / 2), 1800 * second);
		CHECK_GE(bound(0, epoch + second + 1), 3599 * second);
		CHECK_GE(bound(0, epoch + 2 * second - 1), 3599 * second);
		CHECK_LE(bound(0, epoch + 2 * second), 1100);
		CHECK_LE(bound(0, epoch + 7 * second), 1100);
		/* The same for the reference. */
		link_log(0, NULL);
	}
}

TEST(a_log_without_readings_is_not_linked_by_others_of_its_host, "")
{
	logs[1].host = logs[1].boot = "a";
	logs[2].host = logs[2].boot = "b";

	add_clock(&logs[0], epoch, epoch, second, ms, 0);
	merge(3);
	for (size_t i = 0; i < 3; i++)
		link_log(i, &good_link);
	CHECK_LE(bound(0, epoch), 1100);
	CHECK_EQ(bound(1, epoch), PTRC_BOUND_UNKNOWN);
	/* Messages are of the only log of the host: they tell of its times as they are. */
	CHECK_LE(bound(2, epoch), 1100);
}

TEST(logs_of_one_host_have_no_error_between_them, "")
{
	logs[1].host = logs[1].boot = logs[2].host = "a";
	logs[2].boot = "b";

	/* The second one began when the clock had been set by an hour. */
	add_clock(&logs[0], epoch, epoch, 10 * second, 16 * second, STA_UNSYNC);
	add_clock(&logs[0], epoch + 5 * second, epoch + 5 * second, 15 * second, 16 * second,
		  STA_UNSYNC);
	add_clock(&logs[1], epoch + 3606 * second, epoch + 3606 * second, 16 * second, ms, 0);
	merge(3);
	CHECK_EQ(hosts.count, 2);
	CHECK_EQ(hosts.host_of[0], hosts.host_of[1]);
	CHECK(hosts.host_of[0] != hosts.host_of[2]);
	CHECK_EQ(corrected(0, epoch + 6 * second), epoch + 3606 * second);
	CHECK_EQ(corrected(1, epoch + 3606 * second), epoch + 3606 * second);
	CHECK_LT(bound(0, epoch), 10 * ms);
	/* Without a log of another host it is the same. */
	merge(2);
	CHECK_EQ(hosts.count, 1);
	CHECK_EQ(corrected(0, epoch + 6 * second), epoch + 3606 * second);
	/* What becomes a log again keeps its times. */
	merge_with(2, true);
	CHECK_EQ(corrected(0, epoch + 6 * second), epoch + 6 * second);
}

TEST(logs_that_tell_no_host_have_one_each, "")
{
	logs[0].host = logs[1].host = NULL;
	logs[2].host = "a";
	logs[2].boot = "";

	merge(3);
	CHECK_EQ(hosts.count, 3);
	CHECK_STR_EQ(hosts.list[0].name, "a log");
	CHECK_STR_EQ(hosts.list[2].name, "a");
}

TEST(readings_that_cannot_be_are_left_out, "")
{
	add_clock(&logs[0], epoch, epoch + ms, second, ms, 0);
	add_clock(&logs[0], INT64_MAX, INT64_MIN, INT64_MIN, INT64_MIN, 0);
	add_clock(&logs[0], INT64_MIN, INT64_MAX, INT64_MAX, INT64_MAX, 0);
	add_clock(&logs[0], epoch, epoch, INT64_MAX, -1, 0);
	/* Was interrupted. */
	add_clock(&logs[0], epoch + second, epoch + 2 * second, 2 * second, ms, 0);
	logs[0].clocks[4].window_ns = second;
	merge(2);
	for (int64_t ns = epoch - second; ns < epoch + 3 * second; ns += second)
		CHECK_EQ(corrected(0, ns), ns + ms);
	CHECK_EQ(corrected(0, INT64_MAX), INT64_MAX);
	CHECK_EQ(corrected(0, INT64_MIN), INT64_MIN + ms);
	CHECK_GE(bound(0, INT64_MAX), second);
	CHECK_GE(bound(0, INT64_MIN), second);
	/* Took longer than any reading does. */
	logs[0].clock_count = 1;
	logs[0].clocks[0].window_ns = second + 1;
	merge(2);
	CHECK_EQ(corrected(0, epoch), epoch);
	CHECK_EQ(bound(0, epoch), PTRC_BOUND_UNKNOWN);
	/* The clock of events went back by that of the host: it is not one clock. */
	logs[0].clock_count = 0;
	add_clock(&logs[0], epoch, epoch, second, ms, 0);
	add_clock(&logs[0], epoch + 9 * second, epoch + second, 2 * second, ms, 0);
	merge(2);
	CHECK_EQ(bound(0, epoch), PTRC_BOUND_UNKNOWN);
	CHECK_EQ(corrected(0, epoch), epoch);
}

TEST(readings_at_the_ends_of_time_are_no_worse_than_others, "")
{
	static const int64_t some[] = {(INT64_C(1) << 62) - 1, 1 - (INT64_C(1) << 62),
				       INT64_C(1) << 61, -(INT64_C(1) << 61), 0};
	enum { SOME = sizeof(some) / sizeof(*some) };

	/* All of two readings whose times are among these. */
	for (unsigned int i = 0; i < SOME * SOME * SOME * SOME; i++) {
		int64_t last = INT64_MIN;

		logs[0].clock_count = 0;
		add_clock(&logs[0], some[i % SOME], some[i / SOME % SOME], some[0], ms, 0);
		add_clock(&logs[0], some[i / SOME / SOME % SOME], some[i / SOME / SOME / SOME],
			  some[i % 2], ms, 0);
		merge(2);
		for (size_t k = 0; k < 2 * SOME; k++) {
			static const size_t order[] = {1, 3, 4, 2, 0};
			int64_t ns = some[order[k / 2]] + (int64_t)(k % 2);

			CHECK_GE(corrected(0, ns), last);
			CHECK_GE(bound(0, ns), 0);
			last = corrected(0, ns);
		}
	}
}

/* ---- a model ---- */

static uint64_t random_state;

static double random_between(double low, double high)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return low + (high - low) * (double)(random_state >> 11) / (double)(UINT64_C(1) << 53);
}

/* A machine whose clock drifts, is stepped, and says how wrong it may be. */
struct machine {
	double drift;		/* of CLOCK_MONOTONIC, against the truth */
	double slept, slept_at; /* seconds */
	double set_at, set_by;	/* seconds */
	double wrong;		/* seconds, at 0 behind the step */
	double boot;		/* CLOCK_BOOTTIME at 0 */
	bool is_set_right;
};

static double boottime_of(const struct machine *m, double t)
{
	return m->boot + t * (1 + m->drift);
}

/* What has been slept by then. Nothing happens while a machine sleeps. */
static double slept_until(const struct machine *m, double t)
{
	return t < m->slept_at ? 0 : m->slept;
}

static bool is_asleep(const struct machine *m, double t)
{
	return t >= m->slept_at && t <= m->slept_at + m->slept;
}

/* CLOCK_REALTIME since the epoch. */
static double realtime_of(const struct machine *m, double t)
{
	return t * (1 + m->drift) + m->wrong + (t < m->set_at ? m->set_by : 0);
}

static double event_time_of(const struct machine *m, double t, double begin)
{
	return boottime_of(m, t) - slept_until(m, t) * (1 + m->drift) + realtime_of(m, begin) -
	       boottime_of(m, begin) + slept_until(m, begin) * (1 + m->drift);
}

static int64_t whole(double seconds)
{
	return (int64_t)llround(seconds * 1e9);
}

static void add_random_clock(struct made_log *l, const struct machine *m, double t, double begin)
{
	bool is_before = t < m->set_at;
	double error = fabs(realtime_of(m, t) - t);
	bool is_good = is_before != m->is_set_right;

	add_clock(l, epoch + whole(event_time_of(m, t, begin)), epoch + whole(realtime_of(m, t)),
		  whole(boottime_of(m, t)),
		  is_good ? whole(error * random_between(1, 3)) : 16 * second,
		  is_good ? 0 : STA_UNSYNC);
}

static const struct ptrc_correction_knot *first_knot(void)
{
	return hosts.corrections[0].knots;
}

static const struct ptrc_correction_knot *last_knot(void)
{
	return first_knot() + hosts.corrections[0].count - 1;
}

static void check_random(void)
{
	double begin = random_between(0, 20), length = random_between(5, 100);
	struct machine m = {
		.drift = random_between(-4e-4, 4e-4),
		.slept_at = begin + random_between(0, 150),
		.slept = random_between(0, 1) < 0.5 ? 0 : random_between(0.1, 30),
		.set_at = begin + random_between(-20, 120),
		.boot = random_between(10, 1e6),
		.is_set_right = random_between(0, 1) < 0.5,
	};
	int64_t last = INT64_MIN, last_log = INT64_MIN;
	double good;

	m.set_by = random_between(0, 1) < 0.3 ? 0 : random_between(-5, 5);
	/* Where it is right, it is wrong by a little. */
	good = random_between(-0.01, 0.01);
	m.wrong = m.is_set_right ? good : good - m.set_by;
	if (fabs(m.set_by) < 0.002)
		m.set_by = 0;
	if (is_asleep(&m, begin + length))
		length += m.slept;
	logs[0].clock_count = 0;
	for (double t = begin; t < begin + length; t += random_between(0.5, 5))
		if (!is_asleep(&m, t))
			add_random_clock(&logs[0], &m, t, begin);
	add_random_clock(&logs[0], &m, begin + length, begin);
	merge(2);
	for (double t = begin; t < begin + length; t += random_between(0, 0.3)) {
		int64_t log_ns = epoch + whole(event_time_of(&m, t, begin));
		int64_t ns = corrected(0, log_ns);
		int64_t wrong = ns - (epoch + whole(t));
		int64_t first = ptrc_correction_first(&hosts.corrections[0], ns);
		int64_t after = ptrc_correction_last(&hosts.corrections[0], ns);

		if (is_asleep(&m, t))
			continue;
		if (hosts.list[0].is_synchronized)
			CHECK_LE(llabs(wrong), bound(0, log_ns));
		if (log_ns > last_log)
			CHECK_GE(ns, last);
		CHECK_LE(first, log_ns);
		CHECK_GE(after, log_ns);
		if (log_ns >= first_knot()->log_ns && log_ns <= last_knot()->log_ns)
			CHECK_LE(bound(0, log_ns), hosts.list[0].worst_ns);
		CHECK_EQ(corrected(0, first), ns);
		CHECK_EQ(corrected(0, after), ns);
		CHECK_LT(corrected(0, first - 1), ns);
		CHECK_GT(corrected(0, after + 1), ns);
		last = ns;
		last_log = log_ns;
	}
}

TEST(the_truth_is_within_the_bound_and_order_is_kept, "")
{
	NOTE("seed %u", harness_seed);
	for (unsigned int i = 0; i < 300; i++) {
		random_state = harness_seed + i;
		check_random();
	}
}

/* ---- messages ---- */

/* Messages between two clocks of which the second one is ahead by a line. */
struct channel {
	double offset, drift; /* ns */
	struct ptrc_sync_evidence evidence;
};

static int64_t ahead_at(const struct channel *c, int64_t ns)
{
	return (int64_t)(c->offset + c->drift * (double)(ns - epoch));
}

static void send(struct channel *c, int64_t sent_ns, int64_t delay_ns, bool is_forth)
{
	int64_t received_ns = sent_ns + delay_ns;

	if (is_forth)
		ptrc_sync_points_add(&c->evidence.highs, sent_ns,
				     received_ns + ahead_at(c, received_ns) - sent_ns);
	else
		ptrc_sync_points_add(&c->evidence.lows, received_ns,
				     sent_ns + ahead_at(c, sent_ns) - received_ns);
}

/* The link that the evidence gives, which does not contradict itself. */
static struct ptrc_clock_link fit(const struct channel *c)
{
	struct ptrc_clock_link l;
	bool is_contradicted;

	ptrc_sync_fit(&c->evidence, &l, &is_contradicted);
	CHECK_EQ(l.slack_ns, 0);
	CHECK(!is_contradicted);
	return l;
}

/* Whether each message was received behind its sending, by the link. */
static void check_messages(const struct channel *c, const struct ptrc_clock_link *l)
{
	for (size_t i = 0; i < c->evidence.highs.count; i++) {
		const struct ptrc_sync_point *p = &c->evidence.highs.list[i];
		int64_t received = p->at_ns + p->ahead_ns;

		CHECK_GE(received - ptrc_clock_link_ahead(l, received), p->at_ns - 1);
	}
	for (size_t i = 0; i < c->evidence.lows.count; i++) {
		const struct ptrc_sync_point *p = &c->evidence.lows.list[i];
		int64_t sent = p->at_ns + p->ahead_ns;

		CHECK_LE(sent - ptrc_clock_link_ahead(l, sent), p->at_ns + 1);
	}
}

static void check_random_channel(void)
{
	struct channel c = {.offset = random_between(0, 1) < 0.2 ? random_between(-1e18, 1e18)
								 : random_between(-1e7, 1e7),
			    .drift = random_between(-1e-4, 1e-4)};
	int count = (int)random_between(1, 300);
	double forth = random_between(0, 1) < 0.3 ? 2 : 0.5;
	double length = random_between(1, 1e12);
	struct ptrc_clock_link l;

	for (int i = 0; i < count; i++)
		send(&c, epoch + (int64_t)random_between(0, length),
		     (int64_t)(1000 - random_between(1e3, 1e6) * log(random_between(1e-9, 1))),
		     random_between(0, 1) < forth);
	if (random_between(0, 1) < 0.5)
		for (int i = 0; i < 2; i++) {
			int64_t at = epoch + (i ? (int64_t)length : 0);
			int64_t far = (int64_t)random_between(0, 1e9);

			ptrc_sync_points_add(&c.evidence.said_highs, at, ahead_at(&c, at) + far);
			ptrc_sync_points_add(&c.evidence.said_lows, at, ahead_at(&c, at) - far);
		}
	l = fit(&c);
	for (double part = -0.5; part < 1.5; part += 0.05) {
		int64_t at = epoch + (int64_t)(part * length);
		int64_t own = at + ahead_at(&c, at);
		int64_t wrong = own - ptrc_clock_link_ahead(&l, own) - at;
		int64_t bound = ptrc_clock_link_bound(&l, at);

		/* What is beyond 53 bits is rounded. */
		CHECK_LE(llabs(wrong) - 300, bound == PTRC_BOUND_UNKNOWN ? INT64_MAX - 300 : bound);
	}
	if (fabs(c.offset) < 1e17)
		check_messages(&c, &l);
	ptrc_sync_link_free(&l);
	ptrc_sync_evidence_free(&c.evidence);
}

TEST(a_line_through_messages_has_the_truth_within_its_bound, "")
{
	NOTE("seed %u", harness_seed);
	for (unsigned int i = 0; i < 2000; i++) {
		random_state = harness_seed + i;
		check_random_channel();
	}
}

TEST(messages_of_both_directions_tell_offset_and_drift, "")
{
	struct channel c = {.offset = 3e6, .drift = 20e-6};
	struct ptrc_clock_link l;

	for (int i = 0; i < 100; i++)
		send(&c, epoch + i * second, 50000 + i * 7919 % 100 * 1000, i % 2);
	l = fit(&c);
	CHECK(fabs(l.line.slope - 20e-6) < 1e-6);
	CHECK_LT(llabs(ptrc_clock_link_ahead(&l, epoch) - 3000000), 20000);
	CHECK_LT(ptrc_clock_link_bound(&l, l.middle_ns), 100000);
	/* Outside of the messages it is less and less certain. */
	CHECK_GT(ptrc_clock_link_bound(&l, epoch + 1000 * second),
		 2 * ptrc_clock_link_bound(&l, l.middle_ns));
}

TEST(messages_of_one_direction_tell_no_drift_and_move_times_least, "")
{
	static const int64_t delays[] = {300000, 900000, 500000};

	for (int is_forth = 0; is_forth < 2; is_forth++) {
		struct channel c = {.offset = is_forth ? -5e6 : 5e6};
		struct ptrc_clock_link l;

		for (int i = 0; i < 3; i++)
			send(&c, epoch + i * 10 * ms, delays[i], is_forth);
		l = fit(&c);
		CHECK(l.line.slope == 0);
		/* The fastest message is received one nanosecond after it was sent, not at the same time. */
		CHECK_EQ(ptrc_clock_link_ahead(&l, epoch), is_forth ? -4700000 - 1 : 4700000 + 1);
	}
}

TEST(a_few_messages_tell_no_drift, "")
{
	struct channel c = {.offset = -5e6};
	struct ptrc_clock_link l;

	send(&c, epoch, 100000, true);
	send(&c, epoch + ms, 100000, false);
	l = fit(&c);
	CHECK(l.line.slope == 0);
	CHECK_LE(llabs(ptrc_clock_link_ahead(&l, epoch) + 5000000), 100000);
	CHECK_GE(ptrc_clock_link_bound(&l, epoch + 100 * second), 90 * ms);
}
