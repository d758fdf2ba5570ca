/* SPDX-License-Identifier: MIT */
/* What rules come to: each kind, with events that were made up. */
#include "config.h"

#include <ctype.h>
#include <stdlib.h>

#include "tests/support/harness.h"

#include "src/check/judge.h"

enum { FIRST_ID = POSIX_TRACE_UNNAMED_USEREVENT + 1, SOURCES = 3 };

static struct ptrc_reader reader;
static struct ptrc_view view;
static struct ptrc_layouts layouts;
static struct ptrc_rules rules;
static struct ptrc_judge judge;
/* By event type. */
static struct ptrc_type types[PTRC_READER_IDS], *type_list[PTRC_READER_IDS];
static struct ptrc_roles *roles[PTRC_READER_IDS];

static trace_event_id_t system_id(char event)
{
	return event == 'S' || event == 'P' ? POSIX_TRACE_STOP
	       : event == 'G'		    ? POSIX_TRACE_START
	       : event == 'O'		    ? POSIX_TRACE_OVERFLOW
					    : POSIX_TRACE_RESUME;
}

/* An event type has this name. */
static void add_type(trace_event_id_t id, const char *name)
{
	types[id] = (struct ptrc_type){.name = {.is_known = true, .size = strlen(name)}};
	strcpy(types[id].name.text, name);
	type_list[id] = &types[id];
	roles[id] = ptrc_judge_find_roles(&judge, name);
}

/* A rule, from a mapping in YAML. */
static void begin(const char *rule)
{
	static char text[1000];

	memset(&reader, 0, sizeof(reader));
	view = (struct ptrc_view){.reader = &reader};
	layouts = (struct ptrc_layouts){0};
	rules = (struct ptrc_rules){.tolerance_ns = PTRC_RULE_TOLERANCE, .layouts = &layouts};
	snprintf(text, sizeof(text), "decode: {'[a-y]': u32 id}\nrules: [{%s}]\n", rule);
	ptrc_rules_parse(&rules, "test", text, strlen(text));
	ptrc_rules_bind(&rules);
	ptrc_judge_begin(&judge, &rules, SOURCES);
	reader.types = type_list;
	for (char c = 'a'; c <= 'z'; c++)
		add_type((trace_event_id_t)(FIRST_ID + c - 'a'), (char[]){c, '\0'});
	add_type(POSIX_TRACE_STOP, "posix_trace_stop");
	add_type(POSIX_TRACE_START, "posix_trace_start");
	add_type(POSIX_TRACE_OVERFLOW, "posix_trace_overflow");
	add_type(POSIX_TRACE_RESUME, "posix_trace_resume");
}

/*
 * Takes events: a letter, the event; perhaps a digit, its key; perhaps / and a digit, its thread,
 * which is 1 otherwise; perhaps # and a digit, its log; perhaps ~ if its data was cut, or _ if it has too
 * little of it; @ and a time in microseconds. ! is a place where events were lost; . is an event that no
 * rule is about, such as the last one. z is an event that lacks the key. S is the stop of a full stream,
 * P the stop by a call, G the start behind either, O an overflow, R the resume behind it. X is the
 * last event of a log that has no end. U, which comes first, is the end of the selected time.
 */
static void take(const char *script)
{
	static const struct ptrc_roles none;

	script += *script == ' ';
	while (*script && *script != '=' && !isalpha(script[1])) {
		char event = *script++;
		uint32_t key = 0;
		unsigned int source = 0;
		int reason = 1;
		pid_t tid = 1;
		char loss = '\0';
		int64_t ns;

		if (*script >= '0' && *script <= '9')
			key = (uint32_t)(*script++ - '0');
		if (*script == '/') {
			tid = script[1] - '0';
			script += 2;
		}
		if (*script == '#') {
			source = (unsigned int)(script[1] - '0');
			script += 2;
		}
		if (*script == '~' || *script == '_')
			loss = *script++;
		CHECK_EQ(*script, '@');
		ns = (int64_t)(strtod(script + 1, (char **)(uintptr_t)&script) * 1000);
		script += *script == ' ';
		if (event == 'U') {
			judge.ending.last_ns = ns;
			continue;
		}
		if (!judge.ending.start_ns)
			judge.ending.start_ns = ns;
		judge.ending.ns = ns < judge.ending.last_ns ? ns : judge.ending.last_ns;
		if (event == '!')
			ptrc_judge_take_gap(&judge, ns, source);
		if (event == 'X') {
			ptrc_judge_take_early_end(&judge, ns, source);
			judge.ending.is_unclosed = true;
		}
		if (event == '!' || event == '.' || event == 'X')
			continue;
		reader.event = (struct posix_trace_event_info){
			.posix_event_id = event < 'a' ? system_id(event)
						      : (trace_event_id_t)(FIRST_ID + event - 'a'),
			.posix_pid = 100,
			.posix_tid = tid,
			.posix_timestamp = {ns / 1000000000, ns % 1000000000},
			.posix_truncation_status = loss == '~' ? POSIX_TRACE_TRUNCATED_RECORD
							       : POSIX_TRACE_NOT_TRUNCATED,
		};
		reader.data = (unsigned char *)&key;
		reader.size = event == 'z' ? 0 : loss ? 2 : sizeof(key);
		if (event == 'S')
			reader.data = (unsigned char *)&reason;
		ptrc_view_find_layout(&view, rules.layouts);
		ptrc_judge_take(&judge,
				ns > judge.ending.last_ns ? &none
							  : roles[reader.event.posix_event_id],
				&view, source);
	}
}

static void free_all(void)
{
	ptrc_judge_free(&judge);
	for (size_t i = 0; i < PTRC_READER_IDS; i++)
		free(roles[i]);
	free(view.decoded.values);
	view.decoded.values = NULL;
	ptrc_layouts_free(rules.layouts);
	free(rules.list);
}

/* How many the rule has counted, as a text that stays until the next call. */
static const char *counts(void)
{
	static char text[100];
	struct ptrc_trial *t = &judge.trials[0];

	ptrc_judge_end(&judge);
	snprintf(text, sizeof(text), "%d kept, %d broken, %d doubtful, %d open", (int)t->kept,
		 (int)t->broken, (int)t->doubtful, (int)t->open);
	free_all();
	return text;
}

/* The verdict and its reason, as a text that stays until the next call. */
static const char *end(void)
{
	static const char *const words[] = {"pass", "fail", "undecided"};
	static char text[500];
	struct ptrc_trial *t = &judge.trials[0];

	ptrc_judge_end(&judge);
	snprintf(text, sizeof(text), "%s: %s", words[t->verdict], t->reason);
	for (size_t i = 0; i < ptrc_trial_cases(t)->count; i++) {
		const struct ptrc_case *c = &ptrc_trial_cases(t)->list[i];
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, " | %g %s", (double)c->at.ns / 1000,
			 c->text);
	}
	free_all();
	return text;
}

static bool is_said(const char *text, const char *word)
{
	return strstr(text, word) != NULL;
}

/*
 * Each case is "script => result" for the rule that is the text before it, or ", more <- script => result"
 * for that rule with more of it, or "rule <- script => result". In a script, `open' is a log that has no end,
 * `gone' one with processes that went on, `ended' one that was closed when all processes had ended,
 * `holed' one that lacks something at an unknown time.
 */
static void check_cases(const char *(*result)(void), const char *const *cases)
{
	const char *rule = "";

	for (; *cases; cases++) {
		const char *text = *cases, *script = strstr(text, " <- ");
		const char *expected = strstr(text, " => "), *got;
		char whole[200];

		if (!expected) {
			rule = text;
			continue;
		}
		snprintf(whole, sizeof(whole), "%s%.*s", script && *text != ',' ? "" : rule,
			 script ? (int)(script - text) : 0, text);
		begin(whole);
		take(script ? script + strlen(" <- ") : text);
		judge.ending.has_gone_on = is_said(text, " gone => ");
		judge.ending.is_unclosed |= judge.ending.has_gone_on || is_said(text, " open => ");
		judge.ending.have_all_ended = is_said(text, " ended => ");
		judge.ending.has_unplaced_loss = is_said(text, " holed ");
		got = result();
		if (strcmp(got, expected + strlen(" => ")) != 0)
			harness_fail("%s: %s, and not %s", whole, text, got);
	}
}

#define CHECK_CASES(result, ...) check_cases(result, (const char *const[]){__VA_ARGS__, NULL})

/* clang-format off */

TEST(never, "")
{
	CHECK_CASES(end,
		"never: a",
		"b@1 b@2 => pass: did not happen",
		"a@1 b@2 a@3 a@4 a@5 => fail: happened 4 times | 1 happened | 3 happened | 4 happened",
		"b@1 !@2 => undecided: did not happen; events were lost",
		"b@1 holed => undecided: did not happen; events were lost",
		"b@1 open => undecided: did not happen; the log has no end",
		"a@1 !@2 => fail: happened 1 time | 1 happened",
		"a@1 holed => fail: happened 1 time | 1 happened",
		" => pass: did not happen",
		"never: a, where: 'data.id > 5'",
		"a1@1 a5@2 => pass: did not happen",
		"a1@1 a6@2 => fail: happened 1 time | 2 happened",
		"never: a where data.id > 5 <- a1@1 a6@2 => fail: happened 1 time | 2 happened",
		"never: '[ab]' <- b@1 => fail: happened 1 time | 1 happened",
		"never: a, at_loss: ignore <- b@1 !@2 => pass: did not happen",
		"never: a, at_loss: fail <- b@1 !@2 => fail: did not happen; events were lost",
		"never: a, at_end: ignore <- b@1 open => pass: did not happen");
}

TEST(exists, "")
{
	CHECK_CASES(end,
		"exists: a",
		"b@1 a@2 => pass: happened",
		"b@1 => fail: did not happen",
		" => fail: did not happen",
		"!@1 b@2 => undecided: did not happen; events were lost",
		"!@1 a@2 => pass: happened",
		"b@1 open => undecided: did not happen; the log has no end",
		"exists: a, within: 5us",
		"b@1 a@6 => pass: happened",
		"b@1 .@7 => fail: did not happen",
		"b@1 .@6 => undecided: did not happen; the log ends before that was decided",
		", of: start <- b@1 a@7 a@8 => fail: did not happen within 5us | 7 came after 6us",
		", at_end: ignore <- b@1 .@6 => pass: did not happen",
		", at_end: fail <- b@1 .@6 => fail: did not happen; the log ends before that was decided",
		"exists: a, within: 5us, of: b",
		"c@1 b@20 a@25 => pass: happened",
		"a@1 b@20 .@26 => fail: did not happen",
		"a@1 => fail: there was no b",
		"b@1 !@3 a@10 => undecided: did not happen within 5us; events were lost | 10 came after 9us",
		/* Of another thread, so near that nobody knows which was the first. */
		"a/2@19.5 b@20 .@50 => pass: happened",
		"a@19.5 b@20 .@50 => fail: did not happen");
}

/* Where patterns name the same event, it is not what it needs itself. */
TEST(no_event_is_what_it_requires, "")
{
	CHECK_CASES(end,
		"before: a, require: a <- a@1 .@9 => fail: 1 of 1 lack what they require before them | 1 none before it",
		"before: a, require: a where data.id == 1, by: tid <- a1@1 a2@2 a2@3 => fail: 1 of 3 lack what they require before them | 1 none before it",
		"before: a where data.id == 2, require: '[ab]', within: 3us",
		"b@1 a2@2 a2@4 => pass: 2 of 2 have what they require before them",
		"b@1 a2@2 a2@6 => fail: 1 of 2 lack what they require before them | 6 the last one before it was 4us earlier",
		"exists: a, within: 5us, of: a",
		"a@1 .@9 => fail: did not happen",
		"a@1 a@6 .@9 => pass: happened",
		"exists: '[ab]', within: 5us, of: b",
		"a/2@9.5 b@10 .@50 => pass: happened",
		"b@10 .@50 => fail: did not happen",
		"order: [a, a]",
		"a@1 .@9 => undecided: not all have happened, at least 1 wanted; the log ends before that was decided | 1 no a by the end of the log",
		"a@1 a@1 => pass: in order",
		"order: [a, b, a]",
		"a@1 b@2 a@3 => pass: in order",
		"a@1 b@2 .@3 => undecided: not all have happened, at least 1 wanted; the log ends before that was decided | 2 no a by the end of the log",
		"order: ['[ab]', b], by: data.id <- b1@1 b2@2 b1@3 a2@4 b2@5 => pass: 2 of 2 in order",
		"order: [b, '[ab]'] <- a@1 b@3 => fail: out of order | 1 came before the first b");
	begin("order: [a, a, a]");
	take("a@1 a@2");
	CHECK_EQ(judge.trials[0].matched, 2);
	end();
}

/* Nor does it need what needs it: of events that are near to each other one is the first. */
TEST(no_two_events_are_what_the_other_requires, "")
{
	CHECK_CASES(end,
		"before: a, require: a",
		"a@10 a/2@10.5 .@90 => fail: 1 of 2 lack what they require before them | 10 none before it",
		"a@10 a/2@10.5 a/3@10.7 .@90 => fail: 1 of 3 lack what they require before them | 10 none before it",
		"a@10 a@10.2 a/2@10.5 .@90 => fail: 1 of 3 lack what they require before them | 10 none before it",
		"before: a, require: '[ab]' <- a@10 b/2@10.5 .@90 => pass: 1 of 1 have what they require before them",
		"before: '[ab]', require: b <- a@10 b/2@10.5 .@90 => fail: 1 of 2 lack what they require before them | 10.5 none before it",
		"after: a, expect: a, within: 5us <- a@10 a/2@10.5 .@90 => fail: 1 of 2 not answered in time | 10.5 not answered for 79.5us",
		"after: a, expect: '[ab]', within: 5us <- b@10 a/2@10.5 .@90 => pass: 1 of 1 answered",
		"after: '[ab]', expect: b, within: 5us <- b@10 a/2@10.5 .@90 => fail: 1 of 2 not answered in time | 10 not answered for 80us");
}

/* A loss may have hidden the event from which the time counts. */
TEST(the_first_event_may_be_lost, "")
{
	CHECK_CASES(end,
		"exists: a, within: 5us, of: b",
		"!@1 b@20 a@25 => undecided: happened; events were lost",
		"b@20 !@21 a@25 => pass: happened",
		"b@20 a@25 holed => undecided: happened; events were lost",
		", at_loss: ignore <- !@1 b@20 a@25 => pass: happened",
		"exists: a",
		"b@20 a@25 holed => pass: happened",
		"exists: a, within: 5us",
		"!@1 a@2 => undecided: happened; events were lost",
		"b@1 !@2 a@3 => pass: happened",
		/* What was lost when the time was over makes no difference. */
		"exists: a, within: 5us, of: b",
		"b@20 c@26 !@27 => fail: did not happen",
		"b@20 c@26 a@28 !@29 => fail: did not happen within 5us | 28 came after 8us",
		"exists: a, within: 5us",
		"b@20 !@25 => undecided: did not happen; events were lost",
		/* Where the event may be lost, at_loss decides, although the log ends before the limit. */
		", at_end: fail <- b@20 !@22 => undecided: did not happen; events were lost",
		", of: b, at_end: fail <- b@20 !@22 => undecided: did not happen; events were lost",
		", at_end: fail, at_loss: ignore <- b@20 !@22 => fail: did not happen; the log ends before that was decided",
		", at_end: fail <- b@20 !@22 open => fail: did not happen; events were lost; the log has no end",
		/* With ignore a rule goes by what is there. */
		"exists: a, at_loss: ignore <- b@1 !@2 => fail: did not happen",
		", at_loss: ignore <- b@1 !@2 c@90 => fail: did not happen",
		"count: a, min: 2, at_loss: ignore <- a@1 !@2 => fail: 1 event | 1 1 event",
		"count: a, min: 1, at_loss: ignore <- a@1 !@2 => pass: 1 event");
}

/* What was lost may have been so near that it counts as before, or behind, an event. */
TEST(what_was_lost_may_have_been_near, "")
{
	CHECK_CASES(end,
		"after: a, expect: b, within: 5us, by: data.id",
		"!@1 a1@2 b1@8 => undecided: 0 of 1 answered; events were lost | 2 answered after 6us",
		", tolerance: 0s <- !@1 a1@1 b1@8 => fail: 1 of 1 not answered in time | 1 answered after 7us",
		"before: a, require: b, within: 5us",
		"!@14.5 a@20 .@90 => fail: 1 of 1 lack what they require before them | 20 none before it",
		"!@15 a@20 .@90 => undecided: 0 of 1 have what they require before them; events were lost | 20 none before it",
		", at_loss: ignore <- !@1 a@20 .@90 => fail: 1 of 1 lack what they require before them | 20 none before it",
		"before: a, require: b, within: 5us, by: data.id",
		"S#1@1 a@20 G#1@30 => undecided: 0 of 1 have what they require before them; events were lost | 20 none before it",
		"S#1@1 G#1@2 a@20 .@30 => fail: 1 of 1 lack what they require before them | 20 none before it",
		"before: a, require: b",
		"a1@2 !@3 b1@4 => undecided: 0 of 1 have what they require before them; events were lost | 2 none before it",
		", tolerance: 0s <- a1@2 !@3 b1@4 => fail: 1 of 1 lack what they require before them | 2 none before it",
		"order: [a, b]",
		"b@3 !@4 a@5 => undecided: may be out of order, at least 1 wanted; events were lost | 3 came before the first a",
		"a@1 b@3 !@3.5 => pass: in order",
		"b@3 a@3.5 !@4 => undecided: may be out of order, at least 1 wanted; events were lost | 3 came before the first a",
		", at_loss: ignore, min_count: 0 <- b@3 a@3.5 !@4 => pass: may be out of order",
		", tolerance: 0s <- b@3 !@4 a@5 => fail: out of order | 3 came before the first a",
		/* The same behind the end of a log that was not closed. */
		"before: a, require: b",
		"a@2 .@3 open => undecided: 0 of 1 have what they require before them; 1 open at the end of the log | 2 none before it",
		"a@2 .@3.1 open => fail: 1 of 1 lack what they require before them | 2 none before it",
		"order: [a, b]",
		"b@2 .@3 open => undecided: not all have happened, at least 1 wanted; the log has no end | 2 came without any a before it",
		"b@2 .@3.1 open => fail: out of order | 2 came without any a before it",
		"b@2 a@3.1 open => fail: out of order | 2 came before the first a",
		/* A value that is not there may have too few. */
		"count: a, min: 2, per: data.id",
		"a1@1 a1@2 !@3 => undecided: 2 events of 1 value of data.id; events were lost",
		"a1@1 a1@2 open => undecided: 2 events of 1 value of data.id; the log has no end",
		"count: a, min: 1, per: data.id <- a1@1 !@3 => pass: 1 event of 1 value of data.id");
}

/* One of several that are near, whichever thread the last one is of. */
TEST(any_of_the_near_events_counts, "")
{
	CHECK_CASES(end,
		"after: a, expect: b, within: 5us, by: data.id",
		"b1/2@10 b1@10.1 a1@10.5 .@50 => pass: 1 of 1 answered",
		"b1@10 b1/2@10.1 a1@10.5 .@50 => pass: 1 of 1 answered",
		"b1/2@10 b1/2@10.8 b2/2@11 a1@11.5 .@50 => pass: 1 of 1 answered",
		"exists: a, within: 5us, of: b",
		"a/2@9.5 a@9.8 b@10 .@50 => pass: happened",
		"a/2@8.5 a@9.8 b@10 .@50 => fail: did not happen");
}

/* As ptrace-stat measures them. */
TEST(pairs_at_places_with_losses, "")
{
	CHECK_CASES(end,
		"pair: [a, posix_trace_stop], min_count: 1, at_loss: ignore <- a@1 S@5 => pass: 1 pair",
		"pair: [posix_trace_stop, posix_trace_start], min_count: 1, at_loss: ignore <- a@1 S@5 G@9 => pass: 1 pair",
		"pair: [posix_trace_overflow, posix_trace_resume], min_count: 1, at_loss: ignore <- O@5 R@9 => pass: 1 pair",
		"pair: [a, posix_trace_start], min_count: 1, at_loss: ignore <- a@1 S@5 G@9 => fail: 0 pairs, at least 1 wanted",
		"after: a, expect: posix_trace_stop, within: 5us <- a@1 S@5 => undecided: 1 of 1 answered; events were lost",
		/* A loss in another log is nothing to a thread, but to a key. */
		"pair: [a, b], min_count: 1, at_loss: ignore",
		"a@1 !#1@2 b@3 => pass: 1 pair",
		"a@1 !@2 b@3 => fail: 0 pairs, at least 1 wanted",
		"pair: [a, b], by: data.id, min_count: 1, at_loss: ignore <- a@1 !#1@2 b@3 => fail: 0 pairs, at least 1 wanted",
		/* It reaches to the next event. */
		"pair: [a, b], by: data.id, min_count: 1, at_loss: ignore",
		"S#1@1 a@2 G#1@3 b@4 => fail: 0 pairs, at least 1 wanted",
		"S#1@1 a@2 b@3 G#1@4 => fail: 0 pairs, at least 1 wanted",
		"S#1@1 G#1@2 a@3 b@4 => pass: 1 pair",
		"after: a, expect: b, within: 5us, by: data.id <- S#1@1 a@2 G#1@3 .@90 => undecided: 0 of 1 answered; events were lost | 2 not answered for 88us");
}

/* What lies within a loss of another log may have had another begin, end or answer there. */
TEST(a_loss_of_another_log_reaches_to_its_next_event_or_the_end, "")
{
	CHECK_CASES(end,
		"pair: [a, b], by: data.id, min: '> 5us', max: '< 9us'",
		"O#1@1 a@2 b@3 a@4 b@24 R#1@30 .@90 => undecided: 0 pairs, at least 1 wanted; events were lost",
		"O#1@1 R#1@2 a@3 b@13 .@90 => fail: 1 pair; min 10us (bound > 5us); max 10us (bound < 9us) | 3 took 10us",
		"S#1@1 a@2 b@3 .@90 => undecided: 0 pairs, at least 1 wanted; events were lost",
		"after: a, expect: b, within: 5us, by: data.id",
		"S#1@1 a@2 b@50 .@90 => undecided: 0 of 1 answered; events were lost | 2 answered after 48us",
		"O#1@1 a@2 .@90 R#1@95 => undecided: 0 of 1 answered; events were lost | 2 not answered for 93us",
		"O#1@1 R#1@2 a@5 b@50 => fail: 1 of 1 not answered in time | 5 answered after 45us");
}

/* It is not known what came after the end of a log that was never closed, while others went on. */
TEST(a_log_without_an_end_is_unknown_from_its_last_event_on, "")
{
	CHECK_CASES(end,
		"exists: b, within: 1ms",
		"a@1 X#1@100 .@5000 => undecided: did not happen; the log has no end",
		"a@1 X#1@100 b@3000 .@5000 => undecided: did not happen within 1ms; the log has no end | 3000 came after 2.999ms",
		"a@1 X#1@2000 .@5000 => fail: did not happen",
		", at_end: ignore <- a@1 X#1@100 .@5000 => pass: did not happen",
		", of: a <- c@1 X#1@100 a@200 b@300 => undecided: happened; the log has no end",
		"order: [a, c]",
		"b@1 X#1@100 a@200 c@300 .@5000 => undecided: in order; the log has no end",
		"a@1 c@2 X#1@100 .@5000 => pass: in order",
		"c@1 a@1.5 X#1@2 .@5000 => undecided: may be out of order, at least 1 wanted; the log has no end | 1 came before the first a",
		"X#1@1 c@2 a@3 .@5000 => undecided: may be out of order, at least 1 wanted; the log has no end | 2 came before the first a",
		"after: a, expect: c, within: 1ms",
		"a@1 X#1@100 .@5000 => undecided: 0 of 1 answered; the log has no end | 1 not answered for 4.999ms",
		"b@1 X#1@100 a@200 c@3000 => undecided: 0 of 1 answered; the log has no end | 200 answered after 2.8ms",
		"a@1 X#1@3000 .@5000 => fail: 1 of 1 not answered in time | 1 not answered for 2.999ms",
		"before: a, require: c <- b@1 X#1@100 a@200 .@5000 => undecided: 0 of 1 have what they require before them; the log has no end | 200 none before it",
		"pair: [a, b], by: data.id, max: '< 9us'",
		"X#1@1 a@2 b@50 .@90 => undecided: 0 pairs, at least 1 wanted; the log has no end",
		", at_end: ignore <- X#1@1 a@2 b@50 .@90 => fail: 1 pair; max 48us (bound < 9us) | 2 took 48us",
		/* Its own thread had no time to end what it had begun. */
		"pair: [a, b], max: '< 9us' <- a#1@1 X#1@2 a/2@3 b/2@5 .@90 => undecided: 1 pair; max 2us (bound < 9us); 1 open at the end of the log | 1 no end for 1us",
		/* What had lasted too long by then has, whatever the other logs have. */
		"pair: [a, b], max: '< 9us' <- a#1@1 X#1@20 a/2@23 b/2@25 .@90 => fail: 1 pair; max 2us (bound < 9us); 1 begin without an end | 1 no end for 19us",
		"pair: [a, b], max: '< 9us' <- !#1@1 a#1@2 X#1@20 .@90 => fail: 0 pairs; 1 begin without an end | 2 no end for 18us",
		"pair: [a, b], max: '< 9us' <- a#1@1 !#1@2 X#1@20 .@90 => undecided: 0 pairs, at least 1 wanted; events were lost; the log has no end",
		"a1@1 X#1@20 b1@22 .@90 => fail: 0 pairs; 1 begin without an end | 1 no end for 19us",
		"a1@1 X#1@5 b1@22 .@90 => undecided: 0 pairs, at least 1 wanted; 1 open at the end of the log | 1 no end for 4us");
}

TEST(what_comes_after_the_selected_time_makes_no_rule_late, "")
{
	CHECK_CASES(end,
		"after: a, expect: b, within: 150us",
		"U@70 a@1 b@80 P@180 G@190 .@200 => undecided: 0 of 1 answered; 1 open at the end of the log | 1 not answered by the end of the log",
		"U@70 a@1 b@80 X#1@180 .@200 => undecided: 0 of 1 answered; 1 open at the end of the log | 1 not answered by the end of the log",
		/* Losses count wherever they are, but do not make the selected time longer. */
		"U@70 a@1 b@80 !@180 => undecided: 0 of 1 answered; events were lost | 1 not answered by what is there",
		"U@70 a@1 b@80 O@180 R@190 => undecided: 0 of 1 answered; events were lost | 1 not answered by what is there",
		"U@170 a@1 b@180 !@190 => fail: 1 of 1 not answered in time | 1 not answered for 169us",
		/* A stop before the end of the selected time lasts until the next start, wherever that is. */
		"U@70 a@1 P@2 G@90 .@200 => undecided: 0 of 1 answered; the trace was stopped for a time | 1 not answered by what is there",
		"U@170 a@1 P@152 G@190 .@200 => fail: 1 of 1 not answered in time | 1 not answered for 151us",
		"U@70 a@1 S@2 G@90 .@200 => undecided: 0 of 1 answered; events were lost | 1 not answered by what is there",
		"pair: [a, b], by: data.id, max: '< 150us'",
		"U@70 a@1 b@80 P@180 G@190 .@200 => undecided: 0 pairs, at least 1 wanted; 1 open at the end of the log | 1 no end for 69us",
		"U@70 a@1 b@80 X#1@180 .@200 => undecided: 0 pairs, at least 1 wanted; 1 open at the end of the log | 1 no end for 69us",
		"U@70 a@1 b@80 !@180 => undecided: 0 pairs, at least 1 wanted; events were lost",
		"U@70 a@1 b@80 O@180 R@190 => undecided: 0 pairs, at least 1 wanted; events were lost",
		"U@170 a@1 b@180 !@190 => fail: 0 pairs; 1 begin without an end | 1 no end for 169us");
}

/* What breaks the rule, and nothing else. */
TEST(cases_of_pairs, "")
{
	CHECK_CASES(end,
		"pair: [a, b], by: data.id, max: '< 5us'",
		"a3@1 a1@2 b1@12 a2@13 b2@14 .@90 => fail: 2 pairs; max 10us (bound < 5us); 1 begin without an end | 2 took 10us | 1 no end for 89us",
		"a3@88 a1@2 b1@12 .@90 => fail: 1 pair; max 10us (bound < 5us); 1 begin without an end | 2 took 10us",
		"pair: [a, b], min: '> 3us', max: '< 5us' <- a@1 b@2 a@3 b@5 a@6 b@9 a@10 b@14 a@20 b@30 a@40 b@49 => fail: 6 pairs; min 1us (bound > 3us); max 10us (bound < 5us) | 20 took 10us | 1 took 1us | 40 took 9us",
		"pair: [a, b], p50: '< 3us', max: '< 10us' <- a@1 b@2 a@3 b@4 a@5 b@10 a@20 b@40 => fail: 4 pairs; p50 1us (bound < 3us); max 20us (bound < 10us) | 20 took 20us");
}

TEST(counts_by_key, "")
{
	CHECK_CASES(counts,
		"count: a, min: 2, per: data.id",
		"a1@1 a2@2 a1@3 a3@4 => 1 kept, 2 broken, 0 doubtful, 0 open",
		"a1@1 a2@2 a1@3 a3@4 open => 1 kept, 0 broken, 0 doubtful, 2 open",
		"a1@1 a2@2 !@2 a1@3 a3@4 => 1 kept, 0 broken, 2 doubtful, 0 open",
		", at_loss: ignore <- a1@1 a2@2 !@2 a1@3 a3@4 => 1 kept, 2 broken, 0 doubtful, 0 open",
		"count: a, max: 1, per: data.id",
		"a1@1 a2@2 a1@3 a3@4 => 2 kept, 1 broken, 0 doubtful, 0 open",
		"a1@1 a2@2 a1@3 a3@4 open => 0 kept, 1 broken, 0 doubtful, 2 open",
		"a1@1 a2@2 a1@3 !@4 open => 0 kept, 1 broken, 1 doubtful, 0 open",
		"count: a, min: 1 <- b@1 => 0 kept, 1 broken, 0 doubtful, 0 open",
		"count: a, max: 1",
		"b@1 => 1 kept, 0 broken, 0 doubtful, 0 open",
		"exists: a",
		"b@1 => 0 kept, 1 broken, 0 doubtful, 0 open",
		"b@1 !@2 => 0 kept, 0 broken, 1 doubtful, 0 open",
		"a@1 !@2 => 1 kept, 0 broken, 0 doubtful, 0 open",
		", within: 1us, of: b <- !@1 b@2 a@3 => 0 kept, 0 broken, 1 doubtful, 0 open",
		"pair: [a, b], by: data.id, max: '< 5us'",
		"a1@1 b1@20 a2@21 b2@22 a3@30 .@90 => 1 kept, 2 broken, 0 doubtful, 0 open",
		"a1@1 b1@20 a2@21 b2@22 a3@30 .@90 holed => 1 kept, 0 broken, 2 doubtful, 0 open",
		", at_loss: ignore <- a1@1 b1@20 a2@21 b2@22 a3@30 .@90 holed => 1 kept, 0 broken, 2 doubtful, 0 open",
		"pair: [a, b], by: data.id, at-most: 1 at once",
		"a1@1 a2@2 b1@3 b2@4 => 2 kept, 1 broken, 0 doubtful, 0 open",
		"a1@1 a2@2 b1@3 b2@4 holed => 2 kept, 0 broken, 1 doubtful, 0 open");
}

TEST(count, "")
{
	CHECK_CASES(end,
		"count: a, max: 2",
		"a@1 a@2 => pass: 2 events",
		"a@1 a@2 a@3 a@4 => fail: 4 events | 3 4 events",
		"b@1 => pass: 0 events",
		"count: a, min: 2",
		"a@1 a@2 => pass: 2 events",
		"a@1 => fail: 1 event | 1 1 event",
		"b@1 => fail: 0 events",
		"a@1 !@2 => undecided: 1 event; events were lost | 1 1 event",
		"count: a, max: 0 <- a@1 => fail: 1 event | 1 1 event",
		"count: a, max: 1 <- a@1 !@2 => undecided: 1 event; events were lost",
		/* What has been reached stays reached. */
		"a@1 !@2 a@3 => pass: 2 events",
		"a@1 open => undecided: 1 event; the log has no end | 1 1 event",
		"count: a, max: 1",
		"a@1 !@2 a@3 => fail: 2 events | 3 2 events",
		"a@1 a@3 holed => fail: 2 events | 3 2 events",
		"count: a, min: 1",
		"a@1 open => pass: 1 event",
		", max: 2, per: data.id <- a1@1 a2@2 a1@3 => pass: 3 events of 2 values of data.id",
		"count: a, max: 2, per: data.id <- a1@1 a2@2 a1@3 a1@4 a3@5 a3@6 a3@7 a3@8 => fail: 8 events; 2 of 3 values of data.id have more than 2 | 7 4 events | 4 3 events",
		"count: a, min: 2, per: data.id <- a1@1 a2@2 a1@3 => fail: 3 events; 1 of 2 values of data.id has less than 2 | 2 1 event");
	begin("count: z, max: 0, per: data.id");
	take("z@1 z@2");
	CHECK_EQ(judge.trials[0].without_key, 2);
	CHECK_STR_EQ(end(), "pass: 0 events");
}

TEST(after, "")
{
	CHECK_CASES(end,
		"after: a, expect: b, within: 5us, by: data.id",
		"a1@1 a2@2 b2@3 b1@6 => pass: 2 of 2 answered",
		"a1@1 a2@2 b2@3 b1@7 => fail: 1 of 2 not answered in time | 1 answered after 6us",
		"a1@1 a2@2 b1@3 .@90 => fail: 1 of 2 not answered in time | 2 not answered for 88us",
		"a1@1 a2@2 b1@3 .@7 => undecided: 1 of 2 answered; 1 open at the end of the log | 2 not answered by the end of the log",
		"a1@1 b1@2 open => undecided: 1 of 1 answered; the log has no end",
		", at_end: ignore <- a1@1 a2@2 b1@3 .@7 => pass: 1 of 2 answered",
		", at_end: fail <- a1@1 a2@2 b1@3 .@7 => fail: 1 of 2 answered; 1 open at the end of the log | 2 not answered by the end of the log",
		/* The answer may have been lost; one that is there has not been. */
		"a1@1 !@2 b1@20 => undecided: 0 of 1 answered; events were lost | 1 answered after 19us",
		"a1@1 !@2 .@20 => undecided: 0 of 1 answered; events were lost | 1 not answered for 19us",
		"a1@1 !@2 b1@3 => undecided: 1 of 1 answered; events were lost",
		", at_loss: ignore <- a1@1 !@2 b1@20 a2@21 b2@22 => pass: 1 of 2 answered",
		/* It was late before anything was lost. */
		"a1@1 !@7 b1@8 => fail: 1 of 1 not answered in time | 1 not answered for 6us",
		"a1@1 !@2 !@7 b1@8 => undecided: 0 of 1 answered; events were lost | 1 answered after 7us",
		"!@1 a1@2.1 b1@8.1 => fail: 1 of 1 not answered in time | 2.1 answered after 6us",
		"a1@2 b1@8 holed => undecided: 0 of 1 answered; events were lost | 2 answered after 6us",
		", at_loss: ignore <- a1@2 b1@8 a2@9 b2@10 holed => pass: 1 of 2 answered",
		/* Nothing that is to be answered. */
		"b1@1 => fail: there was none, at least 1 wanted",
		"!@1 b1@1 => undecided: there was none, at least 1 wanted; events were lost",
		", min_count: 0 <- b1@1 => pass: there was none",
		", min_count: 3 <- a1@1 b1@2 a1@3 b1@4 => fail: 2 of 2 answered, at least 3 wanted",
		/* An answer is for all that are open; they share the fate of the first one. */
		", min_count: 3 <- a1@1 a1@2 a1@3 b1@6 => pass: 3 of 3 answered",
		", min_count: 4 <- a1@1 a1@2 a1@3 b1@6 => fail: 3 of 3 answered, at least 4 wanted",
		"a1@1 a1@2 a1@3 b1@7 => fail: 3 of 3 not answered in time | 1 answered after 6us",
		"a1@1 a1@2 .@4 => undecided: 0 of 2 answered; 2 open at the end of the log | 1 not answered by the end of the log",
		/* Those that came behind the loss are judged by themselves. */
		"a1@1 a1@2 !@3 a1@5 .@30 => fail: 1 of 3 not answered in time | 5 not answered for 25us",
		"a1@1 a1@2 !@3 a1@4 b1@9 => undecided: 1 of 3 answered; events were lost | 1 answered after 8us",
		"a1@1 !@3 a1@4 a2@5 !@6 a2@8 b1@30 b2@31 => fail: 1 of 4 not answered in time | 8 answered after 23us",
		"a1@1 !@10 a1@11 !@12 b1@30 => fail: 1 of 2 not answered in time | 1 not answered for 9us",
		"a1@1 !@2 a1@11 !@22 b1@30 => fail: 1 of 2 not answered in time | 11 not answered for 11us",
		/* Without a key anybody answers. */
		"after: a, expect: b",
		"a1@1 b2/2@999 => pass: 1 of 1 answered",
		"a1@1 .@999 => undecided: 0 of 1 answered; 1 open at the end of the log | 1 not answered by the end of the log",
		/* What is still to come counts only with at_end: ignore. */
		", min_count: 2 <- a@1 => fail: 0 of 1 answered, at least 2 wanted; 1 open at the end of the log | 1 not answered by the end of the log",
		/* The event itself may be the answer to the one before. */
		"after: a, expect: a, within: 5us, at_end: ignore",
		"a@1 a@5 a@9 => pass: 2 of 3 answered",
		"a@1 a@5 a@19 => fail: 1 of 3 not answered in time | 5 answered after 14us",
		"after: a where data.id == 1, expect: b where data.id == 2 <- a2@1 a1@2 b2@3 => pass: 1 of 1 answered");
}

TEST(before, "")
{
	CHECK_CASES(end,
		"before: a, require: b, by: data.id",
		"b1@1 a1@2 a1@3 => pass: 2 of 2 have what they require before them",
		"b1@1 a1@2 a2@3 b2@5 => fail: 1 of 2 lack what they require before them | 3 none before it",
		"!@1 b1@2 a1@3 a2@4 => undecided: 1 of 2 have what they require before them; events were lost | 4 none before it",
		"a1@2 !@3.1 b1@4 => fail: 1 of 1 lack what they require before them | 2 none before it",
		"b1@1 a1@2 !@3 => undecided: 1 of 1 have what they require before them; events were lost",
		"b1@1 a1@2 open => undecided: 1 of 1 have what they require before them; the log has no end",
		"a1@2 holed => undecided: 0 of 1 have what they require before them; events were lost | 2 none before it",
		"b1@2 => pass: there was none",
		"before: a, require: b, min_count: 1 <- b1@2 => fail: there was none, at least 1 wanted",
		"before: a, require: b, within: 5us <- b@1 a@6 a@7 => fail: 1 of 2 lack what they require before them | 7 the last one before it was 6us earlier",
		/* Of another thread it may have been before. */
		"a1@10 b1/2@11 .@20 => pass: 1 of 1 have what they require before them",
		"a1@10 a2@10.1 b1/2@10.2 b2/2@12 => fail: 1 of 2 lack what they require before them | 10.1 none before it",
		"a1@10 b1@11 .@20 => fail: 1 of 1 lack what they require before them | 10 none before it",
		", tolerance: 0s <- a1@10 b1/2@10.5 => fail: 1 of 1 lack what they require before them | 10 none before it");
}

TEST(tolerance_of_answers, "")
{
	CHECK_CASES(end,
		"after: a, expect: b, within: 5us, by: data.id",
		"b1/2@10 a1@10.5 .@50 => pass: 1 of 1 answered",
		"b1@10 a1@10.5 .@50 => fail: 1 of 1 not answered in time | 10.5 not answered for 39.5us",
		"b1/2@10 a1@11.5 .@50 => fail: 1 of 1 not answered in time | 11.5 not answered for 38.5us",
		"b2/2@10 a1@10.5 .@50 => fail: 1 of 1 not answered in time | 10.5 not answered for 39.5us",
		", tolerance: 2us <- b1/2@10 a1@11.5 .@50 => pass: 1 of 1 answered",
		", tolerance: 0s <- b1/2@10 a1@10.5 .@50 => fail: 1 of 1 not answered in time | 10.5 not answered for 39.5us");
}

TEST(without_tolerance_what_is_at_the_same_nanosecond_is_in_any_order, "")
{
	CHECK_CASES(end,
		"after: a, expect: b, within: 5us, by: data.id, tolerance: 0s",
		"b1/2@10 a1@10 .@50 => pass: 1 of 1 answered",
		"b1@10 a1@10 .@50 => fail: 1 of 1 not answered in time | 10 not answered for 40us",
		"b1/2@10 a1@10.001 .@50 => fail: 1 of 1 not answered in time | 10.001 not answered for 39.999us",
		"before: a, require: b, by: data.id, tolerance: 0s <- a1@10 b1/2@10 .@50 => pass: 1 of 1 have what they require before them");
}

TEST(how_many_pairs_are_open_at_once, "")
{
	CHECK_CASES(end,
		"pair: [a, b], by: data.id, at-most: 2 at once",
		"a1@10 a2@20 b1@30 a3@40 b2@50 b3@60 => pass: 3 pairs; 2 at once (bound 2)",
		"a1@10 a2@20 a3@30 a4@40 b1@50 b2@60 a5@70 b3@80 => fail: 3 pairs; 4 at once (bound 2) | 40 4 at once",
		/* Begins count that have no end, and no end is needed. */
		"a1@10 a2@20 => pass: 0 pairs; 2 at once (bound 2)",
		"a1@10 a2@20 a3@30 => fail: 0 pairs; 3 at once (bound 2) | 30 3 at once",
		"b1@10 => fail: 0 pairs; 0 at once (bound 2), at least 1 wanted",
		/* Without a field a thread is the key; those of all threads count. */
		"pair: [a, b], at-most: 1 at once",
		"a/1@10 b/1@20 a/2@30 b/2@40 => pass: 2 pairs; 1 at once (bound 1)",
		"a/1@10 a/2@20 b/1@30 b/2@40 => fail: 2 pairs; 2 at once (bound 1) | 20 2 at once",
		"pair: [a, b], at-most: 0 at once, where: data.id > 1 <- a1@10 b1@20 => fail: 0 pairs; 0 at once (bound 0), at least 1 wanted",
		/* It may stand beside other bounds, and what breaks each is shown. */
		"pair: [a, b], by: data.id, max: 5us, at-most: 1 at once <- a1@10 a2@20 b2@21 b1@30 => fail: 2 pairs; max 20us (bound 5us); 2 at once (bound 1) | 20 2 at once | 10 took 20us");
}

TEST(pairs_of_threads_that_are_near_need_not_be_open_at_once, "")
{
	CHECK_CASES(end,
		"pair: [a, b], at-most: 1 at once",
		"a/1@10 a/2@20 b/1@20.5 b/2@30 => pass: 2 pairs; 1 at once (bound 1)",
		"a/1@10 a/2@20 b/1@21.5 b/2@30 => fail: 2 pairs; 2 at once (bound 1) | 20 2 at once",
		", tolerance: 2us <- a/1@10 a/2@20 b/1@21.5 b/2@30 => pass: 2 pairs; 1 at once (bound 1)",
		/* The order of one thread's events is known. */
		"pair: [a, b], by: data.id, at-most: 1 at once <- a1@10 a2@20 b1@20.5 b2@30 => fail: 2 pairs; 2 at once (bound 1) | 20 2 at once",
		/* With a key that is used again, it ends the earlier pair. */
		"pair: [a, b], by: data.id, at-most: 1 at once",
		"a1/1@10 a1/2@15 b1/1@15.5 b1/2@19 => pass: 2 pairs; 1 at once (bound 1)",
		"a1/1@10 a1/2@15 b1/1@16.5 b1/2@19 => fail: 2 pairs; 2 at once (bound 1) | 15 2 at once",
		/* A pair does not end before it has begun, and one that begins later is another one. */
		"pair: [a, b], by: data.id, at-most: 1 at once <- a1/1@10 a2/1@20 b2/2@20.5 b1/1@30 => fail: 2 pairs; 2 at once (bound 1) | 20 2 at once",
		"a/1@10 a/2@20 b/2@20.2 a/3@20.4 b/3@20.5 b/1@30 => fail: 3 pairs; 2 at once (bound 1) | 20 2 at once");
}

TEST(losses_leave_how_many_pairs_are_open_undecided, "")
{
	CHECK_CASES(end,
		/* Lost events may have been begins, and ends. */
		"pair: [a, b], by: data.id, at-most: 1 at once",
		"a1@10 b1@20 !@30 => undecided: 1 pair; 1 at once (bound 1); events were lost",
		"a1@10 !@20 a2@30 b2@40 b1@50 => undecided: 1 pair; 1 at once (bound 1); events were lost",
		/* What was open at once before the loss, or after it, was so. */
		"a1@10 a2@20 !@30 b1@40 b2@50 => fail: 0 pairs; 2 at once (bound 1) | 20 2 at once",
		"a1@10 !@20 a2@30 a3@40 b2@50 b3@60 => fail: 2 pairs; 2 at once (bound 1) | 40 2 at once",
		/* The end of the first may have been lost, and so near that it counts as before. */
		"a1/1@10 a2/2@20 !@20.5 b2/2@30 => undecided: 0 pairs; 1 at once (bound 1); events were lost",
		"a1@10 a2@20 b1@30 b2@40 holed => undecided: 2 pairs; 2 at once (bound 1); events were lost | 20 2 at once",
		", at_loss: ignore <- a1@10 a2@20 b1@30 b2@40 holed => pass: 2 pairs; 2 at once (bound 1, in doubt)",
		", at_loss: ignore <- a1@10 !@20 a2@30 b2@40 => pass: 1 pair; 1 at once (bound 1)",
		/* Here begins are counted, and no end adds one. */
		", min_count: 2 <- a1@10 => fail: 0 pairs; 1 at once (bound 1), at least 2 wanted | 10 no end for 0ns",
		/* In one log a loss says nothing of the threads of another one. */
		"pair: [a, b], at-most: 1 at once <- a/1@10 !#1@20 a/2@30 => fail: 0 pairs; 2 at once (bound 1) | 30 2 at once",
		"a1@10 b1@20 open => undecided: 1 pair; 1 at once (bound 1); the log has no end",
		"a1@10 a2@20 .@30 open => fail: 0 pairs; 2 at once (bound 1) | 20 2 at once");
}

/* Nobody knows what came while the trace was stopped. */
TEST(pairs_across_a_stop_leave_the_rule_undecided, "")
{
	CHECK_CASES(end,
		"pair: [a, b], by: data.id, max: '< 5us'",
		"a1@1 P@2 G@30 b1@31 a2@32 b2@33 => undecided: 1 pair; max 1us (bound < 5us); the trace was stopped for a time",
		"P@1 G@30 b1@31 a2@32 b2@33 => undecided: 1 pair; max 1us (bound < 5us); the trace was stopped for a time",
		"a2@1 b2@2 a1@3 P@4 G@30 .@90 => undecided: 1 pair; max 1us (bound < 5us); the trace was stopped for a time",
		"a1@1 b1@2 P@3 G@30 a2@31 b2@32 => pass: 2 pairs; max 1us (bound < 5us)",
		"pair: [a, b], max: '< 5us' <- a@1 P#1@2 G#1@30 b@3 => pass: 1 pair; max 2us (bound < 5us)",
		", at_loss: ignore <- a1@1 P@2 G@30 b1@31 a2@32 b2@33 => pass: 1 pair; max 1us (bound < 5us)",
		"pair: [a, b], by: data.id, p50: '< 5us' <- a1@1 P@2 G@30 b1@31 a2@32 b2@43 => undecided: 1 pair; p50 11us (bound < 5us); the trace was stopped for a time | 32 took 11us",
		"pair: [a, b], by: data.id, at-most: 1 at once <- a1@10 P@20 G@30 a2@31 b2@40 b1@50 => undecided: 1 pair; 1 at once (bound 1); the trace was stopped for a time",
		/* It was too long before that, as before any loss. */
		"pair: [a, b], by: data.id, max: '< 5us'",
		"a1@1 P@20 G@30 b1@31 => fail: 0 pairs; 1 begin without an end | 1 no end for 19us",
		"a1@1 !@20 b1@21 a2@22 b2@23 => fail: 1 pair; max 1us (bound < 5us); 1 begin without an end | 1 no end for 19us",
		"a1@1 !@2 !@20 b1@21 a2@22 b2@23 => undecided: 1 pair; max 1us (bound < 5us); events were lost",
		"O#1@1 a1@2 R#1@20 b1@21 => undecided: 0 pairs, at least 1 wanted; events were lost",
		"after: a, expect: b, within: 5us, by: data.id",
		"a1@1 P@20 G@30 b1@90 => fail: 1 of 1 not answered in time | 1 not answered for 19us",
		"a1@1 P@3 G@30 b1@90 => undecided: 0 of 1 answered; the trace was stopped for a time | 1 answered after 89us");
}

/* What they did came after all that is there. */
TEST(processes_that_went_on_leave_open_what_comes_after_the_end, "")
{
	CHECK_CASES(end,
		"never: a <- b@1 gone => undecided: did not happen; processes went on when the recording ended",
		"count: a, max: 1 <- a@1 gone => undecided: 1 event; processes went on when the recording ended",
		"exists: a <- b@1 gone => undecided: did not happen; processes went on when the recording ended",
		"exists: b, within: 5us, of: a <- a@1 b@2 gone => pass: happened",
		"order: [a, b] <- a@1 b@3 gone => pass: in order",
		"order: [a, b] <- b@1 a@3 gone => fail: out of order | 1 came before the first a",
		"before: a, require: b <- a@1 .@9 gone => fail: 1 of 1 lack what they require before them | 1 none before it",
		"before: a, require: b, at_end: ignore <- b@1 a@2 .@9 gone => pass: 1 of 1 have what they require before them",
		"after: a, expect: b, within: 5us",
		"a@1 b@2 a@3 .@4 gone => undecided: 1 of 2 answered; 1 open at the end of the log | 3 not answered by the end of the log",
		"a@1 b@2 gone => undecided: 1 of 1 answered; processes went on when the recording ended",
		", at_end: ignore <- a@1 b@2 gone => pass: 1 of 1 answered",
		"a@1 b@9 gone => fail: 1 of 1 not answered in time | 1 answered after 8us",
		"pair: [a, b], max: 5us <- a@1 b@9 gone => fail: 1 pair; max 8us (bound 5us) | 1 took 8us",
		"loss: none <- a@1 gone => undecided: nothing is missing; processes went on when the recording ended");
}

TEST(what_has_not_happened_when_all_processes_have_ended_never_will, "")
{
	CHECK_CASES(end,
		"after: a, expect: b, by: data.id, within: 5us",
		"a1@1 b1@2 a2@3 .@4 => undecided: 1 of 2 answered; 1 open at the end of the log | 3 not answered by the end of the log",
		"a1@1 b1@2 a2@3 .@4 ended => fail: 1 of 2 not answered in time | 3 not answered by the end of the log",
		"after: a, expect: b",
		"a1@1 ended => fail: 1 of 1 not answered | 1 not answered by the end of the log",
		"after: a, expect: a, within: 5us, at_end: ignore <- a@1 a@5 a@9 ended => pass: 2 of 3 answered",
		"exists: a, within: 5us",
		"b@1 .@3 ended => fail: did not happen",
		", at_end: ignore <- b@1 .@3 ended => pass: did not happen",
		"order: [a, b, c]",
		"a@1 b@3 ended => fail: not all have happened | 3 no c by the end of the log",
		", by: data.id <- a1@1 b1@2 c1@3 a2@4 b2@5 ended => fail: 1 of 2 out of order or not whole | 5 no c by the end of the log",
		/* A begin that has no end takes longer than any bound. */
		"pair: [a, b], max: 5us",
		"a@1 b@2 a@3 .@4 => undecided: 1 pair; max 1us (bound 5us); 1 open at the end of the log | 3 no end for 1us",
		"a@1 b@2 a@3 .@4 ended => fail: 1 pair; max 1us (bound 5us); 1 begin without an end | 3 no end for 1us",
		"pair: [a, b], min: '>= 1us' <- a@1 b@2 a@3 .@4 ended => pass: 1 pair; min 1us (bound >= 1us); 1 begin without an end",
		", at_end: ignore <- a@1 b@2 a@3 .@4 ended => pass: 1 pair; max 1us (bound 5us); 1 begin without an end",
		"pair: [a, b], min_count: 2 <- a@1 b@2 a@3 .@4 ended => fail: 1 pair, at least 2 wanted | 3 no end for 1us",
		/* What was lost may have happened nevertheless. */
		"after: a, expect: b <- a1@1 !@2 ended => undecided: 0 of 1 answered; events were lost | 1 not answered by what is there",
		"order: [a, b]",
		"a1@1 !@2 ended => undecided: not all have happened, at least 1 wanted; events were lost | 1 no b by the end of the log",
		"order: [a, b], at_end: fail <- a1@1 !@2 .@9 => undecided: not all have happened, at least 1 wanted; events were lost | 1 no b by the end of the log",
		"order: [a, b]",
		", at_loss: ignore <- a1@1 !@2 ended => fail: not all have happened | 1 no b by the end of the log");
}

TEST(pair, "")
{
	static const char rule[] = "pair: [a, b], by: data.id, max: '< 5us'";
	CHECK_CASES(end,
		"pair: [a, b], by: data.id, max: '< 5us'",
		"a1@1 a2@2 b2@3 b1@5 => pass: 2 pairs; max 4us (bound < 5us)",
		"a1@1 a2@2 b2@3 b1@6 => fail: 2 pairs; max 5us (bound < 5us) | 1 took 5us",
		"c@1 => fail: 0 pairs, at least 1 wanted",
		"!@1 => undecided: 0 pairs, at least 1 wanted; events were lost",
		", min_count: 2 <- a1@1 b1@2 a2@3 => undecided: 1 pair; max 1us (bound < 5us), at least 2 wanted; 1 open at the end of the log | 3 no end for 0ns",
		", min_count: 3 <- a1@1 b1@2 a2@3 => fail: 1 pair; max 1us (bound < 5us), at least 3 wanted; 1 open at the end of the log | 3 no end for 0ns",
		"pair: [a, b], by: data.id, max: 5us <- a1@1 b1@6 => pass: 1 pair; max 5us (bound 5us)",
		"pair: [a, b], min: '> 1us' <- a1@1 b1@2 => fail: 1 pair; min 1us (bound > 1us) | 1 took 1us",
		"pair: [a, b], min: '>= 1us', p50: '<= 2us' <- a1@1 b1@2 a1@3 b1@5 a1@6 b1@16 => pass: 3 pairs; min 1us (bound >= 1us); p50 2us (bound <= 2us)",
		"pair: [a, b], p50: '< 2us' <- a1@1 b1@2 a1@3 b1@5 a1@6 b1@16 => fail: 3 pairs; p50 2us (bound < 2us) | 6 took 10us | 3 took 2us",
		"pair: [a, b], min_count: 2",
		"a@1 b@2 b@3 => fail: 1 pair, at least 2 wanted",
		"a@1 b@2 a@3 => undecided: 1 pair, at least 2 wanted; 1 open at the end of the log | 3 no end for 0ns",
		/* A loss hides durations; one that is there and too long is too long. */
		"pair: [a, b], by: data.id, max: '< 5us'",
		"a1@1 b1@2 !@3 => undecided: 1 pair; max 1us (bound < 5us); events were lost",
		"a1@1 b1@12 !@13 => fail: 1 pair; max 11us (bound < 5us) | 1 took 11us",
		"a1@1 !@2 b1@12 a1@13 b1@14 => undecided: 1 pair; max 1us (bound < 5us); events were lost",
		"pair: [a, b], p50: '< 5us'",
		"a1@1 b1@12 !@13 => undecided: 1 pair; p50 11us (bound < 5us); events were lost | 1 took 11us",
		", at_loss: ignore <- a1@1 b1@12 !@13 => fail: 1 pair; p50 11us (bound < 5us) | 1 took 11us",
		/* What has no end yet is at least as long as it has been. */
		"pair: [a, b], by: data.id, max: '< 5us'",
		"a1@1 b1@2 a2@3 .@7 => undecided: 1 pair; max 1us (bound < 5us); 1 open at the end of the log | 3 no end for 4us",
		"a1@1 b1@2 a2@3 .@70 => fail: 1 pair; max 1us (bound < 5us); 1 begin without an end | 3 no end for 67us",
		", at_end: ignore <- a1@1 b1@2 a2@3 .@7 => pass: 1 pair; max 1us (bound < 5us); 1 begin without an end",
		/* Whatever comes, it has waited for too long. */
		", at_end: ignore <- a1@1 b1@2 a2@3 .@8 => fail: 1 pair; max 1us (bound < 5us); 1 begin without an end | 3 no end for 5us",
		"pair: [a, b], max: '< 1s', at_end: ignore <- a@1 => pass: 0 pairs; 1 begin without an end",
		"pair: [a, b], by: data.id, max: '<= 5us', at_end: ignore <- a1@1 b1@2 a2@3 .@8 => pass: 1 pair; max 1us (bound <= 5us); 1 begin without an end",
		"pair: [a, b], by: data.id, min: '> 3us', at_end: ignore <- a1@1 b1@5 a2@6 .@7 => pass: 1 pair; min 4us (bound > 3us); 1 begin without an end",
		"pair: [a, b], by: data.id, p50: '> 3us', at_end: ignore <- a1@1 b1@2 a2@3 a3@3 a4@69 .@70 => pass: 1 pair; p50 1us (bound > 3us, kept by 2 begins without an end); 3 begins without an end",
		/* Of the lost events, only those after its start, or at an unknown time, may have ended it. */
		"pair: [a, b], by: data.id, max: '< 5us' <- !@1 a1@2 .@7 => fail: 0 pairs; 1 begin without an end | 2 no end for 5us",
		"!@1 a1@2 b1@3 a2@3 .@8 => fail: 1 pair; max 1us (bound < 5us); 1 begin without an end | 3 no end for 5us",
		"!@1 a1@2 .@6 => undecided: 0 pairs, at least 1 wanted; events were lost; 1 open at the end of the log | 2 no end for 4us",
		"a1@2 !@3 .@80 => undecided: 0 pairs, at least 1 wanted; events were lost",
		"a1@2 .@80 holed => undecided: 0 pairs, at least 1 wanted; events were lost; 1 open at the end of the log | 2 no end for 78us",
		/* With ignore, too, any pair may be one during which events were lost. */
		", at_loss: ignore <- a1@1 b1@2 a2@3 .@80 holed => pass: 1 pair; max 1us (bound < 5us); 1 begin without an end",
		", at_loss: ignore <- a1@1 b1@20 holed => pass: 1 pair; max 19us (bound < 5us, in doubt)",
		"pair: [a, b], by: data.id, p99: '< 5us', at_loss: ignore <- a1@1 b1@2 a2@3 .@80 holed => pass: 1 pair; p99 1us (bound < 5us); 1 begin without an end",
		"pair: [a, b], by: data.id, min: '> 5us' <- !@1 a1@2 .@5 => undecided: 0 pairs, at least 1 wanted; events were lost; 1 open at the end of the log | 2 no end for 3us",
		"pair: [a, b], by: data.id, p50: '< 5us' <- !@1 a1@2 .@80 => undecided: 0 pairs, at least 1 wanted; events were lost; 1 open at the end of the log | 2 no end for 78us",
		/* A begin without an end makes no difference to this quantile. */
		"pair: [a, b], by: data.id, p50: '< 5us' <- a1@1 b1@2 a3@2 b3@3 a2@3 .@70 => pass: 2 pairs; p50 1us (bound < 5us); 1 begin without an end",
		"a1@1 b1@2 open => undecided: 1 pair; max 1us (bound < 5us); the log has no end",
		/* Behind the end of a log that was not closed there may be as many pairs as it takes. */
		"a1@1 b1@7 open => fail: 1 pair; max 6us (bound < 5us) | 1 took 6us",
		"a1@1 b1@2 a2@3 .@8 open => fail: 1 pair; max 1us (bound < 5us); 1 begin without an end | 3 no end for 5us",
		"pair: [a, b], min: '> 1us' <- a1@1 b1@2 open => fail: 1 pair; min 1us (bound > 1us) | 1 took 1us",
		"pair: [a, b], min: '< 1us' <- a1@1 b1@2 open => undecided: 1 pair; min 1us (bound < 1us); the log has no end",
		"pair: [a, b], max: '> 9us' <- a1@1 b1@2 open => undecided: 1 pair; max 1us (bound > 9us); the log has no end",
		"pair: [a, b], p50: '< 5us'",
		"a1@1 b1@12 open => undecided: 1 pair; p50 11us (bound < 5us); the log has no end",
		"pair: [a, b], p50: '> 5us', at_end: fail <- a1@1 b1@2 open => fail: 1 pair; p50 1us (bound > 5us); the log has no end",
		", at_end: ignore <- a1@1 b1@12 open => fail: 1 pair; p50 11us (bound < 5us) | 1 took 11us",
		/* An end belongs to the latest begin, whichever pairs are selected. */
		"pair: [a, b], where: data.id == 1, max: 5us",
		"a1@1 a2@2 b@3 b@20 => fail: 1 pair; max 19us (bound 5us) | 1 took 19us",
		"a2@1 a1@2 b@3 b@20 a2@21 => pass: 1 pair; max 1us (bound 5us)",
		"a1@1 b@2 a2@3 !@4 b@50 => undecided: 1 pair; max 1us (bound 5us); events were lost",
		"pair: [a, b], by: pid, where: data.id == 1, max: 5us <- a1@1 a2/2@2 b@3 b@20 => fail: 1 pair; max 19us (bound 5us) | 1 took 19us",
		"pair: [a where data.id == 1, b], max: 5us <- a1@1 a2@2 b@3 b@20 => fail: 1 pair; max 19us (bound 5us) | 1 took 19us",
		"pair: [a, b where data.id == 1], max: 5us <- a@1 a@2 b2@9 b1@20 b2@30 => fail: 1 pair; max 19us (bound 5us) | 1 took 19us",
		"pair: [a, b], where: data.id == 1, at-most: 1 at once <- a1@1 a2@2 b@3 a1@4 => fail: 0 pairs; 2 at once (bound 1) | 4 2 at once",
		/* The conditions say which are the begins if a type is begin and end. */
		"pair: [a where data.id == 1, a where data.id == 2], max: 5us <- a1@1 a3@2 a2@4 => pass: 1 pair; max 3us (bound 5us)",
		/* Without a key they are brackets of a thread. */
		"pair: [a, b], max: 5us <- a@1 a/2@2 b@3 b/2@4 a@5 a@6 b@7 b@8 => pass: 4 pairs; max 3us (bound 5us)");
	begin(rule);
	take("a1@10 b1@9 b3@11 a2@12 b2@13");
	CHECK_EQ(judge.trials[0].backwards, 1);
	CHECK_EQ(judge.trials[0].unmatched_ends, 1);
	CHECK_STR_EQ(end(), "pass: 1 pair; max 1us (bound < 5us)");
}

TEST(durations_have_no_exponent, "")
{
	CHECK_CASES(end,
		"pair: [a, b], max: '> 1d'",
		"a@1 b@99999600001 => pass: 1 pair; max 99999.6s (bound > 1d)",
		"a@1 b@123456789012 => pass: 1 pair; max 123456.789011s (bound > 1d)");
}

static int compare(const void *a, const void *b)
{
	int64_t s = *(const int64_t *)a, t = *(const int64_t *)b;

	return (s > t) - (s < t);
}

TEST(bounds_are_judged_by_the_exact_quantile, "")
{
	static const char *const names[] = {"p1", "p50", "p90", "p99", "p99.9"};
	static const unsigned int per_million[] = {10000, 500000, 900000, 990000, 999000};
	static int64_t lengths[1357];
	enum { COUNT = sizeof(lengths) / sizeof(*lengths) };

	for (size_t q = 0; q < sizeof(names) / sizeof(*names); q++) {
		int64_t sorted[COUNT], exact;

		for (size_t i = 0; i < COUNT; i++)
			sorted[i] = lengths[i] = (int64_t)(i * i * 7919 % 100003 + 100000);
		qsort(sorted, COUNT, sizeof(*sorted), compare);
		exact = sorted[(COUNT * per_million[q] + 999999) / 1000000 - 1];
		for (int64_t above = 0; above < 2; above++) {
			char rule[100], script[100];
			int64_t ns = 1000;

			snprintf(rule, sizeof(rule), "pair: [a, b], %s: '< %ldns'", names[q],
				 exact + above);
			begin(rule);
			for (size_t i = 0; i < COUNT; i++, ns += 1000000) {
				snprintf(script, sizeof(script), "a@%ld.%03ld b@%ld.%03ld",
					 ns / 1000, ns % 1000, (ns + lengths[i]) / 1000,
					 (ns + lengths[i]) % 1000);
				take(script);
			}
			CHECK_EQ(strncmp(end(), above ? "pass" : "fail", 4), 0);
		}
	}
}

TEST(order, "")
{
	CHECK_CASES(end,
		"order: [a, b, c]",
		"a@1 b@3 a@4 c@5 b@6 => pass: in order",
		"b@3 a@5 c@7 => fail: out of order | 3 came before the first a",
		"a@1 c@3 => fail: out of order | 3 came without any b before it",
		"a@1 b@3 => undecided: not all have happened, at least 1 wanted; the log ends before that was decided | 3 no c by the end of the log",
		"d@1 => fail: there was none, at least 1 wanted",
		", at_end: fail <- a@1 b@3 => fail: not all have happened, at least 1 wanted; the log ends before that was decided | 3 no c by the end of the log",
		", at_end: ignore, min_count: 0 <- a@1 b@3 => pass: not all have happened",
		", at_end: ignore <- a@1 b@3 => pass: not all have happened",
		"order: [a, b] <- a@1 !@2 b@3 => undecided: in order; events were lost",
		/* All first events are known. */
		"order: [a, b]",
		"a@1 b@3 !@4 => pass: in order",
		"a@1 b@3 open => pass: in order",
		"!@1 b@3 a@4 => undecided: may be out of order, at least 1 wanted; events were lost | 3 came before the first a",
		"b@3 !@4.1 a@5 => fail: out of order | 3 came before the first a",
		"b@3 a/2@4 => pass: in order",
		"b@3 a/2@4.5 => fail: out of order | 3 came before the first a",
		/* A stop leaves open only what is missing. */
		"P@1 G@2 a@3 b@5 => pass: in order",
		"P@1 G@2 a@3 b@5 !@7 => pass: in order",
		"P@1 G@2 b@3 a@5 => undecided: may be out of order, at least 1 wanted; the trace was stopped for a time | 3 came before the first a",
		"a@1 P@2 G@3 .@9 ended => undecided: not all have happened, at least 1 wanted; the trace was stopped for a time | 1 no b by the end of the log",
		"order: [a, b], by: data.id",
		"a1@1 a2@2 b2@3 b1@4 => pass: 2 of 2 in order",
		"b1@3 a2@3 a1/2@3.5 b2@4 => pass: 2 of 2 in order",
		"a1@1 b2@3 b1@4 a2@5 => fail: 1 of 2 out of order | 3 came before the first a",
		"a1@1 b1@4 a2@5 => undecided: 1 of 2 in order; the log ends before that was decided | 5 no b by the end of the log",
		"order: [a, b], where: data.id == 1 <- b2@1 a1@4 b1@6 => pass: in order",
		/* With ignore an item that is missing is not lost, but one that came too late may be. */
		"order: [a, b], by: data.id, at_loss: ignore",
		"a1@1 b1@4 a2@5 .@9 ended => fail: 1 of 2 out of order or not whole | 5 no b by the end of the log",
		"a1@1 b1@4 a2@5 !@6 .@9 ended => fail: 1 of 2 out of order or not whole | 5 no b by the end of the log",
		"a1@1 b1@4 a2@5 holed ended => fail: 1 of 2 out of order or not whole | 5 no b by the end of the log",
		"a1@1 b1@4 b2@5 a2@6 holed ended => pass: 1 of 2 in order",
		"order: [a, b], by: data.id <- a1@1 b1@4 a2@5 holed ended => undecided: 1 of 2 in order; events were lost | 5 no b by the end of the log",
		/* Two events of a thread are in the order of the log, even at one nanosecond. */
		"order: [a, b]",
		"b@3 a@3 .@9 => fail: out of order | 3 came before the first a",
		"a@3 b@3 .@9 => pass: in order",
		", tolerance: 0s <- b@3 a/2@3 .@9 => pass: in order",
		/* Any event that is near counts, and each event needs one. */
		"b@3 a@3.2 a/2@3.5 .@9 => pass: in order",
		"b@3 b/2@3.1 a/2@3.5 .@9 => fail: out of order | 3.1 came before the first a",
		"b@3 b/2@3.1 a/2@3.5 a/3@3.6 .@9 => pass: in order",
		"order: ['[ab]', a, c]",
		"a@1 a@2 c@3 .@9 => pass: in order",
		/* The order of any two is possible by itself, but not of all together. */
		"order: [a, b, c]",
		"c@3 b/2@3.5 a@4 .@9 => fail: out of order | 3 came before the first a",
		"b/2@3 c@3.5 a@4 .@9 => fail: out of order | 3.5 came before the first a",
		"b/2@3 c/3@3.5 a@4 .@9 => pass: in order",
		"c@3 b/2@3.9 a/3@4.8 .@9 => fail: out of order | 3 came before the first a",
		"b@3 c@4.5 a/2@6 .@9 => fail: out of order | 3 came before the first a",
		"order: ['[ab]', a, c]",
		"c/2@3 a@3.5 a@9 .@99 => fail: out of order | 3 came before the first a");
}

/* What was cut, and what the data has too little of, is missing alike. */
TEST(data_that_is_missing, "")
{
	static const char *const cases[][2] = {
		{"never: a, where: 'data.id > 5'", "undecided: did not happen; data of events is missing"},
		{"never: a where data.id > 5", "undecided: did not happen; data of events is missing"},
		{"never: a where data.id > 5, at_loss: ignore", "pass: did not happen"},
		{"never: a where data.id > 5, at_loss: fail", "fail: did not happen; data of events is missing"},
		{"exists: a where data.id > 5", "undecided: did not happen; data of events is missing"},
		{"count: a, max: 3, per: data.id", "undecided: 0 events; data of events is missing"},
		{"before: a, require: b, by: data.id", "undecided: there was none; data of events is missing"},
		/* A comparison with what is missing is false, but its negation is not true. */
		{"never: a, where: '!(data.id > 5)'", "undecided: did not happen; data of events is missing"},
		{"never: a where !data.id", "undecided: did not happen; data of events is missing"},
		{"exists: a where !(data.id > 5)", "undecided: did not happen; data of events is missing"},
		{"count: a, min: 1, where: '!(data.id > 5)'", "undecided: 0 events; data of events is missing"},
		{"count: a, max: 0, where: '!(data.id > 5)'", "undecided: 0 events; data of events is missing"},
		{"after: a where !data.id, expect: c", "undecided: there was none, at least 1 wanted; data of events is missing"},
		{"pair: [a where !data.id, b], max: 0s, min_count: 0", "undecided: 0 pairs; data of events is missing"},
		{"pair: [c, a where !data.id], max: 0s, min_count: 0", "undecided: 0 pairs; data of events is missing"},
		{"count: '[ab]', min: 2, where: '!(data.id > 5)'", "pass: 2 events"},
		/* It makes no difference to these. */
		{"never: c, where: 'data.id > 5'", "pass: did not happen"},
		{"never: a, where: 'data.id > 5 && pid == 1'", "pass: did not happen"},
		{"never: a where data.id > 5, where: pid == 1", "pass: did not happen"},
		{"count: a, max: 1, where: 'data.id > 5 || pid == 100'", "pass: 1 event"},
		{"count: a, max: 1, per: pid", "pass: 1 event of 1 value of pid"},
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		char text[200];

		snprintf(text, sizeof(text), "%s <- b@1 a1%c@2 b@3 => %s", cases[i / 2][0], "~_"[i % 2],
			 cases[i / 2][1]);
		CHECK_CASES(end, text);
	}
}

TEST(data_that_was_cut, "")
{
	CHECK_CASES(end,
		/* Whatever its condition says, an end with an unknown key may belong to any begin. */
		"pair: [a, b where tid == 2], by: data.id, max: 5us <- a1@1 b1~@2 a1@10 b1/2@12 b1/2@13 => undecided: 2 pairs; max 12us (bound 5us); data of events is missing | 1 took 12us",
		/* The event that is there breaks the rule all the same. */
		"never: a, where: 'data.id > 5' <- a1~@1 a6@2 => fail: happened 1 time | 2 happened",
		/* An answer may be the one whose data was cut. */
		"after: a, expect: b, within: 5us, by: data.id <- a1@1 b1~@2 .@90 => undecided: 0 of 1 answered; data of events is missing | 1 not answered for 89us",
		"never: a, where: data == 'x'",
		"a1~@1 => undecided: did not happen; data of events is missing",
		"a1_@1 => pass: did not happen",
		"never: a, where: 'data.id > 5' <- a1~@1 !@2 => undecided: did not happen; events were lost; data of events is missing");
	begin("count: '[ab]', max: 9, where: 'data.id != 5'");
	take("a1~@1 a1_@2 b1@3 b1~@4 c1~@5");
	CHECK_EQ(judge.trials[0].cut, 2);
	CHECK_EQ(judge.trials[0].misfits, 1);
	end();
}

TEST(loss, "")
{
	CHECK_CASES(end,
		"loss: none",
		"a@1 => pass: nothing is missing",
		"a@1 !@2 => fail: events are missing",
		"a@1 !@2 open => fail: events are missing",
		"a@1 holed => fail: events are missing",
		"a@1 open => undecided: nothing is missing; the log has no end",
		", at_end: ignore <- a@1 open => pass: nothing is missing");
}

/* Ten thousand are open at a time, and many more have been. */
TEST(memory_grows_with_what_is_open, "")
{
	static const char *const kinds[] = {"after: a, expect: b, within: 1s, by: data.id",
					    "pair: [a, b], max: 1s, by: data.id"};

	for (size_t i = 0; i < 2; i++) {
		begin(kinds[i]);
		for (uint32_t key = 0; key < 300000; key++) {
			reader.event = (struct posix_trace_event_info){
				.posix_event_id = FIRST_ID,
				.posix_timestamp = {0, key},
			};
			reader.size = sizeof(key);
			for (int k = 0; k < 2; k++) {
				uint32_t answered = key - 10000;

				if (k && key < 10000)
					continue;
				reader.event.posix_event_id = (trace_event_id_t)(FIRST_ID + k);
				reader.data = (unsigned char *)(k ? &answered : &key);
				ptrc_view_find_layout(&view, rules.layouts);
				ptrc_judge_take(&judge, roles[FIRST_ID + k], &view, 0);
			}
			CHECK(judge.trials[0].table.count <= 10001);
			CHECK(judge.trials[0].answers.count <= 1001);
		}
		CHECK(judge.trials[0].table.slot_count <= 32768);
		CHECK_EQ(judge.trials[0].kept, 290000);
		end();
	}
}

/* The value is the one that was measured, also where it is less than a percent away from the bound. */
TEST(a_quantile_near_its_bound_is_shown_exactly, "")
{
	CHECK_CASES(end,
		"pair: [a, b], p50: '< 1ms' <- a@1 b@1002.001 a@2000 b@2999 a@4000 b@5001.5 => fail: 3 pairs; p50 1.001001ms (bound < 1ms) | 4000 took 1.0015ms | 1 took 1.001001ms");
}
/* clang-format on */
