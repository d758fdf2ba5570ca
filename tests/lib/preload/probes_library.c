/* SPDX-License-Identifier: MIT */
/* A library with a probe, which the program of probes.c loads. WIDE: its argument has another size. */
#include "tests/support/sdt.h"

void reach(int number);

void reach(int number)
{
#if defined(WIDE)
	PROBE("library", "reach", 0, "8@%0", "r"((long)number));
#else
	PROBE("library", "reach", 0, "-4@%0", "r"(number));
#endif
}
