/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/process/inherit.h"

#include <errno.h>
#include <sys/stat.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/procfs.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/process/sweep.h"

/* How many ancestors are looked at. Without this limit, the search could go in a circle if pids are reused
 * meanwhile. */
#define GENERATIONS_MAX 256

int ptrc_inherit_announce(int dirfd, uint64_t stream_id)
{
	char name[PTRC_SHMDIR_NAME_BYTES];

	ptrc_shmdir_name(name, 'i', stream_id);
	return ptrc_sys(SYS_mkdirat, dirfd, name, 0700) < 0 ? ENOMEM : 0;
}

void ptrc_inherit_withdraw(int dirfd, uint64_t stream_id)
{
	struct stat st;

	if (ptrc_shmdir_remove_id(dirfd, 'i', stream_id) && ptrc_file_stat(dirfd, &st) == 0)
		ptrc_sweep_stream(dirfd, st.st_uid, stream_id);
}

bool ptrc_inherit_is_announced_in(const struct stat *dir)
{
	/* A directory has two links of its own, and one more from each subdirectory. */
	return dir->st_nlink > 2;
}

bool ptrc_inherit_is_announced(int dirfd)
{
	struct stat st;

	return ptrc_file_stat(dirfd, &st) == 0 && ptrc_inherit_is_announced_in(&st);
}

void ptrc_inherit_take(const struct ptrc_page *from, uint64_t ticks, struct ptrc_page *page)
{
	uint64_t names_id = ptrc_load_relaxed(&page->names_id);

	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++) {
		struct ptrc_page_entry e;

		if (!ptrc_page_slot(from, i, &e) || !(e.flags & PTRC_PAGE_SLOT_INHERITED) ||
		    ticks < e.attach_ns / PTRC_PROCFS_TICK_NS)
			continue;
		/* A process has one names object (table of event names), so it cannot join a stream that
		 * uses another one. */
		if (names_id && names_id != e.names_id)
			continue;
		e.flags = PTRC_PAGE_SLOT_INHERITED | PTRC_PAGE_SLOT_JOINED;
		if (!names_id) {
			names_id = e.names_id;
			ptrc_store_relaxed(&page->names_from, 0);
			ptrc_store_release(&page->names_id, names_id);
		}
		ptrc_page_add(page, i, &e);
	}
}

static bool copy_page(const struct ptrc_page_place *place, const struct ptrc_procfs_stat *st,
		      struct ptrc_page *copy)
{
	const struct ptrc_page_place its = {place->dirfd, place->uid, st->pid, place->ns,
					    place->bells};

	return ptrc_page_copy(&its, copy) == 0 && copy->start_ticks == st->start_ticks;
}

int ptrc_inherit_join(const struct ptrc_page_place *place, struct ptrc_page *page,
		      struct ptrc_page *copy)
{
	struct ptrc_procfs_stat child, parent;

	/* Each step below needs one descriptor, and so does this step. So if this step succeeds, no later
	 * step fails because descriptors are short. */
	if (ptrc_procfs_stat(place->pid, &child))
		return ENOMEM;
	for (int i = 0; i < GENERATIONS_MAX && child.ppid > 0; i++) {
		if (ptrc_procfs_stat(child.ppid, &parent))
			return 0;
		if (copy_page(place, &parent, copy)) {
			ptrc_inherit_take(copy, child.start_ticks, page);
			if (copy->image)
				return 0;
		}
		child = parent;
	}
	return 0;
}

void ptrc_inherit_names(const struct ptrc_page_place *place, struct ptrc_page *page)
{
	struct ptrc_procfs_stat child, parent;
	struct ptrc_page copy;

	if (page->names_id || page->names_from || ptrc_procfs_stat(place->pid, &child) ||
	    child.ppid <= 0 || ptrc_procfs_stat(child.ppid, &parent) ||
	    !copy_page(place, &parent, &copy))
		return;
	if (copy.names_id) {
		copy.names_from = copy.names_id;
		copy.names_from_count = PTRC_NAMES_MAX;
	}
	if (!copy.names_from)
		return;
	ptrc_store_relaxed(&page->names_from_count, copy.names_from_count);
	ptrc_store_release(&page->names_from, copy.names_from);
}

static bool prepare_child(int pid, void *arg)
{
	struct ptrc_page_place place = *(const struct ptrc_page_place *)arg;
	struct ptrc_procfs_stat st;
	struct ptrc_page_file f;
	struct ptrc_page copy;

	place.pid = pid;
	if (ptrc_procfs_stat(pid, &st) || (copy_page(&place, &st, &copy) && copy.image) ||
	    ptrc_page_open(&place, st.start_ticks, true, NULL, &f))
		return true;
	if (ptrc_load_relaxed(&f.page->image) == 0) {
		ptrc_inherit_join(&place, f.page, &copy);
		if (f.is_new && !ptrc_page_has(f.page, 0))
			ptrc_page_unlink(&f.place, f.inode);
	}
	ptrc_page_unlock(&f);
	ptrc_page_unmap(f.page);
	return true;
}

void ptrc_inherit_prepare_children(const struct ptrc_page_place *own)
{
	ptrc_procfs_children(0, prepare_child, (void *)own);
}
