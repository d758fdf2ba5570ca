/* SPDX-License-Identifier: MIT */
/*
 * A log, as ptrace-dump and ptrace-stat read it. Most mutations keep to the packets of a log and
 * mend their lengths, identifiers and checksums, so that what is behind these checks is reached.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/crc32c.h"
#include "lib/log/log_layout.h"
#include "src/summary/stat.h"
#include "src/text/columns.h"
#include "src/text/event_format.h"
#include "tests/fuzz/fuzz.h"

/* Showing an event takes far longer than reading it. */
enum { SHOWN_MAX = 200 };

static int file = -1;

static void show_events(struct ptrc_reader *r, enum ptrc_format format, bool has_log)
{
	struct ptrc_event_format f = {
		.format = format, .widths[PTRC_COLUMN_EVENT] = 20, .has_log = has_log};
	static struct ptrc_view view;
	struct ptrc_columns columns = {0};
	struct ptrc_layouts layouts = {0};
	struct ptrc_buffer out = PTRC_BUFFER_INIT;
	struct ptrc_cli_reason why;
	struct ptrc_losses losses;

	memset(&view, 0, sizeof(view));
	view.reader = r;
	ptrc_layouts_add(&layouts, "*", "u32 a, i16 b, str c", &why);
	while (ptrc_reader_next(r)) {
		if (r->read_count > SHOWN_MAX)
			continue;
		FUZZ_CHECK(r->event.posix_timestamp.tv_nsec >= 0);
		FUZZ_CHECK(r->event.posix_timestamp.tv_nsec < 1000000000);
		ptrc_view_find_layout(&view, &layouts);
		if (format == PTRC_FORMAT_COLUMNS) {
			ptrc_columns_put(&columns, &out, &f, &view);
			continue;
		}
		ptrc_event_put(&out, &f, &view);
		FUZZ_CHECK(out.used && out.bytes[out.used - 1] == '\n');
		FUZZ_CHECK(!memchr(out.bytes, '\n', out.used - 1));
		out.used = 0;
	}
	ptrc_columns_flush(&columns, &out);
	FUZZ_CHECK(!out.used || *out.bytes == '{');
	ptrc_columns_free(&columns);
	ptrc_reader_losses(r, true, &losses);
	ptrc_losses_is_any(&losses);
	ptrc_view_free(&view);
	ptrc_buffer_free(&out);
	ptrc_event_format_free(&f);
	ptrc_layouts_free(&layouts);
	/* The next format comes with layouts and labels of its own. */
	ptrc_reader_free_types(r);
	ptrc_reader_own_types(r);
}

static void show_summary(struct ptrc_reader *r)
{
	struct ptrc_buffer out = PTRC_BUFFER_INIT;
	struct ptrc_stat stat;

	ptrc_stat_from_log(&stat, r);
	ptrc_stat_put_text(&out, &stat, false);
	ptrc_stat_put_json(&out, &stat);
	ptrc_event_types_free(&stat.types);
	ptrc_buffer_free(&out);
}

static void read_log(void *path)
{
	static struct ptrc_reader r;

	if (!ptrc_reader_open(&r, path))
		return;
	ptrc_reader_load_names(&r);
	show_events(&r, PTRC_FORMAT_TEXT, true);
	FUZZ_CHECK(!ptrc_reader_rewind(&r));
	show_events(&r, PTRC_FORMAT_JSON, false);
	FUZZ_CHECK(!ptrc_reader_rewind(&r));
	show_events(&r, PTRC_FORMAT_COLUMNS, true);
	FUZZ_CHECK(!ptrc_reader_rewind(&r));
	show_summary(&r);
	ptrc_reader_close(&r);
}

/* Reads all events of the log, and returns a sum of them. */
static uint32_t sum_of_events(trace_id_t log)
{
	static unsigned char bytes[1024];
	struct posix_trace_event_info info;
	int unavailable = 0;
	uint32_t crc = 0;
	size_t size;

	while (!posix_trace_getnext_event(log, &info, bytes, sizeof(bytes), &size, &unavailable) &&
	       !unavailable) {
		crc = ptrc_crc32c(crc, &info.posix_event_id, sizeof(info.posix_event_id));
		crc = ptrc_crc32c(crc, &info.posix_timestamp, sizeof(info.posix_timestamp));
		crc = ptrc_crc32c(crc, bytes, size);
	}
	return crc;
}

/* Where a packet may begin, from a place on. */
static size_t find_packet(const uint8_t *data, size_t size, size_t at)
{
	const uint32_t magic = PTRC_LOG_PACKET_MAGIC;

	while (at + sizeof(magic) <= size && memcmp(data + at, &magic, sizeof(magic)))
		at++;
	return at + sizeof(magic) <= size ? at : size;
}

/* A log that has grown says what it says if it is opened now. */
static void read_grown_log(const char *path, const uint8_t *data, size_t size)
{
	size_t from = sizeof(struct ptrc_log_prefix), to;
	trace_id_t grown, opened;

	if (size <= from)
		return;
	from = find_packet(data, size,
			   from + (data[from - 1] + 256U * data[size - 1]) % (size - from));
	/* Most inputs have an end, behind which a log does not grow. */
	to = find_packet(data, size, from + (size - from) / 2);
	FUZZ_CHECK(!ftruncate(file, (off_t)from));
	if (posixtrace_log_open(path, &grown))
		return;
	sum_of_events(grown);
	FUZZ_CHECK(pwrite(file, data, to, 0) == (ssize_t)to);
	if (!ptrc_log_refresh(grown, 0)) {
		FUZZ_CHECK(!posixtrace_log_open(path, &opened));
		FUZZ_CHECK(sum_of_events(grown) == sum_of_events(opened));
		FUZZ_CHECK(!posix_trace_close(opened));
	}
	FUZZ_CHECK(!posix_trace_close(grown));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_outcome outcome;
	char path[40];

	if (file < 0)
		file = memfd_create("log", MFD_CLOEXEC);
	FUZZ_CHECK(file >= 0);
	FUZZ_CHECK(!ftruncate(file, 0));
	FUZZ_CHECK(pwrite(file, data, size, 0) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	fuzz_guard(read_log, path, false, &outcome);
	FUZZ_CHECK(!outcome.has_exited);
	read_grown_log(path, data, size);
	return 0;
}

#ifdef PTRC_LIBFUZZER

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed);

enum { PACKETS_MAX = 256 };

/* Where the packets of an input are. */
struct packets {
	size_t at[PACKETS_MAX];
	size_t count;
};

static struct ptrc_log_packet head_of(const uint8_t *data, size_t at)
{
	struct ptrc_log_packet p;

	memcpy(&p, data + at, sizeof(p));
	return p;
}

static bool is_packet(const uint8_t *data, size_t size, size_t at)
{
	return size - at >= sizeof(struct ptrc_log_packet) &&
	       head_of(data, at).magic == PTRC_LOG_PACKET_MAGIC;
}

/* The payload and its padding, as far as they are there. */
static size_t rest_of(const uint8_t *data, size_t size, size_t at)
{
	size_t rest = size - at - sizeof(struct ptrc_log_packet);
	uint64_t length = head_of(data, at).length;

	return length < rest ? ptrc_align8(length) < rest ? ptrc_align8(length) : rest : rest;
}

static void find_packets(const uint8_t *data, size_t size, struct packets *p)
{
	size_t at = sizeof(struct ptrc_log_prefix);

	p->count = 0;
	while (at < size && p->count < PACKETS_MAX) {
		if (is_packet(data, size, at)) {
			p->at[p->count++] = at;
			at += sizeof(struct ptrc_log_packet) + rest_of(data, size, at);
		} else {
			at++;
		}
	}
}

/* Makes lengths, identifiers and checksums of all packets right. */
static void mend(uint8_t *data, size_t size)
{
	static const struct ptrc_log_prefix prefix = {
		.signature = PTRC_LOG_SIGNATURE,
		.byte_order = PTRC_LOG_BYTE_ORDER,
		.version = PTRC_LOG_VERSION,
		.word_size = PTRC_LOG_WORD_SIZE,
		.machine = PTRC_LOG_MACHINE,
	};
	uint64_t log_id = 0;
	struct packets p;

	if (size < sizeof(prefix))
		return;
	memcpy(data, &prefix, sizeof(prefix));
	find_packets(data, size, &p);
	for (size_t i = 0; i < p.count; i++) {
		struct ptrc_log_packet head = head_of(data, p.at[i]);
		size_t rest = size - p.at[i] - sizeof(head);

		if (head.length > rest)
			head.length = rest;
		if (!log_id)
			log_id = head.log_id ? head.log_id : 1;
		head.log_id = log_id;
		if (head.sums_bytes > head.length)
			head.sums_bytes = (uint32_t)head.length;
		head.payload_crc = ptrc_crc32c(0, data + p.at[i] + sizeof(head), head.length);
		head.sums_crc = ptrc_crc32c(0, data + p.at[i] + sizeof(head), head.sums_bytes);
		head.header_crc =
			ptrc_crc32c(0, &head, offsetof(struct ptrc_log_packet, header_crc));
		memcpy(data + p.at[i], &head, sizeof(head));
	}
}

/* Puts so many bytes in the place of those from `at` on. Returns the new size. */
static size_t replace(uint8_t *data, size_t size, size_t size_max, size_t at, size_t old,
		      const uint8_t *bytes, size_t count)
{
	if (size - old + count > size_max)
		return size;
	memmove(data + at + count, data + at + old, size - at - old);
	memcpy(data + at, bytes, count);
	return size - old + count;
}

/* Mutates the payload of one packet, which may get longer or shorter. */
static size_t mutate_payload(uint8_t *data, size_t size, size_t size_max, size_t at)
{
	static uint8_t payload[1 << 20];
	struct ptrc_log_packet head = head_of(data, at);
	size_t old = rest_of(data, size, at), length = head.length < old ? head.length : old;
	size_t from = at + sizeof(head), room = size_max - size + old, padded;

	if (room > sizeof(payload) - 8)
		room = sizeof(payload) - 8;
	if (length > room)
		return size;
	memcpy(payload, data + from, length);
	length = LLVMFuzzerMutate(payload, length, room);
	memset(payload + length, 0, 8);
	padded = ptrc_align8(length);
	if (size - old + padded > size_max)
		return size;
	size = replace(data, size, size_max, from, old, payload, padded);
	head.length = length;
	memcpy(data + at, &head, sizeof(head));
	return size;
}

/* Writes one packet once more, behind another. */
static size_t copy_packet(uint8_t *data, size_t size, size_t size_max, size_t from, size_t to)
{
	static uint8_t packet[1 << 20];
	size_t bytes = sizeof(struct ptrc_log_packet) + rest_of(data, size, from);

	if (bytes > sizeof(packet))
		return size;
	memcpy(packet, data + from, bytes);
	to += sizeof(struct ptrc_log_packet) + rest_of(data, size, to);
	return replace(data, size, size_max, to, 0, packet, bytes);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed)
{
	unsigned int choice = seed % 16, which = seed / 16, other = seed / 4096;
	struct packets p = {.count = 0};
	size_t at;

	if (size > sizeof(struct ptrc_log_prefix))
		find_packets(data, size, &p);
	if (!p.count || choice == 0)
		return LLVMFuzzerMutate(data, size, size_max);
	at = p.at[which % p.count];
	if (choice <= 8) {
		size = mutate_payload(data, size, size_max, at);
	} else if (choice <= 11) {
		/* The header, but not its magic: it stays a packet. */
		LLVMFuzzerMutate(data + at + 4, sizeof(struct ptrc_log_packet) - 8,
				 sizeof(struct ptrc_log_packet) - 8);
	} else if (choice == 12) {
		size = copy_packet(data, size, size_max, at, p.at[other % p.count]);
	} else if (choice == 13) {
		size_t bytes = sizeof(struct ptrc_log_packet) + rest_of(data, size, at);

		size = replace(data, size, size_max, at, bytes, data, 0);
	} else {
		size = LLVMFuzzerMutate(data, size, size_max);
	}
	mend(data, size);
	return size;
}

#endif
