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
#include "src/base/same_file.h"

#define WHERE_IT_IS "run the commands where it is (nsenter, docker exec)"

struct users {
	unsigned long real, effective, saved;
};

static FILE *open_proc(pid_t pid, const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, file);
	return fopen(path, "re");
}

static bool read_users(pid_t pid, struct users *u)
{
	FILE *f = open_proc(pid, "status");
	bool is_found = false;
	char line[256];

	while (f && !is_found && fgets(line, sizeof(line), f))
		is_found =
			sscanf(line, "Uid: %lu %lu %lu", &u->real, &u->effective, &u->saved) == 3;
	if (f)
		fclose(f);
	return is_found;
}

bool ptrc_obstacle_is_other(pid_t pid, const char *theirs, const char *ours)
{
	struct stat a, b;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, theirs);
	if (stat(ours, &b))
		return false;
	return stat(path, &a) ? errno == ENOENT : !ptrc_is_same_file(&a, &b);
}

/* Whether the kernel has started the program of the process as a privileged one, as it starts a set-user-ID program.
 * Only root can know that of every process. */
static bool is_secure(pid_t pid)
{
	FILE *f = open_proc(pid, "auxv");
	bool is_secure = false;
	ElfW(auxv_t) a;

	while (f && fread(&a, sizeof(a), 1, f) == 1)
		is_secure |= a.a_type == AT_SECURE && a.a_un.a_val;
	if (f)
		fclose(f);
	return is_secure;
}

/* Whether the kernel keeps the memory of the process even from other processes of its user. Then its files in /proc
 * belong to root. */
static bool is_closed(pid_t pid, unsigned long uid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%ld/environ", (long)pid);
	return !stat(path, &st) && st.st_uid != uid;
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
	struct users u;

	if (!read_users(pid, &u))
		return false;
	if (!is_root && u.effective != geteuid())
		return found(o, "user", "trace it as that user, or as root",
			     "runs as user %lu; you are %lu", u.effective,
			     (unsigned long)geteuid());
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
	if (is_inspected && p.pt_has_library && u.real == u.effective && u.saved == u.effective)
		return false;
	if (is_root ? is_secure(pid) : is_closed(pid, u.effective))
		return found(o, "privileged",
			     is_root ? "trace a copy without that bit, or start it as this user"
				     : "trace it as root, or start it as this user; a set-user-ID "
				       "program, which is never traced, as a copy without that bit",
			     "%s",
			     is_root ? "is set-user-ID or otherwise privileged: such programs are "
				       "never traced"
				     : "is closed to its user: it is set-user-ID, has changed its "
				       "user, or has closed itself (PR_SET_DUMPABLE)");
	if ((u.real != u.effective || u.saved != u.effective) && (!is_root || u.effective))
		return found(o, "user", "trace it when it has one user",
			     "is user %lu, but its real user is %lu, and its saved one %lu",
			     u.effective, u.real, u.saved);
	return false;
}
