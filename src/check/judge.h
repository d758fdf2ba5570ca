/* SPDX-License-Identifier: MIT */
/*
 * Judges a trace by rules while its events are read in order of time. Rules group events by keys: threads, or
 * values of a field. The memory for a rule grows with the number of keys for which something is open, or with the
 * number of all keys if everything before an event matters to the rule.
 *
 * A rule may stay undecided for two reasons: the log ends while something is open, or lost events or data might
 * have decided it. If two events of different threads are no further apart than the rule's tolerance, their order
 * is unknown, and the order that keeps the rule is assumed.
 */
#ifndef PTRC_SRC_CHECK_JUDGE_H
#define PTRC_SRC_CHECK_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/check/trial.h"
#include "src/spans/key.h"
#include "src/query/view.h"

/* An event type may match several events of several rules. Each of these matches is a role: the
 * event with the index `event` of the rule of `trial`. */
struct ptrc_role {
	struct ptrc_trial *trial;
	unsigned int event;
	/* The type alone gives the event this role, whatever the conditions of the rule are. */
	bool is_by_type;
};

struct ptrc_roles {
	size_t count;
	struct ptrc_role list[];
};

struct ptrc_judge_source {
	/* The number of places in this source, so far, where events were lost. */
	uint64_t gap_count;
	/* The last event of this source reported a loss. The loss lasts until the next event of the source. */
	bool is_at_loss;
	/* The latest STOP of this source has no START yet; and the time of that STOP. */
	bool is_stopped;
	int64_t stop_ns;
};

/* The kind of key by which rules group events. Rules with the same kind share it, so that the key of an event
 * is made once. */
struct ptrc_judge_key {
	/* The field whose value is the key; NULL: the key is the thread. */
	const char *by_text;
	/* The number of the event for which the key was made. */
	uint64_t event;
	/* Whether that event has such a key. */
	bool has_key;
	struct ptrc_key key;
	uint64_t hash;
};

struct ptrc_judge {
	const struct ptrc_rules *rules;
	/* One trial for each rule, in the order of the rules. */
	struct ptrc_trial *trials;
	/* The number of the current event, counted from 1. */
	uint64_t event_count;
	/* The kinds of keys. Element 0 is for rules without a key: for these, the key of every
	 * event is one constant. */
	struct ptrc_judge_key *keys;
	size_t key_count;
	struct ptrc_judge_source *sources;
	size_t source_count;
	/* The number of sources whose .is_at_loss is true. */
	size_t at_loss_count;
	/* Facts about the logs as a whole. The trials point to them. */
	struct ptrc_ending ending;
};

/* Starts to judge. The caller has called ptrc_rules_bind_again(). The judge must not move in memory afterwards,
 * because trials point into it. */
void ptrc_judge_begin(struct ptrc_judge *, const struct ptrc_rules *, size_t source_count);

/* Returns when the recording ended: at last_ns, the time of the last event, unless all traces were stopped before. The
 * events of a flush may come long after that. */
int64_t ptrc_judge_end_ns(const struct ptrc_judge *, int64_t last_ns);

/* Finds the roles of an event type of this name: the events of rules that it matches. The caller frees the
 * result. */
struct ptrc_roles *ptrc_judge_find_roles(struct ptrc_judge *, const char *name);

/* Takes the current event of the view's reader, with the roles of its type. The caller must also pass the
 * events that report losses, and the next event of the same source after each of them; these may have no
 * roles. */
void ptrc_judge_take(struct ptrc_judge *, const struct ptrc_roles *, struct ptrc_view *,
		     unsigned int source);

/* Notes that events of the source were lost at this time or before it. The caller calls it only for losses that no
 * event reports. */
void ptrc_judge_take_gap(struct ptrc_judge *, int64_t ns, unsigned int source);

/* Notes that the log of the source has no end and stops at this time, while other logs go on. So later events
 * of this source are unknown. */
void ptrc_judge_take_early_end(struct ptrc_judge *, int64_t ns, unsigned int source);

/* Decides all rules. The caller has filled in judge->ending. */
void ptrc_judge_end(struct ptrc_judge *);

/* Frees a judge that was started or that is zeroed. */
void ptrc_judge_free(struct ptrc_judge *);

#endif
