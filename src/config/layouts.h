/* SPDX-License-Identifier: MIT */
/* The layouts of --decode and of the key decode in ptrace.yaml. */
#ifndef PTRC_SRC_CONFIG_LAYOUTS_H
#define PTRC_SRC_CONFIG_LAYOUTS_H

#include "src/fields/layout.h"

/* Adds the layout of an option --decode=EVENT=LAYOUT. Ends the process with a message if it is not valid. */
void ptrc_config_take_layout(struct ptrc_layouts *, const char *text);

/* Adds the layouts of all sessions in the file, or only those of `session` (may be NULL) if it is among them. Ends
 * the process with a message if the file is not valid. May be called once. */
void ptrc_config_read_layouts(struct ptrc_layouts *, const char *path, const char *session);

#endif
