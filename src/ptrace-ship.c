/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/cli/cli.h"
#include "src/cli/exit_status.h"
#include "src/cli/output.h"
#include "src/ship/schema.h"
#include "src/ship/ship.h"
#include "src/view/when.h"

#define DEFAULT_SERVER "http://localhost:8123"
#define PASSWORD_VARIABLE "POSIXTRACE_SHIP_PASSWORD"

enum {
	KEY_SERVER = PTRC_CLI_KEY_FIRST,
	KEY_DATABASE,
	KEY_USER,
	KEY_PASSWORD_FILE,
	KEY_CA_FILE,
	KEY_DIALECT,
	KEY_BATCH_SIZE,
	KEY_STATE_DIRECTORY,
	KEY_GIVE_UP,
	KEY_CREATE_TABLE,
	KEY_PRINT_SCHEMA,
	KEY_VERBOSE,
};

static const struct ptrc_cli_option options[] = {
	{"server", KEY_SERVER, "URL", "the server (default: " DEFAULT_SERVER ")"},
	{"database", KEY_DATABASE, "NAME", "its database (default: " PTRC_SHIP_DATABASE ")"},
	{"user", KEY_USER, "NAME", "as which user"},
	{"password-file", KEY_PASSWORD_FILE, "FILE",
	 "the first line of this file is the password;\nwithout it the variable\n" PASSWORD_VARIABLE
	 " has it"},
	{"ca-file", KEY_CA_FILE, "FILE",
	 "certificates by which that of the server is\nverified, in place of the system's"},
	{"dialect", KEY_DIALECT, "NAME",
	 "modern, or plain for a server before release 21;\n"
	 "by default the server is asked"},
	{"batch-size", KEY_BATCH_SIZE, "SIZE",
	 "about how many bytes are sent at once, with K, M\nor G (default: 4M)"},
	{"state-directory", KEY_STATE_DIRECTORY, "DIRECTORY",
	 "keep the progress files there, not beside the\nlogs"},
	{"give-up", KEY_GIVE_UP, "DURATION",
	 "how long a server that does not answer is tried,\nsuch as 1h (default: 1m; 0: for ever)"},
	{"create-table", KEY_CREATE_TABLE, NULL, "make the tables on the server first"},
	{"print-schema", KEY_PRINT_SCHEMA, NULL, "print the SQL that makes the tables, and end"},
	{"verbose", KEY_VERBOSE, NULL, "say of each log how many rows were sent"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-ship",
	.operands = "[OPTION]... LOG...",
	.summary = "Sends the events of trace logs to a ClickHouse server: each of them once,\n"
		   "whatever happens to ptrace-ship, the network and the server. LOG.ship, beside\n"
		   "each log, tells what the server has.",
	.options = options,
	.notes = "Exit status: 0 done; 1 failed, or not everything was sent; 2 wrong usage;\n"
		 "3 everything was sent, but a log is incomplete.",
	.usage_status = PTRC_EXIT_USAGE,
};

static struct ptrc_ship_options server_options = {
	.server = DEFAULT_SERVER,
	.database = PTRC_SHIP_DATABASE,
};
static struct ptrc_shipper shipper = {
	.batch_bytes = PTRC_SHIP_BATCH_BYTES,
	.give_up_ns = INT64_C(60000000000),
};
static const char *password_file;
static bool is_creating;
static bool is_printing;
static bool is_verbose;
static volatile bool is_stopped;

static void stop(int number)
{
	(void)number;
	is_stopped = true;
}

static void watch_signals(void)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
	struct sigaction action = {.sa_handler = stop};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		struct sigaction old;

		if (!sigaction(numbers[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	}
}

/* The password: the first line of the file, or the variable, which programs that we start do not get. */
static const char *read_password(void)
{
	static char text[1024];
	ssize_t size;
	int fd;

	if (!password_file) {
		const char *value = getenv(PASSWORD_VARIABLE);

		if (!value)
			return NULL;
		if (strlen(value) >= sizeof(text))
			ptrc_cli_usage(PASSWORD_VARIABLE, "is too long");
		strcpy(text, value);
		unsetenv(PASSWORD_VARIABLE);
		return text;
	}
	fd = open(password_file, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (size < 0) {
		ptrc_cli_error(password_file, errno);
		exit(PTRC_EXIT_FAILED);
	}
	close(fd);
	text[size] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	if (!*text || strlen(text) >= sizeof(text) - 1) {
		ptrc_cli_message(password_file, "has no password in its first line");
		exit(PTRC_EXIT_FAILED);
	}
	return text;
}

static int64_t duration(const char *option, const char *text)
{
	int64_t ns;

	if (!strcmp(text, "0"))
		return 0;
	if (!ptrc_when_duration(text, &ns) || ns <= 0)
		ptrc_cli_usage(option, "'%s' is not a duration such as 10s or 1h", text);
	return ns;
}

static void take_option(int key)
{
	struct ptrc_cli_reason why;

	switch (key) {
	case KEY_SERVER:
		server_options.server = optarg;
		break;
	case KEY_DATABASE:
		if (!*optarg || strpbrk(optarg, "\n"))
			ptrc_cli_usage("--database", "needs a name");
		server_options.database = optarg;
		break;
	case KEY_USER:
		server_options.user = optarg;
		break;
	case KEY_PASSWORD_FILE:
		password_file = optarg;
		break;
	case KEY_CA_FILE:
		server_options.ca_file = optarg;
		break;
	case KEY_DIALECT:
		if (!ptrc_ship_dialect_named(optarg, &server_options.dialect))
			ptrc_cli_usage("--dialect", "'%s' is neither modern nor plain", optarg);
		server_options.has_dialect = true;
		break;
	case KEY_BATCH_SIZE:
		if (!ptrc_cli_parse_size(optarg, &shipper.batch_bytes, &why))
			ptrc_cli_usage("--batch-size", "%s", why.text);
		if (shipper.batch_bytes < 1024 || shipper.batch_bytes > 16 << 20)
			ptrc_cli_usage("--batch-size", "'%s' is not in the range 1K to 16M",
				       optarg);
		break;
	case KEY_STATE_DIRECTORY:
		shipper.state_directory = optarg;
		break;
	case KEY_GIVE_UP:
		shipper.give_up_ns = duration("--give-up", optarg);
		break;
	case KEY_CREATE_TABLE:
		is_creating = true;
		break;
	case KEY_PRINT_SCHEMA:
		is_printing = true;
		break;
	case KEY_VERBOSE:
		is_verbose = true;
		break;
	default:
		break;
	}
}

static void parse(int argc, char **argv)
{
	int key;

	ptrc_cli_begin(&cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1)
		take_option(key);
	if (is_printing && (is_creating || optind < argc))
		ptrc_cli_usage("--print-schema", "only prints: leave the rest out");
	if (!is_printing && !is_creating && optind == argc)
		ptrc_cli_usage(NULL, "needs a LOG");
}

static void print_schema(struct ptrc_buffer *out)
{
	ptrc_ship_schema_put(out, server_options.dialect, server_options.database);
}

/* What the server says of itself is no longer of interest when a signal has come. */
static enum ptrc_exit status_of(enum ptrc_ship_result result)
{
	return result == PTRC_SHIPPED || result == PTRC_SHIPPED_WHOLE ? PTRC_EXIT_DONE
								      : PTRC_EXIT_FAILED;
}

static void say(struct ptrc_buffer *out, const char *path, uint64_t rows, uint64_t bytes)
{
	if (!is_verbose)
		return;
	ptrc_text_put(out, path, strlen(path));
	ptrc_buffer_format(out, ": %" PRIu64 " rows, %" PRIu64 " bytes\n", rows, bytes);
	ptrc_output_write(out);
}

static enum ptrc_exit ship_logs(char **paths, size_t count, struct ptrc_buffer *out)
{
	enum ptrc_exit status = PTRC_EXIT_DONE;
	bool is_incomplete = false;

	for (size_t i = 0; i < count; i++) {
		uint64_t rows = shipper.rows, bytes = shipper.bytes;
		enum ptrc_ship_result result = ptrc_ship_log(&shipper, paths[i], &is_incomplete);

		if (status_of(result) != PTRC_EXIT_DONE)
			status = PTRC_EXIT_FAILED;
		else
			say(out, paths[i], shipper.rows - rows, shipper.bytes - bytes);
		if (result == PTRC_SHIP_STOPPED)
			ptrc_cli_message(NULL,
					 "stopped by a signal; what was not sent is in the logs");
		if (result == PTRC_SHIP_STOPPED || result == PTRC_SHIP_SERVER_FAILED)
			break;
	}
	return status == PTRC_EXIT_DONE && is_incomplete ? PTRC_EXIT_INCOMPLETE : status;
}

int main(int argc, char **argv)
{
	struct ptrc_buffer out = PTRC_BUFFER_INIT;
	enum ptrc_exit status = PTRC_EXIT_DONE;
	struct ptrc_cli_reason why;

	parse(argc, argv);
	ptrc_output_begin();
	if (is_printing) {
		print_schema(&out);
		ptrc_output_end(&out);
		return PTRC_EXIT_DONE;
	}
	server_options.password = read_password();
	shipper.server = ptrc_ship_server_new(&server_options, &why);
	if (!shipper.server)
		ptrc_cli_usage("--server", "%s", why.text);
	shipper.server_name = server_options.server;
	shipper.database = server_options.database;
	shipper.is_stopped = &is_stopped;
	ptrc_ship_server_watch(shipper.server, &is_stopped);
	watch_signals();
	if (is_creating)
		status = status_of(ptrc_ship_create(&shipper));
	if (status == PTRC_EXIT_DONE)
		status = ship_logs(argv + optind, (size_t)(argc - optind), &out);
	ptrc_ship_server_free(shipper.server);
	ptrc_output_end(&out);
	return (int)status;
}
