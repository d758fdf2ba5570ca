/* SPDX-License-Identifier: MIT */
/* What is known of a rule while events come, and in the end. */
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

/* An event, as far as it takes to find it again. */
struct ptrc_moment {
	int64_t ns;
	trace_event_id_t id;
	pid_t pid, tid;
	/* The number of its log. */
	unsigned int source;
};

/* The last event of some, and the last one of another thread than that: of all threads but any one, the
 * last event is one of the two. */
struct ptrc_recent {
	bool has_last, has_other;
	struct ptrc_moment last, other;
};

/* An event, or two, that a rule is broken by, or that leave it undecided. */
struct ptrc_case {
	/* The greater, the worse. */
	uint64_t weight;
	struct ptrc_moment at;
	bool has_other;
	struct ptrc_moment other;
	/* What is the matter. The case owns its texts. */
	char *text;
	/* The events as lines of text, and the name of the first one; null as long as nobody has read
	 * them once more. */
	char *line, *other_line;
	char *name;
};

enum { PTRC_CASES = 3, PTRC_NOTES_MAX = PTRC_RULE_EVENTS_MAX + 8 };

/* Of a pair with at-most: how many are open for certain, of one source or of all, as begins after so many losses. */
struct ptrc_open {
	uint64_t gap_count;
	uint64_t count;
};

/* A begin with which more than ever were open, for as long as the tolerance: ends of other threads may count as
 * before it. */
struct ptrc_crowd {
	struct ptrc_moment at;
	/* The number of the event. */
	uint64_t event;
	uint64_t count;
};

struct ptrc_cases {
	struct ptrc_case list[PTRC_CASES];
	size_t count;
};

struct ptrc_ending;

enum ptrc_verdict { PTRC_VERDICT_PASS, PTRC_VERDICT_FAIL, PTRC_VERDICT_UNDECIDED };

/* What is known of a rule. */
struct ptrc_trial {
	const struct ptrc_rule *rule;
	int64_t tolerance_ns;
	/* The number of its key among those of the judge. */
	size_t key;
	/* Events that the rule is about: of two those that the first key names. */
	uint64_t matched;
	/* What the rule holds for, what it is broken by, what a loss leaves undecided, and what was open
	 * at the end of the log. Of a pair, what was measured, what had a loss between begin and end,
	 * and begins without an end. */
	uint64_t kept, broken, doubtful, open;
	/* Events that lack the field of the rule's key; ends of a pair that have no begin; pairs whose
	 * end has an earlier time. */
	uint64_t without_key, unmatched_ends, backwards;
	/* Events that lack what the rule asks for because their data was cut, or does not fit its
	 * layout; the number of the last one. */
	uint64_t cut, misfits;
	/* Events of which it could not be decided whether they are of the rule. */
	uint64_t undecided;
	uint64_t maimed_event;
	/* Of pair, worst are those that took longer than a bound allows, shortest the others that a bound
	 * does not allow; shown are those of all that break the rule. */
	struct ptrc_cases worst, shortest, doubts, shown;

	/* What there is by key. */
	struct ptrc_table table;
	/* Of after: the entries that are open, the latest one first; the answers that may belong to an
	 * event that is still to come, and these in the order in which they are to be forgotten. */
	TAILQ_HEAD(ptrc_requests, ptrc_request) requests;
	struct ptrc_table answers;
	TAILQ_HEAD(ptrc_answers, ptrc_answer) remembered;
	/* Of before: events that what they require may follow yet. */
	TAILQ_HEAD(ptrc_waitings, ptrc_waiting) waiting;
	/* Of exists: the moment from which the time counts, once it is known, and whether an earlier one
	 * may have been lost; the last events before it. */
	bool has_base, is_base_doubtful, is_found;
	/* That moment: the event, if the rule names one, else its time alone. */
	struct ptrc_moment base;
	struct ptrc_recent early;
	/* The number of the event that it is; of order, of the last event that is one of the list; of
	 * after, of the last answer; of before, of the last event that had what it requires. An event
	 * that is two of the rule's is not what it needs itself, and two are not each what the other
	 * needs. */
	uint64_t used_event;
	/* Of order: the number of the last event that was counted; the time of the last one that was the
	 * first of its type. */
	uint64_t matched_event;
	int64_t last_step_ns;
	/* Of pair: for each bound how many durations are below it. */
	struct ptrc_quantiles lengths;
	uint64_t below[PTRC_RULE_BOUNDS_MAX];
	/* The same of how long the begins without an end have been waiting by the end of the log. */
	uint64_t open_below[PTRC_RULE_BOUNDS_MAX];
	/* The pairs that are open, by source if the rule has no field; the begins that wait, the first one first;
	 * the most that were open at once, and with which begin. */
	struct ptrc_open *sources;
	struct ptrc_crowd *crowds;
	size_t crowd_count;
	uint64_t most;
	struct ptrc_moment most_at;
	struct ptrc_cases crowded;
	/* When events were lost last. */
	int64_t loss_ns;
	/* The end, once it has come; what is open then stays so. */
	const struct ptrc_ending *ending;
	bool is_final;
	/* Of order: those that are broken because an event has not come by the end. */
	uint64_t missing;
	/* Of order: whether the first event of each type has come without a loss before it, if the rule
	 * has no key. */
	bool is_whole;
	/* All of them have come. */
	bool is_settled;
	/* A bit for each event of the rule that an event type of the logs matches. */
	unsigned int has_type;

	/* The least duration that the rule compares others with; -1: it has none. Null hosts: there is only
	 * one, or none. */
	int64_t limit_ns;
	const struct ptrc_hosts *hosts;
	/* Durations between events of different hosts, whose clocks may be wrong by more than the limit
	 * together, and by more than the duration is away from it: how many, and the most that the clocks may
	 * be wrong. */
	uint64_t unclear;
	int64_t clock_error_ns;

	enum ptrc_verdict verdict;
	/* It is broken for certain. */
	bool is_broken;
	/* Of pair: a bit for each bound that is broken. */
	unsigned int broken_bounds;
	/* Why, in words. */
	char *reason;
	/* What else there is to be said. */
	char *notes[PTRC_NOTES_MAX];
	size_t note_count;
};

/* What is known when all events have been read. */
struct ptrc_ending {
	int64_t ns;
	int64_t start_ns;
	/* Places where events were lost, and the time of the first one. */
	uint64_t gap_count;
	int64_t first_gap_ns;
	/* When the first log that has no end ended before others did; INT64_MAX: none has. */
	int64_t early_end_ns;
	/* Something is missing, and it is not known where. */
	bool has_unplaced_loss;
	/* Parts of a log that have no events are damaged: only a rule about losses asks for those. */
	bool has_damaged_part;
	/* A log has no end. */
	bool is_unclosed;
	/* All logs have an end, and by then their processes had ended: what has not happened never will. */
	bool have_all_ended;
};

/* Decides a rule when all events have been taken, and says why in words. */
void ptrc_trial_decide(struct ptrc_trial *, const struct ptrc_ending *);

/* The cases that show why the verdict is what it is. */
struct ptrc_cases *ptrc_trial_cases(struct ptrc_trial *);

#endif
