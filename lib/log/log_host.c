/* SPDX-License-Identifier: MIT */
#include "lib/log/log_host.h"

#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>

#include "lib/base/file.h"
#include "lib/base/sys.h"
#include "lib/log/log_aside.h"

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
	const struct ptrc_stream_header *h = w->header;
	struct payload p = {.host.utc_offset = h->utc_offset,
			    .host.flags = h->has_utc_offset ? PTRC_LOG_HOST_OFFSET_KNOWN : 0};
	struct utsname name = {.sysname = ""};
	uint32_t used = 0;
	bool is_written;

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
