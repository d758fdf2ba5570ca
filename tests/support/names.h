/* SPDX-License-Identifier: MIT */
/* Names objects of this user, apart from streams. */
#ifndef TESTS_NAMES_H
#define TESTS_NAMES_H

#include "lib/base/shmdir.h"
#include "lib/model/names.h"
#include "tests/support/harness.h"

/* The directory of this user's shared objects, once an object was made. */
static int names_dir = -1;

/* For ptrc_names_release(): no stream needs the names. */
static inline bool is_needed(int dirfd, uint32_t uid, uint64_t id)
{
	(void)dirfd, (void)uid, (void)id;
	return false;
}

/* A new object with the first `count` names of `from`. */
static inline struct ptrc_names copy_names(const struct ptrc_names_object *from, uint32_t count)
{
	struct ptrc_names n;

	if (names_dir < 0)
		CHECK_OK(ptrc_shmdir_open(geteuid(), true, &names_dir));
	CHECK_OK(ptrc_names_create(names_dir, geteuid(), from, count, NULL, &n));
	return n;
}

static inline struct ptrc_names make_names(void)
{
	return copy_names(NULL, 0);
}

/* Ends the use of the object, which is removed if nobody else uses it. */
static inline void drop_names(struct ptrc_names *n)
{
	ptrc_names_unmap(n);
	ptrc_names_release(names_dir, geteuid(), n->id, is_needed);
}

#endif
