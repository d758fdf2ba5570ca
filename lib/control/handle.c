/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/control/handle.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/atomic.h"
#include "lib/process/process.h"

/* An identifier is serial << INDEX_BITS | index of its entry in the table. The serial number counts
 * all identifiers from 1, so an identifier is never reused. */
#define INDEX_BITS 20
#define INDEX_MAX ((1UL << INDEX_BITS) - 1)

struct entry {
	unsigned long id; /* identifier of the object (trace_id_t); 0: the entry is free */
	enum ptrc_handle_kind kind;
	bool is_taken; /* the identifier is no longer valid */
	unsigned references;
	void *object;
};

/*
 * The mutex that protects the table and the list in log_fd.c. A fork waits for it, so that the
 * child has complete copies of the table and the list.
 *
 * fork() is async-signal-safe: a signal handler may fork while its own thread holds the mutex or
 * waits for it. So each thread counts in `depth` how often it has locked the mutex, and a fork
 * does not wait if only its own thread could unlock the mutex. The copies in such a child may be
 * incomplete, but the child only discards them.
 *
 * The count also allows that fork handlers of the application call the library after the library's
 * own handler has locked the mutex and before the fork. Handlers that were registered before the
 * library was loaded run in this interval, because before a fork, handlers run in reverse order of
 * registration.
 */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread volatile unsigned depth;
static pthread_cond_t given_back = PTHREAD_COND_INITIALIZER;
static struct entry *entries;
static size_t entry_count;
static unsigned long last_serial;
static _Atomic int32_t owner; /* pid of the process that the table belongs to, see
			       * ptrc_process_own() */

/* Empties the table in a forked child, which has none of its parent's streams. The objects are
 * not freed, because their locks may be in any state. The serial number continues, so that the
 * child never gets an identifier that its parent got before the fork. */
static void forget(void)
{
	pthread_mutex_init(&mutex, NULL);
	pthread_cond_init(&given_back, NULL);
	if (entries)
		memset(entries, 0, entry_count * sizeof(*entries));
}

void ptrc_handle_lock(void)
{
	ptrc_process_own(&owner, forget);
	/* The count is raised before the mutex is locked, because a signal handler that
	 * interrupts this thread while it holds the mutex must not wait for the mutex. */
	depth += 1;
	atomic_signal_fence(memory_order_seq_cst);
	if (depth == 1)
		pthread_mutex_lock(&mutex);
}

void ptrc_handle_unlock(void)
{
	if (depth == 1)
		pthread_mutex_unlock(&mutex);
	atomic_signal_fence(memory_order_seq_cst);
	depth -= 1;
}

void ptrc_handle_fork_child(void)
{
	forget();
	/* This undoes only what the fork handler did before the fork. If a signal handler has
	 * forked, the code that it interrupted may have raised `depth`, too; if that code continues
	 * in the child, it lowers `depth` itself. */
	depth -= 1;
	ptrc_store_relaxed(&owner, ptrc_self_pid());
}

static struct entry *find(trace_id_t id)
{
	size_t index = id & INDEX_MAX;

	return id != 0 && index < entry_count && entries[index].id == id ? &entries[index] : NULL;
}

int ptrc_handle_new(enum ptrc_handle_kind kind, void *object, trace_id_t *id)
{
	int error = 0;
	size_t index;

	ptrc_handle_lock();
	for (index = 0; index < entry_count && entries[index].id != 0; index++)
		;
	if (index == entry_count) {
		size_t count = entry_count ? 2 * entry_count : 64;
		struct entry *old = entries, *grown = NULL;

		if (count <= INDEX_MAX + 1)
			grown = calloc(count, sizeof(*grown));
		if (!grown) {
			error = ENOMEM;
			goto out;
		}
		if (old)
			memcpy(grown, old, entry_count * sizeof(*grown));
		/* A signal handler may fork at any instruction, even while this thread holds the
		 * lock. So that the table in the child has at least entry_count entries, the
		 * table is stored before the count. */
		__atomic_store_n(&entries, grown, __ATOMIC_RELEASE);
		__atomic_store_n(&entry_count, count, __ATOMIC_RELEASE);
		free(old);
	}
	entries[index] = (struct entry){
		.id = ++last_serial << INDEX_BITS | index, .kind = kind, .object = object};
	*id = entries[index].id;
out:
	ptrc_handle_unlock();
	return error;
}

struct ptrc_ref ptrc_handle_get(trace_id_t id, unsigned int kinds)
{
	struct ptrc_ref ref = {.id = id};
	struct entry *e;

	ptrc_handle_lock();
	e = find(id);
	if (e && (e->kind & kinds) && (!e->is_taken || (kinds & PTRC_HANDLE_TAKEN))) {
		e->references++;
		ref.object = e->object;
		ref.kind = e->kind;
	}
	ptrc_handle_unlock();
	return ref;
}

void ptrc_handle_put(const struct ptrc_ref *ref)
{
	struct entry *e;

	if (!ref->object)
		return;
	ptrc_handle_lock();
	e = find(ref->id);
	if (e && --e->references == 0 && e->is_taken)
		pthread_cond_broadcast(&given_back);
	ptrc_handle_unlock();
}

void *ptrc_handle_take(trace_id_t id, enum ptrc_handle_kind kind)
{
	void *object = NULL;
	struct entry *e;

	ptrc_handle_lock();
	e = find(id);
	if (e && !e->is_taken && e->kind == kind) {
		e->is_taken = true;
		object = e->object;
	}
	ptrc_handle_unlock();
	return object;
}

void ptrc_handle_drain(trace_id_t id)
{
	struct entry *e;

	ptrc_handle_lock();
	while ((e = find(id)) && e->references > 0)
		pthread_cond_wait(&given_back, &mutex);
	if (e)
		memset(e, 0, sizeof(*e));
	ptrc_handle_unlock();
}

trace_id_t ptrc_handle_any(enum ptrc_handle_kind kind)
{
	trace_id_t id = 0;

	ptrc_handle_lock();
	for (size_t i = 0; i < entry_count && id == 0; i++)
		if (entries[i].id != 0 && !entries[i].is_taken && entries[i].kind == kind)
			id = entries[i].id;
	ptrc_handle_unlock();
	return id;
}
