# SPDX-License-Identifier: MIT
"""python3 -m posixtrace run: runs a program and records its functions; see posixtrace-python(3)."""

from __future__ import annotations

import builtins
import errno
import functools
import importlib.util
import io
import marshal
import os
import pkgutil
import re
import runpy
import sys
import threading
import types
from typing import Callable, List, NoReturn, Tuple

from posixtrace import _record

USAGE = "usage: python3 -m posixtrace run [--functions=GLOB]... [--threshold=TIME] SCRIPT|-m MODULE|-c CODE [ARG]..."
HELP = f"""{USAGE}

Runs a program of Python and records when its functions begin and end, while the
process is traced: ptrace-run -o LOG -- python3 -m posixtrace run SCRIPT

  --functions=GLOB   record the functions with a matching name, MODULE.FUNCTION or
                     FUNCTION, only; may be given several times
  --threshold=TIME   leave out a function whose first 100 calls take less than TIME on
                     average, such as 5us; units: ns, us, ms, s
  -h, --help         show this help

See posixtrace-python(3)."""

_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}


def _fail(text: str) -> NoReturn:
    print(f"posixtrace: {text}\n{USAGE}", file=sys.stderr)
    sys.exit(2)


def _check_script(path: str) -> None:
    """Ends this program with the message and the status of python3 if the file cannot be read. The file stays
    closed, as it may be a pipe."""
    try:
        os.stat(path)
        number = 0 if os.access(path, os.R_OK) else errno.EACCES
    except OSError as problem:
        number = problem.errno or 0
    if number:
        reason = f"[Errno {number}] {os.strerror(number)}"
        print(f"{sys.executable}: can't open file {path!r}: {reason}", file=sys.stderr)
        sys.exit(2)


def _code_of(path: str) -> types.CodeType:
    """The code of a script, which may be compiled."""
    with io.open_code(path) as file:
        raw = file.read()
    if raw.startswith(importlib.util.MAGIC_NUMBER):
        code: types.CodeType = marshal.loads(raw[16:])
        return code
    return compile(raw, path, "exec", dont_inherit=True)


def _nanoseconds(text: str) -> int:
    found = re.fullmatch(r"([0-9]{1,9})(ns|us|ms|s)", text)
    if not found:
        _fail(f"--threshold: {text!r} is no time, such as 5us; the units are ns, us, ms and s")
    return int(found[1]) * _UNITS[found[2]]


def _options(words: List[str]) -> Tuple[List[str], int, List[str]]:
    """Returns the patterns, the threshold, and the words from the first that is no option of ours on."""
    patterns = []
    threshold = 0
    while words and words[0].startswith("-") and words[0] not in ("-", "-m", "-c"):
        word = words.pop(0)
        if word in ("-h", "--help"):
            print(HELP)
            sys.exit(0)
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if name not in ("--functions", "--threshold"):
            _fail(f"there is no option {name}")
        if not equals:
            if not words:
                _fail(f"{name} needs a value")
            value = words.pop(0)
        if name == "--functions":
            patterns.append(value)
        else:
            threshold = _nanoseconds(value)
    return patterns or ["*"], threshold, words


def _program(words: List[str]) -> Callable[[], object]:
    """Returns what runs the program, and sets sys.argv, sys.path and the module __main__ as python3 does without
    this module."""
    if not words:
        _fail("there is no program to run")
    kind = words[0]
    if kind in ("-m", "-c") and len(words) < 2:
        _fail(f"{kind} needs a value")
    is_path_safe = getattr(sys.flags, "safe_path", False)
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    vars(module)["__builtins__"] = builtins
    if kind == "-m":
        sys.argv = [kind, *words[2:]]
        # This is what python3 -m calls; of the public functions none reports as it does that there is no such
        # module.
        return functools.partial(runpy._run_module_as_main, words[1])  # type: ignore[attr-defined]
    if kind == "-c":
        sys.argv = [kind, *words[2:]]
        directory = ""
        code = compile(words[1], "<string>", "exec", dont_inherit=True)
    else:
        sys.argv = words
        path = os.path.join(os.getcwd(), kind)
        _check_script(path)
        if pkgutil.get_importer(path):
            # A directory or an archive, which has the module __main__.
            sys.path[: not is_path_safe] = [path]
            return functools.partial(runpy._run_module_as_main, "__main__", False)  # type: ignore[attr-defined]
        directory = os.path.dirname(os.path.realpath(path))
        code = _code_of(path)
        module.__file__ = path
    if not is_path_safe:
        sys.path[0] = directory
    return functools.partial(exec, code, vars(module))


def _begin(patterns: List[str], threshold: int) -> None:
    """Begins to record functions in all threads."""
    raw = tuple(os.fsencode(pattern) for pattern in patterns)
    if sys.version_info < (3, 12):
        # Each new thread calls this with its first function, and then has the extension's profile function.
        threading.setprofile(_record.profile_thread)
        _record.record_functions(raw, threshold, None)
        return
    monitoring = sys.monitoring
    # Numbers without a meaning come first, so that the program can use a profiler.
    tool = next(n for n in (4, 3, 2) if monitoring.get_tool(n) is None)
    monitoring.use_tool_id(tool, "posixtrace")
    hooks = {
        _record.enter: ("PY_START", "PY_RESUME"),
        _record.leave: ("PY_RETURN", "PY_YIELD"),
        _record.enter_by_exception: ("PY_THROW",),
        _record.leave_by_exception: ("PY_UNWIND",),
    }
    events = 0
    for hook, names in hooks.items():
        for name in names:
            event = getattr(monitoring.events, name)
            monitoring.register_callback(tool, event, hook)
            events |= event
    _record.record_functions(raw, threshold, monitoring.DISABLE)
    monitoring.set_events(tool, events)


def main() -> None:
    words = sys.argv[1:]
    if words[:1] in (["-h"], ["--help"]):
        print(HELP)
        return
    if words[:1] != ["run"]:
        _fail("the first argument is run")
    patterns, threshold, words = _options(words[1:])
    run = _program(words)
    _begin(patterns, threshold)
    try:
        run()
    finally:
        if _record.matched_nothing():
            print(
                "posixtrace: --functions: this process ran no function that matches "
                f"{' or '.join(map(repr, patterns))}; the module of the program itself is __main__",
                file=sys.stderr,
            )
        nameless = _record.nameless_functions()
        if nameless:
            print(
                f"posixtrace: {nameless} functions were not recorded, because there are too many: select "
                "some by --functions=GLOB",
                file=sys.stderr,
            )


main()
