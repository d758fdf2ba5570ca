/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/check/report.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "src/fields/when.h"

/* The default of --context of ptrace-dump. */
#define AROUND_NS INT64_C(1000000000)
/* The time that is shown before the first event of a case and after its last event. */
#define MARGIN_NS INT64_C(1000000)

static const char indent[] = "           ";

const char *ptrc_verdict_name(enum ptrc_verdict verdict)
{
	static const char *const names[] = {
		[PTRC_VERDICT_PASS] = "pass",
		[PTRC_VERDICT_FAIL] = "fail",
		[PTRC_VERDICT_UNDECIDED] = "undecided",
	};

	return names[verdict];
}

static void put(struct ptrc_buffer *b, const char *text)
{
	ptrc_text_put(b, text, strlen(text));
}

/* Puts a quoted pattern that matches the name; '*' if the name is NULL. Characters that are special in patterns or to
 * the shell become '?'. */
static void put_pattern(struct ptrc_buffer *b, const char *name)
{
	ptrc_buffer_char(b, '\'');
	for (; name && *name; name++)
		ptrc_buffer_char(b, isprint((unsigned char)*name) && !strchr("*?[]\\'", *name)
					    ? *name
					    : '?');
	ptrc_buffer_text(b, name ? "'" : "*'");
}

static void put_moment(struct ptrc_buffer *b, const char *option, int64_t ns)
{
	struct timespec t = ptrc_when_timespec(ns);

	ptrc_buffer_format(b, " %s=@%lld.%09ld", option, (long long)t.tv_sec, t.tv_nsec);
}

/* Whether a layout with this index exists and was given by the user, not by a trace. */
static bool is_given(const struct ptrc_layouts *l, size_t number)
{
	return number < l->count && l->layouts[number]->pattern;
}

/* Puts options that give the data the same meaning for ptrace-dump as in this check. ptrace-dump uses the first
 * layout that it finds for an event, and looks at the layouts of --config last. So --config is put only if its
 * layouts are the last ones here, too, and if the file can be read again. Otherwise a --decode is put for each
 * layout. */
static void put_layouts(struct ptrc_buffer *b, const struct ptrc_rules *r)
{
	PTRC_SCOPED_BUFFER word = PTRC_BUFFER_INIT;
	const struct ptrc_layouts *l = r->layouts;
	bool has_file = r->config && strcmp(r->config, "-") && !is_given(l, r->config_end);

	for (size_t i = 0; is_given(l, i); i++) {
		if (has_file && i >= r->config_first)
			break;
		word.used = 0;
		ptrc_buffer_format(&word, "%s=%s", l->layouts[i]->pattern, l->layouts[i]->text);
		ptrc_buffer_char(&word, '\0');
		ptrc_buffer_text(b, " --decode=");
		ptrc_text_word(b, word.bytes);
	}
	if (has_file) {
		ptrc_buffer_text(b, " --config=");
		ptrc_text_word(b, r->config);
	}
}

/* Puts the logs that have the case's events. If the times of any log are corrected, the correction depends on
 * all logs, so all logs are put. */
static void put_logs(struct ptrc_buffer *b, const struct ptrc_check *check,
		     const struct ptrc_case *c)
{
	bool is_moving = false;

	for (size_t i = 0; i < check->query->source_count; i++)
		is_moving |= ptrc_reader_is_moving(&check->query->sources[i].reader);
	for (size_t i = 0; check->messages && i < check->messages->count; i++) {
		ptrc_buffer_text(b, " --clock-sync=");
		ptrc_text_word(b, check->messages->texts[i]);
	}
	for (size_t i = 0; i < check->query->source_count; i++)
		if (is_moving || i == c->at.source || (c->has_other && i == c->other.source)) {
			const char *path = check->query->sources[i].operand;

			/* ptrace-dump would take a path that starts with '-' for an option. */
			ptrc_buffer_text(b, *path == '-' && path[1] ? " ./" : " ");
			ptrc_text_word(b, path);
		}
}

void ptrc_check_put_command(struct ptrc_buffer *b, const struct ptrc_check *check,
			    const struct ptrc_case *c)
{
	int64_t first_ns = c->at.ns;
	int64_t last_ns = c->has_other ? c->other.ns : c->at.ns;

	if (last_ns < first_ns) {
		first_ns = last_ns;
		last_ns = c->at.ns;
	}
	ptrc_buffer_text(b, "ptrace-dump --around=");
	put_pattern(b, c->name);
	if (ptrc_when_subtract(last_ns, first_ns) > AROUND_NS - 2 * MARGIN_NS) {
		int64_t after = ptrc_when_add(ptrc_when_subtract(last_ns, first_ns), MARGIN_NS);

		/* --around names only the event type of c->at, which may be the earlier or the later one of the two
		 * events. So the context has to reach from c->at to c->other in both directions. */
		ptrc_buffer_format(b, " --context=%" PRId64 "ns", after);
	}
	put_moment(b, "--since", ptrc_when_subtract(first_ns, MARGIN_NS));
	put_moment(b, "--until", ptrc_when_add(last_ns, MARGIN_NS));
	put_layouts(b, check->rules);
	put_logs(b, check, c);
}

bool ptrc_trial_is_named(const struct ptrc_trial *t)
{
	return strcmp(t->rule->name, t->rule->text) != 0;
}

void ptrc_check_put_details(struct ptrc_buffer *b, const struct ptrc_check *c, struct ptrc_trial *t,
			    const char *margin)
{
	const struct ptrc_cases *cases = ptrc_trial_cases(t);

	for (size_t i = 0; i < t->note_count; i++) {
		ptrc_buffer_format(b, "\n%snote: ", margin);
		put(b, t->notes[i]);
	}
	for (size_t i = 0; i < cases->count; i++) {
		const struct ptrc_case *k = &cases->list[i];

		ptrc_buffer_format(b, "\n%s", margin);
		put(b, k->text);
		if (k->line)
			ptrc_buffer_format(b, ": %s", k->line);
		if (k->other_line)
			ptrc_buffer_format(b, ", and %s", k->other_line);
		ptrc_buffer_format(b, "\n%s  ", margin);
		ptrc_check_put_command(b, c, k);
	}
}

void ptrc_check_put_rule(struct ptrc_buffer *b, const struct ptrc_check *c, struct ptrc_trial *t,
			 bool is_coloured)
{
	static const char *const colours[] = {
		[PTRC_VERDICT_PASS] = "\033[32m",
		[PTRC_VERDICT_FAIL] = "\033[1;31m",
		[PTRC_VERDICT_UNDECIDED] = "\033[1;33m",
	};
	const char *name = ptrc_verdict_name(t->verdict);

	if (is_coloured)
		ptrc_buffer_text(b, colours[t->verdict]);
	ptrc_buffer_text(b, name);
	if (is_coloured)
		ptrc_buffer_text(b, "\033[0m");
	ptrc_buffer_blanks(b, (long)(sizeof(indent) - 1 - strlen(name)));
	put(b, t->rule->name);
	ptrc_buffer_text(b, ": ");
	put(b, t->reason);
	if (t->verdict != PTRC_VERDICT_PASS && ptrc_trial_is_named(t)) {
		ptrc_buffer_format(b, "\n%srule: ", indent);
		put(b, t->rule->text);
	}
	ptrc_check_put_details(b, c, t, indent);
	ptrc_buffer_char(b, '\n');
}

uint64_t ptrc_check_count(const struct ptrc_check *c, enum ptrc_verdict verdict)
{
	uint64_t count = 0;

	for (size_t i = 0; i < c->rules->count; i++)
		count += c->judge.trials[i].verdict == verdict;
	return count;
}

void ptrc_check_put_counts(struct ptrc_buffer *b, const struct ptrc_check *c)
{
	ptrc_buffer_format(b, "%" PRIu64 " passed, %" PRIu64 " failed, %" PRIu64 " undecided\n",
			   ptrc_check_count(c, PTRC_VERDICT_PASS),
			   ptrc_check_count(c, PTRC_VERDICT_FAIL),
			   ptrc_check_count(c, PTRC_VERDICT_UNDECIDED));
}

void ptrc_check_put_text(struct ptrc_buffer *b, const struct ptrc_check *c, bool is_coloured)
{
	for (size_t i = 0; i < c->rules->count; i++)
		ptrc_check_put_rule(b, c, &c->judge.trials[i], is_coloured);
	ptrc_check_put_counts(b, c);
}
