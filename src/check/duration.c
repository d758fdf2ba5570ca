/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/check/duration.h"

#include <stddef.h>

void ptrc_check_put_duration(struct ptrc_buffer *b, int64_t ns)
{
	static const struct {
		int64_t ns;
		const char *name;
	} units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
	size_t i = 0;

	while (ns < units[i].ns && i < 3)
		i++;
	/* So many digits that there is never an exponent. */
	ptrc_buffer_format(b, "%.*g%s", ns >= 10000 * units[i].ns ? 12 : 5,
			   (double)ns / (double)units[i].ns, units[i].name);
}
