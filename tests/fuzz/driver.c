/* SPDX-License-Identifier: MIT */
/*
 * The main() of a fuzzer without libFuzzer: feeds it each file of the command line, and says
 * how many there were. Options are libFuzzer's, and mean nothing here.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"

#pragma weak LLVMFuzzerInitialize

static void feed(const char *path)
{
	FILE *f = fopen(path, "re");
	uint8_t *bytes = NULL, *exact;
	size_t size = 0, got = 0;

	if (!f) {
		perror(path);
		exit(2);
	}
	do {
		size += got;
		bytes = realloc(bytes, size + 65536);
		if (!bytes)
			abort();
		got = fread(bytes + size, 1, 65536, f);
	} while (got);
	fclose(f);
	/* Of exactly this size, so that sanitizers see whoever reads beyond it. */
	exact = realloc(bytes, size ? size : 1);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

int main(int argc, char **argv)
{
	int count = 0;

	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-')
			continue;
		/* The name of the one that ends this process stands last. */
		fprintf(stderr, "%s\n", argv[i]);
		feed(argv[i]);
		count++;
	}
	printf("%d inputs\n", count);
	return 0;
}
