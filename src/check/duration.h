/* SPDX-License-Identifier: MIT */
#ifndef PTRC_SRC_CHECK_DURATION_H
#define PTRC_SRC_CHECK_DURATION_H

#include <stdint.h>

#include "src/cli/buffer.h"

/* Puts a duration such as 8.25ms. */
void ptrc_check_put_duration(struct ptrc_buffer *, int64_t ns);

#endif
