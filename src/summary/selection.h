/* SPDX-License-Identifier: MIT */
/*
 * The options that select logs and events. ptrace-dump, ptrace-export and ptrace-report have all of them,
 * ptrace-stat and ptrace-check some.
 */
#ifndef PTRC_SRC_SUMMARY_SELECTION_H
#define PTRC_SRC_SUMMARY_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/cli.h"
#include "src/spans/pairs.h"
#include "src/sync/sync.h"
#include "src/query/query.h"

/* The log that is read if there are no operands. */
#define PTRC_SELECTION_LOG "ptrace.log"

enum {
	PTRC_SELECTION_TID = PTRC_CLI_KEY_SHARED,
	PTRC_SELECTION_SINCE,
	PTRC_SELECTION_UNTIL,
	PTRC_SELECTION_AROUND,
	PTRC_SELECTION_CONTEXT,
	PTRC_SELECTION_WHERE,
	PTRC_SELECTION_FIRST,
	PTRC_SELECTION_LAST,
	PTRC_SELECTION_PAIR,
	PTRC_SELECTION_LABEL_BY,
	PTRC_SELECTION_DECODE,
	PTRC_SELECTION_LABEL,
	PTRC_SELECTION_SYNC,
};

/* clang-format off */

/* Rows for a command's table of options: the options that select events by their own properties. */
#define PTRC_SELECTION_EVENT_OPTIONS \
	{"event", 'e', "GLOB", "only events whose name matches; may be given\nseveral times"}, \
	{"user", 0, NULL, "leave the system's own events out"}, \
	{"pid", 'p', "PID", "only events of the process; may be given several\ntimes"}, \
	{"tid", PTRC_SELECTION_TID, "TID", \
	 "only events of the thread with this kernel number\n(gettid); may be given several times"}, \
	{"since", PTRC_SELECTION_SINCE, "TIME", \
	 "only events from this time on, as text shows\nit or such as 2026-01-02T03:04:05Z, 2026-01-02\n" \
	 "03:04 (local), 03:04 (today), now, today,\nyesterday, 1h ago, @SECONDS since 1970, +2s after\n" \
	 "the start, -5s before the end"}, \
	{"until", PTRC_SELECTION_UNTIL, "TIME", "only events up to this time"}, \
	{"where", PTRC_SELECTION_WHERE, "EXPR", \
	 "only events for which the expression holds,\nsuch as 'len > 9 && data.rows == 0'; may be given\n" \
	 "several times"}

/* Rows for a command's table of options: the options that select events by their own properties, and by their
 * place among other events. Each command has its own row for --pair. */
#define PTRC_SELECTION_OPTIONS \
	PTRC_SELECTION_EVENT_OPTIONS, \
	{"around", PTRC_SELECTION_AROUND, "EVENT", \
	 "only events near those whose name matches; may be\n'GLOB where EXPR'"}, \
	{"context", PTRC_SELECTION_CONTEXT, "DURATION[,DURATION]", \
	 "with --around: how long before and after, such as\n10s or 1.5ms,1m30s (default: 1s)"}, \
	{"first", PTRC_SELECTION_FIRST, "N", "only the first N of them"}, \
	{"last", PTRC_SELECTION_LAST, "N", "only the last N of them"}

/* The option --label-by, for a command that shows names of pairs. */
#define PTRC_SELECTION_LABEL_BY_OPTION \
	{"label-by", PTRC_SELECTION_LABEL_BY, "FIELD", \
	 "call pairs 'NAME: VALUE', by the value of this\nfield of their first events, such as data.kind"}

/* Rows for a command's table of flags: those of the options here that it has, in its selection and its query. */
#define PTRC_SELECTION_FLAGS(s, q) \
	{"user", &(q).select.is_user}, {"strict", &(q).is_strict}, {"symbols", &(s).has_symbols}, \
	{"allow-loss", &(q).is_loss_allowed}

/* Rows for a command's tables of options that exclude each other, and of options that need another one. */
#define PTRC_SELECTION_EXCLUSIONS {"last", "first"}
#define PTRC_SELECTION_NEEDS {"context", "around"}

/* Rows for a command's table of options: the options about logs of several hosts. */
#define PTRC_SELECTION_HOST_OPTIONS \
	{"label", PTRC_SELECTION_LABEL, "NAME=LOG", \
	 "the name of the host of LOG, one of the operands;\nmay be given several times"}, \
	{"clock-sync", PTRC_SELECTION_SYNC, "MESSAGE", \
	 "compare the clocks of hosts by messages between\nthem, such as 'net.send..net.recv by data.id'; may\n" \
	 "be given several times"}

/* Rows for a command's table of options: the options that say what data means. */
#define PTRC_SELECTION_DATA_OPTIONS \
	{"decode", PTRC_SELECTION_DECODE, "EVENT=LAYOUT", \
	 "what the data of events means, such as\n'db.query=u64 id, u32 rows, str sql'; may be given\n" \
	 "several times"}, \
	{"strict", 0, NULL, \
	 "exit with 3 if the data of a selected event does\nnot fit its layout"}, \
	{"symbols", 0, NULL, \
	 "show function, file and line of the call that\nrecorded each event"}, \
	{"config", 'c', "FILE", \
	 "read layouts as for --decode from this file, see\nptrace.yaml(5); - for standard input"}

/* clang-format on */

/* The values of the options that select logs and events, except for those that are kept in the query and in the
 * pairs. */
struct ptrc_selection {
	struct ptrc_query *query;
	struct ptrc_pairs *pairs;
	struct ptrc_cli_texts wheres;
	const char *around_text;
	struct ptrc_cli_texts pair_texts;
	/* The argument of --label-by, or NULL; and the label of the pairs, which is made from it. */
	const char *label_text;
	struct ptrc_label label;
	struct ptrc_cli_texts labels;
	struct ptrc_cli_texts sync_texts;
	struct ptrc_sync sync;
	const char *config;
	bool has_symbols;
	/* The conditions of the selection apply to the first event of a pair only. */
	bool is_by_begin;
	/* The command, or what it was asked for, cannot have --symbols. */
	bool is_without_symbols;
	/* The operands are paths of logs, not names of sessions. */
	bool is_of_logs;
	/* The events become a new log, which gets the readings of the clocks. So times are not corrected now, but
	 * when that log is read. */
	bool is_for_log;
};

/* Prepares the selection and the query, which is zeroed, so that they select everything. */
void ptrc_selection_begin(struct ptrc_selection *, struct ptrc_query *, struct ptrc_pairs *);

/* Takes the option with this key, whose argument is in optarg. Returns false if the key is not one of this file. */
bool ptrc_selection_take(struct ptrc_selection *, int key);

/* Reads layouts, pairs and expressions. Called after all options were taken, because pairs and expressions name
 * fields of layouts. */
void ptrc_selection_read(struct ptrc_selection *);

/* Ends the process, with a message, if values of options contradict each other, or if an operand is missing.
 * `operands` is the number of operands. */
void ptrc_selection_check(const struct ptrc_selection *, int operands);

/* Opens what the query reads: the logs and sessions that the operands name, or the session that is followed, or,
 * without operands, PTRC_SELECTION_LOG. Reads their layouts. Returns false, after messages, if not all could be
 * opened. */
bool ptrc_selection_open(struct ptrc_selection *, char **operands, size_t count);

/* If --symbols was given: prepares for finding places in the source code. Returns false, after a message, if that
 * fails. */
bool ptrc_selection_load_symbols(struct ptrc_selection *);

/* Runs and ends the query, whose sink is set. Returns the exit status. */
enum ptrc_exit ptrc_selection_run(struct ptrc_selection *);

/* For each log that has no end and whose writers are all dead: prints a message about how to get the rest of its
 * events. */
void ptrc_selection_say_orphans(const struct ptrc_selection *);

/* Closes the sources of the query, so that others can be opened. */
void ptrc_selection_close(struct ptrc_selection *);

/* Closes the sources, and frees everything else of the query and the selection. */
void ptrc_selection_free(struct ptrc_selection *);

#endif
