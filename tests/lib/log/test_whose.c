/* SPDX-License-Identifier: MIT */
/* What a log tells of the machine and of the processes that recorded into it. */
#include "include/posixtrace-private.h"
#include "tests/support/keeper.h"
#include "tests/support/stream_memory.h"

#include <link.h>
#include <posixtrace-control.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

#include "lib/log/log_layout.h"
#include "lib/log/log_whose.h"

#define KIB ((size_t)1024)

static struct logged begin(void)
{
	return create_logged(POSIX_TRACE_FLUSH, 256 * KIB, POSIX_TRACE_APPEND, 0);
}

static struct logged start(void)
{
	return start_logged(POSIX_TRACE_FLUSH, 256 * KIB, POSIX_TRACE_APPEND, 0);
}

static struct logged begin_of(pid_t pid)
{
	trace_attr_t attr = log_attr(POSIX_TRACE_FLUSH, 256 * KIB, POSIX_TRACE_APPEND, 0);
	struct logged s = {.fd = ts_temp_file()};

	s.trid = ts_create_log(pid, &attr, s.fd);
	return s;
}

static struct posixtrace_log_process process_at(trace_id_t log, unsigned long index)
{
	struct posixtrace_log_process p;

	CHECK_OK(posixtrace_log_get_process(log, index, &p, sizeof(p)));
	CHECK_EQ(p.pp_size, sizeof(p));
	return p;
}

/* How many the log has of this pid; *first is the index of the first one. */
static unsigned long count_of(trace_id_t log, pid_t pid, unsigned long *first)
{
	struct posixtrace_log_process p;
	unsigned long count = 0;

	for (unsigned long i = 0; !posixtrace_log_get_process(log, i, &p, sizeof(p)); i++)
		if (p.pp_pid == pid && !count++)
			*first = i;
	return count;
}

static struct posixtrace_log_process only_one_of(trace_id_t log, pid_t pid)
{
	unsigned long index = 0;

	CHECK_EQ(count_of(log, pid, &index), 1);
	return process_at(log, index);
}

static void expect_text(const char *text, size_t size, const char *expected)
{
	CHECK_EQ(size, strlen(expected));
	CHECK_MEM_EQ(text, expected, size);
}

/* The first bytes of a file. */
static size_t slurp(const char *path, char *to, size_t size)
{
	int fd = CHECK_SYS(open(path, O_RDONLY | O_CLOEXEC));
	size_t got = 0;
	ssize_t n;

	while (got < size && (n = CHECK_SYS(read(fd, to + got, size - got))) > 0)
		got += (size_t)n;
	close(fd);
	return got;
}

static void expect_line(const char *path, const char *text)
{
	char line[256];

	if (access(path, R_OK)) {
		CHECK_STR_EQ(text, "");
		return;
	}
	size_t size = slurp(path, line, sizeof(line) - 1);
	line[size] = '\0';
	line[strcspn(line, "\n")] = '\0';
	CHECK_STR_EQ(text, line);
}

TEST(a_log_tells_the_machine, "", NEEDS_KEEPER)
{
	struct posixtrace_log_host host;
	struct utsname name;

	CHECK_SYS(setenv("TZ", "XYZ-5:30", 1));
	tzset();
	struct logged s = begin();
	CHECK_EQ(posixtrace_log_get_host(s.trid, &host, sizeof(host)), EINVAL);
	trace_id_t log = ts_end_and_open_log(s.trid, s.fd);
	CHECK_EQ(posixtrace_log_get_host(log, NULL, sizeof(host)), EINVAL);
	CHECK_EQ(posixtrace_log_get_host(log, &host, sizeof(host.ph_size) - 1), EINVAL);
	CHECK_OK(posixtrace_log_get_host(log, &host, sizeof(host)));
	CHECK_EQ(host.ph_size, sizeof(host));
	CHECK_SYS(uname(&name));
	CHECK_STR_EQ(host.ph_name, name.nodename);
	CHECK_STR_EQ(host.ph_system, name.sysname);
	CHECK_STR_EQ(host.ph_release, name.release);
	CHECK_STR_EQ(host.ph_version, name.version);
	CHECK_STR_EQ(host.ph_machine, name.machine);
	expect_line("/etc/machine-id", host.ph_machine_id);
	expect_line("/proc/sys/kernel/random/boot_id", host.ph_boot_id);
	CHECK_STR_EQ(host.ph_time_zone, "XYZ-5:30");
	CHECK_EQ(host.ph_has_utc_offset, 1);
	CHECK_EQ(host.ph_utc_offset, 19800);
	ts_close_log(log);
}

/* The build id of this program, as it is in memory. */
static int own_build_id(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct {
		unsigned char id[64];
		size_t size;
	} *out = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const char *at = (const char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		const char *end = at + info->dlpi_phdr[i].p_memsz;

		if (info->dlpi_phdr[i].p_type != PT_NOTE || info->dlpi_phdr[i].p_align == 8)
			continue;
		while (at < end) {
			const ElfW(Nhdr) *note = (const void *)at;
			const char *name = at + sizeof(*note);
			const char *text = name + ((note->n_namesz + 3) & ~3U);

			if (note->n_type == NT_GNU_BUILD_ID && !strcmp(name, "GNU")) {
				memcpy(out->id, text, note->n_descsz);
				out->size = note->n_descsz;
			}
			at = text + ((note->n_descsz + 3) & ~3U);
		}
	}
	return 1; /* the first object is the program */
}

TEST(a_log_tells_that_a_process_has_more_mappings_than_are_read, "", NEEDS_KEEPER)
{
	enum { PAGES = 50000, PAGE = 4096 };
	struct logged s = begin();
	char *pages =
		mmap(NULL, (size_t)PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* Each page is a mapping, and a line of /proc/PID/maps. */
	for (size_t i = 0; i < PAGES; i += 2)
		CHECK_SYS(mprotect(pages + i * PAGE, PAGE, PROT_READ));
	ts_emit(s.id, 0);
	trace_id_t log = ts_end_and_open_log(s.trid, s.fd);
	CHECK(only_one_of(log, getpid()).pp_are_mappings_cut);
	ts_close_log(log);
}

TEST(a_log_tells_its_process, "", NEEDS_KEEPER)
{
	static char line[PTRC_LOG_LINE_MAX], exe[4096];
	struct {
		unsigned char id[64];
		size_t size;
	} own = {.size = 0};
	struct posixtrace_log_mapping m;
	unsigned long index, count = 0;
	struct logged s = begin();
	size_t line_size = slurp("/proc/self/cmdline", line, sizeof(line));
	ssize_t exe_size = CHECK_SYS(readlink("/proc/self/exe", exe, sizeof(exe)));
	bool is_mapped = false;

	dl_iterate_phdr(own_build_id, &own);
	CHECK_SYS(prctl(PR_SET_NAME, "odd \x1b[31m)\n"));
	ts_start(s.trid);
	ts_emit(s.id, 1);
	ts_shutdown(s.trid);

	struct ts_events events = ts_log_events(s.fd);
	trace_id_t log = ts_open_log(s.fd);
	ssize_t at = ts_find(&events, s.id, 0);
	CHECK(at >= 0);
	CHECK_OK(posixtrace_log_find_process(log, getpid(), &events.at[at].info.posix_timestamp,
					     &index));
	struct posixtrace_log_process p = process_at(log, index);
	CHECK_EQ(p.pp_pid, getpid());
	CHECK_EQ(p.pp_has_ended, 0);
	CHECK_EQ(p.pp_is_known, 1);
	CHECK_EQ(p.pp_parent_pid, getppid());
	CHECK_EQ(p.pp_has_user, 1);
	CHECK_EQ(p.pp_user, geteuid());
	/* It started before its event, and after this test began, some seconds ago. */
	CHECK_LE(ts_time_ns(&p.pp_start), time_at(&events, (size_t)at));
	CHECK_GT(ts_time_ns(&p.pp_start), time_at(&events, (size_t)at) - INT64_C(600000000000));
	expect_text(p.pp_name, p.pp_name_size, "odd \x1b[31m)\n");
	CHECK_EQ(p.pp_executable_size, exe_size);
	CHECK_MEM_EQ(p.pp_executable, exe, p.pp_executable_size);
	CHECK_GT(own.size, 0);
	CHECK_EQ(p.pp_build_id_size, own.size);
	CHECK_MEM_EQ(p.pp_build_id, own.id, own.size);
	CHECK_EQ(p.pp_has_command_line, 1);
	CHECK_EQ(p.pp_command_line_size, line_size);
	CHECK_MEM_EQ(p.pp_command_line, line, line_size);

	CHECK_EQ(p.pp_has_mappings, 1);
	uintptr_t address = (uintptr_t)events.at[at].info.posix_prog_address;
	for (; !posixtrace_log_get_mapping(log, index, count, &m, sizeof(m)); count++) {
		if (address < m.pm_start || address >= m.pm_end)
			continue;
		is_mapped = true;
		CHECK_EQ(m.pm_path_size, exe_size);
		CHECK_MEM_EQ(m.pm_path, exe, m.pm_path_size);
		CHECK_EQ(m.pm_build_id_size, own.size);
		CHECK_MEM_EQ(m.pm_build_id, own.id, own.size);
	}
	CHECK_EQ(count, p.pp_mapping_count);
	CHECK(is_mapped);
	CHECK_EQ(posixtrace_log_get_process(log, 1000, &p, sizeof(p)), ENODATA);
	CHECK_EQ(posixtrace_log_get_mapping(log, 1000, 0, &m, sizeof(m)), ENODATA);
	CHECK_EQ(posixtrace_log_find_process(log, 1, &p.pp_from, &index), ENODATA);
	CHECK_EQ(posixtrace_log_find_process(log, getpid(), NULL, &index), EINVAL);
	ts_close_log(log);
}

static intptr_t rename_process(const void *arg, size_t arg_bytes)
{
	(void)arg_bytes;
	return prctl(PR_SET_NAME, arg);
}

/* The program that recorded the event with this number, from 1. */
static struct posixtrace_log_process program_of(trace_id_t log, const struct ts_events *events,
						pid_t pid, uint32_t number)
{
	unsigned long index;

	for (size_t i = 0; i < events->count; i++) {
		if (id_at(events, i) <= POSIX_TRACE_UNNAMED_USEREVENT ||
		    ts_number(&events->at[i]) != number)
			continue;
		CHECK_OK(posixtrace_log_find_process(log, pid, &events->at[i].info.posix_timestamp,
						     &index));
		return process_at(log, index);
	}
	harness_fail("no event %u", (unsigned int)number);
}

/* What the keeper learns of a program that is executed while it does not look, and of the one before. */
enum exec_case {
	/* It is told of the second one. */
	IS_TOLD,
	/* It sees the second one by an event, as others have taken the places where programs are told. */
	SEES_AN_EVENT,
	/* It has not seen the first one. */
	HAS_NOT_LOOKED,
};

static void execute_another_program(enum exec_case which)
{
	struct ts_target target = ts_target_fork();
	struct logged s = begin_of(target.pid);
	struct ptrc_stream_header *h = find_stream();
	pid_t keeper = keeper_of(s.trid);
	unsigned long first;

	CHECK_EQ(ts_target_call(&target, rename_process, "before", 7), 0);
	ts_start(s.trid);
	if (which == HAS_NOT_LOOKED)
		CHECK_SYS(kill(keeper, SIGSTOP));
	ts_target_emit(&target, ts_target_id(&target, "event"), 1);
	if (which != HAS_NOT_LOOKED) {
		ts_flush(s.trid);
		CHECK_SYS(kill(keeper, SIGSTOP));
	}
	ts_target_exec(&target);
	CHECK_EQ(ts_target_call(&target, rename_process, "behind", 7), 0);
	if (which != HAS_NOT_LOOKED)
		ts_target_emit(&target, ts_target_id(&target, "event"), 2);
	for (uint32_t i = 0; i < PTRC_ARRIVALS && which == SEES_AN_EVENT; i++)
		h->arrival[i].pid = 0;
	CHECK_SYS(kill(keeper, SIGCONT));
	ts_flush(s.trid);
	/* What is known already is not written again. */
	ts_target_emit(&target, ts_target_id(&target, "event"), 3);
	ts_flush(s.trid);
	ts_target_end(&target);
	trace_id_t log = ts_end_and_open_log(s.trid, s.fd);
	CHECK_EQ(count_of(log, target.pid, &first), 2);
	struct ts_events events = ts_read_log(log);
	struct posixtrace_log_process p = program_of(log, &events, target.pid, 1);
	expect_text(p.pp_name, p.pp_name_size, which == HAS_NOT_LOOKED ? "" : "before");
	CHECK_EQ(p.pp_has_command_line, which != HAS_NOT_LOOKED);
	for (uint32_t n = which == HAS_NOT_LOOKED ? 3 : 2; n <= 3; n++) {
		p = program_of(log, &events, target.pid, n);
		expect_text(p.pp_name, p.pp_name_size, "behind");
		CHECK(p.pp_has_command_line);
	}
	ts_close_log(log);
}

TEST(another_program_is_told_anew, "", NEEDS_KEEPER)
{
	execute_another_program(IS_TOLD);
}

TEST(another_program_is_seen_by_its_first_event, "", NEEDS_KEEPER)
{
	execute_another_program(SEES_AN_EVENT);
}

TEST(events_before_an_exec_are_not_of_the_program_that_is_seen_after_it, "", NEEDS_KEEPER)
{
	execute_another_program(HAS_NOT_LOOKED);
}

TEST(children_are_told_too, "", NEEDS_KEEPER)
{
	trace_attr_t attr = log_attr(POSIX_TRACE_FLUSH, 256 * KIB, POSIX_TRACE_APPEND, 0);
	trace_event_id_t id = ts_id("event");
	int fd = ts_temp_file();

	CHECK_OK(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED));
	trace_id_t trid = ts_create_log(0, &attr, fd);
	ts_start(trid);
	pid_t child = CHECK_SYS(fork());
	/* It ends at once, but not before the keeper has looked. */
	if (!child) {
		ts_emit(id, 1);
		exit(0);
	}
	CHECK_SYS(waitpid(child, NULL, 0));
	trid = ts_end_and_open_log(trid, fd);
	struct posixtrace_log_process p = only_one_of(trid, child);
	CHECK_EQ(p.pp_parent_pid, getpid());
	CHECK_EQ(p.pp_has_ended, 0);
	CHECK_GT(p.pp_executable_size, 0);
	ts_close_log(trid);
}

TEST(of_a_dead_process_the_log_tells_the_pid, "", NEEDS_KEEPER)
{
	struct ts_target target = ts_target_fork();
	struct logged s = begin_of(target.pid);

	ts_start(s.trid);
	pid_t keeper = keeper_of(s.trid);
	CHECK_SYS(kill(keeper, SIGSTOP));
	ts_target_emit(&target, ts_target_id(&target, "event"), 1);
	ts_target_kill(&target);
	CHECK_SYS(kill(keeper, SIGCONT));
	ts_shutdown(s.trid);
	struct ts_events events = ts_log_events(s.fd);
	trace_id_t log = ts_open_log(s.fd);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_UNNAMED_USEREVENT + 1), 1);
	struct posixtrace_log_process p = only_one_of(log, target.pid);
	CHECK_EQ(p.pp_has_ended, 1);
	CHECK_EQ(p.pp_executable_size + p.pp_build_id_size + p.pp_mapping_count, 0);
	CHECK_EQ(p.pp_has_command_line, 0);
	ts_close_log(log);
}

TEST(a_log_tells_each_process_once_whatever_happens, "", NEEDS_KEEPER)
{
	static const char *const happens[] = {"a ring goes round six times", "a clear",
					      "a keeper is killed"};

	for (int i = 0; i < 3; i++) {
		int policy = i == 0 ? POSIX_TRACE_LOOP : POSIX_TRACE_APPEND;
		struct logged s = start_logged(POSIX_TRACE_FLUSH, 256 * KIB, policy, 256 * KIB);
		struct posixtrace_log_host host;

		NOTE("%s", happens[i]);
		for (uint32_t n = 0; n < (i == 0 ? 150 : 1); n++) {
			emit_run(s.id, n * 10, n * 10 + 10, 1000);
			ts_flush(s.trid);
		}
		if (i == 1)
			ts_clear(s.trid);
		if (i == 2)
			kill_keeper(s.trid);
		ts_emit(s.id, 2);
		ts_flush(s.trid);
		trace_id_t log = ts_end_and_open_log(s.trid, s.fd);
		CHECK_OK(posixtrace_log_get_host(log, &host, sizeof(host)));
		CHECK(host.ph_boot_id[0]);
		struct posixtrace_log_process p = only_one_of(log, getpid());
		CHECK_GT(p.pp_executable_size, 0);
		CHECK_GT(p.pp_mapping_count, 0);
		ts_close_log(log);
	}
}

/* Takes a description of a process, with this command line. */
static void take(struct ptrc_log_whose *x, struct ptrc_log_process head, const char *line)
{
	head.exe_bytes = 2;
	head.line_bytes = (uint32_t)strlen(line);
	size_t size = sizeof(head) + head.exe_bytes + head.line_bytes;
	uint8_t *payload = calloc(1, size + 8);

	CHECK(payload);
	memcpy(payload, &head, sizeof(head));
	memcpy(payload + sizeof(head), "/p", 2);
	memcpy(payload + sizeof(head) + 2, line, head.line_bytes);
	CHECK_OK(ptrc_log_whose_take(x, PTRC_LOG_PROCESS, payload, size));
}

static struct posixtrace_log_process taken(struct ptrc_log_whose *x, unsigned long index)
{
	struct posixtrace_log_process p;

	CHECK_OK(ptrc_log_whose_process(x, index, &p));
	return p;
}

TEST(the_description_that_was_written_last_is_kept, "")
{
	const struct ptrc_log_process first = {.pid = 7, .from_ns = 1000},
				      second = {.pid = 7, .from_ns = 1001},
				      other = {.pid = 8, .from_ns = 1000};
	struct ptrc_log_whose x = {0};

	/* The first two are equal, so one of them is dropped before the last one comes. */
	take(&x, other, "other");
	take(&x, other, "other");
	take(&x, first, "first");
	ptrc_log_whose_sort(&x);
	take(&x, second, "second");
	ptrc_log_whose_sort(&x);
	CHECK_EQ(x.process_count, 2);
	struct posixtrace_log_process p = taken(&x, 0);
	expect_text(p.pp_command_line, p.pp_command_line_size, "second");
	ptrc_log_whose_free(&x);
}

/* Takes an observer's description of a process, with the kernel's time of its exec, or a keeper's, without one. */
static void take_exec(struct ptrc_log_whose *x, int32_t pid, int64_t from_ns, int64_t observed_ns)
{
	struct ptrc_log_process head = {.pid = pid,
					.from_ns = from_ns,
					.start_ns = 1,
					.flags = PTRC_LOG_PROCESS_KNOWN,
					.observed_ns = observed_ns};
	if (!observed_ns)
		head.flags |= PTRC_LOG_PROCESS_USER;
	take(x, head, "");
}

TEST(a_program_that_is_executed_again_at_once_has_an_entry, "")
{
	struct ptrc_log_whose x = {0};

	/* Each program is described when it starts and when it has ended, the first one also by the keeper. */
	take_exec(&x, 7, 1000, 10);
	take_exec(&x, 7, 1000, 0);
	take_exec(&x, 7, 1001, 10);
	take_exec(&x, 7, 2000, 20);
	take_exec(&x, 7, 2001, 20);
	/* However far the times of one exec are apart. */
	take_exec(&x, 8, 3000, 30);
	take_exec(&x, 8, 9000000, 30);
	/* A keeper that replaces a dead one describes the process again. */
	take_exec(&x, 8, 3000, 0);
	take_exec(&x, 8, 9000000, 0);
	ptrc_log_whose_sort(&x);
	CHECK_EQ(x.process_count, 3);
	for (unsigned long i = 0; i < 3; i++)
		CHECK_EQ(taken(&x, i).pp_from.tv_nsec, 1000 * (i + 1));
	ptrc_log_whose_free(&x);
}

TEST(an_empty_description_is_dropped_if_a_later_one_is_of_the_process, "")
{
	const int64_t s = 1000000000;
	const struct ptrc_log_process empty = {
		.pid = 7, .from_ns = s, .flags = PTRC_LOG_PROCESS_GONE};
	struct ptrc_log_process head = {.pid = 7, .flags = PTRC_LOG_PROCESS_KNOWN};
	struct ptrc_log_whose x = {0};

	take(&x, empty, "");
	head.from_ns = 3 * s;
	head.start_ns = 2 * s; /* another process with this pid */
	take(&x, head, "");
	ptrc_log_whose_sort(&x);
	CHECK_EQ(x.process_count, 2);
	head.from_ns = 2 * s;
	head.start_ns = s;
	take(&x, head, "");
	ptrc_log_whose_sort(&x);
	CHECK_EQ(x.process_count, 2);
	CHECK(taken(&x, 0).pp_is_known && !taken(&x, 0).pp_has_ended);
	ptrc_log_whose_free(&x);
}

TEST(command_lines_can_be_left_out, "", NEEDS_KEEPER)
{
	struct logged s = begin();

	CHECK_OK(posixtrace_set_command_line(s.trid, 0));
	ts_start(s.trid);
	ts_emit(s.id, 1);
	ts_shutdown(s.trid);
	CHECK_EQ(posixtrace_set_command_line(s.trid, 0), EINVAL);
	trace_id_t log = ts_open_log(s.fd);
	CHECK_EQ(posixtrace_set_command_line(log, 0), EINVAL);
	struct posixtrace_log_process p = only_one_of(log, getpid());
	CHECK_EQ(p.pp_has_command_line, 0);
	CHECK_EQ(p.pp_command_line_size, 0);
	CHECK_GT(p.pp_executable_size, 0);
	ts_close_log(log);
}

/* Damages the packets of these types. Returns how many. */
static unsigned int damage(int fd, uint16_t type, uint16_t other)
{
	struct ptrc_log_packet h;
	unsigned int packets = 0;
	size_t size;

	unsigned char *bytes = file_bytes(fd, &size);
	for (size_t at = PTRC_LOG_HEADS_BYTES; at + sizeof(h) <= size;
	     at += sizeof(h) + ptrc_align8(h.length)) {
		memcpy(&h, bytes + at, sizeof(h));
		if (h.type == type || h.type == other) {
			bytes[at + sizeof(h) + 9] ^= 1;
			packets++;
		}
	}
	put_bytes(fd, bytes, size);
	return packets;
}

/* ---- threads ---- */

struct named {
	const char *name, *next_name;
	trace_event_id_t id;
	pid_t tid;
	struct harness_gate is_done, go;
	pthread_t thread;
};

static void *run_named(void *arg)
{
	struct named *n = arg;

	CHECK_SYS(prctl(PR_SET_NAME, n->name));
	n->tid = gettid();
	ts_emit(n->id, 1);
	harness_open(&n->is_done);
	harness_pass(&n->go);
	if (n->next_name) {
		CHECK_SYS(prctl(PR_SET_NAME, n->next_name));
		ts_emit(n->id, 2);
		harness_open(&n->is_done);
		harness_pass(&n->go);
	}
	return NULL;
}

/* Returns when the thread has recorded its first event. */
static void start_named(struct named *n, const char *name, const char *next_name)
{
	*n = (struct named){.name = name,
			    .next_name = next_name,
			    .id = ts_id("event"),
			    .is_done = harness_gate(),
			    .go = harness_gate()};
	n->thread = ts_thread(run_named, n);
	harness_pass(&n->is_done);
}

static void end_named(struct named *n)
{
	harness_open(&n->go);
	ts_join(n->thread);
}

/* The name that the thread of the event with this number had; "" if that is not known. */
static void expect_name_at(int fd, const struct named *n, uint32_t number, const char *expected)
{
	trace_id_t log = ts_open_log(fd);
	struct ts_events events = ts_read_log(log);
	struct posixtrace_log_thread t;
	unsigned long index;
	bool is_found = false;

	for (size_t i = 0; i < events.count; i++) {
		const struct posix_trace_event_info *e = &events.at[i].info;

		if (e->posix_event_id != n->id || e->posix_tid != n->tid ||
		    ts_number(&events.at[i]) != number)
			continue;
		is_found = true;
		int error = posixtrace_log_find_thread(log, getpid(), n->tid, &e->posix_timestamp,
						       &index);
		CHECK_EQ(error, *expected ? 0 : ENODATA);
		if (error)
			continue;
		CHECK_OK(posixtrace_log_get_thread(log, index, &t, sizeof(t)));
		CHECK_EQ(t.pt_size, sizeof(t));
		CHECK_EQ(t.pt_pid, getpid());
		CHECK_EQ(t.pt_tid, n->tid);
		expect_text(t.pt_name, t.pt_name_size, expected);
	}
	CHECK(is_found);
	ts_close_log(log);
}

/* How many names of threads the log has so far. */
static unsigned long names_in(int fd)
{
	trace_id_t log = ts_open_log(fd);
	struct posixtrace_log_thread t;
	unsigned long count = 0;

	while (posixtrace_log_get_thread(log, count, &t, sizeof(t)) == 0)
		count++;
	ts_close_log(log);
	return count;
}

TEST(a_log_tells_the_names_of_threads, "", NEEDS_KEEPER)
{
	static struct named first, second;
	struct posixtrace_log_thread t;
	struct timespec time = {.tv_sec = 1};
	struct logged s = start();
	unsigned long index;

	ts_emit(s.id, 1);
	start_named(&first, "a name of 15 by", NULL);
	start_named(&second, "two\n\xff", "three");
	ts_flush(s.trid);
	CHECK_EQ(posixtrace_log_get_thread(s.trid, 0, &t, sizeof(t)), EINVAL);
	CHECK_EQ(posixtrace_log_find_thread(s.trid, getpid(), 1, &time, &index), EINVAL);
	harness_open(&second.go);
	harness_pass(&second.is_done);
	/* Within a second no thread is looked at again. */
	CHECK_EVENTUALLY((ts_flush(s.trid), names_in(s.fd)) == 3);
	ts_shutdown(s.trid);
	expect_name_at(s.fd, &first, 1, "a name of 15 by");
	expect_name_at(s.fd, &second, 1, "two\n\xff");
	trace_id_t log = ts_open_log(s.fd);
	/* Two names of the second one; the first thread of the process is not among them. */
	CHECK_OK(posixtrace_log_get_thread(log, 2, &t, sizeof(t)));
	CHECK_EQ(posixtrace_log_get_thread(log, 3, &t, sizeof(t)), ENODATA);
	CHECK_EQ(posixtrace_log_get_thread(log, 0, NULL, sizeof(t)), EINVAL);
	CHECK_EQ(posixtrace_log_get_thread(log, 0, &t, sizeof(t.pt_size) - 1), EINVAL);
	time.tv_sec = INT64_MAX;
	CHECK_OK(posixtrace_log_find_thread(log, getpid(), second.tid, &time, &index));
	CHECK_OK(posixtrace_log_get_thread(log, index, &t, sizeof(t)));
	expect_text(t.pt_name, t.pt_name_size, "three");
	/* What was before its first event is not its. */
	time.tv_sec = 1;
	CHECK_EQ(posixtrace_log_find_thread(log, getpid(), second.tid, &time, &index), ENODATA);
	CHECK_EQ(posixtrace_log_find_thread(log, getpid(), getpid(), &time, &index), ENODATA);
	CHECK_EQ(posixtrace_log_find_thread(log, getpid(), second.tid, NULL, &index), EINVAL);
	ts_close_log(log);
	end_named(&first);
	end_named(&second);
}

TEST(a_thread_that_begins_and_ends_between_two_flushes_has_a_name, "", NEEDS_KEEPER)
{
	static struct named n;
	struct logged s = start();

	ts_emit(s.id, 1);
	ts_flush(s.trid);
	pid_t keeper = keeper_of(s.trid);
	/* It has looked at the process. */
	ts_wait_turns(keeper, 2);
	start_named(&n, "between", NULL);
	ts_wait_turns(keeper, 2);
	end_named(&n);
	ts_flush(s.trid);
	ts_shutdown(s.trid);
	expect_name_at(s.fd, &n, 1, "between");
}

TEST(a_thread_that_ended_has_no_name_of_another, "", NEEDS_KEEPER)
{
	static struct named seen, ended;
	struct logged s = start();

	ts_emit(s.id, 1);
	start_named(&seen, "seen", NULL);
	ts_flush(s.trid);
	/* It keeps its name when it has ended. */
	end_named(&seen);
	/* Nobody can look at the other one. */
	pid_t keeper = keeper_of(s.trid);
	CHECK_SYS(kill(keeper, SIGSTOP));
	start_named(&ended, "ended", NULL);
	end_named(&ended);
	CHECK_SYS(kill(keeper, SIGCONT));
	ts_flush(s.trid);
	ts_shutdown(s.trid);
	expect_name_at(s.fd, &seen, 1, "seen");
	expect_name_at(s.fd, &ended, 1, "");
}

TEST(damage_there_costs_no_event, "", NEEDS_KEEPER)
{
	static struct named n;
	struct logged s = start();
	struct posixtrace_log_thread t;
	unsigned long first;

	emit_run(s.id, 0, 10, 100);
	start_named(&n, "name", NULL);
	ts_shutdown(s.trid);
	end_named(&n);
	CHECK_EQ(damage(s.fd, PTRC_LOG_PROCESS, PTRC_LOG_HOST), 2);
	CHECK_EQ(damage(s.fd, PTRC_LOG_THREADS, PTRC_LOG_THREADS), 1);
	struct ts_events events = ts_log_events(s.fd);
	CHECK_EQ(ts_count(&events, s.id), 11);
	trace_id_t log = ts_open_log(s.fd);
	CHECK_EQ(count_of(log, getpid(), &first), 0);
	CHECK_EQ(posixtrace_log_get_thread(log, 0, &t, sizeof(t)), ENODATA);
	CHECK_EQ(counts_of(log).pt_damaged_parts, 3);
	ts_close_log(log);
}

TEST(a_log_tells_the_clocks, "", NEEDS_KEEPER)
{
	struct posixtrace_log_clock c, before;
	struct logged s = start();
	unsigned long count = 0;

	ts_emit(s.id, 1);
	ts_flush(s.trid);
	/* They are told again when the log is a second older. */
	harness_sleep_ms(1100);
	ts_emit(s.id, 2);
	ts_flush(s.trid);
	trace_id_t log = ts_end_and_open_log(s.trid, s.fd);
	struct ts_events events = ts_read_log(log);
	CHECK_EQ(posixtrace_log_get_clock(log, 0, NULL, sizeof(c)), EINVAL);
	for (; !posixtrace_log_get_clock(log, count, &c, sizeof(c)); before = c, count++) {
		CHECK_EQ(c.pk_size, sizeof(c));
		CHECK_GE(c.pk_window_ns, 0);
		/* The readings belong together. */
		CHECK_LE(labs(ts_time_ns(&c.pk_time) - ts_time_ns(&c.pk_realtime)),
			 1000000000 + c.pk_window_ns);
		CHECK_GE(ts_time_ns(&c.pk_boottime), ts_time_ns(&c.pk_monotonic));
		if (count) {
			CHECK_GT(ts_time_ns(&c.pk_monotonic), ts_time_ns(&before.pk_monotonic));
			CHECK_GT(c.pk_counter, before.pk_counter);
		} else {
			/* The first is from before the first event. */
			CHECK_LE(ts_time_ns(&c.pk_time), time_at(&events, 0));
		}
	}
	CHECK_GE(count, 3);
	/* The last one is from behind the last event. */
	CHECK_GE(ts_time_ns(&before.pk_time), time_at(&events, events.count - 1));
	CHECK_EQ(posixtrace_log_get_clock(log, count, &c, sizeof(c)), ENODATA);
	ts_close_log(log);
}
