/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/process/fork.h"

#include <string.h>
#include <sys/mman.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/sys.h"
#include "lib/model/names.h"
#include "lib/process/image.h"
#include "lib/process/inherit.h"
#include "lib/process/page.h"
#include "lib/process/self.h"

/* What stood in the parent's page when it forked, and how many names the parent had. */
static struct ptrc_page noted;
static uint32_t noted_names_count;

void ptrc_fork_note_page(void)
{
	const struct ptrc_page *page = ptrc_self_page();
	struct ptrc_page_entry e;

	noted.names_id = ptrc_load_acquire(&page->names_id);
	noted.names_from = page->names_from;
	noted.names_from_count = page->names_from_count;
	noted_names_count = ptrc_self_names_count();
	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++) {
		ptrc_page_slot(page, i, &e);
		noted.slots[i].attach_ns = e.attach_ns;
		noted.slots[i].names_id = e.names_id;
		noted.slots[i].flags = e.flags;
		noted.slots[i].stream_id = e.stream_id;
	}
}

/* The child has its parent's names. They are mapped if the parent had opened any name. */
static void inherit_names(int dirfd, struct ptrc_page *page)
{
	uint64_t id = noted.names_id, old = ptrc_here.names.object ? ptrc_here.names.id : 0;
	uint64_t shared = ptrc_load_relaxed(&page->names_id);
	uint32_t count = noted_names_count;

	if (!id)
		id = noted.names_from;
	if (!id)
		return;
	if (old != id) {
		if (ptrc_names_open(dirfd, ptrc_here.uid, id, ptrc_here.names.object,
				    &ptrc_here.names))
			return;
		if (old)
			ptrc_names_release(dirfd, ptrc_here.uid, old);
		else
			count = ptrc_names_count(&ptrc_here.names);
	}
	if (shared == id) {
		ptrc_here.is_borrowed = false;
		return;
	}
	ptrc_here.is_borrowed = true;
	ptrc_here.borrowed_count = count;
	if (!shared) {
		ptrc_store_relaxed(&page->names_from_count, count);
		ptrc_store_release(&page->names_from, id);
	}
}

int ptrc_fork_start_child(int32_t pid, bool is_noted)
{
	struct ptrc_page *place = ptrc_self_page();
	struct ptrc_self *me = ptrc_self_private();
	struct ptrc_page_file f;
	int dirfd, error;

	ptrc_here.has_ended = false;
	/* Old kernels do not know MADV_WIPEONFORK. */
	memset((void *)me, 0, sizeof(*me));
	error = ptrc_image_open_page(pid, place, &dirfd, &f);
	if (error) {
		/* The child must not touch its parent's page. But an event call that the fork
		 * interrupted may go on here and read it, so the memory stays mapped. */
		ptrc_sys(SYS_mmap, place, PTRC_PAGE_SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		ptrc_here.borrowed_count = ptrc_self_names_count();
		ptrc_here.is_borrowed = ptrc_here.names.object && ptrc_here.names.id;
		return error;
	}
	/* If no fork handler took the note it is younger than the child, and may name streams
	 * that were made after the fork. */
	ptrc_inherit_take(&noted, is_noted ? UINT64_MAX : ptrc_here.start_ticks, f.page);
	inherit_names(dirfd, f.page);
	ptrc_self_restore_mapped();
	ptrc_store_release(&f.page->image, ptrc_here.image);
	ptrc_self_publish(pid, f.page);
	ptrc_page_unlock(&f);
	ptrc_image_sweep_sometimes(dirfd, false);
	ptrc_file_close(dirfd);
	return 0;
}
