/* SPDX-License-Identifier: MIT */
/*
 * Judges a trace by rules while its events are read in order of time. A rule groups events by a key: the value of a
 * field or, for the kind pair without a field, the thread; other rules without a field have one group. The memory for
 * a rule grows with the number of keys that have an unanswered event (kind after) or an open pair (kind pair), or
 * with the number of all keys (kinds count, before and order).
 *
 * A rule may stay undecided for two reasons: the log ends before an answer or the end of a pair, or lost events or
 * data might have decided the rule. If two events of different threads are no further apart than the rule's
 * tolerance, their order is unknown, and the order that keeps the rule is assumed.
 */
#ifndef PTRC_SRC_CHECK_JUDGE_H
#define PTRC_SRC_CHECK_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/check/kind.h"

/* One way in which an event type matches a rule: its events count as trial->rule->events[event]. An event type may have
 * several roles. */
struct ptrc_role {
	struct ptrc_trial *trial;
	unsigned int event;
	/* Events of the type have this role even if they do not fulfil the rule's conditions. */
	bool is_by_type;
};

struct ptrc_roles {
	size_t count;
	struct ptrc_role list[];
};

/* Starts to judge. The caller has called ptrc_rules_bind_again(). The judge must not move in memory afterwards,
 * because trials point into it. */
void ptrc_judge_begin(struct ptrc_judge *, const struct ptrc_rules *, size_t source_count);

/* Returns the time at which the recording ended: last_ns, the time of the last event. But if all traces were
 * stopped, the time of the latest STOP, because the events of a flush may follow a STOP much later. */
int64_t ptrc_judge_end_ns(const struct ptrc_judge *, int64_t last_ns);

/* Finds the roles of an event type of this name: the events of rules that it matches. The caller frees the
 * result. */
struct ptrc_roles *ptrc_judge_find_roles(struct ptrc_judge *, const char *name);

/* Makes the judge use the key rule->by_text, which was chosen after ptrc_judge_begin(). No event of the rule has been
 * taken yet. */
void ptrc_judge_find_key(struct ptrc_judge *, struct ptrc_trial *);

/* Takes the current event of the view's reader, with the roles of its type. The caller may leave out events without a
 * role, but not these: a START or STOP, an event that reports a loss, and the event that follows such a report in the
 * same source. */
void ptrc_judge_take(struct ptrc_judge *, const struct ptrc_roles *, struct ptrc_view *,
		     unsigned int source);

/* Notes that events of the source were lost at this time or before it. Called for losses that no event reports;
 * ptrc_judge_take() notes the others itself. */
void ptrc_judge_take_gap(struct ptrc_judge *, int64_t ns, unsigned int source);

/* Notes, before any event, that the first files of the log are missing; is_deleted: --log-keep has deleted them all. */
void ptrc_judge_take_late_start(struct ptrc_judge *, unsigned int source, bool is_deleted);

/* Notes that the log of the source stops at this time, while other logs go on, and that later events of this source
 * are unknown: the log has no end, or processes went on. */
void ptrc_judge_take_early_end(struct ptrc_judge *, int64_t ns, unsigned int source);

/* Decides all rules. The caller has filled in judge->ending. */
void ptrc_judge_end(struct ptrc_judge *);

/* Frees a judge that was started or that is zeroed. */
void ptrc_judge_free(struct ptrc_judge *);

#endif
