"""`lanyard token NAME` is answered before Swift's runtime starts; everything else, and every other answer, as before."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
import unittest

from fake_agent import Error, NoAnswer
from people import TOKEN, WORK, accounts
from person import PATIENCE_SECONDS, Person, interrupt

REQUEST = ("token.get", {"account": "work"})


def line(**members):
    """A line as the agent writes it."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, **members}, separators=(",", ":")) + "\n"


TOKEN_LINE = line(result={"accessToken": "tok-1_2.3~/+=", "tokenType": "Bearer", "expiresInSeconds": 300})
EVENT_LINE = json.dumps({"jsonrpc": "2.0", "method": "event", "params": {"subscription": "sub_1"}}) + "\n"
ERROR_LINE = line(error={"code": 2003, "message": "Sign in.", "data": {"name": "interactionRequired", "retryable": False}})


CONNECT = {"x86_64": "42", "aarch64": "203"}[os.uname().machine]


def waits_in(pid):
    """The number of the system call in which a process waits."""
    with open(f"/proc/{pid}/syscall") as file:
        return file.read().split()[0]


class QuickTokenTests(Person):
    def both(self, send):
        """What the quick way and the other one end with, from an agent that answers by `send`; one request for each."""
        agent = self.agent({"token.get": lambda params, connection: send(connection.stream)})
        ends = []
        for words, environment in ((("token", "work"), None), (("token",), {"LANYARD_ACCOUNT": "work"})):
            done = self.lanyard(*words, environment=environment)
            ends.append((done.returncode, done.stdout, done.stderr))
        agent.close()
        self.assertEqual(agent.calls, [REQUEST] * len(agent.calls))
        self.assertEqual(ends[0], ends[1])
        return ends[0], len(agent.calls)

    def bytes(self, *pieces, ends=False):
        def send(stream):
            for piece in pieces:
                stream.sendall(piece.encode())
            if ends:
                stream.shutdown(socket.SHUT_RDWR)
            raise NoAnswer
        return send

    def test_a_token(self):
        self.assertEqual(self.both(self.bytes(TOKEN_LINE)), ((0, "tok-1_2.3~/+=\n", ""), 2))

    def test_pieces_and_lengths(self):
        self.assertEqual(self.both(self.bytes(*TOKEN_LINE))[0], (0, "tok-1_2.3~/+=\n", ""))
        for length in (1, 8_000, 16_200, 16_320, 16_384, 40_000, 200_000):
            with self.subTest(length=length):
                token = "t" * length
                self.assertEqual(
                    self.both(self.bytes(line(result={"accessToken": token, "x": {}}))), ((0, token + "\n", ""), 2))

    def test_answers_that_are_no_plain_token(self):
        cases = {
            "escapes": (line(result={"accessToken": "a\\b\"c"}), "a\\b\"c\n"),
            "another order": (line(result={"tokenType": "Bearer", "accessToken": "abc"}), "abc\n"),
            "spaces": (json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"accessToken": "abc"}}) + "\n", "abc\n"),
            "an event before": (EVENT_LINE + TOKEN_LINE, "tok-1_2.3~/+=\n"),
            "an event behind": (TOKEN_LINE + EVENT_LINE, "tok-1_2.3~/+=\n"),
            "another id before": (line(id=7, result={"accessToken": "wrong"}) + TOKEN_LINE, "tok-1_2.3~/+=\n"),
        }
        for name, (text, printed) in cases.items():
            with self.subTest(name):
                self.assertEqual(self.both(self.bytes(text)), ((0, printed, ""), 2))

    def test_answers_that_are_refused(self):
        for text in (
            line(result={"accessToken": ""}).replace('""', "7"), line(result={}), TOKEN_LINE[:-3] + "\n",
            TOKEN_LINE.replace("tok", "t\u0001"), "x\n", ERROR_LINE,
            line(result={"accessToken": "tok"}, error={"code": 2003, "message": "x", "data": {}}),
            line(result={"accessToken": "tok", "x": "\0"}).replace("\\u0000", "\0"),
            line(result={"accessToken": "tok"}, method="event", params={}),
            line(result={"accessToken": "tok", "x": "y"}).replace('y"', "y"),
        ):
            with self.subTest(text):
                (code, out, told), _ = self.both(self.bytes(text, ends=True))
                self.assertNotEqual(code, 0)
                self.assertEqual(out, "")
                self.assertTrue(told)

    def test_an_agent_that_ends_is_asked_again(self):
        gone = []

        def send(stream):
            if len(gone) % 2 == 0:
                gone.append(1)
                stream.sendall(TOKEN_LINE[:20].encode())
                stream.shutdown(socket.SHUT_RDWR)
            else:
                gone.append(1)
                stream.sendall(TOKEN_LINE.encode())
            raise NoAnswer

        self.assertEqual(self.both(send), ((0, "tok-1_2.3~/+=\n", ""), 4))

    def test_names_that_are_left_to_the_other_way(self):
        agent = self.agent(accounts(WORK))
        for name in ("w\u00f6rk", 'w"k', "w k", "w" * 200, "w\\k"):
            self.lanyard("token", name)
            self.assertEqual(agent.params("token.get")["account"], name)
        self.assertIn("empty", self.refused(2, "token", ""))

    def test_a_grant_is_presented(self):
        agent = self.agent({**accounts(WORK), "agent.hello": {"protocol": "1"}})
        path = os.path.join(self.work, "grant")
        with open(path, "w") as file:
            file.write("a-grant\n")
        os.chmod(path, 0o600)
        self.answer("token", "work", environment={"LANYARD_GRANT_FILE": path})
        self.assertEqual(agent.accepted, 1)
        self.assertEqual(agent.methods(), ["agent.hello", "token.get"])
        self.assertEqual(agent.params("agent.hello")["grant"], "a-grant")

    def test_an_output_that_takes_nothing(self):
        agent = self.agent({"token.get": lambda params, connection: self.bytes(TOKEN_LINE)(connection.stream)})
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                self.command(["token", "work"]), env=self.settings(None), stdin=subprocess.DEVNULL, stdout=full,
                stderr=subprocess.PIPE, text=True, timeout=PATIENCE_SECONDS)
        self.assertEqual(done.returncode, 1)
        self.assertIn("could not be written: No space left on device", done.stderr)
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            self.command(["token", "work"]), env=self.settings(None), stdin=subprocess.DEVNULL, stdout=writing,
            stderr=subprocess.PIPE, text=True, timeout=PATIENCE_SECONDS)
        os.close(writing)
        self.assertEqual(done.returncode, 1)
        self.assertIn("could not be written: Broken pipe", done.stderr)
        self.assertEqual(agent.calls, [REQUEST] * 2)

    def test_no_output_at_all(self):
        agent = self.agent({"token.get": lambda params, connection: self.bytes(TOKEN_LINE)(connection.stream)})
        for words in (["token", "work"], ["token", "-u", "work"]):
            done = subprocess.run(
                ["sh", "-c", 'exec "$@" >&-', "sh", *self.command(words)], env=self.settings(None),
                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_SECONDS)
            self.assertEqual(done.returncode, 1)
            self.assertIn("could not be written: Bad file descriptor", done.stderr)
        # Nothing but the requests came over the socket.
        self.assertEqual(agent.calls, [REQUEST] * 2)

    def test_ctrl_c_while_the_agent_waits(self):
        agent = self.agent({"token.get": lambda params, connection: self.bytes()(connection.stream)})
        process = self.start("token", "work")
        while not agent.calls:
            self.assertIsNone(process.poll())
        out, _ = interrupt(process)
        self.assertEqual((process.returncode, out), (130, ""))

    def test_ctrl_c_while_it_connects(self):
        os.makedirs(os.path.dirname(self.socket), mode=0o700, exist_ok=True)
        with contextlib.ExitStack() as stack:
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(self.socket)
            listener.listen(0)
            # Nothing accepts, and no place is left to wait in.
            with contextlib.suppress(BlockingIOError):
                while True:
                    client = stack.enter_context(socket.socket(socket.AF_UNIX))
                    client.setblocking(False)
                    client.connect(self.socket)
            for words, environment in ((("token", "work"), None), (("token",), {"LANYARD_ACCOUNT": "work"})):
                process = self.start(*words, environment=environment)
                while waits_in(process.pid) != CONNECT:
                    self.assertIsNone(process.poll())
                    time.sleep(0.001)
                out, _ = interrupt(process)
                self.assertEqual((process.returncode, out), (130, ""))

    def test_an_ignored_interrupt_stays_ignored(self):
        agent = self.agent({"token.get": lambda params, connection: self.bytes()(connection.stream)})
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            process = self.start("token", "work")
        finally:
            signal.signal(signal.SIGINT, before)
        while not agent.calls:
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.kill()
        process.communicate(timeout=PATIENCE_SECONDS)


if __name__ == "__main__":
    unittest.main()
