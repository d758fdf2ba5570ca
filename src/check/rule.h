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

/* The keys of a rule in a file. The first ones are the kinds. */
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
	/* The pattern for the names of its types. */
	const char *pattern;
	/* [0]: the condition of the event itself; [1]: that of the key `where`. NULL: none. */
	const char *texts[2];
	struct ptrc_config_mark marks[2];
	struct ptrc_where *wheres[2];
};

enum ptrc_rule_order { PTRC_RULE_BELOW, PTRC_RULE_AT_MOST, PTRC_RULE_ABOVE, PTRC_RULE_AT_LEAST };

/* A bound for a quantile of the durations of a pair. */
struct ptrc_rule_bound {
	/* As the user writes them: "p99", "< 3ms". */
	const char *key;
	const char *text;
	struct ptrc_config_mark mark;
	/* 0 is the shortest, 1000 the longest. */
	unsigned int per_million;
	enum ptrc_rule_order order;
	int64_t ns;
};

/* The verdict of a rule if the log ends, or events were lost, before it could be decided. */
enum ptrc_rule_doubt { PTRC_RULE_UNDECIDED, PTRC_RULE_IGNORE, PTRC_RULE_FAIL };

/* The largest tolerance is limited because events are kept in memory for that time. */
#define PTRC_RULE_TOLERANCE_MAX INT64_C(60000000000)
#define PTRC_RULE_TOLERANCE INT64_C(1000)

enum { PTRC_RULE_EVENTS_MAX = 16, PTRC_RULE_BOUNDS_MAX = 16, PTRC_RULES_MAX = 1000 };

struct ptrc_rule {
	enum ptrc_rule_kind kind;
	const char *name;
	/* The rule on one line, which is also the name of a rule without one. */
	const char *text;
	/* Line 0: the rule was given as an option. */
	struct ptrc_config_mark mark;
	/* As listed for pair and order; else those of the kind's key and of `expect`, `require` or `of`, in this
	 * order. */
	struct ptrc_rule_event events[PTRC_RULE_EVENTS_MAX];
	size_t event_count;
	/* The field of `by` or `per`; NULL: none. */
	const char *by_text;
	struct ptrc_config_mark by_mark;
	struct ptrc_field by;
	/* -1: it is not given. */
	int64_t within_ns;
	const char *within_text;
	bool has_max;
	uint64_t min, max;
	/* The number of pairs that may be open at a time; UINT64_MAX: any number. */
	uint64_t at_most;
	uint64_t min_count;
	struct ptrc_rule_bound bounds[PTRC_RULE_BOUNDS_MAX];
	size_t bound_count;
	enum ptrc_rule_doubt at_end, at_loss;
	/* -1: that of ptrc_rules. */
	int64_t tolerance_ns;
};

struct ptrc_rules {
	/* The name of the file in messages; NULL: all rules are options. */
	const char *file;
	struct ptrc_rule *list;
	size_t count;
	int64_t tolerance_ns;
	/* The layouts of the file's key `decode`, and of options. */
	struct ptrc_layouts *layouts;
	/* The file of --config, or NULL, and the indexes of its layouts: [first, end). */
	const char *config;
	size_t config_first, config_end;
	/* Expressions ask for the fields `gap`, `bound`. */
	bool has_gap, has_bound;
};

/* The values of a rule's keys while they are read. Starts zeroed. */
struct ptrc_rule_draft {
	/* The name of the file in messages; NULL: they name `option`. */
	const char *file;
	const char *option;
	struct ptrc_config_mark mark;
	const char *texts[PTRC_RULE_KEYS];
	struct ptrc_config_mark marks[PTRC_RULE_KEYS];
	/* The events of pair and order. */
	const char *events[PTRC_RULE_EVENTS_MAX];
	struct ptrc_config_mark event_marks[PTRC_RULE_EVENTS_MAX];
	size_t event_count;
	struct ptrc_rule_bound bounds[PTRC_RULE_BOUNDS_MAX];
	size_t bound_count;
};

/* The names of the keys, and the kinds of rules that may have them, a bit each. */
extern const struct ptrc_rule_key_of {
	const char *name;
	unsigned int kinds;
} ptrc_rule_keys[PTRC_RULE_KEYS];

/* Ends the process with a message about the draft at this place. */
void ptrc_rule_refuse(const struct ptrc_rule_draft *, const struct ptrc_config_mark *,
		      const char *format, ...) __attribute__((format(printf, 3, 4), noreturn));

/* Copies the text without the blanks around it into memory that is never freed. */
const char *ptrc_rule_keep(const char *text, size_t size);

/* Reads a duration. Returns false with the reason if the text is none. */
bool ptrc_rule_duration(const char *text, int64_t *ns, struct ptrc_cli_reason *why);

/* Whether it is an upper bound. */
static inline bool ptrc_rule_is_upper(const struct ptrc_rule_bound *b)
{
	return b->order == PTRC_RULE_BELOW || b->order == PTRC_RULE_AT_MOST;
}

/* Whether a duration is below the bound. One that is equal to it counts as below for <= and for >, so that an upper
 * bound allows what is below it, and a lower bound forbids that. */
static inline bool ptrc_rule_is_below(const struct ptrc_rule_bound *b, int64_t ns)
{
	return b->order == PTRC_RULE_AT_MOST || b->order == PTRC_RULE_ABOVE ? ns <= b->ns
									    : ns < b->ns;
}

/* Makes a rule of the draft and adds it. */
void ptrc_rules_add(struct ptrc_rules *, const struct ptrc_rule_draft *);

/* Finds the fields of the rules and parses their expressions, before the logs are open. A field of an unknown
 * layout is accepted, because logs have layouts, too. */
void ptrc_rules_bind(struct ptrc_rules *);

/* Does the same again with the layouts of the logs. Returns false, after a message that names the place, if a rule is
 * wrong. */
bool ptrc_rules_bind_again(struct ptrc_rules *);

/* Adds the rules of the file; "-" is standard input. */
void ptrc_rules_read(struct ptrc_rules *, const char *path);

/* Adds the rules of a file whose bytes are in memory. Messages call it `name`. */
void ptrc_rules_parse(struct ptrc_rules *, const char *name, const void *bytes, size_t size);

/* Adds the rule of an option such as --after='A -> B within 5ms by data.id'. The option is without its dashes; the
 * text is NULL for --no-loss. */
void ptrc_rules_take(struct ptrc_rules *, const char *option, const char *text);

/* Reads the two events of a pair, X or BEGIN..END, and its field if "by FIELD" follows, into the draft. */
void ptrc_rule_take_pair(struct ptrc_rule_draft *, const char *text, size_t size);

#endif
