/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/cli.h"
#include "src/event_format.h"
#include "src/exit_status.h"
#include "src/output.h"
#include "src/reader.h"

enum {
	KEY_FORMAT = PTRC_CLI_KEY_FIRST,
	KEY_PID,
	KEY_FIRST,
	KEY_LAST,
	KEY_COUNT,
	KEY_ALLOW_LOSS,
};

static const struct ptrc_cli_option options[] = {
	{"format", KEY_FORMAT, "FORMAT",
	 "text or json (default: text on a terminal,\nelse json)"},
	{"event", 'e', "GLOB",
	 "show only events whose name matches; may be given\nseveral times"},
	{"pid", KEY_PID, "PID",
	 "show only events of the process; may be given\nseveral times"},
	{"first", KEY_FIRST, "N", "show only the first N of them"},
	{"last", KEY_LAST, "N", "show only the last N of them"},
	{"count", KEY_COUNT, NULL, "show only how many there are"},
	{"allow-loss", KEY_ALLOW_LOSS, NULL,
	 "exit with 0 even if the data is incomplete"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-dump",
	.operands = "[OPTION]... LOG...",
	.summary = "Shows the events of trace logs, merged by time.\n"
		   "LOG may be - for standard input.",
	.options = options,
	.notes =
		"Exit status: 0 done, 1 failed, 2 wrong usage, 3 the data is incomplete.",
	.usage_status = PTRC_EXIT_USAGE,
};

/* Output is written in pieces of about this size: few system calls, and a reader that
 * sees something soon. */
enum { WRITE_SIZE = 65536 };

struct glob {
	const char *pattern;
	bool has_matched;
};

struct source {
	struct ptrc_reader reader;
	struct ptrc_event_labels labels;
	/* By event type: 0 not known yet, 1 not selected, 2 selected. */
	unsigned char selected[PTRC_READER_IDS];
	/* Position on the command line, which decides between events of one time. */
	size_t order;
};

static struct glob *globs;
static size_t glob_count;
static pid_t *pids;
static size_t pid_count;
static uint64_t first_count = UINT64_MAX;
static uint64_t last_count = UINT64_MAX;
static bool is_counting;
static bool is_loss_allowed;

static bool is_event_selected(struct source *s, trace_event_id_t id)
{
	unsigned char *selected = &s->selected[id < PTRC_READER_IDS ? id : 0];

	if (__builtin_expect(!*selected, 0)) {
		const struct ptrc_reader_name *name = ptrc_reader_name(&s->reader, id);

		*selected = glob_count ? 1 : 2;
		for (size_t i = 0; i < glob_count; i++)
			if (!fnmatch(globs[i].pattern, name->text, 0)) {
				globs[i].has_matched = true;
				*selected = 2;
			}
	}
	return *selected == 2;
}

static bool is_selected(struct source *s)
{
	bool found = !pid_count;

	for (size_t i = 0; i < pid_count && !found; i++)
		found = pids[i] == s->reader.event.posix_pid;
	return found && is_event_selected(s, s->reader.event.posix_event_id);
}

/* Also asks about names that no event has, so that only patterns without any type are
 * complained about. */
static int load_names(struct source *s)
{
	size_t width = ptrc_reader_load_names(&s->reader);

	for (trace_event_id_t id = 1; glob_count && id < PTRC_READER_IDS; id++)
		if (s->reader.names[id] && s->reader.names[id]->is_known)
			is_event_selected(s, id);
	return (int)width;
}

/* Reads on to the next event that is selected. */
static bool advance(struct source *s)
{
	while (ptrc_reader_next(&s->reader))
		if (is_selected(s))
			return true;
	return false;
}

static bool is_before(const struct source *a, const struct source *b)
{
	const struct timespec *t = &a->reader.event.posix_timestamp;
	const struct timespec *u = &b->reader.event.posix_timestamp;

	if (t->tv_sec != u->tv_sec)
		return t->tv_sec < u->tv_sec;
	if (t->tv_nsec != u->tv_nsec)
		return t->tv_nsec < u->tv_nsec;
	return a->order < b->order;
}

/* The heap holds the sources that have an event, the oldest at its top; moves the one at
 * i down to where it belongs. */
static void sift(struct source **heap, size_t count, size_t i)
{
	for (;;) {
		size_t child = 2 * i + 1;
		struct source *s = heap[i];

		if (child >= count)
			return;
		if (child + 1 < count && is_before(heap[child + 1], heap[child]))
			child++;
		if (!is_before(heap[child], s))
			return;
		heap[i] = heap[child];
		heap[child] = s;
		i = child;
	}
}

/* The last lines, in a ring that grows up to the number wanted. */
struct tail {
	struct ptrc_buffer *lines;
	size_t used;
	size_t size;
	size_t next;
};

static void tail_add(struct tail *t, struct ptrc_buffer *line)
{
	struct ptrc_buffer *place;

	if (t->used < last_count) {
		if (t->used == t->size) {
			t->size = t->size ? 2 * t->size : 64;
			t->lines = ptrc_cli_reallocate(t->lines,
						       t->size * sizeof(*t->lines));
		}
		place = &t->lines[t->used++];
		*place = (struct ptrc_buffer)PTRC_BUFFER_INIT;
	} else {
		place = &t->lines[t->next];
		t->next = (t->next + 1) % t->used;
		place->used = 0;
	}
	ptrc_buffer_bytes(place, line->bytes, line->used);
	line->used = 0;
}

static void tail_put(struct tail *t, struct ptrc_buffer *out)
{
	for (size_t i = 0; i < t->used; i++) {
		struct ptrc_buffer *line = &t->lines[(t->next + i) % t->used];

		ptrc_buffer_bytes(out, line->bytes, line->used);
		ptrc_buffer_free(line);
		if (out->used >= WRITE_SIZE)
			ptrc_output_write(out);
	}
	free(t->lines);
}

/* Returns whether all of the logs was read. */
static bool dump(struct source *sources, size_t count, struct ptrc_event_format *format)
{
	struct source **heap = ptrc_cli_allocate(count * sizeof(struct source *));
	struct ptrc_buffer out = PTRC_BUFFER_INIT;
	struct tail tail = {0};
	bool has_tail = last_count != UINT64_MAX;
	size_t live = 0;
	uint64_t shown = 0;

	for (size_t i = 0; i < count; i++)
		if (advance(&sources[i]))
			heap[live++] = &sources[i];
	for (size_t i = live / 2; i-- > 0;)
		sift(heap, live, i);
	for (; live && shown < first_count; shown++) {
		struct source *s = heap[0];

		if (!is_counting) {
			ptrc_event_put(&out, format, &s->labels, &s->reader);
			if (has_tail && last_count)
				tail_add(&tail, &out);
			else if (has_tail)
				out.used = 0;
			else if (out.used >= WRITE_SIZE)
				ptrc_output_write(&out);
		}
		if (!advance(s))
			heap[0] = heap[--live];
		sift(heap, live, 0);
	}
	if (is_counting) {
		struct ptrc_json j = {&out, true};

		if (format->format == PTRC_FORMAT_JSON) {
			ptrc_json_open(&j, NULL, '{');
			ptrc_json_u64(&j, "count", shown);
			ptrc_json_close(&j, '}');
		} else {
			ptrc_buffer_u64(&out, shown);
		}
		ptrc_buffer_char(&out, '\n');
	}
	tail_put(&tail, &out);
	ptrc_output_end(&out);
	free(heap);
	return !live;
}

static void add_glob(const char *pattern)
{
	globs = ptrc_cli_reallocate(globs, (glob_count + 1) * sizeof(*globs));
	globs[glob_count++] = (struct glob){pattern, false};
}

static void add_pid(const char *text)
{
	pids = ptrc_cli_reallocate(pids, (pid_count + 1) * sizeof(*pids));
	/* 0 is what the trace system itself has. */
	pids[pid_count++] = (pid_t)ptrc_cli_number("--pid", text, 0, INT32_MAX);
}

static enum ptrc_format parse(int argc, char **argv)
{
	enum ptrc_format format =
		isatty(STDOUT_FILENO) ? PTRC_FORMAT_TEXT : PTRC_FORMAT_JSON;
	int key;

	ptrc_cli_begin(&cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1) {
		switch (key) {
		case KEY_FORMAT:
			format = ptrc_cli_format(optarg);
			break;
		case 'e':
			add_glob(optarg);
			break;
		case KEY_PID:
			add_pid(optarg);
			break;
		case KEY_FIRST:
			first_count = ptrc_cli_number("--first", optarg, 0, INT64_MAX);
			break;
		case KEY_LAST:
			last_count = ptrc_cli_number("--last", optarg, 0, INT64_MAX);
			break;
		case KEY_COUNT:
			is_counting = true;
			break;
		case KEY_ALLOW_LOSS:
			is_loss_allowed = true;
			break;
		default:
			break;
		}
	}
	if (first_count != UINT64_MAX && last_count != UINT64_MAX)
		ptrc_cli_usage("--last", "cannot be used together with --first");
	if (is_counting && (first_count != UINT64_MAX || last_count != UINT64_MAX))
		ptrc_cli_usage("--count",
			       "cannot be used together with --first or --last");
	if (optind == argc)
		ptrc_cli_usage(NULL, "no LOG given");
	return format;
}

int main(int argc, char **argv)
{
	struct ptrc_event_format format = {
		.format = parse(argc, argv),
		/* Wide enough for the shorter system events. */
		.name_width = 17,
	};
	size_t operands = (size_t)(argc - optind);
	struct source *sources = ptrc_cli_allocate(operands * sizeof(*sources));
	enum ptrc_exit status = PTRC_EXIT_DONE;
	size_t count = 0;
	bool is_complete = true;
	bool is_read;

	ptrc_output_begin();
	for (size_t i = 0; i < operands; i++) {
		struct source *s = &sources[count];

		memset(s, 0, sizeof(*s));
		s->order = count;
		if (ptrc_reader_open(&s->reader, argv[(size_t)optind + i])) {
			int width = load_names(s);

			/* One very long name should not push everything to the right. */
			if (width > format.name_width && width <= 40)
				format.name_width = width;
			count++;
		} else {
			status = PTRC_EXIT_FAILED;
		}
	}
	format.has_log = operands > 1;
	is_read = !count || dump(sources, count, &format);
	for (size_t i = 0; count && i < glob_count; i++)
		if (!globs[i].has_matched)
			ptrc_cli_message(globs[i].pattern,
					 "no event type has such a name");
	for (size_t i = 0; i < count; i++) {
		struct ptrc_losses losses;

		ptrc_reader_losses(&sources[i].reader, is_read, &losses);
		ptrc_losses_report(&losses, sources[i].reader.path);
		if (losses.read_error)
			status = PTRC_EXIT_FAILED;
		else if (ptrc_losses_is_any(&losses))
			is_complete = false;
		ptrc_reader_close(&sources[i].reader);
		ptrc_event_labels_free(&sources[i].labels);
	}
	free(sources);
	free(globs);
	free(pids);
	if (status == PTRC_EXIT_DONE && !is_complete && !is_loss_allowed)
		status = PTRC_EXIT_INCOMPLETE;
	return (int)status;
}
