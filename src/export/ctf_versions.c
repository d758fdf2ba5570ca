/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/export/ctf_metadata.h"

const struct ptrc_ctf_version *const ptrc_ctf_versions[] = {&ptrc_ctf_tsdl, &ptrc_ctf_json, NULL};
