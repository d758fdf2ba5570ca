/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/config/configuration.h"

#include <stdio.h>
#include <string.h>

#include "src/config/kept.h"
#include "src/config/yaml_file.h"
#include "src/os/os_trace.h"

#define ATTRIBUTE(key) PTRC_CONFIG_OPTION(PTRC_CONFIG_##key)

const struct ptrc_cli_option ptrc_config_attribute_options[] = {
	{"name", 'n', "NAME", "name of the session and of the trace"},
	{"stream-min-size", ATTRIBUTE(STREAM_MIN_SIZE), "SIZE",
	 "bytes of events that the stream holds at least\n(default: 8M)"},
	{"stream-full-policy", ATTRIBUTE(STREAM_FULL_POLICY), "POLICY",
	 "if the stream is full: loop (overwrite the oldest\n"
	 "events), until-full (stop) or flush (write them to\n"
	 "the log); default: flush with a log, else loop"},
	{"full-wait", ATTRIBUTE(FULL_WAIT), "TIME",
	 "if the stream is full, let events wait for room;\n"
	 "they are lost if none is made for this long\n"
	 "(default: 0)"},
	{"max-data-size", ATTRIBUTE(MAX_DATA_SIZE), "SIZE",
	 "cut the data of an event to this many bytes\n(default: 4K)"},
	{"inheritance", ATTRIBUTE(INHERITANCE), "POLICY",
	 "trace the children of a traced process\n"
	 "(inherited, the default) or not\n(close-for-child)"},
	{"log-max-size", ATTRIBUTE(LOG_MAX_SIZE), "SIZE",
	 "bytes of events that the log holds at most, unless\n"
	 "its policy is append (default: 64M)"},
	{"log-full-policy", ATTRIBUTE(LOG_FULL_POLICY), "POLICY",
	 "if the log is full: loop (overwrite the oldest\n"
	 "events) or until-full (stop); with append, the\n"
	 "default, it never is full"},
	{"log-rotate", ATTRIBUTE(LOG_ROTATE), "SIZE|TIME",
	 "when the log has this size or age, continue in\nanother file: LOG.000001, ..."},
	{"log-keep", ATTRIBUTE(LOG_KEEP), "N",
	 "keep the last N files of --log-rotate, and delete\nthe others"},
	{"snapshot-on", ATTRIBUTE(SNAPSHOT_ON), "GLOB|PAIR>TIME",
	 "when an event whose name matches is recorded, or\n"
	 "when the pair takes longer ('req > 5s'), write\n"
	 "what the stream holds to a log of its own; may be\ngiven several times"},
	{"snapshot-max", ATTRIBUTE(SNAPSHOT_MAX), "N", "make at most N snapshots (default: 10)"},
	{"os", ATTRIBUTE(OS), "KIND,...",
	 "record what the operating system does, too:\n"
	 "process (forks, programs, ends), sched (when\n"
	 "threads run), samples or samples=HZ (stacks of\n"
	 "what runs, 1000 a second), syscalls, faults (of\n"
	 "pages); none; or auto, process if no program\n"
	 "records an event"},
	{"stacks", ATTRIBUTE(STACKS), "WAY",
	 "how --os=samples finds callers: dwarf (unwinding\n"
	 "tables, which all programs have; the default\n"
	 "where libdw is installed) or fp (frame pointers)"},
	PTRC_CLI_OPTIONS_END,
};

void ptrc_config_option(struct ptrc_config_line *l, int key, const char *value)
{
	struct ptrc_cli_reason why;
	char option[40];
	int setting = key == 'o'   ? (int)PTRC_CONFIG_OUTPUT
		      : key == 'p' ? (int)PTRC_CONFIG_PID
		      : key == 'n' ? (int)PTRC_CONFIG_NAME
				   : key - PTRC_CLI_KEY_SHARED;

	if (key == 'c') {
		if (l->path)
			ptrc_cli_usage("--config", "is given twice");
		l->path = value;
	}
	l->is_dump |= key == PTRC_CONFIG_OPTION_DUMP;
	if (setting < 0 || setting >= PTRC_CONFIG_KEYS)
		return;
	snprintf(option, sizeof(option), "--%s", ptrc_config_settings[setting].key);
	/* An option without an argument sets a boolean to true, or adds the pattern that matches everything to a
	 * list, as --waits does. */
	if (!value)
		value = ptrc_config_settings[setting].kind == PTRC_CONFIG_LIST ? "*" : "true";
	if (!ptrc_config_set(&l->options, (enum ptrc_config_key)setting, l->user, value, &why))
		ptrc_cli_usage(option, "%s", why.text);
}

#define PATTERNS_MAX_TEXT "256"
_Static_assert(POSIXTRACE_PATTERNS_MAX == 256, "as the text says");

static void __attribute__((noreturn))
refuse_setting(const struct ptrc_config_line *l, const struct ptrc_config_file *file,
	       const struct ptrc_config *c, enum ptrc_config_key key, const char *reason)
{
	const char *name = ptrc_config_settings[key].key;
	char option[40];

	if (!(l->options.given & 1U << key))
		ptrc_yaml_refuse_at(file->name, &c->marks[key], "%s: %s", name, reason);
	snprintf(option, sizeof(option), "--%s", name);
	ptrc_cli_usage(option, "%s", reason);
}

/* Called if an option or the session itself gives the setting `stacks'. Ends the process if it has no effect, or if its
 * value is not possible on this machine. */
static void check_stacks(const struct ptrc_config_line *l, const struct ptrc_config_file *file,
			 const struct ptrc_config *c)
{
	struct ptrc_cli_reason why, text;

	if (!(c->os.kinds & PTRC_OS_SAMPLES))
		refuse_setting(l, file, c, PTRC_CONFIG_STACKS, "has no effect without os: samples");
	if (!l->is_dump && c->stacks == PTRC_OS_STACKS_DWARF && !ptrc_os_has_dwarf(&why)) {
		ptrc_cli_because(&text, "dwarf is not possible: %s; fp is", why.text);
		refuse_setting(l, file, c, PTRC_CONFIG_STACKS, text.text);
	}
}

/* Gives the setting its built-in value, as if nothing had given another one. */
static void reset(struct ptrc_config *c, enum ptrc_config_key key)
{
	const struct ptrc_config_setting *s = &ptrc_config_settings[key];
	struct ptrc_config plain;

	ptrc_config_init(&plain);
	memcpy((char *)c + s->offset, (const char *)&plain + s->offset, s->size);
	c->given &= ~(1U << key);
	c->from_defaults &= ~(1U << key);
}

/* The file's `defaults' are for all sessions, so some may not fit this session's own settings (such as log-rotate, if
 * its log-full-policy is loop). Drops those: with them no stream could be made, or --dump-config would write a file
 * that is refused when it is read. */
static void drop_defaults(struct ptrc_config *c)
{
	unsigned int own = c->given & ~c->from_defaults;
	bool is_flushed = c->stream_full_policy ? c->stream_full_policy == POSIX_TRACE_FLUSH
						: !c->snapshot_on.count;

	if (!is_flushed && c->from_defaults & 1U << PTRC_CONFIG_FULL_WAIT)
		reset(c, PTRC_CONFIG_FULL_WAIT);
	/* If the `defaults' also give the policy, they contradict themselves: log-rotate stays, and check_together()
	 * refuses it if there is a log. */
	if (own & 1U << PTRC_CONFIG_LOG_FULL_POLICY && c->log_full_policy != POSIX_TRACE_APPEND &&
	    c->from_defaults & 1U << PTRC_CONFIG_LOG_ROTATE)
		reset(c, PTRC_CONFIG_LOG_ROTATE);
	if (!(c->given & 1U << PTRC_CONFIG_LOG_ROTATE) &&
	    c->from_defaults & 1U << PTRC_CONFIG_LOG_KEEP)
		reset(c, PTRC_CONFIG_LOG_KEEP);
	if (!(c->os.kinds & PTRC_OS_SAMPLES) && c->from_defaults & 1U << PTRC_CONFIG_STACKS)
		reset(c, PTRC_CONFIG_STACKS);
}

/* Prepares a session that only counts. Ends the process if the session itself has a setting about events that are
 * kept. Drops such settings of the file's `defaults', because they are for other sessions. */
static void set_count_only(const struct ptrc_config_line *l, const struct ptrc_config_file *file,
			   struct ptrc_config *c)
{
	for (int key = 0; key < PTRC_CONFIG_KEYS; key++) {
		bool is_of_log_only = key == PTRC_CONFIG_FORCE && l->user == PTRC_CONFIG_FOR_CREATE;

		if ((!ptrc_config_is_of_kept_events((enum ptrc_config_key)key) &&
		     !is_of_log_only) ||
		    !(c->given & 1U << key))
			continue;
		if (!(c->from_defaults & 1U << key))
			refuse_setting(l, file, c, (enum ptrc_config_key)key,
				       "cannot be used together with count-only, which keeps no "
				       "event");
		reset(c, (enum ptrc_config_key)key);
	}
	c->output = PTRC_CONFIG_NOTHING;
}

static void check_together(const struct ptrc_config_line *l, const struct ptrc_config_file *file,
			   const struct ptrc_config *c)
{
	/* ptrace-create makes no log without an output; ptrace-run always makes one. A configuration that
	 * --dump-config shows may get an output later. */
	bool lacks_log = !c->output && !l->is_dump && l->user == PTRC_CONFIG_FOR_CREATE;
	bool has_log = c->output || l->user == PTRC_CONFIG_FOR_RUN;
	/* The keys that the session itself or an option gives. The file's `defaults' may be for other sessions. */
	unsigned int own = c->given & ~c->from_defaults;

	/* With append, the default policy, log-max-size has no effect. A user who also gives a policy is assumed
	 * to know that. */
	if (c->given & 1U << PTRC_CONFIG_LOG_MAX_SIZE &&
	    !(c->given & 1U << PTRC_CONFIG_LOG_FULL_POLICY))
		refuse_setting(l, file, c, PTRC_CONFIG_LOG_MAX_SIZE,
			       "needs a log-full-policy, loop or until-full: with append, "
			       "the default, a log has no limit");
	for (int key = 0; key < PTRC_CONFIG_KEYS; key++)
		if (lacks_log && own & 1U << key &&
		    ptrc_config_settings[key].users & PTRC_CONFIG_OF_LOG)
			refuse_setting(l, file, c, (enum ptrc_config_key)key,
				       "has no effect without a log: give an output");
	if (c->only.count + c->exclude.count > POSIXTRACE_PATTERNS_MAX)
		refuse_setting(l, file, c,
			       c->exclude.count ? PTRC_CONFIG_EXCLUDE : PTRC_CONFIG_ONLY,
			       "there are more than " PATTERNS_MAX_TEXT
			       " patterns, those of only and exclude together");
	if (c->full_wait_ns && own & 1U << PTRC_CONFIG_FULL_WAIT && c->stream_full_policy &&
	    c->stream_full_policy != POSIX_TRACE_FLUSH)
		refuse_setting(
			l, file, c, PTRC_CONFIG_FULL_WAIT,
			"needs, like --no-loss, the stream-full-policy flush: room is made by writing to "
			"the log");
	if (c->full_wait_ns && own & 1U << PTRC_CONFIG_FULL_WAIT && c->snapshot_on.count)
		refuse_setting(
			l, file, c, PTRC_CONFIG_FULL_WAIT,
			"needs, like --no-loss, the stream-full-policy flush, and snapshot-on needs another "
			"one");
	if (c->snapshot_on.count && c->stream_full_policy == POSIX_TRACE_FLUSH)
		refuse_setting(
			l, file, c, PTRC_CONFIG_SNAPSHOT_ON,
			"needs the stream-full-policy loop, its default, or until-full: with "
			"flush, events leave the stream, and the log has them all");
	if (own & 1U << PTRC_CONFIG_SNAPSHOT_MAX && !c->snapshot_on.count)
		refuse_setting(l, file, c, PTRC_CONFIG_SNAPSHOT_MAX, "needs snapshot-on");
	if (c->given & 1U << PTRC_CONFIG_LOG_ROTATE && c->log_full_policy != POSIX_TRACE_APPEND &&
	    (own & 1U << PTRC_CONFIG_LOG_ROTATE || has_log))
		refuse_setting(l, file, c, PTRC_CONFIG_LOG_ROTATE,
			       "needs the log-full-policy append, which is the default");
	if (own & 1U << PTRC_CONFIG_LOG_KEEP && !(c->given & 1U << PTRC_CONFIG_LOG_ROTATE))
		refuse_setting(l, file, c, PTRC_CONFIG_LOG_KEEP, "needs log-rotate");
	if (own & 1U << PTRC_CONFIG_STACKS)
		check_stacks(l, file, c);
	if (c->stream_full_policy == POSIX_TRACE_FLUSH && lacks_log)
		refuse_setting(l, file, c, PTRC_CONFIG_STREAM_FULL_POLICY,
			       "flush needs a log: give an output");
}

void ptrc_config_resolve(const struct ptrc_config_line *l, const char *several_advice,
			 struct ptrc_config_file *file)
{
	memset(file, 0, sizeof(*file));
	if (l->path) {
		ptrc_config_read(file, l->path, l->user);
	} else {
		file->sessions = ptrc_config_keep(sizeof(*file->sessions));
		file->count = 1;
		ptrc_config_init(file->sessions);
	}
	if (several_advice && file->count > 1)
		ptrc_yaml_refuse_at(file->name, &file->sessions[1].mark, "a second session: %s",
				    several_advice);
	for (size_t i = 0; i < file->count; i++) {
		ptrc_config_overlay(&file->sessions[i], &l->options);
		/* By default, ptrace-run records events os.fork, os.exec and os.exit if no program records an
		 * event, so that a trace shows at least its processes. */
		if (l->user == PTRC_CONFIG_FOR_RUN &&
		    !(file->sessions[i].given & 1U << PTRC_CONFIG_OS))
			file->sessions[i].os.kinds = PTRC_OS_AUTO;
		if (file->sessions[i].only_counts)
			set_count_only(l, file, &file->sessions[i]);
		drop_defaults(&file->sessions[i]);
		check_together(l, file, &file->sessions[i]);
	}
}
