/* SPDX-License-Identifier: MIT */
/* Data that layouts take apart: what is shown of it, and what --where compares. */
#include "tests/support/harness.h"

#include "tests/support/event_types.h"
#include "src/fields/json_text.h"
#include "src/fields/layout.h"
#include "src/query/view.h"
#include "src/query/where.h"
#include "src/text/event_format.h"

static struct ptrc_layouts layouts;
static struct ptrc_reader reader;
static struct ptrc_view view = {.reader = &reader};

enum { EVENT_ID = 10 };

/* Has the view see data of this layout, in memory of its own so that a sanitizer sees every byte
 * too far. */
static void see(const char *layout, const void *data, size_t size)
{
	struct ptrc_cli_reason why;

	ptrc_layouts_free(&layouts);
	layouts = (struct ptrc_layouts){0};
	if (!ptrc_layouts_add(&layouts, "*", layout, &why))
		harness_fail("'%s': %s", layout, why.text);
	reader.path = "run.log";
	knows_type(&reader, EVENT_ID, "app.event");
	reader.event = (struct posix_trace_event_info){
		.posix_event_id = EVENT_ID,
		.posix_pid = 7,
		.posix_truncation_status = POSIX_TRACE_NOT_TRUNCATED,
	};
	free((void *)reader.data);
	reader.data = malloc(size + !size);
	memcpy((void *)reader.data, data, size);
	reader.size = size;
	view.layout = layouts.layouts[0];
	view.is_decoded = false;
}

/* The value of "data". */
static const char *json(const char *layout, const void *data, size_t size)
{
	static struct ptrc_buffer b;
	struct ptrc_json j = {&b, true};

	see(layout, data, size);
	b.used = 0;
	ptrc_layout_json(&j, view.layout, ptrc_view_decode(&view));
	ptrc_buffer_char(&b, '\0');
	return single_quoted(b.bytes + strlen("\"data\":"));
}

static const char *text(const char *layout, const void *data, size_t size)
{
	static struct ptrc_buffer b;

	see(layout, data, size);
	b.used = 0;
	ptrc_event_put_data(&b, &view);
	ptrc_buffer_char(&b, '\0');
	return b.bytes;
}

/* Whether an expression holds for what the view sees. */
static bool holds(const char *expression)
{
	struct ptrc_cli_reason why;
	struct ptrc_where *w = ptrc_where_parse(expression, &layouts, &why);
	bool is_so;

	if (!w)
		harness_fail("%s: %s", expression, why.text);
	view.is_decoded = false;
	is_so = ptrc_where_all_hold(&w, 1, &view);
	ptrc_where_free(w);
	return is_so;
}

TEST(arrays, "")
{
	static const struct {
		uint8_t a;
		uint32_t b[3];
		int16_t c[2];
		double d[1];
		bool e[3];
		uint64_t f;
	} v = {1, {2, 3, 4000000000}, {-1, 5}, {0.5}, {true, false, true}, 6};
	const char layout[] = "u8 a, u32[3] b, i16[2] c, f64[1] d, bool[3] e, x64 f";

	CHECK_STR_EQ(json(layout, &v, sizeof(v)),
		     "{'a':1,'b':[2,3,4000000000],'c':[-1,5],'d':[0.5],'e':[true,false,true],"
		     "'f':'0x6'}");
	CHECK_STR_EQ(text(layout, &v, sizeof(v)),
		     "a=1 b=[2,3,4000000000] c=[-1,5] d=[0.5] e=[true,false,true] f=0x6");
	CHECK(holds("data.b[0] == 2 && data.b[2] == 4000000000 && data.c[0] < 0"));
	CHECK(holds("data.e[0] && !data.e[1] && data.b"));
	/* What an element does not tell, the bytes of all do. */
	CHECK_STR_EQ(json("bool[2] a", "\1\2", 2), "{'a':[true,true],'a_hex':'0102'}");
}

TEST(arrays_of_all_that_is_left, "")
{
	static const uint32_t v[] = {7, 2, 3, 4};

	CHECK_STR_EQ(json("u16 n, u32[] rest", v, 12), "{'n':7,'rest':[2,3]}");
	CHECK(holds("data.rest[1] == 3") && !holds("data.rest[2] == 4") && holds("data.rest"));
	CHECK_STR_EQ(text("u16 n, u32[] rest", v, 16), "n=7 rest=[2,3,4]");
	CHECK_EQ(view.decoded.error, PTRC_LAYOUT_FITS);
	CHECK(holds("data.rest[2] == 4"));
	/* None is as good. */
	CHECK_STR_EQ(json("u16 n, u32[] rest", v, 4), "{'n':7,'rest':[]}");
	CHECK(!holds("data.rest"));
	CHECK_STR_EQ(text("u32[] rest", v, 0), "rest=[]");
	CHECK_EQ(view.decoded.error, PTRC_LAYOUT_FITS);
	/* A part of an element is left over, and its place has to be there. */
	CHECK_STR_EQ(text("u16 n, u32[] rest", v, 11),
		     "n=7 rest=[2] decode_error=rest data=0x0700000002000000030000");
	CHECK_EQ(view.decoded.error, PTRC_LAYOUT_REST);
	CHECK_STR_EQ(text("u16 n, u64[] rest", v, 4), "n=7 decode_error=short data=0x07000000");
	CHECK_EQ(view.decoded.error, PTRC_LAYOUT_SHORT);
	CHECK_STR_EQ(text("str name, u8[] rest", "ab\0\1\2", 5), "name=\"ab\" rest=[1,2]");
	CHECK_STR_EQ(text("packed u8 n, enum u16 {a, b}[] rest", "\1\1\0\0\0", 5),
		     "n=1 rest=[b,a]");
}

TEST(addresses_of_code, "")
{
	static const uint64_t v[] = {0x401136, 0, UINT64_MAX};
	struct ptrc_layout_mistake mistake;
	struct ptrc_layout_fields *fields;

	/* As x64, and aligned like that. */
	CHECK_STR_EQ(json("code at, caller[2] from", v, sizeof(v)),
		     "{'at':'0x401136','from':['0x0','0xffffffffffffffff']}");
	CHECK_STR_EQ(text("code at, caller[2] from", v, sizeof(v)),
		     "at=0x401136 from=[0x0,0xffffffffffffffff]");
	CHECK(holds("data.at == 0x401136 && data.from[0] == 0"));
	CHECK(ptrc_layout_parse("u8 n, code at", 13, &fields, NULL) == 0);
	CHECK(fields->size == 16);
	ptrc_layout_fields_free(fields);
	CHECK(ptrc_layout_parse("code at:3", 9, &fields, &mistake) == EINVAL);
	CHECK_STR_EQ(mistake.reason, "'code' cannot be a bit field");
	CHECK(ptrc_layout_parse("caller at ns", 12, &fields, &mistake) == EINVAL);
	CHECK_STR_EQ(mistake.reason, "'caller' takes no unit");
}

TEST(enums_show_names, "")
{
	const char layout[] = "enum u8 {idle, busy=4, same=4} a, enum i8 {low=-1} b, enum {x}[2] c";
	const struct {
		uint8_t a;
		int8_t b;
		int32_t c[2];
	} v = {4, -1, {0, -7}}, w = {9, 2, {0, 0}};

	CHECK_STR_EQ(json(layout, &v, sizeof(v)), "{'a':'busy','b':'low','c':['x',-7]}");
	CHECK_STR_EQ(text(layout, &v, sizeof(v)), "a=busy b=low c=[x,-7]");
	CHECK(holds("data.a == 'busy' && data.a == 4 && data.a > 3 && data.a != 'idle'"));
	CHECK(holds("data.b == -1 && data.b == 'low' && data.a =~ '^bu' && data.a ~ '*y'"));
	CHECK(holds("data.c[0] == 'x' && data.c[0] == 0 && data.c[1] == -7 && !data.c[0]"));
	CHECK(!holds("data.a == 'same'") && !holds("data.a == 0"));
	CHECK_STR_EQ(json(layout, &w, sizeof(w)), "{'a':9,'b':2,'c':['x','x']}");
	CHECK(holds("data.a == 9 && data.b == 2"));
}

TEST(bit_fields_of_every_size_and_place, "")
{
	const struct {
		uint32_t a : 3;
		uint32_t b : 7;
		int32_t c : 22;
		uint64_t d : 40;
		_Bool e : 1;
		uint32_t f : 2;
	} v = {5, 100, -1000000, 0xfedcba9876, true, 2};
	/* Nine bytes have a part of it. */
	const struct {
		uint8_t a : 5;
		uint64_t b : 64;
		int64_t c : 63;
	} __attribute__((packed)) w = {21, 0xfedcba9876543210, -2};

	CHECK_STR_EQ(json("u32 a:3, u32 b:7, i32 c:22, x64 d:40, bool e:1, enum u32 {p=2} f:2", &v,
			  sizeof(v)),
		     "{'a':5,'b':100,'c':-1000000,'d':'0xfedcba9876','e':true,'f':'p'}");
	CHECK(holds(
		"data.a == 5 && data.b == 100 && data.c == -1000000 && data.e && data.f == 'p'"));
	CHECK_STR_EQ(json("packed u8 a:5, x64 b:64, i64 c:63", &w, sizeof(w)),
		     "{'a':21,'b':'0xfedcba9876543210','c':-2}");
	/* Behind a text, whose end only the data tells. */
	CHECK_STR_EQ(json("str s, u16 a:12, u16 b:4, u8 c", "xy\0\0\x34\x52\7\0", 8),
		     "{'s':'xy','a':564,'b':5,'c':7}");
}

TEST(units_in_text_and_plain_numbers_in_json, "")
{
	static const struct {
		const char *layout;
		int64_t number;
		const char *text;
	} cases[] = {
		{"i64 a ns", 5120000, "a=5.12ms"},
		{"i64 a ms", 0, "a=0ms"},
		{"i64 a ns", 999, "a=999ns"},
		{"i64 a ns", 1000, "a=1us"},
		{"i64 a ns", -1234567, "a=-1.234567ms"},
		{"i64 a ns", 3600000000001, "a=3600.000000001s"},
		{"i64 a us", 1500, "a=1.5ms"},
		{"u64 a ms", 20, "a=20ms"},
		{"i64 a s", 90, "a=90s"},
		{"i64 a s", INT64_MAX, "a=9223372036854775807s"},
		{"i64 a ns", INT64_MIN, "a=-9223372036.854775808s"},
		{"i64 a B", 4096, "a=4096B"},
		{"i64 a KiB", 4, "a=4KiB"},
		{"i64 a MiB", -4, "a=-4MiB"},
		{"i64 a percent", 97, "a=97%"},
		{"i64 a count", 12, "a=12"},
		{"i32[2] a us", 1500, "a=[1.5ms,0us]"},
	};
	const double half = 0.5, not_a_number = NAN, infinite[2] = {INFINITY, -INFINITY};
	const float single = INFINITY;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		CHECK_STR_EQ(text(cases[i].layout, &cases[i].number, 8), cases[i].text);
		CHECK(!strchr(json(cases[i].layout, &cases[i].number, 8), '.'));
	}
	CHECK_STR_EQ(text("f64 a ms", &half, 8), "a=0.5ms");
	CHECK_STR_EQ(json("f64 a ms", &half, 8), "{'a':0.5}");
	/* What is no number of units has none. */
	CHECK_STR_EQ(text("f64 a ms", &not_a_number, 8), "a=nan");
	CHECK_STR_EQ(text("f64[2] a percent", infinite, 16), "a=[inf,-inf]");
	CHECK_STR_EQ(text("f32 a B", &single, 4), "a=inf");
}

/* What --where and others know of the units of a field. */
TEST(fields_tell_their_units, "")
{
	struct ptrc_cli_reason why;
	struct ptrc_field f;
	struct ptrc_value v;

	see("u64 latency ns, u32[2] sizes B, u8 plain", "\5\0\0\0\0\0\0\0\6\0\0\0\7\0\0\0\1", 17);
	CHECK(ptrc_field_find("data.latency", &layouts, &f, &why));
	CHECK_EQ(f.dimensions, PTRC_DIMENSION_DURATION);
	ptrc_view_get(&view, &f, &v);
	CHECK_EQ(v.unit, PTRC_UNIT_NS);
	CHECK_EQ(v.u, 5);
	CHECK(ptrc_field_find("data.sizes[1]", &layouts, &f, &why));
	CHECK_EQ(f.dimensions, PTRC_DIMENSION_NUMBER);
	ptrc_view_get(&view, &f, &v);
	CHECK_EQ(v.unit, PTRC_UNIT_B);
	CHECK_EQ(v.u, 7);
	CHECK(ptrc_layouts_add(&layouts, "x", "u16 latency", &why));
	CHECK(ptrc_field_find("data.latency", &layouts, &f, &why));
	CHECK_EQ(f.dimensions, PTRC_DIMENSION_DURATION | PTRC_DIMENSION_NUMBER);
	CHECK(ptrc_field_find("data.plain", &layouts, &f, &why));
	CHECK_EQ(f.dimensions, PTRC_DIMENSION_NUMBER);
	ptrc_view_get(&view, &f, &v);
	CHECK_EQ(v.unit, PTRC_UNIT_NONE);
}

TEST(json_is_a_value_of_its_own, "")
{
	static const char all[] =
		" {\"user\" : \"x\\ty\", \"n\": [1, 2.5,\n -3e2], \"deep\":{\"k_1\":true},"
		" \"nil\":null, \"user\":\"b\\u00e4r\", \"big\":18446744073709551615} ";

	CHECK_STR_EQ(json("json", all, sizeof(all) - 1),
		     "{'user':'x\\ty','n':[1,2.5,-3e2],'deep':{'k_1':true},'nil':null,"
		     "'user':'b\\u00e4r','big':18446744073709551615}");
	CHECK_EQ(view.decoded.error, PTRC_LAYOUT_FITS);
	CHECK(holds("data.user == 'b\xc3\xa4r' && data.n[1] == 2.5 && data.n[2] == -300"));
	CHECK(holds("data.deep.k_1 && data.deep && data.n && data.big == 18446744073709551615"));
	CHECK(!holds("data.nil") && !holds("data.none") && !holds("data.n[3]"));
	CHECK(!holds("data.deep == 1") && !holds("data.user[0] == 'b'"));
	/* With the null byte that ends many texts, and blanks. */
	CHECK_STR_EQ(json("json", "{} ", 4), "{}");
	CHECK_STR_EQ(text("json", "{\"a\": 1}", 8), "{\"a\":1}");

	CHECK_STR_EQ(json("u32 id, json more", "\7\0\0\0[1, \"a\"]", 12),
		     "{'id':7,'more':[1,'a']}");
	CHECK(holds("data.id == 7 && data.more[1] == 'a'"));
	CHECK_STR_EQ(text("u32 id, json more", "\7\0\0\0[1, \"a\"]", 12), "id=7 more=[1,\"a\"]");
}

TEST(json_that_is_none_does_not_fit, "")
{
	/* clang-format off */
	static const char *const bad[] = {
		"{", "}", "[1,]", "{\"a\":1,}", "{\"a\"}", "{a:1}", "{\"a\":1}x", "tru", "01", "-",
		"1.", ".5", "1e", "+1", "\"\\x\"", "\"\\ud800\"", "\"\\udc00\\ud800\"", "\"\n\"",
		"\"a", "\"\xff\"", "[1 2]", "nan", "", " ", "'a'", "[}", "{\"a\":1]", "\"\\u12\"",
	};
	/* clang-format on */
	/* clang-format off */
	static const char *const good[] = {
		"{}", "[]", "0", "-0.5e+10", "\"\\ud83d\\ude00\\n\\/\"", "null", "[[[]],{}]",
		"{\"\":{\"\":[]}}", "\t\r\n 1 ", "\"\xf0\x9f\x98\x80\"", "1E5",
	};
	/* clang-format on */
	char deep[300];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (ptrc_json_text_is_valid(bad[i], strlen(bad[i])))
			harness_fail("'%s' was taken for JSON", bad[i]);
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		if (!ptrc_json_text_is_valid(good[i], strlen(good[i])))
			harness_fail("'%s' was not taken for JSON", good[i]);
	for (size_t depth = 128; depth <= 129; depth++) {
		memset(deep, '[', depth);
		memset(deep + depth, ']', depth);
		CHECK_EQ(ptrc_json_text_is_valid(deep, 2 * depth), depth == 128);
	}

	CHECK_STR_EQ(json("json", "{\"a\":", 5), "{}");
	CHECK_EQ(view.decoded.error, PTRC_LAYOUT_NOT_JSON);
	/* Alone it is an object, so that data is one, or text. */
	CHECK_STR_EQ(json("json", "[1]", 3), "{}");
	CHECK_EQ(view.decoded.error, PTRC_LAYOUT_NOT_JSON);
	CHECK_STR_EQ(json("u8 a, json b", "\7x", 2), "{'a':7}");
	CHECK_EQ(view.decoded.error, PTRC_LAYOUT_NOT_JSON);
	CHECK_STR_EQ(json("u8 a, json b", "\7", 1), "{'a':7}");
	CHECK_EQ(view.decoded.error, PTRC_LAYOUT_SHORT);
}

TEST(json_commands_no_terminal, "")
{
	const char data[] = "{\"a\":\"\x7f \xc2\x9b \xe2\x80\xae \xe2\x82\xac\"}";

	CHECK_STR_EQ(text("json", data, sizeof(data)),
		     "{\"a\":\"\\u007f \\u009b \\u202e \xe2\x82\xac\"}");
	CHECK_STR_EQ(json("json", data, sizeof(data)),
		     "{'a':'\\u007f \\u009b \xe2\x80\xae \xe2\x82\xac'}");
}

TEST(fields_that_are_not_there_are_told, "")
{
	static const struct {
		const char *layout;
		const char *field;
		const char *reason;
	} cases[] = {
		{"u8[4] list", "data.list[4]", "the array has 4 elements, from 0 on"},
		{"u8 plain", "data.plain[0]", "'data.plain' is no array"},
		{"u8 plain", "data.plain.x", "'data.plain' has no members: it is not JSON"},
		{"u8[4] list", "data.list[x]",
		 "'data.list[x]': an element is data.list[N], where N counts from 0"},
		{"u8[4] list", "data.list[-1]", "'data.list[-1]': an element is data.list[N], wh"},
		{"u8[] list", "data.list[+1]", "'data.list[+1]': an element is data.list[N], wh"},
		{"u8[4] list", "data.list[1", "'data.list[1': an element is data.list[N], wh"},
		{"json", "data.list[-1]", "'data.list[-1]' is no path"},
		{"u8 plain", "data.plian", "did you mean 'data.plain'"},
		{"json", "data.", "'data.' is no path"},
		{"json", "data.a..b", "is no path"},
		{"json", "data.a[", "is no path"},
		{"json", "data.a[1", "is no path"},
		{"json", "data.a[]", "is no path"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ptrc_cli_reason why;
		struct ptrc_field f;

		see(cases[i].layout, "", 0);
		if (ptrc_field_find(cases[i].field, &layouts, &f, &why))
			harness_fail("'%s' was found", cases[i].field);
		if (!strstr(why.text, cases[i].reason))
			harness_fail("'%s' gave: %s", cases[i].field, why.text);
	}
}
