/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/view/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/cli/message.h"

/* The first bytes of every log; see docs/log-format.md. Of a log of another version or
 * machine only the signature is certain. */
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
enum { BYTE_ORDER_MARK = 0x01020304, LOG_VERSION = 3, WORD_SIZE = 8 };
#if defined(__x86_64__)
enum { MACHINE = 62 };
#elif defined(__aarch64__)
enum { MACHINE = 183 };
#endif

/* Enough for the data of every system event; the largest is that of FILTER. */
enum { DATA_SIZE_MIN = 4096 };

/* More than programs record in an event, and less than what is scarce. */
enum { DATA_SIZE_USUAL = 16 << 20 };

static const char *temporary_directory(void)
{
	const char *directory = getenv("TMPDIR");

	return directory && *directory ? directory : "/tmp";
}

/* Opens a file without a name, which is gone when it is closed. Returns -1 with errno on
 * failure. */
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

/*
 * Copies everything that can be read from *fd, a pipe or the like, to a file, and replaces
 * *fd by that file, because reading a log needs seeking. Input that does not begin like a
 * log may never end, so only its first bytes are read. On failure it prints a message and
 * returns false.
 */
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
		for (ssize_t done = 0; done < n && !write_error;) {
			ssize_t m = write(file, bytes + done, (size_t)(n - done));

			if (m < 0 && errno != EINTR)
				write_error = errno;
			if (m > 0)
				done += m;
		}
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

/* Opens the path, or standard input, for reading with seeking. On failure it prints a
 * message and returns false. */
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

	return has_signature(&p, pread(fd, &p, sizeof(p), 0));
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
	else if (p.version < LOG_VERSION)
		ptrc_cli_because(why, "a trace log that was made by a version before 0.2");
	else if (p.version > LOG_VERSION)
		ptrc_cli_because(why,
				 "a trace log of format version %u, and %s reads version "
				 "%d only",
				 p.version, posixtrace_version(), LOG_VERSION);
	else if (p.word_size != WORD_SIZE || p.machine != MACHINE)
		ptrc_cli_because(why, "a trace log from another kind of machine");
	else
		ptrc_cli_because(
			why, "a trace log that is damaged or was cut off within its first bytes");
}

/*
 * Allocates the buffer for an event's data. The max-data-size that a log claims cannot be trusted,
 * but no event is larger than the file, and in a log none is larger than 4 GiB. The file may be
 * all hole, so even that may be more memory than there is: then the buffer has a usual size, and
 * if there is a larger event after all, it is shown cut. Returns whether there was memory.
 */
static bool make_buffer(struct ptrc_reader *r)
{
	uint64_t size = r->attributes.max_data_size;
	struct stat st;

	if (!fstat(r->fd, &st) && S_ISREG(st.st_mode) && size > (uint64_t)st.st_size)
		size = (uint64_t)st.st_size;
	if (size > UINT32_MAX)
		size = UINT32_MAX;
	if (size < DATA_SIZE_MIN)
		size = DATA_SIZE_MIN;
	r->data = malloc((size_t)size);
	if (!r->data && size > DATA_SIZE_USUAL) {
		size = DATA_SIZE_USUAL;
		r->data = malloc((size_t)size);
	}
	r->data_size = (size_t)size;
	return r->data;
}

bool ptrc_reader_open(struct ptrc_reader *r, const char *path)
{
	struct ptrc_cli_reason why;
	bool is_open;
	int error;

	memset(r, 0, sizeof(*r));
	r->path = strcmp(path, "-") ? path : "standard input";
	if (!open_file(r->path, r->path != path, &r->fd))
		return false;
	error = posix_trace_open(r->fd, &r->trace);
	is_open = !error;
	if (!error)
		error = ptrc_attributes_gather(r->trace, &r->attributes);
	if (!error)
		error = posix_trace_get_status(r->trace, &r->status);
	if (!error)
		error = posixtrace_get_counts(r->trace, &r->counts, sizeof(r->counts));
	if (!error) {
		if (make_buffer(r))
			return true;
		error = ENOMEM;
	}
	if (is_open) {
		posix_trace_close(r->trace);
	} else if (error == EINVAL) {
		ptrc_reader_why_no_log(r->fd, &why);
		ptrc_cli_message(r->path, "%s", why.text);
	}
	if (is_open || error != EINVAL)
		ptrc_cli_error(r->path, error);
	close(r->fd);
	return false;
}

void ptrc_reader_close(struct ptrc_reader *r)
{
	if (r->source)
		r->source->close(r);
	else
		posix_trace_close(r->trace);
	close(r->fd);
	free(r->data);
	free(r->own_path);
	for (size_t i = 0; i < PTRC_READER_IDS; i++)
		free(r->names[i]);
}

/* Finds out what the OVERFLOW that was read stands for. */
static void note_gap(struct ptrc_reader *r)
{
	struct posixtrace_counts before = r->gap_counts;
	struct posixtrace_counts *now = &r->gap_counts;

	if (posixtrace_get_counts(r->trace, now, sizeof(*now)))
		return;
	r->is_gap_damage = now->pt_damaged_gaps > before.pt_damaged_gaps;
	r->is_gap_uncounted = now->pt_uncounted_gaps > before.pt_uncounted_gaps;
	r->gap_events = now->pt_damaged_events - before.pt_damaged_events;
}

bool ptrc_reader_next(struct ptrc_reader *r)
{
	int unavailable = 1;

	if (__builtin_expect(r->source != NULL, 0))
		return r->source->next(r);
	r->error = posix_trace_getnext_event(r->trace, &r->event, r->data, r->data_size, &r->size,
					     &unavailable);
	if (r->error || unavailable)
		return false;
	r->read_count++;
	if (__builtin_expect(r->event.posix_event_id == POSIX_TRACE_OVERFLOW, 0))
		note_gap(r);
	return true;
}

bool ptrc_reader_is_waiting(const struct ptrc_reader *r)
{
	return r->source && r->source->is_waiting(r);
}

int ptrc_reader_rewind(struct ptrc_reader *r)
{
	r->read_count = 0;
	r->error = 0;
	memset(&r->gap_counts, 0, sizeof(r->gap_counts));
	return r->source ? r->source->rewind(r) : posix_trace_rewind(r->trace);
}

const char *ptrc_reader_truncation(const struct ptrc_reader *r)
{
	int status = r->event.posix_truncation_status;

	return status == POSIX_TRACE_NOT_TRUNCATED	? "no"
	       : status == POSIX_TRACE_TRUNCATED_RECORD ? "record"
							: "read";
}

static struct ptrc_reader_name *look_up(struct ptrc_reader *r, trace_event_id_t id)
{
	struct ptrc_reader_name *name = ptrc_cli_allocate(sizeof(*name));

	/* A session has already sent the name of every event that has one. */
	name->is_known = !r->source && !posix_trace_eventid_get_name(r->trace, id, name->text);
	if (!name->is_known)
		snprintf(name->text, sizeof(name->text), "#%u", id);
	name->size = strlen(name->text);
	return name;
}

const struct ptrc_reader_name *ptrc_reader_name(struct ptrc_reader *r, trace_event_id_t id)
{
	/* No event type has identifier 0, so its place serves for all impossible ones. */
	struct ptrc_reader_name **name = &r->names[id < PTRC_READER_IDS ? id : 0];

	if (__builtin_expect(!*name, 0))
		*name = look_up(r, id);
	return *name;
}

size_t ptrc_reader_load_names(struct ptrc_reader *r)
{
	size_t longest = 0;
	trace_event_id_t id;
	int unavailable = 0;

	if (r->source) {
		r->source->load_names(r);
	} else {
		posix_trace_eventtypelist_rewind(r->trace);
		while (!posix_trace_eventtypelist_getnext_id(r->trace, &id, &unavailable) &&
		       !unavailable)
			ptrc_reader_name(r, id);
	}
	for (id = 1; id < PTRC_READER_IDS; id++)
		if (r->names[id] && r->names[id]->is_known && r->names[id]->size > longest)
			longest = r->names[id]->size;
	return longest;
}

void ptrc_reader_losses(const struct ptrc_reader *r, bool is_read, struct ptrc_losses *l)
{
	struct posixtrace_counts counts;

	ptrc_losses_gather(l, &r->status, &r->counts);
	l->read_error = r->error;
	l->unshown_events = r->unshown_count;
	l->is_rest_unshown = r->is_rest_unshown;
	if (r->source)
		return;
	/* Asks again, as these counts include what was found missing while reading. */
	if (posixtrace_get_counts(r->trace, &counts, sizeof(counts)))
		return;
	l->stream_events += counts.pt_gap_events;
	l->unreadable_events = counts.pt_damaged_events;
	if (is_read && !l->is_unclosed)
		l->unreadable_events = ptrc_losses_unreadable(&counts, r->read_count);
	else
		l->is_unreadable_uncounted = counts.pt_uncounted_gaps;
	l->is_unreadable_uncounted |= counts.pt_damaged_gaps && !l->unreadable_events;
	if (r->is_growing)
		l->is_unclosed = false;
}
