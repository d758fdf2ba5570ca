/* SPDX-License-Identifier: MIT */
/*
 * The table of event names, apart from streams: registration, sharing, the end.
 *
 * With a sanitizer it takes long, as registrations are single-stepped, and stopped or killed at their
 * instructions one by one.
 */
#include "tests/support/names.h"
#include "tests/support/private_user.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

static bool is_there(uint64_t id)
{
	char file[PTRC_SHMDIR_NAME_BYTES];
	struct stat st;

	ptrc_shmdir_name(file, 'n', id);
	return fstatat(names_dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void number_name(char name[PTRC_NAME_BYTES], int number)
{
	snprintf(name, PTRC_NAME_BYTES, "event-%d", number);
}

static uint32_t register_name(struct ptrc_names *n, const char *name)
{
	uint32_t id = 0;

	CHECK_OK(ptrc_names_register(n, name, &id));
	return id;
}

static uint32_t register_number(struct ptrc_names *n, int number)
{
	char name[PTRC_NAME_BYTES];

	number_name(name, number);
	return register_name(n, name);
}

TEST(ids_are_given_in_order_and_kept, "EVENTID-02 EVENTID-03 EVENTID-06 EVENTLIST-10")
{
	struct ptrc_names n = make_names();
	char name[PTRC_NAME_BYTES];

	CHECK_EQ(ptrc_names_count(&n), 0);
	CHECK_EQ(register_name(&n, "a"), 10);
	CHECK_EQ(register_name(&n, "A"), 11);
	CHECK_EQ(register_name(&n, "ab"), 12);
	CHECK_EQ(register_name(&n, ""), 13);
	CHECK_EQ(register_name(&n, "a"), 10);
	CHECK_EQ(register_name(&n, ""), 13);
	CHECK_EQ(ptrc_names_count(&n), 4);
	/* Two names with the same hash. */
	CHECK_EQ(register_name(&n, "costarring"), 14);
	CHECK_EQ(register_name(&n, "liquid"), 15);
	CHECK_EQ(atomic_load(&n.object->entry[4].hash), atomic_load(&n.object->entry[5].hash));
	CHECK_EQ(register_name(&n, "costarring"), 14);
	CHECK_OK(ptrc_names_get(&n, 12, name));
	CHECK_STR_EQ(name, "ab");
	CHECK_OK(ptrc_names_get(&n, 13, name));
	CHECK_STR_EQ(name, "");
	CHECK_EQ(ptrc_names_get(&n, 16, name), EINVAL);
	CHECK_EQ(ptrc_names_get(&n, 0, name), EINVAL);
	CHECK_EQ(ptrc_names_get(&n, UINT32_MAX, name), EINVAL);
	drop_names(&n);
	CHECK(!is_there(n.id));
}

TEST(private_table_works_alike_and_counts_what_has_no_room, "EVENTID-01 EVENTID-08 EXEC-13")
{
	struct ptrc_names n;

	CHECK_OK(ptrc_names_create_private(&n));
	for (int i = 0; i < (int)PTRC_NAMES_MAX; i++)
		CHECK_EQ(register_number(&n, i), 10 + i);
	/* Few of those without room share a bit. */
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(register_number(&n, (int)PTRC_NAMES_MAX + i), PTRC_ID_UNNAMED);
	CHECK_GT(ptrc_names_count_refused(n.object->refused_seen), 800);
	CHECK_LE(ptrc_names_count_refused(n.object->refused_seen), 1000);
	CHECK_EQ(register_name(&n, "event-7"), 17);
	ptrc_names_unmap(&n);
}

TEST(copy_keeps_the_first_ids, "FORK-14")
{
	struct ptrc_names n = make_names(), copy, again;

	for (int i = 0; i < 40; i++)
		register_number(&n, i);
	copy = copy_names(n.object, 30);
	CHECK_EQ(ptrc_names_count(&copy), 30);
	CHECK_EQ(register_number(&copy, 29), 39);
	CHECK_EQ(register_name(&copy, "its own"), 40);
	CHECK_EQ(register_name(&n, "its own"), 50);
	/* In the place of what it is a copy of. */
	uint64_t old = n.id;
	CHECK_OK(ptrc_names_create(names_dir, geteuid(), n.object, 35, n.object, &again));
	CHECK(again.object == n.object);
	CHECK_EQ(ptrc_names_count(&again), 35);
	CHECK_EQ(register_number(&again, 34), 44);
	ptrc_names_release(names_dir, geteuid(), old, is_needed);
	CHECK(!is_there(old));
	drop_names(&again);
	drop_names(&copy);
	CHECK(!is_there(copy.id));
}

TEST(object_lives_as_long_as_anybody_uses_it, "EVENTID-27 GEN-05")
{
	struct ptrc_names n = make_names(), second, third;
	int hold[2], fd;
	char byte;

	CHECK_OK(ptrc_names_open(names_dir, geteuid(), n.id, NULL, &second));
	CHECK_SYS(pipe(hold));
	pid_t pid = harness_fork();
	if (pid == 0) {
		close(hold[1]);
		(void)!read(hold[0], &byte, 1);
		_exit(0);
	}
	ptrc_names_unmap(&n);
	ptrc_names_release(names_dir, geteuid(), second.id, is_needed);
	CHECK(is_there(second.id));
	ptrc_names_unmap(&second);
	/* The child's copies of the mappings keep it. */
	ptrc_names_release(names_dir, geteuid(), second.id, is_needed);
	CHECK(is_there(second.id));
	close(hold[1]);
	harness_reap(pid);
	/* So does a descriptor. */
	CHECK_OK(ptrc_names_open_fd(names_dir, geteuid(), second.id, &fd));
	ptrc_names_release(names_dir, geteuid(), second.id, is_needed);
	CHECK(is_there(second.id));
	close(fd);
	ptrc_names_release(names_dir, geteuid(), second.id, is_needed);
	CHECK(!is_there(second.id));
	CHECK_EQ(ptrc_names_open(names_dir, geteuid(), second.id, NULL, &third), ENOENT);
}

TEST(mapping_works_on_without_its_name, "EVENTID-29 GEN-05")
{
	struct ptrc_names n = make_names();
	char file[PTRC_SHMDIR_NAME_BYTES];

	CHECK_EQ(register_name(&n, "before"), 10);
	ptrc_shmdir_name(file, 'n', n.id);
	CHECK_SYS(unlinkat(names_dir, file, 0));
	pid_t pids[4];
	for (int p = 0; p < 4; p++) {
		pids[p] = harness_fork();
		if (pids[p] == 0) {
			for (int i = 0; i < 250; i++)
				register_number(&n, i);
			_exit(0);
		}
	}
	for (int p = 0; p < 4; p++)
		CHECK_EXIT(pids[p], 0);
	CHECK_EQ(ptrc_names_count(&n), 251);
	CHECK_EQ(register_name(&n, "before"), 10);
}

struct racer {
	struct ptrc_names *n;
	uint32_t *ids;
};

static void *race(void *arg)
{
	struct racer *r = arg;

	for (int i = 0; i < 300; i++)
		r->ids[i] = register_number(r->n, i);
	return NULL;
}

TEST(racing_threads_and_processes_agree, "EVENTID-02 EVENTID-29 GEN-01")
{
	struct ptrc_names n = make_names();
	uint32_t(*ids)[300] = harness_share(8 * sizeof(*ids));
	pid_t pids[2];

	for (int p = 0; p < 2; p++) {
		pids[p] = harness_fork();
		if (pids[p] == 0) {
			pthread_t threads[4];
			struct racer racers[4];

			for (int t = 0; t < 4; t++) {
				racers[t] = (struct racer){&n, ids[p * 4 + t]};
				CHECK_OK(pthread_create(&threads[t], NULL, race, &racers[t]));
			}
			for (int t = 0; t < 4; t++)
				CHECK_OK(pthread_join(threads[t], NULL));
			_exit(0);
		}
	}
	for (int p = 0; p < 2; p++)
		CHECK_EXIT(pids[p], 0);
	CHECK_EQ(ptrc_names_count(&n), 300);
	for (int i = 1; i < 8; i++)
		CHECK_MEM_EQ(ids[i], ids[0], sizeof(*ids));
	drop_names(&n);
}

TEST(damaged_table_does_no_harm, "EVENTID-24 GEN-05")
{
	struct ptrc_names n = make_names(), other;
	char name[PTRC_NAME_BYTES];
	uint32_t id;

	register_name(&n, "one");
	other = copy_names(n.object, 1);
	memset((void *)n.object->entry, 'z', sizeof(n.object->entry));
	atomic_store(&n.object->entry[PTRC_NAMES_MAX - 1].state, PTRC_NAMES_MADE);
	atomic_store(&n.object->count, UINT32_MAX);
	CHECK_EQ(ptrc_names_count(&n), PTRC_NAMES_MAX);
	CHECK_OK(ptrc_names_get(&n, PTRC_ID_UNNAMED + PTRC_NAMES_MAX, name));
	CHECK_EQ(strlen(name), 255);
	CHECK_EQ(ptrc_names_get(&n, PTRC_ID_UNNAMED + PTRC_NAMES_MAX - 1, name), EINVAL);
	CHECK_EQ(ptrc_names_get(&n, PTRC_ID_FIRST + PTRC_NAMES_MAX, name), EINVAL);
	CHECK_OK(ptrc_names_register(&n, "zz", &id));
	CHECK_EQ(id, PTRC_ID_UNNAMED);
	/* Not what its name says. */
	other.object->magic = 0;
	uint64_t wrong = other.id;
	ptrc_names_unmap(&other);
	struct ptrc_names again;
	other = make_names();
	CHECK_EQ(ptrc_names_open(names_dir, geteuid(), wrong, NULL, &again), EPERM);
	char file[PTRC_SHMDIR_NAME_BYTES];
	ptrc_shmdir_name(file, 'n', other.id);
	int fd = CHECK_SYS(openat(names_dir, file, O_RDWR));
	CHECK_SYS(ftruncate(fd, 4096));
	CHECK_EQ(ptrc_names_open(names_dir, geteuid(), other.id, NULL, &again), EPERM);
	close(fd);
	ptrc_names_release(names_dir, geteuid(), wrong, is_needed);
	drop_names(&other);
	drop_names(&n);
}

TEST(a_damaged_index_ends_every_search, "EVENTID-24 GEN-05")
{
	enum { count = 100 };
	/* Chains that lead nowhere, to themselves, upwards and beyond all names. */
	static const uint16_t to[] = {1, 50, count, count + 1, PTRC_NAMES_MAX, UINT16_MAX};
	char name[PTRC_NAME_BYTES];

	for (size_t round = 0; round < 6; round++) {
		struct ptrc_names n = make_names();

		for (int i = 0; i < count; i++)
			register_number(&n, i);
		for (uint32_t i = 0; i < PTRC_NAMES_BUCKET_COUNT; i++)
			atomic_store(&n.object->bucket[i], to[round]);
		for (uint32_t i = 0; i < count; i++)
			atomic_store(&n.object->entry[i].next, to[round]);
		for (int i = 0; i < 2 * count; i++) {
			uint32_t id = register_number(&n, i);

			CHECK(id > PTRC_ID_UNNAMED);
			CHECK_OK(ptrc_names_get(&n, id, name));
		}
		drop_names(&n);
	}
}

/* Every entry has a name that leads back to it, or was given up. Returns how many have one. */
static uint32_t check_names(struct ptrc_names *n)
{
	uint32_t count = ptrc_names_count(n), named = 0;
	char name[PTRC_NAME_BYTES];

	for (uint32_t i = 0; i < count; i++) {
		if (!ptrc_names_object_has(n->object, i)) {
			CHECK_EQ(atomic_load(&n->object->entry[i].state), PTRC_NAMES_GIVEN_UP);
			CHECK_EQ(ptrc_names_get(n, 10 + i, name), EINVAL);
			continue;
		}
		CHECK_OK(ptrc_names_get(n, 10 + i, name));
		CHECK_EQ(register_name(n, name), 10 + i);
		named++;
	}
	CHECK_EQ(ptrc_names_count(n), count);
	return named;
}

TEST(a_stopped_registration_holds_up_nobody, "EVENTID-03 EVENT-23")
{
	struct ptrc_names n = make_names(), copy;
	char got[PTRC_NAME_BYTES];

	CHECK_EQ(register_name(&n, "before"), 10);
	/* As if a thread had claimed the next entry and written half of its name. */
	atomic_store(&n.object->entry[1].state, PTRC_NAMES_CLAIMED);
	strcpy(n.object->entry[1].name, "beh");
	/* What is there needs no entry. */
	CHECK_EQ(register_name(&n, "before"), 10);
	CHECK_EQ(ptrc_names_count(&n), 1);
	/* The next one looks at the claim each 20 us, for 20 ms. */
	long naps = harness_naps();
	CHECK_EQ(register_name(&n, "behind"), 12);
	CHECK_LE(harness_naps() - naps, 1100);
	CHECK_EQ(ptrc_names_get(&n, 11, got), EINVAL);
	CHECK_EQ(register_name(&n, "beh"), 13);
	CHECK_EQ(check_names(&n), 3);
	/* As if the thread had been stopped before it counted the entry in. */
	CHECK_EQ(register_name(&n, "made"), 14);
	uint32_t bucket = atomic_load(&n.object->entry[4].hash) % PTRC_NAMES_BUCKET_COUNT;
	atomic_store(&n.object->bucket[bucket], atomic_load(&n.object->entry[4].next));
	atomic_store(&n.object->count, 4);
	CHECK_EQ(register_name(&n, "more"), 15);
	CHECK_EQ(check_names(&n), 5);
	/* A copy has the same identifiers. */
	copy = copy_names(n.object, 4);
	CHECK_EQ(ptrc_names_get(&copy, 11, got), EINVAL);
	CHECK_EQ(register_name(&copy, "beh"), 13);
	CHECK_EQ(check_names(&copy), 3);
	drop_names(&copy);
	drop_names(&n);
}

TEST(claims_that_are_not_sound_end, "GEN-05")
{
	struct ptrc_names n = make_names();
	uint32_t id = 77;

	/* States that nobody stores cost an entry each, and no time. */
	for (uint32_t i = 0; i < 100; i++)
		atomic_store(&n.object->entry[i].state, (uint16_t)(0x7a00 + i));
	CHECK_EQ(register_name(&n, "a"), 110);
	/* More claims than threads can have been stopped: the registration ends with an error, and
	 * those after it come through. */
	for (uint32_t i = 101; i < 161; i++)
		atomic_store(&n.object->entry[i].state, PTRC_NAMES_CLAIMED);
	CHECK_EQ(ptrc_names_register(&n, "b", &id), ENOMEM);
	CHECK_EQ(id, 77);
	CHECK_EQ(register_name(&n, "b"), 171);
	/* The last entry was given up. */
	atomic_store(&n.object->count, PTRC_NAMES_MAX - 1);
	atomic_store(&n.object->entry[PTRC_NAMES_MAX - 1].state, PTRC_NAMES_CLAIMED);
	CHECK_EQ(register_name(&n, "c"), PTRC_ID_UNNAMED);
	CHECK_EQ(ptrc_names_count(&n), PTRC_NAMES_MAX);
	CHECK_EQ(ptrc_names_count_refused(n.object->refused_seen), 1);
	CHECK_STR_EQ(n.object->refused, "c");
	CHECK_EQ(register_name(&n, "d"), PTRC_ID_UNNAMED);
	CHECK_EQ(register_name(&n, "c"), PTRC_ID_UNNAMED);
	CHECK_EQ(ptrc_names_count_refused(n.object->refused_seen), 2);
	CHECK_STR_EQ(n.object->refused, "c");
	drop_names(&n);
}

/* Four processes register the same names, each in another order, and are stopped and killed
 * meanwhile. */
static void stop_and_kill(unsigned int *seed)
{
	enum { family = 4, names = 1500 };
	struct ptrc_names n = make_names();
	size_t bytes = family * names * sizeof(uint32_t);
	_Atomic uint32_t(*ids)[names] = harness_share(bytes);
	pid_t pids[family];

	for (int p = 0; p < family; p++) {
		pids[p] = harness_fork();
		if (pids[p] == 0) {
			for (int i = p * 100, end = i + names; i < end; i++)
				atomic_store(&ids[p][i % names], register_number(&n, i % names));
			_exit(0);
		}
	}
	for (int round = 0; round < 8; round++) {
		struct timespec delay = {0, (long)(rand_r(seed) % 2000000)};
		int p = round % family;

		nanosleep(&delay, NULL);
		CHECK_SYS(kill(pids[p], round == 7 ? SIGKILL : SIGSTOP));
		if (round == 3)
			harness_sleep_ms(25);
		if (round > 2)
			CHECK_SYS(kill(pids[(p + 1) % family], SIGCONT));
	}
	for (int p = 0; p < family; p++) {
		kill(pids[p], SIGCONT);
		if (p == family - 1)
			harness_reap(pids[p]);
		else
			CHECK_EXIT(pids[p], 0);
	}
	CHECK_EQ(check_names(&n), names);
	for (int i = 0; i < names; i++) {
		uint32_t id = register_number(&n, i);

		for (int p = 0; p < family; p++)
			CHECK(ids[p][i] == id || (p == family - 1 && ids[p][i] == 0));
	}
	munmap(ids, bytes);
	drop_names(&n);
}

TEST(registrations_stopped_and_killed_at_random_lose_and_double_nothing, "EVENTID-03 EVENTID-29")
{
	unsigned int seed = (unsigned int)getpid();

	for (int round = 0; round < 40; round++)
		stop_and_kill(&seed);
}

#if defined(__x86_64__)

struct stepped {
	/* What the process does in each round, with a name, between two breakpoints. */
	void (*work)(struct stepped *, const char *name);
	_Atomic int round;
	/* The name that it has registered, or to which it gives a layout. */
	_Atomic uint32_t id;
	/* The result of giving a layout, and one more; 0: it is not done. */
	_Atomic int result;
	struct ptrc_names n;
};

static void wait_for_trap(pid_t pid)
{
	int status;

	CHECK_SYS(waitpid(pid, &status, 0));
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
}

static void go_on(pid_t pid, enum __ptrace_request request)
{
	CHECK_SYS(ptrace(request, pid, NULL, NULL));
	wait_for_trap(pid);
}

static pid_t fork_stepped(struct stepped *s)
{
	char name[PTRC_NAME_BYTES];
	pid_t pid = harness_fork();

	if (pid == 0) {
		CHECK_SYS(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
		for (;;) {
			snprintf(name, sizeof(name), "stepped-%05d", atomic_load(&s->round));
			__asm__ volatile("int3" ::: "memory");
			s->work(s, name);
			__asm__ volatile("int3" ::: "memory");
		}
	}
	wait_for_trap(pid);
	return pid;
}

/* In memory without a file, as if that had been unlinked. */
static struct stepped *make_stepped(void (*work)(struct stepped *, const char *))
{
	struct stepped *s = harness_share(sizeof(*s));

	s->work = work;
	s->n = (struct ptrc_names){
		.object = harness_share(sizeof(*s->n.object)),
	};
	return s;
}

static void register_stepped(struct stepped *s, const char *name)
{
	atomic_store(&s->id, register_name(&s->n, name));
}

static void describe_stepped(struct stepped *s, const char *name)
{
	(void)name;
	atomic_store(&s->result,
		     1 + ptrc_names_set_layout(&s->n, atomic_load(&s->id), "u8 mine", 7));
}

/* What is done to a process that stands in the middle of its registration. */
enum fate { OVERTAKEN, SAME_NAME, KILLED, FATES };

/* Single-steps a registration up to its end. Stores at which instructions the entry of the name is
 * claimed and then is in the index. */
static long step_through(struct stepped *s, pid_t pid, long *claimed, long *entered)
{
	uint32_t index = ptrc_names_count(&s->n);
	struct ptrc_names_entry *e = &s->n.object->entry[index];
	long steps = 0;

	*claimed = *entered = 0;
	for (atomic_store(&s->id, 0); !atomic_load(&s->id); steps++) {
		uint32_t bucket = atomic_load(&e->hash) % PTRC_NAMES_BUCKET_COUNT;

		go_on(pid, PTRACE_SINGLESTEP);
		if (!*claimed && atomic_load(&e->state) == PTRC_NAMES_CLAIMED)
			*claimed = steps;
		if (!*entered && atomic_load(&s->n.object->bucket[bucket]) == index + 1)
			*entered = steps;
	}
	go_on(pid, PTRACE_CONT);
	atomic_fetch_add(&s->round, 1);
	go_on(pid, PTRACE_CONT);
	return steps;
}

/* How many instructions come before the claim is different from name to name, so those behind it are
 * counted from there. */
static void step_round(struct stepped *s, pid_t *pid, bool from_claim, long steps, enum fate fate)
{
	const struct ptrc_names_entry *e = &s->n.object->entry[ptrc_names_count(&s->n)];
	char mine[PTRC_NAME_BYTES], other[PTRC_NAME_BYTES];
	int round = atomic_load(&s->round);
	uint32_t id = 0;

	snprintf(mine, sizeof(mine), "stepped-%05d", round);
	snprintf(other, sizeof(other), "other-%05d", round);
	atomic_store(&s->id, 0);
	while (from_claim && atomic_load(&e->state) != PTRC_NAMES_CLAIMED)
		go_on(*pid, PTRACE_SINGLESTEP);
	for (long i = 0; i < steps; i++)
		go_on(*pid, PTRACE_SINGLESTEP);
	CHECK(register_name(&s->n, other) >= PTRC_ID_FIRST);
	if (fate == SAME_NAME)
		id = register_name(&s->n, mine);
	atomic_store(&s->round, round + 1);
	if (fate == KILLED) {
		harness_kill(*pid);
		*pid = fork_stepped(s);
		register_name(&s->n, mine);
		return;
	}
	go_on(*pid, PTRACE_CONT);
	CHECK(atomic_load(&s->id) >= PTRC_ID_FIRST);
	CHECK(!id || atomic_load(&s->id) == id);
	CHECK_EQ(register_name(&s->n, mine), atomic_load(&s->id));
	go_on(*pid, PTRACE_CONT);
}

TEST(a_registration_may_be_stopped_or_killed_at_any_instruction, "EVENTID-03 EVENTID-29")
{
	struct stepped *s = make_stepped(register_stepped);
	/* Half of the instructions, other ones each time. */
	const long sample = 2 * harness_sample();
	long claimed, entered, end, stride, inner;
	uint32_t rounds = 0;

	pid_t pid = fork_stepped(s);
	end = step_through(s, pid, &claimed, &entered);
	NOTE("%ld instructions, claimed at %ld, in the index at %ld", end, claimed, entered);
	CHECK(claimed > 0 && claimed < entered && entered < end);
	for (long steps = getpid() % sample; steps < claimed; steps += sample * 16)
		step_round(s, &pid, false, steps, (enum fate)(rounds++ % FATES));
	/* Whatever changes the object is between these two, where at least a few rounds are. */
	inner = (entered - claimed) / 16;
	if (inner > sample)
		inner = sample;
	for (long steps = getpid() % inner; steps < end - claimed - 8; steps += stride) {
		step_round(s, &pid, true, steps, (enum fate)(rounds++ % FATES));
		stride = steps > entered - claimed + 8 ? sample * 16 : inner;
	}
	harness_kill(pid);
	CHECK_EQ(check_names(&s->n), 2 * rounds + 1);
	NOTE("%u rounds, %u entries given up", rounds, ptrc_names_count(&s->n) - 2 * rounds - 1);
	CHECK_GT(ptrc_names_count(&s->n), 2 * rounds + 1);
}

/* Has a name of its own for each round. */
static void next_name(struct stepped *d, uint32_t round)
{
	atomic_store(&d->id, register_number(&d->n, (int)round));
	atomic_store(&d->result, 0);
}

/* What others find, and do, while a process stands in the middle of giving a name a layout, or is killed
 * there: the layout is one of the two, whole, and that of another name is not held up. */
static void describe_round(struct stepped *d, pid_t *pid, long steps, uint32_t round)
{
	static const char *const layouts[] = {"u8 mine", "i8 ours"};
	const char *layout = layouts[round / 2 % 2];
	char text[PTRC_NAMES_LAYOUT_BYTES];
	bool is_killed = round % 2;
	uint32_t id, other;

	next_name(d, 2 * round);
	id = atomic_load(&d->id);
	for (long i = 0; i < steps; i++)
		go_on(*pid, PTRACE_SINGLESTEP);
	if (is_killed) {
		harness_kill(*pid);
		*pid = fork_stepped(d);
	}
	other = register_name(&d->n, "another one");
	int error = ptrc_names_set_layout(&d->n, other, "u8 other", 8);
	CHECK_OK(error);
	error = ptrc_names_set_layout(&d->n, id, layout, 7);
	CHECK_OK(ptrc_names_get_layout(&d->n, id, text));
	CHECK_STR_EQ(text, error ? "u8 mine" : layout);
	CHECK(!error || (error == EEXIST && layout == layouts[1]));
	if (is_killed)
		return;
	go_on(*pid, PTRACE_CONT);
	CHECK_EQ(atomic_load(&d->result) - 1, strcmp(text, "u8 mine") ? EEXIST : 0);
	go_on(*pid, PTRACE_CONT);
}

TEST(a_process_may_be_stopped_or_killed_while_it_adds_a_layout, "")
{
	struct stepped *d = make_stepped(describe_stepped);
	const long sample = 2 * harness_sample();
	long end = 0;
	uint32_t round = 0;

	pid_t pid = fork_stepped(d);
	for (next_name(d, round++); !atomic_load(&d->result); end++)
		go_on(pid, PTRACE_SINGLESTEP);
	CHECK_EQ(atomic_load(&d->result), 1);
	go_on(pid, PTRACE_CONT);
	go_on(pid, PTRACE_CONT);
	NOTE("%ld instructions", end);
	for (long steps = getpid() % sample; steps < end; steps += sample)
		describe_round(d, &pid, steps, round++);
	harness_kill(pid);
	/* Each name has its layout, and the list has each once. */
	CHECK_EQ(ptrc_names_object_described(d->n.object, round + 1), PTRC_NAMES_MAX);
	for (uint32_t i = 0; i <= round; i++)
		CHECK_LT(ptrc_names_object_described(d->n.object, i), ptrc_names_count(&d->n));
}

#endif

TEST(a_name_that_a_dead_process_did_not_enter_is_found, "EVENTID-03 GEN-05")
{
	struct ptrc_names n = make_names(), copy;
	char name[PTRC_NAME_BYTES];

	for (int i = 0; i < 3000; i++) {
		CHECK_EQ(register_number(&n, i), 10 + i);
		/* As if it had been killed between the count and the index. */
		uint32_t bucket = atomic_load(&n.object->entry[i].hash) % PTRC_NAMES_BUCKET_COUNT;
		CHECK_EQ(atomic_load(&n.object->bucket[bucket]), i + 1);
		atomic_store(&n.object->bucket[bucket], atomic_load(&n.object->entry[i].next));
		if (i % 3 == 0)
			CHECK_EQ(register_number(&n, i), 10 + i);
	}
	CHECK_EQ(ptrc_names_count(&n), 3000);
	/* A copy of some of them has an index of its own. */
	copy = copy_names(n.object, 2000);
	for (int i = 0; i < 3000; i++) {
		number_name(name, i);
		CHECK_EQ(ptrc_names_find(n.object, 1000, name), i < 1000 ? 10 + i : 0);
		CHECK_EQ(ptrc_names_find(copy.object, PTRC_NAMES_MAX, name), i < 2000 ? 10 + i : 0);
	}
	drop_names(&copy);
	drop_names(&n);
}
