/* SPDX-License-Identifier: MIT */
/* posix_trace_getnext_event, _timedgetnext_event, _trygetnext_event. */
#include "config.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <trace.h>

#include "lib/stream/barrier.h"
#include "lib/control/controller.h"
#include "lib/control/handle.h"
#include "lib/log/log_stream.h"
#include "lib/base/sys.h"
#include "lib/life/life.h"

/* What one call may wait for event calls at work while events behind them are there: as long
 * as it takes, or until who was preempted has had a processor again. */
#define HOLD_WAITING_NS INT64_C(100000000)
#define HOLD_TRY_NS INT64_C(10000000)

enum how { WAIT, WAIT_UNTIL, TRY };

struct result {
	struct posix_trace_event_info *event;
	void *data;
	size_t num_bytes;
	size_t *data_len;
	int *unavailable;
};

static void deliver(const struct ptrc_live_event *e, const struct result *out)
{
	size_t len = e->len < out->num_bytes ? e->len : out->num_bytes;

	memset(out->event, 0, sizeof(*out->event));
	out->event->posix_event_id = e->id_flags & PTRC_REC_ID_MASK;
	out->event->posix_pid = e->origin.pid;
	out->event->posix_prog_address = (void *)(uintptr_t)e->addr;
	out->event->posix_truncation_status = len < e->len ? POSIX_TRACE_TRUNCATED_READ
					      : e->id_flags & PTRC_REC_TRUNCATED
						      ? POSIX_TRACE_TRUNCATED_RECORD
						      : POSIX_TRACE_NOT_TRUNCATED;
	out->event->posix_tid = e->origin.tid;
	out->event->posix_timestamp.tv_sec = e->ns / 1000000000;
	out->event->posix_timestamp.tv_nsec = e->ns % 1000000000;
	out->event->posix_thread_id = (pthread_t)e->origin.thread;
	if (len)
		memcpy(out->data, e->data, len);
	*out->data_len = len;
	*out->unavailable = 0;
}

static int try_once(struct ptrc_controller *c, int64_t hold_ns, const struct result *out)
{
	struct ptrc_live_event e;
	int error;

	pthread_mutex_lock(&c->reader_lock);
	error = ptrc_live_reader_next(&c->reader, hold_ns, &e);
	if (!error)
		deliver(&e, out);
	pthread_mutex_unlock(&c->reader_lock);
	return error;
}

/* The one cancellation point: nothing is held here but the reference to the stream. */
static int sleep_on(_Atomic uint32_t *futex, uint32_t seen, const struct timespec *until,
		    int callers_state)
{
	int type, state;
	long ret;

	pthread_setcancelstate(callers_state, &state);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	pthread_testcancel();
	/* Without a time limit unless there is one: only then does the kernel restart the
	 * call after a handler with SA_RESTART. The limit follows CLOCK_REALTIME. */
	ret = ptrc_sys(SYS_futex, futex, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, seen,
		       until, 0, FUTEX_BITSET_MATCH_ANY);
	pthread_setcanceltype(type, NULL);
	pthread_setcancelstate(state, NULL);
	return ret == -EINTR ? EINTR : 0;
}

static bool is_past(const struct timespec *t)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec > t->tv_sec ||
	       (now.tv_sec == t->tv_sec && now.tv_nsec >= t->tv_nsec);
}

/* Not 0, nor one that a waker may still hold. */
static uint32_t new_ticket(struct ptrc_stream_header *h)
{
	uint32_t ticket;

	do
		ticket = atomic_fetch_add_explicit(&h->waiter_ticket, 1,
						   memory_order_relaxed) +
			 1;
	while (!ticket);
	return ticket;
}

static int next_live(struct ptrc_controller *c, enum how how, const struct result *out,
		     const struct timespec *until, int cancel_state)
{
	struct ptrc_stream_header *h = c->stream.header;

	for (;;) {
		uint32_t seen =
			atomic_load_explicit(&h->event_futex, memory_order_acquire);
		int error;

		if (c->is_closing)
			return EINVAL;
		error = try_once(c, how == TRY ? HOLD_TRY_NS : HOLD_WAITING_NS, out);
		if (error != ENODATA)
			return error;
		if (how == TRY)
			return 0;
		if (how == WAIT_UNTIL) {
			if (!until || until->tv_nsec < 0 || until->tv_nsec >= 1000000000)
				return EINVAL;
			if (until->tv_sec < 0 || is_past(until))
				return ETIMEDOUT;
		}
		/* A writer that does not see waiters after the barrier published before it:
		 * then the second look finds its event. */
		atomic_store_explicit(&h->waiters, new_ticket(h), memory_order_seq_cst);
		ptrc_barrier(h);
		if (c->is_closing)
			return EINVAL;
		error = try_once(c, HOLD_WAITING_NS, out);
		if (error != ENODATA)
			return error;
		error = sleep_on(&h->event_futex, seen, how == WAIT_UNTIL ? until : NULL,
				 cancel_state);
		/* A handler may have forked, and return here in the child. */
		if (ptrc_sys_getpid() != c->pid)
			return EINVAL;
		if (error)
			return error;
	}
}

struct leave {
	trace_id_t id;
	int cancel_state;
};

static void leave(void *arg)
{
	struct leave *l = arg;

	ptrc_controller_leave(l->id, l->cancel_state);
}

static int next(trace_id_t id, enum how how, const struct result *out,
		const struct timespec *until)
{
	enum ptrc_handle_kind kind;
	struct leave l = {.id = id};
	void *object;
	int error;

	/* GETNEXT-19: whenever no event is reported. */
	if (out->unavailable)
		*out->unavailable = 1;
	if (out->data_len)
		*out->data_len = 0;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &l.cancel_state);
	object = ptrc_handle_get(id, how == TRY ? PTRC_HANDLE_ACTIVE : PTRC_HANDLE_ANY,
				 &kind);
	if (!object) {
		pthread_setcancelstate(l.cancel_state, NULL);
		return EINVAL;
	}
	pthread_cleanup_push(leave, &l);
	if (!out->event || !out->data_len || !out->unavailable ||
	    (!out->data && out->num_bytes))
		error = EINVAL;
	else if (kind == PTRC_HANDLE_LOG)
		error = ptrc_log_stream_getnext(object, out->event, out->data,
						out->num_bytes, out->data_len,
						out->unavailable);
	else
		error = next_live(object, how, out, until, l.cancel_state);
	pthread_cleanup_pop(1);
	return error;
}

PTRC_PUBLIC int posix_trace_getnext_event(trace_id_t id,
					  struct posix_trace_event_info *restrict event,
					  void *restrict data, size_t num_bytes,
					  size_t *restrict data_len,
					  int *restrict unavailable)
{
	const struct result out = {event, data, num_bytes, data_len, unavailable};

	return next(id, WAIT, &out, NULL);
}

PTRC_PUBLIC int posix_trace_timedgetnext_event(
	trace_id_t id, struct posix_trace_event_info *restrict event, void *restrict data,
	size_t num_bytes, size_t *restrict data_len, int *restrict unavailable,
	const struct timespec *restrict abs_timeout)
{
	const struct result out = {event, data, num_bytes, data_len, unavailable};

	return next(id, WAIT_UNTIL, &out, abs_timeout);
}

PTRC_PUBLIC int
posix_trace_trygetnext_event(trace_id_t id, struct posix_trace_event_info *restrict event,
			     void *restrict data, size_t num_bytes,
			     size_t *restrict data_len, int *restrict unavailable)
{
	const struct result out = {event, data, num_bytes, data_len, unavailable};

	return next(id, TRY, &out, NULL);
}
