/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/export/format.h"

const struct ptrc_export_format *const ptrc_export_formats[] = {
	&ptrc_export_chrome,	 &ptrc_export_perfetto, &ptrc_export_ctf,  &ptrc_export_folded,
	&ptrc_export_speedscope, &ptrc_export_csv,	&ptrc_export_otlp, NULL,
};
