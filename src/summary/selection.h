/* SPDX-License-Identifier: MIT */
/*
 * The options that say which events of which logs a command takes: ptrace-dump, ptrace-export and ptrace-report have
 * all of them, ptrace-stat and ptrace-check a part.
 */
#ifndef PTRC_SRC_SUMMARY_SELECTION_H
#define PTRC_SRC_SUMMARY_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/cli.h"
#include "src/spans/pairs.h"
#include "src/sync/sync.h"
#include "src/query/query.h"

/* The log that is read if none is given. */
#define PTRC_SELECTION_LOG "ptrace.log"

enum {
	PTRC_SELECTION_USER = PTRC_CLI_KEY_SHARED,
	PTRC_SELECTION_TID,
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
	PTRC_SELECTION_STRICT,
	PTRC_SELECTION_SYMBOLS,
	PTRC_SELECTION_ALLOW_LOSS,
	PTRC_SELECTION_LABEL,
	PTRC_SELECTION_SYNC,
};

/* Rows of a command's table of options: by what an event has of itself. */
#define PTRC_SELECTION_EVENT_OPTIONS                                                            \
	{"event", 'e', "GLOB", "only events whose name matches; may be given\nseveral times"},  \
		{"user", PTRC_SELECTION_USER, NULL, "leave the system's own events out"},       \
		{"pid", 'p', "PID", "only events of the process; may be given several\ntimes"}, \
		{"tid", PTRC_SELECTION_TID, "TID",                                              \
		 "only events of the thread with this kernel number\n(gettid); may be given "   \
		 "several times"},                                                              \
		{"since", PTRC_SELECTION_SINCE, "TIME",                                         \
		 "only events from this time on, as text shows\nit or such as "                 \
		 "2026-01-02T03:04:05Z, 2026-01-02\n03:04 (local), 03:04 (today), now, "        \
		 "today,\nyesterday, 1h ago, @SECONDS since 1970, +2s after\nthe begin, -5s "   \
		 "before the end"},                                                             \
		{"until", PTRC_SELECTION_UNTIL, "TIME", "only events up to this time"},         \
	{                                                                                       \
		"where", PTRC_SELECTION_WHERE, "EXPR",                                          \
			"only events for which the expression holds,\n"                         \
			"such as 'len > 9 && data.rows == 0'; may be given\nseveral times"      \
	}

/* The same, and by where an event stands. The command explains --pair, whose key is above, itself. */
#define PTRC_SELECTION_OPTIONS                                                                           \
	PTRC_SELECTION_EVENT_OPTIONS,                                                                    \
		{"around", PTRC_SELECTION_AROUND, "EVENT",                                               \
		 "only events near those whose name matches; may be\n"                                   \
		 "'GLOB where EXPR'"},                                                                   \
		{"context", PTRC_SELECTION_CONTEXT, "DURATION[,DURATION]",                               \
		 "with --around: how long before and after, such as\n10s or 1.5ms,1m30s (default: 1s)"}, \
		{"first", PTRC_SELECTION_FIRST, "N", "only the first N of them"},                        \
	{                                                                                                \
		"last", PTRC_SELECTION_LAST, "N", "only the last N of them"                              \
	}

/* Of a command that gives pairs names. */
#define PTRC_SELECTION_LABEL_BY_OPTION                                     \
	{                                                                  \
		"label-by", PTRC_SELECTION_LABEL_BY, "FIELD",              \
			"call pairs 'NAME: VALUE', by the value of this\n" \
			"field of their begins, such as data.kind"         \
	}

/* Rows of its tables of what excludes and needs what. */
#define PTRC_SELECTION_EXCLUSIONS \
	{                         \
		"last", "first"   \
	}
#define PTRC_SELECTION_NEEDS        \
	{                           \
		"context", "around" \
	}

/* Those that are about logs of several hosts. */
#define PTRC_SELECTION_HOST_OPTIONS                                                            \
	{"label", PTRC_SELECTION_LABEL, "NAME=LOG",                                            \
	 "what the host of LOG, one of the operands, is\ncalled; may be given several times"}, \
	{                                                                                      \
		"clock-sync", PTRC_SELECTION_SYNC, "MESSAGE",                                  \
			"compare the clocks of hosts by messages between\nthem, such as "      \
			"'net.send..net.recv by data.id'; may\nbe given several times"         \
	}

/* Those that say what the data is. */
#define PTRC_SELECTION_DATA_OPTIONS                                                       \
	{"decode", PTRC_SELECTION_DECODE, "EVENT=LAYOUT",                                 \
	 "what the data of events means, such as\n"                                       \
	 "'db.query=u64 id, u32 rows, str sql'; may be given\nseveral times"},            \
		{"strict", PTRC_SELECTION_STRICT, NULL,                                   \
		 "exit with 3 if the data of a selected event does\nnot fit its layout"}, \
		{"symbols", PTRC_SELECTION_SYMBOLS, NULL,                                 \
		 "tell function, file and line of the call that\nrecorded each event"},   \
	{                                                                                 \
		"config", 'c', "FILE",                                                    \
			"read layouts as for --decode from this file, see\n"              \
			"ptrace.yaml(5); - for standard input"                            \
	}

/* What was given of these, beside what is in the query and the pairs. */
struct ptrc_selection {
	struct ptrc_query *query;
	struct ptrc_pairs *pairs;
	struct ptrc_cli_texts wheres;
	const char *around_text;
	struct ptrc_cli_texts pair_texts;
	/* The field of --label-by, or null; and what the pairs have of it. */
	const char *label_text;
	struct ptrc_label label;
	struct ptrc_cli_texts labels;
	struct ptrc_cli_texts sync_texts;
	struct ptrc_sync sync;
	const char *config;
	bool has_symbols;
	/* Pairs are selected by their begins, as events are. */
	bool is_by_begin;
	/* The command has no --symbols. */
	bool is_without_symbols;
	/* The operands are paths of logs, not names of sessions. */
	bool is_of_logs;
	/* The events go to a log, which is read with what it says of its clocks later. */
	bool is_for_log;
};

/* Prepares the query, which is zeroed, to select everything. */
void ptrc_selection_begin(struct ptrc_selection *, struct ptrc_query *, struct ptrc_pairs *);

/* Takes the option with this key, whose argument is in optarg. Returns false if it is not one of
 * these. */
bool ptrc_selection_take(struct ptrc_selection *, int key);

/* Reads what may name fields of layouts, once all options are there: layouts, pairs, expressions. */
void ptrc_selection_read(struct ptrc_selection *);

/* Refuses values that make no sense together, and none of the operands where one is needed. */
void ptrc_selection_check(const struct ptrc_selection *, int operands);

/* Opens the logs and sessions, or the session that is followed; without operands, the log that is
 * read then. Reads the layouts that they tell. Returns false, after messages, if not all could be opened. */
bool ptrc_selection_open(struct ptrc_selection *, char **operands, size_t count);

/* Loads what tells where in the source events were generated, if --symbols asks for it. Returns false after a
 * message. */
bool ptrc_selection_load_symbols(struct ptrc_selection *);

/* Has the query run and end, whose sink is set. Returns the exit status. */
enum ptrc_exit ptrc_selection_run(struct ptrc_selection *);

/* Of sources that have no end because all who could write it are dead: says how to get the rest. */
void ptrc_selection_say_orphans(const struct ptrc_selection *);

/* Closes the sources, so that others can be opened. */
void ptrc_selection_close(struct ptrc_selection *);

/* Closes the sources, and frees what the query and the selection hold. */
void ptrc_selection_free(struct ptrc_selection *);

#endif
