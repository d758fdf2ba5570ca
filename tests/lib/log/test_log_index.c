/* SPDX-License-Identifier: MIT */
/* The index of closed logs, and the functions that read less of a log, or many events at a time. */
#include "include/posixtrace-private.h"
#include "tests/support/log_maker.h"
#include "tests/support/keeper.h"

#include <limits.h>

/* Types of the events that the tests make up. */
#define FIRST_TYPE 10U
#define LAST_TYPE 19U
#define CLOSE_BYTES (2 * sizeof(struct ptrc_log_packet) + sizeof(struct ptrc_log_status))

/* The packets of a sequential log. */
struct places {
	uint64_t index, totals, status; /* 0: there is no such packet */
	uint64_t names[64], events[4096];
	size_t name_count, event_count, index_count;
};

static struct places places_of(int fd)
{
	struct places p = {.index = 0};
	struct ptrc_log_packet h;
	size_t size;
	uint8_t *bytes = bytes_of(fd, &size);

	for (uint64_t at = PTRC_LOG_HEADS_BYTES; at + sizeof(h) <= size;
	     at += sizeof(h) + ptrc_align8(h.length)) {
		memcpy(&h, bytes + at, sizeof(h));
		CHECK_EQ(h.magic, PTRC_LOG_PACKET_MAGIC);
		if (h.type == PTRC_LOG_NAMES && p.name_count < 64)
			p.names[p.name_count++] = at;
		if (h.type == PTRC_LOG_EVENTS && p.event_count < 4096)
			p.events[p.event_count++] = at;
		if (h.type == PTRC_LOG_INDEX) {
			p.index = at;
			p.index_count++;
		}
		if (h.type == PTRC_LOG_TOTALS)
			p.totals = at;
		if (h.type == PTRC_LOG_STATUS)
			p.status = at;
	}
	free(bytes);
	return p;
}

/* ---- reading ---- */

static void add_event(struct ts_events *all, const struct posix_trace_event_info *info,
		      const void *data, size_t len)
{
	struct ts_event *e;

	if (!(all->count & (all->count - 1)))
		all->at = realloc(all->at, (all->count ? 2 * all->count : 1) * sizeof(*all->at));
	CHECK(all->at);
	e = &all->at[all->count++];
	*e = (struct ts_event){.info = *info, .len = len, .data = malloc(len + 1)};
	CHECK(e->data);
	memcpy(e->data, data, len);
}

/* Reads the next event, if there is one, and adds it to *all unless that is NULL. */
static bool read_one(trace_id_t trid, struct ts_events *all)
{
	static uint8_t data[8192];
	struct posix_trace_event_info info;
	int unavailable = 0;
	size_t len = 0;

	CHECK_OK(posix_trace_getnext_event(trid, &info, data, sizeof(data), &len, &unavailable));
	if (!unavailable && all)
		add_event(all, &info, data, len);
	return !unavailable;
}

static void check_same(const struct ts_events *a, const struct ts_events *b)
{
	CHECK_EQ(a->count, b->count);
	for (size_t i = 0; i < a->count; i++)
		expect_same_event(&a->at[i], &b->at[i]);
}

/* What is left of the log is these. */
static void check_rest(trace_id_t trid, const struct ts_events *all)
{
	struct ts_events rest = ts_read_log(trid);

	check_same(&rest, all);
	ts_events_free(&rest);
}

/* The log has these events. Returns its counts. */
static struct ptrc_counts check_log(int fd, const struct ts_events *all)
{
	trace_id_t trid = ts_open_log(fd);
	struct ptrc_counts counts = counts_of(trid);

	check_rest(trid, all);
	ts_close_log(trid);
	return counts;
}

/* How many of the log's numbers are wrong. */
static unsigned long verify(trace_id_t trid)
{
	unsigned long differing = ULONG_MAX;

	CHECK_OK(ptrc_log_verify(trid, &differing));
	return differing;
}

static struct posixtrace_block *next_block(trace_id_t trid)
{
	struct posixtrace_block *block;

	CHECK_OK(posixtrace_log_next_block(trid, &block));
	return block;
}

/* Does the log say its totals, and so has been opened by its index? */
static bool has_totals(trace_id_t trid)
{
	int error = posixtrace_get_type_counts(trid, NULL, 0);

	CHECK(error == 0 || error == ENODATA);
	return !error;
}

static bool is_with_totals(int fd)
{
	trace_id_t trid = ts_open_log(fd);
	bool has = has_totals(trid);

	ts_close_log(trid);
	return has;
}

/* The totals are what reading the log counts. */
static void check_totals(int fd)
{
	static struct posixtrace_type_count said[8192], seen[8192];
	trace_id_t trid = ts_open_log(fd);
	struct ts_events all = ts_read_log(trid);

	memset(seen, 0, sizeof(seen));
	for (size_t i = 0; i < all.count; i++) {
		struct posixtrace_type_count *type = &seen[id_at(&all, i)];

		type->pt_events++;
		type->pt_bytes += all.at[i].len;
		type->pt_truncated +=
			all.at[i].info.posix_truncation_status != POSIX_TRACE_NOT_TRUNCATED;
	}
	CHECK_OK(posixtrace_get_type_counts(trid, said, 8192));
	for (size_t id = 0; id < 8192; id++) {
		CHECK_EQ(said[id].pt_events, seen[id].pt_events);
		CHECK_EQ(said[id].pt_bytes, seen[id].pt_bytes);
		CHECK_EQ(said[id].pt_truncated, seen[id].pt_truncated);
		CHECK_EQ(said[id].pt_unread, 0);
	}
	ts_close_log(trid);
	ts_events_free(&all);
}

/* ---- logs ---- */

struct plan {
	int policy;
	size_t limit;
	bool has_filters, has_losses;
	bool is_closed, has_no_index;
};

/* Adds about one in so many of these types. */
static void draw_types(trace_event_set_t *set, uint32_t first, uint32_t last, uint64_t one_in)
{
	for (uint32_t id = first; id <= last; id++)
		if (harness_draw(one_in) == 0)
			CHECK_OK(posix_trace_eventset_add(id, set));
}

static void add_filter(struct maker_run *r, int64_t ns, bool is_hidden)
{
	trace_event_set_t sets[2] = {ts_set(0), ts_set(0)};

	draw_types(&sets[1], FIRST_TYPE, LAST_TYPE, 3);
	run_event(r, ns, POSIX_TRACE_FILTER | (is_hidden ? PTRC_REC_HIDDEN : 0), sets,
		  sizeof(sets));
}

/* A log of this kind with so many flushes of so many events, which are chosen at random, and have so
 * many bytes of data at most. Each flush has few types. */
static int make_log(const struct plan *plan, size_t flushes, size_t events, size_t max_data)
{
	struct maker maker, *m = &maker;
	uint8_t data[4096];
	int64_t ns = 0;

	memset(data, 'd', sizeof(data));
	maker_open(m, maker_file(), plan->policy, plan->limit);
	maker_name(m, "first");
	for (size_t k = 0; k < flushes; k++) {
		uint32_t type = FIRST_TYPE + (uint32_t)harness_draw(LAST_TYPE - FIRST_TYPE);
		struct maker_run r[3];

		for (int i = 0; i < 3; i++)
			run_begin(&r[i], i, 1);
		if (k == 0)
			run_start(&r[0], ns);
		for (size_t i = 0; i < events; i++) {
			int64_t at = ns += 1000 + (int64_t)harness_draw(1000);

			if (plan->has_filters && harness_draw(events) == 0)
				add_filter(&r[0], at, harness_draw(2));
			else if (plan->has_losses && harness_draw(2 * events) == 0) {
				run_event(&r[0], at, POSIX_TRACE_OVERFLOW, NULL, 0);
				run_event(&r[0], at + 1 + (int64_t)harness_draw(1500),
					  POSIX_TRACE_RESUME, NULL, 0);
			} else
				run_event(&r[1 + harness_draw(2)], at,
					  (type + (uint32_t)harness_draw(2)) |
						  (harness_draw(5) ? 0 : PTRC_REC_TRUNCATED),
					  data, (uint32_t)harness_draw(max_data + 1));
		}
		ns += 2000;
		flush_runs(m, r, 3);
		if (k == flushes / 2)
			maker_name(m, "second");
	}
	if (plan->has_no_index)
		m->w.index.is_lost = true;
	if (plan->is_closed)
		maker_close(m);
	maker_free(m);
	return m->fd;
}

static int make_simple(size_t flushes, size_t events, size_t data)
{
	const struct plan plan = {.policy = POSIX_TRACE_APPEND, .is_closed = true};

	return make_log(&plan, flushes, events, data);
}

/* ---- the index ---- */

TEST(any_byte_of_the_end_flipped, "")
{
	int fd = make_simple(6, 8, 20);
	struct ts_events all = ts_log_events(fd);
	size_t size = size_of(fd);
	struct places p = places_of(fd);

	CHECK_GT(p.index, 0);
	CHECK_EQ(p.index_count, 1);
	CHECK(is_with_totals(fd));
	for (uint64_t at = p.index; at < size; at++) {
		flip(fd, at, 1 << at % 8);
		trace_id_t trid = ts_open_log(fd);
		check_rest(trid, &all);
		CHECK_EQ(counts_of(trid).pt_damaged_gaps, 0);
		CHECK_EQ(counts_of(trid).pt_missing_names, 0);
		CHECK(!has_totals(trid));
		if (at < p.status)
			CHECK_GE(counts_of(trid).pt_damaged_parts, 1);
		ts_close_log(trid);
		flip(fd, at, 1 << at % 8);
	}
}

/* A packet without events is cut out, so that only the index says that it was there. */
TEST(a_packet_without_events_that_was_removed_is_damage, "")
{
	int fd = make_simple(6, 8, 20);
	struct ts_events all = ts_log_events(fd);
	struct ptrc_log_packet h;
	size_t size, packet;
	uint8_t *bytes = bytes_of(fd, &size);
	struct places p = places_of(fd);
	/* The log ends with a CLOCK before the index. */
	packet = sizeof(h) + sizeof(struct ptrc_log_clock);
	memcpy(&h, bytes + p.index - packet, sizeof(h));
	CHECK_EQ(h.type, PTRC_LOG_CLOCK);
	memmove(bytes + p.index - packet, bytes + p.index, size - p.index);
	put_bytes(fd, bytes, size - packet);
	CHECK_EQ(check_log(fd, &all).pt_damaged_parts, 1);
}

TEST(bytes_after_the_end_are_damage, "")
{
	static char garbage[5000];

	memset(garbage, 0x5c, sizeof(garbage));
	for (int i = 0; i < 4; i++) {
		size_t count = i / 2 ? sizeof(garbage) : 1;
		struct plan plan = {
			.policy = POSIX_TRACE_APPEND, .is_closed = true, .has_no_index = i % 2};
		int fd = make_log(&plan, 3, 8, 20);
		NOTE("%zu bytes, %s index", count, i % 2 ? "no" : "an");
		struct ts_events all = ts_log_events(fd);

		CHECK_EQ(check_log(fd, &all).pt_damaged_parts, 0);
		CHECK_EQ(pwrite(fd, i / 2 ? garbage : "", count, (off_t)size_of(fd)), count);
		CHECK_EQ(check_log(fd, &all).pt_damaged_parts, 1);
	}
}

TEST(headers_are_not_needed, "")
{
	int fd = make_simple(6, 8, 20);
	struct ts_events all = ts_log_events(fd);
	struct places p = places_of(fd);
	CHECK_GE(p.event_count, 6);
	CHECK_GE(p.name_count, 2);
	trace_id_t trid = ts_open_log(fd);
	CHECK_EQ(verify(trid), 0);
	ts_close_log(trid);
	for (size_t i = 0; i < p.event_count + p.name_count; i++)
		for (uint64_t byte = 0; byte < sizeof(struct ptrc_log_packet); byte++) {
			uint64_t at = byte + (i < p.event_count ? p.events[i]
								: p.names[i - p.event_count]);

			flip(fd, at, 0x40);
			trid = ts_open_log(fd);
			check_rest(trid, &all);
			CHECK_EQ(counts_of(trid).pt_missing_names, 0);
			CHECK_EQ(verify(trid), 1);
			ts_close_log(trid);
			flip(fd, at, 0x40);
		}
}

/* ---- selections ---- */

#define SPANS 3

struct selection {
	struct posixtrace_span spans[SPANS];
	size_t count;
	trace_event_set_t types, always;
	bool has_types, has_always;
};

static struct timespec to_timespec(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

static void choose_selection(struct selection *s, const struct ts_events *all)
{
	int64_t first = MAKER_EPOCH, last = MAKER_EPOCH + 1000000;

	if (all->count) {
		first = time_at(all, 0);
		last = time_at(all, all->count - 1);
	}
	memset(s, 0, sizeof(*s));
	s->count = harness_draw(SPANS + 1);
	for (size_t i = 0; i < s->count; i++) {
		int64_t begin =
			first - 5000 + (int64_t)harness_draw((uint64_t)(last - first + 10000));

		s->spans[i].pt_first = to_timespec(begin);
		s->spans[i].pt_last = to_timespec(
			begin + (int64_t)harness_draw(1 + (uint64_t)(last - first) / 8));
	}
	s->has_types = harness_draw(3);
	s->types = ts_set(0);
	draw_types(&s->types, FIRST_TYPE, LAST_TYPE, 4);
	draw_types(&s->types, POSIX_TRACE_START, POSIX_TRACE_ERROR, 6);
	s->has_always = harness_draw(2);
	s->always = ts_set(0);
	draw_types(&s->always, POSIX_TRACE_START, LAST_TYPE, 8);
}

static bool is_wanted(const struct selection *s, const struct ts_event *e)
{
	trace_event_id_t id = e->info.posix_event_id;
	int64_t ns = ts_time_ns(&e->info.posix_timestamp);
	bool is_in_time = s->count == 0;

	for (size_t i = 0; i < s->count; i++)
		is_in_time |= ns >= ts_time_ns(&s->spans[i].pt_first) &&
			      ns <= ts_time_ns(&s->spans[i].pt_last);
	return (is_in_time && (!s->has_types || ts_is_member(&s->types, id))) ||
	       (s->has_always && ts_is_member(&s->always, id));
}

static bool is_gap_event(const struct ts_event *e)
{
	return e->info.posix_event_id == POSIX_TRACE_OVERFLOW ||
	       e->info.posix_event_id == POSIX_TRACE_RESUME;
}

/* What is wanted of a log is the same whether all of it is read or what the selection leaves. Of a
 * damaged one, as a span may skip damage, this is so of the events that it has. */
static uint64_t compare_selection(trace_id_t trid, const struct ts_events *all, bool is_damaged)
{
	struct selection s;
	size_t a = 0, b = 0;

	choose_selection(&s, all);
	CHECK_OK(ptrc_log_select(trid, s.spans, s.count, s.has_types ? &s.types : NULL,
				 s.has_always ? &s.always : NULL));
	struct ts_events some = ts_read_log(trid);
	for (;;) {
		while (a < all->count &&
		       (!is_wanted(&s, &all->at[a]) || (is_damaged && is_gap_event(&all->at[a]))))
			a++;
		while (b < some.count &&
		       (!is_wanted(&s, &some.at[b]) || (is_damaged && is_gap_event(&some.at[b]))))
			b++;
		if (a == all->count || b == some.count)
			break;
		expect_same_event(&all->at[a++], &some.at[b++]);
	}
	CHECK_EQ(a, all->count);
	CHECK_EQ(b, some.count);
	struct ptrc_counts counts = counts_of(trid);
	if (!counts.pt_uncounted_gaps)
		CHECK_EQ(counts.pt_skipped_events + some.count + counts.pt_gap_events +
				 counts.pt_filtered_events + counts.pt_damaged_events -
				 counts.pt_made_up_events,
			 counts.pt_log_events);
	/* It holds across a rewind. */
	if (harness_draw(10) == 0) {
		CHECK_OK(posix_trace_rewind(trid));
		CHECK_EQ(counts_of(trid).pt_skipped_events, 0);
		check_rest(trid, &some);
	}
	ts_events_free(&some);
	return counts.pt_skipped_events;
}

static void try_selections(const struct plan *plan, int damage)
{
	int fd = make_log(plan, 20, 40, 60);
	uint64_t skipped = 0;

	if (damage) {
		struct places p = places_of(fd);
		for (int i = 0; i < damage; i++) {
			uint64_t at = p.events[harness_draw(p.event_count)];

			/* A payload, or a header that is not needed, or is. */
			flip(fd,
			     at + (harness_draw(2)
					   ? 8
					   : sizeof(struct ptrc_log_packet) + harness_draw(100)),
			     2);
		}
	}
	if (harness_draw(2) && !plan->is_closed)
		CHECK_SYS(ftruncate(fd, (off_t)(size_of(fd) - size_of(fd) / 4)));
	trace_id_t trid = ts_open_log(fd);
	struct ts_events all = ts_read_log(trid);
	for (int i = 0; i < 60; i++)
		skipped += compare_selection(trid, &all, damage);
	CHECK_GT(skipped, 0);
	/* It ends with the next. */
	CHECK_OK(posixtrace_log_select(trid, NULL, 0, NULL));
	for (int i = 0; i < 2; i++) {
		check_rest(trid, &all);
		CHECK_EQ(counts_of(trid).pt_skipped_events, 0);
		CHECK_OK(posix_trace_rewind(trid));
	}
	ts_close_log(trid);
}

TEST(a_selection_leaves_nothing_out, "")
{
	for (int i = 0; i < 48; i++) {
		int policy = log_policies[i % 3];
		struct plan plan = {.policy = policy,
				    .limit = i % 2 ? 20000 : 1 << 20,
				    .has_filters = i / 3 % 2,
				    .has_losses = i / 6 % 2,
				    .is_closed = i / 12 % 2,
				    .has_no_index = i / 24};

		NOTE("log %d", i);
		try_selections(&plan, 0);
	}
}

TEST(a_selection_of_a_damaged_log, "")
{
	for (int i = 0; i < 24; i++) {
		struct plan plan = {.policy = POSIX_TRACE_APPEND,
				    .limit = 1 << 20,
				    .has_filters = i % 2,
				    .is_closed = true,
				    .has_no_index = i / 2 % 2};

		NOTE("log %d", i);
		try_selections(&plan, 1 + i / 8);
	}
}

/* A writer that was held up brings an event when a later FILTER is in the log already. The filter with
 * which its packet begins is not that of the event's time. */
TEST(a_selection_has_late_events, "")
{
	const trace_event_set_t sets[2] = {ts_set(0), ts_set(10, 0)};
	struct maker m = maker_new(POSIX_TRACE_APPEND, 0);
	struct maker_run r = run_of(0, 1);
	run_start(&r, 0);
	run_event(&r, 40, POSIX_TRACE_FILTER, sets, sizeof(sets));
	flush_run(&m, &r);
	run_begin(&r, 1, 1);
	run_event(&r, 30, 10, "late", 4);
	run_event(&r, 50, 11, "on time", 7);
	flush_run(&m, &r);
	maker_close(&m);
	trace_id_t trid = ts_open_log(m.fd);
	CHECK_OK(posixtrace_log_select(trid, NULL, 0, &sets[1]));
	struct ts_events some = ts_read_log(trid);
	CHECK_EQ(counts_of(trid).pt_skipped_events, 2);
	CHECK_EQ(some.count, 2);
	CHECK_EQ(id_at(&some, 0), 10);
	ts_close_log(trid);
}

/* ---- blocks ---- */

static void add_block(struct ts_events *all, const struct posixtrace_block *b)
{
	for (size_t i = 0; i < b->pt_count; i++) {
		const struct posixtrace_event *e = &b->pt_events[i];

		CHECK(e->pt_data);
		add_event(all, &e->pt_info, e->pt_data, e->pt_size);
		CHECK(e->pt_info.posix_event_id != POSIX_TRACE_OVERFLOW || i + 1 == b->pt_count);
	}
}

static void *free_them(void *arg)
{
	struct posixtrace_block **blocks = arg;

	for (; *blocks; blocks++)
		posixtrace_log_free_block(*blocks);
	return NULL;
}

/* Compares blocks with events. how: 0 each block is freed at once; 1 all live together, and a
 * thread frees them when the log is closed; 2 turn and turn about with single events. */
static void compare_blocks(int fd, int how)
{
	struct ts_events all = ts_log_events(fd), seen = {0};
	struct posixtrace_block *blocks[4096] = {NULL};
	trace_id_t trid = ts_open_log(fd);
	struct posixtrace_block *b;
	size_t count = 0;

	for (;;) {
		for (uint64_t i = how == 2 ? harness_draw(3) : 0; i > 0; i--)
			read_one(trid, &seen);
		b = next_block(trid);
		if (!b)
			break;
		CHECK_GE(b->pt_count, 1);
		if (how == 1) {
			CHECK_LT(count, 4095);
			blocks[count++] = b;
			continue;
		}
		add_block(&seen, b);
		posixtrace_log_free_block(b);
	}
	/* Again, and for ever. */
	CHECK(!next_block(trid));
	ts_close_log(trid);
	for (size_t i = 0; i < count; i++)
		add_block(&seen, blocks[i]);
	ts_join(ts_thread(free_them, blocks));
	check_same(&seen, &all);
	ts_events_free(&all);
	ts_events_free(&seen);
}

TEST(blocks_have_the_events_of_the_log, "")
{
	for (int i = 0; i < 12; i++) {
		struct plan plan = {.policy = i % 2 ? POSIX_TRACE_LOOP : POSIX_TRACE_APPEND,
				    .limit = 40000,
				    .has_filters = i % 3 == 0,
				    .has_losses = i / 4 == 0,
				    .is_closed = i / 6};
		int fd = make_log(&plan, 20, 400, 60);

		NOTE("log %d", i);
		if (i / 4 == 1 && i % 2 == 0) {
			struct places p = places_of(fd);
			flip(fd, p.events[3] + 300, 1);
			flip(fd, p.events[7] + 300, 1);
		}
		for (int how = 0; how < 3; how++)
			compare_blocks(fd, how);
	}
}

/* OVERFLOW and RESUME stand for damage, too. A block ends at each, and the counts behind it say so;
 * and who selects gaps learns of all damage. */
TEST(gaps_of_damage_end_blocks_and_can_be_selected, "")
{
	trace_event_set_t types = ts_set(POSIX_TRACE_OVERFLOW, 0);
	int fd = make_simple(20, 40, 60);
	struct places p = places_of(fd);
	struct posixtrace_block *b;
	size_t gaps = 0;

	flip(fd, p.events[3] + sizeof(struct ptrc_log_packet) + 200, 1);
	flip(fd, p.events[11] + sizeof(struct ptrc_log_packet) + 200, 1);
	trace_id_t trid = ts_open_log(fd);
	while ((b = next_block(trid))) {
		if (b->pt_events[b->pt_count - 1].pt_info.posix_event_id == POSIX_TRACE_OVERFLOW)
			CHECK_EQ(counts_of(trid).pt_damaged_gaps, ++gaps);
		posixtrace_log_free_block(b);
	}
	CHECK_EQ(gaps, 2);
	CHECK_OK(posixtrace_log_select(trid, NULL, 0, &types));
	struct ts_events seen = ts_read_log(trid);
	CHECK_EQ(ts_count(&seen, POSIX_TRACE_OVERFLOW), 2);
	CHECK_EQ(counts_of(trid).pt_damaged_gaps, 2);
	ts_close_log(trid);
}

/* ---- in the order in which it was written ---- */

static struct ptrc_reading_place place_of(trace_id_t trid)
{
	struct ptrc_reading_place place;

	CHECK_OK(ptrc_log_get_place(trid, &place));
	return place;
}

/* Goes to a place, and reads what is behind it. */
static struct ts_events read_from(int fd, const struct ptrc_reading_place *place)
{
	trace_id_t trid = ts_open_log(fd);

	CHECK_OK(ptrc_log_select_parts(trid, place->pl_part, ULONG_MAX));
	for (unsigned long i = 0; i < place->pl_events; i++)
		CHECK(read_one(trid, NULL));
	struct ts_events rest = ts_read_log(trid);
	ts_close_log(trid);
	return rest;
}

/* From its place on the log has what stands in `all` behind the first `read`. */
static void check_tail(trace_id_t trid, int fd, const struct ts_events *all, size_t read)
{
	struct ptrc_reading_place place = place_of(trid);
	struct ts_events tail = {all->count - read, all->at + read};
	struct ts_events rest = read_from(fd, &place);

	check_same(&rest, &tail);
	ts_events_free(&rest);
}

/* Reading goes on from any place as if it had begun with the log; and blocks have the same events. */
static void check_places(int fd, const struct ts_events *all)
{
	struct ts_events blocks = {0};
	struct posixtrace_block *b;
	trace_id_t trid = ts_open_log(fd);
	size_t read = 0;

	CHECK_OK(ptrc_log_select_parts(trid, 0, ULONG_MAX));
	for (;;) {

		check_tail(trid, fd, all, read);
		for (size_t i = harness_draw(60) + 1; i; i--)
			read += read_one(trid, NULL);
		if (read == all->count && harness_draw(3))
			break;
	}
	CHECK_OK(posix_trace_rewind(trid));
	while ((b = next_block(trid))) {
		add_block(&blocks, b);
		posixtrace_log_free_block(b);
		if (harness_draw(2))
			check_tail(trid, fd, all, blocks.count);
	}
	check_same(&blocks, all);
	ts_close_log(trid);
}

TEST(reading_in_parts_goes_on_at_any_place, "")
{
	for (int i = 0; i < 16; i++) {
		struct plan plan = {.policy = i % 8 == 7 ? POSIX_TRACE_LOOP : POSIX_TRACE_APPEND,
				    .limit = 40000,
				    .has_filters = i % 3 == 0,
				    .has_losses = i % 2,
				    .is_closed = i / 8};
		struct ptrc_reading_place start = {.pl_part = 0};
		int fd = make_log(&plan, 12, 100, 60);

		NOTE("log %d", i);
		if (i % 4 == 2) {
			struct places p = places_of(fd);
			flip(fd, p.events[3] + 300, 1);
			flip(fd, p.events[4] + 300, 1);
			flip(fd, p.events[7] + 300, 1);
		}
		struct ts_events all = read_from(fd, &start);
		check_places(fd, &all);
	}
}

/* The times of a log are no matter of the order in which it is read. */
TEST(a_log_that_is_read_in_parts_tells_the_same_times, "")
{
	struct timespec last, last_in_parts;
	struct maker_run r;
	struct maker m = maker_new(POSIX_TRACE_APPEND, 0);
	for (int part = 0; part < 2; part++) {
		run_begin(&r, (uint64_t)part, 1);
		if (!part)
			run_start(&r, 2990);
		for (int i = 0; i < 50; i++)
			run_event(&r, (part ? 2000 : 3000) + i, 10, "x", 1);
		flush_run(&m, &r);
	}
	maker_close(&m);
	trace_id_t trid = ts_open_log(m.fd);
	CHECK_OK(posixtrace_log_get_time_of_last(trid, 2, &last));
	CHECK_OK(ptrc_log_select_parts(trid, 0, ULONG_MAX));
	CHECK_OK(posixtrace_log_get_time_of_last(trid, 2, &last_in_parts));
	CHECK_EQ(last.tv_nsec, last_in_parts.tv_nsec);
	ts_close_log(trid);
}

/* Events that come late stand where they were written, so that what was there before stays where it was. */
TEST(a_log_that_grows_begins_as_before, "")
{
	struct ptrc_reading_place start = {.pl_part = 0}, place;
	struct maker m = maker_new(POSIX_TRACE_APPEND, 0);
	struct maker_run r = run_of(0, 1);
	run_start(&r, 0);
	for (uint64_t i = 0; i < 50; i++)
		run_event(&r, 1000 + (int64_t)i * 10, 10, &i, sizeof(i));
	flush_run(&m, &r);
	struct ts_events before = read_from(m.fd, &start);
	CHECK_EQ(before.count, 51);
	trace_id_t trid = ts_open_log(m.fd);
	CHECK_OK(ptrc_log_select_parts(trid, 0, ULONG_MAX));
	struct ts_events all = ts_read_log(trid);
	place = place_of(trid);
	CHECK_EQ(place.pl_first_part, 0);
	CHECK_EQ(place.pl_end_part, 1);
	CHECK_EQ(place.pl_part, 0);
	CHECK_EQ(place.pl_events, 51);
	ts_close_log(trid);
	run_begin(&r, 1, 1);
	run_event(&r, 1005, 11, "late", 4);
	flush_run(&m, &r);
	maker_close(&m);
	all = read_from(m.fd, &start);
	CHECK_EQ(all.count, 52);
	for (size_t i = 0; i < before.count; i++)
		expect_same_event(&all.at[i], &before.at[i]);
	CHECK_EQ(id_at(&all, 51), 11);
	struct ts_events in_time = ts_log_events(m.fd);
	CHECK_EQ(id_at(&in_time, 2), 11);
	in_time = read_from(m.fd, &place);
	CHECK_EQ(in_time.count, 1);
	CHECK_EQ(id_at(&in_time, 0), 11);
	/* It may also end before a part, as if the log had no more; rewinding goes back to the begin of that. */
	trid = ts_open_log(m.fd);
	CHECK_OK(ptrc_log_select_parts(trid, 0, 1));
	for (int i = 0; i < 2; i++) {
		check_rest(trid, &before);
		CHECK_OK(posix_trace_rewind(trid));
	}
	CHECK_OK(ptrc_log_select_parts(trid, 0, 0));
	in_time = ts_read_log(trid);
	CHECK_EQ(in_time.count, 0);
	ts_close_log(trid);
	/* A selection of other events is in the order of time again. */
	trid = ts_open_log(m.fd);
	CHECK_OK(ptrc_log_select_parts(trid, 1, ULONG_MAX));
	CHECK_OK(posixtrace_log_select(trid, NULL, 0, NULL));
	in_time = ts_read_log(trid);
	CHECK_EQ(in_time.count, 52);
	CHECK_EQ(id_at(&in_time, 2), 11);
	CHECK_EQ(place_of(trid).pl_events, 0);
	CHECK_EQ(place_of(trid).pl_log_id, place.pl_log_id);
	CHECK(place.pl_log_id);
	ts_close_log(trid);
}

/* ---- a log that has grown ---- */

/* A count that the kernel has of this process: syscr, how often it has asked for bytes of files;
 * rchar, how many it got. */
static unsigned long io_count(const char *name)
{
	FILE *file = fopen("/proc/self/io", "r");
	unsigned long count = 0;
	char line[100];

	CHECK(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			count = strtoul(line + strlen(name) + 1, NULL, 10);
	fclose(file);
	CHECK_GT(count, 0);
	return count;
}

static void grow(struct maker *m, int events)
{
	static uint64_t number;

	struct maker_run r = run_of((int)(number % 3), 1);
	if (!number)
		run_start(&r, 0);
	for (int i = 0; i < events; i++, number++)
		run_event(&r, 1000 + (int64_t)number * 10, 10, &number, sizeof(number));
	flush_run(m, &r);
}

/* The log says what it says when it is opened now, and has the same events behind the place. */
static void check_refreshed(trace_id_t trid, int fd, const struct ptrc_reading_place *place)
{
	struct ptrc_counts counts = counts_of(trid), now_counts;
	trace_id_t opened = ts_open_log(fd);

	now_counts = counts_of(opened);
	CHECK_EQ(counts.pt_log_events, now_counts.pt_log_events);
	CHECK_EQ(counts.pt_log_bytes, now_counts.pt_log_bytes);
	CHECK_EQ(place_of(trid).pl_end_part, place_of(opened).pl_end_part);
	CHECK_EQ(place_of(trid).pl_log_id, place_of(opened).pl_log_id);
	ts_close_log(opened);
	CHECK_OK(ptrc_log_select_parts(trid, place->pl_part, ULONG_MAX));
	for (unsigned long i = 0; i < place->pl_events; i++)
		CHECK(read_one(trid, NULL));
	struct ts_events now = read_from(fd, place);
	check_rest(trid, &now);
	ts_events_free(&now);
}

TEST(a_log_that_has_grown_is_not_opened_anew, "")
{
	struct ptrc_reading_place place = {.pl_part = 0};
	char name[TRACE_EVENT_NAME_MAX + 1];
	unsigned long before, end_part;
	uint8_t bytes[1000];
	struct maker m = maker_new(POSIX_TRACE_APPEND, 0);
	trace_id_t trid = ts_open_log(m.fd);
	CHECK_OK(ptrc_log_refresh(trid, 0));
	check_refreshed(trid, m.fd, &place);
	for (int i = 0; i < 1000; i++)
		grow(&m, 3);
	CHECK_OK(ptrc_log_refresh(trid, 0));
	check_refreshed(trid, m.fd, &place);
	place = place_of(trid);
	CHECK_EQ(place.pl_part, 999);
	for (int i = 0; i < 60; i++) {
		for (unsigned j = harness_draw(3); j; j--)
			grow(&m, (int)harness_draw(40) + 1);
		if (i == 30) {
			maker_name(&m, "a later name");
			grow(&m, 1);
		}
		before = io_count("syscr");
		CHECK_OK(ptrc_log_refresh(trid, place.pl_part));
		/* An open looks at a thousand headers. */
		CHECK_LT(io_count("syscr") - before, 60);
		CHECK_EQ(ptrc_log_select_parts(trid, place.pl_part - 1, ULONG_MAX), EINVAL);
		check_refreshed(trid, m.fd, &place);
		CHECK_EQ(
			posix_trace_eventid_get_name(trid, POSIX_TRACE_UNNAMED_USEREVENT + 1, name),
			i < 30 ? EINVAL : 0);
		if (harness_draw(2))
			place = place_of(trid);
	}
	/* What was read is not taken out: the parts that are not forgotten can be read again. */
	CHECK_OK(posix_trace_rewind(trid));
	CHECK(read_one(trid, NULL));
	CHECK_OK(posixtrace_log_select(trid, NULL, 0, NULL));
	CHECK(read_one(trid, NULL));
	/* What somebody is just writing comes when it is there, be it a part of a header or of what that tells of. */
	end_part = place_of(trid).pl_end_part;
	off_t end = lseek(m.fd, 0, SEEK_END);
	grow(&m, 5);
	ssize_t size = pread(m.fd, bytes, sizeof(bytes), end);
	CHECK(size > 100);
	for (ssize_t i = 0; i <= size; i += i < size && i + 8 > size ? size - i : 8) {
		CHECK_SYS(ftruncate(m.fd, end));
		CHECK_EQ(pwrite(m.fd, bytes, (size_t)i, end), i);
		CHECK_OK(ptrc_log_refresh(trid, 0));
		CHECK_EQ(place_of(trid).pl_end_part, end_part + (i == size));
	}
	check_refreshed(trid, m.fd, &place);
	ts_close_log(trid);
}

enum change {
	CLOSED,
	CUT,
	CUT_HEAD,
	OTHER_HEAD,
	OTHER_LAST,
	NO_PACKET,
	DAMAGED,
	MISSING,
	LEFT,
	CHANGES
};

static void change(enum change how, struct maker *m, off_t last)
{
	off_t end = lseek(m->fd, 0, SEEK_END), next;
	uint8_t bytes[1000];
	ssize_t size;

	switch (how) {
	case CLOSED:
		maker_close(m);
		break;
	case CUT:
		CHECK_SYS(ftruncate(m->fd, last));
		break;
	case CUT_HEAD:
		CHECK_SYS(ftruncate(m->fd, 100));
		break;
	case OTHER_HEAD:
		CHECK_SYS(pwrite(m->fd, "x", 1, 100));
		break;
	case OTHER_LAST:
		/* Another keeper has written another packet to the same place. */
		CHECK_SYS(ftruncate(m->fd, last));
		m->w.state.offset = (uint64_t)last;
		m->w.state.seq--;
		m->w.file_end = 0;
		m->w.has_last = false;
		grow(m, 5);
		break;
	case NO_PACKET:
		grow(m, 5);
		CHECK_SYS(pwrite(m->fd, "x", 1, end + 3));
		grow(m, 5);
		break;
	case DAMAGED:
		/* The payload of the last packet. */
		grow(m, 5);
		CHECK_SYS(pwrite(m->fd, "x", 1, lseek(m->fd, 0, SEEK_END) - 20));
		break;
	case MISSING:
		m->w.state.seq++;
		grow(m, 5);
		break;
	case LEFT:
		/* The begin of a packet that nobody will finish, as another one stands where it would be. */
		grow(m, 1000);
		next = lseek(m->fd, 0, SEEK_END);
		grow(m, 5);
		size = pread(m->fd, bytes, sizeof(bytes), next);
		CHECK(size > 100 && end + 1000 + size < next);
		CHECK_SYS(ftruncate(m->fd, end + 1000));
		CHECK_EQ(pwrite(m->fd, bytes, (size_t)size, end + 1000), size);
		break;
	default:
		break;
	}
}

/* Whatever else may have come of a log is told by opening it anew. */
TEST(a_log_that_has_changed_is_opened_anew, "")
{
	for (enum change how = CLOSED; how < CHANGES; how++) {
		struct maker m = maker_new(POSIX_TRACE_APPEND, 0);
		for (int i = 0; i < 5; i++)
			grow(&m, 5);
		off_t last = lseek(m.fd, 0, SEEK_END);
		grow(&m, 5);
		trace_id_t trid = ts_open_log(m.fd);
		CHECK_OK(ptrc_log_refresh(trid, 3));
		CHECK_OK(ptrc_log_refresh(trid, 3));
		change(how, &m, last);
		NOTE("change %d", (int)how);
		CHECK_EQ(ptrc_log_refresh(trid, 3), ESTALE);
		/* It can be closed, and reading it does no harm. */
		free(ts_read_log(trid).at);
		ts_close_log(trid);
		maker_end(&m);
	}
}

TEST(a_ring_is_opened_anew, "")
{
	struct ptrc_reading_place place;
	struct maker m = maker_new(POSIX_TRACE_LOOP, 40000);
	grow(&m, 5);
	trace_id_t trid = ts_open_log(m.fd);
	CHECK_EQ(ptrc_log_refresh(trid, 0), ESTALE);
	ts_close_log(trid);
	CHECK_EQ(ptrc_log_refresh(trid, 0), EINVAL);
	CHECK_EQ(ptrc_log_get_place(trid, &place), EINVAL);
}

/* ---- the last events ---- */

TEST(the_time_of_the_last_events, "")
{
	for (int i = 0; i < 6; i++) {
		struct plan plan = {.policy = i % 2 ? POSIX_TRACE_LOOP : POSIX_TRACE_APPEND,
				    .limit = 40000,
				    .is_closed = i / 2 != 1,
				    .has_no_index = i / 2 == 2};
		int fd = make_log(&plan, 20, 40, 60);
		trace_id_t trid = ts_open_log(fd);
		struct ts_events all = ts_read_log(trid);
		uint64_t log_events = counts_of(trid).pt_log_events;
		struct timespec t = {7, 7};

		CHECK_EQ(posixtrace_log_get_time_of_last(trid, log_events + 1, &t), ENODATA);
		CHECK_EQ(t.tv_sec, 7);
		CHECK_OK(posixtrace_log_get_time_of_last(trid, log_events, &t));
		/* Those that are left over in a ring are not reported. */
		if (plan.policy == POSIX_TRACE_APPEND)
			for (size_t n = 1; n <= all.count; n++) {
				struct posixtrace_span span = {.pt_last = to_timespec(INT64_MAX)};
				size_t from;

				CHECK_OK(posixtrace_log_get_time_of_last(trid, n, &t));
				for (from = all.count;
				     from && time_at(&all, from - 1) >= ts_time_ns(&t);)
					from--;
				CHECK_GE(all.count - from, n);
				/* Of a flush that is a packet here. */
				CHECK_LE(all.count - from, n + 2 * 40);
				if (n % 50)
					continue;
				span.pt_first = t;
				CHECK_OK(posixtrace_log_select(trid, &span, 1, NULL));
				struct ts_events some = ts_read_log(trid);
				CHECK_GE(some.count, n);
				expect_same_event(&some.at[some.count - n], &all.at[all.count - n]);
			}
		ts_close_log(trid);
	}
}

/* ---- totals ---- */

TEST(totals_are_what_reading_counts, "")
{
	for (int i = 0; i < 8; i++) {
		struct plan plan = {.policy = i % 2 ? POSIX_TRACE_UNTIL_FULL : POSIX_TRACE_APPEND,
				    .limit = i / 4 ? 20000 : 1 << 20,
				    .is_closed = true};
		int fd = make_log(&plan, 20, 40, (size_t)i * 20);

		NOTE("log %d", i);
		check_totals(fd);
	}
}

TEST(logs_without_totals, "")
{
	for (int i = 0; i < 5; i++) {
		struct plan plan = {.policy = i == 1 ? POSIX_TRACE_LOOP : POSIX_TRACE_APPEND,
				    .limit = 40000,
				    .has_filters = i == 3,
				    .has_losses = i == 4,
				    .is_closed = i != 0,
				    .has_no_index = i == 2};
		int fd = make_log(&plan, 20, 40, 20);
		trace_id_t trid = ts_open_log(fd);
		struct posixtrace_type_count count = {.pt_events = 5};

		NOTE("log %d", i);
		CHECK_EQ(posixtrace_get_type_counts(trid, &count, 1), ENODATA);
		CHECK_EQ(count.pt_events, 5);
		CHECK_EQ(verify(trid), 0);
		ts_close_log(trid);
	}
}

/* Of types that are in the filter for a part of the time nobody knows how many events are reported,
 * unless the log has none. */
TEST(totals_and_filters, "")
{
	for (int i = 0; i < 2; i++) {
		/* Events of type 10 are recorded, of type 11 none. */
		const trace_event_set_t sets[2] = {ts_set(0), ts_set(i ? 10 : 11, 0)};
		struct maker_run r[2];
		struct maker m = maker_new(POSIX_TRACE_APPEND, 0);
		run_begin(&r[0], 0, 1);
		run_begin(&r[1], 1, 1);
		run_start(&r[0], -1);
		run_numbers(&m, &r[1], 50, 0);
		run_event(&r[0], 25500, POSIX_TRACE_FILTER, sets, sizeof(sets));
		flush_runs(&m, r, 2);
		maker_close(&m);
		if (i == 0)
			check_totals(m.fd);
		else
			CHECK(!is_with_totals(m.fd));
	}
}

/* ---- forged indexes ---- */

/* Reads whatever a file has: only that this ends well matters. */
static size_t read_anything(trace_id_t trid)
{
	struct posixtrace_type_count counts[16];
	struct timespec t;
	struct ts_events all = ts_read_log(trid);
	size_t count = all.count;

	ts_events_free(&all);
	verify(trid);
	int error = posixtrace_get_type_counts(trid, counts, 16);
	CHECK(error == 0 || error == ENODATA);
	error = posixtrace_log_get_time_of_last(trid, harness_draw(400), &t);
	CHECK(error == 0 || error == ENODATA);
	return count;
}

/* A closed log, its bytes, and a copy of them in which a test changes something. */
struct forgery {
	int fd;
	size_t size;
	uint8_t *bytes, *copy;
	struct places p;
	uint64_t index, totals; /* where the payloads of these packets begin */
};

static struct forgery begin_forgery(void)
{
	struct forgery f = {.fd = make_simple(12, 8, 20)};

	f.bytes = bytes_of(f.fd, &f.size);
	f.copy = bytes_of(f.fd, &f.size);
	f.p = places_of(f.fd);
	f.index = f.p.index + sizeof(struct ptrc_log_packet);
	f.totals = f.p.totals + sizeof(struct ptrc_log_packet);
	return f;
}

/* Writes the copy, in which the packet at this place was changed, with the right checksums. Then
 * the copy is unchanged again. */
static void write_forged(struct forgery *f, uint64_t packet)
{
	sign(f->copy, f->size, packet);
	CHECK_EQ(pwrite(f->fd, f->copy, f->size, 0), f->size);
	memcpy(f->copy, f->bytes, f->size);
}

/* Opens the log with one more, or less, in this byte of the packet. Counts those that are used: verifying
 * tells of them. */
static trace_id_t open_forged(struct forgery *f, uint64_t packet, uint64_t at, int more,
			      size_t *used)
{
	f->copy[at] = (uint8_t)(f->copy[at] + more);
	write_forged(f, packet);
	trace_id_t trid = ts_open_log(f->fd);
	if (has_totals(trid)) {
		CHECK_GE(verify(trid), 1);
		++*used;
	}
	return trid;
}

/* Whoever forges an index gets nowhere: it is not used, or verifying tells. */
TEST(an_index_that_lies, "")
{
	struct forgery f = begin_forgery();
	size_t entry_bytes = sizeof(struct ptrc_log_packet), used = 0;
	struct ptrc_log_index_head head;
	uint64_t entries = f.index + sizeof(head);

	memcpy(&head, f.bytes + f.index, sizeof(head));
	/* Besides these, packets that tell whose log it is. */
	CHECK_GT(head.count, f.p.event_count + f.p.name_count);
	for (uint64_t at = entries; at < entries + head.count * entry_bytes; at++)
		for (int more = -1; more <= 1; more += 2) {
			trace_id_t trid = open_forged(&f, f.p.index, at, more, &used);
			CHECK_LE(read_anything(trid), 12 * 8 + 1 + 24);
			ts_close_log(trid);
		}
	/* What the log says of times, for one, is seen in the packets alone. */
	CHECK_GT(used, 100);
	/* Two lengths, the sum of which is right only because it overflows. */
	for (uint32_t i = 0; i + 1 < head.count; i++) {
		uint8_t *at = f.copy + entries + i * entry_bytes;
		struct ptrc_log_packet two[2];

		memcpy(two, at, sizeof(two));
		two[1].length = ptrc_align8(two[0].length) + ptrc_align8(two[1].length) + 8;
		two[0].length = UINT64_MAX - 7;
		memcpy(at, two, sizeof(two));
		write_forged(&f, f.p.index);
		CHECK(!is_with_totals(f.fd));
	}
}

TEST(an_index_whose_head_lies, "")
{
	struct forgery f = begin_forgery();
	struct ts_events all = ts_log_events(f.fd);
	struct ptrc_log_index_head head;

	memcpy(&head, f.bytes + f.index, sizeof(head));
	const struct {
		uint64_t previous, length;
		uint32_t count;
	} lies[] = {
		{f.p.index, 0, head.count}, /* it goes round in circles */
		{f.p.totals, 0, head.count},	    {f.p.events[0], 0, head.count},
		{UINT64_MAX, 0, head.count},	    {1, 0, head.count},
		{head.previous, 0, UINT32_MAX},	    {head.previous, 0, head.count + 1},
		{head.previous, 0, head.count - 1}, {head.previous, f.size, head.count},
		{head.previous, 8, head.count},
	};
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		uint64_t length = lies[i].length;

		NOTE("lie %zu", i);
		head.previous = lies[i].previous;
		head.count = lies[i].count;
		memcpy(f.copy + f.index, &head, sizeof(head));
		if (length)
			memcpy(f.copy + f.p.index + offsetof(struct ptrc_log_packet, length),
			       &length, 8);
		write_forged(&f, f.p.index);
		trace_id_t trid = ts_open_log(f.fd);
		CHECK(!has_totals(trid));
		/* Where the length is wrong there are bytes that are no packet, too. */
		CHECK_EQ(verify(trid), length ? 2 : 1);
		if (length)
			ts_read_log(trid);
		else
			check_rest(trid, &all);
		ts_close_log(trid);
	}
}

/* Types, numbers and sums of the TOTALS packet. */
TEST(totals_that_lie, "")
{
	struct forgery f = begin_forgery();
	struct ts_events all = ts_log_events(f.fd);
	struct ptrc_log_totals_head head;
	size_t used = 0;

	memcpy(&head, f.bytes + f.totals, sizeof(head));
	CHECK_GT(head.type_count, 3);
	for (size_t byte = 0; byte < sizeof(head) + head.type_count * sizeof(struct ptrc_log_total);
	     byte++)
		for (int more = -1; more <= 1; more += 2) {
			/* The words that mean nothing. */
			if (byte >= sizeof(head) &&
			    (byte - sizeof(head)) % sizeof(struct ptrc_log_total) / 4 == 1)
				continue;
			trace_id_t trid = open_forged(&f, f.p.totals, f.totals + byte, more, &used);
			check_rest(trid, &all);
			ts_close_log(trid);
		}
	CHECK_GT(used, 10);
}

TEST(an_index_of_anything, "")
{
	struct forgery f = begin_forgery();
	size_t index_bytes = f.size - f.p.index;

	for (int round = 0; round < 5000; round++) {
		static const uint64_t values[] = {
			0,	1,	    8,		0x7f,	   0xff,       0x8000,
			0xffff, 0x7fffffff, 0xffffffff, INT64_MAX, UINT64_MAX, UINT64_MAX - 63};
		trace_id_t trid;

		for (uint64_t k = harness_draw(4); k < 4; k++) {
			uint64_t value = harness_draw(2) ? values[harness_draw(12)]
							 : harness_draw(UINT64_MAX);
			size_t width = (size_t)1 << harness_draw(4);
			uint8_t *at = f.copy + f.p.index + harness_draw(index_bytes - width);

			if (harness_draw(2)) /* another number of the log, so that packets mix */
				memcpy(&value,
				       f.bytes + f.p.index + 8 * harness_draw(index_bytes / 8 - 1),
				       8);
			memcpy(at, &value, width);
		}
		sign(f.copy, f.size, f.p.index);
		sign(f.copy, f.size, f.p.totals);
		write_forged(&f, f.p.status);
		if (posix_trace_open(f.fd, &trid))
			continue;
		CHECK_LE(read_anything(trid), 12 * 8 + 1 + 24);
		ts_close_log(trid);
	}
}

/* An INDEX packet that says it is as large as a sparse file is: nobody reads all of that. */
TEST(a_huge_index_keeps_no_open_busy, "")
{
	uint64_t huge = UINT64_C(1) << 40;
	int fd = make_simple(3, 8, 20);
	size_t size;
	uint8_t *bytes = bytes_of(fd, &size);
	struct ptrc_log_packet h;
	struct ts_events all = ts_log_events(fd);
	struct places p = places_of(fd);
	memcpy(&h, bytes + p.index, sizeof(h));
	h.length = huge - p.index - sizeof(h) - (size - p.status);
	h.header_crc = ptrc_crc32c(0, &h, offsetof(struct ptrc_log_packet, header_crc));
	CHECK_EQ(pwrite(fd, &h, sizeof(h), (off_t)p.index), sizeof(h));
	/* STATUS and END move to the end of the file. */
	CHECK_EQ(pwrite(fd, bytes + p.status, size - p.status, (off_t)(huge - (size - p.status))),
		 size - p.status);
	trace_id_t trid = ts_open_log(fd);
	CHECK(!has_totals(trid));
	CHECK_EQ(counts_of(trid).pt_damaged_parts, 0);
	check_rest(trid, &all);
	ts_close_log(trid);
}

/* ---- writing the index ---- */

/* The events of a log are the same without its index, and its totals are right. */
static void check_index(int fd)
{
	struct ts_events all = ts_log_events(fd);
	trace_id_t trid = ts_open_log(fd);

	CHECK_EQ(verify(trid), 0);
	ts_close_log(trid);
	check_totals(fd);
	struct places p = places_of(fd);
	flip(fd, p.totals + 8, 1);
	trid = ts_open_log(fd);
	CHECK(!has_totals(trid));
	check_rest(trid, &all);
	ts_close_log(trid);
	flip(fd, p.totals + 8, 1);
}

TEST(an_index_in_pieces, "")
{
	int fd = make_simple(2 * PTRC_LOG_INDEX_COUNT + 500, 1, 20);
	struct places p = places_of(fd);
	CHECK_EQ(p.index_count, 3);
	CHECK_EQ(p.event_count, 2 * PTRC_LOG_INDEX_COUNT + 500);
	check_index(fd);
	/* A piece in the middle. */
	for (size_t i = 0; i < 2; i++) {
		struct ptrc_log_index_head head;
		struct ts_events all = ts_log_events(fd);

		CHECK_EQ(pread(fd, &head, sizeof(head),
			       (off_t)(p.index + sizeof(struct ptrc_log_packet))),
			 sizeof(head));
		p.index = head.previous;
		CHECK_GT(p.index, 0);
		flip(fd, p.index + 200, 1);
		check_log(fd, &all);
		flip(fd, p.index + 200, 1);
	}
}

TEST(a_flush_that_is_repeated, "")
{
	struct maker m = maker_new(POSIX_TRACE_APPEND, 0);
	maker_name(&m, "ten");
	for (int round = 0; round < 6; round++) {
		struct maker_run r = run_of(1, 1);
		run_numbers(&m, &r, 5000, 200);
		m.h->fsize_limit = size_of(m.fd) + 600000;
		CHECK_EQ(maker_flush(&m, &r, 1), EFBIG);
		m.h->fsize_limit = RLIM_INFINITY;
		/* The last time, nobody repeats it: the log has what was written. */
		if (round < 5)
			flush_run(&m, &r);
	}
	maker_close(&m);
	check_index(m.fd);
}

TEST(a_keeper_that_is_replaced, "")
{
	struct maker m = maker_new(POSIX_TRACE_APPEND, 0);
	for (int round = 0; round < 3; round++) {
		for (size_t k = 0; k < PTRC_LOG_INDEX_COUNT + 10; k++)
			flush_numbers(&m, 1, 0);
		if (round == 2)
			break;
		maker_replace(&m);
	}
	maker_close(&m);
	struct places p = places_of(m.fd);
	CHECK_EQ(p.index_count, 1); /* of the first keeper */
	CHECK_EQ(p.totals, 0);
	trace_id_t trid = ts_open_log(m.fd);
	CHECK(!has_totals(trid));
	CHECK_EQ(counts_of(trid).pt_log_events, m.next);
	struct ts_events all = ts_read_log(trid);
	CHECK_EQ(all.count, m.next);
	ts_close_log(trid);
}

/* A log that cannot grow any more is closed without an index. */
TEST(no_room_for_the_index, "")
{
	struct maker m = maker_new(POSIX_TRACE_APPEND, 0);
	flush_numbers(&m, 1000, 0);
	m.h->fsize_limit = size_of(m.fd) + CLOSE_BYTES;
	maker_close(&m);
	struct places p = places_of(m.fd);
	CHECK_EQ(p.index_count, 0);
	trace_id_t trid = ts_open_log(m.fd);
	CHECK(!has_totals(trid));
	CHECK_EQ(ts_status(trid).posix_stream_flush_error, 0);
	struct ts_events all = ts_read_log(trid);
	CHECK_EQ(all.count, 1000);
	ts_close_log(trid);
}

/* ---- how much is read ---- */

/* Reads what is selected, of which there are so many events at least. Not much was read for it since `before`. */
static size_t read_a_little(trace_id_t trid, unsigned long before,
			    const struct posixtrace_span *span, const trace_event_set_t *types,
			    size_t least)
{
	CHECK_OK(posixtrace_log_select(trid, span, span ? 1 : 0, types));
	struct ts_events some = ts_read_log(trid);
	CHECK_GE(some.count, least);
	CHECK_LT(io_count("rchar") - before, 2000000);
	return some.count;
}

TEST(little_of_a_large_log_is_read, "")
{
	struct posixtrace_span span;
	uint8_t rare = 0;
	struct maker m = maker_new(POSIX_TRACE_APPEND, 0);
	for (int k = 0; k < 100; k++) {
		struct maker_run r = run_of(1, 1);
		run_numbers(&m, &r, 250, 4000);
		if (k == 50)
			run_event(&r, (int64_t)m.next * 1000 - 500, 11, &rare, 1);
		flush_run(&m, &r);
	}
	maker_close(&m);
	CHECK_GT(size_of(m.fd), 100000000);
	unsigned long before = io_count("rchar");
	trace_id_t trid = ts_open_log(m.fd);
	CHECK_LT(io_count("rchar") - before, 200000);
	/* A window. */
	span.pt_first = to_timespec(MAKER_EPOCH + 12000 * 1000);
	span.pt_last = to_timespec(MAKER_EPOCH + 12010 * 1000);
	size_t count = read_a_little(trid, before, &span, NULL, 11);
	CHECK_EQ(counts_of(trid).pt_skipped_events + count, m.next + 1);
	/* The last events. */
	before = io_count("rchar");
	CHECK_OK(posixtrace_log_get_time_of_last(trid, 10, &span.pt_first));
	span.pt_last = to_timespec(INT64_MAX);
	read_a_little(trid, before, &span, NULL, 10);
	/* A type that is rare. */
	trace_event_set_t types = ts_set(11, 0);
	read_a_little(trid, io_count("rchar"), NULL, &types, 1);
	/* And with a window. */
	before = io_count("rchar");
	CHECK_OK(ptrc_log_select(trid, &span, 1, NULL, &types));
	struct ts_events some = ts_read_log(trid);
	CHECK_LT(io_count("rchar") - before, 2000000);
	CHECK_EQ(ts_count(&some, 11), 1);
	/* The totals. */
	before = io_count("rchar");
	CHECK(has_totals(trid));
	CHECK_LT(io_count("rchar") - before, 10000);
	ts_close_log(trid);
}

/* ---- logs of streams ---- */

#define STREAM_TYPES 4U

/* Records events of several types, with a flush now and then. */
static void record(trace_id_t trid, const trace_event_id_t *ids, uint32_t count, bool has_filters)
{
	for (uint32_t i = 0; i < count; i++) {
		trace_event_id_t type = ids[i / 100 % STREAM_TYPES];

		ts_emit(i % 10 ? type : ids[0], i);
		if (has_filters && i % 150 == 0) {
			trace_event_set_t set = ts_set(ids[harness_draw(STREAM_TYPES)],
						       ids[harness_draw(STREAM_TYPES)], 0);

			ts_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
		}
		if (i % 100 == 99)
			ts_flush(trid);
	}
}

TEST(logs_of_streams_have_an_index, "", NEEDS_KEEPER)
{
	const trace_event_id_t ids[STREAM_TYPES] = {ts_id("index.a"), ts_id("index.b"),
						    ts_id("index.c"), ts_id("index.d")};

	for (int i = 0; i < 6; i++) {
		bool has_filters = i / 3;
		int fd = ts_temp_file();
		trace_id_t trid =
			start_log(POSIX_TRACE_FLUSH, 65536, log_policies[i % 3], 30000, fd);

		NOTE("log %d", i);
		record(trid, ids, 4000, has_filters);
		trid = ts_end_and_open_log(trid, fd);
		struct ts_events all = ts_read_log(trid);
		CHECK_GT(all.count, 300);
		if (log_policies[i % 3] == POSIX_TRACE_LOOP || has_filters) {
			CHECK(!has_totals(trid));
		} else {
			check_totals(fd);
			CHECK_EQ(verify(trid), 0);
		}
		for (int k = 0; k < 20; k++)
			compare_selection(trid, &all, false);
		ts_close_log(trid);
	}
}

/* ---- errors ---- */

TEST(arguments_that_are_wrong, "")
{
	int fd = make_simple(3, 8, 20);
	struct posixtrace_block *block = (struct posixtrace_block *)1;
	struct posixtrace_span span = {{0, 0}, {1, 0}};
	trace_id_t log = ts_open_log(fd), active;
	trace_id_t others[2];
	trace_event_set_t unset;
	unsigned long differing;
	struct ptrc_reading_place place;
	struct timespec time;

	memset(&unset, 0x5a, sizeof(unset));
	CHECK_OK(posix_trace_create(0, NULL, &active));
	others[0] = active;
	others[1] = log + 4711;
	for (int i = 0; i < 2; i++) {
		trace_id_t t = others[i];

		CHECK_EQ(posixtrace_log_select(t, &span, 1, NULL), EINVAL);
		CHECK_EQ(posixtrace_log_get_time_of_last(t, 1, &time), EINVAL);
		CHECK_EQ(ptrc_log_verify(t, &differing), EINVAL);
		CHECK_EQ(posixtrace_log_next_block(t, &block), EINVAL);
		CHECK_EQ(ptrc_log_select_parts(t, 0, ULONG_MAX), EINVAL);
		CHECK_EQ(ptrc_log_get_place(t, &place), EINVAL);
	}
	CHECK_EQ(posixtrace_log_select(log, NULL, 1, NULL), EINVAL);
	CHECK_EQ(posixtrace_log_select(log, &span, 1, &unset), EINVAL);
	CHECK_EQ(posixtrace_log_get_time_of_last(log, 1, NULL), EINVAL);
	CHECK_EQ(posixtrace_get_type_counts(log, NULL, 1), EINVAL);
	CHECK_EQ(posixtrace_get_type_counts(others[1], NULL, 0), EINVAL);
	CHECK_EQ(posixtrace_log_next_block(log, NULL), EINVAL);
	posixtrace_log_free_block(NULL);
	/* Times that no log can have. */
	span.pt_first.tv_sec = INT64_MIN;
	span.pt_last.tv_sec = INT64_MAX;
	CHECK_OK(posixtrace_log_select(log, &span, 1, NULL));
	CHECK_OK(posixtrace_log_next_block(log, &block));
	CHECK(block && block->pt_count >= 24);
	posixtrace_log_free_block(block);
	CHECK_OK(posix_trace_close(log));
	CHECK_EQ(posixtrace_log_next_block(log, &block), EINVAL);
	CHECK_OK(posix_trace_shutdown(active));
}
