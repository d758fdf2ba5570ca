/* SPDX-License-Identifier: MIT */
/* The state of the process in which the library runs. The code that records an event reads ptrc_page_self and
 * ptrc_self. Everything after these two is only for the files of lib/process. */
#ifndef PTRC_LIB_PROCESS_SELF_H
#define PTRC_LIB_PROCESS_SELF_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/atomic.h"
#include "lib/model/eventset.h"
#include "lib/model/names.h"
#include "lib/process/bell.h"
#include "lib/process/page.h"

/* This structure is in a mapping of its own, which is marked MADV_WIPEONFORK: the kernel zeroes it in a child
 * that is made by fork or raw clone. So the child finds pid 0 here even if no fork handler has run. A vfork
 * child uses its parent's memory and finds the pid of its parent. */
struct ptrc_self {
	_Atomic int32_t pid; /* pid of this process; 0: it has no page (list of streams) yet */
	/* The pid of the process if it began without a page (bell.h); otherwise 0. */
	_Atomic int32_t quiet_pid;
	uint64_t image; /* identity of this program, another after each exec; never 0 */
	/* Bit i: this program may record events of type i. Bits are set, but never cleared. */
	_Atomic uint64_t mapped[PTRC_SET_WORD_COUNT];
};

/* The page of this process (list of its streams); never NULL. Before initialisation, it is a page
 * with one active bit, which sends every event to ptrc_event_cold(). In a process that began
 * without a page, it points to the bell of the process, a single counter, so only the member
 * `active` may be read: after a controller has rung the bell, it sends the next event to
 * ptrc_event_cold(). If the process cannot be traced, it is a page without active bits. */
extern struct ptrc_page *ptrc_page_self;
extern struct ptrc_self *ptrc_self;

/* This structure is in ordinary memory, so a forked child has a copy of it. From that the child knows which
 * process its parent was and which names its parent had. Members that are not atomic are used only under
 * `lock`. */
struct ptrc_process_state {
	_Atomic int32_t lock; /* lock of this structure (pid_lock.h) */
	int32_t pid;	      /* the process that this structure describes; 0: not initialised */
	bool has_page;
	bool is_quiet;	  /* the process has no page, so its events look at its bell */
	bool is_excluded; /* this process is never traced */
	/* The process has traced a process, perhaps itself. Another process that it traced may have
	 * been killed without removing its page. */
	_Atomic bool has_traced;
	bool has_ended;		  /* exit() has removed the page, or has found that there is none */
	bool has_own_proc;	  /* /proc uses the same pids as this process */
	uint32_t uid;		  /* effective user */
	uint64_t ns;		  /* pid namespace; 0: the initial one */
	_Atomic uint64_t time_ns; /* time namespace; 0: not known yet */
	uint64_t start_ticks;
	uint64_t inode; /* inode of the file of the page (list of streams); 0: it has no file */
	/* The directory of the page and of its streams. A forked child that cannot reach it keeps the `uid` and the
	 * directory of its parent. */
	uint64_t home_dev, home_inode;
	/* The bells (counters of pages) of the user with which this program started; NULL: not mapped. They
	 * are in the directory that bells_dev and bells_inode identify. */
	struct ptrc_bells *bells;
	uint64_t bells_dev, bells_inode;
	uint64_t image;
	_Atomic uint64_t mapped[PTRC_SET_WORD_COUNT];
	/* Names with an index below `base` were registered by earlier programs of this process. This program may
	 * use such a name only after it has opened the name itself. */
	uint32_t base;
	/* The names object (table of event names) always stays at the same address, because looking names up
	 * takes no lock. When the process changes to another names object, which starts with the same names,
	 * that object is mapped over the old one. */
	struct ptrc_names names;
	/* `names` is the parent's names object (table of event names). Only its first
	 * borrowed_count names are names of this process, and this process must not add names to
	 * it. */
	bool is_borrowed;
	uint32_t borrowed_count;
};
extern struct ptrc_process_state ptrc_here;

static inline struct ptrc_page *ptrc_self_page(void)
{
	return __atomic_load_n(&ptrc_page_self, __ATOMIC_ACQUIRE);
}

static inline struct ptrc_self *ptrc_self_private(void)
{
	return __atomic_load_n(&ptrc_self, __ATOMIC_ACQUIRE);
}

/* Returns the pid in ptrc_self. It is 0 in a forked child that has not noticed the fork yet. */
static inline int32_t ptrc_self_pid(void)
{
	return ptrc_load_acquire(&ptrc_self_private()->pid);
}

static inline struct ptrc_page_place ptrc_self_place(int dirfd)
{
	return (struct ptrc_page_place){dirfd, ptrc_here.uid, ptrc_here.pid, ptrc_here.ns, NULL};
}

/* Stores that `dirfd` is the directory of the page of this process (list of its streams). */
void ptrc_self_set_home(int dirfd);
/* Whether `dirfd` is that directory. */
bool ptrc_self_is_home(int dirfd);

/* Returns the mapped bells (counters of pages) if they are in this directory; otherwise NULL. */
struct ptrc_bells *ptrc_self_bells(int dirfd);

/* Takes ptrc_here.lock up to the end of the block. All signals are blocked as long, because a signal handler may
 * record an event, which may need the lock. */
#define PTRC_SELF_LOCK() PTRC_CLEANUP(ptrc_self_unlock) const uint64_t mask_ = ptrc_self_lock()
uint64_t ptrc_self_lock(void);
void ptrc_self_unlock(const uint64_t *mask);

/* Gives ptrc_self its own mapping. Before that, it points to ordinary memory. Error: ENOMEM. */
int ptrc_self_make(void);
/* This process cannot be traced: from now on no event calls ptrc_event_cold(). */
void ptrc_self_give_up_page(void);
/* Makes events look at the bell (counter) of this process, which has no page (list of streams). */
void ptrc_self_publish_quiet(int32_t pid);
/* Makes events use `page` (list of streams), which is complete. After this, the process is initialised. */
void ptrc_self_publish(int32_t pid, struct ptrc_page *page);

bool ptrc_self_has_mapped(uint32_t id);
void ptrc_self_set_mapped(uint32_t id);
/* Copies the bits of ptrc_here.mapped to *to, where no bits are set yet: the structure is new, or was cleared in a
 * forked child. */
void ptrc_self_copy_mapped(struct ptrc_self *to);
/* The number of names in the names object (table of event names) of this process; if the object is
 * borrowed from the parent, at most borrowed_count. */
uint32_t ptrc_self_names_count(void);

#endif
