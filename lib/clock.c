/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#include "lib/populate.h"
#include "lib/sys.h"
#include "lib/thread_life.h"

int64_t ptrc_clock_ns(int clock_id)
{
	struct timespec ts = { 0, 0 };

#ifdef PTRC_FREESTANDING
	ptrc_sys(SYS_clock_gettime, clock_id, &ts);
#else
	clock_gettime(clock_id, &ts); /* the vdso's: no system call, async-signal-safe */
#endif
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

#define ENTRY_INTERVAL_MIN_NS INT64_C(1000000)
#define ENTRY_INTERVAL_MAX_NS INT64_C(1000000000)
#define MULT_SHIFT 32
/* Entries in a row whose writers may have died. */
#define ABANDONED_MAX 64

uint64_t ptrc_stream_now(const struct ptrc_stream_header *h)
{
	if (atomic_load_explicit(&h->control, memory_order_relaxed) & PTRC_CTL_MONO)
		return (uint64_t)ptrc_clock_ns(CLOCK_MONOTONIC);
	return ptrc_counter();
}

#if defined(__x86_64__)
static void cpuid(uint32_t leaf, uint32_t r[4])
{
	__asm__ volatile("cpuid"
			 : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3])
			 : "a"(leaf), "c"(0));
}
#endif

bool ptrc_clock_has_counter(void)
{
#if defined(__x86_64__)
	uint32_t r[4];

	/* The invariant counter: constant rate, running in every sleep state. */
	cpuid(0x80000000U, r);
	if (r[0] < 0x80000007U)
		return false;
	cpuid(0x80000007U, r);
	return (r[3] & (1U << 8)) != 0;
#else
	return true; /* the architecture guarantees cntvct_el0 */
#endif
}

/* (counter, CLOCK_MONOTONIC) of one moment: the tightest of a few tries, as an interrupt
 * may fall between the two. */
static void read_pair(uint64_t *counter, int64_t *ns)
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
	return (int64_t)(uint64_t)((unsigned __int128)ticks * mult >> MULT_SHIFT);
}

/* What is added comes from shared memory, and may be anything. */
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
	return (uint64_t)(((unsigned __int128)(uint64_t)ns << MULT_SHIFT) / ticks);
}

/* The pair that the slope of a new stream counts from. Written once, by who changes the
 * state to 1; whoever comes meanwhile has a pair of his own. */
static _Atomic int first_state;
static uint64_t first_counter;
static int64_t first_ns;

static void first_pair(uint64_t *counter, int64_t *ns)
{
	int state = atomic_load_explicit(&first_state, memory_order_acquire);

	if (state == 2) {
		*counter = first_counter;
		*ns = first_ns;
		return;
	}
	read_pair(counter, ns);
	state = 0;
	if (!atomic_compare_exchange_strong(&first_state, &state, 1))
		return;
	first_counter = *counter;
	first_ns = *ns;
	atomic_store_explicit(&first_state, 2, memory_order_release);
}

void ptrc_clock_first_pair(void)
{
	uint64_t counter;
	int64_t ns;

	if (ptrc_clock_has_counter())
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
		mult = UINT64_C(1) << MULT_SHIFT;
		counter = h->t0;
		ns = (int64_t)h->t0;
	} else {
		first_pair(&since, &since_ns);
		/* A slope from less than 2 ms would be off by too much to begin with. */
		do
			read_pair(&counter, &ns);
		while (ns - since_ns < 2000000);
		mult = rate(ns - since_ns, counter - since);
		h->t0 = counter;
		/* Stamps of the log are ns since the base: these fit 32 bits too. */
		h->delta_max = rate(4000000000, 1) / mult;
		if (h->delta_max > UINT32_MAX)
			h->delta_max = UINT32_MAX;
		h->clock_due = counter + rate(ENTRY_INTERVAL_MIN_NS, 1) / mult;
	}
	h->realtime_offset = ptrc_clock_ns(CLOCK_REALTIME) - ptrc_clock_ns(CLOCK_MONOTONIC);
	atomic_store_explicit(&e[0].counter, counter, memory_order_relaxed);
	atomic_store_explicit(&e[0].ns, ns, memory_order_relaxed);
	atomic_store_explicit(&e[0].true_ns, ns, memory_order_relaxed);
	atomic_store_explicit(&e[0].due, h->clock_due, memory_order_relaxed);
	atomic_store_explicit(&e[0].mult, mult, memory_order_relaxed);
	atomic_store_explicit(&h->clock_word, UINT64_C(1) << 32, memory_order_release);
}

struct entry {
	uint64_t counter, mult, due;
	int64_t ns, true_ns;
};

static struct entry load_entry(const struct ptrc_stream_header *h, uint64_t index)
{
	const struct ptrc_clock_entry *p =
		&ptrc_stream_clock((struct ptrc_stream_header *)(uintptr_t)h)
			 [index % PTRC_CLOCK_ENTRY_COUNT];

	return (struct entry){
		.counter = atomic_load_explicit(&p->counter, memory_order_relaxed),
		.due = atomic_load_explicit(&p->due, memory_order_relaxed),
		.mult = atomic_load_explicit(&p->mult, memory_order_relaxed),
		.ns = atomic_load_explicit(&p->ns, memory_order_relaxed),
		.true_ns = atomic_load_explicit(&p->true_ns, memory_order_relaxed),
	};
}

/* What writers go by. An entry tells its own due, so that one whose writer died before this
 * is made good by the next. */
static void publish_due(struct ptrc_stream_header *h, uint64_t due)
{
	uint64_t seen = atomic_load_explicit(&h->clock_due, memory_order_relaxed);

	while (seen < due &&
	       !atomic_compare_exchange_weak_explicit(&h->clock_due, &seen, due,
						      memory_order_release,
						      memory_order_relaxed))
		;
}

/* Appending: clock_word = count << 32 | tid of the appender. Losing a dead appender's half
 * written entry costs its index: mult 0 marks it until, at worst, it is completed late. */
void ptrc_clock_update(struct ptrc_stream_header *h, uint64_t now)
{
	uint64_t word, count, due, mine, counter = 0, elapsed, mult;
	int64_t ns = 0, reached, interval, excess;
	struct ptrc_clock_entry *e;
	struct entry last, old;

	if (now < atomic_load_explicit(&h->clock_due, memory_order_acquire))
		return;
	word = atomic_load_explicit(&h->clock_word, memory_order_acquire);
	mine = (uint32_t)ptrc_sys_gettid();
	for (unsigned tries = 0;; tries++) {
		if (now < atomic_load_explicit(&h->clock_due, memory_order_acquire))
			return;
		count = word >> 32;
		if ((uint32_t)word == 0) {
			if (atomic_compare_exchange_weak_explicit(&h->clock_word, &word,
								  count << 32 | mine,
								  memory_order_acquire,
								  memory_order_acquire))
				break;
			continue;
		}
		if (ptrc_thread_is_gone((int)(uint32_t)word) || tries > 200) {
			if (atomic_compare_exchange_strong_explicit(
				    &h->clock_word, &word, (count + 1) << 32 | mine,
				    memory_order_acquire, memory_order_acquire)) {
				count++;
				break;
			}
			continue;
		}
		ptrc_sys(SYS_sched_yield, 0);
		word = atomic_load_explicit(&h->clock_word, memory_order_acquire);
	}
	last = load_entry(h, count - 1);
	for (uint64_t back = 2; last.mult == 0 && back <= count && back <= ABANDONED_MAX; back++)
		last = load_entry(h, count - back);
	e = &ptrc_stream_clock(h)[count % PTRC_CLOCK_ENTRY_COUNT];
	due = last.due > last.counter ? last.due : last.counter;
	publish_due(h, due);
	read_pair(&counter, &ns);
	if (now < due || counter < due || counter <= last.counter || last.mult == 0 ||
	    !ptrc_populate(e, sizeof(*e))) {
		atomic_store_explicit(&h->clock_word, count << 32, memory_order_release);
		return;
	}
	/* What the function had said up to due stays; no event lies between due and here,
	 * so time may jump forward to the truth, but never back. */
	reached = add(last.ns, scale(due - last.counter, last.mult));
	old = load_entry(h, count > 6 ? count - 6 : 0);
	if (old.mult == 0 || counter - old.counter < 1000)
		old = load_entry(h, 0);
	mult = ns > old.true_ns && counter > old.counter ?
		       rate(subtract(ns, old.true_ns), counter - old.counter) :
		       last.mult;
	elapsed = counter - h->t0;
	interval = scale(elapsed, mult) / 8;
	if (interval < ENTRY_INTERVAL_MIN_NS)
		interval = ENTRY_INTERVAL_MIN_NS;
	if (interval > ENTRY_INTERVAL_MAX_NS)
		interval = ENTRY_INTERVAL_MAX_NS;
	due = counter + rate(interval, 1) / (mult ? mult : 1);
	excess = subtract(reached, ns);
	if (excess > 0) { /* ahead of the truth: wait for it, over one interval */
		int64_t slow = excess < interval / 2 ? excess : interval / 2;

		mult -= (uint64_t)((unsigned __int128)mult * (uint64_t)slow /
				   (uint64_t)interval);
	}
	atomic_store_explicit(&e->counter, counter, memory_order_relaxed);
	atomic_store_explicit(&e->ns, excess > 0 ? reached : ns, memory_order_relaxed);
	atomic_store_explicit(&e->true_ns, ns, memory_order_relaxed);
	atomic_store_explicit(&e->due, due, memory_order_relaxed);
	atomic_store_explicit(&e->mult, mult, memory_order_relaxed);
	/* The entry before the count that covers it, both before the new due: whoever sees
	 * the due (acquire) and stamps by it finds the entry. */
	mine |= count << 32;
	if (atomic_compare_exchange_strong_explicit(&h->clock_word, &mine, (count + 1) << 32,
						    memory_order_release,
						    memory_order_relaxed))
		publish_due(h, due);
}

static int64_t in_entry(const struct entry *e, uint64_t counter)
{
	if (counter >= e->counter)
		return add(e->ns, scale(counter - e->counter, e->mult));
	/* older than the list */
	return subtract(e->ns, scale(e->counter - counter, e->mult));
}

int64_t ptrc_clock_realtime(const struct ptrc_stream_header *h, struct ptrc_clock_cursor *c,
			    uint64_t counter)
{
	uint64_t count, due, low, high;
	struct entry e, next;

	if (counter >= c->from && counter < c->to)
		return add(add(c->ns, scale(counter - c->from, c->mult)), h->realtime_offset);
	/* In this order: a due older than the count is merely too small. */
	due = atomic_load_explicit(&h->clock_due, memory_order_acquire);
	count = atomic_load_explicit(&h->clock_word, memory_order_acquire) >> 32;
	low = count > PTRC_CLOCK_ENTRY_COUNT ? count - PTRC_CLOCK_ENTRY_COUNT + 1 : 0;
	high = count;
	while (high - low > 1) { /* the last entry whose counter is not beyond ours */
		uint64_t middle = low + (high - low) / 2;

		e = load_entry(h, middle);
		for (uint64_t m = middle;
		     e.mult == 0 && m > low && middle - m < ABANDONED_MAX; m--)
			e = load_entry(h, m - 1);
		if (e.counter <= counter)
			low = middle;
		else
			high = middle;
	}
	e = load_entry(h, low);
	for (unsigned back = 0; e.mult == 0 && low > 0 && back < ABANDONED_MAX; low--, back++)
		e = load_entry(h, low - 1);
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
