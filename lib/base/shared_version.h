/* SPDX-License-Identifier: MIT */
/*
 * The version of the layout of the shared memory: of the objects s.<id> (streams) and n.<id> (event
 * names), which processes with different builds of the library share. The creator of an object
 * gives it the lowest version that describes its layout. A process uses an object only if it knows
 * the version. Otherwise it refuses the object with EPROTO, and records the object's version and
 * its own, which messages show. HACKING.md ("A stable thing") says when the number is raised; all
 * releases 1.x create and use objects of version 1.
 *
 * Three kinds of objects have no version: p.<pid> (page: which streams trace a process), bells (by
 * which processes notice that they are traced) and the links u.<stream>.<pid> (notes of processes
 * that could not be traced). A process needs them before it has found a stream. Their layouts never
 * change; additions use reserved bytes, which are 0.
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

/* Packs two versions into one number, for messages: the low byte is `object`, the version of an
 * object that was refused (at most 0xff); above it comes the version of this library. */
static inline uint32_t ptrc_shared_versions(uint32_t object)
{
	return PTRC_SHARED_VERSION << 8 | (object < 0xff ? object : 0xff);
}
_Static_assert(PTRC_SHARED_VERSION <= 0xff, "a version fits");

/* A refusal says in 32 bits why a process has not mapped a stream: the low 16 bits are the error
 * number; the upper 16 bits are the result of ptrc_shared_versions() for EPROTO, otherwise 0. */
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
