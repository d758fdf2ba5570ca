# SPDX-License-Identifier: MIT
"""The module posixtrace: what it records, as logs show it, and how it reads logs. tests/bindings/python/python.sh runs
the cases, each by its name: python_module.py Class.case."""

import asyncio
import concurrent.futures
import ctypes
import errno
import functools
import gc
import importlib.util
import inspect
import io
import json
import logging
import math
import os
import pickle
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import warnings

import posixtrace

warnings.simplefilter("error")

has_numpy = importlib.util.find_spec("numpy") is not None


class Stream:
    """A stream of this process, read by the functions of the library: what was recorded, byte by
    byte."""

    def __init__(self, is_inherited=False):
        self.library = ctypes.CDLL("libposixtrace.so.0")
        self.attr = (ctypes.c_ulong * 96)()
        self.id = ctypes.c_ulong()
        assert not self.library.posix_trace_attr_init(self.attr)
        if is_inherited:
            assert not self.library.posix_trace_attr_setinherited(self.attr, 1)
        assert not self.library.posix_trace_create(0, self.attr, ctypes.byref(self.id))
        assert not self.library.posix_trace_start(self.id)

    def next(self):
        """The name, the layout, the data and the process of the next event that is not the system's."""
        while True:
            info = (ctypes.c_char * 64)()
            data = ctypes.create_string_buffer(4096)
            size = ctypes.c_size_t()
            unavailable = ctypes.c_int()
            assert not self.library.posix_trace_trygetnext_event(
                self.id, info, data, ctypes.c_size_t(4096), ctypes.byref(size), ctypes.byref(unavailable)
            )
            if unavailable.value:
                return None
            event, pid = struct.unpack_from("Ii", info)
            if event >= 9:
                break
        name = ctypes.create_string_buffer(256)
        layout = ctypes.create_string_buffer(4097)
        assert not self.library.posix_trace_eventid_get_name(self.id, ctypes.c_uint(event), name)
        self.library.posixtrace_eventid_get_layout(
            self.id, ctypes.c_uint(event), layout, ctypes.c_size_t(4097)
        )
        return name.value, layout.value, data.raw[: size.value], pid

    def get(self):
        found = self.next()
        assert found, "no event"
        return found[:3]

    def close(self):
        assert not self.library.posix_trace_shutdown(self.id)


class Recording(unittest.TestCase):
    def setUp(self):
        self.stream = Stream()
        self.addCleanup(self.stream.close)

    def records(self, name, layout, data):
        self.assertEqual(self.stream.get(), (name, layout, data))

    def test_fields(self):
        query = posixtrace.event("db.query", id="u64", rows="u32", sql="str")
        query(7, 3, "select 1")
        expected = b"db.query", b"u64 id, u32 rows, str sql", struct.pack("=QI", 7, 3) + b"select 1"
        self.records(*expected)
        query(id=7, sql="select 1", rows=3)
        self.records(*expected)
        # The same type again, by another way to say so.
        posixtrace.event("db.query", "u64 id, u32 rows, str sql")(7, 3, b"select 1")
        self.records(*expected)
        self.assertEqual((query.name, query.layout), ("db.query", "u64 id, u32 rows, str sql"))
        self.assertEqual(str(inspect.signature(query)), "(id, rows, sql)")
        # The types are objects of their own.
        self.assertNotEqual(posixtrace.event("other", "u8 a").id, query.id)

    def test_numbers(self):
        # As a C compiler lays them out, without padding at the end.
        letters = "BbHhIiQqfd?"
        layout = "u8 a, i8 b, u16 c, i16 d, u32 e, i32 f, u64 g, i64 h, f32 i, f64 j, bool k"
        values = 1, -2, 3, -4, 5, -6, 2**64 - 1, -8, 1.5, 2.5, True
        numbers = posixtrace.event("numbers", layout)
        numbers(*values)
        self.records(b"numbers", layout.encode(), struct.pack("@" + letters, *values))
        packed = posixtrace.event("packed", "packed " + layout)
        packed(*values)
        self.records(b"packed", b"packed " + layout.encode(), struct.pack("=" + letters, *values))
        posixtrace.event("hex", a="x8", b="x64")(255, 1 << 63)
        self.records(b"hex", b"x8 a, x64 b", struct.pack("@BQ", 255, 1 << 63))
        posixtrace.event("gap", "u8 a, pad[3] , u8 b")(1, 2)
        self.records(b"gap", b"u8 a, pad[3] , u8 b", b"\1\0\0\0\2")

    def test_others(self):
        posixtrace.event("unit", time="u32 ms", size="u8 KiB")(5, 6)
        self.records(b"unit", b"u32 time ms, u8 size KiB", b"\5\0\0\0\6")
        array = posixtrace.event("array", "u8 n, u16[3] ports, f32[1] x")
        array(1, [80, 443, 8080], (1.0,))
        self.records(b"array", b"u8 n, u16[3] ports, f32[1] x", struct.pack("@B3Hf", 1, 80, 443, 8080, 1))
        state = posixtrace.event("state", state="enum u8 {idle, busy=7, done}", other="enum{a=-1}")
        state("done", -1)
        state(7, other="a")
        layout = b"enum u8 {idle, busy=7, done} state, enum{a=-1} other"
        self.records(b"state", layout, struct.pack("@Bi", 8, -1))
        self.records(b"state", layout, struct.pack("@Bi", 7, -1))
        # As in C, a number need not be that of a member.
        state(77, 5)
        self.records(b"state", layout, struct.pack("@Bi", 77, 5))
        more = posixtrace.event("json", "u8 n, json more")
        more(1, {"a": [1, None], "b": "\u00e4"})
        self.records(b"json", b"u8 n, json more", b'\1{"a":[1,null],"b":"\xc3\xa4"}')
        all_json = posixtrace.event("all", "json")
        all_json({})
        self.records(b"all", b"json", b"{}")
        # It is JSON whatever its texts are: bytes that are no UTF-8, half a character, a null byte.
        all_json({os.fsdecode(b"caf\xe9"): "\ud83d", "a": "\0", "b": "\udcc3\udca4"})
        self.records(b"all", b"json", b'{"caf\xef\xbf\xbd":"?","a":"\\u0000","b":"\xc3\xa4"}')
        posixtrace.event("class", "u8 class, u8 from")(class_=1, from_=2)
        self.records(b"class", b"u8 class, u8 from", b"\1\2")
        rest = posixtrace.event("rest", "bytes[2] a, bytes b")
        rest(b"ab", memoryview(b"cd\0"))
        self.records(b"rest", b"bytes[2] a, bytes b", b"abcd\0")
        posixtrace.event("open", "u8 n, i16[] rest")(1, range(-1, 2))
        self.records(b"open", b"u8 n, i16[] rest", struct.pack("@B3h", 1, -1, 0, 1))
        # Without values it is where values would be: readers look for it there.
        none = posixtrace.event("open.text", "str s, u32[] rest")
        none("ab", [])
        self.records(b"open.text", b"str s, u32[] rest", b"ab\0\0")
        bits = posixtrace.event("bits", "u8 a:3, i8 b:3, bool c:1, u32 d:31, str s, u8 e:4, u8 f:4")
        bits(5, -4, True, 2**31 - 1, "text", 1, 2)
        layout = b"u8 a:3, i8 b:3, bool c:1, u32 d:31, str s, u8 e:4, u8 f:4"
        self.records(b"bits", layout, struct.pack("=BxxxI5sB", 5 + (4 << 3) + (1 << 6), 2**31 - 1, b"text", 0x21))

    def test_as_c(self):
        """Random layouts have the bytes of the same structure of C, which ctypes makes."""
        types = {
            **{"u8": "c_uint8", "u16": "c_uint16", "u32": "c_uint32", "u64": "c_uint64", "f32": "c_float"},
            **{"i8": "c_int8", "i16": "c_int16", "i32": "c_int32", "i64": "c_int64", "f64": "c_double"},
        }
        chance = random.Random(1)
        for number in range(200):
            is_packed = chance.random() < 0.3
            members, words, values = [], [], []
            for i in range(chance.randint(1, 9)):
                word = chance.choice(list(types))
                kind = getattr(ctypes, types[word])
                bits = 8 * ctypes.sizeof(kind)
                count = chance.choice((0, 0, 3))
                members.append((f"m{i}", kind * count if count else kind))
                words.append(f"{word}[{count}] m{i}" if count else f"{word} m{i}")
                low = -(1 << (bits - 1)) if word[0] == "i" else 0
                high = (1 << (bits - (word[0] == "i"))) - 1
                some = [chance.randint(low, high) if word[0] != "f" else chance.random() for _ in range(max(count, 1))]
                values.append(tuple(some) if count else some[0])
            made = type("Made", (ctypes.Structure,), {**({"_pack_": 1} if is_packed else {}), "_fields_": members})
            layout = ("packed " if is_packed else "") + ", ".join(words)
            with self.subTest(layout):
                posixtrace.event(f"as_c.{number}", layout)(*values)
                data = self.stream.get()[2]
                self.assertEqual(data.ljust(ctypes.sizeof(made), b"\0"), bytes(made(*values)))

    def test_conversions(self):
        class Index:
            def __index__(self):
                return 7

        class Real:
            def __float__(self):
                return 0.5

        class Fails:
            def __index__(self):
                raise KeyError("mine")

            __float__ = __bool__ = __index__

        numbers = posixtrace.event("conversions", "u8 a, f64 b, bool c")
        numbers(Index(), Real(), [1])
        self.assertEqual(self.stream.get()[2], struct.pack("@Bd?", 7, 0.5, True))
        for values in (Fails(), 0, 0), (0, Fails(), 0), (0, 0, Fails()):
            with self.assertRaisesRegex(KeyError, "mine"):
                numbers(*values)
        # An event that records another one while it converts its values.
        other = posixtrace.event("other", "u8 a")

        class Records:
            def __index__(self):
                other(9)
                return 8

        numbers(Records(), 0, False)
        self.assertEqual([self.stream.get()[0] for _ in range(2)], [b"other", b"conversions"])
        # Neither objects nor memory are left behind.
        text = posixtrace.event("left", "u64 n, str s")
        value = "\udcff" + "x" * 5000
        count = sys.getrefcount(value), sys.getrefcount(text)
        for _ in range(100):
            text(1 << 40, value)
            with self.assertRaises(ValueError):
                text(-1, value)
        self.assertEqual((sys.getrefcount(value), sys.getrefcount(text)), count)

    def test_texts(self):
        layout = "str a, u32 n, char[3] c, str b"
        texts = posixtrace.event("texts", layout)
        texts("one", 2, "abcdef", "three")
        self.records(b"texts", layout.encode(), b"one\0\2\0\0\0abcthree")
        # A null byte ends a text; numbers are aligned.
        texts("four\0five", 2, b"a", "six\0seven")
        self.records(b"texts", layout.encode(), b"four\0\0\0\0\2\0\0\0a\0\0six")
        text = posixtrace.event("text", "str t")
        for value, data in (
            ("\u20ac", "\u20ac".encode()),
            (os.fsdecode(b"a\xff"), b"a\xff"),  # bytes that were no UTF-8 are what they were
            ("\ud83d!", b"?!"),  # half a character
            (b"\xff", b"\xff"),
            ("x" * 4000, b"x" * 4000),
            ("", b""),
            ("\0after", b""),
        ):
            text(value)
            self.records(b"text", b"str t", data)
        # What is longer than the trace takes is cut, as it is of C.
        text("y" * 100000)
        self.records(b"text", b"str t", b"y" * 4096)

    def test_untyped(self):
        tick = posixtrace.event("tick")
        tick()
        tick("text")
        tick(b"by\0tes")
        tick(memoryview(b"view"))
        for data in b"", b"text", b"by\0tes", b"view":
            self.records(b"tick", b"", data)

    def test_what_does_not_fit(self):
        query = posixtrace.event("fits", id="u64", rows="u32[2]", sql="str")
        state = posixtrace.event("fits.too", "enum u8{idle, busy} s, u8 n")
        floats = posixtrace.event("fits.floats", a="u8", x="f32", y="f32", z="f64")

        class Fails(dict):
            def items(self):
                b"\xff".decode()

        for error, text, call in (
            (ValueError, "event 'fits', field 'id': -1 is no u64", lambda: query(-1, [1, 2], "")),
            (TypeError, "event 'fits', field 'id': 1.5 is no u64", lambda: query(1.5, [1, 2], "")),
            (TypeError, "field 'rows': a sequence, not int", lambda: query(1, 2, "")),
            (TypeError, "event 'fits', field 'id': 'x' is no u64", lambda: query("x", [1, 2], "")),
            (ValueError, "field 'rows': 2 values, not 3", lambda: query(1, [1, 2, 3], "")),
            (ValueError, "field 'rows': 4294967296 is no u32", lambda: query(1, [1, 1 << 32], "")),
            (TypeError, "field 'sql': a text, not NoneType", lambda: query(1, [1, 2], None)),
            (TypeError, "event 'fits': no value for the field 'sql'", lambda: query(1, 2)),
            (TypeError, "event 'fits': it has no field 'more'", lambda: query(1, 2, "", more=1)),
            (TypeError, "event 'fits': two values for the field 'id'", lambda: query(1, 2, "", id=1)),
            (TypeError, "event 'fits': 3 values at most, not 4", lambda: query(1, 2, "", 3)),
            (ValueError, "field 's': 'away' is none of idle, busy", lambda: state("away", 1)),
            (ValueError, "field 'n': 256 is no u8", lambda: state("busy", 256)),
            (TypeError, "field 'json': ", lambda: posixtrace.event("fits.json", "json")({1, 2})),
            (TypeError, "field 'json': a dict, not list", lambda: posixtrace.event("fits.json", "json")([{}])),
            (TypeError, "field 'json': a dict, not str", lambda: posixtrace.event("fits.json", "json")("\ud83d{")),
            (ValueError, "field 'json': ", lambda: posixtrace.event("fits.json", "json")(math.inf)),
            (ValueError, "field 'json': 'utf-8' codec", lambda: posixtrace.event("fits.json", "json")(Fails(a=1))),
            (ValueError, "field 'json': ", lambda: posixtrace.event("fits.json", "json")([{"a": math.nan}])),
            (ValueError, "field 'x': 1e+39 is no f32", lambda: posixtrace.event("fits.f32", x="f32")(1e39)),
            (ValueError, "field 'y': -1e+39 is no f32", lambda: floats(1, 0, -1e39, 0)),
            (ValueError, "field 'x': 1e+39 is no f32", lambda: posixtrace.event("fits.f32s", x="f32[2]")([0, 1e39])),
            (ValueError, " is no f64", lambda: floats(1, 0, 0, 10**400)),
            # str() refuses integers of so many digits.
            (ValueError, "field 'id': a value of type int is no u64", lambda: query(10**5000, [1, 2], "")),
            (TypeError, f"field 'id': '{79 * 'x'} is no u64", lambda: query(1000 * "x", [1, 2], "")),
            (ValueError, f"field 's': '{79 * 'x'} is none of idle", lambda: state(1000 * "x", 1)),
            (ValueError, "field 'b': 2 bytes, not 3", lambda: posixtrace.event("fits.bytes", "bytes[2] b")(b"abc")),
            (TypeError, "field 'b': bytes, not str", lambda: posixtrace.event("fits.bytes", "bytes[2] b")("ab")),
            (ValueError, "field 'b': 4 does not fit 3 bits", lambda: posixtrace.event("fits.bits", "i8 b:3")(4)),
            (TypeError, "event 'raw', field 'data': bytes or a text, not int", lambda: posixtrace.event("raw")(5)),
        ):
            with self.subTest(text), self.assertRaises(error) as caught:
                call()
            self.assertIn(text, str(caught.exception))
        self.assertIsNone(self.stream.next())
        # What somebody says to be infinite is so.
        floats(1, math.inf, -math.inf, math.inf)
        self.assertEqual(self.stream.get()[2], struct.pack("@Bffd", 1, math.inf, -math.inf, math.inf))

    def test_wrong_layouts(self):
        for layout, text in (
            ("u46 id", "column 1: 'u46' is not a type; known are u8 u16"),
            ("", "column 1: a type is missing"),
            ("u8 \udcff", "column 4"),
            ("u8 a" + 4096 * " ", "4096 bytes"),
        ):
            with self.subTest(layout):
                with self.assertRaises(posixtrace.Error) as caught:
                    posixtrace.event("wrong", layout)
                self.assertIn(text, str(caught.exception))
                self.assertIn("'wrong'", str(caught.exception))
                self.assertEqual(caught.exception.errno, errno.EINVAL)
        # A keyword argument is one field.
        for field, kind, text in (
            ("a", "u8, u8 b", "field 'a': 'u8, u8 b' is no type"),
            ("a", "u8[2] x, u8[3]", "field 'a': 'u8[2] x, u8[3]' is no type"),
            ("a, u8 b", "u8", "field 'a, u8 b': a name has letters, digits and _"),
        ):
            with self.subTest(field=field, kind=kind), self.assertRaises(posixtrace.Error) as caught:
                posixtrace.event("wrong", **{field: kind})
            self.assertEqual(str(caught.exception), f"event type 'wrong': {text}")
        for text, call in (
            ("event type 'x': the layout is a str, not int", lambda: posixtrace.event("x", 1)),
            ("event type 'b': field 'a': the type is a str, not int", lambda: posixtrace.event("b", a=1)),
            ("the name of a span is a str, not int", lambda: posixtrace.span(5)),
            ("the name of a span is a str, not int", lambda: posixtrace.traced(name=5)(print)),
        ):
            with self.subTest(text), self.assertRaises(TypeError) as caught:
                call()
            self.assertEqual(str(caught.exception), text)

    def test_names(self):
        posixtrace.event(os.fsdecode(b"na\xffme"), "u8 a")(1)
        self.records(b"na\xffme", b"u8 a", b"\1")
        posixtrace.event("\u00e4" * 127)()
        self.assertEqual(self.stream.get()[0], ("\u00e4" * 127).encode())
        posixtrace.event("same", "u8 a")
        for name, layout, text in (
            ("same", "u16 a", "'same': it has another layout than 'u16 a'"),
            ("a\0b", None, "cannot have a null byte"),
            ("x" * 256, None, "255 bytes at most"),
            ("posix_trace_start", "u8 a", "'posix_trace_start': it cannot be opened"),
            ("posix_trace_start", None, "'posix_trace_start': it is one of the system"),
        ):
            with self.subTest(name), self.assertRaises(posixtrace.Error) as caught:
                posixtrace.event(name, layout)
            self.assertIn(text, str(caught.exception))
            if name == "same":
                self.assertEqual(caught.exception.errno, errno.EEXIST)
        with self.assertRaises(TypeError):
            posixtrace.event(b"bytes")
        with self.assertRaises(TypeError):
            posixtrace.event("both", "u8 a", b="u8")

    def test_interpreters(self):
        """A second interpreter in the process, as mod_wsgi makes them, leaves the first one as it was."""
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            import _interpreters as interpreters
        all_json = posixtrace.event("all", "json")
        is_isolated = {"isolated": False} if sys.version_info < (3, 13) else {"config": "legacy"}
        other = interpreters.create(**is_isolated)
        code = "import posixtrace, inspect; e = posixtrace.event('all', 'json'); e({'a': 2}); inspect.signature(e)"
        interpreters.run_string(other, code)
        self.records(b"all", b"json", b'{"a":2}')
        interpreters.destroy(other)
        all_json({"a": 1})
        self.records(b"all", b"json", b'{"a":1}')
        self.assertEqual(str(inspect.signature(all_json)), "(json)")

    def test_threads(self):
        event = posixtrace.event("threads", "u64 n, str s")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: [event(n, "text") for _ in range(500)], range(4)))
        found = [self.stream.get() for _ in range(2000)]
        self.assertEqual({(name, data[8:]) for name, _, data in found}, {(b"threads", b"text")})
        self.assertIsNone(self.stream.next())


class Spans(unittest.TestCase):
    def setUp(self):
        self.stream = Stream(is_inherited=True)
        self.addCleanup(self.stream.close)

    def pairs(self):
        """Names and keys of the events."""
        found = []
        while True:
            event = self.stream.next()
            if not event:
                return found
            key = event[2].decode() if event[1] == b"str key" else struct.unpack("Q", event[2])[0]
            found.append((event[0].decode(), key))

    def test_with(self):
        with posixtrace.span("outer", key=7):
            with self.assertRaises(ZeroDivisionError), posixtrace.span("text", key="text"):
                1 // 0
        self.assertEqual(
            self.pairs(), [("outer.begin", 7), ("text.begin", "text"), ("text.end", "text"), ("outer.end", 7)]
        )
        # Each span without a key has one of its own; an object can be used again.
        again = posixtrace.span("again")
        with again:
            pass
        with again, posixtrace.span("again") as other:
            self.assertNotEqual(again.key, other.key)
        found = self.pairs()
        self.assertEqual([name for name, _ in found], ["again." + w for w in "begin end begin begin end end".split()])
        self.assertEqual(len({key for _, key in found}), 3)
        self.assertEqual(found[2][1], found[5][1])
        with self.assertRaises(posixtrace.Error):
            posixtrace.span("outer", key="text")
        # A text ends at its first null byte.
        with posixtrace.span("cut", key="a\0b"):
            pass
        self.assertEqual(self.pairs(), [("cut.begin", "a"), ("cut.end", "a")])

    def test_misuse(self):
        """An object is one span at a time."""
        span = posixtrace.span("one")
        with self.assertRaisesRegex(posixtrace.Error, "^span 'one': it is not open$"):
            span.__exit__(None, None, None)
        with span:
            with self.assertRaisesRegex(posixtrace.Error, "^span 'one': it is open; make another object .* in it$"):
                with span:
                    self.fail()
        found = self.pairs()
        self.assertEqual([name for name, _ in found], ["one.begin", "one.end"])
        self.assertEqual(found[0][1], found[1][1])

        async def twice():
            async with span, span:
                self.fail()

        with self.assertRaises(posixtrace.Error):
            asyncio.run(twice())
        # If the begin is refused, the span is not open.
        wrong = posixtrace.span("one", key=-1)
        for _ in range(2):
            with self.assertRaisesRegex(ValueError, "field 'key': -1 is no u64"), wrong:
                self.fail()

    def test_decorator(self):
        @posixtrace.traced
        def work(a, b=2):
            "It works."
            return a + b

        @posixtrace.traced("named")
        def fails():
            raise KeyError

        class C:
            @posixtrace.traced(name="method")
            def method(self):
                return self

        self.assertEqual(work(1), 3)
        self.assertEqual((work.__name__, work.__doc__), ("work", "It works."))
        with self.assertRaises(KeyError):
            fails()
        c = C()
        self.assertIs(c.method(), c)
        name = f"{__name__}.Spans.test_decorator.<locals>.work"
        found = self.pairs()
        self.assertEqual(
            [n for n, _ in found],
            [name + ".begin", name + ".end", "named.begin", "named.end", "method.begin", "method.end"],
        )
        self.assertEqual(found[0][1], found[1][1])

        def generator():
            yield 1

        async def async_generator():
            yield 1

        class Called:
            async def __call__(self):
                pass

        # An object has no name for its span, and its calls may last beyond their return.
        for wrong in generator, async_generator, C, 7, Called(), functools.partial(print), functools.partial(generator):
            for decorator in posixtrace.traced, posixtrace.traced("name"):
                with self.assertRaisesRegex(TypeError, "^traced: .* is (no function|a generator|a class)"):
                    decorator(wrong)

    def test_async(self):
        @posixtrace.traced("task")
        async def task(n):
            for _ in range(3):
                await asyncio.sleep(0)
            async with posixtrace.span("inner"):
                await asyncio.sleep(0)
            return n

        async def main():
            return await asyncio.gather(task(1), task(2))

        self.assertEqual(asyncio.run(main()), [1, 2])
        self.assertTrue(inspect.iscoroutinefunction(task))
        found = [f for f in self.pairs() if f[0].startswith("task")]
        # Both have begun before one ends, and keys tell which.
        self.assertEqual([n for n, _ in found], ["task.begin", "task.begin", "task.end", "task.end"])
        self.assertEqual(sorted(k for _, k in found[:2]), sorted(k for _, k in found[2:]))
        self.assertNotEqual(found[0][1], found[1][1])

    def test_fork(self):
        event = posixtrace.event("before", "u8 n")
        with posixtrace.span("s"):
            pass
        parent = self.pairs()[0][1]
        child = os.fork()
        if not child:
            event(1)
            with posixtrace.span("s"):
                posixtrace.event("after", "u8 n")(2)
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        found = [self.stream.next() for _ in range(4)]
        self.assertEqual([f[0] for f in found], [b"before", b"s.begin", b"after", b"s.end"])
        self.assertEqual({f[3] for f in found}, {child})
        # Keys of several processes are different, as one log may have all of them.
        self.assertNotIn(found[1][2], (struct.pack("Q", parent + n) for n in range(-9, 10)))


class Untraced(unittest.TestCase):
    def test_spans(self):
        """A span that begins before the process is traced has no end either."""
        streams = []
        self.addCleanup(lambda: streams[0].close())

        @posixtrace.traced
        def work():
            streams.append(Stream())

        with posixtrace.span("early", key=-1):
            work()
        self.assertIsNone(streams[0].next())

        @posixtrace.traced("async")
        async def wait():
            streams.append(Stream())

        streams.pop().close()
        asyncio.run(wait())
        self.assertIsNone(streams[0].next())

    def test_untraced(self):
        self.assertFalse(posixtrace.is_traced())
        event = posixtrace.event("quiet", "u8 n")
        event(1)

        class Fails:
            def __index__(self):
                raise KeyError

        # The values are not looked at, as in C.
        event(Fails())
        event(256, "more")
        stream = Stream()
        self.assertTrue(posixtrace.is_traced())
        event(2)
        self.assertEqual(stream.get()[2], b"\2")
        stream.close()
        self.assertFalse(posixtrace.is_traced())
        self.assertTrue(posixtrace.version().startswith("posixtrace "))

    def test_no_library(self):
        code = "try: import posixtrace\nexcept ImportError as e: print(e)"
        other = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
        said = subprocess.run([sys.executable, "-c", code], env=other, capture_output=True, text=True)
        self.assertIn("libposixtrace.so.0: cannot open shared object file", said.stdout)

    def test_forms(self):
        event = posixtrace.event("forms", "u8 class, json more")
        self.assertEqual(repr(event), "posixtrace.event('forms', 'u8 class, json more')")
        self.assertEqual(str(inspect.signature(event)), "(class_, more)")
        self.assertEqual(str(inspect.signature(posixtrace.event("plain"))), "(data=b'')")
        self.assertIsInstance(event, posixtrace.Event)
        with self.assertRaisesRegex(TypeError, "posixtrace.event"):
            posixtrace.Event(name="e")
        # Whatever way the interpreter takes to call it.
        stream = Stream()
        self.addCleanup(stream.close)
        values = {"class_": 1, "more": 2}
        event(**values)
        event(*values.values())
        list(map(event, [1], [2]))
        for _ in range(3):
            self.assertEqual(stream.get()[2], b"\x012")


class Records(unittest.TestCase):
    """Log records of logging as events."""

    LAYOUT = (
        b"enum {debug=10, info=20, warning=30, error=40, critical=50} level, u32 line, str file, str logger, "
        b"str message"
    )

    def setUp(self):
        self.handler = posixtrace.LogHandler()
        self.logger = logging.getLogger("app.db")
        self.logger.addHandler(self.handler)
        self.logger.propagate = False
        self.logger.setLevel(logging.DEBUG)
        self.addCleanup(self.logger.removeHandler, self.handler)

    def take(self):
        name, layout, data = self.stream.get()
        self.assertEqual((name, layout), (b"log", self.LAYOUT))
        level, line = struct.unpack_from("=iI", data)
        return (level, line, *data[8:].split(b"\0"))

    def test_records(self):
        # Nothing is formatted where nobody traces.
        self.logger.info("%d", "no number")
        self.stream = Stream()
        self.addCleanup(self.stream.close)
        line = inspect.currentframe().f_lineno + 1
        self.logger.warning("%d rows \ud83d", 3)
        self.assertEqual(self.take(), (30, line, os.fsencode(__file__), b"app.db", b"3 rows ?"))
        self.logger.warning("w\0z")
        self.assertEqual(self.take()[4:], (b"w",))
        self.logger.log(35, "between")
        self.assertEqual(self.take()[0], 35)
        try:
            1 // 0
        except ZeroDivisionError:
            self.logger.exception("failed")
        self.assertRegex(self.take()[4], b"(?s)^failed\nTraceback .*ZeroDivisionError")
        self.handler.setFormatter(logging.Formatter("<%(message)s>"))
        self.logger.debug("x")
        self.assertEqual(self.take()[4], b"<x>")
        self.handler.setLevel("ERROR")
        self.logger.info("x")
        self.assertIsNone(self.stream.next())

    def test_bad_records(self):
        """A record that cannot be an event is reported as logging does, and the program goes on."""
        self.stream = Stream()
        self.addCleanup(self.stream.close)
        failed = []
        self.handler.handleError = failed.append
        self.logger.info("%d", "no number")
        self.logger.log(2**40, "level")
        self.assertEqual(len(failed), 2)
        self.assertIsNone(self.stream.next())


PROGRAM = """
import atexit, os, posixtrace
query = posixtrace.event("db.query", id="u64", sql="str")
tick = posixtrace.event("tick")
odd = posixtrace.event(os.fsdecode(b"o\\xffd"))
atexit.register(lambda: tick("at exit"))
for n in range(5):
    with posixtrace.span("request"):
        query(n, "select %d" % n)
tick(b"text")
tick(b"text\\0")
tick(b"\\xff\\0")
odd()
"""


class Logs(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.log = os.path.join(directory.name, "run.log")

    def record(self, program=PROGRAM, *options):
        subprocess.run(["ptrace-run", "-o", self.log, *options, "--", sys.executable, "-c", program], check=False)

    def test_iterator(self):
        self.record()
        with posixtrace.open(self.log) as log:
            everything = list(log)
        self.assertEqual((everything[0].name, everything[0].is_system), ("posix_trace_start", True))
        events = [e for e in everything if not e.is_system]
        self.assertEqual(
            [e.name for e in events],
            ["request.begin", "db.query", "request.end"] * 5 + ["tick"] * 3 + [os.fsdecode(b"o\xffd"), "tick"],
        )
        self.assertEqual(
            [e.data for e in events if e.name == "tick"], [b"text", b"text\0", b"\xff\0", b"at exit"]
        )
        query = events[1]
        self.assertEqual(query.pid, query.tid)
        self.assertTrue(query.pid and query.thread and query.address and not query.is_system)
        self.assertEqual(int(query.time.timestamp() * 1000), query.ns // 1000000)
        self.assertEqual(query.time.utcoffset().total_seconds(), 0)
        self.assertEqual((query.misfit, query.is_truncated), (None, False))
        self.assertEqual([e.ns for e in events], sorted(e.ns for e in events))
        self.assertEqual((log.is_complete, len(log.losses)), (True, 1))
        self.assertEqual(log.summary["logs"][0]["read"], len(everything))
        self.assertEqual([e.fields for e in pickle.loads(pickle.dumps(events))], [e.fields for e in events])
        self.assertEqual(list(log), [])

    def test_selection(self):
        self.record()
        layout = {"db.*": "u64 id, str sql"}
        log = posixtrace.open(self.log, event=("db.*", "tick"), decode=layout)
        self.assertEqual(len(list(log)), 9)
        log = posixtrace.open(self.log, where="data.id == 2", decode=layout)
        self.assertEqual([e.data for e in log], [{"id": 2, "sql": "select 2"}])
        log = posixtrace.open(self.log, event="db.*", decode={"db.*": "u64 id"})
        self.assertEqual({e.misfit for e in log}, {"rest"})
        again = shutil.copy(self.log, self.log + ".copy")
        self.assertEqual(len(list(posixtrace.open(self.log, again, event="db.*"))), 10)

    def test_whole_floats(self):
        """Floats stay floats, and a negative zero stays negative, in arrays and next to a text that is not UTF-8, too."""
        self.record(
            "import posixtrace\nz = posixtrace.event('z', 'char[4] c, f64 g, f32[3] h')\n"
            "z(b'a', -0.0, [2, -0.0, 0.5])\nz(b'\\xff', -0.0, [2, -0.0, 0.5])\n"
            "posixtrace.event('i', 'char[1] c, i32[2] n')(b'\\xff', [2, 0])\n"
        )
        data = [e.data for e in posixtrace.open(self.log, event="z")]
        self.assertEqual([str((d["g"], d["h"])) for d in data], ["(-0.0, [2.0, -0.0, 0.5])"] * 2)
        (event,) = posixtrace.open(self.log, event="i")
        self.assertEqual(str(event.data["n"]), "[2, 0]")

    def test_cut_record(self):
        """A record of logging that is too long is cut, and the log says so."""
        program = "import logging, posixtrace\nlogging.basicConfig(handlers=[posixtrace.LogHandler()])\n"
        self.record(program + "logging.error('x' * 5000)", "--max-data-size=1024")
        (event,) = list(posixtrace.open(self.log, event="log"))
        self.assertTrue(event.is_truncated)
        self.assertEqual((event.data["level"], event.data["logger"]), ("error", "root"))
        self.assertRegex(event.data["message"], "^ERROR:root:x{900,1020}$")

    def test_processes(self):
        """Processes of multiprocessing, forked or new ones."""
        path = os.path.join(os.path.dirname(self.log), "processes.py")
        with open(path, "w") as file:
            file.write(
                "import multiprocessing, posixtrace, sys\nevent = posixtrace.event('e', 'str method, u32 n')\n"
                "def work(method):\n    for n in range(3): event(method, n)\n"
                "if __name__ == '__main__':\n    for method in 'fork', 'spawn':\n"
                "        child = multiprocessing.get_context(method).Process(target=work, args=(method,))\n"
                "        child.start()\n        child.join()\n    event('parent', 0)\n"
            )
        subprocess.run(["ptrace-run", "--until=all", "-o", self.log, "--", sys.executable, path], check=True)
        events = list(posixtrace.open(self.log, event="e"))
        expected = [(method, n) for method in ("fork", "spawn") for n in range(3)]
        self.assertEqual([(e.data["method"], e.data["n"]) for e in events], [*expected, ("parent", 0)])
        self.assertEqual(len({e.pid for e in events}), 3)

    def test_killed_program(self):
        """What was recorded before the process was killed is in the log."""
        self.record("import os, posixtrace\nposixtrace.event('e', 'str s')('text')\nos.kill(os.getpid(), 9)")
        self.assertEqual([e.data for e in posixtrace.open(self.log, event="e")], [{"s": "text"}])

    def test_losses(self):
        program = "import posixtrace\ne = posixtrace.event('e')\nfor _ in range(200000): e(bytes(1000))"
        self.record(program, "--stream-full-policy=loop", "--stream-min-size=64K")
        self.assertGreater(os.path.getsize(self.log), 0)
        with self.assertWarns(posixtrace.IncompleteWarning) as caught:
            log = posixtrace.open(self.log)
            events = list(log)
        self.assertIn(self.log, str(caught.warning))
        self.assertIn("posix_trace_overflow", [e.name for e in events if e.is_system])
        self.assertIs(log.is_complete, False)
        self.assertGreater(sum(log.losses[0].get(k) or 0 for k in log.losses[0] if k.endswith("events")), 0)
        with self.assertRaises(posixtrace.IncompleteError):
            list(posixtrace.open(self.log, on_loss="raise"))
        self.assertEqual(len(list(posixtrace.open(self.log, on_loss="ignore"))), len(events))

    def test_errors(self):
        self.record()
        missing = self.log + ".missing"
        for call, text in (
            (lambda: posixtrace.open(missing), missing),
            (lambda: posixtrace.open(__file__), __file__),
            (lambda: posixtrace.open(self.log, where="data.id >"), "--where"),
            (lambda: list(posixtrace.open(self.log, event="no.such")), "no.such"),
            (lambda: posixtrace.open(self.log, decode={"tick": "u46 a"}), "u46"),
        ):
            with self.subTest(text), self.assertRaises(posixtrace.Error) as caught:
                call()
            self.assertIn(text, str(caught.exception))
        with self.assertRaises(TypeError):
            posixtrace.open()
        with self.assertRaises(ValueError):
            posixtrace.open(self.log, on_loss="shrug")
        path = os.environ["PATH"]
        os.environ["PATH"] = "/nowhere"
        try:
            with self.assertRaisesRegex(posixtrace.Error, "ptrace-dump: the command is not found"):
                posixtrace.open(self.log)
        finally:
            os.environ["PATH"] = path

    def test_closed(self):
        program = "import posixtrace\ne = posixtrace.event('e')\nfor _ in range(20000): e(bytes(100))"
        self.record(program)
        log = posixtrace.open(self.log)
        next(log)
        child = log._child
        log.close()
        log.close()
        self.assertIsNotNone(child.poll())
        with self.assertRaisesRegex(ValueError, "run.log: the reader is closed"):
            next(log)
        # A reader that is only forgotten leaves nothing behind, and no warning.
        log = posixtrace.open(self.log)
        child = log._child
        del log
        gc.collect()
        self.assertIsNotNone(child.poll())
        # Of a forked child it is not, and the parent's goes on.
        log = posixtrace.open(self.log)
        next(log)
        other = os.fork()
        if not other:
            try:
                next(log)
            except ValueError:
                log.close()
                os._exit(7)
            os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]), 7)
        self.assertEqual(sum(e.name == "e" for e in log), 20000)

    def dumps(self, script, output=b""):
        """Puts a ptrace-dump into PATH that runs the script, whose $1 is a file with the output."""
        directory = os.path.dirname(self.log)
        with open(os.path.join(directory, "output"), "wb") as file:
            file.write(output)
        with open(os.path.join(directory, "ptrace-dump"), "w") as file:
            file.write(f"#!/bin/sh\nset -- {directory}/output\n{script}\n")
        os.chmod(file.name, 0o700)
        if not os.environ["PATH"].startswith(directory):
            self.addCleanup(os.environ.__setitem__, "PATH", os.environ["PATH"])
            os.environ["PATH"] = f"{directory}:{os.environ['PATH']}"

    def test_cut(self):
        # However much of the output is missing, its end is not taken for the end of the events.
        self.record()
        dump = shutil.which("ptrace-dump")
        output = subprocess.run([dump, "--format=columns", self.log], check=True, capture_output=True).stdout
        for size in range(len(output)):
            stream = io.BytesIO(output[:size])
            with self.assertRaises(posixtrace._columns.CutError):
                while isinstance(posixtrace._columns.read(stream), posixtrace._columns.Block):
                    pass
        summary = output.splitlines()[-1]
        self.dumps('head -c %d "$1"' % (len(output) - len(summary) - 1), output)
        with self.assertRaisesRegex(posixtrace.Error, "run.log: the output of ptrace-dump ended too early"):
            list(posixtrace.open(self.log))
        for script, text in (
            ("true", "the output of ptrace-dump ended too early"),
            ("""echo '{"version":2,"bytes":0}'""", "ptrace-dump writes columns of version 2"),
            ("echo no columns; exec sleep 1000", "ptrace-dump writes lines that are no columns"),
        ):
            self.dumps(script)
            with self.subTest(text), self.assertRaisesRegex(posixtrace.Error, "run.log: " + text):
                posixtrace.open(self.log)

    def test_killed(self):
        program = "import posixtrace\ne = posixtrace.event('e')\nfor _ in range(20000): e(bytes(100))"
        self.record(program)
        for read in (list, lambda log: log.to_numpy()) if has_numpy else (list,):
            log = posixtrace.open(self.log)
            os.kill(log._child.pid, signal.SIGKILL)
            with self.assertRaisesRegex(posixtrace.Error, "run.log: ptrace-dump ended with status -9"):
                read(log)
            self.assertIsNone(log.is_complete)

    def test_arrays(self):
        program = (
            "import posixtrace\nq = posixtrace.event('db.query', id='u64', rows='u32', sql='str')\n"
            "t = posixtrace.event('tick', 'u16 rows, enum {idle, busy} state')\nposixtrace.event('x')('text')\n"
            "for n in range(20000): q(n, n % 7, 'select %d' % n); n % 2 or t(n % 5, 'busy')"
        )
        self.record(program)
        arrays = posixtrace.open(self.log, event="db.query").to_numpy()
        self.assertEqual(
            list(arrays),
            ["ns", "event", "pid", "tid", "thread", "address", "truncated", "len"]
            + ["data.id", "data.rows", "data.sql"],
        )
        self.assertEqual(arrays["data.id"].dtype.str, "<u8")
        self.assertEqual(arrays["data.id"].tolist(), list(range(20000)))
        self.assertEqual(arrays["data.rows"].dtype.str, "<u4")
        self.assertEqual(arrays["data.sql"][19999], "select 19999")
        self.assertEqual(set(arrays["event"]), {"db.query"})
        log = posixtrace.open(self.log)
        arrays = log.to_numpy()
        self.assertTrue(log.is_complete)
        self.assertEqual(arrays["data.rows"].dtype.str, "<u4")
        self.assertEqual(arrays["data.rows"].count(), 30000)
        self.assertEqual(arrays["data.id"].count(), 20000)
        self.assertEqual(sum(value == "busy" for value in arrays["data.state"]), 10000)
        self.assertEqual([value for value in arrays["data"] if value], [b"text"])
        self.assertNotIn("misfit", arrays)
        self.assertEqual(list(log), [])
        # Arrays without the events that were read before would not be the log.
        with self.assertRaisesRegex(ValueError, r"run.log: to_numpy\(\) takes all events, but some were read already"):
            log.to_numpy()
        log = posixtrace.open(self.log)
        next(log)
        with self.assertRaisesRegex(ValueError, "some were read already"):
            log.to_numpy()
        log.close()
        with self.assertRaisesRegex(ValueError, "run.log: the reader is closed"):
            log.to_numpy()

    def test_losses_in_arrays(self):
        program = "import posixtrace\ne = posixtrace.event('e')\nfor _ in range(200000): e(bytes(1000))"
        self.record(program, "--stream-full-policy=loop", "--stream-min-size=64K")
        with self.assertWarns(posixtrace.IncompleteWarning) as caught:
            arrays = posixtrace.open(self.log).to_numpy()
        self.assertEqual(caught.filename, __file__)
        self.assertIn("posix_trace_overflow", set(arrays["event"]))
        with self.assertRaises(posixtrace.IncompleteError):
            posixtrace.open(self.log, on_loss="raise").to_numpy()

    def test_no_numpy(self):
        self.record()
        for module in ("numpy", "pandas"):
            self.addCleanup(sys.modules.pop, module, None)
            sys.modules[module] = None
        with self.assertRaisesRegex(posixtrace.Error, r"^to_numpy\(\) needs NumPy, which is not installed"):
            posixtrace.open(self.log).to_numpy()
        with self.assertRaisesRegex(posixtrace.Error, r"^to_pandas\(\) needs pandas, which is not installed"):
            posixtrace.open(self.log).to_pandas()

    def test_follow(self):
        name = f"python-{os.getpid()}"
        program = (
            "import posixtrace, sys\ne = posixtrace.event('e', 'u32 n')\nprint(flush=True)\n"
            "sys.stdin.readline()\nfor n in range(5): e(n)\nsys.stdin.readline()"
        )
        child = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        child.stdout.readline()
        subprocess.run(
            ["ptrace-create", "--start", f"--pid={child.pid}", f"--name={name}", "-o", self.log],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        with posixtrace.follow(name, event="e", decode={"e": "u32 n"}) as log:
            child.stdin.write("\n")
            child.stdin.flush()
            self.assertEqual([next(log).data["n"] for _ in range(5)], list(range(5)))
            child.communicate("\n")
            subprocess.run(["ptrace-shutdown", name], check=False, stderr=subprocess.DEVNULL)
            self.assertEqual(list(log), [])
            self.assertEqual((log.is_complete, log.summary["shown"]), (True, 5))


if __name__ == "__main__":
    unittest.main()
