#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What ptrace-dump writes with --format=columns, compared with its JSON.

columns.py same OPTION...      whether columns, made JSON again, are the JSON of the command with these options
columns.py random LAYOUT SEED  events for made_log: an event type with the layout, and random data of all sizes
columns.py table OPTION...     whether to_numpy() and to_pandas() of the module have what its events have
"""
import io
import json
import random
import subprocess
import sys

import posixtrace
from posixtrace import _columns


def run(form, options):
    command = ["ptrace-dump", f"--format={form}", *(["--summary"] if form == "json" else []), *options]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.stdout, done.stderr, done.returncode


def lines_of(columns):
    """The columns as lines of JSON, with a summary as the last one."""
    stream = io.BytesIO(columns)
    while stream.tell() < len(columns):
        block = _columns.read(stream)
        if isinstance(block, dict):
            yield {"summary": block}
            break
        for event in block.each(posixtrace.LogEvent):
            yield event.fields
    rest = stream.read()
    if rest:
        sys.exit(f"{len(rest)} bytes follow the summary")


def is_equal(line, got):
    """Whether values are the same, in order and types. A whole number in a field of floats is a float, and has no point
    in JSON."""
    if isinstance(line, dict) and isinstance(got, dict):
        return list(line) == list(got) and all(is_equal(line[key], got[key]) for key in line)
    if isinstance(line, list) and isinstance(got, list):
        return len(line) == len(got) and all(map(is_equal, line, got))
    return line == got and (type(line) is type(got) or (type(line), type(got)) == (int, float))


def same(options):
    lines, messages, status = run("json", options)
    columns, *others = run("columns", options)
    if [messages, status] != others:
        sys.exit(f"JSON: {status} {messages!r}, columns: {others}")
    expected = [json.loads(line) for line in lines.split(b"\n")[:-1]]
    count = 0
    for line, got in zip(expected, lines_of(columns)):
        count += 1
        if not is_equal(line, got):
            sys.exit(f"line {count}\nJSON    {json.dumps(line)}\ncolumns {json.dumps(got)}")
    if count != len(expected) or not count or "summary" not in expected[-1]:
        sys.exit(f"{len(expected)} lines of JSON, {count} in columns")
    print(count - 1)


def make_random(layout, seed):
    chance = random.Random(seed)
    print("layout random", layout)
    for i in range(400):
        data = bytearray(chance.randbytes(chance.randrange(64)))
        # Small numbers, so that some bytes are zero, text or a name of an enum.
        for k in range(len(data)):
            if chance.random() < 0.6:
                data[k] = chance.choice(b"\0\0\1\2a[{}]\"7")
        print("event", i * 1000, chance.randrange(3), chance.randrange(3), "random", f"hex:{data.hex()}")


def plain(value, numpy):
    """A value of an array as Python has it; None for one that is missing."""
    if value is numpy.ma.masked:
        return None
    return value.item() if isinstance(value, numpy.generic) else value


def is_same(got, expected, array):
    """Whether a value of the array is that of the event, where numbers may be texts: "0x7f" and "nan"."""
    if isinstance(expected, str) and isinstance(got, int):
        return got == int(expected, 16)
    if isinstance(expected, (str, int, float)) and isinstance(got, float):
        # A single-precision number has fewer digits in JSON.
        expected = float(expected) if array.dtype == object else array.dtype.type(expected)
        return got == expected or (got != got and expected != expected)
    return type(got) is type(expected) and got == expected


def table(options):
    import numpy
    import pandas

    where = [option[len("--where=") :] for option in options if option.startswith("--where=")]
    logs = [option for option in options if not option.startswith("--")]
    opens = lambda: posixtrace.open(*logs, where=where[0] if where else None, on_loss="ignore")
    events = list(opens())
    arrays = opens().to_numpy()
    frame = opens().to_pandas()
    if list(frame.columns) != ["time", *arrays]:
        sys.exit(f"{list(frame.columns)}: other columns than {list(arrays)}")
    for i, event in enumerate(events):
        # Data that is JSON as a whole has no columns of its own.
        has_columns = event._origin.kind.form == "fields" or event._origin.kind.fields
        data = event.data if has_columns else {}
        row = {name: plain(array[i], numpy) for name, array in arrays.items()}
        expected = {name: event.fields.get(name) for name in ("ns", "pid", "tid", "truncated", "len", "log")}
        expected.update(event=event.name, thread=event.thread, address=event.address, misfit=event.misfit)
        expected.update({"data." + name: value for name, value in data.items() if not name.endswith("_hex")})
        if not has_columns:
            expected["data"] = event.data
        for name, value in row.items():
            if not is_same(value, expected.get(name), arrays[name]):
                sys.exit(f"event {i}, {name}: {value!r}, not {expected.get(name)!r}")
        for name in set(expected) - set(row):
            if expected[name] is not None:
                sys.exit(f"event {i}: no column {name}")
        for name, value in row.items():
            cell = frame[name][i]
            if value is None or value != value:
                if not (cell is None or pandas.isna(cell)):
                    sys.exit(f"event {i}, {name}: pandas has {cell!r} and not NA")
            elif cell != value and not isinstance(value, (list, dict)):
                sys.exit(f"event {i}, {name}: pandas has {cell!r} and not {value!r}")
        if frame["time"][i].value != event.ns:
            sys.exit(f"event {i}: {frame['time'][i]} is not {event.ns}")
    print(len(events))


if sys.argv[1] == "random":
    make_random(*sys.argv[2:])
else:
    {"same": same, "table": table}[sys.argv[1]](sys.argv[2:])
