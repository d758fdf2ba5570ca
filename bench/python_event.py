# SPDX-License-Identifier: MIT
"""Measures events of the module posixtrace, in a process that ptrace-run traces or that is not
traced. Prints a JSON object: the nanoseconds of an event, the median of some batches, those of the same event by
ctypes, and those of an empty function of Python."""

import ctypes
import json
import statistics
import struct
import time

def empty(n, time):
    pass


def measure(function, *values):
    # Batches are short, so that most of them are not interrupted.
    batch = range(200)
    taken = []
    for _ in range(500):
        begin = time.perf_counter_ns()
        for _ in batch:
            function(*values)
        taken.append((time.perf_counter_ns() - begin) / len(batch))
    return statistics.median(taken), min(taken)


def by_ctypes(identifier):
    """A function that records an event of two numbers, in the fastest way that ctypes has."""
    record = ctypes.CDLL("libposixtrace.so.0").posix_trace_event
    record.restype = None
    pack = struct.Struct("=QQ").pack
    number, size = ctypes.c_uint(identifier), ctypes.c_size_t(16)

    def call(n, time):
        record(number, pack(n, time), size)

    return call


def events():
    import posixtrace

    numbers = posixtrace.event("bench.numbers", "u64 n, u64 time")
    query = posixtrace.event("bench.query", id="u64", rows="u32", sql="str")
    result = {"is_traced": posixtrace.is_traced()}
    for name, function, values in (
        ("empty", empty, (1, 2)),
        ("numbers", numbers, (1, 2)),
        ("query", query, (1, 3, "select name from user where id = ?")),
        ("ctypes", by_ctypes(numbers.id), (1, 2)),
    ):
        result[name], result[name + "_best"] = measure(function, *values)
    return result


print(json.dumps(events()))
