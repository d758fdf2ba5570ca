/* SPDX-License-Identifier: MIT */
/* Identifiers of event types, and the names of the predefined ones. Freestanding. */
#ifndef PTRC_LIB_MODEL_PREDEFINED_H
#define PTRC_LIB_MODEL_PREDEFINED_H

#include <stdint.h>

/* What a process gets for a name when all identifiers are taken. */
#define PTRC_ID_UNNAMED 9U
/* The first that is not predefined. */
#define PTRC_ID_FIRST 10U

/* The name of a predefined event type; null for any other identifier. */
const char *ptrc_names_predefined(uint32_t id);

#endif
