/* SPDX-License-Identifier: MIT */
/*
 * Process pages as files: finding, making, locking and changing them. Raw system calls
 * only. See page_layout.h.
 */
#ifndef PTRC_LIB_PROCESS_PAGE_H
#define PTRC_LIB_PROCESS_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/model/names.h"
#include "lib/process/page_layout.h"

#define PTRC_PAGE_NAME_BYTES 48

/* A page that is open, mapped, and locked. */
struct ptrc_page_file {
	int fd;
	uint64_t inode;
	bool is_new; /* it was just made, or was left by an earlier process and is empty now */
	struct ptrc_page *page;
};

/* What is in a slot. */
struct ptrc_page_entry {
	uint64_t stream_id;
	uint64_t attach_ns;
	uint64_t names_id;
	uint32_t flags;
};

/* The name is "p.<pid>"; unless the pid namespace is the initial one (0), ".<ns>" follows. */
void ptrc_page_name(char name[PTRC_PAGE_NAME_BYTES], int pid, uint64_t ns);
/* False if it is no name of a page. */
bool ptrc_page_parse(const char *name, int *pid, uint64_t *ns);

/* Open, lock and map the page of the process that started at start_ticks. is_create: the process
 * is known to live, so the page is made if there is none, and emptied if it belongs to an earlier
 * process with that pid. `at`, only with is_create: the page is mapped there, in place of what is
 * there (null: anywhere). The caller has signals blocked until ptrc_page_unlock. ENOENT, EPERM,
 * ENOMEM; EAGAIN: the lock could not be had. */
int ptrc_page_open(int dirfd, uint32_t uid, const char *name, uint64_t start_ticks, bool is_create,
		   void *at, struct ptrc_page_file *f);
/* Take the read lock by which the process shows that it lives. The mapping keeps it. */
void ptrc_page_mark_alive(const struct ptrc_page_file *f);
bool ptrc_page_is_alive(int fd);
/* For sweeps, which have a descriptor only: take the lock without waiting, and release it. */
bool ptrc_page_try_lock(int fd);
void ptrc_page_release(int fd);
/* Release the lock; the mapping stays. */
void ptrc_page_unlock(struct ptrc_page_file *f);
void ptrc_page_unmap(struct ptrc_page *page);
/* Remove the name if it still is of this page. */
void ptrc_page_unlink(int dirfd, const char *name, const struct ptrc_page_file *f);

/* Copy what is in a page, without its lock and without mapping it, as other processes may change
 * or truncate it meanwhile. ENOENT, EPERM. */
int ptrc_page_copy(int dirfd, uint32_t uid, const char *name, struct ptrc_page *copy);

/* Enter a stream into slot `preferred` if that is free, or into another one. Returns the slot's
 * number, or -1 if all are taken. A stream that is there already keeps its slot. */
int ptrc_page_add(struct ptrc_page *page, uint32_t preferred, const struct ptrc_page_entry *e);
/* Clear slot i if the stream is in it. False: it is not. */
bool ptrc_page_remove(struct ptrc_page *page, uint32_t i, uint64_t stream_id);
bool ptrc_page_has_slots(const struct ptrc_page *page);
/* Read slot i. False: it is free. */
bool ptrc_page_slot(const struct ptrc_page *page, uint32_t i, struct ptrc_page_entry *e);

/* Map the names object of the page's process (at `at`, if not null): the one that it has, or else
 * a new one, which begins with the names of its parent; or, if `own` is not null, with the first
 * own_count names of `own`. The caller has the page's lock. EPERM, ENOMEM. */
int ptrc_page_names(int dirfd, uint32_t uid, struct ptrc_page *page,
		    const struct ptrc_names_object *own, uint32_t own_count, void *at,
		    struct ptrc_names *n);

#endif
