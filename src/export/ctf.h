/* SPDX-License-Identifier: MIT */
/* The format ctf: a trace of the Common Trace Format, which is a directory. */
#ifndef PTRC_SRC_EXPORT_CTF_H
#define PTRC_SRC_EXPORT_CTF_H

#include "src/export/format.h"

extern const struct ptrc_export_format ptrc_export_ctf;

#endif
