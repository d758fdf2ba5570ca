/* SPDX-License-Identifier: MIT */
#ifndef PTRC_SRC_CONFIG_MARK_H
#define PTRC_SRC_CONFIG_MARK_H

#include <stddef.h>

/* The place of a value in a configuration file. Lines and columns are counted from 1. The line is 0 if the value
 * is not from the file. */
struct ptrc_config_mark {
	size_t line;
	size_t column;
};

#endif
