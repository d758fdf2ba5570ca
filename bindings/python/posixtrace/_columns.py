# SPDX-License-Identifier: MIT
"""Reads what ptrace-dump --format=columns writes, which posixtrace-columns(5) describes: blocks of events, the
rows of a block, and tables of all events for NumPy."""

from __future__ import annotations

import itertools
import json
import struct
from typing import Any, BinaryIO, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Union

VERSION = 1

# The types of numbers, as NumPy and as the module struct name them.
_FORMATS = {
    **{"|u1": "B", "<u2": "H", "<u4": "I", "<u8": "Q", "|i1": "b", "<i2": "h", "<i4": "i", "<i8": "q"},
    **{"<f4": "f", "<f8": "d", "|b1": "?"},
}


class CutError(Exception):
    """The output ended before its end."""


class FormatError(Exception):
    """The output is not what this module can read."""


def name_of(members: Dict[str, Any], key: str) -> str:
    """A member that is a name. Bytes that are not UTF-8 are decoded as by os.fsdecode()."""
    raw = members.get(key + "_hex")
    return bytes.fromhex(raw).decode("utf-8", "surrogateescape") if raw else str(members[key])


# ---- columns ----


def _shown_single(value: float) -> float:
    """The double with the fewest digits that identify the value among single-precision numbers: 0.1 and not
    0.10000000149011612."""
    for digits in range(1 if abs(value) < 2.0**-126 else 6, 10):
        shown = float(f"{value:.{digits}g}")
        try:
            if struct.pack("<f", shown) == struct.pack("<f", value):
                return shown
        except OverflowError:
            # Rounded up, the greatest numbers are no single-precision numbers any more.
            continue
    return value


def _number(text: str) -> Union[int, float]:
    """A whole number in JSON. Only a floating-point number is written as -0."""
    return -0.0 if text == "-0" else int(text)


def _with_points(value: Any) -> Any:
    """A value of floating-point numbers from JSON, which has no point in a whole number."""
    if isinstance(value, list):
        return [_with_points(element) for element in value]
    return float(value) if isinstance(value, int) else value


class Field:
    """The name and the type of a column or of a field of a layout, from JSON as the header of a block has it."""

    __slots__ = ("name", "type", "has_floats", "is_hex", "names")

    def __init__(self, given: Dict[str, Any]) -> None:
        self.name: str = given["name"]
        self.type: str = given["type"]
        #: Whether each value, or each element of an array, is a floating-point number.
        self.has_floats = given.get("elements", self.type) in ("<f4", "<f8")
        self.is_hex = given.get("as") == "hex"
        #: For an enum the first name of each value.
        self.names: Dict[int, str] = dict(reversed(given.get("names", [])))

    @property
    def is_number(self) -> bool:
        return self.type in _FORMATS

    @property
    def is_float(self) -> bool:
        return self.type in ("<f4", "<f8")

    @property
    def is_plain(self) -> bool:
        """Whether values in JSON are those of the column."""
        return self.type == "text" or (self.is_number and not (self.is_float or self.is_hex or self.names))

    def shown(self, value: Any) -> Any:
        """What JSON has for a value of Column.to_list()."""
        if self.names:
            return self.names.get(value, value)
        if self.is_hex:
            return f"0x{value:x}"
        if self.type == "bytes":
            return value.hex()
        if self.type == "json":
            return json.loads(value, parse_int=float if self.has_floats else None)
        if self.is_float and value in (float("inf"), float("-inf")):
            return str(value)
        return _shown_single(value) if self.type == "<f4" else value

    def in_table(self, shown: Any) -> Any:
        """What a table has for a value of JSON."""
        if isinstance(shown, str) and self.is_hex:
            return int(shown, 16)
        return float(shown) if self.is_float else shown


class _Body:
    """The columns of a block, one after the other. Each begins at a multiple of eight bytes."""

    def __init__(self, raw: bytes) -> None:
        self._raw = memoryview(raw)
        self._at = 0

    def take(self, size: int) -> memoryview:
        part = self._raw[self._at : self._at + size]
        self._at += -(-size // 8) * 8
        return part


class Column:
    """The values of a column of a block."""

    __slots__ = ("field", "values", "_texts")

    def __init__(self, field: Field, body: _Body, rows: int, text_bytes: Iterator[int]) -> None:
        self.field = field
        #: The numbers or, for texts, the offsets at which they end.
        self.values = body.take(rows * (int(field.type[2]) if field.is_number else 4))
        self._texts = body.take(0 if field.is_number else next(text_bytes))

    def to_list(self) -> List[Any]:
        """The values: numbers; str for a text; bytes for what is none."""
        if self.field.is_number:
            return self.values.cast(_FORMATS[self.field.type]).tolist()
        ends = self.values.cast("I").tolist()
        texts: Any = self._texts.tobytes()
        is_text = self.field.type == "text"
        is_ascii = is_text and texts.isascii()
        if is_ascii:
            texts = texts.decode()
        parts = [texts[begin:end] for begin, end in zip([0, *ends], ends)]
        return [part.decode() for part in parts] if is_text and not is_ascii else parts


class Kind:
    """The events of one type that have their data in one form."""

    __slots__ = ("name", "type_id", "form", "fields", "head", "tail", "is_plain", "field_names")

    def __init__(self, given: Dict[str, Any]) -> None:
        self.name = name_of(given, "event")
        self.type_id: int = given["type_id"]
        self.form: str = given["form"]
        #: The fields of the layout.
        self.fields = [Field(field) for field in given["fields"]]
        self.field_names = [field.name for field in self.fields]
        self.is_plain = all(field.is_plain for field in self.fields)
        #: The members of JSON that are the same in all these events, before and after those of the data.
        self.head = {key: given[key] for key in ("event", "event_hex", "type_id") if key in given}
        self.tail = {key: given[key] for key in ("log", "log_hex", "host", "host_hex") if key in given}

    def data(self, row: Tuple[Any, ...]) -> Dict[str, Any]:
        """The data of an event in the form "fields" as in JSON."""
        if self.is_plain:
            return dict(zip(self.field_names, row))
        return {field.name: field.shown(value) for field, value in zip(self.fields, row)}

    def members(self, row: bytes) -> Dict[str, Any]:
        """The members of JSON for the data of an event in the form "members"."""
        members: Dict[str, Any] = json.loads(row, parse_int=_number)
        for field in self.fields:
            if field.has_floats and field.name in members["data"]:
                members["data"][field.name] = _with_points(members["data"][field.name])
        return members


class Origin:
    """What many events have in common."""

    __slots__ = ("kind", "number", "pid", "tid", "thread", "address", "truncated", "head")

    def __init__(self, kind: Kind, number: int, pid: int, tid: int, thread: int, address: int, cut: str) -> None:
        self.kind = kind
        self.number = number
        self.pid = pid
        self.tid = tid
        self.thread = thread
        self.address = address
        self.truncated = cut
        #: Members of JSON.
        self.head = {
            **kind.head,
            **{"pid": pid, "tid": tid, "thread": f"0x{thread:x}", "address": f"0x{address:x}", "truncated": cut},
        }


class Block:
    """A block of events."""

    def __init__(self, header: Dict[str, Any], raw: bytes) -> None:
        body = _Body(raw)
        self.rows: int = header["rows"]
        self.events = self._columns(header["events"], body, self.rows)
        self.origins = self._columns(header["origins"], body, header["origin_rows"])
        self.kinds = [Kind(kind) for kind in header["kinds"]]
        #: For each kind the columns of its data: one for each field in the form "fields", else one of bytes.
        self.data: List[List[Column]] = []
        for kind, given in zip(self.kinds, header["kinds"]):
            fields = kind.fields if kind.form == "fields" else [Field({"name": "data", "type": "bytes"})]
            text_bytes = iter(given["text_bytes"])
            self.data.append([Column(field, body, given["rows"], text_bytes) for field in fields])

    @staticmethod
    def _columns(given: Iterable[Dict[str, Any]], body: _Body, rows: int) -> Dict[str, Column]:
        return {column["name"]: Column(Field(column), body, rows, iter(())) for column in given}

    def _rows_of(self, number: int) -> Iterator[Any]:
        lists = [column.to_list() for column in self.data[number]]
        if self.kinds[number].form != "fields":
            return iter(lists[0])
        return zip(*lists) if lists else itertools.repeat(())

    def each(self, make: Callable[[Origin, int, int, Any], Any]) -> Iterator[Any]:
        """Calls make(origin, ns, len, row) for each event. A row is a tuple in the form "fields", else bytes."""
        takes = [self._rows_of(number).__next__ for number in range(len(self.kinds))]
        values = [self.origins[name].to_list() for name in ("kind", "pid", "tid", "thread", "address", "truncated")]
        cuts = self.origins["truncated"].field.names
        origins = [Origin(self.kinds[k], k, p, t, th, a, cuts[c]) for k, p, t, th, a, c in zip(*values)]
        places = [(origin, takes[origin.number]) for origin in origins]
        events = (self.events[name].to_list() for name in ("ns", "len", "origin"))
        for ns, size, number in zip(*events):
            origin, take = places[number]
            yield make(origin, ns, size, take())


def read(stream: BinaryIO) -> Union[Block, Dict[str, Any]]:
    """Reads the next block or, at the end, the summary."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise CutError
    try:
        header = json.loads(line.decode())
        if "summary" in header:
            summary: Dict[str, Any] = header["summary"]
            return summary
        version = header["version"]
    except (ValueError, KeyError, TypeError):
        raise FormatError("lines that are no columns") from None
    if version != VERSION:
        raise FormatError(f"columns of version {version}, which this module cannot read")
    body = stream.read(header["bytes"])
    if len(body) < header["bytes"]:
        raise CutError
    return Block(header, body)


# ---- tables ----


class Words:
    """A column whose values repeat: numbers of words, and the words."""

    def __init__(self, numbers: Any, words: Iterable[str]) -> None:
        self.numbers = numbers
        self.words = list(words)


class _Part:
    """The values of a field, or of all data, of some rows of a table."""

    __slots__ = ("places", "field", "values")

    def __init__(self, places: Any, field: Optional[Field], values: Any) -> None:
        self.places = places
        self.field = field
        #: A Column, or a list of objects.
        self.values = values


class Table:
    """The events of blocks as arrays."""

    def __init__(self, numpy: Any, blocks: List[Block]) -> None:
        self._numpy = numpy
        self._blocks = blocks
        self._rows = sum(block.rows for block in blocks)
        #: The parts of the columns of data, by the names of the columns.
        self._parts: Dict[str, List[_Part]] = {}

    def columns(self) -> Dict[str, Any]:
        """The columns: arrays, masked arrays or Words."""
        for begin, block in self._with_begins():
            self._take_data(begin, block)
        made: Dict[str, Any] = {"ns": self._common("ns", "<i8"), "event": self._words(lambda kind: kind.name)}
        for name, kind in (("pid", "<i4"), ("tid", "<i4"), ("thread", "<u8"), ("address", "<u8")):
            made[name] = self._of_origins(name, kind)
        made["truncated"] = Words(self._of_origins("truncated", "|u1"), ("no", "record", "read"))
        made["len"] = self._common("len", "<u4")
        # Those of fields come first.
        for name in sorted(self._parts, key=lambda name: not name.startswith("data.")):
            made[name] = self._joined(self._parts[name])
        if any(kind.tail for block in self._blocks for kind in block.kinds):
            made["log"] = self._words(lambda kind: name_of(kind.tail, "log"))
        return made

    def _with_begins(self) -> Iterator[Tuple[int, Block]]:
        begin = 0
        for block in self._blocks:
            yield begin, block
            begin += block.rows

    def _array(self, column: Column) -> Any:
        return self._numpy.frombuffer(column.values, dtype=column.field.type)

    def _common(self, name: str, kind: str) -> Any:
        made = self._numpy.empty(self._rows, dtype=kind)
        for begin, block in self._with_begins():
            made[begin : begin + block.rows] = self._array(block.events[name])
        return made

    def _spread(self, block: Block, values: Any) -> Any:
        """For each event the value of its origin."""
        return values[self._array(block.events["origin"])]

    def _of_origins(self, name: str, kind: str) -> Any:
        made = self._numpy.empty(self._rows, dtype=kind)
        for begin, block in self._with_begins():
            made[begin : begin + block.rows] = self._spread(block, self._array(block.origins[name]))
        return made

    def _words(self, word_of: Callable[[Kind], str]) -> Words:
        numbers: Dict[str, int] = {}
        made = self._numpy.empty(self._rows, dtype="<i4")
        for begin, block in self._with_begins():
            of_kinds = [numbers.setdefault(word_of(kind), len(numbers)) for kind in block.kinds]
            kinds = self._array(block.origins["kind"])
            made[begin : begin + block.rows] = self._spread(block, self._numpy.array(of_kinds)[kinds])
        return Words(made, numbers)

    def _add(self, name: str, places: Any, field: Optional[Field], values: Any) -> None:
        self._parts.setdefault(name, []).append(_Part(places, field, values))

    def _take_data(self, begin: int, block: Block) -> None:
        kind_of = None
        if len(block.kinds) > 1:
            kind_of = self._spread(block, self._array(block.origins["kind"]))
        for number, (kind, data) in enumerate(zip(block.kinds, block.data)):
            places: Any = slice(begin, begin + block.rows)
            if kind_of is not None:
                places = begin + self._numpy.flatnonzero(kind_of == number)
            if kind.form == "fields":
                for column in data:
                    self._add("data." + column.field.name, places, column.field, column)
            elif kind.form == "members":
                for place, row in zip(_each(places), data[0].to_list()):
                    self._take_members(place, kind, kind.members(row))
            else:
                self._add("data", places, None, data[0].to_list())

    def _take_members(self, place: int, kind: Kind, members: Dict[str, Any]) -> None:
        if "decode_error" in members:
            self._add("misfit", [place], None, [members["decode_error"]])
        if not kind.fields:
            self._add("data", [place], None, [data_of(members)])
        for field in kind.fields:
            data = members["data"]
            values = [field.in_table(data[field.name])] if field.name in data else []
            self._add("data." + field.name, [place] if values else [], field, values)

    def _type_of(self, parts: List[_Part]) -> Any:
        types = {part.field.type if part.field and not part.field.names else "" for part in parts}
        if len(types) == 1 and types <= set(_FORMATS):
            return self._numpy.dtype(types.pop())
        # Numbers of different size become the larger ones. Others have no type in common that is exact.
        if types <= {"|u1", "<u2", "<u4", "<u8"} or types <= {"|i1", "<i2", "<i4", "<i8"} or types <= {"<f4", "<f8"}:
            return self._numpy.result_type(*types)
        return self._numpy.dtype(object)

    def _joined(self, parts: List[_Part]) -> Any:
        """The column of the parts. Without a value, a row is None in a column of objects, and else masked."""
        numpy = self._numpy
        made = numpy.zeros(self._rows, dtype=self._type_of(parts))
        is_object = made.dtype == object
        lacks = numpy.ones(self._rows, dtype=bool)
        if is_object:
            made[:] = None
        for part in parts:
            if isinstance(part.values, Column) and not is_object:
                made[part.places] = self._array(part.values)
            else:
                values = _objects(part.values) if isinstance(part.values, Column) else part.values
                for place, value in zip(_each(part.places), values):
                    made[place] = value
            lacks[part.places] = False
        return numpy.ma.array(made, mask=lacks) if not is_object and lacks.any() else made


def _objects(column: Column) -> List[Any]:
    """The values of a column as objects. Numbers stay numbers, unless they are those of an enum."""
    field = column.field
    if field.type == "<f4":
        return [_shown_single(value) for value in column.to_list()]
    if field.type == "text" or (field.is_number and not field.names):
        return column.to_list()
    return [field.shown(value) for value in column.to_list()]


def _each(places: Any) -> Iterable[int]:
    each: Iterable[int] = range(places.start, places.stop) if isinstance(places, slice) else places
    return each


def data_of(members: Dict[str, Any]) -> Union[Dict[str, Any], bytes]:
    """The data of an event whose data JSON has as these members: a dict, or bytes."""
    data = members.get("data")
    if isinstance(data, dict):
        return data
    return bytes.fromhex(members.get("data_hex", "")) if data is None else str(data).encode()
