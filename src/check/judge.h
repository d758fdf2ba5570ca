/* SPDX-License-Identifier: MIT */
/*
 * Judges a trace by rules, as its events come in their order. What it remembers of a rule grows with
 * the keys that are open, or, where a rule is about all that came before, with the keys.
 *
 * Three things make that a rule cannot be decided: the log ends while something is open; events, or
 * data of them, were lost where those that matter may be among them; and, of two threads, it is not known which event
 * was the first. The latter is decided in favour of the rule, if the events are as near to each other
 * as the rule's tolerance.
 */
#ifndef PTRC_SRC_CHECK_JUDGE_H
#define PTRC_SRC_CHECK_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/check/trial.h"
#include "src/spans/key.h"
#include "src/query/view.h"

/* What an event type is for a rule: the event of this number. */
struct ptrc_role {
	struct ptrc_trial *trial;
	unsigned int event;
	/* The same, if expressions have to hold for it; else null. */
	struct ptrc_rule_event *conditions;
};

struct ptrc_roles {
	size_t count;
	struct ptrc_role list[];
};

/* A log whose events are taken. */
struct ptrc_judge_source {
	/* Places with losses so far. */
	uint64_t gap_count;
	/* The event before began a loss, which reaches to the next one. */
	bool is_at_loss;
};

/* A key that rules want of events, made once for all of them. */
struct ptrc_judge_key {
	/* The field, or null: the thread is the key. */
	const char *by_text;
	/* The number of the event that it is the key of, and whether that has one. */
	uint64_t event;
	bool is_there;
	struct ptrc_key key;
	uint64_t hash;
};

struct ptrc_judge {
	const struct ptrc_rules *rules;
	/* In the order of the rules. */
	struct ptrc_trial *trials;
	/* The time of the first event. */
	int64_t start_ns;
	/* Events that have been taken so far; that is the number of the last one. */
	uint64_t event_count;
	/* The first one is the same for all events, of rules that have no key. */
	struct ptrc_judge_key *keys;
	size_t key_count;
	/* By their numbers. */
	struct ptrc_judge_source *sources;
	size_t source_count;
	/* How many of them are at a loss. */
	size_t at_loss_count;
	/* Places with losses so far, in all of them, and events while another source was at one; the times
	 * of the first place and the last one. */
	uint64_t gap_count;
	int64_t first_gap_ns, last_gap_ns;
	/* When the first log that has no end ended before others did; INT64_MAX: none has. */
	int64_t early_end_ns;
};

/* The rules have been bound. */
void ptrc_judge_begin(struct ptrc_judge *, const struct ptrc_rules *, size_t source_count);

/* Finds out what the events of this name are for the rules. The caller frees it. */
struct ptrc_roles *ptrc_judge_find_roles(struct ptrc_judge *, const char *name);

/* Takes the event that the view's reader has read, with the roles of its type. Besides the events that
 * the rules are about it needs those at places with losses, and of each source the one behind such an
 * event. */
void ptrc_judge_take(struct ptrc_judge *, const struct ptrc_roles *, struct ptrc_view *,
		     unsigned int source);

/* Whether the next event of the source is behind a place with losses. */
bool ptrc_judge_is_at_loss(const struct ptrc_judge *, unsigned int source);

/* Learns that events of the source were lost before, or at, that time, of which no event tells. */
void ptrc_judge_take_gap(struct ptrc_judge *, int64_t ns, unsigned int source);

/* Learns that the log of the source has no end, and that its last event, at that time, is before those of
 * others: it is not known what came after it. */
void ptrc_judge_take_early_end(struct ptrc_judge *, int64_t ns, unsigned int source);

/* Decides all rules. */
void ptrc_judge_end(struct ptrc_judge *, const struct ptrc_ending *);

void ptrc_judge_free(struct ptrc_judge *);

#endif
