/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <poll.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the linker's option --wrap calls the functions of the C library, and ours in their
 * place. */
void __real_exit(int) __attribute__((noreturn));
void __wrap_exit(int) __attribute__((noreturn));
ssize_t __real_write(int, const void *, size_t);
ssize_t __wrap_write(int, const void *, size_t);
int __real_poll(struct pollfd *, nfds_t, int);
int __wrap_poll(struct pollfd *, nfds_t, int);

/* Of the sanitizer, if there is one. */
int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void *, size_t),
					      void (*)(const volatile void *))
	__attribute__((weak));

/* The guarded code that is running; null outside. */
static struct fuzz_outcome *outcome;
static jmp_buf back;

void __wrap_exit(int status)
{
	if (!outcome)
		__real_exit(status);
	outcome->has_exited = true;
	outcome->status = status;
	longjmp(back, 1);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
	size_t room, taken;

	if (!outcome || fd != STDERR_FILENO)
		return __real_write(fd, bytes, size);
	room = sizeof(outcome->said) - 1 - outcome->said_size;
	taken = size < room ? size : room;
	memcpy(outcome->said + outcome->said_size, bytes, taken);
	outcome->said_size += taken;
	return (ssize_t)size;
}

/* Whatever shall come has been written into the socket before the code looks for it. */
int __wrap_poll(struct pollfd *p, nfds_t count, int ms)
{
	return __real_poll(p, count, outcome ? 0 : ms);
}

/* ---- what guarded code has not freed ---- */

/* A hash table with open addressing. A place whose memory has been freed holds `gone`. */
enum { PLACES = 1 << 16 };
static void *blocks[PLACES];
static unsigned int used[PLACES / 2];
static size_t used_count;
static bool is_tracking;
static char gone;

static unsigned int place_of(const volatile void *block)
{
	return (unsigned int)((uintptr_t)block / 16 * UINT32_C(2654435761)) % PLACES;
}

static void note_malloc(const volatile void *block, size_t size)
{
	unsigned int at = place_of(block);

	(void)size;
	if (!is_tracking || !block)
		return;
	if (used_count == PLACES / 2)
		fuzz_fail("an input took more than 32768 pieces of memory\n");
	while (blocks[at])
		at = (at + 1) % PLACES;
	blocks[at] = (void *)(uintptr_t)block;
	used[used_count++] = at;
}

static void note_free(const volatile void *block)
{
	unsigned int at = place_of(block);

	if (!is_tracking || !block)
		return;
	while (blocks[at] && blocks[at] != block)
		at = (at + 1) % PLACES;
	if (blocks[at])
		blocks[at] = &gone;
}

static void free_rest(void)
{
	for (size_t i = 0; i < used_count; i++) {
		if (blocks[used[i]] != &gone)
			free(blocks[used[i]]);
		blocks[used[i]] = NULL;
	}
	used_count = 0;
}

void fuzz_guard(void (*body)(void *), void *argument, bool is_freeing, struct fuzz_outcome *o)
{
	static bool has_hooks;

	if (is_freeing && !has_hooks && __sanitizer_install_malloc_and_free_hooks)
		has_hooks = __sanitizer_install_malloc_and_free_hooks(note_malloc, note_free) > 0;
	o->has_exited = false;
	o->status = 0;
	o->said_size = 0;
	outcome = o;
	is_tracking = is_freeing && has_hooks;
	if (!setjmp(back))
		body(argument);
	is_tracking = false;
	outcome = NULL;
	o->said[o->said_size] = '\0';
	free_rest();
}

void fuzz_fail(const char *message)
{
	is_tracking = false;
	if (__real_write(STDERR_FILENO, message, strlen(message)) < 0) {
		/* The core says it, too. */
	}
	abort();
}

char *fuzz_take_text(const uint8_t **data, size_t *size)
{
	const uint8_t *end = *size ? memchr(*data, '\0', *size) : NULL;
	size_t length = end ? (size_t)(end - *data) : *size;
	char *text = malloc(length + 1);

	if (!text)
		fuzz_fail("no memory\n");
	memcpy(text, *data, length);
	text[length] = '\0';
	length += end != NULL;
	*data += length;
	*size -= length;
	return text;
}
