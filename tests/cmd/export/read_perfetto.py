# SPDX-License-Identifier: MIT
"""Reads what protoc has decoded of a trace of Perfetto, sorts it by time as Perfetto does, checks that
slices of a track nest, and prints events, slices and states of state tracks, a line of JSON each:
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
    return annotations(a["dict_entries"])


def annotations(entries):
    return {labels[e["name_iid"][0]]: annotation(e) for e in entries}


def intern(table, entry, value):
    """A number stands for one thing, and each thing is told once."""
    if entry["iid"][0] in table or value in table.values():
        sys.exit(f"read_perfetto.py: {value} is told again")
    table[entry["iid"][0]] = value


def look_at_flags(packet):
    """The first packet of the sequence clears what is interned; those that need it say so."""
    flags = int(packet["sequence_flags"][0]) if "sequence_flags" in packet else 0
    is_first = not (names or labels or events)
    if "interned_data" in packet and flags != (1 if is_first else 2):
        sys.exit(f"read_perfetto.py: flags {flags} with interned data")
    if ("track_event" in packet or "perf_sample" in packet) and flags != 2:
        sys.exit(f"read_perfetto.py: flags {flags} with an event")


trace = message(iter(sys.stdin))
names, labels, tracks, events = {}, {}, {}, []
functions, frames, callstacks, mappings = {}, {}, {}, {}
for packet in trace["packet"]:
    look_at_flags(packet)
    for data in packet["interned_data"]:
        for name in data["event_names"]:
            intern(names, name, text(name["name"][0]))
        for name in data["debug_annotation_names"]:
            intern(labels, name, text(name["name"][0]))
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
        # Only what has been told before is known.
        args = annotations(event["debug_annotations"])
        if "name_iid" in event:
            names[event["name_iid"][0]]
        events.append((int(packet["timestamp"][0]), event, args))


def name_of(uuid):
    track = tracks[uuid]
    for thread in track["thread"]:
        return text(thread["thread_name"][0])
    for process in track["process"]:
        return text(process["process_name"][0])
    return text(track["name"][0])


stacks = collections.defaultdict(list)
states = {}
for ns, event, args in sorted(events, key=lambda e: e[0]):
    track = event["track_uuid"][0]
    row = {"ns": ns, "track": name_of(track), "args": args}
    if "flow_ids" in event:
        row["flow"] = event["flow_ids"][0]
    kind = event["type"][0]
    if (kind == "5") != ("state" in tracks[track]):
        sys.exit(f"read_perfetto.py: {row}: type {kind} on another kind of track")
    if kind == "5":
        # As of Perfetto 57: an event sets the state, one without a name sets none.
        before = states.pop(track, None)
        if before:
            before["dur"] = ns - before["ns"]
            print(json.dumps(before))
        if "name_iid" in event:
            row["state"] = names[event["name_iid"][0]]
            row["thread"] = name_of(tracks[track]["parent_uuid"][0])
            states[track] = row
        elif not before or row["args"]:
            sys.exit(f"read_perfetto.py: {row}: ends no state")
        continue
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
for row in states.values():
    print(json.dumps(row))
for stack in stacks.values():
    for row in stack:
        print(json.dumps(row))
