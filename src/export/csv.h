/* SPDX-License-Identifier: MIT */
/* A format of exports: comma-separated values. */
#ifndef PTRC_SRC_EXPORT_CSV_H
#define PTRC_SRC_EXPORT_CSV_H

#include "src/export/format.h"

extern const struct ptrc_export_format ptrc_export_csv;

#endif
