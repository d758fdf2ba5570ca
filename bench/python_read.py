# SPDX-License-Identifier: MIT
"""python_read.py LOG EVENTS: measures how many million events of bench/keeper a second Python takes from a log:
from lines of JSON and as objects of the module posixtrace, both of the first 300,000 events with their data, and as
arrays of NumPy, at most 5 million events. Prints a JSON object; the last figure is missing without NumPy."""

import itertools
import json
import subprocess
import sys
import time

import posixtrace

log, count = sys.argv[1], int(sys.argv[2])
few = min(count, 300000)
LAYOUT = "u64 n, u64 time"


def measure(read, *arguments):
    begin = time.perf_counter()
    found = read(*arguments)
    return found / (time.perf_counter() - begin) / 1e6


def parse_lines():
    command = ["ptrace-dump", "--json", "--event=bench", f"--decode=bench={LAYOUT}", log]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as dump:
        for line in itertools.islice(dump.stdout, few):
            json.loads(line)["data"]["n"]
        dump.stdout.close()
    return few


def iterate():
    with posixtrace.open(log, event="bench", decode={"bench": LAYOUT}) as events:
        for event in itertools.islice(events, few):
            event.data["n"]
    return few


def make_arrays():
    where = f"data.n < {min(count, 5000000)}"
    arrays = posixtrace.open(log, event="bench", where=where, decode={"bench": LAYOUT}).to_numpy()
    return len(arrays["data.n"])


result = {"lines": measure(parse_lines), "events": measure(iterate)}
try:
    import numpy  # noqa: F401
except ImportError:
    pass
else:
    result["arrays"] = measure(make_arrays)
print(json.dumps(result))
