/* SPDX-License-Identifier: MIT */
/* The verdicts in each format, and the formats that services of continuous integration read: TAP 13, the XML of JUnit,
 * and annotations of GitHub. Each rule is a test. A test whose rule is undecided has not passed. */
#include "config.h"
#include "src/check/report.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

/* Formats the reason for the verdict on one line: the measured value, the worst event, and the rule with its
 * bounds. The caller frees the buffer. */
static struct ptrc_buffer headline_of(struct ptrc_trial *t)
{
	const struct ptrc_cases *cases = ptrc_trial_cases(t);
	struct ptrc_buffer b = PTRC_BUFFER_INIT;

	ptrc_text_put(&b, t->reason, strlen(t->reason));
	if (cases->count) {
		ptrc_buffer_text(&b, "; worst: ");
		ptrc_text_put(&b, cases->list[0].text, strlen(cases->list[0].text));
	}
	if (ptrc_trial_is_named(t)) {
		ptrc_buffer_text(&b, "; rule: ");
		ptrc_text_put(&b, t->rule->text, strlen(t->rule->text));
	}
	return b;
}

/* Makes the text readable on one line: escapes what cannot be printed. Backslashes stay single, because each
 * format escapes them in its own way. The caller frees the buffer. */
static struct ptrc_buffer shown(const char *text)
{
	struct ptrc_buffer b = PTRC_BUFFER_INIT;
	size_t used = 0;

	ptrc_text_put(&b, text, strlen(text));
	for (size_t i = 0; i < b.used; i++) {
		b.bytes[used++] = b.bytes[i];
		i += b.bytes[i] == '\\' && b.bytes[i + 1] == '\\';
	}
	b.used = used;
	return b;
}

/* ---- TAP ---- */

static void put_tap_rule(struct ptrc_buffer *b, const struct ptrc_check *c, struct ptrc_trial *t,
			 size_t number)
{
	PTRC_SCOPED_BUFFER name = shown(t->rule->name);
	PTRC_SCOPED_BUFFER message = headline_of(t);

	ptrc_check_put_details(&message, c, t, "");
	ptrc_buffer_format(b, "%s %zu - ", t->verdict == PTRC_VERDICT_PASS ? "ok" : "not ok",
			   number);
	for (size_t i = 0; i < name.used; i++) {
		if (name.bytes[i] == '#' || name.bytes[i] == '\\')
			ptrc_buffer_char(b, '\\');
		ptrc_buffer_char(b, name.bytes[i]);
	}
	/* A JSON string is also a YAML string. */
	ptrc_buffer_format(b, "\n  ---\n  verdict: %s\n  message: ", ptrc_verdict_name(t->verdict));
	ptrc_text_json(b, message.bytes, message.used);
	ptrc_buffer_text(b, "\n  ...\n");
}

static void put_tap(struct ptrc_buffer *b, const struct ptrc_check *c)
{
	ptrc_buffer_format(b, "TAP version 13\n1..%zu\n", c->rules->count);
	for (size_t i = 0; i < c->rules->count; i++)
		put_tap_rule(b, c, &c->judge.trials[i], i + 1);
}

/* ---- XML ---- */

/* Puts text as character data or as the value of an attribute. */
static void put_xml(struct ptrc_buffer *b, const struct ptrc_buffer *text)
{
	static const char *const entities[UCHAR_MAX + 1] = {
		['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\n'] = "&#10;",
	};

	for (size_t i = 0; i < text->used; i++) {
		const char *entity = entities[(unsigned char)text->bytes[i]];

		if (entity)
			ptrc_buffer_text(b, entity);
		else
			ptrc_buffer_char(b, text->bytes[i]);
	}
}

static void put_xml_text(struct ptrc_buffer *b, const char *text)
{
	PTRC_SCOPED_BUFFER s = shown(text);

	put_xml(b, &s);
}

static void put_junit_rule(struct ptrc_buffer *b, const struct ptrc_check *c, struct ptrc_trial *t)
{
	static const char *const elements[] = {
		[PTRC_VERDICT_PASS] = "system-out",
		[PTRC_VERDICT_FAIL] = "failure",
		[PTRC_VERDICT_UNDECIDED] = "error",
	};
	PTRC_SCOPED_BUFFER headline = headline_of(t);
	PTRC_SCOPED_BUFFER details = PTRC_BUFFER_INIT;

	ptrc_check_put_details(&details, c, t, "");
	ptrc_buffer_text(b, "  <testcase classname=\"");
	put_xml_text(b, t->rule->mark.line ? c->rules->file : "ptrace-check");
	ptrc_buffer_text(b, "\" name=\"");
	put_xml_text(b, t->rule->name);
	ptrc_buffer_format(b, "\" time=\"0\">\n    <%s", elements[t->verdict]);
	if (t->verdict != PTRC_VERDICT_PASS) {
		ptrc_buffer_format(b, " type=\"%s\" message=\"", ptrc_verdict_name(t->verdict));
		put_xml(b, &headline);
		ptrc_buffer_char(b, '"');
	}
	ptrc_buffer_char(b, '>');
	if (t->verdict == PTRC_VERDICT_PASS)
		put_xml(b, &headline);
	put_xml(b, &details);
	ptrc_buffer_format(b, "</%s>\n  </testcase>\n", elements[t->verdict]);
}

static void put_junit(struct ptrc_buffer *b, const struct ptrc_check *c)
{
	ptrc_buffer_format(b,
			   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite "
			   "name=\"ptrace-check\" tests=\"%zu\" failures=\"%" PRIu64
			   "\" errors=\"%" PRIu64 "\" skipped=\"0\" time=\"0\">\n",
			   c->rules->count, ptrc_check_count(c, PTRC_VERDICT_FAIL),
			   ptrc_check_count(c, PTRC_VERDICT_UNDECIDED));
	for (size_t i = 0; i < c->rules->count; i++)
		put_junit_rule(b, c, &c->judge.trials[i]);
	ptrc_buffer_text(b, "</testsuite>\n");
}

/* ---- GitHub ---- */

/* Puts text as the message of a workflow command; if is_property, as the value of a property of the command, in which
 * more characters are escaped. */
static void put_escaped(struct ptrc_buffer *b, const struct ptrc_buffer *text, bool is_property)
{
	for (size_t i = 0; i < text->used; i++) {
		unsigned char c = (unsigned char)text->bytes[i];

		if (c < ' ' || c == '%' || (is_property && (c == ':' || c == ',')))
			ptrc_buffer_format(b, "%%%02X", c);
		else
			ptrc_buffer_char(b, (char)c);
	}
}

static void put_property(struct ptrc_buffer *b, const char *text)
{
	PTRC_SCOPED_BUFFER s = shown(text);

	put_escaped(b, &s, true);
}

static void put_github(struct ptrc_buffer *b, const struct ptrc_check *c)
{
	for (size_t i = 0; i < c->rules->count; i++) {
		struct ptrc_trial *t = &c->judge.trials[i];
		struct ptrc_buffer message;

		if (t->verdict == PTRC_VERDICT_PASS) {
			ptrc_check_put_rule(b, c, t, false);
			continue;
		}
		ptrc_buffer_text(b, t->verdict == PTRC_VERDICT_FAIL ? "::error " : "::warning ");
		if (t->rule->mark.line) {
			ptrc_buffer_text(b, "file=");
			put_property(b, c->rules->file);
			ptrc_buffer_format(b, ",line=%zu,col=%zu,", t->rule->mark.line,
					   t->rule->mark.column);
		}
		ptrc_buffer_text(b, "title=");
		put_property(b, t->rule->name);
		ptrc_buffer_text(b, "::");
		message = headline_of(t);
		ptrc_check_put_details(&message, c, t, "");
		put_escaped(b, &message, false);
		ptrc_buffer_free(&message);
		ptrc_buffer_char(b, '\n');
	}
	ptrc_check_put_counts(b, c);
}

/* ---- all formats ---- */

void ptrc_check_put(struct ptrc_buffer *b, const struct ptrc_check *c,
		    enum ptrc_check_format format, bool is_coloured)
{
	static void (*const forms[])(struct ptrc_buffer *, const struct ptrc_check *) = {
		[PTRC_CHECK_JSON] = ptrc_check_put_json,
		[PTRC_CHECK_TAP] = put_tap,
		[PTRC_CHECK_JUNIT] = put_junit,
		[PTRC_CHECK_GITHUB] = put_github,
	};

	if (forms[format])
		forms[format](b, c);
	else
		ptrc_check_put_text(b, c, is_coloured);
}
