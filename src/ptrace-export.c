/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "src/base/cli.h"
#include "src/base/exit_status.h"
#include "src/base/output.h"
#include "src/export/ctf_metadata.h"
#include "src/export/export.h"
#include "src/session/logfile.h"
#include "src/summary/selection.h"
#include "src/query/query.h"

enum {
	KEY_TO = PTRC_CLI_KEY_FIRST,
	KEY_COUNTERS,
	KEY_CTF_VERSION,
};

static struct ptrc_export_options export;

static const struct ptrc_cli_option options[] = {
	{"to", KEY_TO, "FORMAT", "chrome, perfetto, ctf, folded, speedscope, csv or\notlp"},
	{"output", 'o', "FILE",
	 "write to this file, not to standard output;\nfor ctf, to this directory"},
	{"ctf-version", KEY_CTF_VERSION, "VERSION",
	 "of ctf: 1.8 (the default), or 2, which babeltrace\nreads since 2.1"},
	{"force", 0, NULL,
	 "let the export replace a file that is none of this\nformat; of ctf, an export to ctf"},
	PTRC_SELECTION_OPTIONS,
	{"pair", PTRC_SELECTION_PAIR, "PAIR",
	 "these events, too, are a slice of time, as X.begin\nand X.end always are:\n"
	 "'req' (of req.begin and req.end) or 'a..b', of the\nsame thread, or with ' by data.id' of those with\n"
	 "the same value in the field; may be given several\ntimes"},
	PTRC_SELECTION_LABEL_BY_OPTION,
	{"counters", KEY_COUNTERS, "[=GLOB]",
	 "numbers that have a unit become counters, called\nEVENT.FIELD; or all numbers whose counters "
	 "the\npattern matches"},
	PTRC_SELECTION_HOST_OPTIONS,
	PTRC_SELECTION_DATA_OPTIONS,
	{"allow-loss", 0, NULL, "exit with 0 even if the data is incomplete"},
	PTRC_CLI_OPTIONS_END,
};

static struct ptrc_query query;
static struct ptrc_selection selection;

static const struct ptrc_cli cli = {
	.program = "ptrace-export",
	.operands = "--to=FORMAT [OPTION]... [SESSION|LOG]...",
	.summary =
		"Writes the events of trace logs, and of what sessions hold now, in a format that\n"
		"other programs read. A name that has a / in it, or that no session has, is the\n"
		"path of a log; LOG may be - for standard input. Without any, it is\n" PTRC_SELECTION_LOG
		".",
	.options = options,
	.flags = PTRC_CLI_FLAGS(PTRC_SELECTION_FLAGS(selection, query),
				{"force", &export.is_forced}),
	.exclusions = PTRC_CLI_ROWS(PTRC_SELECTION_EXCLUSIONS),
	.needs = PTRC_CLI_ROWS(PTRC_SELECTION_NEEDS, {"force", "output"}),
	/* The words are in the order of ptrc_export_formats and ptrc_ctf_versions. */
	.words = PTRC_CLI_ROWS({"to", "chrome perfetto ctf folded speedscope csv otlp"},
			       {"ctf-version", "1.8 2"}),
	.operand_kinds = "SESSION|LOG",
	.notes = "Exit status: 0 done, 1 failed, 2 wrong usage, 3 the data is incomplete.",
};

static struct ptrc_pairs pairs;

/* Refuses the option, which is about pairs, if the format shows no pairs. */
static void check_pairs(const char *option)
{
	if (export.format->has_only_events)
		ptrc_cli_usage(option,
			       "cannot be used together with --to=%s, which has events only%s",
			       export.format->name,
			       strcmp(export.format->name, "csv")
				       ? ""
				       : " (ptrace-dump --pairs --format=csv has pairs)");
}

static void check_usage(int operands)
{
	const char *name;
	bool is_flame;

	if (!export.format)
		ptrc_cli_usage("--to",
			       "is needed: chrome, perfetto, ctf, folded, speedscope, csv or otlp");
	name = export.format->name;
	is_flame = export.format->push;
	if (export.path && !strcmp(export.path, "-"))
		export.path = NULL;
	if (export.format->open && !export.path)
		ptrc_cli_usage("--to", "%s is a directory: --output has to name it", name);
	if (export.path && !*export.path)
		ptrc_cli_usage("--output", "needs the name of a file");
	if (selection.pair_texts.count)
		check_pairs("--pair");
	if (selection.label_text)
		check_pairs("--label-by");
	if (is_flame && (query.first_count != UINT64_MAX || query.last_count != UINT64_MAX))
		ptrc_cli_usage("--to",
			       "%s has sums of events, so --first and --last cannot be used with "
			       "it",
			       name);
	if (export.ctf_version && export.format != &ptrc_export_ctf)
		ptrc_cli_usage("--ctf-version", "cannot be used together with --to=%s", name);
	if (!export.ctf_version)
		export.ctf_version = ptrc_ctf_versions[0];
	if (export.has_counters && !export.format->counter)
		ptrc_cli_usage("--counters", "cannot be used together with --to=%s", name);
	ptrc_selection_check(&selection, operands);
}

static void parse(int argc, char **argv)
{
	int key;

	ptrc_cli_begin(&cli);
	ptrc_selection_begin(&selection, &query, &pairs);
	while ((key = ptrc_cli_next(argc, argv)) != -1) {
		export.has_counters |= key == KEY_COUNTERS;
		if (key == KEY_TO)
			export.format = ptrc_export_formats[ptrc_cli_word("--to", optarg)];
		else if (key == 'o')
			ptrc_cli_once("--output", &export.path);
		else if (key == KEY_CTF_VERSION)
			export.ctf_version =
				ptrc_ctf_versions[ptrc_cli_word("--ctf-version", optarg)];
		else if (key == KEY_COUNTERS)
			export.counters = optarg;
		else
			ptrc_selection_take(&selection, key);
	}
	/* If pairs become slices of a time line, fields of both of their events can select them; if
	 * they become parts of a flame graph, only fields of their first event. */
	pairs.is_by_name = export.format && export.format->slice;
	selection.is_by_begin = !pairs.is_by_name;
	ptrc_selection_read(&selection);
	check_usage(argc - optind);
}

static enum ptrc_exit run(struct ptrc_export **x)
{
	/* If a pattern matches no event type, that is reported at the end, and no file is made or replaced. */
	if (!ptrc_query_may_select(&query))
		return ptrc_query_end(&query, PTRC_EXIT_FAILED, false);
	if (!ptrc_export_begin(x, &query, &pairs, &export))
		return PTRC_EXIT_FAILED;
	return ptrc_selection_run(&selection);
}

int main(int argc, char **argv)
{
	enum ptrc_exit status = PTRC_EXIT_DONE;
	struct ptrc_export *x = NULL;

	parse(argc, argv);
	if (!ptrc_selection_load_symbols(&selection))
		return PTRC_EXIT_FAILED;
	ptrc_output_begin();
	if (!ptrc_selection_open(&selection, argv + optind, (size_t)(argc - optind)))
		status = PTRC_EXIT_FAILED;
	status = ptrc_exit_worse(status, query.source_count ? run(&x) : PTRC_EXIT_FAILED);
	ptrc_output_end(&query.out);
	ptrc_export_free(x);
	ptrc_selection_free(&selection);
	return (int)status;
}
