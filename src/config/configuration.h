/* SPDX-License-Identifier: MIT */
/*
 * The settings of sessions. Options override the configuration file (ptrace.yaml(5)), and the file overrides the
 * built-in values. The keys of the file, the options and the output of --dump-config all come from one table,
 * ptrc_config_settings.
 *
 * Configurations that override each other share texts and lists, so nothing here is ever freed.
 */
#ifndef PTRC_SRC_CONFIG_CONFIGURATION_H
#define PTRC_SRC_CONFIG_CONFIGURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/cli.h"
#include "src/config/mark.h"
#include "src/query/attributes.h"
#include "src/session/session_server.h"

/* The settings, in the order in which --dump-config shows them. */
enum ptrc_config_key {
	PTRC_CONFIG_NAME,
	PTRC_CONFIG_PID,
	PTRC_CONFIG_OUTPUT,
	PTRC_CONFIG_COUNT_ONLY,
	PTRC_CONFIG_FORCE,
	PTRC_CONFIG_NO_FSYNC,
	PTRC_CONFIG_NO_COMMAND_LINE,
	PTRC_CONFIG_START,
	PTRC_CONFIG_KEEP,
	PTRC_CONFIG_STREAM_MIN_SIZE,
	PTRC_CONFIG_STREAM_FULL_POLICY,
	PTRC_CONFIG_FULL_WAIT,
	PTRC_CONFIG_MAX_DATA_SIZE,
	PTRC_CONFIG_INHERITANCE,
	PTRC_CONFIG_LOG_MAX_SIZE,
	PTRC_CONFIG_LOG_FULL_POLICY,
	PTRC_CONFIG_LOG_ROTATE,
	PTRC_CONFIG_LOG_KEEP,
	PTRC_CONFIG_SNAPSHOT_ON,
	PTRC_CONFIG_SNAPSHOT_MAX,
	PTRC_CONFIG_OS,
	PTRC_CONFIG_STACKS,
	PTRC_CONFIG_WAITS,
	PTRC_CONFIG_SDT,
	PTRC_CONFIG_ONLY,
	PTRC_CONFIG_EXCLUDE,
	PTRC_CONFIG_DECODE,
	PTRC_CONFIG_KEYS,
};

/* The command that reads the configuration file, as a bit. ptrace-dump accepts every key. */
enum ptrc_config_user {
	PTRC_CONFIG_FOR_CREATE = 1,
	PTRC_CONFIG_FOR_RUN = 2,
	PTRC_CONFIG_FOR_DUMP = 4,
	/* Not a command, but a bit of ptrc_config_setting.users: the setting has no effect without a log. */
	PTRC_CONFIG_OF_LOG = 8,
};

enum ptrc_config_kind {
	PTRC_CONFIG_TEXT,
	PTRC_CONFIG_NUMBER,
	PTRC_CONFIG_SIZE,
	/* A time in nanoseconds, written in the file as a number with a unit. */
	PTRC_CONFIG_DURATION,
	PTRC_CONFIG_BOOL,
	/* A size or a duration; the unit shows which. */
	PTRC_CONFIG_ROTATION,
	PTRC_CONFIG_POLICY,
	PTRC_CONFIG_OS_KINDS,
	PTRC_CONFIG_LIST,
	/* A mapping from names of events to texts. */
	PTRC_CONFIG_MAP,
};

struct ptrc_config_setting {
	/* The key in the configuration file, which is also the name of the long option. */
	const char *key;
	enum ptrc_config_kind kind;
	/* The commands that have the setting, as bits of enum ptrc_config_user. */
	unsigned int users;
	/* The offset and the size of the setting's member in struct ptrc_config. */
	size_t offset;
	size_t size;
	/* The smallest and the largest value of a number; for a text, the least and the most bytes. */
	uint64_t low;
	uint64_t high;
	const struct ptrc_attributes_policy *policy;
};

/* The table of all settings, indexed by enum ptrc_config_key. */
extern const struct ptrc_config_setting ptrc_config_settings[PTRC_CONFIG_KEYS];

struct ptrc_config_layout {
	const char *event;
	const char *text;
	/* The place of .text in the configuration file. */
	struct ptrc_config_mark mark;
};

struct ptrc_config_map {
	struct ptrc_config_layout *layouts;
	size_t count;
};

struct ptrc_config {
	/* The name of the session, and the path of its log; NULL if not given. */
	const char *name;
	const char *output;
	/* Events are counted and not kept. .output is then PTRC_CONFIG_NOTHING. */
	bool only_counts;
	/* The process ID of the process to trace; 0 if not given. */
	uint64_t pid;
	/* The file .output may be replaced even if it is not a log. */
	bool is_forced;
	bool is_unsynced;
	bool hides_command_lines;
	bool is_started;
	bool is_kept;
	uint64_t stream_min_size;
	uint64_t max_data_size;
	uint64_t log_max_size;
	uint64_t full_wait_ns;
	/* The size or the age at which the log continues in another file; both are 0 if it is not
	 * rotated, else one of them is. */
	struct ptrc_config_rotation {
		uint64_t bytes;
		uint64_t ns;
	} log_rotate;
	uint64_t log_keep;
	struct ptrc_cli_texts snapshot_on;
	uint64_t snapshot_max;
	struct ptrc_config_os {
		unsigned int kinds;	/* PTRC_OS_* bits */
		unsigned int frequency; /* samples per second of processor time */
	} os;
	int stacks; /* enum ptrc_os_stacks */
	/* Patterns of the kinds of waits (such as lock, io) that are recorded. */
	struct ptrc_cli_texts waits;
	/* Patterns of the names of static probes that are recorded. */
	struct ptrc_cli_texts sdt;
	/* 0 if not given; ptrc_config_stream_full_policy() then returns the default. */
	int stream_full_policy;
	int inheritance;
	int log_full_policy;
	struct ptrc_cli_texts only;
	struct ptrc_cli_texts exclude;
	struct ptrc_config_map decode;
	/* The keys that the file or an option gives; bit i stands for the ptrc_config_key i. */
	unsigned int given;
	/* The keys in .given that only the `defaults' of the file give, not the session itself or an option. */
	unsigned int from_defaults;
	/* The place of the session in the configuration file, and the places of its values. */
	struct ptrc_config_mark mark;
	struct ptrc_config_mark marks[PTRC_CONFIG_KEYS];
};

enum {
	PTRC_CONFIG_SESSIONS_MAX = TRACE_SYS_MAX,
	PTRC_CONFIG_ITEMS_MAX = TRACE_USER_EVENT_MAX,
};

/* The sessions of a configuration file. Settings that a session does not give come from the file's `defaults' or
 * from the built-in values. */
struct ptrc_config_file {
	const char *name;
	struct ptrc_config *sessions;
	size_t count;
	/* True: the file has a list of sessions, perhaps of one. False: it has the settings of a single session. */
	bool is_list;
};

/* The log of a session that only counts: its keeper (the writer of the log) counts the events and drops them. */
#define PTRC_CONFIG_NOTHING "/dev/null"

void ptrc_config_init(struct ptrc_config *);

/* Parses the value of a setting or, if the setting is a list, adds the text to it. The
 * configuration points to the text afterwards. Returns false with the reason if the command (enum
 * ptrc_config_user) does not accept the value. */
bool ptrc_config_set(struct ptrc_config *, enum ptrc_config_key, enum ptrc_config_user,
		     const char *text, struct ptrc_cli_reason *why);

/* Adds a layout to the setting `decode'. Returns false, with the reason, if a text is empty or too long, or
 * there are too many. */
bool ptrc_config_add_layout(struct ptrc_config *, const struct ptrc_config_layout *,
			    struct ptrc_cli_reason *why);

/* Copies to *below each setting that *above gives. A list or mapping replaces that of *below as a whole. */
void ptrc_config_overlay(struct ptrc_config *below, const struct ptrc_config *above);

/* Returns the policy for a full stream: the one that was given, or a default that depends on whether there is
 * a log and whether snapshots are made. */
int ptrc_config_stream_full_policy(const struct ptrc_config *, bool has_log);

/* Whether the setting is about events that are kept in a log or a snapshot, so that it excludes count-only. */
bool ptrc_config_is_of_kept_events(enum ptrc_config_key);

/* Writes the value of the setting `os' in the form that the configuration file has. */
#define PTRC_CONFIG_OS_BYTES 64
void ptrc_config_os_text(const struct ptrc_config_os *, char text[PTRC_CONFIG_OS_BYTES]);

/* Initialises *attr for the session's stream. Returns 0, or an error number of posix_trace_attr_init(). */
int ptrc_config_attributes(const struct ptrc_config *, trace_attr_t *);

/* Makes the plan of a session from the configuration. Members of the plan that the configuration does not
 * determine are zeroed. The plan's patterns are never freed. */
struct ptrc_session_plan ptrc_config_plan(const struct ptrc_config *);

/* ---- configuration_yaml.c: files in YAML (ptrace.yaml(5)). A mistake in a file ends the process with one
 * message, "file:line:column: reason". ---- */

/* Reads the configuration file; "-" is standard input. Ends the process if the file has a mistake. */
void ptrc_config_read(struct ptrc_config_file *, const char *path, enum ptrc_config_user);

/* Reads a configuration file that is in memory. Messages about mistakes call it `name`. */
void ptrc_config_parse(struct ptrc_config_file *, const char *name, const void *bytes, size_t size,
		       enum ptrc_config_user);

/* ---- configuration_dump.c ---- */

/* Puts the text of a YAML file with these sessions. A command that reads this file gets the same settings. Ends the
 * process if a value from the command line is not UTF-8, because YAML cannot hold such a value. */
void ptrc_config_dump(const struct ptrc_config_file *, enum ptrc_config_user, struct ptrc_buffer *);

/* ---- configuration_options.c: settings as options of a command ---- */

/* ptrc_cli_option.key of the option that has the name of this setting. */
#define PTRC_CONFIG_OPTION(key) (PTRC_CLI_KEY_SHARED + (int)(key))

enum { PTRC_CONFIG_OPTION_DUMP = PTRC_CONFIG_OPTION(PTRC_CONFIG_KEYS) };

/* The options for the attributes of the trace. Commands use this table as ptrc_cli.shared_options. */
extern const struct ptrc_cli_option ptrc_config_attribute_options[];

/* clang-format off */
/* The rows for ptrc_config_attribute_options in a command's table ptrc_cli.words. */
#define PTRC_CONFIG_WORDS                                                                         \
	{"stream-full-policy", "loop until-full flush"},                                          \
	{"log-full-policy", "loop until-full append"},                                            \
	{"inheritance", "close-for-child inherited"},                                             \
	{"os", "process sched samples syscalls faults none auto"},                                                \
	{"stacks", "dwarf fp"}

/* Rows for the command's own table of options. */
#define PTRC_CONFIG_OPTION_FILE                                                                   \
	{"config", 'c', "FILE", "read ptrace.yaml(5) from this file, - for standard\ninput"}
#define PTRC_CONFIG_OPTION_FORCE                                                                  \
	{"force", PTRC_CONFIG_OPTION(PTRC_CONFIG_FORCE), NULL,                                    \
	 "replace an existing file even if it is not a log"}
#define PTRC_CONFIG_OPTION_COUNT_ONLY                                                             \
	{"count-only", PTRC_CONFIG_OPTION(PTRC_CONFIG_COUNT_ONLY), NULL,                          \
	 "count the events of each type, and keep none"}
#define PTRC_CONFIG_OPTION_NO_FSYNC                                                               \
	{"no-fsync", PTRC_CONFIG_OPTION(PTRC_CONFIG_NO_FSYNC), NULL,                              \
	 "close the log without waiting for the disk"}
#define PTRC_CONFIG_OPTION_NO_COMMAND_LINE                                                        \
	{"no-command-line", PTRC_CONFIG_OPTION(PTRC_CONFIG_NO_COMMAND_LINE), NULL,                \
	 "keep command lines out of the log"}
#define PTRC_CONFIG_OPTION_PATTERNS                                                               \
	{"only", PTRC_CONFIG_OPTION(PTRC_CONFIG_ONLY), "GLOB",                                    \
	 "record only events whose name matches; may be\ngiven several times"},                   \
	{"exclude", PTRC_CONFIG_OPTION(PTRC_CONFIG_EXCLUDE), "GLOB",                              \
	 "do not record events whose name matches; may be\ngiven several times"}
#define PTRC_CONFIG_OPTION_DUMP_CONFIG                                                            \
	{"dump-config", PTRC_CONFIG_OPTION_DUMP, NULL,                                            \
	 "show what settings the file and the options result\nin, as YAML, and exit"}
/* clang-format on */

/* The settings on the command line. Zeroed at the start, except for .user. */
struct ptrc_config_line {
	enum ptrc_config_user user;
	struct ptrc_config options;
	/* The path of --config, or NULL. */
	const char *path;
	bool is_dump;
};

/* Takes an option that gives a setting, or --config or --dump-config. Ignores the keys of other options. Ends the process
 * if the value is not valid. */
void ptrc_config_option(struct ptrc_config_line *, int key, const char *value);

/*
 * Reads the configuration file, if --config is given. Then overrides the settings of each session in the file by
 * the options. Without a file, there is one session. If several_advice is not NULL, the command can handle only
 * one session; if the file has several, the process ends with a message that contains this advice.
 */
void ptrc_config_resolve(const struct ptrc_config_line *, const char *several_advice,
			 struct ptrc_config_file *);

#endif
