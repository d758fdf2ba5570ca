/* SPDX-License-Identifier: MIT */
/* Process pages as files: finds, makes, locks and changes them. Raw system calls only. See
 * page_layout.h. */
#ifndef PTRC_LIB_PROCESS_PAGE_H
#define PTRC_LIB_PROCESS_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/names.h"
#include "lib/process/bell.h"
#include "lib/process/page_layout.h"

#define PTRC_PAGE_NAME_BYTES 48

/* The process that a page belongs to, and the directory that the page is in. */
struct ptrc_page_place {
	int dirfd;
	uint32_t uid; /* the user whose directory it is */
	int pid;
	uint64_t ns; /* the pid namespace of the process; 0: the initial one */
	/* The bells in the directory if they are mapped, else NULL. */
	struct ptrc_bells *bells;
};

/* A page that is open, mapped and locked. */
struct ptrc_page_file {
	struct ptrc_page_place place;
	int fd;
	uint64_t inode;
	uint64_t signal_mask; /* what ptrc_page_unlock restores */
	/* This call made the page, or emptied one of an earlier process. */
	bool is_new;
	struct ptrc_page *page;
};

/* A copy of the words of a slot. */
struct ptrc_page_entry {
	uint64_t stream_id;
	uint64_t attach_ns;
	uint64_t names_id;
	uint32_t flags;
};

/* The name is "p.<pid>"; unless the pid namespace is the initial one (0), ".<ns>" follows. */
void ptrc_page_name(char name[PTRC_PAGE_NAME_BYTES], int pid, uint64_t ns);
/* Returns false if `name` is not the name of a page. */
bool ptrc_page_parse(const char *name, int *pid, uint64_t *ns);

/* Opens, locks and maps the page of the process that started at start_ticks. is_create: the
 * caller knows that this process lives, so the page is made if there is none, and emptied if it
 * belongs to an earlier process with the same pid. `at`: the page replaces what is mapped there,
 * only with is_create; NULL: it is mapped anywhere. All signals are blocked until
 * ptrc_page_unlock. ENOENT, EPERM, ENOMEM; EAGAIN: another process does not release the lock. */
int ptrc_page_open(const struct ptrc_page_place *place, uint64_t start_ticks, bool is_create,
		   void *at, struct ptrc_page_file *f);
/* Takes the read lock by which the process shows that it lives. The mapping keeps it. */
void ptrc_page_mark_alive(const struct ptrc_page_file *f);
bool ptrc_page_is_alive(int fd);
/* Locks a page that is not mapped, without waiting, and blocks signals until it is released. */
bool ptrc_page_try_lock(int fd, uint64_t *mask);
void ptrc_page_release(int fd, const uint64_t *mask);
/* Releases the lock; the mapping stays. */
void ptrc_page_unlock(struct ptrc_page_file *f);
void ptrc_page_unmap(struct ptrc_page *page);
/* Removes the file; does nothing if its name already belongs to another page. The caller holds
 * the page's lock, or is the process that the page belongs to: while that process lives, no other
 * one removes the page. */
void ptrc_page_unlink(const struct ptrc_page_place *place, uint64_t inode);

/* Copies a page without locking or mapping it, because another process may change or truncate it
 * meanwhile. ENOENT, EPERM. */
int ptrc_page_copy(const struct ptrc_page_place *place, struct ptrc_page *copy);

/* Enters a stream into slot `preferred`, or into another one if that is taken. Returns the slot's
 * number, or -1 if all are taken. A stream that is already in the page keeps its slot. */
int ptrc_page_add(struct ptrc_page *page, uint32_t preferred, const struct ptrc_page_entry *e);
/* Clears the slot of the stream, if it is in the page. */
void ptrc_page_remove(struct ptrc_page *page, uint64_t stream_id);
/* Is there a stream in the page, with at least one of these flags (0: with any flags or none)? */
bool ptrc_page_has(const struct ptrc_page *page, uint32_t flags);
/* Reads slot i. Returns false if it is free. */
bool ptrc_page_slot(const struct ptrc_page *page, uint32_t i, struct ptrc_page_entry *e);

/* Maps the names object of the page's process (at `at`, if that is not NULL). A process that has
 * none gets a new one, which starts with the first own_count names of `own` or, if `own` is NULL,
 * with the names of the parent process. The caller holds the page's lock. EPERM, ENOMEM. */
int ptrc_page_names(int dirfd, uint32_t uid, struct ptrc_page *page,
		    const struct ptrc_names_object *own, uint32_t own_count, void *at,
		    struct ptrc_names *n);

#endif
