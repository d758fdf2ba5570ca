/* SPDX-License-Identifier: MIT */
/*
 * A duplicate of the log's descriptor, with which the controller can start another keeper. A
 * program that closes all its descriptors closes the duplicate, too, and may then open another file
 * with the same number. So before each use, ptrc_log_fd_get() checks by device, inode, access mode
 * and close-on-exec flag that the descriptor is still the duplicate. A forked child closes its
 * copy: if the log is a pipe, its reader would otherwise not see the end of the log before the
 * child ends.
 */
#ifndef PTRC_LIB_CONTROL_LOG_FD_H
#define PTRC_LIB_CONTROL_LOG_FD_H

#include <sys/types.h>

struct ptrc_log_fd {
	int fd;
	dev_t dev;
	ino_t ino;
	int access;
	struct ptrc_log_fd *next, **prev; /* list of all kept descriptors; prev NULL: this
					   * structure keeps no descriptor */
};

/* Duplicates the descriptor and keeps the duplicate. ENOMEM. */
int ptrc_log_fd_keep(struct ptrc_log_fd *l, int fd);
/* Returns the kept descriptor, or -1 if the program has closed it, even if its number is in use
 * again. */
int ptrc_log_fd_get(const struct ptrc_log_fd *l);
/* Closes the kept descriptor, if there is one. */
void ptrc_log_fd_let_go(struct ptrc_log_fd *l);

/* The fork handler that runs in the child: closes the copies of the descriptors that the parent
 * keeps. */
void ptrc_log_fd_fork_child(void);

#endif
