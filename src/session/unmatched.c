/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/unmatched.h"

#include <stdbool.h>
#include <string.h>

#include "src/base/message.h"

static const char *how(const struct posixtrace_pattern *p)
{
	return p->pt_how == POSIXTRACE_ONLY ? "only" : "exclude";
}

void ptrc_unmatched_report(const struct posixtrace_pattern *patterns, size_t count,
			   const char *thing)
{
	for (size_t i = 0; i < count; i++)
		if (!patterns[i].pt_has_matched)
			ptrc_cli_message(thing, "no event has a name that matches --%s=%s",
					 how(&patterns[i]), patterns[i].pt_glob);
}

void ptrc_unmatched_json(const struct posixtrace_pattern *patterns, size_t count,
			 struct ptrc_json *j)
{
	bool is_open = false;

	for (size_t i = 0; i < count; i++) {
		const struct posixtrace_pattern *p = &patterns[i];

		if (p->pt_has_matched)
			continue;
		if (!is_open)
			ptrc_json_open(j, "unmatched", '[');
		is_open = true;
		ptrc_json_open(j, NULL, '{');
		ptrc_json_text(j, "how", how(p));
		ptrc_json_bytes(j, "glob", p->pt_glob, strlen(p->pt_glob));
		ptrc_json_close(j, '}');
	}
	if (is_open)
		ptrc_json_close(j, ']');
}

void ptrc_unmatched_report_snapshot(const char *name, const struct ptrc_idle_snapshot *s)
{
	if (s->lack == PTRC_SNAPSHOT_LACKS_END)
		ptrc_cli_message(name, "no event has the name of the end of --snapshot-on=%s",
				 s->text);
	else if (s->lack == PTRC_SNAPSHOT_LACKS_FIELD)
		ptrc_cli_message(name,
				 "no event of the pair that was read has the field of "
				 "--snapshot-on=%s",
				 s->text);
	else
		ptrc_cli_message(name, "no event has a name that matches --snapshot-on=%s",
				 s->text);
}

void ptrc_unmatched_report_unseen(const char *name, uint64_t events)
{
	ptrc_cli_count(name, events,
		       "[event was|events were] lost before they could be compared with "
		       "--snapshot-on; a larger --stream-min-size helps");
}

void ptrc_unmatched_snapshots_json(const struct ptrc_idle_snapshot *list, size_t count,
				   struct ptrc_json *j)
{
	ptrc_json_open(j, "unmatched", '[');
	for (size_t i = 0; i < count; i++) {
		ptrc_json_open(j, NULL, '{');
		ptrc_json_bytes(j, "glob", list[i].text, strlen(list[i].text));
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
}
