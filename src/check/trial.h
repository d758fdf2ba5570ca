/* SPDX-License-Identifier: MIT */
/* The state of one rule: what was found while events were read, and the verdict at the end. */
#ifndef PTRC_SRC_CHECK_TRIAL_H
#define PTRC_SRC_CHECK_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "src/check/rule.h"
#include "src/spans/quantiles.h"
#include "src/base/table.h"
#include "src/query/hosts.h"

/* Identifies an event, so that it is found when the log is read a second time. */
struct ptrc_moment {
	int64_t ns;
	trace_event_id_t id;
	pid_t pid, tid;
	/* The index of the log that has the event. */
	unsigned int source;
};

/* The latest of some events (last), and the latest of those that are not of the thread of `last` (other). So for any
 * thread, the latest event of all other threads is one of these two. */
struct ptrc_recent {
	bool has_last, has_other;
	struct ptrc_moment last, other;
};

/* A case that breaks the rule or leaves it undecided: one event, or two. */
struct ptrc_case {
	/* How bad the case is; the worst has the greatest weight. */
	uint64_t weight;
	struct ptrc_moment at;
	bool has_other;
	struct ptrc_moment other;
	/* A description of what is wrong. The case owns this text and the following ones. */
	char *text;
	/* The events as lines of text. */
	char *line, *other_line;
	/* The name of the event type of `at`. It and the lines are NULL until the log has been read a second time. */
	char *name;
};

enum { PTRC_CASES = 3, PTRC_NOTES_MAX = PTRC_RULE_EVENTS_MAX + 8 };

/* The worst cases of a rule, at most PTRC_CASES. The worst one is first. */
struct ptrc_cases {
	struct ptrc_case list[PTRC_CASES];
	size_t count;
};

/* For pairs with the key at-most: how many pairs are certainly open. */
struct ptrc_open {
	/* The number of losses that the judge had seen when `count` was updated last. If it has seen more by now, the
	 * ends of these pairs may be lost, and `count` is out of date. */
	uint64_t gap_count;
	uint64_t count;
};

/* For pairs with the key at-most: an event by which more pairs were open than ever before. It is kept for as long as
 * the rule's tolerance, because an end event of another thread that comes within that time may count as earlier. */
struct ptrc_crowd {
	struct ptrc_moment at;
	/* The number of the event that opened the pair. */
	uint64_t event;
	/* The number of pairs that were open then, including this one. */
	uint64_t count;
};

/* Facts about the logs as a whole. */
struct ptrc_ending {
	/* The end of the recording (ptrc_judge_end_ns()), or of the selected time if that is earlier. */
	int64_t ns;
	/* The start of the selected time, or the time of the first event if that is later. */
	int64_t start_ns;
	/* The end of the selected time; INT64_MAX if it has none. A later event is taken only if it reports a loss. */
	int64_t last_ns;
	/* The number of places so far, in all logs, where events were lost. Each event that is read while another
	 * log is at such a place also adds 1: that log may have lost the event's answer or the end of its pair. */
	uint64_t gap_count;
	/* The part of gap_count that is due to times without recording: a call or command had stopped a trace, or
	 * --log-keep has deleted files. Rules about single events do not count events of these times as lost, but
	 * rules about two events do. */
	uint64_t stop_count;
	/* --log-keep has deleted the first files of a log. */
	bool has_deleted_files;
	/* The first files of a log were deleted, or are missing; or, when all events have been read, an event that is
	 * missing at an unknown time may have been the first of the trace. */
	bool lacks_start;
	/* first_gap_ns: the time of the first loss that was not a time without recording; valid if
	 * ptrc_ending_has_loss(). last_gap_ns: the time of the latest loss, or of the latest STOP or START that is
	 * counted in stop_count; valid if gap_count is not 0. */
	int64_t first_gap_ns, last_gap_ns;
	/* The time at which a log stopped whose later events are unknown (is_unclosed), while others went on; if
	 * there are several, the first such time. INT64_MAX if there is none. */
	int64_t early_end_ns;
	/* Events are missing, and it is unknown where. This member and the following ones are set when all
	 * events have been read. */
	bool has_unplaced_loss;
	/* A part of a log is damaged, but no event is missing because of that: only the kind loss fails then. */
	bool has_damaged_part;
	/* Events after the end of a log are unknown: it was not closed, or processes went on when its recording
	 * ended (has_gone_on). */
	bool is_unclosed, has_gone_on;
	/* All logs have an end, all their processes had ended by then, and the selected time includes the end. So no
	 * event can follow. */
	bool have_all_ended;
};

static inline bool ptrc_ending_has_loss(const struct ptrc_ending *e)
{
	return e->gap_count > e->stop_count;
}

enum ptrc_verdict { PTRC_VERDICT_PASS, PTRC_VERDICT_FAIL, PTRC_VERDICT_UNDECIDED };

struct ptrc_trial {
	const struct ptrc_rule *rule;
	int64_t tolerance_ns;
	/* The index of the rule's kind of key in ptrc_judge.keys. */
	size_t key;
	/* For the kind pair: the first event has come. If the rule has no key `by`, this event has decided whether a
	 * field or the thread pairs the rule's events. */
	bool is_bound;
	/* Bit i: some event type of the logs matches event i of the rule. */
	unsigned int has_type;
	/* The number of events that match the rule; for rules about two events, the number that match the
	 * first of them. */
	uint64_t matched;
	/* The numbers of events, or of keys for the kinds count, exists and order. kept: the rule
	 * is kept for them. broken: it is broken. doubtful: events that were lost may decide it.
	 * open: it was not decided when the log ended. Until the verdict, the kind pair counts in .kept the
	 * pairs that were measured, in .broken those of them that `max` or `min` forbids, in .doubtful the
	 * events whose other half may be lost, and in .open the pairs without an end. */
	uint64_t kept, broken, doubtful, open;
	/* The numbers of events that lack the field of the rule's key (without_key), of end events whose begin event is
	 * missing (unmatched_ends), and of end events and answers with an earlier time than the event that they end or
	 * answer (backwards). */
	uint64_t without_key, unmatched_ends, backwards;
	/* The number of events of which it is unknown whether they belong to the rule, because their data was
	 * cut (cut) or does not fit its layout (misfits). */
	uint64_t cut, misfits;
	/* The number (ptrc_judge.event_count) of the event that was counted last in `cut` or
	 * `misfits`, so that each event is counted once. */
	uint64_t maimed_event;
	/* The same of the event that was counted last in .without_key. */
	uint64_t keyless_event;
	/* Bit i: an event that matches event i of the rule lacks the field. */
	unsigned int lacks_key;
	/* The number of events of which it is unknown whether they belong to the rule, because
	 * matching a pattern of an expression would have taken too long. */
	uint64_t undecided;
	/* The worst cases, and the cases that are in doubt. For the kind pair, `worst` has pairs that are too long
	 * for a bound, `shortest` has pairs that are too short for one, and `shown` has the cases that are reported
	 * if the known pairs break the rule. */
	struct ptrc_cases worst, shortest, doubts, shown;

	/* One entry for each key of the rule. The type of the entries depends on the kind of the rule. */
	struct ptrc_table table;
	/* For the kind after: the keys with events that wait for an answer, one request for each key. */
	TAILQ_HEAD(ptrc_requests, ptrc_request) requests;
	/* For the kind after: answers that may belong to an event that is read later, but within the tolerance.
	 * `answers` finds them by key; `remembered` lists them in the order in which they expire. */
	struct ptrc_table answers;
	TAILQ_HEAD(ptrc_answers, ptrc_answer) remembered;
	/* For the kinds before and order: events that lack an event before them. That event may still follow within the
	 * tolerance, and then counts as earlier. */
	TAILQ_HEAD(ptrc_waitings, ptrc_waiting) waiting;
	/* For the kind exists: whether the moment from which `within` counts (the base) is known, whether an
	 * earlier base may have been lost, and whether the event was found in time. */
	bool has_base, is_base_doubtful, is_found;
	/* For the kind exists: the base, from which `within` counts. Without `of` it is the start of the log,
	 * and only its time is set. */
	struct ptrc_moment base;
	/* For the kind exists: the latest events of the key `exists` that were read before the base. */
	struct ptrc_recent early;
	/* An event that matches two events of a rule must not count for both. So this is the number of the last event
	 * that was used as: the base (exists); an event of the list (order); an answer (after); an event that had what
	 * it requires (before). */
	uint64_t used_event;
	/* For the kind order: the number of the last event that was counted in .matched. */
	uint64_t matched_event;
	/* For the kind order: the number of keys that break the rule, or may do so, because an event of the list
	 * is missing at the end. */
	uint64_t missing;
	/* For the kind order without a key. is_settled: all events of the list have happened. is_whole: they are in
	 * order, and no loss came before them. */
	bool is_settled, is_whole;
	/* For the kind pair: the number of begin and end events whose other half may be lost. Set by the verdict, which
	 * counts them in .doubtful, too. */
	uint64_t halves;
	/* For the kind pair: the durations; for each bound, the number of durations below it. */
	struct ptrc_quantiles lengths;
	uint64_t below[PTRC_RULE_BOUNDS_MAX];
	/* For the kind pair: for each bound, the number of pairs without an end that had lasted less than the bound
	 * when the log ended, or when events were lost. 0 if .is_final: these pairs count as endless. */
	uint64_t open_below[PTRC_RULE_BOUNDS_MAX];
	/* For the kind pair: the open pairs that no loss has cut off, the earliest one first. */
	TAILQ_HEAD(ptrc_begins, ptrc_begin) fresh_begins;
	/* For pairs with at-most, else NULL: the open pairs of each log. If the rule has the key `by`, only
	 * element 0 is used, for all logs together. */
	struct ptrc_open *sources;
	/* For pairs with at-most: the crowds (events that made more pairs open than ever before)
	 * that may still change, the earliest one first. */
	struct ptrc_crowd *crowds;
	size_t crowd_count;
	/* For pairs with at-most: the largest number of open pairs in a crowd that cannot change
	 * any more, and the event that opened the last of these pairs. */
	uint64_t most;
	struct ptrc_moment most_at;
	struct ptrc_cases crowded;

	const struct ptrc_ending *ending;
	/* No event can follow (ending->have_all_ended), and the rule does not have `at_end: ignore`. So a pair that
	 * is open will not end, and an event without an answer will get none. */
	bool is_final;

	/* The shortest of the rule's limits: `within` and the bounds of a pair; -1 if the rule has none. */
	int64_t limit_ns;
	/* The hosts of the logs and their clock errors; NULL if all logs are of one host. */
	const struct ptrc_hosts *hosts;
	/* The number of durations between events of two hosts that may be above or below limit_ns, because the
	 * error of the hosts' clocks is too large. */
	uint64_t unclear;
	/* The largest clock error of the durations in .unclear; PTRC_BOUND_UNKNOWN if an error is not known. */
	int64_t clock_error_ns;

	enum ptrc_verdict verdict;
	/* For the kind pair, bit i: the known pairs break bound i; losses may leave it undecided. */
	unsigned int broken_bounds;
	char *reason;
	char *notes[PTRC_NOTES_MAX];
	size_t note_count;
};

/* Keeps a case if it is among the worst ones. If cases are equally bad, those with the earliest event stay,
 * so that the result does not depend on the order of a hash table. `other` may be NULL. */
void __attribute__((format(printf, 5, 6)))
ptrc_cases_add(struct ptrc_cases *, uint64_t weight, const struct ptrc_moment *,
	       const struct ptrc_moment *other, const char *format, ...);

void ptrc_cases_free(struct ptrc_cases *);

void ptrc_recent_add(struct ptrc_recent *, const struct ptrc_moment *);

/* Whether the order of two events is unknown: they are of different threads, and no further apart than the
 * tolerance. */
bool ptrc_trial_is_near(const struct ptrc_trial *, const struct ptrc_moment *,
			const struct ptrc_moment *);

/* Whether the order of this event and of one of the remembered events is unknown. */
bool ptrc_trial_is_any_near(const struct ptrc_trial *, const struct ptrc_recent *,
			    const struct ptrc_moment *);

/* Counts durations between two events of different hosts as unclear if the clock error may change the result: the
 * error is larger than both the rule's limit and the difference between the duration and that limit. */
void ptrc_trial_compare_clocks(struct ptrc_trial *, const struct ptrc_moment *from,
			       const struct ptrc_moment *to, uint64_t count);

/* Decides a rule. Called when all events have been taken. Sets the verdict and its reason. */
void ptrc_trial_decide(struct ptrc_trial *);

/* Makes a rule fail that passes, for this reason. But if events may be missing because of which the reason is not true,
 * at_loss and at_end give the verdict. Returns false if the rule passes still. */
bool ptrc_trial_refute(struct ptrc_trial *, const char *reason);

/* Returns the cases that show why the verdict is what it is. */
struct ptrc_cases *ptrc_trial_cases(struct ptrc_trial *);

#endif
