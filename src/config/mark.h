/* SPDX-License-Identifier: MIT */
#ifndef PTRC_SRC_CONFIG_MARK_H
#define PTRC_SRC_CONFIG_MARK_H

#include <stddef.h>

/* A place in a file, counted from 1. A value from elsewhere has line 0. */
struct ptrc_config_mark {
	size_t line;
	size_t column;
};

#endif
