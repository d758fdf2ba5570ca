/* SPDX-License-Identifier: MIT */
/* A format of exports: the protocol buffers of Perfetto. */
#ifndef PTRC_SRC_EXPORT_PERFETTO_H
#define PTRC_SRC_EXPORT_PERFETTO_H

#include "src/export/format.h"

extern const struct ptrc_export_format ptrc_export_perfetto;

#endif
