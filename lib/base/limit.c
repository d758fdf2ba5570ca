/* SPDX-License-Identifier: MIT */
#include "lib/base/size_limit.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "lib/base/pid_lock.h"
#include "lib/base/sys.h"

#define SIGNAL_SET_BYTES 8

static const uint64_t file_size_signal = UINT64_C(1) << (SIGXFSZ - 1);

/* While it is raised, the file size limit is the concern of one thread. */
static _Atomic int32_t lock;

static bool is_below(struct rlimit *limit, uint64_t size)
{
	return ptrc_sys(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, limit) == 0 &&
	       limit->rlim_cur < size;
}

uint64_t ptrc_size_limit_most(void)
{
	struct rlimit limit;

	if (ptrc_sys(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &limit) < 0)
		return RLIM_INFINITY;
	return limit.rlim_max;
}

void ptrc_size_limit_raise(struct ptrc_size_limit *l, uint64_t size)
{
	struct rlimit raised;
	uint64_t pending = 0;

	*l = (struct ptrc_size_limit){.is_in_the_way = is_below(&l->old, size)};
	if (!l->is_in_the_way)
		return;
	ptrc_pid_lock(&lock);
	/* Again, as another thread may have had it raised. */
	if (is_below(&l->old, size) && l->old.rlim_cur != l->old.rlim_max) {
		raised.rlim_cur = raised.rlim_max = l->old.rlim_max;
		l->is_raised = ptrc_sys(SYS_prlimit64, 0, RLIMIT_FSIZE, &raised, 0) == 0;
	}
	ptrc_sys(SYS_rt_sigpending, &pending, SIGNAL_SET_BYTES);
	l->was_pending = pending & file_size_signal;
}

void ptrc_size_limit_restore(const struct ptrc_size_limit *l, int err)
{
	struct timespec none = {0, 0};

	if (!l->is_in_the_way)
		return;
	if (err == EFBIG && !l->was_pending)
		ptrc_sys(SYS_rt_sigtimedwait, &file_size_signal, 0, &none,
			 SIGNAL_SET_BYTES);
	if (l->is_raised)
		ptrc_sys(SYS_prlimit64, 0, RLIMIT_FSIZE, &l->old, 0);
	ptrc_pid_unlock(&lock);
}
