/* SPDX-License-Identifier: MIT */
#ifndef PTRC_SRC_CONFIG_KEPT_H
#define PTRC_SRC_CONFIG_KEPT_H

#include <stddef.h>

/* Allocates memory that is never freed. A list keeps it reachable, so that leak checkers do not
 * report it. */
void *ptrc_config_keep(size_t size) __attribute__((returns_nonnull));

#endif
