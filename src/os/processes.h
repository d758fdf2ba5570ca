/* SPDX-License-Identifier: MIT */
/* The processes that events of the operating system are about: their parents, names, programs, mappings and
 * command lines, even if a process ends before its files in /proc can be read. */
#ifndef PTRC_SRC_OS_PROCESSES_H
#define PTRC_SRC_OS_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <posixtrace-log.h>

#include "src/os/perf.h"

struct ptrc_os_processes;

/* A function that receives the description of a process. is_addition: the mappings are to be added to
 * those of the last description of the same program. The pointers are valid during the call. */
typedef void ptrc_os_process_sink(void *arg, const struct posixtrace_log_process *,
				  const struct posixtrace_log_mapping *, bool is_addition);

struct ptrc_os_processes *ptrc_os_processes_new(bool hides_command_lines, ptrc_os_process_sink *,
						void *arg);
void ptrc_os_processes_free(struct ptrc_os_processes *);

void ptrc_os_processes_add_child(struct ptrc_os_processes *, pid_t, int64_t start_ns);
/* Adds a running process, with the name, the path and the command line of its program. */
void ptrc_os_processes_add_running(struct ptrc_os_processes *, pid_t);
/* Called if the keeper (the process that writes the log) describes the process. Until the process executes another
 * program, the sink gets no description of it, only additions. */
void ptrc_os_processes_leave_to_keeper(struct ptrc_os_processes *, pid_t);
/* Reads the command line of a process that executed a program at the monotonic time `ns`. Returns false if /proc
 * does not show the command line yet; the caller then tries again later. */
bool ptrc_os_processes_look(struct ptrc_os_processes *, pid_t, int64_t ns);
/* Takes a record of the kernel. The caller passes all records, sorted by time. Returns whether a process has ended. */
bool ptrc_os_processes_take(struct ptrc_os_processes *, const struct ptrc_perf_record *);
/* Whether the process executes a program that the kernel hides from the user, because it gets other privileges or may not
 * be read. The kernel records nothing of it from then on, and before it maps the program, says that the thread has
 * ended, although it has not. */
bool ptrc_os_processes_is_hidden(struct ptrc_os_processes *, pid_t);
/* Returns the executable mapping of the process at the address; NULL if none is known. The result
 * is valid until the next call of a function of this header. */
const struct ptrc_perf_mapping *ptrc_os_processes_mapping(struct ptrc_os_processes *, pid_t,
							  uint64_t address);
/* Returns how many addresses of a sample's stack are valid. The first address that is outside of all executable
 * mappings, and all addresses after it, are noise. If some mappings are unknown, all addresses are taken for
 * valid. */
size_t ptrc_os_processes_callers(struct ptrc_os_processes *, const struct ptrc_perf_record *);
/* Notes the addresses of a sample that are in code made at run time. The names of the functions there are read
 * when the process ends or executes another program, or by ptrc_os_processes_tell_rest(). */
void ptrc_os_processes_note(struct ptrc_os_processes *, pid_t, const uint64_t *addresses,
			    size_t count);
/* Passes the descriptions of all processes that have not ended to the sink. Called at the end of the trace. */
void ptrc_os_processes_tell_rest(struct ptrc_os_processes *);
/* Looks for processes that have ended, although no record says so yet. Returns whether there are any that the last
 * call has not found. */
bool ptrc_os_processes_find_gone(struct ptrc_os_processes *);
/* Returns the process IDs of the processes that have not ended, as far as records and ptrc_os_processes_find_gone()
 * show, in an array that the caller frees. */
pid_t *ptrc_os_processes_list(const struct ptrc_os_processes *, size_t *count);

#endif
