/* SPDX-License-Identifier: MIT */
/* The fields of the data of events, by the layouts that a log has. */
#include "tests/support/harness.h"
#include "tests/support/support.h"

#include <inttypes.h>
#include <math.h>
#include <posixtrace-log.h>
#include <stdio.h>

/* An open log with one event, whose type has this layout (null: none). */
static trace_id_t log_of(const char *layout, const void *data, size_t size)
{
	struct posixtrace_event e = {.pt_data = data, .pt_size = size};
	struct posixtrace_log_writer *log;
	int fd = ts_temp_file();

	e.pt_info.posix_timestamp.tv_sec = 1700000000;
	CHECK_OK(posixtrace_log_writer_open(fd, NULL, NULL, &log));
	CHECK_OK(posixtrace_log_writer_type(log, "event", layout, &e.pt_info.posix_event_id));
	CHECK_OK(posixtrace_log_writer_add(log, &e));
	CHECK_OK(posixtrace_log_writer_close(log, NULL, 0));
	return ts_open_log(fd);
}

/* Puts the field as text, as an analyzer would show it. */
static size_t put(char *to, size_t room, const struct posixtrace_field *f)
{
	size_t n = (size_t)snprintf(to, room, "%s", f->pt_name);

	if (f->pt_count)
		n += (size_t)snprintf(to + n, room - n, "[%lu/%lu]", f->pt_index, f->pt_count);
	n += (size_t)snprintf(to + n, room - n, "=");
	if (f->pt_member)
		return n + (size_t)snprintf(to + n, room - n, "%s ", f->pt_member);
	switch (f->pt_kind) {
	case POSIXTRACE_FIELD_SIGNED:
		n += (size_t)snprintf(to + n, room - n, "%" PRId64, f->pt_signed);
		break;
	case POSIXTRACE_FIELD_FLOAT:
		n += (size_t)snprintf(to + n, room - n, "%g", f->pt_float);
		break;
	case POSIXTRACE_FIELD_TEXT:
	case POSIXTRACE_FIELD_JSON:
		n += (size_t)snprintf(to + n, room - n, "%.*s", (int)f->pt_length,
				      (const char *)f->pt_data);
		break;
	case POSIXTRACE_FIELD_BYTES:
		n += (size_t)snprintf(to + n, room - n, "%zu bytes", f->pt_length);
		break;
	case POSIXTRACE_FIELD_UNSIGNED:
	case POSIXTRACE_FIELD_BOOL:
		n += (size_t)snprintf(to + n, room - n, "%" PRIu64, f->pt_unsigned);
		break;
	default:
		n += (size_t)snprintf(to + n, room - n, "%#" PRIx64, f->pt_unsigned);
		break;
	}
	return n + (size_t)snprintf(to + n, room - n, "%s ", f->pt_unit);
}

/* The fields of the log's event are these, and behind them comes this error. */
static void expect(const char *layout, const void *data, size_t size, const char *fields, int end)
{
	trace_id_t trid = log_of(layout, data, size);
	struct posixtrace_field f = {0};
	struct posixtrace_block *block;
	char text[1000] = "";
	size_t n = 0;
	int error;

	CHECK_OK(posixtrace_log_next_block(trid, &block));
	CHECK_EQ(block->pt_count, 1);
	while (!(error = posixtrace_log_next_field(trid, block->pt_events, &f, sizeof(f)))) {
		CHECK_EQ(f.pt_size, sizeof(f));
		n += put(text + n, sizeof(text) - n, &f);
	}
	CHECK_STR_EQ(text, fields);
	CHECK_EQ(error, end);
	posixtrace_log_free_block(block);
	ts_close_log(trid);
}

TEST(fields_of_a_structure, "")
{
	const struct {
		uint8_t kind;
		int32_t delta;
		double ratio;
		char name[8];
		bool is_set;
		uint8_t digest[3];
		uint64_t at;
	} data = {7, -5, 0.5, "abc", true, {1, 2, 3}, 4096};

	expect("u8 kind, i32 delta ns, f64 ratio, char[8] name, bool is_set, bytes[3] digest, code at",
	       &data, sizeof(data),
	       "kind=7 delta=-5ns ratio=0.5 name=abc is_set=1 digest=3 bytes at=0x1000 ", ENODATA);
}

TEST(fields_whose_size_the_data_gives, "")
{
	static const char data[] = "\2\0one\0two";

	expect("u16 count, str first, str second", data, sizeof(data),
	       "count=2 first=one second=two ", ENODATA);
	expect("u16 count, str first, str second", data, 9, "count=2 first=one second=two ",
	       ENODATA);
	expect("u16 count, bytes rest", data, sizeof(data), "count=2 rest=8 bytes ", ENODATA);
	expect("json", "{\"a\":1}", 7, "={\"a\":1} ", ENODATA);
}

TEST(elements_bits_members_and_padding, "")
{
	static const uint16_t array[] = {1, 2, 3};
	static const uint8_t bits = 0x15, state = 2, padded[] = {9, 9, 9, 7};

	expect("u16[3] sizes", array, sizeof(array), "sizes[0/3]=1 sizes[1/3]=2 sizes[2/3]=3 ",
	       ENODATA);
	expect("u16 first, x16[] rest", array, sizeof(array),
	       "first=1 rest[0/2]=0x2 rest[1/2]=0x3 ", ENODATA);
	expect("u16 first, u16[] rest", array, 2, "first=1 ", ENODATA);
	expect("u8 low:3, i8 high:2", &bits, 1, "low=5 high=-2 ", ENODATA);
	expect("enum u8 {idle, busy = 2} state", &state, 1, "state=busy ", ENODATA);
	expect("enum u8 {idle, busy} state", &state, 1, "state=2 ", ENODATA);
	expect("pad[3], u8 last", padded, 4, "last=7 ", ENODATA);
}

TEST(data_that_does_not_fit_is_told, "")
{
	expect("u8 a, u8 b", "\1", 1, "a=1 ", EBADMSG);
	expect("u8 a, u8 b", "\1\2\3", 3, "a=1 b=2 ", EBADMSG);
	expect("u16[] a", "\1\0\2", 3, "a[0/1]=1 ", EBADMSG);
	expect("json x", "", 0, "", EBADMSG);
	expect("json", "", 0, "", ENODATA);
	expect(NULL, "\1", 1, "", ENODATA);
}

TEST(what_cannot_be_asked_is_an_error, "")
{
	trace_id_t trid = log_of("u8 a", "\1", 1);
	struct posixtrace_field f = {0}, bad = {.pt_next_index = 7};
	struct posixtrace_event e = {.pt_data = ""};
	struct posixtrace_block *block;

	CHECK_OK(posixtrace_log_next_block(trid, &block));
	CHECK_EQ(posixtrace_log_next_field(trid, NULL, &f, sizeof(f)), EINVAL);
	CHECK_EQ(posixtrace_log_next_field(trid, block->pt_events, NULL, sizeof(f)), EINVAL);
	CHECK_EQ(posixtrace_log_next_field(trid, block->pt_events, &f, 16), EINVAL);
	CHECK_EQ(posixtrace_log_next_field(trid, &e, &f, sizeof(f)), EINVAL);
	CHECK_EQ(posixtrace_log_next_field(trid + 1, block->pt_events, &f, sizeof(f)), EINVAL);
	CHECK_EQ(posixtrace_log_next_field(trid, block->pt_events, &bad, sizeof(bad)), EINVAL);
	bad = (struct posixtrace_field){.pt_next_field = 9};
	CHECK_EQ(posixtrace_log_next_field(trid, block->pt_events, &bad, sizeof(bad)), EINVAL);
	bad = (struct posixtrace_field){.pt_next_bit = UINT64_MAX / 2};
	CHECK_EQ(posixtrace_log_next_field(trid, block->pt_events, &bad, sizeof(bad)), EBADMSG);
	/* A program that knows fewer members gets these. */
	CHECK_OK(posixtrace_log_next_field(trid, block->pt_events, &f,
					   offsetof(struct posixtrace_field, pt_kind)));
	CHECK_STR_EQ(f.pt_name, "a");
	CHECK_EQ(f.pt_kind, 0);
	posixtrace_log_free_block(block);
	ts_close_log(trid);
}
