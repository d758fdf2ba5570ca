# SPDX-License-Identifier: MIT
"""Rows of three hosts for the tests of docs/queries.sql, as RowBinary: rows.py DIALECT NOW

NOW is in seconds since 1970. What the queries must find in these rows is in tests/cmd/ship/fleet.bats.
"""

import struct
import sys

dialect, now = sys.argv[1], int(sys.argv[2])
US, MS, S = 1000, 10**6, 10**9
MINUTE, DAY = 60 * S, 86400 * S
out = sys.stdout.buffer
seqs = {}


def number(n):
    """A length, as RowBinary has it."""
    data = b""
    while n >= 0x80:
        data += bytes([n & 0x7F | 0x80])
        n >>= 7
    return data + bytes([n])


def string(text):
    data = text if isinstance(text, bytes) else text.encode()
    return number(len(data)) + data


def fields(values, encode):
    if dialect == "modern":
        pairs = b"".join(string(k) + encode(v) for k, v in values.items())
        return number(len(values)) + pairs
    return (
        number(len(values))
        + b"".join(map(string, values))
        + number(len(values))
        + b"".join(map(encode, values.values()))
    )


def row(host, time, event, /, tid=11, bound=50 * US, data=b"", **values):
    log = "log-of-" + host
    seqs[log] = seqs.get(log, 0) + 1
    ints = {k: v for k, v in values.items() if isinstance(v, int) and v < 2**63}
    uints = {k: v for k, v in values.items() if isinstance(v, int) and v >= 2**63}
    floats = {k: v for k, v in values.items() if isinstance(v, float)}
    strings = {k: v for k, v in values.items() if isinstance(v, (str, bytes))}
    out.write(
        string(host)
        + string("boot")
        + string(log)
        + struct.pack("<QqQiiQ", seqs[log], time, bound, 10, tid, 7)
        + string(event)
        + fields(ints, lambda v: struct.pack("<q", v))
        + fields(uints, lambda v: struct.pack("<Q", v))
        + fields(floats, lambda v: struct.pack("<d", v))
        + fields(strings, string)
        + string(data)
    )


def pair(host, time, length, event="request", /, **values):
    row(host, time, event + ".begin", **values)
    row(host, time + length, event + ".end", **values)


# The minute that began eight minutes ago is whole, and lies in the last hour.
minute = (now // 60 - 8) * MINUTE

# web1: 190 pairs of 1 ms and 10 of 50 ms, in one minute. Of a second thread, an end without a begin,
# a pair of 20 ms around one of 5 ms, and a begin without an end.
row("web1", minute, "request.end", tid=12)
row("web1", minute + 1 * MS, "request.begin", tid=12)
row("web1", minute + 2 * MS, "request.begin", tid=12)
row("web1", minute + 7 * MS, "request.end", tid=12)
row("web1", minute + 21 * MS, "request.end", tid=12)
row("web1", minute + 22 * MS, "request.begin", tid=12)
for i in range(200):
    pair("web1", minute + (i + 1) * 200 * MS, 50 * MS if i % 20 == 19 else MS)
# web2: a pair in that minute, which is the slowest of all, and another in the next. While the first
# lasts, two other things happen there; one a second later is none of its neighbours.
row("web2", minute + 10 * S, "request.begin", id=1)
row("web2", minute + 10 * S + 100 * MS, "lock.wait", tid=13, name="table")
row("web2", minute + 10 * S + 390 * MS, "lock.free", tid=13, name="table")
row("web2", minute + 10 * S + 400 * MS, "request.end", id=1)
row("web2", minute + 11 * S + 500 * MS, "lock.wait", tid=13, name="queue")
pair("web2", minute + 70 * S, 3 * MS, id=2)

# A request of a number goes from web1 to db1 and back; db1's clock is 3 ms wrong at most, the others
# 50 us. The key may also be a string, or a number over 2^63.
trace = minute + 3 * MINUTE
for key in (4711, "4711", 2**63 + 4711):
    row("web1", trace, "net.send", request=key, data=b"\x00\xff'\\")
    row("db1", trace + 2 * MS, "net.recv", bound=3 * MS, request=key)
    row("db1", trace + 9 * MS, "net.send", bound=3 * MS, request=key)
    row("web1", trace + 40 * MS, "net.recv", request=key)
    trace += S
row("db1", trace, "net.recv", bound=3 * MS, request=4712)

# db1 lost events twice, and the sum is at the end of its log; of web2's loss only the sum is known.
for time in (minute + MINUTE, minute + 2 * MINUTE):
    row("db1", time, "posixtrace.lost", bound=3 * MS, cause="overrun", from_ns=time, until_ns=time + S)
row("db1", minute + 3 * MINUTE, "posixtrace.lost", bound=3 * MS, cause="stream", lost=1500)
row("web2", minute + 2 * MINUTE, "posixtrace.lost", cause="stream", lost=7)

# Yesterday: `cache.miss' came 10 times and comes 40 times now; `old' comes no more, `new' is new,
# `same' comes as often. db1's `query' took 2 ms, and takes 8 ms now.
yesterday = minute - DAY
for time, misses, other, length in ((yesterday, 10, "old", 2 * MS), (minute, 40, "new", 8 * MS)):
    for i in range(misses):
        row("web2", time + i * MS, "cache.miss", tid=14, load=0.5)
    for i in range(20):
        row("web2", time + i * MS, "same", tid=14)
        pair("db1", time + i * 100 * MS, length, "query")
    for i in range(5):
        row("web2", time + i * MS, other, tid=14)
# This one is older than any of the queries looks.
row("web1", minute - 3 * DAY, "cache.miss")
