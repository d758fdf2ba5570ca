# SPDX-License-Identifier: MIT
"""Reads what protoc has decoded of a trace of Perfetto, sorts it by time as Perfetto does, checks that
slices of a track nest, and prints events and slices, a line of JSON each:
protoc --decode=Trace perfetto.proto < trace | read_perfetto.py"""

import collections
import json
import re
import sys


def message(lines):
    """The fields of a message up to its closing brace, as lists of values by name."""
    fields = collections.defaultdict(list)
    for line in lines:
        line = line.strip()
        if line == "}":
            break
        if line.endswith("{"):
            fields[line[:-1].strip()].append(message(lines))
        else:
            name, value = line.split(": ", 1)
            if not re.fullmatch(r"[a-z_]+", name):
                sys.exit(f"read_perfetto.py: unknown field {line}")
            fields[name].append(value)
    return fields


def text(quoted):
    # protoc escapes bytes by octal digits.
    return quoted[1:-1].encode().decode("unicode_escape").encode("latin-1").decode("utf-8")


def annotation(a):
    for kind in ("bool_value", "uint_value", "int_value", "double_value"):
        if kind in a:
            return json.loads(a[kind][0].replace("nan", '"nan"').replace("inf", '"inf"'))
    if "string_value" in a:
        return text(a["string_value"][0])
    if "array_values" in a:
        return [annotation(v) for v in a["array_values"]]
    return {text(e["name"][0]): annotation(e) for e in a["dict_entries"]}


trace = message(iter(sys.stdin))
names, tracks, events = {}, {}, []
functions, frames, callstacks, mappings = {}, {}, {}, {}
for packet in trace["packet"]:
    for data in packet["interned_data"]:
        for name in data["event_names"]:
            names[name["iid"][0]] = text(name["name"][0])
        for name in data["function_names"]:
            functions[name["iid"][0]] = text(name["str"][0])
        for mapping in data["mappings"]:
            mappings[mapping["iid"][0]] = mapping
        for frame in data["frames"]:
            mappings[frame["mapping_id"][0]]
            frames[frame["iid"][0]] = functions[frame["function_name_id"][0]]
        for stack in data["callstacks"]:
            callstacks[stack["iid"][0]] = [frames[f] for f in stack["frame_ids"]]
    for sample in packet["perf_sample"]:
        stack = callstacks[sample["callstack_iid"][0]] if "callstack_iid" in sample else []
        row = {"ns": int(packet["timestamp"][0]), "sample": stack, "args": {}}
        for key in "pid", "tid", "cpu":
            row[key] = int(sample[key][0]) if key in sample else None
        print(json.dumps(row))
    for track in packet["track_descriptor"]:
        tracks[track["uuid"][0]] = track
    for event in packet["track_event"]:
        events.append((int(packet["timestamp"][0]), event))


def name_of(uuid):
    track = tracks[uuid]
    for thread in track["thread"]:
        return text(thread["thread_name"][0])
    for process in track["process"]:
        return text(process["process_name"][0])
    return text(track["name"][0])


stacks = collections.defaultdict(list)
for ns, event in sorted(events, key=lambda e: e[0]):
    track = event["track_uuid"][0]
    row = {"ns": ns, "track": name_of(track)}
    row["args"] = {text(a["name"][0]): annotation(a) for a in event["debug_annotations"]}
    if "flow_ids" in event:
        row["flow"] = event["flow_ids"][0]
    kind = event["type"][0]
    if kind == "2":
        if not stacks[track]:
            sys.exit(f"read_perfetto.py: {row}: ends nothing")
        begin = stacks[track].pop()
        begin["dur"] = ns - begin["ns"]
        begin["args"].update(row["args"])
        print(json.dumps(begin))
        continue
    if kind == "4":
        row["value"] = (event["counter_value"] + event["double_counter_value"])[0]
    else:
        row["name"] = names[event["name_iid"][0]]
    if kind == "1":
        stacks[track].append(row)
    else:
        print(json.dumps(row))
for stack in stacks.values():
    for row in stack:
        print(json.dumps(row))
