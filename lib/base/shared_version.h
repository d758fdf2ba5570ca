/* SPDX-License-Identifier: MIT */
/*
 * The version of the shared memory: of the objects s.<id> (streams) and n.<id> (names), which processes with
 * different builds of the library share. Each object has the lowest version that describes it. A process uses an
 * object if it knows its version, and otherwise refuses it with EPROTO, so that the message can name both
 * versions. HACKING.md ("A stable thing") says when the number is raised; through all releases 1.x objects of
 * version 1 are made and used.
 *
 * Pages p.<pid>, bells and the links u.<stream>.<pid> have no version, because a process meets them before it
 * knows anything of the others: their layouts never change, and what is added takes reserved room that is 0.
 */
#ifndef PTRC_LIB_BASE_SHARED_VERSION_H
#define PTRC_LIB_BASE_SHARED_VERSION_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#define PTRC_SHARED_VERSION 1U

static inline bool ptrc_shared_version_is_known(uint32_t version)
{
	return version >= 1 && version <= PTRC_SHARED_VERSION;
}

/* For messages, two versions in one number: that of this library << 8, and that of an object which it has
 * refused. */
static inline uint32_t ptrc_shared_versions(uint32_t object)
{
	return PTRC_SHARED_VERSION << 8 | (object < 0xff ? object : 0xff);
}
_Static_assert(PTRC_SHARED_VERSION <= 0xff, "a version fits");

/* Why a process has not mapped a stream, in one word: the error number and, if that is EPROTO, the two versions
 * above it. */
#define PTRC_REFUSAL_VERSIONS_SHIFT 16
static inline uint32_t ptrc_refusal(int error, uint32_t object)
{
	return (uint32_t)error |
	       (error == EPROTO ? ptrc_shared_versions(object) << PTRC_REFUSAL_VERSIONS_SHIFT : 0);
}
static inline int ptrc_refusal_error(uint32_t refusal)
{
	return refusal & ((1U << PTRC_REFUSAL_VERSIONS_SHIFT) - 1);
}
static inline uint32_t ptrc_refusal_versions(uint32_t refusal)
{
	return refusal >> PTRC_REFUSAL_VERSIONS_SHIFT;
}

#endif
