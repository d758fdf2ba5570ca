# SPDX-License-Identifier: MIT
"""Measures the module posixtrace. Without an argument: its events, in a process that ptrace-run traces or that is not
traced. Prints a JSON object: the nanoseconds of an event, the median of some batches, those of the same event by
ctypes, and those of an empty function of Python.

With `functions`: a program of small functions. Prints the nanoseconds of a call, of the fastest of some runs. With
`profile`: the same while cProfile profiles it."""

import ctypes
import json
import statistics
import struct
import sys
import time

RUNS = 40


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


class Point:
    def __init__(self, x):
        self.x = x

    def get(self):
        return self.x


def points(count):
    for x in range(count):
        yield Point(x).get()


def run():
    """8361 calls of fib(), 4000 of each method, and 4001 resumptions of the generator."""
    begin = time.perf_counter_ns()
    fib(18)
    sum(points(4000))
    return (time.perf_counter_ns() - begin) / (8361 + 2 * 4000 + 4001)


def run_profiled():
    import cProfile

    profile = cProfile.Profile()
    profile.enable()
    result = run()
    profile.disable()
    return result


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


if sys.argv[1:] == ["functions"]:
    print(min(run() for _ in range(RUNS)))
elif sys.argv[1:] == ["profile"]:
    print(min(run_profiled() for _ in range(RUNS)))
else:
    print(json.dumps(events()))
