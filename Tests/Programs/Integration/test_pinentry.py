"""The real pinentry on a terminal: the person's input reaches the agent, and never the requesting program."""

import contextlib
import fcntl
import os
import pty
import select
import shutil
import subprocess
import termios
import threading
import time
import unittest
from unittest import mock

from agent_fixture import PATIENCE_SECONDS, Client, AgentFixture, add_provider, raw, request, sign_in

FAILED = 4003

PROGRAMS = {name: shutil.which(name) for name in ("pinentry-tty", "pinentry-curses")}
MISSING = [name for name, path in PROGRAMS.items() if path is None]

PASSED_ON = {
    "PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
    "DBUS_SESSION_BUS_ADDRESS", "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE",
}


class Terminal:
    """A terminal with a person who answers prompts."""

    def __init__(self):
        self.person, self.line = pty.openpty()
        self.name = os.ttyname(self.line)
        self.seen, self.read = b"", 0

    def close(self):
        os.close(self.person)
        os.close(self.line)

    def wait_for(self, cue, typed=None):
        """Waits until `cue` appears after the last answer; then types."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while cue not in self.seen[self.read:]:
            if time.monotonic() > deadline:
                raise AssertionError(f"{cue!r} was never asked, but: {self.seen[self.read:]!r}")
            if select.select([self.person], [], [], 0.2)[0]:
                self.seen += os.read(self.person, 4096)
        self.read = self.seen.index(cue, self.read) + len(cue)
        if typed is not None:
            os.write(self.person, typed)

    def drain(self):
        while select.select([self.person], [], [], 0.2)[0]:
            self.seen += os.read(self.person, 4096)


@unittest.skipIf(MISSING, f"NOT TESTED: {', '.join(MISSING)} not installed (apt-get install pinentry-tty pinentry-curses)")
class RealPinentry(AgentFixture):
    def prepare(self, program, in_the_foreground=False):
        self.terminal = Terminal()
        self.addCleanup(self.terminal.close)
        self.idp = self.provider()
        surroundings = {"GPG_TTY": self.terminal.name, "TERM": "xterm", "CANARY_TOKEN": "not-for-children"}
        scene = self.scene("--pinentry", PROGRAMS[program], "--log-level", "trace", start=False)
        with mock.patch.dict(os.environ, surroundings):
            if in_the_foreground:
                self.start_at_terminal(scene)
            else:
                scene.start()
        with contextlib.closing(Client(scene.socket)) as client:
            client.connect(wait_seconds=PATIENCE_SECONDS)
            add_provider(client, self.idp)
            sign_in(client, "alice", alias="work")
        return scene

    def start_at_terminal(self, scene):
        """The person started the agent on this terminal, so it is the agent's controlling terminal."""
        line = self.terminal.line

        def own_the_terminal():
            fcntl.ioctl(line, termios.TIOCSCTTY, 0)

        with open(os.path.join(scene.directory, "agent.log"), "ab") as log:
            scene.process = subprocess.Popen(
                scene.command, stdin=line, stdout=log, stderr=log, env=scene.environment, start_new_session=True,
                preexec_fn=own_the_terminal)

    def ask(self, scene, method):
        """A program requests the prompt with a raw line, and gets only the result."""
        answer = []
        line = request(method, {"account": "work", "prompt": "pinentry"})
        thread = threading.Thread(target=lambda: answer.extend(raw(scene.socket, line, seconds=60)))
        thread.start()

        def heard():
            thread.join(PATIENCE_SECONDS)
            self.assertEqual(len(answer), 1, "the agent did not answer")
            self.assertNotIn("2468", repr(answer[0]))
            return answer[0]

        return heard

    def is_started_for(self, scene, parent):
        """True below the agent's broker, which has a process for each prompt."""
        for _ in range(2):
            with open(f"/proc/{parent}/stat") as file:
                parent = file.read().rsplit(")", 1)[1].split()[1]
        return int(parent) == scene.pid

    def child(self, scene, program):
        """The pinentry process."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat") as file:
                    name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
            except OSError:
                continue
            if name == program[:15] and self.is_started_for(scene, rest.split()[1]):
                return pid
        return None

    def test_pin_typed_at_a_terminal_reaches_the_agent_only(self):
        for program in PROGRAMS:
            with self.subTest(program):
                scene = self.prepare(program)
                heard = self.ask(scene, "stepUp.enroll")
                self.terminal.wait_for(b"New PIN:")
                with open(f"/proc/{self.child(scene, program)}/environ") as file:
                    names = {entry.split("=")[0] for entry in file.read().split("\0") if entry}
                self.assertLessEqual(names, PASSED_ON, "the environment is made from nothing")
                os.write(self.terminal.person, b"2468\r")
                self.terminal.wait_for(b"Once more")
                self.terminal.wait_for(b"New PIN:", b"2468\r")
                self.assertEqual(heard()["result"]["enrolled"], True)

                heard = self.ask(scene, "stepUp.verify")
                self.terminal.wait_for(b"PIN:", b"1357\r")
                self.assertEqual(heard()["error"]["data"]["reason"], "wrongPIN")
                heard = self.ask(scene, "stepUp.verify")
                self.terminal.wait_for(b"PIN:", b"2468\r")
                self.assertIn("validUntil", heard()["result"])

                self.terminal.drain()
                self.assertIn(b"of work", self.terminal.seen)
                self.assertNotIn(b"2468", self.terminal.seen, "what is typed is not shown")
                with open(os.path.join(scene.directory, "agent.log")) as file:
                    self.assertNotIn("2468", file.read())
                self.assertIsNone(self.child(scene, program), "it goes when it was answered")

    def test_agent_in_the_foreground_of_the_terminal_can_prompt(self):
        """A background reader of a terminal would be stopped, and the prompt with it."""
        for program in PROGRAMS:
            with self.subTest(program):
                scene = self.prepare(program, in_the_foreground=True)
                heard = self.ask(scene, "stepUp.enroll")
                self.terminal.wait_for(b"New PIN:", b"2468\r")
                self.terminal.wait_for(b"Once more")
                self.terminal.wait_for(b"New PIN:", b"2468\r")
                self.assertEqual(heard()["result"]["enrolled"], True)

    def test_cancelled_pinentry_costs_no_try(self):
        for program, keys in (("pinentry-tty", b"\x04"), ("pinentry-curses", b"\t\t\r")):
            with self.subTest(program):
                scene = self.prepare(program)
                with scene.client() as client:
                    client.call("stepUp.enroll", {"account": "work", "pin": "2468"})
                    heard = self.ask(scene, "stepUp.verify")
                    self.terminal.wait_for(b"PIN:", keys)
                    error = heard()["error"]["data"]
                    self.assertEqual((error["reason"], error["attemptsLeft"]), ("cancelled", 10))


if __name__ == "__main__":
    unittest.main()
