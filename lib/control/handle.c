/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/control/handle.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fork_mutex.h"
#include "lib/process/process.h"

/* An identifier is serial << INDEX_BITS | index: the serial tells it from all earlier ones
 * at its index, and is never 0. */
#define INDEX_BITS 20
#define INDEX_MAX ((1UL << INDEX_BITS) - 1)

struct entry {
	unsigned long id; /* 0: free */
	enum ptrc_handle_kind kind;
	bool is_taken; /* no longer valid, but still referenced */
	unsigned references;
	void *object;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given_back = PTHREAD_COND_INITIALIZER;
static struct entry *entries;
static size_t entry_count;
static unsigned long last_serial;
static __thread volatile unsigned depth;

static void lock(void)
{
	ptrc_fork_mutex_lock(&mutex, &depth);
}

static void unlock(void)
{
	ptrc_fork_mutex_unlock(&mutex, &depth);
}

static struct entry *find(trace_id_t id)
{
	size_t index = id & INDEX_MAX;

	return id != 0 && index < entry_count && entries[index].id == id ? &entries[index]
									 : NULL;
}

int ptrc_handle_new(enum ptrc_handle_kind kind, void *object, trace_id_t *id)
{
	int error = 0;
	size_t index;

	lock();
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
		/* There is a table at any time: see fork_mutex.h. */
		__atomic_store_n(&entries, grown, __ATOMIC_RELEASE);
		__atomic_store_n(&entry_count, count, __ATOMIC_RELEASE);
		free(old);
	}
	entries[index] = (struct entry){.id = ++last_serial << INDEX_BITS | index,
					.kind = kind,
					.object = object};
	*id = entries[index].id;
out:
	unlock();
	return error;
}

void *ptrc_handle_get(trace_id_t id, enum ptrc_handle_kind kinds,
		      enum ptrc_handle_kind *kind)
{
	void *object = NULL;
	struct entry *e;

	ptrc_process_notice_fork();
	lock();
	e = find(id);
	if (e && !e->is_taken && (e->kind & kinds)) {
		e->references++;
		object = e->object;
		if (kind)
			*kind = e->kind;
	}
	unlock();
	return object;
}

void ptrc_handle_put(trace_id_t id)
{
	struct entry *e;

	lock();
	e = find(id);
	if (e && --e->references == 0 && e->is_taken)
		pthread_cond_broadcast(&given_back);
	unlock();
}

void *ptrc_handle_take(trace_id_t id, enum ptrc_handle_kind kind)
{
	void *object = NULL;
	struct entry *e;

	ptrc_process_notice_fork();
	lock();
	e = find(id);
	if (e && !e->is_taken && e->kind == kind) {
		e->is_taken = true;
		object = e->object;
	}
	unlock();
	return object;
}

void ptrc_handle_drain(trace_id_t id)
{
	struct entry *e;

	lock();
	while ((e = find(id)) && e->references > 0)
		pthread_cond_wait(&given_back, &mutex);
	if (e)
		memset(e, 0, sizeof(*e));
	unlock();
}

trace_id_t ptrc_handle_any(enum ptrc_handle_kind kind)
{
	trace_id_t id = 0;

	lock();
	for (size_t i = 0; i < entry_count && id == 0; i++)
		if (entries[i].id != 0 && !entries[i].is_taken && entries[i].kind == kind)
			id = entries[i].id;
	unlock();
	return id;
}

void ptrc_handle_fork_prepare(void)
{
	lock();
}

void ptrc_handle_fork_parent(void)
{
	unlock();
}

/* The parent's streams stay the parent's (FORK-10). What its objects held in memory is lost
 * to the child: their locks may be in any state. The serial goes on, so that the child
 * never issues an identifier that it may still have from its parent. */
void ptrc_handle_fork_child(bool is_prepared)
{
	ptrc_fork_mutex_renew(&mutex, &depth, is_prepared);
	pthread_cond_init(&given_back, NULL);
	if (entries)
		memset(entries, 0, entry_count * sizeof(*entries));
}
