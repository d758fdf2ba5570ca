/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <string.h>

#include "src/base/cli.h"
#include "src/base/exit_status.h"
#include "src/session/filter_rules.h"
#include "src/base/json.h"
#include "src/base/nearest.h"
#include "src/base/output.h"
#include "src/session/orphans.h"
#include "src/session/session_client.h"

/* The key of the option that sets PTRC_SESSION_FILTER_flag in the request to the session. */
#define KEY(flag) (PTRC_CLI_KEY_FIRST + PTRC_SESSION_FILTER_##flag)
enum {
	/* The keys from here on set no flag. */
	KEY_ONLY = KEY(PATTERNS) + 1,
	KEY_EXCLUDE,
};

static bool is_json;

static const struct ptrc_cli_option options[] = {
	{"set", KEY(SET), NULL, "filter out these events and no others"},
	{"add", KEY(ADD), NULL, "filter out these events, too"},
	{"remove", KEY(REMOVE), NULL, "do not filter out these events any more"},
	{"system", KEY(SYSTEM), NULL, "all system events, as if each were an EVENT"},
	{"all", KEY(ALL), NULL, "all events, also those whose names come later"},
	{"new", KEY(NEW), NULL, "let EVENT hold for names that come later, too"},
	{"only", KEY_ONLY, "GLOB",
	 "record only events whose name matches; may be\ngiven several times"},
	{"exclude", KEY_EXCLUDE, "GLOB",
	 "do not record events whose name matches; may be\ngiven several times"},
	{"json", 0, NULL, "show the filter as JSON"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-filter",
	.operands = "[OPTION]... SESSION [EVENT]...",
	.summary = "Shows or changes which events a session filters out, that is, does not\n"
		   "record. EVENT is the name of an event type or a glob. --only and\n"
		   "--exclude replace the session's patterns. Without all these options\n"
		   "filter and patterns are shown, one per line.",
	.options = options,
	.flags = PTRC_CLI_FLAGS({"json", &is_json}),
	.exclusions = PTRC_CLI_ROWS({"only exclude", "set add remove system all new"},
				    {"set add remove", "set add remove"}, {"remove", "new"}),
	.operand_kinds = "SESSION EVENT",
	.notes = "--set without any event empties the filter.\n"
		 "Exit status: 0 done, 1 failed, nothing is changed, 2 wrong usage.",
};

static const char *how_of(const struct posixtrace_pattern *p)
{
	return p->pt_how == POSIXTRACE_ONLY ? "only" : "exclude";
}

static void put_text(struct ptrc_buffer *b, const struct ptrc_session_types *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->types[i].is_filtered) {
			ptrc_text_put(b, t->types[i].name, strlen(t->types[i].name));
			ptrc_buffer_char(b, '\n');
		}
	for (size_t i = 0; i < t->pattern_count; i++) {
		const struct posixtrace_pattern *p = &t->patterns[i];

		ptrc_buffer_format(b, "--%s=", how_of(p));
		ptrc_text_put(b, p->pt_glob, strlen(p->pt_glob));
		ptrc_buffer_char(b, '\n');
	}
}

/* Whether the patterns are those of --all: no name that is opened later is recorded. */
static bool has_all(const struct ptrc_session_types *t)
{
	for (size_t i = 0; i < t->pattern_count; i++)
		if (t->patterns[i].pt_how == POSIXTRACE_EXCLUDE &&
		    !strcmp(t->patterns[i].pt_glob, "*"))
			return true;
	return false;
}

static void put_json(struct ptrc_buffer *b, const char *name, const struct ptrc_session_types *t)
{
	struct ptrc_json j = ptrc_json_begin(b);

	ptrc_json_text(&j, "session", name);
	ptrc_json_bool(&j, "all", has_all(t));
	ptrc_json_open(&j, "events", '[');
	for (size_t i = 0; i < t->count; i++) {
		if (!t->types[i].is_filtered)
			continue;
		ptrc_json_open(&j, NULL, '{');
		ptrc_json_bytes(&j, "event", t->types[i].name, strlen(t->types[i].name));
		ptrc_json_u64(&j, "type_id", t->types[i].id);
		ptrc_json_close(&j, '}');
	}
	ptrc_json_close(&j, ']');
	ptrc_json_open(&j, "globs", '[');
	for (size_t i = 0; i < t->pattern_count; i++) {
		const struct posixtrace_pattern *p = &t->patterns[i];

		ptrc_json_open(&j, NULL, '{');
		ptrc_json_bytes(&j, "glob", p->pt_glob, strlen(p->pt_glob));
		ptrc_json_text(&j, "how", how_of(p));
		ptrc_json_bool(&j, "matched", p->pt_has_matched);
		ptrc_json_close(&j, '}');
	}
	ptrc_json_close(&j, ']');
	ptrc_json_end(&j);
}

static int show(const char *name)
{
	struct ptrc_buffer out = PTRC_BUFFER_INIT;
	struct ptrc_session_types types;
	int error = ptrc_session_types_get(name, &types);

	if (error) {
		ptrc_orphans_say_session(name, error);
		return PTRC_EXIT_FAILED;
	}
	ptrc_output_begin();
	if (is_json)
		put_json(&out, name, &types);
	else
		put_text(&out, &types);
	ptrc_session_types_free(&types);
	ptrc_output_end(&out);
	return PTRC_EXIT_DONE;
}

/* Reports that the session has no event type of this name. If the session still answers, the message has similar
 * names. */
static void say_unknown(const char *name, const char *event)
{
	struct ptrc_nearest nearest = {0};
	struct ptrc_session_types types = {0};
	char proposal[900];

	if (!ptrc_session_types_get(name, &types))
		for (size_t i = 0; i < types.count; i++)
			ptrc_nearest_offer(&nearest, event, types.types[i].name);
	if (ptrc_filter_rules_is_glob(event))
		ptrc_cli_message(event, "matches no event type of session %s", name);
	else
		ptrc_cli_message(event, "no event type of session %s has this name%s", name,
				 ptrc_nearest_text(&nearest, proposal, sizeof(proposal)));
	ptrc_session_types_free(&types);
}

static void say_refused(const char *name, const struct ptrc_session_question *q,
			const struct ptrc_session_reply *reply)
{
	const char *event = reply->text < q->text_count ? q->texts[reply->text] : name;

	/* Skips the letter that precedes a pattern in the request. */
	if (q->flags & PTRC_SESSION_FILTER_PATTERNS && event != name)
		event++;

	switch (reply->error) {
	case ENOENT:
		say_unknown(name, event);
		break;
	case ENAMETOOLONG:
		ptrc_cli_message(event, "longer than a name can be, which is %d bytes",
				 TRACE_EVENT_NAME_MAX);
		break;
	case ENOSPC:
		ptrc_cli_message(event,
				 "there is no room for another pattern: a session can have %d",
				 POSIXTRACE_PATTERNS_MAX);
		break;
	default:
		ptrc_cli_error(name, reply->error);
		break;
	}
}

static int change(const char *name, const struct ptrc_session_question *q)
{
	static struct ptrc_session_reply reply;
	int error = ptrc_session_ask_about(name, q, &reply);

	if (error) {
		ptrc_orphans_say_session(name, error);
		return PTRC_EXIT_FAILED;
	}
	if (reply.error) {
		say_refused(name, q, &reply);
		return PTRC_EXIT_FAILED;
	}
	return PTRC_EXIT_DONE;
}

/* Adds a pattern in the form of a request: a letter that says whether it is of --only or of
 * --exclude, and the glob. */
static void add_pattern(struct ptrc_cli_texts *patterns, bool is_only, const char *glob)
{
	char letter = is_only ? PTRC_SESSION_PATTERN_ONLY : PTRC_SESSION_PATTERN_EXCLUDE;

	if (!*glob)
		ptrc_cli_usage(is_only ? "--only" : "--exclude", "the pattern is empty");
	ptrc_cli_add_text(patterns, ptrc_cli_text("%c%s", letter, glob));
}

int main(int argc, char **argv)
{
	const uint32_t actions = PTRC_SESSION_FILTER_SET | PTRC_SESSION_FILTER_ADD |
				 PTRC_SESSION_FILTER_REMOVE | PTRC_SESSION_FILTER_PATTERNS;
	struct ptrc_session_question q = {.verb = PTRC_SESSION_FILTER};
	/* The patterns are static so that leak checkers do not report them, as they are never freed. */
	static struct ptrc_cli_texts patterns;
	const char *name;
	uint32_t action;
	int status = PTRC_EXIT_DONE;
	int key;

	ptrc_cli_begin(&cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1) {
		if (key == KEY_ONLY || key == KEY_EXCLUDE)
			add_pattern(&patterns, key == KEY_ONLY, optarg);
		else
			q.flags |= (uint32_t)(key - PTRC_CLI_KEY_FIRST);
	}
	if (patterns.count)
		q.flags = PTRC_SESSION_FILTER_PATTERNS;
	action = q.flags & actions;
	if (optind == argc)
		ptrc_cli_usage(NULL, "no SESSION given");
	name = argv[optind++];
	q.texts = (const char *const *)argv + optind;
	q.text_count = (size_t)(argc - optind);
	if (patterns.count && q.text_count)
		ptrc_cli_usage(q.texts[0], "no EVENT is expected with --only and --exclude");
	if (patterns.count) {
		q.texts = patterns.texts;
		q.text_count = patterns.count;
	}
	if (!action && (q.flags || q.text_count))
		ptrc_cli_usage(NULL, "one of --set, --add and --remove has to be given");
	if (action & (PTRC_SESSION_FILTER_ADD | PTRC_SESSION_FILTER_REMOVE) && !q.text_count &&
	    !(q.flags & (PTRC_SESSION_FILTER_SYSTEM | PTRC_SESSION_FILTER_ALL)))
		ptrc_cli_usage(NULL, "no EVENT given");
	for (size_t i = 0; i < q.text_count; i++)
		if (!*q.texts[i])
			ptrc_cli_usage(NULL, "the name of an event is empty");
	if (action)
		status = change(name, &q);
	if (status == PTRC_EXIT_DONE && (!action || is_json))
		status = show(name);
	return status;
}
