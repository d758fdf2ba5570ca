/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "lib/preload/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "lib/base/atomic.h"
#include "lib/base/common.h"
#include "lib/base/copy.h"
#include "lib/base/digits.h"
#include "lib/base/file.h"
#include "lib/base/sys.h"
#include "lib/stream/clock.h"

enum {
	CHUNK_SLOTS = 64,
	CHUNKS = 4096,
	DESCRIPTORS = CHUNK_SLOTS * CHUNKS,
};

/*
 * The state of a slot of the table has four parts: a number that changes with each change of the
 * slot (high 32 bits), IS_VALID, IS_STALE, and the pid of the process one of whose threads is
 * filling the slot, or 0. A child that is forked meanwhile finds the pid of its parent here, and
 * may fill the slot itself.
 */
#define IS_VALID (UINT64_C(1) << 31)
/* The descriptor was closed while the slot was being filled. */
#define IS_STALE (UINT64_C(1) << 30)
#define PID_MASK (IS_STALE - 1)
#define CHANGE (UINT64_C(1) << 32)

struct slot {
	_Atomic uint64_t state;
	/* the processor's counter when the text was last known to be right */
	_Atomic uint64_t checked;
	struct identity {
		uint64_t device, inode, birth;
		/* Whether the text may change although the file is the same: a socket without a
		 * peer may get one, and some files have no inode of their own. */
		bool may_change;
	} file;
	struct ptrc_descriptor about;
};

PTRC_ASSERT_SIZE(struct slot, 248);

static struct slot *_Atomic chunks[CHUNKS];
static _Atomic bool is_ended;

/* A text is used for this many nanoseconds before the file is checked again. */
#define FRESH_NS 20000

/* FRESH_NS in ticks of the processor's counter. Until its rate is measured, a low rate is assumed,
 * 1 GHz, or 25 MHz on aarch64, so that a text is not used for too long. */
#if defined(__x86_64__)
static _Atomic uint64_t fresh_ticks = FRESH_NS;
#else
static _Atomic uint64_t fresh_ticks = FRESH_NS / 40;
#endif

/* Measures the rate of the counter, from the first call to a call at least a millisecond later. */
static PTRC_COLD void measure_ticks(uint64_t now)
{
	static _Atomic uint64_t first, first_ns;
	static _Atomic bool is_measured;
	struct timespec t;
	uint64_t ns, begun_ns, before = 0;

	if (ptrc_load_relaxed(&is_measured) || ptrc_sys(SYS_clock_gettime, CLOCK_MONOTONIC, &t))
		return;
	ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	if (ptrc_cas(&first, &before, now)) {
		ptrc_store_release(&first_ns, ns);
		return;
	}
	before = ptrc_load_relaxed(&first);
	begun_ns = ptrc_load_acquire(&first_ns);
	ns -= begun_ns;
	/* If begun_ns is 0, the thread of the first call has not stored first_ns yet. A short time
	 * gives no exact rate. */
	if (!begun_ns || ns < 1000000)
		return;
	ptrc_store_relaxed(&fresh_ticks, (now - before) * FRESH_NS / ns);
	ptrc_store_relaxed(&is_measured, true);
}

/* Whether the 8 bytes at this address can be read. Calls rt_sigprocmask() with these bytes as the
 * new mask and -1, which is invalid, as `how`: the kernel copies the mask first, and fails with
 * EFAULT if it cannot, otherwise with EINVAL. */
static bool is_readable(uintptr_t at)
{
	return ptrc_sys(SYS_rt_sigprocmask, -1, at, 0, sizeof(uint64_t)) == -EINVAL;
}

bool ptrc_program_bytes(const void *from, void *to, size_t size)
{
	uintptr_t first = (uintptr_t)from & ~(uintptr_t)7,
		  last = ((uintptr_t)from + size - 1) & ~(uintptr_t)7;

	/* `size` is less than a page, so there are two pages at most. */
	if (!from || is_ended || !is_readable(first) ||
	    (first / 4096 != last / 4096 && !is_readable(last)))
		return false;
	memcpy(to, from, size);
	return true;
}

static void put_text(struct ptrc_descriptor *d, const char *text, size_t size)
{
	size_t room = PTRC_DESCRIPTOR_TEXT_MAX - d->bytes, n = size < room ? size : room;

	memcpy(d->text + d->bytes, text, n);
	d->bytes = (uint8_t)(d->bytes + n);
	if (n < size)
		memcpy(d->text + PTRC_DESCRIPTOR_TEXT_MAX - 3, "...", 3);
}

void ptrc_program_path(const char *path, struct ptrc_descriptor *d)
{
	size_t n = 0;

	d->bytes = 0;
	if (!path || is_ended)
		return;
	/* Each page of the path is checked when its first byte is needed. */
	for (uintptr_t at = (uintptr_t)path; n < sizeof(d->text); n++, at++)
		if (((n == 0 || at % 4096 == 0) && !is_readable(at & ~(uintptr_t)7)) || !path[n])
			break;
	put_text(d, path, n);
}

static void put(struct ptrc_descriptor *d, const char *text)
{
	put_text(d, text, strlen(text));
}

static void put_number(struct ptrc_descriptor *d, uint64_t n)
{
	char digits[20];

	put_text(d, digits, (size_t)(ptrc_digits_put(digits, n) - digits));
}

static void put_hex(struct ptrc_descriptor *d, unsigned int n)
{
	char digits[4];
	size_t at = sizeof(digits);

	do
		digits[--at] = "0123456789abcdef"[n & 15];
	while ((n >>= 4) && at);
	put_text(d, digits + at, sizeof(digits) - at);
}

static void put_ipv4(struct ptrc_descriptor *d, const uint8_t bytes[4])
{
	for (int i = 0; i < 4; i++) {
		put(d, i ? "." : "");
		put_number(d, bytes[i]);
	}
}

/* Appends an IPv6 address in the form of RFC 5952: the longest run of two or more zero groups is
 * written as two colons, and an IPv4-mapped address ends in the form of IPv4. */
static void put_ipv6(struct ptrc_descriptor *d, const uint8_t bytes[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	unsigned int groups[8], start = 8, run = 1;

	if (!memcmp(bytes, mapped, sizeof(mapped))) {
		put(d, "::ffff:");
		put_ipv4(d, bytes + sizeof(mapped));
		return;
	}
	for (unsigned int i = 0; i < 8; i++)
		groups[i] = (unsigned int)bytes[2 * i] << 8 | bytes[2 * i + 1];
	for (unsigned int i = 0, n; i < 8; i += n + 1) {
		for (n = 0; i + n < 8 && !groups[i + n];)
			n++;
		if (n > run) {
			start = i;
			run = n;
		}
	}
	for (unsigned int i = 0; i < 8; i++) {
		if (i == start) {
			put(d, "::");
			i += run - 1;
			continue;
		}
		if (i && i != start + run)
			put(d, ":");
		put_hex(d, groups[i]);
	}
}

struct address {
	socklen_t size;
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
		uint8_t bytes[sizeof(struct sockaddr_un)];
	};
};

static const char *protocol_of(int fd)
{
	int protocol;
	socklen_t size = sizeof(protocol);

	if (ptrc_sys(SYS_getsockopt, fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size))
		return "ip";
	switch (protocol) {
	case IPPROTO_TCP:
		return "tcp";
	case IPPROTO_UDP:
		return "udp";
	case 262: /* IPPROTO_MPTCP */
		return "mptcp";
	case IPPROTO_SCTP:
		return "sctp";
	default:
		return "ip";
	}
}

static void put_path(struct ptrc_descriptor *d, const struct sockaddr_un *un, size_t size)
{
	size_t n = size - offsetof(struct sockaddr_un, sun_path);

	if (un->sun_path[0]) {
		put_text(d, un->sun_path, strnlen(un->sun_path, n));
		return;
	}
	/* An abstract name of a unix socket. Its bytes may have any value. */
	put(d, "@");
	for (size_t i = 1; i < n; i++)
		put_text(d, un->sun_path[i] > ' ' ? &un->sun_path[i] : "?", 1);
}

static bool has_name(const struct address *a)
{
	return a->any.sa_family == AF_UNIX && a->size > offsetof(struct sockaddr_un, sun_path);
}

/* Appends the text for a socket. `a` is the address of its peer or, if is_local, its own
 * address. */
static void put_address(struct ptrc_descriptor *d, int fd, const struct address *a, bool is_local)
{
	if (a->any.sa_family == AF_UNIX) {
		put(d, has_name(a) ? "unix " : "unix");
		if (has_name(a))
			put_path(d, &a->un, a->size);
	} else if (a->any.sa_family == AF_INET && a->size >= sizeof(a->in)) {
		put(d, protocol_of(fd));
		put(d, is_local ? " local " : " ");
		put_ipv4(d, (const uint8_t *)&a->in.sin_addr);
		put(d, ":");
		put_number(d, ntohs(a->in.sin_port));
	} else if (a->any.sa_family == AF_INET6 &&
		   a->size >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
		put(d, protocol_of(fd));
		put(d, is_local ? " local [" : " [");
		put_ipv6(d, a->in6.sin6_addr.s6_addr);
		put(d, "]:");
		put_number(d, ntohs(a->in6.sin6_port));
	} else if (a->any.sa_family == AF_NETLINK) {
		put(d, "netlink");
	} else {
		put(d, "socket");
	}
}

static bool get_address(long call, int fd, struct address *a)
{
	a->size = sizeof(a->bytes);
	memset(a->bytes, 0, sizeof(a->bytes));
	if (ptrc_sys(call, fd, a->bytes, &a->size))
		return false;
	if (a->size > sizeof(a->bytes))
		a->size = sizeof(a->bytes);
	return true;
}

/* Appends the text of a socket. Returns whether the socket has a peer, so that its text does not
 * change any more. */
static bool put_socket(struct ptrc_descriptor *d, int fd)
{
	struct address a;
	bool has_peer;

	d->is_socket = true;
	has_peer = get_address(SYS_getpeername, fd, &a);
	/* The peer of an accepted unix connection usually has no name; then this socket's own name
	 * is shown. */
	if (has_peer && (a.any.sa_family != AF_UNIX || has_name(&a)))
		put_address(d, fd, &a, false);
	else if (get_address(SYS_getsockname, fd, &a))
		put_address(d, fd, &a, true);
	else
		put(d, "socket");
	return has_peer;
}

static void put_link(struct ptrc_descriptor *d, int fd)
{
	char path[32] = "/proc/self/fd/", target[PTRC_DESCRIPTOR_TEXT_MAX + 1];
	long n;

	*ptrc_digits_put(path + 14, (uint64_t)fd) = '\0';
	n = ptrc_sys(SYS_readlinkat, AT_FDCWD, path, target, sizeof(target));
	if (n > 0)
		put_text(d, target, (size_t)n);
}

static bool get_file(int fd, struct statx *file)
{
	return !ptrc_sys(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO | STATX_BTIME,
			 file);
}

static uint64_t device_of(const struct statx *file)
{
	return (uint64_t)file->stx_dev_major << 32 | file->stx_dev_minor;
}

/* The time at which the file was created, in nanoseconds; it distinguishes a file from an earlier
 * one with the same inode number. 0: the file system does not store it. */
static uint64_t birth_of(const struct statx *file)
{
	return file->stx_mask & STATX_BTIME
		       ? (uint64_t)file->stx_btime.tv_sec * 1000000000 + file->stx_btime.tv_nsec
		       : 0;
}

/* Looks the descriptor up, and fills in s->file and s->about. Leaves s->about.bytes 0 if that
 * fails. */
static void look_up(int fd, struct slot *s)
{
	struct statx file;

	s->about.bytes = 0;
	s->about.is_socket = false;
	s->file.may_change = true;
	if (!get_file(fd, &file))
		return;
	s->file.device = device_of(&file);
	s->file.inode = file.stx_ino;
	s->file.birth = birth_of(&file);
	if ((file.stx_mode & S_IFMT) == S_IFSOCK) {
		s->file.may_change = !put_socket(&s->about, fd);
		return;
	}
	put_link(&s->about, fd);
	s->file.may_change = s->about.bytes >= 10 && !memcmp(s->about.text, "anon_inode", 10);
}

static struct slot *find(unsigned int fd)
{
	struct slot *chunk = fd < DESCRIPTORS ? ptrc_load_acquire(&chunks[fd / CHUNK_SLOTS]) : NULL;

	return chunk ? &chunk[fd % CHUNK_SLOTS] : NULL;
}

/* Returns the slot of the descriptor, and allocates it if necessary. NULL: the number is too large,
 * or there is no memory. */
static struct slot *make(unsigned int fd)
{
	struct slot *s = find(fd), *chunk, *other = NULL;

	if (s || fd >= DESCRIPTORS)
		return s;
	chunk = ptrc_file_zeros(CHUNK_SLOTS * sizeof(*chunk));
	if (!chunk)
		return NULL;
	if (!ptrc_cas(&chunks[fd / CHUNK_SLOTS], &other, chunk)) {
		ptrc_sys(SYS_munmap, chunk, CHUNK_SLOTS * sizeof(*chunk));
		chunk = other;
	}
	return &chunk[fd % CHUNK_SLOTS];
}

/* Looks the descriptor up, and keeps the result in the slot unless another thread, or a call that a
 * signal handler has interrupted, is filling it. */
static void fill(int fd, struct slot *s, struct ptrc_descriptor *d)
{
	uint64_t state = ptrc_load_acquire(&s->state), pid = (uint64_t)ptrc_sys_getpid(), mine;
	struct slot found;
	PTRC_NO_SIGNALS();

	mine = ((state & ~(CHANGE - 1)) + CHANGE) | pid;
	if ((state & PID_MASK) == pid || !ptrc_cas(&s->state, &state, mine)) {
		look_up(fd, &found);
		*d = found.about;
	} else {
		look_up(fd, s);
		*d = s->about;
		ptrc_store_relaxed(&s->checked, ptrc_counter());
		state = mine;
		/* Other threads may only set IS_STALE meanwhile. */
		while (!ptrc_cas(&s->state, &state,
				 ((state & ~(CHANGE - 1)) + CHANGE) |
					 (state & IS_STALE ? 0 : IS_VALID)))
			;
	}
}

/* Whether the descriptor is still open on the file `old`, and its text is still right. */
static bool is_same(int fd, const struct identity *old, bool is_socket)
{
	struct statx file;
	struct address a;

	if (!get_file(fd, &file) || file.stx_ino != old->inode || device_of(&file) != old->device ||
	    birth_of(&file) != old->birth)
		return false;
	return !old->may_change || (is_socket && !get_address(SYS_getpeername, fd, &a));
}

void ptrc_descriptor_get(int fd, struct ptrc_descriptor *d)
{
	struct slot *s, found;
	struct identity file;
	uint64_t state, now, age;

	d->is_socket = false;
	d->bytes = 0;
	if (fd < 0 || is_ended)
		return;
	s = make((unsigned int)fd);
	if (!s) {
		look_up(fd, &found);
		*d = found.about;
		return;
	}
	state = ptrc_load_acquire(&s->state);
	if (state & IS_VALID) {
		now = ptrc_counter();
		age = now - ptrc_load_relaxed(&s->checked);
		d->is_socket = s->about.is_socket;
		d->bytes = s->about.bytes;
		ptrc_copy(d->text, s->about.text, d->bytes);
		file = s->file;
		/* The copies are consistent if the slot has not changed while they were made. */
		atomic_thread_fence(memory_order_acquire);
		if (PTRC_LIKELY(ptrc_load_relaxed(&s->state) == state)) {
			if (PTRC_LIKELY(age < ptrc_load_relaxed(&fresh_ticks)))
				return;
			measure_ticks(now);
			if (is_same(fd, &file, d->is_socket)) {
				ptrc_store_relaxed(&s->checked, now);
				return;
			}
		}
	}
	fill(fd, s, d);
}

void ptrc_descriptors_forget(unsigned int first, unsigned int last)
{
	if (last >= DESCRIPTORS)
		last = DESCRIPTORS - 1;
	for (unsigned int fd = first; fd <= last; fd++) {
		struct slot *s = find(fd);
		uint64_t state;

		if (!s) {
			fd |= CHUNK_SLOTS - 1;
			continue;
		}
		state = ptrc_load_acquire(&s->state);
		while (state & (IS_VALID | PID_MASK) &&
		       !ptrc_cas(&s->state, &state,
				 state & PID_MASK ? state | IS_STALE
						  : (state & ~(CHANGE - 1)) + CHANGE))
			;
	}
}

int ptrc_descriptor_of(FILE *stream)
{
	int error = errno, fd = stream ? fileno(stream) : -1;

	errno = error;
	return fd;
}

void ptrc_descriptor_get_peer(int fd, const void *address, size_t size, struct ptrc_descriptor *d)
{
	struct address a;

	d->is_socket = true;
	d->bytes = 0;
	if (is_ended || size < sizeof(sa_family_t))
		return;
	a.size = (socklen_t)(size < sizeof(a.bytes) ? size : sizeof(a.bytes));
	memset(a.bytes, 0, sizeof(a.bytes));
	if (ptrc_program_bytes(address, a.bytes, a.size))
		put_address(d, fd, &a, false);
}

bool ptrc_descriptors_end(void)
{
	return !atomic_exchange_explicit(&is_ended, true, memory_order_relaxed);
}

void ptrc_descriptors_resume(void)
{
	ptrc_store_relaxed(&is_ended, false);
}

bool ptrc_descriptors_are_known(void)
{
	return !ptrc_load_relaxed(&is_ended);
}
