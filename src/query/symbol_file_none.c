/* SPDX-License-Identifier: MIT */
/* Replaces symbol_file.c in a build without libdw. As ptrc_symbol_file_load() fails, the other functions are
 * never called. */
#include "config.h"
#include "src/query/symbol_file.h"

bool ptrc_symbol_file_load(struct ptrc_cli_reason *why)
{
	return ptrc_cli_because(why, "this command was built without libdw, which it needs");
}

struct ptrc_symbol_file *ptrc_symbol_file_open(const char *path, const unsigned char *build_id,
					       size_t size, struct ptrc_cli_reason *why)
{
	(void)path;
	(void)build_id;
	(void)size;
	ptrc_symbol_file_load(why);
	return NULL;
}

void ptrc_symbol_file_find(struct ptrc_symbol_file *f, const struct ptrc_symbol_mapping *m,
			   uint64_t address, struct ptrc_symbol *s)
{
	(void)f;
	(void)m;
	(void)address;
	*s = (struct ptrc_symbol){.function = NULL};
}

const char *ptrc_symbol_file_find_variable(struct ptrc_symbol_file *f,
					   const struct ptrc_symbol_mapping *m, uint64_t address,
					   uint64_t *offset)
{
	(void)f;
	(void)m;
	(void)address;
	(void)offset;
	return NULL;
}

bool ptrc_symbol_file_has_lines(struct ptrc_symbol_file *f)
{
	(void)f;
	return false;
}

bool ptrc_symbol_file_has_names(struct ptrc_symbol_file *f)
{
	(void)f;
	return false;
}

void ptrc_symbol_file_free(struct ptrc_symbol_file *f)
{
	(void)f;
}
