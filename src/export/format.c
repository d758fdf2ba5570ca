/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/export/format.h"

#include "src/cli/escape.h"
#include "src/cli/output.h"
#include "src/fields/when.h"

/* Output is written in pieces of about this size. */
enum { WRITE_SIZE = 65536 };

uint64_t ptrc_export_since_start(const struct ptrc_export *x, int64_t ns)
{
	return ns > x->start_ns ? (uint64_t)ptrc_when_subtract(ns, x->start_ns) : 0;
}

struct ptrc_lane *ptrc_export_lane(struct ptrc_export *x)
{
	return ptrc_lanes_find(&x->lanes, x->source);
}

void ptrc_export_write_some(struct ptrc_export *x)
{
	if (__builtin_expect(x->query->out.used >= WRITE_SIZE, 0))
		ptrc_output_write(&x->query->out);
}

bool ptrc_export_put_utf8(struct ptrc_buffer *b, const char *text, size_t size)
{
	bool is_whole = true;

	for (size_t i = 0; i < size;) {
		const unsigned char *at = (const unsigned char *)text + i;
		size_t n = *at < 0x80 ? 1 : ptrc_utf8_length(at, size - i);

		if (n)
			ptrc_buffer_bytes(b, at, n);
		else
			ptrc_buffer_text(b, "\357\277\275");
		is_whole &= n > 0;
		i += n ? n : 1;
	}
	return is_whole;
}
