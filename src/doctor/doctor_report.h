/* SPDX-License-Identifier: MIT */
/*
 * The report of ptrace-doctor: what was asked for, and how a finding is printed. The lowest
 * file of this room.
 */
#ifndef PTRC_SRC_DOCTOR_DOCTOR_REPORT_H
#define PTRC_SRC_DOCTOR_DOCTOR_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/cli/output.h"

enum ptrc_doctor_status {
	PTRC_DOCTOR_OK,
	/* The user should know this, and may even want it so. */
	PTRC_DOCTOR_NOTE,
	/* This keeps events from being recorded, or has lost some. */
	PTRC_DOCTOR_PROBLEM,
};

struct ptrc_doctor {
	bool is_json;
	/* Findings with the status OK are left out. */
	bool is_brief;
	/* The name of the event that the user misses, or null. */
	const char *event;
	struct ptrc_buffer *out;
	/* How many problems have been found. */
	unsigned int problems;
};

/*
 * Prints one finding as one line. The name of the check is interface. The thing is what was
 * looked at; the advice says what to do, or is null.
 */
void ptrc_doctor_say(struct ptrc_doctor *, enum ptrc_doctor_status, const char *check,
		     const char *thing, const char *advice, const char *format, ...)
	__attribute__((format(printf, 6, 7), nonnull(1, 3, 4, 6)));

#define ptrc_doctor_ok(d, check, thing, ...) \
	ptrc_doctor_say(d, PTRC_DOCTOR_OK, check, thing, NULL, __VA_ARGS__)
#define ptrc_doctor_note(d, ...) ptrc_doctor_say(d, PTRC_DOCTOR_NOTE, __VA_ARGS__)
#define ptrc_doctor_problem(d, ...) ptrc_doctor_say(d, PTRC_DOCTOR_PROBLEM, __VA_ARGS__)

/* Writes a size as users read it, "12 KiB" or "3.4 GiB", and returns the text. */
const char *ptrc_doctor_size(uint64_t bytes, char text[32]);

#endif
