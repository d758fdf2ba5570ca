/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/process/image.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/procfs.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/model/names.h"
#include "lib/process/inherit.h"
#include "lib/process/self.h"
#include "lib/process/sweep.h"

/* By so much the size of a tmpfs directory grows with each entry. */
#define ENTRY_BYTES 20
/* Starting programs and forked children sweep the directory when the number of its entries is
 * a multiple of this. So what killed processes leave is bounded, and while there is little of
 * it no time is spent on it. */
#define SWEEP_ENTRIES 256

static uint64_t mix(uint64_t n)
{
	n = (n ^ n >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	n = (n ^ n >> 27) * UINT64_C(0x94d049bb133111eb);
	return n ^ n >> 31;
}

/* The kernel gives each image 16 random bytes, from which all copies of the library in the
 * image make the same identity. The C library makes the secret of the stack protector from
 * them, so the published identity must not lead back to them: 128 bits become 64. */
static uint64_t image_identity(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t half[2], id;

	if (!random)
		return ptrc_shmdir_new_id();
	memcpy(half, random, sizeof(half));
	id = mix(mix(half[0]) + half[1] * UINT64_C(0x9e3779b97f4a7c15));
	return id ? id : 1;
}

int ptrc_image_open_page(int32_t pid, void *at, int *dirfd, struct ptrc_page_file *f)
{
	char name[PTRC_PAGE_NAME_BYTES];
	struct ptrc_procfs_stat st;
	int error;

	ptrc_here.pid = pid;
	ptrc_here.has_page = false;
	ptrc_here.uid = (uint32_t)ptrc_sys(SYS_geteuid, 0);
	if (ptrc_procfs_stat(0, &st) || ptrc_procfs_pid_namespace(0, &ptrc_here.ns))
		return EPERM;
	ptrc_here.time_ns = ptrc_procfs_time_namespace();
	ptrc_here.start_ticks = st.start_ticks;
	ptrc_here.has_own_proc = st.pid == pid;
	error = ptrc_shmdir_open(ptrc_here.uid, true, dirfd);
	if (error)
		return error;
	ptrc_page_name(name, pid, ptrc_here.ns);
	error = ptrc_page_open(*dirfd, ptrc_here.uid, name, st.start_ticks, true, at, f);
	if (error) {
		ptrc_file_close(*dirfd);
		return error;
	}
	ptrc_here.inode = f->inode;
	ptrc_page_mark_alive(f);
	return 0;
}

/* The streams that trace the process go on, and so do their names. This image has opened none
 * of them yet. */
static void keep_names(int dirfd, struct ptrc_page *page)
{
	uint64_t id = ptrc_load_relaxed(&page->names_id);

	if (id && ptrc_names_open(dirfd, ptrc_here.uid, id, ptrc_here.names.object,
				  &ptrc_here.names) == 0)
		ptrc_here.base = ptrc_names_count(&ptrc_here.names);
}

/* An image with the library begins to use the page: it does not inherit names. */
static void forget_names_from(struct ptrc_page *page)
{
	ptrc_store_relaxed(&page->names_from, 0);
	ptrc_store_relaxed(&page->names_from_count, 0);
}

/* This is the first image of the process that has the library. Its page is new, or was made by
 * a controller or by a parent that ended. */
static void begin_page(int dirfd, struct ptrc_page *page)
{
	struct ptrc_page_entry e;
	bool has_joined = false;

	if (ptrc_here.has_own_proc && ptrc_inherit_is_announced(dirfd))
		ptrc_inherit_join(dirfd, ptrc_here.uid, ptrc_here.pid, ptrc_here.ns, page);
	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
		has_joined |= ptrc_page_slot(page, i, &e) && (e.flags & PTRC_PAGE_SLOT_JOINED);
	if (has_joined)
		keep_names(dirfd, page);
	else if (page->names_id)
		ptrc_here.base = page->names_from_count;
	forget_names_from(page);
}

/* After an exec: another image with the library used this page before. *unused gets the id of
 * a names object that this process no longer needs, or stays as it is. */
static void take_over_page(int dirfd, struct ptrc_page *page, uint64_t *unused)
{
	struct ptrc_page_entry e;

	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
		if (ptrc_page_slot(page, i, &e) && (e.flags & PTRC_PAGE_SLOT_SELF))
			ptrc_page_remove(page, i, e.stream_id);
	forget_names_from(page);
	if (ptrc_page_has_slots(page)) {
		keep_names(dirfd, page);
	} else {
		*unused = page->names_id;
		ptrc_store_relaxed(&page->names_id, 0);
	}
}

void ptrc_image_sweep_sometimes(int dirfd, bool is_due)
{
	struct stat st;

	if (!is_due && ptrc_file_stat(dirfd, &st) == 0) {
		uint64_t entries = (uint64_t)st.st_size / ENTRY_BYTES;

		is_due = entries >= SWEEP_ENTRIES && entries % SWEEP_ENTRIES == 0;
	}
	if (is_due)
		ptrc_sweep_processes(dirfd, ptrc_here.uid);
}

int ptrc_image_start(int32_t pid)
{
	struct ptrc_page_file f;
	uint64_t image, unused = 0;
	int dirfd = -1, error;

	/* An image that runs with more privileges than its caller neither trusts what is in
	 * shared memory nor publishes anything there. */
	if (!ptrc_here.is_excluded && getauxval(AT_SECURE))
		ptrc_here.is_excluded = true;
	error = ptrc_here.is_excluded ? EPERM : ptrc_self_make();
	if (!error)
		error = ptrc_image_open_page(pid, NULL, &dirfd, &f);
	if (error) {
		ptrc_here.pid = pid;
		ptrc_self_give_up_page();
		return error;
	}
	if (!ptrc_here.image)
		ptrc_here.image = image_identity();
	image = ptrc_load_relaxed(&f.page->image);
	if (image == 0)
		begin_page(dirfd, f.page);
	else if (image != ptrc_here.image)
		take_over_page(dirfd, f.page, &unused);
	ptrc_store_release(&f.page->image, ptrc_here.image);
	ptrc_self_publish(pid, f.page);
	ptrc_page_unlock(&f);
	if (unused)
		ptrc_names_release(dirfd, ptrc_here.uid, unused);
	/* The image before this one may have been a controller, whose streams are left now. */
	ptrc_image_sweep_sometimes(dirfd, image != 0);
	ptrc_file_close(dirfd);
	return 0;
}

void ptrc_image_move_home(uint32_t uid)
{
	struct ptrc_page *old = ptrc_self_page();
	char name[PTRC_PAGE_NAME_BYTES];
	struct ptrc_page_file f;
	struct ptrc_names names = {0};
	struct ptrc_page *made;
	void *map;
	int dirfd;

	if (ptrc_page_has_slots(old) || ptrc_shmdir_open(uid, true, &dirfd))
		return;
	ptrc_page_name(name, ptrc_here.pid, ptrc_here.ns);
	if (ptrc_page_open(dirfd, uid, name, ptrc_here.start_ticks, true, NULL, &f)) {
		ptrc_file_close(dirfd);
		return;
	}
	made = f.page;
	if (ptrc_here.names.object && ptrc_here.names.id && !made->names_id &&
	    ptrc_names_create(dirfd, uid, ptrc_here.names.object, ptrc_self_names_count(),
			      ptrc_here.names.object, &names) == 0) {
		ptrc_here.names = names;
		ptrc_here.is_borrowed = false;
		ptrc_store_release(&made->names_id, names.id);
	}
	ptrc_store_release(&made->image, ptrc_here.image);
	/* Events of other threads read the page at any time, so the new one is mapped in the
	 * place of the old one. */
	if (ptrc_file_map(f.fd, PTRC_PAGE_SIZE, PROT_READ | PROT_WRITE, old, &map) == 0) {
		ptrc_here.uid = uid;
		ptrc_here.inode = f.inode;
		ptrc_page_mark_alive(&f);
	}
	ptrc_page_unlock(&f);
	ptrc_page_unmap(made);
	ptrc_file_close(dirfd);
}
