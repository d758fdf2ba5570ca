/* SPDX-License-Identifier: MIT */
/* Texts in configurations, and the defaults in posixtrace(7). Damaged files are those of
 * tests/fuzz/fuzz_yaml.c. */
#include "config.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "src/config/configuration.h"
#include "src/base/exit_status.h"
#include "tests/support/harness.h"

static const struct ptrc_cli_option options[] = {PTRC_CLI_OPTIONS_END};
static const struct ptrc_cli cli = {
	.program = "test",
	.options = options,
	.usage_status = PTRC_EXIT_USAGE,
};

TEST(every_text_reads_back, "")
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	struct ptrc_cli_reason why;

	ptrc_cli_begin(&cli);
	/* A sample of the letters that are no plain Latin ones. */
	unsigned int step = 1;

	for (unsigned int first = 1; first < 0x30000; first += step) {
		struct ptrc_config session;
		struct ptrc_config_file file = {"x", &session, 1, false};
		struct ptrc_config_file again;
		struct ptrc_buffer b = PTRC_BUFFER_INIT;
		const char *output;
		size_t size = 0;

		step = first < 0x180 ? 1 : first < 0x3000 ? harness_sample() : 997;
		if (first >= 0xd800 && first < 0xe000)
			continue;
		/* So many that a key of them all is as long as it can be. */
		for (;;) {
			char c[4];
			size_t n = 0;

			if (first < 0x80) {
				c[n++] = (char)first;
			} else if (first < 0x800) {
				c[n++] = (char)(0xc0 | first >> 6);
			} else if (first < 0x10000) {
				c[n++] = (char)(0xe0 | first >> 12);
				c[n++] = (char)(0x80 | (first >> 6 & 0x3f));
			} else {
				c[n++] = (char)(0xf0 | first >> 18);
				c[n++] = (char)(0x80 | (first >> 12 & 0x3f));
				c[n++] = (char)(0x80 | (first >> 6 & 0x3f));
			}
			if (first >= 0x80)
				c[n++] = (char)(0x80 | (first & 0x3f));
			if (size + n >= sizeof(name) || (first % 3 == 0 && size))
				break;
			memcpy(name + size, c, n);
			size += n;
		}
		name[size] = '\0';
		/* That alone is no file. */
		output = strcmp(name, "-") ? name : "./-";
		ptrc_config_init(&session);
		CHECK(ptrc_config_set(&session, PTRC_CONFIG_OUTPUT, PTRC_CONFIG_FOR_CREATE, output,
				      &why));
		CHECK(ptrc_config_set(&session, PTRC_CONFIG_EXCLUDE, PTRC_CONFIG_FOR_CREATE, name,
				      &why));
		CHECK(ptrc_config_add_layout(
			&session, &(struct ptrc_config_layout){.event = name, .text = "u8 x"},
			&why));
		ptrc_config_dump(&file, PTRC_CONFIG_FOR_CREATE, &b);
		ptrc_config_parse(&again, "again", b.bytes, b.used, PTRC_CONFIG_FOR_CREATE);
		CHECK(!strcmp(again.sessions->output, output));
		CHECK(!strcmp(again.sessions->exclude.texts[0], name));
		CHECK(!strcmp(again.sessions->decode.layouts[0].event, name));
		CHECK(!strcmp(again.sessions->decode.layouts[0].text, "u8 x"));
		ptrc_buffer_free(&b);
	}
}

/* ---- the table of defaults in posixtrace(7) ---- */

struct defaults {
	size_t stream_min_size;
	size_t max_data_size;
	size_t log_max_size;
	const char *policies[4];
};

/* Fills in everything but the policies for a full stream. */
static void read_defaults(const trace_attr_t *attr, struct defaults *d)
{
	int policy;

	CHECK(!posix_trace_attr_getstreamsize(attr, &d->stream_min_size));
	CHECK(!posix_trace_attr_getmaxdatasize(attr, &d->max_data_size));
	CHECK(!posix_trace_attr_getlogsize(attr, &d->log_max_size));
	CHECK(!posix_trace_attr_getlogfullpolicy(attr, &policy));
	d->policies[2] = ptrc_attributes_word(&ptrc_attributes_log_full_policies, policy);
	CHECK(!posix_trace_attr_getinherited(attr, &policy));
	d->policies[3] = ptrc_attributes_word(&ptrc_attributes_inheritance_policies, policy);
}

/* The policy for a full stream that a new trace with these attributes has. */
static const char *policy_of_new(const trace_attr_t *attr, bool has_log)
{
	trace_attr_t got;
	trace_id_t trace;
	int policy;
	int fd = memfd_create("log", MFD_CLOEXEC);

	CHECK_SYS(fd);
	if (has_log)
		CHECK_EQ(posix_trace_create_withlog(getpid(), attr, fd, &trace), 0);
	else
		CHECK_EQ(posix_trace_create(getpid(), attr, &trace), 0);
	CHECK_EQ(posix_trace_get_attr(trace, &got), 0);
	CHECK(!posix_trace_attr_getstreamfullpolicy(&got, &policy));
	CHECK_EQ(posix_trace_shutdown(trace), 0);
	close(fd);
	return ptrc_attributes_word(&ptrc_attributes_stream_full_policies, policy);
}

/* Whether the page has such a line. */
static void check_line(const char *page, const char *attribute, const char *ours,
		       const char *commands)
{
	char line[200];

	snprintf(line, sizeof(line), "\n%-29s %-16s %s\n", attribute, ours, commands);
	if (!strstr(page, line))
		harness_fail("not in posixtrace(7):%s", line);
}

static const char *in_units(size_t size, char text[30])
{
	bool is_mega = size % (1 << 20) == 0;

	snprintf(text, 30, "%zu%c", size >> (is_mega ? 20 : 10), is_mega ? 'M' : 'K');
	return text;
}

TEST(the_manual_tells_the_defaults_apart, "")
{
	static const char *const names[] = {"stream-full-policy, log", "stream-full-policy, no log",
					    "log-full-policy", "inheritance"};
	static char page[1 << 20];
	const char *source = getenv("PTRC_SOURCE");
	struct defaults d[2];
	char path[4096];
	char text[2][30];
	FILE *f;

	snprintf(path, sizeof(path), "%s/man/posixtrace.7", source ? source : ".");
	f = fopen(path, "re");
	CHECK(f);
	CHECK(fread(page, 1, sizeof(page) - 1, f) > 0);
	fclose(f);
	for (int i = 0; i < 2; i++) {
		trace_attr_t attr;
		struct ptrc_config c;

		ptrc_config_init(&c);
		CHECK(i ? !ptrc_config_attributes(&c, &attr) : !posix_trace_attr_init(&attr));
		read_defaults(&attr, &d[i]);
		d[i].policies[0] = policy_of_new(&attr, true);
		d[i].policies[1] = policy_of_new(&attr, false);
	}
	check_line(page, "stream-min-size", in_units(d[0].stream_min_size, text[0]),
		   in_units(d[1].stream_min_size, text[1]));
	check_line(page, "max-data-size", in_units(d[0].max_data_size, text[0]),
		   in_units(d[1].max_data_size, text[1]));
	check_line(page, "log-max-size", in_units(d[0].log_max_size, text[0]),
		   in_units(d[1].log_max_size, text[1]));
	for (size_t i = 0; i < 4; i++)
		check_line(page, names[i], d[0].policies[i], d[1].policies[i]);
}
