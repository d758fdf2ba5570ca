# SPDX-License-Identifier: MIT
"""Events, spans and logs of posixtrace, in Python; posixtrace-python(3) is its manual.

    import posixtrace

    query = posixtrace.event("db.query", id="u64", rows="u32", sql="str")
    query(7, 3, "select 1")
    query(id=7, rows=3, sql="select 1")

    with posixtrace.span("request"):
        ...

    @posixtrace.traced
    def work(): ...

    for e in posixtrace.open("run.log", event="request.*"):
        print(e.time, e.name, e.pid, e.data)

The C library records events. The command ptrace-dump, in a process of its own, reads logs, so that
layouts, expressions and damaged logs have one reader for all languages.
"""

from __future__ import annotations

import codecs
import ctypes
import datetime
import errno
import functools
import inspect
import itertools
import json
import keyword
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import warnings
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Union

from . import _columns

__all__ = [
    "Error",
    "Event",
    "IncompleteError",
    "IncompleteWarning",
    "Log",
    "LogEvent",
    "Span",
    "event",
    "follow",
    "is_traced",
    "open",
    "span",
    "traced",
    "version",
]

_SONAME = "libposixtrace.so.0"
_EVENT_NAME_MAX = 255
_UNNAMED = 9  # POSIX_TRACE_UNNAMED_USEREVENT
_SYSTEM_MAX = 8  # the identifiers up to this are those of system events


class Error(Exception):
    """A failure; the text says what failed and why. errno is the library's error number, or None if the
    error does not come from the library."""

    def __init__(self, text: str, number: Optional[int] = None) -> None:
        super().__init__(text)
        self.errno = number


class IncompleteError(Error):
    """A log lacks events, and was opened with on_loss="raise"."""


class IncompleteWarning(UserWarning):
    """A log lacks events."""


# ---- the library ----


class _Library:
    """The functions of the library that are called, with their types."""

    def __init__(self, path: str) -> None:
        library = ctypes.CDLL(path)
        try:
            self.record = library.posix_trace_event
            self.open = library.posix_trace_eventid_open
            self.open_layout = library.posixtrace_eventid_open_layout
            self.is_traced = library.posixtrace_is_traced
            self.version = library.posixtrace_version
        except AttributeError as problem:
            raise Error(f"{path}: the library is too old for this module: {problem}") from None
        identifier = ctypes.POINTER(ctypes.c_uint)
        # Without argtypes, because converting numbers takes ctypes a third longer: callers pass a c_uint,
        # bytes and a c_size_t.
        self.record.restype = None
        self.open.argtypes = [ctypes.c_char_p, identifier]
        self.open.restype = ctypes.c_int
        self.open_layout.argtypes = [ctypes.c_char_p, ctypes.c_char_p, identifier]
        self.open_layout.restype = ctypes.c_int
        self.is_traced.argtypes = []
        self.is_traced.restype = ctypes.c_int
        self.version.argtypes = []
        self.version.restype = ctypes.c_char_p


def _prefix() -> Optional[pathlib.Path]:
    """The installation prefix of this module, which is PREFIX/lib/python3/dist-packages/posixtrace."""
    parents = pathlib.Path(__file__).resolve().parents
    return parents[4] if len(parents) > 4 and parents[3].name.startswith("lib") else None


@functools.lru_cache(maxsize=None)
def _library() -> _Library:
    """The library: POSIXTRACE_LIBRARY, else that installed with this module, else what the linker finds."""
    path = os.environ.get("POSIXTRACE_LIBRARY")
    if not path:
        installed = _prefix() and pathlib.Path(__file__).resolve().parents[3] / _SONAME
        path = str(installed) if installed and installed.exists() else _SONAME
    try:
        return _Library(path)
    except OSError as problem:
        raise Error(
            f"the library cannot be loaded: {problem}; POSIXTRACE_LIBRARY can name its file"
        ) from None


def _command(name: str) -> str:
    """The path of the command that is installed with this module, or else of one in PATH."""
    prefix = _prefix()
    if prefix and (prefix / "bin" / name).exists():
        return str(prefix / "bin" / name)
    path = shutil.which(name)
    if not path:
        raise Error(f"{name}: the command is not found; logs are read by it")
    return path


def is_traced() -> bool:
    """Whether a stream traces this process; if not, no event is recorded."""
    return _library().is_traced() != 0


def version() -> str:
    """The version of the library, such as 'posixtrace 0.2.0'."""
    return _library().version().decode()


# ---- texts ----


def _encode_any(problem: UnicodeError) -> Tuple[bytes, int]:
    """Turns bytes that surrogateescape has decoded into these bytes again, and other halves of surrogate
    pairs into question marks: no text must make an event fail."""
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    part = problem.object[problem.start : problem.end]
    codes = [ord(c) for c in part]
    return bytes(c - 0xDC00 if 0xDC80 <= c <= 0xDCFF else 0x3F for c in codes), problem.end


codecs.register_error("posixtrace", _encode_any)


def _text(value: Union[str, bytes]) -> bytes:
    return value if isinstance(value, bytes) else value.encode("utf-8", "posixtrace")


def _event_name(name: str) -> bytes:
    if not isinstance(name, str):
        raise TypeError(f"the name of an event type is a str, not {type(name).__name__}")
    raw = _text(name)
    if b"\0" in raw:
        raise Error(f"event type {name!r}: a name cannot have a null byte")
    if len(raw) > _EVENT_NAME_MAX:
        raise Error(f"event type {name[:20]!r}...: a name has {_EVENT_NAME_MAX} bytes at most")
    return raw


# ---- layouts ----

_NUMBERS = {
    **{"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i8": "b", "i16": "h", "i32": "i", "i64": "q"},
    **{"x8": "B", "x16": "H", "x32": "I", "x64": "Q", "f32": "f", "f64": "d", "bool": "?"},
    **{"code": "Q", "caller": "Q"},
}
_INTEGERS = ("u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64")
_OTHERS = ("char", "str", "bytes", "pad", "json")
_WORD = re.compile(r"\s*([A-Za-z0-9_]+|[^\sA-Za-z0-9_]|$)")


class _Field:
    """A field of a layout: its type, the type's letter in struct, the number of elements (None: the data
    gives the size), its name ('' for padding), and the values of an enum by their names."""

    __slots__ = ("type", "letter", "count", "is_array", "name", "members")

    def __init__(self, kind: str) -> None:
        self.type = kind
        self.letter = _NUMBERS.get(kind, "s")
        self.count: Optional[int] = 1
        self.is_array = False
        self.name = ""
        self.members: Dict[str, int] = {}

    @property
    def alignment(self) -> int:
        return struct.calcsize(self.letter)

    @property
    def format(self) -> str:
        if self.type == "pad":
            return f"{self.count}x"
        return f"{self.count}{self.letter}" if self.is_array or self.letter == "s" else self.letter


class _Parser:
    """Reads a layout, see posixtrace-layout(5). The library makes the finer checks of names."""

    def __init__(self, text: str) -> None:
        self.words = _WORD.findall(text)
        self.at = 0

    def peek(self) -> str:
        return self.words[self.at] if self.at < len(self.words) else ""

    def take(self, what: str = "") -> str:
        word = self.peek()
        if what and word != what:
            raise ValueError(f"{what!r} is missing before {word!r}" if word else f"{what!r} is missing")
        self.at += 1
        return word

    def number(self) -> int:
        word = self.take()
        sign = 1
        if word == "-":
            sign, word = -1, self.take()
        try:
            return sign * int(word, 16 if word[:2].lower() == "0x" else 10)
        except ValueError:
            raise ValueError(f"{word!r} is no number") from None

    def layout(self) -> Tuple[bool, List[_Field]]:
        is_packed = self.peek() == "packed"
        if is_packed:
            self.take()
        fields = [self.field()]
        while self.peek() == ",":
            self.take()
            if fields[-1].count is None and fields[-1].type != "str":
                raise ValueError(f"nothing can follow {fields[-1].type!r}")
            fields.append(self.field())
        if self.peek():
            raise ValueError(f"a comma is missing before {self.peek()!r}")
        return is_packed, fields

    def field(self) -> _Field:
        word = self.take()
        if word == "enum":
            field = self.enumeration()
        elif word in _NUMBERS or word in _OTHERS:
            field = _Field(word)
        else:
            types = " ".join((*_NUMBERS, "enum", *_OTHERS))
            raise ValueError(f"{word!r} is no type (the types are {types})" if word else "a type is missing")
        if self.peek() == "[":
            self.take()
            field.count = self.number()
            field.is_array = True
            self.take("]")
            if field.count < 1 or field.type in ("str", "json"):
                raise ValueError(f"{field.type}[{field.count}] is no type")
        elif field.type in ("char", "pad"):
            raise ValueError(f"'{field.type}' needs [N] after it")
        elif field.type in ("str", "json", "bytes"):
            field.count = None
        if field.type != "pad" and self.peek() not in (",", ""):
            field.name = self.take()
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", field.name) and field.type not in ("pad", "json"):
            raise ValueError(f"{field.type!r} needs a name after it")
        if self.peek() == ":":
            raise ValueError(f"{field.name!r} is a bit field, which Python cannot record: "
                             "use a whole integer")
        if self.peek() not in (",", ""):
            self.take()  # the unit
        return field

    def enumeration(self) -> _Field:
        field = _Field(self.take() if self.peek() in _INTEGERS else "i32")
        value = 0
        self.take("{")
        while self.peek() != "}":
            name = self.take()
            if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
                raise ValueError("an enum has members, such as {idle, busy}")
            if self.peek() == "=":
                self.take()
                value = self.number()
            field.members[name] = value
            value += 1
            if self.peek() != ",":
                break
            self.take()
        self.take("}")
        return field


# ---- packing ----


def _check(event_name: str, field: _Field, value: Any) -> Any:
    """The value in the form that struct takes, or an error that names event and field. For values that the
    fast way does not know or refuses."""
    what = f"event {event_name!r}, field {field.name or 'json'!r}: "
    if field.type == "json":
        if isinstance(value, (bytes, bytearray)):
            return bytes(value)
        try:
            return _text(json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False))
        except (TypeError, ValueError) as problem:
            raise type(problem)(what + str(problem)) from None
    if field.type in ("str", "char"):
        if not isinstance(value, (str, bytes)):
            raise TypeError(what + f"a text, not {type(value).__name__}")
        return _text(value)
    if field.type == "bytes":
        try:
            raw = bytes(memoryview(value))
        except TypeError:
            raise TypeError(what + f"bytes, not {type(value).__name__}") from None
        if field.count is not None and len(raw) != field.count:
            raise ValueError(what + f"{field.count} bytes, not {len(raw)}")
        return raw
    values = list(value) if field.is_array else [value]
    if len(values) != field.count:
        raise ValueError(what + f"{field.count} values, not {len(values)}")
    for i, item in enumerate(values):
        if isinstance(item, str) and item in field.members:
            values[i] = item = field.members[item]
        elif isinstance(item, str) and field.members:
            raise ValueError(what + f"{item!r} is none of {', '.join(field.members)}")
        try:
            struct.pack("=" + field.letter, item)
        except (struct.error, OverflowError, TypeError) as problem:
            kind = ValueError if isinstance(item, (int, float)) else TypeError
            raise kind(what + f"{item!r} is no {field.type}: {problem}") from None
    return values


def _pack_slowly(name: str, is_packed: bool, fields: List[_Field], values: Iterable[Any]) -> bytes:
    """Packs any event. The fast way gives the same result."""
    data = b""
    rest = list(values)
    for i, field in enumerate(fields):
        if not is_packed:
            data += bytes(-len(data) % field.alignment)
        if field.type == "pad":
            data += bytes(field.count or 0)
            continue
        value = _check(name, field, rest.pop(0))
        if field.count is None:
            data += value
            if field.type == "str" and i + 1 < len(fields):
                # A null byte ends the text, so one in the value cuts it.
                data = data[: len(data) - len(value)] + value.partition(b"\0")[0] + b"\0"
        elif field.letter == "s":
            data += struct.pack(field.format, value)
        else:
            data += struct.pack("=" + field.format, *value)
    return data


def _fast_source(is_packed: bool, fields: List[_Field], scope: Dict[str, Any]) -> str:
    """The source of an expression that packs the fields for values of plain types, by one struct and at
    most one text after it; '' if only the slow way can. Our names have a letter that no field has."""
    last = fields[-1]
    fixed = fields[:-1] if last.count is None else fields
    if any(f.count is None or (f.is_array and f.letter != "s") or f.members for f in fixed):
        return ""
    if any(f.type in ("char", "bytes") for f in fixed) or last.type in ("json", "bytes"):
        return ""
    parts = []
    if fixed:
        # The gaps are explicit ("="): with native alignment, struct turns a large number for f32 into inf.
        form = "="
        for field in fixed:
            gap = 0 if is_packed or field.type == "pad" else -struct.calcsize(form) % field.alignment
            form += f"{gap}x{field.format}"
        scope["packerρ"] = struct.Struct(form)
        scope["packρ"] = scope["packerρ"].pack
        parts.append(f"packρ({', '.join(_parameter(f.name) for f in fixed if f.name)})")
    if last.count is None:
        parts.append(f"{_parameter(last.name)}.encode('utf-8', 'posixtrace')")
    return " + ".join(parts)


def _parameter(name: str) -> str:
    """The parameter for the name of a field: class_ for class."""
    return name + "_" if keyword.iskeyword(name) else name or "json"


class Event:
    """An event type of this process, made by event(). Call it to record an event."""

    name: str
    layout: str
    id: int

    __slots__ = ("name", "layout", "id")

    def __init__(self, name: str, layout: str, identifier: int) -> None:
        self.name = name
        self.layout = layout
        self.id = identifier

    def __call__(self, *values: Any, **by_name: Any) -> None:
        raise TypeError("posixtrace.event() makes events")

    def __repr__(self) -> str:
        return f"posixtrace.event({self.name!r}, {self.layout!r})"


def _untyped(record: Callable[..., None], identifier: int) -> Callable[..., None]:
    number = ctypes.c_uint(identifier)

    def call(self: Event, data: Union[bytes, str] = b"") -> None:
        if not isinstance(data, bytes):
            data = _text(data) if isinstance(data, str) else bytes(memoryview(data))
        record(number, data, ctypes.c_size_t(len(data)))

    return call


def _typed(name: str, layout: str, record: Callable[..., None], identifier: int) -> Callable[..., None]:
    """A function with a parameter for each field."""
    try:
        is_packed, fields = _Parser(layout).layout()
        parameters = [_parameter(f.name) for f in fields if f.type != "pad"]
        if len(set(parameters)) < len(parameters):
            raise ValueError("two fields have the same name")
    except ValueError as problem:
        raise Error(f"event type {name!r}: layout {layout!r}: {problem}", errno.EINVAL) from None
    scope: Dict[str, Any] = {
        "recordρ": record,
        "idρ": ctypes.c_uint(identifier),
        "sizeρ": ctypes.c_size_t,
        "slowρ": lambda *values: _pack_slowly(name, is_packed, fields, values),
        "lenρ": len,
        "Exceptionρ": Exception,
    }
    slow = f"slowρ({', '.join(parameters)})"
    fast = _fast_source(is_packed, fields, scope)
    source = f"def call({', '.join(['selfρ', *parameters])}):\n"
    if fast:
        # The slow way takes a value that the fast way refuses, or raises an error that says why not.
        source += f"    try:\n        dataρ = {fast}\n    except Exceptionρ:\n        dataρ = {slow}\n"
    else:
        source += f"    dataρ = {slow}\n"
    # The size is constant unless there is a text.
    if "packerρ" in scope and fields[-1].count is not None:
        scope["sizeρ"] = ctypes.c_size_t(scope["packerρ"].size)
        source += "    recordρ(idρ, dataρ, sizeρ)\n"
    else:
        source += "    recordρ(idρ, dataρ, sizeρ(lenρ(dataρ)))\n"
    exec(source, scope)
    return scope["call"]


def event(name: str, layout: Optional[str] = None, /, **fields: str) -> Event:
    """Opens an event type and returns the object that records its events.

    The layout is a text, as in posixtrace-layout(5), or comes from keyword arguments in their order:
    event("db.query", "u64 id, str sql") and event("db.query", id="u64", sql="str") are the same; a unit
    follows the type, as in size="u32 KiB". The object takes a value for each field, by position or by
    name: a number; a sequence of numbers for an array; a str or bytes for a text; bytes; a member's name
    or number for an enum; anything that json.dumps() takes for json. If Python reserves the name of a
    field, the parameter has _ added: class_.

    Without a layout the object takes the data as bytes or str, or nothing.

    Raises Error if the layout is not valid or the type cannot be opened; errno is EEXIST if it has
    another layout. A value that does not fit its field raises TypeError or ValueError when an event is
    recorded, whether the process is traced or not; texts always fit.
    """
    if fields and layout is not None:
        raise TypeError("a layout is one text, or keyword arguments, not both")
    if fields:
        parts = []
        for field, kind in fields.items():
            words = re.fullmatch(r"\s*((?:packed\s+)?(?:enum[^}]*\}|\w+)\s*(?:\[[^]]*\])?)\s*(.*?)\s*", kind)
            if not words:
                raise Error(f"event type {name!r}: field {field!r}: {kind!r} is no type", errno.EINVAL)
            parts.append(f"{words[1].strip()} {field} {words[2]}".strip())
        layout = ", ".join(parts)
    raw = _event_name(name)
    library = _library()
    identifier = ctypes.c_uint(_UNNAMED)
    if layout is None:
        error = library.open(raw, ctypes.byref(identifier))
        call = _untyped(library.record, identifier.value)
    else:
        _typed(name, layout, library.record, 0)  # raises Error before anything is opened
        error = library.open_layout(raw, _text(layout), ctypes.byref(identifier))
        call = _typed(name, layout, library.record, identifier.value)
    if not error and identifier.value < _UNNAMED:
        raise Error(f"event type {name!r}: it is one of the system", errno.EINVAL)
    if error == errno.EEXIST:
        raise Error(f"event type {name!r}: it has another layout than {layout!r}", error)
    if error:
        raise Error(f"event type {name!r}: it cannot be opened: {os.strerror(error)}", error)
    made = type("Event", (Event,), {"__call__": call, "__slots__": (), "__doc__": Event.__doc__})
    result: Event = made(name, layout or "", identifier.value)
    return result


# ---- spans ----

_counter = itertools.count(1)
# Keys are unique on a machine, because spans of several processes may be in one log: 22 bits of the
# process ID, then those of a counter.
_key_base = os.getpid() << 42


def _renew_keys() -> None:
    global _key_base
    _key_base = os.getpid() << 42


os.register_at_fork(after_in_child=_renew_keys)


def _new_key() -> int:
    return _key_base | (next(_counter) & ((1 << 42) - 1))


@functools.lru_cache(maxsize=None)
def _span_events(name: str, key_type: str) -> Tuple[Event, Event]:
    return (
        event(name + ".begin", f"{key_type} key"),
        event(name + ".end", f"{key_type} key"),
    )


class Span:
    """A context manager, made by span(), that records NAME.begin and NAME.end. An object is one span at a
    time."""

    __slots__ = ("_begin", "_end", "_given", "key")

    def __init__(self, name: str, key: Union[None, int, str] = None) -> None:
        self._begin, self._end = _span_events(name, "str" if isinstance(key, str) else "u64")
        self._given = key
        self.key: Union[int, str] = 0

    def __enter__(self) -> "Span":
        self.key = _new_key() if self._given is None else self._given
        self._begin(self.key)
        return self

    def __exit__(self, *_: object) -> None:
        self._end(self.key)

    async def __aenter__(self) -> "Span":
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        self._end(self.key)


def span(name: str, key: Union[None, int, str] = None) -> Span:
    """with span("request"): records request.begin and request.end, also if an exception leaves the block;
    async with does the same.

    Both events have a field key, by which all commands pair them, so that spans of tasks that take turns
    in a thread are not mixed up: the given number (u64) or text (str), or a number that is unique on the
    machine. All spans of a name must have keys of the same type.
    """
    return Span(name, key)


def traced(function: Any = None, /, *, name: Optional[str] = None) -> Any:
    """A decorator that makes each call of the function a span, named after the function and its module or
    by the given name: @traced, @traced("work") or @traced(name="work").

    The span of an async function lasts until it has returned. Generators raise TypeError, because they
    run piecemeal in their callers: use span() in them.
    """
    if isinstance(function, str):
        function, name = None, function
    if function is None:
        return functools.partial(traced, name=name)
    if not callable(function):
        raise TypeError(f"traced: {function!r} is no function")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"traced: {function.__qualname__} is a generator: use span() in it")
    if isinstance(function, type):
        raise TypeError(f"traced: {function.__qualname__} is a class: decorate its functions")
    begin, end = _span_events(name or f"{function.__module__}.{function.__qualname__}", "u64")

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def wait(*values: Any, **by_name: Any) -> Any:
            key = _new_key()
            begin(key)
            try:
                return await function(*values, **by_name)
            finally:
                end(key)

        return wait

    @functools.wraps(function)
    def call(*values: Any, **by_name: Any) -> Any:
        key = _new_key()
        begin(key)
        try:
            return function(*values, **by_name)
        finally:
            end(key)

    return call


# ---- logs ----

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)



@functools.lru_cache(maxsize=64)
def _second(since_1970: int) -> str:
    return (_EPOCH + datetime.timedelta(seconds=since_1970)).strftime("%Y-%m-%dT%H:%M:%S")


class LogEvent:
    """An event of a log, made by a Log."""

    __slots__ = ("ns", "_origin", "_len", "_row", "_data", "_fields")

    def __init__(self, origin: _columns.Origin, ns: int, size: int, row: Any) -> None:
        #: The time: nanoseconds since 1970.
        self.ns = ns
        self._origin = origin
        self._len = size
        self._row = row
        #: Made when they are asked for.
        self._data: Any = None
        self._fields: Any = None

    @property
    def fields(self) -> Dict[str, Any]:
        """The object that ptrace-dump prints as JSON, see docs/json-schema.md."""
        if self._fields is None:
            kind = self._origin.kind
            second, rest = divmod(self.ns, 1000000000)
            self._fields = {"time": f"{_second(second)}.{rest:09}Z", "ns": self.ns, **self._origin.head}
            self._fields["len"] = self._len
            if kind.form == "fields":
                self._fields["data"] = self.data
            elif kind.form == "text":
                # Like ptrace-dump, leaves out one null byte at the end of a text.
                self._fields["data"] = self._row[: len(self._row) - self._row.endswith(b"\0")].decode()
            elif kind.form == "hex":
                self._fields["data_hex"] = self._row.hex()
            else:
                self._fields.update(self._members())
            self._fields.update(kind.tail)
        result: Dict[str, Any] = self._fields
        return result

    def _members(self) -> Dict[str, Any]:
        """The members of fields that are about the data, if the event has a form of its own."""
        if isinstance(self._row, bytes):
            self._row = self._origin.kind.members(self._row)
        result: Dict[str, Any] = self._row
        return result

    @property
    def time(self) -> datetime.datetime:
        """The time in UTC, to the microsecond."""
        return _EPOCH + datetime.timedelta(microseconds=self.ns // 1000)

    @property
    def name(self) -> str:
        """The name of the event type; bytes that are not UTF-8 are decoded as by os.fsdecode()."""
        return self._origin.kind.name

    @property
    def pid(self) -> int:
        """The process that recorded it; 0 for a system event without one."""
        return self._origin.pid

    @property
    def tid(self) -> int:
        """The kernel's ID of the thread."""
        return self._origin.tid

    @property
    def thread(self) -> int:
        """The thread's pthread_t, comparable only within one process."""
        return self._origin.thread

    @property
    def address(self) -> int:
        """The address in the program at which it was recorded."""
        return self._origin.address

    @property
    def data(self) -> Union[Dict[str, Any], bytes]:
        """A dict with the fields of its layout; bytes if it has none, and for system events."""
        if self._data is None:
            form = self._origin.kind.form
            if form == "fields":
                self._data = self._origin.kind.data(self._row)
            else:
                self._data = _columns.data_of(self._members()) if form == "members" else self._row
        result: Union[Dict[str, Any], bytes] = self._data
        return result

    @property
    def misfit(self) -> Optional[str]:
        """"short", "rest" or "json" if the data does not fit its layout, else None."""
        return self._members().get("decode_error") if self._origin.kind.form == "members" else None

    @property
    def is_truncated(self) -> bool:
        """Whether the trace cut the data to its max-data-size."""
        return self._origin.truncated != "no"

    @property
    def is_system(self) -> bool:
        """Whether it is an event of the trace itself, such as posix_trace_overflow, which marks lost events."""
        return self._origin.kind.type_id <= _SYSTEM_MAX

    def __repr__(self) -> str:
        return f"<{self.name} {self.fields['time']} pid {self.pid}: {self.data!r}>"


class Log:
    """An iterator over the events of logs, in order, and a context manager; made by open() and follow().
    summary, losses and is_complete are set after the last event."""

    def __init__(
        self, what: str, options: List[str], operands: List[str], on_loss: str, is_live: bool
    ) -> None:
        self._child: Optional["subprocess.Popen[bytes]"] = None
        self.name = what
        #: The summary of ptrace-dump: the number of events, and the losses of each log.
        self.summary: Optional[Dict[str, Any]] = None
        if on_loss not in ("warn", "raise", "ignore"):
            raise ValueError(f"on_loss is 'warn', 'raise' or 'ignore', not {on_loss!r}")
        self._on_loss = on_loss
        self._pid = os.getpid()
        self._ended = False
        self._first: Optional[_columns.Block] = None
        #: The events of the latest block that were not given yet; None before the first event.
        self._events: Optional[Iterator[LogEvent]] = None
        command = [_command("ptrace-dump"), "--format=columns", *options, "--", *operands]
        self._errors = tempfile.TemporaryFile()
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        assert self._child.stdout
        self._stream: Any = self._child.stdout
        # Reads the first block at once, so that errors are raised here and not at the first event.
        if not is_live:
            self._first = self._read()
            if not self._first and self.summary is None:
                self._finish(3)

    def __iter__(self) -> Iterator[LogEvent]:
        return self

    def __next__(self) -> LogEvent:
        self._check()
        while not self._ended:
            event = next(self._events, None) if self._events else None
            if event is not None:
                return event
            block = self._next_block()
            if not block:
                self._finish(3)
                break
            self._events = block.each(LogEvent)
        raise StopIteration

    def _check(self) -> None:
        """Raises an exception if this reader cannot read."""
        if self._child is None and not self._ended:
            raise ValueError(f"{self.name}: the reader is closed")
        if self._pid != os.getpid():
            raise ValueError(f"{self.name}: the reader belongs to the process that opened it")

    def _read(self) -> Optional[_columns.Block]:
        """Reads the next block. Returns None at the end of the output, whether that is complete or not."""
        try:
            read = _columns.read(self._stream)
        except _columns.CutError:
            return None
        except _columns.FormatError as problem:
            self.close()
            raise Error(f"{self.name}: ptrace-dump writes {problem}") from None
        if isinstance(read, _columns.Block):
            return read
        self.summary = read
        return None

    def _next_block(self) -> Optional[_columns.Block]:
        """The next block, or None after the last one."""
        block, self._first = self._first, None
        return block or (self._read() if self.summary is None else None)

    def _finish(self, level: int) -> None:
        """Evaluates status and messages of ptrace-dump after the last block. A warning is of the caller's caller at
        that level."""
        assert self._child
        self._ended = True
        status = self._child.wait()
        self._errors.seek(0)
        text = self._errors.read().decode("utf-8", "replace").strip()
        self.close()
        if status not in (0, 3):
            raise Error(text or f"{self.name}: ptrace-dump ended with status {status}")
        if self.summary is None:
            raise Error(f"{self.name}: the output of ptrace-dump ended too early")
        if status == 3 and self._on_loss == "raise":
            raise IncompleteError(text or f"{self.name}: events are missing")
        if status == 3 and self._on_loss == "warn":
            warnings.warn(text or f"{self.name}: events are missing", IncompleteWarning, stacklevel=level)

    def _all_columns(self, what: str, level: int) -> Tuple[Any, Dict[str, Any]]:
        """NumPy, and the columns of all events."""
        try:
            import numpy
        except ImportError as problem:
            raise Error(f"{what} needs NumPy, which is not installed ({problem})") from None
        self._check()
        if self._ended or self._events:
            raise ValueError(f"{self.name}: {what} takes all events, but some were read already")
        blocks = []
        block = self._next_block()
        while block:
            blocks.append(block)
            block = self._next_block()
        self._finish(level + 1)
        return numpy, _columns.Table(numpy, blocks).columns()

    def to_numpy(self) -> Dict[str, Any]:
        """Reads all events, and returns a dict of arrays with an element for each event.

        The keys are the names that ptrace-dump has for fields: ns, event, pid, tid, thread, address, truncated and
        len; data.NAME for each field of a layout; data for the data of events without a layout; misfit if the
        data of an event does not fit its layout; log for several logs. Numbers have the type of the
        layout, and texts and names are objects. If an event lacks a field, the array is a masked array, or the
        object is None.
        """
        numpy, columns = self._all_columns("to_numpy()", 3)
        for name, column in columns.items():
            if isinstance(column, _columns.Words):
                columns[name] = numpy.array(column.words, dtype=object)[column.numbers]
        return columns

    def to_pandas(self) -> Any:
        """Reads all events, and returns a DataFrame with a row for each event.

        The columns are those of to_numpy(), and time, in UTC. Numbers that some events lack are of a type that can
        be NA.
        """
        try:
            import pandas
        except ImportError as problem:
            raise Error(f"to_pandas() needs pandas, which is not installed ({problem})") from None
        numpy, columns = self._all_columns("to_pandas()", 3)
        made = {"time": pandas.DatetimeIndex(columns["ns"], tz="UTC")}
        for name, column in columns.items():
            if isinstance(column, _columns.Words):
                made[name] = pandas.Categorical.from_codes(column.numbers, column.words)
            elif not isinstance(column, numpy.ma.MaskedArray):
                made[name] = column
            elif column.dtype.kind == "f":
                made[name] = column.filled(numpy.nan)
            else:
                kinds = pandas.arrays
                make = kinds.BooleanArray if column.dtype.kind == "b" else kinds.IntegerArray
                made[name] = make(column.data, column.mask)
        return pandas.DataFrame(made, copy=False)

    @property
    def is_complete(self) -> Optional[bool]:
        """Whether no event is missing; None until the last event was read."""
        return None if self.summary is None else bool(self.summary["complete"])

    @property
    def losses(self) -> List[Dict[str, Any]]:
        """For each log the numbers of lost events by cause, as in ptrace-stat --json."""
        return [log["losses"] for log in self.summary["logs"]] if self.summary else []

    def close(self) -> None:
        """Ends the reading. Reading on raises ValueError, unless the end had been reached."""
        child, self._child = self._child, None
        if not child:
            return
        self._stream.close()
        self._errors.close()
        if self._pid == os.getpid():
            child.terminate()
            child.wait()
        else:
            child.returncode = 0  # the process that forked waits for it

    def __enter__(self) -> "Log":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


_Texts = Union[None, str, Iterable[str]]


def _options(event: _Texts, where: Optional[str], decode: Optional[Dict[str, str]]) -> List[str]:
    patterns = [event] if isinstance(event, str) else event or ()
    options = [f"--event={pattern}" for pattern in patterns]
    if where is not None:
        options.append(f"--where={where}")
    return options + [f"--decode={name}={layout}" for name, layout in (decode or {}).items()]


def open(
    *logs: Union[str, "os.PathLike[str]"],
    event: _Texts = None,
    where: Optional[str] = None,
    since: Optional[str] = None,
    until: Optional[str] = None,
    decode: Optional[Dict[str, str]] = None,
    on_loss: str = "warn",
) -> Log:
    """Opens logs, or sessions by their names, to read their events merged by time.

    The parameters select events as the options of ptrace-dump(1) do: event is a pattern of names or
    several, where an expression, since and until are times, decode has layouts by patterns of names, for
    events that have none of their own. ptrace-dump selects, so other events take no time here.

    If events are missing, on_loss says what happens after the last event: "warn" (an IncompleteWarning),
    "raise" (an IncompleteError) or "ignore". In any case losses has numbers, and the events
    posix_trace_overflow and posix_trace_resume, if selected, mark the gaps.

    Raises Error if a log cannot be read, an expression is wrong or an event pattern matches nothing.
    """
    if not logs:
        raise TypeError("no log")
    operands = [os.fspath(log) for log in logs]
    options = _options(event, where, decode)
    if since is not None:
        options.append(f"--since={since}")
    if until is not None:
        options.append(f"--until={until}")
    return Log(", ".join(operands), options, operands, on_loss, False)


def follow(
    session: str,
    *,
    event: _Texts = None,
    where: Optional[str] = None,
    decode: Optional[Dict[str, str]] = None,
    on_loss: str = "warn",
) -> Log:
    """Reads the events of a live session as they are recorded, until it ends, as ptrace-dump --follow."""
    options = [f"--follow={session}", *_options(event, where, decode)]
    return Log(session, options, [], on_loss, True)
