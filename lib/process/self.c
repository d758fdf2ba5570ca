/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/process/self.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/pid_lock.h"
#include "lib/base/sys.h"

static struct ptrc_page early_page = {.active = 1};
static struct ptrc_page no_page;
static struct ptrc_self early_self;

struct ptrc_page *ptrc_page_self = &early_page;
struct ptrc_self *ptrc_self = &early_self;

struct ptrc_process_state ptrc_here;

uint64_t ptrc_self_lock(void)
{
	uint64_t mask = ptrc_sys_signals_blocked();

	ptrc_pid_lock(&ptrc_here.lock);
	return mask;
}

void ptrc_self_unlock(const uint64_t *mask)
{
	ptrc_pid_unlock(&ptrc_here.lock);
	ptrc_sys_restore_signals(mask);
}

void ptrc_self_copy_mapped(struct ptrc_self *to)
{
	for (size_t i = 0; i < PTRC_ARRAY_COUNT(ptrc_here.mapped); i++)
		ptrc_store_relaxed(&to->mapped[i], ptrc_here.mapped[i]);
}

int ptrc_self_make(void)
{
	struct ptrc_self *made;

	if (ptrc_self_private() != &early_self)
		return 0;
	made = ptrc_file_zeros(sizeof(*made));
	if (!made)
		return ENOMEM;
	ptrc_sys(SYS_madvise, made, sizeof(*made), MADV_WIPEONFORK);
	ptrc_self_copy_mapped(made);
	__atomic_store_n(&ptrc_self, made, __ATOMIC_RELEASE);
	return 0;
}

void ptrc_self_give_up_page(void)
{
	ptrc_here.is_quiet = false;
	__atomic_store_n(&ptrc_page_self, &no_page, __ATOMIC_RELEASE);
}

void ptrc_self_set_home(int dirfd)
{
	struct stat st;

	if (ptrc_file_stat(dirfd, &st))
		return;
	ptrc_here.home_dev = st.st_dev;
	ptrc_here.home_inode = st.st_ino;
}

bool ptrc_self_is_home(int dirfd)
{
	struct stat st;

	return ptrc_file_stat(dirfd, &st) == 0 && st.st_dev == ptrc_here.home_dev &&
	       st.st_ino == ptrc_here.home_inode;
}

struct ptrc_bells *ptrc_self_bells(int dirfd)
{
	struct stat st;

	if (!ptrc_here.bells || ptrc_file_stat(dirfd, &st) || st.st_dev != ptrc_here.bells_dev ||
	    st.st_ino != ptrc_here.bells_inode)
		return NULL;
	return ptrc_here.bells;
}

void ptrc_self_publish_quiet(int32_t pid)
{
	_Atomic uint64_t *bell = ptrc_bell(ptrc_here.bells, pid);

	ptrc_here.pid = pid;
	ptrc_here.is_quiet = true;
	ptrc_store_release(&ptrc_self_private()->quiet_pid, pid);
	__atomic_store_n(&ptrc_page_self, (struct ptrc_page *)bell, __ATOMIC_RELEASE);
}

void ptrc_self_publish(int32_t pid, struct ptrc_page *page)
{
	struct ptrc_self *me = ptrc_self_private();

	ptrc_here.has_page = true;
	ptrc_here.is_quiet = false;
	ptrc_self_set_mapped(PTRC_ID_UNNAMED);
	me->image = ptrc_here.image;
	__atomic_store_n(&ptrc_page_self, page, __ATOMIC_RELEASE);
	ptrc_store_release(&me->pid, pid);
}

bool ptrc_self_has_mapped(uint32_t id)
{
	uint64_t bits = ptrc_load_relaxed(&ptrc_self_private()->mapped[id / 64]);

	return bits >> (id % 64) & 1;
}

void ptrc_self_set_mapped(uint32_t id)
{
	uint64_t bit = UINT64_C(1) << (id % 64);

	atomic_fetch_or_explicit(&ptrc_here.mapped[id / 64], bit, memory_order_relaxed);
	atomic_fetch_or_explicit(&ptrc_self_private()->mapped[id / 64], bit, memory_order_relaxed);
}

uint32_t ptrc_self_names_count(void)
{
	uint32_t count;

	if (!ptrc_here.names.object)
		return 0;
	count = ptrc_names_count(&ptrc_here.names);
	return ptrc_here.is_borrowed && ptrc_here.borrowed_count < count ? ptrc_here.borrowed_count
									 : count;
}
