/* SPDX-License-Identifier: MIT */
#include "lib/base/limit.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "lib/base/pid_lock.h"
#include "lib/base/sys.h"

#define SIGNAL_SET_BYTES 8

static const uint64_t file_size_signal = UINT64_C(1) << (SIGXFSZ - 1);

/* A thread takes this lock (ptrc_pid_lock()) before it raises a limit, and holds it until it has
 * restored the limit. */
static _Atomic int32_t lock;

static bool is_below(struct rlimit *limit, int resource, uint64_t need)
{
	return ptrc_sys(SYS_prlimit64, 0, resource, 0, limit) == 0 && limit->rlim_cur < need;
}

uint64_t ptrc_limit_most(int resource)
{
	struct rlimit limit;

	if (ptrc_sys(SYS_prlimit64, 0, resource, 0, &limit) < 0)
		return RLIM_INFINITY;
	return limit.rlim_max;
}

void ptrc_limit_raise(struct ptrc_limit *l, int resource, uint64_t need)
{
	struct rlimit raised;
	uint64_t pending = 0;

	*l = (struct ptrc_limit){.resource = resource};
	l->is_in_the_way = is_below(&l->old, resource, need);
	if (!l->is_in_the_way)
		return;
	ptrc_pid_lock(&lock);
	/* Read the limit again under the lock. The first value may be one to which another thread
	 * had raised the limit, and must not be restored as the user's limit. */
	if (is_below(&l->old, resource, need) && l->old.rlim_cur != l->old.rlim_max) {
		raised.rlim_cur = raised.rlim_max = l->old.rlim_max;
		l->is_raised = ptrc_sys(SYS_prlimit64, 0, resource, &raised, 0) == 0;
	}
	ptrc_sys(SYS_rt_sigpending, &pending, SIGNAL_SET_BYTES);
	l->was_pending = pending & file_size_signal;
}

void ptrc_limit_restore(const struct ptrc_limit *l, int error)
{
	struct timespec none = {0, 0};

	if (!l->is_in_the_way)
		return;
	if (error == EFBIG && !l->was_pending)
		ptrc_sys(SYS_rt_sigtimedwait, &file_size_signal, 0, &none, SIGNAL_SET_BYTES);
	if (l->is_raised)
		ptrc_sys(SYS_prlimit64, 0, l->resource, &l->old, 0);
	ptrc_pid_unlock(&lock);
}
