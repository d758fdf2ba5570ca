/* SPDX-License-Identifier: MIT */
/* The state of one rule: what has been found while events are read, and the verdict in the end. */
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

/* What identifies an event when the log is read once more. */
struct ptrc_moment {
	int64_t ns;
	trace_event_id_t id;
	pid_t pid, tid;
	/* The number of its log. */
	unsigned int source;
};

/* The last event of a group, and the last one of another thread than that. Whichever thread is left out, the last
 * event of all other threads is one of the two. */
struct ptrc_recent {
	bool has_last, has_other;
	struct ptrc_moment last, other;
};

/* One event or two that break a rule or leave it undecided. */
struct ptrc_case {
	/* The greater, the worse. */
	uint64_t weight;
	struct ptrc_moment at;
	bool has_other;
	struct ptrc_moment other;
	/* The complaint. The case owns its texts. */
	char *text;
	/* The events as lines of text, and the name of the first one; NULL until they have been read once more. */
	char *line, *other_line;
	char *name;
};

enum { PTRC_CASES = 3, PTRC_NOTES_MAX = PTRC_RULE_EVENTS_MAX + 8 };

/* The worst cases, in descending order. */
struct ptrc_cases {
	struct ptrc_case list[PTRC_CASES];
	size_t count;
};

/* pair with at-most: the number of pairs that are certainly open. It is valid while the number of losses is
 * gap_count: a later loss may have hidden the ends. */
struct ptrc_open {
	uint64_t gap_count;
	uint64_t count;
};

/* pair with at-most: an event that opened a pair when more were open than ever before. It is kept for as long as the
 * tolerance, because ends in other threads may count as earlier. */
struct ptrc_crowd {
	struct ptrc_moment at;
	/* The number of the event. */
	uint64_t event;
	uint64_t count;
};

/* Facts about the logs as a whole. */
struct ptrc_ending {
	/* The times of the last event and the first one, within the selected span. */
	int64_t ns;
	int64_t start_ns;
	/* Places where events were lost so far, in all logs, plus the events while another log was at such a place;
	 * the times of the first place and the last one. */
	uint64_t gap_count;
	int64_t first_gap_ns, last_gap_ns;
	/* The time of the last event of the first log that has no end and stopped before others did; INT64_MAX:
	 * there is none. */
	int64_t early_end_ns;
	/* The rest is set when all events have been read. Something is missing at an unknown place. */
	bool has_unplaced_loss;
	/* Parts of a log that have no events are damaged, which matters only to a rule about losses. */
	bool has_damaged_part;
	/* A log has no end. */
	bool is_unclosed;
	/* All logs have an end and all their processes had ended by then: what has not happened never will. */
	bool have_all_ended;
};

enum ptrc_verdict { PTRC_VERDICT_PASS, PTRC_VERDICT_FAIL, PTRC_VERDICT_UNDECIDED };

struct ptrc_trial {
	const struct ptrc_rule *rule;
	int64_t tolerance_ns;
	/* The index of the rule's key in the judge's list. */
	size_t key;
	/* A bit for each event of the rule that some event type of the logs matches. */
	unsigned int has_type;
	/* Events of the rule; for rules about two events those of the first one. */
	uint64_t matched;
	/* Events or keys for which the rule is kept, is broken, is uncertain because of a loss, and was open at the
	 * end of the log. For pair: pairs that were measured; unused; events with a loss before their other half;
	 * pairs without an end. */
	uint64_t kept, broken, doubtful, open;
	/* Events without the field of the rule's key; ends of pairs that were not open; pairs and answers whose end
	 * has an earlier time than their start. */
	uint64_t without_key, unmatched_ends, backwards;
	/* Events whose data was cut, or does not fit its layout, so that they may be of the rule; the number of the
	 * last one, which is counted once. */
	uint64_t cut, misfits;
	uint64_t maimed_event;
	/* Events for which a pattern took too long to decide whether they are of the rule. */
	uint64_t undecided;
	/* For pair, `worst` has those that are too long for a bound, `shortest` those that are too short for one, and
	 * `shown` the ones of them that broke the rule. */
	struct ptrc_cases worst, shortest, doubts, shown;

	/* An entry for each key. */
	struct ptrc_table table;
	/* after: the open requests, the latest one first; the answers that may belong to an event that is still to
	 * come, by key and in the order in which they expire. */
	TAILQ_HEAD(ptrc_requests, ptrc_request) requests;
	struct ptrc_table answers;
	TAILQ_HEAD(ptrc_answers, ptrc_answer) remembered;
	/* before: events without what they require, which may follow within the tolerance. */
	TAILQ_HEAD(ptrc_waitings, ptrc_waiting) waiting;
	/* exists: whether the moment that `within` counts from is known, and whether an earlier one may have been
	 * lost. */
	bool has_base, is_base_doubtful, is_found;
	/* exists: that moment. Without `of` only its time is set: the start of the log. */
	struct ptrc_moment base;
	/* exists: the last events before the base. */
	struct ptrc_recent early;
	/* An event may match two events of a rule, but does not fulfil its own condition. So this is the number of
	 * the last event that was, for exists, the base; for order, one of the list; for after, an answer; for
	 * before, one that had what it requires. */
	uint64_t used_event;
	/* order: the number of the last event that was counted; the time of the last one that was the first of its
	 * type; keys that are broken because an event is missing at the end. */
	uint64_t matched_event;
	int64_t last_step_ns;
	uint64_t missing;
	/* order: the time of the latest loss. */
	int64_t loss_ns;
	/* order without a key: all events have come, and without a loss before them. */
	bool is_settled, is_whole;
	/* pair: for each bound, how many durations are below it; and how many of the pairs without an end had lasted
	 * less than it at the end of the log. */
	struct ptrc_quantiles lengths;
	uint64_t below[PTRC_RULE_BOUNDS_MAX];
	uint64_t open_below[PTRC_RULE_BOUNDS_MAX];
	/* pair with at-most, else NULL: the open pairs of each log; if the rule has a field, element 0 has those of
	 * all. */
	struct ptrc_open *sources;
	/* pair with at-most: the crowds that are not final yet, the earliest one first; the largest of the others. */
	struct ptrc_crowd *crowds;
	size_t crowd_count;
	uint64_t most;
	struct ptrc_moment most_at;
	struct ptrc_cases crowded;

	const struct ptrc_ending *ending;
	/* No event will follow, so what is open stays open. */
	bool is_final;

	/* The least duration that the rule compares others with; -1: none. */
	int64_t limit_ns;
	/* NULL: all logs are of one host. */
	const struct ptrc_hosts *hosts;
	/* How many durations between events of two hosts are on an unknown side of the limit, because the clocks may
	 * be wrong by more than their distance from it; and the largest such clock error. */
	uint64_t unclear;
	int64_t clock_error_ns;

	enum ptrc_verdict verdict;
	/* The events that exist are enough to break the rule. */
	bool is_broken;
	/* pair: a bit for each bound that is broken. */
	unsigned int broken_bounds;
	char *reason;
	char *notes[PTRC_NOTES_MAX];
	size_t note_count;
};

/* Decides a rule when all events have been taken. Sets the verdict and its reason. */
void ptrc_trial_decide(struct ptrc_trial *);

/* The cases that show why the verdict is what it is. */
struct ptrc_cases *ptrc_trial_cases(struct ptrc_trial *);

#endif
