/* SPDX-License-Identifier: MIT */
/* A format of exports: Chromium's Trace Event Format. */
#ifndef PTRC_SRC_EXPORT_CHROME_H
#define PTRC_SRC_EXPORT_CHROME_H

#include "src/export/format.h"

extern const struct ptrc_export_format ptrc_export_chrome;

#endif
