/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/query/thread_gap.h"

#include "src/fields/when.h"

/* The last event of a thread. */
struct thread {
	struct ptrc_table_entry entry;
	int64_t ns;
	/* 1 + the number of places with lost events before this event. 0: the thread has had no
	 * event yet. Two events of a thread with the same value have no loss between them. */
	uint64_t period;
};

int64_t ptrc_thread_gap_take(struct ptrc_thread_gap *b, const struct posixtrace_event *event,
			     bool is_loss)
{
	const struct posix_trace_event_info *e = &event->pt_info;
	int64_t ns = ptrc_when_ns(&e->posix_timestamp);
	int64_t since = PTRC_THREAD_GAP_NONE;
	struct {
		pid_t pid, tid;
		pthread_t thread;
	} key = {e->posix_pid, e->posix_tid, e->posix_thread_id};
	struct thread *t;

	if (e->posix_tid) {
		t = ptrc_table_find(&b->threads, &key, sizeof(key), sizeof(*t));
		if (t->period == b->period + 1)
			since = ptrc_when_subtract(ns, t->ns);
		t->ns = ns;
		t->period = b->period + 1;
	}
	/* Counts a loss after the event that reports it: lost events follow a STOP, so the next event of the thread
	 * that has recorded the STOP has no gap. */
	b->period += is_loss;
	return since;
}

void ptrc_thread_gap_forget(struct ptrc_thread_gap *b)
{
	ptrc_table_free(&b->threads);
	*b = (struct ptrc_thread_gap){0};
}
