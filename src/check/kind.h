/* SPDX-License-Identifier: MIT */
/* What judge.c and the kinds of rules share. How a kind takes the events of a rule, losses and the end of the trace is
 * in one of the files kind_*.c. */
#ifndef PTRC_SRC_CHECK_KIND_H
#define PTRC_SRC_CHECK_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/check/trial.h"
#include "src/query/view.h"
#include "src/spans/key.h"

struct ptrc_judge_source {
	/* The number of places in this log, so far, where events are missing: losses, stops, and its early end. */
	uint64_t gap_count;
	/* The first event of the log is a START: no event before it was lost. */
	bool has_first;
	/* An event of this source has marked a loss. */
	bool has_loss;
	/* A loss started at the latest event of this source, or first files of its log are missing. It lasts until the
	 * next event of the source. */
	bool is_at_loss;
	struct ptrc_reader_stop stop;
	/* The log has the end of ptrace-run's COMMAND (PTRC_COMMAND_ENDED), and the trace was running then. */
	bool has_seen_end;
	/* If there are several sources: those of this source. */
	const struct ptrc_reader_restarts *restarts;
	/* The source is stopped, and will be restarted; or its first files were deleted, and its first event has not come
	 * yet. */
	bool is_paused;
};

/* A kind of key by which rules group events: the thread, or one field. Rules that group by the same field share
 * this structure, so that the key of an event is made once for all of them. */
struct ptrc_judge_key {
	/* The field whose value is the key; NULL: the key is the thread. */
	const char *by_text;
	/* The number (ptrc_judge.event_count) of the event for which `key` was made. */
	uint64_t event;
	/* Whether that event has the field. If not, `key` and `hash` mean nothing. */
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
	/* The kinds of keys. Element 0 is for rules without a key: the key of every event is one constant. */
	struct ptrc_judge_key *keys;
	size_t key_count;
	struct ptrc_judge_source *sources;
	size_t source_count;
	/* The number of sources whose .is_at_loss is true. */
	size_t at_loss_count;
	/* The number of sources whose .is_paused is true. */
	size_t paused_count;
	/* Facts about the logs as a whole. The trials point to them. */
	struct ptrc_ending ending;
};

/* The current event, taken as one of the events of a rule that it matches. */
struct ptrc_now {
	struct ptrc_judge *judge;
	struct ptrc_trial *trial;
	struct ptrc_view *view;
	struct ptrc_moment at;
	/* Which event of the rule the current event matches, as an index. */
	unsigned int event;
	/* The current event fulfils the conditions of the rule's event. Only rules of the kind pair also take
	 * events that do not. */
	bool is_selected;
};

struct ptrc_kind {
	/* Takes an event of the rule. NULL: forget(), take_first() and take_second() are called instead. */
	void (*take)(struct ptrc_now *);
	/* Drops the remembered answers or waiting events that are older than the tolerance. */
	void (*forget)(struct ptrc_trial *, int64_t ns);
	/* Takes an event that matches the first event of the rule, with its key. */
	void (*take_first)(struct ptrc_now *, const struct ptrc_judge_key *);
	/* Takes an event that matches the second event of the rule, with its key. */
	void (*take_second)(struct ptrc_now *, const struct ptrc_judge_key *);
	/* Notes that events of the source were lost at this time, so that unanswered or waiting events and open pairs
	 * become doubtful. Called before the loss is counted in gap_count. */
	void (*doubt)(struct ptrc_trial *, int64_t ns, unsigned int source);
	/* Notes that the log of the source has no end and stops at this time, before other logs. */
	void (*end_early)(struct ptrc_trial *, int64_t ns, unsigned int source);
	/* Called once at the end of the trace. */
	void (*end)(struct ptrc_trial *);
	/* Called at the end of the trace, after end(), for each entry of the table. */
	void (*end_each)(struct ptrc_trial *, void *thing);
	/* Whether the second event of the rule ends or answers its first event. */
	bool has_ends;
	/* Whether an event that matches several events of the rule is tried as the first of them before the
	 * others. */
	bool is_forward;
};

extern const struct ptrc_kind ptrc_kind_never, ptrc_kind_exists, ptrc_kind_count, ptrc_kind_after,
	ptrc_kind_before, ptrc_kind_pair, ptrc_kind_order;

/* Returns the event's key for the rule. The key is valid until the next event. Returns NULL if the event does not have
 * the field; then counts the event in .without_key if it fulfils the rule's conditions and is not counted there yet. */
static inline const struct ptrc_judge_key *ptrc_now_key(struct ptrc_now *n)
{
	struct ptrc_trial *t = n->trial;
	struct ptrc_judge_key *k = &n->judge->keys[t->key];

	if (t->key && k->event != n->judge->event_count) {
		k->event = n->judge->event_count;
		ptrc_key_free(&k->key);
		k->has_key = ptrc_key_make(&k->key, 0, n->at.source, n->view,
					   k->by_text ? &t->rule->by : NULL);
		k->hash = ptrc_table_hash(k->key.bytes, k->key.size);
	}
	if (k->has_key)
		return k;
	t->lacks_key |= (unsigned int)n->is_selected << n->event;
	if (n->is_selected && t->keyless_event != n->judge->event_count) {
		t->keyless_event = n->judge->event_count;
		t->without_key++;
	}
	return NULL;
}

/* Returns the entry of the key. If there is no such entry, the first function makes it, the second returns NULL. */
static inline void *ptrc_judge_key_find(struct ptrc_table *t, const struct ptrc_judge_key *k,
					size_t size)
{
	return ptrc_table_find_hashed(t, k->hash, k->key.bytes, k->key.size, size);
}

static inline void *ptrc_judge_key_seek(const struct ptrc_table *t, const struct ptrc_judge_key *k)
{
	return ptrc_table_seek_hashed(t, k->hash, k->key.bytes, k->key.size);
}

static inline bool ptrc_rule_is_in_time(const struct ptrc_rule *r, int64_t length_ns)
{
	return r->within_ns < 0 || length_ns <= r->within_ns;
}

/* Whether another source is within a loss now, because its last event reported one. */
static inline bool ptrc_judge_is_other_at_loss(const struct ptrc_judge *j, unsigned int source)
{
	return j->at_loss_count > (size_t)j->sources[source].is_at_loss;
}

/* Whether another source is stopped now, but will be started again. */
static inline bool ptrc_judge_is_other_paused(const struct ptrc_judge *j, unsigned int source)
{
	return j->paused_count > (size_t)j->sources[source].is_paused;
}

#endif
