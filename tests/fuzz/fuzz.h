/* SPDX-License-Identifier: MIT */
/*
 * What the fuzzers share. A fuzzer is tests/fuzz/fuzz_NAME.c with LLVMFuzzerTestOneInput(), which
 * feeds one input to code of ours that reads what others have written. scripts/fuzz builds it
 * with libFuzzer and lets it make inputs; in every other build driver.c is its main(), and feeds
 * it the files of its command line: those in tests/fuzz/NAME/, each of which once was a finding.
 *
 * The commands end by exit() when an input is wrong, and say why on standard error. A fuzzer runs
 * them under fuzz_guard(), from where both come back. It is linked with the options of
 * ptrc_fuzz_ldflags (tests/local.mk), which lead exit(), write() and others here.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How guarded code ended. */
struct fuzz_outcome {
	bool has_exited;
	int status;
	/* What it wrote to standard error, with a null byte behind it; what is more is cut. */
	char said[8192];
	size_t said_size;
};

/* Calls body(argument). If is_freeing is set, everything that it allocates and does not free is
 * freed afterwards; this needs the address sanitizer. */
void fuzz_guard(void (*body)(void *), void *argument, bool is_freeing, struct fuzz_outcome *);

/* Is a finding unless the condition holds. */
#define FUZZ_CHECK(condition)                                                   \
	do {                                                                    \
		if (!(condition))                                               \
			fuzz_fail(__FILE__ ": " #condition " does not hold\n"); \
	} while (0)
void fuzz_fail(const char *message) __attribute__((noreturn));

/* Takes the text up to the next null byte, or all that is left, from the input. The caller frees
 * it; it has exactly its size, so that sanitizers see whoever reads beyond it. */
char *fuzz_take_text(const uint8_t **data, size_t *size);

#endif
