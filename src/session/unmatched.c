/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/unmatched.h"

#include <string.h>

#include "src/cli/message.h"

void ptrc_unmatched_take(struct ptrc_unmatched *u, const struct posixtrace_pattern *patterns,
			 size_t count)
{
	u->count = 0;
	for (size_t i = 0; i < count && u->count < POSIXTRACE_PATTERNS_MAX; i++)
		if (!patterns[i].pt_has_matched)
			u->patterns[u->count++] = patterns[i];
}

void ptrc_unmatched_gather(struct ptrc_unmatched *u, trace_id_t trace)
{
	static struct posixtrace_pattern patterns[POSIXTRACE_PATTERNS_MAX];
	size_t count;

	if (posixtrace_get_patterns(trace, patterns, POSIXTRACE_PATTERNS_MAX, &count))
		count = 0;
	ptrc_unmatched_take(u, patterns, count);
}

void ptrc_unmatched_report(const struct ptrc_unmatched *u, const char *thing)
{
	for (size_t i = 0; i < u->count; i++)
		ptrc_cli_message(thing, "no event has a name that matches --%s=%s",
				 u->patterns[i].pt_how == POSIXTRACE_ONLY ? "only" : "exclude",
				 u->patterns[i].pt_glob);
}

void ptrc_unmatched_json(const struct ptrc_unmatched *u, struct ptrc_json *j)
{
	if (!u->count)
		return;
	ptrc_json_open(j, "unmatched", '[');
	for (size_t i = 0; i < u->count; i++) {
		const struct posixtrace_pattern *p = &u->patterns[i];

		ptrc_json_open(j, NULL, '{');
		ptrc_json_text(j, "how", p->pt_how == POSIXTRACE_ONLY ? "only" : "exclude");
		ptrc_json_bytes(j, "glob", p->pt_glob, strlen(p->pt_glob));
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
}
