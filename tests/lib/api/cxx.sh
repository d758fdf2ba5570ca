#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# <posixtrace.hpp>: what compilers say about it, what they must not let pass, what it records. TAP.
# It takes long: each mistake is compiled by itself, in each standard and with each set of options.

include=$PTRC_SOURCE/include
static=$PTRC_BUILD/lib/.libs/libposixtrace.a
# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"

[ -n "$CXX" ] || { echo '1..0 # SKIP no C++ compiler'; exit 0; }
strict='-Wall -Wextra -pedantic -Wconversion -Wsign-conversion -Wshadow -Werror'
standards='c++17 c++20'
echo 'int main() { return 0; }' >"$dir/empty.cc"
# shellcheck disable=SC2086 # CXX may be a command with arguments
$CXX -std=c++20 -fsyntax-only "$dir/empty.cc" 2>/dev/null || standards=c++17

# compile FLAG...: the program on standard input, of which $dir/a.cc has the begin
compile() {
	{
		echo '#include <posixtrace.hpp>'
		cat
	} >"$dir/a.cc"
	# shellcheck disable=SC2086 # lists of words
	# Some warnings come only from optimising.
	$CXX $strict -I"$include" -c -o /dev/null "$@" "$dir/a.cc"
}

everywhere() {
	for std in $standards; do
		for flags in -O2 '-fno-exceptions -fno-rtti -DNDEBUG'; do
			echo "$std $flags"
			# shellcheck disable=SC2086 # lists of words
			compile -std="$std" $flags <"$1" || return 1
		done
	done
}

cat >"$dir/all.cc" <<'END'
#include <trace.h>
#include <posixtrace.h>
#include <posixtrace.hpp>
posixtrace::event<std::uint64_t, std::uint32_t, std::string_view> query{"q", "id", "rows", "sql"};
inline posixtrace::event<> tick{"tick"};
posixtrace::span_type<posixtrace::key<long>, const char *> request{"req", "id", "path"};
void f(long id, const char *path, const std::string &text);
void f(long id, const char *path, const std::string &text)
{
	static posixtrace::event<std::chrono::nanoseconds> local{"local", "took"};
	posixtrace::span s{request, id, path};
	query(7, 3U, text);
	query(7U, 3U, "literal");
	query(7U, 3U, id % 2 ? "odd" : "even");
	local(std::chrono::seconds(1));
	tick();
	static_assert(noexcept(query(7, 3U, text)) && noexcept(tick()) && noexcept(query.open()));
	static_assert(!std::is_copy_constructible_v<posixtrace::event<>>);
}
struct with_member {
	static inline posixtrace::event<bool> made{"made", "ok"};
	void g() { made(true); }
};
END
result 'without a warning as C++17 and C++20, also without exceptions' \
	everywhere "$dir/all.cc"

# Names of the program may be macros.
clobbered() {
	for std in $standards; do
		echo 'posixtrace::event<int> e{"e", "n"};' |
			compile -std="$std" -DPOSIXTRACE_INLINE=@ -Dshape_=@ -Dcheck_=@ || return 1
	done
}
result 'macros of a program do no harm' clobbered

cat >"$dir/right.cc" <<'END'
enum class state { idle };
enum class other { idle };
using namespace std::chrono;
posixtrace::event<std::uint64_t, std::uint32_t> two{"two", "a", "b"};
posixtrace::event<std::int32_t, float, bool, state> some{"some", "a", "b", "c", "d"};
posixtrace::event<std::string_view, milliseconds, const int *, char[4]> more{"more", "a", "b", "c", "d"};
posixtrace::event<std::array<int, 2>, posixtrace::bytes> rest{"rest", "a", "b"};
extern const int number;
template <class... Us> void call(const Us &...us) { two(us...); }
END

# What stands before each of the mistakes is compiled once, where the compiler can. What is no name is refused
# in another way by each standard, the other mistakes by the library alone: the first standard will do.
precompiled() {
	for std in $standards; do
		printf '#include <posixtrace.hpp>\n#include <chrono>\n' | cat - "$dir/right.cc" >"$dir/$std.hh"
		# shellcheck disable=SC2086 # CXX may be a command with arguments
		$CXX -std="$std" -I"$include" -x c++-header "$dir/$std.hh" -o "$dir/$std.hh.gch" ||
			rm -f "$dir/$std.hh.gch"
	done
}
precompiled 2>/dev/null

# behind_right STD: whether the program on standard input compiles behind that
behind_right() {
	cat >"$dir/a.cc"
	# shellcheck disable=SC2086 # CXX may be a command with arguments
	$CXX -std="$1" -I"$include" -include "$dir/$1.hh" -fsyntax-only "$dir/a.cc" >"$dir/said" 2>&1
}

mistakes() {
	for std in $standards; do compile -std="$std" <"$dir/right.cc" || return 1; done
	# what is wrong|what the compiler says
	while IFS='|' read -r body message; do
		if echo "$body" | behind_right "${standards%% *}" || ! grep -q "$message" "$dir/said"; then
			echo "with: $body"
			cat "$dir/said"
			return 1
		fi
	done <<'END'
void f() { two(1U); }|an event takes an argument for each of its fields
void f() { two(1U, 2U, 3U); }|an event takes an argument for each of its fields
void f() { two(1U, "text"); }|this field takes a number
void f() { two(1U, true); }|this field takes a number
void f() { two(1U, 2.5); }|this field takes an integer; convert the floating-point number
void f() { two(1U, 2UL); }|this integer may be too large for the field
void f() { call(1U, 2L); }|this integer may be too large for the field
void f() { some(2U, 1.F, true, state::idle); }|this integer may be too large for the field
void f() { some(2, 1.5, true, state::idle); }|the field has fewer digits than this number
void f() { some(2, 16777217, true, state::idle); }|the field has fewer digits than this number
void f() { some(2, 1.F, 1, state::idle); }|this field takes a bool only
void f() { some(2, 1.F, true, 0); }|this field takes a value of its enumeration only
void f() { some(2, 1.F, true, other::idle); }|this field takes a value of its enumeration only
void f() { more(1, 1ms, &number, ""); }|this field takes a text
void f() { more("", 1, &number, ""); }|this field takes a duration
void f() { more("", 1us, &number, ""); }|this field takes a duration that its unit can tell
void f() { more("", 1ms, 1L, ""); }|this field takes a pointer of another type
void f() { more("", 1ms, "", ""); }|this field takes a pointer of another type
void f() { more("", 1ms, &number, 4); }|this field takes a text
void f() { rest(std::array<int, 3>{}, posixtrace::bytes{}); }|this field takes an array of the same length
void f() { rest(std::array<unsigned, 2>{}, posixtrace::bytes{}); }|this field takes an array of the same
void f() { rest(std::array<int, 2>{}, "text"); }|this field takes posixtrace::bytes
posixtrace::event<int, int> e{"e", "a"};|needs a name for each of its fields
posixtrace::event<int> e{"e", "a", "b"};|needs a name for each of its fields
posixtrace::event<int> e{"e", 1};|the names of fields are literals
posixtrace::event<std::chrono::minutes> e{"e", "a"};|a field cannot be of this type
posixtrace::event<long double> e{"e", "a"};|a field cannot be of this type
struct s {}; posixtrace::event<s> e{"e", "a"};|a field cannot be of this type
posixtrace::event<posixtrace::json, int> e{"e", "a", "b"};|json and bytes can only be the last
posixtrace::event<posixtrace::bytes, int> e{"e", "a", "b"};|json and bytes can only be the last
posixtrace::span_type<int, posixtrace::key<int>> e{"e", "a", "b"};|the key of a span is its first field
posixtrace::span_type<posixtrace::key<char[2]>> e{"e", "a"}; void f() { posixtrace::span s{e, ""}; }|the key of a span is a number
struct s { int i; }; POSIXTRACE_TYPE(t, "t", struct s, i); void f() { POSIXTRACE_EMIT(t, .i = 1); }|POSIXTRACE_TYPE(t, ...) is for C; <posixtrace.hpp> has
END
}
result 'mistakes are errors that say what is wrong' mistakes

# In C++17 it is a constexpr object that shows them.
names() {
	long=$(printf '%0251d' 0)
	while IFS='|' read -r body message; do
		for std in $standards; do
			case $std in
			c++17) begin='constexpr ' ;;
			*) begin='' ;;
			esac
			if echo "$begin$body" | sed "s/LONG/$long/" | behind_right "$std"; then
				test -z "$message" || { echo "compiled as $std: $body"; return 1; }
			else
				test -n "$message" && grep -q "$message" "$dir/said" ||
					{ echo "$std: $body"; cat "$dir/said"; return 1; }
			fi
		done
	done <<'END'
posixtrace::event<int> e{"e", "a2_ ns"};|
posixtrace::event<int> e{"e", "2a"};|a_field_has_no_name_of_its_own
posixtrace::event<int> e{"e", ""};|a_field_has_no_name_of_its_own
posixtrace::event<int> e{"e", "a,b"};|a_field_has_no_name_of_its_own
posixtrace::event<int> e{"e", "a parsec"};|a_field_has_no_name_of_its_own
posixtrace::event<int, int> e{"e", "a", "a ns"};|a_field_has_no_name_of_its_own
posixtrace::event<float, unsigned[2]> e{"e", "a percent", "b KiB"};|
posixtrace::event<std::string_view> e{"e", "a ns"};|only_a_field_of_numbers_has_a_unit
posixtrace::event<int, bool> e{"e", "a ns", "b ns"};|only_a_field_of_numbers_has_a_unit
posixtrace::event<std::array<bool, 2>> e{"e", "a ns"};|only_a_field_of_numbers_has_a_unit
posixtrace::event<int *> e{"e", "a B"};|only_a_field_of_numbers_has_a_unit
posixtrace::event<std::chrono::microseconds> e{"e", "a us"};|only_a_field_of_numbers_has_a_unit
posixtrace::span_type<posixtrace::json> e{"e", "a ns"};|only_a_field_of_numbers_has_a_unit
posixtrace::event<> e{"LONG"};|
posixtrace::event<> e{"LONGmore!"};|the_name_of_an_event_is_too_long
posixtrace::span_type<> e{"LONG"};|the_name_of_an_event_is_too_long
END
}
has_consteval() {
	case $standards in
	*20) ;;
	*) return 0 ;;
	esac
	printf '#ifndef __cpp_consteval\n#error "none"\n#endif\n' >"$dir/a.cc"
	# shellcheck disable=SC2086 # CXX may be a command with arguments
	$CXX -std=c++20 -fsyntax-only "$dir/a.cc" 2>/dev/null && return 0
	standards=c++17
}
has_consteval
result 'so are names that are none, and units of what has none' names

# ---- what is recorded ----

test -r "$static" || { echo "1..$number"; exit "$status"; }

# A count of allocations stands in the way of sanitizers.
count=-DCOUNT_ALLOCATIONS
test -z "$PTRC_SAN_CFLAGS" || count=

build() {
	for way in 'c++17 -O2' 'c++17 -O0 -fno-exceptions -fno-rtti' 'c++20 -O2'; do
		std=${way%% *}
		case " $standards " in *" $std "*) ;; *) continue ;; esac
		# shellcheck disable=SC2086 # lists of words
		$CXX -std=$way $strict $count -I"$include" -I"$PTRC_SOURCE" $PTRC_SAN_CFLAGS \
			-o "$dir/events$(echo "$way" | tr -d ' ')" \
			"$PTRC_SOURCE/tests/lib/api/cxx_events.cc" "$static" -pthread || return 1
	done
}
result 'the test program is built, each way without a warning' build

# records CASE: in all ways
records() {
	for program in "$dir"/eventsc*; do
		test -x "$program" || { echo 'not built'; return 1; }
		"$program" "$1" || { echo "${program##*/} $1"; return 1; }
	done
}
result 'numbers stand as in a structure of C' records numbers
result 'enumerations, letters, pointers, JSON and bytes' records others
result 'arrays, and texts of a fixed size' records arrays
result 'durations have their units' records durations
result 'texts, also several' records texts
result 'up to 256 bytes take no memory but the stack' records memory
result 'an event type opens itself; with another layout it is unnamed' records opening
result 'several threads open one type' records threads
result 'a forked child goes on with the types of its parent' records fork
result 'an event has the address of its caller' records address
result 'a type is ready before any constructor runs' records early
untraced() (
	CXX_EVENTS_QUIET=1
	export CXX_EVENTS_QUIET
	records untraced
)
result 'where nobody traces, nothing is opened' untraced
result 'spans record their begin and their end' records spans

echo "1..$number"
exit "$status"
