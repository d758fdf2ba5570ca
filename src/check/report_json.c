/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/check/report.h"

#include <string.h>

#include "src/fields/when.h"

static void put_bytes(struct ptrc_json *j, const char *key, const char *text)
{
	ptrc_json_bytes(j, key, text, strlen(text));
}

static void put_moment(struct ptrc_json *j, const struct ptrc_check *c, const char *key,
		       const struct ptrc_moment *m, const char *line)
{
	struct timespec time = ptrc_when_timespec(m->ns);

	ptrc_json_open(j, key, '{');
	ptrc_json_time(j, "time", &time);
	ptrc_json_i64(j, "ns", m->ns);
	put_bytes(j, "log", c->query->sources[m->source].operand);
	ptrc_json_i64(j, "pid", m->pid);
	ptrc_json_i64(j, "tid", m->tid);
	if (line)
		ptrc_json_text(j, "text", line);
	ptrc_json_close(j, '}');
}

static void put_case(struct ptrc_json *j, const struct ptrc_check *c, const struct ptrc_case *k)
{
	PTRC_SCOPED_BUFFER command = PTRC_BUFFER_INIT;

	ptrc_json_open(j, NULL, '{');
	ptrc_json_text(j, "reason", k->text);
	put_moment(j, c, "event", &k->at, k->line);
	if (k->has_other)
		put_moment(j, c, "other", &k->other, k->other_line);
	ptrc_check_put_command(&command, c, k);
	ptrc_buffer_char(&command, '\0');
	ptrc_json_text(j, "command", command.bytes);
	ptrc_json_close(j, '}');
}

static void put_rule(struct ptrc_json *j, const struct ptrc_check *c, struct ptrc_trial *t)
{
	const struct ptrc_rule *r = t->rule;
	const struct ptrc_cases *cases = ptrc_trial_cases(t);

	ptrc_json_open(j, NULL, '{');
	put_bytes(j, "name", r->name);
	ptrc_json_text(j, "kind", ptrc_rule_keys[r->kind].name);
	put_bytes(j, "rule", r->text);
	if (r->mark.line) {
		put_bytes(j, "file", c->rules->file);
		ptrc_json_u64(j, "line", r->mark.line);
		ptrc_json_u64(j, "column", r->mark.column);
	}
	ptrc_json_text(j, "verdict", ptrc_verdict_name(t->verdict));
	ptrc_json_text(j, "reason", t->reason);
	ptrc_json_u64(j, "matched", t->matched);
	ptrc_json_u64(j, "kept", t->kept);
	ptrc_json_u64(j, "broken", t->broken);
	ptrc_json_u64(j, "doubtful", t->doubtful);
	ptrc_json_u64(j, "open", t->open);
	ptrc_json_u64(j, "without_key", t->without_key);
	ptrc_json_u64(j, "unclear", t->unclear);
	if (t->unclear && t->clock_error_ns != PTRC_BOUND_UNKNOWN)
		ptrc_json_i64(j, "clock_error_ns", t->clock_error_ns);
	ptrc_json_open(j, "notes", '[');
	for (size_t i = 0; i < t->note_count; i++)
		ptrc_json_text(j, NULL, t->notes[i]);
	ptrc_json_close(j, ']');
	ptrc_json_open(j, "cases", '[');
	for (size_t i = 0; i < cases->count; i++)
		put_case(j, c, &cases->list[i]);
	ptrc_json_close(j, ']');
	ptrc_json_close(j, '}');
}

void ptrc_check_put_json(struct ptrc_buffer *b, const struct ptrc_check *c)
{
	struct ptrc_json j = ptrc_json_begin(b);

	ptrc_json_open(&j, "rules", '[');
	for (size_t i = 0; i < c->rules->count; i++)
		put_rule(&j, c, &c->judge.trials[i]);
	ptrc_json_close(&j, ']');
	ptrc_json_u64(&j, "passed", ptrc_check_count(c, PTRC_VERDICT_PASS));
	ptrc_json_u64(&j, "failed", ptrc_check_count(c, PTRC_VERDICT_FAIL));
	ptrc_json_u64(&j, "undecided", ptrc_check_count(c, PTRC_VERDICT_UNDECIDED));
	ptrc_json_open(&j, "logs", '[');
	for (size_t i = 0; i < c->query->source_count; i++) {
		ptrc_json_open(&j, NULL, '{');
		put_bytes(&j, "log", c->query->sources[i].operand);
		ptrc_losses_json(&c->query->sources[i].losses, &j);
		ptrc_json_close(&j, '}');
	}
	ptrc_json_close(&j, ']');
	ptrc_json_bool(&j, "complete", ptrc_query_lacks_nothing(c->query));
	ptrc_json_end(&j);
}
