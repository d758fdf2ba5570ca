/* SPDX-License-Identifier: MIT */
/* Wrappers of functions that close descriptors or make new ones. They remove the descriptor's text
 * (descriptors.h) from the table, because its number may now mean another file. */
#include "config.h"

#include <dirent.h>
#include <stdio.h>

#include "lib/preload/descriptors.h"
#include "lib/preload/next_function.h"
#include "lib/preload/waits.h"

/* Defines a wrapper. If texts are kept, `before` is executed before the call, and `after`, which may
 * use the call's result, after it. The text of a descriptor that is closed is removed before the
 * call, because another thread may get its number before the call returns; that of a descriptor
 * that is made, after it. If a descriptor is replaced, its text is removed before, so that no thread
 * uses it once the descriptor has changed, and after, because another thread may have looked the
 * old file up meanwhile. */
#define CHANGES(name, before, after)                              \
	PTRC_WRAPPER(name)                                        \
	{                                                         \
		long result;                                      \
                                                                  \
		if (!ptrc_wait_is_selected(PTRC_WAIT_IO_OR_NET))  \
			return PTRC_NEXT(name)(a, b, c, d, e, f); \
		before;                                           \
		result = PTRC_NEXT(name)(a, b, c, d, e, f);       \
		after;                                            \
		return result;                                    \
	}
#define NOTHING (void)0

CHANGES(close, ptrc_descriptor_forget((int)a), NOTHING)
CHANGES(close_range, ptrc_descriptors_forget((unsigned int)a, (unsigned int)b), NOTHING)
CHANGES(closefrom, ptrc_descriptors_forget((int)a < 0 ? 0 : (unsigned int)a, ~0U), NOTHING)
CHANGES(fclose, ptrc_descriptor_forget(ptrc_descriptor_of((FILE *)a)), NOTHING)
CHANGES(closedir, ptrc_descriptor_forget(a ? dirfd((DIR *)a) : -1), NOTHING)

#define MAKES(name, made) CHANGES(name, NOTHING, ptrc_descriptor_forget((int)(made)))

MAKES(dup, result)
MAKES(socket, result)
MAKES(bind, a)
MAKES(listen, a)
MAKES(epoll_create, result)
MAKES(epoll_create1, result)
MAKES(eventfd, result)
MAKES(timerfd_create, result)
MAKES(signalfd, (int)a < 0 ? result : a)
MAKES(memfd_create, result)
MAKES(inotify_init, result)
MAKES(inotify_init1, result)

/* dup2() and dup3() close descriptor b if it is open. A stdio stream is usually reopened with the
 * descriptor that it has. */
#define REPLACES(name, fd)                 \
	CHANGES(name, int replaced = (fd); \
		ptrc_descriptor_forget(replaced), ptrc_descriptor_forget(replaced))

REPLACES(dup2, (int)b)
REPLACES(dup3, (int)b)
REPLACES(freopen, ptrc_descriptor_of((FILE *)c))
REPLACES(freopen64, ptrc_descriptor_of((FILE *)c))

static void forget_two(const int pair[2])
{
	ptrc_descriptor_forget(pair[0]);
	ptrc_descriptor_forget(pair[1]);
}

#define MAKES_TWO(name, pair) \
	CHANGES(name, NOTHING, if ((int)result == 0) forget_two((const int *)(pair)))

MAKES_TWO(pipe, a)
MAKES_TWO(pipe2, a)
MAKES_TWO(socketpair, d)
