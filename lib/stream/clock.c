/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/clock.h"

#include <time.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/sys.h"
#include "lib/base/thread_life.h"
#include "lib/stream/pool.h"

/* The first clock entries of a stream are a millisecond apart, later ones a second. */
#define ENTRY_INTERVAL_MIN_NS INT64_C(1000000)
#define ENTRY_INTERVAL_MAX_NS INT64_C(1000000000)
/* A search for a clock entry gives up after this many unusable entries in a row. An entry is
 * unusable if the thread that appended it died, or was too slow, before the entry was complete. */
#define ABANDONED_MAX 64
/* How often a thread looks at the appender, the thread that is appending a clock entry, before it
 * takes over. An appender that is running finishes sooner. */
#define APPEND_TRIES 200
/* The counter's rate for a new clock entry is measured over the time since the entry that is this
 * many entries older. */
#define RATE_ENTRIES 6

#if defined(__x86_64__)
static void cpuid(uint32_t leaf, uint32_t r[4])
{
	__asm__ volatile("cpuid"
			 : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3])
			 : "a"(leaf), "c"(0));
}
#endif

bool ptrc_counter_is_usable(void)
{
#if defined(__x86_64__)
	uint32_t r[4];

	/* "Invariant TSC": it has a constant rate and runs in every sleep state. */
	cpuid(0x80000000U, r);
	if (r[0] < 0x80000007U)
		return false;
	cpuid(0x80000007U, r);
	return (r[3] & (1U << 8)) != 0;
#else
	return true; /* the architecture guarantees this for cntvct_el0 */
#endif
}

uint64_t ptrc_stream_now(const struct ptrc_stream_header *h)
{
	if (ptrc_load_relaxed(&h->control) & PTRC_CTL_MONO)
		return (uint64_t)ptrc_clock_ns(CLOCK_MONOTONIC);
	return ptrc_counter();
}

/* An interrupt may occur between the two reads, so the function tries a few times and uses the
 * try in which the reads were closest together. */
void ptrc_clock_pair(uint64_t *counter, int64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 4; i++) {
		uint64_t before = ptrc_counter();
		int64_t now = ptrc_clock_ns(CLOCK_MONOTONIC);
		uint64_t width = ptrc_counter() - before;

		if (width < best) {
			best = width;
			*counter = before + width / 2;
			*ns = now;
		}
	}
}

static int64_t scale(uint64_t ticks, uint64_t mult)
{
	return (int64_t)(uint64_t)((unsigned __int128)ticks * mult >> PTRC_CLOCK_SHIFT);
}

/* Addition and subtraction that wrap around, because the operands come from shared memory and may
 * have any value. */
static int64_t add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t subtract(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static uint64_t rate(int64_t ns, uint64_t ticks)
{
	return (uint64_t)(((unsigned __int128)(uint64_t)ns << PTRC_CLOCK_SHIFT) / ticks);
}

/* The pair of counter and time from which the rate of a new stream's first entry is measured. The
 * thread that changes first_state from 0 to 1 writes the pair and then stores 2. Meanwhile other
 * threads use pairs of their own. */
static _Atomic int first_state;
static uint64_t first_counter;
static int64_t first_ns;

static void first_pair(uint64_t *counter, int64_t *ns)
{
	int state = ptrc_load_acquire(&first_state);

	if (state == 2) {
		*counter = first_counter;
		*ns = first_ns;
		return;
	}
	ptrc_clock_pair(counter, ns);
	state = 0;
	if (!atomic_compare_exchange_strong(&first_state, &state, 1))
		return;
	first_counter = *counter;
	first_ns = *ns;
	ptrc_store_release(&first_state, 2);
}

void ptrc_clock_first_pair(void)
{
	uint64_t counter;
	int64_t ns;

	if (ptrc_counter_is_usable())
		first_pair(&counter, &ns);
}

void ptrc_clock_init(struct ptrc_stream_header *h)
{
	struct ptrc_clock_entry *e = ptrc_stream_clock(h);
	uint64_t counter = 0, mult, since;
	int64_t ns = 0, since_ns;

	if (h->control & PTRC_CTL_MONO) {
		h->t0 = (uint64_t)ptrc_clock_ns(CLOCK_MONOTONIC);
		h->delta_max = UINT32_MAX;
		h->clock_due = UINT64_MAX;
		mult = UINT64_C(1) << PTRC_CLOCK_SHIFT;
		counter = h->t0;
		ns = (int64_t)h->t0;
	} else {
		first_pair(&since, &since_ns);
		/* A rate measured over less than 2 ms would be too inaccurate. */
		do
			ptrc_clock_pair(&counter, &ns);
		while (ns - since_ns < 2000000);
		mult = rate(ns - since_ns, counter - since);
		h->t0 = counter;
		/* The time in a record is relative to an earlier stamp, and has 32 bits: in ticks
		 * in a stream, in ns in a log. So delta_max is 4 s at most. */
		h->delta_max = rate(4000000000, 1) / mult;
		if (h->delta_max > UINT32_MAX)
			h->delta_max = UINT32_MAX;
		h->clock_due = counter + rate(ENTRY_INTERVAL_MIN_NS, 1) / mult;
	}
	h->realtime_offset = ptrc_clock_ns(CLOCK_REALTIME) - ptrc_clock_ns(CLOCK_MONOTONIC);
	ptrc_store_relaxed(&e[0].counter, counter);
	ptrc_store_relaxed(&e[0].ns, ns);
	ptrc_store_relaxed(&e[0].true_ns, ns);
	ptrc_store_relaxed(&e[0].due, h->clock_due);
	ptrc_store_relaxed(&e[0].mult, mult);
	ptrc_store_release(&h->clock_word, UINT64_C(1) << 32);
}

struct entry {
	uint64_t counter, mult, due;
	int64_t ns, true_ns;
};

static struct ptrc_clock_entry *entry_at(const struct ptrc_stream_header *h, uint64_t index)
{
	return &ptrc_stream_clock(
		(struct ptrc_stream_header *)(uintptr_t)h)[index % PTRC_CLOCK_ENTRY_COUNT];
}

/* Loads an entry. Its `mult` is 0 if it was given up or never written. */
static struct entry load_entry(const struct ptrc_stream_header *h, uint64_t index)
{
	const struct ptrc_clock_entry *p = entry_at(h, index);
	uint64_t mult = ptrc_load_acquire(&p->mult);

	return (struct entry){
		.counter = ptrc_load_relaxed(&p->counter),
		.due = ptrc_load_relaxed(&p->due),
		.mult = mult == PTRC_CLOCK_GIVEN_UP ? 0 : mult,
		.ns = ptrc_load_relaxed(&p->ns),
		.true_ns = ptrc_load_relaxed(&p->true_ns),
	};
}

/* Returns the entry at *index if it is usable, else the last usable entry before it, but none
 * before index `low`. Stores its index in *index. */
static struct entry last_entry(const struct ptrc_stream_header *h, uint64_t *index, uint64_t low)
{
	struct entry e = load_entry(h, *index);

	for (unsigned back = 0; e.mult == 0 && *index > low && back < ABANDONED_MAX; back++)
		e = load_entry(h, --*index);
	return e;
}

/*
 * Appending. clock_word is the number of entries << 32 | the thread that is appending an entry (the
 * appender). If the appender is dead or slow, another thread takes over. A slow appender may
 * continue at any later time. So an appender changes what other processes see only by a CAS, and
 * the expected value of the CAS is one that it read while clock_word still had its thread ID.
 *
 * Entries up to and including index `count` have memory, because a process reserves memory for
 * the next entry before it raises the count. On a full file system, accessing an entry without
 * memory raises SIGBUS. If there is no memory for another entry, the last entry is extended: it
 * stays valid for longer.
 */
static bool make_real(struct ptrc_stream_header *h, uint64_t index)
{
	return ptrc_file_populate(entry_at(h, index), sizeof(struct ptrc_clock_entry));
}

static bool change_word(struct ptrc_stream_header *h, uint64_t from, uint64_t to)
{
	return ptrc_cas(&h->clock_word, &from, to);
}

/* Whether this thread, which had stored `word`, is still the one that appends a clock entry. */
static bool has_word(struct ptrc_stream_header *h, uint64_t word)
{
	return ptrc_load_acquire(&h->clock_word) == word;
}

/* Makes this thread the appender in place of the appender that `word` names. The old appender may
 * be storing its entry, so the index of that entry is given up. If there is no memory for another
 * entry, the index is kept: an appender stores only if it has that memory, so the old appender has
 * not started, and it will not start, because it sees that clock_word has changed. Returns the new
 * word, or 0 if a third thread has become the appender. */
static uint64_t take_over(struct ptrc_stream_header *h, uint64_t word, uint32_t tid)
{
	uint64_t mine = (word & ~(uint64_t)UINT32_MAX) | tid, count = word >> 32;

	if (!change_word(h, word, mine))
		return 0;
	if (!make_real(h, count + 1))
		return mine;
	if (!has_word(h, mine))
		return 0;
	atomic_exchange_explicit(&entry_at(h, count)->mult, PTRC_CLOCK_GIVEN_UP,
				 memory_order_acq_rel);
	return change_word(h, mine, (count + 1) << 32 | tid) ? (count + 1) << 32 | tid : 0;
}

/* Makes this thread the appender. Returns the new word, or 0 if no entry is due any more. */
static uint64_t take_word(struct ptrc_stream_header *h, uint64_t now)
{
	uint32_t tid = (uint32_t)ptrc_sys_gettid();
	uint64_t before = 0;

	for (unsigned tries = 0;; tries++) {
		uint64_t word, mine;

		if (now < ptrc_load_acquire(&h->clock_due))
			return 0;
		word = ptrc_load_acquire(&h->clock_word);
		if (word != before)
			tries = 0; /* a new appender gets the full number of tries */
		before = word;
		if ((uint32_t)word == 0) {
			if (change_word(h, word, word | tid))
				return word | tid;
		} else if (tries > APPEND_TRIES || ptrc_thread_is_gone((int)(uint32_t)word)) {
			mine = take_over(h, word, tid);
			if (mine)
				return mine;
		} else {
			ptrc_sys(SYS_sched_yield, 0);
		}
	}
}

/* For how many ns an entry that starts at stamp `counter` is valid. */
static int64_t interval_after(const struct ptrc_stream_header *h, uint64_t counter, uint64_t mult)
{
	int64_t interval = scale(counter - h->t0, mult) / 8;

	if (interval < ENTRY_INTERVAL_MIN_NS)
		return ENTRY_INTERVAL_MIN_NS;
	return interval < ENTRY_INTERVAL_MAX_NS ? interval : ENTRY_INTERVAL_MAX_NS;
}

static uint64_t ticks_of(int64_t ns, uint64_t mult)
{
	return rate(ns, 1) / (mult ? mult : 1);
}

/* Appends an entry that is valid from stamp `counter` on, which was read at time `ns`. The entry
 * before it, `last`, is valid up to stamp *due. Sets *due to the stamp up to which the new entry is
 * valid. Returns false if another thread has become the appender. */
static bool append(struct ptrc_stream_header *h, uint64_t word, const struct entry *last,
		   uint64_t counter, int64_t ns, uint64_t *due)
{
	uint64_t count = word >> 32, seen, mult;
	struct ptrc_clock_entry *e = entry_at(h, count);
	int64_t reached, interval, excess;
	struct entry old;

	/* The new entry must not change times up to *due. No event has a stamp from *due on yet, so
	 * if the stream's time is less than CLOCK_MONOTONIC, it may jump forward. */
	reached = add(last->ns, scale(*due - last->counter, last->mult));
	old = load_entry(h, count > RATE_ENTRIES ? count - RATE_ENTRIES : 0);
	if (old.mult == 0 || counter - old.counter < 1000)
		old = load_entry(h, 0);
	mult = ns > old.true_ns && counter > old.counter
		       ? rate(subtract(ns, old.true_ns), counter - old.counter)
		       : last->mult;
	interval = interval_after(h, counter, mult);
	*due = counter + ticks_of(interval, mult);
	excess = subtract(reached, ns);
	if (excess > 0) { /* the stream's time is ahead: let it run slower for one interval */
		int64_t slow = excess < interval / 2 ? excess : interval / 2;

		mult -= (uint64_t)((unsigned __int128)mult * (uint64_t)slow / (uint64_t)interval);
	}
	seen = ptrc_load_acquire(&e->mult);
	if (!has_word(h, word))
		return false;
	ptrc_store_relaxed(&e->counter, counter);
	ptrc_store_relaxed(&e->ns, excess > 0 ? reached : ns);
	ptrc_store_relaxed(&e->true_ns, ns);
	ptrc_store_relaxed(&e->due, *due);
	/* Storing mult makes the entry valid, unless another process has given up its index. */
	return ptrc_cas(&e->mult, &seen, mult);
}

void ptrc_clock_update(struct ptrc_stream_header *h, uint64_t now)
{
	uint64_t word, count, index, due, counter = 0, said;
	int64_t ns = 0;
	struct entry last;
	bool has_room;

	if (now < ptrc_load_acquire(&h->clock_due))
		return;
	word = take_word(h, now);
	if (word == 0)
		return;
	count = word >> 32;
	index = count - 1;
	last = last_entry(h, &index, 0);
	due = last.due > last.counter ? last.due : last.counter;
	/* The thread that appended the last entry may have died before it stored clock_due. */
	ptrc_stream_raise(&h->clock_due, due);
	has_room = make_real(h, count + 1);
	ptrc_clock_pair(&counter, &ns);
	if (now < due || counter < due || counter <= last.counter || last.mult == 0)
		goto out;
	/* Two threads may both believe that they are the appender. The CAS on the last entry's
	 * due succeeds for only one of them. due + 1 means that an entry follows, so the last
	 * entry can no longer be extended. A larger value means that the last entry is extended
	 * and no entry follows yet. */
	said = has_room ? last.due + 1
			: counter + ticks_of(interval_after(h, counter, last.mult), last.mult);
	if (!has_word(h, word) || !ptrc_cas(&entry_at(h, index)->due, &last.due, said))
		goto out;
	if (!has_room) {
		ptrc_stream_raise(&h->clock_due, said);
		goto out;
	}
	/* The entry is stored first, then the count that includes it, then the new clock_due. So
	 * a reader that sees an event with a stamp that only the new clock_due allows also finds
	 * the entry. */
	if (append(h, word, &last, counter, ns, &due) && change_word(h, word, (count + 1) << 32)) {
		ptrc_stream_raise(&h->clock_due, due);
		return;
	}
out:
	change_word(h, word, count << 32);
}

static int64_t in_entry(const struct entry *e, uint64_t counter)
{
	if (counter >= e->counter)
		return add(e->ns, scale(counter - e->counter, e->mult));
	/* The stamp is older than the oldest entry. */
	return subtract(e->ns, scale(e->counter - counter, e->mult));
}

int64_t ptrc_clock_look_up(const struct ptrc_stream_header *h, struct ptrc_clock_cursor *c,
			   uint64_t counter)
{
	uint64_t count, due, low, high;
	struct entry e, next;

	/* clock_due is read before the count. If clock_due changes between the two reads, the
	 * cursor only takes its copy of the entry to be valid for a shorter time. */
	due = ptrc_load_acquire(&h->clock_due);
	count = ptrc_load_acquire(&h->clock_word) >> 32;
	low = count > PTRC_CLOCK_ENTRY_COUNT ? count - PTRC_CLOCK_ENTRY_COUNT + 1 : 0;
	high = count;
	/* Find the last entry that starts at the stamp or before it. */
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2, usable = middle;

		if (last_entry(h, &usable, low).counter <= counter)
			low = middle;
		else
			high = middle;
	}
	e = last_entry(h, &low, 0);
	if (counter >= e.counter) {
		if (high < count) {
			next = load_entry(h, high);
			due = next.mult != 0 ? next.counter : 0;
		}
		if (counter < due) {
			c->from = e.counter;
			c->to = due;
			c->ns = e.ns;
			c->mult = e.mult;
		}
	}
	return add(in_entry(&e, counter), h->realtime_offset);
}
