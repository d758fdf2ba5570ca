/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/cli.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <posixtrace.h>

#include "src/base/complete.h"
#include "src/base/exit_status.h"
#include "src/base/nearest.h"
#include "src/base/output.h"

/* OPTIONS_MAX: the most options that a command has. WORDS_MAX: the most words that can be the value of one option
 * (ptrc_cli_word()). */
enum { OPTIONS_MAX = 64, WORDS_MAX = 16 };

static const struct ptrc_cli_option standard_options[] = {
	{"help", 'h', NULL, "show this help and exit"},
	{"version", 'V', NULL, "show the version and exit"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli *command;
static struct option long_options[OPTIONS_MAX + 1];
static char short_options[2 * OPTIONS_MAX + 3];
/* The names of the options given so far, each once; NULL follows the last. */
static const char *names_given[OPTIONS_MAX + 1];
/* What this process did on SIGXFSZ when it started. */
static struct sigaction file_size_action;

static void table_add(const struct ptrc_cli_option *o)
{
	static size_t longs;
	size_t shorts = strlen(short_options);

	for (; o && o->name; o++) {
		assert(longs < OPTIONS_MAX);
		long_options[longs] = (struct option){
			.name = o->name,
			.has_arg = !o->argument		 ? no_argument
				   : *o->argument == '[' ? optional_argument
							 : required_argument,
			.val = o->key ? o->key : PTRC_CLI_KEY_FLAG + (int)longs,
		};
		longs++;
		if (!ptrc_option_has_letter(o))
			continue;
		short_options[shorts++] = (char)o->key;
		if (o->argument)
			short_options[shorts++] = ':';
	}
}

/*
 * Opens a placeholder for each standard descriptor that is closed. Otherwise a file or socket that is opened later
 * would get its number, and output for the user would go there. The placeholder is an O_PATH descriptor, so
 * reading and writing it fails with EBADF, like on a closed descriptor. It refers to a symbolic link, not to the
 * link's target, so that opening /dev/stdout fails, too. (Without /proc, the placeholder refers to the root
 * directory, but then /dev/stdout does not exist.)
 */
static void occupy_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		    open("/proc/self", O_PATH | O_NOFOLLOW | O_CLOEXEC) != fd &&
		    open("/", O_PATH | O_CLOEXEC) != fd)
			_exit(ptrc_cli_failure_status());
}

void ptrc_cli_begin(const struct ptrc_cli *c)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};

	command = c;
	ptrc_message_begin(c->program, c->usage_status ? c->usage_status : PTRC_EXIT_USAGE);
	occupy_standard_descriptors();
	/* If a file reaches the limit on file size, write() must fail, not end this process. */
	sigaction(SIGXFSZ, &ignore, &file_size_action);
	/* The colon makes getopt_long() return ':', not '?', if an argument is missing. */
	strcpy(short_options, c->has_command ? "+:" : ":");
	table_add(c->options);
	table_add(c->shared_options);
	table_add(standard_options);
	opterr = 0;
}

void ptrc_cli_restore_signals(void)
{
	sigaction(SIGXFSZ, &file_size_action, NULL);
}

static void put_option(struct ptrc_buffer *b, const struct ptrc_cli_option *o)
{
	/* The explanations start in this column, which leaves them 50 of 80 columns. */
	enum { COLUMN = 30 };
	size_t begin = b->used;
	const char *line = o->help;

	if (ptrc_option_has_letter(o))
		ptrc_buffer_format(b, "  -%c, --%s", o->key, o->name);
	else
		ptrc_buffer_format(b, "      --%s", o->name);
	if (o->argument)
		ptrc_buffer_format(b, "%s%s", *o->argument == '[' ? "" : "=", o->argument);
	if (b->used - begin > COLUMN - 2) {
		ptrc_buffer_char(b, '\n');
		begin = b->used;
	}
	for (;;) {
		size_t n = strcspn(line, "\n");

		ptrc_buffer_blanks(b, COLUMN - (long)(b->used - begin));
		ptrc_buffer_bytes(b, line, n);
		ptrc_buffer_char(b, '\n');
		if (!line[n])
			break;
		line += n + 1;
		begin = b->used;
	}
}

static void put_table(struct ptrc_buffer *b, const char *title, const struct ptrc_cli_option *o)
{
	if (!o || !o->name)
		return;
	ptrc_buffer_format(b, "\n%s:\n", title);
	for (; o->name; o++)
		put_option(b, o);
}

static void __attribute__((noreturn)) help(void)
{
	struct ptrc_buffer b = PTRC_BUFFER_INIT;

	ptrc_buffer_format(&b, "Usage: %s %s\n%s\n", command->program, command->operands,
			   command->summary);
	put_table(&b, "Options", command->options);
	put_table(&b, "Attributes of the trace", command->shared_options);
	put_table(&b, "Help", standard_options);
	if (command->notes)
		ptrc_buffer_format(&b, "\n%s\n", command->notes);
	ptrc_buffer_format(&b, "\nThe manual page is %s(1).\n", command->program);
	ptrc_output_end(&b);
	exit(PTRC_EXIT_DONE);
}

static void __attribute__((noreturn)) version(void)
{
	struct ptrc_buffer b = PTRC_BUFFER_INIT;

	ptrc_buffer_format(&b, "%s (%s)\n", command->program, posixtrace_version());
	ptrc_output_end(&b);
	exit(PTRC_EXIT_DONE);
}

/* Refuses an unknown long option. The message proposes options with similar names. */
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

/* Whether getopt_long() stopped at an unknown option letter, which it leaves in optopt. Within a
 * group of letters (-xyz), argv[optind - 1] is not the group but the word before it. */
static bool is_unknown_letter(void)
{
	for (const struct option *o = long_options; o->name; o++)
		if (o->val == optopt)
			return false;
	return optopt > 0 && optopt < PTRC_CLI_KEY_FIRST;
}

/* Refuses a long option with one dash, which getopt_long() takes for a letter and its argument, or for letters. */
static void refuse_one_dash(const char *given)
{
	size_t size = strcspn(given + 1, "=");

	for (const struct option *o = long_options; o->name; o++)
		if (strlen(o->name) == size && !strncmp(o->name, given + 1, size))
			ptrc_cli_usage(given, "unknown option (did you mean '--%s'?)", o->name);
}

/* Refuses the option at which getopt_long() stopped. The message names it as the user wrote it. */
static void __attribute__((noreturn)) bad_option(char **argv, bool argument_missing)
{
	const char *given = optind > 0 && argv[optind - 1] ? argv[optind - 1] : "?";
	char letter[3] = {'-', (char)optopt, '\0'};
	char name[80];
	bool is_long = given[0] == '-' && given[1] == '-' && given[2] && !is_unknown_letter();
	const char *thing = is_long || !optopt ? given : letter;

	if (argument_missing)
		ptrc_cli_usage(thing, "needs an argument");
	for (const struct option *o = long_options; is_long && o->name; o++)
		if (optopt && o->val == optopt) {
			snprintf(name, sizeof(name), "--%s", o->name);
			ptrc_cli_usage(name, "takes no argument");
		}
	if (is_long)
		say_unknown(given);
	/* If the letter is the first of a group, the group is the next word, because it has letters that were not read. */
	if (argv[optind] && argv[optind][0] == '-' && argv[optind][1] == optopt)
		refuse_one_dash(argv[optind]);
	ptrc_cli_usage(thing, "unknown option");
}

/*
 * Refuses abbreviations of long options, which getopt_long() accepts. Otherwise --all would mean --allow-loss,
 * and an option of a later version could change the meaning of an abbreviation in a script.
 */
static void refuse_abbreviation(char **argv, int index)
{
	const char *given = argv[optind - 1];

	if (long_options[index].has_arg == required_argument && given == optarg)
		given = argv[optind - 2];
	if (strcspn(given, "=") != 2 + strlen(long_options[index].name))
		say_unknown(given);
}

static void note_given(int key)
{
	const struct option *o = long_options;
	size_t i = 0;

	while (o->val != key)
		o++;
	while (names_given[i] && names_given[i] != o->name)
		i++;
	names_given[i] = o->name;
}

static int next(int argc, char **argv)
{
	int index = -1;
	int key;

	if (optind == 1 && argc > 1 && !strcmp(argv[1], "--complete"))
		ptrc_complete(command, standard_options, argv + 2);
	key = getopt_long(argc, argv, short_options, long_options, &index);
	if (index >= 0 && key != '?' && key != ':')
		refuse_abbreviation(argv, index);
	if (index < 0 && optarg && optarg == argv[optind - 1] + 2)
		refuse_one_dash(argv[optind - 1]);
	switch (key) {
	case 'h':
		help();
	case 'V':
		version();
	case '?':
		bad_option(argv, false);
	case ':':
		bad_option(argv, true);
	case -1:
		ptrc_option_check(command, names_given, optind < argc);
		return -1;
	default:
		note_given(key);
		return key;
	}
}

/* Sets the variable of the flag with this key. Returns false if the key is that of another option. */
static bool set_flag(int key)
{
	const struct ptrc_cli_flag *f = command->flags;

	if (key < PTRC_CLI_KEY_FLAG)
		return false;
	while (strcmp(f->option, long_options[key - PTRC_CLI_KEY_FLAG].name))
		f++;
	return *f->is_given = true;
}

int ptrc_cli_next(int argc, char **argv)
{
	int key;

	do
		key = next(argc, argv);
	while (set_flag(key));
	return key;
}

/* Reads decimal digits, without sign, blanks or 0x, and stores where they end. Returns 0; EINVAL if
 * there is no digit; ERANGE if the number is too large. */
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

bool ptrc_cli_parse_number(const char *text, uint64_t low, uint64_t high, uint64_t *value,
			   struct ptrc_cli_reason *why)
{
	const char *end;
	uint64_t v;
	int error = parse_digits(text, &end, &v);

	if (error == EINVAL || (!error && *end))
		return ptrc_cli_because(why, "'%s' is not a whole number", text);
	if (error || v < low || v > high)
		return ptrc_cli_because(why, "%s is not in the range %llu to %llu", text,
					(unsigned long long)low, (unsigned long long)high);
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
	if (error == EINVAL)
		return ptrc_cli_because(why,
					"'%s' is not a size: a number, which may have K, M "
					"or G after it",
					text);
	if (error || v > SIZE_MAX)
		return ptrc_cli_because(why, "%s is too large", text);
	*value = v;
	return true;
}

int ptrc_cli_parse_word(const char *text, const char *const *words, struct ptrc_cli_reason *why)
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
	ptrc_cli_because(why, "'%s' is not one of %s", text, list);
	return -1;
}

uint64_t ptrc_cli_number(const char *option, const char *text, uint64_t low, uint64_t high)
{
	struct ptrc_cli_reason why;
	uint64_t v;

	if (!ptrc_cli_parse_number(text, low, high, &v, &why))
		ptrc_cli_usage(option, "%s", why.text);
	return v;
}

int ptrc_cli_word(const char *option, const char *text)
{
	char copies[WORDS_MAX][PTRC_OPTION_WORD];
	const char *words[WORDS_MAX + 1] = {NULL};
	struct ptrc_cli_reason why;
	const char *list = ptrc_option_words(command, option + strlen("--"));
	int i = 0;

	for (; (list = ptrc_option_next_word(list, copies[i])); i++) {
		words[i] = copies[i];
		assert(i + 1 < WORDS_MAX);
	}
	i = ptrc_cli_parse_word(text, words, &why);
	if (i < 0)
		ptrc_cli_usage(option, "%s", why.text);
	return i;
}

void ptrc_cli_once(const char *option, const char **text)
{
	if (*text)
		ptrc_cli_usage(option, "is given twice");
	*text = optarg;
}

bool ptrc_cli_has_colours(void)
{
	const char *no_colour = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && !(no_colour && *no_colour);
}

void ptrc_cli_add_text(struct ptrc_cli_texts *l, const char *text)
{
	*ptrc_append(l->texts, l->count) = text;
}

void ptrc_cli_add_copy(struct ptrc_cli_texts *l, const char *text)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->texts[i], text))
			return;
	ptrc_cli_add_text(l, ptrc_cli_copy(text));
}

void ptrc_cli_free_copies(struct ptrc_cli_texts *l)
{
	for (size_t i = 0; i < l->count; i++)
		free((char *)l->texts[i]);
	free(l->texts);
	*l = (struct ptrc_cli_texts){0};
}
