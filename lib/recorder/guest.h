/* SPDX-License-Identifier: MIT */
/*
 * Recording an event on behalf of another process, the target (posixtrace_event_for()). The guest,
 * the process that makes the call, keeps nothing between calls: it maps the target's streams, takes
 * a slot (the entry of a recording thread) in each, as any thread does, and then releases the slots
 * and unmaps the streams. The slot has the tid of the guest's thread, so that other processes
 * notice if that thread dies during the call. Only the event itself has the target's pid. If the target
 * is traced because an ancestor is, its page lists the streams after the call (ptrc_target_join()).
 */
#ifndef PTRC_LIB_RECORDER_GUEST_H
#define PTRC_LIB_RECORDER_GUEST_H

#include <stddef.h>
#include <sys/types.h>

/* Records the event in all streams that trace process pid. *streams becomes the number of streams
 * that have got it. layout: the layout of the event's type, or NULL. ESRCH, EPERM, ENOMEM. EPROTO:
 * this library does not know the version of a stream or of its names. If there is a layout, also
 * the errors of ptrc_names_set_layout(). */
int ptrc_guest_record(pid_t pid, const char *name, const char *layout, const void *data,
		      size_t size, unsigned int *streams);

#endif
