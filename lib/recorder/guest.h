/* SPDX-License-Identifier: MIT */
/*
 * Recording an event in the name of another process, the target. The guest, which makes the call,
 * keeps nothing between calls: it maps the target's streams, takes a slot in each as any thread
 * does, and lets go of all. The slot bears the number of the guest's thread, because it is this
 * thread that may die meanwhile; only the event itself bears the target's number.
 */
#ifndef PTRC_LIB_RECORDER_GUEST_H
#define PTRC_LIB_RECORDER_GUEST_H

#include <stddef.h>
#include <sys/types.h>

/* Record the event in all streams that trace process pid; *streams says in how many it is. The layout
 * of its type may be null. ESRCH, EPERM, ENOMEM, and with a layout those of ptrc_names_set_layout(). */
int ptrc_guest_record(pid_t pid, const char *name, const char *layout, const void *data,
		      size_t size, unsigned int *streams);

#endif
