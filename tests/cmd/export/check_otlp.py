# SPDX-License-Identifier: MIT
"""Checks what an export in OTLP's lines of JSON has to be, by the rules of OpenTelemetry's .proto files and of
their mapping to JSON, and prints its spans and log records, a line of JSON each: check_otlp.py < trace.jsonl.
Values are printed with their type, such as "int 5". Says what is wrong, and exits with 1, if something is.
--orphans: parents may be missing."""

import base64
import json
import re
import sys


def fail(reason, thing):
    sys.exit(f"check_otlp.py: {reason}: {json.dumps(thing)[:1000]}")


def unique(pairs):
    if len({k for k, _ in pairs}) != len(pairs):
        fail("a key is there twice", pairs)
    return dict(pairs)


def members(thing, needed, possible=()):
    """The object has these members and no others."""
    if not isinstance(thing, dict) or set(needed) - set(thing) or set(thing) - set(needed) - set(possible):
        fail(f"not an object of {needed} and perhaps {possible}", thing)
    return thing


def integer(text, bits, is_signed):
    if not isinstance(text, str) or not re.fullmatch("-?(0|[1-9][0-9]*)", text):
        fail("not a 64-bit integer as text", text)
    if not -(2 ** (bits - 1)) * is_signed <= int(text) < 2 ** (bits - is_signed):
        fail("integer out of range", text)
    return int(text)


def identifier(text, digits):
    if not isinstance(text, str) or not re.fullmatch(f"[0-9a-f]{{{digits}}}", text) or not text.strip("0"):
        fail(f"not {digits} hexadecimal digits", text)
    return text


def value(v):
    if len(v) > 1:
        fail("several values", v)
    for kind, one in v.items():
        if kind == "stringValue" and isinstance(one, str):
            return "string " + one
        if kind == "boolValue" and isinstance(one, bool):
            return f"bool {one}".lower()
        if kind == "intValue":
            return f"int {integer(one, 64, True)}"
        if kind == "doubleValue" and (isinstance(one, (int, float)) or one in ("NaN", "Infinity", "-Infinity")):
            return f"double {one}"
        if kind == "bytesValue" and isinstance(one, str):
            return "bytes " + base64.b64decode(one, validate=True).hex()
        if kind == "arrayValue":
            return [value(item) for item in members(one, ["values"])["values"]]
        fail("not a value", v)
    return None


def attributes(pairs):
    for pair in pairs:
        if not members(pair, ["key", "value"])["key"]:
            fail("a key is empty", pair)
    return unique([(pair["key"], value(pair["value"])) for pair in pairs])


spans, records = {}, []
for line in sys.stdin.buffer:
    if len(line) > 2**20:
        fail("a line is longer than 1 MiB", len(line))
    request = json.loads(line.decode("utf-8"), object_pairs_hook=unique,
                         parse_constant=lambda c: sys.exit(f"{c} in JSON"))
    kind = "Spans" if "resourceSpans" in request else "Logs"
    scopes, items = "scope" + kind, "spans" if kind == "Spans" else "logRecords"
    of_line = members(request, ["resource" + kind])["resource" + kind]
    if not of_line or not all(r[scopes] for r in of_line):
        fail("an empty request", request)
    for of_resource in of_line:
        members(of_resource, ["resource", scopes])
        resource = attributes(members(of_resource["resource"], ["attributes"])["attributes"])
        if not resource["service.name"]:
            fail("no service", resource)
        for of_scope in of_resource[scopes]:
            members(of_scope, ["scope", items])
            if members(of_scope["scope"], ["name", "version"])["name"] != "posixtrace" or not of_scope[items]:
                fail("not a scope with items", of_scope["scope"])
            for item in of_scope[items]:
                one = {"kind": "span" if kind == "Spans" else "log", "resource": resource,
                       "attributes": attributes(item["attributes"])}
                if kind == "Spans":
                    members(item, ["traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano",
                                   "attributes"], ["parentSpanId"])
                    one["name"] = item["name"]
                    one["start"] = integer(item["startTimeUnixNano"], 64, False)
                    one["end"] = integer(item["endTimeUnixNano"], 64, False)
                    if not item["name"] or item["kind"] != 1 or one["start"] > one["end"]:
                        fail("no name, no INTERNAL span, or an end before the start", item)
                    if "parentSpanId" in item:
                        one["parent"] = identifier(item["parentSpanId"], 16)
                    if item["spanId"] in spans:
                        fail("two spans have one number", item)
                    spans[item["spanId"]] = one
                else:
                    members(item, ["timeUnixNano", "severityNumber", "eventName", "body", "attributes"],
                            ["traceId", "spanId"])
                    one["name"], one["severity"] = item["eventName"], item["severityNumber"]
                    one["time"] = integer(item["timeUnixNano"], 64, False)
                    if item["severityNumber"] not in (9, 13) or value(item["body"]) != "string " + item["eventName"]:
                        fail("severity or body is wrong", item)
                    if ("traceId" in item) != ("spanId" in item):
                        fail("half of a span's numbers", item)
                    records.append(one)
                if "traceId" in item:
                    one["trace"] = identifier(item["traceId"], 32)
                    one["id"] = identifier(item["spanId"], 16)

orphans = "--orphans" in sys.argv
started = {r["id"]: r for r in records if r["attributes"].get("missing") == "string end"}
for span in spans.values():
    parent = span.get("parent")
    if not parent:
        if not span["trace"].endswith(span["id"]):
            fail("the trace is not that of its outermost span", span)
        continue
    around = spans.get(parent) or started.get(parent)
    if not around and not orphans:
        fail("the parent is missing", span)
    if around and around["trace"] != span["trace"]:
        fail("the parent is of another trace", span)
    if around and around.get("start", around.get("time")) > span["start"]:
        fail("the parent starts later", span)
for record in records:
    if "id" in record and record["id"] in spans and spans[record["id"]]["trace"] != record["trace"]:
        fail("the span of a record is of another trace", record)

for one in sorted(spans.values(), key=lambda s: (s["start"], -s["end"])) + records:
    print(json.dumps(one, ensure_ascii=False))
