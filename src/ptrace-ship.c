/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/cli.h"
#include "src/base/clock.h"
#include "src/base/end_signal.h"
#include "src/base/exit_status.h"
#include "src/base/json.h"
#include "src/base/output.h"
#include "src/base/scope.h"
#include "src/config/yaml_file.h"
#include "src/query/reader.h"
#include "src/ship/files.h"
#include "src/ship/follow.h"
#include "src/ship/schema.h"
#include "src/ship/ship.h"
#include "src/query/losses.h"
#include "src/fields/when.h"

#define DEFAULT_SERVER "http://localhost:8123"
#define PASSWORD_VARIABLE "POSIXTRACE_SHIP_PASSWORD"

/* The keys of options. Those before KEY_SETTINGS_END are also settings of a configuration file,
 * with the same names. */
enum {
	KEY_SERVER = PTRC_CLI_KEY_FIRST,
	KEY_DATABASE,
	KEY_LOGIN,
	KEY_PASSWORD_FILE,
	KEY_CA_FILE,
	KEY_DIALECT,
	KEY_FOLLOW,
	KEY_REMOVE_SHIPPED,
	KEY_BATCH_SIZE,
	KEY_BATCH_TIME,
	KEY_STATE_DIRECTORY,
	KEY_GIVE_UP,
	KEY_VERBOSE,
	KEY_SETTINGS_END,
};

static bool is_creating;
static bool is_printing;
static bool is_json;

enum { SETTINGS = KEY_SETTINGS_END - PTRC_CLI_KEY_FIRST };

/* The options that are settings come first, in the order of their keys. */
static const struct ptrc_cli_option options[] = {
	{"server", KEY_SERVER, "URL", "the server (default: " DEFAULT_SERVER ")"},
	{"database", KEY_DATABASE, "NAME", "its database (default: " PTRC_SHIP_DATABASE ")"},
	{"login", KEY_LOGIN, "NAME", "as which user of the server"},
	{"password-file", KEY_PASSWORD_FILE, "FILE",
	 "the first line of this file is the password;\nwithout it the variable\n" PASSWORD_VARIABLE
	 " has it"},
	{"ca-file", KEY_CA_FILE, "FILE",
	 "certificates by which that of the server is\nverified, in place of the system's"},
	{"dialect", KEY_DIALECT, "NAME",
	 "modern, or plain for a server before release 21;\nby default the server is asked"},
	{"follow", KEY_FOLLOW, "WHERE",
	 "send what appears in this directory, until a\nsignal comes, or what the session of this\n"
	 "name records, until it ends"},
	{"remove-shipped", KEY_REMOVE_SHIPPED, NULL,
	 "remove a closed log of the directory once the\nserver has all of it"},
	{"batch-size", KEY_BATCH_SIZE, "SIZE",
	 "about how many bytes are sent at once, with K, M\nor G (default: 4M)"},
	{"batch-time", KEY_BATCH_TIME, "DURATION",
	 "how often --follow looks, such as 100ms\n(default: 1s)"},
	{"state-directory", KEY_STATE_DIRECTORY, "DIRECTORY",
	 "keep the progress files there, not next to the\nlogs"},
	{"give-up", KEY_GIVE_UP, "DURATION",
	 "how long a server that does not answer is tried,\nsuch as 1h (default: 1m, and 0, which is "
	 "for\never, with --follow)"},
	{"verbose", KEY_VERBOSE, NULL, "say of each log how many rows were sent"},
	{"create-table", 0, NULL, "make the tables on the server first"},
	{"print-schema", 0, NULL, "print the SQL that makes the tables, and end"},
	{"json", 0, NULL, "an object per log with its result"},
	{"config", 'c', "FILE", "take settings from this file, \"-\" for standard\ninput"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-ship",
	.operands = "[OPTION]... LOG... | --follow=WHERE",
	.summary =
		"Sends the events of trace logs to a ClickHouse server: each of them once,\n"
		"whatever happens to ptrace-ship, the network and the server. LOG.ship, next to\n"
		"each log, records what the server has.",
	.options = options,
	.flags = PTRC_CLI_FLAGS({"create-table", &is_creating}, {"print-schema", &is_printing},
				{"json", &is_json}),
	.words = PTRC_CLI_ROWS({"dialect", "modern plain"}),
	.operand_kinds = "LOG",
	.notes = "Exit status: 0 done; 1 failed, or not everything was sent; 2 wrong usage;\n"
		 "3 everything was sent, but a log is incomplete.",
};

static volatile bool is_stopped;
static struct ptrc_ship_options server_options = {
	.server = DEFAULT_SERVER,
	.database = PTRC_SHIP_DATABASE,
	.is_stopped = &is_stopped,
};
static struct ptrc_shipper shipper = {.batch_bytes = PTRC_SHIP_BATCH_BYTES};
static struct ptrc_ship_follow follow = {
	.shipper = &shipper,
	.interval_ns = INT64_C(1000000000),
};
static const char *follow_where;
static const char *password_file;
static bool is_verbose;
static struct ptrc_buffer out = PTRC_BUFFER_INIT;

/* The value given for a setting. If it is from a configuration file, .file and .mark are its place in that file. */
static struct given {
	const char *text;
	const char *file;
	struct ptrc_config_mark mark;
} given[SETTINGS];

static void stop(int number)
{
	(void)number;
	is_stopped = true;
}

static void __attribute__((noreturn)) fail_at(const char *path, int error)
{
	ptrc_cli_error(path, error);
	exit(PTRC_EXIT_FAILED);
}

/* Returns the password: the first line of the password file or, without such a file, the value of the environment
 * variable. In the second case the variable is removed from the environment, so that child processes do not get it. */
static const char *read_password(void)
{
	static char text[1024];
	const char *value = getenv(PASSWORD_VARIABLE);
	PTRC_SCOPED_FD fd = -1;
	ssize_t size;

	if (!password_file && !value)
		return NULL;
	if (!password_file) {
		if (strlen(value) >= sizeof(text))
			ptrc_cli_usage(PASSWORD_VARIABLE, "is too long");
		strcpy(text, value);
		unsetenv(PASSWORD_VARIABLE);
		return text;
	}
	fd = open(password_file, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (size < 0)
		fail_at(password_file, errno);
	text[size] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	if (!*text || strlen(text) >= sizeof(text) - 1) {
		ptrc_cli_message(password_file, "has no password in its first line");
		exit(PTRC_EXIT_FAILED);
	}
	return text;
}

/* ---- settings ---- */

/* Refuses the value of a setting. The message names the option, or the place in the file. */
static void __attribute__((format(printf, 2, 3), noreturn)) refuse(int key, const char *format, ...)
{
	const struct given *g = &given[key - PTRC_CLI_KEY_FIRST];
	const char *name = options[key - PTRC_CLI_KEY_FIRST].name;
	char text[400], option[64];
	va_list values;

	va_start(values, format);
	vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	if (g->file)
		ptrc_yaml_refuse_at(g->file, &g->mark, "%s: %s", name, text);
	snprintf(option, sizeof(option), "--%s", name);
	ptrc_cli_usage(option, "%s", text);
}

static int64_t duration(int key, const char *text)
{
	int64_t ns;

	if (!ptrc_when_plain_duration(text, &ns) || ns < 0)
		refuse(key, "'%s' is not a duration such as 10s or 1h", text);
	return ns;
}

/* Returns a copy of a URL without the slash at its end. */
static const char *without_slash(const char *url)
{
	size_t size = strlen(url);
	char *copy = ptrc_cli_copy(url);

	if (size > 1 && copy[size - 1] == '/' && copy[size - 2] != '/')
		copy[size - 1] = '\0';
	return copy;
}

static void apply(int key, const char *text)
{
	struct ptrc_cli_reason why;

	follow.is_removing |= key == KEY_REMOVE_SHIPPED;
	is_verbose |= key == KEY_VERBOSE;
	if (key == KEY_SERVER) {
		server_options.server = without_slash(text);
	} else if (key == KEY_DATABASE) {
		if (!*text || strchr(text, '\n'))
			refuse(key, "needs a name");
		server_options.database = text;
	} else if (key == KEY_LOGIN) {
		server_options.user = text;
	} else if (key == KEY_PASSWORD_FILE) {
		password_file = text;
	} else if (key == KEY_CA_FILE) {
		server_options.ca_file = text;
	} else if (key == KEY_DIALECT) {
		if (!ptrc_ship_dialect_named(text, &server_options.dialect))
			refuse(key, "'%s' is neither modern nor plain", text);
		server_options.has_dialect = true;
	} else if (key == KEY_FOLLOW) {
		if (!*text)
			refuse(key, "needs a directory or the name of a session");
		follow_where = text;
	} else if (key == KEY_BATCH_SIZE) {
		if (!ptrc_cli_parse_size(text, &shipper.batch_bytes, &why))
			refuse(key, "%s", why.text);
		if (shipper.batch_bytes < 1024 || shipper.batch_bytes > 16 << 20)
			refuse(key, "'%s' is not in the range 1K to 16M", text);
	} else if (key == KEY_BATCH_TIME) {
		follow.interval_ns = duration(key, text);
		if (follow.interval_ns < 10 * PTRC_NS_PER_MS)
			refuse(key, "'%s' is less than 10ms", text);
	} else if (key == KEY_STATE_DIRECTORY) {
		shipper.state_directory = text;
	} else if (key == KEY_GIVE_UP) {
		server_options.give_up_ns = duration(key, text);
	}
}

/* Reads a setting, a key and its value, from the configuration file. If an option overrides the value, only the
 * value's YAML is checked: that it is a single value or, for a switch, true or false. */
static void read_setting(struct ptrc_yaml *y)
{
	const char *name = ptrc_yaml_key(y);
	struct ptrc_nearest nearest = {0};
	bool is_switch;
	struct given g = {.file = y->name};
	size_t i;

	for (i = 0; i < SETTINGS && strcmp(options[i].name, name); i++)
		ptrc_nearest_offer(&nearest, name, options[i].name);
	if (i == SETTINGS)
		ptrc_yaml_refuse_key(y, name, &nearest);
	if (given[i].file)
		ptrc_yaml_refuse(y, "'%s' is given twice, first in line %zu", name,
				 given[i].mark.line);
	is_switch = !options[i].argument;
	ptrc_yaml_next(y);
	g.mark = ptrc_yaml_mark(y);
	if (!ptrc_yaml_is_value(y))
		ptrc_yaml_refuse(y, "%s: has to be %s, not %s", name,
				 is_switch ? "true or false" : "a single value", ptrc_yaml_what(y));
	g.text = ptrc_yaml_text(y);
	if (is_switch && strcmp(g.text, "true") && strcmp(g.text, "false"))
		ptrc_yaml_refuse(y, "%s: has to be true or false", name);
	if (given[i].text || (is_switch && !strcmp(g.text, "false")))
		return;
	given[i] = g;
}

static void read_file(const char *path)
{
	struct ptrc_yaml y = {.anchor_advice = "write the value out"};
	size_t size;
	const void *bytes = ptrc_yaml_read(path, &y.name, &size);

	if (ptrc_yaml_begin(&y, bytes, size)) {
		if (y.event.type != YAML_MAPPING_START_EVENT)
			ptrc_yaml_refuse(&y, "has to be a mapping, not %s", ptrc_yaml_what(&y));
		while (ptrc_yaml_next(&y) != YAML_MAPPING_END_EVENT)
			read_setting(&y);
	}
	ptrc_yaml_end(&y);
}

static void check_usage(int operands)
{
	if (is_printing && (is_creating || operands || follow_where))
		ptrc_cli_usage("--print-schema", "only prints: leave the rest out");
	if (follow_where && operands)
		ptrc_cli_usage("--follow", "cannot be used together with a LOG");
	if (follow.is_removing && !follow_where)
		ptrc_cli_usage("--remove-shipped", "needs --follow");
	if (!is_printing && !is_creating && !follow_where && !operands)
		ptrc_cli_usage(NULL, "needs a LOG, or --follow");
}

static void parse(int argc, char **argv)
{
	const char *file = NULL;
	int key;

	ptrc_cli_begin(&cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1)
		if (key == 'c')
			file = optarg;
		else
			given[key - PTRC_CLI_KEY_FIRST].text = optarg ? optarg : "true";
	if (file)
		read_file(file);
	for (key = PTRC_CLI_KEY_FIRST; key < KEY_SETTINGS_END; key++)
		if (given[key - PTRC_CLI_KEY_FIRST].text)
			apply(key, given[key - PTRC_CLI_KEY_FIRST].text);
	if (!follow_where && !given[KEY_GIVE_UP - PTRC_CLI_KEY_FIRST].text)
		server_options.give_up_ns = INT64_C(60000000000);
	check_usage(argc - optind);
}

static enum ptrc_exit status_of(enum ptrc_ship_result result)
{
	return result == PTRC_SHIPPED || result == PTRC_SHIPPED_WHOLE ? PTRC_EXIT_DONE
								      : PTRC_EXIT_FAILED;
}

static void put_line(const char *path, const struct ptrc_ship_report *r)
{
	if (!is_verbose || r->result == PTRC_SHIP_LOG_FAILED ||
	    r->result == PTRC_SHIP_SERVER_FAILED)
		return;
	ptrc_text_put(&out, path, strlen(path));
	ptrc_buffer_format(&out, ": %" PRIu64 " rows, %" PRIu64 " bytes\n", r->sent.rows,
			   r->sent.bytes);
	ptrc_output_write(&out);
}

static void put_object(const char *path, const struct ptrc_ship_report *r)
{
	static const char *const states[] = {
		[PTRC_SHIPPED] = "open",	   [PTRC_SHIPPED_WHOLE] = "whole",
		[PTRC_SHIP_LOG_FAILED] = "failed", [PTRC_SHIP_SERVER_FAILED] = "failed",
		[PTRC_SHIP_STOPPED] = "stopped",
	};
	bool is_sent = r->result == PTRC_SHIPPED || r->result == PTRC_SHIPPED_WHOLE;
	const char *error = ptrc_message_last();
	struct ptrc_json j = ptrc_json_begin(&out);

	ptrc_json_bytes(&j, "log", path, strlen(path));
	ptrc_json_bytes(&j, "server", server_options.server, strlen(server_options.server));
	ptrc_json_bytes(&j, "database", server_options.database, strlen(server_options.database));
	ptrc_json_text(&j, "state", states[r->result]);
	if (!is_sent && r->result != PTRC_SHIP_STOPPED)
		ptrc_json_bytes(&j, "error", error, strlen(error));
	ptrc_json_u64(&j, "rows", r->sent.rows);
	ptrc_json_u64(&j, "batches", r->sent.batches);
	ptrc_json_u64(&j, "bytes", r->sent.bytes);
	ptrc_json_u64(&j, "retries", r->sent.retries);
	if (r->is_open) {
		ptrc_json_text(&j, "log_id", r->name);
		ptrc_json_u64(&j, "next_seq", r->place.rows);
		ptrc_losses_json(&r->losses, &j);
	}
	ptrc_json_bool(&j, "complete", is_sent && !ptrc_losses_is_any(&r->losses));
	ptrc_json_end(&j);
	ptrc_output_write(&out);
}

/* Reports what was sent of a log: with --json as an object, with --verbose as a line. */
static void report(const char *path, const struct ptrc_ship_report *r)
{
	(is_json ? put_object : put_line)(path, r);
}

/* ---- what is given ---- */

struct logs {
	char **paths;
	size_t count;
	/* Some operand was no log; a message has said so. */
	bool has_failed;
};

/* Finds the logs of the operands. Each file of a rotated log stands for the whole log, so that 'ptrace-ship *'
 * sends it only once. */
static void find_logs(struct logs *logs, char **operands, size_t count)
{
	logs->paths = ptrc_cli_allocate(count * sizeof(*logs->paths));
	for (size_t i = 0; i < count; i++) {
		char *path;
		size_t at = 0;

		if (!ptrc_ship_look_at(operands[i])) {
			report(operands[i],
			       &(struct ptrc_ship_report){.result = PTRC_SHIP_LOG_FAILED});
			logs->has_failed = true;
			continue;
		}
		path = ptrc_reader_first_path(operands[i]);
		while (at < logs->count && strcmp(logs->paths[at], path))
			at++;
		if (at < logs->count)
			free(path);
		else
			logs->paths[logs->count++] = path;
	}
}

static void free_logs(struct logs *logs)
{
	for (size_t i = 0; i < logs->count; i++)
		free(logs->paths[i]);
	free(logs->paths);
}

/* Checks the file of --ca-file at the start, because libcurl reads it only when it connects. */
static void check_ca_file(const char *path)
{
	PTRC_SCOPED_FILE *file = fopen(path, "re");
	PTRC_SCOPED char *line = NULL;
	size_t room = 0;
	bool has = false;

	while (file && !has && getline(&line, &room, file) >= 0)
		has = strstr(line, "-----BEGIN ");
	if (!file || ferror(file))
		fail_at(path, errno);
	if (!has) {
		ptrc_cli_message(path, "has no certificate in PEM");
		exit(PTRC_EXIT_FAILED);
	}
}

static void check_files(void)
{
	const char *directory = shipper.state_directory;
	struct stat st;

	if (server_options.ca_file)
		check_ca_file(server_options.ca_file);
	if (!directory)
		return;
	if (!stat(directory, &st) && !S_ISDIR(st.st_mode))
		fail_at(directory, ENOTDIR);
	if (access(directory, W_OK | X_OK))
		fail_at(directory, errno);
}

/* ---- what is sent ---- */

static enum ptrc_exit ship_logs(const struct logs *logs)
{
	enum ptrc_exit status = logs->has_failed ? PTRC_EXIT_FAILED : PTRC_EXIT_DONE;
	enum ptrc_ship_result result = PTRC_SHIPPED;
	bool is_incomplete = false;

	for (size_t i = 0; i < logs->count; i++) {
		const char *path = logs->paths[i];
		struct ptrc_ship_report r = {.result = result};

		/* Once the sending was stopped or the server has failed, the remaining logs have the same result. */
		if (result == PTRC_SHIP_STOPPED || result == PTRC_SHIP_SERVER_FAILED) {
			report(path, &r);
			continue;
		}
		result = ptrc_ship_log(&shipper, path, NULL, &r);
		is_incomplete |= ptrc_ship_is_incomplete(&shipper, &r);
		report(path, &r);

		if (status_of(result) != PTRC_EXIT_DONE)
			status = PTRC_EXIT_FAILED;
		if (result == PTRC_SHIP_STOPPED)
			ptrc_cli_message(NULL,
					 "stopped by a signal; what was not sent is in the logs");
	}
	return status == PTRC_EXIT_DONE && is_incomplete ? PTRC_EXIT_INCOMPLETE : status;
}

/* Whether the value of --follow means a directory: it is one, or has a slash, which no name of a session has. */
static bool is_directory(const char *where)
{
	struct stat st;

	return strchr(where, '/') || (!stat(where, &st) && S_ISDIR(st.st_mode));
}

static enum ptrc_exit follow_it(void)
{
	bool is_all = is_directory(follow_where);
	enum ptrc_ship_result result;

	follow.report = report;
	shipper.is_following = true;
	result = is_all ? ptrc_ship_directory(&follow, follow_where)
			: ptrc_ship_session(&follow, follow_where);
	/* If a signal stopped the sending, the next ptrace-ship sends the rest, so that is no failure. */
	if (result == PTRC_SHIP_LOG_FAILED || result == PTRC_SHIP_SERVER_FAILED ||
	    follow.has_failed)
		return PTRC_EXIT_FAILED;
	return follow.is_incomplete ? PTRC_EXIT_INCOMPLETE : PTRC_EXIT_DONE;
}

int main(int argc, char **argv)
{
	enum ptrc_exit status = PTRC_EXIT_DONE;
	struct ptrc_cli_reason why;
	struct logs logs = {0};

	parse(argc, argv);
	ptrc_output_begin();
	if (is_printing) {
		ptrc_ship_schema_put(&out, server_options.dialect, server_options.database);
		ptrc_output_end(&out);
		return PTRC_EXIT_DONE;
	}
	/* If no process reads the reports, this command ends before everything was sent, which is a failure. */
	ptrc_output_need_reader();
	server_options.password = read_password();
	shipper.server = ptrc_ship_server_new(&server_options, &why);
	if (!shipper.server)
		refuse(KEY_SERVER, "%s", why.text);
	check_files();
	find_logs(&logs, argv + optind, (size_t)(argc - optind));
	if (logs.has_failed && !logs.count && !is_creating) {
		ptrc_output_end(&out);
		exit(PTRC_EXIT_FAILED);
	}
	ptrc_end_signal_set(&(struct sigaction){.sa_handler = stop});
	if (is_creating)
		status = status_of(ptrc_ship_create(&shipper));
	if (status == PTRC_EXIT_DONE)
		status = follow_where ? follow_it() : ship_logs(&logs);
	free_logs(&logs);
	ptrc_ship_server_free(shipper.server);
	ptrc_output_end(&out);
	return (int)status;
}
