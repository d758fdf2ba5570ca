/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/process/inherit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/procfs.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/process/page.h"
#include "lib/process/sweep.h"

/* A process with more ancestors than this is none: pids that were used again form a loop. */
#define GENERATIONS_MAX 256

int ptrc_inherit_announce(int dirfd, uint64_t stream_id)
{
	char name[PTRC_SHMDIR_NAME_BYTES];
	long ret;

	ptrc_shmdir_name(name, 'i', stream_id);
	ret = ptrc_sys(SYS_mkdirat, dirfd, name, 0700);
	/* The standard gives posix_trace_create no other error for this. */
	return ret < 0 ? ENOMEM : 0;
}

void ptrc_inherit_withdraw(int dirfd, uint64_t stream_id)
{
	char name[PTRC_SHMDIR_NAME_BYTES];
	struct stat st;

	ptrc_shmdir_name(name, 'i', stream_id);
	if (ptrc_sys(SYS_unlinkat, dirfd, name, AT_REMOVEDIR))
		return;
	if (ptrc_file_stat(dirfd, &st) == 0)
		ptrc_sweep_stream(dirfd, st.st_uid, stream_id);
}

bool ptrc_inherit_is_announced(int dirfd)
{
	struct stat st;

	/* A directory has two links of its own, and one from each subdirectory. */
	return ptrc_file_stat(dirfd, &st) == 0 && st.st_nlink > 2;
}

void ptrc_inherit_take(const struct ptrc_page *from, uint64_t ticks, struct ptrc_page *page)
{
	uint64_t names_id = ptrc_load_relaxed(&page->names_id);

	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++) {
		struct ptrc_page_entry e;

		if (!ptrc_page_slot(from, i, &e) || !(e.flags & PTRC_PAGE_SLOT_INHERITED) ||
		    ticks < e.attach_ns / PTRC_PROCFS_TICK_NS)
			continue;
		/* A process has one set of names. If it has another one already, it cannot
		 * have that of this stream. */
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

void ptrc_inherit_join(int dirfd, uint32_t uid, int pid, uint64_t ns, struct ptrc_page *page)
{
	struct ptrc_procfs_stat child, parent;
	char name[PTRC_PAGE_NAME_BYTES];
	struct ptrc_page copy;

	if (ptrc_procfs_stat(pid, &child))
		return;
	for (int i = 0; i < GENERATIONS_MAX && child.ppid > 0; i++) {
		if (ptrc_procfs_stat(child.ppid, &parent))
			return;
		ptrc_page_name(name, parent.pid, ns);
		if (ptrc_page_copy(dirfd, uid, name, &copy) == 0 &&
		    copy.start_ticks == parent.start_ticks) {
			ptrc_inherit_take(&copy, child.start_ticks, page);
			if (copy.image)
				return;
		}
		child = parent;
	}
}

void ptrc_inherit_names(int dirfd, uint32_t uid, int pid, uint64_t ns, struct ptrc_page *page)
{
	struct ptrc_procfs_stat child, parent;
	char name[PTRC_PAGE_NAME_BYTES];
	struct ptrc_page copy;
	uint64_t from;
	uint32_t count;

	if (page->names_id || page->names_from || ptrc_procfs_stat(pid, &child) ||
	    child.ppid <= 0 || ptrc_procfs_stat(child.ppid, &parent))
		return;
	ptrc_page_name(name, parent.pid, ns);
	if (ptrc_page_copy(dirfd, uid, name, &copy) || copy.start_ticks != parent.start_ticks)
		return;
	from = copy.names_id;
	count = PTRC_NAMES_MAX;
	if (!from) {
		from = copy.names_from;
		count = copy.names_from_count;
	}
	if (!from)
		return;
	ptrc_store_relaxed(&page->names_from_count, count);
	ptrc_store_release(&page->names_from, from);
}

struct preparation {
	int dirfd;
	uint32_t uid;
	uint64_t ns;
};

static bool prepare_child(int pid, void *arg)
{
	const struct preparation *p = arg;
	char name[PTRC_PAGE_NAME_BYTES];
	struct ptrc_procfs_stat st;
	struct ptrc_page_file f;
	struct ptrc_page copy;

	if (ptrc_procfs_stat(pid, &st))
		return true;
	ptrc_page_name(name, pid, p->ns);
	if (ptrc_page_copy(p->dirfd, p->uid, name, &copy) == 0 &&
	    copy.start_ticks == st.start_ticks && copy.image)
		return true;
	if (ptrc_page_open(p->dirfd, p->uid, name, st.start_ticks, true, NULL, &f))
		return true;
	if (ptrc_load_relaxed(&f.page->image) == 0) {
		ptrc_inherit_join(p->dirfd, p->uid, pid, p->ns, f.page);
		if (f.is_new && !ptrc_page_has_slots(f.page))
			ptrc_page_unlink(p->dirfd, name, &f);
	}
	ptrc_page_unlock(&f);
	ptrc_page_unmap(f.page);
	return true;
}

void ptrc_inherit_prepare_children(int dirfd, uint32_t uid, uint64_t ns)
{
	struct preparation p = {dirfd, uid, ns};

	ptrc_procfs_children(0, prepare_child, &p);
}
