/* SPDX-License-Identifier: MIT */
/* The layouts of --decode and of the key decode in a ptrace.yaml. */
#ifndef PTRC_SRC_CONFIG_LAYOUTS_H
#define PTRC_SRC_CONFIG_LAYOUTS_H

#include "src/fields/layout.h"

/* Adds the layout of an option --decode=EVENT=LAYOUT. Ends the process with a message if it is
 * wrong. */
void ptrc_config_take_layout(struct ptrc_layouts *, const char *text);

/* Adds the layouts of the sessions in the file. If the session, which may be null, is among them,
 * adds only its layouts. Ends the process with a message if the file cannot be read or is wrong.
 * Can be called once. */
void ptrc_config_read_layouts(struct ptrc_layouts *, const char *path, const char *session);

#endif
