/* SPDX-License-Identifier: MIT */
/*
 * Reads configurations from files in YAML (ptrace.yaml(5)). Everything that is wrong in a
 * file ends the process with one message, "file:line:column: reason".
 */
#ifndef PTRC_SRC_CONFIG_CONFIGURATION_YAML_H
#define PTRC_SRC_CONFIG_CONFIGURATION_YAML_H

#include "src/config/configuration.h"

/* Reads the file; "-" is standard input. */
void ptrc_config_read(struct ptrc_config_file *, const char *path, enum ptrc_config_user);

/* Reads a file whose bytes are in memory. The name stands in messages. */
void ptrc_config_parse(struct ptrc_config_file *, const char *name, const void *bytes, size_t size,
		       enum ptrc_config_user);

/* Prints a message about a place in the file, and ends the process. */
void ptrc_config_refuse(const struct ptrc_config_file *, const struct ptrc_config_mark *,
			const char *format, ...) __attribute__((format(printf, 3, 4), noreturn));

#endif
