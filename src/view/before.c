/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/view/before.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/message.h"
#include "src/view/losses.h"
#include "src/view/when.h"

enum { SIZE_FIRST = 64 };

static bool is_of(const struct ptrc_before_thread *t, const struct posix_trace_event_info *e)
{
	return t->tid == e->posix_tid && t->thread == e->posix_thread_id && t->pid == e->posix_pid;
}

static uint64_t hash(pid_t pid, pid_t tid, pthread_t thread)
{
	uint64_t h = ((uint64_t)(uint32_t)pid << 32 | (uint32_t)tid) ^ (uint64_t)thread;

	h *= UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 32;
}

/* The entry of the thread, or a free one in its place. */
static struct ptrc_before_thread *find(const struct ptrc_before *b,
				       const struct posix_trace_event_info *e)
{
	uint64_t at = hash(e->posix_pid, e->posix_tid, e->posix_thread_id);
	struct ptrc_before_thread *t;

	do
		t = &b->threads[at++ & (b->size - 1)];
	while (t->period && !is_of(t, e));
	return t;
}

static void grow(struct ptrc_before *b)
{
	struct ptrc_before_thread *old = b->threads;
	size_t old_size = b->size;

	b->size = old_size ? 2 * old_size : SIZE_FIRST;
	b->threads = ptrc_cli_allocate(b->size * sizeof(*b->threads));
	memset(b->threads, 0, b->size * sizeof(*b->threads));
	for (size_t i = 0; i < old_size; i++) {
		struct posix_trace_event_info e = {
			.posix_pid = old[i].pid,
			.posix_tid = old[i].tid,
			.posix_thread_id = old[i].thread,
		};

		if (old[i].period)
			*find(b, &e) = old[i];
	}
	free(old);
}

/* The entry of the event's thread, which is made if there is none. */
static struct ptrc_before_thread *entry_of(struct ptrc_before *b,
					   const struct posix_trace_event_info *e)
{
	struct ptrc_before_thread *t = b->last;

	/* Mostly an event is of the same thread as the one before it. */
	if (t && is_of(t, e))
		return t;
	if (2 * b->count >= b->size)
		grow(b);
	t = find(b, e);
	if (!t->period) {
		*t = (struct ptrc_before_thread){
			.pid = e->posix_pid,
			.tid = e->posix_tid,
			.thread = e->posix_thread_id,
		};
		b->count++;
	}
	b->last = t;
	return t;
}

int64_t ptrc_before_take(struct ptrc_before *b, const struct posixtrace_event *event)
{
	const struct posix_trace_event_info *e = &event->pt_info;
	int64_t ns = ptrc_when_ns(&e->posix_timestamp);
	int64_t since = PTRC_BEFORE_NONE;
	struct ptrc_before_thread *t;

	if (e->posix_tid) {
		t = entry_of(b, e);
		if (t->period == b->period + 1)
			since = ptrc_when_subtract(ns, t->ns);
		t->ns = ns;
		t->period = b->period + 1;
	}
	/* Also of a STOP that has a thread, what follows is behind the loss. */
	b->period += ptrc_is_loss(e->posix_event_id, event->pt_data, event->pt_size);
	return since;
}

void ptrc_before_forget(struct ptrc_before *b)
{
	free(b->threads);
	*b = (struct ptrc_before){0};
}
