// SPDX-License-Identifier: MIT
// What <posixtrace.hpp> records, read back from a stream of this process. tests/lib/api/cxx.sh compiles this
// in several ways and runs its cases, each by its name. Says at standard output what is wrong.
#include <posixtrace.hpp>

#include <cstdio>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/posixtrace-private.h"

namespace
{

int failures;

void fail(int line, const char *what)
{
	std::printf("line %d: %s\n", line, what);
	failures++;
}

#define CHECK(condition)                            \
	do {                                        \
		if (!(condition))                   \
			fail(__LINE__, #condition); \
	} while (0)

// An event that was read: its name, its layout, its data.
struct event {
	bool is_there;
	char name[TRACE_EVENT_NAME_MAX + 1];
	char layout[POSIXTRACE_LAYOUT_MAX + 1];
	unsigned char data[4096];
	std::size_t size;
	posix_trace_event_info info;
};

trace_id_t stream;

void create()
{
	if (posix_trace_create(0, nullptr, &stream) || posix_trace_start(stream)) {
		std::printf("no stream\n");
		std::exit(1);
	}
}

// How many names the stream says got no type of their own.
unsigned long refused_names()
{
	ptrc_counts counts;

	return ptrc_trace_counts(stream, &counts) ? 0 : counts.pt_refused_names;
}

// The next event that is not of the system.
const event &next()
{
	static event e;
	int unavailable;

	e = event();
	do {
		if (posix_trace_trygetnext_event(stream, &e.info, e.data, sizeof(e.data), &e.size,
						 &unavailable) ||
		    unavailable)
			return e;
	} while (e.info.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT);
	e.is_there = true;
	posix_trace_eventid_get_name(stream, e.info.posix_event_id, e.name);
	if (posixtrace_eventid_get_layout(stream, e.info.posix_event_id, e.layout,
					  sizeof(e.layout)))
		e.layout[0] = '\0';
	return e;
}

bool is(const event &e, const char *name, const char *layout, const void *data, std::size_t size)
{
	if (e.is_there && !std::strcmp(e.name, name) && !std::strcmp(e.layout, layout) &&
	    e.size == size && (!size || !std::memcmp(e.data, data, size)))
		return true;
	std::printf("found %s '%s', layout '%s', %zu bytes:", e.is_there ? "event" : "no event",
		    e.name, e.layout, e.size);
	for (std::size_t i = 0; i < e.size && i < 100; i++)
		std::printf(" %02x", e.data[i]);
	std::printf("\nexpected '%s', layout '%s', %zu bytes\n", name, layout, size);
	return false;
}

bool is(const event &e, const char *name, const char *layout, std::string_view data)
{
	return is(e, name, layout, data.data(), data.size());
}

// What the compiler makes of the data of an event.
using namespace std::string_view_literals;

// ---- the types of fields ----

enum class state : std::uint8_t { idle, busy };
enum plain_state : int { off, on };

posixtrace::event<std::uint64_t, std::uint32_t, std::string_view> query{"db.query", "id", "rows",
									"sql"};
posixtrace::event<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t,
		  std::int32_t, std::uint64_t, std::int64_t, float, double, bool>
	numbers{"numbers", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"};
posixtrace::event<state, plain_state, char, const void *, int *> others{"others", "state", "plain",
									"letter", "at",	   "to"};
posixtrace::event<char[4], std::array<char, 2>, std::uint16_t[3], std::array<float, 2>,
		  std::array<unsigned char, 2>>
	arrays{"arrays", "name", "two", "ports", "x", "raw"};
posixtrace::event<std::chrono::nanoseconds, std::chrono::microseconds, std::chrono::milliseconds,
		  std::chrono::seconds, std::chrono::duration<double>>
	durations{"durations", "a", "b", "c", "d", "e"};
posixtrace::event<std::uint64_t> sized{"sized", "memory KiB"};
posixtrace::event<> nothing{"nothing"};
posixtrace::event<std::uint8_t, posixtrace::json> typed{"typed", "n", "more"};
posixtrace::event<std::uint8_t, posixtrace::bytes> raw{"raw", "n", "rest"};

void case_numbers()
{
	// As a compiler lays out a structure of the same members, gaps zeroed.
	struct {
		std::uint8_t a;
		std::int8_t b;
		std::uint16_t c;
		std::int16_t d;
		char gap[2];
		std::uint32_t e;
		std::int32_t f;
		std::uint64_t g;
		std::int64_t h;
		float i;
		char gap2[4];
		double j;
		bool k;
	} expected = {1, -2, 3, -4, {}, 5, -6, 7, -8, 1.5F, {}, 2.5, true};

	numbers(std::uint8_t{1}, static_cast<signed char>(-2), std::uint16_t{3}, short{-4}, 5U, -6,
		7UL, -8LL, 1.5F, 2.5, true);
	CHECK(is(next(), "numbers",
		 "u8 a, i8 b, u16 c, i16 d, u32 e, i32 f, u64 g, i64 h, f32 i, f64 j, bool k",
		 &expected, offsetof(decltype(expected), k) + 1));
	// Narrower ones are widened, with their sign.
	numbers(std::uint8_t{1}, static_cast<signed char>(-2), std::uint8_t{3},
		static_cast<signed char>(-4), std::uint16_t{5}, short{-6}, 7, -8, short{1}, 1.5F,
		false);
	expected.i = 1;
	expected.j = 1.5;
	expected.k = false;
	CHECK(is(next(), "numbers",
		 "u8 a, i8 b, u16 c, i16 d, u32 e, i32 f, u64 g, i64 h, f32 i, f64 j, bool k",
		 &expected, offsetof(decltype(expected), k) + 1));
}

void case_others()
{
	int there = 0;
	struct {
		std::uint8_t state;
		char gap[3];
		int plain;
		char letter;
		char gap2[7];
		const void *at;
		int *to;
	} expected = {1, {}, 1, 'x', {}, &failures, &there};

	others(state::busy, on, 'x', &failures, &there);
	CHECK(is(next(), "others", "u8 state, i32 plain, char[1] letter, x64 at, x64 to", &expected,
		 sizeof(expected)));
	nothing();
	CHECK(is(next(), "nothing", "", ""));
	sized(12);
	CHECK(is(next(), "sized", "u64 memory KiB", "\14\0\0\0\0\0\0\0"sv));
	typed(std::uint8_t{1}, posixtrace::json{R"({"a":1})"});
	CHECK(is(next(), "typed", "u8 n, json more", "\1{\"a\":1}"));
	typed(std::uint8_t{2}, "[]");
	CHECK(is(next(), "typed", "u8 n, json more", "\2[]"));
	raw(std::uint8_t{1}, posixtrace::bytes{"a\0b", 3});
	CHECK(is(next(), "raw", "u8 n, bytes rest", "\1a\0b"sv));
	raw(std::uint8_t{1}, posixtrace::bytes{nullptr, 3});
	CHECK(is(next(), "raw", "u8 n, bytes rest", "\1"));
}

void case_arrays()
{
	const std::uint16_t ports[3] = {80, 443, 8080};
	struct {
		char name[4];
		char two[2];
		std::uint16_t ports[3];
		float x[2];
		unsigned char raw[2];
	} expected = {{'b', 'o', 'b', 0}, {'x', 'y'}, {80, 443, 8080}, {1, 2}, {7, 8}};
	const char *layout = "char[4] name, char[2] two, u16[3] ports, f32[2] x, bytes[2] raw";
	const std::size_t size = offsetof(decltype(expected), raw) + 2;

	arrays("bob", std::array<char, 2>{{'x', 'y'}}, ports, std::array<float, 2>{{1, 2}},
	       std::array<unsigned char, 2>{{7, 8}});
	CHECK(is(next(), "arrays", layout, &expected, size));
	// Longer texts are cut, and shorter ones filled up with null bytes.
	arrays("alexander", "", ports, std::array<float, 2>{{1, 2}},
	       std::array<unsigned char, 2>{{7, 8}});
	std::memcpy(expected.name, "alex", 4);
	std::memset(expected.two, 0, 2);
	CHECK(is(next(), "arrays", layout, &expected, size));
}

void case_durations()
{
	struct {
		std::int64_t a, b, c, d;
		double e;
	} expected = {1500000, 1500, 90, 60, 0.25};

	durations(std::chrono::microseconds(1500), std::chrono::microseconds(1500),
		  std::chrono::milliseconds(90), std::chrono::minutes(1),
		  std::chrono::milliseconds(250));
	CHECK(is(next(), "durations", "i64 a ns, i64 b us, i64 c ms, i64 d s, f64 e s", &expected,
		 sizeof(expected)));
}

// ---- texts ----

posixtrace::event<std::string_view, std::uint32_t, const char *, std::string> texts{"texts", "a",
										    "n", "b", "c"};
posixtrace::event<const char *> alone{"alone", "text"};

void case_texts()
{
	const char *layout = "str a, u32 n, str b, str c";
	const char *null = nullptr;
	char letters[3] = {'a', 'b', 'c'};
	std::string_view some = "some text";

	query(7, 3, "select 1");
	CHECK(is(next(), "db.query", "u64 id, u32 rows, str sql",
		 "\7\0\0\0\0\0\0\0\3\0\0\0select 1"sv));
	// All but the last end with a null byte; what follows is aligned.
	texts("one", 2, "three", std::string("four"));
	CHECK(is(next(), "texts", layout, "one\0\2\0\0\0three\0four"sv));
	texts(some.substr(0, 4), 2, null, letters);
	CHECK(is(next(), "texts", layout, "some\0\0\0\0\2\0\0\0\0abc"sv));
	// A null byte ends a text, so that readers take no more and no less of it.
	texts("a\0b"sv, 2, "x", "y\0z"sv);
	CHECK(is(next(), "texts", layout, "a\0\0\0\2\0\0\0x\0y"sv));
	texts("", 0, "", "");
	CHECK(is(next(), "texts", layout, "\0\0\0\0\0\0\0\0\0"sv));
	alone("hello");
	CHECK(is(next(), "alone", "str text", "hello"));
	alone(null);
	CHECK(is(next(), "alone", "str text", ""));
	alone(nullptr);
	CHECK(is(next(), "alone", "str text", ""));
}

// ---- memory ----

unsigned long allocations;

} // namespace

#ifdef COUNT_ALLOCATIONS
extern "C" void *__libc_malloc(std::size_t);
extern "C" void *malloc(std::size_t size)
{
	allocations++;
	// For want of memory, if the case wants that.
	return size == 1012 ? nullptr : __libc_malloc(size);
}
#endif

namespace
{

void case_memory()
{
	static char large[3000];
	std::string_view text(large, sizeof(large));

	std::memset(large, 'x', sizeof(large));
	query(0, 0, "");
	next();
	allocations = 0;
	query(1, 2, text.substr(0, 256 - 12));
	CHECK(allocations == 0);
	CHECK(next().size == 256);
	query(1, 2, text);
	CHECK(allocations == 1 || !allocations);
#ifdef COUNT_ALLOCATIONS
	CHECK(allocations == 1);
#endif
	const event &e = next();
	CHECK(e.size == 3012 && !std::memcmp(e.data + 12, large, 3000));
#ifdef COUNT_ALLOCATIONS
	errno = 7;
	query(1, 2, text.substr(0, 1000));
	CHECK(errno == 7);
	CHECK(is(next(), "db.query", "u64 id, u32 rows, str sql", "\1\0\0\0\0\0\0\0\2\0\0\0"sv));
#endif
}

// ---- opening ----

posixtrace::event<std::uint32_t> first{"same.name", "a"};
posixtrace::event<std::uint64_t> second{"same.name", "a"};
posixtrace::event<std::uint32_t> third{"same.name", "a"};
#if __cplusplus < 202002L // later it does not compile
posixtrace::event<std::uint32_t> wrong{"wrong", "a parsec"};
posixtrace::event<std::uint32_t, bool> twice{"twice", "a", "a"};
#endif

void case_opening()
{
	errno = 7;
	first(1U);
	CHECK(errno == 7);
	CHECK(is(next(), "same.name", "u32 a", "\1\0\0\0"sv));
	CHECK(first.open() == 0 && first.id() > POSIX_TRACE_UNNAMED_USEREVENT);
	// Another layout: nobody takes its data for what it is not, and nothing is lost.
	second(2U);
	CHECK(is(next(), "posix_trace_unnamed_userevent", "", "\2\0\0\0\0\0\0\0"sv));
	CHECK(second.open() == EEXIST && second.id() == POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK(refused_names() == 1);
	// The same: the same type.
	CHECK(third.open() == 0 && third.id() == first.id());
#if __cplusplus < 202002L
	CHECK(wrong.open() == EINVAL && twice.open() == EINVAL);
	wrong(3U);
	CHECK(is(next(), "posix_trace_unnamed_userevent", "", "\3\0\0\0"sv));
#endif
}

posixtrace::event<std::uint32_t> quiet{"quiet", "a"};

// In a process that nobody traces an event opens nothing.
void case_untraced()
{
	ptrc_inspected_process process;

	CHECK(!posixtrace_is_traced());
	quiet(1U);
	CHECK(quiet.id() == 0);
	CHECK(!ptrc_inspect_process(0, &process) && !process.pt_has_page);
	create();
	CHECK(posixtrace_is_traced());
	quiet(2U);
	CHECK(quiet.id() != 0);
	CHECK(is(next(), "quiet", "u32 a", "\2\0\0\0"sv));
	CHECK(!posix_trace_shutdown(stream));
	CHECK(!posixtrace_is_traced());
	quiet(3U);
}

posixtrace::event<std::uint64_t, std::string_view> raced{"raced", "n", "s"};
pthread_barrier_t barrier;

void *race(void *)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 1000; i++)
		raced(i, "text");
	return nullptr;
}

void case_threads()
{
	pthread_t thread[4];
	int count = 0;

	pthread_barrier_init(&barrier, nullptr, 4);
	for (pthread_t &t : thread)
		pthread_create(&t, nullptr, race, nullptr);
	for (pthread_t &t : thread)
		pthread_join(t, nullptr);
	for (const event *e = &next(); e->is_there; e = &next())
		count += !std::strcmp(e->name, "raced") &&
			 !std::strcmp(e->layout, "u64 n, str s") && e->size == 12;
	CHECK(count == 4000);
}

void case_fork()
{
	trace_attr_t attr;
	int status;

	posix_trace_shutdown(stream);
	posix_trace_attr_init(&attr);
	posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED);
	if (posix_trace_create(0, &attr, &stream) || posix_trace_start(stream))
		return fail(__LINE__, "no stream");
	query(1, 1, "parent");
	CHECK(next().is_there);
	pid_t child = fork();
	if (!child) {
		query(2, 2, "child");
		alone("new");
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	const event &e = next();
	CHECK(e.info.posix_pid == child);
	CHECK(is(e, "db.query", "u64 id, u32 rows, str sql", "\2\0\0\0\0\0\0\0\2\0\0\0child"sv));
	CHECK(is(next(), "alone", "str text", "new"));
	alone("old");
	CHECK(is(next(), "alone", "str text", "old"));
}

// ---- spans ----

posixtrace::span_type<posixtrace::key<std::uint64_t>, std::string_view> request{"req", "id",
										"path"};
posixtrace::span_type<std::uint32_t> work{"work", "size"};
posixtrace::span_type<> load{"load"};

int nested(int depth)
{
	posixtrace::span s{work, 10U * static_cast<unsigned>(depth)};

	return depth ? nested(depth - 1) + 1 : 0;
}

void case_spans()
{
	{
		posixtrace::span s{request, 7, "/index"};
		posixtrace::span t{load};
		nothing();
	}
	CHECK(is(next(), "req.begin", "u64 id, str path", "\7\0\0\0\0\0\0\0/index"sv));
	CHECK(is(next(), "load.begin", "", ""));
	CHECK(is(next(), "nothing", "", ""));
	CHECK(is(next(), "load.end", "", ""));
	CHECK(is(next(), "req.end", "u64 id", "\7\0\0\0\0\0\0\0"sv));
	CHECK(nested(1) == 1);
	CHECK(is(next(), "work.begin", "u32 size", "\12\0\0\0"sv));
	CHECK(is(next(), "work.begin", "u32 size", "\0\0\0\0"sv));
	CHECK(is(next(), "work.end", "", ""));
	CHECK(is(next(), "work.end", "", ""));
	// Begun here, ended elsewhere.
	request.begin(8, "/");
	request.end(8);
	CHECK(is(next(), "req.begin", "u64 id, str path", "\10\0\0\0\0\0\0\0/"sv));
	CHECK(is(next(), "req.end", "u64 id", "\10\0\0\0\0\0\0\0"sv));
	CHECK(request.open() == 0 && load.open() == 0);
}

// ---- where events come from ----

extern "C" const char __start_emitter[], __stop_emitter[];

// Something behind the calls, so that none of them is a jump.
__attribute__((noinline, section("emitter"))) void emitter()
{
	query(1, 2, "three");
	alone("text");
	{
		posixtrace::span s{work, 1U};
	}
	__asm__ volatile("");
}

void case_address()
{
	emitter();
	for (int i = 0; i < 4; i++) {
		const event &e = next();
		auto at = static_cast<const char *>(e.info.posix_prog_address);

		CHECK(e.is_there && at > __start_emitter && at <= __stop_emitter);
	}
}

// ---- before main ----

// Objects of another file may use an event before anything in this one was initialised.
extern posixtrace::event<std::uint32_t> early;

struct before_main {
	before_main()
	{
		if (std::getenv("CXX_EVENTS_QUIET"))
			return;
		create();
		early(1U);
	}
};
__attribute__((init_priority(101))) before_main first_object;
posixtrace::event<std::uint32_t> early{"early", "n"};

void case_early()
{
	CHECK(is(next(), "early", "u32 n", "\1\0\0\0"sv));
}

} // namespace

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)();
	} cases[] = {
		{"numbers", case_numbers}, {"others", case_others},
		{"arrays", case_arrays},   {"durations", case_durations},
		{"texts", case_texts},	   {"memory", case_memory},
		{"opening", case_opening}, {"untraced", case_untraced},
		{"threads", case_threads}, {"fork", case_fork},
		{"spans", case_spans},	   {"address", case_address},
		{"early", case_early},
	};

	for (const auto &c : cases) {
		if (argc < 2 || std::strcmp(c.name, argv[1]))
			continue;
		// The event that first_object has recorded.
		if (c.run != case_untraced && c.run != case_early)
			next();
		c.run();
		return failures ? 1 : 0;
	}
	std::printf("no such case\n");
	return 1;
}
