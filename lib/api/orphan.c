/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <posixtrace-control.h>
#include <stdlib.h>
#include <string.h>

#include "include/posixtrace-private.h"
#include "lib/base/common.h"
#include "lib/base/file.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/process/orphan.h"
#include "lib/process/sweep.h"

/* These functions are no cancellation points, although they do not disable cancellation:
 * lib/process makes raw system calls only. */

PTRC_PUBLIC int posixtrace_get_orphan(unsigned int number, struct posixtrace_orphan *orphan,
				      size_t size)
{
	struct posixtrace_orphan *full;
	int error;

	if (!orphan || size < sizeof(orphan->pt_size))
		return EINVAL;
	full = calloc(1, sizeof(*full));
	error = full ? ptrc_orphan_tell(number, full) : ENOMEM;
	if (!error) {
		full->pt_size = size < sizeof(*full) ? size : sizeof(*full);
		memcpy(orphan, full, full->pt_size);
	}
	free(full);
	return error;
}

int ptrc_salvage_orphan(uint64_t id, const char *path, char *written, unsigned long *events)
{
	struct ptrc_keeper_orders orders = {
		.path = path, .searches = true, .written = written, .events = events};

	return ptrc_orphan_salvage(id, &orders);
}

PTRC_PUBLIC int posixtrace_salvage_orphan(uint64_t id, const char *path, char *written)
{
	return ptrc_salvage_orphan(id, path, written, NULL);
}

void ptrc_end_empty_streams(void)
{
	uint32_t uid = ptrc_sys_geteuid();
	PTRC_FD(dirfd);

	if (ptrc_shmdir_open(uid, false, &dirfd) == 0)
		ptrc_sweep_processes(dirfd, uid);
}

PTRC_PUBLIC int posixtrace_discard_orphan(uint64_t id)
{
	uint32_t uid = ptrc_sys_geteuid();
	int error;
	PTRC_FD(dirfd);

	if (id)
		return ptrc_orphan_salvage(id, NULL);
	error = ptrc_shmdir_open(uid, false, &dirfd);
	if (error)
		return error == ENOENT ? 0 : error;
	ptrc_orphan_count_dropped(dirfd, uid, true);
	return 0;
}
