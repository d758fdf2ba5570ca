/* SPDX-License-Identifier: MIT */
/* The event names of this process: opening them, and which of them this program may use. */
#ifndef PTRC_LIB_PROCESS_PROCESS_NAMES_H
#define PTRC_LIB_PROCESS_PROCESS_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/names.h"

/* Whether this program may record events of type `id`. It may if `id` is the predefined user event, if the program
 * has opened the name, or if a controller has put the name into the names object of this process. If so, also sets
 * the bit in ptrc_self->mapped. Async-signal-safe. */
bool ptrc_process_maps_id(uint32_t id);

/* Maps the names object of this process, if there is one. */
void ptrc_process_map_names(void);

/* Stores the names object of this process, which is made if there is none yet. The caller must not unmap it.
 * Error: ENOMEM. */
int ptrc_process_names(struct ptrc_names **names);

/* Returns the names of this process without a lock: the caller has the id of a type, so the names are mapped.
 * Async-signal-safe. */
const struct ptrc_names *ptrc_process_own_names(void);

/* Finds or makes an event type, and allows this program to use its id. The caller has checked the
 * layout, which is NULL if the type has none. After an error *id is unchanged. The errors are those
 * of posixtrace_eventid_open_layout(). After ENOMEM in a process that is traced, the name counts as
 * refused (ptrc_names_refuse()). */
int ptrc_process_open_type(const char *name, const char *layout, uint32_t *id);

/* See ptrc_names_refuse(). */
void ptrc_process_refuse_name(const char *name);

#endif
