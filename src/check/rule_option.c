/* SPDX-License-Identifier: MIT */
/*
 * Rules in one line:
 *
 * 	never    EVENT
 * 	exists   EVENT [within DURATION [of EVENT|start]]
 * 	count    EVENT [min N] [max N] [per FIELD]
 * 	after    EVENT -> EVENT [within DURATION] [by FIELD]
 * 	before   EVENT require EVENT [within DURATION] [by FIELD]
 * 	p99      EVENT..EVENT [by FIELD] < DURATION
 * 	order    EVENT, EVENT ... [by FIELD]
 *
 * EVENT is a pattern, behind which "where EXPRESSION" may stand. What is in quotes belongs to an
 * expression.
 */
#include "config.h"
#include "src/check/rule.h"

#include <string.h>

#include "src/config/kept.h"

/* What is left of the text. */
struct rest {
	const char *text;
	size_t size;
};

static const char *keep(struct rest r)
{
	char *copy;

	while (r.size && *r.text == ' ') {
		r.text++;
		r.size--;
	}
	while (r.size && r.text[r.size - 1] == ' ')
		r.size--;
	copy = ptrc_config_keep(r.size + 1);
	memcpy(copy, r.text, r.size);
	copy[r.size] = '\0';
	return copy;
}

/* The first, or the last, place of the word outside of quotes; the size if there is none. */
static size_t find(const struct rest *r, const char *word, bool is_last)
{
	size_t size = strlen(word);
	size_t found = r->size;
	char quote = '\0';

	for (size_t i = 0; i + size <= r->size; i++) {
		char c = r->text[i];

		if (quote && c == '\\') {
			i++;
		} else if (quote) {
			quote = c == quote ? '\0' : quote;
		} else if (c == '"' || c == '\'') {
			quote = c;
		} else if (!memcmp(r->text + i, word, size)) {
			found = i;
			if (!is_last)
				break;
		}
	}
	return found;
}

/* Cuts the word and what is behind its last place off. Returns that, or null if it is not there. */
static const char *cut(struct rest *r, const char *word)
{
	size_t at = find(r, word, true);
	const char *value;

	if (at == r->size)
		return NULL;
	value = keep((struct rest){r->text + at + strlen(word), r->size - at - strlen(word)});
	r->size = at;
	return value;
}

/* Gives the draft the value behind a word such as " by ", if the word is there. */
static void take(struct ptrc_rule_draft *d, struct rest *r, const char *word,
		 enum ptrc_rule_key key)
{
	d->texts[key] = cut(r, word);
}

/* Takes what is on both sides of the link. */
static void take_two(struct ptrc_rule_draft *d, const struct rest *r, const char *link,
		     const char **first, const char **second)
{
	size_t at = find(r, link, false);

	if (at == r->size)
		ptrc_rule_refuse(d, &d->mark, "'%.200s' lacks '%s' between two events", r->text,
				 link);
	*first = keep((struct rest){r->text, at});
	*second = keep((struct rest){r->text + at + strlen(link), r->size - at - strlen(link)});
}

/* Takes the bound of a quantile, which begins with < or >. */
static void take_bound(struct ptrc_rule_draft *d, struct rest *r, const char *quantile)
{
	size_t below = find(r, "<", true);
	size_t above = find(r, ">", true);
	size_t at = below == r->size || (above != r->size && above > below) ? above : below;

	if (at == r->size)
		ptrc_rule_refuse(d, &d->mark, "'%.200s' lacks a bound such as '< 3ms'", r->text);
	d->bounds[d->bound_count++] = (struct ptrc_rule_bound){
		.key = quantile,
		.text = keep((struct rest){r->text + at, r->size - at}),
	};
	ptrc_rule_quantile(quantile, &d->bounds[0].per_mille);
	r->size = at;
}

static void take_order(struct ptrc_rule_draft *d, struct rest r)
{
	size_t at;

	do {
		if (d->event_count == PTRC_RULE_EVENTS_MAX)
			ptrc_rule_refuse(d, &d->mark, "more than %d events", PTRC_RULE_EVENTS_MAX);
		at = find(&r, ",", false);
		d->events[d->event_count++] = keep((struct rest){r.text, at});
		r.text += at < r.size ? at + 1 : at;
		r.size -= at < r.size ? at + 1 : at;
	} while (r.size);
}

void ptrc_rules_take(struct ptrc_rules *rules, const char *option, const char *text)
{
	struct ptrc_rule_draft d = {0};
	struct rest r = {text, text ? strlen(text) : 0};
	unsigned int per_mille;
	char *name;

	name = ptrc_config_keep(strlen(option) + 3);
	stpcpy(stpcpy(name, "--"), option);
	d.option = name;
	if (!strcmp(option, "no-loss")) {
		d.texts[PTRC_RULE_LOSS] = "none";
	} else if (!strcmp(option, "never")) {
		d.texts[PTRC_RULE_NEVER] = keep(r);
	} else if (!strcmp(option, "exists")) {
		take(&d, &r, " of ", PTRC_RULE_KEY_OF);
		take(&d, &r, " within ", PTRC_RULE_KEY_WITHIN);
		d.texts[PTRC_RULE_EXISTS] = keep(r);
	} else if (!strcmp(option, "count")) {
		take(&d, &r, " per ", PTRC_RULE_KEY_PER);
		take(&d, &r, " max ", PTRC_RULE_KEY_MAX);
		take(&d, &r, " min ", PTRC_RULE_KEY_MIN);
		d.texts[PTRC_RULE_COUNT] = keep(r);
	} else if (!strcmp(option, "after") || !strcmp(option, "before")) {
		bool is_after = *option == 'a';

		take(&d, &r, " by ", PTRC_RULE_KEY_BY);
		take(&d, &r, " within ", PTRC_RULE_KEY_WITHIN);
		if (is_after)
			take_two(&d, &r, "->", &d.texts[PTRC_RULE_AFTER],
				 &d.texts[PTRC_RULE_KEY_EXPECT]);
		else
			take_two(&d, &r, " require ", &d.texts[PTRC_RULE_BEFORE],
				 &d.texts[PTRC_RULE_KEY_REQUIRE]);
	} else if (!strcmp(option, "order")) {
		d.texts[PTRC_RULE_ORDER] = text;
		take(&d, &r, " by ", PTRC_RULE_KEY_BY);
		take_order(&d, r);
	} else if (ptrc_rule_quantile(option, &per_mille)) {
		d.texts[PTRC_RULE_PAIR] = text;
		take_bound(&d, &r, option);
		take(&d, &r, " by ", PTRC_RULE_KEY_BY);
		take_two(&d, &r, "..", &d.events[0], &d.events[1]);
		d.event_count = 2;
	}
	ptrc_rules_add(rules, &d);
}
