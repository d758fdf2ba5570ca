/* SPDX-License-Identifier: MIT */
#include "lib/log/log_host.h"

#include <fcntl.h>
#include <string.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>

#include "lib/base/file.h"
#include "lib/base/sys.h"
#include "lib/log/log_aside.h"
#include "lib/stream/clock.h"

/* There is no CLOCK packet sooner after another... */
#define CLOCK_PAUSE_NS INT64_C(1000000000)
/* ... nor than this part of the log's age, unless CLOCK_REALTIME was set by as much. */
#define CLOCK_AGE_PARTS 64
#define CLOCK_STEP_NS INT64_C(1000000)

/* A payload in the making. */
struct payload {
	struct ptrc_log_host host;
	char texts[8 * 128];
};

static void add(struct payload *p, uint32_t *used, uint32_t which, const char *text, uint32_t most)
{
	uint32_t bytes = 0;

	while (bytes < most && text[bytes])
		bytes++;
	if (bytes > sizeof(p->texts) - *used)
		return;
	memcpy(p->texts + *used, text, bytes);
	p->host.bytes[which] = (uint16_t)bytes;
	*used += bytes;
}

/* The first line of a file. */
static void add_line(struct payload *p, uint32_t *used, uint32_t which, const char *path)
{
	char text[128];
	uint32_t bytes = 0;
	size_t got = 0;
	int fd;

	if (ptrc_file_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd))
		return;
	if (ptrc_file_read(fd, text, sizeof(text), 0, &got))
		got = 0;
	ptrc_file_close(fd);
	while (bytes < got && text[bytes] != '\n')
		bytes++;
	add(p, used, which, text, bytes);
}

void ptrc_log_host_write(struct ptrc_log_writer *w)
{
	const struct ptrc_stream_header *h = w->origin;
	struct payload p = {.texts = ""};
	struct utsname name = {.sysname = ""};
	uint32_t used = 0;
	bool is_written;

	if (!h)
		return;
	p.host.utc_offset = h->utc_offset;
	p.host.flags = h->has_utc_offset ? PTRC_LOG_HOST_OFFSET_KNOWN : 0;
	ptrc_sys(SYS_uname, &name);
	add(&p, &used, PTRC_LOG_HOST_NAME, name.nodename, sizeof(name.nodename));
	add_line(&p, &used, PTRC_LOG_HOST_MACHINE_ID, "/etc/machine-id");
	add_line(&p, &used, PTRC_LOG_HOST_BOOT_ID, "/proc/sys/kernel/random/boot_id");
	add(&p, &used, PTRC_LOG_HOST_SYSTEM, name.sysname, sizeof(name.sysname));
	add(&p, &used, PTRC_LOG_HOST_RELEASE, name.release, sizeof(name.release));
	add(&p, &used, PTRC_LOG_HOST_VERSION, name.version, sizeof(name.version));
	add(&p, &used, PTRC_LOG_HOST_MACHINE, name.machine, sizeof(name.machine));
	add(&p, &used, PTRC_LOG_HOST_TIME_ZONE, h->time_zone, sizeof(h->time_zone));
	is_written = ptrc_log_aside_put(w, PTRC_LOG_HOST, &p, sizeof(p.host) + used);
	(void)is_written; /* the events matter more */
}

static int64_t difference(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static void read_clocks(const struct ptrc_stream_header *h, struct ptrc_log_clock *c)
{
	struct ptrc_clock_cursor cursor = {0};
	struct timex t = {.modes = 0};

	c->monotonic_ns = ptrc_clock_ns(CLOCK_MONOTONIC);
	c->realtime_ns = ptrc_clock_ns(CLOCK_REALTIME);
	c->boottime_ns = ptrc_clock_ns(CLOCK_BOOTTIME);
	c->counter = ptrc_counter();
	c->event_ns = ptrc_clock_realtime(h, &cursor, ptrc_stream_now(h));
	c->window_ns = difference(ptrc_clock_ns(CLOCK_MONOTONIC), c->monotonic_ns);
	c->state = (int32_t)ptrc_sys(SYS_adjtimex, &t);
	c->status = c->state < 0 ? -1 : t.status;
	if (c->state >= 0) {
		c->max_error_ns = t.maxerror * 1000;
		c->estimated_error_ns = t.esterror * 1000;
	}
}

static bool is_due(const struct ptrc_log_clocks *x, const struct ptrc_log_clock *c)
{
	int64_t step = difference(difference(c->realtime_ns, c->event_ns), x->ahead_ns);

	return c->status != x->status || step > CLOCK_STEP_NS || step < -CLOCK_STEP_NS ||
	       difference(c->monotonic_ns, x->last_ns) >
		       difference(c->monotonic_ns, x->first_ns) / CLOCK_AGE_PARTS;
}

void ptrc_log_clock_write(struct ptrc_log_writer *w, enum ptrc_log_clock_when when)
{
	struct ptrc_log_clocks *x = &w->clocks;
	struct ptrc_log_clock c = {.event_ns = 0};

	if (!w->origin || (when == PTRC_LOG_CLOCK_IF_DUE && x->last_ns &&
			   difference(ptrc_clock_ns(CLOCK_MONOTONIC), x->last_ns) < CLOCK_PAUSE_NS))
		return;
	read_clocks(w->origin, &c);
	if (when == PTRC_LOG_CLOCK_IF_DUE && x->last_ns && !is_due(x, &c))
		return;
	if (!ptrc_log_aside_put(w, PTRC_LOG_CLOCK, &c, sizeof(c)))
		return;
	if (!x->first_ns)
		x->first_ns = c.monotonic_ns;
	x->last_ns = c.monotonic_ns;
	x->ahead_ns = difference(c.realtime_ns, c.event_ns);
	x->status = c.status;
}
