/* SPDX-License-Identifier: MIT */
/*
 * A duplicate of the log's descriptor, with which the controller can start another keeper. A
 * program that closes all of its descriptors closes the duplicate, too, and may open another file
 * with the same number. So each use checks by device, inode, access mode and close-on-exec flag
 * whether it is still the duplicate. A forked child closes its copy: otherwise a pipe would not end
 * for its reader while the child lives.
 */
#ifndef PTRC_LIB_CONTROL_LOG_FD_H
#define PTRC_LIB_CONTROL_LOG_FD_H

#include <sys/types.h>

struct ptrc_log_fd {
	int fd;
	dev_t dev;
	ino_t ino;
	int access;
	struct ptrc_log_fd *next, **prev; /* in a list of all; prev NULL: no descriptor is kept */
};

/* Duplicates the descriptor and keeps it. ENOMEM. */
int ptrc_log_fd_keep(struct ptrc_log_fd *l, int fd);
/* The descriptor, or -1 if the program has closed it. */
int ptrc_log_fd_get(const struct ptrc_log_fd *l);
void ptrc_log_fd_let_go(struct ptrc_log_fd *l);

/* The fork handler of the child: closes what the parent keeps. */
void ptrc_log_fd_fork_child(void);

#endif
