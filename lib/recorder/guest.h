/* SPDX-License-Identifier: MIT */
/*
 * Recording an event in the name of another process, the target. The guest, the process that makes
 * the call, keeps nothing between calls: it maps the target's streams, takes a slot in each as any
 * thread does, and releases all. The slot has the tid of the guest's thread, because that thread
 * may die meanwhile; only the event itself has the target's pid.
 */
#ifndef PTRC_LIB_RECORDER_GUEST_H
#define PTRC_LIB_RECORDER_GUEST_H

#include <stddef.h>
#include <sys/types.h>

/* Records the event in all streams that trace process pid; *streams: how many have got it. layout:
 * of the event's type, or NULL. ESRCH, EPERM, ENOMEM, and with a layout those of
 * ptrc_names_set_layout(). */
int ptrc_guest_record(pid_t pid, const char *name, const char *layout, const void *data,
		      size_t size, unsigned int *streams);

#endif
