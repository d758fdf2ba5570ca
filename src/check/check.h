/* SPDX-License-Identifier: MIT */
/* Judges logs by rules: reads their events, merged by time, and afterwards those once more that show
 * what is wrong. */
#ifndef PTRC_SRC_CHECK_CHECK_H
#define PTRC_SRC_CHECK_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "src/check/judge.h"
#include "src/cli/cli.h"
#include "src/cli/exit_status.h"
#include "src/sync/sync.h"
#include "src/view/hosts.h"
#include "src/view/losses.h"
#include "src/view/misfits.h"
#include "src/view/reader.h"

struct ptrc_check_log {
	/* As the user has named it. */
	const char *path;
	struct ptrc_reader reader;
	struct ptrc_view view;
	struct ptrc_reader_block block;
	struct ptrc_losses losses;
	unsigned int number;
	/* The time of the last event that was read, and that there are no more. */
	int64_t last_ns;
	bool is_over;
	/* What the types are for the rules, once that has been found out. */
	struct ptrc_roles roles[PTRC_READER_IDS];
	bool is_known[PTRC_READER_IDS];
};

struct ptrc_check {
	struct ptrc_rules *rules;
	struct ptrc_judge judge;
	struct ptrc_check_log *logs;
	size_t log_count;
	/* Of several logs, or if a rule has the bounds of times. */
	struct ptrc_hosts hosts;
	/* By which messages clocks were compared, as the user has said. */
	const struct ptrc_cli_texts *messages;
	/* The times of the first and the last event. */
	int64_t first_ns, last_ns;
	/* Events whose time is before that of the event before them. */
	uint64_t backwards;
	bool is_utc;
	/* Something could not be read. */
	bool has_failed;
	/* Something is missing, or a log has no end. */
	bool is_incomplete;
	/* Data that does not fit its layout. */
	struct ptrc_misfit_types misfits;
};

/* Opens the logs, of which some may have labels. Returns false, after a message, if one cannot be opened. */
bool ptrc_check_open(struct ptrc_check *, struct ptrc_rules *, char *const *paths, size_t count,
		     const struct ptrc_cli_texts *labels, bool is_utc);

/* Compares the clocks of the hosts by messages, whose texts stay there. Returns false, after a message, if there
 * are none. */
bool ptrc_check_sync(struct ptrc_check *, struct ptrc_sync *, const struct ptrc_cli_texts *);

/* Reads the logs and decides the rules. */
void ptrc_check_judge(struct ptrc_check *);

/* The exit status that the verdicts make. */
enum ptrc_exit ptrc_check_status(const struct ptrc_check *, bool is_loss_allowed);

/* Prints messages on what is missing from the logs. */
void ptrc_check_report_losses(const struct ptrc_check *);

void ptrc_check_close(struct ptrc_check *);

#endif
