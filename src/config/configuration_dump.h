/* SPDX-License-Identifier: MIT */
/*
 * A configuration written as YAML, for --dump-config.
 */
#ifndef PTRC_SRC_CONFIG_CONFIGURATION_DUMP_H
#define PTRC_SRC_CONFIG_CONFIGURATION_DUMP_H

#include "src/cli/buffer.h"
#include "src/config/configuration.h"

/* Puts the sessions as a file that reads back as the same configuration. Ends the process
 * if a value from the command line is not UTF-8, which YAML cannot hold. */
void ptrc_config_dump(const struct ptrc_config_file *, enum ptrc_config_user, struct ptrc_buffer *);

#endif
