/* SPDX-License-Identifier: MIT */
/* A library with a probe, which the program of probes.c loads. */
#include "tests/support/sdt.h"

void reach(int number);

void reach(int number)
{
	PROBE("library", "reach", 0, "-4@%0", "r"(number));
}
