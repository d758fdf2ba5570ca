/* SPDX-License-Identifier: MIT */
/* The layouts (the fields of events) that the user gives by --decode and by the key decode in ptrace.yaml. */
#ifndef PTRC_SRC_CONFIG_LAYOUTS_H
#define PTRC_SRC_CONFIG_LAYOUTS_H

#include "src/fields/layout.h"

/* Adds the layout of an option --decode=EVENT=LAYOUT. Ends the process with a message if the value is not
 * valid. */
void ptrc_config_take_layout(struct ptrc_layouts *, const char *text);

/* Adds the layouts of the sessions in the configuration file `path`: only those of `session` if the file has a
 * session of this name, otherwise (also for NULL) those of all sessions. Ends the process with a message if the
 * file is not valid. May be called only once. */
void ptrc_config_read_layouts(struct ptrc_layouts *, const char *path, const char *session);

#endif
