/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/process/claim.h"

#include <sys/stat.h>

#include "lib/base/file.h"
#include "lib/base/procfs.h"
#include "lib/stream/untraced.h"

/* The ctime of a file may be too early by at most this many nanoseconds, because the kernel stamps files with
 * the time of its last timer tick (10 ms at HZ=100). */
#define TICK_NS 10000000

struct claim {
	struct ptrc_page_place place;
	struct ptrc_stream_header *header;
};

/* Whether process `pid` is the stream's target, or has the stream in its page. `pid` is the process
 * that could not be traced (is_itself) or one of its ancestors. For an ancestor, returns false if
 * its descendants do not inherit the stream. */
static bool traces(const struct claim *c, int pid, bool is_itself)
{
	const struct ptrc_stream_header *h = c->header;
	struct ptrc_page_place place = c->place;
	struct ptrc_page_entry e;
	struct ptrc_page page;

	if (!is_itself && !h->is_inherited)
		return false;
	if (pid == h->target_pid)
		return true;
	place.pid = pid;
	if (ptrc_page_copy(&place, &page))
		return false;
	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
		if (ptrc_page_slot(&page, i, &e) && e.stream_id == h->id &&
		    (is_itself || (e.flags & PTRC_PAGE_SLOT_INHERITED)))
			return true;
	return false;
}

/* Whether the stream traces the process `itself` or one of its ancestors, which are in the word. */
static bool is_ours(const struct claim *c, const struct ptrc_untraced_word *word, int itself)
{
	bool has_all = word->has_all;
	struct ptrc_procfs_stat st;
	int pid = 0;

	for (uint32_t i = 0; i < word->pid_count; i++) {
		pid = word->pids[i];
		if (traces(c, pid, pid == itself))
			return true;
	}
	/* If the process could not list all its ancestors, the last ancestor that it listed may still live. So
	 * the search continues with the ancestors of that one. */
	for (uint32_t i = 0; pid > 0 && !has_all && i < PTRC_UNTRACED_PIDS; i++) {
		if (ptrc_procfs_stat(pid, &st))
			break;
		pid = st.ppid;
		has_all = pid == 0;
		if (pid > 0 && traces(c, pid, false))
			return true;
	}
	return !has_all && c->header->is_inherited;
}

/* Whether the note, a link left by a process that could not be traced, is younger than the stream. */
static bool is_later(const struct claim *c, const struct stat *st)
{
	const struct ptrc_attr *a = &c->header->attr;
	int64_t ns = st->st_ctim.tv_nsec + TICK_NS, sec = st->st_ctim.tv_sec + ns / 1000000000;

	return sec > a->createtime_sec ||
	       (sec == a->createtime_sec && ns % 1000000000 >= a->createtime_nsec);
}

static void visit(const char *name, void *arg)
{
	const struct claim *c = arg;
	struct ptrc_untraced_word word;
	uint64_t stream_id;
	struct stat st;
	int pid;

	if (ptrc_untraced_parse(name, &stream_id, &pid) && stream_id == 0 &&
	    ptrc_file_stat_at(c->place.dirfd, name, &st) == 0 && is_later(c, &st) &&
	    ptrc_untraced_read(c->place.dirfd, name, &word) && is_ours(c, &word, pid))
		ptrc_untraced_put(c->place.dirfd, c->header, pid, word.error);
}

void ptrc_claim_untraced(const struct ptrc_page_place *place, struct ptrc_stream_header *h)
{
	struct claim c = {*place, h};

	ptrc_shmdir_for_each(place->dirfd, visit, &c);
}
