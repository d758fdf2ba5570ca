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

/* A page with its lock held. */
struct ptrc_page_file {
	int fd;
	uint64_t inode;
	bool is_new; /* empty: just made, or left by another process of that pid and reset */
	struct ptrc_page *page;
};

/* What a slot is filled with. */
struct ptrc_page_entry {
	uint64_t stream_id;
	uint64_t attach_ns;
	uint64_t names_id;
	uint32_t flags;
};

/* "p.<pid>", and the pid namespace behind it unless that is the initial one (0). */
void ptrc_page_name(char name[PTRC_PAGE_NAME_BYTES], int pid, uint64_t ns);
/* False if it is no such name. */
bool ptrc_page_parse(const char *name, int *pid, uint64_t *ns);

/* Open, lock and map the page of the process that started at start_ticks. is_create: it is
 * known to live; so make the page if need be, and empty one that belongs to an earlier
 * process of that pid. `at`, only with is_create: map it there, in place of what is there
 * (null: anywhere). The caller has signals blocked until ptrc_page_unlock. ENOENT, EPERM,
 * ENOMEM; EAGAIN: the lock could not be had. */
int ptrc_page_open(int dirfd, uint32_t uid, const char *name, uint64_t start_ticks,
		   bool is_create, void *at, struct ptrc_page_file *f);
/* Take the process' own read lock on byte 1; it stays with the mapping. */
void ptrc_page_mark_alive(const struct ptrc_page_file *f);
bool ptrc_page_is_alive(int fd);
/* For sweeps, on a descriptor of their own: the lock without waiting, and its release. */
bool ptrc_page_try_lock(int fd);
void ptrc_page_release(int fd);
/* Release the lock; the mapping stays. */
void ptrc_page_unlock(struct ptrc_page_file *f);
void ptrc_page_unmap(struct ptrc_page *page);
/* Remove the name (under the lock). */
void ptrc_page_unlink(int dirfd, const char *name, const struct ptrc_page_file *f);

/* A copy of a page's contents without lock or mapping: what others may be changing, or
 * truncating, meanwhile. ENOENT, EPERM. */
int ptrc_page_copy(int dirfd, uint32_t uid, const char *name, struct ptrc_page *copy);

/* Enter into slot `preferred` or another; the slot's number, or -1 if all are taken. A
 * stream that is there already keeps its place. */
int ptrc_page_add(struct ptrc_page *page, uint32_t preferred,
		  const struct ptrc_page_entry *e);
/* Take slot i out if it (still) holds the stream. */
bool ptrc_page_remove(struct ptrc_page *page, uint32_t i, uint64_t stream_id);
bool ptrc_page_has_slots(const struct ptrc_page *page);
/* Slot i, false if it is free. */
bool ptrc_page_slot(const struct ptrc_page *page, uint32_t i, struct ptrc_page_entry *e);

/* The names object of the page's process, mapped (at `at`, if not null): the one it has, a
 * copy of its parent's, or a new one. Under the lock. `own`: if not null, what to copy the
 * first own_count names from instead. EPERM, ENOMEM. */
int ptrc_page_names(int dirfd, uint32_t uid, struct ptrc_page *page,
		    const struct ptrc_names_object *own, uint32_t own_count, void *at,
		    struct ptrc_names *n);

#endif
