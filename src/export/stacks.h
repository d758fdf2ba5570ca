/* SPDX-License-Identifier: MIT */
/* A format of exports: flame graphs. */
#ifndef PTRC_SRC_EXPORT_STACKS_H
#define PTRC_SRC_EXPORT_STACKS_H

#include "src/export/format.h"

extern const struct ptrc_export_format ptrc_export_folded;
extern const struct ptrc_export_format ptrc_export_speedscope;

#endif
