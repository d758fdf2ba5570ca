/* SPDX-License-Identifier: MIT */
/* The event names of this process. */
#include "config.h"

#include "lib/process/process_state.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/file.h"
#include "lib/process/page.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"

void ptrc_process_set_mapped(uint32_t id)
{
	uint64_t bit = UINT64_C(1) << (id % 64);

	atomic_fetch_or_explicit(&ptrc_here.mapped[id / 64], bit, memory_order_relaxed);
	atomic_fetch_or_explicit(&ptrc_process_private()->mapped[id / 64], bit,
				 memory_order_relaxed);
}

uint32_t ptrc_process_names_limit(void)
{
	uint32_t count;

	if (!ptrc_here.names.object)
		return 0;
	count = ptrc_names_count(&ptrc_here.names);
	return ptrc_here.is_borrowed && ptrc_here.borrowed_count < count
		       ? ptrc_here.borrowed_count
		       : count;
}

/* Under the lock: have mapped what the page says. */
static void follow_names(void)
{
	const struct ptrc_page *page = ptrc_process_page();
	uint64_t id = atomic_load_explicit(&page->names_id, memory_order_acquire);
	uint64_t old = ptrc_here.names.object ? ptrc_here.names.id : 0;
	int dirfd;

	if (!ptrc_here.has_page || id == 0)
		return;
	if (old == id) {
		ptrc_here.is_borrowed = false;
		return;
	}
	/* One's own names are not given up for others. */
	if (ptrc_here.names.object && !ptrc_here.is_borrowed)
		return;
	if (ptrc_shmdir_open(ptrc_here.uid, false, &dirfd))
		return;
	if (ptrc_names_open(dirfd, ptrc_here.uid, id, ptrc_here.names.object,
			    &ptrc_here.names) == 0) {
		ptrc_here.is_borrowed = false;
		if (old)
			ptrc_names_release(dirfd, ptrc_here.uid, old);
	}
	ptrc_file_close(dirfd);
}

bool ptrc_process_maps_id(uint32_t id)
{
	uint64_t mask;
	bool is_mapped;

	if (id < PTRC_ID_UNNAMED || id >= PTRC_ID_FIRST + PTRC_NAMES_MAX)
		return false;
	if (id == PTRC_ID_UNNAMED ||
	    (atomic_load_explicit(&ptrc_process_private()->mapped[id / 64],
				  memory_order_relaxed) >>
		     (id % 64) &
	     1))
		return true;
	if (ptrc_process_init() || !ptrc_process_is_own())
		return false;
	ptrc_process_lock(&mask);
	follow_names();
	is_mapped = id - PTRC_ID_FIRST < ptrc_process_names_limit() &&
		    id - PTRC_ID_FIRST >= ptrc_here.base;
	if (is_mapped)
		ptrc_process_set_mapped(id);
	ptrc_process_unlock(&mask);
	return is_mapped ||
	       (atomic_load_explicit(&ptrc_process_private()->mapped[id / 64],
				     memory_order_relaxed) >>
			(id % 64) &
		1);
}

/* Under the lock: names that may be added to. */
static int make_names(void)
{
	struct ptrc_page *page = ptrc_process_page();
	char name[PTRC_PAGE_NAME_BYTES];
	struct ptrc_page_file f = {.fd = -1};
	uint64_t old;
	bool is_locked;
	int dirfd, err;

	follow_names();
	if (ptrc_here.names.object && !ptrc_here.is_borrowed)
		return 0;
	if (ptrc_here.is_excluded || ptrc_here.has_ended)
		return ptrc_names_create_private(&ptrc_here.names);
	err = ptrc_shmdir_open(ptrc_here.uid, true, &dirfd);
	if (err)
		return err;
	old = ptrc_here.names.object ? ptrc_here.names.id : 0;
	ptrc_page_name(name, ptrc_here.pid, ptrc_here.ns);
	/* A page without its name is still ours, and then no controller can find it. */
	is_locked = ptrc_page_open(dirfd, ptrc_here.uid, name, ptrc_here.start_ticks,
				   false, NULL, &f) == 0;
	err = ptrc_page_names(dirfd, ptrc_here.uid, page,
			      ptrc_here.is_borrowed ? ptrc_here.names.object : NULL,
			      ptrc_here.borrowed_count, ptrc_here.names.object,
			      &ptrc_here.names);
	if (is_locked) {
		ptrc_page_unlock(&f);
		ptrc_page_unmap(f.page);
	}
	if (!err) {
		ptrc_here.is_borrowed = false;
		if (old)
			ptrc_names_release(dirfd, ptrc_here.uid, old);
	}
	ptrc_file_close(dirfd);
	return err;
}

int ptrc_process_names(struct ptrc_names **names)
{
	uint64_t mask;
	int err = ptrc_process_init();

	/* A process that cannot be traced has names all the same, for itself; but not a
	 * child that shares our memory until it execs. */
	if (err && (err != EPERM || atomic_load_explicit(&ptrc_process_private()->pid,
							 memory_order_relaxed)))
		return ENOMEM;
	ptrc_process_lock(&mask);
	if (err)
		ptrc_here.is_excluded = true;
	err = make_names();
	ptrc_process_unlock(&mask);
	if (err)
		return ENOMEM;
	*names = &ptrc_here.names;
	return 0;
}

int ptrc_process_open_name(const char *name, uint32_t *id)
{
	struct ptrc_names *names;
	uint64_t mask;
	uint32_t found = 0;
	int err;

	if (strnlen(name, PTRC_NAME_BYTES) == PTRC_NAME_BYTES)
		return ENAMETOOLONG;
	if (ptrc_process_init() == 0) {
		ptrc_process_lock(&mask);
		follow_names();
		/* A name the parent had needs no names of one's own. */
		found = ptrc_names_find(ptrc_here.names.object,
					ptrc_process_names_limit(), name);
		ptrc_process_unlock(&mask);
	}
	if (!found) {
		err = ptrc_process_names(&names);
		if (!err)
			err = ptrc_names_register(names, name, &found);
		if (err)
			return err;
	}
	if (found >= PTRC_ID_UNNAMED)
		ptrc_process_set_mapped(found);
	*id = found;
	return 0;
}

void ptrc_process_let_names_go(int dirfd)
{
	char name[PTRC_SHMDIR_NAME_BYTES];
	uint64_t size;
	int fd;

	if (!ptrc_here.names.object || !ptrc_here.names.id)
		return;
	ptrc_shmdir_name(name, 'n', ptrc_here.names.id);
	if (ptrc_shmdir_open_object(dirfd, name, ptrc_here.uid, &fd, &size))
		return;
	ptrc_sys(SYS_mmap, ptrc_here.names.object, sizeof(*ptrc_here.names.object),
		 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0);
	ptrc_file_close(fd);
	ptrc_here.names.id = 0;
}
