/* SPDX-License-Identifier: MIT */
/* State of the process that the library runs in. The event path reads ptrc_page_self and
 * ptrc_self; everything after these two is for the files of lib/process only. */
#ifndef PTRC_LIB_PROCESS_SELF_H
#define PTRC_LIB_PROCESS_SELF_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/atomic.h"
#include "lib/model/eventset.h"
#include "lib/model/names.h"
#include "lib/process/bell.h"
#include "lib/process/page.h"

/* This structure is in a mapping of its own, marked MADV_WIPEONFORK: the kernel zeroes it in a
 * child that is made by fork or raw clone, so the child finds pid 0 here even if no fork handler
 * ran. A vfork child shares the memory and finds its parent's pid. */
struct ptrc_self {
	_Atomic int32_t pid; /* 0: this process has no page yet */
	/* The pid of the process that began without a page (bell.h); 0: none did. */
	_Atomic int32_t quiet_pid;
	uint64_t image; /* identity of this program image, never 0 */
	/* Bit i: this image may record events of type i. Bits are only ever set. */
	_Atomic uint64_t mapped[PTRC_SET_WORD_COUNT];
};

/* The page of this process, never NULL. Before initialisation it is a page with one active bit,
 * which leads every event into the cold way. In a process that began without a page it is the
 * bell of the process, of which only the word `active` may be read: when the bell rings, it leads
 * the next event into the cold way. If the process cannot be traced, it is a page without active
 * bits. */
extern struct ptrc_page *ptrc_page_self;
extern struct ptrc_self *ptrc_self;

/* This structure is in ordinary memory: a forked child has a copy, and so knows which process its
 * parent was and which names its parent had. All members but the atomic ones are used under
 * `lock`. */
struct ptrc_process_state {
	_Atomic int32_t lock; /* see pid_lock.h */
	int32_t pid;	      /* the process that this describes; 0: not initialised */
	bool has_page;
	bool is_quiet;	  /* events look at its bell, as it has no page */
	bool is_excluded; /* this process is never traced */
	/* It has traced another process, which may have been killed without removing its page. */
	_Atomic bool has_traced;
	bool has_ended;		  /* exit() has removed its page, or found that it has none */
	bool has_own_proc;	  /* /proc gives processes the pids that this process knows */
	uint32_t uid;		  /* effective */
	uint64_t ns;		  /* pid namespace; 0: the initial one */
	_Atomic uint64_t time_ns; /* time namespace; 0: not known yet */
	uint64_t start_ticks;
	uint64_t inode; /* of the page's file */
	/* The bells of the user with which this image started, in the directory named by
	 * bells_dev and bells_inode; NULL: not mapped. */
	struct ptrc_bells *bells;
	uint64_t bells_dev, bells_inode;
	uint64_t image;
	_Atomic uint64_t mapped[PTRC_SET_WORD_COUNT];
	/* Names with a lower index were registered by earlier images of this process. This image
	 * may use such a name only after it has opened the name itself. */
	uint32_t base;
	/* The names object always stays at the same address, because lookups take no lock. When
	 * the process changes to another object, that one is mapped over the old one; it starts
	 * with the same names. */
	struct ptrc_names names;
	/* `names` belongs to the parent: only its first borrowed_count names are names of this
	 * process, and this process must not add any. */
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

/* The pid in ptrc_self; 0 in a forked child that has not noticed the fork yet. */
static inline int32_t ptrc_self_pid(void)
{
	return ptrc_load_acquire(&ptrc_self_private()->pid);
}

static inline struct ptrc_page_place ptrc_self_place(int dirfd)
{
	return (struct ptrc_page_place){dirfd, ptrc_here.uid, ptrc_here.pid, ptrc_here.ns, NULL};
}

/* The mapped bells, if they are those of this directory; else NULL. */
struct ptrc_bells *ptrc_self_bells(int dirfd);

/* Takes and releases ptrc_here.lock. All signals are blocked in between, because a signal handler
 * may record an event, which may need the lock. */
void ptrc_self_lock(uint64_t *mask);
void ptrc_self_unlock(const uint64_t *mask);

/* Gives ptrc_self its mapping; before, it points to ordinary memory. ENOMEM. */
int ptrc_self_make(void);
/* From now on no event takes the cold way: this process cannot be traced. */
void ptrc_self_give_up_page(void);
/* Lets events look at the bell of this process, which has no page. */
void ptrc_self_publish_quiet(int32_t pid);
/* Lets events use `page`, which is complete. This initialises the process. */
void ptrc_self_publish(int32_t pid, struct ptrc_page *page);

bool ptrc_self_has_mapped(uint32_t id);
void ptrc_self_set_mapped(uint32_t id);
/* Copies the bits of ptrc_here to a structure that has none: a new one, or that of a forked
 * child, which the fork has wiped. */
void ptrc_self_copy_mapped(struct ptrc_self *to);
/* How many of the mapped names are names of this process. */
uint32_t ptrc_self_names_count(void);

#endif
