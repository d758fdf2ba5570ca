/* SPDX-License-Identifier: MIT */
/*
 * posix_trace_event: the fast way, for the case that nothing special is up, and the cold
 * way that deals with everything else and makes it so. And what the process has mapped as a
 * target: attaching to streams and letting go of them.
 *
 * The protocol of one event in one stream, all plain loads and stores:
 *
 *   thread->state = frame   the mapping will not go away (detach); a handler that records
 *                           sees that it is nested, and takes the cold way
 *   want                    a table says whether this stream wants this event
 *   slot->frame = frame     readers wait for us if they need the past to be complete
 *   counter                 the event's time: after the mark, so that who finds no mark
 *                           knows that later stamps are later than its own
 *   control as expected?    after the counter: whoever changed the word and then passed
 *                           the barrier gets a later stamp than ours, or we see the change
 *   record
 *   chunk->pos (release)    now it exists; death before this leaves nothing
 *   slot->frame = 0 (release), thread->state back
 *   waiters?                the reader sets it, passes the barrier, looks, sleeps
 */
#include "config.h"

#include "lib/recorder/event.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <trace.h>

#include "lib/stream/barrier.h"
#include "lib/base/file.h"
#include "lib/model/names.h"
#include "lib/process/process.h"
#include "lib/stream/counter.h"
#include "lib/stream/recording.h"
#include "lib/stream/slots.h"
#include "lib/stream/status.h"
#include "lib/stream/stream.h"
#include "lib/base/sys.h"
#include "lib/base/thread_life.h"
#include "lib/stream/wake.h"
#include "lib/stream/writer.h"

#define THREAD_BYTES 16384U
#define ORPHAN_MAX 32
#define NEAR_BYTES 64

/* What a stream's table says of an event id; it holds for one value of the control word. */
enum want {
	WANT_UNKNOWN, /* ask the cold way */
	WANT_RECORD,
	WANT_IGNORE, /* filtered, or the stream is suspended */
	WANT_LOSE,   /* the stream is full: counted only */
};
#define WANT_COUNT (PTRC_ID_UNNAMED + PTRC_NAMES_MAX + 1)

/* What became of an event on the fast way. */
enum outcome { DONE, WAKE, LOSE, COLD };

/* One per thread, on a mapping of its own; blocks of ended threads are used again and none
 * is unmapped, so that walking the list needs no lock. */
struct thread {
	/* At rest: the page's active word, of one bit, for which `fast` is the writer, or 0
	 * if there is none. Else an event call is at work, and this is its frame. */
	_Atomic uint64_t state;
	uint64_t rest; /* what state is to be again after an event call */
	struct ptrc_writer *_Atomic fast;
	struct ptrc_slot *_Atomic slot;			   /* its slot */
	struct ptrc_writer *writers[PTRC_PAGE_SLOT_COUNT]; /* to use next, or null */
	_Atomic int32_t tid;				   /* 0: block is free */
	struct thread *next;
	struct ptrc_writer
		*lists[PTRC_PAGE_SLOT_COUNT]; /* all, also nested and orphans */
	struct ptrc_writer *unused;
	struct ptrc_context origin;
	uint32_t arena_used;
	/* The table of fast's stream, as far as this thread has asked, for want_control:
	 * here, not behind pointers, as every load that waits for another before the
	 * counter is read adds to the cost of an event. */
	uint64_t want_control;
	uint8_t want[WANT_COUNT];
};

static struct thread *_Atomic threads;
/* Stands for a thread that has none yet: no active word matches its state. */
static struct thread nobody;
/* Stand for the writer of a stream that is being let go of: the control word is not as
 * expected, so the event takes the cold way. */
static struct ptrc_stream_header no_header;
static struct ptrc_slot no_slot;
static struct ptrc_writer nowhere = {.expect = UINT64_MAX, .header = &no_header};
static __thread struct thread *this_thread = &nobody;

/* Tables of the mapped streams, and the control word each was filled for. */
static _Atomic uint8_t wants[PTRC_PAGE_SLOT_COUNT][WANT_COUNT];
static _Atomic uint64_t wants_control[PTRC_PAGE_SLOT_COUNT];

/* What is mapped for page slot i. Unlike ptrc_self this survives a fork, so that the child
 * knows what to let go of. */
static struct {
	struct ptrc_pool pool; /* a null header: nothing is mapped */
	uint64_t size;
} mappings[PTRC_PAGE_SLOT_COUNT];

/* Mappings that some thread may still be writing to; private zeros lie over them. */
static struct {
	void *start;
	uint64_t size;
} zombies[PTRC_PAGE_SLOT_COUNT];

static pthread_key_t exit_key;
static bool has_exit_key;

/* The mapping is sure to be there while the thread's state says that it is at work. */
static PTRC_COLD void rest_after(struct thread *t, struct ptrc_stream_header *h,
				 enum outcome outcome)
{
	if (outcome == WAKE)
		ptrc_stream_wake_readers(h);
	else
		ptrc_status_count_loss(h);
	atomic_store_explicit(&t->state, t->rest, memory_order_release);
}

/* ---- locking: attaching, detaching, list changes; signals are blocked ---- */

static void lock_attach(void)
{
	uint32_t mine = (uint32_t)ptrc_sys_gettid();

	for (unsigned tries = 1;; tries++) {
		uint32_t seen = 0;

		if (atomic_compare_exchange_strong_explicit(
			    &ptrc_self->attach_lock, &seen, mine, memory_order_acquire,
			    memory_order_relaxed))
			return;
		ptrc_file_yield(tries);
	}
}

static void unlock_attach(void)
{
	atomic_store_explicit(&ptrc_self->attach_lock, 0, memory_order_release);
}

/* ---- which frames are dead ---- */

#if defined(__x86_64__)
/* Is there memory? Asked by blocking the signals that it stands for, and all are blocked. */
static bool is_readable(uint64_t at)
{
	return ptrc_sys(SYS_rt_sigprocmask, SIG_BLOCK, at, 0, sizeof(uint64_t)) == 0;
}

/* Is there a handler between our frame and the one at `old` above it on the same stack?
 * blocked: the signals blocked when our call began; a running handler's own is among them,
 * unless it was installed with SA_NODEFER. Its frame returns to the restorer that the C
 * library passes with every handler. If it looks so though there is none, for remains of a
 * handler that was left, the reader is held back for its bound, no more. */
__attribute__((no_sanitize("address"))) /* other functions' frames on purpose */
static bool
is_interrupted(uint64_t old, uint64_t frame, uint64_t blocked)
{
	struct { /* as the kernel has it */
		uint64_t handler, flags, restorer, mask;
	} action = {0};
	bool may_be_running = false;
	uint64_t restorer = 0;

	for (int sig = 1; sig <= 64; sig++)
		if (ptrc_sys(SYS_rt_sigaction, sig, 0, &action, sizeof(action.mask)) ==
			    0 &&
		    action.handler > 1) {
			restorer = action.restorer;
			if ((blocked >> (sig - 1) & 1) || (action.flags & SA_NODEFER))
				may_be_running = true;
		}
	if (!may_be_running)
		return false;
	if (old - frame > 1 << 20)
		return true; /* too far to look */
	frame &= ~UINT64_C(7);
	for (uint64_t at = frame; at < old; at += 8) {
		/* Between two stacks, of coroutines, there may be none. */
		if ((at == frame || at % 4096 == 0) && !is_readable(at))
			return false;
		if (*(const volatile uint64_t *)at == restorer)
			return true;
	}
	return false;
}
#else
static bool is_interrupted(uint64_t old, uint64_t frame, uint64_t blocked)
{
	(void)old;
	(void)frame;
	return blocked != 0;
}
#endif

/* Is the event call whose frame was at `old` certainly or very likely gone, seen from one
 * at `frame`? A handler lies below what it interrupted; what lies below us is gone, left by
 * siglongjmp. A wrong guess (coroutines) costs an orphaned writer, never damage. */
static bool frame_is_dead(uint64_t old, uint64_t frame, uint64_t blocked)
{
	stack_t ss = {0};
	uint64_t low, high;
	bool old_is_alt;

	if (old - frame < NEAR_BYTES || frame - old < NEAR_BYTES)
		return true;
	if (ptrc_sys(SYS_sigaltstack, 0, &ss) < 0 || (ss.ss_flags & SS_DISABLE))
		return frame > old || !is_interrupted(old, frame, blocked);
	low = (uint64_t)ss.ss_sp;
	high = low + ss.ss_size;
	old_is_alt = old >= low && old < high;
	if (ss.ss_flags & SS_ONSTACK)
		return old_is_alt && frame > old;
	return old_is_alt || frame > old || !is_interrupted(old, frame, blocked);
}

/* ---- thread blocks ---- */

/* Frame of the event call that the thread is in, 0 if it is in none. */
static uint64_t frame_at_work(struct thread *t)
{
	uint64_t state = atomic_load_explicit(&t->state, memory_order_acquire);

	return (state & (state - 1)) == 0 ? 0 : state;
}

static struct ptrc_writer *alloc_writer(struct thread *t)
{
	struct ptrc_writer *w = t->unused;

	if (w) {
		t->unused = w->next;
		return w;
	}
	if (t->arena_used + sizeof(*w) > THREAD_BYTES)
		return NULL;
	w = (void *)((char *)t + t->arena_used);
	t->arena_used += (uint32_t)(sizeof(*w) + 63) & ~63U;
	return w;
}

static void use_nowhere(struct thread *t)
{
	atomic_store_explicit(&t->fast, &nowhere, memory_order_relaxed);
	atomic_store_explicit(&t->slot, &no_slot, memory_order_relaxed);
}

static void forget_list(struct thread *t, unsigned i)
{
	struct ptrc_writer *w = t->lists[i], *next;

	t->writers[i] = NULL;
	t->lists[i] = NULL;
	use_nowhere(t);
	if (frame_at_work(t) == 0)
		atomic_store_explicit(&t->state, 0, memory_order_relaxed);
	for (; w; w = next) {
		next = w->next;
		w->next = t->unused;
		t->unused = w;
	}
}

static struct thread *get_thread(void)
{
	struct thread *t = this_thread;
	long map;

	if (t != &nobody)
		return t;
	for (t = atomic_load_explicit(&threads, memory_order_acquire); t; t = t->next) {
		int32_t none = 0;

		if (atomic_compare_exchange_strong_explicit(
			    &t->tid, &none, ptrc_sys_gettid(), memory_order_acquire,
			    memory_order_relaxed))
			break;
	}
	if (!t) {
		map = ptrc_sys(SYS_mmap, 0, THREAD_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (ptrc_sys_is_error(map))
			return NULL;
		t = (struct thread *)map;
		t->arena_used = (sizeof(*t) + 63) & ~63U;
		atomic_store_explicit(&t->tid, ptrc_sys_gettid(), memory_order_relaxed);
		t->next = atomic_load_explicit(&threads, memory_order_relaxed);
		while (!atomic_compare_exchange_weak_explicit(&threads, &t->next, t,
							      memory_order_release,
							      memory_order_relaxed))
			;
	}
	t->origin.pid = ptrc_sys_getpid();
	t->origin.tid = ptrc_sys_gettid();
	t->origin.thread = (uint64_t)pthread_self();
	/* Only keys of the first block are stored without allocating. */
	if (has_exit_key)
		pthread_setspecific(exit_key, t);
	this_thread = t;
	return t;
}

static void on_thread_exit(void *block)
{
	struct thread *t = block;
	uint64_t mask;

	ptrc_sys_block_signals(&mask);
	this_thread = &nobody;
	lock_attach();
	for (unsigned i = 0; i < PTRC_PAGE_SLOT_COUNT; i++) {
		struct ptrc_stream_header *h = atomic_load_explicit(
			&ptrc_self->streams[i], memory_order_relaxed);

		for (struct ptrc_writer *w = t->lists[i]; w; w = w->next) {
			if (w->header != h)
				continue; /* detached */
			ptrc_writer_release(w);
			ptrc_slot_release(h, w->slot_index, w->slot_owner);
		}
		if (t->lists[i])
			forget_list(t, i);
	}
	atomic_store_explicit(&t->state, 0, memory_order_relaxed);
	unlock_attach();
	atomic_store_explicit(&t->tid, 0, memory_order_release);
	ptrc_sys_restore_signals(&mask);
}

void ptrc_event_init(void)
{
	ptrc_barrier_register();
	if (!has_exit_key && pthread_key_create(&exit_key, on_thread_exit) == 0) {
		has_exit_key = exit_key < 32;
		if (!has_exit_key)
			pthread_key_delete(exit_key);
	}
}

/* ---- attaching and detaching ---- */

/* Make sure that no other thread is in an event call that uses the mapping at h, or begins
 * one: an event call marks its thread before it looks for the mapping, so after the barrier
 * either the mark is seen here or what was stored before it is seen there. */
static bool retire(const struct ptrc_stream_header *h)
{
	bool is_quiet = true;

	for (struct thread *t = atomic_load_explicit(&threads, memory_order_acquire); t;
	     t = t->next) {
		struct ptrc_writer *w =
			atomic_load_explicit(&t->fast, memory_order_relaxed);

		if (w && w->header == h)
			use_nowhere(t);
	}
	atomic_thread_fence(memory_order_seq_cst);
	ptrc_sys(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0);
	for (struct thread *t = atomic_load_explicit(&threads, memory_order_acquire); t;
	     t = t->next)
		if (t != this_thread &&
		    atomic_load_explicit(&t->tid, memory_order_relaxed) != 0 &&
		    frame_at_work(t) != 0)
			is_quiet = false;
	return is_quiet;
}

/* Writers of the mapping at `h` in every thread's lists. All threads are quiet. */
static void forget_writers(const struct ptrc_stream_header *h)
{
	for (struct thread *t = atomic_load_explicit(&threads, memory_order_acquire); t;
	     t = t->next)
		for (unsigned i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
			if (t->lists[i] && t->lists[i]->header == h)
				forget_list(t, i);
}

static void bury_zombies(void)
{
	for (unsigned i = 0; i < PTRC_ARRAY_COUNT(zombies); i++) {
		if (!zombies[i].start)
			continue;
		if (!retire(zombies[i].start))
			return;
		forget_writers(zombies[i].start);
		ptrc_sys(SYS_munmap, zombies[i].start, zombies[i].size);
		zombies[i].start = NULL;
	}
}

static void cover(void *start, uint64_t size)
{
	void *map;

	ptrc_file_map_sparse(-1, size, start, &map);
}

/* The caller itself may be in an event call: it must not use the mapping afterwards. With
 * is_nested an outer frame of this thread still might. */
static void detach(unsigned i, bool is_nested)
{
	struct ptrc_stream_header *h =
		atomic_load_explicit(&ptrc_self->streams[i], memory_order_relaxed);
	uint64_t size = mappings[i].size;

	if (!h)
		return;
	atomic_store_explicit(&ptrc_self->streams[i], NULL, memory_order_relaxed);
	ptrc_self->stream_ids[i] = 0;
	wants_control[i] = 0;
	mappings[i].pool.header = NULL;
	if (retire(h) && !is_nested) {
		forget_writers(h);
		ptrc_sys(SYS_munmap, h, size);
	} else {
		/* Somebody is at work in it, maybe preempted for long: give it private
		 * memory to finish on. The range is not used for anything else meanwhile. */
		cover(h, size);
		for (unsigned z = 0; z < PTRC_ARRAY_COUNT(zombies); z++)
			if (!zombies[z].start) {
				zombies[z].start = h;
				zombies[z].size = size;
				break;
			}
	}
}

/* Take a slot that leads nowhere out of our page. A controller may be filling it again. */
static void drop_slot(unsigned i, uint64_t stream_id, int error)
{
	struct ptrc_page_slot *slot = &ptrc_page_self->slots[i];

	atomic_store_explicit(&slot->error, (uint32_t)error, memory_order_relaxed);
	if (error != ENOENT && error != EPERM && error != EINVAL)
		return; /* for want of memory or descriptors: the next event tries again */
	if (error == ENOENT && !atomic_compare_exchange_strong_explicit(
				       &slot->stream_id, &stream_id, 0,
				       memory_order_acq_rel, memory_order_relaxed))
		return;
	atomic_fetch_and_explicit(&ptrc_page_self->active, ~(UINT64_C(1) << i),
				  memory_order_seq_cst);
	if (error == ENOENT &&
	    atomic_load_explicit(&slot->stream_id, memory_order_seq_cst) != 0)
		atomic_fetch_or_explicit(&ptrc_page_self->active, UINT64_C(1) << i,
					 memory_order_seq_cst);
}

static int map_stream(unsigned i, uint64_t stream_id, struct ptrc_stream_header **h)
{
	struct ptrc_process_identity self;
	struct ptrc_stream s;
	int fd, error;

	error = ptrc_process_open_stream(stream_id, &fd);
	if (error)
		return error;
	error = ptrc_stream_map(fd, PTRC_ROLE_CONTROLLER, &s);
	ptrc_sys(SYS_close, fd);
	if (error)
		return error;
	if (s.header->id != stream_id ||
	    (atomic_load_explicit(&s.header->control, memory_order_acquire) &
	     PTRC_CTL_ENDED)) {
		ptrc_stream_unmap(&s);
		return ENOENT;
	}
	/* Whether the owner of a chunk lives is asked by the number of its thread, which others
	 * must mean as we do: an inherited stream may come to us from outside. */
	ptrc_process_identify(&self);
	/* And the stream's clock is CLOCK_MONOTONIC, which each time namespace has its own of. */
	if (s.header->pid_namespace != self.ns ||
	    s.header->time_namespace != self.time_ns) {
		ptrc_stream_unmap(&s);
		return EPERM;
	}
	if (!ptrc_barrier_register())
		atomic_store_explicit(&s.header->needs_global_barrier, 1,
				      memory_order_seq_cst);
	atomic_fetch_add_explicit(&s.header->processes, 1, memory_order_relaxed);
	/* An earlier image of this process, replaced by exec, may have left a mark. */
	ptrc_slots_reap(&s.pool, ptrc_sys_getpid(), ptrc_self->image);
	ptrc_self->stream_ids[i] = stream_id;
	mappings[i].pool = s.pool;
	mappings[i].size = s.map_size;
	*h = s.header;
	return 0;
}

/* The stream of page slot i, mapped if it is not yet; null if there is none. */
static struct ptrc_stream_header *attach(unsigned i, bool is_nested)
{
	struct ptrc_stream_header *h;
	uint64_t id;
	int error;

	/* As mostly: mapped, and still the one. It stays so while we are at work. */
	h = atomic_load_explicit(&ptrc_self->streams[i], memory_order_acquire);
	if (h &&
	    ptrc_self->stream_ids[i] ==
		    atomic_load_explicit(&ptrc_page_self->slots[i].stream_id,
					 memory_order_acquire) &&
	    !(atomic_load_explicit(&h->control, memory_order_relaxed) & PTRC_CTL_ENDED))
		return h;
	lock_attach();
	bury_zombies();
	h = atomic_load_explicit(&ptrc_self->streams[i], memory_order_relaxed);
	id = atomic_load_explicit(&ptrc_page_self->slots[i].stream_id,
				  memory_order_acquire);
	if (h && (ptrc_self->stream_ids[i] != id ||
		  (atomic_load_explicit(&h->control, memory_order_relaxed) &
		   PTRC_CTL_ENDED))) {
		uint64_t ended = ptrc_self->stream_ids[i];

		detach(i, is_nested);
		if (id == ended) {
			drop_slot(i, id, ENOENT);
			id = 0;
		}
		h = NULL;
	}
	if (!h && id != 0) {
		error = map_stream(i, id, &h);
		if (error) {
			h = NULL;
			drop_slot(i, id, error);
		}
		atomic_store_explicit(&ptrc_self->streams[i], h, memory_order_release);
	}
	unlock_attach();
	return h;
}

void ptrc_event_detach(uint64_t stream_id)
{
	uint64_t mask;

	ptrc_sys_block_signals(&mask);
	lock_attach();
	for (unsigned i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
		if (ptrc_self->stream_ids[i] == stream_id && stream_id != 0)
			detach(i, frame_at_work(this_thread) != 0);
	bury_zombies();
	unlock_attach();
	ptrc_sys_restore_signals(&mask);
}

/* What the parent had mapped is not ours to write to: slots and chunks in it belong to its
 * threads. Streams that we join are attached anew. If this thread was
 * in an event call when a handler forked, that call goes on here, on private memory. */
void ptrc_event_fork_child(void)
{
	struct thread *mine = this_thread;
	bool is_hot = frame_at_work(mine) != 0;

	this_thread = &nobody;
	memset((void *)wants_control, 0, sizeof(wants_control));
	for (struct thread *t = atomic_load_explicit(&threads, memory_order_acquire); t;
	     t = t->next) {
		if (t == mine && is_hot)
			continue; /* lost to that call */
		for (unsigned i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
			if (t->lists[i])
				forget_list(t, i);
		atomic_store_explicit(&t->state, 0, memory_order_relaxed);
		atomic_store_explicit(&t->tid, 0, memory_order_release);
	}
	for (unsigned i = 0; i < PTRC_PAGE_SLOT_COUNT; i++) {
		if (mappings[i].pool.header && is_hot)
			cover(mappings[i].pool.header, mappings[i].size);
		else if (mappings[i].pool.header)
			ptrc_sys(SYS_munmap, mappings[i].pool.header, mappings[i].size);
		mappings[i].pool.header = NULL;
		if (zombies[i].start && !is_hot) {
			ptrc_sys(SYS_munmap, zombies[i].start, zombies[i].size);
			zombies[i].start = NULL;
		}
	}
	if (has_exit_key)
		pthread_setspecific(exit_key, NULL);
}

/* Not only with its first event: until then the child may have given up its user, its root or
 * its descriptors, and can open no file of ours any more. It has no other thread yet, and
 * signals are blocked. What fails is left for that event to find out. */
void ptrc_event_fork_attach(void)
{
	uint64_t active =
		atomic_load_explicit(&ptrc_page_self->active, memory_order_acquire);

	for (; active; active &= active - 1) {
		unsigned i = (unsigned)__builtin_ctzll(active);
		uint64_t id = atomic_load_explicit(&ptrc_page_self->slots[i].stream_id,
						   memory_order_acquire);
		struct ptrc_stream_header *h;

		if (id != 0 && map_stream(i, id, &h) == 0)
			atomic_store_explicit(&ptrc_self->streams[i], h,
					      memory_order_release);
	}
}

/* ---- the cold way ---- */

/* A writer of this thread that no living frame is using. */
static struct ptrc_writer *pick_writer(struct thread *t, unsigned i,
				       struct ptrc_stream_header *h, uint64_t frame,
				       uint64_t blocked)
{
	struct ptrc_writer *w, *pick = NULL, *oldest = NULL;
	int orphan_count = 0;
	bool is_nested = false;

	if (t->lists[i] && t->lists[i]->header != h)
		forget_list(t, i);
	for (w = t->lists[i]; w; w = w->next) {
		uint64_t mark =
			atomic_load_explicit(&w->slot->frame, memory_order_relaxed);

		if (mark != 0 && frame_is_dead(mark, frame, blocked)) {
			/* The very same place on the stack is proof; else keep away from
			 * its chunk in case the frame comes back. */
			if (mark - frame >= NEAR_BYTES && frame - mark >= NEAR_BYTES)
				w->is_orphan = true;
			atomic_store_explicit(&w->slot->frame, 0, memory_order_release);
			mark = 0;
		}
		if (mark != 0)
			is_nested = true;
		if (w->is_orphan) {
			orphan_count++;
			oldest = w;
		} else if (mark == 0 && !pick) {
			pick = w;
		}
	}
	if (orphan_count > ORPHAN_MAX)
		oldest->is_orphan = false;
	if (!pick) {
		/* Another thread may detach at any moment and forget the mapping; what `h`
		 * points to stays mapped while the mark of this call stands. */
		struct ptrc_pool pool = mappings[i].pool;
		uint64_t owner;
		uint32_t slot;

		pool.header = h;
		pick = alloc_writer(t);
		if (!pick)
			return NULL;
		slot = ptrc_slot_claim(&pool, t->origin.pid, t->origin.tid,
				       ptrc_self->image, &owner);
		if (slot == UINT32_MAX) {
			pick->next = t->unused;
			t->unused = pick;
			return NULL;
		}
		ptrc_writer_init(pick, &pool, slot);
		pick->slot_owner = owner;
		pick->origin = t->origin;
		pick->next = t->lists[i];
		t->lists[i] = pick;
	}
	if (!is_nested)
		t->writers[i] = pick;
	return pick;
}

/* Enter into the table what is true of the id for this control word. */
static void note_want(unsigned i, struct ptrc_stream_header *h, uint64_t control,
		      uint32_t id)
{
	uint64_t now = atomic_load_explicit(&h->control, memory_order_acquire);
	bool is_filtered_now = ptrc_stream_is_filtered(h, id);
	enum want want = WANT_UNKNOWN;

	if (wants_control[i] != now) {
		for (unsigned n = 0; n < WANT_COUNT; n++)
			atomic_store_explicit(&wants[i][n], WANT_UNKNOWN,
					      memory_order_relaxed);
		wants_control[i] = now;
	}
	if (!(now & (PTRC_CTL_RUN | PTRC_CTL_LOSING | PTRC_CTL_ENDED)))
		want = WANT_IGNORE;
	else if (is_filtered_now)
		want = WANT_IGNORE;
	else if ((now & PTRC_CTL_BITS) == PTRC_CTL_RUN)
		want = WANT_RECORD;
	else if ((now & PTRC_CTL_BITS) == PTRC_CTL_LOSING)
		want = WANT_LOSE;
	/* The filter is changed before the word: if the word still is the same, what was
	 * read belongs to it. */
	atomic_thread_fence(memory_order_acquire);
	if (now == control &&
	    atomic_load_explicit(&h->control, memory_order_relaxed) == now)
		atomic_store_explicit(&wants[i][id], want, memory_order_relaxed);
}

static void put_cold(struct thread *t, unsigned i, struct ptrc_put *p, uint64_t len,
		     bool is_nested, uint64_t blocked)
{
	struct ptrc_writer *w = NULL;
	uint32_t id = p->id_flags;

	for (unsigned tries = 0; tries < 10000; tries++) {
		struct ptrc_stream_header *h = attach(i, is_nested);
		uint64_t control;

		if (!h)
			break;
		control = atomic_load_explicit(&h->control, memory_order_acquire);
		if (control & PTRC_CTL_ENDED)
			continue;
		/* No lock: while we are at work nobody else touches our lists. */
		w = pick_writer(t, i, h, p->frame, blocked);
		if (w) {
			w->expect = control;
			w->wants = (const uint8_t *)wants[i];
			if (wants_control[i] != control ||
			    atomic_load_explicit(&wants[i][id], memory_order_relaxed) ==
				    WANT_UNKNOWN) {
				lock_attach();
				note_want(i, h, control, id);
				unlock_attach();
			}
		}
		if (!(control & (PTRC_CTL_RUN | PTRC_CTL_LOSING)) ||
		    ptrc_stream_is_filtered(h, id))
			break;
		if (!w || !(control & PTRC_CTL_RUN)) {
			ptrc_status_count_loss(h);
			break;
		}
		if (ptrc_writer_record(w, control, p, len) != PTRC_PUT_STALE)
			break;
	}
	/* The writer may be the one of the call that we interrupted, if that has not marked its
	 * slot yet or has done so no more. What it asked before, of what this stream wants, holds
	 * for the word that it expects, not for one that only we have seen. */
	if (is_nested && w)
		w->expect = UINT64_MAX;
}

/* Prepare the fast way for the one stream that is active: `all`, or 0 if there is none. */
static uint64_t set_up_fast(struct thread *t, uint64_t all, uint32_t id)
{
	unsigned i = (unsigned)__builtin_ctzll(all);
	struct ptrc_writer *w = t->writers[i];

	if (!w)
		return 0;
	if (w != atomic_load_explicit(&t->fast, memory_order_relaxed) ||
	    t->want_control != w->expect) {
		memset(t->want, WANT_UNKNOWN, sizeof(t->want));
		t->want_control = w->expect;
		atomic_store_explicit(&t->fast, w, memory_order_relaxed);
		atomic_store_explicit(&t->slot, w->slot, memory_order_relaxed);
	}
	if (wants_control[i] == w->expect)
		t->want[id] = atomic_load_explicit(&wants[i][id], memory_order_relaxed);
	return all;
}

/* Everything out of the ordinary: first event of a process, a thread, a stream; chunk full;
 * state changed; nested in another event call; the id may be unknown. For the page slots
 * in todo. */
static PTRC_COLD void event_cold(uint64_t todo, uint32_t id, const void *data,
				 uint64_t len, uint64_t addr, uint64_t frame)
{
	struct ptrc_put p = {.data = data, .addr = addr, .frame = frame};
	bool is_first = ptrc_self->pid == 0;
	struct thread *t;
	uint64_t mask, all, active, outer, rest;

	ptrc_sys_block_signals(&mask);
	if (!is_first && ptrc_self->pid != ptrc_sys_getpid())
		goto out; /* vfork child: it runs on its parent's memory */
	if (is_first) {
		if (ptrc_process_init() != 0)
			goto out;
		todo = UINT64_MAX;
	}
	all = atomic_load_explicit(&ptrc_page_self->active, memory_order_acquire);
	/* System events and ids that cannot be are nobody's (EVENT-19, -20). */
	if (all == 0 || id - PTRC_ID_UNNAMED > PTRC_NAMES_MAX ||
	    !ptrc_process_maps_id(id))
		goto out;
	t = get_thread();
	if (!t)
		goto out;
	outer = frame_at_work(t);
	if (outer != 0 && frame_is_dead(outer, frame, mask))
		outer = 0;
	atomic_store_explicit(&t->state, frame, memory_order_relaxed);
	for (active = all & todo; active; active &= active - 1) {
		p.id_flags = id;
		put_cold(t, (unsigned)__builtin_ctzll(active), &p, len, outer != 0, mask);
	}
	rest = outer; /* an outer call that goes on now is still at work */
	if (outer == 0) {
		rest = (all & (all - 1)) == 0 ? set_up_fast(t, all, id) : 0;
	}
	if (outer == 0)
		t->rest = rest;
	atomic_store_explicit(&t->state, rest, memory_order_release);
out:
	ptrc_sys_restore_signals(&mask);
}

int ptrc_event_attach_all(void)
{
	uint64_t mask, active;
	int error;

	ptrc_sys_block_signals(&mask);
	error = ptrc_process_init();
	if (!error && ptrc_self->pid == ptrc_sys_getpid()) {
		active = atomic_load_explicit(&ptrc_page_self->active,
					      memory_order_acquire);
		for (; active; active &= active - 1)
			attach((unsigned)__builtin_ctzll(active), true);
	}
	ptrc_sys_restore_signals(&mask);
	return error;
}

/* ---- the fast way ---- */

/* Copy without a call; len is small or the loop is worth it. Never reads beyond len. */
static PTRC_ALWAYS_INLINE void copy(uint8_t *to, const uint8_t *from, size_t len)
{
	struct block16 {
		uint64_t word[2];
	} a, b;

	if (PTRC_LIKELY(len >= 16)) {
		const uint8_t *last = from + len - 16;
		uint8_t *to_last = to + len - 16;

		for (; PTRC_UNLIKELY(last - from > 16); from += 32, to += 32) {
			memcpy(&a, from, 16);
			memcpy(&b, from + 16, 16);
			memcpy(to, &a, 16);
			memcpy(to + 16, &b, 16);
		}
		/* 1 to 32 bytes are left, in two pieces that may overlap what is done. */
		memcpy(&b, last, 16);
		if (last > from) {
			memcpy(&a, from, 16);
			memcpy(to, &a, 16);
		}
		memcpy(to_last, &b, 16);
	} else if (len >= 8) {
		memcpy(&a.word[0], from, 8);
		memcpy(&a.word[1], from + len - 8, 8);
		memcpy(to, &a.word[0], 8);
		memcpy(to + len - 8, &a.word[1], 8);
	} else {
		/* volatile, or the compiler makes a call of the loop */
		for (size_t i = 0; i < len; i++)
			((volatile uint8_t *)to)[i] = from[i];
	}
}

/* The call's frame: the stack pointer, odd so that it is no active word. */
static PTRC_ALWAYS_INLINE uint64_t frame_here(void)
{
	uint64_t frame;

#if defined(__x86_64__)
	__asm__ volatile("lea 1(%%rsp), %0" : "=r"(frame));
#else
	__asm__ volatile("add %0, sp, #1" : "=r"(frame));
#endif
	return frame;
}

/* The thread's state is set: the writer's fields hold, as nobody else touches them. */
static PTRC_ALWAYS_INLINE enum outcome put_fast(struct ptrc_writer *w,
						struct ptrc_slot *slot, uint8_t want,
						uint32_t id, const void *data, size_t len,
						uint64_t addr, uint64_t frame)
{
	uint64_t now, delta, size;
	uint64_t *at;

	if (PTRC_UNLIKELY(want != WANT_RECORD)) {
		if (want == WANT_UNKNOWN ||
		    atomic_load_explicit(&w->header->control, memory_order_relaxed) !=
			    w->expect)
			return COLD;
		return want == WANT_IGNORE ? DONE : LOSE;
	}
	atomic_store_explicit(&slot->frame, frame, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	now = ptrc_counter();
	atomic_signal_fence(memory_order_seq_cst);
	size = sizeof(struct ptrc_record) + ptrc_align8(len);
	delta = now - w->base;
	if (PTRC_UNLIKELY(atomic_load_explicit(&w->header->control,
					       memory_order_relaxed) != w->expect ||
			  delta > w->delta_max || len > w->data_max ||
			  size > (uint64_t)(w->limit - w->at))) {
		atomic_store_explicit(&slot->frame, 0, memory_order_release);
		return COLD;
	}
	at = (void *)w->at;
	at[0] = delta | (id | len << 16) << 32;
	at[1] = addr; /* user addresses have 47 bits, len has 16: nothing to mask */
	copy((uint8_t *)&at[2], data, len);
	w->last = now;
	w->count++;
	w->at = (uint8_t *)at + size;
	atomic_store_explicit(&w->chunk->pos, (uintptr_t)w->at + w->pos_bias,
			      memory_order_release);
	atomic_store_explicit(&slot->frame, 0, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst); /* reload: registers are scarce here */
	return PTRC_UNLIKELY(
		       atomic_load_explicit(&w->header->waiters, memory_order_relaxed))
		       ? WAKE
		       : DONE;
}

/* Traced by several streams, or not yet set up for the one. */
static PTRC_NOINLINE void record_each(trace_event_id_t id, const void *data, size_t len,
				      uint64_t addr, uint64_t active, uint64_t frame)
{
	struct thread *t = this_thread;

	if (!data)
		len = 0;
	if (id >= WANT_COUNT)
		return;
	if (t == &nobody || frame_at_work(t) != 0) {
		event_cold(active, id, data, len, addr, frame);
		return;
	}
	atomic_store_explicit(&t->state, frame, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	for (; active; active &= active - 1) {
		unsigned i = (unsigned)__builtin_ctzll(active);
		struct ptrc_stream_header *h = atomic_load_explicit(
			&ptrc_self->streams[i], memory_order_relaxed);
		struct ptrc_writer *w = t->writers[i];
		enum outcome outcome = COLD;

		if (h && w && w->header == h)
			outcome = put_fast(w, w->slot, w->wants[id], id, data, len, addr,
					   frame);
		if (outcome == COLD)
			break;
		if (outcome == WAKE)
			ptrc_stream_wake_readers(h);
		if (outcome == LOSE)
			ptrc_status_count_loss(h);
	}
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&t->state, t->rest, memory_order_release);
	if (active)
		event_cold(active, id, data, len, addr, frame);
}

PTRC_PUBLIC void posix_trace_event(trace_event_id_t id, const void *restrict data,
				   size_t len)
{
	uint64_t active =
		atomic_load_explicit(&ptrc_page_self->active, memory_order_relaxed);
	uint64_t frame;
	enum outcome outcome;
	struct ptrc_writer *w;
	struct thread *t;

	if (PTRC_LIKELY(active == 0))
		return;
	t = this_thread;
	if (PTRC_UNLIKELY(atomic_load_explicit(&t->state, memory_order_relaxed) !=
				  active ||
			  id >= WANT_COUNT || (!data && len != 0))) {
		record_each(id, data, len, (uint64_t)__builtin_return_address(0), active,
			    frame_here());
		return;
	}
	frame = frame_here();
	atomic_store_explicit(&t->state, frame, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	/* After the mark: nowhere, if its stream is being let go of. */
	w = atomic_load_explicit(&t->fast, memory_order_relaxed);
	outcome = put_fast(w, atomic_load_explicit(&t->slot, memory_order_relaxed),
			   t->want[id], id, data, len,
			   (uint64_t)__builtin_return_address(0), frame);
	if (PTRC_UNLIKELY(outcome != DONE)) {
		if (outcome == COLD)
			event_cold(UINT64_MAX, id, data, len,
				   (uint64_t)__builtin_return_address(0), frame_here());
		else
			rest_after(t, w->header, outcome);
		return;
	}
	atomic_store_explicit(&t->state, t->rest, memory_order_release);
}
