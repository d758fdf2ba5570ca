/* SPDX-License-Identifier: MIT */
/*
 * Writes a log of the events that a script on standard input lists, with any times, threads and
 * names. Usage, and the lines of a script:
 *
 *     made_log LOG
 *
 *     layout NAME LAYOUT          what the data of an event type means
 *     event NS PID TID NAME [KIND:VALUE]...
 *                                 an event; KIND is u8, u32, u64, f64, str (with a null byte) or hex
 *     repeat COUNT STEP           the last two events again, COUNT times, each time STEP ns later
 *     thread NS PID TID [NAME]    from this time on the thread has this name; without NAME: none
 *     host NAME MACHINE BOOT      the host of the log: its name, machine id and boot id
 *     clock LOG REALTIME BOOTTIME ERROR STATUS [WINDOW]
 *                                 a reading of clocks at LOG, the time of events; ERROR is maxerror, and
 *                                 STATUS that of adjtimex: 0 synchronized, 64 not, -1 not known
 *     lost COUNT                  COUNT events were lost
 *     unobserved COUNT            the kernel has lost COUNT events
 *     untraced COUNT ERROR        COUNT processes could not be traced, because of ERROR
 *     refused COUNT               COUNT event names got no type
 *     unclosed                    the log is not closed
 *
 * %XX in a name is the byte with this hexadecimal value, because a word cannot have a blank. All
 * times except BOOTTIME are ns after 1,700,000,000 s since the Epoch.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/posixtrace-private.h"
#include "lib/log/log_copy.h"

#define EPOCH_NS INT64_C(1700000000000000000)

enum { LINE_MAX_BYTES = 65536 };

struct made {
	int64_t ns;
	trace_event_id_t type;
	pid_t pid;
	pid_t tid;
	unsigned char data[LINE_MAX_BYTES];
	size_t size;
};

static struct posixtrace_log_writer *written;
/* last[1]: the last event of the script so far; last[0]: the one before it. */
static struct made last[2];
static unsigned int line_number;

static void __attribute__((noreturn)) fail(const char *what, const char *why)
{
	fprintf(stderr, "made_log: line %u: %s: %s\n", line_number, what, why);
	exit(EXIT_FAILURE);
}

static void check(int error, const char *what)
{
	if (error)
		fail(what, strerror(error));
}

static void unescape(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++) {
		unsigned int byte;

		if (*at == '%' && sscanf(at + 1, "%2x", &byte) == 1) {
			*to++ = (char)byte;
			at += 2;
		} else {
			*to++ = *at;
		}
	}
	*to = '\0';
}

static trace_event_id_t type_of(const char *name)
{
	trace_event_id_t type;

	check(posixtrace_log_writer_type(written, name, NULL, &type), name);
	return type;
}

static void add(const struct made *m)
{
	struct posixtrace_event e = {.pt_data = m->data, .pt_size = m->size};

	e.pt_info.posix_event_id = m->type;
	e.pt_info.posix_pid = m->pid;
	e.pt_info.posix_tid = m->tid;
	e.pt_info.posix_thread_id = (pthread_t)m->tid;
	e.pt_info.posix_truncation_status = POSIX_TRACE_NOT_TRUNCATED;
	e.pt_info.posix_timestamp.tv_sec = (EPOCH_NS + m->ns) / 1000000000;
	e.pt_info.posix_timestamp.tv_nsec = (EPOCH_NS + m->ns) % 1000000000;
	check(posixtrace_log_writer_add(written, &e), "posixtrace_log_writer_add");
}

static void put(struct made *m, const void *bytes, size_t size)
{
	memcpy(m->data + m->size, bytes, size);
	m->size += size;
}

static void put_hex(struct made *m, const char *digits)
{
	for (; *digits && digits[1]; digits += 2) {
		unsigned int byte;

		if (sscanf(digits, "%2x", &byte) != 1)
			fail(digits, "no hexadecimal digits");
		put(m, &(unsigned char){(unsigned char)byte}, 1);
	}
}

static void put_word(struct made *m, const char *word)
{
	const char *value = strchr(word, ':');

	if (!value)
		fail(word, "not KIND:VALUE");
	value++;
	unsigned long long u = strtoull(value, NULL, 0);
	double d = strtod(value, NULL);
	if (!strncmp(word, "u8:", 3))
		put(m, &(uint8_t){(uint8_t)u}, sizeof(uint8_t));
	else if (!strncmp(word, "u32:", 4))
		put(m, &(uint32_t){(uint32_t)u}, sizeof(uint32_t));
	else if (!strncmp(word, "u64:", 4))
		put(m, &(uint64_t){u}, sizeof(uint64_t));
	else if (!strncmp(word, "f64:", 4))
		put(m, &d, sizeof(d));
	else if (!strncmp(word, "str:", 4))
		put(m, value, strlen(value) + 1);
	else if (!strncmp(word, "hex:", 4))
		put_hex(m, value);
	else
		fail(word, "no such kind");
}

static void take_event(char *words)
{
	struct made *m = &last[1];
	char name[LINE_MAX_BYTES];
	int used = 0;

	last[0] = last[1];
	m->size = 0;
	if (sscanf(words, "%ld %d %d %65535s%n", &m->ns, &m->pid, &m->tid, name, &used) != 4)
		fail(words, "not NS PID TID NAME");
	unescape(name);
	m->type = type_of(name);
	for (char *word = strtok(words + used, " "); word; word = strtok(NULL, " ")) {
		unescape(word);
		put_word(m, word);
	}
	add(m);
}

static void repeat(const char *words)
{
	unsigned long count;
	long step;

	if (sscanf(words, "%lu %ld", &count, &step) != 2)
		fail(words, "not COUNT STEP");
	for (; count; count--)
		for (size_t i = 0; i < 2; i++) {
			last[i].ns += step;
			add(&last[i]);
		}
}

static void take_layout(char *words)
{
	char *layout = strchr(words, ' ');
	trace_event_id_t type;

	if (!layout)
		fail(words, "no layout");
	*layout++ = '\0';
	unescape(words);
	check(posixtrace_log_writer_type(written, words, layout, &type), layout);
}

/* The host, the threads and the clocks of the log. */
static struct ptrc_log_whose whose;

static void take_host(const char *words)
{
	struct {
		struct ptrc_log_host head;
		char texts[3 * 256];
	} *host = calloc(1, sizeof(*host));
	char texts[3][128] = {""};
	size_t used = 0;

	if (!host || sscanf(words, "%127s %127s %127s", texts[0], texts[1], texts[2]) != 3)
		fail(words, "not NAME MACHINE BOOT");
	for (int i = 0; i < 3; i++) {
		unescape(texts[i]);
		host->head.bytes[i] = (uint16_t)strlen(texts[i]);
		memcpy(host->texts + used, texts[i], strlen(texts[i]));
		used += strlen(texts[i]);
	}
	whose.host = (uint8_t *)host;
	whose.host_bytes = sizeof(host->head) + used;
}

static void take_thread(const char *words)
{
	struct ptrc_log_thread t = {.pid = 0};
	char name[128] = "";
	int pid, tid;

	if (sscanf(words, "%ld %d %d %127s", &t.from_ns, &pid, &tid, name) < 3)
		fail(words, "not NS PID TID [NAME]");
	unescape(name);
	t.pid = pid;
	t.tid = tid;
	t.from_ns += EPOCH_NS;
	memcpy(t.name, name, strnlen(name, sizeof(t.name)));
	whose.threads = realloc(whose.threads, (whose.thread_count + 1) * sizeof(t));
	if (!whose.threads)
		fail("thread", "no memory");
	whose.threads[whose.thread_count++] = t;
}

static void take_clock(const char *words)
{
	struct ptrc_log_clock c = {.window_ns = 100};

	if (sscanf(words, "%ld %ld %ld %ld %d %ld", &c.event_ns, &c.realtime_ns, &c.boottime_ns,
		   &c.max_error_ns, &c.status, &c.window_ns) < 5)
		fail(words, "not LOG REALTIME BOOTTIME ERROR STATUS");
	c.event_ns += EPOCH_NS;
	c.realtime_ns += EPOCH_NS;
	c.monotonic_ns = c.boottime_ns;
	whose.clocks = realloc(whose.clocks, (whose.clock_count + 1) * sizeof(c));
	if (!whose.clocks)
		fail("clock", "no memory");
	whose.clocks[whose.clock_count++] = c;
}

int main(int argc, char **argv)
{
	struct ptrc_counts lost = {0};
	static char line[LINE_MAX_BYTES];

	int fd = argc == 2 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	if (fd < 0)
		fail("log", "cannot be written");
	check(posixtrace_log_writer_open(fd, NULL, NULL, &written), "posixtrace_log_writer_open");
	while (fgets(line, sizeof(line), stdin)) {
		line_number++;
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "layout ", 7))
			take_layout(line + 7);
		else if (!strncmp(line, "event ", 6))
			take_event(line + 6);
		else if (!strncmp(line, "repeat ", 7))
			repeat(line + 7);
		else if (!strncmp(line, "thread ", 7))
			take_thread(line + 7);
		else if (!strncmp(line, "host ", 5))
			take_host(line + 5);
		else if (!strncmp(line, "clock ", 6))
			take_clock(line + 6);
		else if (!strncmp(line, "lost ", 5))
			lost.pt_lost_events = strtoul(line + 5, NULL, 10);
		else if (sscanf(line, "untraced %lu %lu", &lost.pt_untraced_processes,
				&lost.pt_untraced_error) == 2 ||
			 sscanf(line, "refused %lu", &lost.pt_refused_names) == 1 ||
			 sscanf(line, "unobserved %lu", &lost.pt_unobserved_events) == 1)
			continue;
		else if (!strcmp(line, "unclosed"))
			_exit(EXIT_SUCCESS);
		else if (*line)
			fail(line, "what is this?");
	}
	check(ptrc_log_copy_add_whose(written, &whose), "ptrc_log_copy_add_whose");
	check(ptrc_log_copy_close(written, &lost), "ptrc_log_copy_close");
	ptrc_log_whose_free(&whose);
	return 0;
}
