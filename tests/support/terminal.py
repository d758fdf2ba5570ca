# SPDX-License-Identifier: MIT
"""terminal.py ROWSxCOLUMNS FILE COMMAND [ARGUMENT]...: runs a command whose standard output and error are a terminal
of this size, and copies what it writes to the file. A line ROWSxCOLUMNS on standard input changes the size, a line
"interrupt" is a Ctrl-C. The exit status is that of the command, or 128 and the number of the signal that has ended it."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios


def resize(fd, size):
    rows, columns = map(int, size.split("x"))
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def start(terminal):
    # A shell starts its background processes with this signal ignored.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


def main(size, path, *command):
    ours, theirs = pty.openpty()
    resize(ours, size)
    child = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        preexec_fn=lambda: start(theirs),
        env={**os.environ, "TERM": os.environ.get("TEST_TERM", "xterm")},
    )
    os.close(theirs)
    sources = [ours, sys.stdin]
    with open(path, "ab", buffering=0) as out:
        while True:
            ready = select.select(sources, [], [])[0]
            if sys.stdin in ready:
                line = sys.stdin.readline()
                if line == "interrupt\n":
                    os.write(ours, b"\x03")
                elif line:
                    resize(ours, line)
                else:
                    sources.remove(sys.stdin)
            if ours in ready:
                try:
                    data = os.read(ours, 65536)
                except OSError:
                    break
                if not data:
                    break
                out.write(data)
    status = child.wait()
    return status if status >= 0 else 128 - status


sys.exit(main(*sys.argv[1:]))
