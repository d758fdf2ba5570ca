/* SPDX-License-Identifier: MIT */
/* Wrappers of functions that read, write, and wait for descriptors. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "lib/preload/descriptors.h"
#include "lib/preload/next_function.h"
#include "lib/preload/signals.h"
#include "lib/preload/wait_calls.h"
#include "lib/preload/waits.h"

/* This value in place of a kind says that the wait is not recorded. */
#define NO_WAIT PTRC_WAIT_KINDS

/* Sets everything but the text. */
static void describe(struct ptrc_wait_io *w, uint32_t call, int fd, uint64_t size,
		     uint64_t call_site)
{
	w->call = call;
	w->fd = fd;
	w->size = size;
	w->call_site = call_site;
}

/* Records the start of a wait for a descriptor, if it is to be recorded. The kind is net if the
 * descriptor is a socket, io if it is another file, and `otherwise` if that is unknown. Returns the
 * kind, or NO_WAIT. */
static PTRC_NOINLINE enum ptrc_wait_kind begin(enum ptrc_wait_kind otherwise, uint32_t call, int fd,
					       uint64_t size, uint64_t call_site)
{
	struct ptrc_wait_io data;

	if (!ptrc_wait_is_recorded(PTRC_WAIT_IO_OR_NET))
		return NO_WAIT;
	describe(&data, call, fd, size, call_site);
	ptrc_descriptor_get(fd, &data.about);
	if (data.about.bytes)
		otherwise = data.about.is_socket ? PTRC_WAIT_NET : PTRC_WAIT_IO;
	if (!ptrc_wait_is_selected(1U << otherwise))
		return NO_WAIT;
	ptrc_wait_begin_io(otherwise, &data);
	return otherwise;
}

/* Like begin(), for a socket whose peer is the address that the program passes. */
static PTRC_NOINLINE enum ptrc_wait_kind begin_address(uint32_t call, int fd, uint64_t size,
						       long address, long address_size,
						       uint64_t call_site)
{
	struct ptrc_wait_io data;

	if (!ptrc_wait_is_recorded(PTRC_WAIT_BIT(NET)))
		return NO_WAIT;
	describe(&data, call, fd, size, call_site);
	ptrc_descriptor_get_peer(fd, (const void *)address, (unsigned int)address_size,
				 &data.about);
	ptrc_wait_begin_io(PTRC_WAIT_NET, &data);
	return PTRC_WAIT_NET;
}

static PTRC_ALWAYS_INLINE void end(enum ptrc_wait_kind kind, long result, uint64_t call_site)
{
	if (kind != NO_WAIT)
		ptrc_wait_end(kind, result, result < 0 ? errno : 0, call_site);
}

/* Takes SIGTRAP out of the mask that the call sets while it waits (signals.h). */
#define UNMASK(mask) \
	mask = (long)ptrc_signals_without_trap((const sigset_t *)mask, &(sigset_t){{0}})
#define NOTHING (void)0

/* Defines the wrapper of a function that returns a number of this type. `before` is executed first.
 * If waits of one of the kinds are selected, the expression `begins` records the start of the wait
 * and returns its kind, and `after` is executed after the call. */
#define WAITS(symbol, type, before, kinds, begins, after)    \
	PTRC_WRAPPER(symbol)                                 \
	{                                                    \
		ptrc_function *function = PTRC_NEXT(symbol); \
		enum ptrc_wait_kind kind;                    \
		type result;                                 \
                                                             \
		before;                                      \
		if (!ptrc_wait_is_selected(kinds))           \
			return function(a, b, c, d, e, f);   \
		kind = begins;                               \
		result = (type)function(a, b, c, d, e, f);   \
		after;                                       \
		end(kind, result, PTRC_CALL_SITE);           \
		return result;                               \
	}

/* Wraps a function that transfers `size` bytes or items by descriptor `fd`. It is recorded as
 * the function `call`, which differs from `symbol` if the C library has several names for one
 * function. */
#define TRANSFERS(symbol, call, otherwise, fd, size, type) \
	TRANSFERS_MASKED(symbol, call, otherwise, fd, size, type, NOTHING)
#define TRANSFERS_MASKED(symbol, call, otherwise, fd, size, type, mask)                        \
	WAITS(symbol, type, mask, PTRC_WAIT_IO_OR_NET,                                         \
	      begin(PTRC_WAIT_##otherwise, PTRC_WAIT_CALL_##call, (int)(fd), (uint64_t)(size), \
		    PTRC_CALL_SITE),                                                           \
	      NOTHING)

/* The size is in bytes if an argument of the call has the number of bytes; otherwise it is the
 * number of buffers, messages or events. */
TRANSFERS(read, read, IO, a, c, long)
TRANSFERS(__read_chk, read, IO, a, c, long)
TRANSFERS(readv, readv, IO, a, c, long)
TRANSFERS(pread, pread, IO, a, c, long)
TRANSFERS(pread64, pread, IO, a, c, long)
TRANSFERS(__pread_chk, pread, IO, a, c, long)
TRANSFERS(__pread64_chk, pread, IO, a, c, long)
TRANSFERS(preadv, preadv, IO, a, c, long)
TRANSFERS(preadv64, preadv, IO, a, c, long)
TRANSFERS(preadv2, preadv, IO, a, c, long)
TRANSFERS(preadv64v2, preadv, IO, a, c, long)
TRANSFERS(write, write, IO, a, c, long)
TRANSFERS(writev, writev, IO, a, c, long)
TRANSFERS(pwrite, pwrite, IO, a, c, long)
TRANSFERS(pwrite64, pwrite, IO, a, c, long)
TRANSFERS(pwritev, pwritev, IO, a, c, long)
TRANSFERS(pwritev64, pwritev, IO, a, c, long)
TRANSFERS(pwritev2, pwritev, IO, a, c, long)
TRANSFERS(pwritev64v2, pwritev, IO, a, c, long)
TRANSFERS(sendfile, sendfile, IO, a, d, long)
TRANSFERS(sendfile64, sendfile, IO, a, d, long)
TRANSFERS(splice, splice, IO, a, e, long)
TRANSFERS(copy_file_range, copy_file_range, IO, a, e, long)
TRANSFERS(fsync, fsync, IO, a, 0, int)
TRANSFERS(fdatasync, fdatasync, IO, a, 0, int)
TRANSFERS(syncfs, syncfs, IO, a, 0, int)
TRANSFERS(flock, flock, IO, a, 0, int)
TRANSFERS(epoll_wait, epoll_wait, IO, a, c, int)
TRANSFERS_MASKED(epoll_pwait, epoll_pwait, IO, a, c, int, UNMASK(e))
TRANSFERS_MASKED(epoll_pwait2, epoll_pwait, IO, a, c, int, UNMASK(e))
TRANSFERS(send, send, NET, a, c, long)
TRANSFERS(sendmsg, sendmsg, NET, a, 1, long)
TRANSFERS(sendmmsg, sendmmsg, NET, a, c, int)
TRANSFERS(recv, recv, NET, a, c, long)
TRANSFERS(__recv_chk, recv, NET, a, c, long)
TRANSFERS(recvfrom, recvfrom, NET, a, c, long)
TRANSFERS(recvmsg, recvmsg, NET, a, 1, long)
TRANSFERS(recvmmsg, recvmmsg, NET, a, c, int)

/* If the call has an address (e), the event has it as the peer: the socket usually has no peer. */
WAITS(sendto, long, NOTHING, PTRC_WAIT_IO_OR_NET,
      !e || !ptrc_wait_is_selected(PTRC_WAIT_BIT(NET))
	      ? begin(PTRC_WAIT_NET, PTRC_WAIT_CALL_sendto, (int)a, (uint64_t)c, PTRC_CALL_SITE)
	      : begin_address(PTRC_WAIT_CALL_sendto, (int)a, (uint64_t)c, e, f, PTRC_CALL_SITE),
      NOTHING)

/* PTRC_WRAPPER() does not fit, because __recvfrom_chk() has a seventh argument. */
PTRC_PUBLIC long ptrc_wrapper___recvfrom_chk(long a, long b, long c, long d, long e, long f,
					     long g) __asm__("__recvfrom_chk");
PTRC_PUBLIC long ptrc_wrapper___recvfrom_chk(long a, long b, long c, long d, long e, long f, long g)
{
	ptrc_function_of_7 *function = PTRC_NEXT_OF_7(__recvfrom_chk);
	enum ptrc_wait_kind kind;
	long result;

	if (!ptrc_wait_is_selected(PTRC_WAIT_IO_OR_NET))
		return function(a, b, c, d, e, f, g);
	kind = begin(PTRC_WAIT_NET, PTRC_WAIT_CALL_recvfrom, (int)a, (uint64_t)c, PTRC_CALL_SITE);
	result = function(a, b, c, d, e, f, g);
	end(kind, result, PTRC_CALL_SITE);
	return result;
}

/* Records the start of a wait for `count` descriptors. The event has the descriptor and its text
 * only if `count` is 1. The kind is io, even if the descriptors are sockets. */
static PTRC_NOINLINE enum ptrc_wait_kind begin_several(uint32_t call, long fds, uint64_t count,
						       uint64_t call_site)
{
	struct ptrc_wait_io data;
	struct pollfd one;

	if (!ptrc_wait_is_recorded(PTRC_WAIT_BIT(IO)))
		return NO_WAIT;
	describe(&data, call, -1, count, call_site);
	data.about.bytes = 0;
	if (fds && count == 1 && ptrc_program_bytes((const void *)fds, &one, sizeof(one))) {
		data.fd = one.fd;
		ptrc_descriptor_get(one.fd, &data.about);
	}
	ptrc_wait_begin_io(PTRC_WAIT_IO, &data);
	return PTRC_WAIT_IO;
}

#define POLLS(symbol, call, fds, count, mask)                                               \
	WAITS(symbol, int, mask, PTRC_WAIT_BIT(IO),                                         \
	      begin_several(PTRC_WAIT_CALL_##call, fds, (uint64_t)(count), PTRC_CALL_SITE), \
	      NOTHING)

POLLS(poll, poll, a, b, NOTHING)
POLLS(__poll_chk, poll, a, b, NOTHING)
POLLS(ppoll, ppoll, a, b, UNMASK(d))
POLLS(__ppoll_chk, ppoll, a, b, UNMASK(d))
POLLS(select, select, 0, (unsigned int)a, NOTHING)
POLLS(pselect, pselect, 0, (unsigned int)a, UNMASK(f))

/* Records the start of a wait for a file that is being opened, or for a host that is being looked
 * up. directory: the descriptor from which a relative path starts; -1: the current directory, or
 * the name is no path. */
static PTRC_NOINLINE enum ptrc_wait_kind begin_name(enum ptrc_wait_kind kind, uint32_t call,
						    int directory, long name, uint64_t call_site)
{
	struct ptrc_wait_io data;

	if (!ptrc_wait_is_recorded(1U << kind) || ptrc_wait_is_own(call_site))
		return NO_WAIT;
	describe(&data, call, directory, 0, call_site);
	ptrc_program_path((const char *)name, &data.about);
	ptrc_wait_begin_io(kind, &data);
	return kind;
}

/* The wrapper passes on the mode even if the caller has given none: the next definition reads it
 * only if the flags need it. */
#define OPENS(symbol, call, directory, path)                                                    \
	WAITS(symbol, int, NOTHING, PTRC_WAIT_IO_OR_NET,                                        \
	      begin_name(PTRC_WAIT_IO, PTRC_WAIT_CALL_##call, directory, path, PTRC_CALL_SITE), \
	      ptrc_descriptor_forget(result))

OPENS(open, open, -1, a)
OPENS(open64, open, -1, a)
OPENS(__open_2, open, -1, a)
OPENS(__open64_2, open, -1, a)
OPENS(openat, openat, (int)a, b)
OPENS(openat64, openat, (int)a, b)
OPENS(__openat_2, openat, (int)a, b)
OPENS(__openat64_2, openat, (int)a, b)
OPENS(creat, creat, -1, a)
OPENS(creat64, creat, -1, a)

/* Calls fcntl(). Only commands that wait for a lock are recorded. */
static PTRC_NOINLINE long control(ptrc_function *function, long a, long b, long c,
				  uint64_t call_site)
{
	bool waits = b == F_SETLKW || b == F_OFD_SETLKW;
	enum ptrc_wait_kind kind =
		waits ? begin(PTRC_WAIT_IO, PTRC_WAIT_CALL_fcntl, (int)a, 0, call_site) : NO_WAIT;
	int result = (int)function(a, b, c, 0, 0, 0);

	if (b == F_DUPFD || b == F_DUPFD_CLOEXEC)
		ptrc_descriptor_forget(result);
	end(kind, result, call_site);
	return result;
}

#define CONTROLS(symbol)                                                \
	PTRC_WRAPPER(symbol)                                            \
	{                                                               \
		ptrc_function *function = PTRC_NEXT(symbol);            \
                                                                        \
		if (!ptrc_wait_is_selected(PTRC_WAIT_IO_OR_NET))        \
			return function(a, b, c, d, e, f);              \
		return control(function, a, (int)b, c, PTRC_CALL_SITE); \
	}

CONTROLS(fcntl)
CONTROLS(fcntl64)

/* The event has the address that the program passes, because the socket has no peer before the call
 * succeeds. */
WAITS(connect, int, NOTHING, PTRC_WAIT_IO_OR_NET,
      begin_address(PTRC_WAIT_CALL_connect, (int)a, 0, b, c, PTRC_CALL_SITE),
      ptrc_descriptor_forget((int)a))

/* The event has the name of the host in place of a peer, and no error number: the result is one of
 * the codes EAI_*. */
PTRC_WRAPPER(getaddrinfo)
{
	ptrc_function *function = PTRC_NEXT(getaddrinfo);
	enum ptrc_wait_kind kind =
		begin_name(PTRC_WAIT_NET, PTRC_WAIT_CALL_getaddrinfo, -1, a, PTRC_CALL_SITE);
	int result = (int)function(a, b, c, d, e, f);

	if (kind != NO_WAIT)
		ptrc_wait_end(kind, result, 0, PTRC_CALL_SITE);
	return result;
}

#define ACCEPTS(name)                                                                 \
	WAITS(name, int, NOTHING, PTRC_WAIT_IO_OR_NET,                                \
	      begin(PTRC_WAIT_NET, PTRC_WAIT_CALL_##name, (int)a, 0, PTRC_CALL_SITE), \
	      ptrc_descriptor_forget(result))

ACCEPTS(accept)
ACCEPTS(accept4)
