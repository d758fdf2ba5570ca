/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/fields/regex.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "src/base/buffer.h"

enum {
	/* The greatest count in braces, such as x{1,5}; the C library has the same limit. */
	COUNT_MAX = 32767,
	/* The greatest depth of nested groups in a pattern. PCRE2 allows 250, but that includes
	 * groups that the translation adds. */
	GROUPS_MAX = 200,
	/* Matching by backtracking starts at each byte of the text; each start may make several calls, and
	 * each call may scan the text. BACKTRACK_WORK limits the product of starts, calls and bytes, so that
	 * a match takes less than a second. Longer texts than BACKTRACK_TEXT_MAX are left to search(). */
	BACKTRACK_TEXT_MAX = 4096,
	BACKTRACK_CALLS_MAX = 1000,
	BACKTRACK_WORK = 1 << 28,
	HEAP_MAX_KIB = 16384,
	STATES_MAX = 4096,
	/* The number of integers that search() needs: two sets of states, with three integers for each state,
	 * and two more. */
	WORKSPACE = 6 * STATES_MAX + 2,
};

/* At each byte, search() compares each of its states with all others. states_work limits the number of these
 * comparisons, so that a search takes less than a second. */
static const size_t states_work = (size_t)1 << 32;

struct ptrc_regex {
	/* The pattern compiled for matching by backtracking, which starts at each byte of the text. */
	pcre2_code *backtracking;
	/* The pattern compiled for matching by a search that reads the text once (pcre2_dfa_match()). */
	pcre2_code *searching;
	pcre2_match_data *match;
	pcre2_match_context *limits;
	int workspace[WORKSPACE];
};

/* ---- from POSIX to PCRE2 ----
 *
 * PCRE2's own converter, pcre2_pattern_convert(), cannot be used: it does not know {,3} and \<, and it leaves (?i),
 * (*UTF) and a++ unchanged, although they have another meaning in PCRE2. */

struct reader {
	const char *begin;
	const char *at;
	struct ptrc_buffer out;
	/* The atom to which a repetition would apply, if there is one: its offset in `out`, and whether it is a
	 * group. */
	bool has_atom, is_group;
	size_t atom;
	/* The repetition that the atom already has, '*', '+', '?', '{', or 0 for none; and the size of the atom
	 * without that repetition. */
	char repetition;
	size_t atom_size;
	/* The groups that are open: where each starts in `out` and in the pattern. */
	size_t starts[GROUPS_MAX];
	const char *parentheses[GROUPS_MAX];
	size_t depth;
	struct ptrc_cli_reason *why;
};

static bool __attribute__((format(printf, 3, 4)))
refuse(struct reader *r, const char *at, const char *format, ...)
{
	char reason[100];
	va_list values;

	va_start(values, format);
	vsnprintf(reason, sizeof(reason), format, values);
	va_end(values);
	return ptrc_cli_because(r->why, "%s, at character %zu of the pattern", reason,
				(size_t)(at - r->begin) + 1);
}

static void begin_atom(struct reader *r)
{
	r->has_atom = true;
	r->is_group = false;
	r->atom = r->out.used;
	r->repetition = 0;
}

static void end_atom(struct reader *r)
{
	r->has_atom = false;
	r->repetition = 0;
}

static void put_literal(struct reader *r, char c)
{
	begin_atom(r);
	if (ispunct((unsigned char)c))
		ptrc_buffer_char(&r->out, '\\');
	ptrc_buffer_char(&r->out, c);
}

/* ---- sets ---- */

enum element {
	/* A byte x, or [.x.], which means the same. */
	BYTE,
	/* [=x=], which is the byte x, but cannot be an end of a range. */
	EQUIVALENT,
	/* A class such as [:alpha:]. */
	CLASS,
	WRONG,
};

static bool is_class(const char *name, size_t size)
{
	static const char names[] =
		" alnum alpha blank cntrl digit graph lower print punct space upper xdigit ";
	char word[40];

	snprintf(word, sizeof(word), " %.*s ", (int)size, name);
	return strstr(names, word);
}

/* Reads an element such as [:name:], [.x.] or [=x=] of a bracket expression. */
static enum element read_symbol(struct reader *r, const char **name, size_t *size)
{
	const char *begin = r->at;
	char end[] = {begin[1], ']', '\0'};
	const char *close = begin[2] ? strstr(begin + 3, end) : NULL;

	if (begin[2] == end[0] && begin[3] == ']')
		close = begin + 2;
	/* No name of a class or character is longer than 30 bytes. */
	if (!close || close - begin > 30) {
		refuse(r, begin, "'[%c' has no '%s'", end[0], end);
		return WRONG;
	}
	*name = begin + 2;
	*size = (size_t)(close - *name);
	r->at = close + 2;
	if (*end == ':' ? is_class(*name, *size) : *size == 1)
		return *end == ':' ? CLASS : *end == '=' ? EQUIVALENT : BYTE;
	refuse(r, begin, "'%.*s' is no %s", (int)(r->at - begin), begin,
	       *end == ':' ? "class of characters" : "character");
	return WRONG;
}

static enum element read_element(struct reader *r, const char **name, size_t *size)
{
	if (*r->at == '[' && r->at[1] && strchr(".=:", r->at[1]))
		return read_symbol(r, name, size);
	*name = r->at++;
	*size = 1;
	return BYTE;
}

/* Reads a single element or a range of a set, and appends it to `out`. */
static bool read_range(struct reader *r, bool is_first)
{
	const char *at = r->at;
	const char *low, *high;
	size_t size;
	enum element element;

	if (*at == '-' && !is_first && at[1] && at[1] != ']')
		return refuse(r, at, "'-' stands neither in a range nor first or last");
	element = read_element(r, &low, &size);
	if (element == WRONG)
		return false;
	if (element == CLASS) {
		ptrc_buffer_format(&r->out, "[:%.*s:]", (int)size, low);
		return true;
	}
	ptrc_buffer_format(&r->out, "\\x%02x", (unsigned char)*low);
	if (element == EQUIVALENT || *r->at != '-' || !r->at[1] || r->at[1] == ']')
		return true;
	r->at++;
	element = read_element(r, &high, &size);
	if (element == WRONG)
		return false;
	if (element != BYTE || (unsigned char)*high < (unsigned char)*low)
		return refuse(r, at, "the range ends before it begins, or not at a character");
	ptrc_buffer_format(&r->out, "-\\x%02x", (unsigned char)*high);
	return true;
}

static bool read_set(struct reader *r)
{
	const char *begin = r->at++;
	bool is_first = true;

	begin_atom(r);
	ptrc_buffer_char(&r->out, '[');
	if (*r->at == '^')
		ptrc_buffer_char(&r->out, *r->at++);
	for (; *r->at && (is_first || *r->at != ']'); is_first = false)
		if (!read_range(r, is_first))
			return false;
	if (!*r->at++)
		return refuse(r, begin, "'[' has no ']'");
	ptrc_buffer_char(&r->out, ']');
	return true;
}

/* ---- repetitions ---- */

/* Puts a group around the atom and its repetition. PCRE2 would refuse x{2}{3}, and would give x{2}+ another
 * meaning. */
static void group_atom(struct reader *r)
{
	size_t size = r->out.used - r->atom;
	char *atom = ptrc_buffer_room(&r->out, 4) - size;

	memmove(atom + 3, atom, size);
	memcpy(atom, "(?:", 3);
	r->out.used += 3;
	ptrc_buffer_char(&r->out, ')');
	r->is_group = true;
}

static void put_repetition(struct reader *r, char sign)
{
	if (r->repetition == '{')
		group_atom(r);
	/* Two repetitions of an atom become one: x** is x*, x++ is x+, x?? is x?; any other two are x*. */
	if (r->repetition && r->repetition != '{') {
		sign = r->repetition == sign ? sign : '*';
		r->out.used = r->atom + r->atom_size;
	}
	r->atom_size = r->out.used - r->atom;
	r->repetition = sign;
	/* Writes x+ as xx*. For x+, the search would keep one state for each number of x that it has seen. */
	if (sign == '+' && !r->is_group) {
		ptrc_buffer_room(&r->out, r->atom_size);
		ptrc_buffer_bytes(&r->out, r->out.bytes + r->atom, r->atom_size);
		sign = '*';
	}
	ptrc_buffer_char(&r->out, sign);
}

/* Reads a number. Returns -1 if the pattern has no number here. */
static long read_count(struct reader *r)
{
	long count = isdigit((unsigned char)*r->at) ? 0 : -1;

	for (; isdigit((unsigned char)*r->at); r->at++)
		count = count > COUNT_MAX ? count : 10 * count + *r->at - '0';
	return count;
}

static bool read_counts(struct reader *r)
{
	const char *begin = r->at++;
	long low, high;

	high = low = read_count(r);
	if (*r->at == ',') {
		r->at++;
		high = read_count(r);
		low = low < 0 ? 0 : low;
	}
	if (*r->at++ != '}' || low < 0 || (high >= 0 && high < low))
		return refuse(r, begin, "'{' needs counts after it, such as {2} or {2,5}");
	if (low > COUNT_MAX || high > COUNT_MAX)
		return refuse(r, begin, "a count is larger than %d", (int)COUNT_MAX);
	if (low < 2 && high < 0) {
		put_repetition(r, low ? '+' : '*');
		return true;
	}
	if (r->repetition)
		group_atom(r);
	ptrc_buffer_format(&r->out, high < 0 ? "{%ld,}" : "{%ld,%ld}", low, high);
	r->repetition = '{';
	return true;
}

/* ---- the pattern ---- */

static bool read_escape(struct reader *r)
{
	static const struct {
		char letter;
		bool is_atom;
		char text[12];
	} escapes[] = {
		{'w', true, "\\w"},	    {'W', true, "\\W"},		 {'s', true, "\\s"},
		{'S', true, "\\S"},	    {'b', false, "\\b"},	 {'B', false, "\\B"},
		{'<', false, "\\b(?=\\w)"}, {'>', false, "\\b(?<=\\w)"}, {'`', false, "\\A"},
		{'\'', false, "\\z"},
	};
	char c = r->at[1];

	if (!c)
		return refuse(r, r->at, "a backslash is the last character");
	if (c >= '1' && c <= '9')
		return refuse(r, r->at, "back references (\\1) are not supported");
	r->at += 2;
	for (size_t i = 0; i < sizeof(escapes) / sizeof(*escapes); i++) {
		if (escapes[i].letter != c)
			continue;
		begin_atom(r);
		r->has_atom = escapes[i].is_atom;
		ptrc_buffer_text(&r->out, escapes[i].text);
		return true;
	}
	if (isalnum((unsigned char)c))
		return refuse(r, r->at - 2, "'\\%c' has no meaning", c);
	put_literal(r, c);
	return true;
}

static bool open_group(struct reader *r)
{
	if (r->depth == GROUPS_MAX)
		return refuse(r, r->at, "groups are nested deeper than %d", (int)GROUPS_MAX);
	r->starts[r->depth] = r->out.used;
	r->parentheses[r->depth++] = r->at++;
	ptrc_buffer_text(&r->out, "(?:");
	end_atom(r);
	return true;
}

static bool close_group(struct reader *r)
{
	if (!r->depth)
		return refuse(r, r->at, "')' has no '('");
	r->at++;
	ptrc_buffer_char(&r->out, ')');
	begin_atom(r);
	r->is_group = true;
	r->atom = r->starts[--r->depth];
	return true;
}

static bool read_next(struct reader *r)
{
	switch (*r->at) {
	case '[':
		return read_set(r);
	case '\\':
		return read_escape(r);
	case '(':
		return open_group(r);
	case ')':
		return close_group(r);
	case '*':
	case '+':
	case '?':
	case '{':
		if (!r->has_atom)
			return refuse(r, r->at, "'%c' has nothing to repeat", *r->at);
		if (*r->at == '{')
			return read_counts(r);
		put_repetition(r, *r->at++);
		return true;
	case '|':
	case '^':
	case '$':
		end_atom(r);
		ptrc_buffer_char(&r->out, *r->at++);
		return true;
	case '.':
		begin_atom(r);
		ptrc_buffer_char(&r->out, *r->at++);
		return true;
	default:
		put_literal(r, *r->at++);
		return true;
	}
}

static bool translate(struct reader *r)
{
	while (*r->at)
		if (!read_next(r))
			return false;
	return !r->depth || refuse(r, r->parentheses[r->depth - 1], "'(' has no ')'");
}

/* ---- matches ---- */

static pcre2_code *compile(const struct ptrc_buffer *pattern, uint32_t options,
			   struct ptrc_cli_reason *why)
{
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	pcre2_code *code;
	PCRE2_SIZE at;
	int error;

	if (!context)
		ptrc_cli_no_memory();
	/* In PCRE2, a dot matches every byte except a newline; in the C library, every byte except the null byte.
	 * So PCRE2 is told that the null byte is the newline. */
	pcre2_set_newline(context, PCRE2_NEWLINE_NUL);
	code = pcre2_compile((PCRE2_SPTR)pattern->bytes, pattern->used,
			     options | PCRE2_DOLLAR_ENDONLY, &error, &at, context);
	pcre2_compile_context_free(context);
	if (!code)
		ptrc_cli_because(why, "the pattern is too large");
	return code;
}

static bool compile_both(struct ptrc_regex *x, const struct ptrc_buffer *pattern,
			 struct ptrc_cli_reason *why)
{
	PTRC_SCOPED_BUFFER all = PTRC_BUFFER_INIT;

	ptrc_buffer_text(&all, "(?s:.*)(?:");
	ptrc_buffer_bytes(&all, pattern->bytes, pattern->used);
	ptrc_buffer_char(&all, ')');
	x->backtracking = compile(pattern, 0, why);
	x->searching = x->backtracking ? compile(&all, PCRE2_ANCHORED, why) : NULL;
	return x->searching;
}

struct ptrc_regex *ptrc_regex_make(const char *pattern, struct ptrc_cli_reason *why)
{
	struct reader r = {.begin = pattern, .at = pattern, .why = why};
	struct ptrc_regex *x = ptrc_cli_allocate(sizeof(*x));
	bool is_right;

	memset(x, 0, offsetof(struct ptrc_regex, workspace));
	ptrc_buffer_room(&r.out, 1);
	is_right = translate(&r) && compile_both(x, &r.out, why);
	ptrc_buffer_free(&r.out);
	if (!is_right) {
		ptrc_regex_free(x);
		return NULL;
	}
	/* If the just-in-time compiler is not available, PCRE2 interprets the pattern. */
	(void)pcre2_jit_compile(x->backtracking, PCRE2_JIT_COMPLETE);
	x->match = pcre2_match_data_create(1, NULL);
	x->limits = pcre2_match_context_create(NULL);
	if (!x->match || !x->limits)
		ptrc_cli_no_memory();
	pcre2_set_heap_limit(x->limits, HEAP_MAX_KIB);
	pcre2_set_depth_limit(x->limits, BACKTRACK_CALLS_MAX);
	return x;
}

/* Matches by reading the text once. Returns an error of PCRE2 if that would need too many states at once. */
static int search(struct ptrc_regex *x, PCRE2_SPTR text, size_t size)
{
	size_t states = STATES_MAX;

	/* The match limit counts calls. The search makes calls only for \< and \>, each of which looks at one
	 * byte, so it needs no limit. */
	pcre2_set_match_limit(x->limits, UINT32_MAX);
	while (states * states > states_work / (size + 1))
		states /= 2;
	return pcre2_dfa_match(x->searching, text, size, 0, PCRE2_DFA_SHORTEST, x->match, x->limits,
			       x->workspace, 6 * states + 2);
}

enum ptrc_answer ptrc_regex_match(struct ptrc_regex *x, const char *text, size_t size)
{
	PCRE2_SPTR begin = (PCRE2_SPTR)(size ? text : "");
	int answer = PCRE2_ERROR_MATCHLIMIT;
	size_t calls;

	if (size <= BACKTRACK_TEXT_MAX) {
		calls = BACKTRACK_WORK / (size * size + 1);
		pcre2_set_match_limit(x->limits, calls < BACKTRACK_CALLS_MAX ? (uint32_t)calls
									     : BACKTRACK_CALLS_MAX);
		answer = pcre2_match(x->backtracking, begin, size, 0, 0, x->match, x->limits);
	}
	if (answer < 0 && answer != PCRE2_ERROR_NOMATCH)
		answer = search(x, begin, size);
	return answer >= 0 ? PTRC_YES : answer == PCRE2_ERROR_NOMATCH ? PTRC_NO : PTRC_UNDECIDED;
}

void ptrc_regex_free(struct ptrc_regex *x)
{
	if (!x)
		return;
	pcre2_code_free(x->backtracking);
	pcre2_code_free(x->searching);
	pcre2_match_data_free(x->match);
	pcre2_match_context_free(x->limits);
	free(x);
}
