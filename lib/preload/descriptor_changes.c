/* SPDX-License-Identifier: MIT */
/* Wrappers of functions that close descriptors or make new ones. They remove the descriptor's text
 * (descriptors.h) from the table, because its number may now mean another file. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>

#include "lib/preload/descriptors.h"
#include "lib/preload/next_function.h"
#include "lib/preload/waits.h"

/* Wraps a function that closes the descriptors `first` to `last`. The paths and addresses that are
 * kept for them are forgotten before the call, because another thread may get one of the numbers
 * before the call returns. */
#define CLOSES(name, first, last)                                                             \
	PTRC_WRAPPER(name)                                                                    \
	{                                                                                     \
		if (ptrc_wait_is_selected(PTRC_WAIT_IO_OR_NET))                               \
			ptrc_descriptors_forget((unsigned int)(first), (unsigned int)(last)); \
		return PTRC_NEXT(name)(a, b, c, d, e, f);                                     \
	}

CLOSES(close, a, a)
CLOSES(close_range, a, b)
CLOSES(closefrom, (int)a < 0 ? 0 : a, ~0U)
/* Wraps a function that closes a stdio stream or a directory. `fd` computes its descriptor, which
 * may be -1; the stream may be NULL. */
#define CLOSES_STREAM(name, type, fd)                                     \
	PTRC_WRAPPER(name)                                                \
	{                                                                 \
		type *stream = (type *)a;                                 \
		int error = errno;                                        \
                                                                          \
		if (stream && ptrc_wait_is_selected(PTRC_WAIT_IO_OR_NET)) \
			ptrc_descriptor_forget(fd);                       \
		errno = error;                                            \
		return PTRC_NEXT(name)(a, b, c, d, e, f);                 \
	}

CLOSES_STREAM(fclose, FILE, fileno(stream))
CLOSES_STREAM(closedir, DIR, dirfd(stream))

/* Wraps a function that reopens a stdio stream, usually with the descriptor that it has. The
 * descriptor's text (descriptors.h) is removed before the call, and after it, because another
 * thread may have looked the old file up meanwhile. */
#define REOPENS(name)                                                       \
	PTRC_WRAPPER(name)                                                  \
	{                                                                   \
		FILE *stream = (FILE *)c;                                   \
		int error = errno, fd;                                      \
		long result;                                                \
                                                                            \
		if (!stream || !ptrc_wait_is_selected(PTRC_WAIT_IO_OR_NET)) \
			return PTRC_NEXT(name)(a, b, c, d, e, f);           \
		fd = fileno(stream);                                        \
		errno = error;                                              \
		ptrc_descriptor_forget(fd);                                 \
		result = PTRC_NEXT(name)(a, b, c, d, e, f);                 \
		ptrc_descriptor_forget(fd);                                 \
		return result;                                              \
	}

REOPENS(freopen)
REOPENS(freopen64)

/* Wraps a function that makes a descriptor, or changes what it is open on. `made` is the
 * descriptor, computed after the call. */
#define MAKES(name, made)                                        \
	PTRC_WRAPPER(name)                                       \
	{                                                        \
		long result = PTRC_NEXT(name)(a, b, c, d, e, f); \
                                                                 \
		if (ptrc_wait_is_selected(PTRC_WAIT_IO_OR_NET))  \
			ptrc_descriptor_forget((int)(made));     \
		return result;                                   \
	}

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

/* Wraps dup2() or dup3(), which close descriptor b if it is open. The text of b (descriptors.h) is
 * removed before the call, so that no thread uses it once b has changed, and after the call,
 * because another thread may have looked the old file up meanwhile. */
#define REPLACES(name)                                            \
	PTRC_WRAPPER(name)                                        \
	{                                                         \
		long result;                                      \
                                                                  \
		if (!ptrc_wait_is_selected(PTRC_WAIT_IO_OR_NET))  \
			return PTRC_NEXT(name)(a, b, c, d, e, f); \
		ptrc_descriptor_forget((int)b);                   \
		result = PTRC_NEXT(name)(a, b, c, d, e, f);       \
		ptrc_descriptor_forget((int)b);                   \
		return result;                                    \
	}

REPLACES(dup2)
REPLACES(dup3)

#define MAKES_TWO(name, pair)                                                         \
	PTRC_WRAPPER(name)                                                            \
	{                                                                             \
		long result = PTRC_NEXT(name)(a, b, c, d, e, f);                      \
                                                                                      \
		if ((int)result == 0 && ptrc_wait_is_selected(PTRC_WAIT_IO_OR_NET)) { \
			ptrc_descriptor_forget(((const int *)(pair))[0]);             \
			ptrc_descriptor_forget(((const int *)(pair))[1]);             \
		}                                                                     \
		return result;                                                        \
	}

MAKES_TWO(pipe, a)
MAKES_TWO(pipe2, a)
MAKES_TWO(socketpair, d)
