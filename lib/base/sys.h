/* SPDX-License-Identifier: MIT */
/*
 * Raw system calls, without errno, cancellation points or locks. They are for signal handlers, for
 * children that share their parent's memory, and for the keeper, which has no C library. Each call
 * returns its result or a negative error number.
 */
#ifndef PTRC_LIB_BASE_SYS_H
#define PTRC_LIB_BASE_SYS_H

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "lib/base/common.h"

/* Older C libraries do not define these. */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

#if defined(__x86_64__)
static inline long ptrc_sys6(long n, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
static inline long ptrc_sys6(long n, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "posixtrace knows x86-64 and aarch64 only"
#endif

#define ptrc_sys(n, ...) PTRC_SYS_PICK(__VA_ARGS__, 6, 5, 4, 3, 2, 1)(n, __VA_ARGS__)
#define PTRC_SYS_PICK(a, b, c, d, e, f, k, ...) PTRC_SYS_NAME(k)
#define PTRC_SYS_NAME(k) ptrc_sys_##k
#define ptrc_sys_1(n, a) ptrc_sys6(n, (long)(a), 0, 0, 0, 0, 0)
#define ptrc_sys_2(n, a, b) ptrc_sys6(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define ptrc_sys_3(n, a, b, c) ptrc_sys6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define ptrc_sys_4(n, a, b, c, d) ptrc_sys6(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define ptrc_sys_5(n, a, b, c, d, e) \
	ptrc_sys6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define ptrc_sys_6(n, a, b, c, d, e, f) \
	ptrc_sys6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* Repeats the call while a signal interrupts it. */
#define ptrc_sys_retry(n, ...)                           \
	({                                               \
		long ret_;                               \
                                                         \
		do                                       \
			ret_ = ptrc_sys(n, __VA_ARGS__); \
		while (ret_ == -EINTR);                  \
		ret_;                                    \
	})

static inline int ptrc_sys_getpid(void)
{
	return (int)ptrc_sys6(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static inline int ptrc_sys_gettid(void)
{
	return (int)ptrc_sys6(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

static inline uint32_t ptrc_sys_geteuid(void)
{
	return (uint32_t)ptrc_sys6(SYS_geteuid, 0, 0, 0, 0, 0, 0);
}

/* Blocks all signals. *old becomes the previous mask, in the kernel's form. */
static inline void ptrc_sys_block_signals(uint64_t *old)
{
	uint64_t all = ~UINT64_C(0);

	ptrc_sys(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &all, old, sizeof(all));
}

static inline void ptrc_sys_restore_signals(const uint64_t *old)
{
	ptrc_sys(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, old, 0, sizeof(*old));
}

static inline uint64_t ptrc_sys_signals_blocked(void)
{
	uint64_t old;

	ptrc_sys_block_signals(&old);
	return old;
}

/* All signals are blocked up to the end of the block. */
#define PTRC_NO_SIGNALS() \
	PTRC_CLEANUP(ptrc_sys_restore_signals) const uint64_t signals_ = ptrc_sys_signals_blocked()

static inline int ptrc_sys_is_error(long ret)
{
	return ret < 0 && ret > -4096;
}

#endif
