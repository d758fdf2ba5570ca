# SPDX-License-Identifier: MIT
"""Reads a trace of CTF, and prints a line of JSON for each event and each loss: read_ctf.py READER TRACE. The reader
is bt2, which is babeltrace2, or ctf2, which is ctf2.py. With a third operand, the lines of ptrace-dump --json of the
same events, it compares each event with its line instead, and prints how many there were."""

import importlib
import json
import math
import sys


def plain(field):
    """What a field is, as Python has it: an enum is its label, if there is one."""
    if isinstance(field, bt2._StructureFieldConst):
        return {name: plain(field[name]) for name in field}
    if isinstance(field, bt2._ArrayFieldConst):
        return [plain(item) for item in field]
    if has_ctf2 and isinstance(field, bt2._BlobFieldConst):
        return list(bytes(field.data))
    if has_ctf2 and isinstance(field, bt2._BoolFieldConst):
        return bool(field)
    if isinstance(field, bt2._EnumerationFieldConst):
        return {"labels": list(field.labels), "number": int(field)}
    if isinstance(field, bt2._IntegerFieldConst):
        return int(field)
    if isinstance(field, bt2._RealFieldConst):
        return float(field)
    return str(field)


def bt2_messages(path):
    env = None
    for message in bt2.TraceCollectionMessageIterator(path):
        if type(message) is bt2._DiscardedEventsMessageConst:
            yield {
                "discarded": message.count,
                "from": message.beginning_default_clock_snapshot.ns_from_origin,
                "to": message.end_default_clock_snapshot.ns_from_origin,
            }
        elif type(message) is bt2._EventMessageConst:
            event = message.event
            # All events of a trace have the same.
            env = env or {k: str(v) for k, v in event.stream.trace.environment.items()}
            line = {
                "ns": message.default_clock_snapshot.ns_from_origin,
                "event": event.name,
                "env": env,
                "fields": plain(event.payload_field) if event.payload_field is not None else {},
            }
            line.update(plain(event.common_context_field))
            for name in "log", "host":
                if event.packet.context_field is not None and name in event.packet.context_field:
                    line[name] = str(event.packet.context_field[name])
            yield line


def is_same(value, told):
    """Whether a field is what ptrace-dump tells."""
    if isinstance(value, dict):
        if isinstance(told, bool):
            return value["labels"] == [str(told).lower()] or value["number"] > 1
        return told in value["labels"] if value["labels"] else told == value["number"]
    if isinstance(value, list) and isinstance(told, str):
        return bytes(value).hex() == told
    if isinstance(value, list):
        return len(value) == len(told) and all(map(is_same, value, told))
    if isinstance(value, int) and isinstance(told, str):
        return value == int(told, 16)
    if isinstance(value, float):
        # JSON has no numbers for some.
        return value == float(told) or (math.isnan(value) and math.isnan(float(told)))
    if isinstance(value, str) and not isinstance(told, str):
        return json.loads(value) == told
    return value == told


def check(line, told):
    for key in "ns", "event", "pid", "tid":
        assert line[key] == told[key], key
    assert line["address"] == int(told["address"], 16), "address"
    fields = {k: v for k, v in line["fields"].items()}
    if told["truncated"] != "no":
        assert fields.pop("truncated")["labels"] == [told["truncated"]], "truncated"
    data = told.get("data")
    if "decode_error" in told or (data is None and "data_hex" in told):
        assert bytes(fields.get("data", [])).hex() == told["data_hex"], "data_hex"
    elif isinstance(data, dict) and not isinstance(fields.get("data"), str):
        names = [k for k in data if not k.endswith("_hex") or k in fields]
        lengths = {k for k in fields if k not in data}
        assert all(k.rstrip("_").endswith("_length") for k in lengths), "a field that is not there"
        for name in names:
            if isinstance(fields[name], str) and name + "_hex" in data:
                # Not UTF-8, or more behind a null byte.
                digits = fields[name].encode("utf-8", "surrogateescape").hex()
                assert data[name + "_hex"].startswith(digits), name
            else:
                assert is_same(fields[name], data[name]), name
    elif data is not None:
        assert is_same(fields["data"], data) if fields else data == "", "data"
    else:
        for key in "reason", "error":
            assert key not in told or fields["data"] == f"{key}={told[key]}", key


reader = importlib.import_module(sys.argv[1])
if sys.argv[1] == "bt2":
    bt2 = reader
    has_ctf2 = hasattr(bt2, "_BlobFieldConst")
    messages = bt2_messages
else:
    messages = reader.messages
if len(sys.argv) == 3:
    for line in messages(sys.argv[2]):
        # Numbers that jq would round are text, and a number that JSON does not have is missing.
        line = {k: str(v) if k in ("ns", "from", "to") else v for k, v in line.items()}
        if "fields" in line:
            line["fields"] = {k: v for k, v in line["fields"].items()
                              if not isinstance(v, float) or math.isfinite(v)}
        print(json.dumps(line))
else:
    events = [line for line in messages(sys.argv[2]) if "event" in line]
    with open(sys.argv[3], encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    assert len(events) == len(lines), (len(events), len(lines))
    for event, line in zip(events, lines):
        try:
            check(event, line)
        except (AssertionError, KeyError) as why:
            sys.exit(f"read_ctf.py: {why}: {event} is told as {line}")
    print(len(events))
