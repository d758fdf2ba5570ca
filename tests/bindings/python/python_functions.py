# SPDX-License-Identifier: MIT
"""python3 -m posixtrace run: the functions that it records, as logs show them. tests/bindings/python/python.sh runs
the cases, each by its name: python_functions.py Functions.case."""

import collections
import json
import os
import py_compile
import subprocess
import sys
import tempfile
import unittest
import zipapp

PROGRAM = """
import sys

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

class C:
    def method(self):
        return fib(3)

    @staticmethod
    def fails():
        raise KeyError

    def catches(self):
        try:
            self.fails()
        except KeyError:
            return (lambda: 7)()

C().method()
C().catches()
sys.exit(3)
"""


class Functions(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = os.path.realpath(directory.name)
        self.log = os.path.join(self.directory, "run.log")

    def write(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        return path

    def command(self, *words, is_traced=True, **more):
        """The result of the module, run by ptrace-run."""
        command = [sys.executable, "-m", "posixtrace", *words]
        if is_traced:
            command = ["ptrace-run", "--force", "-o", self.log, "--", *command]
        return subprocess.run(command, capture_output=True, text=True, cwd=self.directory, check=False, **more)

    def events(self):
        """The events of functions: dicts as ptrace-dump has them."""
        dump = ["ptrace-dump", "--format=json", self.log]
        lines = subprocess.run(dump, capture_output=True, check=True).stdout.decode("utf-8", "replace").splitlines()
        return [e for e in map(json.loads, lines) if e["event"].startswith("function.")]

    def nested(self, events=None):
        """The functions in the order in which they begin, with a blank for each that is open; fails if the pairs
        of a thread do not nest or are not complete."""
        found = []
        stacks = collections.defaultdict(list)
        for e in self.events() if events is None else events:
            name, _, what = e["event"].rpartition(".")
            stack = stacks[e["pid"], e["tid"]]
            if what == "begin":
                found.append(" " * len(stack) + name.partition(".")[2])
                stack.append(name)
            elif what == "end":
                self.assertTrue(stack, f"{name} ends without a begin")
                self.assertEqual(stack.pop(), name)
        self.assertEqual([s for s in stacks.values() if s], [])
        return found

    def run_program(self, text, *options, status=0, **more):
        done = self.command("run", *options, self.write("program.py", text), **more)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def qualified(self, name):
        """The name as this version of Python has it: before 3.11 without classes and functions around it."""
        if sys.version_info >= (3, 11):
            return name
        module = name.partition(".")[0] if name.startswith("__main__") else ".".join(name.split(".")[:2])
        return module + "." + name.rpartition(".")[2]

    def test_nesting(self):
        self.run_program(PROGRAM, "--functions=__main__.*", status=3)
        self.assertEqual(
            self.nested(),
            [
                "__main__.<module>",
                " " + self.qualified("__main__.C"),
                " " + self.qualified("__main__.C.method"),
                "  __main__.fib",
                "   __main__.fib",
                "    __main__.fib",
                "    __main__.fib",
                "   __main__.fib",
                " " + self.qualified("__main__.C.catches"),
                "  " + self.qualified("__main__.C.fails"),
                "  " + self.qualified("__main__.C.catches.<locals>.<lambda>"),
            ],
        )
        # The commands know the pairs by their names.
        shown = subprocess.run(["ptrace-export", "--to=folded", self.log], capture_output=True, text=True, check=True)
        self.assertIn(";function.__main__.fib;function.__main__.fib;function.__main__.fib ", shown.stdout)

    def test_generators(self):
        """A generator's function runs from each resumption to the next yield."""
        program = """
def numbers():
    for n in range(2):
        yield n

def refuses():
    yield

def catches():
    try:
        yield
    except KeyError:
        yield

def delegates():
    yield from numbers()

def closes():
    try:
        yield
    finally:
        pass

def take(iterator):
    return next(iterator, None)

def main():
    n = numbers()
    take(n), take(n), take(n)
    c = closes()
    take(c)
    c.close()
    try:
        refuses().throw(KeyError)
    except KeyError:
        pass
    c = catches()
    take(c)
    c.throw(KeyError)
    del c
    for _ in delegates():
        pass

main()
"""
        self.run_program(program, "--functions=__main__.*")
        self.assertEqual(
            [n.replace("__main__.", "") for n in self.nested()],
            [
                "<module>",
                " main",
                *["  take", "   numbers"] * 3,
                "  take",
                "   closes",
                # close()
                "  closes",
                "  refuses",
                "  take",
                "   catches",
                # throw(), and the end of the object
                "  catches",
                "  catches",
                *["  delegates", "   numbers"] * 3,
            ],
        )

    def test_no_begin(self):
        """Python 3.11 does not report that a generator is resumed if throw() has made that return for which its
        yield from waits."""
        program = """
def inner():
    try:
        yield 1
    except KeyError:
        return 2

def outer():
    n = yield from inner()
    yield n

def main():
    o = outer()
    next(o)
    assert o.throw(KeyError) == 2

main()
"""
        self.run_program(program, "--functions=__main__.*")
        names = [name.replace("__main__.", "") for name in self.nested()]
        self.assertEqual(names[:4], ["<module>", " main", "  outer", "   inner"])

    def test_tasks(self):
        program = """
import asyncio

async def step(name):
    await asyncio.sleep(0)

async def task(name):
    for _ in range(2):
        await step(name)

async def numbers():
    for n in range(2):
        yield n
        await asyncio.sleep(0)

async def consume():
    async for n in numbers():
        pass

async def cancelled():
    await asyncio.sleep(1000)

async def main():
    waiting = asyncio.create_task(cancelled())
    await asyncio.gather(task(1), task(2), consume())
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

asyncio.run(main())
"""
        self.run_program(program)
        names = collections.Counter(name.strip() for name in self.nested())
        # Each of the two tasks runs for its start, and after each of the two sleeps.
        self.assertEqual(names["__main__.task"], 6)
        self.assertEqual(names["__main__.cancelled"], 2)
        self.assertGreater(names[self.qualified("asyncio.events.Handle._run")], 5)

    def test_selection(self):
        self.run_program(PROGRAM, "--functions=fib", "--functions", "__main__.*method", status=3)
        method = self.qualified("__main__.C.method")
        self.assertEqual({n.strip() for n in self.nested()}, {"__main__.fib", method})
        self.run_program(PROGRAM, "--functions=fi[a-c]", status=3)
        self.assertEqual(self.nested(), [blanks + "__main__.fib" for blanks in ("", " ", "  ", "  ", " ")])
        done = self.run_program(PROGRAM, "--functions=none", "--functions=no.*", status=3)
        self.assertEqual(self.events(), [])
        self.assertIn(
            "posixtrace: --functions: this process ran no function that matches 'none' or 'no.*'; the module of the "
            "program itself is __main__\n",
            done.stderr,
        )

    def test_threshold(self):
        program = "def f(): pass\nfor _ in range(150): f()\n"
        self.run_program(program, "--functions=f", "--threshold=1s")
        found = self.events()
        self.assertEqual(len(self.nested(found)), 100)
        self.assertEqual(found[-1]["event"], "function.left_out")
        self.assertEqual((found[-1]["data"]["calls"], found[-1]["data"]["function"]), (100, "__main__.f"))
        self.assertGreater(found[-1]["data"]["mean"], 0)
        self.run_program(program, "--functions=f", "--threshold=1ns")
        self.assertEqual(len(self.nested()), 150)
        # A function that calls itself is judged after the outermost call.
        program = "def f(n): return n and f(n - 1)\nf(120)\nf(120)\n"
        self.run_program(program, "--functions=f", "--threshold=9s")
        self.assertEqual(len(self.nested()), 121)

    def test_threads(self):
        program = """
import concurrent.futures, threading
barrier = threading.Barrier(3)
def work(n):
    barrier.wait()
    return inner(n)
def inner(n):
    return n
with concurrent.futures.ThreadPoolExecutor(3) as pool:
    list(pool.map(work, range(3)))
"""
        self.run_program(program)
        events = self.events()
        self.nested(events)
        tids = {e["tid"] for e in events if e["event"] == "function.__main__.inner.begin"}
        self.assertEqual(len(tids), 3)
        # From the first function of a thread on.
        first = {e["tid"] for e in events if e["event"].endswith(("Thread.run.begin", "threading.run.begin"))}
        self.assertTrue(tids <= first)

    def run_in_two_sessions(self, text, *options, after_first=lambda: None):
        """Runs the program, which waits for a line after each that it prints. Its first and its third step is traced
        by a session each."""
        command = [sys.executable, "-m", "posixtrace", "run", *options, self.write("program.py", text)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:

            def go_on():
                print(file=child.stdin, flush=True)
                child.stdout.readline()

            child.stdout.readline()
            for number in 1, 2:
                name = f"functions-{os.getpid()}-{number}"
                create = ["ptrace-create", f"--pid={child.pid}", f"--name={name}", "-o", self.log, "--force", "--start"]
                subprocess.run(create, check=True, stdout=subprocess.DEVNULL)
                go_on()
                subprocess.run(["ptrace-shutdown", name], check=True)
                go_on()
                if number == 1:
                    after_first()
            child.stdin.close()

    def test_sessions(self):
        """A function that began before a session has no end in it, also if an earlier session recorded its begin."""
        program = """
import sys
def wait():
    print(flush=True)
    sys.stdin.readline()
def f():
    wait()
def g():
    pass
wait()
f()
f()
g()
wait()
"""
        self.run_in_two_sessions(
            program,
            "--functions=[fg]",
            after_first=lambda: self.assertEqual([e["event"] for e in self.events()], ["function.__main__.f.begin"]),
        )
        self.assertEqual(self.nested(), ["__main__.g"])

    def test_trials(self):
        """A call whose end no session sees does not keep its function on trial for ever."""
        program = """
import sys
def wait():
    print(flush=True)
    sys.stdin.readline()
def f(count):
    for _ in range(count):
        wait()
wait()
f(2)
for _ in range(150):
    f(0)
wait()
"""
        self.run_in_two_sessions(program, "--functions=f", "--threshold=9s")
        found = self.events()
        self.assertEqual(len(self.nested(found)), 100)
        self.assertEqual(found[-1]["event"], "function.left_out")

    def test_fork(self):
        program = """
import multiprocessing, os
def child(n):
    return n
def forks():
    pid = os.fork()
    if not pid:
        return child(0)
    os.waitpid(pid, 0)
    return pid
if not forks():
    os._exit(0)
process = multiprocessing.get_context("fork").Process(target=child, args=(2,))
process.start()
process.join()
"""
        self.run_program(program, "--functions=__main__.*")
        events = self.events()
        by_pid = collections.defaultdict(list)
        for e in events:
            by_pid[e["pid"]].append(e)
        first, *children = by_pid.values()
        self.assertEqual(self.nested(first), ["__main__.<module>", " __main__.forks"])
        # The child's part of what its parent had begun is recorded as of the parent only.
        self.assertEqual([self.nested(some) for some in children], [["__main__.child"]] * 2)

    def test_program(self):
        """The program is run as without the module."""
        program = (
            "import sys\nprint(__name__, sys.argv, sys.path[:2], __file__, type(__builtins__))\nimport other\nprint(other.x)\n"
            "def f(x: int): pass\nprint(f.__annotations__)\n"
        )
        self.write("other.py", "x = 7\nprint(__name__)\n")
        path = self.write("program.py", program)
        code = program.replace("__file__", "1")
        os.mkdir(os.path.join(self.directory, "package"))
        self.write("package/__main__.py", program)
        self.write("package/other.py", "x = 8\n")
        py_compile.compile(path, os.path.join(self.directory, "compiled.pyc"))
        zipapp.create_archive(os.path.join(self.directory, "package"), os.path.join(self.directory, "package.pyz"))
        for words in (
            (path, "-a", "--functions=b"),
            ("program.py",),
            ("./package/../program.py",),
            ("compiled.pyc",),
            ("package", "a"),
            ("package.pyz",),
            ("-m", "program", "-m", "x"),
            ("-m", "package"),
            ("-c", code, "a", "-c"),
        ):
            with self.subTest(words):
                plain = subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=self.directory)
                self.assertEqual(self.command("run", *words).stdout, plain.stdout)
                self.assertIn("other.<module>", map(str.strip, self.nested()))
        # An option of ours after -- is the name of a script.
        self.assertIn("--functions", self.command("run", "--", "--functions").stderr)
        done = self.run_program("def f(): raise KeyError('mine')\nf()\n", status=1)
        self.assertRegex(done.stderr, "(?s)program.py\", line 1, in f.*KeyError: 'mine'\n")
        self.assertEqual([n.strip() for n in self.nested()][:2], ["__main__.<module>", "__main__.f"])
        # Objects of the program's classes can be sent to another process.
        program = "import pickle\nclass C: pass\nprint(type(pickle.loads(pickle.dumps(C()))) is C)\n"
        self.assertEqual(self.run_program(program).stdout, "True\n")
        # The program is the module __main__ also while threads run on after its end.
        program = "import threading\nclass C: pass\ndef late():\n    threading.main_thread().join()\n"
        program += "    import __main__\n    print(__main__.C is C)\nthreading.Thread(target=late).start()\n"
        self.assertEqual(self.run_program(program).stdout, "True\n")
        # It can come from a pipe.
        self.assertEqual(self.command("run", "/dev/stdin", input="print(__file__)").stdout, "/dev/stdin\n")
        # A program that profiles itself does so.
        program = "import cProfile\np = cProfile.Profile()\ndef f(): pass\np.runcall(f)\np.print_stats()\n"
        self.assertRegex(self.run_program(program).stdout, r"program.py:3\(f\)")

    def test_no_program(self):
        """What cannot be run is reported as without the module."""
        os.mkdir(os.path.join(self.directory, "package"))
        self.write("package/__init__.py", "")
        self.write("text", "")
        for words, status in (
            (("./none.py",), 2),
            (("text/none.py",), 2),
            (("-m", "none"), 1),
            (("-m", "none.none"), 1),
            (("-m", "package"), 1),
            (("package",), 1),
        ):
            with self.subTest(words):
                plain = subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=self.directory)
                self.assertEqual(plain.returncode, status)
                done = self.command("run", *words, is_traced=False)
                self.assertEqual((done.returncode, done.stderr), (status, plain.stderr))
                self.assertEqual(done.stderr.count("\n"), 1)

    def test_untraced(self):
        program = PROGRAM + "assert False\n"
        self.assertEqual(self.run_program(program, status=3, is_traced=False).stderr, "")

    def test_mistakes(self):
        for words, text in (
            ((), "the first argument is run"),
            (("walk",), "the first argument is run"),
            (("run",), "there is no program to run"),
            (("run", "--threshold=5"), "--threshold: '5' is no time"),
            (("run", "--threshold=-5us", "x.py"), "--threshold: '-5us' is no time"),
            (("run", "--functions"), "--functions needs a value"),
            (("run", "--function=x", "x.py"), "there is no option --function"),
            (("run", "-m"), "-m needs a value"),
            (("run", "-x", "x.py"), "there is no option -x"),
        ):
            with self.subTest(words):
                done = self.command(*words, is_traced=False)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("posixtrace: " + text, done.stderr)
                self.assertIn("usage: python3 -m posixtrace run", done.stderr)
        for words in ("--help",), ("run", "-h"):
            done = self.command(*words, is_traced=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("--threshold=TIME", done.stdout)

    def test_names(self):
        """Names that are long, no UTF-8, or missing."""
        long = "f" * 240
        program = f"""
def {long}1(): pass
def {long}2(): pass
{long}1()
{long}2()
def \u00e4(): pass
\u00e4()
exec("def odd(): pass\\nodd()", {{"__name__": "m\\udcff"}})
exec("def no_module(): pass\\nno_module()", {{}})
exec("def number(): pass\\nnumber()", {{"__name__": 7}})
exec("def quiet(): pass\\nquiet()", {{"__name__": "posixtrace"}})
"""
        self.run_program(program)
        # 255 bytes with function. before it and .begin after it.
        cut = "__main__." + "f" * 228 + "..."
        self.assertEqual(
            [name.strip() for name in self.nested()][:10],
            ["__main__.<module>", cut, cut, "__main__.\u00e4", "m\ufffd.<module>", "m\ufffd.odd"]
            + ["<module>", "no_module", "<module>", "number"],
        )

    def test_freed(self):
        """Functions that are made and freed again, so that others get their memory."""
        program = """
for n in range(2100):
    exec(f"def f{n % 7}(): pass\\nf{n % 7}()", {"__name__": "made"})
"""
        self.run_program(program, "--functions=made.f?")
        self.assertEqual(collections.Counter(self.nested()), {f"made.f{n}": 300 for n in range(7)})

    def test_many(self):
        program = """
for n in range(4100):
    exec(f"def f{n}(): pass\\nf{n}()", {"__name__": "made"})
import posixtrace
posixtrace.event("mine")()
"""
        done = self.run_program(program, "--functions=made.f*")
        self.assertEqual(
            done.stderr,
            "posixtrace: 100 functions were not recorded, because there are too many: select some by "
            "--functions=GLOB\n",
        )
        self.assertEqual(len(self.nested()), 4000)
        # The program's own event types have their names.
        dump = ["ptrace-dump", "--count", "--format=text", "--event=mine", self.log]
        self.assertEqual(subprocess.run(dump, capture_output=True, text=True, check=True).stdout, "1\n")


if __name__ == "__main__":
    unittest.main()
