/* SPDX-License-Identifier: MIT */
/*
 * Prints the statements that make the tables of many machines, each with a semicolon behind it:
 *
 *     print_schema DIALECT [DATABASE]
 */
#include <stdio.h>

#include "src/ship/schema.h"

int main(int argc, char **argv)
{
	struct ptrc_buffer text = PTRC_BUFFER_INIT;
	enum ptrc_ship_dialect dialect;

	if (argc < 2 || argc > 3 || !ptrc_ship_dialect_named(argv[1], &dialect)) {
		fprintf(stderr, "usage: print_schema modern|plain [DATABASE]\n");
		return 2;
	}
	ptrc_ship_schema_put(&text, dialect, argc > 2 ? argv[2] : PTRC_SHIP_DATABASE);
	fwrite(text.bytes, 1, text.used, stdout);
	ptrc_buffer_free(&text);
	return fflush(stdout) ? 1 : 0;
}
