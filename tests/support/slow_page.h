/* SPDX-License-Identifier: MIT */
/*
 * A page of memory at whose first access a thread hangs until slow_page_fill(). If the data of an
 * event is in the page, a test can rely on the event call hanging in the middle. The page uses
 * userfaultfd. Signals, also SIGKILL, reach the thread that hangs.
 *
 * Only threads of the process that made the page hang: for a forked child, the page is filled with
 * zeros.
 */
#ifndef TESTS_SLOW_PAGE_H
#define TESTS_SLOW_PAGE_H

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/support/harness.h"

#define SLOW_PAGE_BYTES 4096U

struct slow_page {
	unsigned char *data;
	int fd;
	/* The thread that hung last, as slow_page_is_touched() has seen it. */
	pid_t tid;
	/* How often the page was made slow, and how often it was filled. If the numbers are equal,
	 * the page is not slow, and a message of userfaultfd is about a thread that hung before the
	 * page was filled. */
	_Atomic uint32_t armed;
	_Atomic uint32_t filled;
};

/* Makes a slow page. Skips the case if this process may not use userfaultfd. */
static inline struct slow_page slow_page_make(void)
{
	struct slow_page page = {.armed = 1};
	struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_THREAD_ID};
	struct uffdio_register area = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	void *data;

#ifdef UFFD_USER_MODE_ONLY
	page.fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
#else
	page.fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
#endif
	if (page.fd < 0 || ioctl(page.fd, UFFDIO_API, &api) < 0)
		SKIP("no userfaultfd");
	data = mmap(NULL, SLOW_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	CHECK(data != MAP_FAILED);
	page.data = (unsigned char *)data;
	area.range.start = (uintptr_t)page.data;
	area.range.len = SLOW_PAGE_BYTES;
	CHECK_SYS(ioctl(page.fd, UFFDIO_REGISTER, &area));
	return page;
}

/* Whether a thread hangs at the page that did not hang there at the last call. False if the page
 * was filled and not made slow again since. */
static inline bool slow_page_is_touched(struct slow_page *page)
{
	struct uffd_msg message;
	bool is_touched = false;

	if (atomic_load(&page->armed) == atomic_load(&page->filled))
		return false;
	while (read(page->fd, &message, sizeof(message)) == (ssize_t)sizeof(message)) {
		page->tid = (pid_t)message.arg.pagefault.feat.ptid;
		is_touched = true;
	}
	return is_touched;
}

/* Waits until a thread hangs at the page. */
static inline void slow_page_wait(struct slow_page *page)
{
	CHECK_EVENTUALLY(slow_page_is_touched(page));
}

/* Fills the page with `bytes` and zeros, and lets all threads that hang there go on. */
static inline void slow_page_fill(struct slow_page *page, const void *bytes, size_t len)
{
	static unsigned char contents[SLOW_PAGE_BYTES] __attribute__((aligned(SLOW_PAGE_BYTES)));
	struct uffdio_copy copy = {
		.dst = (uintptr_t)page->data, .src = (uintptr_t)contents, .len = SLOW_PAGE_BYTES};

	memset(contents, 0, sizeof(contents));
	memcpy(contents, bytes, len);
	while (ioctl(page->fd, UFFDIO_COPY, &copy) < 0) {
		if (errno == EEXIST)
			break;
		CHECK(errno == EAGAIN);
	}
	atomic_fetch_add(&page->filled, 1);
}

/* Waits until the page was filled, and makes it slow again. */
static inline void slow_page_rearm(struct slow_page *page)
{
	struct uffd_msg message;

	while (atomic_load(&page->filled) < atomic_load(&page->armed))
		sched_yield();
	CHECK_SYS(madvise(page->data, SLOW_PAGE_BYTES, MADV_DONTNEED));
	while (read(page->fd, &message, sizeof(message)) == (ssize_t)sizeof(message))
		;
	atomic_fetch_add(&page->armed, 1);
}

#endif
