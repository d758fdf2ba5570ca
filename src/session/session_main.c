/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/session_main.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/cli.h"
#include "src/cli/exit_status.h"
#include "src/cli/json.h"
#include "src/view/losses.h"
#include "src/cli/output.h"
#include "src/session/session_client.h"

/* What came of asking one session. */
struct result {
	/* 0, or an error number of ptrc_session_ask() or of the reply, and the reason
	 * in words. */
	int error;
	char reason[200];
	bool has_losses;
	struct ptrc_losses losses;
};

/* Explains why a session refused; some error numbers alone would mislead. */
static void explain_refused(struct result *r, enum ptrc_session_verb verb)
{
	const char *text = strerror(r->error);

	if (verb == PTRC_SESSION_FLUSH && r->error == EINVAL)
		snprintf(r->reason, sizeof(r->reason), "the session has no log");
	else if (verb == PTRC_SESSION_FLUSH)
		snprintf(r->reason, sizeof(r->reason), "writing the log failed: %s", text);
	else
		snprintf(r->reason, sizeof(r->reason), "%s", text);
}

static void ask(const char *name, enum ptrc_session_verb verb, struct result *r)
{
	static struct ptrc_session_reply reply;
	uint64_t in_log;
	bool has_count;

	memset(r, 0, sizeof(*r));
	r->error = ptrc_session_ask(name, verb, &reply);
	if (r->error) {
		snprintf(r->reason, sizeof(r->reason), "%s", ptrc_session_explain(r->error));
		return;
	}
	r->error = reply.error;
	if (reply.body == PTRC_SESSION_BODY_STATE) {
		/* A state comes only from a session that has ended; the error is that
		 * of writing its log. */
		r->has_losses = true;
		r->error = 0;
		ptrc_losses_gather(&r->losses, &reply.state.status, &reply.state.counts);
		has_count = ptrc_losses_count_log(&r->losses, reply.state.log,
						  reply.state.is_log_gone, &in_log);
		if (reply.error)
			r->losses.write_error = reply.error;
		if (has_count)
			ptrc_losses_count_unwritten(&r->losses, reply.state.event_count, in_log);
	} else if (r->error) {
		explain_refused(r, verb);
	}
}

static void put_json(struct ptrc_buffer *b, const char *name, const char *command,
		     const struct result *r)
{
	struct ptrc_json j = ptrc_json_begin(b);

	ptrc_json_bytes(&j, "session", name, strlen(name));
	ptrc_json_text(&j, "command", command);
	ptrc_json_i64(&j, "error", r->error);
	if (r->error)
		ptrc_json_text(&j, "message", r->reason);
	if (r->has_losses) {
		ptrc_losses_json(&r->losses, &j);
		ptrc_json_bool(&j, "complete", !ptrc_losses_is_any(&r->losses));
	}
	ptrc_json_end(&j);
}

int ptrc_session_main(int argc, char **argv, const struct ptrc_cli *cli,
		      enum ptrc_session_verb verb)
{
	struct ptrc_buffer out = PTRC_BUFFER_INIT;
	char **names = NULL;
	size_t count = 0;
	bool is_failed = false;
	bool is_incomplete = false;
	bool is_loss_allowed = false;
	bool is_json = false;
	bool is_all = false;
	int key;

	ptrc_cli_begin(cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1) {
		is_loss_allowed |= key == PTRC_SESSION_KEY_ALLOW_LOSS;
		is_json |= key == PTRC_SESSION_KEY_JSON;
		is_all |= key == PTRC_SESSION_KEY_ALL;
	}
	if (is_all && optind < argc)
		ptrc_cli_usage(argv[optind], "no operand is expected with --all");
	if (!is_all && optind == argc)
		ptrc_cli_usage(NULL, "no SESSION given");
	if (is_all) {
		int error = ptrc_session_names(true, &names, &count);

		if (error) {
			ptrc_session_say_directory(error);
			return PTRC_EXIT_FAILED;
		}
	} else {
		names = argv + optind;
		count = (size_t)(argc - optind);
	}
	ptrc_output_begin();
	for (size_t i = 0; i < count; i++) {
		struct result r;

		ask(names[i], verb, &r);
		/* --all means the sessions that still exist. */
		if (is_all && (r.error == ENOENT || r.error == ECONNREFUSED ||
			       (r.error == ECONNRESET && ptrc_session_knock(names[i]) == ENOENT)))
			continue;
		if (r.error) {
			ptrc_cli_message(names[i], "%s", r.reason);
			is_failed = true;
		} else if (r.has_losses) {
			ptrc_losses_report(&r.losses, names[i]);
			is_incomplete |= ptrc_losses_is_any(&r.losses);
		}
		if (is_json) {
			put_json(&out, names[i], cli->program + strlen("ptrace-"), &r);
			ptrc_output_write(&out);
		}
	}
	if (is_json)
		ptrc_output_end(&out);
	if (is_all) {
		for (size_t i = 0; i < count; i++)
			free(names[i]);
		free(names);
	}
	if (is_failed)
		return PTRC_EXIT_FAILED;
	return is_incomplete && !is_loss_allowed ? PTRC_EXIT_INCOMPLETE : PTRC_EXIT_DONE;
}
