/* SPDX-License-Identifier: MIT */
/*
 * What process.c, process_fork.c and process_names.c share. Nobody else includes this.
 */
#ifndef PTRC_LIB_PROCESS_PROCESS_STATE_H
#define PTRC_LIB_PROCESS_PROCESS_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/model/names.h"
#include "lib/process/page.h"
#include "lib/process/process.h"

/*
 * In ordinary memory, so that a forked child has its parent's and can tell: what it was,
 * what it could name. All under `lock` but for what is atomic.
 */
struct ptrc_process_state {
	/* Pid of the process one thread of which has it, 0: free. Signals are blocked
	 * meanwhile. A forked child may find its parent's pid here: free. */
	_Atomic int32_t lock;
	int32_t pid; /* whom all this is about, 0 before the first attempt */
	bool has_page;
	bool is_excluded; /* not to be traced, for good */
	bool has_ended;
	bool has_own_proc; /* /proc numbers processes as this one does */
	uint32_t uid;
	uint64_t ns;
	uint64_t time_ns;
	uint64_t start_ticks;
	uint64_t inode;
	uint64_t image;
	_Atomic uint64_t mapped[17];
	/* Ids whose index is below were given to earlier images: mapped when opened only. */
	uint32_t base;
	/* Where it is mapped never changes, as lookups take no lock: another object is
	 * mapped over it, and that begins with the same names. */
	struct ptrc_names names;
	/* They are the parent's: only the first so many concern this process, and it must
	 * not add any. */
	bool is_borrowed;
	uint32_t borrowed_count;
};
extern struct ptrc_process_state ptrc_here;

static inline struct ptrc_page *ptrc_process_page(void)
{
	return __atomic_load_n(&ptrc_page_self, __ATOMIC_ACQUIRE);
}

static inline struct ptrc_self *ptrc_process_private(void)
{
	return __atomic_load_n(&ptrc_self, __ATOMIC_ACQUIRE);
}

/* Neither a forked child that has not noticed yet nor one that shares our memory. */
bool ptrc_process_is_own(void);
/* ptrc_here.lock, with all signals blocked meanwhile. */
void ptrc_process_lock(uint64_t *mask);
void ptrc_process_unlock(const uint64_t *mask);

/* ---- process.c, under the lock ---- */

/* Find out who we are, and open, lock and map (see ptrc_page_open) our page. EPERM,
 * ENOMEM, EAGAIN. */
int ptrc_process_open_page(int32_t pid, void *at, int *dirfd, struct ptrc_page_file *f);
/* From here on the page is that of this image. */
void ptrc_process_publish(int32_t pid, struct ptrc_page *page);
void ptrc_process_sweep_sometimes(int dirfd, bool is_due);

/* ---- process_fork.c, under the lock ---- */

/* What a child made now takes with it. */
void ptrc_process_note_page(void);
/* A child has its parent's memory: its page in place of the parent's, what is inherited
 * entered there. is_noted: the note was taken before the fork. EPERM, ENOMEM, EAGAIN. */
int ptrc_process_start_child(int32_t pid, bool is_noted);
/* Registers the handlers of pthread_atfork. */
void ptrc_process_watch_forks(void);

/* ---- process_names.c, under the lock but for the first ---- */

void ptrc_process_set_mapped(uint32_t id);
/* How many of the mapped names are this process' own. */
uint32_t ptrc_process_names_limit(void);
/* Give up the names: other threads may still read them, so a private view, which holds no
 * lock, takes their place. */
void ptrc_process_let_names_go(int dirfd);

#endif
