/* SPDX-License-Identifier: MIT */
/* What the log writer writes, and that the reader has it back. */
#include "tests/support/log_maker.h"
#include "tests/support/logs.h"

static const char *const policy_names[] = {"", "LOOP", "UNTIL_FULL", "", "APPEND"};

TEST(crc_of_known_blocks, "LOG-37")
{
	uint8_t block[100];

	CHECK_EQ(ptrc_crc32c(0, "123456789", 9), 0xe3069283U);
	memset(block, 0, 32);
	CHECK_EQ(ptrc_crc32c(0, block, 32), 0x8a9136aaU);
	memset(block, 0xff, 32);
	CHECK_EQ(ptrc_crc32c(0, block, 32), 0x62a8ab43U);
	for (int i = 0; i < 100; i++)
		block[i] = (uint8_t)(i * 37);
	for (size_t begin = 0; begin < 9; begin++)
		for (size_t end = begin; end <= 100; end++) {
			size_t middle = begin + (end - begin) / 3;
			uint32_t crc = ptrc_crc32c(0, block + begin, middle - begin);

			CHECK_EQ(ptrc_crc32c(0, block + begin, end - begin),
				 ptrc_crc32c_table(0, block + begin, end - begin));
			CHECK_EQ(ptrc_crc32c(crc, block + middle, end - middle),
				 ptrc_crc32c(0, block + begin, end - begin));
		}
}

TEST(bytes_of_the_head, "LOG-37 LOG-41")
{
	uint8_t b[PTRC_LOG_HEADS_BYTES + sizeof(struct ptrc_log_packet)];
	uint64_t u64;
	uint32_t u32;
	struct maker m = maker_new(POSIX_TRACE_APPEND, 4096);
	CHECK_EQ(PTRC_LOG_HEAD_BYTES, 880);
	CHECK_EQ(pread(m.fd, b, sizeof(b), 0), sizeof(b));
	CHECK_MEM_EQ(b, "\x89PTRLOG\n\x04\x03\x02\x01\x03\x00\x08\x00", 16);
	CHECK_MEM_EQ(b + 32, "PTPK\x01\x00\x00\x00", 8);
	memcpy(&u64, b + 32 + 8, 8);
	CHECK_EQ(u64, 768);
	memcpy(&u64, b + 32 + 16, 8);
	CHECK_EQ(u64, 0x1122334455667788);
	memcpy(&u32, b + 32 + 76, 4);
	CHECK_EQ(u32, ptrc_crc32c(0, b + 32, 76));
	memcpy(&u32, b + 32 + 52, 4);
	CHECK_EQ(u32, ptrc_crc32c(0, b + 112, 768));
	CHECK_STR_EQ((char *)b + 112 + 256, "a made up trace");
	/* It stands there twice, and HOST directly behind. */
	CHECK_MEM_EQ(b + 880, b, 880);
	CHECK_MEM_EQ(b + 1760, "PTPK\x08\x00\x00\x00", 8);
}

TEST(attributes_come_back, "LOG-36 ATTRGET-02 NAME-07 CLOCK-04 GENVERSION-04")
{
	for (size_t i = 0; i < 3; i++) {
		struct maker m = maker_new(log_policies[i], 12345);
		struct ptrc_log_stream *l = maker_read(&m);
		trace_attr_t attr;

		NOTE("%s", policy_names[log_policies[i]]);
		ptrc_log_stream_attr(l, &attr);
		struct ts_values values = ts_values(&attr);
		CHECK_STR_EQ(values.name, "a made up trace");
		CHECK_STR_EQ(values.version, "made up 9.9");
		CHECK_EQ(values.created_ns, MAKER_EPOCH + 7);
		CHECK_EQ(values.log_bytes, 12345);
		CHECK_EQ(values.log_policy, log_policies[i]);
		CHECK_EQ(values.stream_policy, POSIX_TRACE_FLUSH);
		ptrc_log_stream_close(l);
	}
}

TEST(events_come_back_unchanged, "LOG-38 LOG-13 OPEN-18 OPEN-06")
{
	for (size_t i = 0; i < 3; i++) {
		struct maker_run r, system;
		struct ptrc_context other = {777, 778, 0x7f1234};
		struct seen s;
		char big[3000];

		memset(big, 'x', sizeof(big));
		struct maker m = maker_new(log_policies[i], 1 << 20);
		maker_name(&m, "ten");
		maker_name(&m, "");
		run_begin(&r, 3, 1);
		run_event(&r, 100, 10, "abc", 3);
		run_event(&r, 200, 11 | PTRC_REC_TRUNCATED, big, sizeof(big));
		run_event(&r, 0, PTRC_REC_CONTEXT, &other, sizeof(other));
		run_event(&r, INT64_C(9000000000), 9, NULL, 0);
		run_begin(&system, 0, 1);
		run_start(&system, 50);
		run_stop(&system, INT64_C(9000000001), 0);
		flush_runs(&m, (struct maker_run[]){r, system}, 2);
		maker_close(&m);

		struct ptrc_log_stream *l = log_open(m.fd);
		for (int round = 0; round < 2; round++) {
			CHECK_SEEN(l, &s, POSIX_TRACE_START);
			CHECK_EQ(s.len, sizeof(trace_event_set_t));
			CHECK_EQ(s.info.posix_pid, 0);
			CHECK_EQ(seen_ns(&s), 50);
			CHECK_SEEN(l, &s, 10);
			CHECK_EQ(s.info.posix_pid, 103);
			CHECK_EQ((uint64_t)s.info.posix_thread_id, 0x7f0000000003);
			CHECK_EQ((uintptr_t)s.info.posix_prog_address, 0x40100a);
			CHECK_EQ(s.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
			CHECK_EQ(seen_ns(&s), 100);
			CHECK_EQ(s.len, 3);
			CHECK_MEM_EQ(s.data, "abc", 3);
			CHECK_SEEN(l, &s, 11);
			CHECK_EQ(s.info.posix_truncation_status, POSIX_TRACE_TRUNCATED_RECORD);
			CHECK_EQ(s.len, sizeof(big));
			CHECK_MEM_EQ(s.data, big, sizeof(big));
			CHECK_SEEN(l, &s, POSIX_TRACE_UNNAMED_USEREVENT);
			CHECK_EQ(s.info.posix_pid, 777);
			CHECK_EQ((uint64_t)s.info.posix_thread_id, 0x7f1234);
			CHECK_EQ(seen_ns(&s), INT64_C(9000000000));
			CHECK_EQ(s.len, 0);
			CHECK_SEEN(l, &s, POSIX_TRACE_STOP);
			CHECK(!next_seen(l, &s));
			CHECK(!next_seen(l, &s));
			ptrc_log_stream_rewind(l);
		}
		ptrc_log_stream_close(l);
	}
}

TEST(runs_of_many_threads_are_merged_by_time, "LOG-19 GETNEXT-03")
{
	for (size_t i = 0; i < 3; i++) {
		struct maker_run runs[20];
		struct seen s;
		int64_t last = -1;
		size_t count = 0;
		uint64_t next[20] = {0};
		struct maker m = maker_new(log_policies[i], 4 << 20);
		for (int flush = 0; flush < 5; flush++) {
			for (int t = 0; t < 20; t++) {
				run_begin(&runs[t], t + 1, 1);
				for (uint64_t k = 0; k < 100; k++) {
					uint64_t n = (uint64_t)flush * 100 + k;

					run_event(&runs[t],
						  (int64_t)(n * 1000 +
							    (n * (uint64_t)(t * 7919)) % 1000),
						  10, &n, sizeof(n));
				}
			}
			flush_runs(&m, runs, 20);
		}
		struct ptrc_log_stream *l = maker_read(&m);
		while (next_seen(l, &s)) {
			int t = s.info.posix_pid - 101;

			CHECK_LE(last, seen_ns(&s));
			last = seen_ns(&s);
			CHECK_EQ(seen_number(&s), next[t]);
			next[t]++;
			count++;
		}
		CHECK_EQ(count, 20 * 500);
		ptrc_log_stream_close(l);
	}
}

TEST(bursts_of_many_threads_can_be_read, "LOG-38 LOG-19")
{
	enum { THREADS = 32, BURST = 4000 };
	struct maker_run r[THREADS];
	struct seen s;

	/* All events but the last of each thread come within 4 ms. Each has a shape that was not defined
	 * recently, and no data, so most of its bytes are the definition. */
	struct maker m = maker_new(POSIX_TRACE_APPEND, 0);
	for (int t = 0; t < THREADS; t++) {
		run_begin(&r[t], t + 1, 1);
		for (uint32_t n = 0; n < BURST; n++)
			run_event(&r[t], n * 1000, 10 + n % 400, NULL, 0);
		run_event(&r[t], INT64_C(10000000000), 10, NULL, 0);
	}
	flush_runs(&m, r, THREADS);
	struct ptrc_log_stream *l = maker_read(&m);
	for (int n = 0; n < THREADS * (BURST + 1); n++) {
		CHECK(next_seen(l, &s));
		CHECK_GE(s.info.posix_event_id, 10);
	}
	CHECK_END(l);
}

TEST(order_decides_among_equal_times, "SYSEVENT-17")
{
	for (size_t i = 0; i < 3; i++) {
		struct maker_run r[3];
		struct maker m = maker_new(log_policies[i], 1 << 20);
		run_begin(&r[0], 1, 1);
		run_event(&r[0], 10, 10, "a", 1);
		run_event(&r[0], 20, 10, "b", 1);
		run_begin(&r[1], 0, 0);
		run_event(&r[1], 5, POSIX_TRACE_OVERFLOW, NULL, 0);
		run_event(&r[1], 10, POSIX_TRACE_RESUME, NULL, 0);
		run_begin(&r[2], 0, 2);
		run_stop(&r[2], 20, 1);
		flush_runs(&m, r, 3);
		maker_close(&m);
		struct ts_events all = ts_log_events(m.fd);
		ts_expect_ids(&all, POSIX_TRACE_OVERFLOW, POSIX_TRACE_RESUME, 10, 10,
			      POSIX_TRACE_STOP, 0);
	}
}

/* The next type in the list of types; 0 if there is none. */
static trace_event_id_t next_type(struct ptrc_log_stream *l)
{
	trace_event_id_t id = 4711;
	int unavailable;

	CHECK_OK(ptrc_log_stream_next_id(l, &id, &unavailable));
	if (unavailable)
		CHECK_EQ(id, 4711);
	return unavailable ? 0 : id;
}

TEST(names_come_back_in_order, "LOG-36 LOG-42 EVENTLIST-08 EVENTLIST-10 EVENTID-20 EVENTID-24")
{
	for (size_t i = 0; i < 3; i++) {
		char name[TRACE_EVENT_NAME_MAX + 1], expect[TRACE_EVENT_NAME_MAX + 1];
		struct maker m = maker_new(log_policies[i], 1200);

		for (int k = 0; k < (int)PTRC_NAMES_MAX; k++) {
			memset(expect, 'a' + k % 26, sizeof(expect));
			expect[k % 256] = '\0';
			memcpy(expect, "    ", k % 256 < 4 ? (size_t)(k % 256) : 4);
			maker_name(&m, expect);
			if (k % 100 == 0)
				flush_numbers(&m, 3, 0);
		}
		CHECK_OK(ptrc_log_names_write(&m.w));
		struct ptrc_log_stream *l = maker_read(&m);
		for (int round = 0; round < 2; round++) {
			for (trace_event_id_t k = 1; k <= PTRC_SET_ID_MAX; k++)
				CHECK_EQ(next_type(l), k);
			CHECK_EQ(next_type(l), 0);
			ptrc_log_stream_rewind_ids(l);
		}
		for (trace_event_id_t k = 0; k < PTRC_NAMES_MAX; k++) {
			CHECK_OK(ptrc_log_stream_name(l, 10 + k, name));
			CHECK_STR_EQ(name, m.names->entry[k].name);
		}
		CHECK_OK(ptrc_log_stream_name(l, POSIX_TRACE_STOP, name));
		CHECK_STR_EQ(name, "posix_trace_stop");
		CHECK_OK(ptrc_log_stream_name(l, 9, name));
		CHECK_STR_EQ(name, "posix_trace_unnamed_userevent");
		CHECK_EQ(ptrc_log_stream_name(l, 0, name), EINVAL);
		CHECK_EQ(ptrc_log_stream_name(l, PTRC_SET_ID_MAX + 1, name), EINVAL);
		CHECK_EQ(ptrc_log_stream_name(l, UINT32_MAX, name), EINVAL);
		ptrc_log_stream_close(l);
	}
}

TEST(a_log_lacks_names_that_were_given_up, "LOG-36")
{
	for (size_t i = 0; i < 3; i++) {
		static const trace_event_id_t expect[] = {11, 13, 15};
		char name[TRACE_EVENT_NAME_MAX + 1];
		struct maker m = maker_new(log_policies[i], 1200);

		/* The first, one in the middle, and, as the log is closed, all that are new. */
		for (int k = 0; k < 7; k++) {
			snprintf(name, sizeof(name), "name %d", 10 + k);
			maker_name(&m, name);
			if (k != 1 && k != 3 && k != 5)
				m.names->entry[k].state = PTRC_NAMES_GIVEN_UP;
			if (k == 5)
				flush_numbers(&m, 3, 0);
		}
		uint64_t seq = m.w.state.seq;
		CHECK_OK(ptrc_log_names_write(&m.w));
		CHECK_EQ(m.w.state.names, 7);
		CHECK_EQ(m.w.state.seq, seq);
		struct ptrc_log_stream *l = maker_read(&m);
		for (uint32_t k = 1; k < PTRC_ID_FIRST; k++)
			CHECK_EQ(next_type(l), k);
		for (int k = 0; k < 3; k++) {
			CHECK_EQ(next_type(l), expect[k]);
			CHECK_OK(ptrc_log_stream_name(l, expect[k], name));
			CHECK_EQ(atoi(name + 5), (int)expect[k]);
		}
		CHECK_EQ(next_type(l), 0);
		CHECK_EQ(ptrc_log_stream_name(l, 12, name), EINVAL);
		CHECK_EQ(ptrc_log_stream_name(l, 16, name), EINVAL);
		ptrc_log_stream_close(l);
	}
}

TEST(a_keepers_own_events_have_no_type_of_the_program, "")
{
	static const struct ptrc_context origin = {.pid = 1, .tid = 1};
	struct seen s;
	char name[TRACE_EVENT_NAME_MAX + 1];
	int32_t status[2] = {3, 0};

	/* The table of names is gone, as it may be when an orphan is salvaged. */
	struct maker m = maker_new(POSIX_TRACE_APPEND, 0);
	flush_numbers(&m, 1, 0);
	m.w.names = NULL;
	for (int i = 0; i < 2; i++)
		CHECK_OK(ptrc_log_events_write_own(&m.w, MAKER_EPOCH + 1000 + i, &origin,
						   i ? "os.went_on" : "os.command", "i32 a, i32 b",
						   status, sizeof(status)));
	struct ptrc_log_stream *l = maker_read(&m);
	CHECK_SEEN(l, &s, 10);
	CHECK_EQ(ptrc_log_stream_name(l, 10, name), EINVAL);
	for (int i = 0; i < 2; i++) {
		CHECK(next_seen(l, &s));
		CHECK_OK(ptrc_log_stream_name(l, s.info.posix_event_id, name));
		CHECK_STR_EQ(name, i ? "os.went_on" : "os.command");
	}
	CHECK_END(l);
}

TEST(a_creation_beyond_all_times_overflows_nothing, "")
{
	struct ptrc_log_writer again;
	struct maker m = maker_new(POSIX_TRACE_LOOP, 1200);
	m.h->attr.createtime_sec = INT64_MAX;
	/* A keeper died while it overwrote five events, which the state still counts. */
	m.w.state.events = 5;
	ptrc_log_state_save(&m.w);
	CHECK_OK(ptrc_log_writer_init(&again, m.h, m.fd, true));
	CHECK_EQ(again.state.ring.lost_events, 5);
	CHECK_EQ(again.state.ring.lost_first_ns, INT64_MIN);
	ptrc_log_writer_free(&again);
	maker_close(&m);
}

TEST(flags_and_the_highest_identifier_are_apart, "LOG-38")
{
	static const uint32_t flags[] = {0, PTRC_REC_TRUNCATED, PTRC_REC_HIDDEN,
					 PTRC_REC_TRUNCATED | PTRC_REC_HIDDEN};

	for (size_t i = 0; i < 3; i++) {
		struct ptrc_context other = {.pid = 7, .tid = 8, .thread = 9};
		struct seen s;
		struct maker m = maker_new(log_policies[i], 1 << 20);
		struct maker_run r = run_of(1, 1);
		run_start(&r, 1);
		/* The second half has full stamps, too. */
		for (int64_t k = 0; k < 8; k++)
			run_event(&r, 10 + k + (k < 4 ? 0 : INT64_C(5000000000)),
				  PTRC_REC_ID_MASK | flags[k % 4], &k, sizeof(k));
		run_event(&r, INT64_C(6000000000), PTRC_REC_CONTEXT, &other, sizeof(other));
		run_event(&r, INT64_C(7000000000), PTRC_REC_ID_MASK, NULL, 0);
		flush_run(&m, &r);
		struct ptrc_log_stream *l = maker_read(&m);
		CHECK_SEEN(l, &s, POSIX_TRACE_START);
		for (int64_t k = 0; k < 8; k++) {
			if (flags[k % 4] & PTRC_REC_HIDDEN)
				continue;
			CHECK_SEEN(l, &s, PTRC_REC_ID_MASK);
			CHECK_EQ(s.info.posix_truncation_status,
				 flags[k % 4] ? POSIX_TRACE_TRUNCATED_RECORD
					      : POSIX_TRACE_NOT_TRUNCATED);
			CHECK_EQ(seen_ns(&s), 10 + k + (k < 4 ? 0 : INT64_C(5000000000)));
			CHECK_EQ(s.info.posix_pid, 101);
		}
		CHECK_SEEN(l, &s, PTRC_REC_ID_MASK);
		CHECK_EQ(s.info.posix_pid, 7);
		CHECK_END(l);
	}
}

TEST(status_of_a_closed_log, "STATUS-22 STATUS-23 STATUS-24")
{
	for (size_t i = 0; i < 3; i++) {
		struct posix_trace_status_info st, again;
		struct maker m = maker_new(log_policies[i], 1 << 20);
		struct maker_run r = run_of(1, 1);
		run_numbers(&m, &r, 5, 0);
		flush_run(&m, &r);
		m.h->status |= PTRC_ST_FULL | PTRC_ST_EVER_OVERRUN | (uint64_t)ENOSPC << 32;
		m.h->lost_events = 17;
		struct ptrc_log_stream *l = maker_read(&m);
		ptrc_log_stream_status(l, &st);
		CHECK_EQ(st.posix_stream_status, POSIX_TRACE_SUSPENDED);
		CHECK_EQ(st.posix_stream_full_status, POSIX_TRACE_FULL);
		CHECK_EQ(st.posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
		CHECK_EQ(st.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
		CHECK_EQ(st.posix_stream_flush_error, ENOSPC);
		CHECK_EQ(st.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
		CHECK_EQ(st.posix_log_full_status, POSIX_TRACE_NOT_FULL);
		ptrc_log_stream_status(l, &again);
		CHECK_MEM_EQ(&st, &again, sizeof(st));
		struct ptrc_counts counts = read_counts(l);
		CHECK_EQ(counts.pt_lost_events, 17);
		CHECK_EQ(counts.pt_log_lost_events, 0);
		CHECK_EQ(counts.pt_log_events, 5);
		CHECK_EQ(counts.pt_log_bytes, 5 * 16);
		ptrc_log_stream_close(l);
	}
}

/* ---- LOOP ---- */

/* Reads a ring to its end: OVERFLOW and RESUME if it has lost any, then numbers up to the
 * last one without gap. Returns the number of events. */
static size_t check_ring(int fd, uint64_t end, bool has_lost, int64_t first_lost_ns)
{
	struct ptrc_log_stream *l = log_open(fd);
	struct seen s;
	size_t count = 0;

	CHECK(next_seen(l, &s));
	if (has_lost) {
		CHECK_EQ(s.info.posix_event_id, POSIX_TRACE_OVERFLOW);
		CHECK_EQ(seen_ns(&s), first_lost_ns);
		CHECK_EQ(s.info.posix_pid, 0);
		CHECK_EQ(s.len, 0);
		CHECK_SEEN(l, &s, POSIX_TRACE_RESUME);
		int64_t resume = seen_ns(&s);
		CHECK(next_seen(l, &s));
		CHECK_EQ(seen_ns(&s), resume);
	}
	uint64_t next = seen_number(&s);
	if (!has_lost)
		CHECK_EQ(next, 0);
	do {
		CHECK_EQ(seen_number(&s), next);
		next++;
		count++;
	} while (next_seen(l, &s));
	CHECK_EQ(next, end);
	ptrc_log_stream_close(l);
	return count;
}

TEST(ring_keeps_the_newest_within_its_size, "LOG-30 LOG-31 LOG-32 LOG-33 SIZE-20 OPEN-06")
{
	static const size_t limits[] = {1200, 2000, 4096, 65536, 1 << 20};
	static const size_t flush_events[] = {1, 7, 100, 5000};
	static const size_t extras[] = {0, 64, 1000};

	for (size_t a = 0; a < 5; a++)
		for (size_t b = 0; b < 4; b++)
			for (size_t c = 0; c < 3; c++) {
				size_t limit = limits[a], size = 16 + extras[c];
				size_t total = 3 * limit / size + 2, kept, least, slice;

				if (size > limit || total / flush_events[b] > 15000)
					continue;
				NOTE("limit %zu, %zu events of %zu", limit, flush_events[b], size);
				struct maker m = maker_new(POSIX_TRACE_LOOP, limit);
				while (m.next < total) {
					flush_numbers(&m, flush_events[b], extras[c]);
					CHECK_LE(m.h->log_bytes, limit);
					/* 16 KiB for names and clocks. */
					CHECK_LE(size_of(m.fd),
						 limit + limit / 16 + (18 + 16) * 1024);
				}
				kept = check_ring(m.fd, m.next, true, 0);
				CHECK_LE(kept * size, limit);
				/* Whole, but for a slice, an event at least; headers
				 * of tiny flushes cost. */
				slice = limit / 16 < size ? size : limit / 16;
				least = limit - slice - size + 1;
				if (least > limit)
					least = size;
				else if (flush_events[b] * size < 2800)
					least = least * flush_events[b] * size /
						(flush_events[b] * size + 176);
				CHECK_GE(kept * size, least);
				CHECK_EQ(m.h->log_events, kept);
				CHECK_EQ(m.h->log_lost_events, m.next - kept);
				CHECK(m.h->status & PTRC_ST_LOG_FULL);
				CHECK(m.h->status & PTRC_ST_EVER_LOG_OVERRUN);
				maker_close(&m);
				CHECK_EQ(check_ring(m.fd, m.next, true, 0), kept);
				maker_end(&m);
			}
}

TEST(ring_that_never_filled_has_no_gap, "LOG-32 STATUS-19")
{
	struct maker m = maker_new(POSIX_TRACE_LOOP, 16 * 300);
	for (int k = 0; k < 30; k++)
		flush_numbers(&m, 10, 0);
	CHECK_EQ(m.h->log_bytes, 16 * 300);
	CHECK(!(m.h->status & PTRC_ST_LOG_FULL));
	CHECK_EQ(check_ring(m.fd, 300, false, 0), 300);
	flush_numbers(&m, 1, 0);
	CHECK(m.h->status & PTRC_ST_LOG_FULL);
	CHECK_EQ(check_ring(m.fd, 301, true, 0), 291);
}

TEST(one_flush_larger_than_the_ring_keeps_the_newest, "LOG-30 LOG-32")
{
	struct maker_run r[8];

	/* Runs of eight threads that take turns, the chunk of the newest first. */
	struct maker m = maker_new(POSIX_TRACE_LOOP, 65536);
	for (int t = 0; t < 8; t++)
		run_begin(&r[t], t + 1, 1);
	for (uint64_t n = 0; n < 40000; n++)
		run_event(&r[7 - n / 5000], (int64_t)n * 1000, 10, &n, sizeof(n));
	flush_runs(&m, r, 8);
	maker_close(&m);
	size_t kept = check_ring(m.fd, 40000, true, 0);
	CHECK_LE(kept, 65536 / 16);
	CHECK_GE(kept, 65536 / 16 * 7 / 8);
	CHECK_EQ(m.h->log_lost_events + kept, 40000);
}

TEST(a_flush_larger_than_the_ring_that_fails_counts_its_losses_once, "LOG-30 LOG-22")
{
	struct maker m = maker_new(POSIX_TRACE_LOOP, 65536);
	struct maker_run r = run_of(1, 1);
	run_numbers(&m, &r, 40000, 0);
	m.h->fsize_limit = 20000;
	for (int i = 0; i < 3; i++)
		CHECK_EQ(maker_flush(&m, &r, 1), EFBIG);
	m.h->fsize_limit = RLIM_INFINITY;
	flush_run(&m, &r);
	CHECK_EQ(m.h->log_lost_events + m.h->log_events, 40000);
	flush_numbers(&m, 40000, 0);
	CHECK_EQ(m.h->log_lost_events + m.h->log_events, 80000);
}

/* Closes the log of numbers. Each event is in it, counted as lost, or in the last flush and in
 * neither. Those that it has are the newest but those, and nothing is damaged. Returns how many are
 * lost. */
static uint64_t check_account(struct maker *m)
{
	struct ptrc_log_stream *l = maker_read(m);
	uint64_t events = 0, next = 0;
	struct seen s;

	while (next_seen(l, &s)) {
		if (s.info.posix_event_id < PTRC_ID_FIRST && s.info.posix_event_id != 10)
			continue;
		CHECK(events == 0 || seen_number(&s) == next);
		next = seen_number(&s) + 1;
		events++;
	}
	struct ptrc_counts counts = read_counts(l);
	CHECK_EQ(!(m->h->status & PTRC_ST_EVER_LOG_OVERRUN), !counts.pt_log_lost_events);
	CHECK_EQ(next, m->next - m->w.unwritten_events);
	CHECK_EQ(events + counts.pt_log_lost_events, next);
	CHECK_EQ(counts.pt_log_events, events);
	CHECK_EQ(counts.pt_gap_events, 0);
	CHECK_EQ(counts.pt_damaged_parts, 0);
	CHECK_EQ(counts.pt_missing_names, 0);
	ptrc_log_stream_close(l);
	maker_end(m);
	return counts.pt_log_lost_events;
}

/* The number of the last event that a reader of the log sees. */
static uint64_t last_number(int fd)
{
	struct ptrc_log_stream *l = log_open(fd);
	uint64_t number = UINT64_MAX;
	struct seen s;

	while (next_seen(l, &s))
		if (s.info.posix_event_id == 10)
			number = seen_number(&s);
	ptrc_log_stream_close(l);
	return number;
}

/* Only so many more bytes can be written to the ring. */
static void limit_ring(const struct maker *m, uint64_t bytes)
{
	limit_file_size(PTRC_LOG_RING_OFFSET + m->w.state.offset + bytes);
}

/* A ring in its first lap, and in later ones, at whose end the first, a later or no packet of a
 * flush can be written, or a part of it. The flush is undone, as if it were to be repeated, or not.
 */
TEST(a_ring_that_cannot_be_written_has_each_event_or_has_lost_it, "LOG-30 LOG-22")
{
	signal(SIGXFSZ, SIG_IGN);
	for (int i = 0; i < 2 * 2 * 2 * 12 * 16; i++) {
		bool is_partial = i & 1, is_undone = i & 2, is_small = i & 4;
		int before = i / 8 % 12, room = i / 8 / 12;
		uint64_t bytes = (uint64_t)room * 1500 + 100;
		struct maker m = maker_new(POSIX_TRACE_LOOP, 65536);

		for (int k = 0; k < 1 + before; k++)
			flush_numbers(&m, 1300, 0);
		uint64_t had = m.w.state.events, number = m.next;
		struct maker_run r = run_of(1, 1);
		run_numbers(&m, &r, is_small ? 500 : 3000, 0);
		NOTE("%d flushes, room %d, partial %d, undone %d, small %d", before, room,
		     is_partial, is_undone, is_small);
		if (is_partial)
			limit_ring(&m, bytes);
		else
			m.h->fsize_limit = PTRC_LOG_RING_OFFSET + m.w.state.offset + bytes;
		int error = maker_write(&m, &r, 1);
		if (error && is_undone)
			ptrc_log_events_undo(&m.w);
		limit_file_size(RLIM_INFINITY);
		m.h->fsize_limit = RLIM_INFINITY;
		CHECK(!error || error == EFBIG);
		/* The undone flush is not there; what no packet has overwritten still is. */
		if (error && is_undone) {
			CHECK_EQ(last_number(m.fd), number - 1);
			CHECK(before >= 4 || m.w.state.events == had);
		}
		check_account(&m);
		run_free(&r);
	}
}

/* A packet of a type that readers skip. */
static void put_unknown(struct maker *m, size_t bytes)
{
	static uint8_t payload[4096];

	memset(payload, 'x', sizeof(payload));
	CHECK(ptrc_log_aside_put(&m->w, UINT16_MAX, payload, bytes));
}

/* The packet is the last one in the ring, and there is one behind the ring. */
TEST(names_that_were_partly_written_to_a_ring_are_no_damage, "LOG-30")
{
	uint8_t names[1000];

	memset(names, 'x', sizeof(names)); /* unlike the bytes that are not written */
	signal(SIGXFSZ, SIG_IGN);
	for (uint64_t written = 0; written < 1000; written += 40) {
		struct maker m = maker_new(POSIX_TRACE_LOOP, 65536);

		NOTE("%" PRIu64 " bytes written", written);
		flush_numbers(&m, 10, 0);
		put_unknown(&m, 4096);
		limit_ring(&m, written);
		ptrc_log_buffer_clear(&m.w.out);
		CHECK(!ptrc_log_packet_put(&m.w, PTRC_LOG_NAMES, names, sizeof(names)));
		CHECK_EQ(ptrc_log_aside_write(&m.w, true), EFBIG);
		limit_file_size(RLIM_INFINITY);
		CHECK_EQ(check_account(&m), 0);
	}
}

TEST(a_packet_between_two_flushes_that_fail_costs_a_ring_nothing, "LOG-30 LOG-22")
{
	struct maker m = maker_new(POSIX_TRACE_LOOP, 65536);
	struct maker_run r = run_of(1, 1);

	signal(SIGXFSZ, SIG_IGN);
	flush_numbers(&m, 1300, 0);
	uint64_t had = m.w.state.events;
	run_numbers(&m, &r, 500, 0);
	limit_ring(&m, 600);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(maker_flush(&m, &r, 1), EFBIG);
		CHECK_EQ(m.w.state.events, had);
		put_unknown(&m, 100);
	}
	limit_file_size(RLIM_INFINITY);
	check_account(&m);
}

TEST(what_a_killed_keeper_wrote_last_to_a_ring_is_no_damage, "LOG-30 LOG-22")
{
	static const char *const next_writes[] = {"less in its place", "less, behind a full ring",
						  "a name, and events, of which a flush fails"};

	signal(SIGXFSZ, SIG_IGN);
	for (int i = 0; i < 3; i++) {
		struct maker m = maker_new(POSIX_TRACE_LOOP, 65536);
		struct maker_run r = run_of(1, 1);

		NOTE("the next keeper writes %s", next_writes[i]);
		do
			flush_numbers(&m, 1000, 0);
		while (i == 1 && !(m.w.state.flags & PTRC_LOG_STATE_WRAPPED));
		/* The state is not saved after these packets. */
		put_unknown(&m, 1000);
		put_unknown(&m, 100);
		maker_replace(&m);
		if (i < 2) {
			put_unknown(&m, 100);
		} else {
			maker_name(&m, "name");
			run_numbers(&m, &r, 500, 0);
			limit_ring(&m, 600);
			CHECK_EQ(maker_flush(&m, &r, 1), EFBIG);
			limit_file_size(RLIM_INFINITY);
			CHECK_EQ(m.w.state.events, 1000);
			flush_run(&m, &r);
		}
		check_account(&m);
	}
}

TEST(event_too_big_for_the_log_is_lost_alone, "SIZE-22")
{
	for (size_t i = 0; i < 2; i++) {
		char big[1200] = "";
		struct maker m = maker_new(log_policies[i], 1200);
		struct maker_run r = run_of(1, 1);
		run_start(&r, 1);
		run_event(&r, 2, 10, "a", 1);
		run_event(&r, 3, 10, big, sizeof(big));
		run_event(&r, 4, 10, "b", 1);
		run_stop(&r, 5, 0);
		flush_run(&m, &r);
		CHECK_EQ(m.h->log_lost_events, 1);
		CHECK(m.h->status & PTRC_ST_LOG_OVERRUN);
		CHECK(!(m.h->status & PTRC_ST_LOG_FULL));
		maker_close(&m);
		struct ts_events all = ts_log_events(m.fd);
		ts_expect_ids(&all, POSIX_TRACE_START, 10, 10, POSIX_TRACE_STOP, 0);
		CHECK_EQ(all.at[1].data[0], 'a');
		CHECK_EQ(all.at[2].data[0], 'b');
	}
}

TEST(ring_knows_the_filter_at_its_begin, "FILTER-13 SYSEVENT-20")
{
	const trace_event_set_t sets[2] = {ts_set(POSIX_TRACE_OVERFLOW, POSIX_TRACE_RESUME, 11, 0),
					   ts_set(0)};
	struct seen s;
	size_t count = 0;

	/* The START that filters OVERFLOW, RESUME and 11 is overwritten, yet holds. */
	struct maker m = maker_new(POSIX_TRACE_LOOP, 8192);
	struct maker_run r = run_of(1, 1);
	run_event(&r, 0, POSIX_TRACE_START, &sets[0], sizeof(sets[0]));
	for (int64_t n = 1; n < 2000; n++)
		run_event(&r, n, n % 2 ? 10 : 11, NULL, 0);
	run_event(&r, 2000, POSIX_TRACE_FILTER | PTRC_REC_HIDDEN, sets, sizeof(sets));
	run_event(&r, 2001, 11, NULL, 0);
	flush_run(&m, &r);
	struct ptrc_log_stream *l = log_open(m.fd);
	while (next_seen(l, &s)) {
		CHECK_EQ(s.info.posix_event_id, seen_ns(&s) == 2001 ? 11 : 10);
		count++;
	}
	CHECK_GT(count, 100);
	CHECK_EQ(seen_ns(&s), 2001);
	ptrc_log_stream_close(l);
}

TEST(events_older_than_what_a_ring_has_overwritten_are_counted, "LOG-32")
{
	struct seen s;
	struct maker m = maker_new(POSIX_TRACE_LOOP, 8192);
	struct maker_run r = run_of(1, 1);
	size_t count = 0;

	for (int64_t n = 0; n < 2000; n++)
		run_event(&r, n, 10, NULL, 0);
	flush_run(&m, &r);
	run_begin(&r, 2, 2);
	for (int64_t n = 0; n < 3; n++)
		run_event(&r, n, 10, NULL, 0);
	run_event(&r, 2000, 10, NULL, 0);
	flush_run(&m, &r);
	struct ptrc_log_stream *l = maker_read(&m);
	while (next_seen(l, &s))
		count += s.info.posix_event_id == 10;
	struct ptrc_counts counts = read_counts(l);
	CHECK_EQ(counts.pt_ring_gap_events, 3);
	CHECK_EQ(counts.pt_gap_events, 3);
	CHECK_EQ(count + 3, counts.pt_log_events);
	CHECK_EQ(count + 3 + counts.pt_log_lost_events, 2004);
	ptrc_log_stream_close(l);
	maker_end(&m);
}

TEST(events_that_are_not_reported_are_counted, "FILTER-13")
{
	const trace_event_set_t sets[2] = {ts_set(0), ts_set(10, 0)};
	struct seen s;

	/* A flush, then losses among what it has written, then a filter that the writer of
	 * the next event had not seen yet. */
	struct maker m = maker_new(POSIX_TRACE_APPEND, 0);
	struct maker_run r = run_of(1, 1);
	run_start(&r, 0);
	for (int64_t n = 1; n < 10; n++)
		run_event(&r, n, 10, NULL, 0);
	flush_run(&m, &r);
	run_begin(&r, 1, 1);
	run_event(&r, 6, POSIX_TRACE_OVERFLOW, NULL, 0);
	run_event(&r, 20, POSIX_TRACE_RESUME, NULL, 0);
	run_event(&r, 20, 10, NULL, 0);
	run_event(&r, 21, POSIX_TRACE_FILTER | PTRC_REC_HIDDEN, sets, sizeof(sets));
	run_event(&r, 22, 10, NULL, 0);
	run_event(&r, 23, 10, NULL, 0);
	run_event(&r, 24, 11, NULL, 0);
	flush_run(&m, &r);
	struct ptrc_log_stream *l = maker_read(&m);
	for (int round = 0; round < 2; round++) {
		size_t count = 0;

		CHECK_EQ(read_counts(l).pt_gap_events, 0);
		CHECK_EQ(read_counts(l).pt_filtered_events, 0);
		while (next_seen(l, &s))
			count++;
		struct ptrc_counts counts = read_counts(l);
		CHECK_EQ(counts.pt_gap_events, 3);
		CHECK_EQ(counts.pt_ring_gap_events, 0);
		CHECK_EQ(counts.pt_filtered_events, 2);
		CHECK_EQ(count + 5, counts.pt_log_events);
		ptrc_log_stream_rewind(l);
	}
	ptrc_log_stream_close(l);
}

/* ---- UNTIL_FULL ---- */

TEST(until_full_ends_with_stop,
     "LOG-27 LOG-28 SIZE-20 STATUS-18 STATUS-19 SYSEVENT-02 SYSEVENT-22 SYSEVENT-24")
{
	/* Two threads and all limits, so that the cut falls everywhere. */
	for (size_t limit = 1100; limit < 1800; limit += 3) {
		struct maker_run r[2];
		struct seen s;
		uint64_t next = 0;
		int reason;
		struct maker m = maker_new(POSIX_TRACE_UNTIL_FULL, limit);
		run_begin(&r[0], 1, 1);
		run_begin(&r[1], 2, 1);
		run_start(&r[1], 0);
		for (uint64_t n = 0; n < 100; n++)
			run_event(&r[n % 3 == 0], 1000 + (int64_t)n, 10, &n, sizeof(n));
		CHECK_OK(maker_flush(&m, r, 2));
		CHECK(ptrc_log_is_full(&m.w));
		CHECK_LE(m.h->log_bytes, limit);
		CHECK(m.h->status & PTRC_ST_LOG_OVERRUN);
		/* Nothing more gets in. */
		flush_runs(&m, r, 2);
		struct ptrc_log_stream *l = maker_read(&m);
		CHECK_SEEN(l, &s, POSIX_TRACE_START);
		while (next_seen(l, &s) && s.info.posix_event_id == 10) {
			CHECK_EQ(seen_number(&s), next);
			next++;
		}
		CHECK_EQ(next, (limit - 12 - 8 - sizeof(trace_event_set_t)) / 16);
		CHECK_EQ(s.info.posix_event_id, POSIX_TRACE_STOP);
		CHECK_EQ(s.len, sizeof(int));
		memcpy(&reason, s.data, sizeof(reason));
		CHECK_EQ(reason, 2);
		CHECK_EQ(s.info.posix_pid, 0);
		CHECK(!s.info.posix_prog_address);
		CHECK(!next_seen(l, &s));
		CHECK_EQ(m.h->log_events, next + 2);
		CHECK_EQ(m.h->log_lost_events, 100 - next + 101);
		ptrc_log_stream_close(l);
		maker_end(&m);
	}
}

TEST(until_full_log_that_is_just_large_enough, "LOG-28")
{
	/* START, two events and the explicit STOP, which may take the reserved place. */
	struct maker m =
		maker_new(POSIX_TRACE_UNTIL_FULL, 8 + sizeof(trace_event_set_t) + 2 * 16 + 12);
	struct maker_run r = run_of(1, 1);
	run_start(&r, 0);
	run_numbers(&m, &r, 2, 0);
	run_stop(&r, 5000, 0);
	flush_run(&m, &r);
	CHECK(!ptrc_log_is_full(&m.w));
	run_begin(&r, 1, 1);
	run_start(&r, 6000);
	flush_run(&m, &r);
	CHECK(ptrc_log_is_full(&m.w));
	maker_close(&m);
	struct ts_events all = ts_log_events(m.fd);
	ts_expect_ids(&all, POSIX_TRACE_START, 10, 10, POSIX_TRACE_STOP, 0);
	CHECK_EQ(ts_stop_reason(&all.at[3]), 0);
}

TEST(markers_wait_behind_the_last_stop, "LOG-28 SYSEVENT-23 SYSEVENT-24")
{
	struct maker_run r, k;
	struct maker m = maker_new(POSIX_TRACE_UNTIL_FULL, 4096);
	run_begin(&r, 1, 1);
	run_start(&r, 0);
	run_event(&r, 1, 10, NULL, 0);
	run_stop(&r, 2, 0);
	run_begin(&k, 0, 1);
	run_event(&k, 3, POSIX_TRACE_FLUSH_START, NULL, 0);
	flush_runs(&m, (struct maker_run[]){k, r}, 2);
	run_begin(&k, 0, 1);
	run_event(&k, 4, POSIX_TRACE_FLUSH_STOP, NULL, 0);
	run_event(&k, 5, POSIX_TRACE_FLUSH_START, NULL, 0);
	flush_run(&m, &k);
	struct ts_events all = ts_log_events(m.fd);
	ts_expect_ids(&all, POSIX_TRACE_START, 10, POSIX_TRACE_STOP, 0);

	run_begin(&r, 1, 1);
	run_start(&r, 6);
	run_event(&r, 7, 10, NULL, 0);
	run_stop(&r, 8, 0);
	flush_run(&m, &r);
	all = ts_log_events(m.fd);
	ts_expect_ids(&all, POSIX_TRACE_START, 10, POSIX_TRACE_STOP, POSIX_TRACE_FLUSH_START,
		      POSIX_TRACE_FLUSH_STOP, POSIX_TRACE_FLUSH_START, POSIX_TRACE_START, 10,
		      POSIX_TRACE_STOP, 0);
}

/* ---- failures, restarts ---- */

/* Reads numbers 0 to end - 1. */
static void check_numbers(int fd, uint64_t end)
{
	struct ptrc_log_stream *l = log_open(fd);
	struct seen s;

	for (uint64_t n = 0; n < end; n++) {
		CHECK(next_seen(l, &s));
		CHECK_EQ(seen_number(&s), n);
	}
	CHECK_END(l);
}

TEST(a_packet_without_memory_is_none, "", NEEDS_ADDRESS_LIMIT)
{
	static uint8_t payload[1 << 20];
	struct ptrc_log_writer *w = calloc(1, sizeof(*w));
	struct rlimit limit;

	CHECK(w);
	CHECK_SYS(getrlimit(RLIMIT_AS, &limit));
	CHECK_SYS(setrlimit(RLIMIT_AS, &(struct rlimit){sizeof(payload), limit.rlim_max}));
	int error = ptrc_log_packet_put(w, PTRC_LOG_CLOCK, payload, sizeof(payload));
	CHECK_SYS(setrlimit(RLIMIT_AS, &limit));
	CHECK_EQ(error, ENOMEM);
}

TEST(another_writer_goes_on, "LOG-39")
{
	for (size_t i = 0; i < 3; i++)
		for (int laps = 0; laps < 2; laps++) {
			size_t limit = laps ? 20000 : 1 << 20;

			NOTE("%s, %zu", policy_names[log_policies[i]], limit);
			struct maker m = maker_new(log_policies[i], limit);
			maker_name(&m, "ten");
			for (int round = 0; round < 20; round++) {
				flush_numbers(&m, 77, 0);
				/* It dies in the middle of a packet. */
				if (log_policies[i] != POSIX_TRACE_LOOP)
					CHECK_EQ(pwrite(m.fd, "PTPK, torn", 10,
							(off_t)size_of(m.fd)),
						 10);
				maker_replace(&m);
			}
			maker_close(&m);
			if (log_policies[i] == POSIX_TRACE_LOOP && laps)
				CHECK_GT(check_ring(m.fd, m.next, true, 0), 500);
			else if (log_policies[i] != POSIX_TRACE_UNTIL_FULL || !laps)
				check_numbers(m.fd, m.next);
		}
}

TEST(through_a_pipe, "LOG-35 CLEAR-12")
{
	trace_event_set_t set;
	struct maker m;
	int fds[2], fd = maker_file();
	struct drain drain = {0};

	open_pipe(fds, 0);
	drain_start(&drain, fds[0], fd);
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	maker_open(&m, fds[1], POSIX_TRACE_APPEND, 0);
	posix_trace_eventset_fill(&set, POSIX_TRACE_ALL_EVENTS);
	struct maker_run r = run_of(1, 1);
	run_event(&r, -10, POSIX_TRACE_START | PTRC_REC_HIDDEN, &set, sizeof(set));
	flush_run(&m, &r);
	/* The filter that is in force no more must not swallow what comes. */
	CHECK_OK(ptrc_log_writer_clear(&m.w, MAKER_EPOCH - 5));
	for (int k = 0; k < 100; k++)
		flush_numbers(&m, 500, 0);
	maker_close(&m);
	close(fds[1]);
	ts_join(drain.thread);
	check_numbers(fd, m.next);
	/* Nor may it swallow what a reader finds after packets that it skips. */
	struct timespec from = {.tv_sec = MAKER_EPOCH / 1000000000, .tv_nsec = 40000000};
	struct posixtrace_span span = {.pt_first = from, .pt_last = {.tv_sec = INT32_MAX}};
	struct ptrc_log_stream *l = log_open(fd);
	struct seen s;
	CHECK_OK(ptrc_log_stream_select(l, &span, 1, NULL, NULL));
	for (uint64_t k = 40000; k < m.next; k++) {
		CHECK(next_seen(l, &s));
		CHECK_EQ(seen_number(&s), k);
	}
	ptrc_log_stream_close(l);
}

TEST(files_and_policies_that_suit, "LOG-03 LOG-04 LOG-05 LOG-06 LOG-07 LOG-11")
{
	int fds[2], fd = maker_file(), dir = CHECK_SYS(open("/", O_RDONLY));
	int read_only = CHECK_SYS(open("/dev/null", O_RDONLY));
	int null = CHECK_SYS(open("/dev/null", O_WRONLY));
	int path = CHECK_SYS(open("/dev/null", O_PATH));
	int block_device = open("/dev/loop0", O_WRONLY);

	CHECK_SYS(pipe(fds));
	for (size_t i = 0; i < 3; i++) {
		int bad = log_policies[i] == POSIX_TRACE_APPEND ? 0 : EINVAL;

		CHECK_EQ(ptrc_log_check(fd, log_policies[i]), 0);
		CHECK_EQ(ptrc_log_check(fds[1], log_policies[i]), bad);
		CHECK_EQ(ptrc_log_check(null, log_policies[i]), bad);
		if (block_device >= 0)
			CHECK_EQ(ptrc_log_check(block_device, log_policies[i]), EINVAL);
		CHECK_EQ(ptrc_log_check(fds[0], log_policies[i]), EBADF);
		CHECK_EQ(ptrc_log_check(read_only, log_policies[i]), EBADF);
		CHECK_EQ(ptrc_log_check(path, log_policies[i]), EBADF);
		CHECK_EQ(ptrc_log_check(dir, log_policies[i]), EBADF);
		CHECK_EQ(ptrc_log_check(-1, log_policies[i]), EBADF);
		CHECK_EQ(ptrc_log_check(999, log_policies[i]), EBADF);
	}
}
