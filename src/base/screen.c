/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/screen.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "src/base/output.h"

/* Control sequences. After NO_WRAP, lines that are wider than the terminal are cut off; after WRAP, they continue
 * on the next line. These two are not in ECMA-48, but all common terminals have them. */
#define NO_WRAP "\033[?7l"
#define WRAP "\033[?7h"
#define HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_BELOW "\033[J"

/* The lines of a terminal that does not say how many it has. */
enum { LINES = 24 };

static volatile sig_atomic_t has_changed;

static void on_change(int number)
{
	(void)number;
	has_changed = 1;
}

bool ptrc_screen_begin(void)
{
	struct sigaction action = {.sa_handler = on_change};
	const char *type = getenv("TERM");

	if (!isatty(STDOUT_FILENO) || !type || !*type || !strcmp(type, "dumb"))
		return false;
	sigaction(SIGWINCH, &action, NULL);
	return true;
}

bool ptrc_screen_has_changed(void)
{
	bool has = has_changed;

	has_changed = 0;
	return has;
}

void ptrc_screen_show(const struct ptrc_buffer *text)
{
	static struct ptrc_buffer out;
	struct winsize size = {.ws_row = 0};
	const char *at = text->bytes;
	size_t left = text->used;
	unsigned int lines;

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	lines = size.ws_row ? size.ws_row : LINES;
	ptrc_buffer_text(&out, NO_WRAP HOME);
	for (unsigned int i = 0; i < lines && left; i++) {
		const char *end = memchr(at, '\n', left);
		size_t length = end ? (size_t)(end - at) : left;

		/* No line feed follows the last line, because it would scroll the text. */
		if (i)
			ptrc_buffer_text(&out, "\r\n");
		ptrc_buffer_bytes(&out, at, length);
		ptrc_buffer_text(&out, CLEAR_LINE);
		length += end != NULL;
		at += length;
		left -= length;
	}
	ptrc_buffer_text(&out, CLEAR_BELOW WRAP);
	ptrc_output_write(&out);
}

void ptrc_screen_end(void)
{
	PTRC_SCOPED_BUFFER out = PTRC_BUFFER_INIT;

	ptrc_buffer_char(&out, '\n');
	ptrc_output_write(&out);
}
