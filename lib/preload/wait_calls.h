/* SPDX-License-Identifier: MIT */
/* The wrapped functions by the kind of their waits. In the data of an event, `call` is an enum
 * whose members are these names. posixtrace-waits(7) lists them. */
#ifndef PTRC_LIB_PRELOAD_WAIT_CALLS_H
#define PTRC_LIB_PRELOAD_WAIT_CALLS_H

/* clang-format off */
#define PTRC_WAIT_LOCK_CALLS(X) \
	X(pthread_mutex_lock) X(pthread_mutex_timedlock) X(pthread_mutex_clocklock) \
	X(pthread_rwlock_rdlock) X(pthread_rwlock_timedrdlock) X(pthread_rwlock_clockrdlock) \
	X(pthread_rwlock_wrlock) X(pthread_rwlock_timedwrlock) X(pthread_rwlock_clockwrlock) \
	X(pthread_cond_wait) X(pthread_cond_timedwait) X(pthread_cond_clockwait) \
	X(sem_wait) X(sem_timedwait) X(sem_clockwait) \
	X(pthread_join) X(pthread_timedjoin_np) X(pthread_clockjoin_np) \
	X(pthread_barrier_wait) \
	X(mtx_lock) X(mtx_timedlock) X(cnd_wait) X(cnd_timedwait) X(thrd_join) \
	X(futex)

/* Calls for files and for sockets: the wait is of the kind io or net. */
#define PTRC_WAIT_IO_CALLS(X) \
	X(read) X(readv) X(pread) X(preadv) X(write) X(writev) X(pwrite) X(pwritev) \
	X(sendfile) X(splice) X(copy_file_range) \
	X(open) X(openat) X(creat) X(fsync) X(fdatasync) X(syncfs) X(flock) X(fcntl) \
	X(poll) X(ppoll) X(select) X(pselect) X(epoll_wait) X(epoll_pwait) \
	X(connect) X(accept) X(accept4) \
	X(getaddrinfo) \
	X(send) X(sendto) X(sendmsg) X(sendmmsg) X(recv) X(recvfrom) X(recvmsg) X(recvmmsg)

#define PTRC_WAIT_SLEEP_CALLS(X) \
	X(nanosleep) X(clock_nanosleep) X(usleep) X(sleep) \
	X(pause) X(sigsuspend) X(sigwait) X(sigwaitinfo) X(sigtimedwait)

#define PTRC_WAIT_CHILD_CALLS(X) \
	X(wait) X(wait3) X(wait4) X(waitpid) X(waitid) X(system) X(pclose)
/* clang-format on */

#define PTRC_WAIT_NUMBER(name) PTRC_WAIT_CALL_##name,
enum { PTRC_WAIT_LOCK_CALLS(PTRC_WAIT_NUMBER) };
enum { PTRC_WAIT_IO_CALLS(PTRC_WAIT_NUMBER) };
enum { PTRC_WAIT_SLEEP_CALLS(PTRC_WAIT_NUMBER) };
enum { PTRC_WAIT_CHILD_CALLS(PTRC_WAIT_NUMBER) };

#endif
