/* SPDX-License-Identifier: MIT */
#ifndef PTRC_SRC_CHECK_VERDICT_H
#define PTRC_SRC_CHECK_VERDICT_H

#include "src/check/trial.h"

/* Decides a rule when all events have been taken, and says why in words. */
void ptrc_trial_decide(struct ptrc_trial *, const struct ptrc_ending *);

/* The cases that show why the verdict is what it is. */
struct ptrc_cases *ptrc_trial_cases(struct ptrc_trial *);

#endif
