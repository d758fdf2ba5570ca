/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/export/formats.h"

#include "src/export/chrome.h"
#include "src/export/csv.h"
#include "src/export/ctf.h"
#include "src/export/perfetto.h"
#include "src/export/stacks.h"

const struct ptrc_export_format *const ptrc_export_formats[] = {
	&ptrc_export_chrome,
	&ptrc_export_perfetto,
	&ptrc_export_ctf,
	&ptrc_export_folded,
	&ptrc_export_speedscope,
	&ptrc_export_csv,
	NULL,
};
