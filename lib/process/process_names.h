/* SPDX-License-Identifier: MIT */
/* The event names of this process. */
#ifndef PTRC_LIB_PROCESS_PROCESS_NAMES_H
#define PTRC_LIB_PROCESS_PROCESS_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/names.h"

/* May this image record events of that type? It may if the type is the predefined user event, if
 * the image opened the name, or if a controller put the name into the names object of this
 * process. If so, sets the bit in ptrc_self->mapped. Async-signal-safe. */
bool ptrc_process_maps_id(uint32_t id);

/* The names object of this process, made if there is none yet. The process keeps owning it.
 * ENOMEM. */
int ptrc_process_names(struct ptrc_names **names);

/* The id of the name, which this image may use from now on. ENAMETOOLONG, ENOMEM. */
int ptrc_process_open_name(const char *name, uint32_t *id);

#endif
