/* SPDX-License-Identifier: MIT */
/*
 * <posixtrace.h>: additions to the standard for programs that record events: event types whose data
 * has named fields, and events on behalf of other processes. <posixtrace-control.h> is for programs
 * that control a trace, <posixtrace-log.h> for those that read or write logs.
 *
 * The rules of <trace.h> hold in these headers, too: a function returns 0 or an error number,
 * writes nothing on error, may be called from any thread, and is neither async-signal-safe nor a
 * cancellation point. Each function has a page in section 3 of the manual, which lists its errors.
 */
#ifndef POSIXTRACE_H
#define POSIXTRACE_H 1

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <trace.h>

/* The version of this header. posixtrace_version() returns the version of the library. */
#define POSIXTRACE_VERSION "1.0.0"

#ifdef __cplusplus
extern "C" {
#endif

/* The generation version in the attributes of this library's streams, such as "posixtrace
 * 1.0.0". A static string. */
const char *posixtrace_version(void);

/*
 * Maps everything that recording needs: the page of this process (the list of the streams that
 * trace it), the event names, and these streams. If this function is not called, the first event or
 * fork after a stream's creation maps these, which takes a few system calls. A process may call this
 * function any number of times, even if it is not traced.
 */
int posixtrace_attach(void);

/*
 * Returns 0 if no stream traces this process, so that no event would be recorded. A program can
 * call this before it prepares the data of an event, if that takes much work. It is
 * async-signal-safe, and takes as long as posix_trace_event() does in a process that is not traced.
 * Also returns non-zero if all streams that trace the process are suspended or exclude the event.
 */
int posixtrace_is_traced(void);

/* The maximum length of a layout, without its null byte. */
#define POSIXTRACE_LAYOUT_MAX 4096

/*
 * Opens the event type of this name, as posix_trace_eventid_open() does, and gives it a layout: a
 * text that describes the data of its events, such as "u64 id, u32 rows, str sql" (see
 * posixtrace-layout(5)). Streams and logs contain the layout with the name, and the commands show
 * the data according to the layout.
 *
 * A name has one layout: the first layout that it gets is never replaced. This holds in all
 * processes that share the name by fork and by the streams that trace them, and in the logs of
 * these streams. Opening the name with another layout fails with EEXIST, so that data is not
 * misinterpreted: use another name, or POSIX_TRACE_UNNAMED_USEREVENT. posix_trace_eventid_open()
 * stores the identifier of the same type: its events must have the data that the layout
 * describes. A type that was opened without a layout can get one later.
 */
int posixtrace_eventid_open_layout(const char *name, const char *layout, trace_event_id_t *event);

/*
 * Copies the layout of an event type of an active stream or of a log, null-terminated. The buffer
 * has `size` bytes; POSIXTRACE_LAYOUT_MAX + 1 bytes are always enough. A text from a log may
 * contain any bytes but null bytes, and may be no valid layout. ENODATA: the type has no layout.
 * ERANGE: the buffer is too small.
 */
int posixtrace_eventid_get_layout(trace_id_t, trace_event_id_t event, char *layout, size_t size);

/*
 * Events whose data is a structure, in C11. The layout of the event type is made from the members
 * of the structure, so that layout and structure cannot differ:
 *
 * 	struct query { uint64_t id; uint32_t rows; char sql[64]; };
 * 	POSIXTRACE_TYPE(query, "db.query", struct query, id, rows, sql);
 * 	...
 * 	POSIXTRACE_EMIT(query, .id = 1, .rows = 2, .sql = "select 1");
 * 	POSIXTRACE_EMIT_FROM(query, &q);	with a struct query q
 *
 * POSIXTRACE_TYPE(TYPE, NAME, STRUCTURE, MEMBER...), outside of functions, declares a static
 * object TYPE. It takes up to 32 members: integers, enumerations, float, double, bool, char,
 * arrays of these, and void *, which is recorded as an address. An array of char is text, an
 * array of unsigned char is bytes. Any other member, such as a pointer to text, is a compile-time
 * error that names the member. Members that are not listed are not recorded. In C++ the macro is
 * an error: use the types of <posixtrace.hpp>.
 *
 * POSIXTRACE_EMIT(TYPE, .MEMBER = VALUE...) records an event; members without a value are 0.
 * POSIXTRACE_EMIT_FROM(TYPE, POINTER) records the structure that the pointer points to. Like
 * posix_trace_event(), both are async-signal-safe and no cancellation points. As long as the type
 * is not open, both only read two words in a process that is not traced, and POSIXTRACE_EMIT does
 * not evaluate the values. The data of the event ends with the listed member that is last in the
 * structure. Padding between members is recorded as zeros, because it might contain anything in
 * memory; a structure with such padding is copied first.
 *
 * The first event in a traced process opens the type, which takes some system calls and up to 16
 * KiB of stack. Call posixtrace_open_type() before the first event if a signal handler with
 * little stack may record it, or to see errors. If a type cannot be opened, because its name has
 * another layout for instance, its events are recorded as POSIX_TRACE_UNNAMED_USEREVENT, so that
 * readers do not misinterpret their data.
 */
enum posixtrace_kind {
	POSIXTRACE_UNSIGNED = 1,
	POSIXTRACE_SIGNED,
	POSIXTRACE_ADDRESS,
	POSIXTRACE_FLOAT,
	POSIXTRACE_BOOL,
	POSIXTRACE_CHAR
};

/* A member of a structure. */
struct posixtrace_member {
	const char *pt_name;
	size_t pt_offset, pt_bytes;
	/* size of an element, if the member is an array; otherwise the same as pt_bytes */
	size_t pt_item_bytes;
	int pt_kind; /* enum posixtrace_kind */
	int pt_is_array;
};

/* The object that POSIXTRACE_TYPE declares. */
struct posixtrace_type {
	size_t pt_size; /* size of this structure */
	const char *pt_name;
	const struct posixtrace_member *pt_members;
	size_t pt_member_count;
	/* pt_id: the identifier; 0 before the type is opened. pt_error: 0, or the error number of
	 * opening the type. */
	trace_event_id_t pt_id;
	int pt_error;
};

/* Opens a type now, if it is not open yet. EINVAL: two members overlap. */
int posixtrace_open_type(struct posixtrace_type *);

/* Called by POSIXTRACE_EMIT for a type that is not open yet: opens the type and returns its
 * identifier, or POSIX_TRACE_UNNAMED_USEREVENT if that fails. Returns 0 if the process is not
 * traced. Async-signal-safe. */
trace_event_id_t posixtrace_begin_type(struct posixtrace_type *);

#ifndef __cplusplus
#define POSIXTRACE_TYPE(type, name, structure, ...)                                              \
	typedef structure type##_posixtrace_data;                                                \
	POSIXTRACE_EACH_(POSIXTRACE_CHECK_, type##_posixtrace_data, __VA_ARGS__)                 \
	static const struct posixtrace_member type##_posixtrace_members[] = {                    \
		POSIXTRACE_EACH_(POSIXTRACE_MEMBER_, type##_posixtrace_data, __VA_ARGS__)};      \
	enum { /* _bytes: up to the end of the last member; _is_dense: no padding */             \
	       type##_posixtrace_bytes = sizeof(union {                                          \
		       POSIXTRACE_EACH_(POSIXTRACE_END_, type##_posixtrace_data, __VA_ARGS__)}), \
	       type##_posixtrace_is_dense =                                                      \
		       (0 POSIXTRACE_EACH_(POSIXTRACE_SUM_, type##_posixtrace_data,              \
					   __VA_ARGS__)) == type##_posixtrace_bytes              \
	};                                                                                       \
	__attribute__((unused)) static inline void type##_posixtrace_pack(                       \
		char *to_, const type##_posixtrace_data *from_)                                  \
	{                                                                                        \
		__builtin_memset(to_, 0, type##_posixtrace_bytes);                               \
		POSIXTRACE_EACH_(POSIXTRACE_COPY_, type##_posixtrace_data, __VA_ARGS__)          \
	}                                                                                        \
	__attribute__((unused)) static struct posixtrace_type type = {                           \
		sizeof(struct posixtrace_type),                                                  \
		name,                                                                            \
		type##_posixtrace_members,                                                       \
		sizeof(type##_posixtrace_members) / sizeof(type##_posixtrace_members[0]),        \
		0,                                                                               \
		0};                                                                              \
	struct posixtrace_type

#define POSIXTRACE_EMIT_FROM(type, pointer)                                         \
	do {                                                                        \
		trace_event_id_t posixtrace_id_ = POSIXTRACE_ID_(type);             \
		if (posixtrace_id_) {                                               \
			const type##_posixtrace_data *posixtrace_data_ = (pointer); \
			POSIXTRACE_PUT_(type, posixtrace_id_, posixtrace_data_);    \
		}                                                                   \
	} while (0)

#define POSIXTRACE_EMIT(type, ...)                                                     \
	do {                                                                           \
		trace_event_id_t posixtrace_id_ = POSIXTRACE_ID_(type);                \
		if (posixtrace_id_) {                                                  \
			const type##_posixtrace_data posixtrace_data_ = {__VA_ARGS__}; \
			POSIXTRACE_PUT_(type, posixtrace_id_, &posixtrace_data_);      \
		}                                                                      \
	} while (0)

/* ---- implementation of the macros above ---- */

#define POSIXTRACE_ID_(type)                                                        \
	(__builtin_expect(__atomic_load_n(&(type).pt_id, __ATOMIC_RELAXED) != 0, 1) \
		 ? __atomic_load_n(&(type).pt_id, __ATOMIC_RELAXED)                 \
		 : posixtrace_begin_type(&(type)))

#define POSIXTRACE_PUT_(type, id, pointer)                                                  \
	do {                                                                                \
		if (type##_posixtrace_is_dense) {                                           \
			posix_trace_event(id, pointer, type##_posixtrace_bytes);            \
		} else {                                                                    \
			char posixtrace_packed_[type##_posixtrace_bytes];                   \
			type##_posixtrace_pack(posixtrace_packed_, pointer);                \
			posix_trace_event(id, posixtrace_packed_, type##_posixtrace_bytes); \
		}                                                                           \
	} while (0)

/* The member m of the structure t, as an operand of sizeof and _Generic, which do not evaluate
 * it. */
#define POSIXTRACE_OF_(t, m) (((t *)0)->m)
/* If a static assertion fails, clang's message shows only the names in its condition. So each
 * condition is a named enumerator, and its name shows the type and the member. */
#define POSIXTRACE_CHECK_(t, m)                                                            \
	enum {                                                                             \
		t##_##m##_is_no_pointer = POSIXTRACE_IS_NO_POINTER_(POSIXTRACE_OF_(t, m)), \
		t##_##m##_is_known = POSIXTRACE_CODE_OF_(POSIXTRACE_OF_(t, m)) != 0        \
	};                                                                                 \
	_Static_assert(t##_##m##_is_no_pointer,                                            \
		       "the pointer " #m " means nothing to readers of the event");        \
	_Static_assert(t##_##m##_is_known, "the type of the member " #m " cannot be recorded");
#define POSIXTRACE_MEMBER_(t, m)                          \
	{#m,                                              \
	 offsetof(t, m),                                  \
	 sizeof(POSIXTRACE_OF_(t, m)),                    \
	 POSIXTRACE_CODE_OF_(POSIXTRACE_OF_(t, m)) % 256, \
	 POSIXTRACE_CODE_OF_(POSIXTRACE_OF_(t, m)) / 256, \
	 POSIXTRACE_IS_ARRAY_(POSIXTRACE_OF_(t, m))},
#define POSIXTRACE_END_(t, m) char m[offsetof(t, m) + sizeof(POSIXTRACE_OF_(t, m))];
#define POSIXTRACE_SUM_(t, m) +sizeof(POSIXTRACE_OF_(t, m))
#define POSIXTRACE_COPY_(t, m) __builtin_memcpy(to_ + offsetof(t, m), &from_->m, sizeof(from_->m));

/* A kind and the size of an element, in one number. */
#define POSIXTRACE_CODE_(kind, t) ((int)sizeof(t) + 256 * (int)POSIXTRACE_##kind)
/* The kind and size of x. In _Generic an array becomes a pointer to its elements. */
#define POSIXTRACE_CODE_OF_(x) \
	_Generic((x), _Bool: POSIXTRACE_CODE_(BOOL, _Bool), \
		 char: POSIXTRACE_CODE_(CHAR, char), \
		 signed char: POSIXTRACE_CODE_(SIGNED, signed char), \
		 unsigned char: POSIXTRACE_CODE_(UNSIGNED, unsigned char), \
		 short: POSIXTRACE_CODE_(SIGNED, short), \
		 unsigned short: POSIXTRACE_CODE_(UNSIGNED, unsigned short), \
		 int: POSIXTRACE_CODE_(SIGNED, int), \
		 unsigned int: POSIXTRACE_CODE_(UNSIGNED, unsigned int), \
		 long: POSIXTRACE_CODE_(SIGNED, long), \
		 unsigned long: POSIXTRACE_CODE_(UNSIGNED, unsigned long), \
		 long long: POSIXTRACE_CODE_(SIGNED, long long), \
		 unsigned long long: POSIXTRACE_CODE_(UNSIGNED, unsigned long long), \
		 float: POSIXTRACE_CODE_(FLOAT, float), \
		 double: POSIXTRACE_CODE_(FLOAT, double), \
		 _Bool *: POSIXTRACE_CODE_(BOOL, _Bool), \
		 char *: POSIXTRACE_CODE_(CHAR, char), \
		 signed char *: POSIXTRACE_CODE_(SIGNED, signed char), \
		 unsigned char *: POSIXTRACE_CODE_(UNSIGNED, unsigned char), \
		 short *: POSIXTRACE_CODE_(SIGNED, short), \
		 unsigned short *: POSIXTRACE_CODE_(UNSIGNED, unsigned short), \
		 int *: POSIXTRACE_CODE_(SIGNED, int), \
		 unsigned int *: POSIXTRACE_CODE_(UNSIGNED, unsigned int), \
		 long *: POSIXTRACE_CODE_(SIGNED, long), \
		 unsigned long *: POSIXTRACE_CODE_(UNSIGNED, unsigned long), \
		 long long *: POSIXTRACE_CODE_(SIGNED, long long), \
		 unsigned long long *: POSIXTRACE_CODE_(UNSIGNED, unsigned long long), \
		 float *: POSIXTRACE_CODE_(FLOAT, float), \
		 double *: POSIXTRACE_CODE_(FLOAT, double), \
		 void *: POSIXTRACE_CODE_(ADDRESS, void *), \
		 const void *: POSIXTRACE_CODE_(ADDRESS, void *), \
		 default: 0)
#define POSIXTRACE_IS_ARRAY_(x)                                                              \
	_Generic((x), _Bool : 0, char : 0, signed char : 0, unsigned char : 0, short : 0,    \
		 unsigned short : 0, int : 0, unsigned int : 0, long : 0, unsigned long : 0, \
		 long long : 0, unsigned long long : 0, float : 0, double : 0, void * : 0,   \
		 const void * : 0, default : 1)
#define POSIXTRACE_IS_NO_POINTER_(x)                                                             \
	_Generic(&(x), _Bool * * : 0, char ** : 0, signed char ** : 0, unsigned char ** : 0,     \
		 short ** : 0, unsigned short ** : 0, int ** : 0, unsigned int ** : 0,           \
		 long ** : 0, unsigned long ** : 0, long long ** : 0, unsigned long long ** : 0, \
		 float ** : 0, double ** : 0, default : 1)

#define POSIXTRACE_EACH_(do_, t, ...) \
	POSIXTRACE_JOIN_(POSIXTRACE_EACH_, POSIXTRACE_COUNT_(__VA_ARGS__))(do_, t, __VA_ARGS__)
#define POSIXTRACE_JOIN_(a, b) POSIXTRACE_JOINED_(a, b)
#define POSIXTRACE_JOINED_(a, b) a##b##_
#define POSIXTRACE_COUNT_(...)                                                                   \
	POSIXTRACE_COUNTED_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, \
			    18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define POSIXTRACE_COUNTED_(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, \
			    _17, _18, _19, _20, _21, _22, _23, _24, _25, _26, _27, _28, _29, _30,  \
			    _31, _32, n, ...)                                                      \
	n
#define POSIXTRACE_EACH_1_(do_, t, m) do_(t, m)
#define POSIXTRACE_EACH_2_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_1_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_3_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_2_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_4_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_3_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_5_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_4_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_6_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_5_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_7_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_6_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_8_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_7_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_9_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_8_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_10_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_9_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_11_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_10_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_12_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_11_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_13_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_12_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_14_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_13_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_15_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_14_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_16_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_15_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_17_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_16_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_18_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_17_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_19_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_18_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_20_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_19_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_21_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_20_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_22_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_21_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_23_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_22_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_24_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_23_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_25_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_24_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_26_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_25_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_27_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_26_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_28_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_27_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_29_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_28_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_30_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_29_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_31_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_30_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_32_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_31_(do_, t, __VA_ARGS__)
#elif __cplusplus >= 201103L /* C++ has event types of its own, in <posixtrace.hpp> */
#define POSIXTRACE_TYPE(type, ...)             \
	static_assert(!sizeof(#type),          \
		      "POSIXTRACE_TYPE(" #type \
		      ", ...) is for C; <posixtrace.hpp> has posixtrace::event for C++")
#define POSIXTRACE_EMIT(type, ...) static_cast<void>(0)
#define POSIXTRACE_EMIT_FROM(type, pointer) static_cast<void>(0)
#endif

/*
 * Records an event on behalf of a process (0: the caller) into every stream that traces the
 * process. Stores the number of streams that have recorded it: 0 if no stream traces the process,
 * or if all of them filter the event or are suspended. The event type gets the layout (NULL: no
 * layout) as by posixtrace_eventid_open_layout().
 *
 * The process need not use the library: it may run a shell script. Such a process is treated like
 * a child that uses the library: it counts as traced by each INHERITED stream of its nearest
 * traced ancestor, if the stream was created before the process started. posix_pid of the event
 * is that of the process, but posix_tid, posix_thread_id and posix_prog_address are 0, because no
 * thread of the process has made the call. The call may take some 100 us. It takes no lock for
 * which a traced process ever waits.
 */
int posixtrace_event_for(pid_t, const char *event_name, const char *layout, const void *data,
			 size_t, unsigned int *streams);

#ifdef __cplusplus
}
#endif

#endif
