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

The extension _record records events with the C library. The command ptrace-dump, in a process of its
own, reads logs, so that layouts, expressions and damaged logs have one reader for all languages.
"""

from __future__ import annotations

import codecs
import datetime
import errno
import functools
import inspect
import itertools
import json
import logging
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import warnings
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple, Union

from posixtrace import _record
from posixtrace._record import Event, is_traced, version

from . import _columns

__all__ = [
    "Error",
    "Event",
    "IncompleteError",
    "IncompleteWarning",
    "Log",
    "LogEvent",
    "LogHandler",
    "Span",
    "event",
    "follow",
    "is_traced",
    "open",
    "span",
    "traced",
    "version",
]

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


def _prefix() -> Optional[pathlib.Path]:
    """The installation prefix of this module, which is PREFIX/lib/python3/dist-packages/posixtrace."""
    parents = pathlib.Path(__file__).resolve().parents
    return parents[4] if len(parents) > 4 and parents[3].name.startswith("lib") else None


def _command(name: str) -> str:
    """The path of the command that is installed with this module, or else of one in PATH."""
    prefix = _prefix()
    if prefix and (prefix / "bin" / name).exists():
        return str(prefix / "bin" / name)
    path = shutil.which(name)
    if not path:
        raise Error(f"{name}: the command is not found; logs are read by it")
    return path


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


# ---- events ----


def _json(value: Any) -> str:
    """The text of JSON, in which U+FFFD takes the place of bytes that are no UTF-8."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return _text(text).decode("utf-8", "replace")


def _signature(names: Tuple[str, ...], is_typed: bool) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = inspect.Parameter.empty if is_typed else b""
    return inspect.Signature([inspect.Parameter(name, kind, default=default) for name in names])


def event(name: str, layout: Optional[str] = None, /, **fields: str) -> Event:
    """Opens an event type and returns the object that records its events.

    The layout is a text, as in posixtrace-layout(5), or comes from keyword arguments in their order:
    event("db.query", "u64 id, str sql") and event("db.query", id="u64", sql="str") are the same; a unit
    follows the type, as in size="u32 KiB". The object takes a value for each field, by position or by
    name: a number; a sequence of numbers for an array; a str or bytes for a text; bytes; a member's name
    or any number for an enum; anything for a bool; anything that json.dumps() takes for json. If Python
    reserves the name of a field, the parameter has _ added: class_.

    Without a layout the object takes the data as bytes or str, or nothing.

    Raises Error if the layout is not valid or the type cannot be opened; errno is EEXIST if it has
    another layout. A value that does not fit its field raises TypeError or ValueError when an event is
    recorded; texts always fit. In a process that is not traced the object does not look at the values.
    """
    if fields and layout is not None:
        raise TypeError("a layout is one text, or keyword arguments, not both")
    if fields:
        parts = []
        for field, kind in fields.items():
            if not field.isidentifier():
                raise Error(f"event type {name!r}: field {field!r}: a name has letters, digits and _", errno.EINVAL)
            if not isinstance(kind, str):
                raise TypeError(f"event type {name!r}: field {field!r}: the type is a str, not {type(kind).__name__}")
            words = re.fullmatch(r"\s*((?:packed\s+)?(?:enum[^}]*\}|\w+)\s*(?:\[[^]]*\])?)\s*([^,]*?)\s*", kind)
            if not words:
                raise Error(f"event type {name!r}: field {field!r}: {kind!r} is no type", errno.EINVAL)
            parts.append(f"{words[1].strip()} {field} {words[2]}".strip())
        layout = ", ".join(parts)
    raw = _event_name(name)
    if not isinstance(layout, (str, type(None))):
        raise TypeError(f"event type {name!r}: the layout is a str, not {type(layout).__name__}")
    try:
        made = Event(name, layout or "", raw, None if layout is None else _text(layout))
    except ValueError as problem:
        raise Error(f"event type {name!r}: layout {layout!r}: {problem}", errno.EINVAL) from None
    except OSError as problem:
        if problem.errno == errno.EEXIST:
            what = f"it has another layout than {layout!r}"
        else:
            what = f"it cannot be opened: {problem.strerror}"
        raise Error(f"event type {name!r}: {what}", problem.errno) from None
    if made.id < _UNNAMED:
        raise Error(f"event type {name!r}: it is one of the system", errno.EINVAL)
    return made


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
    if not isinstance(name, str):
        raise TypeError(f"the name of a span is a str, not {type(name).__name__}")
    return (
        event(name + ".begin", f"{key_type} key"),
        event(name + ".end", f"{key_type} key"),
    )


class Span:
    """A context manager, made by span(), that records NAME.begin and NAME.end. An object is one span at a
    time."""

    __slots__ = ("_begin", "_end", "_given", "_is_open", "_is_recorded", "_name", "key")

    def __init__(self, name: str, key: Union[None, int, str] = None) -> None:
        self._begin, self._end = _span_events(name, "str" if isinstance(key, str) else "u64")
        self._name = name
        self._given = key
        self._is_open = False
        self.key: Union[int, str] = 0

    def __enter__(self) -> "Span":
        if self._is_open:
            raise Error(f"span {self._name!r}: it is open; make another object for a span in it")
        self.key = _new_key() if self._given is None else self._given
        self._is_recorded = is_traced()
        if self._is_recorded:
            self._begin(self.key)
        self._is_open = True
        return self

    def __exit__(self, *_: object) -> None:
        if not self._is_open:
            raise Error(f"span {self._name!r}: it is not open")
        self._is_open = False
        if self._is_recorded:
            self._end(self.key)

    async def __aenter__(self) -> "Span":
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        self.__exit__()


def span(name: str, key: Union[None, int, str] = None) -> Span:
    """with span("request"): records request.begin and request.end, also if an exception leaves the block;
    async with does the same.

    Both events have a field key, by which all commands pair them, so that spans of tasks that take turns
    in a thread are not mixed up: the given number (u64) or text (str), or a number that is unique on the
    machine. All spans of a name must have keys of the same type.

    A span that begins in a process that is not traced records nothing, also when it ends. To open an object that is
    open, or to end one that is not, raises Error.
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
    if not callable(function) or not hasattr(function, "__qualname__"):
        raise TypeError(f"traced: {function!r} is no function")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"traced: {function.__qualname__} is a generator: use span() in it")
    if isinstance(function, type):
        raise TypeError(f"traced: {function.__qualname__} is a class: decorate its functions")
    begin, end = _span_events(name or f"{function.__module__}.{function.__qualname__}", "u64")

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def wait(*values: Any, **by_name: Any) -> Any:
            if not is_traced():
                return await function(*values, **by_name)
            key = _new_key()
            begin(key)
            try:
                return await function(*values, **by_name)
            finally:
                end(key)

        return wait

    @functools.wraps(function)
    def call(*values: Any, **by_name: Any) -> Any:
        if not is_traced():
            return function(*values, **by_name)
        key = _new_key()
        begin(key)
        try:
            return function(*values, **by_name)
        finally:
            end(key)

    return call


# ---- records of logging ----


class LogHandler(logging.Handler):
    """A handler of logging that records an event for each log record:

        logging.getLogger().addHandler(posixtrace.LogHandler())

    The event type is log. Its message is the record's as the handler's formatter has it, by default with
    the traceback of an exception.
    """

    def __init__(self, level: Union[int, str] = logging.NOTSET) -> None:
        super().__init__(level)
        self._event = event(
            "log",
            "enum {debug=10, info=20, warning=30, error=40, critical=50} level, u32 line, str file, "
            "str logger, str message",
        )

    def emit(self, record: logging.LogRecord) -> None:
        if not is_traced():
            return
        try:
            self._event(record.levelno, record.lineno, record.pathname, record.name, self.format(record))
        except Exception:
            self.handleError(record)


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
