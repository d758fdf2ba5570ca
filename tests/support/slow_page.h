/* SPDX-License-Identifier: MIT */
/*
 * A page of memory at whose first touch a thread stops until it is told to go on: an
 * event call whose data lie there is caught in the middle, without luck. Made with
 * userfaultfd; signals reach the thread that hangs there, and so does SIGKILL.
 *
 * The page belongs to the process that made it: a forked child finds zeros there.
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
	/* The thread that hung there last. */
	pid_t tid;
	/* How often it was made slow, and filled: a message left over from one round
	 * is not taken for one of the next. */
	_Atomic uint32_t armed;
	_Atomic uint32_t filled;
};

/* Skips the case where the system has no userfaultfd for us. */
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

/* Does a thread hang at the page, made slow again since it was last filled, that did not hang there
 * at the last look? */
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

/* Returns when there is one. */
static inline void slow_page_wait(struct slow_page *page)
{
	CHECK_EVENTUALLY(slow_page_is_touched(page));
}

/* Gives the page these contents and lets everybody go on. */
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

/* Makes it slow again, once it has been filled. */
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
