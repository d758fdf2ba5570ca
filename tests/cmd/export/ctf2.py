# SPDX-License-Identifier: MIT
"""A strict reader of CTF 2 (CTF2-SPEC-2.0), for those of its classes that ptrace-export writes. Metadata that the
specification does not allow, and packets that are not what the metadata say, are errors."""

import heapq
import json
import os
import struct
import sys

BASES = 2, 8, 10, 16
SCOPES = {
    "packet-header": ["packet-magic-number", "metadata-stream-uuid", "data-stream-class-id", "data-stream-id"],
    "packet-context": ["default-clock-timestamp", "packet-end-default-clock-timestamp", "packet-content-length",
                       "packet-total-length", "packet-sequence-number",
                       "discarded-event-record-counter-snapshot"],
    "event-record-header": ["default-clock-timestamp", "event-record-class-id"],
    "event-record-common-context": [],
    "event-record-payload": [],
}
IDENTITY = ["namespace", "name", "uid"]
# The properties of fragments: those that are needed, and others that are allowed.
FRAGMENTS = {
    "preamble": (["version"], ["uuid"]),
    "trace-class": ([], IDENTITY + ["environment", "packet-header-field-class"]),
    "clock-class": (["id", "frequency"], IDENTITY + ["description", "precision", "accuracy", "origin",
                                                     "offset-from-origin"]),
    "data-stream-class": ([], IDENTITY + ["id", "default-clock-class-id", "packet-context-field-class",
                                          "event-record-header-field-class",
                                          "event-record-common-context-field-class"]),
    "event-record-class": ([], IDENTITY + ["id", "data-stream-class-id", "specific-context-field-class",
                                           "payload-field-class"]),
}
BITS = ["length", "byte-order"], ["bit-order", "alignment"]
INTEGER = BITS[0], BITS[1] + ["preferred-display-base", "mappings"]
FIELD_CLASSES = {
    "fixed-length-boolean": BITS,
    "fixed-length-unsigned-integer": (INTEGER[0], INTEGER[1] + ["roles"]),
    "fixed-length-signed-integer": INTEGER,
    "fixed-length-floating-point-number": BITS,
    "null-terminated-string": ([], ["encoding"]),
    "static-length-string": (["length"], ["encoding"]),
    "static-length-blob": (["length"], ["media-type", "roles"]),
    "dynamic-length-blob": (["length-field-location"], ["media-type"]),
    "structure": ([], ["member-classes", "minimum-alignment"]),
    "static-length-array": (["element-field-class", "length"], ["minimum-alignment"]),
    "dynamic-length-array": (["element-field-class", "length-field-location"], ["minimum-alignment"]),
}


class Wrong(Exception):
    pass


def need(holds, *why):
    if not holds:
        raise Wrong(" ".join(str(w) for w in why)[:600])


def is_integer(value, least=None):
    return isinstance(value, int) and not isinstance(value, bool) and (least is None or value >= least)


def check_object(what, types):
    need(isinstance(what, dict) and what.get("type") in types, "no known type:", what)
    needed, allowed = types[what["type"]]
    for key in needed:
        need(key in what, f"no {key} in", what)
    for key in what:
        need(key in needed + allowed + ["type", "attributes"], f"{key} is not allowed in", what)
    need(isinstance(what.get("attributes", {}), dict), "attributes are no object in", what)


def check_roles(c, scope):
    for role in c.get("roles", []):
        need(role in SCOPES[scope], f"the role {role} is not for the {scope}")
        is_uuid = role == "metadata-stream-uuid"
        need(is_uuid == (c["type"] == "static-length-blob"), "the wrong class for the role", role)
        if is_uuid:
            need(c["length"] == 16, "a UUID of", c["length"], "bytes")
        if role == "packet-magic-number":
            need(c["length"] == 32, "a magic number of", c["length"], "bits")


def check_mappings(c):
    is_signed = c["type"] == "fixed-length-signed-integer"
    low, high = (-1 << 63, (1 << 63) - 1) if is_signed else (0, (1 << 64) - 1)
    for name, ranges in c["mappings"].items():
        need(isinstance(ranges, list) and ranges, "a mapping without a range:", name)
        for first, last in ranges:
            need(is_integer(first) and is_integer(last) and low <= first <= last <= high, "a range of", name)


def check_number(c):
    sizes = [32, 64] if c["type"] == "fixed-length-floating-point-number" else [8, 16, 32, 64]
    need(is_integer(c["length"]) and c["length"] in sizes, "the size of", c)
    # Other alignments, and the other byte order, are allowed, but not read here.
    need(c["byte-order"] == "little-endian" and c.get("alignment", 1) in (1, 2, 4, 8), "the place of", c)
    need(c.get("preferred-display-base", 10) in BASES, "the base of", c)
    if "mappings" in c:
        check_mappings(c)


def check_structure(c, scope, before):
    names = []
    for member in c.get("member-classes", []):
        need(set(member) <= {"name", "field-class", "attributes"}, "a member", member)
        need(isinstance(member["name"], str) and member["name"] not in names, "the name of a member", member)
        check_class(member["field-class"], scope, before + names)
        names.append(member["name"])


def check_class(c, scope, before=[]):
    """Checks a class of fields in this scope. Fields of the names in `before` precede it."""
    check_object(c, FIELD_CLASSES)
    check_roles(c, scope)
    if c["type"].startswith("fixed-length"):
        check_number(c)
    elif "length" in c:
        need(is_integer(c["length"], 0), "the length of", c)
    if c["type"] == "structure":
        check_structure(c, scope, before)
    if "element-field-class" in c:
        check_class(c["element-field-class"], scope, before)
    if "length-field-location" in c:
        place = c["length-field-location"]
        need(set(place) <= {"origin", "path"} and place.get("origin", scope) == scope, "the place", place)
        need(len(place["path"]) == 1 and place["path"][0] in before, "a length that does not precede:", place)


def check_clock(f):
    need(is_integer(f["frequency"], 1) and isinstance(f["id"], str), "the clock", f)
    need(f.get("origin", "unix-epoch") == "unix-epoch", "the origin of the clock", f)
    offset = f.get("offset-from-origin", {})
    need(set(offset) <= {"seconds", "cycles"} and is_integer(offset.get("seconds", 0)), "the offset", offset)
    need(is_integer(offset.get("cycles", 0), 0) and offset.get("cycles", 0) < f["frequency"], "the offset", offset)
    for key in "precision", "accuracy":
        need(is_integer(f.get(key, 0), 0), key)


def check_environment(f):
    for key, value in f.get("environment", {}).items():
        need(isinstance(value, str) or is_integer(value), "the value of", key)


def unique(pairs):
    keys = [key for key, _ in pairs]
    need(len(keys) == len(set(keys)), "a key is there twice in", keys)
    return dict(pairs)


def no_constant(text):
    raise Wrong(f"{text} is no JSON")


class Metadata:
    """What the fragments of a file say. Those that others refer to come first."""

    def __init__(self, path):
        with open(path, "rb") as file:
            texts = file.read().split(b"\x1e")
        need(texts.pop(0) == b"", "no record separator at the start")
        self.trace, self.clock, self.stream, self.events, self.uuid = {}, None, None, {}, None
        for i, text in enumerate(texts):
            need(text.endswith(b"\n"), "no line feed at the end of", text)
            f = json.loads(text.decode("utf-8"), object_pairs_hook=unique, parse_constant=no_constant)
            check_object(f, FRAGMENTS)
            need((f["type"] == "preamble") == (i == 0), "the place of the preamble")
            for key in IDENTITY:
                need(isinstance(f.get(key, ""), str), key, "is no text")
            for key, value in f.items():
                if key.endswith("-field-class"):
                    scope = {"payload": "event-record-payload"}.get(key[:-12], key[:-12])
                    need(value["type"] == "structure", key, "is no structure")
                    check_class(value, scope)
            getattr(self, "take_" + f["type"].replace("-", "_"))(f)
        need(self.stream, "no class of streams")

    def take_preamble(self, f):
        need(f["version"] == 2, "version", f["version"])
        need(len(f["uuid"]) == 16 and all(is_integer(b, 0) and b < 256 for b in f["uuid"]), "the UUID")
        self.uuid = bytes(f["uuid"])

    def take_trace_class(self, f):
        need(not self.trace and not self.stream, "a second class of traces, or a late one")
        check_environment(f)
        header = f["packet-header-field-class"]["member-classes"]
        need(header[0]["field-class"]["roles"] == ["packet-magic-number"], "the magic number is not the first")
        self.trace = f

    def take_clock_class(self, f):
        need(not self.clock, "a second clock")
        check_clock(f)
        self.clock = f

    def take_data_stream_class(self, f):
        need(not self.stream and is_integer(f.get("id", 0), 0), "a second class of streams")
        need(self.clock and f["default-clock-class-id"] == self.clock["id"], "the clock of the stream")
        self.stream = f

    def take_event_record_class(self, f):
        need(self.stream and f.get("data-stream-class-id", 0) == self.stream.get("id", 0), "no class of streams")
        need(is_integer(f.get("id", 0), 0) and f.get("id", 0) not in self.events, "the number of", f)
        self.events[f.get("id", 0)] = f

    def ns(self, cycles):
        offset = self.clock.get("offset-from-origin", {})
        cycles += offset.get("cycles", 0)
        return offset.get("seconds", 0) * 10**9 + cycles * 10**9 // self.clock["frequency"]


class Cursor:
    """The bytes of a packet, and the values with roles that were read from it."""

    def __init__(self, data, at):
        self.data, self.at, self.clock, self.roles = data, at, 0, {}

    def take(self, size):
        need(self.at + size <= len(self.data), "the data end at", len(self.data))
        self.at += size
        return self.data[self.at - size:self.at]

    def see(self, c, value):
        for role in c.get("roles", []):
            if role == "default-clock-timestamp":
                # The lower bits of the clock. If they are less than before, they have wrapped around.
                high = self.clock >> c["length"] << c["length"]
                wrap = 1 << c["length"] if c["length"] < 64 and high + value < self.clock else 0
                self.clock = high + wrap + value
            self.roles[role] = value

    def number(self, c):
        letters = {"fixed-length-floating-point-number": " fd",
                   "fixed-length-signed-integer": "bhiq"}.get(c["type"], "BHIQ")
        letter = letters[{8: 0, 16: 1, 32: 1 if letters[0] == " " else 2, 64: 2 if letters[0] == " " else 3}[c["length"]]]
        value = struct.unpack("<" + letter, self.take(c["length"] // 8))[0]
        self.see(c, value)
        if c["type"] == "fixed-length-boolean":
            return bool(value)
        if "mappings" not in c:
            return value
        names = [n for n, ranges in c["mappings"].items() if any(a <= value <= b for a, b in ranges)]
        return {"labels": names, "number": value}

    def field(self, c, around):
        kind = c["type"]
        length = c.get("length", 0)
        if "length-field-location" in c:
            length = around[c["length-field-location"]["path"][0]]
        if kind == "structure":
            fields = {}
            for member in c["member-classes"]:
                fields[member["name"]] = self.field(member["field-class"], fields)
            return fields
        if kind.endswith("array"):
            return [self.field(c["element-field-class"], around) for _ in range(length)]
        if kind.endswith("blob"):
            value = self.take(length)
            self.see(c, value)
            return list(value)
        if kind == "static-length-string":
            return self.take(length).split(b"\0")[0].decode("utf-8", "surrogateescape")
        if kind == "null-terminated-string":
            end = self.data.index(b"\0", self.at)
            return self.take(end + 1 - self.at)[:-1].decode("utf-8", "surrogateescape")
        return self.number(c)


def stream(path, m, number):
    """Yields the time, the number of the stream, and a line for each event and each loss, as read_ctf.py does."""
    with open(path, "rb") as file:
        data = file.read()
    at, sequence, lost, ended = 0, 0, 0, None
    need(data, "no packet in", path)
    while at < len(data):
        c = Cursor(data, at)
        c.field(m.trace["packet-header-field-class"], {})
        need(c.roles["packet-magic-number"] == 0xc1fc1fc1 and c.roles["metadata-stream-uuid"] == m.uuid, "the header")
        need(c.roles["data-stream-class-id"] == m.stream.get("id", 0) and c.roles["data-stream-id"] == number, "the stream")
        context = c.field(m.stream["packet-context-field-class"], {})
        content, total = c.roles["packet-content-length"], c.roles["packet-total-length"]
        need(content == total and total % 8 == 0 and at + total // 8 <= len(data), "the size of the packet")
        at += total // 8
        c.data = data[:at]
        end = c.roles["packet-end-default-clock-timestamp"]
        need(c.roles["packet-sequence-number"] == sequence and (ended or 0) <= c.clock <= end, "the order of packets")
        now = c.roles["discarded-event-record-counter-snapshot"]
        need(now >= lost and (sequence or not now), "the number of lost events")
        if now > lost:
            yield m.ns(ended), number, {"discarded": now - lost, "from": m.ns(ended), "to": m.ns(end)}
        sequence, lost, ended = sequence + 1, now, end
        while c.at < at:
            c.field(m.stream["event-record-header-field-class"], {})
            need(c.clock <= end, "an event after the end of its packet")
            known = m.events[c.roles["event-record-class-id"]]
            line = {"ns": m.ns(c.clock), "event": known["name"], "env": m.trace["environment"]}
            line.update(c.field(m.stream["event-record-common-context-field-class"], {}))
            line["fields"] = c.field(known["payload-field-class"], {})
            line.update({key: context[key] for key in ("log", "host") if key in context})
            yield line["ns"], number, line


def messages(path):
    try:
        m = Metadata(os.path.join(path, "metadata"))
        files = [name for name in os.listdir(path) if name != "metadata"]
        need(sorted(files) == sorted(f"stream_{i}" for i in range(len(files))), "other files:", files)
        streams = [stream(os.path.join(path, f"stream_{i}"), m, i) for i in range(len(files))]
        for _, _, line in heapq.merge(*streams, key=lambda message: message[:2]):
            yield line
    except (Wrong, KeyError, ValueError, TypeError, struct.error) as why:
        sys.exit(f"ctf2.py: {path}: {type(why).__name__}: {why}")
