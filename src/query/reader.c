/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/query/reader.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/output.h"
#include "src/base/same_file.h"
#include "src/base/scope.h"
#include "src/base/sorted.h"
#include "src/fields/when.h"

/* The start of every log, see docs/log-format.md. The members are checked in this order: if one is not as expected,
 * those after it may have another meaning. */
struct prefix {
	unsigned char signature[8];
	uint32_t byte_order;
	uint16_t version;
	uint8_t word_size;
	uint8_t zero;
	uint16_t machine;
	uint8_t reserved[14];
};
_Static_assert(sizeof(struct prefix) == 32, "as in the file");

static const unsigned char signature[8] = "\211PTRLOG\n";
enum { BYTE_ORDER_MARK = 0x01020304, LOG_VERSION = 3, WORD_SIZE = 8, SECOND_PREFIX = 880 };
/* Formats 1 and 2 came before the first release. */
enum { LOG_VERSION_OLDEST = 3 };
#if defined(__x86_64__)
enum { MACHINE = 62 };
#elif defined(__aarch64__)
enum { MACHINE = 183 };
#endif

static const char *temporary_directory(void)
{
	const char *directory = getenv("TMPDIR");

	return directory && *directory ? directory : "/tmp";
}

/* Opens a temporary file and removes its name. Returns -1 with errno on failure. */
static int temporary_file(void)
{
	char name[] = "/tmp/ptrace-XXXXXX";
	int fd;

	fd = open(temporary_directory(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return fd;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	return fd;
}

/* Copies a pipe to a temporary file, because reading a log needs seeking, and replaces *fd by the descriptor of
 * the file. If the input does not start like a log, it may never end, so only its first bytes are copied. Returns
 * false after a message. */
static bool spool(const char *path, int *fd)
{
	char bytes[65536];
	int file = temporary_file();
	int write_error = file < 0 ? errno : 0;
	size_t compared = 0;
	bool is_log = true;
	int error = 0;

	while (is_log && !write_error) {
		ssize_t n = read(*fd, bytes, sizeof(bytes));
		size_t head = sizeof(signature) - compared;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			error = errno;
		if (n <= 0)
			break;
		if (head > (size_t)n)
			head = (size_t)n;
		is_log = !memcmp(bytes, signature + compared, head);
		compared += head;
		write_error = ptrc_write_all(file, bytes, (size_t)n);
	}
	if (write_error)
		ptrc_cli_message(path,
				 "cannot keep a copy of the log in %s (TMPDIR names another "
				 "directory): %s",
				 temporary_directory(), strerror(write_error));
	else if (error)
		ptrc_cli_error(path, error);
	if (error || write_error) {
		if (file >= 0)
			close(file);
		return false;
	}
	close(*fd);
	*fd = file;
	return true;
}

/* Opens the path, or standard input, so that the descriptor can be read and can seek. Returns false after a
 * message. */
static bool open_file(const char *path, bool is_stdin, int *fd)
{
	struct stat st;
	int error = 0;

	if (is_stdin)
		*fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		*fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (*fd < 0) {
		ptrc_cli_error(path, errno);
		return false;
	}
	if (fstat(*fd, &st))
		error = errno;
	else if (S_ISDIR(st.st_mode))
		error = EISDIR;
	else if (lseek(*fd, 0, SEEK_CUR) < 0)
		error = errno;
	if (error == ESPIPE && spool(path, fd))
		return true;
	if (error && error != ESPIPE)
		ptrc_cli_error(path, error);
	if (error)
		close(*fd);
	return !error;
}

static bool has_signature(const struct prefix *p, ssize_t size)
{
	return size >= (ssize_t)sizeof(signature) &&
	       !memcmp(p->signature, signature, sizeof(signature));
}

bool ptrc_reader_is_log(int fd)
{
	struct prefix p;

	/* A log has this prefix twice, as the first one may be damaged. */
	return has_signature(&p, pread(fd, &p, sizeof(p), 0)) ||
	       has_signature(&p, pread(fd, &p, sizeof(p), SECOND_PREFIX));
}

static bool is_known(unsigned int version)
{
	return version >= LOG_VERSION_OLDEST && version <= LOG_VERSION;
}

void ptrc_reader_why_no_log(int fd, struct ptrc_cli_reason *why)
{
	struct prefix p;
	ssize_t n = pread(fd, &p, sizeof(p), 0);
	struct stat st;

	if (n <= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && !st.st_size)
		ptrc_cli_because(why, "not a trace log: the file is empty");
	else if (!has_signature(&p, n))
		ptrc_cli_because(why, "not a trace log");
	else if (n < (ssize_t)sizeof(p))
		ptrc_cli_because(why, "a trace log that was cut off within its first bytes");
	else if (p.byte_order != BYTE_ORDER_MARK)
		ptrc_cli_because(why, "a trace log from a machine with another byte order");
	else if (!is_known(p.version))
		ptrc_cli_because(why,
				 "a trace log of format version %u, and this command (%s) reads "
				 "version %d; use the commands of the release that wrote it",
				 p.version, posixtrace_version(), LOG_VERSION);
	else if (p.word_size != WORD_SIZE || p.machine != MACHINE)
		ptrc_cli_because(why, "a trace log from another kind of machine");
	else
		ptrc_cli_because(
			why, "a trace log that is damaged or was cut off within its first bytes");
}

/* Whether the file is a log of a version that this command does not know. If so, stores a message about that. */
static bool is_of_other_version(int fd, struct ptrc_cli_reason *why)
{
	struct prefix p;
	bool is_other = has_signature(&p, pread(fd, &p, sizeof(p), 0)) && !is_known(p.version);

	if (is_other)
		ptrc_reader_why_no_log(fd, why);
	return is_other;
}

void ptrc_reader_why_no_version(const char *path, struct ptrc_cli_reason *why)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	PTRC_SCOPED char *where = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	PTRC_SCOPED_DIR *directory = where ? opendir(where) : NULL;
	struct ptrc_cli_reason of_file;
	struct dirent *entry;
	bool is_found = false;

	while (!is_found && directory && (entry = readdir(directory))) {
		bool is_first = !strcmp(entry->d_name, name);
		PTRC_SCOPED_FD fd = -1;

		if (is_first || ptrc_reader_is_later_name(entry->d_name, name))
			fd = openat(dirfd(directory), entry->d_name,
				    O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		is_found = fd >= 0 && is_of_other_version(fd, &of_file);
		if (is_found)
			ptrc_cli_because(why, is_first ? "%s%s" : "%s is %s",
					 is_first ? "" : entry->d_name, of_file.text);
	}
	if (!is_found)
		ptrc_cli_because(why, "%s", strerror(EPROTO));
}

uint64_t ptrc_reader_log_id(const char *path)
{
	PTRC_SCOPED_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct ptrc_reading_place place = {.pl_log_id = 0};
	bool is_missing = fd < 0 && errno == ENOENT;
	trace_id_t trace;

	if (is_missing ? !posixtrace_log_open(path, &trace)
		       : fd >= 0 && ptrc_reader_is_log(fd) && !posix_trace_open(fd, &trace)) {
		if (ptrc_log_get_place(trace, &place))
			place.pl_log_id = 0;
		posix_trace_close(trace);
	}
	return place.pl_log_id;
}

/* If the name has the form that the second and later files of a rotated log have, returns the length of the first file's
 * name in it; else 0. */
static size_t length_of_first(const char *name)
{
	/* The least number of digits at the end of the name. */
	enum { DIGITS_MIN = 6 };
	size_t size = strlen(name), digits = 0;

	while (digits < size && isdigit((unsigned char)name[size - digits - 1]))
		digits++;
	if (digits < DIGITS_MIN || digits + 2 > size || name[size - digits - 1] != '.')
		return 0;
	return size - digits - 1;
}

bool ptrc_reader_is_later_name(const char *name, const char *first)
{
	size_t length = length_of_first(name);

	return length && length == strlen(first) && !strncmp(name, first, length);
}

char *ptrc_reader_first_path(const char *path)
{
	char *base = ptrc_cli_copy(path);
	size_t size = length_of_first(path);

	if (!size)
		return base;
	base[size] = '\0';
	/* If the log at `base`, whose first file may be missing, is the same log, `base` is its path. Otherwise the
	 * name of `path` only looks like that of a later file. */
	if (!ptrc_reader_is_there(base) || ptrc_reader_log_id(base) != ptrc_reader_log_id(path))
		base[size] = '.';
	return base;
}

bool ptrc_reader_is_there(const char *path)
{
	trace_id_t trace;

	if (!access(path, F_OK) || errno != ENOENT)
		return true;
	switch (posixtrace_log_open(path, &trace)) {
	case 0:
		posix_trace_close(trace);
		return true;
	case EPROTO:
		return true;
	default:
		return false;
	}
}

/* Opens the file at r->path, if it exists; the first file of a rotated log may be missing. *is_spooled becomes
 * true if what was opened is a copy, not the file at the path. Returns false after a message. */
static bool open_path(struct ptrc_reader *r, bool *is_spooled)
{
	struct rlimit limit;
	struct stat st, there;

	/* Raises the limit of descriptors, because each file of a rotated log needs one. */
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	r->fd = -1;
	*is_spooled = false;
	if (access(r->path, F_OK) && errno == ENOENT && ptrc_reader_is_there(r->path))
		return true;
	if (!open_file(r->path, false, &r->fd))
		return false;
	*is_spooled = fstat(r->fd, &st) || stat(r->path, &there) || !S_ISREG(there.st_mode) ||
		      !ptrc_is_same_file(&st, &there);
	return true;
}

/* Reads status and counts of the log r->trace. */
static int read_state(struct ptrc_reader *r)
{
	struct ptrc_losses losses;
	int error = posix_trace_get_status(r->trace, &r->status);

	if (!error)
		error = ptrc_trace_counts(r->trace, &r->counts);
	if (error)
		return error;
	ptrc_losses_gather(&losses, &r->status, &r->counts);
	r->is_complete = !ptrc_losses_is_any(&losses);
	return 0;
}

/* Reads attributes, status and counts of r->trace. On failure closes it. */
static int begin(struct ptrc_reader *r)
{
	int error = ptrc_attributes_gather(r->trace, &r->attributes);

	if (!error)
		error = read_state(r);
	if (error)
		posix_trace_close(r->trace);
	else
		ptrc_reader_own_types(r);
	return error;
}

int ptrc_reader_open_log(struct ptrc_reader *r, const char *path)
{
	int error;

	*r = (struct ptrc_reader){.path = path, .fd = -1};
	error = posixtrace_log_open(path, &r->trace);
	return error ? error : begin(r);
}

bool ptrc_reader_open(struct ptrc_reader *r, const char *path)
{
	struct ptrc_cli_reason why;
	bool is_spooled;
	int error;

	memset(r, 0, sizeof(*r));
	r->path = strcmp(path, "-") ? path : "standard input";
	is_spooled = r->path != path;
	if (is_spooled ? !open_file(r->path, true, &r->fd) : !open_path(r, &is_spooled))
		return false;
	error = is_spooled ? posix_trace_open(r->fd, &r->trace)
			   : posixtrace_log_open(path, &r->trace);
	if (!error)
		error = begin(r);
	if (!error)
		return true;
	if (error == EPROTO || error == EINVAL) {
		if (error == EPROTO)
			ptrc_reader_why_no_version(path, &why);
		else
			ptrc_reader_why_no_log(r->fd, &why);
		ptrc_cli_message(r->path, "%s", why.text);
	} else {
		ptrc_cli_error(r->path, error);
	}
	if (r->fd >= 0)
		close(r->fd);
	return false;
}

void ptrc_reader_own_types(struct ptrc_reader *r)
{
	r->types = ptrc_cli_allocate(PTRC_READER_IDS * sizeof(struct ptrc_type *));
	r->label_in_lines = NULL;
}

void ptrc_reader_free_types(struct ptrc_reader *r)
{
	for (size_t i = 0; i < PTRC_READER_IDS; i++)
		if (r->types[i]) {
			free(r->types[i]->label);
			free(r->types[i]->of_sink);
			free(r->types[i]->of_pairs);
			free(r->types[i]);
		}
	free(r->types);
	free(r->label_in_lines);
}

void ptrc_reader_close(struct ptrc_reader *r)
{
	if (r->source)
		r->source->close(r);
	posix_trace_close(r->trace);
	ptrc_reader_block_free(&r->block);
	if (r->before)
		ptrc_thread_gap_forget(r->before);
	free(r->before);
	if (r->fd >= 0)
		close(r->fd);
	free(r->own_path);
	free(r->label);
	ptrc_reader_free_types(r);
}

/* Called when the last event of the block is an OVERFLOW: fills in *gap with the loss that it starts, from the
 * difference between the log's counts now and at the last gap. */
static void note_gap(struct ptrc_reader *r, struct ptrc_reader_gap *gap)
{
	struct ptrc_counts before = r->gap_counts;
	struct ptrc_counts *now = &r->gap_counts;

	if (ptrc_trace_counts(r->trace, now))
		return;
	gap->is_damage = now->pt_damaged_gaps > before.pt_damaged_gaps;
	gap->is_uncounted = now->pt_uncounted_gaps > before.pt_uncounted_gaps;
	gap->events = now->pt_damaged_events - before.pt_damaged_events;
}

void ptrc_reader_block_free(struct ptrc_reader_block *b)
{
	posixtrace_log_free_block(b->events);
	free(b->since_before);
	memset(b, 0, sizeof(*b));
}

void ptrc_reader_correct(struct ptrc_reader *r)
{
	struct timespec *time = &r->event.posix_timestamp;

	if (!ptrc_reader_is_moving(r))
		return;
	r->log_time = *time;
	*time = ptrc_when_timespec(ptrc_correction_time(r->correction, ptrc_when_ns(time)));
}

struct timespec ptrc_reader_log_time_of(const struct ptrc_reader *r, const struct timespec *time)
{
	if (!ptrc_reader_is_moving(r))
		return *time;
	return ptrc_when_timespec(ptrc_correction_first(r->correction, ptrc_when_ns(time)));
}

int64_t ptrc_reader_bound(const struct ptrc_reader *r)
{
	return r->correction
		       ? ptrc_correction_bound(r->correction, ptrc_when_ns(ptrc_reader_log_time(r)))
		       : PTRC_BOUND_UNKNOWN;
}

void ptrc_reader_watch_threads(struct ptrc_reader *r)
{
	r->before = ptrc_cli_allocate(sizeof(*r->before));
}

bool ptrc_reader_next_block(struct ptrc_reader *r, struct ptrc_reader_block *b)
{
	const struct posixtrace_event *events;
	size_t count;

	*b = (struct ptrc_reader_block){.since_before = b->since_before};
	r->error = posixtrace_log_next_block(r->trace, &b->events);
	if (!b->events)
		return false;
	events = b->events->pt_events;
	count = b->events->pt_count;
	r->block_end = events[count - 1].pt_info.posix_timestamp;
	if (events[count - 1].pt_info.posix_event_id == POSIX_TRACE_OVERFLOW)
		note_gap(r, &b->gap);
	if (!r->before)
		return true;
	b->since_before = ptrc_cli_reallocate(b->since_before, count * sizeof(*b->since_before));
	for (size_t i = 0; i < count; i++) {
		const struct posixtrace_event *e = &events[i];

		b->since_before[i] =
			ptrc_thread_gap_take(r->before, e,
					     ptrc_reader_reports_loss(r, e->pt_info.posix_event_id,
								      e->pt_data, e->pt_size));
	}
	return true;
}

void ptrc_reader_set_lacking(struct ptrc_reader *r, bool is_lacking)
{
	if (is_lacking)
		r->lack = PTRC_LACK_AMONG;
	else if (r->lack == PTRC_LACK_AMONG)
		r->lack = PTRC_LACK_BEFORE;
}

bool ptrc_reader_next(struct ptrc_reader *r)
{
	while (!r->block.events || !ptrc_reader_take(r, &r->block)) {
		posixtrace_log_free_block(r->block.events);
		if (!ptrc_reader_next_block(r, &r->block) &&
		    (!r->source || r->error || !r->source->receive(r)))
			return false;
	}
	r->is_after_lack = r->lack != PTRC_LACK_NONE;
	if (r->lack == PTRC_LACK_BEFORE)
		r->lack = PTRC_LACK_NONE;
	return true;
}

bool ptrc_reader_is_waiting(struct ptrc_reader *r)
{
	struct ptrc_reader_block *b = &r->block;

	if (!r->source || (b->events && b->at < b->events->pt_count))
		return false;
	posixtrace_log_free_block(b->events);
	/* Takes the messages that have come, until one brings an event: some have none, such as the message that
	 * reports losses. */
	while (!ptrc_reader_next_block(r, b) && !r->error) {
		if (r->source->is_waiting(r))
			return true;
		if (!r->source->receive(r))
			return false;
	}
	return false;
}

void ptrc_reader_go_to_end(struct ptrc_reader *r)
{
	r->event.posix_timestamp = r->block_end;
	if (r->correction)
		ptrc_reader_correct(r);
}

static void start_over(struct ptrc_reader *r)
{
	ptrc_reader_block_free(&r->block);
	if (r->before)
		ptrc_thread_gap_forget(r->before);
	r->read_count = 0;
	r->error = 0;
	memset(&r->gap_counts, 0, sizeof(r->gap_counts));
}

int ptrc_reader_rewind(struct ptrc_reader *r)
{
	start_over(r);
	return r->source ? r->source->rewind(r) : posix_trace_rewind(r->trace);
}

bool ptrc_reader_will_restart(const struct ptrc_reader_restarts *r,
			      const struct ptrc_reader_stop *s)
{
	size_t count = ptrc_sorted_up_to(r->stops, r->count, sizeof(*r->stops), s->number);

	return s->is_stopped && count && r->stops[count - 1] == s->number;
}

/* Selects events of the log. The spans are in uncorrected times. */
static int select_log(struct ptrc_reader *r, const struct posixtrace_span *spans, size_t count,
		      const trace_event_set_t *types, const trace_event_set_t *always)
{
	/* The gap of an event is the time since the preceding event of its thread, which may not be
	 * selected. So if gaps are wanted (r->before is not NULL), all events are read. */
	if (r->source || r->before)
		return ptrc_reader_rewind(r);
	start_over(r);
	return ptrc_log_select(r->trace, spans, count, types, always);
}

int ptrc_reader_select_always(struct ptrc_reader *r, const struct posixtrace_span *spans,
			      size_t count, const trace_event_set_t *types,
			      const trace_event_set_t *always)
{
	PTRC_SCOPED struct posixtrace_span *moved = NULL;

	if (!ptrc_reader_is_moving(r) || !count)
		return select_log(r, spans, count, types, always);
	moved = ptrc_cli_allocate(count * sizeof(*moved));
	for (size_t i = 0; i < count; i++)
		moved[i] = ptrc_when_span(
			ptrc_correction_first(r->correction, ptrc_when_ns(&spans[i].pt_first)),
			ptrc_correction_last(r->correction, ptrc_when_ns(&spans[i].pt_last)));
	return select_log(r, moved, count, types, always);
}

int ptrc_reader_select_parts(struct ptrc_reader *r, unsigned long first, unsigned long end)
{
	start_over(r);
	return ptrc_log_select_parts(r->trace, first, end);
}

int ptrc_reader_refresh(struct ptrc_reader *r, unsigned long first)
{
	struct stat own, there;
	int error;

	/* r->fd was opened before r->trace. So if the path still leads to the file of r->fd, it led
	 * to this file when r->trace was opened, too. */
	if (r->fd < 0 || fstat(r->fd, &own) || stat(r->path, &there) ||
	    !ptrc_is_same_file(&own, &there))
		return ESTALE;
	start_over(r);
	ptrc_reader_free_types(r);
	ptrc_reader_own_types(r);
	error = ptrc_log_refresh(r->trace, first);
	return error ? error : read_state(r);
}

int ptrc_reader_select_last(struct ptrc_reader *r, uint64_t count, int64_t until_ns,
			    const trace_event_set_t *types, int64_t *from_ns)
{
	int64_t until_log_ns =
		ptrc_reader_is_moving(r) ? ptrc_correction_last(r->correction, until_ns) : until_ns;
	struct posixtrace_span span = ptrc_when_span(INT64_MIN, until_log_ns);
	int error = r->source || r->before
			    ? ENODATA
			    : posixtrace_log_get_time_of_last(r->trace, count, &span.pt_first);

	*from_ns = INT64_MIN;
	if (error && error != ENODATA)
		return error;
	if (!error)
		*from_ns = ptrc_when_ns(&span.pt_first);
	if (!error && ptrc_reader_is_moving(r))
		*from_ns = ptrc_correction_time(r->correction, *from_ns);
	return select_log(r, &span, 1, types, NULL);
}

const char *ptrc_truncation_word(int status)
{
	return status == POSIX_TRACE_NOT_TRUNCATED	? "no"
	       : status == POSIX_TRACE_TRUNCATED_RECORD ? "record"
							: "read";
}

struct ptrc_type *ptrc_reader_new_type(struct ptrc_reader *r, trace_event_id_t id)
{
	struct ptrc_type *type = ptrc_cli_allocate(sizeof(*type));

	/* A log or session has the name of a type before the first event of the type, so the name is looked up only
	 * once. */
	type->name.is_known = !posix_trace_eventid_get_name(r->trace, id, type->name.text);
	if (!type->name.is_known)
		snprintf(type->name.text, sizeof(type->name.text), "#%u", id);
	type->name.size = strlen(type->name.text);
	type->is_os_lost = type->name.is_known && !strcmp(type->name.text, PTRC_OS_LOST);
	type->is_command_end = type->name.is_known && !strcmp(type->name.text, PTRC_COMMAND_ENDED);
	type->is_of_keeper = type->is_command_end ||
			     (type->name.is_known && !strcmp(type->name.text, PTRC_WENT_ON));
	r->types[id < PTRC_READER_IDS ? id : 0] = type;
	return type;
}

static const struct timespec end_of_time = {.tv_sec = INT64_MAX};

bool ptrc_reader_find_thread(const struct ptrc_reader *r, pid_t pid, pid_t tid,
			     const struct timespec *log_time, struct posixtrace_log_thread *t)
{
	unsigned long index;

	return (!posixtrace_log_find_thread(r->trace, pid, tid, &end_of_time, &index) ||
		!posixtrace_log_find_thread(r->trace, pid, tid, log_time, &index)) &&
	       !posixtrace_log_get_thread(r->trace, index, t, sizeof(*t)) && t->pt_name_size;
}

bool ptrc_reader_find_process(const struct ptrc_reader *r, pid_t pid,
			      struct posixtrace_log_process *p)
{
	unsigned long index;

	return !posixtrace_log_find_process(r->trace, pid, &end_of_time, &index) &&
	       !posixtrace_log_get_process(r->trace, index, p, sizeof(*p));
}

bool ptrc_reader_layout(const struct ptrc_reader *r, trace_event_id_t id,
			char layout[POSIXTRACE_LAYOUT_MAX + 1])
{
	return !posixtrace_eventid_get_layout(r->trace, id, layout, POSIXTRACE_LAYOUT_MAX + 1);
}

struct posixtrace_type_count *ptrc_type_counts(trace_id_t trace)
{
	struct posixtrace_type_count *counts = ptrc_cli_allocate(PTRC_READER_IDS * sizeof(*counts));

	if (!posixtrace_get_type_counts(trace, counts, PTRC_READER_IDS))
		return counts;
	free(counts);
	return NULL;
}

size_t ptrc_reader_load_names(struct ptrc_reader *r)
{
	size_t longest = 0;
	trace_event_id_t id;

	posix_trace_eventtypelist_rewind(r->trace);
	while (ptrc_next_type(r->trace, &id))
		ptrc_reader_name(r, id);
	for (id = 1; id < PTRC_READER_IDS; id++)
		if (r->types[id] && r->types[id]->name.is_known &&
		    r->types[id]->name.size > longest)
			longest = r->types[id]->name.size;
	return longest;
}

trace_event_id_t ptrc_reader_find_type(const struct ptrc_reader *r, const char *name)
{
	for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++)
		if (r->types[id] && r->types[id]->name.is_known &&
		    !strcmp(r->types[id]->name.text, name))
			return id;
	return 0;
}

/* Whether the log has event types of the operating system, other than those of the keeper. */
static bool has_os_types(const struct ptrc_reader *r)
{
	for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++)
		if (r->types[id] && r->types[id]->name.is_known && !r->types[id]->is_of_keeper &&
		    ptrc_is_os_name(r->types[id]->name.text))
			return true;
	return false;
}

/* Whether a thread of which the log has events of the operating system may still have been running at the end of the
 * log. Only os.fork and os.exit show that it was not. Each thread has both, also in processes that are not traced, but
 * COMMAND's first thread has only an os.exit. So if all threads have ended, there is one os.exit more than os.fork. */
static bool is_thread_left(const struct ptrc_reader *r)
{
	trace_event_id_t fork = ptrc_reader_find_type(r, "os.fork");
	trace_event_id_t exit = ptrc_reader_find_type(r, "os.exit");
	PTRC_SCOPED struct posixtrace_type_count *counts = exit ? ptrc_type_counts(r->trace) : NULL;

	return counts ? counts[exit].pt_events <= (fork ? counts[fork].pt_events : 0)
		      : has_os_types(r);
}

bool ptrc_reader_has_none_left(const struct ptrc_reader *r)
{
	return !ptrc_reader_find_type(r, PTRC_WENT_ON) && !is_thread_left(r);
}

void ptrc_reader_losses(const struct ptrc_reader *r, bool is_read, struct ptrc_losses *l)
{
	struct ptrc_counts counts;

	ptrc_losses_gather(l, &r->status, &r->counts);
	l->read_error = r->error;
	l->unshown_events = r->unshown_count;
	l->is_rest_unshown = r->is_rest_unshown;
	l->is_log_gone = r->is_log_gone;
	l->has_gone_on = ptrc_reader_find_type(r, PTRC_WENT_ON);
	if (r->source)
		return;
	/* These counts, unlike r->counts, which were taken at the start, include what reading found missing. */
	if (ptrc_trace_counts(r->trace, &counts))
		return;
	ptrc_losses_add_read(l, &counts, is_read && !r->is_growing ? &r->read_count : NULL);
	if (r->is_growing)
		l->is_unclosed = false;
}

bool ptrc_reader_verify(const struct ptrc_reader *r, struct ptrc_losses *l)
{
	unsigned long differing = 0;
	int error = ptrc_log_verify(r->trace, &differing);

	/* `differing` includes the parts that reading has already found damaged and counted. */
	if (differing > l->damaged_parts)
		l->differing_parts = differing - l->damaged_parts;
	if (error)
		ptrc_cli_error(r->path, error);
	return !error;
}

unsigned long ptrc_reader_process(const struct ptrc_reader *r)
{
	unsigned long process;

	return posixtrace_log_find_process(r->trace, r->event.posix_pid, ptrc_reader_log_time(r),
					   &process)
		       ? ULONG_MAX
		       : process;
}

bool ptrc_log_find_mapping(trace_id_t log, unsigned long process, uint64_t address,
			   struct posixtrace_log_mapping *m)
{
	struct posixtrace_log_mapping next;
	bool is_found = false;

	/* For a function that the program made at run time, the log has two mappings that match the
	 * address: the memory without a file that has its code, and the function itself. The latter is
	 * preferred, because it has the name. */
	for (unsigned long i = 0; (!is_found || !m->pm_is_function) &&
				  !posixtrace_log_get_mapping(log, process, i, &next, sizeof(next));
	     i++)
		if (address >= next.pm_start && address < next.pm_end &&
		    (!is_found || next.pm_is_function)) {
			*m = next;
			is_found = true;
		}
	return is_found;
}
