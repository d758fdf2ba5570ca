/* SPDX-License-Identifier: MIT */
/* The language of layouts: what the compiler makes of a structure, and what is refused. */
#include "tests/support/harness.h"

#include "lib/model/layout.h"

/* The types by the names that they have in a layout, so that structure and text are made of the
 * same words. */
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef float f32;
typedef double f64;

static struct ptrc_layout_fields *parse(const char *text)
{
	struct ptrc_layout_fields *l = NULL;
	struct ptrc_layout_mistake why;
	/* Without a null byte behind it, so that a sanitizer sees every byte too far. */
	size_t size = strlen(text);
	char *copy = malloc(size + !size);

	memcpy(copy, text, size);
	if (ptrc_layout_parse(copy, size, &l, &why))
		harness_fail("'%s': column %zu: %s", text, why.column, why.reason);
	free(copy);
	return l;
}

static const struct ptrc_layout_field *field_of(const struct ptrc_layout_fields *l,
						const char *name)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->fields[i].name, name))
			return &l->fields[i];
	harness_fail("no field '%s'", name);
}

/* Compares the place of a field with the bits that its member has in a structure that is zero
 * elsewhere. */
static void check_place(const char *text, const struct ptrc_layout_field *f,
			const unsigned char *bytes, size_t size)
{
	size_t first = f->at * 8 + f->bit_at;
	size_t end = first + (f->bits ? f->bits : 8 * f->size);

	CHECK(f->is_placed);
	for (size_t bit = 0; bit < 8 * size; bit++) {
		bool is_set = bytes[bit / 8] >> bit % 8 & 1;

		if (is_set != (bit >= first && bit < end))
			harness_fail("%s: bit %zu of the structure is%s of '%s'", text, bit,
				     is_set ? "" : " not", f->name);
	}
}

/*
 * A structure is a list MEMBERS(N, A, B) of numbers N(type, name), arrays A(type, name, count) and
 * bit fields B(type, name, bits). These make of it the structure, its layout, and a look at each
 * member.
 */
#define MEMBER_N(type, name) type name;
#define MEMBER_A(type, name, count) type name[count];
#define MEMBER_B(type, name, bits) type name : bits;
#define TEXT_N(type, name) #type " " #name ", "
#define TEXT_A(type, name, count) #type "[" #count "] " #name ", "
#define TEXT_B(type, name, bits) #type " " #name ":" #bits ", "
#define LOOK_N(type, name)                                                        \
	memset(&s, 0, sizeof(s));                                                 \
	memset((char *)&s + offsetof(__typeof__(s), name), 0xff, sizeof(s.name)); \
	check_place(text, field_of(l, #name), (unsigned char *)&s, sizeof(s));
#define LOOK_A(type, name, count) LOOK_N(type, name)
#define LOOK_B(type, name, bits)                                                       \
	do {                                                                           \
		volatile type ones = (type)-1;                                         \
                                                                                       \
		memset(&s, 0, sizeof(s));                                              \
		s.name = ones;                                                         \
		check_place(text, field_of(l, #name), (unsigned char *)&s, sizeof(s)); \
	} while (0);

#define CHECK_STRUCTURE_OF(first_word, attribute, MEMBERS)                                       \
	do {                                                                                     \
		struct {                                                                         \
			MEMBERS(MEMBER_N, MEMBER_A, MEMBER_B)                                    \
		} attribute s;                                                                   \
		char text[] = first_word MEMBERS(TEXT_N, TEXT_A, TEXT_B);                        \
		struct ptrc_layout_fields *l;                                                    \
                                                                                                 \
		*strrchr(text, ',') = '\0';                                                      \
		l = parse(text);                                                                 \
		CHECK(l->is_fixed);                                                              \
		if (l->padded_size != sizeof(s))                                                 \
			harness_fail("%s: %zu bytes, not %zu", text, l->padded_size, sizeof(s)); \
		MEMBERS(LOOK_N, LOOK_A, LOOK_B)                                                  \
		ptrc_layout_fields_free(l);                                                      \
	} while (0)

#define CHECK_STRUCTURE(MEMBERS)                                                 \
	do {                                                                     \
		CHECK_STRUCTURE_OF("", , MEMBERS);                               \
		CHECK_STRUCTURE_OF("packed ", __attribute__((packed)), MEMBERS); \
	} while (0)

#define GAPS(N, A, B) N(u8, a) N(u32, b) N(u16, c) N(u64, d) N(u8, e)
#define ALL_NUMBERS(N, A, B) \
	N(u8, a)             \
	N(u16, b)            \
	N(i8, c)             \
	N(i32, d)            \
	N(f32, e)            \
	N(u8, f) N(f64, g) N(bool, h) N(i16, i) N(u64, j) N(bool, k) N(u32, l) N(i64, m) N(u8, n)
#define ARRAYS(N, A, B) \
	N(u8, a)        \
	A(u32, b, 3)    \
	A(u8, c, 5)     \
	A(u64, d, 2) A(char, e, 7) A(i16, f, 3) A(bool, g, 2) A(f32, h, 1) N(u8, i) A(f64, j, 3)
#define TEXT_LAST(N, A, B) N(u64, a) A(char, b, 3)
#define ONE(N, A, B) N(u8, a)
#define SMALL_END(N, A, B) N(u16, a) N(u8, b)
#define BITS(N, A, B) B(u32, a, 3) B(u32, b, 7) B(u32, c, 22)
#define ONE_BIT(N, A, B) B(u32, a, 1)
#define BITS_OVER(N, A, B) B(u32, a, 20) B(u32, b, 20) B(u32, c, 5)
#define BITS_AFTER(N, A, B) N(u8, a) B(u32, b, 12) B(u32, c, 13) N(u8, d)
#define BITS_LARGE(N, A, B) N(u32, a) B(u64, b, 40) B(u64, c, 24) N(u8, d) B(u64, e, 64)
#define BITS_MIXED(N, A, B) \
	B(u8, a, 3)         \
	B(u16, b, 9)        \
	B(u32, c, 1)        \
	B(bool, d, 1)       \
	B(u64, e, 33) B(i8, f, 7) B(i16, g, 2) N(u16, h) B(bool, i, 1) B(bool, j, 1) N(f64, k)
#define BITS_SIGNED(N, A, B) B(i32, a, 5) B(i32, b, 31) B(i64, c, 63) B(i8, d, 8) B(i16, e, 1)
#define BITS_SMALL_END(N, A, B) N(u64, a) B(u8, b, 1)
#define BITS_OF_TYPES(N, A, B) \
	B(u8, a, 5) B(u8, b, 5) B(u16, c, 5) B(u32, d, 29) B(u16, e, 16) N(u8, f)
#define BITS_AND_ARRAYS(N, A, B) B(u16, a, 4) A(u8, b, 3) B(u32, c, 31) A(u16, d, 2) B(bool, e, 1)

TEST(fields_stand_where_the_compiler_puts_members, "")
{
	CHECK_STRUCTURE(ONE);
	CHECK_STRUCTURE(GAPS);
	CHECK_STRUCTURE(ALL_NUMBERS);
	CHECK_STRUCTURE(ARRAYS);
	CHECK_STRUCTURE(TEXT_LAST);
	CHECK_STRUCTURE(SMALL_END);
}

TEST(bit_fields_stand_where_the_compiler_puts_them, "")
{
	CHECK_STRUCTURE(ONE_BIT);
	CHECK_STRUCTURE(BITS);
	CHECK_STRUCTURE(BITS_OVER);
	CHECK_STRUCTURE(BITS_AFTER);
	CHECK_STRUCTURE(BITS_LARGE);
	CHECK_STRUCTURE(BITS_MIXED);
	CHECK_STRUCTURE(BITS_SIGNED);
	CHECK_STRUCTURE(BITS_SMALL_END);
	CHECK_STRUCTURE(BITS_OF_TYPES);
	CHECK_STRUCTURE(BITS_AND_ARRAYS);
}

TEST(text_at_the_end_stands_where_the_compiler_puts_it, "")
{
	struct open {
		uint64_t id;
		uint8_t kind;
		char text[];
	};
	struct ptrc_layout_fields *l = parse("u64 id, u8 kind, str text");

	CHECK(!l->is_fixed);
	CHECK_EQ(l->fields[2].at, offsetof(struct open, text));
	CHECK_EQ(l->fields[2].size, 0);
	CHECK_EQ(l->size, offsetof(struct open, text));
	ptrc_layout_fields_free(l);

	/* Behind a text only the data tells the place; it has at least a null byte. */
	l = parse("str a, u32 b");
	CHECK(l->fields[0].is_placed && !l->fields[1].is_placed);
	CHECK_EQ(l->size, 8);
	ptrc_layout_fields_free(l);
	l = parse("packed str a, u32 b");
	CHECK_EQ(l->size, 5);
}

TEST(enums_count_on_as_in_c, "")
{
	enum c { A, B = 5, C, D = -3, E, F = 0x10 };
	static const int64_t values[] = {A, B, C, D, E, F};
	struct ptrc_layout_fields *l =
		parse("enum{A,B=5,C,D = - 3,E,F=0x10,} x, enum u8 {a, b=255} y, u8 z, "
		      "enum i64{low=-9223372036854775808,high=9223372036854775807}[2] w,"
		      "enum u64{top=18446744073709551615} v, enum u32 {same=1, again=1} t:1");
	const struct ptrc_layout_field *x = field_of(l, "x");

	CHECK_EQ(x->size, sizeof(enum c));
	CHECK_EQ(x->kind, PTRC_LAYOUT_SIGNED);
	CHECK_EQ(x->member_count, 6);
	for (size_t i = 0; i < 6; i++) {
		CHECK_EQ((int64_t)x->members[i].value, values[i]);
		CHECK_EQ(x->members[i].name[0], "ABCDEF"[i]);
		CHECK_EQ(x->members[i].name[1], '\0');
	}
	CHECK_EQ(field_of(l, "y")->size, 1);
	CHECK_EQ(field_of(l, "y")->kind, PTRC_LAYOUT_UNSIGNED);
	CHECK_EQ(field_of(l, "y")->members[1].value, 255);
	CHECK_EQ(field_of(l, "z")->member_count, 0);
	CHECK_EQ(field_of(l, "w")->count, 2);
	CHECK_EQ((int64_t)field_of(l, "w")->members[0].value, INT64_MIN);
	CHECK_EQ((int64_t)field_of(l, "w")->members[1].value, INT64_MAX);
	CHECK_EQ(field_of(l, "v")->members[0].value, UINT64_MAX);
	CHECK_EQ(field_of(l, "t")->bits, 1);
}

TEST(units_are_read, "")
{
	static const struct {
		const char *word;
		enum ptrc_unit unit;
		uint64_t ns;
	} units[] = {
		{"ns", PTRC_UNIT_NS, 1},       {"us", PTRC_UNIT_US, 1000},
		{"ms", PTRC_UNIT_MS, 1000000}, {"s", PTRC_UNIT_S, 1000000000},
		{"B", PTRC_UNIT_B, 0},	       {"KiB", PTRC_UNIT_KIB, 0},
		{"MiB", PTRC_UNIT_MIB, 0},     {"percent", PTRC_UNIT_PERCENT, 0},
		{"count", PTRC_UNIT_COUNT, 0}, {"", PTRC_UNIT_NONE, 0},
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		char text[100];

		snprintf(text, sizeof(text), "u64 a %s, f64[2] b %s, i32 c:5 %s", units[i].word,
			 units[i].word, units[i].word);
		struct ptrc_layout_fields *l = parse(text);
		for (size_t k = 0; k < 3; k++)
			CHECK_EQ(l->fields[k].unit, units[i].unit);
		CHECK_STR_EQ(ptrc_unit_word(units[i].unit), units[i].word);
		CHECK_EQ(ptrc_unit_ns(units[i].unit), units[i].ns);
		ptrc_layout_fields_free(l);
	}
}

TEST(json_is_all_or_the_rest, "")
{
	struct ptrc_layout_fields *l = parse("json");

	CHECK_STR_EQ(l->fields[0].name, "");
	CHECK_EQ(l->fields[0].kind, PTRC_LAYOUT_JSON);
	CHECK(!l->is_fixed);
	ptrc_layout_fields_free(l);
	l = parse(" packed u32 a, json b ");
	CHECK_STR_EQ(l->fields[1].name, "b");
	CHECK_EQ(l->fields[1].at, 4);
	CHECK(l->is_packed);
}

TEST(bad_layouts_are_refused_with_column_and_reason, "")
{
	static const struct {
		const char *layout;
		size_t column;
		const char *reason;
	} cases[] = {
		{"", 1, "a type is missing at the end"},
		{" ", 2, "a type is missing at the end"},
		{"packed", 7, "a type is missing at the end"},
		{"u32", 4, "'u32' needs a name"},
		{"u32 a,", 7, "a type is missing at the end"},
		{"u32 a,,", 7, "a type is missing before ',"},
		{"u32 a u32 b", 7, "a comma is missing before 'u32 b'"},
		{"u32 a enum {x} b", 7, "a comma is missing before 'enum {x} b'"},
		{"u46 a", 1, "'u46' is not a type"},
		{"u8 a, u46 b", 7, "'u46' is not a type"},
		{"align u8 a", 1, "'align' is no word any more"},
		{"u8 a, align b", 7, "'align' is not a type"},
		{"u8 a, packed u8 b", 7, "'packed' is not a type"},
		{"u32 a, u8 a", 11, "same name 'a'"},
		{"u32 a, u8 a_hex", 11, "'a' and 'a_hex' cannot both be names"},
		{"u32 a_hex, u8 a", 15, "'a_hex' and 'a' cannot both be names"},
		{"char a", 6, "'char' needs [N]"},
		{"pad", 4, "'pad' needs [N]"},
		{"pad[2] a", 8, "takes no name"},
		{"char[0] a", 5, "needs a number"},
		{"u8[0] a", 3, "'u8[' needs a number from 1"},
		{"u8[-1] a", 3, "needs a number"},
		{"char[99999999999999999999] a", 5, "needs a number"},
		{"char[2 a", 5, "needs a number"},
		{"char[] a", 5, "needs a number"},
		{"u8 a[2]", 5, "[N] stands after the type: u8[4] a"},
		{"u8[2][2] a", 6, "'u8' needs a name"},
		{"str[2] a", 4, "'str' takes no [N]"},
		{"json[2] a", 5, "'json' takes no [N]"},
		{"u64[2097153] a", 1, "more than 16777216 bytes"},
		{"char[16777216] a, u8 b", 19, "more than 16777216 bytes"},
		{"char[16777215] a, u32 b", 19, "more than 16777216 bytes"},
		{"u32 a, char[16777209] b, pad[1], pad[1], pad[2]", 42, "more than 16777216 bytes"},
		{"bytes a, u8 b", 9, "nothing can follow 'bytes'"},
		{"json a, u8 b", 8, "nothing can follow 'json'"},
		{"json, u8 b", 6, "nothing can follow 'json'"},
		{"u8[] a, u8 b", 8, "nothing can follow an array without a number"},
		{"char[] a", 5, "'char[' needs a number"},
		{"u8[] a:3", 7, "an array cannot be a bit field"},
		{"u8 a, json", 11, "'json' needs a name, unless it is the only field"},
		{"u8 1a", 4, "needs a name"},
		{"u8 a-b", 5, "a comma is missing before '-b'"},
		{"*", 1, "a type is missing before '*'"},
		{"u8 a nss", 6, "'nss' is not a unit"},
		{"u8 a ns ms", 9, "a comma is missing before 'ms'"},
		{"str a ns", 7, "'str' takes no unit"},
		{"x8 a B", 6, "'x8' takes no unit"},
		{"bool a s", 8, "'bool' takes no unit"},
		{"enum {x} a s", 12, "'enum' takes no unit"},
		{"enum a", 6, "'a' is not the integer type of an enum"},
		{"enum x8 {a} b", 6, "'x8' is not the integer type of an enum"},
		{"enum", 5, "'{' of the enum is missing at the end"},
		{"enum {} a", 7, "an enum has members"},
		{"enum {", 7, "the name of a member is missing at the end"},
		{"enum {,} a", 7, "the name of a member is missing before ',"},
		{"enum {a,,b} a", 9, "the name of a member is missing before ',"},
		{"enum {a b} a", 9, "',' or '}' of the enum is missing before 'b"},
		{"enum {a", 8, "',' or '}' of the enum is missing at the end"},
		{"enum {1} a", 7, "cannot begin with a digit"},
		{"enum {a, a} b", 10, "two members have the same name 'a'"},
		{"enum {a=} b", 9, "'=' needs a number"},
		{"enum {a=x} b", 9, "'=' needs a number"},
		{"enum {a=1x} b", 9, "'=' needs a number"},
		{"enum {a=0x} b", 9, "'=' needs a number"},
		{"enum {a=18446744073709551616} b", 9, "'=' needs a number"},
		{"enum {a=2147483648} b", 7, "does not fit the 32 bits"},
		{"enum {a=2147483647, b} b", 21, "does not fit the 32 bits"},
		{"enum i8 {a=-129} b", 10, "does not fit the 8 bits"},
		{"enum u8 {a=256} b", 10, "does not fit the 8 bits"},
		{"enum u8 {a=-1} b", 10, "does not fit the 8 bits"},
		{"enum u64 {a=18446744073709551615, b} c", 35, "does not fit the 64 bits"},
		{"enum u8 {a=2} b:1", 16, "the value of 'a' does not fit so few bits"},
		{"enum i8 {a=1} b:1", 16, "the value of 'a' does not fit so few bits"},
		{"u8 a:0", 5, "1 to 8 bits"},
		{"u8 a:9", 5, "1 to 8 bits"},
		{"u8 a:", 5, "1 to 8 bits"},
		{"bool a:2", 7, "1 to 1 bits"},
		{"f32 a:3", 6, "'f32' cannot be a bit field"},
		{"char[2] a:3", 10, "'char' cannot be a bit field"},
		{"str a:3", 6, "'str' cannot be a bit field"},
		{"u8[2] a:3", 8, "an array cannot be a bit field"},
		{"u8 a\xff", 5, "a comma is missing before '\xff'"},
		{"u8 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 4,
		 "too long"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ptrc_layout_fields *l;
		struct ptrc_layout_mistake why;
		size_t size = strlen(cases[i].layout);
		char *copy = malloc(size + !size);

		memcpy(copy, cases[i].layout, size);
		if (ptrc_layout_parse(copy, size, &l, &why) != EINVAL)
			harness_fail("'%s' was taken for a layout", cases[i].layout);
		if (!strstr(why.reason, cases[i].reason) || why.column != cases[i].column)
			harness_fail("'%s' gave: column %zu: %s", cases[i].layout, why.column,
				     why.reason);
		CHECK_EQ(ptrc_layout_parse(copy, size, &l, NULL), EINVAL);
		free(copy);
	}
}

TEST(a_mistake_tells_the_words_that_could_stand_there, "")
{
	struct ptrc_layout_fields *l;
	struct ptrc_layout_mistake why;

	CHECK_EQ(ptrc_layout_parse("u46 a", 5, &l, &why), EINVAL);
	CHECK_STR_EQ(why.word, "u46");
	CHECK_STR_EQ(why.words[0], "u8");
	CHECK_EQ(ptrc_layout_parse("u64 a nss", 9, &l, &why), EINVAL);
	CHECK_STR_EQ(why.word, "nss");
	CHECK_STR_EQ(why.words[0], "ns");
	CHECK_EQ(ptrc_layout_parse("u64 a,", 6, &l, &why), EINVAL);
	CHECK(!why.words);
	CHECK_EQ(ptrc_layout_parse("u8 \0a", 5, &l, &why), EINVAL);
	CHECK_EQ(why.column, 4);
}

/* A layout of so many fields. */
static size_t many_fields(char *text, size_t count)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		used += (size_t)sprintf(text + used, "u8 f%zu,", i);
	return used - 1;
}

TEST(limits_are_those_of_the_page, "")
{
	static char text[100000];
	struct ptrc_layout_fields *l;
	struct ptrc_layout_mistake why;
	size_t used;

	CHECK_EQ(ptrc_layout_parse(text, many_fields(text, 256), &l, &why), 0);
	CHECK_EQ(l->count, 256);
	ptrc_layout_fields_free(l);
	CHECK_EQ(ptrc_layout_parse(text, many_fields(text, 257), &l, &why), EINVAL);
	CHECK(strstr(why.reason, "more than 256 fields"));

	/* 4,096 bytes, and one more. */
	memset(text, ' ', 4097);
	memcpy(text, "u8 a", 4);
	CHECK_EQ(ptrc_layout_parse(text, 4096, &l, &why), 0);
	ptrc_layout_fields_free(l);
	CHECK_EQ(ptrc_layout_parse(text, 4097, &l, &why), EINVAL);
	CHECK_EQ(why.column, 4097);
	CHECK(strstr(why.reason, "more than 4096 bytes"));

	for (size_t members = 256; members <= 257; members++) {
		used = (size_t)sprintf(text, "enum {");
		for (size_t i = 0; i < members; i++)
			used += (size_t)sprintf(text + used, "m%zu,", i);
		used += (size_t)sprintf(text + used, "} a");
		CHECK_EQ(ptrc_layout_parse(text, used, &l, &why), members > 256 ? EINVAL : 0);
		if (members == 256)
			ptrc_layout_fields_free(l);
	}
	CHECK(strstr(why.reason, "more than 256 members"));

	used = (size_t)sprintf(text, "u8 %064d", 0);
	text[3] = 'a';
	CHECK_EQ(ptrc_layout_parse(text, used, &l, &why), 0);
}

/* Whatever the bytes are: as many fields and members as fit into a text take the room that was made
 * for them, and the shortest ones most of it. */
TEST(random_layouts_do_no_harm, "")
{
	static const char *const tokens[] = {
		"u8",  "u64",	  "i16",   "x32",     "f32",	"bool", "char", "[3]", "[",  "]",
		"str", "pad",	  "bytes", ",",	      ",",	",",	",",	" a",  " b", " c",
		" d",  "enum",	  "{",	   "}",	      "{a,b}",	"=",	"-",	"1",   ":",  ":3",
		" ns", "percent", "json",  "packed ", "[9999]", "\t",	"\xff",
	};
	size_t good = 0;

	srandom(1);
	for (int i = 0; i < 300000; i++) {
		char *text = malloc(512);
		struct ptrc_layout_fields *l;
		struct ptrc_layout_mistake why;
		size_t used = 0;

		for (long n = random() % 24; n; n--) {
			const char *token =
				tokens[(size_t)random() % (sizeof(tokens) / sizeof(*tokens))];

			memcpy(text + used, token, strlen(token));
			used += strlen(token);
		}
		text = realloc(text, used + !used);
		if (!ptrc_layout_parse(text, used, &l, &why)) {
			good++;
			CHECK(l->count && l->size <= l->padded_size);
			CHECK(l->padded_size - l->size < l->alignment);
			ptrc_layout_fields_free(l);
		} else {
			CHECK(why.column >= 1 && why.column <= used + 1);
			CHECK(*why.reason);
		}
		free(text);
	}
	NOTE("%zu were layouts", good);
	CHECK_GT(good, 1000);
}
