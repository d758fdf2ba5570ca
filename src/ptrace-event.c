/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <posixtrace.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "include/posixtrace-private.h"
#include "src/base/cli.h"
#include "src/base/exit_status.h"
#include "src/base/json.h"
#include "src/base/table.h"
#include "src/fields/encode.h"
#include "src/fields/json_text.h"

static bool is_required, is_stdin, is_json;

/* The greatest size of data from standard input, which may be endless. */
#define STDIN_MAX ((size_t)16 << 20)

enum { KEY_LAYOUT = PTRC_CLI_KEY_FIRST };

static const struct ptrc_cli_option options[] = {
	{"pid", 'p', "PID",
	 "process whose event it is (default: the parent\n"
	 "process, that is, the script)"},
	{"require", 0, NULL, "fail if the event is recorded nowhere"},
	{"stdin", 0, NULL, "take the data from standard input"},
	{"json", 0, NULL,
	 "the data is JSON, and so is a VALUE that reads\n"
	 "as JSON"},
	{"layout", KEY_LAYOUT, "LAYOUT",
	 "the data has a VALUE for each field of this\n"
	 "layout, such as 'u32 rows, str sql'"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-event",
	.operands = "[OPTION]... NAME [DATA | - | KEY=VALUE...]",
	.summary = "Records an event in every trace of the calling script. Its data is the\n"
		   "text DATA, standard input (-), or a JSON object of the keys and values.\n"
		   "Does nothing if the script is not traced.",
	.options = options,
	.flags =
		PTRC_CLI_FLAGS({"require", &is_required}, {"stdin", &is_stdin}, {"json", &is_json}),
	.exclusions = PTRC_CLI_ROWS({"layout", "json stdin"}),
	.notes = "DATA that may begin with - has to follow --: ptrace-event -- NAME \"$data\"\n\n"
		 "Exit status: 0 done, or nothing traces the script, 1 failed, 2 wrong usage.",
};

/* The process for which the event was recorded, and the number of streams that recorded it. */
struct result {
	pid_t pid;
	unsigned int streams;
};

/* The length of KEY in KEY=VALUE; 0 if the operand is not of this form. A "=" makes it a pair only after a key of
 * letters, digits and _ . - that does not start with a digit, a point or a hyphen. */
static size_t key_length(const char *operand)
{
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	size_t len = strspn(operand, LETTERS "0123456789.-");

	return operand[len] == '=' && strspn(operand, LETTERS) ? len : 0;
}

/* Ends the process if a key is given twice, or if both a key NAME and a key NAME_hex are given. */
static void check_keys(char **pairs)
{
	struct ptrc_table keys = {0};

	for (char **p = pairs; *p; p++) {
		size_t size = key_length(*p);

		if (ptrc_table_seek(&keys, *p, size))
			ptrc_cli_usage(*p, "the key is given twice");
		ptrc_table_find(&keys, *p, size, sizeof(struct ptrc_table_entry));
	}
	for (char **p = pairs; *p; p++) {
		size_t size = key_length(*p);

		if (size > 4 && !strncmp(*p + size - 4, "_hex", 4) &&
		    ptrc_table_seek(&keys, *p, size - 4))
			ptrc_cli_usage(*p, "the key is reserved: it holds the value of the "
					   "key without _hex if that is not text");
	}
	ptrc_table_free(&keys);
}

/* Puts the member `key`. A value that is a number, true, false or null in JSON is put unchanged; with --json
 * (is_json), so is any other valid JSON. Every other value is put as a string. */
static void put_value(struct ptrc_json *j, const char *key, const char *value)
{
	bool is_plain = *value && strchr("-0123456789tfn", *value) && !strpbrk(value, " \t\r\n");

	if ((is_plain || is_json) && ptrc_json_text_is_valid(value, strlen(value))) {
		ptrc_json_key(j, key);
		ptrc_buffer_text(j->buffer, value);
	} else {
		ptrc_json_bytes(j, key, value, strlen(value));
	}
}

static void put_pairs(struct ptrc_buffer *data, char **pairs)
{
	struct ptrc_json j = {.buffer = data, .is_first = true};

	for (char **pair = pairs; *pair; pair++)
		if (!key_length(*pair))
			ptrc_cli_usage(*pair, "is not KEY=VALUE, and there can be only one DATA");
	check_keys(pairs);
	ptrc_json_open(&j, NULL, '{');
	for (char **pair = pairs; *pair; pair++) {
		size_t len = key_length(*pair);

		(*pair)[len] = '\0';
		put_value(&j, *pair, *pair + len + 1);
		(*pair)[len] = '=';
	}
	ptrc_json_close(&j, '}');
}

/* Reads all of standard input. Returns false after a message. */
static bool read_stdin(struct ptrc_buffer *data)
{
	for (;;) {
		char *room = ptrc_buffer_room(data, 65536);
		ssize_t got = read(STDIN_FILENO, room, 65536);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			ptrc_cli_error("standard input", errno);
			return false;
		}
		if (got == 0)
			return true;
		data->used += (size_t)got;
		if (data->used > STDIN_MAX) {
			ptrc_cli_message("standard input", "more than %zu bytes", STDIN_MAX);
			return false;
		}
	}
}

static void check_name(const char *name)
{
	if (!*name)
		ptrc_cli_usage(NULL, "the event name is empty");
	if (strlen(name) > TRACE_EVENT_NAME_MAX)
		ptrc_cli_usage(name, "an event name has at most %d bytes", TRACE_EVENT_NAME_MAX);
}

/* The layout of the event type; NULL if the data has none. */
static const char *layout;

/* Puts the data that the operands give to the fields of the layout. */
static void put_fields(struct ptrc_buffer *data, char **pairs)
{
	struct ptrc_layouts layouts = {0};
	struct ptrc_cli_reason why;

	if (!ptrc_layouts_add_told(&layouts, layout, &why))
		ptrc_cli_usage("--layout", "%s", why.text);
	if (layouts.has_json)
		ptrc_cli_usage("--layout", "without this option, KEY=VALUE are a JSON object");
	if (!ptrc_layout_encode(layouts.layouts[0], pairs, data, &why))
		ptrc_cli_usage(NULL, "%s", why.text);
	ptrc_layouts_free(&layouts);
}

/* Explains EPROTO: this command does not know the version of a stream, or of the event names, of the process. */
static void say_version(pid_t process, const char *pid)
{
	static struct ptrc_inspected_stream s;
	struct ptrc_inspected_process p;
	unsigned int versions = 0;

	if (!ptrc_inspect_process(process, &p)) {
		versions = p.pt_names_versions;
		for (unsigned int i = 0; i < p.pt_streams && !versions; i++)
			if (ptrc_inspect_stream(process, i, &s) == EPROTO)
				versions = s.pt_versions;
	}
	ptrc_cli_message(
		pid,
		"a stream that traces this process has version %u of the shared memory, and "
		"this command knows it up to version %u; use the commands of the release "
		"that made the stream",
		versions & 0xff, versions >> 8);
}

/* Records the event for the process r->pid. is_given: the user named that process (--pid). Returns false after a
 * message. */
static bool record(const char *name, const struct ptrc_buffer *data, bool is_given,
		   struct result *r)
{
	int error =
		posixtrace_event_for(r->pid, name, layout, data->bytes, data->used, &r->streams);
	char pid[16];

	if (!error)
		return true;
	/* Without --pid, the process is the script. If it belongs to another user or has ended, it is not traced,
	 * which is no error. */
	if (!is_given && (error == EPERM || error == ESRCH)) {
		r->streams = 0;
		return true;
	}
	snprintf(pid, sizeof(pid), "%d", (int)r->pid);
	switch (error) {
	case EINVAL:
		ptrc_cli_usage(name, layout ? "is the name of a predefined event type"
					    : "is the name of a system event");
	case ESRCH:
		ptrc_cli_message(pid, "no such process");
		break;
	case EPERM:
		ptrc_cli_message(pid, "not allowed to record events of this process");
		break;
	case EPROTO:
		say_version(r->pid, pid);
		break;
	case EEXIST:
		ptrc_cli_message(name,
				 "this event type exists already, and its layout is not '%s'; "
				 "ptrace-events shows the one that it has, for --layout",
				 layout);
		break;
	default:
		ptrc_cli_error(name, error);
		break;
	}
	return false;
}

/* Records the event for the process that the user named or, if the user named none, for the script that runs this
 * command. Returns false after a message. */
static bool find_and_record(const char *name, const struct ptrc_buffer *data, struct result *r)
{
	struct result own = {.pid = getpid()};

	if (r->pid)
		return record(name, data, true, r);
	r->pid = getppid();
	/* The script is the parent process. getppid() returns 0 if the parent is outside of the pid namespace of
	 * this process. */
	if (r->pid && !record(name, data, false, r))
		return false;
	/* If this process has no stream that the script lacks, the script's streams do not want the event, or have lost
	 * and counted it. */
	if (r->streams || (r->pid && ptrc_inspect_traces(getpid()) <= ptrc_inspect_traces(r->pid)))
		return true;
	/* A shell may run the last command of the script in its own process; then this process is the script. */
	if (!record(name, data, false, &own))
		return false;
	if (own.streams || !r->pid)
		*r = own;
	return true;
}

static bool is_object(const struct ptrc_buffer *data)
{
	return data->used && ptrc_json_text_is_valid(data->bytes, data->used) &&
	       data->bytes[strspn(data->bytes, " \t\n\r")] == '{';
}

int main(int argc, char **argv)
{
	PTRC_SCOPED_BUFFER data = PTRC_BUFFER_INIT;
	bool is_good = true;
	struct result r = {.pid = 0};
	const char *name;
	char **operands;
	int key;

	ptrc_cli_begin(&cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1)
		if (key == 'p')
			r.pid = (pid_t)ptrc_cli_number("--pid", optarg, 1, INT_MAX);
		else if (key == KEY_LAYOUT)
			layout = optarg;
	if (optind == argc)
		ptrc_cli_usage(NULL, "no event NAME given");
	name = argv[optind];
	check_name(name);
	operands = argv + optind + 1;
	if (operands[0] && is_stdin)
		ptrc_cli_usage(operands[0], "the data comes from standard input already");
	if (operands[0] && !operands[1] && !strcmp(operands[0], "-"))
		is_stdin = true;
	if (is_json && !operands[0] && !is_stdin)
		ptrc_cli_usage(NULL, "--json needs data");
	if (layout) {
		put_fields(&data, operands);
	} else if (is_stdin) {
		is_good = read_stdin(&data);
	} else if (operands[0] && !operands[1] && !key_length(operands[0])) {
		ptrc_buffer_text(&data, operands[0]);
	} else if (operands[0]) {
		layout = "json";
		put_pairs(&data, operands);
	}
	if (is_good && is_json && !layout) {
		is_good = is_object(&data);
		if (!is_good && !is_stdin)
			ptrc_cli_usage(operands[0], "is not a JSON object");
		if (!is_good)
			ptrc_cli_message("standard input", "is not a JSON object");
		layout = "json";
	}
	is_good = is_good && find_and_record(name, &data, &r);
	if (!is_good)
		return PTRC_EXIT_FAILED;
	if (is_required && r.streams == 0) {
		ptrc_cli_message(name,
				 "recorded nowhere: no stream traces process %d, or all of them "
				 "are stopped, full, or filter the event out",
				 (int)r.pid);
		return PTRC_EXIT_FAILED;
	}
	return PTRC_EXIT_DONE;
}
