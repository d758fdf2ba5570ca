/* SPDX-License-Identifier: MIT */
/* The formats that there are. */
#ifndef PTRC_SRC_EXPORT_FORMATS_H
#define PTRC_SRC_EXPORT_FORMATS_H

#include "src/export/format.h"

/* All of them, in the order in which people are told of them, up to a null pointer. */
extern const struct ptrc_export_format *const ptrc_export_formats[];

#endif
