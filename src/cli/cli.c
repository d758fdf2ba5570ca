/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <posixtrace.h>

#include "src/cli/exit_status.h"
#include "src/cli/json.h"
#include "src/cli/nearest.h"

/* More than any command has. */
enum { OPTIONS_MAX = 40 };

static const struct ptrc_cli_option standard_options[] = {
	{"help", 'h', NULL, "show this help and exit"},
	{"version", 'V', NULL, "show the version and exit"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli *command;
static struct option long_options[OPTIONS_MAX + 1];
static char short_options[2 * OPTIONS_MAX + 3];

static void table_add(const struct ptrc_cli_option *o, size_t *longs, size_t *shorts)
{
	for (; o && o->name && *longs < OPTIONS_MAX; o++) {
		long_options[*longs] = (struct option){
			.name = o->name,
			.has_arg = o->argument ? required_argument : no_argument,
			.val = o->key,
		};
		++*longs;
		if (o->key > CHAR_MAX)
			continue;
		short_options[(*shorts)++] = (char)o->key;
		if (o->argument)
			short_options[(*shorts)++] = ':';
	}
}

int ptrc_cli_failure_status(void)
{
	return command->usage_status == PTRC_EXIT_USAGE ? PTRC_EXIT_FAILED
							: command->usage_status;
}

/*
 * A standard descriptor that is closed would be the next one opened, a pipe or a socket
 * say, and get what is written to the user. What takes its place behaves as closed to who
 * reads or writes, and is closed in what is executed.
 */
static void occupy_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_PATH | O_CLOEXEC) != fd)
			_exit(ptrc_cli_failure_status());
}

void ptrc_cli_begin(const struct ptrc_cli *c)
{
	size_t longs = 0;
	size_t shorts = 0;

	command = c;
	occupy_standard_descriptors();
	if (c->has_command)
		short_options[shorts++] = '+';
	/* A missing argument is told apart from an unknown option. */
	short_options[shorts++] = ':';
	table_add(c->options, &longs, &shorts);
	table_add(c->shared_options, &longs, &shorts);
	table_add(standard_options, &longs, &shorts);
	opterr = 0;
}

static void help_line(const struct ptrc_cli_option *o)
{
	/* Where the explanations begin; 50 characters are left of a line of 80. */
	enum { COLUMN = 30 };
	char left[80];
	int used;
	const char *line = o->help;

	used = snprintf(
		left, sizeof(left), "  %c%c%s--%s%s%s", o->key > CHAR_MAX ? ' ' : '-',
		o->key > CHAR_MAX ? ' ' : (char)o->key, o->key > CHAR_MAX ? "  " : ", ",
		o->name, o->argument ? "=" : "", o->argument ? o->argument : "");
	if (used > COLUMN - 2)
		printf("%s\n%*s", left, COLUMN, "");
	else
		printf("%-*s", COLUMN, left);
	for (;;) {
		size_t n = strcspn(line, "\n");

		printf("%.*s\n", (int)n, line);
		if (!line[n])
			break;
		line += n + 1;
		printf("%*s", COLUMN, "");
	}
}

static void help_table(const char *title, const struct ptrc_cli_option *o)
{
	if (!o || !o->name)
		return;
	printf("\n%s:\n", title);
	for (; o->name; o++)
		help_line(o);
}

/* Ends with success only if all of it could be written. */
static void __attribute__((noreturn)) finish_stdout(void)
{
	if (fflush(stdout) || ferror(stdout)) {
		if (errno != EPIPE)
			ptrc_cli_error("standard output", errno);
		_exit(errno == EPIPE ? PTRC_EXIT_DONE : ptrc_cli_failure_status());
	}
	exit(PTRC_EXIT_DONE);
}

static void __attribute__((noreturn)) help(void)
{
	printf("Usage: %s %s\n%s\n", command->program, command->operands,
	       command->summary);
	help_table("Options", command->options);
	help_table("Attributes of the trace", command->shared_options);
	help_table("Help", standard_options);
	if (command->notes)
		printf("\n%s\n", command->notes);
	printf("\nThe manual page is %s(1).\n", command->program);
	finish_stdout();
}

static void __attribute__((noreturn)) version(void)
{
	printf("%s (%s)\n", command->program, posixtrace_version());
	finish_stdout();
}

static const struct ptrc_cli_option *find_key(const struct ptrc_cli_option *o, int key)
{
	for (; o && o->name; o++)
		if (o->key == key)
			return o;
	return NULL;
}

/* A long option that does not exist, with those it is like. */
static void __attribute__((noreturn)) say_unknown(const char *given)
{
	struct ptrc_nearest nearest = {0};
	char names[OPTIONS_MAX][40];
	char wanted[40];
	char proposal[160];

	snprintf(wanted, sizeof(wanted), "%.*s", (int)strcspn(given, "="), given);
	for (size_t i = 0; long_options[i].name; i++) {
		snprintf(names[i], sizeof(names[i]), "--%s", long_options[i].name);
		ptrc_nearest_offer(&nearest, wanted, names[i]);
	}
	ptrc_cli_usage(given, "unknown option%s",
		       ptrc_nearest_text(&nearest, proposal, sizeof(proposal)));
}

/* What getopt_long() stumbled over, as the user wrote it. */
static void __attribute__((noreturn)) bad_option(char **argv, bool argument_missing)
{
	const char *given = optind > 0 && argv[optind - 1] ? argv[optind - 1] : "?";
	char letter[3] = {'-', (char)optopt, '\0'};
	char name[80];
	bool is_long = given[0] == '-' && given[1] == '-' && given[2];
	const char *thing = is_long || !optopt ? given : letter;

	if (argument_missing)
		ptrc_cli_usage(thing, "needs an argument");
	if (is_long && optopt) {
		const struct ptrc_cli_option *o = find_key(command->options, optopt);

		if (!o)
			o = find_key(command->shared_options, optopt);
		if (!o)
			o = find_key(standard_options, optopt);
		if (o) {
			snprintf(name, sizeof(name), "--%s", o->name);
			ptrc_cli_usage(name, "takes no argument");
		}
	}
	if (is_long)
		say_unknown(given);
	ptrc_cli_usage(thing, "unknown option");
}

/*
 * Only whole names: --all would be --allow-loss where there is no --all, and an option of a
 * later version changes what an abbreviation in a script means.
 */
static void refuse_abbreviation(char **argv, int index)
{
	const char *given = argv[optind - 1];

	if (long_options[index].has_arg && given == optarg)
		given = argv[optind - 2];
	if (strcspn(given, "=") != 2 + strlen(long_options[index].name))
		say_unknown(given);
}

int ptrc_cli_next(int argc, char **argv)
{
	int index = -1;
	int key = getopt_long(argc, argv, short_options, long_options, &index);

	if (index >= 0 && key != '?' && key != ':')
		refuse_abbreviation(argv, index);
	switch (key) {
	case 'h':
		help();
	case 'V':
		version();
	case '?':
		bad_option(argv, false);
	case ':':
		bad_option(argv, true);
	default:
		return key;
	}
}

/* Control bytes would make a second line, or command the terminal. */
static void print_escaped(FILE *f, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (*p == '\n') {
			fputs("\\n", f);
		} else if (ptrc_text_is_high_control(p)) {
			fprintf(f, "\\x%02x\\x%02x", p[0], p[1]);
			p++;
		} else if (*p < 0x20 || *p == 0x7f) {
			fprintf(f, "\\x%02x", *p);
		} else {
			fputc(*p, f);
		}
	}
}

static void __attribute__((format(printf, 2, 0)))
message(const char *thing, const char *format, va_list values, bool hint)
{
	char reason[1024];
	char *line = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&line, &size);

	if (!f)
		return;
	fprintf(f, "%s: ", command->program);
	if (thing) {
		print_escaped(f, thing);
		fputs(": ", f);
	}
	vsnprintf(reason, sizeof(reason), format, values);
	print_escaped(f, reason);
	if (hint)
		fprintf(f, ". Try '%s --help'.", command->program);
	fputc('\n', f);
	/* One write, so that lines of several processes do not mix. */
	if (!fclose(f) && write(STDERR_FILENO, line, size) < 0) {
		/* There is nobody left to tell. */
	}
	free(line);
}

void ptrc_cli_message(const char *thing, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	message(thing, format, values, false);
	va_end(values);
}

void ptrc_cli_error(const char *thing, int error)
{
	ptrc_cli_message(thing, "%s", strerror(error));
}

void ptrc_cli_usage(const char *thing, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	message(thing, format, values, true);
	va_end(values);
	exit(command->usage_status);
}

void ptrc_cli_refuse(const char *thing, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	message(thing, format, values, false);
	va_end(values);
	exit(command->usage_status);
}

void ptrc_cli_no_memory(void)
{
	ptrc_cli_error(NULL, ENOMEM);
	exit(ptrc_cli_failure_status());
}

/* Digits only, so neither signs nor blanks nor 0x. */
static int parse_digits(const char *text, const char **end, uint64_t *value)
{
	uint64_t v = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return ERANGE;
	if (p == text)
		return EINVAL;
	*end = p;
	*value = v;
	return 0;
}

static void __attribute__((format(printf, 2, 3)))
say_why(struct ptrc_cli_reason *why, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vsnprintf(why->text, sizeof(why->text), format, values);
	va_end(values);
}

bool ptrc_cli_parse_number(const char *text, uint64_t low, uint64_t high, uint64_t *value,
			   struct ptrc_cli_reason *why)
{
	const char *end;
	uint64_t v;
	int error = parse_digits(text, &end, &v);

	if (error == EINVAL || (!error && *end)) {
		say_why(why, "'%s' is not a number", text);
		return false;
	}
	if (error || v < low || v > high) {
		say_why(why, "%s is not in the range %llu to %llu", text,
			(unsigned long long)low, (unsigned long long)high);
		return false;
	}
	*value = v;
	return true;
}

bool ptrc_cli_parse_size(const char *text, uint64_t *value, struct ptrc_cli_reason *why)
{
	static const char suffixes[] = "KMG";
	const char *end;
	const char *suffix;
	uint64_t v;
	int error = parse_digits(text, &end, &v);

	if (!error && *end) {
		suffix = strchr(suffixes, *end);
		if (!suffix || end[1])
			error = EINVAL;
		else
			for (ptrdiff_t n = suffix - suffixes; n >= 0 && !error; n--)
				if (__builtin_mul_overflow(v, (uint64_t)1024, &v))
					error = ERANGE;
	}
	if (error == EINVAL) {
		say_why(why,
			"'%s' is not a size: a number with K, M, G or nothing behind",
			text);
		return false;
	}
	if (error || v > SIZE_MAX) {
		say_why(why, "%s is too large", text);
		return false;
	}
	*value = v;
	return true;
}

int ptrc_cli_parse_word(const char *text, const char *const *words,
			struct ptrc_cli_reason *why)
{
	char list[200] = "";

	for (int i = 0; words[i]; i++) {
		size_t used = strlen(list);

		if (!strcmp(words[i], text))
			return i;
		snprintf(list + used, sizeof(list) - used, "%s%s",
			 !i		? ""
			 : words[i + 1] ? ", "
					: " and ",
			 words[i]);
	}
	say_why(why, "'%s' is not one of %s", text, list);
	return -1;
}

uint64_t ptrc_cli_number(const char *option, const char *text, uint64_t low,
			 uint64_t high)
{
	struct ptrc_cli_reason why;
	uint64_t v;

	if (!ptrc_cli_parse_number(text, low, high, &v, &why))
		ptrc_cli_usage(option, "%s", why.text);
	return v;
}

int ptrc_cli_word(const char *option, const char *text, const char *const *words)
{
	struct ptrc_cli_reason why;
	int i = ptrc_cli_parse_word(text, words, &why);

	if (i < 0)
		ptrc_cli_usage(option, "%s", why.text);
	return i;
}

enum ptrc_format ptrc_cli_format(const char *text)
{
	static const char *const words[] = {"text", "json", NULL};

	return ptrc_cli_word("--format", text, words) ? PTRC_FORMAT_JSON
						      : PTRC_FORMAT_TEXT;
}

void *ptrc_cli_allocate(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		ptrc_cli_no_memory();
	return p;
}

void *ptrc_cli_reallocate(void *old, size_t size)
{
	void *p = realloc(old, size ? size : 1);

	if (!p)
		ptrc_cli_no_memory();
	return p;
}
