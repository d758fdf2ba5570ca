/* SPDX-License-Identifier: MIT */
/*
 * Logs of several hosts: what they tell of their clocks (src/query/hosts.c), and the messages between them
 * (src/sync). The first byte of an input says how many logs there are, and which of them are of one host. Then
 * come events and readings of clocks, each behind a byte that says what it is, and of which log: of an event its
 * time and a byte that tells the message, of a reading time, realtime, boottime, window, error and status.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "include/posixtrace-private.h"
#include "lib/log/log_copy.h"
#include "lib/log/log_layout.h"
#include "src/sync/sync.h"
#include "src/query/hosts.h"
#include "src/fields/when.h"
#include "tests/fuzz/fuzz.h"

enum { LOGS = 3, EVENTS_MAX = 100, CLOCKS_MAX = 20 };

struct message {
	int64_t ns;
	uint8_t key;
	bool is_received;
};

struct made {
	struct message events[EVENTS_MAX];
	size_t event_count;
	struct ptrc_log_clock clocks[CLOCKS_MAX];
	uint32_t clock_count;
};

struct input {
	const uint8_t *data;
	size_t size;
};

static int files[LOGS] = {-1, -1, -1};

/* Takes so many bytes from the input; those that are missing are zero. */
static void take(struct input *in, void *to, size_t size)
{
	size_t there = in->size < size ? in->size : size;

	memset(to, 0, size);
	if (there)
		memcpy(to, in->data, there);
	in->data += there;
	in->size -= there;
}

static int64_t take_ns(struct input *in)
{
	int64_t ns;

	take(in, &ns, sizeof(ns));
	return ns;
}

static void read_input(struct input *in, struct made *logs, size_t count)
{
	while (in->size) {
		struct made *m;
		uint8_t kind, byte;

		take(in, &kind, 1);
		m = &logs[kind / 4 % count];
		if (kind % 2 && m->clock_count < CLOCKS_MAX) {
			struct ptrc_log_clock *c = &m->clocks[m->clock_count++];

			*c = (struct ptrc_log_clock){.event_ns = take_ns(in)};
			c->realtime_ns = take_ns(in);
			c->boottime_ns = take_ns(in);
			c->window_ns = take_ns(in);
			c->max_error_ns = take_ns(in);
			take(in, &byte, 1);
			c->status = byte == 255 ? -1 : byte;
		} else if (m->event_count < EVENTS_MAX) {
			struct message *e = &m->events[m->event_count++];

			e->ns = take_ns(in);
			e->is_received = kind & 2;
			take(in, &e->key, 1);
		}
	}
}

static int by_time(const void *one, const void *other)
{
	const struct message *a = one, *b = other;

	return (a->ns > b->ns) - (a->ns < b->ns);
}

/* Writes the log, which is of the host with this letter. */
static void write_log(int fd, struct made *m, char host)
{
	struct ptrc_counts lost = {0};
	struct ptrc_log_whose whose = {.clocks = m->clocks, .clock_count = m->clock_count};
	struct posixtrace_log_writer *log;
	trace_event_id_t types[2];
	struct {
		struct ptrc_log_host head;
		char texts[8];
	} about = {.head = {.bytes = {1, 1, 1}}, .texts = {host, host, host}};

	FUZZ_CHECK(!ftruncate(fd, 0));
	lseek(fd, 0, SEEK_SET);
	whose.host = (uint8_t *)&about;
	whose.host_bytes = sizeof(about.head) + 3;
	FUZZ_CHECK(!posixtrace_log_writer_open(fd, NULL, NULL, &log));
	FUZZ_CHECK(!posixtrace_log_writer_type(log, "send", NULL, &types[0]));
	FUZZ_CHECK(!posixtrace_log_writer_type(log, "receive", NULL, &types[1]));
	qsort(m->events, m->event_count, sizeof(m->events[0]), by_time);
	for (size_t i = 0; i < m->event_count; i++) {
		struct posixtrace_event e = {.pt_data = ""};

		e.pt_info.posix_timestamp = ptrc_when_timespec(m->events[i].ns);
		e.pt_info.posix_pid = m->events[i].key;
		e.pt_info.posix_event_id = types[m->events[i].is_received];
		/* A log has no times before 1970. */
		FUZZ_CHECK(!posixtrace_log_writer_add(log, &e) || m->events[i].ns < 0);
	}
	FUZZ_CHECK(!ptrc_log_copy_add_whose(log, &whose));
	FUZZ_CHECK(!ptrc_log_copy_close(log, &lost));
}

/* Times stay in order, and a time can be found again; bounds are bounds. */
static void check_times(const struct ptrc_correction *c, const struct made *m)
{
	int64_t last = INT64_MIN;

	for (size_t i = 0; i < m->event_count; i++) {
		int64_t ns = m->events[i].ns, is = ptrc_correction_time(c, ns);

		FUZZ_CHECK(is >= last);
		last = is;
		FUZZ_CHECK(ptrc_correction_bound(c, ns) >= 0);
		/* The ends of time are before and behind all events. */
		if (is == INT64_MIN || is == INT64_MAX)
			continue;
		FUZZ_CHECK(ptrc_correction_first(c, is) <= ns);
		FUZZ_CHECK(ptrc_correction_last(c, is) >= ns);
	}
}

static void check_hosts(const struct ptrc_hosts *h, const struct made *logs, size_t count)
{
	struct ptrc_buffer out = PTRC_BUFFER_INIT;
	struct ptrc_json j = {&out, false};

	for (size_t i = 0; i < count; i++)
		check_times(&h->corrections[i], &logs[i]);
	ptrc_hosts_json(h, &j);
	ptrc_buffer_char(&out, '\0');
	FUZZ_CHECK(!strstr(out.bytes, "nan") && !strstr(out.bytes, "inf"));
	ptrc_buffer_free(&out);
}

static void run(void *argument)
{
	static struct ptrc_source sources[LOGS];
	static struct made logs[LOGS];
	static char paths[LOGS][40];
	struct ptrc_reader *reader_list[LOGS];
	const char *texts[] = {"send..receive by pid"};
	struct ptrc_cli_texts messages = {.texts = texts, .count = 1};
	struct ptrc_query query = {.sources = sources};
	struct ptrc_sync sync = {0};
	struct input *in = argument;
	uint8_t head;
	size_t count;

	memset(logs, 0, sizeof(logs));
	take(in, &head, 1);
	count = 1 + head % LOGS;
	read_input(in, logs, count);
	for (size_t i = 0; i < count; i++) {
		write_log(files[i], &logs[i], head & 16U << i ? 'a' : (char)('b' + (int)i));
		snprintf(paths[i], sizeof(paths[i]), "/proc/self/fd/%d", files[i]);
		FUZZ_CHECK(ptrc_reader_open(&sources[i].reader, paths[i]));
		ptrc_reader_load_names(&sources[i].reader);
		sources[i].view = (struct ptrc_view){.reader = &sources[i].reader};
		reader_list[i] = &sources[i].reader;
	}
	query.source_count = count;
	ptrc_hosts_begin(&query.hosts, reader_list, count, head & 4);
	check_hosts(&query.hosts, logs, count);
	ptrc_sync_read(&sync, &messages, &query.layouts);
	if (ptrc_sync_hosts(&sync, &query)) {
		ptrc_sync_report(&sync);
		check_hosts(&query.hosts, logs, count);
	}
	ptrc_sync_free(&sync);
	ptrc_hosts_free(&query.hosts);
	for (size_t i = 0; i < count; i++) {
		ptrc_view_free(&sources[i].view);
		ptrc_reader_close(&sources[i].reader);
		memset(&sources[i], 0, sizeof(sources[i]));
	}
	ptrc_layouts_free(&query.layouts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_outcome outcome;
	struct input in = {data, size};

	for (size_t i = 0; i < LOGS; i++) {
		if (files[i] < 0)
			files[i] = memfd_create("log", MFD_CLOEXEC);
		FUZZ_CHECK(files[i] >= 0);
	}
	fuzz_guard(run, &in, false, &outcome);
	FUZZ_CHECK(!outcome.has_exited);
	return 0;
}
