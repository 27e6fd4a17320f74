"""A person at a shell: a home, a runtime directory, a working directory, and the programs under test."""

import codecs
import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import sys
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Bench"))

from anchors import forget_anchors  # noqa: E402

# A test run that a shell started in the background has SIGINT ignored, and so would all that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

BINARIES = os.path.abspath(os.environ.get(
    "LANYARD_BIN", os.path.join(os.path.dirname(__file__), "../../../.build/release")))
PROGRAMS = ["lanyard", "lanyard-cli"]
# Far more than any command here needs; a test that reaches it has found a command that hangs.
PATIENCE_SECONDS = 60.0


class Screen:
    """The screen that a person saw in a terminal, and the command's exit status."""

    def __init__(self, text, code):
        self.text = text.replace("\r\n", "\n")
        self.code = code


class Person(unittest.TestCase):
    """A test with its own home, runtime directory and environment."""

    maxDiff = None

    def setUp(self):
        self.place = os.path.realpath(tempfile.mkdtemp(prefix="lanyard-cli-"))
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.addCleanup(forget_anchors, self.place)
        self.home = os.path.join(self.place, "home")
        self.runtime = os.path.join(self.place, "run")
        self.work = os.path.join(self.home, "work", "deep")
        os.makedirs(self.work, mode=0o700)
        os.makedirs(self.runtime, mode=0o700)
        self.socket = os.path.join(self.runtime, "lanyard", "agent.sock")
        self.environment = {
            "HOME": self.home, "XDG_RUNTIME_DIR": self.runtime, "PATH": "/usr/bin:/bin", "TERM": "xterm", "TZ": "UTC",
            "LANYARD_NO_START": "1",
        }
        self.programs = BINARIES

    def agent(self, answers=None):
        from fake_agent import FakeAgent

        agent = FakeAgent(self.socket, answers)
        self.addCleanup(agent.close)
        return agent

    def command(self, words):
        return [os.path.join(self.programs, "lanyard"), *words]

    def settings(self, environment):
        merged = {**self.environment, **(environment or {})}
        return {name: value for name, value in merged.items() if value is not None}

    def start(self, *words, environment=None, **options):
        options.setdefault("cwd", self.work)
        return subprocess.Popen(
            self.command(words), env=self.settings(environment), stdin=options.pop("stdin", subprocess.DEVNULL),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)

    def lanyard(self, *words, input=None, environment=None, cwd=None):
        """Runs a command without a terminal."""
        return subprocess.run(
            self.command(words), env=self.settings(environment), cwd=cwd or self.work, text=True, capture_output=True,
            timeout=PATIENCE_SECONDS, **({"input": input} if input is not None else {"stdin": subprocess.DEVNULL}))

    def writing_to(self, stdout, *words):
        """Runs a command with this file or descriptor as its stdout; None, as `>&-`, for none."""
        command = self.command(words) if stdout is not None else ["sh", "-c", 'exec "$@" >&-', "sh", *self.command(words)]
        return subprocess.run(
            command, env=self.settings(None), cwd=self.work, stdin=subprocess.DEVNULL, stdout=stdout,
            stderr=subprocess.PIPE, text=True, timeout=PATIENCE_SECONDS)

    def answer(self, *words, **options):
        """The stdout of a command that must succeed without a word on stderr."""
        done = self.lanyard(*words, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def refused(self, code, *words, **options):
        """The stderr of a command that must end with `code` and not a byte on stdout."""
        done = self.lanyard(*words, **options)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done)
        return done.stderr

    def on_terminal(self, *words, answers=(), environment=None, interrupt_after=None, size=(24, 80), stderr=None):
        """Runs a command on a terminal. `answers` are (what to wait for, what to type), each sought after the last; what
        to type may be a function of what stands there. `size` is lines and columns, `stderr` a file where that goes."""
        child, terminal = pty.fork()
        if child == 0:
            # A child that can't start the command must not go on as a second run of the tests.
            try:
                os.chdir(self.work)
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
                if stderr:
                    os.dup2(os.open(stderr, os.O_WRONLY | os.O_CREAT, 0o600), 2)
                os.execve(self.command(words)[0], self.command(words), self.settings(environment))
            finally:
                os._exit(127)
        decoder = codecs.getincrementaldecoder("utf-8")()
        text, seen, waiting, end = "", 0, list(answers), time.monotonic() + PATIENCE_SECONDS
        while True:
            self.assertLess(time.monotonic(), end, f"hangs after: {text!r}")
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                chunk = os.read(terminal, 65536)
            except OSError:
                break
            if not chunk:
                break
            text += decoder.decode(chunk)
            while waiting and waiting[0][0] in text[seen:]:
                cue, typed = waiting.pop(0)
                seen = text.index(cue, seen) + len(cue)
                os.write(terminal, (typed(text) if callable(typed) else typed).encode())
            if interrupt_after and interrupt_after in text:
                interrupt_after = None
                os.write(terminal, b"\x03")
        status = os.waitpid(child, 0)[1]
        os.close(terminal)
        self.assertFalse(waiting, f"never seen: {waiting}, but: {text!r}")
        return Screen(text, os.waitstatus_to_exitcode(status))


def interrupt(process):
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=PATIENCE_SECONDS)
