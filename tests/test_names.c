/* SPDX-License-Identifier: MIT */
/* The table of event names, apart from streams: registration, sharing, the end. */
#include "tests/harness.h"
#include "tests/private_user.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "lib/model/names.h"
#include "lib/base/shmdir.h"

static int open_dir(void)
{
	int dirfd;

	CHECK_OK(ptrc_shmdir_open(geteuid(), true, &dirfd));
	return dirfd;
}

static bool is_there(int dirfd, uint64_t id)
{
	char file[PTRC_SHMDIR_NAME_BYTES];
	struct stat st;

	ptrc_shmdir_name(file, 'n', id);
	return fstatat(dirfd, file, &st, AT_SYMLINK_NOFOLLOW) == 0;
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

TEST(ids_are_given_in_order_and_kept, "EVENTID-02 EVENTID-03 EVENTID-06 EVENTLIST-10")
{
	struct ptrc_names n;
	char name[PTRC_NAME_BYTES];
	int dirfd = open_dir();

	CHECK_OK(ptrc_names_create(dirfd, geteuid(), NULL, 0, NULL, &n));
	CHECK_EQ(ptrc_names_count(&n), 0);
	CHECK_EQ(register_name(&n, "a"), 10);
	CHECK_EQ(register_name(&n, "A"), 11);
	CHECK_EQ(register_name(&n, "ab"), 12);
	CHECK_EQ(register_name(&n, ""), 13);
	CHECK_EQ(register_name(&n, "a"), 10);
	CHECK_EQ(register_name(&n, ""), 13);
	CHECK_EQ(ptrc_names_count(&n), 4);
	CHECK_OK(ptrc_names_get(&n, 12, name));
	CHECK_STR_EQ(name, "ab");
	CHECK_OK(ptrc_names_get(&n, 13, name));
	CHECK_STR_EQ(name, "");
	CHECK_EQ(ptrc_names_get(&n, 14, name), EINVAL);
	CHECK_EQ(ptrc_names_get(&n, 0, name), EINVAL);
	CHECK_EQ(ptrc_names_get(&n, UINT32_MAX, name), EINVAL);
	ptrc_names_unmap(&n);
	ptrc_names_release(dirfd, geteuid(), n.id);
	CHECK(!is_there(dirfd, n.id));
}

TEST(predefined_names_have_their_ids, "EVENTID-17 EVENTID-23 SYSEVENT-01 SYSEVENT-09")
{
	struct ptrc_names n;
	char name[PTRC_NAME_BYTES];
	int dirfd = open_dir();

	CHECK_OK(ptrc_names_create(dirfd, geteuid(), NULL, 0, NULL, &n));
	for (uint32_t id = 1; id <= 9; id++) {
		CHECK_OK(ptrc_names_get(NULL, id, name));
		CHECK_STR_EQ(name, ptrc_names_predefined(id));
		CHECK_EQ(register_name(&n, name), id);
	}
	CHECK_EQ(register_name(&n, "posix_trace_unnamed_userevent"), PTRC_ID_UNNAMED);
	CHECK(!ptrc_names_predefined(0));
	CHECK(!ptrc_names_predefined(10));
	CHECK_EQ(ptrc_names_get(NULL, 10, name), EINVAL);
	CHECK_EQ(ptrc_names_count(&n), 0);
	ptrc_names_unmap(&n);
	ptrc_names_release(dirfd, geteuid(), n.id);
}

TEST(length_is_limited, "EVENTID-04")
{
	struct ptrc_names n;
	char name[PTRC_NAME_BYTES + 1], got[PTRC_NAME_BYTES];
	uint32_t id = 77;
	int dirfd = open_dir();

	CHECK_OK(ptrc_names_create(dirfd, geteuid(), NULL, 0, NULL, &n));
	memset(name, 'x', sizeof(name));
	name[256] = '\0';
	CHECK_EQ(ptrc_names_register(&n, name, &id), ENAMETOOLONG);
	CHECK_EQ(id, 77);
	CHECK_EQ(ptrc_names_count(&n), 0);
	name[255] = '\0';
	CHECK_EQ(register_name(&n, name), 10);
	CHECK_EQ(register_name(&n, name), 10);
	CHECK_OK(ptrc_names_get(&n, 10, got));
	CHECK_STR_EQ(got, name);
	ptrc_names_unmap(&n);
	ptrc_names_release(dirfd, geteuid(), n.id);
}

TEST(full_table_gives_the_unnamed_event, "EVENTID-07 EVENTID-08")
{
	struct ptrc_names n;
	char name[PTRC_NAME_BYTES];
	int dirfd = open_dir();
	int64_t start = harness_now_ns();

	CHECK_OK(ptrc_names_create(dirfd, geteuid(), NULL, 0, NULL, &n));
	for (int i = 0; i < 1023; i++) {
		number_name(name, i);
		CHECK_EQ(register_name(&n, name), 10 + i);
	}
	CHECK_EQ(register_name(&n, "one more"), PTRC_ID_UNNAMED);
	for (int i = 0; i < 1023; i++) {
		number_name(name, i);
		CHECK_EQ(register_name(&n, name), 10 + i);
	}
	NOTE("1023 names registered and found: %d us", (int)((harness_now_ns() - start) / 1000));
	CHECK_EQ(ptrc_names_count(&n), 1023);
	CHECK_EQ(ptrc_names_get(&n, 1033, name), EINVAL);
	ptrc_names_unmap(&n);
	ptrc_names_release(dirfd, geteuid(), n.id);
}

TEST(copy_keeps_the_first_ids, "FORK-14")
{
	struct ptrc_names n, copy, again;
	char name[PTRC_NAME_BYTES];
	int dirfd = open_dir();

	CHECK_OK(ptrc_names_create(dirfd, geteuid(), NULL, 0, NULL, &n));
	for (int i = 0; i < 40; i++) {
		number_name(name, i);
		register_name(&n, name);
	}
	CHECK_OK(ptrc_names_create(dirfd, geteuid(), n.object, 30, NULL, &copy));
	CHECK_EQ(ptrc_names_count(&copy), 30);
	number_name(name, 29);
	CHECK_EQ(register_name(&copy, name), 39);
	CHECK_EQ(register_name(&copy, "its own"), 40);
	CHECK_EQ(register_name(&n, "its own"), 50);
	/* In the place of what it is a copy of. */
	uint64_t old = n.id;
	CHECK_OK(ptrc_names_create(dirfd, geteuid(), n.object, 35, n.object, &again));
	CHECK(again.object == n.object);
	CHECK_EQ(ptrc_names_count(&again), 35);
	number_name(name, 34);
	CHECK_EQ(register_name(&again, name), 44);
	ptrc_names_release(dirfd, geteuid(), old);
	CHECK(!is_there(dirfd, old));
	ptrc_names_unmap(&again);
	ptrc_names_release(dirfd, geteuid(), again.id);
	ptrc_names_unmap(&copy);
	ptrc_names_release(dirfd, geteuid(), copy.id);
	CHECK(!is_there(dirfd, copy.id));
}

TEST(object_lives_as_long_as_anybody_uses_it, "EVENTID-27 GEN-05")
{
	struct ptrc_names n, second, third;
	int dirfd = open_dir(), hold[2], fd;
	char byte;

	CHECK_OK(ptrc_names_create(dirfd, geteuid(), NULL, 0, NULL, &n));
	CHECK_OK(ptrc_names_open(dirfd, geteuid(), n.id, NULL, &second));
	CHECK_SYS(pipe(hold));
	pid_t pid = harness_fork();
	if (pid == 0) {
		close(hold[1]);
		(void)!read(hold[0], &byte, 1);
		_exit(0);
	}
	ptrc_names_unmap(&n);
	ptrc_names_release(dirfd, geteuid(), second.id);
	CHECK(is_there(dirfd, second.id));
	ptrc_names_unmap(&second);
	/* The child's copies of the mappings keep it. */
	ptrc_names_release(dirfd, geteuid(), second.id);
	CHECK(is_there(dirfd, second.id));
	close(hold[1]);
	harness_reap(pid);
	/* So does a descriptor. */
	CHECK_OK(ptrc_names_open_fd(dirfd, geteuid(), second.id, &fd));
	ptrc_names_release(dirfd, geteuid(), second.id);
	CHECK(is_there(dirfd, second.id));
	close(fd);
	ptrc_names_release(dirfd, geteuid(), second.id);
	CHECK(!is_there(dirfd, second.id));
	CHECK_EQ(ptrc_names_open(dirfd, geteuid(), second.id, NULL, &third), ENOENT);
}

TEST(mapping_works_on_without_its_name, "EVENTID-29 GEN-05")
{
	struct ptrc_names n;
	char file[PTRC_SHMDIR_NAME_BYTES], name[PTRC_NAME_BYTES];
	int dirfd = open_dir();

	CHECK_OK(ptrc_names_create(dirfd, geteuid(), NULL, 0, NULL, &n));
	CHECK_EQ(register_name(&n, "before"), 10);
	ptrc_shmdir_name(file, 'n', n.id);
	CHECK_SYS(unlinkat(dirfd, file, 0));
	pid_t pids[4];
	for (int p = 0; p < 4; p++) {
		pids[p] = harness_fork();
		if (pids[p] == 0) {
			for (int i = 0; i < 250; i++) {
				number_name(name, i);
				register_name(&n, name);
			}
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
	uint32_t ids[300];
};

static void *race(void *arg)
{
	struct racer *r = arg;
	char name[PTRC_NAME_BYTES];

	for (int i = 0; i < 300; i++) {
		number_name(name, i);
		r->ids[i] = register_name(r->n, name);
	}
	return NULL;
}

TEST(racing_threads_and_processes_agree, "EVENTID-02 EVENTID-29 GEN-01")
{
	struct ptrc_names n;
	int dirfd = open_dir();

	CHECK_OK(ptrc_names_create(dirfd, geteuid(), NULL, 0, NULL, &n));
	uint32_t(*ids)[300] = mmap(NULL, 8 * sizeof(*ids), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[2];
	for (int p = 0; p < 2; p++) {
		pids[p] = harness_fork();
		if (pids[p] == 0) {
			pthread_t threads[4];
			struct racer racers[4];

			for (int t = 0; t < 4; t++) {
				racers[t].n = &n;
				CHECK_OK(pthread_create(&threads[t], NULL, race, &racers[t]));
			}
			for (int t = 0; t < 4; t++) {
				CHECK_OK(pthread_join(threads[t], NULL));
				memcpy(ids[p * 4 + t], racers[t].ids, sizeof(*ids));
			}
			_exit(0);
		}
	}
	for (int p = 0; p < 2; p++)
		CHECK_EXIT(pids[p], 0);
	CHECK_EQ(ptrc_names_count(&n), 300);
	for (int i = 1; i < 8; i++)
		CHECK_MEM_EQ(ids[i], ids[0], sizeof(*ids));
	ptrc_names_unmap(&n);
	ptrc_names_release(dirfd, geteuid(), n.id);
}

TEST_TIMEOUT(killed_registration_leaves_nothing_half_made, "EVENTID-29 EVENT-23", 120)
{
	struct ptrc_names n;
	char name[PTRC_NAME_BYTES], got[PTRC_NAME_BYTES];
	int dirfd = open_dir();
	unsigned int seed = 1;

	CHECK_OK(ptrc_names_create(dirfd, geteuid(), NULL, 0, NULL, &n));
	for (int round = 0; round < 150; round++) {
		pid_t pid = harness_fork();

		if (pid == 0) {
			for (int i = 0;; i = (i + 1) % 900) {
				number_name(name, i);
				register_name(&n, name);
			}
		}
		struct timespec delay = {0, 20000 + (long)(rand_r(&seed) % 400000)};
		nanosleep(&delay, NULL);
		CHECK_SYS(kill(pid, SIGKILL));
		harness_reap(pid);
		/* Whatever it was doing, the next can go on at once. */
		int64_t start = harness_now_ns();
		number_name(name, 900 + round % 100);
		register_name(&n, name);
		CHECK_LT(harness_now_ns() - start, INT64_C(500000000));
	}
	uint32_t count = ptrc_names_count(&n);
	NOTE("%u names", count);
	for (uint32_t i = 0; i < count; i++) {
		CHECK_OK(ptrc_names_get(&n, 10 + i, got));
		CHECK_EQ(strncmp(got, "event-", 6), 0);
		CHECK_EQ(register_name(&n, got), 10 + i);
	}
	ptrc_names_unmap(&n);
	ptrc_names_release(dirfd, geteuid(), n.id);
	CHECK(!is_there(dirfd, n.id));
}

TEST(damaged_table_does_no_harm, "EVENTID-24 GEN-05")
{
	struct ptrc_names n, other;
	char name[PTRC_NAME_BYTES];
	int dirfd = open_dir();
	uint32_t id;

	CHECK_OK(ptrc_names_create(dirfd, geteuid(), NULL, 0, NULL, &n));
	register_name(&n, "one");
	CHECK_OK(ptrc_names_create(dirfd, geteuid(), n.object, 1, NULL, &other));
	memset(n.object->name, 'z', sizeof(n.object->name));
	atomic_store(&n.object->count, UINT32_MAX);
	CHECK_EQ(ptrc_names_count(&n), 1023);
	CHECK_OK(ptrc_names_get(&n, 1032, name));
	CHECK_EQ(strlen(name), 255);
	CHECK_EQ(ptrc_names_get(&n, 1033, name), EINVAL);
	CHECK_OK(ptrc_names_register(&n, "zz", &id));
	CHECK_EQ(id, PTRC_ID_UNNAMED);
	/* Not what its name says. */
	other.object->magic = 0;
	uint64_t wrong = other.id;
	ptrc_names_unmap(&other);
	struct ptrc_names again;
	CHECK_OK(ptrc_names_create(dirfd, geteuid(), NULL, 0, NULL, &other));
	CHECK_EQ(ptrc_names_open(dirfd, geteuid(), wrong, NULL, &again), EPERM);
	char file[PTRC_SHMDIR_NAME_BYTES];
	ptrc_shmdir_name(file, 'n', other.id);
	int fd = CHECK_SYS(openat(dirfd, file, O_RDWR));
	CHECK_SYS(ftruncate(fd, 4096));
	CHECK_EQ(ptrc_names_open(dirfd, geteuid(), other.id, NULL, &again), EPERM);
	close(fd);
	ptrc_names_release(dirfd, geteuid(), wrong);
	ptrc_names_unmap(&other);
	ptrc_names_release(dirfd, geteuid(), other.id);
	ptrc_names_unmap(&n);
	ptrc_names_release(dirfd, geteuid(), n.id);
}

TEST(private_table_works_alike, "EVENTID-01 EXEC-13")
{
	struct ptrc_names n;
	char name[PTRC_NAME_BYTES];

	CHECK_OK(ptrc_names_create_private(&n));
	for (int i = 0; i < 1023; i++) {
		number_name(name, i);
		CHECK_EQ(register_name(&n, name), 10 + i);
	}
	CHECK_EQ(register_name(&n, "one more"), PTRC_ID_UNNAMED);
	CHECK_EQ(register_name(&n, "event-7"), 17);
	ptrc_names_unmap(&n);
}
