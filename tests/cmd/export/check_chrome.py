# SPDX-License-Identifier: MIT
"""Checks what an export in the Trace Event Format has to be, and prints its events, a line of JSON
each: check_chrome.py < trace.json. Says what is wrong, and exits with 1, if something is."""

import collections
import json
import re
import sys


def fail(reason, event):
    sys.exit(f"check_chrome.py: {reason}: {json.dumps(event)}")


text = sys.stdin.buffer.read().decode("utf-8")
# Python's numbers would hide how many decimals there are.
trace = json.loads(text, parse_float=str, parse_constant=lambda c: sys.exit(f"{c} in JSON"))
events = trace["traceEvents"]
named, lanes = set(), collections.defaultdict(list)
opened, closed = {}, {}
starts, ends = {}, {}


def ns(event, key):
    value = event[key]
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]+\.[0-9]{3}", value):
        fail(f"{key} has not three decimals, or is negative", event)
    return int(value.replace(".", ""))


for e in events:
    phase = e["ph"]
    if not isinstance(e["pid"], int) or not 0 <= e["pid"] < 2**31:
        fail("pid is no small number", e)
    if phase != "M" or e["name"] != "process_name":
        if not isinstance(e["tid"], int) or not 0 <= e["tid"] < 2**31:
            fail("tid is no small number", e)
    if phase == "M":
        if e["name"] == "process_name":
            named.add(e["pid"])
        elif e["name"] == "thread_name":
            named.add((e["pid"], e["tid"]))
        elif e["name"] != "thread_sort_index":
            fail("unknown metadata", e)
        continue
    if e["pid"] not in named or (e["pid"], e["tid"]) not in named:
        fail("process or thread without a name before it", e)
    ts = ns(e, "ts")
    if not e["cat"]:
        fail("no category", e)
    if phase == "X":
        lanes[e["pid"], e["tid"]].append((ts, -ns(e, "dur"), e))
    elif phase in "be":
        side = opened if phase == "b" else closed
        key = (e["cat"], e["id"], e["name"])
        if key in side:
            fail("two asynchronous slices have one id", e)
        side[key] = ts
    elif phase == "P":
        frame = str(e["sf"])
        while frame:
            if frame not in trace["stackFrames"]:
                fail("no such stack", e)
            frame = trace["stackFrames"][frame].get("parent")
    elif phase in "sf":
        (starts if phase == "s" else ends)[e["id"]] = (e["pid"], e["tid"], ts)
    elif phase == "C":
        for value in e["args"].values():
            if isinstance(value, bool) or not re.fullmatch(r"[-+0-9.e]+", str(value)):
                fail("a counter is no number", e)
    elif phase == "i":
        if e["s"] not in ("t", "p", "g"):
            fail("no scope", e)
    elif phase != "B":
        fail("unknown phase", e)

for key, ts in closed.items():
    if key not in opened or opened[key] > ts:
        fail("an asynchronous slice ends that has not begun", key)
for lane in lanes.values():
    stack = []
    for ts, dur, e in sorted(lane, key=lambda s: s[:2]):
        while stack and stack[-1] <= ts:
            stack.pop()
        if stack and ts - dur > stack[-1]:
            fail("slices of a thread overlap", e)
        stack.append(ts - dur)
for i, (pid, tid, ts) in list(starts.items()) + list(ends.items()):
    if i not in starts or i not in ends:
        fail("half a flow", i)
    if not any(begin <= ts <= begin - dur for begin, dur, _ in lanes[pid, tid]):
        fail("a flow is attached to no slice", i)
for i in starts:
    if starts[i][2] > ends[i][2]:
        fail("a flow goes back in time", i)

for e in events:
    print(json.dumps(e, ensure_ascii=False))
