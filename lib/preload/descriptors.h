/* SPDX-License-Identifier: MIT */
/*
 * The files and peers on which the descriptors of the process are open, as text: a path, an address.
 * A text is looked up when it is first needed, and kept in a table by descriptor number. A number is
 * used again after close(), so the wrappers of functions that close or make descriptors remove the
 * text. A program can also close a descriptor without any wrapper. Therefore a text that was last
 * checked more than some microseconds ago is compared with the file again before it is used.
 *
 * Everything here is async-signal-safe, and takes no lock for which another thread waits.
 */
#ifndef PTRC_LIB_PRELOAD_DESCRIPTORS_H
#define PTRC_LIB_PRELOAD_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longer texts are cut; they end with "..." then. */
#define PTRC_DESCRIPTOR_TEXT_MAX 191

struct ptrc_descriptor {
	/* The text has no null byte at its end. */
	char text[PTRC_DESCRIPTOR_TEXT_MAX + 1];
	/* 0: nothing is known. */
	uint8_t bytes;
	bool is_socket;
};

/* Stores what the descriptor is open on. */
void ptrc_descriptor_get(int fd, struct ptrc_descriptor *d);

/* Removes the texts of descriptors first to last from the table. */
void ptrc_descriptors_forget(unsigned int first, unsigned int last);
/* The same for one descriptor, which may be -1. */
static inline void ptrc_descriptor_forget(int fd)
{
	ptrc_descriptors_forget((unsigned int)fd, (unsigned int)fd);
}

/* Stores the address, which is an argument of connect() or sendto(), as ptrc_descriptor_get() would if
 * the socket had this peer. Nothing if the address cannot be read. */
void ptrc_descriptor_get_peer(int fd, const void *address, size_t size, struct ptrc_descriptor *d);

/* From now on no descriptor is looked up, because the process restricts its own system calls. Returns
 * whether descriptors were looked up until now. */
bool ptrc_descriptors_end(void);
/* Takes ptrc_descriptors_end() back. */
void ptrc_descriptors_resume(void);
/* Whether descriptors are looked up, and other questions may be asked by system calls. */
bool ptrc_descriptors_are_known(void);

/* Stores the path that the program passes to a function. No text if it cannot be read. */
void ptrc_program_path(const char *path, struct ptrc_descriptor *d);
/* Copies bytes of the program. Returns false if they are not readable. */
bool ptrc_program_bytes(const void *from, void *to, size_t size);

#endif
