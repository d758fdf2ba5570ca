/* SPDX-License-Identifier: MIT */
/*
 * The duplicate of a log's descriptor that a controller keeps in case it must start another
 * keeper. A program that closes all of its descriptors closes it, and may reuse the number: so
 * whether it still is ours is asked by device, inode, access mode and close-on-exec. A forked
 * child has a copy of it and closes that: else a pipe would not end for its reader as long as the
 * child lives.
 */
#ifndef PTRC_LIB_CONTROL_LOG_FD_H
#define PTRC_LIB_CONTROL_LOG_FD_H

#include <sys/types.h>

struct ptrc_log_fd {
	int fd;
	dev_t dev;
	ino_t ino;
	int access;
	struct ptrc_log_fd *next, **prev; /* in the list of all; null prev: none is kept */
};

/* Duplicate the descriptor and keep it. ENOMEM. */
int ptrc_log_fd_keep(struct ptrc_log_fd *l, int fd);
/* The descriptor, or -1 if it is not ours any more. */
int ptrc_log_fd_get(const struct ptrc_log_fd *l);
void ptrc_log_fd_let_go(struct ptrc_log_fd *l);

/* The fork handler of the child: close what the parent keeps. */
void ptrc_log_fd_fork_child(void);

#endif
