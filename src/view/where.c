/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/view/where.h"

#include <errno.h>
#include <regex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/model/glob.h"
#include "src/cli/message.h"
#include "src/view/when.h"

/* Limits of an expression: far above what anybody writes, and far below what would fill the
 * stack in this file or in the C library's regular expressions. */
enum {
	DEPTH_MAX = 100,
	TESTS_MAX = 1000,
	WORD_MAX_BYTES = 100,
	PATTERN_MAX_BYTES = 1000,
	/* So many states of a regular expression take the C library some 60 MB at most. */
	STATES_MAX = 5000,
	/* The C library may read a regular expression for so long. */
	READING_MAX_S = 1,
	/* A pattern looks at most at so much text. */
	TEXT_MAX_BYTES = 1 << 20,
	/* The same if it may have to begin anew at each byte. */
	SQUARED_TEXT_MAX_BYTES = 4096,
	/* The most of states times bytes of text. For each byte the C library may add to what it
	 * remembers of the expression, which takes some 8 bytes and 60 ns for each state. */
	WORK_MAX = 16 << 20,
};

enum kind {
	OR,
	AND,
	NOT,
	/* A field alone. */
	TRUTH,
	COMPARISON,
	REGEX,
	GLOB,
};

/* How two values stand to each other, a bit each; a relation holds for some of them. */
enum relation {
	BELOW = 1,
	EQUAL = 2,
	ABOVE = 4,
	/* One of them is not a number (NaN). */
	UNORDERED = 8,
	UNEQUAL = BELOW | ABOVE | UNORDERED,
	NOT_ABOVE = BELOW | EQUAL,
	NOT_BELOW = ABOVE | EQUAL,
};

/* Holds every value of a field that is an integer; processors compare it faster than a long
 * double. */
__extension__ typedef __int128 integer;

struct operand {
	bool is_field;
	struct ptrc_field field;
	struct ptrc_value literal;
	/* The literal as a number, worked out once. */
	bool has_number;
	long double number;
	/* The same, if it is a whole number. */
	bool is_whole;
	integer whole;
	/* The text of a string literal; owned. */
	char *text;
	/* The offset in the expression. */
	size_t at;
};

struct node {
	enum kind kind;
	enum relation relation;
	struct operand operands[2];
	struct node *children[2];
	/* Of a pattern: its states, and how much of a text it looks at. */
	size_t states;
	size_t text_max;
	/* A regular expression as it is compiled for texts of which it sees all, and for those of
	 * which it sees the first part; owned. Which of the two it is compiled for now, and the
	 * bytes of text that it has been matched with since it was. */
	regex_t regex;
	char *regex_text[2];
	bool is_for_part;
	size_t matched_bytes;
	/* Of what compares the names of events with a text or a pattern: whether one of the names
	 * that were tried is the one or matches the other, and the next such comparison. */
	bool has_name;
	struct node *next_of_names;
};

struct ptrc_where {
	/* What it was made of. */
	const char *text;
	const struct ptrc_layouts *layouts;
	struct node *root;
	struct node *names;
	/* Room for the digits that bytes are compared as, and for a text with a null byte
	 * appended. */
	struct ptrc_buffer scratch[2];
	uint64_t cut_count;
};

enum token {
	END,
	FIELD,
	NUMBER,
	STRING,
	TRUE,
	FALSE,
	LEFT,
	RIGHT,
	OR_SIGN,
	AND_SIGN,
	NOT_SIGN,
	RELATION,
	REGEX_SIGN,
	GLOB_SIGN,
	/* The expression is wrong, and the reason has been stored. */
	BAD,
};

struct parser {
	const char *begin;
	const char *at;
	const struct ptrc_layouts *layouts;
	struct ptrc_cli_reason *why;
	size_t depth;
	size_t tests;
	/* The comparisons of names, and where the next one belongs. */
	struct node *names;
	struct node **names_end;

	/* The next token, and where it begins. */
	enum token token;
	enum relation relation;
	const char *token_at;
	char word[WORD_MAX_BYTES + 1];
	long double number;
	/* The text of the last string; owned until an operand takes it. */
	char *string;
	size_t string_size;
};

static void __attribute__((format(printf, 3, 4)))
refuse(struct parser *p, const char *at, const char *format, ...)
{
	char reason[sizeof(p->why->text)];
	va_list values;

	/* Only the first mistake is reported: others may follow from it. */
	if (p->token == BAD)
		return;
	va_start(values, format);
	vsnprintf(reason, sizeof(reason), format, values);
	va_end(values);
	ptrc_cli_because(p->why, "column %zu: %s", (size_t)(at - p->begin) + 1, reason);
	p->token = BAD;
}

static bool is_letter(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void read_word(struct parser *p)
{
	size_t n = 0;

	while (is_letter(p->at[n]) || is_digit(p->at[n]) || p->at[n] == '.')
		n++;
	if (n > WORD_MAX_BYTES) {
		refuse(p, p->at, "the name is too long");
		return;
	}
	memcpy(p->word, p->at, n);
	p->word[n] = '\0';
	p->at += n;
	if (!strcmp(p->word, "true"))
		p->token = TRUE;
	else if (!strcmp(p->word, "false"))
		p->token = FALSE;
	else
		p->token = FIELD;
}

static void read_number(struct parser *p)
{
	size_t n = 1;

	/* Takes everything that could belong to a number, so that 1x2 is a wrong number
	 * rather than a number and a name. Signs can only follow the letter of an
	 * exponent. */
	while (is_letter(p->at[n]) || is_digit(p->at[n]) || p->at[n] == '.' ||
	       ((p->at[n] == '+' || p->at[n] == '-') &&
		(p->at[n - 1] == 'e' || p->at[n - 1] == 'E') && strncmp(p->at, "0x", 2) &&
		strncmp(p->at, "0X", 2)))
		n++;
	if (!ptrc_value_read_number(p->at, n, &p->number)) {
		refuse(p, p->at, "'%.*s' is not a number", n < 40 ? (int)n : 40, p->at);
		return;
	}
	p->at += n;
	p->token = NUMBER;
}

/* Reads a string in quotes. A backslash escapes the quote and the backslash. Before any other
 * character it stands for itself, so that regular expressions need not double it. */
static void read_string(struct parser *p)
{
	char quote = *p->at;
	const char *from = p->at + 1;
	char *to;

	free(p->string);
	p->string = to = ptrc_cli_allocate(strlen(p->at));
	for (; *from && *from != quote; from++) {
		if (*from == '\\' && (from[1] == quote || from[1] == '\\'))
			from++;
		*to++ = *from;
	}
	*to = '\0';
	p->string_size = (size_t)(to - p->string);
	if (!*from) {
		refuse(p, p->at, "the string has no end");
		return;
	}
	p->at = from + 1;
	p->token = STRING;
}

/* The length in bytes of a UTF-8 character, which messages must not cut. */
static int character_length(const char *text)
{
	int n = 1;

	while (((unsigned char)text[n] & 0xc0) == 0x80)
		n++;
	return n;
}

static void read_sign(struct parser *p)
{
	static const struct {
		char text[4];
		enum token token;
		enum relation relation;
	} signs[] = {
		{"==", RELATION, EQUAL},     {"!=", RELATION, UNEQUAL}, {"<=", RELATION, NOT_ABOVE},
		{">=", RELATION, NOT_BELOW}, {"=~", REGEX_SIGN, EQUAL}, {"&&", AND_SIGN, EQUAL},
		{"||", OR_SIGN, EQUAL},	     {"<", RELATION, BELOW},	{">", RELATION, ABOVE},
		{"~", GLOB_SIGN, EQUAL},     {"!", NOT_SIGN, EQUAL},	{"(", LEFT, EQUAL},
		{")", RIGHT, EQUAL},
	};

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		size_t n = strlen(signs[i].text);

		if (strncmp(p->at, signs[i].text, n))
			continue;
		p->token = signs[i].token;
		p->relation = signs[i].relation;
		p->at += n;
		return;
	}
	if (*p->at == '=' || *p->at == '&' || *p->at == '|')
		refuse(p, p->at, "write '%c%c' instead of '%c'", *p->at, *p->at, *p->at);
	else
		refuse(p, p->at, "'%.*s' has no meaning here", character_length(p->at), p->at);
}

/* Reads the next token. The expression ends at a wrong one. */
static void next(struct parser *p)
{
	if (p->token == BAD)
		return;
	p->at += strspn(p->at, " \t\n\r");
	p->token_at = p->at;
	if (!*p->at)
		p->token = END;
	else if (is_letter(*p->at))
		read_word(p);
	else if (*p->at == '.' && is_letter(p->at[1]))
		refuse(p, p->at, "a field is written without a dot in front");
	else if (is_digit(*p->at) || *p->at == '-' || *p->at == '+' || *p->at == '.')
		read_number(p);
	else if (*p->at == '"' || *p->at == '\'')
		read_string(p);
	else
		read_sign(p);
}

static void free_node(struct node *n)
{
	if (!n)
		return;
	if (n->kind == REGEX)
		regfree(&n->regex);
	for (size_t i = 0; i < 2; i++) {
		free_node(n->children[i]);
		free(n->operands[i].text);
	}
	free(n->regex_text[0]);
	free(n->regex_text[1]);
	free(n);
}

static struct node *make_node(enum kind kind)
{
	struct node *n = ptrc_cli_allocate(sizeof(*n));

	memset(n, 0, sizeof(*n));
	n->kind = kind;
	return n;
}

static void set_number(struct operand *o, long double number)
{
	o->has_number = true;
	o->number = number;
	/* Beyond these bounds there are no values of fields, and the conversion has no result. */
	o->is_whole =
		number >= -0x1p64L && number <= 0x1p64L && (long double)(integer)number == number;
	o->whole = o->is_whole ? (integer)number : 0;
}

static void read_operand(struct parser *p, struct operand *o, bool is_right)
{
	struct ptrc_cli_reason why;
	long double number;

	o->at = (size_t)(p->token_at - p->begin);
	switch (p->token) {
	case FIELD:
		o->is_field = true;
		if (!ptrc_field_find(p->word, p->layouts, &o->field, &why))
			refuse(p, p->token_at, "%s%s", why.text,
			       is_right ? "; text has to be in quotes" : "");
		break;
	case NUMBER:
		set_number(o, p->number);
		break;
	case TRUE:
	case FALSE:
		set_number(o, p->token == TRUE ? 1 : 0);
		break;
	case STRING:
		o->text = p->string;
		p->string = NULL;
		o->literal.kind = PTRC_VALUE_TEXT;
		o->literal.bytes = o->text;
		o->literal.size = p->string_size;
		if (ptrc_value_number(&o->literal, &number))
			set_number(o, number);
		break;
	case BAD:
		break;
	case END:
		refuse(p, p->token_at,
		       "the expression ends where a field, number or string is "
		       "missing");
		break;
	default:
		refuse(p, p->token_at, "a field, number or string is missing before '%.2s'",
		       p->token_at);
		break;
	}
	next(p);
}

/* Refuses to compare a time with anything but a string that is a time, the same moment as a
 * number, or another time. */
static void check_time(struct parser *p, const struct operand *other)
{
	const char *at = p->begin + other->at;

	if (other->is_field && other->field.id != PTRC_FIELD_TIME &&
	    other->field.id != PTRC_FIELD_NS)
		refuse(p, at,
		       "'time' cannot be compared with this field; 'ns' is the time as a number");
	else if (!other->is_field && !other->text)
		refuse(p, at,
		       "'time' is compared with a time in quotes, such as '2026-01-02 03:04'; 'ns' "
		       "is the time as a number");
}

/* Refuses a string that is compared with a field that is a number or a time, but is not one
 * itself. */
static void check_operands(struct parser *p, struct operand *field, struct operand *literal)
{
	const char *at = p->begin + literal->at;
	struct ptrc_cli_reason why;
	struct ptrc_when when;

	if (field->is_field && field->field.id == PTRC_FIELD_TIME)
		check_time(p, literal);
	if (!field->is_field || literal->is_field || !literal->text)
		return;
	if (field->field.id == PTRC_FIELD_TIME) {
		if (!ptrc_when_parse(literal->text, &when, &why))
			refuse(p, at, "%s", why.text);
		else if (when.base != PTRC_WHEN_ABSOLUTE)
			refuse(p, at, "'%.60s' is not a time but a span", literal->text);
		else
			set_number(literal, (long double)when.ns);
		return;
	}
	if (ptrc_field_is_number(&field->field) && !literal->has_number)
		refuse(p, at, "'%.60s' is not a number, but '%s' is", literal->text,
		       ptrc_field_name(field->field.id));
}

/* The end of the set [...] that begins here; of one without an end, its last character. */
static const char *end_of_set(const char *p)
{
	p += p[1] == '^';
	/* A ] that comes first is a member of the set, not its end. */
	p += p[1] == ']';
	while (p[1] && p[1] != ']') {
		p++;
		/* A class such as [:alpha:] has a ] of its own. */
		if (*p == '[' && p[1] && strchr(":.=", p[1])) {
			char end[3] = {p[1], ']', '\0'};
			const char *close = strstr(p + 2, end);

			p = close ? close + 1 : p;
		}
	}
	return p[1] ? p + 1 : p;
}

/* How often x{2,5} has x for the C library, or x{2,} which has one more. */
static unsigned long count_of(const char *brace)
{
	char *end;
	unsigned long low = strtoul(brace + 1, &end, 10);
	unsigned long high = *end == ',' ? strtoul(end + 1, NULL, 10) : low;

	if (low > STATES_MAX || high > STATES_MAX)
		return STATES_MAX;
	return high > low ? high : low + 1;
}

/*
 * The states of a regular expression, or more than STATES_MAX if it is too large for the C
 * library, whose memory grows with the square of its states. A repetition makes as many copies of the states of what is repeated as
 * its count says, and x+ is taken for xx*. So repetitions of repetitions multiply.
 */
static size_t count_states(const char *regex)
{
	/* The states of each group that is open, and those of what a repetition would repeat. */
	unsigned long states[PATTERN_MAX_BYTES + 1] = {0};
	unsigned long last = 0;
	size_t depth = 0;

	for (const char *p = regex; *p; p++) {
		unsigned long copies = 0;

		if (*p == '(') {
			states[++depth] = 0;
			last = 0;
		} else if (*p == ')' && depth) {
			last = states[depth--] + 1;
			states[depth] += last;
		} else if (*p == '+' || *p == '{') {
			copies = *p == '+' ? 1 : count_of(p) - 1;
			states[depth] += copies * last;
			last += copies * last;
		} else {
			if (*p == '[')
				p = end_of_set(p);
			else if (*p == '\\' && p[1])
				p++;
			/* An operator such as * has a state, too, which belongs to what is
			 * repeated. */
			last = *p == '*' || *p == '?' ? last + 1 : 1;
			states[depth]++;
		}
		if (states[depth] > STATES_MAX || last > STATES_MAX)
			return STATES_MAX + 1;
	}
	/* What is open at the end is refused elsewhere. */
	return states[0] + 1;
}

/* What an expression has outside of sets and escapes. */
struct outline {
	/* A ) without a (. */
	bool has_stray;
	bool has_start_anchor;
	bool has_alternative;
};

static struct outline outline_of(const char *regex)
{
	struct outline o = {0};
	long depth = 0;

	for (const char *p = regex; *p; p++) {
		if (*p == '[') {
			p = end_of_set(p);
		} else if (*p == '\\' && p[1]) {
			p++;
		} else {
			depth += (*p == '(') - (*p == ')');
			o.has_stray |= depth < 0;
			o.has_start_anchor |= *p == '^';
			o.has_alternative |= *p == '|';
		}
	}
	return o;
}

/* Says that it is not known whether the C library can read the expression, which is no fault of
 * the expression, and ends the process. */
static void __attribute__((noreturn)) cannot_try(int error)
{
	ptrc_cli_message("--where", "cannot start the process that tries the pattern: %s",
			 ptrc_cli_process_reason(error));
	exit(ptrc_cli_failure_status());
}

/*
 * Whether the C library can read both expressions in a bounded time, which a process of its own
 * tries. No property of an expression tells this: ^\++*+++++ and (\b|\B){0,35}b, which have few
 * states, keep it busy for longer than anyone would wait.
 */
static bool are_readable_in_time(const char *first, const char *second)
{
	static const struct rlimit no_core = {0}, time_s = {READING_MAX_S, READING_MAX_S};
	regex_t compiled;
	int status;
	/* Without the handlers of fork(), which would make it a process of the library. Without a
	 * signal at its end, too: where the parent of this process had SIGCHLD ignored, the kernel
	 * would forget how it ended. */
	pid_t pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);

	if (pid == 0) {
		/* The processor's time ends it, whatever else the machine has to do. */
		if (setrlimit(RLIMIT_CORE, &no_core) || setrlimit(RLIMIT_CPU, &time_s))
			_exit(EXIT_FAILURE);
		/* What is wrong with them, the caller's own attempt tells. */
		(void)regcomp(&compiled, first, REG_EXTENDED | REG_NOSUB);
		(void)regcomp(&compiled, second, REG_EXTENDED | REG_NOSUB);
		_exit(EXIT_SUCCESS);
	}
	if (pid < 0)
		cannot_try(errno);
	while (waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			cannot_try(errno);
	return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

static int compile(struct node *n)
{
	int error = regcomp(&n->regex, n->regex_text[n->is_for_part], REG_EXTENDED | REG_NOSUB);

	n->matched_bytes = 0;
	return error;
}

static char *join_texts(const char *before, const char *text, const char *behind)
{
	char *joined = ptrc_cli_allocate(strlen(before) + strlen(text) + strlen(behind) + 1);

	stpcpy(stpcpy(stpcpy(joined, before), text), behind);
	return joined;
}

/*
 * If the expression does not begin with ^, the C library tries to match it from each byte of the
 * text on, which takes a time that grows by the square of the text. Therefore compiles it behind
 * what matches any bytes, all of it bound to the begin of the text: so the C library goes through
 * the text once. This does not do for an expression that has ^ itself, which the C library would
 * then find behind a line feed, too; unless the ^ binds all of it, it sees less of the text.
 *
 * $, \b and the like ask what follows. Where the text goes on behind the part that is looked at, the
 * C library is shown the next byte, too, and what matches has to leave it over.
 */
static int compile_first(struct node *n, const char *text)
{
	struct outline o = outline_of(text);
	const char *before = o.has_start_anchor ? "(" : "^([^a]|a)*(";
	regex_t alone;
	int error;

	n->regex_text[0] = join_texts(before, text, ")");
	n->regex_text[1] = join_texts(before, text, ")([^a]|a)");
	if (!are_readable_in_time(text, n->regex_text[1]))
		return REG_ESPACE;
	error = regcomp(&alone, text, REG_EXTENDED | REG_NOSUB);
	/* What is wrong with it alone is told; with the addition it might be something else. */
	if (error)
		return error;
	regfree(&alone);
	if (o.has_start_anchor && (o.has_alternative || *text != '^') &&
	    n->text_max > SQUARED_TEXT_MAX_BYTES)
		n->text_max = SQUARED_TEXT_MAX_BYTES;
	return compile(n);
}

/* Whether the expression has \1 to \9. POSIX does not have them in extended regular
 * expressions, and the time that the C library needs for them has no bound. */
static bool has_back_reference(const char *regex)
{
	for (const char *p = regex; *p; p++) {
		if (*p == '[')
			p = end_of_set(p);
		else if (*p == '\\' && p[1] && *++p >= '1' && *p <= '9')
			return true;
	}
	return false;
}

static void read_pattern(struct parser *p, struct node *n)
{
	struct operand *left = &n->operands[0];
	struct operand *pattern = &n->operands[1];
	const char *sign = p->token == REGEX_SIGN ? "=~" : "~";
	enum kind kind = p->token == REGEX_SIGN ? REGEX : GLOB;
	char reason[200];
	int error;

	next(p);
	if (p->token != STRING)
		refuse(p, p->token_at, "'%s' needs text in quotes behind it", sign);
	else
		read_operand(p, pattern, true);
	if (p->token == BAD)
		return;
	if (left->is_field && ptrc_field_is_number(&left->field)) {
		refuse(p, p->begin + left->at, "'%s' needs text, but '%s' is a number", sign,
		       ptrc_field_name(left->field.id));
		return;
	}
	if (pattern->literal.size > PATTERN_MAX_BYTES) {
		refuse(p, p->begin + pattern->at, "the pattern is too large");
		return;
	}
	n->states = kind == REGEX ? count_states(pattern->text) : pattern->literal.size + 1;
	n->text_max = WORK_MAX / n->states < TEXT_MAX_BYTES ? WORK_MAX / n->states : TEXT_MAX_BYTES;
	if (n->states > STATES_MAX) {
		refuse(p, p->begin + pattern->at, "the pattern is too large");
	} else if (kind == REGEX && outline_of(pattern->text).has_stray) {
		refuse(p, p->begin + pattern->at, "the pattern has a ')' without a '('");
	} else if (kind == REGEX && has_back_reference(pattern->text)) {
		refuse(p, p->begin + pattern->at, "back references (\\1) are not supported");
	} else if (kind == GLOB) {
		n->kind = GLOB;
	} else {
		error = compile_first(n, pattern->text);
		if (error == REG_ESPACE) {
			refuse(p, p->begin + pattern->at,
			       "the pattern takes too much time or memory to read");
		} else if (error) {
			regerror(error, NULL, reason, sizeof(reason));
			refuse(p, p->begin + pattern->at, "%s", reason);
		} else {
			n->kind = REGEX;
		}
	}
}

/* The operand that is the name of the event, or -1. */
static int name_operand(const struct node *n)
{
	for (int i = 0; i < 2; i++)
		if (n->operands[i].is_field && n->operands[i].field.id == PTRC_FIELD_EVENT)
			return i;
	return -1;
}

/* The name or the pattern that a node compares the name of the event with; null if it does not
 * do that. */
static const struct operand *wanted_name(const struct node *n)
{
	int i = name_operand(n);
	bool has_relation =
		n->kind == REGEX || n->kind == GLOB ||
		(n->kind == COMPARISON && (n->relation == EQUAL || n->relation == UNEQUAL));

	return has_relation && i >= 0 && n->operands[!i].text ? &n->operands[!i] : NULL;
}

static struct node *read_or(struct parser *);

static struct node *read_comparison(struct parser *p)
{
	struct node *n = make_node(TRUTH);

	if (++p->tests > TESTS_MAX) {
		refuse(p, p->token_at, "more than %d comparisons", (int)TESTS_MAX);
		return n;
	}
	read_operand(p, &n->operands[0], false);
	if (p->token == RELATION) {
		n->kind = COMPARISON;
		n->relation = p->relation;
		next(p);
		read_operand(p, &n->operands[1], true);
		check_operands(p, &n->operands[0], &n->operands[1]);
		check_operands(p, &n->operands[1], &n->operands[0]);
	} else if (p->token == REGEX_SIGN || p->token == GLOB_SIGN) {
		read_pattern(p, n);
	} else if (!n->operands[0].is_field) {
		refuse(p, p->token_at, "a comparison is missing: a value alone is no condition");
	}
	if (wanted_name(n)) {
		*p->names_end = n;
		p->names_end = &n->next_of_names;
	}
	return n;
}

static struct node *read_not(struct parser *p)
{
	struct node *n;

	/* Negation and parentheses, the two ways to nest, both pass here. */
	if (++p->depth > DEPTH_MAX)
		refuse(p, p->token_at, "'!' and '(' are nested deeper than %d", (int)DEPTH_MAX);
	if (p->token == NOT_SIGN) {
		n = make_node(NOT);
		next(p);
		n->children[0] = read_not(p);
	} else if (p->token == LEFT) {
		next(p);
		n = read_or(p);
		if (p->token == RIGHT)
			next(p);
		else
			refuse(p, p->token_at, "')' is missing");
	} else {
		n = read_comparison(p);
	}
	p->depth--;
	return n;
}

static struct node *join(enum kind kind, struct node *left, struct node *right)
{
	struct node *n = make_node(kind);

	n->children[0] = left;
	n->children[1] = right;
	return n;
}

static struct node *read_and(struct parser *p)
{
	struct node *n = read_not(p);

	while (p->token == AND_SIGN) {
		next(p);
		n = join(AND, n, read_not(p));
	}
	return n;
}

static struct node *read_or(struct parser *p)
{
	struct node *n = read_and(p);

	while (p->token == OR_SIGN) {
		next(p);
		n = join(OR, n, read_and(p));
	}
	return n;
}

struct ptrc_where *ptrc_where_parse(const char *text, const struct ptrc_layouts *layouts,
				    struct ptrc_cli_reason *why)
{
	struct parser p = {
		.begin = text,
		.at = text,
		.layouts = layouts,
		.why = why,
	};
	struct ptrc_where *w;
	struct node *root;

	p.names_end = &p.names;
	next(&p);
	root = read_or(&p);
	if (p.token != END)
		refuse(&p, p.token_at, "'&&' or '||' is missing before '%.20s'", p.token_at);
	free(p.string);
	if (p.token == BAD) {
		free_node(root);
		return NULL;
	}
	w = ptrc_cli_allocate(sizeof(*w));
	*w = (struct ptrc_where){.text = text, .layouts = layouts, .root = root, .names = p.names};
	return w;
}

struct ptrc_where *ptrc_where_again(const struct ptrc_where *w)
{
	struct ptrc_cli_reason why;

	return ptrc_where_parse(w->text, w->layouts, &why);
}

static bool has_source_field(const struct node *n)
{
	if (!n)
		return false;
	for (size_t i = 0; i < 2; i++)
		if ((n->operands[i].is_field && ptrc_field_is_of_source(n->operands[i].field.id)) ||
		    has_source_field(n->children[i]))
			return true;
	return false;
}

bool ptrc_where_has_source_field(const struct ptrc_where *w)
{
	return has_source_field(w->root);
}

/* The value of operand i as it is compared: bytes become the hexadecimal digits that JSON
 * shows for them. */
static const struct ptrc_value *evaluate(struct ptrc_where *w, const struct node *n, size_t i,
					 struct ptrc_view *view, struct ptrc_value *room)
{
	const struct operand *o = &n->operands[i];
	struct ptrc_buffer *b = &w->scratch[i];

	if (!o->is_field)
		return &o->literal;
	ptrc_view_get(view, &o->field, room);
	if (room->kind == PTRC_VALUE_BYTES) {
		b->used = 0;
		ptrc_buffer_hex_bytes(b, room->bytes, room->size);
		*room = (struct ptrc_value){
			.kind = PTRC_VALUE_TEXT, .bytes = b->bytes, .size = b->used};
	}
	return room;
}

static bool number_of(const struct operand *o, const struct ptrc_value *v, long double *number)
{
	if (o->is_field)
		return ptrc_value_number(v, number);
	*number = o->number;
	return o->has_number;
}

static bool whole_of(const struct operand *o, const struct ptrc_value *v, integer *number)
{
	if (!o->is_field) {
		*number = o->whole;
		return o->is_whole;
	}
	*number = v->kind == PTRC_VALUE_SIGNED ? (integer)v->i : (integer)v->u;
	return v->kind == PTRC_VALUE_SIGNED || v->kind == PTRC_VALUE_UNSIGNED ||
	       v->kind == PTRC_VALUE_HEX;
}

static int compare_texts(const struct ptrc_value *a, const struct ptrc_value *b)
{
	size_t size = a->size < b->size ? a->size : b->size;
	int order = size ? memcmp(a->bytes, b->bytes, size) : 0;

	if (order)
		return order;
	return (a->size > b->size) - (a->size < b->size);
}

static bool compare(struct ptrc_where *w, const struct node *n, struct ptrc_view *view)
{
	struct ptrc_value room[2];
	const struct ptrc_value *u = evaluate(w, n, 0, view, &room[0]);
	const struct ptrc_value *v = evaluate(w, n, 1, view, &room[1]);
	integer i;
	integer j;
	long double a;
	long double b;

	if (whole_of(&n->operands[0], u, &i) && whole_of(&n->operands[1], v, &j))
		return n->relation & (i < j ? BELOW : i == j ? EQUAL : ABOVE);
	if (u->kind == PTRC_VALUE_TEXT && v->kind == PTRC_VALUE_TEXT) {
		a = (long double)compare_texts(u, v);
		b = 0;
	} else if (!number_of(&n->operands[0], u, &a) || !number_of(&n->operands[1], v, &b)) {
		return false;
	}
	return n->relation & (a < b ? BELOW : a == b ? EQUAL : a > b ? ABOVE : UNORDERED);
}

static bool is_true(struct ptrc_where *w, const struct node *n, struct ptrc_view *view)
{
	struct ptrc_value room;
	const struct ptrc_value *v = evaluate(w, n, 0, view, &room);
	long double number;

	if (v->kind == PTRC_VALUE_TEXT)
		return v->size;
	return number_of(&n->operands[0], v, &number) && number != 0;
}

/* Copies the text to the second scratch buffer, with a null byte appended. The text itself
 * may be in the first one, which evaluate() uses. */
static const char *terminate(struct ptrc_where *w, const struct ptrc_value *v)
{
	struct ptrc_buffer *b = &w->scratch[1];

	b->used = 0;
	ptrc_buffer_bytes(b, v->bytes, v->size);
	ptrc_buffer_char(b, '\0');
	return b->bytes;
}

/* Matches the text, or its first part and the byte behind that, with the compiled expression, which
 * it compiles anew now and then: the C library adds to it what it has worked out, and forgets
 * nothing. */
static bool matches_regex(struct node *n, const char *text, size_t size, bool is_part)
{
	/* With REG_STARTEND null bytes in the text are ordinary bytes. */
	regmatch_t whole = {.rm_eo = (regoff_t)size};

	if ((n->matched_bytes + size > n->text_max && n->matched_bytes) ||
	    is_part != n->is_for_part) {
		n->is_for_part = is_part;
		regfree(&n->regex);
		if (compile(n))
			ptrc_cli_no_memory();
	}
	n->matched_bytes += size;
	return !regexec(&n->regex, text, 1, &whole, REG_STARTEND);
}

static bool matches(struct ptrc_where *w, struct node *n, struct ptrc_view *view)
{
	struct ptrc_value room;
	struct ptrc_value v = *evaluate(w, n, 0, view, &room);
	bool is_cut = v.size > n->text_max;
	bool is_match;
	const char *text;

	if (v.kind != PTRC_VALUE_TEXT)
		return false;
	if (is_cut)
		v.size = n->text_max + 1;
	text = terminate(w, &v);
	if (n->kind == GLOB)
		is_match = !is_cut && strlen(text) == v.size &&
			   ptrc_glob_matches(n->operands[1].text, text);
	else
		is_match = matches_regex(n, text, v.size, is_cut);
	if (is_cut && !is_match)
		w->cut_count++;
	return is_match;
}

static bool holds(struct ptrc_where *w, struct node *n, struct ptrc_view *view)
{
	switch (n->kind) {
	case OR:
		return holds(w, n->children[0], view) || holds(w, n->children[1], view);
	case AND:
		return holds(w, n->children[0], view) && holds(w, n->children[1], view);
	case NOT:
		return !holds(w, n->children[0], view);
	case TRUTH:
		return is_true(w, n, view);
	case COMPARISON:
		return compare(w, n, view);
	default:
		return matches(w, n, view);
	}
}

bool ptrc_where_holds(struct ptrc_where *w, struct ptrc_view *view)
{
	return holds(w, w->root, view);
}

uint64_t ptrc_where_cut_count(const struct ptrc_where *w)
{
	return w->cut_count;
}

void ptrc_where_add_cuts(struct ptrc_where *w, uint64_t count)
{
	w->cut_count += count;
}

void ptrc_where_forget_cuts(struct ptrc_where *w)
{
	w->cut_count = 0;
}

/* What an expression is for events of one name. The order is that of AND and OR. */
enum outlook {
	NEVER,
	PERHAPS,
	ALWAYS,
};

/* Whether a comparison of names holds for this name. */
static bool holds_for_name(struct node *n, const char *name, size_t size)
{
	const struct operand *wanted = wanted_name(n);
	bool is_it;

	if (n->kind == REGEX)
		is_it = matches_regex(n, name, size, false);
	else if (n->kind == GLOB)
		is_it = ptrc_glob_matches(wanted->text, name);
	else
		is_it = size == wanted->literal.size && !memcmp(name, wanted->text, size);
	n->has_name |= is_it;
	return is_it == !(n->kind == COMPARISON && n->relation == UNEQUAL);
}

/* Looks at all children, so that each comparison sees the name. */
static enum outlook look(struct node *n, const char *name, size_t size)
{
	enum outlook a;
	enum outlook b;

	if (n->kind == NOT)
		return ALWAYS - look(n->children[0], name, size);
	if (n->kind == OR || n->kind == AND) {
		a = look(n->children[0], name, size);
		b = look(n->children[1], name, size);
		return (n->kind == OR) == (a > b) ? a : b;
	}
	if (!wanted_name(n))
		return PERHAPS;
	return holds_for_name(n, name, size) ? ALWAYS : NEVER;
}

bool ptrc_where_try_name(struct ptrc_where *w, const char *name, size_t size)
{
	return look(w->root, name, size) != NEVER;
}

/* Whether an expression in front of this one has the same in vain. */
static bool is_repeated(const struct ptrc_where *w, const struct node *n)
{
	for (const struct node *m = w->names; m != n; m = m->next_of_names)
		if (!m->has_name && m->kind == n->kind &&
		    !strcmp(wanted_name(m)->text, wanted_name(n)->text))
			return true;
	return false;
}

const char *ptrc_where_next_missing(const struct ptrc_where *w, const void **place, bool *is_name)
{
	const struct node *n = *place ? ((const struct node *)*place)->next_of_names : w->names;
	const char *text;

	while (n && (n->has_name || is_repeated(w, n)))
		n = n->next_of_names;
	*place = n;
	if (!n)
		return NULL;
	text = wanted_name(n)->text;
	*is_name =
		n->kind == COMPARISON || !strpbrk(text, n->kind == GLOB ? "*?[\\" : "*?[\\^$+(|{");
	return text;
}

void ptrc_where_free(struct ptrc_where *w)
{
	free_node(w->root);
	ptrc_buffer_free(&w->scratch[0]);
	ptrc_buffer_free(&w->scratch[1]);
	free(w);
}
