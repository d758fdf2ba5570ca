/* SPDX-License-Identifier: MIT */
/* Rules in one line, as ptrace-check(1) has them: PATTERN or PATTERN where EXPRESSION for each event, in which quoted
 * text belongs to an expression, and then words with values, in any order. */
#include "config.h"
#include "src/check/rule.h"

#include <stdlib.h>
#include <string.h>

#include "src/config/kept.h"
#include "src/spans/pairs.h"

/* The part of the rule's text that has not been read yet: reading takes parts off its end. */
struct rest {
	const char *text;
	size_t size;
};

/* Words that are followed by a value. The value ends at the next of these words. */
static const struct word {
	const char *text;
	enum ptrc_rule_key key;
} exists_words[] = {{" within ", PTRC_RULE_KEY_WITHIN}, {" of ", PTRC_RULE_KEY_OF}, {0}},
  count_words[] = {{" min ", PTRC_RULE_KEY_MIN},
		   {" max ", PTRC_RULE_KEY_MAX},
		   {" per ", PTRC_RULE_KEY_PER},
		   {0}},
  timed_words[] = {{" within ", PTRC_RULE_KEY_WITHIN}, {" by ", PTRC_RULE_KEY_BY}, {0}},
  by_words[] = {{" by ", PTRC_RULE_KEY_BY}, {0}};

/* Takes these words and their values off the end of the text. Messages name the place of the first
 * event: for a pair in a file, it is the place of the whole text. */
static void take(struct ptrc_rule_draft *d, struct rest *r, const struct word *words)
{
	for (const struct word *w = words; w->text; w++) {
		size_t size = strlen(w->text) - 1;

		if (r->size >= size && !memcmp(r->text + r->size - size, w->text, size))
			ptrc_rule_refuse(d, &d->event_marks[0], "nothing follows '%.*s'",
					 (int)size - 1, w->text + 1);
	}
	for (;;) {
		const struct word *last = NULL;
		size_t from, at = 0;

		for (const struct word *w = words; w->text; w++) {
			size_t place = ptrc_where_find_word(r->text, r->size, w->text, true);

			if (place < r->size && (!last || place > at)) {
				last = w;
				at = place;
			}
		}
		if (!last)
			return;
		if (d->texts[last->key])
			ptrc_rule_refuse(d, &d->event_marks[0], "%s: is given twice",
					 ptrc_rule_keys[last->key].name);
		from = at + strlen(last->text);
		d->texts[last->key] = ptrc_rule_keep(r->text + from, r->size - from);
		r->size = at;
	}
}

/* Splits the text at the word `link` into the texts of two events. */
static void take_two(struct ptrc_rule_draft *d, const struct rest *r, const char *link,
		     const char **first, const char **second)
{
	size_t at = ptrc_where_find_word(r->text, r->size, link, false);

	if (at == r->size)
		ptrc_rule_refuse(d, &d->mark, "'%.200s' lacks '%s' between two events", r->text,
				 link);
	*first = ptrc_rule_keep(r->text, at);
	*second = ptrc_rule_keep(r->text + at + strlen(link), r->size - at - strlen(link));
}

static const char *take_word(struct rest *r)
{
	size_t end;

	while (r->size && r->text[r->size - 1] == ' ')
		r->size--;
	for (end = r->size; r->size && r->text[r->size - 1] != ' ';)
		r->size--;
	return ptrc_rule_keep(r->text + r->size, end - r->size);
}

/* Takes a bound: the text from its < or > on, which "by FIELD" may follow. If `quantile` is NULL, the word before that
 * sign is the quantile. */
static void take_bound(struct ptrc_rule_draft *d, struct rest *r, const char *quantile)
{
	size_t below = ptrc_where_find_word(r->text, r->size, "<", true);
	size_t above = ptrc_where_find_word(r->text, r->size, ">", true);
	size_t at = below == r->size || (above != r->size && above > below) ? above : below;
	struct rest bound = {r->text + at, r->size - at};

	if (at == r->size)
		ptrc_rule_refuse(d, &d->mark, "'%.200s' lacks a bound such as '< 3ms'", r->text);
	take(d, &bound, by_words);
	d->bounds[0].text = ptrc_rule_keep(bound.text, bound.size);
	r->size = at;
	d->bounds[0].key = quantile ? quantile : take_word(r);
	d->bound_count = 1;
	if (!ptrc_quantile_read(d->bounds[0].key, &d->bounds[0].per_million))
		ptrc_rule_refuse(d, &d->mark, "'%.80s' is no quantile such as p99.9, min or max",
				 d->bounds[0].key);
}

static bool ends_with(const struct rest *r, const char *end)
{
	size_t size = strlen(end);

	return r->size > size && !memcmp(r->text + r->size - size, end, size);
}

/* Takes "N at once", which "by FIELD" may follow, off the end of the text. */
static void take_at_most(struct ptrc_rule_draft *d, struct rest *r)
{
	static const char end[] = " at once";
	size_t at;

	if (!ends_with(r, end))
		take(d, r, by_words);
	if (!ends_with(r, end))
		ptrc_rule_refuse(d, &d->mark, "'%.200s' lacks a bound such as '3 at once'",
				 r->text);
	for (at = r->size - (sizeof(end) - 1); at && r->text[at - 1] != ' ';)
		at--;
	d->texts[PTRC_RULE_KEY_AT_MOST] = ptrc_rule_keep(r->text + at, r->size - at);
	r->size = at;
}

void ptrc_rule_take_pair(struct ptrc_rule_draft *d, const char *text, size_t size)
{
	struct rest r = {text, size};
	char *names[2];

	take(d, &r, by_words);
	if (!ptrc_pair_read_names(r.text, r.size, names))
		ptrc_rule_refuse(d, &d->event_marks[0],
				 "'%.*s' is not X, for X.begin..X.end, or BEGIN..END", (int)r.size,
				 r.text);
	for (d->event_count = 0; d->event_count < 2; d->event_count++) {
		char *name = names[d->event_count];

		d->events[d->event_count] = strcpy(ptrc_config_keep(strlen(name) + 1), name);
		free(name);
	}
}

static void take_order(struct ptrc_rule_draft *d, struct rest r)
{
	size_t at;

	do {
		if (d->event_count == PTRC_RULE_EVENTS_MAX)
			ptrc_rule_refuse(d, &d->mark, "more than %d events", PTRC_RULE_EVENTS_MAX);
		at = ptrc_where_find_word(r.text, r.size, ",", false);
		d->events[d->event_count++] = ptrc_rule_keep(r.text, at);
		r.text += at < r.size ? at + 1 : at;
		r.size -= at < r.size ? at + 1 : at;
	} while (r.size);
}

void ptrc_rules_take(struct ptrc_rules *rules, const char *option, const char *text)
{
	struct ptrc_rule_draft d = {0};
	struct rest r = {text, text ? strlen(text) : 0};
	char *name;

	name = ptrc_config_keep(strlen(option) + 3);
	stpcpy(stpcpy(name, "--"), option);
	d.option = name;
	if (!strcmp(option, "no-loss")) {
		d.texts[PTRC_RULE_LOSS] = "none";
	} else if (!strcmp(option, "never")) {
		d.texts[PTRC_RULE_NEVER] = ptrc_rule_keep(r.text, r.size);
	} else if (!strcmp(option, "exists")) {
		take(&d, &r, exists_words);
		d.texts[PTRC_RULE_EXISTS] = ptrc_rule_keep(r.text, r.size);
	} else if (!strcmp(option, "times")) {
		take(&d, &r, count_words);
		d.texts[PTRC_RULE_COUNT] = ptrc_rule_keep(r.text, r.size);
	} else if (!strcmp(option, "after") || !strcmp(option, "before")) {
		take(&d, &r, timed_words);
		if (*option == 'a')
			take_two(&d, &r, "->", &d.texts[PTRC_RULE_AFTER],
				 &d.texts[PTRC_RULE_KEY_EXPECT]);
		else
			take_two(&d, &r, " require ", &d.texts[PTRC_RULE_BEFORE],
				 &d.texts[PTRC_RULE_KEY_REQUIRE]);
	} else if (!strcmp(option, "order")) {
		d.texts[PTRC_RULE_ORDER] = text;
		take(&d, &r, by_words);
		take_order(&d, r);
	} else {
		d.texts[PTRC_RULE_PAIR] = text;
		if (!strcmp(option, "at-most"))
			take_at_most(&d, &r);
		else
			take_bound(&d, &r, strcmp(option, "pair") ? option : NULL);
		ptrc_rule_take_pair(&d, r.text, r.size);
	}
	ptrc_rules_add(rules, &d);
}
