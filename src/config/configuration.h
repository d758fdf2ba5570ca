/* SPDX-License-Identifier: MIT */
/*
 * The settings of sessions. Options override the file (ptrace.yaml(5)), and the file
 * overrides the built-in values. The keys of the file, the options and --dump-config come
 * from one table.
 *
 * Configurations that override each other share texts and lists, so nothing here is ever
 * freed.
 */
#ifndef PTRC_SRC_CONFIG_CONFIGURATION_H
#define PTRC_SRC_CONFIG_CONFIGURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <posixtrace-control.h>

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
	PTRC_CONFIG_ONLY,
	PTRC_CONFIG_EXCLUDE,
	PTRC_CONFIG_DECODE,
	PTRC_CONFIG_KEYS,
};

/* The command that reads the file: a bit each. For ptrace-dump a file may have every key. */
enum ptrc_config_user {
	PTRC_CONFIG_FOR_CREATE = 1,
	PTRC_CONFIG_FOR_RUN = 2,
	PTRC_CONFIG_FOR_DUMP = 4,
	/* Another bit of a setting: it is one of the log, and so has no effect without an output. */
	PTRC_CONFIG_OF_LOG = 8,
};

enum ptrc_config_kind {
	PTRC_CONFIG_TEXT,
	PTRC_CONFIG_NUMBER,
	PTRC_CONFIG_SIZE,
	/* Nanoseconds; written as a number with a unit. */
	PTRC_CONFIG_DURATION,
	PTRC_CONFIG_BOOL,
	/* When a log is rotated: a size, or a duration, which has another unit. */
	PTRC_CONFIG_ROTATION,
	PTRC_CONFIG_POLICY,
	/* Which events of the operating system: words with commas between. */
	PTRC_CONFIG_OS_KINDS,
	/* A list of texts. */
	PTRC_CONFIG_LIST,
	/* A mapping from names of events to texts. */
	PTRC_CONFIG_MAP,
};

struct ptrc_config_setting {
	/* The key in the file, which is also the name of the long option. */
	const char *key;
	enum ptrc_config_kind kind;
	/* Bits of enum ptrc_config_user: the commands that have the setting. */
	unsigned int users;
	/* Where the value is in struct ptrc_config, and its size. */
	size_t offset;
	size_t size;
	/* The range of a number, or of the length in bytes of a text. */
	uint64_t low;
	uint64_t high;
	/* The words of a policy; null for other kinds. */
	const struct ptrc_attributes_policy *policy;
};

/* Indexed by enum ptrc_config_key. */
extern const struct ptrc_config_setting ptrc_config_settings[PTRC_CONFIG_KEYS];

struct ptrc_config_layout {
	const char *event;
	const char *text;
	/* Where the text stands in the file. */
	struct ptrc_config_mark mark;
};

struct ptrc_config_map {
	struct ptrc_config_layout *layouts;
	size_t count;
};

struct ptrc_config {
	/* Null if not given. */
	const char *name;
	const char *output;
	/* 0 if not given. */
	uint64_t pid;
	/* Whatever the output is, it may be replaced. */
	bool is_forced;
	/* The log is closed without waiting for the disk. */
	bool is_unsynced;
	bool hides_command_lines;
	bool is_started;
	bool is_kept;
	uint64_t stream_min_size;
	uint64_t max_data_size;
	uint64_t log_max_size;
	uint64_t full_wait_ns;
	/* At most one of the two is not 0. */
	struct ptrc_config_rotation {
		uint64_t bytes;
		uint64_t ns;
	} log_rotate;
	uint64_t log_keep;
	struct ptrc_cli_texts snapshot_on;
	uint64_t snapshot_max;
	struct ptrc_config_os {
		unsigned int kinds;	/* of enum ptrc_os_... */
		unsigned int frequency; /* of samples */
	} os;
	/* 0 if not given: see ptrc_config_stream_full_policy(). */
	int stream_full_policy;
	int inheritance;
	int log_full_policy;
	struct ptrc_cli_texts only;
	struct ptrc_cli_texts exclude;
	struct ptrc_config_map decode;
	/* A bit per key that the file or an option gives a value to. */
	unsigned int given;
	/* Those of them that only the defaults of the file give. */
	unsigned int from_defaults;
	/* Where the session begins in the file, and where each of its values does. */
	struct ptrc_config_mark mark;
	struct ptrc_config_mark marks[PTRC_CONFIG_KEYS];
};

/* Limits of a file, far above what anybody needs. */
enum {
	PTRC_CONFIG_SESSIONS_MAX = TRACE_SYS_MAX,
	PTRC_CONFIG_ITEMS_MAX = TRACE_USER_EVENT_MAX,
};

/* The sessions of a file, each completed by the file's defaults and the built-in
 * values. */
struct ptrc_config_file {
	/* The name of the file in messages. */
	const char *name;
	struct ptrc_config *sessions;
	size_t count;
	/* The file has a list of sessions, which may be only one. */
	bool is_list;
};

/* Sets the built-in values. */
void ptrc_config_init(struct ptrc_config *);

/*
 * Sets a setting to the value that the text stands for, or adds the text to its list. The
 * configuration points to texts; it does not copy them. Returns false with the reason if
 * the setting cannot have the value for this command.
 */
bool ptrc_config_set(struct ptrc_config *, enum ptrc_config_key, enum ptrc_config_user,
		     const char *text, struct ptrc_cli_reason *why);

/* Adds a layout. Returns false with the reason if it cannot be added. */
bool ptrc_config_add_layout(struct ptrc_config *, const struct ptrc_config_layout *,
			    struct ptrc_cli_reason *why);

/* Copies the settings that are given in *above to *below. */
void ptrc_config_overlay(struct ptrc_config *below, const struct ptrc_config *above);

/* The policy for a full stream. If none is given, it depends on whether there is a log, and on whether
 * snapshots are to be made of the stream. */
int ptrc_config_stream_full_policy(const struct ptrc_config *, bool has_log);

/* Writes the setting os as a file has it. */
#define PTRC_CONFIG_OS_BYTES 64
void ptrc_config_os_text(const struct ptrc_config_os *, char text[PTRC_CONFIG_OS_BYTES]);

/* Makes *attr the attributes of the session's stream. Returns an error of
 * posix_trace_attr_init(). */
int ptrc_config_attributes(const struct ptrc_config *, trace_attr_t *);

/* Makes a plan of what the configuration says about the session; the rest of it is zeroed. Its patterns are never
 * freed. */
struct ptrc_session_plan ptrc_config_plan(const struct ptrc_config *);

/* ---- configuration_yaml.c: configurations from files in YAML (ptrace.yaml(5)). A mistake in
 * a file ends the process with one message, "file:line:column: reason". ---- */

/* Reads the file; "-" is standard input. */
void ptrc_config_read(struct ptrc_config_file *, const char *path, enum ptrc_config_user);

/* Reads a file whose bytes are in memory. Messages call it `name`. */
void ptrc_config_parse(struct ptrc_config_file *, const char *name, const void *bytes, size_t size,
		       enum ptrc_config_user);

/* Prints a message about a place in the file, and ends the process. */
void ptrc_config_refuse(const struct ptrc_config_file *, const struct ptrc_config_mark *,
			const char *format, ...) __attribute__((format(printf, 3, 4), noreturn));

/* ---- configuration_dump.c ---- */

/* Puts the sessions as a file in YAML that reads back as the same configuration. Ends the
 * process if a value from the command line is not UTF-8, which YAML cannot hold. */
void ptrc_config_dump(const struct ptrc_config_file *, enum ptrc_config_user, struct ptrc_buffer *);

/* ---- configuration_options.c: settings as options of a command ---- */

/* The key of the option that is named like a setting. */
#define PTRC_CONFIG_OPTION(key) (PTRC_CLI_KEY_SHARED + (int)(key))

enum { PTRC_CONFIG_OPTION_DUMP = PTRC_CONFIG_OPTION(PTRC_CONFIG_KEYS) };

/* The options for attributes of the trace, which are the shared options of a command. */
extern const struct ptrc_cli_option ptrc_config_attribute_options[];

/* Rows for the table of words of a command that has these. */
#define PTRC_CONFIG_WORDS                                      \
	{"stream-full-policy", "loop until-full flush"},       \
		{"log-full-policy", "loop until-full append"}, \
		{"inheritance", "close-for-child inherited"},  \
	{                                                      \
		"os", "process sched samples none auto"        \
	}

/* Rows for the table of a command's own options. */
#define PTRC_CONFIG_OPTION_FILE                                                                    \
	{                                                                                          \
		"config", 'c', "FILE", "read ptrace.yaml(5) from this file, - for standard\ninput" \
	}
#define PTRC_CONFIG_OPTION_FORCE                                           \
	{                                                                  \
		"force", PTRC_CONFIG_OPTION(PTRC_CONFIG_FORCE), NULL,      \
			"replace an existing file even if it is not a log" \
	}
#define PTRC_CONFIG_OPTION_NO_FSYNC                                         \
	{                                                                   \
		"no-fsync", PTRC_CONFIG_OPTION(PTRC_CONFIG_NO_FSYNC), NULL, \
			"close the log without waiting for the disk"        \
	}
#define PTRC_CONFIG_OPTION_NO_COMMAND_LINE                                                \
	{                                                                                 \
		"no-command-line", PTRC_CONFIG_OPTION(PTRC_CONFIG_NO_COMMAND_LINE), NULL, \
			"keep command lines out of the log"                               \
	}
/* clang-format off */
#define PTRC_CONFIG_OPTION_PATTERNS                                                               \
	{"only", PTRC_CONFIG_OPTION(PTRC_CONFIG_ONLY), "GLOB",                                    \
	 "record only events whose name matches; may be\ngiven several times"},                   \
	{"exclude", PTRC_CONFIG_OPTION(PTRC_CONFIG_EXCLUDE), "GLOB",                              \
	 "do not record events whose name matches; may be\ngiven several times"}
/* clang-format on */
#define PTRC_CONFIG_OPTION_DUMP_CONFIG                                                              \
	{                                                                                           \
		"dump-config", PTRC_CONFIG_OPTION_DUMP, NULL,                                       \
			"show what settings the file and the options result\nin, as YAML, and exit" \
	}

/* What the command line says: the settings that are options, the path of --config, and
 * whether --dump-config is given. Starts zeroed except for the user. */
struct ptrc_config_line {
	enum ptrc_config_user user;
	struct ptrc_config options;
	const char *path;
	bool is_dump;
};

/* Takes one of the options above. Returns false if the key is another one's. Ends the process
 * if the value is not valid. */
bool ptrc_config_option(struct ptrc_config_line *, int key, const char *value);

/*
 * Reads the file, if one is given, and lays the options over each of its sessions. Without
 * a file there is one session. A command that can handle only one session passes an advice
 * for the user: if the file has several sessions, the process ends with a message that has
 * this advice.
 */
void ptrc_config_resolve(const struct ptrc_config_line *, const char *several_advice,
			 struct ptrc_config_file *);

#endif
