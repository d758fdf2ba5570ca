/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/model/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/base/copy.h"
#include "lib/base/file.h"
#include "lib/base/shared_version.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/base/timespec.h"

/* Each process that uses a names object (table of event names) has a read lock on this byte of its
 * file. */
#define USER_BYTE 0

/* How long to wait for a thread that has claimed an entry of the table of names. Writing the name
 * takes a microsecond, but the thread may have lost its processor, and giving up its claim wastes
 * an identifier. */
#define MAKER_WAIT_NS 20000000

/* A thread that registers a name gives up at most this many entries that other threads have claimed
 * and not finished, because they were stopped or killed. */
#define GIVE_UP_MAX 50

#define MAP_BYTES sizeof(struct ptrc_names_object)

/* Bytes from the start of the names object to the end of its first `count` entries. */
static uint64_t bytes_of(uint32_t count)
{
	return offsetof(struct ptrc_names_object, entry) + count * sizeof(struct ptrc_names_entry);
}

const char *ptrc_names_predefined(uint32_t id)
{
	static const char names[PTRC_ID_FIRST][32] = {
		"",
		"posix_trace_start",
		"posix_trace_stop",
		"posix_trace_filter",
		"posix_trace_overflow",
		"posix_trace_resume",
		"posix_trace_flush_start",
		"posix_trace_flush_stop",
		"posix_trace_error",
		"posix_trace_unnamed_userevent",
	};

	return id >= 1 && id < PTRC_ID_FIRST ? names[id] : NULL;
}

/* memcmp() that the thread sanitizer does not see, see lib/base/copy.h. */
static bool are_same(const void *a, const void *b, size_t bytes)
{
	const volatile char *c = a, *d = b;
	size_t i = 0;

	while (i < bytes && c[i] == d[i])
		i++;
	return i == bytes;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 2166136261U;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619U;
	return hash ^ hash >> 15;
}

uint32_t ptrc_names_find(const struct ptrc_names_object *object, uint32_t limit, const char *name)
{
	size_t size = strlen(name) + 1;
	uint32_t hash, number, count;

	for (uint32_t id = 1; id < PTRC_ID_FIRST; id++)
		if (strcmp(ptrc_names_predefined(id), name) == 0)
			return id;
	if (!object || size > PTRC_NAME_BYTES)
		return 0;
	hash = hash_of(name);
	number = ptrc_load_acquire(&object->bucket[hash % PTRC_NAMES_BUCKET_COUNT]);
	/* Load the count after the bucket: a name is counted before it enters the bucket, so the
	 * count includes every name of the bucket's chain, and a higher number is damage. */
	count = ptrc_names_object_count(object);
	while (number != 0 && number <= count) {
		const struct ptrc_names_entry *e = &object->entry[number - 1];
		uint32_t next = ptrc_load_relaxed(&e->next);

		if (number <= limit && ptrc_load_relaxed(&e->hash) == hash &&
		    are_same(e->name, name, size))
			return PTRC_ID_UNNAMED + number;
		if (next >= number)
			break; /* the memory is damaged */
		number = next;
	}
	return 0;
}

/* Whether the identifier has a name in the object. *index becomes the index of its entry. */
static bool has_name(const struct ptrc_names *n, uint32_t id, uint32_t *index)
{
	*index = id - PTRC_ID_FIRST;
	return n && n->object && id >= PTRC_ID_FIRST &&
	       *index < ptrc_names_object_count(n->object) &&
	       ptrc_names_object_has(n->object, *index);
}

int ptrc_names_get(const struct ptrc_names *n, uint32_t id, char name[PTRC_NAME_BYTES])
{
	const char *predefined = ptrc_names_predefined(id);
	uint32_t index;

	if (predefined) {
		memcpy(name, predefined, strlen(predefined) + 1);
		return 0;
	}
	if (!has_name(n, id, &index))
		return EINVAL;
	ptrc_copy(name, n->object->entry[index].name, PTRC_NAME_BYTES);
	/* Other processes write the object, so the terminating zero may be missing. */
	name[PTRC_NAME_BYTES - 1] = '\0';
	return 0;
}

/* Puts an entry into the index, if the entry has a name and is not in the index yet. The caller
 * guarantees that the object's count includes the entry and that all lower entries are in the
 * index. No thread takes a higher entry before this one is in the index. So if the bucket changes
 * meanwhile, another thread has put in this same entry, and nothing is left to do. */
static void enter_index(struct ptrc_names_object *object, uint32_t index)
{
	struct ptrc_names_entry *e = &object->entry[index];
	_Atomic uint16_t *bucket =
		&object->bucket[ptrc_load_relaxed(&e->hash) % PTRC_NAMES_BUCKET_COUNT];
	uint16_t head = ptrc_load_acquire(bucket);

	if (head > index || !ptrc_names_object_has(object, index))
		return;
	ptrc_store_relaxed(&e->next, head);
	ptrc_cas(bucket, &head, (uint16_t)(index + 1));
}

void ptrc_names_refuse(struct ptrc_names_object *object, const char *name)
{
	uint32_t hash = hash_of(name), none = 0;

	if (ptrc_cas(&object->refused_state, &none, 1)) {
		ptrc_copy(object->refused, name, strnlen(name, PTRC_NAME_BYTES - 1));
		ptrc_store_release(&object->refused_state, 2);
	}
	atomic_fetch_or_explicit(&object->refused_seen[hash / 64 % PTRC_NAMES_REFUSED_WORDS],
				 UINT64_C(1) << hash % 64, memory_order_release);
}

static bool change_state(struct ptrc_names_entry *e, uint16_t from, uint16_t to)
{
	return ptrc_cas(&e->state, &from, to);
}

/* Waits until the thread that has claimed this entry has made it. If that takes too long, gives
 * the entry up. Returns whether this call has given the entry up. */
static bool wait_for_maker(struct ptrc_names_entry *e)
{
	int64_t begin_ns = 0;

	for (unsigned tries = 1; ptrc_load_acquire(&e->state) == PTRC_NAMES_CLAIMED; tries++) {
		int64_t now_ns = ptrc_clock_ns(CLOCK_MONOTONIC);

		if (begin_ns == 0)
			begin_ns = now_ns;
		if (now_ns - begin_ns > MAKER_WAIT_NS)
			return change_state(e, PTRC_NAMES_CLAIMED, PTRC_NAMES_GIVEN_UP);
		ptrc_file_yield(tries);
	}
	return false;
}

/* Claims an entry that was free a moment ago and writes the name into it. False: another thread
 * has claimed the entry, or has given up this thread's claim. */
static bool make_entry(struct ptrc_names_entry *e, const char *name)
{
	if (!change_state(e, PTRC_NAMES_FREE, PTRC_NAMES_CLAIMED))
		return false;
	/* If the claim is given up meanwhile, no process reads what is written here. */
	ptrc_copy(e->name, name, strlen(name) + 1);
	ptrc_store_relaxed(&e->hash, hash_of(name));
	return change_state(e, PTRC_NAMES_CLAIMED, PTRC_NAMES_MADE);
}

/* Counts an entry that was made or given up, unless it is counted already, and enters its name
 * into the index. */
static void count_in(struct ptrc_names_object *object, uint32_t index)
{
	uint32_t count = index;

	ptrc_cas(&object->count, &count, index + 1);
	enter_index(object, index);
}

/* Reserves memory for a part of the object, so that accesses do not raise SIGBUS. fd is -1 if the
 * file has been unlinked. */
static int make_real(struct ptrc_names_object *object, int fd, const void *begin, uint64_t bytes)
{
	uint64_t offset = (uint64_t)((const char *)begin - (const char *)object);

	if (fd >= 0)
		return ptrc_shmdir_reserve(fd, MAP_BYTES, offset, bytes);
	return ptrc_file_populate(begin, bytes) ? 0 : ENOMEM;
}

/* Registers a name that was not found in the object. fd is -1 if the file has been unlinked. */
static int append(struct ptrc_names_object *object, int fd, const char *name, uint32_t *id)
{
	unsigned given_up = 0;

	/* After each failed try the object has one more counted entry, so PTRC_NAMES_MAX tries are
	 * enough. */
	for (unsigned tries = 0; tries <= PTRC_NAMES_MAX && given_up < GIVE_UP_MAX; tries++) {
		uint32_t index = ptrc_names_object_count(object);
		struct ptrc_names_entry *e;

		/* The thread that counted the last entry may not have entered it into the index. */
		if (index)
			enter_index(object, index - 1);
		*id = ptrc_names_find(object, PTRC_NAMES_MAX, name);
		if (*id)
			return 0;
		if (index == PTRC_NAMES_MAX) {
			ptrc_names_refuse(object, name);
			*id = PTRC_ID_UNNAMED;
			return 0;
		}
		e = &object->entry[index];
		if (make_real(object, fd, e, sizeof(*e)))
			return ENOMEM;
		if (make_entry(e, name)) {
			count_in(object, index);
			*id = PTRC_ID_FIRST + index;
			return 0;
		}
		given_up += wait_for_maker(e);
		count_in(object, index);
	}
	return ENOMEM; /* the memory is damaged */
}

/* Opens the file, so that memory can be reserved in it. Returns -1 if the file has been unlinked,
 * for instance by a clean-up of the user's files at logout. Processes that have mapped it continue
 * to use it. The caller blocks signals. */
static int open_again(const struct ptrc_names *n)
{
	int fd;
	PTRC_FD(dirfd);

	return n->id && ptrc_shmdir_open(n->uid, false, &dirfd) == 0 &&
			       ptrc_shmdir_open_id(dirfd, 'n', n->id, n->uid, &fd, NULL) == 0
		       ? fd
		       : -1;
}

int ptrc_names_register(struct ptrc_names *n, const char *name, uint32_t *id)
{
	uint32_t found;
	int error;

	if (strnlen(name, PTRC_NAME_BYTES) == PTRC_NAME_BYTES)
		return ENAMETOOLONG;
	found = ptrc_names_find(n->object, PTRC_NAMES_MAX, name);
	if (found) {
		*id = found;
		return 0;
	}
	PTRC_NO_SIGNALS();
	PTRC_FD(fd);
	fd = open_again(n);
	error = append(n->object, fd, name, &found);
	if (!error)
		*id = found;
	return error;
}

/* ---- layouts ---- */

/* Allocates space in `texts` for a layout of `bytes` bytes and writes it there; stores its offset
 * in *place. Memory is reserved before texts_used is raised, because everything below texts_used
 * must have memory. ENOSPC: `texts` is full. */
static int write_text(struct ptrc_names_object *object, int fd, uint32_t index, const char *layout,
		      uint32_t bytes, uint32_t *place)
{
	struct ptrc_names_text head = {.index = (uint16_t)index, .bytes = (uint16_t)bytes};
	uint32_t size = (uint32_t)sizeof(head) + (bytes + 3) / 4 * 4;
	uint32_t used = ptrc_load_relaxed(&object->texts_used);
	uint32_t at;

	do {
		at = used + (uint32_t)sizeof(head);
		if (used > sizeof(object->texts) - sizeof(head) - size)
			return ENOSPC;
		/* An offset that is no multiple of 4 means that the object is damaged. */
		if (used % sizeof(head) || make_real(object, fd, object->texts + at, size))
			return ENOMEM;
	} while (!ptrc_cas(&object->texts_used, &used, used + size));
	ptrc_copy(object->texts + at, &head, sizeof(head));
	ptrc_copy(object->texts + at + sizeof(head), layout, bytes);
	*place = at;
	return 0;
}

/* Stores the offset of layout number `number` of the list in the entry of its name, unless that
 * entry has a layout already. The caller has done this for all earlier layouts of the list. */
static void enter_layout(struct ptrc_names_object *object, uint32_t number)
{
	uint32_t place = ptrc_load_acquire(&object->layouts[number]);
	uint32_t index, bytes, none = 0, count = number;

	if (ptrc_names_text_at(object, place, &index, &bytes) &&
	    index < ptrc_names_object_count(object))
		ptrc_cas(&object->entry[index].layout, &none, place);
	ptrc_cas(&object->layout_count, &count, number + 1);
}

int ptrc_names_object_compare(const struct ptrc_names_object *object, uint32_t index,
			      const char *layout, uint32_t bytes)
{
	uint32_t its_bytes;
	const char *its = ptrc_names_object_layout(object, index, &its_bytes);

	if (!its)
		return ENODATA;
	return its_bytes == bytes && are_same(its, layout, bytes) ? 0 : EEXIST;
}

static int add_layout(struct ptrc_names_object *object, int fd, uint32_t index, const char *layout,
		      uint32_t bytes)
{
	uint32_t place = 0;
	int error;

	for (uint32_t number = ptrc_load_acquire(&object->layout_count); number < PTRC_NAMES_MAX;) {
		uint32_t none = 0;

		if (number && ptrc_load_relaxed(&object->layouts[number - 1]))
			enter_layout(object, number - 1);
		error = ptrc_names_object_compare(object, index, layout, bytes);
		if (error != ENODATA)
			return error;
		if (!place) {
			error = write_text(object, fd, index, layout, bytes, &place);
			if (error)
				return error;
		}
		/* Readers look at the element after the last used element, so that element needs
		 * memory too. */
		if (make_real(object, fd, &object->layouts[number],
			      (number + 1 < PTRC_NAMES_MAX ? 2 : 1) * sizeof(object->layouts[0])))
			return ENOMEM;
		ptrc_cas(&object->layouts[number], &none, place);
		/* The element now holds this layout, or the layout of another thread. */
		enter_layout(object, number++);
	}
	error = ptrc_names_object_compare(object, index, layout, bytes);
	return error == ENODATA ? ENOSPC : error;
}

int ptrc_names_set_layout(struct ptrc_names *n, uint32_t id, const char *layout, uint32_t bytes)
{
	uint32_t index;
	int error;

	if (!has_name(n, id, &index))
		return EINVAL;
	error = ptrc_names_object_compare(n->object, index, layout, bytes);
	if (error != ENODATA)
		return error;
	PTRC_NO_SIGNALS();
	PTRC_FD(fd);
	fd = open_again(n);
	return add_layout(n->object, fd, index, layout, bytes);
}

int ptrc_names_get_layout(const struct ptrc_names *n, uint32_t id,
			  char layout[PTRC_NAMES_LAYOUT_BYTES])
{
	uint32_t index, bytes;
	const char *text;

	if (id >= 1 && id < PTRC_ID_FIRST)
		return ENODATA;
	if (!has_name(n, id, &index))
		return EINVAL;
	text = ptrc_names_object_layout(n->object, index, &bytes);
	if (!text)
		return ENODATA;
	ptrc_copy(layout, text, bytes);
	layout[bytes] = '\0';
	return 0;
}

/* Copies the layouts of `from` to a new object. Its first `count` entries were copied from `from`,
 * and still hold the offsets that their layouts have in `from`. */
static int copy_layouts(struct ptrc_names_object *object, int fd,
			const struct ptrc_names_object *from, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t bytes;
		const char *text = ptrc_names_object_layout(from, i, &bytes);
		int error;

		ptrc_store_relaxed(&object->entry[i].layout, 0);
		error = text ? add_layout(object, fd, i, text, bytes) : 0;
		if (error)
			return ENOMEM;
	}
	return 0;
}

/* ---- the object ---- */

/* Takes the read lock of a user of the object. False: a process with the write lock is about to
 * remove the object, or has unlinked it. */
static bool hold(int fd)
{
	struct stat st;

	return ptrc_file_lock(fd, F_RDLCK, USER_BYTE, 1) == 0 && ptrc_file_stat(fd, &st) == 0 &&
	       st.st_nlink != 0;
}

int ptrc_names_open_fd(int dirfd, uint32_t uid, uint64_t id, int *fd)
{
	uint64_t size;
	PTRC_FD(opened);
	int error = ptrc_shmdir_open_id(dirfd, 'n', id, uid, &opened, &size);

	if (error)
		return error;
	if (size < MAP_BYTES)
		return EPERM;
	if (!hold(opened))
		return ENOENT;
	*fd = ptrc_file_keep(&opened);
	return 0;
}

static int map_object(int fd, uint32_t uid, uint64_t id, void *at, struct ptrc_names *n)
{
	void *map;
	int error = ptrc_file_map_sparse(fd, MAP_BYTES, at, &map);

	if (!error)
		*n = (struct ptrc_names){.object = map, .id = id, .uid = uid};
	return error;
}

static int check_identity(int fd, uint64_t id, uint32_t *version)
{
	uint64_t identity[3] = {0, 0, 0};

	_Static_assert(offsetof(struct ptrc_names_object, version) == 2 * sizeof(*identity), "");
	if (!ptrc_file_read_whole(fd, identity, sizeof(identity), 0) ||
	    identity[0] != PTRC_NAMES_MAGIC || identity[1] != id)
		return EPERM;
	*version = (uint32_t)identity[2];
	return ptrc_shared_version_is_known(*version) ? 0 : EPROTO;
}

int ptrc_names_check(int dirfd, uint32_t uid, uint64_t id, uint32_t *version)
{
	PTRC_FD(fd);

	return ptrc_names_open_fd(dirfd, uid, id, &fd) ?: check_identity(fd, id, version);
}

int ptrc_names_open(int dirfd, uint32_t uid, uint64_t id, void *at, struct ptrc_names *n)
{
	uint32_t version;
	PTRC_FD(fd);

	return ptrc_names_open_fd(dirfd, uid, id, &fd) ?: check_identity(fd, id, &version)
							?: map_object(fd, uid, id, at, n);
}

int ptrc_names_create(int dirfd, uint32_t uid, const struct ptrc_names_object *from, uint32_t count,
		      void *at, struct ptrc_names *n)
{
	char file[PTRC_SHMDIR_NAME_BYTES];
	struct ptrc_names_object *object;
	uint64_t id;
	void *map;
	int fd, error;

	if (!from)
		count = 0;
	else if (count > PTRC_NAMES_MAX)
		count = PTRC_NAMES_MAX;
	for (;;) {
		id = ptrc_shmdir_new_id();
		ptrc_shmdir_name(file, 'n', id);
		error = ptrc_shmdir_create_object(dirfd, file, uid, MAP_BYTES, bytes_of(count),
						  &fd);
		if (error == EEXIST)
			continue;
		if (error)
			return error;
		/* A clean-up may have found the new object unused. */
		if (hold(fd))
			break;
		ptrc_file_close(fd);
	}
	/* `from` may be mapped at the address `at`, so the new object is first mapped elsewhere
	 * and filled in there. */
	error = ptrc_file_map_sparse(fd, MAP_BYTES, NULL, &map);
	if (!error) {
		object = map;
		object->magic = PTRC_NAMES_MAGIC;
		object->version = PTRC_SHARED_VERSION;
		object->id = id;
		if (count)
			ptrc_copy(object->entry, from->entry, count * sizeof(from->entry[0]));
		for (uint32_t i = 0; i < count; i++)
			enter_index(object, i);
		ptrc_store_release(&object->count, count);
		error = make_real(object, fd, object->layouts, sizeof(object->layouts[0]))
				?: copy_layouts(object, fd, from, count)
				?: map_object(fd, uid, id, at, n);
		ptrc_sys(SYS_munmap, map, MAP_BYTES);
	}
	if (error)
		ptrc_sys(SYS_unlinkat, dirfd, file, 0);
	ptrc_file_close(fd);
	return error;
}

int ptrc_names_share(const struct ptrc_names *from, struct ptrc_names *n)
{
	void *map = ptrc_file_map_again(from->object, MAP_BYTES);
	PTRC_FD(dirfd);

	if (map) {
		*n = *from;
		n->object = map;
		return 0;
	}
	if (from->id == 0 || ptrc_shmdir_open(from->uid, false, &dirfd) ||
	    ptrc_names_open(dirfd, from->uid, from->id, NULL, n))
		return ENOMEM;
	return 0;
}

int ptrc_names_create_private(struct ptrc_names *n)
{
	return map_object(-1, 0, 0, NULL, n);
}

void ptrc_names_unmap(struct ptrc_names *n)
{
	if (n->object)
		ptrc_sys(SYS_munmap, n->object, MAP_BYTES);
	n->object = NULL;
}

void ptrc_names_release(int dirfd, uint32_t uid, uint64_t id,
			bool (*is_needed)(int dirfd, uint32_t uid, uint64_t id))
{
	PTRC_NO_SIGNALS();
	PTRC_FD(fd);

	/* An id is never reused, so no other file can have this name when the object is removed. */
	if (ptrc_shmdir_open_id(dirfd, 'n', id, uid, &fd, NULL) == 0 &&
	    ptrc_file_lock(fd, F_WRLCK, USER_BYTE, 1) == 0) {
		if (!is_needed(dirfd, uid, id))
			ptrc_shmdir_remove_id(dirfd, 'n', id);
		ptrc_file_lock(fd, F_UNLCK, USER_BYTE, 1);
	}
}
