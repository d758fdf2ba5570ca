/* SPDX-License-Identifier: MIT */
/* Rules from a file in YAML (posixtrace-rules(5)). */
#include "config.h"

#include <string.h>

#include "src/check/rule.h"
#include "src/config/yaml_file.h"
#include "src/spans/quantiles.h"

#define KEY_RULES "rules"
#define KEY_DECODE "decode"
#define KEY_TOLERANCE "tolerance"

static const char *read_text(struct ptrc_yaml *y, const char *key)
{
	ptrc_yaml_next(y);
	if (!ptrc_yaml_is_value(y))
		ptrc_yaml_refuse(y, "%s: has to be a single value, not %s", key, ptrc_yaml_what(y));
	return ptrc_yaml_text(y);
}

/* Reads the list of events of a pair or an order, or the name of a pair. */
static void read_events(struct ptrc_yaml *y, struct ptrc_rule_draft *d, const char *key,
			bool is_pair)
{
	ptrc_yaml_next(y);
	if (is_pair && ptrc_yaml_is_value(y)) {
		const char *text = ptrc_yaml_text(y);
		bool has_field = d->texts[PTRC_RULE_KEY_BY];

		d->event_marks[0] = d->event_marks[1] = ptrc_yaml_mark(y);
		ptrc_rule_take_pair(d, text, strlen(text));
		if (!has_field)
			d->marks[PTRC_RULE_KEY_BY] = d->event_marks[0];
		return;
	}
	if (y->event.type != YAML_SEQUENCE_START_EVENT)
		ptrc_yaml_refuse(y, "%s: has to be a list of events, not %s", key,
				 ptrc_yaml_what(y));
	while (ptrc_yaml_next(y) != YAML_SEQUENCE_END_EVENT) {
		if (!ptrc_yaml_is_value(y))
			ptrc_yaml_refuse(y, "%s: has to be the name of an event, not %s", key,
					 ptrc_yaml_what(y));
		if (d->event_count == PTRC_RULE_EVENTS_MAX)
			ptrc_yaml_refuse(y, "%s: more than %d events", key, PTRC_RULE_EVENTS_MAX);
		d->event_marks[d->event_count] = ptrc_yaml_mark(y);
		d->events[d->event_count++] = ptrc_yaml_text(y);
	}
}

static void read_bound(struct ptrc_yaml *y, struct ptrc_rule_draft *d, const char *key,
		       unsigned int per_million)
{
	struct ptrc_rule_bound b = {
		.key = key, .mark = ptrc_yaml_mark(y), .per_million = per_million};

	for (size_t i = 0; i < d->bound_count; i++)
		if (!strcmp(d->bounds[i].key, key))
			ptrc_yaml_refuse(y, "'%s' is given twice, first in line %zu", key,
					 d->bounds[i].mark.line);
	if (d->bound_count == PTRC_RULE_BOUNDS_MAX)
		ptrc_yaml_refuse(y, "more than %d bounds", PTRC_RULE_BOUNDS_MAX);
	b.text = read_text(y, key);
	b.mark = ptrc_yaml_mark(y);
	d->bounds[d->bound_count++] = b;
}

static void read_member(struct ptrc_yaml *y, struct ptrc_rule_draft *d)
{
	const char *text = ptrc_yaml_key(y);
	struct ptrc_nearest nearest = {0};
	unsigned int per_million;
	int key = 0;

	for (; key < PTRC_RULE_KEYS && strcmp(ptrc_rule_keys[key].name, text); key++)
		ptrc_nearest_offer(&nearest, text, ptrc_rule_keys[key].name);
	/* For a rule of the kind count, the value is a number; for pair, it is a bound. The kind may follow
	 * later in the file, so the value is kept as both until settle_bounds(). */
	if (key == PTRC_RULE_KEY_MIN || key == PTRC_RULE_KEY_MAX) {
		read_bound(y, d, text, key == PTRC_RULE_KEY_MAX ? PTRC_QUANTILE_MAX : 0);
		d->texts[key] = d->bounds[d->bound_count - 1].text;
		d->marks[key] = d->bounds[d->bound_count - 1].mark;
		return;
	}
	if (key == PTRC_RULE_KEYS && ptrc_quantile_read(text, &per_million)) {
		read_bound(y, d, text, per_million);
		return;
	}
	if (key == PTRC_RULE_KEYS)
		ptrc_yaml_refuse_key(y, text, &nearest);
	if (d->texts[key])
		ptrc_yaml_refuse(y, "'%s' is given twice, first in line %zu", text,
				 d->marks[key].line);
	d->marks[key] = ptrc_yaml_mark(y);
	if (key == PTRC_RULE_PAIR || key == PTRC_RULE_ORDER) {
		if (d->event_count)
			ptrc_yaml_refuse(y, "'pair' and 'order' are two rules: give each its own");
		read_events(y, d, text, key == PTRC_RULE_PAIR);
		d->texts[key] = text;
		return;
	}
	d->texts[key] = read_text(y, text);
	/* Messages about a value name the place of the value. Messages about a kind name the place of its
	 * key. */
	if (key >= PTRC_RULE_KINDS)
		d->marks[key] = ptrc_yaml_mark(y);
}

static void settle_bounds(struct ptrc_rule_draft *d)
{
	size_t count = 0;

	if (d->texts[PTRC_RULE_PAIR]) {
		d->texts[PTRC_RULE_KEY_MIN] = d->texts[PTRC_RULE_KEY_MAX] = NULL;
		return;
	}
	for (size_t i = 0; i < d->bound_count; i++)
		if (d->bounds[i].per_million % PTRC_QUANTILE_MAX)
			d->bounds[count++] = d->bounds[i];
	d->bound_count = count;
}

static void read_rule(struct ptrc_yaml *y, struct ptrc_rules *rules)
{
	struct ptrc_rule_draft d = {.file = y->name, .mark = ptrc_yaml_mark(y)};

	if (y->event.type != YAML_MAPPING_START_EVENT)
		ptrc_yaml_refuse(y, "a rule has to be a mapping, not %s", ptrc_yaml_what(y));
	while (ptrc_yaml_next(y) != YAML_MAPPING_END_EVENT)
		read_member(y, &d);
	settle_bounds(&d);
	ptrc_rules_add(rules, &d);
}

static void read_rules(struct ptrc_yaml *y, struct ptrc_rules *rules)
{
	size_t count = rules->count;

	ptrc_yaml_next(y);
	if (y->event.type != YAML_SEQUENCE_START_EVENT)
		ptrc_yaml_refuse(y, KEY_RULES ": has to be a list, not %s", ptrc_yaml_what(y));
	while (ptrc_yaml_next(y) != YAML_SEQUENCE_END_EVENT)
		read_rule(y, rules);
	if (rules->count == count)
		ptrc_yaml_refuse(y, KEY_RULES ": the list is empty");
}

static void read_layouts(struct ptrc_yaml *y, struct ptrc_rules *rules)
{
	struct ptrc_cli_reason why;

	ptrc_yaml_next(y);
	if (y->event.type != YAML_MAPPING_START_EVENT)
		ptrc_yaml_refuse(y, KEY_DECODE ": has to be a mapping, not %s", ptrc_yaml_what(y));
	while (ptrc_yaml_next(y) != YAML_MAPPING_END_EVENT) {
		const char *event = ptrc_yaml_key(y);
		const char *layout = read_text(y, KEY_DECODE);

		if (!ptrc_layouts_add(rules->layouts, event, layout, &why))
			ptrc_yaml_refuse(y, KEY_DECODE ": %.80s: %s", event, why.text);
	}
}

static void read_tolerance(struct ptrc_yaml *y, struct ptrc_rules *rules)
{
	struct ptrc_cli_reason why;

	if (!ptrc_rule_duration(read_text(y, KEY_TOLERANCE), &rules->tolerance_ns, &why))
		ptrc_yaml_refuse(y, KEY_TOLERANCE ": %s", why.text);
	if (rules->tolerance_ns > PTRC_RULE_TOLERANCE_MAX)
		ptrc_yaml_refuse(y, KEY_TOLERANCE ": is more than a minute");
}

static const struct {
	const char *name;
	void (*read)(struct ptrc_yaml *, struct ptrc_rules *);
} file_keys[] = {
	{KEY_RULES, read_rules}, {KEY_DECODE, read_layouts}, {KEY_TOLERANCE, read_tolerance}};
enum { FILE_KEYS = sizeof(file_keys) / sizeof(*file_keys) };

static void read_root(struct ptrc_yaml *y, struct ptrc_rules *rules)
{
	bool is_given[FILE_KEYS] = {false};
	struct ptrc_config_mark mark = ptrc_yaml_mark(y);

	if (y->event.type != YAML_MAPPING_START_EVENT)
		ptrc_yaml_refuse(y, "has to be a mapping with the key '" KEY_RULES "', not %s",
				 ptrc_yaml_what(y));
	while (ptrc_yaml_next(y) != YAML_MAPPING_END_EVENT) {
		const char *text = ptrc_yaml_key(y);
		struct ptrc_nearest nearest = {0};
		size_t key = 0;

		for (; key < FILE_KEYS && strcmp(file_keys[key].name, text); key++)
			ptrc_nearest_offer(&nearest, text, file_keys[key].name);
		if (key == FILE_KEYS)
			ptrc_yaml_refuse_key(y, text, &nearest);
		if (is_given[key])
			ptrc_yaml_refuse(y, "'%s' is given twice", text);
		is_given[key] = true;
		file_keys[key].read(y, rules);
	}
	if (!is_given[0])
		ptrc_yaml_refuse_at(y->name, &mark, "has no key '" KEY_RULES "'");
}

void ptrc_rules_parse(struct ptrc_rules *rules, const char *name, const void *bytes, size_t size)
{
	static struct ptrc_yaml y;

	rules->file = name;
	y = (struct ptrc_yaml){.name = name, .anchor_advice = ""};
	if (!ptrc_yaml_begin(&y, bytes, size))
		ptrc_yaml_refuse_at(name, &(struct ptrc_config_mark){1, 1}, "has no rules");
	read_root(&y, rules);
	ptrc_yaml_end(&y);
}

void ptrc_rules_read(struct ptrc_rules *rules, const char *path)
{
	const char *name;
	size_t size;
	const void *bytes = ptrc_yaml_read(path, &name, &size);

	ptrc_rules_parse(rules, name, bytes, size);
}
