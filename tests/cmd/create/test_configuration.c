/* SPDX-License-Identifier: MIT */
/*
 * Damaged configurations: whatever the bytes are, a file is either taken, and then shown
 * in a form that reads back as the same, or refused in one line that names the place.
 * Built with sanitizers if the compiler has them, in every build.
 */
#include "config.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <regex.h>
#include <setjmp.h>
#include <sys/mman.h>

#include "src/config/configuration.h"
#include "src/cli/exit_status.h"
#include "tests/support/harness.h"

static const struct ptrc_cli_option options[] = {PTRC_CLI_OPTIONS_END};
static const struct ptrc_cli cli = {
	.program = "test",
	.options = options,
	.usage_status = PTRC_EXIT_USAGE,
};

struct text {
	char *bytes;
	size_t size;
};

static struct text example(const char *name)
{
	const char *source = getenv("PTRC_SOURCE");
	struct text t = {malloc(1 << 16), 0};
	char path[4096];
	FILE *f;

	CHECK(t.bytes);
	snprintf(path, sizeof(path), "%s/examples/%s", source ? source : ".", name);
	f = fopen(path, "re");
	CHECK(f);
	t.size = fread(t.bytes, 1, 1 << 16, f);
	CHECK(t.size > 0);
	fclose(f);
	return t;
}

/* The reader ends the process when something is wrong. While a file is tried, that is no end. */
static sigjmp_buf after_exit;
static volatile bool is_trying;
static int exit_status;

void exit(int status)
{
	if (is_trying) {
		exit_status = status;
		siglongjmp(after_exit, 1);
	}
	((void (*)(int))dlsym(RTLD_NEXT, "exit"))(status);
	abort();
}

/* What is tried, and where its messages go meanwhile. */
static struct text tried;
static int said_fd = -1, real_stderr = -1;

void __asan_on_error(void);

void __asan_on_error(void)
{
	dup2(real_stderr, STDERR_FILENO);
	(void)!write(STDERR_FILENO, tried.bytes, tried.size);
}

/* 0, or the status with which it ends. */
static int read_and_show(const char *bytes, size_t size)
{
	struct ptrc_config_file file;
	struct ptrc_buffer first = PTRC_BUFFER_INIT;
	struct ptrc_buffer second = PTRC_BUFFER_INIT;
	bool is_same;

	if (sigsetjmp(after_exit, 0)) {
		is_trying = false;
		return exit_status;
	}
	is_trying = true;
	ptrc_cli_begin(&cli);
	ptrc_config_parse(&file, "f.yaml", bytes, size, PTRC_CONFIG_FOR_CREATE);
	ptrc_config_dump(&file, PTRC_CONFIG_FOR_CREATE, &first);
	ptrc_config_parse(&file, "dump", first.bytes, first.used, PTRC_CONFIG_FOR_CREATE);
	ptrc_config_dump(&file, PTRC_CONFIG_FOR_CREATE, &second);
	is_trying = false;
	is_same = first.used == second.used && !memcmp(first.bytes, second.bytes, first.used);
	ptrc_buffer_free(&first);
	ptrc_buffer_free(&second);
	return is_same ? 0 : 99;
}

/* One line, and not about what was shown. */
static bool is_one_message(const char *text)
{
	static const char pattern[] = "^test: f\\.yaml:[1-9][0-9]*:[1-9][0-9]*: [^\n]+\n$";
	static bool is_compiled;
	static regex_t re;

	CHECK(is_compiled || !regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB));
	is_compiled = true;
	return !regexec(&re, text, 0, NULL, 0);
}

/* Whether it was taken. */
static bool try(const char *bytes, size_t size)
{
	char said[4096];
	int status;
	ssize_t n;

	if (said_fd < 0) {
		real_stderr = CHECK_SYS(dup(STDERR_FILENO));
		said_fd = CHECK_SYS(memfd_create("said", MFD_CLOEXEC));
	}
	/* Of exactly this size, so that reading beyond it is seen. */
	tried = (struct text){malloc(size ? size : 1), size};
	CHECK(tried.bytes);
	memcpy(tried.bytes, bytes, size);
	dup2(said_fd, STDERR_FILENO);
	status = read_and_show(tried.bytes, size);
	dup2(real_stderr, STDERR_FILENO);
	n = CHECK_SYS(pread(said_fd, said, sizeof(said) - 1, 0));
	said[n] = '\0';
	CHECK_SYS(ftruncate(said_fd, 0));
	CHECK_SYS(lseek(said_fd, 0, SEEK_SET));
	if ((status && status != PTRC_EXIT_USAGE) || (status ? !is_one_message(said) : n > 0))
		harness_fail("status %d, said '%s', for:\n%.*s", status, said, (int)size, bytes);
	free(tried.bytes);
	return !status;
}

static const char *const examples[] = {"minimal.yaml", "ci.yaml", "sessions.yaml"};
enum { EXAMPLES = sizeof(examples) / sizeof(examples[0]) };

TEST(examples_are_taken, "")
{
	for (size_t i = 0; i < EXAMPLES; i++) {
		struct text t = example(examples[i]);

		CHECK(try(t.bytes, t.size));
	}
}

TEST(cut_off_files, "")
{
	for (size_t i = 1; i < EXAMPLES; i++) {
		struct text t = example(examples[i]);

		for (size_t size = 0; size < t.size; size++)
			try(t.bytes, size);
	}
}

TEST(changed_bytes, "")
{
	static const char bytes[] = "\0\t\n \"'#%&*,-:?@[]{}|>!\\`~\x7f\x80\xc3\xff";
	uint32_t random = 4711;
	size_t taken = 0;

	for (size_t i = 1; i < EXAMPLES; i++) {
		struct text t = example(examples[i]);

		for (int n = 0; n < 600; n++) {
			size_t where;
			char old;

			random = random * 1664525 + 1013904223;
			where = (random >> 8) % t.size;
			old = t.bytes[where];
			random = random * 1664525 + 1013904223;
			if (n % 2)
				t.bytes[where] = bytes[(random >> 8) % sizeof(bytes)];
			else
				t.bytes[where] ^= (char)(1 << (random >> 8) % 8);
			taken += try(t.bytes, t.size);
			t.bytes[where] = old;
		}
	}
	/* What changes a comment or a letter of a name is harmless. */
	CHECK(taken > 0 && taken < 1200);
}

TEST(deep_long_and_many, "")
{
	enum { SIZE = 256 << 10 };
	static const char openers[] = "[{-?\"'|>#&*!:%,";
	char *bytes = malloc(SIZE);

	CHECK(bytes);
	for (size_t i = 0; i < sizeof(openers) - 1; i++) {
		memset(bytes, openers[i], SIZE);
		try(bytes, SIZE);
		for (size_t k = 1; k < SIZE; k += 2)
			bytes[k] = ' ';
		try(bytes, SIZE);
		for (size_t k = 1; k < SIZE; k += 2)
			bytes[k] = '\n';
		try(bytes, SIZE);
	}
	memcpy(bytes, "exclude: [", 10);
	for (size_t k = 10; k + 2 <= SIZE; k += 2)
		memcpy(bytes + k, "a,", 2);
	CHECK(!try(bytes, SIZE));
	memcpy(bytes, "sessions: [", 11);
	for (size_t k = 11; k + 3 <= SIZE; k += 3)
		memcpy(bytes + k, "{},", 3);
	CHECK(!try(bytes, SIZE));
}

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
