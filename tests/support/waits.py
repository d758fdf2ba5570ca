# SPDX-License-Identifier: MIT
# Lists, for made_log, waits of several threads at random times, and writes to a file what ptrace-stat --waits --json
# has to say about them:
#
#     waits.py SEED EXPECTED
#
# The figures come from the list of waits, not from the events: a wait within another one counts only for itself.
import json
import random
import sys

random.seed(int(sys.argv[1]))
CALLS = {
    "lock": ["pthread_mutex_lock", "sem_wait"], "io": ["read", "write", "open"], "net": ["recv", "send"],
    "sleep": ["usleep", "nanosleep"], "child": ["waitpid", "wait"],
}
MEMBERS = {
    "lock": "i32 holder, x64 lock, caller call_site", "io": "i32 fd, u64 size, caller call_site, str path",
    "net": "i32 fd, u64 size, caller call_site, str peer", "sleep": "i64 duration ns, caller call_site",
    "child": "i32 pid, caller call_site",
}
events = []  # (ns, text)
rows = {}  # (kind, subject): lengths, open, read, written
holders, places = {}, {}
threads = []


def begin(tid, ns, kind, number, words):
    events.append((ns, f"event {ns} 7 {tid} wait.{kind}.begin u32:{number} {words}"))


def wait(tid, ns, took, thread, is_open=False):
    """Lists a wait, and returns its kind."""
    kind = random.choice(list(CALLS))
    number = random.randrange(len(CALLS[kind]))
    call = CALLS[kind][number]
    site = random.choice([0x100, 0x200])
    holder, subject, result = 0, call, random.choice([-1, 0, 9])
    if kind == "lock":
        lock, holder = random.choice([0xA0, 0xB0]), random.choice([0, 1, 2])
        subject = hex(lock)
        begin(tid, ns, kind, number, f"u32:{holder} u64:{lock} u64:{site}")
    elif kind in ("io", "net"):
        subject = random.choice(["/a", "/b"])
        begin(tid, ns, kind, number, f"u32:3 u64:10 u64:{site} str:{subject}")
    elif kind == "sleep":
        begin(tid, ns, kind, number, f"u32:0 u64:1000 u64:{site}")
    else:
        begin(tid, ns, kind, number, f"u32:99 u64:{site}")
    row = rows.setdefault((kind, subject), {"lengths": [], "open": 0, "read": 0, "written": 0})
    if kind == "lock":
        for table, key in ((holders, holder), (places, hex(site))):
            if key:
                at = table.setdefault((subject, key), [0, 0])
                at[0] += 1
                at[1] += took
    row["lengths"].append(took)
    if is_open:
        row["open"] += 1
    else:
        events.append((ns + took, f"event {ns + took} 7 {tid} wait.{kind}.end u64:{result % 2**64} u32:0"))
        if result > 0:
            row["read"] += result if call in ("read", "recv") else 0
            row["written"] += result if call in ("write", "send") else 0
    thread["count"] += 1
    thread["longest"] = max(thread["longest"], took)
    return kind


END = 1000000
for tid in range(1, 7):
    thread = {"tid": tid, "count": 0, "longest": 0, "processor": 0, "runnable": 0, "not_known": 0,
              "by_kind": dict.fromkeys(CALLS, 0)}
    ns = tid
    # The threads are on a processor when they are first seen.
    events.append((ns, f"event {ns} 7 {tid} os.switch_in u32:0"))
    since = ns
    for _ in range(random.randrange(5, 40)):
        ns += random.randrange(1, 2000) * 10
        what = random.randrange(4)
        if what < 2:
            # Off the processor, between waits.
            off = random.randrange(1, 500) * 10
            events.append((ns, f"event {ns} 7 {tid} os.switch_out u32:0 u8:{what}"))
            events.append((ns + off, f"event {ns + off} 7 {tid} os.switch_in u32:0"))
            thread["processor"] += ns - since
            thread["runnable" if what else "not_known"] += off
            ns = since = ns + off
            continue
        took = random.randrange(100, 900) * 10
        kind = wait(tid, ns, took, thread)
        thread["by_kind"][kind] += took
        if what == 3:
            # A handler that waits, too.
            inner = random.randrange(1, 50) * 10
            thread["by_kind"][wait(tid, ns + 300, inner, thread)] += inner
            thread["by_kind"][kind] -= inner
        else:
            events.append((ns + 10, f"event {ns + 10} 7 {tid} os.switch_out u32:0 u8:0"))
            events.append((ns + took - 10, f"event {ns + took - 10} 7 {tid} os.switch_in u32:0"))
            thread["processor"] += ns + 10 - since
            since = ns + took - 10
        ns += took
    ns += 10
    thread["last"] = END
    if tid % 2:
        kind = wait(tid, ns, END - ns, thread, True)
        thread["by_kind"][kind] += END - ns
        events.append((ns + 10, f"event {ns + 10} 7 {tid} os.switch_out u32:0 u8:0"))
        thread["processor"] += ns + 10 - since
    else:
        events.append((END - 1, f"event {END - 1} 7 {tid} last"))
        thread["last"] = END - 1
        thread["processor"] += END - 1 - since
    thread["seen"] = thread["last"] - tid
    threads.append(thread)
events.append((END, f"event {END} 8 8 end"))

for kind, calls in CALLS.items():
    print(f"layout wait.{kind}.begin enum u32 {{{', '.join(calls)}}} call, {MEMBERS[kind]}")
    print(f"layout wait.{kind}.end i64 result, i32 error")
print("layout os.switch_in u32 processor\nlayout os.switch_out u32 processor, bool preempted")
for ns, text in sorted(events, key=lambda e: e[0]):
    print(text)


def quantile(lengths, percent):
    lengths = sorted(lengths)
    return lengths[max(-(-len(lengths) * percent // 100), 1) - 1]


with open(sys.argv[2], "w", encoding="ascii") as out:
    json.dump({
        "threads": sorted(([t["tid"], t["seen"], t["processor"], t["runnable"], t["not_known"], t["count"],
                            sum(t["by_kind"].values()), t["longest"], *t["by_kind"].values()]
                           for t in threads)),
        "rows": sorted([kind, subject, len(r["lengths"]), r["open"], sum(r["lengths"]), quantile(r["lengths"], 50),
                        quantile(r["lengths"], 99), max(r["lengths"]), r["read"], r["written"]]
                       for (kind, subject), r in rows.items()),
        "holders": sorted([lock, tid, *sums] for (lock, tid), sums in holders.items()),
        "places": sorted([lock, site, *sums] for (lock, site), sums in places.items()),
        "open": sum(r["open"] for r in rows.values()),
    }, out)
