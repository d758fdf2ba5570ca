/* SPDX-License-Identifier: MIT */
/* This process as a target: the streams that trace it, mapped. See also process.h. */
#ifndef PTRC_LIB_RECORDER_EVENT_H
#define PTRC_LIB_RECORDER_EVENT_H

/* Map every stream that traces this process now (posixtrace_attach). */
int ptrc_event_attach_all(void);

#endif
