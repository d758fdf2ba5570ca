# SPDX-License-Identifier: MIT
# Lists, for made_log, the events of a system at work that never was, which no machine and no load changes:
#
#     scene.py SCENE [COUNT]
#
#     work     COUNT requests (default: 1000) of two processes with three threads each: pairs in
#              pairs, jobs that go from one thread to another, numbers, text and enums as data,
#              switches, samples, a place where events were lost, halves of pairs
#     threads  an event and a pair of each of COUNT threads
#     halves   COUNT begins without ends, and as many ends without begins of another pair
#     names    names and data that are markup, quotes, control characters, no UTF-8, or very long
#     years    two events, COUNT days apart
#     none     no event
import struct
import sys

events = []
state = 1


def below(end):
    global state
    state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
    return (state >> 33) % end


def add(name, ns, pid, tid, data=b""):
    events.append((ns, pid, tid, name, data))


# A request that a thread serves; returns the time at its end.
def serve(ns, pid, tid, number):
    kind, size, processor, preempted = below(3), 64 * (1 + below(100)), below(4), below(2)
    begin = ns
    # Now and then something takes much longer.
    slow = 1 if below(97) else 20
    add("os.switch_in", ns - 2000, pid, tid, struct.pack("<I", processor))
    add("request.begin", ns, pid, tid, struct.pack("<IBxxx", number, kind))
    ns += 5000 + below(5000)
    add("cache.fill", ns, pid, tid, struct.pack("<Q", size))
    for i in range(1 + number % 3):
        rows, sql = below(50), (b"select * from users", b"insert into log", b"update <b>")[below(3)]
        add("db.query.begin", ns, pid, tid, struct.pack("<II24s", number, rows, sql))
        stack = 0x5000 + 0x100 * below(3), 0x4000, 0x3000, 0x2000 + 0x100 * i, 0x1000, 0x800
        add("os.sample", ns + 500, pid, tid, struct.pack("<I?xxx6Q", 0, False, *stack))
        ns += slow * (10000 + below(40000))
        add("db.query.end", ns, pid, tid, struct.pack("<I", number))
        ns += 2000
    add("job.submit", ns, pid, tid, struct.pack("<Q", number))
    ns += 3000
    add("request.end", ns, pid, tid, struct.pack("<I", number))
    add("os.switch_out", ns + 1000, pid, tid, struct.pack("<I?", processor, preempted))
    # Another thread ends the job.
    add("job.done", ns + 60000, pid, pid + 1 if tid == pid else pid, struct.pack("<Q", number))
    if not below(10):
        add("note", begin + 100, pid, tid, b"looked up")
    return ns


def work(count):
    print("""layout request.begin u32 id, enum u8 {get, put, list} kind
layout request.end u32 id
layout db.query.begin u32 id, u32 rows count, char[24] sql
layout db.query.end u32 id
layout job.submit u64 job
layout job.done u64 job
layout cache.fill u64 size B
layout os.switch_in u32 processor
layout os.switch_out u32 processor, bool preempted
layout os.sample u32 processor, bool cut, code[] stack
lost 17""")
    free_at = [100000 * (i + 1) for i in range(6)]
    add("odd.end", 0, 100, 100)
    for i in range(count):
        worker = below(6)
        pid = 100 if worker < 3 else 200
        if i == count // 3:
            latest = max(free_at)
            add("posix_trace_overflow", latest + 200000, 0, 0)
            add("posix_trace_resume", latest + 1200000, 0, 0)
            free_at = [latest + 1300000] * 6
        free_at[worker] = serve(free_at[worker], pid, pid + worker % 3, i) + below(60000) + 10000
    add("odd.begin", free_at[0] + 1000, 100, 100)


def threads(count):
    for i in range(count):
        add("one", 1000 * i, 7, 1000 + i)
        add("turn.begin", 1000 * i + 10, 7, 1000 + i)
        add("turn.end", 1000 * i + 500, 7, 1000 + i)


def halves(count):
    for i in range(count):
        add("never.begin", 1000 * i, 7, 7)
        add("always.end", 1000 * i + 500, 7, 7)


def names(_):
    print("layout text str text, u64 big, i64 low, f64 real, x8[3] few")
    odd = [b"</script><script>window.broken=1</script>", b"<img src=x onerror=window.broken=1>",
           b"\"';--&amp;\\", b"<!-- <script>", b"two\nlines\ttab\x01\x1b[31m", b"\xff\xfe\xc3(",
           b"\xe2\x80\xae\xe2\x80\xa8 turned round"]
    for i, text in enumerate(odd):
        add(text, 1000 * i, 1, 1, text)
        padded = text + bytes(8 - len(text) % 8)
        add("text", 1000 * i + 500, 1, 1, padded + struct.pack("<QqdQ", 2**64 - 1 - i, i - 2**63, 1.5 * i, 0x636261))
    add(b"\xe4" * 255, 1000 * len(odd), 1, 1)


def years(count):
    add("far", 0, 1, 1)
    add("far", count * 86400000000000 + 1, 1, 1)


def none(_):
    pass


scenes = {scene.__name__: scene for scene in (work, threads, halves, names, years, none)}
scenes[sys.argv[1]](int((sys.argv[2:] or [1000])[0]))
for ns, pid, tid, name, data in sorted(events, key=lambda event: event[0]):
    if isinstance(name, bytes):
        name = "".join(f"%{byte:02x}" for byte in name)
    print(f"event {ns} {pid} {tid} {name} hex:{data.hex()}")
