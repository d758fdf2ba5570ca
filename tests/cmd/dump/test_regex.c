/* SPDX-License-Identifier: MIT */
/* Regular expressions, compared with those of the C library. */
#include "config.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "src/fields/regex.h"
#include "tests/support/harness.h"

/* What the C library says of a text: REG_NOERROR, REG_NOMATCH, or that the pattern is wrong. */
static int library_says(const char *pattern, const char *text, size_t size)
{
	/* With REG_STARTEND a null byte is a byte as any other one. */
	regmatch_t all = {.rm_eo = (regoff_t)size};
	regex_t r;
	int error = regcomp(&r, pattern, REG_EXTENDED | REG_NOSUB);

	if (error)
		return error;
	error = regexec(&r, text, 1, &all, REG_STARTEND);
	regfree(&r);
	return error;
}

/* Fails unless both match the text, or neither does, or both refuse the pattern. */
static void compare(const char *pattern, const char *text, size_t size)
{
	int expected = library_says(pattern, text, size);
	struct ptrc_cli_reason why;
	struct ptrc_regex *x = ptrc_regex_make(pattern, &why);

	/* It means itself to the C library; to POSIX it means nothing, and to a user it is a mistake. */
	if (!x && strstr(why.text, "')' has no '('"))
		return;
	if (!x && (expected == REG_NOERROR || expected == REG_NOMATCH))
		harness_fail("%s was refused: %s", pattern, why.text);
	if (x && expected != REG_NOERROR && expected != REG_NOMATCH)
		harness_fail("%s was taken", pattern);
	if (x && ptrc_regex_match(x, text, size) != (expected == REG_NOERROR ? PTRC_YES : PTRC_NO))
		harness_fail("%s does not match '%s' as in the C library: %d", pattern, text,
			     expected);
	ptrc_regex_free(x);
}

TEST(patterns_are_taken_and_refused_as_by_the_c_library, "")
{
	/* clang-format off */
	static const char *const patterns[] = {
		"", "a", ".", "()", "(|a)b", "a||b", "a|", "|", "(a|b)*c", "((a|b)|c)+", "^a", "a$",
		"^$", "a^b", "a$b", "(^|x)b", "(a|x$)", "b(a|$)", "a**", "a*+", "a+?", "a??",
		"a++b", "a?+", "a*?b", "a?*b", "(a|b)+?c", "a{2}", "a{2}{3}", "a{2}+b", "a{1,2}?b",
		"a+{2}", "a*{2}b", "a{,2}b", "a{,}", "a{1,}", "a{2,}b", "a{0}b", "a{0,0}*b",
		"(a|b){1,}c", "(ab){2,3}", "(a{1,2}){2}", "a{32767}", "a{32768}", "a{", "a{1",
		"a{1,", "a{x}", "a{1,x}", "a{ 1}", "a{}", "a{2,1}", "{1}", "a|{1}", "({1})", "*a",
		"+a", "?a", "(*a)", "(+a)", "a|*b", "^*", "^+a", "$*", "(^)*a", "(^){2}a", "\\b+",
		"(?i)a", "(?:a)", "(?=a)", "(?#a)", "(*UTF)a", "(*COMMIT)a", "(*ANYCRLF)a", "(",
		"a(b", "((a)", "}", "a}", "]", "a]b", "[ab]", "[^ab]", "[]a]", "[^]a]", "[a-c]",
		"[c-a]", "[a-]", "[-a]", "[%--]", "[--a]", "[a-c-e]", "[a-c-]", "[-]", "[^-]", "[a",
		"[", "[]", "[^]", "[^", "[a-", "[[]", "[[a]", "[[.a.]-c]", "[[.-.]-a]", "[a-[.c.]]",
		"[[.].]]", "[[.ab.]]", "[[.space.]]", "[[..]]", "[[=a=]b]", "[[=a=]-c]",
		"[a-[=c=]]", "[[=]=]]", "[[=ab=]]", "[[:alpha:]]", "[^[:space:]]",
		"[[:alpha:][:digit:]_]", "[[:alpha:]-z]", "[[:alpha:]-]", "[a-[:digit:]]",
		"[[:word:]]", "[[:ascii:]]", "[[:^alpha:]]", "[[:<:]]a", "[[::]]", "[[:al:]]",
		"[[: alpha:]]", "[[:alpha", "[[:", "[[.", "[[=", "[[:]", "[:alpha:]", "[\\d]",
		"[\\]", "[a\\]", "[\\n]", "[\\Qa\\E]", "\\.", "\\(a\\)", "\\*", "\\{1}",
		"a\\|b", "\\[a]", "\\\\", "\\/", "\\", "a\\", "\\w", "\\W", "\\s", "\\S", "\\w+\\W",
		"\\ba", "a\\b", "\\Ba", "a\\B", "\\B", "\\<a", "a\\>", "\\>", "\\`a", "a\\'", "#",
		"a # b", "/", "-", "&&", "~", "\xe4", "[\xe0-\xef]", "[^\xe4]", "a\nb", "a.b",
		"[^a]b",
	};
	static const char *const texts[] = {
		"", "a", "b", "ab", "aab", "aaab", "aaaaaa", "ba", "abc", "xab", "x b", "c", "d",
		"D", "A", "z", "-", "]", "[", "\\", ".", "*", "{1}", "(a)", "a|b", "a # b", "/",
		"&&", "~", "_", " ", "\t", "n", "Qa", "x41", "5", "a\nb", "\xe4", "\xc3\xa4", "%",
		"=", "[a]", "alpha:",
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++) {
			/* Behind a line feed, and in front of one, the C library matches ^ and $ in some
			 * places in a pattern, against POSIX. */
			if (strpbrk(patterns[i], "^$") && strchr(texts[k], '\n'))
				continue;
			compare(patterns[i], texts[k], strlen(texts[k]));
		}
		compare(patterns[i], "a\0b", 3);
	}
}

/* A text of up to eight of these pieces. */
static void make_text(char *text, const char *const *pieces, size_t count)
{
	*text = '\0';
	for (uint64_t n = harness_draw(9); n; n--)
		strcat(text, pieces[harness_draw(count)]);
}

TEST(random_patterns_match_as_those_of_the_c_library, "")
{
	/* clang-format off */
	static const char *const of_pattern[] = {
		"a", "b", "x", "_", " ", ".", "(", ")", "|", "*", "+", "?", "{2}", "{0,1}", "{,2}",
		"{1,}", "{0}", "{1", "{", "}", "[ab]", "[^a]", "[]x]", "[^]a]", "[[:alpha:]]",
		"[[:space:]_]", "[[:foo:]]", "[a-c]", "[c-a]", "[a-", "[%--]", "[[.a.]-c]",
		"[[=a=]b]", "[", "]", "[[:", "[\\d]", "\\.", "\\(", "\\w", "\\W", "\\s", "\\S",
		"\\b", "\\B", "\\<", "\\>", "\\`", "\\'", "(a|b)", "(ab)*", "(x+x+)+", "()", "\n",
		"-", ":]", "(?i)", "(*UTF)", "\xe4", "[\xe0-\xef]", "#",
	};
	/* clang-format on */
	static const char *const of_text[] = {
		"a", "b", "x",	"_", " ", "ab", "*", "\\",   "[", "]",
		".", "(", "\n", "-", "d", "A",	"4", "\xe4", "#",
	};
	char pattern[210], inner[200], text[200];

	for (int i = 0; i < 20000; i++) {
		bool is_end = !harness_draw(6), is_begin = !harness_draw(6);
		char *at;

		make_text(inner, of_pattern, sizeof(of_pattern) / sizeof(*of_pattern));
		snprintf(pattern, sizeof(pattern), "%s%s%s", is_begin ? "^" : "", inner,
			 is_end ? "$" : "");
		make_text(text, of_text, sizeof(of_text) / sizeof(*of_text));
		at = strchr(text, '\n');
		if ((is_begin || is_end) && at)
			*at = 'n';
		compare(pattern, text, strlen(text));
	}
}

TEST(back_references_perl_s_escapes_and_stray_parentheses_are_refused, "")
{
	static const struct {
		const char *pattern, *reason;
	} cases[] = {
		{"(a)\\1",
		 "back references (\\1) are not supported, at character 4 of the pattern"},
		{"[^]a](a)[\\1]\\9",
		 "back references (\\1) are not supported, at character 13 of the pattern"},
		{"[\\d]\\d", "'\\d' has no meaning, at character 5 of the pattern"},
		{"a\\0", "'\\0' has no meaning, at character 2 of the pattern"},
		{"\\Qa\\E", "'\\Q' has no meaning, at character 1 of the pattern"},
		{"a)b", "')' has no '(', at character 2 of the pattern"},
		{"(a(b)", "'(' has no ')', at character 1 of the pattern"},
		{"ab(?i)", "'?' has nothing to repeat, at character 4 of the pattern"},
		{"x[a-", "'[' has no ']', at character 2 of the pattern"},
		{"[[:word:]]",
		 "'[:word:]' is no class of characters, at character 2 of the pattern"},
		{"(((a{99}){99}){99}){99}", "the pattern is too large"},
	};
	struct ptrc_cli_reason why;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		CHECK(!ptrc_regex_make(cases[i].pattern, &why));
		CHECK_STR_EQ(why.text, cases[i].reason);
	}
}

static enum ptrc_answer match_long(const char *pattern, char c, size_t size, char last)
{
	struct ptrc_cli_reason why;
	struct ptrc_regex *x = ptrc_regex_make(pattern, &why);
	char *text = malloc(size + 1);
	enum ptrc_answer answer;

	CHECK(x && text);
	memset(text, c, size);
	text[size] = last;
	answer = ptrc_regex_match(x, text, size + 1);
	ptrc_regex_free(x);
	free(text);
	return answer;
}

TEST(long_texts_are_matched_in_a_bounded_time, "")
{
	static const char *const patterns[] = {
		"x+[yz]",	   "x*y",	 "(x+x+)+[yz]", "((x*)*)*z",
		"^(x|xx|a)*[yz]$", "x.*x.*[yz]", "(x|y|z){3}$", "(\\<|x|\\>)*[yz]\\>",
	};
	static const size_t sizes[] = {30, 3000, 30000, 1 << 20};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
			char last = strchr(patterns[i], 'z') ? 'z' : 'y';

			CHECK_EQ(match_long(patterns[i], 'x', sizes[k], last), PTRC_YES);
			CHECK_EQ(match_long(patterns[i], 'x', sizes[k], '-'), PTRC_NO);
		}
}

TEST(what_would_take_too_long_is_undecided, "")
{
	CHECK_EQ(match_long("(x|a)*x(x|a){9}[yz]", 'x', 100, '-'), PTRC_NO);
	CHECK_EQ(match_long("(x|a)*x(x|a){500}[yz]", 'x', 100000, '-'), PTRC_UNDECIDED);
	CHECK_EQ(match_long("((x?){30}){15}[yz]", 'x', 3000, '-'), PTRC_UNDECIDED);
}
