/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "lib/preload/waits.h"

#include <unistd.h>

#include "lib/base/sys.h"
#include "lib/preload/descriptors.h"
#include "lib/preload/event_type.h"
#include "lib/preload/next_function.h"
#include "lib/preload/patterns.h"
#include "lib/preload/thread_times.h"
#include "lib/preload/wait_calls.h"
#include "lib/process/self.h"
#include "lib/recorder/event.h"

/* posixtrace-waits(7) documents names and layouts. */
#define MEMBER(name) #name ", "
#define CALL(list) "enum u32 {" list(MEMBER) "} call, "
#define LOCK_LAYOUT CALL(PTRC_WAIT_LOCK_CALLS) "i32 holder, x64 lock, caller call_site"
#define IO_LAYOUT CALL(PTRC_WAIT_IO_CALLS) "i32 fd, u64 size, caller call_site, str "
#define SLEEP_LAYOUT CALL(PTRC_WAIT_SLEEP_CALLS) "i64 duration ns, caller call_site"
#define CHILD_LAYOUT CALL(PTRC_WAIT_CHILD_CALLS) "i32 pid, caller call_site"
#define END_LAYOUT                                                                             \
	"i64 result, enum i32 {EPERM=1, ENOENT, ESRCH, EINTR, EIO, ENXIO, E2BIG, ENOEXEC, "    \
	"EBADF, ECHILD, EAGAIN, ENOMEM, EACCES, EFAULT, ENOTBLK, EBUSY, EEXIST, EXDEV, "       \
	"ENODEV, ENOTDIR, EISDIR, EINVAL, ENFILE, EMFILE, ENOTTY, ETXTBSY, EFBIG, ENOSPC, "    \
	"ESPIPE, EROFS, EMLINK, EPIPE, EDOM, ERANGE, EDEADLK, ENAMETOOLONG, ENOLCK, ENOSYS, "  \
	"ENOTEMPTY, ELOOP, EPROTO=71, EOVERFLOW=75, ENOTSOCK=88, EDESTADDRREQ, EMSGSIZE, "     \
	"EPROTOTYPE, ENOPROTOOPT, EPROTONOSUPPORT, ESOCKTNOSUPPORT, EOPNOTSUPP, EPFNOSUPPORT," \
	" EAFNOSUPPORT, EADDRINUSE, EADDRNOTAVAIL, ENETDOWN, ENETUNREACH, ENETRESET, "         \
	"ECONNABORTED, ECONNRESET, ENOBUFS, EISCONN, ENOTCONN, ESHUTDOWN, ETIMEDOUT=110, "     \
	"ECONNREFUSED, EHOSTDOWN, EHOSTUNREACH, EALREADY, EINPROGRESS, ESTALE, EDQUOT=122, "   \
	"ECANCELED=125, EOWNERDEAD=130, ENOTRECOVERABLE} error"

enum { BEGIN, END };

static struct ptrc_event_type types[][2] = {
	[PTRC_WAIT_LOCK] = {{.name = "wait.lock.begin", .layout = LOCK_LAYOUT},
			    {.name = "wait.lock.end", .layout = END_LAYOUT}},
	[PTRC_WAIT_IO] = {{.name = "wait.io.begin", .layout = IO_LAYOUT "path"},
			  {.name = "wait.io.end", .layout = END_LAYOUT}},
	[PTRC_WAIT_NET] = {{.name = "wait.net.begin", .layout = IO_LAYOUT "peer"},
			   {.name = "wait.net.end", .layout = END_LAYOUT}},
	[PTRC_WAIT_SLEEP] = {{.name = "wait.sleep.begin", .layout = SLEEP_LAYOUT},
			     {.name = "wait.sleep.end", .layout = END_LAYOUT}},
	[PTRC_WAIT_CHILD] = {{.name = "wait.child.begin", .layout = CHILD_LAYOUT},
			     {.name = "wait.child.end", .layout = END_LAYOUT}},
};

_Atomic uint32_t ptrc_wait_selection = PTRC_WAIT_UNREAD;

uint32_t ptrc_wait_read_selection(void)
{
	static const char names[][8] = {[PTRC_WAIT_LOCK] = "lock",
					[PTRC_WAIT_IO] = "io",
					[PTRC_WAIT_NET] = "net",
					[PTRC_WAIT_SLEEP] = "sleep",
					[PTRC_WAIT_CHILD] = "child"};
	const char *patterns;
	uint32_t selection = 0;

	/* A sanitizer may call wrappers before the C library knows the environment. */
	if (!environ)
		return 0;
	patterns = ptrc_patterns_read(PTRC_WAIT_VARIABLE);
	for (uint32_t kind = 0; patterns && kind < PTRC_WAIT_KINDS; kind++)
		if (ptrc_patterns_match(patterns, names[kind]))
			selection |= 1U << kind;
	ptrc_store_relaxed(&ptrc_wait_selection, selection);
	return selection;
}

/* The first address of this library, and the address after its last one. */
extern const char ptrc_start[] __asm__("__ehdr_start") PTRC_HIDDEN;
extern const char ptrc_end[] __asm__("_end") PTRC_HIDDEN;

bool ptrc_wait_is_own(uint64_t address)
{
	return address - (uint64_t)ptrc_start < (uint64_t)(ptrc_end - ptrc_start) ||
	       ptrc_next_function_is_in(address, "/libposixtrace.so");
}

/* Records an event. Its address is the return address of the wrapper, so that commands show the
 * program's function that waited. */
static PTRC_ALWAYS_INLINE void record(enum ptrc_wait_kind kind, int which, const void *data,
				      size_t size, uint64_t address)
{
	if (which == BEGIN && PTRC_UNLIKELY(ptrc_load_relaxed(&ptrc_thread_start_is_due)))
		ptrc_thread_times_record_due();
	ptrc_event_record(ptrc_event_type_id(&types[kind][which]), data, size, address);
}

/* Whether this process has a thread with this ID, which comes from memory of the program. */
static bool is_thread(int32_t tid)
{
	int32_t pid = ptrc_self_pid();

	return tid > 0 && ptrc_descriptors_are_known() &&
	       !ptrc_sys(SYS_tgkill, pid ? pid : ptrc_sys_getpid(), tid, 0);
}

void ptrc_wait_begin_lock(uint32_t call, int32_t holder, uint64_t lock, uint64_t call_site)
{
	const struct {
		uint32_t call;
		int32_t holder;
		uint64_t lock;
		uint64_t call_site;
	} data = {call, is_thread(holder) ? holder : 0, lock, call_site};

	record(PTRC_WAIT_LOCK, BEGIN, &data, sizeof(data), call_site);
}

void ptrc_wait_begin_io(enum ptrc_wait_kind kind, const struct ptrc_wait_io *data)
{
	record(kind, BEGIN, data, offsetof(struct ptrc_wait_io, about.text) + data->about.bytes,
	       data->call_site);
}

void ptrc_wait_begin_sleep(uint32_t call, int64_t ns, uint64_t call_site)
{
	const struct {
		uint32_t call;
		int64_t ns;
		uint64_t call_site;
	} data = {call, ns, call_site};

	record(PTRC_WAIT_SLEEP, BEGIN, &data, sizeof(data), call_site);
}

void ptrc_wait_begin_child(uint32_t call, int32_t pid, uint64_t call_site)
{
	const struct {
		uint32_t call;
		int32_t pid;
		uint64_t call_site;
	} data = {call, pid, call_site};

	record(PTRC_WAIT_CHILD, BEGIN, &data, sizeof(data), call_site);
}

void ptrc_wait_end(enum ptrc_wait_kind kind, int64_t result, int32_t error, uint64_t call_site)
{
	const struct end {
		int64_t result;
		int32_t error;
	} data = {result, error};

	/* The size is without the padding at the end of the structure. */
	record(kind, END, &data, offsetof(struct end, error) + sizeof(data.error), call_site);
}
