/* SPDX-License-Identifier: MIT */
/*
 * What each descriptor of the process is open on, as text: the path of a file, or the address of a
 * socket's peer. A text is looked up when it is first needed, and kept in a table by descriptor
 * number. A number is used again after close(), so the wrappers of functions that close or make
 * descriptors remove the text. But a program can close a descriptor without calling a wrapper.
 * Therefore a text that was last checked more than some microseconds ago is compared with the file
 * again before it is used.
 *
 * Everything here is async-signal-safe, and takes no lock for which another thread waits.
 */
#ifndef PTRC_LIB_PRELOAD_DESCRIPTORS_H
#define PTRC_LIB_PRELOAD_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Longer texts are cut and end with "...". */
#define PTRC_DESCRIPTOR_TEXT_MAX 191

struct ptrc_descriptor {
	/* not ended by a null byte */
	char text[PTRC_DESCRIPTOR_TEXT_MAX + 1];
	/* length of the text; 0: it is not known what the descriptor is open on */
	uint8_t bytes;
	bool is_socket;
};

/* Stores what the descriptor is open on; d->bytes becomes 0 if that is unknown. */
void ptrc_descriptor_get(int fd, struct ptrc_descriptor *d);

/* Removes the texts of descriptors first to last from the table. */
void ptrc_descriptors_forget(unsigned int first, unsigned int last);
/* Removes the text of one descriptor; -1: none. */
static inline void ptrc_descriptor_forget(int fd)
{
	ptrc_descriptors_forget((unsigned int)fd, (unsigned int)fd);
}

/* The descriptor of a stdio stream, which may be NULL; -1: it has none. Does not change errno. */
int ptrc_descriptor_of(FILE *stream);

/* Stores the text of an address that the program has passed to connect() or sendto(), in the form
 * that ptrc_descriptor_get() has for a socket with this peer. d->bytes becomes 0 if the address
 * cannot be read. */
void ptrc_descriptor_get_peer(int fd, const void *address, size_t size, struct ptrc_descriptor *d);

/* Called when the process restricts its own system calls by seccomp: from now on this library makes
 * no system calls that the filter might punish, so it looks up no descriptor. Returns false if an
 * earlier call is in force. */
bool ptrc_descriptors_end(void);
/* Undoes ptrc_descriptors_end(). */
void ptrc_descriptors_resume(void);
/* Whether the library may make system calls to look up descriptors and other facts: no call of
 * ptrc_descriptors_end() is in force. */
bool ptrc_descriptors_are_known(void);

/* Stores a path that the program has passed to a function; d->bytes becomes 0 if it cannot be
 * read. */
void ptrc_program_path(const char *path, struct ptrc_descriptor *d);
/* Copies bytes at an address that the program has passed, which may be wrong. `size` is less than a
 * page. Returns false if they cannot be read. */
bool ptrc_program_bytes(const void *from, void *to, size_t size);

#endif
