/* SPDX-License-Identifier: MIT */
#ifndef PTRC_SRC_CONFIG_KEPT_H
#define PTRC_SRC_CONFIG_KEPT_H

#include <stddef.h>

/* Allocates memory that is never freed, but stays reachable by a list, so that leak checkers are silent. */
void *ptrc_config_keep(size_t size) __attribute__((returns_nonnull));

#endif
