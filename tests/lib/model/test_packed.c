/* SPDX-License-Identifier: MIT */
/* Packing events, and unpacking what was packed, or is anything else. */
#include "tests/support/harness.h"

#include <stdlib.h>
#include <string.h>

#include "lib/model/packed.h"

#define DATA_MAX 300U

struct sample {
	int64_t ns;
	uint64_t addr;
	uint32_t id_flags, len;
	uint8_t data[DATA_MAX + 8];
};

static void make_sample(struct sample *s, int64_t ns, uint64_t addr, uint32_t id_flags,
			uint32_t len)
{
	*s = (struct sample){.ns = ns, .addr = addr, .id_flags = id_flags, .len = len};
	for (uint32_t i = 0; i < len; i++)
		s->data[i] = (uint8_t)harness_draw(256);
}

/* Packs the samples, and returns the section, which the caller frees. */
static uint8_t *pack(struct ptrc_packer *p, const struct sample *s, size_t count)
{
	uint8_t *bytes = malloc(count * (PTRC_PACKED_HEAD_MAX + DATA_MAX + 8) + 64);

	CHECK(bytes);
	ptrc_packer_begin(p, bytes);
	for (size_t i = 0; i < count; i++)
		ptrc_packer_add(p, s[i].ns, ptrc_packed_key(s[i].addr, s[i].id_flags), s[i].data,
				s[i].len);
	ptrc_packer_end(p);
	return bytes;
}

/* The unpacker has only as much memory as it says that it needs, and no byte behind the section. */
static void check_unpacked(const struct ptrc_packer *p, const struct sample *s, size_t count)
{
	size_t size = (size_t)(p->out - p->begin);
	struct ptrc_unpacker_shape *shapes =
		malloc(ptrc_unpacker_shapes(size) * sizeof(*shapes) + 1);
	uint8_t *bytes = malloc(size + 1);
	struct ptrc_packed_event e;

	CHECK(shapes && bytes);
	memcpy(bytes, p->begin, size);
	struct ptrc_unpacker u = ptrc_unpacker_begin(bytes, size, p->base_ns, shapes);
	for (size_t i = 0; i < count; i++) {
		CHECK(!ptrc_unpacker_is_at_end(&u));
		CHECK(ptrc_unpacker_next(&u, &e));
		CHECK_EQ(e.ns, s[i].ns);
		CHECK_EQ(e.addr, s[i].addr);
		CHECK_EQ(e.id_flags, s[i].id_flags);
		CHECK_EQ(e.len, s[i].len);
		CHECK_MEM_EQ(e.data, s[i].data, e.len);
	}
	CHECK(ptrc_unpacker_is_at_end(&u));
	CHECK(!ptrc_unpacker_next(&u, &e));
	free(bytes);
	free(shapes);
}

static void check_sums(const struct ptrc_packer *p, const struct sample *s, size_t count)
{
	uint64_t counted = 0, largest = 0, reported = 0, events = 0, bytes = 0, truncated = 0;

	for (size_t i = 0; i < count; i++) {
		counted += s[i].len + 8;
		if (largest < s[i].len + 8)
			largest = s[i].len + 8;
		if (s[i].id_flags & PTRC_REC_HIDDEN)
			continue;
		reported++;
		bytes += s[i].len;
		truncated += (s[i].id_flags & PTRC_REC_TRUNCATED) != 0;
	}
	CHECK_EQ(p->records, count);
	CHECK_EQ(p->reported, reported);
	CHECK_EQ(p->counted, counted);
	CHECK_EQ(p->largest, largest);
	for (uint32_t i = 0; i < p->sums.count; i++) {
		uint64_t of_type = 0;

		for (size_t k = 0; k < count; k++)
			of_type += (s[k].id_flags & PTRC_REC_ID_MASK) == p->sums.sum[i].id &&
				   !(s[k].id_flags & PTRC_REC_HIDDEN);
		CHECK_EQ(p->sums.sum[i].events, of_type);
		events += of_type;
		bytes -= p->sums.sum[i].bytes;
		truncated -= p->sums.sum[i].truncated;
	}
	CHECK_EQ(events, reported);
	CHECK_EQ(bytes, 0);
	CHECK_EQ(truncated, 0);
}

TEST(what_is_packed_comes_back, "LOG-38")
{
	static const uint32_t flags[] = {
		0, 0, 0, PTRC_REC_TRUNCATED, PTRC_REC_HIDDEN, PTRC_REC_TRUNCATED | PTRC_REC_HIDDEN};
	/* Few places, more than there are codes, and most of them new. */
	static const uint64_t places[] = {1, 5, 239, 240, 241, 1000, 100000};
	struct ptrc_packer *p = calloc(1, sizeof(*p));
	struct sample *s = calloc(2000, sizeof(*s));

	CHECK(p && s);
	for (size_t i = 0; i < 7; i++)
		for (int round = 0; round < 6; round++) {
			size_t count = round ? 1 + harness_draw(2000) : 1;
			int64_t ns = round % 2 ? INT64_MIN : INT64_C(1700000000000000000);

			for (size_t k = 0; k < count; k++) {
				uint64_t place = harness_draw(places[i]);

				make_sample(&s[k], ns, place * 0x10001,
					    (1 + (uint32_t)place % PTRC_REC_ID_MASK) |
						    flags[harness_draw(6)],
					    (uint32_t)(round < 3 ? place % 20
								 : harness_draw(DATA_MAX)));
				ns += (int64_t)(harness_draw(3)
							? harness_draw(300)
							: harness_draw(UINT64_C(1)
								       << harness_draw(50)));
			}
			uint8_t *bytes = pack(p, s, count);
			check_unpacked(p, s, count);
			check_sums(p, s, count);
			free(bytes);
		}
}

TEST(times_and_lengths_at_their_ends, "LOG-38")
{
	struct ptrc_packer *p = calloc(1, sizeof(*p));
	struct sample s[4];

	CHECK(p);
	make_sample(&s[0], INT64_MIN, PTRC_REC_ADDR_MASK, PTRC_REC_ID_MASK, 0);
	make_sample(&s[1], INT64_MIN, 0, 1, DATA_MAX);
	make_sample(&s[2], INT64_MAX, PTRC_REC_ADDR_MASK, PTRC_REC_ID_MASK, 1);
	make_sample(&s[3], INT64_MAX, PTRC_REC_ADDR_MASK, PTRC_REC_ID_MASK, 0);
	pack(p, s, 4);
	check_unpacked(p, s, 4);
}

TEST(an_event_of_one_place_takes_two_bytes_beside_its_data, "")
{
	struct ptrc_packer *p = calloc(1, sizeof(*p));
	struct sample s[100];

	CHECK(p);
	for (int i = 0; i < 100; i++)
		make_sample(&s[i], 1000 + i * 100, 0x401000, 10, 16);
	pack(p, s, 100);
	CHECK_EQ(p->out - p->begin, 9 + 100 * 18);
}

TEST(a_single_event_needs_no_packer, "LOG-28")
{
	uint8_t bytes[PTRC_PACKED_HEAD_MAX + 5];
	struct ptrc_unpacker_shape shape;
	struct ptrc_packed_event e;
	uint64_t len;
	uint32_t size = ptrc_packed_single(bytes, 7 | PTRC_REC_HIDDEN, "abcde", 5);

	struct ptrc_unpacker u = ptrc_unpacker_begin(bytes, size, 42, &shape);
	CHECK(ptrc_unpacker_length(&u, &len));
	CHECK_EQ(len, 5);
	CHECK(ptrc_unpacker_next(&u, &e));
	CHECK_EQ(e.ns, 42);
	CHECK_EQ(e.id_flags, 7 | PTRC_REC_HIDDEN);
	CHECK_MEM_EQ(e.data, "abcde", 5);
	CHECK(ptrc_unpacker_is_at_end(&u));
}

/* Whatever the bytes are, events lie within them and times do not go back. */
TEST(any_bytes_are_unpacked_or_refused, "")
{
	struct ptrc_packer *p = calloc(1, sizeof(*p));
	struct sample *s = calloc(300, sizeof(*s));

	CHECK(p && s);
	for (int round = 0; round < 20000; round++) {
		size_t count = 1 + harness_draw(300), size, left;
		struct ptrc_unpacker_shape *shapes;
		struct ptrc_packed_event e;
		int64_t ns = 0;

		for (size_t k = 0; k < count; k++)
			make_sample(&s[k], (int64_t)k * 50, harness_draw(300), 10,
				    (uint32_t)harness_draw(4));
		uint8_t *bytes = pack(p, s, count);
		size = harness_draw((size_t)(p->out - p->begin) + 1);
		uint8_t *copy = malloc(size + 1);
		shapes = malloc(ptrc_unpacker_shapes(size) * sizeof(*shapes) + 1);
		CHECK(copy && shapes);
		memcpy(copy, bytes, size);
		for (uint64_t k = harness_draw(10); k && size; k--)
			copy[harness_draw(size)] =
				(uint8_t)(harness_draw(2) ? harness_draw(256) : PTRC_PACKED_DEFINE);
		struct ptrc_unpacker u = ptrc_unpacker_begin(copy, size, 0, shapes);
		for (left = size; ptrc_unpacker_next(&u, &e); left = (size_t)(u.end - u.pos)) {
			CHECK_LT((size_t)(u.end - u.pos), left);
			CHECK_LE(e.len, size);
			CHECK(e.data >= copy && e.data + e.len <= copy + size);
			CHECK_GE(e.ns, ns);
			ns = e.ns;
		}
		/* It stays refused. */
		CHECK(!ptrc_unpacker_next(&u, &e));
		free(shapes);
		free(copy);
		free(bytes);
	}
}
