/* SPDX-License-Identifier: MIT */
/*
 * <posixtrace.hpp>: events and spans for C++17 and later, in a single header. The layout of an
 * event type is made from the types of its fields, so that layout and data cannot differ:
 *
 * 	posixtrace::event<std::uint64_t, std::uint32_t, std::string_view> query{
 * 		"db.query", "id", "rows", "sql"};
 * 	...
 * 	query(id, rows, sql);
 *
 * An event type is a global object, a static member or a local static. It is initialised before
 * the program starts, so that constructors of other global objects can use it.
 *
 * 	posixtrace::span_type<std::uint64_t> request{"request", "id"};
 * 	...
 * 	posixtrace::span s{request, id};	request.begin here, request.end where s ends
 *
 * posixtrace.hpp(3) lists the types that a field can have, and how a value of each type is
 * recorded. Nothing here throws. The header also works with -fno-exceptions and -fno-rtti.
 */
#ifndef POSIXTRACE_HPP
#define POSIXTRACE_HPP 1

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <posixtrace.h>

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "<posixtrace.hpp> needs C++17 or later"
#endif

/* In C++20 an invalid name of an event type or field is a compile-time error, because the
 * constructors of event and span_type can be evaluated only at compile time. */
#if defined(__cpp_consteval) && __cpp_consteval >= 201811L
#define POSIXTRACE_CONSTEVAL_ consteval
#else
#define POSIXTRACE_CONSTEVAL_ constexpr
#endif

/* Functions are inlined because an event has the return address of the call of posix_trace_event():
 * it must be an address in the code that records the event, not in a function of this header. */
#define POSIXTRACE_INLINE_ inline __attribute__((always_inline))

namespace posixtrace
{

/* An argument for the last field, of type bytes: the bytes of this memory, recorded unchanged. */
struct bytes {
	const void *data;
	std::size_t size;
};

/* An argument for the last field, of type json: a text that is JSON. */
struct json {
	std::string_view text;
};

/* Marks the first field of a span_type as its key. Both events of a span contain the key, so that
 * the two can be matched. */
template <class T> struct key;

/* Events with up to this many bytes of data need no memory but the stack. */
inline constexpr std::size_t stack_bytes = 256;

namespace detail
{

enum class kind {
	none,
	number,
	pointer,
	duration,
	array,	 /* array of numbers */
	letters, /* an array of char, or one char: text of a fixed size */
	octets,	 /* an array of bytes */
	text,
	json,
	bytes
};

template <class> inline constexpr bool never = false;

template <class T> struct is_duration : std::false_type {
};
template <class Rep, class Period>
struct is_duration<std::chrono::duration<Rep, Period>> : std::true_type {
};

/* Describes T[N] and std::array<T, N> in the same way; count is 0 for other types. */
template <class T> struct array_of {
	using item = void;
	static constexpr std::size_t count = 0;
};
template <class T, std::size_t N> struct array_of<T[N]> {
	using item = T;
	static constexpr std::size_t count = N;
};
template <class T, std::size_t N> struct array_of<std::array<T, N>> {
	using item = T;
	static constexpr std::size_t count = N;
};
template <class T> using item_of = std::remove_cv_t<typename array_of<T>::item>;

template <class T> constexpr bool is_number()
{
	if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
		return sizeof(T) <= 8;
	else
		return false;
}

template <class T> constexpr kind kind_of()
{
	if constexpr (std::is_same_v<T, char> || std::is_same_v<item_of<T>, char>)
		return kind::letters;
	else if constexpr (is_number<T>())
		return kind::number;
	else if constexpr (std::is_same_v<item_of<T>, unsigned char> ||
			   std::is_same_v<item_of<T>, std::byte>)
		return kind::octets;
	else if constexpr (is_number<item_of<T>>())
		return array_of<T>::count ? kind::array : kind::none;
	else if constexpr (std::is_same_v<T, const char *> || std::is_same_v<T, char *> ||
			   std::is_same_v<T, std::string_view> || std::is_same_v<T, std::string>)
		return kind::text;
	else if constexpr (std::is_pointer_v<T>)
		return kind::pointer;
	else if constexpr (is_duration<T>::value)
		return kind::duration;
	else if constexpr (std::is_same_v<T, posixtrace::json>)
		return kind::json;
	else if constexpr (std::is_same_v<T, posixtrace::bytes>)
		return kind::bytes;
	else
		return kind::none;
}

/* How the layout describes a field of some type, and which size and alignment the field has in the
 * data. */
struct shape {
	const char *word;  /* the type in the layout; nullptr: no field can be of this type */
	std::size_t count; /* number in brackets after the word; 0: no brackets */
	const char *unit;  /* a blank and the unit, or empty */
	std::size_t size;  /* 0: depends on the argument */
	std::size_t alignment;
	bool is_last; /* no field can follow this field */
};

template <class T> constexpr const char *number_word()
{
	if constexpr (std::is_enum_v<T>)
		return number_word<std::underlying_type_t<T>>();
	else if constexpr (std::is_same_v<T, bool>)
		return "bool";
	else if constexpr (std::is_floating_point_v<T>)
		return sizeof(T) == 4 ? "f32" : "f64";
	else if constexpr (std::is_signed_v<T>)
		return sizeof(T) == 1	? "i8"
		       : sizeof(T) == 2 ? "i16"
		       : sizeof(T) == 4 ? "i32"
					: "i64";
	else
		return sizeof(T) == 1	? "u8"
		       : sizeof(T) == 2 ? "u16"
		       : sizeof(T) == 4 ? "u32"
					: "u64";
}

template <class Period> constexpr const char *unit_word()
{
	return std::is_same_v<typename Period::type, std::nano>	      ? " ns"
	       : std::is_same_v<typename Period::type, std::micro>    ? " us"
	       : std::is_same_v<typename Period::type, std::milli>    ? " ms"
	       : std::is_same_v<typename Period::type, std::ratio<1>> ? " s"
								      : nullptr;
}

template <class T> constexpr shape shape_of()
{
	constexpr kind k = kind_of<T>();

	if constexpr (k == kind::number) {
		return {number_word<T>(), 0, "", sizeof(T), sizeof(T), false};
	} else if constexpr (k == kind::pointer) {
		return {"x64", 0, "", 8, 8, false};
	} else if constexpr (k == kind::duration) {
		using rep = typename T::rep;

		if constexpr (is_number<rep>() && unit_word<typename T::period>())
			return {number_word<rep>(), 0,		 unit_word<typename T::period>(),
				sizeof(rep),	    sizeof(rep), false};
		else
			return {nullptr, 0, "", 0, 1, false};
	} else if constexpr (k == kind::array) {
		using item = item_of<T>;

		return {number_word<item>(),
			array_of<T>::count,
			"",
			sizeof(item) * array_of<T>::count,
			sizeof(item),
			false};
	} else if constexpr (k == kind::letters) {
		constexpr std::size_t n = array_of<T>::count ? array_of<T>::count : 1;

		return {"char", n, "", n, 1, false};
	} else if constexpr (k == kind::octets) {
		return {"bytes", array_of<T>::count, "", array_of<T>::count, 1, false};
	} else if constexpr (k == kind::text) {
		return {"str", 0, "", 0, 1, false};
	} else if constexpr (k == kind::json) {
		return {"json", 0, "", 0, 1, true};
	} else if constexpr (k == kind::bytes) {
		return {"bytes", 0, "", 0, 1, true};
	} else {
		return {nullptr, 0, "", 0, 1, false};
	}
}

constexpr std::size_t aligned(std::size_t at, std::size_t alignment)
{
	return (at + alignment - 1) / alignment * alignment;
}

/* ---- arguments ---- */

template <class U>
inline constexpr bool is_array_of_char =
	std::conjunction_v<std::is_array<U>, std::is_same<item_of<U>, char>>;

template <class U> constexpr bool is_text()
{
	return is_array_of_char<U> || std::is_null_pointer_v<U> ||
	       std::is_convertible_v<const U &, std::string_view>;
}

/* The text of an argument. A null pointer is an empty text. The text of an array of char ends
 * before the first null byte, if the array has one. */
template <class U> POSIXTRACE_INLINE_ std::string_view text_of(const U &u) noexcept
{
	if constexpr (is_array_of_char<U>) {
		const void *end = std::memchr(&u[0], 0, sizeof(u));

		return {&u[0],
			end ? static_cast<std::size_t>(static_cast<const char *>(end) - &u[0])
			    : sizeof(u)};
	} else if constexpr (std::is_same_v<U, const char *> || std::is_same_v<U, char *>) {
		return u ? std::string_view(u) : std::string_view();
	} else if constexpr (std::is_null_pointer_v<U>) {
		return {};
	} else {
		return u;
	}
}

/* Fails to compile, with the reason, if a field of type T does not take an argument of type U. */
template <class T, class U> constexpr void check()
{
	constexpr kind k = kind_of<T>();
	using plain = std::remove_cv_t<U>;

	if constexpr (k == kind::number && std::is_enum_v<T>) {
		static_assert(std::is_same_v<plain, T>,
			      "posixtrace: this field takes a value of its enumeration only");
	} else if constexpr (k == kind::number && std::is_same_v<T, bool>) {
		static_assert(std::is_same_v<plain, bool>,
			      "posixtrace: this field takes a bool only");
	} else if constexpr (k == kind::number) {
		static_assert(std::is_arithmetic_v<plain> && !std::is_same_v<plain, bool>,
			      "posixtrace: this field takes a number; the argument is none");
		if constexpr (std::is_arithmetic_v<plain>) {
			static_assert(std::is_floating_point_v<T> ||
					      !std::is_floating_point_v<plain>,
				      "posixtrace: this field takes an integer; "
				      "convert the floating-point number to one");
			if constexpr (std::is_floating_point_v<T>)
				static_assert(std::numeric_limits<plain>::digits <=
						      std::numeric_limits<T>::digits,
					      "posixtrace: the field has fewer digits than this "
					      "number; convert it to the type of the field");
			else
				static_assert(sizeof(plain) < sizeof(T) ||
						      (sizeof(plain) == sizeof(T) &&
						       (std::is_signed_v<plain> ||
							std::is_unsigned_v<T>)),
					      "posixtrace: this integer may be too large for the "
					      "field; convert it to the type of the field");
		}
	} else if constexpr (k == kind::pointer) {
		static_assert(std::is_convertible_v<const U &, T>,
			      "posixtrace: this field takes a pointer of another type");
	} else if constexpr (k == kind::duration) {
		static_assert(is_duration<plain>::value && std::is_convertible_v<const U &, T>,
			      "posixtrace: this field takes a duration that its unit can tell "
			      "without a rest; use std::chrono::duration_cast");
	} else if constexpr (std::is_same_v<T, char>) {
		static_assert(std::is_same_v<plain, char>,
			      "posixtrace: this field takes a char only");
	} else if constexpr (k == kind::letters) {
		static_assert(is_text<U>() || (std::is_same_v<item_of<plain>, char> &&
					       array_of<plain>::count <= array_of<T>::count),
			      "posixtrace: this field takes a text");
	} else if constexpr (k == kind::array || k == kind::octets) {
		static_assert(std::is_same_v<item_of<plain>, item_of<T>> &&
				      array_of<plain>::count == array_of<T>::count,
			      "posixtrace: this field takes an array of the same length and type");
	} else if constexpr (k == kind::text) {
		static_assert(is_text<U>(), "posixtrace: this field takes a text");
	} else if constexpr (k == kind::json) {
		static_assert(std::is_same_v<plain, posixtrace::json> || is_text<U>(),
			      "posixtrace: this field takes a text of JSON");
	} else if constexpr (k == kind::bytes) {
		static_assert(std::is_same_v<plain, posixtrace::bytes>,
			      "posixtrace: this field takes posixtrace::bytes");
	}
}

/* An argument on its way into the data of an event. A number is stored in `fixed`. For a text or
 * an array, `from` points to the caller's bytes. A text gets a null byte at its end, unless it is
 * the last field (is_final). */
template <class T, bool is_final> struct piece {
	static constexpr shape of = shape_of<T>();
	static constexpr bool has_null = kind_of<T>() == kind::text && !is_final;
	/* the value of a number, pointer, duration or char; for other fields unused */
	unsigned char fixed[of.size && kind_of<T>() != kind::array &&
					    kind_of<T>() != kind::octets &&
					    kind_of<T>() != kind::letters
				    ? of.size
				    : 1];
	const void *from;
	std::size_t size;

	template <class N> POSIXTRACE_INLINE_ void set_number(N value) noexcept
	{
		std::memcpy(fixed, &value, sizeof(value));
	}

	POSIXTRACE_INLINE_ void set_text(std::string_view text) noexcept
	{
		from = text.data();
		size = text.size();
		/* A reader takes a null byte for the end of the text, so the text is cut there. */
		if (kind_of<T>() == kind::text && size)
			size = strnlen(text.data(), size);
	}

	template <class U>
	POSIXTRACE_INLINE_ explicit piece(const U &u) noexcept : from(nullptr), size(of.size)
	{
		constexpr kind k = kind_of<T>();
		using plain = std::remove_cv_t<U>;

		if constexpr (k == kind::number || std::is_same_v<T, char>)
			set_number(static_cast<T>(u));
		else if constexpr (k == kind::pointer)
			set_number(static_cast<std::uint64_t>(
				reinterpret_cast<std::uintptr_t>(static_cast<T>(u))));
		else if constexpr (k == kind::duration)
			set_number(static_cast<T>(u).count());
		else if constexpr (k == kind::letters && std::is_same_v<item_of<plain>, char>)
			from = &u[0], size = array_of<plain>::count;
		else if constexpr (k == kind::letters || k == kind::text)
			set_text(text_of(u));
		else if constexpr (k == kind::array || k == kind::octets)
			from = &u[0];
		else if constexpr (std::is_same_v<plain, posixtrace::json>)
			set_text(u.text);
		else if constexpr (k == kind::json)
			set_text(text_of(u));
		else if constexpr (k == kind::bytes)
			from = u.data, size = u.data ? u.size : 0;
	}

	POSIXTRACE_INLINE_ std::size_t end(std::size_t at) const noexcept
	{
		return aligned(at, of.alignment) + (of.size ? of.size : size + has_null);
	}

	/* Copies the field into the data, at offset `at` or after zeros for alignment, and
	 * returns the offset after the field. */
	POSIXTRACE_INLINE_ std::size_t put(char *data, std::size_t at) const noexcept
	{
		constexpr kind k = kind_of<T>();

		for (; at % of.alignment; at++)
			data[at] = 0;
		if constexpr (k == kind::letters && !std::is_same_v<T, char>) {
			std::size_t n = size < of.size ? size : of.size;

			if (n)
				std::memcpy(data + at, from, n);
			std::memset(data + at + n, 0, of.size - n);
		} else if constexpr (k == kind::array || k == kind::octets) {
			std::memcpy(data + at, from, of.size);
		} else if constexpr (of.size != 0) {
			std::memcpy(data + at, fixed, of.size);
		} else {
			const void *bytes = from;

			/* Else gcc warns about an argument that is one of two literals, as if it
			 * could be longer than both. */
			if (!__builtin_constant_p(size))
				__asm__("" : "+r"(bytes));
			if (size)
				std::memcpy(data + at, bytes, size);
			if constexpr (has_null)
				data[at + size] = 0;
		}
		return at + (of.size ? of.size : size + has_null);
	}

	/* Called if there is no memory for the data of the event: makes a field of variable size
	 * empty. */
	void forget_text() noexcept
	{
		if (!of.size)
			size = 0;
	}
};

/* ---- opening ---- */

constexpr bool is_letter(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

constexpr bool is_same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* Whether `name` is the name of a field, optionally followed by a blank and a unit. */
constexpr bool is_field_name(const char *name)
{
	const char *const units[] = {"ns", "us", "ms", "s", "B", "KiB", "MiB", "percent", "count"};
	std::size_t n = 0;

	if (!name || !is_letter(*name))
		return false;
	while (is_letter(name[n]) || (name[n] >= '0' && name[n] <= '9'))
		n++;
	if (n > 64 || (name[n] && name[n] != ' '))
		return false;
	for (const char *unit : units)
		if (name[n] && is_same(name + n + 1, unit))
			return true;
	return !name[n];
}

/* Compares the names without their units. */
constexpr bool is_same_field(const char *a, const char *b)
{
	while (*a && *a != ' ' && *a == *b)
		a++, b++;
	return (!*a || *a == ' ') && (!*b || *b == ' ');
}

constexpr bool are_field_names(const char *const *names, std::size_t count)
{
	for (std::size_t i = 0; i < count; i++) {
		if (!is_field_name(names[i]))
			return false;
		for (std::size_t k = 0; k < i; k++)
			if (is_same_field(names[i], names[k]))
				return false;
	}
	return true;
}

constexpr bool is_event_name(const char *name, std::size_t suffix)
{
	std::size_t n = 0;

	while (n <= TRACE_EVENT_NAME_MAX && name[n])
		n++;
	return n + suffix <= TRACE_EVENT_NAME_MAX;
}

/* The constructor of event calls one of these functions if a name is invalid. They are not
 * constexpr, so in a constant expression such a call is a compile-time error, and the compiler's
 * message shows the function's name. */
inline void the_name_of_an_event_is_too_long()
{
}
inline void a_field_has_no_name_of_its_own()
{
}
inline void only_a_field_of_numbers_has_a_unit()
{
}

/* Whether a unit can follow the name of a field of type T. A std::chrono::duration has a unit of
 * its own. */
template <class T> constexpr bool takes_unit()
{
	constexpr kind k = kind_of<T>();

	return (k == kind::number && !std::is_same_v<T, bool>) ||
	       (k == kind::array && !std::is_same_v<item_of<T>, bool>);
}

constexpr bool has_unit(const char *name)
{
	while (*name && *name != ' ')
		name++;
	return *name;
}

struct text {
	char *at;
	char *end;

	void put(const char *word) noexcept
	{
		while (*word && at < end)
			*at++ = *word++;
	}

	void put(std::size_t number) noexcept
	{
		char digits[24];
		char *first = digits + sizeof(digits) - 1;

		*first = '\0';
		do
			*--first = static_cast<char>('0' + number % 10);
		while (number /= 10);
		put(first);
	}
};

/* The common part of all event types. The name of the type is `name` with `suffix` appended. id:
 * the identifier; 0 until the type is open. error: 0, or the error number of opening the type. */
struct type {
	const char *name;
	const char *suffix;
	mutable std::atomic<trace_event_id_t> id{0};
	mutable std::atomic<int> error{0};

	constexpr type(const char *its_name, const char *its_suffix) noexcept
	    : name(its_name), suffix(its_suffix)
	{
	}
};

/* Makes the library count a name whose events are recorded as unnamed ones, because the name has
 * another layout: posixtrace_open_type() does that for a layout that no event of this header has. */
inline void count_unnamed(const char *name) noexcept
{
	static const posixtrace_member member = {"unnamed", 0, 1, 1, POSIXTRACE_UNSIGNED, 0};
	posixtrace_type type = {sizeof(type), name, &member, 1, 0, 0};

	posixtrace_open_type(&type);
}

/* Opens a type. Several threads may do this at the same time, with the same result. The function is
 * not inline, so that its buffers take no stack in begin(), which an untraced process calls for
 * each event. */
__attribute__((noinline, cold)) inline int
open(const type &t, const shape *shapes, const char *const *names, std::size_t count) noexcept
{
	char name[TRACE_EVENT_NAME_MAX + 2];
	char layout[POSIXTRACE_LAYOUT_MAX + 2];
	text name_text = {name, name + sizeof(name) - 1};
	text layout_text = {layout, layout + sizeof(layout) - 1};
	trace_event_id_t id = POSIX_TRACE_UNNAMED_USEREVENT;
	int error;

	name_text.put(t.name);
	name_text.put(t.suffix);
	*name_text.at = '\0';
	for (std::size_t i = 0; i < count; i++) {
		layout_text.put(i ? ", " : "");
		layout_text.put(shapes[i].word);
		if (shapes[i].count) {
			layout_text.put("[");
			layout_text.put(shapes[i].count);
			layout_text.put("]");
		}
		layout_text.put(" ");
		layout_text.put(names[i]);
		layout_text.put(shapes[i].unit);
	}
	*layout_text.at = '\0';
	if (!are_field_names(names, count))
		error = EINVAL;
	else if (count)
		error = posixtrace_eventid_open_layout(name, layout, &id);
	else
		error = posix_trace_eventid_open(name, &id);
	if (error == EEXIST)
		count_unnamed(name);
	/* After ENOMEM nothing is stored, so the next event tries to open the type again. */
	if (error != ENOMEM) {
		t.error.store(error, std::memory_order_relaxed);
		t.id.store(id, std::memory_order_release);
	}
	return error;
}

/* Opens the type if this process is traced, and returns its identifier. Returns 0 if the process
 * is not traced. */
__attribute__((noinline, cold)) inline trace_event_id_t
begin(const type &t, const shape *shapes, const char *const *names, std::size_t count) noexcept
{
	trace_event_id_t id;
	int keep;

	if (!posixtrace_is_traced())
		return 0;
	keep = errno;
	open(t, shapes, names, count);
	errno = keep;
	id = t.id.load(std::memory_order_acquire);
	return id ? id : POSIX_TRACE_UNNAMED_USEREVENT;
}

/* Allocates memory for data that is larger than the buffer on the stack. Returns nullptr if there
 * is none. */
__attribute__((noinline, cold)) inline char *take_memory(std::size_t size) noexcept
{
	int keep = errno;
	char *memory = static_cast<char *>(std::malloc(size));

	errno = keep;
	return memory;
}

__attribute__((noinline, cold)) inline void give_memory(char *memory) noexcept
{
	std::free(memory);
}

/* The most bytes that the data of an event takes if all its fields of variable size are empty. Each
 * of these counts as 8 bytes: a null byte, and up to 7 bytes that align the next field. */
template <class... Args> constexpr std::size_t least_size()
{
	std::size_t size = 0;

	((size = aligned(size, shape_of<Args>().alignment) +
		 (shape_of<Args>().size ? shape_of<Args>().size : 1 + 7)),
	 ...);
	return size;
}

template <class... Args> constexpr bool are_ends_right()
{
	constexpr std::size_t count = sizeof...(Args);
	constexpr bool is_last[] = {shape_of<Args>().is_last..., false};

	for (std::size_t i = 0; i + 1 < count; i++)
		if (is_last[i])
			return false;
	return true;
}

struct suffixed {
	const char *suffix;
	std::size_t size;
};

} // namespace detail

/* An event type, with a field for each type argument. All its functions may be called in every
 * thread at any time. */
template <class... Args> class event
{
	static_assert(
		((detail::shape_of<Args>().word != nullptr) && ...),
		"posixtrace: a field cannot be of this type (a duration counts ns, us, ms or s)");
	static_assert(detail::are_ends_right<Args...>(),
		      "posixtrace: json and bytes can only be the last field");
	static_assert(sizeof...(Args) <= 256, "posixtrace: an event has 256 fields at most");

	static constexpr std::size_t count = sizeof...(Args);
	static constexpr detail::shape shapes[count + 1] = {detail::shape_of<Args>()...,
							    detail::shape_of<bool>()};
	static constexpr bool is_fixed = ((detail::shape_of<Args>().size != 0) && ...);
	static constexpr std::size_t room = is_fixed ? detail::least_size<Args...>() + (count == 0)
					    : detail::least_size<Args...>() > stack_bytes
						    ? detail::least_size<Args...>()
						    : stack_bytes;

	detail::type type_;
	std::array<const char *, count + 1> names_;

	POSIXTRACE_INLINE_ trace_event_id_t begin() const noexcept
	{
		trace_event_id_t id = type_.id.load(std::memory_order_acquire);

		if (__builtin_expect(id == 0, 0))
			id = detail::begin(type_, shapes, names_.data(), count);
		return id;
	}

	template <class... Pieces>
	POSIXTRACE_INLINE_ static void record(trace_event_id_t id, Pieces &&...pieces) noexcept
	{
		alignas(8) char stack[room];
		char *data = stack;
		std::size_t size = 0;

		if constexpr (!is_fixed) {
			((size = pieces.end(size)), ...);
			if (__builtin_expect(size > room, 0)) {
				data = detail::take_memory(size);
				if (!data) {
					data = stack;
					(pieces.forget_text(), ...);
				}
			}
		}
		size = 0;
		((size = pieces.put(data, size)), ...);
		posix_trace_event(id, data, size);
		if constexpr (!is_fixed)
			if (__builtin_expect(data != stack, 0))
				detail::give_memory(data);
	}

	/* Records an event whose only field is a text, JSON or bytes. The data of this event is the
	 * caller's memory, so nothing is copied before posix_trace_event(). */
	template <class Piece>
	POSIXTRACE_INLINE_ static void record_text(trace_event_id_t id, const Piece &piece) noexcept
	{
		posix_trace_event(id, piece.from, piece.size);
	}

	template <std::size_t... I, class... Us>
	POSIXTRACE_INLINE_ void emit(trace_event_id_t id, std::index_sequence<I...>,
				     const Us &...arguments) const noexcept
	{
		if constexpr (count == 1 && !is_fixed)
			record_text(id, detail::piece<Args, true>(arguments)...);
		else
			record(id, detail::piece<Args, I + 1 == count>(arguments)...);
	}

      public:
	/* The arguments are the name of the event type and a name for each field. The object keeps
	 * pointers to these strings, not copies. */
	template <std::size_t N, class... Names>
	POSIXTRACE_CONSTEVAL_ event(const char (&name)[N], const Names &...names) noexcept
	    : event(detail::suffixed{"", 0}, name, names...)
	{
	}

	/* Public only for span_type, which adds .begin or .end to the name. */
	template <class... Names>
	constexpr event(detail::suffixed s, const char *name, const Names &...names) noexcept
	    : type_(name, s.suffix), names_{{names..., nullptr}}
	{
		static_assert(sizeof...(Names) == sizeof...(Args),
			      "posixtrace: an event type needs a name for each of its fields");
		static_assert((std::is_convertible_v<const Names &, const char *> && ...),
			      "posixtrace: the names of fields are literals");
		if (!detail::is_event_name(name, s.size))
			detail::the_name_of_an_event_is_too_long();
		if (!detail::are_field_names(names_.data(), count))
			detail::a_field_has_no_name_of_its_own();
		else if (((!detail::takes_unit<Args>() && detail::has_unit(names)) || ...))
			detail::only_a_field_of_numbers_has_a_unit();
	}

	event(const event &) = delete;
	event &operator=(const event &) = delete;

	template <class... Us>
	POSIXTRACE_INLINE_ void operator()(const Us &...arguments) const noexcept
	{
		static_assert(sizeof...(Us) == sizeof...(Args),
			      "posixtrace: an event takes an argument for each of its fields");
		if constexpr (sizeof...(Us) == sizeof...(Args)) {
			trace_event_id_t id = begin();

			(detail::check<Args, Us>(), ...);
			if (!id)
				return;
			if constexpr (count == 0)
				posix_trace_event(id, nullptr, 0);
			else
				emit(id, std::index_sequence_for<Args...>{}, arguments...);
		}
	}

	/*
	 * Opens the type now. If the program does not call this, the first event of the type in a
	 * traced process opens it; this first event must not be in a signal handler. Returns 0 or
	 * an error number of posixtrace_eventid_open_layout(). The events of a type that could not
	 * be opened are recorded as POSIX_TRACE_UNNAMED_USEREVENT.
	 */
	int open() const noexcept
	{
		if (type_.id.load(std::memory_order_acquire))
			return type_.error.load(std::memory_order_relaxed);
		return detail::open(type_, shapes, names_.data(), count);
	}

	/* The identifier of the type in this process; 0: the type is not open. */
	trace_event_id_t id() const noexcept
	{
		return type_.id.load(std::memory_order_acquire);
	}
};

template <class... Names> event(const char *, const Names &...) -> event<>;

namespace detail
{

template <class T> struct unkeyed {
	using type = T;
	static constexpr bool is_key = false;
};
template <class T> struct unkeyed<key<T>> {
	using type = T;
	static constexpr bool is_key = true;
};

/* ending<...> derives, from the fields of a span_type, the type of its key (no_key if it has
 * none) and the event type of its end. */
struct no_key {
};
template <class...> struct ending {
	using key_type = no_key;
	using type = event<>;
};
template <class T, class... Rest> struct ending<key<T>, Rest...> {
	using key_type = T;
	using type = event<T>;
};

template <class... Args>
constexpr std::size_t key_count = (0 + ... + (unkeyed<Args>::is_key ? 1U : 0U));

} // namespace detail

/*
 * The two event types of a span: NAME.begin with all fields, and NAME.end with the key, if there
 * is a key. An object of type span records both events. If a span begins in one function or
 * thread and ends in another, record it by begin(...) and end(key) instead.
 */
template <class... Args> struct span_type {
	using ending = detail::ending<Args...>;

	static_assert(detail::key_count<Args...> ==
			      (std::is_same_v<typename ending::key_type, detail::no_key> ? 0U : 1U),
		      "posixtrace: the key of a span is its first field, and there is one at most");

	event<typename detail::unkeyed<Args>::type...> begin;
	typename ending::type end;

	template <std::size_t N, class... Names>
	POSIXTRACE_CONSTEVAL_ span_type(const char (&name)[N], const Names &...names) noexcept
	    : span_type(std::is_same<typename ending::key_type, detail::no_key>{}, name, names...)
	{
	}

	/* Opens both types. */
	int open() const noexcept
	{
		int error = begin.open();
		int other = end.open();

		return error ? error : other;
	}

      private:
	template <class... Names>
	constexpr span_type(std::true_type, const char *name, const Names &...names) noexcept
	    : begin(detail::suffixed{".begin", 6}, name, names...),
	      end(detail::suffixed{".end", 4}, name)
	{
	}

	template <class First, class... Names>
	constexpr span_type(std::false_type, const char *name, const First &first,
			    const Names &...names) noexcept
	    : begin(detail::suffixed{".begin", 6}, name, first, names...),
	      end(detail::suffixed{".end", 4}, name, first)
	{
	}
};

/* Records NAME.begin when it is constructed, and NAME.end when it goes out of scope. */
template <class... Args> class [[nodiscard]] span
{
	using key_type = typename detail::ending<Args...>::key_type;
	static constexpr bool has_key = !std::is_same_v<key_type, detail::no_key>;

	static_assert(
		!has_key || detail::kind_of<key_type>() == detail::kind::number ||
			detail::kind_of<key_type>() == detail::kind::pointer,
		"posixtrace: the key of a span is a number or a pointer, which the span keeps");

	const span_type<Args...> &type_;
	key_type key_;

	template <class First, class... Rest>
	POSIXTRACE_INLINE_ static key_type key_of(const First &first, const Rest &...) noexcept
	{
		return static_cast<key_type>(first);
	}

	template <class... Us>
	POSIXTRACE_INLINE_ static key_type keep(const Us &...arguments) noexcept
	{
		if constexpr (has_key && sizeof...(Us) > 0)
			return key_of(arguments...);
		else
			return key_type();
	}

      public:
	template <class... Us>
	POSIXTRACE_INLINE_ explicit span(const span_type<Args...> &type,
					 const Us &...arguments) noexcept
	    : type_(type), key_(keep(arguments...))
	{
		type.begin(arguments...);
	}

	POSIXTRACE_INLINE_ ~span()
	{
		if constexpr (has_key)
			type_.end(key_);
		else
			type_.end();
	}

	span(const span &) = delete;
	span &operator=(const span &) = delete;
};

template <class... Args, class... Us>
span(const span_type<Args...> &, const Us &...) -> span<Args...>;

} // namespace posixtrace

#undef POSIXTRACE_CONSTEVAL_
#undef POSIXTRACE_INLINE_

#endif
