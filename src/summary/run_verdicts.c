/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/summary/run_verdicts.h"

#include <unistd.h>

#include "src/base/replace.h"
#include "src/summary/run_result.h"

#define TAP "TAP version 13\n"
#define XML "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"ptrace-check\""

static const struct ptrc_replace_kind kinds[PTRC_CHECK_FORMATS] = {
	[PTRC_CHECK_TAP] = {0666, TAP, sizeof(TAP) - 1, "a result in TAP"},
	[PTRC_CHECK_JUNIT] = {0666, XML, sizeof(XML) - 1, "a result of ptrace-check in XML"},
};

static const char *const names[PTRC_CHECK_FORMATS] = {
	[PTRC_CHECK_TAP] = "--tap",
	[PTRC_CHECK_JUNIT] = "--junit",
	[PTRC_CHECK_GITHUB] = "--github",
};

/* The format of the verdicts on standard error. */
static enum ptrc_check_format format;

static struct {
	const char *path;
	int fd;
} files[PTRC_CHECK_FORMATS];

void ptrc_run_verdicts_option(enum ptrc_check_format f, const char *path)
{
	ptrc_run_result_check_path(names[f], path);
	if (path)
		ptrc_cli_once(names[f], &files[f].path);
	else if (format != PTRC_CHECK_TEXT && format != f)
		ptrc_cli_usage(names[f],
			       "goes to standard error, as %s does: give one of them a FILE",
			       names[format]);
	else
		format = f;
}

bool ptrc_run_verdicts_open(int log_fd, bool is_forced)
{
	for (int f = 0; f < PTRC_CHECK_FORMATS; f++) {
		if (!files[f].path)
			continue;
		files[f].fd =
			ptrc_run_result_open_file(files[f].path, &kinds[f], is_forced, log_fd);
		if (files[f].fd < 0)
			return false;
	}
	return true;
}

bool ptrc_run_verdicts_put(const struct ptrc_check *check)
{
	struct ptrc_buffer b = PTRC_BUFFER_INIT;
	bool is_written;

	ptrc_check_put(&b, check, format, false);
	is_written = ptrc_run_result_write(STDERR_FILENO, "standard error", &b);
	for (int f = 0; f < PTRC_CHECK_FORMATS; f++) {
		if (!files[f].path)
			continue;
		ptrc_check_put(&b, check, (enum ptrc_check_format)f, false);
		is_written &= ptrc_run_result_write(files[f].fd, files[f].path, &b);
	}
	return is_written;
}
