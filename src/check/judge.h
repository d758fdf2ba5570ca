/* SPDX-License-Identifier: MIT */
/*
 * Judges a trace by rules while its events are read in order of time. The memory for a rule grows with the number of
 * open keys, or with the number of all keys if everything before an event matters to the rule.
 *
 * A rule may stay undecided for two reasons: the log ends while something is open, or lost events or data might have
 * decided it. If two events of different threads are as near to each other as the rule's tolerance, their order is
 * unknown, and is taken to be the one that keeps the rule.
 */
#ifndef PTRC_SRC_CHECK_JUDGE_H
#define PTRC_SRC_CHECK_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/check/trial.h"
#include "src/spans/key.h"
#include "src/query/view.h"

/* An event type matches the event of this index of a rule. */
struct ptrc_role {
	struct ptrc_trial *trial;
	unsigned int event;
};

struct ptrc_roles {
	size_t count;
	struct ptrc_role list[];
};

struct ptrc_judge_source {
	/* Places with losses so far. */
	uint64_t gap_count;
	/* The last event started a loss, which lasts until the next event of the source. */
	bool is_at_loss;
};

/* A kind of key. All rules that want it share it, so that it is made once for each event. */
struct ptrc_judge_key {
	/* The field; NULL: the thread. */
	const char *by_text;
	/* The number of the event that the key was made for, and whether that event has such a key. */
	uint64_t event;
	bool has_key;
	struct ptrc_key key;
	uint64_t hash;
};

struct ptrc_judge {
	const struct ptrc_rules *rules;
	/* In the order of the rules. */
	struct ptrc_trial *trials;
	/* The number of the current event, counted from 1. */
	uint64_t event_count;
	/* Element 0 is the constant key of the rules that have none. */
	struct ptrc_judge_key *keys;
	size_t key_count;
	struct ptrc_judge_source *sources;
	size_t source_count;
	/* Sources with .is_at_loss. */
	size_t at_loss_count;
	/* The trials point to it. */
	struct ptrc_ending ending;
};

/* Starts with rules that have been bound. The judge must not move afterwards. */
void ptrc_judge_begin(struct ptrc_judge *, const struct ptrc_rules *, size_t source_count);

/* Finds the events of rules that an event type of this name matches. The caller frees the result. */
struct ptrc_roles *ptrc_judge_find_roles(struct ptrc_judge *, const char *name);

/* Takes the event that the view's reader has read, with the roles of its type. Also needs, with no roles, the events
 * that report losses, and the next event of the same source after each of them. */
void ptrc_judge_take(struct ptrc_judge *, const struct ptrc_roles *, struct ptrc_view *,
		     unsigned int source);

/* Records that events of the source were lost before or at this time, without an event that reports it. */
void ptrc_judge_take_gap(struct ptrc_judge *, int64_t ns, unsigned int source);

/* Records that the log of the source has no end and stops at this time, before others do: later events are unknown. */
void ptrc_judge_take_early_end(struct ptrc_judge *, int64_t ns, unsigned int source);

/* Decides all rules. The caller has filled in judge->ending. */
void ptrc_judge_end(struct ptrc_judge *);

/* Frees a judge that has begun, or is zeroed. */
void ptrc_judge_free(struct ptrc_judge *);

#endif
