/* SPDX-License-Identifier: MIT */
/*
 * Writes a log of a system at work that never was, which no machine and no load changes:
 *
 *     prog_scene LOG SCENE [COUNT]
 *
 *	work     COUNT requests (default: 1000) of two processes with three threads each: pairs in
 *	         pairs, jobs that go from one thread to another, numbers, text and enums as data,
 *	         switches, samples, a place where events were lost, halves of pairs
 *	threads  an event and a pair of each of COUNT threads
 *	halves   COUNT begins without ends, and as many ends without begins of another pair
 *	names    names and data that are markup, quotes, control characters, no UTF-8, or very long
 *	years    two events, COUNT days apart
 *	none     no event
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <posixtrace.h>

static struct posixtrace_log *the_log;
static uint64_t random_state = 1;

static uint64_t random_below(uint64_t end)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (random_state >> 33) % end;
}

static void check(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "prog_scene: %s: %s\n", what, strerror(error));
	exit(EXIT_FAILURE);
}

static trace_event_id_t type(const char *name, const char *layout)
{
	trace_event_id_t id;

	check(posixtrace_log_type(the_log, name, &id), name);
	if (layout)
		check(posixtrace_log_set_layout(the_log, id, layout), layout);
	return id;
}

/* Events wait until all are there, as a log takes them in the order of their times. */
struct waiting {
	struct posixtrace_event event;
	int64_t ns;
	size_t number;
	char data[128];
};
static struct waiting *waiting;
static size_t waiting_count, waiting_room;

static void add(trace_event_id_t id, int64_t ns, int pid, int tid, const void *data, size_t size)
{
	struct waiting *w;

	if (waiting_count == waiting_room) {
		waiting_room = waiting_room ? 2 * waiting_room : 1024;
		waiting = realloc(waiting, waiting_room * sizeof(*waiting));
		check(waiting ? 0 : 12, "realloc");
	}
	w = &waiting[waiting_count];
	memset(w, 0, sizeof(*w));
	w->ns = ns;
	w->number = waiting_count++;
	memcpy(w->data, data, size);
	w->event.pt_size = size;
	w->event.pt_info.posix_event_id = id;
	w->event.pt_info.posix_pid = pid;
	w->event.pt_info.posix_tid = tid;
	w->event.pt_info.posix_prog_address = (void *)(uintptr_t)(0x401000 + 16 * id);
	w->event.pt_info.posix_truncation_status = POSIX_TRACE_NOT_TRUNCATED;
	w->event.pt_info.posix_timestamp.tv_sec = ns / 1000000000;
	w->event.pt_info.posix_timestamp.tv_nsec = ns % 1000000000;
}

static int compare(const void *a, const void *b)
{
	const struct waiting *s = a;
	const struct waiting *t = b;

	if (s->ns != t->ns)
		return s->ns < t->ns ? -1 : 1;
	return (s->number > t->number) - (s->number < t->number);
}

static void write_all(void)
{
	if (waiting_count)
		qsort(waiting, waiting_count, sizeof(*waiting), compare);
	for (size_t i = 0; i < waiting_count; i++) {
		waiting[i].event.pt_data = waiting[i].data;
		check(posixtrace_log_add(the_log, &waiting[i].event), "posixtrace_log_add");
	}
	free(waiting);
}

/* ---- work */

static struct {
	trace_event_id_t request[2], query[2], job[2], note, cache, in, out, sample, odd[2];
} types;

struct request {
	uint32_t id;
	unsigned char kind;
};

struct query {
	uint32_t id;
	uint32_t rows;
	char sql[24];
};

static void add_sample(int64_t ns, int pid, int tid, unsigned int deep)
{
	struct {
		uint32_t processor;
		bool is_cut;
		uint64_t stack[6];
	} sample = {0,
		    false,
		    {0x5000 + 0x100 * random_below(3), 0x4000, 0x3000, 0x2000 + 0x100 * deep,
		     0x1000, 0x800}};

	add(types.sample, ns, pid, tid, &sample, sizeof(sample));
}

/* A request that a thread serves; returns the time at its end. */
static int64_t serve(int64_t ns, int pid, int tid, uint32_t id)
{
	static const char *const sql[] = {"select * from users", "insert into log", "update <b>"};
	struct request r = {id, (unsigned char)random_below(3)};
	struct query q = {.id = id};
	uint64_t size = 64 * (1 + random_below(100)), job = id;
	uint32_t processor = (uint32_t)random_below(4);
	struct {
		uint32_t processor;
		unsigned char preempted;
	} off = {processor, (unsigned char)random_below(2)};
	int64_t begin = ns;
	/* Now and then something takes much longer. */
	int64_t slow = random_below(97) ? 1 : 20;

	add(types.in, ns - 2000, pid, tid, &processor, sizeof(processor));
	add(types.request[0], ns, pid, tid, &r, sizeof(r));
	ns += 5000 + (int64_t)random_below(5000);
	add(types.cache, ns, pid, tid, &size, sizeof(size));
	for (unsigned int i = 0; i < 1 + id % 3; i++) {
		q.rows = (uint32_t)random_below(50);
		strcpy(q.sql, sql[random_below(3)]);
		add(types.query[0], ns, pid, tid, &q, sizeof(q));
		add_sample(ns + 500, pid, tid, i);
		ns += slow * (10000 + (int64_t)random_below(40000));
		add(types.query[1], ns, pid, tid, &q.id, sizeof(q.id));
		ns += 2000;
	}
	add(types.job[0], ns, pid, tid, &job, sizeof(job));
	ns += 3000;
	add(types.request[1], ns, pid, tid, &r.id, sizeof(r.id));
	add(types.out, ns + 1000, pid, tid, &off, 5);
	/* Another thread ends the job. */
	add(types.job[1], ns + 60000, pid, tid == pid ? pid + 1 : pid, &job, sizeof(job));
	if (!random_below(10))
		add(types.note, begin + 100, pid, tid, "looked up", 9);
	return ns;
}

static void work(int64_t ns, unsigned long count)
{
	int64_t free_at[6];
	unsigned long lost_at = count / 3;

	types.request[0] = type("request.begin", "u32 id, enum u8 {get, put, list} kind");
	types.request[1] = type("request.end", "u32 id");
	types.query[0] = type("db.query.begin", "u32 id, u32 rows count, char[24] sql");
	types.query[1] = type("db.query.end", "u32 id");
	types.job[0] = type("job.submit", "u64 job");
	types.job[1] = type("job.done", "u64 job");
	types.note = type("note", NULL);
	types.cache = type("cache.fill", "u64 size B");
	types.in = type("os.switch_in", "u32 processor");
	types.out = type("os.switch_out", "u32 processor, bool preempted");
	types.sample = type("os.sample", "u32 processor, bool cut, code[] stack");
	types.odd[0] = type("odd.begin", NULL);
	types.odd[1] = type("odd.end", NULL);
	for (size_t i = 0; i < 6; i++)
		free_at[i] = ns + 100000 * (int64_t)(i + 1);
	add(types.odd[1], ns, 100, 100, "", 0);
	for (unsigned long i = 0; i < count; i++) {
		size_t worker = random_below(6);
		int pid = worker < 3 ? 100 : 200;

		if (i == lost_at) {
			int64_t latest = ns;

			for (size_t k = 0; k < 6; k++)
				if (free_at[k] > latest)
					latest = free_at[k];
			add(POSIX_TRACE_OVERFLOW, latest + 200000, 0, 0, "", 0);
			add(POSIX_TRACE_RESUME, latest + 1200000, 0, 0, "", 0);
			for (size_t k = 0; k < 6; k++)
				free_at[k] = latest + 1300000;
		}
		free_at[worker] =
			serve(free_at[worker], pid, pid + (int)(worker % 3), (uint32_t)i) +
			(int64_t)random_below(60000) + 10000;
	}
	add(types.odd[0], free_at[0] + 1000, 100, 100, "", 0);
}

/* ---- the others */

static void threads(int64_t ns, unsigned long count)
{
	trace_event_id_t one = type("one", NULL), begin = type("turn.begin", NULL),
			 end = type("turn.end", NULL);

	for (unsigned long i = 0; i < count; i++) {
		add(one, ns, 7, 1000 + (int)i, "", 0);
		add(begin, ns + 10, 7, 1000 + (int)i, "", 0);
		add(end, ns + 500, 7, 1000 + (int)i, "", 0);
		ns += 1000;
	}
}

static void halves(int64_t ns, unsigned long count)
{
	trace_event_id_t begin = type("never.begin", NULL), end = type("always.end", NULL);

	type("never.end", NULL);
	type("always.begin", NULL);
	for (unsigned long i = 0; i < count; i++) {
		add(begin, ns + 1000 * (int64_t)i, 7, 7, "", 0);
		add(end, ns + 1000 * (int64_t)i + 500, 7, 7, "", 0);
	}
}

static void names(int64_t ns)
{
	static const char *const all[] = {
		"</script><script>window.broken=1</script>",
		"<img src=x onerror=window.broken=1>",
		"\"';--&amp;\\",
		"<!-- <script>",
		"two\nlines\ttab\001\033[31m",
		"\xff\xfe\xc3(",
		"\xe2\x80\xae\xe2\x80\xa8 turned round",
	};
	char longest[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t text = type("text", "str text, u64 big, i64 low, f64 real, x8[3] few");
	char data[80];

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		uint64_t big = UINT64_MAX - i;
		int64_t low = INT64_MIN + (int64_t)i;
		double real = 1.5 * (double)i;
		size_t size = strlen(all[i]) + 1;
		size_t at = (size + 7) / 8 * 8;

		add(type(all[i], NULL), ns, 1, 1, all[i], strlen(all[i]));
		memset(data, 0, sizeof(data));
		memcpy(data, all[i], size);
		memcpy(data + at, &big, 8);
		memcpy(data + at + 8, &low, 8);
		memcpy(data + at + 16, &real, 8);
		memcpy(data + at + 24, "abc", 3);
		add(text, ns + 500, 1, 1, data, at + 32);
		ns += 1000;
	}
	memset(longest, '\xe4', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	add(type(longest, NULL), ns, 1, 1, "", 0);
}

int main(int argc, char **argv)
{
	struct timespec created = {.tv_sec = 1700000000};
	struct posixtrace_counts lost = {.pt_size = sizeof(lost)};
	int64_t ns = (int64_t)created.tv_sec * 1000000000;
	const char *scene = argc > 2 ? argv[2] : "";
	unsigned long count = argc > 3 ? strtoul(argv[3], NULL, 10) : 1000;
	trace_attr_t attr;
	int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

	if (fd < 0) {
		fprintf(stderr, "prog_scene: no log\n");
		return EXIT_FAILURE;
	}
	check(posix_trace_attr_init(&attr), "posix_trace_attr_init");
	check(posixtrace_log_create(fd, &attr, &created, &the_log), argv[1]);
	if (!strcmp(scene, "work")) {
		work(ns, count);
		lost.pt_log_lost_events = 17;
	} else if (!strcmp(scene, "threads")) {
		threads(ns, count);
	} else if (!strcmp(scene, "halves")) {
		halves(ns, count);
	} else if (!strcmp(scene, "names")) {
		names(ns);
	} else if (!strcmp(scene, "years")) {
		add(type("far", NULL), ns, 1, 1, "", 0);
		add(type("far", NULL), ns + (int64_t)count * 86400000000000 + 1, 1, 1, "", 0);
	} else if (strcmp(scene, "none") != 0) {
		fprintf(stderr, "prog_scene: %s: no such scene\n", scene);
		return EXIT_FAILURE;
	}
	write_all();
	check(posixtrace_log_close(the_log, &lost), argv[1]);
	close(fd);
	return EXIT_SUCCESS;
}
