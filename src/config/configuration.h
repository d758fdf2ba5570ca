/* SPDX-License-Identifier: MIT */
/*
 * What a session is made from, as users say it: built-in values, a file in YAML
 * (ptrace.yaml(5)) and options, each over the one before. One table has the settings; the
 * keys of the file, the values of the options and --dump-config all come from it.
 *
 * Everything here lives as long as the process: texts and lists are shared between the
 * configurations that are laid over each other, and nothing is freed.
 */
#ifndef PTRC_SRC_CONFIG_CONFIGURATION_H
#define PTRC_SRC_CONFIG_CONFIGURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <posixtrace.h>

#include "src/view/attributes.h"
#include "src/cli/cli.h"
#include "src/cli/output.h"

/* In the order in which --dump-config shows them. */
enum ptrc_config_key {
	PTRC_CONFIG_NAME,
	PTRC_CONFIG_PID,
	PTRC_CONFIG_OUTPUT,
	PTRC_CONFIG_START,
	PTRC_CONFIG_UNTIL_EXIT,
	PTRC_CONFIG_STREAM_MIN_SIZE,
	PTRC_CONFIG_STREAM_FULL_POLICY,
	PTRC_CONFIG_MAX_DATA_SIZE,
	PTRC_CONFIG_INHERITANCE,
	PTRC_CONFIG_LOG_MAX_SIZE,
	PTRC_CONFIG_LOG_FULL_POLICY,
	PTRC_CONFIG_FILTER,
	PTRC_CONFIG_DECODE,
	PTRC_CONFIG_KEYS,
};

/* Who reads the file; bits. A file for ptrace-dump may have everything. */
enum ptrc_config_user {
	PTRC_CONFIG_FOR_CREATE = 1,
	PTRC_CONFIG_FOR_RUN = 2,
	PTRC_CONFIG_FOR_DUMP = 4,
};

enum ptrc_config_kind {
	PTRC_CONFIG_TEXT,
	PTRC_CONFIG_NUMBER,
	PTRC_CONFIG_SIZE,
	PTRC_CONFIG_BOOL,
	PTRC_CONFIG_POLICY,
	/* Texts. */
	PTRC_CONFIG_LIST,
	/* Texts by the names of events. */
	PTRC_CONFIG_MAP,
};

struct ptrc_config_setting {
	/* Of the file; the long option's name as well. */
	const char *key;
	enum ptrc_config_kind kind;
	/* enum ptrc_config_user */
	unsigned int users;
	/* Of the value in struct ptrc_config. */
	size_t offset;
	/* Most bytes of a text; range of a number; words of a policy. */
	uint64_t low;
	uint64_t high;
	const struct ptrc_attributes_policy *policy;
};

/* By enum ptrc_config_key. */
extern const struct ptrc_config_setting ptrc_config_settings[PTRC_CONFIG_KEYS];

/* Counted from 1; line 0: not from a file. */
struct ptrc_config_mark {
	size_t line;
	size_t column;
};

struct ptrc_config_list {
	const char **texts;
	size_t count;
};

struct ptrc_config_layout {
	const char *event;
	const char *text;
	/* Of the text, for whoever finds out that it is no layout. */
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
	bool is_started;
	bool is_until_exit;
	uint64_t stream_min_size;
	uint64_t max_data_size;
	uint64_t log_max_size;
	/* 0 if not given: what it is then depends on whether there is a log. */
	int stream_full_policy;
	int inheritance;
	int log_full_policy;
	struct ptrc_config_list filter;
	struct ptrc_config_map decode;
	/* Bit per key: it is not the built-in value. */
	unsigned int given;
	/* Where the session begins in the file, and each value. */
	struct ptrc_config_mark mark;
	struct ptrc_config_mark marks[PTRC_CONFIG_KEYS];
};

/* Limits of a file; more cannot be meant. */
enum {
	PTRC_CONFIG_BYTES_MAX = 256 << 10,
	PTRC_CONFIG_SESSIONS_MAX = TRACE_SYS_MAX,
	PTRC_CONFIG_ITEMS_MAX = TRACE_USER_EVENT_MAX,
};

/* The sessions of a file, the defaults laid under each. */
struct ptrc_config_file {
	/* As messages have it. */
	const char *name;
	struct ptrc_config *sessions;
	size_t count;
	/* They are in a list, even if it is one. */
	bool is_list;
};

/* Memory that stays; a list that grows is copied into more of it. */
void *ptrc_config_keep(size_t size) __attribute__((returns_nonnull));

/* The built-in values. */
void ptrc_config_init(struct ptrc_config *);

/*
 * Gives a setting its value, or a list one more. The text has to stay, if the value is a
 * text. False, with *why filled in, if it is none for this setting and user.
 */
bool ptrc_config_set(struct ptrc_config *, enum ptrc_config_key, enum ptrc_config_user,
		     const char *text, struct ptrc_cli_reason *why);

/* One more layout. */
bool ptrc_config_add_layout(struct ptrc_config *, const struct ptrc_config_layout *,
			    struct ptrc_cli_reason *why);

/* Takes over what is given above. */
void ptrc_config_overlay(struct ptrc_config *below, const struct ptrc_config *above);

/* The policy for a full stream that will hold. */
int ptrc_config_stream_full_policy(const struct ptrc_config *, bool has_log);

/* As attributes of a stream. An error number of posix_trace_attr_init(). */
int ptrc_config_attributes(const struct ptrc_config *, trace_attr_t *);

/*
 * Reads a file, "-" being standard input, or what of one is in memory. End the process
 * with one message, "file:line:column: reason", for anything that is wrong in it.
 */
void ptrc_config_read(struct ptrc_config_file *, const char *path, enum ptrc_config_user);
void ptrc_config_parse(struct ptrc_config_file *, const char *name, const void *bytes,
		       size_t size, enum ptrc_config_user);

/* The message about a place in a file; ends the process. */
void ptrc_config_refuse(const struct ptrc_config_file *, const struct ptrc_config_mark *,
			const char *format, ...)
	__attribute__((format(printf, 3, 4), noreturn));

/* Puts the sessions as a file that reads back as the same. Ends the process if a value
 * from the command line cannot be written in YAML. */
void ptrc_config_dump(const struct ptrc_config_file *, enum ptrc_config_user,
		      struct ptrc_buffer *);

/* --- options --- */

/* The key of the option with the name of a setting. */
#define PTRC_CONFIG_OPTION(key) (PTRC_CLI_KEY_SHARED + (int)(key))

enum { PTRC_CONFIG_OPTION_DUMP = PTRC_CONFIG_OPTION(PTRC_CONFIG_KEYS) };

/* The attributes, to be the shared options of a command. */
extern const struct ptrc_cli_option ptrc_config_attribute_options[];

/* Rows for the command's own options. */
#define PTRC_CONFIG_OPTION_FILE                                                     \
	{                                                                           \
		"config", 'c', "FILE",                                              \
			"read ptrace.yaml(5) from this file, - for standard\ninput" \
	}
#define PTRC_CONFIG_OPTION_FILTER                                                              \
	{                                                                                      \
		"filter", PTRC_CONFIG_OPTION(PTRC_CONFIG_FILTER), "GLOB",                      \
			"do not record events whose name matches; may be\ngiven several times" \
	}
#define PTRC_CONFIG_OPTION_DUMP_CONFIG                                                   \
	{                                                                                \
		"dump-config", PTRC_CONFIG_OPTION_DUMP, NULL,                            \
			"show what the file and the options come to, as\nYAML, and exit" \
	}

/* What the command line says. Starts zeroed but for the user. */
struct ptrc_config_line {
	enum ptrc_config_user user;
	struct ptrc_config options;
	const char *path;
	bool is_dump;
};

/* Takes one of the options above. False if the key is none of them; ends the process for
 * a bad value. */
bool ptrc_config_option(struct ptrc_config_line *, int key, const char *value);

/*
 * Reads the file, if there is one, and lays the options over each of its sessions;
 * without a file there is one session. Ends the process if the file has several and that
 * is not expected, with this advice.
 */
void ptrc_config_resolve(const struct ptrc_config_line *, const char *several_advice,
			 struct ptrc_config_file *);

#endif
