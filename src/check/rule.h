/* SPDX-License-Identifier: MIT */
/*
 * Rules for traces, read from a file (posixtrace-rules(5)) or from options of ptrace-check. A mistake ends the
 * process with a message that names the place. Rules and their texts are never freed.
 */
#ifndef PTRC_SRC_CHECK_RULE_H
#define PTRC_SRC_CHECK_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/config/mark.h"
#include "src/query/query.h"
#include "src/query/view.h"
#include "src/query/where.h"
#include "src/spans/quantiles.h"

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

/* The keys of a rule in a file. The kinds of rules come first: each is a key, too. */
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

struct ptrc_rule_event {
	/* The pattern that the names of its event types match. */
	const char *pattern;
	/* Conditions, or NULL: [0] is the one written with this event; [1] is that of the key `where`. */
	const char *texts[2];
	struct ptrc_config_mark marks[2];
	struct ptrc_where *wheres[2];
};

enum ptrc_rule_order { PTRC_RULE_BELOW, PTRC_RULE_AT_MOST, PTRC_RULE_ABOVE, PTRC_RULE_AT_LEAST };

/* A bound for a quantile of the durations of a pair. */
struct ptrc_rule_bound {
	/* The bound as the user wrote it, for example "p99" and "< 3ms". */
	const char *key;
	const char *text;
	struct ptrc_config_mark mark;
	/* The quantile: 0 is the shortest duration, PTRC_QUANTILE_MAX the longest. */
	unsigned int per_million;
	enum ptrc_rule_order order;
	int64_t ns;
};

/* The verdict on a rule that the end of the log (at_end) or a loss (at_loss) leaves undecided. IGNORE: the rule
 * is decided as if nothing were missing. */
enum ptrc_rule_doubt { PTRC_RULE_UNDECIDED, PTRC_RULE_IGNORE, PTRC_RULE_FAIL };

/* The largest tolerance and the default one, in nanoseconds. Events are kept in memory for as long as the
 * tolerance, so it is limited. */
#define PTRC_RULE_TOLERANCE_MAX INT64_C(60000000000)
#define PTRC_RULE_TOLERANCE INT64_C(1000)

enum { PTRC_RULE_EVENTS_MAX = 16, PTRC_RULE_BOUNDS_MAX = 16, PTRC_RULES_MAX = 1000 };

struct ptrc_rule {
	enum ptrc_rule_kind kind;
	const char *name;
	/* The rule on one line. It is also the name of a rule that has no name. */
	const char *text;
	/* The place of the rule in the file. The line is 0 if the rule was given as an option. */
	struct ptrc_config_mark mark;
	/* For the kinds pair and order, the events in the order of the list. Otherwise the event of the
	 * kind's key, then that of `expect`, `require` or `of`. */
	struct ptrc_rule_event events[PTRC_RULE_EVENTS_MAX];
	size_t event_count;
	/* The field of the key `by` or `per`; NULL if there is none. */
	const char *by_text;
	struct ptrc_config_mark by_mark;
	struct ptrc_field by;
	/* The duration of the key `within`; -1 if it is not given. */
	int64_t within_ns;
	const char *within_text;
	bool has_max;
	uint64_t min, max;
	/* How many pairs may be open at the same time; UINT64_MAX: any number. */
	uint64_t at_most;
	uint64_t min_count;
	struct ptrc_rule_bound bounds[PTRC_RULE_BOUNDS_MAX];
	size_t bound_count;
	enum ptrc_rule_doubt at_end, at_loss;
	/* The rule's own tolerance; -1: that of ptrc_rules applies. */
	int64_t tolerance_ns;
};

struct ptrc_rules {
	/* The name of the file for messages; NULL if all rules are options. */
	const char *file;
	struct ptrc_rule *list;
	size_t count;
	int64_t tolerance_ns;
	/* The layouts of the file's key `decode`, and those of options. */
	struct ptrc_layouts *layouts;
	/* The file of --config, or NULL. */
	const char *config;
	/* The indexes of the layouts of --config: from config_first up to, but not including, config_end. */
	size_t config_first, config_end;
	/* Whether an expression uses the field `gap`, or the field `bound`. */
	bool has_gap, has_bound;
};

/* The values of a rule's keys while they are read. Starts zeroed. */
struct ptrc_rule_draft {
	/* The name of the file for messages. If it is NULL, messages name `option`. */
	const char *file;
	const char *option;
	struct ptrc_config_mark mark;
	const char *texts[PTRC_RULE_KEYS];
	struct ptrc_config_mark marks[PTRC_RULE_KEYS];
	/* The events of a rule of the kind pair or order. */
	const char *events[PTRC_RULE_EVENTS_MAX];
	struct ptrc_config_mark event_marks[PTRC_RULE_EVENTS_MAX];
	size_t event_count;
	struct ptrc_rule_bound bounds[PTRC_RULE_BOUNDS_MAX];
	size_t bound_count;
};

/* For each key, its name, and the kinds of rules that may have it: bit i stands for kind i. */
extern const struct ptrc_rule_key_of {
	const char *name;
	unsigned int kinds;
} ptrc_rule_keys[PTRC_RULE_KEYS];

/* Ends the process with a message about this place of the draft. */
void ptrc_rule_refuse(const struct ptrc_rule_draft *, const struct ptrc_config_mark *,
		      const char *format, ...) __attribute__((format(printf, 3, 4), noreturn));

/* Copies the text, without blanks at its start and end, into memory that is never freed. */
const char *ptrc_rule_keep(const char *text, size_t size);

/* Reads a duration. If the text is not one, returns false and stores the reason. */
bool ptrc_rule_duration(const char *text, int64_t *ns, struct ptrc_cli_reason *why);

static inline bool ptrc_rule_is_upper(const struct ptrc_rule_bound *b)
{
	return b->order == PTRC_RULE_BELOW || b->order == PTRC_RULE_AT_MOST;
}

/* Whether a duration is below the bound. A duration that is equal to the bound counts as below it for <= and for >.
 * So an upper bound allows the durations below it, and a lower bound forbids them. */
static inline bool ptrc_rule_is_below(const struct ptrc_rule_bound *b, int64_t ns)
{
	return b->order == PTRC_RULE_AT_MOST || b->order == PTRC_RULE_ABOVE ? ns <= b->ns
									    : ns < b->ns;
}

/* Whether a single duration can break the bound: it is an upper bound for the longest duration, or a lower bound
 * for the shortest one. */
static inline bool ptrc_rule_is_limit(const struct ptrc_rule_bound *b)
{
	return b->per_million == (ptrc_rule_is_upper(b) ? PTRC_QUANTILE_MAX : 0);
}

/* Makes a rule from the draft and adds it. */
void ptrc_rules_add(struct ptrc_rules *, const struct ptrc_rule_draft *);

/* Finds the fields of the rules and parses their expressions, before the logs are open. If the layout of a
 * field is not known yet, the field is accepted, because the logs may have the layout. */
void ptrc_rules_bind(struct ptrc_rules *);

/* Does the same as ptrc_rules_bind(), but knows the event types of the logs: if they have one of the rule's, a field
 * that no layout has is a mistake. Returns false, after a message that names the place, if a rule is wrong. */
bool ptrc_rules_bind_again(struct ptrc_rules *, struct ptrc_query *);

/* Adds the rules of the file. "-" means standard input. */
void ptrc_rules_read(struct ptrc_rules *, const char *path);

/* Adds the rules of a file that is in memory. Messages call the file `name`. */
void ptrc_rules_parse(struct ptrc_rules *, const char *name, const void *bytes, size_t size);

/* Adds the rule of an option such as --after='A -> B within 5ms by data.id'. `option` has no dashes. `text`
 * is NULL for --no-loss. */
void ptrc_rules_take(struct ptrc_rules *, const char *option, const char *text);

/* Reads the events of a pair, X or BEGIN..END, and its field if "by FIELD" follows. Stores all in the draft. */
void ptrc_rule_take_pair(struct ptrc_rule_draft *, const char *text, size_t size);

#endif
