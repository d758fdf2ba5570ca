/* SPDX-License-Identifier: MIT */
/* A program for the tests of ptrace-run --waits. It does not use the library. Its argument selects
 * a kind of waits: it makes such calls, and prints the events that the test expects. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                                \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

enum { MS = 1000000 };

/* Makes a system call without a function of the C library, so that no wrapper for --waits sees
 * it. */
static long raw_call(long number, long a, long b, long c)
{
	long result;

#if defined(__x86_64__)
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(0)
			 : "rcx", "r11", "memory");
#else
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	result = x0;
#endif
	return result;
}

static void pause_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * MS};

	raw_call(SYS_nanosleep, (long)&t, 0, 0);
}

static int own_tid(void)
{
	return (int)syscall(SYS_gettid);
}

/* Prints the expected event of a call: the name of the call, path or peer, size, result and
 * error. */
static void say(const char *call, const char *text, long size, long result)
{
	printf("%s %s %ld %ld %s\n", call, *text ? text : "-", size, result,
	       result < 0 ? strerrorname_np(errno) : "0");
	errno = 0;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static mtx_t c_mutex;
static uint32_t futex;

/* Whether the thread sleeps in a system call. */
static bool sleeps(int tid)
{
	char path[64], text[512];
	const char *name_end;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	name_end = strrchr(text, ')');
	return name_end && name_end[2] == 'S';
}

static int main_tid;
static _Atomic int holder_tid;
/* True while the first thread makes no other call than the one that waits, so that if it sleeps, it
 * sleeps in that call. */
static _Atomic bool waits;

/* Waits until the first thread sleeps in the call that waits. */
static void await_sleep(void)
{
	while (!waits || !sleeps(main_tid))
		pause_ms(1);
}

/* Locks the lock of this kind, and unlocks it 20 ms after the first thread has begun to wait for
 * it. */
static void *hold(void *kind)
{
	int which = (int)(intptr_t)kind;

	CHECK(which == 0   ? !pthread_mutex_lock(&mutex)
	      : which == 1 ? !pthread_rwlock_wrlock(&rwlock)
	      : which == 2 ? !pthread_rwlock_rdlock(&rwlock)
			   : mtx_lock(&c_mutex) == thrd_success);
	holder_tid = own_tid();
	await_sleep();
	/* The test expects a wait of at least this time. */
	pause_ms(20);
	CHECK(which == 0   ? !pthread_mutex_unlock(&mutex)
	      : which == 3 ? mtx_unlock(&c_mutex) == thrd_success
			   : !pthread_rwlock_unlock(&rwlock));
	return NULL;
}

/* Prints the expected event of a wait for a lock: call, thread ID of the holder, address, error. */
static void say_lock(const char *call, int holder, const void *lock)
{
	printf("%s %d 0x%" PRIxPTR " 0\n", call, holder, (uintptr_t)lock);
}

static void *wake(void *kind)
{
	int which = (int)(intptr_t)kind;

	holder_tid = own_tid();
	await_sleep();
	if (which == 0) {
		pthread_mutex_lock(&mutex);
		pthread_cond_signal(&condition);
		pthread_mutex_unlock(&mutex);
	} else if (which == 1) {
		sem_post(&semaphore);
	} else if (which == 2) {
		pthread_barrier_wait(&barrier);
	} else if (which == 3) {
		__atomic_store_n(&futex, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &futex, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	return NULL;
}

/* Starts hold() or wake(), and returns when that has its lock, or is about to wake this thread. */
static pthread_t begin(void *(*run)(void *), int which)
{
	pthread_t t;

	waits = false;
	holder_tid = 0;
	CHECK(!pthread_create(&t, NULL, run, (void *)(intptr_t)which));
	while (!holder_tid)
		pause_ms(1);
	waits = true;
	return t;
}

static void end_thread(pthread_t t)
{
	int tid = holder_tid;

	waits = false;
	/* Waits until the thread has ended, so that pthread_join() does not wait and makes no
	 * event. */
	while (!syscall(SYS_tgkill, getpid(), tid, 0))
		pause_ms(1);
	CHECK(!pthread_join(t, NULL));
}

static void end_wait(pthread_t t, const char *call, int holder, const void *lock)
{
	say_lock(call, holder, lock);
	end_thread(t);
}

static void locks(void)
{
	struct timespec later;
	pthread_t t;

	main_tid = own_tid();
	mtx_init(&c_mutex, mtx_plain);
	sem_init(&semaphore, 0, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	/* Calls for free locks do not wait, so they make no events. */
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
		sem_post(&semaphore);
		sem_wait(&semaphore);
	}
	t = begin(hold, 0);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	end_wait(t, "pthread_mutex_lock", holder_tid, &mutex);
	t = begin(hold, 1);
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	end_wait(t, "pthread_rwlock_rdlock", holder_tid, &rwlock);
	t = begin(hold, 2);
	pthread_rwlock_wrlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	end_wait(t, "pthread_rwlock_wrlock", 0, &rwlock);
	t = begin(hold, 3);
	mtx_lock(&c_mutex);
	mtx_unlock(&c_mutex);
	end_wait(t, "mtx_lock", holder_tid, &c_mutex);
	pthread_mutex_lock(&mutex);
	t = begin(wake, 0);
	pthread_cond_wait(&condition, &mutex);
	pthread_mutex_unlock(&mutex);
	end_wait(t, "pthread_cond_wait", 0, &condition);
	t = begin(wake, 1);
	sem_wait(&semaphore);
	end_wait(t, "sem_wait", 0, &semaphore);
	t = begin(wake, 2);
	pthread_barrier_wait(&barrier);
	end_wait(t, "pthread_barrier_wait", 0, &barrier);
	t = begin(wake, 3);
	while (!__atomic_load_n(&futex, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &futex, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	end_wait(t, "futex", 0, &futex);
	t = begin(wake, 4);
	pthread_join(t, NULL);
	say_lock("pthread_join", holder_tid, (void *)t);
	/* This thread waits for a lock that it holds itself. */
	clock_gettime(CLOCK_REALTIME, &later);
	later.tv_nsec = (later.tv_nsec + 10 * MS) % (1000 * MS);
	later.tv_sec += later.tv_nsec < 10 * MS;
	pthread_mutex_lock(&mutex);
	CHECK(pthread_mutex_timedlock(&mutex, &later) == ETIMEDOUT);
	printf("pthread_mutex_timedlock %d 0x%" PRIxPTR " ETIMEDOUT\n", main_tid,
	       (uintptr_t)&mutex);
	/* The mutex names a holder that does not exist: the event has the holder 0. */
	mutex.__data.__owner = 0x3fffffff;
	CHECK(pthread_mutex_timedlock(&mutex, &later) == ETIMEDOUT);
	printf("pthread_mutex_timedlock 0 0x%" PRIxPTR " ETIMEDOUT\n", (uintptr_t)&mutex);
	futex = (uint32_t)main_tid;
	CHECK(syscall(SYS_futex, &futex, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0) < 0);
	printf("futex %d 0x%" PRIxPTR " EDEADLK\n", main_tid, (uintptr_t)&futex);
	/* As when the kernel has given the mutex to a thread that has not run since: the owner
	 * member is 0, but the futex word has the thread ID of the owner. */
	for (int i = 0; i < 2; i++) {
		static pthread_mutex_t handed[2];
		pthread_mutexattr_t attr;

		pthread_mutexattr_init(&attr);
		CHECK(!pthread_mutexattr_setprotocol(&attr, i ? PTHREAD_PRIO_INHERIT
							      : PTHREAD_PRIO_NONE) &&
		      !pthread_mutexattr_setrobust(&attr, i ? PTHREAD_MUTEX_STALLED
							    : PTHREAD_MUTEX_ROBUST));
		CHECK(!pthread_mutex_init(&handed[i], &attr) && !pthread_mutex_lock(&handed[i]));
		handed[i].__data.__owner = 0;
		CHECK(pthread_mutex_timedlock(&handed[i], &later) == ETIMEDOUT);
		printf("pthread_mutex_timedlock %d 0x%" PRIxPTR " ETIMEDOUT\n", main_tid,
		       (uintptr_t)&handed[i]);
	}
}

static void files(void)
{
	struct iovec v[2];
	char bytes[8192], long_path[4096], text[4096];
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd, pair[2], other;

	fd = open("one.txt", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	say("open", "one.txt", 0, fd);
	CHECK(getcwd(text, sizeof(text) - 16));
	strcat(text, "/one.txt");
	say("write", text, 5, write(fd, "12345", 5));
	say("pwrite", text, 3, pwrite(fd, "abc", 3, 1));
	say("pread", text, 100, pread(fd, bytes, 100, 0));
	say("read", text, 10, read(fd, bytes, 10));
	v[0] = (struct iovec){bytes, 1};
	v[1] = (struct iovec){bytes + 1, 1};
	say("writev", text, 2, writev(fd, v, 2));
	say("fsync", text, 0, fsync(fd));
	say("fdatasync", text, 0, fdatasync(fd));
	say("flock", text, 0, flock(fd, LOCK_EX));
	say("fcntl", text, 0, fcntl(fd, F_SETLKW, &lock));
	CHECK(fcntl(fd, F_GETFL) >= 0);
	other = openat(AT_FDCWD, "missing.txt", O_RDONLY | O_CLOEXEC);
	say("openat", "missing.txt", 0, other);
	/* The number of the descriptor is used again for another file. */
	close(fd);
	fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	say("open", "/dev/zero", 0, fd);
	say("read", "/dev/zero", 4096, read(fd, bytes, 4096));
	other = open("/dev/null", O_WRONLY | O_CLOEXEC);
	say("open", "/dev/null", 0, other);
	CHECK(dup2(other, fd) == fd);
	say("write", "/dev/null", 10, write(fd, bytes, 10));
	CHECK(!pipe(pair));
	say("write", "pipe", 1, write(pair[1], "x", 1));
	say("read", "pipe", 10, read(pair[0], bytes, 10));
	errno = 0;
	say("read", "", 1, read(999, bytes, 1));
	/* A long path is truncated in the event. */
	memset(long_path, 'x', 300);
	long_path[300] = '\0';
	snprintf(text, sizeof(text), "%.188s...", long_path);
	errno = 0;
	fd = open(long_path, O_RDONLY | O_CLOEXEC);
	say("open", text, 0, fd);
	/* The address of the path is invalid, so the event has no path. */
	errno = 0;
	fd = open((const char *)16, O_RDONLY | O_CLOEXEC);
	say("open", "", 0, fd);
	poll(&(struct pollfd){.fd = pair[0], .events = POLLIN}, 1, 1);
	say("poll", "pipe", 1, 0);
	fd = epoll_create1(EPOLL_CLOEXEC);
	CHECK(epoll_wait(fd, &(struct epoll_event){0}, 1, 1) == 0);
	say("epoll_wait", "anon_inode:[eventpoll]", 1, 0);
}

static void sockets(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "sock"};
	char bytes[100], peer[80], client[80];
	socklen_t size = sizeof(in);
	int server, fd, accepted, pair[2];

	server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(!bind(server, (struct sockaddr *)&in, sizeof(in)) && !listen(server, 5));
	CHECK(!getsockname(server, (struct sockaddr *)&in, &size));
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(peer, sizeof(peer), "tcp 127.0.0.1:%d", ntohs(in.sin_port));
	say("connect", peer, 0, connect(fd, (struct sockaddr *)&in, sizeof(in)));
	snprintf(client, sizeof(client), "tcp local 127.0.0.1:%d", ntohs(in.sin_port));
	accepted = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	say("accept4", client, 0, accepted);
	CHECK(!getsockname(fd, (struct sockaddr *)&in, &size));
	snprintf(client, sizeof(client), "tcp 127.0.0.1:%d", ntohs(in.sin_port));
	say("send", peer, 5, send(fd, "12345", 5, 0));
	say("recv", client, 100, recv(accepted, bytes, 100, 0));
	say("write", client, 3, write(accepted, "abc", 3));
	say("read", peer, 100, read(fd, bytes, 100));
	say("recv", peer, 100, recv(fd, bytes, 100, MSG_DONTWAIT));
	close(fd);
	close(accepted);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unlink("sock");
	CHECK(!bind(fd, (struct sockaddr *)&un, sizeof(un)) && !listen(fd, 5));
	accepted = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	say("connect", "unix sock", 0, connect(accepted, (struct sockaddr *)&un, sizeof(un)));
	say("write", "unix sock", 1, write(accepted, "x", 1));
	server = accept(fd, NULL, NULL);
	say("accept", "unix sock", 0, server);
	say("read", "unix sock", 9, read(server, bytes, 9));
	CHECK(!socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	say("send", "unix", 2, send(pair[0], "ab", 2, 0));
	fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&in6, sizeof(in6)))
		return;
	size = sizeof(in6);
	CHECK(!getsockname(fd, (struct sockaddr *)&in6, &size));
	snprintf(peer, sizeof(peer), "udp [::1]:%d", ntohs(in6.sin6_port));
	say("sendto", peer, 2, sendto(fd, "ab", 2, 0, (struct sockaddr *)&in6, sizeof(in6)));
	snprintf(peer, sizeof(peer), "udp local [::1]:%d", ntohs(in6.sin6_port));
	say("recvfrom", peer, 50, recvfrom(fd, bytes, 50, 0, NULL, NULL));
	/* An IPv4 client of an IPv6 server. */
	server = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	in6 = (struct sockaddr_in6){.sin6_family = AF_INET6};
	CHECK(!bind(server, (struct sockaddr *)&in6, sizeof(in6)) && !listen(server, 5));
	CHECK(!getsockname(server, (struct sockaddr *)&in6, &size));
	in.sin_port = in6.sin6_port;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(peer, sizeof(peer), "tcp 127.0.0.1:%d", ntohs(in.sin_port));
	say("connect", peer, 0, connect(fd, (struct sockaddr *)&in, sizeof(in)));
	snprintf(peer, sizeof(peer), "tcp local [::]:%d", ntohs(in.sin_port));
	accepted = accept(server, NULL, NULL);
	say("accept", peer, 0, accepted);
	size = sizeof(in);
	CHECK(!getsockname(fd, (struct sockaddr *)&in, &size));
	snprintf(peer, sizeof(peer), "tcp [::ffff:127.0.0.1]:%d", ntohs(in.sin_port));
	say("write", peer, 1, write(accepted, "x", 1));
}

enum { HANDLED = 200 };

static volatile sig_atomic_t handled;

static void handle(int signal)
{
	static char byte;
	int error = errno;

	(void)signal;
	/* If a handler takes longer than the time between signals, only handlers run. Without this
	 * limit, the program would run out of descriptors. */
	if (handled == HANDLED)
		return;
	handled++;
	CHECK(read(open("/dev/zero", O_RDONLY | O_CLOEXEC), &byte, 1) == 1);
	nanosleep(&(struct timespec){0, 1}, NULL);
	errno = error;
}

/* Signal handlers that make calls that wait interrupt other calls that wait. */
static void signals(void)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
	struct itimerval tick = {{0, 200}, {0, 200}};
	char bytes[16];
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &tick, NULL);
	while (handled < HANDLED) {
		errno = 7;
		CHECK(read(fd, bytes, sizeof(bytes)) == sizeof(bytes) && errno == 7);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		if (handled > 100)
			closefrom(fd + 1);
	}
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
}

static int cancelled_pipe[2];
static _Atomic int cancelled_tid;

static void unlock(void *m)
{
	pthread_mutex_unlock(m);
}

static void *wait_forever(void *kind)
{
	char byte;

	cancelled_tid = own_tid();
	switch ((int)(intptr_t)kind) {
	case 0:
		CHECK(read(cancelled_pipe[0], &byte, 1) == 1);
		break;
	case 1:
		pthread_mutex_lock(&mutex);
		pthread_cleanup_push(unlock, &mutex);
		pthread_cond_wait(&condition, &mutex);
		pthread_cleanup_pop(0);
		break;
	case 2:
		sem_wait(&semaphore);
		break;
	case 3:
		sleep(1000);
		break;
	}
	return NULL;
}

/* Asks the thread itself to end. It does so in the next call that is a cancellation point. */
static void *take_free(void *unused)
{
	pthread_cancel(pthread_self());
	sem_wait(&semaphore);
	return unused;
}

static void cancels(void)
{
	pthread_t t;
	void *result;

	CHECK(!pipe(cancelled_pipe));
	sem_init(&semaphore, 0, 0);
	for (int kind = 0; kind < 4; kind++) {
		cancelled_tid = 0;
		CHECK(!pthread_create(&t, NULL, wait_forever, (void *)(intptr_t)kind));
		while (!cancelled_tid)
			pause_ms(1);
		while (!sleeps(cancelled_tid))
			pause_ms(1);
		CHECK(!pthread_cancel(t) && !pthread_join(t, &result) &&
		      result == PTHREAD_CANCELED);
	}
	/* Taking a semaphore that is free is a cancellation point, too. */
	sem_post(&semaphore);
	CHECK(!pthread_create(&t, NULL, take_free, NULL) && !pthread_join(t, &result) &&
	      result == PTHREAD_CANCELED);
	/* The cancelled pthread_cond_wait() took the mutex again, and its cleanup handler gave it back. */
	CHECK(!pthread_mutex_lock(&mutex) && !pthread_mutex_unlock(&mutex));
}

static sigjmp_buf place;
static _Atomic int jump_count;

static void jump(int signal)
{
	(void)signal;
	waits = false;
	jump_count++;
	siglongjmp(place, 1);
}

enum { JUMPS = 20 };

static void *interrupt(void *first)
{
	for (int i = 0; i < JUMPS; i++) {
		await_sleep();
		CHECK(!pthread_kill(*(pthread_t *)first, SIGALRM));
		while (jump_count <= i)
			pause_ms(1);
	}
	return NULL;
}

/* A signal handler leaves calls that wait, by siglongjmp(). */
static void jumps(void)
{
	static int count;
	pthread_t first = pthread_self(), t;
	int pair[2];
	char byte;

	main_tid = own_tid();
	CHECK(!pipe(pair));
	signal(SIGALRM, jump);
	CHECK(!pthread_create(&t, NULL, interrupt, &first));
	while (sigsetjmp(place, 1) ? ++count < JUMPS : true) {
		waits = true;
		CHECK(read(pair[0], &byte, 1) == 1);
	}
	CHECK(!pthread_join(t, NULL));
	CHECK(write(pair[1], "x", 1) == 1 && read(pair[0], &byte, 1) == 1);
}

static int read_some(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0 && read(fd, &byte, 1) == 1);
	return fd;
}

static int family(const char *self)
{
	pid_t child, next;
	int fd = read_some("/dev/zero");
	char byte;

	child = fork();
	if (!child) {
		CHECK(read(fd, &byte, 1) == 1);
		execl(self, self, "last", (char *)NULL);
		_exit(9);
	}
	CHECK(waitpid(child, NULL, 0) == child);
	child = vfork();
	if (!child) {
		close(fd);
		if (open("/dev/null", O_RDONLY) == fd && read(fd, &byte, 1) == 0)
			execl(self, self, "last", (char *)NULL);
		_exit(9);
	}
	/* The vfork child shared the memory of this process and has used the number fd for another
	 * file. This child is forked before this process makes another call that may wait. */
	next = fork();
	if (!next)
		_exit(read(fd, &byte, 1) != 1);
	CHECK(waitpid(child, NULL, 0) == child && waitpid(next, NULL, 0) == next);
	CHECK(read(fd, &byte, 1) == 1);
	return 0;
}

/* Calls mmap() by syscall(), which fails, or gives no memory that can be written, if any two arguments are swapped. */
static void pass_six_arguments(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *map = (char *)syscall(SYS_mmap, NULL, page, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);

	CHECK(map != MAP_FAILED);
	map[0] = 1;
	CHECK(!munmap(map, (size_t)page));
}

/* Closes descriptors in all possible ways, and uses their numbers again for other files. */
static void reuses(void)
{
	char byte;
	FILE *f;
	int fd, first;

	fd = first = read_some("/dev/zero");
	close(fd);
	CHECK(read_some("/dev/urandom") == first);
	syscall(SYS_close, fd);
	pass_six_arguments();
	CHECK(read_some("/proc/self/stat") == first);
	CHECK((f = fdopen(first, "re")) != NULL);
	fclose(f);
	CHECK(read_some("/dev/zero") == first);
	closefrom(first);
	CHECK(read_some("/proc/self/status") == first);
	close_range((unsigned int)first, ~0U, 0);
	CHECK(read_some("/dev/zero") == first);
	/* Closes and opens without a function of the C library. */
	raw_call(SYS_close, first, 0, 0);
	CHECK(raw_call(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY) == first);
	pause_ms(1);
	CHECK(read(fd, &byte, 1) == 1);
}

/* freopen() opens another file with the same descriptor. */
static void reopens(void)
{
	static const char *const paths[] = {"/dev/zero", "/dev/full"};
	FILE *f = fopen(paths[0], "re");
	char byte;

	for (int i = 0; i < 200; i++) {
		CHECK(f && read(fileno(f), &byte, 1) == 1);
		say("read", paths[i % 2], 1, 1);
		f = freopen(paths[(i + 1) % 2], "re", f);
	}
}

enum { RACERS = 4, RACES = 2000 };

/* Opens, reads and closes one file after the other, while other threads get the same numbers. */
static void *race(void *number)
{
	static const char *const paths[] = {"/dev/zero", "/dev/urandom", "/proc/version",
					    "/proc/uptime", "/proc/loadavg"};
	char byte;

	for (unsigned int i = 0; i < RACES; i++) {
		unsigned int which = (i * 7 + (unsigned int)(uintptr_t)number * 3) % 5;
		int fd = open(paths[which], O_RDONLY | O_CLOEXEC);

		CHECK(fd >= 0 && read(fd, &byte, 1) == 1);
		if (i % 3 == 0)
			CHECK(dup2(fd, 100 + (int)(uintptr_t)number) >= 0 &&
			      pread(100 + (int)(uintptr_t)number, &byte, 1, 0) == 1);
		close(fd);
	}
	return NULL;
}

static void races(void)
{
	pthread_t t[RACERS];

	for (uintptr_t i = 0; i < RACERS; i++)
		CHECK(!pthread_create(&t[i], NULL, race, (void *)i));
	for (int i = 0; i < RACERS; i++)
		CHECK(!pthread_join(t[i], NULL));
}

static void *return_at_once(void *argument)
{
	return argument;
}

/* Installs a seccomp filter that kills the process if the preloaded library makes one of the system
 * calls by which it looks up descriptors and threads. With a filter, it must not make them. */
static int restricts(bool is_by_syscall)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_readlinkat, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_statx, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpeername, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
	int fd = read_some("/dev/zero");
	pthread_t t;
	char byte;

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (is_by_syscall)
		CHECK(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
	else
		CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	CHECK(read(fd, &byte, 1) == 1);
	close(fd);
	CHECK(read_some("/dev/urandom") == fd);
	usleep(1);
	CHECK(!pthread_create(&t, NULL, return_at_once, NULL));
	while (pthread_tryjoin_np(t, NULL))
		pause_ms(1);
	return 0;
}

static int loads(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW);
	void (*function)(void);

	CHECK(handle);
	*(void **)&function = dlsym(handle, "waits");
	CHECK(function);
	function();
	dlclose(handle);
	return 0;
}

static void come(int signal)
{
	(void)signal;
}

static void others(void)
{
	struct timespec at;
	sigset_t set;
	int status;
	pid_t child;

	nanosleep(&(struct timespec){0, 2 * MS}, NULL);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){0, 3 * MS}, NULL);
	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec -= 1;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	at.tv_sec += 1001;
	signal(SIGALRM, come);
	setitimer(ITIMER_REAL, &(struct itimerval){{0, 1000}, {0, 1000}}, NULL);
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR);
	setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
	usleep(4000);
	sleep(0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR1);
	CHECK(!sigwait(&set, &status) && status == SIGUSR1);
	CHECK(sigtimedwait(&set, NULL, &(struct timespec){0, MS}) < 0);
	CHECK(system("exit 3") == 3 << 8);
	child = fork();
	if (!child)
		_exit(5);
	printf("%d\n", child);
	CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 5);
	CHECK(wait(NULL) == -1 && errno == ECHILD);
}

/* Uses 20 ms of processor time. Then prints pid, thread ID, the processor time of the thread, and
 * its time ready to run, as the kernel shows it (both in ns). */
static void spend(void)
{
	long runnable = -1, ns = 0;
	struct timespec t;
	FILE *f;

	while (ns < 20 * MS) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		ns = t.tv_sec * 1000000000 + t.tv_nsec;
	}
	f = fopen("/proc/thread-self/schedstat", "re");
	CHECK(f && fscanf(f, "%*d %ld", &runnable) == 1);
	fclose(f);
	printf("thread %d %d %ld %ld\n", getpid(), own_tid(), ns, runnable);
	fflush(stdout);
}

static _Atomic int spent_count;

static void *spend_and_end(void *how)
{
	spend();
	spent_count++;
	if (!strcmp(how, "exit"))
		pthread_exit(NULL);
	if (!strcmp(how, "wait"))
		for (;;)
			pause();
	return NULL;
}

static int spend_in_c(void *result)
{
	spend();
	return *(const int *)result;
}

/* Threads that end in different ways. Two of them are alive when the process ends. */
static void spend_in_threads(void)
{
	static const char *const ways[] = {"return", "exit", "wait", "wait", "wait"};
	pthread_t t[5];
	int result = -7;
	thrd_t c;

	for (int i = 0; i < 5; i++)
		CHECK(!pthread_create(&t[i], NULL, spend_and_end, (void *)ways[i]));
	CHECK(thrd_create(&c, spend_in_c, &result) == thrd_success);
	CHECK(thrd_join(c, &result) == thrd_success && result == -7);
	CHECK(!pthread_join(t[0], NULL) && !pthread_join(t[1], NULL));
	while (spent_count < 5)
		pause_ms(1);
	CHECK(!pthread_cancel(t[2]) && !pthread_join(t[2], NULL));
	spend();
}

static int spends(const char *self)
{
	for (int how = 0; how < 6; how++) {
		struct rusage usage;
		int status;
		pid_t child = fork();

		if (!child && how < 3)
			spend_in_threads();
		if (!child && how == 0)
			exit(0);
		if (!child && how == 1)
			_exit(0);
		if (!child && how == 2)
			quick_exit(0);
		if (!child && how == 3)
			usleep(1);
		if (!child)
			spend();
		if (!child && how == 3)
			execl(self, self, "last", (char *)NULL);
		if (!child && how == 4)
			_exit(0);
		if (!child)
			raise(SIGKILL);
		CHECK(wait4(child, &status, 0, &usage) == child);
		CHECK(how == 5 ? WIFSIGNALED(status) : status == 0);
		printf("process %d %ld\n", child,
		       (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
			       usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {{"locks", locks},	   {"files", files},	 {"sockets", sockets},
		     {"signals", signals}, {"cancels", cancels}, {"jumps", jumps},
		     {"reuses", reuses},   {"reopens", reopens}, {"races", races},
		     {"others", others}};
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(what, kinds[i].name))
			return kinds[i].run(), 0;
	if (!strcmp(what, "family"))
		return family(argv[0]);
	if (!strcmp(what, "last"))
		return read_some("/proc/self/stat") < 0;
	if (!strcmp(what, "restricts"))
		return restricts(argc > 2);
	if (!strcmp(what, "loads"))
		return loads(argv[2]);
	if (!strcmp(what, "spends"))
		return spends(argv[0]);
	return 2;
}
