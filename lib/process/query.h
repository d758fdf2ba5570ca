/* SPDX-License-Identifier: MIT */
/*
 * Looking at a process and at what traces it from outside: with copies only, and without changing
 * anything. The functions fill in everything but pt_size of a structure that the caller has
 * zeroed; posixtrace.h says what its members mean. ESRCH, EPERM, ENOMEM; ENOENT if the process has
 * no stream, or event type, of that number (the first has number 0).
 */
#ifndef PTRC_LIB_PROCESS_QUERY_H
#define PTRC_LIB_PROCESS_QUERY_H

#include <posixtrace.h>
#include <sys/types.h>

#include "lib/base/shmdir.h"
#include "lib/model/names.h"

int ptrc_query_process(pid_t pid, struct posixtrace_process *process);
int ptrc_query_stream(pid_t pid, unsigned int number, struct posixtrace_process_stream *stream);
int ptrc_query_event(pid_t pid, unsigned int number, char name[PTRC_NAME_BYTES]);
void ptrc_query_system(struct posixtrace_system *system);
int ptrc_query_directory(bool is_create,
			 char path[sizeof(PTRC_SHMDIR_BASE) + PTRC_SHMDIR_DIRECTORY_BYTES]);

#endif
