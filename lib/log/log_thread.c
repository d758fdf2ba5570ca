/* SPDX-License-Identifier: MIT */
#include "lib/log/log_thread.h"

#include <string.h>
#include <time.h>

#include "lib/base/atomic.h"
#include "lib/base/digits.h"
#include "lib/base/procfs.h"
#include "lib/log/log_aside.h"
#include "lib/log/log_process.h"
#include "lib/stream/clock.h"
#include "lib/stream/slots.h"

/* For each slot, how long the keeper waits until it looks through them again: a hundred times of what a
 * look takes it. */
#define SCAN_NS INT64_C(5000)
/* A known thread is looked at again no sooner. Each change, and each look that finds nothing, doubles the
 * time, so that one which changes all the time does not fill the log. */
#define LOOK_NS INT64_C(1000000000)
#define LOOK_DOUBLINGS 12U
/* So many looks at most delay a flush: some 2 ms. */
#define LOOKS_MAX 512U
/* Of the table of threads. */
#define KNOWN_SIZE 16384U
/* Names that wait for a flush. */
#define PENDING_MAX (UINT64_C(1) << 20)
/* Of a packet. */
#define THREADS_MAX 2048U

struct known {
	int32_t tid, pid;
	uint64_t claim_ms; /* when it took its slot; CLOCK_BOOTTIME */
	int64_t next_look_ns;
	uint32_t doublings;
	bool is_told; /* the log has a name of this number */
	char name[PTRC_LOG_THREAD_NAME];
};

void ptrc_log_threads_begin(struct ptrc_log_writer *w)
{
	struct ptrc_log_threads *t = &w->threads;

	ptrc_log_table_clear(&t->known);
	t->next_scan_ns = 0;
	t->pending.used = 0;
}

void ptrc_log_threads_free(struct ptrc_log_threads *t)
{
	ptrc_log_buffer_free(&t->known.items);
	ptrc_log_buffer_free(&t->pending);
	memset(t, 0, sizeof(*t));
}

/* Reads the name, without the line feed behind it; an empty one if the thread has ended. */
static void read_name(int pid, int tid, char name[PTRC_LOG_THREAD_NAME])
{
	char rest[32] = "task/", text[PTRC_LOG_THREAD_NAME + 1];
	char *at = ptrc_digits_put(rest + 5, (unsigned int)tid);
	size_t bytes;

	memcpy(at, "/comm", 6);
	bytes = ptrc_procfs_read(pid, rest, text, sizeof(text));
	if (bytes && text[bytes - 1] == '\n')
		bytes--;
	if (bytes > PTRC_LOG_THREAD_NAME)
		bytes = PTRC_LOG_THREAD_NAME;
	memset(name, 0, PTRC_LOG_THREAD_NAME);
	memcpy(name, text, bytes);
}

/* By the clock of the events: a moment before the thread took its slot, which is before its first
 * event. */
static int64_t time_of_claim(const struct ptrc_log_writer *w, uint64_t claim_ms)
{
	uint64_t age = (uint64_t)ptrc_clock_ns(CLOCK_BOOTTIME) - claim_ms * 1000000 + 1000000;

	return (int64_t)((uint64_t)ptrc_log_realtime_now(w) - age);
}

/* Looks at a thread if that is due. Returns whether it did. */
static bool look(struct ptrc_log_writer *w, int pid, int tid, uint64_t claim_ms, int64_t now)
{
	struct ptrc_log_thread thread = {.pid = pid, .tid = tid};
	struct known *known =
		ptrc_log_table_find(&w->threads.known, tid, sizeof(*known), KNOWN_SIZE);
	bool is_new;

	if (!known)
		return false;
	/* The number may be that of another thread by now. */
	is_new = known->pid != pid || known->claim_ms < claim_ms;
	if (!is_new && now < known->next_look_ns)
		return false;
	if (is_new)
		known->doublings = 0;
	known->pid = pid;
	known->claim_ms = claim_ms;
	read_name(pid, tid, thread.name);
	known->next_look_ns = now + (LOOK_NS << known->doublings);
	/* An ended thread keeps the name that was seen of it. Of a new one that was never seen the log
	 * must not tell that of the one before. */
	if (known->is_told ? memcmp(known->name, thread.name, sizeof(known->name)) != 0 &&
				     (is_new || thread.name[0])
			   : thread.name[0] != '\0') {
		thread.from_ns = is_new ? time_of_claim(w, claim_ms) : ptrc_log_realtime_now(w);
		if (w->threads.pending.used < PENDING_MAX &&
		    ptrc_log_buffer_add(&w->threads.pending, &thread, sizeof(thread)))
			w->threads.pending.is_short = false;
		memcpy(known->name, thread.name, sizeof(known->name));
		known->is_told = true;
		known->doublings += !is_new && known->doublings < LOOK_DOUBLINGS;
	} else if (!thread.name[0]) {
		known->doublings += known->doublings < LOOK_DOUBLINGS;
	}
	return true;
}

void ptrc_log_threads_look(struct ptrc_log_writer *w, bool is_last)
{
	const struct ptrc_stream_header *h = w->origin;
	const struct ptrc_slot *slots;
	int64_t now = ptrc_clock_ns(CLOCK_MONOTONIC);
	uint32_t used, looks = 0;

	if (!h || (!is_last && now < w->threads.next_scan_ns))
		return;
	slots = (const void *)((const char *)h + PTRC_STREAM_SLOT_OFFSET);
	used = ptrc_slots_used(h);
	w->threads.next_scan_ns = now + used * SCAN_NS;
	for (uint32_t i = 0; i < used && looks < LOOKS_MAX; i++) {
		uint64_t owner = ptrc_load_acquire(&slots[i].owner);
		int pid = ptrc_load_relaxed(&slots[i].pid), tid = ptrc_slot_tid(owner);

		/* The name of a first thread is that of the process. A slot that was only just claimed
		 * may still have the pid of its owner before. */
		if (tid <= 0 || pid <= 0 || tid == pid || !ptrc_load_relaxed(&slots[i].image) ||
		    !ptrc_log_processes_has_proc(w))
			continue;
		looks += look(w, pid, tid, owner & PTRC_SLOT_CLAIM_MASK, now);
	}
}

void ptrc_log_threads_write(struct ptrc_log_writer *w)
{
	struct ptrc_log_buffer *pending = &w->threads.pending;
	uint64_t at = 0;

	ptrc_log_threads_look(w, false);
	while (at < pending->used) {
		uint64_t bytes = pending->used - at;

		if (bytes > THREADS_MAX * sizeof(struct ptrc_log_thread))
			bytes = THREADS_MAX * sizeof(struct ptrc_log_thread);
		if (!ptrc_log_aside_put(w, PTRC_LOG_THREADS, pending->bytes + at, bytes))
			break;
		at += bytes;
	}
	if (at)
		memmove(pending->bytes, pending->bytes + at, pending->used - at);
	pending->used -= at;
}
