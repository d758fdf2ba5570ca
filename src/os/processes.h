/* SPDX-License-Identifier: MIT */
/*
 * The processes that the events of the operating system tell of: parents, names, programs and
 * command lines also of those that end before anybody can look at them in /proc.
 */
#ifndef PTRC_SRC_OS_PROCESSES_H
#define PTRC_SRC_OS_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <posixtrace-log.h>

#include "src/os/perf.h"

struct ptrc_os_processes;

/* Told: what is known of a process goes there; it is not kept. */
struct ptrc_os_processes *ptrc_os_processes_new(bool hides_command_lines,
						void (*tell)(void *arg,
							     const struct posixtrace_log_process *,
							     const struct posixtrace_log_mapping *),
						void *arg);
void ptrc_os_processes_free(struct ptrc_os_processes *);

/* A process that the caller has started itself. */
void ptrc_os_processes_add_child(struct ptrc_os_processes *, pid_t, int64_t start_ns);
/* A process that runs already. Its program is reported by name, path and command line; the keeper, which looks
 * at a process when it has an event, may have found more, and then that counts. */
void ptrc_os_processes_add_running(struct ptrc_os_processes *, pid_t);
/* A process has executed a program at this time, just now: looks for its command line. False: it has none
 * yet, as the kernel is still at it, and is to be looked at once more. */
bool ptrc_os_processes_look(struct ptrc_os_processes *, pid_t, int64_t ns);
/* Takes what a record says; records come in the order of time. */
void ptrc_os_processes_take(struct ptrc_os_processes *, const struct ptrc_perf_record *);
/* How many addresses of a sample's stack are callers: the first that is in no executable mapping of the
 * process, and all after it, are none. All are if not all mappings are known. */
size_t ptrc_os_processes_callers(struct ptrc_os_processes *, const struct ptrc_perf_record *);
/* Tells of those that have not ended. */
void ptrc_os_processes_tell_rest(struct ptrc_os_processes *);

#endif
