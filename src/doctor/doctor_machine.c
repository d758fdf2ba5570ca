/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "src/doctor/doctor.h"
#include "src/os/os_trace.h"
#include "src/os/perf.h"
#include "src/session/orphans.h"
#include "src/session/trace_error.h"

#define SHM "/dev/shm"
#define TMPFS_TYPE 0x01021994
/* The bytes on the disk for a usual log. */
#define LOG_ROOM_USUAL (UINT64_C(12) << 20)
/* The bytes on the disk for one packet of a log, and for the start and the end of the log. */
#define LOG_ROOM_LEAST (UINT64_C(272) << 10)

static void check_memory(struct ptrc_doctor *d)
{
	char free_text[32], size_text[32], advice[64];
	uint64_t room, size;
	struct statvfs v;
	struct statfs fs;
	struct stat st;
	int error = stat(SHM, &st) ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;

	if (error) {
		ptrc_doctor_problem(d, "shared-memory", SHM,
				    "mount a tmpfs there: mount -t tmpfs -o mode=1777 tmpfs " SHM,
				    "cannot be used: %s", strerror(error));
		return;
	}
	if (!(st.st_mode & S_ISVTX) && (st.st_mode & 022)) {
		ptrc_doctor_problem(d, "shared-memory", SHM, "chmod 1777 " SHM,
				    "others may rename what is in it, so nothing in it is used");
		return;
	}
	if (access(SHM, W_OK | X_OK)) {
		if (errno == EROFS)
			ptrc_doctor_problem(d, "shared-memory", SHM, "mount -o remount,rw " SHM,
					    "is mounted read-only");
		else
			ptrc_doctor_problem(d, "shared-memory", SHM, "chmod 1777 " SHM,
					    "may not be written: %s", strerror(errno));
		return;
	}
	if (statvfs(SHM, &v) || statfs(SHM, &fs))
		return;
	room = (uint64_t)v.f_bavail * v.f_frsize;
	size = (uint64_t)v.f_blocks * v.f_frsize;
	ptrc_doctor_size(room, free_text);
	ptrc_doctor_size(size, size_text);
	snprintf(advice, sizeof(advice), "use %s, or mount it larger", PTRC_TRACE_SMALLER(room));
	/* A tmpfs without a limit reports 0 blocks and 0 files. */
	if (size && size < PTRC_TRACE_SHM_LEAST && room < PTRC_TRACE_ROOM_LEAST)
		ptrc_doctor_problem(d, "shared-memory", SHM,
				    "mount it larger: mount -o remount,size=1G " SHM,
				    "is too small: it has %s; a stream does not fit", size_text);
	else if (size && room < PTRC_TRACE_ROOM_LEAST)
		ptrc_doctor_problem(d, "shared-memory", SHM,
				    "remove what lies in it, or mount it larger: mount -o "
				    "remount,size=1G " SHM,
				    "is full: %s free of %s; a stream does not fit", free_text,
				    size_text);
	else if (v.f_files && v.f_favail < PTRC_TRACE_INODES_LEAST)
		ptrc_doctor_problem(d, "shared-memory", SHM,
				    "remove what lies in it, or mount it for more files: mount -o "
				    "remount,nr_inodes=100k " SHM,
				    "can have only %lu more files; a trace needs %d",
				    (unsigned long)v.f_favail, PTRC_TRACE_INODES_LEAST);
	else if (size && room < PTRC_TRACE_ROOM_USUAL)
		ptrc_doctor_note(d, "shared-memory", SHM, advice,
				 "has %s free of %s: too little for the commands' default "
				 "size of a stream",
				 free_text, size_text);
	else
		ptrc_doctor_ok(d, "shared-memory", SHM, "%s free of %s", free_text, size_text);
	if (fs.f_type != TMPFS_TYPE)
		ptrc_doctor_note(d, "shared-memory", SHM, "mount a tmpfs there",
				 "is no tmpfs: events may be written to a disk");
}

static void check_directory(struct ptrc_doctor *d, int error, int bells_error)
{
	char path[80];
	struct stat st;

	ptrc_inspect_directory(0, path);
	if (lstat(path, &st)) {
		if (errno == ENOENT && (error == ENOENT || !error))
			ptrc_doctor_ok(d, "directory", path, "is made when it is needed");
		else
			ptrc_doctor_problem(d, "directory", path, NULL, "cannot be used: %s",
					    strerror(error ?: errno));
	} else if (st.st_uid != geteuid()) {
		ptrc_doctor_note(d, "directory", path, "its owner or root may remove it",
				 "belongs to user %lu, not to you: another one, whose name starts "
				 "with this, is made for you",
				 (unsigned long)st.st_uid);
	} else if (!S_ISDIR(st.st_mode)) {
		ptrc_doctor_problem(d, "directory", path, "remove it",
				    "is no directory: nothing of yours can be traced");
	} else if (st.st_mode & 077) {
		ptrc_doctor_problem(d, "directory", path,
				    "look for what others may have put there, then chmod 700",
				    "has mode %o, open to others: it is not used, and nothing of "
				    "yours can be traced",
				    st.st_mode & 07777);
	} else if (error) {
		ptrc_doctor_problem(d, "directory", path, NULL, "cannot be used: %s",
				    error == EPERM ? "it is not safe" : strerror(error));
	} else if (bells_error == EPERM && !access(SHM, W_OK)) {
		/* On a read-only /dev/shm, which check_memory() tells, no file can be opened for writing. */
		strcat(path, "/bells");
		ptrc_doctor_problem(d, "directory", path, PTRC_TRACE_BELLS_ADVICE,
				    PTRC_TRACE_BELLS_FAULT);
	} else {
		ptrc_doctor_ok(d, "directory", path, "yours, and closed to others");
	}
}

static void check_limits(struct ptrc_doctor *d)
{
	unsigned int before = d->problems;
	char text[32];
	struct rlimit l;

	if (getrlimit(RLIMIT_FSIZE, &l))
		l.rlim_max = l.rlim_cur = RLIM_INFINITY;
	if (l.rlim_max < PTRC_TRACE_FILE_LEAST)
		ptrc_doctor_problem(d, "limits", "ulimit -f", "raise the hard limit of file size",
				    "no file may be larger than %s, but the files of a stream are",
				    ptrc_doctor_size(l.rlim_max, text));
	else if (l.rlim_max < PTRC_TRACE_SPACE)
		ptrc_doctor_note(d, "limits", "ulimit -f",
				 "use --stream-min-size=64K if a stream cannot be made, and raise "
				 "the hard limit if logs end early",
				 "no file may be larger than %s, streams and logs included",
				 ptrc_doctor_size(l.rlim_max, text));
	else if (l.rlim_cur < PTRC_TRACE_SPACE)
		ptrc_doctor_note(d, "limits", "ulimit -f", "raise it if logs end early",
				 "no file may be larger than %s, logs included",
				 ptrc_doctor_size(l.rlim_cur, text));
	if (!getrlimit(RLIMIT_AS, &l) && l.rlim_cur < 2 * PTRC_TRACE_SPACE)
		ptrc_doctor_problem(d, "limits", "ulimit -v", "raise it, or lift it",
				    "a process may have %s of address space; a stream needs some "
				    "hundred MiB",
				    ptrc_doctor_size(l.rlim_cur, text));
	if (!getrlimit(RLIMIT_NOFILE, &l) && l.rlim_cur < PTRC_TRACE_FILES_LEAST)
		ptrc_doctor_problem(
			d, "limits", "ulimit -n", "raise it",
			"a process may have %lu open files; the commands need some more",
			(unsigned long)l.rlim_cur);
	if (d->problems == before)
		ptrc_doctor_ok(d, "limits", "ulimit",
			       "files, address space and descriptors suffice");
}

static void check_kernel(struct ptrc_doctor *d, const struct ptrc_inspected_system *s)
{
	const char *proc_fault = ptrc_trace_proc_fault();

	if (proc_fault)
		ptrc_doctor_problem(d, "proc", "/proc", PTRC_TRACE_PROC_ADVICE, "%s", proc_fault);
	else
		ptrc_doctor_ok(d, "proc", "/proc", "of this pid namespace");
	if (s->pt_has_barrier)
		ptrc_doctor_ok(d, "membarrier", "membarrier(2)", "available");
	else
		ptrc_doctor_note(d, "membarrier", "membarrier(2)", NULL,
				 "missing or forbidden: events are recorded more slowly");
	if (s->pt_has_counter)
		ptrc_doctor_ok(d, "clock", "processor", "its counter is used as the clock");
	else
		ptrc_doctor_note(d, "clock", "processor", NULL,
				 "its counter does not run evenly: CLOCK_MONOTONIC is used, and "
				 "events are recorded more slowly");
	if (ptrc_perf_setting("vm/memfd_noexec") > 1)
		ptrc_doctor_note(d, "keeper", "vm.memfd_noexec", NULL,
				 "programs in memory may not be executed: a copy of the "
				 "controller writes its logs");
	else
		ptrc_doctor_ok(d, "keeper", "memfd", "programs in memory may be executed");
}

static void check_os_events(struct ptrc_doctor *d)
{
	struct ptrc_cli_reason refusal;
	const char *kinds = ptrc_os_allowed(&refusal);

	if (!kinds)
		ptrc_doctor_note(d, "os-events", "--os",
				 "traces of programs that have the library need none of it", "%s",
				 refusal.text);
	else if (*refusal.text)
		ptrc_doctor_note(d, "os-events", "--os",
				 "as root: sysctl kernel.perf_event_max_sample_rate=100000", "%s",
				 refusal.text);
	else
		ptrc_doctor_ok(d, "os-events", "perf_event_open(2)", "allowed: --os=%s", kinds);
}

static void check_orphans(struct ptrc_doctor *d)
{
	char text[100];
	size_t count;

	/* check_memory() and check_directory() have reported what keeps from counting them. */
	ptrc_orphans_count(&count, text);
	if (count)
		ptrc_doctor_note(d, "unfinished", "/dev/shm",
				 "ptrace-salvage lists them, and writes or removes them", "%s",
				 text);
	if (ptrc_orphans_dropped(text))
		ptrc_doctor_note(d, "unfinished", "/dev/shm", "ptrace-salvage --all forgets this",
				 "%s", text);
}

void ptrc_doctor_machine(struct ptrc_doctor *d)
{
	struct ptrc_inspected_system s;

	ptrc_inspect_system(&s);
	check_memory(d);
	check_directory(d, s.pt_directory_error, s.pt_bells_error);
	if (s.pt_streams >= TRACE_SYS_MAX)
		ptrc_doctor_problem(d, "streams", "TRACE_SYS_MAX",
				    "end some: ptrace-list, ptrace-shutdown",
				    "you have %u streams, and there can be no more", s.pt_streams);
	else
		ptrc_doctor_ok(d, "streams", "TRACE_SYS_MAX", "%u of %d streams", s.pt_streams,
			       TRACE_SYS_MAX);
	check_orphans(d);
	check_limits(d);
	check_kernel(d, &s);
	check_os_events(d);
}

void ptrc_doctor_disk(struct ptrc_doctor *d, const char *path)
{
	char text[32];
	struct statvfs v;
	uint64_t room;

	if (statvfs(path, &v))
		return;
	room = (uint64_t)v.f_bavail * v.f_frsize;
	if (v.f_flag & ST_RDONLY)
		ptrc_doctor_problem(d, "disk", path, "write the log elsewhere",
				    "its file system is mounted read-only");
	else if (v.f_blocks && room < LOG_ROOM_LEAST)
		ptrc_doctor_problem(d, "disk", path, "make room, or write the log elsewhere",
				    "its file system is full: %s free",
				    ptrc_doctor_size(room, text));
	else if (v.f_blocks && room < LOG_ROOM_USUAL)
		ptrc_doctor_note(
			d, "disk", path, "make room, or give --log-max-size and --log-full-policy",
			"its file system has little room: %s free", ptrc_doctor_size(room, text));
	else
		ptrc_doctor_ok(d, "disk", path, "%s free", ptrc_doctor_size(room, text));
	if (v.f_files && !v.f_favail)
		ptrc_doctor_note(d, "disk", path, "remove files, or write the log elsewhere",
				 "its file system has no room for another file");
}
