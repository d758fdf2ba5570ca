/* SPDX-License-Identifier: MIT */
/*
 * The settings of sessions as options of a command, laid over those of a file.
 */
#ifndef PTRC_SRC_CONFIG_CONFIGURATION_OPTIONS_H
#define PTRC_SRC_CONFIG_CONFIGURATION_OPTIONS_H

#include "src/config/configuration.h"

/* The key of the option that is named like a setting. */
#define PTRC_CONFIG_OPTION(key) (PTRC_CLI_KEY_SHARED + (int)(key))

enum { PTRC_CONFIG_OPTION_DUMP = PTRC_CONFIG_OPTION(PTRC_CONFIG_KEYS) };

/* The attributes of the trace, to be the shared options of a command. */
extern const struct ptrc_cli_option ptrc_config_attribute_options[];

/* Rows for the table of a command's own options. */
#define PTRC_CONFIG_OPTION_FILE                                                                    \
	{                                                                                          \
		"config", 'c', "FILE", "read ptrace.yaml(5) from this file, - for standard\ninput" \
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

/* Takes one of the options above. Returns false if the key is none of them; ends the
 * process if the value is not valid. */
bool ptrc_config_option(struct ptrc_config_line *, int key, const char *value);

/*
 * Reads the file, if one is given, and lays the options over each of its sessions;
 * without a file there is one session. A command that handles one session only gives an
 * advice: the process then ends with it if the file has several.
 */
void ptrc_config_resolve(const struct ptrc_config_line *, const char *several_advice,
			 struct ptrc_config_file *);

#endif
