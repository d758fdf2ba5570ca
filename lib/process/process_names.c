/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/process/process_names.h"

#include <errno.h>
#include <string.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/process/page.h"
#include "lib/process/process.h"
#include "lib/process/self.h"
#include "lib/process/sweep.h"

/* Maps the names object whose id is in the page: a controller may have given the process another
 * one. The caller holds the lock of self.h. */
static void follow_names(void)
{
	uint64_t old = ptrc_here.names.object ? ptrc_here.names.id : 0;
	uint64_t id = 0;
	int dirfd;

	if (ptrc_here.has_page)
		id = ptrc_load_acquire(&ptrc_self_page()->names_id);
	if (id == 0)
		return;
	if (old == id) {
		ptrc_here.is_borrowed = false;
		return;
	}
	/* A process that has names of its own keeps them. */
	if (ptrc_here.names.object && !ptrc_here.is_borrowed)
		return;
	if (ptrc_shmdir_open(ptrc_here.uid, false, &dirfd))
		return;
	if (ptrc_names_open(dirfd, ptrc_here.uid, id, ptrc_here.names.object, &ptrc_here.names) ==
	    0) {
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
	if (id == PTRC_ID_UNNAMED || ptrc_self_has_mapped(id))
		return true;
	if (ptrc_process_init() || ptrc_self_pid() != ptrc_sys_getpid())
		return false;
	ptrc_self_lock(&mask);
	follow_names();
	is_mapped = id - PTRC_ID_FIRST < ptrc_self_names_count() &&
		    id - PTRC_ID_FIRST >= ptrc_here.base;
	if (is_mapped)
		ptrc_self_set_mapped(id);
	ptrc_self_unlock(&mask);
	return is_mapped || ptrc_self_has_mapped(id);
}

/* Gives this process a names object that it may add to, if it has none. The caller holds the
 * lock. */
static int make_names(void)
{
	struct ptrc_page_place place;
	struct ptrc_page_file f;
	uint64_t old;
	bool is_locked;
	int dirfd, error;

	follow_names();
	if (ptrc_here.names.object && !ptrc_here.is_borrowed)
		return 0;
	if (ptrc_here.is_excluded || ptrc_here.has_ended)
		return ptrc_names_create_private(&ptrc_here.names);
	error = ptrc_shmdir_open(ptrc_here.uid, true, &dirfd);
	if (error)
		return error;
	old = ptrc_here.names.object ? ptrc_here.names.id : 0;
	place = ptrc_self_place(dirfd);
	/* The page's file may have been removed. Then the lock is not needed, because no controller
	 * finds the page. */
	is_locked = ptrc_page_open(&place, ptrc_here.start_ticks, false, NULL, &f) == 0;
	error = ptrc_page_names(dirfd, ptrc_here.uid, ptrc_self_page(),
				ptrc_here.is_borrowed ? ptrc_here.names.object : NULL,
				ptrc_here.borrowed_count, ptrc_here.names.object, &ptrc_here.names);
	if (is_locked) {
		ptrc_page_unlock(&f);
		ptrc_page_unmap(f.page);
	}
	if (!error) {
		ptrc_here.is_borrowed = false;
		if (old)
			ptrc_names_release(dirfd, ptrc_here.uid, old);
		/* Children that were forked without fork handlers, and killed, leave such objects. */
		ptrc_sweep_sometimes(dirfd, ptrc_here.uid, false);
	}
	ptrc_file_close(dirfd);
	return error;
}

int ptrc_process_names(struct ptrc_names **names)
{
	uint64_t mask;
	int error = ptrc_process_init();

	/* A process that cannot be traced has private names. But a vfork child, which shares its
	 * parent's memory until it execs, has none. */
	if (error && (error != EPERM || ptrc_self_pid() != 0))
		return ENOMEM;
	ptrc_self_lock(&mask);
	if (error)
		ptrc_here.is_excluded = true;
	error = make_names();
	ptrc_self_unlock(&mask);
	if (error)
		return ENOMEM;
	*names = &ptrc_here.names;
	return 0;
}

/* Needs no lock: once mapped, the object stays at its address (self.h). */
const struct ptrc_names *ptrc_process_own_names(void)
{
	return &ptrc_here.names;
}

/* Finds a type that this process has already, with this layout if it is not NULL. ENODATA: it has to
 * be made. */
static int find_type(const char *name, const char *layout, uint32_t bytes, uint32_t *id)
{
	uint32_t found;
	uint64_t mask;
	int error = ENODATA;

	if (ptrc_process_init())
		return ENODATA;
	ptrc_self_lock(&mask);
	follow_names();
	found = ptrc_names_find(ptrc_here.names.object, ptrc_self_names_count(), name);
	if (!layout)
		error = found ? 0 : ENODATA;
	else if (found >= PTRC_ID_FIRST)
		error = ptrc_names_object_compare(ptrc_here.names.object, found - PTRC_ID_FIRST,
						  layout, bytes);
	else if (found)
		error = EINVAL;
	ptrc_self_unlock(&mask);
	*id = found;
	return error;
}

int ptrc_process_open_type(const char *name, const char *layout, uint32_t *id)
{
	uint32_t bytes = layout ? (uint32_t)strnlen(layout, PTRC_NAMES_LAYOUT_BYTES) : 0;
	struct ptrc_names *names;
	uint32_t found = 0;
	int error;

	if (strnlen(name, PTRC_NAME_BYTES) == PTRC_NAME_BYTES || bytes == PTRC_NAMES_LAYOUT_BYTES)
		return ENAMETOOLONG;
	error = find_type(name, layout, bytes, &found);
	/* A child that uses a name of its parent needs no names object of its own, but it does to give
	 * that name a layout. */
	if (error == ENODATA) {
		error = ptrc_process_names(&names);
		if (!error)
			error = ptrc_names_register(names, name, &found);
		/* No identifier is left for the name. */
		if (!error && layout && found != PTRC_ID_UNNAMED)
			error = ptrc_names_set_layout(names, found, layout, bytes);
	}
	if (error)
		return error;
	if (found >= PTRC_ID_UNNAMED)
		ptrc_self_set_mapped(found);
	*id = found;
	return 0;
}
