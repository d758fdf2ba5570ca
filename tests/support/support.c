/* SPDX-License-Identifier: MIT */
#define TS_WITHOUT_HARNESS 1
#include "tests/support/support.h"

#include "tests/support/thread_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <posixtrace-log.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void (*ts_on_failure)(const char *message);
void (*ts_on_skip)(const char *reason);
int64_t ts_patience_ms;

static _Thread_local const char *where_file = "?";
static _Thread_local int where_line;

void ts_where(const char *file, int line)
{
	where_file = file;
	where_line = line;
}

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
	char text[800], message[900];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(message, sizeof(message), "%s:%d: %s", where_file, where_line, text);
	if (ts_on_failure)
		ts_on_failure(message);
	_exit(1);
}

static void ok(int err, const char *call)
{
	if (err)
		fail("%s: %s (%d)", call, strerror(err), err);
}

static void sys(intmax_t ret, const char *call)
{
	if (ret == -1)
		fail("%s: %s", call, strerror(errno));
}

#define OK(call) ok((call), #call)
#define SYS(call) sys((intmax_t)(call), #call)

static void *allocate(size_t bytes)
{
	void *at = calloc(1, bytes ? bytes : 1);
	if (!at)
		fail("out of memory");
	return at;
}

static int64_t monotonic_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void nap(void)
{
	struct timespec delay = {0, 1000000};
	nanosleep(&delay, NULL);
}

/*
 * Streams and attributes
 */

trace_attr_t ts_attr(int stream_policy, size_t stream_bytes, size_t data_bytes)
{
	trace_attr_t attr;
	OK(posix_trace_attr_init(&attr));
	if (stream_policy)
		OK(posix_trace_attr_setstreamfullpolicy(&attr, stream_policy));
	if (stream_bytes)
		OK(posix_trace_attr_setstreamsize(&attr, stream_bytes));
	if (data_bytes)
		OK(posix_trace_attr_setmaxdatasize(&attr, data_bytes));
	return attr;
}

trace_attr_t ts_inherited_attr(int stream_policy, size_t stream_bytes, size_t data_bytes)
{
	trace_attr_t attr = ts_attr(stream_policy, stream_bytes, data_bytes);
	OK(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED));
	return attr;
}

/* The time in nanoseconds; it must be normalised. */
static int64_t attr_ns(const struct timespec *time)
{
	if (time->tv_nsec < 0 || time->tv_nsec >= 1000000000)
		fail("a time with %ld nanoseconds", time->tv_nsec);
	return ts_time_ns(time);
}

struct ts_values ts_values(const trace_attr_t *attr)
{
	struct timespec created = {-1, -1}, clock = {-1, -1};
	struct ts_values v;

	memset(&v, 0x5a, sizeof(v));
	OK(posix_trace_attr_getname(attr, v.name));
	OK(posix_trace_attr_getgenversion(attr, v.version));
	OK(posix_trace_attr_getinherited(attr, &v.inherited));
	OK(posix_trace_attr_getlogfullpolicy(attr, &v.log_policy));
	OK(posix_trace_attr_getstreamfullpolicy(attr, &v.stream_policy));
	OK(posix_trace_attr_getlogsize(attr, &v.log_bytes));
	OK(posix_trace_attr_getmaxdatasize(attr, &v.data_bytes));
	OK(posix_trace_attr_getstreamsize(attr, &v.stream_bytes));
	OK(posix_trace_attr_getmaxsystemeventsize(attr, &v.system_bytes));
	OK(posix_trace_attr_getcreatetime(attr, &created));
	OK(posix_trace_attr_getclockres(attr, &clock));
	v.created_ns = attr_ns(&created);
	v.clock_ns = attr_ns(&clock);
	return v;
}

struct ts_values ts_values_of(trace_id_t trid)
{
	trace_attr_t attr;

	OK(posix_trace_get_attr(trid, &attr));
	return ts_values(&attr);
}

size_t ts_user_bytes(const trace_attr_t *attr, size_t len)
{
	size_t bytes = 0;

	OK(posix_trace_attr_getmaxusereventsize(attr, len, &bytes));
	return bytes;
}

trace_id_t ts_create(pid_t pid, const trace_attr_t *attr)
{
	trace_id_t trid = 0;
	OK(posix_trace_create(pid, attr, &trid));
	return trid;
}

trace_id_t ts_create_running(pid_t pid, const trace_attr_t *attr)
{
	trace_id_t trid = ts_create(pid, attr);
	OK(posix_trace_start(trid));
	return trid;
}

trace_id_t ts_make_of(pid_t pid, int stream_policy, size_t stream_bytes, size_t data_bytes)
{
	trace_attr_t attr = ts_attr(stream_policy, stream_bytes, data_bytes);
	return ts_create(pid, &attr);
}

trace_id_t ts_make(int stream_policy, size_t stream_bytes, size_t data_bytes)
{
	return ts_make_of(0, stream_policy, stream_bytes, data_bytes);
}

trace_id_t ts_run_of(pid_t pid, int stream_policy, size_t stream_bytes, size_t data_bytes)
{
	trace_attr_t attr = ts_attr(stream_policy, stream_bytes, data_bytes);
	return ts_create_running(pid, &attr);
}

trace_id_t ts_run(int stream_policy, size_t stream_bytes, size_t data_bytes)
{
	return ts_run_of(0, stream_policy, stream_bytes, data_bytes);
}

trace_id_t ts_run_inherited(pid_t pid, int stream_policy, size_t stream_bytes, size_t data_bytes)
{
	trace_attr_t attr = ts_inherited_attr(stream_policy, stream_bytes, data_bytes);
	return ts_create_running(pid, &attr);
}

trace_id_t ts_past_start(trace_id_t trid)
{
	struct ts_event start = ts_expect(trid, POSIX_TRACE_START);

	ts_event_free(&start);
	return trid;
}

trace_id_t ts_create_log(pid_t pid, const trace_attr_t *attr, int fd)
{
	trace_id_t trid = 0;
	OK(posix_trace_create_withlog(pid, attr, fd, &trid));
	return trid;
}

void ts_start(trace_id_t trid)
{
	OK(posix_trace_start(trid));
}

void ts_stop(trace_id_t trid)
{
	OK(posix_trace_stop(trid));
}

void ts_flush(trace_id_t trid)
{
	OK(posix_trace_flush(trid));
}

void ts_clear(trace_id_t trid)
{
	OK(posix_trace_clear(trid));
}

void ts_shutdown(trace_id_t trid)
{
	OK(posix_trace_shutdown(trid));
}

struct posix_trace_status_info ts_status(trace_id_t trid)
{
	struct posix_trace_status_info info;
	memset(&info, 0x5a, sizeof(info));
	OK(posix_trace_get_status(trid, &info));
	return info;
}

unsigned long ts_figure(trace_id_t trid, const char *name)
{
	struct posixtrace_count figures[64];
	size_t count, i = 0;

	OK(posixtrace_get_counts(trid, figures, 64, &count));
	while (i < count && strcmp(figures[i].pt_name, name))
		i++;
	if (i == count)
		fail("no figure %s", name);
	return figures[i].pt_value;
}

void ts_expect_status(trace_id_t trid, int status, int full, int overrun)
{
	struct posix_trace_status_info info = ts_status(trid);
	if (info.posix_stream_status != status || info.posix_stream_full_status != full ||
	    info.posix_stream_overrun_status != overrun)
		fail("%s, %s, %s instead of %s, %s, %s",
		     info.posix_stream_status == POSIX_TRACE_RUNNING ? "RUNNING" : "SUSPENDED",
		     info.posix_stream_full_status == POSIX_TRACE_FULL ? "FULL" : "NOT_FULL",
		     info.posix_stream_overrun_status == POSIX_TRACE_OVERRUN ? "OVERRUN"
									     : "NO_OVERRUN",
		     status == POSIX_TRACE_RUNNING ? "RUNNING" : "SUSPENDED",
		     full == POSIX_TRACE_FULL ? "FULL" : "NOT_FULL",
		     overrun == POSIX_TRACE_OVERRUN ? "OVERRUN" : "NO_OVERRUN");
}

void ts_expect_running(trace_id_t trid)
{
	ts_expect_status(trid, POSIX_TRACE_RUNNING, POSIX_TRACE_NOT_FULL, POSIX_TRACE_NO_OVERRUN);
}

void ts_expect_suspended(trace_id_t trid)
{
	ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_NOT_FULL, POSIX_TRACE_NO_OVERRUN);
}

const struct ts_predefined ts_predefined[TS_PREDEFINED] = {
	{POSIX_TRACE_START, "posix_trace_start"},
	{POSIX_TRACE_STOP, "posix_trace_stop"},
	{POSIX_TRACE_FILTER, "posix_trace_filter"},
	{POSIX_TRACE_OVERFLOW, "posix_trace_overflow"},
	{POSIX_TRACE_RESUME, "posix_trace_resume"},
	{POSIX_TRACE_FLUSH_START, "posix_trace_flush_start"},
	{POSIX_TRACE_FLUSH_STOP, "posix_trace_flush_stop"},
	{POSIX_TRACE_ERROR, "posix_trace_error"},
	{POSIX_TRACE_UNNAMED_USEREVENT, "posix_trace_unnamed_userevent"},
};

trace_event_id_t ts_id(const char *name)
{
	trace_event_id_t id = 0;
	OK(posix_trace_eventid_open(name, &id));
	return id;
}

trace_event_id_t ts_trid_id(trace_id_t trid, const char *name)
{
	trace_event_id_t id = 0;
	OK(posix_trace_trid_eventid_open(trid, name, &id));
	return id;
}

void ts_expect_name(trace_id_t trid, trace_event_id_t id, const char *name)
{
	char got[TRACE_EVENT_NAME_MAX + 1];

	OK(posix_trace_eventid_get_name(trid, id, got));
	if (strcmp(got, name) != 0)
		fail("the name of event type %u is \"%s\", not \"%s\"", id, got, name);
}

static trace_event_set_t make_set(trace_event_id_t first, va_list ids)
{
	trace_event_set_t set;

	OK(posix_trace_eventset_empty(&set));
	for (trace_event_id_t id = first; id; id = va_arg(ids, trace_event_id_t))
		OK(posix_trace_eventset_add(id, &set));
	return set;
}

trace_event_set_t ts_set(trace_event_id_t first, ...)
{
	va_list ids;

	va_start(ids, first);
	trace_event_set_t set = make_set(first, ids);
	va_end(ids);
	return set;
}

bool ts_is_member(const trace_event_set_t *set, trace_event_id_t id)
{
	int is_member = 0;
	OK(posix_trace_eventset_ismember(id, set, &is_member));
	return is_member != 0;
}

/* The first identifier that only one of the sets has; 0 if there is none. */
static trace_event_id_t difference(const trace_event_set_t *a, const trace_event_set_t *b)
{
	/* The identifiers are 1 to 8 for system events; those of user events follow without a
	 * gap. */
	for (trace_event_id_t id = 1; id <= 8 + TRACE_USER_EVENT_MAX; id++)
		if (ts_is_member(a, id) != ts_is_member(b, id))
			return id;
	return 0;
}

bool ts_same_set(const trace_event_set_t *a, const trace_event_set_t *b)
{
	return difference(a, b) == 0;
}

static void expect_set(const trace_event_set_t *set, trace_event_id_t first, va_list ids)
{
	trace_event_set_t expected = make_set(first, ids);
	trace_event_id_t id = difference(set, &expected);

	if (id)
		fail("the set %s %u", ts_is_member(set, id) ? "has" : "does not have", id);
}

void ts_expect_set(const trace_event_set_t *set, trace_event_id_t first, ...)
{
	va_list ids;

	va_start(ids, first);
	expect_set(set, first, ids);
	va_end(ids);
}

void ts_expect_filter(trace_id_t trid, trace_event_id_t first, ...)
{
	trace_event_set_t filter = ts_filter(trid);
	va_list ids;

	va_start(ids, first);
	expect_set(&filter, first, ids);
	va_end(ids);
}

trace_event_set_t ts_filter(trace_id_t trid)
{
	trace_event_set_t set;
	OK(posix_trace_get_filter(trid, &set));
	return set;
}

void ts_set_filter(trace_id_t trid, const trace_event_set_t *set, int how)
{
	OK(posix_trace_set_filter(trid, set, how));
}

/*
 * Generating
 */

void ts_emit(trace_event_id_t id, uint32_t number)
{
	posix_trace_event(id, &number, sizeof(number));
}

uint32_t ts_number(const struct ts_event *event)
{
	uint32_t number;
	if (event->len < sizeof(number))
		fail("event %u has %zu bytes of data, no number", event->info.posix_event_id,
		     event->len);
	memcpy(&number, event->data, sizeof(number));
	return number;
}

void ts_emit_numbers(trace_event_id_t id, uint32_t first, uint32_t last)
{
	for (uint32_t number = first; number <= last; number++)
		ts_emit(id, number);
}

static void emit_bytes(trace_event_id_t id, uint32_t number, size_t len)
{
	unsigned char data[TS_DATA_MAX];
	if (len < sizeof(number) || len > sizeof(data))
		fail("no numbered events of %zu bytes", len);
	memset(data, (int)(number & 0x7f), len);
	memcpy(data, &number, sizeof(number));
	posix_trace_event(id, data, len);
}

uint32_t ts_fill(trace_id_t trid, size_t stream_bytes, trace_event_id_t id, size_t len,
		 uint32_t first)
{
	size_t generated = 0;
	while (generated <= 2 * stream_bytes + TS_SLACK_BYTES) {
		emit_bytes(id, first++, len);
		generated += len;
		if (ts_status(trid).posix_stream_full_status == POSIX_TRACE_FULL)
			return first;
	}
	fail("not full after %zu bytes of data in a stream of %zu", generated, stream_bytes);
}

uint32_t ts_flood(size_t stream_bytes, trace_event_id_t id, size_t len, uint32_t first)
{
	for (size_t generated = 0; generated <= 2 * stream_bytes + TS_SLACK_BYTES; generated += len)
		emit_bytes(id, first++, len);
	return first;
}

/*
 * Reading
 */

static void keep_event(struct ts_event *event, const struct posix_trace_event_info *info,
		       const unsigned char *data, size_t len)
{
	if (len > TS_DATA_MAX)
		fail("data_len is %zu, the buffer has %d", len, TS_DATA_MAX);
	if (info->posix_timestamp.tv_nsec < 0 || info->posix_timestamp.tv_nsec >= 1000000000)
		fail("a timestamp with %ld nanoseconds", info->posix_timestamp.tv_nsec);
	event->info = *info;
	event->len = len;
	event->data = allocate(len + 1);
	memcpy(event->data, data, len);
}

bool ts_try_next(trace_id_t trid, struct ts_event *event)
{
	unsigned char data[TS_DATA_MAX];
	struct posix_trace_event_info info;
	size_t len = SIZE_MAX;
	int unavailable = -1;

	memset(&info, 0xa5, sizeof(info));
	OK(posix_trace_trygetnext_event(trid, &info, data, sizeof(data), &len, &unavailable));
	if (unavailable)
		return false;
	keep_event(event, &info, data, len);
	return true;
}

struct ts_event ts_next(trace_id_t trid)
{
	unsigned char data[TS_DATA_MAX];
	struct posix_trace_event_info info;
	struct timespec end = ts_deadline((int)ts_patience_ms);
	size_t len = SIZE_MAX;
	int unavailable = -1;
	struct ts_event event;

	memset(&info, 0xa5, sizeof(info));
	OK(posix_trace_timedgetnext_event(trid, &info, data, sizeof(data), &len, &unavailable,
					  &end));
	if (unavailable)
		fail("timedgetnext returned 0 with unavailable %d", unavailable);
	keep_event(&event, &info, data, len);
	return event;
}

struct ts_event ts_expect(trace_id_t trid, trace_event_id_t id)
{
	struct ts_event event = ts_next(trid);
	if (event.info.posix_event_id != id)
		fail("next event is %u instead of %u", event.info.posix_event_id, id);
	return event;
}

void ts_expect_number(trace_id_t trid, trace_event_id_t id, uint32_t number)
{
	struct ts_event event = ts_expect(trid, id);

	if (ts_number(&event) != number)
		fail("the next event has number %u instead of %u", ts_number(&event), number);
	ts_event_free(&event);
}

void ts_expect_none(trace_id_t trid)
{
	struct ts_event event;
	if (ts_try_next(trid, &event))
		fail("there is an event %u with %zu bytes of data", event.info.posix_event_id,
		     event.len);
}

static void append(struct ts_events *events, const struct ts_event *event)
{
	/* The array always has room for a power of two of events. */
	if ((events->count & (events->count - 1)) == 0) {
		size_t room = events->count ? 2 * events->count : 1;
		events->at = realloc(events->at, room * sizeof(*events->at));
		if (!events->at)
			fail("out of memory");
	}
	events->at[events->count++] = *event;
}

struct ts_events ts_read_all(trace_id_t trid)
{
	struct ts_events events = {0, NULL};
	struct ts_event event;
	while (ts_try_next(trid, &event))
		append(&events, &event);
	return events;
}

struct ts_events ts_read_until(trace_id_t trid, trace_event_id_t id)
{
	struct ts_events events = {0, NULL};
	struct ts_event event;
	do {
		event = ts_next(trid);
		append(&events, &event);
	} while (event.info.posix_event_id != id);
	return events;
}

struct ts_events ts_read_log(trace_id_t trid)
{
	unsigned char *data = allocate(TS_DATA_MAX);
	struct ts_events events = {0, NULL};
	for (;;) {
		struct posix_trace_event_info info;
		struct ts_event event;
		size_t len = SIZE_MAX;
		int unavailable = -1;

		memset(&info, 0xa5, sizeof(info));
		OK(posix_trace_getnext_event(trid, &info, data, TS_DATA_MAX, &len, &unavailable));
		if (unavailable)
			break;
		keep_event(&event, &info, data, len);
		append(&events, &event);
	}
	free(data);
	return events;
}

void ts_event_free(struct ts_event *event)
{
	free(event->data);
	event->data = NULL;
}

void ts_events_free(struct ts_events *events)
{
	for (size_t i = 0; i < events->count; i++)
		free(events->at[i].data);
	free(events->at);
	events->at = NULL;
	events->count = 0;
}

int ts_stop_reason(const struct ts_event *event)
{
	int reason;

	if (event->info.posix_event_id != POSIX_TRACE_STOP || event->len != sizeof(reason))
		fail("no STOP but type %u with %zu bytes", event->info.posix_event_id, event->len);
	memcpy(&reason, event->data, sizeof(reason));
	return reason;
}

trace_event_set_t ts_set_in(const struct ts_event *event, size_t index)
{
	trace_event_set_t set;

	if (event->len < (index + 1) * sizeof(set))
		fail("no set %zu in %zu bytes", index, event->len);
	memcpy(&set, event->data + index * sizeof(set), sizeof(set));
	return set;
}

size_t ts_count(const struct ts_events *events, trace_event_id_t id)
{
	size_t count = 0;
	for (size_t i = 0; i < events->count; i++)
		count += events->at[i].info.posix_event_id == id;
	return count;
}

ssize_t ts_find(const struct ts_events *events, trace_event_id_t id, size_t from)
{
	for (size_t i = from; i < events->count; i++)
		if (events->at[i].info.posix_event_id == id)
			return (ssize_t)i;
	return -1;
}

static void expect_ids(const struct ts_events *events, trace_event_id_t first, va_list ids)
{
	char seen[200];
	size_t used = 0;

	for (size_t i = 0; i < events->count && used < sizeof(seen) - 12; i++)
		used += (size_t)snprintf(seen + used, sizeof(seen) - used, " %u",
					 events->at[i].info.posix_event_id);
	seen[used] = '\0';

	size_t i = 0;
	for (trace_event_id_t id = first; id; id = va_arg(ids, trace_event_id_t), i++)
		if (i >= events->count || events->at[i].info.posix_event_id != id)
			fail("event %zu is not %u; there are:%s", i, id, seen);
	if (i != events->count)
		fail("%zu events instead of %zu:%s", events->count, i, seen);
}

void ts_expect_ids(const struct ts_events *events, trace_event_id_t first, ...)
{
	va_list ids;

	va_start(ids, first);
	expect_ids(events, first, ids);
	va_end(ids);
}

struct ts_events ts_read_ids(trace_id_t trid, trace_event_id_t first, ...)
{
	struct ts_events events = ts_read_all(trid);
	va_list ids;

	va_start(ids, first);
	expect_ids(&events, first, ids);
	va_end(ids);
	return events;
}

void ts_expect_sorted(const struct ts_events *events)
{
	for (size_t i = 1; i < events->count; i++) {
		int64_t before = ts_time_ns(&events->at[i - 1].info.posix_timestamp);
		int64_t after = ts_time_ns(&events->at[i].info.posix_timestamp);
		if (after < before)
			fail("event %zu is %lld ns older than the one before it", i,
			     (long long)(before - after));
	}
}

void ts_expect_numbers(const struct ts_events *events, trace_event_id_t id, uint32_t first,
		       uint32_t last)
{
	int64_t due = first;

	ts_expect_sorted(events);
	for (size_t i = 0; i < events->count; i++) {
		if (events->at[i].info.posix_event_id != id)
			continue;
		if (ts_number(&events->at[i]) != due)
			fail("event %zu has number %u instead of %lld", i,
			     ts_number(&events->at[i]), (long long)due);
		due++;
	}
	if (due != (int64_t)last + 1)
		fail("numbers end before %lld instead of %u", (long long)due, last + 1);
}

struct ts_events ts_read_numbers(trace_id_t trid, trace_event_id_t id, uint32_t first,
				 uint32_t last)
{
	struct ts_events events = ts_read_all(trid);

	ts_expect_numbers(&events, id, first, last);
	return events;
}

int64_t ts_time_ns(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

int64_t ts_realtime_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return ts_time_ns(&now);
}

struct timespec ts_deadline(int ms)
{
	int64_t then = ts_realtime_ns() + (int64_t)ms * 1000000;
	struct timespec time = {(time_t)(then / 1000000000), (long)(then % 1000000000)};
	return time;
}

/*
 * Files
 */

int ts_temp_named(char *path, size_t path_bytes)
{
	const char *dir = getenv("TMPDIR");
	int fd;
	if (!dir || !*dir)
		dir = "/tmp";
	if ((size_t)snprintf(path, path_bytes, "%s/posixtrace-test-%ld-XXXXXX", dir,
			     (long)getpid()) >= path_bytes)
		fail("no room for the name of a temporary file");
	SYS(fd = mkostemp(path, O_CLOEXEC));
	return fd;
}

int ts_temp_file(void)
{
	char path[4096];
	int fd = ts_temp_named(path, sizeof(path));
	SYS(unlink(path));
	return fd;
}

int ts_reopen(int fd, int flags)
{
	char path[64];
	int other;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	SYS(other = open(path, flags | O_CLOEXEC));
	return other;
}

off_t ts_file_size(int fd)
{
	struct stat st;
	SYS(fstat(fd, &st));
	return st.st_size;
}

trace_id_t ts_open_log(int fd)
{
	trace_id_t trid = 0;
	OK(posix_trace_open(fd, &trid));
	return trid;
}

void ts_close_log(trace_id_t trid)
{
	OK(posix_trace_close(trid));
}

struct ts_events ts_log_events(int fd)
{
	trace_id_t trid = ts_open_log(fd);
	struct ts_events events = ts_read_log(trid);
	ts_close_log(trid);
	return events;
}

trace_id_t ts_end_and_open_log(trace_id_t trid, int fd)
{
	ts_shutdown(trid);
	return ts_open_log(fd);
}

struct ts_events ts_end_log(trace_id_t trid, int fd)
{
	ts_shutdown(trid);
	return ts_log_events(fd);
}

void ts_expect_in_log(int fd, trace_event_id_t id, uint32_t first, uint32_t last)
{
	struct ts_events events = ts_log_events(fd);

	ts_expect_numbers(&events, id, first, last);
	ts_events_free(&events);
}

void ts_expect_logged(trace_id_t trid, int fd, trace_event_id_t id, uint32_t first, uint32_t last)
{
	ts_shutdown(trid);
	ts_expect_in_log(fd, id, first, last);
}

static void *move_bytes(void *arg)
{
	struct ts_stuck *stuck = arg;
	char data[4096];
	ssize_t got;

	while ((got = read(stuck->from, data, sizeof(data))) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		/* The pipe is empty. It is non-blocking only while ts_create_stuck() reads the head
		 * of the log. */
		if (got < 0 && errno == EAGAIN)
			break;
		SYS(got);
		if (write(stuck->file, data, (size_t)got) != got)
			fail("cannot keep the log: %s", strerror(errno));
	}
	return NULL;
}

trace_id_t ts_create_stuck(pid_t pid, const trace_attr_t *attr, struct ts_stuck *stuck)
{
	int ends[2];

	memset(stuck, 0, sizeof(*stuck));
	SYS(pipe2(ends, O_CLOEXEC));
	trace_id_t trid = ts_create_log(pid, attr, ends[1]);
	stuck->from = ends[0];
	stuck->file = ts_temp_file();
	SYS(fcntl(ends[0], F_SETFL, O_NONBLOCK));
	move_bytes(stuck);
	SYS(fcntl(ends[0], F_SETFL, 0));
	SYS(fcntl(ends[1], F_SETPIPE_SZ, 4096));
	close(ends[1]);
	return trid;
}

void ts_unstick(struct ts_stuck *stuck)
{
	stuck->mover = ts_thread(move_bytes, stuck);
	stuck->is_moving = true;
}

int ts_stuck_log(struct ts_stuck *stuck)
{
	if (stuck->is_moving)
		ts_join(stuck->mover);
	stuck->is_moving = false;
	close(stuck->from);
	return stuck->file;
}

/*
 * Targets. A call is one SOCK_SEQPACKET message to the target, and its result is one message back.
 * The address of a routine is sent as its distance from ts_target_serve(), so that it is valid also
 * in a target that has executed this program again, at another address. A message can have a
 * descriptor.
 */

struct request {
	ptrdiff_t routine;
	size_t arg_bytes;
	unsigned char arg[TS_DATA_MAX + 64];
};

struct reply {
	intptr_t result;
};

/* Sends a message, with the descriptor fd unless that is -1. Returns false if the other end is
 * closed. */
static bool send_message(int sock, const void *data, size_t bytes, int fd)
{
	struct iovec iov = {(void *)(uintptr_t)data, bytes};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	memset(&control, 0, sizeof(control));
	if (fd >= 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	}
	for (;;) {
		ssize_t sent = sendmsg(sock, &msg, MSG_NOSIGNAL);
		if (sent >= 0 || errno != EINTR)
			return sent == (ssize_t)bytes;
	}
}

/* Receives a message, and its descriptor in *fd unless fd is NULL (-1: it has none). Returns the
 * size of the message, or 0 if the other end is closed. */
static size_t receive_message(int sock, void *data, size_t bytes, int *fd)
{
	struct iovec iov = {data, bytes};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	ssize_t got;

	do {
		got = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got <= 0)
		return 0;
	if (fd) {
		struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
		*fd = -1;
		if (head && head->cmsg_type == SCM_RIGHTS)
			memcpy(fd, CMSG_DATA(head), sizeof(*fd));
	}
	return (size_t)got;
}

/* In a target: a routine that makes a descriptor for the test stores it here; it is sent with the
 * result. */
static int serve_reply_fd = -1;
static int serve_sock = -1;

void ts_target_serve(int sock)
{
	struct request *request = allocate(sizeof(*request));
	const size_t head_bytes = offsetof(struct request, arg);

	serve_sock = sock;
	while (receive_message(sock, request, sizeof(*request), NULL) >= head_bytes) {
		ts_routine *routine =
			(ts_routine *)((uintptr_t)ts_target_serve + (uintptr_t)request->routine);
		struct reply reply = {routine(request->arg, request->arg_bytes)};
		int fd = serve_reply_fd;
		serve_reply_fd = -1;
		if (!send_message(sock, &reply, sizeof(reply), fd))
			break;
		if (fd >= 0)
			close(fd);
	}
	free(request);
}

/* The sockets of a target, whose end ends[1] survives exec. The caller closes its own copy of that. */
static void make_sockets(int ends[2])
{
	SYS(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
	SYS(fcntl(ends[0], F_SETFD, FD_CLOEXEC));
}

/* Run in a forked child, which must not return to the code of the test. */
__attribute__((noreturn)) static void be_target(int sock)
{
	/* If the test dies, its end of the socket is closed, so that the target ends, too. */
	ts_target_serve(sock);
	exit(0);
}

struct ts_target ts_target_fork(void)
{
	struct ts_target target;
	int ends[2];

	make_sockets(ends);
	fflush(NULL);
	SYS(target.pid = fork());
	if (target.pid == 0) {
		close(ends[0]);
		be_target(ends[1]);
	}
	close(ends[1]);
	target.sock = ends[0];
	return target;
}

void ts_target_call_begin(struct ts_target *target, ts_routine *routine, const void *arg,
			  size_t arg_bytes)
{
	struct request *request = allocate(sizeof(*request));

	if (arg_bytes > sizeof(request->arg))
		fail("argument of %zu bytes for a target", arg_bytes);
	request->routine = (ptrdiff_t)((uintptr_t)routine - (uintptr_t)ts_target_serve);
	request->arg_bytes = arg_bytes;
	if (arg_bytes)
		memcpy(request->arg, arg, arg_bytes);
	if (!send_message(target->sock, request, offsetof(struct request, arg) + arg_bytes, -1))
		fail("target %d is gone", (int)target->pid);
	free(request);
}

static intptr_t target_result(struct ts_target *target, int *fd)
{
	struct pollfd poll_for = {.fd = target->sock, .events = POLLIN};
	int64_t end = monotonic_ms() + ts_patience_ms;
	struct reply reply;
	int ready;

	do {
		int64_t left = end - monotonic_ms();
		ready = poll(&poll_for, 1, left > 0 ? (int)left : 0);
	} while (ready < 0 && errno == EINTR);
	if (ready <= 0)
		fail("target %d does not answer", (int)target->pid);
	if (receive_message(target->sock, &reply, sizeof(reply), fd) != sizeof(reply))
		fail("target %d is gone", (int)target->pid);
	return reply.result;
}

intptr_t ts_target_result(struct ts_target *target)
{
	return target_result(target, NULL);
}

intptr_t ts_target_call(struct ts_target *target, ts_routine *routine, const void *arg,
			size_t arg_bytes)
{
	ts_target_call_begin(target, routine, arg, arg_bytes);
	return target_result(target, NULL);
}

struct event_arg {
	trace_event_id_t id;
	uint32_t number;
};

TS_ROUTINE(do_emit)
{
	const struct event_arg *event = arg;

	ts_emit(event->id, event->number);
	return 0;
}

void ts_target_emit(struct ts_target *target, trace_event_id_t id, uint32_t number)
{
	const struct event_arg arg = {id, number};

	ts_target_call(target, do_emit, &arg, sizeof(arg));
}

TS_ROUTINE(do_open)
{
	trace_event_id_t id = 0;
	int err = posix_trace_eventid_open(arg, &id);
	return err ? -err : (intptr_t)id;
}

trace_event_id_t ts_target_id(struct ts_target *target, const char *name)
{
	intptr_t result = ts_target_call(target, do_open, name, strlen(name) + 1);
	if (result < 0)
		fail("eventid_open in the target: %s", strerror((int)-result));
	return (trace_event_id_t)result;
}

TS_ROUTINE(do_fork)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) < 0)
		return -errno;
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	/* The target does not wait for the child, so the kernel shall reap it. */
	signal(SIGCHLD, SIG_IGN);
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		signal(SIGCHLD, SIG_DFL);
		close(serve_sock);
		close(ends[0]);
		be_target(ends[1]);
	}
	close(ends[1]);
	serve_reply_fd = ends[0];
	return pid;
}

struct ts_target ts_target_fork_child(struct ts_target *target)
{
	struct ts_target child;

	ts_target_call_begin(target, do_fork, NULL, 0);
	intptr_t result = target_result(target, &child.sock);
	if (result < 0)
		fail("fork in the target: %s", strerror((int)-result));
	if (child.sock < 0)
		fail("no socket from the target's child");
	child.pid = (pid_t)result;
	return child;
}

TS_ROUTINE(do_exec)
{
	char number[16];
	snprintf(number, sizeof(number), "%d", serve_sock);
	fcntl(serve_sock, F_SETFD, 0);
	execl("/proc/self/exe", "target", "--helper", "ts_serve", number, (char *)NULL);
	return errno;
}

TS_ROUTINE(do_nothing)
{
	return 0;
}

void ts_target_exec(struct ts_target *target)
{
	ts_target_call_begin(target, do_exec, NULL, 0);
	/* If the exec fails, do_exec() returns its error. If it succeeds, the first answer is that
	 * of the new program to do_nothing(). */
	ts_target_call_begin(target, do_nothing, NULL, 0);
	intptr_t result = target_result(target, NULL);
	if (result)
		fail("exec in the target: %s", strerror((int)result));
}

struct ts_target ts_target_late(int *release)
{
	int ends[2], pipe_ends[2];
	char own[PATH_MAX], other[PATH_MAX], link[64], number[16];
	ssize_t len;
	pid_t pid;

	SYS(len = readlink("/proc/self/exe", own, sizeof(own) - 1));
	own[len] = '\0';
	make_sockets(ends);
	SYS(pipe2(pipe_ends, O_CLOEXEC));
	fflush(NULL);
	SYS(pid = fork());
	if (pid == 0) {
		snprintf(number, sizeof(number), "%d", ends[1]);
		dup2(pipe_ends[0], 0);
		execl("/bin/sh", "sh", "-c", "read line; exec \"$0\" --helper ts_serve \"$1\"", own,
		      number, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	close(pipe_ends[0]);
	*release = pipe_ends[1];
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	for (int64_t end = monotonic_ms() + ts_patience_ms;; nap()) {
		len = readlink(link, other, sizeof(other) - 1);
		other[len > 0 ? len : 0] = '\0';
		if (len > 0 && strcmp(other, own) != 0)
			break;
		if (monotonic_ms() > end)
			fail("no shell");
	}
	ts_wait_asleep(pid, pid);
	return (struct ts_target){pid, ends[0]};
}

void ts_target_release(int release)
{
	if (write(release, "\n", 1) != 1)
		fail("cannot release the shell: %s", strerror(errno));
	close(release);
}

/* Waits until the process has ended. Returns its wait status if it was a child of this process,
 * otherwise -1. */
static int wait_for_end(pid_t pid)
{
	int64_t end = monotonic_ms() + ts_patience_ms;
	for (;;) {
		int status;
		pid_t ended = waitpid(pid, &status, WNOHANG);

		if (ended == pid)
			return status;
		if (ended < 0 && strchr("ZX", thread_state(pid, pid)))
			return -1;
		if (monotonic_ms() > end)
			fail("target %d does not end", (int)pid);
		nap();
	}
}

void ts_target_end(struct ts_target *target)
{
	/* shutdown() is needed in addition to close(), because other targets may have copies of the
	 * descriptor. */
	shutdown(target->sock, SHUT_RDWR);
	close(target->sock);
	target->sock = -1;
	int status = wait_for_end(target->pid);
	if (status != -1 && (!WIFEXITED(status) || WEXITSTATUS(status)))
		fail("target %d ended with wait status 0x%x", (int)target->pid,
		     (unsigned int)status);
}

void ts_target_kill(struct ts_target *target)
{
	kill(target->pid, SIGKILL);
	wait_for_end(target->pid);
	close(target->sock);
	target->sock = -1;
}

/*
 * Threads
 */

pid_t ts_gettid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

void ts_wait_asleep(pid_t pid, pid_t tid)
{
	int64_t end = monotonic_ms() + ts_patience_ms;
	/* Five looks, a millisecond apart: a short sleep before the call that is waited for, for
	 * instance for a lock, does not last that long. */
	for (int in_a_row = 0; in_a_row < 5;) {
		char state = thread_state(pid, tid);
		if (state == 'X' || state == 'Z')
			fail("thread %d ended instead of waiting", (int)tid);
		in_a_row = state == 'S' ? in_a_row + 1 : 0;
		if (monotonic_ms() > end)
			fail("thread %d does not wait", (int)tid);
		nap();
	}
}

static void *read_one(void *arg)
{
	struct ts_reader *reader = arg;
	unsigned char *data = allocate(TS_DATA_MAX);
	struct posix_trace_event_info info;
	size_t len = 0;

	reader->unavailable = -1;
	reader->tid = ts_gettid();
	reader->result = posix_trace_getnext_event(reader->trid, &info, data, TS_DATA_MAX, &len,
						   &reader->unavailable);
	reader->has_returned = true;
	if (!reader->result && !reader->unavailable)
		keep_event(&reader->event, &info, data, len);
	free(data);
	return NULL;
}

void ts_reader_start(struct ts_reader *reader, trace_id_t trid)
{
	memset(reader, 0, sizeof(*reader));
	reader->trid = trid;
	reader->thread = ts_thread(read_one, reader);
	while (!reader->tid)
		nap();
	ts_wait_asleep(getpid(), reader->tid);
}

bool ts_reader_is_waiting(struct ts_reader *reader)
{
	return !reader->has_returned;
}

void ts_reader_join(struct ts_reader *reader)
{
	ts_join(reader->thread);
}

void ts_reader_expect(struct ts_reader *reader, uint32_t number)
{
	ts_reader_join(reader);
	OK(reader->result);
	if (reader->unavailable)
		fail("the reader has no event");
	if (ts_number(&reader->event) != number)
		fail("the reader has number %u instead of %u", ts_number(&reader->event), number);
}

void ts_wait_turns(pid_t pid, unsigned int turns)
{
	int64_t end = monotonic_ms() + ts_patience_ms;
	char path[64], line[128];
	unsigned long first = 0, now = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	for (bool is_first = true; is_first || now < first + turns; is_first = false, nap()) {
		FILE *file = fopen(path, "re");

		if (!file)
			fail("process %d is gone", (int)pid);
		while (fgets(line, sizeof(line), file))
			(void)sscanf(line, "voluntary_ctxt_switches: %lu", &now);
		fclose(file);
		if (is_first)
			first = now;
		if (monotonic_ms() > end)
			fail("process %d does not go on", (int)pid);
	}
}

pthread_t ts_thread(void *(*run)(void *), void *arg)
{
	pthread_t thread;
	OK(pthread_create(&thread, NULL, run, arg));
	return thread;
}

void *ts_join(pthread_t thread)
{
	struct timespec end = ts_deadline((int)ts_patience_ms);
	void *result = NULL;
	OK(pthread_timedjoin_np(thread, &result, &end));
	return result;
}

pid_t ts_process(void *(*run)(void *), void *arg)
{
	pid_t pid;

	fflush(NULL);
	SYS(pid = fork());
	if (pid == 0) {
		run(arg);
		_exit(0);
	}
	return pid;
}

void *ts_emit_on(void *emitter)
{
	struct ts_emitter *e = emitter;

	while (!e->is_over) {
		if (e->begun == e->allowed) {
			sched_yield();
			continue;
		}
		uint32_t number = e->begun++;
		ts_emit(e->id, number);
		e->done = number + 1;
		if (number % 8 == 0)
			sched_yield();
	}
	return NULL;
}

/*
 * Signals
 */

static timer_t alarm_timer;
static struct itimerspec alarm_delay;
static volatile sig_atomic_t alarm_count;

static void on_alarm(int sig)
{
	(void)sig;
	alarm_count++;
	/* The time between two signals grows, so that the interrupted call can finish on a slow
	 * machine, too. */
	alarm_delay.it_value.tv_nsec += alarm_delay.it_value.tv_nsec / 64;
	alarm_delay.it_value.tv_nsec %= 1000000000;
	timer_settime(alarm_timer, 0, &alarm_delay, NULL);
}

void ts_interrupt(long us)
{
	struct sigaction action = {.sa_handler = on_alarm};
	struct sigevent notify = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};

	alarm_delay.it_value.tv_nsec = us * 1000;
	SYS(sigaction(SIGALRM, &action, NULL));
	SYS(timer_create(CLOCK_MONOTONIC, &notify, &alarm_timer));
	SYS(timer_settime(alarm_timer, 0, &alarm_delay, NULL));
}

unsigned int ts_interrupt_end(void)
{
	SYS(timer_delete(alarm_timer));
	unsigned int count = (unsigned int)alarm_count;
	alarm_count = 0;
	return count;
}

/*
 * Users
 */

#define USERS_PER_RUN 16

/* The process in which the constructor ran. All other processes of the test are forked from it. */
static pid_t first_pid;
/* A number that no other test program has at the same time, for the numbers of users.
 * tests/support/isolated gives one (PTRC_TEST_NUMBER), because in its pid namespaces tests have
 * equal pids. */
static unsigned long run_number;
static bool has_users;

uid_t ts_user(unsigned int n)
{
	/* These numbers are far above those of the users of any system. */
	return 1610612736 + (uid_t)run_number * USERS_PER_RUN + n;
}

void ts_drop_privileges(unsigned int n)
{
	uid_t uid = ts_user(n);
	if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
	    setresuid(uid, uid, uid) < 0) {
		if (ts_on_skip)
			ts_on_skip("needs root, to be another user");
		_exit(77);
	}
}

static void remove_directory(uid_t uid)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/dev/shm/posixtrace-%lu", (unsigned long)uid);
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    unlinkat(dirfd(dir), entry->d_name, 0) < 0)
			unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
	closedir(dir);
	rmdir(path);
}

__attribute__((constructor)) static void note_first_process(void)
{
	const char *number = getenv("PTRC_TEST_NUMBER");

	first_pid = getpid();
	run_number = number ? strtoul(number, NULL, 10) : (unsigned long)first_pid;
	/* With PTRC_TEST_NUMBER, /dev/shm is that of a mount namespace, and its contents disappear
	 * with it. */
	has_users = geteuid() == 0 && !number;
}

__attribute__((destructor)) static void remove_directories(void)
{
	if (!has_users || getpid() != first_pid)
		return;
	for (unsigned int n = 0; n < USERS_PER_RUN; n++)
		remove_directory(ts_user(n));
}
