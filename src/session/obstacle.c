/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/obstacle.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "include/posixtrace-private.h"
#include "lib/base/procfs.h"

#define WHERE_IT_IS "run the commands where it is (nsenter, docker exec)"

bool ptrc_obstacle_is_other(pid_t pid, const char *theirs, const char *ours)
{
	uint64_t dev, inode;
	struct stat st;
	int error;

	if (stat(ours, &st))
		return false;
	error = ptrc_procfs_inode(pid, theirs, &dev, &inode);
	return error ? error == ENOENT : dev != st.st_dev || inode != st.st_ino;
}

/* Whether the kernel has started the program of the process as a privileged one, as it starts a set-user-ID program.
 * Only root can know that of every process. */
static bool is_secure(pid_t pid)
{
	ElfW(auxv_t) a[64];
	size_t count = ptrc_procfs_read(pid, "auxv", a, sizeof(a)) / sizeof(a[0]);
	bool is_secure = false;

	for (size_t i = 0; i < count; i++)
		is_secure |= a[i].a_type == AT_SECURE && a[i].a_un.a_val;
	return is_secure;
}

/* Whether the kernel keeps the memory of the process even from other processes of its user. Then its files in /proc
 * belong to root. */
static bool is_closed(pid_t pid, uint32_t user)
{
	uint32_t owner;

	return !ptrc_procfs_owner(pid, &owner) && owner != user;
}

static bool __attribute__((format(printf, 4, 5)))
found(struct ptrc_obstacle *o, const char *check, const char *advice, const char *reason, ...)
{
	va_list values;

	o->check = check;
	o->advice = advice;
	va_start(values, reason);
	vsnprintf(o->reason, sizeof(o->reason), reason, values);
	va_end(values);
	return true;
}

bool ptrc_obstacle_find(pid_t pid, struct ptrc_obstacle *o)
{
	bool is_root = geteuid() == 0, is_inspected;
	struct ptrc_inspected_process p;
	struct ptrc_procfs_status st;
	uint32_t real, effective, saved;

	if (ptrc_procfs_status(pid, &st))
		return false;
	real = st.uid[0];
	effective = st.uid[1];
	saved = st.uid[2];
	if (!is_root && effective != geteuid())
		return found(o, "user", "trace it as that user, or as root",
			     "runs as user %u; you are %u", effective, geteuid());
	is_inspected = !ptrc_inspect_process(pid, &p);
	if (is_inspected && p.pt_depth)
		return found(o, "pid-namespace", WHERE_IT_IS,
			     "is in another pid namespace, so it cannot be traced from here");
	if (ptrc_obstacle_is_other(pid, "root/dev/shm", "/dev/shm"))
		return found(o, "mount-namespace", WHERE_IT_IS ", or give both the same /dev/shm",
			     "%s",
			     ptrc_obstacle_is_other(pid, "ns/mnt", "/proc/self/ns/mnt")
				     ? "has another /dev/shm, as it is in another mount namespace "
				       "(a container)"
				     : "has another /dev/shm, as it has changed its root "
				       "(chroot)");
	/* Compares with the time namespace of this command's children, because a session's controller is a child of
	 * the command that makes the session. */
	if (ptrc_obstacle_is_other(pid, "ns/time", "/proc/self/ns/time_for_children"))
		return found(o, "time-namespace", "run the commands where it is (nsenter)",
			     "is in another time namespace, so it cannot be traced from here");
	if (is_inspected && p.pt_is_traced_as_root)
		return found(o, "user", "end that trace first, or start the program as this user",
			     "has changed its user and is traced by root from before that, so it "
			     "takes no other trace");
	if (is_inspected && p.pt_has_library && real == effective && saved == effective)
		return false;
	if (is_root ? is_secure(pid) : is_closed(pid, effective))
		return found(o, "privileged",
			     is_root ? "trace a copy without that bit, or start it as this user"
				     : "trace it as root, or start it as this user; a set-user-ID "
				       "program, which is never traced, as a copy without that bit",
			     "%s",
			     is_root ? "is set-user-ID or otherwise privileged: such programs are "
				       "never traced"
				     : "is closed to its user: it is set-user-ID, has changed its "
				       "user, or has closed itself (PR_SET_DUMPABLE)");
	if ((real != effective || saved != effective) && (!is_root || effective))
		return found(o, "user", "trace it when it has one user",
			     "is user %u, but its real user is %u, and its saved one %u", effective,
			     real, saved);
	return false;
}
