/* SPDX-License-Identifier: MIT */
/* The pages of processes (lists of the streams that trace them) as files: finds, makes, locks and changes them.
 * Uses raw system calls only. See page_layout.h. */
#ifndef PTRC_LIB_PROCESS_PAGE_H
#define PTRC_LIB_PROCESS_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/names.h"
#include "lib/process/bell.h"
#include "lib/process/page_layout.h"

#define PTRC_PAGE_NAME_BYTES 48

/* Where the page (list of streams) of a process is: the process, and the directory that the page is in. */
struct ptrc_page_place {
	int dirfd;
	uint32_t uid; /* the user to whom the directory belongs */
	int pid;
	uint64_t ns; /* the pid namespace of the process; 0: the initial one */
	/* The bells (counters of pages) in the directory, if they are mapped; otherwise NULL. */
	struct ptrc_bells *bells;
};

/* A page (list of a process's streams) that is open, mapped and locked. */
struct ptrc_page_file {
	struct ptrc_page_place place;
	int fd;
	uint64_t inode;
	uint64_t signal_mask; /* the signal mask that ptrc_page_unlock restores */
	/* ptrc_page_open has made the page, or has cleared a page of an earlier process. */
	bool is_new;
	struct ptrc_page *page;
};

/* A copy of a slot of a page: a stream that traces the process. The members are those of struct
 * ptrc_page_slot. */
struct ptrc_page_entry {
	uint64_t stream_id;
	uint64_t attach_ns;
	uint64_t names_id;
	uint32_t flags;
};

/* Makes the file name of a process's page: "p.<pid>" or, if its pid namespace is not the initial one (0),
 * "p.<pid>.<ns>". */
void ptrc_page_name(char name[PTRC_PAGE_NAME_BYTES], int pid, uint64_t ns);
bool ptrc_page_parse(const char *name, int *pid, uint64_t *ns);

/* Opens, locks and maps the page (list of streams) of the process that started at start_ticks. is_create means
 * that the caller knows that this process lives. Then the page is made if it does not exist, and cleared if it
 * belongs to an earlier process with the same pid. If `at` is not NULL, which needs is_create, the page
 * replaces what is mapped at this address. All signals are blocked until ptrc_page_unlock. ENOENT, EPERM,
 * ENOMEM; EAGAIN: another process does not release the lock. */
int ptrc_page_open(const struct ptrc_page_place *place, uint64_t start_ticks, bool is_create,
		   void *at, struct ptrc_page_file *f);
/* Takes the read lock by which a process shows that it lives. It lasts as long as the page is mapped, even if
 * the descriptor is closed. */
void ptrc_page_mark_alive(const struct ptrc_page_file *f);
bool ptrc_page_is_alive(int fd);
/* Locks a page (list of a process's streams) that is not mapped. Returns false at once if another process has
 * the lock. Blocks signals until ptrc_page_release. */
bool ptrc_page_try_lock(int fd, uint64_t *mask);
void ptrc_page_release(int fd, const uint64_t *mask);
/* Releases the lock. The page stays mapped. */
void ptrc_page_unlock(struct ptrc_page_file *f);
void ptrc_page_unmap(struct ptrc_page *page);
/* Removes the file of a page (list of a process's streams). Does nothing if another page has its name now. The
 * caller holds the page's lock, or is the process to which the page belongs: while that process lives, no other
 * process removes the page. */
void ptrc_page_unlink(const struct ptrc_page_place *place, uint64_t inode);

/* Copies a page without a lock. Does not map the page, because another process may truncate it meanwhile.
 * Errors: ENOENT, EPERM. */
int ptrc_page_copy(const struct ptrc_page_place *place, struct ptrc_page *copy);

/* Puts a stream into slot `preferred` of the page or, if that is used, into another slot. Returns the number of
 * the slot, or -1 if all slots are used. If the stream is in the page already, it keeps its slot. */
int ptrc_page_add(struct ptrc_page *page, uint32_t preferred, const struct ptrc_page_entry *e);
void ptrc_page_remove(struct ptrc_page *page, uint64_t stream_id);
/* Whether there is a stream in the page that has at least one of these flags. With flags 0, any stream
 * counts. */
bool ptrc_page_has(const struct ptrc_page *page, uint32_t flags);
/* Calls a process whose page has no stream: sets a bit that stands for no stream. Because of it the next event takes
 * the cold way, and there the process looks for its page (list of its streams) in the directory of its present user.
 * ptrc_page_was_called() clears such a bit; false: there is none. */
void ptrc_page_call(struct ptrc_page *page);
bool ptrc_page_was_called(struct ptrc_page *page);
/* Reads slot i of the page. Returns false if the slot is free. */
bool ptrc_page_slot(const struct ptrc_page *page, uint32_t i, struct ptrc_page_entry *e);

/* Maps the names object (table of event names) of the page's process (at the address `at`, if that
 * is not NULL). If the process has none, it gets a new one, which starts with the first own_count
 * names of `own` or, if `own` is NULL, with the names of the parent process. The caller holds the
 * page's lock. EPROTO: this library does not know the version of the process's names object. Other
 * errors: EPERM, ENOMEM. */
int ptrc_page_names(int dirfd, uint32_t uid, struct ptrc_page *page,
		    const struct ptrc_names_object *own, uint32_t own_count, void *at,
		    struct ptrc_names *n);

#endif
