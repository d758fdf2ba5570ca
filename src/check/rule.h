/* SPDX-License-Identifier: MIT */
/*
 * Rules that a trace has to keep: what they are, and how they are made of what users write, in a
 * file (posixtrace-rules(5)) or as an option of ptrace-check. A mistake ends the process with a
 * message that names the place.
 *
 * Rules live until the process ends, and so do their texts.
 */
#ifndef PTRC_SRC_CHECK_RULE_H
#define PTRC_SRC_CHECK_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/config/mark.h"
#include "src/query/view.h"
#include "src/query/where.h"

enum ptrc_rule_kind {
	PTRC_RULE_NEVER,
	PTRC_RULE_EXISTS,
	PTRC_RULE_COUNT,
	PTRC_RULE_AFTER,
	PTRC_RULE_BEFORE,
	PTRC_RULE_PAIR,
	PTRC_RULE_ORDER,
	PTRC_RULE_LOSS,
	PTRC_RULE_KINDS,
};

/* What the user writes, each as a text: the keys of a rule. The first ones are the kinds. */
enum ptrc_rule_key {
	PTRC_RULE_KEY_NAME = PTRC_RULE_KINDS,
	PTRC_RULE_KEY_WHERE,
	PTRC_RULE_KEY_WITHIN,
	PTRC_RULE_KEY_OF,
	PTRC_RULE_KEY_MIN,
	PTRC_RULE_KEY_MAX,
	PTRC_RULE_KEY_PER,
	PTRC_RULE_KEY_BY,
	PTRC_RULE_KEY_AT_MOST,
	PTRC_RULE_KEY_EXPECT,
	PTRC_RULE_KEY_REQUIRE,
	PTRC_RULE_KEY_MIN_COUNT,
	PTRC_RULE_KEY_AT_END,
	PTRC_RULE_KEY_AT_LOSS,
	PTRC_RULE_KEY_TOLERANCE,
	PTRC_RULE_KEYS,
};

/* Events that a rule is about. */
struct ptrc_rule_event {
	/* The pattern that their names match. */
	const char *pattern;
	/* The expressions that have to hold, or null: of the event itself, and of the key where. */
	const char *texts[2];
	struct ptrc_config_mark marks[2];
	struct ptrc_where *wheres[2];
};

enum ptrc_rule_order { PTRC_RULE_BELOW, PTRC_RULE_AT_MOST, PTRC_RULE_ABOVE, PTRC_RULE_AT_LEAST };

/* What a quantile of the durations of a pair has to be. */
struct ptrc_rule_bound {
	/* As the user writes them: "p99", "< 3ms". */
	const char *key;
	const char *text;
	struct ptrc_config_mark mark;
	/* 0 is the shortest, 1000 the longest. */
	unsigned int per_mille;
	enum ptrc_rule_order order;
	int64_t ns;
};

/* What a rule comes to if the log ends, or events were lost, before it could be decided. */
enum ptrc_rule_doubt { PTRC_RULE_UNDECIDED, PTRC_RULE_IGNORE, PTRC_RULE_FAIL };

/* Events are remembered for as long as the tolerance. */
#define PTRC_RULE_TOLERANCE_MAX INT64_C(60000000000)
#define PTRC_RULE_TOLERANCE INT64_C(1000)

enum { PTRC_RULE_EVENTS_MAX = 16, PTRC_RULE_BOUNDS_MAX = 16, PTRC_RULES_MAX = 1000 };

struct ptrc_rule {
	enum ptrc_rule_kind kind;
	const char *name;
	/* The rule in words, which is also the name of one that has none. */
	const char *text;
	struct ptrc_config_mark mark;
	/* In the order of the kind's keys: after, expect; pair, order: as listed; exists, of. */
	struct ptrc_rule_event events[PTRC_RULE_EVENTS_MAX];
	size_t event_count;
	/* The field of by or per, or null if there is none, and its place. */
	const char *by_text;
	struct ptrc_config_mark by_mark;
	struct ptrc_field by;
	/* -1 if it is not given. */
	int64_t within_ns;
	const char *within_text;
	bool has_min, has_max;
	uint64_t min, max;
	/* How many pairs may be open at a time; UINT64_MAX: any number. */
	uint64_t at_most;
	uint64_t min_count;
	struct ptrc_rule_bound bounds[PTRC_RULE_BOUNDS_MAX];
	size_t bound_count;
	enum ptrc_rule_doubt at_end, at_loss;
	/* -1 if the rule has none of its own. */
	int64_t tolerance_ns;
};

struct ptrc_rules {
	/* The name of the file in messages; an option where there is none. */
	const char *file;
	struct ptrc_rule *list;
	size_t count;
	int64_t tolerance_ns;
	/* The layouts of the file's key decode, and of options. */
	struct ptrc_layouts *layouts;
	/* The file of --config, or null, and the numbers of its layouts. */
	const char *config;
	size_t config_first, config_end;
	/* An expression asks for the time since the event before. */
	bool has_gap;
	/* ... and bound. */
	bool has_bound;
};

/* The values of a rule's keys, as they are gathered. Starts zeroed. */
struct ptrc_rule_draft {
	/* The name of the file, or null: then `option` is what messages name. */
	const char *file;
	const char *option;
	struct ptrc_config_mark mark;
	const char *texts[PTRC_RULE_KEYS];
	struct ptrc_config_mark marks[PTRC_RULE_KEYS];
	/* The events of a kind that has a list of them. */
	const char *events[PTRC_RULE_EVENTS_MAX];
	struct ptrc_config_mark event_marks[PTRC_RULE_EVENTS_MAX];
	size_t event_count;
	struct ptrc_rule_bound bounds[PTRC_RULE_BOUNDS_MAX];
	size_t bound_count;
};

/* Their names, and the kinds of rules that have them, a bit each. */
extern const struct ptrc_rule_key_of {
	const char *name;
	unsigned int kinds;
} ptrc_rule_keys[PTRC_RULE_KEYS];

/* Refuses the draft for a reason at a place. */
void ptrc_rule_refuse(const struct ptrc_rule_draft *, const struct ptrc_config_mark *,
		      const char *format, ...) __attribute__((format(printf, 3, 4), noreturn));

/* Reads a duration. Returns false with the reason if it is none. */
bool ptrc_rule_duration(const char *text, int64_t *ns, struct ptrc_cli_reason *why);

/* Whether the bound is one from above. */
static inline bool ptrc_rule_is_upper(const struct ptrc_rule_bound *b)
{
	return b->order == PTRC_RULE_BELOW || b->order == PTRC_RULE_AT_MOST;
}

/* Whether a duration is below the bound. What is at the bound is below it where that is allowed from
 * below, or forbidden from above. */
static inline bool ptrc_rule_is_below(const struct ptrc_rule_bound *b, int64_t ns)
{
	return b->order == PTRC_RULE_AT_MOST || b->order == PTRC_RULE_ABOVE ? ns <= b->ns
									    : ns < b->ns;
}

/* Makes a rule of the draft and adds it. */
void ptrc_rules_add(struct ptrc_rules *, const struct ptrc_rule_draft *);

/*
 * Finds the fields of the rules and reads their expressions, which takes the layouts. The first call
 * is made before the logs are open: these may tell of more layouts, and what only those can show to be
 * wrong is taken.
 */
void ptrc_rules_bind(struct ptrc_rules *);

/* Does the same once more when the logs have told all layouts that there are. Returns false after a
 * message that names the place if a rule turns out to be wrong. */
bool ptrc_rules_bind_again(struct ptrc_rules *);

/* ---- rule_file.c ---- */

/* Adds the rules of the file; "-" is standard input. */
void ptrc_rules_read(struct ptrc_rules *, const char *path);

/* Adds the rules of a file whose bytes are in memory. Messages call it `name`. */
void ptrc_rules_parse(struct ptrc_rules *, const char *name, const void *bytes, size_t size);

/* ---- rule_option.c: rules in one line ---- */

/* Adds the rule of an option: --after='A -> B within 5ms by data.id'. The option is without its
 * dashes; the text is null for --no-loss. */
void ptrc_rules_take(struct ptrc_rules *, const char *option, const char *text);

/* Gives the draft the two events of a pair, X or BEGIN..END, and the field if "by FIELD" follows. */
void ptrc_rule_take_pair(struct ptrc_rule_draft *, const char *text, size_t size);

#endif
