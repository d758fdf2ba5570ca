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

/* Maps the names object (table of event names) whose id is in the page. This may be another object than before,
 * because a controller may have given it to the process. The caller holds the lock of self.h. */
static void follow_names(void)
{
	uint64_t old = ptrc_here.names.object ? ptrc_here.names.id : 0;
	uint64_t id = 0;
	PTRC_FD(dirfd);

	if (ptrc_here.has_page)
		id = ptrc_load_acquire(&ptrc_self_page()->names_id);
	if (id == 0)
		return;
	if (old == id) {
		ptrc_here.is_borrowed = false;
		return;
	}
	/* A process that has a names object (table of event names) of its own keeps it. */
	if (ptrc_here.names.object && !ptrc_here.is_borrowed)
		return;
	if (ptrc_shmdir_open(ptrc_here.uid, false, &dirfd))
		return;
	if (ptrc_names_open(dirfd, ptrc_here.uid, id, ptrc_here.names.object, &ptrc_here.names) ==
	    0)
		ptrc_here.is_borrowed = false;
}

void ptrc_process_map_names(void)
{
	PTRC_SELF_LOCK();

	follow_names();
}

bool ptrc_process_maps_id(uint32_t id)
{
	bool is_mapped;

	if (id < PTRC_ID_UNNAMED || id >= PTRC_ID_FIRST + PTRC_NAMES_MAX)
		return false;
	if (id == PTRC_ID_UNNAMED || ptrc_self_has_mapped(id))
		return true;
	if (ptrc_process_init() || ptrc_self_pid() != ptrc_sys_getpid())
		return false;
	PTRC_SELF_LOCK();
	follow_names();
	is_mapped = id - PTRC_ID_FIRST < ptrc_self_names_count() &&
		    id - PTRC_ID_FIRST >= ptrc_here.base;
	if (is_mapped)
		ptrc_self_set_mapped(id);
	return is_mapped || ptrc_self_has_mapped(id);
}

/* Gives this process a names object (table of event names) to which it may add names, if it has none. The
 * caller holds the lock of self.h. */
static int make_names(void)
{
	struct ptrc_page_place place;
	struct ptrc_page_file f;
	bool is_locked;
	int error;
	PTRC_FD(dirfd);

	follow_names();
	if (ptrc_here.names.object && !ptrc_here.is_borrowed)
		return 0;
	if (ptrc_here.is_excluded || ptrc_here.has_ended)
		return ptrc_names_create_private(&ptrc_here.names);
	error = ptrc_shmdir_open(ptrc_here.uid, true, &dirfd);
	if (error)
		return error;
	place = ptrc_self_place(dirfd);
	/* The file of the page (list of streams) may have been removed. Then no controller can find the page,
	 * so no lock is needed. */
	is_locked = ptrc_page_open(&place, ptrc_here.start_ticks, false, NULL, &f) == 0;
	error = ptrc_page_names(dirfd, ptrc_here.uid, ptrc_self_page(),
				ptrc_here.is_borrowed ? ptrc_here.names.object : NULL,
				ptrc_here.borrowed_count, ptrc_here.names.object, &ptrc_here.names);
	if (is_locked) {
		ptrc_page_unlock(&f);
		ptrc_page_unmap(f.page);
	}
	/* EPROTO: the names that a controller has given to this process have a version that this library does not
	 * know. ptrc_process_open_stream refuses the streams that use them; the names of this process serve only
	 * itself. */
	if (error == EPROTO)
		error = ptrc_names_create_private(&ptrc_here.names);
	if (!error) {
		ptrc_here.is_borrowed = false;
		/* Children that were forked without fork handlers and then killed leave their names objects, so
		 * a process that makes a names object also removes those of dead processes. */
		ptrc_sweep_sometimes(dirfd, ptrc_here.uid, false);
	}
	return error;
}

int ptrc_process_names(struct ptrc_names **names)
{
	int error = ptrc_process_init();

	/* A process that cannot be traced gets private names. A vfork child does not, because it uses its
	 * parent's memory until it calls exec. */
	if (error && (error != EPERM || ptrc_self_pid() != 0))
		return ENOMEM;
	PTRC_SELF_LOCK();
	if (error)
		ptrc_here.is_excluded = true;
	if (make_names())
		return ENOMEM;
	*names = &ptrc_here.names;
	return 0;
}

/* This needs no lock: once the object is mapped, it stays at its address (self.h). */
const struct ptrc_names *ptrc_process_own_names(void)
{
	return &ptrc_here.names;
}

/* Finds an event type that this process has already. If `layout` is not NULL, the type must have
 * this layout. ENODATA: there is no such type, or it has no layout yet. EEXIST: it has another
 * layout. EINVAL: it is a predefined type, which has no layout. */
static int find_type(const char *name, const char *layout, uint32_t bytes, uint32_t *id)
{
	uint32_t found;
	int error = ENODATA;

	if (ptrc_process_init())
		return ENODATA;
	PTRC_SELF_LOCK();
	follow_names();
	found = ptrc_names_find(ptrc_here.names.object, ptrc_self_names_count(), name);
	if (!layout)
		error = found ? 0 : ENODATA;
	else if (found >= PTRC_ID_FIRST)
		error = ptrc_names_object_compare(ptrc_here.names.object, found - PTRC_ID_FIRST,
						  layout, bytes);
	else if (found)
		error = EINVAL;
	*id = found;
	return error;
}

/* Whether any stream traces this process. */
static bool is_traced(void)
{
	return ptrc_self_pid() != 0 && ptrc_page_has(ptrc_self_page(), 0);
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
	/* A child that uses a name of its parent needs no names object (table of names) of its own. But it
	 * needs one to give that name a layout. */
	if (error == ENODATA) {
		error = ptrc_process_names(&names);
		if (error)
			return error;
		error = ptrc_names_register(names, name, &found);
		/* If no identifier is left for the name, it gets PTRC_ID_UNNAMED, which can have no layout. */
		if (!error && layout && found != PTRC_ID_UNNAMED)
			error = ptrc_names_set_layout(names, found, layout, bytes);
		/* The events of the name are now missing in the streams, or are unnamed there. */
		if (error == ENOMEM && is_traced())
			ptrc_names_refuse(names->object, name);
	}
	if (error)
		return error;
	if (found >= PTRC_ID_UNNAMED)
		ptrc_self_set_mapped(found);
	*id = found;
	return 0;
}

void ptrc_process_refuse_name(const char *name)
{
	struct ptrc_names *names;

	if (!ptrc_process_names(&names))
		ptrc_names_refuse(names->object, name);
}
